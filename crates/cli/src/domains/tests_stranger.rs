//! Third-party systems under test, over all rigs.

use std::time::Duration;

use ranlab_campaign::metric::{Better, Metric, MetricKind};
use ranlab_campaign::plan::Point;
use ranlab_campaign::record::Recording;
use ranlab_campaign::rig::{RepeatTime, Rig, RigDescription};
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_lab::worker::Stopped;
use ranlab_lab::{Commands, ProgramComponent, RigContext, WorkerLocation};

use ranlab_campaign::plan::Plan;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Outcome, RigError, Run};
use ranlab_campaign::value::Value;
use ranlab_lab::experiment::fake::{self, FakeBehaviour, Log};
use ranlab_lab::experiment::harness::{Deployment, Experiment, RunningExperiment, Window};
use ranlab_lab::experiment::keys;
use ranlab_lab::experiment::profile::{PeerError, SystemProfile, names};
use ranlab_lab::experiment::third_party::{STOPPED_S, admit, commands, said};
use ranlab_lab::{AnyComponent, As, Each};
use ranlab_sdran_lab::{Protocol, SdranNames};

/// Experiment that only starts a program, either for each repeat or once.
struct Program(Each);

impl Experiment for Program {
    fn describe(&self) -> RigDescription {
        let metrics = vec![Metric::new(STOPPED_S, "s", MetricKind::Scalar, Better::Lower, "of the tests")];
        RigDescription {
            name: "program".to_owned(),
            aliases: Vec::new(),
            comment: "of the tests".to_owned(),
            keys: vec![keys::place("sut.at", "the system")],
            metrics,
            needs: Vec::new(),
            set_up: Duration::ZERO,
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: "",
        }
    }

    fn bring_up(&self, _run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        let run = Commands { start: vec!["strange".to_owned()], each: self.0, ..Commands::default() };
        let part = ProgramComponent { name: "strange".to_owned(), run, ..ProgramComponent::default() };
        stage.sut("system", "sut.at", AnyComponent::from(part)).map(drop)
    }

    fn record(&self, _: &Run<'_>, _: &Window<'_>, _: &mut Recorder) -> Result<Outcome, RigError> {
        Ok(Outcome::Ok)
    }
}

fn rig(each: Each, commands: bool, acts: FakeBehaviour) -> (RunningExperiment<Program>, Point, Log) {
    let log = Log::default();
    let lab = RigContext { commands, ..RigContext::new("no-such-program") };
    let rig = RunningExperiment::new(&lab, Program(each));
    let point = fake::point(&rig, &[("sut.at", Value::Text(fake::worker("system", acts, &log)))]);
    (rig, point, log)
}

