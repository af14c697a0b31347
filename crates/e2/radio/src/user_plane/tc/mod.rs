//! Traffic control between SDAP and RLC: packets are classified into queues, policed, scheduled, shaped and paced.
//! The configuration can change while packets wait.

mod classify;
mod pacer;
mod queue;
mod rate;

use super::flow::FiveTuple;
use super::histogram::Sojourn;
use super::rlc::Packet;
pub use classify::{Filter, Rule};
use pacer::Bdp;
pub use pacer::Pacer;
use queue::Queue;
pub use queue::{QUEUE_BYTES_MAX, QUEUE_PACKETS_MAX, QueueKind, QueueStats};
use rate::Bucket;
pub use rate::{Policer, RATE_KBPS_MAX, Shaper};

/// Maximum number of queues of a bearer.
pub const QUEUES_MAX: usize = 16;
/// Maximum number of rules in a bearer's classifier.
pub const RULES_MAX: usize = 64;
/// Maximum number of packets passed to RLC in one slot.
const PULL_MAX: usize = 512;

/// Configuration of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSpec {
    /// Identity of the queue.
    pub id: u32,
    /// Queue management algorithm.
    pub kind: QueueKind,
    /// Size in bytes above which packets are dropped, 1 to [`QUEUE_BYTES_MAX`].
    pub capacity_bytes: u64,
    /// Shaper, which limits the rate of packets that leave the queue.
    pub shaper: Option<Shaper>,
    /// Policer, which limits the rate of packets that enter the queue.
    pub policer: Option<Policer>,
}

impl QueueSpec {
    /// Returns a first-in, first-out queue with the maximum size.
    pub const fn fifo(id: u32) -> Self {
        Self { id, kind: QueueKind::Fifo, capacity_bytes: QUEUE_BYTES_MAX, shaper: None, policer: None }
    }
}

/// Algorithm that selects the queue that sends next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TcScheduler {
    /// Round robin: one packet of each queue.
    #[default]
    RoundRobin,
    /// Strict priority: the first queue with a packet in this order. Unnamed queues follow, ordered by identity.
    Priority(Vec<u32>),
}

/// A change of a bearer's traffic control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcCommand {
    /// Adds a queue.
    AddQueue {
        /// Identity of the new queue.
        id: u32,
        /// Queue management algorithm.
        kind: QueueKind,
    },
    /// Creates a queue, or reconfigures the queue with this identity, which keeps its packets.
    PutQueue(QueueSpec),
    /// Changes the management of a queue. Its packets stay.
    ModifyQueue {
        /// Identity of the queue.
        id: u32,
        /// New queue management algorithm.
        kind: QueueKind,
    },
    /// Removes a queue. Its packets and its rules move to queue 0, which cannot be removed.
    DeleteQueue(u32),
    /// Adds a rule at the end of the classifier.
    AddRule(Rule),
    /// Replaces the rule with the same identity.
    ModifyRule(Rule),
    /// Removes a rule.
    DeleteRule(u32),
    /// Sets the scheduler of the queues.
    Scheduler(TcScheduler),
    /// Sets a queue's shaper, or removes it (`None`).
    Shaper(u32, Option<Shaper>),
    /// Sets a queue's policer, or removes it (`None`).
    Policer(u32, Option<Policer>),
    /// Sets the pacer, which limits the amount of data passed to RLC.
    Pacer(Pacer),
}

/// Reason why a change was rejected. The configuration does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TcError {
    /// The queue does not exist.
    #[error("there is no queue {0}")]
    NoQueue(u32),
    /// The queue already exists.
    #[error("queue {0} already exists")]
    QueueExists(u32),
    /// Queue 0 cannot be removed, because it receives unclassified packets.
    #[error("queue 0 receives packets that match no rule and cannot be deleted")]
    DefaultQueue,
    /// The rule does not exist.
    #[error("there is no rule {0}")]
    NoRule(u32),
    /// The rule already exists.
    #[error("rule {0} already exists")]
    RuleExists(u32),
    /// There are too many queues or rules.
    #[error("a bearer can have at most {QUEUES_MAX} queues and {RULES_MAX} rules")]
    TooMany,
    /// A number is out of bounds.
    #[error("{what} is {given}; {allowed} is allowed")]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// Given value.
        given: u32,
        /// Allowed range.
        allowed: &'static str,
    },
    /// A queue occurs twice in the order of priority.
    #[error("queue {0} occurs twice in the order of priority")]
    Twice(u32),
}

