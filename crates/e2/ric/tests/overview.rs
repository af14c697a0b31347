//! Tests of the overview feed and of leases, in virtual time.
#![allow(clippy::unwrap_used)]
mod lab;

use lab::Lab;
use ranlab_e2::ric::Method;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Plmn};
use ranlab_ric::console::{Console, ConsoleHandle, FeedReceiver, Line};
use serde_json::{Value as Json, json};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn lab(stations: u32) -> (Lab, ConsoleHandle) {
    let (console, handle) = Console::new();
    let mut lab = Lab::new(Box::new(console));
    for id in 1..=stations {
        let n = lab.station(GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), id, 32));
        let station = &mut lab.stations[n];
        station.cell.attach(&mut station.agent, 1, Plmn::new(505, 1, 2), None);
    }
    lab.pass(200 * MS);
    (lab, handle)
}

fn lines(listener: &mut FeedReceiver) -> Vec<Json> {
    let mut all = Vec::new();
    while let Poll::Ready(line) = listener.poll_next(&mut Context::from_waker(Waker::noop())) {
        match line {
            Some(Line::Indication(line)) => all.push(serde_json::from_slice(&line).unwrap()),
            other => panic!("{other:?}"),
        }
    }
    all
}

fn refresh(lab: &Lab, handle: &ConsoleHandle) {
    handle.overview.refresh(lab.now, lab.ric());
}

fn subscribe(lab: &mut Lab, node: u32, lease_s: u32) -> Json {
    let body =
        json!({ "node": format!("gnb 505.01 {node}"), "sm": "slice", "period_ms": 100, "lease_s": lease_s });
    let (status, made) = lab.ask(Method::Post, "subscriptions", &body.to_string());
    assert_eq!(status, 201, "{made}");
    made
}

#[test]
fn listener_receives_all_nodes_then_only_changes() {
    let (mut lab, handle) = lab(2);
    refresh(&lab, &handle);
    assert!(!handle.overview.watched());
    let mut page = handle.overview.listen(lab.now, lab.ric()).unwrap();
    let first = lines(&mut page);
    assert_eq!((first.len(), &first[0]["begin"]), (1, &json!(true)));
    assert_eq!(first[0]["totals"]["connected"], 2);
    let new = first[0]["new"].as_array().unwrap();
    assert_eq!((new.len(), &new[0][1]), (2, &json!("gnb 505.01 1")));
    assert!(new[0][3].as_str().unwrap().split(',').any(|model| model == "slice"), "{new:?}");
    // Without subscriptions the nodes are idle and stay idle.
    assert_eq!(first[0]["set"][0], json!([new[0][0], 1, 0, 0, 0, 0, null]));
    lab.pass(SECOND);
    refresh(&lab, &handle);
    let quiet = lines(&mut page);
    let rows = |line: &Json| ["new", "set", "gone"].map(|rows| line[rows].as_array().unwrap().len());
    assert_eq!((quiet.len(), rows(&quiet[0]), &quiet[0]["begin"]), (1, [0, 0, 0], &json!(false)));
    subscribe(&mut lab, 2, 60);
    for _ in 0..6 {
        lab.pass(SECOND);
        refresh(&lab, &handle);
    }
    let changes = lines(&mut page);
    assert_eq!(
        changes[0]["set"].as_array().unwrap().len(),
        1,
        "only the row of the reporting node may be sent: {}",
        changes[0]
    );
    let row = &changes[0]["set"][0];
    assert_eq!((&row[0], &row[1], &row[3]), (&new[1][0], &json!(2), &json!(1)));
    assert!((9.0..=11.0).contains(&row[2].as_f64().unwrap()), "{row}");
    // A constant rate is not repeated.
    assert_eq!(rows(changes.last().unwrap()), [0, 0, 0]);
    assert_eq!(changes.last().unwrap()["totals"]["indications_per_s"], 10.0);
    let late = lines(&mut handle.overview.listen(lab.now, lab.ric()).unwrap());
    assert_eq!(late[0]["set"][1][1], 2, "a later listener must receive all nodes");
}

