//! C functions `ranlab_ric_*`.
use crate::error::*;
use crate::guard::*;
use crate::iapp::{Callbacks, Nodes, ranlab_iapp};
use crate::node::{is_network, version};
use crate::types::*;
use ranlab_e2::ric::{
    ConnId, IAppId, Limits, ListenerProtocol, Ric, RicConfig, RicEvent, RicInput, RicOutput,
};
use ranlab_e2::{Frame, LinkLoss, Time};
use ranlab_e2_codec::e2ap::{GlobalRicId, Plmn};
use ranlab_e2_codec::per::ShortBits;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

/// Maximum number of iApps of a RIC.
const IAPPS_MAX: usize = 256;
/// Length of the identity of a RIC, in bits.
const RIC_ID_BITS: u8 = 20;
/// Maximum number of nodes that a configuration may let the RIC remember.
const NODES_MAX: u32 = 65_536;

pub const RANLAB_SIDE_E2: u8 = 0;
pub const RANLAB_SIDE_E42: u8 = 1;

pub const RANLAB_RIC_NONE: u32 = 0;
pub const RANLAB_RIC_TRANSMIT: u32 = 1;
pub const RANLAB_RIC_CLOSE: u32 = 2;
pub const RANLAB_RIC_LOG: u32 = 3;

/// Documented in `include/ranlab_ric.h`.
#[repr(C)]
pub struct ranlab_ric_config {
    pub mcc: u16,
    pub mnc: u16,
    pub mnc_digits: u8,
    pub e2ap: u8,
    pub first_instance: u16,
    pub ric_id: u32,
    pub nodes_max: u32,
}

/// Documented in `include/ranlab_ric.h`.
#[repr(C)]
pub struct ranlab_ric_event {
    pub kind: u32,
    pub connection: u64,
    pub text: *const c_char,
}

handle!(ranlab_ric);

struct Inner {
    ric: Ric,
    nodes: Nodes,
    iapps: Vec<IAppId>,
    last_connection: u64,
    /// Open connections, each with a frame that did not fit into the caller's buffer, if any.
    connections: BTreeMap<u64, Option<Frame>>,
    /// Connections with queued frames that the program has been asked to transmit and has not yet taken.
    undrained: Vec<ConnId>,
    pool: Pool,
    text: Text,
}

impl Inner {
    fn on_disconnect(&mut self, conn: ConnId) {
        self.connections.remove(&conn.0);
        self.drained(conn);
    }

    /// Returns the next output. Outputs for a connection that the program has already closed are skipped.
    fn next(&mut self) -> Option<RicOutput> {
        loop {
            let output = self.ric.poll()?;
            match &output {
                RicOutput::Transmit(conn) | RicOutput::Close { conn, .. }
                    if !self.connections.contains_key(&conn.0) => {}
                // A RIC emits this output only as one of several RICs, which cannot be configured from C.
                RicOutput::Connect { .. } => {}
                _ => return Some(output),
            }
        }
    }

    fn drained(&mut self, conn: ConnId) {
        self.undrained.retain(|it| *it != conn);
    }

