//! A monitoring xApp that subscribes at every base station, as a component.

mod measurements;
mod missing;
mod offered;
mod pace;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hdrhistogram::Histogram;
use ranlab_campaign::schema::Kind;
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::LinkLoss;
use ranlab_sdk::e2::xapp::{Dialect, DisconnectReason, Xapp, XappConfig, XappEvent};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, Version};
use ranlab_sdk::wire::e2sm::rc::reports::TRIGGERS;
use ranlab_sdk::wire::e2sm::rc::{self, EventTrigger};
use ranlab_sdk::wire::e2sm::{AGE_MAX_US, Encoding, Model, Octets};
use ranlab_sdk::wire::flat::Coding;
use serde::Serialize;

use crate::E42_PORT;
use crate::e2_fields::E2Names;
use crate::e2_fields::{customary_models, service_models};
use crate::values::{Knowledge, ReceivedReport, Times, Values};
use pace::SlowReader;
use ranlab_lab::field::{Maybe, Text};
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{LEAVE_WAIT, RunningComponent, Task, config, counts, loopback, numbers, parse, rig};

/// Maximum age that is recorded, in microseconds.
const LATENCY_US_MAX: u64 = AGE_MAX_US as u64;
/// Polling interval while waiting for the setup.
const JOINING: Duration = Duration::from_millis(10);
/// Maximum number of events handled before other tasks can run.
const BATCH: usize = 256;

config! {
    /// An xApp that subscribes at base stations.
    pub struct MonitorComponent {
        /// address of the RIC's listener for xApps
        connect: Address = loopback(E42_PORT), wiring();
        /// addresses of further RICs of the same cluster (ric --bus); the xApp connects to the next one when its RIC
        /// disconnects or rejects it; repeatable
        or_at: Vec<Address> = Vec::new(), wiring();
        /// base stations to subscribe at, by complete identity ("gnb 505.01 7/du 1", with or without "gnb"), or all of a
        /// network ("505.01"); repeatable; without it, all
        node: Vec<String> = Vec::new(), wiring();
        /// service models to subscribe to, at every base station that offers them
        sm: Vec<String> = customary_models(), kind(Kind::List(Box::new(Kind::choice(&service_models()))));
        /// report period
        period: Duration = Duration::from_millis(100);
        /// KPM report style, 1 to 5; without it, 4 (each UE), 1 for measurements of the whole node, 2 or 5 with
        /// --kpm-ue
        kpm_style: Option<u32> = None, range(1, 255), wiring();
        /// KPM measurements, by name; without it, all that a base station offers
        kpm_measure: Vec<String> = Vec::new(), wiring();
        /// UEs of the KPM report, as named in ue_ids of reports ("amf=1 f1ap=2"), or a number; repeatable
        kpm_ue: Vec<String> = Vec::new(), wiring();
        /// slice of the KPM report: SST, SST-SD or SST:SD, SD in hexadecimal; without it, all slices (SST 1 at a
        /// third-party base station)
        kpm_snssai: Option<String> = None, wiring();
        /// NR cell of the KPM report: PLMN and 36-bit cell identity in hexadecimal, e.g. 505.01/000000010
        kpm_cell: Option<String> = None, wiring();
        /// KPM granularity period, a divisor of the report period; without it, the report period
        granularity: Option<Duration> = None, wiring();
        /// RC reports to subscribe to: RRC states of UEs, outcomes of handovers, copies of RRC messages (NR, LTE),
        /// neighbours of cells
        rc: Vec<String> = vec!["states".to_owned()], kind(Kind::List(Box::new(Kind::choice(&TRIGGERS)))), wiring();
        /// E2AP version of the RIC, which determines the numbering of messages: 1.01, 2.03 or 3.01
        e2ap: Version as E2Names = Version::V2_03, wiring();
        /// encoding of E2AP: per (aligned PER) or flat (FlatBuffers, supported only by ranlab's RIC)
        encoding: Coding as E2Names = Coding::Per, wiring();
        /// encoding of service model messages, as configured at the base stations (--sm-encoding)
        sm_encoding: Option<Encoding> as Maybe<E2Names> = None, wiring();
        /// dialect of E42: ranlab, flexric, or auto, which starts with FlexRIC's until the RIC identifies itself as
        /// ranlab
        dialect: Dialect as Text = Dialect::Auto, wiring();
        /// same as --dialect flexric
        flexric: bool = false, wiring();
        /// maximum number of indications to read per second, to emulate a slow reader
        at_most: Option<u32> = None, range(1, i64::from(u32::MAX)), wiring();
        /// with --at-most: time at which the limit starts
        slow_from: Duration = Duration::ZERO, wiring();
        /// with --at-most: time at which the limit ends; without it, never
        slow_until: Option<Duration> = None, wiring();
        /// clock offset between this machine and the machine that sets the time stamps of statistics, in microseconds;
        /// subtracted from each age
        ahead_us: i64 = 0, inner();
    }
}

