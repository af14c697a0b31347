//! Switches a cell off and on, either with its administrative state or to save energy.
//!
//! | state | attached UEs | new UEs |
//! |---|---|---|
//! | off (`LOCKED`, energy saving) | handed over to neighbours, or released if no neighbour accepts them | wait for the cell |
//! | `SHUTTINGDOWN` | stay attached; the state becomes `LOCKED` when the last UE has left | wait for the cell |
//! | on | stay attached | attach, together with the waiting UEs |
use super::rc::RcSource;
use super::{Radio, SharedRadio, UeMovement, plan};
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi};
use ranlab_machine::lock;
use ranlab_radio::user_plane::UeConfig;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Administrative state of a cell (ITU-T X.731).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Admin {
    #[default]
    Unlocked,
    ShuttingDown,
    Locked,
}

impl Admin {
    const ALL: [Self; 3] = [Self::Unlocked, Self::ShuttingDown, Self::Locked];

    /// Returns the name that CCC uses.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unlocked => "UNLOCKED",
            Self::ShuttingDown => "SHUTTINGDOWN",
            Self::Locked => "LOCKED",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Power state of a cell, and the UEs that wait until the cell serves.
#[derive(Debug, Default)]
pub(super) struct Power {
    pub(super) admin: Admin,
    pub(super) saves_energy: bool,
    /// UEs by number, to be attached when the cell serves again.
    waiting: BTreeMap<u32, UeConfig>,
    /// Configurations of the attached UEs, by number.
    pub(super) configs: BTreeMap<u32, UeConfig>,
}

impl Power {
    /// Returns whether the cell is switched off.
    pub(super) fn is_off(&self) -> bool {
        self.saves_energy || self.admin == Admin::Locked
    }

    /// Returns whether UEs may attach.
    pub(super) fn admits(&self) -> bool {
        !self.saves_energy && self.admin == Admin::Unlocked
    }

    /// Stores a UE until the cell serves again.
    pub(super) fn wait(&mut self, ue: UeConfig) {
        self.waiting.insert(ue.id, ue);
    }

    /// Removes a waiting UE. Returns whether the UE was waiting.
    pub(super) fn forget_waiting(&mut self, number: u32) -> bool {
        self.waiting.remove(&number).is_some()
    }
}

impl Radio {
    /// Locks the cell if it is shutting down and has no UEs left. Attaches the waiting UEs if the cell serves again.
    pub(super) fn follow_power(&mut self) -> Vec<UeMovement> {
        if self.power.admin == Admin::ShuttingDown && self.rntis.is_empty() {
            self.power.admin = Admin::Locked;
        }
        if !self.power.admits() || self.power.waiting.is_empty() {
            return Vec::new();
        }
        let waiting = std::mem::take(&mut self.power.waiting);
        waiting.into_values().filter_map(|ue| self.turn(plan::PlannedEvent::Come(Box::new(ue)))).collect()
    }

    /// Returns the cell state of TS 28.541: `IDLE` (out of service), `INACTIVE` (without UEs) or `ACTIVE`.
    pub(super) fn cell_state(&self) -> &'static str {
        match (self.power.is_off(), self.rntis.is_empty()) {
            (true, _) => "IDLE",
            (false, true) => "INACTIVE",
            (false, false) => "ACTIVE",
        }
    }
}

impl RcSource {
    /// Sets the administrative state. A locked cell has no UEs after this call.
    pub(super) fn set_admin(&self, admin: Admin) {
        self.locked().power.admin = admin;
        self.leave_if_off();
    }

    /// Starts or ends energy saving. A cell has no UEs while it saves energy.
    pub(super) fn set_energy_saving(&self, saves_energy: bool) {
        self.locked().power.saves_energy = saves_energy;
        self.leave_if_off();
    }

    fn leave_if_off(&self) {
        let rntis: Vec<(u32, u16)> = {
            let radio = self.locked();
            let are_there = radio.rntis.iter().filter(|_| radio.power.is_off());
            are_there.map(|(ue, rnti)| (*ue, *rnti)).collect()
        };
        let targets = self.serving_neighbours();
        for (turn, (number, rnti)) in rntis.into_iter().enumerate() {
            let target = targets.get(turn.checked_rem(targets.len()).unwrap_or(0));
            if target.is_none_or(|cell| self.hand_over(rnti.into(), cell).is_err()) {
                self.release_to_wait(number);
            }
        }
    }

