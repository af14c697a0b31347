//! Checks of N3: path messages, buffered packets and handovers.
use ranlab_packet::gtpu::{self, Message, message_type};
use ranlab_upf::pfcp::*;

use super::scene::{Created, DOWNLINK, Received, UE_PORT, UPLINK, Wire, downlink};
use super::upf::Peer;
use ranlab_lab::check::{CaseFailure, Outcome, fails};

/// Number of packets sent to a session that buffers.
const WAITING: u16 = 5;

fn has_error(all: &[Received]) -> bool {
    all.iter().any(|one| one.kind == message_type::ERROR_INDICATION)
}

fn message(message: &Message<'_>, teid: u32, sequence: Option<u16>) -> Result<Vec<u8>, CaseFailure> {
    let mut datagram = Vec::new();
    let encoded = gtpu::encode_message(message, teid, sequence, &mut datagram);
    encoded.map(|()| datagram).map_err(|error| CaseFailure::Fails(error.to_string()))
}

pub(super) fn teid_zero(peer: &mut Peer) -> Outcome {
    let wire = peer.wire()?;
    let packet = peer.packet(1, UE_PORT);
    let datagram = message(&Message::GPdu(&packet), 0, None)?;
    peer.send_n3(&wire, &datagram)?;
    if has_error(&peer.collect(&wire, has_error)?) {
        fails("a packet with TEID 0 is answered with an error indication")
    } else {
        Ok(())
    }
}

pub(super) fn off_filter(peer: &mut Peer) -> Outcome {
    peer.n3()?;
    peer.associate()?;
    let session = peer.create(peer.plan(1))?;
    let wire = peer.wire()?;
    let other_packet = peer.packet_of_another_ue(1);
    peer.uplink(&wire, session.teid(UPLINK), &other_packet)?;
    let all = peer.collect(&wire, |all| !all.is_empty())?;
    if has_error(&all) {
        return fails("a packet that matches no rule of a session is answered with an error indication");
    }
    if all.iter().any(|one| one.kind == message_type::G_PDU) {
        return fails("a packet with the address of another UE was forwarded and came back");
    }
    Ok(())
}

pub(super) fn error_indication(peer: &mut Peer) -> Outcome {
    peer.n3()?;
    peer.associate()?;
    let session = peer.create(peer.plan(1))?;
    let wire = peer.wire()?;
    let gnb = peer.run.gnb.ip();
    let indication = Message::ErrorIndication { teid: downlink(1, 1), peer: gnb, udp_port: None };
    let datagram = message(&indication, 0, Some(0))?;
    peer.send_n3(&wire, &datagram)?;
    let names = |report: &SessionReportRequest| {
        let teids = report.error_indication_report.iter().flat_map(|report| &report.remote_f_teids);
        teids.into_iter().any(|teid| matches!(teid, FTeid::Assigned { teid, .. } if *teid == downlink(1, 1)))
    };
    let wait = peer.run.config.patience;
    let come = |all: &[SessionReportRequest]| all.iter().any(names);
    let all = peer.reports(wait, come)?;
    match (come(&all), all.is_empty()) {
        (true, _) => Ok(()),
        (false, true) => fails(format!("session {:#x}: no report arrived", session.seid)),
        (false, false) => fails("a report arrived without the tunnel"),
    }
}

/// Establishes a session whose downlink packets are buffered.
fn idle(peer: &mut Peer) -> Result<(Created, Wire), CaseFailure> {
    let wire = peer.reflecting()?;
    peer.associate()?;
    let mut request = peer.plan(1);
    if let Some(far) = request.create_fars.get_mut(1) {
        *far = peer.hold(DOWNLINK, ApplyAction::BUFF | ApplyAction::NOCP);
        far.bar_id = Some(BarId(1));
    }
    request.create_bar = Some(CreateBar { bar_id: BarId(1), ..CreateBar::default() });
    let session = peer.create(request)?;
    for port in UE_PORT..UE_PORT + WAITING {
        let packet = peer.packet(1, port);
        peer.uplink(&wire, session.teid(UPLINK), &packet)?;
    }
    Ok((session, wire))
}

pub(super) fn paging(peer: &mut Peer) -> Outcome {
    let (_session, _wire) = idle(peer)?;
    let wait = peer.run.config.patience;
    let reports = |all: &[SessionReportRequest]| {
        all.iter().filter(|report| report.downlink_data_report.is_some()).count()
    };
    match reports(&peer.reports(wait, |all| reports(all) > 1)?) {
        1 => Ok(()),
        0 => fails("packets are buffered, but the UPF sent no report"),
        more => fails(format!("{more} reports arrived for buffered packets instead of one")),
    }
}

pub(super) fn buffering_order(peer: &mut Peer) -> Outcome {
    let (session, wire) = idle(peer)?;
    let wait = peer.run.config.patience / 2;
    // The packets must be in the buffer before the SMF creates the tunnel.
    peer.reports(wait, |all| !all.is_empty())?;
    std::thread::sleep(wait.min(std::time::Duration::from_millis(50)));
    let tunnel = peer.forward(DOWNLINK, Interface::ACCESS, Some(downlink(1, 1)));
    peer.change(session.seid, tunnelled(&tunnel, false))?;
    let is_one = |one: &Received| one.is_packet(downlink(1, 1));
    let all = peer.collect(&wire, |all| all.iter().filter(|one| is_one(one)).count() >= WAITING.into())?;
    let ports: Vec<u16> = all.iter().filter(|one| is_one(one)).filter_map(Received::ue_port).collect();
    let sent: Vec<u16> = (UE_PORT..UE_PORT + WAITING).collect();
    if ports == sent {
        Ok(())
    } else {
        fails(format!("packets from the UE's ports {sent:?} were buffered, but those from {ports:?} arrived"))
    }
}

/// Returns a modification after which downlink packets are sent into the tunnel of `far`.
fn tunnelled(far: &CreateFar, end_marker: bool) -> SessionModificationRequest {
    let way = far.forwarding_parameters.clone().unwrap_or_default();
    let update = UpdateFar {
        far_id: far.far_id,
        apply_action: Some(far.apply_action),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            destination_interface: Some(way.destination_interface),
            network_instance: way.network_instance,
            outer_header_creation: way.outer_header_creation,
            sm_req_flags: end_marker.then(|| SmReqFlags::new(SmReqFlags::SNDEM)),
            destination_interface_type: way.destination_interface_type,
            ..UpdateForwardingParameters::default()
        }),
        ..UpdateFar::default()
    };
    SessionModificationRequest { update_fars: vec![update], ..SessionModificationRequest::default() }
}

pub(super) fn end_marker(peer: &mut Peer) -> Outcome {
    peer.n3()?;
    let features = peer.associate()?.up_function_features.unwrap_or_default();
    if !features.contains(UpFunctionFeatures::EMPU) {
        return Err(CaseFailure::Skipped("the UPF does not announce that it sends end markers (EMPU)"));
    }
    let session = peer.create(peer.plan(1))?;
    let wire = peer.wire()?;
    let tunnel = peer.forward(DOWNLINK, Interface::ACCESS, Some(downlink(1, 2)));
    peer.change(session.seid, tunnelled(&tunnel, true))?;
    let all = peer.collect(&wire, |_| false)?;
    let markers: Vec<u32> =
        all.iter().filter(|one| one.kind == message_type::END_MARKER).map(|one| one.teid).collect();
    if markers == [downlink(1, 1)] {
        Ok(())
    } else {
        fails(format!("end markers arrived in the tunnels {markers:?} instead of one in {}", downlink(1, 1)))
    }
}
