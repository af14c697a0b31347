//! Tests of the slicing controller, by REST and by policy, in virtual time.
#![allow(clippy::unwrap_used)]
mod lab;

use lab::{Lab, escaped};
use ranlab_e2::ric::Method;
use ranlab_e2_codec::e2ap::{E2NodeEnb, EnbId, GlobalE2NodeId, GlobalEnbId, Plmn};
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::slice::{Slice, SliceParameters, UeScheduler};
use ranlab_e2_codec::per::ShortBits;
use ranlab_ric::slicing::Slicing;
use serde_json::json;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOME: Plmn = Plmn([0x05, 0xf5, 0x10]);
const GUEST: Plmn = Plmn([0x00, 0xf1, 0x10]);

fn lab() -> Lab {
    Lab::new(Box::new(Slicing::new(100 * MS).unwrap()))
}

fn gnb() -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(HOME, 5, 32)
}

/// Returns the path of a base station with UE 1 whose slices are known.
fn one_station(lab: &mut Lab) -> String {
    let n = lab.station(gnb());
    let station = &mut lab.stations[n];
    station.cell.attach(&mut station.agent, 1, HOME, None);
    lab.pass(200 * MS);
    format!("nodes/{}", escaped(&gnb()))
}

const HALVES: &str = r#"{"algorithm": "nvs", "sharing": false, "slices": [
    {"id": 1, "label": "white", "capacity": 0.5}, {"id": 2, "capacity": 0.5, "scheduler": "rr"}]}"#;

