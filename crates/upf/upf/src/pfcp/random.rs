//! Generator of random valid messages, for property tests, fuzzing, and comparison with other codecs.
use super::ie::IeValue;
use super::{MAX_RANDOM_LIST, RawIe};

/// Generates valid values from a seed. The values are the same on all machines.
#[derive(Debug)]
pub struct Random {
    random: ranlab_machine::Random,
    every_option: bool,
    strangers: bool,
}

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self { random: ranlab_machine::Random::new(seed), every_option: false, strangers: false }
    }

    /// Makes the generator also add unknown elements, some of which are vendor-specific.
    #[must_use]
    pub fn with_strangers(mut self) -> Self {
        self.strangers = true;
        self
    }

    /// Returns 64 random bits.
    pub fn draw(&mut self) -> u64 {
        self.random.next()
    }

    /// Returns a number below `n`, which must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }

    /// Returns a random Boolean.
    pub fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Returns `least` to `most` random bytes.
    pub(super) fn octets(&mut self, least: usize, most: usize) -> Vec<u8> {
        let len = least + self.below((most - least + 1) as u64) as usize;
        (0..len).map(|_| self.draw() as u8).collect()
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.draw() as u8)
    }

    /// Returns a random value or `None`.
    pub(super) fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.every_option || self.flag() { Some(make(self)) } else { None }
    }

    pub(super) fn option<T: IeValue>(&mut self) -> Option<T> {
        self.maybe(T::random)
    }

    pub(super) fn list<T: IeValue>(&mut self, least: usize) -> Vec<T> {
        let least = if self.every_option { 1 } else { least };
        let len = least + self.below((MAX_RANDOM_LIST - least + 1) as u64) as usize;
        (0..len).map(|_| T::random(self)).collect()
    }

    /// Generates a value with all optional elements, for a type whose condition is not met without them.
    pub(super) fn with_every_option<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.every_option, true);
        let value = make(self);
        self.every_option = before;
        value
    }

    pub(super) fn others(&mut self) -> Vec<RawIe> {
        if !self.strangers || self.below(4) != 0 {
            return Vec::new();
        }
        // The enterprise number is unassigned, and the type is from the spare range.
        let ie_type = if self.flag() { 0x8001 } else { 30_000 };
        vec![RawIe { ie_type, value: [&[0xff, 0xfe][..], &self.octets(0, 9)].concat().into() }]
    }
}
