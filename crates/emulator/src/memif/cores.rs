//! A core of a device: it takes packets out of its rings, and every packet's fate is in its own books.

use ranlab_net::memif::{RingFault, Taken};
use ranlab_net::monotonic_ns;
use ranlab_pipeline::declare::{Fate, Port as Side};
use ranlab_pipeline::engine::{BURST, Burst, Dropped, Engine, FRAME_MAX};
use ranlab_pipeline::tester::Ledger;

use super::{Put, Rings};

/// What a device does with a packet.
pub enum Work {
    /// Sends it back by the port it came from.
    Loop,
    /// Sends it by the other port.
    Cross,
    /// What a pipeline says.
    Pipeline(Box<Engine>),
}

/// A ring is broken: of the port of this side.
pub(super) type Broken = (Side, RingFault);

/// One of a device's cores, with tables and counters that no other core touches.
pub struct Core {
    work: Work,
    /// Of how many packets one is dropped on purpose; 0: none.
    pub(super) drop_every: u64,
    /// It takes so many packets, and then none any more.
    pub(super) hang_after: Option<u64>,
    burst: Box<Burst>,
    /// By place in the burst, where a bare device sends.
    ways: [usize; BURST],
    scratch: Box<[u8]>,
    ledger: Ledger,
    received: u64,
    malformed: u64,
}

impl Core {
    pub(super) fn new(work: Work) -> Self {
        Self {
            work,
            drop_every: 0,
            hang_after: None,
            burst: Box::new(Burst::new()),
            ways: [0; BURST],
            scratch: vec![0; FRAME_MAX].into(),
            ledger: Ledger::default(),
            received: 0,
            malformed: 0,
        }
    }

    /// Forwards what is there, up to one burst; says how many packets.
    pub(super) fn turn(&mut self, rings: &mut [Rings; 2]) -> Result<usize, Broken> {
        self.burst.clear();
        for side in [Side::Access, Side::Core] {
            // Half for each, so that neither port starves the other.
            for _ in 0..BURST / 2 {
                if self.hang_after.is_some_and(|most| self.received >= most) {
                    break;
                }
                match rings[side as usize].take(&mut self.scratch).map_err(|fault| (side, fault))? {
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
            let side = if out == Side::Access as usize { Side::Access } else { Side::Core };
            match rings[out].put(self.burst.frame(index)).map_err(|fault| (side, fault))? {
                Put::Queued => {}
                Put::Full => self.ledger.ring_full += 1,
                Put::Unfit(_) => self.ledger.unfit += 1,
            }
        }
        rings.iter().for_each(Rings::publish);
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

    /// Packets taken out of its rings.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Packets whose descriptors led nowhere.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// What became of those that it took and that did not leave.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
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
}
