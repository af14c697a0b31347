use super::*;
use crate::load::{LoadReport, N3Io};
use crate::{BitRate, Cpus, LoadArrivals, LoadMode, PacketRate, UpfDesign};
use ranlab_campaign::rig::Outcome;
use ranlab_campaign::rig::Rig;
use ranlab_campaign::schema::Presence;
use ranlab_campaign::value::Value;
use ranlab_lab::experiment::fake::{self, FakeBehaviour, Log};
use ranlab_lab::experiment::harness::RunningExperiment;
use ranlab_lab::worker::Report;
use ranlab_lab::{AttachComponent, OVER, RigContext};
use ranlab_upf::n4::Dialect;
use std::collections::{BTreeMap, BTreeSet};

fn rig() -> RunningExperiment<Upf> {
    RunningExperiment::new(&RigContext::new("no-such-program"), Upf)
}

#[test]
fn every_key_is_described_and_metric_names_are_unique() {
    let description = Upf.describe();
    let names = description.metric_names();
    let once: BTreeSet<&String> = names.iter().collect();
    assert_eq!(once.len(), names.len());
    assert!(description.keys.iter().all(|key| !key.comment.is_empty()));
}

/// Without settings, the defaults of the command-line flags apply. The rig only adds addresses.
#[test]
fn default_point_equals_command_line_defaults() {
    let point = fake::point(&rig(), &[]);
    let run = fake::run(&point);
    let part = upf(&run, 0).unwrap().get::<UpfComponent>().cloned().unwrap();
    let expected = UpfComponent {
        n4: "127.8.0.8:8805".parse().unwrap(),
        n3: "127.8.0.8:2152".parse().unwrap(),
        n6: "udp://127.8.0.8:2153,127.8.0.10:2153".parse().unwrap(),
        ..UpfComponent::default()
    };
    assert_eq!(part, expected);
    assert_eq!(UpfLoadComponent::read(&run, "load").unwrap(), UpfLoadComponent::default());
}

#[test]
fn settings_reach_both_components() {
    let set = [
        ("sut.design", "software".into()),
        ("sut.workers", 3.into()),
        ("sut.pin", "0,0".into()),
        ("sut.install", Value::from_text("500us")),
        ("sut.n6", "tun://upf0".into()),
        ("load.mode", "qos".into()),
        ("load.arrivals", "poisson".into()),
        ("load.mbr_mbps", Value::Float(10.0)),
        ("load.offered_mbps", Value::Float(12.5)),
        ("load.uplink", Value::Float(2_000.0)),
        ("load.window", Value::Float(15.6)),
        ("load.io", "af-xdp:n3".into()),
        ("load.ue", "10.45.0.2".into()),
    ];
    let point = fake::point(&rig(), &set);
    let run = fake::run(&point);
    let part = upf(&run, 0).unwrap().get::<UpfComponent>().cloned().unwrap();
    assert_eq!((part.design, part.workers, part.pin), (UpfDesign::Software, 3, Cpus(vec![0, 0])));
    assert_eq!((part.install, part.n6), (Duration::from_micros(500), N6::Tun("upf0".to_owned())));
    let part = UpfLoadComponent::read(&run, "load").unwrap();
    assert_eq!((part.mode, part.arrivals), (LoadMode::Qos, LoadArrivals::Poisson));
    assert_eq!((part.mbr_mbps, part.offered_mbps), (Some(BitRate(1e7)), vec![BitRate(12.5e6)]));
    assert_eq!(
        (part.uplink, part.window),
        (Some(PacketRate(2_000.0)), 16),
        "a value chosen by a search is rounded"
    );
    assert_eq!(part.io, N3Io::AfXdp { interface: Some("n3".to_owned()), native: false, zero_copy: false });
    assert_eq!(part.ue.to_string(), "10.45.0.2");
    let wrong = fake::point(&rig(), &[("sut.n4", "here".into())]);
    let error = upf(&fake::run(&wrong), 0).unwrap_err().to_string();
    assert!(error.contains("`n4`") && error.contains("here"), "{error}");
}

#[test]
fn repeats_lose_different_messages() {
    let seed_of = |loss: i64, repeat_seed| {
        let point = fake::point(&rig(), &[("sut.loss_permille", loss.into())]);
        let run = Run::new(&point, 0, repeat_seed, Duration::from_millis(10));
        let part = upf(&run, 0).unwrap().get::<UpfComponent>().cloned().unwrap();
        part.seed
    };
    assert_eq!([seed_of(20, 7), seed_of(20, 8)], [7, 8]);
    // Without losses, all repeats use the same seed, so that a search does not restart the UPF.
    assert_eq!(seed_of(0, 7), seed_of(0, 8));
}

#[test]
fn external_upf_is_metered_by_pid_name_or_cgroup() {
    let external = |set: &[(&str, Value)]| {
        let set: Vec<_> =
            [("sut.design", Value::from(EXTERNAL))].into_iter().chain(set.iter().cloned()).collect();
        let point = fake::point(&rig(), &set);
        upf(&fake::run(&point), 0).unwrap().get::<AttachComponent>().cloned().unwrap()
    };
    assert_eq!(external(&[]), AttachComponent::default());
    assert_eq!(
        external(&[("sut.pid", 7.into())]),
        AttachComponent { pid: Some(7), ..AttachComponent::default() }
    );
    let name = "open5gs-upfd".to_owned();
    assert_eq!(
        external(&[("sut.command", name.as_str().into())]),
        AttachComponent { command: Some(name), ..AttachComponent::default() }
    );
    let path = "docker/x".to_owned();
    assert_eq!(
        external(&[("sut.cgroup", path.as_str().into())]),
        AttachComponent { cgroup: Some(path), ..AttachComponent::default() }
    );
}

