//! Values that are sets of flags. The first byte contains the lowest eight bits of the number.
use crate::pfcp::ie::{IeValue, Reader, Writer};
use crate::pfcp::{Fault, Random};

/// Declares a set of flags: `Name(LEAST, MOST)`. At least LEAST bytes are written; random values have at most MOST bytes. Later releases
/// append bytes, so a value stores the number of received bytes.
macro_rules! flags {
    ($( $(#[$meta:meta])* $name:ident($least:literal, $most:literal) {
        $( $flag:ident = $bit:literal $doc:literal; )*
    } )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            bits: u128,
            octets: u8,
        }

        impl $name {
            $( #[doc = $doc] pub const $flag: u128 = 1 << $bit; )*

            /// Creates a value with these flags. It has the number of bytes that this release writes, or more if the flags need them.
            pub const fn new(bits: u128) -> Self {
                let needed = 16 - bits.leading_zeros() as u8 / 8;
                Self { bits, octets: if needed > $least { needed } else { $least } }
            }

            /// Creates a value with these flags in exactly `octets` bytes, 1 to 16. Excess bits are truncated.
            pub const fn in_octets(bits: u128, octets: u8) -> Self {
                let octets = if octets == 0 { 1 } else if octets > 16 { 16 } else { octets };
                Self { bits: bits & (u128::MAX >> (8 * (16 - octets as u32))), octets }
            }

            /// Returns the flags as a number.
            pub const fn bits(self) -> u128 {
                self.bits
            }

            /// Returns the size of the value in bytes.
            pub const fn octets(self) -> u8 {
                self.octets
            }

            /// Returns whether all of these flags are set.
            pub const fn contains(self, flags: u128) -> bool {
                self.bits & flags == flags
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl IeValue for $name {
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
    /// Apply Action (IE 44). It has two bytes since Release 16. A peer may require one or two bytes.
    ApplyAction(2, 2) {
        DROP = 0 "Drops the packets.";
        FORW = 1 "Forwards the packets.";
        BUFF = 2 "Buffers the packets.";
        NOCP = 3 "Notifies the control plane of the first buffered packet.";
        DUPL = 4 "Duplicates the packets.";
    }
    /// Reporting Triggers (IE 37) of a URR. They have three bytes since Release 16 (§8.2.19). A peer may require three bytes.
    ReportingTriggers(3, 3) {
        PERIO = 0 "Reports periodically.";
        VOLTH = 1 "Reports at a volume threshold.";
        TIMTH = 2 "Reports at a time threshold.";
        QUHTI = 3 "Reports when the quota holding time elapses without packets.";
        START = 4 "Reports at the first packet.";
        STOPT = 5 "Reports at the end of traffic.";
        DROTH = 6 "Reports at a threshold of dropped packets.";
        LIUSA = 7 "Reports when a linked rule reports.";
        VOLQU = 8 "Reports when the volume quota is exhausted.";
        TIMQU = 9 "Reports when the time quota is exhausted.";
        ENVCL = 10 "Reports when the envelope closes.";
        EVETH = 12 "Reports at an event threshold.";
        EVEQU = 13 "Reports when the event quota is exhausted.";
        QUVTI = 15 "Reports when the validity of the quota ends.";
    }
    /// Usage Report Trigger (IE 63), the reason for a report of a URR. It has three bytes since Release 16 (§8.2.41).
    UsageReportTrigger(2, 3) {
        PERIO = 0 "The period of reports elapsed.";
        VOLTH = 1 "The volume threshold was reached.";
        TIMTH = 2 "The time threshold was reached.";
        QUHTI = 3 "The quota holding time elapsed without packets.";
        START = 4 "The first packet arrived.";
        STOPT = 5 "The traffic ended.";
        DROTH = 6 "The threshold of dropped packets was reached.";
        IMMER = 7 "The control plane requested an immediate report.";
        VOLQU = 8 "The volume quota is exhausted.";
        TIMQU = 9 "The time quota is exhausted.";
        LIUSA = 10 "A linked rule reported.";
        TERMR = 11 "The session or the rule ended.";
        EVETH = 15 "The event threshold was reached.";
        EVEQU = 16 "The event quota is exhausted.";
        QUVTI = 19 "The validity of the quota ended.";
    }
    /// Report Type (IE 39): contents of a session report.
    ReportType(1, 1) {
        DLDR = 0 "Downlink data is buffered.";
        USAR = 1 "Usage is reported.";
        ERIR = 2 "A GTP-U peer sent an error indication.";
        UPIR = 3 "The session has had no traffic (user plane inactivity).";
    }
    /// Measurement Method (IE 62).
    MeasurementMethod(1, 1) {
        DURAT = 0 "Duration is measured.";
        VOLUM = 1 "Volume is measured.";
        EVENT = 2 "Events are counted.";
    }
    /// Measurement Information (IE 100).
    MeasurementInformation(1, 1) {
        MBQE = 0 "Usage is measured before QoS enforcement.";
        INAM = 1 "Measurement is inactive.";
        RADI = 2 "Reports contain reduced application detection information.";
        ISTM = 3 "Time metering starts immediately.";
        MNOP = 4 "The number of packets is measured as well.";
    }
    /// PFCPSMReq-Flags (IE 49).
    SmReqFlags(1, 1) {
        DROBU = 0 "Drop buffered packets.";
        SNDEM = 1 "Send end markers to the old tunnel.";
        QAURR = 2 "Report all URRs.";
    }
    /// PFCPSRRsp-Flags (IE 50).
    SrRspFlags(1, 1) {
        DROBU = 0 "Drop buffered packets.";
    }
    /// CP Function Features (IE 89).
    CpFunctionFeatures(1, 2) {
        LOAD = 0 "Load control.";
        OVRL = 1 "Overload control.";
        EPFAR = 2 "Enhanced association release.";
        SSET = 3 "Sets of control plane functions.";
        BUNDL = 4 "Bundled messages.";
    }
    /// UP Function Features (IE 43).
    UpFunctionFeatures(2, 4) {
        BUCP = 0 "Downlink buffering in the control plane.";
        DDND = 1 "Notification delay.";
        DLBD = 2 "Duration of buffering.";
        TRST = 3 "Traffic steering.";
        FTUP = 4 "Allocation of F-TEIDs by the user plane.";
        PFDM = 5 "PFD management.";
        HEEU = 6 "Header enrichment.";
        TREU = 7 "Traffic redirection.";
        EMPU = 8 "End markers sent by the user plane.";
        PDIU = 9 "Grouping of PDRs' detection information.";
        UDBC = 10 "Uplink and downlink bit rate enforcement.";
        QUOAC = 11 "Quota action.";
        TRACE = 12 "Trace.";
        FRRT = 13 "Framed routing.";
        PFDE = 14 "PFD contents.";
        EPFAR = 15 "Enhanced association release.";
        UEIP = 18 "Allocation of UE addresses by the user plane.";
        SSET = 19 "Sets of control plane functions.";
        MNOP = 20 "Number of packets in volume measurements.";
        BUNDL = 22 "Bundled messages.";
    }
    /// Node Report Type (IE 101).
    NodeReportType(1, 1) {
        UPFR = 0 "Path failure.";
        UPRR = 1 "Path recovery.";
    }
    /// PFCP Association Release Request (IE 111).
    AssociationReleaseRequest(1, 1) {
        SARR = 0 "The user plane requests the release of the association.";
        URSS = 1 "The user plane sends usage reports before the release.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_bytes_depends_on_flags_and_release() {
        assert_eq!(ApplyAction::new(ApplyAction::FORW).octets(), 2);
        assert_eq!(UpFunctionFeatures::new(UpFunctionFeatures::UEIP).octets(), 3);
        assert_eq!(ReportType::default().octets(), 1);
        assert_eq!(ReportingTriggers::new(ReportingTriggers::VOLTH).octets(), 3);
        let narrow = ApplyAction::in_octets(0x1ff, 1);
        assert_eq!((narrow.bits(), narrow.octets()), (0xff, 1));
        assert_eq!(ApplyAction::in_octets(u128::MAX, 16).bits(), u128::MAX);
    }
}
