//! A controller as FlexRAN's: a RIB in memory, a RIB updater and a task manager that share cycles of 1 ms.
//!
//! What is published and what is measured of the published binary:
//!
//! * The network side puts every message into one queue of 10,000. When it is full the message is dropped **and its
//!   memory kept** ([`QueueKind::Leaky`]); [`QueueKind::Bounded`] stops reading instead, so that TCP holds the agents back.
//! * In each cycle the RIB updater takes up to 350 messages with 20 % of the cycle; then every application runs with
//!   the other 80 % ([`FlexranControllerSettings::rib_share`]). An updater that has used up its share is stopped until the
//!   next cycle, **and the applications wait for it**. So in overload there are fewer cycles, the CPU falls, the
//!   queue and the memory grow and whoever joins waits behind the queue. A share of 80 % is AltFlexRAN; `adaptive` moves
//!   the share to where the work is, which MARC §VI asks for.
//! * Dead agents stay in the RIB.
//! * An application schedules the downlink of those base stations that it is told to (`/dl_sched/1`): it pushes a scheduler's
//!   code and names it in a policy; then it decides on each subframe that they tell it of.
mod app;
mod orders;
#[cfg(feature = "serve")]
mod resources;
mod rib;
mod rotation;
mod scheduling;
#[cfg(feature = "serve")]
pub mod serve;

pub use app::{Monitor, RatePolicy, Seen};
pub use orders::{ORDERS_MAX, Order, OrderError, Ticket};
pub use rib::{AgentNode, Rib, UeNode};

use orders::Orders;
use rotation::Rotation;
use scheduling::FlexibleScheduler;

use crate::southbound::{Action, Clock, ConnectionId, ControllerCounters};
use bytes::Bytes;
use ranlab_machines::Time;
use ranlab_machines::flexran::{FlexranEvent, FlexranSession, SessionSettings};
use ranlab_machines::southbound::{ControllerOutput, SouthboundController};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Messages that the published queue holds.
pub const QUEUE_MESSAGES: usize = 10_000;
/// Messages that the published RIB updater takes in a cycle.
pub const BATCH_MESSAGES: u32 = 350;
/// Subframes between the one that a base station tells of and the one that is decided on: there and back, and a cycle.
pub const SCHEDULE_AHEAD: u32 = 4;
/// Cycles that one late cycle may stand for.
const LONGEST_CYCLE: u32 = 4;
/// What the published queue keeps of a dropped message besides its content.
const LEAKED_HEAD_BYTES: usize = 2_048;

/// What happens when the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QueueKind {
    /// As published: the message is dropped, its memory is not given back.
    #[default]
    Leaky,
    /// The connection is not read until there is room.
    Bounded,
}

/// How the cycle is shared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RibShare {
    /// This part for the RIB updater: 0.2 is FlexRAN, 0.8 AltFlexRAN.
    Fixed(f64),
    /// As much as the updater needs, between a tenth and nine tenths.
    Adaptive,
}

/// A controller to start.
#[derive(Debug, Clone, PartialEq)]
pub struct FlexranControllerSettings {
    /// A cycle; 1 ms as published.
    pub cycle: Duration,
    /// How it is shared.
    pub rib_share: RibShare,
    /// What happens when the queue is full.
    pub queue: QueueKind,
    /// Messages that it holds.
    pub queue_messages: usize,
    /// Octets of dropped messages that are kept at most; beyond, they are given back.
    pub leak_limit_bytes: u64,
    /// Whether dead agents stay in the RIB, as published.
    pub keeps_dead: bool,
    /// How often agents are asked to report.
    pub rate: RatePolicy,
    /// How many subframes ahead of the present one it decides, where it schedules.
    pub schedule_ahead: u32,
    /// Orders that each base station gets when it comes.
    pub standing: Vec<Order>,
    /// How often a UE of the next base station in turn is handed over to the one after it.
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

/// The policy: see the [module](self).
#[derive(Debug)]
pub struct FlexranController {
    settings: FlexranControllerSettings,
    queue: VecDeque<(ConnectionId, Ingress)>,
    leaked: Vec<Box<[u8]>>,
    sessions: BTreeMap<ConnectionId, FlexranSession>,
    rib: Rib,
    monitor: Monitor,
    scheduler: FlexibleScheduler,
    rotation: Rotation,
    orders: Orders,
    actions: VecDeque<(ConnectionId, Action)>,
    counters: ControllerCounters,
    share: f64,
    /// Length of this cycle: late ones are longer, their budgets too.
    period: Duration,
    last_cycle: Option<Time>,
    batch: u32,
    rib_debt: Duration,
    app_debt: Duration,
}

impl FlexranController {
    /// A controller without agents.
    pub fn new(settings: FlexranControllerSettings) -> Self {
        let share = match settings.rib_share {
            RibShare::Fixed(share) => share.clamp(0.001, 0.999),
            RibShare::Adaptive => 0.2,
        };
        Self {
            queue: VecDeque::new(),
            leaked: Vec::new(),
            sessions: BTreeMap::new(),
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

    /// An agent connected. The hello goes out when the RIB updater gets there.
    pub fn connected(&mut self, id: ConnectionId) {
        self.counters.connections += 1;
        let settings = SessionSettings { request_statistics: false, ..SessionSettings::default() };
        self.sessions.insert(id, FlexranSession::new(settings));
        self.put(id, Ingress::Connected, LEAKED_HEAD_BYTES);
    }

    /// Octets came.
    pub fn received(&mut self, id: ConnectionId, octets: &[u8]) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let mut bodies = Vec::new();
        let broken = session.deframe(octets, &mut bodies).is_err();
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

    /// The connection ended.
    pub fn closed(&mut self, id: ConnectionId) {
        // A loss is never dropped: the queue must not decide who is there.
        self.queue.push_back((id, Ingress::Closed));
    }

    /// Whether a connection may be read now; with a leaky queue always.
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
            // Written, so that it is resident as the published copy is.
            self.leaked.push(vec![1; kept].into_boxed_slice());
        }
    }

