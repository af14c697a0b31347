//! Intermediate results of a running campaign: curves over the offered load, and the trials of the search. They are
//! drawn like the figures of a report, but from measured windows whose repeat may not have finished yet.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ranlab_campaign::export::Table;
use ranlab_campaign::metric::{Better, MetricKind, UNSENT_AT_MOST};
use ranlab_campaign::results::{Finished, PointResult, Results};
use ranlab_campaign::rig::{Metric, Outcome};
use ranlab_campaign::run::{Event, Window};
use ranlab_campaign::search::TrialOutcome;
use ranlab_campaign::trials::{SearchTrial, keep};
use ranlab_campaign::value::Value;

use super::figure::{Across, Figure, Form, Sample, Series};
use super::{trials, words};

/// Maximum number of stored windows; the oldest are dropped.
const WINDOWS_MAX: usize = 5_000;
/// Maximum number of metrics in a figure.
const LINES_MAX: usize = 4;
/// Percentiles of the latency that are drawn.
const PERCENTILES: [&str; 3] = ["_p50", "_p99", "_p999"];

/// Metrics that contain the result of a search.
const FOUND: [&str; 2] = ["search.load", "search.best"];

struct WindowMeans {
    point: usize,
    x: Option<f64>,
    metrics: BTreeMap<String, f64>,
}

/// Data of a running campaign, from which the figures are drawn.
pub struct LiveCampaign {
    /// The campaign without its runs: names and units.
    campaign: Results,
    /// Setting of the horizontal axis, if it is a number.
    across: Option<String>,
    windows: VecDeque<WindowMeans>,
    /// The search in progress: its point, its repeat and its trials.
    search: Option<(usize, u32, Vec<SearchTrial>)>,
}

impl std::fmt::Debug for LiveCampaign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveCampaign").field("windows", &self.windows.len()).finish_non_exhaustive()
    }
}

impl LiveCampaign {
    /// Starts with the earlier results of a campaign.
    pub fn new(before: &Results) -> Self {
        let searched =
            before.scenario.search.as_ref().and_then(|search| search.load()).map(|load| load.axis.clone());
        let numbers = |values: &[Value]| values.len() > 1 && values.iter().all(|it| it.number().is_some());
        let swept = || {
            let mut axes = before.scenario.sweep.axes.iter();
            axes.find(|axis| numbers(&axis.values)).map(|axis| axis.path.clone())
        };
        let across = if before.scenario.search.is_some() { searched } else { swept() };
        let bare = |point: &PointResult| PointResult { point: point.point.clone(), runs: Vec::new() };
        let campaign = Results { points: before.points.iter().map(bare).collect(), ..before.clone() };
        let mut watched = Self { campaign, across, windows: VecDeque::new(), search: None };
        // A stored search has only its result, so its runs are not replayed; the report has its trials.
        let kept = before.points.iter().filter(|_| before.scenario.search.is_none());
        let mut runs: Vec<&Finished> = kept.flat_map(|point| &point.runs).collect();
        runs.sort_by_key(|run| run.started_unix_ms);
        for run in runs.into_iter().filter(|run| run.outcome.counts()) {
            watched.remember(run.point, &BTreeMap::new(), run.recording.metrics.clone());
        }
        watched
    }

    /// Processes an event; returns whether it changes a figure.
    pub fn take(&mut self, event: &Event) -> bool {
        let Event::Measured { point, repeat, window } = event else { return false };
        self.trial(*point, *repeat, window);
        if window.outcome.counts() {
            self.remember(*point, &window.settings, window.metrics.clone());
        }
        true
    }

    fn remember(&mut self, point: usize, settings: &BTreeMap<String, Value>, metrics: BTreeMap<String, f64>) {
        let of_point = self.campaign.points.get(point).map(|point| &point.point.settings);
        let value = |path: &String| settings.get(path).or_else(|| of_point?.get(path))?.number();
        let x = self.across.as_ref().and_then(value);
        if self.windows.len() >= WINDOWS_MAX {
            self.windows.pop_front();
        }
        self.windows.push_back(WindowMeans { point, x, metrics });
    }

