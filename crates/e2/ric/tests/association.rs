//! Tests the five steps of FlexRIC's figure 4 in virtual time, with the CU and the DU of a base station, the
//! infrastructure's controller and an operator's controller.
#![allow(clippy::unwrap_used)]
mod lab;

use lab::cell::{MockCell, RRC, SLICE, TRAFFIC};
use lab::{Lab, escaped, get_json, order};
use ranlab_e2::agent::{Agent, AgentConfig, ControllerId, UeId};
use ranlab_e2::functions::{association, rrc, slice, traffic};
use ranlab_e2::ric::Method;
use ranlab_e2_codec::e2ap::{
    ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType, E2NodeGnb,
    GlobalE2NodeId, InterfaceF1, Plmn,
};
use ranlab_e2_codec::e2sm::slice::{Slice, SliceAlgorithm, SliceParameters, SliceSet, UeScheduler};
use ranlab_ric::association::Association;
use ranlab_ric::slicing::Slicing;
use serde_json::{Value as Json, json};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOME: Plmn = Plmn([0x05, 0xf5, 0x10]);
const GUEST: Plmn = Plmn([0x00, 0xf1, 0x10]);
const OPERATOR: &str = "mem://operator";
/// The operator's controller, for requests; the default is the infrastructure's controller.
const GUESTS: (usize, usize) = (1, 0);
const CU: usize = 0;
const DU: usize = 1;
const RULES: &str = r#"{"rules": [{"plmn": "001.01", "controllers": ["mem://operator"]}]}"#;

/// Adds a CU with RRC and a DU with the other functions, over one cell. At most `further` additional
/// controllers are allowed.
fn split_station(lab: &mut Lab, further: usize) -> MockCell {
    let GlobalE2NodeId::Gnb(whole) = GlobalE2NodeId::gnb(HOME, 5, 32) else { panic!() };
    let cell = MockCell::default();
    for (part, du_id) in [(CU, None), (DU, Some(1))] {
        let id = GlobalE2NodeId::Gnb(E2NodeGnb { du_id, ..whole });
        let component = ComponentConfigItem {
            interface: ComponentInterfaceType::F1,
            id: ComponentId::F1(InterfaceF1 { du_id: 1 }),
            configuration: ComponentConfiguration::default(),
        };
        let config = AgentConfig::new(id, vec![component]).with(|it| it.limits.controllers = 1 + further);
        let mut agent = Agent::new(config);
        let control = Box::new(association::Association::new());
        agent.register(control, Some(association::DEFAULT_FUNCTION_ID)).unwrap();
        if part == CU {
            agent.register(rrc::function(cell.clone()), Some(RRC)).unwrap();
        } else {
            agent.register(slice::function(cell.clone()), Some(SLICE)).unwrap();
            agent.register(traffic::function(cell.clone()), Some(TRAFFIC)).unwrap();
        }
        assert_eq!(lab.adopt(agent, cell.clone(), id), part);
    }
    // Slice of the infrastructure, for UEs that are not associated with another slice.
    let parameters = SliceParameters::Capacity(300_000);
    let pool = Slice { id: 0, label: "pool".into(), scheduler: UeScheduler::RoundRobin, parameters };
    cell.state().set = SliceSet { algorithm: SliceAlgorithm::Nvs, sharing: true, slices: vec![pool] };
    cell
}

/// Returns an infrastructure controller with the rules, an operator's controller, and a base station with CU
/// and DU.
fn lab() -> (Lab, MockCell) {
    let mut lab = Lab::new(Box::new(Association::new().unwrap()));
    lab.controller(OPERATOR, Box::new(Slicing::new(100 * MS).unwrap()));
    let cell = split_station(&mut lab, 7);
    lab.put("policy", RULES);
    (lab, cell)
}

fn attach(lab: &mut Lab, cell: &MockCell, rnti: u16, plmn: Plmn) {
    lab.stations[DU].agent.ue_arrived(UeId(rnti.into())).unwrap();
    cell.attach(&mut lab.stations[CU].agent, rnti, plmn, None);
}

fn release(lab: &mut Lab, cell: &MockCell, rnti: u16) {
    lab.stations[DU].agent.ue_left(UeId(rnti.into()));
    cell.release(&mut lab.stations[CU].agent, rnti);
}

fn node_path(lab: &Lab, n: usize) -> String {
    format!("nodes/{}", escaped(&lab.stations[n].id))
}

