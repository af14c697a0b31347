//! Test vectors. They are output of the published agents' code (protobuf 3.20) and of the published controllers. Sizes were measured on the
//! wire.
use super::*;
use proptest::prelude::*;

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Decodes the bytes, encodes the result, and checks that the bytes are the same.
fn same(hex: &str) -> Envelope {
    let body = octets(hex);
    let envelope = decode(Bytes::from(body.clone())).unwrap();
    let mut frame = Vec::new();
    encode_frame(&envelope, &mut frame).unwrap();
    assert_eq!(frame[LENGTH_BYTES..], body[..], "{envelope:?}");
    assert_eq!(decode_frame(&frame).unwrap(), envelope);
    envelope
}

/// Returns a UE like those in reports of MARC's agents, with this `rnti`.
pub(super) fn ue(rnti: u32, sfn: u32) -> UeStatsReport {
    let queue = |lc_id| RlcBsr {
        lc_id: Some(lc_id),
        tx_queue_size: Some(0),
        tx_queue_hol_delay: Some(0),
        status_pdu_size: Some(0),
        ..RlcBsr::default()
    };
    let csi = DlCsi {
        serv_cell_index: Some(0),
        ri: Some(0),
        kind: Some(0),
        report: Some(Csi::P10(CsiP10 { wb_cqi: Some(15) })),
    };
    let power = PucchDbm { p0_pucch_dbm: Some(-104), serv_cell_index: Some(0), p0_pucch_updated: Some(0) };
    let uplink = UlCqi { kind: Some(UlCqiType::Srs.into()), sinr: vec![0], serv_cell_index: Some(0) };
    UeStatsReport {
        rnti: Some(rnti),
        flags: Some(UeFlags::PUBLISHED),
        bsr: vec![0],
        phr: Some(0),
        rlc_report: vec![queue(1), queue(2), queue(3)],
        pending_mac_ces: Some(1),
        dl_cqi_report: Some(DlCqiReport { sfn_sn: Some(sfn), csi_report: vec![csi] }),
        ul_cqi_report: Some(UlCqiReport {
            sfn_sn: Some(sfn),
            cqi_meas: vec![uplink],
            pucch_dbm: vec![power],
        }),
        ..UeStatsReport::default()
    }
}

fn report(ues: Vec<UeStatsReport>) -> Envelope {
    let noise = NoiseInterferenceReport {
        sfn_sf: Some(4000),
        rip: Some(0),
        tnp: Some(0),
        p0_nominal_pucch: Some(-104),
    };
    let cell = CellStatsReport { carrier_index: Some(0), flags: Some(1), noise_inter_report: Some(noise) };
    Envelope::undirected(StatsReply {
        header: Some(Header::new(Kind::StatsReply, 0)),
        ue_report: ues,
        cell_report: vec![cell],
    })
}

#[test]
fn controller_messages_round_trip() {
    let hello = same("0a080a06080010002000a00601");
    assert_eq!(hello.direction(), Some(Direction::Initiating));
    let header = Some(Header::new(Kind::Hello, 0));
    assert_eq!(hello.msg, Some(Message::Hello(Hello { header, ..Hello::default() })));
    assert!(matches!(same("42080a06080010072000a00601").msg, Some(Message::EnbConfigRequest(_))));
    let ues = same("52060a0410092001a00601");
    let header = Some(Header { version: None, kind: Some(9), xid: Some(1) });
    assert_eq!(ues.msg, Some(Message::UeConfigRequest(UeConfigRequest { header })));
    assert!(matches!(same("62060a04100b2002a00601").msg, Some(Message::LcConfigRequest(_))));
    let stats = same("22140a0608001003200310001a08080110041801205fa00601");
    let Some(Message::StatsRequest(StatsRequest { body: Some(StatsRequestBody::Complete(body)), .. })) =
        stats.msg
    else {
        panic!("{stats:?}")
    };
    assert_eq!(body.report_frequency, Some(ReportFrequency::Periodical.into()));
    assert_eq!((body.sf, body.ue_report_flags), (Some(4), Some(UeFlags::PUBLISHED)));
}

