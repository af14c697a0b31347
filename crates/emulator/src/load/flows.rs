//! The sessions of a run, as everybody who sends or receives their packets sees them.
use super::glance::Glance;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// UDP port of every UE.
pub(super) const UE_PORT: u16 = 4_000;

/// Sessions of one run at most: their number is in the tunnel's.
pub const MAX_FLOWS: usize = (1 << 22) - 1;
/// Handovers that are told apart by the tunnel's number, modulo.
const GENERATIONS: u32 = 1 << 10;

/// Addresses that the UPF may have on N3, besides the one that the load was given.
const MAX_ENDS: usize = 64;

/// UEs by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UePool {
    /// The first one's address; IPv6 counts /64 prefixes.
    pub first: IpAddr,
}

impl UePool {
    /// Address of UE `n`.
    pub fn address(&self, n: usize) -> IpAddr {
        match self.first {
            IpAddr::V4(v4) => Ipv4Addr::from(u32::from(v4).wrapping_add(n as u32)).into(),
            IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6).wrapping_add((n as u128) << 64)).into(),
        }
    }

    /// Number of the UE with this address, if it is one of `count`.
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

/// One session.
#[derive(Debug, Default)]
struct Flow {
    live: AtomicBool,
    /// Its tunnel at the UPF.
    uplink_teid: AtomicU32,
    /// Where that is: 0 the UPF's N3 address, else an index from 1 in [`Flows::ends`].
    end: AtomicU8,
    /// Its base station.
    gnb: AtomicU32,
    /// Handovers so far.
    generation: AtomicU32,
    /// When the last packet came in downlink.
    last_downlink_ns: AtomicU64,
    /// When the handover under way began, 0 if none is.
    moved_ns: AtomicU64,
}

/// Sessions by number.
#[derive(Debug)]
pub struct Flows {
    flows: Vec<Flow>,
    /// Addresses of tunnels' ends other than the N3 address that the load was given.
    ends: [OnceLock<IpAddr>; MAX_ENDS],
    pool: UePool,
    /// UDP port of every UE.
    ue_port: u16,
    /// Who looks on.
    glance: Option<Arc<Glance>>,
}

impl Flows {
    /// Room for `count` sessions, none of them live.
    pub fn new(count: usize, pool: UePool, ue_port: u16) -> Self {
        Self {
            flows: (0..count).map(|_| Flow::default()).collect(),
            ends: [const { OnceLock::new() }; MAX_ENDS],
            pool,
            ue_port,
            glance: None,
        }
    }

    /// The same, with somebody who looks on.
    pub(super) fn watched(self, glance: Option<Arc<Glance>>) -> Self {
        Self { glance, ..self }
    }

    pub(super) fn glance(&self) -> Option<&Glance> {
        self.glance.as_deref()
    }

    /// Sessions that there is room for.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is room for none.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A UE's end of a session.
    pub fn ue(&self, n: usize) -> SocketAddr {
        SocketAddr::new(self.pool.address(n), self.ue_port)
    }

    /// The session of a UE.
    pub fn by_ue(&self, address: IpAddr) -> Option<usize> {
        self.pool.number(address, self.flows.len())
    }

    /// The tunnel at the base station: session and generation.
    pub fn downlink_teid(&self, n: usize) -> u32 {
        let generation = self.flows.get(n).map_or(0, |flow| flow.generation.load(Relaxed));
        (generation % GENERATIONS) << 22 | (n as u32 + 1)
    }

    /// The session of a base station's tunnel, and whether the tunnel is the one in use.
    pub fn by_downlink_teid(&self, teid: u32) -> Option<(usize, bool)> {
        let n = (teid & MAX_FLOWS as u32).checked_sub(1)? as usize;
        let flow = self.flows.get(n)?;
        Some((n, teid >> 22 == flow.generation.load(Relaxed) % GENERATIONS))
    }

    /// The tunnel at the UPF, known before the session is live.
    pub fn set_uplink(&self, n: usize, teid: u32) {
        self.with(n, |flow| flow.uplink_teid.store(teid, Relaxed));
    }

    /// The tunnel at the UPF is at this address; `None`: at the N3 address that the load was given. `false` if there are
    /// too many addresses.
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