/// State of a queue, as shown to a custom stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueView {
    /// Identity of the queue.
    pub id: u32,
    /// Counters of the queue.
    pub stats: QueueStats,
    /// Size of the first waiting packet in bytes. `None` if no packet waits, or if a shaper delays it.
    pub head_bytes: Option<u32>,
}

/// A custom pacer or scheduler. It gets counters and sizes, and returns a decision. An invalid decision (a queue
/// without packets) counts as no decision.
pub trait TcStage: std::fmt::Debug + Send {
    /// Returns the index of the queue that sends next, or `None` if no queue sends in this slot. Called on schedulers.
    fn pick(&mut self, queues: &[QueueView], now_us: u64) -> Option<usize> {
        let _ = now_us;
        queues.iter().position(|queue| queue.head_bytes.is_some())
    }

    /// Returns whether a packet may be passed to RLC, which buffers `bearer_bytes` for the bearer. Called on pacers.
    fn admits(&mut self, packet_bytes: u32, bearer_bytes: u64, now_us: u64) -> bool {
        let _ = (packet_bytes, bearer_bytes, now_us);
        true
    }
}

/// Function of traffic control that a custom stage replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageRole {
    /// Selection of the next queue.
    Scheduler,
    /// Limit of the amount of data passed to RLC.
    Pacer,
}

/// Configuration of traffic control, and statistics of its queues.
#[derive(Debug, Clone, PartialEq)]
pub struct TcStats {
    /// Rules of the classifier, in order.
    pub rules: Vec<Rule>,
    /// Queues, with queue 0 first.
    pub queues: Vec<QueueReport>,
    /// Scheduler of the queues.
    pub scheduler: TcScheduler,
    /// Pacer of the bearer.
    pub pacer: Pacer,
    /// Number of packets that policers dropped.
    pub policed_packets: u64,
    /// Rate that the pacer estimates for the bearer in kbit/s; zero without a pacer.
    pub paced_kbps: u64,
}

/// Configuration and statistics of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueReport {
    /// Identity of the queue.
    pub id: u32,
    /// Queue management algorithm.
    pub kind: QueueKind,
    /// Shaper of the queue.
    pub shaper: Option<Shaper>,
    /// Policer of the queue.
    pub policer: Option<Policer>,
    /// Counters of the queue.
    pub stats: QueueStats,
}

/// Shaper and policer of a queue, with their state.
#[derive(Debug, Default)]
struct Limits {
    shaper: Option<(Shaper, Bucket)>,
    policer: Option<(Policer, Bucket, Option<Bucket>)>,
}

impl Limits {
    /// Sets the shaper. An unchanged shaper keeps its state.
    fn shape(&mut self, shaper: Option<Shaper>, now_us: u64) {
        if self.shaper.map(|known| known.0) != shaper {
            self.shaper = shaper.map(|it| (it, Bucket::new(it.kbps, it.window_ms, now_us)));
        }
    }

    /// Sets the policer. An unchanged policer keeps its state.
    fn police(&mut self, policer: Option<Policer>, now_us: u64) {
        if self.policer.map(|known| known.0) != policer {
            self.policer = policer.map(|it| {
                let bucket = |kbps| Bucket::new(kbps, it.window_ms, now_us);
                (it, bucket(it.drop_kbps), it.deviate.map(|(_, kbps)| bucket(kbps)))
            });
        }
    }
}

/// Traffic control of a bearer.
#[derive(Debug)]
pub(crate) struct Tc {
    rules: Vec<Rule>,
    queues: Vec<(Queue, Limits)>,
    scheduler: TcScheduler,
    turn: usize,
    pacer: Pacer,
    bdp: Bdp,
    stages: [Option<Box<dyn TcStage>>; 2],
    policed: u64,
    waiting: usize,
    views: Vec<QueueView>,
}

impl Tc {
    /// Creates one FIFO queue without rules and pacing, which passes packets unchanged.
    pub(crate) fn new(now_us: u64) -> Self {
        Self {
            rules: Vec::new(),
            queues: vec![(Queue::new(0, QueueKind::Fifo), Limits::default())],
            scheduler: TcScheduler::RoundRobin,
            turn: 0,
            pacer: Pacer::Dummy,
            bdp: Bdp::new(now_us),
            stages: [None, None],
            policed: 0,
            waiting: 0,
            views: Vec::new(),
        }
    }

