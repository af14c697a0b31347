//! Schedules pings, tracks pending ones, and measures round-trip times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use ranlab_machine::lock;
use ranlab_sdk::wire::e2ap::{RicControlAckRequest, RicIndicationType, RicRequestId, Version, fast};
use ranlab_sdk::wire::e2sm::{Octets, hw};
use ranlab_sdk::wire::flat::{self, Coding};
use serde::Serialize;
use tokio::sync::mpsc;

use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{counts, rig};

/// Time after which an echo counts as lost.
pub const ECHO_WAIT: Duration = Duration::from_secs(2);
/// Interval at which overdue echoes are given up.
pub const GIVE_UP: Duration = Duration::from_millis(100);
/// Maximum number of entries in `levels` per window. With one entry per [`GIVE_UP`] interval, they cover one hour.
const LEVELS_MAX: usize = 36_000;
/// Maximum round-trip time that is recorded, in nanoseconds.
const RTT_NS_MAX: u64 = 60_000_000_000;
/// Maximum number of pending pings. Pings beyond it are counted but not sent.
const UNDER_WAY_MAX: usize = 65_536;
/// Maximum number of queued ticks. Ticks beyond it are counted but skipped.
const TICKS_MAX: usize = 1_024;
/// Time before a scheduled ping at which the thread wakes up. It then spins until the scheduled time, because a
/// sleeping thread wakes up tens of microseconds late.
const LEAD: Duration = Duration::from_micros(200);
/// Minimum interval between two pings.
const INTERVAL_MIN: Duration = Duration::from_micros(100);

/// Timing and format of pings.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Size of the payload, in bytes.
    pub size: u32,
    /// Interval between two pings. If it is zero, each ping follows an echo.
    pub interval: Duration,
    /// Maximum number of pending pings if each ping follows an echo.
    pub window: u32,
    /// Encoding of pings.
    pub coding: Coding,
}

/// Pings of one sender, shared with an iApp, which must be `Send`.
pub type Shared = Arc<Mutex<Pinger>>;

pub struct Pinger {
    pace: Pace,
    payload: Bytes,
    next: u32,
    under_way: BTreeMap<u32, UnderWay>,
    /// Scheduled time of the ping that an iApp sends next.
    pub next_due: Option<Instant>,
    window: Option<Instant>,
    rtt_ns: Histogram<u64>,
    service_ns: Histogram<u64>,
    lateness_ns: Histogram<u64>,
    sent: u64,
    received: u64,
    lost: u64,
    late: u64,
    unsent: u64,
    /// Pings of this window that were given up. If their echoes arrive, these count as late and not as lost.
    given_up: BTreeSet<u32>,
    /// Number of pending pings at each [`GIVE_UP`] interval.
    levels: Vec<u32>,
}

/// Results of pings in a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PingReport {
    /// Number of pings that were answered or given up.
    pub sent: u64,
    /// Number of pings that were answered.
    pub received: u64,
    /// Round-trip times of the answered pings.
    pub rtt_us: RoundTrip,
}

/// Round-trip times from sending to the echo, in microseconds; 0 without any echo.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoundTrip {
    /// Minimum round-trip time.
    pub min: f64,
    /// Median round-trip time.
    pub p50: f64,
    /// 99th percentile of the round-trip time.
    pub p99: f64,
    /// Maximum round-trip time.
    pub max: f64,
}

#[derive(Clone, Copy)]
struct UnderWay {
    intended: Instant,
    sent: Instant,
}

