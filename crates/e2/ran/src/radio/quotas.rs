//! Slice quotas (RC style 2 action 6, CCC O-RRMPolicyRatio) for the scheduler of the model.
use super::rc::RcSource;
use super::{Radio, convert, plan};
use ranlab_e2::functions::rc::CarrierQuotas;
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::kpm::DEFAULT_SLICE;
use ranlab_e2_codec::e2sm::rc::commands::{OrderFault, SliceQuota};
use ranlab_e2_codec::e2sm::slice::{
    SLICES_MAX, Slice, SliceAlgorithm, SliceParameters, SliceSet, UeScheduler, WHOLE_PPM,
};
use ranlab_radio::user_plane as up;
use ranlab_radio::user_plane::{Association, Command, Direction};

/// Number of the slice for UEs without a quota.
const REST: u16 = 0;

/// Quotas by which a controller has divided the carrier.
#[derive(Debug, Default)]
pub(super) struct Divided {
    pub(super) quotas: CarrierQuotas,
    /// Downlink slices that SLICE reports for the quotas. The quotas apply until SLICE changes these slices.
    shown: SliceSet,
}
const PPM_PER_PERCENT: u32 = WHOLE_PPM / 100;

fn refusal(fault: &OrderFault) -> Refusal {
    let overcommitted = matches!(fault, OrderFault::Sum { .. });
    Refusal::new(if overcommitted { Reason::Overcommitted } else { Reason::Invalid }, fault.to_string())
}

/// Returns whether a quota for slice `quota` applies to slice `has`. A quota without a slice differentiator applies
/// to all slices of its type.
fn covers(quota: Snssai, has: &Snssai) -> bool {
    has.sst == quota.sst && quota.sd.is_none_or(|sd| has.sd == Some(sd))
}

impl Radio {
    /// Returns the effective quotas, or the reason why the cell rejects them.
    ///
    /// Existing xApps and base stations use a dedicated ratio of 100 % with any minimum. The dedicated ratio is
    /// therefore limited to the minimum.
    pub(super) fn check_quotas(&self, quotas: &[SliceQuota]) -> Result<Vec<SliceQuota>, Refusal> {
        let within_min = |it: &SliceQuota| SliceQuota { dedicated: it.dedicated.min(it.min), ..*it };
        let percent = quotas.iter().find(|it| it.dedicated > 100);
        if let Some(SliceQuota { slice, dedicated, .. }) = percent {
            return Err(refusal(&OrderFault::Percent { slice: *slice, value: *dedicated }));
        }
        let quotas: Vec<_> = quotas.iter().map(within_min).collect();
        quotas.iter().try_for_each(SliceQuota::check).map_err(|fault| refusal(&fault))?;
        SliceQuota::check_sums(&quotas).map_err(|fault| refusal(&fault))?;
        quotas.iter().try_for_each(|quota| self.check_served(quota))?;
        if quotas.len() >= SLICES_MAX {
            let what = format!("there are {} quotas; at most {} are allowed", quotas.len(), SLICES_MAX - 1);
            return Err(Refusal::new(Reason::TooMany, what));
        }
        Ok(quotas)
    }

    /// Checks that the cell serves the quota's network and, if slices are configured, the quota's slice.
    fn check_served(&self, quota: &SliceQuota) -> Result<(), Refusal> {
        let networks: &[Plmn] = if self.plmns.is_empty() { &[self.plmn] } else { &self.plmns };
        if !networks.contains(&quota.plmn) {
            let served = networks.iter().map(Plmn::to_string).collect::<Vec<_>>().join(", ");
            let what =
                format!("slice {} has network {}, but the cell serves {served}", quota.slice, quota.plmn);
            return Err(Refusal::new(Reason::UnknownSlice, what));
        }
        if !self.snssais.is_empty() && !self.snssais.iter().any(|it| covers(quota.slice, it)) {
            let served = self.snssais.iter().map(Snssai::to_string).collect::<Vec<_>>().join(", ");
            let what = format!("there is no slice {}; the cell has {served}", quota.slice);
            return Err(Refusal::new(Reason::UnknownSlice, what));
        }
        Ok(())
    }

    /// Returns a UE's slice according to the quotas of one direction, or `None` if the quotas do not divide the carrier.
    fn slice_by_quota(&self, ue: u32, quotas: &[SliceQuota]) -> Option<u16> {
        if quotas.is_empty() {
            return None;
        }
        let plmn = self.plmn_of(ue);
        let chosen = self.snssais_of(ue);
        let chosen = if chosen.is_empty() { &[DEFAULT_SLICE][..] } else { &chosen };
        let applies =
            |quota: &SliceQuota| quota.plmn == plmn && chosen.iter().any(|it| covers(quota.slice, it));
        // A quota with a slice differentiator takes precedence over a quota for the whole slice type.
        let mut found = (1..).zip(quotas).filter(|(_, quota)| applies(quota)).collect::<Vec<_>>();
        found.sort_by_key(|(_, quota)| quota.slice.sd.is_none());
        Some(found.first().map_or(REST, |(id, _)| *id))
    }

    /// Returns the quotas in force, or `None` if SLICE has divided the carrier in the meantime.
    pub(super) fn quotas_in_force(&self) -> Option<&CarrierQuotas> {
        (self.divided.shown == self.set).then_some(&self.divided.quotas)
    }

