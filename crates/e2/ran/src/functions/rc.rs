//! Station function of RC, over a radio. The CU-CP of a base station with several DUs offers it over the radios of all DUs.
use super::{Requires, StationContext, StationFunction, kpm, ni};
use crate::node::Unit;
use crate::radio::{RcSource, SharedRadio, SteeredSite};
use crate::stats::CellSource;
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::rc;
use ranlab_e2_codec::e2sm::Model;
use ranlab_e2_codec::e2sm::common::Cgi;
use ranlab_e2_codec::e2sm::rc::Rc;
use ranlab_machine::lock;
use std::sync::Arc;

pub(super) struct Station;

/// Returns whether complete base stations with these functions hand over UEs. They do so through RC.
pub fn hands_over(named: &[&'static dyn StationFunction]) -> bool {
    let by: [&dyn StationFunction; 3] = [&kpm::Station, &Station, &ni::Station];
    named.iter().any(|it| by.into_iter().any(|function| it.is(function)))
}

/// Returns whether the node is a CU-CP with RC. RRC terminates in the CU-CP, and it hands over UEs based on the
/// measurements of its DUs.
fn is_steered_cu_cp(station: &StationContext<'_>) -> bool {
    let measured: [&dyn StationFunction; 2] = [&kpm::Station, &Station];
    let in_fleet = |function: &dyn StationFunction| {
        station.template.service_models.iter().any(|named| named.is(function))
    };
    station.unit == Some(Unit::CuCp) && measured.into_iter().any(in_fleet)
}

impl StationContext<'_> {
    /// Returns the radio of the node in the form that RC uses.
    pub(super) fn steered(&self, radio: &SharedRadio) -> RcSource {
        self.steered_at(self.template.layout().du(self.index).unwrap_or(0), radio)
    }

    /// Returns the radio of a DU in the form that RC uses; DUs are counted from 0. Registers the radio as a handover
    /// target if it belongs to a gNB.
    fn steered_at(&self, du: usize, radio: &SharedRadio) -> RcSource {
        let template = self.template;
        let cell = template.cell_id_at(self.node, self.index, du);
        if let Cgi::Nr(cell) = cell {
            lock(&template.neighbours).insert(cell, Arc::clone(radio));
        }
        RcSource {
            radio: Arc::clone(radio),
            neighbours: Arc::clone(&template.neighbours),
            cell,
            names: template.names(self.index),
            plmn: template.plmn,
        }
    }
}

impl StationFunction for Station {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(&Rc)
    }

    fn unit(&self) -> Option<Unit> {
        Some(Unit::Du)
    }

    fn requires(&self) -> Requires {
        Requires { radio: true, ..Requires::default() }
    }

    /// A node that reports KPM can also be steered with RC. So can a complete base station that reports NI, because
    /// it hands over UEs through RC.
    fn comes_with(&self, station: &StationContext<'_>) -> bool {
        station.is_named(&kpm::Station)
            || is_steered_cu_cp(station)
            || (station.unit.is_none() && station.is_named(&ni::Station))
    }

    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        match station.cell {
            CellSource::Radio(radio) => Some(rc::function(station.steered(radio))),
            CellSource::Site(site) if is_steered_cu_cp(station) => {
                let cells = site.cells().iter().enumerate();
                let cells = cells.map(|(du, radio)| station.steered_at(du, radio)).collect();
                Some(rc::function(SteeredSite { cells, plmn: station.template.plmn }))
            }
            CellSource::Site(_) | CellSource::Cell(_) | CellSource::Fluid(_) => None,
        }
    }

    /// Returns true, because the function watches for handover decisions of the base station.
    fn is_woken(&self) -> bool {
        true
    }
}
