//! The parties of a world: their kinds, their start, and the requests of xApps.
use crate::impostor::Impostor;
use crate::machine::Machine;
use crate::tracer_function::{TracerLog, trigger};
use ranlab_e2::Time;
use ranlab_e2::agent::Agent;
use ranlab_e2::ric::{ListenerProtocol, Ric, XappGrant};
use ranlab_e2::xapp::{StandingHandle, SubscribeError, SubscriptionHandle, Xapp, XappConfig};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, GlobalE2NodeId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Creates the n-th incarnation of an agent at a time, with tracer functions that write to a logbook.
pub(crate) type MakeAgent = Box<dyn Fn(Time, u32, TracerLog) -> Agent>;

/// Reports that an xApp requests while the request is turned on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionGoal {
    /// Object identifier of the tracer function.
    pub oid: String,
    /// Reporting period, in milliseconds.
    pub period_ms: u32,
    /// Value repeated in each report; differs among the requests of an xApp.
    pub tag: u32,
    /// Node that reports; `None`: all nodes that the xApp sees.
    pub node: Option<GlobalE2NodeId>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum SubscriptionRef {
    Standing(StandingHandle),
    Single(SubscriptionHandle),
}

pub(crate) struct XappHost {
    pub(crate) config: XappConfig,
    pub(crate) grant: XappGrant,
    pub(crate) wishes: Vec<(SubscriptionGoal, bool)>,
    pub(crate) made: Vec<Option<SubscriptionRef>>,
}

pub(crate) struct AgentHost {
    pub(crate) make: MakeAgent,
    pub(crate) node_id: GlobalE2NodeId,
    pub(crate) rics: Vec<String>,
    pub(crate) logbook: TracerLog,
    /// Whether all reports of the agent come from tracer functions, so that the ledger checks them.
    pub(crate) judged: bool,
}

/// Creates the n-th incarnation of an xApp at a time.
pub(crate) type MakeXapp = Box<dyn Fn(Time, u32) -> Xapp>;

pub(crate) enum Kind {
    Ric(Box<dyn Fn(u32) -> Ric>),
    Agent(AgentHost),
    /// An xApp that requests tracer reports; its deliveries are checked.
    Xapp(Box<XappHost>),
    /// An xApp whose events go to the caller: [`World::take_heard`](crate::World::take_heard).
    Client(MakeXapp),
    Impostor(String, Vec<GlobalE2NodeId>),
}

const MILLION: u64 = 1_000_000;

fn scaled(nanos: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(nanos) * u128::from(by) / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

/// A party, running or stopped.
pub(crate) struct Party {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) machine: Option<Machine>,
    pub(crate) life: u32,
    /// Open connections, by the key that the party's machine uses.
    pub(crate) ends: BTreeMap<u64, u64>,
    pub(crate) armed: Option<Time>,
    pub(crate) last_wake: Time,
    pub(crate) wakes: u32,
    pub(crate) frozen_until: Time,
    pub(crate) bytes_per_second: Option<u64>,
    /// Additional delay of messages that the party sends and receives.
    pub(crate) delay: Duration,
    /// Time by which the party's clock is ahead of the world's clock.
    pub(crate) ahead: Duration,
    /// Rate difference between the party's clock and the world's clock, in millionths (positive: faster).
    pub(crate) faster_ppm: i32,
}

impl Party {
    pub(crate) fn new(name: String, kind: Kind) -> Self {
        Self {
            name,
            kind,
            machine: None,
            life: 0,
            ends: BTreeMap::new(),
            armed: None,
            last_wake: Time::ZERO,
            wakes: 0,
            frozen_until: Time::ZERO,
            bytes_per_second: None,
            delay: Duration::ZERO,
            ahead: Duration::ZERO,
            faster_ppm: 0,
        }
    }

    /// Returns the reading of the party's clock at a time of the world.
    pub(crate) fn clock(&self, now: Time) -> Time {
        if self.faster_ppm == 0 {
            return now + self.ahead;
        }
        Time::from_nanos(scaled(now.as_nanos(), self.rate(), MILLION)) + self.ahead
    }

