//! Tests of whole campaigns on a file, which are killed and resumed, queried, or refused.
#![allow(clippy::unwrap_used, reason = "test helpers may unwrap, like tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rand::{Rng, SeedableRng};
use ranlab_campaign::answer::Bound;
use ranlab_campaign::description::RigDescription;
use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::renamed::Renames;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Rig, Stop};
use ranlab_campaign::run::{SessionSummary, run};
use ranlab_campaign::scenario::{Overrides, Scenario};
use ranlab_campaign::value::Value;
use ranlab_report::store::{Header, Load, Store, StoreError};

const THIRTY_POINTS: &str = "title = \"t\"\nrig = \"mock\"\n[load]\ntakes = \"2ms\"\n[sweep.axes]\n\
    \"load.workers\" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n\"sut.sigma\" = [0.0, 0.1, 0.5]\n[measure]\nrepeats = 3\n";

/// Returns a separate file for each test, which does not exist yet.
fn file(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("campaign");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    path
}

fn scenario(text: &str) -> (Scenario, Plan) {
    let description = MockRig::default().describe();
    let scenario =
        Scenario::parse(text, "test.toml", &Overrides::default(), std::slice::from_ref(&description))
            .unwrap();
    let plan = Plan::new(&scenario, &description);
    (scenario, plan)
}

fn open(path: &Path, scenario: &Scenario, plan: &Plan) -> Result<Store, StoreError> {
    let RigDescription { keys, metrics, .. } = MockRig::default().describe();
    let host = serde_json::json!({"cores": 2});
    let versions = serde_json::json!({"ranlab": "0.1.0"});
    let renames = Renames::from_rig(&MockRig::default().describe());
    let header = Header {
        scenario,
        plan,
        keys: &keys,
        metrics: &metrics,
        host: &host,
        versions: &versions,
        renames: &renames,
    };
    Store::open(path, &header)
}

fn measure(path: &Path, text: &str) -> SessionSummary {
    let (scenario, plan) = scenario(text);
    let mut store = open(path, &scenario, &plan).unwrap();
    run(Box::new(MockRig::default()), &scenario, &plan, &mut store, &Stop::never(), &mut |_| {}).unwrap()
}

/// Returns all content of a file except timestamps.
fn timeless(path: &Path) -> Vec<String> {
    let results = Store::read(path).unwrap().results(Load::All).unwrap();
    let runs = results.points.iter().flat_map(|point| &point.runs);
    runs.map(|run| {
        format!(
            "{} {} {} {:?} {} {:?}",
            run.point, run.repeat, run.position, run.outcome, run.reason, run.recording
        )
    })
    .collect()
}

/// Not a separate test: `killed_campaign_resumes_without_losing_or_repeating_points` starts it in another process.
#[test]
fn child() {
    if let Some(path) = std::env::var_os("RANLAB_CAMPAIGN_CHILD") {
        measure(Path::new(&path), THIRTY_POINTS);
    }
}

#[test]
fn killed_campaign_resumes_without_losing_or_repeating_points() {
    let whole = file("whole.db");
    assert_eq!(measure(&whole, THIRTY_POINTS).finished, 90);
    let expected = timeless(&whole);
    assert_eq!(expected.len(), 90);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(20);
    let mut interrupted = 0;
    for kill in 0..20 {
        let path = file(&format!("killed-{kill}.db"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env("RANLAB_CAMPAIGN_CHILD", &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(rng.random_range(0..350)));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = Store::read(&path).map(|store| store.results(Load::All).unwrap());
        let kept: usize =
            before.iter().flat_map(|results| &results.points).map(|point| point.runs.len()).sum();
        let session = measure(&path, THIRTY_POINTS);
        assert_eq!(session.finished, 90 - kept, "finished repeats must be neither lost nor measured again");
        assert_eq!(timeless(&path), expected, "kill {kill} after {kept} repeats");
        interrupted += usize::from((1..90).contains(&kept));
    }
    // The number depends on the machine's speed; zero would prove nothing.
    assert!(interrupted > 0, "no kill happened during a campaign, so the test shows nothing");
}

#[test]
fn other_scenario_is_refused_but_other_plots_are_not() {
    let path = file("other.db");
    let text = "title = \"t\"\nrig = \"mock\"\n[measure]\nrepeats = 1\n";
    measure(&path, text);
    let (other, plan) = scenario(&text.replace("repeats = 1", "repeats = 2"));
    let error = open(&path, &other, &plan).unwrap_err().to_string();
    assert!(error.contains("[measure] differs"), "{error}");
    let plot = format!("{text}[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\n");
    assert_eq!(measure(&path, &plot).finished, 0);
    assert_eq!(Store::read(&path).unwrap().results(Load::Metrics).unwrap().scenario.plots.len(), 1);
    let foreign = file("foreign.db");
    std::fs::write(&foreign, "no database").unwrap();
    assert!(matches!(Store::read(&foreign), Err(StoreError::NoCampaign(_) | StoreError::Sqlite(_))));
}

#[test]
fn sql_reads_and_never_writes() {
    let path = file("query.db");
    measure(&path, THIRTY_POINTS);
    let store = Store::read(&path).unwrap();
    let rows = store
        .query("SELECT label, avg(value) AS mean FROM results WHERE metric = 'throughput' GROUP BY point ORDER BY mean DESC")
        .unwrap();
    assert_eq!(
        (rows.columns.as_slice(), rows.rows.len()),
        (&["label".to_owned(), "mean".to_owned()][..], 30)
    );
    assert_eq!(rows.rows[0][0], Some(Value::from("load.workers=10 sut.sigma=0")));
    for sql in ["DELETE FROM points", "DROP TABLE points", "INSERT INTO names VALUES (99, 'x')", "nonsense"] {
        assert!(matches!(store.query(sql), Err(StoreError::Query(_))), "{sql}");
    }
    assert_eq!(store.query("SELECT count(*) FROM points").unwrap().rows[0][0], Some(Value::Int(30)));
}

#[test]
fn csv_has_a_line_for_each_point() {
    let path = file("csv.db");
    measure(&path, THIRTY_POINTS);
    let results: Results = Store::read(&path).unwrap().results(Load::Metrics).unwrap();
    let csv = ranlab_campaign::table::csv(&results);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 31);
    assert!(
        lines[0].starts_with("load.workers,sut.sigma,outcome,repeats,loss_ratio,loss_ratio_ci"),
        "{}",
        lines[0]
    );
    assert!(lines[1].starts_with("1,0,ok,3,") || lines[1].starts_with("1,0,degraded,3,"), "{}", lines[1]);
}

const OPEN_ENDED: &str = "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = 0.0\nsigma = 0.0\nkappa = 0.0\n[measure]\nrepeats = 2\n\
    [search]\ntype = \"ndr\"\naxis = \"load.rate\"\nmin = 100\nmax = 800\n";

#[test]
fn bound_is_stored_and_queryable() {
    let path = file("bound.sqlite");
    measure(&path, OPEN_ENDED);
    let store = Store::read(&path).unwrap();
    let results = store.results(Load::Metrics).unwrap();
    assert_eq!(results.answer(&results.points[0], "search.load").unwrap().bound, Bound::AtLeast);
    let rows = store.query("SELECT DISTINCT bound FROM results WHERE metric = 'search.load'").unwrap();
    assert_eq!(rows.rows, [[Some(Value::from("at_least"))]]);
}

#[test]
fn format_1_file_is_read_and_upgraded_on_resume() {
    let path = file("format-1.sqlite");
    measure(&path, OPEN_ENDED);
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        "DROP VIEW results; DROP TABLE bounds; PRAGMA user_version = 1;
         CREATE VIEW results AS SELECT point, label, repeat, outcome, name AS metric, value
         FROM metrics JOIN points USING (point) JOIN repeats USING (point, repeat) JOIN names ON names.id = name_id;",
    )
    .unwrap();
    drop(old);
    let before = Store::read(&path).unwrap().results(Load::Metrics).unwrap();
    // The bound is known without the table `bounds`, because no load failed.
    assert_eq!(before.answer(&before.points[0], "search.load").unwrap().bound, Bound::AtLeast);
    measure(&path, OPEN_ENDED);
    let store = Store::read(&path).unwrap();
    assert!(store.query("SELECT bound FROM results").is_ok());
}

