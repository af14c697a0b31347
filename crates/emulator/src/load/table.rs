//! Sessions under way, by place and phase.
use ranlab_machines::Time;

/// Where a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Being established, or waiting for its tunnel.
    Opening,
    /// Waiting for its end.
    Held,
    /// Staying.
    Kept,
    /// Being deleted.
    Closing,
}

/// A session of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    pub(super) id: u64,
    pub(super) flow: usize,
    pub(super) intended: Time,
    pub(super) phase: Phase,
    /// It shall stay once it has its tunnel.
    pub(super) keep: bool,
    /// One of its requests went wrong.
    pub(super) failed: bool,
}

/// Sessions by the place that the SMF gave them, which is the lower half of their names.
#[derive(Debug, Default)]
pub(super) struct Table {
    places: Vec<Option<Cycle>>,
    /// How many are in each phase.
    count: [usize; 4],
}

impl Table {
    fn place(id: u64) -> Option<usize> {
        (id as u32 as usize).checked_sub(1)
    }

    pub(super) fn get(&self, id: u64) -> Option<&Cycle> {
        self.places.get(Self::place(id)?)?.as_ref().filter(|cycle| cycle.id == id)
    }

    pub(super) fn insert(&mut self, cycle: Cycle) {
        let Some(place) = Self::place(cycle.id) else { return };
        if self.places.len() <= place {
            self.places.resize(place + 1, None);
        }
        if let Some(before) = self.places[place].replace(cycle) {
            self.count[before.phase as usize] -= 1;
        }
        self.count[cycle.phase as usize] += 1;
    }

    pub(super) fn change(&mut self, id: u64, change: impl FnOnce(&mut Cycle)) {
        if let Some(mut cycle) = self.get(id).copied() {
            change(&mut cycle);
            self.insert(cycle);
        }
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Cycle> {
        let cycle = *self.get(id)?;
        self.places[Self::place(id)?] = None;
        self.count[cycle.phase as usize] -= 1;
        Some(cycle)
    }

    pub(super) fn len(&self) -> usize {
        self.count.iter().sum()
    }

    pub(super) fn in_phase(&self, phase: Phase) -> usize {
        self.count[phase as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Cycle> {
        self.places.iter().flatten()
    }
}
