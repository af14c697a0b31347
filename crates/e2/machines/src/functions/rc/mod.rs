//! RC at a base station ([`ranlab_e2_codec::e2sm::rc`]): executes the controls of [`ORDERS`]. If the base station knows
//! the RRC states of its UEs, it also offers report styles 1 to 5, insert style 3, and policy styles 2 and 3.
//!
//! | request | response |
//! |---|---|
//! | a control that is executed | acknowledged, without an outcome |
//! | an unsupported style or action, or several at once | `action-not-supported` |
//! | bytes that are not a control, parameters that are missing or out of range | `control-message-invalid` |
//! | a response to an insert that is not pending, or that belongs to another controller or UE | `ric-call-process-id-invalid` |
//! | a control that the base station refuses; quotas from any controller but the default one | `control-failed-to-execute`, with an outcome whose parameter [`REASON`] has the reason |
//! | any of these refusals, if the control follows FlexRIC's modified ASN.1 (FlexRIC aborts on a control failure) | acknowledged, with an outcome whose parameter [`REASON`] begins with "not executed" |
//! | an unsupported trigger or action; groups of UEs; tests of parameters | `event-trigger-not-supported` or `action-not-supported` |
//! | impossible policies, more than [`POLICIES_MAX`] policies; quota policies from any controller but the default one | `action-not-supported` |
//!
//! Inserts (style 3 action 1): before the base station hands over a UE by its own decision, it sends an insert to the oldest subscription
//! with a matching trigger. The control that responds to the insert rejects the handover, or accepts it to the cell that the control names.
//! After a timeout, or when the subscription ends, the subsequent action decides whether the handover proceeds.
//!
//! Quota policies (style 2 action 6, trigger format 4 with any state): a policy applies while its condition holds for a
//! UE that the trigger selects and the controller sees. Its quotas override the quotas set by controls. The latter
//! apply again when no condition holds or the subscription ends. Mobility policies (style 3 action 1, trigger format 2)
//! decide on a handover of the base station before an insert is sent. Within an action, only the first policy whose
//! condition holds applies. The oldest subscription takes precedence.
//!
//! Message copies (style 1) contain the RRC messages that the emulated radio can generate
//! ([`CopiedMessage`](ranlab_e2_codec::e2sm::rc::messages::CopiedMessage)): connection of a UE, handover to this node,
//! release. Triggers on other messages, on messages between nodes and on UE events are refused. Node reports (style 3)
//! contain changes of the neighbours (change 2); the cells never change.
mod policy;
mod station;
mod subscription;

pub use policy::POLICIES_MAX;
pub use station::{CarrierQuotas, RcControl, RcEvent, RcMobility};

use crate::Time;
use crate::agent::*;
use bytes::Bytes;
use policy::PolicyQuotas;
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, RicActionId, RicIndicationType};
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::per::{Text, encode_in};
use ranlab_e2_codec::e2sm::rc::commands::{NotAnOrder, ORDERS, Order};
use ranlab_e2_codec::e2sm::rc::policy as policies;
use ranlab_e2_codec::e2sm::rc::reports::{self, MOBILITY_REQUEST, process_octets};
use ranlab_e2_codec::e2sm::rc::{
    ActionHeader, CallProcessId, CellChange, CellContext, ControlFormat, ControlHeader, ControlMessage,
    ControlOutcome as Outcome, Decision, FunctionDefinition, HeaderFormat, IndicationFormat,
    IndicationHeader, IndicationHeaderFormat, IndicationMessage, OID, OnDemandReport, OutcomeFormat,
    OutcomeValue, Rc, ReportHeader, RrcState, UeContext, UeParameters, Value,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use subscription::{Action, ActionKind, Trigger};

/// Id of the outcome parameter that contains the reason for a refusal, as text.
pub const REASON: u32 = 1;
/// Interval at which a base station is polled for events, while there is a subscription.
pub const ASK_EVERY: Duration = Duration::from_millis(10);
/// Maximum number of handovers that wait for a response. Further ones proceed without an insert.
pub const PROCESSES_MAX: usize = 256;

/// A subscription and its actions.
#[derive(Debug)]
struct Listener {
    when: Trigger,
    actions: Vec<Action>,
    /// Whether an on-demand report is still to be sent.
    due: bool,
    /// UEs that the controller has seen, if it does not see all UEs. It still receives the last event of such a UE,
    /// although it no longer sees the UE by then.
    told: BTreeSet<u32>,
}

/// A handover that waits for the response to an insert.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    subscription: SubscriptionId,
    number: u32,
    cell: NrCgi,
    until: Time,
    goes_on: bool,
}

