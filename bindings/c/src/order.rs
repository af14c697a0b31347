//! Orders of RC as structs, controls as JSON values, and measurements of KPM by name. All of them are checked before
//! they are sent.
use crate::error::*;
use crate::guard::check_buffer;
use crate::node::is_network;
use crate::types::*;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Plmn, RanFunctionItem};
use ranlab_e2_codec::e2sm::common::{NrCgi, Snssai, UeNumbers};
use ranlab_e2_codec::e2sm::kpm::{self, Selection};
use ranlab_e2_codec::e2sm::rc::OrderError;
use ranlab_e2_codec::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_e2_codec::e2sm::{Encoding, Form, Octets, by_oid};
use std::ffi::c_char;

pub const RANLAB_ORDER_QUOTAS: u32 = 0;
pub const RANLAB_ORDER_HANDOVER: u32 = 1;

/// Maximum number of quotas of an order.
const QUOTAS_MAX: usize = 1_024;

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_quota {
    pub mcc: u16,
    pub mnc: u16,
    pub mnc_digits: u8,
    pub sst: u8,
    pub min: u8,
    pub max: u8,
    pub dedicated: u8,
    pub sd: u32,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_order {
    pub node: u32,
    pub kind: u32,
    pub acknowledge: u8,
    pub mnc_digits: u8,
    pub mcc: u16,
    pub mnc: u16,
    pub cell: u64,
    pub ue: *const c_char,
    pub quotas: *const ranlab_quota,
    pub quotas_len: usize,
    pub why: *mut c_char,
    pub why_max: usize,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_values {
    pub oid: *const c_char,
    pub definition: *const u8,
    pub definition_len: usize,
    pub header: *const c_char,
    pub message: *const c_char,
    pub why: *mut c_char,
    pub why_max: usize,
}

/// Documented in `include/ranlab_nodes.h`.
#[repr(C)]
pub struct ranlab_kpm_choice {
    pub node: u32,
    pub part: u32,
    pub style: u32,
    pub period_ms: u32,
    pub granularity_ms: u32,
    pub measurements: *const c_char,
    pub ues: *const c_char,
    pub snssai: *const c_char,
    pub cell: *const c_char,
    pub why: *mut c_char,
    pub why_max: usize,
}

/// An error code, and the error text for the caller's buffer.
pub(crate) struct Refusal {
    number: i32,
    why: String,
}

impl Refusal {
    fn new(number: i32, why: impl ToString) -> Self {
        Self { number, why: why.to_string() }
    }

    fn invalid(why: impl ToString) -> Self {
        Self::new(RANLAB_ERR_INVALID, why)
    }
}

impl From<i32> for Refusal {
    fn from(number: i32) -> Self {
        Self { number, why: text(number).to_string_lossy().into_owned() }
    }
}

impl From<OrderError> for Refusal {
    fn from(error: OrderError) -> Self {
        let number = match error {
            OrderError::NoFunction(_) => RANLAB_ERR_NODE_FUNCTION,
            OrderError::NotOffered { .. } => RANLAB_ERR_NOT_OFFERED,
            OrderError::Encode(_) => RANLAB_ERR_ENCODE,
            _ => RANLAB_ERR_ORDER,
        };
        Self::new(number, error)
    }
}

/// Writes the error text to the caller's buffer, truncated to fit, with a NUL. After a success, the text is empty.
///
/// # Safety
///
/// `why` is null, or has space for `why_max` characters.
pub(crate) unsafe fn explain<T>(
    why: *mut c_char,
    why_max: usize,
    outcome: Result<T, Refusal>,
) -> Result<T, i32> {
    let text = outcome.as_ref().err().map_or("", |refusal| refusal.why.as_str());
    if !why.is_null() && why_max > 0 {
        let mut len = text.len().min(why_max - 1);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: the caller guarantees space for `len` characters and a NUL.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), why.cast::<u8>(), len);
            why.add(len).write(0);
        }
    }
    outcome.map_err(|refusal| refusal.number)
}

