//! Usage of a session. Packet workers count it, and the control thread reports it.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Volume limits, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Limit of the sum of both directions.
    pub total: Option<u64>,
    /// Limit of the uplink.
    pub uplink: Option<u64>,
    /// Limit of the downlink.
    pub downlink: Option<u64>,
}

impl Limits {
    /// Returns whether no limit is set.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether these uplink and downlink volumes have reached a limit.
    fn reached(&self, uplink: u64, downlink: u64) -> bool {
        self.total.is_some_and(|limit| uplink + downlink >= limit)
            || self.uplink.is_some_and(|limit| uplink >= limit)
            || self.downlink.is_some_and(|limit| downlink >= limit)
    }
}

/// Limits that a packet has reached at a meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Crossed {
    /// Whether the packet was the first one, or the first one after traffic had stopped.
    pub start: bool,
    /// Whether the volume threshold was reached.
    pub threshold: bool,
    /// Whether the volume quota is exhausted.
    pub quota: bool,
}

/// Bytes and packets of one usage rule. Each direction is written by one worker. Any thread may read.
#[derive(Debug, Default)]
pub struct Usage {
    uplink: [AtomicU64; 2],
    downlink: [AtomicU64; 2],
    /// Uplink and downlink bytes at the last report.
    reported: [AtomicU64; 2],
    /// Uplink and downlink bytes when the quota was granted.
    granted: [AtomicU64; 2],
    /// Whether packets are stopped until a quota is granted.
    exhausted: AtomicBool,
    /// Whether traffic flows: a packet has been counted since the last stop.
    started: AtomicBool,
    /// Times of the last uplink packet and of the last downlink packet, in nanoseconds of the monotonic clock.
    last_ns: [AtomicU64; 2],
    /// Lock that is held while `reported` or `granted` changes.
    lock: Mutex<()>,
}

impl Usage {
    /// Returns uplink bytes, uplink packets, downlink bytes and downlink packets, in this order.
    pub fn read(&self) -> [u64; 4] {
        let [a, b] = &self.uplink;
        let [c, d] = &self.downlink;
        [a, b, c, d].map(|number| number.load(Relaxed))
    }

    /// Returns whether packets are stopped until a quota is granted.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted.load(Relaxed)
    }

    /// Stops packets until a quota is granted.
    pub fn exhaust(&self) {
        self.exhausted.store(true, Relaxed);
    }

    /// Returns the time of the last counted packet, in nanoseconds of the monotonic clock. Returns 0 before the first packet.
    pub fn last_ns(&self) -> u64 {
        let [up, down] = &self.last_ns;
        up.load(Relaxed).max(down.load(Relaxed))
    }

    /// Returns whether traffic flows.
    pub fn is_started(&self) -> bool {
        self.started.load(Relaxed)
    }

    /// Marks the traffic as stopped if its last packet was counted at `last_ns`. The next packet is then a start of traffic. Returns
    /// `false` if a later packet has been counted.
    pub fn stop(&self, last_ns: u64) -> bool {
        let _held = self.held();
        // A packet that is counted after this store is a start of traffic, because the flag is cleared.
        self.started.store(false, Relaxed);
        let is_over = self.last_ns() == last_ns;
        if !is_over {
            self.started.store(true, Relaxed);
        }
        is_over
    }

    /// Reads the counters for a report, and restarts the thresholds.
    pub fn report(&self) -> [u64; 4] {
        let _held = self.held();
        let read = self.read();
        set(&self.reported, read);
        read
    }

    /// Grants a quota, which counts from now on.
    fn grant(&self, quota: Limits) {
        let _held = self.held();
        set(&self.granted, self.read());
        self.exhausted.store(quota.reached(0, 0), Relaxed);
    }

    fn held(&self) -> MutexGuard<'_, ()> {
        // After a panic, the guarded values are still consistent.
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns uplink and downlink bytes since a mark.
    fn since(&self, mark: &[AtomicU64; 2]) -> [u64; 2] {
        let [up, down] = mark;
        let octets = |now: &AtomicU64, then: &AtomicU64| now.load(Relaxed).saturating_sub(then.load(Relaxed));
        [octets(&self.uplink[0], up), octets(&self.downlink[0], down)]
    }

    fn has_reached(&self, limits: &Limits, mark: &[AtomicU64; 2]) -> bool {
        let [uplink, downlink] = self.since(mark);
        limits.reached(uplink, downlink)
    }
}

fn set(mark: &[AtomicU64; 2], read: [u64; 4]) {
    let [up, down] = mark;
    up.store(read[0], Relaxed);
    down.store(read[2], Relaxed);
}

/// A usage rule of a session with its counters.
#[derive(Debug, Clone)]
pub struct Meter {
    /// Id of the usage rule.
    pub urr_id: u32,
    /// Volumes after which usage is reported.
    pub threshold: Limits,
    /// Volumes after which packets are stopped.
    pub quota: Limits,
    /// Whether the meter also counts packets that QoS rules drop afterwards.
    pub before_qos: bool,
    /// Whether the first packet causes an event.
    pub watches_start: bool,
    /// Counters of the rule.
    pub usage: Arc<Usage>,
}

