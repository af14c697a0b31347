//! The UE scheduler, which orders the UEs within a slice's PRBs.

use super::slice::SLICES_MAX;

/// Order in which UEs are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UeScheduler {
    /// Round robin.
    RoundRobin,
    /// Proportional fair: the highest ratio of the current rate to the recent mean rate.
    ProportionalFair {
        /// Memory of the mean rate in slots, 2 to 1,000,000.
        window_slots: u32,
    },
    /// Maximum throughput: the highest current rate.
    MaxThroughput,
    /// Allocation of each slot by a controller. A slot without an allocation stays unused.
    Remote,
}

/// State that the scheduler reads in each slot, stored contiguously for all UEs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SchedulerState {
    /// Bytes of transport blocks that the UE needs, as far as the base station knows.
    pub(crate) demand: u32,
    /// Bytes of a slot with all PRBs; zero if the channel carries no data.
    pub(crate) rate: f32,
    /// Recent mean rate, in bytes per slot.
    pub(crate) mean: f32,
    /// Bytes sent in this slot.
    pub(crate) served: u32,
    /// Weight of a slot in the mean rate.
    pub(crate) forgetting: f32,
    /// Lower bits of the slot of the last transport block.
    pub(crate) stamp: u32,
    /// Free HARQ processes, as bits.
    pub(crate) free: u16,
    /// HARQ processes with a block to retransmit, as bits.
    pub(crate) again: u16,
    /// Index of the slice.
    pub(crate) slice: u8,
    pub(crate) mcs: u8,
    pub(crate) cqi: u8,
    pub(crate) live: bool,
}

impl Default for UeScheduler {
    fn default() -> Self {
        Self::ProportionalFair { window_slots: 1000 }
    }
}

impl UeScheduler {
    pub(crate) fn check(self) -> Result<(), (&'static str, f64, &'static str)> {
        match self {
            Self::ProportionalFair { window_slots } if !(2..=1_000_000).contains(&window_slots) => {
                Err(("the window in slots", f64::from(window_slots), "2 to 1000000"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the weight of a slot in the mean rates of the UEs.
    pub(crate) fn forgetting(self) -> f32 {
        match self {
            Self::ProportionalFair { window_slots } => 1.0 / window_slots as f32,
            // Other schedulers also keep a mean, because it breaks ties.
            _ => 1.0 / 1000.0,
        }
    }

    /// Returns the next ready UE. For round robin, `turn` is the index after the UE that was served last. Of UEs with
    /// equal metrics, the UE with the lower mean rate is chosen, then the UE with the lower index.
    pub(crate) fn pick(
        self,
        ues: &[SchedulerState],
        turn: u32,
        ready: impl Fn(&SchedulerState) -> bool,
    ) -> Option<usize> {
        match self {
            Self::RoundRobin => {
                let from = (turn as usize).min(ues.len());
                let after = ues[from..].iter().position(&ready).map(|index| from + index);
                after.or_else(|| ues[..from].iter().position(&ready))
            }
            Self::ProportionalFair { .. } => best(ues, ready, |ue| ue.rate / ue.mean.max(1e-3)),
            Self::MaxThroughput => best(ues, ready, |ue| ue.rate),
            Self::Remote => None,
        }
    }
}

fn best(
    ues: &[SchedulerState],
    ready: impl Fn(&SchedulerState) -> bool,
    metric: impl Fn(&SchedulerState) -> f32,
) -> Option<usize> {
    let mut best: Option<(usize, f32, f32)> = None;
    for (index, ue) in ues.iter().enumerate() {
        if !ready(ue) {
            continue;
        }
        let value = metric(ue);
        if best.is_none_or(|(_, most, mean)| value > most || (value == most && ue.mean < mean)) {
            best = Some((index, value, ue.mean));
        }
    }
    best.map(|(index, ..)| index)
}

/// Returns, for each slice, the number of UEs that `counts` accepts.
pub(crate) fn demands(hot: &[SchedulerState], counts: impl Fn(&SchedulerState) -> bool) -> [u16; SLICES_MAX] {
    let mut demands = [0; SLICES_MAX];
    for hot in hot.iter().filter(|hot| counts(hot)) {
        demands[usize::from(hot.slice)] += 1;
    }
    demands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_plane::random::{Purpose, Stream};

    /// Simulates UEs whose rates are independent and exponentially distributed with these means. Returns the mean rate
    /// and the share of slots of each UE.
    fn run(scheduler: UeScheduler, means: &[f64], slots: u64) -> Vec<(f64, f64)> {
        let streams: Vec<Stream> =
            (0..means.len()).map(|ue| Stream::new(5, Purpose::Fading, ue as u64)).collect();
        let mut ues: Vec<SchedulerState> = means
            .iter()
            .map(|mean| SchedulerState { mean: *mean as f32, ..SchedulerState::default() })
            .collect();
        let mut got = vec![(0.0, 0.0); means.len()];
        let mut turn = 0;
        for slot in 0..slots {
            for ((ue, stream), mean) in ues.iter_mut().zip(&streams).zip(means) {
                ue.rate = (mean * stream.exponential(slot)) as f32;
            }
            let chosen = scheduler.pick(&ues, turn, |_| true).unwrap();
            turn = chosen as u32 + 1;
            got[chosen].0 += f64::from(ues[chosen].rate) / slots as f64;
            got[chosen].1 += 1.0 / slots as f64;
            for (index, ue) in ues.iter_mut().enumerate() {
                let served = if index == chosen { ue.rate } else { 0.0 };
                ue.mean += scheduler.forgetting() * (served - ue.mean);
            }
        }
        got
    }

    #[test]
    fn proportional_fair_gain_over_round_robin_is_harmonic_number() {
        let window = UeScheduler::ProportionalFair { window_slots: 2000 };
        for ues in [2, 4, 8, 16] {
            let harmonic: f64 = (1..=ues).map(|k| 1.0 / f64::from(k)).sum();
            let means = vec![100.0; ues as usize];
            let total = |scheduler| run(scheduler, &means, 400_000).iter().map(|ue| ue.0).sum::<f64>();
            let gain = total(window) / total(UeScheduler::RoundRobin);
            assert!((gain / harmonic - 1.0).abs() < 0.02, "{ues} UEs: {gain} against {harmonic}");
        }
    }

    #[test]
    fn proportional_fair_gives_unequal_ues_equal_time() {
        let window = UeScheduler::ProportionalFair { window_slots: 2000 };
        let got = run(window, &[1.0, 10.0], 400_000);
        assert!(
            (got[0].1 - 0.5).abs() < 0.01 && (got[0].0 - 0.75).abs() < 0.02 && (got[1].0 - 7.5).abs() < 0.2,
            "{got:?}"
        );
    }

    #[test]
    fn maximum_rate_starves_far_ues_but_round_robin_does_not() {
        let greedy = run(UeScheduler::MaxThroughput, &[1.0, 10.0], 200_000);
        assert!((greedy[0].1 - 1.0 / 11.0).abs() < 0.005, "{greedy:?}");
        let fair = run(UeScheduler::RoundRobin, &[1.0, 10.0], 200_000);
        assert!((fair[0].1 - 0.5).abs() < 1e-9 && (fair[1].0 - 5.0).abs() < 0.1, "{fair:?}");
    }
}
