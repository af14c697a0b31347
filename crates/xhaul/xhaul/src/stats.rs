//! Statistics of one-way delay and its variation, calculated in one pass over the received packets.

use super::time::{MS, Ps, S, US};

/// One-way delay budget that a standard defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Name of the service.
    pub name: &'static str,
    /// Maximum delay of a frame, in ps.
    pub delay_ps: Ps,
    /// Reciprocal of the share of frames that may be late or lost.
    pub one_in: u64,
}

/// Budgets for which [`Delays`] counts late frames: IEEE 802.1CM classes 1 and 2 (user data), and the classes of the eCPRI transport
/// requirements V1.2, table 1.
pub const BUDGETS: [Budget; 7] = [
    Budget { name: "eCPRI High25", delay_ps: 25 * US, one_in: 10_000_000 },
    Budget { name: "eCPRI High100 / 802.1CM", delay_ps: 100 * US, one_in: 10_000_000 },
    Budget { name: "eCPRI High200", delay_ps: 200 * US, one_in: 10_000_000 },
    Budget { name: "3GPP options 6 to 8", delay_ps: 250 * US, one_in: 10_000_000 },
    Budget { name: "eCPRI High500", delay_ps: 500 * US, one_in: 10_000_000 },
    Budget { name: "eCPRI Medium", delay_ps: MS, one_in: 10_000_000 },
    Budget { name: "eCPRI Low", delay_ps: 100 * MS, one_in: 1_000_000 },
];

/// Interval between two records of the RFC 3550 jitter estimate: iperf3's default interval.
const JITTER_INTERVAL_PS: Ps = S;
/// Maximum number of recorded estimates, which is one day. Later estimates are discarded.
const JITTER_NOTES_MAX: usize = 86_400;
/// Base-2 logarithm of the number of histogram buckets per power of two (64 buckets). Quantiles have an error of at most 1/64.
const BUCKETS_BITS: u32 = 6;

/// Delay statistics of a flow. Packets are recorded in order of arrival. Round-trip times use the same arithmetic as one-way delays.
#[derive(Debug, Clone, PartialEq)]
pub struct Delays {
    count: u64,
    min_ps: Ps,
    max_ps: Ps,
    sum_ps: u128,
    /// Sum of squares in ns². It cannot overflow 128 bits.
    squares_ns2: u128,
    histogram: Vec<u64>,
    last: Option<Ps>,
    ipdv_sum_ps: u128,
    ipdv_max_ps: Ps,
    jitter_ps: f64,
    jitter_notes_ps: Vec<f64>,
    jitter_note_at: Option<Ps>,
    next_sequence: u64,
    reordered: u64,
    misses: [u64; BUDGETS.len()],
    own_misses: u64,
}

impl Default for Delays {
    fn default() -> Self {
        Self::new()
    }
}

impl Delays {
    /// Creates empty statistics.
    pub fn new() -> Self {
        Self {
            count: 0,
            min_ps: Ps::MAX,
            max_ps: 0,
            sum_ps: 0,
            squares_ns2: 0,
            histogram: Vec::new(),
            last: None,
            ipdv_sum_ps: 0,
            ipdv_max_ps: 0,
            jitter_ps: 0.0,
            jitter_notes_ps: Vec::new(),
            jitter_note_at: None,
            next_sequence: 0,
            reordered: 0,
            misses: [0; BUDGETS.len()],
            own_misses: 0,
        }
    }

    /// Records the packet `sequence` with its send and receive time. A reception before the send time counts as zero delay.
    pub fn record(&mut self, sequence: u64, sent: Ps, received: Ps, budget_ps: Option<Ps>) {
        let delay = received.saturating_sub(sent);
        self.count += 1;
        self.min_ps = self.min_ps.min(delay);
        self.max_ps = self.max_ps.max(delay);
        self.sum_ps += u128::from(delay);
        self.squares_ns2 += u128::from(delay / 1000).pow(2);
        let bucket = bucket_of(delay);
        if bucket >= self.histogram.len() {
            self.histogram.resize(bucket + 1, 0);
        }
        self.histogram[bucket] += 1;
        // The first packet after an interval belongs to the next one, so the interval is closed first.
        self.note(received);
        self.vary(delay);
        // RFC 4737 section 3: a packet that arrives after a later-sent packet is reordered.
        if sequence < self.next_sequence {
            self.reordered += 1;
        } else {
            self.next_sequence = sequence + 1;
        }
        for (misses, budget) in self.misses.iter_mut().zip(&BUDGETS) {
            *misses += u64::from(delay > budget.delay_ps);
        }
        self.own_misses += u64::from(budget_ps.is_some_and(|budget_ps| delay > budget_ps));
    }

