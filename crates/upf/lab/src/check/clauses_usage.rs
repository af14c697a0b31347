//! Checks of usage reporting.
use std::time::{Duration, Instant};

use ranlab_upf::pfcp::*;

use super::clauses::VOLUME_THRESHOLD;
use super::scene::{Created, UE_PORT, UPLINK, Wire};
use super::upf::Peer;
use ranlab_lab::check::{CaseFailure, Outcome, fails};

/// Packets per burst.
const BURST: u64 = 6;
/// Volume limit that is never reached, in bytes.
const FAR_AWAY: u64 = 1 << 40;

fn volume(total: u64) -> Option<Volume> {
    Some(Volume { total: Some(total), ..Volume::default() })
}

fn urr(triggers: ReportingTriggers, method: u128) -> CreateUrr {
    CreateUrr {
        urr_id: UrrId(1),
        measurement_method: MeasurementMethod::new(method),
        reporting_triggers: triggers,
        ..CreateUrr::default()
    }
}

/// Returns a usage rule with a volume threshold.
fn at_threshold(peer: &Peer, octets: u64) -> CreateUrr {
    let triggers = peer.triggers(ReportingTriggers::VOLTH);
    CreateUrr { volume_threshold: volume(octets), ..urr(triggers, MeasurementMethod::VOLUM) }
}

/// Returns a usage rule with a volume quota.
fn at_quota(peer: &Peer, octets: u64) -> CreateUrr {
    let triggers = peer.triggers(ReportingTriggers::VOLQU);
    CreateUrr { volume_quota: volume(octets), ..urr(triggers, MeasurementMethod::VOLUM) }
}

/// Returns the length of one packet, in bytes.
fn octets(peer: &Peer) -> u64 {
    peer.packet(1, UE_PORT).len() as u64
}

/// Returns the volumes of the usage reports with this trigger.
fn reported(all: &[SessionReportRequest], trigger: u128) -> Vec<u64> {
    let reports = all.iter().flat_map(|report| &report.usage_reports);
    reports.filter(|report| report.usage_report_trigger.contains(trigger)).map(total).collect()
}

fn total(report: &UsageReport) -> u64 {
    let octets = report.volume_measurement.map(|measured| measured.octets).unwrap_or_default();
    octets.total.unwrap_or_else(|| octets.uplink.unwrap_or(0) + octets.downlink.unwrap_or(0))
}

/// Sends a burst and returns how many of its packets came back.
fn burst(peer: &mut Peer, wire: &Wire, session: &Created) -> Result<u64, CaseFailure> {
    let ports = [UE_PORT; BURST as usize];
    Ok(peer.come_back(wire, 1, session.teid(UPLINK), &ports)?.len() as u64)
}

fn change_urr(peer: &mut Peer, session: &Created, update: UpdateUrr) -> Outcome {
    let change = SessionModificationRequest { update_urrs: vec![update], ..Default::default() };
    peer.change(session.seid, change).map(drop)
}

pub(super) fn threshold(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let limit = 4 * octets(peer);
    let rule = at_threshold(peer, limit);
    let session = peer.create(peer.metered(1, rule))?;
    burst(peer, &wire, &session)?;
    let wait = peer.run.config.patience;
    let come = |all: &[SessionReportRequest]| !reported(all, UsageReportTrigger::VOLTH).is_empty();
    let all = peer.reports(wait, come)?;
    match reported(&all, UsageReportTrigger::VOLTH)[..] {
        [first, ..] if (limit..2 * limit).contains(&first) => Ok(()),
        [first, ..] => {
            fails(format!("the threshold is {limit} bytes, but the report contains {first} bytes"))
        }
        [] => fails(format!(
            "{} bytes were sent, which is more than the threshold of {limit} bytes, but no report arrived",
            2 * BURST * octets(peer)
        )),
    }
}

