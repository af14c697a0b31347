//! iApps implemented by C callbacks, and the functions available to these callbacks.
use crate::error::*;
use crate::guard::c_string;
use crate::nodes::*;
use crate::order::{Refusal, explain, ranlab_kpm_choice, ranlab_order, write};
use crate::types::*;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{
    ControlDetails, IApp, IAppInput, IAppOutbox, NodeInfo, Outcome, RequestHandle, SubscriptionHandle,
};
use ranlab_e2_codec::e2ap::{Cause, GlobalE2NodeId, RicActionId, RicControlAckRequest, fast};
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub const RANLAB_SUBSCRIBED: u32 = 0;
pub const RANLAB_SUBSCRIPTION_FAILED: u32 = 1;
pub const RANLAB_SUBSCRIPTION_ENDED: u32 = 2;

/// Documented in `include/ranlab_ric.h`.
#[repr(C)]
pub struct ranlab_subscription_news {
    pub subscription: u64,
    pub state: u32,
    pub admitted: *const u8,
    pub admitted_len: usize,
    pub why: *const c_char,
}

/// Documented in `include/ranlab_ric.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ranlab_iapp {
    pub name: *const c_char,
    pub on_node: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_iapp_context, u32, *const ranlab_node)>,
    pub on_subscription:
        Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_iapp_context, *const ranlab_subscription_news)>,
    pub on_indication:
        Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_iapp_context, *const ranlab_indication)>,
    pub on_outcome:
        Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_iapp_context, *const ranlab_outcome)>,
    pub on_wake: Option<unsafe extern "C" fn(*mut c_void, *mut ranlab_iapp_context)>,
}

/// The RIC as seen by an iApp's callback: a `Context` behind a pointer that is valid during the callback.
#[repr(C)]
pub struct ranlab_iapp_context {
    _private: [u8; 0],
}

/// Nodes known to the iApps of a RIC. A node has the same number for all iApps.
#[derive(Clone, Default)]
pub(crate) struct Nodes(Arc<Mutex<Numbers<Known>>>);

/// A node, and the number of iApps that have been informed of its addition but not yet of its removal.
struct Known {
    info: NodeInfo,
    told: usize,
}

impl Nodes {
    fn lock(&self) -> MutexGuard<'_, Numbers<Known>> {
        // The data is consistent whenever the lock is released, even by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, info: &NodeInfo) -> u32 {
        self.lock().number_of(&info.id)
    }

    /// Records that an iApp was informed of a node. Returns the number of the node.
    fn record_notified(&self, info: &NodeInfo, is_new: bool) -> u32 {
        let mut numbers = self.lock();
        let (number, known) = numbers.enter(info.id, || Known { info: info.clone(), told: 0 });
        known.info = info.clone();
        known.told += usize::from(is_new);
        number
    }

    /// Records that an iApp was informed of the removal of a node. When all iApps have been informed, the number of the
    /// node is released.
    fn told_gone(&self, info: &NodeInfo) {
        let mut numbers = self.lock();
        let known = numbers.enter(info.id, || Known { info: info.clone(), told: 0 }).1;
        known.told = known.told.saturating_sub(1);
        if known.told == 0 {
            numbers.forget(&info.id);
        }
    }

    /// Returns the latest information about a node.
    fn info(&self, node: u32) -> Result<NodeInfo, i32> {
        self.lock().get(node).map(|(_, known)| known.info.clone()).ok_or(RANLAB_ERR_NODE)
    }

    /// Returns a node and the id of one of its functions. The function is selected by OID if one is given.
    fn find(&self, node: u32, function: u16, oid: Option<&str>) -> Result<(GlobalE2NodeId, u16), i32> {
        let numbers = self.lock();
        let (id, known) = numbers.get(node).ok_or(RANLAB_ERR_NODE)?;
        let found = match oid {
            Some(oid) => known.info.function_by_oid(oid),
            None => known.info.function(function),
        };
        Ok((*id, found.ok_or(RANLAB_ERR_NODE_FUNCTION)?.id))
    }
}

/// An iApp whose callbacks are implemented in C.
pub(crate) struct Callbacks {
    name: String,
    iapp: ranlab_iapp,
    userdata: *mut c_void,
    nodes: Nodes,
}

// SAFETY: the callbacks run on the thread that uses the RIC at that time. The header requires `userdata` to be usable
// on every thread that uses the RIC. The name is not read again.
unsafe impl Send for Callbacks {}

/// State of a callback.
struct Context<'a> {
    now: Time,
    out: &'a mut IAppOutbox,
    nodes: &'a Nodes,
}

impl Callbacks {
    /// Copies the description of an iApp.
    ///
    /// # Safety
    /// See the header: the pointers in `iapp` are valid, and the callbacks stay valid for the lifetime of the RIC.
    pub(crate) unsafe fn new(iapp: &ranlab_iapp, userdata: *mut c_void, nodes: Nodes) -> Result<Self, i32> {
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let name = unsafe { string(iapp.name)? }.to_owned();
        Ok(Self { name, iapp: *iapp, userdata, nodes })
    }

