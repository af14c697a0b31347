//! Orders whose parameter trees base stations in the field take, as values: shares of resources by slice (style 2 action
//! 6), handover (3, 1), mapping of QoS flows to a bearer (1, 2).
//!
//! They are written as OCUDU (2/6, 3/1) and OpenAirInterface (1/2) read them. Read are, besides, quotas without the
//! structures around a policy and a member, as early xApps sent them, and a cell of 8 octets as well as of 9.
use bytes::Bytes;

use super::control::{ControlFormat, ControlHeader, ControlMessage, HeaderFormat};
use super::function::Offered;
use super::parameter::{Parameter, ParameterValue, Value};
use crate::e2ap::Plmn;
use crate::e2sm::common::{NrCgi, Snssai};
use crate::e2sm::per::{decode, encode};

/// What a slice of a network gets of the carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SliceQuota {
    /// The network.
    pub plmn: Plmn,
    /// The slice.
    pub slice: Snssai,
    /// What it can have at least if it wants it, %.
    pub min: u8,
    /// What it can have at most, %.
    pub max: u8,
    /// What is kept for it, used or not, %.
    pub dedicated: u8,
}

/// A QoS flow and the bearer's direction that it is mapped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowMapping {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// 0 or 1, as the text numbers directions.
    pub indication: u8,
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Order {
    /// Style 2 action 6: what slices get.
    SliceQuotas(Vec<SliceQuota>),
    /// Style 3 action 1: the UE is to go to this cell.
    Handover(NrCgi),
    /// Style 1 action 2: these flows are of this bearer.
    QosFlows {
        /// The bearer's identity.
        drb: u8,
        /// Its flows.
        flows: Vec<FlowMapping>,
    },
}

/// Why a control is none of the orders here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnOrder {
    /// Another style or action, or several at once.
    #[error("style {style} action {action} is not known")]
    Unknown {
        /// The style; 0 for several at once.
        style: i64,
        /// The action; 0 for several at once.
        action: u16,
    },
    /// A parameter that the order needs.
    #[error("parameter {0} is missing or of another type")]
    Missing(u32),
    /// A number out of its range.
    #[error("parameter {id} is {value}, not {low} to {high}")]
    OutOfRange {
        /// Which.
        id: u32,
        /// What it is.
        value: i64,
        /// Least allowed.
        low: i64,
        /// Greatest allowed.
        high: i64,
    },
}

/// The actions that this project's base stations take.
pub const ORDERS: [Offered<'static>; 2] = [
    (2, "Radio Resource Allocation Control", 6, "Slice-level PRB quota", &[(1, "RRM Policy Ratio List")]),
    (3, "Connected Mode Mobility Control", 1, "Handover Control", &[(1, "Target Primary Cell ID")]),
];

const PERCENT: std::ops::RangeInclusive<i64> = 0..=100;

impl Order {
    /// Control style and action.
    pub const fn action(&self) -> (i64, u16) {
        match self {
            Self::SliceQuotas(_) => (2, 6),
            Self::Handover(_) => (3, 1),
            Self::QosFlows { .. } => (1, 2),
        }
    }

    /// Its parameters.
    pub fn message(&self) -> ControlMessage {
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
                let mut cgi = Vec::new();
                // A cell of 36 bits has an encoding, of 9 octets; of one beyond that nothing is said.
                let _ = encode(cell, &mut cgi);
                let nr = Parameter::structure(3, vec![octets(4, cgi)]);
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

    /// What is ordered.
    ///
    /// # Errors
    /// It is none of the orders here, or not written as one.
    pub fn read(header: &ControlHeader, message: &ControlMessage) -> Result<Self, NotAnOrder> {
        let (HeaderFormat::Action(header), ControlFormat::Action(parameters)) =
            (&header.format, &message.format)
        else {
            return Err(NotAnOrder::Unknown { style: 0, action: 0 });
        };
        Self::of(header.style, header.action, parameters)
    }

    /// What the parameters of a style's action say.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn of(style: i64, action: u16, parameters: &[Parameter]) -> Result<Self, NotAnOrder> {
        match (style, action) {
            (2, 6) => quotas(parameters).map(Self::SliceQuotas),
            (3, 1) => target(parameters).map(Self::Handover),
            (1, 2) => flows(parameters),
            (style, action) => Err(NotAnOrder::Unknown { style, action }),
        }
    }
}

/// Visits all parameters of a tree, those that contain others first.
fn walk<'a>(parameters: &'a [Parameter], visit: &mut impl FnMut(&'a Parameter)) {
    for parameter in parameters {
        visit(parameter);
        walk(parameter.parts(), visit);
        if let ParameterValue::List(structures) = &parameter.value {
            structures.iter().for_each(|it| walk(it.parts(), visit));
        }
    }
}

/// The first parameter of a number, however deep.
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
    let (low, high) = (*range.start(), *range.end());
    let within = u8::try_from(*value).ok().filter(|_| range.contains(value));
    within.ok_or(NotAnOrder::OutOfRange { id, value: *value, low, high })
}

fn array<const N: usize>(parameters: &[Parameter], id: u32) -> Result<[u8; N], NotAnOrder> {
    <[u8; N]>::try_from(&octets_of(parameters, id)?[..]).map_err(|_| NotAnOrder::Missing(id))
}

/// Each element of the list is a policy, in a structure 2 or without; each member of its list has its ratios.
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
            quotas.push(SliceQuota { plmn, slice: Snssai { sst, sd }, min, max, dedicated });
        }
    }
    Ok(quotas)
}

/// The target of a handover.
pub(super) fn target(parameters: &[Parameter]) -> Result<NrCgi, NotAnOrder> {
    cell(octets_of(parameters, 4)?)
}

/// As PER of 9 octets, or the network and 36 bits in 8.
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
