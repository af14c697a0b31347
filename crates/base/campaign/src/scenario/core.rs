//! The keys common to all scenarios, independent of the rig.

use std::time::Duration;

use crate::keys;
use crate::schema::{Key, Kind};
use crate::value::Value;

use super::search::Find;
use super::{Class, PlotKind, Shape, SweepMode};

/// Keys of the whole file.
pub(super) fn top() -> Vec<Key> {
    keys! {
        ("title", Kind::Text, "what the reader sees first");
        ("about", Kind::Text, "a paragraph for the reader").optional();
        ("rig", Kind::Text, "what is measured");
        ("extends", Kind::Text, "another scenario file of which this one is a change").optional();
        ("paper.work", Kind::Text, "short name of the published work").optional();
        ("paper.figure", Kind::Text, "the figure that is reproduced").optional();
        ("paper.table", Kind::Text, "the table that is reproduced").optional();
    }
}

/// `[measure]`.
pub(super) fn measure() -> Vec<Key> {
    keys! {
        ("measure.duration", Kind::Span, "recorded time of each repeat").or(Duration::from_secs(10));
        ("measure.warm_up", Kind::Span, "load before recording").or(Duration::from_secs(1));
        ("measure.trim", Kind::Span, "cut from both ends of the recorded time").or(Duration::ZERO);
        ("measure.repeats", Kind::Int { min: 1, max: 1000 }, "3 or more give an interval").or(5);
        ("measure.timeout", Kind::Span, "the most that a repeat may take; otherwise thrice the expected").optional();
        ("measure.seed", Kind::count(), "of the order and of the load").or(1);
        ("measure.order", Kind::choice(&["random", "given"]), "of the points within each repeat").or("random");
        ("measure.confidence", Kind::Float { min: 0.5, max: 0.9999 }, "of intervals").or(0.95);
        ("measure.paired", Kind::Bool, "one seed for a repeat at all points, and points compared repeat by repeat: for what is simulated").or(false);
    }
}

/// `[sweep]` without its axes.
pub(super) fn sweep() -> Vec<Key> {
    let comment =
        "outer: every combination; joint: first with first, second with second; none: a single point";
    vec![Key::new("sweep.mode", Kind::choice(&SweepMode::ALL.map(SweepMode::name)), comment).or("outer")]
}

/// Default distribution to measure after a search.
pub(super) const LATENCY: &str = "latency_ns";

/// `[search]` without its knobs.
pub(super) fn search() -> Vec<Key> {
    let rate: &[&str] = &["ndr", "pdr", "mlr", "plr", "knee"];
    let mlr: &[&str] = &["mlr"];
    let number = Kind::positive;
    let ratios = Value::List(vec![Value::Float(0.0), Value::Float(0.005)]);
    keys! {
        ("search.type", Kind::choice(&["ndr", "pdr", "mlr", "plr", "knee", "tune"]), "ndr: no loss; pdr: some loss; mlr: several of them, each from many trials; plr: a soak, some loss on average; knee: an objective; tune: the best of some knobs");
        ("search.axis", Kind::Text, "the setting that is the load").when("search.type", rate);
        ("search.min", number(), "smallest load").when("search.type", rate);
        ("search.max", number(), "largest load").when("search.type", rate);
        ("search.find", Kind::choice(&Find::ALL.map(Find::name)), "which passing value is looked for: the largest load, or the smallest link, number of cores, ...").or(Find::Largest.name()).when("search.type", &["knee"]);
        ("search.loss_ratio", Kind::share(), "lost by sent that is allowed").or(0.005).when("search.type", &["pdr"]);
        ("search.loss_ratios", Kind::List(Box::new(Kind::share())), "lost by sent that each goal allows").or(ratios).when("search.type", mlr);
        ("search.exceed_ratio", Kind::Float { min: 0.0, max: 0.99 }, "share of the time at a load that may lose more").or(0.5).when("search.type", mlr);
        ("search.sum", Kind::Int { min: 1, max: 1000 }, "full trials at one load that settle it").or(21).when("search.type", mlr);
        ("search.initial", Kind::Float { min: 0.01, max: 1.0 }, "length of the first trials, as a share of the full ones").or(1.0).when("search.type", mlr);
        ("search.budget", Kind::Span, "the most time of all trials of a repeat").or(Duration::from_secs(1200)).when("search.type", &["mlr", "plr"]);
        ("search.target", Kind::Float { min: 1e-9, max: 0.5 }, "lost by sent on average at the load that is looked for").or(1e-7).when("search.type", &["plr"]);
        ("search.metric", Kind::Text, "metric of the objective").when("search.type", &["knee", "tune"]);
        ("search.at_most", Kind::any_number(), "what the metric must not exceed").when("search.type", &["knee"]);
        ("search.precision", Kind::Float { min: 1e-4, max: 0.5 }, "width of the result, relative").or(0.01).when("search.type", &["ndr", "pdr", "mlr", "knee"]);
        ("search.latency_at", Kind::List(Box::new(Kind::share())), "shares of the load found at which a trial each is made after the search, for latency_of").or(Value::List(Vec::new())).when("search.type", rate);
        ("search.latency_of", Kind::Text, "the distribution that these trials are made for").or(LATENCY).when("search.type", rate);
        ("search.trials", Kind::Int { min: 2, max: 1000 }, "the most trials in one repeat").or(30).when("search.type", &["ndr", "pdr", "knee", "tune"]);
    }
}