    /// Returns the neighbour cells that accept UEs, nearest identity first.
    fn serving_neighbours(&self) -> Vec<NrCgi> {
        let all: Vec<(NrCgi, SharedRadio)> = {
            let neighbours = lock(&self.neighbours);
            neighbours.iter().map(|(cell, radio)| (*cell, Arc::clone(radio))).collect()
        };
        let here = match self.cell {
            Cgi::Nr(cell) => cell.cell,
            Cgi::Eutra(_) => 0,
        };
        let serves = |(cell, radio): &(NrCgi, SharedRadio)| {
            let is_other = Cgi::Nr(*cell) != self.cell && !Arc::ptr_eq(radio, &self.radio);
            is_other && lock(radio).power.admits()
        };
        let mut serving: Vec<NrCgi> = all.iter().filter(|it| serves(it)).map(|(cell, _)| *cell).collect();
        serving.sort_by_key(|cell| cell.cell.abs_diff(here));
        serving
    }

    /// Releases a UE, and attaches it again when the cell serves.
    fn release_to_wait(&self, number: u32) {
        let mut radio = self.locked();
        let config = radio.power.configs.get(&number).cloned();
        let moved = radio.release(number);
        radio.moved.extend(moved);
        if let Some(config) = config {
            radio.power.wait(config);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Neighbours, RadioConfig, UePresence, cell_of};
    use super::*;
    use crate::stats::UeIdType;
    use ranlab_e2::Time;
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_radio::user_plane::Carrier;
    use std::sync::Mutex;
    use std::time::Duration;

    const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);

    /// Creates `count` cells of two UEs each. The second UE of each cell attaches after 50 ms.
    fn cells(count: u16) -> Vec<RcSource> {
        let stays = vec![UePresence { ues: 2..=2, from: Duration::from_millis(50), until: None }];
        let config = RadioConfig { stays, ..RadioConfig::new(Carrier::lte(25), 2) };
        let neighbours = Neighbours::default();
        let cell = |gnb: u16| {
            let radio = Arc::new(Mutex::new(Radio::new(&config, (gnb, 1), PLMN, 0, 0).unwrap()));
            let cell = cell_of(PLMN, gnb.into());
            neighbours.lock().unwrap().insert(cell, Arc::clone(&radio));
            let neighbours = Arc::clone(&neighbours);
            RcSource { radio, neighbours, cell: Cgi::Nr(cell), names: UeIdType::Gnb, plmn: PLMN }
        };
        (1..=count).map(cell).collect()
    }

    fn pass(cells: &[RcSource], ms: std::ops::Range<u64>) {
        for ms in ms {
            for cell in cells {
                cell.locked().pass(Time::from_nanos(ms * 1_000_000));
            }
        }
    }

    fn ues(cells: &[RcSource]) -> Vec<usize> {
        cells.iter().map(|cell| cell.locked().rntis.len()).collect()
    }

    #[test]
    fn locked_cell_hands_over_its_ues_and_refuses_others() {
        let cells = cells(3);
        pass(&cells, 0..10);
        assert_eq!(ues(&cells), [1, 1, 1]);
        cells[0].set_admin(Admin::Locked);
        pass(&cells, 10..100);
        // The first UE of the cell is at the nearest neighbour, and the second one waits.
        assert_eq!((ues(&cells), cells[0].locked().cell_state()), (vec![0, 3, 2], "IDLE"));
        let here = cell_of(PLMN, 1);
        assert!(cells[1].hand_over(1, &here).is_err(), "a locked cell must not accept UEs");
        cells[0].set_admin(Admin::Unlocked);
        pass(&cells, 100..110);
        assert_eq!((ues(&cells), cells[0].locked().cell_state()), (vec![1, 3, 2], "ACTIVE"));
    }

    #[test]
    fn ues_without_neighbour_wait_and_attach_again() {
        let cells = cells(1);
        pass(&cells, 0..60);
        assert_eq!(ues(&cells), [2]);
        cells[0].set_energy_saving(true);
        pass(&cells, 60..70);
        assert_eq!(ues(&cells), [0]);
        cells[0].set_energy_saving(false);
        pass(&cells, 70..80);
        assert_eq!(ues(&cells), [2]);
    }

    #[test]
    fn shutdown_waits_for_last_ue() {
        let cells = cells(2);
        pass(&cells, 0..10);
        cells[0].set_admin(Admin::ShuttingDown);
        pass(&cells, 10..100);
        assert_eq!((ues(&cells), cells[0].locked().power.admin), (vec![1, 2], Admin::ShuttingDown));
        let target = cell_of(PLMN, 2);
        cells[0].hand_over(1, &target).unwrap();
        pass(&cells, 100..110);
        assert_eq!((ues(&cells), cells[0].locked().power.admin), (vec![0, 3], Admin::Locked));
    }
}
