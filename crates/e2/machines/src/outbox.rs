//! Bounded send queue for a slow peer.
//!
//! The queue has two lanes. Control messages are sent first and are never dropped; if their limit is reached, the
//! caller closes the connection. Indications lose value with age. At a limit, or after a time, the oldest indication
//! of the flow is dropped and counted. The receiver detects the gap in the sequence numbers.
use crate::{Frame, Time};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Identifier of a flow: the indications of one subscription to one receiver. A full queue drops indications per flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub u64);

/// Maximum number of empty queues that are kept for reuse.
const SPARE_QUEUES_MAX: usize = 16;
/// Maximum capacity of such a queue, in indications.
const SPARE_LEN_MAX: usize = 64;

/// Limits of one [`Outbox`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxLimits {
    /// Maximum size of queued control messages, in bytes. Beyond it, [`OutboxFull`] is returned.
    pub control_bytes: usize,
    /// Maximum size of queued indications over all flows, in bytes. Beyond it, the oldest ones are dropped.
    pub indication_bytes: usize,
    /// Age at which a queued indication is dropped.
    pub indication_age: Duration,
}

changed_by!(OutboxLimits);

impl Default for OutboxLimits {
    /// Returns 1 MiB of control messages, 2 MiB of indications and an age of 100 ms.
    fn default() -> Self {
        Self { control_bytes: 1 << 20, indication_bytes: 2 << 20, indication_age: Duration::from_millis(100) }
    }
}

/// The peer does not read: its queued control messages have reached the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer has not read {queued} bytes of control messages (limit {limit})")]
pub struct OutboxFull {
    /// Size of the queued control messages, in bytes.
    pub queued: usize,
    /// Limit, in bytes.
    pub limit: usize,
}

/// Counters of an [`Outbox`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutboxCounters {
    /// Control messages handed to the transport.
    pub control: u64,
    /// Indications handed to the transport.
    pub indications: u64,
    /// Bytes handed to the transport.
    pub bytes: u64,
    /// Indications dropped because of the size limit.
    pub dropped_full: u64,
    /// Indications dropped because they had waited too long.
    pub dropped_old: u64,
}

#[derive(Debug, Default)]
struct Flow {
    waiting: VecDeque<(Time, Frame)>,
    /// Number of tokens in `order` beyond the number of queued indications.
    spare_tokens: usize,
}

/// Send queue of one peer.
#[derive(Debug, Default)]
pub struct Outbox {
    limits: OutboxLimits,
    /// Control messages, each with the earliest time at which it may be sent.
    control: VecDeque<(Time, Frame)>,
    control_bytes: usize,
    /// Order among flows: one token per queued indication. A token stands for the oldest indication of its flow, so
    /// dropping from the middle of the queue is cheap. The token of a dropped indication then stands for the next one
    /// of that flow.
    order: VecDeque<FlowId>,
    flows: HashMap<FlowId, Flow>,
    /// Empty queues for reuse by other flows.
    spare_queues: Vec<VecDeque<(Time, Frame)>>,
    indications: usize,
    indication_bytes: usize,
    counters: OutboxCounters,
}

