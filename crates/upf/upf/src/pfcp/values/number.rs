//! Values that consist of one number, and opaque bytes.
use crate::pfcp::ie::{IeValue, Reader, Writer};
use crate::pfcp::{Fault, FaultKind, Random};
use bytes::Bytes;

/// Defines values of one big-endian number, one per line: `Name(type) & bits that are not spare, "description";`.
macro_rules! number {
    ($( $name:ident($type:ty) & $mask:expr, $doc:literal; )*) => { $(
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub $type);

        impl IeValue for $name {
            fn put(&self, writer: &mut Writer) {
                writer.put(&(self.0 & $mask).to_be_bytes());
            }
            fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
                Ok(Self(<$type>::from_be_bytes(reader.take()?) & $mask))
            }
            fn random(random: &mut Random) -> Self {
                Self(random.draw() as $type & $mask)
            }
        }
    )* };
}

number! {
    PdrId(u16) & u16::MAX, "Packet Detection Rule ID (IE 56).";
    FarId(u32) & u32::MAX, "FAR ID (IE 108); the top bit marks a rule predefined in the user plane.";
    QerId(u32) & u32::MAX, "QER ID (IE 109).";
    UrrId(u32) & u32::MAX, "URR ID (IE 81), also Linked URR ID (IE 82).";
    BarId(u8) & u8::MAX, "BAR ID (IE 88).";
    Precedence(u32) & u32::MAX, "Precedence (IE 29): the rule with the lowest value is tried first.";
    QerCorrelationId(u32) & u32::MAX, "QER Correlation ID (IE 28).";
    RecoveryTimeStamp(u32) & u32::MAX, "Recovery Time Stamp (IE 96): start time of the peer, in seconds since 1900. Must not change while the peer runs.";
    NtpSeconds(u32) & u32::MAX, "Time of the start, end, first or last packet, or of an event (IE 75, 76, 69, 70, 156), in seconds since 1900.";
    Seconds(u32) & u32::MAX, "A duration in seconds (IE 32, 36, 64, 67, 71, 74, 117).";
    Events(u32) & u32::MAX, "Event Quota or Event Threshold (IE 148, 149).";
    AveragingWindow(u32) & u32::MAX, "Averaging Window (IE 157), milliseconds.";
    UrSeqn(u32) & u32::MAX, "UR-SEQN (IE 104): counts the reports of a URR.";
    Qfi(u8) & 0x3f, "QFI (IE 124): QoS flow identifier, 0 to 63.";
    Rqi(u8) & 0x01, "RQI (IE 123): 1 requests reflective QoS.";
    PagingPolicyIndicator(u8) & 0x07, "Paging Policy Indicator (IE 158), 0 to 7.";
    Interface(u8) & 0x0f, "Source or Destination Interface (IE 20, 42).";
    InterfaceType(u8) & 0x3f, "3GPP Interface Type (IE 160).";
    PdnType(u8) & 0x07, "PDN Type (IE 113).";
    Cause(u8) & u8::MAX, "Cause (IE 19).";
    OffendingIe(u16) & u16::MAX, "Offending IE (IE 40): type of the element.";
    TransportLevelMarking(u16) & u16::MAX, "Transport Level Marking (IE 30): type of service and its mask.";
    NotificationDelay(u8) & u8::MAX, "Downlink Data Notification Delay (IE 46), in 50 ms.";
    ShortTimer(u8) & u8::MAX, "A timer in 3GPP's short form (IE 47, 112): unit in three bits, value in five.";
}

impl Interface {
    ranlab_machine::codes! { Self:
        ACCESS = 0 "Access: towards the base station.";
        CORE = 1 "Core: towards the data network.";
        N6_LAN = 2 "SGi-LAN or N6-LAN.";
        CP_FUNCTION = 3 "The control plane function.";
    }
}

impl InterfaceType {
    /// Interface N3 of 3GPP access.
    pub const N3_3GPP: Self = Self(11);
    /// Interface N6.
    pub const N6: Self = Self(17);
}

impl PdnType {
    ranlab_machine::codes! { Self:
        IPV4 = 1 "IPv4.";
        IPV6 = 2 "IPv6.";
        IPV4V6 = 3 "IPv4 and IPv6.";
    }
}

