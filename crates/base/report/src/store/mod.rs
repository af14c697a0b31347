//! Stores each campaign in one SQLite file: the scenario, the machine, and every finished repeat in one transaction.

mod blob;
mod query;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};

use ranlab_campaign::answer::Bound;
use ranlab_campaign::description::RigDescription;
use ranlab_campaign::plan::{Plan, Point};
use ranlab_campaign::record::Recording;
use ranlab_campaign::renamed::{Rename, Renames};
use ranlab_campaign::results::{Finished, JournalError, ResultSink, Results};
use ranlab_campaign::rig::{Metric, Outcome};
use ranlab_campaign::scenario::Scenario;
use ranlab_campaign::schema::{Key, Presence};
use ranlab_campaign::value::Value;

pub use query::{QUERY_ROWS_MAX, Rows};

/// Version of the tables. Older versions in [`READABLE`] are read, and upgraded when a campaign continues.
const FORMAT: i64 = 2;
/// Formats that can be read. Format 1 has no bounds.
const READABLE: std::ops::RangeInclusive<i64> = 1..=FORMAT;

/// Addition of format 2: metrics that are only bounds, by the names of [`Bound`].
const BOUNDS: &str = "
CREATE TABLE IF NOT EXISTS bounds (
    point INTEGER NOT NULL, repeat INTEGER NOT NULL, name_id INTEGER NOT NULL, bound TEXT NOT NULL,
    PRIMARY KEY (point, repeat, name_id)) WITHOUT ROWID;
DROP VIEW IF EXISTS results;
CREATE VIEW results AS
    SELECT point, label, repeat, outcome, name AS metric, value, coalesce(bound, 'exact') AS bound
    FROM metrics JOIN points USING (point) JOIN repeats USING (point, repeat) JOIN names ON names.id = name_id
    LEFT JOIN bounds USING (point, repeat, name_id);
";
/// `ranl`: identifies the file type (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x7261_6e6c;

const TABLES: &str = "
CREATE TABLE campaign (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE points (point INTEGER PRIMARY KEY, label TEXT NOT NULL, axes TEXT NOT NULL, settings TEXT NOT NULL);
CREATE TABLE repeats (
    point INTEGER NOT NULL REFERENCES points, repeat INTEGER NOT NULL, position INTEGER NOT NULL,
    outcome TEXT NOT NULL, reason TEXT NOT NULL, dropped INTEGER NOT NULL,
    started_unix_ms INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL,
    PRIMARY KEY (point, repeat)) WITHOUT ROWID;
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE metrics (
    point INTEGER NOT NULL, repeat INTEGER NOT NULL, name_id INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (point, repeat, name_id)) WITHOUT ROWID;
CREATE TABLE series (
    point INTEGER NOT NULL, repeat INTEGER NOT NULL, name_id INTEGER NOT NULL, samples BLOB NOT NULL,
    PRIMARY KEY (point, repeat, name_id));
CREATE TABLE histograms (
    point INTEGER NOT NULL, repeat INTEGER NOT NULL, name_id INTEGER NOT NULL, counts BLOB NOT NULL,
    PRIMARY KEY (point, repeat, name_id));
";

/// A campaign's file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    /// Earlier names of the campaign's rig, which are replaced in results.
    renames: Renames,
}

/// Data that is written once, when a campaign begins.
#[derive(Debug, Clone)]
pub struct Header<'a> {
    /// The checked scenario.
    pub scenario: &'a Scenario,
    /// Points of the scenario.
    pub plan: &'a Plan,
    /// Keys of the rig, with their defaults.
    pub keys: &'a [Key],
    /// Metrics of the rig.
    pub metrics: &'a [Metric],
    /// Facts about the machine.
    pub host: &'a serde_json::Value,
    /// Versions of the tool and of the system under test.
    pub versions: &'a serde_json::Value,
    /// Earlier names of the rig. In an existing file they are replaced by the current names.
    pub renames: &'a Renames,
}

/// Data of a repeat to read back; series and histograms are large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Metrics without series and histograms.
    Metrics,
    /// Metrics, series and histograms.
    All,
}

