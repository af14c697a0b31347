//! Grouped elements of the user plane's reports (§7.5.8).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Usage Report (IE 78 in the response to a modification, 79 to a deletion, 80 in a report).
    UsageReport {
        81 => urr_id: M UrrId, "Rule of the measurement.";
        104 => ur_seqn: M UrSeqn, "Sequence number of the report.";
        63 => usage_report_trigger: M UsageReportTrigger, "Triggers of the report.";
        75 => start_time: C NtpSeconds, "Start of the measurement.";
        76 => end_time: C NtpSeconds, "End of the measurement.";
        66 => volume_measurement: C VolumeMeasurement, "Measured bytes and packets.";
        67 => duration_measurement: C Seconds, "Duration of the usage, in seconds.";
        69 => time_of_first_packet: C NtpSeconds, "Time of the first packet.";
        70 => time_of_last_packet: C NtpSeconds, "Time of the last packet.";
        156 => event_time_stamps: List NtpSeconds, "Times of events.";
    }
    /// Downlink Data Report (IE 83): downlink packets are buffered for a UE without a tunnel.
    DownlinkDataReport {
        56 => pdr_ids: List1 PdrId, "Rules that the packets matched.";
        45 => service_information: List DownlinkDataServiceInformation, "QoS flow or service information of the packets.";
    }
    /// Error Indication Report (IE 99): a GTP-U peer does not know the tunnel.
    ErrorIndicationReport {
        21 => remote_f_teids: List1 FTeid, "Tunnels that the peer does not know.";
    }
    /// User Plane Path Failure Report (IE 102) or Recovery Report (IE 187).
    PathReport {
        103 => remote_peers: List1 RemoteGtpuPeer, "Peers whose path has failed or recovered.";
    }
}
