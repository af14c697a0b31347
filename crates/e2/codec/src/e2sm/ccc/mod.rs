//! CCC: reporting and writing the configuration of cells and nodes; O-RAN's E2SM-CCC, in JSON.
//!
//! Member names, enumerations, and untagged choices (which are distinguished by their members) follow existing base
//! stations, which state version 6. Versions 1 to 3 have the same shape for the members used here, but no message of
//! these versions was available. Unknown members are ignored, no members other than those defined here are required,
//! and unknown attributes are kept unchanged ([`Attributes`]). A structure is identified by its name, not by its
//! members. By its members, an NR cell with a list of PLMNs, as existing base stations send it, would be mistaken for a
//! CU-UP.

mod checks;
mod definition;
mod json;
mod messages;
mod rows;
mod structures;
mod targets;

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::octets::{octets, period_ms};
use super::plain::{PERIOD_MS_MAX, PERIOD_MS_MIN};
use super::table::Row;
use super::{Column, Encoding, Octets, Offer, ServiceModel, SmError, Table};
use json::Json;

pub use definition::*;
pub use messages::*;
pub use rows::AttributeRow;
pub use structures::*;

/// OID of version 6, as used by existing base stations.
pub const OID: &str = "1.3.6.1.4.1.53148.1.6.2.4";
/// OIDs of versions 1 to 4 according to O-RAN's pattern; not seen in practice.
pub const OTHER_OIDS: [&str; 4] = [
    "1.3.6.1.4.1.53148.1.1.2.4",
    "1.3.6.1.4.1.53148.1.2.2.4",
    "1.3.6.1.4.1.53148.1.3.2.4",
    "1.3.6.1.4.1.53148.1.4.2.4",
];
/// Usual RAN function id.
pub const DEFAULT_FUNCTION_ID: u16 = 4;

octets! {
    EventTrigger: Json => Json;
    ActionDefinition: Json => Json;
    IndicationHeader: Json => Json;
    IndicationMessage: Json => Json;
    ControlHeader: Json => Json;
    ControlMessage: Json => Json;
    ControlOutcome: Json => Json;
    FunctionDefinition: Json => Json;
}

/// The CCC service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ccc;

