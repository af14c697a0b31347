//! Tests of both endpoints of N4 in virtual time.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

mod accounting;
mod addresses;
mod alike;
mod applications;
mod behaviour;
mod mock;
mod responses;
mod traps;

use ranlab_upf::Time;
use ranlab_upf::n4::*;
use std::net::IpAddr;
use std::time::Duration;

const NODE: [u8; 4] = [10, 0, 0, 1];
const UPF: [u8; 4] = [10, 0, 0, 2];
const DELAY: Duration = Duration::from_micros(50);

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn smf_settings(dialect: Dialect) -> SmfSettings {
    let retransmission = Retransmission { t1: Duration::from_millis(100), n1: 3 };
    SmfSettings { retransmission, ..SmfSettings::new(NODE.into(), dialect) }
}

fn upf_settings(dialect: Dialect) -> UpfSettings {
    UpfSettings::new(UPF.into(), dialect)
}

fn profile() -> SessionProfile {
    SessionProfile { upf_n3: UPF.into(), ..Default::default() }
}

fn spec(n: u32) -> SessionSpec {
    SessionSpec { ue: IpAddr::from((0x0a3c_0000 + n).to_be_bytes()), uplink_teid: 0x1000 + n }
}

fn downlink(teid: u32) -> Change {
    Change::Downlink { tunnel: Tunnel { teid, peer: [10, 0, 0, 3].into() }, end_marker: false }
}

fn pair_of(smf: SmfSettings, upf: UpfSettings, mock: MockSettings, impairments: Impairments) -> Pair {
    let smf = Smf::new(smf, profile()).unwrap();
    Pair::new(smf, Mock::new(mock, upf), impairments, 1)
}

/// Returns an associated pair on a good link. The SMF sends in one dialect, and the UPF requires another one.
fn associated(sends: Dialect, demands: Dialect) -> Pair {
    let mut pair = pair_of(
        smf_settings(sends),
        upf_settings(demands),
        MockSettings::default(),
        Impairments::delay(DELAY),
    );
    pair.smf.associate(pair.now).unwrap();
    pair.run_until(at(1));
    assert!(pair.smf.is_associated());
    pair
}

/// Runs for `ms`. Returns the outcomes of session requests in this time.
fn outcomes(pair: &mut Pair, ms: u64) -> Vec<(Kind, Outcome)> {
    pair.smf_events.clear();
    let end = pair.now + Duration::from_millis(ms);
    pair.run_until(end);
    assert!(pair.smf.ledger().balanced());
    let dones = pair.smf_events.iter().filter_map(|event| match event {
        SmfEvent::Done(done) => Some((done.kind, done.outcome)),
        _ => None,
    });
    dones.collect()
}

/// Establishes a session with a downlink tunnel. Returns the session with its SEID at the UPF.
fn session(pair: &mut Pair, n: u32) -> (SessionId, u64) {
    let id = pair.smf.establish(pair.now, pair.now, spec(n)).unwrap();
    assert_eq!(outcomes(pair, 1), [(Kind::Establishment, Outcome::Ok)]);
    pair.smf.modify(pair.now, pair.now, id, downlink(n)).unwrap();
    assert_eq!(outcomes(pair, 1), [(Kind::Modification, Outcome::Ok)]);
    let seid = pair.upf_events.iter().rev().find_map(|event| match event {
        UpfEvent::Modified { seid, .. } => Some(*seid),
        _ => None,
    });
    (id, seid.unwrap())
}

fn forwards(pair: &Pair, seid: u64) -> (bool, bool) {
    let upf = pair.upf.upf();
    let session = upf.session(seid).unwrap();
    let demands = upf.settings().dialect.demands;
    (session.forwards(Direction::Uplink, &demands), session.forwards(Direction::Downlink, &demands))
}
