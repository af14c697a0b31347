//! Tests of a base station's fluid radio: its reports and its limits.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use crate::lab;
use crate::station;

use bytes::Bytes;
use lab::cell::MockCell;
use lab::{Lab, escaped};
use ranlab_e2::ric::Method;
use ranlab_radio::user_plane::{AttachError, Carrier, Channel};
use ranlab_ran::node::{NodeKind, identity};
use ranlab_ran::radio::{Fidelity, FlowPlan, RadioConfig, RadioError, TrafficKind, UePresence};
use ranlab_ric::bus::Bus;
use ranlab_ric::traffic::{RLC_SUBJECT, Traffic};
use serde_json::Value as Json;
use station::{HOME, template};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Bus that collects RLC reports.
#[derive(Clone, Default)]
struct RecordedReports(Arc<Mutex<Vec<Json>>>);

impl Bus for RecordedReports {
    fn publish(&mut self, subject: &str, message: Bytes) {
        if subject == RLC_SUBJECT {
            self.0.lock().unwrap().push(serde_json::from_slice(&message).unwrap());
        }
    }
}

fn fluid(ues: u32, what: TrafficKind) -> RadioConfig {
    let flows = vec![FlowPlan::new(what)];
    RadioConfig { fidelity: Fidelity::Fluid, flows, ..RadioConfig::new(Carrier::n78(106), ues) }
}

/// Returns the bytes of SDUs that RLC has sent, by UE.
fn sent(report: &Json) -> Vec<u64> {
    report["bearers"].as_array().unwrap().iter().map(|it| it["txpdu_bytes"].as_u64().unwrap()).collect()
}

#[test]
fn fluid_radio_reports_traffic_without_control() {
    let recorded = RecordedReports::default();
    let mut lab = Lab::new(Box::new(Traffic::new(100 * MS, Box::new(recorded.clone())).unwrap()));
    let (agent, driven) =
        template(NodeKind::Gnb, fluid(3, TrafficKind::Udp(4_000, None))).agent(0, lab.now).unwrap();
    assert!(driven.is_none(), "a fluid radio must not have a driver");
    let id = identity(NodeKind::Gnb, HOME, 0).0;
    lab.adopt(agent, MockCell::default(), id);
    lab.pass(10_300 * MS);
    let reports = recorded.0.lock().unwrap().clone();
    let first = &reports[0];
    let last = &reports[100];
    for (before, after) in sent(first).iter().zip(sent(last)) {
        let mbps = (after - before) as f64 * 8e-6 / 10.0;
        // The rate counts bytes of IP; PDCP and RLC headers add 0.4 %.
        assert!((mbps / 4.0 - 1.0).abs() < 0.02, "the UE received {mbps} instead of 4 Mbit/s");
    }
    assert_eq!((sent(last).len(), reports.len() >= 101), (3, true));
    // The base station offers neither SLICE nor TRAFFIC.
    let pacer = format!("nodes/{}/bearers/1/1/pacer", escaped(&id));
    let (status, answer) = lab.ask(Method::Put, &pacer, r#"{"type": "5g-bdp"}"#);
    assert!(
        status == 503 && answer["detail"].as_str().unwrap().contains("does not offer TRAFFIC"),
        "{answer}"
    );
}

#[test]
fn unsupported_features_are_rejected_by_name() {
    let why = |radio: RadioConfig| {
        template(NodeKind::Gnb, radio).agent(0, ranlab_e2::Time::ZERO).err().unwrap().to_string()
    };
    let udp = || fluid(2, TrafficKind::Udp(1_000, None));
    let stays = vec![UePresence { ues: 2..=2, from: MS, until: None }];
    let snssais = vec!["1".parse().unwrap()];
    for (radio, named) in [
        (fluid(2, TrafficKind::Voip), "the flow voip"),
        (fluid(2, TrafficKind::Tcp(3_000_000)), "the flow tcp"),
        (RadioConfig { stays, ..udp() }, "a stay"),
        (RadioConfig { snssais, ..udp() }, "RRC"),
        (RadioConfig { plmns: vec![HOME], ..udp() }, "RRC"),
    ] {
        let why = why(radio);
        assert!(why.contains(named) && why.contains("fidelity slot does"), "{why}");
    }
    let channel = Channel::Fixed { mcs: 29, bler: 0.0 };
    assert!(why(RadioConfig { channel, ..udp() }).contains("0 to 28"));
    assert!(why(RadioConfig { carrier: Carrier::lte(26), ..udp() }).contains("allowed are"));
    assert_eq!(why(fluid(2_000, TrafficKind::Full)), AttachError::Full(1_024).to_string());
    let beyond = FlowPlan { ues: Some(3..=3), ..FlowPlan::new(TrafficKind::Full) };
    let nobody = RadioError::NoUe { what: "a flow", ue: 3, ues: 2 };
    assert_eq!(why(RadioConfig { flows: vec![beyond], ..udp() }), nobody.to_string());
}
