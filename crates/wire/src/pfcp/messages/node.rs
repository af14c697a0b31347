//! Messages between nodes (§7.4): no SEID.
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// PFCP Heartbeat Request (§7.4.2.1).
    HeartbeatRequest {
        /// When the sender started.
        96 => recovery_time_stamp: M RecoveryTimeStamp,
    }
}

table! {
    /// PFCP Heartbeat Response (§7.4.2.2).
    HeartbeatResponse {
        /// When the sender started.
        96 => recovery_time_stamp: M RecoveryTimeStamp,
    }
}

table! {
    /// PFCP Association Setup Request (§7.4.4.1).
    AssociationSetupRequest {
        /// The sender.
        60 => node_id: M NodeId,
        /// When the sender started.
        96 => recovery_time_stamp: M RecoveryTimeStamp,
        /// What the sender can, if it is a user plane.
        43 => up_function_features: C UpFunctionFeatures,
        /// What the sender can, if it is a control plane.
        89 => cp_function_features: C CpFunctionFeatures,
    }
}

table! {
    /// PFCP Association Setup Response (§7.4.4.2).
    AssociationSetupResponse {
        /// The sender.
        60 => node_id: M NodeId,
        /// Whether it agrees.
        19 => cause: M Cause,
        /// When the sender started.
        96 => recovery_time_stamp: M RecoveryTimeStamp,
        /// What the sender can, if it is a user plane.
        43 => up_function_features: C UpFunctionFeatures,
        /// What the sender can, if it is a control plane.
        89 => cp_function_features: C CpFunctionFeatures,
    }
}

table! {
    /// PFCP Association Update Request (§7.4.4.3).
    AssociationUpdateRequest {
        /// The sender.
        60 => node_id: M NodeId,
        /// What it can now.
        43 => up_function_features: O UpFunctionFeatures,
        /// What it can now.
        89 => cp_function_features: O CpFunctionFeatures,
        /// It asks to be released.
        111 => association_release_request: C AssociationReleaseRequest,
        /// How long it waits for that.
        112 => graceful_release_period: C ShortTimer,
    }
}

table! {
    /// PFCP Association Update Response (§7.4.4.4).
    AssociationUpdateResponse {
        /// The sender.
        60 => node_id: M NodeId,
        /// Whether it agrees.
        19 => cause: M Cause,
        /// What it can now.
        43 => up_function_features: O UpFunctionFeatures,
        /// What it can now.
        89 => cp_function_features: O CpFunctionFeatures,
    }
}

table! {
    /// PFCP Association Release Request (§7.4.4.5).
    AssociationReleaseRequestMessage {
        /// The sender.
        60 => node_id: M NodeId,
    }
}

table! {
    /// PFCP Association Release Response (§7.4.4.6).
    AssociationReleaseResponse {
        /// The sender.
        60 => node_id: M NodeId,
        /// Whether it agrees.
        19 => cause: M Cause,
    }
}

table! {
    /// PFCP Version Not Supported Response (§7.4.4.7).
    VersionNotSupportedResponse {
    }
}

table! {
    /// PFCP Node Report Request (§7.4.5.1).
    NodeReportRequest {
        /// The sender.
        60 => node_id: M NodeId,
        /// What it reports.
        101 => node_report_type: M NodeReportType,
        /// Peers that do not answer.
        102 => path_failure_report: C PathReport,
        /// Peers that answer again.
        187 => path_recovery_report: C PathReport,
    }
    check |report: &NodeReportRequest| {
        let missing = |flag, there: bool| report.node_report_type.contains(flag) && !there;
        let failure = missing(NodeReportType::UPFR, report.path_failure_report.is_some()).then_some(102);
        failure.or_else(|| missing(NodeReportType::UPRR, report.path_recovery_report.is_some()).then_some(187))
    }
}

table! {
    /// PFCP Node Report Response (§7.4.5.2).
    NodeReportResponse {
        /// The sender.
        60 => node_id: M NodeId,
        /// Whether it agrees.
        19 => cause: M Cause,
        /// What is to blame.
        40 => offending_ie: C OffendingIe,
    }
}

table! {
    /// PFCP Session Set Deletion Request (§7.4.6.1).
    SessionSetDeletionRequest {
        /// The sender.
        60 => node_id: M NodeId,
        /// Which sessions.
        65 => fq_csids: List FqCsid,
    }
}

table! {
    /// PFCP Session Set Deletion Response (§7.4.6.2).
    SessionSetDeletionResponse {
        /// The sender.
        60 => node_id: M NodeId,
        /// Whether it agrees.
        19 => cause: M Cause,
        /// What is to blame.
        40 => offending_ie: C OffendingIe,
    }
}
