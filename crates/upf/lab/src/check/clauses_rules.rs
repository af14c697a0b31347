//! Checks of detection, forwarding and QoS rules.
use crate::load::Network;
use bytes::Bytes;
use ranlab_packet::gtpu::PduSession;
use ranlab_upf::pfcp::*;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::scene::{DOWNLINK, QFI, Received, UE_PORT, UPLINK, downlink, probe, set_class};
use super::upf::Peer;
use ranlab_lab::check::{CaseFailure, Outcome, fails};

/// Id of the rules that a check adds to a session.
const FURTHER: u16 = 3;
const LAST: u16 = 4;
/// First TEIDs of the emulated base station where it acts as another UPF (N9), or as the SMF.
const BEYOND: u32 = 0x3000;
const SMF: u32 = 0x4000;
/// Traffic class with the DSCP of expedited forwarding, and the mask of the DSCP in a traffic class.
const EF: u8 = 0xb8;
const DSCP: u8 = 0xfc;

impl Peer {
    /// Returns the flow description of packets between the server and this UDP port of the UE.
    pub(super) fn flow_of_port(&self, port: u16) -> String {
        let server = match self.run.config.n6 {
            Network::Routed(address) => address,
            _ => self.run.config.server,
        };
        format!("permit out 17 from {} {} to assigned {port}", server.ip(), server.port())
    }
}

/// Returns an SDF filter for packets between the server and this UDP port of the UE.
fn flow(peer: &Peer, port: u16) -> SdfFilter {
    SdfFilter::flow(&peer.flow_of_port(port))
}

pub(super) fn precedence(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let mut request = peer.plan(1);
    for (id, precedence, port) in [(FURTHER, 10, UE_PORT + 1), (LAST, 1_000, UE_PORT + 2)] {
        let mut rule = peer.rule(1, id, precedence, FURTHER);
        rule.pdi.sdf_filters = vec![flow(peer, port)];
        request.create_pdrs.push(rule);
    }
    request.create_fars.push(peer.hold(FURTHER, ApplyAction::DROP));
    let session = peer.create(request)?;
    let ports = [UE_PORT, UE_PORT + 1, UE_PORT + 2];
    let back = peer.come_back(&wire, 1, session.teid(UPLINK), &ports)?;
    match back[..] {
        [a, b] if a == UE_PORT && b == UE_PORT + 2 => Ok(()),
        _ => fails(format!(
            "of packets from the UE's ports {ports:?}, these came back: {back:?}; the rule for the second port precedes the rule for all packets, the rule for the third port follows it"
        )),
    }
}

pub(super) fn bad_flow(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let bad = [
        "this is not a flow description",
        "permit out ip from 10.60.0.0/99 to any",
        "permit out ip from any 80-20 to any nowhere",
    ];
    for (n, text) in bad.into_iter().enumerate() {
        let mut request = peer.plan(n);
        if let Some(rule) = request.create_pdrs.first_mut() {
            rule.pdi.sdf_filters = vec![SdfFilter::flow(text)];
        }
        let Some(response) = peer.try_create(request)? else {
            return fails(format!("an establishment with the flow \"{text}\" goes unanswered"));
        };
        if response.cause.is_accepted() {
            return fails(format!("a rule with the flow \"{text}\" is accepted"));
        }
        if response.failed_rule_id != Some(FailedRuleId::Pdr(PdrId(UPLINK))) {
            return fails(format!(
                "the flow \"{text}\": cause {}, failed rule {:?} instead of PDR 1",
                response.cause.0, response.failed_rule_id
            ));
        }
    }
    Ok(())
}

pub(super) fn empty_flow(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let mut request = peer.plan(1);
    for rule in &mut request.create_pdrs {
        let filter = SdfFilter { flow_description: Some(Bytes::new()), ..SdfFilter::default() };
        rule.pdi.sdf_filters = vec![filter];
    }
    let session = peer.create(request)?;
    match peer.come_back(&wire, 1, session.teid(UPLINK), &[UE_PORT])?[..] {
        [_, ..] => Ok(()),
        [] => fails("the rules are accepted, but no packet is forwarded"),
    }
}

