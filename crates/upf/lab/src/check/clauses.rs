//! The list of all checks of a UPF, each with the clause that it covers. Many of the checks are implemented here, the others in modules
//! next to this one.
use std::collections::BTreeSet;

use ranlab_packet::gtpu;
use ranlab_upf::n4::*;
use ranlab_upf::pfcp::*;

use super::upf::{PacketReach, Peer, read};
use super::{
    clauses_applications as applications, clauses_paths as paths, clauses_peers as peers,
    clauses_rules as rules, clauses_usage as usage,
};
use crate::load::LoadError;
use ranlab_lab::check::{Case, CaseFailure, Outcome, fails};

/// Names of checks on which other checks depend. If such a check fails, the checks that depend on it are skipped.
pub(super) const ASSOCIATION: &str = "association";
pub(super) const SESSION: &str = "a session is established, modified and deleted";
pub(super) const CHOSEN_TEID: &str = "trap 8: TEIDs are chosen as the features announce";
pub(super) const VOLUME_THRESHOLD: &str = "reaching a volume threshold is reported with the volume";
pub(super) const BOTH_DIRECTIONS: &str = "a session works in both directions";

/// Checks that reuse the SMF address of the preceding check, because some UPFs store at most 64 peers.
pub(super) const SHARING: [&str; 8] = [
    "a used-up time quota stops packets and is reported",
    "a quota that is not used for its holding time is reported",
    "time without packets is not measured after Inactivity Detection Time",
    "the start of traffic is reported once",
    "the stop of traffic is reported",
    "a URR reports when the URR it is linked to reports",
    "an application is detected by the flow descriptions of PFD Management",
    "an unknown application: cause 81",
];

