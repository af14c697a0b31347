//! Result and course of a search: the value with its interval, and each trial against the objective's bound.

use ranlab_campaign::answer::{Answer as Found, Bound as Kind};
use ranlab_campaign::expect::short;
use ranlab_campaign::export::Table;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::scenario::Search;
use ranlab_campaign::scenario::search::metric;
use ranlab_campaign::search::TrialOutcome;
use ranlab_campaign::trials::{self, SearchTrial, TRIED};

use super::figure::{Across, Answer, Bound, Figure, Form, Sample, Series};
use super::words::{capital, label, quantity, why_nothing};

/// Maximum number of points whose trials are drawn. The CSV of series has all trials.
const POINTS_MAX: usize = 4;
/// Maximum ratio of a measured value to its bound on a linear axis. Above it, the axis is logarithmic, because a linear
/// axis would hide the bound.
const LINEAR_MAX: f64 = 20.0;

/// Describes the search's results at each point; empty without a search.
pub(super) fn answers(results: &Results) -> Vec<String> {
    let Some(search) = &results.scenario.search else { return Vec::new() };
    let measured = results.points.iter().filter(|point| !point.runs.is_empty());
    let alone = results.points.len() == 1;
    let place =
        |point: &PointResult| if alone { String::new() } else { format!("At {}: ", point.point.label()) };
    let goals = goals(results, search);
    measured
        .flat_map(|point| {
            goals.iter().enumerate().map(move |(at, goal)| {
                capital(&format!("{}{goal} {}.", place(point), found(results, point, at)))
            })
        })
        .collect()
}

/// Goals of the search.
fn goals(results: &Results, search: &Search) -> Vec<String> {
    if let Search::Tune { metric, .. } = search {
        return vec![format!("best {}:", quantity(results, metric))];
    }
    let axis = search.load().map_or(String::new(), |load| quantity(results, &load.axis));
    if let Search::Plr { target, .. } = search {
        return vec![format!("critical {axis}, at which {} is lost on average:", short(*target))];
    }
    let goals = search.goals().into_iter();
    let find = search.load().map_or("largest", |load| load.find.name());
    goals.map(|(metric, at_most)| format!("{find} {axis} with {metric} ≤ {}:", short(at_most))).collect()
}

/// Returns the result for a goal at a point.
fn answer_at(results: &Results, point: &PointResult, goal: usize) -> Option<Found> {
    let tune = matches!(results.scenario.search, Some(Search::Tune { .. }));
    results.answer(point, &metric(goal, if tune { "best" } else { "load" }))
}

/// Returns the nearest load that failed a full trial.
fn far_end(results: &Results, point: &PointResult, goal: usize) -> Option<f64> {
    let find = results.scenario.search.as_ref()?.load()?.find;
    results.answer(point, &metric(goal, find.far_end())).map(|own| own.value)
}

/// Describes a result: `5034 ± 120 (95 % interval over 5 searches)`, `≥ 10000 (the end of the searched range)`, or the
/// reason why there is no result.
fn found(results: &Results, point: &PointResult, goal: usize) -> String {
    let Some(own) = answer_at(results, point, goal) else {
        return format!("not found ({})", why_nothing(&[point]));
    };
    let searches = |n: usize, one: &str, several: &str| match n {
        1 => one.to_owned(),
        n => format!("{n} {several}"),
    };
    let over = match results.scenario.search {
        Some(Search::Plr { .. }) => searches(own.n, "one soak", "soaks"),
        _ => searches(own.n, "one search", "searches"),
    };
    let mut text = own.sentence("");
    if let (None, Some(failed)) = (own.interval, far_end(results, point, goal)) {
        text = format!("{} passed and {} failed", text, short(failed));
    }
    if own.bound == Kind::Exact && own.interval.is_some() {
        text.push_str(&format!(" ({} % interval over {over})", short(own.confidence * 100.0)));
    } else if own.bound == Kind::Exact {
        text.push_str(&format!(", in {over}, so that its spread is unknown"));
    } else {
        text.push_str(&format!(", in {over}"));
    }
    if matches!(results.scenario.search, Some(Search::Tune { .. })) {
        text.push_str(&format!("; {}", point.reason()));
    }
    let runs = point.runs.len();
    if own.n < runs {
        text.push_str(&format!("; {} of {runs} searches found no load", runs - own.n));
    }
    text
}

/// Returns a figure of trials for each of the first points that have any.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let Some(search) = &results.scenario.search else { return Vec::new() };
    let tried = |point: &&PointResult| point.runs.iter().any(|run| run.recording.series.contains_key(TRIED));
    let points: Vec<&PointResult> = results.points.iter().filter(tried).collect();
    let left_out = points.len().saturating_sub(POINTS_MAX);
    let mut figures: Vec<Figure> = points
        .into_iter()
        .take(POINTS_MAX)
        .map(|point| match search {
            Search::Tune { metric, .. } => tuned(results, point, metric),
            _ => rated(results, point, search),
        })
        .collect();
    if let (Some(last), true) = (figures.last_mut(), left_out > 0) {
        last.caption.push_str(&format!(" The trials of {left_out} more points are not drawn."));
    }
    figures
}

fn empty(title: String, results: &Results, point: &PointResult) -> Figure {
    let place =
        if results.points.len() == 1 { String::new() } else { format!(", at {}", point.point.label()) };
    Figure {
        title: format!("{title}{place}"),
        caption: String::new(),
        missing: String::new(),
        x: Across::Numbers { log: false },
        x_label: String::new(),
        y_label: String::new(),
        log_y: false,
        zero: (true, true),
        series: Vec::new(),
        marks: Vec::new(),
        bounds: Vec::new(),
        answer: None,
        table: Table::default(),
    }
}

