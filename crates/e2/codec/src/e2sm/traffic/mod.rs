//! TRAFFIC: traffic control between SDAP and RLC, per radio bearer; a model of this project after FlexRIC's TC (paper
//! §6.1.1).
//!
//! Downlink packets of a bearer go through a classifier (5-tuple filters, first match; else queue 0), into queues, out
//! of them by a scheduler, and through a pacer into the RLC buffer. A queue may have a shaper (delays) and a policer
//! (drops). FlexRIC's model 146 has the same parts, but names neither UE nor bearer, so that a node has one at most, and
//! its controls do not say whether they failed: hence an id of its own. All in aligned PER, without headers; a command
//! that is refused has a [`Refusal`].
//!
//! What configurations are possible is decided here, once: [`TrafficConfig::after`].

mod admission;

pub use admission::DEFAULT_CAPACITY_BYTES;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;

use crate::per::{Fixed, Free, Int, List, Opt, Own, Str};
use crate::{choice, enumerated, sequence};

use super::control::Refusal;
use super::octets::octets;
use super::per::{Aligned, sample};
use super::slice::ReportEvery;
use super::table::{Row, columns};
use super::{Column, Encoding, Octets, RowKey, ServiceModel, SmError, Table};

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.138.0";
/// The RAN function id that this project's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 138;
/// Queues of a bearer, at most.
pub const QUEUES_MAX: usize = 16;
/// Filters of a bearer, at most.
pub const FILTERS_MAX: usize = 64;
/// The queue that is always there, and takes what no filter matches.
pub const DEFAULT_QUEUE: u8 = 0;

/// Octets of a stage's module, at most: one message carries it as a whole.
pub const MODULE_BYTES_MAX: usize = 16_000;
/// Characters of why a stage has failed, at most.
pub const FAILURE_MAX: usize = 100;

/// The least that a pacer lets RLC hold, octets: a packet.
pub const PACED_BYTES_MIN: u32 = 1_500;
/// The most, octets.
pub const PACED_BYTES_MAX: u32 = 10_000_000;

const U32: u64 = u32::MAX as u64;

/// TRAFFIC: the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Traffic;

impl ServiceModel for Traffic {
    const NAME: &'static str = "traffic";
    const OID: &'static str = OID;
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    const DEFINITION: &'static [u8] = b"TRAFFIC_CTRL_V0";
    const REVISION: u16 = 1;
    const CUSTOMARY: bool = false;

    type Trigger = ReportEvery;
    type Action = Infallible;
    type Header = ();
    type Message = TrafficIndication;
    type ControlHeader = ();
    type Control = TrafficCommand;
    type Outcome = Refusal;

    fn periodic(period: Duration) -> Result<ReportEvery, SmError> {
        ReportEvery::new(period)
    }

    fn period(trigger: &ReportEvery) -> Option<Duration> {
        Some(Duration::from_millis(trigger.period_ms.into()))
    }

    fn columns() -> Vec<Column> {
        QueueRow::columns()
    }

    /// A row for each queue.
    fn tabulate(_: &(), message: &TrafficIndication, table: &mut Table) {
        table.tstamp_us = i64::try_from(message.tstamp_us).ok();
        for bearer in &message.bearers {
            bearer.queues.iter().for_each(|queue| table.push(&QueueRow { bearer, queue }));
        }
    }

    fn tstamp_us(encoding: Encoding, _: &[u8], message: &[u8]) -> Option<i64> {
        let message = TrafficIndication::decode_as(encoding, &Bytes::copy_from_slice(message)).ok()?;
        i64::try_from(message.tstamp_us).ok()
    }

    fn sample(seed: u64) -> ((), TrafficIndication) {
        // Its constraints have values, so there is always one.
        ((), sample(seed).unwrap_or_default())
    }
}
octets! {
    TrafficIndication: Per => Aligned;
    TrafficCommand: Per => Aligned;
}

