//! What stands behind a pair of memif ports and forwards: our packet engine, or a bare device for a tester's own test; on one
//! core, or on several, each with rings of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use ranlab_pipeline::tester::Ledger;

use super::cores::Broken;
use super::{Port, PortError, Rings};

pub use super::cores::{Core, Work};

/// Turns between two looks at the control channels.
const TURNS_PER_SERVICE: u32 = 256;

/// Two ports, access and core, and what is between them.
pub struct Device {
    ports: [Port; 2],
    /// One at least, or it serves nobody.
    cores: Vec<Core>,
    /// CPUs of the cores, as far as they are told.
    cpus: Vec<usize>,
}

impl Device {
    /// A device of one core at ports that are up, or will be. `drop_every`: of so many packets one is dropped on purpose; 0: none.
    #[must_use]
    pub fn new(ports: [Port; 2], work: Work, drop_every: u64) -> Self {
        Self::of_cores(ports, vec![work]).faulty(drop_every, None)
    }

    /// A device of a core for each work, each with a part of the ports' rings. Their [settings](super::Settings::each_way)
    /// demand as many; whoever sends to it decides by the ring which core a packet reaches.
    #[must_use]
    pub fn of_cores(ports: [Port; 2], works: Vec<Work>) -> Self {
        Self { ports, cores: works.into_iter().map(Core::new).collect(), cpus: Vec::new() }
    }

    /// The same of which each core drops one of so many packets (0: none), and takes so many and then none any more, as a switch
    /// that hangs does.
    #[must_use]
    pub fn faulty(mut self, drop_every: u64, hang_after: Option<u64>) -> Self {
        for core in &mut self.cores {
            (core.drop_every, core.hang_after) = (drop_every, hang_after);
        }
        self
    }

    /// The same with each core on a CPU, in turn, while it [serves](Self::serve); where a thread may not choose, it forwards all
    /// the same.
    #[must_use]
    pub fn on(self, cpus: Vec<usize>) -> Self {
        Self { cpus, ..self }
    }

    /// Whether both peers are there; looks for them if not. Never waits.
    ///
    /// # Errors
    /// One that was there has gone, or was turned away: the next may come.
    pub fn meet(&mut self) -> Result<bool, PortError> {
        let mut both = true;
        for port in self.ports.iter_mut().filter(|port| !port.is_up()) {
            both &= port.service()?;
        }
        Ok(both)
    }

    /// Forwards until it is told to stop, or a peer goes: the first core in this thread, which looks after the connections as
    /// well, the others in threads of their own.
    ///
    /// # Errors
    /// Why a port does not work any more; what was counted until then stays.
    pub fn serve(&mut self, stop: &AtomicBool) -> Result<(), PortError> {
        let mut parts = self.lend()?;
        let (Self { ports, cores, cpus }, over) = (&mut *self, AtomicBool::new(false));
        let cpu = |index: usize| cpus.get(index % cpus.len().max(1)).copied();
        let ended = || stop.load(Ordering::Relaxed) || over.load(Ordering::Relaxed);
        let result = std::thread::scope(|scope| {
            let mut all = cores.iter_mut().zip(&mut parts).enumerate();
            let first = all.next();
            let others: Vec<_> = all
                .map(|(index, (core, rings))| {
                    let (ended, over, cpu) = (&ended, &over, cpu(index));
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
        self.told(result?)
    }

    /// Forwards what is there, up to one burst of each core, all in this thread; says how many packets.
    ///
    /// # Errors
    /// A port does not work any more.
    pub fn turn(&mut self) -> Result<usize, PortError> {
        let mut parts = self.lend()?;
        let mut cores = self.cores.iter_mut().zip(&mut parts);
        let count = cores.try_fold(0, |sum, (core, rings)| Ok(sum + core.turn(rings)?));
        self.take_back(parts);
        self.told(count)
    }

    /// Rings of both ports for each core.
    fn lend(&mut self) -> Result<Vec<[Rings; 2]>, PortError> {
        let (cores, [access, core]) = (self.cores.len(), &mut self.ports);
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

    /// A ring that is broken ends its port's connection in words.
    fn told<T>(&mut self, result: Result<T, Broken>) -> Result<T, PortError> {
        result.map_err(|(side, fault)| self.ports[side as usize].broken(fault))
    }

    /// Its cores, each with its books: what they hold adds up to the device's.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// Packets taken out of the rings by all cores.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.cores.iter().map(Core::received).sum()
    }

    /// What became of those that did not leave, those that still wait included.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let waiting = self.ports.iter().map(|port| u64::from(port.waiting())).sum();
        let all = self.cores.iter().fold(Ledger::default(), |sum, core| sum.and(core.ledger()));
        Ledger { waiting, ..all }
    }

    /// The ports, to be stopped or used again.
    #[must_use]
    pub fn into_ports(self) -> [Port; 2] {
        self.ports
    }
}

/// A core's turns until all end; `look` has its turn now and then, and ends them by an error, which it keeps.
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
