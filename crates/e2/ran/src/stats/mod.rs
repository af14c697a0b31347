//! Payloads of the statistics service models, generated from a cell of the radio model.
pub(crate) mod cell;
pub(crate) mod digest;
pub(crate) mod gtp;
mod kpm;
pub(crate) mod mac;
pub(crate) mod pdcp;
pub(crate) mod rlc;

use crate::radio::{BaseStation, SharedFluid, SharedRadio, SharedSite};
pub use kpm::{MeasuredCell, UeIdType};
use ranlab_e2::Time;
use ranlab_e2::agent::{UeFilter, UeId};
use ranlab_e2::functions::stats::StatsSource;
use ranlab_e2_codec::e2sm::list::{self, Element};
use ranlab_e2_codec::e2sm::{Encoding, SmError};
use ranlab_machine::lock;
use ranlab_radio::user_plane::{Carrier, UeReport};
use ranlab_radio::{Cell, LinkStats, PdcpStats, RadioStats, RlcReceptionStats, UeIdentity, UeState};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Function that appends an encoded indication message about a cell.
pub(crate) type FillMessage = fn(Encoding, &CellSnapshot<'_>, &mut Vec<u8>) -> Result<(), SmError>;

/// State of a cell at one point in time, limited to the UEs that one controller may see.
pub(crate) struct CellSnapshot<'a> {
    cell: CellFacts,
    /// The UEs that the controller may see.
    ues: Vec<&'a dyn UeFacts>,
    /// Time of day, in microseconds since the Unix epoch.
    tstamp_us: i64,
}

/// Error: a name that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {given:?} is not one of {allowed}")]
pub struct UnknownName {
    pub(crate) what: &'static str,
    pub(crate) given: String,
    pub(crate) allowed: String,
}

/// Attributes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellFacts {
    pub(crate) cell_id: u16,
    pub(crate) prbs: u16,
    /// Numbers of PRBs offered since the start, in downlink and uplink.
    pub(crate) prbs_offered: [u64; 2],
    pub(crate) frame: u16,
    pub(crate) slot: u16,
}

impl CellFacts {
    /// Returns the attributes of a cell of the user-plane model, at a slot.
    pub(crate) fn from_carrier(cell_id: u16, carrier: &Carrier, slot: u64, prbs_offered: [u64; 2]) -> Self {
        // A radio frame lasts 10 ms, which gives the number of slots.
        let slots = 10_000 / carrier.slot_us();
        let frame = (slot / slots % 1024) as u16;
        let slot = (slot % slots) as u16;
        Self { cell_id, prbs: carrier.prbs, prbs_offered, frame, slot }
    }
}

impl From<&Cell> for CellFacts {
    fn from(cell: &Cell) -> Self {
        let cell_id = cell.config().cell_id;
        let prbs = cell.config().prbs;
        let prbs_offered = [cell.prbs_offered(); 2];
        Self { cell_id, prbs, prbs_offered, frame: cell.frame(), slot: cell.slot() }
    }
}

/// Attributes of a UE in any kind of cell.
trait UeFacts {
    fn identity(&self) -> UeIdentity;
    fn radio(&self) -> &RadioStats;
    fn dl(&self) -> &LinkStats;
    fn ul(&self) -> &LinkStats;
    fn rlc_reception(&self) -> RlcReceptionStats;
    fn pdcp(&self) -> PdcpStats;
}

#[rustfmt::skip]
impl UeFacts for UeState {
    fn identity(&self) -> UeIdentity { self.identity() }
    fn radio(&self) -> &RadioStats { self.radio() }
    fn dl(&self) -> &LinkStats { self.dl() }
    fn ul(&self) -> &LinkStats { self.ul() }
    fn rlc_reception(&self) -> RlcReceptionStats { self.rlc_reception() }
    fn pdcp(&self) -> PdcpStats { self.pdcp() }
}

#[rustfmt::skip]
impl UeFacts for UeReport {
    fn identity(&self) -> UeIdentity { self.identity }
    fn radio(&self) -> &RadioStats { &self.radio }
    fn dl(&self) -> &LinkStats { &self.dl }
    fn ul(&self) -> &LinkStats { &self.ul }
    fn rlc_reception(&self) -> RlcReceptionStats { self.rlc_reception() }
    fn pdcp(&self) -> PdcpStats { self.pdcp() }
}

impl CellSnapshot<'_> {
    /// Encodes an indication message with one element per UE.
    fn list<E: Element>(
        &self,
        encoding: Encoding,
        out: &mut Vec<u8>,
        of: impl Fn(&dyn UeFacts) -> E,
    ) -> Result<(), SmError> {
        self.encode(encoding, out, self.ues.iter().map(|ue| of(*ue)))
    }

    /// Encodes an indication message with these elements.
    fn encode<E: Element>(
        &self,
        encoding: Encoding,
        out: &mut Vec<u8>,
        elements: impl ExactSizeIterator<Item = E>,
    ) -> Result<(), SmError> {
        list::encode(encoding, out, elements, self.tstamp_us)
    }
}

/// A cell shared by several RAN functions of a node.
pub type SharedCell = Arc<Mutex<Cell>>;

/// Source of a node's statistics.
#[derive(Clone)]
pub enum CellSource {
    /// A cell that only generates statistics, advanced on demand.
    Cell(SharedCell),
    /// A radio, driven in real time.
    Radio(SharedRadio),
    /// A fluid radio, advanced on demand.
    Fluid(SharedFluid),
    /// The radios of several DUs and all their UEs.
    Site(SharedSite),
}

impl CellSource {
    /// Returns the base station of the radios, or `None` if there is no driven radio.
    pub fn site(&self) -> Option<SharedSite> {
        match self {
            Self::Radio(radio) => Some(BaseStation::new(vec![Arc::clone(radio)])),
            Self::Site(site) => Some(Arc::clone(site)),
            Self::Cell(_) | Self::Fluid(_) => None,
        }
    }