    /// Records a trial of a search over load with its result, with the same classification as in the search.
    fn trial(&mut self, point: usize, repeat: u32, window: &Window) {
        let Some(search) = &self.campaign.scenario.search else { return };
        if self.search.as_ref().is_none_or(|(own, of, _)| (*own, *of) != (point, repeat)) {
            self.search = Some((point, repeat, Vec::new()));
        }
        let Some((load, (metric, at_most))) = search.load().zip(search.goals().first().copied()) else {
            return;
        };
        let load = window.settings.get(&load.axis).and_then(Value::number);
        let Some((load, value)) = load.zip(window.metrics.get(metric).copied()) else { return };
        let unsent = self.campaign.metrics.iter().filter(|metric| metric.unsent_share);
        let unsent =
            unsent.filter_map(|metric| window.metrics.get(&metric.name)).any(|share| *share > UNSENT_AT_MOST);
        let gave = match (unsent, value <= at_most) {
            (true, _) => TrialOutcome::Unsent,
            (_, true) => TrialOutcome::Pass,
            (_, false) => TrialOutcome::Fail,
        };
        // A window that failed because of the measurement itself is measured again, so it does not count as a trial.
        if window.outcome.counts() || unsent {
            self.search.iter_mut().for_each(|(.., tried)| {
                tried.push(SearchTrial { load, value, share: window.share, gave });
            });
        }
    }

    /// Returns the headline numbers of an event with units, at most `most`, or none without a measurement.
    ///
    /// For a finished repeat of a search, the numbers are the result of the search, not the last of its trials.
    pub fn numbers(&self, event: &Event, most: usize) -> Vec<String> {
        match event {
            Event::Measured { window, .. } if window.outcome.counts() => {
                let load = self.across.as_ref().and_then(|path| {
                    let load = window.settings.get(path)?.number()?;
                    Some(format!("{path} {}", ranlab_campaign::value::short(load)))
                });
                self.headline(load, &window.metrics, most)
            }
            Event::Finished { outcome, metrics, .. } if outcome.counts() => {
                self.headline(None, metrics, most)
            }
            _ => Vec::new(),
        }
    }

    fn headline(&self, load: Option<String>, metrics: &BTreeMap<String, f64>, most: usize) -> Vec<String> {
        let found = FOUND.into_iter().map(str::to_owned);
        let groups = self.groups(metrics);
        let names = groups.into_iter().flat_map(|(_, names)| names.into_iter().take(2));
        let numbers = found.chain(names).filter_map(|name| {
            let value = metrics.get(&name)?;
            let unit = self.campaign.unit(&name);
            Some(format!("{name} {} {unit}", ranlab_campaign::value::short(*value)).trim_end().to_owned())
        });
        load.into_iter().chain(numbers).take(most).collect()
    }