/// `[[plot]]` without its filter.
pub(super) fn plot() -> Vec<Key> {
    let number = Kind::any_number;
    let kinds = PlotKind::ALL.map(PlotKind::name);
    keys! {
        ("plot.title", Kind::Text, "caption").or("");
        ("plot.type", Kind::choice(&kinds), "lines over numbers, otherwise bars").optional();
        ("plot.x", Kind::Text, "axis or metric across");
        ("plot.y", Kind::Text, "metric upwards (of heat and iso: the second axis)");
        ("plot.group_by", Kind::Text, "axis whose values become series").optional();
        ("plot.z", Kind::Text, "metric of a heat map's colour, of lines of equal value (iso), or that a waterfall's sum never exceeds").optional();
        ("plot.levels", Kind::List(Box::new(number())), "values of iso's lines; otherwise round ones").optional();
        ("plot.stack", Kind::List(Box::new(Kind::Text)), "series that are stacked upon y, the next above (areas); metrics that come behind it (waterfall)").optional();
        ("plot.log", Kind::choice(&["", "x", "y", "xy"]), "logarithmic axes").or("");
        ("plot.zero", Kind::choice(&["", "x", "y", "xy"]), "axes that begin at 0, if not logarithmic").or("xy");
    }
}

/// `[[expect]]` without its tables.
pub(super) fn expect() -> Vec<Key> {
    let shapes = Shape::ALL.map(Shape::name);
    let number = Kind::any_number;
    keys! {
        ("expect.metric", Kind::Text, "which metric");
        ("expect.value", number(), "the paper's number").optional();
        ("expect.tolerance", Kind::positive(), "share by which ours may differ").or(0.1);
        ("expect.at_least", number(), "smallest").optional();
        ("expect.at_most", number(), "largest").optional();
        ("expect.ratio", number(), "metric(where) by metric(against)").optional();
        ("expect.along", Kind::Text, "axis of an order or a shape").optional();
        ("expect.shape", Kind::choice(&shapes), "how the metric goes along the axis").optional();
        ("expect.source", Kind::Text, "where the number comes from").or("");
        ("expect.class", Kind::choice(&Class::ALL.map(Class::name)), "paper: the work states it, where `source` says; tuned: a setting was chosen to meet it; own: ours. Otherwise paper if the scenario names a work and the expectation a source").optional();
        ("expect.tuned", Kind::Text, "the setting that was chosen to meet it; its class is tuned").or("");
        ("expect.cause", Kind::Text, "why it is known not to hold here").or("");
        ("expect.required", Kind::Bool, "a miss is a failure, not a difference").or(false);
    }
}

/// Sections that belong to the campaign and to no rig.
pub(super) const SECTIONS: [&str; 11] =
    ["title", "about", "rig", "extends", "paper", "measure", "sweep", "search", "plot", "expect", "settings"];
