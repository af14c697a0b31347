//! Tests of the traffic controller, its resources and its published reports, in virtual time.
#![allow(clippy::unwrap_used)]
mod lab;

use bytes::Bytes;
use lab::{Lab, escaped};
use ranlab_e2::ric::Method;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Plmn};
use ranlab_e2_codec::e2sm::traffic::{BearerId, Pacer, TrafficConfig};
use ranlab_ric::bus::Bus;
use ranlab_ric::traffic::{TRAFFIC_SUBJECT, Traffic};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOME: Plmn = Plmn([0x05, 0xf5, 0x10]);

#[derive(Clone, Default)]
struct RecordedMessages(Arc<Mutex<Vec<(String, Json)>>>);

impl Bus for RecordedMessages {
    fn publish(&mut self, subject: &str, message: Bytes) {
        assert!(!message.contains(&b'\n'), "a message must be one line");
        self.0.lock().unwrap().push((subject.to_owned(), serde_json::from_slice(&message).unwrap()));
    }
}

fn lab() -> (Lab, RecordedMessages, String) {
    let heard = RecordedMessages::default();
    let mut lab = Lab::new(Box::new(Traffic::new(10 * MS, Box::new(heard.clone())).unwrap()));
    let id = GlobalE2NodeId::gnb(HOME, 5, 32);
    let n = lab.station(id);
    let station = &mut lab.stations[n];
    station.cell.attach(&mut station.agent, 1, HOME, None);
    lab.pass(200 * MS);
    (lab, heard, format!("nodes/{}/bearers", escaped(&id)))
}

fn config(lab: &Lab) -> TrafficConfig {
    lab.stations[0].cell.state().bearers[&BearerId { rnti: 1, rbid: 1 }].clone()
}

