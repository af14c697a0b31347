//! Values with addresses and with tunnel or session identifiers.
use crate::pfcp::ie::{IeValue, Reader, Writer};
use crate::pfcp::{Fault, FaultKind, NetworkName, Random};
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const INCORRECT: Fault = Fault { ie_type: 0, kind: FaultKind::Value };

/// An IPv4 address, an IPv6 address, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Addresses {
    /// IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// IPv6 address.
    pub v6: Option<Ipv6Addr>,
}

impl Addresses {
    fn put(&self, writer: &mut Writer) {
        self.v4.iter().for_each(|v4| writer.put(&v4.octets()));
        self.v6.iter().for_each(|v6| writer.put(&v6.octets()));
    }

    fn take(reader: &mut Reader<'_>, v4: bool, v6: bool) -> Result<Self, Fault> {
        Ok(Self { v4: reader.when::<4>(v4)?.map(Into::into), v6: reader.when::<16>(v6)?.map(Into::into) })
    }

    /// Returns random addresses, of at least one version.
    fn random(random: &mut Random) -> Self {
        let which = random.below(3);
        Self {
            v4: (which != 1).then(|| random.array::<4>().into()),
            v6: (which != 0).then(|| random.array::<16>().into()),
        }
    }

    fn flags(&self, v4: u8, v6: u8) -> u8 {
        (if self.v4.is_some() { v4 } else { 0 }) | (if self.v6.is_some() { v6 } else { 0 })
    }

    fn is_none(&self) -> bool {
        self.v4.is_none() && self.v6.is_none()
    }
}

impl From<IpAddr> for Addresses {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self { v4: Some(v4), v6: None },
            IpAddr::V6(v6) => Self { v4: None, v6: Some(v6) },
        }
    }
}

/// F-TEID (IE 21). It is a tunnel endpoint, or a request that the user plane chooses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FTeid {
    /// The tunnel endpoint is assigned.
    Assigned {
        /// Tunnel endpoint identifier.
        teid: u32,
        /// Addresses of the endpoint.
        addresses: Addresses,
    },
    /// Request that the user plane chooses an endpoint (CH).
    Choose {
        /// Whether to choose an IPv4 address.
        v4: bool,
        /// Whether to choose an IPv6 address.
        v6: bool,
        /// Identifier of the choice (CHID). Rules with the same identifier get the same tunnel.
        id: Option<u8>,
    },
}

impl Default for FTeid {
    fn default() -> Self {
        Self::Choose { v4: true, v6: false, id: None }
    }
}

impl IeValue for FTeid {
    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Assigned { teid, addresses } => {
                writer.put(&[addresses.flags(1, 2)]);
                writer.put(&teid.to_be_bytes());
                addresses.put(writer);
            }
            Self::Choose { v4, v6, id } => {
                let id_flag = if id.is_some() { 8 } else { 0 };
                writer.put(&[u8::from(*v4) | u8::from(*v6) << 1 | 4 | id_flag]);
                writer.put(id.as_slice());
            }
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let flags = reader.octet()?;
        let v4 = flags & 1 != 0;
        let v6 = flags & 2 != 0;
        if !v4 && !v6 {
            return Err(INCORRECT);
        }
        if flags & 4 != 0 {
            return Ok(Self::Choose { v4, v6, id: reader.when::<1>(flags & 8 != 0)?.map(|[id]| id) });
        }
        Ok(Self::Assigned {
            teid: u32::from_be_bytes(reader.take()?),
            addresses: Addresses::take(reader, v4, v6)?,
        })
    }
    fn random(random: &mut Random) -> Self {
        let addresses = Addresses::random(random);
        if random.below(4) != 0 {
            return Self::Assigned { teid: random.draw() as u32, addresses };
        }
        let id = random.maybe(|random| random.draw() as u8);
        Self::Choose { v4: addresses.v4.is_some(), v6: addresses.v6.is_some(), id }
    }
}

/// F-SEID (IE 57). It has the identifier of a session at one endpoint, and the addresses of this endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FSeid {
    /// Session endpoint identifier.
    pub seid: u64,
    /// Addresses of the endpoint.
    pub addresses: Addresses,
}

impl IeValue for FSeid {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[self.addresses.flags(2, 1)]);
        writer.put(&self.seid.to_be_bytes());
        self.addresses.put(writer);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let flags = reader.octet()?;
        let seid = u64::from_be_bytes(reader.take()?);
        let addresses = Addresses::take(reader, flags & 2 != 0, flags & 1 != 0)?;
        if addresses.is_none() { Err(INCORRECT) } else { Ok(Self { seid, addresses }) }
    }
    fn random(random: &mut Random) -> Self {
        Self { seid: random.draw(), addresses: Addresses::random(random) }
    }
}

/// Node ID (IE 60).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeId {
    /// Node identified by an IPv4 address.
    V4(Ipv4Addr),
    /// Node identified by an IPv6 address.
    V6(Ipv6Addr),
    /// Node identified by a domain name, as DNS labels.
    Fqdn(NetworkName),
}