    /// Returns the curves of the current measurement, and the trials of the current search.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures: Vec<Figure> =
            self.recorded_last().into_iter().map(|(title, names)| self.curve(title, &names)).collect();
        figures.extend(self.trials());
        figures
    }

    /// Returns the groups of the metrics that the last window recorded.
    fn recorded_last(&self) -> Vec<(&'static str, Vec<String>)> {
        self.windows.back().map_or_else(Vec::new, |seen| self.groups(&seen.metrics))
    }

    /// Groups the recorded metrics of throughput, latency and losses. Returns the title of each figure, and its
    /// metrics.
    fn groups(&self, metrics: &BTreeMap<String, f64>) -> Vec<(&'static str, Vec<String>)> {
        let recorded = |name: &String| metrics.contains_key(name);
        let alike = |fits: &dyn Fn(&Metric) -> bool| -> Vec<String> {
            let own = |metric: &&Metric| recorded(&metric.name) && fits(metric);
            let mut all = self.campaign.metrics.iter().filter(own).peekable();
            let unit = all.peek().map(|metric| metric.unit.clone()).unwrap_or_default();
            all.filter(|metric| metric.unit == unit).map(|m| m.name.clone()).take(LINES_MAX).collect()
        };
        let scalar = |metric: &Metric| metric.kind == MetricKind::Scalar;
        let rates = alike(&|m| scalar(m) && m.better == Better::Higher && m.unit.ends_with("/s"));
        let lost = |name: &str| ["loss", "lost", "unsent", "drop"].iter().any(|word| name.contains(word));
        let losses = alike(&|m| scalar(m) && (m.unsent_share || lost(&m.name)));
        let mut latency = self.campaign.metrics.iter().filter(|metric| {
            let timed = ["ns", "us", "ms", "s"].contains(&metric.unit.as_str());
            metric.kind == MetricKind::Histogram && timed && metric.better == Better::Lower
        });
        let percentiles = |metric: &Metric| -> Vec<String> {
            PERCENTILES.iter().map(|of| format!("{}{of}", metric.name)).filter(&recorded).collect()
        };
        let latency = latency.find_map(|metric| Some(percentiles(metric)).filter(|names| !names.is_empty()));
        [("Throughput", rates), ("Latency", latency.unwrap_or_default()), ("Losses", losses)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .collect()
    }

    /// Returns the windows that differ from the last one only in the horizontal setting.
    fn alike(&self) -> Vec<&WindowMeans> {
        let Some(last) = self.windows.back() else { return Vec::new() };
        let axes = |point: usize| -> Vec<&(String, Value)> {
            let axes = self.campaign.points.get(point).map(|point| &point.point.axes);
            let elsewhere = |(path, _): &&(String, Value)| self.across.as_ref() != Some(path);
            axes.into_iter().flatten().filter(elsewhere).collect()
        };
        let position = axes(last.point);
        self.windows.iter().filter(|seen| axes(seen.point) == position).collect()
    }

    fn curve(&self, title: &str, names: &[String]) -> Figure {
        let windows = self.alike();
        let results = &self.campaign;
        let last = self.windows.back().map_or(0, |seen| seen.point);
        let x_label = self.across.as_ref().map_or_else(
            || "windows, in the order of measuring".to_owned(),
            |path| words::label(results, path, false),
        );
        let series = (0..).zip(names).map(|(color, name)| {
            let mut at: Vec<(f64, f64)> = (1..)
                .zip(&windows)
                .filter_map(|(n, seen)| {
                    Some((seen.x.unwrap_or_else(|| f64::from(n)), *seen.metrics.get(name)?))
                })
                .collect();
            at.sort_by(|a, b| a.0.total_cmp(&b.0));
            let samples = at.chunk_by(|a, b| a.0 == b.0).map(|here| {
                let values = || here.iter().map(|(_, y)| *y);
                let low = values().fold(f64::INFINITY, f64::min);
                let high = values().fold(f64::NEG_INFINITY, f64::max);
                let y = values().sum::<f64>() / here.len() as f64;
                Sample { x: here[0].0, y, low, high, ends: (low, high) }
            });
            Series { name: name.clone(), form: Form::Band, color, samples: samples.collect() }
        });
        let unit = names.first().map_or("", |name| results.unit(name));
        let place = results.points.get(last).map(|point| point.point.label()).unwrap_or_default();
        Figure {
            title: format!("{title} so far, against {x_label}"),
            caption: format!(
                "Line and band: mean of the {} windows measured so far, from the smallest to the largest value at each \
                 position; the last window is at {place}.",
                windows.len()
            ),
            missing: String::new(),
            x: Across::Numbers { log: false },
            x_label,
            y_label: words::in_unit(&title.to_lowercase(), unit),
            log_y: false,
            zero: (false, true),
            series: series.collect(),
            marks: Vec::new(),
            bounds: Vec::new(),
            answer: None,
            table: Table::default(),
        }
    }

    /// Draws the trials of the search in progress, in the same way as the report.
    fn trials(&self) -> Option<Figure> {
        let (point, repeat, tried) = self.search.as_ref()?;
        let mut own = Finished {
            point: 0,
            repeat: *repeat,
            position: 0,
            outcome: Outcome::Ok,
            reason: String::new(),
            recording: ranlab_campaign::record::Recording::default(),
            started_unix_ms: 0,
            elapsed: Duration::ZERO,
        };
        if tried.is_empty() {
            return None;
        }
        keep(&mut own.recording, tried);
        let place = *point;
        let point = self.campaign.points.get(place)?.point.clone();
        let results =
            Results { points: vec![PointResult { point, runs: vec![own] }], ..self.campaign.clone() };
        let mut figure = trials::figures(&results).pop()?;
        figure.title.push_str(&format!(
            ": the search in progress, at {}",
            self.campaign.points.get(place)?.point.label()
        ));
        Some(figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_campaign::mock::MockRig;
    use ranlab_campaign::plan::Plan;
    use ranlab_campaign::results::MemoryJournal;
    use ranlab_campaign::rig::{Rig, Stop};
    use ranlab_campaign::scenario::{Overrides, Scenario};

    /// Returns the figures after each event that changed them, and the results.
    fn watch(text: &str) -> (Vec<Vec<Figure>>, LiveCampaign, Results) {
        let text = format!("title = \"t\"\nrig = \"mock\"\n{text}");
        let rig = MockRig::default();
        let scenario = Scenario::parse(&text, "test.toml", &Overrides::default(), &[rig.describe()]).unwrap();
        let plan = Plan::new(&scenario, &rig.describe());
        let metrics = rig.describe().metrics;
        let before = Results::new(scenario.clone(), metrics, plan.points.clone(), Vec::new());
        let mut watched = LiveCampaign::new(&before);
        let mut seen = Vec::new();
        let mut journal = MemoryJournal::default();
        let mut hear = |event: Event| {
            if watched.take(&event) {
                seen.push(watched.figures());
            }
        };
        ranlab_campaign::run::run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut hear)
            .unwrap();
        let results = Results::new(scenario, before.metrics, plan.points, journal.finished);
        (seen, watched, results)
    }

    #[test]
    fn curves_of_points_grow_with_each_window() {
        let (seen, _, results) = watch(
            "[sweep.axes]\n\"load.workers\" = [1, 2, 4]\n\"sut.noise\" = [0.0, 0.1]\n[measure]\nrepeats = 2\norder = \"given\"",
        );
        assert_eq!(seen.len(), 12);
        let throughput = &seen[11][0];
        assert!(throughput.title.starts_with("Throughput so far, against "), "{}", throughput.title);
        let series = &throughput.series[0];
        assert_eq!((series.name.as_str(), series.samples.len()), ("throughput", 3));
        // The curve has only the points with the value of `sut.noise` that was measured last.
        for (sample, point) in series.samples.iter().zip(results.points.iter().skip(1).step_by(2)) {
            let mean = point.summary("throughput", 0.95).unwrap();
            assert!((sample.y - mean.mean).abs() < 1e-9 && (sample.low, sample.high) == (mean.min, mean.max));
        }
        let latency = seen[11].iter().find(|figure| figure.title.starts_with("Latency")).unwrap();
        assert_eq!(latency.series.len(), 3, "latency must be drawn as three percentiles");
        assert!(seen[11].iter().any(|figure| figure.title.starts_with("Losses")));
        // A resumed campaign starts with the stored results.
        let again = LiveCampaign::new(&results).figures();
        assert_eq!(again[0].series, throughput.series);
    }

    fn finished(outcome: Outcome, metrics: &[(&str, f64)]) -> Event {
        let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Event::Finished {
            point: 1,
            repeat: 0,
            outcome,
            reason: String::new(),
            metrics,
            left: 0,
            remaining: Duration::ZERO,
        }
    }

    #[test]
    fn progress_line_shows_only_numbers_of_its_point() {
        let (_, watched, _) = watch("[sweep.axes]\n\"load.workers\" = [1, 2]\n[measure]\nrepeats = 1");
        // So far only other points were measured, so this point has no numbers.
        assert_eq!(watched.numbers(&finished(Outcome::Unmeasurable, &[]), 3), [""; 0]);
        assert_eq!(watched.numbers(&finished(Outcome::Invalid, &[("throughput", 5.0)]), 3), [""; 0]);
        assert_eq!(watched.numbers(&finished(Outcome::Ok, &[]), 3), [""; 0]);
        let own = watched.numbers(&finished(Outcome::Ok, &[("throughput", 5.0)]), 3);
        assert!(own.len() == 1 && own[0].starts_with("throughput 5"), "{own:?}");
    }

    #[test]
    fn finished_search_reports_answer_not_last_trial() {
        let (_, watched, _) = watch(
            "[sut]\nlaw = \"queue\"\n[load]\nrequests = 500\n[measure]\nrepeats = 1\n[search]\ntype = \"knee\"\naxis = \"load.rate\"\n\
             min = 1000.0\nmax = 9900.0\nmetric = \"rtt_us_p99\"\nat_most = 2000.0",
        );
        let answer =
            watched.numbers(&finished(Outcome::Ok, &[("search.load", 999.7), ("loss_ratio", 0.0)]), 3);
        assert!(answer[0].starts_with("search.load 999.7"), "{answer:?}");
    }

    #[test]
    fn running_search_shows_trials_like_report() {
        let (seen, _, results) = watch(
            "[sut]\nlaw = \"queue\"\n[load]\nrequests = 5000\n[measure]\nrepeats = 1\n[search]\ntype = \"knee\"\naxis = \"load.rate\"\n\
             min = 1000.0\nmax = 9900.0\nmetric = \"rtt_us_p99\"\nat_most = 2000.0",
        );
        let live = seen.last().unwrap().last().unwrap();
        let kept = trials::figures(&results).pop().unwrap();
        assert_eq!((&live.series, &live.bounds), (&kept.series, &kept.bounds));
        let curve = &seen.last().unwrap()[0];
        assert_eq!(curve.x_label, kept.x_label);
        assert!(curve.series[0].samples.len() >= 3);
    }
}
