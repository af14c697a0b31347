//! Messages between nodes (§7.4): no SEID.
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// PFCP Heartbeat Request (§7.4.2.1).
    HeartbeatRequest {
        96 => recovery_time_stamp: M RecoveryTimeStamp, "When the sender started.";
    }
    /// PFCP Heartbeat Response (§7.4.2.2).
    HeartbeatResponse {
        96 => recovery_time_stamp: M RecoveryTimeStamp, "When the sender started.";
    }
    /// PFCP Association Setup Request (§7.4.4.1).
    AssociationSetupRequest {
        60 => node_id: M NodeId, "The sender.";
        96 => recovery_time_stamp: M RecoveryTimeStamp, "When the sender started.";
        43 => up_function_features: C UpFunctionFeatures, "What the sender can, if it is a user plane.";
        89 => cp_function_features: C CpFunctionFeatures, "What the sender can, if it is a control plane.";
    }
    /// PFCP Association Setup Response (§7.4.4.2).
    AssociationSetupResponse {
        60 => node_id: M NodeId, "The sender.";
        19 => cause: M Cause, "Whether it agrees.";
        96 => recovery_time_stamp: M RecoveryTimeStamp, "When the sender started.";
        43 => up_function_features: C UpFunctionFeatures, "What the sender can, if it is a user plane.";
        89 => cp_function_features: C CpFunctionFeatures, "What the sender can, if it is a control plane.";
    }
    /// PFCP Association Update Request (§7.4.4.3).
    AssociationUpdateRequest {
        60 => node_id: M NodeId, "The sender.";
        43 => up_function_features: O UpFunctionFeatures, "What it can now.";
        89 => cp_function_features: O CpFunctionFeatures, "What it can now.";
        111 => association_release_request: C AssociationReleaseRequest, "It asks to be released.";
        112 => graceful_release_period: C ShortTimer, "How long it waits for that.";
    }
    /// PFCP Association Update Response (§7.4.4.4).
    AssociationUpdateResponse {
        60 => node_id: M NodeId, "The sender.";
        19 => cause: M Cause, "Whether it agrees.";
        43 => up_function_features: O UpFunctionFeatures, "What it can now.";
        89 => cp_function_features: O CpFunctionFeatures, "What it can now.";
    }
    /// PFCP Association Release Request (§7.4.4.5).
    AssociationReleaseRequestMessage {
        60 => node_id: M NodeId, "The sender.";
    }
    /// PFCP Association Release Response (§7.4.4.6).
    AssociationReleaseResponse {
        60 => node_id: M NodeId, "The sender.";
        19 => cause: M Cause, "Whether it agrees.";
    }
    /// PFCP Version Not Supported Response (§7.4.4.7).
    VersionNotSupportedResponse {}
    /// PFCP Node Report Request (§7.4.5.1).
    NodeReportRequest {
        60 => node_id: M NodeId, "The sender.";
        101 => node_report_type: M NodeReportType, "What it reports.";
        102 => path_failure_report: C PathReport, "Peers that do not answer.";
        187 => path_recovery_report: C PathReport, "Peers that answer again.";
        check |report: &NodeReportRequest| {
            let missing = |flag, there: bool| report.node_report_type.contains(flag) && !there;
            let failure = missing(NodeReportType::UPFR, report.path_failure_report.is_some()).then_some(102);
            failure.or_else(|| missing(NodeReportType::UPRR, report.path_recovery_report.is_some()).then_some(187))
        };
    }
    /// PFCP Node Report Response (§7.4.5.2).
    NodeReportResponse {
        60 => node_id: M NodeId, "The sender.";
        19 => cause: M Cause, "Whether it agrees.";
        40 => offending_ie: C OffendingIe, "What is to blame.";
    }
    /// PFCP Session Set Deletion Request (§7.4.6.1).
    SessionSetDeletionRequest {
        60 => node_id: M NodeId, "The sender.";
        65 => fq_csids: List FqCsid, "Which sessions.";
    }
    /// PFCP Session Set Deletion Response (§7.4.6.2).
    SessionSetDeletionResponse {
        60 => node_id: M NodeId, "The sender.";
        19 => cause: M Cause, "Whether it agrees.";
        40 => offending_ie: C OffendingIe, "What is to blame.";
    }
}
