//! Values for packet detection and QoS.
use crate::pfcp::ie::{IeValue, Reader, Writer};
use crate::pfcp::{Fault, Random};
use bytes::Bytes;

/// MBR or GBR (IE 26, 27): a bit rate per direction, in kbit/s, 40 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BitRates {
    /// Uplink rate, in kbit/s.
    pub uplink_kbps: u64,
    /// Downlink rate, in kbit/s.
    pub downlink_kbps: u64,
}

impl IeValue for BitRates {
    fn put(&self, writer: &mut Writer) {
        writer.put(&self.uplink_kbps.to_be_bytes()[3..]);
        writer.put(&self.downlink_kbps.to_be_bytes()[3..]);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let rate = |[a, b, c, d, e]: [u8; 5]| u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
        Ok(Self { uplink_kbps: rate(reader.take()?), downlink_kbps: rate(reader.take()?) })
    }
    fn random(random: &mut Random) -> Self {
        Self { uplink_kbps: random.draw() >> 24, downlink_kbps: random.draw() >> 24 }
    }
}

/// Gate Status (IE 25), which determines whether packets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct GateStatus {
    /// Whether uplink packets are dropped.
    pub uplink_closed: bool,
    /// Whether downlink packets are dropped.
    pub downlink_closed: bool,
}

impl GateStatus {
    /// Status in which both directions are open.
    pub const OPEN: Self = Self { uplink_closed: false, downlink_closed: false };
}

impl IeValue for GateStatus {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[u8::from(self.uplink_closed) << 2 | u8::from(self.downlink_closed)]);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let gates = reader.octet()?;
        // Values 2 and 3 are for future use. An implementation that does not know them treats them as closed.
        Ok(Self { uplink_closed: gates >> 2 & 3 != 0, downlink_closed: gates & 3 != 0 })
    }
    fn random(random: &mut Random) -> Self {
        Self { uplink_closed: random.flag(), downlink_closed: random.flag() }
    }
}

/// SDF Filter (IE 23), which describes the packets of a service data flow.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SdfFilter {
    /// Flow description, an IPFilterRule (RFC 6733) such as `permit out ip from any to assigned`.
    pub flow_description: Option<Bytes>,
    /// Type of service or traffic class, and its mask.
    pub tos_traffic_class: Option<[u8; 2]>,
    /// Security parameter index of IPsec packets.
    pub security_parameter_index: Option<u32>,
    /// IPv6 flow label, 20 bits.
    pub flow_label: Option<[u8; 3]>,
    /// Identifier of the filter. Other rules use it to refer to this filter.
    pub filter_id: Option<u32>,
}

impl SdfFilter {
    /// Creates a filter with a flow description only.
    pub fn flow(description: &str) -> Self {
        Self { flow_description: Some(Bytes::copy_from_slice(description.as_bytes())), ..Self::default() }
    }
}

impl IeValue for SdfFilter {
    fn put(&self, writer: &mut Writer) {
        let flags = u8::from(self.flow_description.is_some())
            | u8::from(self.tos_traffic_class.is_some()) << 1
            | u8::from(self.security_parameter_index.is_some()) << 2
            | u8::from(self.flow_label.is_some()) << 3
            | u8::from(self.filter_id.is_some()) << 4;
        writer.put(&[flags, 0]);
        if let Some(description) = &self.flow_description {
            // A description that exceeds its length field also makes the element too long. The element writer detects this.
            writer.put(&(description.len() as u16).to_be_bytes());
            writer.put(description);
        }
        self.tos_traffic_class.iter().for_each(|tos| writer.put(tos));
        self.security_parameter_index.iter().for_each(|spi| writer.put(&spi.to_be_bytes()));
        self.flow_label.iter().for_each(|label| writer.put(label));
        self.filter_id.iter().for_each(|id| writer.put(&id.to_be_bytes()));
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        // A filter without any flag has no criteria and matches all packets. Some SMFs send such filters.
        let [flags, _] = reader.take()?;
        let mut filter = Self::default();
        if flags & 1 != 0 {
            let len = u16::from_be_bytes(reader.take()?).into();
            filter.flow_description = Some(Bytes::copy_from_slice(reader.slice(len)?));
        }
        filter.tos_traffic_class = reader.when(flags & 2 != 0)?;
        filter.security_parameter_index = reader.when(flags & 4 != 0)?.map(u32::from_be_bytes);
        filter.flow_label = reader.when(flags & 8 != 0)?;
        filter.filter_id = reader.when(flags & 16 != 0)?.map(u32::from_be_bytes);
        Ok(filter)
    }
    fn random(random: &mut Random) -> Self {
        let label = random.maybe(|random| (random.draw() as u32 >> 12).to_be_bytes());
        Self {
            tos_traffic_class: random.maybe(Random::array),
            security_parameter_index: random.maybe(|random| random.draw() as u32),
            flow_label: label.map(|[_, a, b, c]| [a, b, c]),
            filter_id: random.maybe(|random| random.draw() as u32),
            ..Self::flow("permit out ip from any to assigned")
        }
    }
}

/// Downlink Data Service Information (IE 45).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DownlinkDataServiceInformation {
    /// Paging policy indication, 0 to 63.
    pub paging_policy: Option<u8>,
    /// QoS flow identifier of the packet.
    pub qfi: Option<u8>,
}

impl IeValue for DownlinkDataServiceInformation {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[u8::from(self.paging_policy.is_some()) | u8::from(self.qfi.is_some()) << 1]);
        writer.put(self.paging_policy.as_slice());
        writer.put(self.qfi.as_slice());
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let flags = reader.octet()?;
        let six_bits = |[octet]: [u8; 1]| octet & 0x3f;
        Ok(Self {
            paging_policy: reader.when(flags & 1 != 0)?.map(six_bits),
            qfi: reader.when(flags & 2 != 0)?.map(six_bits),
        })
    }
    fn random(random: &mut Random) -> Self {
        Self {
            paging_policy: random.maybe(|random| random.below(64) as u8),
            qfi: random.maybe(|random| random.below(64) as u8),
        }
    }
}
