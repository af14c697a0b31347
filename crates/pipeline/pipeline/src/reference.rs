//! Building blocks of the oracles. They process one packet at a time, parse it again at every step, build a new vector,
//! and search tables linearly. This is intentionally slow, and independent of any engine.
use crate::declare::{
    AclRule, AclTable, Action, DropReason, Encapsulation, FiveTuple, Nat, NatKey, Port, Prefix, Tunnel,
};
use ranlab_packet::{
    ETHERNET_BYTES, EtherType, Ethernet, Gre, GreHeader, IPV6_BYTES, Ipv4, Ipv4Header, Ipv6, Mac, Protocol,
    Udp, UdpHeader, Vxlan, checksum, write_ethernet, write_vxlan,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// UDP port of GTP-U (TS 29.281 §4.4.2).
pub(crate) const GTPU_PORT: u16 = 2152;
/// UDP source port of sent VXLAN packets, from the dynamic range as recommended by RFC 7348 §5.
pub(crate) const VXLAN_SOURCE_PORT: u16 = 49_152;
/// TTL of the outer headers of sent packets.
pub(crate) const TUNNEL_TTL: u8 = 64;

pub(crate) type Step<T = ()> = Result<T, DropReason>;

/// Applies [`crate::declare::Element::Admit`].
pub(crate) fn admit(frame: &[u8], mac: Option<Mac>, ipv6: bool) -> Step {
    let Ok(ethernet) = Ethernet::parse(frame) else {
        // A truncated VLAN tag is still treated as a tag if the frame has 14 bytes.
        return match frame.first_chunk::<ETHERNET_BYTES>() {
            None => Err(DropReason::Malformed),
            Some(header) if mac.is_some_and(|mac| header[..6] != mac.0) => Err(DropReason::NotForUs),
            Some(_) => Err(DropReason::NotIp),
        };
    };
    if mac.is_some_and(|mac| ethernet.dst != mac) {
        return Err(DropReason::NotForUs);
    }
    match ethernet.ether_type {
        _ if ethernet.vlan.is_some() => Err(DropReason::NotIp),
        EtherType::IPV4 => {
            let packet = Ipv4::parse(ethernet.payload).map_err(|_| DropReason::Malformed)?;
            if packet.checksum_ok { Ok(()) } else { Err(DropReason::Checksum) }
        }
        EtherType::IPV6 if ipv6 => {
            Ipv6::parse(ethernet.payload).map(|_| ()).map_err(|_| DropReason::Malformed)
        }
        _ => Err(DropReason::NotIp),
    }
}

/// Returns the IPv4 packet of an admitted frame.
pub(crate) fn ipv4(frame: &[u8]) -> Step<Ipv4<'_>> {
    let ethernet = Ethernet::parse(frame).map_err(|_| DropReason::Malformed)?;
    Ipv4::parse(ethernet.payload).map_err(|_| DropReason::Malformed)
}

/// Returns the destination of an admitted frame.
pub(crate) fn destination(frame: &[u8]) -> Step<IpAddr> {
    let ethernet = Ethernet::parse(frame).map_err(|_| DropReason::Malformed)?;
    if ethernet.ether_type == EtherType::IPV6 {
        return Ipv6::parse(ethernet.payload).map(|p| p.dst.into()).map_err(|_| DropReason::Malformed);
    }
    Ok(ipv4(frame)?.dst.into())
}

/// Returns the source of an admitted frame.
pub(crate) fn source(frame: &[u8]) -> Step<IpAddr> {
    let ethernet = Ethernet::parse(frame).map_err(|_| DropReason::Malformed)?;
    if ethernet.ether_type == EtherType::IPV6 {
        return Ipv6::parse(ethernet.payload).map(|p| p.src.into()).map_err(|_| DropReason::Malformed);
    }
    Ok(ipv4(frame)?.src.into())
}

