//! Source of random valid values. The constraints of the decoder also control the generator.
use super::{DecodeError, DecodeFault, Source};
use crate::e2ap::{IeSpec, Version};
use bytes::Bytes;

/// Maximum nesting depth of recursive types.
const DEEP: usize = 4;

type Result<T = ()> = std::result::Result<T, DecodeError>;

/// Generates values within the constraints from a seed.
///
/// `T::decode(&mut Random::new(seed, version))` is a random `T`. The round-trip properties, the fuzz corpus and the
/// comparison with other codecs use it for every message, without a generator for each.
#[derive(Debug)]
pub struct Random {
    random: ranlab_machine::Random,
    version: Version,
    depth: usize,
}

impl Random {
    /// Creates a source. The same seed and version yield the same values on any machine.
    pub fn new(seed: u64, version: Version) -> Self {
        Self { random: ranlab_machine::Random::new(seed), version, depth: 0 }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.next() % n
    }

    /// Returns a length: usually short, sometimes 0, rarely beyond the one-byte determinant.
    fn length(&mut self) -> usize {
        let most = match self.below(32) {
            0 => 1,
            1 => 400,
            _ => 40,
        };
        self.below(most) as usize
    }
}

impl Source for Random {
    fn version(&self) -> Version {
        self.version
    }

    fn flag(&mut self) -> Result<bool> {
        Ok(self.below(2) == 1)
    }

    fn extended(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn constrained(&mut self, low: u64, high: u64) -> Result<u64> {
        // Encoders are most likely to fail at the limits.
        Ok(match self.below(8) {
            0 => low,
            1 => high,
            _ if high - low == u64::MAX => self.random.next(),
            _ => low + self.below(high - low + 1),
        })
    }

    fn unconstrained(&mut self) -> Result<i64> {
        let shift = self.below(64) as u32;
        Ok((self.random.next() as i64) >> shift)
    }

    fn index(&mut self, root: u64, additions: u64, _extensible: bool) -> Result<(bool, u64)> {
        let i = self.below(root + additions);
        Ok(if i < root { (false, i) } else { (true, i - root) })
    }

    fn octets(&mut self) -> Result<Bytes> {
        let n = self.length();
        self.octets_fixed(n)
    }

    fn octets_fixed(&mut self, n: usize) -> Result<Bytes> {
        Ok((0..n).map(|_| self.random.next() as u8).collect())
    }

    fn bits(&mut self, n: u32, _aligned: bool) -> Result<u64> {
        Ok(if n == 0 { 0 } else { self.random.next() >> (64 - n) })
    }

    fn string(&mut self, low: u64, high: u64, _extensible: bool) -> Result<String> {
        let n = self.constrained(low, high.min(low + 40))?;
        Ok((0..n).map(|_| char::from(b"09azAZ .:?"[self.below(10) as usize])).collect())
    }

    fn real(&mut self) -> Result<f64> {
        let v = f64::from_bits(self.random.next());
        Ok(if v.is_nan() { 1.5 } else { v })
    }

    fn list_len(&mut self, low: u64, high: u64) -> Result<(usize, bool)> {
        Ok((self.constrained(low, high.min(low + 3))? as usize, false))
    }

    fn open<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        let value = contents(self);
        self.depth -= 1;
        value
    }

    fn nested<T>(&mut self, contents: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.open(contents)
    }

    fn is_deep(&self) -> bool {
        self.depth >= DEEP
    }

    fn additions(&mut self, _known: usize, _each: impl FnMut(usize, &mut Self) -> Result) -> Result {
        Ok(())
    }

    fn ie_header(&mut self) -> Result<(u16, u8)> {
        // Containers call `choose_ies` of this source instead.
        Err(self.fault(DecodeFault::InvalidLength))
    }

    fn fault(&self, fault: DecodeFault) -> DecodeError {
        DecodeError { fault, octet: 0, field: "" }
    }

    fn choose_ies(&mut self, specs: &[IeSpec]) -> Option<Vec<u16>> {
        let version = self.version;
        let chosen = specs.iter().filter(|s| match s.presence_in(version) {
            crate::e2ap::Presence::Mandatory => true,
            crate::e2ap::Presence::Optional => self.below(2) == 1,
            crate::e2ap::Presence::Absent => false,
        });
        Some(chosen.map(|s| s.id).collect())
    }
}
