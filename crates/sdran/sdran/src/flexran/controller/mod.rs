//! Controller with the behaviour of FlexRAN. It has a RIB in memory. RIB updater and task manager share cycles of 1 ms.
//!
//! Behaviour that is published, or was measured with the published binary:
//!
//! * All messages go into one queue of 10,000. A full queue drops messages **and leaks their memory**
//!   ([`QueueKind::Leaky`]). [`QueueKind::Bounded`] stops reading instead, so that TCP slows the agents down.
//! * In each cycle, the RIB updater processes up to 350 messages in 20 % of the cycle. Then all applications run in the other 80 %
//!   ([`FlexranControllerSettings::rib_share`]). An updater that exceeds its share is stopped until the next cycle, **and the applications
//!   wait for it**. Under overload there are therefore fewer cycles, CPU usage falls, and queue and memory grow. A new agent waits behind
//!   the queue. A share of 80 % corresponds to AltFlexRAN; `adaptive` adjusts the share to the load, as proposed in section VI of the MARC
//!   paper.
//! * Disconnected agents stay in the RIB.
//! * An application schedules the downlink of selected base stations (`/dl_sched/1`): The application pushes the code of a scheduler, names
//!   the scheduler in a policy, and then decides on each subframe that the base station announces.
mod app;
mod orders;
pub mod resources;
mod rib;
mod rotation;
mod scheduling;

pub use app::{LastRun, Monitor, RatePolicy};
pub use orders::{Command, CommandId, ORDERS_MAX, OrderError};
pub use rib::{AgentNode, Rib, UeNode};

use orders::Orders;
use rotation::Rotation;
use scheduling::FlexibleScheduler;

use crate::agent::{ControllerOutput, SouthboundController};
use crate::controller::{Action, Clock, ConnectionId, ControllerCounters};
use crate::flexran::{FlexranEvent, FlexranSession, SessionSettings};
use bytes::Bytes;
use ranlab_machine::Time;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Capacity of the published queue, in messages.
pub const QUEUE_MESSAGES: usize = 10_000;
/// Maximum number of messages that the published RIB updater processes per cycle.
pub const BATCH_MESSAGES: u32 = 350;
/// Number of subframes between the announced subframe and the scheduled subframe. It allows for the round trip and one cycle.
pub const SCHEDULE_AHEAD: u32 = 4;
/// Time in which an agent must answer the hello with a message; the published controller waits for ever.
pub const FIRST_MESSAGE_WITHIN: Duration = Duration::from_secs(30);
/// Maximum length of a cycle, in normal cycles. Budgets are shares of the time since the last cycle, limited to this length.
const LONGEST_CYCLE: u32 = 4;
/// Bytes that the published queue leaks per dropped message, in addition to the content.
const LEAKED_HEAD_BYTES: usize = 2_048;

/// Behaviour of a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QueueKind {
    /// Drops the message and leaks its memory, as the published controller does.
    #[default]
    Leaky,
    /// Stops reading connections until the queue has space.
    Bounded,
}

/// Division of the cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RibShare {
    /// Fixed share of the RIB updater: 0.2 in FlexRAN, 0.8 in AltFlexRAN.
    Fixed(f64),
    /// Share that the updater needs, between 10 % and 90 %.
    Adaptive,
}

/// Configuration of a controller.
#[derive(Debug, Clone, PartialEq)]
pub struct FlexranControllerSettings {
    /// Duration of a cycle. The published value is 1 ms.
    pub cycle: Duration,
    /// Division of the cycle.
    pub rib_share: RibShare,
    /// Behaviour of a full queue.
    pub queue: QueueKind,
    /// Capacity of the queue, in messages.
    pub queue_messages: usize,
    /// Maximum number of leaked bytes that stay allocated. Memory above this limit is released.
    pub leak_limit_bytes: u64,
    /// Whether disconnected agents stay in the RIB, as in the published controller.
    pub keeps_dead: bool,
    /// Report period requested from agents.
    pub rate: RatePolicy,
    /// Number of subframes between the announced subframe and the scheduled subframe, if this controller schedules.
    pub schedule_ahead: u32,
    /// Orders for each base station that connects.
    pub standing: Vec<Command>,
    /// Interval at which a UE is handed over from one base station to the next, in rotation.
    pub rotate: Option<Duration>,
}

