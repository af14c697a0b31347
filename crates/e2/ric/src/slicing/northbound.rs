//! Northbound resources of the slicing controller.
use super::policy::slice_of;
use super::resources::{AllocationResource, AssociationResource, CellResource, ShareResource};
use super::{Node, RRC, SLICE, SliceResource, SliceSetResource, Slicing, Waiting};
use crate::northbound::{Call, Completion, Fault, Handler, missing, named};
use ranlab_e2::ric::IAppOutbox;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::rrc::{RrcCommand, RrcEvent, RrcHandover};
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceIndication, UeSlice};
use serde_json::{Value as Json, json};

/// HTTP status codes of a failed command to a base station.
const COMMAND: [u16; 5] = [400, 403, 409, 422, 502];

ranlab_machine::routes! {
    impl Slicing: Handler<Slicing>, at "/v1/", faults [405, 421, 503, 504] {
        Get "nodes" nodes -> 200: Nodes, Operator, "all base stations";
        Get "nodes/{node}" node -> 200: Node, Operator or [400], "a base station: its slices and UEs";
        Get "nodes/{node}/slices" slices -> 200: Slicing, Operator or [400], "slice configuration of the carrier";
        Put "nodes/{node}/slices" put_slices(SliceSet) -> 200, Operator or COMMAND, "replace the slice configuration";
        Get "nodes/{node}/slices/{slice}" slice -> 200: SliceInList, Operator or [400], "a slice";
        Put "nodes/{node}/slices/{slice}" put_slice(Slice) -> 200, Operator or COMMAND, "create or change a slice";
        Delete "nodes/{node}/slices/{slice}" delete_slice -> 200, Operator or [400, 403, 502],
            "delete a slice; its UEs move to the first slice";
        Put "nodes/{node}/slices/{slice}/allocation" put_allocation(Allocation) -> 200, Operator or COMMAND,
            "allocate resource blocks for the next slots of a slice whose scheduler is remote";
        Put "nodes/{node}/quotas" put_quotas(Quotas) -> 200, Operator or COMMAND,
            "quotas of slices by S-NSSAI at a base station without SLICE, by CCC or RC";
        Get "nodes/{node}/ues/{rnti}/cell" cell -> 200: Cell, Operator or [400], "cell of a UE";
        Put "nodes/{node}/ues/{rnti}/cell" put_cell(Cell) -> 200, Operator or COMMAND,
            "hand a UE over to another cell of its base station";
        Get "nodes/{node}/ues/{rnti}" ue -> 200: Ue, Operator or [400], "a UE";
        Put "nodes/{node}/ues/{rnti}" put_ue(Association) -> 200, Operator or COMMAND,
            "associate a UE with a slice; the policy does not move it";
        Get "policy" policy -> 200: Policy, Operator, "rules: slice of each UE";
        Put "policy" put_policy(Policy) -> 200: Policy, Operator or [400, 422], "replace the rules";
    }
}

impl Slicing {
    fn nodes(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        let nodes = self.nodes.iter().map(|(id, node)| self.overview(id, node));
        let others = self.others.iter().filter(|(id, _)| !self.nodes.contains_key(id));
        let all = nodes.chain(others.map(|(id, other)| other.overview(id)));
        Ok(Completion::Answer(json!({ "nodes": all.collect::<Vec<_>>() })))
    }

    /// Returns the node of a request, with SLICE or with quotas.
    fn any_node(&self, call: &Call<'_>) -> Result<GlobalE2NodeId, Fault> {
        named(call.parameters.text("node"), self.nodes.keys().chain(self.others.keys()))
    }

    fn node(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let id = self.any_node(call)?;
        Ok(Completion::Answer(match (self.nodes.get(&id), self.others.get(&id)) {
            (None, Some(other)) => other.overview(&id),
            (node, _) => node.map(|node| self.overview(&id, node)).unwrap_or_default(),
        }))
    }

