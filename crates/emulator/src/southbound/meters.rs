//! What a fleet did, summed over its base stations.
use super::incidents::Incidents;
use super::line::{Backlog, Line};
use hdrhistogram::Histogram;
use ranlab_machine::Time;
use ranlab_sdran::agent::AgentCounters;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SouthboundReport {
    /// Base stations started.
    pub nodes: u32,
    /// Base stations connected now.
    pub connected: u32,
    /// Base stations that were asked for reports on this connection.
    pub alive: u32,
    /// UEs active now.
    pub ues: u64,
    /// UEs among them that their controller was told of on this connection.
    pub announced_ues: u64,
    /// Connections made again after a loss.
    pub reconnects: u64,
    /// Connections that could not be made.
    pub refused: u64,
    /// Connections on which the controller asked for reports.
    pub initialised: u64,
    /// Messages that the base stations made: sent, dropped or waiting.
    pub offered: u64,
    /// Messages that the kernel took whole.
    pub sent: u64,
    /// Messages of those that the controller's host acknowledged whole.
    pub acknowledged: u64,
    /// Messages of those that the controller read whole; where its own socket is not seen, those acknowledged.
    pub read: u64,
    /// Octets that the kernel took.
    pub sent_bytes: u64,
    /// Periodical reports among those messages.
    pub reports: u64,
    /// Messages given up: reports that found no room because the controller did not take those before, and what waited when a
    /// connection ended.
    pub dropped: u64,
    /// Messages that wait because the kernel takes no more for the controller.
    pub waiting: u64,
    /// Their octets.
    pub waiting_bytes: u64,
    /// Octets that the kernel took and the controller's host has not acknowledged.
    pub unacknowledged_bytes: u64,
    /// Octets that it acknowledged and the controller has not read, on the connections whose other end is seen.
    pub unread_bytes: u64,
    /// Connections whose other end is seen: the controller's socket is in this network namespace.
    pub readers_seen: u32,
    /// Longest time in which the controller read nothing of what waited for it, if it was a second or more, in microseconds.
    pub unread_us_max: u64,
    /// Base stations that were asked for reports on some connection.
    pub served: u32,
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
    /// Subframes that controllers were told of because they decide on them.
    pub triggers: u64,
    /// Their decisions on subframes that radios took.
    pub decisions: u64,
    /// Their commands and decisions that radios refused, decisions that came too late among them.
    pub refused_commands: u64,
    /// Time from when reports were due until the kernel took their last octet, 99th percentile in microseconds.
    pub taken_us_p99: u64,
    /// Time from when reports were due until the last that can be seen of them, 99th percentile in microseconds: the
    /// controller read them (its socket is in this network namespace), or its host acknowledged them. What still waits counts
    /// as late as it is by now.
    pub lateness_us_p99: u64,
    /// Its maximum.
    pub lateness_us_max: u64,
    /// Initialisation as MARC measures it, median in microseconds.
    pub init_requests_us_p50: u64,
    /// Its maximum.
    pub init_requests_us_max: u64,
    /// Initialisation until reports were asked for, median in microseconds.
    pub init_reporting_us_p50: u64,
    /// Its maximum.
    pub init_reporting_us_max: u64,
}

/// Everything is counted here as it happens: one thread, so cells.
pub(super) struct Meters {
    pub(super) totals: RefCell<AgentCounters>,
    pub(super) connected: Cell<u32>,
    pub(super) alive: Cell<u32>,
    pub(super) ues: Cell<u64>,
    pub(super) announced_ues: Cell<u64>,
    sent: Cell<u64>,
    pub(super) acknowledged: Cell<u64>,
    read: Cell<u64>,
    pub(super) served: Cell<u32>,
    pub(super) incidents: RefCell<Incidents>,
    pub(super) sent_bytes: Cell<u64>,
    reports: Cell<u64>,
    pub(super) losses: Cell<u64>,
    refused: Cell<u64>,
    dropped: Cell<u64>,
    pub(super) last_fault: RefCell<Option<String>>,
    /// The dialect that the controller shows, if it is another one than was told.
    pub(super) shown: Cell<Option<&'static str>>,
    /// How the first attempt to connect ended.
    first_word: RefCell<Option<Result<(), String>>>,
    spoken: Notify,
    pub(super) handovers: Cell<u64>,
    pub(super) taken: RefCell<Histogram<u64>>,
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
            announced_ues: Cell::default(),
            sent: Cell::default(),
            acknowledged: Cell::default(),
            read: Cell::default(),
            served: Cell::default(),
            incidents: RefCell::default(),
            sent_bytes: Cell::default(),
            reports: Cell::default(),
            losses: Cell::default(),
            refused: Cell::default(),
            dropped: Cell::default(),
            last_fault: RefCell::default(),
            shown: Cell::default(),
            first_word: RefCell::default(),
            spoken: Notify::new(),
            handovers: Cell::default(),
            taken: histogram(),
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
    /// A connection stands, or could not be made.
    pub(super) fn connecting_ended(&self, result: Result<(), String>) {
        match result {
            Ok(()) => self.connected.set(self.connected.get() + 1),
            Err(_) => self.refused.set(self.refused.get() + 1),
        }
        self.first_word.borrow_mut().get_or_insert(result);
        self.spoken.notify_waiters();
    }

