//! Node messages (§7.4), without SEID.
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// PFCP Heartbeat Request (§7.4.2.1).
    HeartbeatRequest {
        96 => recovery_time_stamp: M RecoveryTimeStamp, "Start time of the sender.";
    }
    /// PFCP Heartbeat Response (§7.4.2.2).
    HeartbeatResponse {
        96 => recovery_time_stamp: M RecoveryTimeStamp, "Start time of the sender.";
    }
    /// PFCP PFD Management Request (§7.4.3.1).
    PfdManagementRequest {
        58 => applications: List ApplicationPfds, "Applications whose descriptions are replaced. Without applications, all descriptions are deleted.";
        60 => node_id: O NodeId, "Node id of the sender.";
    }
    /// PFCP PFD Management Response (§7.4.3.2).
    PfdManagementResponse {
        19 => cause: M Cause, "Cause: accepted or rejected.";
        40 => offending_ie: C OffendingIe, "Offending element.";
        60 => node_id: O NodeId, "Node id of the sender.";
    }
    /// PFCP Association Setup Request (§7.4.4.1).
    AssociationSetupRequest {
        60 => node_id: M NodeId, "Node id of the sender.";
        96 => recovery_time_stamp: M RecoveryTimeStamp, "Start time of the sender.";
        43 => up_function_features: C UpFunctionFeatures, "Features of the sender, if it is a user plane.";
        89 => cp_function_features: C CpFunctionFeatures, "Features of the sender, if it is a control plane.";
    }
    /// PFCP Association Setup Response (§7.4.4.2).
    AssociationSetupResponse {
        60 => node_id: M NodeId, "Node id of the sender.";
        19 => cause: M Cause, "Cause: accepted or rejected.";
        96 => recovery_time_stamp: M RecoveryTimeStamp, "Start time of the sender.";
        43 => up_function_features: C UpFunctionFeatures, "Features of the sender, if it is a user plane.";
        89 => cp_function_features: C CpFunctionFeatures, "Features of the sender, if it is a control plane.";
    }
    /// PFCP Association Update Request (§7.4.4.3).
    AssociationUpdateRequest {
        60 => node_id: M NodeId, "Node id of the sender.";
        43 => up_function_features: O UpFunctionFeatures, "New features of the sender.";
        89 => cp_function_features: O CpFunctionFeatures, "New features of the sender.";
        111 => association_release_request: C AssociationReleaseRequest, "Request to release the association.";
        112 => graceful_release_period: C ShortTimer, "Graceful release period.";
    }
    /// PFCP Association Update Response (§7.4.4.4).
    AssociationUpdateResponse {
        60 => node_id: M NodeId, "Node id of the sender.";
        19 => cause: M Cause, "Cause: accepted or rejected.";
        43 => up_function_features: O UpFunctionFeatures, "New features of the sender.";
        89 => cp_function_features: O CpFunctionFeatures, "New features of the sender.";
    }
    /// PFCP Association Release Request (§7.4.4.5).
    AssociationReleaseRequestMessage {
        60 => node_id: M NodeId, "Node id of the sender.";
    }
    /// PFCP Association Release Response (§7.4.4.6).
    AssociationReleaseResponse {
        60 => node_id: M NodeId, "Node id of the sender.";
        19 => cause: M Cause, "Cause: accepted or rejected.";
    }
    /// PFCP Version Not Supported Response (§7.4.4.7).
    VersionNotSupportedResponse {}
    /// PFCP Node Report Request (§7.4.5.1).
    NodeReportRequest {
        60 => node_id: M NodeId, "Node id of the sender.";
        101 => node_report_type: M NodeReportType, "Type of the report.";
        102 => path_failure_report: C PathReport, "Peers that do not respond.";
        187 => path_recovery_report: C PathReport, "Peers that respond again.";
        check |report: &NodeReportRequest| {
            let missing = |flag, there: bool| report.node_report_type.contains(flag) && !there;
            let failure = missing(NodeReportType::UPFR, report.path_failure_report.is_some()).then_some(102);
            failure.or_else(|| missing(NodeReportType::UPRR, report.path_recovery_report.is_some()).then_some(187))
        };
    }
    /// PFCP Node Report Response (§7.4.5.2).
    NodeReportResponse {
        60 => node_id: M NodeId, "Node id of the sender.";
        19 => cause: M Cause, "Cause: accepted or rejected.";
        40 => offending_ie: C OffendingIe, "Offending element.";
    }
    /// PFCP Session Set Deletion Request (§7.4.6.1).
    SessionSetDeletionRequest {
        60 => node_id: M NodeId, "Node id of the sender.";
        65 => fq_csids: List FqCsid, "Sets of sessions.";
    }
    /// PFCP Session Set Deletion Response (§7.4.6.2).
    SessionSetDeletionResponse {
        60 => node_id: M NodeId, "Node id of the sender.";
        19 => cause: M Cause, "Cause: accepted or rejected.";
        40 => offending_ie: C OffendingIe, "Offending element.";
    }
}
