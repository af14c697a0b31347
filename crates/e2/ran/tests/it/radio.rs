//! A radio under the slicing and traffic controllers, over E2 and REST in virtual time. Reproduces figures 11 and 13
//! of FlexRIC (CoNEXT 2021).
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use crate::lab;
use crate::station;

use bytes::Bytes;
use lab::{Lab, cell::MockCell, escaped};
use ranlab_e2::ric::{IApp, Method};
use ranlab_radio::user_plane::{AttachError, Carrier, Channel};
use ranlab_ran::node::{NodeKind, identity};
use ranlab_ran::radio::{
    FlowPlan, RadioConfig, RadioError, RadioMeter, SharedRadio, TrafficKind, UePresence, quantile,
};
use ranlab_ric::bus::Bus;
use ranlab_ric::slicing::Slicing;
use ranlab_ric::traffic::{TRAFFIC_SUBJECT, Traffic};
use serde_json::{Value as Json, json};
use station::{HOME, template};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// Time to settle before each measurement of a figure.
const SETTLE: Duration = SECOND;
const LOOK: Duration = Duration::from_secs(4);

/// A controller, and one base station with a radio.
struct World {
    lab: Lab,
    radio: SharedRadio,
    node: String,
}

impl World {
    fn new(iapp: impl IApp + 'static, radio: RadioConfig) -> Self {
        let mut lab = Lab::new(Box::new(iapp));
        let (agent, radio) = template(NodeKind::Gnb, radio).agent(0, lab.now).unwrap();
        let id = identity(NodeKind::Gnb, HOME, 0).0;
        let node = format!("nodes/{}", escaped(&id));
        lab.adopt(agent, MockCell::default(), id);
        let mut world = Self { lab, radio: radio.unwrap(), node };
        world.pass(300 * MS);
        world
    }

    fn pass(&mut self, time: Duration) {
        let end = self.lab.now + time;
        while self.lab.now < end {
            self.lab.pass(MS);
            for moved in self.radio.lock().unwrap().pass(self.lab.now) {
                moved.notify(&mut self.lab.stations[0].agent);
            }
        }
    }

    /// Returns the radio measurements after a time to settle.
    fn measure(&mut self) -> RadioMeter {
        self.pass(SETTLE);
        self.radio.lock().unwrap().begin();
        self.pass(LOOK);
        self.radio.lock().unwrap().meter()
    }

    fn rnti(&self, ue: u32) -> u16 {
        self.radio.lock().unwrap().rntis()[&ue]
    }

    fn put(&mut self, path: &str, body: &str) {
        let path = format!("{}/{path}", self.node);
        self.lab.put(&path, body);
    }

    /// Assigns a UE to a slice.
    fn place(&mut self, ue: u32, slice: u16) {
        let path = format!("ues/{}", self.rnti(ue));
        self.put(&path, &json!({ "slice": slice }).to_string());
    }
}

fn n78(ues: u32, flows: Vec<FlowPlan>) -> RadioConfig {
    RadioConfig { flows, rlc_buffer_bytes: 1_000_000, ..RadioConfig::new(Carrier::n78(106), ues) }
}

fn flow(ues: Option<u32>, what: TrafficKind) -> FlowPlan {
    FlowPlan { ues: ues.map(|ue| ue..=ue), ..FlowPlan::new(what) }
}

/// Load of a saturating UDP flow, more than the capacity of the cell.
const UDP: TrafficKind = TrafficKind::Udp(80_000, None);

fn mbps(meter: &RadioMeter) -> Vec<f64> {
    let mut ues: Vec<_> =
        meter.ues.iter().map(|ue| (ue.ue, ue.bytes as f64 * 8e-6 / meter.seconds)).collect();
    ues.sort_by_key(|(ue, _)| *ue);
    ues.into_iter().map(|(_, mbps)| mbps).collect()
}

fn slicing() -> Slicing {
    Slicing::new(100 * MS).unwrap()
}

fn halves(sharing: bool, shares: [f64; 2]) -> String {
    let slices = [1, 2].iter().zip(shares).map(|(id, capacity)| json!({ "id": id, "capacity": capacity }));
    json!({ "algorithm": "nvs", "sharing": sharing, "slices": slices.collect::<Vec<_>>() }).to_string()
}