/// Returns the UEs that an E2 node exposes to the operator.
fn exposed(lab: &Lab, n: usize) -> Vec<u64> {
    let agent = &lab.stations[n].agent;
    let operator = agent.controllers().find(|(_, address)| *address == OPERATOR).map(|(id, _)| id);
    operator.map_or_else(Vec::new, |id: ControllerId| agent.ues_of(id).iter().map(|ue| ue.0).collect())
}

fn rntis(node: &Json) -> Vec<u64> {
    node["ues"].as_array().unwrap().iter().map(|ue| ue["rnti"].as_u64().unwrap()).collect()
}

#[test]
fn ue_is_exposed_only_to_the_controller_of_its_plmn() {
    let (mut lab, cell) = lab();
    attach(&mut lab, &cell, 1, HOME);
    lab.pass(500 * MS);
    // Without a UE of the operator, its controller is not even connected.
    assert_eq!(lab.stations[DU].agent.controllers().count(), 1);
    assert_eq!(get_json(&mut lab, GUESTS, "nodes")["nodes"], json!([]));

    // Step 1: the UE attaches. Steps 2 to 4: the CU's RRC event reaches the infrastructure controller, which
    // sends controls to all E2 nodes.
    attach(&mut lab, &cell, 2, GUEST);
    lab.pass(500 * MS);
    for n in [CU, DU] {
        assert_eq!(exposed(&lab, n), [2], "{}", lab.stations[n].id);
        let path = node_path(&lab, n);
        let shown = lab.get(&path);
        let controllers = |ue: usize| shown["ues"][ue]["controllers"].clone();
        assert_eq!((controllers(0), controllers(1)), (json!([]), json!([OPERATOR])), "{shown}");
    }
    // Step 5: the operator sees only this UE and controls it.
    let du = node_path(&lab, DU);
    assert_eq!(rntis(&get_json(&mut lab, GUESTS, &du)), [2]);
    order(&mut lab, GUESTS, "policy", r#"{"rules": [{"slice": {"id": 2, "capacity": 0.5}}]}"#);
    lab.pass(500 * MS);
    assert_eq!(cell.state().slices, [(2, 2)].into());
    let before = cell.state().clone();
    let (status, refused) = lab.ask_at(GUESTS, Method::Put, &format!("{du}/ues/1"), r#"{"slice": 2}"#);
    assert_eq!((status, &refused["reason"]), (404, &json!("unknownUe")), "{refused}");
    let (status, refused) = lab.ask_at(GUESTS, Method::Delete, &format!("{du}/slices/0"), "");
    assert_eq!((status, &refused["reason"]), (403, &json!("notOwner")), "{refused}");
    let after = cell.state().clone();
    assert_eq!((after.set, after.slices), (before.set, before.slices));
}

#[test]
fn reused_rnti_counts_as_another_ue() {
    let (mut lab, cell) = lab();
    attach(&mut lab, &cell, 2, GUEST);
    lab.pass(500 * MS);
    assert_eq!(exposed(&lab, DU), [2]);
    release(&mut lab, &cell, 2);
    lab.pass(500 * MS);
    assert_eq!((exposed(&lab, DU), exposed(&lab, CU)), (vec![], vec![]));
    attach(&mut lab, &cell, 2, HOME);
    lab.pass(500 * MS);
    assert_eq!(exposed(&lab, DU), [0; 0]);
    // Within one report: released, reused by another UE, and reused by a UE of the operator.
    release(&mut lab, &cell, 2);
    attach(&mut lab, &cell, 2, GUEST);
    release(&mut lab, &cell, 2);
    attach(&mut lab, &cell, 2, HOME);
    attach(&mut lab, &cell, 3, GUEST);
    lab.pass(500 * MS);
    assert_eq!((exposed(&lab, DU), exposed(&lab, CU)), (vec![3], vec![3]));
}

#[test]
fn policy_change_is_applied_after_a_reconnect() {
    let (mut lab, cell) = lab();
    attach(&mut lab, &cell, 1, HOME);
    attach(&mut lab, &cell, 2, GUEST);
    lab.pass(500 * MS);
    lab.put("policy", r#"{"rules": [{"plmn": "505.01", "controllers": ["mem://operator"]}]}"#);
    lab.pass(500 * MS);
    assert_eq!((exposed(&lab, DU), exposed(&lab, CU)), (vec![1], vec![1]));
    // A policy change while the DU is disconnected takes effect at its reconnect; until then the old state
    // remains.
    lab.cut(DU, 0);
    lab.put("policy", RULES);
    lab.pass(20 * MS);
    assert_eq!((exposed(&lab, DU), exposed(&lab, CU)), (vec![1], vec![2]));
    lab.pass(5_000 * MS);
    assert_eq!((exposed(&lab, DU), exposed(&lab, CU)), (vec![2], vec![2]));
    lab.put("policy", r#"{"rules": []}"#);
    lab.pass(500 * MS);
    assert_eq!((exposed(&lab, DU), exposed(&lab, CU)), (vec![], vec![]));
    // The controller stays connected until an explicit disconnect.
    assert_eq!(lab.stations[DU].agent.controllers().count(), 2);
    let path = format!("{}/controllers/mem:%2F%2Foperator", node_path(&lab, DU));
    assert_eq!(lab.ask(Method::Delete, &path, "").0, 200);
    lab.pass(500 * MS);
    assert_eq!(lab.stations[DU].agent.controllers().count(), 1);
}

#[test]
fn refusal_is_reported_and_retried() {
    let (mut lab, cell) = lab();
    // The RRC event arrives before the DU knows the UE.
    cell.attach(&mut lab.stations[CU].agent, 2, GUEST, None);
    lab.pass(500 * MS);
    let path = node_path(&lab, DU);
    let refused = lab.get(&path)["ues"][0].clone();
    assert!(refused["refused"].as_str().is_some_and(|why| why.contains("no UE 2")), "{refused}");
    assert_eq!((exposed(&lab, DU), exposed(&lab, CU)), (vec![], vec![2]));
    assert_eq!(lab.stations[DU].agent.counters().controls_refused, 1);
    lab.stations[DU].agent.ue_arrived(UeId(2)).unwrap();
    lab.pass(5_000 * MS);
    assert_eq!(exposed(&lab, DU), [2]);
    assert_eq!(lab.get(&path)["ues"][0]["refused"], Json::Null);

    // No further controller is allowed: the agent reports the reason.
    let mut lab = Lab::new(Box::new(Association::new().unwrap()));
    let cell = split_station(&mut lab, 0);
    lab.put("policy", RULES);
    attach(&mut lab, &cell, 2, GUEST);
    lab.pass(500 * MS);
    let path = node_path(&lab, DU);
    let shown = lab.get(&path);
    assert!(shown["refused"][OPERATOR].as_str().is_some_and(|why| why.contains("at most 1")), "{shown}");
    assert_eq!(shown["controllers"], json!([]));
}

#[test]
fn invalid_requests_are_rejected_without_change() {
    let (mut lab, cell) = lab();
    attach(&mut lab, &cell, 2, GUEST);
    lab.pass(500 * MS);
    let du = node_path(&lab, DU);
    let before = (lab.get("policy"), lab.get("nodes"));
    let rule = |rule: &str| format!(r#"{{"rules": [{rule}]}}"#);
    let many = [r#"{"controllers": []}"#; 65].join(",");
    let remove = format!("{du}/controllers/mem:%2F%2Foperator");
    let unknown = format!("{du}/controllers/mem:%2F%2Fnobody");
    use Method::{Delete, Get, Put};
    for (status, method, path, body) in [
        (400, Put, "policy", "{"),
        (422, Put, "policy", &*rule(r#"{"plmn": "1.1", "controllers": []}"#)),
        (422, Put, "policy", &*rule(r#"{"snssai": "256", "controllers": []}"#)),
        (422, Put, "policy", &*rule(r#"{"plmn": "001.01"}"#)),
        (422, Put, "policy", &*rule(r#"{"controllers": ["operator"]}"#)),
        (422, Put, "policy", &*rule(&format!(r#"{{"controllers": ["tcp://{}"]}}"#, "a".repeat(256)))),
        (422, Put, "policy", &*rule(&format!(r#"{{"controllers": [{}]}}"#, [r#""tcp://a:1""#; 8].join(",")))),
        (422, Put, "policy", &*rule(&many)),
        (405, Delete, "policy", ""),
        (405, Put, "nodes", "{}"),
        (405, Put, &*du, "{}"),
        (404, Get, "nodes/gnb%20505.01%206", ""),
        (404, Get, "nothing", ""),
        (405, Get, &*remove, ""),
        (409, Delete, &*remove, ""),
        (409, Delete, &*unknown, ""),
    ] {
        let (answered, answer) = lab.ask(method, path, body);
        assert_eq!(answered, status, "{path} {body}: {answer}");
        assert!(answer["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{answer}");
    }
    lab.pass(500 * MS);
    assert_eq!((lab.get("policy"), lab.get("nodes")), before);
    assert_eq!(exposed(&lab, DU), [2]);
}
