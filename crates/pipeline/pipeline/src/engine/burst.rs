use crate::declare::{DropReason, Port, Verdict};

/// Number of packets processed together. Each packet has one bit of a word.
pub const BURST: usize = 64;
/// Maximum frame length without FCS, in bytes.
pub const FRAME_MAX: usize = REACH - HEADROOM;
/// Upper bound of offsets within a slot. A power of two, so that the bounds check is a single instruction.
const REACH: usize = 2048;
/// Bytes before a frame, for tunnel headers.
const HEADROOM: usize = 128;
/// Size of a slot: an odd number of cache lines. If the size were a power of two, slots would compete for the same few
/// sets of the cache.
pub(super) const SLOT: usize = 35 * LINE;
const LINE: usize = 64;
/// Maximum length of a read or write at an offset.
const WINDOW: usize = SLOT - REACH;
const _: () = assert!(WINDOW >= 2 * LINE && (SLOT / LINE) % 2 == 1);

/// Memory of one packet in a burst.
#[repr(align(64))]
pub(super) struct Slot([u8; SLOT]);

impl Slot {
    /// Returns the bytes from `at` on. An offset beyond [`REACH`] never occurs; it would read elsewhere in the slot.
    /// The mask is used instead of a check, because a branch would cost more.
    #[inline(always)]
    pub(super) fn window<const N: usize>(&self, at: usize) -> &[u8; N] {
        const { assert!(N <= WINDOW) };
        let at = at & (REACH - 1);
        self.0[at..].first_chunk().unwrap_or(&[0; N])
    }

    /// Returns the bytes from `at` on, mutable. See [`window`](Self::window).
    #[inline(always)]
    pub(super) fn window_mut<const N: usize>(&mut self, at: usize) -> &mut [u8; N] {
        const { assert!(N <= WINDOW) };
        let at = at & (REACH - 1);
        // The mask leaves more than a window, so the chunk exists.
        #[allow(clippy::unwrap_used)]
        self.0[at..].first_chunk_mut().unwrap()
    }

    #[inline(always)]
    pub(super) fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(*self.window(at))
    }

    #[inline(always)]
    pub(super) fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(*self.window(at))
    }

    #[inline(always)]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.window::<1>(at)[0]
    }

    /// Copies the Ethernet header (14 bytes).
    #[inline(always)]
    pub(super) fn copy_ethernet(&mut self, from: usize, to: usize) {
        let header = *self.window::<14>(from);
        *self.window_mut(to) = header;
    }

    pub(super) fn bytes(&self, from: usize, to: usize) -> &[u8] {
        self.0.get(from..to).unwrap_or(&[])
    }

    /// Writes a frame that fits after the headroom.
    #[inline(always)]
    fn write(&mut self, frame: &[u8]) {
        // Fast path for frames of minimum length, which are the most frequent, and for their tunnelled forms.
        if let Ok(line) = <&[u8; LINE]>::try_from(frame) {
            *self.window_mut(HEADROOM) = *line;
            return;
        }
        match (frame.first_chunk::<LINE>(), frame.last_chunk::<LINE>()) {
            // Two overlapping lines cover the frame without a variable length.
            (Some(first), Some(last)) if frame.len() <= 2 * LINE => {
                *self.window_mut(HEADROOM) = *first;
                *self.window_mut(HEADROOM + frame.len() - LINE) = *last;
            }
            _ => self.write_any(frame),
        }
    }

    #[inline(never)]
    fn write_any(&mut self, frame: &[u8]) {
        // Full lines are copied without a function call, and the remainder with one call.
        let (lines, rest) = frame.as_chunks::<LINE>();
        let mut at = HEADROOM;
        for line in lines {
            *self.window_mut(at) = *line;
            at += LINE;
        }
        if !rest.is_empty() {
            self.0[at..at + rest.len()].copy_from_slice(rest);
        }
    }
}

/// Data passed between stages for each packet. Offsets are in bytes from the slot's start. Fields are 32 bits wide,
/// because store forwarding works only for loads of the same width.
#[derive(Clone, Copy, Default)]
pub(super) struct Meta {
    /// Start of the frame.
    pub(super) start: u32,
    /// End of the frame.
    pub(super) end: u32,
    /// Start of the IP header.
    pub(super) l3: u32,
    /// Total length of the IP packet.
    pub(super) total: u32,
    /// Key of the removed tunnel.
    pub(super) key: u32,
    /// The user found.
    pub(super) user: u32,
    /// The next hop found.
    pub(super) next_hop: u32,
    /// Whether the packet is IPv6.
    pub(super) ipv6: bool,
}

