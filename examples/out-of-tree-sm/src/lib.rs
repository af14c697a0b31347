//! A service model of a stranger's own: cell temperatures, with a policy that throttles hot cells.
//!
//! ```text
//! Trigger ::= SEQUENCE { periodMs INTEGER (1..3600000), ... }
//! Report  ::= SEQUENCE { cells SEQUENCE (SIZE (0..64)) OF Cell, ... }
//! Cell    ::= SEQUENCE { id INTEGER (0..65535), temperatureDk INTEGER (0..10000), throttled BOOLEAN, ... }
//! Policy  ::= SEQUENCE { thresholdDk INTEGER (0..10000), reaction ENUMERATED { throttle, observe, ... }, ... }
//! ```
//!
//! | service | how |
//! |---|---|
//! | report | trigger [`Trigger`], no definition: indications without header carry a [`Report`] |
//! | policy | definition [`Policy`]: cells above the threshold are throttled until they are below it |
mod function;
mod iapp;
mod model;
mod xapp;

pub use function::{CellTemperature, Thermometers};
pub use iapp::Guardian;
pub use model::Temperature;
pub use xapp::hottest;

use ranlab_sdk::wire::per::{Free, Int, List, Own};
use ranlab_sdk::wire::{enumerated, sequence};

/// The hottest temperature that can be told, in tenths of a kelvin.
pub const TEMPERATURE_DK_MAX: u16 = 10_000;
/// The most cells of a report.
pub const CELLS_MAX: usize = 64;

sequence! {
    /// The event trigger definition.
    #[derive(Copy, Eq)]
    Trigger "Trigger" {
        /// Interval between two reports in milliseconds.
        period_ms: u32 [Int<1, 3_600_000>] "periodMs",
    }
}

sequence! {
    /// A cell and its temperature.
    #[derive(Copy, Eq)]
    Cell "Cell" {
        /// Which.
        id: u16 [Int<0, 65_535>] "id",
        /// Tenths of a kelvin.
        temperature_dk: u16 [Int<0, { TEMPERATURE_DK_MAX as u64 }>] "temperatureDk",
        /// Whether a policy holds it back.
        throttled: bool [Free] "throttled",
    }
}

sequence! {
    /// The indication message.
    #[derive(Eq)]
    Report "Report" {
        /// Every cell of the node.
        cells: Vec<Cell> [List<0, { CELLS_MAX as u64 }>] "cells",
    }
}

enumerated! {
    /// What is done with a hot cell.
    Reaction "Reaction" {
        /// It is held back.
        Throttle "throttle",
        /// Nothing.
        Observe "observe",
    }
}

sequence! {
    /// The action definition of a policy.
    #[derive(Copy, Eq)]
    Policy "Policy" {
        /// Tenths of a kelvin; a cell with exactly as many is not hot yet.
        threshold_dk: u16 [Int<0, { TEMPERATURE_DK_MAX as u64 }>] "thresholdDk",
        /// What is done above it.
        reaction: Reaction [Own] "reaction",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_sdk::Bytes;
    use ranlab_sdk::wire::e2sm::per::{decode, encode};

    #[test]
    fn a_report_has_its_octets_and_comes_back() {
        let cell = Cell { id: 7, temperature_dk: 3_000, throttled: true };
        let report = Report { cells: vec![cell] };
        let mut octets = Vec::new();
        encode(&report, &mut octets).unwrap();
        // Extension bit 0, one cell (7 bits); extension bit 0, aligned; id; temperature; throttled.
        assert_eq!(octets, [0x01, 0x00, 0, 7, 0x0b, 0xb8, 0x80]);
        assert_eq!(decode(Bytes::from(octets)), Ok(report));
    }

    #[test]
    fn what_is_out_of_range_is_not_sent() {
        assert!(encode(&Trigger { period_ms: 0 }, &mut Vec::new()).is_err());
        let policy = Policy { threshold_dk: TEMPERATURE_DK_MAX + 1, reaction: Reaction::Throttle };
        assert!(encode(&policy, &mut Vec::new()).is_err());
    }
}
