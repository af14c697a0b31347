//! Names of measurements, and their units.

/// Measurements per UE of ranlab's base stations. Names and units are those of TS 28.552; the comments name its clauses.
#[rustfmt::skip]
pub const UE_MEASUREMENTS: [&str; 8] = [
    "DRB.UEThpDl",              // 5.1.1.3.1
    "DRB.UEThpUl",              // 5.1.1.3.3
    "RRU.PrbTotDl",             // 5.1.1.2.1
    "RRU.PrbTotUl",             // 5.1.1.2.2
    "RRU.PrbUsedDl",            // 5.1.1.2.5
    "DRB.PdcpSduVolumeDL",      // 5.1.2.1.1.1
    "DRB.PdcpSduVolumeUL",      // 5.1.2.1.2.1
    "DRB.RlcSduDelayDl",        // 5.1.3.3.3
];
/// Additional measurements of the node.
#[rustfmt::skip]
pub const NODE_MEASUREMENTS: [&str; 2] = [
    "RRU.PrbAvailDl",           // 5.1.1.2.6
    "RRC.ConnMean",             // 5.1.1.4.1
];

/// Returns the name of the measurement with this identifier in ranlab's definition: the position in
/// [`UE_MEASUREMENTS`], then [`NODE_MEASUREMENTS`], counted from 1.
pub fn measurement_of_id(id: u32) -> Option<&'static str> {
    let place = usize::try_from(id).ok()?.checked_sub(1)?;
    UE_MEASUREMENTS.iter().chain(&NODE_MEASUREMENTS).nth(place).copied()
}

/// Measurements per UE and of the node that the definition does not list, because it would exceed the 1,023 bytes at
/// which FlexRIC aborts.
#[rustfmt::skip]
pub const UNLISTED_MEASUREMENTS: [&str; 8] = [
    "RRU.PrbUsedUl",                    // 5.1.1.2.7
    "DRB.RlcSduTransmittedVolumeDL",    // O-RAN E2SM-KPM 7.3; srsRAN, OCUDU
    "DRB.RlcSduTransmittedVolumeUL",
    "DRB.RlcPacketDropRateDl",          // TS 28.552 5.1.3.2.1
    "DRB.RlcDelayUl",                   // srsRAN, OCUDU
    "CQI",                              // srsRAN, OCUDU
    "RSRP",
    "RSRQ",
];

/// Aggregation of a measurement's values over UEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Summary {
    /// Sum: rates, volumes, resource blocks and their shares.
    Sum,
    /// Mean: delays, qualities, success rates.
    Mean,
}

impl Summary {
    /// Returns `sum` or `mean`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
        }
    }
}

/// Prefixes of names whose values are summed over UEs.
const SUMS: [&str; 11] = [
    "DRB.UEThp",
    "DRB.PdcpSduVolume",
    "DRB.PdcpF1DataVolume",
    "DRB.RlcSduTransmittedVolume",
    "RRU.PrbTot",
    "RRU.PrbUsed",
    "RRU.PrbAvail",
    "RRC.Conn",
    "RACH.Preamble",
    "DRB.MeanActiveUe",
    "QF.",
];

/// Returns the aggregation of a measurement over UEs by its name, or the mean if unknown.
pub fn summary(name: &str) -> Summary {
    let adds_up = SUMS.iter().any(|beginning| name.starts_with(beginning));
    if adds_up { Summary::Sum } else { Summary::Mean }
}

/// Units by prefix of the name, more specific prefixes first (TS 28.552; and names of O-RAN and OCUDU).
#[rustfmt::skip]
const UNITS: [(&str, &str); 21] = [
    ("DRB.UEThp", "kbit/s"),
    ("RRU.PrbTot", "%"),
    ("RRU.PrbUsed", "PRB"),
    ("RRU.PrbAvail", "PRB"),
    ("DRB.PdcpSduVolume", "Mbit"),
    ("DRB.PdcpF1DataVolume", "Mbit"),
    ("DRB.RlcSduTransmittedVolume", "kbit"),
    ("DRB.RlcSduDelay", "0.1 ms"),
    ("DRB.RlcSduLatency", "0.1 ms"),
    ("DRB.RlcDelay", "0.1 ms"),
    ("DRB.AirIfDelay", "0.1 ms"),
    ("DRB.PdcpReordDelay", "0.1 ms"),
    ("DRB.PdcpSduDelay", "0.1 ms"),
    ("DRB.GTPSduDelay", "0.1 ms"),
    ("DRB.PdcpF1Delay", "0.1 ms"),
    ("DRB.PacketSuccessRate", "%"),
    ("DRB.RlcPacketDropRate", "%"),
    ("RSRP", "dBm"),
    ("RSRQ", "dB"),
    ("PEE.AvgPower", "W"),
    ("PEE.Energy", "kWh"),
];

/// Returns the unit of a measurement by its name; empty for counts and unknown names.
pub fn unit(name: &str) -> &'static str {
    UNITS.iter().find(|(beginning, _)| name.starts_with(beginning)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_measurements_have_units() {
        for (name, expected) in [
            ("DRB.UEThpDl", "kbit/s"),
            ("DRB.PdcpReordDelayUl", "0.1 ms"),
            ("DRB.PacketSuccessRateUlgNBUu", "%"),
            ("DRB.RlcPacketDropRateDl", "%"),
            ("RRU.PrbAvailUl", "PRB"),
            ("RRC.ConnMean", ""),
            ("#7", ""),
        ] {
            assert_eq!(unit(name), expected, "{name}");
        }
    }
}
