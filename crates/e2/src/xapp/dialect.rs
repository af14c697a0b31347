//! Whose E42 is spoken: what a RIC needs that differs from others, in one table.

use std::fmt;
use std::str::FromStr;

/// Whose E42 is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// What the RIC shows: FlexRIC's until it shows itself as ours, and ours from then on.
    Auto,
    /// Ours: the setup asks for node events.
    #[default]
    Ranlab,
    /// FlexRIC 2.0's: nothing that its decoder does not count on, one request at a time; the setup is repeated to learn of
    /// nodes.
    FlexRic,
}

/// What differs between RICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Habits {
    dialect: Dialect,
    /// As people write it.
    name: &'static str,
    /// The setup asks for node events: FlexRIC counts the elements of a setup and aborts at one more.
    pub(super) node_events: bool,
    /// One request is outstanding, controls and setups included, and none is repeated: FlexRIC reads one message each time that
    /// octets come, and takes a repeated request for a second one. RICrequestID instances are the xApp's id: FlexRIC takes
    /// equal ones of two xApps for each other's.
    pub(super) one_at_a_time: bool,
    /// The setup is repeated to learn of nodes: FlexRIC tells of none that come later.
    pub(super) polls: bool,
}

const TABLE: [Habits; 3] = [
    Habits { dialect: Dialect::Auto, name: "auto", node_events: false, one_at_a_time: true, polls: true },
    Habits {
        dialect: Dialect::Ranlab,
        name: "ranlab",
        node_events: true,
        one_at_a_time: false,
        polls: false,
    },
    Habits {
        dialect: Dialect::FlexRic,
        name: "flexric",
        node_events: false,
        one_at_a_time: true,
        polls: true,
    },
];

impl Dialect {
    pub(super) fn habits(self) -> &'static Habits {
        &TABLE[self as usize]
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.habits().name)
    }
}

/// The text names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no dialect of E42; known are auto, ranlab, flexric")]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        let found = TABLE.iter().find(|habits| habits.name == text);
        found.map(|habits| habits.dialect).ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_its_own_and_has_its_name() {
        for habits in &TABLE {
            assert_eq!(habits.dialect.habits(), habits);
            assert_eq!(habits.dialect.to_string().parse(), Ok(habits.dialect));
        }
        assert!(
            "flexran".parse::<Dialect>().unwrap_err().to_string().contains("known are auto, ranlab, flexric")
        );
    }
}
