//! KPM: counters of a cell, from which the RAN function computes measurements.
use super::{CellFacts, CellSource, UeFacts};
use ranlab_e2::Time;
use ranlab_e2::functions::kpm::{Channel, KpmSource, Reading, Station, UeReading};
use ranlab_e2_codec::e2ap::{EnbId, Plmn};
use ranlab_e2_codec::e2sm::common::*;
use ranlab_e2_codec::e2sm::kpm::DEFAULT_SLICE;
use ranlab_e2_codec::per::ShortBits;
use ranlab_machine::lock;
use ranlab_radio::user_plane::UeReport;
use std::sync::Arc;
use std::time::Duration;

/// Type of a node's UE identifiers, which depends on the type of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UeIdType {
    /// Identifier of a UE at a gNB or at its CU-CP.
    Gnb,
    /// Identifier of a UE at a gNB-DU.
    GnbDu,
    /// Identifier of a UE at an ng-eNB.
    NgEnb,
    /// Identifier of a UE at an eNB.
    Enb,
}

impl UeIdType {
    /// Returns the identifier of a UE, given its number and the network.
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

/// Data of a cell from which KPM computes measurements.
pub struct MeasuredCell {
    /// Source of the cell's counters.
    pub cell: CellSource,
    /// Type of the node's UE identifiers.
    pub names: UeIdType,
    /// Network of the node.
    pub plmn: Plmn,
    /// Identity of the cell, if the node has exactly one.
    pub cell_id: Option<Cgi>,
    /// Time of day at [`Time::ZERO`], in microseconds since the Unix epoch.
    pub epoch_us: i64,
    /// Callback that receives the send delay of each report.
    pub lateness: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl KpmSource for MeasuredCell {
    fn read(&mut self, now: Time, reading: &mut Reading) {
        reading.at_us = now.as_nanos() / 1_000;
        let cell = match &self.cell {
            CellSource::Cell(cell) => {
                let mut cell = lock(cell);
                cell.advance(reading.at_us);
                reading.ues.extend(cell.ues().iter().map(|ue| counters(ue, None)));
                CellFacts::from(&*cell)
            }
            CellSource::Radio(radio) => {
                let radio = lock(radio);
                let slices = radio.slices();
                let of = |ue: UeReport| counters(&ue, slices.get(&ue.identity.rnti));
                reading.ues.extend(radio.cell().reports().map(of));
                radio.facts()
            }
            CellSource::Site(site) => {
                let slices = site.slices();
                let of = |ue: UeReport| counters(&ue, slices.get(&ue.identity.rnti));
                reading.ues.extend(site.reports().into_iter().map(of));
                site.facts()
            }
            CellSource::Fluid(radio) => {
                let mut radio = lock(radio);
                reading.ues.extend(radio.reports(now).iter().map(|ue| counters(ue, None)));
                radio.facts()
            }
        };
        (reading.prbs, reading.prbs_offered) = (cell.prbs, cell.prbs_offered);
    }

    fn name(&self, number: u32) -> UeId {
        self.names.name(self.plmn, number)
    }

    fn tstamp_us(&self, now: Time) -> i64 {
        self.epoch_us.saturating_add(i64::try_from(now.as_nanos() / 1_000).unwrap_or(i64::MAX))
    }

    fn station(&self) -> Station {
        Station { cell: self.cell_id, plmn: Some(self.plmn), has_channel: true }
    }

    fn reported(&mut self, lateness: Duration) {
        (self.lateness)(lateness);
    }
}

/// Returns the counters of a UE. A UE without slices counts for [`DEFAULT_SLICE`].
fn counters(ue: &dyn UeFacts, slices: Option<&Vec<Snssai>>) -> UeReading {
    let dl = ue.dl();
    let ul = ue.ul();
    let pdcp = ue.pdcp();
    let own = slices.filter(|it| !it.is_empty());
    UeReading {
        number: ue.identity().rnti.into(),
        slices: own.map_or(&[DEFAULT_SLICE][..], Vec::as_slice).iter().copied().collect(),
        delivered_bytes: [dl.rlc_sdu_bytes_out, ul.rlc_sdu_bytes_out],
        pdcp_sdu_bytes: [pdcp.tx_sdu_bytes, pdcp.rx_sdu_bytes],
        prbs: [dl.prbs, ul.prbs],
        rlc_delay_us: dl.time_to_tx_us_q4 as f64 / 16.0,
        rlc_delay_ul_us: ul.time_to_tx_us_q4 as f64 / 16.0,
        rlc_sdus: [dl.rlc_sdus_in, dl.rlc_dropped_sdus],
        channel: Some(Channel { cqi: ue.radio().wb_cqi, snr_db: ue.radio().pusch_snr.db().into() }),
    }
}
