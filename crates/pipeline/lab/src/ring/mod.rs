//! Tier `ring`: packets travel through shared memory (memif) between ranlab's tester and a switch. Each of them is a
//! separate process on a separate core.
//!
//! This module contains the [`tester`], and ranlab's engine as the [`device`] under test. Third-party switches are in
//! [`crate::switches`].

mod counters;
pub(crate) mod device;
mod pass;
mod tester;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::memif::{Port, PortError, RINGS_MAX, Role, Settings};
use ranlab_pipeline::backends::port_name;
use ranlab_pipeline::declare::Port as Side;

use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

pub use counters::RingCounters;
pub(crate) use pass::{one, pass};
pub(crate) use tester::RunningTester;
pub use tester::{RingOutcome, RingTesterComponent};

/// Time limit for the connection of a peer.
const UP: Duration = Duration::from_secs(20);

/// Returns the socket paths of a switch's ports, access first.
pub(crate) fn sockets(folder: &Path) -> [PathBuf; 2] {
    [Side::Access, Side::Core].map(|port| folder.join(format!("{}.memif", port_name(port))))
}

/// Number and size of a connection's rings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Descriptors per ring, as a binary logarithm.
    pub(crate) log2_ring: u8,
    /// Number of rings towards the switch. There is one per core if each core receives separately.
    pub(crate) to_switch: u16,
    /// Number of rings on which the switch sends.
    pub(crate) back: u16,
}

impl Shape {
    /// Returns a shape with one ring towards the switch and `back` rings from the switch.
    pub(crate) fn one(log2_ring: u8, back: u16) -> Self {
        Self { log2_ring, to_switch: 1, back }
    }

    /// Returns a shape with one ring per core of the device in each direction.
    pub(crate) fn each_way(log2_ring: u8, cores: u16) -> Self {
        Self { log2_ring, to_switch: cores, back: cores }
    }

    /// Returns the settings of one end of the connection. A slave owns the rings. A master requires at least one ring
    /// per core.
    fn settings(self, role: Role) -> Settings {
        let own = Settings { log2_ring: self.log2_ring, ..Settings::new(role, 0) };
        match role {
            Role::Slave => Settings { rings_to_master: self.to_switch, rings_to_slave: self.back, ..own },
            Role::Master => Settings { rings_least: self.to_switch.min(self.back), ..own },
        }
    }
}

/// Returns the number of rings per direction for a number of cores.
fn rings(cores: usize) -> Result<u16, ComponentError> {
    let rings = u16::try_from(cores).ok().filter(|cores| (1..=RINGS_MAX).contains(cores));
    rings.ok_or_else(|| {
        environment(format!(
            "`sut.cores` is {cores}: each core has a separate ring in each direction, and 1 to {RINGS_MAX} rings per direction are supported"
        ))
    })
}

/// Opens ports of one role at the sockets.
pub(crate) fn ports(sockets: &[PathBuf; 2], role: Role, shape: Shape) -> Result<[Port; 2], ComponentError> {
    let [access, core] = sockets;
    let open = |path: &Path| Port::new(path, shape.settings(role)).map_err(environment);
    Ok([open(access)?, open(core)?])
}

/// Opens the tester's ports and connects them.
pub(crate) fn connected(sockets: &[PathBuf; 2], shape: Shape) -> Result<[Port; 2], ComponentError> {
    up(ports(sockets, Role::Slave, shape)?)
}

/// Waits until both ports are connected.
pub(crate) fn up(mut both: [Port; 2]) -> Result<[Port; 2], ComponentError> {
    for port in &mut both {
        port.bring_up(UP).map_err(|error| match error {
            PortError::Settings(_) => rig(error),
            PortError::Socket { .. } => environment(error),
            // The peer listens but does not respond, or violates the protocol.
            error => sut(error),
        })?;
    }
    let begun = Instant::now();
    for port in &mut both {
        while !port.room().map_err(sut)? {
            if begun.elapsed() > UP {
                return Err(sut(format!("the switch put no buffer into its ring within {} s", UP.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(1));
            port.service().map_err(sut)?;
        }
    }
    Ok(both)
}

/// Returns the CPU of the tester: the first CPU on which this process may run.
fn tester_cpu() -> Option<usize> {
    crate::switches::allowed_cpus().first().copied()
}

/// Returns the CPUs of a device's cores, starting with the last CPU on which this process may run. The tester's CPU is
/// therefore the last one to be shared.
fn device_cpus() -> Vec<usize> {
    let mut all = crate::switches::allowed_cpus();
    all.reverse();
    all
}

#[cfg(test)]
mod tests;
