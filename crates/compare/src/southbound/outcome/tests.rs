use super::*;

/// Returns a successful report of FlexRAN base stations. `but` replaces some of its numbers.
fn load(but: &[(&str, f64)]) -> Report {
    let mut report = Report { wall_s: 2.0, ..Report::default() };
    for (name, value) in [
        ("alive", 2.0),
        ("connected", 2.0),
        ("ues", 8.0),
        ("announced_ues", 8.0),
        ("offered", 20.0),
        ("sent", 20.0),
        ("sent_bytes", 2_000.0),
        ("reports", 18.0),
        ("received", 4.0),
        ("received_bytes", 40.0),
        ("acknowledged", 20.0),
        ("read", 20.0),
        ("readers_seen", 2.0),
        ("served", 2.0),
        ("taken_us_p99", 70.0),
        ("lateness_us_p99", 80.0),
        ("lateness_us_max", 90.0),
    ] {
        report.numbers.insert(name.to_owned(), value);
    }
    for name in [
        "refused",
        "dropped",
        "waiting",
        "waiting_bytes",
        "unacknowledged_bytes",
        "unread_bytes",
        "unread_us_max",
        "skipped",
        "reconnects",
        "faults",
    ] {
        report.numbers.insert(name.to_owned(), 0.0);
    }
    report.numbers.extend(but.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    report
}

/// Returns a successful report of a reference controller. `but` replaces some of its numbers.
fn reference(but: &[(&str, f64)]) -> Report {
    let mut report = Report::default();
    for name in ["dropped", "lost_at_batch_end", "leaked_bytes", "declared_dead", "throttled"] {
        report.numbers.insert(name.to_owned(), 0.0);
    }
    for (name, value) in [("agents", 2.0), ("ues", 8.0), ("processed", 20.0), ("app_runs", 2_000.0)] {
        report.numbers.insert(name.to_owned(), value);
    }
    report.numbers.extend(but.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    report
}

fn judged(
    load: &Report,
    controller: &Report,
    told: ControllerCounters,
) -> (Result<Outcome, RigError>, std::collections::BTreeMap<String, f64>) {
    let mut recorder = Recorder::default();
    let seen =
        WindowObservation { nodes: 2.0, load, controller, told, incidents: Vec::new(), radios: Vec::new() };
    let outcome = seen.record(&mut recorder, None);
    (outcome, recorder.finish().metrics.into_iter().collect())
}

fn of_load(but: &[(&str, f64)]) -> Outcome {
    judged(&load(but), &Report::default(), ControllerCounters::Nothing).0.unwrap()
}

fn of_controller(but: &[(&str, f64)]) -> Outcome {
    judged(&load(&[]), &reference(but), ControllerCounters::Reference).0.unwrap()
}

#[test]
fn outcome_is_not_ok_without_load_at_the_controller() {
    assert_eq!(of_load(&[]), Outcome::Ok);
    // The cases are refused connections, a controller that does not read, and reports above the message size limit (as
    // with 3,000 UEs).
    let none = [("connected", 0.0), ("alive", 0.0), ("sent", 0.0), ("offered", 0.0), ("reports", 0.0)];
    assert_eq!(of_load(&[&none[..], &[("refused", 12.0)]].concat()), Outcome::SutFailed);
    let unread = [("sent", 0.0), ("offered", 9.0), ("waiting", 5.0), ("dropped", 4.0)];
    assert_eq!(of_load(&unread), Outcome::Overloaded);
    assert_eq!(of_load(&[("sent", 0.0), ("offered", 0.0), ("faults", 160.0)]), Outcome::Invalid);
    // The controller stalls during the whole window, and its kernel buffers all reports.
    assert_eq!(of_load(&[("read", 0.0)]), Outcome::SutFailed);
    assert_eq!(of_load(&[("read", 0.0), ("readers_seen", 0.0)]), Outcome::Ok);
    assert_eq!(of_load(&[("sent", 2.0), ("reports", 0.0)]), Outcome::Invalid);
    assert_eq!(of_controller(&[("processed", 0.0)]), Outcome::Overloaded);
}

#[test]
fn incomplete_delivery_is_degraded() {
    for but in
        [("faults", 1.0), ("announced_ues", 7.0), ("dropped", 1.0), ("reconnects", 1.0), ("alive", 1.0)]
    {
        assert_eq!(of_load(&[but]), Outcome::Degraded, "{but:?}");
    }
}

/// 5G-EmPOWER does not repeat requests after a reconnect. Then the controller receives only hellos and uses 1.2 % of a
/// core.
#[test]
fn controller_without_load_is_not_overloaded() {
    assert_eq!(
        of_load(&[("alive", 0.0)]),
        Outcome::Overloaded,
        "with both base stations served, the controller had load"
    );
    assert_eq!(of_load(&[("alive", 0.0), ("served", 0.0), ("reports", 0.0)]), Outcome::Invalid);
    let load = load(&[("alive", 0.0), ("served", 0.0)]);
    let none = Report::default();
    let seen = WindowObservation {
        nodes: 6.0,
        load: &load,
        controller: &none,
        told: ControllerCounters::Nothing,
        incidents: Vec::new(),
        radios: Vec::new(),
    };
    assert!(!seen.had_load().unwrap());
    assert_eq!(
        of_load(&[("alive", 0.0), ("served", 1.0)]),
        Outcome::Overloaded,
        "with half of the base stations served, the controller had load"
    );
    let probed = |but: &[(&str, f64)], probe| {
        let mut recorder = Recorder::default();
        let load = self::load(but);
        let seen = WindowObservation {
            nodes: 2.0,
            load: &load,
            controller: &none,
            told: ControllerCounters::Nothing,
            incidents: Vec::new(),
            radios: Vec::new(),
        };
        seen.record(&mut recorder, Some((probe, Duration::from_secs(3)))).unwrap()
    };
    assert_eq!(probed(&[], ExtraStation::Served(9e3, 4e3)), Outcome::Ok);
    assert_eq!(probed(&[], ExtraStation::Unserved), Outcome::Overloaded);
    assert_eq!(probed(&[], ExtraStation::HungUp), Outcome::Degraded);
    assert_eq!(probed(&[("reports", 0.0), ("alive", 0.0)], ExtraStation::Unserved), Outcome::Overloaded);
}

#[test]
fn incidents_are_described_in_the_reason() {
    let incident = Incident {
        what: ranlab_sdran_lab::SouthboundTrouble::StoppedReading,
        at_s: 12.3,
        for_s: 10.0,
        over: true,
        connections: 2,
    };
    let report = load(&[]);
    let none = Report::default();
    let mut recorder = Recorder::default();
    let incidents = vec![incident];
    let seen = WindowObservation {
        nodes: 2.0,
        load: &report,
        controller: &none,
        told: ControllerCounters::Nothing,
        incidents,
        radios: Vec::new(),
    };
    assert_eq!(seen.record(&mut recorder, None), Ok(Outcome::Degraded));
    let reason = recorder.finish().reason;
    assert_eq!(reason, "the controller stopped reading at 12.3 s, for 10.0 s (2 connections)");
}

#[test]
fn overload_symptoms_come_from_the_controller() {
    assert_eq!(of_controller(&[]), Outcome::Ok);
    assert_eq!(of_controller(&[("dropped", 3.0)]), Outcome::Overloaded);
    assert_eq!(of_controller(&[("declared_dead", 1.0)]), Outcome::Overloaded);
    // Delayed applications and leaked memory are symptoms, but do not change the outcome.
    let but = [("throttled", 3_000.0), ("leaked_bytes", 2e6)];
    let (outcome, metrics) = judged(&load(&[]), &reference(&but), ControllerCounters::Reference);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert_eq!((metrics["overload_starves"], metrics["overload_memory_grows"]), (1.0, 1.0));
    assert_eq!((metrics["leaked_mb"], metrics["ingested_ratio"]), (2.0, 1.0));
    assert_eq!((metrics["rx_messages_per_s"], metrics["tool.send_delay_us_p99"]), (10.0, 70.0));
}

#[test]
fn missing_counters_are_errors_except_over_e2() {
    let numbers = ["alive", "ues", "sent", "sent_bytes", "reports", "dropped", "skipped", "reconnects"];
    let all = load(&[]).numbers;
    let numbers = numbers.map(|name| (name.to_owned(), all[name])).into();
    let distributions = [("lateness_us".to_owned(), vec![(10, 990), (500, 10)])].into();
    let e2 = Report { wall_s: 2.0, numbers, distributions, ..Report::default() };
    let mut ric = Report::default();
    for (name, value) in [("processed", 20.0), ("lost", 0.0), ("ues", 8.0)] {
        ric.numbers.insert(name.to_owned(), value);
    }
    let (outcome, metrics) = judged(&e2, &ric, ControllerCounters::Ric);
    assert_eq!(outcome, Ok(Outcome::Ok));
    assert_eq!(metrics["tool.send_delay_us_p99"], 10.0);
    assert!(!metrics.contains_key("unread_kb") && !metrics.contains_key("leaked_mb"));
    ric.numbers.insert("lost".to_owned(), 2.0);
    assert_eq!(judged(&e2, &ric, ControllerCounters::Ric).0, Ok(Outcome::Overloaded));
    let error = judged(&e2, &reference(&[]), ControllerCounters::Reference).0.unwrap_err().to_string();
    assert!(error.contains("no `served`"), "{error}");
}

#[test]
fn unserved_base_station_is_recorded_with_the_timeout() {
    let mut recorder = Recorder::default();
    assert!(ExtraStation::Unserved.record(&mut recorder, Duration::from_secs(3)).is_some());
    assert_eq!(recorder.finish().metrics["init_delay_ms"], 3_000.0);
    let mut recorder = Recorder::default();
    assert!(ExtraStation::Served(9e3, 4e3).record(&mut recorder, Duration::from_secs(3)).is_none());
    let metrics = recorder.finish().metrics;
    assert_eq!((metrics["init_delay_ms"], metrics["init_requests_ms"]), (9.0, 4.0));
}

#[test]
fn every_metric_is_declared() {
    let (_, metrics) = judged(&load(&[]), &reference(&[]), ControllerCounters::Reference);
    let declared = super::metrics();
    for name in metrics.keys() {
        assert!(declared.iter().any(|metric| metric.name == *name), "{name}");
    }
}

#[test]
fn controls_and_slices_are_counted_at_radios() {
    let radio = |first: f64, second: f64| RadioMeter {
        seconds: 2.0,
        real_time_factor: 3.0,
        prb_use: 0.5,
        ues: vec![ranlab_ran::radio::UeMeter { ue: 1, bytes: 1_000_000, prbs: 1, ..Default::default() }],
        samples: vec![ranlab_ran::radio::Sample {
            slices: [("0".to_owned(), first), ("1".to_owned(), second)].into(),
            ..Default::default()
        }],
        ..RadioMeter::default()
    };
    let numbers =
        [("triggers", 2_000.0), ("decisions", 1_800.0), ("refused_commands", 200.0), ("handovers", 20.0)];
    let load = load(&numbers);
    let controller = reference(&[]);
    let mut recorder = Recorder::default();
    let radios = vec![radio(6.0, 2.0), radio(1.0, 1.0)];
    let incidents = Vec::new();
    let seen = WindowObservation {
        nodes: 2.0,
        load: &load,
        controller: &controller,
        told: ControllerCounters::Reference,
        incidents,
        radios,
    };
    assert_eq!(seen.record(&mut recorder, None).unwrap(), Outcome::Ok);
    let metrics = recorder.finish().metrics;
    for (name, value) in [
        ("triggers_per_s", 1_000.0),
        ("decisions_per_s", 900.0),
        ("decided_ratio", 0.9),
        ("commands_refused_per_s", 100.0),
        ("handovers_per_s", 10.0),
        ("total_mbps", 8.0),
        ("slice0_share", 0.7),
        ("real_time_factor", 3.0),
    ] {
        assert!((metrics[name] - value).abs() < 1e-9, "{name}: {}", metrics[name]);
    }
    let slow = RadioMeter { real_time_factor: 0.9, ..radio(1.0, 1.0) };
    let seen = WindowObservation { radios: vec![slow], ..seen };
    assert_eq!(seen.record(&mut Recorder::default(), None).unwrap(), Outcome::Degraded);
}
