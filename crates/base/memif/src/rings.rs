//! The rings of one interface. Packets of a flow use the same ring, and no ring starves the others.

use ranlab_net::memif::{Receiver, RingFault, Sender, TakeOutcome};

use super::Put;

/// Maximum number of packets received from one ring before the next ring is served.
const TURN: u16 = 32;

/// Rings for sending and receiving, at least one of each. A peer has one ring in each direction, or one per thread. If
/// a device has several cores, each core has a share of its port's rings.
#[derive(Debug)]
pub struct Rings {
    pub(super) senders: Vec<Sender>,
    pub(super) receivers: Vec<Receiver>,
    /// The current receiver, and the number of packets received from it in this round.
    turn: (usize, u16),
}

impl Rings {
    pub(super) fn new(senders: Vec<Sender>, receivers: Vec<Receiver>) -> Self {
        Self { senders, receivers, turn: (0, 0) }
    }

    /// Divides the rings among cores, round robin in both directions. A peer that sends a flow on one ring therefore
    /// receives it on the ring with the same number. Returns the rings undivided if one direction has fewer rings than
    /// cores.
    pub(super) fn divide(self, cores: usize) -> Result<Vec<Self>, Self> {
        if cores == 0 || self.senders.len().min(self.receivers.len()) < cores {
            return Err(self);
        }
        let mut parts: Vec<Self> = (0..cores).map(|_| Self::new(Vec::new(), Vec::new())).collect();
        for (index, sender) in self.senders.into_iter().enumerate() {
            parts[index % cores].senders.push(sender);
        }
        for (index, receiver) in self.receivers.into_iter().enumerate() {
            parts[index % cores].receivers.push(receiver);
        }
        Ok(parts)
    }

    /// Joins the shares again, in their order.
    pub(super) fn join(parts: Vec<Self>) -> Self {
        let mut parts: Vec<_> =
            parts.into_iter().map(|part| (part.senders.into_iter(), part.receivers.into_iter())).collect();
        let mut whole = Self::new(Vec::new(), Vec::new());
        loop {
            let before = whole.senders.len() + whole.receivers.len();
            for (senders, receivers) in &mut parts {
                whole.senders.extend(senders.next());
                whole.receivers.extend(receivers.next());
            }
            if whole.senders.len() + whole.receivers.len() == before {
                return whole;
            }
        }
    }

    /// Queues a packet in the ring of its flow. Packets of a flow use one ring, so they stay in order.
    pub fn put(&mut self, packet: &[u8]) -> Result<Put, RingFault> {
        let way = if self.senders.len() > 1 { flow(packet) as usize } else { 0 };
        self.put_by(way, packet)
    }

    /// Queues a packet in a ring by number, modulo the number of rings. Without rings, the result is [`Put::Full`].
    pub fn put_by(&mut self, ring: usize, packet: &[u8]) -> Result<Put, RingFault> {
        let way = ring % self.senders.len().max(1);
        let Some(sender) = self.senders.get_mut(way) else { return Ok(Put::Full) };
        Ok(match sender.put(packet)? {
            Ok(true) => Put::Queued,
            Ok(false) => Put::Full,
            Err(fault) => Put::Unfit(fault),
        })
    }

    /// Takes the next packet from any ring. A ring that always has packets does not starve the others.
    pub fn take(&mut self, into: &mut [u8]) -> Result<TakeOutcome, RingFault> {
        // One iteration for each ring, and one more: the first ring may have used up its round, and is then tried
        // again.
        for _ in 0..=self.receivers.len() {
            let (at, given) = self.turn;
            let receiver = self.receivers.get_mut(at).filter(|_| given < TURN);
            if let Some(taken) = receiver.map(|receiver| receiver.take(into)).transpose()?
                && taken != TakeOutcome::Nothing
            {
                self.turn.1 += 1;
                return Ok(taken);
            }
            self.turn = (if at + 1 < self.receivers.len() { at + 1 } else { 0 }, 0);
        }
        Ok(TakeOutcome::Nothing)
    }

    pub fn publish(&self) {
        self.senders.iter().for_each(Sender::publish);
        self.receivers.iter().for_each(Receiver::publish);
    }
}

