//! Rules as they are created (§7.5.2).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Create PDR (IE 1): which packets a rule is about, and what happens to them.
    CreatePdr {
        /// Its name within the session.
        56 => pdr_id: M PdrId,
        /// The lowest value is tried first.
        29 => precedence: M Precedence,
        /// What the packets look like.
        2 => pdi: M Pdi,
        /// To strip the tunnel.
        95 => outer_header_removal: C OuterHeaderRemoval,
        /// What happens to the packets.
        108 => far_id: C FarId,
        /// How they are counted.
        81 => urr_ids: List UrrId,
        /// How they are policed.
        109 => qer_ids: List QerId,
        /// Rules that the user plane has under a name.
        106 => activate_predefined_rules: List Opaque,
    }
    check |pdr: &CreatePdr| {
        // A multi-access rule (IE 170) takes the place of a FAR.
        let other_action = pdr.others.iter().any(|ie| ie.ie_type == 170);
        (pdr.far_id.is_none() && pdr.activate_predefined_rules.is_empty() && !other_action).then_some(108)
    }
}

table! {
    /// PDI (IE 2): packet detection information.
    Pdi {
        /// Where packets come from.
        20 => source_interface: M Interface,
        /// Through which tunnel.
        21 => f_teid: O FTeid,
        /// Through which network.
        22 => network_instance: O NetworkName,
        /// Of which UE.
        93 => ue_ip_addresses: List UeIpAddress,
        /// Of which flows.
        23 => sdf_filters: List SdfFilter,
        /// Of which application.
        24 => application_id: O Opaque,
        /// Of which QoS flows.
        124 => qfis: List Qfi,
        /// Through which reference point.
        160 => source_interface_type: O InterfaceType,
    }
}

table! {
    /// Create FAR (IE 3): forward, drop or buffer.
    CreateFar {
        /// Its name within the session.
        108 => far_id: M FarId,
        /// What to do.
        44 => apply_action: M ApplyAction,
        /// Where to, if forwarded.
        4 => forwarding_parameters: C ForwardingParameters,
        /// How to buffer.
        88 => bar_id: O BarId,
    }
    check |far: &CreateFar| {
        (far.apply_action.contains(ApplyAction::FORW) && far.forwarding_parameters.is_none()).then_some(4)
    }
}

table! {
    /// Forwarding Parameters (IE 4).
    ForwardingParameters {
        /// Where packets go.
        42 => destination_interface: M Interface,
        /// Through which network.
        22 => network_instance: O NetworkName,
        /// In which tunnel.
        84 => outer_header_creation: C OuterHeaderCreation,
        /// With which DSCP.
        30 => transport_level_marking: C TransportLevelMarking,
        /// Through which reference point.
        160 => destination_interface_type: O InterfaceType,
    }
}

table! {
    /// Create URR (IE 6): what to measure and when to report.
    CreateUrr {
        /// Its name within the session.
        81 => urr_id: M UrrId,
        /// What to measure.
        62 => measurement_method: M MeasurementMethod,
        /// When to report.
        37 => reporting_triggers: M ReportingTriggers,
        /// Between periodic reports.
        64 => measurement_period: C Seconds,
        /// Octets until a report.
        31 => volume_threshold: C Volume,
        /// Octets until packets are stopped.
        73 => volume_quota: C Volume,
        /// Seconds until a report.
        32 => time_threshold: C Seconds,
        /// Seconds until packets are stopped.
        74 => time_quota: C Seconds,
        /// Seconds without packets until a report.
        71 => quota_holding_time: C Seconds,
        /// Rules whose report makes this one report.
        82 => linked_urr_ids: List UrrId,
        /// How to measure.
        100 => measurement_information: C MeasurementInformation,
    }
    check |urr: &CreateUrr| {
        let periodic = urr.reporting_triggers.contains(ReportingTriggers::PERIO);
        (periodic && urr.measurement_period.is_none()).then_some(64)
    }
}

table! {
    /// Create QER (IE 7): gates and bit rates.
    CreateQer {
        /// Its name within the session.
        109 => qer_id: M QerId,
        /// Rules with the same number share their rates across sessions.
        28 => qer_correlation_id: C QerCorrelationId,
        /// Whether packets may pass.
        25 => gate_status: M GateStatus,
        /// Maximum bit rate.
        26 => maximum_bit_rate: C BitRates,
        /// Guaranteed bit rate.
        27 => guaranteed_bit_rate: C BitRates,
        /// QoS flow that packets are marked with.
        124 => qfi: C Qfi,
        /// Reflective QoS.
        123 => rqi: C Rqi,
        /// Paging policy.
        158 => paging_policy_indicator: C PagingPolicyIndicator,
        /// Time over which rates are averaged.
        157 => averaging_window: O AveragingWindow,
    }
}

table! {
    /// Create BAR (IE 85): how downlink packets are buffered.
    CreateBar {
        /// Its name within the session.
        88 => bar_id: M BarId,
        /// Delay before the control plane is notified.
        46 => notification_delay: C NotificationDelay,
        /// How many packets to keep.
        48 => suggested_packet_count: C SuggestedPacketCount,
    }
}

table! {
    /// Created PDR (IE 8): what the user plane chose for a rule.
    CreatedPdr {
        /// The rule.
        56 => pdr_id: M PdrId,
        /// Its tunnel.
        21 => f_teid: C FTeid,
        /// The UE's address.
        93 => ue_ip_addresses: List UeIpAddress,
    }
}
