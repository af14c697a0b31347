//! Northbound interface of hosted xApps: status, log, start and stop, by name.
use super::supervisor::{ProcessRequest, Status, UnknownXapp};
use crate::lock;
use crate::northbound::{Call, Completion, Fault, Handler};
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox};
use ranlab_machine::routes::{Document, Routed};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Routes of this iApp, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: Host::ROUTES, details: include_str!("../../openapi/host.json") };
/// Name of this iApp, in northbound paths.
pub const NAME: &str = "host";
/// Maximum number of queued orders; further orders get status 503.
const ORDERS_MAX: usize = 64;

/// Function that returns the last lines of an xApp's log, oldest first.
type Tail = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Mailbox between the RIC, which takes northbound requests, and the host, which starts processes. Clones
/// share state.
#[derive(Clone, Default)]
pub struct HostingHandle(Arc<Mutex<HostingState>>);

#[derive(Default)]
struct HostingState {
    statuses: Vec<Status>,
    tails: Vec<Tail>,
    orders: VecDeque<(String, ProcessRequest)>,
}

impl HostingHandle {
    /// Returns a mailbox for these xApps; `tails` are their logs in the order of `statuses`.
    pub fn new(statuses: Vec<Status>, tails: Vec<Tail>) -> Self {
        Self(Arc::new(Mutex::new(HostingState { statuses, tails, orders: VecDeque::new() })))
    }

    /// Publishes the current status of the xApps.
    pub fn show(&self, statuses: Vec<Status>) {
        lock(&self.0).statuses = statuses;
    }

    /// Returns the status last published.
    pub fn statuses(&self) -> Vec<Status> {
        lock(&self.0).statuses.clone()
    }

    /// Takes the next order from the queue.
    pub fn next_order(&self) -> Option<(String, ProcessRequest)> {
        lock(&self.0).orders.pop_front()
    }

    fn find(&self, name: &str) -> Result<(usize, Status), Fault> {
        let inside = lock(&self.0);
        let found = inside.statuses.iter().enumerate().find(|(_, status)| status.name == name);
        found.map(|(place, status)| (place, status.clone())).ok_or_else(|| {
            let there: Vec<_> = inside.statuses.iter().map(|status| status.name.as_str()).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            Fault::new(404, UnknownXapp { name: name.to_owned(), there }.to_string())
        })
    }

    fn order(&self, name: &str, verb: ProcessRequest) -> Result<Json, Fault> {
        let (_, status) = self.find(name)?;
        let orders = &mut lock(&self.0).orders;
        if orders.len() >= ORDERS_MAX {
            return Err(Fault::new(503, "too many orders are pending; try again later"));
        }
        orders.push_back((name.to_owned(), verb));
        Ok(json!(status))
    }
}

/// iApp `host`.
pub struct Host(HostingHandle);

impl Host {
    /// Returns an iApp that reads statuses and logs from this mailbox, and queues orders in it.
    pub fn new(desk: HostingHandle) -> Self {
        Self(desk)
    }

    fn hosted_xapps(&mut self, _: &mut Call<'_>) -> Result<Completion, Fault> {
        Ok(Completion::Answer(json!({ "xapps": self.0.statuses() })))
    }

    fn hosted_xapp(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (_, status) = self.0.find(call.parameters.text("name"))?;
        Ok(Completion::Answer(json!(status)))
    }

    fn hosted_log(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        let (place, _) = self.0.find(call.parameters.text("name"))?;
        let tail = lock(&self.0.0).tails.get(place).cloned();
        // Called without the lock: the log has its own lock.
        let lines = tail.map(|tail| tail()).unwrap_or_default();
        Ok(Completion::Answer(json!({ "lines": lines })))
    }

    fn start_hosted(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        self.0.order(call.parameters.text("name"), ProcessRequest::Start).map(Completion::Answer)
    }

    fn stop_hosted(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        self.0.order(call.parameters.text("name"), ProcessRequest::Stop).map(Completion::Answer)
    }

    fn restart_hosted(&mut self, call: &mut Call<'_>) -> Result<Completion, Fault> {
        self.0.order(call.parameters.text("name"), ProcessRequest::Restart).map(Completion::Answer)
    }
}

ranlab_machine::routes! {
    impl Host: Handler<Host>, at "/v1/host/xapps/", faults [400, 401, 403, 404, 405, 421, 503, 504] {
        Get "" @ "/v1/host/xapps" hosted_xapps -> 200: HostedXapps, Operator, "installed xApps with their status";
        Get "{name}" hosted_xapp -> 200: HostedXapp, Operator, "status of an xApp";
        Get "{name}/log" hosted_log -> 200: HostedLog, Operator, "last lines of an xApp's log";
        Post "{name}/start" start_hosted(Anything) -> 202: HostedXapp, Operator,
            "start an xApp; returns its previous status";
        Post "{name}/stop" stop_hosted(Anything) -> 202: HostedXapp, Operator, "stop an xApp; returns its previous status";
        Post "{name}/restart" restart_hosted(Anything) -> 202: HostedXapp, Operator,
            "restart an xApp; returns its previous status";
    }
}

impl IApp for Host {
    fn name(&self) -> &str {
        NAME
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        if let IAppInput::Northbound(request) = input {
            crate::northbound::serve(self, now, request, out);
        }
    }
}
