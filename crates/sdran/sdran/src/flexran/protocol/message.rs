//! Messages and their envelope.
use super::config::*;
use super::control::*;
use super::stats::*;

messages! {
    /// Header of every message. It can be absent. No implementation selects the message type by it.
    Header {
        version = 1 optional uint32, "Always 0.";
        kind = 2 optional uint32, "Message type, a [`Kind`](super::Kind). Controllers use the type of the body instead.";
        xid = 4 optional uint32, "Transaction id. A reply has that of its request.";
    }
    /// First message in each direction. The controller sends it first. The hello of an agent is valid only with
    /// [`Direction::Successful`](super::Direction::Successful).
    Hello {
        header = 1 optional message Header, "Version, type and transaction.";
        bs_id = 2 optional uint64, "Identity of the base station (Mosaic5G 2.x).";
        capabilities = 3 unpacked int32, "Layers managed by the agent (Mosaic5G 2.x).";
        splits = 4 unpacked int32, "Functional splits (Mosaic5G 2.x).";
    }
    /// Echo request.
    EchoRequest {
        header = 1 optional message Header, "Version, type and transaction.";
        latency = 100 optional uint32, "Timestamp that the reply repeats (an extension).";
        payload = 101 optional octets, "Payload that the reply repeats (an extension).";
    }
    /// Echo reply.
    EchoReply {
        header = 1 optional message Header, "Version, type and transaction.";
        latency = 100 optional uint32, "Timestamp that the reply repeats (an extension).";
        payload = 101 optional octets, "Payload that the reply repeats (an extension).";
    }
    /// Statistics.
    StatsReply {
        header = 1 optional message Header, "Version, type and transaction.";
        ue_report = 2 repeated message UeStatsReport, "One report per UE.";
        cell_report = 3 repeated message CellStatsReport, "One report per component carrier.";
    }
    /// Start of a subframe.
    SfTrigger {
        header = 1 optional message Header, "Version, type and transaction.";
        sfn_sf = 2 optional uint32, "System frame and subframe: frame << 4 | subframe.";
        dl_info = 3 repeated message DlInfo, "HARQ feedback per UE.";
        ul_info = 4 repeated message UlInfo, "Uplink receptions per UE.";
    }
    /// Received scheduling requests.
    UlSrInfo {
        header = 1 optional message Header, "Version, type and transaction.";
        sfn_sf = 2 optional uint32, "System frame and subframe: frame << 4 | subframe.";
        rnti = 3 unpacked uint32, "C-RNTI.";
    }
    /// Request for the base station's configuration.
    EnbConfigRequest {
        header = 1 optional message Header, "Version, type and transaction.";
    }
    /// Configuration of the base station. Controllers register an agent when they receive it. They silently discard earlier messages.
    EnbConfigReply {
        header = 1 optional message Header, "Version, type and transaction.";
        enb_id = 2 optional uint64, "Identity of the base station.";
        cell_config = 3 repeated message CellConfig, "Cells.";
        device_spec = 4 optional uint32, "Type of the device (Mosaic5G 2.x).";
        s1ap = 5 optional message S1apConfig, "S1 interface to the core (Mosaic5G 2.x).";
        loaded_apps = 6 repeated string, "Applications loaded in the agent (Mosaic5G 2.x).";
        loaded_mac_objects = 7 repeated string, "Schedulers loaded in the agent (Mosaic5G 2.x).";
    }
    /// Request for the UE configurations.
    UeConfigRequest {
        header = 1 optional message Header, "Version, type and transaction.";
    }
    /// UE configurations.
    UeConfigReply {
        header = 1 optional message Header, "Version, type and transaction.";
        ue_config = 2 repeated message UeConfig, "Complete list of UEs, which replaces the previous one.";
    }
    /// Request for the logical channel configurations. Controllers send it again after each UE state change.
    LcConfigRequest {
        header = 1 optional message Header, "Version, type and transaction.";
    }
    /// Logical channel configurations of all UEs.
    LcConfigReply {
        header = 1 optional message Header, "Version, type and transaction.";
        lc_ue_config = 2 repeated message LcUeConfig, "Complete list of the logical channels of each UE.";
    }
    /// Downlink decision of a remote scheduler.
    DlMacConfig {
        header = 1 optional message Header, "Version, type and transaction.";
        sfn_sf = 2 optional uint32, "System frame and subframe: frame << 4 | subframe.";
        dl_ue_data = 3 repeated message DlData, "Downlink transmissions.";
        dl_rar = 4 repeated message DlRar, "Random access responses.";
        dl_broadcast = 5 repeated message DlBroadcast, "Broadcast transmissions.";
        ofdm_sym = 6 repeated message PdcchOfdmSymCount, "Control regions of the carriers.";
    }
    /// Report that a UE connected, disconnected or changed.
    UeStateChange {
        header = 1 optional message Header, "Version, type and transaction.";
        kind = 2 optional uint32, "A [`UeChange`](super::UeChange).";
        config = 3 optional message UeConfig, "Configuration of the UE.";
    }
    /// Reconfiguration of the agent.
    AgentReconfiguration {
        header = 1 optional message Header, "Version, type and transaction.";
        policy = 2 optional string, "A policy in YAML.";
        systems = 3 repeated message AgentReconfigurationSystem, "Modules of the agent to change (Mosaic5G 2.x).";
    }
    /// Uplink decision of a remote scheduler (Mosaic5G 2.x).
    UlMacConfig {
        header = 1 optional message Header, "Version, type and transaction.";
        sfn_sf = 2 optional uint32, "System frame and subframe: frame << 4 | subframe.";
        ul_ue_data = 3 repeated message UlData, "Uplink grants.";
    }
    /// Change of the UEs' measurements (Mosaic5G 2.x).
    RrcTriggering {
        header = 1 optional message Header, "Version, type and transaction.";
        rrc_trigger = 2 optional string, "RRC procedure to trigger.";
        meas_info = 3 optional message MeasurementInfo, "Measurement configuration.";
    }
    /// Handover command (Mosaic5G 2.x).
    HoCommand {
        header = 1 optional message Header, "Version, type and transaction.";
        rnti = 2 optional uint32, "C-RNTI.";
        target_phy_cell_id = 3 optional uint32, "Physical cell identity of the target.";
    }
    /// Request for code (Mosaic5G 2.x).
    ControlDelegationRequest {
        header = 1 optional message Header, "Version, type and transaction.";
        delegation_type = 2 optional int32, "A [`DelegationType`](super::DelegationType).";
        name = 4 optional string, "Name of the code.";
    }
    /// Disconnection of the agent (Mosaic5G 2.x).
    Disconnect {
        header = 1 optional message Header, "Version, type and transaction.";
    }
    /// Request for statistics.
    StatsRequest {
        header = 1 optional message Header, "Version, type and transaction.";
        kind = 2 optional int32, "Type of the statistics, as in `body`: 0 all statistics, 1 cells, 2 UEs.";
        body = "3, 4, 5" oneof "StatsRequestBody" StatsRequestBody, "Requested statistics.";
    }
    /// Code for the agent, sent by the controller.
    ControlDelegation {
        header = 1 optional message Header, "Version, type and transaction.";
        delegation_type = 2 optional uint32, "A [`DelegationType`](super::DelegationType).";
        payload = 3 optional octets, "Shared object.";
        name = 4 optional string, "Name of the code.";
    }
    /// Content of a frame, which is one message and its direction.
    Envelope {
        msg_dir = 100 optional int32, "A [`Direction`](super::Direction).";
        msg = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22" oneof "Message" Message, "The message.";
    }
}

