use super::*;
use proptest::prelude::*;

/// Compares with RFC 1071's example and with a header that many textbooks use, whose checksum is 0xb861.
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
fn header_stack_round_trips() {
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
fn second_vlan_tag_stays_in_payload() {
    let mut frame = [0; 22];
    frame[12..22].copy_from_slice(&[0x88, 0xa8, 0xb0, 0x64, 0x81, 0, 0, 7, 8, 0]);
    let outer = Ethernet::parse(&frame).unwrap();
    assert_eq!(outer.vlan, Some(VlanTag { priority: 5, drop_eligible: true, vlan_id: 100 }));
    assert_eq!((outer.ether_type, outer.payload), (EtherType::VLAN, &[0, 7, 8, 0][..]));
    assert_eq!(outer.vlan.unwrap().to_u16(), 0xb064);
}

#[test]
fn ipv6_round_trips() {
    let src = "fd00::1".parse().unwrap();
    let dst = "2001:db8::2".parse().unwrap();
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
fn tunnels_round_trip() {
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
fn captured_ipv4_may_be_truncated_or_unsegmented() {
    let src = "10.0.0.1".parse().unwrap();
    let dst = "10.0.0.2".parse().unwrap();
    let mut v4 =
        Ipv4Header { traffic_class: 0, payload_bytes: 6, ttl: 9, protocol: Protocol::SCTP, src, dst }
            .write()
            .to_vec();
    v4.extend([1, 2, 3, 4]);
    assert!(matches!(Ipv4::parse(&v4), Err(PacketError::Truncated { needs: 26, has: 24, .. })));
    let ip = Ip::parse_captured(&v4).unwrap();
    assert_eq!((ip.protocol, ip.is_fragment, ip.payload), (Protocol::SCTP, false, &[1, 2, 3, 4][..]));
    v4[3] = 0;
    assert_eq!(Ip::parse_captured(&v4).unwrap().payload, [1, 2, 3, 4]);
    // Padding is removed, a truncated header fails, a fragment is detected.
    v4[3] = 22;
    assert_eq!(Ip::parse_captured(&v4).unwrap().payload, [1, 2]);
    v4[3] = 19;
    assert!(matches!(Ip::parse_captured(&v4), Err(PacketError::Length { announced: 19, .. })));
    (v4[3], v4[6]) = (22, 0x20);
    assert!(Ip::parse_captured(&v4).unwrap().is_fragment);
    assert!(Ip::parse_captured(&v4[..19]).is_err());
    let udp = [0, 5, 0, 6, 0, 20, 0, 0, 7];
    assert!(Udp::parse(&udp).is_err());
    assert_eq!(Udp::parse_captured(&udp).unwrap().payload, [7]);
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let src = "fd00::1".parse().unwrap();
    let dst = "2001:db8::2".parse().unwrap();
    let packet = |next: u8, payload: &[u8]| {
        let payload_bytes = payload.len() as u16;
        let next_header = Protocol(next);
        let header = Ipv6Header { traffic_class: 0, payload_bytes, next_header, hop_limit: 7, src, dst };
        [&header.write()[..], payload].concat()
    };
    // A fragment header for an unfragmented datagram, destination options, and an authentication header of 12 bytes,
    // then TCP.
    let atomic = [60, 0, 0, 0, 0, 0, 0, 9, 51, 0, 1, 4, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 9, 9];
    let bytes = packet(44, &atomic);
    let ip = Ip::parse_captured(&bytes).unwrap();
    assert_eq!((ip.src, ip.protocol, ip.payload), (src.into(), Protocol::TCP, &[9, 9][..]));
    assert!(!ip.is_fragment);
    let later = packet(44, &[6, 0, 0, 9, 0, 0, 0, 1, 1, 2]);
    assert!(Ip::parse_captured(&later).unwrap().is_fragment);
    assert!(Ip::parse_captured(&packet(60, &[6, 2, 0, 0, 0, 0, 0, 0])).is_err());
    // More extension headers than the limit: the remaining bytes are not decoded as TCP.
    assert_eq!(Ip::parse_captured(&packet(60, &[60, 0].repeat(400))).unwrap().protocol, Protocol(60));
}

#[test]
fn cooked_frames_and_stacked_tags_yield_the_ether_type() {
    let v1 = [&[0; 14][..], &[8, 0, 0x45]].concat();
    let v2 = [&[0x86, 0xdd][..], &[0; 18], &[0x60]].concat();
    let cooked = Cooked::parse_v1(&v1).unwrap();
    assert_eq!((cooked.ether_type, cooked.payload), (EtherType::IPV4, &[0x45][..]));
    let cooked = Cooked::parse_v2(&v2).unwrap();
    assert_eq!((cooked.ether_type, cooked.payload), (EtherType::IPV6, &[0x60][..]));
    assert_eq!(Cooked::parse_v2(&v2[..19]).unwrap_err().layer(), "Linux cooked");
    let (tag, ether_type, rest) = VlanTag::parse(&[0xb0, 0x64, 8, 0, 1]).unwrap();
    assert_eq!((tag.vlan_id, ether_type, rest), (100, EtherType::IPV4, &[1][..]));
}

/// The layout of RFC 9260 §3: a SACK, then two DATA chunks, the first of which is padded.
#[test]
fn sctp_round_trips() {
    let mut packet = vec![0x8e, 0x45, 0x8e, 0x46, 0, 0, 0, 7, 0xde, 0xad, 0xbe, 0xef];
    packet.extend([3, 0, 0, 4]);
    packet.extend([0, 2, 0, 17, 0, 0, 0, 9, 0, 5, 0, 6, 0, 0, 0, 70, 0xaa, 0, 0, 0]);
    packet.extend([0, 5, 0, 18, 0, 0, 0, 10, 0, 5, 0, 6, 0, 0, 0, 70, 1, 2]);
    let sctp = Sctp::parse(&packet).unwrap();
    assert_eq!((sctp.src_port, sctp.dst_port, sctp.verification_tag), (36_421, 36_422, 7));
    let chunks: Vec<_> = sctp.chunks().collect::<Result<_, _>>().unwrap();
    assert_eq!(chunks.iter().map(|chunk| chunk.kind).collect::<Vec<_>>(), [3, 0, 0]);
    let [first, second] = [1, 2].map(|n| SctpData::parse(&chunks[n]).unwrap());
    assert_eq!((first.begins, first.ends, first.tsn, first.payload), (true, false, 9, &[0xaa][..]));
    assert_eq!((second.begins, second.ends, second.payload), (false, true, &[1, 2][..]));
    assert_eq!((first.stream_id, first.stream_sequence, first.payload_protocol), (5, 6, 70));
    let cut = Sctp::parse(&packet[..packet.len() - 1]).unwrap();
    let all: Vec<_> = cut.chunks().collect();
    assert!(matches!(all[..], [Ok(_), Ok(_), Err(PacketError::Truncated { needs: 18, has: 17, .. })]));
    packet[15] = 3;
    let bad: Vec<_> = Sctp::parse(&packet).unwrap().chunks().collect();
    assert!(matches!(bad[..], [Err(PacketError::Length { announced: 3, least: 4, .. })]));
}

#[test]
fn udp_headers_are_written_for_ipv4_and_ipv6() {
    for (from, to, over_ip) in [("10.0.0.1:1", "10.0.0.2:8805", 20), ("[fd00::1]:1", "[fd00::2]:8805", 40)] {
        let from = from.parse().unwrap();
        let to = to.parse::<std::net::SocketAddr>().unwrap();
        let mut packet = vec![0; udp_headers_bytes(to.ip())];
        write_udp(from, to, 64, &[7; 5], &mut packet).unwrap();
        packet.extend([7; 5]);
        let ip = Ip::parse_captured(&packet).unwrap();
        assert_eq!((ip.src, ip.dst, ip.payload.len()), (from.ip(), to.ip(), packet.len() - over_ip));
        let udp = Udp::parse(ip.payload).unwrap();
        assert_eq!((udp.src_port, udp.dst_port, udp.payload), (1, 8805, &[7; 5][..]));
        if let (std::net::IpAddr::V6(src), std::net::IpAddr::V6(dst)) = (ip.src, ip.dst) {
            let pseudo = checksum::pseudo_ipv6(src.octets(), dst.octets(), 17, 13);
            assert_eq!(checksum::fold(checksum::sum(ip.payload, pseudo)), 0xffff);
        }
        assert_eq!(write_udp(from, to, 64, &[7; 65_528], &mut packet[..over_ip + 8]), None);
        assert_eq!(write_udp(from, to, 64, &[7], &mut packet[..over_ip + 7]), None);
    }
    let four = "10.0.0.1:1".parse().unwrap();
    let six = "[fd00::1]:1".parse().unwrap();
    assert_eq!(write_udp(four, six, 64, &[], &mut [0; 48]), None);
}

#[test]
fn mac_address_text_round_trips_and_invalid_text_fails() {
    let mac: Mac = "aa:22:bb:44:cc:66".parse().unwrap();
    assert_eq!(mac.to_string(), "aa:22:bb:44:cc:66");
    assert_eq!(Mac::from_u64(mac.to_u64()), mac);
    assert_ne!(Mac::local(1), Mac::local(256));
    for text in ["", "aa:22:bb:44:cc", "aa:22:bb:44:cc:66:0", "zz:4d:00:00:00:01", "02:4d:00:00:00:123"] {
        assert!(text.parse::<Mac>().unwrap_err().to_string().contains("six bytes"));
    }
}

proptest! {
    /// For any bytes, parsing fails, or the returned view lies within these bytes.
    #[test]
    fn header_views_stay_within_parsed_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..128), first in 0u8..16) {
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
        let _ = (Cooked::parse_v1(&bytes), Cooked::parse_v2(&bytes), Ip::parse_captured(&bytes));
        if let Ok(p) = Sctp::parse(&bytes) {
            let within: usize = p.chunks().flatten().map(|chunk| chunk.value.len() + 4).sum();
            prop_assert!(within <= p.payload.len());
            prop_assert!(p.chunks().flatten().all(|chunk| SctpData::parse(&chunk).is_ok() || chunk.value.len() < 12));
        }
        // The view for captures accepts all bytes that the exact view accepts, with the same result.
        if let Ok(p) = Ipv4::parse(&bytes) { prop_assert_eq!(Ipv4::parse_captured(&bytes), Ok(p)); }
        if let Ok(p) = Udp::parse(&bytes) { prop_assert_eq!(Udp::parse_captured(&bytes), Ok(p)); }
    }

    /// An updated checksum equals the recomputed one, word by word and for 32 bits at once.
    #[test]
    fn updated_checksum_equals_recomputed(mut header in any::<[u8; 20]>(), new in any::<u32>(), at in 0usize..3) {
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
