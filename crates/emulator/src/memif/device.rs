//! What stands behind a pair of memif ports and forwards: our packet engine, or a bare device for a tester's own test.

use std::sync::atomic::{AtomicBool, Ordering};

use ranlab_dataplane::declare::{Fate, Port as Side};
use ranlab_dataplane::engine::{BURST, Burst, Dropped, Engine, FRAME_MAX};
use ranlab_dataplane::tester::Ledger;
use ranlab_net::memif::Taken;
use ranlab_net::monotonic_ns;

use super::{Port, PortError, Put};

/// Turns between two looks at the control channels.
const TURNS_PER_SERVICE: u32 = 256;

/// What a device does with a packet.
pub enum Work {
    /// Sends it back by the port it came from.
    Loop,
    /// Sends it by the other port.
    Cross,
    /// What a pipeline says.
    Pipeline(Box<Engine>),
}

/// Two ports, access and core, and what is between them.
pub struct Device {
    ports: [Port; 2],
    work: Work,
    /// Of how many packets one is dropped on purpose; 0: none.
    drop_every: u64,
    /// It takes so many packets, and then none any more.
    hang_after: Option<u64>,
    burst: Box<Burst>,
    /// By place in the burst, where a bare device sends.
    ways: [usize; BURST],
    scratch: Box<[u8]>,
    ledger: Ledger,
    received: u64,
    malformed: u64,
}

impl Device {
    /// A device at ports that are up.
    #[must_use]
    pub fn new(ports: [Port; 2], work: Work, drop_every: u64) -> Self {
        Self {
            ports,
            work,
            drop_every,
            hang_after: None,
            burst: Box::new(Burst::new()),
            ways: [0; BURST],
            scratch: vec![0; FRAME_MAX].into(),
            ledger: Ledger::default(),
            received: 0,
            malformed: 0,
        }
    }

    /// The same that takes so many packets and then none any more, as a switch that hangs does.
    #[must_use]
    pub fn hanging(self, after: Option<u64>) -> Self {
        Self { hang_after: after, ..self }
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

    /// Forwards until it is told to stop, or a peer goes.
    ///
    /// # Errors
    /// Why a port does not work any more; what was counted until then stays.
    pub fn serve(&mut self, stop: &AtomicBool) -> Result<(), PortError> {
        let mut turns = 0_u32;
        while !stop.load(Ordering::Relaxed) {
            if self.turn()? == 0 {
                std::thread::yield_now();
            }
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS_PER_SERVICE) {
                for port in &mut self.ports {
                    port.service()?;
                }
            }
        }
        Ok(())
    }

    /// Forwards what is there, up to one burst; says how many packets.
    ///
    /// # Errors
    /// A port does not work any more.
    pub fn turn(&mut self) -> Result<usize, PortError> {
        self.burst.clear();
        for (index, side) in [Side::Access, Side::Core].into_iter().enumerate() {
            // Half for each, so that neither port starves the other.
            for _ in 0..BURST / 2 {
                if self.hang_after.is_some_and(|most| self.received >= most) {
                    break;
                }
                match self.ports[index].take(&mut self.scratch)? {
                    Taken::Nothing => break,
                    Taken::Lost(_) => self.malformed += 1,
                    Taken::Packet(octets) => self.arrived(side, octets),
                }
            }
        }
        let count = self.burst.len();
        if let Work::Pipeline(engine) = &mut self.work {
            engine.process(monotonic_ns(), &mut self.burst);
        }
        for index in 0..count {
            let fate = self.burst.fate(index);
            let out = match (&self.work, fate) {
                (Work::Pipeline(_), Some(Fate::Sent(port))) => port as usize,
                (Work::Pipeline(_), Some(Fate::Dropped(reason))) => {
                    self.ledger.dropped[reason as usize] += 1;
                    continue;
                }
                _ => self.ways[index],
            };
            match self.ports[out].put(self.burst.frame(index))? {
                Put::Queued => {}
                Put::Full => self.ledger.ring_full += 1,
                Put::Unfit(_) => self.ledger.unfit += 1,
            }
        }
        self.ports.iter().for_each(Port::publish);
        Ok(count)
    }

    fn arrived(&mut self, side: Side, octets: usize) {
        self.received += 1;
        let place = self.burst.len();
        if self.drop_every > 0 && self.received.is_multiple_of(self.drop_every) {
            self.ledger.on_purpose += 1;
        } else if self.burst.push(side, &self.scratch[..octets]).is_err() {
            self.ledger.unfit += 1;
        } else {
            let way = if matches!(self.work, Work::Loop) { side } else { side.other() };
            self.ways[place] = way as usize;
        }
    }

    /// Packets taken out of the rings.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Packets whose descriptors led nowhere.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// What became of those that did not leave, those that still wait included.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let waiting = self.ports.iter().map(|port| u64::from(port.waiting())).sum();
        Ledger { waiting, ..self.ledger.clone() }
    }

    /// Changes of its tables that named something that is not there; 0 of a bare device.
    #[must_use]
    pub fn changes_refused(&self) -> u64 {
        if let Work::Pipeline(engine) = &self.work { engine.counters().changes_refused } else { 0 }
    }

    /// Where its pipeline dropped packets; nothing of a bare device.
    #[must_use]
    pub fn drops(&self) -> Vec<Dropped> {
        if let Work::Pipeline(engine) = &self.work { engine.drops() } else { Vec::new() }
    }

    /// The ports, to be stopped or used again.
    #[must_use]
    pub fn into_ports(self) -> [Port; 2] {
        self.ports
    }
}