    /// Address of the tunnel at the UPF, unless it is the N3 address that the load was given.
    pub fn end(&self, n: usize) -> Option<IpAddr> {
        let index = usize::from(self.flows.get(n)?.end.load(Relaxed));
        self.ends.get(index.checked_sub(1)?)?.get().copied()
    }

    /// Whether some tunnel is at this address.
    pub fn is_end(&self, address: IpAddr) -> bool {
        self.ends.iter().map_while(OnceLock::get).any(|end| *end == address)
    }

    /// Packets may flow, or no more.
    pub fn set_live(&self, n: usize, live: bool) {
        self.with(n, |flow| flow.live.store(live, Relaxed));
    }

    /// Tunnel at the UPF and base station of a session whose packets may flow.
    pub fn live(&self, n: usize) -> Option<(u32, usize)> {
        let flow = self.flows.get(n).filter(|flow| flow.live.load(Relaxed))?;
        Some((flow.uplink_teid.load(Relaxed), flow.gnb.load(Relaxed) as usize))
    }

    /// The base station of a session.
    pub fn gnb(&self, n: usize) -> usize {
        self.flows.get(n).map_or(0, |flow| flow.gnb.load(Relaxed) as usize)
    }

    /// Puts a session at a base station before it begins.
    pub fn attach(&self, n: usize, gnb: usize) {
        self.with(n, |flow| flow.gnb.store(gnb as u32, Relaxed));
    }

    /// Begins a handover: another base station and another tunnel there, which is returned.
    pub fn hand_over(&self, n: usize, gnb: usize, now_ns: u64) -> u32 {
        self.with(n, |flow| {
            flow.generation.fetch_add(1, Relaxed);
            flow.gnb.store(gnb as u32, Relaxed);
            flow.moved_ns.store(now_ns, Relaxed);
        });
        self.downlink_teid(n)
    }

    /// A downlink packet has come into the tunnel in use. The interruption, if it is the first after a handover: from the
    /// last packet before (or from the request, if there was none) to this one.
    pub fn note_downlink(&self, n: usize, now_ns: u64) -> Option<u64> {
        let flow = self.flows.get(n)?;
        let last = flow.last_downlink_ns.swap(now_ns, Relaxed);
        let moved = flow.moved_ns.swap(0, Relaxed);
        (moved != 0).then(|| now_ns.saturating_sub(if last == 0 { moved } else { last }))
    }

    /// A downlink packet has come into a tunnel that was left.
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
    fn ues_and_tunnels_are_found_again() {
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
    fn tunnels_at_several_addresses_are_kept_apart() {
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
    fn a_handover_leaves_a_tunnel_and_its_interruption_is_seen_once() {
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
    fn a_thousand_handovers_later_a_tunnels_number_is_used_again() {
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
    fn a_session_that_there_is_no_room_for_is_nobodys() {
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
    fn a_ue_has_a_prefix_of_its_own_and_every_address_in_it() {
        let pool = UePool { first: "2001:db8:0:ffff::1".parse().unwrap() };
        assert_eq!(pool.address(1), "2001:db8:1:0::1".parse::<IpAddr>().unwrap());
        assert_eq!(pool.number("2001:db8:1::abcd".parse().unwrap(), 2), Some(1));
        assert_eq!(pool.number("10.0.0.1".parse().unwrap(), 2), None, "of another version");
        assert_eq!(pool.number("2001:db8:0:fffe::1".parse().unwrap(), 2), None, "before the first");
        let last = UePool { first: [255, 255, 255, 255].into() };
        assert_eq!(last.address(1), IpAddr::from([0, 0, 0, 0]));
        assert_eq!(last.number([0, 0, 0, 0].into(), 2), Some(1));
    }

    #[test]
    fn an_interruption_without_a_packet_before_is_from_the_request_on() {
        let flows = Flows::new(1, UePool { first: [10, 60, 0, 0].into() }, 4_000);
        flows.hand_over(0, 1, 100);
        assert_eq!(flows.note_downlink(0, 350), Some(250));
        flows.hand_over(0, 0, 400);
        flows.hand_over(0, 1, 500);
        assert_eq!(flows.note_downlink(0, 600), Some(250), "two in a row are one, from the last packet on");
        assert_eq!(flows.note_downlink(0, 700), None);
    }
}
