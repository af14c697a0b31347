//! Compares sessions with a simple interpretation of their rules, and tests the effect of each rule.
use super::*;
use crate::pfcp::*;
use ranlab_machine::Random;
use ranlab_packet::gtpu::{Extension, Header as GtpHeader, Message, encode_message};

const UE: u32 = 0x0a3c_0000;
pub(super) const GNB: [u8; 4] = [10, 0, 0, 9];
pub(super) const SERVER: [u8; 4] = [192, 0, 2, 1];

#[derive(Debug, Clone, Default)]
pub(super) struct SessionRules {
    pub(super) pdrs: Vec<CreatePdr>,
    pub(super) fars: Vec<CreateFar>,
    pub(super) qers: Vec<CreateQer>,
    pub(super) urrs: Vec<CreateUrr>,
}

impl SessionRules {
    pub(super) fn rules(&self) -> Rules<'_> {
        Rules {
            pdrs: &self.pdrs,
            fars: &self.fars,
            qers: &self.qers,
            urrs: &self.urrs,
            bar: None,
            applications: &[],
        }
    }

    /// Restricts the downlink to one flow.
    pub(super) fn narrow(&mut self) {
        self.pdrs[1].pdi.sdf_filters = vec![SdfFilter::flow("permit out 17 from any 53 to assigned")];
    }

    /// Buffers the downlink.
    pub(super) fn idle(&mut self) {
        self.fars[1].apply_action = ApplyAction::new(ApplyAction::BUFF);
    }
}

pub(super) fn ue(n: u32) -> [u8; 4] {
    (UE + n).to_be_bytes()
}

pub(super) fn far(id: u32, flags: u128, way: Option<ForwardingParameters>) -> CreateFar {
    CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::new(flags),
        forwarding_parameters: way,
        ..Default::default()
    }
}

pub(super) fn to_core() -> Option<ForwardingParameters> {
    Some(ForwardingParameters { destination_interface: Interface::CORE, ..Default::default() })
}

pub(super) fn to_gnb(teid: u32) -> Option<ForwardingParameters> {
    Some(ForwardingParameters {
        destination_interface: Interface::ACCESS,
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, GNB.into())),
        ..Default::default()
    })
}

pub(super) fn pdr(id: u16, precedence: u32, pdi: Pdi, far: u32) -> CreatePdr {
    CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(precedence),
        pdi,
        far_id: Some(FarId(far)),
        ..Default::default()
    }
}

pub(super) fn uplink_pdi(n: u32) -> Pdi {
    Pdi {
        source_interface: Interface::ACCESS,
        f_teid: Some(FTeid::Assigned { teid: 0x100 + n, addresses: IpAddr::from([10, 0, 0, 2]).into() }),
        ue_ip_addresses: vec![UeIpAddress { addresses: IpAddr::from(ue(n)).into(), ..Default::default() }],
        qfis: vec![Qfi(9)],
        ..Default::default()
    }
}

pub(super) fn downlink_pdi(n: u32) -> Pdi {
    let addresses = IpAddr::from(ue(n)).into();
    Pdi {
        source_interface: Interface::CORE,
        ue_ip_addresses: vec![UeIpAddress { addresses, destination: true, ..Default::default() }],
        ..Default::default()
    }
}

/// Rules that forward both directions without policing.
pub(super) fn plain(n: u32) -> SessionRules {
    SessionRules {
        pdrs: vec![pdr(1, 255, uplink_pdi(n), 1), pdr(2, 255, downlink_pdi(n), 2)],
        fars: vec![far(1, ApplyAction::FORW, to_core()), far(2, ApplyAction::FORW, to_gnb(0x900 + n))],
        ..Default::default()
    }
}

pub(super) fn ip(from: [u8; 4], to: [u8; 4], protocol: u8, ports: (u16, u16), len: usize) -> Vec<u8> {
    let mut octets = vec![0; len.max(28)];
    octets[0] = 0x45;
    octets[2..4].copy_from_slice(&(len.max(28) as u16).to_be_bytes());
    octets[9] = protocol;
    octets[12..16].copy_from_slice(&from);
    octets[16..20].copy_from_slice(&to);
    octets[20..22].copy_from_slice(&ports.0.to_be_bytes());
    octets[22..24].copy_from_slice(&ports.1.to_be_bytes());
    octets
}