/// All checks, in order of execution.
pub(super) const CHECKS: &[Case<Peer>] = &[
    (ASSOCIATION, "TS 29.244 6.2.6", association),
    ("heartbeat with a constant recovery time stamp", "TS 29.244 6.2.2, 19A of TS 23.007", heartbeat),
    (SESSION, "TS 29.244 6.3", session),
    ("trap 1: Apply Action of one and of two octets is answered", "TS 29.244 8.2.26", apply_action),
    ("trap 2: Network Instance as labels and as text", "TS 29.244 8.2.4, TS 23.003 9.1", network_instance),
    ("trap 3: an accepted rule without interface types forwards", "TS 29.244 8.2.118", interface_types),
    ("trap 4: a deletion with Node ID is answered", "TS 29.244 7.5.6", deletion_with_node_id),
    ("trap 5: a changed recovery time stamp ends the sessions", "TS 23.007 19A", changed_recovery),
    (
        "trap 6: a repeated request gets the same answer and is carried out once",
        "TS 29.244 6.4",
        repeated_request,
    ),
    ("trap 7: an accepted rule without PDN Type forwards downlink", "TS 29.244 8.2.79", pdn_type),
    (CHOSEN_TEID, "TS 29.244 5.5.3, 8.2.3", chosen_teid),
    (
        "trap 9: Reporting Triggers of two and of three octets are answered",
        "TS 29.244 8.2.19",
        reporting_triggers,
    ),
    (BOTH_DIRECTIONS, "TS 29.244 5.2", both_directions),
    ("no association: cause 72", "TS 29.244 8.2.1", no_association),
    ("an unknown session: cause 65", "TS 29.244 7.2.2.4.2, 8.2.1", unknown_session),
    ("a missing mandatory element: cause 66 and its number", "TS 29.244 7.6.6", missing_element),
    ("an element of wrong length: cause 68", "TS 29.244 7.6.7", wrong_length),
    ("another version: Version Not Supported", "TS 29.244 7.6.2", other_version),
    ("a session of another SMF cannot be deleted", "TS 29.244 8.2.1", stolen_session),
    ("requests from any port are accepted", "TS 29.244 4.2.2", peers::source_port),
    ("reports go to the CP F-SEID's address, port 8805", "TS 29.244 4.2.2, 7.5.8", peers::report_destination),
    ("a set deletion deletes only the sessions of its sets", "TS 29.244 7.4.6.1", peers::set_deletion),
    ("an association release is answered and ends the sessions", "TS 29.244 6.2.8", peers::release),
    ("a UE address is chosen as the features announce", "TS 29.244 5.21, 8.2.62", peers::ue_address),
    (
        "rules with flow descriptions are tried in order of precedence value",
        "TS 29.244 5.2.1, 8.2.5",
        rules::precedence,
    ),
    (
        "a flow description that cannot be read: cause 73 and the rule",
        "TS 29.244 8.2.5, 8.2.80",
        rules::bad_flow,
    ),
    ("an empty flow description excludes nothing", "TS 29.244 8.2.5", rules::empty_flow),
    (
        "a filter by type of service matches only packets of this type",
        "TS 29.244 8.2.5",
        rules::type_of_service,
    ),
    ("N9: packets are forwarded between tunnels in both directions", "TS 29.244 5.2.3.1, 8.2.56", rules::n9),
    ("CP function: packets between UE and SMF are forwarded", "TS 29.244 5.3", rules::cp_function),
    ("a dual-stack UE uses both IP versions in both directions", "TS 29.244 8.2.62", rules::dual_stack),
    ("an Ethernet session forwards or is refused", "TS 29.244 5.13, 8.2.79", rules::ethernet),
    ("a closed gate stops packets, an opened one lets them pass", "TS 29.244 5.4.2", rules::gate),
    ("downlink packets carry the QFI of the QER", "TS 29.244 5.4.3", rules::qos_flow),
    ("Transport Level Marking is the DSCP of the outer header", "TS 29.244 5.4.5, 8.2.12", rules::marking),
    (SHARING[6], "TS 29.244 6.2.5, 7.4.3, 8.2.39", applications::detected),
    (SHARING[7], "TS 29.244 8.2.1, 8.2.6", applications::unknown),
    ("usage is reported at deletion", "TS 29.244 7.5.7, 5.2.2.3", usage_at_deletion),
    (VOLUME_THRESHOLD, "TS 29.244 5.2.2.2.1, 8.2.19", usage::threshold),
    ("a changed volume threshold counts from the last report", "TS 29.244 7.5.4.4", usage::changed_threshold),
    ("a used-up volume quota stops packets and is reported", "TS 29.244 5.2.2.2.1, 8.2.41", usage::quota),
    ("a new quota lets packets pass again", "TS 29.244 7.5.4.4", usage::granted_again),
    ("Query URR and QAURR are answered with the usage", "TS 29.244 7.5.5.2", usage::query),
    ("a removed URR reports its usage", "TS 29.244 6.3.3.3, 7.5.5.2", usage::removed),
    ("usage is reported periodically", "TS 29.244 5.2.2.2, 8.2.42", usage::periodic),
    ("reaching a time threshold is reported", "TS 29.244 5.2.2.2, 8.2.19", usage::time_threshold),
    (SHARING[0], "TS 29.244 5.2.2.2, 8.2.41", usage::time_quota),
    (SHARING[1], "TS 29.244 5.2.2.2, 8.2.48", usage::holding_time),
    (SHARING[2], "TS 29.244 7.5.2.4, 8.2.18", usage::inactivity_detection),
    (SHARING[3], "TS 29.244 5.2.2.2, 8.2.19", usage::start),
    (SHARING[4], "TS 29.244 5.2.2.2, 8.2.19", usage::stop),
    (SHARING[5], "TS 29.244 5.2.2.4, 8.2.41", usage::linked),
    ("an echo request on N3 is answered", "TS 29.281 7.2", echo),
    ("an unknown tunnel: error indication", "TS 29.281 7.3.1", unknown_tunnel),
    ("TEID 0: no error indication", "TS 29.281 7.3.1", paths::teid_zero),
    (
        "packets that match no rule are dropped silently",
        "TS 29.281 7.3.1, TS 29.244 5.2.1",
        paths::off_filter,
    ),
    ("an error indication is reported", "TS 29.244 5.10, 7.5.8.4", paths::error_indication),
    ("buffered packets are reported", "TS 29.244 7.5.8.2", paths::paging),
    ("buffered packets are sent in their order of arrival", "TS 29.244 5.2.3.1", paths::buffering_order),
    ("a handover sends one end marker", "TS 29.281 7.3.2, TS 29.244 5.2.3.1", paths::end_marker),
    // This check runs last, because it may crash the UPF.
    ("the UPF survives truncated and random messages", "TS 29.244 7.6.3", garbage),
];

