//! A scenario: swept settings, measurement, plots and expectations; the rig describes its own sections.

mod core;
mod json_schema;
mod read;
pub mod search;
mod template;
mod tree;
mod unanswered;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::description::RigDescription;
use crate::metric::Metric;
use crate::named::named;
use crate::renamed::Rename;
use crate::value::Value;

pub use json_schema::json_schema;
pub(crate) use read::applies;
pub use search::{After, Load, Search};
pub use template::{starter, template};
pub use unanswered::{Unanswered, unanswered};

/// Maximum points of a plan; limits the effect of a typing error in an axis.
pub const POINTS_MAX: usize = 100_000;

/// A checked scenario with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Title of the report.
    pub title: String,
    /// A paragraph for the reader, or empty.
    pub about: String,
    /// Paper that the scenario reproduces.
    pub paper: Option<Paper>,
    /// Name of the rig.
    pub rig: String,
    /// The rig's own sections by dotted path, defaults included.
    pub settings: BTreeMap<String, Value>,
    /// Settings that vary, and their values.
    pub sweep: Sweep,
    /// A search within each point.
    pub search: Option<Search>,
    /// The setting that a rate search varies, with the rig's description. The axis has no values.
    #[serde(default)]
    pub searched: Option<Axis>,
    /// Settings of the measurement.
    pub measure: Measure,
    /// Plots to draw.
    pub plots: Vec<Plot>,
    /// Expected values to compare with.
    pub expects: Vec<Expect>,
    /// Whether the scenario was reduced to a smoke run, which is watermarked and never a reproduction.
    pub quick: bool,
    /// Earlier names in the file and on the command line, which were replaced.
    #[serde(skip)]
    pub renamed: Vec<Rename>,
}

/// The published work that a scenario reproduces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paper {
    /// Short name of the work.
    pub work: String,
    /// Number of the reproduced figure, if it is a figure.
    pub figure: Option<String>,
    /// Number of the reproduced table, if it is a table.
    pub table: Option<String>,
}

/// Settings to vary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Combination of the axes.
    pub mode: SweepMode,
    /// Axes in the order of the file; in outer mode the last one varies fastest.
    pub axes: Vec<Axis>,
}

named! {
    /// Combination of axes.
    pub enum SweepMode {
        /// Every combination of the values.
        Outer = "outer",
        /// Combines the values with the same position; all axes have the same length.
        Joint = "joint",
        /// The first value of each axis: a single point.
        None = "none",
    }
}

/// A setting with its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Dotted path of the setting.
    pub path: String,
    /// Values of the setting, in order.
    pub values: Vec<Value>,
    /// Unit of the values; empty without a unit.
    #[serde(default)]
    pub unit: String,
    /// Description, in the rig's words.
    #[serde(default)]
    pub about: String,
    /// Whether the values are separate measurements, each with its own figures ([`crate::schema::Key::apart`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
}

/// Maximum length of a description that serves as a name.
const NAME_CHARS_MAX: usize = 40;

/// Beginnings of descriptions that are understandable only after the previous description.
const NOT_ALONE: [&str; 5] = ["of ", "their ", "its ", "the same", "the first"];

/// Returns a description if it is short and plain enough to serve as a name.
pub fn as_name(comment: &str) -> Option<&str> {
    stands_alone(comment, NAME_CHARS_MAX).filter(|comment| !comment.contains([':', ';', '(']))
}

/// Returns a text if it has at most `most` characters and is understandable without context.
pub fn stands_alone(words: &str, most: usize) -> Option<&str> {
    let short = !words.is_empty() && words.chars().count() <= most;
    (short && !NOT_ALONE.iter().any(|begin| words.starts_with(begin))).then_some(words)
}

impl Axis {
    /// Returns a readable name: `base stations (load.nodes)`, or only the path if the rig's description is not a name.
    pub fn words(&self) -> String {
        match self.name() {
            Some(name) => format!("{name} ({})", self.path),
            None => self.path.clone(),
        }
    }

    /// Returns the rig's words for the setting, if they are a name.
    pub fn name(&self) -> Option<&str> {
        as_name(&self.about)
    }

    /// Whether another axis has the same path and values.
    pub fn same(&self, other: &Self) -> bool {
        (&self.path, &self.values) == (&other.path, &other.values)
    }
}

impl Sweep {
    /// Whether another sweep has the same points.
    pub fn same(&self, other: &Self) -> bool {
        self.mode == other.mode
            && self.axes.len() == other.axes.len()
            && self.axes.iter().zip(&other.axes).all(|(own, other)| own.same(other))
    }
}

