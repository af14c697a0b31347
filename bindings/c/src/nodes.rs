//! Nodes as seen by a RIC and its xApps, and the requests that both send to nodes.
use crate::error::*;
use crate::guard::c_string;
use crate::types::*;
use bytes::Bytes;
use ranlab_e2::ric::NodeKind;
use ranlab_e2_codec::e2ap::{
    ActionToBeSetup, EnbId, GlobalE2NodeId, NgEnbId, RanFunctionItem, RicActionType, RicIndicationType,
    RicSubscriptionDetails, Version,
};
use ranlab_e2_codec::per::ShortBits;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};

pub const RANLAB_NODE_ADDED: u32 = 0;
pub const RANLAB_NODE_CHANGED: u32 = 1;
pub const RANLAB_NODE_REMOVED: u32 = 2;

pub const RANLAB_E2AP_UNKNOWN: u8 = 255;
pub const RANLAB_NO_SN: u32 = u32::MAX;

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_node_function {
    pub id: u16,
    pub revision: u16,
    pub oid: *const c_char,
    pub definition: *const u8,
    pub definition_len: usize,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_node {
    pub node: u32,
    pub mcc: u16,
    pub mnc: u16,
    pub mnc_digits: u8,
    pub kind: u8,
    pub id_bits: u8,
    pub e2ap: u8,
    pub connected: u8,
    pub id: u32,
    pub part_id: u64,
    pub name: *const c_char,
    pub functions: *const ranlab_node_function,
    pub functions_len: usize,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_indication {
    pub subscription: u64,
    pub node: u32,
    pub sn: u32,
    pub function: u16,
    pub action: u8,
    pub kind: u8,
    pub header: *const u8,
    pub header_len: usize,
    pub message: *const u8,
    pub message_len: usize,
    pub call_process_id: *const u8,
    pub call_process_id_len: usize,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_wanted {
    pub node: u32,
    pub function: u16,
    pub oid: *const c_char,
    pub event_trigger: *const u8,
    pub event_trigger_len: usize,
    pub actions: *const ranlab_action,
    pub actions_len: usize,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_command {
    pub node: u32,
    pub function: u16,
    pub acknowledge: u8,
    pub oid: *const c_char,
    pub header: *const u8,
    pub header_len: usize,
    pub message: *const u8,
    pub message_len: usize,
    pub call_process_id: *const u8,
    pub call_process_id_len: usize,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_outcome {
    pub request: u64,
    pub done: u8,
    pub outcome: *const u8,
    pub outcome_len: usize,
    pub why: *const c_char,
}

/// Numbers of nodes, with data per node. Numbers start from 1 and are never reused.
pub(crate) struct Numbers<T> {
    last: u32,
    by_id: BTreeMap<GlobalE2NodeId, u32>,
    known: BTreeMap<u32, (GlobalE2NodeId, T)>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { last: 0, by_id: BTreeMap::new(), known: BTreeMap::new() }
    }
}

impl<T> Numbers<T> {
    /// Returns the number of a node, or 0 for an unknown node.
    pub(crate) fn number_of(&self, id: &GlobalE2NodeId) -> u32 {
        self.by_id.get(id).copied().unwrap_or(0)
    }

    /// Returns the number and the data of a node. An unknown node receives a new number.
    pub(crate) fn enter(&mut self, id: GlobalE2NodeId, new: impl FnOnce() -> T) -> (u32, &mut T) {
        let by_id = &mut self.by_id;
        let last = &mut self.last;
        let number = *by_id.entry(id).or_insert_with(|| {
            *last = last.wrapping_add(1).max(1);
            *last
        });
        (number, &mut self.known.entry(number).or_insert_with(|| (id, new())).1)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&(GlobalE2NodeId, T)> {
        self.known.get(&number)
    }

    pub(crate) fn forget(&mut self, id: &GlobalE2NodeId) {
        if let Some(number) = self.by_id.remove(id) {
            self.known.remove(&number);
        }
    }
}

fn kind_of(id: &GlobalE2NodeId, kind: NodeKind) -> (u8, ShortBits) {
    match (id, kind) {
        (GlobalE2NodeId::Gnb(n), kind) => {
            let kind = match kind {
                NodeKind::Whole => RANLAB_NODE_GNB,
                NodeKind::Cu => RANLAB_NODE_GNB_CU,
                NodeKind::CuCp => RANLAB_NODE_GNB_CU_CP,
                NodeKind::CuUp => RANLAB_NODE_GNB_CU_UP,
                NodeKind::Du => RANLAB_NODE_GNB_DU,
            };
            (kind, n.gnb.gnb_id)
        }
        (GlobalE2NodeId::EnGnb(n), kind) => {
            let kind = match kind {
                NodeKind::CuUp => RANLAB_NODE_EN_GNB_CU_UP,
                NodeKind::Du => RANLAB_NODE_EN_GNB_DU,
                _ => RANLAB_NODE_EN_GNB,
            };
            (kind, n.en_gnb.gnb_id)
        }
        (GlobalE2NodeId::NgEnb(n), kind) => {
            let kind = if kind == NodeKind::Du { RANLAB_NODE_NG_ENB_DU } else { RANLAB_NODE_NG_ENB };
            let (NgEnbId::Macro(id) | NgEnbId::ShortMacro(id) | NgEnbId::LongMacro(id)) = n.ng_enb.enb_id;
            (kind, id)
        }
        (GlobalE2NodeId::Enb(n), _) => {
            let (EnbId::Macro(id) | EnbId::Home(id) | EnbId::ShortMacro(id) | EnbId::LongMacro(id)) =
                n.enb.enb_id;
            (RANLAB_NODE_ENB, id)
        }
    }
}

/// A node in C format: the struct and the data that it points to.
pub(crate) struct Described {
    node: ranlab_node,
    _name: CString,
    _oids: Vec<CString>,
    _definitions: Vec<Bytes>,
    _functions: Vec<ranlab_node_function>,
}

impl Described {
    pub(crate) fn new(
        number: u32,
        id: &GlobalE2NodeId,
        kind: NodeKind,
        (version, connected): (Option<Version>, bool),
        functions: &[RanFunctionItem],
    ) -> Self {
        let name = c_string(&id.to_string());
        let oids: Vec<_> = functions.iter().map(|f| c_string(f.oid.as_deref().unwrap_or_default())).collect();
        let definitions: Vec<_> = functions.iter().map(|f| f.definition.clone()).collect();
        let described = functions.iter().zip(&oids).zip(&definitions);
        let functions: Vec<_> = described
            .map(|((function, oid), definition)| ranlab_node_function {
                id: function.id,
                revision: function.revision,
                oid: oid.as_ptr(),
                definition: definition.as_ptr(),
                definition_len: definition.len(),
            })
            .collect();
        let (kind, bits) = kind_of(id, kind);
        // The displayed form of a PLMN, for example `505.01`.
        let network = id.plmn().to_string();
        let (mcc, mnc) = network.split_once('.').unwrap_or_default();
        let node = ranlab_node {
            node: number,
            mcc: mcc.parse().unwrap_or(0),
            mnc: mnc.parse().unwrap_or(0),
            mnc_digits: mnc.len() as u8,
            kind,
            id_bits: bits.len_bits,
            e2ap: version.map_or(RANLAB_E2AP_UNKNOWN, |version| match version {
                Version::V1_01 => RANLAB_E2AP_1_01,
                Version::V2_03 => RANLAB_E2AP_2_03,
                Version::V3_01 => RANLAB_E2AP_3_01,
            }),
            connected: connected.into(),
            // The id has at most 32 bits.
            id: bits.value as u32,
            part_id: id.part_ids().0.or_else(|| id.part_ids().1).unwrap_or(0),
            name: name.as_ptr(),
            functions: functions.as_ptr(),
            functions_len: functions.len(),
        };
        Self { node, _name: name, _oids: oids, _definitions: definitions, _functions: functions }
    }

    /// Returns a pointer that is valid until this is dropped.
    pub(crate) fn as_ptr(&self) -> *const ranlab_node {
        &self.node
    }
}

/// Converts an indication to the C format. The pointers in the result refer to the arguments.
pub(crate) fn indication(
    (subscription, node): (u64, u32),
    (function, action, sn): (u16, u8, Option<u16>),
    kind: RicIndicationType,
    (header, message): (&[u8], &[u8]),
    call_process_id: Option<&[u8]>,
) -> ranlab_indication {
    ranlab_indication {
        subscription,
        node,
        sn: sn.map_or(RANLAB_NO_SN, u32::from),
        function,
        action,
        kind: match kind {
            RicIndicationType::Report => RANLAB_ACTION_REPORT,
            RicIndicationType::Insert => RANLAB_ACTION_INSERT,
        },
        header: header.as_ptr(),
        header_len: header.len(),
        message: message.as_ptr(),
        message_len: message.len(),
        call_process_id: call_process_id.map_or(std::ptr::null(), <[u8]>::as_ptr),
        call_process_id_len: call_process_id.map_or(0, <[u8]>::len),
    }
}

/// Copies bytes passed by C.
///
/// # Safety
/// See [`octets`].
unsafe fn kept(at: *const u8, len: usize) -> Result<Bytes, i32> {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    unsafe { octets(at, len) }.map(Bytes::copy_from_slice)
}

impl ranlab_wanted {
    /// Converts the subscription details.
    ///
    /// # Safety
    /// The pointers are valid, as the header requires.
    pub(crate) unsafe fn details(&self) -> Result<RicSubscriptionDetails, i32> {
        if self.actions.is_null() {
            return Err(RANLAB_ERR_NULL);
        }
        if !(1..=16).contains(&self.actions_len) {
            return Err(RANLAB_ERR_INVALID);
        }
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let (event_trigger, actions) = unsafe {
            (
                kept(self.event_trigger, self.event_trigger_len)?,
                std::slice::from_raw_parts(self.actions, self.actions_len),
            )
        };
        let action = |action: &ranlab_action| {
            // SAFETY: the caller guarantees the requirements under `# Safety`.
            let definition = unsafe { kept(action.definition, action.definition_len)? };
            let kind = match action.kind {
                RANLAB_ACTION_REPORT => RicActionType::Report,
                RANLAB_ACTION_INSERT => RicActionType::Insert,
                RANLAB_ACTION_POLICY => RicActionType::Policy,
                _ => return Err(RANLAB_ERR_INVALID),
            };
            let definition = Some(definition).filter(|definition| !definition.is_empty());
            Ok(ActionToBeSetup { kind, definition, ..ActionToBeSetup::report(action.id) })
        };
        Ok(RicSubscriptionDetails {
            event_trigger,
            actions: actions.iter().map(action).collect::<Result<_, _>>()?,
        })
    }
}

/// Encoded fields of a control request.
pub(crate) struct CommandOctets {
    pub(crate) header: Bytes,
    pub(crate) message: Bytes,
    pub(crate) call_process_id: Option<Bytes>,
}

impl ranlab_command {
    /// Copies its bytes.
    ///
    /// # Safety
    /// The pointers are valid, as the header requires.
    pub(crate) unsafe fn octets(&self) -> Result<CommandOctets, i32> {
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let (header, message, id) = unsafe {
            (
                kept(self.header, self.header_len)?,
                kept(self.message, self.message_len)?,
                kept(self.call_process_id, self.call_process_id_len)?,
            )
        };
        Ok(CommandOctets { header, message, call_process_id: Some(id).filter(|id| !id.is_empty()) })
    }
}