pub(super) fn expect(cause: Cause, expected: Cause, what: &str) -> Outcome {
    if cause == expected {
        Ok(())
    } else {
        fails(format!("{what}: cause {} instead of {}", cause.0, expected.0))
    }
}

fn association(peer: &mut Peer) -> Outcome {
    peer.try_associate().map(drop)
}

fn session(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let (seid, _) = peer.establish(1)?;
    expect(peer.modify(seid, 1)?, Cause::ACCEPTED, "a modification")?;
    expect(peer.delete(seid)?.cause, Cause::ACCEPTED, "a deletion")
}

fn heartbeat(peer: &mut Peer) -> Outcome {
    let mut stamps = BTreeSet::from([peer.associate()?.recovery_time_stamp.0]);
    for _ in 0..2 {
        let request = HeartbeatRequest {
            recovery_time_stamp: RecoveryTimeStamp(peer.run.recovery.get()),
            ..Default::default()
        };
        match peer.ask(request, None)? {
            Some(Message::HeartbeatResponse(response)) => stamps.insert(response.recovery_time_stamp.0),
            _ => return fails("a heartbeat request went unanswered"),
        };
    }
    if stamps.len() == 1 {
        Ok(())
    } else {
        fails(format!("recovery time stamps {stamps:?} changed without a restart"))
    }
}

fn apply_action(peer: &mut Peer) -> Outcome {
    answered_with(peer, [1, 2], |sends, octets| sends.apply_action_octets = octets)
}

fn reporting_triggers(peer: &mut Peer) -> Outcome {
    answered_with(peer, [2, 3], |sends, octets| sends.reporting_triggers_octets = octets)
}

/// Checks that the UPF answers establishments in which an information element has either of two lengths. Releases of the specification
/// differ in this length.
fn answered_with(peer: &mut Peer, lengths: [u8; 2], change: fn(&mut SmfMessageStyle, u8)) -> Outcome {
    peer.associate()?;
    let mut silent = Vec::new();
    for octets in lengths {
        peer.speaking(|sends| change(sends, octets))?;
        if peer.try_establish(usize::from(octets))?.is_none() {
            silent.push(octets);
        }
    }
    if silent.is_empty() {
        Ok(())
    } else {
        fails(format!("no response with {silent:?} octets, which looks like loss"))
    }
}

fn network_instance(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    peer.speaking(|sends| sends.name_form = NameForm::Labels)?;
    peer.establish(1)?;
    peer.speaking(|sends| sends.name_form = NameForm::Text)?;
    match peer.try_establish(2)? {
        None => fails("a request whose Network Instance is text goes unanswered"),
        Some(response) if response.cause == Cause::NO_RESOURCES => fails(
            "a request whose Network Instance is text is refused with the misleading cause 75 (no resources)",
        ),
        Some(_) => Ok(()),
    }
}

/// Establishes a session with an uplink and a downlink tunnel, and sends a packet through it.
fn works(peer: &mut Peer, n: usize) -> Result<PacketReach, CaseFailure> {
    peer.n3()?;
    peer.associate()?;
    let (seid, teid) = peer.establish(n)?;
    let downlink = 0x0100 + n as u32;
    expect(peer.modify(seid, downlink)?, Cause::ACCEPTED, "the modification with the first downlink tunnel")?;
    peer.try_packet(n, teid, downlink)
}

