use super::*;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

const SEEDS: u64 = 150;

fn seid_for(message: &Message, random: &mut Random) -> Option<u64> {
    Header::needs_seid(message.message_type()).then(|| random.draw())
}

fn random_pdu(message_type: u8, seed: u64) -> (Pdu, Vec<u8>) {
    let mut random = Random::new(seed).with_strangers();
    let message = Message::random(message_type, &mut random).unwrap();
    let pdu = Pdu::new(message.clone(), seid_for(&message, &mut random), seed as u32 & MAX_SEQUENCE);
    let mut octets = Vec::new();
    pdu.encode(&mut octets).unwrap();
    (pdu, octets)
}

fn every_random(mut each: impl FnMut(Pdu, Vec<u8>)) {
    for &(message_type, _) in Message::TYPES {
        for seed in 0..SEEDS {
            let (pdu, octets) = random_pdu(message_type, seed);
            each(pdu, octets);
        }
    }
}

#[test]
fn any_message_round_trips() {
    every_random(|pdu, octets| {
        assert_eq!(decode(&octets), Ok((pdu, &[][..])));
    });
}

#[test]
fn truncated_message_is_rejected_with_matching_error() {
    for &(message_type, name) in Message::TYPES {
        let (_, octets) = random_pdu(message_type, 3);
        for len in 0..octets.len() {
            match decode(&octets[..len]) {
                Err(DecodeError::Truncated { .. } | DecodeError::Length { .. }) => {}
                other => panic!("{name} cut to {len}: {other:?}"),
            }
        }
    }
}

/// Returns the top-level elements of a message, as bytes.
fn top_elements(octets: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let (_, elements, _) = Header::read(octets).unwrap();
    Ies::new(elements).map(|ie| ie.map(|(number, value)| (number, value.to_vec())).unwrap()).collect()
}

fn rebuild(octets: &[u8], elements: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let (header, _, _) = Header::read(octets).unwrap();
    let mut out = octets[..header.len()].to_vec();
    for (number, value) in elements {
        out.extend(number.to_be_bytes());
        out.extend((value.len() as u16).to_be_bytes());
        out.extend(value);
    }
    let len = (out.len() - 4) as u16;
    out[2..4].copy_from_slice(&len.to_be_bytes());
    out
}

/// Mandatory elements of each message (§7.4, §7.5). They are listed here independently of the tables of the codec.
const MANDATORY: &[(u8, &[u16])] = &[
    (1, &[96]),
    (2, &[96]),
    (3, &[]),
    (4, &[19]),
    (5, &[60, 96]),
    (6, &[60, 19, 96]),
    (7, &[60]),
    (8, &[60, 19]),
    (9, &[60]),
    (10, &[60, 19]),
    (11, &[]),
    (12, &[60, 101]),
    (13, &[60, 19]),
    (14, &[60]),
    (15, &[60, 19]),
    (50, &[60, 57, 1, 3]),
    (51, &[60, 19]),
    (52, &[]),
    (53, &[19]),
    (54, &[]),
    (55, &[19]),
    (56, &[39]),
    (57, &[19]),
];

#[test]
fn missing_mandatory_element_is_named() {
    assert_eq!(MANDATORY.len(), Message::TYPES.len());
    for &(message_type, mandatory) in MANDATORY {
        let (pdu, octets) = random_pdu(message_type, 11);
        for &missing in mandatory {
            let mut elements = top_elements(&octets);
            elements.retain(|(number, _)| *number != missing);
            let error = decode(&rebuild(&octets, &elements)).unwrap_err();
            assert_eq!(
                error.refusal(),
                Some((pdu.header, Cause::MANDATORY_IE_MISSING, Some(missing))),
                "{message_type}"
            );
        }
    }
}

#[test]
fn mandatory_element_of_wrong_length_is_named() {
    for &(message_type, mandatory) in MANDATORY {
        let (pdu, octets) = random_pdu(message_type, 12);
        for &short in mandatory {
            let mut elements = top_elements(&octets);
            elements.iter_mut().filter(|(number, _)| *number == short).for_each(|(_, value)| {
                // A group without its last byte ends within an element.
                value.pop();
                value.truncate(if [1, 3].contains(&short) { usize::MAX } else { 0 });
            });
            let (header, cause, offending) =
                decode(&rebuild(&octets, &elements)).unwrap_err().refusal().unwrap();
            assert_eq!((header, cause), (pdu.header, Cause::INVALID_LENGTH), "{message_type} {short}");
            if ![1, 3].contains(&short) {
                assert_eq!(offending, Some(short));
            }
        }
    }
}

