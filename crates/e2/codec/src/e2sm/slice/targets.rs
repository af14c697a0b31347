//! Parameters that a control of SLICE sets.
use bytes::Bytes;

use super::SliceCommand;
use crate::e2sm::{Encoding, Octets};

pub(super) fn control_targets(encoding: Encoding, message: &Bytes) -> Option<Vec<String>> {
    Some(match SliceCommand::decode_as(encoding, message).ok()? {
        SliceCommand::Configure(_) => vec!["slice *".to_owned(), "slice-of-ue *".to_owned()],
        SliceCommand::Add(slice) | SliceCommand::Modify(slice) => vec![format!("slice {}", slice.id)],
        // The UEs of a deleted slice move to another slice, so the command also sets the slice of UEs.
        SliceCommand::Delete(id) => vec![format!("slice {id}"), "slice-of-ue *".to_owned()],
        SliceCommand::Associate(ues) => ues.iter().map(|it| format!("slice-of-ue {}", it.rnti)).collect(),
        SliceCommand::Allocate(allocation) => vec![format!("slots-of-slice {}", allocation.slice)],
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Slice, SliceParameters, SliceSet, UeScheduler, UeSlice};
    use super::*;

    #[test]
    fn control_targets_name_slices_and_ues() {
        let slice = Slice {
            id: 7,
            label: "w".to_owned(),
            scheduler: UeScheduler::ProportionalFair,
            parameters: SliceParameters::Capacity(500_000),
        };
        for (command, expected) in [
            (SliceCommand::Modify(slice), vec!["slice 7"]),
            (SliceCommand::Configure(SliceSet::default()), vec!["slice *", "slice-of-ue *"]),
            (SliceCommand::Associate(vec![UeSlice { rnti: 9, slice: 7 }]), vec!["slice-of-ue 9"]),
        ] {
            let message = command.to_octets(Encoding::Per).unwrap();
            assert_eq!(control_targets(Encoding::Per, &message).unwrap(), expected);
        }
        assert_eq!(control_targets(Encoding::Per, &Bytes::from_static(b"\xff\xff nonsense")), None);
    }
}
