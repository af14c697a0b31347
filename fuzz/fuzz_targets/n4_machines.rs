//! Runs both ends of N4 with any peer. They must not panic, and the SMF's counters are consistent.
//!
//! The first byte of each message selects its length. Half of the messages arrive at an associated pair with a session.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_machine::Time;
use ranlab_upf::n4::{
    Dialect, Impairments, Link, Mock, MockSettings, Pair, SessionProfile, SessionSpec, Smf, SmfInput,
    SmfSettings, UpfInput, UpfSettings,
};
use std::time::Duration;

fuzz_target!(|input: &[u8]| {
    let Some((&first, mut rest)) = input.split_first() else { return };
    let dialect = Dialect::ALL[usize::from(first) % 4];
    let settings =
        SmfSettings { window: 16, max_sessions: 4, ..SmfSettings::new([10, 0, 0, 1].into(), dialect) };
    let Some(smf) = Smf::new(settings, SessionProfile::default()) else { return };
    let upf =
        UpfSettings { max_sessions: 4, held_answers: 16, ..UpfSettings::new([10, 0, 0, 2].into(), dialect) };
    let link = Impairments::delay(Duration::from_micros(10));
    let mut pair = Pair::new(smf, Mock::new(MockSettings::default(), upf), link, 1);
    if first & 0x80 != 0 {
        let _ = pair.smf.associate(pair.now);
        pair.run_until(Time::from_nanos(1_000_000));
        let spec = SessionSpec { ue: [10, 60, 0, 1].into(), uplink_teid: 1 };
        let _ = pair.smf.establish(pair.now, pair.now, spec);
        pair.run_until(Time::from_nanos(2_000_000));
    }
    while let Some((&len, tail)) = rest.split_first() {
        let (message, tail) = tail.split_at(usize::from(len).min(tail.len()));
        rest = tail;
        pair.smf.handle(pair.now, SmfInput::Received(message));
        pair.upf.handle(pair.now, UpfInput::Received(Pair::SMF_ADDRESS, message));
        pair.there = Link::new(link, 1);
        let end = pair.now + Duration::from_millis(1);
        pair.run_until(end);
        assert!(pair.smf.ledger().balanced());
        assert!(pair.upf.upf().sessions() <= 4 && pair.upf.upf().held_answers() <= 16);
    }
});
