//! Draining: hands nodes over to other RICs, one at a time, before a shutdown.
use super::io::DirectoryOutput;
use super::machine::Directory;
use super::value::node_key;
use super::view::RicSeen;
use crate::Time;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;

/// Progress of the drain.
#[derive(Debug, Default)]
pub(super) struct Drain {
    /// Key of the node that was sent away last, and deadline for its claim by another RIC.
    last: Option<(String, Time)>,
    told: bool,
}

impl Directory {
    pub(super) fn begin_drain(&mut self) {
        self.drain.get_or_insert_default();
    }

    /// Returns whether the RIC is draining or drained, so that it accepts no nodes.
    pub fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// Returns whether another RIC that accepts base stations was seen recently.
    pub fn has_others(&self) -> bool {
        let takes = |ric: &RicSeen| !ric.presence.over && !ric.presence.draining;
        self.view.rics.values().any(|ric| takes(ric) && self.now.since(ric.at) < self.config.timers.wait)
    }

    /// Returns the address of another RIC for a node: one that was seen within a lease and is not draining. Nodes are
    /// distributed over all such RICs.
    pub fn elsewhere(&self, node: &GlobalE2NodeId) -> Option<String> {
        let wait = self.config.timers.wait;
        let fits: Vec<_> = self
            .view
            .rics
            .values()
            .filter(|ric| !ric.presence.over && !ric.presence.draining && !ric.presence.e2.is_empty())
            .filter(|ric| self.now.since(ric.at) < wait)
            .collect();
        let sum = node_key(node).bytes().fold(0_usize, |sum, b| sum.wrapping_mul(31).wrapping_add(b.into()));
        fits.get(sum.checked_rem(fits.len())?).map(|ric| ric.presence.e2.clone())
    }

    /// Sends the next node away, if another RIC has claimed the previous one or its deadline has passed.
    pub(super) fn expire_drain(&mut self) {
        let now = self.now;
        let Some(drain) = &self.drain else { return };
        if let Some((key, until)) = &drain.last {
            let owner = self.view.nodes.get(key).and_then(|seen| seen.claim.as_ref());
            let moved = owner.is_some_and(|claim| claim.ric.as_ref() != self.name());
            if !moved && now < *until {
                return;
            }
        }
        let next = self.held.iter().next().map(|(key, held)| (key.clone(), held.conn, held.node));
        let until = now + self.config.timers.handover;
        let Some(drain) = &mut self.drain else { return };
        if let Some((key, conn, node)) = next {
            drain.last = Some((key, until));
            let why = "this RIC is draining".to_owned();
            self.part_with(conn);
            self.outputs.push_back(DirectoryOutput::Close { conn, node, why });
        } else if !std::mem::replace(&mut drain.told, true) {
            self.outputs.push_back(DirectoryOutput::Drained);
        }
    }

    pub(super) fn drain_wake(&self) -> Option<Time> {
        let drain = self.drain.as_ref().filter(|drain| !drain.told)?;
        drain.last.as_ref().map(|(_, until)| *until)
    }
}