    /// Returns whether packets are queued.
    pub(crate) fn waits(&self) -> bool {
        self.waiting > 0
    }

    pub(crate) fn load(&mut self, role: StageRole, stage: Option<Box<dyn TcStage>>) {
        self.stages[role as usize] = stage;
    }

    pub(crate) fn stats(&self) -> TcStats {
        let queue = |(queue, limits): &(Queue, Limits)| {
            let shaper = limits.shaper.map(|s| s.0);
            let policer = limits.policer.map(|p| p.0);
            QueueReport { id: queue.id, kind: queue.kind, shaper, policer, stats: queue.stats }
        };
        TcStats {
            rules: self.rules.clone(),
            queues: self.queues.iter().map(queue).collect(),
            scheduler: self.scheduler.clone(),
            pacer: self.pacer,
            policed_packets: self.policed,
            paced_kbps: if self.pacer == Pacer::Dummy { 0 } else { self.bdp.kbps() },
        }
    }

    pub(crate) fn take_sojourns(&mut self) -> Vec<(u32, Sojourn)> {
        self.queues.iter_mut().map(|(queue, _)| (queue.id, std::mem::take(&mut queue.sojourn))).collect()
    }

    /// Adds a packet. Returns false if the packet was dropped.
    pub(crate) fn push(&mut self, tuple: &FiveTuple, packet: Packet, now_us: u64) -> bool {
        let rule = self.rules.iter().find(|rule| rule.filter.matches(tuple));
        let Some(mut index) = self.place(rule.map_or(0, |rule| rule.queue)) else { return false };
        if let Some((policer, drops, deviates)) = &mut self.queues[index].1.policer {
            if !drops.take(packet.bytes, now_us) {
                self.policed += 1;
                self.queues[index].0.stats.policed_packets += 1;
                return false;
            }
            let within = deviates.as_mut().is_none_or(|bucket| bucket.take(packet.bytes, now_us));
            if let (false, Some((queue, _))) = (within, policer.deviate) {
                index = self.place(queue).unwrap_or(index);
            }
        }
        let taken = self.queues[index].0.push(packet);
        self.waiting += usize::from(taken);
        taken
    }

    /// Passes packets to RLC while the pacer admits them; `held` is the number of bytes in the bearer.
    pub(crate) fn pull(
        &mut self,
        mut held: u64,
        now_us: u64,
        mut pass: impl FnMut(Packet) -> u32,
        mut dropped: impl FnMut(Packet),
    ) {
        self.bdp.sample(held, now_us);
        for _ in 0..PULL_MAX {
            if self.waiting == 0 {
                return;
            }
            let Some(index) = self.pick(now_us) else { return };
            let bytes = self.queues[index].0.head().map_or(0, |packet| packet.bytes);
            if !self.admits(bytes, held, now_us) {
                return;
            }
            let waiting = &mut self.waiting;
            let packet = self.queues[index].0.pop(now_us, |packet| {
                *waiting -= 1;
                dropped(packet);
            });
            let Some(packet) = packet else { continue };
            *waiting -= 1;
            if let Some((_, bucket)) = &mut self.queues[index].1.shaper {
                bucket.spend(packet.bytes);
            }
            self.bdp.passed(packet.bytes);
            held += u64::from(pass(packet));
            self.turn = index + 1;
        }
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.queues.iter().position(|(queue, _)| queue.id == id)
    }

    fn admits(&mut self, bytes: u32, held: u64, now_us: u64) -> bool {
        if let Some(stage) = &mut self.stages[StageRole::Pacer as usize] {
            return stage.admits(bytes, held, now_us);
        }
        match self.pacer {
            Pacer::Dummy => true,
            Pacer::Bdp { cap_bytes, floor_bytes } => self.bdp.admits(bytes, cap_bytes, floor_bytes, now_us),
        }
    }

