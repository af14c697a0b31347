//! Current sessions, by index and phase.
use ranlab_machine::Time;

/// Phase of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The session is being established, or waits for its tunnel.
    Opening,
    /// The session waits until its deletion.
    Held,
    /// The session remains established.
    Kept,
    /// The session is being deleted.
    Closing,
}

/// State of one session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    pub(super) id: u64,
    pub(super) flow: usize,
    pub(super) intended: Time,
    pub(super) phase: Phase,
    /// Whether the session remains established once it has its tunnel.
    pub(super) keep: bool,
    /// Whether a request of the session failed.
    pub(super) failed: bool,
    /// Whether the session's tunnel at the UPF is known.
    pub(super) has_tunnel: bool,
}

/// Sessions by the index that the SMF assigned, which is the lower half of the session id.
#[derive(Debug, Default)]
pub(super) struct Table {
    places: Vec<Option<Cycle>>,
    /// Number of sessions in each phase.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(id: u64, phase: Phase) -> Cycle {
        Cycle {
            id,
            flow: 7,
            intended: Time::from_nanos(0),
            phase,
            keep: false,
            failed: false,
            has_tunnel: true,
        }
    }

    #[test]
    fn sessions_are_counted_per_phase() {
        let mut table = Table::default();
        table.insert(cycle(1, Phase::Opening));
        table.insert(cycle(5, Phase::Opening));
        assert_eq!((table.len(), table.in_phase(Phase::Opening)), (2, 2));
        table.change(5, |cycle| cycle.phase = Phase::Kept);
        assert_eq!((table.in_phase(Phase::Opening), table.in_phase(Phase::Kept)), (1, 1));
        assert_eq!(table.iter().map(|cycle| cycle.id).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(table.remove(1).map(|cycle| cycle.flow), Some(7));
        assert!(table.remove(1).is_none() && table.get(1).is_none());
        assert_eq!((table.len(), table.in_phase(Phase::Opening)), (1, 0));
    }

    /// The upper half of a session id is the number of times that its index was used. Late responses therefore do not match a later
    /// session.
    #[test]
    fn reused_index_is_another_session() {
        let before = 1 << 32 | 3;
        let after = 2 << 32 | 3;
        let mut table = Table::default();
        table.insert(cycle(before, Phase::Opening));
        table.insert(cycle(after, Phase::Held));
        assert_eq!((table.len(), table.in_phase(Phase::Opening), table.in_phase(Phase::Held)), (1, 0, 1));
        assert!(table.get(before).is_none() && table.get(after).is_some());
        table.change(before, |cycle| cycle.phase = Phase::Closing);
        assert!(table.remove(before).is_none());
        assert_eq!(table.in_phase(Phase::Held), 1);
    }

    #[test]
    fn unknown_session_id_is_not_found() {
        let mut table = Table::default();
        table.insert(cycle(7 << 32, Phase::Opening));
        assert_eq!(table.len(), 0);
        assert!(table.get(0).is_none() && table.remove(7 << 32).is_none());
    }
}
