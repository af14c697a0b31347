//! A stored result (`docs/results/*.json`): the summaries of a campaign, without its repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value as Json;

use ranlab_campaign::answer::Bound;
use ranlab_campaign::behaviour::Behaviour;
use ranlab_campaign::description::RigDescription;
use ranlab_campaign::metric::UNSENT_AT_MOST;
use ranlab_campaign::outcome::Outcome;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::record::{Distribution, Recording};
use ranlab_campaign::renamed::{Rename, Renames};
use ranlab_campaign::results::{Finished, Results, StoredHeader};
use ranlab_campaign::scenario::{self, Scenario};
use ranlab_campaign::stats::student_quantile;
use ranlab_campaign::value::{Value, short};

/// Maximum repeats of a metric in a file; a higher number is an error.
const REPEATS_MAX: usize = 100_000;

/// Content of a stored result. Unknown keys are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct Stored {
    /// Path of the scenario below `scenarios/`, without its ending.
    pub scenario: String,
    /// Command of the measurement.
    pub command: String,
    #[serde(default)]
    measured: String,
    #[serde(default)]
    machine: String,
    #[serde(default)]
    warnings: Vec<String>,
    /// Behaviour versions of the measurement; older results lack them.
    #[serde(default)]
    pub behaviour: Option<Behaviour>,
    /// Largest share of the load that was not sent in any repeat, if the points do not store it.
    unsent_share_max: Option<f64>,
    points: Vec<StoredPoint>,
}

#[derive(Debug, Clone, Deserialize)]
struct StoredPoint {
    axes: BTreeMap<String, Json>,
    outcome: Outcome,
    #[serde(default)]
    reason: String,
    metrics: BTreeMap<String, StoredMetric>,
    /// Distributions over all repeats in a few steps, for figures that draw whole distributions.
    #[serde(default)]
    distributions: BTreeMap<String, Distribution>,
}

#[derive(Debug, Clone, Deserialize)]
struct StoredMetric {
    mean: f64,
    ci95: Option<f64>,
    n: usize,
    /// Bound of the true value, if the mean is only a bound.
    #[serde(default)]
    bound: Option<Bound>,
    /// Value of each repeat, in order, if they are compared with the repeats of other points.
    #[serde(default)]
    values: Vec<f64>,
}

/// Reason why a stored result is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoredError(String);

impl Stored {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns an error that names what is missing.
    pub fn parse(text: &str) -> Result<Self, StoredError> {
        let stored: Self = serde_json::from_str(text)
            .map_err(|error| StoredError(format!("it is not a stored result: {error}")))?;
        if stored.points.is_empty() {
            return Err(StoredError("it contains only verdicts, no points".to_owned()));
        }
        for (name, own) in stored.points.iter().flat_map(|point| &point.distributions) {
            if !own.is_kept() {
                return Err(StoredError(format!(
                    "the distribution of `{name}` is not a list of up to 25 values with their numbers, ascending"
                )));
            }
        }
        for (name, metric) in stored.points.iter().flat_map(|point| &point.metrics) {
            if !metric.values.is_empty() && metric.values.len() != metric.n {
                let values = metric.values.len();
                let n = metric.n;
                return Err(StoredError(format!("`{name}` has {values} values and claims {n} repeats")));
            }
        }
        let claims = stored.points.iter().flat_map(|point| point.metrics.values());
        match claims.map(|metric| metric.n).max() {
            Some(n) if n > REPEATS_MAX => {
                Err(StoredError(format!("it claims {n} repeats of a point; at most {REPEATS_MAX} are read")))
            }
            _ => Ok(stored),
        }
    }

    /// Returns the arguments of `--set` of the measurement.
    pub fn sets(&self) -> Vec<String> {
        let mut words = self.command.split_whitespace();
        let mut sets = Vec::new();
        while let Some(word) = words.next() {
            if word == "--set" {
                sets.extend(words.next().map(|set| set.trim_matches('\'').to_owned()));
            }
        }
        sets
    }