#[test]
fn figure_13a_keeps_share_of_first_ue() {
    let third = UePresence { ues: 3..=3, from: 6 * SECOND, until: None };
    let radio = RadioConfig { stays: vec![third], ..n78(3, vec![flow(None, UDP)]) };
    let mut world = World::new(slicing(), radio);
    let mut found = Vec::new();
    let mut look = |world: &mut World| {
        let rates = mbps(&world.measure());
        let total: f64 = rates.iter().sum();
        assert!((58.0..66.0).contains(&total), "the cell carries {total} Mbit/s: {rates:?}");
        found.push(100.0 * rates[0] / total);
    };
    look(&mut world);
    world.pass(SECOND);
    look(&mut world);
    // The controller has received reports of the third UE as well.
    let node = world.node.clone();
    assert_eq!(world.lab.get(&node)["ues"].as_array().unwrap().len(), 3);
    world.put("slices", &halves(true, [0.5, 0.5]));
    [(1, 1), (2, 2), (3, 2)].into_iter().for_each(|(ue, slice)| world.place(ue, slice));
    look(&mut world);
    world.put("slices/2", r#"{"capacity": 0.34}"#);
    world.put("slices/1", r#"{"capacity": 0.66}"#);
    look(&mut world);
    for (found, published) in found.iter().zip([50.0, 33.3, 50.0, 66.0]) {
        assert!(
            (found - published).abs() <= 2.0,
            "the first UE has {found} %; figure 13a of FlexRIC reports {published} %"
        );
    }
    // The reported state equals the actual state.
    let state = world.lab.get(&node);
    assert_eq!(
        (&state["slicing"]["slices"][0]["capacity"], &state["ues"][0]["slice"]),
        (&json!(0.66), &json!(1))
    );
}

#[test]
fn figure_13b_shares_idle_slice_if_configured() {
    for (sharing, gain) in [(true, 50.0), (false, 0.0)] {
        // The second UE is active for 6 s, then idle.
        let on = TrafficKind::Udp(80_000, Some((6 * SECOND, 60 * SECOND)));
        let mut world = World::new(slicing(), n78(2, vec![flow(Some(1), UDP), flow(Some(2), on)]));
        world.put("slices", &halves(sharing, [0.66, 0.34]));
        [(1, 1), (2, 2)].into_iter().for_each(|(ue, slice)| world.place(ue, slice));
        let busy = mbps(&world.measure());
        world.pass(SECOND);
        let idle = mbps(&world.measure());
        assert!((busy[1] / (busy[0] + busy[1]) - 0.34).abs() < 0.02, "{busy:?}");
        assert!(idle[1] < 0.01 * busy[1], "the second UE must be idle: {idle:?}");
        let found = 100.0 * (idle[0] / busy[0] - 1.0);
        assert!(
            (found - gain).abs() <= 5.0,
            "the first UE gains {found} %; figure 13b of FlexRIC reports {gain} %"
        );
    }
}

#[derive(Clone, Default)]
struct RecordedReports(Arc<Mutex<Vec<Json>>>);

impl Bus for RecordedReports {
    fn publish(&mut self, subject: &str, message: Bytes) {
        if subject == TRAFFIC_SUBJECT {
            self.0.lock().unwrap().push(serde_json::from_slice(&message).unwrap());
        }
    }
}

fn p50(counts: &[(u64, u64)]) -> u64 {
    quantile(counts, 0.5).unwrap()
}

#[test]
fn figure_11_reduces_voice_delay_at_full_load() {
    let recorded = RecordedReports::default();
    let tcp = FlowPlan { from: 2 * SECOND, ..FlowPlan::new(TrafficKind::Tcp(3_000_000)) };
    let radio =
        RadioConfig { rlc_buffer_bytes: 10_000_000, ..n78(1, vec![FlowPlan::new(TrafficKind::Voip), tcp]) };
    let mut world = World::new(Traffic::new(10 * MS, Box::new(recorded.clone())).unwrap(), radio);
    // CUBIC takes time to fill its window.
    world.pass(20 * SECOND);
    recorded.0.lock().unwrap().clear();
    let transparent = world.measure();
    // The reported waiting time in RLC far exceeds the limit of `ranlab xapp traffic`.
    let messages = std::mem::take(&mut *recorded.0.lock().unwrap());
    let last = &messages.last().unwrap()["bearers"][0];
    assert!(last["rlc_sojourn_us"].as_u64().unwrap() > 200_000, "{last}");
    let bearer = format!("bearers/{}/{}", last["rnti"], last["rbid"]);
    // These are the steps of `ranlab xapp traffic`, in the same order.
    world.put(&format!("{bearer}/queues/1"), r#"{"capacity_bytes": 100000}"#);
    world.put(&format!("{bearer}/filters/1"), r#"{"protocol": 17, "destination_port": 2112, "queue": 1}"#);
    world.put(&format!("{bearer}/pacer"), r#"{"type": "5g-bdp"}"#);
    world.pass(SECOND);
    let freed = world.measure();
    let voice = |meter: &RadioMeter| meter.flows.iter().find(|flow| flow.what == "voip").unwrap().clone();
    let before = voice(&transparent);
    let after = voice(&freed);
    assert!(
        p50(&before.rlc_us) > 200_000,
        "before the commands, packets of the call wait {} us in RLC",
        p50(&before.rlc_us)
    );
    assert!(
        p50(&after.rlc_us) < 10_000,
        "with the pacer, packets of the call wait {} us in RLC",
        p50(&after.rlc_us)
    );
    let ratio = p50(&before.rtt_us) as f64 / p50(&after.rtt_us) as f64;
    assert!(
        ratio >= 4.0,
        "the round trip must shrink to a quarter: {} us before, {} us after the commands",
        p50(&before.rtt_us),
        p50(&after.rtt_us)
    );
    assert!(freed.prb_use >= 0.95, "a share of {} of the PRBs is used", freed.prb_use);
    assert_eq!((before.dropped, after.dropped), (0, 0));
    // According to the report, the greedy flow waits in its queue and not in RLC.
    let report = &recorded.0.lock().unwrap().last().unwrap()["bearers"][0].clone();
    assert!(report["rlc_sojourn_us"].as_u64().unwrap() < 10_000, "{report}");
    assert!(report["queues"][0]["sojourn_us"].as_u64().unwrap() > 100_000, "{report}");
    assert!((30_000..130_000).contains(&report["paced_kbps"].as_u64().unwrap()), "{report}");
}

/// Configurations that only the model can reject are rejected with the model's reason, and change nothing.
#[test]
fn commands_rejected_by_the_model_have_reasons() {
    let recorded = RecordedReports::default();
    let radio = n78(1, vec![FlowPlan::new(TrafficKind::Voip)]);
    let mut world = World::new(Traffic::new(10 * MS, Box::new(recorded)).unwrap(), radio);
    let queue = format!("{}/bearers/{}/1/queues/1", world.node, world.rnti(1));
    for (body, words) in [
        (r#"{"capacity_bytes": 50000001}"#, "50000000 bytes"),
        (r#"{"codel": {"target_us": 2000000}}"#, "the target"),
        (r#"{"shaper": {"rate_kbps": 20000000}}"#, "the rate"),
    ] {
        let (status, problem) = world.lab.ask(Method::Put, &queue, body);
        assert_eq!((status, &problem["reason"]), (409, &json!("invalid")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    world.pass(50 * MS);
    let state = world.lab.get(&format!("{}/bearers", world.node));
    assert_eq!(state["bearers"][0]["queues"].as_array().unwrap().len(), 1, "{state}");
}

/// The allocation still applies after slices are removed and added again, after UEs detach and attach again, and with
/// policies by requested slice.
#[test]
fn controller_slot_allocation_is_applied() {
    let lte = RadioConfig { carrier: Carrier::lte(100), ..n78(2, vec![flow(None, UDP)]) };
    let mut world = World::new(slicing(), lte);
    world.put(
        "slices",
        r#"{"algorithm": "none", "slices": [{"id": 0, "scheduler": "remote", "capacity": 1}]}"#,
    );
    world.pass(300 * MS);
    let node = world.node.clone();
    let state = world.lab.get(&node)["slicing"].clone();
    assert_eq!(state["slot_us"], 1_000);
    let slot = state["slot"].as_u64().unwrap();
    let of = |slot: u64, prbs: u16| {
        let ues = [1, 2].map(|rnti| json!({ "rnti": rnti, "prbs": prbs }));
        json!({ "slot": slot, "slots": 40, "ues": ues }).to_string()
    };
    let path = format!("{node}/slices/0/allocation");
    let prbs = |world: &World| {
        let radio = world.radio.lock().unwrap();
        [1, 2].map(|rnti| radio.cell().report(rnti).unwrap().dl.prbs)
    };
    let before = prbs(&world);
    for (body, status, reason) in [
        (of(slot - 1, 10), 409, json!("invalid")),
        (of(slot + 200, 10), 409, json!("invalid")),
        (of(slot, 51), 409, json!("invalid")),
        (json!({ "ues": [{ "rnti": 9, "prbs": 1 }] }).to_string(), 404, json!("unknownUe")),
        (json!({ "slots": 65, "ues": [] }).to_string(), 422, Json::Null),
    ] {
        let (got, answer) = world.lab.ask(Method::Put, &path, &body);
        assert_eq!((got, &answer["reason"]), (status, &reason), "{body}: {answer}");
    }
    let body = json!({ "slots": 40, "ues": [{ "rnti": 1, "prbs": 30 }, { "rnti": 2, "prbs": 10 }] });
    world.put("slices/0/allocation", &body.to_string());
    world.pass(100 * MS);
    let after = prbs(&world);
    assert_eq!([after[0] - before[0], after[1] - before[1]], [30 * 40, 10 * 40]);
}

#[test]
fn reattached_ues_return_to_their_slices() {
    let stay = |from, until| UePresence { ues: 2..=2, from: from * SECOND, until: Some(until * SECOND) };
    let snssais = ["1", "1-0000ff"].map(|text| text.parse().unwrap()).to_vec();
    let radio = n78(3, vec![FlowPlan::new(TrafficKind::Voip)]);
    let mut world =
        World::new(slicing(), RadioConfig { stays: vec![stay(1, 2), stay(3, 4)], snssais, ..radio });
    world.lab.put(
        "policy",
        r#"{"rules": [{"snssai": "1-0000ff", "slice": {"id": 7, "capacity": 0.25}},
                                          {"snssai": "1", "slice": {"id": 8, "capacity": 0.5}}]}"#,
    );
    let node = world.node.clone();
    let ues = |world: &mut World, time| {
        world.pass(time);
        let state = world.lab.get(&node);
        let ue = |ue: &Json| (ue["rnti"].as_u64().unwrap(), ue["slice"].as_u64());
        state["ues"].as_array().unwrap().iter().map(ue).collect::<Vec<_>>()
    };
    assert_eq!(ues(&mut world, 400 * MS), [(1, Some(8)), (2, Some(8))]);
    assert_eq!(ues(&mut world, SECOND), [(1, Some(8)), (2, Some(8)), (3, Some(7))]);
    assert_eq!(ues(&mut world, SECOND), [(1, Some(8)), (2, Some(8))]);
    assert_eq!(ues(&mut world, SECOND), [(1, Some(8)), (2, Some(8)), (3, Some(7))]);
    let slice = |world: &World, ue| {
        let radio = world.radio.lock().unwrap();
        radio.cell().report(radio.rntis()[&ue]).unwrap().slice_down
    };
    assert_eq!((slice(&world, 1), slice(&world, 2)), (8, 7));
    world.lab.put("policy", r#"{"rules": []}"#);
    // Without slicing, all UEs share one pool. When slicing is enabled again, they return to their slices.
    let set = |algorithm: &str| json!({ "algorithm": algorithm, "slices": [{ "id": 7, "capacity": 0.25 }, { "id": 8, "capacity": 0.5 }] });
    world.put("slices", &set("none").to_string());
    assert_eq!(slice(&world, 1), slice(&world, 2));
    world.put("slices", &set("nvs").to_string());
    assert_eq!((slice(&world, 1), slice(&world, 2)), (8, 7));
}

#[test]
fn invalid_radio_is_rejected_at_creation() {
    let why = |radio: RadioConfig| {
        template(NodeKind::Gnb, radio).agent(0, ranlab_e2::Time::ZERO).err().unwrap().to_string()
    };
    assert!(why(RadioConfig::new(Carrier::lte(26), 1)).contains("allowed are"));
    let channel = Channel::Fixed { mcs: 29, bler: 0.0 };
    let late = UePresence { ues: 1..=1, from: 9 * SECOND, until: None };
    let wrong = RadioConfig { channel, stays: vec![late], ..n78(1, Vec::new()) };
    assert!(why(wrong).contains("0 to 28"));
    let nobody = RadioError::NoUe { what: "a flow", ue: 2, ues: 1 };
    assert_eq!(why(n78(1, vec![flow(Some(2), UDP)])), nobody.to_string());
    assert_eq!(why(n78(2_000, Vec::new())), AttachError::Full(1_024).to_string());
}

/// Statistics are those of the radio. A cell that was suspended catches up in bounded steps.
#[test]
fn suspended_radio_catches_up_in_bounded_steps() {
    let world = World::new(slicing(), n78(1, vec![flow(None, UDP)]));
    world.radio.lock().unwrap().begin();
    let standstill = world.lab.now + SECOND;
    let behind = |world: &World| standstill.as_nanos() / 1_000 - world.radio.lock().unwrap().cell().now_us();
    for pieces in 1..=50 {
        assert!(
            behind(&world) >= 1_000_000 - 20_000 * (pieces - 1),
            "one call must not catch up more than one step"
        );
        world.radio.lock().unwrap().pass(standstill);
    }
    assert!(behind(&world) < 1_000);
    let meter = world.radio.lock().unwrap().meter();
    assert!(meter.late_us.iter().map(|(late, _)| *late).max().unwrap() > 990_000, "{:?}", meter.late_us);
    assert!((meter.seconds - 1.0).abs() < 0.01);
    assert_eq!(meter.samples.len(), 2);
}
