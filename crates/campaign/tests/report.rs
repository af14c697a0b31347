//! Reports of whole campaigns: every form of figure, hostile text, ten thousand points.
#![cfg(all(feature = "store", feature = "report"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::path::{Path, PathBuf};

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::report::{Context, figures, write};
use ranlab_campaign::results::{MemoryJournal, Results};
use ranlab_campaign::rig::{Rig, Stop};
use ranlab_campaign::run::run;
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_campaign::store::{Header, Load, Store};

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name)
}

fn campaign(text: &str) -> Results {
    let rig = MockRig::default();
    let description = rig.describe();
    let rigs = std::slice::from_ref(&description);
    let scenario = match Scenario::parse(text, "t.toml", &Overrides::default(), rigs) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    };
    let plan = Plan::new(&scenario, &description);
    let mut journal = MemoryJournal::default();
    run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
    Results::new(scenario, description.metrics, plan.points, journal.finished)
}

const GALLERY: &str = r#"
title = "What one worker more is worth"
about = "A system that follows a known law, measured as if it were a real one."
rig = "mock"
paper = { work = "nobody", figure = "1" }
[load]
rate = 3000.0
[sweep.axes]
"sut.sigma" = [0.02, 0.1, 0.3]
"load.workers" = [1, 2, 4, 6, 8, 12, 16]
"sut.build" = ["debug", "release"]
[measure]
repeats = 5
[[plot]]
x = "load.workers"
y = "throughput"
group_by = "sut.sigma"
[[plot]]
type = "usl"
x = "load.workers"
y = "throughput"
group_by = "sut.sigma"
[[plot]]
type = "bars"
x = "sut.sigma"
y = "rtt_us_p99"
group_by = "sut.build"
filter = { "load.workers" = 4 }
[[plot]]
type = "box"
x = "load.workers"
y = "throughput"
group_by = "sut.build"
filter = { "sut.sigma" = 0.1 }
[[plot]]
type = "points"
x = "load.workers"
y = "rtt_us_p50"
log = "xy"
group_by = "sut.sigma"
[[plot]]
type = "cdf"
x = "load.workers"
y = "rtt_us"
log = "x"
group_by = "load.workers"
[[plot]]
type = "series"
x = "load.workers"
y = "sut.cpu_cores"
group_by = "load.workers"
filter = { "sut.sigma" = 0.1, "sut.build" = "debug" }
[[plot]]
type = "heat"
x = "load.workers"
y = "sut.sigma"
z = "throughput"
filter = { "sut.build" = "debug" }
[[expect]]
where = { "load.workers" = 16, "sut.sigma" = 0.02 }
metric = "throughput"
value = 9000.0
source = "a paper"
[[expect]]
where = { "load.workers" = 4, "sut.sigma" = 0.1, "sut.build" = "debug" }
metric = "throughput"
value = 5000.0
source = "a paper"
[[expect]]
where = { "sut.sigma" = 0.3 }
metric = "throughput"
along = "load.workers"
shape = "sublinear"
required = true
"#;

#[test]
fn every_form_of_figure_is_drawn_whole() {
    let mut results = campaign(GALLERY);
    results.host = serde_json::json!({"cpu": "mock", "steal": 0.0});
    let context = Context {
        warnings: vec!["The governor is “powersave”; latencies may be longer than they need be.".to_owned()],
        command: "ranlab bench run gallery.toml".to_owned(),
    };
    let written = write(&results, &context, &directory("gallery")).unwrap();
    assert_eq!(written.figures.len(), 16);
    for path in &written.figures {
        let bytes = std::fs::read(path).unwrap();
        if path.extension().is_some_and(|ext| ext == "png") {
            assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 5_000, "{path:?} is empty");
        }
    }
    let page = std::fs::read_to_string(&written.html).unwrap();
    assert_eq!(page.matches("<figure").count(), 8);
    // Self-contained: nothing is fetched.
    for foreign in ["<script", "<link", "<img", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("λ = ") && page.contains("currentColor") && !page.contains("NaN"));
    for figure in figures(&results) {
        assert!(figure.series.iter().all(|series| !series.samples.is_empty()), "{}", figure.title);
    }
    assert_eq!(figures(&results)[0].marks.len(), 2);
}

#[test]
fn what_failed_and_what_is_hostile_is_shown_as_text() {
    let results = campaign(
        "title = \"<script>alert(1)</script>\"\nrig = \"mock\"\n[load]\nfails = \"crash\"\n[sweep.axes]\n\
         \"load.workers\" = [1, 2]\n[measure]\nrepeats = 1\n[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\n",
    );
    let written = write(&results, &Context::default(), &directory("hostile")).unwrap();
    let page = std::fs::read_to_string(&written.html).unwrap();
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    assert!(page.contains("Nothing to show") && page.contains("exited with signal 11"));
}

#[test]
fn ten_thousand_points_are_stored_and_reported() {
    let list = |from: u32| (from..from + 100).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "title = \"large\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [{}]\n\"load.requests\" = [{}]\n[measure]\n\
         repeats = 1\n[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\ngroup_by = \"load.requests\"\n",
        list(1),
        list(1)
    );
    let description = MockRig::default().describe();
    let rigs = std::slice::from_ref(&description);
    let scenario = Scenario::parse(&text, "t.toml", &Overrides::default(), rigs).unwrap();
    let plan = Plan::new(&scenario, &description);
    std::fs::create_dir_all(directory("large")).unwrap();
    let path = directory("large").join("large.db");
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let null = serde_json::Value::Null;
    let header = Header {
        scenario: &scenario,
        plan: &plan,
        metrics: &description.metrics,
        host: &null,
        versions: &null,
    };
    let mut store = Store::open(&path, &header).unwrap();
    let session =
        run(Box::new(MockRig::default()), &scenario, &plan, &mut store, &Stop::never(), &mut |_| {}).unwrap();
    assert_eq!(session.finished, 10_000);
    drop(store);
    let results = Store::read(&path).unwrap().results(Load::Metrics).unwrap();
    let written = write(&results, &Context::default(), &directory("large")).unwrap();
    assert_eq!(std::fs::read_to_string(&written.csv).unwrap().lines().count(), 10_001);
    assert!(std::fs::metadata(&written.html).unwrap().len() < 5_000_000);
}
