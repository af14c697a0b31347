//! Service model TRAFFIC: traffic control between SDAP and RLC for each radio bearer. It is a model of this project,
//! based on FlexRIC's TC (paper §6.1.1).
//!
//! A classifier (5-tuple filters, first match; otherwise queue 0) assigns the downlink packets of a bearer to queues. A
//! scheduler takes them from the queues, and a pacer passes them to the RLC buffer. A queue can have a shaper (delays)
//! and a policer (drops). FlexRIC's model 146 has the same parts, but identifies neither UE nor bearer, so a node has
//! at most one instance, and its controls do not report failures. This model therefore has its own id. All messages use
//! aligned PER and have no headers. The outcome of a refused command is a [`Refusal`].
//!
//! [`TrafficConfig::after`] is the only place that decides which configurations are possible.

mod admission;
mod targets;

pub use admission::DEFAULT_CAPACITY_BYTES;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;

use crate::per::{Fixed, Int, List, Opt, SelfCoded, Str, Unconstrained};
use crate::{choice, enumerated, sequence};

use super::control::Refusal;
use super::octets::octets;
use super::per::{Aligned, sample};
use super::slice::ReportEvery;
use super::table::{Row, columns};
use super::{Column, Encoding, Octets, RowKey, ServiceModel, SmError, Table};

/// OID of the model in a node's RAN function list.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.138.0";
/// RAN function id used by this project's agents.
pub const DEFAULT_FUNCTION_ID: u16 = 138;
/// Maximum number of queues of a bearer.
pub const QUEUES_MAX: usize = 16;
/// Maximum number of filters of a bearer.
pub const FILTERS_MAX: usize = 64;
/// Queue that always exists and receives the packets that match no filter.
pub const DEFAULT_QUEUE: u8 = 0;

/// Maximum size of a stage's module, bytes: one message carries the complete module.
pub const MODULE_BYTES_MAX: usize = 16_000;
/// Maximum length of a stage's failure reason, characters.
pub const FAILURE_MAX: usize = 100;

/// Smallest limit of a pacer for the RLC buffer, bytes: one packet.
pub const PACED_BYTES_MIN: u32 = 1_500;
/// Largest limit of a pacer for the RLC buffer, bytes.
pub const PACED_BYTES_MAX: u32 = 10_000_000;

const U32: u64 = u32::MAX as u64;

/// Service model TRAFFIC.
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

    /// Appends one row per queue.
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

    fn control_targets(encoding: Encoding, _: &Bytes, message: &Bytes) -> Option<Vec<String>> {
        targets::control_targets(encoding, message)
    }

    fn sample(seed: u64) -> ((), TrafficIndication) {
        // `sample` fails only for types whose constraints cannot be fulfilled. These can be, so the default is never
        // used.
        ((), sample(seed).unwrap_or_default())
    }
}
octets! {
    TrafficIndication: Per => Aligned;
    TrafficCommand: Per => Aligned;
}

sequence! {
    /// Radio bearer.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    BearerId "BearerId" {
        rnti: u16 [Int<0, 65_535>] "rnti", "Radio network temporary identifier of the UE.",
        rbid: u8 [Int<0, 255>] "rbid", "Radio bearer identity.",
    }
    /// Traffic control configuration of a bearer. The default is transparent: one queue, no filter, no pacer.
    #[derive(Eq, Hash)]
    TrafficConfig "TrafficConfig" {
        queues: Vec<Queue> [List<1, { QUEUES_MAX as u64 }>] "queues", "The queues; [`DEFAULT_QUEUE`] is always among them.",
        filters: Vec<Filter> [List<0, { FILTERS_MAX as u64 }>] "filters", "The filters in the order in which they are tried.",
        scheduler: QueueScheduler [SelfCoded] "scheduler", "Scheduler among queues.",
        pacer: Pacer [SelfCoded] "pacer", "Pacer: when the next packet is passed to RLC.",
    }
    /// Queue with its shaper and its policer.
    #[derive(Copy, Eq, Hash)]
    Queue "Queue" {
        id: u8 [Int<0, 255>] "id", "Number of the queue.",
        discipline: Discipline [SelfCoded] "discipline", "Drop policy.",
        shaper: Option<RateLimit> [Opt] "shaper", "Shaper: packets beyond this rate wait in the queue.",
        policer: Option<RateLimit> [Opt] "policer", "Policer: packets beyond this rate are dropped.",
    }
}

