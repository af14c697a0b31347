//! Control messages: scheduling decisions, HARQ feedback, reconfiguration of the agent.

messages! {
    /// HARQ feedback of a UE.
    DlInfo {
        rnti = 1 optional uint32, "C-RNTI.";
        harq_process_id = 2 optional uint32, "HARQ process.";
        harq_status = 3 unpacked uint32, "HARQ status for each codeword: 0 ACK, 1 NACK, 2 DTX.";
        serv_cell_index = 4 optional uint32, "Index of the serving cell.";
    }
    /// Uplink reception from a UE.
    UlInfo {
        rnti = 1 optional uint32, "C-RNTI.";
        ul_reception = 2 unpacked uint32, "Bytes of received MAC SDUs, for each logical channel.";
        reception_status = 3 optional uint32, "Reception status (FAPI).";
        tpc = 4 optional uint32, "Power control command.";
        serv_cell_index = 5 optional uint32, "Index of the serving cell.";
        rssi = 6 optional uint32, "RSSI.";
    }
    /// Downlink control information (FAPI).
    DlDci {
        rnti = 1 optional uint32, "C-RNTI.";
        res_alloc = 2 optional uint32, "Resource allocation type, 0 to 2.";
        rb_bitmap = 3 optional uint32, "Resource block groups as bits.";
        rb_shift = 4 optional uint32, "Shift of the resource block subset (resource allocation type 1).";
        tbs_size = 5 unpacked uint32, "Transport block size, in bytes.";
        mcs = 6 unpacked uint32, "Modulation and coding scheme.";
        ndi = 7 unpacked uint32, "New data indicator.";
        rv = 8 unpacked uint32, "Redundancy version.";
        cce_index = 9 optional uint32, "First control channel element of the PDCCH.";
        aggr_level = 10 optional uint32, "Aggregation level.";
        precoding_info = 11 optional uint32, "Precoding information.";
        format = 12 optional uint32, "DCI format.";
        tpc = 13 optional uint32, "Power control command.";
        harq_process = 14 optional uint32, "HARQ process.";
        dai = 15 optional uint32, "Downlink assignment index (TDD).";
        vrb_format = 16 optional uint32, "Virtual resource blocks: localized or distributed.";
        tb_swap = 17 optional uint32, "Whether the transport blocks are swapped between the codewords.";
        sps_release = 18 optional uint32, "Whether the DCI releases semi-persistent scheduling.";
        pdcch_order = 19 optional uint32, "Whether the DCI is a PDCCH order.";
        preamble_index = 20 optional uint32, "Preamble index of a PDCCH order.";
        prach_mask_index = 21 optional uint32, "PRACH mask index of a PDCCH order.";
        n_gap = 22 optional uint32, "Gap of distributed virtual resource blocks.";
        tbs_idx = 23 optional uint32, "Transport block size index.";
        dl_power_offset = 24 optional uint32, "Downlink power offset.";
        pdcch_power_offset = 25 optional uint32, "PDCCH power offset.";
        cif_present = 26 optional uint32, "Whether the carrier indicator is present.";
        cif = 27 optional uint32, "Carrier indicator.";
    }
    /// RLC PDUs of one transmission.
    RlcPdu {
        rlc_pdu_tb = 1 repeated message RlcPduTb, "RLC PDUs.";
    }
    /// An RLC PDU.
    RlcPduTb {
        logical_channel_id = 1 optional uint32, "Logical channel id.";
        size = 2 optional uint32, "Size, bytes.";
    }
    /// A downlink transmission.
    DlData {
        rnti = 1 optional uint32, "C-RNTI.";
        dl_dci = 2 optional message DlDci, "Downlink control information.";
        ce_bitmap = 3 unpacked uint32, "MAC control elements, as bits.";
        rlc_pdu = 4 repeated message RlcPdu, "RLC PDUs.";
        serv_cell_index = 5 optional uint32, "Index of the serving cell.";
        act_deact_ce = 6 optional uint32, "MAC control element that activates or deactivates secondary cells.";
    }
    /// Random access response.
    DlRar {
        rnti = 1 optional uint32, "C-RNTI.";
        grant = 2 optional uint32, "Uplink grant.";
        rar_dci = 3 optional message DlDci, "Downlink control information of the response.";
        carrier_index = 4 optional uint32, "Component carrier.";
    }
    /// Broadcast transmission.
    DlBroadcast {
        kind = 1 optional uint32, "Type of the broadcast: BCCH or PCCH.";
        index = 2 optional uint32, "Index of the message.";
        broad_dci = 3 optional message DlDci, "Downlink control information of the broadcast.";
        carrier_index = 4 optional uint32, "Component carrier.";
    }
    /// Control region of a carrier.
    PdcchOfdmSymCount {
        carrier_index = 1 optional uint32, "Component carrier.";
        num_pdcch_ofdm_symbols = 2 optional uint32, "Number of OFDM symbols of the PDCCH.";
    }
    /// Uplink control information (FAPI).
    UlDci {
        rnti = 1 optional uint32, "C-RNTI.";
        rb_start = 2 optional uint32, "First resource block.";
        rb_len = 3 optional uint32, "Number of resource blocks.";
        mcs = 4 optional uint32, "Modulation and coding scheme.";
        cyclic_shift2 = 5 optional uint32, "Second cyclic shift of the demodulation reference signal.";
        freq_hop_flag = 6 optional uint32, "Whether frequency hopping is enabled.";
        freq_hop_map = 7 optional uint32, "Frequency hopping bits.";
        ndi = 8 optional uint32, "New data indicator.";
        rv = 9 optional uint32, "Redundancy version.";
        harq_pid = 10 optional uint32, "HARQ process.";
        ultx_mode = 11 optional uint32, "Uplink transmission mode.";
        tbs_size = 12 optional uint32, "Transport block size, in bytes.";
        n_srs = 13 optional uint32, "Whether the resource blocks overlap with the SRS.";
        res_alloc = 14 optional uint32, "Resource allocation type.";
        size = 15 optional uint32, "Size of the PDU, bytes.";
        dai = 16 optional uint32, "Downlink assignment index (TDD).";
    }
    /// An uplink grant.
    UlData {
        rnti = 1 optional uint32, "C-RNTI.";
        ul_dci = 2 optional message UlDci, "Uplink control information.";
    }
    /// Part of the agent whose configuration changes.
    AgentReconfigurationSystem {
        system = 1 optional string, "Module of the agent, for example `mac`.";
        subsystems = 2 repeated message AgentReconfigurationSubsystem, "Submodules.";
    }
    /// Subsystem of the part whose configuration changes.
    AgentReconfigurationSubsystem {
        name = 1 optional string, "Name.";
        behavior = 2 optional string, "Name of the function that replaces the current one.";
        params = 3 map AgentReconfigurationParam, "Parameters.";
    }
    /// Value of a parameter.
    AgentReconfigurationParam {
        param = "1, 2, 3, 4" oneof "ParamValue" ParamValue, "The value.";
    }
}

oneofs! {
    /// Types of a parameter value.
    ParamValue {
        Integer = 1 int32 i32, "Integer.";
        Floating = 2 float f32, "Floating-point number.";
        Boolean = 3 bool bool, "Boolean.";
        Text = 4 string String, "Text.";
    }
}
