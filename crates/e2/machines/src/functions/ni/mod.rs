//! NI at a base station ([`ranlab_e2_codec::e2sm::ni`]): reports copies of the messages on its interfaces (report style 1), or one
//! information element of each message (style 2).
//!
//! | request | response |
//! |---|---|
//! | an interface that the node does not have, or a node that is not a peer on it | `event-trigger-not-supported` |
//! | a test of an element of unknown type | `event-trigger-not-supported` |
//! | an insert; a policy; another style; a parameter of another type | `action-not-supported` |
//! | injection of a message | `action-not-supported`, because no peer is connected |
//! | injection of bytes that are not a control message | `control-message-invalid` |
//! | a response to an insert | `ric-call-process-id-invalid`, because no insert is ever pending |
//!
//! A controller receives messages about the UEs that it sees, and messages that concern no UE. It also receives the
//! last message about a UE that leaves.
mod subscription;

use crate::Time;
use crate::agent::*;
use bytes::Bytes;
use ranlab_e2_codec::ap::{Interface, Message};
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, RicIndicationType};
use ranlab_e2_codec::e2sm::kpm::TimeStamp;
use ranlab_e2_codec::e2sm::ni::{
    ControlHeader, ControlMessage, Direction, EventTrigger, FunctionDescription as Description,
    IndicationHeader, IndicationMessage, MessageEvent, MessageHeader, Ni, NodeId, OID,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use subscription::Action;

/// Interval at which a base station is polled for messages, while there is a subscription.
pub const ASK_EVERY: Duration = Duration::from_millis(10);

/// Base station behind the function.
pub trait NiStation: Send {
    /// Returns the base station's interfaces to other nodes.
    fn interfaces(&self) -> Vec<Interface>;

    /// Returns the base station's identity on these interfaces.
    fn node(&self) -> NodeId;

    /// Returns whether this interface may lead to a node of this name, now or later.
    fn may_reach(&self, interface: Interface, node: &NodeId) -> bool;

    /// Returns the numbers of the connected UEs.
    fn ues(&mut self) -> Vec<u32>;

    /// Returns the messages that passed since the last call, oldest first.
    fn messages(&mut self, now: Time) -> Vec<InterfaceMessage>;
}

/// A message that passed on an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceMessage {
    /// Interface.
    pub interface: Interface,
    /// Peer node; `None` if NI has no name for it (the core network).
    pub far: Option<NodeId>,
    /// Incoming or outgoing.
    pub direction: Direction,
    /// Time, in microseconds since the Unix epoch.
    pub tstamp_us: i64,
    /// Number of the UE that the message concerns.
    pub ue: Option<u32>,
    /// Whether the UE leaves the base station with this message.
    pub leaves: bool,
    /// Encoded message.
    pub octets: Bytes,
}

/// A subscription and its actions.
#[derive(Debug)]
struct Listener {
    event: MessageEvent,
    actions: Vec<Action>,
    /// UEs that the controller has seen, if it does not see all UEs. It still receives the last message about such a
    /// UE, although it no longer sees the UE by then.
    saw: BTreeSet<u32>,
}

