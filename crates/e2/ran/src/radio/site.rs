//! The cells of a base station: a single cell, or the cells of a CU's DUs. Hands UEs over between the cells, collects
//! their RRC events, and advances their time.
use super::{Radio, SharedRadio, UeMovement, hand_over};
use crate::stats::CellFacts;
use ranlab_e2::Time;
use ranlab_e2::agent::{RanFunction, UeId};
use ranlab_e2::functions::rrc::{self, Progress, RrcSource};
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rrc::{RrcChange, RrcEvent, RrcHandover};
use ranlab_machine::lock;
use ranlab_radio::user_plane::{RrcKind, UeReport};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A base station's cells, shared by the base station's agents and their driver.
pub type SharedSite = Arc<BaseStation>;

/// The cells of a base station, numbered like its DUs. C-RNTIs are unique over all cells.
#[derive(Debug)]
pub struct BaseStation {
    cells: Vec<SharedRadio>,
    unreported: Mutex<UnreportedEvents>,
}

/// Events that agents or controllers have not been notified of.
#[derive(Debug, Default)]
struct UnreportedEvents {
    /// RRC events, oldest first.
    news: Vec<RrcEvent>,
    /// Handed over UEs with their cells. Agents are notified first, then controllers.
    moved: Vec<(usize, UeMovement)>,
    later: Vec<RrcEvent>,
}

impl BaseStation {
    /// Creates a base station from at least one cell.
    pub fn new(cells: Vec<SharedRadio>) -> SharedSite {
        Arc::new(Self { cells, unreported: Mutex::default() })
    }

    /// Returns the cells of the base station.
    pub fn cells(&self) -> &[SharedRadio] {
        &self.cells
    }

    /// Returns the attached UEs, as agents number them.
    pub fn ues(&self) -> Vec<UeId> {
        let of = |radio: &SharedRadio| lock(radio).rntis().values().copied().collect::<Vec<_>>();
        self.cells.iter().flat_map(of).map(|rnti| UeId(rnti.into())).collect()
    }

    /// Returns the statistics of the UEs of all cells.
    pub fn reports(&self) -> Vec<UeReport> {
        self.cells.iter().flat_map(|radio| lock(radio).cell().reports().collect::<Vec<_>>()).collect()
    }

    /// Returns the slices that UEs requested, by C-RNTI.
    pub(crate) fn slices(&self) -> BTreeMap<u16, Vec<Snssai>> {
        self.cells.iter().flat_map(|radio| lock(radio).slices()).collect()
    }

    /// Returns the number of the cell that serves the UE with this C-RNTI.
    pub fn cell_of(&self, rnti: u16) -> Option<u16> {
        let cells = self.cells.iter().map(|radio| lock(radio));
        cells.into_iter().find(|radio| radio.cell().report(rnti).is_some()).map(|radio| radio.cell_id)
    }

    /// Advances each cell to `now`, as far as a radio can catch up in one call. Returns UE movements with their
    /// cells, including handovers since the last call. A UE is released at its planned departure time, in its current
    /// cell.
    pub fn pass(&self, now: Time) -> Vec<(usize, UeMovement)> {
        self.pass_each(|radio| radio.pass(now))
    }

    /// Advances each radio by `step`, and completes handovers between the radios. Returns the UE movements with their
    /// cells.
    pub fn pass_each(&self, step: impl Fn(&mut Radio) -> Vec<UeMovement>) -> Vec<(usize, UeMovement)> {
        let mut unreported = lock(&self.unreported);
        let mut moved = std::mem::take(&mut unreported.moved);
        let later = std::mem::take(&mut unreported.later);
        unreported.news.extend(later);
        drop(unreported);
        let mut strays = Vec::new();
        for (cell, radio) in self.cells.iter().enumerate() {
            let mut radio = lock(radio);
            moved.extend(step(&mut radio).into_iter().map(|it| (cell, it)));
            strays.extend(radio.take_strays());
        }
        for ue in strays {
            let gone = |(cell, radio): (usize, &SharedRadio)| Some((cell, lock(radio).release(ue)?));
            moved.extend(self.cells.iter().enumerate().find_map(gone));
        }
        moved
    }

    /// Hands a UE over between two cells, given by number. The next [`pass`](Self::pass) notifies the agents; then
    /// controllers receive a release that names the target, and a handover that names the source.
    ///
    /// # Errors
    ///
    /// Returns an error if a cell or the UE does not exist, or the target is full. In this case nothing changes.
    pub fn hand_over(&self, rnti: u16, cell_id: u16, target_cell_id: u16) -> Result<(), Refusal> {
        let source = self.index(cell_id)?;
        let target = self.index(target_cell_id)?;
        self.gather();
        let handed_over = hand_over(&self.cells[source], &self.cells[target], rnti)?;
        let mut unreported = lock(&self.unreported);
        for at in [source, target] {
            unreported.later.append(&mut lock(&self.cells[at]).news);
        }
        unreported.moved.push((source, handed_over.source));
        unreported.moved.extend(handed_over.target.into_iter().map(|moved| (target, moved)));
        Ok(())
    }

    /// Returns the attributes of the first cell.
    pub(crate) fn facts(&self) -> CellFacts {
        lock(&self.cells[0]).facts()
    }

    fn index(&self, cell_id: u16) -> Result<usize, Refusal> {
        let ids: Vec<u16> = self.cells.iter().map(|radio| lock(radio).cell_id).collect();
        ids.iter().position(|id| *id == cell_id).ok_or_else(|| {
            let ids: Vec<_> = ids.iter().map(u16::to_string).collect();
            let what =
                format!("there is no cell {cell_id} at this base station; cells are {}", ids.join(", "));
            Refusal::new(Reason::Invalid, what)
        })
    }

