//! Northbound resources of the association controller.
use super::policy::UnitCommand;
use super::{Association, Rule, StationUnit, Waiting};
use crate::northbound::{Call, Completion, Fault, Handler, given, named};
use crate::ues::{UeSelector, ue_of};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::association::{ADDRESS_LEN_MAX, AssociationCommand};
use ranlab_e2_codec::e2sm::rrc::RrcEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// Maximum number of rules in a policy.
const RULES_MAX: usize = 64;
/// Maximum number of controllers in a rule: the limit of an agent, less this controller.
const CONTROLLERS_MAX: usize = 7;

/// Policy: which further controllers see which UEs, by the PLMN and slices selected at attach.
///
/// The first matching rule applies. A UE without a matching rule is visible to this controller only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyResource {
    /// Rules, in order of precedence.
    #[serde(default)]
    pub rules: Vec<RuleResource>,
}

/// Rule of a policy; an absent condition matches every UE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleResource {
    /// PLMN that the UE selected, as `MCC.MNC`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub plmn: Option<String>,
    /// Slice that the UE requested, as `SST` or `SST-SD`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub snssai: Option<String>,
    /// Addresses of the controllers that see the UE, in the agents' notation, e.g. `tcp://192.0.2.1:36421`.
    pub controllers: Vec<String>,
}

impl Rule {
    fn new(from: &RuleResource) -> Result<Self, Fault> {
        let choice = UeSelector::new(from.plmn.as_deref(), from.snssai.as_deref())?;
        if from.controllers.len() > CONTROLLERS_MAX {
            return Err(Fault::new(422, format!("a rule may name at most {CONTROLLERS_MAX} controllers")));
        }
        let is_address = |text: &String| {
            let printable = text.bytes().all(|octet| octet.is_ascii_graphic());
            printable && (1..=ADDRESS_LEN_MAX).contains(&text.len()) && text.contains("://")
        };
        match from.controllers.iter().find(|text| !is_address(text)) {
            Some(text) => {
                let wrong =
                    format!("{text:?} is not a controller address; expected e.g. tcp://192.0.2.1:36421");
                Err(Fault::new(422, wrong))
            }
            None => Ok(Self { choice, controllers: from.controllers.clone() }),
        }
    }
}

ranlab_machine::routes! {
    impl Association: Handler<Association>, at "/v1/", faults [405, 421, 503, 504] {
        Get "nodes" nodes -> 200: Nodes, Operator, "all E2 nodes";
        Get "nodes/{node}" node -> 200: Node, Operator or [400],
            "an E2 node: its UEs, and the controllers that see them";
        Delete "nodes/{node}/controllers/{controller}" delete_controller -> 200, Operator or [400, 403, 409, 422, 502],
            "disconnect an E2 node from a controller that no rule names";
        Get "policy" policy -> 200: Policy, Operator, "rules: which controllers see which UEs";
        Put "policy" put_policy(Policy) -> 200: Policy, Operator or [400, 422], "replace the rules";
    }
}

impl Association {
    fn nodes(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        let nodes = self.parts.iter().map(|(id, part)| self.overview(id, part));
        Ok(Completion::Answer(json!({ "nodes": nodes.collect::<Vec<_>>() })))
    }

    fn node(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let id = named(call.parameters.text("node"), self.parts.keys())?;
        let part = self.parts.get(&id).map(|part| self.overview(&id, part));
        Ok(Completion::Answer(part.unwrap_or_default()))
    }

    fn policy(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(json!(self.policy)))
    }

    fn put_policy(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let policy: PolicyResource = call.body()?;
        if policy.rules.len() > RULES_MAX {
            return Err(Fault::new(422, format!("at most {RULES_MAX} rules are allowed")));
        }
        self.rules = policy.rules.iter().map(Rule::new).collect::<Result<_, _>>()?;
        self.policy = policy;
        for (id, part) in &mut self.parts {
            part.refused.clear();
            part.look.extend(self.ues.of_station(id).map(|ue| ue.rnti));
        }
        for id in self.parts.keys().copied().collect::<Vec<_>>() {
            self.go_on(call.now, id, call.out);
        }
        Ok(Completion::Answer(json!(self.policy)))
    }

    fn delete_controller(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let node = named(call.parameters.text("node"), self.parts.keys())?;
        let address = call.parameters.text("controller");
        if self.rules.iter().any(|rule| rule.controllers.iter().any(|named| named == address)) {
            return Err(Fault::new(409, format!("a rule still names {address}")));
        }
        let part = self.parts.get(&node).filter(|part| part.connected);
        let away = || Fault::new(503, "the node is not connected, or does not support association control");
        let function = part.and_then(|part| part.function).ok_or_else(away)?;
        let address = address.to_owned();
        let message = AssociationCommand::RemoveController { address: address.clone() }.encode();
        let waiting = Waiting::North { node, token: call.request.token, address };
        self.commands.send_octets(node, function, message.into(), waiting, call.out)?;
        Ok(Completion::Later)
    }

    fn overview(&self, id: &GlobalE2NodeId, part: &StationUnit) -> Json {
        let refused = part.refused.iter().filter(|(step, _)| matches!(step, UnitCommand::Give(_)));
        let refused: Map<_, _> =
            refused.map(|(step, why)| (step.address().to_owned(), why.clone().into())).collect();
        json!({
            "node": id.to_string(),
            "connected": part.connected,
            "associates": part.function.is_some(),
            "malformed": part.malformed,
            "controllers": part.given,
            "refused": refused,
            "ues": self.ues.of_station(id).map(|ue| part.ue(ue)).collect::<Vec<_>>(),
        })
    }
}

impl StationUnit {
    fn ue(&self, ue: &RrcEvent) -> Json {
        let mut json = ue_of(ue);
        json["controllers"] = json!(self.seen.get(&ue.rnti).into_iter().flatten().collect::<Vec<_>>());
        let refused = self.refused.iter().find(|(step, _)| step.rnti() == Some(ue.rnti));
        json["refused"] = json!(refused.map(|(_, why)| why));
        json
    }
}
