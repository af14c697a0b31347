//! Which UE is exposed to which controller.
//!
//! Every UE belongs to the first controller; to any other it is exposed only once somebody says so. A function sees the
//! UEs of the controller that asks.
use super::ControllerId;
use std::collections::{BTreeMap, BTreeSet};

/// A UE, in the numbering of the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UeId(pub u64);

/// A UE cannot be added or associated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UeError {
    /// There are too many.
    #[error("the agent holds at most {0} UEs")]
    TooMany(usize),
    /// There is no such UE.
    #[error("there is no UE {}", .0.0)]
    UnknownUe(UeId),
    /// There is no such controller.
    #[error("there is no {0}")]
    UnknownController(ControllerId),
}

/// The UEs of a node and their further controllers.
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

    /// The UEs exposed to `controller`; `first` is the default controller.
    pub(super) fn of(&self, controller: ControllerId, first: Option<ControllerId>) -> UeFilter<'_> {
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

/// The UEs that somebody may see.
#[derive(Debug, Clone, Copy)]
pub struct UeFilter<'a> {
    ues: Option<&'a BTreeSet<UeId>>,
    is_all: bool,
}

impl<'a> UeFilter<'a> {
    /// Whether these are all UEs of the node: nothing needs to be filtered.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether `ue` may be seen.
    pub fn contains(&self, ue: UeId) -> bool {
        self.ues.is_some_and(|ues| ues.contains(&ue))
    }

    /// The UEs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = UeId> + use<'a> {
        self.ues.into_iter().flatten().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ues.map_or(0, BTreeSet::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
