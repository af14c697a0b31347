//! Sessions that differ from another one in a few numbers: installed and changed without being compiled.
use super::rules::{Action, Entry, Mapping, Rules};
use super::{Seid, Teid, UserPlane, find};
use std::net::IpAddr;

/// Removed sessions of one shape that are kept to be used again.
const SPARE: usize = 1 << 12;
/// Prototypes at most.
const MAX_PROTOTYPES: usize = 1 << 10;

impl UserPlane {
    /// Whether [`install_like`](Self::install_like) knows this shape.
    pub fn has_prototype(&self, shape: usize) -> bool {
        self.prototypes.get(shape).is_some_and(Option::is_some)
    }

    /// Others will be like this session: one tunnel, one UE, no usage rules.
    pub fn learn(&mut self, shape: usize, rules: &Rules<'_>) {
        if shape >= MAX_PROTOTYPES {
            return;
        }
        if self.prototypes.len() <= shape {
            self.prototypes.resize_with(shape + 1, || None);
        }
        // The session has been installed, so its rules compile.
        if let Ok(entry) = Entry::compile(0, rules, &[]) {
            self.prototypes[shape] = Some((Entry { shape: Some(shape), ..entry }, Vec::new()));
        }
    }

    /// Installs a new session like that of the shape; `false` if the shape is not known.
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

    /// Downlink packets of such a session go into this tunnel.
    pub fn redirect(&mut self, seid: u64, teid: u32, peer: IpAddr) {
        if let Some(entry) = find(&self.by_seid, &mut self.entries, &Seid(seid)) {
            entry.from_n6.iter_mut().for_each(|rule| rule.action = Action::Tunnel { teid, peer });
        }
    }

    /// What a removed session leaves.
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
    use crate::forwarding::{Fate, HEADROOM};

    #[test]
    fn a_session_like_another_forwards_as_if_its_rules_had_been_installed() {
        let (mut quick, mut general) = (UserPlane::new(), UserPlane::new());
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
                let (up, down) = (ip(ue(n), [8; 4], 17, (1, 2), 90), ip([8; 4], ue(n), 17, (2, 1), 90));
                let datagram = gpdu(0x100 + n, Some(9), &up);
                assert_eq!(quick.uplink(0, peer, &datagram), general.uplink(0, peer, &datagram));
                let (mut a, mut b) = ([0; HEADROOM + 90], [0; HEADROOM + 90]);
                assert_eq!(quick.downlink(0, &down, &mut a), general.downlink(0, &down, &mut b));
                assert_eq!(a, b);
                let forwarded = matches!(quick.downlink(0, &down, &mut a), Fate::N3 { .. });
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
