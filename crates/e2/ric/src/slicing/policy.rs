//! Derives SLICE controls from the policy and the last report, one pending control per node.
use super::{Node, SLICE, Slicing, Waiting};
use crate::northbound::{Fault, FaultReply as _};
use ranlab_e2::ric::{IAppOutbox, NorthboundReply};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::control::Reason;
use ranlab_e2_codec::e2sm::slice::{SliceAlgorithm, SliceCommand, SliceIndication, SliceSet, UeSlice};

impl Slicing {
    /// Applies the policy at every E2 node of a base station.
    pub(super) fn follow_policy_around(&mut self, id: GlobalE2NodeId, out: &mut IAppOutbox) {
        let base = id.base_station();
        let parts = self.nodes.keys().filter(|part| part.base_station() == base);
        for part in parts.copied().collect::<Vec<_>>() {
            self.follow_policy(part, out);
        }
    }

    /// Sends the next control to a node, unless one is pending.
    fn follow_policy(&mut self, id: GlobalE2NodeId, out: &mut IAppOutbox) {
        let under_way = |waiting: &Waiting| matches!(waiting, Waiting::Policy { node, .. } if *node == id);
        if self.rules.is_empty() || self.commands.any(under_way) {
            return;
        }
        let Some(function) = self.watch.function(&id, SLICE) else { return };
        let Some((command, rntis)) = self.next_step(&id) else { return };
        let waiting = Waiting::Policy { node: id, command: command.clone(), rntis: rntis.clone() };
        if let Err(fault) = self.commands.send((id, function), &command, waiting, out)
            && let Some(node) = self.nodes.get_mut(&id)
        {
            node.refuse(&rntis, &fault);
        }
    }

    /// Returns the next control and the UEs that it serves.
    fn next_step(&self, id: &GlobalE2NodeId) -> Option<(SliceCommand, Vec<u16>)> {
        let node = self.nodes.get(id).filter(|node| !node.elsewhere)?;
        let report = node.report.as_ref()?;
        let mut moves = Vec::new();
        for ue in self.ues.of_station(id) {
            let rnti = ue.rnti;
            let Some(rule) = self.rules.iter().find(|rule| rule.choice.fits(ue)) else { continue };
            if node.by_hand.contains(&rnti) || node.refused.contains_key(&rnti) {
                continue;
            }
            let slice = &rule.slice;
            if report.set.algorithm == SliceAlgorithm::None {
                let algorithm = self.policy.algorithm.0;
                let sharing = self.policy.sharing;
                let set = SliceSet { algorithm, sharing, slices: vec![slice.clone()] };
                return Some((SliceCommand::Configure(set), vec![rnti]));
            }
            if report.set.slice(slice.id).is_none() {
                return Some((SliceCommand::Add(slice.clone()), vec![rnti]));
            }
            if slice_of(report, rnti) != Some(slice.id) {
                moves.push(UeSlice { rnti, slice: slice.id });
            }
        }
        // UEs are associated one by one, because one refusal would reject the whole list.
        let first = *moves.first()?;
        Some((SliceCommand::Associate(vec![first]), vec![first.rnti]))
    }

    /// Applies the outcome of a control.
    pub(super) fn ended(&mut self, waiting: Waiting, ended: Result<(), Fault>, out: &mut IAppOutbox) {
        let reply = |token| match &ended {
            Ok(()) => NorthboundReply { token, status: 200, body: "{}".into() },
            Err(fault) => fault.reply(token),
        };
        let id = match waiting {
            // The new cell is reported later, in an RRC event.
            Waiting::HandOver { token } => return out.reply(reply(token)),
            Waiting::Quotas { token, instead: Some(control), .. } if ended.is_err() => {
                return self.send_quotas(*control, token, out);
            }
            Waiting::Quotas { token, refusal, .. } => {
                return out.reply(match ended.map_err(|fault| fault.explained(refusal)) {
                    Ok(()) => NorthboundReply { token, status: 200, body: "{}".into() },
                    Err(fault) => fault.reply(token),
                });
            }
            Waiting::North { node, token, command } => {
                out.reply(reply(token));
                if ended.is_ok() {
                    self.took_effect(&node, &command);
                    self.by_hand(&node, &command, out);
                }
                node
            }
            Waiting::Policy { node, command, rntis } => {
                match ended {
                    Ok(()) => self.took_effect(&node, &command),
                    // Another controller has created the slice in the meantime. The next report contains it.
                    Err(fault) if fault.reason() == Some(Reason::Exists.name()) => return,
                    Err(fault) => {
                        if let Some(known) = self.nodes.get_mut(&node) {
                            known.refuse(&rntis, &fault);
                        }
                    }
                }
                node
            }
        };
        self.follow_policy_around(id, out);
    }

    /// Records UEs that a northbound request has associated, so that the policy does not move them.
    fn by_hand(&mut self, id: &GlobalE2NodeId, command: &SliceCommand, out: &mut IAppOutbox) {
        if let (SliceCommand::Associate(ues), Some(node)) = (command, self.nodes.get_mut(id)) {
            node.by_hand.extend(ues.iter().map(|ue| ue.rnti));
            out.save(Some(*id));
        }
    }
}

impl Node {
    fn refuse(&mut self, rntis: &[u16], fault: &Fault) {
        self.refused.extend(rntis.iter().map(|rnti| (*rnti, fault.detail().to_owned())));
    }
}

/// Returns the slice of a UE in this report; `None` if it has none.
pub(super) fn slice_of(report: &SliceIndication, rnti: u16) -> Option<u16> {
    report.ues.iter().find(|ue| ue.rnti == rnti).map(|ue| ue.slice)
}