choice! {
    /// Queue discipline.
    #[derive(Copy, Eq, Hash)]
    Discipline "Discipline" {
        Fifo(u32) [Int<1, U32>] "fifo", "Tail drop, with the capacity in bytes.",
        Codel(Codel) [SelfCoded] "codel", "CoDel, by the time packets spend in the queue (RFC 8289).",
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
    /// Token bucket.
    #[derive(Copy, Eq, Hash)]
    RateLimit "RateLimit" {
        rate_kbps: u32 [Int<1, U32>] "rateKbps", "Average rate, in kbit/s.",
        burst_bytes: u32 [Int<1, U32>] "burstBytes", "Burst size, in bytes.",
    }
    /// 5-tuple filter; absent fields match any value.
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
    /// Queue scheduler.
    #[derive(Eq, Hash)]
    QueueScheduler "QueueScheduler" {
        RoundRobin(u8) [Int<0, 0>] "roundRobin", "Round robin, one packet per non-empty queue; its number is 0.",
        /// Strict priority: the first non-empty queue of this list; queues that are not listed follow in numeric
        /// order.
        Priority(Vec<u8>) [List<1, { QUEUES_MAX as u64 }, Int<0, 255>>] "priority",
    }
}

sequence! {
    /// Pacer: decides when RLC receives the next packet.
    #[derive(Copy, Eq, Hash, Default)]
    Pacer "Pacer" {
        bdp: Option<BdpPacer> [Opt] "bdp", "Pacer with the bandwidth-delay product; without it, RLC receives packets immediately.",
    }
    /// Pacer with the bandwidth-delay product of 5G (Irazabal et al.): RLC holds the amount that the radio serves in
    /// a short time.
    #[derive(Copy, Eq, Hash)]
    BdpPacer "BdpPacer" {
        /// Upper limit for the RLC buffer, bytes; [`PACED_BYTES_MIN`] to [`PACED_BYTES_MAX`].
        cap_bytes: u32 [Int<{ PACED_BYTES_MIN as u64 }, { PACED_BYTES_MAX as u64 }>] "capBytes",
        /// Amount that the RLC buffer can always hold, bytes; at most the upper limit.
        floor_bytes: u32 [Int<{ PACED_BYTES_MIN as u64 }, { PACED_BYTES_MAX as u64 }>] "floorBytes",
    }
}

impl Default for BdpPacer {
    /// Values of the authors for 106 PRBs.
    fn default() -> Self {
        Self { cap_bytes: 46_000, floor_bytes: 22_000 }
    }
}

impl Pacer {
    /// Returns a pacer with the bandwidth-delay product and the authors' values.
    pub fn bdp() -> Self {
        Self { bdp: Some(BdpPacer::default()) }
    }

    /// Returns the display name: `dummy` or `5g-bdp`.
    pub const fn name(&self) -> &'static str {
        if self.bdp.is_some() { "5g-bdp" } else { "dummy" }
    }
}

