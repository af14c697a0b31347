//! PFCP test vectors, one of each message type. They detect unintended changes of the encoding. Two independent decoders (tshark, rs-pfcp)
//! have accepted them.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use ranlab_upf::pfcp::{self, Header, Message, Pdu, Random};
use std::fmt::Write;

const VECTORS: &str = include_str!("vectors/pfcp.txt");

fn pdu(message_type: u8) -> Pdu {
    let mut random = Random::new(2024 + u64::from(message_type));
    let message = Message::random(message_type, &mut random).unwrap();
    Pdu::new(message, Header::needs_seid(message_type).then_some(0x0102_0304_0506_0708), 0x000a_0b0c)
}

#[test]
fn vectors_round_trip() {
    let mut lines = String::new();
    for &(message_type, name) in Message::TYPES {
        let pdu = pdu(message_type);
        let mut octets = Vec::new();
        pdu.encode(&mut octets).unwrap();
        let hex = octets.iter().fold(String::new(), |mut hex, octet| {
            write!(hex, "{octet:02x}").unwrap();
            hex
        });
        writeln!(lines, "{name} {hex}").unwrap();
    }
    assert_eq!(
        lines, VECTORS,
        "\nif this change is intended, these lines are the new tests/vectors/pfcp.txt:\n{lines}"
    );
    for (line, &(message_type, _)) in VECTORS.lines().zip(Message::TYPES) {
        let (_, hex) = line.split_once(' ').unwrap();
        let octets: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        assert_eq!(pfcp::decode(&octets), Ok((pdu(message_type), &[][..])));
    }
}

/// Session establishment that Open5GS and eUPF have accepted. It was written manually according to TS 29.244, with header, Node ID, F-SEID
/// and an uplink PDR.
#[test]
fn handwritten_establishment_matches() {
    use pfcp::*;
    let address: std::net::IpAddr = [127, 0, 0, 5].into();
    let n3: std::net::IpAddr = [127, 0, 0, 8].into();
    let pdi = Pdi {
        source_interface: Interface::ACCESS,
        f_teid: Some(FTeid::Assigned { teid: 0x100, addresses: n3.into() }),
        network_instance: Some(NetworkName::labels("internet")),
        qfis: vec![Qfi(9)],
        source_interface_type: Some(InterfaceType::N3_3GPP),
        ..Default::default()
    };
    let pdr = CreatePdr {
        pdr_id: PdrId(1),
        precedence: Precedence(255),
        pdi,
        outer_header_removal: Some(OuterHeaderRemoval::GTPU_UDP_IPV4),
        far_id: Some(FarId(1)),
        ..Default::default()
    };
    let far = CreateFar {
        far_id: FarId(1),
        apply_action: ApplyAction::in_octets(ApplyAction::DROP, 1),
        ..Default::default()
    };
    let request = SessionEstablishmentRequest {
        node_id: address.into(),
        cp_f_seid: FSeid { seid: 1, addresses: address.into() },
        create_pdrs: vec![pdr],
        create_fars: vec![far],
        pdn_type: Some(PdnType::IPV4),
        ..Default::default()
    };
    #[rustfmt::skip]
    let expected = [
        0x21, 50, 0, 136, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0,
        0, 60, 0, 5, 0, 127, 0, 0, 5,
        0, 57, 0, 13, 2, 0, 0, 0, 0, 0, 0, 0, 1, 127, 0, 0, 5,
        0, 1, 0, 72,
            0, 56, 0, 2, 0, 1,
            0, 29, 0, 4, 0, 0, 0, 255,
            0, 2, 0, 41,
                0, 20, 0, 1, 0,
                0, 21, 0, 9, 1, 0, 0, 1, 0, 127, 0, 0, 8,
                0, 22, 0, 9, 8, b'i', b'n', b't', b'e', b'r', b'n', b'e', b't',
                0, 124, 0, 1, 9,
                0, 160, 0, 1, 11,
            0, 95, 0, 1, 0,
            0, 108, 0, 4, 0, 0, 0, 1,
        0, 3, 0, 13, 0, 108, 0, 4, 0, 0, 0, 1, 0, 44, 0, 1, 1,
        0, 113, 0, 1, 1,
    ];
    assert_eq!(encode(request, Some(0), 7).unwrap(), expected);
}
