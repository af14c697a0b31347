//! Test of a service model of another crate, which neither the codec nor the emulator names. It works in emulated
//! base stations, a monitor, REST and metrics. The test is a separate program, because models can be added only once
//! per process.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::time::Duration;

use out_of_tree_sm::{CellTemperature, Temperature, Thermometers};
use ranlab_campaign::value::Value as Setting;
use ranlab_e2_lab::{
    FleetComponent, HostedIApp, MonitorComponent, Ric, RicComponent, RunningFleet, RunningMonitor,
};
use ranlab_lab::{Config, Listen};
use ranlab_ran::functions::{self, StationContext, StationFunction};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::RanFunction;
use ranlab_sdk::wire::e2sm::{self, Model, RowKey, Value};
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_millis(20);

/// Test model: a cell with a temperature in tenths of a kelvin.
struct Cabinet;

impl Thermometers for Cabinet {
    fn read(&mut self, _: Time) -> Vec<(u16, u16)> {
        vec![(7, 2_950)]
    }
    fn throttle(&mut self, _: u16, _: bool) {}
}

/// Agent's half of the test model.
struct Station;

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&Temperature)
    }
    fn function(&self, _: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        Some(Box::new(CellTemperature::new(Cabinet)))
    }
}

fn get(address: String, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Repeats a request until the response contains all words.
async fn until_contains(address: &str, path: &'static str, words: &[&str]) {
    loop {
        let address = address.to_owned();
        let answer = tokio::task::spawn_blocking(move || get(address, path)).await.unwrap();
        if words.iter().all(|word| answer.contains(word)) {
            return;
        }
        sleep(PERIOD).await;
    }
}

async fn network() {
    let any = || vec![Listen::At("tcp://127.0.0.1:0".parse().unwrap())];
    let named = || vec!["temperature".to_owned()];
    let component = RicComponent {
        e2: any(),
        e42: any(),
        http: Some("127.0.0.1:0".parse().unwrap()),
        iapp: vec![HostedIApp::Monitor],
        sm: named(),
        kpi: named(),
        period: PERIOD,
        ..RicComponent::default()
    };
    let ric = Ric::start(&component).await.unwrap();
    let at = |name: &str| ric.bound.iter().find(|(it, _)| *it == name).unwrap().1.clone();
    let mut fleet = FleetComponent { nodes: 1, ues: 2, ..FleetComponent::default() };
    fleet.connect = vec![at("e2").parse().unwrap()];
    // The model is set by name, as in a scenario or with the flag --sm.
    fleet.set("sm", &Setting::List(vec!["temperature".into(), "mac".into()])).unwrap();
    let mut stations = RunningFleet::new(&fleet).unwrap();
    stations.ramp_up().await.unwrap();

    let rows = Rc::new(RefCell::new(Vec::new()));
    let recorder = Rc::clone(&rows);
    let part = MonitorComponent {
        connect: at("e42").parse().unwrap(),
        sm: named(),
        period: PERIOD,
        ..Default::default()
    };
    let listener = move |report: &ranlab_e2_lab::values::ReceivedReport<'_>, _: i64| {
        let table = report.table().unwrap();
        recorder.borrow_mut().extend(table.rows().map(|(key, row)| (key, row.to_vec())));
    };
    let watcher = RunningMonitor::showing(&part, None, Box::new(listener)).unwrap();
    while rows.borrow().len() < 3 {
        sleep(PERIOD).await;
    }
    let cell = RowKey::Other { kind: "cell", number: 7, rnti: None };
    let throttled = Value::Unsigned(0);
    assert_eq!(rows.borrow()[0], (cell, vec![Value::Unsigned(2_950), throttled]));
    drop(watcher);

    let http = at("http");
    let http = http.trim_start_matches("http://");
    until_contains(http, "/v1/models", &["\"temperature\"", "temperature_dk"]).await;
    until_contains(http, "/v1/nodes", &["temperature"]).await;
    let sample = ["ranlab_kpi_temperature_temperature_dk{", "cell=\"7\"", " 2950"];
    until_contains(http, "/metrics", &sample).await;
    let row = ["\"cell\":7", "\"temperature_dk\":2950"];
    until_contains(http, "/v1/iapps/monitor/gnb%20505.01%201", &row).await;
}

#[test]
fn added_model_works_in_stations_monitor_rest_and_metrics() {
    e2sm::extend(&[&Temperature]).unwrap();
    functions::extend(&[&Station]).unwrap();
    assert!(e2sm::extend(&[]).is_err() && functions::extend(&[]).is_err());
    ranlab_sdk::run(async { timeout(PATIENCE, network()).await }).expect("the test timed out");
}
