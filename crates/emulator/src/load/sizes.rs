//! How much of everything there is at most: octets, datagrams, sessions.
use super::cycles::Loop;
use super::probe::least_packet;
use super::{LoadConfig, Mode};
use ranlab_packet::gtpu::GpduTemplate;

/// The longest user packet.
pub(super) const MAX_PACKET: usize = 9_000;
/// The longest datagram.
pub(super) const MAX_DATAGRAM: usize = MAX_PACKET + GpduTemplate::MAX_LEN;
/// Octets of a packet of the QoS mode, unless said otherwise.
pub(super) const QOS_OCTETS: usize = 1_000;
/// Packets that one turn sends at most, before receiving gets its turn.
pub(super) const TURN: usize = 64;
/// Numbers of sessions beside those in use, for when a session is lost whose number nobody should use again soon.
const SPARE: usize = 256;
/// Descriptors that are waited for at most.
pub(super) const WAITED: usize = 64;

/// Octets of a packet as it is sent: it has room for its probe.
pub(super) fn least_of(octets: usize, ipv6: bool) -> usize {
    octets.max(least_packet(ipv6))
}

/// Sessions that are there at most.
pub fn capacity(config: &LoadConfig) -> usize {
    match config.mode {
        Mode::Control { begin, live, .. } => {
            let coming = match begin {
                Loop::Closed { window } => window + SPARE,
                Loop::Rounds { sessions, .. } => 2 * sessions + SPARE,
                // As many as a thousandth of the most can wait for answers; with holds, what the rate makes.
                Loop::Open(_) => open_capacity(config),
            };
            live + coming + config.smfs
        }
        Mode::Blind { .. } => 1,
        Mode::Sessions { sessions, .. } | Mode::Handover { sessions, .. } => sessions,
        Mode::Paging { sessions, .. } | Mode::Qos { sessions, .. } => sessions,
        // A round's last answers come after the next one's first.
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
    fn each_mode_has_room_for_its_sessions_and_those_on_their_way() {
        assert_eq!(control(Loop::Closed { window: 64 }, Duration::ZERO, 100), 165 + SPARE);
        assert_eq!(control(Loop::Rounds { sessions: 10, period: SECOND }, Duration::ZERO, 0), 21 + SPARE);
        let sessions = |mode| capacity(&config(mode));
        assert_eq!(sessions(Mode::Blind { delay: SECOND, sessions: 1_000_000 }), 1);
        assert_eq!(sessions(Mode::Paging { sessions: 7, rate: 1.0, duration: SECOND }), 7);
        let mixed = Mode::Mixed { fixed: 5, dynamic: 10, duration: SECOND, round: SECOND, lead: SECOND };
        assert_eq!(sessions(mixed), 25 + SPARE, "a round's last come after the next one's first");
    }

    #[test]
    fn an_open_loop_has_room_for_what_its_greatest_rate_holds() {
        let open = |arrivals, hold| control(Loop::Open(arrivals), hold, 0);
        let (steady, held) = (Arrivals::Constant { rate: 100.0 }, SECOND * 4);
        // Requests under way, half as many again as are held on average, a thousand, one for the smoke.
        assert_eq!(open(steady, Duration::ZERO), 1_000 + 1_000 + 1);
        assert_eq!(open(steady, held), 1_000 + 600 + 1_000 + 1);
        let (up, down) = ((10.0, 100.0), (100.0, 10.0));
        for (from, to) in [up, down] {
            assert_eq!(open(Arrivals::Ramp { from, to, over: SECOND * 10 }, held), open(steady, held));
        }
    }

    #[test]
    fn a_packet_has_room_for_its_probe() {
        assert_eq!((least_of(1, false), least_of(1, true), least_of(100, true)), (56, 76, 100));
    }
}
