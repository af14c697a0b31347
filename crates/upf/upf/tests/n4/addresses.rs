//! Tests of UE addresses, of sessions after a second association setup, and of reports while the window of requests is full.
use super::*;
use ranlab_upf::pfcp::*;
use std::net::SocketAddr;

fn strict(recognise: bool) -> UpfSettings {
    UpfSettings { recognise, ..upf_settings(Dialect::STRICT_REL17) }
}

/// Returns the outcomes of establishing a second session with the UE address of the first one, before and after the first session was
/// deleted.
fn second_session(settings: UpfSettings) -> [Outcome; 2] {
    let mut pair = pair_of(
        smf_settings(Dialect::STRICT_REL17),
        settings,
        MockSettings::default(),
        Impairments::delay(DELAY),
    );
    pair.smf.associate(pair.now).unwrap();
    outcomes(&mut pair, 1);
    // With recognition, the third establishment of a kind is not decoded, so two other sessions are established first.
    session(&mut pair, 7);
    session(&mut pair, 8);
    let (first, _) = session(&mut pair, 1);
    let again = SessionSpec { uplink_teid: 0x9999, ..spec(1) };
    [0, 1].map(|round| {
        if round == 1 {
            pair.smf.delete(pair.now, pair.now, first).unwrap();
            outcomes(&mut pair, 1);
        }
        pair.smf.establish(pair.now, pair.now, again).unwrap();
        outcomes(&mut pair, 1)[0].1
    })
}

#[test]
fn ue_address_in_use_is_rejected_until_released() {
    let refused = Outcome::Rejected(Cause::RULE_FAILURE);
    assert_eq!(second_session(strict(false)), [refused, Outcome::Ok]);
    let shared = UpfRequirements { shares_addresses: true, ..Dialect::STRICT_REL17.demands };
    let dialect = Dialect { demands: shared, ..Dialect::STRICT_REL17 };
    assert_eq!(second_session(UpfSettings { dialect, ..strict(false) }), [Outcome::Ok, Outcome::Ok]);
}

#[test]
fn addresses_of_recognised_sessions_are_protected() {
    let mut pair = pair_of(
        smf_settings(Dialect::STRICT_REL17),
        strict(true),
        MockSettings::default(),
        Impairments::delay(DELAY),
    );
    pair.smf.associate(pair.now).unwrap();
    outcomes(&mut pair, 1);
    let ids = [1, 2, 3].map(|n| pair.smf.establish(pair.now, pair.now, spec(n)).unwrap());
    assert_eq!(outcomes(&mut pair, 1), [(Kind::Establishment, Outcome::Ok); 3]);
    let again = SessionSpec { uplink_teid: 0x9999, ..spec(3) };
    pair.smf.establish(pair.now, pair.now, again).unwrap();
    assert_eq!(outcomes(&mut pair, 1), [(Kind::Establishment, Outcome::Rejected(Cause::RULE_FAILURE))]);
    pair.smf.delete(pair.now, pair.now, ids[2]).unwrap();
    outcomes(&mut pair, 1);
    pair.smf.establish(pair.now, pair.now, again).unwrap();
    assert_eq!(outcomes(&mut pair, 1), [(Kind::Establishment, Outcome::Ok)]);
}

/// Returns a UPF with an association, and the address of its SMF.
fn standing(settings: UpfSettings) -> (Upf, SocketAddr) {
    let mut upf = Upf::new(settings);
    let smf = SocketAddr::new(NODE.into(), PFCP_PORT);
    let setup = AssociationSetupRequest { node_id: IpAddr::from(NODE).into(), ..Default::default() };
    ask(&mut upf, smf, 1, setup, None);
    (upf, smf)
}

fn ask(
    upf: &mut Upf,
    smf: SocketAddr,
    sequence: u32,
    request: impl Into<Message>,
    seid: Option<u64>,
) -> Message {
    upf.handle(at(u64::from(sequence)), UpfInput::Received(smf, &encode(request, seid, sequence).unwrap()));
    let answer = std::iter::from_fn(|| upf.poll()).find_map(|output| match output {
        UpfOutput::Send(_, datagram) => Some(decode(&datagram).unwrap().0.message),
        UpfOutput::Event(_) => None,
    });
    answer.unwrap()
}

