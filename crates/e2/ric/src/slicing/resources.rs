//! JSON resources of slices.
use crate::northbound::{Fault, given};
use crate::ues::UeSelector;
use ranlab_e2_codec::e2sm::slice::{
    DEADLINE_MAX, DeadlineReservation, LABEL_MAX, PrbRange, RateReservation, Slice, SliceAlgorithm,
    SliceAllocation, SliceParameters, SliceSet, SliceShare, UeAllocation, UeScheduler, WHOLE_PPM,
};
use serde::{Deserialize, Serialize};

/// Slice configuration of a carrier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSetResource {
    /// Slice scheduler.
    pub algorithm: AlgorithmName,
    /// Whether resources that a slice leaves idle go to the other slices.
    #[serde(default = "yes")]
    pub sharing: bool,
    /// Slices; each has an `id` here.
    #[serde(default)]
    pub slices: Vec<SliceResource>,
}

fn yes() -> bool {
    true
}

/// Slice. Exactly one of `capacity`, `rate`, `prbs` and `deadline` is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceResource {
    /// Slice id; optional if the path names it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub id: Option<u16>,
    /// Free text.
    #[serde(default)]
    pub label: String,
    /// UE scheduler within the slice.
    #[serde(default)]
    pub scheduler: SchedulerName,
    /// Share of the carrier, greater than 0 and at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub capacity: Option<f64>,
    /// Reserved rate.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub rate: Option<RateResource>,
    /// Reserved resource blocks.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub prbs: Option<PrbResource>,
    /// Resource blocks per deadline.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub deadline: Option<DeadlineResource>,
}

/// Reserved rate, relative to the rate of the whole carrier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateResource {
    /// Reserved rate, in Mbit/s.
    pub reserved_mbps: f64,
    /// Rate of the whole carrier that the reservation refers to, in Mbit/s.
    pub reference_mbps: f64,
}

/// Range of resource blocks, both bounds included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrbResource {
    /// First resource block.
    pub low: u16,
    /// Last resource block.
    pub high: u16,
}

/// Resource blocks within a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadlineResource {
    /// Deadline, in slots.
    pub slots: u32,
    /// Number of resource blocks.
    pub prbs: u32,
    /// Maximum number of resource blocks that a slice regains if it becomes active again before its deadline; default: `prbs`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub max_replenish: Option<u32>,
}

/// Defines an enum that is serialised by the names of a service model's enumeration.
macro_rules! named {
    ($($(#[$meta:meta])* $name:ident of $model:ident { $($member:ident $text:literal),+ $(,)? })+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $name(#[serde(with = "names")] pub $model);

        impl Named for $model {
            const ALL: &'static [(&'static str, Self)] = &[$(($text, $model::$member)),+];
        }
    )+ };
}

trait Named: Sized + Copy + PartialEq + 'static {
    const ALL: &'static [(&'static str, Self)];
}

mod names {
    use super::Named;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<T: Named, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        let name = T::ALL.iter().find(|(_, member)| member == value).map_or("", |(name, _)| name);
        to.serialize_str(name)
    }

    pub(super) fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        let found = T::ALL.iter().find(|(name, _)| *name == text).map(|(_, member)| *member);
        let allowed = || T::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| D::Error::custom(format!("{text:?} is not allowed; allowed are {}", allowed())))
    }
}

named! {
    /// Slice scheduler, by name.
    AlgorithmName of SliceAlgorithm { None "none", Static "static", Nvs "nvs", Edf "edf" }
    /// UE scheduler, by name.
    SchedulerName of UeScheduler {
        RoundRobin "rr", ProportionalFair "pf", MaxThroughput "mt", Remote "remote",
    }
}

/// Converts a share to parts per million; rejects a share that rounds to 0.
fn ppm(share: f64) -> Result<u32, Fault> {
    let ppm = (share * f64::from(WHOLE_PPM)).round();
    if (1.0..=f64::from(WHOLE_PPM)).contains(&ppm) {
        Ok(ppm as u32)
    } else {
        Err(Fault::new(422, format!("a capacity must be above 0 and at most 1, not {share}")))
    }
}