#[test]
fn agent_messages_round_trip() {
    assert_eq!(same("0a080a06080010002001a00602").direction(), Some(Direction::Successful));
    let cell = same(
        "4a6d0a060800100820001a631000180020002800300038005032583268007000780180\
         0101b00100b80102c00107c80105d00100d80100e00101e80100f00100f801008002008802009002009802fd14a0028514a80207\
         b002e5ffffffffffffffff01b802a0ffffffffffffffff01",
    );
    let Some(Message::EnbConfigReply(reply)) = cell.msg else { panic!() };
    let cell = &reply.cell_config[0];
    assert_eq!((cell.dl_bandwidth, cell.dl_freq, cell.dl_pdsch_power), (Some(50), Some(2685), Some(-27)));
    same("5a080a060800100a2001");
    same("6a080a060800100c2002");
    let up = same("7a2710011a2308b4244800500058006802800100880100900108980100a00100a80103b80100d80100");
    let Some(Message::UeStateChange(change)) = up.msg else { panic!() };
    assert_eq!(UeChange::from_number(change.kind.unwrap()), Some(UeChange::Activated));
    assert_eq!((change.header, change.config.unwrap().rnti), (None, Some(4660)));
    same("7a0710021a0308b424");
    same("6a170a060800100c2002120d08b42412080803180220002801");
}

#[test]
fn report_matches_vector_and_has_90_bytes_per_ue() {
    let vector = same(
        "2a7d0a06080010042000125908a09c01105f180020002a0808011000180030002a0808021000180030002a08080310001800\
         300030013a0f08a01f120a0800100018002202080f4a1c08a01f12060800100018001a0f0898ffffffffffffffff0110001800\
         1a18080010011a1208a01f100018002098ffffffffffffffff01",
    );
    assert_eq!(vector, report(vec![ue(20_000, 4000)]));
    let bytes = |ues: u32| {
        let mut out = Vec::new();
        encode_frame(&report((0..ues).map(|i| ue(4000 + i, 4000)).collect()), &mut out).unwrap();
        out.len() - LENGTH_BYTES
    };
    // Measured on the wire were 220 bytes with 2 UEs, and 9,040 bytes with 100 UEs.
    assert!(bytes(2).abs_diff(220) <= 5, "{}", bytes(2));
    assert!(bytes(100).abs_diff(9040) * 50 <= 9040, "{}", bytes(100));
    assert_eq!(bytes(100) - bytes(99), 90);
}

#[test]
fn mosaic5g_additions_round_trip() {
    let slices = SliceDlUlConfig {
        algorithm: Some(SliceAlgorithm::Static.into()),
        slices: vec![Slice {
            id: Some(1),
            params: Some(SliceParameters::Fixed(SliceStatic { pos_low: Some(0), pos_high: Some(5) })),
            ..Slice::default()
        }],
        scheduler: None,
    };
    let cell = CellConfig {
        slice_config: Some(SliceConfig { dl: Some(slices), ul: None }),
        ..CellConfig::default()
    };
    let params = [("n".to_owned(), AgentReconfigurationParam { param: Some(ParamValue::Integer(-3)) })];
    let sub =
        AgentReconfigurationSubsystem { name: Some("dl".into()), behavior: None, params: params.into() };
    let system = AgentReconfigurationSystem { system: Some("mac".into()), subsystems: vec![sub] };
    let messages: Vec<Message> = vec![
        EnbConfigReply { enb_id: Some(u64::MAX), cell_config: vec![cell], ..EnbConfigReply::default() }
            .into(),
        HoCommand { rnti: Some(70), target_phy_cell_id: Some(2), ..HoCommand::default() }.into(),
        AgentReconfiguration { systems: vec![system], ..AgentReconfiguration::default() }.into(),
        Disconnect::default().into(),
        EchoRequest {
            latency: Some(7),
            payload: Some(Bytes::from_static(b"ping")),
            ..EchoRequest::default()
        }
        .into(),
        ControlDelegation { payload: Some(Bytes::from(vec![7; 203_000])), ..ControlDelegation::default() }
            .into(),
    ];
    for message in messages {
        let envelope = Envelope::new(Direction::Initiating, message);
        let mut frame = Vec::new();
        encode_frame(&envelope, &mut frame).unwrap();
        assert_eq!(decode_frame(&frame).unwrap(), envelope);
    }
}

