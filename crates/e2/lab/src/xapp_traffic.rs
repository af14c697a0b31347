//! Sample xApp of the traffic controller (FlexRIC §6.1.1). When packets wait too long in RLC, it sends three requests.
//! They create a queue for the low-latency flow, a filter that selects the flow, and a pacer that keeps RLC's buffer
//! short.

use ranlab_machine::routes::encode;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::rest_client::RestError;
use crate::rest_xapp::{Ask, Messages, RestXapp, Want, drive};
use crate::{BusUrl, RestUrl, TRAFFIC_PORT};
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, config, environment, numbers, rig, since};

/// Maximum number of tracked bearers.
const BEARERS_MAX: usize = 65_536;
/// Maximum number of attempts to configure a bearer.
const TRIES: u32 = 3;

config! {
    /// An xApp that prevents a greedy flow from delaying a low-latency flow.
    pub struct TrafficXappComponent {
        /// URL of the traffic controller
        rest: RestUrl = RestUrl::loopback(TRAFFIC_PORT), wiring();
        /// file with the token of that controller; read for each request
        rest_token_file: Option<PathBuf> = None, local();
        /// source of the controller's statistics: local (its /v1/events) or redis://HOST:PORT
        bus: BusUrl = BusUrl::Local, wiring();
        /// maximum sojourn time of packets in RLC
        limit: Duration = Duration::from_millis(10);
        /// IP protocol number of the low-latency flow; 17 is UDP
        protocol: u8 = 17, range(0, 255);
        /// source address of the low-latency flow
        source: Option<String> = None;
        /// destination address of the low-latency flow
        destination: Option<String> = None;
        /// source port of the low-latency flow
        source_port: Option<u16> = None, range(0, 65_535);
        /// destination port of the low-latency flow
        destination_port: Option<u16> = None, range(0, 65_535);
        /// number of the queue for the low-latency flow
        queue: u8 = 1, range(1, 255);
        /// capacity of that queue, in bytes
        capacity: u32 = 100_000, range(1, i64::from(u32::MAX)), unit("B");
    }
}

/// Counters of the xApp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TrafficXappReport {
    /// Number of received bus messages.
    pub heard: u64,
    /// Number of configured bearers.
    pub helped: u64,
    /// Number of failed attempts.
    pub failed: u64,
    /// Longest waiting time in RLC before a bearer was configured, in microseconds.
    pub before_us_max: u64,
    /// Longest waiting time in RLC after a bearer was configured, in microseconds.
    pub after_us_max: u64,
}

/// Key of a bearer: base station, RNTI and radio bearer identity.
type Bearer = (String, u64, u64);

/// State of the bearers. It decides which bearers need to be configured, and is independent of sockets.
#[derive(Debug, Default)]
struct BearerWatch {
    report: TrafficXappReport,
    /// Number of attempts so far by bearer; `None` if the bearer is configured.
    known: BTreeMap<Bearer, Option<u32>>,
}

impl BearerWatch {
    /// Handles a bus message. Returns the bearers to configure now.
    fn on_message(&mut self, message: &Json, limit_us: u64) -> Vec<Bearer> {
        self.report.heard += 1;
        let Some(node) = message["node"].as_str() else { return Vec::new() };
        let column = if message["sm"] == "rlc" { "txsdu_wt_us" } else { "rlc_sojourn_us" };
        let mut ill = Vec::new();
        for row in message["bearers"].as_array().into_iter().flatten() {
            let numbers = (row["rnti"].as_u64(), row["rbid"].as_u64(), row[column].as_u64());
            let (Some(rnti), Some(rbid), Some(waits_us)) = numbers else { continue };
            let bearer = (node.to_owned(), rnti, rbid);
            let helped = self.known.get(&bearer) == Some(&None);
            let longest = if helped { &mut self.report.after_us_max } else { &mut self.report.before_us_max };
            *longest = waits_us.max(*longest);
            let room = self.known.len() < BEARERS_MAX || self.known.contains_key(&bearer);
            if helped || waits_us <= limit_us || !room {
                continue;
            }
            let tries = self.known.entry(bearer.clone()).or_insert(Some(0));
            if tries.is_some_and(|tries| tries < TRIES) {
                ill.push(bearer);
            }
        }
        ill
    }

