//! From a cell of the model to the payloads of the statistics service models: a [`Source`] each.
mod cell;
mod gtp;
mod kpm;
mod mac;
mod pdcp;
mod rlc;

use crate::radio::{SharedFluid, SharedRadio, SharedSite, Site};
pub use kpm::{MeasuredCell, Names};
use ranlab_radio::user_plane::{Carrier, UeReport};
use ranlab_radio::{Cell, LinkStats, PdcpStats, RadioStats, RlcReceptionStats, UeIdentity, UeState};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{UeFilter, UeId};
use ranlab_sdk::e2::functions::stats::StatsSource;
use ranlab_sdk::wire::e2sm::ccc::Ccc;
use ranlab_sdk::wire::e2sm::list::{self, Element};
use ranlab_sdk::wire::e2sm::ni::Ni;
use ranlab_sdk::wire::e2sm::rc::Rc;
use ranlab_sdk::wire::e2sm::{Encoding, Model, SmError};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The statistics that cells tell, a line each.
#[rustfmt::skip]
pub static SOURCES: &[Source] = &[
    mac::SOURCE,
    rlc::SOURCE,
    pdcp::SOURCE,
    gtp::SOURCE,
    cell::SOURCE,
    kpm::SOURCE,
    Source { model: &Rc, tells: Tells::Mobility },
    Source { model: &Ccc, tells: Tells::Configuration },
    Source { model: &Ni, tells: Tells::Interfaces },
];

/// What a cell tells in one service model.
pub struct Source {
    /// The model.
    pub model: &'static dyn Model,
    /// How it is told.
    pub(crate) tells: Tells,
}

/// Appends an indication message about a cell at a moment.
type Fill = fn(Encoding, &Moment<'_>, &mut Vec<u8>) -> Result<(), SmError>;

/// How a model is told.
#[derive(Clone, Copy)]
pub(crate) enum Tells {
    /// By what the cell counts, periodically.
    Statistics(Fill),
    /// By what is asked for, and what became of the counters meanwhile ([`MeasuredCell`]).
    Measurements,
    /// As things happen at a radio ([`Steered`](crate::radio::Steered)); without one there is nothing to tell.
    Mobility,
    /// What a radio is made of ([`Configured`](crate::radio::Configured)), at gNBs.
    Configuration,
    /// What passes at a gNB's interfaces when a radio's UEs come and go ([`Watched`](crate::radio::Watched)).
    Interfaces,
}

/// A cell at a moment, as one controller may see it.
pub(crate) struct Moment<'a> {
    cell: CellFacts,
    /// Those of its UEs that the controller may see.
    ues: Vec<&'a dyn UeFacts>,
    /// Microseconds since the Unix epoch.
    tstamp_us: i64,
}

/// A name that is none of those allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {given:?} is not one of {allowed}")]
pub struct UnknownName {
    pub(crate) what: &'static str,
    pub(crate) given: String,
    pub(crate) allowed: String,
}

/// What is told of a cell itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellFacts {
    pub(crate) cell_id: u16,
    pub(crate) prbs: u16,
    /// PRBs of a direction since the start.
    pub(crate) prbs_offered: u64,
    pub(crate) frame: u16,
    pub(crate) slot: u16,
}

impl CellFacts {
    /// Of a cell of the user-plane model, at a slot.
    pub(crate) fn of(cell_id: u16, carrier: &Carrier, slot: u64, prbs_offered: u64) -> Self {
        // A radio frame is 10 ms.
        let slots = 10_000 / carrier.slot_us();
        let (frame, slot) = ((slot / slots % 1024) as u16, (slot % slots) as u16);
        Self { cell_id, prbs: carrier.prbs, prbs_offered, frame, slot }
    }
}

impl From<&Cell> for CellFacts {
    fn from(cell: &Cell) -> Self {
        let (cell_id, prbs) = (cell.config().cell_id, cell.config().prbs);
        Self { cell_id, prbs, prbs_offered: cell.prbs_offered(), frame: cell.frame(), slot: cell.slot() }
    }
}

/// What is told of a UE, whichever cell it is in.
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

