//! A device that forwards between two memif ports: our packet engine, or a bare device for a tester's self-test. It
//! runs on one core, or on several with separate rings.

use std::sync::atomic::{AtomicBool, Ordering};

use ranlab_pipeline::tester::DeviceCounters;

use super::cores::Broken;
use super::{Port, PortError, Rings};

pub use super::cores::{Core, Work};

/// Number of rounds between two checks of the control channels.
const TURNS_PER_SERVICE: u32 = 256;

/// Two ports, access and core, and what forwards between them.
pub struct Device {
    ports: [Port; 2],
    /// At least one core.
    cores: Vec<Core>,
    /// CPUs of the cores, as far as configured.
    cpus: Vec<usize>,
}

impl Device {
    /// Creates a device with one core. The ports may connect later. One of `drop_every` packets is dropped on purpose;
    /// 0: none.
    #[must_use]
    pub fn new(ports: [Port; 2], work: Work, drop_every: u64) -> Self {
        Self::of_cores(ports, vec![work]).faulty(drop_every, None)
    }

    /// Creates a device with one core per work, each with a share of the ports' rings. The port
    /// [settings](super::Settings::each_way) have to request that many rings. The sender chooses the core of a packet
    /// by its ring.
    #[must_use]
    pub fn of_cores(ports: [Port; 2], works: Vec<Work>) -> Self {
        Self { ports, cores: works.into_iter().map(Core::new).collect(), cpus: Vec::new() }
    }

    /// Makes each core drop one of `drop_every` packets (0: none), and stop receiving after `hang_after` packets like a
    /// switch that hangs.
    #[must_use]
    pub fn faulty(mut self, drop_every: u64, hang_after: Option<u64>) -> Self {
        for core in &mut self.cores {
            (core.drop_every, core.hang_after) = (drop_every, hang_after);
        }
        self
    }

    /// Pins each core to a CPU, in order, while it [serves](Self::serve). Without permission to pin, it runs unpinned.
    #[must_use]
    pub fn on(self, cpus: Vec<usize>) -> Self {
        Self { cpus, ..self }
    }

    /// Returns whether both peers are connected. Otherwise tries to connect. Never blocks.
    ///
    /// # Errors
    /// A connected peer has disconnected or was rejected. The next peer may connect.
    pub fn connect(&mut self) -> Result<bool, PortError> {
        let mut both = true;
        for port in self.ports.iter_mut().filter(|port| !port.is_up()) {
            both &= port.service()?;
        }
        Ok(both)
    }

    /// Forwards until `stop` is set or a peer disconnects. The first core runs in this thread, which also handles the
    /// control channels; the others run in separate threads.
    ///
    /// # Errors
    /// The reason why a port no longer works. The counters are kept.
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

    /// Returns the rings of both ports for each core.
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

    /// Closes the connection of a port with a broken ring, with an error message to the peer.
    fn close_if_broken<T>(&mut self, result: Result<T, Broken>) -> Result<T, PortError> {
        result.map_err(|(side, fault)| self.ports[side as usize].broken(fault))
    }

    /// Returns its cores. Their counters add up to the device's.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// Returns the number of packets taken out of the rings by all cores.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.cores.iter().map(Core::received).sum()
    }

    /// Returns the ledger of packets that were not sent, including those still in the rings.
    #[must_use]
    pub fn ledger(&self) -> DeviceCounters {
        let waiting = self.ports.iter().map(|port| u64::from(port.waiting())).sum();
        let all = self.cores.iter().fold(DeviceCounters::default(), |sum, core| sum.and(core.ledger()));
        DeviceCounters { waiting, ..all }
    }

    /// Returns the ports, to be closed or reused.
    #[must_use]
    pub fn into_ports(self) -> [Port; 2] {
        self.ports
    }
}

/// Runs a core until all cores end. `look` is called now and then, and ends them by returning an error.
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
