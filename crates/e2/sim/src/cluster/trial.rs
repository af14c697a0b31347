//! Worlds of several RICs under seeded faults.
use super::fault::StoreFault;
use super::ledger::Orders;
use super::store::Store;
use super::watch::{Station, Watcher};
use crate::chance::SeededRng;
use crate::fault::Fault;
use crate::link::LinkProfile;
use crate::party::PartyId;
use crate::steps::Step;
use crate::tracer_function::{TracerFunction, TracerLog, trigger};
use crate::world::{Violation, World};
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent, AgentConfig, AgentTimers};
use ranlab_e2::ric::directory::{ClaimLimits, DirectoryConfig, DirectoryTimers, StoreEvent};
use ranlab_e2::ric::{Ric, RicConfig};
use ranlab_e2::xapp::{Xapp, XappConfig};
use ranlab_e2_codec::e2ap::*;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

const OID: &str = "1.3.6.1.4.1.53148.1.1.2.900";
/// Interval between the control requests of xApps.
const CONTROLS: Duration = Duration::from_millis(250);
/// Token of the scheduled calls that send control requests.
const CONTROL_CALL: u64 = 1;
const DRAIN_CALL: u64 = 2;
/// Maximum drift of clocks in either direction, in millionths.
const DRIFT_PPM: usize = 50_000;
/// Time after which an order is certain to be in the store.
const ORDERS_APART: Duration = Duration::from_secs(2);
/// Time after which a report counts as missing; reports have a period of half a second.
const SILENCE: Duration = Duration::from_secs(2);

/// A world of several RICs, its faults, and its invariants.
#[derive(Debug, Clone)]
pub struct ClusterTrial {
    /// Number of RICs.
    pub rics: usize,
    /// Number of base stations.
    pub nodes: u32,
    /// Number of xApps. They are distributed over the RICs.
    pub xapps: usize,
    /// Number of faults.
    pub faults: usize,
    /// Period in which the faults begin.
    pub trouble: Duration,
    /// Time allowed after the end of the last fault until every node is served and every subscription exists.
    pub recovery: Duration,
    /// Timers of the directory. A test may set them to wrong values.
    pub timers: DirectoryTimers,
    /// Limits of the directory's claims. A test may set them to wrong values.
    pub claims: ClaimLimits,
    /// Maximum backoff of agents that wait for a setup response.
    pub setup_timeout_max: Duration,
    /// Minimum interval between two commits of the store.
    pub pace: Duration,
    /// Whether an iApp at each RIC receives orders about nodes and hands them over. After the faults, one RIC
    /// receives a last order about each node and then crashes. In the end, all RICs must know these orders.
    pub orders: bool,
}

impl Default for ClusterTrial {
    fn default() -> Self {
        Self {
            rics: 3,
            nodes: 4,
            xapps: 3,
            faults: 8,
            trouble: Duration::from_secs(25),
            recovery: Duration::from_secs(25),
            timers: DirectoryTimers::default(),
            claims: ClaimLimits::default(),
            setup_timeout_max: AgentTimers::default().setup_timeout_max,
            pace: Duration::ZERO,
            orders: false,
        }
    }
}

/// Result of a world without a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOutcome {
    /// Digest of the world; see [`World::digest`].
    pub digest: u64,
    /// Number of faults.
    pub faults: usize,
    /// Number of ownership intervals that have ended.
    pub intervals: usize,
    /// Number of acknowledged controls, each of which was executed exactly once.
    pub acknowledged: u64,
    /// Number of controls that failed or got no response.
    pub refused: u64,
    /// Number of indications that arrived at xApps.
    pub indications: u64,
    /// Number of writes that the store has committed.
    pub commits: usize,
    /// Number of elections of the store.
    pub elections: u64,
    /// Number of orders that were sent.
    pub orders: u64,
}

pub(super) struct Run {
    pub(super) world: World,
    store: Store,
    pub(super) watcher: Watcher,
    chance: SeededRng,
    /// Store events that wait for frozen RICs.
    waiting: VecDeque<((PartyId, u32), StoreEvent)>,
    drains: Vec<PartyId>,
    pub(super) orders: Orders,
    /// Whether orders are currently sent to random RICs.
    ordering: bool,
}

