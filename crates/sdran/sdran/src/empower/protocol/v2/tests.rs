//! Test vectors. Their sizes and order were measured with the published controller.
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
fn handshake_round_trips() {
    let hello = same("02 00 0000 00000020 0000 024d00000001 00000001 00000000 0005 0008 000007d0");
    assert_eq!(hello.kind, Kind::Request(Operation::Undefined));
    assert_eq!(hello.tlvs, [Tlv::HelloPeriod(HelloPeriod { period: 2000 })]);
    let ask = same("02 00 0001 00000018 0000 024d00000001 00000001 00000001");
    assert_eq!((ask.action, ask.kind), (action::CAPABILITIES, Kind::Request(Operation::Undefined)));
    let caps =
        same("02 80 0001 00000027 0000 024d00000001 00000002 00000001 0006 000f 0001 00000d16 000053b6 32");
    assert_eq!(caps.kind, Kind::Response(Outcome::Success));
    let reports = same("02 00 8002 00000018 0000 024d00000001 00000002 00000002");
    assert_eq!((reports.action, reports.kind), (action::UE_REPORTS, Kind::Request(Operation::Create)));
    let ue = same(
        "02 80 0002 0000002d 0000 024d00000001 00000003 00000002 0007 0015 0000cac0ef75b401 00000001 0046 01 0001",
    );
    let identity =
        UeIdentity { imsi: 222_930_000_000_001, tmsi: 1, rnti: 70, status: UeStatus::CONNECTED, pci: 1 };
    assert_eq!(ue.tlvs, [Tlv::UeIdentity(identity)]);
}

#[test]
fn measurements_round_trip() {
    let ask = same("02 00 8003 00000021 0000 024d00000001 00000003 00000007 0008 0009 0046 01 02 07");
    let config = UeMeasurementConfig { rnti: 70, meas_id: 1, interval: 2, amount: 7 };
    assert_eq!(ask.tlvs, [Tlv::UeMeasurementConfig(config)]);
    assert_eq!(ReportInterval::duration(2), Some(std::time::Duration::from_millis(480)));
    assert_eq!(ReportInterval::at_least(std::time::Duration::from_millis(500)), 3);
    assert_eq!((ReportAmount::reports(7), ReportAmount::reports(3)), (None, Some(8)));
    let report = same("02 80 0003 00000021 0000 024d00000001 00000004 00000007 0009 0009 0046 01 3c 03");
    let measured = UeMeasurementReport { rnti: 70, meas_id: 1, rsrp: 60, rsrq: 3 };
    assert_eq!(report.tlvs, [Tlv::UeMeasurementReport(measured)]);
    let cell =
        same("02 80 0004 00000028 0000 024d00000001 00000005 00000008 000a 0010 0032 00000006 00000003 0001");
    assert_eq!(cell.tlvs, [Tlv::MacPrbReport(MacPrbReport { prb: 50, dl: 6, ul: 3, pci: 1 })]);
    same("02 00 c003 0000001d 0000 024d00000001 00000005 00000008 000b 0005 01");
}

#[test]
fn errors_contain_faulty_element() {
    let hello = octets("02 00 0000 00000020 0000 024d00000001 00000001 00000000 0005 0008 000007d0");
    assert_eq!(message_bytes(&hello[..7]), Ok(None));
    let with = |at: usize, value: u8| {
        let mut damaged = hello.clone();
        damaged[at] = value;
        decode(&damaged)
    };
    assert_eq!(with(0, 1), Err(EmpowerError::Version { given: 1, allowed: 2 }));
    assert!(matches!(with(4, 1), Err(EmpowerError::Length { most: MAX_MESSAGE_BYTES, .. })));
    assert!(matches!(with(7, 9), Err(EmpowerError::Length { announced: 9, .. })));
    assert_eq!(with(27, 3), Err(EmpowerError::TlvLength { kind: 5, need: 4, have: 3 }));
    assert_eq!(with(27, 7), Err(EmpowerError::TlvLength { kind: 5, need: 4, have: 3 }));
    assert!(matches!(with(27, 9), Err(EmpowerError::Truncated { .. })));
    let pdu = Pdu::new(Kind::Request(Operation::Create), 0x4000, Mac::local(1), 0, 0, Vec::new());
    let error = pdu.encode(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("at most 16383"), "{error}");
}

proptest! {
    #[test]
    fn decoded_message_reencodes_identically(mut message in proptest::collection::vec(any::<u8>(), 24..120)) {
        message[0] = VERSION;
        let length = message.len() as u32;
        message[4..8].copy_from_slice(&length.to_be_bytes());
        if let Ok(pdu) = decode(&message) {
            let mut out = Vec::new();
            pdu.encode(&mut out).unwrap();
            prop_assert_eq!(out, message);
        }
    }

    #[test]
    fn any_message_round_trips(device: [u8; 6], seq: u32, xid: u32, action in 0..=MAX_ACTION, imsi: u64, rnti: u16, rsrp: i8, value: Vec<u8>) {
        let identity = UeIdentity { imsi, tmsi: seq, rnti, status: 1, pci: 9 };
        let measured = UeMeasurementReport { rnti, meas_id: 3, rsrp, rsrq: -1 };
        let tlvs = vec![
            Tlv::UeIdentity(identity),
            Tlv::Unknown { kind: 0x7777, value },
            Tlv::UeMeasurementReport(measured),
        ];
        for kind in [Kind::Request(Operation::Delete), Kind::Response(Outcome::Fail)] {
            let pdu = Pdu::new(kind, action, Mac(device), seq, xid, tlvs.clone());
            let mut out = Vec::new();
            pdu.encode(&mut out).unwrap();
            prop_assert_eq!(decode(&out), Ok(pdu));
        }
    }
}