fn kbps(mbps: f64) -> Result<u32, Fault> {
    let kbps = (mbps * 1_000.0).round();
    if (1.0..=f64::from(u32::MAX)).contains(&kbps) {
        Ok(kbps as u32)
    } else {
        Err(Fault::new(422, format!("a rate must be 0.001 to 4294967 Mbit/s, not {mbps}")))
    }
}

impl SliceResource {
    /// Converts to the service model's slice with this id.
    pub(super) fn slice(&self, id: u16) -> Result<Slice, Fault> {
        if self.id.is_some_and(|own| own != id) {
            return Err(Fault::new(
                409,
                format!("the path names slice {id}, the body names a different slice"),
            ));
        }
        if self.label.len() > LABEL_MAX || self.label.chars().any(|c| !(' '..='~').contains(&c)) {
            return Err(Fault::new(422, format!("a label must have at most {LABEL_MAX} ASCII characters")));
        }
        let parameters = match (self.capacity, self.rate, self.prbs, self.deadline) {
            (Some(share), None, None, None) => SliceParameters::Capacity(ppm(share)?),
            (None, Some(rate), None, None) => SliceParameters::Rate(RateReservation {
                reserved_kbps: kbps(rate.reserved_mbps)?,
                reference_kbps: kbps(rate.reference_mbps)?,
            }),
            (None, None, Some(PrbResource { low, high }), None) => {
                SliceParameters::Static(PrbRange { low, high })
            }
            (None, None, None, Some(DeadlineResource { slots, prbs, max_replenish })) => {
                if !(1..=DEADLINE_MAX).contains(&slots) || prbs == 0 {
                    let what = format!(
                        "a deadline must have 1 to {DEADLINE_MAX} slots and at least 1 resource block"
                    );
                    return Err(Fault::new(422, what));
                }
                SliceParameters::Deadline(DeadlineReservation {
                    deadline_slots: slots,
                    guaranteed_prbs: prbs,
                    max_replenish: max_replenish.unwrap_or(prbs),
                })
            }
            _ => {
                let what = "a slice must have exactly one of capacity, rate, prbs and deadline";
                return Err(Fault::new(422, what));
            }
        };
        Ok(Slice { id, label: self.label.clone(), scheduler: self.scheduler.0, parameters })
    }
}

impl From<&Slice> for SliceResource {
    fn from(slice: &Slice) -> Self {
        let mbps = |kbps: u32| f64::from(kbps) / 1_000.0;
        let mut resource = Self {
            id: Some(slice.id),
            label: slice.label.clone(),
            scheduler: SchedulerName(slice.scheduler),
            ..Self::default()
        };
        match &slice.parameters {
            SliceParameters::Capacity(ppm) => {
                resource.capacity = Some(f64::from(*ppm) / f64::from(WHOLE_PPM));
            }
            SliceParameters::Rate(rate) => {
                let reserved_mbps = mbps(rate.reserved_kbps);
                let reference_mbps = mbps(rate.reference_kbps);
                resource.rate = Some(RateResource { reserved_mbps, reference_mbps });
            }
            SliceParameters::Static(PrbRange { low, high }) => {
                resource.prbs = Some(PrbResource { low: *low, high: *high });
            }
            SliceParameters::Deadline(edf) => {
                let slots = edf.deadline_slots;
                let prbs = edf.guaranteed_prbs;
                let max_replenish = Some(edf.max_replenish);
                resource.deadline = Some(DeadlineResource { slots, prbs, max_replenish });
            }
        }
        resource
    }
}

