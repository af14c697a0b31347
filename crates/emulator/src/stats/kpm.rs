//! KPM: counters of a cell, from which the function makes measurements.
use super::{CellFacts, Source, Tells, Told, UeFacts};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::functions::kpm::{KpmSource, Reading, UeReading};
use ranlab_sdk::wire::e2ap::{EnbId, Plmn};
use ranlab_sdk::wire::e2sm::common::*;
use ranlab_sdk::wire::e2sm::kpm::{DEFAULT_SLICE, Kpm};
use ranlab_sdk::wire::per::ShortBits;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

pub(super) const SOURCE: Source = Source { model: &Kpm, tells: Tells::Measurements };

/// What a node calls its UEs, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// A gNB, or its CU-CP.
    Gnb,
    /// A gNB-DU.
    GnbDu,
    /// An ng-eNB.
    NgEnb,
    /// An eNB.
    Enb,
}

impl Names {
    /// What such a node of a network calls a UE, by its number.
    pub(crate) fn name(self, plmn: Plmn, number: u32) -> UeId {
        let amf_ue_ngap_id = number.into();
        let guami = Guami { plmn, region: 1, set: 1, pointer: 0 };
        match self {
            Self::Gnb => UeId::Gnb(GnbUe {
                amf_ue_ngap_id,
                guami,
                f1ap_ids: Some(vec![F1apId { id: number }]),
                e1ap_ids: None,
                ran_ue_id: Some(u64::from(number).to_be_bytes()),
                xnap_id: None,
                gnb: None,
                node: None,
            }),
            Self::GnbDu => UeId::du(number),
            Self::NgEnb => UeId::NgEnb(NgEnbUe {
                amf_ue_ngap_id,
                guami,
                w1ap_id: Some(number),
                xnap_id: None,
                ng_enb: None,
                node: None,
            }),
            Self::Enb => UeId::Enb(EnbUe {
                s1ap_id: number,
                gummei: Gummei { plmn, group: [0, 1], code: [1] },
                x2ap_id: None,
                x2ap_id_extension: None,
                enb: Some(GlobalEnb { plmn, enb: EnbId::Macro(ShortBits::new(1, 20)) }),
            }),
        }
    }
}

/// A cell behind the function.
pub struct MeasuredCell {
    /// The cell.
    pub cell: Told,
    /// What kind of node it is of.
    pub names: Names,
    /// Its network.
    pub plmn: Plmn,
    /// Microseconds since the Unix epoch at [`Time::ZERO`].
    pub epoch_us: i64,
    /// Hears how late each report was.
    pub lateness: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl KpmSource for MeasuredCell {
    fn read(&mut self, now: Time) -> Reading {
        let at_us = now.as_nanos() / 1_000;
        // A panic elsewhere leaves a cell that is still a cell.
        match &self.cell {
            Told::Cell(cell) => {
                let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
                cell.advance(at_us);
                let ues = cell.ues().iter().map(|ue| counters(ue, vec![DEFAULT_SLICE])).collect();
                reading(at_us, CellFacts::from(&*cell), ues)
            }
            Told::Radio(radio) => {
                let radio = radio.lock().unwrap_or_else(PoisonError::into_inner);
                let slices = radio.slices();
                let of = |rnti| slices.get(&rnti).filter(|it| !it.is_empty()).cloned();
                let slices = |rnti| of(rnti).unwrap_or_else(|| vec![DEFAULT_SLICE]);
                let ues = radio.cell().reports().map(|ue| counters(&ue, slices(ue.identity.rnti))).collect();
                reading(at_us, radio.facts(), ues)
            }
            Told::Site(site) => {
                let slices = site.slices();
                let of = |rnti| slices.get(&rnti).filter(|it| !it.is_empty()).cloned();
                let slices = |rnti| of(rnti).unwrap_or_else(|| vec![DEFAULT_SLICE]);
                let ues = site.reports();
                let ues = ues.iter().map(|ue| counters(ue, slices(ue.identity.rnti))).collect();
                reading(at_us, site.facts(), ues)
            }
            Told::Fluid(radio) => {
                let mut radio = radio.lock().unwrap_or_else(PoisonError::into_inner);
                let ues = radio.reports(now);
                let ues = ues.iter().map(|ue| counters(ue, vec![DEFAULT_SLICE])).collect();
                reading(at_us, radio.facts(), ues)
            }
        }
    }

    fn name(&self, number: u32) -> UeId {
        self.names.name(self.plmn, number)
    }

    fn tstamp_us(&self, now: Time) -> i64 {
        self.epoch_us.saturating_add(i64::try_from(now.as_nanos() / 1_000).unwrap_or(i64::MAX))
    }

    fn reported(&mut self, lateness: Duration) {
        (self.lateness)(lateness);
    }
}

fn counters(ue: &dyn UeFacts, slices: Vec<Snssai>) -> (u32, UeReading) {
    let (dl, ul, pdcp) = (ue.dl(), ue.ul(), ue.pdcp());
    let reading = UeReading {
        slices,
        delivered_bytes: [dl.rlc_sdu_bytes_out, ul.rlc_sdu_bytes_out],
        pdcp_sdu_bytes: [pdcp.tx_sdu_bytes, pdcp.rx_sdu_bytes],
        prbs: [dl.prbs, ul.prbs],
        rlc_delay_us: dl.time_to_tx_us_q4 as f64 / 16.0,
    };
    (ue.identity().rnti.into(), reading)
}

fn reading(at_us: u64, cell: CellFacts, ues: BTreeMap<u32, UeReading>) -> Reading {
    Reading { at_us, prbs: cell.prbs, prbs_offered: cell.prbs_offered, ues }
}
