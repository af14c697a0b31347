//! What the north sees of hosted xApps, and how it starts and stops them: by name alone.
use super::supervisor::{Status, Unknown, Verb};
use crate::lock;
use crate::north::{Done, Fault, conclude, segments};
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, Method, NorthboundRequest};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Its resources, in the terms of OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../../openapi/host.json");
/// Orders that wait for the host's hands; beyond, the answer is 503.
const ORDERS_MAX: usize = 64;

/// The last lines of an xApp's log, oldest first.
type Tail = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Between the RIC, which is asked, and the host's hands, which are elsewhere. A copy is the same desk.
#[derive(Clone, Default)]
pub struct Desk(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    statuses: Vec<Status>,
    tails: Vec<Tail>,
    orders: VecDeque<(String, Verb)>,
}

impl Desk {
    /// A desk for xApps with such logs, in the order of their statuses.
    pub fn new(statuses: Vec<Status>, tails: Vec<Tail>) -> Self {
        Self(Arc::new(Mutex::new(Inside { statuses, tails, orders: VecDeque::new() })))
    }

    /// How the xApps stand now.
    pub fn show(&self, statuses: Vec<Status>) {
        lock(&self.0).statuses = statuses;
    }

    /// How they stood when that was last shown.
    pub fn statuses(&self) -> Vec<Status> {
        lock(&self.0).statuses.clone()
    }

    /// The next order.
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

/// The iApp `host`.
pub struct Host(Desk);

impl Host {
    /// Asks at this desk.
    pub fn new(desk: Desk) -> Self {
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
                // Not under the lock: the log has one of its own.
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
