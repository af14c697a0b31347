//! Tests of rig `radio` in virtual time: FlexRIC's figures from the scenarios of live networks, reproducibility across processes, paired
//! runs, and fault injection.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ranlab_campaign::export::{Cell, Table};
use ranlab_campaign::plan::{Plan, Point};
use ranlab_campaign::rig::{Outcome, RigError, Run};
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_campaign::value::Value;
use ranlab_e2_lab::rigs::virtual_time::ablation::{Difference, EffectVerdict, SeedPair, differences, pair};
use ranlab_e2_lab::rigs::virtual_time::{self, Omitted, RepeatOptions, RepeatResult, record};
use ranlab_lab::RigContext;

const SECOND: Duration = Duration::from_secs(1);

/// Returns the points of a scenario, and the duration of its windows.
fn points(file: &str, sets: &[&str]) -> (Vec<Point>, Duration) {
    let rigs = ranlab_cli::domains::descriptions(&RigContext::new("ranlab"));
    let sets = sets.iter().map(|&set| set.to_owned()).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(file);
    let scenario = Scenario::load(&file, &Overrides { sets, quick: false }, &rigs)
        .unwrap_or_else(|errors| panic!("{errors}"));
    let rig = rigs.iter().find(|rig| rig.is(&scenario.rig)).unwrap();
    (Plan::new(&scenario, rig).points, scenario.measure.windows().1)
}

