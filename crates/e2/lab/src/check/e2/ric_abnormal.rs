//! Abnormal input that a RIC must tolerate: unknown, invalid, truncated and oversized messages.
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_net::sctp;

use super::ends::*;
use super::link::{Link, PeerMessage};
use super::malformed;
use super::ric::{ScriptedNodes, reset};
use ranlab_lab::check::{CaseFailure, Outcome, fails};

/// Returns the id of the first RAN function, and the details of a subscription to it.
pub(super) fn test_subscription() -> (u16, RicSubscriptionDetails) {
    let action = ActionToBeSetup {
        id: 3,
        kind: RicActionType::Report,
        definition: None,
        subsequent: None,
        execution_order: None,
    };
    let details =
        RicSubscriptionDetails { event_trigger: Bytes::from_static(&[0, 0, 3, 232]), actions: vec![action] };
    (ScriptedNodes::functions()[0].id, details)
}

/// Sends an indication of the RAN function returned by [`test_subscription`].
pub(super) fn indicated(link: &mut Link, request_id: RicRequestId, message: &'static [u8]) -> Outcome {
    link.say(&Message::RicIndication(RicIndication {
        request_id,
        function_id: test_subscription().0,
        action_id: 3,
        sn: Some(1),
        kind: RicIndicationType::Report,
        header: Bytes::from_static(b"header"),
        message: Bytes::from_static(message),
        call_process_id: None,
    }))
}

const UNKNOWN_REQUEST: RicRequestId = RicRequestId { requestor: 4_001, instance: 17 };