    /// Returns the next queue with a packet that no shaper delays.
    fn pick(&mut self, now_us: u64) -> Option<usize> {
        fn ready((queue, limits): &mut (Queue, Limits), now_us: u64) -> Option<u32> {
            let bytes = queue.head()?.bytes;
            limits.shaper.as_mut().is_none_or(|(_, bucket)| bucket.allows(bytes, now_us)).then_some(bytes)
        }
        let count = self.queues.len();
        if let Some(stage) = &mut self.stages[StageRole::Scheduler as usize] {
            self.views.clear();
            self.views.extend(self.queues.iter_mut().map(|queue| {
                let head_bytes = ready(queue, now_us);
                QueueView { id: queue.0.id, stats: queue.0.stats, head_bytes }
            }));
            let views = &self.views;
            return stage
                .pick(views, now_us)
                .filter(|index| views.get(*index).is_some_and(|q| q.head_bytes.is_some()));
        }
        match &self.scheduler {
            TcScheduler::RoundRobin => {
                let turn = self.turn;
                (0..count)
                    .map(|step| (turn + step) % count)
                    .find(|i| ready(&mut self.queues[*i], now_us).is_some())
            }
            TcScheduler::Priority(order) => {
                let rank = |id: u32| (order.iter().position(|other| *other == id).unwrap_or(order.len()), id);
                let ready = self.queues.iter_mut().enumerate().filter_map(|(index, queue)| {
                    let id = queue.0.id;
                    ready(queue, now_us).map(|_| (rank(id), index))
                });
                ready.min().map(|(_, index)| index)
            }
        }
    }

    /// Executes a command completely or not at all.
    pub(crate) fn command(&mut self, command: &TcCommand, now_us: u64) -> Result<(), TcError> {
        self.check(command)?;
        self.apply(command, now_us);
        Ok(())
    }

    /// Checks that a command can be applied.
    pub(crate) fn check(&self, command: &TcCommand) -> Result<(), TcError> {
        let queue = |id: u32| self.place(id).map(|_| ()).ok_or(TcError::NoQueue(id));
        let rule = |id: u32| self.rules.iter().any(|rule| rule.id == id);
        match command {
            TcCommand::AddQueue { id, .. } if self.place(*id).is_some() => Err(TcError::QueueExists(*id)),
            TcCommand::AddQueue { .. } if self.queues.len() >= QUEUES_MAX => Err(TcError::TooMany),
            TcCommand::AddQueue { kind, .. } => check_kind(*kind),
            TcCommand::PutQueue(spec) => {
                if self.place(spec.id).is_none() && self.queues.len() >= QUEUES_MAX {
                    return Err(TcError::TooMany);
                }
                let capacity = u32::try_from(spec.capacity_bytes).unwrap_or(u32::MAX);
                check_number("the capacity", capacity, 1..=QUEUE_BYTES_MAX as u32, "1 to 50000000 bytes")?;
                check_kind(spec.kind)?;
                check_shaper(spec.shaper)?;
                self.check_policer(spec.policer)
            }
            TcCommand::ModifyQueue { id, kind } => queue(*id).and_then(|()| check_kind(*kind)),
            TcCommand::DeleteQueue(0) => Err(TcError::DefaultQueue),
            TcCommand::DeleteQueue(id) => queue(*id),
            TcCommand::AddRule(new) if rule(new.id) => Err(TcError::RuleExists(new.id)),
            TcCommand::AddRule(_) if self.rules.len() >= RULES_MAX => Err(TcError::TooMany),
            TcCommand::AddRule(new) => queue(new.queue),
            TcCommand::ModifyRule(new) if rule(new.id) => queue(new.queue),
            TcCommand::DeleteRule(id) if rule(*id) => Ok(()),
            TcCommand::ModifyRule(Rule { id, .. }) | TcCommand::DeleteRule(id) => Err(TcError::NoRule(*id)),
            TcCommand::Scheduler(TcScheduler::RoundRobin) => Ok(()),
            TcCommand::Scheduler(TcScheduler::Priority(order)) => {
                order.iter().enumerate().try_for_each(|(at, id)| {
                    if order[..at].contains(id) { Err(TcError::Twice(*id)) } else { queue(*id) }
                })
            }
            TcCommand::Shaper(id, shaper) => queue(*id).and_then(|()| check_shaper(*shaper)),
            TcCommand::Policer(id, policer) => queue(*id).and_then(|()| self.check_policer(*policer)),
            TcCommand::Pacer(Pacer::Dummy) => Ok(()),
            TcCommand::Pacer(Pacer::Bdp { cap_bytes, floor_bytes }) => {
                check_number("the cap", *cap_bytes, 1500..=10_000_000, "1500 to 10000000 bytes")?;
                check_number("the floor", *floor_bytes, 1500..=*cap_bytes, "1500 bytes to the cap")
            }
        }
    }

