//! RAN functions implemented by C callbacks, and the functions available to these callbacks.
use crate::error::*;
use crate::types::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::{
    Admission, ContextError, ControlOutcome, ControlRequest, ControlTicket, FunctionContext,
    FunctionDescription, Indication, QueryRequest, RanFunction, SubscriptionId, SubscriptionRequest, UeId,
};
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest, RicActionType, RicIndicationType};
use std::ffi::c_void;

type OnSubscription =
    unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_subscription) -> u32;

/// A RAN function whose callbacks are implemented in C.
pub(crate) struct Callbacks {
    description: FunctionDescription,
    on_subscription: OnSubscription,
    on_subscription_delete: unsafe extern "C" fn(*mut c_void, *mut ranlab_context, u64),
    on_control: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_control) -> u32>,
    on_wake: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context)>,
    on_query: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_query) -> u32>,
    userdata: *mut c_void,
}

// SAFETY: the callbacks run on the thread that uses the agent at that time. The header requires `userdata` to be usable
// on every thread that uses the agent.
unsafe impl Send for Callbacks {}

impl Callbacks {
    /// Copies a description and its callbacks.
    ///
    /// # Safety
    /// See the header: the pointers in `function` are valid, and the callbacks stay valid for the lifetime of the
    /// agent.
    pub(crate) unsafe fn new(function: &ranlab_function, userdata: *mut c_void) -> Result<Self, i32> {
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let (oid, definition) = unsafe {
            (string(function.oid)?.to_owned(), octets(function.definition, function.definition_len)?)
        };
        let definition = Bytes::copy_from_slice(definition);
        Ok(Self {
            description: FunctionDescription { oid, definition, revision: function.revision },
            on_subscription: function.on_subscription.ok_or(RANLAB_ERR_NULL)?,
            on_subscription_delete: function.on_subscription_delete.ok_or(RANLAB_ERR_NULL)?,
            on_control: function.on_control,
            on_wake: function.on_wake,
            on_query: function.on_query,
            userdata,
        })
    }
}

/// State of a callback, and the outcome that the callback has set.
struct Context<'a, 'b> {
    agent: &'a mut FunctionContext<'b>,
    /// Outcome for the response to the current control or query.
    outcome: Option<Bytes>,
}

/// Calls a C callback with a context. Returns the callback's result and the outcome that it has set. The pointer is
/// valid until the callback returns, as documented in the header.
fn call<T>(
    ctx: &mut FunctionContext<'_>,
    callback: impl FnOnce(*mut ranlab_context) -> T,
) -> (T, Option<Bytes>) {
    let mut context = Context { agent: ctx, outcome: None };
    let returned = callback(std::ptr::from_mut(&mut context).cast());
    (returned, context.outcome)
}

fn controller(ctx: &FunctionContext<'_>) -> u32 {
    ctx.controller().map_or(u32::MAX, |c| c.0)
}

impl RanFunction for Callbacks {
    fn description(&self) -> FunctionDescription {
        self.description.clone()
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        subscription: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        let actions: Vec<_> = subscription
            .actions
            .iter()
            .map(|action| {
                let definition = action.definition.as_deref().unwrap_or_default();
                let kind = match action.kind {
                    RicActionType::Report => RANLAB_ACTION_REPORT,
                    RicActionType::Insert => RANLAB_ACTION_INSERT,
                    RicActionType::Policy => RANLAB_ACTION_POLICY,
                };
                ranlab_action {
                    id: action.id,
                    kind,
                    definition: definition.as_ptr(),
                    definition_len: definition.len(),
                }
            })
            .collect();
        let request = ranlab_subscription {
            id: subscription.id.0,
            controller: controller(ctx),
            event_trigger: subscription.event_trigger.as_ptr(),
            event_trigger_len: subscription.event_trigger.len(),
            actions: actions.as_ptr(),
            actions_len: actions.len(),
        };
        // SAFETY: the callback has the registered type, and all pointers outlive the call.
        let (admitted, _) = call(ctx, |ctx| unsafe { (self.on_subscription)(self.userdata, ctx, &request) });
        let admitted = actions.iter().enumerate().filter(|(i, _)| *i < 32 && admitted >> i & 1 == 1);
        let admitted = admitted.map(|(_, action)| action.id).collect();
        Ok(Admission { admitted, refused: Vec::new() })
    }

    fn on_subscription_delete(&mut self, ctx: &mut FunctionContext<'_>, id: SubscriptionId) {
        // SAFETY: the callback has the registered type.
        call(ctx, |ctx| unsafe { (self.on_subscription_delete)(self.userdata, ctx, id.0) });
    }

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let Some(on_control) = self.on_control else {
            return Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
        };
        let request = ranlab_control {
            controller: controller(ctx),
            header: control.header.as_ptr(),
            header_len: control.header.len(),
            message: control.message.as_ptr(),
            message_len: control.message.len(),
            call_process_id: control.call_process_id.map_or(std::ptr::null(), |id| id.as_ptr()),
            call_process_id_len: control.call_process_id.map_or(0, Bytes::len),
        };
        // SAFETY: the callback has the registered type, and all pointers outlive the call.
        let (status, outcome) = call(ctx, |ctx| unsafe { on_control(self.userdata, ctx, &request) });
        answer(ctx, status, outcome)
    }

    fn on_query(&mut self, ctx: &mut FunctionContext<'_>, query: QueryRequest<'_>) -> Result<Bytes, Cause> {
        let unavailable = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
        let Some(on_query) = self.on_query else { return Err(unavailable) };
        let request = ranlab_query {
            controller: controller(ctx),
            header: query.header.as_ptr(),
            header_len: query.header.len(),
            definition: query.definition.as_ptr(),
            definition_len: query.definition.len(),
        };
        // SAFETY: the callback has the registered type, and all pointers outlive the call.
        let (status, outcome) = call(ctx, |ctx| unsafe { on_query(self.userdata, ctx, &request) });
        match status {
            RANLAB_CONTROL_DONE => Ok(outcome.unwrap_or_default()),
            RANLAB_CONTROL_INVALID => Err(Cause::RicRequest(CauseRicRequest::InvalidInformationRequest)),
            _ => Err(unavailable),
        }
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        if let Some(on_wake) = self.on_wake {
            // SAFETY: the callback has the registered type.
            call(ctx, |ctx| unsafe { on_wake(self.userdata, ctx) });
        }
    }
}