impl MonitorComponent {
    /// Returns the xApp's configuration.
    fn config(&self) -> XappConfig {
        XappConfig::new(self.connect.to_string()).with(|it| {
            it.version = self.e2ap;
            it.dialect = if self.flexric { Dialect::FlexRic } else { self.dialect };
            it.coding = self.encoding;
            it.or_at = self.or_at.iter().map(ToString::to_string).collect();
            it.nodes.clone_from(&self.node);
        })
    }

    /// Returns the xApp as a state machine with its subscriptions, for the RIC named `ric`. `life` is the seed of its
    /// random choices.
    pub(crate) fn machine(&self, ric: &str, life: u32) -> Result<Xapp, ComponentError> {
        let mut config = self.config();
        (config.address, config.seed) = (ric.to_owned(), life.into());
        config.or_at.clear();
        let mut xapp = Xapp::new(config);
        for (oid, trigger) in self.wanted()? {
            match self.plan(oid)? {
                Some(plan) => xapp.subscribe_all_planned(oid, plan),
                None => xapp.subscribe_all(oid, trigger, vec![ActionToBeSetup::report(0)]),
            }
            .map_err(rig)?;
        }
        Ok(xapp)
    }

    /// Returns the service models from the registry.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is not a known service model.
    pub fn models(&self) -> Result<Vec<&'static dyn Model>, ComponentError> {
        self.sm.iter().map(|name| parse(name)).collect()
    }

    /// Returns the requested subscriptions: object identifiers and event triggers of the service models.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is not a known service model, or a model cannot encode the period.
    pub fn wanted(&self) -> Result<Vec<(&'static str, Bytes)>, ComponentError> {
        let mut subscriptions = Vec::new();
        for model in self.models()? {
            let encoding = model.encoding_or(self.sm_encoding);
            if model.oid() == rc::OID {
                for name in &self.rc {
                    let trigger = EventTrigger::named(name)
                        .ok_or_else(|| rig(format!("\"{name}\" is not one of {}", TRIGGERS.join(", "))))?;
                    subscriptions.push((model.oid(), trigger.to_octets(encoding).map_err(rig)?));
                }
            } else {
                let triggers = model.triggers(encoding, self.period).map_err(rig)?;
                subscriptions.extend(triggers.into_iter().map(|trigger| (model.oid(), trigger)));
            }
        }
        Ok(subscriptions)
    }
}

/// Counters of a monitor.
#[derive(Debug, Clone, Serialize)]
pub struct MonitorReport {
    /// Number of known base stations.
    pub nodes: usize,
    /// Number of admitted subscriptions.
    pub subscriptions: usize,
    /// Number of received indications.
    pub indications: u64,
    /// Bytes of the indication messages.
    pub bytes: u64,
    /// Number of gaps in the sequence numbers, or `None` if a base station does not number its indications.
    pub lost: Option<u64>,
    /// Number of sequence numbers that were received twice.
    pub repeated: u64,
    /// Age of the statistics on arrival, in microseconds. Null in JSON if no report had a usable time stamp. The age
    /// includes the offset between the clocks of both machines.
    #[serde(serialize_with = "known")]
    pub latency_us: Latency,
    /// Number of reports whose time stamp gives no age, because it has whole seconds, another epoch, or another clock.
    pub without_age: u64,
    /// Classification of the time stamps.
    pub times: Times,
    /// Number of connections that were lost and restored.
    pub restored: u64,
}

/// Summary of a distribution, in microseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    /// Median of the distribution.
    pub p50: u64,
    /// 99th percentile of the distribution.
    pub p99: u64,
    /// Maximum of the distribution.
    pub max: u64,
}

impl fmt::Display for Latency {
    /// Formats as `p50 9 us, p99 20 us, max 31 us`, or as `unknown` without a sample.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, p99, max } = self;
        if *max == 0 { f.write_str("unknown") } else { write!(f, "p50 {p50} us, p99 {p99} us, max {max} us") }
    }
}

/// Serializes a distribution without samples as null. Samples are at least 1 us.
fn known<S: serde::Serializer>(latency: &Latency, serializer: S) -> Result<S::Ok, S::Error> {
    (latency.max > 0).then_some(latency).serialize(serializer)
}

