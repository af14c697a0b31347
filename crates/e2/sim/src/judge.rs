//! Checks of the events and reports that an xApp receives.
use crate::host::Kind;
use crate::party::PartyId;
use crate::tracer_function::{TracerReport, oid_mark};
use crate::world::World;
use bytes::Bytes;
use ranlab_e2::xapp::{IndicationView, SubscriptionHandle, XappEvent};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;

impl World {
    /// Checks an event that an xApp receives.
    pub(crate) fn xapp_event(&mut self, party: usize, event: XappEvent) {
        if matches!(self.hosts[party].kind, Kind::Client(_)) {
            if !matches!(event, XappEvent::Indication { .. }) {
                self.note(|w| format!("{}: {event:?}", w.hosts[party].name));
            }
            return self.client_events.push((PartyId(party), event));
        }
        let life = self.hosts[party].life;
        let result = match event {
            XappEvent::Indication { handle, node, indication, .. } => {
                self.judge(party, handle, &node, &indication)
            }
            XappEvent::ControlAcknowledged { .. } => {
                self.ledger.acknowledged += 1;
                Ok(())
            }
            XappEvent::NodeAdded { node } if !self.sees(party, &node) => {
                Err(format!("the xApp was shown {node}, which its policy hides"))
            }
            other => {
                if let XappEvent::Subscribed { handle, .. } = other {
                    self.ledger.admitted_anew((party, life), handle);
                }
                self.note(|w| format!("{}: {other:?}", w.hosts[party].name));
                Ok(())
            }
        };
        if let Err(what) = result {
            let what = format!("{}: {what}", self.hosts[party].name);
            self.ledger.break_rule(what);
        }
    }

    pub(crate) fn sees(&self, party: usize, node: &GlobalE2NodeId) -> bool {
        self.hosts[party].xapp().is_some_and(|(host, _)| host.grant.nodes.allows(node))
    }

    /// Checks that an xApp may get this report from this node for this subscription.
    fn judge(
        &mut self,
        party: usize,
        handle: SubscriptionHandle,
        node: &GlobalE2NodeId,
        indication: &IndicationView,
    ) -> Result<(), String> {
        let unreadable =
            |message: &Bytes| format!("{handle:?} got {} bytes that are not a report", message.len());
        let beat = TracerReport::read(&indication.message).ok_or_else(|| unreadable(&indication.message))?;
        if indication.function != beat.function || indication.sn != Some(beat.count as u16) {
            return Err(format!(
                "{handle:?} got {beat:?} in an indication with another function ({}) or sequence number ({:?})",
                indication.function, indication.sn
            ));
        }
        let source = self.hosts.get(beat.node as usize).and_then(|h| match &h.kind {
            Kind::Agent(agent) => Some(agent.node_id),
            _ => None,
        });
        if source != Some(*node) {
            return Err(format!("{handle:?} at {node} got {beat:?} of another node"));
        }
        if !self.sees(party, node) {
            return Err(format!("{beat:?} of {node} reached a tenant that may not see the node"));
        }
        let host = &self.hosts[party];
        if !host.xapp().is_some_and(|(x, _)| {
            x.wishes.iter().any(|(w, _)| w.tag == beat.tag && oid_mark(&w.oid) == beat.oid)
        }) {
            return Err(format!("the xApp got {beat:?} without requesting it"));
        }
        let life = host.life;
        let connection = host.ends.get(&0).copied().unwrap_or(0);
        self.ledger.reached_xapp((party, life), connection, handle, beat)
    }
}