impl ClusterTrial {
    /// Runs the world of a seed.
    ///
    /// # Errors
    ///
    /// Returns the first violated invariant.
    pub fn run(&self, seed: u64) -> Result<ClusterOutcome, Violation> {
        self.run_in(Self::world(seed))
    }

    /// Returns the empty world of a seed, for [`run_in`](Self::run_in).
    pub fn world(seed: u64) -> World {
        let ms = Duration::from_millis;
        let profile = LinkProfile {
            latency: (ms(1), ms(20)),
            detection: (ms(1), ms(4_000)),
            window_bytes: 64 << 10,
            ..LinkProfile::default()
        };
        let mut world = World::new(seed, profile);
        world.trial = "cluster ";
        world
    }

    /// Runs the trial in a world that the caller supplies and may trace; see [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// Returns the first violated invariant.
    pub fn run_in(&self, world: World) -> Result<ClusterOutcome, Violation> {
        let mut run = self.begin(world);
        let calm = self.disturb(&mut run);
        run.world.call_at(Time::ZERO + CONTROLS, CONTROL_CALL);
        if self.orders {
            self.last_orders(&mut run, calm)?;
        }
        run.pass(calm + self.recovery)?;
        run.check_served()?;
        let orders = run.check_orders().map_err(|it| run.violation(it))?;
        let Run { world, store, watcher, .. } = run;
        Ok(ClusterOutcome {
            digest: world.digest(),
            faults: self.faults,
            intervals: watcher.history.intervals().len(),
            acknowledged: watcher.acknowledged,
            refused: watcher.refused,
            indications: watcher.indications,
            commits: store.commits(),
            elections: store.elections(),
            orders,
        })
    }

    /// Sends the last order about each node after the faults. All of them go to one RIC, which crashes soon after.
    fn last_orders(&self, run: &mut Run, calm: Time) -> Result<(), Violation> {
        run.pass(calm + self.recovery / 3)?;
        run.ordering = false;
        // The pause ensures that no order is in flight at another RIC: a concurrent order there could be the last one.
        run.pass(run.world.now() + ORDERS_APART)?;
        let ric = run.chance.below(self.rics);
        for station in 0..run.watcher.stations.len() {
            if !run.order(ric, station) {
                return Err(run.violation(format!("ric-{ric} accepts no order for node {station}")));
            }
        }
        run.pass(run.world.now() + ORDERS_APART)?;
        let party = run.watcher.rics[ric];
        run.world.plan(run.world.now(), Fault::Crash { party, polite: false, away: ORDERS_APART });
        Ok(())
    }

    /// Starts all parties. Faults are planned later.
    pub(super) fn begin(&self, world: World) -> Run {
        let seed = world.seed;
        let mut run = Run {
            world,
            store: Store::paced(seed, self.pace),
            watcher: Watcher::default(),
            chance: SeededRng::new(seed ^ 0xc1u64),
            waiting: VecDeque::new(),
            drains: Vec::new(),
            orders: Orders::default(),
            ordering: self.orders,
        };
        self.populate(&mut run);
        run
    }

