//! Checks of slice configurations. Code that executes commands calls these first. A refusal therefore changes nothing
//! and is the same everywhere.

use crate::e2sm::control::{Reason, Refusal};

use super::{
    DEADLINE_MAX, LABEL_MAX, SLICES_MAX, Slice, SliceAlgorithm, SliceAllocation, SliceCommand,
    SliceParameters, SliceSet, UeScheduler, WHOLE_PPM,
};

fn refuse<T>(reason: Reason, detail: impl AsRef<str>) -> Result<T, Refusal> {
    Err(Refusal::new(reason, detail))
}

impl SliceSet {
    /// Returns the slice with this number.
    pub fn slice(&self, id: u16) -> Option<&Slice> {
        self.slices.iter().find(|slice| slice.id == id)
    }

    /// Returns the configuration after a command, on a carrier with `prbs` resource blocks, or the reason why it is
    /// impossible. Associations and allocations do not change the configuration. Their slices are checked here; their
    /// UEs and slots are checked by the base station.
    pub fn after(&self, command: &SliceCommand, prbs: u16) -> Result<Self, Refusal> {
        let mut next = self.clone();
        match command {
            SliceCommand::Configure(set) => next = set.clone(),
            SliceCommand::Add(slice) if self.slice(slice.id).is_some() => {
                return refuse(Reason::Exists, format!("slice {} exists already", slice.id));
            }
            SliceCommand::Add(slice) => next.slices.push(slice.clone()),
            SliceCommand::Modify(slice) => match next.slices.iter_mut().find(|s| s.id == slice.id) {
                Some(known) => *known = slice.clone(),
                None => return unknown(slice.id),
            },
            SliceCommand::Delete(id) => {
                self.slice(*id).map_or_else(|| unknown(*id), |_| Ok(()))?;
                next.slices.retain(|slice| slice.id != *id);
            }
            SliceCommand::Associate(ues) => {
                let missing = ues.iter().find(|ue| self.slice(ue.slice).is_none());
                return missing.map_or_else(|| Ok(next), |ue| unknown(ue.slice));
            }
            SliceCommand::Allocate(allocation) => {
                return self.check_allocation(allocation, prbs).map(|()| next);
            }
        }
        next.check(prbs).map(|()| next)
    }

    /// Checks whether a carrier with `prbs` resource blocks can be shared with this configuration.
    pub fn check(&self, prbs: u16) -> Result<(), Refusal> {
        if self.slices.len() > SLICES_MAX {
            return refuse(Reason::TooMany, format!("at most {SLICES_MAX} slices are allowed"));
        }
        for (n, slice) in self.slices.iter().enumerate() {
            if self.slices[..n].iter().any(|other| other.id == slice.id) {
                return refuse(Reason::Exists, format!("slice {} occurs twice", slice.id));
            }
            if slice.label.len() > LABEL_MAX || slice.label.chars().any(|c| !(' '..='~').contains(&c)) {
                let what =
                    format!("slice {}: a label must have at most {LABEL_MAX} ASCII characters", slice.id);
                return refuse(Reason::Invalid, what);
            }
        }
        let reserved_ppm = self.reserved_ppm(prbs)?;
        if reserved_ppm > u64::from(WHOLE_PPM) {
            let percent = reserved_ppm as f64 / 10_000.0;
            return refuse(
                Reason::Overcommitted,
                format!("the slices would reserve {percent:.4} % of 100 %"),
            );
        }
        Ok(())
    }

    /// Checks whether a controller may allocate in a slice, and whether a slot has enough resource blocks.
    fn check_allocation(&self, allocation: &SliceAllocation, prbs: u16) -> Result<(), Refusal> {
        let Some(slice) = self.slice(allocation.slice) else { return unknown(allocation.slice) };
        let invalid = |what: String| refuse(Reason::Invalid, format!("slice {}: {what}", slice.id));
        if slice.scheduler != UeScheduler::Remote {
            let name = slice.scheduler.name();
            return invalid(format!("its UE scheduler is {name}; allocations require the scheduler remote"));
        }
        let is_first = self.slices.first().is_some_and(|first| first.id == slice.id);
        if self.algorithm == SliceAlgorithm::None && !is_first {
            return invalid("without an algorithm, the first slice's UE scheduler serves all UEs".to_owned());
        }
        let requested: u64 = allocation.ues.iter().map(|ue| u64::from(ue.prbs)).sum();
        if requested > u64::from(prbs) || allocation.ues.iter().any(|ue| ue.prbs == 0) {
            return invalid(format!(
                "the UEs get {requested} resource blocks in a slot; each UE needs 1 or more, all UEs at most {prbs}"
            ));
        }
        let mut rntis: Vec<u16> = allocation.ues.iter().map(|ue| ue.rnti).collect();
        rntis.sort_unstable();
        match rntis.windows(2).find(|two| two[0] == two[1]) {
            Some(twice) => invalid(format!("UE {} occurs twice", twice[0])),
            None => Ok(()),
        }
    }

