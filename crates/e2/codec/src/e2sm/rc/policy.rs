//! Rust types for the policies whose parameter trees are known: slice quotas (style 2 action 6) and decisions on
//! handovers (style 3 action 1). Each policy has a condition on UEs.
//!
//! Styles, actions and parameters are those of the controls ([`ORDERS`](super::commands::ORDERS)). The parameters of
//! conditions have ranlab's own ids, [`CONDITIONS`], whose names are listed in a node's RAN function definition.
use bytes::Bytes;

use super::commands::{NotAnOrder, Order};
use super::control::{ControlFormat, Decision};
use super::parameter::{
    Comparison, ElementTest, LogicalOr, Parameter, ParameterTest, TestCondition, TestedAs, Value,
};
use super::subscription::{ActionDefinition, ActionFormat, Policy, PolicyAction};
use crate::e2sm::common::{NrCgi, Snssai, UeId};
use crate::e2sm::per::{decode, encode};

/// Policy style 2: shares of resources.
pub const RESOURCES: i64 = 2;
/// Policy style 3: mobility of connected UEs.
pub const MOBILITY: i64 = 3;
/// Condition parameter: the UE identity, in PER.
pub const UE: u32 = 1;
/// Condition parameter: a slice selected by the UE; 1 byte of SST, or 4 bytes of SST and SD.
pub const SLICE: u32 = 2;
/// Condition parameter: number of connected UEs.
pub const CONNECTED_UES: u32 = 3;

/// Parameters of conditions: ids and names.
pub const CONDITIONS: [(u32, &str); 3] = [(UE, "UE ID"), (SLICE, "S-NSSAI"), (CONNECTED_UES, "UEs")];

/// A test in a condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// The UE is this one.
    Ue(UeId),
    /// The UE selected this slice; without an SD, any slice of this SST.
    Slice(Snssai),
    /// The number of connected UEs, compared with a value.
    ConnectedUes(Comparison, i64),
}

/// Tests that are evaluated from left to right. Each test has a flag: whether it is combined with the next test by OR (otherwise by AND).
/// An empty list is always true.
pub type Condition = Vec<(Test, bool)>;

/// Effect of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PolicyEffect {
    /// Executes an order: style 2 action 6, or style 3 action 1 with a cell. A handover order applies whenever a handover is prepared.
    Obey(Order),
    /// Style 3 action 1 with a decision: whether a prepared handover proceeds.
    Decide(Decision),
}

fn octets<T: crate::per::Per>(value: &T) -> Bytes {
    let mut octets = Vec::new();
    // Valid identities can be encoded; for an invalid one the value stays empty.
    let _ = encode(value, &mut octets);
    octets.into()
}

impl Test {
    /// Encodes the test as a test of a parameter.
    pub fn parameter(&self, or: bool) -> ParameterTest {
        let (id, comparison, value) = match self {
            Self::Ue(ue) => (UE, Comparison::Equal, Value::Octets(octets(ue))),
            Self::Slice(slice) => {
                let sd = slice.sd.map(|sd| sd.to_be_bytes());
                let sd = sd.iter().flat_map(|octets| octets[1..].iter().copied());
                let octets = [slice.sst].into_iter().chain(sd).collect();
                (SLICE, Comparison::Equal, Value::Octets(octets))
            }
            Self::ConnectedUes(comparison, number) => (CONNECTED_UES, *comparison, Value::Int(*number)),
        };
        let tested = ElementTest {
            condition: TestCondition::Comparison(comparison),
            value: Some(value),
            or: or.then_some(LogicalOr::True),
        };
        ParameterTest { id, tested: TestedAs::Element(tested) }
    }

