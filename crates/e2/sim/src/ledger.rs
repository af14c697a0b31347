//! Record of the observed reports, and its invariants.
//!
//! Every report carries the sequence number that its node assigned. The ledger follows it over both hops and assigns
//! each gap to the queue that dropped the report. A gap on arrival at the RIC belongs to the agent. An additional gap
//! on arrival at an xApp belongs to the RIC. Links lose no data unless they break.
use crate::tracer_function::TracerReport;
use ranlab_e2::xapp::SubscriptionHandle;
use ranlab_e2_codec::e2ap::fast;
use std::collections::{BTreeMap, BTreeSet};

/// A subscription at an agent: node, incarnation, and the agent's subscription number.
type StreamId = (u32, u32, u64);

/// Reports of a subscription as received by a RIC.
#[derive(Debug, Default)]
struct Stream {
    next: u32,
    missing: u64,
    /// Total number of missing reports, by the sequence number at which the total grew.
    missing_from: BTreeMap<u32, u64>,
}

impl Stream {
    fn missing_at(&self, count: u32) -> u64 {
        self.missing_from.range(..=count).next_back().map_or(0, |(_, missing)| *missing)
    }
}

/// A subscription as seen by its xApp.
#[derive(Debug)]
struct SubscriptionRecord {
    node: u32,
    tag: u32,
    last: (u32, u64, u32),
    /// Whether the subscription was admitted again after the last report. Reports missing before the next one are
    /// then not a gap.
    fresh: bool,
}

/// Gaps and deliveries.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    violation: Option<String>,
    streams: BTreeMap<StreamId, Stream>,
    /// Records by party, incarnation and handle.
    seen: BTreeMap<(usize, u32, SubscriptionHandle), SubscriptionRecord>,
    /// Gaps on arrival at the RICs, by agent, incarnation and controller.
    pub(crate) agent_gaps: BTreeMap<(usize, u32, u64), u64>,
    /// Additional gaps on arrival at an xApp, by connection.
    pub(crate) ric_gaps: BTreeMap<u64, u64>,
    /// All gaps on arrival at an xApp, by party.
    pub(crate) xapp_gaps: BTreeMap<usize, u64>,
    /// Deliveries since [`World::watch`]: xApp, node, tag.
    pub(crate) delivered: BTreeSet<(usize, u32, u32)>,
    pub(crate) acknowledged: u64,
    pub(crate) indications: u64,
}

impl Ledger {
    /// Stores the first violation.
    pub(crate) fn break_rule(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    pub(crate) fn take_violation(&mut self) -> Option<String> {
        self.violation.take()
    }

    /// Records that a PDU of an agent reached its RIC.
    pub(crate) fn reached_ric(&mut self, party: usize, controller: u64, pdu: &[u8]) {
        let Some(indication) = fast::Indication::decode(pdu) else { return };
        let Some(beat) = TracerReport::read(indication.message) else {
            return self.break_rule("an indication was changed between agent and RIC".into());
        };
        let stream = self.streams.entry((beat.node, beat.life, beat.subscription)).or_default();
        if beat.count < stream.next || indication.sn != Some(beat.count as u16) {
            let what = format!(
                "{beat:?} with sequence number {:?} reached the RIC, but number {} is the next one",
                indication.sn, stream.next
            );
            return self.break_rule(what);
        }
        let gap = u64::from(beat.count - stream.next);
        stream.next = beat.count + 1;
        if gap > 0 {
            stream.missing += gap;
            stream.missing_from.insert(beat.count, stream.missing);
            *self.agent_gaps.entry((party, beat.life, controller)).or_default() += gap;
        }
    }

    /// Records that a report reached its xApp on a connection.
    pub(crate) fn reached_xapp(
        &mut self,
        xapp: (usize, u32),
        connection: u64,
        handle: SubscriptionHandle,
        beat: TracerReport,
    ) -> Result<(), String> {
        self.indications += 1;
        self.delivered.insert((xapp.0, beat.node, beat.tag));
        let now = (beat.life, beat.subscription, beat.count);
        let seen = self.seen.entry((xapp.0, xapp.1, handle));
        let mut first = false;
        let seen = seen.or_insert_with(|| {
            first = true;
            SubscriptionRecord { node: beat.node, tag: beat.tag, last: now, fresh: false }
        });
        if (seen.node, seen.tag) != (beat.node, beat.tag) {
            return Err(format!(
                "{handle:?} belongs to node {} and tag {}, but got {beat:?}",
                seen.node, seen.tag
            ));
        }
        if first {
            return Ok(());
        }
        if now <= seen.last {
            return Err(format!(
                "{handle:?} got {beat:?} after {:?}, so it is a duplicate or out of order",
                seen.last
            ));
        }
        let last = std::mem::replace(&mut seen.last, now);
        let fresh = std::mem::take(&mut seen.fresh);
        if fresh || (last.0, last.1) != (now.0, now.1) {
            return Ok(());
        }
        let gap = u64::from(now.2 - last.2 - 1);
        let stream = self.streams.get(&(beat.node, beat.life, beat.subscription));
        let before = stream.map_or(0, |s| s.missing_at(now.2) - s.missing_at(last.2));
        let Some(at_ric) = gap.checked_sub(before) else {
            return Err(format!("{handle:?} got {beat:?}, which the RIC never received"));
        };
        *self.xapp_gaps.entry(xapp.0).or_default() += gap;
        *self.ric_gaps.entry(connection).or_default() += at_ric;
        Ok(())
    }

    pub(crate) fn admitted_anew(&mut self, xapp: (usize, u32), handle: SubscriptionHandle) {
        if let Some(seen) = self.seen.get_mut(&(xapp.0, xapp.1, handle)) {
            seen.fresh = true;
        }
    }
}