/// Reason why a file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// SQLite or the medium failed.
    #[error("the campaign's file failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file is not a campaign.
    #[error("`{0}` is not a campaign of this tool")]
    NoCampaign(String),
    /// The file was written by another version of the tool.
    #[error("`{file}` has format {found}; this version reads {} to {}", READABLE.start(), READABLE.end())]
    Format {
        /// Path of the file.
        file: String,
        /// Version of the file's tables.
        found: i64,
    },
    /// The scenario differs from the one that the file was created with.
    #[error(
        "the file contains another scenario ({0}): use another file name, or run that scenario to resume it"
    )]
    OtherScenario(String),
    /// The file's content contradicts itself.
    #[error("the campaign's file is damaged: {0}")]
    Damaged(String),
    /// The query is invalid.
    #[error("the query was refused: {0}")]
    Query(String),
}

impl Store {
    /// Opens a campaign's file to run it, or creates it. An existing file must have the same scenario; its campaign is
    /// resumed.
    ///
    /// # Errors
    /// The file cannot be read or written, or belongs to another campaign; see [`StoreError`].
    pub fn open(path: &Path, header: &Header<'_>) -> Result<Self, StoreError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        // A killed process loses no committed data; a crashed kernel loses the last repeats at most, which
        // are then measured again.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let mut store = Self { connection, renames: header.renames.clone() };
        if store.tables()? == 0 {
            store.create(header)?;
        } else {
            store.check_format(path)?;
            store.check_scenario(header.scenario, header.keys)?;
            store.connection.execute_batch(BOUNDS)?;
            store.replace_earlier_names(header.metrics)?;
            store.connection.pragma_update(None, "user_version", FORMAT)?;
        }
        Ok(store)
    }

