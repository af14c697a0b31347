//! Controls that existing base stations support, as values: slice quotas (style 2 action 6), handover (3, 1), mapping
//! of QoS flows to a bearer (1, 2).
//!
//! They are encoded as OCUDU (2/6, 3/1) and OpenAirInterface (1/2) expect. The decoder also accepts quotas without
//! the structures around a policy and a member, as early xApps sent them, and a cell of 8 bytes instead of 9.
use bytes::Bytes;

use super::control::{ControlFormat, ControlHeader, ControlMessage, HeaderFormat};
use super::function::Offered;
use super::parameter::{Parameter, ParameterValue, Value};
use super::request::CellForm;
use crate::e2ap::Plmn;
use crate::e2sm::common::{NrCgi, Snssai};
use crate::e2sm::per::{decode, encode};

/// Share of the carrier for a slice of a PLMN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SliceQuota {
    /// PLMN.
    pub plmn: Plmn,
    /// Slice.
    pub slice: Snssai,
    /// Guaranteed share, in %.
    pub min: u8,
    /// Maximum share, in %.
    pub max: u8,
    /// Dedicated share, reserved even if unused, in %.
    pub dedicated: u8,
}

/// Largest NR cell identity: 36 bits.
const CELL_MAX: u64 = (1 << 36) - 1;
/// Largest bearer identity and QoS flow identifier.
const DRB_MAX: u8 = 32;
const QFI_MAX: u8 = 63;

/// Reason why no base station can execute an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderFault {
    /// A ratio exceeds 100 %.
    #[error("slice {slice}: {value} % is not a ratio; 0 to 100 is allowed")]
    Percent {
        /// Slice.
        slice: Snssai,
        /// Ratio, in %.
        value: u8,
    },
    /// The minimum exceeds the maximum.
    #[error("slice {slice}: the minimum of {min} % exceeds the maximum of {max} %")]
    MinAboveMax {
        /// Slice.
        slice: Snssai,
        /// Minimum, in %.
        min: u8,
        /// Maximum, in %.
        max: u8,
    },
    /// The dedicated share exceeds the minimum, of which it is a part.
    #[error("slice {slice}: the dedicated ratio of {dedicated} % exceeds the minimum of {min} %")]
    DedicatedAboveMin {
        /// Slice.
        slice: Snssai,
        /// Dedicated share, in %.
        dedicated: u8,
        /// Minimum, in %.
        min: u8,
    },
    /// The guarantees exceed the carrier.
    #[error("the {what} ratios add up to {sum} %; 100 % is allowed")]
    Sum {
        /// `minimum` or `dedicated`.
        what: &'static str,
        /// Sum of the ratios of all slices, in %.
        sum: u32,
    },
    /// A slice has two quotas.
    #[error("slice {slice} has two quotas of one PLMN; one is allowed")]
    Twice {
        /// Slice.
        slice: Snssai,
        /// PLMN of the slice.
        plmn: Plmn,
    },
    /// The slice differentiator has more than 24 bits.
    #[error("{0:#x} is not a slice differentiator; 0 to 0xffffff is allowed")]
    Differentiator(u32),
    /// The cell identity has more than 36 bits.
    #[error("{0:#x} is not an NR cell identity; 0 to 0xfffffffff is allowed")]
    Cell(u64),
    /// The bearer identity is out of range.
    #[error("{0} is not a bearer identity; 1 to {DRB_MAX} is allowed")]
    Bearer(u8),
    /// The QoS flow or its direction is out of range.
    #[error("QoS flow {} in direction {} is invalid; flows must be 0 to {QFI_MAX}, directions 0 or 1", .0.qfi, .0.indication)]
    Flow(FlowMapping),
}

impl SliceQuota {
    /// Returns whether the quota neither guarantees nor limits anything.
    pub const fn is_free(&self) -> bool {
        self.min == 0 && self.dedicated == 0 && self.max >= 100
    }

    /// Returns whether both quotas are for the same slice of the same PLMN.
    pub fn is_of_same_slice(&self, other: &Self) -> bool {
        self.plmn == other.plmn && self.slice == other.slice
    }

