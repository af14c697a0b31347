//! Parameters that a control of TRAFFIC sets.
use bytes::Bytes;

use super::{TrafficAction, TrafficCommand};
use crate::e2sm::{Encoding, Octets};

pub(super) fn control_targets(encoding: Encoding, message: &Bytes) -> Option<Vec<String>> {
    let command = TrafficCommand::decode_as(encoding, message).ok()?;
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
    use super::super::BearerId;
    use super::*;

    #[test]
    fn control_targets_name_bearer_and_queue() {
        let bearer = BearerId { rnti: 17_921, rbid: 1 };
        let command = TrafficCommand { bearer, action: TrafficAction::DeleteQueue(2) };
        let message = command.to_octets(Encoding::Per).unwrap();
        assert_eq!(control_targets(Encoding::Per, &message).unwrap(), ["queue 17921/1/2"]);
    }
}
