//! Bit reader: the decoding half of X.691, within limits.
use super::{DecodeError, DecodeFault, FRAGMENT, width};
use crate::e2ap::{Deviation, IeDiagnostic, Version};
use bytes::Bytes;
use std::ops::Range;

mod in_place;
pub(crate) use in_place::IntegerOrReal;

type Result<T = ()> = std::result::Result<T, DecodeError>;

/// Limits on the decoder's work for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of list elements in the whole message, including nested ones.
    pub elements: usize,
    /// Maximum depth of nested open types and of recursive types.
    pub depth: usize,
}

impl Default for Limits {
    /// 65,536 elements (E2AP's longest list has 1,024) and 16 levels (E2AP needs 4).
    fn default() -> Self {
        Self { elements: 65_536, depth: 16 }
    }
}

/// Source of values: a peer's bytes ([`Reader`]), or random values within the constraints
/// ([`Random`](super::Random)).
///
/// The methods correspond to the fields of X.691, not to bits, so that a generator can fulfil every constraint.
pub trait Source: Sized {
    /// Returns the protocol version being decoded.
    fn version(&self) -> Version;
    /// Reads a flag: presence of an OPTIONAL, or a BOOLEAN.
    fn flag(&mut self) -> Result<bool>;
    /// Reads the extension bit of a type.
    fn extended(&mut self) -> Result<bool>;
    /// Reads a constrained whole number (§11.5).
    fn constrained(&mut self, low: u64, high: u64) -> Result<u64>;
    /// Reads an unconstrained whole number (§11.8).
    fn unconstrained(&mut self) -> Result<i64>;
    /// Reads an ENUMERATED or CHOICE index: (is an extension, index), with `root` and `additions` known alternatives.
    /// `extensible` is whether there is an extension bit.
    fn index(&mut self, root: u64, additions: u64, extensible: bool) -> Result<(bool, u64)>;
    /// Reads an octet string with an unconstrained length.
    fn octets(&mut self) -> Result<Bytes>;
    /// Reads `n` bytes without a length; aligned if more than two (§17.6).
    fn octets_fixed(&mut self, n: usize) -> Result<Bytes>;
    /// Reads at most 64 bits; `n` is already known.
    fn bits(&mut self, n: u32, aligned: bool) -> Result<u64>;
    /// Reads a character string of `low..high` characters, extensible or not. With `u64::MAX`, the length is
    /// unconstrained.
    fn string(&mut self, low: u64, high: u64, extensible: bool) -> Result<String>;
    /// Reads the contents of a REAL.
    fn real(&mut self) -> Result<f64>;
    /// Reads the number of list elements that follow. Also returns whether a further length follows these elements (a fragmented list). The
    /// elements count towards the limits.
    fn list_len(&mut self, low: u64, high: u64) -> Result<(usize, bool)>;
    /// Reads an open type: `contents` reads from its bytes only.
    fn open<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T>;
    /// Returns whether an extension addition of a SEQUENCE is part of the root ([`Reader::with_merged_additions`]).
    fn merges(&self, _sequence: &'static str, _component: &'static str) -> bool {
        false
    }
    /// Reads a CHOICE of this type, whose additions may be part of the root ([`Reader::with_merged_additions`]).
    fn alternatives<T>(
        &mut self,
        _choice: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        read(self)
    }
    /// Returns whether a KPM condition is only the CHOICE, without a SEQUENCE around it ([`Reader::with_bare_conditions`]).
    fn has_bare_conditions(&self) -> bool {
        false
    }
    /// Reads an extension alternative of a CHOICE: an open type.
    fn addition<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.open(contents)
    }
    /// Reads a value of a recursive type. Counts towards the limits like an open type.
    fn nested<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T>;
    /// Returns whether a recursive type should end here, which limits the depth of random values.
    fn is_deep(&self) -> bool {
        false
    }
    /// Reads the extension additions of a SEQUENCE: calls `each` for every one present among the first `known`, and skips all others.
    fn additions(&mut self, known: usize, each: impl FnMut(usize, &mut Self) -> Result) -> Result;
    /// Starts a SEQUENCE: reads its extension bit. [`presence`](Self::presence) must follow for each optional
    /// component, in their order; then [`component`](Self::component) and the value for each component; then the
    /// additions, and [`finish`](Self::finish).
    fn begin(&mut self) -> Result<bool> {
        self.extended()
    }
    /// Starts a SEQUENCE like [`begin`](Self::begin), but one without an extension marker.
    fn begin_closed(&mut self) -> Result {
        Ok(())
    }
    /// Returns whether the OPTIONAL component with this name is present.
    fn presence(&mut self, _name: &'static str) -> Result<bool> {
        self.flag()
    }
    /// Announces the component with this name.
    fn component(&mut self, _name: &'static str) {}
    /// Reads additions like [`additions`](Self::additions), identified by their names.
    fn named_additions(
        &mut self,
        names: &[&'static str],
        each: impl FnMut(usize, &mut Self) -> Result,
    ) -> Result {
        self.additions(names.len(), each)
    }
    /// Ends a SEQUENCE.
    fn finish(&mut self) -> Result {
        Ok(())
    }
    /// Announces the next element of a list.
    fn element(&mut self) {}
    /// Reads an index like [`index`](Self::index), for an extensible CHOICE whose alternatives have these names.
    fn choose(&mut self, root: &[&'static str], additions: &[&'static str]) -> Result<(bool, u64)> {
        self.index(root.len() as u64, additions.len() as u64, true)
    }
    /// Reads an index like [`index`](Self::index), for an extensible ENUMERATED whose values have these names.
    fn enumerated(&mut self, root: &[&'static str], additions: &[&'static str]) -> Result<(bool, u64)> {
        self.index(root.len() as u64, additions.len() as u64, true)
    }
    /// Reads an ENUMERATED without an extension marker, and returns the position of the value.
    fn enumerated_closed(&mut self, root: &[&'static str]) -> Result<u64> {
        self.index(root.len() as u64, 0, false).map(|(_, at)| at)
    }
    /// Reads the length of an unconstrained BIT STRING, like [`list_len`](Self::list_len).
    fn bits_len(&mut self) -> Result<(usize, bool)> {
        self.list_len(0, u64::MAX)
    }
    /// Reads the number of bytes that follow, within bounds.
    fn octet_count(&mut self, low: u64, high: u64) -> Result<u64> {
        self.constrained(low, high)
    }
    /// Reads the length of a BIT STRING.
    fn bit_count(&mut self, low: u64, high: u64) -> Result<u64> {
        self.constrained(low, high)
    }
    /// Reads the next IE header in a container with `left` unread IEs.
    fn ie_header(&mut self) -> Result<(u16, u8)>;
    /// Returns the fault with its location.
    fn fault(&self, fault: DecodeFault) -> DecodeError;
    /// Records a property of a container that the standard encoding would not reproduce.
    fn deviation(&mut self, _deviation: Deviation) {}
    /// Records a missing, unknown, duplicate or misplaced information element.
    fn diagnose(&mut self, _diagnostic: IeDiagnostic) {}
    /// Returns the number of the next container, in encoding order.
    fn next_container(&mut self) -> usize {
        0
    }
    /// Chooses the IEs of a random message from those that it may have. Returns `None` if this source does not
    /// generate values.
    fn choose_ies(&mut self, _specs: &[crate::e2ap::IeSpec]) -> Option<Vec<u16>> {
        None
    }
    /// Returns the undecoded rest of the current open type (of an unknown IE).
    fn rest(&mut self) -> Bytes {
        Bytes::new()
    }
}

/// SEQUENCE types and their additions that are in the root in the modified text of FlexRIC 2.0 (E2SM-KPM 2.03). Other additions stay
/// additions in that text, for example the bins of `MeasurementInfo-Action-Item`.
pub const MERGED_COMPONENTS: [(&str, &str); 3] = [
    ("MeasurementCondUEidItem", "matchingUEidPerGP"),
    ("MeasurementCondItem", "binRangeDef"),
    ("E2SM-KPM-ActionDefinition-Format1", "distMeasBinRangeInfo"),
];

/// CHOICE types, with alternatives of simple types, whose additions stay additions in the modified text of FlexRIC 2.0.
pub const EXTENDED_CHOICES: [&str; 1] = ["ENB-ID"];

/// Cursor over the bytes of one message.
#[derive(Debug)]
pub struct Reader {
    /// Octet strings are slices of this buffer without a copy (except fragmented ones).
    buf: Bytes,
    /// Position in bits.
    pos: usize,
    /// End of the current open type, in bytes.
    end: usize,
    /// Offset of `buf` in the message, for errors.
    base: usize,
    version: Version,
    /// Whether extension additions are part of the root.
    merged: bool,
    /// Whether a KPM condition is only the CHOICE, without a SEQUENCE around it.
    bare: bool,
    limits: Limits,
    depth_left: usize,
    elements_left: usize,
    containers: usize,
    deviations: Vec<Deviation>,
    diagnostics: Vec<IeDiagnostic>,
}

impl Reader {
    /// Creates a reader of a shared buffer.
    pub fn new(buf: Bytes, version: Version) -> Self {
        Self::with_limits(buf, version, Limits::default())
    }

    /// Like [`new`](Self::new), with other limits.
    pub fn with_limits(buf: Bytes, version: Version, limits: Limits) -> Self {
        Self {
            end: buf.len(),
            buf,
            pos: 0,
            base: 0,
            version,
            merged: false,
            bare: false,
            limits,
            depth_left: limits.depth,
            elements_left: limits.elements,
            containers: 0,
            deviations: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Decodes as if extension markers came after the additions. The alternatives of a CHOICE are then numbered with
    /// the root and are not open types; the additions of a SEQUENCE in [`MERGED_COMPONENTS`] are OPTIONAL components
    /// of the root. Encoders generated from such a text write this form.
    #[must_use]
    pub fn with_merged_additions(self) -> Self {
        Self { merged: true, ..self }
    }

    /// Decodes conditions of KPM without the SEQUENCE around the CHOICE, which KPM 2.00 lacks.
    #[must_use]
    pub fn with_bare_conditions(self) -> Self {
        Self { bare: true, ..self }
    }

    pub(crate) fn into_observations(self) -> (Vec<Deviation>, Vec<IeDiagnostic>) {
        (self.deviations, self.diagnostics)
    }

    /// Returns the number of unread bytes, without a partly read one.
    pub fn remaining(&self) -> usize {
        self.end.saturating_sub(self.pos.div_ceil(8))
    }

    /// Returns the reader's position, in bits from the start of the buffer.
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// Reads an ASCII character string as bytes that share the buffer's memory; see [`Source::string`].
    pub(crate) fn text(&mut self, low: u64, high: u64, extensible: bool) -> Result<Bytes> {
        let octets = if high == u64::MAX || extensible && self.flag()? {
            self.octets()?
        } else {
            let n = self.constrained(low, high)?;
            if n > 0 && high > 1 {
                self.align();
            }
            if self.pos.is_multiple_of(8) {
                let range = self.take(n as usize)?;
                self.buf.slice(range)
            } else {
                (0..n).map(|_| self.raw_bits(8).map(|b| b as u8)).collect::<Result<_>>()?
            }
        };
        if octets.is_ascii() { Ok(octets) } else { Err(self.fault(DecodeFault::InvalidString)) }
    }

    #[inline]
    fn align(&mut self) {
        self.pos = self.pos.next_multiple_of(8);
    }

    /// Returns the range of the next `n` bytes, at a byte boundary.
    fn take(&mut self, n: usize) -> Result<Range<usize>> {
        let from = self.pos / 8;
        match from.checked_add(n) {
            Some(to) if to <= self.end => {
                self.pos = to * 8;
                Ok(from..to)
            }
            _ => Err(self.fault(DecodeFault::Truncated)),
        }
    }

    /// Reads the next `n` bytes (at most 8) as a number.
    fn number(&mut self, n: usize) -> Result<u64> {
        let range = self.take(n)?;
        Ok(self.buf[range].iter().fold(0, |a, &o| a << 8 | u64::from(o)))
    }

    #[inline]
    fn raw_bits(&mut self, n: u32) -> Result<u64> {
        if self.pos + n as usize > self.end * 8 {
            return Err(self.fault(DecodeFault::Truncated));
        }
        let at = self.pos >> 3;
        let offset = (self.pos & 7) as u32;
        // Most reads need only a few bits, which are within eight bytes.
        if (1..=56).contains(&n)
            && let Some(Ok(word)) = self.buf.get(at..at + 8).map(TryInto::try_into)
        {
            self.pos += n as usize;
            return Ok(u64::from_be_bytes(word) << offset >> (64 - n));
        }
        Ok(self.slow_bits(n))
    }

    /// Reads bits at the end of the buffer, or many bits.
    fn slow_bits(&mut self, mut n: u32) -> u64 {
        let mut value = 0;
        while n > 0 {
            let offset = (self.pos & 7) as u32;
            let k = n.min(8 - offset);
            let part = u64::from(self.buf[self.pos >> 3] >> (8 - offset - k)) & ((1 << k) - 1);
            value = (value << k) | part;
            self.pos += k as usize;
            n -= k;
        }
        value
    }

    /// Reads one length determinant: (units, whether more follow).
    fn length(&mut self) -> Result<(usize, bool)> {
        self.align();
        match self.number(1)? {
            n @ 0..0x80 => Ok((n as usize, false)),
            n @ 0x80..=0xbf => Ok(((n as usize & 0x3f) << 8 | self.number(1)? as usize, false)),
            n @ 0xc1..=0xc4 => Ok(((n as usize & 0x3f) * FRAGMENT, true)),
            _ => Err(self.fault(DecodeFault::InvalidLength)),
        }
    }

    fn small(&mut self) -> Result<u64> {
        if self.raw_bits(1)? == 0 {
            return self.raw_bits(6);
        }
        match self.length()? {
            (n @ 0..=8, false) => self.number(n),
            _ => Err(self.fault(DecodeFault::InvalidLength)),
        }
    }
}

impl Source for Reader {
    fn version(&self) -> Version {
        self.version
    }

    #[inline]
    fn flag(&mut self) -> Result<bool> {
        Ok(self.raw_bits(1)? == 1)
    }

    #[inline]
    fn extended(&mut self) -> Result<bool> {
        self.flag()
    }

    fn constrained(&mut self, low: u64, high: u64) -> Result<u64> {
        let range = high - low;
        let x = match range {
            0 => 0,
            1..255 => self.raw_bits(width(range))?,
            255..65_536 => {
                self.align();
                self.number(if range == 255 { 1 } else { 2 })?
            }
            _ => {
                let most = u64::from(width(range).div_ceil(8));
                let octets = self.raw_bits(width(most - 1))? + 1;
                if octets > most {
                    return Err(self.fault(DecodeFault::InvalidLength));
                }
                self.align();
                self.number(octets as usize)?
            }
        };
        if x > range {
            return Err(self.fault(DecodeFault::OutOfRange { value: low.saturating_add(x), low, high }));
        }
        Ok(low + x)
    }

    fn unconstrained(&mut self) -> Result<i64> {
        match self.length()? {
            (n @ 1..=8, false) => {
                let unused = 64 - 8 * n as u32;
                Ok(((self.number(n)? << unused) as i64) >> unused)
            }
            _ => Err(self.fault(DecodeFault::InvalidLength)),
        }
    }

    fn index(&mut self, root: u64, additions: u64, extensible: bool) -> Result<(bool, u64)> {
        if extensible && self.flag()? {
            let i = self.small()?;
            let additions = if self.merged { 0 } else { additions };
            // The caller maps the index to a name. Only an index without a definition is refused here.
            return if i < additions {
                Ok((true, i))
            } else {
                Err(self.fault(DecodeFault::UnknownAlternative(root.saturating_add(i))))
            };
        }
        if self.merged {
            let i = self.constrained(0, root + additions - 1)?;
            return Ok(if i < root { (false, i) } else { (true, i - root) });
        }
        Ok((false, self.constrained(0, root - 1)?))
    }

    fn octets(&mut self) -> Result<Bytes> {
        let (n, more) = self.length()?;
        let first = self.take(n)?;
        if !more {
            return Ok(self.buf.slice(first));
        }
        let mut joined = self.buf[first].to_vec();
        loop {
            let (n, more) = self.length()?;
            let piece = self.take(n)?;
            joined.extend_from_slice(&self.buf[piece]);
            if !more {
                return Ok(joined.into());
            }
        }
    }

    fn octets_fixed(&mut self, n: usize) -> Result<Bytes> {
        if n > 2 {
            self.align();
        }
        if self.pos.is_multiple_of(8) {
            let range = self.take(n)?;
            return Ok(self.buf.slice(range));
        }
        (0..n).map(|_| self.raw_bits(8).map(|b| b as u8)).collect()
    }

    fn bits(&mut self, n: u32, aligned: bool) -> Result<u64> {
        if aligned && n > 0 {
            self.align();
        }
        self.raw_bits(n)
    }

    fn string(&mut self, low: u64, high: u64, extensible: bool) -> Result<String> {
        // ASCII is valid UTF-8.
        Ok(self.text(low, high, extensible)?.iter().copied().map(char::from).collect())
    }

    fn real(&mut self) -> Result<f64> {
        let octets = self.octets()?;
        super::real::decode(&octets).ok_or_else(|| self.fault(DecodeFault::InvalidReal))
    }

    fn list_len(&mut self, low: u64, high: u64) -> Result<(usize, bool)> {
        let (n, more) =
            if high < 65_536 { (self.constrained(low, high)? as usize, false) } else { self.length()? };
        if n > self.elements_left {
            return Err(self.fault(DecodeFault::TooManyElements(self.limits.elements)));
        }
        self.elements_left -= n;
        Ok((n, more))
    }

    fn open<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth_left == 0 {
            return Err(self.fault(DecodeFault::TooDeep(self.limits.depth)));
        }
        let octets = self.octets()?;
        let after = (self.pos, self.end, self.base);
        // A slice of our own buffer is read in place; joined fragments temporarily replace the buffer.
        let in_place = octets.is_empty() || self.buf.as_ptr_range().contains(&octets.as_ptr());
        let outer = if in_place {
            self.end = self.pos / 8;
            self.pos -= octets.len() * 8;
            None
        } else {
            (self.pos, self.end, self.base) = (0, octets.len(), self.base + self.pos / 8);
            Some(std::mem::replace(&mut self.buf, octets))
        };
        self.depth_left -= 1;
        let value = contents(self);
        self.depth_left += 1;
        if let Some(buf) = outer {
            self.buf = buf;
        }
        (self.pos, self.end, self.base) = after;
        value
    }

    fn merges(&self, sequence: &'static str, component: &'static str) -> bool {
        self.merged && MERGED_COMPONENTS.contains(&(sequence, component))
    }

    fn has_bare_conditions(&self) -> bool {
        self.bare
    }

    fn alternatives<T>(
        &mut self,
        choice: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let merged = self.merged;
        self.merged &= !EXTENDED_CHOICES.contains(&choice);
        let value = read(self);
        self.merged = merged;
        value
    }

    fn addition<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.merged { contents(self) } else { self.open(contents) }
    }

    fn nested<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth_left = self
            .depth_left
            .checked_sub(1)
            .ok_or_else(|| self.fault(DecodeFault::TooDeep(self.limits.depth)))?;
        let value = contents(self);
        self.depth_left += 1;
        value
    }

    fn additions(&mut self, known: usize, mut each: impl FnMut(usize, &mut Self) -> Result) -> Result {
        let n = if self.raw_bits(1)? == 0 {
            self.raw_bits(6)? as usize + 1
        } else {
            let (n, more) = self.length()?;
            if more || n == 0 {
                return Err(self.fault(DecodeFault::InvalidLength));
            }
            n
        };
        let mut present = Vec::with_capacity(n);
        for _ in 0..n {
            present.push(self.flag()?);
        }
        for (i, _) in present.iter().enumerate().filter(|(_, p)| **p) {
            if i < known {
                self.open(|r| each(i, r))?;
            } else {
                self.octets()?;
            }
        }
        Ok(())
    }

    fn ie_header(&mut self) -> Result<(u16, u8)> {
        let id = self.constrained(0, 65_535)? as u16;
        let criticality = self.constrained(0, 2)? as u8;
        Ok((id, criticality))
    }

    #[cold]
    fn fault(&self, fault: DecodeFault) -> DecodeError {
        DecodeError { fault, octet: self.base + self.pos / 8, field: "" }
    }

    fn deviation(&mut self, deviation: Deviation) {
        self.deviations.push(deviation);
    }

    fn diagnose(&mut self, diagnostic: IeDiagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn next_container(&mut self) -> usize {
        self.containers += 1;
        self.containers - 1
    }

    fn rest(&mut self) -> Bytes {
        self.buf.slice((self.pos / 8).min(self.end)..self.end)
    }
}