/// Returns the key of a user: its IPv4 address, or the upper half of its IPv6 address.
pub(crate) fn user_key(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// Returns the destination MAC of any frame.
pub(crate) fn destination_mac(frame: &[u8]) -> Step<Mac> {
    let header = frame.first_chunk::<ETHERNET_BYTES>().ok_or(DropReason::Malformed)?;
    Ok(Mac([header[0], header[1], header[2], header[3], header[4], header[5]]))
}

/// Applies [`crate::declare::Element::Decap`]. Returns the key of the tunnel. `frame` becomes the inner packet or
/// frame.
pub(crate) fn decap(frame: &mut Vec<u8>, kind: Encapsulation, local: Ipv4Addr, ipv6: bool) -> Step<u32> {
    if Ethernet::parse(frame).is_ok_and(|outer| outer.ether_type == EtherType::IPV6) {
        return Err(DropReason::NotTunnel);
    }
    let outer = ipv4(frame)?;
    let protocol = if kind == Encapsulation::Gre { Protocol::GRE } else { Protocol::UDP };
    if outer.dst != local || outer.protocol != protocol {
        return Err(DropReason::NotTunnel);
    }
    if outer.is_fragment() {
        return Err(DropReason::Fragment);
    }
    let mut six = false;
    let (key, inner) = match kind {
        Encapsulation::Gre => {
            let gre = Gre::parse(outer.payload).map_err(|_| DropReason::Malformed)?;
            let known = gre.protocol == EtherType::IPV4 || ipv6 && gre.protocol == EtherType::IPV6;
            six = gre.protocol == EtherType::IPV6;
            (gre.key.filter(|_| known).ok_or(DropReason::NotTunnel)?, gre.payload)
        }
        Encapsulation::Gtp { .. } => {
            let udp = Udp::parse(outer.payload).map_err(|_| DropReason::Malformed)?;
            if udp.dst_port != GTPU_PORT {
                return Err(DropReason::NotTunnel);
            }
            let (key, packet) = gtp_user_data(udp.payload)?;
            // GTP-U does not specify the type of its payload, so the IP version of the inner packet is used.
            six = ipv6 && packet.first().is_some_and(|octet| octet >> 4 == 6);
            (key, packet)
        }
        Encapsulation::Vxlan => {
            let udp = Udp::parse(outer.payload).map_err(|_| DropReason::Malformed)?;
            if udp.dst_port != ranlab_packet::VXLAN_PORT {
                return Err(DropReason::NotTunnel);
            }
            let vxlan = Vxlan::parse(udp.payload).map_err(|_| DropReason::Malformed)?;
            (vxlan.vni.ok_or(DropReason::NotTunnel)?, vxlan.frame)
        }
    };
    let mut carried =
        if kind == Encapsulation::Vxlan { Vec::new() } else { frame[..ETHERNET_BYTES].to_vec() };
    if six {
        carried[ETHERNET_BYTES - 2..].copy_from_slice(&EtherType::IPV6.0.to_be_bytes());
    }
    carried.extend_from_slice(inner);
    admit(&carried, None, ipv6)?;
    *frame = carried;
    Ok(key)
}

/// Returns TEID and content of a G-PDU (TS 29.281 §5.1, §5.2).
fn gtp_user_data(message: &[u8]) -> Step<(u32, &[u8])> {
    let (&[flags, kind, l0, l1, t0, t1, t2, t3], rest) =
        message.split_first_chunk::<8>().ok_or(DropReason::Malformed)?;
    if flags >> 5 != 1 || flags & 0x10 == 0 {
        return Err(DropReason::Malformed);
    }
    if kind != 255 {
        return Err(DropReason::NotTunnel);
    }
    let mut rest = rest.get(..usize::from(u16::from_be_bytes([l0, l1]))).ok_or(DropReason::Malformed)?;
    if flags & 7 != 0 {
        let (&[_, _, _, next], after) = rest.split_first_chunk::<4>().ok_or(DropReason::Malformed)?;
        rest = after;
        // Without the E flag, the next extension header type must not be interpreted.
        let mut next = if flags & 4 != 0 { next } else { 0 };
        while next != 0 {
            let octets = usize::from(*rest.first().ok_or(DropReason::Malformed)?) * 4;
            if octets == 0 || octets > rest.len() {
                return Err(DropReason::Malformed);
            }
            next = rest[octets - 1];
            rest = &rest[octets..];
        }
    }
    Ok((u32::from_be_bytes([t0, t1, t2, t3]), rest))
}

/// Returns the classification fields of an admitted IPv4 packet.
pub(crate) fn five_tuple(frame: &[u8]) -> Step<FiveTuple> {
    let packet = ipv4(frame)?;
    let whole = if packet.fragment_offset_bytes == 0 { packet.payload } else { &[] };
    let (ports, tcp_flags) = transport(packet.protocol, whole);
    Ok(FiveTuple { src: packet.src, dst: packet.dst, protocol: packet.protocol.0, ports, tcp_flags })
}

/// Returns the classification fields of an admitted IPv6 packet.
pub(crate) fn five_tuple6(frame: &[u8]) -> Step<FiveTuple<Ipv6Addr>> {
    let ethernet = Ethernet::parse(frame).map_err(|_| DropReason::Malformed)?;
    let packet = Ipv6::parse(ethernet.payload).map_err(|_| DropReason::Malformed)?;
    let (ports, tcp_flags) = transport(packet.next_header, packet.payload);
    Ok(FiveTuple { src: packet.src, dst: packet.dst, protocol: packet.next_header.0, ports, tcp_flags })
}

/// Returns ports and TCP flags of a complete transport header.
fn transport(protocol: Protocol, payload: &[u8]) -> (Option<(u16, u16)>, Option<u16>) {
    let least = match protocol {
        Protocol::TCP => 20,
        Protocol::UDP => 8,
        _ => usize::MAX,
    };
    if payload.len() < least {
        return (None, None);
    }
    let ports = (raw16(payload, 0), raw16(payload, 2));
    (Some(ports), (protocol == Protocol::TCP).then(|| raw16(payload, 12)))
}

/// Applies [`crate::declare::Element::Acl`] to an admitted packet.
pub(crate) fn classify(table: &AclTable, frame: &[u8]) -> Step {
    fn first<P: Prefix>(rules: &[(AclRule<P>, Action)], packet: &FiveTuple<P::Address>) -> Option<Action> {
        rules.iter().find(|(rule, _)| rule.matches(packet)).map(|(_, action)| *action)
    }
    let found = if is_ipv6(frame) {
        first(&table.rules6, &five_tuple6(frame)?)
    } else {
        first(&table.rules, &five_tuple(frame)?)
    };
    match found.unwrap_or(table.default) {
        Action::Permit => Ok(()),
        Action::Deny => Err(DropReason::Denied),
    }
}

/// Decrements the TTL as in [`crate::declare::Element::Forward`].
pub(crate) fn spend_hop(frame: &mut [u8]) -> Step {
    let ether_type = Ethernet::parse(frame).map_err(|_| DropReason::Malformed)?.ether_type;
    let life = if ether_type == EtherType::IPV6 { ETHERNET_BYTES + 7 } else { ETHERNET_BYTES + 8 };
    if frame[life] <= 1 {
        return Err(DropReason::HopLimit);
    }
    frame[life] -= 1;
    if ether_type == EtherType::IPV4 {
        recompute_ipv4_checksum(frame)?;
    }
    Ok(())
}

/// Writes both MAC addresses.
pub(crate) fn readdress(frame: &mut [u8], dst: Mac, src: Mac) {
    frame[..6].copy_from_slice(&dst.0);
    frame[6..12].copy_from_slice(&src.0);
}

/// The side that a translation rewrites.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Destination,
}