impl Default for FlexranControllerSettings {
    fn default() -> Self {
        Self {
            cycle: Duration::from_millis(1),
            rib_share: RibShare::Fixed(0.2),
            queue: QueueKind::Leaky,
            queue_messages: QUEUE_MESSAGES,
            leak_limit_bytes: 4 << 30,
            keeps_dead: true,
            rate: RatePolicy::Fixed(Duration::from_millis(4)),
            schedule_ahead: SCHEDULE_AHEAD,
            standing: Vec::new(),
            rotate: None,
        }
    }
}

#[derive(Debug)]
enum Ingress {
    Connected,
    Message(Bytes),
    Closed,
}

/// Controller without transport; see the [module](self).
#[derive(Debug)]
pub struct FlexranController {
    settings: FlexranControllerSettings,
    queue: VecDeque<(ConnectionId, Ingress)>,
    leaked: Vec<Box<[u8]>>,
    sessions: BTreeMap<ConnectionId, FlexranSession>,
    /// Connections from which no message has come since the hello, with the time at which each is closed. Connections
    /// are greeted in the order of their ids, so the first entry is always the next to expire.
    silent: BTreeMap<ConnectionId, Time>,
    rib: Rib,
    monitor: Monitor,
    scheduler: FlexibleScheduler,
    rotation: Rotation,
    orders: Orders,
    actions: VecDeque<(ConnectionId, Action)>,
    counters: ControllerCounters,
    share: f64,
    /// Length of the current cycle. Late cycles are longer, and have larger budgets.
    period: Duration,
    last_cycle: Option<Time>,
    batch: u32,
    rib_debt: Duration,
    app_debt: Duration,
}

impl FlexranController {
    /// Returns a controller without agents.
    pub fn new(settings: FlexranControllerSettings) -> Self {
        let share = match settings.rib_share {
            RibShare::Fixed(share) => share.clamp(0.001, 0.999),
            RibShare::Adaptive => 0.2,
        };
        Self {
            queue: VecDeque::new(),
            leaked: Vec::new(),
            sessions: BTreeMap::new(),
            silent: BTreeMap::new(),
            rib: Rib::new(settings.keeps_dead),
            monitor: Monitor::new(settings.rate),
            scheduler: FlexibleScheduler::new(settings.schedule_ahead),
            rotation: Rotation::new(settings.rotate),
            orders: Orders::default(),
            actions: VecDeque::new(),
            counters: ControllerCounters::default(),
            share,
            period: settings.cycle,
            last_cycle: None,
            batch: 0,
            rib_debt: Duration::ZERO,
            app_debt: Duration::ZERO,
            settings,
        }
    }

    /// Registers an agent's connection. The hello is sent when the RIB updater processes it.
    pub fn connected(&mut self, id: ConnectionId) {
        self.counters.connections += 1;
        let settings = SessionSettings { request_statistics: false, ..SessionSettings::default() };
        self.sessions.insert(id, FlexranSession::new(settings));
        self.put(id, Ingress::Connected, LEAKED_HEAD_BYTES);
    }

