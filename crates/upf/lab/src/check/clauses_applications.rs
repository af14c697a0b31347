//! Checks of applications and PFD Management.
use ranlab_upf::pfcp::*;

use super::scene::{UE_PORT, UPLINK};
use super::upf::Peer;
use ranlab_lab::check::{CaseFailure, Outcome, fails};

/// Id of the rules that a check adds to a session.
const FURTHER: u16 = 3;
const APPLICATION: &[u8] = b"ranlab.check";
const UNKNOWN: &[u8] = b"ranlab.unknown";

fn id(name: &'static [u8]) -> Opaque {
    Opaque(name.into())
}

/// Replaces the flow descriptions of the application.
fn provision(peer: &mut Peer, contents: Vec<PfdContents>) -> Outcome {
    let pfd_contexts = match contents.is_empty() {
        true => Vec::new(),
        false => vec![PfdContext { contents, ..Default::default() }],
    };
    let application = ApplicationPfds { application_id: id(APPLICATION), pfd_contexts, ..Default::default() };
    let request = PfdManagementRequest { applications: vec![application], ..Default::default() };
    match peer.ask(request, None)? {
        Some(Message::PfdManagementResponse(response)) if response.cause.is_accepted() => Ok(()),
        Some(Message::PfdManagementResponse(response)) => Err(CaseFailure::Refused(format!(
            "the UPF refuses a flow description with cause {}",
            response.cause.0
        ))),
        Some(other) => fails(format!("message type {} answers PFD Management", other.message_type())),
        None => fails("the UPF announces PFDM, but does not answer a PFD Management Request"),
    }
}

/// Returns the establishment request of a session that drops the packets of an application.
fn session(peer: &Peer, application: &'static [u8]) -> SessionEstablishmentRequest {
    let mut request = peer.plan(1);
    let mut rule = peer.rule(1, FURTHER, 10, FURTHER);
    rule.pdi.application_id = Some(id(application));
    request.create_pdrs.push(rule);
    request.create_fars.push(peer.hold(FURTHER, ApplyAction::DROP));
    request
}

fn has_pfd_management(peer: &mut Peer) -> Result<bool, CaseFailure> {
    let features = peer.associate()?.up_function_features.unwrap_or_default();
    Ok(features.contains(UpFunctionFeatures::PFDM))
}

pub(super) fn detected(peer: &mut Peer) -> Outcome {
    let wire = peer.reflecting()?;
    if !has_pfd_management(peer)? {
        return Err(CaseFailure::Skipped("the UPF does not announce PFDM"));
    }
    let ports = [UE_PORT, UE_PORT + 1, UE_PORT + 2];
    let mut created = None;
    for (dropped, passing) in [(1, [0, 2]), (2, [0, 1])] {
        let flow = peer.flow_of_port(UE_PORT + dropped);
        provision(peer, vec![PfdContents::flow(&flow)])?;
        let session = match created.take() {
            Some(session) => session,
            None => {
                let request = session(peer, APPLICATION);
                peer.create(request)?
            }
        };
        let mut back = peer.come_back(&wire, 1, session.teid(UPLINK), &ports)?;
        back.sort_unstable();
        if back != passing.map(|n| UE_PORT + n) {
            return fails(format!(
                "the application has the packets of port {}, which a rule drops; of the ports {ports:?}, these came back: {back:?}",
                UE_PORT + dropped
            ));
        }
        created = Some(session);
    }
    provision(peer, Vec::new())
}

pub(super) fn unknown(peer: &mut Peer) -> Outcome {
    let announced = has_pfd_management(peer)?;
    let request = session(peer, UNKNOWN);
    let Some(response) = peer.try_create(request)? else {
        return fails("an establishment with an unknown application goes unanswered");
    };
    match response.cause {
        cause if cause.is_accepted() => fails("a rule for an unknown application is accepted"),
        Cause::UNKNOWN_APPLICATION_ID => Ok(()),
        Cause(cause) if announced => fails(format!("an unknown application: cause {cause} instead of 81")),
        Cause(_) => Ok(()),
    }
}