#[test]
fn setting_that_an_earlier_version_lacks_has_its_default() {
    let path = file("older.sqlite");
    let text = |more: &str| {
        format!(
            "title = \"t\"\nrig = \"mock\"\n[sut]\nlaw = \"queue\"\n[load]\nrequests = 200\n{more}[measure]\nrepeats = 2\n"
        )
    };
    assert_ne!(measure(&path, &text("")).finished, 0);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let remove =
        "UPDATE campaign SET value = json_remove(value, '$.settings.\"load.fails\"') WHERE key = 'scenario'";
    assert_eq!(connection.execute(remove, []).unwrap(), 1);
    drop(connection);
    let (other, plan) = scenario(&text("fails = \"missing\"\n"));
    let error = open(&path, &other, &plan).unwrap_err();
    let StoreError::OtherScenario(what) = error else { panic!("{error}") };
    assert_eq!(what, "`load.fails` is never in the file and missing here");
    assert_eq!(measure(&path, &text("")).finished, 0, "nothing is measured again");
}

#[test]
fn campaign_with_earlier_names_is_read_and_continued() {
    let path = file("renamed.sqlite");
    let text = "title = \"t\"\nrig = \"mock\"\n[sut]\nlaw = \"queue\"\n[load]\nrequests = 200\n\
                [sweep.axes]\n\"load.rate_max\" = [1000.0, 2000.0]\n[measure]\nrepeats = 2\n\
                [[plot]]\nx = \"load.rate_max\"\ny = \"send_delay_us_p99\"\n";
    measure(&path, text);
    let now = timeless(&path);
    let renames = Renames::from_rig(&MockRig::default().describe());
    let connection = rusqlite::Connection::open(&path).unwrap();
    for (earlier, name) in renames.iter() {
        connection.execute("UPDATE names SET name = ?1 WHERE name = ?2", [earlier, name]).unwrap();
        for (table, column) in
            [("points", "label"), ("points", "axes"), ("points", "settings"), ("campaign", "value")]
        {
            let update = format!("UPDATE {table} SET {column} = replace({column}, ?1, ?2)");
            connection.execute(&update, [name, earlier]).unwrap();
        }
    }
    drop(connection);
    let read = || {
        let store = Store::read(&path).unwrap();
        store.with_rigs(&[MockRig::default().describe()]).unwrap().results(Load::All).unwrap()
    };
    let results = read();
    assert!(results.renamed.iter().any(|rename| rename.earlier == "load.most"), "{:?}", results.renamed);
    assert_eq!(results.scenario.plots[0].x, "load.rate_max");
    assert_eq!(results.metrics, MockRig::default().describe().metrics);
    assert!(results.points.iter().all(|point| point.point.settings.contains_key("load.rate_max")));
    assert_ne!(timeless(&path), now, "the file must still have the earlier names");
    assert_eq!(measure(&path, text).finished, 0, "nothing is measured again");
    assert_eq!(timeless(&path), now);
    assert_eq!(read().renamed, []);
}