#[test]
fn oversized_frame_is_rejected_in_both_directions() {
    assert_eq!(frame_bytes(&[0, 0, 0]), Ok(None));
    assert_eq!(frame_bytes(&[0, 0, 0, 9, 1]), Ok(Some(13)));
    assert_eq!(frame_bytes(&240_001_u32.to_be_bytes()), Err(FlexranError::TooLong(240_001)));
    assert_eq!(decode_frame(&[0, 0, 0, 2, 1]), Err(FlexranError::Length { announced: 2, have: 1 }));
    assert_eq!(decode(Bytes::new()), Err(FlexranError::NoMessage));
    assert!(matches!(decode(Bytes::from_static(&[0x0a, 9])), Err(FlexranError::Protobuf(_))));
    // Real agents crash at some 2,650 UEs, because the message overflows.
    let mut out = Vec::new();
    let many = report((0..2_700).map(|i| ue(4000 + i, 4000)).collect());
    assert!(matches!(encode_frame(&many, &mut out), Err(FlexranError::TooLong(_))));
    assert!(out.is_empty());
    assert!(encode_frame(&report((0..2_600).map(|i| ue(4000 + i, 4000)).collect()), &mut out).is_ok());
}

#[test]
fn memory_bound_covers_the_largest_elements() {
    // An empty element has at least two bytes on the wire. A vector doubles its capacity.
    let largest = [
        size_of::<UeStatsReport>(),
        size_of::<UeConfig>(),
        size_of::<CellConfig>(),
        size_of::<DlData>(),
        size_of::<DlCsi>(),
        size_of::<S1apMme>(),
    ];
    let most = largest.into_iter().max().unwrap();
    assert!(most * 2 / 2 <= DECODED_BYTES_PER_BODY_BYTE, "{most}");
}

#[test]
fn frame_numbers_repeat_after_10_24_s() {
    assert_eq!((sfn_sf(0), sfn_sf(9), sfn_sf(10)), (0, 9, 16));
    assert_eq!(sfn_sf(10_240 + 37), sfn_sf(37));
    assert!((0..10_240).all(|ms| sfn_sf(ms) < 1 << 14));
    assert!((0..10_240).all(|ms| ms_of_sfn_sf(sfn_sf(ms)) == u32::try_from(ms).ok()));
    assert_eq!((ms_of_sfn_sf(10), ms_of_sfn_sf(1 << 14)), (None, None));
}

proptest! {
    #[test]
    fn decoded_frame_reencodes_identically(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(envelope) = decode(Bytes::from(body)) {
            let mut frame = Vec::new();
            encode_frame(&envelope, &mut frame).unwrap();
            prop_assert_eq!(decode_frame(&frame).unwrap(), envelope);
        }
    }

    #[test]
    fn damaged_report_never_panics(at in 0_usize..2_000, value: u8) {
        let mut frame = Vec::new();
        encode_frame(&report((0..20).map(|i| ue(4000 + i, 4000)).collect()), &mut frame).unwrap();
        let at = LENGTH_BYTES + at % (frame.len() - LENGTH_BYTES);
        frame[at] = value;
        let _ = decode_frame(&frame);
    }

    #[test]
    fn any_ue_report_round_trips(rnti: u32, flags: u32, bsr in proptest::collection::vec(any::<u32>(), 0..5), p0: i32) {
        let mut ue = ue(rnti, 1);
        ue.flags = Some(flags);
        ue.bsr = bsr;
        if let Some(uplink) = &mut ue.ul_cqi_report {
            uplink.pucch_dbm[0].p0_pucch_dbm = Some(p0);
        }
        let envelope = report(vec![ue]);
        let mut frame = Vec::new();
        encode_frame(&envelope, &mut frame).unwrap();
        prop_assert_eq!(decode_frame(&frame).unwrap(), envelope);
    }
}