fn asked(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

#[test]
fn program_lifetime_follows_its_profile() {
    let (mut rig, point, log) = rig(Each::Campaign, true, FakeBehaviour::default());
    let run = fake::run(&point);
    for _ in 0..3 {
        rig.prepare(&run).unwrap();
        rig.tear_down();
    }
    assert_eq!(asked(&log), ["system start", "system reset", "system reset"]);
    drop(rig);
    assert_eq!(asked(&log), ["system stop"]);

    let (mut rig, point, log) = self::rig(Each::Repeat, true, FakeBehaviour::default());
    for _ in 0..2 {
        rig.prepare(&fake::run(&point)).unwrap();
        rig.tear_down();
    }
    assert_eq!(asked(&log), ["system start", "system stop", "system start", "system stop"]);
}

#[test]
fn commands_need_permission() {
    let (mut rig, point, log) = rig(Each::Repeat, false, FakeBehaviour::default());
    let error = rig.prepare(&fake::run(&point)).unwrap_err();
    assert!(matches!(&error, RigError::Environment(why) if why.contains("--allow-commands")), "{error}");
    assert!(!asked(&log).contains(&"system start".to_owned()));
}

#[test]
fn stopped_program_is_reported_with_name_and_time() {
    let stop = Stopped { who: "strange (python3, process 7)".to_owned(), from_s: 0.51, seconds: 1.25 };
    for (stops, outcome) in [(vec![stop], Outcome::Degraded), (Vec::new(), Outcome::Ok)] {
        let mut report = fake::report(0.5, 1.0, &[]);
        report.stops = Some(stops);
        let (mut rig, point, _) =
            rig(Each::Repeat, true, FakeBehaviour { report, ..FakeBehaviour::default() });
        let run = fake::run(&point);
        rig.prepare(&run).unwrap();
        let mut recorder = Recorder::default();
        assert_eq!(rig.measure(&run, &mut recorder), Ok(outcome));
        let Recording { metrics, reason, .. } = recorder.finish();
        assert_eq!(metrics[STOPPED_S] > 0.0, outcome == Outcome::Degraded);
        assert!(
            outcome == Outcome::Ok
                || reason
                    .contains("process 7) was stopped by a signal for 1.2 s, from 0.51 s into the window"),
            "{reason}"
        );
    }
}

#[test]
fn warning_line_degrades_the_repeat() {
    for (warnings, outcome) in
        [(vec!["strange printed 3 lines".to_owned()], Outcome::Degraded), (Vec::new(), Outcome::Ok)]
    {
        let mut report = fake::report(0.5, 1.0, &[]);
        report.warnings = warnings;
        let (mut rig, point, _) =
            rig(Each::Repeat, true, FakeBehaviour { report, ..FakeBehaviour::default() });
        let run = fake::run(&point);
        rig.prepare(&run).unwrap();
        let mut recorder = Recorder::default();
        assert_eq!(rig.measure(&run, &mut recorder), Ok(outcome));
        assert_eq!(recorder.finish().reason.contains("printed 3 lines"), outcome == Outcome::Degraded);
    }
}

#[test]
fn tcp_worker_rejects_commands() {
    let place: WorkerLocation = fake::real(super::REGISTRY).parse().unwrap();
    let run = Commands { start: vec!["true".to_owned()], ..Commands::default() };
    let part = AnyComponent::from(ProgramComponent { run, ..ProgramComponent::default() });
    let stop = ranlab_campaign::rig::Stop::never();
    let worker = ranlab_lab::worker::Worker::start(&RigContext::new("x"), &place, "system", part, &stop);
    let error = worker.err().unwrap().to_string();
    assert!(error.contains("`start` names a resource of the worker's machine"), "{error}");
}

/// Returns the commands of a scenario in which `rig` measures the profile `sut`.
fn planned(rig: &str, sut: &str) -> Result<Vec<String>, PeerError> {
    let rigs = super::descriptions(&RigContext::new("x"));
    let text = format!("title = 't'\nrig = '{rig}'\n[sut]\n{sut}\n");
    let scenario = Scenario::parse(&text, "t.toml", &Overrides::default(), &rigs).unwrap();
    let description = rigs.iter().find(|description| description.is(rig)).unwrap();
    let commands = commands(&Plan::new(&scenario, description))?;
    Ok(commands.iter().map(ToString::to_string).collect())
}

#[test]
fn rigs_show_the_commands_of_profiles() {
    for (rig, sut) in [
        ("sd-ran", "type = 'external'\npeer = 'flexran-rtc'\nfill = ['folder=/x']"),
        ("e2-statistics", "type = 'external'\npeer = 'flexric'\nfill = ['program=/x']"),
        ("e2-rtt", "type = 'external'\npeer = 'flexric'\nfill = ['program=/x']"),
        ("upf", "design = 'external'\npeer = 'open5gs'\nfill = ['program=/x', 'config=/y']"),
    ] {
        let all = planned(rig, sut).unwrap();
        assert!(
            all[0].contains("at local: `start` before each repeat: [")
                && all[1..].iter().all(|command| command.contains("at local: `ready` ")),
            "{rig}: {all:?}"
        );
        assert_eq!(planned(rig, &format!("{sut}\nrun = false")).unwrap(), [""; 0], "{rig}");
        let error = planned(rig, &format!("{sut}\nat = 'tcp://h:1'")).unwrap_err();
        assert!(matches!(error, PeerError::OverTcp { .. }), "{rig}: {error}");
    }
    let error = planned("sd-ran", "type = 'external'\npeer = 'flexran-rtc'").unwrap_err();
    assert!(error.to_string().contains("needs `folder`"), "{error}");
}

#[test]
fn rig_without_third_party_support_gives_a_reason() {
    for (name, reason) in [
        ("pipeline", "`sut.peer`: no profile can be measured by this rig: "),
        ("xhaul", "`sut.peer` ranlab: its profile has no table [vbbu]"),
    ] {
        let rig = super::by_name(&RigContext::new("x"), name).unwrap();
        let mut point = fake::point(&*rig, &[("sut.peer", "ranlab".into())]);
        // The tier `live` runs no programs of a profile.
        point.settings.insert("sut.tier".to_owned(), "live".into());
        let why = rig.preview(&point.settings).unwrap().unwrap_err();
        assert!(why.contains(reason), "{name}: {why}");
    }
}

#[test]
fn vbbu_commands_are_shown_and_need_permission() {
    let profile = format!("{}/../../peers/vbbu/profile.toml", env!("CARGO_MANIFEST_DIR"));
    let of = |at: &str| planned("xhaul", &format!("tier = 'live'\npeer = '{profile}'{at}"));
    let all = of("").unwrap();
    let begins = |index: usize, name: &str| {
        all[index].contains(&format!(
            "at local: `{name}` before each repeat, in its node's namespace: [\"python3\""
        ))
    };
    assert!(all.len() == 2 && begins(0, "cu") && begins(1, "du"), "{all:?}");
    assert!(matches!(of("\nat = 'tcp://h:1'"), Err(PeerError::OverTcp { .. })));
    let own = ranlab_xhaul_lab::live::VbbuPart::default();
    let part =
        ranlab_xhaul_lab::XhaulComponent { vbbu: Some(ranlab_lab::JsonField(own)), ..Default::default() };
    let mut part = AnyComponent::from(part);
    let lab = |commands| RigContext { commands, ..RigContext::new("x") };
    assert!(
        admit(&mut part, &lab(false), &WorkerLocation::Local)
            .unwrap_err()
            .to_string()
            .contains("--allow-commands")
    );
    assert_eq!(admit(&mut part, &lab(true), &WorkerLocation::Local), Ok(false));
}

#[test]
fn profile_values_apply_by_default() {
    let address = |default: &str, set: &[(&str, Value)]| {
        let settings = set.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
        let point = Point { index: 0, axes: Vec::new(), settings };
        said(&fake::run(&point), "sut.n4", default, |peer| &peer.addresses.n4)
    };
    let open5gs = ("sut.peer", Value::from("open5gs"));
    let running = ("sut.run", Value::Bool(false));
    let at = |text: &str| ("sut.n4", Value::from(text));
    let default = "127.8.0.8:8805";
    assert_eq!(address(default, &[at(default)]).unwrap(), default);
    let of_profile = address(default, &[at(default), open5gs.clone(), running.clone()]);
    assert_eq!(of_profile.unwrap(), "127.0.0.7:8805");
    assert_eq!(address(default, &[at("10.0.0.1:8805"), open5gs, running]).unwrap(), "10.0.0.1:8805");
    let error = address("", &[]).unwrap_err().to_string();
    assert!(error.contains("`sut.n4` is not set, and no profile sets it"), "{error}");
}

#[test]
fn base_station_protocols_of_profiles_are_known() {
    for name in names() {
        let protocol = SystemProfile::load(name).unwrap().dialect.southbound;
        assert!(
            protocol.is_empty()
                || <SdranNames as As<Protocol>>::from_value(&protocol.as_str().into()).is_ok()
        );
    }
}