pub(super) fn changed_threshold(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let limit = 4 * octets(peer);
    let rule = at_threshold(peer, FAR_AWAY);
    let session = peer.create(peer.metered(1, rule))?;
    let update = UpdateUrr { urr_id: UrrId(1), volume_threshold: volume(limit), ..UpdateUrr::default() };
    change_urr(peer, &session, update)?;
    burst(peer, &wire, &session)?;
    let wait = peer.run.config.patience;
    let all = peer.reports(wait, |all| !reported(all, UsageReportTrigger::VOLTH).is_empty())?;
    if reported(&all, UsageReportTrigger::VOLTH).is_empty() && !works(peer, &wire)? {
        return Err(CaseFailure::Skipped("the UPF does not report an unchanged threshold either"));
    }
    if reported(&all, UsageReportTrigger::VOLTH).is_empty() {
        return fails(format!("the threshold was lowered to {limit} bytes, but no report arrived"));
    }
    Ok(())
}

/// Returns whether a threshold set at establishment is reported.
fn works(peer: &mut Peer, wire: &Wire) -> Result<bool, CaseFailure> {
    let rule = at_threshold(peer, octets(peer));
    let session = peer.create(peer.metered(2, rule))?;
    let packet = peer.packet(2, UE_PORT);
    for _ in 0..BURST {
        peer.uplink(wire, session.teid(UPLINK), &packet)?;
    }
    let wait = peer.run.config.patience;
    let all = peer.reports(wait, |all| !reported(all, UsageReportTrigger::VOLTH).is_empty())?;
    Ok(!reported(&all, UsageReportTrigger::VOLTH).is_empty())
}

pub(super) fn quota(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let rule = at_quota(peer, 4 * octets(peer));
    let session = peer.create(peer.metered(1, rule))?;
    let passed = burst(peer, &wire, &session)?;
    // The quota allows four packets in both directions together. Packets in flight may exceed it.
    if passed >= BURST {
        return fails(format!(
            "{passed} of {BURST} packets came back, although the quota allows four in both directions together"
        ));
    }
    let wait = peer.run.config.patience;
    let come = |all: &[SessionReportRequest]| !reported(all, UsageReportTrigger::VOLQU).is_empty();
    if come(&peer.reports(wait, come)?) {
        Ok(())
    } else {
        fails("packets stop at the quota, but no report was sent")
    }
}

pub(super) fn granted_again(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let rule = at_quota(peer, 2 * octets(peer));
    let session = peer.create(peer.metered(1, rule))?;
    burst(peer, &wire, &session)?;
    let update = UpdateUrr { urr_id: UrrId(1), volume_quota: volume(FAR_AWAY), ..UpdateUrr::default() };
    change_urr(peer, &session, update)?;
    match burst(peer, &wire, &session)? {
        BURST => Ok(()),
        passed => fails(format!("{passed} of {BURST} packets pass after a new quota")),
    }
}

/// Modifies a session. Returns the bytes in those usage reports of the response that have this trigger.
fn answered(
    peer: &mut Peer,
    seid: u64,
    change: SessionModificationRequest,
    trigger: u128,
) -> Result<u64, CaseFailure> {
    let response = peer.change(seid, change)?;
    let reports = response.usage_reports.iter();
    Ok(reports.filter(|report| report.usage_report_trigger.contains(trigger)).map(total).sum())
}

pub(super) fn query(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let rule = at_threshold(peer, FAR_AWAY);
    let session = peer.create(peer.metered(1, rule))?;
    let query = QueryUrr { urr_id: UrrId(1), ..QueryUrr::default() };
    let one = SessionModificationRequest { query_urrs: vec![query], ..Default::default() };
    let flags = Some(SmReqFlags::new(SmReqFlags::QAURR));
    let every = SessionModificationRequest { sm_req_flags: flags, ..Default::default() };
    for (name, change) in [("Query URR", one), ("QAURR", every)] {
        let used = 2 * burst(peer, &wire, &session)? * octets(peer);
        let reported = answered(peer, session.seid, change, UsageReportTrigger::IMMER)?;
        if reported != used {
            return fails(format!("{name}: {used} bytes were used, but the response reports {reported}"));
        }
    }
    Ok(())
}

