//! The keys common to all scenarios, independent of the rig.

use std::time::Duration;

use crate::keys;
use crate::schema::{Key, Kind};
use crate::value::Value;

use super::search::Find;
use super::{Class, PlotKind, Shape, SweepMode};

/// Returns the keys of the whole file.
pub(super) fn top() -> Vec<Key> {
    keys! {
        ("title", Kind::Text, "title of the report");
        ("about", Kind::Text, "description of the experiment, for readers of the report").optional();
        ("rig", Kind::Text, "kind of experiment; `ranlab bench list` names all");
        ("extends", Kind::Text, "path of a scenario that this one extends: keys in this file replace those of the other").optional();
        ("paper.work", Kind::Text, "short name of the published work").optional();
        ("paper.figure", Kind::Text, "figure of the work that is reproduced").optional();
        ("paper.table", Kind::Text, "table of the work that is reproduced").optional();
    }
}

/// Returns the keys of `[measure]`.
pub(super) fn measure() -> Vec<Key> {
    keys! {
        ("measure.duration", Kind::Span, "recorded time of each repeat").or(Duration::from_secs(10));
        ("measure.warm_up", Kind::Span, "time under load before recording").or(Duration::from_secs(1));
        ("measure.trim", Kind::Span, "time that is cut from both ends of the recorded time").or(Duration::ZERO);
        ("measure.repeats", Kind::Int { min: 1, max: 1000 }, "repeats of each point; 3 or more give a confidence interval").or(5);
        ("measure.timeout", Kind::Span, "time limit of a repeat; default: three times its expected duration").optional();
        ("measure.seed", Kind::count(), "seed of the order of points and of random load").or(1);
        ("measure.order", Kind::choice(&["random", "given"]), "order of the points within each repeat").or("random");
        ("measure.confidence", Kind::Float { min: 0.5, max: 0.9999 }, "level of confidence intervals").or(0.95);
        ("measure.paired", Kind::Bool, "use the same seed for all points of a repeat, and compare points repeat by repeat; for simulations").or(false);
    }
}

/// Returns the keys of `[sweep]` without its axes.
pub(super) fn sweep() -> Vec<Key> {
    let comment = "outer: all combinations of values; joint: the first values of all axes, then the second ones, ...; none: a single point";
    vec![Key::new("sweep.mode", Kind::choice(&SweepMode::ALL.map(SweepMode::name)), comment).or("outer")]
}

/// Default distribution to measure after a search.
pub(super) const LATENCY: &str = "latency_ns";

/// Returns the keys of `[search]` without its knobs.
pub(super) fn search() -> Vec<Key> {
    let rate: &[&str] = &["ndr", "pdr", "mlr", "plr", "knee"];
    let mlr: &[&str] = &["mlr"];
    let number = Kind::positive;
    let ratios = Value::List(vec![Value::Float(0.0), Value::Float(0.005)]);
    keys! {
        ("search.type", Kind::choice(&["ndr", "pdr", "mlr", "plr", "knee", "tune"]), "ndr: largest load without loss; pdr: with a loss up to loss_ratio; mlr: MLRsearch, several loss ratios from many trials; plr: a long soak at the load with a mean loss of target; knee: extreme load that meets an objective; tune: best setting of some knobs");
        ("search.axis", Kind::Text, "setting that is the load").when("search.type", rate);
        ("search.min", number(), "smallest load").when("search.type", rate);
        ("search.max", number(), "largest load").when("search.type", rate);
        ("search.find", Kind::choice(&Find::ALL.map(Find::name)), "value to find: the largest load, or the smallest resource (link rate, number of cores, ...)").or(Find::Largest.name()).when("search.type", &["knee"]);
        ("search.loss_ratio", Kind::share(), "allowed ratio of lost to sent load").or(0.005).when("search.type", &["pdr"]);
        ("search.loss_ratios", Kind::List(Box::new(Kind::share())), "allowed ratio of lost to sent load, one per goal").or(ratios).when("search.type", mlr);
        ("search.exceed_ratio", Kind::Float { min: 0.0, max: 0.99 }, "share of the trial time at a load in which the loss may exceed the ratio").or(0.5).when("search.type", mlr);
        ("search.sum", Kind::Int { min: 1, max: 1000 }, "number of full trials that decide about one load").or(21).when("search.type", mlr);
        ("search.initial", Kind::Float { min: 0.01, max: 1.0 }, "duration of the first trials, as a share of a full trial").or(1.0).when("search.type", mlr);
        ("search.budget", Kind::Span, "time limit of all trials in a repeat").or(Duration::from_secs(1200)).when("search.type", &["mlr", "plr"]);
        ("search.target", Kind::Float { min: 1e-9, max: 0.5 }, "mean ratio of lost to sent load at the load to find").or(1e-7).when("search.type", &["plr"]);
        ("search.metric", Kind::Text, "metric of the objective").when("search.type", &["knee", "tune"]);
        ("search.at_most", Kind::any_number(), "largest allowed value of the metric").when("search.type", &["knee"]);
        ("search.precision", Kind::Float { min: 1e-4, max: 0.5 }, "relative width of the result").or(0.01).when("search.type", &["ndr", "pdr", "mlr", "knee"]);
        ("search.latency_at", Kind::List(Box::new(Kind::share())), "shares of the found load; after the search, latency_of is measured in one trial at each").or(Value::List(Vec::new())).when("search.type", rate);
        ("search.latency_of", Kind::Text, "histogram that these trials measure").or(LATENCY).when("search.type", rate);
        ("search.trials", Kind::Int { min: 2, max: 1000 }, "maximum number of trials in a repeat").or(30).when("search.type", &["ndr", "pdr", "knee", "tune"]);
    }
}