    /// Returns the points with the current names of settings and metrics.
    fn renamed(&self, renames: &Renames, used: &mut BTreeSet<Rename>) -> Vec<StoredPoint> {
        let mut points = self.points.clone();
        for point in &mut points {
            point.axes = renames.apply_keys(std::mem::take(&mut point.axes), used);
            point.metrics = renames.apply_keys(std::mem::take(&mut point.metrics), used);
            point.distributions = renames.apply_keys(std::mem::take(&mut point.distributions), used);
        }
        points
    }

    /// Converts the file to results, for the points that the scenario still has. The repeats are stand-ins: their
    /// number is the stored number, and their values have the stored mean and interval.
    pub fn results(&self, scenario: Scenario, rig: &RigDescription) -> Results {
        let plan = Plan::new(&scenario, rig);
        let metrics = scenario::metrics(rig, &scenario);
        let mut used: BTreeSet<Rename> = scenario.renamed.iter().cloned().collect();
        let points = self.renamed(&Renames::from_rig(rig), &mut used);
        let mut finished = Vec::new();
        for point in &plan.points {
            let same = |stored: &&StoredPoint| {
                stored.axes.iter().all(|(path, json)| {
                    let own = point.settings.get(path);
                    own.zip(Value::from_json(json))
                        .is_some_and(|(own, value)| own.same(&value) || own.to_json() == *json)
                })
            };
            if let Some(stored) = points.iter().find(same) {
                finished.extend(stored.runs(point.index, scenario.measure.confidence));
            }
        }
        let kept_share =
            |name: &String| metrics.iter().any(|metric| metric.unsent_share && metric.name == *name);
        let known = points.iter().any(|point| point.metrics.keys().any(kept_share));
        let caveat = self.unsent_share_max.filter(|share| !known && *share > UNSENT_AT_MOST).map(|share| {
            format!(
                "up to {} % of the load was not sent, and the file does not name the points",
                short(share * 100.0)
            )
        });
        let mut results = Results::new(scenario, metrics, plan.points, finished);
        results.host = serde_json::json!({ "machine": self.machine });
        results.versions = serde_json::json!({ "command": self.command, "measured": self.measured });
        results.kept = Some(StoredHeader { warnings: self.warnings.clone(), caveat, whole: whole(&points) });
        results.renamed = used.into_iter().collect();
        results
    }
}

/// Returns the metrics with individually stored repeats, at every point that has these metrics.
fn whole(points: &[StoredPoint]) -> BTreeSet<String> {
    let all = || points.iter().flat_map(|point| &point.metrics);
    let lacking: BTreeSet<&String> =
        all().filter(|(_, metric)| metric.values.is_empty()).map(|(name, _)| name).collect();
    all().map(|(name, _)| name).filter(|name| !lacking.contains(name)).cloned().collect()
}

impl StoredPoint {
    fn runs(&self, point: usize, confidence: f64) -> Vec<Finished> {
        let repeats = self.metrics.values().map(|metric| metric.n).max().unwrap_or(1).max(1);
        let mut runs: Vec<Finished> = (0..repeats)
            .map(|repeat| Finished {
                point,
                repeat: repeat as u32,
                position: repeat as u32,
                outcome: self.outcome,
                reason: self.reason.clone(),
                recording: Recording::default(),
                started_unix_ms: 0,
                elapsed: Duration::ZERO,
            })
            .collect();
        for (name, metric) in &self.metrics {
            for (run, value) in runs.iter_mut().zip(metric.stand_ins(confidence)) {
                run.recording.metrics.insert(name.clone(), value);
                run.recording.bounds.extend(metric.bound.map(|bound| (name.clone(), bound)));
            }
        }
        // The first repeat gets the distribution of all repeats, because the distributions of single repeats were not
        // stored.
        if let Some(first) = runs.first_mut() {
            first.recording.distributions.clone_from(&self.distributions);
        }
        runs
    }
}