fn passed(point: &Point, seed: u64, window: Duration) -> RepeatResult {
    let run = Run::new(point, 0, seed, window);
    virtual_time::run(&run, RepeatOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a point with a fading cell for three UEs under the slicing controller, whose xApp sends no requests. `sets` are further
/// settings as `PATH=JSON`.
fn cell(sets: &[&str]) -> Point {
    let ours =
        ["load.channel=\"sinr:12\"", "load.flows=[\"udp:80\", \"1=voip\"]", "load.stay=[]", "xapp.steps=[]"];
    let mut point = points("flexric/fig13a.toml", &[]).0.remove(0);
    for (path, value) in ours.iter().chain(sets).map(|set| set.split_once('=').unwrap()) {
        let text = |json: &serde_json::Value| Value::Text(json.as_str().unwrap().to_owned());
        let value = match serde_json::from_str(value).unwrap() {
            serde_json::Value::Array(list) => Value::List(list.iter().map(text).collect()),
            one => text(&one),
        };
        point.settings.insert(path.to_owned(), value);
    }
    point
}

#[test]
fn figures_11_and_13_use_the_live_scenarios() {
    let (a, window) = points("flexric/fig13a.toml", &[]);
    let white = passed(&a[0], 1, window);
    let shares: Vec<_> = (1..=4).map(|n| white.recording.metrics[&format!("phase{n}_ue1_share")]).collect();
    for (share, published) in shares.iter().zip([0.5, 1.0 / 3.0, 0.5, 0.66]) {
        assert!((share - published).abs() <= 0.02, "{shares:?}");
    }
    assert_eq!((white.outcome, white.passed), (Outcome::Ok, window));
    assert_eq!(white.recording.series["ue1_mbps"].len(), 80);
    let (b, window) = points("flexric/fig13b.toml", &[]);
    let gains: Vec<_> =
        b.iter().map(|point| passed(point, 1, window).recording.metrics["ue1_gain"]).collect();
    assert!((0.45..0.55).contains(&gains[0]) && gains[1].abs() < 0.05, "{gains:?}");
    let (c, window) = points("flexric/fig11.toml", &[]);
    let rtt = |point: &Point| passed(point, 1, window).recording.metrics["voip_rtt_us_p50"];
    let transparent = rtt(&c[0]);
    let freed = rtt(&c[1]);
    assert!(transparent > 100_000.0 && freed < transparent / 4.0, "{transparent} us and {freed} us");
}

/// Environment variable that makes a child process of this test print its digests.
const CHILD: &str = "RANLAB_VIRTUAL_DIGESTS";

/// Returns the digests of a run with faults and of a paired run.
fn digests(seed: u64) -> Vec<u64> {
    let faulty = cell(&["sim.faults=[\"random:6@1s-8s\"]"]);
    let slices = cell(&["xapp.steps=[\"1s:1=0.6+2=0.4:1=1+2=2\"]"]);
    let run = Run::new(&slices, 0, seed, SECOND * 3);
    let twin = pair(&run, Omitted::Xapp, false).unwrap();
    vec![passed(&faulty, seed, SECOND * 10).digest, twin.with.digest, twin.without.digest]
}

#[test]
fn same_seed_gives_same_digest_in_any_process() {
    if std::env::var_os(CHILD).is_some() {
        println!("digests {:?}.", digests(7));
        return;
    }
    // Each process has different seeds for its hash maps.
    let child = || {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "virtual_time::same_seed_gives_same_digest_in_any_process", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let here = digests(7);
    let line = format!("digests {here:?}.");
    for _ in 0..2 {
        let there = child();
        assert!(there.contains(&line), "{line} is not in {there}");
    }
    assert!(here.iter().zip(digests(8)).all(|(seven, eight)| *seven != eight), "{here:?}");
    assert_ne!(here[1], here[2]);
}

fn twin(point: &Point, without: Omitted, seeds: u64, window: Duration) -> Vec<Difference> {
    let pairs: Vec<SeedPair> =
        (1..=seeds).map(|seed| pair(&Run::new(point, 0, seed, window), without, false).unwrap()).collect();
    differences(&pairs, 0.95)
}

#[test]
fn noop_xapp_has_zero_effect() {
    // The controller observes three UEs with fading, one of which arrives later. Its xApp never sends a request.
    for (without, sets) in [
        (Omitted::Controller, &["xapp.type=\"none\""][..]),
        (Omitted::Xapp, &[][..]),
        (Omitted::Controller, &[][..]),
        (Omitted::Controller, &["sim.faults=[\"crash:agent@1s-2s\", \"cut:agent@3s\"]"][..]),
    ] {
        let sets = [sets, &["load.stay=[\"3@2s\"]"]].concat();
        let all = twin(&cell(&sets), without, 2, SECOND * 5);
        assert!(all.iter().filter(|it| it.of.kpi == "mbps" && it.with > 0.1).count() == 3, "{all:?}");
        for difference in &all {
            assert_eq!(difference.verdict, EffectVerdict::Same, "{difference:?}");
            assert!(difference.differences == [0.0, 0.0], "{difference:?}");
        }
    }
}

#[test]
fn paired_run_shows_gains_and_losses_of_an_xapp() {
    // The first UE receives a slice of 60 %. Without the slice it has a third.
    let slices = cell(&["xapp.steps=[\"1s:1=0.6+2=0.4:1=1+2=2+3=2\"]"]);
    let all = twin(&slices, Omitted::Xapp, 3, SECOND * 6);
    let effects: BTreeMap<_, _> =
        all.iter().filter(|it| it.of.kpi == "mbps").map(|it| (it.of.ue, (it.verdict, it))).collect();
    assert_eq!(
        [1, 2, 3].map(|ue| effects[&ue].0),
        [EffectVerdict::Gains, EffectVerdict::Loses, EffectVerdict::Loses],
        "{all:?}"
    );
    // Slices restrict the scheduler's choice among channels, so the other UEs lose more than the first one
    // gains.
    let sum: f64 = effects.values().map(|(_, it)| it.summary.mean).sum();
    let gain = effects[&1].1;
    assert!(gain.summary.mean > 2.0 && sum < 0.0, "{sum}: {all:?}");
    // Both runs use the same random numbers, so a favourable seed is favourable in both.
    assert!(gain.correlation.unwrap() > 0.9, "{gain:?}");
}

#[test]
fn e42_xapp_receives_all_reports_and_has_zero_effect() {
    let (all, window) = points("sim/watched.toml", &[]);
    let with = passed(&all[0], 1, window).recording;
    // The xApp subscribes to four models, with ten reports per second each. Each hop (E2 and E42) takes `sim.latency` (100 us).
    assert!((396.0..=404.0).contains(&with.metrics["xapp_indications"]), "{:?}", with.metrics);
    assert_eq!(with.metrics["xapp_lost"], 0.0);
    let age = |name: &str| with.metrics[&format!("xapp_age_us_{name}")];
    assert!(age("p50") >= 190.0 && age("p99") <= 10_300.0, "{:?}", with.metrics);
    let difference = twin(&all[0], Omitted::Xapp, 2, SECOND * 3);
    assert!(
        difference.iter().filter(|it| it.of.kpi == "mbps" && it.with > 0.05).count() == 3,
        "{difference:?}"
    );
    assert!(
        difference.iter().all(|it| it.verdict == EffectVerdict::Same && it.differences == [0.0, 0.0]),
        "{difference:?}"
    );
    // A crash of the RIC interrupts the reports to the xApp, which resume after its restart.
    let (faulty, _) = points("sim/watched.toml", &["sim.faults=[\"crash:ric@1s-4s\"]"]);
    let indications = passed(&faulty[0], 1, window).recording.metrics["xapp_indications"];
    assert!((180.0..290.0).contains(&indications), "{indications}");
    // Unsupported combinations are rejected with a reason.
    for (path, value, why) in
        [("sut.type", "slicing", "uses E42"), ("xapp.type", "traffic", "uses a controller's REST API")]
    {
        let mut point = all[0].clone();
        point.settings.insert(path.to_owned(), value.into());
        let error = virtual_time::run(&Run::new(&point, 0, 1, SECOND), RepeatOptions::default()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn controller_of_one_operator_can_be_disabled() {
    let (all, _) = points("flexric/fig15.toml", &["load.channel=sinr:15"]);
    for (point, mode) in all.iter().zip(["dedicated", "shared"]) {
        let of = |name: &str| {
            let without = Omitted::named(name, &point.settings).unwrap();
            let all = twin(point, without, 2, SECOND * 15);
            all.into_iter().filter(|it| it.of.kpi == "mbps").collect::<Vec<_>>()
        };
        // B's controller sends no controls, so it has no effect.
        let b = of("sut.B");
        assert!(
            b.len() == 4 && b.iter().all(|it| it.verdict == EffectVerdict::Same && it.with > 1.0),
            "{mode}: {b:?}"
        );
        // A's controller has the same effect on A's UEs as A's xApp. The UEs of B lose nothing significant.
        let a = of("sut.A");
        let xapp = of("xapp.slice");
        let means = |all: &[Difference]| all.iter().map(|it| it.summary.mean).collect::<Vec<_>>();
        assert_eq!(means(&a), means(&xapp), "{mode}");
        assert!(means(&a)[0] > 0.2 && means(&a)[1] < -0.2, "{mode}: {a:?}");
        let b: f64 = means(&a)[2..].iter().sum();
        let had: f64 = a[2..].iter().map(|it| it.without).sum();
        assert!((b / had).abs() < 0.01, "{mode}: the UEs of operator B change by {b} of {had}: {a:?}");
        // If all controllers are disabled, the operators that share a base station are not separated.
        assert!(of("sut").iter().any(|it| it.verdict != EffectVerdict::Same), "{mode}");
    }
    let why = Omitted::named("sut.C", &all[0].settings).unwrap_err();
    assert!(why.contains("sut, sut.A, sut.B, xapp, xapp.slices"), "{why}");
}

#[test]
fn table_columns_are_documented() {
    let docs = include_str!("../../../../docs/explanation/virtual-time.md");
    for (name, table) in record::Tables::new(4).named() {
        let from = docs.find(&format!("| `{name}.parquet` |")).unwrap();
        let section = docs[from..].split("\n\n").next().unwrap();
        for (column, _) in &table.columns {
            assert!(section.contains(&format!("`{column}`")), "{name}: {column} in\n{section}");
        }
    }
}

/// Returns a column's values in the rows in which another column has this value.
fn where_is(table: &Table, name: &str, other: &str, is: f64) -> Vec<Option<f64>> {
    let column = |name: &str| &table.columns.iter().find(|(own, _)| own == name).unwrap().1;
    let number = |name: &str, row| match column(name).get(row) {
        Some(Cell::Int(number)) => Some(number as f64),
        Some(Cell::Float(number)) => Some(number),
        _ => None,
    };
    let rows = (0..table.rows()).filter(|&row| number(other, row) == Some(is));
    rows.map(|row| number(name, row)).collect()
}

#[test]
fn recorded_controls_and_states_match_the_radio() {
    let slices = cell(&["xapp.steps=[\"2.2s:1=0.6+2=0.4:1=1+2=2+3=2\"]"]);
    let run = Run::new(&slices, 0, 5, SECOND * 6);
    let pair = pair(&run, Omitted::Xapp, true).unwrap();
    let mut tables = record::Tables::new(4);
    tables.take(3, 5, &pair.with, Some(&pair.without));
    let [(_, states), (_, controls)] = tables.named();
    // There are two runs, twelve periods and three UEs.
    assert_eq!(states.rows(), 2 * 12 * 3);
    let mbps = where_is(states, "mbps", "ue", 1.0);
    let mean = |all: &[Option<f64>]| all.iter().flatten().sum::<f64>() / all.len() as f64;
    for (world, passed) in [(&mbps[..12], &pair.with), (&mbps[12..], &pair.without)] {
        let bytes = passed.radios[0].ues[0].bytes;
        assert!((mean(world) - bytes as f64 * 8e-6 / 6.0).abs() < 1e-6, "{world:?}");
    }
    // The xApp sends four requests: one for the slices, and one for each UE. Before the first request, both runs are identical.
    assert_eq!(controls.rows(), 4 * 3);
    assert_eq!(mbps[..4], mbps[12..16]);
    let of = |name: &str| where_is(controls, name, "ue", 1.0);
    let close = |found: Vec<Option<f64>>, expected: f64| {
        assert!(
            found.len() == 4 && found.iter().all(|it| (it.unwrap() - expected).abs() < 1e-9),
            "{found:?}"
        );
    };
    close(of("mbps_before"), mean(&mbps[..4]));
    close(of("mbps_after"), mean(&mbps[5..9]));
    close(of("mbps_without"), mean(&mbps[17..21]));
    assert!(of("mbps_after")[0] > of("mbps_without")[0]);
    let prbs = where_is(states, "prbs", "ue", 1.0);
    close(of("prbs_before"), mean(&prbs[..4]));
    close(of("prbs_after"), mean(&prbs[5..9]));
    close(of("prbs_without"), mean(&prbs[17..21]));
    // A UE with an association is in its slice. The run without the xApp has no slices.
    let slice = where_is(states, "slice", "ue", 1.0);
    assert_eq!((slice[3], slice[4], slice[11], slice[23]), (None, Some(1.0), Some(1.0), None));
    let mut alone = record::Tables::new(4);
    alone.take(0, 5, &pair.with, None);
    assert!(where_is(alone.named()[1].1, "mbps_without", "ue", 1.0).iter().all(Option::is_none));
}

#[test]
fn injected_faults_are_reported_and_recovered() {
    let everything = [
        "crash:ric@1s-2s",
        "vanish:agent@4s-5s",
        "cut:agent@7s",
        "freeze:ric@9s-10s",
        "delay:agent:300ms@11s-12s",
        "slow:agent:500@13s-14s",
        "jump:agent:2s@15s",
        "jump:ric:2s@16s",
    ];
    let faults = format!("sim.faults={everything:?}");
    let point = cell(&[&faults, "xapp.steps=[\"17s:1=0.6+2=0.4:1=1\"]"]);
    let events = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let log = events.clone();
    let witness: virtual_time::EventObserver =
        Box::new(move |at, words| log.borrow_mut().push(format!("{} {words}", at.as_nanos() / 1_000_000)));
    let run = Run::new(&point, 0, 3, SECOND * 32);
    virtual_time::run(&run, RepeatOptions { witness: Some(witness), ..RepeatOptions::default() }).unwrap();
    let events = events.take().join("\n");
    for event in [
        "*** Crash",
        "ric starts",
        "agent loses",
        "*** Cut",
        "*** Freeze",
        "*** Delay",
        "*** Throttle",
        "*** Jump",
        "xapp.slices: PUT /v1/nodes/gnb%20505.01%201/ues/1 {\"slice\":1}",
        "xapp.slices has finished",
    ] {
        assert!(events.contains(event), "no {event:?} in\n{events}");
    }
    assert_eq!(events.matches("agent starts").count(), 2, "{events}");
    // An xApp that sends a request to a crashed controller exits, which ends the repeat.
    let point = cell(&["sim.faults=[\"crash:ric@1s-3s\"]", "xapp.steps=[\"2s:1=1:1=1\"]"]);
    let error = virtual_time::run(&Run::new(&point, 0, 3, SECOND * 4), RepeatOptions::default()).unwrap_err();
    assert!(matches!(&error, RigError::Environment(why) if why.contains("refused")), "{error}");
}

/// Number of seeds. Each seed runs a cell and a controller with random faults.
const SEEDS: u64 = 200;

/// For every seed, all components recover from random faults of all kinds before the end of the run.
#[test]
fn networks_recover_from_random_faults() {
    // There is no xApp, because an xApp that sends a request to a crashed controller exits.
    let point = cell(&["sim.faults=[\"random:8@0s-8s\"]", "load.flows=[\"voip\"]", "xapp.type=\"none\""]);
    let broken = |first: u64| -> Vec<String> {
        let one = |seed| {
            let run = Run::new(&point, 0, seed, Duration::from_secs(8 + 5) + virtual_time::RECOVERY);
            virtual_time::run(&run, RepeatOptions::default())
                .err()
                .map(|error| format!("seed {seed}: {error}"))
        };
        (first..SEEDS).step_by(2).filter_map(one).collect()
    };
    let broken = std::thread::scope(|scope| {
        let other = scope.spawn(|| broken(1));
        [broken(0), other.join().unwrap()].concat()
    });
    assert!(broken.is_empty(), "{} of {SEEDS} seeds:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn unsupported_settings_are_named() {
    let refused = |sets: &[&str]| {
        let run = |point: &Point| virtual_time::run(&Run::new(point, 0, 1, SECOND), RepeatOptions::default());
        run(&cell(sets)).unwrap_err().to_string()
    };
    for place in ["load.at=\"tcp://lab:1\"", "xapp.at=\"ssh://lab\"", "sut.at=\"tcp://lab:1\""] {
        let (path, _) = place.split_once('=').unwrap();
        assert!(refused(&[place]).contains(&format!("`{path}` = ")), "{}", refused(&[place]));
    }
    assert!(refused(&["sim.faults=[\"crash:ue@1s\"]"]).contains("crash:WHO@FROM-UNTIL"));
    assert!(refused(&["sim.faults=[\"cut:agent2@1s\"]"]).contains("agent2, which does not exist"));
    assert!(virtual_time::runs("upf").unwrap_err().contains("\"upf\""));
    assert!(virtual_time::runs("radio").is_ok());
    // A live run rejects keys that only apply to virtual time.
    let lab = RigContext::new("ranlab");
    let rig = ranlab_cli::domains::by_name(&lab, "radio").unwrap();
    let faulty = cell(&["sim.faults=[\"cut:agent@1s\"]"]);
    assert!(rig.preview(&faulty.settings).unwrap().unwrap_err().contains("ranlab sim"));
    assert!(rig.preview(&cell(&[]).settings).is_none());
}

#[test]
fn omitted_component_is_named_as_in_the_scenario() {
    let settings = cell(&[]).settings;
    for (name, without) in [
        ("xapp", Omitted::Xapp),
        ("xapp.slice", Omitted::Xapp),
        ("xapp.slices", Omitted::Xapp),
        ("sut", Omitted::Controller),
        ("sut.slicing", Omitted::Controller),
    ] {
        assert_eq!(Omitted::named(name, &settings), Ok(without));
    }
    let why = Omitted::named("xapp.traffic", &settings).unwrap_err();
    assert!(why.contains("sut, sut.slicing, xapp, xapp.slices"), "{why}");
    let none = cell(&["xapp.type=\"none\""]).settings;
    assert!(Omitted::named("xapp", &none).is_err());
    assert_eq!(settings.get("xapp.type").and_then(Value::text), Some("slices"));
}