    fn share_by_quotas(&mut self, quotas: CarrierQuotas) -> Result<(), Refusal> {
        let set = if quotas.down.is_empty() { SliceSet::default() } else { shown(&quotas.down) };
        let down = if quotas.down.is_empty() { convert::slices(&set) } else { scheduled(&quotas.down) };
        let up = if quotas.up.is_empty() { self.uplink_pool() } else { scheduled(&quotas.up) };
        for (direction, model) in [(Direction::Down, down), (Direction::Up, up)] {
            self.cell.command(&Command::Slices(direction, model)).map_err(|why| convert::refusal(&why))?;
        }
        self.set = set.clone();
        self.homes.clear();
        self.divided = Divided { quotas, shown: set };
        let ues: Vec<_> = self.rntis.iter().map(|(ue, rnti)| (*ue, *rnti)).collect();
        ues.into_iter().for_each(|(ue, rnti)| self.settle_by_quota(ue, rnti));
        Ok(())
    }

    /// Assigns a new UE to its slices.
    pub(super) fn settle_by_quota(&mut self, ue: u32, rnti: u16) {
        let Some(CarrierQuotas { down, up }) = self.quotas_in_force() else { return };
        let down = self.slice_by_quota(ue, down);
        let up = self.slice_by_quota(ue, up).map(u32::from);
        if let Some(slice) = down {
            self.homes.insert(rnti, slice);
        }
        let home = Association { rnti, down: down.map(u32::from), up };
        let associated = self.cell.command(&Command::Associate(vec![home]));
        // Both slices exist, because the quotas are in force.
        debug_assert!(associated.is_ok(), "{associated:?}");
    }

    /// Ends the quotas of both directions, because SLICE divides the carrier.
    pub(super) fn end_quotas(&mut self) -> Result<(), Refusal> {
        let CarrierQuotas { up, .. } = std::mem::take(&mut self.divided).quotas;
        if up.is_empty() {
            return Ok(());
        }
        let pool = Command::Slices(Direction::Up, self.uplink_pool());
        self.cell.command(&pool).map_err(|why| convert::refusal(&why))
    }

    /// Returns the slices of an undivided uplink.
    fn uplink_pool(&self) -> up::SliceSet {
        up::CellConfig::new(self.cell.config().carrier).up
    }

    /// Returns the effective quotas of both directions, or the reason why the cell rejects them.
    fn check_carrier(&self, quotas: &CarrierQuotas) -> Result<CarrierQuotas, Refusal> {
        let checked = |quotas: &[SliceQuota]| {
            let mut quotas = self.check_quotas(quotas)?;
            quotas.retain(|quota| !quota.is_free());
            Ok(quotas)
        };
        Ok(CarrierQuotas { down: checked(&quotas.down)?, up: checked(&quotas.up)? })
    }

    fn plmn_of(&self, ue: u32) -> Plmn {
        *plan::of_ue(&self.plmns, super::counted(ue)).unwrap_or(&self.plmn)
    }
}

impl RcSource {
    /// Returns the current quotas. They are empty if the carrier is not divided, or if SLICE has divided it in the
    /// meantime.
    pub(super) fn quotas_now(&self) -> CarrierQuotas {
        self.locked().quotas_in_force().cloned().unwrap_or_default()
    }

    /// Replaces all quotas by these. An empty list ends the division of the carrier.
    pub(super) fn divide(&self, quotas: &CarrierQuotas) -> Result<(), Refusal> {
        let mut radio = self.locked();
        let quotas = radio.check_carrier(quotas)?;
        radio.share_by_quotas(quotas)
    }

    /// Checks whether the carrier could be divided by these quotas.
    pub(super) fn could_divide(&self, quotas: &CarrierQuotas) -> Result<(), Refusal> {
        self.locked().check_carrier(quotas).map(drop)
    }
}

/// Returns the scheduler's slices: first the slice of UEs without a quota, then one slice per quota.
fn scheduled(quotas: &[SliceQuota]) -> up::SliceSet {
    let share = |percent: u8| f64::from(percent) / 100.0;
    let slice = |(id, params): (u32, up::SliceParams)| up::SliceSpec {
        id,
        label: String::new(),
        params,
        scheduler: up::UeScheduler::default(),
    };
    let rest = up::SliceParams::Quota { dedicated: 0.0, min: 0.0, max: 1.0 };
    let quota = |it: &SliceQuota| up::SliceParams::Quota {
        dedicated: share(it.dedicated),
        min: share(it.min),
        max: share(it.max),
    };
    let slices = (0..).zip([rest].into_iter().chain(quotas.iter().map(quota))).map(slice).collect();
    up::SliceSet { algorithm: up::SliceAlgorithm::Quota, sharing: true, slices }
}

/// Returns the slices as SLICE reports them. SLICE has no limits, so only guarantees are reported.
fn shown(quotas: &[SliceQuota]) -> SliceSet {
    let slice = |id: u16, label: String, ppm: u32| Slice {
        id,
        label,
        scheduler: UeScheduler::ProportionalFair,
        parameters: SliceParameters::Capacity(ppm),
    };
    // SLICE does not allow a share of zero, so the smallest share is used, at the expense of the guarantees.
    let smallest = SLICES_MAX as u32;
    let ppm = |quota: &SliceQuota| (u32::from(quota.min) * PPM_PER_PERCENT).saturating_sub(smallest).max(1);
    let left = WHOLE_PPM.saturating_sub(quotas.iter().map(ppm).sum()).max(1);
    let rest = slice(REST, "rest".to_owned(), left);
    let of = |(id, quota): (u16, &SliceQuota)| slice(id, quota.slice.to_string(), ppm(quota));
    let slices = [rest].into_iter().chain((1..).zip(quotas).map(of)).collect();
    SliceSet { algorithm: SliceAlgorithm::Nvs, sharing: true, slices }
}