    /// Opens a campaign's file for reading only.
    ///
    /// # Errors
    /// The file cannot be read, or is not a campaign.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "query_only", true)?;
        let store = Self { connection, renames: Renames::default() };
        store.check_format(path)?;
        Ok(store)
    }

    /// Replaces the earlier names of the campaign's rig when results are read. If `rigs` does not contain the
    /// campaign's rig, the names stay unchanged.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn with_rigs(mut self, rigs: &[RigDescription]) -> Result<Self, StoreError> {
        let scenario: serde_json::Value = self.header("scenario")?;
        let name = scenario["rig"].as_str().unwrap_or_default();
        let rig = rigs.iter().find(|rig| rig.is(name));
        self.renames = rig.map(Renames::from_rig).unwrap_or_default();
        Ok(self)
    }

    /// Stores results that were read elsewhere in memory, for queries.
    ///
    /// # Errors
    /// Returns the error of SQLite.
    pub fn in_memory(results: &Results) -> Result<Self, StoreError> {
        let mut store = Self { connection: Connection::open_in_memory()?, renames: Renames::default() };
        let points = results.points.iter().map(|point| point.point.clone()).collect();
        let plan = Plan { points, ..Plan::default() };
        let Results { scenario, metrics, host, versions, .. } = results;
        let renames = &Renames::default();
        store.create(&Header { scenario, plan: &plan, keys: &[], metrics, host, versions, renames })?;
        for run in results.points.iter().flat_map(|point| &point.runs) {
            store.commit_all(run)?;
        }
        Ok(store)
    }

    /// Returns all results so far.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn results(&self, load: Load) -> Result<Results, StoreError> {
        let mut used = BTreeSet::new();
        let scenario = self.scenario(&mut used)?;
        let mut metrics: Vec<Metric> = self.header("metrics")?;
        self.renames.apply_metrics(&mut metrics, &mut used);
        let points = self.points(&mut used)?;
        let finished = self.finished_repeats(load, &mut used)?;
        let mut results = Results::new(scenario, metrics, points, finished);
        results.renamed = used.into_iter().collect();
        results.host = self.header("host")?;
        results.versions = self.header("versions")?;
        Ok(results)
    }

    fn tables(&self) -> Result<i64, StoreError> {
        Ok(self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?)
    }

    fn create(&mut self, header: &Header<'_>) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(BOUNDS)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        {
            let mut insert = transaction.prepare("INSERT INTO campaign VALUES (?1, ?2)")?;
            insert.execute(params!["scenario", json(header.scenario)?])?;
            insert.execute(params!["metrics", json(header.metrics)?])?;
            insert.execute(params!["host", json(header.host)?])?;
            insert.execute(params!["versions", json(header.versions)?])?;
            insert.execute(params!["seed", header.scenario.measure.seed.to_string()])?;
            let mut insert = transaction.prepare("INSERT INTO points VALUES (?1, ?2, ?3, ?4)")?;
            for point in &header.plan.points {
                let axes = json(&point.axes)?;
                let settings = json(&point.settings)?;
                insert.execute(params![point.index as i64, point.label(), axes, settings])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn check_format(&self, path: &Path) -> Result<(), StoreError> {
        let pragma = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let file = path.display().to_string();
        if pragma("application_id").ok() != Some(APPLICATION_ID) {
            return Err(StoreError::NoCampaign(file));
        }
        match pragma("user_version")? {
            found if READABLE.contains(&found) => Ok(()),
            found => Err(StoreError::Format { file, found }),
        }
    }

    /// Returns an error that names the first difference from the stored scenario. Plots and expectations may differ, because they
    /// only read results. A setting that the stored scenario lacks is newer than the file, and has its default value there.
    ///
    /// Both scenarios are compared after a conversion to JSON and back. In JSON, the choice `"100ms"` and the duration are the same
    /// text, and a number may change in its last digit.
    fn check_scenario(&self, ours: &Scenario, keys: &[Key]) -> Result<(), StoreError> {
        let theirs = self.scenario(&mut BTreeSet::new())?;
        let text = json(ours)?;
        let ours: Scenario = parsed("scenario", &text)?;
        let parts = [
            ("rig differs", ours.rig == theirs.rig),
            ("[sweep] differs", ours.sweep.same(&theirs.sweep)),
            ("[search] differs", ours.search == theirs.search),
            ("[measure] differs", ours.measure == theirs.measure),
            ("--quick differs", ours.quick == theirs.quick),
        ];
        if let Some((part, _)) = parts.into_iter().find(|(_, same)| !same) {
            return Err(StoreError::OtherScenario(part.to_owned()));
        }
        if let Some(setting) = other_setting(keys, &ours.settings, &theirs.settings) {
            return Err(StoreError::OtherScenario(setting));
        }
        if ours != theirs {
            let update = "UPDATE campaign SET value = ?1 WHERE key = 'scenario'";
            self.connection.execute(update, [text])?;
        }
        Ok(())
    }

    fn header<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<T, StoreError> {
        let text: String =
            self.connection
                .query_row("SELECT value FROM campaign WHERE key = ?1", [key], |row| row.get(0))?;
        parsed(key, &text)
    }

    /// Returns the scenario with current names.
    fn scenario(&self, used: &mut BTreeSet<Rename>) -> Result<Scenario, StoreError> {
        let mut scenario: serde_json::Value = self.header("scenario")?;
        self.renames.apply_json(&mut scenario, used);
        serde_json::from_value(scenario).map_err(|error| StoreError::Damaged(format!("scenario: {error}")))
    }

    /// Replaces the earlier names in the file, before repeats with the current names are added.
    fn replace_earlier_names(&self, metrics: &[Metric]) -> Result<(), StoreError> {
        let mut used = BTreeSet::new();
        let scenario = self.scenario(&mut used)?;
        let points = self.points(&mut used)?;
        let mut update = self.connection.prepare("UPDATE OR IGNORE names SET name = ?2 WHERE name = ?1")?;
        let mut replaced = 0;
        for (earlier, name) in self.renames.iter() {
            replaced += update.execute([earlier, name])?;
        }
        if used.is_empty() && replaced == 0 {
            return Ok(());
        }
        let update = "UPDATE campaign SET value = ?1 WHERE key = ?2";
        self.connection.execute(update, [json(metrics)?.as_str(), "metrics"])?;
        self.connection.execute(update, [json(&scenario)?.as_str(), "scenario"])?;
        let mut update = self
            .connection
            .prepare("UPDATE points SET label = ?2, axes = ?3, settings = ?4 WHERE point = ?1")?;
        for point in &points {
            let axes = json(&point.axes)?;
            update.execute(params![point.index as i64, point.label(), axes, json(&point.settings)?])?;
        }
        Ok(())
    }

    fn points(&self, used: &mut BTreeSet<Rename>) -> Result<Vec<Point>, StoreError> {
        let mut select =
            self.connection.prepare("SELECT point, axes, settings FROM points ORDER BY point")?;
        let mut rows = select.query([])?;
        let mut points = Vec::new();
        while let Some(row) = rows.next()? {
            let index = row.get::<_, i64>(0)? as usize;
            let damaged = |error| StoreError::Damaged(format!("point {index}: {error}"));
            let mut axes: Vec<(String, Value)> =
                serde_json::from_str(&row.get::<_, String>(1)?).map_err(damaged)?;
            axes.iter_mut().for_each(|(path, _)| self.renames.apply(path, used));
            let settings = serde_json::from_str(&row.get::<_, String>(2)?).map_err(damaged)?;
            let settings = self.renames.apply_keys(settings, used);
            if index != points.len() {
                return Err(StoreError::Damaged(format!("point {} is missing", points.len())));
            }
            points.push(Point { index, axes, settings });
        }
        Ok(points)
    }

    fn finished_repeats(&self, load: Load, used: &mut BTreeSet<Rename>) -> Result<Vec<Finished>, StoreError> {
        let mut select = self.connection.prepare(
            "SELECT point, repeat, position, outcome, reason, dropped, started_unix_ms, elapsed_ns FROM repeats
             ORDER BY position",
        )?;
        let mut metrics = self.connection.prepare(
            "SELECT name, value FROM metrics JOIN names ON names.id = name_id WHERE point = ?1 AND repeat = ?2",
        )?;
        let bounded: bool = self.connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'bounds')",
            [],
            |row| row.get(0),
        )?;
        let mut rows = select.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let point: i64 = row.get(0)?;
            let repeat: u32 = row.get(1)?;
            let name: String = row.get(3)?;
            let outcome = Outcome::from_name(&name)
                .ok_or_else(|| StoreError::Damaged(format!("there is no outcome `{name}`")))?;
            let mut recording = Recording { dropped: row.get::<_, i64>(5)? as u64, ..Recording::default() };
            let mut values = metrics.query(params![point, repeat])?;
            while let Some(value) = values.next()? {
                recording.metrics.insert(value.get(0)?, value.get(1)?);
            }
            if bounded {
                self.load_bounds(point, repeat, &mut recording)?;
            }
            if load == Load::All {
                self.load_blobs(point, repeat, &mut recording)?;
            }
            self.renames.apply_recording(&mut recording, used);
            all.push(Finished {
                point: point as usize,
                repeat,
                position: row.get(2)?,
                outcome,
                reason: row.get(4)?,
                recording,
                started_unix_ms: row.get::<_, i64>(6)? as u64,
                elapsed: Duration::from_nanos(row.get::<_, i64>(7)? as u64),
            });
        }
        Ok(all)
    }

    fn load_bounds(&self, point: i64, repeat: u32, recording: &mut Recording) -> Result<(), StoreError> {
        let mut select = self.connection.prepare_cached(
            "SELECT name, bound FROM bounds JOIN names ON names.id = name_id WHERE point = ?1 AND repeat = ?2",
        )?;
        let mut rows = select.query(params![point, repeat])?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(1)?;
            let bound = Bound::from_name(&text)
                .ok_or_else(|| StoreError::Damaged(format!("\"{text}\" is not a bound")))?;
            recording.bounds.insert(row.get(0)?, bound);
        }
        Ok(())
    }

    fn load_blobs(&self, point: i64, repeat: u32, recording: &mut Recording) -> Result<(), StoreError> {
        let damaged = |what: &str| StoreError::Damaged(format!("{what} of point {point}, repeat {repeat}"));
        let mut series = self.connection.prepare_cached(
            "SELECT name, samples FROM series JOIN names ON names.id = name_id WHERE point = ?1 AND repeat = ?2",
        )?;
        let mut rows = series.query(params![point, repeat])?;
        while let Some(row) = rows.next()? {
            let samples = blob::series_of(&row.get::<_, Vec<u8>>(1)?).ok_or_else(|| damaged("a series"))?;
            recording.series.insert(row.get(0)?, samples);
        }
        let mut histograms = self.connection.prepare_cached(
            "SELECT name, counts FROM histograms JOIN names ON names.id = name_id WHERE point = ?1 AND repeat = ?2",
        )?;
        let mut rows = histograms.query(params![point, repeat])?;
        while let Some(row) = rows.next()? {
            let counts =
                blob::distribution_of(&row.get::<_, Vec<u8>>(1)?).ok_or_else(|| damaged("a histogram"))?;
            recording.distributions.insert(row.get(0)?, counts);
        }
        Ok(())
    }

    fn commit_all(&mut self, finished: &Finished) -> Result<(), rusqlite::Error> {
        let transaction = self.connection.transaction()?;
        {
            let key = (finished.point as i64, finished.repeat);
            transaction
                .prepare_cached("INSERT INTO repeats VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
                .execute(params![
                    key.0,
                    key.1,
                    finished.position,
                    finished.outcome.name(),
                    finished.reason,
                    finished.recording.dropped as i64,
                    finished.started_unix_ms as i64,
                    i64::try_from(finished.elapsed.as_nanos()).unwrap_or(i64::MAX),
                ])?;
            let mut metric = transaction.prepare_cached("INSERT INTO metrics VALUES (?1, ?2, ?3, ?4)")?;
            for (name, value) in &finished.recording.metrics {
                metric.execute(params![key.0, key.1, name_id(&transaction, name)?, value])?;
            }
            let mut bounds = transaction.prepare_cached("INSERT INTO bounds VALUES (?1, ?2, ?3, ?4)")?;
            for (name, bound) in &finished.recording.bounds {
                bounds.execute(params![key.0, key.1, name_id(&transaction, name)?, bound.name()])?;
            }
            let mut series = transaction.prepare_cached("INSERT INTO series VALUES (?1, ?2, ?3, ?4)")?;
            for (name, samples) in &finished.recording.series {
                series.execute(params![
                    key.0,
                    key.1,
                    name_id(&transaction, name)?,
                    blob::of_series(samples)
                ])?;
            }
            let mut histogram =
                transaction.prepare_cached("INSERT INTO histograms VALUES (?1, ?2, ?3, ?4)")?;
            for (name, counts) in &finished.recording.distributions {
                let blob = blob::of_distribution(counts);
                histogram.execute(params![key.0, key.1, name_id(&transaction, name)?, blob])?;
            }
        }
        transaction.commit()
    }
}

