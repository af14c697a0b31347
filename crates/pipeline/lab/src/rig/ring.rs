//! Tier `ring`: a self-test of the tester, followed by the measurement of the switch. Every lost packet is attributed
//! to a cause or counted as unknown.

use std::fmt::Write;

use crate::{PipelineComponent, RingCounters, RingOutcome, RingTesterComponent};
use ranlab_campaign::metrics;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::{Better, LimitViolation, Metric, MetricKind, Outcome, RigError, Run};
use ranlab_lab::worker::Report;
use ranlab_lab::{AnyComponent, Config};
use ranlab_pipeline::backends::Tier;
use ranlab_pipeline::declare::DropReason;

use super::ENGINE;
use ranlab_lab::experiment::harness::{self, Account, Deployment, Judged, Window};
use ranlab_lab::experiment::noise;

/// Role of the tester.
pub(super) const TESTER: &str = "tester";
/// Role of the self-test.
const SELF_TEST: &str = "self-test of the tester";
/// Maximum valid load, as a share of the load that tester and rings can carry at most.
const OF_TESTER_AT_MOST: f64 = 0.9;
/// Maximum number of points whose losses are described in words.
const TOLD_MAX: usize = 12;

/// Causes of loss: metric and description. Together with [`UNKNOWN`] they add up to [`LOST`].
const CAUSES: [(&str, &str); 7] = [
    ("lost_late", "not sent because the generator was late"),
    ("lost_ring_full", "not sent because the ring to the switch was full"),
    ("lost_too_long", "too long for buffers"),
    ("lost_in_ring", "not taken out of its ring by the switch"),
    ("lost_dropped", "dropped by the switch's tables"),
    ("lost_injected", "dropped on purpose"),
    ("lost_return_ring_full", "dropped by the switch because the return ring was full"),
];
/// Causes that had another name in earlier versions: current name, earlier name.
const RENAMED: [(&str, &str); 4] = [
    ("lost_too_long", "lost_unfit"),
    ("lost_in_ring", "lost_waiting"),
    ("lost_injected", "lost_on_purpose"),
    ("lost_return_ring_full", "lost_ring_full_back"),
];
pub(super) const LOST: &str = "lost";
const UNKNOWN: &str = "lost_unknown";
/// Metric for the number of CPUs available to tester and switch.
pub(super) const CPUS: &str = "cpus_allowed";
const STEAL: &str = "host.steal_share";

/// Starts the self-test, the switch and the tester, all on one machine.
pub(super) fn bring_up(
    run: &Run<'_>,
    stage: &mut Deployment<'_>,
    part: PipelineComponent,
) -> Result<(), RigError> {
    let itself = RingTesterComponent {
        pipeline: part.pipeline.clone(),
        traffic: part.traffic.clone(),
        trace: part.trace.clone(),
        engine: part.engine.clone(),
        ring: part.ring,
        // ranlab's engine has separate rings for its cores, so the tester must distribute flows. Other switches
        // distribute flows themselves, or do not support several cores.
        cores: if [super::NATIVE, super::BARE].contains(&part.engine.as_str()) { part.cores } else { 1 },
        ..RingTesterComponent::default()
    };
    let plugin = RingTesterComponent::read(run, "load")?.plugin;
    let nic = part.tier == Tier::Nic.name();
    if nic && plugin.is_none() {
        let why =
            "`sut.tier` \"nic\" has no built-in tester: set `load.plugin` to a program that provides one";
        return Err(RigError::Environment(why.to_owned()));
    }
    // The self-test measures the maximum of tester and rings before other components start. A plug-in states its
    // maximum instead.
    if plugin.is_none() {
        stage.tool(SELF_TEST, "sut.at", AnyComponent::from(itself.clone()))?;
    }
    let worker = stage.sut(ENGINE, "sut.at", AnyComponent::from(part))?;
    let socket = |port: &str| {
        if nic {
            return Ok(String::new());
        }
        let path = worker.ready.addresses.get(port).cloned();
        path.ok_or_else(|| {
            RigError::Rig(format!("the switch does not report the address of its port {port}"))
        })
    };
    let tester = RingTesterComponent {
        access: socket("access")?,
        core: socket("core")?,
        duration: run.duration,
        warm_up: run.warm_up,
        run: run.seed as u32,
        pipeline: itself.pipeline,
        traffic: itself.traffic,
        trace: itself.trace,
        engine: itself.engine,
        ring: itself.ring,
        cores: itself.cores,
        ..RingTesterComponent::read(run, "load")?
    };
    stage.tool(TESTER, "sut.at", AnyComponent::from(tester)).map(drop)
}