/// Returns a hash of a frame's flow: FNV-1a over IP addresses and the following ports, or over the MAC addresses.
fn flow(packet: &[u8]) -> u32 {
    let octets = match packet.get(12..14) {
        Some([0x08, 0x00]) => packet.get(26..38),
        Some([0x86, 0xdd]) => packet.get(22..58),
        _ => None,
    };
    let octets = octets.or_else(|| packet.get(..12)).unwrap_or_default();
    octets.iter().fold(0x811c_9dc5, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ranlab_net::memif::{Buffers, Region, RingLocation as RingPlace};

    use super::*;

    /// Creates a slave's memory with rings in both directions, and the master's ends of them.
    fn several(rings: u16) -> ([Vec<Sender>; 2], [Vec<Receiver>; 2]) {
        let region = Region::create(1 << 20).unwrap();
        let theirs = Region::accept(region.descriptor().try_clone_to_owned().unwrap(), 1 << 20).unwrap();
        let regions: [Arc<[Region]>; 2] = [vec![region].into(), vec![theirs].into()];
        let mut senders = [Vec::new(), Vec::new()];
        let mut receivers = [Vec::new(), Vec::new()];
        for index in 0..u32::from(2 * rings) {
            let place = RingPlace { region: 0, offset: 4096 * index, log2_size: 6 };
            let buffers = Some(Buffers { region: 0, offset: (1 << 19) + 8192 * index, octets: 128 });
            // The first half of the rings leads to the slave.
            let (from, to) = if index < u32::from(rings) { (1, 0) } else { (0, 1) };
            let own = |end: usize| buffers.filter(|_| end == 0);
            let mut sender = None;
            // The owner starts first, because it initializes the rings.
            for end in [0, 1] {
                if end == from {
                    sender = Some(Sender::new(Arc::clone(&regions[end]), place, own(end)).unwrap());
                } else {
                    let mut receiver = Receiver::new(Arc::clone(&regions[end]), place, own(end)).unwrap();
                    receiver.start();
                    receivers[to].push(receiver);
                }
            }
            let mut sender = sender.unwrap();
            sender.start().unwrap();
            senders[from].push(sender);
        }
        (senders, receivers)
    }

    fn frame(source: u8, port: u8) -> [u8; 64] {
        let mut frame = [0; 64];
        (frame[12], frame[29], frame[35]) = (8, source, port);
        // The IP identification differs within a flow.
        frame[18] = port.wrapping_mul(31) ^ source;
        frame
    }

    #[test]
    fn flow_stays_in_ring_and_flows_use_all_rings() {
        let ([_, mut senders], [mut slaves, receivers]) = several(4);
        senders.truncate(4);
        let mut rings = Rings::new(senders, receivers);
        let mut into = [0; 128];
        for round in 0..2_u8 {
            for source in 0..32 {
                let mut frame = frame(source, 1);
                (frame[19], frame[63]) = (round, round);
                assert_eq!(rings.put(&frame), Ok(Put::Queued));
            }
        }
        rings.publish();
        let mut used = 0;
        for slave in &mut slaves {
            let mut came = Vec::new();
            while let Ok(TakeOutcome::Packet(octets)) = slave.take(&mut into) {
                came.push((into[29], into[octets - 1]));
            }
            used += usize::from(!came.is_empty());
            for (source, _) in &came {
                let of: Vec<u8> = came.iter().filter(|one| one.0 == *source).map(|one| one.1).collect();
                assert_eq!(of, [0, 1], "both packets of flow {source} must arrive on one ring, in order");
            }
        }
        assert_eq!(used, 4);
    }

    #[test]
    fn busy_ring_does_not_starve_others() {
        let ([mut slaves, senders], [_, receivers]) = several(3);
        let mut rings = Rings::new(senders, receivers);
        let mut into = [0; 128];
        let mut from = [0_u32; 3];
        for _ in 0..600 {
            for (index, slave) in slaves.iter_mut().enumerate() {
                // The second ring is never full and never empty.
                if index == 0 || slave.waiting() < 2 {
                    let _ = slave.put(&[index as u8; 64]).unwrap();
                    slave.publish();
                }
            }
            if rings.take(&mut into).unwrap() != TakeOutcome::Nothing {
                from[usize::from(into[0])] += 1;
            }
            rings.publish();
        }
        assert_eq!(from.iter().sum::<u32>(), 600);
        assert!(from.iter().all(|from| *from > 100), "{from:?}");
        let frames = [&[][..], &[0; 11], &[8; 13], &frame(1, 1)[..30]];
        assert!(
            frames.iter().all(|frame| rings.put(frame) == Ok(Put::Queued)),
            "short frames must be sent, too"
        );
    }

    #[test]
    fn rings_divide_by_core_and_join_in_order() {
        let ([mut slaves, senders], [_, receivers]) = several(5);
        let few = Rings::new(senders, receivers).divide(6).unwrap_err();
        let mut parts = few.divide(2).unwrap();
        let sizes = |parts: &[Rings]| -> Vec<_> {
            parts.iter().map(|part| (part.senders.len(), part.receivers.len())).collect()
        };
        assert_eq!(sizes(&parts), [(3, 3), (2, 2)]);
        for (index, slave) in slaves.iter_mut().enumerate() {
            assert_eq!(slave.put(&[index as u8; 64]), Ok(Ok(true)));
            slave.publish();
        }
        let mut into = [0; 128];
        for (part, mine) in parts.iter_mut().zip([&[0, 2, 4][..], &[1, 3]]) {
            for ring in mine {
                assert_eq!(part.take(&mut into), Ok(TakeOutcome::Packet(64)));
                assert_eq!(into[0], *ring);
            }
            assert_eq!(part.take(&mut into), Ok(TakeOutcome::Nothing));
            part.publish();
        }
        let mut whole = Rings::join(parts);
        assert!(slaves.iter().all(|slave| slave.waiting() == 0), "all buffers must have been returned");
        for (index, slave) in slaves.iter_mut().enumerate() {
            assert_eq!(slave.put(&[10 + index as u8; 64]), Ok(Ok(true)));
            slave.publish();
        }
        let came: Vec<u8> = (0..5).map(|_| (whole.take(&mut into).unwrap(), into[0]).1).collect();
        assert_eq!(came, [10, 11, 12, 13, 14], "the joined rings must be in their original order");
    }
}
