//! Plan of a campaign: the points of a scenario, and their expected duration.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::description::{RepeatTime, RigDescription};
use crate::scenario::{Load, Scenario, Search, SweepMode, applies};
use crate::schema::Presence;
use crate::value::Value;

pub use crate::point::Point;

/// Points of a scenario, with expected durations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Points, in the order of the axes.
    pub points: Vec<Point>,
    /// Expected duration of a repeat whose result is measured.
    pub repeat_expected: Duration,
    /// Expected duration of a repeat whose result is computed.
    pub computed_expected: Duration,
    /// Duration of a repeat, as the rig describes it.
    pub repeat_time: RepeatTime,
    /// Time limit of a repeat.
    pub repeat_timeout: Duration,
    /// Number of repeats of each point.
    pub repeats: u32,
}

impl Plan {
    /// Expands a checked scenario.
    pub fn new(scenario: &Scenario, rig: &RigDescription) -> Self {
        let points = combinations(scenario)
            .into_iter()
            .enumerate()
            .map(|(index, axes)| {
                let settings = complete(scenario, rig, &axes);
                Point { index, axes, settings }
            })
            .collect();
        let measure = &scenario.measure;
        let (warm_up, recorded) = measure.windows();
        // Time limit of all trials of a search together, if the scenario sets one.
        let mut most = Duration::ZERO;
        let trials = match &scenario.search {
            Some(Search::Mlr { loss_ratios, sum, budget, .. }) => {
                most = *budget;
                let each = budget.as_secs_f64() / recorded.as_secs_f64().max(1e-3);
                // The trials at both bounds of every goal are repeated until the verdicts are certain. About ten more
                // trials find these bounds.
                (2 * loss_ratios.len() as u32 * sum + 10).min((each as u32).max(1))
            }
            Some(Search::Plr { budget, .. }) => {
                most = *budget;
                let each = budget.as_secs_f64() / recorded.as_secs_f64().max(1e-3);
                (each as u32).clamp(1, crate::search::plr::TRIALS_MAX)
            }
            // A bisection needs about one trial per halving. The scenario sets a maximum.
            Some(Search::Rate { load, trials, .. } | Search::Knee { load, trials, .. }) => {
                let Load { min, max, precision, .. } = *load;
                let halvings =
                    ((max - min).max(0.0) / (min.max(max / 10.0) * precision)).max(2.0).log2().ceil();
                (halvings as u32 + 2).min(*trials)
            }
            Some(Search::Tune { trials, .. }) => *trials,
            None => 1,
        };
        let after = scenario.search.as_ref().and_then(Search::load).map_or(0, |load| load.after.shares.len());
        let trials = trials + after as u32;
        let warm_up = if rig.repeat_time == RepeatTime::Window { Duration::ZERO } else { warm_up };
        let repeat_expected = rig.set_up + (warm_up + recorded) * trials;
        let longest = repeat_expected.max(most) * 3 + Duration::from_secs(60);
        let repeat_timeout = measure.timeout.unwrap_or(longest);
        Self {
            points,
            repeat_expected,
            computed_expected: rig.set_up * trials,
            repeat_time: rig.repeat_time,
            repeat_timeout,
            repeats: measure.repeats,
        }
    }

    /// Returns the expected duration of the campaign.
    pub fn expected(&self) -> Duration {
        self.points.iter().map(|point| self.expected_of(point)).sum::<Duration>() * self.repeats
    }

    /// Returns the expected duration of one repeat of a point.
    pub fn expected_of(&self, point: &Point) -> Duration {
        match self.repeat_time {
            RepeatTime::Windows | RepeatTime::Window => self.repeat_expected,
            RepeatTime::Setting(path) => match point.settings.get(path) {
                Some(Value::Span(time)) => self.computed_expected + *time,
                _ => self.computed_expected,
            },
            RepeatTime::ComputedWhen(path, values) => {
                let computed = matches!(point.settings.get(path), Some(Value::Text(text)) if values.contains(&text.as_str()));
                if computed { self.computed_expected } else { self.repeat_expected }
            }
        }
    }
}

fn combinations(scenario: &Scenario) -> Vec<Vec<(String, Value)>> {
    let axes = &scenario.sweep.axes;
    let entry = |axis: usize, value: usize| (axes[axis].path.clone(), axes[axis].values[value].clone());
    match scenario.sweep.mode {
        SweepMode::None => vec![(0..axes.len()).map(|axis| entry(axis, 0)).collect()],
        SweepMode::Joint if axes.is_empty() => vec![Vec::new()],
        SweepMode::Joint => (0..axes[0].values.len())
            .map(|value| (0..axes.len()).map(|axis| entry(axis, value)).collect())
            .collect(),
        SweepMode::Outer => (0..axes.len()).fold(vec![Vec::new()], |points, axis| {
            points
                .into_iter()
                .flat_map(|point: Vec<(String, Value)>| {
                    (0..axes[axis].values.len()).map(move |value| {
                        let mut point = point.clone();
                        point.push(entry(axis, value));
                        point
                    })
                })
                .collect()
        }),
    }
}

/// Returns the scenario's settings with the values of the axes. Removes the keys that do not apply to the selected
/// choices, and adds the defaults of those that do.
fn complete(scenario: &Scenario, rig: &RigDescription, axes: &[(String, Value)]) -> BTreeMap<String, Value> {
    let mut settings = scenario.settings.clone();
    settings.extend(axes.iter().cloned());
    for key in &rig.keys {
        if !applies(key, &settings, &rig.keys) {
            settings.remove(&key.path);
        } else if let (Presence::Default(value), false) = (&key.presence, settings.contains_key(&key.path)) {
            settings.insert(key.path.clone(), value.clone());
        }
    }
    settings
}