    fn node(&self, ctx: *mut ranlab_iapp_context, change: u32, info: &NodeInfo) {
        let number = match change {
            RANLAB_NODE_REMOVED => self.nodes.number(info),
            _ => self.nodes.record_notified(info, change == RANLAB_NODE_ADDED),
        };
        if let Some(on_node) = self.iapp.on_node {
            let state = (Some(info.version), info.connected);
            let described = Described::new(number, &info.id, info.kind, state, &info.functions);
            // SAFETY: the callback has the registered type, and all pointers outlive the call.
            unsafe { on_node(self.userdata, ctx, change, described.as_ptr()) }
        }
        if change == RANLAB_NODE_REMOVED {
            self.nodes.told_gone(info);
        }
    }

    fn subscription(
        &self,
        ctx: *mut ranlab_iapp_context,
        subscription: SubscriptionHandle,
        state: u32,
        admitted: &[RicActionId],
        cause: Option<Cause>,
    ) {
        let Some(on_subscription) = self.iapp.on_subscription else { return };
        let why = cause.map(|cause| c_string(&cause.to_string()));
        let news = ranlab_subscription_news {
            subscription: subscription.0.into(),
            state,
            admitted: admitted.as_ptr(),
            admitted_len: admitted.len(),
            why: why.as_ref().map_or(c"".as_ptr(), |why| why.as_ptr()),
        };
        // SAFETY: the callback has the registered type, and all pointers outlive the call.
        unsafe { on_subscription(self.userdata, ctx, &news) }
    }

    fn indication(
        &self,
        ctx: *mut ranlab_iapp_context,
        subscription: SubscriptionHandle,
        node: &NodeInfo,
        received: &fast::Indication<'_>,
    ) {
        let Some(on_indication) = self.iapp.on_indication else { return };
        let indication = indication(
            (subscription.0.into(), self.nodes.number(node)),
            (received.function_id, received.action_id, received.sn),
            received.kind,
            (received.header, received.message),
            received.call_process_id,
        );
        // SAFETY: the callback has the registered type, and all pointers outlive the call.
        unsafe { on_indication(self.userdata, ctx, &indication) }
    }

    fn outcome(&self, ctx: *mut ranlab_iapp_context, request: RequestHandle, outcome: &Outcome) {
        let Some(on_outcome) = self.iapp.on_outcome else { return };
        let (octets, why) = match outcome {
            Outcome::Done(octets) => (octets, CString::default()),
            Outcome::Failed { cause, outcome } => (outcome, c_string(&cause.to_string())),
        };
        let news = ranlab_outcome {
            request: request.0.into(),
            done: u8::from(matches!(outcome, Outcome::Done(_))),
            outcome: octets.as_ref().map_or(std::ptr::null(), |octets| octets.as_ptr()),
            outcome_len: octets.as_ref().map_or(0, Bytes::len),
            why: why.as_ptr(),
        };
        // SAFETY: the callback has the registered type, and all pointers outlive the call.
        unsafe { on_outcome(self.userdata, ctx, &news) }
    }
}

impl IApp for Callbacks {
    fn name(&self) -> &str {
        &self.name
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        let nodes = self.nodes.clone();
        let mut context = Context { now, out, nodes: &nodes };
        let ctx: *mut ranlab_iapp_context = std::ptr::from_mut(&mut context).cast();
        match input {
            IAppInput::NodeAdded(info) => self.node(ctx, RANLAB_NODE_ADDED, info),
            IAppInput::NodeChanged(info) => self.node(ctx, RANLAB_NODE_CHANGED, info),
            IAppInput::NodeRemoved(info) => self.node(ctx, RANLAB_NODE_REMOVED, info),
            IAppInput::Subscribed { subscription, admitted, .. } => {
                self.subscription(ctx, subscription, RANLAB_SUBSCRIBED, admitted, None);
            }
            IAppInput::SubscriptionFailed { subscription, cause } => {
                self.subscription(ctx, subscription, RANLAB_SUBSCRIPTION_FAILED, &[], Some(cause));
            }
            IAppInput::SubscriptionEnded { subscription, cause } => {
                self.subscription(ctx, subscription, RANLAB_SUBSCRIPTION_ENDED, &[], Some(cause));
            }
            IAppInput::Indication { subscription, node, indication, .. } => {
                self.indication(ctx, subscription, node, &indication);
            }
            IAppInput::ControlDone { request, outcome } | IAppInput::QueryDone { request, outcome } => {
                self.outcome(ctx, request, outcome);
            }
            IAppInput::Timer(_) | IAppInput::Roused => {
                if let Some(on_wake) = self.iapp.on_wake {
                    // SAFETY: the callback has the registered type.
                    unsafe { on_wake(self.userdata, ctx) }
                }
            }
            // xApps, base stations and northbound requests are not reported to C programs.
            _ => {}
        }
    }
}

