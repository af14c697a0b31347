//! Share of an operator, and the mapping of its slices to the base station's slices (FlexRIC §6.2, appendix B).
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::slice::{
    RateReservation, Slice, SliceAlgorithm, SliceAllocation, SliceParameters, SliceSet, UeAllocation,
    UeScheduler, WHOLE_PPM,
};

/// Share of every carrier, and a range of slice ids.
///
/// The operator sees a virtual carrier: 100 % of it correspond to [`share_ppm`](Self::share_ppm) of the real
/// carrier. Slice ids of the operator start at 0 and map to a range that no other operator uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantShare {
    /// Service level agreement: share of all resources, in parts per million, greater than 0.
    pub share_ppm: u32,
    /// First id of the range at the base station. It is the id of the slice [`whole`](Self::whole).
    pub first_id: u16,
    /// Number of further ids; the operator may use 0 to `ids - 1`.
    pub ids: u16,
    /// Maximum number of slices at the same time. It is small, because all operators share the slices of a base
    /// station.
    pub slices: usize,
}

fn refuse<T>(reason: Reason, detail: impl AsRef<str>) -> Result<T, Refusal> {
    Err(Refusal::new(reason, detail))
}

impl TenantShare {
    fn share(&self) -> f64 {
        f64::from(self.share_ppm) / f64::from(WHOLE_PPM)
    }

    /// Returns the base station's id of a slice; `None` if the operator has no such id.
    pub fn outer_id(&self, id: u16) -> Option<u16> {
        (id < self.ids).then(|| self.first_id + 1 + id)
    }

    /// Returns the operator's id of a slice of the base station; `None` if it is not a slice of the operator.
    pub fn inner_id(&self, outer: u16) -> Option<u16> {
        outer.checked_sub(self.first_id + 1).filter(|id| *id < self.ids)
    }

    /// Returns the number of resource blocks of the virtual carrier, at least 1.
    pub fn prbs(&self, of: u16) -> u16 {
        ((f64::from(of) * self.share()).round() as u16).max(1)
    }

    /// Converts a number of resource blocks to the virtual carrier.
    pub fn offered(&self, of: u64) -> u64 {
        u64::try_from(u128::from(of) * u128::from(self.share_ppm) / u128::from(WHOLE_PPM)).unwrap_or(u64::MAX)
    }

    /// Returns the slice that represents the whole share, used while the operator has no slices.
    pub fn whole(&self, label: &str) -> Slice {
        let id = self.first_id;
        let scheduler = UeScheduler::ProportionalFair;
        Slice {
            id,
            label: label.to_owned(),
            scheduler,
            parameters: SliceParameters::Capacity(self.share_ppm),
        }
    }

    /// Maps an allocation to the base station's carrier.
    ///
    /// The resource blocks of one virtual slot are allocated in the real slots that belong to the operator's
    /// slices. An operator therefore never exceeds its share.
    pub fn allocation(&self, of: &SliceAllocation, prbs: u16) -> Option<SliceAllocation> {
        let inner = u64::from(self.prbs(prbs));
        let scaled = |ue: &UeAllocation| UeAllocation {
            prbs: u16::try_from(u64::from(ue.prbs) * u64::from(prbs) / inner).unwrap_or(prbs),
            ..*ue
        };
        Some(SliceAllocation {
            slice: self.outer_id(of.slice)?,
            ues: of.ues.iter().map(scaled).collect(),
            ..of.clone()
        })
    }

    /// Maps a slice configuration to the base station's carrier.
    ///
    /// A capacity is scaled by the operator's share. A rate is unchanged, and its reference rate is divided by the share. No configuration
    /// can therefore reserve more than the share. Rounding costs at most one part per million per slice.
    ///
    /// With `sharing`, the unreserved rest is added to the operator's slices that have a capacity. Without
    /// such a slice, the rest is reserved by a slice without UEs, [`whole`](Self::whole). The rest thus never
    /// becomes a reservation of another operator, even if virtualization is nested.
    ///
    /// # Errors
    /// Returns a [`Refusal`] in the operator's terms if the configuration is invalid.
    pub fn outer(&self, set: &SliceSet, sharing: bool, prbs: u16) -> Result<Vec<Slice>, Refusal> {
        if !matches!(set.algorithm, SliceAlgorithm::Nvs | SliceAlgorithm::None) {
            let what = format!(
                "slices of the algorithm {} cannot share a carrier with other operators; use nvs",
                set.algorithm.name()
            );
            return refuse(Reason::NotSupported, what);
        }
        if set.sharing != sharing {
            let what = format!("sharing must be {sharing}, as for all operators of this base station");
            return refuse(Reason::NotSupported, what);
        }
        set.check(self.prbs(prbs))?;
        if set.slices.len() > self.slices {
            return refuse(Reason::TooMany, format!("at most {} slices are allowed", self.slices));
        }
        if set.algorithm == SliceAlgorithm::None && !set.slices.is_empty() {
            return refuse(
                Reason::NotSupported,
                "slices at a shared base station require an algorithm; use nvs",
            );
        }
        let slices: Vec<_> = set.slices.iter().map(|slice| self.scaled(slice)).collect::<Result<_, _>>()?;
        let reserved = SliceSet { algorithm: SliceAlgorithm::Nvs, sharing, slices };
        let left = u64::from(self.share_ppm).checked_sub(reserved.reserved_ppm(prbs)?);
        let Some(left) = left else {
            return refuse(
                Reason::Overcommitted,
                "the slices would reserve more than 100 % of the operator's share",
            );
        };
        let mut slices = reserved.slices;
        if !sharing {
            return Ok(slices);
        }
        let left = u32::try_from(keep(&mut slices, left)).unwrap_or_default();
        if left > 0 && !slices.is_empty() {
            if slices.len() == self.slices {
                let what =
                    format!("at most {} slices are allowed if none of them has a capacity", self.slices - 1);
                return refuse(Reason::TooMany, what);
            }
            slices.push(Slice { parameters: SliceParameters::Capacity(left), ..self.whole("left") });
        }
        Ok(slices)
    }