/// Checks that packets of a complete session come back, and stores the result. Checks of incomplete sessions depend on it.
pub(super) fn plain(peer: &mut Peer) -> Result<PacketReach, CaseFailure> {
    let way = works(peer, 5)?;
    peer.run.reflects.set(Some(way.back));
    Ok(way)
}

/// Checks that packets come back through a session that lacks one element. The check is skipped if they do not come back through a complete
/// session.
fn works_without(peer: &mut Peer, n: usize, change: fn(&mut SmfMessageStyle)) -> Outcome {
    peer.n3()?;
    if peer.run.reflects.get().is_none() {
        plain(peer)?;
    }
    if peer.run.reflects.get() == Some(false) {
        return Err(CaseFailure::Skipped("packets do not come back, even in a session with all elements"));
    }
    peer.speaking(change)?;
    match works(peer, n)? {
        PacketReach { back: true, .. } => Ok(()),
        PacketReach { up: Some(true), .. } => {
            fails("the session was accepted, but only uplink packets were forwarded")
        }
        PacketReach { .. } => fails("all requests were accepted, but no packet was forwarded"),
    }
}

fn interface_types(peer: &mut Peer) -> Outcome {
    works_without(peer, 3, |sends| sends.interface_type = false)
}

fn pdn_type(peer: &mut Peer) -> Outcome {
    works_without(peer, 4, |sends| sends.pdn_type = false)
}

fn both_directions(peer: &mut Peer) -> Outcome {
    let ue = peer.spec(5).ue;
    match plain(peer)? {
        PacketReach { back: true, .. } => Ok(()),
        PacketReach { astray: Some(teid), .. } => {
            fails(format!("the packet came back through tunnel {teid}, which no message contains"))
        }
        PacketReach { up: None, .. } => Err(CaseFailure::Skipped(
            "no packet came back: check that a reflector runs at --server (--n6 emulates one), and that --ue is in the UPF's pool",
        )),
        PacketReach { up: Some(true), .. } => fails(format!(
            "all requests were accepted and uplink packets reached the data network, but downlink packets did not come back: check that the UE {ue} (--ue) is in the UPF's pool, and that the data network's route to this UE leads to the UPF"
        )),
        PacketReach { up: Some(false), .. } => fails(format!(
            "all requests were accepted, but no packet reached the data network: check that the UE {ue} (--ue) is in the UPF's pool"
        )),
    }
}

fn deletion_with_node_id(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let (seid, _) = peer.establish(1)?;
    peer.speaking(|sends| sends.node_id_in_deletion = true)?;
    expect(peer.delete(seid)?.cause, Cause::ACCEPTED, "the deletion with Node ID")
}

fn changed_recovery(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let (seid, _) = peer.establish(1)?;
    let same = HeartbeatRequest {
        recovery_time_stamp: RecoveryTimeStamp(peer.run.recovery.get()),
        ..Default::default()
    };
    peer.ask(same, None)?;
    expect(
        peer.modify(seid, 1)?,
        Cause::ACCEPTED,
        "the modification after a heartbeat with an unchanged time stamp",
    )?;
    peer.run.recovery.set(peer.run.recovery.get() + 1);
    let changed = HeartbeatRequest {
        recovery_time_stamp: RecoveryTimeStamp(peer.run.recovery.get()),
        ..Default::default()
    };
    peer.ask(changed, None)?;
    match peer.modify(seid, 2)? {
        Cause::ACCEPTED => fails("the session still exists after a restart of its SMF"),
        _ => Ok(()),
    }
}

fn repeated_request(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let sequence = peer.number();
    let request = encode(peer.templates.establishment(peer.cp_seid(1), peer.spec(1)), Some(0), sequence);
    let request = request.map_err(|error| CaseFailure::Fails(error.to_string()))?;
    let first = peer.ask_raw(&request, sequence)?;
    let second = peer.ask_raw(&request, sequence)?;
    match (first, second) {
        (Some(first), Some(second)) if first == second => Ok(()),
        (Some(_), Some(_)) => fails("the repeated request got a different answer: it was carried out twice"),
        (_, None) => fails("the repeated request went unanswered"),
        (None, _) => fails("an establishment went unanswered"),
    }
}