impl Moment<'_> {
    /// An indication message with an element for each UE, made on the fly.
    fn list<E: Element>(
        &self,
        encoding: Encoding,
        out: &mut Vec<u8>,
        of: impl Fn(&dyn UeFacts) -> E,
    ) -> Result<(), SmError> {
        self.encode(encoding, out, self.ues.iter().map(|ue| of(*ue)))
    }

    /// An indication message with these elements.
    fn encode<E: Element>(
        &self,
        encoding: Encoding,
        out: &mut Vec<u8>,
        elements: impl ExactSizeIterator<Item = E>,
    ) -> Result<(), SmError> {
        list::encode(encoding, out, elements, self.tstamp_us)
    }
}

impl Source {
    /// The source of a model; `None` if cells tell nothing of it.
    pub fn of(model: &dyn Model) -> Option<&'static Self> {
        SOURCES.iter().find(|source| source.model.oid() == model.oid())
    }
}

impl FromStr for &'static Source {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = SOURCES.iter().find(|source| source.model.name() == text);
        let allowed = || SOURCES.iter().map(|source| source.model.name()).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| UnknownName { what: "service model", given: text.to_owned(), allowed: allowed() })
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.model).finish()
    }
}

/// A cell that several RAN functions of one node report about.
pub type SharedCell = Arc<Mutex<Cell>>;

/// Where the statistics of a node are made.
#[derive(Clone)]
pub enum Told {
    /// By the light generator, which is advanced when somebody asks.
    Cell(SharedCell),
    /// By a radio, which is driven in real time.
    Radio(SharedRadio),
    /// By a radio in coarse steps, which is advanced when somebody asks.
    Fluid(SharedFluid),
    /// By the radios of several DUs: about the UEs of all of them.
    Site(SharedSite),
}

impl Told {
    /// The base station whose radios these are; `None` without a radio that is driven.
    pub fn site(&self) -> Option<SharedSite> {
        match self {
            Self::Radio(radio) => Some(Site::new(vec![Arc::clone(radio)])),
            Self::Site(site) => Some(Arc::clone(site)),
            Self::Cell(_) | Self::Fluid(_) => None,
        }
    }

    /// Its UEs now, as agents number them.
    pub fn ues(&self) -> Vec<UeId> {
        let of = |rnti: u16| UeId(u64::from(rnti));
        // A panic elsewhere leaves a cell that is still a cell.
        match self {
            Self::Cell(cell) => {
                let cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
                cell.ues().iter().map(|ue| of(ue.identity().rnti)).collect()
            }
            Self::Radio(radio) => {
                let radio = radio.lock().unwrap_or_else(PoisonError::into_inner);
                radio.rntis().values().copied().map(of).collect()
            }
            Self::Fluid(radio) => {
                let radio = radio.lock().unwrap_or_else(PoisonError::into_inner);
                radio.cell().reports().map(|ue| of(ue.identity.rnti)).collect()
            }
            Self::Site(site) => site.ues(),
        }
    }
}

