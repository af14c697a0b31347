//! Northbound resources of the traffic controller.
use super::resources::{
    self, FilterResource, PacerResource, QueueResource, SchedulerResource, StageResource,
};
use super::{Node, TRAFFIC, Traffic};
use crate::northbound::{Call, Completion, Fault, Handler, named};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::traffic::{BearerId, Stage, TrafficAction, TrafficCommand};
use serde_json::{Value as Json, json};

/// HTTP status codes of a failed command to a base station.
const COMMAND: [u16; 5] = [400, 403, 409, 422, 502];

ranlab_machine::routes! {
    impl Traffic: Handler<Traffic>, at "/v1/", faults [405, 421, 503, 504] {
        Get "nodes" nodes -> 200: Nodes, Operator, "all base stations";
        Get "nodes/{node}/bearers" bearers -> 200: Bearers, Operator or [400],
            "bearers from the last report of the base station";
        Get "nodes/{node}/bearers/{rnti}/{rbid}" bearer -> 200: Bearer, Operator or [400],
            "a bearer from the last report of the base station";
        Put "nodes/{node}/bearers/{rnti}/{rbid}/queues/{queue}" put_queue(Queue) -> 200, Operator or COMMAND,
            "add or change a queue";
        Delete "nodes/{node}/bearers/{rnti}/{rbid}/queues/{queue}" delete_queue -> 200, Operator or [400, 409, 502],
            "delete a queue, except queue 0";
        Put "nodes/{node}/bearers/{rnti}/{rbid}/filters/{filter}" put_filter(Filter) -> 200, Operator or COMMAND,
            "add or change a filter";
        Delete "nodes/{node}/bearers/{rnti}/{rbid}/filters/{filter}" delete_filter -> 200, Operator or [400, 502],
            "delete a filter";
        Put "nodes/{node}/bearers/{rnti}/{rbid}/scheduler" put_scheduler(Scheduler) -> 200, Operator or COMMAND,
            "scheduler of the queues";
        Put "nodes/{node}/bearers/{rnti}/{rbid}/pacer" put_pacer(Pacer) -> 200, Operator or COMMAND,
            "pacer: when packets pass to RLC";
        Put "nodes/{node}/bearers/{rnti}/{rbid}/stages/{role}" put_stage(Stage) -> 200, Operator or COMMAND,
            "load a user-defined pacer or scheduler: a WebAssembly module with a signature trusted by the base station";
        Delete "nodes/{node}/bearers/{rnti}/{rbid}/stages/{role}" delete_stage -> 200, Operator or COMMAND,
            "remove a user-defined stage and restore the previous one";
    }
}

impl Traffic {
    fn nodes(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        let nodes = self.nodes.iter().map(|(id, node)| self.overview(id, node));
        Ok(Completion::Answer(json!({ "nodes": nodes.collect::<Vec<_>>() })))
    }

    fn bearers(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let id = self.node_of(call)?;
        let report = self.nodes.get(&id).and_then(|node| node.report.as_ref());
        let bearers = report.into_iter().flat_map(|report| &report.bearers).map(resources::bearer);
        Ok(Completion::Answer(json!({
            "node": id.to_string(),
            "tstamp_us": report.map(|report| report.tstamp_us),
            "bearers": bearers.collect::<Vec<_>>(),
        })))
    }

    fn node_of(&self, call: &Call<'_>) -> Result<GlobalE2NodeId, Fault> {
        named(call.parameters.text("node"), self.nodes.keys())
    }

    /// Returns node and bearer of a request.
    fn bearer_of(&self, call: &Call<'_>) -> Result<(GlobalE2NodeId, BearerId), Fault> {
        let id = self.node_of(call)?;
        let rnti = call.parameters.number("rnti", "RNTI", u16::MAX.into())?;
        let rbid = call.parameters.number("rbid", "radio bearer", u8::MAX.into())?;
        Ok((id, BearerId { rnti, rbid }))
    }

    fn bearer(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (id, bearer) = self.bearer_of(call)?;
        let report = self.nodes.get(&id).and_then(|node| node.report.as_ref());
        let found = report.and_then(|report| report.bearers.iter().find(|b| b.bearer == bearer));
        let BearerId { rnti, rbid } = bearer;
        let unknown = || Fault::new(404, format!("there is no bearer {rbid} of UE {rnti}"));
        Ok(Completion::Answer(resources::bearer(found.ok_or_else(unknown)?)))
    }

    fn put_queue(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        let queue = call.body::<QueueResource>()?.queue(queue(call)?)?;
        self.send(of, TrafficAction::PutQueue(queue), call)
    }

    fn delete_queue(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        self.send(of, TrafficAction::DeleteQueue(queue(call)?), call)
    }

    fn put_filter(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        let filter = call.body::<FilterResource>()?.filter(filter(call)?);
        self.send(of, TrafficAction::PutFilter(filter), call)
    }

    fn delete_filter(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        self.send(of, TrafficAction::DeleteFilter(filter(call)?), call)
    }

    fn put_scheduler(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        self.send(of, TrafficAction::SetScheduler(call.body::<SchedulerResource>()?.into()), call)
    }

    fn put_pacer(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        self.send(of, TrafficAction::SetPacer(call.body::<PacerResource>()?.into()), call)
    }

    fn put_stage(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        let role = resources::role(call.parameters.text("role"))?;
        let module = Some(call.body::<StageResource>()?.module()?);
        self.send(of, TrafficAction::SetStage(Stage { role, module }), call)
    }

    fn delete_stage(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let of = self.bearer_of(call)?;
        let role = resources::role(call.parameters.text("role"))?;
        self.send(of, TrafficAction::SetStage(Stage { role, module: None }), call)
    }

    fn send(
        &mut self,
        (id, bearer): (GlobalE2NodeId, BearerId),
        action: TrafficAction,
        call: &mut Call<'_>,
    ) -> Result<Completion, Fault> {
        let lost = || Fault::new(503, "the base station is not connected or does not offer TRAFFIC");
        let function = self.watch.function(&id, TRAFFIC).ok_or_else(lost)?;
        self.commands.send(
            (id, function),
            &TrafficCommand { bearer, action },
            call.request.token,
            call.out,
        )?;
        Ok(Completion::Later)
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

fn queue(call: &Call<'_>) -> Result<u8, Fault> {
    Ok(call.parameters.number("queue", "queue", u8::MAX.into())?)
}

fn filter(call: &Call<'_>) -> Result<u16, Fault> {
    Ok(call.parameters.number("filter", "filter", u16::MAX.into())?)
}
