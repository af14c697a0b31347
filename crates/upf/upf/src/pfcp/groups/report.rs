//! What the user plane reports (§7.5.8).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Usage Report (IE 78 in the response to a modification, 79 to a deletion, 80 in a report).
    UsageReport {
        81 => urr_id: M UrrId, "Which rule measured.";
        104 => ur_seqn: M UrSeqn, "Running number.";
        63 => usage_report_trigger: M UsageReportTrigger, "Why.";
        75 => start_time: C NtpSeconds, "Begin of the measurement.";
        76 => end_time: C NtpSeconds, "Its end.";
        66 => volume_measurement: C VolumeMeasurement, "Octets and packets.";
        67 => duration_measurement: C Seconds, "Time.";
        69 => time_of_first_packet: C NtpSeconds, "When the first packet came.";
        70 => time_of_last_packet: C NtpSeconds, "When the last packet came.";
    }
    /// Downlink Data Report (IE 83): packets wait for a UE without a tunnel.
    DownlinkDataReport {
        56 => pdr_ids: List1 PdrId, "Rules that they matched.";
        45 => service_information: List DownlinkDataServiceInformation, "What they are.";
    }
    /// Error Indication Report (IE 99): a GTP-U peer does not know the tunnel.
    ErrorIndicationReport {
        21 => remote_f_teids: List1 FTeid, "The tunnels.";
    }
    /// User Plane Path Failure Report (IE 102) or Recovery Report (IE 187).
    PathReport {
        103 => remote_peers: List1 RemoteGtpuPeer, "The peers concerned.";
    }
}
