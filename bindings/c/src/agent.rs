//! C functions `ranlab_agent_*`.
use crate::error::*;
use crate::function::Callbacks;
use crate::guard::*;
use crate::types::*;
use bytes::Bytes;
use ranlab_e2::agent::{
    Agent, AgentEvent, AgentInput, AgentOutput, ControllerError, ControllerId, RanFunction, UeError, UeId,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

handle!(ranlab_agent);

struct Inner {
    agent: Agent,
    /// PDUs that did not fit into the caller's buffer, by controller.
    waiting: BTreeMap<ControllerId, Frame>,
    /// Text of the last event.
    text: Text,
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_new(
    config: *const ranlab_agent_config,
    agent: *mut *mut ranlab_agent,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (config, agent) = unsafe { (config.as_ref().ok_or(RANLAB_ERR_NULL)?, out(agent)?) };
        // SAFETY: the caller passes valid pointers, as the header requires.
        let config = unsafe { crate::node::agent_config(config)? };
        give(Inner { agent: Agent::new(config), waiting: BTreeMap::new(), text: Text::default() }, agent);
        Ok(())
    })
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_free(agent: *mut ranlab_agent) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { free(agent) }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_register_function(
    agent: *mut ranlab_agent,
    function: *const ranlab_function,
    userdata: *mut c_void,
    id: *mut u16,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        let make = || {
            let function = Callbacks::new(function.as_ref().ok_or(RANLAB_ERR_NULL)?, userdata)?;
            Ok(Box::new(function) as Box<dyn RanFunction>)
        };
        let (outcome, given) = register(agent, None, make);
        given.iter().for_each(|given| write_if_wanted(id, *given));
        outcome
    }
}

/// Registers a function, under `id` if it is given. Returns the error code, and the id under which the function was
/// registered.
///
/// # Safety
///
/// See [`with`].
pub(crate) unsafe fn register(
    agent: *mut ranlab_agent,
    id: Option<u16>,
    make: impl FnOnce() -> Result<Box<dyn RanFunction>, i32>,
) -> (i32, Option<u16>) {
    let mut given = None;
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    let outcome = unsafe {
        with(agent, |inner| {
            given = Some(inner.agent.register(make()?, id).map_err(|_| RANLAB_ERR_FUNCTION)?);
            Ok(())
        })
    };
    (outcome, given)
}

/// # Safety
/// `to` is null or points to memory for a `T`.
unsafe fn write_if_wanted<T>(to: *mut T, value: T) {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    if let Ok(to) = unsafe { out(to) } {
        to.write(value);
    }
}

