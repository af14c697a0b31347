//! Plain encodings: indications of a real FlexRIC agent, and round-trip properties.
//!
//! The files `vectors/plain/*.bin` contain RICindicationMessage octet strings of FlexRIC's emulated gNB, extracted from
//! a capture. Each has four UEs, bearers or tunnels with random values.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use proptest::collection::vec;
use proptest::prelude::*;
use ranlab_e2_codec::e2sm::gtp::{GtpIndication, GtpTunnel, GtpView};
use ranlab_e2_codec::e2sm::mac::{MacIndication, MacUe, MacView};
use ranlab_e2_codec::e2sm::pdcp::{PdcpBearer, PdcpIndication, PdcpView};
use ranlab_e2_codec::e2sm::plain::{PlainElement, PlainView, encode_list, tstamp_us};
use ranlab_e2_codec::e2sm::rlc::{RlcBearer, RlcIndication, RlcMode, RlcView};
use ranlab_e2_codec::e2sm::{gtp, mac, pdcp, rlc};

macro_rules! vector {
    ($name:literal) => {
        include_bytes!(concat!("vectors/plain/", $name, ".bin"))
    };
}

/// Decodes, checks that every shorter payload is refused, and checks that encoding yields the same bytes.
macro_rules! golden {
    ($indication:ty, $bytes:expr, $tstamp_us:expr) => {{
        let bytes: &[u8] = $bytes;
        let message = <$indication>::decode(bytes).unwrap();
        assert_eq!(message.tstamp_us, $tstamp_us);
        assert_eq!(tstamp_us(bytes), Some($tstamp_us));
        for length in 0..bytes.len() {
            assert!(<$indication>::decode(&bytes[..length]).is_err(), "{length} octets");
        }
        let mut out = Vec::new();
        message.encode(&mut out);
        assert_eq!(out, bytes);
        assert_eq!(message.encoded_size(), bytes.len());
        let mut room = vec![0xff; bytes.len()];
        message.encode_into(&mut room.as_mut_slice()).unwrap();
        assert_eq!(room, bytes);
        message
    }};
}

#[test]
fn mac_report_of_flexric_agent_round_trips() {
    let message = golden!(MacIndication, vector!("mac_1"), 1_795_290_083_091_598);
    assert_eq!(message.ues.len(), 4);
    let expected = MacUe {
        dl_aggr_tbs: 38,
        ul_aggr_tbs: 100,
        dl_aggr_bytes_sdus: 853,
        ul_aggr_bytes_sdus: 206,
        pusch_snr: 64.0,
        pucch_snr: 64.0,
        dl_harq: [975, 375, 785, 47, 0],
        ul_harq: [122, 25, 234, 711, 0],
        dl_num_harq: 4,
        ul_num_harq: 4,
        rnti: 110,
        dl_aggr_prb: 1019,
        ul_aggr_prb: 360,
        dl_aggr_sdus: 465,
        ul_aggr_sdus: 960,
        dl_aggr_retx_prb: 667,
        ul_aggr_retx_prb: 932,
        bsr: 252,
        wb_cqi: 176,
        dl_mcs1: 206,
        ul_mcs1: 159,
        dl_mcs2: 65,
        ul_mcs2: 51,
        phr: -49,
        ..MacUe::default()
    };
    assert_eq!(message.ues[0], expected);
    assert_eq!((message.ues[3].rnti, message.ues[3].phr), (383, 113));

    let message = golden!(MacIndication, vector!("mac_2"), 1_795_290_085_215_745);
    let view = MacView::new(vector!("mac_2")).unwrap();
    assert_eq!((view.len(), view.at(4)), (4, None));
    assert_eq!(view.iter().collect::<Vec<_>>(), message.ues);
    assert_eq!(view.at(2).map(|ue| (ue.rnti, ue.bsr, ue.wb_cqi)), Some((854, 90, 55)));
}

#[test]
fn rlc_report_of_flexric_agent_round_trips() {
    let message = golden!(RlcIndication, vector!("rlc_1"), 1_795_290_083_206_777);
    let bearer = message.bearers[0];
    assert_eq!((bearer.txpdu_pkts, bearer.txbuf_occ_pkts, bearer.rxpdu_pkts), (38, 688, 462));
    assert_eq!((bearer.txsdu_pkts, bearer.txsdu_bytes, bearer.txsdu_wt_us), (234, 711, 0));
    assert_eq!(
        (bearer.rxsdu_pkts, bearer.rxsdu_bytes, bearer.rxsdu_dd_pkts, bearer.rxsdu_dd_bytes),
        (631, 673, 108, 896)
    );
    assert_eq!((bearer.rnti, bearer.mode, bearer.rbid), (97, RlcMode::Unacknowledged, 4));

    golden!(RlcIndication, vector!("rlc_2"), 1_795_290_085_480_392);
    let view = RlcView::new(vector!("rlc_2")).unwrap();
    let bearer = view.at(1).unwrap();
    assert_eq!((bearer.rnti, bearer.mode, bearer.rbid), (823, RlcMode::Transparent, 9));
    assert_eq!(view.at(4), None);
}

