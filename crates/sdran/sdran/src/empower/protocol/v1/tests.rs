//! Test vectors. They are the output of the published agents' code, or messages that the published controller accepted.
use super::*;
use proptest::prelude::*;

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn same(hex: &str) -> Pdu {
    let message = octets(hex);
    assert_eq!(message_bytes(&message), Ok(Some(message.len())));
    let pdu = decode(&message).unwrap();
    let mut out = Vec::new();
    pdu.encode(&mut out).unwrap();
    assert_eq!(out, message, "{pdu:?}");
    pdu
}

#[test]
fn hello_matches_published_bytes() {
    let pdu = same("0201 0000000000000000 0000 00000000 0000 00000001 0023 0001 00 000007d0 00000000");
    assert_eq!(pdu.timing, Timing::Scheduled { interval_ms: 2000 });
    assert_eq!((pdu.opcode, pdu.body), (Opcode::Unspecified, Body::Hello(0)));
    assert_eq!((pdu.header.seq, pdu.header.sender), (1, Sender::Agent));
    let registered = same("02010000024d000000010000000000000000000000010023000100000007d000000000");
    assert_eq!(registered.header.enb, Mac::local(1).into());
}

#[test]
fn agent_messages_round_trip() {
    let caps = same(
        "01010000024d0000000100000000000700000000000200450002000100000e0003000000070dac3253fc32000205030014000300\
         0000000000000100000000000000010008",
    );
    let Body::CapsResponse(tlvs) = caps.body else { panic!() };
    let [Tlv::CellCaps(cell), Tlv::RanCaps(ran)] = tlvs[..] else { panic!("{tlvs:?}") };
    assert_eq!(cell.features, Features::UE_REPORT | Features::UE_MEASURE | Features::CELL_MEASURE);
    assert_eq!((cell.dl_earfcn, cell.dl_bandwidth, cell.max_ues), (3500, 50, 2));
    assert_eq!((ran.layer2, ran.mac_sched, ran.max_slices), (1, 1, 8));

    let use_of_cell =
        same("02010000024d00000001000000000001000000000001002d000601000007d00102000a06000000020600000003");
    let report = MacPrbsReport { dl_prbs_total: 6, dl_prbs_used: 2, ul_prbs_total: 6, ul_prbs_used: 3 };
    assert_eq!(use_of_cell.body, Body::CellMeasureReport(vec![Tlv::MacPrbsReport(report)]));

    assert_eq!(
        same("03010000024d00000001000300000008000000000003001b000401").body,
        Body::UeReport(Vec::new())
    );
    let ue = same(
        "03010000024d00000001000300000008000000000004003200040107000013004600222f930000cac0ef75b4010000000100",
    );
    let identity =
        UeIdentity { rnti: 70, plmn_id: [0, 0x22, 0x2f, 0x93], imsi: 222_930_000_000_001, tmsi: 1, state: 0 };
    assert_eq!(ue.body, Body::UeReport(vec![Tlv::UeIdentity(identity)]));

    let slice = same(
        "01010000024d000000010003000000090000000000050031000a0000222f93000000000501000200060502000480000001",
    );
    let Body::SliceResponse(id, tlvs) = slice.body else { panic!() };
    assert_eq!((id.plmn, id.dscp, tlvs.len()), ([0, 0x22, 0x2f, 0x93], 0, 2));

    let measured = same("03010000024d0000000000000000000a00000000000600270005010601000800000003003c0003");
    let report = RrcMeasureReport { measure_id: 0, pci: 3, rsrp: 60, rsrq: 3 };
    assert_eq!(measured.body, Body::UeMeasureReport(vec![Tlv::RrcMeasureReport(report)]));
}

#[test]
fn controller_messages_round_trip() {
    let caps = same("01010000024d0000000100030000000b000100000001001f00020000000000");
    assert_eq!((caps.body, caps.header.sender), (Body::CapsRequest(0), Sender::Controller));
    let set = same(
        "01010000024d0000000100030000000b0001000000010039000a0400222f930000000005010002000605020004800000010001\
         000400460047",
    );
    assert_eq!(set.opcode, Opcode::Add);
    let Body::SliceRequest(_, tlvs) = set.body else { panic!() };
    assert_eq!(tlvs[2], Tlv::RntiList(vec![70, 71]));
    let measure =
        same("03010000024d0000000100030000000b000100000001002b0005040600000c000100460d1601f400010001");
    let Body::UeMeasureRequest(tlvs) = measure.body else { panic!() };
    assert!(matches!(tlvs[0], Tlv::RrcMeasureRequest(RrcMeasureRequest { rnti: 70, interval: 500, .. })));
    let cell = same(
        "02010000024d0000000100030000000b0001000000010026 0006 04 000007d0 01010000"
            .replace("0026", "0023")
            .as_str(),
    );
    assert_eq!(cell.body, Body::CellMeasureRequest(vec![Tlv::MacPrbsRequest(MacPrbsRequest {})]));
}

fn header(sender: Sender) -> Header {
    Header { enb: Mac::local(9).into(), cell: 1, xid: 2, reserved: 0, sender, seq: 3 }
}

