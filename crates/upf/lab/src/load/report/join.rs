//! Joins the reports of several loads on one UPF: counters and rates are added, distributions are merged.
use super::super::frames::AfXdpSummary;
use super::super::outcome::Second;
use super::super::paths::PathSummary;
use super::{ControlSummary, DataSummary, LoadReport, RequestSummary, StepSummary, Summary, drift};
use ranlab_upf::n4::Counts;

impl LoadReport {
    /// Adds the report of the load of another location. Both loads must have started and ended together.
    pub fn join(&mut self, other: &Self) {
        self.control.join(&other.control);
        optional(&mut self.set_up, other.set_up.as_ref(), ControlSummary::join);
        optional(&mut self.n3, other.n3.as_ref(), PathSummary::join);
        optional(&mut self.af_xdp, other.af_xdp.as_ref(), AfXdpSummary::join);
        // Both reports have the same steps, unless one load was stopped.
        self.steps.iter_mut().zip(&other.steps).for_each(|(mine, more)| mine.join(more));
        self.unexplained += other.unexplained;
        optional(&mut self.silence, other.silence.as_ref(), |mine, more| *mine = mine.worse(*more));
        self.upf_died_s = self.upf_died_s.into_iter().chain(other.upf_died_s).reduce(f64::min);
        self.on_schedule &= other.on_schedule;
        for warning in &other.warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        for (mine, more) in
            [(&mut self.smoke.uplink, other.smoke.uplink), (&mut self.smoke.downlink, other.smoke.downlink)]
        {
            *mine = mine.zip(more).map(|(mine, more)| mine && more);
        }
    }

    /// Removes the distributions that only [`join`](Self::join) needs.
    pub(in super::super) fn forget_distributions(&mut self) {
        let controls = [Some(&mut self.control), self.set_up.as_mut()].into_iter().flatten();
        let mut times: Vec<&mut Option<Summary>> = Vec::new();
        for control in controls {
            times.extend([&mut control.cycle_us, &mut control.lag_us]);
            for of_kind in control.requests.values_mut() {
                times.extend([&mut of_kind.latency_us, &mut of_kind.service_us]);
            }
        }
        times.extend(self.n3.as_mut().map(|n3| &mut n3.round_trip_us));
        for step in &mut self.steps {
            times.extend([&mut step.round_trip_us, &mut step.interruption_us]);
            for side in [&mut step.uplink, &mut step.downlink].into_iter().flatten() {
                times.extend([&mut side.delay_us, &mut side.lag_us]);
            }
        }
        times.into_iter().flatten().for_each(|times| times.counts.clear());
    }
}

/// Joins two optional values. If only one exists, the result is that value.
fn optional<T: Clone>(mine: &mut Option<T>, other: Option<&T>, join: impl FnOnce(&mut T, &T)) {
    match (mine, other) {
        (Some(mine), Some(other)) => join(mine, other),
        (mine @ None, Some(other)) => *mine = Some(other.clone()),
        (_, None) => {}
    }
}

fn times(mine: &mut Option<Summary>, other: Option<&Summary>) {
    optional(mine, other, Summary::join);
}

/// Adds the counts of another SMF.
pub(super) fn add(sum: &mut Counts, more: &Counts) {
    sum.sent += more.sent;
    sum.pending += more.pending;
    sum.ok += more.ok;
    sum.retransmitted += more.retransmitted;
    sum.rejected += more.rejected;
    sum.late += more.late;
    sum.lost += more.lost;
    sum.duplicate += more.duplicate;
    sum.retransmissions += more.retransmissions;
}

/// Adds the named numeric fields of `$other` to the same fields of `$mine`.
macro_rules! add {
    ($mine:ident, $other:ident: $($field:ident),+ $(,)?) => { $( $mine.$field += $other.$field; )+ };
}

