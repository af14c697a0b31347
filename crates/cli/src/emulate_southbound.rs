//! `ranlab emulate --protocol flexran|empower`: base stations of other SD-RAN protocols.
use std::time::Duration;

use ranlab_emulator::southbound::{Delays, Identity, Southbound, SouthboundReport};
use ranlab_parts::{SouthFleet, SouthFleetPart};
use serde::Serialize;

use crate::args;
use crate::exit::Failure;
use crate::flags::Flags;
use crate::live;
use crate::output::{Format, Output};

/// What only base stations of these protocols take.
#[derive(Debug, clap::Args)]
pub struct Southern {
    #[command(flatten, next_help_heading = "With --protocol flexran or empower")]
    fleet: Flags<SouthFleetPart>,
    /// FlexRAN: speak Mosaic5G 2.x
    #[arg(long)]
    mosaic: bool,
    /// 5G-EmPOWER: version of OpenEmpower
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    openempower: u8,
    /// Print the base stations' Ethernet addresses, one a line, for a controller's registration, and end
    #[arg(long)]
    identities: bool,
    /// Afterwards start one more base station and tell how long its initialisation takes, with this much patience
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    probe: Option<Duration>,
}

#[derive(Debug, Serialize)]
struct Summary {
    #[serde(flatten)]
    report: SouthboundReport,
    probe_us: Option<u64>,
    probe_requests_us: Option<u64>,
}

impl Summary {
    fn new(report: SouthboundReport, probe: Option<Delays>) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            report,
            probe_us: probe.map(|delays| micros(delays.to_reporting)),
            probe_requests_us: probe.map(|delays| micros(delays.to_requests)),
        }
    }
}

/// Emulates until Ctrl-C, SIGTERM or the end of the duration.
pub async fn run(
    flexran: bool,
    southern: Southern,
    duration: Option<Duration>,
    format: Format,
) -> Result<(), Failure> {
    let mut output = Output::new(format);
    let mut part = southern.fleet.config;
    part.protocol = match (flexran, southern.mosaic, southern.openempower) {
        (true, false, _) => Southbound::Flexran,
        (true, true, _) => Southbound::Mosaic,
        (false, _, 2) => Southbound::EmpowerV2,
        (false, ..) => Southbound::EmpowerV1,
    };
    if southern.identities {
        for index in part.first..part.first.saturating_add(part.nodes) {
            let mac = Identity::new(index).mac.to_string();
            output.text(&mac)?;
            output.item(&mac)?;
        }
        return output.finish(&serde_json::json!({ "nodes": part.nodes }));
    }
    let mut fleet = SouthFleet::new(&part)?;
    let end = live::end(duration);
    tokio::pin!(end);
    tokio::select! {
        () = &mut end => {}
        begun = fleet.ramp_up() => {
            begun?;
            watch(&fleet, &mut output, end.as_mut()).await?;
        }
    }
    let report = fleet.report();
    let mut probe = None;
    if let Some(patience) = southern.probe {
        probe = fleet.probe(patience).await;
        match probe {
            Some(delays) => output.text(format_args!(
                "one more base station: asked for reports after {} us",
                delays.to_reporting.as_micros()
            ))?,
            None => {
                output.text(format_args!("one more base station: not asked for reports in {patience:?}"))?
            }
        }
    }
    output.text(last_line(&report))?;
    output.finish(&Summary::new(report, probe))?;
    judge(&report, fleet.last_fault())
}

/// A line a second until the end.
async fn watch(
    fleet: &SouthFleet,
    output: &mut Output,
    end: std::pin::Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Failure> {
    let mut before = fleet.report();
    live::until(end, |seconds| {
        let report = fleet.report();
        let mbit = (report.sent_bytes - before.sent_bytes) as f64 * 8e-6 / seconds;
        output.text(format_args!(
            "{}/{} alive  {} UEs  {:.0} messages/s  {mbit:.1} Mbit/s  {} dropped  {} faults  lateness p99 {} us{}",
            report.alive,
            report.nodes,
            report.ues,
            (report.sent - before.sent) as f64 / seconds,
            report.dropped,
            report.faults,
            report.lateness_us_p99,
            shortfall(&report)
        ))?;
        output.item(&Summary::new(report, None))?;
        before = report;
        output.flush()
    })
    .await
}

fn last_line(report: &SouthboundReport) -> String {
    format!(
        "{} nodes, {} connected, {} alive, {} UEs, {} reconnects, {} connections refused, {} faults, {} messages sent, \
         {} reports, {} dropped, {} skipped, lateness p99 {} us{}",
        report.nodes,
        report.connected,
        report.alive,
        report.ues,
        report.reconnects,
        report.refused,
        report.faults,
        report.sent,
        report.reports,
        report.dropped,
        report.skipped,
        report.lateness_us_p99,
        shortfall(report)
    )
}

/// What of the load has not reached the controller, if anything.
fn shortfall(report: &SouthboundReport) -> String {
    let mut text = String::new();
    let unannounced = report.ues.saturating_sub(report.announced_ues);
    if unannounced > 0 {
        text.push_str(&format!(", {unannounced} UEs not announced to it"));
    }
    if report.waiting > 0 {
        text.push_str(&format!(
            ", {} messages ({} kB) wait until it reads, {} kB more in the kernel",
            report.waiting,
            report.waiting_bytes / 1_000,
            report.unacknowledged_bytes / 1_000
        ));
    }
    text
}

/// A run without a load is no success.
fn judge(report: &SouthboundReport, last_fault: Option<String>) -> Result<(), Failure> {
    let what = if report.nodes > 0 && report.initialised == 0 {
        "no base station was asked for reports"
    } else if report.initialised > 0 && report.reports == 0 && report.faults + report.dropped > 0 {
        "no report left"
    } else {
        return Ok(());
    };
    let SouthboundReport { nodes, connected, refused, faults, dropped, .. } = *report;
    let last = last_fault.map_or(String::new(), |fault| format!(", the last: {fault}"));
    Err(Failure::Check(format!(
        "{what}: {connected} of {nodes} connected, {refused} connections refused, {dropped} messages dropped, {faults} faults{last}"
    )))
}
