//! Control of the cell under an agent. Policies, slices and decisions of the controller are converted to commands for the cell.
use crate::agent::{Allocation, CellControl, Radio};
use crate::flexran::protocol::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::slice::{
    PrbRange, Slice as CellSlice, SliceAlgorithm as Algorithm, SliceCommand, SliceParameters as Parameters,
    SliceSet, UeScheduler, UeSlice, WHOLE_PPM,
};
use std::collections::BTreeMap;

/// Maximum number of pushed functions. Further functions are refused.
const PUSHED_MAX: usize = 16;
/// Maximum length of a function's name, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Period after which frame numbers repeat, in ms.
const FRAMES_MS: i64 = 10_240;
/// Highest MCS that a slice can have.
const MCS_MAX: u32 = 28;

/// Schedulers of base stations: two of FlexRAN 0.x, and the schedulers of Mosaic5G.
const BUILT_IN: [(&str, UeScheduler); 5] = [
    (Policy::LOCAL, UeScheduler::ProportionalFair),
    (Policy::REMOTE, UeScheduler::Remote),
    ("round_robin_dl", UeScheduler::RoundRobin),
    ("proportional_fair_wbcqi_dl", UeScheduler::ProportionalFair),
    ("maximum_throughput_wbcqi_dl", UeScheduler::MaxThroughput),
];

fn refuse<T>(reason: Reason, detail: impl AsRef<str>) -> Result<T, Refusal> {
    Err(Refusal::new(reason, detail))
}

fn built_in(name: &str) -> Option<UeScheduler> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, scheduler)| *scheduler)
}

/// A cell, with the scheduler settings of its controller.
#[derive(Debug)]
pub(super) struct Steering {
    cell: Box<dyn CellControl>,
    /// Pushed functions. An emulated base station runs no code. If the code of a function is the name of a built-in scheduler, the function
    /// stands for that scheduler.
    pushed: BTreeMap<String, Option<UeScheduler>>,
    scheduler: UeScheduler,
    /// Combined slice settings of all policies.
    said: Policy,
    /// Number of slices over which UEs are distributed one by one, as in FlexRAN 0.x. 0: UEs are not distributed.
    spread: usize,
    triggered: Option<u64>,
}

impl Steering {
    pub(super) fn new(cell: Box<dyn CellControl>) -> Self {
        Self {
            cell,
            pushed: BTreeMap::new(),
            scheduler: UeScheduler::default(),
            said: Policy::default(),
            spread: 0,
            triggered: None,
        }
    }

    pub(super) fn prbs(&self) -> u16 {
        self.cell.prbs()
    }

    /// Returns the next frame and subframe.
    pub(super) fn sfn_sf(&self) -> u32 {
        sfn_sf(self.cell.subframe())
    }

    pub(super) fn ue(&self, rnti: u16) -> Option<Radio> {
        self.cell.ue(rnti)
    }

    /// Returns the names of the pushed functions.
    pub(super) fn pushed(&self) -> Vec<String> {
        self.pushed.keys().cloned().collect()
    }