impl Pinger {
    pub fn new(pace: Pace) -> Result<Shared, ComponentError> {
        if pace.size as usize > hw::PAYLOAD_SIZE_MAX {
            return Err(rig(format!("the payload of a ping must have at most {} B", hw::PAYLOAD_SIZE_MAX)));
        }
        if !pace.interval.is_zero() && pace.interval < INTERVAL_MIN {
            let least = INTERVAL_MIN.as_micros();
            return Err(rig(format!(
                "the interval must be 0s (a ping is sent when an echo arrives) or at least {least} us"
            )));
        }
        let histogram = || Histogram::new_with_bounds(1, RTT_NS_MAX, 3).map_err(rig);
        Ok(Arc::new(Mutex::new(Self {
            payload: vec![0x5a; pace.size as usize].into(),
            pace,
            next: 0,
            under_way: BTreeMap::new(),
            next_due: None,
            window: Some(Instant::now()),
            rtt_ns: histogram()?,
            service_ns: histogram()?,
            lateness_ns: histogram()?,
            sent: 0,
            received: 0,
            lost: 0,
            late: 0,
            unsent: 0,
            given_up: BTreeSet::new(),
            levels: Vec::new(),
        })))
    }

    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Returns number and encoding of the next HW ping, or `None` if too many are pending.
    pub fn ping(&mut self, intended: Instant) -> Option<(u32, Bytes)> {
        let seq = self.number(intended)?;
        let t_send_ns = ranlab_sdk::now().as_nanos();
        let ping = hw::Ping { seq, t_send_ns, payload: self.payload() };
        // Encoding cannot fail, because the payload is at most PAYLOAD_SIZE_MAX.
        Some((seq, ping.to_octets(self.pace.coding.into()).ok()?))
    }

    /// Returns the payload of every ping.
    pub fn payload(&self) -> Bytes {
        self.payload.clone()
    }

    /// Registers a ping that is sent now. Returns the number of the ping, or `None` if too many pings are pending.
    pub fn number(&mut self, intended: Instant) -> Option<u32> {
        if self.under_way.len() >= UNDER_WAY_MAX {
            self.unsent += 1;
            return None;
        }
        let seq = self.next;
        self.next = self.next.wrapping_add(1);
        let sent = Instant::now();
        self.under_way.insert(seq, UnderWay { intended, sent });
        self.sent += 1;
        if self.inside(intended) {
            self.lateness_ns.saturating_record(nanos(sent.saturating_duration_since(intended)));
        }
        Some(seq)
    }

    /// Handles an HW echo. Returns whether it was expected.
    pub fn echo(&mut self, message: &[u8]) -> bool {
        let done = Instant::now();
        let ping = hw::Ping::decode_as(self.pace.coding.into(), &Bytes::copy_from_slice(message));
        ping.is_ok_and(|ping| self.done(ping.seq, done))
    }

    /// Handles the echo of a ping. Returns whether it was expected.
    pub fn returned(&mut self, number: u32) -> bool {
        self.done(number, Instant::now())
    }

    fn done(&mut self, number: u32, done: Instant) -> bool {
        let Some(ping) = self.under_way.remove(&number) else {
            if self.given_up.remove(&number) {
                self.lost = self.lost.saturating_sub(1);
                self.late += 1;
            }
            return false;
        };
        self.received += 1;
        if self.inside(ping.intended) {
            self.rtt_ns.saturating_record(nanos(done.saturating_duration_since(ping.intended)));
            self.service_ns.saturating_record(nanos(done.saturating_duration_since(ping.sent)));
        }
        true
    }

    /// Gives up overdue pings. Returns their number.
    pub fn give_up(&mut self) -> usize {
        let now = Instant::now();
        if self.levels.len() < LEVELS_MAX {
            self.levels.push(self.under_way.len() as u32);
        }
        let late: Vec<u32> = self
            .under_way
            .iter()
            .filter(|(_, ping)| now.saturating_duration_since(ping.sent) > ECHO_WAIT)
            .map(|(seq, _)| *seq)
            .collect();
        for seq in &late {
            if let Some(ping) = self.under_way.remove(seq).filter(|ping| self.inside(ping.intended)) {
                // The recorded time is a lower bound of the round trip.
                self.rtt_ns.saturating_record(nanos(now.saturating_duration_since(ping.intended)));
            }
            self.given_up.insert(*seq);
            if self.given_up.len() > UNDER_WAY_MAX {
                self.given_up.pop_first();
            }
        }
        self.lost += late.len() as u64;
        late.len()
    }