    /// Decodes the test of a parameter, and whether it is combined with the next test by OR.
    ///
    /// # Errors
    /// Fails for a parameter that is not one of [`CONDITIONS`], or an invalid test of a parameter.
    pub fn read(test: &ParameterTest) -> Result<(Self, bool), NotAnOrder> {
        let (comparison, value, or) = match &test.tested {
            TestedAs::Key(value) => (Comparison::Equal, value, false),
            TestedAs::Element(ElementTest {
                condition: TestCondition::Comparison(comparison),
                value: Some(value),
                or,
            }) => (*comparison, value, *or == Some(LogicalOr::True)),
            _ => return Err(NotAnOrder::Missing(test.id)),
        };
        let counts = matches!(comparison, Comparison::Equal | Comparison::GreaterThan | Comparison::LessThan);
        let read = match (test.id, comparison, value) {
            (UE, Comparison::Equal, Value::Octets(octets)) => decode(octets.clone()).ok().map(Self::Ue),
            (SLICE, Comparison::Equal, Value::Octets(octets)) => slice(octets).map(Self::Slice),
            (CONNECTED_UES, _, Value::Int(number)) if counts => Some(Self::ConnectedUes(comparison, *number)),
            _ => None,
        };
        read.map(|read| (read, or)).ok_or(NotAnOrder::Missing(test.id))
    }
}

fn slice(octets: &Bytes) -> Option<Snssai> {
    match octets[..] {
        [sst] => Some(Snssai::new(sst, None)),
        [sst, high, mid, low] => Some(Snssai::new(sst, Some(u32::from_be_bytes([0, high, mid, low])))),
        _ => None,
    }
}

impl PolicyEffect {
    /// Returns policy style and action.
    pub const fn action(&self) -> (i64, u16) {
        match self {
            Self::Obey(order) => order.action(),
            Self::Decide(_) => (MOBILITY, 1),
        }
    }

    fn read(style: i64, action: &PolicyAction) -> Result<Self, NotAnOrder> {
        let parameters = action.parameters.as_deref().unwrap_or_default();
        match (style, action.action, action.decision) {
            (MOBILITY, 1, Some(decision)) if parameters.is_empty() => Ok(Self::Decide(decision)),
            (RESOURCES, 6, None | Some(Decision::Accept)) | (MOBILITY, 1, None | Some(Decision::Accept)) => {
                Order::from_parameters(style, action.action, parameters).map(Self::Obey)
            }
            (style, action, _) => Err(NotAnOrder::Unknown { style, action }),
        }
    }

    fn policy(&self) -> PolicyAction {
        let (_, action) = self.action();
        let (parameters, decision): (Vec<Parameter>, _) = match self {
            Self::Obey(order) => match order.message().format {
                ControlFormat::Action(parameters) => (parameters, None),
                ControlFormat::Actions(_) => (Vec::new(), None),
            },
            Self::Decide(decision) => (Vec::new(), Some(*decision)),
        };
        PolicyAction { action, parameters: (!parameters.is_empty()).then_some(parameters), decision }
    }
}

impl ActionDefinition {
    /// Returns an action definition that contains these policies, all of one style. The first policy whose condition
    /// is true applies.
    pub fn policies(style: i64, policies: impl IntoIterator<Item = (PolicyEffect, Condition)>) -> Self {
        let one = |(does, condition): (PolicyEffect, Condition)| {
            let tests: Vec<_> = condition.iter().map(|(test, or)| test.parameter(*or)).collect();
            Policy { action: does.policy(), condition: (!tests.is_empty()).then_some(tests) }
        };
        Self { style, format: ActionFormat::Policy(policies.into_iter().map(one).collect()) }
    }

    /// Returns a policy for prepared handovers. Without `to`, it accepts or rejects them, as `decision` says. With `to`,
    /// `decision` is ignored, and the UE is sent to this cell.
    pub fn handover_policy(decision: Decision, to: Option<NrCgi>, condition: Condition) -> Self {
        let does =
            to.map_or(PolicyEffect::Decide(decision), |cell| PolicyEffect::Obey(Order::Handover(cell)));
        Self::policies(MOBILITY, [(does, condition)])
    }
}

/// Decodes policies of a style.
///
/// # Errors
/// Fails for an unknown style, action, parameter or condition.
pub fn read(style: i64, policies: &[Policy]) -> Result<Vec<(PolicyEffect, Condition)>, NotAnOrder> {
    let one = |policy: &Policy| {
        let tests = policy.condition.iter().flatten();
        Ok((PolicyEffect::read(style, &policy.action)?, tests.map(Test::read).collect::<Result<_, _>>()?))
    };
    policies.iter().map(one).collect()
}
