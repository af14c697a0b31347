//! A RAN function made of callbacks, and what a callback may call.
use crate::error::*;
use crate::types::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::{
    Admission, ContextError, ControlOutcome, ControlRequest, FunctionContext, FunctionDescription,
    Indication, RanFunction, SubscriptionId, SubscriptionRequest,
};
use ranlab_wire::e2ap::{Cause, CauseRicRequest, RicActionType, RicIndicationType};
use std::ffi::c_void;

type OnSubscription =
    unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_subscription) -> u32;

/// A RAN function whose answers come from a C program.
pub(crate) struct Callbacks {
    description: FunctionDescription,
    on_subscription: OnSubscription,
    on_subscription_delete: unsafe extern "C" fn(*mut c_void, *mut ranlab_context, u64),
    on_control: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context, *const ranlab_control) -> u32>,
    on_wake: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_context)>,
    userdata: *mut c_void,
}

// SAFETY: the callbacks are called on the thread that has the agent just then; the header asks for userdata that goes
// where its agent goes.
unsafe impl Send for Callbacks {}

impl Callbacks {
    /// Takes over a description and its callbacks.
    ///
    /// # Safety
    /// As the header says: the pointers in `function` are valid, the callbacks stay so as long as the agent.
    pub(crate) unsafe fn new(function: &ranlab_function, userdata: *mut c_void) -> Result<Self, i32> {
        // SAFETY: the caller's promise.
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
            userdata,
        })
    }
}

/// The context as C sees it. The pointer is good until the callback returns, which the header says.
fn raw(ctx: &mut FunctionContext<'_>) -> *mut ranlab_context {
    std::ptr::from_mut(ctx).cast()
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
                let (definition, definition_len) = (definition.as_ptr(), definition.len());
                ranlab_action { id: action.id, kind, definition, definition_len }
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
        // SAFETY: a callback of the registered type; all pointers outlive the call.
        let admitted = unsafe { (self.on_subscription)(self.userdata, raw(ctx), &request) };
        let admitted = actions.iter().enumerate().filter(|(i, _)| *i < 32 && admitted >> i & 1 == 1);
        let admitted = admitted.map(|(_, action)| action.id).collect();
        Ok(Admission { admitted, refused: Vec::new() })
    }

    fn on_subscription_delete(&mut self, ctx: &mut FunctionContext<'_>, id: SubscriptionId) {
        // SAFETY: a callback of the registered type.
        unsafe { (self.on_subscription_delete)(self.userdata, raw(ctx), id.0) }
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
        // SAFETY: a callback of the registered type; all pointers outlive the call.
        match unsafe { on_control(self.userdata, raw(ctx), &request) } {
            RANLAB_CONTROL_DONE => Ok(ControlOutcome::default()),
            RANLAB_CONTROL_INVALID => Err(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid)),
            _ => Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute)),
        }
    }

    fn on_wake(&mut self, ctx: &mut FunctionContext<'_>) {
        if let Some(on_wake) = self.on_wake {
            // SAFETY: a callback of the registered type.
            unsafe { on_wake(self.userdata, raw(ctx)) }
        }
    }
}

/// The context behind a pointer that a callback was given.
///
/// # Safety
/// `ctx` is null or was given to a callback that has not returned yet.
unsafe fn context<'a>(ctx: *mut ranlab_context) -> Result<&'a mut FunctionContext<'a>, i32> {
    // SAFETY: the caller's promise; `raw` made it from an exclusive reference that nobody uses meanwhile.
    unsafe { ctx.cast::<FunctionContext<'a>>().as_mut() }.ok_or(RANLAB_ERR_NULL)
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_now(ctx: *mut ranlab_context, now_ns: *mut u64) -> i32 {
    boundary(|| {
        // SAFETY: as the header says.
        let (ctx, now_ns) = unsafe { (context(ctx)?, out(now_ns)?) };
        now_ns.write(ctx.now().as_nanos());
        Ok(())
    })
}

/// See the header.
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
        // SAFETY: as the header says.
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
        ctx.indicate(indication).map_err(indication_error)
    })
}

fn indication_error(error: ContextError) -> i32 {
    match error {
        ContextError::UnknownSubscription(_) => RANLAB_ERR_UNKNOWN_SUBSCRIPTION,
        _ => RANLAB_ERR_ENCODE,
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_insert(
    ctx: *mut ranlab_context,
    insert: *const ranlab_insert,
) -> i32 {
    boundary(|| {
        // SAFETY: as the header says.
        let (ctx, insert) = unsafe { (context(ctx)?, insert.as_ref().ok_or(RANLAB_ERR_NULL)?) };
        // SAFETY: as the header says.
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
        ctx.indicate(indication).map_err(indication_error)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_context_wake_at(ctx: *mut ranlab_context, at_ns: u64) -> i32 {
    boundary(|| {
        // SAFETY: as the header says.
        unsafe { context(ctx)? }.wake_at(Time::from_nanos(at_ns));
        Ok(())
    })
}
