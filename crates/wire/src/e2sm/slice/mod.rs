//! SLICE: how a node's downlink resources are shared between slices, and what each got; a model of this project.
//!
//! A slice scheduler ([`SliceAlgorithm`]) gives resources to slices, a UE scheduler in each of them to its UEs. A UE that
//! was given to no slice is in the first one. FlexRIC's model 145 has the same vocabulary, but neither statistics nor
//! whether idle resources go round, and its controls do not say whether they failed: hence an id of its own, so that
//! nobody takes one for the other. All in aligned PER, without headers; a command that is refused has a [`Refusal`].
//!
//! What configurations are possible is decided here, once: [`SliceSet::after`].

mod admission;

use std::convert::Infallible;
use std::time::Duration;

use crate::per::{Free, Int, List, Own, Str};
use crate::{choice, enumerated, sequence};

use super::control::Refusal;
use super::octets::{octets, period_ms};
use super::per::{Aligned, sample};
use super::plain::{PERIOD_MS_MAX, PERIOD_MS_MIN};
use super::table::{Row, columns};
use super::{Column, Encoding, Octets, RowKey, ServiceModel, SmError, Table};

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.137.0";
/// The RAN function id that this project's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 137;
/// The whole of a carrier, in parts per million.
pub const WHOLE_PPM: u32 = 1_000_000;
/// Slices of a node, at most.
pub const SLICES_MAX: usize = 16;
/// Characters of a slice's label, at most.
pub const LABEL_MAX: usize = 32;
/// The longest deadline, slots.
pub const DEADLINE_MAX: u32 = 10_000;
/// Resource blocks of the widest carrier, and of a guarantee within one deadline.
const PRB_MAX: u64 = 65_535;

/// SLICE: the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SliceModel;

impl ServiceModel for SliceModel {
    const NAME: &'static str = "slice";
    const OID: &'static str = OID;
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    const DEFINITION: &'static [u8] = b"SLICE_CTRL_V0";
    const REVISION: u16 = 1;
    const CUSTOMARY: bool = false;

    type Trigger = ReportEvery;
    type Action = Infallible;
    type Header = ();
    type Message = SliceIndication;
    type ControlHeader = ();
    type Control = SliceCommand;
    type Outcome = Refusal;

    fn periodic(period: Duration) -> Result<ReportEvery, SmError> {
        ReportEvery::new(period)
    }

    fn period(trigger: &ReportEvery) -> Option<Duration> {
        Some(Duration::from_millis(trigger.period_ms.into()))
    }

    fn columns() -> Vec<Column> {
        SliceShare::columns()
    }

    fn tabulate(_: &(), message: &SliceIndication, table: &mut Table) {
        table.tstamp_us = i64::try_from(message.tstamp_us).ok();
        message.got.iter().for_each(|share| table.push(share));
    }

    fn tstamp_us(encoding: Encoding, _: &[u8], message: &[u8]) -> Option<i64> {
        let message = SliceIndication::decode_as(encoding, &bytes::Bytes::copy_from_slice(message)).ok()?;
        i64::try_from(message.tstamp_us).ok()
    }

    fn sample(seed: u64) -> ((), SliceIndication) {
        // Its constraints have values, so there is always one.
        ((), sample(seed).unwrap_or_default())
    }
}
octets! {
    ReportEvery: Per => Aligned;
    SliceIndication: Per => Aligned;
    SliceCommand: Per => Aligned;
}

sequence! {
    /// A report at intervals.
    #[derive(Copy, Eq, Hash)]
    ReportEvery "ReportEvery" {
        /// Between two of them, milliseconds.
        period_ms: u32 [Int<{ PERIOD_MS_MIN as u64 }, { PERIOD_MS_MAX as u64 }>] "periodMs",
    }
}

impl ReportEvery {
    /// A report each `period`, in whole milliseconds, from [`PERIOD_MS_MIN`] to [`PERIOD_MS_MAX`].
    pub fn new(period: Duration) -> Result<Self, SmError> {
        period_ms(period, PERIOD_MS_MIN, PERIOD_MS_MAX).map(|period_ms| Self { period_ms })
    }
}

enumerated! {
    /// How resources are shared between slices.
    #[derive(Default)]
    SliceAlgorithm "SliceAlgorithm" {
        /// Not at all: the UEs of all slices are scheduled together.
        #[default]
        None "none",
        /// Each slice has resource blocks of its own.
        Static "static",
        /// The network virtualization substrate (Kokku et al. 2012): each slot goes to one slice, by reserved over served.
        Nvs "nvs",
        /// Earliest deadline first: each slice has a number of resource blocks within each of its deadlines.
        Edf "edf",
    }
}

