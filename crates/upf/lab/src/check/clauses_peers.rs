//! Checks of the source and destination addresses of PFCP messages.
use bytes::Bytes;
use ranlab_upf::n4::PFCP_PORT;
use ranlab_upf::pfcp::*;
use std::net::IpAddr;

use super::clauses::{SESSION, expect};
use super::scene::{DOWNLINK, UE_PORT, UPLINK, Wire};
use super::upf::Peer;
use ranlab_lab::check::{CaseFailure, Outcome, fails};

pub(super) fn source_port(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let mut elsewhere = peer.at_another_port()?;
    let request = elsewhere.plan(1);
    let response = elsewhere.try_create(request);
    peer.joined_by(elsewhere)?;
    match response? {
        Some(response) if response.cause.is_accepted() => Ok(()),
        Some(response) => fails(format!(
            "an establishment from another port of the associated address is refused with cause {}",
            response.cause.0
        )),
        None => fails("an establishment from another port gets no response at that port"),
    }
}

pub(super) fn report_destination(peer: &mut Peer) -> Outcome {
    if peer.n4.local_addr().port() != PFCP_PORT {
        return Err(CaseFailure::Skipped(
            "the port of our SMF (--smf) is not 8805, but UPFs send reports to port 8805",
        ));
    }
    let wire = peer.reflecting()?;
    peer.associate()?;
    let mut elsewhere = peer.at_another_port()?;
    let mut request = elsewhere.plan(1);
    if let Some(far) = request.create_fars.get_mut(1) {
        *far = peer.hold(DOWNLINK, ApplyAction::BUFF | ApplyAction::NOCP);
    }
    let created = elsewhere.create(request);
    let session = match created {
        Ok(session) => session,
        Err(fault) => {
            peer.joined_by(elsewhere)?;
            return match fault {
                CaseFailure::Needs(SESSION, _) => {
                    Err(CaseFailure::Skipped("requests from other ports are not answered"))
                }
                other => Err(other),
            };
        }
    };
    let packet = elsewhere.packet(1, UE_PORT);
    peer.uplink(&wire, session.teid(UPLINK), &packet)?;
    let wait = peer.run.config.patience;
    let here = peer.reports(wait, |all| !all.is_empty())?.len();
    let there = elsewhere.reports(wait / 4, |all| !all.is_empty())?.len();
    peer.joined_by(elsewhere)?;
    match (here, there) {
        (1.., _) => Ok(()),
        (0, 1..) => fails("the report went to the source port of the establishment"),
        (0, 0) => paged(peer, &wire),
    }
}

/// Called if no report arrived. Checks whether the UPF reports about a session that was established from port 8805.
fn paged(peer: &mut Peer, wire: &Wire) -> Outcome {
    let mut request = peer.plan(2);
    if let Some(far) = request.create_fars.get_mut(1) {
        *far = peer.hold(DOWNLINK, ApplyAction::BUFF | ApplyAction::NOCP);
    }
    let session = peer.create(request)?;
    let packet = peer.packet(2, UE_PORT);
    peer.uplink(wire, session.teid(UPLINK), &packet)?;
    let wait = peer.run.config.patience;
    if peer.reports(wait, |all| !all.is_empty())?.is_empty() {
        Err(CaseFailure::Skipped("the UPF does not report buffered packets"))
    } else {
        fails("no report arrived for a session that was established from another port")
    }
}

pub(super) fn set_deletion(peer: &mut Peer) -> Outcome {
    let IpAddr::V4(address) = peer.n4.local_addr().ip() else {
        return Err(CaseFailure::Skipped(
            "our SMF has an IPv6 address, but this check names the sets by an IPv4 address",
        ));
    };
    peer.associate()?;
    let set = |csid| FqCsid { node: (0, Bytes::copy_from_slice(&address.octets())), csids: vec![csid] };
    let mut sessions = Vec::new();
    for n in [1_u16, 2] {
        let mut request = peer.plan(n.into());
        request.fq_csids = vec![set(n)];
        sessions.push(peer.create(request)?.seid);
    }
    let node_id = IpAddr::V4(address).into();
    let request = SessionSetDeletionRequest { node_id, fq_csids: vec![set(1)], ..Default::default() };
    let cause = match peer.ask(request, None)? {
        Some(Message::SessionSetDeletionResponse(response)) => response.cause,
        _ => return fails("a session set deletion goes unanswered"),
    };
    let mut live = |seid| peer.modify(seid, 1).map(Cause::is_accepted);
    match (cause.is_accepted(), live(sessions[0])?, live(sessions[1])?) {
        (true, false, true) | (false, true, true) => Ok(()),
        (true, true, _) => fails("the deletion is accepted, but the session of the named set still exists"),
        (_, _, false) => fails("the session of another set is deleted as well"),
        (false, false, true) => {
            fails(format!("the deletion is refused with cause {}, but the session is deleted", cause.0))
        }
    }
}

pub(super) fn release(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let (seid, _) = peer.establish(1)?;
    match peer.release()? {
        Some(Message::AssociationReleaseResponse(response)) => {
            expect(response.cause, Cause::ACCEPTED, "the release")?;
        }
        _ => return fails("an association release goes unanswered"),
    }
    if peer.modify(seid, 1)?.is_accepted() {
        fails("the session still exists after the release of its association")
    } else {
        Ok(())
    }
}

pub(super) fn ue_address(peer: &mut Peer) -> Outcome {
    let features = peer.associate()?.up_function_features.unwrap_or_default();
    let mut request = peer.plan(1);
    for (rule, destination) in request.create_pdrs.iter_mut().zip([false, true]) {
        rule.pdi.ue_ip_addresses =
            vec![UeIpAddress { choose_v4: true, destination, ..UeIpAddress::default() }];
    }
    let Some(response) = peer.try_create(request)? else { return fails("the establishment goes unanswered") };
    let addresses = response.created_pdrs.iter().flat_map(|created| &created.ue_ip_addresses);
    let chosen = addresses.into_iter().any(|ue| ue.addresses.v4.is_some());
    match (response.cause.is_accepted(), chosen, features.contains(UpFunctionFeatures::UEIP)) {
        (true, true, _) | (false, _, false) => Ok(()),
        (true, false, _) => fails("the request for a UE address is accepted, but no address is chosen"),
        (false, _, true) => fails(format!(
            "the UPF announces UEIP, but refuses the request for an address with cause {}",
            response.cause.0
        )),
    }
}
