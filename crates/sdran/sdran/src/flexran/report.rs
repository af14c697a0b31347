//! Reports of an agent about a cell and its UEs.
use crate::agent::{Radio, Ue};
use crate::flexran::protocol::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};

/// Logical channels of a UE: two for signalling and one for data.
const LOGICAL_CHANNELS: std::ops::RangeInclusive<u32> = 1..=3;
/// Nominal PUCCH power of MARC's cells.
const P0_PUCCH_DBM: i32 = -104;

/// Returns the statistics of one UE with the elements in `flags`. With `UeFlags::PUBLISHED`, they have 90 bytes.
pub(super) fn ue_report(rnti: u16, radio: &Radio, flags: u32, sfn_sf: u32, mosaic: bool) -> UeStatsReport {
    let wants = |flag: u32| flags & flag != 0;
    let mut report =
        UeStatsReport { rnti: Some(rnti.into()), flags: Some(flags), ..UeStatsReport::default() };
    if wants(UeFlags::BSR) {
        report.bsr = vec![radio.bsr.into()];
    }
    report.phr = wants(UeFlags::PHR).then(|| u32::try_from(radio.headroom_db.max(0)).unwrap_or(0));
    if wants(UeFlags::RLC) {
        report.rlc_report = LOGICAL_CHANNELS.map(|lc| queue(lc, radio)).collect();
    }
    report.pending_mac_ces = wants(UeFlags::MAC_CE).then_some(1);
    report.dl_cqi_report = wants(UeFlags::DL_CQI).then(|| DlCqiReport {
        sfn_sn: Some(sfn_sf),
        csi_report: vec![DlCsi {
            serv_cell_index: Some(0),
            ri: Some(radio.rank.into()),
            kind: Some(0),
            report: Some(Csi::P10(CsiP10 { wb_cqi: Some(radio.cqi.into()) })),
        }],
    });
    report.ul_cqi_report = wants(UeFlags::UL_CQI).then(|| UlCqiReport {
        sfn_sn: Some(sfn_sf),
        cqi_meas: vec![UlCqi {
            kind: Some(UlCqiType::Srs.into()),
            sinr: vec![u32::try_from(radio.sinr_db.max(0)).unwrap_or(0)],
            serv_cell_index: Some(0),
        }],
        pucch_dbm: vec![PucchDbm {
            p0_pucch_dbm: Some(P0_PUCCH_DBM),
            serv_cell_index: Some(0),
            p0_pucch_updated: Some(0),
        }],
    });
    if mosaic {
        report.mac_stats = wants(UeFlags::MAC_STATS)
            .then(|| MacStats { prb_dl: Some(radio.prbs.into()), ..MacStats::default() });
        report.rrc_measurements = wants(UeFlags::RRC_MEASUREMENTS).then(|| RrcMeasurements {
            meas_id: Some(1),
            pcell_rsrp: Some(radio.rsrp_dbm.into()),
            pcell_rsrq: Some(radio.rsrq_db.into()),
            neigh_meas: None,
        });
    }
    report
}

fn queue(lc: u32, radio: &Radio) -> RlcBsr {
    // The last channel is the data bearer.
    let data = lc == *LOGICAL_CHANNELS.end();
    RlcBsr {
        lc_id: Some(lc),
        tx_queue_size: Some(if data { radio.queue_bytes } else { 0 }),
        tx_queue_hol_delay: Some(if data { radio.queue_ms } else { 0 }),
        status_pdu_size: Some(0),
        ..RlcBsr::default()
    }
}

/// Returns the statistics of the cell, or `None` if noise was not requested.
pub(super) fn cell_report(flags: u32, sfn_sf: u32) -> Option<CellStatsReport> {
    (flags & CellFlags::NOISE != 0).then_some(CellStatsReport {
        carrier_index: Some(0),
        flags: Some(CellFlags::NOISE),
        noise_inter_report: Some(NoiseInterferenceReport {
            sfn_sf: Some(sfn_sf),
            rip: Some(0),
            tnp: Some(0),
            p0_nominal_pucch: Some(P0_PUCCH_DBM),
        }),
    })
}