pub(super) fn gpdu(teid: u32, qfi: Option<u8>, packet: &[u8]) -> Vec<u8> {
    let template = GpduTemplate::new(qfi.map(PduSession::ul)).unwrap();
    let mut out = vec![0; HEADROOM + packet.len()];
    let len = template.write(teid, packet.len(), &mut out).unwrap();
    out.truncate(len);
    out.extend(packet);
    out
}

pub(super) fn installed(session: &SessionRules) -> UserPlane {
    let mut plane = UserPlane::new();
    plane.install(1, &session.rules(), &session.rules().meters(&[], &[])).unwrap();
    plane
}

#[test]
fn both_directions_pass_with_qos_flow() {
    let mut plane = installed(&plain(1));
    let up = ip(ue(1), SERVER, 17, (1, 2), 100);
    assert_eq!(plane.uplink(0, GNB.into(), &gpdu(0x101, Some(9), &up)), Verdict::N6(&up));
    let down = ip(SERVER, ue(1), 17, (2, 1), 100);
    let mut out = [0; 200];
    let Verdict::N3 { peer, len, .. } = plane.downlink(0, &down, &mut out) else { panic!() };
    assert_eq!(peer, IpAddr::from(GNB));
    let packet = Packet::parse(&out[..len]).unwrap();
    assert_eq!((packet.teid, packet.payload), (0x901, &down[..]));
    assert_eq!(packet.pdu_session(), Some(Ok(PduSession::dl(9))));
    assert_eq!((plane.counters().uplink, plane.counters().downlink), (1, 1));
}

/// RQI requests reflective QoS, and PPI a paging policy. Each downlink packet of the flow has these marks.
#[test]
fn reflective_qos_and_paging_policy_mark_downlink_packets() {
    let container = |rqi, ppi: Option<u8>| {
        let mut session = plain(1);
        let paging_policy_indicator = ppi.map(PagingPolicyIndicator);
        let qfi = Some(Qfi(5));
        session.qers =
            vec![CreateQer { qer_id: QerId(1), qfi, rqi, paging_policy_indicator, ..Default::default() }];
        session.pdrs[1].qer_ids = vec![QerId(1)];
        let mut plane = installed(&session);
        let mut out = [0; 200];
        let Verdict::N3 { len, .. } = plane.downlink(0, &ip(SERVER, ue(1), 17, (2, 1), 100), &mut out) else {
            panic!()
        };
        let Some(Ok(PduSession::Dl(read))) = Packet::parse(&out[..len]).unwrap().pdu_session() else {
            panic!()
        };
        assert_eq!(read.qfi, 5);
        (read.rqi, read.ppi)
    };
    assert_eq!(container(None, None), (false, None));
    assert_eq!(container(Some(Rqi(0)), None), (false, None));
    assert_eq!(container(Some(Rqi(1)), None), (true, None));
    assert_eq!(container(None, Some(0)), (false, Some(0)));
    assert_eq!(container(Some(Rqi(1)), Some(7)), (true, Some(7)));
}

/// A container always has a QoS flow, so other marks alone cannot be written.
#[test]
fn marks_without_a_flow_are_refused() {
    let mut session = plain(1);
    session.qers = vec![CreateQer { qer_id: QerId(1), rqi: Some(Rqi(1)), ..Default::default() }];
    let refusal = UserPlane::check(&session.rules()).unwrap_err();
    assert_eq!((refusal.failed, refusal.why), (FailedRuleId::Qer(QerId(1)), Unsupported::NoFlow));
    session.qers[0].rqi = Some(Rqi(0));
    assert_eq!(UserPlane::check(&session.rules()), Ok(()));
    session.qers[0].paging_policy_indicator = Some(PagingPolicyIndicator(0));
    assert_eq!(UserPlane::check(&session.rules()).unwrap_err().why, Unsupported::NoFlow);
}

