//! How much of everything there is at most: octets, datagrams, sessions.
use super::cycles::Loop;
use super::probe::least_packet;
use super::{LoadConfig, Mode};
use ranlab_wire::gtpu::GpduTemplate;

/// The longest user packet.
pub(super) const MAX_PACKET: usize = 9_000;
/// The longest datagram.
pub(super) const MAX_DATAGRAM: usize = MAX_PACKET + GpduTemplate::MAX_LEN;
/// Octets of a packet of the QoS mode, unless said otherwise.
pub(super) const QOS_OCTETS: usize = 1_000;
/// Packets that one turn sends at most, before receiving gets its turn.
pub(super) const TURN: usize = 64;
/// Descriptors that are waited for at most.
pub(super) const WAITED: usize = 64;

/// Octets of a packet as it is sent: it has room for its probe.
pub(super) fn least_of(octets: usize, ipv6: bool) -> usize {
    octets.max(least_packet(ipv6))
}

/// Sessions that are there at most.
pub(super) fn capacity(config: &LoadConfig) -> usize {
    match config.mode {
        Mode::Control { begin, live, .. } => {
            let coming = match begin {
                Loop::Closed { window } => window,
                Loop::Rounds { sessions, .. } => 2 * sessions,
                // As many as a thousandth of the most can wait for answers; with holds, what the rate makes.
                Loop::Open(_) => open_capacity(config),
            };
            live + coming + config.smfs
        }
        Mode::Blind { .. } => 1,
        Mode::Sessions { sessions, .. } | Mode::Handover { sessions, .. } => sessions,
        Mode::Paging { sessions, .. } | Mode::Qos { sessions, .. } => sessions,
        // A round's last answers come after the next one's first.
        Mode::Mixed { fixed, dynamic, .. } => fixed + 2 * dynamic,
    }
}

fn open_capacity(config: &LoadConfig) -> usize {
    let Mode::Control { begin: Loop::Open(arrivals), hold, duration, .. } = config.mode else { return 0 };
    let rate = arrivals.rate_at(0.0).max(arrivals.rate_at(duration.as_secs_f64()));
    config.window.max(1) * config.smfs + (rate * hold.as_secs_f64() * 1.5) as usize + 1_000
}
