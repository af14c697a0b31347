//! Third-party service model: cell temperatures, with a policy that throttles hot cells.
//!
//! ```text
//! Trigger ::= SEQUENCE { periodMs INTEGER (1..3600000), ... }
//! Report  ::= SEQUENCE { cells SEQUENCE (SIZE (0..64)) OF Cell, ... }
//! Cell    ::= SEQUENCE { id INTEGER (0..65535), temperatureDk INTEGER (0..10000), throttled BOOLEAN, ... }
//! Policy  ::= SEQUENCE { thresholdDk INTEGER (0..10000), reaction ENUMERATED { throttle, observe, ... }, ... }
//! ```
//!
//! | service | encoding |
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

use ranlab_sdk::wire::per::{Int, List, SelfCoded, Unconstrained};
use ranlab_sdk::wire::{enumerated, sequence};

/// Highest temperature in a report, in tenths of a kelvin.
pub const TEMPERATURE_DK_MAX: u16 = 10_000;
/// Maximum number of cells in a report.
pub const CELLS_MAX: usize = 64;

sequence! {
    /// Event trigger definition.
    #[derive(Copy, Eq)]
    Trigger "Trigger" {
        /// Interval between two reports, in milliseconds.
        period_ms: u32 [Int<1, 3_600_000>] "periodMs",
    }
}

sequence! {
    /// Cell with its temperature.
    #[derive(Copy, Eq)]
    Cell "Cell" {
        /// Cell id.
        id: u16 [Int<0, 65_535>] "id",
        /// Temperature, in tenths of a kelvin.
        temperature_dk: u16 [Int<0, { TEMPERATURE_DK_MAX as u64 }>] "temperatureDk",
        /// Whether a policy throttles the cell.
        throttled: bool [Unconstrained] "throttled",
    }
}

sequence! {
    /// Indication message.
    #[derive(Eq)]
    Report "Report" {
        /// All cells of the node.
        cells: Vec<Cell> [List<0, { CELLS_MAX as u64 }>] "cells",
    }
}

enumerated! {
    /// Reaction to a hot cell.
    Reaction "Reaction" {
        /// The node throttles the cell.
        Throttle "throttle",
        /// The node does nothing.
        Observe "observe",
    }
}

sequence! {
    /// Action definition of a policy.
    #[derive(Copy, Eq)]
    Policy "Policy" {
        /// Threshold, in tenths of a kelvin; a cell exactly at the threshold is not hot.
        threshold_dk: u16 [Int<0, { TEMPERATURE_DK_MAX as u64 }>] "thresholdDk",
        /// Reaction above the threshold.
        reaction: Reaction [SelfCoded] "reaction",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_sdk::Bytes;
    use ranlab_sdk::wire::e2sm::per::{decode, encode};

    #[test]
    fn report_round_trips_with_known_bytes() {
        let cell = Cell { id: 7, temperature_dk: 3_000, throttled: true };
        let report = Report { cells: vec![cell] };
        let mut octets = Vec::new();
        encode(&report, &mut octets).unwrap();
        // Extension bit 0 and the number of cells (7 bits); then of the cell: extension bit 0 and padding, id, temperature, throttled.
        assert_eq!(octets, [0x01, 0x00, 0, 7, 0x0b, 0xb8, 0x80]);
        assert_eq!(decode(Bytes::from(octets)), Ok(report));
    }

    #[test]
    fn values_out_of_range_are_rejected() {
        assert!(encode(&Trigger { period_ms: 0 }, &mut Vec::new()).is_err());
        let policy = Policy { threshold_dk: TEMPERATURE_DK_MAX + 1, reaction: Reaction::Throttle };
        assert!(encode(&policy, &mut Vec::new()).is_err());
    }
}
