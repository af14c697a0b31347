//! Rings of packet descriptors in shared memory, one producer and one consumer, without locks.
//!
//! In both directions, the owner of the memory increases `head`, and the peer increases `tail`, both modulo 2^16. On a ring
//! from the owner to the peer, `head` counts packets that the owner has written, and `tail` buffers that the peer has
//! returned. On a ring from the peer to the owner, `head` counts empty buffers that the owner has offered, and `tail`
//! buffers that the peer has filled. Packets are copied, because an endpoint may use a buffer only while a descriptor
//! assigns it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Region;

/// Maximum binary logarithm of the number of descriptors of a ring. Indices have 16 bits.
pub const LOG2_RING_MAX: u8 = 14;
/// Bytes of a ring before its descriptors.
pub const RING_HEAD_BYTES: usize = 128;
/// Maximum buffers of one packet.
pub const CHAIN_MAX: u16 = 8;
const COOKIE: u32 = 0x03E3_1F20;
const FLAGS: usize = 4;
const HEAD: usize = 6;
const TAIL: usize = 64;
const DESCRIPTOR: usize = 16;
/// Flag of a ring whose consumer polls.
const POLLED: u16 = 1;
/// Flag of a descriptor whose packet continues in the next descriptor.
const NEXT: u16 = 1;

/// Location of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingLocation {
    /// Number of the region that contains the ring.
    pub region: u16,
    /// Offset in the region, a multiple of 8.
    pub offset: u32,
    /// Binary logarithm of the number of descriptors, at most [`LOG2_RING_MAX`].
    pub log2_size: u8,
}

/// Location of a ring's buffers in the owner's memory: one for each descriptor, contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// Number of the region that contains the buffers.
    pub region: u16,
    /// Offset in the region.
    pub offset: u32,
    /// Size of each buffer, in bytes.
    pub octets: u32,
}

/// A fault that makes a ring unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingFault {
    /// The ring is not within the memory, too large, or misaligned.
    #[error(
        "a ring of 2^{log2_size} descriptors at {offset} is not within its region; allowed are 2^0 to 2^{LOG2_RING_MAX} at multiples of 8"
    )]
    Place {
        /// Offset of the ring.
        offset: u32,
        /// Binary logarithm of the size.
        log2_size: u8,
    },
    /// The ring's buffers are not within the memory.
    #[error("buffers of {octets} bytes from {offset} on are not within their region")]
    Buffers {
        /// Offset of the buffers.
        offset: u32,
        /// Size of each buffer, in bytes.
        octets: u32,
    },
    /// The ring does not start with the cookie of a ring.
    #[error("a ring begins with {0:#x} instead of {COOKIE:#x}")]
    Cookie(u32),
    /// The peer's index decreased, or advanced by more than the number of descriptors.
    #[error("the peer's index of a ring is {found}; allowed are {least} to {most}, modulo 2^16")]
    Index {
        /// The index found.
        found: u16,
        /// Lowest allowed index.
        least: u16,
        /// Highest allowed index.
        most: u16,
    },
}

/// A fault of a descriptor that affects one packet; the ring continues after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorFault {
    /// The descriptor points outside the memory.
    #[error("a descriptor refers to {length} bytes at {offset} of region {region}, which do not exist")]
    Outside {
        /// Region of the descriptor.
        region: u16,
        /// Offset in the region.
        offset: u32,
        /// Length, in bytes.
        length: u32,
    },
    /// The packet is longer than the available room.
    #[error("a packet of {packet} bytes does not fit into {room} bytes")]
    Room {
        /// Size of the packet as far as known, in bytes.
        packet: usize,
        /// Size of the available room, in bytes.
        room: usize,
    },
    /// More descriptors than the limit for a packet.
    #[error("a packet has more than {CHAIN_MAX} descriptors, or more than its ring")]
    Chain,
}

#[derive(Debug)]
struct Ring {
    regions: Arc<[Region]>,
    region: usize,
    at: usize,
    size: u16,
    /// Buffers of the ring, if this endpoint owns the memory.
    buffers: Option<Buffers>,
    /// Index of the next descriptor of this endpoint, modulo 2^16. The endpoint may use the descriptors before `limit`.
    next: u16,
    limit: u16,
}