pub(super) fn removed(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let rule = at_threshold(peer, FAR_AWAY);
    let session = peer.create(peer.metered(1, rule))?;
    let used = 2 * burst(peer, &wire, &session)? * octets(peer);
    let remove = RemoveUrr { urr_id: UrrId(1), ..RemoveUrr::default() };
    let change = SessionModificationRequest { remove_urrs: vec![remove], ..Default::default() };
    match answered(peer, session.seid, change, UsageReportTrigger::TERMR)? {
        reported if reported == used => Ok(()),
        reported => {
            fails(format!("{used} bytes were used, but the response to the removal reports {reported}"))
        }
    }
}

/// Checks that a rule which reports every second sends at least `least` reports with this trigger.
fn each_second(peer: &mut Peer, rule: CreateUrr, trigger: u128, least: usize) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let session = peer.create(peer.metered(1, rule))?;
    burst(peer, &wire, &session)?;
    let wait = Duration::from_millis(1_300) * least as u32 + peer.run.config.patience;
    let all = peer.reports(wait, |all| reported(all, trigger).len() >= least)?;
    match reported(&all, trigger).len() {
        come if come >= least => Ok(()),
        come => {
            fails(format!("{come} reports arrived within {wait:?} from a rule that must report each second"))
        }
    }
}

pub(super) fn periodic(peer: &mut Peer) -> Outcome {
    let triggers = peer.triggers(ReportingTriggers::PERIO);
    let rule = CreateUrr { measurement_period: Some(Seconds(1)), ..urr(triggers, MeasurementMethod::VOLUM) };
    each_second(peer, rule, UsageReportTrigger::PERIO, 2)
}

pub(super) fn time_threshold(peer: &mut Peer) -> Outcome {
    let triggers = peer.triggers(ReportingTriggers::TIMTH);
    let rule = CreateUrr { time_threshold: Some(Seconds(1)), ..urr(triggers, MeasurementMethod::DURAT) };
    each_second(peer, rule, UsageReportTrigger::TIMTH, 1)
}

/// Returns the time to wait for a report that is due after one second.
fn a_second(peer: &Peer) -> Duration {
    Duration::from_millis(1_300) + peer.run.config.patience
}

/// Waits at most `wait` for a report with this trigger. Returns whether it arrived.
fn comes(peer: &mut Peer, trigger: u128, wait: Duration) -> Result<bool, CaseFailure> {
    let come = |all: &[SessionReportRequest]| !reported(all, trigger).is_empty();
    Ok(come(&peer.reports(wait, come)?))
}

pub(super) fn time_quota(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let triggers = peer.triggers(ReportingTriggers::TIMQU);
    let rule = CreateUrr { time_quota: Some(Seconds(1)), ..urr(triggers, MeasurementMethod::DURAT) };
    let session = peer.create(peer.metered(1, rule))?;
    burst(peer, &wire, &session)?;
    let wait = a_second(peer);
    if !comes(peer, UsageReportTrigger::TIMQU, wait)? {
        return fails(format!("no report arrived within {wait:?} from a rule with a quota of one second"));
    }
    match burst(peer, &wire, &session)? {
        0 => Ok(()),
        passed => fails(format!("{passed} of {BURST} packets pass after the end of the time quota")),
    }
}

pub(super) fn holding_time(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let triggers = peer.triggers(ReportingTriggers::QUHTI | ReportingTriggers::VOLQU);
    let held = CreateUrr {
        volume_quota: volume(FAR_AWAY),
        quota_holding_time: Some(Seconds(1)),
        ..urr(triggers, MeasurementMethod::VOLUM)
    };
    let session = peer.create(peer.metered(1, held))?;
    burst(peer, &wire, &session)?;
    // A late packet of the burst may restart the holding time, so the wait is twice as long.
    let wait = 2 * a_second(peer);
    if comes(peer, UsageReportTrigger::QUHTI, wait)? {
        Ok(())
    } else {
        fails(format!(
            "a quota with a holding time of one second was unused for {wait:?}, but no report arrived"
        ))
    }
}

