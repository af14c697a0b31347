//! Limits of a load: packet lengths, batch sizes, and number of sessions.
use super::cycles::Loop;
use super::probe::least_packet;
use super::{LoadConfig, Mode};
use ranlab_packet::gtpu::GpduTemplate;

/// Maximum length of a user packet, in bytes.
pub(super) const MAX_PACKET: usize = 9_000;
/// Maximum length of a datagram, in bytes.
pub(super) const MAX_DATAGRAM: usize = MAX_PACKET + GpduTemplate::MAX_LEN;
/// Default packet length in QoS mode, in bytes.
pub(super) const QOS_OCTETS: usize = 1_000;
/// Maximum number of packets that a thread sends before the next read.
pub(super) const TURN: usize = 64;
/// Number of spare session numbers, so that the number of a lost session is not reused soon.
const SPARE: usize = 256;
/// Maximum number of descriptors to wait for.
pub(super) const WAITED: usize = 64;

/// Lengths of users' IP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketSizes {
    /// Length of all packets, in bytes.
    Fixed(usize),
    /// Simple IMIX (RFC 6985): of 12 packets, 7 have 46 bytes, 4 have 576 and 1 has 1,500, which are Ethernet frames of
    /// 64, 594 and 1,518 bytes. A packet is at least as long as its probe requires.
    Imix,
}

impl PacketSizes {
    const IMIX: [usize; 12] = [46, 576, 46, 576, 46, 1_500, 46, 576, 46, 576, 46, 46];

    /// Returns the length of a packet by number.
    pub(super) fn at(self, number: u64) -> usize {
        match self {
            Self::Fixed(octets) => octets,
            Self::Imix => Self::IMIX[(number % 12) as usize],
        }
    }

    /// Returns the maximum length.
    pub(super) fn most(self) -> usize {
        match self {
            Self::Fixed(octets) => octets,
            Self::Imix => Self::IMIX.into_iter().max().unwrap_or(0),
        }
    }
}

/// Packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Packets per second of all sessions together. Infinity stands for the maximum rate.
    pub packets_per_s: f64,
    /// Lengths of the users' IP packets.
    pub octets: PacketSizes,
    /// Interval, in packets, between packets that request reflection. 0: no packet requests it.
    pub reflect_every: u64,
}

impl Traffic {
    /// Returns the settings of packets of one length that do not request reflection.
    pub(super) const fn unreflected(packets_per_s: f64, octets: usize) -> Self {
        Self { packets_per_s, octets: PacketSizes::Fixed(octets), reflect_every: 0 }
    }
}

/// Returns the length of a packet as it is sent, in bytes. It is at least the length that a probe needs.
pub(super) fn least_of(octets: usize, ipv6: bool) -> usize {
    octets.max(least_packet(ipv6))
}

/// Returns the maximum number of concurrent sessions.
pub fn capacity(config: &LoadConfig) -> usize {
    match config.mode {
        Mode::Control { begin, live, .. } => {
            let coming = match begin {
                Loop::Closed { window } => window + SPARE,
                Loop::Rounds { sessions, .. } => 2 * sessions + SPARE,
                // The capacity includes `window` pending requests per SMF, and the sessions that are held at this rate.
                Loop::Open(_) => open_capacity(config),
            };
            live + coming + config.smfs
        }
        Mode::Blind { .. } | Mode::Replay(_) => 1,
        Mode::Sessions { sessions, .. } | Mode::Handover { sessions, .. } => sessions,
        Mode::Paging { sessions, .. } | Mode::Qos { sessions, .. } => sessions,
        // The last responses of a round may arrive after the first requests of the next round.
        Mode::Mixed { fixed, dynamic, .. } => fixed + 2 * dynamic + SPARE,
    }
}

fn open_capacity(config: &LoadConfig) -> usize {
    let Mode::Control { begin: Loop::Open(arrivals), hold, duration, .. } = config.mode else { return 0 };
    let rate = arrivals.rate_at(0.0).max(arrivals.rate_at(duration.as_secs_f64()));
    config.window.max(1) * config.smfs + (rate * hold.as_secs_f64() * 1.5) as usize + 1_000
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::Arrivals;
    use super::super::tests::config;
    use super::*;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn control(begin: Loop, hold: Duration, live: usize) -> usize {
        capacity(&config(Mode::Control { begin, cycles: None, duration: SECOND * 10, hold, live }))
    }

    #[test]
    fn capacity_includes_pending_sessions() {
        assert_eq!(control(Loop::Closed { window: 64 }, Duration::ZERO, 100), 165 + SPARE);
        assert_eq!(control(Loop::Rounds { sessions: 10, period: SECOND }, Duration::ZERO, 0), 21 + SPARE);
        let sessions = |mode| capacity(&config(mode));
        assert_eq!(sessions(Mode::Blind { delay: SECOND, sessions: 1_000_000 }), 1);
        assert_eq!(sessions(Mode::Paging { sessions: 7, rate: 1.0, duration: SECOND }), 7);
        let mixed = Mode::Mixed { fixed: 5, dynamic: 10, duration: SECOND, round: SECOND, lead: SECOND };
        assert_eq!(
            sessions(mixed),
            25 + SPARE,
            "the last sessions of a round overlap with the first ones of the next round"
        );
    }

    #[test]
    fn open_loop_capacity_follows_maximum_rate() {
        let open = |arrivals, hold| control(Loop::Open(arrivals), hold, 0);
        let steady = Arrivals::Constant { rate: 100.0 };
        let held = SECOND * 4;
        // The capacity is the sum of pending requests, 1.5 times the mean number of held sessions, one thousand, and one for the smoke
        // test.
        assert_eq!(open(steady, Duration::ZERO), 1_000 + 1_000 + 1);
        assert_eq!(open(steady, held), 1_000 + 600 + 1_000 + 1);
        let up = (10.0, 100.0);
        let down = (100.0, 10.0);
        for (from, to) in [up, down] {
            assert_eq!(open(Arrivals::Ramp { from, to, over: SECOND * 10 }, held), open(steady, held));
        }
    }

    #[test]
    fn imix_has_its_three_lengths() {
        let count = |octets| (0..1_200).filter(|n| PacketSizes::Imix.at(*n) == octets).count();
        assert_eq!([46, 576, 1_500].map(count), [700, 400, 100]);
        assert_eq!((PacketSizes::Imix.most(), PacketSizes::Fixed(64).at(7)), (1_500, 64));
    }

    #[test]
    fn packet_is_long_enough_for_probe() {
        assert_eq!((least_of(1, false), least_of(1, true), least_of(100, true)), (56, 76, 100));
    }
}
