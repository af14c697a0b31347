//! CCC at a base station ([`ranlab_e2_codec::e2sm::ccc`]): reports the configuration at intervals, on
//! changes and on subscription; controls change it.
//!
//! | request | response |
//! |---|---|
//! | some structures do not exist | the report omits them; the action is refused if none of its structures exists |
//! | reports on change | the initial values, then each change, checked every [`LOOK_EVERY`] |
//! | a control of which at least one structure can be written | acknowledged; the outcome has the result per structure |
//! | a control of which no structure can be written | `control-failed-to-execute` with the same outcome |
//! | old values that differ from the current ones | that structure fails with `SemanticError` |
//! | a control from any controller but the default one | `control-failed-to-execute`: only the default controller configures the node |
use super::periods::Periods;
use crate::Time;
use crate::agent::*;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, RicActionId, RicActionType, RicIndicationType};
use ranlab_e2_codec::e2sm::ccc::{
    self, Accepted, ActionDefinition, ActionFormat, Attributes, CELL_STYLE, Ccc, CellId, CellOutcome,
    CellReported, ChangeType, ControlFormat, ControlHeader, ControlMessage, EventTrigger, Failed,
    FunctionDefinition, HeaderFormat, IndicationHeader, IndicationMessage, MessageFormat, NODE_STYLE,
    OutcomeFormat, Outcomes, Reason, ReportType, Reported, TriggerFormat, WantedStructure, WatchedStructure,
    Write, is_structure,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use std::collections::BTreeMap;
use std::time::Duration;

/// Interval at which the base station is checked for changes.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Maximum number of structures that a control may write.
pub const WRITES_MAX: usize = 64;

/// Structures by name. A name may occur several times, for example for policies of different slices.
pub type Structures = Vec<(String, Attributes)>;

/// Old and new value of a structure that was written.
pub type Written = (Attributes, Attributes);

/// Base station behind the function.
pub trait CccStation: Send {
    /// Returns the structures that can be reported and written.
    fn definition(&self) -> FunctionDefinition;

    /// Returns the structures of the node.
    fn node(&mut self) -> Structures;

    /// Returns the structures of each cell.
    fn cells(&mut self) -> Vec<(CellId, Structures)>;

    /// Writes structures of a cell or, without a cell, of the node. Returns the result of each, in order. A structure
    /// whose value is not supported is unchanged.
    fn write(
        &mut self,
        now: Time,
        cell: Option<&CellId>,
        writes: &[Write],
    ) -> Vec<Result<Written, ccc::Cause>>;

    /// Returns the time of day, in microseconds since the Unix epoch.
    fn tstamp_us(&self, now: Time) -> i64;
}

/// The configuration at one time.
#[derive(Debug, Clone, PartialEq, Default)]
struct Snapshot {
    node: Structures,
    cells: Vec<(CellId, Structures)>,
}

struct Subscribed {
    /// Changes to report; `None` means periodic reports.
    watched: Option<TriggerFormat>,
    actions: Vec<(RicActionId, ActionFormat)>,
    /// Whether the initial report has not been sent yet.
    fresh: bool,
}

struct Function<S> {
    station: S,
    subscriptions: BTreeMap<SubscriptionId, Subscribed>,
    periods: Periods,
    last: Snapshot,
    look_at: Time,
}

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::ccc::DEFAULT_FUNCTION_ID`].
pub fn function(station: impl CccStation + 'static) -> Box<dyn RanFunction> {
    let subscriptions = BTreeMap::new();
    let periods = Periods::default();
    Box::new(Function { station, subscriptions, periods, last: Snapshot::default(), look_at: Time::ZERO })
}

const TRIGGER: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);
const ACTION: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// Returns the requested attributes of the requested structures; with `before`, only changed ones.
fn reported_structures(
    requested: &[WantedStructure],
    now: &Structures,
    before: Option<&Structures>,
) -> Vec<Reported> {
    let mut reports = Vec::new();
    for want in requested {
        let names: Vec<_> = want.attributes.iter().map(|it| it.name.clone()).collect();
        let of = |from: &Structures| -> Vec<Attributes> {
            let named = from.iter().filter(|(name, _)| is_structure(name, &want.name));
            named.map(|(_, attributes)| attributes.only(&names)).collect()
        };
        let Some(before) = before else {
            reports.extend(of(now).into_iter().map(|values| Reported {
                change: ChangeType::None,
                name: want.name.clone(),
                values: values.into(),
                old: None,
            }));
            continue;
        };
        reports.extend(changes(want, &of(before), &of(now)));
    }
    reports
}

/// Returns the reports for the structures of one name, in order.
fn changes(want: &WantedStructure, before: &[Attributes], now: &[Attributes]) -> Vec<Reported> {
    let both = before.iter().map(Some).chain(std::iter::repeat(None));
    let both = both.zip(now.iter().map(Some).chain(std::iter::repeat(None)));
    let mut reports = Vec::new();
    for (old, new) in both.take(before.len().max(now.len())) {
        let change = match (old, new) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(_), Some(_)) => ChangeType::Modification,
            (None, _) => ChangeType::Addition,
            (_, None) => ChangeType::Deletion,
        };
        let values = match (want.report, old, new) {
            (ReportType::Change, Some(old), Some(new)) => {
                let changed = new.0.iter().filter(|(name, value)| old.0.get(*name) != Some(*value));
                Attributes(changed.map(|(name, value)| (name.clone(), value.clone())).collect())
            }
            (_, old, new) => new.or(old).cloned().unwrap_or_default(),
        };
        let old = old.filter(|_| change == ChangeType::Modification).cloned().map(Into::into);
        reports.push(Reported { change, name: want.name.clone(), values: values.into(), old });
    }
    reports
}

/// Returns whether a watched structure has changed.
fn has_changed(watched: &[WatchedStructure], before: &Structures, now: &Structures) -> bool {
    watched.iter().any(|watch| {
        let names: Vec<_> = watch.attributes.iter().map(|it| it.name.clone()).collect();
        let of = |from: &Structures| -> Vec<_> {
            let named = from.iter().filter(|(name, _)| is_structure(name, &watch.name));
            named.map(|(_, attributes)| attributes.only(&names)).collect()
        };
        of(before) != of(now)
    })
}

impl Snapshot {
    fn cell(&self, cell: &CellId) -> Option<&Structures> {
        self.cells.iter().find(|(known, _)| known == cell).map(|(_, structures)| structures)
    }

    /// Returns whether anything that a trigger watches differs from `before`.
    fn meets(&self, trigger: &TriggerFormat, before: &Self) -> bool {
        match trigger {
            TriggerFormat::Node { structures } => has_changed(structures, &before.node, &self.node),
            TriggerFormat::Cells { cells } => self.cells.iter().any(|(cell, now)| {
                let none = Vec::new();
                let before = before.cell(cell).unwrap_or(&none);
                let watched = cells.iter().filter(|it| it.cell.as_ref().is_none_or(|it| it == cell));
                watched.into_iter().any(|it| has_changed(&it.structures, before, now))
            }),
            TriggerFormat::Periodic { .. } => false,
        }
    }

    /// Returns the report for an action; with `before`, only the changes.
    fn report(&self, requested: &ActionFormat, before: Option<&Self>) -> Option<MessageFormat> {
        match requested {
            ActionFormat::Node { structures } => {
                let structures = reported_structures(structures, &self.node, before.map(|it| &it.node));
                (!structures.is_empty()).then_some(MessageFormat::Node { structures })
            }
            ActionFormat::Cells { cells } => {
                let none = Vec::new();
                let of = |(cell, now): &(CellId, Structures)| {
                    let requested = cells.iter().filter(|it| it.cell.as_ref().is_none_or(|it| it == cell));
                    let before = before.map(|it| it.cell(cell).unwrap_or(&none));
                    let structures: Vec<_> =
                        requested.flat_map(|it| reported_structures(&it.structures, now, before)).collect();
                    (!structures.is_empty()).then(|| CellReported { cell: cell.clone(), structures })
                };
                let cells: Vec<_> = self.cells.iter().filter_map(of).collect();
                (!cells.is_empty()).then_some(MessageFormat::Cells { cells })
            }
        }
    }
}

impl<S: CccStation> Function<S> {
    fn snapshot(&mut self) -> Snapshot {
        Snapshot { node: self.station.node(), cells: self.station.cells() }
    }

    fn wake(&self, ctx: &mut FunctionContext<'_>) {
        if let Some(at) = self.periods.next() {
            ctx.wake_at(at);
        }
        if self.subscriptions.values().any(|it| it.watched.is_some()) {
            ctx.wake_at(self.look_at);
        }
    }

    fn send_indications(
        ctx: &mut FunctionContext<'_>,
        id: SubscriptionId,
        subscribed: &Subscribed,
        header: &IndicationHeader,
        report: impl Fn(&ActionFormat) -> Option<MessageFormat>,
    ) {
        let Ok(header) = header.to_octets(Encoding::Json) else { return };
        for (action, requested) in &subscribed.actions {
            let Some(format) = report(requested) else { continue };
            let Ok(message) = (IndicationMessage { format }).to_octets(Encoding::Json) else { continue };
            // Cannot fail: subscriptions that ended are removed here, so this one exists.
            let _ = ctx.indicate(Indication {
                subscription: id,
                action: *action,
                kind: RicIndicationType::Report,
                header: &header,
                message: &message,
                call_process_id: None,
            });
        }
    }

    fn header(&self, now: Time, reason: Reason) -> IndicationHeader {
        IndicationHeader { format: HeaderFormat::new(reason, self.station.tstamp_us(now)) }
    }

    /// Writes structures. Each has its own result.
    fn write(&mut self, now: Time, cell: Option<&CellId>, writes: &[Write]) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let results = self.station.write(now, cell, writes);
        for (write, result) in writes.iter().zip(results) {
            match result {
                Ok((old, current)) => outcomes.accepted.push(Accepted {
                    name: write.name.clone(),
                    old: old.into(),
                    current: current.into(),
                    applied: Some(HeaderFormat::new(Reason::UponChange, self.station.tstamp_us(now)).time),
                }),
                Err(cause) => outcomes.failed.push(Failed {
                    name: write.name.clone(),
                    old: write.old.clone(),
                    requested: write.new.clone(),
                    cause,
                }),
            }
        }
        outcomes
    }

    /// Executes a control. Returns whether anything was written, and the outcome.
    fn execute(
        &mut self,
        now: Time,
        style: i64,
        message: &ControlMessage,
    ) -> Result<(bool, OutcomeFormat), Cause> {
        let received = Some(HeaderFormat::new(Reason::UponChange, self.station.tstamp_us(now)).time);
        match (&message.format, style) {
            (ControlFormat::Node { structures }, NODE_STYLE) if structures.len() <= WRITES_MAX => {
                let outcomes = self.write(now, None, structures);
                Ok((!outcomes.accepted.is_empty(), OutcomeFormat::Node { received, outcomes }))
            }
            (ControlFormat::Cells { cells }, CELL_STYLE)
                if cells.iter().map(|cell| cell.structures.len()).sum::<usize>() <= WRITES_MAX =>
            {
                let mut written = false;
                let mut cell_outcomes = Vec::new();
                for it in cells {
                    let outcomes = self.write(now, Some(&it.cell), &it.structures);
                    written |= !outcomes.accepted.is_empty();
                    cell_outcomes.push(CellOutcome { cell: it.cell.clone(), outcomes });
                }
                Ok((written, OutcomeFormat::Cells { received, cells: cell_outcomes }))
            }
            _ => Err(INVALID),
        }
    }
}

impl<S: CccStation> RanFunction for Function<S> {
    fn description(&self) -> FunctionDescription {
        let definition = self.station.definition().to_octets(Encoding::Json).unwrap_or_default();
        FunctionDescription { oid: ccc::OID.to_owned(), definition, revision: Ccc::REVISION }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let trigger = EventTrigger::decode_as(Encoding::Json, subscription.event_trigger);
        let trigger = trigger.map_err(|_| TRIGGER)?;
        let period = Ccc::period(&trigger);
        if let Some(period) = period {
            Ccc::periodic(period).map_err(|_| TRIGGER)?;
        }
        let there = self.snapshot();
        let mut actions = Vec::new();
        let admission = Admission::each(subscription.actions, |action| {
            let definition = action.definition.as_ref().filter(|_| action.kind == RicActionType::Report);
            let definition = definition.and_then(|it| ActionDefinition::decode_as(Encoding::Json, it).ok());
            let definition = definition.ok_or(ACTION)?;
            let style = match definition.format {
                ActionFormat::Node { .. } => NODE_STYLE,
                ActionFormat::Cells { .. } => CELL_STYLE,
            };
            // A structure that a cell supports but does not have now may appear later.
            let offered = self.station.definition().offers(&definition.format);
            if definition.style != style || !offered {
                return Err(ACTION);
            }
            actions.push((action.id, definition.format));
            Ok(())
        });
        if actions.is_empty() {
            return Ok(admission);
        }
        let watched = period.is_none().then_some(trigger.format);
        if self.subscriptions.values().all(|it| it.watched.is_none()) {
            self.last = there;
            self.look_at = ctx.now();
        }
        let fresh = watched.is_some();
        if fresh {
            self.look_at = ctx.now();
        }
        self.subscriptions.insert(subscription.id, Subscribed { watched, actions, fresh });
        if let Some(period) = period {
            self.periods.add(subscription.id, ctx.now(), period);
        }
        self.wake(ctx);
        Ok(admission)
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.subscriptions.remove(&id);
        self.periods.remove(id);
    }

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let header = ControlHeader::decode_as(Encoding::Json, control.header).map_err(|_| INVALID)?;
        let message = ControlMessage::decode_as(Encoding::Json, control.message).map_err(|_| INVALID)?;
        if ctx.controller() != ctx.first_controller() {
            return Err(REFUSED);
        }
        let (written, format) = self.execute(ctx.now(), header.format.style, &message)?;
        let outcome: Bytes = ccc::ControlOutcome { format }.to_octets(Encoding::Json).unwrap_or_default();
        if written {
            return Ok(ControlOutcome { outcome: Some(outcome) });
        }
        ctx.explain(outcome);
        Err(REFUSED)
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        let now = ctx.now();
        if self.periods.next().is_none_or(|at| at > now) && self.look_at > now {
            return self.wake(ctx);
        }
        let there = self.snapshot();
        while let Some(due) = self.periods.pop(now) {
            let header = self.header(now, Reason::Periodic);
            if let Some(subscribed) = self.subscriptions.get(&due.subscription) {
                Self::send_indications(ctx, due.subscription, subscribed, &header, |requested| {
                    there.report(requested, None)
                });
            }
        }
        if self.look_at <= now {
            let begun = self.header(now, Reason::UponSubscription);
            let changed = self.header(now, Reason::UponChange);
            for (id, subscribed) in &mut self.subscriptions {
                let Some(watched) = &subscribed.watched else { continue };
                if std::mem::take(&mut subscribed.fresh) {
                    Self::send_indications(ctx, *id, subscribed, &begun, |requested| {
                        there.report(requested, None)
                    });
                } else if there.meets(watched, &self.last) {
                    let last = &self.last;
                    Self::send_indications(ctx, *id, subscribed, &changed, |requested| {
                        there.report(requested, Some(last))
                    });
                }
            }
            self.last = there;
            self.look_at = now + LOOK_EVERY;
        }
        self.wake(ctx);
    }
}