/// Callback for every report, with the time of its arrival in microseconds since the Unix epoch on this machine's clock.
pub type Listener = Box<dyn FnMut(&ReceivedReport<'_>, i64)>;

/// A running monitoring xApp.
pub struct RunningMonitor {
    /// The SDK's handle.
    pub xapp: XappHandle,
    counted: Rc<RefCell<MonitorCounters>>,
    lost_at_begin: Option<u64>,
    messages_at_begin: (u64, u64),
    third_party: bool,
    part_models: Vec<&'static dyn Model>,
    /// Names of the base stations; empty for all base stations.
    names: Vec<String>,
    task: Task,
}

/// Counters of the events that an xApp received.
pub(crate) struct MonitorCounters {
    values: Values,
    latency_us: Histogram<u64>,
    indications: u64,
    bytes: u64,
    disconnects: u64,
    /// Number of reports with a time stamp from which no age follows.
    without_age: u64,
    ahead_us: i64,
    arrived: Option<Result<(), String>>,
    arrival: Arrival,
    speaks: Option<Dialect>,
    listener: Option<Listener>,
    /// UEs that subscriptions name and that base stations have not reported.
    missing: missing::MissingUes,
    /// Reasons why base stations have no subscription or do not report UEs, oldest first.
    troubles: VecDeque<String>,
}

/// Maximum number of stored reasons.
const TROUBLES_MAX: usize = 64;

impl RunningMonitor {
    /// Subscribes and counts indications. Must be called inside a `LocalSet`.
    ///
    /// # Errors
    ///
    /// Returns an error if a service model cannot encode the period.
    pub fn start(part: &MonitorComponent) -> Result<Self, ComponentError> {
        Self::with(part, Values::passing(&part.models()?, part.sm_encoding), None)
    }

    /// Subscribes and counts indications like [`start`](Self::start). In addition it stores the latest values (of a
    /// single UE if `ue` is set) for [`values`](Self::values), and calls `listener` for each report.
    ///
    /// # Errors
    ///
    /// Returns an error like [`start`](Self::start).
    pub fn showing(
        part: &MonitorComponent,
        ue: Option<u32>,
        listener: Listener,
    ) -> Result<Self, ComponentError> {
        let values = Values::new(&part.models()?, part.sm_encoding, ue).with_period(part.period);
        Self::with(part, values, Some(listener))
    }

    fn with(
        part: &MonitorComponent,
        values: Values,
        listener: Option<Listener>,
    ) -> Result<Self, ComponentError> {
        let subscriptions = part.wanted()?;
        let config = part.config();
        let dialect = config.dialect;
        let counted = Rc::new(RefCell::new(MonitorCounters::new(part, values, listener)?));
        let xapp = XappHandle::start(config, SocketOptions::default());
        for (oid, trigger) in subscriptions {
            match part.plan(oid)? {
                Some(plan) => xapp.subscribe_all_planned(oid, plan),
                None => xapp.subscribe_all_raw(oid, trigger, vec![ActionToBeSetup::report(0)]),
            }
            .map_err(rig)?;
        }
        let task = Task::spawn(take(xapp.clone(), counted.clone(), SlowReader::new(part)));
        Ok(Self {
            xapp,
            counted,
            lost_at_begin: None,
            messages_at_begin: (0, 0),
            third_party: dialect == Dialect::FlexRic,
            part_models: part.models()?,
            names: part.node.clone(),
            task,
        })
    }

    /// Passes the latest values to `look`. They are empty unless the watcher was started with
    /// [`showing`](Self::showing).
    pub fn values<T>(&self, look: impl FnOnce(&Values) -> T) -> T {
        let counted = &mut *self.counted.borrow_mut();
        self.xapp.read(|xapp| counted.values.take_losses(|handle| xapp.lost(handle)));
        look(&counted.values)
    }

    /// Returns the E42 dialect of the RIC, if the configuration requests detection and the dialect is known.
    pub fn speaks(&self) -> Option<Dialect> {
        self.counted.borrow().speaks
    }

    /// Returns the next reason why a base station has no subscription or does not report a UE. Reasons are recorded
    /// only by a watcher started with [`showing`](Self::showing).
    pub fn trouble(&self) -> Option<String> {
        let mut counted = self.counted.borrow_mut();
        let overdue = counted.missing.overdue(Instant::now());
        overdue.into_iter().for_each(|sentence| counted.trouble(sentence));
        counted.troubles.pop_front()
    }

    /// Waits for the setup.
    ///
    /// # Errors
    ///
    /// Returns an error if no RIC listens at the address. Later disconnects are retried without a limit.
    pub async fn joined(&self) -> Result<(), String> {
        loop {
            if let Some(outcome) = self.counted.borrow().arrived.clone() {
                return outcome;
            }
            tokio::time::sleep(JOINING).await;
        }
    }

    /// Returns the counters so far.
    pub fn report(&self) -> MonitorReport {
        let counted = self.counted.borrow();
        self.xapp.read(|xapp| counted.report(xapp))
    }
}

async fn take(xapp: XappHandle, counted: Rc<RefCell<MonitorCounters>>, mut pace: SlowReader) {
    loop {
        let event = xapp.next().await;
        counted.borrow_mut().take(&xapp, &event, unix_us);
        // Events that are already queued are handled without waiting.
        for _ in 0..BATCH {
            let Some(event) = xapp.try_next() else { break };
            counted.borrow_mut().take(&xapp, &event, unix_us);
            if let Some(rest) = pace.rest() {
                tokio::time::sleep(rest).await;
            }
        }
        tokio::task::yield_now().await;
    }
}

impl MonitorCounters {
    pub(crate) fn new(
        part: &MonitorComponent,
        values: Values,
        listener: Option<Listener>,
    ) -> Result<Self, ComponentError> {
        Ok(Self {
            values,
            latency_us: Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).map_err(rig)?,
            indications: 0,
            bytes: 0,
            disconnects: 0,
            without_age: 0,
            ahead_us: part.ahead_us,
            arrived: None,
            arrival: Arrival { closed: false, others: part.or_at.len() },
            speaks: None,
            listener,
            missing: missing::MissingUes::new(part.period),
            troubles: VecDeque::new(),
        })
    }

    /// Returns whether the setup ever succeeded.
    pub(crate) fn has_joined(&self) -> bool {
        matches!(self.arrived, Some(Ok(())))
    }

    pub(crate) fn begin(&mut self) {
        self.latency_us.reset();
        (self.indications, self.bytes, self.disconnects, self.without_age) = (0, 0, 0, 0);
    }

    pub(crate) fn report(&self, xapp: &Xapp) -> MonitorReport {
        let age = &self.latency_us;
        MonitorReport {
            nodes: xapp.nodes().count(),
            subscriptions: xapp.subscriptions().0,
            indications: self.indications,
            bytes: self.bytes,
            lost: xapp.lost_total(),
            repeated: xapp.repeated_total(),
            latency_us: Latency {
                p50: age.value_at_quantile(0.5),
                p99: age.value_at_quantile(0.99),
                max: age.max(),
            },
            without_age: self.without_age,
            times: self.values.times(),
            restored: self.disconnects,
        }
    }

    /// Returns the distribution of ages, as pairs of microseconds and count.
    pub(crate) fn ages(&self) -> Vec<(u64, u64)> {
        counts(&self.latency_us)
    }

    /// Counts an event. `now_us` returns the time on the clock that measures ages.
    pub(crate) fn take(&mut self, xapp: &dyn Knowledge, event: &XappEvent, now_us: impl FnOnce() -> i64) {
        self.arrived = self.arrived.take().or_else(|| self.arrival.on_event(event));
        let is_indication = matches!(event, XappEvent::Indication { .. });
        let received_us = if is_indication { now_us() } else { 0 };
        let received = self.values.take_of(xapp, event, received_us.saturating_sub(self.ahead_us));
        match event {
            XappEvent::Indication { handle, indication, .. } => {
                self.indications += 1;
                self.bytes += indication.message.len() as u64;
                self.missing.on_report(*handle, &indication.message);
                let Some(received) = received else { return };
                if let Some((_, time)) = received.stamp() {
                    match time.age_us {
                        // The histogram has no values below 1.
                        Some(age_us) => self.latency_us.saturating_record(age_us.max(1)),
                        None => self.without_age += 1,
                    }
                }
                if let Some(listener) = &mut self.listener {
                    listener(&received, received_us);
                }
            }
            XappEvent::Speaks { dialect } => self.speaks = Some(*dialect),
            XappEvent::Disconnected { .. } => self.disconnects += 1,
            XappEvent::NotOffered { reason, .. } => self.trouble(reason.clone()),
            XappEvent::Subscribed { handle, node, .. } if self.listener.is_some() => {
                let definition = xapp.action(*handle, 0);
                self.missing.on_subscribed(Instant::now(), (*handle, *node), definition.as_ref());
            }
            XappEvent::SubscriptionFailed { handle, node, failure, .. } => {
                self.missing.on_end(*handle);
                self.trouble(format!("{node}: the subscription failed: {failure}"));
            }
            _ => {}
        }
    }

    fn trouble(&mut self, reason: String) {
        if self.listener.is_some() && self.troubles.len() < TROUBLES_MAX && !self.troubles.contains(&reason) {
            self.troubles.push_back(reason);
        }
    }
}

