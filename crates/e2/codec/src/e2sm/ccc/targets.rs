//! Parameters that a control of CCC sets.
use bytes::Bytes;

use super::{CellId, ControlFormat, ControlMessage, Write};
use crate::e2sm::{Encoding, Octets};

/// Returns a text for each attribute that a control writes, with the node or cell and the structure. Structure names are written in lower
/// case, because their spellings differ only in case.
pub(super) fn control_targets(encoding: Encoding, message: &Bytes) -> Option<Vec<String>> {
    let message = ControlMessage::decode_as(encoding, message).ok()?;
    let of = |place: &str, writes: &[Write]| -> Vec<String> {
        let named = |write: &Write| {
            let structure = write.name.to_ascii_lowercase();
            let named = |name: &String| format!("attribute {place}/{structure}/{name}");
            write.new.attributes.0.keys().map(named).collect::<Vec<_>>()
        };
        writes.iter().flat_map(named).collect()
    };
    let targets = match &message.format {
        ControlFormat::Node { structures } => of("node", structures),
        ControlFormat::Cells { cells } => {
            // Cell ids are compared regardless of the case of their digits; an invalid id is compared as
            // text.
            let place = |id: &CellId| id.cell().map_or_else(|| format!("{id:?}"), |cell| format!("{cell:?}"));
            cells.iter().flat_map(|it| of(&place(&it.cell), &it.structures)).collect()
        }
    };
    // A control without named attributes may still set something, so its targets are unknown.
    (!targets.is_empty()).then_some(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ccc_targets_are_location_structure_and_attribute() {
        let write = |structure: &str| {
            format!(
                r#"{{"ranConfigurationStructureName": "{structure}", "newValuesOfAttributes": {{"ranConfigurationStructure": {{"a": 2, "b": 1}}}}}}"#
            )
        };
        let node = format!(
            r#"{{"controlMessageFormat": {{"listOfConfigurationStructures": [{}]}}}}"#,
            write("O-Bwp")
        );
        let of = |message: &str| control_targets(Encoding::Json, &Bytes::copy_from_slice(message.as_bytes()));
        assert_eq!(of(&node).unwrap(), ["attribute node/o-bwp/a", "attribute node/o-bwp/b"]);
        let cell = |digits: &str| {
            format!(
                r#"{{"controlMessageFormat": {{"listOfCellsControlled": [{{"cellGlobalId": {{"plmnIdentity": {{"mcc": "001",
                "mnc": "01"}}, "nRCellIdentity": "{digits}"}}, "listOfConfigurationStructures": [{}]}}]}}}}"#,
                write("O-BWP")
            )
        };
        let one = of(&cell("00000000A")).unwrap();
        let same = of(&cell("00000000a")).unwrap();
        let other = of(&cell("00000000B")).unwrap();
        assert_eq!((one.len(), &one), (2, &same));
        assert_ne!(one, other);
        assert_eq!(of("{}"), None);
    }
}
