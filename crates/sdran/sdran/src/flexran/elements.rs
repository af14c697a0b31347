//! Support of each information element of a controller's messages.
use super::protocol::*;

ranlab_machine::elements! {
    enum Message = "message" {
        Hello within;
        EchoRequest within;
        EchoReply refused;
        StatsRequest within;
        StatsReply refused;
        SfTrigger refused;
        UlSrInfo refused;
        EnbConfigRequest within;
        EnbConfigReply within;
        UeConfigRequest within;
        UeConfigReply within;
        LcConfigRequest within;
        LcConfigReply refused;
        DlMacConfig within;
        UeStateChange refused;
        ControlDelegation within;
        AgentReconfiguration within;
        RrcTriggering refused;
        UlMacConfig refused;
        Disconnect refused;
        HoCommand within;
        ControlDelegationRequest refused;
    }
    enum StatsRequestBody = "StatsRequest.body" {
        Complete within;
        Cell within;
        Ue within;
    }
    struct Header = "header" {
        version ignored;
        kind ignored;
        xid acted;
    }
    struct Hello = "Hello" {
        header within;
        bs_id ignored;
        capabilities ignored;
        splits ignored;
    }
    struct EchoRequest = "EchoRequest" {
        header within;
        latency acted;
        payload acted;
    }
    struct EnbConfigRequest = "EnbConfigRequest" {
        header within;
    }
    struct UeConfigRequest = "UeConfigRequest" {
        header within;
    }
    struct LcConfigRequest = "LcConfigRequest" {
        header within;
    }
    struct StatsRequest = "StatsRequest" {
        header within;
        kind ignored;
        body within;
    }
    struct CompleteStatsRequest = "CompleteStatsRequest" {
        report_frequency acted;
        sf acted;
        cell_report_flags acted;
        ue_report_flags acted;
        cell_reports ignored;
        ue_reports ignored;
    }
    struct CellStatsRequest = "CellStatsRequest" {
        cell acted;
        flags acted;
    }
    struct UeStatsRequest = "UeStatsRequest" {
        rnti acted;
        flags acted;
    }
    struct DlMacConfig = "DlMacConfig" {
        header within;
        sfn_sf acted;
        dl_ue_data within;
        dl_rar refused;
        dl_broadcast refused;
        ofdm_sym ignored;
    }
    struct DlData = "DlData" {
        rnti acted;
        dl_dci within;
        ce_bitmap ignored;
        rlc_pdu ignored;
        serv_cell_index ignored;
        act_deact_ce refused;
    }
    struct DlDci = "DlDci" {
        rnti ignored;
        res_alloc ignored;
        rb_bitmap acted;
        rb_shift ignored;
        tbs_size ignored;
        mcs acted;
        ndi ignored;
        rv ignored;
        cce_index ignored;
        aggr_level ignored;
        precoding_info ignored;
        format ignored;
        tpc ignored;
        harq_process ignored;
        dai ignored;
        vrb_format ignored;
        tb_swap ignored;
        sps_release ignored;
        pdcch_order ignored;
        preamble_index ignored;
        prach_mask_index ignored;
        n_gap ignored;
        tbs_idx ignored;
        dl_power_offset ignored;
        pdcch_power_offset ignored;
        cif_present ignored;
        cif ignored;
    }
    struct ControlDelegation = "ControlDelegation" {
        header within;
        delegation_type ignored;
        payload acted;
        name acted;
    }
    struct AgentReconfiguration = "AgentReconfiguration" {
        header within;
        policy acted;
        systems within;
    }
    struct AgentReconfigurationSystem = "AgentReconfigurationSystem" {
        system acted;
        subsystems within;
    }
    struct AgentReconfigurationSubsystem = "AgentReconfigurationSubsystem" {
        name acted;
        behavior acted;
        params refused;
    }
    struct HoCommand = "HoCommand" {
        header within;
        rnti acted;
        target_phy_cell_id acted;
    }
    struct EnbConfigReply = "EnbConfigReply" {
        header within;
        enb_id ignored;
        cell_config within;
        device_spec ignored;
        s1ap refused;
        loaded_apps refused;
        loaded_mac_objects refused;
    }
    struct CellConfig = "CellConfig" {
        phy_cell_id ignored;
        cell_id ignored;
        pusch_hopping_offset refused;
        hopping_mode refused;
        n_sb refused;
        phich_resource refused;
        phich_duration refused;
        init_nr_pdcch_ofdm_sym refused;
        si_config refused;
        dl_bandwidth refused;
        ul_bandwidth refused;
        ul_cyclic_prefix_length refused;
        dl_cyclic_prefix_length refused;
        antenna_ports_count refused;
        duplex_mode refused;
        subframe_assignment refused;
        special_subframe_patterns refused;
        mbsfn_subframe_config_rfperiod refused;
        mbsfn_subframe_config_rfoffset refused;
        mbsfn_subframe_config_sfalloc refused;
        prach_config_index refused;
        prach_freq_offset refused;
        ra_response_window_size refused;
        mac_contention_resolution_timer refused;
        max_harq_msg3tx refused;
        n1_pucch_an refused;
        delta_pucch_shift refused;
        n_rb_cqi refused;
        srs_subframe_config refused;
        srs_bw_config refused;
        srs_mac_up_pts refused;
        enable_64qam refused;
        carrier_index ignored;
        dl_freq refused;
        ul_freq refused;
        eutra_band refused;
        dl_pdsch_power refused;
        ul_pusch_power refused;
        plmn_id refused;
        slice_config within;
        x2_ho_net_control acted;
    }
    struct SliceConfig = "SliceConfig" {
        dl within;
        ul within;
    }
    struct SliceDlUlConfig = "SliceDlUlConfig" {
        algorithm acted;
        slices within;
        scheduler acted;
    }
    struct Slice = "Slice" {
        id acted;
        label acted;
        scheduler acted;
        params acted;
    }
    struct UeConfigReply = "UeConfigReply" {
        header within;
        ue_config within;
    }
    struct UeConfig = "UeConfig" {
        rnti acted;
        drx_config refused;
        time_alignment_timer refused;
        meas_gap_config_pattern refused;
        meas_gap_config_sf_offset refused;
        sps_config refused;
        sr_config refused;
        cqi_config refused;
        transmission_mode refused;
        ue_aggregated_max_bitrate_ul refused;
        ue_aggregated_max_bitrate_dl refused;
        capabilities refused;
        ue_transmission_antenna refused;
        tti_bundling refused;
        max_harq_tx refused;
        beta_offset_ack_index refused;
        beta_offset_ri_index refused;
        beta_offset_cqi_index refused;
        ack_nack_simultaneous_trans refused;
        simultaneous_ack_nack_cqi refused;
        aperiodic_cqi_rep_mode refused;
        tdd_ack_nack_feedback refused;
        ack_nack_repetition_factor refused;
        extended_bsr_size refused;
        ca_support refused;
        cross_carrier_sched_support refused;
        pcell_carrier_index refused;
        scell_config refused;
        scell_deactivation_timer refused;
        imsi ignored;
        dl_slice_id acted;
        ul_slice_id acted;
        info refused;
    }
}

