//! Standing subscriptions whose details depend on the functions of each node.
use super::*;
use ranlab_e2_codec::e2sm::kpm::{Kpm, Selection};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel};
use std::fmt;

/// Reason why requested data is not subscribed to at a node, as a sentence that names what the node offers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// Subscriptions of a plan at a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Planned {
    /// Trigger and actions of each subscription.
    pub subscriptions: Vec<RicSubscriptionDetails>,
    /// Reason why requested data is left out, which [`XappEvent::NotOffered`] reports.
    pub left_out: Option<PlanError>,
}

/// Creates the subscriptions of a standing subscription at a node.
pub trait Planner: fmt::Debug + Send + Sync {
    /// Returns the subscriptions at a node; none if the function has nothing to subscribe to.
    ///
    /// # Errors
    /// Returns an error if the node offers none of the requested data, which [`XappEvent::NotOffered`] then reports.
    fn plan(&self, node: &GlobalE2NodeId, function: &RanFunctionItem) -> Result<Planned, PlanError>;
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
    fn plan(&self, node: &GlobalE2NodeId, function: &RanFunctionItem) -> Result<Planned, PlanError> {
        let trigger = Kpm::periodic(self.period).map_err(|error| PlanError(error.to_string()))?;
        let actions = self.selection.actions_offered(node, &function.definition, trigger.period_ms);
        let (actions, left_out) = actions.map_err(|error| PlanError(error.to_string()))?;
        let octets = |it: &dyn Fn() -> Result<Bytes, ranlab_e2_codec::e2sm::SmError>| {
            it().map_err(|error| PlanError(error.to_string()))
        };
        let event_trigger = octets(&|| trigger.to_octets(Encoding::Per))?;
        let details = |action: ranlab_e2_codec::e2sm::kpm::ActionDefinition| {
            let definition = Some(octets(&|| action.to_octets(Encoding::Per))?);
            let actions = vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(0) }];
            Ok(RicSubscriptionDetails { event_trigger: event_trigger.clone(), actions })
        };
        let subscriptions = actions.into_iter().map(details).collect::<Result<_, PlanError>>()?;
        Ok(Planned { subscriptions, left_out: left_out.map(|error| PlanError(error.to_string())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2sm::kpm::{FunctionDescription, OID};

    #[test]
    fn requests_contain_only_measurements_that_the_node_offers() {
        let description = FunctionDescription::new(&["DRB.UEThpDl"], &["RACH.PreambleDedCell"]);
        let definition = description.to_octets(Encoding::Per).unwrap();
        let function = RanFunctionItem { id: 2, revision: 0, definition, oid: Some(OID.into()) };
        let node = GlobalE2NodeId::gnb(Plmn::new(1, 1, 2), 411, 22);
        let plan = |names: &[&str]| {
            let measurements = names.iter().map(|it| (*it).to_owned()).collect();
            let selection = Selection { measurements, ..Selection::default() };
            KpmPlan { selection, period: Duration::from_secs(1) }.plan(&node, &function)
        };
        let planned = plan(&["DRB.UEThpDl", "RRC.ConnMean"]).unwrap();
        assert_eq!(planned.subscriptions, plan(&["DRB.UEThpDl"]).unwrap().subscriptions);
        assert!(planned.left_out.is_some_and(|PlanError(reason)| reason.contains("RRC.ConnMean")));
        assert!(plan(&["RRC.ConnMean"]).is_err());
    }
}
