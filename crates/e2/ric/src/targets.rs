//! Parameters that a control sets, in a canonical notation, for conflict detection between xApps.
//!
//! Supported are RC, CCC, SLICE and TRAFFIC. Any other control of these models is `unread MODEL`: two xApps
//! that send such controls to one base station conflict, because the opposite cannot be shown. Controls of
//! other models never conflict.
use bytes::Bytes;
use ranlab_e2_codec::e2ap::RanFunctionItem;
use ranlab_e2_codec::e2sm::ccc::{self, ControlFormat};
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::rc::{self, ControlHeader, ControlMessage, HeaderFormat};
use ranlab_e2_codec::e2sm::slice::{self, SliceCommand};
use ranlab_e2_codec::e2sm::traffic::{self, TrafficAction, TrafficCommand};
use ranlab_e2_codec::e2sm::{Encoding, Octets, by_oid};

/// Returns the parameters that a control sets; empty if conflicts of its model are not checked.
pub(crate) fn controlled_parameters(
    function: &RanFunctionItem,
    header: &Bytes,
    message: &Bytes,
) -> Vec<String> {
    let Some(model) = function.oid.as_deref().and_then(by_oid) else { return Vec::new() };
    let read = match model.oid() {
        rc::OID => of_rc(header, message),
        ccc::OID => of_configuration(message),
        slice::OID => of_slices(message),
        traffic::OID => of_traffic(message),
        _ => return Vec::new(),
    };
    read.unwrap_or_else(|| vec![format!("unread {}", model.name())])
}

fn of_rc(header: &Bytes, message: &Bytes) -> Option<Vec<String>> {
    let header = ControlHeader::decode_as(Encoding::Per, header).ok()?;
    let message = ControlMessage::decode_as(Encoding::Per, message).ok()?;
    let HeaderFormat::Action(action) = &header.format else { return None };
    let ue = action.ue.number();
    Some(match Order::read(&header, &message) {
        Ok(Order::SliceQuotas(quotas)) => {
            let named = |it: &rc::commands::SliceQuota| {
                let sd = it.slice.sd.map_or_else(String::new, |sd| format!(".{sd:06x}"));
                format!("quota {}/{}{sd}", it.plmn, it.slice.sst)
            };
            quotas.iter().map(named).collect()
        }
        Ok(Order::Handover(_)) => vec![format!("cell-of-ue {ue}")],
        Ok(Order::QosFlows { flows, .. }) => {
            flows.iter().map(|flow| format!("bearer-of-flow {ue}/{}", flow.qfi)).collect()
        }
        Err(_) => vec![format!("order {ue}/{}/{}", action.style, action.action)],
    })
}

/// Returns the attributes of a configuration, by structure, of the node or of a cell; spellings of structure
/// names differ only in case.
fn of_configuration(message: &Bytes) -> Option<Vec<String>> {
    let message = ccc::ControlMessage::decode_as(Encoding::Json, message).ok()?;
    let of = |place: &str, writes: &[ccc::Write]| -> Vec<String> {
        let named = |write: &ccc::Write| {
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
            let place =
                |id: &ccc::CellId| id.cell().map_or_else(|| format!("{id:?}"), |cell| format!("{cell:?}"));
            cells.iter().flat_map(|it| of(&place(&it.cell), &it.structures)).collect()
        }
    };
    // A configuration without named attributes may still set something.
    (!targets.is_empty()).then_some(targets)
}

fn of_slices(message: &Bytes) -> Option<Vec<String>> {
    Some(match SliceCommand::decode_as(Encoding::Per, message).ok()? {
        SliceCommand::Configure(_) => vec!["slice *".to_owned(), "slice-of-ue *".to_owned()],
        SliceCommand::Add(slice) | SliceCommand::Modify(slice) => vec![format!("slice {}", slice.id)],
        // The UEs of a deleted slice move to another one.
        SliceCommand::Delete(id) => vec![format!("slice {id}"), "slice-of-ue *".to_owned()],
        SliceCommand::Associate(ues) => ues.iter().map(|it| format!("slice-of-ue {}", it.rnti)).collect(),
        SliceCommand::Allocate(allocation) => vec![format!("slots-of-slice {}", allocation.slice)],
    })
}

