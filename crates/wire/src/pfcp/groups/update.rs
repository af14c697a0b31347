//! Rules as they change and go (§7.5.4).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Update PDR (IE 9).
    UpdatePdr {
        /// Which rule.
        56 => pdr_id: M PdrId,
        /// As at creation.
        95 => outer_header_removal: C OuterHeaderRemoval,
        /// As at creation.
        29 => precedence: C Precedence,
        /// Replaces the whole detection information.
        2 => pdi: C Pdi,
        /// As at creation.
        108 => far_id: C FarId,
        /// Replaces the whole list.
        81 => urr_ids: List UrrId,
        /// Replaces the whole list.
        109 => qer_ids: List QerId,
        /// As at creation.
        106 => activate_predefined_rules: List Opaque,
        /// No longer active.
        107 => deactivate_predefined_rules: List Opaque,
    }
}

table! {
    /// Update FAR (IE 10): also the handover, with another tunnel.
    UpdateFar {
        /// Which rule.
        108 => far_id: M FarId,
        /// As at creation.
        44 => apply_action: C ApplyAction,
        /// What changes about the way.
        11 => update_forwarding_parameters: C UpdateForwardingParameters,
        /// As at creation.
        88 => bar_id: C BarId,
    }
}

table! {
    /// Update Forwarding Parameters (IE 11).
    UpdateForwardingParameters {
        /// Where packets go.
        42 => destination_interface: C Interface,
        /// Through which network.
        22 => network_instance: C NetworkName,
        /// In which tunnel.
        84 => outer_header_creation: C OuterHeaderCreation,
        /// With which DSCP.
        30 => transport_level_marking: C TransportLevelMarking,
        /// SNDEM: end markers into the old tunnel.
        49 => sm_req_flags: C SmReqFlags,
        /// Through which reference point.
        160 => destination_interface_type: C InterfaceType,
    }
}

table! {
    /// Update URR (IE 13).
    UpdateUrr {
        /// Which rule.
        81 => urr_id: M UrrId,
        /// As at creation.
        62 => measurement_method: C MeasurementMethod,
        /// As at creation.
        37 => reporting_triggers: C ReportingTriggers,
        /// As at creation.
        64 => measurement_period: C Seconds,
        /// As at creation.
        31 => volume_threshold: C Volume,
        /// As at creation.
        73 => volume_quota: C Volume,
        /// As at creation.
        32 => time_threshold: C Seconds,
        /// As at creation.
        74 => time_quota: C Seconds,
        /// As at creation.
        71 => quota_holding_time: C Seconds,
        /// As at creation.
        82 => linked_urr_ids: List UrrId,
        /// As at creation.
        100 => measurement_information: C MeasurementInformation,
    }
}

table! {
    /// Update QER (IE 14).
    UpdateQer {
        /// Which rule.
        109 => qer_id: M QerId,
        /// As at creation.
        28 => qer_correlation_id: C QerCorrelationId,
        /// As at creation.
        25 => gate_status: C GateStatus,
        /// As at creation.
        26 => maximum_bit_rate: C BitRates,
        /// As at creation.
        27 => guaranteed_bit_rate: C BitRates,
        /// As at creation.
        124 => qfi: C Qfi,
        /// As at creation.
        123 => rqi: C Rqi,
        /// As at creation.
        158 => paging_policy_indicator: C PagingPolicyIndicator,
        /// As at creation.
        157 => averaging_window: O AveragingWindow,
    }
}

table! {
    /// Update BAR (IE 86 in a modification, 12 in the response to a report).
    UpdateBar {
        /// Which rule.
        88 => bar_id: M BarId,
        /// As at creation.
        46 => notification_delay: C NotificationDelay,
        /// How long to keep packets.
        47 => buffering_duration: C ShortTimer,
        /// As at creation.
        48 => suggested_packet_count: C SuggestedPacketCount,
    }
}

table! {
    /// Remove PDR (IE 15).
    RemovePdr {
        /// Which rule.
        56 => pdr_id: M PdrId,
    }
}

table! {
    /// Remove FAR (IE 16).
    RemoveFar {
        /// Which rule.
        108 => far_id: M FarId,
    }
}

table! {
    /// Remove URR (IE 17).
    RemoveUrr {
        /// Which rule.
        81 => urr_id: M UrrId,
    }
}

table! {
    /// Remove QER (IE 18).
    RemoveQer {
        /// Which rule.
        109 => qer_id: M QerId,
    }
}

table! {
    /// Remove BAR (IE 87).
    RemoveBar {
        /// Which rule.
        88 => bar_id: M BarId,
    }
}

table! {
    /// Query URR (IE 77): report now.
    QueryUrr {
        /// Which rule.
        81 => urr_id: M UrrId,
    }
}