/// Returns the first setting that differs, with both values.
fn other_setting(
    keys: &[Key],
    ours: &BTreeMap<String, Value>,
    theirs: &BTreeMap<String, Value>,
) -> Option<String> {
    let default = |path: &str| match &keys.iter().find(|key| key.path == path)?.presence {
        Presence::Default(value) => Some(value),
        Presence::Required | Presence::Optional => None,
    };
    let text = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), |value| format!("{value}"));
    let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    paths.into_iter().find_map(|path| {
        let here = ours.get(path);
        let there = theirs.get(path).or_else(|| default(path));
        let is_same = match (here, there) {
            (Some(here), Some(there)) => here.same(there),
            (None, None) => true,
            _ => false,
        };
        (!is_same).then(|| format!("`{path}` is {} in the file and {} here", text(there), text(here)))
    })
}

/// Returns the id of a name. Names repeat in every row, so each name is stored once.
fn name_id(connection: &Connection, name: &str) -> Result<i64, rusqlite::Error> {
    connection.prepare_cached("INSERT OR IGNORE INTO names (name) VALUES (?1)")?.execute([name])?;
    connection.prepare_cached("SELECT id FROM names WHERE name = ?1")?.query_row([name], |row| row.get(0))
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Damaged(error.to_string()))
}

fn parsed<T: serde::de::DeserializeOwned>(key: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(format!("{key}: {error}")))
}

impl ResultSink for Store {
    fn finished(&self) -> Result<BTreeSet<(usize, u32)>, JournalError> {
        let read = || {
            let mut select = self.connection.prepare("SELECT point, repeat FROM repeats")?;
            let rows = select.query_map([], |row| Ok((row.get::<_, i64>(0)? as usize, row.get(1)?)))?;
            rows.collect::<Result<BTreeSet<_>, rusqlite::Error>>()
        };
        read().map_err(|error| JournalError(error.to_string()))
    }

    fn commit(&mut self, finished: &Finished) -> Result<(), JournalError> {
        self.commit_all(finished).map_err(|error| JournalError(error.to_string()))
    }
}