    /// Checks that dedicated, minimum and maximum ratio are in this order and at most 100 % (TS 28.541 §4.4.1).
    ///
    /// # Errors
    /// Returns the first contradiction.
    pub fn check(&self) -> Result<(), OrderFault> {
        let Self { slice, min, max, dedicated, .. } = *self;
        if let Some(value) = [min, max, dedicated].into_iter().find(|percent| *percent > 100) {
            return Err(OrderFault::Percent { slice, value });
        }
        if let Some(sd) = slice.sd.filter(|sd| *sd > 0xff_ffff) {
            return Err(OrderFault::Differentiator(sd));
        }
        if min > max {
            return Err(OrderFault::MinAboveMax { slice, min, max });
        }
        if dedicated > min {
            return Err(OrderFault::DedicatedAboveMin { slice, dedicated, min });
        }
        Ok(())
    }

    /// Checks quotas together: each slice occurs once, and guarantees add up to at most 100 %. The sum of maxima may
    /// be larger.
    ///
    /// # Errors
    /// Returns the first contradiction.
    pub fn check_sums(quotas: &[Self]) -> Result<(), OrderFault> {
        for (index, quota) in quotas.iter().enumerate() {
            if quotas[..index].iter().any(|other| other.is_of_same_slice(quota)) {
                return Err(OrderFault::Twice { slice: quota.slice, plmn: quota.plmn });
            }
        }
        let sum = |ratio: fn(&Self) -> u8| quotas.iter().map(|quota| u32::from(ratio(quota))).sum::<u32>();
        for (what, sum) in [("minimum", sum(|it| it.min)), ("dedicated", sum(|it| it.dedicated))] {
            if sum > 100 {
                return Err(OrderFault::Sum { what, sum });
            }
        }
        Ok(())
    }

    /// Returns the quotas after an order. The order replaces the quotas of its slices; other slices keep their previous quotas. Quotas that
    /// are [free](Self::is_free) are removed.
    pub fn merge(quotas: &[Self], order: &[Self]) -> Vec<Self> {
        let kept = quotas.iter().filter(|it| !order.iter().any(|other| other.is_of_same_slice(it)));
        kept.chain(order).filter(|it| !it.is_free()).copied().collect()
    }
}

/// A QoS flow and the direction of the bearer to which it is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowMapping {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Direction, 0 or 1, as numbered in the specification.
    pub indication: u8,
}

/// A decoded control.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Order {
    /// Style 2 action 6: slice quotas.
    SliceQuotas(Vec<SliceQuota>),
    /// Style 3 action 1: handover of the UE to this cell.
    Handover(NrCgi),
    /// Style 1 action 2: mapping of flows to a bearer.
    QosFlows {
        /// Bearer identity.
        drb: u8,
        /// Flows.
        flows: Vec<FlowMapping>,
    },
}

/// Reason why a control is not one of these orders.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnOrder {
    /// The style or action is unknown, or there are several actions.
    #[error("style {style} action {action} is not known")]
    Unknown {
        /// Style; 0 for several actions.
        style: i64,
        /// Action; 0 for several actions.
        action: u16,
    },
    /// A required parameter is missing.
    #[error("parameter {0} is missing or of another type")]
    Missing(u32),
    /// A number is out of range.
    #[error("parameter {id} is {value}, not {low} to {high}")]
    OutOfRange {
        /// Parameter id.
        id: u32,
        /// Value.
        value: i64,
        /// Minimum.
        low: i64,
        /// Maximum.
        high: i64,
    },
}

/// Actions that ranlab's base stations support.
pub const ORDERS: [Offered<'static>; 2] = [
    (2, "Radio Resource Allocation Control", 6, "Slice-level PRB quota", &[(1, "RRM Policy Ratio List")]),
    (3, "Connected Mode Mobility Control", 1, "Handover Control", &[(1, "Target Primary Cell ID")]),
];

const PERCENT: std::ops::RangeInclusive<i64> = 0..=100;

impl Order {
    /// Returns control style and action.
    pub const fn action(&self) -> (i64, u16) {
        match self {
            Self::SliceQuotas(_) => (2, 6),
            Self::Handover(_) => (3, 1),
            Self::QosFlows { .. } => (1, 2),
        }
    }