impl Cause {
    ranlab_machine::codes! { Self:
        ACCEPTED = 1 "Request accepted.";
        REJECTED = 64 "Request rejected, reason not specified.";
        CONTEXT_NOT_FOUND = 65 "Session context not found.";
        MANDATORY_IE_MISSING = 66 "A mandatory element is missing; see Offending IE.";
        CONDITIONAL_IE_MISSING = 67 "A conditional element is missing; see Offending IE.";
        INVALID_LENGTH = 68 "Invalid length of the message or of the offending element.";
        MANDATORY_IE_INCORRECT = 69 "A mandatory element is incorrect; see Offending IE.";
        INVALID_FORWARDING_POLICY = 70 "The Forwarding Policy is not configured.";
        INVALID_F_TEID_ALLOCATION = 71 "The user plane does not support the choice of a TEID.";
        NO_ASSOCIATION = 72 "No established association with the sender.";
        RULE_FAILURE = 73 "A rule could not be created or modified; see Failed Rule ID.";
        CONGESTION = 74 "Overload.";
        NO_RESOURCES = 75 "No resources available.";
        SERVICE_NOT_SUPPORTED = 76 "The requested service is not supported.";
        SYSTEM_FAILURE = 77 "System failure.";
        UNKNOWN_PREDEFINED_RULE = 80 "The predefined rule is not configured.";
        UNKNOWN_APPLICATION_ID = 81 "The application is not configured.";
    }

    /// Returns whether the request was accepted, fully (1) or partially (2, 3 of later releases).
    pub fn is_accepted(self) -> bool {
        (1..64).contains(&self.0)
    }
}

/// Outer Header Removal (IE 95).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OuterHeaderRemoval {
    /// Headers to remove. 0: GTP-U/UDP/IPv4, 1: GTP-U/UDP/IPv6, 6: GTP-U/UDP/IP …
    pub description: u8,
    /// Extension headers to delete. Bit 1 stands for the PDU session container.
    pub extension_headers: Option<u8>,
}

impl OuterHeaderRemoval {
    /// Removal of GTP-U/UDP/IPv4 headers.
    pub const GTPU_UDP_IPV4: Self = Self { description: 0, extension_headers: None };
    /// Removal of GTP-U/UDP/IPv6 headers.
    pub const GTPU_UDP_IPV6: Self = Self { description: 1, extension_headers: None };
    /// Removal of GTP-U/UDP headers over either IP version.
    pub const GTPU_UDP_IP: Self = Self { description: 6, extension_headers: None };
}

impl IeValue for OuterHeaderRemoval {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[self.description]);
        writer.put(self.extension_headers.as_slice());
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self { description: reader.octet()?, extension_headers: reader.octet().ok() })
    }
    fn random(random: &mut Random) -> Self {
        Self { description: random.below(7) as u8, extension_headers: random.maybe(|_| 1) }
    }
}

/// DL Buffering Suggested Packet Count (IE 48). It has one byte, or two bytes for numbers above 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SuggestedPacketCount(pub u16);

impl IeValue for SuggestedPacketCount {
    fn put(&self, writer: &mut Writer) {
        match u8::try_from(self.0) {
            Ok(short) => writer.put(&[short]),
            Err(_) => writer.put(&self.0.to_be_bytes()),
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        match *reader.rest() {
            [short] => Ok(Self(short.into())),
            [high, low, ..] => Ok(Self(u16::from_be_bytes([high, low]))),
            [] => Err(FaultKind::Length.on_element(0)),
        }
    }
    fn random(random: &mut Random) -> Self {
        Self(random.draw() as u16 >> random.below(16))
    }
}

/// Suggested Buffering Packets Count (IE 140, TS 29.244 §8.2.101), one octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SuggestedBufferingCount(pub u8);

impl IeValue for SuggestedBufferingCount {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[self.0]);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        reader.octet().map(Self)
    }
    fn random(random: &mut Random) -> Self {
        Self((random.draw() as u16 >> random.below(16)) as u8)
    }
}

/// Failed Rule ID (IE 114): the rule that could not be created or modified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedRuleId {
    /// Packet detection rule.
    Pdr(PdrId),
    /// Forwarding action rule.
    Far(FarId),
    /// QoS enforcement rule.
    Qer(QerId),
    /// Usage reporting rule.
    Urr(UrrId),
    /// Buffering action rule.
    Bar(BarId),
}

