//! Arrival times of sessions. The schedule is an open loop: responses cannot delay it.
use ranlab_machine::Random;
use std::time::Duration;

/// Arrival process of sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Sessions arrive at constant intervals.
    Constant {
        /// Sessions per second.
        rate: f64,
    },
    /// Sessions arrive at exponentially distributed intervals.
    Poisson {
        /// Sessions per second, on average.
        rate: f64,
    },
    /// Sessions arrive in bursts at constant intervals.
    Burst {
        /// Sessions per second, on average.
        rate: f64,
        /// Sessions per burst.
        size: u32,
    },
    /// Sessions arrive at a rate that changes linearly, and stays constant afterwards.
    Ramp {
        /// Sessions per second at the start.
        from: f64,
        /// Sessions per second at the end.
        to: f64,
        /// Duration of the change.
        over: Duration,
    },
}

impl Arrivals {
    /// Returns the share of one sender, if the arrivals are divided among `senders` senders.
    pub fn shared(self, senders: usize) -> Self {
        let share = |rate: f64| rate / senders.max(1) as f64;
        match self {
            Self::Constant { rate } => Self::Constant { rate: share(rate) },
            Self::Poisson { rate } => Self::Poisson { rate: share(rate) },
            Self::Burst { rate, size } => Self::Burst { rate: share(rate), size },
            Self::Ramp { from, to, over } => Self::Ramp { from: share(from), to: share(to), over },
        }
    }

    /// Returns the sessions per second at a time of the run.
    pub fn rate_at(&self, seconds: f64) -> f64 {
        match *self {
            Self::Constant { rate } | Self::Poisson { rate } | Self::Burst { rate, .. } => rate,
            Self::Ramp { from, to, over } => {
                let share = if over.is_zero() { 1.0 } else { (seconds / over.as_secs_f64()).min(1.0) };
                from + (to - from) * share
            }
        }
    }
}

/// Generator of arrival times, in ascending order.
#[derive(Debug, Clone)]
pub struct Schedule {
    arrivals: Arrivals,
    random: Random,
    count: u64,
    seconds: f64,
    rounds: Option<Rounds>,
}

#[derive(Debug, Clone)]
struct Rounds {
    sessions: usize,
    period_ns: u64,
    begun: u64,
    /// Times of the current round in descending order, so that the next arrival is the last entry.
    times: Vec<u64>,
}

/// Rate below which the next arrival practically never happens, in sessions per second.
const LEAST_RATE: f64 = 1e-6;

impl Schedule {
    /// Creates the schedule for a seed and a sender.
    pub fn new(arrivals: Arrivals, seed: u64, sender: u64) -> Self {
        Self { arrivals, random: Random::stream(seed, sender), count: 0, seconds: 0.0, rounds: None }
    }

    /// Creates a schedule of rounds: each has `sessions` arrivals at random times within `period`.
    pub fn rounds(sessions: usize, period: Duration, seed: u64, sender: u64) -> Self {
        let period_ns = (period.as_nanos() as u64).max(1);
        let rounds = Rounds { sessions: sessions.max(1), period_ns, begun: 0, times: Vec::new() };
        Self { rounds: Some(rounds), ..Self::new(Arrivals::Constant { rate: 1.0 }, seed, sender) }
    }

    /// Returns the time of the next arrival, in nanoseconds since the start.
    pub fn next_ns(&mut self) -> u64 {
        if let Some(rounds) = &mut self.rounds {
            if rounds.times.is_empty() {
                let begin = rounds.begun * rounds.period_ns;
                let random = &mut self.random;
                rounds.times.extend((0..rounds.sessions).map(|_| begin + random.below(rounds.period_ns)));
                rounds.times.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
                rounds.begun += 1;
            }
            return rounds.times.pop().unwrap_or(u64::MAX);
        }
        let at = self.seconds;
        let rate = self.arrivals.rate_at(at).max(LEAST_RATE);
        self.count += 1;
        self.seconds = match self.arrivals {
            // The time is computed from the count, so that rounding errors do not accumulate.
            Arrivals::Constant { .. } => self.count as f64 / rate,
            Arrivals::Poisson { .. } => at - (1.0 - self.random.unit()).ln() / rate,
            Arrivals::Burst { size, .. } => {
                let size = u64::from(size.max(1));
                (self.count / size * size) as f64 / rate
            }
            Arrivals::Ramp { .. } => at + 1.0 / rate,
        };
        (at * 1e9) as u64
    }
}