    fn check_policer(&self, policer: Option<Policer>) -> Result<(), TcError> {
        let Some(policer) = policer else { return Ok(()) };
        check_rate(policer.drop_kbps)?;
        check_window(policer.window_ms)?;
        policer.deviate.map_or(Ok(()), |(to, kbps)| {
            self.place(to).map(|_| ()).ok_or(TcError::NoQueue(to))?;
            check_rate(kbps)
        })
    }

    fn apply(&mut self, command: &TcCommand, now_us: u64) {
        let limits = |queues: &mut [(Queue, Limits)], id: u32, set: &dyn Fn(&mut Limits)| {
            queues.iter_mut().filter(|(queue, _)| queue.id == id).for_each(|(_, limits)| set(limits));
        };
        let push = |queues: &mut Vec<_>, id, kind| queues.push((Queue::new(id, kind), Limits::default()));
        match command {
            TcCommand::AddQueue { id, kind } => push(&mut self.queues, *id, *kind),
            TcCommand::PutQueue(spec) => {
                if self.place(spec.id).is_none() {
                    push(&mut self.queues, spec.id, spec.kind);
                }
                for (queue, limits) in self.queues.iter_mut().filter(|(queue, _)| queue.id == spec.id) {
                    queue.set_kind(spec.kind);
                    queue.capacity_bytes = spec.capacity_bytes;
                    limits.shape(spec.shaper, now_us);
                    limits.police(spec.policer, now_us);
                }
            }
            TcCommand::ModifyQueue { id, kind } => {
                self.queues
                    .iter_mut()
                    .filter(|(queue, _)| queue.id == *id)
                    .for_each(|(queue, _)| queue.set_kind(*kind));
            }
            TcCommand::DeleteQueue(id) => self.delete_queue(*id),
            TcCommand::AddRule(rule) => self.rules.push(*rule),
            TcCommand::ModifyRule(rule) => {
                self.rules.iter_mut().filter(|old| old.id == rule.id).for_each(|old| *old = *rule);
            }
            TcCommand::DeleteRule(id) => self.rules.retain(|rule| rule.id != *id),
            TcCommand::Scheduler(scheduler) => self.scheduler = scheduler.clone(),
            TcCommand::Shaper(id, shaper) => {
                limits(&mut self.queues, *id, &|limits| limits.shape(*shaper, now_us))
            }
            TcCommand::Policer(id, policer) => {
                limits(&mut self.queues, *id, &|limits| limits.police(*policer, now_us))
            }
            TcCommand::Pacer(pacer) => {
                self.pacer = *pacer;
                self.bdp = Bdp::new(now_us);
            }
        }
    }

    fn delete_queue(&mut self, id: u32) {
        let Some(index) = self.place(id) else { return };
        let (mut queue, _) = self.queues.remove(index);
        for packet in queue.drain() {
            // Packets that do not fit into queue 0 are dropped and counted there.
            self.waiting -= usize::from(!self.queues[0].0.push(packet));
        }
        for rule in self.rules.iter_mut().filter(|rule| rule.queue == id) {
            rule.queue = 0;
        }
        if let TcScheduler::Priority(order) = &mut self.scheduler {
            order.retain(|other| *other != id);
        }
        for (_, limits) in &mut self.queues {
            if let Some((policer, _, _)) = &mut limits.policer {
                policer.deviate = policer.deviate.filter(|(to, _)| *to != id);
            }
        }
    }
}

fn check_number(
    what: &'static str,
    given: u32,
    range: std::ops::RangeInclusive<u32>,
    allowed: &'static str,
) -> Result<(), TcError> {
    if range.contains(&given) { Ok(()) } else { Err(TcError::Number { what, given, allowed }) }
}

fn check_window(ms: u32) -> Result<(), TcError> {
    check_number("the window", ms, 1..=10_000, "1 to 10000 ms")
}

fn check_shaper(shaper: Option<Shaper>) -> Result<(), TcError> {
    let Some(shaper) = shaper else { return Ok(()) };
    check_rate(shaper.kbps)?;
    check_window(shaper.window_ms)
}

fn check_rate(kbps: u32) -> Result<(), TcError> {
    check_number("the rate", kbps, 1..=RATE_KBPS_MAX, "1 to 10000000 kbit/s")
}

fn check_kind(kind: QueueKind) -> Result<(), TcError> {
    let QueueKind::CoDel { target_us, interval_us } = kind else { return Ok(()) };
    check_number("the target", target_us, 1..=1_000_000, "1 to 1000000 us")?;
    check_number("the interval", interval_us, target_us..=1_000_000, "the target to 1000000 us")
}