impl Default for FailedRuleId {
    fn default() -> Self {
        Self::Pdr(PdrId::default())
    }
}

impl IeValue for FailedRuleId {
    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Pdr(id) => (writer.put(&[0]), id.put(writer)),
            Self::Far(id) => (writer.put(&[1]), id.put(writer)),
            Self::Qer(id) => (writer.put(&[2]), id.put(writer)),
            Self::Urr(id) => (writer.put(&[3]), id.put(writer)),
            Self::Bar(id) => (writer.put(&[4]), id.put(writer)),
        };
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        match reader.octet()? & 0x1f {
            0 => PdrId::take(reader).map(Self::Pdr),
            1 => FarId::take(reader).map(Self::Far),
            2 => QerId::take(reader).map(Self::Qer),
            3 => UrrId::take(reader).map(Self::Urr),
            4 => BarId::take(reader).map(Self::Bar),
            _ => Err(FaultKind::Value.on_element(0)),
        }
    }
    fn random(random: &mut Random) -> Self {
        match random.below(5) {
            0 => Self::Pdr(PdrId::random(random)),
            1 => Self::Far(FarId::random(random)),
            2 => Self::Qer(QerId::random(random)),
            3 => Self::Urr(UrrId::random(random)),
            _ => Self::Bar(BarId::random(random)),
        }
    }
}

/// Bytes that have a meaning for the peer only: Application ID (IE 24), Activate or Deactivate Predefined Rules (IE 106, 107).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Opaque(pub Bytes);

impl IeValue for Opaque {
    fn put(&self, writer: &mut Writer) {
        writer.put(&self.0);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self(Bytes::copy_from_slice(reader.rest())))
    }
    fn random(random: &mut Random) -> Self {
        let len = 1 + random.below(8);
        Self((0..len).map(|_| b'a' + random.below(26) as u8).collect())
    }
}

/// Network Instance (IE 22) or APN/DNN (IE 159), which is a name. The standard requires DNS labels for an APN, but does not specify the
/// encoding of the network instance. User planes differ, so the bytes are stored unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NetworkName(pub Bytes);

impl NetworkName {
    /// Encodes the name as DNS labels: a length precedes each label, which is truncated to 63 bytes (RFC 1035 §2.3.4).
    pub fn labels(name: &str) -> Self {
        let mut octets = Vec::with_capacity(name.len() + 1);
        for label in name.split('.').map(str::as_bytes) {
            let label = &label[..label.len().min(63)];
            octets.push(label.len() as u8);
            octets.extend_from_slice(label);
        }
        Self(octets.into())
    }

    /// Encodes the name as plain text.
    pub fn text(name: &str) -> Self {
        Self(Bytes::copy_from_slice(name.as_bytes()))
    }

    /// Returns the name, decoded from either form.
    pub fn name(&self) -> String {
        let mut parts = Vec::new();
        let mut rest = &self.0[..];
        while let Some((&len, tail)) = rest.split_first() {
            let Some((label, tail)) = tail.split_at_checked(usize::from(len)) else {
                return String::from_utf8_lossy(&self.0).into_owned();
            };
            parts.push(String::from_utf8_lossy(label));
            rest = tail;
        }
        parts.join(".")
    }
}

impl IeValue for NetworkName {
    fn put(&self, writer: &mut Writer) {
        writer.put(&self.0);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self(Bytes::copy_from_slice(reader.rest())))
    }
    fn random(random: &mut Random) -> Self {
        if random.flag() { Self::labels("ims.mnc001") } else { Self::labels("internet") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_decoded_from_both_forms() {
        assert_eq!(&NetworkName::labels("internet").0[..], b"\x08internet");
        assert_eq!(NetworkName::labels("ims.mnc001").name(), "ims.mnc001");
        assert_eq!(NetworkName::text("internet").name(), "internet");
    }

    #[test]
    fn causes_below_64_mean_accepted() {
        assert!(Cause::ACCEPTED.is_accepted() && Cause(2).is_accepted());
        assert!(!Cause(0).is_accepted() && !Cause::REJECTED.is_accepted());
    }
}
