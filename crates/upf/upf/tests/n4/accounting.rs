//! Checks that every request and every response is counted exactly once, whatever the impairments of the link.
use super::*;
use proptest::prelude::*;

/// Runs cycles of establishment, modification and deletion on a link. Each step is sent as soon as the previous response has arrived.
fn cycles(impairments: Impairments, n1: u8, seed: u64, sessions: u32, window: usize) -> Pair {
    let settings = SmfSettings {
        retransmission: Retransmission { t1: Duration::from_millis(5), n1 },
        window,
        ..smf_settings(Dialect::STRICT_REL17)
    };
    let smf = Smf::new(settings, profile()).unwrap();
    let upf = Mock::new(MockSettings::default(), upf_settings(Dialect::STRICT_REL17));
    let mut pair = Pair::new(smf, upf, impairments, seed);
    while !pair.smf.is_associated() {
        let _ = pair.smf.associate(pair.now);
        let end = pair.now + Duration::from_millis(50);
        pair.run_until(end);
    }
    let mut begun = 0;
    let mut handled = pair.smf_events.len();
    for _ in 0..4_000 {
        if begun < sessions && pair.smf.establish(pair.now, pair.now, spec(begun)).is_ok() {
            begun += 1;
        }
        let end = pair.now + Duration::from_micros(500);
        pair.run_until(end);
        assert!(pair.smf.ledger().balanced(), "{:#?}", pair.smf.ledger());
        let events: Vec<_> = pair.smf_events[handled..].to_vec();
        handled = pair.smf_events.len();
        for event in events {
            let SmfEvent::Done(RequestEnd { kind, about: Some(id), .. }) = event else { continue };
            // A rejection is also a valid result. The session may have ended, or a request about it may be pending.
            let _ = match kind {
                Kind::Establishment => pair.smf.modify(pair.now, pair.now, id, downlink(1)),
                _ => pair.smf.delete(pair.now, pair.now, id),
            };
        }
    }
    let end = pair.now + Duration::from_secs(1);
    pair.run_until(end);
    pair
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn requests_and_responses_are_counted_exactly_once(
        loss in 0u16..300, duplication in 0u16..300, jitter_us in 0u64..20_000, n1 in 0u8..4, seed: u64,
    ) {
        let impairments = Impairments {
            loss_permille: loss,
            duplication_permille: duplication,
            delay: DELAY,
            jitter: Duration::from_micros(jitter_us),
        };
        let pair = cycles(impairments, n1, seed, 200, 64);
        let ledger = pair.smf.ledger();
        prop_assert!(ledger.balanced(), "{ledger:#?}");
        prop_assert_eq!(ledger.total(|counts| counts.pending), 0);
        let sent = ledger.total(|counts| counts.sent + counts.retransmissions);
        let arrived = sent - pair.there.lost + pair.there.doubled;
        let counters = pair.upf.upf().counters();
        prop_assert_eq!(arrived, counters.requests + counters.duplicates);
        let answered = counters.requests + counters.duplicates - pair.back.lost + pair.back.doubled;
        prop_assert_eq!(answered, ledger.responses);
        if n1 == 0 {
            prop_assert_eq!(ledger.total(|counts| counts.retransmitted + counts.retransmissions), 0);
        }
    }
}

#[test]
fn every_request_is_answered_on_good_link() {
    let pair = cycles(Impairments::delay(DELAY), 3, 1, 100, 256);
    let ledger = pair.smf.ledger();
    for kind in [Kind::Establishment, Kind::Modification, Kind::Deletion] {
        let counts = ledger.counts(kind);
        assert_eq!((counts.sent, counts.ok), (100, 100), "{kind:?}");
    }
    assert_eq!((ledger.unexpected, ledger.malformed), (0, 0));
    assert_eq!((pair.smf.live_sessions(), pair.upf.upf().sessions()), (0, 0));
}

#[test]
fn retransmission_carries_out_each_request_once() {
    let impairments = Impairments { loss_permille: 200, ..Impairments::delay(DELAY) };
    let pair = cycles(impairments, 9, 7, 100, 256);
    let ledger = pair.smf.ledger();
    assert_eq!(ledger.total(|counts| counts.lost + counts.late), 0);
    assert!(ledger.total(|counts| counts.retransmitted) > 20);
    let counters = pair.upf.upf().counters();
    assert_eq!(counters.requests, ledger.total(|counts| counts.sent));
    assert!(counters.duplicates > 0);
    assert_eq!((counters.refused, pair.upf.upf().sessions()), (0, 0));
}

#[test]
fn late_responses_leave_no_orphaned_session() {
    // The round-trip time is longer than T1.
    let impairments = Impairments::delay(Duration::from_millis(4));
    let mut pair = associated(Dialect::STRICT_REL17, Dialect::STRICT_REL17);
    let settings = SmfSettings {
        retransmission: Retransmission { t1: Duration::from_millis(5), n1: 0 },
        first_sequence: 500,
        ..smf_settings(Dialect::STRICT_REL17)
    };
    pair.smf = Smf::new(settings, profile()).unwrap();
    pair.smf.associate(pair.now).unwrap();
    outcomes(&mut pair, 1);
    pair.there = Link::new(impairments, 1);
    pair.back = Link::new(impairments, 2);
    pair.smf.establish(pair.now, pair.now, spec(1)).unwrap();
    let ended = outcomes(&mut pair, 100);
    assert_eq!(ended[0], (Kind::Establishment, Outcome::Lost));
    assert!(matches!(ended[1], (Kind::Establishment, Outcome::Late(cause)) if cause.is_accepted()));
    assert!(ended[2..].iter().all(|(kind, _)| *kind == Kind::Deletion));
    assert_eq!((pair.smf.live_sessions(), pair.upf.upf().sessions()), (0, 0));
}

#[test]
fn full_window_rejects_request_without_counting_loss() {
    let settings = SmfSettings { window: 2, max_sessions: 3, ..smf_settings(Dialect::STRICT_REL17) };
    let mock = MockSettings::default();
    let mut pair = pair_of(settings, upf_settings(Dialect::STRICT_REL17), mock, Impairments::delay(DELAY));
    assert_eq!(pair.smf.establish(pair.now, pair.now, spec(1)), Err(Refused::NotAssociated));
    pair.smf.associate(pair.now).unwrap();
    pair.run_until(at(1));
    pair.smf.establish(pair.now, pair.now, spec(1)).unwrap();
    pair.smf.establish(pair.now, pair.now, spec(2)).unwrap();
    assert_eq!(pair.smf.establish(pair.now, pair.now, spec(3)), Err(Refused::Full(Full { window: 2 })));
    pair.run_until(at(2));
    pair.smf.establish(pair.now, pair.now, spec(3)).unwrap();
    pair.run_until(at(3));
    assert_eq!(pair.smf.establish(pair.now, pair.now, spec(4)), Err(Refused::Sessions { limit: 3 }));
    assert_eq!(pair.smf.ledger().counts(Kind::Establishment).sent, 3);
}
