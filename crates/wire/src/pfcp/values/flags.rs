//! Values that are sets of flags. The first octet holds the lowest eight bits of the number.
use crate::pfcp::ie::{Reader, Value, Writer};
use crate::pfcp::{Fault, Random};

/// Declares a set of flags: `Name(octets written at least, octets made up at most)`. Releases add octets at the end,
/// so the number received is kept.
macro_rules! flags {
    ($( $(#[$meta:meta])* $name:ident($least:literal, $most:literal) {
        $( $(#[$flag_meta:meta])* $flag:ident = $bit:expr; )*
    } )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            bits: u128,
            octets: u8,
        }

        impl $name {
            $( $(#[$flag_meta])* pub const $flag: u128 = 1 << $bit; )*

            /// These flags, in as many octets as they need and this release writes.
            pub const fn new(bits: u128) -> Self {
                let needed = 16 - bits.leading_zeros() as u8 / 8;
                Self { bits, octets: if needed > $least { needed } else { $least } }
            }

            /// These flags in exactly `octets` octets, 1 to 16; what does not fit is cut off.
            pub const fn in_octets(bits: u128, octets: u8) -> Self {
                let octets = if octets == 0 { 1 } else if octets > 16 { 16 } else { octets };
                Self { bits: bits & (u128::MAX >> (8 * (16 - octets as u32))), octets }
            }

            /// The flags as a number.
            pub const fn bits(self) -> u128 {
                self.bits
            }

            /// Octets of the value.
            pub const fn octets(self) -> u8 {
                self.octets
            }

            /// Whether all of these flags are set.
            pub const fn contains(self, flags: u128) -> bool {
                self.bits & flags == flags
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl Value for $name {
            fn put(&self, writer: &mut Writer) {
                writer.put(&self.bits.to_le_bytes()[..usize::from(self.octets)]);
            }
            fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
                let first = reader.octet()?;
                let mut number = [0; 16];
                number[0] = first;
                let rest = reader.rest();
                let rest = &rest[..rest.len().min(15)];
                number[1..=rest.len()].copy_from_slice(rest);
                Ok(Self { bits: u128::from_le_bytes(number), octets: rest.len() as u8 + 1 })
            }
            fn random(random: &mut Random) -> Self {
                let known = 0 $( | Self::$flag )*;
                let octets = $least + random.below($most - $least + 1) as u8;
                Self::in_octets(u128::from(random.draw()) & known, octets)
            }
        }
    )* };
}

flags! {
    /// Apply Action (IE 44): two octets since Release 16; a peer may insist on one or on two.
    ApplyAction(2, 2) {
        /// Drop.
        DROP = 0;
        /// Forward.
        FORW = 1;
        /// Buffer.
        BUFF = 2;
        /// Notify the control plane of the first buffered packet.
        NOCP = 3;
        /// Duplicate.
        DUPL = 4;
    }
    /// Reporting Triggers (IE 37): when a URR reports. Three octets since Release 16 (§8.2.19); a peer may insist on them.
    ReportingTriggers(3, 3) {
        /// Periodically.
        PERIO = 0;
        /// At a volume threshold.
        VOLTH = 1;
        /// At a time threshold.
        TIMTH = 2;
        /// After a time without packets.
        QUHTI = 3;
        /// At the first packet.
        START = 4;
        /// At the end of traffic.
        STOPT = 5;
        /// At a threshold of dropped packets.
        DROTH = 6;
        /// When a linked rule reports.
        LIUSA = 7;
        /// When the volume quota is used up.
        VOLQU = 8;
        /// When the time quota is used up.
        TIMQU = 9;
        /// When the envelope closes.
        ENVCL = 10;
    }
    /// Usage Report Trigger (IE 63): why a URR reported.
    UsageReportTrigger(2, 3) {
        /// Periodically.
        PERIO = 0;
        /// At a volume threshold.
        VOLTH = 1;
        /// At a time threshold.
        TIMTH = 2;
        /// After a time without packets.
        QUHTI = 3;
        /// At the first packet.
        START = 4;
        /// At the end of traffic.
        STOPT = 5;
        /// At a threshold of dropped packets.
        DROTH = 6;
        /// Asked for.
        IMMER = 7;
        /// The volume quota is used up.
        VOLQU = 8;
        /// The time quota is used up.
        TIMQU = 9;
        /// A linked rule reported.
        LIUSA = 10;
        /// The session or the rule ended.
        TERMR = 11;
    }
    /// Report Type (IE 39): what a session report reports.
    ReportType(1, 1) {
        /// Downlink data.
        DLDR = 0;
        /// Usage.
        USAR = 1;
        /// An error indication from a GTP-U peer.
        ERIR = 2;
        /// Inactivity.
        UPIR = 3;
    }
    /// Measurement Method (IE 62).
    MeasurementMethod(1, 1) {
        /// Duration.
        DURAT = 0;
        /// Volume.
        VOLUM = 1;
        /// Events.
        EVENT = 2;
    }
    /// Measurement Information (IE 100).
    MeasurementInformation(1, 1) {
        /// Measure before QoS enforcement.
        MBQE = 0;
        /// Inactive measurement.
        INAM = 1;
        /// Reduced application detection information.
        RADI = 2;
        /// Immediate start of time metering.
        ISTM = 3;
        /// Number of packets as well.
        MNOP = 4;
    }
    /// PFCPSMReq-Flags (IE 49).
    SmReqFlags(1, 1) {
        /// Drop what is buffered.
        DROBU = 0;
        /// Send end markers to the old tunnel.
        SNDEM = 1;
        /// Report all URRs.
        QAURR = 2;
    }
    /// PFCPSRRsp-Flags (IE 50).
    SrRspFlags(1, 1) {
        /// Drop what is buffered.
        DROBU = 0;
    }
    /// CP Function Features (IE 89).
    CpFunctionFeatures(1, 2) {
        /// Load control.
        LOAD = 0;
        /// Overload control.
        OVRL = 1;
        /// Enhanced association release.
        EPFAR = 2;
        /// Sets of control plane functions.
        SSET = 3;
        /// Bundled messages.
        BUNDL = 4;
    }
    /// UP Function Features (IE 43).
    UpFunctionFeatures(2, 4) {
        /// Downlink buffering in the control plane.
        BUCP = 0;
        /// Notification delay.
        DDND = 1;
        /// Duration of buffering.
        DLBD = 2;
        /// Traffic steering.
        TRST = 3;
        /// Allocation of F-TEIDs by the user plane.
        FTUP = 4;
        /// PFD management.
        PFDM = 5;
        /// Header enrichment.
        HEEU = 6;
        /// Traffic redirection.
        TREU = 7;
        /// End markers sent by the user plane.
        EMPU = 8;
        /// Grouping of PDRs' detection information.
        PDIU = 9;
        /// Uplink and downlink bit rate enforcement.
        UDBC = 10;
        /// Quota action.
        QUOAC = 11;
        /// Trace.
        TRACE = 12;
        /// Framed routing.
        FRRT = 13;
        /// PFD contents.
        PFDE = 14;
        /// Enhanced association release.
        EPFAR = 15;
        /// Allocation of UE addresses by the user plane.
        UEIP = 18;
        /// Sets of control plane functions.
        SSET = 19;
        /// Number of packets in volume measurements.
        MNOP = 20;
        /// Bundled messages.
        BUNDL = 22;
    }
    /// Node Report Type (IE 101).
    NodeReportType(1, 1) {
        /// Path failure.
        UPFR = 0;
        /// Path recovery.
        UPRR = 1;
    }
    /// PFCP Association Release Request (IE 111).
    AssociationReleaseRequest(1, 1) {
        /// The user plane asks to be released.
        SARR = 0;
        /// It sends usage reports before.
        URSS = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_is_what_the_flags_need_and_the_release_writes() {
        assert_eq!(ApplyAction::new(ApplyAction::FORW).octets(), 2);
        assert_eq!(UpFunctionFeatures::new(UpFunctionFeatures::UEIP).octets(), 3);
        assert_eq!(ReportType::default().octets(), 1);
        assert_eq!(ReportingTriggers::new(ReportingTriggers::VOLTH).octets(), 3);
        let narrow = ApplyAction::in_octets(0x1ff, 1);
        assert_eq!((narrow.bits(), narrow.octets()), (0xff, 1));
        assert_eq!(ApplyAction::in_octets(u128::MAX, 16).bits(), u128::MAX);
    }
}
