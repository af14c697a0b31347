//! The nine pitfalls of dialects. Each test checks that one setting causes exactly one kind of failure.
use super::*;
use ranlab_upf::pfcp::Cause;

fn speaking(change: impl FnOnce(&mut SmfMessageStyle)) -> Dialect {
    let mut dialect = Dialect::OPEN5GS;
    change(&mut dialect.sends);
    dialect
}

fn establish(pair: &mut Pair) -> (SessionId, Vec<(Kind, Outcome)>) {
    let id = pair.smf.establish(pair.now, pair.now, spec(1)).unwrap();
    let ended = outcomes(pair, 1_000);
    (id, ended)
}

#[test]
fn smf_and_upf_of_same_dialect_forward_both_directions() {
    for dialect in Dialect::ALL {
        let mut pair = associated(dialect, dialect);
        let (id, seid) = session(&mut pair, 1);
        assert_eq!(forwards(&pair, seid), (true, true), "{}", dialect.name);
        pair.smf.delete(pair.now, pair.now, id).unwrap();
        assert_eq!(outcomes(&mut pair, 1), [(Kind::Deletion, Outcome::Ok)]);
        assert_eq!((pair.smf.live_sessions(), pair.upf.upf().sessions()), (0, 0));
        assert_eq!(Dialect::named(dialect.name), Some(dialect));
    }
}

#[test]
fn trap_1_apply_action_of_one_octet_gets_no_response() {
    let narrow = speaking(|sends| sends.apply_action_octets = 1);
    let (_, ended) = establish(&mut associated(narrow, Dialect::OPEN5GS));
    assert_eq!(ended, [(Kind::Establishment, Outcome::Lost)]);
    let (_, ended) = establish(&mut associated(narrow, Dialect::EUPF));
    assert_eq!(ended, [(Kind::Establishment, Outcome::Ok)]);
}

#[test]
fn trap_2_network_instance_as_text_is_rejected_with_cause_75() {
    let text = speaking(|sends| sends.name_form = NameForm::Text);
    let (_, ended) = establish(&mut associated(text, Dialect::OPEN5GS));
    assert_eq!(ended, [(Kind::Establishment, Outcome::Rejected(Cause::NO_RESOURCES))]);
    let (_, ended) = establish(&mut associated(text, Dialect::EUPF));
    assert_eq!(ended, [(Kind::Establishment, Outcome::Ok)]);
}

#[test]
fn trap_3_uplink_without_interface_types_is_dropped() {
    let plain = speaking(|sends| sends.interface_type = false);
    let mut pair = associated(plain, Dialect::OPEN5GS);
    let (_, seid) = session(&mut pair, 1);
    assert_eq!(forwards(&pair, seid), (false, true));
    let mut pair = associated(plain, Dialect::STRICT_REL15);
    let (_, seid) = session(&mut pair, 1);
    assert_eq!(forwards(&pair, seid), (true, true));
}

#[test]
fn trap_4_deletion_with_node_id_gets_no_response() {
    let named = speaking(|sends| sends.node_id_in_deletion = true);
    for (demands, outcome) in [(Dialect::OPEN5GS, Outcome::Lost), (Dialect::STRICT_REL17, Outcome::Ok)] {
        let mut pair = associated(named, demands);
        let (id, _) = session(&mut pair, 1);
        pair.smf.delete(pair.now, pair.now, id).unwrap();
        assert_eq!(outcomes(&mut pair, 1_000), [(Kind::Deletion, outcome)]);
        assert_eq!(pair.smf.live_sessions(), usize::from(outcome == Outcome::Lost));
    }
}

#[test]
fn trap_5_new_time_stamp_or_silence_purges_sessions() {
    let mut pair = associated(Dialect::OPEN5GS, Dialect::OPEN5GS);
    let (id, _) = session(&mut pair, 1);
    // A second SMF process uses the same address, with another start time and other sequence numbers.
    let changed =
        SmfSettings { recovery_time_stamp: 99, first_sequence: 1_000, ..smf_settings(Dialect::OPEN5GS) };
    let mut other_smf = Smf::new(changed, profile()).unwrap();
    other_smf.heartbeat(pair.now).unwrap();
    let Some(SmfOutput::Send(heartbeat)) = other_smf.poll() else { panic!() };
    pair.there.send(pair.now, heartbeat);
    let end = pair.now + Duration::from_millis(1);
    pair.run_until(end);
    assert_eq!(pair.upf.upf().sessions(), 0);
    pair.smf.modify(pair.now, pair.now, id, downlink(2)).unwrap();
    let ended = outcomes(&mut pair, 1);
    assert_eq!(ended, [(Kind::Modification, Outcome::Rejected(Cause::CONTEXT_NOT_FOUND))]);
    assert_eq!(pair.smf.live_sessions(), 0);

    let mut mute = Dialect::EUPF;
    mute.sends.answers_heartbeats = false;
    for (sends, sessions) in [(Dialect::EUPF, 1), (mute, 0)] {
        let mut pair = associated(sends, Dialect::EUPF);
        session(&mut pair, 1);
        pair.run_until(at(90_000));
        assert_eq!(pair.upf.upf().sessions(), sessions);
    }
}

