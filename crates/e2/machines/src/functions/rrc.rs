//! RRC at a base station ([`ranlab_e2_codec::e2sm::rrc`]).
//!
//! A controller receives events of the UEs that it sees. If it begins to see a UE, it receives a "connected" event;
//! if it ceases to see one, it receives a release. It can hand over the UEs that it sees.
pub use super::command_function::Progress;
use super::command_function::{BUSY, DeferredCommands, INVALID, description, reports, send_reports};
use super::periods::Periods;
use crate::Time;
use crate::agent::*;
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, RicActionId};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rrc::{
    Rrc, RrcChange, RrcCommand, RrcEvent, RrcHandover, RrcIndication, RrcTrigger,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

/// Default interval at which a base station is polled for events.
pub const ASK_EVERY: Duration = Duration::from_millis(10);

/// Base station behind the function.
pub trait RrcSource: Send {
    /// Returns the connected UEs as [`RrcChange::Connected`] events.
    fn connected(&mut self, now: Time) -> Vec<RrcEvent>;

    /// Returns the events since the last call, oldest first.
    fn events(&mut self, now: Time) -> Vec<RrcEvent>;

    /// Hands a UE over to another cell of this base station. A refusal changes nothing.
    ///
    /// # Errors
    /// Returns an error if the base station cannot hand over the UE.
    fn hand_over(&mut self, now: Time, handover: &RrcHandover) -> Result<Progress, Refusal> {
        let _ = (now, handover);
        Err(Refusal::new(Reason::NotSupported, "the base station does not support handovers"))
    }

    /// Returns the results of the handovers that returned [`Progress::Later`].
    fn ended(&mut self) -> Vec<(u64, Result<(), Refusal>)> {
        Vec::new()
    }

    /// Returns the time of the next poll.
    fn ask_at(&self, now: Time) -> Time {
        now + ASK_EVERY
    }

    /// Returns the time of day, in microseconds since the Unix epoch.
    fn tstamp_us(&self, now: Time) -> u64;
}

struct Listener {
    actions: Vec<RicActionId>,
    /// Whether each event is reported.
    events: bool,
    /// Connected UEs that were reported to the controller.
    told: BTreeMap<u16, RrcEvent>,
}

struct Function<S> {
    source: S,
    listeners: BTreeMap<SubscriptionId, Listener>,
    periods: Periods,
    ask_at: Time,
    later: DeferredCommands,
}

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::rrc::DEFAULT_FUNCTION_ID`].
pub fn function(source: impl RrcSource + 'static) -> Box<dyn RanFunction> {
    let listeners = BTreeMap::new();
    let periods = Periods::default();
    Box::new(Function { source, listeners, periods, ask_at: Time::ZERO, later: DeferredCommands::default() })
}

fn sees(ues: UeFilter<'_>, rnti: u16) -> bool {
    ues.is_all() || ues.contains(UeId(rnti.into()))
}

impl Listener {
    /// Returns the events that the controller sees, including those for UEs that it begins or ceases to see.
    fn visible_events(
        &mut self,
        events: &[RrcEvent],
        there: &[RrcEvent],
        ues: UeFilter<'_>,
    ) -> Vec<RrcEvent> {
        let mut news = Vec::new();
        for event in events {
            let gone = event.change == RrcChange::Release;
            let known = self.told.contains_key(&event.rnti);
            if gone && known {
                self.told.remove(&event.rnti);
                news.push(event.clone());
            } else if !gone && sees(ues, event.rnti) {
                self.told.insert(event.rnti, event.clone());
                news.push(event.clone());
            }
        }
        for event in there.iter().filter(|event| sees(ues, event.rnti)) {
            if let Entry::Vacant(untold) = self.told.entry(event.rnti) {
                untold.insert(event.clone());
                news.push(event.clone());
            }
        }
        self.told.retain(|rnti, event| {
            let stays = sees(ues, *rnti);
            if !stays {
                news.push(RrcEvent { change: RrcChange::Release, other: None, ..event.clone() });
            }
            stays
        });
        news
    }
}

impl<S: RrcSource> Function<S> {
    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if self.listeners.values().any(|listener| listener.events) {
            ctx.wake_at(self.ask_at);
        }
        if let Some(at) = self.periods.next() {
            ctx.wake_at(at);
        }
    }

    /// Polls the base station and sends indications to all subscriptions.
    fn ask(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        let events = self.source.events(now);
        let there = self.source.connected(now);
        for (id, listener) in self.listeners.iter_mut().filter(|(_, listener)| listener.events) {
            let news = listener.visible_events(&events, &there, ctx.ues_of(*id));
            if !news.is_empty() {
                let message = RrcIndication { tstamp_us: self.source.tstamp_us(now), events: news };
                send_reports(ctx, *id, &listener.actions, &message, Encoding::Per);
            }
        }
        self.ask_at = self.source.ask_at(now);
    }
}

impl<S: RrcSource> RanFunction for Function<S> {
    fn description(&self) -> FunctionDescription {
        description::<Rrc>()
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let refused = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
        let trigger =
            RrcTrigger::decode_as(Encoding::Per, subscription.event_trigger).map_err(|_| refused)?;
        let admission = reports(&subscription);
        if admission.admitted.is_empty() {
            return Ok(admission);
        }
        // Events before the subscription are not reported to it. The connected UEs are reported after the
        // subscription response.
        self.ask(ctx);
        let actions = admission.admitted.clone();
        let events = trigger.events;
        self.listeners.insert(subscription.id, Listener { actions, events, told: BTreeMap::new() });
        if let Some(period) = Rrc::period(&trigger) {
            self.periods.add(subscription.id, ctx.now(), period);
        }
        self.ask_at = ctx.now();
        self.wake(ctx);
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.listeners.remove(&id);
        self.periods.remove(id);
    }

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let command = RrcCommand::decode_as(Encoding::Per, control.message).map_err(|_| INVALID)?;
        if !control.header.is_empty() {
            return Err(INVALID);
        }
        if !ctx.may_answer_later() {
            return Err(BUSY);
        }
        let RrcCommand::Handover(handover) = command;
        let done = match sees(ctx.ues(), handover.rnti) {
            true => self.source.hand_over(ctx.now(), &handover),
            false => Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {}", handover.rnti))),
        };
        self.later.answer(ctx, Encoding::Per, done)
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        self.later.conclude(ctx, Encoding::Per, self.source.ended());
        if self.ask_at <= now {
            self.ask(ctx);
        }
        while let Some(due) = self.periods.pop(now) {
            let ues = ctx.ues_of(due.subscription);
            let mut events = self.source.connected(now);
            events.retain(|event| sees(ues, event.rnti));
            let message = RrcIndication { tstamp_us: self.source.tstamp_us(now), events };
            if let Some(listener) = self.listeners.get(&due.subscription) {
                send_reports(ctx, due.subscription, &listener.actions, &message, Encoding::Per);
            }
        }
        self.wake(ctx);
    }
}
