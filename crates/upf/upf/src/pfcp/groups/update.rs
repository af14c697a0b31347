//! Modification and removal of rules (§7.5.4).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Update PDR (IE 9).
    UpdatePdr {
        56 => pdr_id: M PdrId, "Rule id.";
        95 => outer_header_removal: C OuterHeaderRemoval, "See the creation of the rule.";
        29 => precedence: C Precedence, "See the creation of the rule.";
        2 => pdi: C Pdi, "Replaces the whole detection information.";
        108 => far_id: C FarId, "See the creation of the rule.";
        81 => urr_ids: List UrrId, "Replaces the whole list.";
        109 => qer_ids: List QerId, "Replaces the whole list.";
        106 => activate_predefined_rules: List Opaque, "See the creation of the rule.";
        107 => deactivate_predefined_rules: List Opaque, "No longer active.";
    }
    /// Update FAR (IE 10): also used for a handover, with another tunnel.
    UpdateFar {
        108 => far_id: M FarId, "Rule id.";
        44 => apply_action: C ApplyAction, "See the creation of the rule.";
        11 => update_forwarding_parameters: C UpdateForwardingParameters, "Changed forwarding parameters.";
        88 => bar_id: C BarId, "See the creation of the rule.";
    }
    /// Update Forwarding Parameters (IE 11).
    UpdateForwardingParameters {
        42 => destination_interface: C Interface, "Destination interface.";
        22 => network_instance: C NetworkName, "Network instance.";
        84 => outer_header_creation: C OuterHeaderCreation, "Outer header to create.";
        30 => transport_level_marking: C TransportLevelMarking, "Transport level marking (DSCP).";
        49 => sm_req_flags: C SmReqFlags, "SNDEM: end markers into the old tunnel.";
        160 => destination_interface_type: C InterfaceType, "3GPP interface type.";
    }
    /// Update URR (IE 13).
    UpdateUrr {
        81 => urr_id: M UrrId, "Rule id.";
        62 => measurement_method: C MeasurementMethod, "See the creation of the rule.";
        37 => reporting_triggers: C ReportingTriggers, "See the creation of the rule.";
        64 => measurement_period: C Seconds, "See the creation of the rule.";
        31 => volume_threshold: C Volume, "See the creation of the rule.";
        73 => volume_quota: C Volume, "See the creation of the rule.";
        32 => time_threshold: C Seconds, "See the creation of the rule.";
        74 => time_quota: C Seconds, "See the creation of the rule.";
        71 => quota_holding_time: C Seconds, "See the creation of the rule.";
        181 => quota_validity_time: C Seconds, "See the creation of the rule.";
        36 => inactivity_detection_time: C Seconds, "See the creation of the rule.";
        149 => event_threshold: C Events, "See the creation of the rule.";
        148 => event_quota: C Events, "See the creation of the rule.";
        82 => linked_urr_ids: List UrrId, "See the creation of the rule.";
        100 => measurement_information: C MeasurementInformation, "See the creation of the rule.";
    }
    /// Update QER (IE 14).
    UpdateQer {
        109 => qer_id: M QerId, "Rule id.";
        28 => qer_correlation_id: C QerCorrelationId, "See the creation of the rule.";
        25 => gate_status: C GateStatus, "See the creation of the rule.";
        26 => maximum_bit_rate: C BitRates, "See the creation of the rule.";
        27 => guaranteed_bit_rate: C BitRates, "See the creation of the rule.";
        124 => qfi: C Qfi, "See the creation of the rule.";
        123 => rqi: C Rqi, "See the creation of the rule.";
        158 => paging_policy_indicator: C PagingPolicyIndicator, "See the creation of the rule.";
        157 => averaging_window: O AveragingWindow, "See the creation of the rule.";
    }
    /// Update BAR (IE 86 in a modification, 12 in the response to a report).
    UpdateBar {
        88 => bar_id: M BarId, "Rule id.";
        46 => notification_delay: C NotificationDelay, "See the creation of the rule.";
        47 => buffering_duration: C ShortTimer, "Buffering duration.";
        48 => suggested_packet_count: C SuggestedPacketCount, "See the creation of the rule.";
    }
    /// Remove PDR (IE 15).
    RemovePdr {
        56 => pdr_id: M PdrId, "Rule id.";
    }
    /// Remove FAR (IE 16).
    RemoveFar {
        108 => far_id: M FarId, "Rule id.";
    }
    /// Remove URR (IE 17).
    RemoveUrr {
        81 => urr_id: M UrrId, "Rule id.";
    }
    /// Remove QER (IE 18).
    RemoveQer {
        109 => qer_id: M QerId, "Rule id.";
    }
    /// Remove BAR (IE 87).
    RemoveBar {
        88 => bar_id: M BarId, "Rule id.";
    }
    /// Query URR (IE 77): requests an immediate report.
    QueryUrr {
        81 => urr_id: M UrrId, "Rule id.";
    }
}