    /// Returns the attached UEs, as agents number them.
    pub fn ues(&self) -> Vec<UeId> {
        let of = |rnti: u16| UeId(u64::from(rnti));
        match self {
            Self::Cell(cell) => {
                let cell = lock(cell);
                cell.ues().iter().map(|ue| of(ue.identity().rnti)).collect()
            }
            Self::Radio(radio) => {
                let radio = lock(radio);
                radio.rntis().values().copied().map(of).collect()
            }
            Self::Fluid(radio) => {
                let radio = lock(radio);
                radio.cell().reports().map(|ue| of(ue.identity.rnti)).collect()
            }
            Self::Site(site) => site.ues(),
        }
    }
}

/// RAN function that reports statistics of a cell.
pub struct CellStats {
    /// Source of the statistics.
    pub cell: CellSource,
    /// Function that encodes a report.
    pub(crate) fill: FillMessage,
    /// Encoding of the reports.
    pub encoding: Encoding,
    /// Time of day at [`Time::ZERO`], in microseconds since the Unix epoch. Payloads contain times of day.
    pub epoch_us: i64,
    /// Callback that receives the send delay of each report.
    pub lateness: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl StatsSource for CellStats {
    fn fill(&mut self, now: Time, ues: UeFilter<'_>, out: &mut Vec<u8>) {
        let now_us = now.as_nanos() / 1_000;
        let tstamp_us = self.epoch_us.saturating_add(i64::try_from(now_us).unwrap_or(i64::MAX));
        let all = ues.is_all();
        let sees = |ue: UeIdentity| all || ues.contains(ue_id(ue));
        let encoded = match &self.cell {
            CellSource::Cell(cell) => {
                let mut cell = lock(cell);
                cell.advance(now_us);
                let seen = cell.ues().iter().filter(|ue| sees(ue.identity()));
                let ues = seen.map(|ue| ue as &dyn UeFacts).collect();
                let moment = CellSnapshot { cell: CellFacts::from(&*cell), ues, tstamp_us };
                (self.fill)(self.encoding, &moment, out)
            }
            CellSource::Radio(radio) => {
                let radio = lock(radio);
                let reports: Vec<_> = radio.cell().reports().filter(|ue| sees(ue.identity)).collect();
                let ues = reports.iter().map(|ue| ue as &dyn UeFacts).collect();
                (self.fill)(self.encoding, &CellSnapshot { cell: radio.facts(), ues, tstamp_us }, out)
            }
            CellSource::Site(site) => {
                let mut reports = site.reports();
                reports.retain(|ue| sees(ue.identity));
                let ues = reports.iter().map(|ue| ue as &dyn UeFacts).collect();
                (self.fill)(self.encoding, &CellSnapshot { cell: site.facts(), ues, tstamp_us }, out)
            }
            CellSource::Fluid(radio) => {
                let mut radio = lock(radio);
                let mut reports = radio.reports(now);
                reports.retain(|ue| sees(ue.identity));
                let ues = reports.iter().map(|ue| ue as &dyn UeFacts).collect();
                (self.fill)(self.encoding, &CellSnapshot { cell: radio.facts(), ues, tstamp_us }, out)
            }
        };
        // Encoding cannot fail: a cell has at most 65,519 UEs, so the count fits, and the model supports the encoding.
        debug_assert!(encoded.is_ok(), "{encoded:?}");
    }

    fn reported(&mut self, lateness: Duration) {
        (self.lateness)(lateness);
    }
}

/// Returns the number that the agent uses for a UE, which is its RNTI.
pub fn ue_id(ue: UeIdentity) -> UeId {
    UeId(u64::from(ue.rnti))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Statistics;
    use bytes::Bytes;
    use ranlab_e2_codec::e2sm::RowKey;
    use ranlab_e2_codec::e2sm::plain::INDICATION_HEADER;
    use ranlab_radio::CellConfig;
    use std::collections::BTreeSet;

    /// For each statistics model, the bytes that an agent sends describe every UE, or the node.
    #[test]
    fn every_statistics_model_reports_all_ues() {
        let stations: [&Statistics; 5] =
            [&mac::STATION, &rlc::STATION, &pdcp::STATION, &gtp::STATION, &cell::STATION];
        for &Statistics { model, fill, .. } in stations {
            let mut cell = Cell::new(CellConfig { ues: 5, ..CellConfig::default() }).unwrap();
            cell.advance(3_000_000);
            let ues: Vec<_> = cell.ues().iter().map(|ue| ue as &dyn UeFacts).collect();
            let rntis: BTreeSet<_> = ues.iter().map(|ue| u32::from(ue.identity().rnti)).collect();
            let moment = CellSnapshot { cell: (&cell).into(), ues, tstamp_us: 42 };
            let mut out = Vec::new();
            fill(model.encoding(), &moment, &mut out).unwrap();
            let header = Bytes::from_static(&INDICATION_HEADER);
            let table = model.table(model.encoding(), &header, &out.into()).unwrap();
            for &encoding in model.encodings() {
                let mut out = Vec::new();
                fill(encoding, &moment, &mut out).unwrap();
                assert_eq!(model.table(encoding, &header, &out.into()).unwrap(), table);
            }
            let named: BTreeSet<_> = table.rows().filter_map(|(key, _)| key.ue()).collect();
            let of_node = table.rows().all(|(key, _)| key == RowKey::Node);
            assert!(named == rntis || (of_node && !table.is_empty()), "{}: {named:?}", model);
            assert_eq!(table.tstamp_us, Some(42), "{}", model);
        }
    }
}
