//! Standing subscriptions whose details depend on the functions of each node.
use super::*;
use ranlab_e2_codec::e2sm::kpm::{Kpm, Selection};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use std::fmt;

/// Reason why a node has no subscription of a plan, as a sentence that names what the node offers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// Creates the subscriptions of a standing subscription at a node.
pub trait Planner: fmt::Debug + Send + Sync {
    /// Returns the trigger and actions of each subscription at a node. The list is empty if the function has nothing
    /// to subscribe to.
    ///
    /// # Errors
    /// Returns an error if the node does not offer the requested data, which [`XappEvent::NotOffered`] then reports.
    fn plan(
        &self,
        node: &GlobalE2NodeId,
        function: &RanFunctionItem,
    ) -> Result<Vec<RicSubscriptionDetails>, PlanError>;
}

/// KPM measurements selected by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KpmPlan {
    /// Selected measurements.
    pub selection: Selection,
    /// Report period.
    pub period: Duration,
}

impl Planner for KpmPlan {
    fn plan(
        &self,
        node: &GlobalE2NodeId,
        function: &RanFunctionItem,
    ) -> Result<Vec<RicSubscriptionDetails>, PlanError> {
        let trigger = Kpm::periodic(self.period).map_err(|error| PlanError(error.to_string()))?;
        let actions = self.selection.actions(node, &function.definition, trigger.period_ms);
        let actions = actions.map_err(|error| PlanError(error.to_string()))?;
        let octets = |it: &dyn Fn() -> Result<Bytes, ranlab_e2_codec::e2sm::SmError>| {
            it().map_err(|error| PlanError(error.to_string()))
        };
        let event_trigger = octets(&|| trigger.to_octets(Encoding::Per))?;
        let details = |action: ranlab_e2_codec::e2sm::kpm::ActionDefinition| {
            let definition = Some(octets(&|| action.to_octets(Encoding::Per))?);
            let actions = vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(0) }];
            Ok(RicSubscriptionDetails { event_trigger: event_trigger.clone(), actions })
        };
        actions.into_iter().map(details).collect()
    }
}