    /// How the first attempt to connect ended, as soon as one did.
    pub(super) async fn first_word(&self) -> Result<(), String> {
        loop {
            let spoken = self.spoken.notified();
            if let Some(word) = &*self.first_word.borrow() {
                return word.clone();
            }
            spoken.await;
        }
    }

    /// The kernel took a message's last octet; a report was due then.
    pub(super) fn sent(&self, now: Time, due: Option<Time>) {
        self.sent.set(self.sent.get() + 1);
        if let Some(due) = due {
            self.reports.set(self.reports.get() + 1);
            self.taken.borrow_mut().saturating_record(micros(now.since(due)));
        }
    }

    /// The controller read a message whole.
    pub(super) fn read(&self, at: Time, due: Option<Time>) {
        self.read.set(self.read.get() + 1);
        self.late(at, due);
    }

    /// The last was seen of a message; a report was due then.
    pub(super) fn late(&self, at: Time, due: Option<Time>) {
        if let Some(due) = due {
            self.lateness.borrow_mut().saturating_record(micros(at.since(due)));
        }
    }

    /// Messages were given up.
    pub(super) fn drop_messages(&self, messages: u64) {
        self.dropped.set(self.dropped.get() + messages);
    }

    pub(super) fn initialised(&self, delays: Delays) {
        self.init_requests.borrow_mut().saturating_record(micros(delays.to_requests));
        self.init_reporting.borrow_mut().saturating_record(micros(delays.to_reporting));
    }

    /// Adds what an agent counted since `before`.
    pub(super) fn add(&self, before: &AgentCounters, now: &AgentCounters) {
        let mut totals = self.totals.borrow_mut();
        totals.initialised += now.initialised - before.initialised;
        totals.sent += now.sent - before.sent;
        totals.skipped += now.skipped - before.skipped;
        totals.received += now.received - before.received;
        totals.received_bytes += now.received_bytes - before.received_bytes;
        totals.rounds += now.rounds - before.rounds;
        totals.discarded_bytes += now.discarded_bytes - before.discarded_bytes;
        totals.faults += now.faults - before.faults;
        totals.refused_ues += now.refused_ues - before.refused_ues;
        totals.triggers += now.triggers - before.triggers;
        totals.decisions += now.decisions - before.decisions;
        totals.refused_commands += now.refused_commands - before.refused_commands;
    }

    pub(super) fn reset(&self) {
        self.incidents.borrow_mut().reset();
        for histogram in [&self.taken, &self.lateness, &self.init_requests, &self.init_reporting] {
            histogram.borrow_mut().reset();
        }
    }

    /// How late reports were; those that still wait are as late as they are by now. In microseconds.
    pub(super) fn lateness(&self, lines: &[Rc<RefCell<Line>>], now: Time) -> Histogram<u64> {
        let mut lateness = self.lateness.borrow().clone();
        for line in lines {
            for due in line.borrow().overdue() {
                lateness.saturating_record(micros(now.since(due)));
            }
        }
        lateness
    }

    /// What happened so far, and what waits on the lines of all base stations.
    pub(super) fn report(&self, lines: &[Rc<RefCell<Line>>], now: Time) -> SouthboundReport {
        let totals = self.totals.borrow();
        let (taken, lateness) = (self.taken.borrow(), self.lateness(lines, now));
        let mut backlog = Backlog::default();
        lines.iter().for_each(|line| backlog.add(line.borrow().backlog()));
        let at = |histogram: &Histogram<u64>, quantile: f64| {
            if histogram.is_empty() { 0 } else { histogram.value_at_quantile(quantile) }
        };
        let longest = self.incidents.borrow().longest_unread(now);
        let longest = (!longest.is_zero()).then_some(longest);
        let (requests, reporting) = (self.init_requests.borrow(), self.init_reporting.borrow());
        SouthboundReport {
            nodes: u32::try_from(lines.len()).unwrap_or(u32::MAX),
            connected: self.connected.get(),
            alive: self.alive.get(),
            ues: self.ues.get(),
            announced_ues: self.announced_ues.get(),
            reconnects: self.losses.get(),
            refused: self.refused.get(),
            initialised: totals.initialised,
            offered: totals.sent,
            sent: self.sent.get(),
            acknowledged: self.acknowledged.get(),
            read: self.read.get(),
            sent_bytes: self.sent_bytes.get(),
            reports: self.reports.get(),
            dropped: self.dropped.get(),
            waiting: backlog.messages,
            waiting_bytes: backlog.octets,
            unacknowledged_bytes: backlog.unacknowledged,
            unread_bytes: backlog.unread,
            readers_seen: backlog.readers,
            unread_us_max: longest.map_or(0, micros),
            served: self.served.get(),
            skipped: totals.skipped,
            received: totals.received,
            received_bytes: totals.received_bytes,
            rounds: totals.rounds,
            discarded_bytes: totals.discarded_bytes,
            faults: totals.faults,
            refused_ues: totals.refused_ues,
            handovers: self.handovers.get(),
            triggers: totals.triggers,
            decisions: totals.decisions,
            refused_commands: totals.refused_commands,
            taken_us_p99: at(&taken, 0.99),
            lateness_us_p99: at(&lateness, 0.99),
            lateness_us_max: at(&lateness, 1.0),
            init_requests_us_p50: at(&requests, 0.5),
            init_requests_us_max: at(&requests, 1.0),
            init_reporting_us_p50: at(&reporting, 0.5),
            init_reporting_us_max: at(&reporting, 1.0),
        }
    }
}
