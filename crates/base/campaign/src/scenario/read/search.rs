//! Reads the section `[search]`.

use std::time::Duration;

use crate::description::RigDescription;
use crate::metric::{Metric, MetricKind};
use crate::search::mlr::GOALS_MAX;
use crate::value::Value;

use super::super::search::{After, Find, Load, SHARES_MAX, Search};
use super::super::{Axis, Sweep, SweepMode, core};
use super::{Node, Reader, Values, text, unknown, whole};

impl Reader<'_> {
    pub(super) fn search(&mut self, root: &Node) -> Option<Search> {
        let node = root.child("search")?;
        let values = self.section_but(root, "search", &core::search(), "knobs");
        let kind = text(&values, "search.type")?;
        let trials = whole(&values, "search.trials");
        if kind == "tune" {
            return self.tune(node, &values, trials?);
        }
        let load = self.load(node, &values)?;
        let number = |key: &str| values.get(key).and_then(Value::number);
        if kind == "knee" {
            let metric = self.metric(node, "metric", text(&values, "search.metric")?)?;
            return Some(Search::Knee { load, metric, at_most: number("search.at_most")?, trials: trials? });
        }
        if self.rig.metric("loss_ratio").is_none() {
            let sentence =
                format!("rig \"{}\" measures no `loss_ratio`, which a rate search needs", self.rig.name);
            self.errors.push(node.error(sentence));
        }
        if kind == "mlr" {
            return Some(Search::Mlr {
                load,
                loss_ratios: self.loss_ratios(node, &values)?,
                exceed_ratio: number("search.exceed_ratio")?,
                sum: whole(&values, "search.sum")?,
                initial: number("search.initial")?,
                budget: values.get("search.budget").and_then(Value::span)?,
            });
        }
        if kind == "plr" {
            self.per_second(node, &load);
            let budget = values.get("search.budget").and_then(Value::span)?;
            return Some(Search::Plr { load, target: number("search.target")?, budget });
        }
        let loss_ratio = if kind == "ndr" { 0.0 } else { number("search.loss_ratio")? };
        Some(Search::Rate { load, loss_ratio, trials: trials? })
    }

    fn tune(&mut self, node: &Node, values: &Values, trials: u32) -> Option<Search> {
        let before = self.errors.len();
        let mut entries = Vec::new();
        if let Some(knobs) = node.child("knobs") {
            knobs.flatten("", &mut entries);
        }
        let knobs: Vec<Axis> =
            entries.iter().filter_map(|(path, node)| self.axis(path, node, SweepMode::Outer)).collect();
        if knobs.is_empty() && self.errors.len() == before {
            self.errors
                .push(node.error("a search of type \"tune\" needs [search.knobs] with lists of values"));
        }
        let metric = self.metric(node, "metric", text(values, "search.metric")?)?;
        Some(Search::Tune { metric, knobs, trials })
    }

    fn load(&mut self, node: &Node, values: &Values) -> Option<Load> {
        let axis = text(values, "search.axis")?.to_owned();
        if let Some(key) = self.rig.keys.iter().find(|key| key.path == axis) {
            if key.kind.accept(&Value::Float(1.0)).is_err() && key.kind.accept(&Value::Int(1)).is_err() {
                self.errors.push(
                    node.error(format!("`search.axis`: `{axis}` is not a number, so it is not a load")),
                );
            }
        } else {
            let known: Vec<&str> = self.rig.keys.iter().map(|key| key.path.as_str()).collect();
            self.errors.push(node.child("axis").unwrap_or(node).error(unknown(&axis, &known)));
        }
        let number = |key: &str| values.get(key).and_then(Value::number);
        let min = number("search.min")?;
        let max = number("search.max")?;
        if min >= max || min <= 0.0 {
            self.errors.push(node.error("`search.min` must be above 0 and below `search.max`"));
        }
        let after = self.after(node, values)?;
        let find = values.get("search.find").and_then(Value::text).and_then(Find::from_name);
        let precision = number("search.precision").unwrap_or(0.01);
        Some(Load { axis, min, max, precision, after, find: find.unwrap_or_default() })
    }

    /// Reads `latency_at` and `latency_of`.
    fn after(&mut self, node: &Node, values: &Values) -> Option<After> {
        let Some(Value::List(list)) = values.get("search.latency_at") else { return None };
        let shares: Vec<f64> = list.iter().filter_map(Value::number).collect();
        let metric = text(values, "search.latency_of")?.to_owned();
        let twice = shares.iter().enumerate().any(|(at, share)| shares[..at].contains(share));
        if shares.len() > SHARES_MAX || twice || shares.contains(&0.0) {
            self.errors.push(node.child("latency_at").unwrap_or(node).error(format!(
                "`search.latency_at` must be at most {SHARES_MAX} different shares above 0, such as [0.1, 0.5, 0.9, 1]"
            )));
        }
        let all = self.rig.metrics.iter().filter(|own| own.kind == MetricKind::Histogram);
        let known: Vec<&str> =
            all.map(|own| own.name.as_str()).filter(|own| !own.starts_with("search.")).collect();
        if !shares.is_empty() && !known.contains(&metric.as_str()) {
            let sentence = format!(
                "`search.latency_of`: `{metric}` is not a distribution of rig \"{}\"; it has {}",
                self.rig.name,
                known.join(", ")
            );
            self.errors.push(node.child("latency_of").unwrap_or(node).error(sentence));
        }
        Some(After { shares, metric })
    }

    /// Refuses trials that are too short to show missing responses.
    pub(super) fn trial_length(&mut self, node: &Node, trial: Duration, settings: &Values) {
        let least = self.rig.trial_at_least(settings);
        let over_load =
            node.child("type").and_then(Node::value).is_none_or(|kind| kind.text() != Some("tune"));
        let Some(timeout) = self.rig.response_timeout.filter(|_| over_load && trial < least) else { return };
        let span = crate::value::format_span;
        let setting = timeout.setting.map(|path| format!(" (`{path}`)")).unwrap_or_default();
        self.errors.push(node.error(format!(
            "a trial of {} is too short: a request counts as lost after {}{setting}; the shortest useful \
             `measure.duration`, without what is trimmed, is {}",
            span(trial),
            span(timeout.for_settings(settings)),
            span(least)
        )));
    }

    /// Checks that the load of a soak is a rate per second, because a soak counts packets.
    fn per_second(&mut self, node: &Node, load: &Load) {
        let unit = self.rig.keys.iter().find(|key| key.path == load.axis).map(|key| key.unit.as_str());
        if unit.is_some_and(|unit| unit != "1/s") {
            self.errors.push(node.error(format!(
                "`search.axis`: a soak needs a load in 1/s, and `{}` has another unit",
                load.axis
            )));
        }
    }

    fn loss_ratios(&mut self, node: &Node, values: &Values) -> Option<Vec<f64>> {
        let Some(Value::List(list)) = values.get("search.loss_ratios") else { return None };
        let ratios: Vec<f64> = list.iter().filter_map(Value::number).collect();
        let twice = ratios.iter().enumerate().any(|(at, ratio)| ratios[..at].contains(ratio));
        if ratios.is_empty() || ratios.len() > GOALS_MAX || twice {
            self.errors.push(node.child("loss_ratios").unwrap_or(node).error(format!(
                "`search.loss_ratios` must be 1 to {GOALS_MAX} different ratios, such as [0, 0.005]"
            )));
        }
        Some(ratios)
    }
}