    /// Returns the sum of all reservations on a carrier with `prbs` resource blocks, in parts per million, each
    /// rounded down so that a rounding error never causes a refusal.
    pub fn reserved_ppm(&self, prbs: u16) -> Result<u64, Refusal> {
        self.slices.iter().map(|slice| self.reserved_by(slice, prbs)).sum()
    }

    fn reserved_by(&self, slice: &Slice, prbs: u16) -> Result<u64, Refusal> {
        let invalid = |what: &str| refuse(Reason::Invalid, format!("slice {}: {what}", slice.id));
        let whole = u64::from(WHOLE_PPM);
        match (self.algorithm, &slice.parameters) {
            (SliceAlgorithm::Static, SliceParameters::Static(range)) => {
                if range.low > range.high || range.high >= prbs {
                    return invalid(&format!(
                        "the range of resource blocks must be within 0 to {} and not be empty",
                        prbs.saturating_sub(1)
                    ));
                }
                let overlaps = |other: &&Slice| {
                    other.id != slice.id
                        && matches!(&other.parameters, SliceParameters::Static(taken)
                            if taken.low <= range.high && range.low <= taken.high)
                };
                match self.slices.iter().find(overlaps) {
                    Some(other) => refuse(
                        Reason::Overcommitted,
                        format!("slices {} and {} would have the same resource blocks", slice.id, other.id),
                    ),
                    // Ranges that do not overlap always fit, so their sum need not be checked.
                    None => Ok(0),
                }
            }
            (SliceAlgorithm::Nvs, SliceParameters::Capacity(0)) => invalid("a share must be above zero"),
            (SliceAlgorithm::Nvs, SliceParameters::Capacity(ppm)) => Ok(u64::from(*ppm)),
            (SliceAlgorithm::Nvs, SliceParameters::Rate(rate)) => {
                let reserved = u64::from(rate.reserved_kbps);
                let reference = u64::from(rate.reference_kbps);
                if reserved == 0 || reserved > reference {
                    return invalid("a reserved rate must be above zero and at most the reference rate");
                }
                Ok(reserved * whole / reference)
            }
            (SliceAlgorithm::Edf, SliceParameters::Deadline(edf)) => {
                let slots = u64::from(edf.deadline_slots);
                let guaranteed = u64::from(edf.guaranteed_prbs);
                if !(1..=DEADLINE_MAX).contains(&edf.deadline_slots) {
                    return invalid(&format!("a deadline must be 1 to {DEADLINE_MAX} slots"));
                }
                if guaranteed == 0 {
                    return invalid("a guarantee must be above zero");
                }
                Ok(guaranteed * whole / (slots * u64::from(prbs.max(1))))
            }
            // Without an algorithm, the parameters are stored for a later algorithm and reserve nothing.
            (SliceAlgorithm::None, _) => Ok(0),
            (algorithm, _) => {
                invalid(&format!("its parameters do not match the algorithm {}", algorithm.name()))
            }
        }
    }
}

fn unknown<T>(id: u16) -> Result<T, Refusal> {
    refuse(Reason::UnknownSlice, format!("there is no slice {id}"))
}

#[cfg(test)]
mod tests {
    use super::super::{DeadlineReservation, PrbRange, RateReservation, UeAllocation, UeSlice};
    use super::*;

    fn slice(id: u16, parameters: SliceParameters) -> Slice {
        Slice { id, label: format!("s{id}"), scheduler: UeScheduler::ProportionalFair, parameters }
    }

    fn nvs(ppm: &[u32]) -> SliceSet {
        let slices = (0..).zip(ppm).map(|(id, ppm)| slice(id, SliceParameters::Capacity(*ppm)));
        SliceSet { algorithm: SliceAlgorithm::Nvs, sharing: true, slices: slices.collect() }
    }

    fn why(outcome: Result<SliceSet, Refusal>) -> Reason {
        outcome.unwrap_err().reason
    }

    #[test]
    fn whole_carrier_may_be_reserved_but_not_more() {
        let set = nvs(&[660_000, 340_000]);
        let configured = SliceSet::default().after(&SliceCommand::Configure(set.clone()), 106).unwrap();
        assert_eq!(configured, set);
        let more = SliceCommand::Modify(slice(0, SliceParameters::Capacity(660_001)));
        assert_eq!(why(set.after(&more, 106)), Reason::Overcommitted);
        let tenths = SliceCommand::Configure(nvs(&[100_000; 10]));
        assert!(set.after(&tenths, 106).is_ok(), "ten slices must be able to reserve a tenth each");
        let rate = RateReservation { reserved_kbps: 1, reference_kbps: 1_000 };
        let rate = SliceCommand::Add(slice(9, SliceParameters::Rate(rate)));
        assert_eq!(why(set.after(&rate, 106)), Reason::Overcommitted);
    }