impl Default for NodeId {
    fn default() -> Self {
        Self::V4(Ipv4Addr::UNSPECIFIED)
    }
}

impl From<IpAddr> for NodeId {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::V4(v4),
            IpAddr::V6(v6) => Self::V6(v6),
        }
    }
}

impl IeValue for NodeId {
    fn put(&self, writer: &mut Writer) {
        match self {
            Self::V4(v4) => {
                writer.put(&[0]);
                writer.put(&v4.octets());
            }
            Self::V6(v6) => {
                writer.put(&[1]);
                writer.put(&v6.octets());
            }
            Self::Fqdn(name) => {
                writer.put(&[2]);
                name.put(writer);
            }
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        match reader.octet()? & 0x0f {
            0 => Ok(Self::V4(reader.take::<4>()?.into())),
            1 => Ok(Self::V6(reader.take::<16>()?.into())),
            2 => NetworkName::take(reader).map(Self::Fqdn),
            _ => Err(INCORRECT),
        }
    }
    fn random(random: &mut Random) -> Self {
        match random.below(3) {
            0 => Self::V4(random.array::<4>().into()),
            1 => Self::V6(random.array::<16>().into()),
            _ => Self::Fqdn(NetworkName::random(random)),
        }
    }
}

/// UE IP Address (IE 93).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UeIpAddress {
    /// Addresses of the UE.
    pub addresses: Addresses,
    /// Whether the address is compared with the destination of packets (downlink) instead of the source (uplink) (S/D).
    pub destination: bool,
    /// Number of bits of the prefix that the UE may delegate (IPv6D).
    pub prefix_delegation_bits: Option<u8>,
    /// Whether the user plane chooses an IPv4 address (CHV4).
    pub choose_v4: bool,
    /// Whether the user plane chooses an IPv6 prefix (CHV6).
    pub choose_v6: bool,
    /// Length of the IPv6 prefix, if it is not 64 (IP6PL).
    pub prefix_len: Option<u8>,
}

impl IeValue for UeIpAddress {
    fn put(&self, writer: &mut Writer) {
        writer.put(&[self.addresses.flags(2, 1)
            | u8::from(self.destination) << 2
            | u8::from(self.prefix_delegation_bits.is_some()) << 3
            | u8::from(self.choose_v4) << 4
            | u8::from(self.choose_v6) << 5
            | u8::from(self.prefix_len.is_some()) << 6]);
        self.addresses.put(writer);
        writer.put(self.prefix_delegation_bits.as_slice());
        writer.put(self.prefix_len.as_slice());
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let flags = reader.octet()?;
        let addresses = Addresses::take(reader, flags & 2 != 0, flags & 1 != 0)?;
        Ok(Self {
            addresses,
            destination: flags & 4 != 0,
            prefix_delegation_bits: reader.when::<1>(flags & 8 != 0)?.map(|[bits]| bits),
            choose_v4: flags & 16 != 0,
            choose_v6: flags & 32 != 0,
            prefix_len: reader.when::<1>(flags & 64 != 0)?.map(|[len]| len),
        })
    }
    fn random(random: &mut Random) -> Self {
        let destination = random.flag();
        if random.below(8) == 0 {
            return Self { destination, choose_v4: true, ..Self::default() };
        }
        let addresses = Addresses::random(random);
        let v6 = addresses.v6.is_some();
        let bits = random.maybe(|random| random.below(64) as u8).filter(|_| v6);
        Self { addresses, destination, prefix_delegation_bits: bits, ..Self::default() }
    }
}

/// Outer Header Creation (IE 84): destination and tunnel of forwarded packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct OuterHeaderCreation {
    /// Kind of the headers; see the constants. It determines which fields are present.
    pub description: u16,
    /// TEID at the receiver, for GTP-U.
    pub teid: Option<u32>,
    /// Addresses of the receiver.
    pub addresses: Addresses,
    /// UDP port of the receiver, for UDP without GTP-U.
    pub port: Option<u16>,
    /// Outer VLAN tags: customer tag and service tag.
    pub tags: [Option<[u8; 3]>; 2],
}

impl OuterHeaderCreation {
    ranlab_machine::codes! { u16:
        GTPU_UDP_IPV4 = 0x0100 "GTP-U over UDP over IPv4.";
        GTPU_UDP_IPV6 = 0x0200 "GTP-U over UDP over IPv6.";
        UDP_IPV4 = 0x0400 "UDP over IPv4.";
        UDP_IPV6 = 0x0800 "UDP over IPv6.";
        IPV4 = 0x1000 "IPv4 only.";
        IPV6 = 0x2000 "IPv6 only.";
    }
    const C_TAG: u16 = 0x4000;
    const S_TAG: u16 = 0x8000;

    /// Returns the creation of a GTP-U header for a tunnel of `peer`.
    pub fn gtpu(teid: u32, peer: IpAddr) -> Self {
        let description = if peer.is_ipv4() { Self::GTPU_UDP_IPV4 } else { Self::GTPU_UDP_IPV6 };
        Self { description, teid: Some(teid), addresses: peer.into(), ..Self::default() }
    }
}