/// Measures a load that has ended with this report, and a UPF. Both run behind workers over TCP.
fn measured(
    report: LoadReport,
    dies: bool,
) -> (Result<Outcome, RigError>, BTreeMap<String, f64>, Vec<String>) {
    let load_report = UpfLoadReport { upf_cpu_s: None, remarks: Vec::new(), load: report };
    let detail = serde_json::to_value(load_report).unwrap();
    let log = Log::default();
    let load = FakeBehaviour {
        look: [(OVER, 1.0)].into(),
        report: Report { detail, ..fake::report(0.25, 1.0, &[]) },
        ..FakeBehaviour::default()
    };
    let system = FakeBehaviour { dies, report: fake::report(0.5, 1.0, &[]), ..FakeBehaviour::default() };
    let places = [fake::worker("UPF", system, &log), fake::worker("load", load, &log)];
    let [at, load_at] = places.map(Value::Text);
    let set = [("sut.at", at), ("load.at", load_at), ("host.other_at_most", Value::Float(1.0))];
    let mut rig = rig();
    let point = fake::point(&rig, &set);
    let run = fake::run(&point);
    let mut recorder = Recorder::default();
    let outcome = rig.measure(&run, &mut recorder);
    drop(rig);
    let requests = log.lock().unwrap().clone();
    (outcome, recorder.finish().metrics, requests)
}

fn sound() -> LoadReport {
    let mut report = LoadReport { on_schedule: true, ..LoadReport::default() };
    (report.control.started, report.control.completed) = (100, 100);
    report
}

#[test]
fn remote_load_ends_window_and_reports() {
    let (outcome, metrics, requests) = measured(sound(), false);
    assert_eq!(outcome, Ok(Outcome::Ok));
    // The UPF's worker measured the CPU time of the UPF, because the load generator could not.
    assert_eq!(metrics["sut.cpu_us_per_session"], 0.5e6 / 100.0);
    assert_eq!(metrics["requests_unaccounted"], 0.0);
    let expected = ["UPF start", "load start", "UPF begin", "load begin", "load end", "UPF end"];
    assert_eq!(requests[..6], expected, "{requests:?}");
}

#[test]
fn crash_of_upf_is_reported_as_failure() {
    let died = LoadReport { upf_died_s: Some(1.5), ..sound() };
    let error = measured(died, false).0.unwrap_err();
    assert_eq!(error, RigError::Sut("the UPF's process ended 1.50 s into the run".to_owned()));
    assert_eq!(measured(sound(), true).0, Err(RigError::Sut("the UPF has ended".to_owned())));
}

#[test]
fn no_key_is_required() {
    let point = fake::point(&rig(), &[]);
    let described = Upf.describe();
    let required: Vec<_> = described.keys.iter().filter(|key| key.presence == Presence::Required).collect();
    assert!(required.is_empty(), "{required:?}");
    let load = UpfLoadComponent::read(&fake::run(&point), "load").unwrap();
    assert_eq!(load.dialect, Dialect::STRICT_REL17);
}

/// Two concurrent campaigns on one machine use different addresses. Addresses in a scenario stay unchanged.
#[test]
fn campaigns_have_separate_loopback_addresses() {
    let addresses = |set: &[(&str, Value)], own: u8| {
        let point = fake::point(&rig(), set);
        let run = fake::run(&point);
        let load = load(&run, own).unwrap();
        let upf = upf(&run, own).unwrap();
        let addresses =
            |part: &UpfComponent| [part.n4.to_string(), part.n3.to_string(), part.n6.to_string()].to_vec();
        let upf = upf.get::<UpfComponent>().map(addresses).unwrap_or_default();
        let text = |address: Option<SocketAddr>| address.map_or_else(String::new, |it| it.to_string());
        let [smf, gnb] = [load.smf, load.gnb].map(text);
        let own = [load.n4.to_string(), load.n3.to_string(), load.n6.to_string(), smf, gnb];
        [upf, own.to_vec()].concat()
    };
    let mut used = BTreeSet::new();
    for own in 0..CAMPAIGNS_MAX {
        let all = addresses(&[], own);
        assert_eq!((&all[0], &all[1]), (&all[3], &all[4]), "the load connects to the addresses of the UPF");
        assert!(all[..3].iter().chain(&all[6..]).all(|address| used.insert(address.clone())), "{all:?}");
    }
    assert_eq!(
        addresses(&[], 3)[5..],
        ["udp://127.8.3.10:2153,127.8.3.8:2153", "127.9.3.1:8805", "127.10.12.1:2152"]
    );
    let explicit = [
        ("sut.n4", Value::from("10.3.0.2:8805")),
        ("sut.n3", "10.3.0.2:2152".into()),
        ("load.network", "10.3.0.1:2153".into()),
        ("load.smf", "10.3.0.1:8805".into()),
        ("load.gnb", "10.3.0.11:2152".into()),
    ];
    assert_eq!(addresses(&explicit, 3), addresses(&explicit, 0));
    let external = [("sut.design", EXTERNAL.into())];
    assert_eq!(addresses(&external, 3), addresses(&external, 0));
    // The defaults are those of `ranlab load upf`: addresses of the load's machine, and no data network.
    assert_eq!(addresses(&external, 0)[2..], ["none", "", ""]);
}
