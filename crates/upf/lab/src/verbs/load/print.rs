//! Report of a load as text.
use crate::load::{ControlSummary, DataSummary, Direction, LoadReport, StepSummary, Summary};

use ranlab_command::exit::Failure;
use ranlab_command::output::Output;

pub(super) fn report(
    output: &mut Output,
    report: &LoadReport,
    upf_cpu_s: Option<f64>,
) -> Result<(), Failure> {
    let text = |came: Option<bool>| match came {
        Some(true) => "came through",
        Some(false) => "was lost",
        None => "was not checked",
    };
    output.text(format_args!(
        "smoke packet: uplink {}, downlink {}",
        text(report.smoke.uplink),
        text(report.smoke.downlink)
    ))?;
    if let Some(set_up) = &report.set_up {
        output.text(format_args!(
            "set up: {} sessions in {:.2} s, {:.0} sessions/s",
            set_up.completed, set_up.wall_s, set_up.cycles_per_s
        ))?;
    }
    control(output, &report.control)?;
    for step in &report.steps {
        packets(output, step, report)?;
    }
    if let Some(n3) = &report.n3 {
        output.text(format_args!(
            "N3 paths: {} echo requests, {} responses, {} failures, {} requests of the UPF answered; round trip {}",
            n3.echo_requests,
            n3.echo_responses,
            n3.path_failures,
            n3.answered_requests,
            times(n3.round_trip_us.as_ref())
        ))?;
    }
    if let Some(frames) = &report.af_xdp {
        output.text(format_args!(
            "AF_XDP on {} ({}, {}, {} queues): {} frames sent, {} received, {} received through sockets of the kernel; lost: {} dropped, {} in a full RX ring, {} refused, {} by the device",
            frames.interface,
            if frames.native { "driver's XDP" } else { "generic XDP" },
            if frames.zero_copy { "zero copy" } else { "copied" },
            frames.queues,
            frames.sent,
            frames.received,
            frames.around,
            frames.rx_dropped,
            frames.rx_ring_full,
            frames.tx_invalid,
            frames.tx_dropped
        ))?;
    }
    if let Some(cpu_s) = upf_cpu_s {
        output.text(format_args!("UPF: {cpu_s:.2} s of CPU time"))?;
    }
    output.text(format_args!("unexplained: {}", report.unexplained))?;
    for warning in &report.warnings {
        output.text(format_args!("warning: {warning}"))?;
    }
    Ok(())
}

fn times(times: Option<&Summary>) -> String {
    times.map_or_else(
        || "-".to_owned(),
        |t| format!("p50 {:.0}  p99 {:.0}  p99.9 {:.0}  max {:.0} us", t.p50, t.p99, t.p999, t.max),
    )
}

fn control(output: &mut Output, control: &ControlSummary) -> Result<(), Failure> {
    output.text(format_args!(
        "sessions: {} begun, {} completed, {} failed, {} ended by a restart; {:.0} cycles/s, {:.0} answers/s over {:.2} s",
        control.started,
        control.completed,
        control.failed,
        control.restarted,
        control.cycles_per_s,
        control.answers_per_s,
        control.wall_s
    ))?;
    output.text(format_args!(
        "  offered {} requests ({} sessions due); accepted by the kernel {}; acknowledged by the UPF {}",
        control.requests_offered, control.due, control.requests_accepted, control.requests_acknowledged
    ))?;
    for (kind, of_kind) in &control.requests {
        output.text(format_args!(
            "  {kind:<14} {:>9} sent = {} ok + {} retransmitted + {} rejected + {} late + {} lost + {} pending; {} duplicate",
            of_kind.sent,
            of_kind.ok,
            of_kind.retransmitted,
            of_kind.rejected,
            of_kind.late,
            of_kind.lost,
            of_kind.pending,
            of_kind.duplicate
        ))?;
        if of_kind.latency_us.is_some() {
            output.text(format_args!("  {:<14} from due time {}", "", times(of_kind.latency_us.as_ref())))?;
            output.text(format_args!("  {:<14} from sending  {}", "", times(of_kind.service_us.as_ref())))?;
        }
    }
    if control.releases_unanswered > 0 {
        output.text(format_args!(
            "  release: {} requests unanswered; the UPF may still have the association",
            control.releases_unanswered
        ))?;
    }
    if control.left_behind > 0 {
        output.text(format_args!("  sessions left behind: {}", control.left_behind))?;
    }
    for (cause, count) in &control.causes {
        output.text(format_args!("  cause {cause}: {count}"))?;
    }
    if let Some([rate, latency]) = control.drift {
        output.text(format_args!(
            "  drift (ratio of the last third to the first third): rate {rate:.2}, latency {latency:.2}"
        ))?;
    }
    if let Some(cpu_s) = control.upf_cpu_s.filter(|_| control.completed > 0) {
        let each = cpu_s * 1e6 / control.completed as f64;
        output.text(format_args!("  UPF: {cpu_s:.2} s of CPU time, {each:.2} us for each session"))?;
    }
    output.text(format_args!("  generator lag  {}", times(control.lag_us.as_ref())))
}

