//! Speedup by cores: the rate on several cores divided by the rate on one core, for points that differ in nothing else.
//!
//! In tier `ring` the rate is the load found by a search, or the carried rate of an excessive load. It is valid only if
//! the tester and each core had separate CPUs.

use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::stats::Estimate;
use ranlab_campaign::value::{Value, short};

const CORES: &str = "sut.cores";
/// Rate by which numbers of cores are compared: the total over all cores for one mix of flows.
const RATE: &str = "mpps";
/// Rates in tier `ring`: the load found by a search, or else the carried rate of an excessive load.
const FOUND: &str = "search.load";
const CARRIED: &str = "carried_mpps";
/// Maximum number of points described in words. The tables contain all points.
const TOLD_MAX: usize = 12;

/// Returns one sentence per number of cores above one. The sentence contains the confidence interval of the speedup, or
/// the reason why it was not measured.
pub(super) fn verdict(results: &Results) -> Vec<String> {
    let cores = |point: &PointResult| point.point.settings.get(CORES).and_then(Value::number);
    let mut several: Vec<&PointResult> =
        results.points.iter().filter(|point| cores(point).is_some_and(|cores| cores > 1.0)).collect();
    several.sort_by(|a, b| cores(a).unwrap_or(0.0).total_cmp(&cores(b).unwrap_or(0.0)));
    let of = |point: &&PointResult| {
        let alone = results.points.iter().find(|other| cores(other) == Some(1.0) && alike(point, other))?;
        let place = place(point);
        if point.runs.is_empty() {
            return None;
        }
        let none = |why: &str| Some(format!("{place}: no speed-up was measured ({why})."));
        let (Some(ours), Some(one)) = (rate(results, point), rate(results, alone)) else {
            let who = if rate(results, point).is_none() { point } else { &alone };
            return none(who.reason());
        };
        if let Err(why) = apart(results, point, alone) {
            return none(&why);
        }
        let times = ours.value / one.value;
        let interval = match ours.ratio(one, results.scenario.measure.confidence) {
            Some((low, high)) => format!("{} to {}", short(low), short(high)),
            None => "from one repeat, so its spread is unknown".to_owned(),
        };
        let share = times / cores(point).unwrap_or(1.0) * 100.0;
        Some(format!(
            "{place}: {} times the rate of one core ({interval}), {share:.0} % of a linear speed-up.",
            short(times)
        ))
    };
    several.iter().filter_map(of).take(TOLD_MAX).collect()
}

/// Returns the rate of a point.
fn rate(results: &Results, point: &PointResult) -> Option<Estimate> {
    [RATE, FOUND, CARRIED].into_iter().find_map(|name| results.estimate(point, name))
}

/// Checks whether the rates of two points in tier `ring` depend only on their cores. The check always succeeds in other
/// tiers.
fn apart(results: &Results, point: &PointResult, alone: &PointResult) -> Result<(), String> {
    let of = |point: &PointResult, name: &str| results.estimate(point, name).map(|own| own.value);
    let Some(cpus) = of(point, super::ring::CPUS) else { return Ok(()) };
    let cores = point.point.settings.get(CORES).and_then(Value::number).unwrap_or(1.0);
    if cpus < cores + 1.0 {
        return Err(format!(
            "unmeasurable: {cores} forwarding cores and one sending core need {} CPUs, but only {cpus} are available",
            cores + 1.0
        ));
    }
    let whole = |point| of(point, super::ring::LOST).is_none_or(|lost| lost <= 0.0);
    if of(point, FOUND).is_none() && (whole(point) || whole(alone)) {
        return Err(
            "the switch carried all of `load.rate`: search over `load.rate`, or increase it".to_owned()
        );
    }
    Ok(())
}

/// Returns whether two points differ only in their number of cores.
fn alike(a: &PointResult, b: &PointResult) -> bool {
    let rest = |point: &PointResult| -> Vec<(String, String)> {
        let others = point.point.settings.iter().filter(|(path, _)| path.as_str() != CORES);
        others.map(|(path, value)| (path.clone(), value.to_string())).collect()
    };
    rest(a) == rest(b)
}

fn place(point: &PointResult) -> String {
    let axes = &point.point.axes;
    if axes.is_empty() { CORES.to_owned() } else { point.point.label() }
}

