//! Judges whether other processes on the machines disturbed a measurement.

use std::collections::BTreeMap;

use ranlab_campaign::metric::{OTHER_SHARE, STEAL_SHARE as STEAL};
use ranlab_campaign::metrics;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{DISTURBED, LimitViolation, Metric, Outcome, Run};

use crate::WorkerLocation;
use crate::worker::Report;
use ranlab_campaign::value::Value;

use crate::experiment::keys::WHEN_NOISY;
use crate::experiment::third_party;

/// Returns whether a repeat with a disturbance or a late load is invalid.
pub fn refused(run: &Run<'_>) -> bool {
    run.text(WHEN_NOISY) != Some("warn")
}

const OTHER: &str = "host.other_cores";
const POWER: &str = "host.power_w";
/// Time for which the load stalled; the longest of several locations.
pub const STALLED: &str = "tool.stalled_s";
const PRESSURE: &str = "host.cpu_pressure";

pub fn metrics() -> Vec<Metric> {
    metrics! {
        Scalar Lower STEAL "" "share of CPU time that the hypervisor gave to other guests, worst machine";
        Scalar Lower OTHER "cores" "CPU cores used by other processes, worst machine" .formerly("host.foreign_cores");
        Scalar Lower OTHER_SHARE "" "CPU time used by other processes, as a share of the machine" .formerly("host.foreign_share");
        Scalar Lower PRESSURE "" "share of time in which a process waited for a CPU, worst machine";
        Scalar Lower POWER "W" "power of the processors of all machines, if available (RAPL)" .formerly("host.watts");
        Scalar Lower STALLED "s" "time for which the load generator stalled (stopped, or without a CPU for over 250 ms)" .formerly("tool.stood_still_s");
        Scalar Lower DISTURBED "" "1: other processes exceeded the limits, and the repeat is kept with a warning";
    }
}

/// Records the activity of other processes on each machine; returns an outcome if it exceeds the limits.
pub fn judge(
    run: &Run<'_>,
    recorder: &mut Recorder,
    parts: &[(&WorkerLocation, &Report)],
) -> Option<Outcome> {
    #[derive(Default)]
    struct Machine {
        steal: f64,
        pressure: f64,
        busy: f64,
        ours: f64,
        cpus: usize,
        watts: Option<f64>,
    }
    let mut machines: BTreeMap<String, Machine> = BTreeMap::new();
    for (host, report) in parts {
        let machine = machines.entry(machine_name(host, report)).or_default();
        if let Some(seen) = report.machine {
            let wall = report.wall_s.max(1e-3);
            machine.steal = machine.steal.max(seen.steal_share);
            machine.pressure = machine.pressure.max(seen.cpu_pressure.unwrap_or(0.0));
            machine.busy = machine.busy.max(seen.busy_s / wall);
            machine.ours += seen.worker_s / wall;
            machine.ours += report.process.as_ref().map_or(0.0, |process| process.cpu_s / wall);
            machine.cpus = seen.cpus.max(1);
            machine.watts = machine.watts.into_iter().chain(seen.watts).reduce(f64::max);
        }
    }
    let worst = |of: &dyn Fn(&Machine) -> f64| machines.values().map(of).fold(0.0, f64::max);
    let steal = worst(&|machine| machine.steal);
    // The meters of machine and processes are not read at exactly the same time, so small negative differences count as
    // zero.
    let foreign = worst(&|machine| (machine.busy - machine.ours).max(0.0));
    let share = worst(&|machine| (machine.busy - machine.ours).max(0.0) / machine.cpus.max(1) as f64);
    recorder.scalar(STEAL, steal);
    recorder.scalar(OTHER, foreign);
    recorder.scalar(OTHER_SHARE, share);
    recorder.scalar(PRESSURE, worst(&|machine| machine.pressure));
    // The sum is recorded only if all machines report a value.
    if let Some(watts) = machines.values().map(|machine| machine.watts).sum::<Option<f64>>()
        && watts > 0.0
    {
        recorder.scalar(POWER, watts);
    }
    let at_most = |path: &str| run.number(path).unwrap_or(f64::INFINITY);
    let broken = |metric: &str, value: f64, setting: &str| {
        LimitViolation::above(metric, value, at_most(setting)).map(|breach| breach.set_by(setting))
    };
    let broken =
        [broken(STEAL, steal, "host.steal_at_most"), broken(OTHER_SHARE, share, "host.other_at_most")];
    if broken.iter().all(Option::is_none) {
        return None;
    }
    if !refused(run) {
        recorder.scalar(DISTURBED, 1.0);
        return None;
    }
    Some(recorder.judge(broken.map(|breach| (Outcome::Invalid, breach))))
}

