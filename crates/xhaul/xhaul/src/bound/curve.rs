//! Arrival curves: upper bounds of the flows' traffic in any window, as work for a stage. Links limit the sums of these curves.

use super::super::network::{Flow, Network, Stage, StageId};
use super::super::pattern::Envelope;
use super::super::scheduler::{Scheduler, TokenBucket, WIRE_PREEMPTION_BYTES};
use super::super::time::{Ps, S};
use super::{Curves, StageFlow};

/// Rounding error of clocks and rates, in ps.
const ROUNDING_PS: Ps = 8;

/// Arrival curve of one flow at one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) envelope: Envelope,
    /// Whether a straight line above the steps is used.
    straight: bool,
}

impl Arrival {
    /// Returns the curve of a flow at its source. `None` if nothing limits the flow. For `whole`, see [`Pattern::envelope`].
    ///
    /// [`Pattern::envelope`]: super::super::pattern::Pattern::envelope
    pub(super) fn from_flow(flow: &Flow, curves: Curves, whole: bool) -> Option<Self> {
        let mut envelope = flow.pattern.envelope(whole)?;
        if flow.clock.drift_ppb != 0 {
            let faster = u128::from(envelope.period_ps) * u128::from(flow.clock.drift_ppb.unsigned_abs());
            // The drift is at most 100 ppm, so the difference is at most a ten-thousandth of the period and fits 64 bits.
            envelope.period_ps = envelope.period_ps.saturating_sub((faster / 1_000_000_000) as Ps + 1).max(1);
            envelope.jitter_ps += ROUNDING_PS;
        }
        let straight = curves == Curves::TokenBuckets && envelope.frames == 1;
        Some(Self { envelope, straight })
    }

    /// Returns the curve after a stage whose maximum delay exceeds its minimum delay by `more_ps`.
    pub(super) fn later(mut self, more_ps: Ps) -> Self {
        self.envelope.jitter_ps += more_ps;
        self
    }

    /// Returns whether this curve never exceeds `bucket`, i.e. its frames pass a regulator without waiting.
    pub(super) fn conforms(&self, bucket: TokenBucket) -> bool {
        self.held_by(bucket) == Some(0)
    }

    /// Returns the maximum delay by a regulator with `bucket` that only this flow uses. `None`: unbounded.
    pub(super) fn held_by(&self, bucket: TokenBucket) -> Option<Ps> {
        let Envelope { bytes, period_ps, jitter_ps, .. } = self.envelope;
        // Time that the bucket needs to refill for this number of bytes.
        let refill =
            |bytes: u64| (u128::from(bytes) * 8 * u128::from(S)).div_ceil(u128::from(bucket.rate_bps));
        if refill(bytes) > u128::from(period_ps) {
            return None;
        }
        // After the first step, the time to each further step is longer than the bucket needs to refill for it.
        let first = jitter_ps / period_ps + 1;
        let held = [(bytes * first, 0), (bytes * (first + 1), first * period_ps - jitter_ps)].map(
            |(sent, window)| {
                let beyond = if self.straight {
                    self.releases_times(bytes, window, false).saturating_sub(u64::from(bucket.burst_bytes))
                } else {
                    sent.saturating_sub(u64::from(bucket.burst_bytes))
                };
                refill(beyond).saturating_sub(u128::from(window))
            },
        );
        Ps::try_from(held[0].max(held[1])).ok()
    }

    /// Returns the curve after a regulator that delayed frames by up to `more_ps`: the delayed curve, or the bucket's limit if its burst is
    /// smaller.
    pub(super) fn regulated(self, bucket: TokenBucket, more_ps: Ps) -> Self {
        let later = self.later(more_ps);
        let Envelope { bytes, jitter_ps, period_ps, smallest, largest, .. } = later.envelope;
        let at_once = bytes.saturating_mul(jitter_ps / period_ps + 1);
        if at_once <= u64::from(bucket.burst_bytes) || smallest != largest {
            return later;
        }
        // The limit is a straight line in releases of the bucket's burst. All frames have one size, so work is proportional to bytes.
        let frames = u64::from(bucket.burst_bytes).div_ceil(u64::from(largest));
        let bytes = frames * u64::from(largest);
        let refill = u128::from(bytes) * 8 * u128::from(S) / u128::from(bucket.rate_bps);
        let period_ps = Ps::try_from(refill).unwrap_or(Ps::MAX).max(1);
        let envelope = Envelope { bytes, frames, period_ps, jitter_ps: 0, ..later.envelope };
        Self { envelope, straight: true }
    }

