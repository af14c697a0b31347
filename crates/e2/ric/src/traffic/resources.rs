//! JSON resources of bearers.
use crate::northbound::{Fault, given, missing};
use ranlab_e2_codec::e2sm::traffic::{
    BdpPacer, BearerTraffic, Codel, DEFAULT_CAPACITY_BYTES, Discipline, Filter, Pacer, Queue, QueueScheduler,
    RateLimit, StageModule, StageRole, StageState,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::net::Ipv4Addr;

/// Queue. Without `codel` it drops at the tail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueResource {
    /// Capacity, in bytes.
    #[serde(default = "capacity")]
    pub capacity_bytes: u32,
    /// Active queue management by packet delay.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub codel: Option<CodelResource>,
    /// Rate above which packets are delayed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub shaper: Option<RateResource>,
    /// Rate above which arriving packets are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub policer: Option<RateResource>,
}

fn capacity() -> u32 {
    DEFAULT_CAPACITY_BYTES
}

/// Controlled delay (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelResource {
    /// Acceptable delay, in µs.
    #[serde(default = "target")]
    pub target_us: u32,
    /// Time for which the delay may exceed the target, in µs.
    #[serde(default = "interval")]
    pub interval_us: u32,
}

fn target() -> u32 {
    5_000
}

fn interval() -> u32 {
    100_000
}

/// Token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateResource {
    /// Rate, in kbit/s.
    pub rate_kbps: u32,
    /// Burst size, in bytes.
    #[serde(default = "burst")]
    pub burst_bytes: u32,
}

fn burst() -> u32 {
    3_000
}

/// Filter by 5-tuple; an absent field matches any value.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterResource {
    /// Source address.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub source: Option<Ipv4Addr>,
    /// Destination address.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub destination: Option<Ipv4Addr>,
    /// Source port.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub source_port: Option<u16>,
    /// Destination port.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub destination_port: Option<u16>,
    /// IANA protocol number: 6 is TCP, 17 UDP.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub protocol: Option<u8>,
    /// Queue of matching packets.
    pub queue: u8,
}

/// Scheduler of queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulerResource {
    /// Round robin.
    RoundRobin {},
    /// Strict priority.
    Priority {
        /// Queues, highest priority first.
        order: Vec<u8>,
    },
}

/// Pacer: decides when packets pass to RLC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum PacerResource {
    /// Packets are passed on immediately.
    #[serde(rename = "dummy")]
    Dummy {},
    /// Packets are passed on when RLC needs them, by the bandwidth-delay product.
    #[serde(rename = "5g-bdp")]
    Bdp {
        /// Maximum number of bytes in RLC.
        #[serde(default = "cap")]
        cap_bytes: u32,
        /// Number of bytes that RLC may always hold.
        #[serde(default = "floor")]
        floor_bytes: u32,
    },
}

fn cap() -> u32 {
    BdpPacer::default().cap_bytes
}

fn floor() -> u32 {
    BdpPacer::default().floor_bytes
}

/// Rejects zeros, which are not valid limits, queues or delays.
fn positive(numbers: &[(&str, u32)]) -> Result<(), Fault> {
    match numbers.iter().find(|(_, number)| *number == 0) {
        Some((name, _)) => Err(Fault::new(422, format!("{name} must be 1 to 4294967295, not 0"))),
        None => Ok(()),
    }
}

impl RateResource {
    fn limit(self) -> Result<RateLimit, Fault> {
        let Self { rate_kbps, burst_bytes } = self;
        positive(&[("rate_kbps", rate_kbps), ("burst_bytes", burst_bytes)])?;
        Ok(RateLimit { rate_kbps, burst_bytes })
    }
}

impl From<RateLimit> for RateResource {
    fn from(limit: RateLimit) -> Self {
        Self { rate_kbps: limit.rate_kbps, burst_bytes: limit.burst_bytes }
    }
}

impl QueueResource {
    pub(super) fn queue(&self, id: u8) -> Result<Queue, Fault> {
        positive(&[("capacity_bytes", self.capacity_bytes)])?;
        let discipline = match self.codel {
            None => Discipline::Fifo(self.capacity_bytes),
            Some(CodelResource { target_us, interval_us }) => {
                positive(&[("target_us", target_us), ("interval_us", interval_us)])?;
                Discipline::Codel(Codel { target_us, interval_us, capacity_bytes: self.capacity_bytes })
            }
        };
        let shaper = self.shaper.map(RateResource::limit).transpose()?;
        let policer = self.policer.map(RateResource::limit).transpose()?;
        Ok(Queue { id, discipline, shaper, policer })
    }
}

impl From<&Queue> for QueueResource {
    fn from(queue: &Queue) -> Self {
        let (capacity_bytes, codel) = match queue.discipline {
            Discipline::Fifo(capacity_bytes) => (capacity_bytes, None),
            Discipline::Codel(Codel { target_us, interval_us, capacity_bytes }) => {
                (capacity_bytes, Some(CodelResource { target_us, interval_us }))
            }
        };
        let shaper = queue.shaper.map(Into::into);
        let policer = queue.policer.map(Into::into);
        Self { capacity_bytes, codel, shaper, policer }
    }
}