pub(super) fn type_of_service(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let mut request = peer.plan(1);
    let mut rule = peer.rule(1, FURTHER, 1, FURTHER);
    rule.pdi.sdf_filters = vec![SdfFilter { tos_traffic_class: Some([EF, DSCP]), ..SdfFilter::default() }];
    request.create_pdrs.push(rule);
    request.create_fars.push(peer.hold(FURTHER, ApplyAction::DROP));
    let session = peer.create(request)?;
    let mut marked = peer.packet(1, UE_PORT + 1);
    set_class(&mut marked, EF);
    peer.uplink(&wire, session.teid(UPLINK), &marked)?;
    match peer.come_back(&wire, 1, session.teid(UPLINK), &[UE_PORT, UE_PORT + 2])?[..] {
        [a, b] if a == UE_PORT && b == UE_PORT + 2 => Ok(()),
        [] => fails("a rule for one type of service matches every packet"),
        _ => fails("a packet of the type of service passes, although the rule drops it"),
    }
}

pub(super) fn n9(peer: &mut Peer) -> Outcome {
    peer.n3()?;
    peer.associate()?;
    let mut request = peer.plan(1);
    request.create_fars[0] = peer.forward(UPLINK, Interface::CORE, Some(BEYOND + 1));
    let removal = request.create_pdrs[0].outer_header_removal;
    let from_beyond = &mut request.create_pdrs[1];
    from_beyond.pdi.f_teid = Some(peer.tunnel(1, 2));
    from_beyond.pdi.ue_ip_addresses.clear();
    from_beyond.outer_header_removal = removal;
    let session = peer.create(request)?;
    let wire = peer.wire()?;
    let packet = peer.packet(1, UE_PORT);
    peer.uplink(&wire, session.teid(UPLINK), &packet)?;
    let same = |one: &Received, teid| one.is_packet(teid) && one.payload == packet;
    let up = peer.collect(&wire, |all| all.iter().any(|one| same(one, BEYOND + 1)))?;
    if !up.iter().any(|one| same(one, BEYOND + 1)) {
        return fails("the rules are accepted, but the uplink packet does not arrive in the N9 tunnel");
    }
    peer.tunnelled(&wire, session.teid(DOWNLINK), PduSession::dl(QFI), &packet)?;
    let down = peer.collect(&wire, |all| all.iter().any(|one| same(one, downlink(1, 1))))?;
    if down.iter().any(|one| same(one, downlink(1, 1))) {
        return Ok(());
    }
    let errors = down.iter().any(|one| one.kind == ranlab_packet::gtpu::message_type::ERROR_INDICATION);
    fails(if errors {
        "an error indication answers the downlink packet from N9, whose tunnel was accepted"
    } else {
        "the rules are accepted, but the downlink packet from N9 does not reach the base station"
    })
}

/// Builds an ICMPv6 message between link-local addresses.
fn icmpv6(kind: u8, to: Ipv6Addr) -> Vec<u8> {
    let body = [kind, 0, 0, 0, 0, 0, 0, 0];
    let mut packet = vec![0x60, 0, 0, 0, 0, body.len() as u8, 58, 255];
    packet.extend(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1).octets());
    packet.extend(to.octets());
    packet.extend(body);
    packet
}