#[cfg(test)]
mod tests {
    use ranlab_campaign::mock::MockRig;
    use ranlab_campaign::plan::{Plan, Point};
    use ranlab_campaign::record::Recording;
    use ranlab_campaign::results::{Finished, Results};
    use ranlab_campaign::rig::{Outcome, Rig};
    use ranlab_campaign::scenario::{Overrides, Scenario};
    use ranlab_campaign::usl::Usl;

    use super::*;

    /// Returns three repeats of a device with a known scaling law, for these numbers of cores. `false` marks a number
    /// of cores for which the machine has too few CPUs.
    fn results(cores: &[(i64, bool)]) -> Results {
        results_by(RATE, cores, &[])
    }

    /// Like [`results`], but the rate has the name `rate_name`, and each repeat also has the metrics `beside`.
    fn results_by(rate_name: &str, cores: &[(i64, bool)], beside: &[(&str, f64)]) -> Results {
        let law = Usl { lambda: 5.0, sigma: 0.1, kappa: 0.0 };
        let description = MockRig::default().describe();
        let text = "title = \"t\"\nrig = \"mock\"\n";
        let rigs = std::slice::from_ref(&description);
        let scenario = Scenario::parse(text, "t.toml", &Overrides::default(), rigs).unwrap();
        let base = Plan::new(&scenario, &description).points.remove(0);
        let mut points = Vec::new();
        let mut finished = Vec::new();
        for (index, (cores, there)) in cores.iter().enumerate() {
            let mut settings = base.settings.clone();
            settings.insert(CORES.to_owned(), Value::Int(*cores));
            points.push(Point { index, axes: vec![(CORES.to_owned(), Value::Int(*cores))], settings });
            for repeat in 0..3 {
                let mut recording = Recording::default();
                if *there {
                    let rate = law.at(*cores as f64) * (1.0 + 0.001 * (f64::from(repeat) - 1.0));
                    recording.metrics.insert(rate_name.to_owned(), rate);
                    recording.metrics.extend(beside.iter().map(|(name, value)| ((*name).to_owned(), *value)));
                }
                finished.push(Finished {
                    point: index,
                    repeat,
                    position: 0,
                    outcome: if *there { Outcome::Ok } else { Outcome::Unmeasurable },
                    reason: if *there {
                        String::new()
                    } else {
                        "8 cores are requested, but only 2 are available".to_owned()
                    },
                    recording,
                    started_unix_ms: 0,
                    elapsed: std::time::Duration::ZERO,
                });
            }
        }
        Results::new(scenario, description.metrics, points, finished)
    }

    #[test]
    fn speedup_is_relative_to_one_core() {
        // The scaling law gives 2 / 1.1 and 4 / 1.3.
        let lines = verdict(&results(&[(4, true), (1, true), (8, false), (2, true)]));
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("sut.cores=2: 1.818 times the rate of one core (1.81"), "{lines:?}");
        assert!(lines[0].ends_with("91 % of a linear speed-up."), "{lines:?}");
        assert!(lines[1].starts_with("sut.cores=4: 3.077 times the rate of one core"), "{lines:?}");
        assert_eq!(
            lines[2],
            "sut.cores=8: no speed-up was measured (8 cores are requested, but only 2 are available)."
        );
        assert!(
            verdict(&results(&[(2, true), (4, true)])).is_empty(),
            "a speed-up needs a point with one core"
        );
        assert!(verdict(&results(&[(1, true)])).is_empty());
    }

    #[test]
    fn ring_speedup_requires_separate_cpus_and_excessive_load() {
        use super::super::ring::{CPUS, LOST};
        let both = [(1, true), (2, true)];
        let line = |rate: &str, beside: &[(&str, f64)]| verdict(&results_by(rate, &both, beside)).remove(0);
        assert_eq!(
            line(CARRIED, &[(CPUS, 2.0), (LOST, 9.0)]),
            "sut.cores=2: no speed-up was measured (unmeasurable: 2 forwarding cores and one sending core need 3 CPUs, but only 2 are available)."
        );
        let whole = line(CARRIED, &[(CPUS, 3.0), (LOST, 0.0)]);
        assert!(whole.contains("(the switch carried all of `load.rate`: search over"), "{whole}");
        for (rate, lost) in [(CARRIED, 9.0), (FOUND, 0.0)] {
            let times = line(rate, &[(CPUS, 3.0), (LOST, lost)]);
            assert!(times.starts_with("sut.cores=2: 1.818 times the rate of one core"), "{times}");
        }
    }
}
