//! FlexRIC's figure 4 with a radio, in virtual time: a base station of CU-CP, CU-UP and DU under an infrastructure
//! controller, and two controllers of an operator, one for slices and one for traffic.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use crate::lab;
use crate::station;

use bytes::Bytes;
use lab::cell::MockCell;
use lab::{Lab, escaped, get_json, order};
use ranlab_e2::ric::Method;
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_radio::user_plane::Carrier;
use ranlab_ran::node::{NodeKind, NodeLayout, Unit, identity};
use ranlab_ran::radio::{FlowPlan, RadioConfig, SharedRadio, TrafficKind, UePresence};
use ranlab_ran::stats::CellSource;
use ranlab_ric::association::Association;
use ranlab_ric::bus::Bus;
use ranlab_ric::slicing::Slicing;
use ranlab_ric::traffic::Traffic;
use serde_json::{Value as Json, json};
use station::{HOME, template};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const GUEST: Plmn = Plmn([0x00, 0xf1, 0x10]);
/// Addressees of requests, as (controller, iApp): the infrastructure's iApps, and the operator's controllers.
const ASSOCIATION: (usize, usize) = (0, 0);
const CARRIER: (usize, usize) = (0, 1);
const SLICES: (usize, usize) = (1, 0);
const TRAFFIC: (usize, usize) = (2, 0);

#[derive(Clone, Default)]
struct RecordedReports(Arc<Mutex<Vec<Json>>>);

impl Bus for RecordedReports {
    fn publish(&mut self, _: &str, message: Bytes) {
        self.0.lock().unwrap().push(serde_json::from_slice(&message).unwrap());
    }
}

struct World {
    lab: Lab,
    radio: SharedRadio,
    recorded: RecordedReports,
    /// Path of the DU in the REST API.
    cell: String,
}

impl World {
    fn new(radio: RadioConfig) -> Self {
        let recorded = RecordedReports::default();
        let mut lab = Lab::new(Box::new(Association::new().unwrap()));
        lab.iapp(0, Box::new(Slicing::new(50 * MS).unwrap()));
        lab.controller("mem://slices", Box::new(Slicing::new(50 * MS).unwrap()));
        lab.controller("mem://traffic", Box::new(Traffic::new(50 * MS, Box::new(recorded.clone())).unwrap()));
        let template = template(NodeKind::Split, radio);
        let shared = template.cell(0, lab.now).unwrap();
        for part in 0..3 {
            lab.adopt(
                template.agent_over(part, &shared),
                MockCell::default(),
                identity(NodeKind::Split, HOME, part).0,
            );
        }
        let CellSource::Radio(radio) = shared else { panic!("the default fidelity of a radio is slot") };
        assert_eq!(NodeLayout::from(NodeKind::Split).unit(2), Some(Unit::Du));
        let cell = format!("nodes/{}", escaped(&lab.stations[2].id));
        Self { lab, radio, recorded, cell }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.lab.now + time;
        while self.lab.now < end {
            self.lab.pass(MS);
            for moved in self.radio.lock().unwrap().pass(self.lab.now) {
                self.lab.stations.iter_mut().for_each(|station| moved.notify(&mut station.agent));
            }
        }
    }

    fn rnti(&self, ue: u32) -> u16 {
        self.radio.lock().unwrap().rntis()[&ue]
    }

    /// Sends a request that must be rejected. Returns the status and the reason.
    fn refused(&mut self, whom: (usize, usize), path: &str, body: &str) -> (u16, Json) {
        let (status, answer) = self.lab.ask_at(whom, Method::Put, &format!("{}/{path}", self.cell), body);
        (status, answer["reason"].clone())
    }

    /// Returns the throughput of both UEs in the next two seconds, in Mbit/s.
    fn rates(&mut self) -> [f64; 2] {
        self.pass(SECOND / 2);
        self.radio.lock().unwrap().begin();
        self.pass(2 * SECOND);
        let meter = self.radio.lock().unwrap().meter();
        [1, 2].map(|ue| {
            let bytes: u64 = meter.ues.iter().filter(|it| it.ue == ue).map(|it| it.bytes).sum();
            bytes as f64 * 8e-6 / meter.seconds
        })
    }
}

/// Returns a radio with two UEs. The second UE selects another network, one second after the first UE.
fn two_networks() -> RadioConfig {
    RadioConfig {
        plmns: vec![HOME, GUEST],
        flows: vec![FlowPlan::new(TrafficKind::Udp(80_000, None))],
        stays: vec![UePresence { ues: 2..=2, from: SECOND, until: None }],
        rlc_buffer_bytes: 1_000_000,
        ..RadioConfig::new(Carrier::n78(106), 2)
    }
}

