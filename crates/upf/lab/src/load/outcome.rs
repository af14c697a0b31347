//! Results of session cycles: counters, times, and values per second.
use super::meter::Times;
use ranlab_upf::n4::Kind;
use std::time::Duration;

/// Results of session cycles.
#[derive(Debug, Clone, Default)]
pub struct CycleReport {
    /// Sessions that were due, whether they began or not. In a closed loop: sessions that began.
    pub due: u64,
    /// Sessions begun.
    pub started: u64,
    /// Completed sessions: they were established, got a tunnel and, unless they remain, were deleted.
    pub completed: u64,
    /// Results within the time in which sessions began.
    pub window: SendingWindow,
    /// Sessions with a rejected or lost request.
    pub failed: u64,
    /// Sessions that failed because the UPF did not return a usable uplink tunnel.
    pub without_tunnel: u64,
    /// Sessions ended by a restart of the UPF.
    pub restarted: u64,
    /// Number of due requests that could not be sent because too many were pending.
    pub refused: u64,
    /// Detected restarts of the UPF.
    pub restarts: u64,
    /// Sessions for which the UPF reported buffered packets.
    pub data_reports: u64,
    /// Sessions for which the UPF reported usage.
    pub usage_reports: u64,
    /// Latency from the scheduled time, per request type.
    pub latency: ByKind,
    /// Latency from the actual send, per request type.
    pub service: ByKind,
    /// Time from a session's scheduled start to its last response, without the hold time.
    pub cycle: Times,
    /// Send delay (scheduled to actual send).
    pub lag: Times,
    /// Values per second of the run.
    pub seconds: Vec<Second>,
    /// Maximum number of concurrent sessions.
    pub live_peak: usize,
}

/// Results of a sender during the time in which it began sessions. Rates do not include later responses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SendingWindow {
    /// Duration of the window.
    pub length: Duration,
    /// Sessions completed within the window. With a hold time: within a window of the same length that begins one hold
    /// time later.
    pub completed: u64,
    /// Requests sent within the window.
    pub made: u64,
    /// Requests within the window that our kernel did not accept.
    pub unsent: u64,
    /// Requests answered within the window.
    pub answered: u64,
    /// Minimum number of sessions waiting for a response in each quarter of the window. `None` if unknown.
    pub(super) waiting_least: [Option<u64>; 4],
    /// Sessions that were due but could not begin, because too many sessions were waiting for a response.
    pub held_back: u64,
}

impl SendingWindow {
    /// Records the number of sessions waiting for a response at a given fraction of the window, from 0 to 1.
    pub(super) fn waiting(&mut self, share: f64, sessions: u64) {
        if let Some(least) = self.waiting_least.get_mut((share * 4.0) as usize) {
            *least = Some(least.map_or(sessions, |least| least.min(sessions)));
        }
    }

    /// Returns the growth of the backlog in the second half of the window: `minimum in the last quarter - minimum in
    /// the second quarter`, where both are numbers of waiting sessions. A system that keeps up returns to a low level in
    /// each quarter, however long a single session takes. Sessions that were held back are added in full.
    pub fn backlog(&self) -> u64 {
        let [_, second, _, last] = self.waiting_least;
        let growth = second.zip(last).map_or(0, |(second, last)| last.saturating_sub(second));
        growth + self.held_back
    }

    fn add(&mut self, other: &Self) {
        self.length = self.length.max(other.length);
        self.completed += other.completed;
        self.made += other.made;
        self.unsent += other.unsent;
        self.answered += other.answered;
        self.held_back += other.held_back;
        for (mine, more) in self.waiting_least.iter_mut().zip(other.waiting_least) {
            *mine = mine.zip(more).map(|(mine, more)| mine + more).or(*mine).or(more);
        }
    }
}

/// Times per request type.
#[derive(Debug, Clone)]
pub struct ByKind(Vec<Times>);

impl Default for ByKind {
    fn default() -> Self {
        Self(vec![Times::default(); Kind::ALL.len()])
    }
}

impl ByKind {
    /// Returns the times of a request type.
    pub fn times(&self, kind: Kind) -> &Times {
        &self.0[kind as usize]
    }

    pub(super) fn record(&mut self, kind: Kind, ns: u64) {
        self.0[kind as usize].record(ns);
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, others)| mine.add(others));
    }
}

