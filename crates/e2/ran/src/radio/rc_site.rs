//! The base station side of RC at the CU-CP of a base station with several DUs. An order for a UE is executed in the
//! UE's cell; quotas are executed in all cells.
use super::rc::RcSource;
use crate::stats::UeIdType;
use ranlab_e2::Time;
use ranlab_e2::functions::rc::{CarrierQuotas, RcControl, RcEvent, RcMobility};
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rc::commands::Order;
use ranlab_e2_codec::e2sm::rc::neighbours::NeighbourRelations;

/// The cells of a base station with several DUs, in the form that RC uses.
pub(crate) struct SteeredSite {
    /// Cells of the base station, in the order of its DUs.
    pub(crate) cells: Vec<RcSource>,
    /// Network of the base station.
    pub(crate) plmn: Plmn,
}

impl SteeredSite {
    /// Returns the cell of a UE.
    fn cell_of_ue(&mut self, number: u32) -> Option<&mut RcSource> {
        let serves = |cell: &&mut RcSource| {
            let radio = cell.locked();
            radio.rntis().values().any(|rnti| u32::from(*rnti) == number)
        };
        self.cells.iter_mut().find(serves)
    }
}

impl RcControl for SteeredSite {
    fn execute(&mut self, now: Time, number: u32, order: &Order) -> Result<(), Refusal> {
        if let Order::SliceQuotas(_) = order {
            self.could(order)?;
            return self.cells.iter_mut().try_for_each(|cell| cell.execute(now, number, order));
        }
        let unknown = || Refusal::new(Reason::UnknownUe, format!("there is no UE {number}"));
        self.cell_of_ue(number).ok_or_else(unknown)?.execute(now, number, order)
    }

    fn knows_rrc(&self) -> bool {
        true
    }

    fn share(&mut self, now: Time, number: u32, quotas: &CarrierQuotas) -> Result<(), Refusal> {
        self.cells.iter().try_for_each(|cell| cell.could_divide(quotas))?;
        self.cells.iter_mut().try_for_each(|cell| cell.share(now, number, quotas))
    }

    /// Returns the quotas that apply in all cells.
    fn quotas(&mut self) -> Option<CarrierQuotas> {
        let mut quotas = self.cells.iter_mut().map(RcControl::quotas);
        let first = quotas.next()??;
        quotas.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    fn could(&self, order: &Order) -> Result<(), Refusal> {
        self.cells.iter().try_for_each(|cell| cell.could(order))
    }

    fn mobility(&mut self) -> Option<&mut dyn RcMobility> {
        Some(self)
    }
}

impl RcMobility for SteeredSite {
    fn name(&self, number: u32) -> Name {
        UeIdType::Gnb.name(self.plmn, number)
    }

    fn ues(&mut self) -> Vec<(u32, Cgi)> {
        self.cells.iter_mut().flat_map(RcMobility::ues).collect()
    }

    fn slices(&mut self, number: u32) -> Vec<Snssai> {
        self.cell_of_ue(number).map(|cell| cell.slices(number)).unwrap_or_default()
    }

    fn cells(&mut self) -> Vec<Cgi> {
        self.cells.iter().map(|cell| cell.cell).collect()
    }

    fn neighbours(&mut self, cell: &Cgi) -> Option<NeighbourRelations> {
        self.cells.iter_mut().find(|own| own.cell == *cell)?.neighbours(cell)
    }

    fn events(&mut self, now: Time) -> Vec<RcEvent> {
        self.cells.iter_mut().flat_map(|cell| cell.events(now)).collect()
    }

    fn decisions(&mut self, now: Time) -> Vec<(u32, NrCgi)> {
        self.cells.iter_mut().flat_map(|cell| cell.decisions(now)).collect()
    }

    fn decides(&self) -> bool {
        self.cells.iter().any(RcMobility::decides)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Neighbours;
    use super::super::{Radio, RadioConfig, cell_of};
    use super::*;
    use ranlab_e2_codec::e2sm::rc::commands::SliceQuota;
    use ranlab_radio::user_plane::Carrier;
    use std::sync::{Arc, Mutex};

    const PLMN: Plmn = Plmn([0x05, 0xf5, 0x10]);

    #[test]
    fn ue_orders_reach_ue_cell_and_quotas_reach_all_cells() {
        let neighbours = Neighbours::default();
        let first = cell_of(PLMN, 1);
        let cells = [0_u16, 1].map(|du| {
            let snssais = vec![Snssai { sst: 1, sd: None }];
            let config = RadioConfig { snssais, ..RadioConfig::new(Carrier::lte(25), 4) };
            let radio = Arc::new(Mutex::new(Radio::new(&config, (1 + du, 1), PLMN, 0, 0).unwrap()));
            radio.lock().unwrap().pass(Time::from_nanos(5_000_000));
            let cell = NrCgi { cell: first.cell + u64::from(du), ..first };
            neighbours.lock().unwrap().insert(cell, Arc::clone(&radio));
            let neighbours = Arc::clone(&neighbours);
            RcSource { radio, neighbours, cell: Cgi::Nr(cell), names: UeIdType::Gnb, plmn: PLMN }
        });
        let mut site = SteeredSite { cells: cells.into(), plmn: PLMN };
        let of_cells = |site: &mut SteeredSite| {
            site.cells.iter_mut().map(|cell| RcMobility::ues(cell).len()).collect::<Vec<_>>()
        };
        assert_eq!((of_cells(&mut site), RcMobility::cells(&mut site).len()), (vec![4, 4], 2));
        let quota =
            SliceQuota { plmn: PLMN, slice: Snssai { sst: 1, sd: None }, min: 0, max: 50, dedicated: 0 };
        site.execute(Time::ZERO, 0, &Order::SliceQuotas(vec![quota])).unwrap();
        let both = CarrierQuotas { down: vec![quota], up: vec![quota] };
        assert_eq!(RcControl::quotas(&mut site), Some(both));
        let unknown = site.execute(Time::ZERO, 60_000, &Order::Handover(first)).unwrap_err();
        assert_eq!(unknown.reason, Reason::UnknownUe);
    }
}