/// Settings of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Recorded time of each repeat, trims included.
    pub duration: Duration,
    /// Duration of the load before recording.
    pub warm_up: Duration,
    /// Time cut from the start and the end of the recorded time.
    pub trim: Duration,
    /// Number of repeats of each point.
    pub repeats: u32,
    /// Maximum duration of one repeat, including set-up; `None` for three times the expected time plus a minute.
    pub timeout: Option<Duration>,
    /// Seed of the order and of the load.
    pub seed: u64,
    /// Order of the points: random by seed, or as given.
    pub order: Order,
    /// Confidence of intervals, such as 0.95.
    pub confidence: f64,
    /// Whether repeats with the same number have the same seed at all points and are compared with each other (common
    /// random numbers). Differences between points are then caused by the points, not by the spread of repeats. This
    /// setting is for rigs whose randomness comes from the seed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paired: bool,
}

impl Measure {
    /// Returns the load time before recording, and the recorded time. The trimmed period has load and is not recorded.
    /// No rig has to handle it, and rates and distributions exclude it.
    pub fn windows(&self) -> (Duration, Duration) {
        (self.warm_up + self.trim, self.duration.saturating_sub(self.trim * 2))
    }
}

/// Order in which points are measured. Repeats are always interleaved: every point once, then every point again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Shuffled by seed within each repeat, so that drift of the machine does not look like an effect.
    Random,
    /// Points are measured in the order of the axes.
    Given,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// Caption. If it is empty, it is generated from the axes.
    pub title: String,
    /// Form of the figure.
    pub kind: PlotKind,
    /// Axis or metric on the horizontal axis.
    pub x: String,
    /// Metric on the vertical axis.
    pub y: String,
    /// Axis whose values become series.
    pub group_by: Option<String>,
    /// Metric of a heat map's colours, of the lines of equal value, or of the upper bound in a waterfall.
    pub z: Option<String>,
    /// Values of the lines of equal value; if empty, round values are chosen.
    #[serde(default)]
    pub levels: Vec<f64>,
    /// Series that are stacked on top of `y`, in order (areas), or further metrics of the sum (waterfall).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Logarithmic axes: `""`, `"x"`, `"y"`, `"xy"`.
    pub log: String,
    /// Axes that start at 0 if they are not logarithmic: `""`, `"x"`, `"y"`, `"xy"`.
    #[serde(default = "Plot::both")]
    pub zero: String,
    /// Values that the drawn points must have.
    pub filter: BTreeMap<String, Value>,
}

impl Plot {
    fn both() -> String {
        "xy".to_owned()
    }

    /// Returns the series of areas, the lowest first.
    pub fn stacked(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.y.as_str()).chain(self.stack.iter().map(String::as_str))
    }
}

named! {
    /// Forms of a figure.
    pub enum PlotKind {
        /// Means with bands of confidence.
        Lines = "lines",
        /// Grouped bars with whiskers.
        Bars = "bars",
        /// Quartiles of a distribution's values, or of any other metric over repeats.
        Box = "box",
        /// Means with whiskers.
        Points = "points",
        /// Cumulative distribution of a histogram metric.
        Cdf = "cdf",
        /// A series over time.
        Series = "series",
        /// Stacked series over time, which are shares of a common resource.
        Areas = "areas",
        /// Bars in steps: each metric on top of the previous ones, with the upper bound of the sum.
        Waterfall = "waterfall",
        /// Colour over two axes.
        Heat = "heat",
        /// Throughput over concurrency with the fitted scaling law.
        Usl = "usl",
        /// Lines of equal value over two numeric axes.
        Iso = "iso",
    }
}

named! {
    /// Source of an expectation: the published work or the author.
    #[derive(Default)]
    pub enum Class {
        /// The published work, at the position in `source`.
        Paper = "paper",
        /// The published work, with a setting chosen to meet it. Such an agreement confirms nothing.
        Tuned = "tuned",
        /// The scenario's author.
        #[default]
        Own = "own",
    }
}

impl Class {
    /// Whether a published work states the expectation.
    pub const fn published(self) -> bool {
        matches!(self, Self::Paper | Self::Tuned)
    }
}

/// A value or law that measured results are compared with, from a published work or from the author of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expect {
    /// Values that the judged points must have.
    #[serde(rename = "where")]
    pub filter: BTreeMap<String, Value>,
    /// Name of the metric.
    pub metric: String,
    /// The expected law.
    pub law: Law,
    /// Source of the number.
    pub source: String,
    /// Source: the published work or the author.
    #[serde(default)]
    pub class: Class,
    /// The setting that was chosen to meet the expectation (class [`Class::Tuned`]), or empty.
    #[serde(default)]
    pub tuned: String,
    /// Known cause of a deviation in this project's measurements, or empty.
    #[serde(default)]
    pub cause: String,
    /// Whether a miss is a failure. This applies to orders, ratios, mechanisms and exact bytes.
    pub required: bool,
}