#[test]
fn report_delay_is_measured_with_the_unix_clock() {
    let (mut lab, handle) = lab(1);
    let _page = handle.overview.listen(lab.now, lab.ric()).unwrap();
    let mut feed = handle.feed.listen(Default::default()).unwrap();
    subscribe(&mut lab, 1, 60);
    lab.pass(250 * MS);
    let reports = lines(&mut feed);
    assert!(reports[0]["delay_us"].is_null(), "without a clock there must be no delay: {}", reports[0]);
    let tstamp = reports[0]["tstamp_us"].as_u64().unwrap();
    // The node's timestamps are from its own clock; the local Unix clock is set 5 s ahead of it.
    let base = tstamp.saturating_sub(lab.now.as_nanos() / 1_000);
    handle.overview.set_clock(
        lab.now,
        Duration::from_micros(base) + Duration::from_nanos(lab.now.as_nanos()) + 5 * SECOND,
    );
    lab.pass(200 * MS);
    let delay = lines(&mut feed)[0]["delay_us"].as_i64().unwrap();
    assert!((4_000_000..6_000_000).contains(&delay), "{delay}");
    let mut page = handle.overview.listen(lab.now, lab.ric()).unwrap();
    assert_eq!(lines(&mut page)[0]["set"][0][6], json!(delay));
}

#[test]
fn lines_for_unresponsive_page_are_dropped_beyond_queue_limit() {
    let (mut lab, handle) = lab(3);
    let mut deaf = handle.overview.listen(lab.now, lab.ric()).unwrap();
    for _ in 0..1_100 {
        lab.pass(100 * MS);
        refresh(&lab, &handle);
    }
    let counts = handle.overview.counts();
    assert_eq!((counts.listeners, counts.lines), (1, 1_101));
    assert!(counts.dropped > 0 && counts.dropped <= 1_101, "{counts:?}");
    // The page receives the number of lost lines, and has to reload.
    let line = deaf.poll_next(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(line, Poll::Ready(Some(Line::Dropped(n))) if n == counts.dropped), "{line:?}");
    drop(deaf);
    refresh(&lab, &handle);
    assert!(!handle.overview.watched());
}

#[test]
fn lease_ends_subscription_unless_renewed() {
    let (mut lab, _) = lab(2);
    let short = subscribe(&mut lab, 1, 3)["id"].clone();
    let long = subscribe(&mut lab, 2, 5)["id"].clone();
    lab.pass(2 * SECOND);
    let lease_s =
        |lab: &mut Lab, id: &Json| lab.get(&format!("subscriptions/{id}"))["lease_s"].as_f64().unwrap();
    assert!((lease_s(&mut lab, &short) - 1.0).abs() < 0.1);
    let renewal = json!({ "subscriptions": [short, 4_000], "lease_s": 10 });
    let (status, renewed) = lab.ask(Method::Post, "leases", &renewal.to_string());
    assert_eq!((status, renewed), (200, json!({ "renewed": [short], "unknown": [4_000] })));
    assert!((lease_s(&mut lab, &short) - 10.0).abs() < 0.1);
    lab.pass(4 * SECOND);
    let left: Vec<Json> = lab.get("subscriptions")["subscriptions"].as_array().unwrap().clone();
    assert_eq!(
        left.iter().map(|one| &one["id"]).collect::<Vec<_>>(),
        [&short],
        "only subscription {long} must have ended"
    );
    lab.pass(7 * SECOND);
    assert_eq!(lab.get("subscriptions"), json!({ "subscriptions": [] }));
    for (body, words) in [
        (json!({ "subscriptions": [1], "lease_s": 0 }), "lease_s must be 1 to 3600"),
        (json!({ "subscriptions": [1], "lease_s": 3_601 }), "lease_s must be 1 to 3600"),
        (json!({ "subscriptions": vec![1; 1_025], "lease_s": 1 }), "at most 1024"),
    ] {
        let (status, reply) = lab.ask(Method::Post, "leases", &body.to_string());
        assert_eq!(status, 422);
        assert!(reply["detail"].as_str().unwrap().contains(words), "{reply}");
    }
}

#[test]
fn models_list_columns_and_supported_requests() {
    let (mut lab, _) = lab(0);
    let models = lab.get("models");
    let of = |name: &str| {
        models["models"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
    };
    let flags =
        |name: &str| (of(name)["periodic"].as_bool().unwrap(), of(name)["control"].as_bool().unwrap());
    assert_eq!((flags("mac"), flags("slice"), flags("kpm")), ((true, false), (true, true), (true, false)));
    let bytes = of("slice")["columns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "dl_bytes")
        .unwrap()
        .clone();
    assert_eq!(bytes, json!({ "name": "dl_bytes", "unit": "B", "kind": "counter", "headline": true }));
    assert_eq!(models["models"].as_array().unwrap().len(), ranlab_e2_codec::e2sm::MODELS.len());
}