    /// Returns `amount` multiplied by the number of releases in any window of length `window_ps`. `open`: the window excludes its end.
    fn releases_times(&self, amount: u64, window_ps: Ps, open: bool) -> u64 {
        let reach = window_ps + self.envelope.jitter_ps;
        let period = self.envelope.period_ps;
        if self.straight {
            let more = (u128::from(amount) * u128::from(reach)).div_ceil(u128::from(period));
            return amount.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        }
        let releases = if open { reach.div_ceil(period).max(1) } else { reach / period + 1 };
        releases.saturating_mul(amount)
    }

    /// Returns the window lengths up to `end_ps` at which the curve has a step.
    fn steps(&self, end_ps: Ps) -> impl Iterator<Item = Ps> + use<> {
        let Envelope { period_ps, jitter_ps, .. } = self.envelope;
        let count = if self.straight { 0 } else { (end_ps + jitter_ps) / period_ps };
        let first = jitter_ps / period_ps + 1;
        (first..=count).map(move |index| index * period_ps - jitter_ps)
    }
}

/// Unit of a stage's work for a frame.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Bytes on the wire, plus `extra_bytes`.
    Bytes { ps_per_byte: Ps, extra_bytes: u64 },
    /// A constant amount of work per frame.
    Frame(Ps),
}

impl Work {
    pub(super) fn of_release(self, envelope: &Envelope) -> Ps {
        match self {
            Self::Bytes { ps_per_byte, extra_bytes } => {
                (envelope.bytes + envelope.frames * extra_bytes) * ps_per_byte
            }
            Self::Frame(ps) => envelope.frames * ps,
        }
    }

    pub(super) fn of_frame(self, bytes: u32) -> Ps {
        match self {
            Self::Bytes { ps_per_byte, extra_bytes } => (u64::from(bytes) + extra_bytes) * ps_per_byte,
            Self::Frame(ps) => ps,
        }
    }
}

/// Sum of several flows' work at a stage, limited by the links before the stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    groups: Vec<Group>,
}

/// Flows over the same link, or a single flow from its source.
#[derive(Debug, Clone)]
struct Group {
    from: Option<StageId>,
    flows: Vec<(Arrival, Ps)>,
    line: Option<Line>,
}

/// Straight line `burst + (window + slack) * numerator / denominator`.
#[derive(Debug, Clone, Copy)]
struct Line {
    burst: Ps,
    slack: Ps,
    numerator: u128,
    denominator: u128,
}

impl Sum {
    /// Returns the sum over `guests` as work for this stage. Each flow may be delayed by an additional `delay_ps` before it counts.
    pub(super) fn new<'g>(
        network: &Network,
        guests: impl Iterator<Item = &'g StageFlow>,
        work: Work,
        delay_ps: Ps,
    ) -> Self {
        let mut groups: Vec<(Group, Vec<&StageFlow>)> = Vec::new();
        for guest in guests {
            let entry = (guest.arrival.later(delay_ps), work.of_release(&guest.arrival.envelope));
            let known = groups.iter_mut().find(|(group, _)| guest.from.is_some() && group.from == guest.from);
            match known {
                Some((group, members)) => {
                    group.flows.push(entry);
                    members.push(guest);
                }
                None => {
                    groups.push((Group { from: guest.from, flows: vec![entry], line: None }, vec![guest]));
                }
            }
        }
        let groups = groups.into_iter().map(|(mut group, members)| {
            group.line = group.from.and_then(|from| Line::new(network, from, &members, work, delay_ps));
            group
        });
        Self { groups: groups.collect() }
    }

    /// Returns the sum of both arguments.
    pub(super) fn and(mut self, mut other: Self) -> Self {
        self.groups.append(&mut other.groups);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the maximum work in a window of this length. `open`: the window excludes its end.
    pub(super) fn at(&self, window_ps: Ps, open: bool) -> Ps {
        self.groups.iter().map(|group| group.at(window_ps, open)).fold(0, Ps::saturating_add)
    }

    /// Returns the work per second, in seconds of processing time. Above 1, the stage is overloaded.
    pub(super) fn utilisation(&self) -> f64 {
        let flows = self.groups.iter().flat_map(|group| &group.flows);
        flows.map(|(arrival, work)| *work as f64 / arrival.envelope.period_ps as f64).sum()
    }

    /// Returns the window lengths up to `end_ps` between which the curve is straight, in ascending order, from 0 to `end_ps`.
    pub(super) fn corners(&self, end_ps: Ps) -> Vec<Ps> {
        let mut corners = vec![0, end_ps];
        for group in &self.groups {
            let mut own: Vec<Ps> =
                group.flows.iter().flat_map(|(arrival, _)| arrival.steps(end_ps)).collect();
            own.extend([0, end_ps]);
            own.sort_unstable();
            own.dedup();
            if group.line.is_some() {
                for pair in own.windows(2) {
                    corners.extend(group.crossing(pair[0], pair[1]).into_iter().flatten());
                }
            }
            corners.append(&mut own);
        }
        corners.sort_unstable();
        corners.dedup();
        corners
    }
}