struct Function<C> {
    station: C,
    listeners: BTreeMap<SubscriptionId, Listener>,
    /// Handovers by call process id.
    waiting: BTreeMap<u32, Waiting>,
    last_process: u32,
    ask_at: Time,
    /// Connected UEs when the policies were last evaluated.
    there: Vec<(u32, Vec<Snssai>)>,
    /// Quotas that policies currently impose.
    imposed: Option<PolicyQuotas>,
}

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::rc::DEFAULT_FUNCTION_ID`].
pub fn function(station: impl RcControl + 'static) -> Box<dyn RanFunction> {
    let listeners = BTreeMap::new();
    let waiting = BTreeMap::new();
    let there = Vec::new();
    let imposed = None;
    Box::new(Function { station, listeners, waiting, last_process: 0, ask_at: Time::ZERO, there, imposed })
}

const UNKNOWN: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const ACTION: Cause = UNKNOWN;
const TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const NO_PROCESS: Cause = Cause::RicRequest(CauseRicRequest::RicCallProcessIdInvalid);
const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

fn decoded(control: &ControlRequest<'_>) -> Result<(ControlHeader, ControlMessage), Cause> {
    let mut text = Text::default();
    decoded_in(control, &mut text)
}

fn decoded_in(
    control: &ControlRequest<'_>,
    text: &mut Text,
) -> Result<(ControlHeader, ControlMessage), Cause> {
    let header = ControlHeader::decode_in(Encoding::Per, control.header, text).map_err(|_| INVALID)?;
    let message = ControlMessage::decode_in(Encoding::Per, control.message, text).map_err(|_| INVALID)?;
    Ok((header, message))
}

/// Returns whether a control comes from an xApp of FlexRIC up to 2.0, recognized by its modified ASN.1 text. FlexRIC
/// and its xApps abort on a control failure.
fn is_from_flexric(control: &ControlRequest<'_>) -> bool {
    let mut text = Text::default();
    decoded_in(control, &mut text).is_ok() && text == Text::Modified
}

/// Decodes the UE and the order of a control.
fn read(control: &ControlRequest<'_>) -> Result<(Name, Order), Cause> {
    let (header, message) = decoded(control)?;
    let order = Order::read(&header, &message).map_err(|why| match why {
        NotAnOrder::Unknown { .. } => UNKNOWN,
        _ => INVALID,
    })?;
    let (style, action) = order.action();
    let offered = ORDERS.iter().any(|it| (it.0, it.2) == (style, action));
    match header.format {
        // Without an insert there is no process that a control could reject.
        HeaderFormat::Action(header) if offered && header.decision != Some(Decision::Reject) => {
            Ok((header.ue, order))
        }
        _ => Err(UNKNOWN),
    }
}

/// Decodes the response to an insert: the UE, and the target cell if the handover is accepted.
fn answer(control: &ControlRequest<'_>, prepared_cell: NrCgi) -> Result<(Name, Option<NrCgi>), Cause> {
    let (header, message) = decoded(control)?;
    let (HeaderFormat::Action(header), ControlFormat::Action(parameters)) = (header.format, message.format)
    else {
        return Err(UNKNOWN);
    };
    match header {
        ActionHeader { style: MOBILITY_REQUEST, action: reports::HANDOVER_REQUEST, decision, ue } => {
            if decision == Some(Decision::Reject) {
                return Ok((ue, None));
            }
            let cell = match parameters.is_empty() {
                true => prepared_cell,
                false => reports::target_cell(&parameters).map_err(|_| INVALID)?,
            };
            Ok((ue, Some(cell)))
        }
        _ => Err(UNKNOWN),
    }
}

fn outcome(detail: &str, text: Text) -> Bytes {
    let value = OutcomeValue { id: REASON, value: Value::Text(detail.to_owned()) };
    let outcome = Outcome { format: OutcomeFormat::Values(vec![value]) };
    let mut octets = Vec::new();
    encode_in(&outcome, text, &mut octets).map(|()| octets.into()).unwrap_or_default()
}

fn sees(ues: UeFilter<'_>, number: u32) -> bool {
    ues.is_all() || ues.contains(UeId(number.into()))
}

/// Returns the report of an event. `requested` are the parameters to include, for formats with parameters.
fn event_report(mobility: &mut dyn RcMobility, event: &RcEvent, requested: &[u32]) -> IndicationMessage {
    let format = match event {
        RcEvent::State { number, state } => {
            return about(mobility.name(*number), reports::state_changed(*state));
        }
        RcEvent::HandedOver { number, told } => {
            return about(mobility.name(*number), told.parameters(requested));
        }
        RcEvent::Message { number, said } => {
            let ue = mobility.name(*number);
            let cells = mobility.ues();
            let cell = cells.into_iter().find(|(it, _)| it == number).map(|(_, cell)| cell);
            // A released UE has no cell, so the first cell is reported.
            let cell = cell.or_else(|| mobility.cells().first().copied());
            let copy = cell.map(|cell| reports::message_copy(*said, &ue, &cell, requested));
            IndicationFormat::Parameters(copy.unwrap_or_default())
        }
        RcEvent::Neighbours(cell) => {
            let neighbours = mobility.neighbours(cell);
            let change = CellChange { cell: *cell, context: None, deleted: None, neighbours };
            IndicationFormat::Cells(vec![change])
        }
    };
    IndicationMessage { format }
}

/// Returns a report about one UE.
fn about(ue: Name, parameters: Vec<ranlab_e2_codec::e2sm::rc::Parameter>) -> IndicationMessage {
    IndicationMessage { format: IndicationFormat::Ues(vec![UeParameters { ue, parameters }]) }
}

impl Listener {
    /// Returns the ids of the report actions and the parameters that each requests.
    fn reports(&self) -> impl Iterator<Item = (RicActionId, &[u32])> {
        self.actions.iter().filter_map(|action| match &action.does {
            ActionKind::Report(requested) => Some((action.id, &requested[..])),
            ActionKind::Ask { .. } | ActionKind::Policies(_) => None,
        })
    }

    /// Returns whether the controller of this subscription may receive an event.
    fn sees(&mut self, event: &RcEvent, ues: UeFilter<'_>) -> bool {
        match event {
            RcEvent::State { number, state: RrcState::Connected } | RcEvent::Message { number, .. } => {
                let seen = sees(ues, *number);
                if seen && !ues.is_all() {
                    self.told.insert(*number);
                }
                // The last message to a UE arrives after the agent has removed the UE.
                seen || matches!(event, RcEvent::Message { .. }) && self.told.contains(number)
            }
            RcEvent::State { number, .. } | RcEvent::HandedOver { number, .. } => {
                self.told.remove(number) || sees(ues, *number)
            }
            RcEvent::Neighbours(_) => true,
        }
    }

    /// Returns whether an event matches a condition, with the number of the condition if it has one.
    fn match_event(&mut self, event: &RcEvent, ues: UeFilter<'_>) -> Option<Option<u16>> {
        let seen = self.sees(event, ues);
        let met = match (&self.when, event) {
            (Trigger::Handover(whose), RcEvent::HandedOver { number, .. }) => {
                whose.has(*number).then_some(None)
            }
            (Trigger::States(changes), RcEvent::State { number, state }) => {
                changes.iter().find(|it| it.has(*state, *number)).map(|it| Some(it.condition))
            }
            (Trigger::Messages(messages, whose), RcEvent::Message { number, said }) => {
                let met = messages.iter().find(|it| whose.has(*number) && it.has(*said, *number));
                met.map(|it| Some(it.condition))
            }
            (Trigger::Neighbours(cells), RcEvent::Neighbours(cell)) => {
                cells.iter().find(|it| it.has(cell)).map(|it| Some(it.condition))
            }
            _ => None,
        };
        met.filter(|_| seen)
    }
}

/// Reason why a control is not executed.
enum Fault {
    Cause(Cause),
    Refusal(Refusal),
}

impl<C: RcControl> Function<C> {
    fn execute(&mut self, ctx: &FunctionContext<'_>, control: &ControlRequest<'_>) -> Result<(), Fault> {
        let order = match control.call_process_id {
            Some(process) => self.resume(ctx, process, control),
            None => read(control).map(Some),
        };
        let Some((name, order)) = order.map_err(Fault::Cause)? else { return Ok(()) };
        self.execute_order(ctx, &name, &order).map_err(Fault::Refusal)
    }

    fn execute_order(
        &mut self,
        ctx: &FunctionContext<'_>,
        name: &Name,
        order: &Order,
    ) -> Result<(), Refusal> {
        let ues = ctx.ues();
        let number = name.number();
        let unknown = || Refusal::new(Reason::UnknownUe, format!("there is no UE {name}"));
        match order {
            Order::SliceQuotas(_) if ctx.controller() != ctx.first_controller() => Err(Refusal::new(
                Reason::NotOwner,
                "only the first controller may set quotas, because they apply to all UEs of the carrier",
            )),
            Order::Handover(_) | Order::QosFlows { .. } if !sees(ues, number) => Err(unknown()),
            Order::Handover(_) | Order::QosFlows { .. } if !self.is_ue(number, name) => Err(unknown()),
            Order::SliceQuotas(quotas) => {
                // A control changes the quotas of the slices that it names; other quotas are kept.
                let merged = self.quotas_beneath().merge(quotas);
                self.station.could(order)?;
                self.station.share(ctx.now(), number, &merged)?;
                // Quotas set by controls rank below those of policies.
                self.imposed = None;
                self.impose(ctx);
                Ok(())
            }
            _ => self.station.execute(ctx.now(), number, order),
        }
    }

    /// Returns whether the UE with this number is the one that a control names.
    fn is_ue(&mut self, number: u32, order: &Name) -> bool {
        let own = self.station.mobility().map_or_else(|| Name::du(number), |it| it.name(number));
        own.is_meant_by(order)
    }

    /// Checks whether this controller may install a policy and whether the base station can apply it.
    fn may(&self, ctx: &FunctionContext<'_>, action: &Action) -> Result<(), Cause> {
        let ActionKind::Policies(policies) = &action.does else { return Ok(()) };
        let may = |(does, _): &(policies::PolicyEffect, _)| match does {
            policies::PolicyEffect::Obey(order @ Order::SliceQuotas(_)) => {
                ctx.controller() == ctx.first_controller() && self.station.could(order).is_ok()
            }
            _ => true,
        };
        if policies.iter().all(may) { Ok(()) } else { Err(ACTION) }
    }

    /// Handles the response to an insert. Returns the target cell and the number of the UE.
    fn resume(
        &mut self,
        ctx: &FunctionContext<'_>,
        process: &Bytes,
        control: &ControlRequest<'_>,
    ) -> Result<Option<(Name, Order)>, Cause> {
        let process = CallProcessId::decode_as(Encoding::Per, process).map_err(|_| NO_PROCESS)?.id;
        let waiting = *self.waiting.get(&process).ok_or(NO_PROCESS)?;
        if ctx.controller() != ctx.controller_of(waiting.subscription) {
            return Err(NO_PROCESS);
        }
        // An invalid response leaves the insert pending.
        let (name, cell) = answer(control, waiting.cell)?;
        if name.number() != waiting.number {
            return Err(NO_PROCESS);
        }
        self.waiting.remove(&process);
        Ok(cell.map(|cell| (name, Order::Handover(cell))))
    }

    fn wake(&mut self, ctx: &mut FunctionContext<'_>) {
        if let Some(at) = self.waiting.values().map(|it| it.until).min() {
            ctx.wake_at(at);
        }
        let decides = self.station.mobility().is_some_and(|it| it.decides());
        if decides || !self.listeners.is_empty() {
            ctx.wake_at(self.ask_at);
        }
    }

    fn send(
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionId,
        action: RicActionId,
        header: &IndicationHeader,
        message: &IndicationMessage,
        process: Option<&[u8]>,
    ) -> bool {
        let octets = (header.to_octets(Encoding::Per), message.to_octets(Encoding::Per));
        // Encoding should not fail, because names, cells and lists are within their limits. If it does, no report is
        // sent.
        let (Ok(header), Ok(message)) = octets else { return false };
        let kind = if process.is_some() { RicIndicationType::Insert } else { RicIndicationType::Report };
        let header = &header;
        let message = &message;
        let call_process_id = process;
        ctx.indicate(Indication { subscription, action, kind, header, message, call_process_id }).is_ok()
    }

    /// Sends reports about events.
    fn send_reports(&mut self, ctx: &mut FunctionContext<'_>, events: &[RcEvent]) {
        for event in events {
            for (id, listener) in &mut self.listeners {
                let Some(condition) = listener.match_event(event, ctx.ues_of(*id)) else { continue };
                let format = IndicationHeaderFormat::Report(ReportHeader { condition });
                let header = IndicationHeader { format };
                let Some(mobility) = self.station.mobility() else { return };
                for (action, requested) in listener.reports() {
                    let message = event_report(mobility, event, requested);
                    Self::send(ctx, *id, action, &header, &message, None);
                }
            }
        }
    }

    /// Sends on-demand reports.
    fn answer_demands(&mut self, ctx: &mut FunctionContext<'_>) {
        for (id, listener) in &mut self.listeners {
            let Trigger::Now(whose, cells) = &listener.when else { continue };
            if !std::mem::take(&mut listener.due) {
                continue;
            }
            let Some(mobility) = self.station.mobility() else { return };
            let wants = |cell: &Cgi| cells.as_ref().is_none_or(|cells| cells.contains(cell));
            let there = mobility.ues();
            let seen = there
                .into_iter()
                .filter(|(number, cell)| whose.has(*number) && wants(cell) && sees(ctx.ues_of(*id), *number));
            let ues = seen.map(|(number, cell)| UeContext { ue: mobility.name(number), context: None, cell });
            let ues = ues.collect();
            let visible_cells = mobility.cells().into_iter().filter(wants);
            let of = |cell| CellContext { cell, context: None, neighbours: mobility.neighbours(&cell) };
            let cells = visible_cells.map(of).collect();
            let message =
                IndicationMessage { format: IndicationFormat::OnDemand(OnDemandReport { ues, cells }) };
            let header = IndicationHeaderFormat::Report(ReportHeader { condition: None });
            let header = IndicationHeader { format: header };
            for action in listener.actions.iter().map(|action| action.id) {
                Self::send(ctx, *id, action, &header, &message, None);
            }
        }
    }

    /// Sends an insert about a handover that the base station has decided on. Returns whether an insert was sent.
    fn ask(&mut self, ctx: &mut FunctionContext<'_>, number: u32, cell: NrCgi) -> bool {
        if self.waiting.len() >= PROCESSES_MAX {
            return false;
        }
        let found = self.listeners.iter().find_map(|(id, listener)| {
            let Trigger::Handover(whose) = &listener.when else { return None };
            let is_asked = whose.has(number) && sees(ctx.ues_of(*id), number);
            listener.actions.iter().filter(|_| is_asked).find_map(|action| match action.does {
                ActionKind::Ask { ue, wait, goes_on } if ue.is_none_or(|ue| ue == number) => {
                    Some((*id, action.id, wait, goes_on))
                }
                _ => None,
            })
        });
        let Some((subscription, action, wait, goes_on)) = found else { return false };
        let Some(name) = self.station.mobility().map(|it| it.name(number)) else { return false };
        self.last_process = self.last_process.checked_add(1).unwrap_or(1);
        let process = process_octets(self.last_process);
        let header = IndicationHeader::handover_request(name);
        let message = IndicationMessage { format: IndicationFormat::Insert(reports::handover_request(cell)) };
        let sent = Self::send(ctx, subscription, action, &header, &message, Some(&process));
        if sent {
            let until = ctx.now() + wait;
            self.waiting.insert(self.last_process, Waiting { subscription, number, cell, until, goes_on });
        }
        sent
    }

    /// Ends the pending inserts that `over` selects, each with its subsequent action.
    fn end(&mut self, now: Time, over: impl Fn(&Waiting) -> bool) {
        let ended: Vec<_> =
            self.waiting.iter().filter(|(_, it)| over(it)).map(|(id, it)| (*id, *it)).collect();
        for (process, Waiting { number, cell, goes_on, .. }) in ended {
            self.waiting.remove(&process);
            if goes_on {
                // A UE that has left meanwhile needs no handover.
                let _ = self.station.execute(now, number, &Order::Handover(cell));
            }
        }
    }
}

impl<C: RcControl> RanFunction for Function<C> {
    fn description(&self) -> FunctionDescription {
        // Cannot fail: the definition is a constant that can be encoded.
        let knows_rrc = self.station.knows_rrc();
        let definition =
            FunctionDefinition::of_station(knows_rrc).to_octets(Encoding::Per).unwrap_or_default();
        FunctionDescription { oid: OID.to_owned(), definition, revision: Rc::REVISION }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        if !self.station.knows_rrc() {
            return Ok(Admission::each(subscription.actions, |_| Err(UNKNOWN)));
        }
        let cells = self.station.mobility().map(|it| it.cells()).unwrap_or_default();
        let nr = cells.iter().all(|cell| matches!(cell, Cgi::Nr(_)));
        let when = Trigger::read(subscription.event_trigger, nr)?;
        let mut actions = Vec::new();
        let admission = Admission::each(subscription.actions, |action| {
            let action = subscription::action(&when, action)?;
            self.may(ctx, &action)?;
            actions.push(action);
            Ok(())
        });
        if actions.is_empty() {
            return Ok(admission);
        }
        // Events before the subscription are not reported to it.
        self.poll(ctx);
        let due = matches!(when, Trigger::Now(..));
        let there = self.station.mobility().map(|it| it.ues()).unwrap_or_default();
        let ues = ctx.ues();
        let seen = there.into_iter().map(|(number, _)| number).filter(|it| !ues.is_all() && sees(ues, *it));
        let told = seen.collect();
        self.listeners.insert(subscription.id, Listener { when, actions, due, told });
        self.impose(ctx);
        // An on-demand report is sent after the subscription response.
        self.ask_at = if due { ctx.now() } else { ctx.now() + ASK_EVERY };
        self.wake(ctx);
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, ctx: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.listeners.remove(&id);
        self.end(ctx.now(), |waiting| waiting.subscription == id);
        self.impose(ctx);
    }

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let (cause, detail) = match self.execute(ctx, &control) {
            Ok(()) => return Ok(ControlOutcome::default()),
            Err(Fault::Cause(cause)) => (cause, cause.to_string()),
            Err(Fault::Refusal(refusal)) => (REFUSED, refusal.detail),
        };
        if is_from_flexric(&control) {
            let outcome = outcome(&format!("not executed: {detail}"), Text::Modified);
            return Ok(ControlOutcome { outcome: Some(outcome) });
        }
        if cause == REFUSED {
            ctx.explain(outcome(&detail, Text::Standard));
        }
        Err(cause)
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        self.end(now, |waiting| waiting.until <= now);
        self.answer_demands(ctx);
        self.poll(ctx);
        self.ask_at = now + ASK_EVERY;
        self.wake(ctx);
    }
}

impl<C: RcControl> Function<C> {
    /// Polls the base station for decisions and events, and processes them.
    fn poll(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        let Some(mobility) = self.station.mobility() else { return };
        for (number, cell) in mobility.decisions(now) {
            let cell = match self.by_policy(ctx, number) {
                Some(policies::PolicyEffect::Decide(Decision::Reject)) => continue,
                Some(policies::PolicyEffect::Obey(Order::Handover(to))) => to,
                Some(_) => cell,
                None if self.ask(ctx, number, cell) => continue,
                None => cell,
            };
            // If the UE has left or the cell is full, the UE stays where it is.
            let _ = self.station.execute(now, number, &Order::Handover(cell));
        }
        let events = self.station.mobility().map(|it| it.events(now)).unwrap_or_default();
        self.send_reports(ctx, &events);
        self.look_at_ues(ctx);
    }
}