    fn policy(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(json!(self.policy)))
    }

    fn put_policy(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        self.adopt(call.body()?, call.out)?;
        call.out.save(None);
        Ok(Completion::Answer(json!(self.policy)))
    }

    fn put_quotas(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let id = self.any_node(call)?;
        self.quotas(id, call)
    }

    /// Returns the node with SLICE of a request.
    fn slicing_node(&self, call: &Call<'_>) -> Result<(GlobalE2NodeId, &Node), Fault> {
        let name = call.parameters.text("node");
        let is_named = |id: &GlobalE2NodeId| !self.nodes.contains_key(id) && id.to_string() == name;
        if let Some((id, other)) = self.others.iter().find(|(id, _)| is_named(id)) {
            let reason = other.overview(id)["reason"].as_str().unwrap_or_default().to_owned();
            return Err(Fault::new(409, format!("{name}: {reason}")));
        }
        let id = named(name, self.nodes.keys())?;
        let node = self.nodes.get(&id).ok_or_else(|| missing("node", name, "see the resource nodes"))?;
        Ok((id, node))
    }

    fn slices(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(slices(report(self.slicing_node(call)?.1)?)))
    }

    fn put_slices(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, _) = self.slicing_node(call)?;
        self.send(id, SliceCommand::Configure(call.body::<SliceSetResource>()?.set()?), call)
    }

    fn slice(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (_, node) = self.slicing_node(call)?;
        let slice = slice_id(call)?;
        let unknown = || Fault::new(404, format!("there is no slice {slice}"));
        let found = report(node)?.set.slice(slice).ok_or_else(unknown)?;
        Ok(Completion::Answer(json!(SliceResource::from(found))))
    }

    fn put_slice(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, node) = self.slicing_node(call)?;
        let slice = call.body::<SliceResource>()?.slice(slice_id(call)?)?;
        let is_there = report(node)?.set.slice(slice.id).is_some();
        let command = if is_there { SliceCommand::Modify(slice) } else { SliceCommand::Add(slice) };
        self.send(id, command, call)
    }

    fn delete_slice(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, _) = self.slicing_node(call)?;
        self.send(id, SliceCommand::Delete(slice_id(call)?), call)
    }

    fn put_allocation(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, _) = self.slicing_node(call)?;
        let allocation = call.body::<AllocationResource>()?.allocation(slice_id(call)?);
        self.send(id, SliceCommand::Allocate(allocation), call)
    }

    /// Returns the UE of a request.
    fn ue_of(&self, id: &GlobalE2NodeId, call: &Call<'_>) -> Result<&RrcEvent, Fault> {
        let rnti = rnti(call)?;
        self.ues.get(id, rnti).ok_or_else(|| Fault::new(404, format!("there is no UE {rnti}")))
    }

    fn ue(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, node) = self.slicing_node(call)?;
        Ok(Completion::Answer(ue_of(node, self.ue_of(&id, call)?)))
    }

    fn put_ue(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, _) = self.slicing_node(call)?;
        let rnti = rnti(call)?;
        let slice = call.body::<AssociationResource>()?.slice;
        self.send(id, SliceCommand::Associate(vec![UeSlice { rnti, slice }]), call)
    }

    fn cell(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, _) = self.slicing_node(call)?;
        Ok(Completion::Answer(json!({ "cell_id": self.ue_of(&id, call)?.cell_id })))
    }

    fn put_cell(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, _) = self.slicing_node(call)?;
        let cell_id = self.ue_of(&id, call)?.cell_id;
        let target_cell_id = call.body::<CellResource>()?.cell_id;
        let handover = RrcHandover { rnti: rnti(call)?, cell_id, target_cell_id };
        self.hand_over(id, handover, call.request.token, call.out)
    }

    fn send(
        &mut self,
        id: GlobalE2NodeId,
        command: SliceCommand,
        call: &mut Call<'_>,
    ) -> Result<Completion, Fault> {
        let lost = || Fault::new(503, "the base station is not connected or does not offer SLICE");
        let function = self.watch.function(&id, SLICE).ok_or_else(lost)?;
        let waiting = Waiting::North { node: id, token: call.request.token, command: command.clone() };
        self.commands.send((id, function), &command, waiting, call.out)?;
        Ok(Completion::Later)
    }

    /// Sends the handover to the E2 node that terminates RRC of this base station.
    fn hand_over(
        &mut self,
        id: GlobalE2NodeId,
        handover: RrcHandover,
        token: u64,
        out: &mut IAppOutbox,
    ) -> Result<Completion, Fault> {
        let parts = self.nodes.keys().filter(|part| part.base_station() == id.base_station());
        let to = parts.filter_map(|part| Some((*part, self.watch.function(part, RRC)?))).next();
        let lost = || Fault::new(503, "the base station is not connected or does not offer RRC");
        let command = RrcCommand::Handover(handover);
        self.commands.send(to.ok_or_else(lost)?, &command, Waiting::HandOver { token }, out)?;
        Ok(Completion::Later)
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

fn report(node: &Node) -> Result<&SliceIndication, Fault> {
    node.report.as_ref().ok_or_else(|| Fault::new(503, "the base station has not reported its slices yet"))
}

fn slice_id(call: &Call<'_>) -> Result<u16, Fault> {
    Ok(call.parameters.number("slice", "slice", u16::MAX.into())?)
}

fn rnti(call: &Call<'_>) -> Result<u16, Fault> {
    Ok(call.parameters.number("rnti", "RNTI", u16::MAX.into())?)
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
    for (name, value) in [("slot", report.slot), ("slot_us", report.slot_us.map(u64::from))] {
        if let Some(value) = value {
            json[name] = value.into();
        }
    }
    json["got"] = report.got.iter().map(ShareResource::from).map(|share| json!(share)).collect();
    json
}
