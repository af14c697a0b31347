//! What the watch has told: claims, other RICs' signs of life, and how far it has come.
use super::value::{Claim, Presence};
use crate::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Nodes in a store; what is told of further ones is counted and not kept.
pub(super) const NODES_MAX: usize = 1 << 20;
/// RICs in a store, likewise.
pub(super) const RICS_MAX: usize = 64;

/// The latest that a node's key has.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) revision: u64,
    /// `None`: a value that is not ours, or a deleted key.
    pub(super) claim: Option<Claim>,
    /// When it was told.
    pub(super) since: Time,
}

/// Another RIC as its signs of life show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RicSeen {
    /// Its last sign.
    pub presence: Presence,
    /// When that was told.
    pub at: Time,
    pub(super) revision: u64,
}

#[derive(Debug, Default)]
pub(super) struct View {
    /// All that there was when the watch began has been told.
    pub(super) complete: bool,
    /// The highest revision.
    pub(super) top: u64,
    pub(super) nodes: BTreeMap<String, Seen>,
    /// Other RICs by their names.
    pub(super) rics: BTreeMap<Arc<str>, RicSeen>,
    /// Until when a life may have spoken that another of its name has followed: nobody will ever hear of it again.
    pub(super) ghosts: Option<Time>,
}

/// What a sign of life has changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Nothing that others need to know.
    Same,
    /// It came, went, moved, or is another life.
    Changed,
    /// It is older than what is known, or one too many.
    Ignored,
}

impl View {
    /// Whether a revision of a node's key is news.
    pub(super) fn node(&mut self, key: &str, seen: Seen) -> bool {
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

    /// A sign of life of another RIC.
    pub(super) fn ric(&mut self, now: Time, name: &str, revision: u64, presence: Presence) -> Sign {
        let Some(known) = self.rics.get_mut(name) else {
            if self.rics.len() >= RICS_MAX {
                return Sign::Ignored;
            }
            // An earlier life may have spoken until just now.
            self.haunt(now);
            self.rics.insert(name.into(), RicSeen { presence, at: now, revision });
            return Sign::Changed;
        };
        if revision <= known.revision {
            return Sign::Ignored;
        }
        let (before, over) = (known.presence.clone(), known.presence.over);
        *known = RicSeen { presence: presence.clone(), at: now, revision };
        if before.life != presence.life {
            // Between the two signs there may have been further lives; after the last sign of one that is over there are none of
            // it, but of those between.
            self.haunt(now);
            return Sign::Changed;
        }
        let kept = |it: &Presence| (it.over, it.draining, it.e2.clone(), it.e42.clone());
        if over == presence.over && kept(&before) == kept(&presence) { Sign::Same } else { Sign::Changed }
    }

    /// A life that is not heard of again may have spoken until now.
    pub(super) fn haunt(&mut self, now: Time) {
        self.ghosts = self.ghosts.max(Some(now));
    }

    /// From when what was claimed at a revision, told at a time, is held by nobody else.
    pub(super) fn clear_from(&self, revision: u64, since: Time, wait: Duration) -> Time {
        let rics = self.rics.values().filter(|ric| !ric.presence.over && ric.presence.seen < revision);
        let last = rics.map(|ric| ric.at).chain(self.ghosts).max();
        last.map_or(Time::ZERO, |last| last.min(since) + wait)
    }
}
