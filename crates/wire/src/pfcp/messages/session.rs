//! Messages about a session (§7.5): with SEID.
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// PFCP Session Establishment Request (§7.5.2).
    SessionEstablishmentRequest {
        /// The control plane.
        60 => node_id: M NodeId,
        /// What it calls the session.
        57 => cp_f_seid: M FSeid,
        /// Which packets.
        1 => create_pdrs: List1 CreatePdr,
        /// What happens to them.
        3 => create_fars: List1 CreateFar,
        /// How they are counted.
        6 => create_urrs: List CreateUrr,
        /// How they are policed.
        7 => create_qers: List CreateQer,
        /// How they are buffered.
        85 => create_bar: O CreateBar,
        /// Versions of IP.
        113 => pdn_type: C PdnType,
        /// Inactivity to be reported.
        117 => inactivity_timer: O Seconds,
        /// Data network.
        159 => apn_dnn: O NetworkName,
    }
}

table! {
    /// PFCP Session Establishment Response (§7.5.3).
    SessionEstablishmentResponse {
        /// The user plane.
        60 => node_id: M NodeId,
        /// Whether it agrees.
        19 => cause: M Cause,
        /// What is to blame.
        40 => offending_ie: C OffendingIe,
        /// What the user plane calls the session.
        57 => up_f_seid: C FSeid,
        /// What it chose.
        8 => created_pdrs: List CreatedPdr,
        /// The rule that could not be made.
        114 => failed_rule_id: C FailedRuleId,
    }
    check |response: &SessionEstablishmentResponse| {
        (response.cause.is_accepted() && response.up_f_seid.is_none()).then_some(57)
    }
}

table! {
    /// PFCP Session Modification Request (§7.5.4).
    SessionModificationRequest {
        /// If it changes.
        57 => cp_f_seid: C FSeid,
        /// Rules that go.
        15 => remove_pdrs: List RemovePdr,
        /// Rules that go.
        16 => remove_fars: List RemoveFar,
        /// Rules that go.
        17 => remove_urrs: List RemoveUrr,
        /// Rules that go.
        18 => remove_qers: List RemoveQer,
        /// A rule that goes.
        87 => remove_bar: C RemoveBar,
        /// Rules that come.
        1 => create_pdrs: List CreatePdr,
        /// Rules that come.
        3 => create_fars: List CreateFar,
        /// Rules that come.
        6 => create_urrs: List CreateUrr,
        /// Rules that come.
        7 => create_qers: List CreateQer,
        /// A rule that comes.
        85 => create_bar: C CreateBar,
        /// Rules that change.
        9 => update_pdrs: List UpdatePdr,
        /// Rules that change.
        10 => update_fars: List UpdateFar,
        /// Rules that change.
        13 => update_urrs: List UpdateUrr,
        /// Rules that change.
        14 => update_qers: List UpdateQer,
        /// A rule that changes.
        86 => update_bar: C UpdateBar,
        /// Drop what is buffered, report all.
        49 => sm_req_flags: C SmReqFlags,
        /// Rules that shall report now.
        77 => query_urrs: List QueryUrr,
        /// If the control plane changes.
        60 => node_id: C NodeId,
        /// Inactivity to be reported.
        117 => inactivity_timer: C Seconds,
    }
}

table! {
    /// PFCP Session Modification Response (§7.5.5).
    SessionModificationResponse {
        /// Whether it agrees.
        19 => cause: M Cause,
        /// What is to blame.
        40 => offending_ie: C OffendingIe,
        /// What the user plane chose.
        8 => created_pdrs: List CreatedPdr,
        /// What was asked for.
        78 => usage_reports: List UsageReport,
        /// The rule that could not be changed.
        114 => failed_rule_id: C FailedRuleId,
    }
}

table! {
    /// PFCP Session Deletion Request (§7.5.6).
    SessionDeletionRequest {
        /// Of later releases, where another control plane deletes.
        60 => node_id: O NodeId,
        /// Of later releases, where another control plane deletes.
        57 => cp_f_seid: O FSeid,
    }
}

table! {
    /// PFCP Session Deletion Response (§7.5.7).
    SessionDeletionResponse {
        /// Whether it agrees.
        19 => cause: M Cause,
        /// What is to blame.
        40 => offending_ie: C OffendingIe,
        /// The last measurements.
        79 => usage_reports: List UsageReport,
    }
}

table! {
    /// PFCP Session Report Request (§7.5.8).
    SessionReportRequest {
        /// What is reported.
        39 => report_type: M ReportType,
        /// Packets wait.
        83 => downlink_data_report: C DownlinkDataReport,
        /// Measurements.
        80 => usage_reports: List UsageReport,
        /// A tunnel's peer does not know it.
        99 => error_indication_report: C ErrorIndicationReport,
    }
    check |report: &SessionReportRequest| {
        let missing = |flag, there: bool| report.report_type.contains(flag) && !there;
        let data = missing(ReportType::DLDR, report.downlink_data_report.is_some()).then_some(83);
        let usage = missing(ReportType::USAR, !report.usage_reports.is_empty()).then_some(80);
        let error = missing(ReportType::ERIR, report.error_indication_report.is_some()).then_some(99);
        data.or(usage).or(error)
    }
}

table! {
    /// PFCP Session Report Response (§7.5.9).
    SessionReportResponse {
        /// Whether it agrees.
        19 => cause: M Cause,
        /// What is to blame.
        40 => offending_ie: C OffendingIe,
        /// How to buffer from now on.
        12 => update_bar: C UpdateBar,
        /// Drop what is buffered.
        50 => sr_rsp_flags: C SrRspFlags,
        /// If the control plane's changes.
        57 => cp_f_seid: O FSeid,
    }
}
