//! Live network whose two ends are on two machines: configuration of each end, and the merged report.

use crate::live::{APART_WINDOW_MIN, OneEnd, XhaulComponent};
use ranlab_campaign::rig::{RigError, Run};
use ranlab_lab::worker::{Report, Worker};
use ranlab_lab::{AnyComponent, JsonField};

use super::predictions::ROLES;
use super::setup::Setup;
use ranlab_lab::experiment::harness::{Account, Deployment, Window};

/// Key for the machine of the DUs and of their switch.
pub(super) const DU_AT: &str = "du.at";
/// Roles of the two components.
const FAR: &str = "DUs' end";
const NEAR: &str = "CU's end";

/// Returns whether a point's DUs run on a separate machine.
pub(super) fn wanted(run: &Run<'_>) -> bool {
    run.text(DU_AT).is_some()
}

/// Starts both ends. The far end is started first, because it responds when the CU's end checks the carrier.
pub(super) fn bring_up(
    run: &Run<'_>,
    stage: &mut Deployment<'_>,
    setup: &Setup,
    part: &XhaulComponent,
) -> Result<(), RigError> {
    refused(run, setup, part)?;
    let window_ns = u64::try_from(run.duration.as_nanos()).unwrap_or(u64::MAX);
    let end = |worker: &Worker, far: bool| {
        let ahead_ns = (worker.clock_offset_us * 1e3) as i64;
        let end = Some(JsonField(OneEnd { far, ahead_ns, window_ns }));
        AnyComponent::from(XhaulComponent { end, ..part.clone() })
    };
    // A lost machine is not a failure of the system under test: the repeat is invalid.
    stage.place(Account::Tool, FAR, DU_AT, &|worker| end(worker, true))?;
    stage.place(Account::Tool, NEAR, "sut.at", &|worker| end(worker, false)).map(drop)
}

/// Rejects settings that need both ends on one machine.
fn refused(run: &Run<'_>, setup: &Setup, part: &XhaulComponent) -> Result<(), RigError> {
    let lacks = [
        (
            part.midhaul_ports.is_none(),
            "needs `live.midhaul_ports`: first the CU's port on the machine of `sut.at`, then the port on the other machine",
        ),
        (part.taps, "does not support `live.taps`, which capture at both sides of the switch with one clock"),
        (
            part.vbbu.is_some(),
            "cannot run a vBBU: matching its frames needs captures of both ends on one machine",
        ),
        (
            part.stamps == "card",
            "does not support `live.stamps` \"card\": the clocks of two cards are compared through the clock of one machine",
        ),
        (setup.programs.ping || setup.programs.iperf3, "does not support `live.ping` and `live.iperf3`"),
        (
            setup.scheduler == "gates",
            "does not support `sut.scheduler` \"gates\": the gates of both machines would need one clock",
        ),
        (
            run.duration < APART_WINDOW_MIN,
            "needs a `measure.duration` of at least 3s, because each end waits for the other",
        ),
    ];
    match lacks.into_iter().find(|(lacking, _)| *lacking) {
        Some((_, what)) => {
            Err(RigError::Environment(format!("live: two machines (`{DU_AT}`): the network {what}")))
        }
        None => Ok(()),
    }
}

/// Merges the reports of both ends. The error of a one-way delay is the sum of both clock errors.
pub(super) fn joined(window: &Window<'_>) -> Result<Report, RigError> {
    let mut report = together(window.report(NEAR)?, window.report(FAR)?);
    let error_us = [NEAR, FAR].into_iter().filter_map(|role| window.find(role)).map(|end| end.clock_error_us);
    report.numbers.insert("live.clock".to_owned(), 2.0);
    report.numbers.insert("live.clock_error_us".to_owned(), error_us.sum());
    Ok(report)
}

/// Merges the counters of each flow: the number of sent frames from the sender, all other counters from the receiver.
fn together(near: &Report, far: &Report) -> Report {
    let mut report = near.clone();
    for (name, value) in &far.numbers {
        let numbers = &mut report.numbers;
        let own = numbers.get(name).copied();
        let value = match (name.as_str(), own) {
            ("live.ports" | "live.namespaces", Some(own)) => own + value,
            ("live.timestamp_source", Some(own)) => own.min(*value),
            (_, Some(own)) => own.max(*value),
            (_, None) => *value,
        };
        numbers.insert(name.clone(), value);
    }
    report.distributions.extend(far.distributions.clone());
    for role in ROLES {
        let of = |end: &Report, name: &str| end.numbers.get(&format!("{role}.{name}")).copied();
        // Only the receiver counts early frames.
        let (sender, receiver) = if of(far, "early").is_some() { (near, far) } else { (far, near) };
        let (Some(sent), Some(came), Some(_)) =
            (of(sender, "sent"), of(receiver, "sent"), of(receiver, "early"))
        else {
            continue;
        };
        let mut put = |name: &str, value: f64| report.numbers.insert(format!("{role}.{name}"), value);
        put("sent", sent);
        put("lost_ratio", (sent - came).max(0.0) / sent.max(1.0));
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_takes_only_sent_count_from_sender() {
        let of = |numbers: &[(&str, f64)]| {
            let mut report = Report::default();
            report.numbers.extend(numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)));
            report
        };
        let near = of(&[
            ("cell_dl.sent", 100.0),
            ("cell_dl.sender_late_us_p99", 7.0),
            ("cell_ul.sent", 50.0),
            ("cell_ul.early", 3.0),
            ("cell_ul.lost_ratio", 0.0),
            ("live.ports", 1.0),
            ("live.timestamp_source", 1.0),
        ]);
        let far = of(&[
            ("cell_dl.sent", 90.0),
            ("cell_dl.lost_ratio", 0.0),
            ("cell_dl.early", 0.0),
            ("cell_dl.delay_us_p99", 20.0),
            ("cell_ul.sent", 50.0),
            ("live.ports", 1.0),
            ("live.timestamp_source", 0.0),
            ("background_dl.sent", 8.0),
        ]);
        let both = together(&near, &far).numbers;
        assert_eq!((both["cell_dl.sent"], both["cell_dl.lost_ratio"]), (100.0, 0.1));
        assert_eq!(
            (both["cell_ul.sent"], both["cell_ul.lost_ratio"], both["cell_ul.early"]),
            (50.0, 0.0, 3.0)
        );
        assert_eq!((both["cell_dl.delay_us_p99"], both["cell_dl.sender_late_us_p99"]), (20.0, 7.0));
        assert_eq!(
            (both["live.ports"], both["live.timestamp_source"], both["background_dl.sent"]),
            (2.0, 0.0, 8.0)
        );
    }
}
