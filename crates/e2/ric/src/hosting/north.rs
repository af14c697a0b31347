//! Northbound interface of hosted xApps: status, log, start and stop, by name.
use super::supervisor::{Status, Unknown, Verb};
use crate::lock;
use crate::north::{Done, Fault, conclude, segments};
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, Method, NorthboundRequest};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// OpenAPI 3.1 description of the resources of this iApp.
pub const OPENAPI: &str = include_str!("../../openapi/host.json");
/// Maximum number of queued orders; further orders get status 503.
const ORDERS_MAX: usize = 64;

/// Returns the last lines of an xApp's log, oldest first.
type Tail = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Mailbox between the RIC, which takes northbound requests, and the host, which starts processes. Clones
/// share state.
#[derive(Clone, Default)]
pub struct HostingHandle(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    statuses: Vec<Status>,
    tails: Vec<Tail>,
    orders: VecDeque<(String, Verb)>,
}

impl HostingHandle {
    /// Returns a mailbox for these xApps; `tails` are their logs in the order of `statuses`.
    pub fn new(statuses: Vec<Status>, tails: Vec<Tail>) -> Self {
        Self(Arc::new(Mutex::new(Inside { statuses, tails, orders: VecDeque::new() })))
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
    pub fn next_order(&self) -> Option<(String, Verb)> {
        lock(&self.0).orders.pop_front()
    }

    fn find(&self, name: &str) -> Result<(usize, Status), Fault> {
        let inside = lock(&self.0);
        let found = inside.statuses.iter().enumerate().find(|(_, status)| status.name == name);
        found.map(|(place, status)| (place, status.clone())).ok_or_else(|| {
            let there: Vec<_> = inside.statuses.iter().map(|status| status.name.as_str()).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            Fault::new(404, Unknown { name: name.to_owned(), there }.to_string())
        })
    }

    fn order(&self, name: &str, verb: Verb) -> Result<Json, Fault> {
        let (_, status) = self.find(name)?;
        let orders = &mut lock(&self.0).orders;
        if orders.len() >= ORDERS_MAX {
            return Err(Fault::new(503, "too many orders at once; try again"));
        }
        orders.push_back((name.to_owned(), verb));
        Ok(json!(status))
    }
}

/// iApp `host`.
pub struct Host(HostingHandle);

impl Host {
    /// Returns an iApp that reads from and orders through this mailbox.
    pub fn new(desk: HostingHandle) -> Self {
        Self(desk)
    }

    fn northbound(&self, request: &NorthboundRequest, out: &mut IAppOutbox) -> Result<Done, Fault> {
        let path = segments(&request.path)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match (&path[..], request.method) {
            ([], Method::Get) => Ok(Done::Answer(json!({ "xapps": self.0.statuses() }))),
            ([name], Method::Get) => self.0.find(name).map(|(_, status)| Done::Answer(json!(status))),
            ([name, "log"], Method::Get) => {
                let (place, _) = self.0.find(name)?;
                let tail = lock(&self.0.0).tails.get(place).cloned();
                // Called without the lock: the log has its own lock.
                let lines = tail.map(|tail| tail()).unwrap_or_default();
                Ok(Done::Answer(json!({ "lines": lines })))
            }
            ([name, verb @ ("start" | "stop" | "restart")], Method::Post) => {
                let verb = match *verb {
                    "start" => Verb::Start,
                    "stop" => Verb::Stop,
                    _ => Verb::Restart,
                };
                let before = self.0.order(name, verb)?;
                out.reply(request.reply(202, before.to_string()));
                Ok(Done::Later)
            }
            ([] | [_] | [_, "log"], _) => Err(Fault::method("GET")),
            ([_, "start" | "stop" | "restart"], _) => Err(Fault::method("POST")),
            _ => {
                let there = "\"\", NAME, NAME/log, NAME/start, NAME/stop and NAME/restart";
                Err(crate::north::missing("resource", &request.path, there))
            }
        }
    }
}

impl IApp for Host {
    fn name(&self) -> &str {
        "host"
    }

    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        if let IAppInput::Northbound(request) = input {
            let done = self.northbound(request, out);
            conclude(request, done, out);
        }
    }
}
