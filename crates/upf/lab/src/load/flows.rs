//! The sessions of a run, shared by all senders and receivers of their packets.
use super::progress::ProgressCounters;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// UDP port of every UE.
pub(super) const UE_PORT: u16 = 4_000;

/// Maximum number of sessions in a run. Tunnel numbers contain the session number.
pub const MAX_FLOWS: usize = (1 << 22) - 1;
/// Number of handovers after which tunnel numbers repeat.
const GENERATIONS: u32 = 1 << 10;

/// Maximum number of N3 addresses of the UPF, in addition to the configured one.
const MAX_ENDS: usize = 64;

/// Address pool of the UEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UePool {
    /// Address of the first UE. IPv6 addresses advance by /64 prefixes.
    pub first: IpAddr,
}

impl UePool {
    /// Returns the address of UE `n`.
    pub fn address(&self, n: usize) -> IpAddr {
        match self.first {
            IpAddr::V4(v4) => Ipv4Addr::from(u32::from(v4).wrapping_add(n as u32)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6).wrapping_add((n as u128) << 64)).into(),
        }
    }

    /// Returns the number of the UE with this address, if it is below `count`.
    pub fn number(&self, address: IpAddr, count: usize) -> Option<usize> {
        let n = match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(v4)) => u32::from(v4).wrapping_sub(u32::from(first)) as usize,
            (IpAddr::V6(first), IpAddr::V6(v6)) => {
                (u128::from(v6) >> 64).wrapping_sub(u128::from(first) >> 64) as usize
            }
            _ => return None,
        };
        (n < count).then_some(n)
    }
}

/// Tunnels and addresses of a session.
#[derive(Debug, Default)]
struct Flow {
    live: AtomicBool,
    /// TEID of the session's tunnel at the UPF.
    uplink_teid: AtomicU32,
    /// Address of the tunnel at the UPF: 0 for the configured N3 address, otherwise an index from 1 in [`Flows::ends`].
    end: AtomicU8,
    /// Base station of the session.
    gnb: AtomicU32,
    /// Number of handovers of the session.
    generation: AtomicU32,
    /// Time of the last downlink packet.
    last_downlink_ns: AtomicU64,
    /// Start time of the current handover, or 0.
    moved_ns: AtomicU64,
}

/// Sessions by number.
#[derive(Debug)]
pub struct Flows {
    flows: Vec<Flow>,
    /// Tunnel addresses other than the configured N3 address.
    ends: [OnceLock<IpAddr>; MAX_ENDS],
    pool: UePool,
    /// UDP port of every UE.
    ue_port: u16,
    /// Observer of the counters.
    glance: Option<Arc<ProgressCounters>>,
}

impl Flows {
    /// Creates `count` sessions, none of them live.
    pub fn new(count: usize, pool: UePool, ue_port: u16) -> Self {
        Self {
            flows: (0..count).map(|_| Flow::default()).collect(),
            ends: [const { OnceLock::new() }; MAX_ENDS],
            pool,
            ue_port,
            glance: None,
        }
    }

    /// Sets an observer of the counters.
    pub(super) fn watched(self, glance: Option<Arc<ProgressCounters>>) -> Self {
        Self { glance, ..self }
    }

    pub(super) fn glance(&self) -> Option<&ProgressCounters> {
        self.glance.as_deref()
    }

    /// Returns the maximum number of sessions.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns whether the maximum number of sessions is 0.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Returns the UE's address and port of a session.
    pub fn ue(&self, n: usize) -> SocketAddr {
        SocketAddr::new(self.pool.address(n), self.ue_port)
    }

    /// Returns the session of a UE.
    pub fn by_ue(&self, address: IpAddr) -> Option<usize> {
        self.pool.number(address, self.flows.len())
    }

    /// Returns the number of the tunnel at the base station, which consists of the session number and the generation.
    pub fn downlink_teid(&self, n: usize) -> u32 {
        let generation = self.flows.get(n).map_or(0, |flow| flow.generation.load(Relaxed));
        (generation % GENERATIONS) << 22 | (n as u32 + 1)
    }

    /// Returns the session of a base station's tunnel, and whether it is the current tunnel.
    pub fn by_downlink_teid(&self, teid: u32) -> Option<(usize, bool)> {
        let n = (teid & MAX_FLOWS as u32).checked_sub(1)? as usize;
        let flow = self.flows.get(n)?;
        Some((n, teid >> 22 == flow.generation.load(Relaxed) % GENERATIONS))
    }

