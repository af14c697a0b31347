//! The slicing and traffic controllers over HTTP with their sample xApps, and a base station without a radio.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[allow(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../../machines/tests/agent/cell.rs"]
mod cell;

use std::net::SocketAddr;
use std::time::Duration;

use cell::MockCell;
use ranlab_e2_lab::{
    AssociationComponent, RestUrl, SliceXappComponent, SliceXappReport, SlicingComponent, TrafficComponent,
    TrafficXapp, TrafficXappComponent,
};
use ranlab_http::openapi::openapi;
use ranlab_lab::Listen;
use ranlab_ric::{association, slicing, traffic};
use ranlab_sdk::AgentHandle;
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::functions::association::{Association, DEFAULT_FUNCTION_ID as ASSOCIATION};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, GlobalE2NodeId,
    InterfaceNg, Plmn,
};
use ranlab_sdk::wire::e2sm::traffic::{BearerId, Pacer};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Time limit of a wait in the tests.
const PATIENCE: Duration = Duration::from_secs(60);
const NODE: &str = "gnb%20505.01%205";

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn e2(name: &str) -> Address {
    Address::Memory(format!("controllers-{name}"))
}

/// Connects a base station with one attached UE (1).
async fn station(controller: &Address) -> (AgentHandle, MockCell) {
    let component = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
        configuration: ComponentConfiguration::default(),
    };
    let id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32);
    let mut agent = Agent::new(AgentConfig::new(id, vec![component]));
    let cell = MockCell::default();
    cell.register(&mut agent);
    agent.register(Box::new(Association::new()), Some(ASSOCIATION)).unwrap();
    cell.attach(&mut agent, 1, Plmn::new(505, 1, 2), None);
    let agent = AgentHandle::start(agent, SocketOptions::default());
    agent.connect(controller).await.unwrap();
    (agent, cell)
}

