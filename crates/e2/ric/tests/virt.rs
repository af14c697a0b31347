//! Tests of the virtualization controller between base stations without a radio and operators' slicing
//! controllers.
#![allow(clippy::unwrap_used)] // a test's set-up that fails is a failed test
mod lab;

use lab::Lab;
use ranlab_e2::ric::Method::{Delete, Get, Put};
use ranlab_e2_codec::e2ap::{E2NodeGnb, GlobalE2NodeId, GlobalGnbId, Plmn};
use ranlab_e2_codec::e2sm::slice::{SliceParameters, SliceSet};
use ranlab_e2_codec::per::ShortBits;
use ranlab_ric::slicing::Slicing;
use ranlab_ric::virt::{Tenant, Virt};
use serde_json::{Value as Json, json};
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(100);
const A: Plmn = Plmn([0x00, 0xf1, 0x10]);
const B: Plmn = Plmn([0x00, 0xf1, 0x20]);

fn tenants(shares: [f64; 2]) -> [Tenant; 2] {
    [Tenant::new("A", shares[0], &["001.01"]).unwrap(), Tenant::new("B", shares[1], &["001.02"]).unwrap()]
}

/// Returns a base station shared by A and B, whose controllers are 1 and 2.
fn shared(shares: [f64; 2]) -> Lab {
    let (virt, desk) = Virt::new(&tenants(shares), true, 10, PERIOD).unwrap();
    let mut lab = Lab::new(Box::new(virt));
    for address in ["mem://a", "mem://b"] {
        lab.controller(address, Box::new(Slicing::new(PERIOD).unwrap()));
    }
    lab.share(0, desk, &["mem://a", "mem://b"]);
    lab.station(GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32));
    lab.pass(2 * PERIOD);
    lab
}

fn attach(lab: &mut Lab, rnti: u16, plmn: Plmn) {
    let station = &mut lab.stations[0];
    station.cell.attach(&mut station.agent, rnti, plmn, None);
    station.cell.state().slices.insert(rnti, 0);
    lab.pass(3 * PERIOD);
}

/// Returns an operator's view of its base station.
fn seen(lab: &mut Lab, operator: usize) -> Json {
    let (status, body) = lab.ask_at((operator, 0), Get, "nodes", "");
    assert_eq!(status, 200);
    assert_eq!(body["nodes"].as_array().unwrap().len(), 1, "{body}");
    body["nodes"][0].clone()
}

fn rntis(seen: &Json) -> Vec<u64> {
    seen["ues"].as_array().unwrap().iter().map(|ue| ue["rnti"].as_u64().unwrap()).collect()
}

const NODE: &str = "nodes/gnb%20505.01%205";

fn ppm(set: &SliceSet, id: u16) -> u32 {
    match set.slice(id).map(|slice| &slice.parameters) {
        Some(SliceParameters::Capacity(ppm)) => *ppm,
        other => panic!("slice {id} has no capacity: {other:?}"),
    }
}

#[test]
fn operators_have_their_share_and_see_only_their_ues() {
    let mut lab = shared([0.6, 0.4]);
    for (rnti, plmn) in [(1, A), (2, B), (3, A), (4, Plmn([0x00, 0xf1, 0x30]))] {
        attach(&mut lab, rnti, plmn);
    }
    let state = lab.stations[0].cell.state().clone();
    assert_eq!((ppm(&state.set, 1), ppm(&state.set, 12)), (600_000, 400_000));
    assert_eq!(state.slices, [(1, 1), (2, 12), (3, 1), (4, 0)].into(), "UE 4 belongs to no operator");
    let a = seen(&mut lab, 1);
    let b = seen(&mut lab, 2);
    assert_eq!((rntis(&a), rntis(&b)), (vec![1, 3], vec![2]));
    let prbs = (&a["slicing"]["prbs"], &b["slicing"]["prbs"]);
    assert_eq!(prbs, (&json!(64), &json!(42)), "A must have 0.6 and B 0.4 of the 106 PRBs");
    assert_eq!((&a["slicing"]["algorithm"], &a["slicing"]["slices"]), (&json!("none"), &json!([])));
    let station = &mut lab.stations[0];
    station.cell.release(&mut station.agent, 1);
    lab.pass(3 * PERIOD);
    assert_eq!(rntis(&seen(&mut lab, 1)), [3]);
}