struct Function<S> {
    station: S,
    listeners: BTreeMap<SubscriptionId, Listener>,
    ask_at: Time,
}

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::ni::DEFAULT_FUNCTION_ID`].
pub fn function(station: impl NiStation + 'static) -> Box<dyn RanFunction> {
    Box::new(Function { station, listeners: BTreeMap::new(), ask_at: Time::ZERO })
}

const ACTION: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const NO_PROCESS: Cause = Cause::RicRequest(CauseRicRequest::RicCallProcessIdInvalid);

fn sees(ues: UeFilter<'_>, number: u32) -> bool {
    ues.is_all() || ues.contains(UeId(number.into()))
}

/// Returns whether a message matches a trigger at a node named `near`. `read` is the decoded message, if it could be
/// decoded.
fn meets(event: &MessageEvent, near: &NodeId, passed: &InterfaceMessage, read: Option<&Message>) -> bool {
    let there = event.node == *near || passed.far == Some(event.node);
    let that_way = event.direction == Direction::Both || event.direction == passed.direction;
    if event.interface != passed.interface || !there || !that_way {
        return false;
    }
    let tests = event.tests.as_deref().unwrap_or_default();
    read.is_some_and(|it| event.message.is(it) && tests.iter().all(|test| subscription::holds(test, it)))
}

impl Listener {
    fn may_hear(&self, passed: &InterfaceMessage, ues: UeFilter<'_>) -> bool {
        passed.ue.is_none_or(|ue| sees(ues, ue) || (passed.leaves && self.saw.contains(&ue)))
    }
}

fn header(passed: &InterfaceMessage, near: NodeId, with_time: bool) -> IndicationHeader {
    let ntp = match TimeStamp::ntp(passed.tstamp_us) {
        TimeStamp::V3(ntp) => ntp,
        TimeStamp::V2(seconds) => u64::from(seconds) << 32,
    };
    IndicationHeader::Message(MessageHeader {
        interface: passed.interface,
        node: passed.far.unwrap_or(near),
        direction: passed.direction,
        time: with_time.then_some(ntp.to_be_bytes()),
    })
}

impl<S: NiStation> Function<S> {
    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if !self.listeners.is_empty() {
            ctx.wake_at(self.ask_at);
        }
    }

    /// Polls the base station for messages and sends indications.
    fn poll(&mut self, ctx: &mut FunctionContext<'_>) {
        let near = self.station.node();
        for passed in self.station.messages(ctx.now()) {
            let read = Message::read(passed.interface, &passed.octets).ok();
            for (id, listener) in &self.listeners {
                let met = meets(&listener.event, &near, &passed, read.as_ref());
                if !met || !listener.may_hear(&passed, ctx.ues_of(*id)) {
                    continue;
                }
                for action in &listener.actions {
                    let Some(octets) = action.extract(&passed.octets, read.as_ref()) else { continue };
                    let header = header(&passed, near, action.time).to_octets(Encoding::Per);
                    let message = IndicationMessage::Message(octets).to_octets(Encoding::Per);
                    // Cannot fail: names are within their limits, and an octet string may have any length.
                    let (Ok(header), Ok(message)) = (header, message) else { continue };
                    let _ = ctx.indicate(Indication {
                        subscription: *id,
                        action: action.id,
                        kind: RicIndicationType::Report,
                        header: &header,
                        message: &message,
                        call_process_id: None,
                    });
                }
            }
        }
        let there = self.station.ues();
        for (id, listener) in &mut self.listeners {
            let ues = ctx.ues_of(*id);
            let seen = there.iter().copied().filter(|ue| !ues.is_all() && sees(ues, *ue));
            listener.saw = seen.collect();
        }
        self.ask_at = ctx.now() + ASK_EVERY;
    }
}

impl<S: NiStation> RanFunction for Function<S> {
    fn description(&self) -> FunctionDescription {
        // Cannot fail: there are at most six interfaces, and all names are constants.
        let definition = Description::of_reports(&self.station.interfaces()).to_octets(Encoding::Per);
        let definition = definition.unwrap_or_default();
        FunctionDescription { oid: OID.to_owned(), definition, revision: Ni::REVISION }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let EventTrigger::Message(event) =
            EventTrigger::decode_as(Encoding::Per, subscription.event_trigger).map_err(|_| TRIGGER)?;
        let has = self.station.interfaces().contains(&event.interface);
        let is_there =
            event.node == self.station.node() || self.station.may_reach(event.interface, &event.node);
        if !has || !is_there || !subscription::is_sound(&event) {
            return Err(TRIGGER);
        }
        let mut actions = Vec::new();
        let admission = Admission::each(subscription.actions, |action| {
            actions.push(Action::read(action)?);
            Ok(())
        });
        if actions.is_empty() {
            return Ok(admission);
        }
        // Messages that passed before the subscription are not reported to it.
        self.poll(ctx);
        let there = self.station.ues();
        let ues = ctx.ues();
        let saw = there.into_iter().filter(|ue| !ues.is_all() && sees(ues, *ue)).collect();
        self.listeners.insert(subscription.id, Listener { event, actions, saw });
        self.wake(ctx);
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.listeners.remove(&id);
    }

    fn on_control(
        &mut self,
        _: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        ControlHeader::decode_as(Encoding::Per, control.header).map_err(|_| INVALID)?;
        ControlMessage::decode_as(Encoding::Per, control.message).map_err(|_| INVALID)?;
        Err(if control.call_process_id.is_some() { NO_PROCESS } else { ACTION })
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        self.poll(ctx);
        self.wake(ctx);
    }
}