/// Numbers of scheduled actions: scheduled (`due`), attempted in time (`tried`) and performed (`done`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Paced {
    pub(super) due: u64,
    pub(super) tried: u64,
    pub(super) done: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(arrivals: Arrivals, from_s: u64, to_s: u64) -> usize {
        let mut schedule = Schedule::new(arrivals, 1, 0);
        let times = std::iter::from_fn(|| Some(schedule.next_ns()));
        let bounds = from_s * 1_000_000_000..to_s * 1_000_000_000;
        times.take_while(|at| *at < bounds.end).filter(|at| bounds.contains(at)).count()
    }

    #[test]
    fn each_arrival_process_has_its_configured_rate() {
        assert_eq!(within(Arrivals::Constant { rate: 1_000.0 }, 0, 10), 10_000);
        let poisson = within(Arrivals::Poisson { rate: 1_000.0 }, 0, 100);
        assert!(poisson.abs_diff(100_000) < 1_500, "{poisson}");
        assert_eq!(within(Arrivals::Burst { rate: 1_000.0, size: 50 }, 0, 10), 10_000);
        let ramp = Arrivals::Ramp { from: 100.0, to: 1_000.0, over: Duration::from_secs(10) };
        let [begin, end, after] = [(0, 1), (9, 10), (20, 21)].map(|(from, to)| within(ramp, from, to));
        assert!(
            begin.abs_diff(145) < 15 && end.abs_diff(955) < 15 && after.abs_diff(1_000) < 3,
            "{begin} {end} {after}"
        );
        assert_eq!(within(Arrivals::Constant { rate: 1_000.0 }.shared(4), 0, 10), 2_500);
    }

    #[test]
    fn rounds_have_all_sessions_in_order_of_time() {
        let mut schedule = Schedule::rounds(5, Duration::from_secs(2), 3, 0);
        let times: Vec<u64> = (0..15).map(|_| schedule.next_ns()).collect();
        assert!(times.is_sorted());
        for (n, at) in times.iter().enumerate() {
            assert_eq!(at / 2_000_000_000, n as u64 / 5);
        }
    }

    #[test]
    fn burst_arrives_at_once() {
        let mut schedule = Schedule::new(Arrivals::Burst { rate: 10.0, size: 3 }, 1, 0);
        let times: Vec<u64> = (0..7).map(|_| schedule.next_ns()).collect();
        assert_eq!(times, [0, 0, 0, 300_000_000, 300_000_000, 300_000_000, 600_000_000]);
    }

    #[test]
    fn schedule_is_determined_by_seed_and_sender() {
        let times = |seed, sender| {
            let mut schedule = Schedule::new(Arrivals::Poisson { rate: 100.0 }, seed, sender);
            [(); 50].map(|()| schedule.next_ns())
        };
        assert_eq!(times(1, 0), times(1, 0));
        assert_ne!(times(1, 0), times(2, 0));
        assert_ne!(times(1, 0), times(1, 1));
        assert!(times(1, 0).is_sorted());
    }

    #[test]
    fn poisson_intervals_vary_exponentially() {
        let mut schedule = Schedule::new(Arrivals::Poisson { rate: 1_000.0 }, 1, 0);
        let times: Vec<u64> = (0..20_001).map(|_| schedule.next_ns()).collect();
        let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The coefficient of variation is 1; with constant intervals it would be 0.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn constant_intervals_do_not_drift() {
        let mut schedule = Schedule::new(Arrivals::Constant { rate: 3.0 }, 1, 0);
        let last = (0..=3_000_000).map(|_| schedule.next_ns()).last().unwrap();
        assert!(last.abs_diff(1_000_000 * 1_000_000_000) < 1_000, "{last}");
    }

    #[test]
    fn zero_length_ramp_and_zero_rate_are_valid() {
        let ramp = Arrivals::Ramp { from: 1.0, to: 100.0, over: Duration::ZERO };
        assert_eq!((ramp.rate_at(0.0), ramp.rate_at(5.0)), (100.0, 100.0));
        assert_eq!(ramp.shared(0), ramp, "a single share has the rate of the whole");
        let down = Arrivals::Ramp { from: 100.0, to: 0.0, over: Duration::from_secs(1) };
        assert_eq!((down.rate_at(0.5), down.rate_at(9.0)), (50.0, 0.0));
        let mut never = Schedule::new(Arrivals::Constant { rate: 0.0 }, 1, 0);
        assert_eq!(never.next_ns(), 0);
        assert!(never.next_ns() > 10 * 86_400 * 1_000_000_000);
        let burst = Arrivals::Burst { rate: 100.0, size: 5 }.shared(2);
        assert_eq!(burst, Arrivals::Burst { rate: 50.0, size: 5 }, "bursts keep their size");
    }

    #[test]
    fn empty_and_zero_length_rounds_advance() {
        let mut schedule = Schedule::rounds(0, Duration::ZERO, 1, 0);
        assert_eq!([(); 3].map(|()| schedule.next_ns()), [0, 1, 2]);
    }
}