impl Ring {
    fn new(regions: Arc<[Region]>, place: RingLocation, buffers: Option<Buffers>) -> Result<Self, RingFault> {
        let RingLocation { region, offset, log2_size } = place;
        let fault = RingFault::Place { offset, log2_size };
        let at = offset as usize;
        let region = usize::from(region);
        let memory = regions.get(region).filter(|_| log2_size <= LOG2_RING_MAX).ok_or(fault)?;
        let size = 1_u16 << log2_size;
        let end = at + RING_HEAD_BYTES + DESCRIPTOR * usize::from(size);
        if end > memory.octets() || !at.is_multiple_of(8) {
            return Err(fault);
        }
        if let Some(Buffers { region, offset, octets }) = buffers {
            let end = u64::from(offset) + u64::from(octets) * u64::from(size);
            let there = regions.get(usize::from(region)).map_or(0, |region| region.octets() as u64);
            if end > there || octets == 0 {
                return Err(RingFault::Buffers { offset, octets });
            }
        }
        let ring = Self { regions, region, at, size, buffers, next: 0, limit: 0 };
        let cookie = ring.memory().u32(at).ok_or(fault)?;
        if ring.buffers.is_some() {
            cookie.store(COOKIE, Ordering::Relaxed);
        } else if cookie.load(Ordering::Relaxed) != COOKIE {
            return Err(RingFault::Cookie(cookie.load(Ordering::Relaxed)));
        }
        Ok(ring)
    }

    fn memory(&self) -> &Region {
        // `new` has checked the number of the region.
        &self.regions[self.region]
    }

    fn store(&self, at: usize, value: u16) {
        if let Some(field) = self.memory().u16(self.at + at) {
            field.store(value, Ordering::Release);
        }
    }

    /// Reads the peer's counter once.
    fn peers(&self) -> u16 {
        let at = if self.buffers.is_some() { TAIL } else { HEAD };
        self.memory().u16(self.at + at).map_or(0, |field| field.load(Ordering::Acquire))
    }

    /// Publishes this endpoint's index.
    fn publish(&self, index: u16) {
        self.store(if self.buffers.is_some() { HEAD } else { TAIL }, index);
    }

    fn left(&self) -> u16 {
        self.limit.wrapping_sub(self.next)
    }

    /// Reads the peer's index. `ahead` is the number of descriptors by which this endpoint's index may exceed the
    /// peer's.
    fn read_peer_index(&mut self, ahead: u16) -> Result<(), RingFault> {
        let found = self.peers();
        let limit = found.wrapping_add(ahead);
        let left = limit.wrapping_sub(self.next);
        if left > self.size || left < self.left() {
            let least = self.limit.wrapping_sub(ahead);
            let most = self.next.wrapping_add(self.size);
            return Err(RingFault::Index { found, least, most: most.wrapping_sub(ahead) });
        }
        self.limit = limit;
        Ok(())
    }

    fn slot(&self, index: u16) -> usize {
        self.at + RING_HEAD_BYTES + DESCRIPTOR * usize::from(index & (self.size - 1))
    }

    /// Reads a descriptor once: flags, region, length, offset.
    fn descriptor(&self, index: u16) -> (u16, u16, u32, u32) {
        let at = self.slot(index);
        let word = |at| self.memory().u64(at).map_or(0, |word| word.load(Ordering::Relaxed)).to_ne_bytes();
        let [a, b, c, d, e, f, g, h] = word(at);
        let [i, j, k, l, ..] = word(at + 8);
        let flags = u16::from_ne_bytes([a, b]);
        let region = u16::from_ne_bytes([c, d]);
        (flags, region, u32::from_ne_bytes([e, f, g, h]), u32::from_ne_bytes([i, j, k, l]))
    }

