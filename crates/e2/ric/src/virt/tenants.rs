//! Operators and their service level agreements.
use super::lease::TenantShare;
use crate::northbound::Fault;
use crate::ues::UeSelector;
use ranlab_e2_codec::e2sm::SmError;
use ranlab_e2_codec::e2sm::rrc::RrcEvent;
use ranlab_e2_codec::e2sm::slice::{SLICES_MAX, WHOLE_PPM};
use serde_json::{Value as Json, json};

/// Maximum number of operators: each needs a slice, and one is for UEs of no operator.
pub const TENANTS_MAX: usize = SLICES_MAX - 1;

/// Operator.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// Display name.
    pub name: String,
    share_ppm: u32,
    subscribers: Vec<(String, UeSelector)>,
}

/// Invalid configuration of operators.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VirtError {
    /// A share is not in the allowed range.
    #[error("operator {0}: the share must be above 0 and at most 1")]
    Share(String),
    /// The shares add up to more than 1.
    #[error("the operators' shares add up to more than 1")]
    Overcommitted,
    /// A subscriber of an operator is not a valid PLMN or slice.
    #[error("operator {0}: {1}; write a network (001.01) or a slice (1-0000ff)")]
    Subscribers(String, String),
    /// The number of operators is 0 or above [`TENANTS_MAX`].
    #[error("1 to {TENANTS_MAX} operators are required")]
    Count,
    /// Two operators have the same name.
    #[error("two operators have the name {0}")]
    Twice(String),
    /// There are not enough slice ids for all operators.
    #[error("{0} slice ids per operator are not available; 1 to {1} are allowed")]
    Ids(u16, u16),
    /// The reporting period is not supported.
    #[error(transparent)]
    Period(#[from] SmError),
}

impl Tenant {
    /// Returns an operator with a share of every carrier (0 to 1).
    ///
    /// `subscribers` are the PLMNs (`001.01`) and slices (`1-0000ff`) whose UEs belong to it.
    ///
    /// # Errors
    /// Fails if the share is out of range or a subscriber is not valid.
    pub fn new(name: &str, share: f64, subscribers: &[&str]) -> Result<Self, VirtError> {
        let share_ppm = (share * f64::from(WHOLE_PPM)).round();
        if !(1.0..=f64::from(WHOLE_PPM)).contains(&share_ppm) {
            return Err(VirtError::Share(name.to_owned()));
        }
        let choice = |text: &&str| {
            let (plmn, snssai) = if text.contains('.') { (Some(*text), None) } else { (None, Some(*text)) };
            let choice = UeSelector::new(plmn, snssai);
            let wrong = |fault: Fault| VirtError::Subscribers(name.to_owned(), fault.detail().to_owned());
            Ok::<_, VirtError>(((*text).to_owned(), choice.map_err(wrong)?))
        };
        let subscribers = subscribers.iter().map(choice).collect::<Result<Vec<_>, _>>()?;
        if subscribers.is_empty() {
            return Err(VirtError::Subscribers(name.to_owned(), "it has no subscribers".to_owned()));
        }
        Ok(Self { name: name.to_owned(), share_ppm: share_ppm as u32, subscribers })
    }
}

/// Validated operators and their agreements.
#[derive(Debug)]
pub(super) struct Tenants {
    pub(super) names: Vec<String>,
    pub(super) leases: Vec<TenantShare>,
    subscribers: Vec<Vec<(String, UeSelector)>>,
    pub(super) sharing: bool,
    /// Share that is not leased, in parts per million.
    pub(super) left_ppm: u32,
}

impl Tenants {
    pub(super) fn new(tenants: &[Tenant], sharing: bool, ids: u16) -> Result<Self, VirtError> {
        if !(1..=TENANTS_MAX).contains(&tenants.len()) {
            return Err(VirtError::Count);
        }
        if let Some((_, twice)) =
            tenants.iter().enumerate().find(|(n, it)| tenants[..*n].iter().any(|other| other.name == it.name))
        {
            return Err(VirtError::Twice(twice.name.clone()));
        }
        let agreed = tenants.iter().try_fold(0, |sum: u32, it| sum.checked_add(it.share_ppm));
        let left_ppm =
            agreed.and_then(|agreed| WHOLE_PPM.checked_sub(agreed)).ok_or(VirtError::Overcommitted)?;
        // The number fits, because `TENANTS_MAX` is small. In addition to its `ids`, each operator has an id for its
        // whole share. Id 0 is for UEs of no operator.
        let count = tenants.len() as u16;
        let ids_max = u16::MAX / count - 1;
        if !(1..=ids_max).contains(&ids) {
            return Err(VirtError::Ids(ids, ids_max));
        }
        let slices = (SLICES_MAX - 1) / tenants.len();
        let lease = |(n, it): (u16, &Tenant)| TenantShare {
            share_ppm: it.share_ppm,
            first_id: 1 + n * (ids + 1),
            ids,
            slices,
        };
        Ok(Self {
            names: tenants.iter().map(|it| it.name.clone()).collect(),
            leases: (0..).zip(tenants).map(lease).collect(),
            subscribers: tenants.iter().map(|it| it.subscribers.clone()).collect(),
            sharing,
            left_ppm,
        })
    }

    /// Returns the operator of a UE: the first with a matching subscriber entry.
    pub(super) fn tenant_of(&self, ue: &RrcEvent) -> Option<usize> {
        self.subscribers.iter().position(|choices| choices.iter().any(|(_, choice)| choice.fits(ue)))
    }

    /// Returns the agreements as JSON.
    pub(super) fn as_json(&self) -> Json {
        let all = self.names.iter().zip(&self.leases).zip(&self.subscribers);
        let tenant = |((name, lease), subscribers): ((&String, &TenantShare), &Vec<(String, _)>)| {
            let subscribers: Vec<_> = subscribers.iter().map(|(text, _)| text).collect();
            json!({
                "name": name,
                "share": f64::from(lease.share_ppm) / f64::from(WHOLE_PPM),
                "subscribers": subscribers,
                "first_slice": lease.first_id,
                "slice_ids": lease.ids,
                "slices_max": lease.slices,
            })
        };
        json!({ "sharing": self.sharing, "tenants": all.map(tenant).collect::<Vec<_>>() })
    }
}