impl StoredMetric {
    /// Returns the values of the repeats, or stand-ins with the same number, mean and standard deviation.
    fn stand_ins(&self, confidence: f64) -> Vec<f64> {
        if !self.values.is_empty() {
            return self.values.clone();
        }
        let n = self.n;
        let deviation = match self.ci95 {
            Some(half) if n > 1 => {
                half * (n as f64).sqrt() / student_quantile((1.0 + confidence) / 2.0, (n - 1) as f64)
            }
            _ => 0.0,
        };
        // With an odd number, one stand-in equals the mean; the others lie on both sides of it.
        let pairs = (n / 2 * 2) as f64;
        let side = if n > 1 { deviation * ((n - 1) as f64 / pairs).sqrt() } else { 0.0 };
        (0..n)
            .map(|index| match index {
                last if last + 1 == n && n % 2 == 1 => self.mean,
                index if index % 2 == 0 => self.mean - side,
                _ => self.mean + side,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_campaign::expect::{Verdict, judge};
    use ranlab_campaign::mock::MockRig;
    use ranlab_campaign::rig::Rig;
    use ranlab_campaign::scenario::Overrides;
    use ranlab_campaign::stats::summarise;

    #[test]
    fn substitute_repeats_keep_mean_and_interval() {
        for n in [2, 3, 4, 5, 10] {
            let metric = StoredMetric { mean: 7.0, ci95: Some(0.5), n, bound: None, values: Vec::new() };
            let summary = summarise(&metric.stand_ins(0.95), 0.95).unwrap();
            assert_eq!(summary.n, n);
            assert!(
                (summary.mean - 7.0).abs() < 1e-9 && (summary.half_width.unwrap() - 0.5).abs() < 1e-6,
                "{summary:?}"
            );
        }
        let one = StoredMetric { mean: 7.0, ci95: None, n: 1, bound: None, values: Vec::new() };
        assert_eq!(one.stand_ins(0.95), [7.0]);
    }

    fn results(n: usize, unsent: f64) -> Results {
        let rig = MockRig::default().describe();
        let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 4]\n\
                    [[expect]]\nwhere = { \"load.workers\" = 4 }\nmetric = \"throughput\"\nat_least = 100.0\n";
        let json = format!(
            "{{\"scenario\": \"t\", \"command\": \"ranlab bench run t.toml --set sut.build=b --set measure.repeats=3\", \"warnings\": [\"w\"],\
             \"unsent_share_max\": {unsent}, \"points\": [{{\"axes\": {{\"load.workers\": 4}}, \"outcome\": \"ok\", \
             \"metrics\": {{\"throughput\": {{\"mean\": 200.0, \"ci95\": {}, \"n\": {n}}}}}}}]}}",
            if n > 1 { "10.0" } else { "null" }
        );
        let stored = Stored::parse(&json).unwrap();
        let over = Overrides { sets: stored.sets(), quick: false };
        let scenario = Scenario::parse(text, "t.toml", &over, std::slice::from_ref(&rig)).unwrap();
        stored.results(scenario, &rig)
    }

    #[test]
    fn stored_result_is_judged_by_current_rules() {
        let verdict_of = |n, unsent| {
            let judged = judge(&results(n, unsent)).remove(0);
            (judged.verdict, judged.repeats, judged.reason)
        };
        assert_eq!(verdict_of(3, 0.0), (Verdict::Holds, 3, String::new()));
        let (verdict, repeats, why) = verdict_of(1, 0.0);
        assert_eq!((verdict, repeats), (Verdict::Inconclusive, 1));
        assert!(why.contains("one repeat shows no spread"), "{why}");
        let (verdict, _, why) = verdict_of(3, 0.258);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(why.starts_with("up to 25.8 % of the load was not sent"), "{why}");
    }

    #[test]
    fn individually_stored_repeats_are_compared_individually() {
        let verdict_of = |values: [&str; 2]| {
            let rig = MockRig::default().describe();
            let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\n[measure]\npaired = true\n\
                        [[expect]]\nmetric = \"throughput\"\nalong = \"load.workers\"\norder = [2, 1]\n";
            let point = |workers: usize, values: &str| {
                format!(
                    "{{\"axes\": {{\"load.workers\": {workers}}}, \"outcome\": \"ok\", \"metrics\": {{\"throughput\": \
                     {{\"mean\": {workers}0.0, \"ci95\": 30.0, \"n\": 3{values}}}}}}}"
                )
            };
            let json = format!(
                "{{\"scenario\": \"t\", \"command\": \"ranlab bench run t.toml\", \"points\": [{}, {}]}}",
                point(1, values[0]),
                point(2, values[1])
            );
            let stored = Stored::parse(&json).map_err(|error| error.to_string())?;
            let over = Overrides::default();
            let scenario = Scenario::parse(text, "t.toml", &over, std::slice::from_ref(&rig)).unwrap();
            Ok::<_, String>(judge(&stored.results(scenario, &rig)).remove(0).verdict)
        };
        let one = ", \"values\": [2.0, 10.0, 18.0]";
        let two = ", \"values\": [3.0, 11.0, 19.5]";
        assert_eq!(verdict_of([one, two]), Ok(Verdict::Holds));
        // Without the values of the repeats, it is unknown which repeats form a pair.
        assert_eq!(verdict_of(["", ""]), Ok(Verdict::Inconclusive));
        assert_eq!(verdict_of([one, ""]), Ok(Verdict::Inconclusive));
        assert!(
            verdict_of([", \"values\": [2.0]", ""])
                .unwrap_err()
                .contains("has 1 values and claims 3 repeats")
        );
    }

    #[test]
    fn stored_points_and_settings_match_their_command() {
        let results = results(3, 0.0);
        assert_eq!(results.points.iter().map(|point| point.runs.len()).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(results.points[1].point.settings["sut.build"], Value::from("b"));
        assert!(Stored::parse("{}").unwrap_err().to_string().contains("not a stored result"));
    }

    #[test]
    fn stored_result_with_earlier_names_is_read() {
        let rig = MockRig::default().describe();
        let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.rate_max\" = [1.0, 2.0]\n";
        let json = "{\"scenario\": \"t\", \"command\": \"ranlab bench run t.toml\", \"points\": [{\
                    \"axes\": {\"load.most\": 2.0}, \"outcome\": \"ok\", \"metrics\": {\"lateness_us_p99\": \
                    {\"mean\": 7.0, \"ci95\": 1.0, \"n\": 3}}}]}";
        let scenario =
            Scenario::parse(text, "t.toml", &Overrides::default(), std::slice::from_ref(&rig)).unwrap();
        let results = Stored::parse(json).unwrap().results(scenario, &rig);
        let runs = &results.points[1].runs;
        assert_eq!(runs.len(), 3);
        assert!(runs.iter().all(|run| run.recording.metrics.contains_key("send_delay_us_p99")));
        let notices: Vec<String> = results.renamed.iter().map(Rename::to_string).collect();
        let expected = ["`lateness_us_p99` is now `send_delay_us_p99`", "`load.most` is now `load.rate_max`"];
        assert_eq!(notices, expected);
    }

    #[test]
    fn box_is_drawn_from_stored_values() {
        let rig = MockRig::default().describe();
        let json = |counts: &str| {
            format!(
                "{{\"scenario\": \"t\", \"command\": \"ranlab bench run t.toml\", \"points\": [{{\"axes\": {{\"load.workers\": 1}}, \
                 \"outcome\": \"ok\", \"metrics\": {{\"rtt_us_p50\": {{\"mean\": 30.0, \"ci95\": 1.0, \"n\": 3}}}}, \
                 \"distributions\": {{\"rtt_us\": {{\"counts\": {counts}}}}}}}]}}"
            )
        };
        let text = "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1]\n\
                    [[plot]]\ntype = \"box\"\nx = \"load.workers\"\ny = \"rtt_us\"\n";
        let scenario =
            Scenario::parse(text, "t.toml", &Overrides::default(), std::slice::from_ref(&rig)).unwrap();
        let stored = Stored::parse(&json("[[10, 1], [20, 2], [30, 4], [40, 1]]")).unwrap();
        let results = stored.results(scenario, &rig);
        let own = results.points[0].distribution("rtt_us").unwrap();
        assert_eq!([0.25, 0.5, 0.75, 1.0].map(|share| own.quantile(share)), [20, 30, 30, 40]);
        #[cfg(feature = "report")]
        {
            let figure = crate::report::figures(&results).remove(0);
            let sample = &figure.series[0].samples[0];
            assert_eq!((sample.low, sample.y, sample.high), (20.0, 30.0, 30.0), "{}", figure.missing);
        }
        for counts in ["[]", "[[2, 1], [1, 1]]", "[[1, 0]]", "[[1, -1]]", "7"] {
            let why = Stored::parse(&json(counts)).unwrap_err().to_string();
            assert!(why.contains("distribution") || why.contains("not a stored result"), "{why}");
        }
    }
}