/// Some SMFs give a session's QER flow 0 and list it first.
#[test]
fn application_qos_flow_precedes_session_flow() {
    let flow = |qfis: [Option<u8>; 2]| {
        let mut session = plain(1);
        let qer = |(n, qfi): (usize, Option<u8>)| CreateQer {
            qer_id: QerId(n as u32),
            qfi: qfi.map(Qfi),
            ..Default::default()
        };
        session.qers = qfis.into_iter().enumerate().map(qer).collect();
        session.pdrs[1].qer_ids = session.qers.iter().map(|qer| qer.qer_id).collect();
        let mut plane = installed(&session);
        let mut out = [0; 200];
        let Verdict::N3 { len, .. } = plane.downlink(0, &ip(SERVER, ue(1), 17, (2, 1), 100), &mut out) else {
            panic!()
        };
        Packet::parse(&out[..len]).unwrap().pdu_session().unwrap().unwrap().qfi()
    };
    assert_eq!(flow([Some(0), Some(7)]), 7);
    assert_eq!((flow([Some(7), Some(0)]), flow([None, Some(7)]), flow([Some(5), Some(7)])), (7, 7, 5));
    assert_eq!(
        (flow([Some(0), Some(0)]), flow([None, None])),
        (0, 9),
        "without a flow of a QER, the only uplink flow is used"
    );
}

#[test]
fn unmatched_packets_are_dropped_and_counted() {
    let mut plane = installed(&plain(1));
    let up = ip(ue(1), SERVER, 17, (1, 2), 100);
    let spoofed = ip(ue(2), SERVER, 17, (1, 2), 100);
    let peer = GNB.into();
    assert_eq!(plane.uplink(0, peer, &gpdu(7, Some(9), &up)), Verdict::UnknownTunnel(7));
    assert_eq!(plane.uplink(0, peer, &gpdu(0x101, Some(9), &spoofed)), Verdict::Dropped(Drop::NoRule));
    assert_eq!(plane.uplink(0, peer, &gpdu(0x101, Some(8), &up)), Verdict::Dropped(Drop::NoRule));
    assert_eq!(plane.uplink(0, peer, &gpdu(0x101, Some(9), &up[..50])), Verdict::Dropped(Drop::Malformed));
    for cut in 0..40 {
        assert_eq!(
            plane.uplink(0, peer, &gpdu(0x101, Some(9), &up)[..cut]),
            Verdict::Dropped(Drop::Malformed)
        );
    }
    let mut nested = Vec::new();
    let strange = [Extension { kind: 0xc1, content: &[0, 0] }, Extension { kind: 0xc1, content: &[0, 0] }];
    let head = GtpHeader { message_type: 255, teid: 0x101, extensions: &strange, ..Default::default() };
    head.encode(&up, &mut nested).unwrap();
    assert_eq!(plane.uplink(0, peer, &nested), Verdict::Unsupported);
    let mut out = [0; 120];
    assert_eq!(
        plane.downlink(0, &ip(SERVER, ue(2), 17, (1, 2), 64), &mut out),
        Verdict::Dropped(Drop::NoRule)
    );
    assert_eq!(
        plane.downlink(0, &ip(SERVER, ue(1), 17, (1, 2), 119), &mut out),
        Verdict::Dropped(Drop::TooLong)
    );
    let counters = plane.counters();
    assert_eq!((counters.unknown_tunnels, counters.unsupported, counters.n3_received), (1, 1, 45));
    assert_eq!((counters.dropped(Drop::Malformed), counters.dropped(Drop::NoRule)), (41, 3));
}

