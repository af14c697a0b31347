//! Tests of actions between any two interfaces, several addresses per UE, filters, and rejected rules.
use super::tests::*;
use super::*;
use crate::pfcp::*;

const SMF: [u8; 4] = [10, 0, 0, 7];

fn tunnel(interface: Interface, teid: u32, peer: [u8; 4]) -> Option<ForwardingParameters> {
    Some(ForwardingParameters {
        destination_interface: interface,
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, peer.into())),
        ..Default::default()
    })
}

fn from_tunnel(interface: Interface, teid: u32) -> Pdi {
    let addresses = IpAddr::from([10, 0, 0, 2]).into();
    let f_teid = Some(FTeid::Assigned { teid, addresses });
    Pdi { source_interface: interface, f_teid, ..Default::default() }
}

/// Forwards a datagram from one tunnel into another. Returns peer, TEID and container of the new datagram.
fn relayed(plane: &mut UserPlane, datagram: &[u8]) -> (IpAddr, u32, Option<PduSession>) {
    let Verdict::Relay(relay) = plane.uplink(0, GNB.into(), datagram) else { panic!("not relayed") };
    let mut out = [0; 300];
    let Verdict::N3 { peer, len, .. } = plane.write(&relay, &mut out) else { panic!("not written") };
    let packet = Packet::parse(&out[..len]).unwrap();
    (peer, packet.teid, packet.pdu_session().transpose().unwrap())
}

fn refused(session: &SessionRules) -> Refusal {
    UserPlane::check(&session.rules()).unwrap_err()
}

/// An intermediate UPF (N9) exchanges tunnels and keeps the container.
#[test]
fn intermediate_upf_forwards_between_tunnels() {
    let mut session = plain(1);
    session.pdrs[1] = pdr(2, 255, from_tunnel(Interface::CORE, 0x77), 2);
    session.fars[0] = far(1, ApplyAction::FORW, tunnel(Interface::CORE, 0x3001, SMF));
    let mut plane = installed(&session);
    let up = ip(ue(1), SERVER, 17, (1, 2), 100);
    assert_eq!(
        relayed(&mut plane, &gpdu(0x101, Some(9), &up)),
        (SMF.into(), 0x3001, Some(PduSession::ul(9)))
    );
    let down = ip(SERVER, ue(1), 17, (2, 1), 100);
    let mut datagram = vec![0; HEADROOM + down.len()];
    let head = GpduTemplate::new(Some(PduSession::dl(5))).unwrap();
    let at = head.write(0x77, down.len(), &mut datagram).unwrap();
    datagram.truncate(at);
    datagram.extend(&down);
    assert_eq!(relayed(&mut plane, &datagram), (GNB.into(), 0x901, Some(PduSession::dl(5))));
    assert_eq!((plane.counters().uplink, plane.counters().downlink), (1, 1));
    session.pdrs[1].outer_header_removal =
        Some(OuterHeaderRemoval { description: 6, extension_headers: Some(1) });
    plane.install(1, &session.rules(), &[]).unwrap();
    assert_eq!(relayed(&mut plane, &datagram).2, None);
}

/// Packets from a tunnel are buffered like packets from the data network.
#[test]
fn packets_from_a_tunnel_are_buffered() {
    let mut session = plain(1);
    session.pdrs[1] = pdr(2, 255, from_tunnel(Interface::CORE, 0x77), 2);
    session.fars[1] = far(2, ApplyAction::BUFF | ApplyAction::NOCP, None);
    let mut plane = installed(&session);
    let down = gpdu(0x77, None, &ip(SERVER, ue(1), 17, (2, 1), 100));
    assert_eq!(plane.uplink(0, GNB.into(), &down), Verdict::Buffered);
    assert_eq!(plane.event(), Some(PlaneEvent::DownlinkData { seid: 1, pdr_id: 2 }));
    assert_eq!(plane.flushable(1), 0);
    session.fars[1] = far(2, ApplyAction::FORW, to_gnb(5));
    plane.install(1, &session.rules(), &[]).unwrap();
    assert_eq!(plane.flushable(1), 1);
    let mut out = [0; 300];
    assert!(matches!(plane.flush(0, 1, &mut out), Some(Verdict::N3 { .. })));
    assert_eq!((plane.flush(0, 1, &mut out), plane.flushable(1)), (None, 0));
}