impl SliceSetResource {
    pub(super) fn set(&self) -> Result<SliceSet, Fault> {
        let slice = |slice: &SliceResource| {
            slice.slice(slice.id.ok_or_else(|| Fault::new(422, "a slice in a list must have an id"))?)
        };
        let slices = self.slices.iter().map(slice).collect::<Result<_, _>>()?;
        Ok(SliceSet { algorithm: self.algorithm.0, sharing: self.sharing, slices })
    }
}

impl From<&SliceSet> for SliceSetResource {
    fn from(set: &SliceSet) -> Self {
        let slices = set.slices.iter().map(SliceResource::from).collect();
        Self { algorithm: AlgorithmName(set.algorithm), sharing: set.sharing, slices }
    }
}

/// Slice that a UE is to be associated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AssociationResource {
    pub(super) slice: u16,
}

/// Cell that a UE is to be handed over to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellResource {
    /// Cell id within the base station.
    pub(super) cell_id: u16,
}

/// Resource allocation for some slots of a slice whose UE scheduler is `remote`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AllocationResource {
    /// First slot; default: the next slot without an allocation.
    #[serde(default, deserialize_with = "given")]
    slot: Option<u64>,
    /// Number of consecutive slots.
    #[serde(default = "one")]
    slots: u16,
    ues: Vec<UeAllocationResource>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct UeAllocationResource {
    rnti: u16,
    prbs: u16,
    #[serde(default, deserialize_with = "given")]
    mcs: Option<u8>,
}

fn one() -> u16 {
    1
}

impl AllocationResource {
    pub(super) fn allocation(&self, slice: u16) -> SliceAllocation {
        let ue = |ue: &UeAllocationResource| UeAllocation { rnti: ue.rnti, prbs: ue.prbs, mcs: ue.mcs };
        SliceAllocation { slice, slot: self.slot, slots: self.slots, ues: self.ues.iter().map(ue).collect() }
    }
}

/// Policy: slice of each UE by the PLMN and slices selected at attach. The first matching rule applies;
/// missing slices are created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyResource {
    /// Slice scheduler for base stations that have none yet.
    #[serde(default = "nvs")]
    pub algorithm: AlgorithmName,
    /// Whether idle resources go to the other slices at base stations that have no slice scheduler yet.
    #[serde(default = "yes")]
    pub sharing: bool,
    /// Rules, in order of precedence.
    #[serde(default)]
    pub rules: Vec<RuleResource>,
}

fn nvs() -> AlgorithmName {
    AlgorithmName(SliceAlgorithm::Nvs)
}

impl Default for PolicyResource {
    /// No rules: no UE is moved.
    fn default() -> Self {
        Self { algorithm: nvs(), sharing: true, rules: Vec::new() }
    }
}

/// Rule of a policy; an absent condition matches every UE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleResource {
    /// PLMN that the UE selected, as `MCC.MNC`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub plmn: Option<String>,
    /// Slice that the UE requested, as `SST` or `SST-SD`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub snssai: Option<String>,
    /// Slice that matching UEs are associated with.
    pub slice: SliceResource,
}

/// Rule after validation.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) choice: UeSelector,
    pub(super) slice: Slice,
}

impl Rule {
    pub(super) fn new(from: &RuleResource) -> Result<Self, Fault> {
        let choice = UeSelector::new(from.plmn.as_deref(), from.snssai.as_deref())?;
        let id = from.slice.id.ok_or_else(|| Fault::new(422, "the slice of a rule must have an id"))?;
        Ok(Self { choice, slice: from.slice.slice(id)? })
    }
}

/// Resources that a slice received.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ShareResource {
    slice: u16,
    ues: u16,
    prbs: u64,
    bytes: u64,
    queue_bytes: u64,
    sojourn_us: u32,
    sojourn_max_us: u32,
}

impl From<&SliceShare> for ShareResource {
    fn from(share: &SliceShare) -> Self {
        let SliceShare { slice, ues, prbs, bytes, queue_bytes, sojourn_us, sojourn_max_us } = *share;
        Self { slice, ues, prbs, bytes, queue_bytes, sojourn_us, sojourn_max_us }
    }
}