enumerated! {
    /// How a slice's resources are shared between its UEs.
    #[derive(Default)]
    UeScheduler "UeScheduler" {
        /// Round robin.
        RoundRobin "rr",
        /// Proportional fair.
        #[default]
        ProportionalFair "pf",
        /// The best channel first.
        MaxThroughput "mt",
        /// As a controller says in each slot.
        Remote "remote",
    }
}

sequence! {
    /// A slice.
    #[derive(Eq, Hash)]
    Slice "Slice" {
        /// Its number.
        id: u16 [Int<0, 65_535>] "id",
        /// For people: at most [`LABEL_MAX`] characters of ASCII.
        label: String [Str<0, { LABEL_MAX as u64 }>] "label",
        /// How its UEs share.
        scheduler: UeScheduler [Own] "scheduler",
        /// What it has.
        parameters: SliceParameters [Own] "parameters",
    }
}

choice! {
    /// What a slice has, in its algorithm's terms.
    #[derive(Eq, Hash)]
    SliceParameters "SliceParameters" {
        /// Resource blocks of its own ([`SliceAlgorithm::Static`]).
        Static(PrbRange) [Own] "static",
        /// A share of all resources, parts per million ([`SliceAlgorithm::Nvs`]).
        Capacity(u32) [Int<0, { WHOLE_PPM as u64 }>] "capacity",
        /// A rate ([`SliceAlgorithm::Nvs`]).
        Rate(RateReservation) [Own] "rate",
        /// Resource blocks within a time ([`SliceAlgorithm::Edf`]).
        Deadline(DeadlineReservation) [Own] "deadline",
    }
}

sequence! {
    /// Resource blocks, both ends included.
    #[derive(Copy, Eq, Hash)]
    PrbRange "PrbRange" {
        /// The lowest.
        low: u16 [Int<0, PRB_MAX>] "low",
        /// The highest.
        high: u16 [Int<0, PRB_MAX>] "high",
    }
}

sequence! {
    /// A rate, and the rate of the whole carrier at which it was promised: on a worse channel the slice gets its share of
    /// resources rather than its rate.
    #[derive(Copy, Eq, Hash)]
    RateReservation "RateReservation" {
        /// What is promised, kbit/s.
        reserved_kbps: u32 [Int<0, { u32::MAX as u64 }>] "reservedKbps",
        /// At this rate of the carrier, kbit/s.
        reference_kbps: u32 [Int<0, { u32::MAX as u64 }>] "referenceKbps",
    }
}

sequence! {
    /// Resource blocks within each deadline.
    #[derive(Copy, Eq, Hash)]
    DeadlineReservation "DeadlineReservation" {
        /// The deadline, slots; 1 to [`DEADLINE_MAX`].
        deadline_slots: u32 [Int<0, { u32::MAX as u64 }>] "deadlineSlots",
        /// Resource blocks within it.
        guaranteed_prbs: u32 [Int<0, { u32::MAX as u64 }>] "guaranteedPrbs",
        /// Resource blocks that a return before the deadline may bring back, at most.
        max_replenish: u32 [Int<0, { u32::MAX as u64 }>] "maxReplenish",
    }
}

sequence! {
    /// How a node's downlink is shared.
    #[derive(Eq, Hash, Default)]
    SliceSet "SliceSet" {
        /// Between slices.
        algorithm: SliceAlgorithm [Own] "algorithm",
        /// Whether what a slice does not use goes to the others; else it is wasted.
        sharing: bool [Free] "sharing",
        /// The slices, each with a number of its own. UEs without a slice are in the first one.
        slices: Vec<Slice> [List<0, { SLICES_MAX as u64 }>] "slices",
    }
}

sequence! {
    /// A UE and its slice.
    #[derive(Copy, Eq, Hash)]
    UeSlice "UeSlice" {
        /// Radio network temporary identifier of the UE.
        rnti: u16 [Int<0, 65_535>] "rnti",
        /// The slice's number.
        slice: u16 [Int<0, 65_535>] "slice",
    }
}