fn chosen_teid(peer: &mut Peer) -> Outcome {
    let features = peer.associate()?.up_function_features;
    let can = features.is_some_and(|features| features.contains(UpFunctionFeatures::FTUP));
    peer.speaking(|sends| sends.teid = TeidChoice::Upf)?;
    let response = peer.try_establish(1)?;
    match (can, response) {
        (_, None) => fails("a request to choose an F-TEID (flag CH) goes unanswered"),
        (true, Some(response)) => {
            let chosen =
                response.created_pdrs.iter().any(|pdr| matches!(pdr.f_teid, Some(FTeid::Assigned { .. })));
            if chosen {
                Ok(())
            } else {
                fails(format!("the UPF announces FTUP, but chose no tunnel (cause {})", response.cause.0))
            }
        }
        (false, Some(response)) if response.cause.is_accepted() && response.created_pdrs.is_empty() => fails(
            "a request to choose an F-TEID (flag CH) is accepted without the feature FTUP, but no tunnel was chosen",
        ),
        (false, Some(_)) => Ok(()),
    }
}

fn no_association(peer: &mut Peer) -> Outcome {
    // The request comes from an address for which no check sets up an association.
    let mut other_smf = peer.other(1)?;
    let response = other_smf.try_establish(1)?;
    peer.joined_by(other_smf)?;
    match response {
        Some(response) if response.cause != Cause::NO_ASSOCIATION && !peer.run.own_addresses => {
            Err(CaseFailure::Skipped(
                "the request was not refused, perhaps because of an association of an earlier run: use an --smf that is new to the UPF",
            ))
        }
        Some(response) => {
            expect(response.cause, Cause::NO_ASSOCIATION, "an establishment without association")
        }
        None => fails("an establishment without association goes unanswered"),
    }
}

fn unknown_session(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let seid = 0x7fff_ffff_ffff_0001;
    expect(peer.modify(seid, 1)?, Cause::CONTEXT_NOT_FOUND, "a modification")?;
    expect(peer.delete(seid)?.cause, Cause::CONTEXT_NOT_FOUND, "a deletion")
}

/// Returns an encoded establishment request to be modified.
fn establishment(peer: &Peer, sequence: u32) -> Result<Vec<u8>, CaseFailure> {
    let request = encode(peer.templates.establishment(peer.cp_seid(9), peer.spec(9)), Some(0), sequence);
    request.map_err(|error| CaseFailure::Fails(error.to_string()))
}

fn refused_with(
    peer: &mut Peer,
    octets: &[u8],
    sequence: u32,
    expected: Cause,
    element: Option<u16>,
) -> Outcome {
    let Some(answer) = peer.ask_raw(octets, sequence)? else { return fails("the request got no response") };
    let Message::SessionEstablishmentResponse(response) = read(&answer)? else {
        return fails("the response has an unexpected message type");
    };
    expect(response.cause, expected, "the establishment")?;
    match (element, response.offending_ie) {
        (Some(expected), Some(OffendingIe(named))) if expected == named => Ok(()),
        (Some(expected), named) => fails(format!("offending element {named:?} instead of {expected}")),
        (None, _) => Ok(()),
    }
}

fn missing_element(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let sequence = peer.number();
    let whole = establishment(peer, sequence)?;
    // This request lacks the CP F-SEID (IE 57).
    let mut octets = whole[..SESSION_HEADER_LEN].to_vec();
    for (number, value) in Ies::new(&whole[SESSION_HEADER_LEN..]).flatten() {
        if number != 57 {
            octets.extend(number.to_be_bytes());
            octets.extend((value.len() as u16).to_be_bytes());
            octets.extend(value);
        }
    }
    let len = (octets.len() - 4) as u16;
    octets[2..4].copy_from_slice(&len.to_be_bytes());
    refused_with(peer, &octets, sequence, Cause(66), Some(57))
}