/// Returns the metrics of the trials after a search: a distribution at each share of the found load. Ignores invalid
/// values, which other code reports.
pub(super) fn seen_after(node: &Node, rig: &RigDescription) -> Vec<Metric> {
    let Some(Value::List(shares)) = node.child("latency_at").and_then(Node::value) else { return Vec::new() };
    let given = node.child("latency_of").and_then(Node::value);
    let metric = given.as_ref().and_then(Value::text).unwrap_or(core::LATENCY).to_owned();
    After { shares: shares.iter().filter_map(Value::number).collect(), metric }.metrics(rig)
}

/// Returns the load of a rate search as an axis without values.
pub(super) fn searched(rig: &RigDescription, search: Option<&Search>) -> Option<Axis> {
    let load = search?.load()?;
    let key = rig.keys.iter().find(|key| key.path == load.axis)?;
    let unit = key.unit.clone();
    let about = key.comment.clone();
    Some(Axis { path: load.axis.clone(), values: Vec::new(), unit, about, apart: key.apart })
}

pub(super) fn swept_paths(sweep: Option<&Sweep>, search: Option<&Search>) -> Vec<String> {
    let knobs = match search {
        Some(Search::Tune { knobs, .. }) => knobs.as_slice(),
        _ => &[],
    };
    let axes = sweep.iter().flat_map(|sweep| &sweep.axes).chain(knobs).map(|axis| &axis.path);
    axes.chain(search.and_then(Search::load).map(|load| &load.axis)).cloned().collect()
}

/// Maximum duration of a soak in a smoke run.
const QUICK_SOAK: Duration = Duration::from_secs(5);

/// Reduces a search to the effort of a smoke run.
pub(super) fn shrink(search: &mut Search) {
    match search {
        Search::Rate { load, trials, .. } | Search::Knee { load, trials, .. } => {
            *trials = (*trials).min(6);
            load.precision = load.precision.max(0.1);
        }
        Search::Mlr { load, sum, .. } => {
            *sum = (*sum).min(3);
            load.precision = load.precision.max(0.1);
        }
        Search::Plr { budget, .. } => *budget = (*budget).min(QUICK_SOAK),
        Search::Tune { trials, .. } => *trials = (*trials).min(4),
    }
}