impl Outbox {
    /// Creates an empty outbox with the given limits.
    pub fn new(limits: OutboxLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Queues a control message.
    pub fn push_control(&mut self, frame: Frame) -> Result<(), OutboxFull> {
        self.push_held(frame, Time::ZERO)
    }

    /// Queues a control message that is not sent before `due`. Later messages wait behind it.
    pub fn push_held(&mut self, frame: Frame, due: Time) -> Result<(), OutboxFull> {
        let queued = self.control_bytes + frame.len();
        if queued > self.limits.control_bytes {
            return Err(OutboxFull { queued, limit: self.limits.control_bytes });
        }
        self.control_bytes = queued;
        self.control.push_back((due, frame));
        Ok(())
    }

    /// Queues an indication of `flow`. At the limit, the oldest indication of the flow is dropped. If the flow has
    /// none, the oldest one of all flows is dropped.
    pub fn push_indication(&mut self, now: Time, flow: FlowId, frame: Frame) {
        let len = frame.len();
        while self.indication_bytes + len > self.limits.indication_bytes && self.indications > 0 {
            if !self.drop_oldest_of(flow) {
                self.drop_oldest();
            }
        }
        if len > self.limits.indication_bytes {
            self.counters.dropped_full += 1;
            return;
        }
        self.indications += 1;
        self.indication_bytes += len;
        let queue = self.flows.entry(flow).or_insert_with(|| Flow {
            waiting: self.spare_queues.pop().unwrap_or_default(),
            ..Flow::default()
        });
        queue.waiting.push_back((now, frame));
        if queue.spare_tokens > 0 {
            queue.spare_tokens -= 1;
        } else {
            self.order.push_back(flow);
        }
    }

    /// Returns the next frame to send: control messages first, then the oldest indication that has not expired.
    /// Returns `None` while the next control message is held.
    pub fn pop(&mut self, now: Time) -> Option<Frame> {
        if self.control.front().is_some_and(|(due, _)| *due > now) {
            return None;
        }
        if let Some((_, frame)) = self.control.pop_front() {
            self.control_bytes -= frame.len();
            self.counters.control += 1;
            self.counters.bytes += frame.len() as u64;
            return Some(frame);
        }
        while let Some(flow) = self.order.pop_front() {
            let Some((queued, frame)) = self.redeem(flow) else { continue };
            if now.since(queued) > self.limits.indication_age {
                self.counters.dropped_old += 1;
                continue;
            }
            self.counters.indications += 1;
            self.counters.bytes += frame.len() as u64;
            return Some(frame);
        }
        None
    }

    /// Discards the queued indications of a deleted flow. They do not count as dropped.
    pub fn forget(&mut self, flow: FlowId) {
        while self.take_front(flow).is_some() {}
    }

    /// Discards everything, because the peer is disconnected.
    pub fn clear(&mut self) {
        *self = Self { limits: self.limits, counters: self.counters, ..Self::default() };
    }

    /// Releases held messages: all queued messages may be sent immediately.
    pub fn release(&mut self) {
        self.control.iter_mut().for_each(|(due, _)| *due = Time::ZERO);
    }

    /// Returns whether the outbox is empty.
    pub fn is_empty(&self) -> bool {
        self.control.is_empty() && self.indications == 0
    }

    /// Returns the size of all queued messages, in bytes.
    pub fn queued_bytes(&self) -> usize {
        self.control_bytes + self.indication_bytes
    }

    /// Returns the counters.
    pub fn counters(&self) -> OutboxCounters {
        self.counters
    }

    /// Copies the queued frames to their own memory; see [`Frame::detach`]. Call it when the transport accepts no
    /// more data.
    ///
    /// The cost is proportional to the number of frames queued since the last call: in each queue, all frames before
    /// a detached one are detached too.
    pub fn detach(&mut self) {
        let fresh = self.control.iter_mut().rev().take_while(|(_, frame)| !frame.is_detached());
        fresh.for_each(|(_, frame)| frame.detach());
        for flow in self.flows.values_mut() {
            let fresh = flow.waiting.iter_mut().rev().take_while(|(_, frame)| !frame.is_detached());
            fresh.for_each(|(_, frame)| frame.detach());
        }
    }

    /// Removes the oldest indication of a flow; its token stays in `order`.
    fn take_front(&mut self, flow: FlowId) -> Option<(Time, Frame)> {
        let queue = self.flows.get_mut(&flow)?;
        let front = queue.waiting.pop_front()?;
        queue.spare_tokens += 1;
        self.indications -= 1;
        self.indication_bytes -= front.1.len();
        Some(front)
    }

    /// Removes the oldest indication of a flow for a token that was taken from `order`.
    fn redeem(&mut self, flow: FlowId) -> Option<(Time, Frame)> {
        let front = self.take_front(flow);
        if let Some(queue) = self.flows.get_mut(&flow) {
            queue.spare_tokens -= 1;
            if queue.spare_tokens == 0 && queue.waiting.is_empty() {
                let emptied =
                    self.flows.remove(&flow).filter(|queue| queue.waiting.capacity() <= SPARE_LEN_MAX);
                let room = SPARE_QUEUES_MAX.saturating_sub(self.spare_queues.len());
                self.spare_queues.extend(emptied.map(|queue| queue.waiting).into_iter().take(room));
            }
        }
        front
    }

    fn drop_oldest_of(&mut self, flow: FlowId) -> bool {
        let dropped = self.take_front(flow).is_some();
        self.counters.dropped_full += u64::from(dropped);
        dropped
    }

    fn drop_oldest(&mut self) {
        while let Some(flow) = self.order.pop_front() {
            if self.redeem(flow).is_some() {
                self.counters.dropped_full += 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: u8, len: usize) -> Frame {
        Frame::whole(vec![tag; len].into())
    }

    fn outbox() -> Outbox {
        Outbox::new(OutboxLimits {
            control_bytes: 100,
            indication_bytes: 100,
            indication_age: Duration::from_millis(50),
        })
    }

    #[test]
    fn control_messages_precede_indications_and_overflow_is_an_error() {
        let mut o = outbox();
        o.push_indication(Time::ZERO, FlowId(1), frame(1, 10));
        o.push_control(frame(2, 60)).unwrap();
        assert_eq!(o.push_control(frame(3, 60)), Err(OutboxFull { queued: 120, limit: 100 }));
        assert_eq!(o.pop(Time::ZERO).unwrap().body()[0], 2);
        assert_eq!(o.pop(Time::ZERO).unwrap().body()[0], 1);
        assert!(o.pop(Time::ZERO).is_none() && o.is_empty());
    }

    #[test]
    fn held_message_keeps_following_messages_in_order() {
        let mut o = outbox();
        o.push_held(frame(1, 10), Time::from_nanos(5)).unwrap();
        o.push_indication(Time::ZERO, FlowId(1), frame(2, 10));
        o.push_control(frame(3, 10)).unwrap();
        assert!(o.pop(Time::from_nanos(4)).is_none() && !o.is_empty());
        let left: Vec<u8> = std::iter::from_fn(|| o.pop(Time::from_nanos(5))).map(|f| f.body()[0]).collect();
        assert_eq!(left, [1, 3, 2]);
    }

    #[test]
    fn full_outbox_drops_oldest_of_same_flow() {
        let mut o = outbox();
        for (flow, tag) in [(1, 1), (2, 2), (1, 3), (1, 4)] {
            o.push_indication(Time::ZERO, FlowId(flow), frame(tag, 30));
        }
        let left: Vec<u8> = std::iter::from_fn(|| o.pop(Time::ZERO)).map(|f| f.body()[0]).collect();
        assert_eq!(left, [3, 2, 4]);
        assert_eq!((o.counters().dropped_full, o.counters().indications, o.queued_bytes()), (1, 3, 0));
    }

    #[test]
    fn first_message_of_a_flow_displaces_oldest_of_all_flows() {
        let mut o = outbox();
        o.push_indication(Time::ZERO, FlowId(1), frame(1, 90));
        o.push_indication(Time::ZERO, FlowId(2), frame(2, 90));
        assert_eq!(o.pop(Time::ZERO).unwrap().body()[0], 2);
        assert_eq!(o.counters().dropped_full, 1);
    }

    #[test]
    fn expired_indications_are_dropped() {
        let mut o = outbox();
        o.push_indication(Time::ZERO, FlowId(1), frame(1, 10));
        o.push_indication(Time::from_nanos(60_000_000), FlowId(1), frame(2, 10));
        assert_eq!(o.pop(Time::from_nanos(61_000_000)).unwrap().body()[0], 2);
        assert_eq!(o.counters().dropped_old, 1);
    }

    #[test]
    fn stalled_peer_uses_bounded_memory() {
        let mut o = outbox();
        for i in 0..10_000 {
            o.push_indication(Time::ZERO, FlowId(i % 3), frame(1, 30));
        }
        assert!(o.queued_bytes() <= 100 && o.order.len() <= 6 && o.flows.len() <= 3);
        assert_eq!(o.counters().dropped_full, 10_000 - 3);
        (0..3).for_each(|i| o.forget(FlowId(i)));
        assert!(o.is_empty() && o.pop(Time::ZERO).is_none());
        assert!(o.flows.is_empty());
    }

    #[test]
    fn frame_above_limit_counts_as_dropped() {
        let mut o = outbox();
        o.push_indication(Time::ZERO, FlowId(1), frame(1, 101));
        assert!(o.is_empty());
        assert_eq!(o.counters().dropped_full, 1);
    }
}