#[test]
fn missing_conditional_element_is_named() {
    let far = CreateFar { apply_action: ApplyAction::new(ApplyAction::FORW), ..Default::default() };
    let modification = SessionModificationRequest { create_fars: vec![far], ..Default::default() };
    let accepted = SessionEstablishmentResponse { cause: Cause::ACCEPTED, ..Default::default() };
    let report =
        SessionReportRequest { report_type: ReportType::new(ReportType::DLDR), ..Default::default() };
    let pdr = SessionModificationRequest { create_pdrs: vec![CreatePdr::default()], ..Default::default() };
    for (message, offending) in
        [(Message::from(modification), 4), (accepted.into(), 57), (report.into(), 83), (pdr.into(), 108)]
    {
        let octets = encode(message, Some(1), 1).unwrap();
        let (_, cause, ie) = decode(&octets).unwrap_err().refusal().unwrap();
        assert_eq!((cause, ie), (Cause::CONDITIONAL_IE_MISSING, Some(offending)));
    }
}

#[test]
fn undecodable_optional_element_is_stored_raw() {
    let (_, octets) = random_pdu(54, 0);
    let garbage = (60, vec![0x00, 1]);
    let (pdu, _) = decode(&rebuild(&octets, &[garbage])).unwrap();
    let Message::SessionDeletionRequest(deletion) = pdu.message else { panic!() };
    assert_eq!(deletion.node_id, None);
    assert_eq!(deletion.others, [RawIe { ie_type: 60, value: vec![0x00, 1].into() }]);
}

#[test]
fn only_first_of_repeated_elements_is_decoded() {
    let (_, octets) = random_pdu(55, 0);
    let (pdu, _) = decode(&rebuild(&octets, &[(19, vec![1]), (19, vec![64])])).unwrap();
    let Message::SessionDeletionResponse(response) = pdu.message else { panic!() };
    assert_eq!((response.cause, response.others.len()), (Cause::ACCEPTED, 1));
}

#[test]
fn seid_must_match_the_message_type() {
    let (_, mut octets) = random_pdu(54, 0);
    octets[1] = 1;
    assert!(matches!(decode(&octets), Err(DecodeError::SeidFlag { .. })));
    octets[1] = 99;
    assert!(matches!(decode(&octets), Err(DecodeError::UnknownMessage { .. })));
    let heartbeat = HeartbeatRequest::default();
    assert_eq!(encode(heartbeat, Some(1), 1), Err(EncodeError::Seid { message_type: 1, needed: false }));
}

#[test]
fn oversized_message_leaves_the_buffer_unchanged() {
    let others = vec![RawIe { ie_type: 30_000, value: vec![0; 65_530].into() }];
    let pdu = Pdu::new(HeartbeatRequest { others, ..Default::default() }, None, 1);
    let mut out = vec![1, 2];
    assert!(matches!(pdu.encode(&mut out), Err(EncodeError::TooLong { .. })));
    assert_eq!(out, [1, 2]);
}

#[test]
fn bundled_messages_are_read_one_by_one() {
    let mut first = Pdu::new(HeartbeatRequest::default(), None, 1);
    first.header.follow_on = true;
    let second = Pdu::new(HeartbeatRequest::default(), None, 2);
    let mut octets = Vec::new();
    first.encode(&mut octets).unwrap();
    second.encode(&mut octets).unwrap();
    let (pdu, rest) = decode(&octets).unwrap();
    assert_eq!(pdu, first);
    assert_eq!(decode(rest), Ok((second, &[][..])));
}

/// Compares the fast decoder with the general decoder. Returns whether the fast decoder accepted the bytes.
fn agree(octets: &[u8]) -> bool {
    let Some(fast) = Response::read(octets) else { return false };
    let (pdu, _) = decode(octets).unwrap();
    assert_eq!(
        (fast.message_type, fast.seid, fast.sequence),
        (pdu.header.message_type, pdu.header.seid, pdu.header.sequence)
    );
    let (cause, up_f_seid, created) = match pdu.message {
        Message::SessionEstablishmentResponse(m) => (Some(m.cause), m.up_f_seid, m.created_pdrs),
        Message::SessionModificationResponse(m) => (Some(m.cause), None, m.created_pdrs),
        Message::SessionDeletionResponse(m) => (Some(m.cause), None, Vec::new()),
        Message::HeartbeatResponse(_) => (None, None, Vec::new()),
        other => panic!("not a response: {other:?}"),
    };
    assert_eq!((fast.cause, fast.up_seid), (cause, up_f_seid.map(|f| f.seid)));
    let tunnels: Vec<_> =
        created.iter().map(|c| CreatedTunnel { pdr_id: c.pdr_id, f_teid: c.f_teid }).collect();
    assert_eq!(fast.created_pdrs.collect::<Vec<_>>(), tunnels);
    true
}

#[test]
fn fast_and_general_decoders_agree() {
    let mut read = 0;
    every_random(|_, octets| read += usize::from(agree(&octets)));
    assert!(read > 100, "the fast decoder accepted only {read} messages");
}

