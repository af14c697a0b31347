//! Time division duplex (TDD): assigns the symbols of a carrier to directions.

use std::fmt;
use std::str::FromStr;

/// Number of symbols in a slot with normal cyclic prefix.
pub(super) const SYMBOLS: usize = 14;
/// Maximum number of slots in a pattern: 80 slots are 10 ms at 120 kHz.
const SLOTS_MAX: usize = 80;

/// Direction of a cell's traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Downlink: from the CU to the DU.
    Down,
    /// Uplink: from the DU to the CU.
    Up,
}

/// A repeating pattern of downlink, uplink and special slots (3GPP TS 38.213 clause 11.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tdd {
    slots: Vec<Slot>,
    special: [u8; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Slot {
    Down,
    Special,
    Up,
}

/// Reason why a TDD pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TddError {
    /// The pattern is empty or too long.
    #[error("a TDD pattern must have 1 to {SLOTS_MAX} slots, not {0}")]
    Length(usize),
    /// The slot type is unknown.
    #[error("a TDD pattern must consist of D (down), S (special) and U (up), not {0:?}")]
    Slot(char),
    /// The special slot does not have 14 symbols.
    #[error("a special slot must be down:guard:up symbols, 14 in total, for example 10:2:2, not {0:?}")]
    Special(String),
    /// A direction has no symbols.
    #[error("the TDD pattern {0} has no symbol for one direction")]
    OneWay(String),
}

impl Tdd {
    /// Parses a pattern such as `DDDSU`, and the symbols of its special slots, such as `10:2:2` (down, guard, up).
    pub fn parse(slots: &str, special: &str) -> Result<Self, TddError> {
        let kind = |letter: char| match letter {
            'D' | 'd' => Ok(Slot::Down),
            'S' | 's' => Ok(Slot::Special),
            'U' | 'u' => Ok(Slot::Up),
            other => Err(TddError::Slot(other)),
        };
        let slots: Vec<Slot> = slots.chars().map(kind).collect::<Result<_, _>>()?;
        if slots.is_empty() || slots.len() > SLOTS_MAX {
            return Err(TddError::Length(slots.len()));
        }
        let wrong = || TddError::Special(special.to_owned());
        let numbers = special.split(':').map(|number| number.trim().parse().map_err(|_| wrong()));
        let numbers: Vec<u8> = numbers.collect::<Result<_, _>>()?;
        let special: [u8; 3] = numbers.try_into().map_err(|_| wrong())?;
        if special.iter().map(|&symbols| usize::from(symbols)).sum::<usize>() != SYMBOLS {
            return Err(wrong());
        }
        let tdd = Self { slots, special };
        if [Direction::Down, Direction::Up].iter().any(|&way| !tdd.symbols(way).contains(&true)) {
            return Err(TddError::OneWay(tdd.to_string()));
        }
        Ok(tdd)
    }

    /// Returns, for each symbol of the pattern, whether it belongs to `way`.
    pub fn symbols(&self, way: Direction) -> Vec<bool> {
        let [down, guard, _] = self.special.map(usize::from);
        let of = |slot: &Slot, symbol: usize| match (slot, way) {
            (Slot::Down, way) => way == Direction::Down,
            (Slot::Up, way) => way == Direction::Up,
            (Slot::Special, Direction::Down) => symbol < down,
            (Slot::Special, Direction::Up) => symbol >= down + guard,
        };
        self.slots.iter().flat_map(|slot| (0..SYMBOLS).map(move |symbol| of(slot, symbol))).collect()
    }

    /// Returns, for each slot of the pattern, whether transport blocks of `way` are scheduled in it. A special slot has downlink data. Its
    /// few uplink symbols carry reference signals.
    pub fn scheduled(&self, way: Direction) -> Vec<bool> {
        let down = self.special[0] > 0;
        let of = |slot: &Slot| match slot {
            Slot::Down => way == Direction::Down,
            Slot::Special => way == Direction::Down && down,
            Slot::Up => way == Direction::Up,
        };
        self.slots.iter().map(of).collect()
    }

    /// Returns the number of symbols that belong to `way`, and the number of all symbols of the pattern.
    pub fn share(&self, way: Direction) -> (u64, u64) {
        let symbols = self.symbols(way);
        (symbols.iter().filter(|&&own| own).count() as u64, symbols.len() as u64)
    }

    /// Returns the number of slots in the pattern.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
}

impl Default for Tdd {
    /// Returns DDDSU with 10:2:2, a common pattern at 30 kHz (2.5 ms).
    fn default() -> Self {
        let slots = vec![Slot::Down, Slot::Down, Slot::Down, Slot::Special, Slot::Up];
        Self { slots, special: [10, 2, 2] }
    }
}

impl FromStr for Tdd {
    type Err = TddError;

    /// Parses `DDDSU` or `DDDSU 10:2:2`. The default for the symbols of the special slot is 10:2:2.
    fn from_str(text: &str) -> Result<Self, TddError> {
        let (slots, special) = text.split_once(' ').unwrap_or((text, "10:2:2"));
        Self::parse(slots, special)
    }
}

impl fmt::Display for Tdd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for slot in &self.slots {
            f.write_str(match slot {
                Slot::Down => "D",
                Slot::Special => "S",
                Slot::Up => "U",
            })?;
        }
        let [down, guard, up] = self.special;
        write!(f, " {down}:{guard}:{up}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dddsu_has_52_symbols_down_and_16_up() {
        let tdd: Tdd = "DDDSU".parse().unwrap();
        assert_eq!((tdd.share(Direction::Down), tdd.share(Direction::Up)), ((52, 70), (16, 70)));
        assert_eq!(tdd, Tdd::default());
        assert_eq!(tdd.to_string().parse(), Ok(tdd));
        let other: Tdd = "DDSUU 6:4:4".parse().unwrap();
        assert_eq!((other.share(Direction::Down), other.share(Direction::Up)), ((34, 70), (32, 70)));
        assert_eq!(other.scheduled(Direction::Up), [false, false, false, true, true]);
    }

    #[test]
    fn invalid_tdd_patterns_yield_specific_errors() {
        assert_eq!("DDF".parse::<Tdd>(), Err(TddError::Slot('F')));
        assert_eq!("".parse::<Tdd>(), Err(TddError::Length(0)));
        assert_eq!("DSU 10:2:3".parse::<Tdd>(), Err(TddError::Special("10:2:3".to_owned())));
        assert_eq!("DSU 10:4".parse::<Tdd>(), Err(TddError::Special("10:4".to_owned())));
        assert!(matches!("DD".parse::<Tdd>(), Err(TddError::OneWay(_))));
        assert!(matches!("DS 12:2:0".parse::<Tdd>(), Err(TddError::OneWay(_))));
    }
}