    /// Sets the tunnel at the UPF. Must be called before the session becomes live.
    pub fn set_uplink(&self, n: usize, teid: u32) {
        self.with(n, |flow| flow.uplink_teid.store(teid, Relaxed));
    }

    /// Sets the address of the tunnel at the UPF. `None`: the configured N3 address. Returns `false` if there are too
    /// many addresses.
    pub fn set_end(&self, n: usize, address: Option<IpAddr>) -> bool {
        let index = match address {
            None => Some(0),
            Some(address) => {
                self.ends.iter().position(|end| *end.get_or_init(|| address) == address).map(|at| at + 1)
            }
        };
        self.with(n, |flow| flow.end.store(index.unwrap_or(0) as u8, Relaxed));
        index.is_some()
    }

    /// Returns the address of the tunnel at the UPF. `None`: the configured N3 address.
    pub fn end(&self, n: usize) -> Option<IpAddr> {
        let index = usize::from(self.flows.get(n)?.end.load(Relaxed));
        self.ends.get(index.checked_sub(1)?)?.get().copied()
    }

    /// Returns whether the UPF has a tunnel at this address.
    pub fn is_end(&self, address: IpAddr) -> bool {
        self.ends.iter().map_while(OnceLock::get).any(|end| *end == address)
    }

    /// Sets whether packets of a session may be sent.
    pub fn set_live(&self, n: usize, live: bool) {
        self.with(n, |flow| flow.live.store(live, Relaxed));
    }

    /// Returns the tunnel at the UPF and the base station of a live session.
    pub fn live(&self, n: usize) -> Option<(u32, usize)> {
        let flow = self.flows.get(n).filter(|flow| flow.live.load(Relaxed))?;
        Some((flow.uplink_teid.load(Relaxed), flow.gnb.load(Relaxed) as usize))
    }

    /// Returns the base station of a session.
    pub fn gnb(&self, n: usize) -> usize {
        self.flows.get(n).map_or(0, |flow| flow.gnb.load(Relaxed) as usize)
    }

    /// Assigns a session to a base station before it begins.
    pub fn attach(&self, n: usize, gnb: usize) {
        self.with(n, |flow| flow.gnb.store(gnb as u32, Relaxed));
    }

    /// Begins a handover to another base station. Returns the new tunnel there.
    pub fn hand_over(&self, n: usize, gnb: usize, now_ns: u64) -> u32 {
        self.with(n, |flow| {
            flow.generation.fetch_add(1, Relaxed);
            flow.gnb.store(gnb as u32, Relaxed);
            flow.moved_ns.store(now_ns, Relaxed);
        });
        self.downlink_teid(n)
    }

    /// Records a downlink packet in the current tunnel. For the first packet after a handover, returns the interruption in nanoseconds. It
    /// lasts from the last packet in the old tunnel, or from the request if there was no such packet.
    pub fn note_downlink(&self, n: usize, now_ns: u64) -> Option<u64> {
        let flow = self.flows.get(n)?;
        let last = flow.last_downlink_ns.swap(now_ns, Relaxed);
        let moved = flow.moved_ns.swap(0, Relaxed);
        (moved != 0).then(|| now_ns.saturating_sub(if last == 0 { moved } else { last }))
    }

    /// Records a downlink packet in a former tunnel.
    pub fn note_old_tunnel(&self, n: usize, now_ns: u64) {
        self.with(n, |flow| flow.last_downlink_ns.store(now_ns, Relaxed));
    }

