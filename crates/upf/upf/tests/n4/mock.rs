//! Checks that the SMF measures the configured behaviour of the mock.
use super::*;

fn mocked(mock: MockSettings, n1: u8) -> Pair {
    let settings = SmfSettings {
        retransmission: Retransmission { t1: Duration::from_millis(100), n1 },
        ..smf_settings(Dialect::STRICT_REL17)
    };
    let mut pair = pair_of(settings, upf_settings(Dialect::STRICT_REL17), mock, Impairments::delay(DELAY));
    pair.smf.associate(pair.now).unwrap();
    pair.run_until(at(500));
    pair.smf_events.clear();
    pair
}

/// Sends establishments at a fixed rate. Returns the latency of each from the scheduled send time, and from the actual send time.
fn paced(pair: &mut Pair, count: u32, interval: Duration) -> Vec<(Duration, Duration)> {
    for n in 0..count {
        pair.smf.establish(pair.now, pair.now, spec(n)).unwrap();
        let end = pair.now + interval;
        pair.run_until(end);
    }
    let end = pair.now + Duration::from_secs(2);
    pair.run_until(end);
    let done = pair.smf_events.iter().filter_map(|event| match event {
        SmfEvent::Done(done) if done.outcome == Outcome::Ok => {
            Some((done.ended - done.intended, done.ended - done.sent))
        }
        _ => None,
    });
    done.collect()
}

#[test]
fn latency_is_service_time_until_queue_grows() {
    let service = Duration::from_micros(1_000);
    let mock = MockSettings { service, ..Default::default() };
    let unloaded = paced(&mut mocked(mock, 0), 50, service * 2);
    assert_eq!(unloaded.len(), 50);
    assert!(unloaded.iter().all(|&(latency, _)| latency == service + DELAY * 2));
    // The rate is twice the capacity, so each request waits half a service time longer than the one before.
    let overloaded = paced(&mut mocked(mock, 0), 50, service / 2);
    assert_eq!(overloaded[49].0, service + DELAY * 2 + 49 * (service / 2));
}

#[test]
fn configured_losses_match_counters() {
    let mut pair = mocked(MockSettings { loss_permille: 250, seed: 3, ..Default::default() }, 3);
    paced(&mut pair, 200, Duration::from_millis(1));
    // All requests are counted, because the association setup may also have been lost.
    let ledger = pair.smf.ledger();
    assert_eq!(ledger.total(|counts| counts.retransmissions + counts.lost), pair.upf.lost);
    assert!(pair.upf.lost > 20 && ledger.balanced());

    let full = MockSettings { service: Duration::from_millis(1), queue: 10, ..Default::default() };
    let mut pair = mocked(full, 0);
    for n in 0..30 {
        pair.smf.establish(pair.now, pair.now, spec(n)).unwrap();
    }
    let end = pair.now + Duration::from_secs(1);
    pair.run_until(end);
    let counts = *pair.smf.ledger().counts(Kind::Establishment);
    assert_eq!((counts.ok, counts.lost, pair.upf.overflowed), (10, 20, 20));
}

#[test]
fn linear_scan_latency_grows_with_sessions() {
    let scan_per_session = Duration::from_micros(10);
    let mock = MockSettings { scan_per_session, ..Default::default() };
    let latencies = paced(&mut mocked(mock, 0), 100, Duration::from_millis(2));
    assert_eq!(latencies[0].0, DELAY * 2);
    assert_eq!(latencies[99].0, DELAY * 2 + 99 * scan_per_session);
}

#[test]
fn late_sender_delay_counts_from_scheduled_time() {
    let mut pair = mocked(MockSettings::default(), 0);
    let intended = pair.now;
    pair.run_until(intended + Duration::from_millis(7));
    pair.smf.establish(pair.now, intended, spec(1)).unwrap();
    let end = pair.now + Duration::from_millis(1);
    pair.run_until(end);
    let mut dones = pair.smf_events.iter().filter_map(|event| match event {
        SmfEvent::Done(done) => Some(done),
        _ => None,
    });
    let done = dones.next().unwrap();
    assert_eq!(done.ended - done.sent, DELAY * 2);
    assert_eq!(done.ended - done.intended, DELAY * 2 + Duration::from_millis(7));
}