pub(super) fn cp_function(peer: &mut Peer) -> Outcome {
    const SOLICITATION: u8 = 133;
    const ADVERTISEMENT: u8 = 134;
    let routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    let nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    peer.n3()?;
    peer.associate()?;
    let mut request = peer.plan(1);
    let mut to_smf = peer.rule(1, FURTHER, 1, FURTHER);
    to_smf.pdi.ue_ip_addresses.clear();
    to_smf.pdi.sdf_filters = vec![SdfFilter::flow("permit out 58 from ff02::2/128 to assigned")];
    let mut from_smf =
        CreatePdr { pdr_id: PdrId(LAST), far_id: Some(FarId(DOWNLINK.into())), ..to_smf.clone() };
    from_smf.pdi = Pdi {
        source_interface: Interface::CP_FUNCTION,
        f_teid: Some(peer.tunnel(1, 2)),
        network_instance: to_smf.pdi.network_instance.clone(),
        ..Pdi::default()
    };
    request.create_pdrs.extend([to_smf, from_smf]);
    request.create_fars.push(peer.forward(FURTHER, Interface::CP_FUNCTION, Some(SMF + 1)));
    let session = peer.create(request)?;
    let wire = peer.wire()?;
    let up = icmpv6(SOLICITATION, routers);
    let down = icmpv6(ADVERTISEMENT, nodes);
    peer.uplink(&wire, session.teid(UPLINK), &up)?;
    let is_up = |all: &[Received]| all.iter().any(|one| one.is_packet(SMF + 1) && one.payload == up);
    if !is_up(&peer.collect(&wire, is_up)?) {
        return fails(
            "the rules are accepted, but a router solicitation does not arrive in the SMF's tunnel",
        );
    }
    peer.tunnelled(&wire, session.teid(LAST), PduSession::dl(QFI), &down)?;
    let is_down =
        |all: &[Received]| all.iter().any(|one| one.is_packet(downlink(1, 1)) && one.payload == down);
    if is_down(&peer.collect(&wire, is_down)?) {
        Ok(())
    } else {
        fails("the rules are accepted, but the SMF's router advertisement does not reach the base station")
    }
}

pub(super) fn dual_stack(peer: &mut Peer) -> Outcome {
    let IpAddr::V4(_) = peer.run.config.ue else {
        return Err(CaseFailure::Skipped("the first UE (--ue) has no IPv4 address"));
    };
    if matches!(peer.run.config.n6, Network::Routed(_)) {
        return Err(CaseFailure::Skipped(
            "a routed data network has only one server, which has one IP version",
        ));
    }
    let wire = peer.reflecting()?;
    peer.associate()?;
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 1, 0, 0, 0, 1);
    let mut request = peer.plan(1);
    for ue in request.create_pdrs.iter_mut().flat_map(|rule| &mut rule.pdi.ue_ip_addresses) {
        ue.addresses.v6 = Some(v6);
    }
    request.pdn_type = request.pdn_type.map(|_| PdnType::IPV4V6);
    let session = peer.create(request)?;
    let [] = peer.come_back(&wire, 1, session.teid(UPLINK), &[UE_PORT])?[..] else {
        let packet = probe(SocketAddr::new(v6.into(), UE_PORT), peer.run.config.server6, 1);
        peer.uplink(&wire, session.teid(UPLINK), &packet)?;
        let is_back = |all: &[Received]| all.iter().any(|one| one.is_packet(downlink(1, 1)));
        let back = is_back(&peer.collect(&wire, is_back)?);
        return if back {
            Ok(())
        } else {
            fails("IPv4 packets come back, but IPv6 packets do not come back")
        };
    };
    fails("IPv4 packets of a dual-stack UE do not come back")
}

pub(super) fn ethernet(peer: &mut Peer) -> Outcome {
    const ETHERNET: PdnType = PdnType(5);
    const ETHERNET_PDU_SESSION_INFORMATION: u16 = 142;
    peer.associate()?;
    let mut request = peer.plan(1);
    request.create_fars[0] = peer.forward(UPLINK, Interface::CORE, Some(BEYOND + 1));
    let removal = request.create_pdrs[0].outer_header_removal;
    for (rule, which) in request.create_pdrs.iter_mut().zip(1..) {
        let value = Bytes::from_static(&[1]);
        rule.pdi.others.push(RawIe { ie_type: ETHERNET_PDU_SESSION_INFORMATION, value });
        rule.pdi.ue_ip_addresses.clear();
        rule.pdi.f_teid = Some(peer.tunnel(1, which));
        rule.outer_header_removal = removal;
    }
    request.pdn_type = Some(ETHERNET);
    match peer.try_create(request.clone())? {
        None => return fails("the establishment goes unanswered"),
        Some(response) if !response.cause.is_accepted() => return Ok(()),
        Some(response) => {
            // The rest of the check needs the UPF's tunnel, so the request is repeated for another session.
            request.cp_f_seid.seid += 1;
            if let Some(f_seid) = response.up_f_seid {
                peer.delete(f_seid.seid)?;
            }
        }
    }
    peer.n3()?;
    let session = peer.create(request)?;
    let wire = peer.wire()?;
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame.resize(64, 0);
    peer.uplink(&wire, session.teid(UPLINK), &frame)?;
    let is_there = |all: &[Received]| all.iter().any(|one| one.is_packet(BEYOND + 1) && one.payload == frame);
    if is_there(&peer.collect(&wire, is_there)?) {
        Ok(())
    } else {
        fails("an Ethernet session is accepted, but a frame does not arrive in its tunnel")
    }
}

