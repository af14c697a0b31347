//! A cell's neighbours as reported by RC. These are the handover targets with the nearest cell identities.
//!
//! Attributes on which the model does not depend have fixed values. The physical cell identity is the base station's
//! number, modulo the allowed range. All cells are on one carrier in tracking area 1: band 1 at 2,140 MHz if slots
//! last 1 ms, otherwise band 78 at 3,489 MHz.
use super::rc::RcSource;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi};
use ranlab_e2_codec::e2sm::rc::neighbours::{
    Duplex, Neighbour, NeighbourRelations, NrBand, NrFrequency, NrNeighbour, ServingArfcn, ServingPci, Truth,
};
use ranlab_machine::lock;
use std::collections::BTreeSet;
use std::ops::Bound;

/// Maximum number of neighbours with lower identities, and of neighbours with higher identities.
const SIDE_MAX: usize = 16;
/// LTE channel number of 2,140 MHz (TS 36.101 §5.7.3).
const LTE_CHANNEL: u16 = 300;

/// A cell's knowledge of its neighbours.
#[derive(Debug, Default)]
pub(super) struct NeighbourTable {
    /// Neighbours found at the last check.
    near: Option<Vec<NrCgi>>,
    /// Neighbours to which handovers succeeded.
    validated: BTreeSet<NrCgi>,
    /// Whether the table has changed since the last report.
    fresh: bool,
}

impl NeighbourTable {
    /// Records a successful handover to a cell.
    pub(super) fn validate(&mut self, cell: NrCgi) {
        self.fresh |= self.validated.insert(cell);
    }
}

/// Returns the number of a cell's base station.
const fn number(cell: &Cgi) -> u64 {
    match cell {
        Cgi::Nr(cell) => cell.cell >> 4,
        Cgi::Eutra(cell) => (cell.cell >> 8) as u64,
    }
}

const fn pci(cell: &Cgi, there_are: u64) -> u16 {
    // The remainder is less than 1,008, so it fits.
    (number(cell) % there_are) as u16
}

impl RcSource {
    fn near(&self) -> Vec<NrCgi> {
        let here = NrCgi { plmn: self.plmn, cell: number(&self.cell) << 4 };
        let here = if let Cgi::Nr(cell) = self.cell { cell } else { here };
        let all = lock(&self.neighbours);
        let below = all.range(..here).rev().take(SIDE_MAX);
        let above = all.range((Bound::Excluded(here), Bound::Unbounded)).take(SIDE_MAX);
        let mut near: Vec<_> = below.chain(above).map(|(cell, _)| *cell).collect();
        near.sort();
        near
    }

    /// Returns whether the neighbours or their attributes have changed since the last call.
    pub(super) fn has_new_neighbours(&self) -> bool {
        let near = self.near();
        let mut radio = self.locked();
        let known = &mut radio.mobility.known;
        let fresh = std::mem::take(&mut known.fresh);
        let others = known.near.as_ref().is_some_and(|before| *before != near);
        known.near = Some(near);
        fresh || others
    }

    /// Returns the neighbour table, or `None` if there are no neighbours.
    pub(super) fn relations(&self) -> Option<NeighbourRelations> {
        let near = self.near();
        let radio = self.locked();
        // A slot of 14 symbols lasts 1 ms at 15 kHz, so a shorter slot means a wider spacing.
        let wide = radio.cell().config().carrier.slot_us() < 1_000;
        let (arfcn, band, duplex) = if wide { (632_628, 78, Duplex::Tdd) } else { (428_000, 1, Duplex::Fdd) };
        let neighbour = |cell: NrCgi| {
            let works = radio.mobility.known.validated.contains(&cell);
            Neighbour::Nr(NrNeighbour {
                cell,
                pci: pci(&Cgi::Nr(cell), 1_008),
                tac: [0, 0, 1],
                duplex,
                frequency: NrFrequency {
                    arfcn,
                    bands: vec![NrBand { band, supplementary: Vec::new() }],
                    shift: None,
                },
                connected: Truth::True,
                handover: if works { Truth::True } else { Truth::False },
                version: 1 + u16::from(works),
            })
        };
        let neighbours: Vec<_> = near.into_iter().map(neighbour).collect();
        let (pci, arfcn) = match self.cell {
            Cgi::Nr(_) => (ServingPci::Nr(pci(&self.cell, 1_008)), ServingArfcn::Nr(arfcn)),
            Cgi::Eutra(_) => (ServingPci::Eutra(pci(&self.cell, 504)), ServingArfcn::Eutra(LTE_CHANNEL)),
        };
        (!neighbours.is_empty()).then_some(NeighbourRelations { pci, arfcn, neighbours })
    }
}