    fn with(&self, n: usize, change: impl FnOnce(&Flow)) {
        if let Some(flow) = self.flows.get(n) {
            change(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ues_and_tunnels_are_found_by_number() {
        for first in ["10.60.0.0", "2001:db8::1"] {
            let flows = Flows::new(300, UePool { first: first.parse().unwrap() }, 4_000);
            for n in [0, 1, 255, 299] {
                assert_eq!(flows.by_ue(flows.ue(n).ip()), Some(n));
                assert_eq!(flows.by_downlink_teid(flows.downlink_teid(n)), Some((n, true)));
            }
            assert_eq!(flows.by_ue(flows.ue(300).ip()), None);
            assert_eq!(flows.by_ue("192.0.2.1".parse().unwrap()), None);
        }
    }

    #[test]
    fn tunnels_at_different_addresses_are_distinct() {
        let flows = Flows::new(2, UePool { first: [10, 60, 0, 0].into() }, 4_000);
        let other = |n: u8| IpAddr::from([10, 0, 0, n]);
        assert!(flows.set_end(1, Some(other(1))) && flows.set_end(0, Some(other(1))));
        assert_eq!(
            (flows.end(0), flows.is_end(other(1)), flows.is_end(other(2))),
            (Some(other(1)), true, false)
        );
        assert!(flows.set_end(0, None) && flows.end(0).is_none());
        assert!((2..=MAX_ENDS as u8).all(|n| flows.set_end(0, Some(other(n)))));
        assert!(!flows.set_end(0, Some(other(200))));
    }

    #[test]
    fn handover_changes_tunnel_and_reports_interruption_once() {
        let flows = Flows::new(2, UePool { first: [10, 60, 0, 0].into() }, 4_000);
        flows.set_uplink(1, 77);
        assert_eq!(flows.live(1), None);
        flows.set_live(1, true);
        assert_eq!(flows.live(1), Some((77, 0)));
        let old = flows.downlink_teid(1);
        assert_eq!(flows.note_downlink(1, 100), None);
        let new = flows.hand_over(1, 3, 150);
        assert_eq!(
            (flows.by_downlink_teid(old), flows.by_downlink_teid(new)),
            (Some((1, false)), Some((1, true)))
        );
        flows.note_old_tunnel(1, 160);
        assert_eq!(flows.note_downlink(1, 400), Some(240));
        assert_eq!(flows.note_downlink(1, 500), None);
        assert_eq!(flows.live(1), Some((77, 3)));
        assert_eq!(flows.by_downlink_teid(0), None);
    }

    #[test]
    fn tunnel_number_repeats_after_1024_handovers() {
        let flows = Flows::new(1, UePool { first: [10, 60, 0, 0].into() }, 4_000);
        let first = flows.downlink_teid(0);
        for n in 1..GENERATIONS {
            let teid = flows.hand_over(0, n as usize, 1);
            assert_ne!(teid, first);
            assert_eq!(flows.by_downlink_teid(first), Some((0, false)), "{n}");
        }
        assert_eq!(flows.hand_over(0, 0, 1), first);
        assert_eq!(flows.by_downlink_teid(first), Some((0, true)));
    }

    #[test]
    fn session_number_beyond_maximum_is_unknown() {
        let flows = Flows::new(2, UePool { first: "2001:db8::".parse().unwrap() }, 4_000);
        for n in [2, MAX_FLOWS, usize::MAX] {
            flows.set_live(n, true);
            flows.set_uplink(n, 7);
            flows.attach(n, 3);
            assert_eq!((flows.live(n), flows.gnb(n), flows.note_downlink(n, 1)), (None, 0, None));
        }
        assert_eq!(flows.by_downlink_teid(3), None);
        assert!(!flows.is_empty() && Flows::new(0, UePool { first: [1, 1, 1, 1].into() }, 1).is_empty());
    }

    #[test]
    fn ue_owns_its_ipv6_prefix() {
        let pool = UePool { first: "2001:db8:0:ffff::1".parse().unwrap() };
        assert_eq!(pool.address(1), "2001:db8:1:0::1".parse::<IpAddr>().unwrap());
        assert_eq!(pool.number("2001:db8:1::abcd".parse().unwrap(), 2), Some(1));
        assert_eq!(pool.number("10.0.0.1".parse().unwrap(), 2), None, "the address has another IP version");
        assert_eq!(
            pool.number("2001:db8:0:fffe::1".parse().unwrap(), 2),
            None,
            "the address precedes the first one"
        );
        let last = UePool { first: [255, 255, 255, 255].into() };
        assert_eq!(last.address(1), IpAddr::from([0, 0, 0, 0]));
        assert_eq!(last.number([0, 0, 0, 0].into(), 2), Some(1));
    }

    #[test]
    fn interruption_without_earlier_packet_starts_at_request() {
        let flows = Flows::new(1, UePool { first: [10, 60, 0, 0].into() }, 4_000);
        flows.hand_over(0, 1, 100);
        assert_eq!(flows.note_downlink(0, 350), Some(250));
        flows.hand_over(0, 0, 400);
        flows.hand_over(0, 1, 500);
        assert_eq!(
            flows.note_downlink(0, 600),
            Some(250),
            "two handovers in a row are one interruption, from the last packet on"
        );
        assert_eq!(flows.note_downlink(0, 700), None);
    }
}