/// The three steps of the xApp in the FlexRIC paper, from the reported delay to the controls.
#[test]
fn xapp_reduces_sojourn_time_by_queue_filter_and_pacer() {
    let (mut lab, published, bearers) = lab();
    lab.stations[0].cell.state().rlc_sojourn_us = 300_000;
    published.0.lock().unwrap().clear();
    lab.pass(50 * MS);
    let messages = std::mem::take(&mut *published.0.lock().unwrap());
    assert_eq!(messages.len(), 5, "{messages:?}");
    let (subject, message) = &messages[0];
    assert_eq!((subject.as_str(), &message["node"]), (TRAFFIC_SUBJECT, &json!("gnb 505.01 5")));
    let bearer = &message["bearers"][0];
    assert_eq!((&bearer["rlc_sojourn_us"], &bearer["rnti"]), (&json!(300_000), &json!(1)));
    let bearer = format!("{bearers}/1/1");
    lab.put(&format!("{bearer}/queues/1"), r#"{"capacity_bytes": 100000}"#);
    lab.put(&format!("{bearer}/filters/1"), r#"{"protocol": 17, "destination_port": 2112, "queue": 1}"#);
    lab.put(&format!("{bearer}/scheduler"), r#"{"type": "round-robin"}"#);
    lab.put(&format!("{bearer}/pacer"), r#"{"type": "5g-bdp"}"#);
    let made = config(&lab);
    assert_eq!(
        (made.queues.len(), made.filters[0].destination_port, made.pacer),
        (2, Some(2_112), Pacer::bdp())
    );
    lab.pass(20 * MS);
    let shown = lab.get(&bearer);
    assert_eq!(
        (&shown["pacer"]["type"], &shown["filters"][0]["queue"]),
        (&json!("5g-bdp"), &json!(1)),
        "{shown}"
    );
    assert_eq!(shown["rlc_sojourn_us"], json!(1_000));
    let all = lab.get(&bearers);
    assert_eq!(all["bearers"][0], shown);
    let every = r#"{"capacity_bytes": 5e3, "codel": {"target_us": 1000}, "shaper": {"rate_kbps": 64},
                    "policer": {"rate_kbps": 100, "burst_bytes": 1}}"#;
    lab.put(&format!("{bearer}/queues/2"), every);
    lab.put(&format!("{bearer}/scheduler"), r#"{"type": "priority", "order": [2, 0, 1]}"#);
    lab.put(&format!("{bearer}/scheduler"), r#"{"type": "priority", "order": [0]}"#);
    assert_eq!(lab.ask(Method::Delete, &format!("{bearer}/queues/2"), "").0, 200);
    assert_eq!(lab.ask(Method::Delete, &format!("{bearer}/filters/1"), "").0, 200);
    assert_eq!(lab.ask(Method::Delete, &format!("{bearer}/queues/1"), "").0, 200);
    assert_eq!(config(&lab).queues.len(), 1);
}

#[test]
fn invalid_requests_are_rejected_without_change() {
    let (mut lab, _, bearers) = lab();
    let bearer = format!("{bearers}/1/1");
    lab.put(&format!("{bearer}/queues/1"), "{}");
    lab.put(&format!("{bearer}/filters/1"), r#"{"queue": 1}"#);
    let before = config(&lab);
    for (status, path, body) in [
        (400, format!("{bearer}/queues/1"), "{"),
        (400, format!("{bearer}/queues/1"), r#"{"capacity_bytes": NaN}"#),
        (422, format!("{bearer}/queues/1"), r#"{"capacity_bytes": 0}"#),
        (422, format!("{bearer}/queues/1"), r#"{"capacity_bytes": 1.5e0}"#),
        (422, format!("{bearer}/queues/1"), r#"{"codel": {"target_us": 0}}"#),
        (422, format!("{bearer}/queues/1"), r#"{"policer": {"rate_kbps": 0}}"#),
        (422, format!("{bearer}/queues/1"), r#"{"codel": []}"#),
        (422, format!("{bearer}/queues/1"), " []"),
        (422, format!("{bearer}/queues/1"), r#"{"colour": 1}"#),
        (404, format!("{bearer}/queues/256"), "{}"),
        (404, format!("{bearer}/filters/2"), r#"{"queue": 7}"#),
        (422, format!("{bearer}/filters/2"), r#"{"queue": 1, "source": "10.0.0.256"}"#),
        (422, format!("{bearer}/filters/2"), r#"{"queue": 1, "destination_port": 70000}"#),
        (422, format!("{bearer}/filters/2"), "{}"),
        (422, format!("{bearer}/filters/2"), r#"{"queue": 1, "source": null}"#),
        (422, format!("{bearer}/scheduler"), r#"{"type": "fair"}"#),
        (422, format!("{bearer}/scheduler"), r#"{"type": "priority", "order": []}"#),
        (409, format!("{bearer}/scheduler"), r#"{"type": "priority", "order": [1, 1]}"#),
        (404, format!("{bearer}/scheduler"), r#"{"type": "priority", "order": [9]}"#),
        (422, format!("{bearer}/pacer"), r#"{"type": "5g"}"#),
        (422, format!("{bearer}/pacer"), r#"{"type": "5g-bdp", "cap_bytes": 1}"#),
        (409, format!("{bearer}/pacer"), r#"{"type": "5g-bdp", "cap_bytes": 2000, "floor_bytes": 3000}"#),
        (404, format!("{bearers}/9/1/pacer"), r#"{"type": "dummy"}"#),
        (404, format!("{bearers}/1/9/pacer"), r#"{"type": "dummy"}"#),
        (404, "nodes/gnb%20505.01%209/bearers/1/1/pacer".to_owned(), r#"{"type": "dummy"}"#),
        (404, format!("{bearer}/colour"), "{}"),
        (405, bearer.clone(), "{}"),
        (405, "nodes".to_owned(), "{}"),
    ] {
        let (answered, problem) = lab.ask(Method::Put, &path, body);
        assert_eq!(answered, status, "PUT {path} {body}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.len() > 5), "{problem}");
    }
    for (status, path) in [
        (409, format!("{bearer}/queues/0")),
        (409, format!("{bearer}/queues/1")),
        (404, format!("{bearer}/queues/9")),
        (404, format!("{bearer}/filters/9")),
        (405, format!("{bearer}/pacer")),
    ] {
        assert_eq!(lab.ask(Method::Delete, &path, "").0, status, "DELETE {path}");
    }
    assert_eq!(config(&lab), before);
}
