//! Parameters that a control of RC sets.
use bytes::Bytes;

use super::commands::{Order, SliceQuota};
use super::{ControlHeader, ControlMessage, HeaderFormat};
use crate::e2sm::{Encoding, Octets};

pub(super) fn control_targets(encoding: Encoding, header: &Bytes, message: &Bytes) -> Option<Vec<String>> {
    let header = ControlHeader::decode_as(encoding, header).ok()?;
    let message = ControlMessage::decode_as(encoding, message).ok()?;
    let HeaderFormat::Action(action) = &header.format else { return None };
    let ue = action.ue.number();
    Some(match Order::read(&header, &message) {
        Ok(Order::SliceQuotas(quotas)) => {
            let named = |it: &SliceQuota| {
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

#[cfg(test)]
mod tests {
    use super::super::ActionHeader;
    use super::*;
    use crate::e2ap::Plmn;
    use crate::e2sm::common::{NrCgi, Snssai, UeId};

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
            let ue = UeId::du(5);
            let header = ActionHeader { ue, style, action, decision: None };
            let header = ControlHeader { format: HeaderFormat::Action(header) };
            let header = header.to_octets(Encoding::Per).unwrap();
            let message = order.message().to_octets(Encoding::Per).unwrap();
            let targets = control_targets(Encoding::Per, &header, &message).unwrap();
            assert_eq!(targets, expected);
        }
    }

    #[test]
    fn unreadable_control_has_unknown_targets() {
        assert_eq!(control_targets(Encoding::Per, &Bytes::new(), &Bytes::from_static(b"nonsense")), None);
    }
}
