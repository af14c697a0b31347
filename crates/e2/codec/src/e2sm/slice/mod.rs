//! SLICE: sharing of a node's downlink resources among slices, and statistics per slice. This is a model of ranlab.
//!
//! A slice algorithm ([`SliceAlgorithm`]) assigns resources to slices; a UE scheduler in each slice assigns them to its
//! UEs. An unassigned UE belongs to the first slice. FlexRIC's model 145 has the same vocabulary, but no statistics and
//! no work-conserving flag, and its controls do not report failures. Therefore this model has a different id, so that
//! neither is mistaken for the other. All octet strings use aligned PER, and there are no headers. The outcome of a
//! refused command is a [`Refusal`].
//!
//! [`SliceSet::after`] decides which configurations are possible.

mod admission;
mod targets;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;

use crate::per::{Int, List, Opt, SelfCoded, Str, Unconstrained};
use crate::{choice, enumerated, sequence};

use super::control::Refusal;
use super::octets::{octets, period_ms};
use super::per::{Aligned, sample};
use super::plain::{PERIOD_MS_MAX, PERIOD_MS_MIN};
use super::table::{Row, columns};
use super::{Column, Encoding, Octets, RowKey, ServiceModel, SmError, Table};

/// OID of the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.137.0";
/// RAN function id used by ranlab's agents.
pub const DEFAULT_FUNCTION_ID: u16 = 137;
/// The whole carrier, in parts per million.
pub const WHOLE_PPM: u32 = 1_000_000;
/// Maximum number of slices of a node.
pub const SLICES_MAX: usize = 16;
/// Maximum length of a slice's label, in characters.
pub const LABEL_MAX: usize = 32;
/// Maximum deadline, in slots.
pub const DEADLINE_MAX: u32 = 10_000;
/// Maximum number of UEs of an allocation.
pub const ALLOCATED_UES_MAX: usize = 64;
/// Maximum number of slots of one allocation, and maximum number of slots by which allocations may precede their
/// slot.
pub const ALLOCATE_AHEAD_MAX: u16 = 64;
/// Number of resource blocks of the widest carrier, and maximum guarantee per deadline.
const PRB_MAX: u64 = 65_535;

/// The SLICE service model.
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
        let message = SliceIndication::decode_as(encoding, &Bytes::copy_from_slice(message)).ok()?;
        i64::try_from(message.tstamp_us).ok()
    }

    fn control_targets(encoding: Encoding, _: &Bytes, message: &Bytes) -> Option<Vec<String>> {
        targets::control_targets(encoding, message)
    }

    fn sample(seed: u64) -> ((), SliceIndication) {
        // `sample` fails only for types whose constraints cannot be fulfilled. These can be, so the default is never
        // used.
        ((), sample(seed).unwrap_or_default())
    }
}
octets! {
    ReportEvery: Per => Aligned;
    SliceIndication: Per => Aligned;
    SliceCommand: Per => Aligned;
}

sequence! {
    /// Event trigger: periodic reports.
    #[derive(Copy, Eq, Hash)]
    ReportEvery "ReportEvery" {
        period_ms: u32 [Int<{ PERIOD_MS_MIN as u64 }, { PERIOD_MS_MAX as u64 }>] "periodMs", "Interval, in milliseconds.",
    }
}

impl ReportEvery {
    /// Returns the trigger for a report every `period`, in whole milliseconds, from [`PERIOD_MS_MIN`] to
    /// [`PERIOD_MS_MAX`].
    pub fn new(period: Duration) -> Result<Self, SmError> {
        period_ms(period, PERIOD_MS_MIN, PERIOD_MS_MAX).map(|period_ms| Self { period_ms })
    }
}

enumerated! {
    /// Algorithm that shares resources among slices.
    #[derive(Default)]
    SliceAlgorithm "SliceAlgorithm" {
        /// No slicing: the UEs of all slices are scheduled together.
        #[default]
        None "none",
        Static "static", "Each slice has dedicated resource blocks.",
        Nvs "nvs", "Network virtualization substrate (Kokku et al. 2012): assigns each slot to the slice with the highest ratio of reserved to received resources.",
        Edf "edf", "Earliest deadline first: each slice gets a number of resource blocks per deadline period.",
    }
    /// Scheduler that shares a slice's resources among its UEs.
    #[derive(Default)]
    UeScheduler "UeScheduler" {
        RoundRobin "rr", "Round robin.",
        /// Proportional fair.
        #[default]
        ProportionalFair "pf",
        MaxThroughput "mt", "Best channel first.",
        Remote "remote", "Allocated per slot by a controller.",
    }
}

sequence! {
    /// A slice.
    #[derive(Eq, Hash)]
    Slice "Slice" {
        id: u16 [Int<0, 65_535>] "id", "Number of the slice.",
        label: String [Str<0, { LABEL_MAX as u64 }>] "label", "Label, at most [`LABEL_MAX`] ASCII characters.",
        scheduler: UeScheduler [SelfCoded] "scheduler", "Scheduler among the UEs of the slice.",
        parameters: SliceParameters [SelfCoded] "parameters", "Parameters of the reservation.",
    }
}