/// Returns the keys of `[[plot]]` without its filter.
pub(super) fn plot() -> Vec<Key> {
    let number = Kind::any_number;
    let kinds = PlotKind::ALL.map(PlotKind::name);
    keys! {
        ("plot.title", Kind::Text, "caption of the figure").or("");
        ("plot.type", Kind::choice(&kinds), "kind of figure; default: lines for numeric x, otherwise bars").optional();
        ("plot.x", Kind::Text, "setting or metric of the horizontal axis");
        ("plot.y", Kind::Text, "metric of the vertical axis (heat, iso: setting)");
        ("plot.group_by", Kind::Text, "setting whose values become separate series").optional();
        ("plot.z", Kind::Text, "metric of the colour (heat), of the lines of equal value (iso), or of the upper limit (waterfall)").optional();
        ("plot.levels", Kind::List(Box::new(number())), "values of the lines (iso); default: round values").optional();
        ("plot.stack", Kind::List(Box::new(Kind::Text)), "series stacked on top of y (areas), or metrics that follow y (waterfall)").optional();
        ("plot.log", Kind::choice(&["", "x", "y", "xy"]), "axes with a logarithmic scale").or("");
        ("plot.zero", Kind::choice(&["", "x", "y", "xy"]), "axes that start at 0, unless logarithmic").or("xy");
    }
}

/// Returns the keys of `[[expect]]` without its tables.
pub(super) fn expect() -> Vec<Key> {
    let shapes = Shape::ALL.map(Shape::name);
    let number = Kind::any_number;
    keys! {
        ("expect.metric", Kind::Text, "name of the metric");
        ("expect.value", number(), "published value").optional();
        ("expect.tolerance", Kind::positive(), "allowed relative difference from `value`").or(0.1);
        ("expect.at_least", number(), "smallest expected value").optional();
        ("expect.at_most", number(), "largest expected value").optional();
        ("expect.ratio", number(), "expected ratio of the metric at `where` to the metric at `against`").optional();
        ("expect.along", Kind::Text, "setting along which `order` or `shape` applies").optional();
        ("expect.shape", Kind::choice(&shapes), "expected course of the metric along that setting").optional();
        ("expect.source", Kind::Text, "source of the value, such as a figure or a page").or("");
        ("expect.class", Kind::choice(&Class::ALL.map(Class::name)), "paper: the work states it at `source`; tuned: a setting was chosen to meet it; own: the scenario's own expectation. Default: paper if the scenario has a work and the expectation a source").optional();
        ("expect.tuned", Kind::Text, "setting that was chosen to meet the expectation; its class is then tuned").or("");
        ("expect.cause", Kind::Text, "known reason why it does not hold here").or("");
        ("expect.required", Kind::Bool, "a miss is a failure (exit code 1) instead of a difference").or(false);
    }
}

/// Sections that belong to the campaign instead of a rig.
pub(super) const SECTIONS: [&str; 11] =
    ["title", "about", "rig", "extends", "paper", "measure", "sweep", "search", "plot", "expect", "settings"];