/// Records the counters of tester and switch, and determines the outcome of the repeat.
pub(super) fn record(run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
    let switch = window.report(ENGINE)?;
    let tester = window.report(TESTER)?;
    harness::copy_all(recorder, switch);
    harness::copy_all(recorder, tester);
    let changes = super::churn(switch, recorder);
    let itself = if window.find(SELF_TEST).is_some() { SELF_TEST } else { TESTER };
    let best_mpps = window.report(itself)?.number("tester_mpps")?;
    let outcome: RingOutcome = tester.detail()?;
    let counters: RingCounters = switch.detail()?;
    let losses = losses(&outcome, &counters)?;
    for (name, value) in &losses {
        recorder.scalar(name, *value as f64);
    }
    by_reason(&counters, recorder);
    let intended = outcome.due as f64;
    let unknown = outcome.unknown as f64;
    let sent = outcome.due - outcome.late;
    let loss_ratio = sent.saturating_sub(outcome.received) as f64 / sent.max(1) as f64;
    let asked_mpps = intended / run.duration.as_secs_f64().max(1e-9) / 1e6;
    for (name, value) in [
        ("packets_due", intended),
        ("packets_sent", outcome.sent as f64),
        ("packets_received", outcome.received as f64),
        ("packets_misordered", outcome.misordered as f64),
        ("carried_mpps", outcome.carried_per_s() / 1e6),
        ("loss_ratio", loss_ratio),
        ("tool.unsent_ratio", outcome.late as f64 / intended.max(1.0)),
        ("tester_mpps", best_mpps),
        ("tester_share", asked_mpps / best_mpps.max(1e-9)),
    ] {
        recorder.scalar(name, value);
    }
    let limit = LimitViolation::above;
    let above = |name: &str| Ok::<_, RigError>(limit(name, switch.number(name)?, 0.0));
    let too_much = limit("tester_share", asked_mpps / best_mpps.max(1e-9), OF_TESTER_AT_MOST);
    let verified = [switch, tester].into_iter().filter_map(|report| report.numbers.get("verified_packets"));
    let unverified = run.number("load.verify").is_some_and(|most| most > 0.0)
        && run.text("sut.engine") == Some(super::PLUGIN)
        && verified.fold(0.0, |most: f64, own| most.max(*own)) == 0.0;
    let uneven = switch.numbers.get("core_imbalance").copied().unwrap_or(1.0);
    let unverified = LimitViolation::said(
        unverified,
        "the plug-ins have not verified packets against the oracle: use a generator with `replay`, or set `load.verify` = 0",
    );
    let judged = recorder.judge([
        (Outcome::Invalid, unverified),
        (Outcome::Invalid, too_much.filter(|_| noise::refused(run))),
        (Outcome::Overloaded, above("updates_refused")?),
        (Outcome::Overloaded, above("changes_refused")?),
        (Outcome::Degraded, limit("loss_ratio", loss_ratio, 0.0)),
        (Outcome::Degraded, limit("core_imbalance", uneven, super::UNEVEN)),
        (Outcome::Degraded, changes.and_then(super::Changes::breach)),
        (Outcome::Degraded, limit("packets that came back but do not belong to this run", unknown, 0.0)),
    ]);
    if judged != Outcome::Ok {
        let value = |name: &str| losses.iter().find(|(own, _)| *own == name).map_or(0.0, |own| own.1 as f64);
        let steal =
            window.reports(Account::Tool).filter_map(|report| report.machine).map(|seen| seen.steal_share);
        recorder.also(&describe(intended, &value, steal.fold(0.0, f64::max)));
        recorder.also(&by_table(&counters));
        if let Some(words) = by_core(&counters) {
            recorder.also(&words);
        }
    }
    Ok(judged)
}