/// One rule forwards while another one still buffers. The packet of the buffering rule stays buffered, and other packets are sent.
#[test]
fn flush_keeps_packets_of_rule_that_still_buffers() {
    let mut session = plain(1);
    session.idle();
    let mut plane = installed(&session);
    let mut out = [0; 300];
    for port in [53, 54] {
        assert_eq!(plane.downlink(0, &ip(SERVER, ue(1), 17, (port, 1), 60), &mut out), Verdict::Buffered);
    }
    let mut dns = downlink_pdi(1);
    dns.sdf_filters = vec![SdfFilter::flow("permit out udp from any 53 to assigned")];
    session.pdrs.push(pdr(3, 1, dns, 3));
    session.fars.push(far(3, ApplyAction::FORW, to_gnb(5)));
    plane.install(1, &session.rules(), &[]).unwrap();
    let results: Vec<bool> = (0..plane.flushable(1))
        .map(|_| matches!(plane.flush(0, 1, &mut out), Some(Verdict::N3 { .. })))
        .collect();
    assert_eq!((results, plane.waiting), (vec![true, false], 1));
}

/// The SMF of free5GC forwards to a base station before it names the tunnel.
#[test]
fn packets_are_dropped_until_rule_has_tunnel() {
    let mut session = plain(1);
    let way = ForwardingParameters { destination_interface: Interface::ACCESS, ..Default::default() };
    session.fars[1] = far(2, ApplyAction::FORW, Some(way));
    let mut plane = installed(&session);
    let mut out = [0; 300];
    let down = ip(SERVER, ue(1), 17, (1, 2), 60);
    assert_eq!(plane.downlink(0, &down, &mut out), Verdict::Dropped(Drop::NoTunnel));
    session.fars[1] = far(2, ApplyAction::FORW, to_gnb(5));
    plane.install(1, &session.rules(), &[]).unwrap();
    assert!(matches!(plane.downlink(0, &down, &mut out), Verdict::N3 { .. }));
}

#[test]
fn dual_stack_session_forwards_both_versions() {
    let v6: std::net::Ipv6Addr = "2001:db8:60:1::1".parse().unwrap();
    let mut session = plain(1);
    for pdr in &mut session.pdrs {
        pdr.pdi.ue_ip_addresses[0].addresses.v6 = Some(v6);
    }
    let mut plane = installed(&session);
    let mut packet = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
    packet.extend([v6.octets(), [0x20; 16]].concat());
    packet.extend([0; 8]);
    assert_eq!(plane.uplink(0, GNB.into(), &gpdu(0x101, Some(9), &packet)), Verdict::N6(&packet));
    let (source, destination) = packet[8..40].split_at(16);
    let back = [&packet[..8], destination, source, &[0; 8]].concat();
    let mut out = [0; 300];
    for packet in [back, ip(SERVER, ue(1), 17, (1, 2), 60)] {
        assert!(matches!(plane.downlink(0, &packet, &mut out), Verdict::N3 { .. }));
    }
}

/// A rule without F-TEID matches packets of all tunnels of the session at its interface.
#[test]
fn uplink_rule_without_tunnel_matches_its_flow() {
    let mut session = plain(1);
    let flow = SdfFilter::flow("permit out 17 from 192.0.2.1 7000 to assigned");
    let mut pdi = Pdi { source_interface: Interface::ACCESS, sdf_filters: vec![flow], ..Default::default() };
    session.pdrs.push(pdr(3, 1, pdi.clone(), 3));
    session.fars.push(far(3, ApplyAction::DROP, None));
    let mut plane = installed(&session);
    let up = |port| gpdu(0x101, Some(9), &ip(ue(1), SERVER, 17, (1, port), 60));
    assert_eq!(plane.uplink(0, GNB.into(), &up(7000)), Verdict::Dropped(Drop::Action));
    assert!(matches!(plane.uplink(0, GNB.into(), &up(7001)), Verdict::N6(_)));
    pdi.source_interface = Interface::CP_FUNCTION;
    session.pdrs[2] = pdr(3, 1, pdi, 3);
    assert_eq!(refused(&session).why, Unsupported::Unreachable);
}

