//! Entries reported by the watch: claims, heartbeats of other RICs, and the highest revision.
use super::value::{Claim, Presence};
use crate::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of nodes in a store. Further ones are counted and dropped.
pub(super) const NODES_MAX: usize = 1 << 20;
/// Maximum number of RICs in a store. Further ones are counted and dropped.
pub(super) const RICS_MAX: usize = 64;

/// Latest entry of a node's key.
#[derive(Debug, Clone)]
pub(super) struct KeyState {
    pub(super) revision: u64,
    /// Claim; `None` if ranlab did not write the value or the key was deleted.
    pub(super) claim: Option<Claim>,
    /// Time at which the entry was reported.
    pub(super) since: Time,
}

/// Another RIC, as known from its heartbeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RicSeen {
    /// Last heartbeat.
    pub presence: Presence,
    /// Time at which it was reported.
    pub at: Time,
    pub(super) revision: u64,
}

#[derive(Debug, Default)]
pub(super) struct View {
    /// Whether all entries that existed when the watch started have been reported.
    pub(super) complete: bool,
    /// Highest revision.
    pub(super) top: u64,
    pub(super) nodes: BTreeMap<String, KeyState>,
    /// Other RICs by name.
    pub(super) rics: BTreeMap<Arc<str>, RicSeen>,
    /// Latest time at which an earlier incarnation of a restarted RIC may have been alive. No further heartbeat of it
    /// will arrive.
    pub(super) ghosts: Option<Time>,
}

/// Effect of a heartbeat.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PresenceChange {
    /// No change that other components need to know.
    Same,
    /// The RIC appeared, shut down, changed its addresses, or was restarted.
    Changed,
    /// The heartbeat is older than a known one, or the limit of RICs is reached.
    Ignored,
}

impl View {
    /// Records an entry of a node. Returns whether it is new.
    pub(super) fn node(&mut self, key: &str, seen: KeyState) -> bool {
        if let Some(known) = self.nodes.get_mut(key) {
            let news = seen.revision > known.revision;
            if news {
                *known = seen;
            }
            return news;
        }
        let room = self.nodes.len() < NODES_MAX;
        if room {
            self.nodes.insert(key.to_owned(), seen);
        }
        room
    }

    /// Records a heartbeat of another RIC.
    pub(super) fn ric(&mut self, now: Time, name: &str, revision: u64, presence: Presence) -> PresenceChange {
        let Some(known) = self.rics.get_mut(name) else {
            if self.rics.len() >= RICS_MAX {
                return PresenceChange::Ignored;
            }
            // An earlier incarnation may have been alive until now.
            self.haunt(now);
            self.rics.insert(name.into(), RicSeen { presence, at: now, revision });
            return PresenceChange::Changed;
        };
        if revision <= known.revision {
            return PresenceChange::Ignored;
        }
        let before = known.presence.clone();
        let over = known.presence.over;
        *known = RicSeen { presence: presence.clone(), at: now, revision };
        if before.life != presence.life {
            // There may have been further incarnations between the two heartbeats. A final heartbeat rules out only
            // its own incarnation.
            self.haunt(now);
            return PresenceChange::Changed;
        }
        let kept = |it: &Presence| (it.over, it.draining, it.e2.clone(), it.e42.clone());
        if over == presence.over && kept(&before) == kept(&presence) {
            PresenceChange::Same
        } else {
            PresenceChange::Changed
        }
    }

    /// Records that an incarnation without further heartbeats may have been alive until `now`.
    pub(super) fn haunt(&mut self, now: Time) {
        self.ghosts = self.ghosts.max(Some(now));
    }

    /// Returns the time from which no other RIC owns a node that was claimed at `revision` and reported at `since`.
    pub(super) fn clear_from(&self, revision: u64, since: Time, wait: Duration) -> Time {
        let rics = self.rics.values().filter(|ric| !ric.presence.over && ric.presence.seen < revision);
        let last = rics.map(|ric| ric.at).chain(self.ghosts).max();
        last.map_or(Time::ZERO, |last| last.min(since) + wait)
    }
}
