//! What a fleet did, summed over its base stations.
use hdrhistogram::Histogram;
use ranlab_machines::southbound::AgentCounters;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Greatest time that is told apart: ten minutes.
const TIME_US_MAX: u64 = 600_000_000;

/// How long an initialisation took, from before the connection was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays {
    /// To the last configuration request, where MARC stops its clock (its connection time not counted).
    pub to_requests: Duration,
    /// To the request for reports: the agent is in the data base.
    pub to_reporting: Duration,
}

/// What a fleet did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SouthboundReport {
    /// Base stations started.
    pub nodes: u32,
    /// Base stations connected now.
    pub connected: u32,
    /// Base stations that were asked for reports on this connection.
    pub alive: u32,
    /// UEs active now.
    pub ues: u64,
    /// Connections made again after a loss.
    pub reconnects: u64,
    /// Connections that could not be made.
    pub refused: u64,
    /// Messages handed to the sockets.
    pub sent: u64,
    /// Their octets.
    pub sent_bytes: u64,
    /// Periodical reports among them.
    pub reports: u64,
    /// Reports dropped because the controller did not take them.
    pub dropped: u64,
    /// Reports whose time passed unused because the emulator was late.
    pub skipped: u64,
    /// Messages received.
    pub received: u64,
    /// Their octets.
    pub received_bytes: u64,
    /// Rounds after a UE's event.
    pub rounds: u64,
    /// Octets of pushed code that were thrown away.
    pub discarded_bytes: u64,
    /// Breaches of the protocol by the controller.
    pub faults: u64,
    /// UE events that could not be served.
    pub refused_ues: u64,
    /// Handovers commanded and carried out.
    pub handovers: u64,
    /// How late reports left, 99th percentile in microseconds.
    pub lateness_us_p99: u64,
    /// Initialisation as MARC measures it, median and maximum in microseconds.
    pub init_requests_us: (u64, u64),
    /// Initialisation until reports were asked for, median and maximum in microseconds.
    pub init_reporting_us: (u64, u64),
}

/// Everything is counted here as it happens: one thread, so cells.
pub(super) struct Meters {
    pub(super) totals: RefCell<AgentCounters>,
    pub(super) connected: Cell<u32>,
    pub(super) alive: Cell<u32>,
    pub(super) ues: Cell<u64>,
    pub(super) losses: Cell<u64>,
    pub(super) refused: Cell<u64>,
    pub(super) dropped: Cell<u64>,
    pub(super) handovers: Cell<u64>,
    lateness: RefCell<Histogram<u64>>,
    init_requests: RefCell<Histogram<u64>>,
    init_reporting: RefCell<Histogram<u64>>,
}

impl Default for Meters {
    fn default() -> Self {
        // Bounds and precision are constants that the histogram accepts.
        #[allow(clippy::expect_used)]
        let histogram =
            || RefCell::new(Histogram::new_with_bounds(1, TIME_US_MAX, 2).expect("constant bounds"));
        Self {
            totals: RefCell::default(),
            connected: Cell::default(),
            alive: Cell::default(),
            ues: Cell::default(),
            losses: Cell::default(),
            refused: Cell::default(),
            dropped: Cell::default(),
            handovers: Cell::default(),
            lateness: histogram(),
            init_requests: histogram(),
            init_reporting: histogram(),
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).clamp(1, TIME_US_MAX)
}

impl Meters {
    pub(super) fn late(&self, time: Duration) {
        self.lateness.borrow_mut().saturating_record(micros(time));
    }

    pub(super) fn initialised(&self, delays: Delays) {
        self.init_requests.borrow_mut().saturating_record(micros(delays.to_requests));
        self.init_reporting.borrow_mut().saturating_record(micros(delays.to_reporting));
    }

    /// Adds what an agent counted since `before`.
    pub(super) fn add(&self, before: &AgentCounters, now: &AgentCounters) {
        let mut totals = self.totals.borrow_mut();
        totals.sent += now.sent - before.sent;
        totals.sent_bytes += now.sent_bytes - before.sent_bytes;
        totals.reports += now.reports - before.reports;
        totals.skipped += now.skipped - before.skipped;
        totals.received += now.received - before.received;
        totals.received_bytes += now.received_bytes - before.received_bytes;
        totals.rounds += now.rounds - before.rounds;
        totals.discarded_bytes += now.discarded_bytes - before.discarded_bytes;
        totals.faults += now.faults - before.faults;
        totals.refused_ues += now.refused_ues - before.refused_ues;
    }

    pub(super) fn reset(&self) {
        for histogram in [&self.lateness, &self.init_requests, &self.init_reporting] {
            histogram.borrow_mut().reset();
        }
    }

    pub(super) fn report(&self, nodes: u32) -> SouthboundReport {
        let totals = self.totals.borrow();
        let at = |histogram: &RefCell<Histogram<u64>>, quantile: f64| {
            let histogram = histogram.borrow();
            if histogram.is_empty() { 0 } else { histogram.value_at_quantile(quantile) }
        };
        let init = |histogram| (at(histogram, 0.5), at(histogram, 1.0));
        SouthboundReport {
            nodes,
            connected: self.connected.get(),
            alive: self.alive.get(),
            ues: self.ues.get(),
            reconnects: self.losses.get(),
            refused: self.refused.get(),
            sent: totals.sent,
            sent_bytes: totals.sent_bytes,
            reports: totals.reports,
            dropped: self.dropped.get(),
            skipped: totals.skipped,
            received: totals.received,
            received_bytes: totals.received_bytes,
            rounds: totals.rounds,
            discarded_bytes: totals.discarded_bytes,
            faults: totals.faults,
            refused_ues: totals.refused_ues,
            handovers: self.handovers.get(),
            lateness_us_p99: at(&self.lateness, 0.99),
            init_requests_us: init(&self.init_requests),
            init_reporting_us: init(&self.init_reporting),
        }
    }
}
