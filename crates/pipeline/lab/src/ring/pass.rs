//! One pass of a trace through a switch's rings. The output is then compared with the oracle.

use std::time::{Duration, Instant};

use crate::memif::{Port, Put};
use ranlab_net::memif::TakeOutcome;
use ranlab_pipeline::backends::{Equivalence, Outcomes, input, normalise};
use ranlab_pipeline::declare::Port as Side;
use ranlab_pipeline::engine::FRAME_MAX;
use ranlab_pipeline::trace::Trace;

use ranlab_lab::sut;
use ranlab_lab::worker::ComponentError;

/// Maximum number of packets in flight. Any ring has space for this number.
const AT_ONCE: u64 = 8;
/// Time limit for the switch to take a packet.
const TAKEN: Duration = Duration::from_secs(10);
/// Time without packets after which a pass is complete.
const QUIET: Duration = Duration::from_millis(300);

/// Sends packets through connected ports, at a rate that any ring can take. Returns the packets that left by either
/// port.
///
/// The ports stay connected. A DPDK switch may crash if a peer disconnects while one of its threads uses a ring, so the
/// switch has to end first.
pub(crate) fn pass(
    ports: &mut [Port; 2],
    trace: &Trace,
    equivalences: &[Equivalence],
) -> Result<Outcomes, ComponentError> {
    let mut outcomes = Outcomes::default();
    let mut came = 0_u64;
    for (sent, (side, frame)) in (0_u64..).zip(trace.iter()) {
        let mut frame = frame.to_vec();
        normalise(&mut frame, input(equivalences));
        let begun = Instant::now();
        loop {
            came += collect(ports, &mut outcomes, equivalences)?;
            // At most [`AT_ONCE`] packets are in flight. A dropped packet never returns, so it is also sufficient that
            // the switch has taken almost all packets out of its rings.
            let under_way = ports.iter().map(|port| u64::from(port.untaken())).sum::<u64>();
            let room = sent.saturating_sub(came) < AT_ONCE || under_way < AT_ONCE / 2;
            if room && matches!(ports[side as usize].put(&frame).map_err(sut)?, Put::Queued) {
                break;
            }
            if begun.elapsed() >= TAKEN {
                let s = TAKEN.as_secs();
                return Err(sut(format!("the switch has not read packet {sent} from its ring within {s} s")));
            }
            std::thread::yield_now();
        }
        ports.iter().for_each(Port::publish);
    }
    let mut last = Instant::now();
    while last.elapsed() < QUIET {
        if collect(ports, &mut outcomes, equivalences)? > 0 {
            last = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(outcomes)
}

/// Sends one packet through connected ports and waits for the packet that leaves. Returns `None` if no packet leaves
/// within `patience`.
pub(crate) fn one(
    ports: &mut [Port; 2],
    side: Side,
    packet: &[u8],
    patience: Duration,
) -> Result<Option<(Side, Vec<u8>)>, ComponentError> {
    let begun = Instant::now();
    let mut frame = [0; FRAME_MAX];
    let queued = matches!(ports[side as usize].put(packet).map_err(sut)?, Put::Queued);
    ports[side as usize].publish();
    while queued && begun.elapsed() < patience {
        for side in [Side::Access, Side::Core] {
            let port = &mut ports[side as usize];
            let taken = port.take(&mut frame).map_err(sut)?;
            port.publish();
            port.service().map_err(sut)?;
            match taken {
                TakeOutcome::Nothing => {}
                TakeOutcome::Packet(octets) => return Ok(Some((side, frame[..octets].to_vec()))),
                TakeOutcome::Lost(fault) => return Err(sut(fault)),
            }
        }
        std::thread::yield_now();
    }
    Ok(None)
}

/// Receives all available packets. Returns their number.
fn collect(
    ports: &mut [Port; 2],
    outcomes: &mut Outcomes,
    equivalences: &[Equivalence],
) -> Result<u64, ComponentError> {
    let mut frame = [0; FRAME_MAX];
    let mut count = 0;
    for side in [Side::Access, Side::Core] {
        loop {
            match ports[side as usize].take(&mut frame).map_err(sut)? {
                TakeOutcome::Nothing => break,
                TakeOutcome::Packet(octets) => {
                    outcomes.sent(side, frame[..octets].to_vec(), equivalences);
                    count += 1;
                }
                TakeOutcome::Lost(fault) => return Err(sut(fault)),
            }
        }
        ports[side as usize].publish();
        ports[side as usize].service().map_err(sut)?;
    }
    Ok(count)
}