/// Returns the lost packets by cause. The first entry is the sum, and the last entry is the number of packets lost for
/// an unknown cause.
fn losses(outcome: &RingOutcome, counters: &RingCounters) -> Result<Vec<(&'static str, u64)>, RigError> {
    if !counters.adds_up() {
        let why = format!(
            "the packet counters are inconsistent: the sum over the cores differs from their device: {counters:?}"
        );
        return Err(RigError::Rig(why));
    }
    let ledger = counters.ledger(outcome.waiting);
    let unknown = outcome
        .unknown(&ledger)
        .map_err(|error| RigError::Rig(format!("the packet counters are inconsistent: {error}")))?;
    let dropped = ledger.dropped.iter().sum::<u64>() + ledger.tables;
    let counts = [
        outcome.late,
        outcome.ring_full,
        outcome.unfit + ledger.unfit,
        ledger.waiting,
        dropped,
        ledger.on_purpose,
        ledger.ring_full,
    ];
    let mut all = vec![(LOST, outcome.due.saturating_sub(outcome.received))];
    all.extend(CAUSES.iter().map(|(name, _)| *name).zip(counts));
    all.push((UNKNOWN, unknown));
    Ok(all)
}

/// Describes the losses of a run, with the CPU time stolen by other virtual machines.
fn describe(intended: f64, value: &dyn Fn(&str) -> f64, steal: f64) -> String {
    let mut text = format!("of {intended:.0} packets, {:.0} did not come back: ", value(LOST));
    for (name, words) in CAUSES {
        let count = value(name);
        if count > 0.0 {
            let _ = write!(text, "{count:.0} {words}, ");
        }
    }
    let _ = write!(text, "{:.0} for an unknown reason", value(UNKNOWN));
    let _ = write!(text, "; meanwhile {:.1} % of the CPU time was stolen", steal * 100.0);
    text
}

/// Records the packets that ranlab's engine dropped in tier `mem`, by reason. Returns a description by table, or `None`
/// for other switches, which have no such counters.
pub(super) fn from_memory(report: &Report, recorder: &mut Recorder) -> Option<String> {
    let counters: RingCounters = report.detail().ok().filter(|own: &RingCounters| !own.places.is_empty())?;
    by_reason(&counters, recorder);
    Some(by_table(&counters))
}