choice! {
    /// Reservation of a slice, in terms of the algorithm.
    #[derive(Eq, Hash)]
    SliceParameters "SliceParameters" {
        Static(PrbRange) [SelfCoded] "static", "Dedicated resource blocks ([`SliceAlgorithm::Static`]).",
        Capacity(u32) [Int<0, { WHOLE_PPM as u64 }>] "capacity", "Share of all resources, in parts per million ([`SliceAlgorithm::Nvs`]).",
        Rate(RateReservation) [SelfCoded] "rate", "Rate ([`SliceAlgorithm::Nvs`]).",
        Deadline(DeadlineReservation) [SelfCoded] "deadline", "Resource blocks within a deadline ([`SliceAlgorithm::Edf`]).",
    }
}

sequence! {
    /// A range of resource blocks, both ends included.
    #[derive(Copy, Eq, Hash)]
    PrbRange "PrbRange" {
        low: u16 [Int<0, PRB_MAX>] "low", "Lowest resource block.",
        high: u16 [Int<0, PRB_MAX>] "high", "Highest resource block.",
    }
    /// A rate, and the rate of the whole carrier to which it refers. On a worse channel, the slice gets its share of
    /// resources instead of its rate.
    #[derive(Copy, Eq, Hash)]
    RateReservation "RateReservation" {
        reserved_kbps: u32 [Int<0, { u32::MAX as u64 }>] "reservedKbps", "Reserved rate, in kbit/s.",
        reference_kbps: u32 [Int<0, { u32::MAX as u64 }>] "referenceKbps", "Reference rate of the carrier, in kbit/s.",
    }
    /// Resource blocks per deadline period.
    #[derive(Copy, Eq, Hash)]
    DeadlineReservation "DeadlineReservation" {
        deadline_slots: u32 [Int<0, { u32::MAX as u64 }>] "deadlineSlots", "Deadline in slots, 1 to [`DEADLINE_MAX`].",
        guaranteed_prbs: u32 [Int<0, { u32::MAX as u64 }>] "guaranteedPrbs", "Resource blocks per deadline.",
        /// Maximum number of resource blocks regained if the slice becomes active again before the deadline.
        max_replenish: u32 [Int<0, { u32::MAX as u64 }>] "maxReplenish",
    }
    /// Slice configuration of a node's downlink.
    #[derive(Eq, Hash, Default)]
    SliceSet "SliceSet" {
        algorithm: SliceAlgorithm [SelfCoded] "algorithm", "Algorithm among slices.",
        sharing: bool [Unconstrained] "sharing", "Whether other slices may use the unused resources of a slice; otherwise these are wasted.",
        /// Slices with distinct numbers. Unassigned UEs belong to the first one.
        slices: Vec<Slice> [List<0, { SLICES_MAX as u64 }>] "slices",
    }
    /// A UE and its slice.
    #[derive(Copy, Eq, Hash)]
    UeSlice "UeSlice" {
        rnti: u16 [Int<0, 65_535>] "rnti", "Radio network temporary identifier of the UE.",
        slice: u16 [Int<0, 65_535>] "slice", "Number of the slice.",
    }
    /// Statistics of a slice since the start of the node; queueing times cover the time since the last report of any subscription.
    #[derive(Copy, Eq, Hash)]
    SliceShare "SliceShare" {
        slice: u16 [Int<0, 65_535>] "slice", "Number of the slice.",
        ues: u16 [Int<0, 65_535>] "ues", "UEs of the slice.",
        prbs: u64 [Int<0, { u64::MAX }>] "prbs", "Resource blocks allocated to the UEs of the slice.",
        bytes: u64 [Int<0, { u64::MAX }>] "bytes", "Bytes sent to the UEs of the slice.",
        queue_bytes: u64 [Int<0, { u64::MAX }>] "queueBytes", "Bytes queued for the UEs of the slice.",
        sojourn_us: u32 [Int<0, { u32::MAX as u64 }>] "sojournUs", "Mean queueing time of sent packets, in µs.",
        sojourn_max_us: u32 [Int<0, { u32::MAX as u64 }>] "sojournMaxUs", "Maximum queueing time of sent packets, in µs.",
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
    /// Indication message: configuration and statistics.
    #[derive(Eq, Hash, Default)]
    SliceIndication "SliceIndication" {
        tstamp_us: u64 [Int<0, { i64::MAX as u64 }>] "tstampUs", "Time of the report, in microseconds since the Unix epoch.",
        prbs: u16 [Int<0, PRB_MAX>] "prbs", "Resource blocks of the carrier per slot.",
        prbs_offered: u64 [Int<0, { u64::MAX }>] "prbsOffered", "Resource blocks offered by the carrier since the start of the node.",
        set: SliceSet [SelfCoded] "set", "The configuration.",
        ues: Vec<UeSlice> [List<0, 65_535>] "ues", "Slices of the UEs that the controller sees.",
        got: Vec<SliceShare> [List<0, { SLICES_MAX as u64 }>] "got", "Statistics per slice; without slices one entry, number 0, for all UEs.";
        slot: u64 [Int<0, { u64::MAX }>] "slot", "Next slot of the cell, counted since the start of the node.",
        slot_us: u32 [Int<1, { u32::MAX as u64 }>] "slotUs", "Duration of a slot, in µs.",
    }
    /// Allocations to UEs in some slots, for a slice with the UE scheduler [`UeScheduler::Remote`]. In a slot without
    /// an allocation, such a slice transmits nothing new.
    #[derive(Eq, Hash)]
    SliceAllocation "SliceAllocation" {
        slice: u16 [Int<0, 65_535>] "slice", "Number of the slice.",
        slot: Option<u64> [Opt<Int<0, { u64::MAX }>>] "slot", "First slot, counted as in a report. The default is the next slot without an allocation of the slice.",
        slots: u16 [Int<1, { ALLOCATE_AHEAD_MAX as u64 }>] "slots", "Number of consecutive slots with the same allocation.",
        ues: Vec<UeAllocation> [List<0, { ALLOCATED_UES_MAX as u64 }>] "ues", "UEs of the slice, each at most once. Unlisted UEs get no resource blocks.",
    }
    /// Resource blocks of a UE.
    #[derive(Copy, Eq, Hash)]
    UeAllocation "UeAllocation" {
        rnti: u16 [Int<0, 65_535>] "rnti", "Radio network temporary identifier of the UE.",
        prbs: u16 [Int<1, PRB_MAX>] "prbs", "Resource blocks per slot; the sum is limited by the carrier. The slice cannot allocate more than it has in a slot.",
        mcs: Option<u8> [Opt<Int<0, 31>>] "mcs", "Modulation and coding scheme. The default adapts to the channel.",
    }
}

choice! {
    /// Control message. A command is executed completely or not at all.
    #[derive(Eq, Hash)]
    SliceCommand "SliceCommand" {
        Configure(SliceSet) [SelfCoded] "configure", "Replaces the configuration. UEs of deleted slices move to the first slice.",
        Add(Slice) [SelfCoded] "add", "Adds a slice after the others.",
        Modify(Slice) [SelfCoded] "modify", "Modifies parameters, label or scheduler of a slice.",
        Delete(u16) [Int<0, 65_535>] "delete", "Deletes a slice. Its UEs move to the first slice.",
        Associate(Vec<UeSlice>) [List<1, 65_535>] "associate", "Assigns UEs to slices.";
        Allocate(SliceAllocation) [SelfCoded] "allocate", "Allocates resource blocks to UEs in some slots. The configuration is unchanged.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2sm::control::Reason;

    #[test]
    fn command_and_refusal_have_expected_encoding() {
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
            0x02, b'w',       // the label: within its limits, one character of 0..32
            0x26,             // `pf` is 1 of 0..3: 0 01; `capacity` is 1 of 0..3: 0 01; a number of three bytes: 10
            0x07, 0xa1, 0x20, // 500,000
        ];
        assert_eq!(octets[..], expected);
        assert_eq!(SliceCommand::decode_as(Encoding::Per, &octets), Ok(command));
        let refusal = Refusal::new(Reason::Overcommitted, "120 % \u{3bc}\n");
        assert_eq!(refusal.detail, "120 % ??");
        let octets = refusal.to_octets(Encoding::Per).unwrap();
        assert_eq!(Refusal::decode_as(Encoding::Per, &octets), Ok(refusal));
    }

    #[test]
    fn allocation_is_encoded_as_addition() {
        let ues = vec![UeAllocation { rnti: 7, prbs: 20, mcs: None }];
        let command = SliceCommand::Allocate(SliceAllocation { slice: 1, slot: Some(300), slots: 4, ues });
        let octets = command.to_octets(Encoding::Per).unwrap();
        #[rustfmt::skip]
        let expected = [
            0x80, 12,         // an addition, number 0; twelve bytes
            0x40, 0x00, 0x01, // no additions, `slot` is present; the number of the slice
            0x20, 0x01, 0x2c, // a number of two bytes of 1..8: 001; 300
            0x0c, 0x08,       // 4 of 1..64: 00 0011; one UE of 0..64: 000 0001; no additions, no `mcs`
            0x00, 0x07, 0x00, 0x13,
        ];
        assert_eq!(octets[..], expected);
        assert_eq!(SliceCommand::decode_as(Encoding::Per, &octets), Ok(command));
    }

    #[test]
    fn slot_is_encoded_as_trailing_addition() {
        let plain = SliceIndication { tstamp_us: 5, prbs: 106, ..SliceIndication::default() };
        let with = SliceIndication { slot: Some(9), slot_us: Some(500), ..plain.clone() };
        let short = plain.to_octets(Encoding::Per).unwrap();
        let long = with.to_octets(Encoding::Per).unwrap();
        // The first bit signals additions.
        assert_eq!((short[0] | 0x80, &short[1..]), (long[0], &long[1..short.len()]));
        assert_eq!(SliceIndication::decode_as(Encoding::Per, &long), Ok(with));
    }
}