/// Waits until a started xApp is set up. Returns an error text if no RIC responds. The xApp itself continues to
/// connect.
pub async fn joined(xapp: &XappHandle) -> Result<(), String> {
    let mut arrival = Arrival { closed: false, others: xapp.read(|xapp| xapp.addresses() - 1) };
    loop {
        if let Some(outcome) = arrival.on_event(&xapp.next().await) {
            return outcome;
        }
    }
}

/// Progress of an xApp's setup.
struct Arrival {
    /// Whether a RIC has accepted a connection and closed it.
    closed: bool,
    /// Number of RICs that have not been tried yet.
    others: usize,
}

impl Arrival {
    /// Returns the outcome of the setup, or `None` if the event does not decide it, or another RIC may still accept
    /// the xApp.
    fn on_event(&mut self, event: &XappEvent) -> Option<Result<(), String>> {
        let outcome = self.outcome(event)?;
        if outcome.is_err() && self.others > 0 {
            self.others -= 1;
            return None;
        }
        Some(outcome)
    }

    fn outcome(&mut self, event: &XappEvent) -> Option<Result<(), String>> {
        match event {
            XappEvent::Ready { .. } => Some(Ok(())),
            XappEvent::SetupFailed { cause: Some(cause), .. } => {
                Some(Err(format!("the RIC refuses this xApp: {cause}")))
            }
            XappEvent::Disconnected {
                why: DisconnectReason::Lost(LinkLoss::ClosedByPeer | LinkLoss::Broken(_)),
                ..
            } => {
                self.closed = true;
                None
            }
            XappEvent::Disconnected { why: DisconnectReason::Lost(why), .. }
                if matches!(why, LinkLoss::NotConnected(_) | LinkLoss::BadAddress(_)) =>
            {
                let hint = "; before, the RIC closed the connection after the setup request. FlexRIC 2.0 crashes at a \
                            request for node events; for it, use --dialect flexric";
                Some(Err(format!("{why}{}", if self.closed { hint } else { "" })))
            }
            _ => None,
        }
    }
}