/// Returns an establishment of session `n` that requests a UE address from the UPF.
fn choosing(n: u32) -> SessionEstablishmentRequest {
    let templates = SessionTemplates::new(profile(), Dialect::STRICT_REL17.sends, NODE.into()).unwrap();
    let mut request = templates.establishment(u64::from(n), spec(n));
    for ue in request.create_pdrs.iter_mut().flat_map(|pdr| &mut pdr.pdi.ue_ip_addresses) {
        ue.addresses = Addresses::default();
        ue.choose_v4 = true;
    }
    request
}

#[test]
fn assigned_address_is_shared_by_rules_and_released_with_session() {
    let pool = "10.60.0.0/30".parse().ok();
    let (mut upf, smf) = standing(UpfSettings { ue_pool: pool, ..strict(true) });
    let mut sequence = 1;
    let mut establish = |upf: &mut Upf, n| {
        sequence += 1;
        match ask(upf, smf, sequence, choosing(n), Some(0)) {
            Message::SessionEstablishmentResponse(response) => response,
            other => panic!("{other:?}"),
        }
    };
    let chosen = |response: &SessionEstablishmentResponse| {
        let ues = response.created_pdrs.iter().map(|created| created.ue_ip_addresses[0].addresses.v4);
        ues.collect::<Vec<_>>()
    };
    let one = establish(&mut upf, 1);
    assert_eq!(chosen(&one), [Some([10, 60, 0, 1].into()); 2]);
    assert_eq!(chosen(&establish(&mut upf, 2)), [Some([10, 60, 0, 2].into()); 2]);
    assert_eq!(establish(&mut upf, 3).cause, Cause::NO_RESOURCES);
    let deletion = SessionDeletionRequest::default();
    ask(&mut upf, smf, 90, deletion, Some(one.up_f_seid.unwrap().seid));
    assert_eq!(chosen(&establish(&mut upf, 4)), [Some([10, 60, 0, 1].into()); 2]);
}

#[test]
fn rule_with_teid_zero_is_rejected() {
    let (mut upf, smf) = standing(strict(true));
    let templates = SessionTemplates::new(profile(), Dialect::STRICT_REL15.sends, NODE.into()).unwrap();
    let request = templates.establishment(1, SessionSpec { uplink_teid: 0, ..spec(1) });
    let Message::SessionEstablishmentResponse(response) = ask(&mut upf, smf, 2, request, Some(0)) else {
        panic!()
    };
    let refused = (Cause::RULE_FAILURE, Some(FailedRuleId::Pdr(PdrId(1))));
    assert_eq!((response.cause, response.failed_rule_id), refused);
}

#[test]
fn ue_address_request_is_rejected_without_pool() {
    let (mut upf, smf) = standing(strict(true));
    let Message::SessionEstablishmentResponse(response) = ask(&mut upf, smf, 2, choosing(1), Some(0)) else {
        panic!()
    };
    assert_eq!(response.cause, Cause::SERVICE_NOT_SUPPORTED);
}

#[test]
fn retained_sessions_outlive_an_association_setup() {
    const SESSION_RETENTION_INFORMATION: u16 = 183;
    for retains in [true, false] {
        let (mut upf, smf) = standing(UpfSettings { ue_pool: "10.60.0.0/24".parse().ok(), ..strict(false) });
        ask(&mut upf, smf, 2, choosing(1), Some(0));
        let value = b"".as_slice().into();
        let others =
            if retains { vec![RawIe { ie_type: SESSION_RETENTION_INFORMATION, value }] } else { Vec::new() };
        let node_id = IpAddr::from(NODE).into();
        let setup = AssociationSetupRequest { node_id, others, ..Default::default() };
        let Message::AssociationSetupResponse(response) = ask(&mut upf, smf, 3, setup, None) else {
            panic!()
        };
        assert_eq!((upf.sessions(), response.others.len()), if retains { (1, 1) } else { (0, 0) });
    }
}

#[test]
fn reports_wait_until_window_has_space() {
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let (_, seid) = session(&mut pair, 1);
    pair.upf_events.clear();
    let count = 10_000;
    for _ in 0..count {
        assert!(pair.upf.upf_mut().report_downlink_data(pair.now, seid, PdrId(2)));
    }
    outcomes(&mut pair, 1_000);
    let reported =
        |event: &&UpfEvent| matches!(event, UpfEvent::Reported(done) if done.outcome == Outcome::Ok);
    assert_eq!(pair.upf_events.iter().filter(reported).count(), count);
    assert_eq!(pair.upf.upf().counters().reports_dropped, 0);
}
