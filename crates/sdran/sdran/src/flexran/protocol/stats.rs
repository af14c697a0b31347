//! Requests for statistics, and reports.
use super::config::Plmn;

messages! {
    /// Buffer status of a logical channel.
    RlcBsr {
        lc_id = 1 optional uint32, "Logical channel.";
        tx_queue_size = 2 optional uint32, "Bytes waiting for their first transmission.";
        tx_queue_hol_delay = 3 optional uint32, "Age of the oldest byte that waits for its first transmission, in ms.";
        retransmission_queue_size = 4 optional uint32, "Bytes waiting for a retransmission.";
        retransmission_queue_hol_delay = 5 optional uint32, "Age of the oldest byte that waits for a retransmission, in ms.";
        status_pdu_size = 6 optional uint32, "Size of the pending status PDU, in bytes.";
    }
    /// Periodic channel state information (CSI), mode 1-0.
    CsiP10 {
        wb_cqi = 1 optional uint32, "Wideband CQI, 0 to 15.";
    }
    /// Periodic channel state information (CSI), mode 1-1.
    CsiP11 {
        wb_cqi = 1 unpacked uint32, "Wideband CQI, 0 to 15.";
        wb_pmi = 2 optional uint32, "Wideband PMI.";
    }
    /// Periodic channel state information (CSI), mode 2-0.
    CsiP20 {
        wb_cqi = 1 optional uint32, "Wideband CQI, 0 to 15.";
        sb_cqi = 2 optional uint32, "Subband CQI.";
        bandwidth_part_index = 3 optional uint32, "Bandwidth part.";
        sb_index = 4 optional uint32, "Subband.";
    }
    /// Periodic channel state information (CSI), mode 2-1.
    CsiP21 {
        wb_cqi = 1 unpacked uint32, "Wideband CQI, 0 to 15.";
        wb_pmi = 2 optional uint32, "Wideband PMI.";
        sb_cqi = 3 unpacked uint32, "Subband CQI.";
        bandwidth_part_index = 4 optional uint32, "Bandwidth part.";
        sb_index = 5 optional uint32, "Subband.";
    }
    /// Aperiodic channel state information (CSI), mode 1-2.
    CsiA12 {
        wb_cqi = 1 unpacked uint32, "Wideband CQI, 0 to 15.";
        sb_pmi = 2 unpacked uint32, "Subband PMI.";
    }
    /// Aperiodic channel state information (CSI), mode 2-2.
    CsiA22 {
        wb_cqi = 1 unpacked uint32, "Wideband CQI, 0 to 15.";
        sb_cqi = 2 unpacked uint32, "Subband CQI.";
        wb_pmi = 3 optional uint32, "Wideband PMI.";
        sb_pmi = 4 optional uint32, "Subband PMI.";
        sb_list = 5 unpacked uint32, "Subbands chosen by the UE.";
    }
    /// Aperiodic channel state information (CSI), mode 2-0.
    CsiA20 {
        wb_cqi = 1 optional uint32, "Wideband CQI, 0 to 15.";
        sb_cqi = 2 optional uint32, "Subband CQI.";
        sb_list = 3 unpacked uint32, "Subbands chosen by the UE.";
    }
    /// Aperiodic channel state information (CSI), mode 3-0.
    CsiA30 {
        wb_cqi = 1 optional uint32, "Wideband CQI, 0 to 15.";
        sb_cqi = 2 unpacked uint32, "Subband CQI.";
    }
    /// Aperiodic channel state information (CSI), mode 3-1.
    CsiA31 {
        wb_cqi = 1 unpacked uint32, "Wideband CQI, 0 to 15.";
        sb_cqi = 2 repeated message MsbCqi, "Subband CQI.";
        wb_pmi = 3 optional uint32, "Wideband PMI.";
    }
    /// Subband CQIs of one codeword.
    MsbCqi {
        sb_cqi = 1 unpacked uint32, "Subband CQI.";
    }
    /// Downlink channel state of a UE.
    DlCqiReport {
        sfn_sn = 1 optional uint32, "System frame and subframe: frame << 4 | subframe.";
        csi_report = 2 repeated message DlCsi, "Channel state, one for each serving cell.";
    }
    /// Pending paging message.
    PagingInfo {
        paging_index = 1 optional uint32, "Index of the message.";
        paging_message_size = 2 optional uint32, "Size, bytes.";
        paging_subframe = 3 optional uint32, "Subframe of the transmission.";
        carrier_index = 4 optional uint32, "Component carrier.";
    }
    /// Pending paging messages.
    PagingBufferReport {
        paging_info = 1 repeated message PagingInfo, "Pending messages.";
    }
    /// An uplink measurement.
    UlCqi {
        kind = 1 optional int32, "Measured signal: a [`UlCqiType`](super::UlCqiType).";
        sinr = 2 unpacked uint32, "Signal to interference and noise ratio, in units of the PHY.";
        serv_cell_index = 3 optional uint32, "Index of the serving cell.";
    }
    /// Uplink channel state of a UE.
    UlCqiReport {
        sfn_sn = 1 optional uint32, "System frame and subframe: frame << 4 | subframe.";
        cqi_meas = 2 repeated message UlCqi, "Measurements.";
        pucch_dbm = 3 repeated message PucchDbm, "PUCCH power, one for each serving cell.";
    }
    /// PUCCH power.
    PucchDbm {
        p0_pucch_dbm = 1 optional int32, "PUCCH power in dBm.";
        serv_cell_index = 2 optional uint32, "Index of the serving cell.";
        p0_pucch_updated = 3 optional uint32, "Whether the PUCCH power changed.";
    }
    /// Noise and interference of a cell.
    NoiseInterferenceReport {
        sfn_sf = 1 optional uint32, "System frame and subframe: frame << 4 | subframe.";
        rip = 2 optional uint32, "Received interference power in dBm.";
        tnp = 3 optional uint32, "Thermal noise power in dBm.";
        p0_nominal_pucch = 4 optional int32, "Nominal PUCCH power in dBm.";
    }
    /// Request for all cell and UE statistics.
    CompleteStatsRequest {
        report_frequency = 1 optional int32, "A [`ReportFrequency`](super::ReportFrequency).";
        sf = 2 optional uint32, "Period in subframes (ms).";
        cell_report_flags = 3 optional uint32, "Requested [`CellFlags`](super::CellFlags).";
        ue_report_flags = 4 optional uint32, "Requested [`UeFlags`](super::UeFlags).";
        cell_reports = 5 unpacked int32, "Requested cell statistics (Mosaic5G 2.x).";
        ue_reports = 6 unpacked int32, "Requested UE statistics (Mosaic5G 2.x).";
    }
    /// Request for statistics of some cells.
    CellStatsRequest {
        cell = 1 unpacked uint32, "Requested cells.";
        flags = 2 optional uint32, "Requested parts, as bits.";
    }
    /// Request for statistics of some UEs.
    UeStatsRequest {
        rnti = 1 unpacked uint32, "C-RNTIs of the UEs.";
        flags = 2 optional uint32, "Requested parts, as bits.";
    }
    /// Statistics of a component carrier.
    CellStatsReport {
        carrier_index = 1 optional uint32, "Component carrier.";
        flags = 2 optional uint32, "Present parts, as bits.";
        noise_inter_report = 3 optional message NoiseInterferenceReport, "Noise and interference.";
    }
    /// Statistics of a UE.
    UeStatsReport {
        rnti = 1 optional uint32, "C-RNTI.";
        flags = 2 optional uint32, "Present parts, as bits.";
        bsr = 3 unpacked uint32, "Buffer status report of a logical channel group, an index of TS 36.321 table 6.1.3.1-1.";
        phr = 4 optional uint32, "Power headroom in dB.";
        rlc_report = 5 repeated message RlcBsr, "RLC queues, one for each logical channel.";
        pending_mac_ces = 6 optional uint32, "Pending MAC control elements, as bits.";
        dl_cqi_report = 7 optional message DlCqiReport, "Downlink channel state reported by the UE.";
        pbr = 8 optional message PagingBufferReport, "Paging buffers.";
        ul_cqi_report = 9 optional message UlCqiReport, "Uplink channel state measured by the base station.";
        rrc_measurements = 10 optional message RrcMeasurements, "Measurements of the UE (Mosaic5G 2.x).";
        pdcp_stats = 11 optional message PdcpStats, "PDCP counters (Mosaic5G 2.x).";
        mac_stats = 12 optional message MacStats, "MAC counters (Mosaic5G 2.x).";
        gtp_stats = 13 repeated message GtpStats, "Tunnels (Mosaic5G 2.x).";
        s1ap_stats = 14 optional message S1apUe, "The UE's S1 association (Mosaic5G 2.x).";
    }
    /// Measurement results of a UE.
    RrcMeasurements {
        meas_id = 1 optional int32, "Measurement id.";
        pcell_rsrp = 2 optional int32, "RSRP of the serving cell in dBm.";
        pcell_rsrq = 3 optional int32, "RSRQ of the serving cell in dB.";
        neigh_meas = 4 optional message NeighCellsMeasurements, "Neighbours.";
    }
    /// Measurement results of a UE for its neighbours.
    NeighCellsMeasurements {
        eutra_meas = 1 repeated message EutraMeasurements, "E-UTRA neighbours.";
    }
    /// Measurement results of a UE for one neighbour.
    EutraMeasurements {
        phys_cell_id = 1 optional int32, "Physical cell identity.";
        cgi_meas = 2 optional message EutraCgiMeasurements, "System information.";
        meas_result = 3 optional message EutraRefSignalMeas, "Signal strength and quality.";
    }
    /// System information of a neighbour, as read by a UE.
    EutraCgiMeasurements {
        cgi = 1 optional message CellGlobalEutraId, "Global cell identity.";
        tracking_area_code = 2 optional uint32, "Tracking area code.";
        plmn = 3 repeated message Plmn, "PLMNs.";
    }
    /// Global cell identity.
    CellGlobalEutraId {
        plmn = 1 optional message Plmn, "PLMN.";
        cell_id = 2 optional uint32, "Cell identity within the PLMN.";
    }
    /// Reference signal measurements of a cell.
    EutraRefSignalMeas {
        rsrp = 1 optional int32, "RSRP in dBm.";
        rsrq = 2 optional int32, "RSRQ in dB.";
    }
    /// PDCP counters of a UE.
    PdcpStats {
        pkt_tx = 1 optional uint32, "Packets sent.";
        pkt_tx_bytes = 2 optional uint32, "Bytes sent.";
        pkt_tx_sn = 3 optional uint32, "Highest sequence number sent.";
        pkt_tx_w = 4 optional uint32, "Packets sent in the last window.";
        pkt_tx_bytes_w = 5 optional uint32, "Bytes sent in the last window.";
        pkt_tx_aiat = 7 optional uint32, "Mean time between sent packets, ms.";
        pkt_tx_aiat_w = 8 optional uint32, "Mean time between sent packets in the last window, ms.";
        pkt_rx = 9 optional uint32, "Packets received.";
        pkt_rx_bytes = 10 optional uint32, "Bytes received.";
        pkt_rx_sn = 11 optional uint32, "Highest sequence number received.";
        pkt_rx_w = 12 optional uint32, "Packets received in the last window.";
        pkt_rx_bytes_w = 13 optional uint32, "Bytes received in the last window.";
        pkt_rx_aiat = 14 optional uint32, "Mean time between received packets, ms.";
        pkt_rx_aiat_w = 15 optional uint32, "Mean time between received packets in the last window, ms.";
        pkt_rx_oo = 16 optional uint32, "Packets received out of order.";
        sfn = 17 optional uint64, "System frame number of the report.";
    }
    /// MAC counters of a UE.
    MacStats {
        tbs_dl = 1 optional uint32, "Downlink transport block size.";
        tbs_ul = 2 optional uint32, "Uplink transport block size.";
        prb_retx_dl = 3 optional uint32, "Downlink resource blocks of retransmissions.";
        prb_retx_ul = 4 optional uint32, "Uplink resource blocks of retransmissions.";
        prb_dl = 5 optional uint32, "Downlink resource blocks.";
        prb_ul = 6 optional uint32, "Uplink resource blocks.";
        mcs1_dl = 7 optional uint32, "MCS of the first codeword, downlink.";
        mcs2_dl = 8 optional uint32, "MCS of the second codeword, downlink.";
        mcs1_ul = 9 optional uint32, "MCS of the first codeword, uplink.";
        mcs2_ul = 10 optional uint32, "MCS of the second codeword, uplink.";
        total_bytes_sdus_ul = 11 optional uint32, "Total bytes of uplink SDUs.";
        total_bytes_sdus_dl = 12 optional uint32, "Total bytes of downlink SDUs.";
        total_prb_retx_dl = 13 optional uint32, "Total downlink resource blocks of retransmissions.";
        total_prb_retx_ul = 14 optional uint32, "Total uplink resource blocks of retransmissions.";
        total_prb_dl = 15 optional uint32, "Total downlink resource blocks.";
        total_prb_ul = 16 optional uint32, "Total uplink resource blocks.";
        total_pdu_dl = 17 optional uint32, "Total downlink PDUs.";
        total_pdu_ul = 18 optional uint32, "Total uplink PDUs.";
        total_tbs_dl = 19 optional uint32, "Total downlink transport block size.";
        total_tbs_ul = 20 optional uint32, "Total uplink transport block size.";
        mac_sdus_dl = 21 repeated message MacSdusDl, "Downlink MAC SDUs.";
        harq_round = 22 optional uint32, "HARQ round.";
    }
    /// A downlink SDU.
    MacSdusDl {
        sdu_length = 1 optional uint32, "Length of the SDU.";
        lcid = 2 optional uint32, "Logical channel.";
    }
    /// GTP tunnel.
    GtpStats {
        e_rab_id = 1 optional uint32, "E-RAB id.";
        teid_enb = 2 optional uint32, "TEID at the eNB (downlink).";
        addr_enb = 3 optional string, "Address of the eNB.";
        teid_sgw = 4 optional uint32, "TEID at the S-GW (uplink).";
        addr_sgw = 5 optional string, "Address of the S-GW.";
    }
    /// The S1 association of a UE.
    S1apUe {
        mme_s1_ip = 1 optional string, "IP address of the MME's S1 interface.";
        enb_ue_s1ap_id = 2 optional uint32, "eNB UE S1AP ID.";
        mme_ue_s1ap_id = 3 optional uint32, "MME UE S1AP ID.";
        selected_plmn = 4 optional message Plmn, "Selected PLMN.";
    }
    /// Several requests for complete statistics.
    CompleteStatsRequestRepeated {
        reports = 1 repeated message CompleteStatsRequest, "Requests.";
    }
    /// Downlink channel state of a UE in one serving cell.
    DlCsi {
        serv_cell_index = 1 optional uint32, "Index of the serving cell.";
        ri = 2 optional uint32, "Rank indicator.";
        kind = 3 optional int32, "Reporting mode of `report`; 0 is mode 1-0.";
        report = "4, 5, 6, 7, 8, 9, 10, 11, 12" oneof "Csi" Csi, "Report.";
    }
}

oneofs! {
    /// Channel state in one of the reporting modes of TS 36.213 §7.2.
    Csi {
        P10 = 4 message CsiP10, "Periodic 1-0.";
        P11 = 5 message CsiP11, "Periodic 1-1.";
        P20 = 6 message CsiP20, "Periodic 2-0.";
        P21 = 7 message CsiP21, "Periodic 2-1.";
        A12 = 8 message CsiA12, "Aperiodic 1-2.";
        A22 = 9 message CsiA22, "Aperiodic 2-2.";
        A20 = 10 message CsiA20, "Aperiodic 2-0.";
        A30 = 11 message CsiA30, "Aperiodic 3-0.";
        A31 = 12 message CsiA31, "Aperiodic 3-1.";
    }
}
