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

const GALLERY: &str = include_str!("../examples/gallery.toml");

#[test]
fn every_form_of_figure_is_drawn_whole() {
    let mut results = campaign(GALLERY);
    results.host = serde_json::json!({"cpu": "mock", "steal": 0.0});
    let context = Context {
        warnings: vec!["The governor is “powersave”; latencies may be longer than they need be.".to_owned()],
        verdict: vec!["Cell UL meets 100 us under strict priority.".to_owned()],
        command: "ranlab bench run gallery.toml".to_owned(),
    };
    let written = write(&results, &context, &directory("gallery")).unwrap();
    assert_eq!(written.figures.len(), 18);
    for path in &written.figures {
        let bytes = std::fs::read(path).unwrap();
        if path.extension().is_some_and(|ext| ext == "png") {
            assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 5_000, "{path:?} is empty");
        }
    }
    let page = std::fs::read_to_string(&written.html).unwrap();
    assert_eq!(page.matches("<figure").count(), 9);
    // Self-contained: nothing is fetched.
    for foreign in ["<script", "<link", "<img", "src=", "@import", "url(h", "url(/", "url(\""] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("λ (one alone)") && page.contains("currentColor") && !page.contains("NaN"));
    for figure in &figures(&results) {
        assert!(figure.series.iter().all(|series| !series.samples.is_empty()), "{}", figure.title);
    }
    let figures = figures(&results);
    assert_eq!(figures[0].marks.iter().map(|mark| mark.color).collect::<Vec<_>>(), [Some(0), Some(1)]);
    // Every table of the page is a file as well: verdicts, what nine figures draw, and the numbers below two of them.
    assert_eq!(written.tables.len(), 12);
    for path in &written.tables {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.lines().count() > 1 && !text.contains("NaN"), "{path:?}: {text}");
    }
    assert!(page.contains("Of 4 published statements (an invented paper): 3 as published, 1 different"));
    assert!(page.contains("A/A spread"));
    assert!(page.contains("Cell UL meets 100 us under strict priority."));
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
