//! Names of measurements, and their units.

/// What this project's base stations measure of each UE, with the names and units of TS 28.552, and the clause.
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
/// What they measure of the node besides.
#[rustfmt::skip]
pub const NODE_MEASUREMENTS: [&str; 2] = [
    "RRU.PrbAvailDl",           // 5.1.1.2.6
    "RRC.ConnMean",             // 5.1.1.4.1
];

/// Unit of a measurement, by its name; empty for counts, and for what is not known.
pub fn unit(name: &str) -> &'static str {
    match name {
        "DRB.UEThpDl" | "DRB.UEThpUl" => "kbit/s",
        "RRU.PrbTotDl" | "RRU.PrbTotUl" | "DRB.RlcPacketDropRateDl" => "%",
        "DRB.PdcpSduVolumeDL" | "DRB.PdcpSduVolumeUL" => "Mbit",
        "DRB.RlcSduTransmittedVolumeDL" | "DRB.RlcSduTransmittedVolumeUL" => "kbit",
        "DRB.RlcSduDelayDl" | "DRB.AirIfDelayUl" | "DRB.RlcDelayUl" => "0.1 ms",
        "RRU.PrbUsedDl" | "RRU.PrbUsedUl" | "RRU.PrbAvailDl" | "RRU.PrbAvailUl" => "PRB",
        _ => "",
    }
}