    /// Checks whether a base station could execute the order according to its numbers.
    ///
    /// # Errors
    /// Fails if a number is out of range or ratios contradict each other.
    pub fn check(&self) -> Result<(), OrderFault> {
        match self {
            Self::SliceQuotas(quotas) => {
                quotas.iter().try_for_each(SliceQuota::check)?;
                SliceQuota::check_sums(quotas)
            }
            Self::Handover(cell) if cell.cell > CELL_MAX => Err(OrderFault::Cell(cell.cell)),
            Self::QosFlows { drb, .. } if !(1..=DRB_MAX).contains(drb) => Err(OrderFault::Bearer(*drb)),
            Self::QosFlows { flows, .. } => {
                let beyond = flows.iter().find(|it| it.qfi > QFI_MAX || it.indication > 1);
                beyond.map_or(Ok(()), |it| Err(OrderFault::Flow(*it)))
            }
            Self::Handover(_) => Ok(()),
        }
    }

    /// Returns the parameters of the order, with cells in the standard form.
    pub fn message(&self) -> ControlMessage {
        self.message_in(CellForm::Per)
    }

    /// Returns the parameters of the order, with cells in this form.
    pub fn message_in(&self, form: CellForm) -> ControlMessage {
        let int = |id, value: u8| Parameter::element(id, Value::Int(value.into()));
        let octets = |id, octets: Vec<u8>| Parameter::element(id, Value::Octets(octets.into()));
        let parameters = match self {
            Self::SliceQuotas(quotas) => {
                let quota = |it: &SliceQuota| {
                    let sd = it.slice.sd.map(|sd| octets(10, sd.to_be_bytes()[1..].to_vec()));
                    let slice = [octets(9, vec![it.slice.sst])].into_iter().chain(sd).collect();
                    let member = Parameter::structure(
                        6,
                        vec![octets(7, it.plmn.0.to_vec()), Parameter::structure(8, slice)],
                    );
                    let policy = Parameter::structure(3, vec![Parameter::list(5, [vec![member]])]);
                    let ratios = [int(11, it.min), int(12, it.max), int(13, it.dedicated)];
                    vec![Parameter::structure(2, [policy].into_iter().chain(ratios).collect())]
                };
                vec![Parameter::list(1, quotas.iter().map(quota))]
            }
            Self::Handover(cell) => {
                let nr = Parameter::structure(3, vec![octets(4, cell_bytes(cell, form))]);
                vec![Parameter::structure(1, vec![Parameter::structure(2, vec![nr])])]
            }
            Self::QosFlows { drb, flows } => {
                let flow = |it: &FlowMapping| {
                    vec![Parameter::key(4, Value::Int(it.qfi.into())), int(5, it.indication)]
                };
                let drb = Parameter::key(1, Value::Int((*drb).into()));
                vec![drb, Parameter::list(2, flows.iter().map(flow))]
            }
        };
        parameters.into()
    }

    /// Decodes an order.
    ///
    /// # Errors
    /// Fails if the control is not one of these orders or is not encoded as one.
    pub fn read(header: &ControlHeader, message: &ControlMessage) -> Result<Self, NotAnOrder> {
        let (HeaderFormat::Action(header), ControlFormat::Action(parameters)) =
            (&header.format, &message.format)
        else {
            return Err(NotAnOrder::Unknown { style: 0, action: 0 });
        };
        Self::from_parameters(header.style, header.action, parameters)
    }

    /// Decodes the parameters of an action.
    ///
    /// # Errors
    /// Fails like [`read`](Self::read).
    pub fn from_parameters(style: i64, action: u16, parameters: &[Parameter]) -> Result<Self, NotAnOrder> {
        match (style, action) {
            (2, 6) => quotas(parameters).map(Self::SliceQuotas),
            (3, 1) => target(parameters).map(Self::Handover),
            (1, 2) => flows(parameters),
            (style, action) => Err(NotAnOrder::Unknown { style, action }),
        }
    }
}

/// Visits all parameters of a tree, parents first.
fn walk<'a>(parameters: &'a [Parameter], visit: &mut impl FnMut(&'a Parameter)) {
    for parameter in parameters {
        visit(parameter);
        walk(parameter.parts(), visit);
        if let ParameterValue::List(structures) = &parameter.value {
            structures.iter().for_each(|it| walk(it.parts(), visit));
        }
    }
}

/// Returns the first parameter with this id at any depth.
fn find(parameters: &[Parameter], id: u32) -> Option<&Parameter> {
    let mut found = None;
    walk(parameters, &mut |it| found = found.or_else(|| (it.id == id).then_some(it)));
    found
}

fn octets_of(parameters: &[Parameter], id: u32) -> Result<&Bytes, NotAnOrder> {
    match find(parameters, id).and_then(Parameter::scalar) {
        Some(Value::Octets(octets)) => Ok(octets),
        _ => Err(NotAnOrder::Missing(id)),
    }
}