pub(super) fn unknown_indication(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    indicated(&mut link, UNKNOWN_REQUEST, b"unasked")?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

pub(super) fn unknown_answer(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    let function_id = test_subscription().0;
    let response = RicSubscriptionResponse {
        request_id: UNKNOWN_REQUEST,
        function_id,
        admitted: vec![1],
        not_admitted: None,
    };
    link.say(&Message::RicSubscriptionResponse(response))?;
    let deleted = RicSubscriptionDeleteResponse { request_id: UNKNOWN_REQUEST, function_id };
    link.say(&Message::RicSubscriptionDeleteResponse(deleted))?;
    link.say(&Message::ResetResponse(ResetResponse {
        transaction_id: transaction(&link, 77),
        diagnostics: None,
    }))?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

pub(super) fn before_setup(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.connect()?;
    link.say(&reset(&link, 18))?;
    objected(&mut link, "a reset before the setup", &[WRONG_STATE])?;
    it.serves(&mut it.connect()?, true).or_else(|_| it.set_up().map(drop))
}

pub(super) fn unknown_critical(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    link.say_pdu(&malformed::unknown_procedure(0));
    objected(&mut link, "an unknown procedure", &[NOT_UNDERSTOOD])?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

pub(super) fn unknown_ignored(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    link.say_pdu(&malformed::unknown_procedure(1));
    silently(&mut link, "an unknown procedure that may be ignored")?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

/// Checks that an invalid reset request on an established connection is rejected.
fn wrong_reset(
    it: &mut ScriptedNodes,
    what: &str,
    causes: &[Cause],
    spoil: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Outcome {
    let mut link = it.set_up()?;
    let pdu = spoiled(&link, &reset(&link, 19), spoil)?;
    link.say_pdu(&pdu);
    objected(&mut link, what, causes)?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

pub(super) fn unknown_element(it: &mut ScriptedNodes) -> Outcome {
    wrong_reset(it, "a reset with an unknown element", &[NOT_UNDERSTOOD], |pdu| {
        malformed::with_unknown(pdu, 0)
    })
}

pub(super) fn ignored_element(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    let pdu = spoiled(&link, &reset(&link, 20), |pdu| malformed::with_unknown(pdu, 1))?;
    link.say_pdu(&pdu);
    let response_id =
        link.expect("the response to a reset with an unknown element", |_, message| match message {
            Message::ResetResponse(m) => Some(m.transaction_id),
            _ => None,
        })?;
    it.keep(link);
    let link = it.connect()?;
    same_run(&link, "the reset response", 20, response_id)
}

pub(super) fn missing_element(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.connect()?;
    let request = it.setup_request(&link, 21);
    let pdu = spoiled(&link, &request, |pdu| malformed::without(pdu, ids::GLOBAL_E2_NODE_ID))?;
    link.say_pdu(&pdu);
    objected(&mut link, "a setup request without the base station's id", &[NOT_UNDERSTOOD])
}

pub(super) fn element_twice(it: &mut ScriptedNodes) -> Outcome {
    let spoil = |pdu: &[u8]| malformed::twice(pdu, ids::CAUSE);
    wrong_reset(it, "a reset with a duplicate element", &[FALSELY_CONSTRUCTED], spoil)
}

pub(super) fn malformed(it: &mut ScriptedNodes) -> Outcome {
    let mut link = it.set_up()?;
    // The bytes have a PDU type (CHOICE E2AP-PDU) that does not exist.
    link.say_pdu(&[0x60, 0x01, 0x00, 0x03, 0, 0, 0]);
    objected(&mut link, "bytes that are not a message", &[TRANSFER_SYNTAX])?;
    it.serves(&mut link, false)?;
    it.keep(link);
    Ok(())
}

/// Checks that a misbehaving base station does not affect a well-behaved one.
fn with_sound_station(it: &mut ScriptedNodes, disturb: impl FnOnce(&ScriptedNodes) -> Outcome) -> Outcome {
    let mut good = it.set_up()?;
    it.node = GlobalE2NodeId::gnb(Plmn::new(1, 1, 2), it.run.config.first + 1_000, 22);
    let done = disturb(it);
    let alive = it.serves(&mut good, false).map_err(|fault| match fault {
        CaseFailure::Fails(why) => CaseFailure::Fails(format!("the well-behaved base station failed: {why}")),
        other => other,
    });
    it.keep(good);
    done.and(alive)
}

pub(super) fn cut(it: &mut ScriptedNodes) -> Outcome {
    with_sound_station(it, |it| {
        let whole = {
            let link = it.connect()?;
            spoiled(&link, &it.setup_request(&link, 22), |pdu| Some(pdu.to_vec()))?
        };
        for len in (1..whole.len()).step_by(whole.len() / 16 + 1) {
            let mut link = it.connect()?;
            link.say_pdu(&whole[..len]);
            let until = Instant::now() + Duration::from_millis(20);
            if let Some(PeerMessage::Said(decoded)) = link.receive(until)
                && matches!(decoded.message, Message::E2SetupResponse(_))
            {
                return fails(format!("a setup request cut to {len} of {} bytes is accepted", whole.len()));
            }
        }
        it.set_up().map(drop)
    })
}

const NO_FRAMES: CaseFailure =
    CaseFailure::Skipped("this transport preserves message boundaries, so there are no frames");

pub(super) fn oversized(it: &mut ScriptedNodes) -> Outcome {
    with_sound_station(it, |it| {
        let mut link = it.set_up()?;
        if !link.is_stream() {
            return Err(NO_FRAMES);
        }
        link.say_octets(&OVERSIZED);
        let until = Instant::now() + link.patience;
        while let Some(input) = link.receive(until) {
            if let PeerMessage::End(_) = input {
                return Ok(());
            }
        }
        fails("the RIC waits for 4 GiB instead of closing the connection")
    })
}

pub(super) fn half(it: &mut ScriptedNodes) -> Outcome {
    with_sound_station(it, |it| {
        let mut link = it.connect()?;
        if !link.is_stream() {
            return Err(NO_FRAMES);
        }
        link.say_octets(&[0, 0, 1]);
        it.set_up().map(drop)
    })
}

pub(super) fn identifiers(it: &mut ScriptedNodes) -> Outcome {
    let place = it.sctp().ok_or(CaseFailure::Skipped("the address is not sctp://"))?;
    for ppid in [0, 70, 71] {
        let link = it.connect()?;
        let pdu = spoiled(&link, &it.setup_request(&link, 23), |pdu| Some(pdu.to_vec()))?;
        drop(link);
        if !set_up_as(place, ppid, &pdu, it.run.config.patience) {
            return fails(format!("a setup request with payload protocol identifier {ppid} is not accepted"));
        }
    }
    Ok(())
}

/// Returns whether a setup with this payload protocol identifier is accepted.
fn set_up_as(place: SocketAddr, ppid: u32, pdu: &[u8], patience: Duration) -> bool {
    const PAUSE: Duration = Duration::from_millis(5);
    let Ok(link) = sctp::Association::connect(&[place]) else { return false };
    let until = Instant::now() + patience;
    let mut buffer = vec![0; 1 << 16];
    let mut sent = false;
    while Instant::now() < until {
        sent = sent || link.send(pdu, sctp::MessageInfo { stream: 0, ppid }).is_ok();
        match link.receive(&mut buffer) {
            // The response must be the successful outcome of the E2 setup procedure.
            Ok(came) if came.notification.is_none() => return buffer[..came.bytes].starts_with(&[0x20, 1]),
            _ => std::thread::sleep(PAUSE),
        }
    }
    false
}

pub(super) fn random(it: &mut ScriptedNodes) -> Outcome {
    if !it.run.config.hostile {
        return Err(CaseFailure::Skipped("this check has crashed RICs: use --hostile to run it"));
    }
    let whole = {
        let link = it.connect()?;
        spoiled(&link, &it.setup_request(&link, 24), |pdu| Some(pdu.to_vec()))?
    };
    let mut link = it.set_up()?;
    for octets in hostile(&whole, 300) {
        link.say_pdu(&octets);
        if link.over || matches!(link.receive(Instant::now()), Some(PeerMessage::End(_))) {
            link = it.connect()?;
        }
    }
    it.set_up().map(drop)
}
