//! C functions `ranlab_xapp_*`.
use crate::error::*;
use crate::guard::*;
use crate::iapp::oid;
use crate::node::version;
use crate::nodes::*;
use crate::order::{Refusal, explain, ranlab_kpm_choice, ranlab_order, write};
use crate::types::*;
use bytes::Bytes;
use ranlab_e2::ric::NodeKind;
use ranlab_e2::xapp::{
    ControlError, ControlHandle, Dialect, FunctionRef, IndicationView, StandingHandle, SubscribeError,
    SubscriptionHandle, Xapp, XappConfig, XappEvent, XappInput, XappOutput,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use ranlab_e2_codec::e2ap::{ActionFailed, GlobalE2NodeId, fast};
use std::ffi::{CString, c_char};
use std::ptr::null;

pub const RANLAB_E42_RANLAB: u8 = 0;
pub const RANLAB_E42_FLEXRIC: u8 = 1;
pub const RANLAB_E42_AUTO: u8 = 2;

pub const RANLAB_XAPP_NONE: u32 = 0;
pub const RANLAB_XAPP_CONNECT: u32 = 1;
pub const RANLAB_XAPP_TRANSMIT: u32 = 2;
pub const RANLAB_XAPP_CLOSE: u32 = 3;
pub const RANLAB_XAPP_READY: u32 = 4;
pub const RANLAB_XAPP_DISCONNECTED: u32 = 5;
pub const RANLAB_XAPP_NODE: u32 = 6;
pub const RANLAB_XAPP_SUBSCRIBED: u32 = 7;
pub const RANLAB_XAPP_SUBSCRIPTION_FAILED: u32 = 8;
pub const RANLAB_XAPP_UNSUBSCRIBED: u32 = 9;
pub const RANLAB_XAPP_INDICATION: u32 = 10;
pub const RANLAB_XAPP_OUTCOME: u32 = 11;
pub const RANLAB_XAPP_OTHER: u32 = 12;

/// Documented in `include/ranlab_xapp.h`.
#[repr(C)]
pub struct ranlab_xapp_config {
    pub address: *const c_char,
    pub seed: u64,
    pub e2ap: u8,
    pub dialect: u8,
}

/// Documented in `include/ranlab_xapp.h`.
#[repr(C)]
pub struct ranlab_xapp_event {
    pub kind: u32,
    pub change: u32,
    pub subscription: u64,
    pub standing: u64,
    pub node: *const ranlab_node,
    pub indication: *const ranlab_indication,
    pub outcome: *const ranlab_outcome,
    pub not_admitted: *const u8,
    pub not_admitted_len: usize,
    pub text: *const c_char,
}

handle!(ranlab_xapp);

struct Inner {
    xapp: Xapp,
    numbers: Numbers<()>,
    waiting: Option<Frame>,
    pool: Pool,
    last: Last,
}

/// Data that the last event refers to.
#[derive(Default)]
struct Last {
    text: Text,
    why: CString,
    node: Option<Described>,
    view: Option<IndicationView>,
    indication: Option<ranlab_indication>,
    octets: Option<Bytes>,
    outcome: Option<ranlab_outcome>,
    not_admitted: Vec<u8>,
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_new(
    config: *const ranlab_xapp_config,
    xapp: *mut *mut ranlab_xapp,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (config, xapp) = unsafe { (config.as_ref().ok_or(RANLAB_ERR_NULL)?, out(xapp)?) };
        // SAFETY: the caller passes valid pointers, as the header requires.
        let address = unsafe { string(config.address)? }.to_owned();
        let version = version(config.e2ap)?;
        let dialect = match config.dialect {
            RANLAB_E42_RANLAB => Dialect::Ranlab,
            RANLAB_E42_FLEXRIC => Dialect::FlexRic,
            RANLAB_E42_AUTO => Dialect::Auto,
            _ => return Err(RANLAB_ERR_INVALID),
        };
        let config = XappConfig::new(address).with(|it| {
            (it.version, it.dialect, it.seed) = (version, dialect, config.seed);
        });
        let inner = Inner {
            xapp: Xapp::new(config),
            numbers: Numbers::default(),
            waiting: None,
            pool: Pool::new(),
            last: Last::default(),
        };
        give(inner, xapp);
        Ok(())
    })
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_free(xapp: *mut ranlab_xapp) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { free(xapp) }
}