#[test]
fn pdcp_report_of_flexric_agent_round_trips() {
    let message = golden!(PdcpIndication, vector!("pdcp_1"), 1_795_290_083_342_401);
    let expected = PdcpBearer {
        txpdu_pkts: 26,
        txpdu_bytes: 38,
        txpdu_sn: 853,
        rxpdu_pkts: 6,
        rxpdu_bytes: 206,
        rxpdu_sn: 1019,
        rxpdu_oo_pkts: 360,
        rxpdu_oo_bytes: 465,
        rxpdu_dd_pkts: 960,
        rxpdu_dd_bytes: 667,
        rxpdu_ro_count: 932,
        txsdu_pkts: 98,
        txsdu_bytes: 688,
        rxsdu_pkts: 850,
        rxsdu_bytes: 927,
        rnti: 563,
        mode: RlcMode::Transparent,
        rbid: 2,
    };
    assert_eq!(message.bearers[0], expected);

    golden!(PdcpIndication, vector!("pdcp_2"), 1_795_290_085_892_223);
    let view = PdcpView::new(vector!("pdcp_2")).unwrap();
    assert_eq!(view.at(1).map(|bearer| (bearer.rnti, bearer.rbid)), Some((155, 9)));
    assert_eq!(view.at(4), None);
}

#[test]
fn gtp_report_of_flexric_agent_round_trips() {
    let message = golden!(GtpIndication, vector!("gtp_1"), 1_795_290_083_413_263);
    let expected = [
        GtpTunnel { rnti: 38, teid_gnb: 853, qfi: 100, teid_upf: 206 },
        GtpTunnel { rnti: 110, teid_gnb: 360, qfi: 251, teid_upf: 209 },
    ];
    assert_eq!(message.tunnels[..2], expected);

    golden!(GtpIndication, vector!("gtp_2"), 1_795_290_086_094_694);
    let view = GtpView::new(vector!("gtp_2")).unwrap();
    assert_eq!(view.at(1).map(|tunnel| (tunnel.rnti, tunnel.teid_gnb)), Some((839, 728)));
    assert_eq!(view.at(4), None);
}

/// The agent's own E2 setup request has the models with these names: definition and OID as bytes, the function id
/// directly before the definition's length.
#[test]
fn names_and_oids_match_setup_of_flexric_agent() {
    let setup = include_bytes!("vectors/flexric_e2setup_request_v2_03.bin");
    let position = |text: &[u8]| setup.windows(text.len()).position(|window| window == text);
    let models = [
        (mac::OID, mac::DEFAULT_FUNCTION_ID, mac::DEFINITION),
        (rlc::OID, rlc::DEFAULT_FUNCTION_ID, rlc::DEFINITION),
        (pdcp::OID, pdcp::DEFAULT_FUNCTION_ID, pdcp::DEFINITION),
        (gtp::OID, gtp::DEFAULT_FUNCTION_ID, gtp::DEFINITION),
    ];
    for (oid, id, definition) in models {
        assert!(position(oid.as_bytes()).is_some(), "{oid}");
        let at = position(definition).unwrap();
        assert_eq!(setup[at - 3..at - 1], id.to_be_bytes());
        assert_eq!(usize::from(setup[at - 1]), definition.len());
    }
}

/// Any bytes are a valid element: decoding and encoding changes only the padding, which becomes zero.
fn element_round_trips<E: PlainElement + PartialEq + std::fmt::Debug>(
    octets: &[u8],
    padding: &[(usize, usize)],
    tstamp_us: i64,
) {
    let count = octets.len() / E::SIZE;
    let mut payload = u32::try_from(count).unwrap().to_le_bytes().to_vec();
    payload.extend(&octets[..count * E::SIZE]);
    payload.extend(tstamp_us.to_le_bytes());
    let view = PlainView::<E>::new(&payload).unwrap();
    assert_eq!((view.len(), view.tstamp_us()), (count, tstamp_us));

    let mut out = Vec::new();
    encode_list(&mut out, view.iter().collect::<Vec<_>>(), view.tstamp_us()).unwrap();
    for element in 0..count {
        for &(start, end) in padding {
            payload[4 + element * E::SIZE..][start..end].fill(0);
        }
    }
    assert_eq!(out, payload);
}

proptest! {
    #[test]
    fn any_bytes_round_trip(octets in vec(any::<u8>(), 0..1024), tstamp_us in any::<i64>()) {
        element_round_trips::<MacUe>(&octets, &[(170, 176)], tstamp_us);
        element_round_trips::<RlcBearer>(&octets, &[(100, 104), (150, 152)], tstamp_us);
        element_round_trips::<PdcpBearer>(&octets, &[(66, 68)], tstamp_us);
        element_round_trips::<GtpTunnel>(&octets, &[(10, 12)], tstamp_us);
    }

    #[test]
    fn decode_never_panics(payload in vec(any::<u8>(), 0..400)) {
        let _ = MacIndication::decode(&payload);
        let _ = RlcIndication::decode(&payload);
        let _ = PdcpIndication::decode(&payload);
        let _ = GtpIndication::decode(&payload);
    }

    #[test]
    fn tunnels_round_trip(
        fields in vec((any::<u32>(), any::<u32>(), any::<u8>(), any::<u8>()), 0..50),
        tstamp_us in any::<i64>(),
    ) {
        let tunnels = fields
            .into_iter()
            .map(|(rnti, teid_gnb, qfi, teid_upf)| GtpTunnel { rnti, teid_gnb, qfi, teid_upf })
            .collect();
        let message = GtpIndication { tunnels, tstamp_us };
        let mut out = Vec::new();
        message.encode(&mut out);
        prop_assert_eq!(GtpIndication::decode(&out), Ok(message));
    }
}