    /// Moves the RRC events of the cells to the events of the base station.
    fn gather(&self) {
        let mut unreported = lock(&self.unreported);
        for radio in &self.cells {
            unreported.news.append(&mut lock(radio).news);
        }
        let beyond = unreported.news.len().saturating_sub(ranlab_radio::user_plane::EVENTS_MAX);
        unreported.news.drain(..beyond);
    }

    /// Returns the RRC function for all cells.
    pub(crate) fn rrc(self: &Arc<Self>) -> Box<dyn RanFunction> {
        rrc::function(Rrc(Arc::clone(self)))
    }
}

struct Rrc(SharedSite);

impl RrcSource for Rrc {
    fn connected(&mut self, _: Time) -> Vec<RrcEvent> {
        let of = |radio: &SharedRadio| {
            let radio = lock(radio);
            let there = radio.rntis.iter().map(|(ue, rnti)| radio.event(RrcKind::Attach, *rnti, *ue));
            there.map(|event| RrcEvent { change: RrcChange::Connected, ..event }).collect::<Vec<_>>()
        };
        self.0.cells.iter().flat_map(of).collect()
    }

    fn events(&mut self, _: Time) -> Vec<RrcEvent> {
        self.0.gather();
        std::mem::take(&mut lock(&self.0.unreported).news)
    }

    fn hand_over(&mut self, _: Time, it: &RrcHandover) -> Result<Progress, Refusal> {
        self.0.hand_over(it.rnti, it.cell_id, it.target_cell_id).map(|()| Progress::Done)
    }

    fn tstamp_us(&self, now: Time) -> u64 {
        self.0.cells.first().map_or(0, |radio| lock(radio).tstamp_us(now))
    }
}

impl Radio {
    /// Removes and returns UEs whose planned departure time has passed here while they are in another cell.
    fn take_strays(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.strays)
    }

    /// Releases a UE if it is in this cell.
    pub(super) fn release(&mut self, number: u32) -> Option<UeMovement> {
        let rnti = *self.rntis.get(&number)?;
        self.meter.leave(&self.cell, number, rnti);
        self.cell.release(rnti);
        self.forget(number, rnti);
        self.drain_events(|_| {});
        Some(UeMovement::Went { ue: number, rnti })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RadioConfig, UePresence};
    use super::*;
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_radio::user_plane::Carrier;
    use std::time::Duration;

    /// Creates two cells with two UEs each. The UEs of the second cell have the numbers 1025 and 1026.
    fn site(stays: Vec<UePresence>) -> SharedSite {
        let config = RadioConfig { stays, ..RadioConfig::new(Carrier::lte(25), 2) };
        let plmn = Plmn::new(1, 1, 2);
        let radio = |cell_id| Radio::new(&config, (cell_id, 1), plmn, 0, 0).unwrap();
        BaseStation::new([0, 1].map(|cell_id| Arc::new(Mutex::new(radio(cell_id)))).into())
    }

    fn pass(site: &BaseStation, ms: std::ops::Range<u64>) -> Vec<(usize, UeMovement)> {
        ms.flat_map(|ms| site.pass(Time::from_nanos(ms * 1_000_000))).collect()
    }

    #[test]
    fn agents_are_notified_of_handover_before_controllers() {
        let site = site(Vec::new());
        let mut rrc = Rrc(Arc::clone(&site));
        assert_eq!(pass(&site, 0..10).len(), 4);
        assert_eq!(rrc.events(Time::ZERO).len(), 4);
        for (rnti, from, to, why) in [
            (1, 0, 2, "cells are 0, 1"),
            (1, 7, 1, "no cell 7"),
            (1, 1, 1, "in that cell"),
            (9, 0, 1, "no UE 9"),
        ] {
            let refused = site.hand_over(rnti, from, to).unwrap_err();
            assert!(refused.detail.contains(why), "{refused:?}");
        }
        assert_eq!((pass(&site, 10..11), rrc.events(Time::ZERO)), (vec![], vec![]));
        site.hand_over(2, 1, 0).unwrap();
        assert_eq!(rrc.events(Time::ZERO), [], "controllers must not be notified before the agents");
        let went = UeMovement::Went { ue: 1026, rnti: 2 };
        let came = UeMovement::Came { ue: 1026, rnti: 3 };
        assert_eq!(pass(&site, 11..12), [(1, went), (0, came)]);
        let reported: Vec<_> =
            rrc.events(Time::ZERO).iter().map(|it| (it.change, it.cell_id, it.rnti)).collect();
        assert_eq!(reported, [(RrcChange::Release, 1, 2), (RrcChange::Handover, 0, 3)]);
        assert_eq!((rrc.connected(Time::ZERO).len(), site.ues().len()), (4, 4));
        assert_eq!((site.cell_of(3), site.reports().len()), (Some(0), 4));
    }

    #[test]
    fn ue_is_released_in_its_current_cell() {
        let until = Some(Duration::from_millis(20));
        let site = site(vec![UePresence { ues: 1..=1, from: Duration::ZERO, until }]);
        pass(&site, 0..10);
        site.hand_over(1, 0, 1).unwrap();
        let moved = pass(&site, 10..30);
        // The first UE of the second cell is released at the same time.
        assert!(moved.contains(&(1, UeMovement::Went { ue: 1, rnti: 3 })), "{moved:?}");
        assert_eq!((moved.len(), site.ues().len()), (4, 2), "{moved:?}");
    }
}
