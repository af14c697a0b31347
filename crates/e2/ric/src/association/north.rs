//! Northbound resources of the association controller.
use super::policy::Step;
use super::{Association, Part, Rule, Waiting};
use crate::north::{Done, Fault, body, given, missing, named, segments};
use crate::ues::{Choice, ue_of};
use ranlab_e2::Time;
use ranlab_e2::ric::{IAppOutbox, Method, NorthboundRequest};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::association::{ADDRESS_LEN_MAX, AssociationCommand};
use ranlab_e2_codec::e2sm::rrc::RrcEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

const THERE: &str = "nodes, nodes/NODE, nodes/NODE/controllers/ADDRESS and policy";
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
        let choice = Choice::new(from.plmn.as_deref(), from.snssai.as_deref())?;
        if from.controllers.len() > CONTROLLERS_MAX {
            return Err(Fault::new(422, format!("a rule names at most {CONTROLLERS_MAX} controllers")));
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

impl Association {
    pub(super) fn northbound(
        &mut self,
        now: Time,
        request: &NorthboundRequest,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        let path = segments(&request.path)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match (&path[..], request.method) {
            (["nodes"], Method::Get) => {
                let nodes = self.parts.iter().map(|(id, part)| self.overview(id, part));
                Ok(Done::Answer(json!({ "nodes": nodes.collect::<Vec<_>>() })))
            }
            (["nodes"], _) => Err(Fault::method("GET")),
            (["policy"], Method::Get) => Ok(Done::Answer(json!(self.policy))),
            (["policy"], Method::Put) => {
                self.put_policy(now, body(request)?, out)?;
                Ok(Done::Answer(json!(self.policy)))
            }
            (["policy"], _) => Err(Fault::method("GET, PUT")),
            (["nodes", name], method) => {
                let id = named(name, self.parts.keys())?;
                let part = self.parts.get(&id).filter(|_| method == Method::Get);
                part.map(|part| Done::Answer(self.overview(&id, part))).ok_or_else(|| Fault::method("GET"))
            }
            (["nodes", name, "controllers", address], method) => {
                let id = named(name, self.parts.keys())?;
                if method != Method::Delete {
                    return Err(Fault::method("DELETE"));
                }
                self.part_from(id, address, request.token, out)?;
                Ok(Done::Later)
            }
            _ => Err(missing("resource", &request.path, THERE)),
        }
    }

    fn put_policy(&mut self, now: Time, policy: PolicyResource, out: &mut IAppOutbox) -> Result<(), Fault> {
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
            self.go_on(now, id, out);
        }
        Ok(())
    }

    fn part_from(
        &mut self,
        node: GlobalE2NodeId,
        address: &str,
        token: u64,
        out: &mut IAppOutbox,
    ) -> Result<(), Fault> {
        if self.rules.iter().any(|rule| rule.controllers.iter().any(|named| named == address)) {
            return Err(Fault::new(409, format!("a rule names {address}")));
        }
        let part = self.parts.get(&node).filter(|part| part.connected);
        let away = || Fault::new(503, "the node is not connected, or takes no association control");
        let function = part.and_then(|part| part.function).ok_or_else(away)?;
        let address = address.to_owned();
        let message = AssociationCommand::RemoveController { address: address.clone() }.encode();
        let waiting = Waiting::North { node, token, address };
        self.commands.send_octets((node, function), message.into(), waiting, out)
    }

    fn overview(&self, id: &GlobalE2NodeId, part: &Part) -> Json {
        let refused = part.refused.iter().filter(|(step, _)| matches!(step, Step::Give(_)));
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

impl Part {
    fn ue(&self, ue: &RrcEvent) -> Json {
        let mut json = ue_of(ue);
        json["controllers"] = json!(self.seen.get(&ue.rnti).into_iter().flatten().collect::<Vec<_>>());
        let refused = self.refused.iter().find(|(step, _)| step.rnti() == Some(ue.rnti));
        json["refused"] = json!(refused.map(|(_, why)| why));
        json
    }
}
