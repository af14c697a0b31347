//! The slice scheduler, which divides the PRBs of a slot among slices.

mod edf;
mod nvs;
mod quota;

use super::ue_scheduler::UeScheduler;
use edf::Edf;
use nvs::Nvs;
use quota::Quota;

/// Algorithm that shares a direction of the carrier among slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SliceAlgorithm {
    /// A single slice with all PRBs.
    #[default]
    None,
    /// A fixed range of PRBs per slice.
    Static,
    /// Network virtualization substrate (Kokku et al.): the slice with the largest lag gets the whole slot.
    Nvs,
    /// Earliest deadline first: each slice gets its PRBs before its deadline.
    Edf,
    /// RRM policy ratios: resources follow demand, within the guarantee and the limit of each slice.
    Quota,
}

/// Guarantee of a slice. Its kind must match the algorithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SliceParams {
    /// For NVS, and without an algorithm: share of the slots, above 0 and at most 1.
    Capacity(f64),
    /// For NVS: a rate, which is guaranteed while the channel is at least as good as the reference.
    Rate {
        /// Reserved rate in Mbit/s, above 0.
        required_mbps: f64,
        /// Rate of the whole carrier on the reference channel in Mbit/s, at least the required rate.
        reference_mbps: f64,
    },
    /// For the static algorithm: PRBs from the first to the last, both included, counted from 0.
    Static {
        /// First PRB.
        first: u16,
        /// Last PRB.
        last: u16,
    },
    /// For EDF: number of PRBs in each period.
    Edf {
        /// Period and deadline in slots, 1 to [`DEADLINE_MAX`].
        deadline_slots: u32,
        /// Number of PRBs guaranteed per period.
        guaranteed_prbs: u32,
        /// Maximum number of PRBs that a slice gets back when it becomes active again before the deadline.
        max_replenish: u32,
    },
    /// For quotas: shares of the PRBs, each 0 to 1, in ascending order (TS 28.541 §4.3.36).
    Quota {
        /// Share that is reserved for the slice, used or not.
        dedicated: f64,
        /// Guaranteed share. Other slices may use the unused rest, except for the dedicated share.
        min: f64,
        /// Maximum share.
        max: f64,
    },
}

/// Configuration of a slice.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceSpec {
    /// Identity of the slice, unique in its direction.
    pub id: u32,
    /// Display name of the slice.
    pub label: String,
    /// Guarantee of the slice.
    pub params: SliceParams,
    /// Scheduler of the UEs in the slice.
    pub scheduler: UeScheduler,
}

/// Slices of a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceSet {
    /// Algorithm that divides the carrier.
    pub algorithm: SliceAlgorithm,
    /// Whether other slices may use unused PRBs of a slice; otherwise these are wasted.
    pub sharing: bool,
    /// Slices. New UEs join the first slice.
    pub slices: Vec<SliceSpec>,
}

impl Default for SliceSet {
    /// Returns a single slice with proportional fair scheduling.
    fn default() -> Self {
        let params = SliceParams::Capacity(1.0);
        let scheduler = UeScheduler::default();
        let slices = vec![SliceSpec { id: 0, label: "default".into(), params, scheduler }];
        Self { algorithm: SliceAlgorithm::None, sharing: true, slices }
    }
}

/// Maximum number of slices in a direction.
pub const SLICES_MAX: usize = 16;
/// Maximum deadline, in slots.
pub const DEADLINE_MAX: u32 = 10_000;
/// Maximum length of a label, in bytes.
pub const LABEL_MAX: usize = 64;
/// Tolerance for a sum of shares that exceeds one due to rounding.
const TOLERANCE: f64 = 1e-6;