    fn rate(&self) -> u64 {
        MILLION.saturating_add_signed(self.faster_ppm.into())
    }

    /// Returns the time of the world at which the party's clock shows a reading.
    pub(crate) fn true_time(&self, clock: Time) -> Time {
        let since = Time::ZERO + clock.since(Time::ZERO).saturating_sub(self.ahead);
        if self.faster_ppm == 0 {
            return since;
        }
        // The time is rounded up, so that an event planned for it is never early.
        Time::from_nanos(scaled(since.as_nanos(), MILLION, self.rate()).saturating_add(1))
    }

    pub(crate) fn frozen(&self, now: Time) -> Option<Time> {
        Some(self.frozen_until).filter(|until| *until > now)
    }

    pub(crate) fn side(&self) -> ListenerProtocol {
        if matches!(self.kind, Kind::Agent(_)) { ListenerProtocol::E2 } else { ListenerProtocol::E42 }
    }

    pub(crate) fn xapp(&self) -> Option<(&XappHost, &Xapp)> {
        match (&self.kind, &self.machine) {
            (Kind::Xapp(host), Some(Machine::Xapp(machine))) => Some((host, machine)),
            _ => None,
        }
    }

    pub(crate) fn agent(&self) -> Option<(&AgentHost, &Agent)> {
        match (&self.kind, &self.machine) {
            (Kind::Agent(host), Some(Machine::Agent(machine))) => Some((host, machine)),
            _ => None,
        }
    }

    pub(crate) fn ric(&self) -> Option<&Ric> {
        match &self.machine {
            Some(Machine::Ric(machine)) => Some(machine),
            _ => None,
        }
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.life += 1;
        let life = self.life;
        self.machine = Some(match &mut self.kind {
            Kind::Ric(make) => Machine::Ric(Box::new(make(life))),
            Kind::Agent(host) => {
                host.logbook = TracerLog::default();
                Machine::Agent(Box::new((host.make)(now, life, host.logbook.clone())))
            }
            Kind::Xapp(host) => Machine::Xapp(Box::new(host.start(life))),
            Kind::Client(make) => Machine::Xapp(Box::new(make(now, life))),
            Kind::Impostor(address, nodes) => {
                Machine::Impostor(Box::new(Impostor::new(address.clone(), nodes.clone())))
            }
        });
    }
}

impl XappHost {
    fn start(&mut self, life: u32) -> Xapp {
        let seed = self.config.seed.wrapping_add(life.into());
        let mut xapp = Xapp::new(self.config.clone().with(|it| it.seed = seed));
        let made = self.wishes.iter().map(|(wish, on)| on.then(|| subscribe(&mut xapp, wish).ok()).flatten());
        self.made = made.collect();
        xapp
    }

    /// Turns one of the xApp's requests on or off.
    pub(crate) fn toggle(&mut self, xapp: &mut Xapp, wish: usize) {
        let Some((goal, on)) = self.wishes.get_mut(wish) else { return };
        match std::mem::take(&mut self.made[wish]) {
            Some(SubscriptionRef::Standing(handle)) => xapp.unsubscribe_all(handle),
            Some(SubscriptionRef::Single(handle)) => xapp.unsubscribe(handle),
            None => self.made[wish] = subscribe(xapp, goal).ok(),
        }
        *on = self.made[wish].is_some();
    }
}

fn subscribe(xapp: &mut Xapp, wish: &SubscriptionGoal) -> Result<SubscriptionRef, SubscribeError> {
    let trigger = trigger(wish.period_ms, wish.tag);
    let actions = vec![ActionToBeSetup::report(0)];
    match wish.node {
        None => xapp.subscribe_all(wish.oid.as_str(), trigger, actions).map(SubscriptionRef::Standing),
        Some(node) => xapp.subscribe(node, wish.oid.as_str(), trigger, actions).map(SubscriptionRef::Single),
    }
}