fn int_of(parameters: &[Parameter], id: u32, range: std::ops::RangeInclusive<i64>) -> Result<u8, NotAnOrder> {
    let Some(Value::Int(value)) = find(parameters, id).and_then(Parameter::scalar) else {
        return Err(NotAnOrder::Missing(id));
    };
    let low = *range.start();
    let high = *range.end();
    let within = u8::try_from(*value).ok().filter(|_| range.contains(value));
    within.ok_or(NotAnOrder::OutOfRange { id, value: *value, low, high })
}

fn array<const N: usize>(parameters: &[Parameter], id: u32) -> Result<[u8; N], NotAnOrder> {
    <[u8; N]>::try_from(&octets_of(parameters, id)?[..]).map_err(|_| NotAnOrder::Missing(id))
}

/// Decodes slice quotas. Each element of the list is a policy, with or without a structure (parameter id 2) around it. A policy has ratios
/// and a list of slices.
fn quotas(parameters: &[Parameter]) -> Result<Vec<SliceQuota>, NotAnOrder> {
    let Some(ParameterValue::List(policies)) = find(parameters, 1).map(|it| &it.value) else {
        return Err(NotAnOrder::Missing(1));
    };
    let mut quotas = Vec::new();
    for policy in policies {
        let policy = policy.parts();
        let [min, max] = [int_of(policy, 11, PERCENT)?, int_of(policy, 12, PERCENT)?];
        let dedicated = int_of(policy, 13, PERCENT)?;
        let Some(ParameterValue::List(members)) = find(policy, 5).map(|it| &it.value) else {
            return Err(NotAnOrder::Missing(5));
        };
        for member in members {
            let [sst] = array(member.parts(), 9)?;
            let sd = match find(member.parts(), 10) {
                Some(_) => Some(array::<3>(member.parts(), 10)?),
                None => None,
            };
            let sd = sd.map(|[high, mid, low]| u32::from_be_bytes([0, high, mid, low]));
            let plmn = Plmn(array(member.parts(), 7)?);
            quotas.push(SliceQuota { plmn, slice: Snssai::new(sst, sd), min, max, dedicated });
        }
    }
    Ok(quotas)
}

/// Returns the target of a handover.
pub(super) fn target(parameters: &[Parameter]) -> Result<NrCgi, NotAnOrder> {
    cell(octets_of(parameters, 4)?)
}

/// Encodes an NR CGI in a form. The result is empty for a cell identity of more than 36 bits, which has no encoding.
fn cell_bytes(cgi: &NrCgi, form: CellForm) -> Vec<u8> {
    let NrCgi { plmn, cell } = cgi;
    let mut bytes = Vec::new();
    match form {
        CellForm::Per => {
            let _ = encode(cgi, &mut bytes);
        }
        CellForm::Plain if *cell <= CELL_MAX => {
            bytes.extend(plmn.0);
            bytes.extend(&(cell << 4).to_be_bytes()[3..]);
        }
        CellForm::Plain => {}
    }
    bytes
}

/// Decodes a cell: PER of 9 bytes, or PLMN and 36 bits in 8 bytes.
fn cell(octets: &Bytes) -> Result<NrCgi, NotAnOrder> {
    match &octets[..] {
        [a, b, c, rest @ ..] if rest.len() == 5 => {
            let cell = rest.iter().fold(0, |cell, octet| cell << 8 | u64::from(*octet)) >> 4;
            Ok(NrCgi { plmn: Plmn([*a, *b, *c]), cell })
        }
        _ => decode(octets.clone()).map_err(|_| NotAnOrder::Missing(4)),
    }
}

fn flows(parameters: &[Parameter]) -> Result<Order, NotAnOrder> {
    let Some(ParameterValue::List(flows)) = find(parameters, 2).map(|it| &it.value) else {
        return Err(NotAnOrder::Missing(2));
    };
    let flow = |it: &super::Structure| {
        Ok(FlowMapping { qfi: int_of(it.parts(), 4, 0..=63)?, indication: int_of(it.parts(), 5, 0..=1)? })
    };
    let flows = flows.iter().map(flow).collect::<Result<_, _>>()?;
    Ok(Order::QosFlows { drb: int_of(parameters, 1, 1..=32)?, flows })
}
