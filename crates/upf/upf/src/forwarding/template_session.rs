//! Sessions that differ from an earlier one only in a few numbers. They are installed and changed without compilation.
use super::rules::{Action, Entry, Mapping, Rules};
use super::{Seid, Teid, UserPlane, find};
use std::net::IpAddr;

/// Maximum number of removed sessions of one shape that are stored for reuse.
const SPARE: usize = 1 << 12;
/// Maximum number of prototypes.
const MAX_PROTOTYPES: usize = 1 << 10;

impl UserPlane {
    /// Returns whether a prototype of this shape is registered for [`install_like`](Self::install_like).
    pub fn has_prototype(&self, shape: usize) -> bool {
        self.prototypes.get(shape).is_some_and(Option::is_some)
    }

    /// Registers a session as prototype. The session must have one tunnel, one UE and no usage rules.
    pub fn learn(&mut self, shape: usize, rules: &Rules<'_>) {
        if shape >= MAX_PROTOTYPES {
            return;
        }
        if self.prototypes.len() <= shape {
            self.prototypes.resize_with(shape + 1, || None);
        }
        // Compilation cannot fail, because the session has been installed.
        if let Ok(entry) = Entry::compile(0, rules, &[]) {
            self.prototypes[shape] = Some((Entry { shape: Some(shape), ..entry }, Vec::new()));
        }
    }

    /// Installs a new session with the rules of the prototype. Returns `false` if the shape is unknown.
    pub fn install_like(&mut self, shape: usize, seid: u64, teid: u32, ue: IpAddr) -> bool {
        let Some(Some((prototype, spare))) = self.prototypes.get_mut(shape) else { return false };
        let mut entry = spare.pop().unwrap_or_else(|| Box::new(prototype.clone()));
        entry.become_like(prototype, seid, teid, ue);
        let index = self.place(seid);
        for mapping in &entry.mappings {
            match *mapping {
                Mapping::Teid(teid) => self.by_teid.insert(Teid(teid), index),
                Mapping::Ue(ue) => self.by_ue.insert(ue, index),
            };
        }
        self.entries[index as usize] = Some(entry);
        true
    }

    /// Sets the downlink tunnel of a session that was installed by [`install_like`](Self::install_like).
    pub fn redirect(&mut self, seid: u64, teid: u32, peer: IpAddr) {
        if let Some(entry) = find(&self.by_seid, &mut self.entries, &Seid(seid)) {
            entry.from_n6.iter_mut().for_each(|rule| rule.action = Action::Tunnel { teid, peer });
        }
    }

    /// Stores a removed session for reuse.
    pub(super) fn use_again(&mut self, entry: Box<Entry>) {
        if let Some(Some(Some((_, spare)))) = entry.shape.map(|shape| self.prototypes.get_mut(shape))
            && spare.len() < SPARE
        {
            spare.push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gpdu, ip, plain, ue};
    use super::*;
    use crate::forwarding::{HEADROOM, Verdict};

    #[test]
    fn session_from_prototype_equals_installed_session() {
        let mut quick = UserPlane::new();
        let mut general = UserPlane::new();
        quick.learn(0, &plain(1).rules());
        assert!(quick.has_prototype(0) && !quick.install_like(1, 9, 9, ue(9).into()));
        let peer = IpAddr::from([10, 0, 0, 9]);
        for round in 0..3_u64 {
            for n in 2..40_u32 {
                let seid = round * 100 + u64::from(n);
                assert!(quick.install_like(0, seid, 0x100 + n, ue(n).into()));
                quick.redirect(seid, 0x900 + n, peer);
                general.install(seid, &plain(n).rules(), &[]).unwrap();
            }
            for n in 0..50_u32 {
                let up = ip(ue(n), [8; 4], 17, (1, 2), 90);
                let down = ip([8; 4], ue(n), 17, (2, 1), 90);
                let datagram = gpdu(0x100 + n, Some(9), &up);
                assert_eq!(quick.uplink(0, peer, &datagram), general.uplink(0, peer, &datagram));
                let mut a = [0; HEADROOM + 90];
                let mut b = [0; HEADROOM + 90];
                assert_eq!(quick.downlink(0, &down, &mut a), general.downlink(0, &down, &mut b));
                assert_eq!(a, b);
                let forwarded = matches!(quick.downlink(0, &down, &mut a), Verdict::N3 { .. });
                assert_eq!(forwarded, (2..40).contains(&n));
                general.downlink(0, &down, &mut b);
            }
            (2..40).for_each(|n| {
                quick.remove(round * 100 + n);
                general.remove(round * 100 + n);
            });
            assert_eq!((quick.sessions(), quick.counters()), (0, general.counters()));
        }
    }
}
