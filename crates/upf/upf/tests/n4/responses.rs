//! Tests that the SMF accepts responses with additional elements, and rejects malformed reports.
use super::*;
use ranlab_upf::pfcp::{
    Cause, Message, OffendingIe, Pdu, Random, RawIe, ReportType, SessionReportRequest, decode, encode,
    message_type,
};

/// Returns additional elements that a response may have. These are Load Control Information (51), Overload Control Information (54), a
/// vendor's element, and one of a later release.
fn further(random: &mut Random) -> Vec<RawIe> {
    let types = [51, 54, 0x8006, 0xfff0, 30_000];
    let count = random.below(3);
    let element = |random: &mut Random| RawIe {
        ie_type: types[random.below(5) as usize],
        value: vec![random.draw() as u8; 2 + random.below(9) as usize].into(),
    };
    (0..count).map(|_| element(random)).collect()
}

/// Adds elements to a response, and to its grouped elements.
fn enriched(datagram: &[u8], random: &mut Random) -> Vec<u8> {
    let (mut pdu, _) = decode(datagram).unwrap();
    match &mut pdu.message {
        Message::SessionEstablishmentResponse(response) => {
            response.others = further(random);
            response.created_pdrs.iter_mut().for_each(|pdr| pdr.others = further(random));
        }
        Message::SessionModificationResponse(response) => response.others = further(random),
        Message::SessionDeletionResponse(response) => response.others = further(random),
        _ => {}
    }
    let mut out = Vec::new();
    pdu.encode(&mut out).unwrap();
    out
}

/// Returns all events of an SMF from establishment to deletion of some sessions. `random` adds elements to each response.
fn lives(mut random: Option<Random>) -> Vec<SmfEvent> {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    pair.smf_events.clear();
    let mut events = Vec::new();
    for n in 1..20 {
        let id = pair.smf.establish(pair.now, pair.now, spec(n)).unwrap();
        for step in 0..3 {
            while let Some(output) = pair.smf.poll() {
                match output {
                    SmfOutput::Event(event) => events.push(event),
                    SmfOutput::Send(request) => {
                        let received = UpfInput::Received(Pair::SMF_ADDRESS, &request);
                        pair.upf.handle(pair.now, received);
                    }
                }
            }
            while let Some(output) = pair.upf.poll() {
                let UpfOutput::Send(_, response) = output else { continue };
                let response = match &mut random {
                    Some(random) => enriched(&response, random),
                    None => response,
                };
                pair.smf.handle(pair.now, SmfInput::Received(&response));
            }
            events.extend(std::iter::from_fn(|| pair.smf.poll()).filter_map(|output| match output {
                SmfOutput::Event(event) => Some(event),
                SmfOutput::Send(_) => None,
            }));
            match step {
                0 => pair.smf.modify(pair.now, pair.now, id, downlink(n)).unwrap(),
                1 => pair.smf.delete(pair.now, pair.now, id).unwrap(),
                _ => {}
            }
        }
    }
    assert!(pair.smf.ledger().balanced());
    events
}

#[test]
fn additional_elements_in_responses_have_no_effect() {
    let plain = lives(None);
    let tunnels = plain.iter().filter(|event| matches!(event, SmfEvent::Tunnel(..))).count();
    assert_eq!(tunnels, 19);
    for seed in 0..50 {
        assert_eq!(lives(Some(Random::new(seed))), plain, "{seed}");
    }
}

#[test]
fn malformed_report_is_refused_with_the_element() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (id, _) = session(&mut pair, 1);
    while pair.smf.poll().is_some() {}
    let report =
        SessionReportRequest { report_type: ReportType::new(ReportType::USAR), ..Default::default() };
    let without_usage = encode(report, Some(id.0), 7).unwrap();
    let empty =
        [&[0x21, message_type::SESSION_REPORT_REQUEST, 0, 12][..], &id.0.to_be_bytes(), &[0, 0, 8, 0]]
            .concat();
    let cases =
        [(without_usage, Cause::CONDITIONAL_IE_MISSING, 80), (empty, Cause::MANDATORY_IE_MISSING, 39)];
    for (datagram, cause, ie_type) in cases {
        pair.smf.handle(pair.now, SmfInput::Received(&datagram));
        let answer = std::iter::from_fn(|| pair.smf.poll()).find_map(|output| match output {
            SmfOutput::Send(answer) => Some(answer),
            SmfOutput::Event(_) => None,
        });
        let (Pdu { message, .. }, _) = decode(&answer.unwrap()).unwrap();
        let Message::SessionReportResponse(response) = message else { panic!() };
        assert_eq!((response.cause, response.offending_ie), (cause, Some(OffendingIe(ie_type))));
    }
}