#[test]
fn trap_6_restarted_numbers_get_cached_responses() {
    let mut pair = associated(Dialect::OPEN5GS, Dialect::OPEN5GS);
    session(&mut pair, 1);
    for (first_sequence, duplicates) in [(1, 1), (5_000, 0)] {
        let settings = SmfSettings { first_sequence, ..smf_settings(Dialect::OPEN5GS) };
        pair.smf = Smf::new(settings, profile()).unwrap();
        let before = pair.upf.upf().counters().duplicates;
        pair.smf.associate(pair.now).unwrap();
        let end = pair.now + Duration::from_millis(1);
        pair.run_until(end);
        assert_eq!(pair.upf.upf().counters().duplicates - before, duplicates);
    }
    // The next establishment gets the cached response of the old session, which reports success without a session.
    let sessions = pair.upf.upf().sessions();
    pair.smf = Smf::new(smf_settings(Dialect::OPEN5GS), profile()).unwrap();
    pair.smf.associate(pair.now).unwrap();
    outcomes(&mut pair, 1);
    let (_, ended) = establish(&mut pair);
    assert_eq!(ended, [(Kind::Establishment, Outcome::Ok)]);
    assert_eq!(pair.upf.upf().sessions(), sessions);
    // After the holding time of responses, the sequence numbers can be used again.
    let end = pair.now + Duration::from_millis(7_500);
    pair.run_until(end);
    pair.smf = Smf::new(smf_settings(Dialect::OPEN5GS), profile()).unwrap();
    let before = pair.upf.upf().counters().duplicates;
    pair.smf.associate(pair.now).unwrap();
    outcomes(&mut pair, 1);
    assert_eq!(pair.upf.upf().counters().duplicates, before);
}

#[test]
fn trap_7_downlink_without_pdn_type_is_dropped() {
    let untyped = speaking(|sends| sends.pdn_type = false);
    let mut pair = associated(untyped, Dialect::OPEN5GS);
    let (_, seid) = session(&mut pair, 1);
    assert_eq!(forwards(&pair, seid), (true, false));
}

#[test]
fn trap_8_only_some_dialects_choose_tunnels() {
    let choosing = speaking(|sends| sends.teid = TeidChoice::Upf);
    let mut pair = associated(choosing, Dialect::OPEN5GS);
    let (id, _) = establish(&mut pair);
    let tunnel = pair.smf_events.iter().find_map(|event| match event {
        SmfEvent::Tunnel(of, tunnel) if *of == id => tunnel.f_teid,
        _ => None,
    });
    let Some(ranlab_upf::pfcp::FTeid::Assigned { teid, .. }) = tunnel else { panic!("{tunnel:?}") };
    assert!(pair.upf.upf().by_tunnel(teid).is_some());
    let (_, ended) = establish(&mut associated(choosing, Dialect::EUPF));
    assert_eq!(ended, [(Kind::Establishment, Outcome::Rejected(Cause::INVALID_F_TEID_ALLOCATION))]);
}

#[test]
fn trap_9_reporting_triggers_of_two_octets_get_no_response() {
    let measured = SessionProfile { volume_threshold: Some(1 << 30), ..profile() };
    let ended = |sends: Dialect, demands| {
        let mut pair = associated(sends, demands);
        pair.smf = Smf::new(smf_settings(sends), measured.clone()).unwrap();
        pair.smf.associate(pair.now).unwrap();
        outcomes(&mut pair, 1);
        establish(&mut pair).1
    };
    let narrow = speaking(|sends| sends.reporting_triggers_octets = 2);
    assert_eq!(ended(narrow, Dialect::OPEN5GS), [(Kind::Establishment, Outcome::Lost)]);
    // Release 15 has two octets, and ranlab's UPF accepts two and three.
    assert_eq!(ended(narrow, Dialect::STRICT_REL17), [(Kind::Establishment, Outcome::Ok)]);
    for dialect in Dialect::ALL {
        assert_eq!(ended(dialect, dialect), [(Kind::Establishment, Outcome::Ok)], "{}", dialect.name);
    }
    assert_eq!(ended(Dialect::STRICT_REL17, Dialect::OPEN5GS), [(Kind::Establishment, Outcome::Ok)]);
}