#[test]
fn controls_are_scaled_and_confirmed_by_the_base_station() {
    let mut lab = shared([0.5, 0.5]);
    attach(&mut lab, 1, A);
    attach(&mut lab, 2, B);
    let two = r#"{"algorithm": "nvs", "slices": [{"id": 0, "capacity": 0.66}, {"id": 7, "rate": {"reserved_mbps": 5, "reference_mbps": 50}}]}"#;
    let slices = format!("{NODE}/slices");
    assert_eq!(lab.ask_at((1, 0), Put, &slices, two).0, 200);
    assert_eq!(lab.ask_at((1, 0), Put, &format!("{NODE}/ues/1"), r#"{"slice": 7}"#).0, 200);
    let state = lab.stations[0].cell.state().clone();
    assert_eq!(
        (ppm(&state.set, 2), ppm(&state.set, 12)),
        (450_000, 500_000),
        "A's capacity slice must have 0.66 * 0.5 plus A's unreserved 0.12, and B its whole share 0.5"
    );
    let SliceParameters::Rate(rate) = state.set.slice(9).unwrap().parameters.clone() else {
        panic!("slice 9 must be a rate slice")
    };
    assert_eq!(
        (rate.reserved_kbps, rate.reference_kbps),
        (5_000, 100_000),
        "the reference rate must be divided by A's share (FlexRIC, CoNEXT 2021, appendix B)"
    );
    assert_eq!(state.slices, [(1, 9), (2, 12)].into());
    // B may use the same slice ids.
    assert_eq!(lab.ask_at((2, 0), Put, &slices, two).0, 200);
    assert_eq!(ppm(&lab.stations[0].cell.state().set, 13), 450_000);
    lab.pass(3 * PERIOD);
    assert_eq!(seen(&mut lab, 1)["slicing"]["slices"][0]["capacity"], json!(0.66));
    // A can delete only its own slice; the slice's UE moves to A's first slice.
    assert_eq!(lab.ask_at((1, 0), Delete, &format!("{NODE}/slices/7"), "").0, 200);
    lab.pass(3 * PERIOD);
    let state = lab.stations[0].cell.state().clone();
    assert_eq!((state.set.slice(9), state.slices[&1], state.slices[&2]), (None, 2, 13));
}

#[test]
fn forbidden_controls_change_nothing() {
    let mut lab = shared([0.5, 0.5]);
    attach(&mut lab, 1, A);
    attach(&mut lab, 2, B);
    let before = lab.stations[0].cell.state().clone();
    let (slices, all) =
        (format!("{NODE}/slices"), r#"{"algorithm": "nvs", "slices": [{"id": 0, "capacity": 1}]}"#);
    for (path, body, why) in [
        (&slices, r#"{"algorithm": "nvs", "slices": [{"id": 10, "capacity": 1}]}"#, "ids must be 0 to 9"),
        (
            &slices,
            r#"{"algorithm": "nvs", "sharing": false, "slices": [{"id": 0, "capacity": 1}]}"#,
            "sharing must be true",
        ),
        (
            &slices,
            r#"{"algorithm": "static", "slices": [{"id": 0, "prbs": {"low": 0, "high": 9}}]}"#,
            "use nvs",
        ),
    ] {
        let (status, body) = lab.ask_at((1, 0), Put, path, body);
        assert!(status == 409 && body["detail"].as_str().unwrap().contains(why), "{body}");
        let after = lab.stations[0].cell.state().clone();
        assert_eq!((&after.set, &after.slices), (&before.set, &before.slices));
    }
    assert_eq!(lab.ask_at((1, 0), Put, &slices, all).0, 200);
    let (status, body) = lab.ask_at((1, 0), Put, &format!("{NODE}/ues/2"), r#"{"slice": 0}"#);
    assert_eq!((status, &body["detail"]), (404, &json!("there is no UE 2")), "UE 2 belongs to B");
    let more = r#"{"capacity": 0.1}"#;
    let (status, body) = lab.ask_at((1, 0), Put, &format!("{NODE}/slices/1"), more);
    assert_eq!((status, &body["reason"]), (409, &json!("overcommitted")), "{body}");
}

#[test]
fn lost_base_station_is_hidden_and_reconfigured_after_reconnect() {
    let mut lab = shared([0.5, 0.5]);
    attach(&mut lab, 1, A);
    let one = r#"{"algorithm": "nvs", "slices": [{"id": 3, "capacity": 0.5}]}"#;
    assert_eq!(lab.ask_at((1, 0), Put, &format!("{NODE}/slices"), one).0, 200);
    lab.cut(0, 0);
    lab.pass(Duration::from_millis(1));
    assert_eq!(lab.ask_at((1, 0), Get, "nodes", "").1["nodes"], json!([]));
    // The base station was restarted in the meantime.
    lab.stations[0].cell.state().set = SliceSet::default();
    lab.pass(Duration::from_secs(3));
    assert_eq!(seen(&mut lab, 1)["connected"], json!(true));
    assert_eq!(ppm(&lab.stations[0].cell.state().set, 5), 500_000);
    assert_eq!(rntis(&seen(&mut lab, 1)), [1]);
}

#[test]
fn virtualization_can_be_nested() {
    let (below, desk) = Virt::new(&tenants([0.5, 0.5]), true, 40, PERIOD).unwrap();
    let mut lab = Lab::new(Box::new(below));
    let (above, upper) = Virt::new(&tenants([0.5, 0.5]), true, 10, PERIOD).unwrap();
    lab.controller("mem://above", Box::new(above));
    lab.controller("mem://b", Box::new(Slicing::new(PERIOD).unwrap()));
    for address in ["mem://above/a", "mem://above/b"] {
        lab.controller(address, Box::new(Slicing::new(PERIOD).unwrap()));
    }
    // The upper controller shares A's part between another A and B.
    lab.share(0, desk, &["mem://above", "mem://b"]);
    lab.share(1, upper, &["mem://above/a", "mem://above/b"]);
    lab.station(GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32));
    lab.pass(5 * PERIOD);
    attach(&mut lab, 1, A);
    attach(&mut lab, 2, B);
    lab.pass(5 * PERIOD);
    let two = r#"{"algorithm": "nvs", "slices": [{"id": 4, "capacity": 0.5}]}"#;
    assert_eq!(lab.ask_at((3, 0), Put, &format!("{NODE}/slices"), two).0, 200);
    lab.pass(5 * PERIOD);
    let state = lab.stations[0].cell.state().clone();
    // Slice 4 of the upper A is slice 6 of the lower A, and slice 8 of the base station. The upper A has 0.5 of the lower
    // A's share 0.5. Its only slice has all of it: 0.25.
    assert_eq!(ppm(&state.set, 8), 250_000);
    assert_eq!(ppm(&state.set, 14), 250_000, "the upper B must have its whole share");
    assert_eq!(state.slices, [(1, 8), (2, 42)].into());
    assert_eq!((rntis(&seen(&mut lab, 3)), rntis(&seen(&mut lab, 4))), (vec![1], vec![]));
    assert_eq!(rntis(&seen(&mut lab, 2)), [2]);
}

/// RRC of the CU reports the UEs of all cells.
#[test]
fn cu_with_two_dus_is_shown_as_two_base_stations() {
    let (virt, desk) = Virt::new(&tenants([0.5, 0.5]), true, 10, PERIOD).unwrap();
    let mut lab = Lab::new(Box::new(virt));
    for address in ["mem://a", "mem://b"] {
        lab.controller(address, Box::new(Slicing::new(PERIOD).unwrap()));
    }
    lab.share(0, desk, &["mem://a", "mem://b"]);
    let part = |du_id| {
        let gnb = GlobalGnbId { plmn: Plmn::new(505, 1, 2), gnb_id: ShortBits::new(5, 32) };
        GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id: None, du_id })
    };
    let cu = lab.parts(part(None), &[part(Some(1)), part(Some(2))]);
    lab.pass(2 * PERIOD);
    // The cells of a DU become known when a UE is in them.
    for (rnti, cell_id, plmn) in [(1, 0, A), (2, 1, B)] {
        let du = cu + 1 + usize::from(cell_id);
        for part in [cu, du] {
            let station = &mut lab.stations[part];
            station.cell.connect(&mut station.agent, rnti, cell_id, plmn);
        }
        lab.stations[du].cell.state().slices.insert(rnti, 0);
        lab.pass(3 * PERIOD);
    }
    let ues = |lab: &mut Lab, operator| {
        let (_, body) = lab.ask_at((operator, 0), Get, "nodes", "");
        let one = |node: &Json| (node["node"].as_str().unwrap().to_owned(), rntis(node));
        body["nodes"].as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    let first = "gnb 505.01 80".to_owned();
    let second = "gnb 505.01 81".to_owned();
    assert_eq!(ues(&mut lab, 1), [(first.clone(), vec![1]), (second.clone(), vec![])]);
    assert_eq!(ues(&mut lab, 2), [(first.clone(), vec![]), (second.clone(), vec![2])]);
    assert_eq!(
        lab.stations[cu + 1].cell.state().slices,
        [(1, 1)].into(),
        "UE 1 must be in the slice with A's whole share"
    );
    let mut hand_over = |operator, ue: u16, cell: u16| {
        let path = format!("nodes/gnb%20505.01%2080/ues/{ue}/cell");
        let (status, body) = lab.ask_at((operator, 0), Put, &path, &json!({ "cell_id": cell }).to_string());
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(hand_over(1, 2, 0), (404, "there is no UE 2".to_owned()), "UE 2 belongs to B");
    assert_eq!(hand_over(1, 1, 9), (409, "the base station does not execute this command".to_owned()));
    assert_eq!(hand_over(1, 1, 1), (200, String::new()));
    lab.pass(3 * PERIOD);
    assert_eq!(ues(&mut lab, 1), [(first, vec![]), (second, vec![1])]);
}
