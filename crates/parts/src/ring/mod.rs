//! Tier `ring`: packets through shared memory (memif) between our tester and a switch, each in a process and on a core of its
//! own: the [`tester`], and our engine as the [`device`] under test. Other people's switches are in [`crate::switches`].

mod counters;
pub(crate) mod device;
mod pass;
mod tester;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ranlab_dataplane::backends::port_name;
use ranlab_dataplane::declare::Port as Side;
use ranlab_emulator::memif::{Port, PortError, Role, Settings};

use crate::worker::Trouble;
use crate::{environment, rig, sut};

pub use counters::RingCounters;
pub(crate) use pass::{one, pass};
pub(crate) use tester::Testing;
pub use tester::{RingOutcome, RingTesterPart};

/// How long a peer may take to connect.
const UP: Duration = Duration::from_secs(20);

/// Sockets of a switch's ports, access first.
pub(crate) fn sockets(folder: &Path) -> [PathBuf; 2] {
    [Side::Access, Side::Core].map(|port| folder.join(format!("{}.memif", port_name(port))))
}

/// What a ring is, with so many descriptors by binary logarithm.
fn settings(role: Role, log2_ring: u8, rings_to_slave: u16) -> Settings {
    Settings { log2_ring, rings_to_slave, ..Settings::new(role, 0) }
}

/// Ports of one role at the sockets.
pub(crate) fn ports(
    sockets: &[PathBuf; 2],
    role: Role,
    log2_ring: u8,
    rings_back: u16,
) -> Result<[Port; 2], Trouble> {
    let [access, core] = sockets;
    let open = |path: &Path| Port::new(path, settings(role, log2_ring, rings_back)).map_err(environment);
    Ok([open(access)?, open(core)?])
}

/// The tester's ports, connected.
pub(crate) fn connected(
    sockets: &[PathBuf; 2],
    log2_ring: u8,
    rings_back: u16,
) -> Result<[Port; 2], Trouble> {
    up(ports(sockets, Role::Slave, log2_ring, rings_back)?)
}

/// The ports with their peers, which are at their rings.
pub(crate) fn up(mut both: [Port; 2]) -> Result<[Port; 2], Trouble> {
    for port in &mut both {
        port.bring_up(UP).map_err(|error| match error {
            PortError::Settings(_) => rig(error),
            PortError::Socket { .. } => environment(error),
            // It listens and does not talk, or not as it should.
            error => sut(error),
        })?;
    }
    let begun = Instant::now();
    for port in &mut both {
        while !port.room().map_err(sut)? {
            if begun.elapsed() > UP {
                return Err(sut(format!("it gave its ring no buffer within {} s", UP.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(1));
            port.service().map_err(sut)?;
        }
    }
    Ok(both)
}

/// The CPU of the tester, and that of the device: the first and the last on which this process may run.
fn cpus() -> Option<(usize, usize)> {
    let all = crate::switches::allowed_cpus();
    all.first().copied().zip(all.last().copied())
}

#[cfg(test)]
mod tests;