    /// Merges the results of another run of the same flow. The jitter estimate of `other` is used. The recorded estimates of both runs are
    /// stored up to the limit.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.min_ps = self.min_ps.min(other.min_ps);
        self.max_ps = self.max_ps.max(other.max_ps);
        self.sum_ps += other.sum_ps;
        self.squares_ns2 += other.squares_ns2;
        if self.histogram.len() < other.histogram.len() {
            self.histogram.resize(other.histogram.len(), 0);
        }
        for (own, other) in self.histogram.iter_mut().zip(&other.histogram) {
            *own += other;
        }
        self.last = other.last;
        self.ipdv_sum_ps += other.ipdv_sum_ps;
        self.ipdv_max_ps = self.ipdv_max_ps.max(other.ipdv_max_ps);
        self.jitter_ps = other.jitter_ps;
        let room = JITTER_NOTES_MAX.saturating_sub(self.jitter_notes_ps.len());
        self.jitter_notes_ps.extend(other.jitter_notes_ps.iter().take(room));
        self.reordered += other.reordered;
        for (own, other) in self.misses.iter_mut().zip(&other.misses) {
            *own += other;
        }
        self.own_misses += other.own_misses;
    }

    /// Returns the distribution as (largest delay of a bucket in ps, number of packets), in ascending order. Delays have an error of at
    /// most 1/64.
    pub fn buckets(&self) -> impl Iterator<Item = (Ps, u64)> {
        let filled = self.histogram.iter().enumerate().filter(|&(_, &count)| count > 0);
        filled.map(|(bucket, &count)| (bucket_end(bucket).min(self.max_ps), count))
    }

    fn vary(&mut self, delay: Ps) {
        if let Some(last) = self.last.replace(delay) {
            let difference = delay.abs_diff(last);
            self.ipdv_sum_ps += u128::from(difference);
            self.ipdv_max_ps = self.ipdv_max_ps.max(difference);
            self.jitter_ps += (difference as f64 - self.jitter_ps) / 16.0;
        }
    }

    fn note(&mut self, received: Ps) {
        let due_ps = *self.jitter_note_at.get_or_insert(received + JITTER_INTERVAL_PS);
        if received >= due_ps {
            if self.jitter_notes_ps.len() < JITTER_NOTES_MAX {
                self.jitter_notes_ps.push(self.jitter_ps);
            }
            self.jitter_note_at =
                Some(received - (received - due_ps) % JITTER_INTERVAL_PS + JITTER_INTERVAL_PS);
        }
    }

    /// Returns the number of packets.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the minimum delay, or zero without packets.
    pub fn min_ps(&self) -> Ps {
        if self.count == 0 { 0 } else { self.min_ps }
    }

    /// Returns the maximum delay.
    pub fn max_ps(&self) -> Ps {
        self.max_ps
    }

    /// Returns the sum of the delays.
    pub fn sum_ps(&self) -> u128 {
        self.sum_ps
    }

    /// Returns the mean delay, in ps.
    pub fn mean_ps(&self) -> f64 {
        self.sum_ps as f64 / self.count.max(1) as f64
    }

    /// Returns the standard deviation of the delay in ps, calculated from whole nanoseconds.
    pub fn sd_ps(&self) -> f64 {
        let mean_ns = self.mean_ps() / 1000.0;
        let variance = self.squares_ns2 as f64 / self.count.max(1) as f64 - mean_ns * mean_ns;
        variance.max(0.0).sqrt() * 1000.0
    }

    /// Returns the delay that a share `quantile` (0 to 1) of the packets does not exceed. The result is up to 1/64 too large, but never
    /// above the maximum.
    pub fn quantile_ps(&self, quantile: f64) -> Ps {
        let rank = (quantile.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        for (bucket, &count) in self.histogram.iter().enumerate() {
            counted += count;
            if counted >= rank {
                return bucket_end(bucket).min(self.max_ps);
            }
        }
        self.max_ps
    }

    /// Returns the packet delay variation of RFC 5481: the difference between [`quantile_ps`](Self::quantile_ps) and the minimum delay.
    pub fn pdv_ps(&self, quantile: f64) -> Ps {
        self.quantile_ps(quantile).saturating_sub(self.min_ps())
    }

    /// Returns the mean and the maximum absolute difference between the delays of consecutive packets (RFC 3393), in ps.
    pub fn ipdv_ps(&self) -> (f64, Ps) {
        (self.ipdv_sum_ps as f64 / self.count.saturating_sub(1).max(1) as f64, self.ipdv_max_ps)
    }

    /// Returns the interarrival jitter of RFC 3550 section 6.4.1 after the last packet, in ps: `J += (|D| - J) / 16`, as iperf3 calculates
    /// it.
    pub fn jitter_ps(&self) -> f64 {
        self.jitter_ps
    }

    /// Returns the jitter at the end of each second of arrivals, as printed by iperf3.
    pub fn jitter_notes_ps(&self) -> &[f64] {
        &self.jitter_notes_ps
    }

    /// Returns the number of packets that arrived after a later-sent packet (RFC 4737).
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Returns the number of packets that exceeded each of [`BUDGETS`].
    pub fn misses(&self) -> &[u64; BUDGETS.len()] {
        &self.misses
    }

    /// Returns the number of packets that exceeded the budget recorded with them.
    pub fn own_misses(&self) -> u64 {
        self.own_misses
    }
}

