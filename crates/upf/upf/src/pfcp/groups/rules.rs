//! Grouped elements that create rules (§7.5.2).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Create PDR (IE 1): packet detection rule.
    CreatePdr {
        56 => pdr_id: M PdrId, "Rule id within the session.";
        29 => precedence: M Precedence, "Precedence. The rule with the lowest value is tried first.";
        2 => pdi: M Pdi, "Packet detection information.";
        95 => outer_header_removal: C OuterHeaderRemoval, "Removal of the tunnel header.";
        108 => far_id: C FarId, "Forwarding action rule.";
        81 => urr_ids: List UrrId, "Usage reporting rules.";
        109 => qer_ids: List QerId, "QoS enforcement rules.";
        106 => activate_predefined_rules: List Opaque, "Predefined rules of the user plane, by name.";
        check |pdr: &CreatePdr| {
            // A FAR is not required if a multi-access rule (IE 170) replaces it.
            let other_action = pdr.others.iter().any(|ie| ie.ie_type == 170);
            (pdr.far_id.is_none() && pdr.activate_predefined_rules.is_empty() && !other_action).then_some(108)
        };
    }
    /// PDI (IE 2): packet detection information.
    Pdi {
        20 => source_interface: M Interface, "Source interface.";
        21 => f_teid: O FTeid, "Local tunnel endpoint.";
        22 => network_instance: O NetworkName, "Network instance.";
        93 => ue_ip_addresses: List UeIpAddress, "UE address.";
        23 => sdf_filters: List SdfFilter, "Flow filters.";
        24 => application_id: O Opaque, "Application id.";
        124 => qfis: List Qfi, "QoS flow identifiers.";
        160 => source_interface_type: O InterfaceType, "3GPP interface type.";
    }
    /// Create FAR (IE 3): forward, drop or buffer.
    CreateFar {
        108 => far_id: M FarId, "Rule id within the session.";
        44 => apply_action: M ApplyAction, "Action on packets: forward, drop or buffer.";
        4 => forwarding_parameters: C ForwardingParameters, "Forwarding parameters.";
        88 => bar_id: O BarId, "Buffering parameters.";
        check |far: &CreateFar| {
            (far.apply_action.contains(ApplyAction::FORW) && far.forwarding_parameters.is_none()).then_some(4)
        };
    }
    /// Forwarding Parameters (IE 4).
    ForwardingParameters {
        42 => destination_interface: M Interface, "Destination interface.";
        22 => network_instance: O NetworkName, "Network instance.";
        84 => outer_header_creation: C OuterHeaderCreation, "Outer header to create.";
        30 => transport_level_marking: C TransportLevelMarking, "Transport level marking (DSCP).";
        160 => destination_interface_type: O InterfaceType, "3GPP interface type.";
    }
    /// Create URR (IE 6): usage measurement and reporting.
    CreateUrr {
        81 => urr_id: M UrrId, "Rule id within the session.";
        62 => measurement_method: M MeasurementMethod, "Measurement method.";
        37 => reporting_triggers: M ReportingTriggers, "Reporting triggers.";
        64 => measurement_period: C Seconds, "Interval of periodic reports.";
        31 => volume_threshold: C Volume, "Bytes until a report.";
        73 => volume_quota: C Volume, "Bytes until packets are dropped.";
        32 => time_threshold: C Seconds, "Seconds until a report.";
        74 => time_quota: C Seconds, "Seconds until packets are dropped.";
        71 => quota_holding_time: C Seconds, "Seconds without packets until a report.";
        181 => quota_validity_time: C Seconds, "Seconds after a grant until a report.";
        36 => inactivity_detection_time: C Seconds, "Seconds without packets after which time is not measured.";
        149 => event_threshold: C Events, "Events until a report.";
        148 => event_quota: C Events, "Events until packets are dropped.";
        82 => linked_urr_ids: List UrrId, "Linked rules. A report of a linked rule triggers a report of this rule.";
        100 => measurement_information: C MeasurementInformation, "Measurement information.";
        check |urr: &CreateUrr| {
            let periodic = urr.reporting_triggers.contains(ReportingTriggers::PERIO);
            (periodic && urr.measurement_period.is_none()).then_some(64)
        };
    }
    /// Create QER (IE 7): gates and bit rates.
    CreateQer {
        109 => qer_id: M QerId, "Rule id within the session.";
        28 => qer_correlation_id: C QerCorrelationId, "Correlation id. Rules with the same id share their rates across sessions.";
        25 => gate_status: M GateStatus, "Gate status: whether packets may pass.";
        26 => maximum_bit_rate: C BitRates, "Maximum bit rate.";
        27 => guaranteed_bit_rate: C BitRates, "Guaranteed bit rate.";
        124 => qfi: C Qfi, "QoS flow identifier for marking.";
        123 => rqi: C Rqi, "Reflective QoS.";
        158 => paging_policy_indicator: C PagingPolicyIndicator, "Paging policy.";
        157 => averaging_window: O AveragingWindow, "Time over which rates are averaged.";
    }
    /// Create BAR (IE 85): buffering of downlink packets.
    CreateBar {
        88 => bar_id: M BarId, "Rule id within the session.";
        46 => notification_delay: C NotificationDelay, "Delay before the control plane is notified.";
        48 => suggested_packet_count: C SuggestedPacketCount, "Number of packets to buffer.";
        140 => suggested_buffering: O SuggestedBufferingCount, "Number of packets to buffer, per direction.";
    }
    /// Created PDR (IE 8): values that the user plane chose for a rule.
    CreatedPdr {
        56 => pdr_id: M PdrId, "Rule id within the session.";
        21 => f_teid: C FTeid, "Local tunnel endpoint.";
        93 => ue_ip_addresses: List UeIpAddress, "Addresses of the UE.";
    }
}