fn wrong_length(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let sequence = peer.number();
    let mut octets = establishment(peer, sequence)?;
    // The first element claims to be longer than the rest of the message.
    octets[SESSION_HEADER_LEN + 2..SESSION_HEADER_LEN + 4].copy_from_slice(&[0x7f, 0xff]);
    refused_with(peer, &octets, sequence, Cause(68), None)
}

fn other_version(peer: &mut Peer) -> Outcome {
    let sequence = peer.number();
    let mut octets =
        encode(HeartbeatRequest::default(), None, sequence).map_err(|e| CaseFailure::Fails(e.to_string()))?;
    octets[0] = octets[0] & 0x1f | 2 << 5;
    match peer.ask_raw(&octets, sequence)? {
        Some(answer) if answer.get(1) == Some(&message_type::VERSION_NOT_SUPPORTED_RESPONSE) => Ok(()),
        Some(_) => fails("the response has an unexpected message type"),
        None => fails("the request got no response"),
    }
}

fn garbage(peer: &mut Peer) -> Outcome {
    if !peer.run.config.hostile {
        return Err(CaseFailure::Skipped("random messages have crashed UPFs; --hostile enables this check"));
    }
    peer.associate()?;
    let (seid, _) = peer.establish(1)?;
    let sequence = peer.number();
    let whole = establishment(peer, sequence)?;
    let mut random = Random::new(1);
    for n in 0..200 {
        let mut octets = whole[..random.below(whole.len() as u64) as usize].to_vec();
        for _ in 0..n % 8 {
            let at = random.below(octets.len().max(1) as u64) as usize;
            if let Some(octet) = octets.get_mut(at) {
                *octet = random.draw() as u8;
            }
        }
        peer.n4.send_raw(&octets).map_err(LoadError::from)?;
    }
    std::thread::sleep(peer.run.config.patience / 4);
    // Random messages may have used the next sequence numbers. The UPF would then repeat its earlier responses.
    peer.leap(sequence);
    expect(peer.modify(seid, 1)?, Cause::ACCEPTED, "the modification after the random messages")
}

fn stolen_session(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let (seid, _) = peer.establish(1)?;
    let mut thief = peer.other(2)?;
    thief.associate()?;
    let cause = thief.delete(seid)?.cause;
    peer.joined_by(thief)?;
    if cause.is_accepted() || peer.modify(seid, 1)? != Cause::ACCEPTED {
        return fails("another SMF deleted a session");
    }
    Ok(())
}

fn usage_at_deletion(peer: &mut Peer) -> Outcome {
    peer.associate()?;
    let (seid, _) = peer.establish(1)?;
    let response = peer.delete(seid)?;
    expect(response.cause, Cause::ACCEPTED, "the deletion")?;
    if response.usage_reports.is_empty() {
        fails("a session with a URR was deleted without a usage report")
    } else {
        Ok(())
    }
}

fn n3_answer(peer: &mut Peer, datagram: &[u8], message_type: u8) -> Outcome {
    let (socket, n3) = peer.n3()?;
    let came = peer.exchange(&socket, n3, datagram, |packet| packet.message_type == message_type)?;
    if came { Ok(()) } else { fails("the request got no response") }
}

fn echo(peer: &mut Peer) -> Outcome {
    let mut datagram = Vec::new();
    let encoded = gtpu::encode_message(&gtpu::Message::EchoRequest, 0, Some(7), &mut datagram);
    encoded.map_err(|error| CaseFailure::Fails(error.to_string()))?;
    n3_answer(peer, &datagram, gtpu::message_type::ECHO_RESPONSE)
}

fn unknown_tunnel(peer: &mut Peer) -> Outcome {
    let mut datagram = Vec::new();
    let encoded = gtpu::encode_message(&gtpu::Message::GPdu(&[0x45; 40]), 0x7fff_fff1, None, &mut datagram);
    encoded.map_err(|error| CaseFailure::Fails(error.to_string()))?;
    n3_answer(peer, &datagram, gtpu::message_type::ERROR_INDICATION)
}
