//! Messages about a session (§7.5): with SEID.
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// PFCP Session Establishment Request (§7.5.2).
    SessionEstablishmentRequest {
        60 => node_id: M NodeId, "The control plane.";
        57 => cp_f_seid: M FSeid, "What it calls the session.";
        1 => create_pdrs: List1 CreatePdr, "Which packets.";
        3 => create_fars: List1 CreateFar, "What happens to them.";
        6 => create_urrs: List CreateUrr, "How they are counted.";
        7 => create_qers: List CreateQer, "How they are policed.";
        85 => create_bar: O CreateBar, "How they are buffered.";
        113 => pdn_type: C PdnType, "Versions of IP.";
        65 => fq_csids: List FqCsid, "Sets that the session belongs to.";
        117 => inactivity_timer: O Seconds, "Inactivity to be reported.";
        159 => apn_dnn: O NetworkName, "Data network.";
    }
    /// PFCP Session Establishment Response (§7.5.3).
    SessionEstablishmentResponse {
        60 => node_id: M NodeId, "The user plane.";
        19 => cause: M Cause, "Whether it agrees.";
        40 => offending_ie: C OffendingIe, "What is to blame.";
        57 => up_f_seid: C FSeid, "What the user plane calls the session.";
        8 => created_pdrs: List CreatedPdr, "What it chose.";
        114 => failed_rule_id: C FailedRuleId, "The rule that could not be made.";
        check |response: &SessionEstablishmentResponse| {
            (response.cause.is_accepted() && response.up_f_seid.is_none()).then_some(57)
        };
    }
    /// PFCP Session Modification Request (§7.5.4).
    SessionModificationRequest {
        57 => cp_f_seid: C FSeid, "If it changes.";
        15 => remove_pdrs: List RemovePdr, "Rules that go.";
        16 => remove_fars: List RemoveFar, "Rules that go.";
        17 => remove_urrs: List RemoveUrr, "Rules that go.";
        18 => remove_qers: List RemoveQer, "Rules that go.";
        87 => remove_bar: C RemoveBar, "A rule that goes.";
        1 => create_pdrs: List CreatePdr, "Rules that come.";
        3 => create_fars: List CreateFar, "Rules that come.";
        6 => create_urrs: List CreateUrr, "Rules that come.";
        7 => create_qers: List CreateQer, "Rules that come.";
        85 => create_bar: C CreateBar, "A rule that comes.";
        9 => update_pdrs: List UpdatePdr, "Rules that change.";
        10 => update_fars: List UpdateFar, "Rules that change.";
        13 => update_urrs: List UpdateUrr, "Rules that change.";
        14 => update_qers: List UpdateQer, "Rules that change.";
        86 => update_bar: C UpdateBar, "A rule that changes.";
        49 => sm_req_flags: C SmReqFlags, "Drop what is buffered, report all.";
        77 => query_urrs: List QueryUrr, "Rules that shall report now.";
        60 => node_id: C NodeId, "If the control plane changes.";
        117 => inactivity_timer: C Seconds, "Inactivity to be reported.";
    }
    /// PFCP Session Modification Response (§7.5.5).
    SessionModificationResponse {
        19 => cause: M Cause, "Whether it agrees.";
        40 => offending_ie: C OffendingIe, "What is to blame.";
        8 => created_pdrs: List CreatedPdr, "What the user plane chose.";
        78 => usage_reports: List UsageReport, "What was asked for.";
        114 => failed_rule_id: C FailedRuleId, "The rule that could not be changed.";
    }
    /// PFCP Session Deletion Request (§7.5.6).
    SessionDeletionRequest {
        60 => node_id: O NodeId, "Of later releases, where another control plane deletes.";
        57 => cp_f_seid: O FSeid, "Of later releases, where another control plane deletes.";
    }
    /// PFCP Session Deletion Response (§7.5.7).
    SessionDeletionResponse {
        19 => cause: M Cause, "Whether it agrees.";
        40 => offending_ie: C OffendingIe, "What is to blame.";
        79 => usage_reports: List UsageReport, "The last measurements.";
    }
    /// PFCP Session Report Request (§7.5.8).
    SessionReportRequest {
        39 => report_type: M ReportType, "What is reported.";
        83 => downlink_data_report: C DownlinkDataReport, "Packets wait.";
        80 => usage_reports: List UsageReport, "Measurements.";
        99 => error_indication_report: C ErrorIndicationReport, "A tunnel's peer does not know it.";
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
        19 => cause: M Cause, "Whether it agrees.";
        40 => offending_ie: C OffendingIe, "What is to blame.";
        12 => update_bar: C UpdateBar, "How to buffer from now on.";
        50 => sr_rsp_flags: C SrRspFlags, "Drop what is buffered.";
        57 => cp_f_seid: O FSeid, "If the control plane's changes.";
    }
}