fn of_traffic(message: &Bytes) -> Option<Vec<String>> {
    let command = TrafficCommand::decode_as(Encoding::Per, message).ok()?;
    let bearer = format!("{}/{}", command.bearer.rnti, command.bearer.rbid);
    Some(vec![match command.action {
        TrafficAction::PutQueue(queue) => format!("queue {bearer}/{}", queue.id),
        TrafficAction::DeleteQueue(id) => format!("queue {bearer}/{id}"),
        TrafficAction::PutFilter(filter) => format!("filter {bearer}/{}", filter.id),
        TrafficAction::DeleteFilter(id) => format!("filter {bearer}/{id}"),
        TrafficAction::SetScheduler(_) => format!("scheduler {bearer}"),
        TrafficAction::SetPacer(_) => format!("pacer {bearer}"),
        TrafficAction::SetStage(_) => format!("stage {bearer}"),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_e2_codec::e2sm::common::{NrCgi, Snssai};
    use ranlab_e2_codec::e2sm::rc::commands::SliceQuota;
    use ranlab_e2_codec::e2sm::slice::{Slice, SliceParameters, SliceSet, UeScheduler, UeSlice};
    use ranlab_e2_codec::e2sm::traffic::BearerId;

    fn function(oid: &str) -> RanFunctionItem {
        RanFunctionItem { id: 3, definition: Bytes::new(), revision: 1, oid: Some(oid.to_owned()) }
    }

    fn per(value: &impl Octets) -> Bytes {
        value.to_octets(Encoding::Per).unwrap()
    }

    #[test]
    fn slice_and_traffic_controls_name_their_parameters() {
        let slice = Slice {
            id: 7,
            label: "w".to_owned(),
            scheduler: UeScheduler::ProportionalFair,
            parameters: SliceParameters::Capacity(500_000),
        };
        let bearer = BearerId { rnti: 17_921, rbid: 1 };
        for (oid, message, expected) in [
            (slice::OID, per(&SliceCommand::Modify(slice)), vec!["slice 7"]),
            (
                slice::OID,
                per(&SliceCommand::Configure(SliceSet::default())),
                vec!["slice *", "slice-of-ue *"],
            ),
            (
                slice::OID,
                per(&SliceCommand::Associate(vec![UeSlice { rnti: 9, slice: 7 }])),
                vec!["slice-of-ue 9"],
            ),
            (
                traffic::OID,
                per(&TrafficCommand { bearer, action: TrafficAction::DeleteQueue(2) }),
                vec!["queue 17921/1/2"],
            ),
            (slice::OID, Bytes::from_static(b"\xff\xff nonsense"), vec!["unread slice"]),
            (rc::OID, Bytes::from_static(b"nonsense"), vec!["unread rc"]),
            ("1.2.3.4", Bytes::new(), vec![]),
        ] {
            assert_eq!(controlled_parameters(&function(oid), &Bytes::new(), &message), expected, "{oid}");
        }
    }

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
        let of = |message: &str| {
            controlled_parameters(
                &function(ccc::OID),
                &Bytes::new(),
                &Bytes::copy_from_slice(message.as_bytes()),
            )
        };
        assert_eq!(of(&node), ["attribute node/o-bwp/a", "attribute node/o-bwp/b"]);
        let cell = |digits: &str| {
            format!(
                r#"{{"controlMessageFormat": {{"listOfCellsControlled": [{{"cellGlobalId": {{"plmnIdentity": {{"mcc": "001",
                "mnc": "01"}}, "nRCellIdentity": "{digits}"}}, "listOfConfigurationStructures": [{}]}}]}}}}"#,
                write("O-BWP")
            )
        };
        let one = of(&cell("00000000A"));
        let same = of(&cell("00000000a"));
        let other = of(&cell("00000000B"));
        assert_eq!((one.len(), &one), (2, &same));
        assert_ne!(one, other);
        assert_eq!(of("{}"), ["unread ccc"]);
    }

    #[test]
    fn rc_targets_name_slice_or_ue() {
        let plmn = Plmn::new(505, 1, 2);
        let quota = |sst, sd| SliceQuota { plmn, slice: Snssai { sst, sd }, min: 1, max: 9, dedicated: 0 };
        let order = Order::SliceQuotas(vec![quota(1, None), quota(1, Some(0x80))]);
        let cell = NrCgi { plmn, cell: 0x10 };
        for (order, expected) in [
            (order, vec!["quota 505.01/1", "quota 505.01/1.000080"]),
            (Order::Handover(cell), vec!["cell-of-ue 5"]),
        ] {
            let (style, action) = order.action();
            let ue = ranlab_e2_codec::e2sm::common::UeId::du(5);
            let header = rc::ActionHeader { ue, style, action, decision: None };
            let header = ControlHeader { format: HeaderFormat::Action(header) };
            assert_eq!(
                controlled_parameters(&function(rc::OID), &per(&header), &per(&order.message())),
                expected
            );
        }
    }
}