/// Reason why slices are invalid. The configuration does not change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SliceError {
    /// There are no slices, or too many.
    #[error("a direction must have 1 to {SLICES_MAX} slices, or 1 slice if it has no algorithm, not {0}")]
    Count(usize),
    /// Two slices have the same identity.
    #[error("slice {0} occurs twice")]
    Twice(u32),
    /// The slice does not exist.
    #[error("there is no slice {0}")]
    NoSlice(u32),
    /// The last slice cannot be removed.
    #[error("the last slice of a direction cannot be deleted")]
    Last,
    /// The parameters belong to another algorithm.
    #[error("slice {id}: the parameters are not of the algorithm {algorithm:?}")]
    Kind {
        /// Identity of the slice.
        id: u32,
        /// Algorithm of the direction.
        algorithm: SliceAlgorithm,
    },
    /// A parameter is not a number, or is out of bounds.
    #[error("slice {id}: {what} is {given}; {allowed} is allowed")]
    Number {
        /// Identity of the slice.
        id: u32,
        /// Name of the parameter.
        what: &'static str,
        /// Given value.
        given: f64,
        /// Allowed range.
        allowed: &'static str,
    },
    /// The slices reserve more than the carrier.
    #[error("the slices reserve {:.2} % of the carrier; at most 100 % is allowed", .0 * 100.0)]
    Sum(f64),
    /// PRBs of two slices overlap.
    #[error("slices {0} and {1} have PRBs in common")]
    Overlap(u32, u32),
    /// A label is too long.
    #[error("slice {0}: a label must have at most {LABEL_MAX} bytes")]
    Label(u32),
}

impl SliceSet {
    /// Checks that the set can be applied to a carrier.
    pub fn check(&self, prbs: u16) -> Result<(), SliceError> {
        let most = if self.algorithm == SliceAlgorithm::None { 1 } else { SLICES_MAX };
        if !(1..=most).contains(&self.slices.len()) {
            return Err(SliceError::Count(self.slices.len()));
        }
        let mut sum = 0.0;
        for (at, slice) in self.slices.iter().enumerate() {
            if self.slices[..at].iter().any(|other| other.id == slice.id) {
                return Err(SliceError::Twice(slice.id));
            }
            if slice.label.len() > LABEL_MAX {
                return Err(SliceError::Label(slice.id));
            }
            slice.scheduler.check().map_err(|(what, given, allowed)| slice.number(what, given, allowed))?;
            sum += slice.share(self.algorithm, prbs)?;
        }
        match self.algorithm {
            SliceAlgorithm::Static => self.check_overlap(),
            _ if sum > 1.0 + TOLERANCE => Err(SliceError::Sum(sum)),
            _ => Ok(()),
        }
    }

    fn check_overlap(&self) -> Result<(), SliceError> {
        for (at, slice) in self.slices.iter().enumerate() {
            for other in &self.slices[..at] {
                if let (SliceParams::Static { first: a, last: b }, SliceParams::Static { first: c, last: d }) =
                    (slice.params, other.params)
                    && a <= d
                    && c <= b
                {
                    return Err(SliceError::Overlap(other.id, slice.id));
                }
            }
        }
        Ok(())
    }

    /// Returns the set with slices added. Slices with the same identity are replaced.
    pub fn with(&self, slices: &[SliceSpec]) -> Self {
        let mut set = self.clone();
        for slice in slices {
            match set.slices.iter_mut().find(|old| old.id == slice.id) {
                Some(old) => *old = slice.clone(),
                None => set.slices.push(slice.clone()),
            }
        }
        set
    }

    /// Returns the set without some slices.
    pub fn without(&self, ids: &[u32]) -> Result<Self, SliceError> {
        if let Some(id) = ids.iter().find(|id| self.slices.iter().all(|slice| slice.id != **id)) {
            return Err(SliceError::NoSlice(*id));
        }
        let mut set = self.clone();
        set.slices.retain(|slice| !ids.contains(&slice.id));
        if set.slices.is_empty() { Err(SliceError::Last) } else { Ok(set) }
    }
}

impl SliceSpec {
    fn number(&self, what: &'static str, given: f64, allowed: &'static str) -> SliceError {
        SliceError::Number { id: self.id, what, given, allowed }
    }