impl ServiceModel for Ccc {
    const NAME: &'static str = "ccc";
    const OID: &'static str = OID;
    const OTHER_OIDS: &'static [&'static str] = &OTHER_OIDS;
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    /// Definition with the name only; a base station adds its cells and their structures.
    const DEFINITION: &'static [u8] = br#"{"ranFunctionName":{"ranFunctionShortName":"ORAN-E2SM-CCC","ranFunctionServiceModelOID":"1.3.6.1.4.1.53148.1.6.2.4","ranFunctionDescription":"Cell Configuration and Control"}}"#;
    const REVISION: u16 = 0;
    const CUSTOMARY: bool = false;

    type Trigger = EventTrigger;
    type Action = ActionDefinition;
    type Header = IndicationHeader;
    type Message = IndicationMessage;
    type ControlHeader = ControlHeader;
    type Control = ControlMessage;
    type Outcome = ControlOutcome;

    fn periodic(period: Duration) -> Result<EventTrigger, SmError> {
        let period = period_ms(period, PERIOD_MS_MIN, PERIOD_MS_MAX)?;
        Ok(EventTrigger { format: TriggerFormat::Periodic { period } })
    }

    fn period(trigger: &EventTrigger) -> Option<Duration> {
        match trigger.format {
            TriggerFormat::Periodic { period } => Some(Duration::from_millis(period.into())),
            _ => None,
        }
    }

    /// Requests all structures of all cells that the definition lists.
    fn action(definition: &Bytes, _: Duration) -> Result<Option<ActionDefinition>, SmError> {
        let definition = FunctionDefinition::decode_as(Encoding::Json, definition)?;
        let structure = |it: &SupportedStructure| WantedStructure {
            report: ReportType::All,
            name: it.name.clone(),
            attributes: Vec::new(),
        };
        let wanted = |cell: &DescribedCell| WantedCell {
            cell: Some(cell.cell.clone()),
            structures: cell.structures.iter().map(structure).collect(),
        };
        let cells: Vec<_> = definition.cells.iter().map(wanted).collect();
        if cells.is_empty() {
            return Err(SmError::Absent("cell that can be monitored at this base station"));
        }
        Ok(Some(ActionDefinition { style: CELL_STYLE, format: ActionFormat::Cells { cells } }))
    }

    fn offers(definition: &Bytes) -> Result<Vec<Offer>, SmError> {
        Ok(FunctionDefinition::decode_as(Encoding::Json, definition)?.structures())
    }

    fn columns() -> Vec<Column> {
        AttributeRow::columns()
    }

    fn tabulate(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
        table.tstamp_us = header.format.unix_us();
        rows::push(header, message, table);
    }

    fn tstamp_us(encoding: Encoding, header: &[u8], _: &[u8]) -> Option<i64> {
        let header = IndicationHeader::decode_as(encoding, &Bytes::copy_from_slice(header)).ok()?;
        header.format.unix_us()
    }

    fn check_control(_: &ControlHeader, control: &ControlMessage) -> Result<(), SmError> {
        let check = |it: &Write| checks::check(&it.name, &it.new.attributes).map_err(SmError::Order);
        writes(control).into_iter().try_for_each(check)
    }

    fn check_offered(definition: &Bytes, _: &ControlHeader, control: &ControlMessage) -> Result<(), SmError> {
        let Ok(definition) = FunctionDefinition::decode_as(Encoding::Json, definition) else { return Ok(()) };
        let offered: Vec<_> = definition.structures().into_iter().map(|it| it.name).collect();
        let is_offered = |write: &&Write| offered.iter().any(|it| is_structure(it, &write.name));
        match writes(control).into_iter().find(|it| !is_offered(it)) {
            Some(write) if !offered.is_empty() => {
                Err(SmError::NotOffered { what: write.name.clone(), offered: offered.join(", ") })
            }
            _ => Ok(()),
        }
    }

    fn control_targets(encoding: Encoding, _: &Bytes, message: &Bytes) -> Option<Vec<String>> {
        targets::control_targets(encoding, message)
    }

    fn sample(seed: u64) -> (IndicationHeader, IndicationMessage) {
        let us = i64::try_from(seed % (1 << 40)).unwrap_or_default();
        let reason = [Reason::UponSubscription, Reason::UponChange, Reason::Periodic][(seed % 3) as usize];
        let part = |shift: u32| (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) % 101;
        let values = Attributes::from_list([
            ("resourceType", json!("PRB_DL")),
            ("rRMPolicyMinRatio", json!(part(0))),
            ("rRMPolicyMaxRatio", json!(part(20))),
            ("unknown", json!({ "of": [part(40), null, true] })),
        ]);
        let reported = |change| Reported {
            change,
            name: RRM_POLICY_RATIO.to_owned(),
            values: values.clone().into(),
            old: (change == ChangeType::Modification).then(|| Attributes::default().into()),
        };
        let changes =
            [ChangeType::None, ChangeType::Modification, ChangeType::Addition, ChangeType::Deletion];
        let structures: Vec<_> =
            changes.iter().take(1 + (seed % 4) as usize).map(|it| reported(*it)).collect();
        let cell = CellId::Nr {
            plmn: PlmnId { mcc: "001".to_owned(), mnc: "01".to_owned() },
            cell: format!("{:09X}", seed & 0xf_ffff_ffff),
        };
        let format = match seed.is_multiple_of(2) {
            true => MessageFormat::Cells { cells: vec![CellReported { cell, structures }] },
            false => MessageFormat::Node { structures },
        };
        (IndicationHeader { format: HeaderFormat::new(reason, us) }, IndicationMessage { format })
    }
}

/// Returns all structures that a control writes, both of the node and of cells.
fn writes(control: &ControlMessage) -> Vec<&Write> {
    match &control.format {
        ControlFormat::Node { structures } => structures.iter().collect(),
        ControlFormat::Cells { cells } => cells.iter().flat_map(|it| &it.structures).collect(),
    }
}