sequence! {
    /// What a slice got since the node began; sojourn times are those since the last report of any subscription.
    #[derive(Copy, Eq, Hash)]
    SliceShare "SliceShare" {
        /// The slice's number.
        slice: u16 [Int<0, 65_535>] "slice",
        /// Its UEs.
        ues: u16 [Int<0, 65_535>] "ues",
        /// Resource blocks given to its UEs.
        prbs: u64 [Int<0, { u64::MAX }>] "prbs",
        /// Octets sent to its UEs.
        bytes: u64 [Int<0, { u64::MAX }>] "bytes",
        /// Octets that wait for its UEs.
        queue_bytes: u64 [Int<0, { u64::MAX }>] "queueBytes",
        /// Mean time that what was sent had waited, µs.
        sojourn_us: u32 [Int<0, { u32::MAX as u64 }>] "sojournUs",
        /// The longest, µs.
        sojourn_max_us: u32 [Int<0, { u32::MAX as u64 }>] "sojournMaxUs",
    }
}

columns! { SliceShare, share => RowKey::Slice { slice: share.slice }, {
    "slice_id" [Unsigned Label headline] = share.slice,
    "slice_ues" [Unsigned Gauge headline] = share.ues,
    "dl_prbs" [Unsigned Counter headline] = share.prbs,
    "dl_bytes" [Unsigned Counter "B" headline] = share.bytes,
    "dl_queue_bytes" [Unsigned Gauge "B"] = share.queue_bytes,
    "sojourn_us" [Unsigned Gauge "us" headline] = share.sojourn_us,
    "sojourn_max_us" [Unsigned Gauge "us"] = share.sojourn_max_us,
} }

sequence! {
    /// How resources are shared and what each slice got.
    #[derive(Eq, Hash, Default)]
    SliceIndication "SliceIndication" {
        /// When the node made it, microseconds since the Unix epoch.
        tstamp_us: u64 [Int<0, { i64::MAX as u64 }>] "tstampUs",
        /// Resource blocks of the carrier in a slot.
        prbs: u16 [Int<0, PRB_MAX>] "prbs",
        /// Resource blocks that the carrier had to give since the node began.
        prbs_offered: u64 [Int<0, { u64::MAX }>] "prbsOffered",
        /// The configuration.
        set: SliceSet [Own] "set",
        /// Which UE is in which slice, of those that the controller may see.
        ues: Vec<UeSlice> [List<0, 65_535>] "ues",
        /// What each slice got; without slices one entry, numbered 0, for all UEs.
        got: Vec<SliceShare> [List<0, { SLICES_MAX as u64 }>] "got",
    }
}

choice! {
    /// What a controller wants changed. A command is carried out as a whole or not at all.
    #[derive(Eq, Hash)]
    SliceCommand "SliceCommand" {
        /// Everything anew: UEs whose slice is there no more are in the first one.
        Configure(SliceSet) [Own] "configure",
        /// One more slice, behind the others.
        Add(Slice) [Own] "add",
        /// Other parameters, another label or scheduler for a slice.
        Modify(Slice) [Own] "modify",
        /// A slice less; its UEs are in the first one.
        Delete(u16) [Int<0, 65_535>] "delete",
        /// These UEs are in these slices.
        Associate(Vec<UeSlice>) [List<1, 65_535>] "associate",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2sm::control::Reason;

    #[test]
    fn the_octets_of_a_command_and_of_a_refusal() {
        let slice = Slice {
            id: 1,
            label: "w".to_owned(),
            scheduler: UeScheduler::ProportionalFair,
            parameters: SliceParameters::Capacity(500_000),
        };
        let command = SliceCommand::Add(slice);
        let octets = command.to_octets(Encoding::Per).unwrap();
        #[rustfmt::skip]
        let expected = [
            0x10,             // `add` is 1 of 0..4, extensible: 0 001; the slice has no additions
            0x00, 0x01,       // its number
            0x02, b'w',       // the label: within its bounds, one character of 0..32
            0x26,             // `pf` is 1 of 0..3: 0 01; `capacity` is 1 of 0..3: 0 01; a number of three octets: 10
            0x07, 0xa1, 0x20, // 500,000
        ];
        assert_eq!(octets[..], expected);
        assert_eq!(SliceCommand::decode_as(Encoding::Per, &octets), Ok(command));
        let refusal = Refusal::new(Reason::Overcommitted, "120 % \u{3bc}\n");
        assert_eq!(refusal.detail, "120 % ??");
        let octets = refusal.to_octets(Encoding::Per).unwrap();
        assert_eq!(Refusal::decode_as(Encoding::Per, &octets), Ok(refusal));
    }
}