    fn populate(&self, run: &mut Run) {
        let names: Vec<String> = (0..self.rics).map(|n| format!("ric-{n}")).collect();
        for (at, name) in names.iter().enumerate() {
            let own = name.clone();
            let timers = self.timers.clone();
            let claims = self.claims;
            let shelf = self.orders.then(|| run.orders.shelf.clone());
            let party = run.world.ric(name, move |life| {
                let mut ric = ric(&own, life, &timers, claims);
                if let Some(shelf) = &shelf {
                    ric.add_iapp(shelf.ledger(at));
                }
                ric
            });
            let ahead = run.chance.between(Duration::ZERO, Duration::from_secs(3_600));
            let drift = run.chance.below(2 * DRIFT_PPM) as i32 - DRIFT_PPM as i32;
            run.world.set_clock(party, ahead, drift);
            run.watcher.rics.push(party);
        }
        for n in 0..self.nodes {
            let node = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), n, 32);
            let logbook = TracerLog::default();
            let book = logbook.clone();
            let seed = run.chance.seed();
            let mut around = names.clone();
            around.rotate_left(n as usize % self.rics);
            let number = run.world.next_party();
            let patience = self.setup_timeout_max;
            run.world.node(&format!("agent-{n}"), node, move |now, life| {
                let beacon = TracerFunction::new(OID, number, life, book.clone());
                agent(now, node, seed, &around, patience, beacon)
            });
            run.watcher.stations.push(Station::new(node, logbook));
        }
        for n in 0..self.xapps {
            let seed = run.chance.seed();
            let mut around = names.clone();
            around.rotate_left(n % self.rics);
            let client = run.world.client(&format!("xapp-{n}"), move |_, life| xapp(&around, seed, life));
            run.watcher.clients.push(client);
        }
    }

    /// Plans the faults, and returns the end of the last one.
    fn disturb(&self, run: &mut Run) -> Time {
        let ms = Duration::from_millis;
        let mut calm = Time::ZERO + self.trouble;
        // The first fault begins after all parties have connected.
        let begin = ms(4_000);
        for _ in 0..self.faults {
            let at = Time::ZERO + run.chance.between(begin, self.trouble);
            let ric = run.watcher.rics[run.chance.below(self.rics)];
            let lasting = run.chance.between(ms(100), ms(8_000));
            let server = run.chance.below(3);
            match run.chance.below(100) {
                0..20 => {
                    let polite = run.chance.happens(50);
                    run.world.plan(at, Fault::Crash { party: ric, polite, away: lasting });
                }
                20..30 => run.world.plan(at, Fault::Freeze(ric, lasting)),
                30..40 => run.world.plan(at, Fault::Cut(ric, run.chance.below(8))),
                40..45 => {
                    let by = run.chance.between(ms(10), ms(1_500));
                    run.world.plan(at, Fault::Delay { party: ric, by, lasting });
                }
                45..52 => {
                    run.drains.push(ric);
                    run.world.call_at(at, DRAIN_CALL);
                    run.world.plan(at + ms(3_000), Fault::Crash { party: ric, polite: true, away: ms(500) });
                    calm = calm.max(at + ms(3_500));
                }
                52..62 => run.store.plan(at, StoreFault::KillLeader(lasting)),
                62..66 => run.store.plan(at, StoreFault::KillServer(server, lasting)),
                66..70 => run.store.plan(at, StoreFault::PauseServer(server, lasting)),
                70..76 => run.store.plan(at, StoreFault::Isolate(server, lasting)),
                76..80 => run.store.plan(at, StoreFault::IsolateLeader(lasting)),
                80..83 => run.store.plan(at, StoreFault::LoseQuorum(lasting)),
                83..90 => run.store.plan(at, StoreFault::Unreachable(ric, lasting)),
                90..94 => run.store.plan(at, StoreFault::SilentWatch(ric)),
                94..97 => run.store.plan(at, StoreFault::LoseAnswers(lasting)),
                _ => run.store.plan(at, StoreFault::Lag(lasting)),
            }
            calm = calm.max(at + lasting);
        }
        calm
    }
}

impl Run {
    fn violation(&self, what: String) -> Violation {
        self.world.violation(what)
    }

    /// Advances the world and the store.
    pub(super) fn pass(&mut self, end: Time) -> Result<(), Violation> {
        while self.world.now() < end {
            let next = self.store.next().map_or(end, |at| at.min(end)).max(self.world.now());
            match self.world.step(next)? {
                Some(Step::Called(CONTROL_CALL)) => self.control(),
                Some(Step::Called(DRAIN_CALL)) => self.drain(),
                Some(Step::Called(_)) => self.deliver(),
                Some(Step::Happened) => {}
                None => {
                    let news = self.store.run_until(next);
                    self.waiting.extend(news);
                    self.deliver();
                }
            }
            self.after()?;
        }
        Ok(())
    }