impl Meter {
    /// Grants the quota, which counts from now on. Packets pass again.
    pub fn grant(&self) {
        self.usage.grant(self.quota);
    }

    /// Counts a packet, for callers other than packet workers. Returns the limits that it has reached.
    pub fn count(&self, now_ns: u64, uplink: bool, octets: u64) -> Crossed {
        self.add(now_ns, uplink, octets).map_or_else(Crossed::default, |(crossed, _)| crossed)
    }

    /// Counts a packet. If a limit was reached, returns it together with the counters at that time.
    pub(super) fn add(&self, now_ns: u64, uplink: bool, octets: u64) -> Option<(Crossed, [u64; 4])> {
        let usage = &*self.usage;
        let [sum, packets] = if uplink { &usage.uplink } else { &usage.downlink };
        usage.last_ns[usize::from(!uplink)].store(now_ns, Relaxed);
        // Each direction has a single writer, so no atomic read-modify-write is needed.
        sum.store(sum.load(Relaxed) + octets, Relaxed);
        packets.store(packets.load(Relaxed) + 1, Relaxed);
        let threshold = !self.threshold.is_none() && usage.has_reached(&self.threshold, &usage.reported);
        let quota = !self.quota.is_none() && usage.has_reached(&self.quota, &usage.granted);
        let start = self.watches_start && !usage.started.load(Relaxed);
        (threshold || quota || start).then(|| self.cross()).flatten()
    }

    /// Determines the limits that were reached. This needs the lock, because the worker of the other direction may reach a limit at the
    /// same time.
    #[cold]
    fn cross(&self) -> Option<(Crossed, [u64; 4])> {
        let usage = &*self.usage;
        let _held = usage.held();
        let quota = !self.quota.is_none() && usage.has_reached(&self.quota, &usage.granted);
        let crossed = Crossed {
            start: self.watches_start && !usage.started.swap(true, Relaxed),
            threshold: !self.threshold.is_none() && usage.has_reached(&self.threshold, &usage.reported),
            quota: quota && !usage.exhausted.swap(true, Relaxed),
        };
        let read = usage.read();
        if crossed.threshold || crossed.quota {
            set(&usage.reported, read);
        }
        (crossed != Crossed::default()).then_some((crossed, read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(threshold: Option<u64>, quota: Option<u64>) -> Meter {
        let limits = |total| Limits { total, ..Default::default() };
        Meter {
            urr_id: 1,
            threshold: limits(threshold),
            quota: limits(quota),
            before_qos: false,
            watches_start: false,
            usage: Arc::default(),
        }
    }

    #[test]
    fn threshold_counts_from_last_report() {
        let mut meter = meter(Some(1_000), None);
        let crossed = |meter: &Meter| meter.add(0, true, 400).is_some_and(|(crossed, _)| crossed.threshold);
        let reports: Vec<bool> = (0..6).map(|_| crossed(&meter)).collect();
        assert_eq!(reports, [false, false, true, false, false, true]);
        assert!(!crossed(&meter));
        meter.usage.report();
        meter.threshold.total = Some(500);
        assert_eq!([crossed(&meter), crossed(&meter)], [false, true]);
        meter.threshold = Limits { downlink: Some(400), ..Default::default() };
        assert!(!crossed(&meter), "the uplink has no limit");
        assert!(meter.add(0, false, 400).is_some());
    }

    #[test]
    fn exhausted_quota_is_reported_once_and_new_quota_counts_from_grant() {
        let meter = meter(None, Some(1_000));
        meter.grant();
        let crossed: Vec<bool> =
            (0..3).map(|_| meter.add(0, false, 500).is_some_and(|(crossed, _)| crossed.quota)).collect();
        assert_eq!(crossed, [false, true, false]);
        assert!(meter.usage.is_exhausted());
        meter.grant();
        assert!(!meter.usage.is_exhausted() && meter.add(0, false, 999).is_none());
        assert!(meter.add(0, false, 1).is_some_and(|(crossed, read)| crossed.quota && read[2] == 2_500));
    }

    #[test]
    fn first_packet_after_a_stop_is_a_start() {
        let meter = Meter { watches_start: true, ..meter(None, None) };
        let starts = |now_ns| meter.count(now_ns, true, 100).start;
        assert_eq!([starts(1), starts(2)], [true, false]);
        assert!(!meter.usage.stop(1), "a later packet was counted");
        assert!(!starts(3));
        assert!(meter.usage.stop(3) && !meter.usage.is_started());
        assert_eq!([starts(4), starts(5)], [true, false]);
    }

    #[test]
    fn zero_quota_stops_immediately() {
        let meter = meter(None, Some(0));
        meter.grant();
        assert!(meter.usage.is_exhausted());
    }
}