#[test]
fn filters_match_traffic_class_spi_and_flow_label() {
    let takes = |filter: SdfFilter, packet: &[u8]| {
        let mut session = plain(1);
        let mut pdi = uplink_pdi(1);
        pdi.ue_ip_addresses.clear();
        pdi.sdf_filters = vec![filter];
        session.pdrs.push(pdr(3, 1, pdi, 3));
        session.fars.push(far(3, ApplyAction::DROP, None));
        let datagram = gpdu(0x101, Some(9), packet);
        installed(&session).uplink(0, GNB.into(), &datagram) == Verdict::Dropped(Drop::Action)
    };
    let mut marked = ip(ue(1), SERVER, 17, (1, 2), 60);
    let class = SdfFilter { tos_traffic_class: Some([0xb8, 0xfc]), ..Default::default() };
    assert!(!takes(class.clone(), &marked));
    marked[1] = 0xb9;
    assert!(takes(class, &marked));
    let spi = SdfFilter { security_parameter_index: Some(0x0007_0008), ..Default::default() };
    assert!(takes(spi.clone(), &ip(ue(1), SERVER, 50, (7, 8), 60)));
    assert!(!takes(spi.clone(), &ip(ue(1), SERVER, 50, (7, 9), 60)) && !takes(spi, &marked));
    let label = SdfFilter { flow_label: Some([0x0f, 0, 1]), ..Default::default() };
    let mut six = vec![0x60, 0x0f, 0, 1, 0, 8, 0, 64];
    six.extend([0x20; 32]);
    six.extend([17, 0, 0, 0, 0, 0, 0, 0]);
    assert!(takes(label.clone(), &six));
    six[3] = 2;
    assert!(!takes(label, &six));
    assert!(takes(SdfFilter::default(), &marked), "an empty filter matches every packet");
}