    /// Returns the share of the carrier that the slice reserves.
    fn share(&self, algorithm: SliceAlgorithm, prbs: u16) -> Result<f64, SliceError> {
        match (algorithm, self.params) {
            (SliceAlgorithm::None | SliceAlgorithm::Nvs, SliceParams::Capacity(share)) => {
                let allowed = "above 0 to 1";
                if share > 0.0 && share <= 1.0 {
                    Ok(share)
                } else {
                    Err(self.number("the share", share, allowed))
                }
            }
            (SliceAlgorithm::Nvs, SliceParams::Rate { required_mbps, reference_mbps }) => {
                if !(required_mbps > 0.0 && required_mbps.is_finite()) {
                    return Err(self.number(
                        "the required rate in Mbit/s",
                        required_mbps,
                        "a number above 0",
                    ));
                }
                if !(reference_mbps >= required_mbps && reference_mbps.is_finite()) {
                    let allowed = "the required rate or more";
                    return Err(self.number("the reference rate in Mbit/s", reference_mbps, allowed));
                }
                Ok(required_mbps / reference_mbps)
            }
            (SliceAlgorithm::Static, SliceParams::Static { first, last }) => {
                if last < first || last >= prbs {
                    return Err(self.number(
                        "the last PRB",
                        f64::from(last),
                        "the first to the carrier's last",
                    ));
                }
                Ok(f64::from(last - first + 1) / f64::from(prbs))
            }
            (SliceAlgorithm::Edf, SliceParams::Edf { deadline_slots, guaranteed_prbs, .. }) => {
                if !(1..=DEADLINE_MAX).contains(&deadline_slots) {
                    return Err(self.number(
                        "the deadline in slots",
                        f64::from(deadline_slots),
                        "1 to 10000",
                    ));
                }
                if guaranteed_prbs == 0 {
                    return Err(self.number("the guarantee in PRBs", 0.0, "1 or more"));
                }
                Ok(f64::from(guaranteed_prbs) / f64::from(deadline_slots) / f64::from(prbs))
            }
            (SliceAlgorithm::Quota, SliceParams::Quota { dedicated, min, max }) => {
                if !(0.0 <= dedicated && dedicated <= min) {
                    return Err(self.number("the dedicated share", dedicated, "0 to the guaranteed share"));
                }
                if !(min <= max && max <= 1.0) {
                    return Err(self.number("the greatest share", max, "the guaranteed share to 1"));
                }
                Ok(min)
            }
            _ => Err(SliceError::Kind { id: self.id, algorithm }),
        }
    }
}

/// Resources that a slice received since it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SliceStats {
    /// Number of PRBs used.
    pub prbs: u64,
    /// Number of PRBs that were reserved for the slice and that it did not use. With static and EDF slices that
    /// share, other slices may have used them.
    pub wasted_prbs: u64,
    /// Number of slots in which the slice was granted PRBs.
    pub slots: u64,
    /// Bytes of the slice's transport blocks.
    pub bytes: u64,
    /// Number of slots in which the slice had data but no allocation (scheduler `Remote`).
    pub deadline_misses: u64,
}

/// PRBs granted to a slice in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) slice: u8,
    pub(crate) prbs: u16,
    /// Number of PRBs that other slices left unused.
    pub(crate) extra: u16,
}

/// Slices with the state of their scheduler.
#[derive(Debug)]
pub(crate) struct Slices {
    pub(crate) set: SliceSet,
    pub(crate) stats: Vec<SliceStats>,
    /// Index of the next UE in the round robin, by slice.
    pub(crate) turns: Vec<u32>,
    /// Number of PRBs per slot.
    pub(crate) prbs: u16,
    state: State,
}

#[derive(Debug)]
enum State {
    None,
    Static,
    Nvs(Nvs),
    Edf(Edf),
    Quota(Quota),
}

impl Slices {
    /// Creates the state for a checked set. `mbps_per_byte` converts bytes of a slot to Mbit/s.
    pub(crate) fn new(set: SliceSet, prbs: u16, mbps_per_byte: f64) -> Self {
        let state = match set.algorithm {
            SliceAlgorithm::None => State::None,
            SliceAlgorithm::Static => State::Static,
            SliceAlgorithm::Nvs => State::Nvs(Nvs::new(&set.slices, mbps_per_byte)),
            SliceAlgorithm::Edf => State::Edf(Edf::new(&set.slices, prbs)),
            SliceAlgorithm::Quota => State::Quota(Quota::new(&set.slices, prbs)),
        };
        let count = set.slices.len();
        Self { set, stats: vec![SliceStats::default(); count], turns: vec![0; count], prbs, state }
    }

