//! Rules as they are created (§7.5.2).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Create PDR (IE 1): which packets a rule is about, and what happens to them.
    CreatePdr {
        56 => pdr_id: M PdrId, "Its name within the session.";
        29 => precedence: M Precedence, "The lowest value is tried first.";
        2 => pdi: M Pdi, "What the packets look like.";
        95 => outer_header_removal: C OuterHeaderRemoval, "To strip the tunnel.";
        108 => far_id: C FarId, "What happens to the packets.";
        81 => urr_ids: List UrrId, "How they are counted.";
        109 => qer_ids: List QerId, "How they are policed.";
        106 => activate_predefined_rules: List Opaque, "Rules that the user plane has under a name.";
        check |pdr: &CreatePdr| {
            // A multi-access rule (IE 170) takes the place of a FAR.
            let other_action = pdr.others.iter().any(|ie| ie.ie_type == 170);
            (pdr.far_id.is_none() && pdr.activate_predefined_rules.is_empty() && !other_action).then_some(108)
        };
    }
    /// PDI (IE 2): packet detection information.
    Pdi {
        20 => source_interface: M Interface, "Where packets come from.";
        21 => f_teid: O FTeid, "Through which tunnel.";
        22 => network_instance: O NetworkName, "Through which network.";
        93 => ue_ip_addresses: List UeIpAddress, "Of which UE.";
        23 => sdf_filters: List SdfFilter, "Of which flows.";
        24 => application_id: O Opaque, "Of which application.";
        124 => qfis: List Qfi, "Of which QoS flows.";
        160 => source_interface_type: O InterfaceType, "Through which reference point.";
    }
    /// Create FAR (IE 3): forward, drop or buffer.
    CreateFar {
        108 => far_id: M FarId, "Its name within the session.";
        44 => apply_action: M ApplyAction, "What to do.";
        4 => forwarding_parameters: C ForwardingParameters, "Where to, if forwarded.";
        88 => bar_id: O BarId, "How to buffer.";
        check |far: &CreateFar| {
            (far.apply_action.contains(ApplyAction::FORW) && far.forwarding_parameters.is_none()).then_some(4)
        };
    }
    /// Forwarding Parameters (IE 4).
    ForwardingParameters {
        42 => destination_interface: M Interface, "Where packets go.";
        22 => network_instance: O NetworkName, "Through which network.";
        84 => outer_header_creation: C OuterHeaderCreation, "In which tunnel.";
        30 => transport_level_marking: C TransportLevelMarking, "With which DSCP.";
        160 => destination_interface_type: O InterfaceType, "Through which reference point.";
    }
    /// Create URR (IE 6): what to measure and when to report.
    CreateUrr {
        81 => urr_id: M UrrId, "Its name within the session.";
        62 => measurement_method: M MeasurementMethod, "What to measure.";
        37 => reporting_triggers: M ReportingTriggers, "When to report.";
        64 => measurement_period: C Seconds, "Between periodic reports.";
        31 => volume_threshold: C Volume, "Octets until a report.";
        73 => volume_quota: C Volume, "Octets until packets are stopped.";
        32 => time_threshold: C Seconds, "Seconds until a report.";
        74 => time_quota: C Seconds, "Seconds until packets are stopped.";
        71 => quota_holding_time: C Seconds, "Seconds without packets until a report.";
        82 => linked_urr_ids: List UrrId, "Rules whose report makes this one report.";
        100 => measurement_information: C MeasurementInformation, "How to measure.";
        check |urr: &CreateUrr| {
            let periodic = urr.reporting_triggers.contains(ReportingTriggers::PERIO);
            (periodic && urr.measurement_period.is_none()).then_some(64)
        };
    }
    /// Create QER (IE 7): gates and bit rates.
    CreateQer {
        109 => qer_id: M QerId, "Its name within the session.";
        28 => qer_correlation_id: C QerCorrelationId, "Rules with the same number share their rates across sessions.";
        25 => gate_status: M GateStatus, "Whether packets may pass.";
        26 => maximum_bit_rate: C BitRates, "Maximum bit rate.";
        27 => guaranteed_bit_rate: C BitRates, "Guaranteed bit rate.";
        124 => qfi: C Qfi, "QoS flow that packets are marked with.";
        123 => rqi: C Rqi, "Reflective QoS.";
        158 => paging_policy_indicator: C PagingPolicyIndicator, "Paging policy.";
        157 => averaging_window: O AveragingWindow, "Time over which rates are averaged.";
    }
    /// Create BAR (IE 85): how downlink packets are buffered.
    CreateBar {
        88 => bar_id: M BarId, "Its name within the session.";
        46 => notification_delay: C NotificationDelay, "Delay before the control plane is notified.";
        48 => suggested_packet_count: C SuggestedPacketCount, "How many packets to keep.";
        140 => suggested_buffering: O SuggestedPacketCount, "How many packets to keep, in either direction.";
    }
    /// Created PDR (IE 8): what the user plane chose for a rule.
    CreatedPdr {
        56 => pdr_id: M PdrId, "The rule.";
        21 => f_teid: C FTeid, "Its tunnel.";
        93 => ue_ip_addresses: List UeIpAddress, "The UE's address.";
    }
}
