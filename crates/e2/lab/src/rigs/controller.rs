//! Rig `e2-statistics`: base stations with UEs report statistics through a controller to an xApp.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::rigs::e2_keys;
use crate::{E2_PORT, FleetComponent, MonitorComponent};
use ranlab_campaign::metrics;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{LimitViolation, Metric, Outcome, RepeatTime, RigDescription, RigError, Run};
use ranlab_campaign::schema::Key;
use ranlab_campaign::value::Value;
use ranlab_lab::experiment::account;
use ranlab_lab::worker::{Report, Worker};
use ranlab_lab::{AnyComponent, Config, loopback};

use crate::rigs::sut;
use ranlab_lab::experiment::harness::{
    self, Account, BACKLOG_AT_MOST, Deployment, Experiment, Judged, Window, copy, metric_of_places,
};
use ranlab_lab::experiment::{keys, noise, readback, wire};

/// Time limit, in addition to the ramp, for the setup of all base stations and subscriptions.
const SET_UP: Duration = Duration::from_secs(20);
/// Ratio of delivered to sent reports below which a controller counts as overloaded.
const OVERLOADED_BELOW: f64 = 0.5;

/// Role name of the base stations.
const FLEET: &str = "base stations";
const XAPP: &str = "xApp";

/// The rig `e2-statistics`.
pub struct Controller;

impl Experiment for Controller {
    fn describe(&self) -> RigDescription {
        let comment = "report period, 1 ms and up";
        let period = MonitorComponent::keys("load")
            .only(&["period"])
            .or("period", Duration::from_millis(10))
            .change("period", |key| Key { comment: comment.to_owned(), ..key });
        let mut keys = sut::keys();
        keys.extend(e2_keys::of_fleet().keys());
        keys.extend(period.keys());
        keys.extend([keys::load_places("the base stations"), keys::place("xapp.at", "the xApp")]);
        keys.extend(keys::host());
        RigDescription {
            name: "e2-statistics".to_owned(),
            aliases: vec!["controller".to_owned()],
            comment: "base stations with UEs report statistics through a RIC to an xApp".to_owned(),
            keys,
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(1),
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: include_str!("starters/e2-statistics.toml"),
        }
    }

    fn load(&self, run: &Run<'_>) -> Result<Option<AnyComponent>, RigError> {
        let (e2ap, encoding) = sut::language(run)?;
        e2_keys::fleet(run, &loopback(E2_PORT), e2ap, encoding).map(AnyComponent::from).map(Some)
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        sut::preview(settings)
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        let sut = sut::place(run, stage)?;
        let (e2ap, encoding) = sut::language(run)?;
        let fleet = e2_keys::fleet(run, &sut.e2, e2ap, encoding)?;
        let nodes = f64::from(fleet.nodes);
        let patience = SET_UP + fleet.ramp.unwrap_or_else(|| Duration::from_millis(u64::from(fleet.nodes)));
        let expected = nodes * fleet.sm.len() as f64;
        let connect = sut.e42;
        let dialect = sut.dialect;
        let sm_encoding = fleet.sm_encoding;
        let monitor = MonitorComponent {
            connect,
            e2ap,
            encoding,
            sm_encoding,
            dialect,
            ..MonitorComponent::read(run, "load")?
        };
        // All timestamps in statistics use the campaign's clock, on every machine.
        let fleet = |worker: &Worker| {
            AnyComponent::from(FleetComponent { ahead_us: worker.clock_offset_us as i64, ..fleet.clone() })
        };
        stage.place(Account::Tool, FLEET, "load.at", &fleet)?;
        stage
            .wait(FLEET, "all base stations up", patience, |numbers| numbers.get("alive") == Some(&nodes))?;
        let monitor = |worker: &Worker| {
            AnyComponent::from(MonitorComponent {
                ahead_us: worker.clock_offset_us as i64,
                ..monitor.clone()
            })
        };
        stage.place(Account::Tool, XAPP, "xapp.at", &monitor)?;
        stage.wait(XAPP, "all subscriptions admitted", patience, |numbers| {
            numbers.get("subscriptions").is_some_and(|active| *active >= expected)
        })
    }

    /// Returns the report period, but at least [`harness::SEND_DELAY`]. A report with a longer delay falls into the
    /// next period.
    fn send_delay_at_most(&self, run: &Run<'_>) -> Option<Duration> {
        run.span("load.period").map(|period| period.max(harness::SEND_DELAY))
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let fleet = window.report(FLEET)?;
        let monitor = window.report(XAPP)?;
        let clocks = [XAPP, FLEET].map(|role| window.find(role));
        if let [Some(xapp), Some(fleet)] = clocks {
            // Each clock has an error, and a latency between two machines has the error of both clocks.
            recorder.scalar("clock_error_us", fleet.clock_error_us + xapp.clock_error_us);
            recorder.scalar("clock_drift_us", xapp.clock_drift_us - fleet.clock_drift_us);
        }
        wire::record(recorder, "e2", fleet);
        wire::record(recorder, "e42", monitor);
        copy(recorder, "latency_us", monitor, "latency_us");
        copy(recorder, "tool.send_delay_us", fleet, "lateness_us");
        record(run, recorder, fleet, monitor, window.sut_cpu_s())
    }
}

