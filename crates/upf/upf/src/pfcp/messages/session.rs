//! Session messages (§7.5), with SEID.
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// PFCP Session Establishment Request (§7.5.2).
    SessionEstablishmentRequest {
        60 => node_id: M NodeId, "Node id of the control plane.";
        57 => cp_f_seid: M FSeid, "F-SEID of the control plane.";
        1 => create_pdrs: List1 CreatePdr, "Packet detection rules.";
        3 => create_fars: List1 CreateFar, "Forwarding action rules.";
        6 => create_urrs: List CreateUrr, "Usage reporting rules.";
        7 => create_qers: List CreateQer, "QoS enforcement rules.";
        85 => create_bar: O CreateBar, "Buffering action rule.";
        113 => pdn_type: C PdnType, "PDN type: IP versions.";
        65 => fq_csids: List FqCsid, "Session sets that the session belongs to.";
        117 => inactivity_timer: O Seconds, "Inactivity timer.";
        159 => apn_dnn: O NetworkName, "Data network name.";
    }
    /// PFCP Session Establishment Response (§7.5.3).
    SessionEstablishmentResponse {
        60 => node_id: M NodeId, "Node id of the user plane.";
        19 => cause: M Cause, "Cause: accepted or rejected.";
        40 => offending_ie: C OffendingIe, "Offending element.";
        57 => up_f_seid: C FSeid, "F-SEID of the user plane.";
        8 => created_pdrs: List CreatedPdr, "Values chosen by the user plane.";
        114 => failed_rule_id: C FailedRuleId, "Rule that could not be created.";
        check |response: &SessionEstablishmentResponse| {
            (response.cause.is_accepted() && response.up_f_seid.is_none()).then_some(57)
        };
    }
    /// PFCP Session Modification Request (§7.5.4).
    SessionModificationRequest {
        57 => cp_f_seid: C FSeid, "New F-SEID of the control plane, if it changes.";
        15 => remove_pdrs: List RemovePdr, "Packet detection rules to remove.";
        16 => remove_fars: List RemoveFar, "Forwarding action rules to remove.";
        17 => remove_urrs: List RemoveUrr, "Usage reporting rules to remove.";
        18 => remove_qers: List RemoveQer, "QoS enforcement rules to remove.";
        87 => remove_bar: C RemoveBar, "Buffering action rule to remove.";
        1 => create_pdrs: List CreatePdr, "Packet detection rules to create.";
        3 => create_fars: List CreateFar, "Forwarding action rules to create.";
        6 => create_urrs: List CreateUrr, "Usage reporting rules to create.";
        7 => create_qers: List CreateQer, "QoS enforcement rules to create.";
        85 => create_bar: C CreateBar, "Buffering action rule to create.";
        9 => update_pdrs: List UpdatePdr, "Packet detection rules to update.";
        10 => update_fars: List UpdateFar, "Forwarding action rules to update.";
        13 => update_urrs: List UpdateUrr, "Usage reporting rules to update.";
        14 => update_qers: List UpdateQer, "QoS enforcement rules to update.";
        86 => update_bar: C UpdateBar, "Buffering action rule to update.";
        49 => sm_req_flags: C SmReqFlags, "Request flags: drop buffered packets, report all.";
        77 => query_urrs: List QueryUrr, "Usage reporting rules that must report now.";
        60 => node_id: C NodeId, "New node id of the control plane, if it changes.";
        117 => inactivity_timer: C Seconds, "Inactivity timer.";
    }
    /// PFCP Session Modification Response (§7.5.5).
    SessionModificationResponse {
        19 => cause: M Cause, "Cause: accepted or rejected.";
        40 => offending_ie: C OffendingIe, "Offending element.";
        8 => created_pdrs: List CreatedPdr, "Values chosen by the user plane.";
        78 => usage_reports: List UsageReport, "Usage reports requested by the modification.";
        114 => failed_rule_id: C FailedRuleId, "Rule that could not be updated.";
    }
    /// PFCP Session Deletion Request (§7.5.6).
    SessionDeletionRequest {
        60 => node_id: O NodeId, "Node id of another SMF that deletes the session (later releases).";
        57 => cp_f_seid: O FSeid, "F-SEID of another SMF that deletes the session (later releases).";
    }
    /// PFCP Session Deletion Response (§7.5.7).
    SessionDeletionResponse {
        19 => cause: M Cause, "Cause: accepted or rejected.";
        40 => offending_ie: C OffendingIe, "Offending element.";
        79 => usage_reports: List UsageReport, "Usage up to the deletion.";
    }
    /// PFCP Session Report Request (§7.5.8).
    SessionReportRequest {
        39 => report_type: M ReportType, "Type of the report.";
        83 => downlink_data_report: C DownlinkDataReport, "Downlink data report: packets are buffered.";
        80 => usage_reports: List UsageReport, "Usage reports.";
        99 => error_indication_report: C ErrorIndicationReport, "Error indication report: the peer does not know the tunnel.";
        check |report: &SessionReportRequest| {
            let missing = |flag, there: bool| report.report_type.contains(flag) && !there;
            let data = missing(ReportType::DLDR, report.downlink_data_report.is_some()).then_some(83);
            let usage = missing(ReportType::USAR, !report.usage_reports.is_empty()).then_some(80);
            let error = missing(ReportType::ERIR, report.error_indication_report.is_some()).then_some(99);
            data.or(usage).or(error)
        };
    }
    /// PFCP Session Report Response (§7.5.9).
    SessionReportResponse {
        19 => cause: M Cause, "Cause: accepted or rejected.";
        40 => offending_ie: C OffendingIe, "Offending element.";
        12 => update_bar: C UpdateBar, "New buffering parameters.";
        50 => sr_rsp_flags: C SrRspFlags, "Response flags. DROBU requests to drop buffered packets.";
        57 => cp_f_seid: O FSeid, "New F-SEID of the control plane, if it changes.";
    }
}