#[test]
fn handover_messages_round_trip() {
    let request = HandoverRequest { rnti: 70, target: Mac::local(2).into(), target_pci: 5, cause: 1 };
    let response =
        HandoverResponse { origin: Mac::local(1).into(), origin_pci: 3, origin_rnti: 70, target_rnti: 71 };
    for (sender, body, opcode, len) in [
        (Sender::Controller, Body::HandoverRequest(request), Opcode::Add, 40),
        (Sender::Agent, Body::HandoverResponse(response), Opcode::Success, 41),
    ] {
        let pdu = Pdu { header: header(sender), timing: Timing::Single, opcode, body };
        let mut out = Vec::new();
        pdu.encode(&mut out).unwrap();
        assert_eq!((out.len(), decode(&out)), (len, Ok(pdu)));
    }
}

#[test]
fn errors_contain_faulty_element() {
    let hello = octets("02010000024d000000010000000000000000000000010023000100000007d000000000");
    assert_eq!(message_bytes(&hello[..10]), Ok(None));
    assert!(matches!(decode(&hello[..34]), Err(EmpowerError::Truncated { what: "a message", .. })));
    let with = |at: usize, value: u8| {
        let mut damaged = hello.clone();
        damaged[at] = value;
        decode(&damaged)
    };
    assert_eq!(with(0, 4), Err(EmpowerError::EventType(4)));
    assert_eq!(with(1, 2), Err(EmpowerError::Version { given: 2, allowed: 1 }));
    assert!(matches!(with(23, 3), Err(EmpowerError::Length { announced: 3, least: 27, .. })));
    assert_eq!(decode(&[&hello[..], &[0]].concat()), Err(EmpowerError::Trailing(1)));
    let ue = octets("03010000024d0000000100030000000800000000000400200004010700 0001 00");
    assert_eq!(decode(&ue), Err(EmpowerError::TlvLength { kind: 0x0700, need: 19, have: 1 }));
}

#[test]
fn oversized_message_is_not_written() {
    let tlv = Tlv::Unknown { kind: 0x0999, value: vec![0; 40_000] };
    let pdu = |tlvs| Pdu {
        header: header(Sender::Agent),
        timing: Timing::Single,
        opcode: Opcode::Success,
        body: Body::UeReport(tlvs),
    };
    let mut out = vec![1];
    assert!(pdu(vec![tlv.clone()]).encode(&mut out).is_ok());
    out.truncate(1);
    let error = pdu(vec![tlv.clone(), tlv]).encode(&mut out).unwrap_err();
    assert!(matches!(error, EmpowerError::Unencodable { what: "a message", .. }));
    assert_eq!(out, [1]);
}

fn tlv() -> impl Strategy<Value = Tlv> {
    prop_oneof![
        any::<(u16, u32, u16, u8, u16, u8, u16)>().prop_map(|v| Tlv::CellCaps(CellCaps {
            pci: v.0,
            features: v.1,
            dl_earfcn: v.2,
            dl_bandwidth: v.3,
            ul_earfcn: v.4,
            ul_bandwidth: v.5,
            max_ues: v.6
        })),
        any::<(u16, [u8; 4], u64, u32, u8)>().prop_map(|v| Tlv::UeIdentity(UeIdentity {
            rnti: v.0,
            plmn_id: v.1,
            imsi: v.2,
            tmsi: v.3,
            state: v.4
        })),
        any::<(u16, u16, i16, i16)>().prop_map(|v| Tlv::RrcMeasureReport(RrcMeasureReport {
            measure_id: v.0,
            pci: v.1,
            rsrp: v.2,
            rsrq: v.3
        })),
        proptest::collection::vec(any::<u16>(), 0..20).prop_map(Tlv::RntiList),
        (0x1000_u16.., proptest::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(kind, value)| Tlv::Unknown { kind, value }),
    ]
}

proptest! {
    #[test]
    fn any_report_round_trips(tlvs in proptest::collection::vec(tlv(), 0..6), xid: u32, opcode: u8, interval_ms: u32) {
        let header = Header { xid, ..header(Sender::Agent) };
        let timing = Timing::Scheduled { interval_ms };
        let pdu = Pdu { header, timing, opcode: opcode.into(), body: Body::UeReport(tlvs) };
        let mut out = Vec::new();
        pdu.encode(&mut out).unwrap();
        prop_assert_eq!(decode(&out), Ok(pdu));
    }

    #[test]
    fn decoded_message_reencodes_identically(mut message in proptest::collection::vec(any::<u8>(), 27..120), kind in 1_u8..4, action in 0_u16..12) {
        message[0] = kind;
        message[1] = VERSION;
        let length = message.len() as u16;
        message[22..24].copy_from_slice(&length.to_be_bytes());
        message[24..26].copy_from_slice(&action.to_be_bytes());
        if let Ok(pdu) = decode(&message) {
            let mut out = Vec::new();
            pdu.encode(&mut out).unwrap();
            prop_assert_eq!(out, message);
        }
    }
}