/// Returns an optional string passed by C, or `None` for a null pointer.
///
/// # Safety
///
/// `at` is null or points to a string.
unsafe fn optional<'a>(at: *const c_char) -> Result<Option<&'a str>, Refusal> {
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    Ok(unsafe { crate::iapp::oid(at)? })
}

fn parse<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(Refusal::invalid)
}

/// Returns the network that a struct names, or the node's network if it names none.
fn network(own: Plmn, mcc: u16, mnc: u16, digits: u8) -> Result<Plmn, Refusal> {
    match digits {
        0 => Ok(own),
        digits if is_network(mcc, mnc, digits) => Ok(Plmn::new(mcc, mnc, digits)),
        digits => Err(Refusal::invalid(format!("{mcc}.{mnc} of {digits} digits is not a network"))),
    }
}

impl ranlab_order {
    /// Returns the order and its UE. A quota does not concern a UE, but the header of its request must contain one.
    ///
    /// # Safety
    ///
    /// The pointers are valid, as the header requires.
    pub(crate) unsafe fn read(&self, node: &GlobalE2NodeId) -> Result<(Order, UeNumbers), Refusal> {
        let own = node.plmn();
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let ue = unsafe { optional(self.ue)? }.map(parse::<UeNumbers>).transpose()?;
        let order = match self.kind {
            RANLAB_ORDER_QUOTAS => {
                if self.quotas.is_null() {
                    return Err(RANLAB_ERR_NULL.into());
                }
                if !(1..=QUOTAS_MAX).contains(&self.quotas_len) {
                    return Err(Refusal::invalid(format!("an order has 1 to {QUOTAS_MAX} quotas")));
                }
                // SAFETY: the caller guarantees the requirements under `# Safety`.
                let quotas = unsafe { std::slice::from_raw_parts(self.quotas, self.quotas_len) };
                let quota = |it: &ranlab_quota| {
                    let sd = (it.sd != RANLAB_NO_SD).then_some(it.sd);
                    let plmn = network(own, it.mcc, it.mnc, it.mnc_digits)?;
                    let slice = Snssai { sst: it.sst, sd };
                    Ok::<_, Refusal>(SliceQuota {
                        plmn,
                        slice,
                        min: it.min,
                        max: it.max,
                        dedicated: it.dedicated,
                    })
                };
                Order::SliceQuotas(quotas.iter().map(quota).collect::<Result<_, _>>()?)
            }
            RANLAB_ORDER_HANDOVER => {
                let plmn = network(own, self.mcc, self.mnc, self.mnc_digits)?;
                Order::Handover(NrCgi { plmn, cell: self.cell })
            }
            kind => return Err(Refusal::invalid(format!("{kind} is not a kind of order; 0 and 1 are"))),
        };
        match (ue, &order) {
            (Some(ue), _) => Ok((order, ue)),
            (None, Order::Handover(_)) => Err(Refusal::invalid("a handover needs a UE")),
            (None, _) => Ok((order, UeNumbers::from_number(0))),
        }
    }
}