sequence! {
    /// State of a queue. Times refer to the packets that left the queue since the last report of any subscription.
    #[derive(Copy, Eq, Hash)]
    QueueState "QueueState" {
        id: u8 [Int<0, 255>] "id", "Number of the queue.",
        bytes: u64 [Int<0, { u64::MAX }>] "bytes", "Bytes in the queue.",
        packets: u32 [Int<0, U32>] "packets", "Packets in the queue.",
        sent_bytes: u64 [Int<0, { u64::MAX }>] "sentBytes", "Bytes passed to RLC.",
        sent_packets: u64 [Int<0, { u64::MAX }>] "sentPackets", "Packets passed to RLC.",
        dropped_packets: u64 [Int<0, { u64::MAX }>] "droppedPackets", "Packets dropped by the queue.",
        policed_packets: u64 [Int<0, { u64::MAX }>] "policedPackets", "Packets dropped by the policer of the queue.",
        sojourn_us: u32 [Int<0, U32>] "sojournUs", "Mean queueing time, in µs.",
        sojourn_max_us: u32 [Int<0, U32>] "sojournMaxUs", "Maximum queueing time, in µs.",
    }
    /// Traffic control configuration and statistics of a bearer.
    #[derive(Eq, Hash)]
    BearerTraffic "BearerTraffic" {
        bearer: BearerId [SelfCoded] "bearer", "Bearer.",
        config: TrafficConfig [SelfCoded] "config", "The configuration.",
        queues: Vec<QueueState> [List<1, { QUEUES_MAX as u64 }>] "queues", "The queues in the order of the configuration.",
        rlc_bytes: u64 [Int<0, { u64::MAX }>] "rlcBytes", "Bytes in the RLC buffer.",
        rlc_sojourn_us: u32 [Int<0, U32>] "rlcSojournUs", "Mean queueing time in the RLC buffer since the last report of any subscription, in µs.",
        /// Maximum queueing time in the RLC buffer since the last report of any subscription, in µs.
        rlc_sojourn_max_us: u32 [Int<0, U32>] "rlcSojournMaxUs",
        paced_kbps: u32 [Int<0, U32>] "pacedKbps", "Radio rate of the bearer as estimated by the pacer, in kbit/s; 0 without a pacer.";
        stages: Vec<StageState> [List<1, 2>] "stages", "User-defined stages, including failed ones; absent if there are none.",
    }
    /// State and statistics of a user-defined stage.
    #[derive(Eq, Hash)]
    StageState "StageState" {
        role: StageRole [SelfCoded] "role", "Replaced component.",
        bytes: u32 [Int<0, U32>] "bytes", "Size of the module, in bytes.",
        calls: u64 [Int<0, { u64::MAX }>] "calls", "Number of calls.",
        refusals: u64 [Int<0, { u64::MAX }>] "refusals", "Number of calls that released no packet.",
        fuel: u64 [Int<0, { u64::MAX }>] "fuel", "Executed instructions, as counted by the sandbox.",
        /// Reason why the stage was removed. The component that it had replaced is active again.
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
    /// Command of a controller that changes a bearer. It is executed completely or not at all.
    #[derive(Eq, Hash)]
    TrafficCommand "TrafficCommand" {
        bearer: BearerId [SelfCoded] "bearer", "Bearer.",
        action: TrafficAction [SelfCoded] "action", "Command.",
    }
}

choice! {
    /// Change of a bearer's [`TrafficConfig`].
    #[derive(Eq, Hash)]
    TrafficAction "TrafficAction" {
        PutQueue(Queue) [SelfCoded] "putQueue", "Adds a queue, or modifies the one with this number. Its packets are kept.",
        DeleteQueue(u8) [Int<0, 255>] "deleteQueue", "Deletes a queue. Its packets move to [`DEFAULT_QUEUE`].",
        PutFilter(Filter) [SelfCoded] "putFilter", "Adds a filter after the others, or modifies the one with this number in place.",
        DeleteFilter(u16) [Int<0, 65_535>] "deleteFilter", "Deletes a filter.",
        SetScheduler(QueueScheduler) [SelfCoded] "setScheduler", "Sets the scheduler.",
        SetPacer(Pacer) [SelfCoded] "setPacer", "Sets the pacer.";
        SetStage(Stage) [SelfCoded] "setStage", "Sets or removes a user-defined stage.",
    }
}

enumerated! {
    /// Component that a stage replaces.
    StageRole "StageRole" {
        Pacer "pacer", "The pacer.",
        Scheduler "scheduler", "The scheduler among queues.",
    }
}

sequence! {
    /// User-defined stage: a module that runs in a sandbox.
    #[derive(Eq, Hash)]
    Stage "Stage" {
        role: StageRole [SelfCoded] "role", "Replaced component.",
        module: Option<StageModule> [Opt] "module", "Module of the stage; `None` restores the replaced component.",
    }
    /// WebAssembly module.
    #[derive(Eq, Hash)]
    StageModule "StageModule" {
        wasm: Bytes [Unconstrained] "wasm", "Module, at most [`MODULE_BYTES_MAX`] bytes.",
        signature: [u8; 64] [Fixed] "signature", "Ed25519 signature of the module (RFC 8032).",
    }
}