/// Returns the context behind the pointer passed to a callback.
///
/// # Safety
/// `ctx` is null or was passed to a callback that has not returned yet.
unsafe fn context<'a>(ctx: *mut ranlab_iapp_context) -> Result<&'a mut Context<'a>, i32> {
    // SAFETY: guaranteed by the caller. `handle` created the pointer from an exclusive reference that is not used in
    // the meantime.
    unsafe { ctx.cast::<Context<'a>>().as_mut() }.ok_or(RANLAB_ERR_NULL)
}

/// Returns an OID, or `None` for a null pointer.
///
/// # Safety
/// `oid` is null or points to a string.
pub(crate) unsafe fn oid<'a>(oid: *const c_char) -> Result<Option<&'a str>, i32> {
    if oid.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    unsafe { string(oid) }.map(Some)
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_now(ctx: *mut ranlab_iapp_context, now_ns: *mut u64) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, now_ns) = unsafe { (context(ctx)?, out(now_ns)?) };
        now_ns.write(ctx.now.as_nanos());
        Ok(())
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_subscribe(
    ctx: *mut ranlab_iapp_context,
    wanted: *const ranlab_wanted,
    subscription: *mut u64,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, wanted) = unsafe { (context(ctx)?, wanted.as_ref().ok_or(RANLAB_ERR_NULL)?) };
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (to, oid, details) = unsafe { (out(subscription)?, oid(wanted.oid)?, wanted.details()?) };
        let (node, function) = ctx.nodes.find(wanted.node, wanted.function, oid)?;
        to.write(ctx.out.subscribe(node, function, details).0.into());
        Ok(())
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_unsubscribe(ctx: *mut ranlab_iapp_context, subscription: u64) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let ctx = unsafe { context(ctx)? };
        let number = u32::try_from(subscription).map_err(|_| RANLAB_ERR_UNKNOWN_SUBSCRIPTION)?;
        ctx.out.unsubscribe(SubscriptionHandle(number));
        Ok(())
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_control(
    ctx: *mut ranlab_iapp_context,
    command: *const ranlab_command,
    request: *mut u64,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, command) = unsafe { (context(ctx)?, command.as_ref().ok_or(RANLAB_ERR_NULL)?) };
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (to, oid, octets) = unsafe { (out(request)?, oid(command.oid)?, command.octets()?) };
        let (node, function) = ctx.nodes.find(command.node, command.function, oid)?;
        let ack =
            if command.acknowledge == 0 { RicControlAckRequest::NoAck } else { RicControlAckRequest::Ack };
        let CommandOctets { header, message, call_process_id } = octets;
        let details = ControlDetails { call_process_id, header, message, ack_request: Some(ack) };
        to.write(ctx.out.control(node, function, details).0.into());
        Ok(())
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_order(
    ctx: *mut ranlab_iapp_context,
    order: *const ranlab_order,
    request: *mut u64,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        unsafe {
            let ctx = context(ctx)?;
            let order = order.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let to = out(request)?;
            let sent = ctx.nodes.info(order.node).map_err(Refusal::from).and_then(|info| {
                let (value, ue) = order.read(&info.id)?;
                Ok(ctx.out.order(&info, &value, &ue, order.acknowledge != 0)?)
            });
            to.write(explain(order.why, order.why_max, sent)?.0.into());
            Ok(())
        }
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_kpm_action(
    ctx: *mut ranlab_iapp_context,
    choice: *const ranlab_kpm_choice,
    action: *mut u8,
    action_max: usize,
    action_len: *mut usize,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        unsafe {
            let ctx = context(ctx)?;
            let choice = choice.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let info = ctx.nodes.info(choice.node)?;
            let made = explain(choice.why, choice.why_max, choice.action(&info.id, &info.functions))?;
            write(&made, action, action_max, action_len)
        }
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_query(
    ctx: *mut ranlab_iapp_context,
    query: *const ranlab_command,
    request: *mut u64,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (ctx, query) = unsafe { (context(ctx)?, query.as_ref().ok_or(RANLAB_ERR_NULL)?) };
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (to, oid, octets) = unsafe { (out(request)?, oid(query.oid)?, query.octets()?) };
        let (node, function) = ctx.nodes.find(query.node, query.function, oid)?;
        to.write(ctx.out.query(node, function, octets.header, octets.message).0.into());
        Ok(())
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_iapp_wake_at(ctx: *mut ranlab_iapp_context, at_ns: u64) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        unsafe { context(ctx)? }.out.wake_at(Time::from_nanos(at_ns), 0);
        Ok(())
    })
}