fn packets(output: &mut Output, step: &StepSummary, report: &LoadReport) -> Result<(), Failure> {
    if let Some((direction, offered, allowed)) = step.qos {
        let side = step.uplink.as_ref().or(step.downlink.as_ref()).cloned().unwrap_or_default();
        let got = side.received_bps;
        let verdict = policed(direction, offered, allowed, &side);
        output.text(format_args!(
            "{direction:?}: offered {:.2} Mbit/s, maximum {:.2}, received {:.2} (inner IP packets): {verdict}",
            offered / 1e6,
            allowed / 1e6,
            got / 1e6
        ))?;
        return Ok(());
    }
    for (name, side) in [("uplink", &step.uplink), ("downlink", &step.downlink)] {
        if let Some(side) = side {
            one_way(output, name, side)?;
        }
    }
    if let Some(round_trip) = &step.round_trip_us {
        output.text(format_args!(
            "  round trip     {} ({} reflected)",
            times(Some(round_trip)),
            round_trip.n
        ))?;
    }
    if step.handovers > 0 && report.mode == "paging" {
        output.text(format_args!(
            "  sessions became idle {} times; the UPF reported buffered packets {} times",
            step.handovers, report.control.reports[0]
        ))?;
    } else if step.handovers > 0 {
        output.text(format_args!(
            "  {} handovers, {} end markers, {} packets sent into the old tunnel after the handover, interruption {}{}",
            step.handovers,
            step.end_markers,
            step.old_tunnel,
            times(step.interruption_us.as_ref()),
            step.spacing_us.map_or_else(String::new, |us| format!(
                "; a session's packets are {us:.0} us apart, which limits the resolution"
            ))
        ))?;
    }
    if step.error_indications > 0 {
        output.text(format_args!("  {} error indications", step.error_indications))?;
    }
    Ok(())
}

/// Describes how a UPF enforced a maximum bit rate. Some UPFs also count headers outside the user's packet. These are the Ethernet header,
/// and in uplink also the headers of IP, UDP and GTP-U.
fn policed(direction: Direction, offered: f64, allowed: f64, side: &DataSummary) -> &'static str {
    let headers = if direction == Direction::Uplink { 58.0 } else { 14.0 };
    let octets = side.received_bps / 8.0 / side.received_pps.max(1e-9);
    let near = |allowed: f64| (side.received_bps / offered.min(allowed) - 1.0).abs() <= 0.02;
    if near(allowed) {
        "as allowed"
    } else if side.received_bps > allowed * 1.02 {
        "NOT POLICED"
    } else if near(allowed * octets / (octets + headers)) {
        "as allowed, if headers outside the user's packet count"
    } else {
        "less than allowed"
    }
}

fn one_way(output: &mut Output, name: &str, side: &DataSummary) -> Result<(), Failure> {
    output.text(format_args!(
        "{name}: {} offered, {} sent ({:.0}/s), {} received ({:.0}/s, {:.2} Mbit/s), {} lost, {} unseen, {} duplicate, {} out of order; delay {}",
        side.offered,
        side.sent,
        side.offered_pps,
        side.received,
        side.received_pps,
        side.received_bps / 1e6,
        side.lost,
        side.unseen,
        side.duplicates,
        side.reordered,
        times(side.delay_us.as_ref())
    ))?;
    match side.asked_back.filter(|_| side.unseen > 0) {
        Some(requested) => output.text(format_args!(
            "  packets count as received only if they are reflected: {requested} packets requested reflection; the data network's counter has the {} others",
            side.unseen
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policing_with_counted_headers_is_recognised() {
        let verdict = |direction, offered: f64, got: f64, octets: f64| {
            let received_bps = got * 1e6;
            let received_pps = got * 1e6 / 8.0 / octets;
            let side = DataSummary { received_bps, received_pps, ..DataSummary::default() };
            policed(direction, offered * 1e6, 10e6, &side)
        };
        use Direction::{Downlink, Uplink};
        assert_eq!(verdict(Uplink, 7.0, 6.99, 1_000.0), "as allowed");
        assert_eq!(verdict(Uplink, 12.0, 11.98, 1_000.0), "NOT POLICED");
        // eUPF counts these headers.
        for (way, offered, got, octets) in
            [(Uplink, 12.0, 9.46, 1_000.0), (Downlink, 12.0, 9.87, 1_000.0), (Uplink, 7.0, 6.35, 100.0)]
        {
            assert!(verdict(way, offered, got, octets).starts_with("as allowed"), "{got}");
        }
        assert_eq!(verdict(Downlink, 12.0, 7.49, 100.0), "less than allowed");
        assert_eq!(verdict(Uplink, 7.0, 0.0, 100.0), "less than allowed");
    }
}
