//! Slices as JSON.
use crate::north::{Fault, given};
use crate::ues::Choice;
use ranlab_wire::e2sm::slice::{
    DEADLINE_MAX, DeadlineReservation, LABEL_MAX, PrbRange, RateReservation, Slice, SliceAlgorithm,
    SliceAllocation, SliceParameters, SliceSet, SliceShare, UeAllocation, UeScheduler, WHOLE_PPM,
};
use serde::{Deserialize, Serialize};

/// How a carrier is shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSetResource {
    /// Between slices.
    pub algorithm: AlgorithmName,
    /// Whether idle resources go to the other slices.
    #[serde(default = "yes")]
    pub sharing: bool,
    /// The slices; each has an `id` here.
    #[serde(default)]
    pub slices: Vec<SliceResource>,
}

fn yes() -> bool {
    true
}

/// A slice. Exactly one of `capacity`, `rate`, `prbs` and `deadline` is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceResource {
    /// Its number; in a path that names it, it may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub id: Option<u16>,
    /// For people.
    #[serde(default)]
    pub label: String,
    /// Between its UEs.
    #[serde(default)]
    pub scheduler: SchedulerName,
    /// A share of the carrier, above 0 up to 1.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub capacity: Option<f64>,
    /// A rate.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub rate: Option<RateResource>,
    /// Resource blocks of its own.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub prbs: Option<PrbResource>,
    /// Resource blocks within a time.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub deadline: Option<DeadlineResource>,
}

/// Mbit/s reserved, at a rate of the whole carrier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateResource {
    /// What is promised.
    pub reserved_mbps: f64,
    /// At this rate of the carrier.
    pub reference_mbps: f64,
}

/// Resource blocks, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrbResource {
    /// The lowest.
    pub low: u16,
    /// The highest.
    pub high: u16,
}

/// Resource blocks within a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadlineResource {
    /// Slots.
    pub slots: u32,
    /// Resource blocks.
    pub prbs: u32,
    /// What a return before the deadline may bring back; as many as `prbs` unless said.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub max_replenish: Option<u32>,
}

/// Members of the model's enumerations by their names there.
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
    /// A slice scheduler by name.
    AlgorithmName of SliceAlgorithm { None "none", Static "static", Nvs "nvs", Edf "edf" }
    /// A UE scheduler by name.
    SchedulerName of UeScheduler {
        RoundRobin "rr", ProportionalFair "pf", MaxThroughput "mt", Remote "remote",
    }
}

/// A share of the whole in parts per million; what rounds to nothing is refused like nothing.
fn ppm(share: f64) -> Result<u32, Fault> {
    let ppm = (share * f64::from(WHOLE_PPM)).round();
    if (1.0..=f64::from(WHOLE_PPM)).contains(&ppm) {
        Ok(ppm as u32)
    } else {
        Err(Fault::new(422, format!("a capacity is above 0 and at most 1, not {share}")))
    }
}

fn kbps(mbps: f64) -> Result<u32, Fault> {
    let kbps = (mbps * 1_000.0).round();
    if (1.0..=f64::from(u32::MAX)).contains(&kbps) {
        Ok(kbps as u32)
    } else {
        Err(Fault::new(422, format!("a rate is 0.001 to 4294967 Mbit/s, not {mbps}")))
    }
}

impl SliceResource {
    /// The slice of this number.
    pub(super) fn slice(&self, id: u16) -> Result<Slice, Fault> {
        if self.id.is_some_and(|own| own != id) {
            return Err(Fault::new(409, format!("the path says slice {id}, the body another")));
        }
        if self.label.len() > LABEL_MAX || self.label.chars().any(|c| !(' '..='~').contains(&c)) {
            return Err(Fault::new(422, format!("a label is at most {LABEL_MAX} characters of ASCII")));
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
                    let what =
                        format!("a deadline is 1 to {DEADLINE_MAX} slots, and its resource blocks are some");
                    return Err(Fault::new(422, what));
                }
                SliceParameters::Deadline(DeadlineReservation {
                    deadline_slots: slots,
                    guaranteed_prbs: prbs,
                    max_replenish: max_replenish.unwrap_or(prbs),
                })
            }
            _ => {
                let what = "a slice has exactly one of capacity, rate, prbs and deadline";
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
                let (reserved_mbps, reference_mbps) = (mbps(rate.reserved_kbps), mbps(rate.reference_kbps));
                resource.rate = Some(RateResource { reserved_mbps, reference_mbps });
            }
            SliceParameters::Static(PrbRange { low, high }) => {
                resource.prbs = Some(PrbResource { low: *low, high: *high });
            }
            SliceParameters::Deadline(edf) => {
                let (slots, prbs) = (edf.deadline_slots, edf.guaranteed_prbs);
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
            slice.slice(slice.id.ok_or_else(|| Fault::new(422, "a slice of a list has an id"))?)
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

/// Which slice a UE is to be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AssociationResource {
    pub(super) slice: u16,
}

/// Where a UE is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellResource {
    /// The cell's number at its base station.
    pub(super) cell_id: u16,
}

/// Who has what in some slots of a slice whose UE scheduler is `remote`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AllocationResource {
    /// The first slot; without it the next one for which the slice has no allocation yet.
    #[serde(default, deserialize_with = "given")]
    slot: Option<u64>,
    /// So many slots, one after the other.
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
    pub(super) fn of(&self, slice: u16) -> SliceAllocation {
        let ue = |ue: &UeAllocationResource| UeAllocation { rnti: ue.rnti, prbs: ue.prbs, mcs: ue.mcs };
        SliceAllocation { slice, slot: self.slot, slots: self.slots, ues: self.ues.iter().map(ue).collect() }
    }
}

/// Which UEs belong into which slice, by what they chose when they attached: the first rule that fits a UE decides. The
/// slice is made where it is not yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyResource {
    /// Between slices, at base stations that have none yet.
    #[serde(default = "nvs")]
    pub algorithm: AlgorithmName,
    /// Whether idle resources go to the other slices, there.
    #[serde(default = "yes")]
    pub sharing: bool,
    /// The rules.
    #[serde(default)]
    pub rules: Vec<RuleResource>,
}

fn nvs() -> AlgorithmName {
    AlgorithmName(SliceAlgorithm::Nvs)
}

impl Default for PolicyResource {
    /// No rules: nobody is put anywhere.
    fn default() -> Self {
        Self { algorithm: nvs(), sharing: true, rules: Vec::new() }
    }
}

/// A rule: what is absent fits any UE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleResource {
    /// The network that the UE selected, `MCC.MNC`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub plmn: Option<String>,
    /// A slice that it asked for, `SST` or `SST-SD`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub snssai: Option<String>,
    /// Where it belongs.
    pub slice: SliceResource,
}

/// A rule that was read.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) choice: Choice,
    pub(super) slice: Slice,
}

impl Rule {
    pub(super) fn new(from: &RuleResource) -> Result<Self, Fault> {
        let choice = Choice::new(from.plmn.as_deref(), from.snssai.as_deref())?;
        let id = from.slice.id.ok_or_else(|| Fault::new(422, "a rule's slice has an id"))?;
        Ok(Self { choice, slice: from.slice.slice(id)? })
    }
}

/// What a slice got.
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