/// Identifies the machine of a worker. Several workers on one kernel are on one machine. If the kernel is unknown, all
/// workers at one destination are on one machine.
fn machine_name(host: &WorkerLocation, report: &Report) -> String {
    match (&report.boot, host) {
        (Some(boot), _) => boot.clone(),
        (None, WorkerLocation::Local) => String::new(),
        (None, WorkerLocation::Ssh { destination, .. }) => destination.clone(),
        (None, WorkerLocation::Tcp { address } | WorkerLocation::Bus { server: address, .. }) => {
            address.rsplit_once(':').map_or_else(|| address.clone(), |(name, _)| name.to_owned())
        }
    }
}

/// Marks disturbed repeats in stored results, which contain the activity of other processes but no judgement.
pub fn mark_disturbed(results: &mut Results) {
    for point in &mut results.points {
        let limit =
            |path: &str| point.point.settings.get(path).and_then(Value::number).unwrap_or(f64::INFINITY);
        let limits = [(STEAL, limit("host.steal_at_most")), (OTHER_SHARE, limit("host.other_at_most"))];
        for run in &mut point.runs {
            let metrics = &mut run.recording.metrics;
            if limits.iter().any(|(name, most)| metrics.get(*name).is_some_and(|share| share > most)) {
                metrics.insert(DISTURBED.to_owned(), 1.0);
            }
        }
    }
}

/// Returns remarks about the machines, one sentence each, most important first.
pub fn warnings(results: &Results) -> Vec<String> {
    [disturbances(results), remarks(results)].concat()
}

/// Returns the number of repeats in which a metric exceeded a limit, and the worst value.
fn beyond(results: &Results, metric: &str, limit: f64) -> Option<(String, f64)> {
    let runs = || results.points.iter().flat_map(|point| &point.runs);
    let values = runs().filter_map(|run| run.recording.metrics.get(metric).copied());
    let beyond: Vec<f64> = values.filter(|value| *value > limit).collect();
    let count = format!("{} of {} repeats", beyond.len(), runs().count());
    beyond.into_iter().reduce(f64::max).map(|worst| (count, worst))
}

/// Returns the disturbances beyond the scenario's limits.
pub fn disturbances(results: &Results) -> Vec<String> {
    if let Some(kept) = &results.kept {
        return kept.warnings.clone();
    }
    let limit = |path: &str, default: f64| {
        results.scenario.settings.get(path).and_then(Value::number).unwrap_or(default)
    };
    let steal = beyond(results, STEAL, limit("host.steal_at_most", 0.02)).map(|(count, worst)| {
        let worst = worst * 100.0;
        format!("The hypervisor gave up to {worst:.1} % of the CPU time to others during {count}.")
    });
    let foreign = beyond(results, OTHER_SHARE, limit("host.other_at_most", 0.1)).map(|(count, worst)| {
        let worst = worst * 100.0;
        format!("Other processes used up to {worst:.0} % of a machine during {count}.")
    });
    steal.into_iter().chain(foreign).collect()
}