    /// One cycle: the RIB updater, then the applications if the updater's batch has ended.
    pub fn cycle(&mut self, clock: &mut dyn Clock) {
        self.begin_cycle(clock);
        if self.update_rib(clock) {
            self.run_applications(clock);
        }
    }

    /// Begins a cycle. Budgets are parts of the time since the last one began, at most of four cycles.
    pub fn begin_cycle(&mut self, clock: &mut dyn Clock) {
        let now = clock.now();
        let since = self.last_cycle.map_or(self.settings.cycle, |last| now.since(last));
        self.period = since.clamp(self.settings.cycle, self.settings.cycle * LONGEST_CYCLE);
        self.last_cycle = Some(now);
    }

    /// The RIB updater's part of a cycle; `false` if its budget ended before its batch.
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
                // Published: the loop takes a message before it looks at its count.
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
        // As the kernel's reservation: a message cannot be cut in two, so what it took too long is paid back. A clock on a
        // wall also counts when others had the CPU: no message takes longer than this.
        self.rib_debt = used.saturating_sub(budget).min(self.settings.cycle * LONGEST_CYCLE);
        self.adapt(used, !ended);
        ended
    }

    /// Moves the share towards what the updater needs.
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

    /// The applications' part of a cycle.
    pub fn run_applications(&mut self, clock: &mut dyn Clock) {
        let budget = self.period.mul_f64(1.0 - self.share);
        if self.app_debt >= budget {
            self.app_debt -= budget;
            return;
        }
        let began = clock.now();
        self.counters.app_runs += 1;
        let wanted = self.monitor.run(&self.rib, self.queue.len(), clock);
        for (id, period) in wanted {
            if let Some(session) = self.sessions.get_mut(&id) {
                session.request_statistics(period);
            }
            self.drain(id, began);
        }
        for (id, sfn_sf, data) in self.scheduler.run(&self.rib, clock) {
            self.with_session(id, |session| session.allocate(sfn_sf, data));
        }
        if let Some((source, rnti, target)) = self.rotation.run(&self.rib, clock.now())
            && let Ok(ticket) = self.order(Some(source), &Order::HandOver(rnti, target))
        {
            // Whether it went shows in the RIB.
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

    /// What is to be done about connections.
    pub fn poll(&mut self) -> Option<(ConnectionId, Action)> {
        self.actions.pop_front()
    }

    /// A connection was ended because the agent did not read.
    pub fn not_reading(&mut self) {
        self.counters.not_reading += 1;
    }

    /// A command to an agent: for applications that schedule, slice or hand over.
    pub fn with_session(&mut self, id: ConnectionId, command: impl FnOnce(&mut FlexranSession)) {
        if let Some(session) = self.sessions.get_mut(&id) {
            command(session);
        }
        self.drain(id, Time::ZERO);
    }

    /// What it knows.
    pub fn rib(&self) -> &Rib {
        &self.rib
    }

    /// Decisions on subframes so far, and base stations whose downlink it schedules.
    pub fn scheduled(&self) -> (u64, usize) {
        self.scheduler.counts()
    }

    /// What the monitoring application saw last.
    pub fn seen(&self) -> &Seen {
        self.monitor.seen()
    }

    /// What it did.
    pub fn counters(&self) -> &ControllerCounters {
        &self.counters
    }

    /// The RIB updater's share now.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Octets that the queue and the leak hold.
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