    fn known(&self, connection: u64) -> Result<ConnId, i32> {
        let known = self.connections.contains_key(&connection);
        known.then_some(ConnId(connection)).ok_or(RANLAB_ERR_UNKNOWN_CONNECTION)
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_new(config: *const ranlab_ric_config, ric: *mut *mut ranlab_ric) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        let (config, ric) = unsafe { (config.as_ref().ok_or(RANLAB_ERR_NULL)?, out(ric)?) };
        let plausible = is_network(config.mcc, config.mnc, config.mnc_digits)
            && config.ric_id < 1 << RIC_ID_BITS
            && config.nodes_max <= NODES_MAX;
        if !plausible {
            return Err(RANLAB_ERR_INVALID);
        }
        let version = version(config.e2ap)?;
        let limits = match config.nodes_max {
            0 => Limits::default(),
            nodes => Limits::for_nodes(nodes as usize),
        };
        let plmn = Plmn::new(config.mcc, config.mnc, config.mnc_digits);
        let ric_id = GlobalRicId { plmn, ric_id: ShortBits::new(config.ric_id.into(), RIC_ID_BITS) };
        let config = RicConfig::default().with(|it| {
            (it.ric_id, it.version, it.limits) = (ric_id, version, limits);
            it.first_instance = config.first_instance;
        });
        let inner = Inner {
            ric: Ric::new(config),
            nodes: Nodes::default(),
            iapps: Vec::new(),
            last_connection: 0,
            connections: BTreeMap::new(),
            undrained: Vec::new(),
            pool: Pool::new(),
            text: Text::default(),
        };
        give(inner, ric);
        Ok(())
    })
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_free(ric: *mut ranlab_ric) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe { free(ric) }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_add_iapp(
    ric: *mut ranlab_ric,
    iapp: *const ranlab_iapp,
    userdata: *mut c_void,
    number: *mut u32,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            if inner.iapps.len() >= IAPPS_MAX {
                return Err(RANLAB_ERR_LIMIT);
            }
            let iapp = iapp.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let iapp = Callbacks::new(iapp, userdata, inner.nodes.clone())?;
            let place = inner.iapps.len() as u32;
            inner.iapps.push(inner.ric.add_iapp(Box::new(iapp)));
            if let Ok(number) = out(number) {
                number.write(place);
            }
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_rouse(ric: *mut ranlab_ric, now_ns: u64, iapp: u32) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            let iapp = inner.iapps.get(iapp as usize).ok_or(RANLAB_ERR_UNKNOWN_IAPP)?;
            inner.ric.wake_iapp(Time::from_nanos(now_ns), *iapp);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_connected(
    ric: *mut ranlab_ric,
    now_ns: u64,
    side: u8,
    peer: *const c_char,
    connection: *mut u64,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            let peer = string(peer)?.to_owned();
            let connection = out(connection)?;
            let side = match side {
                RANLAB_SIDE_E2 => ListenerProtocol::E2,
                RANLAB_SIDE_E42 => ListenerProtocol::E42,
                _ => return Err(RANLAB_ERR_INVALID),
            };
            inner.last_connection += 1;
            connection.write(inner.last_connection);
            inner.connections.insert(inner.last_connection, None);
            let conn = ConnId(inner.last_connection);
            inner.ric.handle(Time::from_nanos(now_ns), RicInput::Connected { conn, side, peer });
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_disconnected(ric: *mut ranlab_ric, now_ns: u64, connection: u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            let conn = inner.known(connection)?;
            inner.on_disconnect(conn);
            let why = LinkLoss::Broken("reported by the program".to_owned());
            inner.ric.handle(Time::from_nanos(now_ns), RicInput::Disconnected { conn, why });
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_receive(
    ric: *mut ranlab_ric,
    now_ns: u64,
    connection: u64,
    pdu: *const u8,
    pdu_len: usize,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            let conn = inner.known(connection)?;
            let pdu = octets(pdu, pdu_len)?;
            // If a slow peer has not read its frames, these frames would keep the buffer for received PDUs alive.
            inner.undrained.iter().for_each(|conn| inner.ric.transport_full(*conn));
            let pdu = inner.pool.take(pdu);
            inner.ric.handle(Time::from_nanos(now_ns), RicInput::Received { conn, pdu });
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_wake(ric: *mut ranlab_ric, now_ns: u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            inner.ric.handle(Time::from_nanos(now_ns), RicInput::Wake);
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_wake_at(ric: *mut ranlab_ric, at_ns: *mut u64) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            out(at_ns)?.write(inner.ric.wake_at().map_or(RANLAB_NEVER, Time::as_nanos));
            Ok(())
        })
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_poll(ric: *mut ranlab_ric, event: *mut ranlab_ric_event) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            let event = out(event)?;
            let (kind, connection, text) = match inner.next() {
                None | Some(RicOutput::Connect { .. }) => (RANLAB_RIC_NONE, 0, String::new()),
                Some(RicOutput::Transmit(conn)) => {
                    inner.drained(conn);
                    inner.undrained.push(conn);
                    (RANLAB_RIC_TRANSMIT, conn.0, String::new())
                }
                Some(RicOutput::Close { conn, reason }) => {
                    inner.on_disconnect(conn);
                    (RANLAB_RIC_CLOSE, conn.0, reason)
                }
                Some(RicOutput::Event(event)) => (RANLAB_RIC_LOG, 0, describe(&event)),
            };
            event.write(ranlab_ric_event { kind, connection, text: inner.text.keep(&text) });
            Ok(())
        })
    }
}

/// Returns a description of the event for logs.
fn describe(event: &RicEvent) -> String {
    match event {
        RicEvent::NodeConnected { node, peer, .. } => format!("{node} has connected from {peer}"),
        RicEvent::NodeLost { node, why } => format!("{node} is lost: {why}"),
        RicEvent::NodeRemoved(node) => format!("{node} was removed"),
        RicEvent::Fault { peer, what, .. } => format!("{peer}: {what}"),
        other => format!("{other:?}"),
    }
}

/// Documented in `include/ranlab_ric.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_ric_transmit(
    ric: *mut ranlab_ric,
    now_ns: u64,
    connection: u64,
    buffer: *mut u8,
    buffer_len: usize,
    pdu_len: *mut usize,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        with(ric, |inner| {
            let pdu_len = out(pdu_len)?;
            check_buffer(buffer, buffer_len)?;
            let waiting = inner.connections.get_mut(&connection).ok_or(RANLAB_ERR_UNKNOWN_CONNECTION)?;
            let conn = ConnId(connection);
            let frame = waiting.take().or_else(|| inner.ric.transmit(Time::from_nanos(now_ns), conn));
            let is_last = frame.is_none();
            copy_out(frame, buffer, buffer_len, pdu_len).map_err(|mut frame| {
                frame.detach();
                *waiting = Some(frame);
                RANLAB_ERR_BUFFER_TOO_SMALL
            })?;
            if is_last {
                inner.drained(conn);
            }
            Ok(())
        })
    }
}
