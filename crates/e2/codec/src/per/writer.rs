//! Bit writer: the encoding half of X.691.
use super::{EncodeError, FRAGMENT, width};
use crate::e2ap::Version;

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Appends aligned-PER fields to a byte buffer.
///
/// The writer has the protocol [`Version`], because a few E2AP types differ between versions.
#[derive(Debug)]
pub struct Writer {
    buf: Vec<u8>,
    /// Number of unused low-order bits in the last byte.
    free: u32,
    version: Version,
    merged: bool,
    bare: bool,
    replay: Option<crate::e2ap::Replay>,
}

impl Writer {
    /// Creates a writer that appends to `buf`, which must end on a byte boundary.
    pub fn new(buf: Vec<u8>, version: Version) -> Self {
        Self { buf, free: 0, version, merged: false, bare: false, replay: None }
    }

    /// Writes the form that [`Reader::with_merged_additions`](super::Reader::with_merged_additions) reads.
    #[must_use]
    pub fn with_merged_additions(self) -> Self {
        Self { merged: true, ..self }
    }

    /// Writes the form that [`Reader::with_bare_conditions`](super::Reader::with_bare_conditions) reads.
    #[must_use]
    pub fn with_bare_conditions(self) -> Self {
        Self { bare: true, ..self }
    }

    /// Returns whether a KPM condition is only the CHOICE, without a SEQUENCE around it.
    pub fn has_bare_conditions(&self) -> bool {
        self.bare
    }

    /// Returns whether an extension addition of a SEQUENCE is part of the root.
    pub fn merges(&self, sequence: &str, component: &str) -> bool {
        self.merged && super::reader::MERGED_COMPONENTS.contains(&(sequence, component))
    }

    /// Returns whether extension additions of a CHOICE of this type are part of the root.
    pub fn merges_alternatives(&self, choice: &str) -> bool {
        self.merged && !super::reader::EXTENDED_CHOICES.contains(&choice)
    }