/// Returns the logical channels of a UE.
pub(super) fn logical_channels(rnti: u16) -> LcUeConfig {
    let channel = |lcid| LcConfig {
        lcid: Some(lcid),
        direction: Some(LcDirection::Both.into()),
        qos_bearer_type: Some(0),
        qci: Some(1),
        ..LcConfig::default()
    };
    LcUeConfig { rnti: Some(rnti.into()), lc_config: LOGICAL_CHANNELS.map(channel).collect() }
}

/// Returns the configuration of a UE, as announced by OpenAirInterface.
pub(super) fn ue_config(rnti: u16, ue: &Ue, mosaic: bool) -> UeConfig {
    UeConfig {
        rnti: Some(rnti.into()),
        transmission_mode: Some(0),
        ue_aggregated_max_bitrate_ul: Some(0),
        ue_aggregated_max_bitrate_dl: Some(0),
        ue_transmission_antenna: Some(2),
        beta_offset_ack_index: Some(0),
        beta_offset_ri_index: Some(0),
        beta_offset_cqi_index: Some(8),
        ack_nack_simultaneous_trans: Some(0),
        simultaneous_ack_nack_cqi: Some(0),
        aperiodic_cqi_rep_mode: Some(3),
        ack_nack_repetition_factor: Some(0),
        pcell_carrier_index: Some(0),
        imsi: mosaic.then_some(ue.imsi),
        ..UeConfig::default()
    }
}

/// Returns the configuration of an FDD cell in band 7 with `prbs` resource blocks. The cells of MARC, which have 10 MHz, are such cells.
pub(super) fn cell_config(pci: u16, prbs: u16) -> CellConfig {
    CellConfig {
        phy_cell_id: Some(pci.into()),
        cell_id: Some(0),
        pusch_hopping_offset: Some(0),
        hopping_mode: Some(0),
        n_sb: Some(0),
        phich_resource: Some(0),
        phich_duration: Some(0),
        dl_bandwidth: Some(prbs.into()),
        ul_bandwidth: Some(prbs.into()),
        ul_cyclic_prefix_length: Some(0),
        dl_cyclic_prefix_length: Some(0),
        antenna_ports_count: Some(1),
        duplex_mode: Some(1),
        prach_config_index: Some(0),
        prach_freq_offset: Some(2),
        ra_response_window_size: Some(7),
        mac_contention_resolution_timer: Some(5),
        max_harq_msg3tx: Some(0),
        n1_pucch_an: Some(0),
        delta_pucch_shift: Some(1),
        n_rb_cqi: Some(0),
        srs_subframe_config: Some(0),
        srs_bw_config: Some(0),
        srs_mac_up_pts: Some(0),
        enable_64qam: Some(0),
        carrier_index: Some(0),
        dl_freq: Some(2685),
        ul_freq: Some(2565),
        eutra_band: Some(7),
        dl_pdsch_power: Some(-27),
        ul_pusch_power: Some(-96),
        ..CellConfig::default()
    }
}

/// Returns the policy for the downlink scheduler in a reconfiguration message. The message contains it as text, or in the form that
/// Mosaic5G 2.x parses.
pub(super) fn policy_of(change: &AgentReconfiguration) -> Result<Policy, Refusal> {
    let mut policy = match &change.policy {
        Some(text) => {
            text.parse().map_err(|error: PolicyError| Refusal::new(Reason::Invalid, error.to_string()))?
        }
        None => Policy::default(),
    };
    for system in &change.systems {
        for subsystem in &system.subsystems {
            let names = [system.system.as_deref(), subsystem.name.as_deref()];
            if names != [Some("mac"), Some("dl_scheduler")] {
                let what = "only the behaviour of dl_scheduler of mac can be changed";
                return Err(Refusal::new(Reason::NotSupported, what));
            }
            policy.behavior = subsystem.behavior.clone().or(policy.behavior);
        }
    }
    Ok(policy)
}