oneofs! {
    /// Requested statistics.
    StatsRequestBody {
        Complete = 3 message CompleteStatsRequest, "All cell and UE statistics.";
        Cell = 4 message CellStatsRequest, "Statistics of some cells.";
        Ue = 5 message UeStatsRequest, "Statistics of some UEs.";
    }
    /// All messages. `RrcTriggering` and the messages after it are specific to Mosaic5G 2.x.
    #[allow(clippy::large_enum_variant)]
    Message {
        Hello = 1 message Hello, "See [`Hello`].";
        EchoRequest = 2 message EchoRequest, "See [`EchoRequest`].";
        EchoReply = 3 message EchoReply, "See [`EchoReply`].";
        StatsRequest = 4 message StatsRequest, "See [`StatsRequest`].";
        StatsReply = 5 message StatsReply, "See [`StatsReply`].";
        SfTrigger = 6 message SfTrigger, "See [`SfTrigger`].";
        UlSrInfo = 7 message UlSrInfo, "See [`UlSrInfo`].";
        EnbConfigRequest = 8 message EnbConfigRequest, "See [`EnbConfigRequest`].";
        EnbConfigReply = 9 message EnbConfigReply, "See [`EnbConfigReply`].";
        UeConfigRequest = 10 message UeConfigRequest, "See [`UeConfigRequest`].";
        UeConfigReply = 11 message UeConfigReply, "See [`UeConfigReply`].";
        LcConfigRequest = 12 message LcConfigRequest, "See [`LcConfigRequest`].";
        LcConfigReply = 13 message LcConfigReply, "See [`LcConfigReply`].";
        DlMacConfig = 14 message DlMacConfig, "See [`DlMacConfig`].";
        UeStateChange = 15 message UeStateChange, "See [`UeStateChange`].";
        ControlDelegation = 16 message ControlDelegation, "See [`ControlDelegation`].";
        AgentReconfiguration = 17 message AgentReconfiguration, "See [`AgentReconfiguration`].";
        RrcTriggering = 18 message RrcTriggering, "See [`RrcTriggering`].";
        UlMacConfig = 19 message UlMacConfig, "See [`UlMacConfig`].";
        Disconnect = 20 message Disconnect, "See [`Disconnect`].";
        HoCommand = 21 message HoCommand, "See [`HoCommand`].";
        ControlDelegationRequest = 22 message ControlDelegationRequest, "See [`ControlDelegationRequest`].";
    }
}