#[test]
fn operator_sees_and_steers_only_its_ue() {
    let mut world = World::new(two_networks());
    let rules = json!({ "rules": [{ "plmn": "001.01", "controllers": ["mem://slices", "mem://traffic"] }] });
    order(&mut world.lab, ASSOCIATION, "policy", &rules.to_string());
    let cell = world.cell.clone();
    world.pass(500 * MS);
    // All UEs are in the infrastructure's slice at first.
    let pool = r#"{"algorithm": "nvs", "slices": [{"id": 0, "label": "pool", "capacity": 0.25}]}"#;
    order(&mut world.lab, CARRIER, &format!("{cell}/slices"), pool);
    assert_eq!(get_json(&mut world.lab, TRAFFIC, "nodes")["nodes"], json!([]));
    world.pass(SECOND);
    let own = world.rnti(2);
    let other = world.rnti(1);

    // All units have been configured. The operator's controllers receive reports about the operator's UE only, in
    // every model.
    let parts = get_json(&mut world.lab, ASSOCIATION, "nodes");
    for part in parts["nodes"].as_array().unwrap() {
        let controllers = |ue: usize| part["ues"][ue]["controllers"].as_array().unwrap().len();
        assert_eq!((controllers(0), controllers(1)), (0, 2), "{part}");
    }
    let slices = get_json(&mut world.lab, SLICES, &cell);
    let rntis: Vec<_> = slices["ues"].as_array().unwrap().iter().map(|ue| ue["rnti"].clone()).collect();
    assert_eq!(rntis, [json!(own)], "{slices}");
    let messages = world.recorded.0.lock().unwrap().clone();
    let bearers: Vec<_> = messages.iter().flat_map(|it| it["bearers"].as_array().unwrap().clone()).collect();
    assert!(bearers.len() > 10 && bearers.iter().all(|it| it["rnti"] == json!(own)), "{bearers:?}");

    // The operator steers its UE. Requests about other UEs are rejected with a reason.
    let [before, _] = world.rates();
    order(&mut world.lab, SLICES, &format!("{cell}/slices/2"), r#"{"capacity": 0.75}"#);
    order(&mut world.lab, SLICES, &format!("{cell}/ues/{own}"), r#"{"slice": 2}"#);
    order(&mut world.lab, TRAFFIC, &format!("{cell}/bearers/{own}/1/pacer"), r#"{"type": "5g-bdp"}"#);
    let all = r#"{"algorithm": "nvs", "slices": [{"id": 2, "capacity": 1}]}"#;
    for (whom, path, body, why) in [
        (SLICES, format!("ues/{other}"), r#"{"slice": 2}"#, (404, "unknownUe")),
        (SLICES, format!("ues/{own}"), r#"{"slice": 0}"#, (403, "notOwner")),
        (SLICES, "slices/0".to_owned(), r#"{"capacity": 0.1}"#, (403, "notOwner")),
        (SLICES, "slices".to_owned(), all, (403, "notOwner")),
        (SLICES, "slices/2".to_owned(), r#"{"capacity": 0.8}"#, (409, "overcommitted")),
        (TRAFFIC, format!("bearers/{other}/1/pacer"), r#"{"type": "5g-bdp"}"#, (404, "unknownBearer")),
    ] {
        let set = get_json(&mut world.lab, CARRIER, &format!("{cell}/slices"))["slices"].clone();
        assert_eq!(world.refused(whom, &path, body), (why.0, json!(why.1)), "{path} {body}");
        assert_eq!(get_json(&mut world.lab, CARRIER, &format!("{cell}/slices"))["slices"], set, "{path}");
    }
    let rates = world.rates();
    let share = rates[1] / (rates[0] + rates[1]);
    assert!(
        (share - 0.75).abs() < 0.02,
        "the operator's UE must have a share of 0.75, but has {share}: {rates:?}"
    );
    assert!(
        before > 1.8 * rates[0],
        "the rate of the other UE must be halved: {before} Mbit/s before, rates now {rates:?}"
    );
    let paced = |world: &World, rnti| world.radio.lock().unwrap().cell().tc(rnti).unwrap().paced_kbps > 0;
    assert_eq!((paced(&world, own), paced(&world, other)), (true, false));
}

#[test]
fn detached_ue_belongs_to_no_operator() {
    let stays = vec![UePresence { ues: 2..=2, from: SECOND, until: Some(2 * SECOND) }];
    let mut world = World::new(RadioConfig { stays, ..two_networks() });
    let rules = r#"{"rules": [{"plmn": "001.01", "controllers": ["mem://slices"]}]}"#;
    order(&mut world.lab, ASSOCIATION, "policy", rules);
    let cell = world.cell.clone();
    let seen = |world: &mut World| get_json(&mut world.lab, SLICES, &cell)["ues"].as_array().unwrap().len();
    world.pass(1_500 * MS);
    assert_eq!(seen(&mut world), 1);
    world.pass(SECOND);
    assert_eq!(seen(&mut world), 0);
}