    fn describe(&self, index: u16, flags: u16, region: u16, length: u32, offset: u32) {
        let at = self.slot(index);
        let [a, b] = flags.to_ne_bytes();
        let [c, d] = region.to_ne_bytes();
        let [e, f, g, h] = length.to_ne_bytes();
        let [i, j, k, l] = offset.to_ne_bytes();
        let words = [[a, b, c, d, e, f, g, h], [i, j, k, l, 0, 0, 0, 0]];
        for (word, at) in words.into_iter().zip([at, at + 8]) {
            if let Some(place) = self.memory().u64(at) {
                place.store(u64::from_ne_bytes(word), Ordering::Relaxed);
            }
        }
    }

    /// Returns the region, length and offset of a descriptor's buffer. The owner of the memory knows them. The other endpoint
    /// uses the values of the descriptor, after checking them.
    fn buffer(&self, index: u16, fields: (u16, u32, u32)) -> Result<(u16, u32, u32), DescriptorFault> {
        let (region, length, offset) = fields;
        if let Some(own) = self.buffers {
            let number = u32::from(index & (self.size - 1));
            return Ok((own.region, own.octets, own.offset + number * own.octets));
        }
        let end = u64::from(offset) + u64::from(length);
        let within =
            self.regions.get(usize::from(region)).is_some_and(|region| end <= region.octets() as u64);
        if within {
            Ok((region, length, offset))
        } else {
            Err(DescriptorFault::Outside { region, offset, length })
        }
    }
}

/// The sending endpoint of a ring.
#[derive(Debug)]
pub struct Sender(Ring);

impl Sender {
    /// Creates the sender of a ring. If `buffers` is given, this endpoint owns the memory.
    ///
    /// # Errors
    /// There is no valid ring at this location.
    pub fn new(
        regions: Arc<[Region]>,
        place: RingLocation,
        buffers: Option<Buffers>,
    ) -> Result<Self, RingFault> {
        Ring::new(regions, place, buffers).map(Self)
    }

    /// Publishes this endpoint's index for the first time; call it after the peer has connected.
    ///
    /// # Errors
    /// The peer's index does not match.
    pub fn start(&mut self) -> Result<(), RingFault> {
        self.0.publish(0);
        self.free().map(drop)
    }

    /// Returns the number of packets that fit now, at most 2^14.
    ///
    /// # Errors
    /// The peer's index is out of range, so the ring is unusable.
    pub fn free(&mut self) -> Result<u16, RingFault> {
        if self.0.left() == 0 {
            let ahead = if self.0.buffers.is_some() { self.0.size } else { 0 };
            self.0.read_peer_index(ahead)?;
        }
        Ok(self.0.left())
    }

    /// Adds a packet, which the peer sees after [`Sender::publish`]; returns `false` if the ring is full. A packet that
    /// does not fit the next buffer leaves that buffer unused.
    ///
    /// # Errors
    /// The ring is unusable.
    pub fn put(&mut self, packet: &[u8]) -> Result<Result<bool, DescriptorFault>, RingFault> {
        if self.free()? == 0 {
            return Ok(Ok(false));
        }
        let index = self.0.next;
        let (_, region, length, offset) = self.0.descriptor(index);
        let (region, room, offset) = match self.0.buffer(index, (region, length, offset)) {
            Ok(buffer) => buffer,
            Err(fault) => return Ok(Err(fault)),
        };
        let packet_octets = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        let memory = &self.0.regions[usize::from(region)];
        if packet_octets > room || !memory.write(offset as usize, packet) {
            return Ok(Err(DescriptorFault::Room { packet: packet.len(), room: room as usize }));
        }
        self.0.describe(index, 0, region, packet_octets, offset);
        self.0.next = index.wrapping_add(1);
        Ok(Ok(true))
    }

    /// Shows the added packets to the peer.
    pub fn publish(&self) {
        self.0.publish(self.0.next);
    }

    /// Returns the number of packets that the peer has not taken yet, according to its index, which is not checked
    /// here. The number is exact if this endpoint owns the memory, or if the peer returns buffers at once.
    #[must_use]
    pub fn waiting(&self) -> u16 {
        let ahead = if self.0.buffers.is_some() { self.0.size } else { 0 };
        let room = self.0.peers().wrapping_add(ahead).wrapping_sub(self.0.next);
        self.0.size - room.min(self.0.size)
    }
}