fn bucket_of(value: u64) -> usize {
    let top = 63 - (value | 1).leading_zeros();
    if top < BUCKETS_BITS {
        return value as usize;
    }
    let shift = top - BUCKETS_BITS;
    (((u64::from(shift) + 1) << BUCKETS_BITS) + (value >> shift) - (1 << BUCKETS_BITS)) as usize
}

/// Returns the largest value in a bucket.
fn bucket_end(bucket: usize) -> u64 {
    let block = bucket as u64 >> BUCKETS_BITS;
    let offset = bucket as u64 & ((1 << BUCKETS_BITS) - 1);
    if block == 0 {
        return offset;
    }
    let end = (u128::from(offset + (1 << BUCKETS_BITS)) + 1) << (block - 1);
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Calculates iperf3's jitter for (sent, received) in seconds, with its published formula.
    fn iperf3(packets: &[(Ps, Ps)]) -> f64 {
        let mut jitter = 0.0_f64;
        let mut previous = None;
        for &(sent, received) in packets {
            let transit = (received - sent) as f64 / 1e12;
            if let Some(previous) = previous {
                let d: f64 = transit - previous;
                jitter += (d.abs() - jitter) / 16.0;
            }
            previous = Some(transit);
        }
        jitter
    }

    proptest! {
        #[test]
        fn histogram_bucket_error_is_at_most_a_64th(value: u64) {
            let end = bucket_end(bucket_of(value));
            prop_assert!(end >= value);
            prop_assert!(end - value <= value / 64);
            if let Some(before) = bucket_of(value).checked_sub(1) {
                prop_assert!(bucket_end(before) < value);
            }
        }

        #[test]
        fn jitter_equals_that_of_iperf3(delays in proptest::collection::vec(1_000_000_u64..50_000_000_000, 1..200)) {
            let packets: Vec<_> =
                delays.iter().enumerate().map(|(index, delay)| (index as u64 * MS, index as u64 * MS + delay)).collect();
            let mut ours = Delays::new();
            for (index, &(sent, received)) in packets.iter().enumerate() {
                ours.record(index as u64, sent, received, None);
            }
            prop_assert!((ours.jitter_ps() / 1e12 - iperf3(&packets)).abs() < 1e-12);
        }
    }

    #[test]
    fn delay_pdv_ipdv_and_reordering_of_four_packets() {
        let mut delays = Delays::new();
        for (sequence, delay_us) in [(0, 30), (1, 10), (3, 20), (2, 120)] {
            delays.record(sequence, 0, delay_us * US, Some(25 * US));
        }
        assert_eq!((delays.min_ps(), delays.max_ps(), delays.reordered()), (10 * US, 120 * US, 1));
        assert_eq!(delays.pdv_ps(1.0), 110 * US);
        assert_eq!(delays.ipdv_ps(), (130.0 / 3.0 * 1e6, 100 * US));
        assert_eq!(delays.misses()[..3], [2, 1, 0]);
        assert_eq!(delays.own_misses(), 2);
        assert!((delays.mean_ps() - 45e6).abs() < 1.0);
        assert!((delays.sd_ps() - 43.874_82e6).abs() < 10.0);
        assert_eq!(delays.quantile_ps(0.0) / US, 10);
    }

    #[test]
    fn two_runs_merge_into_one_distribution() {
        let recorded = |all: &[(u64, u64)]| {
            let mut delays = Delays::new();
            for &(sequence, us) in all {
                delays.record(sequence, 0, us * US, Some(25 * US));
            }
            delays
        };
        let mut both = recorded(&[(0, 30), (1, 10)]);
        both.merge(&recorded(&[(1, 20), (0, 120)]));
        assert_eq!((both.count(), both.min_ps(), both.max_ps()), (4, 10 * US, 120 * US));
        assert_eq!((both.reordered(), both.own_misses(), both.misses()[1]), (1, 2, 1));
        assert_eq!(both.buckets().map(|(_, count)| count).sum::<u64>(), 4);
        assert_eq!(both.buckets().last().map(|(ps, _)| ps), Some(120 * US));
        let mut none = Delays::new();
        none.merge(&both);
        assert_eq!((none.min_ps(), none.quantile_ps(1.0)), (10 * US, 120 * US));
    }

    #[test]
    fn jitter_estimate_is_recorded_each_second() {
        let mut delays = Delays::new();
        for index in 0..35 {
            let sent = index * S / 10;
            delays.record(index, sent, sent + (index % 2) * 16 * US, None);
        }
        let notes = delays.jitter_notes_ps();
        assert_eq!(notes.len(), 3);
        assert!(notes[0] < notes[1] && notes[1] < notes[2] && notes[2] < 16e6);
    }
}