#[test]
fn ports_are_found_behind_ipv6_extension_headers() {
    let mut packet = vec![0x60, 0, 0, 0, 0, 24, 0, 64];
    packet.extend([0x20; 32]);
    packet.extend([60, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend([17, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend([0, 53, 0, 54, 0, 8, 0, 0]);
    let inner = Inner::read(&packet).unwrap();
    assert_eq!((inner.protocol, inner.ports), (17, Some((53, 54))));
    packet[6] = 44;
    packet[42..44].copy_from_slice(&[0, 8]);
    assert_eq!(Inner::read(&packet).unwrap().ports, None, "a later fragment has no ports");
}

#[test]
fn filter_id_refers_to_filter_defined_elsewhere() {
    let mut session = plain(1);
    let only = SdfFilter { filter_id: Some(5), ..Default::default() };
    let mut pdi = uplink_pdi(1);
    pdi.sdf_filters = vec![only];
    session.pdrs[0].pdi = pdi;
    assert_eq!(refused(&session).failed, FailedRuleId::Pdr(PdrId(1)));
    let flow = SdfFilter { filter_id: Some(5), ..SdfFilter::flow("permit out 17 from any 53 to assigned") };
    session.pdrs[1].pdi.sdf_filters = vec![flow];
    let mut plane = installed(&session);
    let up = |port| gpdu(0x101, Some(9), &ip(ue(1), SERVER, 17, (1, port), 60));
    assert!(matches!(plane.uplink(0, GNB.into(), &up(53)), Verdict::N6(_)));
    assert_eq!(plane.uplink(0, GNB.into(), &up(54)), Verdict::Dropped(Drop::NoRule));
}

#[test]
fn rule_sets_traffic_class_of_outer_header() {
    let mut session = plain(1);
    let way = session.fars[1].forwarding_parameters.as_mut().unwrap();
    way.transport_level_marking = Some(TransportLevelMarking(0xb8fc));
    let mut out = [0; 200];
    let verdict = installed(&session).downlink(0, &ip(SERVER, ue(1), 17, (1, 2), 60), &mut out);
    assert!(matches!(verdict, Verdict::N3 { tos: 0xb8, .. }));
}

#[test]
fn unsupported_rules_are_rejected_with_rule_id_and_cause() {
    type Change = fn(&mut SessionRules);
    let pdr_1 = FailedRuleId::Pdr(PdrId(1));
    let far_2 = FailedRuleId::Far(FarId(2));
    let cases: [(Change, FailedRuleId, Cause); 9] = [
        (|session| session.pdrs[0].pdi.source_interface = Interface(4), pdr_1, Cause::SERVICE_NOT_SUPPORTED),
        (
            |session| session.pdrs[0].pdi.application_id = Some(Opaque(b"app"[..].into())),
            pdr_1,
            Cause::UNKNOWN_APPLICATION_ID,
        ),
        (
            |session| session.pdrs[0].activate_predefined_rules = vec![Opaque(b"rule"[..].into())],
            pdr_1,
            Cause::UNKNOWN_PREDEFINED_RULE,
        ),
        (
            |session| session.pdrs[0].pdi.ue_ip_addresses[0].prefix_delegation_bits = Some(8),
            pdr_1,
            Cause::SERVICE_NOT_SUPPORTED,
        ),
        (
            |session| {
                session.pdrs[0].outer_header_removal =
                    Some(OuterHeaderRemoval { description: 4, extension_headers: None })
            },
            pdr_1,
            Cause::RULE_FAILURE,
        ),
        (
            |session| session.pdrs[0].pdi.sdf_filters = vec![SdfFilter::flow("permit")],
            pdr_1,
            Cause::RULE_FAILURE,
        ),
        (
            |session| {
                let way = session.fars[1].forwarding_parameters.as_mut().unwrap();
                way.destination_interface = Interface::CP_FUNCTION;
                way.outer_header_creation = None;
            },
            far_2,
            Cause::RULE_FAILURE,
        ),
        (
            |session| session.fars[1].apply_action = ApplyAction::new(ApplyAction::FORW | ApplyAction::DUPL),
            far_2,
            Cause::RULE_FAILURE,
        ),
        (|session| session.fars[1].apply_action = ApplyAction::new(0), far_2, Cause::RULE_FAILURE),
    ];
    for (change, failed, cause) in cases {
        let mut session = plain(1);
        change(&mut session);
        let refusal = refused(&session);
        assert_eq!((refusal.failed, refusal.cause), (failed, cause), "{refusal}");
        let mut plane = UserPlane::new();
        assert_eq!(plane.install(1, &session.rules(), &[]), Err(refusal));
        assert_eq!(plane.sessions(), 0);
    }
}

#[test]
fn teid_0_causes_no_error_indication() {
    let mut plane = installed(&plain(1));
    let up = ip(ue(1), SERVER, 17, (1, 2), 60);
    assert_eq!(plane.uplink(0, GNB.into(), &gpdu(0, Some(9), &up)), Verdict::Taken);
    assert_eq!(plane.counters().unknown_tunnels, 1);
}

#[test]
fn rule_with_application_and_filters_is_rejected() {
    let id = || Opaque(b"video"[..].into());
    let mut session = plain(1);
    session.pdrs[0].pdi.application_id = Some(id());
    let refused = |session: &SessionRules, applications: &[std::sync::Arc<ApplicationPfds>]| {
        let rules = Rules { applications, ..session.rules() };
        UserPlane::check(&rules).err().map(|refusal| (refusal.cause, refusal.why))
    };
    let unknown = (Cause::UNKNOWN_APPLICATION_ID, Unsupported::Application);
    assert_eq!(refused(&session, &[]), Some(unknown));
    let known = [std::sync::Arc::new(ApplicationPfds { application_id: id(), ..Default::default() })];
    assert_eq!(refused(&session, &known), None);
    session.pdrs[0].pdi.sdf_filters = vec![SdfFilter::flow("permit out ip from any to assigned")];
    assert_eq!(refused(&session, &known), Some((Cause::RULE_FAILURE, Unsupported::TwoDetections)));
}