/// Returns the establishment request of a session with a QER for both directions.
fn with_qer(peer: &Peer, qer: CreateQer) -> SessionEstablishmentRequest {
    let mut request = peer.plan(1);
    request.create_pdrs.iter_mut().for_each(|rule| rule.qer_ids = vec![qer.qer_id]);
    request.create_qers = vec![qer];
    request
}

pub(super) fn gate(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let gates = |uplink_closed, downlink_closed| GateStatus { uplink_closed, downlink_closed };
    let qer = CreateQer { qer_id: QerId(1), gate_status: gates(true, false), ..CreateQer::default() };
    let session = peer.create(with_qer(peer, qer))?;
    if !peer.come_back(&wire, 1, session.teid(UPLINK), &[UE_PORT])?.is_empty() {
        return fails("packets pass the closed gate of the uplink");
    }
    for (status, passes) in [(gates(false, true), false), (gates(false, false), true)] {
        let update = UpdateQer { qer_id: QerId(1), gate_status: Some(status), ..UpdateQer::default() };
        let change = SessionModificationRequest { update_qers: vec![update], ..Default::default() };
        peer.change(session.seid, change)?;
        match (peer.come_back(&wire, 1, session.teid(UPLINK), &[UE_PORT])?.is_empty(), passes) {
            (false, false) => return fails("packets pass the closed gate of the downlink"),
            (true, true) => return fails("packets do not pass gates that were opened"),
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn qos_flow(peer: &mut Peer) -> Outcome {
    const OTHER: u8 = 7;
    let wire = peer.reflecting()?;
    peer.associate()?;
    let qer = CreateQer { qer_id: QerId(1), qfi: Some(Qfi(OTHER)), ..CreateQer::default() };
    let mut request = with_qer(peer, qer);
    request.create_pdrs[0].qer_ids.clear();
    let session = peer.create(request)?;
    let packet = peer.packet(1, UE_PORT);
    peer.uplink(&wire, session.teid(UPLINK), &packet)?;
    let is_back = |one: &Received| one.is_packet(downlink(1, 1));
    let all = peer.collect(&wire, |all| all.iter().any(is_back))?;
    match all.iter().find(|one| is_back(one)).map(|one| one.session) {
        Some(Some(PduSession::Dl(container))) if container.qfi == OTHER => Ok(()),
        Some(container) => fails(format!(
            "the QER sets QFI {OTHER}, but the PDU session container of the packet is {container:?}"
        )),
        None => fails("no packet came back"),
    }
}

pub(super) fn marking(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let mut request = peer.plan(1);
    let way = request.create_fars.get_mut(1).and_then(|far| far.forwarding_parameters.as_mut());
    if let Some(way) = way {
        way.transport_level_marking = Some(TransportLevelMarking(u16::from_be_bytes([EF, DSCP])));
    }
    let session = peer.create(request)?;
    let packet = peer.packet(1, UE_PORT);
    peer.uplink(&wire, session.teid(UPLINK), &packet)?;
    let is_back = |one: &Received| one.is_packet(downlink(1, 1));
    let all = peer.collect(&wire, |all| all.iter().any(is_back))?;
    match all.iter().find(|one| is_back(one)).map(|one| one.class) {
        Some(Some(class)) if class & DSCP == EF => Ok(()),
        Some(class) => fails(format!("the outer header's class is {class:?} instead of {EF}")),
        None => fails("no packet came back"),
    }
}