fn controller_error(error: ControllerError) -> i32 {
    match error {
        ControllerError::TooMany(_) => RANLAB_ERR_CONTROLLER_LIMIT,
        ControllerError::AlreadyThere(_) => RANLAB_ERR_CONTROLLER_TAKEN,
        ControllerError::Unknown(_) => RANLAB_ERR_UNKNOWN_CONTROLLER,
        _ => RANLAB_ERR_INVALID,
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_add_controller(
    agent: *mut ranlab_agent,
    now_ns: u64,
    address: *const c_char,
    controller: *mut u32,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            let address = string(address)?.to_owned();
            let added = inner.agent.add_controller(Time::from_nanos(now_ns), address);
            write_if_wanted(controller, added.map_err(controller_error)?.0);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_remove_controller(
    agent: *mut ranlab_agent,
    now_ns: u64,
    controller: u32,
) -> i32 {
    let now = Time::from_nanos(now_ns);
    let controller = ControllerId(controller);
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { with(agent, |inner| inner.agent.remove_controller(now, controller).map_err(controller_error)) }
}

fn ue_error(error: UeError) -> i32 {
    match error {
        UeError::UnknownController(_) => RANLAB_ERR_UNKNOWN_CONTROLLER,
        _ => RANLAB_ERR_UE,
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_ue_arrived(agent: *mut ranlab_agent, ue: u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { with(agent, |inner| inner.agent.ue_arrived(UeId(ue)).map_err(ue_error)) }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_ue_left(agent: *mut ranlab_agent, ue: u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            inner.agent.ue_left(UeId(ue));
            Ok(())
        })
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_associate_ue(
    agent: *mut ranlab_agent,
    ue: u64,
    controller: u32,
) -> i32 {
    let ue = UeId(ue);
    let controller = ControllerId(controller);
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { with(agent, |inner| inner.agent.associate_ue(ue, controller).map_err(ue_error)) }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_dissociate_ue(
    agent: *mut ranlab_agent,
    ue: u64,
    controller: u32,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            inner.agent.dissociate_ue(UeId(ue), ControllerId(controller));
            Ok(())
        })
    }
}

/// Passes an input to the agent. An unknown controller is an error, although the agent would ignore it.
fn handle_input(
    inner: &mut Inner,
    now_ns: u64,
    controller: ControllerId,
    input: AgentInput,
) -> Result<(), i32> {
    if !inner.agent.controllers().any(|(id, _)| id == controller) {
        return Err(RANLAB_ERR_UNKNOWN_CONTROLLER);
    }
    if !matches!(input, AgentInput::Received { .. }) {
        // The connection has started or ended. A pending PDU belongs to the previous connection.
        inner.waiting.remove(&controller);
    }
    inner.agent.handle(Time::from_nanos(now_ns), input);
    Ok(())
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_connected(
    agent: *mut ranlab_agent,
    now_ns: u64,
    controller: u32,
) -> i32 {
    let controller = ControllerId(controller);
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| handle_input(inner, now_ns, controller, AgentInput::Connected { controller }))
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_disconnected(
    agent: *mut ranlab_agent,
    now_ns: u64,
    controller: u32,
) -> i32 {
    let controller = ControllerId(controller);
    let why = LinkLoss::Broken("reported by the program".to_owned());
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            handle_input(inner, now_ns, controller, AgentInput::Disconnected { controller, why })
        })
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_receive(
    agent: *mut ranlab_agent,
    now_ns: u64,
    controller: u32,
    pdu: *const u8,
    pdu_len: usize,
) -> i32 {
    let controller = ControllerId(controller);
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            let pdu = Bytes::copy_from_slice(octets(pdu, pdu_len)?);
            handle_input(inner, now_ns, controller, AgentInput::Received { controller, pdu })
        })
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_wake(agent: *mut ranlab_agent, now_ns: u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            inner.agent.handle(Time::from_nanos(now_ns), AgentInput::Wake);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_rouse(agent: *mut ranlab_agent, now_ns: u64, function: u16) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            inner.agent.wake_function(Time::from_nanos(now_ns), function);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_wake_at(agent: *mut ranlab_agent, at_ns: *mut u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            out(at_ns)?.write(inner.agent.wake_at().map_or(RANLAB_NEVER, Time::as_nanos));
            Ok(())
        })
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_poll(agent: *mut ranlab_agent, event: *mut ranlab_event) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            let event = out(event)?;
            let (kind, controller, subscription, text) = match inner.agent.poll() {
                None => (RANLAB_EVENT_NONE, None, 0, String::new()),
                Some(output) => describe(inner, output),
            };
            let controller = controller.map_or(u32::MAX, |c: ControllerId| c.0);
            // Most events have no text and need no allocation.
            let at = inner.text.keep(&text);
            event.write(ranlab_event { kind, controller, subscription, text: at });
            Ok(())
        })
    }
}

type Description = (u32, Option<ControllerId>, u64, String);

fn describe(inner: &mut Inner, output: AgentOutput) -> Description {
    match output {
        AgentOutput::Connect { controller, address } => (RANLAB_EVENT_CONNECT, Some(controller), 0, address),
        AgentOutput::Transmit { controller } => (RANLAB_EVENT_TRANSMIT, Some(controller), 0, String::new()),
        AgentOutput::Close { controller, reason } => {
            inner.waiting.remove(&controller);
            (RANLAB_EVENT_CLOSE, Some(controller), 0, reason.to_string())
        }
        AgentOutput::Event(event) => {
            let text = format!("{event:?}");
            let (kind, controller, subscription) = match event {
                AgentEvent::SetupComplete { controller, .. } => (RANLAB_EVENT_SETUP, Some(controller), 0),
                AgentEvent::Disconnected { controller, .. } => {
                    (RANLAB_EVENT_DISCONNECTED, Some(controller), 0)
                }
                AgentEvent::Subscribed { controller, subscription, .. } => {
                    (RANLAB_EVENT_SUBSCRIBED, Some(controller), subscription.0)
                }
                AgentEvent::Unsubscribed { controller, subscription } => {
                    (RANLAB_EVENT_UNSUBSCRIBED, Some(controller), subscription.0)
                }
                _ => (RANLAB_EVENT_OTHER, None, 0),
            };
            (kind, controller, subscription, text)
        }
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_transmit(
    agent: *mut ranlab_agent,
    now_ns: u64,
    controller: u32,
    buffer: *mut u8,
    buffer_len: usize,
    pdu_len: *mut usize,
) -> i32 {
    let now = Time::from_nanos(now_ns);
    let controller = ControllerId(controller);
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(agent, |inner| {
            let pdu_len = out(pdu_len)?;
            check_buffer(buffer, buffer_len)?;
            let waiting = inner.waiting.remove(&controller);
            let frame = waiting.or_else(|| inner.agent.transmit(now, controller));
            copy_out(frame, buffer, buffer_len, pdu_len).map_err(|frame| {
                inner.waiting.insert(controller, frame);
                RANLAB_ERR_BUFFER_TOO_SMALL
            })
        })
    }
}
