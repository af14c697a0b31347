//! What became of the cycles: counts, times, seconds.
use super::meter::Times;
use ranlab_upf::n4::Kind;
use std::time::Duration;

/// What became of the cycles.
#[derive(Debug, Clone, Default)]
pub struct CycleReport {
    /// Sessions that were due, begun or not; in a closed loop, those that were begun.
    pub due: u64,
    /// Sessions that were begun.
    pub started: u64,
    /// Sessions that were established, got their tunnel and, unless kept, ended as asked.
    pub completed: u64,
    /// The time in which sessions were begun, and what was done within it.
    pub window: SendingWindow,
    /// Sessions of which a request was rejected or lost.
    pub failed: u64,
    /// Sessions that failed because the UPF was to choose their uplink tunnel and named none that can be used.
    pub without_tunnel: u64,
    /// Sessions that a restart of the UPF ended.
    pub restarted: u64,
    /// Times that a due request could not be sent because too many were under way.
    pub refused: u64,
    /// Restarts of the UPF that were noticed.
    pub restarts: u64,
    /// Sessions that the UPF reported about: packets wait.
    pub data_reports: u64,
    /// Sessions that the UPF reported about: usage.
    pub usage_reports: u64,
    /// From the intended time, by kind of request.
    pub latency: ByKind,
    /// From the sending, by kind of request.
    pub service: ByKind,
    /// From a session's intended begin to its last answer, the hold not counted.
    pub cycle: Times,
    /// How late the generator was with what was due.
    pub lag: Times,
    /// By second of the run.
    pub seconds: Vec<Second>,
    /// Sessions at most.
    pub live_peak: usize,
}

/// What a sender did while it began sessions. What is answered later, while it only waits, is in no rate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SendingWindow {
    /// Its length.
    pub length: Duration,
    /// Sessions completed within it; with a hold, within a window of the same length that begins a hold later.
    pub completed: u64,
    /// Requests made within it.
    pub made: u64,
    /// Of these, the ones that the own kernel did not take.
    pub unsent: u64,
    /// Requests answered within it.
    pub answered: u64,
    /// Sessions that wait for a response, the fewest at any time of each quarter; `None`: of a quarter nothing is known.
    pub(super) waiting_least: [Option<u64>; 4],
    /// Sessions that were due and could not be begun because too many waited for a response.
    pub held_back: u64,
}

impl SendingWindow {
    /// Takes note of how many sessions wait for a response at a share of the window, 0 to 1.
    pub(super) fn waiting(&mut self, share: f64, sessions: u64) {
        if let Some(least) = self.waiting_least.get_mut((share * 4.0) as usize) {
            *least = Some(least.map_or(sessions, |least| least.min(sessions)));
        }
    }

    /// Sessions by which the backlog grew in the second half of the window: by how much the fewest that waited in the last
    /// quarter exceed the fewest of the second one. A system that keeps up returns to a low level in each quarter, however
    /// long it takes for one session. Sessions that were held back count in full.
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

/// Times by kind of request.
#[derive(Debug, Clone)]
pub struct ByKind(Vec<Times>);

impl Default for ByKind {
    fn default() -> Self {
        Self(vec![Times::default(); Kind::ALL.len()])
    }
}

impl ByKind {
    /// The times of a kind.
    pub fn of(&self, kind: Kind) -> &Times {
        &self.0[kind as usize]
    }

    pub(super) fn record(&mut self, kind: Kind, ns: u64) {
        self.0[kind as usize].record(ns);
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, others)| mine.add(others));
    }
}

/// One second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Second {
    /// Cycles completed.
    pub cycles: u64,
    /// Requests answered.
    pub answers: u64,
    /// Sum of their latencies from the intended time, microseconds.
    pub latency_us_sum: f64,
    /// Sessions at its end.
    pub live: usize,
}

impl CycleReport {
    /// Adds another sender's report.
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
    /// Adds another sender's seconds to one's.
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
    fn senders_are_added_up_but_a_restart_that_all_saw_is_one() {
        let mut sum = report(&[1, 2, 3]);
        sum.add(&report(&[10]));
        assert_eq!((sum.due, sum.started, sum.completed, sum.failed, sum.restarted), (22, 20, 14, 4, 2));
        assert_eq!((sum.refused, sum.restarts, sum.live_peak), (8, 1, 16));
        assert_eq!((sum.data_reports, sum.usage_reports), (10, 12));
        assert_eq!((sum.latency.of(Kind::Deletion).count(), sum.latency.of(Kind::Report).count()), (2, 0));
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
        // A pause at the end that is shorter than a quarter is no backlog.
        assert_eq!(window(&|at| if at > 900 { at as u64 } else { 3 }).backlog(), 0);
        // One more session waits in each thousandth: 250 at the least in the second quarter, 750 in the last.
        let growing = window(&|at| at as u64);
        assert_eq!(growing.backlog(), 500);
        let mut both = growing;
        both.add(&SendingWindow { held_back: 7, ..growing });
        assert_eq!(both.backlog(), 1_007);
        assert_eq!(SendingWindow::default().backlog(), 0);
    }

    #[test]
    fn seconds_that_one_sender_alone_had_are_kept() {
        for (first, other) in [(&[1, 2, 3][..], &[10][..]), (&[10], &[1, 2, 3])] {
            let mut sum = report(first);
            sum.add(&report(other));
            let answers: Vec<u64> = sum.seconds.iter().map(|second| second.answers).collect();
            assert_eq!(answers, [11, 2, 3]);
            assert_eq!((sum.seconds[0].live, sum.seconds[2].live), (6, 3));
        }
    }
}
