//! Northbound resources of the slicing controller.
use super::policy::slice_of;
use super::resources::{AllocationResource, AssociationResource, CellResource, ShareResource};
use super::{Node, RRC, SLICE, SliceResource, SliceSetResource, Slicing, Waiting};
use crate::north::{Done, Fault, body, missing, named, number, segments};
use ranlab_e2::ric::{IAppOutbox, Method, NorthboundRequest};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::rrc::{RrcCommand, RrcEvent, RrcHandover};
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceIndication, UeSlice};
use serde_json::{Value as Json, json};

const THERE: &str = "nodes, nodes/NODE, nodes/NODE/slices, nodes/NODE/slices/ID, nodes/NODE/slices/ID/allocation, \
     nodes/NODE/quotas, nodes/NODE/ues/RNTI, nodes/NODE/ues/RNTI/cell and policy";

impl Slicing {
    pub(super) fn northbound(
        &mut self,
        request: &NorthboundRequest,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        let path = segments(&request.path)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path[..] {
            ["nodes"] => match request.method {
                Method::Get => {
                    let nodes = self.nodes.iter().map(|(id, node)| self.overview(id, node));
                    let others = self.others.iter().filter(|(id, _)| !self.nodes.contains_key(id));
                    let all = nodes.chain(others.map(|(id, other)| other.overview(id)));
                    Ok(Done::Answer(json!({ "nodes": all.collect::<Vec<_>>() })))
                }
                _ => Err(Fault::method("GET")),
            },
            ["policy"] => self.policy_resource(request, out),
            ["nodes", name, "quotas"] => {
                let id = named(name, self.nodes.keys().chain(self.others.keys()))?;
                self.quotas(id, request, out)
            }
            ["nodes", name] if request.method == Method::Get => {
                let id = named(name, self.nodes.keys().chain(self.others.keys()))?;
                Ok(Done::Answer(match (self.nodes.get(&id), self.others.get(&id)) {
                    (None, Some(other)) => other.overview(&id),
                    (node, _) => node.map(|node| self.overview(&id, node)).unwrap_or_default(),
                }))
            }
            ["nodes", name, ref rest @ ..] => {
                let is_named = |id: &GlobalE2NodeId| !self.nodes.contains_key(id) && id.to_string() == name;
                if let Some((id, other)) = self.others.iter().find(|(id, _)| is_named(id)) {
                    let reason = other.overview(id)["reason"].as_str().unwrap_or_default().to_owned();
                    return Err(Fault::new(409, format!("{name}: {reason}")));
                }
                let id = named(name, self.nodes.keys())?;
                self.node_resource(id, rest, request, out)
            }
            _ => Err(missing("resource", &request.path, THERE)),
        }
    }

    fn policy_resource(&mut self, request: &NorthboundRequest, out: &mut IAppOutbox) -> Result<Done, Fault> {
        match request.method {
            Method::Get => {}
            Method::Put => {
                self.adopt(body(request)?, out)?;
                out.save(None);
            }
            _ => return Err(Fault::method("GET, PUT")),
        }
        Ok(Done::Answer(json!(self.policy)))
    }