    /// Stores a pushed function.
    pub(super) fn push(&mut self, name: &str, code: &[u8]) -> Result<(), Refusal> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return refuse(
                Reason::Invalid,
                format!("a function's name must have 1 to {NAME_BYTES_MAX} bytes"),
            );
        }
        if self.pushed.len() >= PUSHED_MAX && !self.pushed.contains_key(name) {
            return refuse(Reason::TooMany, format!("at most {PUSHED_MAX} functions can be stored"));
        }
        let scheduler = std::str::from_utf8(code).ok().and_then(|text| built_in(text.trim()));
        self.pushed.insert(name.to_owned(), scheduler);
        Ok(())
    }

    /// Returns the subframe to report to the controller, if the controller schedules. Each subframe is returned once.
    pub(super) fn trigger(&mut self) -> Option<u32> {
        let subframe = self.cell.subframe();
        if self.scheduler != UeScheduler::Remote || self.triggered == Some(subframe) {
            return None;
        }
        self.triggered = Some(subframe);
        Some(sfn_sf(subframe))
    }

    /// Handles the end of the connection. UEs that the controller scheduled get a local scheduler. Slices are unchanged.
    pub(super) fn alone(&mut self) {
        if self.scheduler == UeScheduler::Remote {
            let local = Policy::of_behavior(Policy::LOCAL);
            let done = self.apply(&local, &[]);
            debug_assert!(done.is_ok(), "changing only the scheduler must not fail: {done:?}");
        }
    }

    fn named(&self, name: &str) -> Result<UeScheduler, Refusal> {
        match (self.pushed.get(name), built_in(name)) {
            (Some(Some(scheduler)), _) => Ok(*scheduler),
            (_, Some(scheduler)) => Ok(scheduler),
            (Some(None), None) => refuse(
                Reason::NotSupported,
                format!("an emulated base station cannot run the code of {name:?}"),
            ),
            (None, None) => refuse(
                Reason::NotSupported,
                format!("there is no scheduler {name:?}, neither built in nor pushed"),
            ),
        }
    }

    /// Applies a policy completely or not at all. `ues` are the C-RNTIs of the current UEs.
    pub(super) fn apply(&mut self, policy: &Policy, ues: &[u16]) -> Result<(), Refusal> {
        if policy.max_mcs.iter().flatten().any(|mcs| *mcs < MCS_MAX) {
            return refuse(
                Reason::NotSupported,
                format!("the cell cannot limit the MCS; slice_maxmcs must be {MCS_MAX}"),
            );
        }
        let scheduler = policy.behavior.as_deref().map_or(Ok(self.scheduler), |name| self.named(name))?;
        let mut merged = self.said.clone();
        merged.active_slices = policy.active_slices.or(merged.active_slices);
        merged.shares_ppm = policy.shares_ppm.clone().or(merged.shares_ppm);
        let about_slices = policy.active_slices.is_some() || policy.shares_ppm.is_some();
        let next = match &merged.shares_ppm {
            Some(shares) if about_slices => by_shares(shares, merged.active_slices, self.cell.prbs())?,
            None if about_slices => return refuse(Reason::Invalid, "each slice requires a slice_percentage"),
            _ => self.cell.set(),
        };
        let next = scheduled(next, scheduler);
        let count = next.slices.len();
        self.cell.command(&SliceCommand::Configure(next))?;
        (self.said, self.scheduler) = (merged, scheduler);
        if about_slices {
            self.spread = count;
            ues.iter().enumerate().for_each(|(nth, rnti)| self.place(nth, *rnti));
        }
        Ok(())
    }

    /// Assigns a slice to the `nth` UE.
    pub(super) fn place(&mut self, nth: usize, rnti: u16) {
        if self.spread > 0 && self.cell.ue(rnti).is_some() {
            // The number fits, because there are at most four slices.
            let slice = (nth % self.spread) as u16;
            let placed = self.cell.command(&SliceCommand::Associate(vec![UeSlice { rnti, slice }]));
            debug_assert!(placed.is_ok(), "{placed:?}");
        }
    }

    /// Sets the slices of the downlink, given in the form of Mosaic5G.
    pub(super) fn slice(&mut self, config: &SliceDlUlConfig) -> Result<(), Refusal> {
        let algorithm = config.algorithm.map(SliceAlgorithm::from_number);
        let set = match algorithm {
            None | Some(Some(SliceAlgorithm::Unsliced)) => SliceSet::default(),
            Some(Some(SliceAlgorithm::Static)) => {
                let slices = config.slices.iter().map(|slice| self.fixed(slice, config));
                let slices = slices.collect::<Result<Vec<_>, _>>()?;
                SliceSet { algorithm: Algorithm::Static, sharing: false, slices }
            }
            Some(_) => {
                return refuse(
                    Reason::NotSupported,
                    "only slices with fixed resource block groups are supported",
                );
            }
        };
        let set = if set.slices.is_empty() { scheduled(SliceSet::default(), self.scheduler) } else { set };
        self.cell.command(&SliceCommand::Configure(set))?;
        self.spread = 0;
        Ok(())
    }

    fn fixed(&self, slice: &Slice, config: &SliceDlUlConfig) -> Result<CellSlice, Refusal> {
        let id = slice_number(slice.id)?;
        let Some(SliceParameters::Fixed(groups)) = &slice.params else {
            return refuse(Reason::Invalid, format!("slice {id} has no resource block groups"));
        };
        let low = groups.pos_low.unwrap_or(0);
        let high = groups.pos_high.unwrap_or(0);
        let Some(range) = prbs_of_groups(self.cell.prbs(), low, high) else {
            let last = rbgs(self.cell.prbs()).saturating_sub(1);
            return refuse(
                Reason::Invalid,
                format!("slice {id}: resource block groups must be in the range 0 to {last}, lowest first"),
            );
        };
        let name = slice.scheduler.as_deref().or(config.scheduler.as_deref()).filter(|name| !name.is_empty());
        let scheduler = match name {
            // If the controller schedules, it schedules in every slice.
            Some(_) if self.scheduler == UeScheduler::Remote => self.scheduler,
            Some(name) => self.named(name)?,
            None => self.scheduler,
        };
        let parameters = Parameters::Static(PrbRange { low: *range.start(), high: *range.end() });
        Ok(CellSlice { id, label: slice.label.clone().unwrap_or_default(), scheduler, parameters })
    }

    /// Moves UEs into slices.
    pub(super) fn associate(&mut self, ues: &[(u16, u32)]) -> Result<(), Refusal> {
        let of = |(rnti, slice): &(u16, u32)| Ok(UeSlice { rnti: *rnti, slice: slice_number(Some(*slice))? });
        let ues = ues.iter().map(of).collect::<Result<Vec<_>, Refusal>>()?;
        if ues.is_empty() { Ok(()) } else { self.cell.command(&SliceCommand::Associate(ues)) }
    }

    /// Applies a controller's decision on a subframe.
    pub(super) fn decide(&mut self, config: &DlMacConfig) -> Result<(), Refusal> {
        if self.scheduler != UeScheduler::Remote {
            return refuse(
                Reason::NotSupported,
                "decisions are not accepted, because the base station schedules itself",
            );
        }
        let Some(within) = config.sfn_sf.and_then(ms_of_sfn_sf) else {
            return refuse(Reason::Invalid, "a decision must have a frame and a subframe");
        };
        let mut allocated = 0;
        let mut allocations = Vec::new();
        for data in &config.dl_ue_data {
            let dci = data.dl_dci.clone().unwrap_or_default();
            let bitmap = dci.rb_bitmap.unwrap_or(0);
            let rnti = data.rnti.and_then(|rnti| u16::try_from(rnti).ok());
            let mcs = dci.mcs.first().map(|mcs| u8::try_from(*mcs)).transpose();
            match (rnti, prbs_of_bitmap(self.cell.prbs(), bitmap), mcs) {
                (Some(rnti), Some(prbs), Ok(mcs)) if allocated & bitmap == 0 => {
                    allocated |= bitmap;
                    if prbs > 0 {
                        allocations.push(Allocation { rnti, prbs, mcs });
                    }
                }
                _ => {
                    return refuse(
                        Reason::Invalid,
                        "an allocation must have a UE, and resource block groups that no other allocation uses",
                    );
                }
            }
        }
        self.cell.allocate(nearest(self.cell.subframe(), within), &allocations)
    }
}

