//! Northbound resources of the traffic controller.
use super::resources::{
    self, FilterResource, PacerResource, QueueResource, SchedulerResource, StageResource,
};
use super::{Node, TRAFFIC, Traffic};
use crate::north::{Done, Fault, body, missing, named, number, segments};
use ranlab_e2::ric::{IAppOutbox, Method, NorthboundRequest};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::traffic::{BearerId, Stage, TrafficAction, TrafficCommand};
use serde_json::{Value as Json, json};

const THERE: &str = "nodes, nodes/NODE/bearers, nodes/NODE/bearers/RNTI/RBID and below it queues/ID, filters/ID, \
                     scheduler, pacer and stages/ROLE";

impl Traffic {
    pub(super) fn northbound(
        &mut self,
        request: &NorthboundRequest,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        let path = segments(&request.path)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let reading = request.method == Method::Get;
        match path[..] {
            ["nodes"] if reading => {
                let nodes = self.nodes.iter().map(|(id, node)| self.overview(id, node));
                Ok(Done::Answer(json!({ "nodes": nodes.collect::<Vec<_>>() })))
            }
            ["nodes", name, "bearers"] if reading => {
                let id = named(name, self.nodes.keys())?;
                let report = self.nodes.get(&id).and_then(|node| node.report.as_ref());
                let bearers = report.into_iter().flat_map(|report| &report.bearers).map(resources::bearer);
                Ok(Done::Answer(json!({
                    "node": id.to_string(),
                    "tstamp_us": report.map(|report| report.tstamp_us),
                    "bearers": bearers.collect::<Vec<_>>(),
                })))
            }
            ["nodes"] | ["nodes", _, "bearers"] => Err(Fault::method("GET")),
            ["nodes", name, "bearers", rnti, rbid, ref rest @ ..] => {
                let id = named(name, self.nodes.keys())?;
                let bearer = BearerId {
                    rnti: number(rnti, "RNTI", u16::MAX.into())?,
                    rbid: number(rbid, "radio bearer", u8::MAX.into())?,
                };
                self.bearer_resource(id, bearer, rest, request, out)
            }
            _ => Err(missing("resource", &request.path, THERE)),
        }
    }

    fn bearer_resource(
        &mut self,
        id: GlobalE2NodeId,
        bearer: BearerId,
        path: &[&str],
        request: &NorthboundRequest,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        use Method::{Delete, Get, Put};
        let queue = |text| number::<u8>(text, "queue", u8::MAX.into());
        let filter = |text| number::<u16>(text, "filter", u16::MAX.into());
        let action = match (path, request.method) {
            ([], Get) => {
                let report = self.nodes.get(&id).and_then(|node| node.report.as_ref());
                let found = report.and_then(|report| report.bearers.iter().find(|b| b.bearer == bearer));
                let BearerId { rnti, rbid } = bearer;
                let unknown = || Fault::new(404, format!("there is no bearer {rbid} of a UE {rnti}"));
                return Ok(Done::Answer(resources::bearer(found.ok_or_else(unknown)?)));
            }
            (["queues", text], Put) => {
                TrafficAction::PutQueue(body::<QueueResource>(request)?.queue(queue(text)?)?)
            }
            (["queues", text], Delete) => TrafficAction::DeleteQueue(queue(text)?),
            (["filters", text], Put) => {
                TrafficAction::PutFilter(body::<FilterResource>(request)?.filter(filter(text)?))
            }
            (["filters", text], Delete) => TrafficAction::DeleteFilter(filter(text)?),
            (["scheduler"], Put) => TrafficAction::SetScheduler(body::<SchedulerResource>(request)?.into()),
            (["pacer"], Put) => TrafficAction::SetPacer(body::<PacerResource>(request)?.into()),
            (["stages", name], Put) => {
                let role = resources::role(name)?;
                let module = Some(body::<StageResource>(request)?.module()?);
                TrafficAction::SetStage(Stage { role, module })
            }
            (["stages", name], Delete) => {
                TrafficAction::SetStage(Stage { role: resources::role(name)?, module: None })
            }
            ([], _) => return Err(Fault::method("GET")),
            (["queues" | "filters" | "stages", _], _) => return Err(Fault::method("PUT, DELETE")),
            (["scheduler" | "pacer"], _) => return Err(Fault::method("PUT")),
            _ => return Err(missing("resource", &request.path, THERE)),
        };
        let lost = || Fault::new(503, "the base station is not connected, or offers no TRAFFIC");
        let function = self.watch.function(&id, TRAFFIC).ok_or_else(lost)?;
        self.commands.send((id, function), &TrafficCommand { bearer, action }, request.token, out)?;
        Ok(Done::Later)
    }

    fn overview(&self, id: &GlobalE2NodeId, node: &Node) -> Json {
        json!({
            "node": id.to_string(),
            "connected": self.watch.function(id, TRAFFIC).is_some(),
            "tstamp_us": node.report.as_ref().map(|report| report.tstamp_us),
            "malformed": node.malformed,
            "bearers": node.report.as_ref().map_or(0, |report| report.bearers.len()),
        })
    }
}