    fn node_resource(
        &mut self,
        id: GlobalE2NodeId,
        path: &[&str],
        request: &NorthboundRequest,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        use Method::{Delete, Get, Put};
        let node = self.nodes.get(&id).ok_or_else(|| missing("node", &id.to_string(), THERE))?;
        let silent = || Fault::new(503, "the base station has not reported its slices yet");
        let report = || node.report.as_ref().ok_or_else(silent);
        let slice_id = |text| number::<u16>(text, "slice", u16::MAX.into());
        let command = match (path, request.method) {
            ([], Get) => return Ok(Done::Answer(self.overview(&id, node))),
            (["slices"], Get) => return Ok(Done::Answer(slices(report()?))),
            (["slices"], Put) => SliceCommand::Configure(body::<SliceSetResource>(request)?.set()?),
            (["slices", slice], Get) => {
                let slice = slice_id(slice)?;
                let report = report()?;
                let unknown = || Fault::new(404, format!("there is no slice {slice}"));
                let found = report.set.slice(slice).ok_or_else(unknown)?;
                return Ok(Done::Answer(json!(SliceResource::from(found))));
            }
            (["slices", slice], Put) => {
                let slice = body::<SliceResource>(request)?.slice(slice_id(slice)?)?;
                let is_there = report()?.set.slice(slice.id).is_some();
                if is_there { SliceCommand::Modify(slice) } else { SliceCommand::Add(slice) }
            }
            (["slices", slice], Delete) => SliceCommand::Delete(slice_id(slice)?),
            (["slices", slice, "allocation"], Put) => {
                SliceCommand::Allocate(body::<AllocationResource>(request)?.allocation(slice_id(slice)?))
            }
            (["ues", rnti], Get) => {
                let rnti: u16 = number(rnti, "RNTI", u16::MAX.into())?;
                let ue = self.ues.get(&id, rnti);
                let unknown = || Fault::new(404, format!("there is no UE {rnti}"));
                return Ok(Done::Answer(ue_of(node, ue.ok_or_else(unknown)?)));
            }
            (["ues", rnti], Put) => {
                let rnti = number(rnti, "RNTI", u16::MAX.into())?;
                let slice = body::<AssociationResource>(request)?.slice;
                SliceCommand::Associate(vec![UeSlice { rnti, slice }])
            }
            (["ues", rnti, "cell"], Get | Put) => {
                let rnti: u16 = number(rnti, "RNTI", u16::MAX.into())?;
                let unknown = || Fault::new(404, format!("there is no UE {rnti}"));
                let cell_id = self.ues.get(&id, rnti).ok_or_else(unknown)?.cell_id;
                if request.method == Get {
                    return Ok(Done::Answer(json!({ "cell_id": cell_id })));
                }
                let target_cell_id = body::<CellResource>(request)?.cell_id;
                let handover = RrcHandover { rnti, cell_id, target_cell_id };
                return self.hand_over(id, handover, request.token, out);
            }
            ([], _) => return Err(Fault::method("GET")),
            (["slices"], _) | (["ues", _], _) | (["ues", _, "cell"], _) => {
                return Err(Fault::method("GET, PUT"));
            }
            (["slices", _], _) => return Err(Fault::method("GET, PUT, DELETE")),
            (["slices", _, "allocation"], _) => return Err(Fault::method("PUT")),
            _ => return Err(missing("resource", &request.path, THERE)),
        };
        let lost = || Fault::new(503, "the base station is not connected, or offers no SLICE");
        let function = self.watch.function(&id, SLICE).ok_or_else(lost)?;
        let waiting = Waiting::North { node: id, token: request.token, command: command.clone() };
        self.commands.send((id, function), &command, waiting, out)?;
        Ok(Done::Later)
    }

    /// Sends the handover to the E2 node that terminates RRC of this base station.
    fn hand_over(
        &mut self,
        id: GlobalE2NodeId,
        handover: RrcHandover,
        token: u64,
        out: &mut IAppOutbox,
    ) -> Result<Done, Fault> {
        let parts = self.nodes.keys().filter(|part| part.base_station() == id.base_station());
        let to = parts.filter_map(|part| Some((*part, self.watch.function(part, RRC)?))).next();
        let lost = || Fault::new(503, "the base station is not connected, or offers no RRC");
        let command = RrcCommand::Handover(handover);
        self.commands.send(to.ok_or_else(lost)?, &command, Waiting::HandOver { token }, out)?;
        Ok(Done::Later)
    }

    fn overview(&self, id: &GlobalE2NodeId, node: &Node) -> Json {
        json!({
            "node": id.to_string(),
            "connected": self.watch.function(id, SLICE).is_some(),
            "tstamp_us": node.report.as_ref().map(|report| report.tstamp_us),
            "malformed": node.malformed,
            "slicing": node.report.as_ref().map(slices),
            "ues": self.ues.of_station(id).map(|ue| ue_of(node, ue)).collect::<Vec<_>>(),
        })
    }
}

fn ue_of(node: &Node, ue: &RrcEvent) -> Json {
    let mut json = crate::ues::ue_of(ue);
    json["slice"] = json!(node.report.as_ref().and_then(|report| slice_of(report, ue.rnti)));
    json["by_hand"] = node.by_hand.contains(&ue.rnti).into();
    json["refused"] = json!(node.refused.get(&ue.rnti));
    json
}

fn slices(report: &SliceIndication) -> Json {
    let mut json = json!(SliceSetResource::from(&report.set));
    json["prbs"] = report.prbs.into();
    json["prbs_offered"] = report.prbs_offered.into();
    for (name, told) in [("slot", report.slot), ("slot_us", report.slot_us.map(u64::from))] {
        if let Some(told) = told {
            json[name] = told.into();
        }
    }
    json["got"] = report.got.iter().map(ShareResource::from).map(|share| json!(share)).collect();
    json
}