/// Returns the subframe with this number that is nearest to `now`.
fn nearest(now: u64, within: u32) -> u64 {
    let here = (now % FRAMES_MS as u64) as i64;
    let ahead = (i64::from(within) - here).rem_euclid(FRAMES_MS);
    let ahead = if ahead > FRAMES_MS / 2 { ahead - FRAMES_MS } else { ahead };
    now.saturating_add_signed(ahead)
}

fn slice_number(id: Option<u32>) -> Result<u16, Refusal> {
    let id = id.unwrap_or(0);
    u16::try_from(id).or_else(|_| refuse(Reason::UnknownSlice, format!("slice number {id} exceeds 65535")))
}

/// Returns the same slices with another scheduler of their UEs.
fn scheduled(mut set: SliceSet, scheduler: UeScheduler) -> SliceSet {
    if set.slices.is_empty() {
        let parameters = Parameters::Capacity(WHOLE_PPM);
        set.slices.push(CellSlice { id: 0, label: String::new(), scheduler, parameters });
    }
    set.slices.iter_mut().for_each(|slice| slice.scheduler = scheduler);
    set
}

/// Returns contiguous slices with the given shares of the resource blocks.
fn by_shares(shares: &[u32], active: Option<u32>, prbs: u16) -> Result<SliceSet, Refusal> {
    let count = active.map_or(shares.len(), |count| count as usize);
    if !(1..=shares.len()).contains(&count) {
        return refuse(Reason::Invalid, format!("1 to {} slices can be active, not {count}", shares.len()));
    }
    let sum: u64 = shares[..count].iter().map(|share| u64::from(*share)).sum();
    if sum > u64::from(WHOLE_PPM) {
        let percent = sum as f64 / 10_000.0;
        return refuse(
            Reason::Overcommitted,
            format!("the slices would have {percent:.1} % of the carrier; at most 100 % is allowed"),
        );
    }
    let edge = |ppm: u64| ((ppm * u64::from(prbs) + u64::from(WHOLE_PPM) / 2) / u64::from(WHOLE_PPM)) as u16;
    let mut before = 0;
    let mut slices = Vec::new();
    for (id, share) in (0..).zip(&shares[..count]) {
        let low = edge(before);
        let end = edge(before + u64::from(*share));
        before += u64::from(*share);
        if end <= low {
            return refuse(
                Reason::Invalid,
                format!("slice {id} would have none of the {prbs} resource blocks"),
            );
        }
        let parameters = Parameters::Static(PrbRange { low, high: end - 1 });
        slices.push(CellSlice { id, label: String::new(), scheduler: UeScheduler::default(), parameters });
    }
    Ok(SliceSet { algorithm: Algorithm::Static, sharing: false, slices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subframe_number_refers_to_nearest_subframe() {
        assert_eq!((nearest(5, 7), nearest(5, 3), nearest(5, 10_239)), (7, 3, 0));
        assert_eq!(
            (nearest(10_238, 1), nearest(20_480, 10_239), nearest(30_000, 9_525)),
            (10_241, 20_479, 30_005)
        );
    }

    #[test]
    fn slice_shares_become_resource_block_ranges_without_gaps() {
        let ranges = |shares: &[u32], active, prbs| -> Vec<(u16, u16)> {
            let set = by_shares(shares, active, prbs).unwrap();
            let range = |slice: &CellSlice| match slice.parameters {
                Parameters::Static(range) => (range.low, range.high),
                _ => panic!("{slice:?}"),
            };
            set.slices.iter().map(range).collect()
        };
        assert_eq!(ranges(&[600_000, 400_000], None, 25), [(0, 14), (15, 24)]);
        assert_eq!(ranges(&[333_333, 333_333, 333_334, 0], Some(3), 106), [(0, 34), (35, 70), (71, 105)]);
        let why = |shares: &[u32], active| by_shares(shares, active, 25).unwrap_err().reason;
        assert_eq!(why(&[600_000, 500_000], None), Reason::Overcommitted);
        assert_eq!((why(&[1_000_000], Some(2)), why(&[10_000], None)), (Reason::Invalid, Reason::Invalid));
    }
}
