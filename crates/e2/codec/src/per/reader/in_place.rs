//! Reads that recognize the usual form of a value at once, for views of long reports.
use super::Reader;
use crate::per::real;
use std::ops::Range;

/// Value that [`Reader::integer_or_real`] reads.
pub(crate) enum IntegerOrReal {
    Integer(u32),
    Real(f64),
}

impl Reader {
    /// Skips the next bits if they equal the bits at `known`. Both must start at a byte boundary. Returns whether the bits were skipped.
    #[inline]
    pub(crate) fn repeats(&mut self, known: &Range<usize>) -> bool {
        let from = known.start / 8;
        let at = self.pos.div_ceil(8);
        let bits = known.len();
        let whole = bits / 8;
        let rest = bits % 8;
        let same = |a: usize, b: usize, n: usize| match (self.buf.get(a..a + n), self.buf.get(b..b + n)) {
            (Some(a), Some(b)) => b == a,
            _ => false,
        };
        let last = |at: usize| self.buf.get(at + whole).map(|octet| u16::from(*octet) >> (8 - rest));
        let inside = at * 8 + bits <= self.end * 8;
        let repeats = inside && same(from, at, whole) && (rest == 0 || last(from) == last(at));
        if repeats {
            self.pos = at * 8 + bits;
        }
        repeats
    }

    /// Reads an INTEGER of 32 bits or a REAL, if one comes next and begins at a byte boundary. They must be the first
    /// and the second of three or four alternatives of an extensible CHOICE. Otherwise reads nothing.
    #[inline]
    pub(crate) fn integer_or_real(&mut self) -> Option<IntegerOrReal> {
        if !self.pos.is_multiple_of(8) {
            return None;
        }
        // The extension bit, then the index in two bits.
        let (&begin, octets) = self.buf.get(self.pos / 8..self.end)?.split_first()?;
        let (value, len) = match begin >> 5 {
            0 => {
                let len = usize::from(begin >> 3 & 0b11) + 1;
                let number =
                    octets.get(..len)?.iter().fold(0, |number, octet| number << 8 | u32::from(*octet));
                (IntegerOrReal::Integer(number), len)
            }
            1 => {
                let (&len, octets) = octets.split_first().filter(|(len, _)| **len < 0x80)?;
                let len = usize::from(len);
                (IntegerOrReal::Real(real::decode(octets.get(..len)?)?), 1 + len)
            }
            _ => return None,
        };
        self.pos += 8 * (1 + len);
        Some(value)
    }

    /// Skips the next `n` bits, at most 56, if they are `expected`. Returns whether it skipped them.
    #[inline]
    pub(crate) fn skips(&mut self, n: u32, expected: u64) -> bool {
        let before = self.pos;
        let skips = self.raw_bits(n).is_ok_and(|bits| bits == expected);
        if !skips {
            self.pos = before;
        }
        skips
    }
}