fn http(bound: &[(&'static str, String)]) -> String {
    bound.iter().find(|(name, _)| *name == "http").unwrap().1.clone()
}

/// Polls a resource until its state satisfies `is`.
async fn until(rest: &RestUrl, path: &str, is: impl Fn(&Json) -> bool) -> Json {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let answer = rest.ask("GET", path, None).await.unwrap();
        if is(&answer) {
            return answer;
        }
        assert!(tokio::time::Instant::now() < end, "{path}: {answer}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends a raw request. Returns status and head of the response.
async fn raw(url: &str, head: &str, body: &str) -> (u16, String) {
    let mut stream = tokio::net::TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
    let length = body.len();
    let request = format!("{head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // The server may close the connection before it has read a rejected body, so the result is ignored.
    let _ = stream.read_to_string(&mut answer).await;
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[test]
fn slices_are_set_over_http_but_not_cross_origin() {
    ranlab_sdk::run(async {
        let e2 = e2("slicing");
        let period = Duration::from_millis(10);
        let part = SlicingComponent {
            e2: vec![Listen::At(e2.clone())],
            http: anywhere(),
            period,
            ..Default::default()
        };
        let ric = part.serve().await.unwrap();
        let url = http(&ric.bound);
        let rest: RestUrl = url.parse().unwrap();
        let (_agent, cell) = station(&e2).await;
        let slice = vec!["1=0.66".into(), "2=0.34".into()];
        let ue = vec!["1=2".into()];
        let xapp = SliceXappComponent { rest: rest.clone(), slice, ue, ..Default::default() };
        assert_eq!(xapp.run().await.unwrap(), SliceXappReport { nodes: 1, ues: 1 });
        let state = cell.state().clone();
        assert_eq!((state.set.slices.len(), state.slices[&1]), (2, 2));
        // Later steps are applied at their times.
        let step = vec!["10ms:1=0.34+2=0.66:1=1".parse().unwrap()];
        let later = SliceXappComponent { step, ..xapp.clone() };
        assert_eq!(later.run().await.unwrap(), SliceXappReport { nodes: 1, ues: 1 });
        assert_eq!(cell.state().slices[&1], 1);
        assert_eq!(xapp.run().await.unwrap(), SliceXappReport { nodes: 1, ues: 1 });
        let state = cell.state().clone();
        // The error of a rejected request contains the reason.
        let greedy = SliceXappComponent { slice: vec!["1=0.7".into(), "2=0.7".into()], ..xapp };
        let trouble = greedy.run().await.unwrap_err().to_string();
        assert!(trouble.contains("140"), "{trouble}");

        let path = format!("/v1/nodes/{NODE}/slices/1");
        let host = format!("host: {}", url.strip_prefix("http://").unwrap());
        let put = format!("PUT {path} HTTP/1.1");
        let form = "content-type: application/json";
        let body = r#"{"capacity": 0.1}"#;
        let long = format!("{{\"label\": \"{}\"}}", "x".repeat(64 << 10));
        for (status, head, body) in [
            (415, format!("{put}\r\n{host}"), body),
            (415, format!("{put}\r\n{host}\r\ncontent-type: text/plain"), body),
            (421, format!("{put}\r\nhost: evil.example\r\n{form}"), body),
            (403, format!("{put}\r\n{host}\r\n{form}\r\norigin: http://evil.example"), body),
            (413, format!("{put}\r\n{host}\r\n{form}"), &*long),
            (405, format!("POST {path} HTTP/1.1\r\n{host}\r\n{form}"), body),
            (405, format!("PATCH {path} HTTP/1.1\r\n{host}\r\n{form}"), body),
            (405, format!("DELETE /v1/nodes HTTP/1.1\r\n{host}"), ""),
            (404, format!("GET /v2/nodes HTTP/1.1\r\n{host}"), ""),
            (404, format!("GET /nothing HTTP/1.1\r\n{host}"), ""),
        ] {
            let (answered, answer) = raw(&url, &head, body).await;
            assert_eq!(answered, status, "{head}: {answer}");
            assert!(answer.contains("application/problem+json"), "{answer}");
            assert_eq!(status == 405, answer.to_lowercase().contains("\r\nallow: "), "{answer}");
        }
        assert_eq!(cell.state().set, state.set);
        let (answered, _) = raw(&url, &format!("{put}\r\n{host}\r\n{form}; charset=utf-8"), body).await;
        assert_eq!(answered, 200);
        assert_ne!(cell.state().set, state.set);
    });
}

/// Every path of the OpenAPI descriptions exists and accepts its own example.
#[test]
fn every_openapi_path_accepts_its_example() {
    ranlab_sdk::run(async {
        let first = e2("paths-1");
        let second = e2("paths-2");
        let third = e2("paths-3");
        let period = Duration::from_millis(10);
        let slicing = SlicingComponent {
            e2: vec![Listen::At(first.clone())],
            http: anywhere(),
            period,
            ..Default::default()
        };
        let traffic = TrafficComponent {
            e2: vec![Listen::At(second.clone())],
            http: anywhere(),
            period,
            ..Default::default()
        };
        let association = AssociationComponent {
            e2: vec![Listen::At(third.clone())],
            http: anywhere(),
            ..Default::default()
        };
        let slicing = slicing.serve().await.unwrap();
        let traffic = traffic.serve().await.unwrap();
        let association = association.serve().await.unwrap();
        let stations = (station(&first).await, station(&second).await, station(&third).await);
        let places = [
            ("{node}", NODE),
            ("{slice}", "1"),
            ("{rnti}", "1"),
            ("{rbid}", "1"),
            ("{queue}", "1"),
            ("{filter}", "1"),
            ("{role}", "pacer"),
            ("{controller}", "tcp:%2F%2F127.0.0.1:1"),
        ];
        let all = [
            (&slicing, slicing::DOCUMENT, 8),
            (&traffic, traffic::DOCUMENT, 8),
            (&association, association::DOCUMENT, 5),
        ];
        for (ric, document, least) in all {
            let named = |path: &str| {
                places.iter().fold(path.to_owned(), |path, (name, with)| path.replace(name, with))
            };
            let rest: RestUrl = http(&ric.bound).parse().unwrap();
            // The paths of the controller are served in addition to the RIC's own description.
            let served = rest.ask("GET", "/openapi.json", None).await.unwrap();
            let own = openapi(&[document]);
            for (path, item) in own["paths"].as_object().unwrap() {
                assert_eq!(&served["paths"][path], item, "{path}");
            }
            let is_there = |node: &Json| node["tstamp_us"].is_u64() || node["associates"] == true;
            until(&rest, "/v1/nodes", |nodes| is_there(&nodes["nodes"][0])).await;
            let mut requests = 0;
            // Resources are created before they are read and deleted, and a filter is created after its queue.
            for (round, method) in ["put", "put", "get", "delete"].into_iter().enumerate() {
                for (path, item) in own["paths"].as_object().unwrap() {
                    let operation = &item[method];
                    if operation.is_null() || path == "/v1/events" {
                        continue;
                    }
                    let body = &operation["requestBody"]["content"]["application/json"]["example"];
                    let body = Some(body).filter(|body| !body.is_null());
                    let answer = rest.ask(&method.to_uppercase(), &named(path), body).await;
                    let is = |word: &str| matches!(&answer, Err(error) if error.to_string().contains(word));
                    let in_use = method == "delete" && (is("queue 1") || is("has no controller"));
                    // The cell schedules the slice of the example, so allocations are rejected.
                    let not_remote = path.ends_with("/allocation") && is("require the scheduler remote");
                    // RRC has not reported yet that the UE is already in the target cell.
                    let moved = path.ends_with("/cell") && is("no such cell");
                    // Base stations with SLICE have slices instead of quotas.
                    let sliced = path.ends_with("/quotas") && is("has the SLICE function");
                    let is_expected = in_use || not_remote || moved || sliced;
                    assert!(round == 0 || answer.is_ok() || is_expected, "{method} {path}: {answer:?}");
                    requests += 1;
                }
            }
            assert!(requests > least, "{requests}");
        }
        drop(stations);
    });
}

#[test]
fn delayed_flow_gets_queue_filter_and_pacer() {
    ranlab_sdk::run(async {
        let e2 = e2("traffic");
        let period = Duration::from_millis(5);
        let part = TrafficComponent {
            e2: vec![Listen::At(e2.clone())],
            http: anywhere(),
            period,
            ..Default::default()
        };
        let ric = part.serve().await.unwrap();
        let rest: RestUrl = http(&ric.bound).parse().unwrap();
        let (_agent, cell) = station(&e2).await;
        let part =
            TrafficXappComponent { rest: rest.clone(), destination_port: Some(2_112), ..Default::default() };
        let xapp = TrafficXapp::start(&part).await.unwrap();
        let bearer = BearerId { rnti: 1, rbid: 1 };
        let end = tokio::time::Instant::now() + PATIENCE;
        while xapp.report().heard < 10 {
            assert!(tokio::time::Instant::now() < end, "{:?}", xapp.report());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((xapp.report().helped, cell.state().bearers[&bearer].queues.len()), (0, 1));
        // The greedy flow begins to delay the packets.
        cell.state().rlc_sojourn_us = 300_000;
        let path = format!("/v1/nodes/{NODE}/bearers/1/1");
        let state = until(&rest, &path, |state| state["pacer"]["type"] == "5g-bdp").await;
        assert_eq!(state["filters"][0]["destination_port"], json!(2_112));
        let config = cell.state().bearers[&bearer].clone();
        assert_eq!((config.queues.len(), config.filters[0].queue, config.pacer), (2, 1, Pacer::bdp()));
        let before = xapp.report().heard;
        while xapp.report().heard < before + 10 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let report = xapp.report();
        assert_eq!((report.helped, report.failed, report.before_us_max), (1, 0, 300_000), "{report:?}");
    });
}