#[test]
fn rate_is_policed_per_qer_and_direction() {
    let mut session = plain(1);
    let flow = SdfFilter::flow("permit out 17 from any 53 to assigned");
    let mut dns = downlink_pdi(1);
    dns.sdf_filters = vec![flow];
    session.pdrs.push(pdr(3, 1, dns, 2));
    let rates = BitRates { uplink_kbps: 10_000, downlink_kbps: 10_000 };
    let qer_id = QerId(1);
    session.qers =
        vec![CreateQer { qer_id, maximum_bit_rate: Some(rates), qfi: Some(Qfi(9)), ..Default::default() }];
    session.pdrs.iter_mut().for_each(|pdr| pdr.qer_ids = vec![qer_id]);
    let mut plane = installed(&session);
    let mut out = [0; 1_200];
    let mut up = 0;
    let mut down = 0;
    // Packets of 1,000 bytes arrive at 30 Mbit/s in each direction for 4 s. The downlink has two flows.
    for n in 0..15_000_u64 {
        let now = n * 8_000_000 / 30;
        let port = if n % 2 == 0 { 53 } else { 54 };
        let packet = ip(SERVER, ue(1), 17, (port, 1), 1_000);
        down += u64::from(matches!(plane.downlink(now, &packet, &mut out), Verdict::N3 { .. }));
        let packet = gpdu(0x101, Some(9), &ip(ue(1), SERVER, 17, (1, port), 1_000));
        up += u64::from(matches!(plane.uplink(now, GNB.into(), &packet), Verdict::N6(_)));
        // A handover during the test does not refill the bucket.
        if n % 1_000 == 0 {
            session.fars[1] = far(2, ApplyAction::FORW, to_gnb(0x5000 + n as u32));
            plane.install(1, &session.rules(), &[]).unwrap();
        }
    }
    for passed in [up, down] {
        // In 4 s at 10 Mbit/s, 5,000 packets pass, with a tolerance of 2 %.
        assert!((4_900..=5_100).contains(&passed), "{passed}");
    }
    assert_eq!(plane.counters().dropped(Drop::Rate), 30_000 - up - down);
}

/// One usage rule counts before QoS enforcement (MBQE), another one after it.
#[test]
fn usage_is_measured_before_or_after_qos_enforcement() {
    let mut session = plain(1);
    let rates = BitRates { uplink_kbps: 1, downlink_kbps: 1 };
    let qer_id = QerId(1);
    session.qers = vec![CreateQer { qer_id, maximum_bit_rate: Some(rates), ..Default::default() }];
    let urr = |id, info| CreateUrr {
        urr_id: UrrId(id),
        measurement_information: Some(MeasurementInformation::new(info)),
        ..Default::default()
    };
    session.urrs = vec![urr(1, MeasurementInformation::MBQE), urr(2, MeasurementInformation::MNOP)];
    session.urrs[0].volume_quota = Some(Volume { total: Some(5_000), ..Default::default() });
    for pdr in &mut session.pdrs {
        pdr.qer_ids = vec![qer_id];
        pdr.urr_ids = vec![UrrId(1), UrrId(2)];
    }
    let rules = session.rules();
    let meters = rules.meters(&[], &[]);
    let mut plane = UserPlane::new();
    plane.install(1, &rules, &meters).unwrap();
    let packet = gpdu(0x101, Some(9), &ip(ue(1), SERVER, 17, (1, 2), 1_000));
    let forwarded: Vec<bool> =
        (0..6).map(|_| matches!(plane.uplink(0, GNB.into(), &packet), Verdict::N6(_))).collect();
    // The bucket has tokens for three packets. Five packets exhaust the quota.
    assert_eq!(forwarded, [true, true, true, false, false, false]);
    let dropped = [Drop::Rate, Drop::Quota].map(|reason| plane.counters().dropped(reason));
    assert_eq!((dropped, meters[0].usage.read()[0], meters[1].usage.read()[0]), ([2, 1], 5_000, 3_000));
}