    fn treated(&mut self, bearer: Bearer, done: bool) {
        if done {
            self.report.helped += 1;
            self.known.insert(bearer, None);
        } else {
            self.report.failed += 1;
            if let Some(Some(tries)) = self.known.get_mut(&bearer) {
                *tries += 1;
            }
        }
    }
}

impl TrafficXappComponent {
    /// Returns the three requests that configure a bearer.
    fn steps(&self, (node, rnti, rbid): &Bearer) -> VecDeque<Ask> {
        let bearer = format!("/v1/nodes/{}/bearers/{rnti}/{rbid}", encode(node));
        let mut filter = json!({ "protocol": self.protocol, "queue": self.queue });
        let given = [
            ("source", self.source.as_ref().map(|address| json!(address))),
            ("destination", self.destination.as_ref().map(|address| json!(address))),
            ("source_port", self.source_port.map(|port| json!(port))),
            ("destination_port", self.destination_port.map(|port| json!(port))),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                filter[name] = value;
            }
        }
        let queue = self.queue;
        [
            (format!("queues/{queue}"), json!({ "capacity_bytes": self.capacity })),
            (format!("filters/{queue}"), filter),
            ("pacer".to_owned(), json!({ "type": "5g-bdp" })),
        ]
        .map(|(resource, body)| Ask::put(format!("{bearer}/{resource}"), body))
        .into()
    }

    fn controller(&self) -> RestUrl {
        self.rest.clone().with_token(self.rest_token_file.clone())
    }

    async fn messages(&self) -> Result<Messages, ComponentError> {
        match &self.bus {
            BusUrl::Local => Ok(Messages::Local(self.controller().events().await.map_err(environment)?)),
            BusUrl::Redis(url) => redis(url),
        }
    }
}

/// The xApp as a state machine.
#[derive(Debug)]
pub(crate) struct TrafficXappMachine {
    part: TrafficXappComponent,
    limit_us: u64,
    patients: BearerWatch,
    /// Bearers to configure. The pending requests belong to the first bearer.
    ill: VecDeque<Bearer>,
    asks: VecDeque<Ask>,
}

impl TrafficXappMachine {
    /// Creates the state machine.
    ///
    /// # Errors
    ///
    /// Returns an error if an address is not a valid IPv4 address.
    pub(crate) fn new(part: &TrafficXappComponent) -> Result<Self, ComponentError> {
        for address in [&part.source, &part.destination].into_iter().flatten() {
            address.parse::<Ipv4Addr>().map_err(|_| rig(format!("\"{address}\" is not an IPv4 address")))?;
        }
        let limit_us = u64::try_from(part.limit.as_micros()).unwrap_or(u64::MAX);
        let (ill, asks) = Default::default();
        Ok(Self { part: part.clone(), limit_us, patients: BearerWatch::default(), ill, asks })
    }

    fn treated(&mut self, done: bool) {
        self.asks.clear();
        if let Some(bearer) = self.ill.pop_front() {
            self.patients.treated(bearer, done);
        }
    }
}

impl RestXapp for TrafficXappMachine {
    fn want(&mut self, _: Duration) -> Want {
        if self.asks.is_empty()
            && let Some(bearer) = self.ill.front()
        {
            self.asks = self.part.steps(bearer);
        }
        self.asks.front().map_or(Want::Wait(None), |ask| Want::Ask(ask.clone()))
    }

    fn answered(
        &mut self,
        _: Duration,
        answer: Result<Json, RestError>,
    ) -> Result<Option<String>, ComponentError> {
        let Err(error) = answer else {
            self.asks.pop_front();
            if self.asks.is_empty() {
                self.treated(true);
            }
            return Ok(None);
        };
        let message = self
            .ill
            .front()
            .map(|(node, rnti, rbid)| format!("bearer {rbid} of UE {rnti} at {node}: {error}"));
        self.treated(false);
        Ok(message)
    }

    fn listens(&self) -> bool {
        true
    }

    fn on_bus_message(&mut self, message: &Json) {
        self.ill.extend(self.patients.on_message(message, self.limit_us));
    }
}

#[cfg(not(feature = "redis"))]
fn redis(url: &str) -> Result<Messages, ComponentError> {
    Err(environment(crate::rest_controller::no_redis(url)))
}

