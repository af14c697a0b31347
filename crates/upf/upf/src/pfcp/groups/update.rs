//! Grouped elements that modify, remove or query rules (§7.5.4).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Update PDR (IE 9).
    UpdatePdr {
        56 => pdr_id: M PdrId, "Rule id.";
        95 => outer_header_removal: C OuterHeaderRemoval, "New removal of the tunnel header.";
        29 => precedence: C Precedence, "New precedence.";
        2 => pdi: C Pdi, "New packet detection information, which replaces the previous one completely.";
        108 => far_id: C FarId, "New forwarding action rule.";
        81 => urr_ids: List UrrId, "New list of usage reporting rules, which replaces the previous list.";
        109 => qer_ids: List QerId, "New list of QoS enforcement rules, which replaces the previous list.";
        106 => activate_predefined_rules: List Opaque, "Predefined rules to activate, by name.";
        107 => deactivate_predefined_rules: List Opaque, "Predefined rules to deactivate, by name.";
    }
    /// Update FAR (IE 10). A handover also uses it to set another tunnel.
    UpdateFar {
        108 => far_id: M FarId, "Rule id.";
        44 => apply_action: C ApplyAction, "New action on packets.";
        11 => update_forwarding_parameters: C UpdateForwardingParameters, "Changed forwarding parameters.";
        88 => bar_id: C BarId, "New buffering parameters.";
    }
    /// Update Forwarding Parameters (IE 11).
    UpdateForwardingParameters {
        42 => destination_interface: C Interface, "Destination interface.";
        22 => network_instance: C NetworkName, "Network instance.";
        84 => outer_header_creation: C OuterHeaderCreation, "Outer header to create.";
        30 => transport_level_marking: C TransportLevelMarking, "Transport level marking (DSCP).";
        49 => sm_req_flags: C SmReqFlags, "Flags of the request. SNDEM requests end markers into the old tunnel.";
        160 => destination_interface_type: C InterfaceType, "3GPP interface type.";
    }
    /// Update URR (IE 13).
    UpdateUrr {
        81 => urr_id: M UrrId, "Rule id.";
        62 => measurement_method: C MeasurementMethod, "New measurement method.";
        37 => reporting_triggers: C ReportingTriggers, "New reporting triggers.";
        64 => measurement_period: C Seconds, "New interval of periodic reports.";
        31 => volume_threshold: C Volume, "New bytes until a report.";
        73 => volume_quota: C Volume, "New bytes until packets are dropped.";
        32 => time_threshold: C Seconds, "New seconds until a report.";
        74 => time_quota: C Seconds, "New seconds until packets are dropped.";
        71 => quota_holding_time: C Seconds, "New seconds without packets until a report.";
        181 => quota_validity_time: C Seconds, "New seconds after a grant until a report.";
        36 => inactivity_detection_time: C Seconds, "New seconds without packets after which time is not measured.";
        149 => event_threshold: C Events, "New events until a report.";
        148 => event_quota: C Events, "New events until packets are dropped.";
        82 => linked_urr_ids: List UrrId, "New linked usage reporting rules.";
        100 => measurement_information: C MeasurementInformation, "New measurement information.";
        changes CreateUrr;
    }
    /// Update QER (IE 14).
    UpdateQer {
        109 => qer_id: M QerId, "Rule id.";
        28 => qer_correlation_id: C QerCorrelationId, "New correlation id.";
        25 => gate_status: C GateStatus, "New gate status.";
        26 => maximum_bit_rate: C BitRates, "New maximum bit rate.";
        27 => guaranteed_bit_rate: C BitRates, "New guaranteed bit rate.";
        124 => qfi: C Qfi, "New QoS flow identifier for marking.";
        123 => rqi: C Rqi, "New reflective QoS indication.";
        158 => paging_policy_indicator: C PagingPolicyIndicator, "New paging policy.";
        157 => averaging_window: O AveragingWindow, "New time over which rates are averaged.";
        changes CreateQer;
    }
    /// Update BAR (IE 86 in a modification, 12 in the response to a report).
    UpdateBar {
        88 => bar_id: M BarId, "Rule id.";
        46 => notification_delay: C NotificationDelay, "New delay before the control plane is notified.";
        47 => buffering_duration: C ShortTimer, "Buffering duration.";
        48 => suggested_packet_count: C SuggestedPacketCount, "New number of packets to buffer.";
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