    /// Delivers all pending store events to the RICs; frozen RICs receive them when they resume.
    fn deliver(&mut self) {
        let mut batches: BTreeMap<PartyId, Vec<StoreEvent>> = BTreeMap::new();
        for (client, news) in std::mem::take(&mut self.waiting) {
            let (party, life) = client;
            if self.world.life_of(party) != life {
                continue;
            }
            if let Some(until) = self.world.frozen_until(party) {
                self.waiting.push_back((client, news));
                self.world.call_at(until, 0);
                continue;
            }
            batches.entry(party).or_default().push(news);
        }
        for (party, news) in batches {
            self.world.with_ric(party, |ric, now| ric.bus_all(now, news));
        }
    }

    fn after(&mut self) -> Result<(), Violation> {
        let now = self.world.now();
        for (party, ask) in self.world.take_asks() {
            self.store.ask(now, (party, self.world.life_of(party)), ask);
        }
        self.watcher.observe(&mut self.world).map_err(|what| self.world.violation(what))
    }

    fn control(&mut self) {
        self.world.call_at(self.world.now() + CONTROLS, CONTROL_CALL);
        let client = self.watcher.clients[self.chance.below(self.watcher.clients.len())];
        let station = self.chance.below(self.watcher.stations.len());
        self.watcher.control(&mut self.world, client, station, OID);
        if self.ordering {
            let ric = self.chance.below(self.watcher.rics.len());
            let station = self.chance.below(self.watcher.stations.len());
            self.order(ric, station);
        }
    }

    fn drain(&mut self) {
        if let Some(party) = self.drains.pop()
            && self.world.frozen_until(party).is_none()
        {
            self.world.with_ric(party, |ric, now| ric.drain(now));
        }
    }

    /// Checks that one RIC serves each node, and that every xApp has recent reports of every node from any RIC.
    fn check_served(&self) -> Result<(), Violation> {
        let now = self.world.now();
        for station in &self.watcher.stations {
            let node = station.node;
            let Some(owner) = self.watcher.history.owner(now, &node) else {
                return Err(self.violation(format!("no RIC serves {node}")));
            };
            for (at, client) in self.watcher.clients.iter().enumerate() {
                let last = self.watcher.last_report.get(&(*client, node));
                if last.is_none_or(|last| now.since(*last) > SILENCE) {
                    let what = format!(
                        "xapp-{at} has no report of {node} since {last:?}, although ric-{owner} serves the node"
                    );
                    return Err(self.violation(what));
                }
            }
        }
        Ok(())
    }
}

fn ric(name: &str, life: u32, timers: &DirectoryTimers, claims: ClaimLimits) -> Ric {
    let mut config = RicConfig::default();
    config.first_instance = (life as u16).wrapping_mul(0x0400);
    if let Ok(mut directory) = DirectoryConfig::new(name, life.into()) {
        (directory.timers, directory.claims) = (timers.clone(), claims);
        directory.e2 = name.to_owned();
        directory.e42 = name.to_owned();
        config.directory = Some(directory);
    }
    Ric::new(config)
}

/// Creates an agent that starts at the first of these RICs, with a maximum time to wait for a setup response.
fn agent(
    now: Time,
    node: GlobalE2NodeId,
    seed: u64,
    rics: &[String],
    patience: Duration,
    beacon: TracerFunction,
) -> Agent {
    let component = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
        configuration: ComponentConfiguration::default(),
    };
    let mut config = AgentConfig::new(node, vec![component]);
    (config.seed, config.timers.setup_timeout_max) = (seed, patience);
    let mut agent = Agent::new(config);
    let registered = agent.register(Box::new(beacon), Some(1));
    let added = agent.add_controller_at_one_of(now, rics.to_vec());
    debug_assert!(registered.is_ok() && added.is_ok(), "{registered:?}, {added:?}");
    agent
}

/// Creates an xApp that starts at the first of these RICs, and connects to the next one when it loses the connection.
fn xapp(rics: &[String], seed: u64, life: u32) -> Xapp {
    let first = rics.first().cloned().unwrap_or_default();
    let others = rics.get(1..).unwrap_or_default();
    let mut xapp = Xapp::new(XappConfig::new(first).with(|it| {
        it.seed = seed.wrapping_add(life.into());
        it.or_at = others.to_vec();
    }));
    let made = xapp.subscribe_all(OID, trigger(500, 1), vec![ActionToBeSetup::report(0)]);
    debug_assert!(made.is_ok(), "{made:?}");
    xapp
}
