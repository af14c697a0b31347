//! Tests of loads that are divided among several locations.

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Outcome, Rig};
use ranlab_campaign::value::Value;
use ranlab_lab::{PLACES_MAX, Registry, RigContext};

use crate::{e2_rtt, southbound};
use ranlab_e2_lab::rigs::controller;
use ranlab_e2_lab::{E2, RAN, RIC};
use ranlab_lab::experiment::fake;
use ranlab_lab::experiment::harness::RunningExperiment;

const ONLY_E2: Registry = Registry(&[&RIC, &RAN, &E2]);

/// Each of two workers over TCP emulates its share of real base stations.
#[test]
fn divided_base_stations_are_complete_and_unique() {
    let mut rig = RunningExperiment::new(&RigContext::new("no-such-program"), controller::Controller);
    let places: Vec<_> = (0..2).map(|_| Value::Text(fake::real(ONLY_E2))).collect();
    let set = [
        ("sut.at", Value::Text(fake::real(ONLY_E2))),
        ("load.at", Value::List(places)),
        ("xapp.at", Value::Text(fake::real(ONLY_E2))),
        ("load.nodes", Value::Int(5)),
        ("load.ues", Value::Int(2)),
        ("host.when_noisy", "warn".into()),
    ];
    let point = fake::point(&rig, &set);
    let mut run = fake::run(&point);
    run.duration = Duration::from_millis(300);
    let mut recorder = Recorder::default();
    let outcome = rig.measure(&run, &mut recorder);
    let metrics = recorder.finish().metrics;
    assert!(matches!(outcome, Ok(Outcome::Ok)), "{outcome:?} {metrics:?}");
    // If two base stations had the same identity, the RIC would refuse one of them, and not all subscriptions would be
    // admitted.
    assert_eq!((metrics["nodes_lost"], metrics["lost"]), (0.0, 0.0));
    assert!(metrics["indications_per_s"] > 0.0);
}

#[test]
fn indivisible_loads_are_rejected() {
    let list = |places: usize| Value::List(vec!["local".into(); places]);
    let refused = |rig: &dyn Rig, set: &[(&str, Value)]| {
        rig.preview(&fake::point(rig, set).settings).and_then(Result::err).unwrap_or_default()
    };
    let lab = RigContext::new("no-such-program");
    let ping = refused(&RunningExperiment::new(&lab, e2_rtt::E2Rtt), &[("load.at", list(2))]);
    assert_eq!(ping, "this rig's load cannot be divided: `load.at` must be one place, not 2");
    let statistics = RunningExperiment::new(&lab, controller::Controller);
    let sd_ran = RunningExperiment::new(&lab, southbound::SdRan);
    for rig in [&statistics as &dyn Rig, &sd_ran] {
        assert_eq!(refused(rig, &[("load.at", list(2))]), "");
        let reason = refused(rig, &[("load.at", list(11))]);
        assert_eq!(reason, "10 base stations cannot be divided among 11 places; at least 11 are needed");
        assert!(refused(rig, &[("load.at", list(PLACES_MAX + 1))]).contains("1 to 128 are allowed"));
    }
}