    #[test]
    fn unknown_and_existing_slices_are_refused_with_reason() {
        let set = nvs(&[500_000, 500_000]);
        assert_eq!(why(set.after(&SliceCommand::Delete(7), 106)), Reason::UnknownSlice);
        let seven = slice(7, SliceParameters::Capacity(1));
        assert_eq!(why(set.after(&SliceCommand::Modify(seven), 106)), Reason::UnknownSlice);
        let again = slice(1, SliceParameters::Capacity(1));
        assert_eq!(why(set.after(&SliceCommand::Add(again), 106)), Reason::Exists);
        let ue = SliceCommand::Associate(vec![UeSlice { rnti: 1, slice: 7 }]);
        assert_eq!(why(set.after(&ue, 106)), Reason::UnknownSlice);
        let left = set.after(&SliceCommand::Delete(0), 106).unwrap();
        assert_eq!(left.slices.iter().map(|slice| slice.id).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn allocations_require_remote_scheduler_and_fit_carrier() {
        let mut set = nvs(&[500_000, 500_000]);
        set.slices[1].scheduler = UeScheduler::Remote;
        let allocate = |slice, ues: &[(u16, u16)]| {
            let ues = ues.iter().map(|&(rnti, prbs)| UeAllocation { rnti, prbs, mcs: None }).collect();
            SliceCommand::Allocate(SliceAllocation { slice, slot: None, slots: 1, ues })
        };
        for fine in [&[][..], &[(1, 106)], &[(1, 53), (2, 53)]] {
            assert_eq!(set.after(&allocate(1, fine), 106), Ok(set.clone()), "{fine:?}");
        }
        assert_eq!(why(set.after(&allocate(7, &[]), 106)), Reason::UnknownSlice);
        for (slice, ues) in [(0, &[(1, 1)][..]), (1, &[(1, 107)]), (1, &[(1, 53), (2, 54)]), (1, &[(1, 0)])] {
            assert_eq!(why(set.after(&allocate(slice, ues), 106)), Reason::Invalid, "{slice} {ues:?}");
        }
        assert_eq!(why(set.after(&allocate(1, &[(3, 1), (2, 1), (3, 1)]), 106)), Reason::Invalid);
        set.algorithm = SliceAlgorithm::None;
        assert_eq!(
            why(set.after(&allocate(1, &[(1, 1)]), 106)),
            Reason::Invalid,
            "without an algorithm, slice 0 serves all UEs, so slice 1 must have no allocation"
        );
    }

    #[test]
    fn parameters_must_match_algorithm_and_range() {
        let set = |algorithm, parameters: &[SliceParameters]| {
            let slices = (0..).zip(parameters).map(|(id, p)| slice(id, p.clone())).collect();
            SliceSet { algorithm, sharing: false, slices }.check(100).map_err(|refusal| refusal.reason)
        };
        let range = |low, high| SliceParameters::Static(PrbRange { low, high });
        let rate = |reserved_kbps, reference_kbps| {
            SliceParameters::Rate(RateReservation { reserved_kbps, reference_kbps })
        };
        let edf = |deadline_slots, guaranteed_prbs| {
            SliceParameters::Deadline(DeadlineReservation {
                deadline_slots,
                guaranteed_prbs,
                max_replenish: guaranteed_prbs,
            })
        };
        use SliceAlgorithm::{Edf, None, Nvs, Static};
        assert_eq!(set(Static, &[range(0, 49), range(50, 99)]), Ok(()));
        assert_eq!(set(Static, &[range(0, 50), range(50, 99)]), Err(Reason::Overcommitted));
        assert_eq!(set(Static, &[range(0, 100)]), Err(Reason::Invalid));
        assert_eq!(set(Static, &[range(2, 1)]), Err(Reason::Invalid));
        assert_eq!(set(Static, &[SliceParameters::Capacity(1)]), Err(Reason::Invalid));
        assert_eq!(set(Nvs, &[SliceParameters::Capacity(0)]), Err(Reason::Invalid));
        assert_eq!(set(Nvs, &[rate(50, 100), SliceParameters::Capacity(500_000)]), Ok(()));
        assert_eq!(set(Nvs, &[rate(101, 100)]), Err(Reason::Invalid));
        assert_eq!(set(Nvs, &[rate(0, 0)]), Err(Reason::Invalid));
        assert_eq!(set(Edf, &[edf(20, 1_000), edf(40, 2_000)]), Ok(()));
        assert_eq!(set(Edf, &[edf(20, 1_001), edf(40, 2_000)]), Err(Reason::Overcommitted));
        assert_eq!(set(Edf, &[edf(0, 1)]), Err(Reason::Invalid));
        assert_eq!(set(Edf, &[edf(u32::MAX, u32::MAX)]), Err(Reason::Invalid));
        assert_eq!(set(None, &[range(7, 3)]), Ok(()));
    }
}
