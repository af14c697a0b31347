//! Rules as they change and go (§7.5.4).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Update PDR (IE 9).
    UpdatePdr {
        56 => pdr_id: M PdrId, "Which rule.";
        95 => outer_header_removal: C OuterHeaderRemoval, "As at creation.";
        29 => precedence: C Precedence, "As at creation.";
        2 => pdi: C Pdi, "Replaces the whole detection information.";
        108 => far_id: C FarId, "As at creation.";
        81 => urr_ids: List UrrId, "Replaces the whole list.";
        109 => qer_ids: List QerId, "Replaces the whole list.";
        106 => activate_predefined_rules: List Opaque, "As at creation.";
        107 => deactivate_predefined_rules: List Opaque, "No longer active.";
    }
    /// Update FAR (IE 10): also the handover, with another tunnel.
    UpdateFar {
        108 => far_id: M FarId, "Which rule.";
        44 => apply_action: C ApplyAction, "As at creation.";
        11 => update_forwarding_parameters: C UpdateForwardingParameters, "What changes about the way.";
        88 => bar_id: C BarId, "As at creation.";
    }
    /// Update Forwarding Parameters (IE 11).
    UpdateForwardingParameters {
        42 => destination_interface: C Interface, "Where packets go.";
        22 => network_instance: C NetworkName, "Through which network.";
        84 => outer_header_creation: C OuterHeaderCreation, "In which tunnel.";
        30 => transport_level_marking: C TransportLevelMarking, "With which DSCP.";
        49 => sm_req_flags: C SmReqFlags, "SNDEM: end markers into the old tunnel.";
        160 => destination_interface_type: C InterfaceType, "Through which reference point.";
    }
    /// Update URR (IE 13).
    UpdateUrr {
        81 => urr_id: M UrrId, "Which rule.";
        62 => measurement_method: C MeasurementMethod, "As at creation.";
        37 => reporting_triggers: C ReportingTriggers, "As at creation.";
        64 => measurement_period: C Seconds, "As at creation.";
        31 => volume_threshold: C Volume, "As at creation.";
        73 => volume_quota: C Volume, "As at creation.";
        32 => time_threshold: C Seconds, "As at creation.";
        74 => time_quota: C Seconds, "As at creation.";
        71 => quota_holding_time: C Seconds, "As at creation.";
        82 => linked_urr_ids: List UrrId, "As at creation.";
        100 => measurement_information: C MeasurementInformation, "As at creation.";
    }
    /// Update QER (IE 14).
    UpdateQer {
        109 => qer_id: M QerId, "Which rule.";
        28 => qer_correlation_id: C QerCorrelationId, "As at creation.";
        25 => gate_status: C GateStatus, "As at creation.";
        26 => maximum_bit_rate: C BitRates, "As at creation.";
        27 => guaranteed_bit_rate: C BitRates, "As at creation.";
        124 => qfi: C Qfi, "As at creation.";
        123 => rqi: C Rqi, "As at creation.";
        158 => paging_policy_indicator: C PagingPolicyIndicator, "As at creation.";
        157 => averaging_window: O AveragingWindow, "As at creation.";
    }
    /// Update BAR (IE 86 in a modification, 12 in the response to a report).
    UpdateBar {
        88 => bar_id: M BarId, "Which rule.";
        46 => notification_delay: C NotificationDelay, "As at creation.";
        47 => buffering_duration: C ShortTimer, "How long to keep packets.";
        48 => suggested_packet_count: C SuggestedPacketCount, "As at creation.";
    }
    /// Remove PDR (IE 15).
    RemovePdr {
        56 => pdr_id: M PdrId, "Which rule.";
    }
    /// Remove FAR (IE 16).
    RemoveFar {
        108 => far_id: M FarId, "Which rule.";
    }
    /// Remove URR (IE 17).
    RemoveUrr {
        81 => urr_id: M UrrId, "Which rule.";
    }
    /// Remove QER (IE 18).
    RemoveQer {
        109 => qer_id: M QerId, "Which rule.";
    }
    /// Remove BAR (IE 87).
    RemoveBar {
        88 => bar_id: M BarId, "Which rule.";
    }
    /// Query URR (IE 77): report now.
    QueryUrr {
        81 => urr_id: M UrrId, "Which rule.";
    }
}
