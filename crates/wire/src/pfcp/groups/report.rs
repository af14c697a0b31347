//! What the user plane reports (§7.5.8).
use crate::pfcp::ie::table;
use crate::pfcp::*;

table! {
    /// Usage Report (IE 78 in the response to a modification, 79 to a deletion, 80 in a report).
    UsageReport {
        /// Which rule measured.
        81 => urr_id: M UrrId,
        /// Running number.
        104 => ur_seqn: M UrSeqn,
        /// Why.
        63 => usage_report_trigger: M UsageReportTrigger,
        /// Begin of the measurement.
        75 => start_time: C NtpSeconds,
        /// Its end.
        76 => end_time: C NtpSeconds,
        /// Octets and packets.
        66 => volume_measurement: C VolumeMeasurement,
        /// Time.
        67 => duration_measurement: C Seconds,
        /// When the first packet came.
        69 => time_of_first_packet: C NtpSeconds,
        /// When the last packet came.
        70 => time_of_last_packet: C NtpSeconds,
    }
}

table! {
    /// Downlink Data Report (IE 83): packets wait for a UE without a tunnel.
    DownlinkDataReport {
        /// Rules that they matched.
        56 => pdr_ids: List1 PdrId,
        /// What they are.
        45 => service_information: List DownlinkDataServiceInformation,
    }
}

table! {
    /// Error Indication Report (IE 99): a GTP-U peer does not know the tunnel.
    ErrorIndicationReport {
        /// The tunnels.
        21 => remote_f_teids: List1 FTeid,
    }
}

table! {
    /// User Plane Path Failure Report (IE 102) or Recovery Report (IE 187).
    PathReport {
        /// The peers concerned.
        103 => remote_peers: List1 RemoteGtpuPeer,
    }
}