#[test]
fn usual_responses_use_the_fast_decoder() {
    let peer: IpAddr = Ipv4Addr::new(10, 0, 0, 2).into();
    let f_teid = Some(FTeid::Assigned { teid: 77, addresses: peer.into() });
    let created = CreatedPdr { pdr_id: PdrId(1), f_teid, ..Default::default() };
    let established = SessionEstablishmentResponse {
        cause: Cause::ACCEPTED,
        up_f_seid: Some(FSeid { seid: 0xabcd, addresses: peer.into() }),
        created_pdrs: vec![created.clone(), CreatedPdr { pdr_id: PdrId(2), ..created }],
        ..Default::default()
    };
    let octets = encode(established, Some(5), 9).unwrap();
    assert!(agree(&octets));
    let fast = Response::read(&octets).unwrap();
    assert_eq!((fast.up_seid, fast.created_pdrs.count()), (Some(0xabcd), 2));
    let refused = SessionModificationResponse {
        cause: Cause::MANDATORY_IE_MISSING,
        offending_ie: Some(OffendingIe(108)),
        ..Default::default()
    };
    assert!(agree(&encode(refused, Some(5), 9).unwrap()));
    assert!(agree(&encode(HeartbeatResponse::default(), None, 9).unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn corrupted_message_never_panics_and_decoders_agree(
        which in 0..Message::TYPES.len(), seed in 0u64..50, at: prop::sample::Index, octet: u8, cut: Option<prop::sample::Index>,
    ) {
        let (_, mut octets) = random_pdu(Message::TYPES[which].0, seed);
        let at = at.index(octets.len());
        octets[at] = octet;
        if let Some(cut) = cut {
            octets.remove(cut.index(octets.len()));
            let len = octets.len().saturating_sub(4) as u16;
            octets[2..4].copy_from_slice(&len.to_be_bytes());
        }
        agree(&octets);
        if let Ok((pdu, _)) = decode(&octets) {
            // A decoded message can be encoded, and decodes to the same value.
            let mut again = Vec::new();
            pdu.encode(&mut again).unwrap();
            prop_assert_eq!(decode(&again), Ok((pdu, &[][..])));
        }
    }

    #[test]
    fn decode_never_panics(octets: Vec<u8>) {
        let _ = decode(&octets);
        agree(&octets);
    }
}

fn establishment() -> SessionEstablishmentRequest {
    let peer: IpAddr = Ipv4Addr::new(10, 0, 0, 1).into();
    let tunnel = FTeid::Assigned { teid: 1, addresses: peer.into() };
    let ue = UeIpAddress { addresses: peer.into(), ..Default::default() };
    let uplink = Pdi { f_teid: Some(tunnel), ue_ip_addresses: vec![ue], ..Default::default() };
    let pdr = |pdi| CreatePdr { pdi, far_id: Some(FarId(1)), ..Default::default() };
    SessionEstablishmentRequest {
        cp_f_seid: FSeid { seid: 5, addresses: peer.into() },
        create_pdrs: vec![
            pdr(uplink),
            pdr(Pdi { ue_ip_addresses: vec![UeIpAddress { destination: true, ..ue }], ..Default::default() }),
        ],
        create_fars: vec![CreateFar::default()],
        ..Default::default()
    }
}

#[test]
fn patched_template_equals_the_encoded_message() {
    let template = Template::new(establishment()).unwrap();
    let slots = [
        (template.slot(&[(57, 0)], Part::Seid), &99u64.to_be_bytes()[..]),
        (template.slot(&[(1, 0), (2, 0), (21, 0)], Part::Teid), &7u32.to_be_bytes()),
        (template.slot(&[(1, 0), (2, 0), (93, 0)], Part::V4), &[10, 9, 8, 7]),
        (template.slot(&[(1, 1), (2, 0), (93, 0)], Part::V4), &[10, 9, 8, 7]),
        (template.slot(&[(1, 1), (56, 0)], Part::Whole), &[0, 2]),
    ];
    let mut out = Vec::new();
    template.write(0, 0x0012_3456, &mut out);
    for (slot, value) in slots {
        assert!(slot.unwrap().put(&mut out, value));
    }
    let mut expected = establishment();
    expected.cp_f_seid.seid = 99;
    let ue: IpAddr = Ipv4Addr::new(10, 9, 8, 7).into();
    for pdr in &mut expected.create_pdrs {
        pdr.pdi.ue_ip_addresses[0].addresses = ue.into();
    }
    let peer: IpAddr = Ipv4Addr::new(10, 0, 0, 1).into();
    expected.create_pdrs[0].pdi.f_teid = Some(FTeid::Assigned { teid: 7, addresses: peer.into() });
    expected.create_pdrs[1].pdr_id = PdrId(2);
    assert_eq!(out, encode(expected, Some(0), 0x0012_3456).unwrap());
}

#[test]
fn template_has_no_slot_for_absent_elements() {
    let template = Template::new(establishment()).unwrap();
    assert_eq!(template.slot(&[], Part::Whole), None);
    assert_eq!(template.slot(&[(57, 1)], Part::Seid), None);
    assert_eq!(template.slot(&[(57, 0)], Part::Teid), None);
    assert_eq!(template.slot(&[(57, 0)], Part::V6), None);
    let slot = template.slot(&[(57, 0)], Part::V4).unwrap();
    assert_eq!((slot.len(), slot.is_empty()), (4, false));
    assert!(!slot.put(&mut [0; 64], &[0; 3]) && !slot.put(&mut [0; 4], &[0; 4]));
}