/// Passes an input to the xApp.
///
/// # Safety
/// See [`with`].
unsafe fn handle_input(xapp: *mut ranlab_xapp, now_ns: u64, input: XappInput) -> i32 {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    unsafe {
        with(xapp, |inner| {
            if !matches!(input, XappInput::Wake) {
                // The connection has started or ended. A pending PDU belongs to the previous connection.
                inner.waiting = None;
            }
            inner.xapp.handle(Time::from_nanos(now_ns), input);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_connected(xapp: *mut ranlab_xapp, now_ns: u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { handle_input(xapp, now_ns, XappInput::Connected) }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_disconnected(xapp: *mut ranlab_xapp, now_ns: u64) -> i32 {
    let why = LinkLoss::Broken("reported by the program".to_owned());
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { handle_input(xapp, now_ns, XappInput::Disconnected { why }) }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_wake(xapp: *mut ranlab_xapp, now_ns: u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { handle_input(xapp, now_ns, XappInput::Wake) }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_receive(
    xapp: *mut ranlab_xapp,
    now_ns: u64,
    pdu: *const u8,
    pdu_len: usize,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let pdu = octets(pdu, pdu_len)?;
            // The previous event is not used any more.
            (inner.last.view, inner.last.octets) = (None, None);
            let pdu = match fast::Head::peek(pdu) {
                Some(_) => inner.pool.take(pdu),
                // The application may keep other messages for a long time. They are copied, so that they do not keep
                // the buffer for indications alive.
                None => Bytes::copy_from_slice(pdu),
            };
            inner.xapp.handle(Time::from_nanos(now_ns), XappInput::Received { pdu });
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_wake_at(xapp: *mut ranlab_xapp, at_ns: *mut u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            out(at_ns)?.write(inner.xapp.wake_at().map_or(RANLAB_NEVER, Time::as_nanos));
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_transmit(
    xapp: *mut ranlab_xapp,
    now_ns: u64,
    buffer: *mut u8,
    buffer_len: usize,
    pdu_len: *mut usize,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let pdu_len = out(pdu_len)?;
            check_buffer(buffer, buffer_len)?;
            let waiting = inner.waiting.take();
            let frame = waiting.or_else(|| inner.xapp.transmit(Time::from_nanos(now_ns)));
            copy_out(frame, buffer, buffer_len, pdu_len).map_err(|frame| {
                inner.waiting = Some(frame);
                RANLAB_ERR_BUFFER_TOO_SMALL
            })
        })
    }
}

/// Returns the reference to a RAN function: its OID if one is given, or else its id.
///
/// # Safety
///
/// `by_oid` is null or points to a string.
unsafe fn function(id: u16, by_oid: *const c_char) -> Result<FunctionRef, i32> {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    Ok(unsafe { oid(by_oid)? }.map_or(FunctionRef::Id(id), FunctionRef::from))
}

fn subscribe_error(error: SubscribeError) -> i32 {
    match error {
        SubscribeError::TooMany(_) => RANLAB_ERR_LIMIT,
        SubscribeError::UnknownFunction => RANLAB_ERR_NODE_FUNCTION,
        _ => RANLAB_ERR_ENCODE,
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_subscribe(
    xapp: *mut ranlab_xapp,
    now_ns: u64,
    wanted: *const ranlab_wanted,
    subscription: *mut u64,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let wanted = wanted.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let to = out(subscription)?;
            let function = function(wanted.function, wanted.oid)?;
            let details = wanted.details()?;
            let handle = if wanted.node == 0 {
                let made = inner.xapp.subscribe_all(function, details.event_trigger, details.actions);
                made.map_err(subscribe_error)?.0
            } else {
                let node = inner.numbers.get(wanted.node).ok_or(RANLAB_ERR_NODE)?.0;
                let made = inner.xapp.subscribe(node, function, details.event_trigger, details.actions);
                made.map_err(subscribe_error)?.0
            };
            to.write(handle);
            inner.xapp.handle(Time::from_nanos(now_ns), XappInput::Wake);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_unsubscribe(
    xapp: *mut ranlab_xapp,
    now_ns: u64,
    subscription: u64,
) -> i32 {
    let handle = SubscriptionHandle(subscription);
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            inner.xapp.node_of(handle).ok_or(RANLAB_ERR_UNKNOWN_SUBSCRIPTION)?;
            inner.xapp.unsubscribe(handle);
            inner.xapp.handle(Time::from_nanos(now_ns), XappInput::Wake);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_unsubscribe_all(
    xapp: *mut ranlab_xapp,
    now_ns: u64,
    standing: u64,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            match standing {
                0 => inner.xapp.unsubscribe_everything(Time::from_nanos(now_ns)),
                standing => inner.xapp.unsubscribe_all(StandingHandle(standing)),
            }
            inner.xapp.handle(Time::from_nanos(now_ns), XappInput::Wake);
            Ok(())
        })
    }
}

fn control_error(error: ControlError) -> i32 {
    match error {
        ControlError::Order(_) => RANLAB_ERR_ORDER,
        ControlError::NotReady => RANLAB_ERR_NOT_READY,
        ControlError::UnknownNode => RANLAB_ERR_NODE,
        ControlError::UnknownFunction => RANLAB_ERR_NODE_FUNCTION,
        ControlError::TooMany(_) => RANLAB_ERR_LIMIT,
        _ => RANLAB_ERR_ENCODE,
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_control(
    xapp: *mut ranlab_xapp,
    now_ns: u64,
    command: *const ranlab_command,
    request: *mut u64,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let command = command.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let to = out(request)?;
            let function = function(command.function, command.oid)?;
            let octets = command.octets()?;
            let node = inner.numbers.get(command.node).ok_or(RANLAB_ERR_NODE)?.0;
            let CommandOctets { header, message, call_process_id } = octets;
            let ack = command.acknowledge != 0;
            let now = Time::from_nanos(now_ns);
            let sent = inner.xapp.answer(now, node, function, call_process_id, header, message, ack);
            to.write(sent.map_err(control_error)?.0);
            inner.xapp.handle(now, XappInput::Wake);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_order(
    xapp: *mut ranlab_xapp,
    now_ns: u64,
    order: *const ranlab_order,
    request: *mut u64,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let order = order.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let to = out(request)?;
            let node = inner.numbers.get(order.node).map(|(id, _)| *id);
            let now = Time::from_nanos(now_ns);
            let sent = node.ok_or_else(|| Refusal::from(RANLAB_ERR_NODE)).and_then(|node| {
                let (value, ue) = order.read(&node)?;
                let sent = inner.xapp.order(now, node, &value, &ue, order.acknowledge != 0);
                sent.map_err(|error| match error {
                    ControlError::Order(error) => error.into(),
                    other => control_error(other).into(),
                })
            });
            to.write(explain(order.why, order.why_max, sent)?.0);
            inner.xapp.handle(now, XappInput::Wake);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_kpm_action(
    xapp: *mut ranlab_xapp,
    choice: *const ranlab_kpm_choice,
    action: *mut u8,
    action_max: usize,
    action_len: *mut usize,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let choice = choice.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let node = inner.numbers.get(choice.node).ok_or(RANLAB_ERR_NODE)?.0;
            let info = inner.xapp.node(&node).ok_or(RANLAB_ERR_NODE)?;
            let made = explain(choice.why, choice.why_max, choice.action(&node, &info.functions))?;
            write(&made, action, action_max, action_len)
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_lost(xapp: *mut ranlab_xapp, subscription: u64, lost: *mut u64) -> i32 {
    let handle = SubscriptionHandle(subscription);
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let lost = out(lost)?;
            inner.xapp.node_of(handle).ok_or(RANLAB_ERR_UNKNOWN_SUBSCRIPTION)?;
            lost.write(inner.xapp.lost(handle).unwrap_or(u64::MAX));
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_xapp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_xapp_poll(xapp: *mut ranlab_xapp, event: *mut ranlab_xapp_event) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(xapp, |inner| {
            let event = out(event)?;
            let mut described = ranlab_xapp_event {
                kind: RANLAB_XAPP_NONE,
                change: 0,
                subscription: 0,
                standing: 0,
                node: null(),
                indication: null(),
                outcome: null(),
                not_admitted: null(),
                not_admitted_len: 0,
                text: c"".as_ptr(),
            };
            match inner.xapp.poll() {
                None => {}
                Some(XappOutput::Connect { address }) => {
                    described.kind = RANLAB_XAPP_CONNECT;
                    described.text = inner.last.text.keep(&address);
                }
                Some(XappOutput::Transmit) => described.kind = RANLAB_XAPP_TRANSMIT,
                Some(XappOutput::Close { reason }) => {
                    inner.waiting = None;
                    described.kind = RANLAB_XAPP_CLOSE;
                    described.text = inner.last.text.keep(&reason.to_string());
                }
                Some(XappOutput::Event(event)) => describe(inner, event, &mut described),
            }
            event.write(described);
            Ok(())
        })
    }
}

/// Converts a node to the C format, with its number if it is known.
fn describe_node(inner: &mut Inner, node: GlobalE2NodeId) -> *const ranlab_node {
    let info = inner.xapp.node(&node);
    let (components, functions) =
        info.map_or((&[][..], &[][..]), |it| (&it.components[..], &it.functions[..]));
    let kind = NodeKind::from_node(&node, components);
    let described =
        Described::new(inner.numbers.number_of(&node), &node, kind, (None, info.is_some()), functions);
    inner.last.node.insert(described).as_ptr()
}

fn describe(inner: &mut Inner, event: XappEvent, described: &mut ranlab_xapp_event) {
    match event {
        XappEvent::Indication { handle, standing, node, indication: view } => {
            described.kind = RANLAB_XAPP_INDICATION;
            described.subscription = handle.0;
            described.standing = standing.map_or(0, |standing| standing.0);
            let node = inner.numbers.number_of(&node);
            let view = inner.last.view.insert(view);
            let indication = indication(
                (handle.0, node),
                (view.function, view.action, view.sn),
                view.kind,
                (&view.header, &view.message),
                view.call_process_id.as_deref(),
            );
            described.indication = inner.last.indication.insert(indication);
        }
        XappEvent::NodeAdded { node } => describe_change(inner, described, RANLAB_NODE_ADDED, node),
        XappEvent::NodeChanged { node } => describe_change(inner, described, RANLAB_NODE_CHANGED, node),
        XappEvent::NodeRemoved { node } => describe_change(inner, described, RANLAB_NODE_REMOVED, node),
        XappEvent::Subscribed { handle, node, not_admitted } => {
            let ids = not_admitted.iter().map(|ActionFailed { id, .. }| *id);
            inner.last.not_admitted = ids.collect();
            let ids = &inner.last.not_admitted;
            (described.not_admitted, described.not_admitted_len) = (ids.as_ptr(), ids.len());
            describe_subscription(inner, described, RANLAB_XAPP_SUBSCRIBED, handle, node);
        }
        XappEvent::SubscriptionFailed { handle, node, failure } => {
            describe_subscription(inner, described, RANLAB_XAPP_SUBSCRIPTION_FAILED, handle, node);
            described.text = inner.last.text.keep(&failure.to_string());
        }
        XappEvent::Unsubscribed { handle, node } => {
            describe_subscription(inner, described, RANLAB_XAPP_UNSUBSCRIBED, handle, node);
        }
        XappEvent::ControlAcknowledged { handle, outcome } => {
            describe_outcome(inner, described, handle, outcome, None);
        }
        XappEvent::ControlFailed { handle, failure, outcome } => {
            describe_outcome(inner, described, handle, outcome, Some(failure.to_string()));
        }
        XappEvent::Ready { .. } => described.kind = RANLAB_XAPP_READY,
        XappEvent::Disconnected { why, .. } => {
            described.kind = RANLAB_XAPP_DISCONNECTED;
            described.text = inner.last.text.keep(&why.to_string());
        }
        other => {
            described.kind = RANLAB_XAPP_OTHER;
            described.text = inner.last.text.keep(&format!("{other:?}"));
        }
    }
}

fn describe_change(inner: &mut Inner, described: &mut ranlab_xapp_event, change: u32, node: GlobalE2NodeId) {
    if change == RANLAB_NODE_ADDED {
        inner.numbers.enter(node, || ());
    }
    (described.kind, described.change) = (RANLAB_XAPP_NODE, change);
    described.node = describe_node(inner, node);
    if change == RANLAB_NODE_REMOVED {
        inner.numbers.forget(&node);
    }
}

fn describe_subscription(
    inner: &mut Inner,
    described: &mut ranlab_xapp_event,
    kind: u32,
    handle: SubscriptionHandle,
    node: GlobalE2NodeId,
) {
    (described.kind, described.subscription) = (kind, handle.0);
    described.node = describe_node(inner, node);
}

fn describe_outcome(
    inner: &mut Inner,
    described: &mut ranlab_xapp_event,
    handle: ControlHandle,
    octets: Option<Bytes>,
    why: Option<String>,
) {
    described.kind = RANLAB_XAPP_OUTCOME;
    inner.last.octets = octets;
    inner.last.why = c_string(why.as_deref().unwrap_or_default());
    let octets = inner.last.octets.as_ref();
    let outcome = ranlab_outcome {
        request: handle.0,
        done: u8::from(why.is_none()),
        outcome: octets.map_or(null(), |octets| octets.as_ptr()),
        outcome_len: octets.map_or(0, Bytes::len),
        why: inner.last.why.as_ptr(),
    };
    described.outcome = inner.last.outcome.insert(outcome);
}