/// A statistics source over a cell.
pub struct CellStats {
    /// The cell.
    pub cell: Told,
    /// What is reported.
    pub(crate) fill: Fill,
    /// How.
    pub encoding: Encoding,
    /// Microseconds since the Unix epoch at [`Time::ZERO`]: payloads carry the time of day.
    pub epoch_us: i64,
    /// Hears how late each report was.
    pub lateness: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl StatsSource for CellStats {
    fn fill(&mut self, now: Time, ues: UeFilter<'_>, out: &mut Vec<u8>) {
        let now_us = now.as_nanos() / 1_000;
        let tstamp_us = self.epoch_us.saturating_add(i64::try_from(now_us).unwrap_or(i64::MAX));
        let all = ues.is_all();
        let sees = |ue: UeIdentity| all || ues.contains(ue_id(ue));
        // A panic elsewhere leaves a cell that is still a cell.
        let encoded = match &self.cell {
            Told::Cell(cell) => {
                let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
                cell.advance(now_us);
                let seen = cell.ues().iter().filter(|ue| sees(ue.identity()));
                let ues = seen.map(|ue| ue as &dyn UeFacts).collect();
                let moment = Moment { cell: CellFacts::from(&*cell), ues, tstamp_us };
                (self.fill)(self.encoding, &moment, out)
            }
            Told::Radio(radio) => {
                let radio = radio.lock().unwrap_or_else(PoisonError::into_inner);
                let reports: Vec<_> = radio.cell().reports().filter(|ue| sees(ue.identity)).collect();
                let ues = reports.iter().map(|ue| ue as &dyn UeFacts).collect();
                (self.fill)(self.encoding, &Moment { cell: radio.facts(), ues, tstamp_us }, out)
            }
            Told::Site(site) => {
                let mut reports = site.reports();
                reports.retain(|ue| sees(ue.identity));
                let ues = reports.iter().map(|ue| ue as &dyn UeFacts).collect();
                (self.fill)(self.encoding, &Moment { cell: site.facts(), ues, tstamp_us }, out)
            }
            Told::Fluid(radio) => {
                let mut radio = radio.lock().unwrap_or_else(PoisonError::into_inner);
                let mut reports = radio.reports(now);
                reports.retain(|ue| sees(ue.identity));
                let ues = reports.iter().map(|ue| ue as &dyn UeFacts).collect();
                (self.fill)(self.encoding, &Moment { cell: radio.facts(), ues, tstamp_us }, out)
            }
        };
        // A cell holds at most 65,519 UEs, so the count always fits; the encoding is one of the model's.
        debug_assert!(encoded.is_ok(), "{encoded:?}");
    }

    fn reported(&mut self, lateness: Duration) {
        (self.lateness)(lateness);
    }
}

/// A UE's number in the agent: its RNTI.
pub fn ue_id(ue: UeIdentity) -> UeId {
    UeId(u64::from(ue.rnti))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use ranlab_radio::CellConfig;
    use ranlab_sdk::wire::e2sm::plain::INDICATION_HEADER;
    use ranlab_sdk::wire::e2sm::{MODELS, RowKey, hw::Hw};
    use std::collections::BTreeSet;

    /// Models that are no cell's statistics: HW, and those that are controlled.
    const OTHERS: [&str; 4] = ["hw", "rrc", "slice", "traffic"];

    /// Of each model that is a cell's to tell, the octets that an agent sends are about every UE, or about the node.
    #[test]
    fn every_model_of_statistics_is_told_and_its_table_names_every_ue() {
        let told: Vec<_> = SOURCES.iter().map(|source| source.model.name()).collect();
        let models: Vec<_> =
            MODELS.iter().map(|model| model.name()).filter(|name| !OTHERS.contains(name)).collect();
        assert_eq!(told, models);
        assert!(Source::of(&Hw).is_none());
        for source in SOURCES {
            let mut cell = Cell::new(CellConfig { ues: 5, ..CellConfig::default() }).unwrap();
            cell.advance(3_000_000);
            let ues: Vec<_> = cell.ues().iter().map(|ue| ue as &dyn UeFacts).collect();
            let rntis: BTreeSet<_> = ues.iter().map(|ue| u32::from(ue.identity().rnti)).collect();
            let moment = Moment { cell: (&cell).into(), ues, tstamp_us: 42 };
            let mut out = Vec::new();
            let Tells::Statistics(fill) = source.tells else { continue };
            fill(source.model.encoding(), &moment, &mut out).unwrap();
            let header = Bytes::from_static(&INDICATION_HEADER);
            let table = source.model.table(source.model.encoding(), &header, &out.into()).unwrap();
            for &encoding in source.model.encodings() {
                let mut out = Vec::new();
                fill(encoding, &moment, &mut out).unwrap();
                assert_eq!(source.model.table(encoding, &header, &out.into()).unwrap(), table);
            }
            let named: BTreeSet<_> = table.rows().filter_map(|(key, _)| key.ue()).collect();
            let of_node = table.rows().all(|(key, _)| key == RowKey::Node);
            assert!(named == rntis || (of_node && !table.is_empty()), "{}: {named:?}", source.model);
            assert_eq!(table.tstamp_us, Some(42), "{}", source.model);
        }
    }
}
