//! Assignment of sessions to workers, so that all packets of a session use the same rate limits and meters.
use super::packets::Side;
use ranlab_upf::n4::Session;
use std::collections::HashMap;

/// A tunnel, or the address of a UE (for IPv6 its /64 prefix).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Tunnel(u32),
    V4(u32),
    V6(u64),
}

/// Workers of sessions, by the tunnels and UE addresses that occur in packets.
#[derive(Debug, Default)]
pub(super) struct Owners {
    by_key: HashMap<Key, (u64, usize)>,
    keys: HashMap<u64, Vec<Key>>,
}

impl Owners {
    /// Returns the worker of a session, out of `count`.
    pub(super) fn of_session(seid: u64, count: usize) -> usize {
        (seid % count.max(1) as u64) as usize
    }

    /// Adds or updates a session. Returns its worker.
    pub(super) fn install(&mut self, seid: u64, session: &Session, count: usize) -> usize {
        let worker = Self::of_session(seid, count);
        self.remove(seid);
        let ues = session.pdrs.iter().flat_map(|pdr| &pdr.pdi.ue_ip_addresses).flat_map(|ue| {
            let v6 = ue.addresses.v6.map(|v6| Key::V6((u128::from(v6) >> 64) as u64));
            [ue.addresses.v4.map(|v4| Key::V4(v4.into())), v6].into_iter().flatten()
        });
        let keys: Vec<Key> = session.uplink_teids().map(Key::Tunnel).chain(ues).collect();
        self.by_key.extend(keys.iter().map(|key| (*key, (seid, worker))));
        self.keys.insert(seid, keys);
        worker
    }

    pub(super) fn remove(&mut self, seid: u64) {
        for key in self.keys.remove(&seid).unwrap_or_default() {
            // Another session may have taken over the address.
            if self.by_key.get(&key).is_some_and(|(owner, _)| *owner == seid) {
                self.by_key.remove(&key);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the worker for a packet. The first worker handles packets without a session.
    pub(super) fn of_packet(&self, side: Side, packet: &[u8]) -> usize {
        let four = |at: usize| packet.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four));
        let key = match (side, packet.first().map_or(0, |first| first >> 4)) {
            (Side::N3, _) => four(4).map(Key::Tunnel),
            (Side::N6, 4) => four(16).map(Key::V4),
            (Side::N6, _) => packet
                .get(24..)
                .and_then(|rest| rest.first_chunk())
                .map(|eight| Key::V6(u64::from_be_bytes(*eight))),
        };
        key.and_then(|key| self.by_key.get(&key)).map_or(0, |(_, worker)| *worker)
    }
}
