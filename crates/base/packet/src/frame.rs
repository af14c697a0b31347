//! UDP datagrams in Ethernet frames.
use crate::{
    ETHERNET_BYTES, EtherType, Ethernet, Ipv4, Ipv6, Mac, Protocol, Udp, udp_headers_bytes, write_ethernet,
    write_udp_marked,
};
use std::net::SocketAddr;

const HOP_LIMIT: u8 = 64;

/// Headers of the datagrams from one endpoint to another: Ethernet, IP and UDP.
#[derive(Debug, Clone, Copy)]
pub struct UdpFrame {
    ethernet: [u8; ETHERNET_BYTES],
    from: SocketAddr,
    to: SocketAddr,
}

impl UdpFrame {
    /// Creates the headers; `next_hop` receives the frames.
    #[must_use]
    pub fn new(own: Mac, next_hop: Mac, from: SocketAddr, to: SocketAddr) -> Self {
        let kind = if to.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        Self { ethernet: write_ethernet(next_hop, own, kind), from, to }
    }

    /// Returns the size of the headers, in bytes.
    #[must_use]
    pub fn head_bytes(&self) -> usize {
        ETHERNET_BYTES + udp_headers_bytes(self.to.ip())
    }

    /// Writes a frame: `fill` writes the payload, then the headers are added. Returns the size of the frame; `None` if
    /// it does not fit, or the addresses have different versions.
    pub fn write(&self, frame: &mut [u8], fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<usize> {
        let payload = fill(frame.get_mut(self.head_bytes()..)?)?;
        let frame = frame.get_mut(..self.head_bytes() + payload)?;
        self.write_head(0, frame)?;
        Some(frame.len())
    }

    /// Writes the headers of a frame that contains its payload. `class` is the type of service or traffic class.
    #[must_use]
    pub fn write_head(&self, class: u8, frame: &mut [u8]) -> Option<()> {
        let (head, payload) = frame.split_at_mut_checked(self.head_bytes())?;
        let (ethernet, rest) = head.split_at_mut_checked(ETHERNET_BYTES)?;
        ethernet.copy_from_slice(&self.ethernet);
        write_udp_marked(self.from, self.to, class, HOP_LIMIT, payload, rest)
    }

    /// Returns sender and payload of a frame with a UDP datagram. The UDP checksum is ignored, because it is incomplete
    /// between devices of one machine.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<(SocketAddr, &[u8])> {
        let ethernet = Ethernet::parse(frame).ok()?;
        let (src, payload) = match ethernet.ether_type {
            EtherType::IPV4 => {
                let ip = Ipv4::parse(ethernet.payload).ok().filter(|ip| ip.protocol == Protocol::UDP)?;
                (ip.src.into(), ip.payload)
            }
            EtherType::IPV6 => {
                let ip = Ipv6::parse(ethernet.payload).ok().filter(|ip| ip.next_header == Protocol::UDP)?;
                (ip.src.into(), ip.payload)
            }
            _ => return None,
        };
        let udp = Udp::parse(payload).ok()?;
        Some((SocketAddr::new(src, udp.src_port), udp.payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{UDP_BYTES, checksum};

    const OWN: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const HOP: Mac = Mac([2, 0, 0, 0, 0, 2]);

    fn frame(from: &str, to: &str, payload: &[u8]) -> Vec<u8> {
        let head = UdpFrame::new(OWN, HOP, from.parse().unwrap(), to.parse().unwrap());
        let mut frame = vec![0xaa; 200];
        let fill = |room: &mut [u8]| {
            room.get_mut(..payload.len())?.copy_from_slice(payload);
            Some(payload.len())
        };
        let len = head.write(&mut frame, fill).unwrap();
        frame.truncate(len);
        frame
    }

    #[test]
    fn frames_round_trip() {
        for (from, to) in [("10.3.0.11:2152", "10.3.0.2:2153"), ("[fd00::11]:2152", "[fd00::2]:2153")] {
            let mut written = frame(from, to, b"payload");
            assert_eq!(written[..12], [HOP.0, OWN.0].concat());
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            assert_eq!(UdpFrame::read(&written), Some((from, &b"payload"[..])));
            // Padding of short frames is not part of the payload.
            let padded = [&written[..], &[0; 20]].concat();
            assert_eq!(UdpFrame::read(&padded), Some((from, &b"payload"[..])));
            for cut in 0..written.len() {
                assert_eq!(UdpFrame::read(&written[..cut]), None, "{cut}");
            }
            let ip = &written[ETHERNET_BYTES..];
            let datagram = &ip[udp_headers_bytes(to.ip()) - UDP_BYTES..];
            let udp = Udp::parse(datagram).unwrap();
            assert_eq!((udp.src_port, udp.dst_port), (from.port(), to.port()));
            UdpFrame::new(OWN, HOP, from, to).write_head(0xb8, &mut written).unwrap();
            let class = match to.is_ipv4() {
                true => Ipv4::parse(&written[ETHERNET_BYTES..]).unwrap().traffic_class,
                false => Ipv6::parse(&written[ETHERNET_BYTES..]).unwrap().traffic_class,
            };
            assert_eq!(class, 0xb8);
        }
    }

    #[test]
    fn header_checksums_are_valid() {
        let v4 = frame("10.3.0.11:2152", "10.3.0.2:2152", &[1, 2, 3]);
        let ip = Ipv4::parse(&v4[ETHERNET_BYTES..]).unwrap();
        assert!(ip.checksum_ok && ip.dont_fragment && Udp::parse(ip.payload).unwrap().checksum == 0);
        // Search for a payload whose checksum would be written as 0.
        let mut zero = false;
        for n in 0..=u16::MAX {
            let v6 = frame("[fd00::11]:2152", "[fd00::2]:2152", &n.to_be_bytes());
            let ip = Ipv6::parse(&v6[ETHERNET_BYTES..]).unwrap();
            let pseudo = checksum::pseudo_ipv6(ip.src.octets(), ip.dst.octets(), 17, ip.payload.len() as u32);
            assert_eq!(checksum::fold(checksum::sum(ip.payload, pseudo)), 0xffff);
            let sum = Udp::parse(ip.payload).unwrap().checksum;
            assert_ne!(sum, 0);
            zero |= sum == 0xffff;
        }
        assert!(zero);
    }
}