#[test]
fn gates_and_quotas_stop_packets() {
    let mut session = plain(1);
    let gate_status = GateStatus { uplink_closed: true, downlink_closed: false };
    session.qers = vec![CreateQer { qer_id: QerId(1), gate_status, ..Default::default() }];
    session.urrs = vec![CreateUrr {
        urr_id: UrrId(5),
        reporting_triggers: ReportingTriggers::new(ReportingTriggers::VOLTH | ReportingTriggers::VOLQU),
        volume_threshold: Some(Volume { total: Some(150), ..Default::default() }),
        volume_quota: Some(Volume { total: Some(250), ..Default::default() }),
        ..Default::default()
    }];
    session.pdrs[0].qer_ids = vec![QerId(1)];
    session.pdrs[1].urr_ids = vec![UrrId(5)];
    let meters = session.rules().meters(&[], &[]);
    let mut plane = UserPlane::new();
    plane.install(1, &session.rules(), &meters).unwrap();
    let up = gpdu(0x101, Some(9), &ip(ue(1), SERVER, 17, (1, 2), 100));
    assert_eq!(plane.uplink(0, GNB.into(), &up), Verdict::Dropped(Drop::Gate));
    let down = ip(SERVER, ue(1), 17, (1, 2), 100);
    let mut out = [0; 200];
    for _ in 0..3 {
        assert!(matches!(plane.downlink(0, &down, &mut out), Verdict::N3 { .. }));
    }
    assert_eq!(plane.downlink(0, &down, &mut out), Verdict::Dropped(Drop::Quota));
    assert_eq!(meters[0].usage.read(), [0, 0, 300, 3]);
    let mut events = std::iter::from_fn(|| match plane.event()? {
        PlaneEvent::Usage { seid: 1, urr_id: 5, crossed, read } => {
            Some((crossed.threshold, crossed.quota, read[2]))
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(events.next(), Some((true, false, 200)));
    assert_eq!(events.next(), Some((false, true, 300)));
    assert_eq!(events.next(), None);
}

#[test]
fn packets_are_buffered_in_order_with_one_notification() {
    let mut session = plain(1);
    session.fars[1] = far(2, ApplyAction::BUFF | ApplyAction::NOCP, None);
    let mut plane = installed(&session);
    let mut out = [0; 200];
    for n in 0..=MAX_BUFFERED_SESSION {
        let expected =
            if n < MAX_BUFFERED_SESSION { Verdict::Buffered } else { Verdict::Dropped(Drop::BufferFull) };
        assert_eq!(plane.downlink(0, &ip(SERVER, ue(1), 17, (n as u16, 1), 60), &mut out), expected);
    }
    assert_eq!(plane.event(), Some(PlaneEvent::DownlinkData { seid: 1, pdr_id: 2 }));
    assert_eq!(plane.event(), None);
    assert_eq!(plane.flush(0, 1, &mut out), None);
    session.fars[1] = far(2, ApplyAction::FORW, to_gnb(5));
    plane.install(1, &session.rules(), &[]).unwrap();
    for n in 0..MAX_BUFFERED_SESSION {
        let Some(Verdict::N3 { len, .. }) = plane.flush(0, 1, &mut out) else { panic!("{n}") };
        let packet = Packet::parse(&out[..len]).unwrap();
        assert_eq!(packet.payload[20..22], (n as u16).to_be_bytes());
    }
    assert_eq!((plane.flush(0, 1, &mut out), plane.waiting), (None, 0));
    // The session is idle again, so another notification is due.
    session.fars[1] = far(2, ApplyAction::BUFF | ApplyAction::NOCP, None);
    plane.install(1, &session.rules(), &[]).unwrap();
    plane.downlink(0, &ip(SERVER, ue(1), 17, (1, 1), 60), &mut out);
    assert_eq!(plane.event(), Some(PlaneEvent::DownlinkData { seid: 1, pdr_id: 2 }));
    plane.remove(1);
    assert_eq!((plane.waiting, plane.sessions()), (0, 0));
}

#[test]
fn path_messages_are_answered_or_reported() {
    let mut plane = installed(&plain(1));
    let mut echo = Vec::new();
    encode_message(&Message::EchoRequest, 0, Some(3), &mut echo).unwrap();
    assert_eq!(plane.uplink(0, GNB.into(), &echo), Verdict::Echo);
    let mut error = Vec::new();
    let indication = Message::ErrorIndication { teid: 0x901, peer: GNB.into(), udp_port: None };
    encode_message(&indication, 0, Some(0), &mut error).unwrap();
    assert_eq!(plane.uplink(0, GNB.into(), &error), Verdict::Taken);
    let peer = GNB.into();
    assert_eq!(plane.event(), Some(PlaneEvent::ErrorIndication { teid: 0x901, peer }));
}

/// Interprets the rules directly for each packet, without tables.
fn reference(
    sessions: &[(u64, SessionRules)],
    teid: Option<(u32, Option<u8>)>,
    packet: &[u8],
) -> Option<String> {
    let from = &packet[12..16];
    let to = &packet[16..20];
    for (_, session) in sessions {
        let mut pdrs: Vec<&CreatePdr> = session.pdrs.iter().collect();
        pdrs.sort_by_key(|pdr| pdr.precedence);
        for pdr in pdrs {
            let own = pdr.pdi.ue_ip_addresses[0].addresses.v4.unwrap().octets();
            let matched = match (teid, pdr.pdi.f_teid) {
                (Some((teid, qfi)), Some(FTeid::Assigned { teid: assigned, .. })) => {
                    teid == assigned && own == from && qfi == Some(pdr.pdi.qfis[0].0)
                }
                (None, None) => {
                    let port = u16::from_be_bytes([packet[20], packet[21]]);
                    own == to && (pdr.pdi.sdf_filters.is_empty() || (packet[9] == 17 && port == 53))
                }
                _ => false,
            };
            if !matched {
                continue;
            }
            let far = session.fars.iter().find(|far| Some(far.far_id) == pdr.far_id).unwrap();
            let header = far.forwarding_parameters.as_ref().and_then(|way| way.outer_header_creation);
            return match (far.apply_action.contains(ApplyAction::FORW), teid) {
                (true, Some(_)) => Some("N6".to_owned()),
                (true, None) => Some(format!("N3 {}", header.unwrap().teid.unwrap())),
                (false, _) => None,
            };
        }
    }
    None
}

#[test]
fn verdicts_equal_simple_rule_interpretation() {
    let mut random = Random::stream(7, 0);
    let mut draw = |below: u64| random.below(below);
    for _ in 0..40 {
        let mut plane = UserPlane::new();
        let mut sessions: Vec<(u64, SessionRules)> = Vec::new();
        for step in 0..600_u64 {
            let n = draw(12) as u32;
            let at = sessions.iter().position(|(seid, _)| *seid == u64::from(n));
            match (draw(20), at) {
                (0 | 1, None) => {
                    let mut session = plain(n);
                    if draw(2) == 0 {
                        let mut dns = downlink_pdi(n);
                        dns.sdf_filters = vec![SdfFilter::flow("permit out 17 from any 53 to assigned")];
                        session.pdrs.push(pdr(3, draw(500) as u32, dns, 3));
                        let drops = draw(2) == 0;
                        session.fars.push(if drops {
                            far(3, ApplyAction::DROP, None)
                        } else {
                            far(3, ApplyAction::FORW, to_gnb(0x700 + n))
                        });
                    }
                    plane.install(n.into(), &session.rules(), &[]).unwrap();
                    sessions.push((n.into(), session));
                }
                (0, Some(at)) => {
                    plane.remove(n.into());
                    sessions.remove(at);
                }
                (1, Some(at)) => {
                    sessions[at].1.fars[1] = far(2, ApplyAction::FORW, to_gnb(0x1_0000 + step as u32));
                    plane.install(n.into(), &sessions[at].1.rules(), &[]).unwrap();
                }
                (2..=9, _) => {
                    let teid = 0x100 + draw(12) as u32;
                    let qfi = [Some(9), Some(8), None][draw(8).min(2) as usize % 3];
                    let packet = ip(ue(draw(12) as u32), SERVER, 17, (1, 2), 60);
                    let datagram = gpdu(teid, qfi, &packet);
                    let verdict = plane.uplink(step, GNB.into(), &datagram);
                    let verdict =
                        matches!(verdict, Verdict::N6(sent) if sent == packet).then(|| "N6".to_owned());
                    assert_eq!(verdict, reference(&sessions, Some((teid, qfi)), &packet));
                }
                _ => {
                    let protocol = if draw(2) == 0 { 17 } else { 6 };
                    let packet = ip(SERVER, ue(draw(12) as u32), protocol, (52 + draw(3) as u16, 2), 60);
                    let mut out = [0; 200];
                    let verdict = plane.downlink(step, &packet, &mut out);
                    let verdict = match verdict {
                        Verdict::N3 { len, .. } => {
                            let sent = Packet::parse(&out[..len]).unwrap();
                            assert_eq!(sent.payload, packet);
                            Some(format!("N3 {}", sent.teid))
                        }
                        _ => None,
                    };
                    assert_eq!(verdict, reference(&sessions, None, &packet));
                }
            }
            assert_eq!(plane.sessions(), sessions.len());
        }
    }
}