    pub(crate) fn with_replay(mut self, replay: crate::e2ap::Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    pub(crate) fn replay(&mut self) -> Option<&mut crate::e2ap::Replay> {
        self.replay.as_mut()
    }

    /// Returns the protocol version being encoded.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the bytes written so far; the last one is padded with zero bits.
    pub fn into_vec(self) -> Vec<u8> {
        self.buf
    }

    /// Writes the low `n` bits of `value`, most significant first.
    #[inline]
    pub fn bits(&mut self, value: u64, mut n: u32) {
        while n > 0 {
            if self.free == 0 {
                self.buf.push(0);
                self.free = 8;
            }
            let k = n.min(self.free);
            let part = ((value >> (n - k)) & ((1u64 << k) - 1)) as u8;
            if let Some(last) = self.buf.last_mut() {
                *last |= part << (self.free - k);
            }
            self.free -= k;
            n -= k;
        }
    }

    /// Writes one bit.
    #[inline]
    pub fn bit(&mut self, value: bool) {
        self.bits(u64::from(value), 1);
    }

    /// Pads to the next byte boundary.
    #[inline]
    pub fn align(&mut self) {
        self.free = 0;
    }

    /// Writes bytes at the current bit position.
    #[inline]
    pub fn octets_raw(&mut self, octets: &[u8]) {
        if self.free == 0 {
            self.buf.extend_from_slice(octets);
        } else {
            for &o in octets {
                self.bits(u64::from(o), 8);
            }
        }
    }

    /// Writes a constrained whole number (§11.5).
    pub fn constrained(&mut self, what: &'static str, value: u64, low: u64, high: u64) -> Result {
        if value < low || value > high {
            return Err(EncodeError::OutOfRange { what, value, low, high });
        }
        let range = high - low;
        let x = value - low;
        match range {
            0 => {}
            1..255 => self.bits(x, width(range)),
            255..65_536 => {
                self.align();
                let octets = if range == 255 { 1 } else { 2 };
                self.buf.extend_from_slice(&x.to_be_bytes()[8 - octets..]);
            }
            _ => {
                let most = width(range).div_ceil(8);
                let octets = width(x).div_ceil(8).max(1);
                self.bits(u64::from(octets - 1), width(u64::from(most - 1)));
                self.align();
                self.buf.extend_from_slice(&x.to_be_bytes()[8 - octets as usize..]);
            }
        }
        Ok(())
    }

    /// Writes an unconstrained whole number (§11.8): length, then the shortest two's complement.
    pub fn unconstrained(&mut self, value: i64) {
        let octets = value.to_be_bytes();
        let redundant = octets
            .windows(2)
            .take_while(|w| (w[0] == 0 && w[1] < 0x80) || (w[0] == 0xff && w[1] >= 0x80))
            .count();
        self.octets(&octets[redundant..]);
    }

    /// Writes a normally small non-negative whole number (§11.6).
    pub fn small(&mut self, value: u64) {
        if value < 64 {
            self.bits(value, 7);
        } else {
            self.bit(true);
            let octets = value.to_be_bytes();
            let skip = (value.leading_zeros() / 8) as usize;
            self.octets(&octets[skip..]);
        }
    }

    /// Writes a length determinant below one fragment unit (§11.9.3.5 to 7).
    fn short_length(&mut self, n: usize) {
        debug_assert!(n < FRAGMENT);
        if n < 128 {
            self.buf.push(n as u8);
        } else {
            self.buf.extend_from_slice(&(0x8000 | n as u16).to_be_bytes());
        }
    }

    /// Writes an octet string with an unconstrained length, in fragments if it is long (§11.9).
    pub fn octets(&mut self, octets: &[u8]) {
        self.fragments(octets.len(), |w, from, to| w.buf.extend_from_slice(&octets[from..to]));
    }

    /// Writes `n` units after an unconstrained length; `each` writes the units `from..to`.
    pub(crate) fn fragments(&mut self, n: usize, mut each: impl FnMut(&mut Self, usize, usize)) {
        let mut from = 0;
        self.align();
        while n - from >= FRAGMENT {
            let units = ((n - from) / FRAGMENT).min(4);
            self.buf.push(0xc0 | units as u8);
            each(self, from, from + units * FRAGMENT);
            self.align();
            from += units * FRAGMENT;
        }
        self.short_length(n - from);
        each(self, from, n);
    }

    /// Writes an open type (§11.2): writes the contents in place, then inserts their length before them.
    pub fn open(&mut self, contents: impl FnOnce(&mut Self) -> Result) -> Result {
        self.align();
        let at = self.buf.len();
        self.buf.push(0);
        contents(self)?;
        self.align();
        if self.buf.len() == at + 1 {
            self.buf.push(0); // an open type is never empty: a single zero byte stands for no bits
        }
        let n = self.buf.len() - at - 1;
        if n < 128 {
            self.buf[at] = n as u8;
        } else if n < FRAGMENT {
            let [hi, lo] = (0x8000 | n as u16).to_be_bytes();
            self.buf[at] = hi;
            self.buf.insert(at + 1, lo);
        } else {
            // Append the contents again, with the lengths between the pieces, then remove the first copy. This needs
            // no memory other than the buffer.
            let end = self.buf.len();
            self.fragments(n, |w, from, to| w.buf.extend_from_within(at + 1 + from..at + 1 + to));
            self.buf.drain(at..end);
        }
        Ok(())
    }

    /// Writes the extension additions of a SEQUENCE (§19.7 to 9): a presence bitmap, then each present addition as an
    /// open type.
    pub fn additions(
        &mut self,
        present: &[bool],
        mut each: impl FnMut(usize, &mut Self) -> Result,
    ) -> Result {
        let n = present.len();
        if n <= 64 {
            self.bits(n as u64 - 1, 7);
        } else {
            self.bit(true);
            self.align();
            self.short_length(n.min(FRAGMENT - 1));
        }
        for &p in present {
            self.bit(p);
        }
        for (i, _) in present.iter().enumerate().filter(|(_, p)| **p) {
            self.open(|w| each(i, w))?;
        }
        Ok(())
    }
}