impl Message {
    /// Returns the header of the message, if it has one.
    pub(super) fn header(&self) -> Option<&Header> {
        match self {
            Self::Hello(it) => it.header.as_ref(),
            Self::StatsRequest(it) => it.header.as_ref(),
            Self::DlMacConfig(it) => it.header.as_ref(),
            Self::UlMacConfig(it) => it.header.as_ref(),
            Self::RrcTriggering(it) => it.header.as_ref(),
            Self::ControlDelegation(it) => it.header.as_ref(),
            Self::ControlDelegationRequest(it) => it.header.as_ref(),
            Self::AgentReconfiguration(it) => it.header.as_ref(),
            Self::EnbConfigReply(it) => it.header.as_ref(),
            Self::UeConfigReply(it) => it.header.as_ref(),
            Self::HoCommand(it) => it.header.as_ref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_element_is_named() {
        let params = [("size".to_owned(), AgentReconfigurationParam::default())].into();
        let subsystems = vec![AgentReconfigurationSubsystem { params, ..Default::default() }];
        let systems = vec![AgentReconfigurationSystem { subsystems, ..Default::default() }];
        let refused = |message: Message| message.refused().map(ToString::to_string);
        let change = AgentReconfiguration { systems, ..Default::default() };
        assert_eq!(refused(change.into()).as_deref(), Some("params of AgentReconfigurationSubsystem"));
        let cell_config = vec![CellConfig { dl_bandwidth: Some(25), ..Default::default() }];
        let cell = EnbConfigReply { cell_config, ..Default::default() };
        assert_eq!(refused(cell.into()).as_deref(), Some("dl_bandwidth of CellConfig"));
        assert_eq!(refused(UlMacConfig::default().into()).as_deref(), Some("UlMacConfig of message"));
        assert_eq!(refused(DlMacConfig::default().into()), None);
    }
}