impl FilterResource {
    pub(super) fn filter(&self, id: u16) -> Filter {
        let octets = |address: Option<Ipv4Addr>| address.map(|address| address.octets());
        Filter {
            id,
            source: octets(self.source),
            destination: octets(self.destination),
            source_port: self.source_port,
            destination_port: self.destination_port,
            protocol: self.protocol,
            queue: self.queue,
        }
    }
}

impl From<&Filter> for FilterResource {
    fn from(filter: &Filter) -> Self {
        Self {
            source: filter.source.map(Ipv4Addr::from),
            destination: filter.destination.map(Ipv4Addr::from),
            source_port: filter.source_port,
            destination_port: filter.destination_port,
            protocol: filter.protocol,
            queue: filter.queue,
        }
    }
}

impl From<SchedulerResource> for QueueScheduler {
    fn from(resource: SchedulerResource) -> Self {
        match resource {
            SchedulerResource::RoundRobin {} => Self::RoundRobin(0),
            SchedulerResource::Priority { order } => Self::Priority(order),
        }
    }
}

impl From<&QueueScheduler> for SchedulerResource {
    fn from(scheduler: &QueueScheduler) -> Self {
        match scheduler {
            QueueScheduler::RoundRobin(_) => Self::RoundRobin {},
            QueueScheduler::Priority(order) => Self::Priority { order: order.clone() },
        }
    }
}

impl From<PacerResource> for Pacer {
    fn from(resource: PacerResource) -> Self {
        match resource {
            PacerResource::Dummy {} => Self::default(),
            PacerResource::Bdp { cap_bytes, floor_bytes } => {
                Self { bdp: Some(BdpPacer { cap_bytes, floor_bytes }) }
            }
        }
    }
}

impl From<Pacer> for PacerResource {
    fn from(pacer: Pacer) -> Self {
        match pacer.bdp {
            None => Self::Dummy {},
            Some(BdpPacer { cap_bytes, floor_bytes }) => Self::Bdp { cap_bytes, floor_bytes },
        }
    }
}

/// User's own stage, as a signed module; module and signature are hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StageResource {
    wasm: String,
    signature: String,
}

/// Parses hexadecimal digits.
fn octets(what: &str, digits: &str) -> Result<Vec<u8>, Fault> {
    let wrong = || Fault::new(422, format!("{what} must be an even number of hexadecimal digits"));
    let pair = |pair: &[u8]| {
        let digit = |octet: u8| char::from(octet).to_digit(16);
        Some((digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?) as u8)
    };
    digits.as_bytes().chunks(2).map(|two| pair(two).ok_or_else(wrong)).collect()
}

impl StageResource {
    pub(super) fn module(&self) -> Result<StageModule, Fault> {
        let signature = octets("the signature", &self.signature)?;
        let signature =
            signature.try_into().map_err(|_| Fault::new(422, "a signature must have 64 bytes"))?;
        Ok(StageModule { wasm: octets("the module", &self.wasm)?.into(), signature })
    }
}

/// Returns the role of a stage by name.
pub(super) fn role(name: &str) -> Result<StageRole, Fault> {
    let found = [StageRole::Pacer, StageRole::Scheduler].into_iter().find(|role| role.name() == name);
    found.ok_or_else(|| missing("stage", name, "pacer and scheduler"))
}

fn stage(state: &StageState) -> Json {
    let StageState { role, bytes, calls, refusals, fuel, failed } = state;
    let role = role.name();
    json!({ "role": role, "bytes": bytes, "calls": calls, "refusals": refusals, "fuel": fuel, "failed": failed })
}

/// Formats a resource with its id.
fn numbered(id: u16, resource: &impl Serialize) -> Json {
    let mut json = json!(resource);
    json["id"] = id.into();
    json
}

/// Formats a bearer: queues, filters and counters.
pub(super) fn bearer(traffic: &BearerTraffic) -> Json {
    let queues = traffic.config.queues.iter().map(|queue| {
        let mut json = numbered(queue.id.into(), &QueueResource::from(queue));
        if let Some(state) = traffic.queues.iter().find(|state| state.id == queue.id) {
            json["bytes"] = state.bytes.into();
            json["packets"] = state.packets.into();
            json["sent_bytes"] = state.sent_bytes.into();
            json["sent_packets"] = state.sent_packets.into();
            json["dropped_packets"] = state.dropped_packets.into();
            json["policed_packets"] = state.policed_packets.into();
            json["sojourn_us"] = state.sojourn_us.into();
            json["sojourn_max_us"] = state.sojourn_max_us.into();
        }
        json
    });
    let filters = traffic.config.filters.iter();
    let filters = filters.map(|filter| numbered(filter.id, &FilterResource::from(filter)));
    json!({
        "rnti": traffic.bearer.rnti,
        "rbid": traffic.bearer.rbid,
        "queues": queues.collect::<Vec<_>>(),
        "filters": filters.collect::<Vec<_>>(),
        "scheduler": SchedulerResource::from(&traffic.config.scheduler),
        "pacer": PacerResource::from(traffic.config.pacer),
        "rlc_bytes": traffic.rlc_bytes,
        "rlc_sojourn_us": traffic.rlc_sojourn_us,
        "rlc_sojourn_max_us": traffic.rlc_sojourn_max_us,
        "paced_kbps": traffic.paced_kbps,
        "stages": traffic.stages.iter().flatten().map(stage).collect::<Vec<_>>(),
    })
}
