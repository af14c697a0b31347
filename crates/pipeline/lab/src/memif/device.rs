//! A device that forwards between two memif ports: ranlab's packet engine, or a bare device for a tester's self-test.
//! The device runs on one core, or on several cores with separate rings.

use std::sync::atomic::{AtomicBool, Ordering};

use ranlab_pipeline::tester::DeviceCounters;

use super::cores::Broken;
use super::{Port, PortError, Rings};

pub use super::cores::{Core, Work};

/// Number of rounds between two checks of the control channels.
const TURNS_PER_SERVICE: u32 = 256;

/// A device with two ports, access and core, and the cores that forward between them.
pub struct Device {
    ports: [Port; 2],
    /// Cores of the device, at least one.
    cores: Vec<Core>,
    /// CPUs of the cores. May be shorter than `cores`.
    cpus: Vec<usize>,
}

impl Device {
    /// Creates a device with one core. The ports may connect later. The device intentionally drops one of `drop_every`
    /// packets (0: none).
    #[must_use]
    pub fn new(ports: [Port; 2], work: Work, drop_every: u64) -> Self {
        Self::of_cores(ports, vec![work]).faulty(drop_every, None)
    }

    /// Creates a device with one core per element of `works`. Each core has a share of the ports' rings, so the port
    /// [settings](super::Settings::each_way) must request at least that number of rings. The sender selects the core of
    /// a packet by the ring.
    #[must_use]
    pub fn of_cores(ports: [Port; 2], works: Vec<Work>) -> Self {
        Self { ports, cores: works.into_iter().map(Core::new).collect(), cpus: Vec::new() }
    }

    /// Makes each core drop one of `drop_every` packets (0: none), and stop receiving after `hang_after` packets. The
    /// latter simulates a switch that hangs.
    #[must_use]
    pub fn faulty(mut self, drop_every: u64, hang_after: Option<u64>) -> Self {
        for core in &mut self.cores {
            (core.drop_every, core.hang_after) = (drop_every, hang_after);
        }
        self
    }

    /// Pins each core to a CPU, in order, while the device [serves](Self::serve). Without permission, a core runs
    /// unpinned.
    #[must_use]
    pub fn on(self, cpus: Vec<usize>) -> Self {
        Self { cpus, ..self }
    }

    /// Returns whether both peers are connected. If they are not, tries to connect. Never blocks.
    ///
    /// # Errors
    ///
    /// A connected peer has disconnected or was rejected. The next peer may connect.
    pub fn connect(&mut self) -> Result<bool, PortError> {
        let mut both = true;
        for port in self.ports.iter_mut().filter(|port| !port.is_up()) {
            both &= port.service()?;
        }
        Ok(both)
    }

    /// Forwards until `stop` is set or a peer disconnects. The first core runs in this thread, which also handles the
    /// control channels. The other cores run in separate threads.
    ///
    /// # Errors
    ///
    /// The reason why a port no longer works. The counters remain available.
    pub fn serve(&mut self, stop: &AtomicBool) -> Result<(), PortError> {
        let mut parts = self.lend()?;
        let Self { ports, cores, cpus } = &mut *self;
        let over = AtomicBool::new(false);
        let cpu = |index: usize| cpus.get(index % cpus.len().max(1)).copied();
        let ended = || stop.load(Ordering::Relaxed) || over.load(Ordering::Relaxed);
        let result = std::thread::scope(|scope| {
            let mut all = cores.iter_mut().zip(&mut parts).enumerate();
            let first = all.next();
            let others: Vec<_> = all
                .map(|(index, (core, rings))| {
                    let ended = &ended;
                    let over = &over;
                    let cpu = cpu(index);
                    scope.spawn(move || {
                        let result = run(core, rings, cpu, ended, || Ok(()));
                        over.store(true, Ordering::Relaxed);
                        result
                    })
                })
                .collect();
            let mut down = None;
            let mut result = first.map_or(Ok(()), |(index, (core, rings))| {
                run(core, rings, cpu(index), &ended, || {
                    ports.iter_mut().try_for_each(|port| port.service().map(drop)).map_err(|error| {
                        down = Some(error);
                    })
                })
            });
            over.store(true, Ordering::Relaxed);
            for other in others {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result = result.and(other);
            }
            down.map_or(Ok(result), Err)
        });
        self.take_back(parts);
        self.close_if_broken(result?)
    }

    /// Forwards up to one burst per core, all in this thread. Returns the number of packets.
    ///
    /// # Errors
    /// A port no longer works.
    pub fn turn(&mut self) -> Result<usize, PortError> {
        let mut parts = self.lend()?;
        let mut cores = self.cores.iter_mut().zip(&mut parts);
        let count = cores.try_fold(0, |sum, (core, rings)| Ok(sum + core.turn(rings)?));
        self.take_back(parts);
        self.close_if_broken(count)
    }

    /// Lends the rings of both ports to the cores.
    fn lend(&mut self) -> Result<Vec<[Rings; 2]>, PortError> {
        let cores = self.cores.len();
        let [access, core] = &mut self.ports;
        let accesses = access.lend(cores)?;
        match core.lend(cores) {
            Ok(parts) => Ok(accesses.into_iter().zip(parts).map(|(access, core)| [access, core]).collect()),
            Err(error) => {
                access.take_back(accesses);
                Err(error)
            }
        }
    }

    fn take_back(&mut self, parts: Vec<[Rings; 2]>) {
        let (accesses, parts) = parts.into_iter().map(|[access, core]| (access, core)).unzip();
        let [access, core] = &mut self.ports;
        access.take_back(accesses);
        core.take_back(parts);
    }

    /// If a ring is broken, closes the connection of its port with an error message to the peer.
    fn close_if_broken<T>(&mut self, result: Result<T, Broken>) -> Result<T, PortError> {
        result.map_err(|(side, fault)| self.ports[side as usize].broken(fault))
    }

    /// Returns the cores of the device. The device's counters are the sum of their counters.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// Returns the number of packets taken out of the rings by all cores.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.cores.iter().map(Core::received).sum()
    }

    /// Returns the counters of packets that were not sent, including packets that are still in the rings.
    #[must_use]
    pub fn ledger(&self) -> DeviceCounters {
        let waiting = self.ports.iter().map(|port| u64::from(port.waiting())).sum();
        let all = self.cores.iter().fold(DeviceCounters::default(), |sum, core| sum.and(core.ledger()));
        DeviceCounters { waiting, ..all }
    }

    /// Returns the ports, which can then be closed or reused.
    #[must_use]
    pub fn into_ports(self) -> [Port; 2] {
        self.ports
    }
}

/// Runs a core until `ended` returns true, a ring is broken, or `look`, which is called regularly, returns an error.
fn run(
    core: &mut Core,
    rings: &mut [Rings; 2],
    cpu: Option<usize>,
    ended: &impl Fn() -> bool,
    mut look: impl FnMut() -> Result<(), ()>,
) -> Result<(), Broken> {
    if let Some(cpu) = cpu {
        let _ = ranlab_net::pin_thread(cpu);
    }
    let mut turns = 0_u32;
    while !ended() {
        if core.turn(rings)? == 0 {
            std::thread::yield_now();
        }
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(TURNS_PER_SERVICE) && look().is_err() {
            break;
        }
    }
    Ok(())
}