    /// Sets the number of slots to which each grant applies.
    pub(crate) fn hold(&mut self, slots: f64) {
        if let State::Nvs(nvs) = &mut self.state {
            nvs.hold(slots);
        }
    }

    /// Returns whether each slice gets the PRBs that earlier slices left. If so, the scheduler needs the number of UEs
    /// with data.
    pub(crate) fn follows_demand(&self) -> bool {
        matches!(self.state, State::Quota(_))
    }

    /// Writes the slices of a slot into `out`, in the order of service. `demands` are the numbers of UEs with data,
    /// by slice.
    pub(crate) fn grant_by_demand(&mut self, demands: &[u16; SLICES_MAX], out: &mut Vec<Grant>) {
        out.clear();
        if let State::Quota(quota) = &mut self.state {
            quota.begin(demands);
            out.extend(quota.order.iter().map(|slice| Grant { slice: *slice, prbs: 0, extra: 0 }));
        }
    }

    /// Writes the grants of a slot into `out`, in the order of service. Bit n of `active` states that slice n has
    /// data to send.
    pub(crate) fn grant(&mut self, active: u32, out: &mut Vec<Grant>) {
        out.clear();
        match &mut self.state {
            State::None => out.push(Grant { slice: 0, prbs: self.prbs, extra: 0 }),
            State::Static => {
                for (slice, spec) in (0..).zip(&self.set.slices) {
                    if let SliceParams::Static { first, last } = spec.params {
                        out.push(Grant { slice, prbs: last - first + 1, extra: 0 });
                    }
                }
            }
            State::Nvs(nvs) => {
                let chosen = nvs.choose(active, self.set.sharing);
                out.extend(chosen.map(|slice| Grant { slice, prbs: self.prbs, extra: 0 }));
            }
            State::Edf(edf) => edf.grant(active, out),
            State::Quota(_) => {}
        }
        if self.shares_rest() {
            out.retain(|grant| active & (1 << grant.slice) != 0);
            let granted: u16 = out.iter().map(|grant| grant.prbs).sum();
            let spare = self.prbs - granted;
            let count = out.len() as u16;
            for (index, grant) in (0..).zip(out) {
                grant.extra = spare / count + u16::from(index < spare % count);
            }
        }
    }

    /// Returns whether other slices may use the unused rest of a grant.
    pub(crate) fn shares_rest(&self) -> bool {
        self.set.sharing && matches!(self.state, State::Static | State::Edf(_))
    }

    /// Records the used part of a grant.
    pub(crate) fn served(&mut self, grant: Grant, used: u16, bytes: u32) {
        let stats = &mut self.stats[usize::from(grant.slice)];
        stats.prbs += u64::from(used);
        stats.bytes += u64::from(bytes);
        stats.slots += u64::from(grant.prbs + grant.extra > 0);
        stats.wasted_prbs += u64::from(grant.prbs.saturating_sub(used));
        match &mut self.state {
            State::Nvs(nvs) => nvs.served(grant.slice, bytes),
            State::Edf(edf) => edf.served(grant.slice, used.min(grant.prbs)),
            State::Quota(quota) => quota.served(grant.slice, used),
            State::None | State::Static => {}
        }
    }

    /// Records the use of PRBs that other slices left unused.
    pub(crate) fn served_rest(&mut self, slice: u8, used: u16, bytes: u32) {
        let stats = &mut self.stats[usize::from(slice)];
        stats.prbs += u64::from(used);
        stats.bytes += u64::from(bytes);
    }

    /// Returns the index of a slice.
    pub(crate) fn index(&self, id: u32) -> Option<u8> {
        self.set.slices.iter().position(|slice| slice.id == id).map(|index| index as u8)
    }

    /// Copies counters and round-robin positions of slices with the same identity.
    pub(crate) fn keep(&mut self, old: &Self) {
        for (index, slice) in self.set.slices.iter().enumerate() {
            if let Some(from) = old.index(slice.id) {
                self.stats[index] = old.stats[usize::from(from)];
                self.turns[index] = old.turns[usize::from(from)];
            }
        }
    }
}

#[cfg(test)]
mod tests;
