//! Configuration of base station, cells, UEs, logical channels, slices and measurements.

messages! {
    /// Scheduling of system information.
    SiConfig {
        sfn = 1 optional uint32, "System frame number from which the configuration applies.";
        sib1_length = 2 optional uint32, "Length of SIB1, bytes.";
        si_window_length = 3 optional uint32, "Scheduling window of all SI messages, subframes.";
        si_message = 4 repeated message SiMessage, "SI messages to send.";
    }
    /// One system information message.
    SiMessage {
        periodicity = 1 optional uint32, "Period, radio frames.";
        length = 2 optional uint32, "Length, bytes.";
    }
    /// Configuration of discontinuous reception (DRX).
    DrxConfig {
        on_duration_timer = 1 optional uint32, "`onDurationTimer` (TS 36.321).";
        drx_inactivity_timer = 2 optional uint32, "`drx-InactivityTimer` (TS 36.321).";
        drx_retransmission_timer = 3 optional uint32, "`drx-RetransmissionTimer` (TS 36.321).";
        long_drx_cycle = 4 optional uint32, "Long DRX cycle, subframes.";
        long_drx_cycle_start_offset = 5 optional uint32, "Start offset of the long DRX cycle, subframes.";
        short_drx_cycle = 6 optional uint32, "Short DRX cycle, subframes.";
        drx_short_cycle_timer = 7 optional uint32, "`drxShortCycleTimer` (TS 36.321).";
    }
    /// Configuration of semi-persistent scheduling (SPS).
    SpsConfig {
        semi_persistent_sched_interval_ul = 1 optional uint32, "Uplink scheduling interval.";
        semi_persistent_sched_interval_dl = 2 optional uint32, "Downlink scheduling interval.";
        num_of_conf_sps_proc = 3 optional uint32, "Number of configured processes.";
        n1_pucch_an_persistent_element = 4 unpacked uint32, "PUCCH resources for ACK/NACK (`n1PUCCH-AN-PersistentList`).";
        implicit_release_after = 5 optional uint32, "Number of empty transmissions before the release.";
    }
    /// Configuration of scheduling requests (SR).
    SrConfig {
        sr_action = 1 optional uint32, "Setup or release.";
        sched_interval = 2 optional uint32, "Scheduling interval, subframes.";
        dsr_trans_max = 3 optional uint32, "Maximum number of transmissions (`dsr-TransMax`).";
    }
    /// Configuration of CQI reports.
    CqiConfig {
        cqi_action = 1 optional uint32, "Setup or release.";
        cqi_sched_interval = 2 optional uint32, "CQI interval, subframes.";
        ri_sched_interval = 3 optional uint32, "RI interval, subframes.";
    }
    /// Capabilities of a UE.
    UeCapabilities {
        half_duplex = 1 optional uint32, "Whether the UE supports only half duplex.";
        intra_sf_hopping = 2 optional uint32, "Whether the UE supports intra-subframe hopping.";
        type2_sb_1 = 3 optional uint32, "Whether the UE supports type 2 hopping with more than one subband.";
        ue_category = 4 optional uint32, "UE category.";
        res_alloc_type1 = 5 optional uint32, "Whether the UE supports resource allocation type 1.";
    }
    /// A secondary cell of a UE.
    ScellConfig {
        carrier_index = 1 optional uint32, "Component carrier.";
        scell_index = 2 optional uint32, "Index of the secondary cell.";
        use_ccs = 3 optional uint32, "Whether cross-carrier scheduling is used.";
        sched_cell_index = 4 optional uint32, "Index of the scheduling cell.";
        pdsch_start = 5 optional uint32, "First OFDM symbol of the PDSCH.";
    }
    /// A logical channel.
    LcConfig {
        lcid = 1 optional uint32, "Logical channel.";
        lcg = 2 optional uint32, "Logical channel group.";
        direction = 3 optional uint32, "0 uplink, 1 downlink, 2 both ([`LcDirection`](super::LcDirection)).";
        qos_bearer_type = 4 optional uint32, "0 non-GBR, 1 GBR.";
        qci = 5 optional uint32, "QoS class identifier.";
        e_rab_max_bitrate_ul = 6 optional uint64, "Maximum uplink bit rate in bit/s.";
        e_rab_max_bitrate_dl = 7 optional uint64, "Maximum downlink bit rate in bit/s.";
        e_rab_guaranteed_bitrate_ul = 8 optional uint64, "Guaranteed uplink bit rate in bit/s.";
        e_rab_guaranteed_bitrate_dl = 9 optional uint64, "Guaranteed downlink bit rate in bit/s.";
    }
    /// Configuration of a cell.
    CellConfig {
        phy_cell_id = 1 optional uint32, "Physical cell identity.";
        cell_id = 2 optional uint32, "Cell of the base station (FlexRAN 0.x).";
        pusch_hopping_offset = 3 optional uint32, "PUSCH hopping offset, resource blocks.";
        hopping_mode = 4 optional uint32, "Hopping mode.";
        n_sb = 5 optional uint32, "Number of subbands.";
        phich_resource = 6 optional uint32, "PHICH resource.";
        phich_duration = 7 optional uint32, "PHICH duration.";
        init_nr_pdcch_ofdm_sym = 8 optional uint32, "Initial number of OFDM symbols of the PDCCH.";
        si_config = 9 optional message SiConfig, "SI configuration.";
        dl_bandwidth = 10 optional uint32, "Downlink resource blocks.";
        ul_bandwidth = 11 optional uint32, "Uplink resource blocks.";
        ul_cyclic_prefix_length = 13 optional uint32, "Uplink cyclic prefix length.";
        dl_cyclic_prefix_length = 14 optional uint32, "Downlink cyclic prefix length.";
        antenna_ports_count = 15 optional uint32, "Number of antenna ports.";
        duplex_mode = 16 optional uint32, "Duplex mode: FDD or TDD.";
        subframe_assignment = 17 optional uint32, "Assignment of subframes to downlink and uplink (TDD).";
        special_subframe_patterns = 18 optional uint32, "Pattern of special subframes (TDD).";
        mbsfn_subframe_config_rfperiod = 19 unpacked uint32, "Period of MBSFN radio frames.";
        mbsfn_subframe_config_rfoffset = 20 unpacked uint32, "Offset of MBSFN radio frames.";
        mbsfn_subframe_config_sfalloc = 21 unpacked uint32, "MBSFN subframes.";
        prach_config_index = 22 optional uint32, "PRACH configuration index.";
        prach_freq_offset = 23 optional uint32, "First resource block of the PRACH.";
        ra_response_window_size = 24 optional uint32, "Random access response window, subframes.";
        mac_contention_resolution_timer = 25 optional uint32, "Contention resolution timer, subframes.";
        max_harq_msg3tx = 26 optional uint32, "Maximum number of HARQ transmissions of message 3.";
        n1_pucch_an = 27 optional uint32, "N1 PUCCH for ACK/NACK (TS 36.211 §5.4).";
        delta_pucch_shift = 28 optional uint32, "PUCCH shift (TS 36.211 §5.4).";
        n_rb_cqi = 29 optional uint32, "Number of resource blocks for PUCCH formats 2, 2a and 2b.";
        srs_subframe_config = 30 optional uint32, "SRS subframe configuration.";
        srs_bw_config = 31 optional uint32, "SRS bandwidth configuration.";
        srs_mac_up_pts = 32 optional uint32, "`srs-MaxUpPts` (TS 36.331; TDD).";
        enable_64qam = 33 optional uint32, "Whether 64QAM is enabled in the uplink.";
        carrier_index = 34 optional uint32, "Component carrier.";
        dl_freq = 35 optional uint32, "Downlink carrier in MHz.";
        ul_freq = 36 optional uint32, "Uplink carrier in MHz.";
        eutra_band = 37 optional uint32, "E-UTRA band.";
        dl_pdsch_power = 38 optional int32, "PDSCH power in dBm.";
        ul_pusch_power = 39 optional int32, "PUSCH power in dBm.";
        plmn_id = 40 repeated message Plmn, "PLMNs served by the cell.";
        slice_config = 42 optional message SliceConfig, "Slices of the cell.";
        x2_ho_net_control = 43 optional bool, "Whether the controller decides on X2 handovers.";
    }
    /// Configuration of a UE.
    UeConfig {
        rnti = 1 optional uint32, "C-RNTI.";
        drx_config = 2 optional message DrxConfig, "DRX configuration.";
        time_alignment_timer = 3 optional uint32, "Time alignment timer.";
        meas_gap_config_pattern = 4 optional uint32, "Measurement gap pattern.";
        meas_gap_config_sf_offset = 5 optional uint32, "Subframe offset of the measurement gaps.";
        sps_config = 6 optional message SpsConfig, "SPS configuration.";
        sr_config = 7 optional message SrConfig, "SR configuration.";
        cqi_config = 8 optional message CqiConfig, "CQI configuration.";
        transmission_mode = 9 optional uint32, "Transmission mode.";
        ue_aggregated_max_bitrate_ul = 10 optional uint64, "Aggregate maximum uplink bit rate in bit/s.";
        ue_aggregated_max_bitrate_dl = 11 optional uint64, "Aggregate maximum downlink bit rate in bit/s.";
        capabilities = 12 optional message UeCapabilities, "UE capabilities.";
        ue_transmission_antenna = 13 optional uint32, "Transmit antenna selection.";
        tti_bundling = 14 optional uint32, "Whether TTI bundling is used.";
        max_harq_tx = 15 optional uint32, "Maximum number of uplink HARQ transmissions.";
        beta_offset_ack_index = 16 optional uint32, "Offset index of ACK (TS 36.213 §8.6.3).";
        beta_offset_ri_index = 17 optional uint32, "Offset index of RI (TS 36.213 §8.6.3).";
        beta_offset_cqi_index = 18 optional uint32, "Offset index of CQI (TS 36.213 §8.6.3).";
        ack_nack_simultaneous_trans = 19 optional uint32, "Whether ACK/NACK and SRS are transmitted simultaneously.";
        simultaneous_ack_nack_cqi = 20 optional uint32, "Whether ACK/NACK and CQI are transmitted simultaneously.";
        aperiodic_cqi_rep_mode = 21 optional uint32, "Mode of aperiodic CQI reports.";
        tdd_ack_nack_feedback = 22 optional uint32, "ACK/NACK feedback mode (TDD).";
        ack_nack_repetition_factor = 23 optional uint32, "ACK/NACK repetition factor.";
        extended_bsr_size = 24 optional uint32, "Whether extended BSR sizes are used.";
        ca_support = 25 optional uint32, "Whether the UE supports carrier aggregation.";
        cross_carrier_sched_support = 26 optional uint32, "Whether the UE supports cross-carrier scheduling.";
        pcell_carrier_index = 27 optional uint32, "Component carrier of the primary cell.";
        scell_config = 28 repeated message ScellConfig, "Secondary cells.";
        scell_deactivation_timer = 29 optional uint32, "Deactivation timer of secondary cells.";
        imsi = 30 optional uint64, "IMSI (Mosaic5G 2.x).";
        dl_slice_id = 31 optional uint32, "Downlink slice (Mosaic5G 2.x).";
        ul_slice_id = 32 optional uint32, "Uplink slice (Mosaic5G 2.x).";
        info = 33 optional message MeasurementInfo, "Measurement configuration (Mosaic5G 2.x).";
    }
    /// Logical channels of a UE.
    LcUeConfig {
        rnti = 1 optional uint32, "C-RNTI.";
        lc_config = 2 repeated message LcConfig, "Logical channels.";
    }
    /// Resource block groups of a slice.
    SliceStatic {
        pos_low = 1 optional uint32, "Lowest resource block group.";
        pos_high = 2 optional uint32, "Highest resource block group.";
    }
    /// Slices of one direction.
    SliceDlUlConfig {
        algorithm = 1 optional int32, "A [`SliceAlgorithm`](super::SliceAlgorithm).";
        slices = 2 repeated message Slice, "Slices.";
        scheduler = 3 optional string, "Scheduler within the slice, or the default one.";
    }
    /// Identity of a mobile network (PLMN).
    Plmn {
        mcc = 1 optional uint32, "Mobile country code.";
        mnc = 2 optional uint32, "Mobile network code.";
        mnc_length = 3 optional uint32, "Number of digits of the network code, 2 or 3.";
    }
    /// Measurements that a UE reports.
    MeasurementInfo {
        offset_freq_serving = 1 optional int64, "Offset of the serving frequency.";
        offset_freq_neighbouring = 2 optional int64, "Offset of the neighbouring frequencies.";
        cell_individual_offset = 3 unpacked int64, "Individual offsets of the cells.";
        filter_coefficient_rsrp = 4 optional int64, "Filter coefficient of RSRP.";
        filter_coefficient_rsrq = 5 optional int64, "Filter coefficient of RSRQ.";
        event = 6 optional message MeasurementEvent, "Reporting event.";
    }
    /// Event that triggers a measurement report (TS 36.331 §5.5.4).
    MeasurementEvent {
        periodical = 1 optional message PerEvent, "Periodic reports.";
        a1 = 2 optional message A1Event, "Event A1.";
        a2 = 3 optional message A2Event, "Event A2.";
        a3 = 4 optional message A3Event, "Event A3.";
        a4 = 5 optional message A4Event, "Event A4.";
        a5 = 6 optional message A5Event, "Event A5.";
    }
    /// Event of periodic measurement reports.
    PerEvent {
        max_report_cells = 1 optional int64, "Maximum number of cells per report.";
    }
    /// The serving cell becomes better than a threshold.
    A1Event {
        threshold_rsrp = 1 optional int64, "Threshold, as an RSRP range.";
        hysteresis = 2 optional int64, "Hysteresis in units of 0.5 dB.";
        time_to_trigger = 3 optional int64, "Time to trigger in ms.";
        max_report_cells = 4 optional int64, "Maximum number of cells per report.";
    }
    /// The serving cell becomes worse than a threshold.
    A2Event {
        threshold_rsrp = 1 optional int64, "Threshold, as an RSRP range.";
        hysteresis = 2 optional int64, "Hysteresis in units of 0.5 dB.";
        time_to_trigger = 3 optional int64, "Time to trigger in ms.";
        max_report_cells = 4 optional int64, "Maximum number of cells per report.";
    }
    /// A neighbour becomes better than the serving cell by an offset.
    A3Event {
        a3_offset = 1 optional int64, "Offset in units of 0.5 dB.";
        report_on_leave = 2 optional int32, "Whether to report when the condition ends.";
        hysteresis = 3 optional int64, "Hysteresis in units of 0.5 dB.";
        time_to_trigger = 4 optional int64, "Time to trigger in ms.";
        max_report_cells = 5 optional int64, "Maximum number of cells per report.";
    }
    /// A neighbour becomes better than a threshold.
    A4Event {
        threshold_rsrp = 1 optional int64, "Threshold, as an RSRP range.";
        hysteresis = 2 optional int64, "Hysteresis in units of 0.5 dB.";
        time_to_trigger = 3 optional int64, "Time to trigger in ms.";
        max_report_cells = 4 optional int64, "Maximum number of cells per report.";
    }
    /// The serving cell becomes worse than one threshold, and a neighbour becomes better than another threshold.
    A5Event {
        threshold_rsrp_1 = 1 optional int64, "First threshold, as an RSRP range.";
        threshold_rsrp_2 = 2 optional int64, "Second threshold, as an RSRP range.";
        hysteresis = 3 optional int64, "Hysteresis in units of 0.5 dB.";
        time_to_trigger = 4 optional int64, "Time to trigger in ms.";
        max_report_cells = 5 optional int64, "Maximum number of cells per report.";
    }
    /// Globally unique MME identity.
    Gummei {
        plmn = 1 optional message Plmn, "PLMN.";
        mme_group_id = 2 optional uint32, "MME group id.";
        mme_code = 3 optional uint32, "MME code.";
    }
    /// MME known to the base station.
    S1apMme {
        s1_ip = 1 optional string, "IP address of the S1 interface.";
        name = 2 optional string, "Name.";
        state = 3 optional int32, "State: a [`MmeState`](super::MmeState).";
        served_gummeis = 4 repeated message Gummei, "Served GUMMEIs.";
        requested_plmns = 5 repeated message Plmn, "Requested PLMNs.";
        rel_capacity = 6 optional uint32, "Relative MME capacity (TS 36.413).";
    }
    /// Slices of a cell.
    SliceConfig {
        dl = 6 optional message SliceDlUlConfig, "Downlink.";
        ul = 7 optional message SliceDlUlConfig, "Uplink.";
    }
    /// S1 configuration of a base station.
    S1apConfig {
        pending = 1 optional uint32, "Number of pending MME associations.";
        connected = 2 optional uint32, "Number of established MME associations.";
        enb_s1_ip = 3 optional string, "IP address of the eNB's S1 interface.";
        enb_name = 4 optional string, "Name of the eNB.";
        mmes = 5 repeated message S1apMme, "Known MMEs.";
    }
    /// A slice (Mosaic5G 2.x).
    Slice {
        id = 1 optional uint32, "Slice id.";
        label = 2 optional string, "Name for display.";
        scheduler = 3 optional string, "Scheduler within the slice.";
        params = "10" oneof "SliceParameters" SliceParameters, "Parameters of the algorithm of the direction.";
    }
}

oneofs! {
    /// Algorithm-specific parameters of a slice.
    SliceParameters {
        Fixed = 10 message SliceStatic, "Dedicated resource block groups.";
    }
}