/// Expectation of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Law {
    /// The metric equals a value, within a relative tolerance.
    Value {
        /// Expected value.
        value: f64,
        /// Allowed relative deviation.
        tolerance: f64,
    },
    /// The metric lies between bounds.
    Bounds {
        /// Smallest allowed value.
        at_least: Option<f64>,
        /// Largest allowed value.
        at_most: Option<f64>,
    },
    /// Ratio to the metric at other points: `metric(where) / metric(against)`.
    Ratio {
        /// Settings of the other points; all other keys have the values of `where`.
        against: BTreeMap<String, Value>,
        /// The ratio, if it is stated.
        ratio: Option<f64>,
        /// Allowed relative deviation.
        tolerance: f64,
        /// Smallest allowed ratio.
        at_least: Option<f64>,
        /// Largest allowed ratio.
        at_most: Option<f64>,
    },
    /// The metric is largest at the first of these values of an axis, and falls from one to the next.
    Order {
        /// Path of the axis.
        along: String,
        /// Values of the axis, the one with the largest metric first.
        order: Vec<Value>,
    },
    /// Course of the metric along an axis.
    Shape {
        /// Path of the axis.
        along: String,
        /// Expected course.
        shape: Shape,
        /// Allowed deviation as a share of the mean (flat), or of the exponent (linear).
        tolerance: f64,
    },
}

named! {
    /// Course of a metric along an axis.
    pub enum Shape {
        /// Never falls by more than the tolerance.
        Increasing = "increasing",
        /// Never rises by more than the tolerance.
        Decreasing = "decreasing",
        /// Stays within the tolerance of its mean.
        Flat = "flat",
        /// Growth exponent of one.
        Linear = "linear",
        /// Growth exponent below one.
        Sublinear = "sublinear",
        /// Growth exponent above one.
        Superlinear = "superlinear",
        /// Rises, then falls.
        Peaked = "peaked",
    }
}

/// Changes to a scenario from the command line.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `path=value` of each `--set`.
    pub sets: Vec<String>,
    /// Whether `--quick` is set.
    pub quick: bool,
}

impl Scenario {
    /// Reads a file, the files that it extends, and the overrides. `rigs` contains the descriptions of all rigs.
    ///
    /// # Errors
    /// Returns all errors in the scenario, each with its file and line.
    pub fn load(path: &Path, overrides: &Overrides, rigs: &[RigDescription]) -> Result<Self, ScenarioErrors> {
        read::finish(tree::load(path)?, overrides, rigs)
    }

    /// Parses text; `extends` is relative to the working directory. `file` is its name in messages.
    ///
    /// # Errors
    /// Fails like [`Self::load`].
    pub fn parse(
        text: &str,
        file: &str,
        overrides: &Overrides,
        rigs: &[RigDescription],
    ) -> Result<Self, ScenarioErrors> {
        read::finish(tree::parse(text, file, None)?, overrides, rigs)
    }
}

/// Returns all metrics that the results of a scenario may have: the metrics of the rig and of a search.
pub fn metrics(rig: &RigDescription, scenario: &Scenario) -> Vec<Metric> {
    let mut metrics = rig.metrics.clone();
    let Some(search) = &scenario.search else { return metrics };
    let load = scenario.searched.as_ref().map_or("", |axis| &axis.unit);
    let best = if let Search::Tune { metric, .. } = search { rig.metric(metric) } else { None };
    let seen = search.load().map_or_else(Vec::new, |load| load.after.metrics(rig));
    let soak = matches!(search, Search::Plr { .. });
    for mut metric in search::metrics(search.mlr_goals(), soak, seen) {
        match metric.name.rsplit('.').next() {
            Some(
                "load" | "upper" | "throughput" | "unsent" | "critical_low" | "critical_high"
                | "critical_stretch" | "critical_erf",
            ) => load.clone_into(&mut metric.unit),
            Some("best") => best.map_or("", |best| &best.unit).clone_into(&mut metric.unit),
            _ => {}
        }
        metrics.push(metric);
    }
    metrics
}

/// One error in a scenario: a sentence and the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// File, or the argument of `--set`, that contains the error.
    pub file: String,
    /// Line, counted from 1. 0 stands for the whole file.
    pub line: u32,
    /// Description of the error, with the allowed values.
    pub sentence: String,
}

impl ScenarioError {
    fn at(place: &tree::Place, sentence: impl Into<String>) -> Self {
        Self { file: place.file.to_string(), line: place.line, sentence: sentence.into() }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.sentence),
            line => write!(f, "{}:{line}: {}", self.file, self.sentence),
        }
    }
}

/// All errors in a scenario, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioErrors {}

impl From<ScenarioError> for ScenarioErrors {
    fn from(error: ScenarioError) -> Self {
        Self(vec![error])
    }
}