sequence! {
    /// A radio bearer.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    BearerId "BearerId" {
        rnti: u16 [Int<0, 65_535>] "rnti", "Radio network temporary identifier of the UE.",
        rbid: u8 [Int<0, 255>] "rbid", "Radio bearer identity.",
    }
    /// How a bearer's packets are treated. The default is transparent: one queue, no filter, no pacer.
    #[derive(Eq, Hash)]
    TrafficConfig "TrafficConfig" {
        queues: Vec<Queue> [List<1, { QUEUES_MAX as u64 }>] "queues", "The queues; [`DEFAULT_QUEUE`] is always among them.",
        filters: Vec<Filter> [List<0, { FILTERS_MAX as u64 }>] "filters", "The filters in the order in which they are tried.",
        scheduler: QueueScheduler [Own] "scheduler", "Scheduler among queues.",
        pacer: Pacer [Own] "pacer", "Pacer: when the next packet is passed to RLC.",
    }
    /// A queue, its shaper and its policer.
    #[derive(Copy, Eq, Hash)]
    Queue "Queue" {
        id: u8 [Int<0, 255>] "id", "Number of the queue.",
        discipline: Discipline [Own] "discipline", "Drop policy.",
        shaper: Option<RateLimit> [Opt] "shaper", "Shaper: packets beyond this rate wait in the queue.",
        policer: Option<RateLimit> [Opt] "policer", "Policer: packets beyond this rate are dropped.",
    }
}

choice! {
    /// How a queue drops.
    #[derive(Copy, Eq, Hash)]
    Discipline "Discipline" {
        Fifo(u32) [Int<1, U32>] "fifo", "Tail drop, with the capacity in bytes.",
        Codel(Codel) [Own] "codel", "CoDel, by the time packets spend in the queue (RFC 8289).",
    }
}

sequence! {
    /// Controlled delay (RFC 8289).
    #[derive(Copy, Eq, Hash)]
    Codel "CoDel" {
        target_us: u32 [Int<1, U32>] "targetUs", "Target queueing time, in µs.",
        interval_us: u32 [Int<1, U32>] "intervalUs", "Time for which the target may be exceeded, in µs.",
        capacity_bytes: u32 [Int<1, U32>] "capacityBytes", "Capacity in bytes; packets beyond it are dropped.",
    }
    /// A token bucket.
    #[derive(Copy, Eq, Hash)]
    RateLimit "RateLimit" {
        rate_kbps: u32 [Int<1, U32>] "rateKbps", "Average rate, in kbit/s.",
        burst_bytes: u32 [Int<1, U32>] "burstBytes", "Burst size, in bytes.",
    }
    /// A 5-tuple; what is absent matches anything.
    #[derive(Copy, Eq, Hash)]
    Filter "Filter" {
        id: u16 [Int<0, 65_535>] "id", "Number of the filter.",
        source: Option<[u8; 4]> [Opt<Fixed>] "source", "Source address, IPv4.",
        destination: Option<[u8; 4]> [Opt<Fixed>] "destination", "Destination address, IPv4.",
        source_port: Option<u16> [Opt<Int<0, 65_535>>] "sourcePort", "Source port.",
        destination_port: Option<u16> [Opt<Int<0, 65_535>>] "destinationPort", "Destination port.",
        protocol: Option<u8> [Opt<Int<0, 255>>] "protocol", "IP protocol number.",
        queue: u8 [Int<0, 255>] "queue", "Queue of matching packets.",
    }
}

choice! {
    /// Which queue is next.
    #[derive(Eq, Hash)]
    QueueScheduler "QueueScheduler" {
        RoundRobin(u8) [Int<0, 0>] "roundRobin", "Round robin, one packet per non-empty queue; its number is 0.",
        /// The first of these that has packets; queues that are not named come last, by number.
        Priority(Vec<u8>) [List<1, { QUEUES_MAX as u64 }, Int<0, 255>>] "priority",
    }
}