    fn scaled(&self, slice: &Slice) -> Result<Slice, Refusal> {
        let Some(id) = self.outer_id(slice.id) else {
            return refuse(Reason::Invalid, format!("slice {}: ids must be 0 to {}", slice.id, self.ids - 1));
        };
        let share = u64::from(self.share_ppm);
        let whole = u64::from(WHOLE_PPM);
        let parameters = match slice.parameters {
            SliceParameters::Capacity(ppm) => match u64::from(ppm) * share / whole {
                0 => {
                    return refuse(
                        Reason::Invalid,
                        format!("slice {}: the share is too small for this base station", slice.id),
                    );
                }
                scaled => SliceParameters::Capacity(u32::try_from(scaled).unwrap_or(WHOLE_PPM)),
            },
            SliceParameters::Rate(rate) => {
                let reference = (u64::from(rate.reference_kbps) * whole).div_ceil(share);
                let reference_kbps = u32::try_from(reference).unwrap_or(u32::MAX);
                SliceParameters::Rate(RateReservation { reference_kbps, ..rate })
            }
            ref other => other.clone(),
        };
        Ok(Slice { id, parameters, ..slice.clone() })
    }
}

/// Distributes the unreserved rest of the share over the slices, in proportion to their capacities.
///
/// If the rest were not reserved, it would be shared among all operators, and an operator with one small slice would
/// lose most of its share. Returns the rest if no slice has a capacity.
fn keep(slices: &mut [Slice], left_ppm: u64) -> u64 {
    let share = |slice: &Slice| match slice.parameters {
        SliceParameters::Capacity(ppm) => u64::from(ppm),
        _ => 0,
    };
    let all: u64 = slices.iter().map(share).sum();
    if all == 0 {
        return left_ppm;
    }
    for slice in slices {
        if let SliceParameters::Capacity(ppm) = &mut slice.parameters {
            // Cannot fail: the result is at most the whole share.
            *ppm += u32::try_from(left_ppm * u64::from(*ppm) / all).unwrap_or_default();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(share_ppm: u32) -> TenantShare {
        TenantShare { share_ppm, first_id: 11, ids: 10, slices: 7 }
    }

    fn set(parameters: &[SliceParameters]) -> SliceSet {
        let slice = |(id, parameters): (u16, &SliceParameters)| Slice {
            id,
            label: String::new(),
            scheduler: UeScheduler::RoundRobin,
            parameters: parameters.clone(),
        };
        let slices = (0..).zip(parameters).map(slice).collect();
        SliceSet { algorithm: SliceAlgorithm::Nvs, sharing: true, slices }
    }

    fn rate(reserved_kbps: u32, reference_kbps: u32) -> SliceParameters {
        SliceParameters::Rate(RateReservation { reserved_kbps, reference_kbps })
    }

    /// Example of FlexRIC (CoNEXT 2021), appendix B: two operators have 50 % each of a base station with 100 Mbit/s. An
    /// operator's rate of 5 Mbit/s, with 50 Mbit/s as the reference, becomes 5 Mbit/s with 100 Mbit/s as the reference.
    #[test]
    fn rate_slice_is_scaled_as_in_appendix_b_of_flexric() {
        let outer = lease(500_000).outer(&set(&[rate(5_000, 50_000)]), true, 50).unwrap();
        assert_eq!(outer[0].parameters, rate(5_000, 100_000));
        assert_eq!((outer[0].id, outer[0].scheduler), (12, UeScheduler::RoundRobin));
        // The unreserved rest stays with the operator, so that no other operator can reserve it.
        let left = |ppm| SliceParameters::Capacity(ppm);
        assert_eq!((outer[1].id, outer[1].parameters.clone(), outer.len()), (11, left(450_000), 2));
        // The rest occupies one of the operator's seven slices.
        let rates = |count| set(&vec![rate(1, 50_000); count]);
        assert_eq!(lease(500_000).outer(&rates(6), true, 50).unwrap().len(), 7);
        assert_eq!(lease(500_000).outer(&rates(7), true, 50).unwrap_err().reason, Reason::TooMany);
        let alone = SliceSet { sharing: false, ..rates(7) };
        assert_eq!(lease(500_000).outer(&alone, false, 50).unwrap().len(), 7);
    }

    #[test]
    fn whole_share_can_be_reserved_but_not_more() {
        let third = 1_000_000 / 3;
        let thirds = set(&[SliceParameters::Capacity(third), rate(1, 3), rate(1, 3)]);
        assert_eq!(lease(500_001).outer(&thirds, true, 50).unwrap().len(), 3);
        let more = set(&[SliceParameters::Capacity(500_001), SliceParameters::Capacity(500_000)]);
        assert_eq!(lease(500_000).outer(&more, true, 50).unwrap_err().reason, Reason::Overcommitted);
    }

    #[test]
    fn unreserved_rest_goes_to_capacity_slices_of_the_operator() {
        let capacity = SliceParameters::Capacity;
        let of = |set: &SliceSet, sharing| {
            let outer = lease(500_000).outer(set, sharing, 50).unwrap();
            outer.into_iter().map(|slice| slice.parameters).collect::<Vec<_>>()
        };
        assert_eq!(of(&set(&[capacity(660_000)]), true), [capacity(500_000)]);
        let three = set(&[capacity(200_000), capacity(400_000), rate(5_000, 50_000)]);
        assert_eq!(of(&three, true), [capacity(150_000), capacity(300_000), rate(5_000, 100_000)]);
        let wasted = SliceSet { sharing: false, ..set(&[capacity(660_000)]) };
        assert_eq!(of(&wasted, false), [capacity(330_000)]);
    }

    #[test]
    fn slice_ids_map_both_ways_and_unknown_ids_are_refused() {
        let lease = lease(250_000);
        for id in 0..10 {
            assert_eq!(lease.outer_id(id).and_then(|outer| lease.inner_id(outer)), Some(id));
        }
        assert_eq!((lease.outer_id(10), lease.inner_id(11), lease.inner_id(22)), (None, None, None));
        let mut beyond = set(&[SliceParameters::Capacity(1_000)]);
        beyond.slices[0].id = 10;
        let refused = lease.outer(&beyond, true, 50).unwrap_err();
        assert_eq!(refused.detail, "slice 10: ids must be 0 to 9");
        assert_eq!((lease.prbs(50), lease.prbs(1), lease.offered(1_001)), (13, 1, 250));
    }

    #[test]
    fn allocation_of_the_virtual_carrier_maps_to_the_real_one() {
        let ue = |rnti, prbs| UeAllocation { rnti, prbs, mcs: None };
        let of = |ues| SliceAllocation { slice: 3, slot: None, slots: 2, ues };
        let outer = lease(250_000).allocation(&of(vec![ue(1, 10), ue(2, 3)]), 50).unwrap();
        assert_eq!(
            (outer.slice, outer.ues),
            (15, vec![ue(1, 38), ue(2, 11)]),
            "10 and 3 of the operator's 13 resource blocks must become 38 and 11 of the carrier's 50"
        );
        assert_eq!(lease(1).allocation(&of(vec![ue(1, 1)]), 50).unwrap().ues, [ue(1, 50)]);
    }

    #[test]
    fn settings_that_affect_other_operators_are_refused() {
        let refused = |change: fn(&mut SliceSet)| {
            let mut set = set(&[SliceParameters::Capacity(500_000)]);
            change(&mut set);
            lease(500_000).outer(&set, true, 50).unwrap_err().reason
        };
        assert_eq!(refused(|set| set.sharing = false), Reason::NotSupported);
        assert_eq!(refused(|set| set.algorithm = SliceAlgorithm::Edf), Reason::NotSupported);
        assert_eq!(refused(|set| set.algorithm = SliceAlgorithm::None), Reason::NotSupported);
        assert_eq!(refused(|set| set.slices[0].parameters = SliceParameters::Capacity(1)), Reason::Invalid);
        let many = |set: &mut SliceSet| {
            set.slices[0].parameters = SliceParameters::Capacity(10);
            set.slices = (0..8).map(|id| Slice { id, ..set.slices[0].clone() }).collect();
        };
        assert_eq!(refused(many), Reason::TooMany);
    }
}
