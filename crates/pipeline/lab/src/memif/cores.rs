//! A core of a device: takes packets out of its rings, and accounts for every packet.

use ranlab_net::memif::{RingFault, TakeOutcome};
use ranlab_net::monotonic_ns;
use ranlab_pipeline::declare::{Port as Side, Verdict};
use ranlab_pipeline::engine::{BURST, Burst, Dropped, Engine, FRAME_MAX};
use ranlab_pipeline::tester::DeviceCounters;

use super::{Put, Rings};

/// The way in which a device processes a packet.
pub enum Work {
    /// Sends the packet back to the port of its arrival.
    Loop,
    /// Sends the packet to the other port.
    Cross,
    /// Processes the packet with a pipeline.
    Pipeline(Box<Engine>),
}

/// An error of a ring, with the side of its port.
pub(super) type Broken = (Side, RingFault);

/// One of a device's cores. Tables and counters are not shared with other cores.
pub struct Core {
    work: Work,
    /// One of `drop_every` packets is dropped intentionally. 0: no packet is.
    pub(super) drop_every: u64,
    /// Number of packets after which the core stops receiving.
    pub(super) hang_after: Option<u64>,
    burst: Box<Burst>,
    /// Egress side of each packet in the burst, as an index. Only used by a bare device.
    ways: [usize; BURST],
    scratch: Box<[u8]>,
    ledger: DeviceCounters,
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
            ledger: DeviceCounters::default(),
            received: 0,
            malformed: 0,
        }
    }

    /// Forwards up to one burst. Returns the number of received packets.
    pub(super) fn turn(&mut self, rings: &mut [Rings; 2]) -> Result<usize, Broken> {
        self.burst.clear();
        for side in [Side::Access, Side::Core] {
            // Each port gets half of the burst, so that a busy port does not starve the other one.
            for _ in 0..BURST / 2 {
                if self.hang_after.is_some_and(|most| self.received >= most) {
                    break;
                }
                match rings[side as usize].take(&mut self.scratch).map_err(|fault| (side, fault))? {
                    TakeOutcome::Nothing => break,
                    TakeOutcome::Lost(_) => self.malformed += 1,
                    TakeOutcome::Packet(octets) => self.arrived(side, octets),
                }
            }
        }
        let count = self.burst.len();
        if let Work::Pipeline(engine) = &mut self.work {
            engine.process(monotonic_ns(), &mut self.burst);
        }
        for index in 0..count {
            let verdict = self.burst.fate(index);
            let out = match (&self.work, verdict) {
                (Work::Pipeline(_), Some(Verdict::Sent(port))) => port as usize,
                (Work::Pipeline(_), Some(Verdict::Dropped(reason))) => {
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

    /// Returns the number of packets that the core took out of its rings.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of packets with invalid descriptors.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Returns the counters of packets that were received and not sent.
    #[must_use]
    pub fn ledger(&self) -> &DeviceCounters {
        &self.ledger
    }

    /// Returns the number of table changes that named missing entries. The result is 0 for a bare device.
    #[must_use]
    pub fn changes_refused(&self) -> u64 {
        if let Work::Pipeline(engine) = &self.work { engine.counters().changes_refused } else { 0 }
    }

    /// Returns the drops of the core's pipeline by element. The list is empty for a bare device.
    #[must_use]
    pub fn drops(&self) -> Vec<Dropped> {
        if let Work::Pipeline(engine) = &self.work { engine.drops() } else { Vec::new() }
    }
}