pub(super) fn inactivity_detection(peer: &mut Peer) -> Outcome {
    const QUIET: Duration = Duration::from_secs(4);
    let wire = peer.reflecting()?;
    peer.associate()?;
    let rule = CreateUrr {
        inactivity_detection_time: Some(Seconds(1)),
        ..urr(peer.triggers(0), MeasurementMethod::DURAT)
    };
    let session = peer.create(peer.metered(1, rule))?;
    burst(peer, &wire, &session)?;
    peer.reports(QUIET, |_| false)?;
    let query = QueryUrr { urr_id: UrrId(1), ..QueryUrr::default() };
    let change = SessionModificationRequest { query_urrs: vec![query], ..Default::default() };
    let response = peer.change(session.seid, change)?;
    let duration = |reports: &[UsageReport]| reports.iter().find_map(|report| report.duration_measurement);
    // If the query returns no duration, the deletion must return it. Another check covers queries.
    let measured = match duration(&response.usage_reports) {
        None => duration(&peer.delete(session.seid)?.usage_reports),
        queried => queried,
    };
    match measured {
        // The duration covers the burst, which takes less than one second, and the detection time after it.
        Some(Seconds(0..=2)) => Ok(()),
        Some(Seconds(long)) => fails(format!("{QUIET:?} without packets are measured as {long} s")),
        None => fails("a rule that measures time reports no duration"),
    }
}

pub(super) fn start(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let rule = urr(peer.triggers(ReportingTriggers::START), MeasurementMethod::VOLUM);
    let session = peer.create(peer.metered(1, rule))?;
    burst(peer, &wire, &session)?;
    burst(peer, &wire, &session)?;
    let wait = peer.run.config.patience;
    let all = peer.reports(wait, |all| reported(all, UsageReportTrigger::START).len() > 1)?;
    match reported(&all, UsageReportTrigger::START).len() {
        1 => Ok(()),
        times => fails(format!("the start of traffic is reported {times} times")),
    }
}

pub(super) fn stop(peer: &mut Peer) -> Outcome {
    const FLOWS: Duration = Duration::from_millis(1_600);
    let wire = peer.reflecting()?;
    peer.associate()?;
    let rule = CreateUrr {
        inactivity_detection_time: Some(Seconds(1)),
        ..urr(peer.triggers(ReportingTriggers::STOPT), MeasurementMethod::VOLUM)
    };
    let session = peer.create(peer.metered(1, rule))?;
    let begin = Instant::now();
    while begin.elapsed() < FLOWS {
        burst(peer, &wire, &session)?;
        if comes(peer, UsageReportTrigger::STOPT, Duration::from_millis(200))? {
            return fails("a stop is reported while packets flow");
        }
    }
    let wait = a_second(peer);
    if comes(peer, UsageReportTrigger::STOPT, wait)? {
        Ok(())
    } else {
        fails(format!("packets have stopped for {wait:?}, but no report arrived"))
    }
}

pub(super) fn linked(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let first = at_threshold(peer, 4 * octets(peer));
    let second = CreateUrr {
        urr_id: UrrId(2),
        linked_urr_ids: vec![UrrId(1)],
        ..urr(peer.triggers(ReportingTriggers::LIUSA), MeasurementMethod::VOLUM)
    };
    let mut request = peer.metered(1, first);
    request.create_pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.push(second.urr_id));
    request.create_urrs.push(second);
    let session = peer.create(request)?;
    burst(peer, &wire, &session)?;
    let wait = peer.run.config.patience;
    let all = peer.reports(wait, |all| !reported(all, UsageReportTrigger::LIUSA).is_empty())?;
    if !reported(&all, UsageReportTrigger::LIUSA).is_empty() {
        return Ok(());
    }
    if reported(&all, UsageReportTrigger::VOLTH).is_empty() {
        return Err(CaseFailure::Needs(VOLUME_THRESHOLD, "a volume threshold is not reported".into()));
    }
    fails("a rule reports, but the rule linked to it does not")
}