/// Result of taking a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOutcome {
    /// No packet.
    Nothing,
    /// A packet with this number of bytes.
    Packet(usize),
    /// A packet that was invalid and was dropped.
    Lost(DescriptorFault),
}

/// The receiving endpoint of a ring.
#[derive(Debug)]
pub struct Receiver(Ring);

impl Receiver {
    /// Creates the receiver of a ring. If `buffers` is given, this endpoint owns the memory. The receiver polls, and sets
    /// the flag that shows this to the peer.
    ///
    /// # Errors
    /// There is no valid ring at this location.
    pub fn new(
        regions: Arc<[Region]>,
        place: RingLocation,
        buffers: Option<Buffers>,
    ) -> Result<Self, RingFault> {
        Ring::new(regions, place, buffers).map(Self)
    }

    /// Publishes this endpoint's index for the first time; the owner offers all buffers. Call it after the
    /// peer has connected.
    pub fn start(&mut self) {
        self.0.store(FLAGS, POLLED);
        if self.0.buffers.is_some() {
            (0..self.0.size).for_each(|index| self.offer(index));
        }
        self.publish();
    }

    fn offer(&self, index: u16) {
        if let Ok((region, octets, offset)) = self.0.buffer(index, (0, 0, 0)) {
            self.0.describe(index, 0, region, octets, offset);
        }
    }

    /// Takes the next packet and copies it to `into`. The peer sees this after [`Receiver::publish`].
    ///
    /// # Errors
    /// The peer's index is out of range, so the ring is unusable.
    pub fn take(&mut self, into: &mut [u8]) -> Result<TakeOutcome, RingFault> {
        if let Some(taken) = self.whole(into) {
            return Ok(taken);
        }
        // No packet was known, or the known descriptors end within a packet.
        self.0.read_peer_index(0)?;
        Ok(self.whole(into).unwrap_or(TakeOutcome::Nothing))
    }

    /// Takes the next packet, if it is complete.
    fn whole(&mut self, into: &mut [u8]) -> Option<TakeOutcome> {
        let mut filled = 0;
        let mut fault = None;
        for count in 0..self.0.left() {
            let index = self.0.next.wrapping_add(count);
            let (flags, region, length, offset) = self.0.descriptor(index);
            if fault.is_none() {
                fault = self.append(index, region, length, offset, into, &mut filled).err();
            }
            let chained = flags & NEXT != 0;
            if chained && count + 1 == CHAIN_MAX.min(self.0.size) {
                fault = Some(DescriptorFault::Chain);
            } else if chained {
                continue;
            }
            for index in 0..=count {
                if self.0.buffers.is_some() {
                    self.offer(self.0.next.wrapping_add(index));
                }
            }
            self.0.next = index.wrapping_add(1);
            return Some(fault.map_or(TakeOutcome::Packet(filled), TakeOutcome::Lost));
        }
        None
    }

    fn append(
        &self,
        index: u16,
        region: u16,
        length: u32,
        offset: u32,
        into: &mut [u8],
        filled: &mut usize,
    ) -> Result<(), DescriptorFault> {
        let (region, room, offset) = self.0.buffer(index, (region, length, offset))?;
        if length > room {
            return Err(DescriptorFault::Room { packet: length as usize, room: room as usize });
        }
        let packet = *filled + length as usize;
        let room = into.len();
        let to = into.get_mut(*filled..packet).ok_or(DescriptorFault::Room { packet, room })?;
        let memory = &self.0.regions[usize::from(region)];
        if !memory.read(offset as usize, to) {
            return Err(DescriptorFault::Outside { region, offset, length });
        }
        *filled = packet;
        Ok(())
    }

    /// Returns the buffers of taken packets to the peer.
    pub fn publish(&self) {
        let ahead = if self.0.buffers.is_some() { self.0.size } else { 0 };
        self.0.publish(self.0.next.wrapping_add(ahead));
    }

    /// Returns the number of waiting packets, according to the peer's index, which is not checked here.
    #[must_use]
    pub fn waiting(&self) -> u16 {
        self.0.peers().wrapping_sub(self.0.next).min(self.0.size)
    }
}