    /// Unregisters a ping that could not be sent.
    pub fn unsent(&mut self, number: u32) {
        self.sent -= u64::from(self.under_way.remove(&number).is_some());
    }

    /// Returns the results since the start of the window. Pending pings count neither as received nor as lost.
    pub fn report(&self) -> PingReport {
        let us = |quantile: f64| match self.service_ns.len() {
            0 => 0.0,
            _ => self.service_ns.value_at_quantile(quantile) as f64 / 1e3,
        };
        let rtt_us =
            RoundTrip { min: self.service_ns.min() as f64 / 1e3, p50: us(0.5), p99: us(0.99), max: us(1.0) };
        PingReport { sent: self.received + self.lost + self.late, received: self.received, rtt_us }
    }

    fn inside(&self, intended: Instant) -> bool {
        self.window.is_some_and(|begin| intended >= begin)
    }

    pub fn counters(&self) -> Counters {
        [("sent", self.sent), ("received", self.received), ("lost", self.lost)]
            .map(|(name, value)| (name.to_owned(), value as f64))
            .into()
    }

    pub fn begin(&mut self) {
        self.window = Some(Instant::now());
        self.rtt_ns.reset();
        self.service_ns.reset();
        self.lateness_ns.reset();
        self.sent = 0;
        self.received = 0;
        self.lost = 0;
        self.late = 0;
        self.unsent = 0;
        self.given_up.clear();
        self.levels.clear();
    }

    /// Returns the growth of pending pings in the second half of the window: the minimum of the last quarter minus
    /// the minimum of the second quarter. A system that keeps up returns to a low number of pending pings, even if a
    /// single ping takes long.
    fn backlog(&self) -> u64 {
        let quarter = self.levels.len() / 4;
        let least = |from: usize| self.levels[from..from + quarter].iter().min().copied();
        let Some(earlier) = least(quarter) else { return 0 };
        least(self.levels.len() - quarter).map_or(0, |last| u64::from(last.saturating_sub(earlier)))
    }

