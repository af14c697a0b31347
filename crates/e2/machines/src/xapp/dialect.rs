//! E42 dialects: one table of the differences between RICs.

use std::fmt;
use std::str::FromStr;

/// E42 dialect of a RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Detected: FlexRIC's dialect until the RIC identifies itself as a ranlab RIC.
    Auto,
    /// ranlab's: the setup requests node events.
    #[default]
    Ranlab,
    /// FlexRIC 2.0's: only elements that its decoder expects, one request at a time, and repeated setups to discover
    /// nodes.
    FlexRic,
}

/// Differences between RICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DialectRules {
    dialect: Dialect,
    /// Name in configurations.
    name: &'static str,
    /// Whether the setup requests node events. FlexRIC counts the elements of a setup and aborts if there is an
    /// additional one.
    pub(super) node_events: bool,
    /// Whether only one request is outstanding, including controls and setups, and none is repeated. FlexRIC reads
    /// one message per receive event and treats a repeated request as a second one. The RICrequestID instance is then
    /// the xApp id, because FlexRIC confuses equal instances of two xApps.
    pub(super) one_at_a_time: bool,
    /// Whether the setup is repeated to discover nodes. FlexRIC does not announce nodes that connect later.
    pub(super) polls: bool,
}

const TABLE: [DialectRules; 3] = [
    DialectRules {
        dialect: Dialect::Auto,
        name: "auto",
        node_events: false,
        one_at_a_time: true,
        polls: true,
    },
    DialectRules {
        dialect: Dialect::Ranlab,
        name: "ranlab",
        node_events: true,
        one_at_a_time: false,
        polls: false,
    },
    DialectRules {
        dialect: Dialect::FlexRic,
        name: "flexric",
        node_events: false,
        one_at_a_time: true,
        polls: true,
    },
];

impl Dialect {
    pub(super) fn habits(self) -> &'static DialectRules {
        &TABLE[self as usize]
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.habits().name)
    }
}

/// The text is not a valid dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a dialect of E42; known are auto, ranlab, flexric")]
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
    fn dialect_names_are_unique_and_round_trip() {
        for habits in &TABLE {
            assert_eq!(habits.dialect.habits(), habits);
            assert_eq!(habits.dialect.to_string().parse(), Ok(habits.dialect));
        }
        assert!(
            "flexran".parse::<Dialect>().unwrap_err().to_string().contains("known are auto, ranlab, flexric")
        );
    }
}