sequence! {
    /// When RLC gets the next packet.
    #[derive(Copy, Eq, Hash, Default)]
    Pacer "Pacer" {
        bdp: Option<BdpPacer> [Opt] "bdp", "Just before the RLC buffer runs empty. The default is immediately.",
    }
    /// The bandwidth-delay product of 5G (Irazabal et al.): RLC holds what the radio serves in a moment.
    #[derive(Copy, Eq, Hash)]
    BdpPacer "BdpPacer" {
        /// What RLC never holds more of, octets; [`PACED_BYTES_MIN`] to [`PACED_BYTES_MAX`].
        cap_bytes: u32 [Int<{ PACED_BYTES_MIN as u64 }, { PACED_BYTES_MAX as u64 }>] "capBytes",
        /// What it may always hold, octets; at most the cap.
        floor_bytes: u32 [Int<{ PACED_BYTES_MIN as u64 }, { PACED_BYTES_MAX as u64 }>] "floorBytes",
    }
}

impl Default for BdpPacer {
    /// As its authors have it for 106 PRBs.
    fn default() -> Self {
        Self { cap_bytes: 46_000, floor_bytes: 22_000 }
    }
}

impl Pacer {
    /// By the bandwidth-delay product, as its authors have it.
    pub fn bdp() -> Self {
        Self { bdp: Some(BdpPacer::default()) }
    }

    /// For people: `dummy` or `5g-bdp`.
    pub const fn name(&self) -> &'static str {
        if self.bdp.is_some() { "5g-bdp" } else { "dummy" }
    }
}

sequence! {
    /// A queue's state. Times are those of packets that left it since the last report of any subscription.
    #[derive(Copy, Eq, Hash)]
    QueueState "QueueState" {
        id: u8 [Int<0, 255>] "id", "Number of the queue.",
        bytes: u64 [Int<0, { u64::MAX }>] "bytes", "Bytes in the queue.",
        packets: u32 [Int<0, U32>] "packets", "Packets in the queue.",
        sent_bytes: u64 [Int<0, { u64::MAX }>] "sentBytes", "Bytes passed to RLC.",
        sent_packets: u64 [Int<0, { u64::MAX }>] "sentPackets", "Packets passed to RLC.",
        dropped_packets: u64 [Int<0, { u64::MAX }>] "droppedPackets", "Packets dropped by the queue.",
        policed_packets: u64 [Int<0, { u64::MAX }>] "policedPackets", "Packets dropped by its policer.",
        sojourn_us: u32 [Int<0, U32>] "sojournUs", "Mean queueing time, in µs.",
        sojourn_max_us: u32 [Int<0, U32>] "sojournMaxUs", "Maximum, in µs.",
    }
    /// A bearer: how its packets are treated and what became of them.
    #[derive(Eq, Hash)]
    BearerTraffic "BearerTraffic" {
        bearer: BearerId [Own] "bearer", "Bearer.",
        config: TrafficConfig [Own] "config", "The configuration.",
        queues: Vec<QueueState> [List<1, { QUEUES_MAX as u64 }>] "queues", "The queues in the order of the configuration.",
        rlc_bytes: u64 [Int<0, { u64::MAX }>] "rlcBytes", "Bytes in the RLC buffer.",
        rlc_sojourn_us: u32 [Int<0, U32>] "rlcSojournUs", "Mean queueing time there since the last report of any subscription, in µs.",
        rlc_sojourn_max_us: u32 [Int<0, U32>] "rlcSojournMaxUs", "Maximum, in µs.",
        paced_kbps: u32 [Int<0, U32>] "pacedKbps", "Radio rate of the bearer as estimated by the pacer, in kbit/s; 0 without a pacer.";
        stages: Vec<StageState> [List<1, 2>] "stages", "User-defined stages, including failed ones; absent if there are no stages.",
    }
    /// A user's own stage, and what it did.
    #[derive(Eq, Hash)]
    StageState "StageState" {
        role: StageRole [Own] "role", "Replaced stage.",
        bytes: u32 [Int<0, U32>] "bytes", "Size of its module, in bytes.",
        calls: u64 [Int<0, { u64::MAX }>] "calls", "Number of calls.",
        refusals: u64 [Int<0, { u64::MAX }>] "refusals", "Number of calls that released no packet.",
        fuel: u64 [Int<0, { u64::MAX }>] "fuel", "Executed instructions, as counted by the sandbox.",
        /// Why it was taken out; what it replaced is at work again.
        failed: Option<String> [Opt<Str<0, { FAILURE_MAX as u64 }>>] "failed",
    }
    /// All bearers of a node.
    #[derive(Eq, Hash, Default)]
    TrafficIndication "TrafficIndication" {
        tstamp_us: u64 [Int<0, { i64::MAX as u64 }>] "tstampUs", "Time of the report, in microseconds since the Unix epoch.",
        bearers: Vec<BearerTraffic> [List<0, 65_535>] "bearers", "One entry for each bearer of each UE that the controller sees.",
    }
}

