//! A RAN function whose reports contain their origin, so that a receiver can check whether it may receive them.
//!
//! The event trigger contains a period in milliseconds and a tag, as two little-endian `u32`. The indication message
//! is a [`TracerReport`].
use ranlab_e2::Time;
use ranlab_e2::agent::*;
use ranlab_e2::functions::stats;
use ranlab_e2_codec::e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RicActionId, RicIndicationType, RicRequestId,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Length of a report, in bytes.
pub const BEAT_LEN: usize = 120;
const MAGIC: u32 = 0x7261_6e73;

/// Content of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracerReport {
    /// Number of the node's party in its world.
    pub node: u32,
    /// Number of the node's incarnation.
    pub life: u32,
    /// Number of the subscription at the agent.
    pub subscription: u64,
    /// Sequence number of the report, from 0.
    pub count: u32,
    /// Tag of the event trigger.
    pub tag: u32,
    /// Id under which the function is registered.
    pub function: RanFunctionId,
    /// Hash of the function's object identifier; see [`oid_mark`].
    pub oid: u32,
}

/// Returns the 32-bit FNV-1a hash of an object identifier.
pub fn oid_mark(oid: &str) -> u32 {
    oid.bytes().fold(0x811c_9dc5, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

impl TracerReport {
    fn write(&self, out: &mut Vec<u8>) {
        for word in [MAGIC, self.node, self.life, self.count, self.tag, u32::from(self.function)] {
            out.extend(word.to_le_bytes());
        }
        out.extend(self.subscription.to_le_bytes());
        out.extend(self.oid.to_le_bytes());
        out.resize(BEAT_LEN, 0xa5);
    }

    /// Decodes a report, or returns `None` if the bytes are not a valid report.
    pub fn read(message: &[u8]) -> Option<Self> {
        let word = |i: usize| Some(u32::from_le_bytes(message.get(4 * i..4 * i + 4)?.try_into().ok()?));
        if message.len() != BEAT_LEN || word(0)? != MAGIC {
            return None;
        }
        let subscription = u64::from(word(6)?) | u64::from(word(7)?) << 32;
        let node = word(1)?;
        let life = word(2)?;
        let count = word(3)?;
        let tag = word(4)?;
        Some(Self {
            node,
            life,
            subscription,
            count,
            tag,
            function: word(5)? as RanFunctionId,
            oid: word(8)?,
        })
    }
}

/// Encodes the event trigger of a [`TracerFunction`].
pub fn trigger(period_ms: u32, tag: u32) -> bytes::Bytes {
    [period_ms.to_le_bytes(), tag.to_le_bytes()].concat().into()
}

/// State of a node's tracer functions, readable while the agent owns the functions.
#[derive(Debug, Clone, Default)]
pub struct TracerLog(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    live: BTreeMap<SubscriptionId, (ControllerId, RicRequestId)>,
    controls: Vec<Vec<u8>>,
}

impl TracerLog {
    /// Returns the active subscriptions of the functions, with their controllers and request ids.
    pub fn live(&self) -> BTreeMap<SubscriptionId, (ControllerId, RicRequestId)> {
        self.log().live.clone()
    }

    /// Returns the messages of the controls that the functions received since the last call.
    pub fn take_controls(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.log().controls)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct PeriodicReport {
    next: Time,
    period: Duration,
    actions: Vec<RicActionId>,
    tag: u32,
    count: u32,
}

/// RAN function whose reports are [`TracerReport`]s.
#[derive(Debug)]
pub struct TracerFunction {
    oid: String,
    node: u32,
    life: u32,
    logbook: TracerLog,
    rhythms: BTreeMap<SubscriptionId, PeriodicReport>,
}

impl TracerFunction {
    /// Creates a tracer function of party number `node` in its `life`-th incarnation.
    pub fn new(oid: &str, node: u32, life: u32, logbook: TracerLog) -> Self {
        Self { oid: oid.to_owned(), node, life, logbook, rhythms: BTreeMap::new() }
    }

    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if let Some(next) = self.rhythms.values().map(|r| r.next).min() {
            ctx.wake_at(next);
        }
    }
}

impl RanFunction for TracerFunction {
    fn description(&self) -> FunctionDescription {
        FunctionDescription { oid: self.oid.clone(), definition: "beacon".into(), revision: 1 }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let id = subscription.id;
        let unsupported = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
        let (period, tag) = subscription.event_trigger.split_at_checked(4).ok_or(unsupported)?;
        let period = stats::period(period)?;
        let tag = tag.try_into().map(u32::from_le_bytes).map_err(|_| unsupported)?;
        let admission = Admission::each(subscription.actions, |_| Ok(()));
        let next = ctx.now() + period;
        let actions = admission.admitted.clone();
        self.rhythms.insert(id, PeriodicReport { next, period, actions, tag, count: 0 });
        if let Some(controller) = ctx.controller() {
            self.logbook.log().live.insert(id, (controller, subscription.request_id));
        }
        self.wake(ctx);
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.rhythms.remove(&id);
        self.logbook.log().live.remove(&id);
    }

    fn on_control(
        &mut self,
        _: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        self.logbook.log().controls.push(control.message.to_vec());
        Ok(ControlOutcome::default())
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        let function = ctx.function_id();
        let oid = oid_mark(&self.oid);
        let mut message = Vec::with_capacity(BEAT_LEN);
        for (&subscription, rhythm) in &mut self.rhythms {
            if rhythm.next > now {
                continue;
            }
            while rhythm.next <= now {
                rhythm.next += rhythm.period;
            }
            for &action in &rhythm.actions {
                let node = self.node;
                let life = self.life;
                let count = rhythm.count;
                let tag = rhythm.tag;
                rhythm.count += 1;
                message.clear();
                TracerReport { node, life, subscription: subscription.0, count, tag, function, oid }
                    .write(&mut message);
                let kind = RicIndicationType::Report;
                let header = &[0; 4][..];
                let message = &message[..];
                let indication =
                    Indication { subscription, action, kind, header, message, call_process_id: None };
                // The indication cannot fail: if the subscription were missing, the function would have deleted it.
                let _ = ctx.indicate(indication);
            }
        }
        self.wake(ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracer_report_round_trips() {
        let beat =
            TracerReport { node: 1, life: 2, subscription: 3 << 33, count: 4, tag: 5, function: 6, oid: 7 };
        let mut out = Vec::new();
        beat.write(&mut out);
        assert_eq!(TracerReport::read(&out), Some(beat));
        assert_eq!(TracerReport::read(&out[1..]), None);
    }
}