/// Reports a switch in tier `mem` that drops every packet of its trace, with the reasons if available.
pub(super) fn nothing_leaves(report: &Report) -> Option<LimitViolation> {
    report.numbers.get("drop_ratio").filter(|ratio| **ratio >= 1.0)?;
    let counters: RingCounters = report.detail().unwrap_or_default();
    let share = |count: u64| count as f64 * 100.0 / counters.dropped.values().sum::<u64>().max(1) as f64;
    let reasons = DropReason::ALL.into_iter().filter_map(|reason| {
        let count = *counters.dropped.get(reason.name()).filter(|count| **count > 0)?;
        Some((reason.meaning(), share(count)))
    });
    let reasons: Vec<(&str, f64)> = reasons.collect();
    let words = match &reasons[..] {
        [] => "its counters give no reason".to_owned(),
        [(meaning, _)] => (*meaning).to_owned(),
        several => several
            .iter()
            .map(|(meaning, percent)| format!("{percent:.0} % {meaning}"))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let packets = report
        .numbers
        .get("trace_packets")
        .map_or_else(|| "all packets".to_owned(), |packets| format!("{packets} of {packets} packets"));
    LimitViolation::said(true, &format!("{packets} of the trace are dropped ({words})"))
}

fn by_reason(counters: &RingCounters, recorder: &mut Recorder) {
    for reason in DropReason::ALL {
        if let Some(count) = counters.dropped.get(reason.name()) {
            recorder.scalar(&dropped_by(reason), *count as f64);
        }
    }
}

/// Describes the drops by table, largest first.
fn by_table(counters: &RingCounters) -> String {
    let of = if counters.places.is_empty() { &counters.dropped } else { &counters.places };
    let mut each: Vec<_> = of.iter().collect();
    each.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let each: Vec<String> = each.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if each.is_empty() {
        "no table dropped anything".to_owned()
    } else {
        format!("dropped: {}", each.join(", "))
    }
}

/// Describes the packets that each core took and did not send. Returns `None` for a switch without separate counters of
/// its cores.
fn by_core(counters: &RingCounters) -> Option<String> {
    let each = |(index, core): (usize, &RingCounters)| {
        let lost = core.ledger(0).causes();
        format!("core {index} received {} and lost {lost} of them", core.received)
    };
    let each: Vec<String> = counters.cores.iter().enumerate().map(each).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

fn dropped_by(reason: DropReason) -> String {
    format!("lost_dropped_{}", reason.name())
}

/// Returns the losses of each point in tier `ring`, over all repeats.
pub(super) fn verdict(results: &Results) -> Vec<String> {
    let of = |point: &PointResult| {
        let sum = |name: &str| {
            let values = point.runs.iter().filter_map(|run| run.recording.metrics.get(name));
            values.copied().reduce(|a, b| a + b)
        };
        let lost = sum(LOST).filter(|lost| *lost > 0.0)?;
        let value = |name: &str| if name == LOST { lost } else { sum(name).unwrap_or(0.0) };
        let steal = point.runs.iter().filter_map(|run| run.recording.metrics.get(STEAL).copied());
        let axes = point.point.axes.iter().map(|(path, value)| format!("{path} = {value}"));
        let place = axes.collect::<Vec<_>>().join(", ");
        let text = describe(value("packets_due"), &value, steal.fold(0.0, f64::max));
        Some(if place.is_empty() { format!("{text}.") } else { format!("{place}: {text}.") })
    };
    let mut all: Vec<String> = results.points.iter().filter_map(of).collect();
    let more = all.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        all.truncate(TOLD_MAX);
        all.push(format!("{more} further points lost packets, too: see the tables."));
    }
    all
}

/// Returns the metrics that exist only in tier `ring`.
pub(super) fn metrics() -> Vec<Metric> {
    let mut all = metrics! {
        Scalar Higher "carried_mpps" "Mpps" "tier ring: packets received per second while packets were sent; for a plug-in that does not report this, until the last one was received";
        Scalar Lower "loss_ratio" "" "tier ring: share of packets sent in time that did not return";
        Scalar Lower "tool.unsent_ratio" "" "packets not sent because the generator was late".unsent_share();
        Histogram Lower "latency_ns" "ns" "time from sending a packet until its return: 1 ns to 10 s, within 0.1 %; with a tester";
        Histogram Lower "send_delay_ns" "ns" "tier ring: send delay of packets, added by the generator" .formerly("lateness_ns");
        Scalar Higher "tester_mpps" "Mpps" "tier ring: maximum rate of the tester and bare rings, measured before the switch starts";
        Scalar Neither "tester_share" "" "requested rate as a share of tester_mpps";
        Scalar Neither CPUS "" "tier ring, native: CPUs on which tester and cores may run; if fewer than all of them, no speedup is reported";
        Scalar Neither "packets_due" "packets" "tier ring: packets due";
        Scalar Neither "packets_sent" "packets" "tier ring: packets sent";
        Scalar Neither "packets_received" "packets" "tier ring: packets received, each counted once";
        Scalar Lower "packets_misordered" "packets" "packets received after a packet that was sent later";
        Scalar Lower LOST "packets" "packets due that did not return: the sum of the causes below";
    };
    let lower =
        |name: &str, comment: &str| Metric::new(name, "packets", MetricKind::Scalar, Better::Lower, comment);
    all.extend(CAUSES.iter().map(|(name, words)| {
        let metric = lower(name, words);
        match RENAMED.iter().find(|(own, _)| own == name) {
            Some((_, earlier)) => metric.formerly(earlier),
            None => metric,
        }
    }));
    let reasons = DropReason::ALL.into_iter();
    all.extend(reasons.map(|reason| {
        lower(&dropped_by(reason), &format!("dropped by tables, reason: {}", reason.name().replace('_', " ")))
    }));
    all.push(lower(UNKNOWN, "lost, without a counter of tester, rings or switch that explains it"));
    all
}

#[cfg(test)]
mod tests;