/// A queue as a row.
struct QueueRow<'a> {
    bearer: &'a BearerTraffic,
    queue: &'a QueueState,
}

columns! { QueueRow<'_>, row => {
    let BearerId { rnti, rbid } = row.bearer.bearer;
    RowKey::Queue { rnti: rnti.into(), rbid, queue: row.queue.id }
}, {
    "queue_id" [Unsigned Label headline] = row.queue.id,
    "queue_bytes" [Unsigned Gauge "B" headline] = row.queue.bytes,
    "queue_packets" [Unsigned Gauge] = row.queue.packets,
    "sent_bytes" [Unsigned Counter "B" headline] = row.queue.sent_bytes,
    "sent_packets" [Unsigned Counter] = row.queue.sent_packets,
    "dropped_packets" [Unsigned Counter headline] = row.queue.dropped_packets,
    "policed_packets" [Unsigned Counter] = row.queue.policed_packets,
    "sojourn_us" [Unsigned Gauge "us" headline] = row.queue.sojourn_us,
    "sojourn_max_us" [Unsigned Gauge "us"] = row.queue.sojourn_max_us,
    "rlc_bytes" [Unsigned Gauge "B"] = row.bearer.rlc_bytes,
    "rlc_sojourn_us" [Unsigned Gauge "us" headline] = row.bearer.rlc_sojourn_us,
    "rlc_sojourn_max_us" [Unsigned Gauge "us"] = row.bearer.rlc_sojourn_max_us,
    "paced_kbps" [Unsigned Gauge "kbit/s"] = row.bearer.paced_kbps,
    "pacer" [Text Label] = row.bearer.config.pacer.name(),
} }

sequence! {
    /// What a controller wants changed at a bearer. A command is carried out as a whole or not at all.
    #[derive(Eq, Hash)]
    TrafficCommand "TrafficCommand" {
        bearer: BearerId [Own] "bearer", "Bearer.",
        action: TrafficAction [Own] "action", "Command.",
    }
}

choice! {
    /// A change of a bearer's [`TrafficConfig`].
    #[derive(Eq, Hash)]
    TrafficAction "TrafficAction" {
        PutQueue(Queue) [Own] "putQueue", "Adds a queue, or modifies the one with this number. Its packets are kept.",
        DeleteQueue(u8) [Int<0, 255>] "deleteQueue", "Deletes a queue. Its packets move to [`DEFAULT_QUEUE`].",
        PutFilter(Filter) [Own] "putFilter", "Adds a filter after the others, or modifies the one with this number in place.",
        DeleteFilter(u16) [Int<0, 65_535>] "deleteFilter", "Deletes a filter.",
        SetScheduler(QueueScheduler) [Own] "setScheduler", "Sets the scheduler.",
        SetPacer(Pacer) [Own] "setPacer", "Sets the pacer.";
        SetStage(Stage) [Own] "setStage", "Sets or removes a user-defined stage.",
    }
}

enumerated! {
    /// What a stage replaces.
    StageRole "StageRole" {
        Pacer "pacer", "The pacer.",
        Scheduler "scheduler", "The scheduler among queues.",
    }
}

sequence! {
    /// A stage of the user's own, which comes as a module and is run in a sandbox.
    #[derive(Eq, Hash)]
    Stage "Stage" {
        role: StageRole [Own] "role", "Replaced stage.",
        module: Option<StageModule> [Opt] "module", "Stage; absent restores the replaced one.",
    }
    /// A module of WebAssembly.
    #[derive(Eq, Hash)]
    StageModule "StageModule" {
        wasm: Bytes [Free] "wasm", "Module, at most [`MODULE_BYTES_MAX`] bytes.",
        signature: [u8; 64] [Fixed] "signature", "Ed25519 signature of the module (RFC 8032).",
    }
}