/// Returns the messages that an xApp has sent and received since its start.
pub(crate) fn messages(xapp: &XappHandle) -> (u64, u64) {
    xapp.read(|xapp| {
        let sent = xapp.outbox_counters();
        (sent.control + sent.indications, xapp.counters().received)
    })
}

pub(crate) fn unix_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

impl RunningComponent for RunningMonitor {
    fn counters(&mut self) -> Counters {
        let report = self.report();
        let mut numbers = numbers(&report);
        let latency = [("latency_us_p50", report.latency_us.p50), ("latency_us_p99", report.latency_us.p99)];
        numbers.extend(latency.map(|(name, value)| (name.to_owned(), value as f64)));
        numbers
    }

    fn begin(&mut self) {
        self.lost_at_begin = self.xapp.read(|xapp| xapp.lost_total());
        self.messages_at_begin = messages(&self.xapp);
        self.counted.borrow_mut().begin();
    }

    fn end(&mut self, report: &mut Report) {
        let lost = self.xapp.read(|xapp| xapp.lost_total());
        let (sent, received) = messages(&self.xapp);
        let counted = self.counted.borrow();
        report.put([
            ("messages_sent", sent - self.messages_at_begin.0),
            ("messages_received", received - self.messages_at_begin.1),
            ("indications", counted.indications),
            ("bytes", counted.bytes),
            ("disconnects", counted.disconnects),
            ("early", counted.without_age),
            ("subscriptions", self.xapp.read(|xapp| xapp.subscriptions().0) as u64),
        ]);
        if let Some((then, now)) = self.lost_at_begin.zip(lost) {
            report.put([("lost", now.saturating_sub(then))]);
        }
        report.distributions.insert("latency_us".to_owned(), counted.ages());
    }

    fn leave(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        self.task.0.abort();
        Box::pin(async {
            if self.third_party {
                // A third-party RIC keeps serving the subscriptions of an xApp that only disconnects. This would slow
                // down the next repetition.
                self.xapp.leave(LEAVE_WAIT).await;
            }
        })
    }
}

#[cfg(test)]
mod tests;