impl ControlSummary {
    fn join(&mut self, other: &Self) {
        let answers = |one: &Self| one.answers_per_cpu_s * one.generator_cpu_s;
        let answers = answers(self) + answers(other);
        add!(self, other: due, backlog, held_back, requests_offered, requests_accepted, requests_acknowledged, started, completed, failed, restarted, cycles_per_s, answers_per_s, responses, unexpected,
            malformed, releases_unanswered, left_behind, refused, live_peak, generator_cpu_s);
        self.wall_s = self.wall_s.max(other.wall_s);
        self.hold_s = self.hold_s.max(other.hold_s);
        // All locations detect the same restarts, so the numbers are not added.
        self.restarts = self.restarts.max(other.restarts);
        self.balanced &= other.balanced;
        self.answers_per_cpu_s =
            if self.generator_cpu_s > 0.0 { answers / self.generator_cpu_s } else { 0.0 };
        // All locations observe the same process.
        self.upf_cpu_s = self.upf_cpu_s.or(other.upf_cpu_s);
        self.reports.iter_mut().zip(other.reports).for_each(|(mine, more)| *mine += more);
        other.causes.iter().for_each(|(cause, n)| *self.causes.entry(*cause).or_default() += n);
        for (kind, more) in &other.requests {
            match self.requests.get_mut(kind) {
                Some(mine) => mine.join(more),
                None => drop(self.requests.insert(kind.clone(), more.clone())),
            }
        }
        times(&mut self.cycle_us, other.cycle_us.as_ref());
        times(&mut self.lag_us, other.lag_us.as_ref());
        Second::join(&mut self.seconds, &other.seconds);
        self.drift = drift(&self.seconds, self.hold_s);
    }
}

impl RequestSummary {
    fn join(&mut self, other: &Self) {
        add!(self, other: sent, ok, retransmitted, rejected, late, lost, pending, duplicate, retransmissions);
        times(&mut self.latency_us, other.latency_us.as_ref());
        times(&mut self.service_us, other.service_us.as_ref());
    }
}

impl StepSummary {
    fn join(&mut self, other: &Self) {
        add!(self, other: handovers, end_markers, old_tunnel, error_indications, generator_cpu_s);
        self.seconds = self.seconds.max(other.seconds);
        self.spacing_us = self.spacing_us.or(other.spacing_us);
        if let (Some((_, offered, allowed)), Some((_, more, further))) = (&mut self.qos, other.qos) {
            (*offered, *allowed) = (*offered + more, *allowed + further);
        }
        optional(&mut self.uplink, other.uplink.as_ref(), DataSummary::join);
        optional(&mut self.downlink, other.downlink.as_ref(), DataSummary::join);
        times(&mut self.round_trip_us, other.round_trip_us.as_ref());
        times(&mut self.interruption_us, other.interruption_us.as_ref());
    }
}

impl DataSummary {
    fn join(&mut self, other: &Self) {
        add!(self, other: offered, sent, received, lost, unseen, duplicates, reordered, streams_disturbed, unsent, idle, offered_pps,
            received_pps, received_bps, strangers);
        optional(&mut self.asked_back, other.asked_back.as_ref(), |mine, more| *mine += more);
        optional(&mut self.asked_pps, other.asked_pps.as_ref(), |mine, more| *mine += more);
        times(&mut self.delay_us, other.delay_us.as_ref());
        times(&mut self.lag_us, other.lag_us.as_ref());
    }
}