#[cfg(feature = "redis")]
fn redis(url: &str) -> Result<Messages, ComponentError> {
    use ranlab_ric::traffic::{RLC_SUBJECT, TRAFFIC_SUBJECT};
    /// Maximum number of waiting messages. Further messages are lost.
    const WAITING_MAX: usize = 1_024;
    let (sender, messages) = tokio::sync::mpsc::channel(WAITING_MAX);
    let subjects = [RLC_SUBJECT, TRAFFIC_SUBJECT];
    let listening = ranlab_ric_server::redis::listen(url, &subjects, move |message| {
        let message = serde_json::from_slice(message).unwrap_or_default();
        !matches!(sender.try_send(message), Err(tokio::sync::mpsc::error::TrySendError::Closed(_)))
    });
    listening.map_err(environment)?;
    Ok(Messages::Redis(messages))
}

/// A running traffic xApp.
pub struct TrafficXapp {
    helper: Rc<RefCell<TrafficXappMachine>>,
    at_begin: TrafficXappReport,
    ended: Rc<RefCell<Option<ComponentError>>>,
    task: tokio::task::JoinHandle<()>,
}

impl TrafficXapp {
    /// Listens to the bus and configures bearers. Must be called inside a `LocalSet`.
    ///
    /// # Errors
    ///
    /// Returns an error if the bus is unreachable.
    pub async fn start(part: &TrafficXappComponent) -> Result<Self, ComponentError> {
        let helper = Rc::new(RefCell::new(TrafficXappMachine::new(part)?));
        let messages = part.messages().await?;
        let ended: Rc<RefCell<Option<ComponentError>>> = Rc::default();
        let rest = part.controller();
        let driven = helper.clone();
        let end = ended.clone();
        let task = tokio::task::spawn_local(async move {
            end.replace(drive(&driven, &rest, messages).await.err());
        });
        Ok(Self { helper, at_begin: TrafficXappReport::default(), ended, task })
    }

    /// Returns the counters so far.
    pub fn report(&self) -> TrafficXappReport {
        self.helper.borrow().patients.report
    }
}

impl Drop for TrafficXapp {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RunningComponent for TrafficXapp {
    fn check(&mut self) -> Result<(), ComponentError> {
        self.ended.borrow().clone().map_or(Ok(()), Err)
    }

    fn counters(&mut self) -> Counters {
        numbers(&self.report())
    }

    fn begin(&mut self) {
        self.at_begin = self.report();
    }

    fn end(&mut self, report: &mut Report) {
        let states = ["helped", "before_us_max", "after_us_max"];
        report.numbers.extend(since(&self.at_begin, &self.report(), &states));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(waits_us: u64) -> Json {
        json!({ "node": "gnb 505.01 1", "sm": "traffic", "bearers": [
            { "rnti": 1, "rbid": 1, "rlc_sojourn_us": waits_us }, { "rnti": 2, "rbid": 1, "rlc_sojourn_us": 0 }] })
    }

    #[test]
    fn delayed_bearer_is_configured_once_with_limited_attempts() {
        let mut patients = BearerWatch::default();
        assert_eq!(patients.on_message(&message(10_000), 10_000), []);
        let bearer = ("gnb 505.01 1".to_owned(), 1, 1);
        for _ in 0..TRIES {
            assert_eq!(patients.on_message(&message(10_001), 10_000), std::slice::from_ref(&bearer));
            patients.treated(bearer.clone(), false);
        }
        assert_eq!(patients.on_message(&message(10_001), 10_000), []);
        let mut patients = BearerWatch::default();
        assert_eq!(patients.on_message(&message(300_000), 10_000).len(), 1);
        patients.treated(bearer, true);
        assert_eq!(patients.on_message(&message(20_000), 10_000), []);
        let report = patients.report;
        assert_eq!((report.helped, report.before_us_max, report.after_us_max), (1, 300_000, 20_000));
        for odd in [json!(null), json!({ "node": 1 }), json!({ "node": "x", "bearers": [{}] })] {
            assert_eq!(patients.on_message(&odd, 0), []);
        }
        let rlc =
            json!({ "node": "x", "sm": "rlc", "bearers": [{ "rnti": 9, "rbid": 1, "txsdu_wt_us": 50_000 }] });
        assert_eq!(patients.on_message(&rlc, 10_000).len(), 1);
    }
}
