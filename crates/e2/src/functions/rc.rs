//! RC at a base station ([`ranlab_wire::e2sm::rc`]): controls alone, those of [`ORDERS`].
//!
//! | asked | answer |
//! |---|---|
//! | an order that is carried out | acknowledged, without an outcome |
//! | a style or action that is not offered, several at once | `action-not-supported` |
//! | octets that are no control, parameters that are missing or out of range | `control-message-invalid` |
//! | a process that waits | `ric-call-process-id-invalid`: none does |
//! | what the base station refuses; quotas from any controller but the first | `control-failed-to-execute`, and an outcome whose parameter [`REASON`] says why |
//! | a subscription | `action-not-supported` |
use crate::Time;
use crate::agent::*;
use bytes::Bytes;
use ranlab_wire::e2ap::{Cause, CauseRicRequest};
use ranlab_wire::e2sm::common::UeId as Name;
use ranlab_wire::e2sm::control::{Reason, Refusal};
use ranlab_wire::e2sm::rc::commands::{NotAnOrder, ORDERS, Order};
use ranlab_wire::e2sm::rc::{
    ControlHeader, ControlMessage, ControlOutcome as Outcome, FunctionDefinition, HeaderFormat, OID,
    OutcomeFormat, OutcomeValue, Value,
};
use ranlab_wire::e2sm::{Encoding, Octets};

/// The parameter of an outcome that says in words why an order was refused.
pub const REASON: u32 = 1;

/// The base station behind the function.
pub trait RcControl: Send {
    /// Does what an order says, or nothing; `number` is the UE's that the header names.
    ///
    /// # Errors
    /// The base station cannot do this.
    fn obey(&mut self, now: Time, number: u32, order: &Order) -> Result<(), Refusal>;
}

struct Function<C>(C);

/// The RAN function; register it as [`ranlab_wire::e2sm::rc::DEFAULT_FUNCTION_ID`].
pub fn function(control: impl RcControl + 'static) -> Box<dyn RanFunction> {
    Box::new(Function(control))
}

const UNKNOWN: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const NO_PROCESS: Cause = Cause::RicRequest(CauseRicRequest::RicCallProcessIdInvalid);
const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// Whom a control is about, and what is ordered.
fn read(control: &ControlRequest<'_>) -> Result<(Name, Order), Cause> {
    if control.call_process_id.is_some() {
        return Err(NO_PROCESS);
    }
    let header = ControlHeader::decode_as(Encoding::Per, control.header).map_err(|_| INVALID)?;
    let message = ControlMessage::decode_as(Encoding::Per, control.message).map_err(|_| INVALID)?;
    let order = Order::read(&header, &message).map_err(|why| match why {
        NotAnOrder::Unknown { .. } => UNKNOWN,
        _ => INVALID,
    })?;
    let (style, action) = order.action();
    let offered = ORDERS.iter().any(|it| (it.0, it.2) == (style, action));
    match header.format {
        HeaderFormat::Action(header) if offered => Ok((header.ue, order)),
        _ => Err(UNKNOWN),
    }
}

fn outcome(refusal: &Refusal) -> Bytes {
    let value = OutcomeValue { id: REASON, value: Value::Text(refusal.detail.clone()) };
    let outcome = Outcome { format: OutcomeFormat::Values(vec![value]) };
    outcome.to_octets(Encoding::Per).unwrap_or_default()
}

impl<C: RcControl> Function<C> {
    fn obey(&mut self, ctx: &FunctionContext<'_>, name: &Name, order: &Order) -> Result<(), Refusal> {
        let (number, ues) = (name.number(), ctx.ues());
        match order {
            Order::SliceQuotas(_) if ctx.controller() != ctx.first_controller() => {
                Err(Refusal::new(Reason::NotOwner, "the carrier is the first controller's, for all UEs"))
            }
            Order::Handover(_) | Order::QosFlows { .. }
                if !ues.is_all() && !ues.contains(UeId(number.into())) =>
            {
                Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {number}")))
            }
            _ => self.0.obey(ctx.now(), number, order),
        }
    }
}

impl<C: RcControl> RanFunction for Function<C> {
    fn description(&self) -> FunctionDescription {
        // The definition is a constant with an encoding.
        let definition =
            FunctionDefinition::of_controls(&ORDERS).to_octets(Encoding::Per).unwrap_or_default();
        FunctionDescription { oid: OID.to_owned(), definition, revision: 0 }
    }

    fn on_subscription(
        &mut self,
        _: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        Ok(Admission::each(subscription.actions, |_| Err(UNKNOWN)))
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, _: SubscriptionId) {}

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let (name, order) = read(&control)?;
        self.obey(ctx, &name, &order).map(|()| ControlOutcome::default()).map_err(|refusal| {
            ctx.explain(outcome(&refusal));
            REFUSED
        })
    }
}