fn metrics() -> Vec<Metric> {
    let mut metrics = account::metrics();
    metrics.extend(metrics! {
        Scalar Lower "sut.cpu_us_per_indication" "us" "CPU time per received indication";
        Scalar Higher "indications_per_s" "1/s" "indications received by the xApp";
        Scalar Higher "delivered_ratio" "" "received indications divided by sent ones";
        Scalar Neither "payload_mbps" "Mbit/s" "service model payload at the xApp";
        Scalar Neither "e2_mbps" "Mbit/s" "E2AP messages from the base stations, without transport headers" .counted();
        Scalar Lower "lost" "" "gaps in the sequence numbers at the xApp";
        Scalar Lower "backlog_ratio" "" "share of the indications sent in the window that neither arrived nor were lost, after subtracting those of one period; above 0.01 the RIC or the xApp does not keep up";
        Scalar Lower "loss_ratio" "" "share of lost indications (0 without sequence numbers), or backlog_ratio if that is above 0.01 and larger";
        Scalar Lower "dropped" "" "reports dropped by base stations because the controller did not read in time";
        Scalar Lower "setup_us" "us" "time from the start of the first base station until all were accepted, within 20 ms" .formerly("set_up_us");
        Scalar Lower "nodes_lost" "" "base stations not connected at the end";
        Scalar Neither "tool.cpu_cores" "cores" "CPU cores used by base stations and xApp";
        Scalar Neither "tool.skipped_ratio" "" "reports omitted by the base stations because they were late" .unsent_share();
        Scalar Neither "clock_error_us" "us" "maximum error of latencies between machines, including drift";
        Scalar Neither "clock_drift_us" "us" "clock drift between machines during the repeat" .signed();
        Histogram Lower "latency_us" "us" "latency from the base station's timestamp to the xApp";
        Histogram Neither "tool.send_delay_us" "us" "send delay of the base stations' reports" .formerly("tool.lateness_us");
    });
    metrics.extend(wire::metrics("e2", "base stations"));
    metrics.extend(wire::metrics("e42", "the xApp"));
    metrics.push(metric_of_places());
    metrics.extend(readback::metrics());
    metrics.extend(noise::metrics());
    metrics
}

/// Returns the share of the sent indications that are still in transit at the end. The indications of one period are
/// excluded, because they are sent together, and the windows of base stations and xApp begin and end at slightly
/// different times.
fn backlog_share(run: &Run<'_>, sent_per_s: f64, accounted: f64, seconds: f64) -> f64 {
    let period_s = run.span("load.period").map_or(0.0, |period| period.as_secs_f64());
    let expected = sent_per_s * seconds;
    ((expected - accounted - sent_per_s * period_s) / expected.max(1.0)).max(0.0)
}

/// Records the results of base stations and xApp, and determines the outcome of the repeat.
fn record(
    run: &Run<'_>,
    recorder: &mut Recorder,
    fleet: &Report,
    monitor: &Report,
    cpu_s: Option<f64>,
) -> Result<Outcome, RigError> {
    let seconds = monitor.wall_s.max(1e-3);
    let arrived = monitor.number("indications")?;
    let sent = fleet.number("sent")?;
    let dropped = fleet.number("dropped")?;
    let skipped = fleet.number("skipped")?;
    // Without sequence numbers, the number of losses is unknown.
    let lost = monitor.numbers.get("lost").copied();
    recorder.scalar("indications_per_s", arrived / seconds);
    recorder.scalar("payload_mbps", monitor.number("bytes")? * 8e-6 / seconds);
    recorder.scalar("e2_mbps", fleet.number("sent_bytes")? * 8e-6 / fleet.wall_s.max(1e-3));
    recorder.scalar("dropped", dropped);
    let delivered = (arrived / seconds) / (sent / fleet.wall_s.max(1e-3));
    recorder.scalar("delivered_ratio", delivered);
    let backlog_ratio =
        backlog_share(run, sent / fleet.wall_s.max(1e-3), arrived + lost.unwrap_or(0.0), seconds);
    recorder.scalar("backlog_ratio", backlog_ratio);
    let behind = if backlog_ratio > BACKLOG_AT_MOST { backlog_ratio } else { 0.0 };
    let lost_share = lost.map_or(0.0, |lost| lost / (lost + arrived).max(1.0));
    recorder.scalar("loss_ratio", lost_share.max(behind));
    if let Some(lost) = lost {
        recorder.scalar("lost", lost);
    }
    if let Some(cpu_s) = cpu_s.filter(|_| arrived > 0.0) {
        recorder.scalar("sut.cpu_us_per_indication", cpu_s * 1e6 / arrived);
    }
    recorder.scalar("setup_us", fleet.number("set_up_us")?);
    let nodes: u32 = keys::int(run, "load.nodes")?;
    let nodes_lost = (f64::from(nodes) - fleet.number("alive")?).max(0.0);
    recorder.scalar("nodes_lost", nodes_lost);
    let scheduled = sent + dropped + skipped;
    recorder.scalar("tool.skipped_ratio", if scheduled > 0.0 { skipped / scheduled } else { 0.0 });
    let reconnects = fleet.number("reconnects")? + monitor.number("disconnects")?;
    Ok(recorder.judge([
        (Outcome::Overloaded, LimitViolation::said(arrived == 0.0, "no indication arrived")),
        (Outcome::Overloaded, LimitViolation::below("delivered_ratio", delivered, OVERLOADED_BELOW)),
        (Outcome::Overloaded, LimitViolation::above("backlog_ratio", backlog_ratio, BACKLOG_AT_MOST)),
        (Outcome::Degraded, LimitViolation::above("lost", lost.unwrap_or(0.0), 0.0)),
        (Outcome::Degraded, LimitViolation::above("dropped", dropped, 0.0)),
        (Outcome::Degraded, LimitViolation::above("nodes_lost", nodes_lost, 0.0)),
        (Outcome::Degraded, LimitViolation::above("reconnects", reconnects, 0.0)),
    ]))
}