#[test]
fn slices_are_created_changed_and_deleted_by_rest() {
    let mut lab = lab();
    let node = one_station(&mut lab);
    lab.put(&format!("{node}/slices"), HALVES);
    // 66 % are available only after the other slice has been reduced.
    let (status, refused) = lab.ask(Method::Put, &format!("{node}/slices/1"), r#"{"capacity": 0.66}"#);
    assert_eq!((status, &refused["reason"]), (409, &json!("overcommitted")), "{refused}");
    lab.put(&format!("{node}/slices/2"), r#"{"capacity": 0.34}"#);
    lab.put(&format!("{node}/slices/1"), r#"{"label": "white", "capacity": 0.66}"#);
    lab.put(&format!("{node}/ues/1"), r#"{"slice": 1}"#);
    let state = lab.stations[0].cell.state().clone();
    let white = Slice {
        id: 1,
        label: "white".into(),
        scheduler: UeScheduler::ProportionalFair,
        parameters: SliceParameters::Capacity(660_000),
    };
    assert_eq!((&state.set.slices[0], state.set.sharing, state.slices[&1]), (&white, false, 1));
    // The controller applies the change immediately; the next report confirms it.
    for _ in 0..2 {
        let shown = lab.get(&node);
        assert_eq!(shown["slicing"]["slices"][0]["capacity"], json!(0.66));
        assert_eq!(shown["ues"][0]["slice"], json!(1), "{shown}");
        lab.pass(200 * MS);
    }
    let (status, _) = lab.ask(Method::Delete, &format!("{node}/slices/1"), "");
    assert_eq!((status, lab.stations[0].cell.state().set.slices.len()), (200, 1));
    assert_eq!(lab.get("nodes")["nodes"][0]["node"], json!("gnb 505.01 5"));
}

#[test]
fn invalid_requests_are_rejected_without_change() {
    let mut lab = lab();
    let node = one_station(&mut lab);
    lab.put(&format!("{node}/slices"), HALVES);
    lab.put(&format!("{node}/ues/1"), r#"{"slice": 1}"#);
    lab.put("policy", r#"{"rules": [{"plmn": "001.01", "slice": {"id": 2, "capacity": 0.5}}]}"#);
    lab.pass(200 * MS);
    let before = lab.stations[0].cell.state().clone();
    let resources = (lab.get(&node), lab.get("policy"));
    let slice = |id: &str| format!("{node}/slices/{id}");
    let set = format!("{node}/slices");
    let ue = format!("{node}/ues/1");
    for (status, path, body) in [
        // Not JSON; JSON has no NaN.
        (400, slice("1"), "{"),
        (400, slice("1"), r#"{"capacity": NaN}"#),
        (400, slice("1"), ""),
        (400, slice("1"), r#"{"capacity": 1e999}"#),
        // JSON of the wrong form.
        (422, slice("1"), r#"{"capacity": "NaN"}"#),
        (422, slice("1"), r#"{"capacity": null}"#),
        (422, slice("1"), r#"{"capacity": 0.1, "deadline": null}"#),
        (422, slice("1"), r#"{"capacity": -0.1}"#),
        (422, slice("1"), r#"{"capacity": 0}"#),
        (422, slice("1"), r#"{"capacity": 1e-9}"#),
        (422, slice("1"), r#"{"capacity": 1.1}"#),
        (422, slice("1"), r#"{"capacity": 0.1, "rate": {"reserved_mbps": 1, "reference_mbps": 10}}"#),
        (409, slice("1"), r#"{"rate": {"reserved_mbps": 11, "reference_mbps": 10}}"#),
        (422, slice("1"), r#"{"rate": {"reserved_mbps": 0, "reference_mbps": 10}}"#),
        (409, slice("1"), r#"{"prbs": {"low": 0.0, "high": 9}}"#),
        (422, slice("1"), r#"{"capacity": 0.1, "label": "\u00fc"}"#),
        (422, slice("1"), r#"{"capacity": 0.1, "scheduler": "best"}"#),
        (422, slice("1"), r#"{"capacity": 0.1, "colour": "white"}"#),
        (409, slice("1"), r#"{"id": 2, "capacity": 0.1}"#),
        (422, slice("1"), r#"{"deadline": {"slots": 10001, "prbs": 1}}"#),
        (422, slice("1"), "[]"),
        (422, set.clone(), r#"{"algorithm": "nvs", "slices": [{"capacity": 0.1}]}"#),
        (422, set.clone(), r#"{"algorithm": "fair"}"#),
        (
            409,
            set.clone(),
            r#"{"algorithm": "nvs", "slices": [{"id": 1, "capacity": 0.6}, {"id": 2, "capacity": 0.6}]}"#,
        ),
        (
            409,
            set.clone(),
            r#"{"algorithm": "nvs", "slices": [{"id": 1, "capacity": 0.1}, {"id": 1, "capacity": 0.1}]}"#,
        ),
        (409, slice("3"), r#"{"capacity": 0.000001}"#),
        (409, slice("1"), r#"{"capacity": 0.500001}"#),
        (404, ue.clone(), r#"{"slice": 9}"#),
        (422, ue.clone(), r#"{"slice": 70000}"#),
        (422, ue, r#"{"slice": 1, "sice": 1}"#),
        (404, format!("{node}/ues/9"), r#"{"slice": 1}"#),
        (404, format!("{node}/ues/70000"), r#"{"slice": 1}"#),
        (404, slice("-1"), r#"{"capacity": 0.1}"#),
        (404, slice("70000"), r#"{"capacity": 0.1}"#),
        (404, "nodes/gnb%20505.01%209/slices/1".to_owned(), r#"{"capacity": 0.1}"#),
        (404, "nodes//slices/1".to_owned(), r#"{"capacity": 0.1}"#),
        (404, "".to_owned(), "{}"),
        (404, format!("{node}/colour"), "{}"),
        (400, "nodes/%ff/slices".to_owned(), "{}"),
        (405, node.clone(), "{}"),
        (422, "policy".to_owned(), r#"{"rules": [{"plmn": "5", "slice": {"id": 1, "capacity": 0.1}}]}"#),
        (422, "policy".to_owned(), r#"{"rules": [{"snssai": "x", "slice": {"id": 1, "capacity": 0.1}}]}"#),
        (422, "policy".to_owned(), r#"{"rules": [{"slice": {"capacity": 0.1}}]}"#),
        (
            422,
            "policy".to_owned(),
            r#"{"rules": [{"slice": {"id": 1, "deadline": {"slots": 1, "prbs": 0}}}]}"#,
        ),
    ] {
        let (answered, problem) = lab.ask(Method::Put, &path, body);
        assert_eq!(answered, status, "PUT {path} {body}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.len() > 5), "{problem}");
        assert_eq!(problem["status"], json!(status));
    }
    for (status, path) in [(404, slice("9")), (405, set), (405, "policy".to_owned())] {
        assert_eq!(lab.ask(Method::Delete, &path, "").0, status, "DELETE {path}");
    }
    lab.pass(500 * MS);
    let state = lab.stations[0].cell.state().clone();
    assert_eq!((&state.set, &state.slices), (&before.set, &before.slices));
    let mut after = (lab.get(&node), lab.get("policy"));
    after.0["tstamp_us"] = resources.0["tstamp_us"].clone();
    assert_eq!(after, resources);
}

/// The association depends only on RRC events, for both LTE and NR base stations.
#[test]
fn policy_associates_ues_by_plmn_and_slice() {
    let mut lab = lab();
    lab.put(
        "policy",
        r#"{"sharing": true, "rules": [
            {"snssai": "1-0000ff", "slice": {"id": 1, "label": "white", "capacity": 0.5}},
            {"plmn": "001.01", "slice": {"id": 2, "label": "guests", "capacity": 0.25}}]}"#,
    );
    let enb = GlobalEnbId { plmn: HOME, enb_id: EnbId::Macro(ShortBits::new(7, 20)) };
    let ids = [gnb(), GlobalE2NodeId::Enb(E2NodeEnb { enb })];
    for id in ids {
        let n = lab.station(id);
        let station = &mut lab.stations[n];
        let snssai = Snssai { sst: 1, sd: Some(0xff) };
        // Before the controller's first report, without other UEs.
        station.cell.attach(&mut station.agent, 1, HOME, Some(snssai));
    }
    lab.pass(500 * MS);
    for n in 0..2 {
        let station = &mut lab.stations[n];
        assert_eq!(station.cell.state().slices, [(1, 1)].into(), "{}", station.id);
        station.cell.attach(&mut station.agent, 2, GUEST, None);
        station.cell.attach(&mut station.agent, 3, HOME, None);
    }
    lab.pass(500 * MS);
    for n in 0..2 {
        let station = &mut lab.stations[n];
        let state = station.cell.state().clone();
        assert_eq!(state.slices, [(1, 1), (2, 2)].into(), "a UE without a matching rule must not be moved");
        assert_eq!(state.set.slices.iter().map(|s| s.id).collect::<Vec<_>>(), [1, 2]);
        station.cell.release(&mut station.agent, 2);
    }
    // A UE that a request has associated with a slice stays there until its RNTI is reused.
    let node = format!("nodes/{}", escaped(&ids[0]));
    lab.put(&format!("{node}/ues/1"), r#"{"slice": 2}"#);
    lab.pass(500 * MS);
    assert_eq!(lab.stations[0].cell.state().slices, [(1, 2)].into());
    let station = &mut lab.stations[0];
    station.cell.release(&mut station.agent, 1);
    station.cell.attach(&mut station.agent, 1, GUEST, Some(Snssai { sst: 1, sd: Some(0xff) }));
    lab.pass(500 * MS);
    assert_eq!(lab.stations[0].cell.state().slices, [(1, 1)].into(), "the first matching rule must apply");
}

#[test]
fn refused_association_is_reported_and_not_repeated() {
    let mut lab = lab();
    let node = one_station(&mut lab);
    lab.put(&format!("{node}/slices"), HALVES);
    lab.put("policy", r#"{"rules": [{"slice": {"id": 3, "capacity": 0.25}}]}"#);
    lab.pass(1_000 * MS);
    let shown = lab.get(&format!("{node}/ues/1"));
    assert!(shown["refused"].as_str().is_some_and(|why| why.contains("125")), "{shown}");
    let refused = lab.stations[0].agent.counters().controls_refused;
    lab.pass(10_000 * MS);
    assert_eq!((refused, lab.stations[0].agent.counters().controls_refused), (1, 1));
    // A new policy is tried again.
    lab.put("policy", r#"{"rules": [{"slice": {"id": 2, "capacity": 0.5}}]}"#);
    lab.pass(500 * MS);
    assert_eq!(lab.stations[0].cell.state().slices, [(1, 2)].into());
}
