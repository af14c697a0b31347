//! RRM policy ratios (TS 28.541 §4.3.36). Each slice has a guarantee, a dedicated part of the guarantee that no other
//! slice may use, and a limit.
//!
//! Resources follow demand (the number of UEs with data), within the guarantees and limits of the slices that have
//! data. The dedicated part of a slice stays empty if the slice does not use it.

use super::{SLICES_MAX, SliceParams, SliceSpec};

/// Maximum absolute value of a slice's credit, in slots.
const CREDIT_MAX: f64 = 4.0;
/// Maximum number of dedicated slots that a slice may use in advance.
const AHEAD_MAX: f64 = 8.0;
/// Number of bisection steps for the common share per UE. It exceeds the 53 bits of precision of an `f64`.
const HALVINGS: usize = 60;

#[derive(Debug)]
pub(super) struct Quota {
    slices: Vec<Entry>,
    /// Demands for which the targets were computed.
    demands: [u16; SLICES_MAX],
    /// Slices of this slot, highest credit first. Empty if the slot is reserved for an idle slice.
    pub(super) order: Vec<u8>,
    /// Slice for which the slot is reserved.
    owner: Option<u8>,
    prbs: f64,
}

#[derive(Debug)]
struct Entry {
    dedicated: f64,
    min: f64,
    max: f64,
    /// Share of the slots that the slice should get now.
    target: f64,
    /// Number of slots that the slice should have got but did not get.
    credit: f64,
    /// Number of slots that the limit still allows.
    allowance: f64,
    /// Number of dedicated slots that were neither used nor left empty yet.
    reserve: f64,
}

impl Entry {
    fn new(slice: &SliceSpec) -> Self {
        let (dedicated, min, max) = match slice.params {
            SliceParams::Quota { dedicated, min, max } => (dedicated, min, max),
            _ => (0.0, 0.0, 1.0),
        };
        Self { dedicated, min, max, target: 0.0, credit: 0.0, allowance: 0.0, reserve: 0.0 }
    }

    /// Returns whether the slice is below its limit.
    fn may_send(&self) -> bool {
        self.max >= 1.0 || self.allowance > 0.0
    }
}

impl Quota {
    pub(super) fn new(slices: &[SliceSpec], prbs: u16) -> Self {
        Self {
            slices: slices.iter().map(Entry::new).collect(),
            demands: [0; SLICES_MAX],
            order: Vec::new(),
            owner: None,
            prbs: f64::from(prbs),
        }
    }

    /// Determines the order of the slices in a slot. `demands` are the numbers of UEs with data, by slice.
    pub(super) fn begin(&mut self, demands: &[u16; SLICES_MAX]) {
        if self.demands != *demands {
            self.demands = *demands;
            self.set_targets();
        }
        for (entry, demand) in self.slices.iter_mut().zip(demands) {
            entry.allowance = (entry.allowance + entry.max).min(1.0);
            entry.reserve += entry.dedicated;
            // An idle slice accumulates no credit.
            entry.credit = if *demand > 0 { (entry.credit + entry.target).min(CREDIT_MAX) } else { 0.0 };
        }
        self.order.clear();
        let owner = self.reserved();
        self.owner = owner.map(|owner| owner as u8);
        if let Some(owner) = owner {
            self.slices[owner].reserve -= 1.0;
            if demands[owner] > 0 && self.slices[owner].may_send() {
                self.order.push(owner as u8);
            }
            return;
        }
        let slices = &self.slices;
        let sends = |slice: &usize| demands[*slice] > 0 && slices[*slice].may_send();
        self.order.extend((0..slices.len()).filter(sends).map(|slice| slice as u8));
        let credit = |slice: &u8| slices[usize::from(*slice)].credit;
        self.order.sort_by(|a, b| credit(b).total_cmp(&credit(a)));
    }

    /// Returns the slice that gets the slot exclusively, because its dedicated part lags by a whole slot.
    fn reserved(&self) -> Option<usize> {
        let due = |slice: &usize| self.slices[*slice].reserve >= 1.0;
        let reserve = |slice: &usize| self.slices[*slice].reserve;
        (0..self.slices.len()).filter(due).max_by(|a, b| reserve(a).total_cmp(&reserve(b)))
    }

    /// Records that a slice has used PRBs of the slot. If the slot is reserved, `begin` has already reduced `reserve`.
    pub(super) fn served(&mut self, slice: u8, used: u16) {
        let share = f64::from(used) / self.prbs;
        let entry = &mut self.slices[usize::from(slice)];
        entry.credit = (entry.credit - share).max(-CREDIT_MAX);
        entry.allowance -= share;
        if entry.dedicated > 0.0 && self.owner.is_none() {
            entry.reserve = (entry.reserve - share).max(-AHEAD_MAX);
        }
    }

    /// Sets the target of each slice with data. The share per UE is the same in all slices, within the guarantees and
    /// limits.
    fn set_targets(&mut self) {
        let demands = self.demands;
        let idle = self.slices.iter().zip(demands).filter(|(_, demand)| *demand == 0);
        let kept: f64 = idle.map(|(entry, _)| entry.dedicated).sum();
        let due = |entry: &Entry, demand: u16, of_ue: f64| {
            if demand == 0 { 0.0 } else { (of_ue * f64::from(demand)).clamp(entry.min, entry.max) }
        };
        let sum = |of_ue: f64, slices: &[Entry]| -> f64 {
            slices.iter().zip(demands).map(|(entry, demand)| due(entry, demand, of_ue)).sum()
        };
        let mut low = 0.0;
        let mut high = 1.0;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if sum(middle, &self.slices) > 1.0 - kept {
                high = middle;
            } else {
                low = middle;
            }
        }
        for (entry, demand) in self.slices.iter_mut().zip(demands) {
            entry.target = due(entry, demand, low);
        }
    }
}