impl Group {
    fn sum(&self, window_ps: Ps, open: bool) -> Ps {
        let flows = self.flows.iter();
        flows
            .map(|(arrival, work)| arrival.releases_times(*work, window_ps, open))
            .fold(0, Ps::saturating_add)
    }

    fn at(&self, window_ps: Ps, open: bool) -> Ps {
        let sum = self.sum(window_ps, open);
        self.line.map_or(sum, |line| sum.min(line.at(window_ps)))
    }

    /// Returns the two adjacent window lengths between which the line and the sum cross.
    fn crossing(&self, from: Ps, to: Ps) -> Option<[Ps; 2]> {
        let line = self.line?;
        let below = |window, open| line.at(window) < self.sum(window, open);
        if to - from < 2 || below(from, false) == below(to, true) {
            return None;
        }
        let mut low = from;
        let mut high = to;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if below(middle, false) == below(from, false) { low = middle } else { high = middle }
        }
        Some([low, high])
    }
}

impl Line {
    /// Returns the sum of these flows, limited by the rate of the link at `from`.
    fn new(
        network: &Network,
        from: StageId,
        members: &[&StageFlow],
        work: Work,
        delay_ps: Ps,
    ) -> Option<Self> {
        let (Stage::Port(port), Work::Bytes { ps_per_byte, extra_bytes }) =
            (&network.stages[usize::from(from)], work)
        else {
            return None;
        };
        let largest = |express: bool| {
            let of = members.iter().filter(|guest| express == is_express(&port.scheduler, guest.class));
            of.map(|guest| work.of_frame(guest.arrival.envelope.largest)).max().unwrap_or(0)
        };
        // One frame of each kind may have started before the window: an express frame inside a preemptable one.
        let burst = largest(true) + largest(false);
        let smallest = u128::from(members.iter().map(|guest| guest.arrival.envelope.smallest).min()?);
        let forwarding = port.forwarding.max_ps() - port.forwarding.min_ps();
        Some(Self {
            burst,
            slack: forwarding + delay_ps,
            numerator: u128::from(ps_per_byte) * (smallest + u128::from(extra_bytes)),
            denominator: u128::from(port.ps_per_byte()) * smallest,
        })
    }

    fn at(&self, window_ps: Ps) -> Ps {
        let more = (u128::from(window_ps + self.slack) * self.numerator).div_ceil(self.denominator);
        self.burst.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
    }
}

pub(super) fn is_express(scheduler: &Scheduler, class: u8) -> bool {
    matches!(scheduler, Scheduler::Preemption { express_from } if class >= *express_from)
}

/// Returns the work of a port, in bytes on the wire.
pub(super) fn bytes(ps_per_byte: Ps) -> Work {
    Work::Bytes { ps_per_byte, extra_bytes: 0 }
}

/// Returns the work of a port for frames that interrupt another frame, in bytes on the wire.
pub(super) fn interrupting(ps_per_byte: Ps) -> Work {
    Work::Bytes { ps_per_byte, extra_bytes: u64::from(WIRE_PREEMPTION_BYTES) }
}
