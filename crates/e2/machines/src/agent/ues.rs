//! UEs and the controllers that they are exposed to.
//!
//! Every UE belongs to the first controller. Another controller sees it only after an explicit association. In a
//! callback, a function sees the UEs of the requesting controller.
use super::ControllerId;
use std::collections::{BTreeMap, BTreeSet};

/// Identifier of a UE, assigned by the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UeId(pub u64);

/// Reason why a UE cannot be added or associated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UeError {
    /// The limit of UEs is reached.
    #[error("an agent can have at most {0} UEs")]
    TooMany(usize),
    /// The UE does not exist.
    #[error("there is no UE {}", .0.0)]
    UnknownUe(UeId),
    /// The controller does not exist.
    #[error("there is no {0}")]
    UnknownController(ControllerId),
}

/// The UEs of a node and their additional controllers.
#[derive(Debug, Default)]
pub(super) struct Ues {
    all: BTreeSet<UeId>,
    further: BTreeMap<ControllerId, BTreeSet<UeId>>,
}

impl Ues {
    pub(super) fn arrive(&mut self, ue: UeId, limit: usize) -> Result<(), UeError> {
        if self.all.len() >= limit && !self.all.contains(&ue) {
            return Err(UeError::TooMany(limit));
        }
        self.all.insert(ue);
        Ok(())
    }

    pub(super) fn leave(&mut self, ue: UeId) {
        if self.all.remove(&ue) {
            self.further.values_mut().for_each(|ues| {
                ues.remove(&ue);
            });
        }
    }

    pub(super) fn associate(&mut self, ue: UeId, controller: ControllerId) -> Result<(), UeError> {
        if !self.all.contains(&ue) {
            return Err(UeError::UnknownUe(ue));
        }
        self.further.entry(controller).or_default().insert(ue);
        Ok(())
    }

    pub(super) fn dissociate(&mut self, ue: UeId, controller: ControllerId) {
        if let Some(ues) = self.further.get_mut(&controller) {
            ues.remove(&ue);
        }
    }

    pub(super) fn forget_controller(&mut self, controller: ControllerId) {
        self.further.remove(&controller);
    }

    /// Returns the UEs exposed to `controller`; `first` is the default controller.
    pub(super) fn visible_to(&self, controller: ControllerId, first: Option<ControllerId>) -> UeFilter<'_> {
        match self.further.get(&controller) {
            _ if first == Some(controller) => self.all(),
            Some(ues) => UeFilter { ues: Some(ues), is_all: false },
            None => UeFilter { ues: None, is_all: false },
        }
    }

    pub(super) fn all(&self) -> UeFilter<'_> {
        UeFilter { ues: Some(&self.all), is_all: true }
    }
}

/// The set of UEs that a controller may see.
#[derive(Debug, Clone, Copy)]
pub struct UeFilter<'a> {
    ues: Option<&'a BTreeSet<UeId>>,
    is_all: bool,
}

impl<'a> UeFilter<'a> {
    /// Returns whether the filter includes all UEs of the node.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Returns whether `ue` is visible.
    pub fn contains(&self, ue: UeId) -> bool {
        self.ues.is_some_and(|ues| ues.contains(&ue))
    }

    /// Returns the UEs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = UeId> + use<'a> {
        self.ues.into_iter().flatten().copied()
    }

    /// Returns the number of UEs.
    pub fn len(&self) -> usize {
        self.ues.map_or(0, BTreeSet::len)
    }

    /// Returns whether there are no UEs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