/// Returns remarks on accuracy: load omitted within its limit, clock errors, and unreliable metrics.
pub fn remarks(results: &Results) -> Vec<String> {
    if results.kept.is_some() {
        return Vec::new();
    }
    let unsent = results.metrics.iter().filter(|metric| metric.unsent_share).filter_map(|metric| {
        let (count, worst) = beyond(results, &metric.name, 0.0)?;
        let worst = worst * 100.0;
        Some(format!(
            "The load generator left out up to {worst:.2} % of what it should have sent in {count}."
        ))
    });
    let clocks = beyond(results, "clock_error_us", 0.0).map(|(_, worst)| {
        format!(
            "Latencies between machines may be wrong by {worst:.0} us, because of the error of their clock offsets."
        )
    });
    unsent.chain(clocks).chain(third_party::remarks(results)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{MachineReport, ProcessReport};
    use ranlab_campaign::plan::Point;
    use std::time::Duration;

    fn report(busy_s: f64, cpu_s: f64, steal_share: f64) -> Report {
        Report {
            wall_s: 10.0,
            machine: Some(MachineReport {
                cpus: 2,
                busy_s,
                steal_share,
                cpu_pressure: Some(0.9),
                ..MachineReport::default()
            }),
            process: Some(ProcessReport { cpu_s, ..ProcessReport::default() }),
            ..Report::default()
        }
    }

    fn judged(when_noisy: &str, parts: &[(&WorkerLocation, &Report)]) -> (Option<Outcome>, f64, String) {
        let settings = [
            (WHEN_NOISY, Value::from(when_noisy)),
            ("host.steal_at_most", Value::Float(0.02)),
            ("host.other_at_most", Value::Float(0.1)),
        ];
        let settings = settings.map(|(path, value)| (path.to_owned(), value)).into();
        let point = Point { index: 0, axes: Vec::new(), settings };
        let run = Run::new(&point, 0, 1, Duration::from_secs(10));
        let mut recorder = Recorder::default();
        let outcome = judge(&run, &mut recorder, parts);
        let recording = recorder.finish();
        (outcome, recording.metrics[OTHER], recording.reason)
    }

    #[test]
    fn cpu_time_of_experiment_is_not_counted_as_other_work() {
        let sut = report(10.0, 6.0, 0.0);
        let load = report(10.0, 3.5, 0.0);
        let (outcome, foreign, _) =
            judged("invalid", &[(&WorkerLocation::Local, &sut), (&WorkerLocation::Local, &load)]);
        assert_eq!(outcome, None);
        assert!((foreign - 0.05).abs() < 1e-9, "{foreign}");
        // On two machines, each component counts on its own machine only.
        let far = "ssh://far".parse().unwrap();
        let (outcome, foreign, _) = judged("invalid", &[(&WorkerLocation::Local, &sut), (&far, &load)]);
        assert_eq!(outcome, Some(Outcome::Invalid));
        assert!((foreign - 0.65).abs() < 1e-9, "{foreign}");
    }

    #[test]
    fn cpu_time_of_workers_is_not_counted_as_other_work() {
        let mut one = report(10.0, 1.0, 0.0);
        one.machine = one.machine.map(|machine| MachineReport { worker_s: 8.5, ..machine });
        let (outcome, other, _) = judged("invalid", &[(&WorkerLocation::Local, &one)]);
        assert_eq!(outcome, None);
        assert!((other - 0.05).abs() < 1e-9, "{other}");
    }

    #[test]
    fn power_is_recorded_only_if_all_machines_report_it() {
        let watts = |parts: &[(&WorkerLocation, &Report)]| {
            let point = Point { index: 0, axes: Vec::new(), settings: BTreeMap::new() };
            let mut recorder = Recorder::default();
            judge(&Run::new(&point, 0, 1, Duration::from_secs(10)), &mut recorder, parts);
            recorder.finish().metrics.get(POWER).copied()
        };
        let taking = |watts| {
            let mut one = report(1.0, 1.0, 0.0);
            one.machine = one.machine.map(|machine| MachineReport { watts, ..machine });
            one
        };
        let far = "ssh://far".parse().unwrap();
        let one = taking(Some(100.0));
        let other = taking(Some(120.0));
        let silent = taking(None);
        assert_eq!(
            watts(&[(&WorkerLocation::Local, &one), (&WorkerLocation::Local, &other)]),
            Some(120.0),
            "two workers, one machine"
        );
        assert_eq!(watts(&[(&WorkerLocation::Local, &one), (&far, &other)]), Some(220.0));
        assert_eq!(watts(&[(&WorkerLocation::Local, &one), (&far, &silent)]), None);
    }

    #[test]
    fn a_worker_in_another_namespace_is_on_the_same_machine() {
        let mut sut = report(10.0, 6.0, 0.0);
        let mut load = report(10.0, 3.5, 0.0);
        let beyond = "tcp://10.3.0.1:7000".parse().unwrap();
        (sut.boot, load.boot) = (Some("a".to_owned()), Some("a".to_owned()));
        assert_eq!(judged("invalid", &[(&WorkerLocation::Local, &sut), (&beyond, &load)]).0, None);
        load.boot = Some("b".to_owned());
        let outcome = judged("invalid", &[(&WorkerLocation::Local, &sut), (&beyond, &load)]).0;
        assert_eq!(
            outcome,
            Some(Outcome::Invalid),
            "on two machines, each component counts on its own machine only"
        );
    }

    #[test]
    fn steal_invalidates_repeat_unless_warnings_are_selected() {
        let stolen = report(1.0, 1.0, 0.5);
        let (outcome, _, reason) = judged("invalid", &[(&WorkerLocation::Local, &stolen)]);
        assert_eq!(outcome, Some(Outcome::Invalid));
        assert_eq!(reason, "host.steal_share is 0.5, more than 0.02 (limit: `host.steal_at_most`)");
        assert_eq!(judged("warn", &[(&WorkerLocation::Local, &stolen)]).0, None);
    }
}