/// Values of one second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Second {
    /// Cycles completed.
    pub cycles: u64,
    /// Requests answered.
    pub answers: u64,
    /// Sum of the latencies of answered requests from the scheduled time, in microseconds.
    pub latency_us_sum: f64,
    /// Sessions at the end of the second.
    pub live: usize,
}

impl CycleReport {
    /// Adds the results of another sender.
    pub fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.started += other.started;
        self.completed += other.completed;
        self.window.add(&other.window);
        self.failed += other.failed;
        self.without_tunnel += other.without_tunnel;
        self.restarted += other.restarted;
        self.refused += other.refused;
        self.restarts = self.restarts.max(other.restarts);
        self.data_reports += other.data_reports;
        self.usage_reports += other.usage_reports;
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.cycle.add(&other.cycle);
        self.lag.add(&other.lag);
        self.live_peak += other.live_peak;
        Second::join(&mut self.seconds, &other.seconds);
    }
}

impl Second {
    /// Adds the values per second of another sender.
    pub(super) fn join(mine: &mut Vec<Self>, other: &[Self]) {
        mine.resize(mine.len().max(other.len()), Self::default());
        for (mine, more) in mine.iter_mut().zip(other) {
            mine.cycles += more.cycles;
            mine.answers += more.answers;
            mine.latency_us_sum += more.latency_us_sum;
            mine.live += more.live;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(seconds: &[u64]) -> CycleReport {
        let mut report = CycleReport {
            due: 11,
            started: 10,
            completed: 7,
            failed: 2,
            restarted: 1,
            refused: 4,
            restarts: 1,
            data_reports: 5,
            usage_reports: 6,
            live_peak: 8,
            ..CycleReport::default()
        };
        report.latency.record(Kind::Deletion, 1_000);
        let second = |answers: &u64| Second { answers: *answers, cycles: 1, latency_us_sum: 2.0, live: 3 };
        report.seconds = seconds.iter().map(second).collect();
        report
    }

    #[test]
    fn reports_add_up_and_shared_restart_counts_once() {
        let mut sum = report(&[1, 2, 3]);
        sum.add(&report(&[10]));
        assert_eq!((sum.due, sum.started, sum.completed, sum.failed, sum.restarted), (22, 20, 14, 4, 2));
        assert_eq!((sum.refused, sum.restarts, sum.live_peak), (8, 1, 16));
        assert_eq!((sum.data_reports, sum.usage_reports), (10, 12));
        assert_eq!(
            (sum.latency.times(Kind::Deletion).count(), sum.latency.times(Kind::Report).count()),
            (2, 0)
        );
    }

    #[test]
    fn backlog_is_growth_between_quarters_and_not_a_constant_level() {
        let window = |waiting: &dyn Fn(usize) -> u64| {
            let mut window = SendingWindow::default();
            (0..1_000).for_each(|at| window.waiting(at as f64 / 1_000.0, waiting(at)));
            window
        };
        // A pipeline of 500 sessions is full after a tenth of the window.
        assert_eq!(window(&|at| (at as u64 * 5).min(500)).backlog(), 0);
        // A pause at the end that is shorter than a quarter is not a backlog.
        assert_eq!(window(&|at| if at > 900 { at as u64 } else { 3 }).backlog(), 0);
        // The number of waiting sessions grows by one in each thousandth of the window. Its minimum is 250 in the second quarter and 750 in
        // the last.
        let growing = window(&|at| at as u64);
        assert_eq!(growing.backlog(), 500);
        let mut both = growing;
        both.add(&SendingWindow { held_back: 7, ..growing });
        assert_eq!(both.backlog(), 1_007);
        assert_eq!(SendingWindow::default().backlog(), 0);
    }

    #[test]
    fn sum_covers_all_seconds_of_longest_sender() {
        for (first, other) in [(&[1, 2, 3][..], &[10][..]), (&[10], &[1, 2, 3])] {
            let mut sum = report(first);
            sum.add(&report(other));
            let answers: Vec<u64> = sum.seconds.iter().map(|second| second.answers).collect();
            assert_eq!(answers, [11, 2, 3]);
            assert_eq!((sum.seconds[0].live, sum.seconds[2].live), (6, 3));
        }
    }
}
