use super::*;
use proptest::prelude::*;

/// RFC 1071's example and a header printed in many textbooks, whose checksum is 0xb861.
#[test]
fn checksums_match_known_values() {
    assert_eq!(checksum::sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0), 0xddf2);
    let mut header =
        [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
    assert_eq!(checksum::checksum(&header), 0xb861);
    header[10..12].copy_from_slice(&[0xb8, 0x61]);
    assert!(checksum::verifies(&header));
    assert_eq!(checksum::checksum(&[1, 2, 3]), !0x0402);
}

#[test]
fn a_written_stack_reads_back() {
    let src = "10.0.0.1".parse().unwrap();
    let dst = "10.0.0.2".parse().unwrap();
    let mut frame = write_ethernet(Mac([1; 6]), Mac([2; 6]), EtherType::IPV4).to_vec();
    let ip = Ipv4Header { traffic_class: 0x2e, payload_bytes: 12, ttl: 9, protocol: Protocol::UDP, src, dst };
    frame.extend(ip.write());
    frame.extend(UdpHeader { src_port: 5, dst_port: 6, payload_bytes: 4, checksum: 0 }.write());
    frame.extend([1, 2, 3, 4, 0, 0, 0]);
    let ethernet = Ethernet::parse(&frame).unwrap();
    let packet = Ipv4::parse(ethernet.payload).unwrap();
    assert!(packet.checksum_ok && packet.dont_fragment && !packet.is_fragment());
    assert_eq!((packet.src, packet.dst, packet.ttl, packet.payload.len()), (src, dst, 9, 12));
    let udp = Udp::parse(packet.payload).unwrap();
    assert_eq!((udp.src_port, udp.dst_port, udp.payload), (5, 6, &[1, 2, 3, 4][..]));
}

#[test]
fn one_vlan_tag_is_taken_and_a_second_left() {
    let mut frame = [0; 22];
    frame[12..22].copy_from_slice(&[0x88, 0xa8, 0xb0, 0x64, 0x81, 0, 0, 7, 8, 0]);
    let outer = Ethernet::parse(&frame).unwrap();
    assert_eq!(outer.vlan, Some(VlanTag { priority: 5, drop_eligible: true, vlan_id: 100 }));
    assert_eq!((outer.ether_type, outer.payload), (EtherType::VLAN, &[0, 7, 8, 0][..]));
    assert_eq!(outer.vlan.unwrap().to_u16(), 0xb064);
}

#[test]
fn ipv6_reads_back() {
    let (src, dst) = ("fd00::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    let header =
        Ipv6Header { traffic_class: 3, payload_bytes: 2, next_header: Protocol::TCP, hop_limit: 7, src, dst };
    let mut bytes = header.write().to_vec();
    assert!(matches!(Ipv6::parse(&bytes), Err(PacketError::Truncated { needs: 2, has: 0, .. })));
    bytes.extend([9, 8, 7]);
    let packet = Ipv6::parse(&bytes).unwrap();
    assert_eq!((packet.src, packet.dst, packet.payload), (src, dst, &[9, 8][..]));
    assert_eq!((packet.traffic_class, packet.flow_label, packet.hop_limit), (3, 0, 7));
}

#[test]
fn tunnels_read_back() {
    let gre = GreHeader { protocol: EtherType::IPV4, key: 77 }.write();
    assert_eq!(Gre::parse(&gre).unwrap().key, Some(77));
    assert!(matches!(Gre::parse(&[0x40, 0, 8, 0]), Err(PacketError::Reserved { bits: 0x4000, .. })));
    assert!(matches!(Gre::parse(&[0, 1, 8, 0]), Err(PacketError::Version { version: 1, .. })));
    let full = [0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6, 0x45];
    let parsed = Gre::parse(&full).unwrap();
    assert_eq!((parsed.checksum, parsed.key, parsed.sequence), (Some(0x0102), Some(5), Some(6)));
    assert_eq!(parsed.payload, [0x45]);
    assert_eq!(Vxlan::parse(&write_vxlan(0x00ab_cdef)).unwrap().vni, Some(0x00ab_cdef));
    assert_eq!(Vxlan::parse(&[0; 8]).unwrap().vni, None);
}

#[test]
fn mac_addresses_have_a_text_form() {
    let mac: Mac = "aa:22:bb:44:cc:66".parse().unwrap();
    assert_eq!(mac.to_string(), "aa:22:bb:44:cc:66");
    assert_eq!(Mac::from_u64(mac.to_u64()), mac);
    assert!("aa:22:bb:44:cc".parse::<Mac>().is_err() && "aa:22:bb:44:cc:66:0".parse::<Mac>().is_err());
}

proptest! {
    /// Whatever the bytes, a view is an error or lies within them.
    #[test]
    fn views_stay_within_their_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..128), first in 0u8..16) {
        let mut bytes = bytes;
        if let Some(b) = bytes.first_mut() { *b = 0x40 | first; }
        if let Some(b) = bytes.get_mut(2) { *b = 0; }
        if let Ok(p) = Ipv4::parse(&bytes) {
            prop_assert_eq!(p.header.len() + p.payload.len(), usize::from(p.total_bytes));
            prop_assert!(usize::from(p.total_bytes) <= bytes.len());
        }
        if let Ok(p) = Tcp::parse(&bytes) { prop_assert!(p.payload.len() + TCP_BYTES <= bytes.len()); }
        if let Ok(p) = Udp::parse(&bytes) { prop_assert!(p.payload.len() + UDP_BYTES <= bytes.len()); }
        if let Ok(p) = Ethernet::parse(&bytes) { prop_assert!(p.payload.len() + ETHERNET_BYTES <= bytes.len()); }
        let _ = (Ipv6::parse(&bytes), Gre::parse(&bytes), Vxlan::parse(&bytes));
    }

    /// An updated checksum is the recomputed one, word by word and for 32 bits at once.
    #[test]
    fn updating_equals_recomputing(mut header in any::<[u8; 20]>(), new in any::<u32>(), at in 0usize..3) {
        header[0] = 0x45;
        header[10..12].fill(0);
        let sum = checksum::checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        let at = [4, 12, 16][at];
        let old = u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
        let updated = checksum::update32(sum, old, new);
        header[at..at + 4].copy_from_slice(&new.to_be_bytes());
        header[10..12].fill(0);
        prop_assert_eq!(updated, checksum::checksum(&header));
    }
}