/// Converts the return value of a callback. The outcome is part of both a success and a failure response.
fn answer(
    ctx: &mut FunctionContext<'_>,
    status: u32,
    outcome: Option<Bytes>,
) -> Result<ControlOutcome, Cause> {
    let cause = match status {
        RANLAB_CONTROL_DONE => return Ok(ControlOutcome { outcome }),
        RANLAB_CONTROL_INVALID => CauseRicRequest::ControlMessageInvalid,
        _ => CauseRicRequest::ControlFailedToExecute,
    };
    if let Some(outcome) = outcome {
        ctx.explain(outcome);
    }
    Err(Cause::RicRequest(cause))
}

/// Returns the context behind the pointer passed to a callback.
///
/// # Safety
/// `ctx` is null or was passed to a callback that has not returned yet.
unsafe fn context<'a>(ctx: *mut ranlab_context) -> Result<&'a mut Context<'a, 'a>, i32> {
    // SAFETY: guaranteed by the caller. `call` created the pointer from an exclusive reference that is not used in the
    // meantime.
    unsafe { ctx.cast::<Context<'a, 'a>>().as_mut() }.ok_or(RANLAB_ERR_NULL)
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_now(ctx: *mut ranlab_context, now_ns: *mut u64) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, now_ns) = unsafe { (context(ctx)?, out(now_ns)?) };
        now_ns.write(ctx.agent.now().as_nanos());
        Ok(())
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_indicate(
    ctx: *mut ranlab_context,
    subscription: u64,
    action: u8,
    header: *const u8,
    header_len: usize,
    message: *const u8,
    message_len: usize,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, header, message) =
            unsafe { (context(ctx)?, octets(header, header_len)?, octets(message, message_len)?) };
        let indication = Indication {
            subscription: SubscriptionId(subscription),
            action,
            kind: RicIndicationType::Report,
            header,
            message,
            call_process_id: None,
        };
        ctx.agent.indicate(indication).map_err(indication_error)
    })
}

fn indication_error(error: ContextError) -> i32 {
    match error {
        ContextError::UnknownSubscription(_) => RANLAB_ERR_UNKNOWN_SUBSCRIPTION,
        _ => RANLAB_ERR_ENCODE,
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_insert(
    ctx: *mut ranlab_context,
    insert: *const ranlab_insert,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, insert) = unsafe { (context(ctx)?, insert.as_ref().ok_or(RANLAB_ERR_NULL)?) };
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (header, message, id) = unsafe {
            (
                octets(insert.header, insert.header_len)?,
                octets(insert.message, insert.message_len)?,
                octets(insert.call_process_id, insert.call_process_id_len)?,
            )
        };
        let indication = Indication {
            subscription: SubscriptionId(insert.subscription),
            action: insert.action,
            kind: RicIndicationType::Insert,
            header,
            message,
            call_process_id: (!id.is_empty()).then_some(id),
        };
        ctx.agent.indicate(indication).map_err(indication_error)
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_wake_at(ctx: *mut ranlab_context, at_ns: u64) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        unsafe { context(ctx)? }.agent.wake_at(Time::from_nanos(at_ns));
        Ok(())
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_outcome(
    ctx: *mut ranlab_context,
    outcome: *const u8,
    outcome_len: usize,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, outcome) = unsafe { (context(ctx)?, octets(outcome, outcome_len)?) };
        ctx.outcome = Some(Bytes::copy_from_slice(outcome));
        Ok(())
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_answer_later(ctx: *mut ranlab_context, ticket: *mut u64) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, ticket) = unsafe { (context(ctx)?, out(ticket)?) };
        ticket.write(ctx.agent.answer_later().ok_or(RANLAB_ERR_UNKNOWN_CONTROL)?.0);
        Ok(())
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_answer(ctx: *mut ranlab_context, ticket: u64, done: u32) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let ctx = unsafe { context(ctx)? };
        let outcome = ctx.outcome.take();
        let answer = answer(ctx.agent, done, outcome);
        let waited = ctx.agent.answer(ControlTicket(ticket), answer);
        if waited { Ok(()) } else { Err(RANLAB_ERR_UNKNOWN_CONTROL) }
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_shows_ue(
    ctx: *mut ranlab_context,
    subscription: u64,
    ue: u64,
    shows: *mut u8,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, shows) = unsafe { (context(ctx)?, out(shows)?) };
        let subscription = SubscriptionId(subscription);
        ctx.agent.controller_of(subscription).ok_or(RANLAB_ERR_UNKNOWN_SUBSCRIPTION)?;
        let ues = ctx.agent.ues_of(subscription);
        shows.write(u8::from(ues.is_all() || ues.contains(UeId(ue))));
        Ok(())
    })
}