    pub fn end(&mut self, report: &mut Report) {
        self.give_up();
        report.put([
            ("sent", self.sent),
            ("received", self.received),
            ("lost", self.lost),
            ("late", self.late),
            ("backlog", self.backlog()),
            ("unsent", self.unsent),
        ]);
        for (name, histogram) in [
            ("rtt_us", &self.rtt_ns),
            ("rtt_us_service", &self.service_ns),
            ("lateness_us", &self.lateness_ns),
        ] {
            report.distributions.insert(name.to_owned(), micros(histogram));
        }
        self.window = None;
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// Converts a histogram of nanoseconds to whole microseconds, at least 1.
fn micros(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    counts(histogram).into_iter().map(|(ns, count)| ((ns / 1_000).max(1), count)).collect()
}

fn some_ping(size: u32, coding: Coding) -> Option<Bytes> {
    let payload = vec![0; size as usize].into();
    hw::Ping { seq: 1, t_send_ns: u64::from(u32::MAX), payload }.to_octets(coding.into()).ok()
}

fn octets(pdu: Vec<u8>, version: Version, coding: Coding) -> usize {
    match coding {
        Coding::Per => pdu.len(),
        Coding::Flat => flat::from_per(&pdu.into(), version).len(),
    }
}

/// Returns the length in bytes of the RICcontrolRequest that carries a ping, given the encodings of E2AP and of the
/// ping.
pub fn control_bytes(size: u32, version: Version, [e2ap, sm]: [Coding; 2]) -> Option<usize> {
    let message = some_ping(size, sm)?;
    let control = fast::Control {
        request_id: RicRequestId { requestor: 1021, instance: 0 },
        function_id: hw::DEFAULT_FUNCTION_ID,
        call_process_id: None,
        header: &[],
        message: &message,
        ack_request: Some(RicControlAckRequest::NoAck),
    };
    let mut pdu = Vec::new();
    control.encode(version, &mut pdu).ok()?;
    Some(octets(pdu, version, e2ap))
}

/// Returns the length in bytes of the RICindication that carries the echo, given the encodings of E2AP and of the ping.
pub fn indication_bytes(size: u32, [e2ap, sm]: [Coding; 2]) -> Option<usize> {
    let message = some_ping(size, sm)?;
    let indication = fast::Indication {
        request_id: RicRequestId { requestor: 1021, instance: 0 },
        function_id: hw::DEFAULT_FUNCTION_ID,
        action_id: 0,
        sn: Some(1),
        kind: RicIndicationType::Report,
        header: &[],
        message: &message,
        call_process_id: None,
    };
    let mut pdu = Vec::new();
    indication.encode(&mut pdu).ok()?;
    // The length is the same in all E2AP versions.
    Some(octets(pdu, Version::V2_03, e2ap))
}

/// An event of a ping sender.
pub enum Tick {
    /// A ping is scheduled for this time, which has been reached.
    Due(Instant),
    /// Overdue echoes must be given up.
    GiveUp,
}

/// Timer of pings. It ticks at the configured interval, or never if each ping follows an echo.
pub struct Times {
    due: Option<mpsc::Receiver<Instant>>,
    give_up: tokio::time::Interval,
}

impl Times {
    pub fn new(pinger: &Shared) -> Self {
        let interval = lock(pinger).pace.interval;
        let due = (!interval.is_zero()).then(|| ticks(interval, pinger));
        Self { due, give_up: tokio::time::interval(GIVE_UP) }
    }

    /// Returns the next event. Cancel-safe.
    pub async fn next(&mut self) -> Tick {
        let due = async {
            match &mut self.due {
                Some(due) => due.recv().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            Some(due) = due => {
                // Less than the lead time remains, so the thread spins.
                let end = due.min(Instant::now() + LEAD);
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                Tick::Due(due)
            }
            _ = self.give_up.tick() => Tick::GiveUp,
        }
    }
}

/// Generates scheduled times at an interval, in a thread that sleeps more precisely than the runtime's timer. The
/// thread ends when the receiver is dropped.
fn ticks(interval: Duration, pinger: &Shared) -> mpsc::Receiver<Instant> {
    let (sink, ticks) = mpsc::channel(TICKS_MAX);
    let pinger = pinger.clone();
    std::thread::spawn(move || {
        let mut due = Instant::now() + interval;
        let lead = LEAD.min(interval / 2);
        loop {
            std::thread::sleep((due - lead).saturating_duration_since(Instant::now()));
            match sink.try_send(due) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(_)) => lock(&pinger).unsent += 1,
                Err(mpsc::error::TrySendError::Closed(_)) => return,
            }
            due += interval;
        }
    });
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinger() -> Shared {
        let coding = Coding::Per;
        Pinger::new(Pace { size: 100, interval: Duration::from_millis(1), window: 1, coding }).unwrap()
    }

    #[test]
    fn echo_after_timeout_is_late_and_not_lost() {
        let shared = pinger();
        let mut pinger = lock(&shared);
        pinger.begin();
        let numbers = [0, 1].map(|_| pinger.number(Instant::now()).unwrap());
        let long_ago = Instant::now().checked_sub(ECHO_WAIT * 2).unwrap();
        pinger.under_way.values_mut().for_each(|ping| ping.sent = long_ago);
        assert_eq!(pinger.give_up(), 2);
        assert!(!pinger.returned(numbers[0]), "an echo after the timeout must not count as received");
        let mut report = Report::default();
        pinger.end(&mut report);
        let [sent, received, lost, late] =
            ["sent", "received", "lost", "late"].map(|name| report.numbers[name]);
        assert_eq!([sent, received, lost, late], [2.0, 0.0, 1.0, 1.0]);
        // Late echoes are recorded in the distribution with at least the timeout.
        assert_eq!(report.distributions["rtt_us"].iter().map(|(_, count)| count).sum::<u64>(), 2);
    }

    #[test]
    fn ping_backlog_is_growth_from_second_to_last_quarter() {
        let shared = pinger();
        let mut pinger = lock(&shared);
        pinger.levels = (0..40).collect();
        assert_eq!(pinger.backlog(), 20);
        pinger.levels = [5; 40].into();
        assert_eq!(pinger.backlog(), 0);
        pinger.levels = vec![1, 2];
        assert_eq!(pinger.backlog(), 0);
    }

    #[test]
    fn round_trip_is_counted_once_from_scheduled_send_time() {
        let shared = pinger();
        let mut pinger = lock(&shared);
        pinger.begin();
        let intended = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        let (_, message) = pinger.ping(intended).unwrap();
        assert!(pinger.echo(&message) && !pinger.echo(&message) && !pinger.echo(b"nonsense"));
        let mut report = Report::default();
        pinger.end(&mut report);
        assert_eq!(
            (report.numbers["sent"], report.numbers["received"], report.numbers["lost"]),
            (1.0, 1.0, 0.0)
        );
        let only = |name: &str| report.distributions[name][0].0;
        assert!(only("rtt_us") >= 5_000 && only("lateness_us") >= 5_000);
        assert!(only("rtt_us_service") < only("rtt_us"));
    }

    #[test]
    fn unsent_and_pending_pings_are_not_counted() {
        let shared = pinger();
        let mut pinger = lock(&shared);
        assert_eq!(pinger.report().rtt_us.max, 0.0);
        let (number, _) = pinger.ping(Instant::now()).unwrap();
        pinger.unsent(number);
        let (_, message) = pinger.ping(Instant::now()).unwrap();
        pinger.ping(Instant::now()).unwrap();
        assert!(pinger.echo(&message));
        let report = pinger.report();
        let numbers = pinger.counters();
        assert_eq!((report.sent, report.received, numbers["sent"]), (1, 1, 2.0));
        assert!(report.rtt_us.min > 0.0 && report.rtt_us.min <= report.rtt_us.p50);
        assert!(report.rtt_us.p99 <= report.rtt_us.max);
    }

    #[test]
    fn pings_before_window_are_not_counted() {
        let shared = pinger();
        let mut pinger = lock(&shared);
        let (_, message) = pinger.ping(Instant::now()).unwrap();
        pinger.begin();
        assert!(pinger.echo(&message));
        let mut report = Report::default();
        pinger.end(&mut report);
        assert!(report.distributions["rtt_us"].is_empty());
    }

    #[test]
    fn pings_beyond_pending_limit_are_counted() {
        let shared = pinger();
        let mut pinger = lock(&shared);
        for _ in 0..UNDER_WAY_MAX {
            assert!(pinger.ping(Instant::now()).is_some());
        }
        assert!(pinger.ping(Instant::now()).is_none());
        assert_eq!(pinger.unsent, 1);
    }

    #[test]
    fn computed_message_sizes_depend_on_payload_and_encoding() {
        let per = [Coding::Per; 2];
        let flat = [Coding::Flat; 2];
        let control = |size, codings| control_bytes(size, Version::V2_03, codings).unwrap();
        let small = control(100, per);
        let large = control(1_500, per);
        assert!(small > 100 && large - small >= 1_400, "{small} {large}");
        assert!(indication_bytes(100, per).unwrap() > 100);
        // FlatBuffers need more bytes than PER, by an amount that does not depend on the payload.
        let more = |size| control(size, flat) - control(size, per);
        assert!(more(100) > 30 && more(100).abs_diff(more(1_500)) < 8, "{} {}", more(100), more(1_500));
    }

    #[test]
    fn invalid_pace_is_rejected_with_limits() {
        let pace = |size, us| {
            let interval = Duration::from_micros(us);
            let coding = Coding::Per;
            Pace { size, interval, window: 1, coding }
        };
        let refused = Pinger::new(pace(1, 50)).err().unwrap();
        assert!(refused.what.contains("100 us"), "{}", refused.what);
        let refused = Pinger::new(pace(70_000, 0)).err().unwrap();
        assert!(refused.what.contains("65535 B"), "{}", refused.what);
    }
}