/// The reason why a frame is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The burst already holds [`BURST`] packets. Process and clear it first.
    #[error("a burst has at most {BURST} packets")]
    Full,
    /// The frame is longer than [`FRAME_MAX`].
    #[error("the frame has {0} bytes, at most {FRAME_MAX} are allowed")]
    TooLong(usize),
}

/// Packets to be processed by an engine, with space before each for tunnel headers.
pub struct Burst {
    pub(super) slots: Box<[Slot; BURST]>,
    pub(super) meta: [Meta; BURST],
    pub(super) dropped: [DropReason; BURST],
    /// Packets by ingress port, one bit each.
    pub(super) ingress: [u64; 2],
    /// Packets by egress port, one bit each.
    pub(super) sent: [u64; 2],
    filled: usize,
}

impl Default for Burst {
    fn default() -> Self {
        Self::new()
    }
}

impl Burst {
    /// Creates an empty burst.
    #[must_use]
    pub fn new() -> Self {
        let slots: Vec<Slot> = (0..BURST).map(|_| Slot([0; SLOT])).collect();
        // The vector has exactly BURST elements.
        #[allow(clippy::unwrap_used)]
        let slots = slots.into_boxed_slice().try_into().ok().unwrap();
        Self {
            slots,
            meta: [Meta::default(); BURST],
            dropped: [DropReason::PathEnd; BURST],
            ingress: [0; 2],
            sent: [0; 2],
            filled: 0,
        }
    }

    /// Removes all packets.
    #[inline]
    pub fn clear(&mut self) {
        (self.ingress, self.sent, self.filled) = ([0; 2], [0; 2], 0);
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Returns whether the burst is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Returns whether the burst is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.filled == BURST
    }

    /// Adds a copy of a frame.
    #[inline]
    pub fn push(&mut self, ingress: Port, frame: &[u8]) -> Result<(), PushError> {
        let index = self.filled;
        if index >= BURST {
            return Err(PushError::Full);
        }
        if frame.len() > FRAME_MAX {
            return Err(PushError::TooLong(frame.len()));
        }
        self.place(index, frame);
        self.ingress[ingress as usize] |= 1 << index;
        self.filled += 1;
        Ok(())
    }

    /// Writes a frame that fits into a slot.
    #[inline(always)]
    fn place(&mut self, index: usize, frame: &[u8]) {
        self.slots[index].write(frame);
        let start = HEADROOM as u32;
        let length = frame.len() as u32;
        self.meta[index] = Meta {
            start,
            end: start + length,
            l3: start + 14,
            total: length.saturating_sub(14),
            ..Meta::default()
        };
    }

    /// Adds copies of frames until the burst is full or `frames` ends. Returns their number. Frames that are too long
    /// for [`Self::push`] are skipped.
    #[inline]
    pub fn fill<'a>(&mut self, frames: impl Iterator<Item = (Port, &'a [u8])>) -> usize {
        let mut index = self.filled;
        let mut ingress = self.ingress;
        for (port, frame) in frames.take(BURST - index) {
            if frame.len() <= FRAME_MAX {
                self.place(index & (BURST - 1), frame);
                ingress[port as usize] |= 1 << index;
                index += 1;
            }
        }
        let taken = index - self.filled;
        (self.filled, self.ingress) = (index, ingress);
        taken
    }

    /// Returns the verdict on packet `index`, or `None` before it was processed.
    #[must_use]
    pub fn fate(&self, index: usize) -> Option<Verdict> {
        if index >= self.filled {
            return None;
        }
        let bit = 1_u64 << index;
        Some(match (self.sent[0] & bit != 0, self.sent[1] & bit != 0) {
            (true, _) => Verdict::Sent(Port::Access),
            (_, true) => Verdict::Sent(Port::Core),
            _ => Verdict::Dropped(self.dropped[index]),
        })
    }

    /// Returns the current content of packet `index`.
    #[must_use]
    pub fn frame(&self, index: usize) -> &[u8] {
        if index >= self.filled {
            return &[];
        }
        self.slots[index].bytes(self.meta[index].start as usize, self.meta[index].end as usize)
    }

    #[inline(always)]
    pub(super) fn fail(&mut self, index: usize, reason: DropReason) {
        self.dropped[index] = reason;
    }
}

/// Iterator over the bits of a word, lowest first.
#[derive(Clone, Copy)]
pub(super) struct Bits(pub(super) u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let index = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        // Bit numbers are 0 to 63; the mask removes the bounds check of every index.
        Some(index & (BURST - 1))
    }
}