fn rated(results: &Results, point: &PointResult, search: &Search) -> Figure {
    let goals = search.goals();
    let (metric, at_most) = goals.first().copied().unwrap_or_default();
    let axis = search.load().map_or("", |load| &load.axis);
    let title =
        format!("{} of each trial against {}", capital(&quantity(results, metric)), quantity(results, axis));
    let mut figure = empty(title, results, point);
    (figure.x_label, figure.y_label) = (label(results, axis, false), label(results, metric, false));
    let all: Vec<SearchTrial> =
        point.runs.iter().flat_map(|run| trials::from_recording(&run.recording)).collect();
    // A trial that was overloaded before the objective's metric could be measured has no vertical position.
    let unmeasured = all.iter().filter(|trial| trial.value.is_nan()).count();
    let all: Vec<SearchTrial> = all.into_iter().filter(|trial| !trial.value.is_nan()).collect();
    let most = all.iter().fold(0.0, |most: f64, trial| most.max(trial.value));
    figure.log_y = at_most > 0.0 && most > LINEAR_MAX * at_most && all.iter().all(|trial| trial.value > 0.0);
    let guide = Series { name: String::new(), form: Form::Guide, color: 0, samples: means(&all) };
    figure.series.push(guide);
    for full in [true, false] {
        for (color, (gave, what)) in [
            (TrialOutcome::Pass, "passed"),
            (TrialOutcome::Fail, "failed"),
            (TrialOutcome::Unsent, "load not sent"),
        ]
        .into_iter()
        .enumerate()
        {
            let alike = all.iter().filter(|trial| (trial.gave, trial.full()) == (gave, full));
            let mut samples: Vec<Sample> = alike.map(|trial| Sample::at(trial.load, trial.value)).collect();
            samples.sort_by(|a, b| a.x.total_cmp(&b.x));
            if !samples.is_empty() {
                let name = format!("{what}, {}", if full { "full time" } else { "shortened" });
                figure.series.push(Series { name, form: Form::Trials { gave, full }, color, samples });
            }
        }
    }
    // One text for all lines, because labels of close lines would overlap.
    let allowed: Vec<String> = goals.iter().map(|(_, at_most)| short(*at_most)).collect();
    let mut name = format!("allowed: {metric} ≤ {}", allowed.join(" and "));
    for (_, at_most) in goals.iter().rev() {
        figure.bounds.push(Bound { y: *at_most, color: None, name: std::mem::take(&mut name) });
    }
    figure.answer = answer_at(results, point, 0).map(|own| answer(results, &own, far_end(results, point, 0)));
    let searches = if point.runs.len() == 1 {
        "one search".to_owned()
    } else {
        format!("{} searches", point.runs.len())
    };
    let soak = matches!(search, Search::Plr { .. });
    let span = figure.answer.as_ref().map_or("", |_| match point.runs.len() {
        _ if soak => {
            " The line is the estimate of the critical load, the stripe its interval."
        }
        1 => " The line is the result, the stripe extends to the nearest load that failed.",
        _ => " The line is the result, the stripe its interval over the searches, extended to the nearest load that failed.",
    });
    let way = match goals.len() {
        _ if soak => "All trials count: two functions of the load are fitted to them.",
        0 | 1 => "Only full trials bound the result; shortened trials narrow it down first.",
        _ => "All trials at a load decide about it together; marks and result are those of the first goal.",
    };
    let overloaded = match unmeasured {
        0 => String::new(),
        count => format!(" {count} more were overloaded before {metric} could be measured."),
    };
    figure.caption = format!("{} trials of {searches}.{overloaded} {way}{span}", all.len());
    figure
}

/// Returns the drawn result. An open end is drawn at the value itself. The interval of a single search extends to the
/// nearest failed load.
fn answer(results: &Results, own: &Found, failed: Option<f64>) -> Answer {
    let (low, high) = own.ends();
    let failed = failed.filter(|_| own.interval.is_none()).unwrap_or(own.value);
    let low = low.unwrap_or_else(|| own.value.min(failed)).max(0.0);
    let interval = (low, high.unwrap_or_else(|| own.value.max(failed)));
    let name = format!("answer: {}", own.sentence(results.unit("search.load")));
    Answer { x: own.value, interval, name }
}

/// Returns the mean of the full trials at each load.
fn means(all: &[SearchTrial]) -> Vec<Sample> {
    let mut full: Vec<&SearchTrial> =
        all.iter().filter(|trial| trial.full() && trial.gave != TrialOutcome::Unsent).collect();
    full.sort_by(|a, b| a.load.total_cmp(&b.load));
    let mean =
        |alike: &[&SearchTrial]| alike.iter().map(|trial| trial.value).sum::<f64>() / alike.len() as f64;
    full.chunk_by(|a, b| a.load == b.load).map(|alike| Sample::at(alike[0].load, mean(alike))).collect()
}

fn tuned(results: &Results, point: &PointResult, metric: &str) -> Figure {
    let title = format!("{} of each setting that was tried", capital(&quantity(results, metric)));
    let mut figure = empty(title, results, point);
    (figure.x_label, figure.y_label) = ("trial".to_owned(), label(results, metric, false));
    for (color, run) in point.runs.iter().enumerate() {
        let scores = run.recording.series.get(TRIED).into_iter().flatten();
        let samples =
            scores.zip(1..).map(|((_, score), trial)| Sample::at(f64::from(trial), *score)).collect();
        let form = Form::Trials { gave: TrialOutcome::Pass, full: true };
        figure.series.push(Series { name: format!("repeat {}", run.repeat + 1), form, color, samples });
    }
    figure.caption =
        "One mark per setting, in the order of the trials; the first half is chosen at random.".to_owned();
    figure
}