impl AfXdpSummary {
    fn join(&mut self, other: &Self) {
        add!(self, other: queues, sent, received, around, unreadable, rx_dropped, rx_ring_full, fill_ring_empty,
            tx_invalid, tx_dropped);
        self.native &= other.native;
        self.zero_copy &= other.zero_copy;
        self.interface = format!("{}, {}", self.interface, other.interface);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{ByKind, CycleReport, Times};
    use super::*;
    use ranlab_upf::n4::{Kind, RequestStats};
    use std::time::Duration;

    /// Returns a report with the given establishment times in microseconds and responses per second.
    fn load(took_us: &[u64], seconds: &[u64], distributions: bool) -> LoadReport {
        let mut latency = ByKind::default();
        took_us.iter().for_each(|us| latency.record(Kind::Establishment, us * 1_000));
        let second = |answers: &u64| Second { answers: *answers, latency_us_sum: 1.0, ..Second::default() };
        let cycles = CycleReport {
            started: took_us.len() as u64,
            completed: took_us.len() as u64,
            seconds: seconds.iter().map(second).collect(),
            restarts: 1,
            ..CycleReport::default()
        };
        let mut report = LoadReport { on_schedule: true, ..LoadReport::default() };
        report.control = super::super::control(
            &cycles,
            &[RequestStats::default()],
            Duration::from_secs(2),
            Duration::from_secs(1),
        );
        let mut requests =
            super::super::request(&Default::default(), latency.times(Kind::Establishment).summary(), None);
        requests.sent = took_us.len() as u64;
        report.control.answers_per_cpu_s = took_us.len() as f64;
        report.control.requests.insert("establishment".to_owned(), requests);
        let mut delay = Times::default();
        took_us.iter().for_each(|us| delay.record(us * 1_000));
        let uplink = DataSummary {
            sent: 10,
            received: 9,
            lost: 1,
            asked_pps: Some(5.0),
            delay_us: delay.summary(),
            received_pps: 4.5,
            ..DataSummary::default()
        };
        report.steps.push(StepSummary { seconds: 2.0, uplink: Some(uplink), ..StepSummary::default() });
        if !distributions {
            report.forget_distributions();
        }
        report
    }

    #[test]
    fn joined_reports_equal_report_of_single_location() {
        let some: Vec<u64> = (1..=900).collect();
        let others: Vec<u64> = (5_000..=5_099).collect();
        let mut joined = load(&some, &[1, 2, 3], true);
        joined.join(&load(&others, &[10], true));
        let one = load(&[some, others].concat(), &[11, 2, 3], true);
        let all = &joined.control.requests["establishment"];
        let of_one = &one.control.requests["establishment"];
        assert_eq!((all.sent, &all.latency_us), (1_000, &of_one.latency_us));
        // The mean of both medians would be 2,750. The mean of both 99th percentiles would be 2,995.
        let latency = all.latency_us.as_ref().unwrap();
        assert!(
            (latency.p50 / 500.0 - 1.0).abs() < 2e-3 && (latency.p99 / 5_089.0 - 1.0).abs() < 2e-3,
            "{latency:?}"
        );
        assert_eq!((joined.control.completed, joined.control.cycles_per_s), (1_000, 500.0));
        assert_eq!((joined.control.answers_per_cpu_s, joined.control.restarts), (500.0, 1));
        let answers: Vec<_> = joined.control.seconds.iter().map(|second| second.answers).collect();
        assert_eq!(answers, [11, 2, 3]);
        let side = joined.steps[0].uplink.as_ref().unwrap();
        assert_eq!((side.sent, side.lost, side.asked_pps, side.received_pps), (20, 2, Some(10.0), 9.0));
        assert_eq!(side.delay_us, one.steps[0].uplink.as_ref().unwrap().delay_us);
    }

    #[test]
    fn worst_location_determines_assessment() {
        let mut joined = load(&[1], &[], true);
        let late = LoadReport {
            on_schedule: false,
            upf_died_s: Some(1.0),
            warnings: vec!["late".to_owned()],
            ..load(&[1], &[], true)
        };
        joined.join(&late);
        joined.join(&late);
        (joined.control.due, joined.control.requests_accepted) = (7, 20);
        joined.steps[0].uplink.get_or_insert_default().unseen = 4;
        let twice = joined.clone();
        joined.join(&twice);
        assert_eq!((joined.control.due, joined.control.requests_accepted), (14, 40));
        assert_eq!(joined.steps[0].uplink.as_ref().map(|side| side.unseen), Some(8));
        assert_eq!((joined.on_schedule, joined.upf_died_s, joined.warnings.len()), (false, Some(1.0), 1));
    }

    #[test]
    fn unjoined_report_has_no_distributions() {
        let counts = |distributions| {
            let report = load(&[1, 2], &[], distributions);
            let control = report.control.requests["establishment"].latency_us.clone().unwrap();
            [control, report.steps[0].uplink.clone().unwrap().delay_us.unwrap()]
                .map(|times| times.counts.len())
        };
        assert_eq!((counts(true), counts(false)), ([2, 2], [0, 0]));
    }
}