/// Returns the key of a translation.
pub(crate) fn nat_key(frame: &[u8], side: Side) -> Step<NatKey> {
    let of = |src: IpAddr, dst: IpAddr, (src_port, dst_port)| match side {
        Side::Source => (src, src_port),
        Side::Destination => (dst, dst_port),
    };
    let ((address, port), protocol) = if is_ipv6(frame) {
        let tuple = five_tuple6(frame)?;
        (of(tuple.src.into(), tuple.dst.into(), tuple.ports.unwrap_or((0, 0))), tuple.protocol)
    } else {
        let tuple = five_tuple(frame)?;
        (of(tuple.src.into(), tuple.dst.into(), tuple.ports.unwrap_or((0, 0))), tuple.protocol)
    };
    // A packet without ports, or with the reserved port 0, is not translated.
    if port == 0 { Err(DropReason::Miss) } else { Ok(NatKey { address, protocol, port }) }
}

/// Rewrites address and port. Transport checksums are updated, and wrong checksums stay wrong.
pub(crate) fn translate(frame: &mut [u8], side: Side, to: Nat) -> Step {
    let six = is_ipv6(frame);
    let key = nat_key(frame, side)?;
    let transport = ETHERNET_BYTES + if six { IPV6_BYTES } else { ipv4(frame)?.header.len() };
    let at = match (side, six) {
        (Side::Source, false) => 12,
        (Side::Destination, false) => 16,
        (Side::Source, true) => 8,
        (Side::Destination, true) => 24,
    };
    let udp = Protocol(key.protocol) == Protocol::UDP;
    let sum_at = transport + if udp { 6 } else { 16 };
    let old_sum = raw16(frame, sum_at);
    let port_at = transport + if side == Side::Source { 0 } else { 2 };
    let old_port = raw16(frame, port_at);
    let old = octets(key.address);
    let new = octets(to.address);
    frame[ETHERNET_BYTES + at..ETHERNET_BYTES + at + new.len()].copy_from_slice(&new);
    frame[port_at..port_at + 2].copy_from_slice(&to.port.to_be_bytes());
    if !(udp && old_sum == 0) {
        let halves = (0..old.len()).step_by(2);
        let sum = halves.fold(old_sum, |sum, i| checksum::update(sum, raw16(&old, i), raw16(&new, i)));
        let sum = checksum::update(sum, old_port, to.port);
        let sum = if udp && sum == 0 { 0xffff } else { sum };
        frame[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    if six { Ok(()) } else { recompute_ipv4_checksum(frame) }
}

/// Returns whether an admitted frame contains IPv6.
fn is_ipv6(frame: &[u8]) -> bool {
    Ethernet::parse(frame).is_ok_and(|ethernet| ethernet.ether_type == EtherType::IPV6)
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Applies [`crate::declare::Element::Encap`].
pub(crate) fn encap(frame: &[u8], tunnel: &Tunnel, key: u32) -> Step<Vec<u8>> {
    let (protocol, inner) = match tunnel.kind {
        Encapsulation::Gtp { qfi } => {
            let packet = whole_packet(frame)?;
            let mut gtp = vec![0x34, 255];
            gtp.extend((packet.len() as u16 + 8).to_be_bytes());
            gtp.extend(key.to_be_bytes());
            // Sequence number and N-PDU number are absent. The next header is a PDU session container (TS 38.415) of
            // four bytes, for the downlink (type 0), without a further header.
            gtp.extend([0, 0, 0, 0x85, 1, 0, qfi & 0x3f, 0]);
            gtp.extend(packet);
            (Protocol::UDP, udp(GTPU_PORT, GTPU_PORT, &gtp))
        }
        Encapsulation::Vxlan => {
            let mut vxlan = write_vxlan(key).to_vec();
            vxlan.extend(frame);
            (Protocol::UDP, udp(VXLAN_SOURCE_PORT, ranlab_packet::VXLAN_PORT, &vxlan))
        }
        Encapsulation::Gre => {
            let protocol = Ethernet::parse(frame).map_err(|_| DropReason::Malformed)?.ether_type;
            let mut gre = GreHeader { protocol, key }.write().to_vec();
            gre.extend(whole_packet(frame)?);
            (Protocol::GRE, gre)
        }
    };
    let src = tunnel.local;
    let dst = tunnel.remote;
    let payload_bytes = inner.len() as u16;
    let mut out = write_ethernet(tunnel.dst, tunnel.src, EtherType::IPV4).to_vec();
    out.extend(Ipv4Header { traffic_class: 0, payload_bytes, ttl: TUNNEL_TTL, protocol, src, dst }.write());
    out.extend(inner);
    Ok(out)
}

/// A user's token bucket in exact arithmetic. Tokens are bytes times nanoseconds per second.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    rate_bytes_per_s: u64,
    depth: u128,
    tokens: u128,
    last_ns: u64,
}

impl TokenBucket {
    pub(crate) fn full(rate_bytes_per_s: u64, burst_bytes: u32) -> Self {
        let depth = u128::from(burst_bytes) * 1_000_000_000;
        Self { rate_bytes_per_s, depth, tokens: depth, last_ns: 0 }
    }

    /// Applies [`crate::declare::Element::Meter`].
    pub(crate) fn charge(&mut self, now_ns: u64, frame: &[u8]) -> Step {
        let elapsed = u128::from(now_ns.saturating_sub(self.last_ns));
        self.tokens = (self.tokens + elapsed * u128::from(self.rate_bytes_per_s)).min(self.depth);
        self.last_ns = self.last_ns.max(now_ns);
        let price = whole_packet(frame)?.len() as u128 * 1_000_000_000;
        if price > self.tokens {
            return Err(DropReason::Metered);
        }
        self.tokens -= price;
        Ok(())
    }
}

/// Converts the result of a step to the verdict on the packet.
pub(crate) fn decide(ingress: Port, fakedrop: bool, verdict: Step<Port>) -> crate::declare::Verdict {
    use crate::declare::Verdict;
    match verdict {
        Ok(port) => Verdict::Sent(port),
        Err(reason) if fakedrop && reason.is_unmatched() => Verdict::Sent(ingress.other()),
        Err(reason) => Verdict::Dropped(reason),
    }
}

/// Returns the IP packet of a frame without padding.
fn whole_packet(frame: &[u8]) -> Step<&[u8]> {
    let ethernet = Ethernet::parse(frame).map_err(|_| DropReason::Malformed)?;
    let total = if ethernet.ether_type == EtherType::IPV6 {
        let packet = Ipv6::parse(ethernet.payload).map_err(|_| DropReason::Malformed)?;
        IPV6_BYTES + packet.payload.len()
    } else {
        ipv4(frame)?.total_bytes.into()
    };
    frame.get(ETHERNET_BYTES..ETHERNET_BYTES + total).ok_or(DropReason::Malformed)
}

fn udp(src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let mut out =
        UdpHeader { src_port, dst_port, payload_bytes: payload.len() as u16, checksum: 0 }.write().to_vec();
    out.extend(payload);
    out
}

fn recompute_ipv4_checksum(frame: &mut [u8]) -> Step {
    let header_bytes = ipv4(frame)?.header.len();
    let header = &mut frame[ETHERNET_BYTES..ETHERNET_BYTES + header_bytes];
    header[10..12].fill(0);
    let sum = checksum::checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

fn raw16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