impl IeValue for OuterHeaderCreation {
    fn put(&self, writer: &mut Writer) {
        writer.put(&self.description.to_be_bytes());
        self.teid.iter().for_each(|teid| writer.put(&teid.to_be_bytes()));
        self.addresses.put(writer);
        self.port.iter().for_each(|port| writer.put(&port.to_be_bytes()));
        self.tags.iter().flatten().for_each(|tag| writer.put(tag));
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let description = u16::from_be_bytes(reader.take()?);
        let any = |flags: u16| description & flags != 0;
        let teid = reader.when(any(Self::GTPU_UDP_IPV4 | Self::GTPU_UDP_IPV6))?;
        let v4 = any(Self::GTPU_UDP_IPV4 | Self::UDP_IPV4 | Self::IPV4);
        let v6 = any(Self::GTPU_UDP_IPV6 | Self::UDP_IPV6 | Self::IPV6);
        Ok(Self {
            description,
            teid: teid.map(u32::from_be_bytes),
            addresses: Addresses::take(reader, v4, v6)?,
            port: reader.when(any(Self::UDP_IPV4 | Self::UDP_IPV6))?.map(u16::from_be_bytes),
            tags: [reader.when(any(Self::C_TAG))?, reader.when(any(Self::S_TAG))?],
        })
    }
    fn random(random: &mut Random) -> Self {
        let teid = random.draw() as u32;
        let v4 = random.array::<4>();
        let v6 = random.array::<16>();
        match random.below(3) {
            0 => Self::gtpu(teid, v4.into()),
            1 => Self::gtpu(teid, v6.into()),
            _ => Self {
                description: Self::UDP_IPV4,
                addresses: IpAddr::from(v4).into(),
                port: Some(teid as u16),
                ..Self::default()
            },
        }
    }
}

/// Remote GTP-U Peer (IE 103).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RemoteGtpuPeer {
    /// Addresses of the peer.
    pub addresses: Addresses,
    /// Destination interface, if the element has one.
    pub destination_interface: Option<u8>,
    /// Network instance, if the element has one.
    pub network_instance: Option<NetworkName>,
}

impl IeValue for RemoteGtpuPeer {
    fn put(&self, writer: &mut Writer) {
        let di = self.destination_interface;
        let ni = self.network_instance.as_ref();
        let flags = u8::from(di.is_some()) << 2 | u8::from(ni.is_some()) << 3;
        writer.put(&[self.addresses.flags(2, 1) | flags]);
        self.addresses.put(writer);
        di.iter().for_each(|di| writer.put(&[0, 1, *di]));
        if let Some(NetworkName(name)) = ni {
            // A name that exceeds its length field also makes the element too long. The element writer detects this.
            writer.put(&(name.len() as u16).to_be_bytes());
            writer.put(name);
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let flags = reader.octet()?;
        let mut peer =
            Self { addresses: Addresses::take(reader, flags & 2 != 0, flags & 1 != 0)?, ..Self::default() };
        if peer.addresses.is_none() {
            return Err(INCORRECT);
        }
        if flags & 4 != 0 {
            let len = u16::from_be_bytes(reader.take()?).into();
            peer.destination_interface = Some(*reader.slice(len)?.first().ok_or(INCORRECT)?);
        }
        if flags & 8 != 0 {
            let len = u16::from_be_bytes(reader.take()?).into();
            peer.network_instance = Some(NetworkName(Bytes::copy_from_slice(reader.slice(len)?)));
        }
        Ok(peer)
    }
    fn random(random: &mut Random) -> Self {
        Self {
            addresses: Addresses::random(random),
            destination_interface: random.maybe(|random| random.below(4) as u8),
            network_instance: random.option(),
        }
    }
}

/// FQ-CSID (IE 65): sets of sessions that a node can lose together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct FqCsid {
    /// Identity of the node: its kind (0 IPv4, 1 IPv6, 2 four bytes of MCC, MNC and a number), and its bytes.
    pub node: (u8, Bytes),
    /// Connection set identifiers, at most 15.
    pub csids: Vec<u16>,
}

impl IeValue for FqCsid {
    fn put(&self, writer: &mut Writer) {
        let csids = &self.csids[..self.csids.len().min(15)];
        writer.put(&[self.node.0 << 4 | csids.len() as u8]);
        writer.put(&self.node.1);
        csids.iter().for_each(|csid| writer.put(&csid.to_be_bytes()));
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let head = reader.octet()?;
        let node_len = match head >> 4 {
            0 | 2 => 4,
            1 => 16,
            _ => return Err(INCORRECT),
        };
        let node = (head >> 4, Bytes::copy_from_slice(reader.slice(node_len)?));
        let mut csids = Vec::new();
        for _ in 0..head & 0x0f {
            csids.push(u16::from_be_bytes(reader.take()?));
        }
        Ok(Self { node, csids })
    }
    fn random(random: &mut Random) -> Self {
        let v6 = random.flag();
        let len = if v6 { 16 } else { 4 };
        let csids = (0..1 + random.below(3)).map(|_| random.draw() as u16).collect();
        Self { node: (v6.into(), random.octets(len, len).into()), csids }
    }
}