impl ranlab_kpm_choice {
    /// Returns the action definition with the index `part` for the node's KPM function. A choice may need several
    /// definitions. The result is empty if there is no definition with this index.
    ///
    /// # Safety
    ///
    /// The pointers are valid, as the header requires.
    pub(crate) unsafe fn action(
        &self,
        node: &GlobalE2NodeId,
        functions: &[RanFunctionItem],
    ) -> Result<Bytes, Refusal> {
        let function = functions.iter().find(|it| it.oid.as_deref() == Some(kpm::OID));
        let function = function.ok_or_else(|| Refusal::from(RANLAB_ERR_NODE_FUNCTION))?;
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let (measurements, ues, slice, cell) = unsafe {
            (optional(self.measurements)?, optional(self.ues)?, optional(self.snssai)?, optional(self.cell)?)
        };
        let list = |text: Option<&str>, separator| -> Vec<String> {
            let parts = text.unwrap_or_default().split(separator).map(str::trim);
            parts.filter(|it| !it.is_empty()).map(str::to_owned).collect()
        };
        let selection = Selection {
            style: (self.style != 0).then_some(self.style.into()),
            measurements: list(measurements, ','),
            ues: list(ues, ';').iter().map(|it| parse(it)).collect::<Result<_, _>>()?,
            slice: slice.map(parse).transpose()?,
            cell: cell.map(parse).transpose()?,
            granularity_ms: (self.granularity_ms != 0).then_some(self.granularity_ms),
        };
        let actions = selection.actions(node, &function.definition, self.period_ms);
        let actions = actions.map_err(|error| Refusal::new(RANLAB_ERR_NOT_OFFERED, error))?;
        let part = usize::try_from(self.part).ok().and_then(|part| actions.get(part));
        let bytes = part.map(|action| action.to_octets(Encoding::Per)).transpose();
        bytes.map(Option::unwrap_or_default).map_err(|error| Refusal::new(RANLAB_ERR_ENCODE, error))
    }
}

/// Writes bytes and their length to the caller's memory.
///
/// # Safety
///
/// `to` is null, or has space for `room` bytes.
pub(crate) unsafe fn write(found: &[u8], to: *mut u8, room: usize, len: *mut usize) -> Result<(), i32> {
    check_buffer(to, room)?;
    // SAFETY: the caller guarantees the requirements under `# Safety`.
    unsafe { out(len)? }.write(found.len());
    if found.len() > room {
        return Err(RANLAB_ERR_BUFFER_TOO_SMALL);
    }
    // SAFETY: `to` has space for the bytes, and `found` belongs to the library, so they do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), to, found.len()) };
    Ok(())
}

/// Parses JSON text as values. A missing text is a null value.
fn form(name: &str, text: Option<&str>) -> Result<Form, Refusal> {
    let Some(text) = text else { return Ok(Form::Null) };
    let json: serde_json::Value = serde_json::from_str(text)
        .map_err(|fault| Refusal::invalid(format!("{name} is not JSON: {fault}")))?;
    Ok(Form::from(json))
}

impl ranlab_values {
    /// Encodes the header and the message of the control.
    ///
    /// # Safety
    ///
    /// The pointers are valid, as the header requires.
    unsafe fn encode(&self) -> Result<(Bytes, Bytes), Refusal> {
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let (oid, definition, header, message) = unsafe {
            (
                string(self.oid)?,
                octets(self.definition, self.definition_len)?,
                form("header", optional(self.header)?)?,
                form("message", optional(self.message)?)?,
            )
        };
        let model = by_oid(oid).ok_or_else(|| Refusal::from(RANLAB_ERR_MODEL))?;
        let definition = Bytes::copy_from_slice(definition);
        model.control_at(model.encoding(), &definition, header, message).map_err(|error| {
            let number = match error {
                ranlab_e2_codec::e2sm::SmError::Order(_) => RANLAB_ERR_ORDER,
                ranlab_e2_codec::e2sm::SmError::NotOffered { .. } => RANLAB_ERR_NOT_OFFERED,
                _ => RANLAB_ERR_NOT_OF_MODEL,
            };
            Refusal::new(number, error)
        })
    }
}

/// Documented in `include/ranlab_nodes.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_model_control(
    values: *const ranlab_values,
    header: *mut u8,
    header_max: usize,
    header_len: *mut usize,
    message: *mut u8,
    message_max: usize,
    message_len: *mut usize,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller passes valid pointers, as the header requires.
        unsafe {
            let values = values.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let (head, body) = explain(values.why, values.why_max, values.encode())?;
            let headed = write(&head, header, header_max, header_len);
            // Both lengths are written even if the header does not fit.
            write(&body, message, message_max, message_len).and(headed)
        }
    })
}