    /// Queues the messages in received bytes.
    pub fn received(&mut self, id: ConnectionId, octets: &[u8]) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let mut bodies = Vec::new();
        let broken = session.deframe(octets, &mut bodies).is_err();
        if session.has_received() {
            self.silent.remove(&id);
        }
        for body in bodies {
            self.counters.received += 1;
            self.counters.received_bytes += body.len() as u64;
            let kept = LEAKED_HEAD_BYTES + body.len().saturating_sub(LEAKED_HEAD_BYTES);
            self.put(id, Ingress::Message(body), kept);
        }
        if broken {
            self.counters.faults += 1;
            self.actions.push_back((id, Action::Close));
        }
    }

    /// Handles the end of a connection.
    pub fn closed(&mut self, id: ConnectionId) {
        self.silent.remove(&id);
        // A disconnect is never dropped, because the RIB has to be informed.
        self.queue.push_back((id, Ingress::Closed));
    }

    /// Returns whether connections may be read now. With a leaky queue, they may always be read.
    pub fn may_read(&mut self) -> bool {
        let room = self.settings.queue == QueueKind::Leaky || self.queue.len() < self.settings.queue_messages;
        self.counters.back_pressure += u64::from(!room);
        room
    }

    fn put(&mut self, id: ConnectionId, item: Ingress, kept: usize) {
        if self.queue.len() < self.settings.queue_messages || self.settings.queue == QueueKind::Bounded {
            return self.queue.push_back((id, item));
        }
        self.counters.dropped += 1;
        if self.counters.leaked_bytes + kept as u64 <= self.settings.leak_limit_bytes {
            self.counters.leaked_bytes += kept as u64;
            // The content is not zero, so that the memory becomes resident, like the copy that the published controller leaks.
            self.leaked.push(vec![1; kept].into_boxed_slice());
        }
    }

    /// Runs one cycle. The RIB updater runs first, then the applications if the updater has finished its batch.
    pub fn cycle(&mut self, clock: &mut dyn Clock) {
        self.begin_cycle(clock);
        if self.update_rib(clock) {
            self.run_applications(clock);
        }
    }

    /// Begins a cycle. Budgets are shares of the time since the start of the last cycle, which counts as four cycles at most.
    pub fn begin_cycle(&mut self, clock: &mut dyn Clock) {
        let now = clock.now();
        let since = self.last_cycle.map_or(self.settings.cycle, |last| now.since(last));
        self.period = since.clamp(self.settings.cycle, self.settings.cycle * LONGEST_CYCLE);
        self.last_cycle = Some(now);
        self.close_silent(now);
    }

    /// Closes connections whose agent has not sent a message in time.
    fn close_silent(&mut self, now: Time) {
        while let Some(entry) = self.silent.first_entry()
            && *entry.get() <= now
        {
            self.actions.push_back((entry.remove_entry().0, Action::Close));
            self.counters.silent += 1;
        }
    }

    /// Runs the RIB updater. Returns `false` if its budget ended before its batch.
    pub fn update_rib(&mut self, clock: &mut dyn Clock) -> bool {
        let ended = self.update_within_budget(clock);
        self.counters.throttled += u64::from(!ended);
        self.counters.queued = self.queue.len() as u64;
        ended
    }

    fn update_within_budget(&mut self, clock: &mut dyn Clock) -> bool {
        let budget = self.period.mul_f64(self.share);
        if self.rib_debt >= budget {
            self.rib_debt -= budget;
            self.adapt(Duration::ZERO, true);
            return false;
        }
        let budget = budget - self.rib_debt;
        self.rib_debt = Duration::ZERO;
        let began = clock.now();
        let mut ended = true;
        loop {
            let used = clock.now().since(began);
            if used >= budget && !self.queue.is_empty() {
                ended = false;
                break;
            }
            let Some((id, item)) = self.queue.pop_front() else { break };
            if self.batch >= BATCH_MESSAGES {
                // As in the published controller, the loop takes a message before it checks the count. The message is lost.
                if self.settings.queue == QueueKind::Leaky && matches!(item, Ingress::Message(_)) {
                    self.counters.lost_at_batch_end += 1;
                } else {
                    self.queue.push_front((id, item));
                }
                break;
            }
            self.batch += 1;
            self.process(id, item, clock);
        }
        if ended {
            self.batch = 0;
        }
        let used = clock.now().since(began);
        // A message cannot be interrupted, so an overrun is deducted from the next cycle. The CPU reservation of the kernel does the same.
        // A wall clock also counts time in which other processes ran. The maximum excludes such outliers.
        self.rib_debt = used.saturating_sub(budget).min(self.settings.cycle * LONGEST_CYCLE);
        self.adapt(used, !ended);
        ended
    }

    /// Moves the share of the updater towards the share that it needs.
    fn adapt(&mut self, used: Duration, short: bool) {
        if self.settings.rib_share != RibShare::Adaptive {
            return;
        }
        self.share = if short {
            (self.share * 1.1).min(0.9)
        } else {
            let needed = used.as_secs_f64() / self.period.as_secs_f64() * 1.5;
            (self.share * 0.99 + needed * 0.01).clamp(0.1, 0.9)
        };
    }

    /// Runs the applications.
    pub fn run_applications(&mut self, clock: &mut dyn Clock) {
        let budget = self.period.mul_f64(1.0 - self.share);
        if self.app_debt >= budget {
            self.app_debt -= budget;
            return;
        }
        let began = clock.now();
        self.counters.app_runs += 1;
        let periods = self.monitor.run(&self.rib, self.queue.len(), clock);
        for (id, period) in periods {
            if let Some(session) = self.sessions.get_mut(&id) {
                session.request_statistics(period);
            }
            self.drain(id, began);
        }
        for (id, sfn_sf, data) in self.scheduler.run(&self.rib, clock) {
            self.with_session(id, |session| session.allocate(sfn_sf, data));
        }
        if let Some((source, rnti, target)) = self.rotation.run(&self.rib, clock.now())
            && let Ok(ticket) = self.order(Some(source), &Command::HandOver(rnti, target))
        {
            // The outcome of the order is not needed, because the RIB shows whether the handover took place.
            self.forget(ticket);
        }
        let used = clock.now().since(began) + self.app_debt;
        self.app_debt = used.saturating_sub(budget);
    }

    fn process(&mut self, id: ConnectionId, item: Ingress, clock: &mut dyn Clock) {
        match item {
            Ingress::Connected => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.greet();
                    if !session.has_received() {
                        self.silent.insert(id, clock.now() + FIRST_MESSAGE_WITHIN);
                    }
                }
                clock.message(0);
            }
            Ingress::Message(body) => {
                let octets = body.len();
                self.counters.processed += 1;
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.process(body);
                }
                clock.message(octets);
            }
            Ingress::Closed => {
                self.sessions.remove(&id);
                self.rib.lost(id);
                self.monitor.forget(id);
                self.scheduler.set(id, false);
                self.orders.lost(id);
                return;
            }
        }
        let now = clock.now();
        self.drain(id, now);
    }

    fn drain(&mut self, id: ConnectionId, now: Time) {
        let known = |rib: &Rib| rib.agents().get(&id).is_some_and(|agent| agent.alive);
        let before = known(&self.rib);
        while let Some(output) = self.sessions.get_mut(&id).and_then(SouthboundController::poll) {
            match output {
                ControllerOutput::Send(octets) => {
                    self.counters.sent += 1;
                    self.counters.sent_bytes += octets.len() as u64;
                    self.actions.push_back((id, Action::Send(octets)));
                }
                ControllerOutput::Close => self.actions.push_back((id, Action::Close)),
                ControllerOutput::Event(FlexranEvent::Fault(_)) => self.counters.faults += 1,
                ControllerOutput::Event(FlexranEvent::Early) => self.counters.discarded += 1,
                ControllerOutput::Event(FlexranEvent::Outcome { xid, refusal }) => {
                    self.orders.ended(id, xid, refusal);
                }
                ControllerOutput::Event(event) => {
                    self.counters.discarded += self.rib.take(id, now, event);
                }
            }
        }
        if !before && known(&self.rib) {
            self.greet_known(id);
        }
    }

    /// Returns the next action on a connection.
    pub fn poll(&mut self) -> Option<(ConnectionId, Action)> {
        self.actions.pop_front()
    }

    /// Counts a connection that was closed because the agent did not read.
    pub fn not_reading(&mut self) {
        self.counters.not_reading += 1;
    }

    /// Sends a command to an agent: scheduling, slicing or handover.
    pub fn with_session(&mut self, id: ConnectionId, command: impl FnOnce(&mut FlexranSession)) {
        if let Some(session) = self.sessions.get_mut(&id) {
            command(session);
        }
        self.drain(id, Time::ZERO);
    }

    /// Returns the RIB.
    pub fn rib(&self) -> &Rib {
        &self.rib
    }

    /// Returns the number of scheduling decisions, and the number of base stations that this controller schedules.
    pub fn scheduled(&self) -> (u64, usize) {
        self.scheduler.counts()
    }

    /// Returns the result of the monitoring application's last run.
    pub fn seen(&self) -> &LastRun {
        self.monitor.view()
    }

    /// Returns the counters.
    pub fn counters(&self) -> &ControllerCounters {
        &self.counters
    }

    /// Returns the current share of the RIB updater.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Returns the number of queued and leaked bytes.
    pub fn held_bytes(&self) -> u64 {
        let queued = self.queue.iter().map(|(_, item)| match item {
            Ingress::Message(body) => body.len() as u64,
            _ => 0,
        });
        self.counters.leaked_bytes + queued.sum::<u64>()
    }
}

#[cfg(test)]
mod tests;
