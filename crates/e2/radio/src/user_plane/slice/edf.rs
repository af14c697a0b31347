//! Earliest deadline first: each slice has a quota of PRBs until its deadline, and the slice with the nearest
//! deadline is served first.

use super::{Grant, SliceParams, SliceSpec};

#[derive(Debug)]
pub(super) struct Edf {
    slices: Vec<Period>,
    order: Vec<u8>,
    prbs: u16,
}

#[derive(Debug)]
struct Period {
    deadline: u32,
    guaranteed: u32,
    replenish: u32,
    /// Number of slots until the deadline; `None` while the slice is idle.
    left: Option<u32>,
    quota: u32,
    suspended: bool,
}

impl Edf {
    pub(super) fn new(slices: &[SliceSpec], prbs: u16) -> Self {
        let period = |slice: &SliceSpec| {
            let SliceParams::Edf { deadline_slots, guaranteed_prbs, max_replenish } = slice.params else {
                return Period {
                    deadline: 1,
                    guaranteed: 0,
                    replenish: 0,
                    left: None,
                    quota: 0,
                    suspended: false,
                };
            };
            Period {
                deadline: deadline_slots,
                guaranteed: guaranteed_prbs,
                replenish: max_replenish,
                left: None,
                quota: 0,
                suspended: false,
            }
        };
        Self { slices: slices.iter().map(period).collect(), order: Vec::new(), prbs }
    }

    pub(super) fn grant(&mut self, active: u32, out: &mut Vec<Grant>) {
        self.order.clear();
        for (index, slice) in self.slices.iter_mut().enumerate() {
            slice.begin(active & (1 << index) != 0);
            if active & (1 << index) != 0 {
                self.order.push(index as u8);
            }
        }
        let slices = &self.slices;
        self.order.sort_by_key(|index| (slices[usize::from(*index)].left, *index));
        let mut left = self.prbs;
        for slice in &self.order {
            let prbs = left.min(self.slices[usize::from(*slice)].quota.min(u32::from(u16::MAX)) as u16);
            left -= prbs;
            out.push(Grant { slice: *slice, prbs, extra: 0 });
        }
    }

    pub(super) fn served(&mut self, slice: u8, prbs: u16) {
        let slice = &mut self.slices[usize::from(slice)];
        slice.quota = slice.quota.saturating_sub(u32::from(prbs));
    }
}

impl Period {
    /// Starts a slot.
    fn begin(&mut self, active: bool) {
        let left = self.left.map_or(0, |left| left.saturating_sub(1));
        if !active {
            self.left = (left > 0).then_some(left);
            self.suspended = true;
            return;
        }
        if left == 0 {
            (self.left, self.quota) = (Some(self.deadline), self.guaranteed);
        } else if self.suspended {
            // A slice that becomes active again before its deadline gets a new period. Its quota consists of the
            // unused rest and a part for the elapsed time.
            let passed =
                u64::from(self.guaranteed) * u64::from(self.deadline - left) / u64::from(self.deadline);
            let replenished = (passed as u32).min(self.replenish);
            (self.left, self.quota) = (Some(self.deadline), (self.quota + replenished).min(self.guaranteed));
        } else {
            self.left = Some(left);
        }
        self.suspended = false;
    }
}
