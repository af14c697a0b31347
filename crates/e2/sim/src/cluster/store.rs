//! A replicated key-value store with the measured behavior of JetStream. It guarantees a single order of revisions and
//! watches that follow this order, but little else.
//!
//! * A leader commits with a quorum of three; without a leader there is an election of 4 to 9 s.
//! * The expected revision of a write is compared with the revision that the leader has *applied*: two
//!   concurrent writes may both pass.
//! * A leader without a quorum accepts writes and does not respond. After the partition heals it commits all
//!   of them. If another leader was elected in the meantime, they are lost.
//! * Each replica has its own lag, and a watch returns the values that its replica has applied.
//! * A watch may never signal that it has sent all current values, because the server counts one value too
//!   many.
//! * The store may be slow ([`Store::paced`]): a thousand concurrent writes form a queue, with heartbeats
//!   among them.
//! * Responses may be lost, late, or duplicated; writes of a client that has lost its connection may arrive
//!   much later.
use super::fault::StoreFault;
use crate::agenda::EventQueue;
use crate::chance::SeededRng;
use crate::party::PartyId;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::directory::{BusWrite, StoreEvent, StoreRequest, WriteFailure, WriteId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of replicas.
const SERVERS: usize = 3;
/// Timeout of a client for a response.
const PATIENCE: Duration = Duration::from_secs(1);

/// Party of a client and the number of its incarnation.
type Client = (PartyId, u32);

#[derive(Debug, Clone)]
struct Proposal {
    client: Client,
    write: BusWrite,
}

#[derive(Debug)]
enum Event {
    /// A write arrives at the server of its client.
    Arrive(Proposal),
    Commit(Proposal, usize),
    Answer(Client, WriteId, Result<u64, WriteFailure>),
    /// A replica has applied this number of log entries.
    Apply(usize, usize),
    Watch(Client),
    Elect(u64),
    Fault(StoreFault),
    Back(usize),
    Resume(usize),
    Heal(usize),
    Reach(PartyId),
    /// Responses and replicas return to normal.
    Calm,
}

#[derive(Debug, Clone, Copy)]
struct Server {
    up: bool,
    paused: bool,
    /// Whether the replica is cut off from the other two.
    alone: bool,
    applied: usize,
}

#[derive(Debug)]
struct Watching {
    server: usize,
    cursor: usize,
    silent: bool,
    last: Time,
}

/// The store, and the messages to and from it.
#[derive(Debug)]
pub struct Store {
    now: Time,
    agenda: EventQueue<Event>,
    news: EventQueue<(Client, u64, StoreEvent)>,
    chance: SeededRng,
    log: Vec<(String, Bytes)>,
    servers: [Server; SERVERS],
    leader: Option<usize>,
    /// Number of elections that have begun.
    elections: u64,
    /// Writes that a leader without a quorum has accepted.
    stuck: Vec<Proposal>,
    watches: BTreeMap<PartyId, (u32, u64, Watching)>,
    last_watch: u64,
    homes: BTreeMap<PartyId, usize>,
    cut: BTreeMap<PartyId, Time>,
    losing: u64,
    lag: Duration,
    /// Minimum time between two commits, and the earliest time of the next one.
    pace: Duration,
    free: Time,
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

impl Store {
    /// Creates an empty store with its first leader.
    pub fn new(seed: u64) -> Self {
        let mut chance = SeededRng::new(seed ^ 0x5704_e000);
        let server = Server { up: true, paused: false, alone: false, applied: 0 };
        Self {
            now: Time::ZERO,
            agenda: EventQueue::default(),
            news: EventQueue::default(),
            leader: Some(chance.below(SERVERS)),
            chance,
            log: Vec::new(),
            servers: [server; SERVERS],
            elections: 0,
            stuck: Vec::new(),
            watches: BTreeMap::new(),
            last_watch: 0,
            homes: BTreeMap::new(),
            cut: BTreeMap::new(),
            losing: 2,
            lag: ms(20),
            pace: Duration::ZERO,
            free: Time::ZERO,
        }
    }

    /// Creates a store that commits one write per `pace`. Concurrent writes wait in a queue.
    pub fn paced(seed: u64, pace: Duration) -> Self {
        Self { pace, ..Self::new(seed) }
    }

    /// Plans a fault.
    pub fn plan(&mut self, at: Time, fault: StoreFault) {
        self.agenda.plan(at, Event::Fault(fault));
    }

    /// Returns the time of the next event.
    pub fn next(&self) -> Option<Time> {
        self.agenda.next().into_iter().chain(self.news.next()).min()
    }

    /// Handles a request of a RIC.
    pub fn ask(&mut self, now: Time, client: Client, ask: StoreRequest) {
        self.now = self.now.max(now);
        let delay = self.chance.between(ms(0), ms(2));
        match ask {
            StoreRequest::Watch => self.agenda.plan(self.now + delay, Event::Watch(client)),
            StoreRequest::Write(write) => {
                // The client stops waiting now. The write may still succeed or fail later.
                let failure = Err(WriteFailure::Unknown);
                self.agenda.plan(self.now + PATIENCE, Event::Answer(client, write.id, failure));
                self.agenda.plan(self.now + delay, Event::Arrive(Proposal { client, write }));
            }
        }
    }

    /// Processes all events up to `now`. Returns the resulting events for the RICs, in order.
    pub fn run_until(&mut self, now: Time) -> Vec<(Client, StoreEvent)> {
        while let Some((at, event)) = self.agenda.pop_until(now) {
            self.now = self.now.max(at);
            self.happen(event);
        }
        let mut events = Vec::new();
        while let Some((at, (client, watch, news))) = self.news.pop_until(now) {
            self.now = self.now.max(at);
            let current = self.watches.get(&client.0).is_some_and(|it| (it.0, it.1) == (client.1, watch));
            if watch == 0 || current {
                events.push((client, news));
            }
        }
        self.now = self.now.max(now);
        events
    }

    /// Returns the number of committed writes.
    pub fn commits(&self) -> usize {
        self.log.len()
    }

    /// Returns the number of elections so far.
    pub fn elections(&self) -> u64 {
        self.elections
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive(proposal) => self.arrive(proposal),
            Event::Commit(proposal, by) => self.commit(proposal, by),
            Event::Answer(client, id, outcome) => {
                self.news.plan(self.now, (client, 0, StoreEvent::Written { id, outcome }));
            }
            Event::Apply(server, upto) => self.apply(server, upto),
            Event::Watch(client) => self.watch(client),
            Event::Elect(number) if number == self.elections => self.elect(),
            Event::Elect(_) => {}
            Event::Fault(fault) => self.fault(fault),
            Event::Back(server) => {
                self.servers[server].up = true;
                self.changed();
            }
            Event::Resume(server) => {
                self.servers[server].paused = false;
                self.changed();
            }
            Event::Heal(server) => {
                self.servers[server].alone = false;
                self.changed();
            }
            Event::Reach(party) => {
                self.cut.remove(&party);
            }
            Event::Calm => (self.losing, self.lag) = (2, ms(20)),
        }
    }

    fn runs(&self, server: usize) -> bool {
        self.servers[server].up && !self.servers[server].paused
    }

    /// Returns whether two replicas can reach each other.
    fn linked(&self, a: usize, b: usize) -> bool {
        a == b || (self.runs(a) && self.runs(b) && !self.servers[a].alone && !self.servers[b].alone)
    }

    fn has_quorum(&self, server: usize) -> bool {
        self.runs(server) && (0..SERVERS).filter(|other| self.linked(server, *other)).count() >= 2
    }

    /// Returns the server that a client uses, or another server if that one is down.
    fn home(&mut self, party: PartyId) -> Option<usize> {
        let home = *self.homes.entry(party).or_insert_with(|| self.chance.below(SERVERS));
        if !self.servers[home].up {
            let next = (home + 1 + self.chance.below(SERVERS - 1)) % SERVERS;
            self.homes.insert(party, next);
            return Some(next).filter(|it| self.runs(*it));
        }
        Some(home).filter(|it| self.runs(*it))
    }

    fn arrive(&mut self, proposal: Proposal) {
        let party = proposal.client.0;
        if let Some(until) = self.cut.get(&party).copied() {
            // The client stores the write until it is connected again, or the write is lost.
            if self.chance.happens(50) {
                self.agenda.plan(until, Event::Arrive(proposal));
            }
            return;
        }
        let leader = self.leader;
        let Some(home) = self.home(party) else { return };
        let Some(leader) = leader.filter(|leader| self.runs(*leader) && self.linked(home, *leader)) else {
            if self.chance.happens(50) {
                self.answer(&proposal, Err(WriteFailure::Unavailable));
            }
            return;
        };
        let applied = self.servers[leader].applied;
        let last = self.log[..applied].iter().rposition(|(key, _)| *key == proposal.write.key);
        let revision = last.map_or(0, |at| at as u64 + 1);
        if proposal.write.expected.is_some_and(|expected| expected != revision) {
            return self.answer(&proposal, Err(WriteFailure::Revised));
        }
        if self.has_quorum(leader) {
            let turn = self.free.max(self.now);
            self.free = turn + self.pace;
            let at = turn + self.chance.between(ms(1), ms(5));
            self.agenda.plan(at, Event::Commit(proposal, leader));
        } else {
            self.stuck.push(proposal);
        }
    }

    fn commit(&mut self, proposal: Proposal, by: usize) {
        if self.leader != Some(by) {
            return;
        }
        if !self.has_quorum(by) {
            return self.stuck.push(proposal);
        }
        self.log.push((proposal.write.key.clone(), proposal.write.value.clone()));
        let revision = self.log.len();
        self.servers[by].applied = revision;
        self.notify_watches(by);
        for other in (0..SERVERS).filter(|other| *other != by) {
            let at = self.now + self.chance.between(Duration::ZERO, self.lag);
            self.agenda.plan(at, Event::Apply(other, revision));
        }
        self.answer(&proposal, Ok(revision as u64));
    }

    fn answer(&mut self, proposal: &Proposal, outcome: Result<u64, WriteFailure>) {
        let client = proposal.client;
        let id = proposal.write.id;
        if self.chance.happens(self.losing) {
            return;
        }
        let late = if self.chance.happens(3) { ms(3_000) } else { ms(3) };
        let at = self.now + self.chance.between(ms(0), late);
        self.agenda.plan(at, Event::Answer(client, id, outcome));
        if self.chance.happens(2) {
            self.agenda.plan(at + ms(50), Event::Answer(client, id, outcome));
        }
    }

    fn apply(&mut self, server: usize, upto: usize) {
        let reached = self.runs(server) && self.leader.is_some_and(|leader| self.linked(server, leader));
        if reached && self.servers[server].applied < upto {
            self.servers[server].applied = upto;
            self.notify_watches(server);
        }
    }

    /// Sends the values that a server has applied to the watches there.
    fn notify_watches(&mut self, server: usize) {
        let upto = self.servers[server].applied;
        let parties: Vec<_> = self.watches.keys().copied().collect();
        for party in parties {
            let delay = self.chance.between(ms(0), ms(2));
            let Some((life, number, watching)) = self.watches.get_mut(&party) else { continue };
            if watching.server != server || watching.silent || self.cut.contains_key(&party) {
                continue;
            }
            watching.last = watching.last.max(self.now + delay);
            let client = (party, *life);
            let number = *number;
            let last = watching.last;
            for at in std::mem::replace(&mut watching.cursor, upto)..upto {
                let (key, value) = self.log[at].clone();
                self.news
                    .plan(last, (client, number, StoreEvent::Entry { key, revision: at as u64 + 1, value }));
            }
        }
    }

    /// Starts a watch with the last value of each key that its server has applied.
    fn watch(&mut self, client: Client) {
        let party = client.0;
        let Some(server) = self.home(party).filter(|_| !self.cut.contains_key(&party)) else { return };
        self.last_watch += 1;
        let number = self.last_watch;
        let applied = self.servers[server].applied;
        let last = self.now + self.chance.between(ms(1), ms(5));
        let mut latest = BTreeMap::new();
        for (at, (key, _)) in self.log[..applied].iter().enumerate() {
            latest.insert(key.as_str(), at);
        }
        let mut order: Vec<_> = latest.into_values().collect();
        order.sort_unstable();
        self.news.plan(last, (client, number, StoreEvent::Began));
        for at in order {
            let (key, value) = self.log[at].clone();
            self.news.plan(last, (client, number, StoreEvent::Entry { key, revision: at as u64 + 1, value }));
        }
        // The server may announce a wrong number of initial values. The watch then never signals completion.
        if !self.chance.happens(20) {
            self.news.plan(last, (client, number, StoreEvent::Complete));
        }
        let watching = Watching { server, cursor: applied, silent: false, last };
        self.watches.insert(party, (client.1, number, watching));
    }

    /// Checks whether there is a leader after replicas stopped or restarted.
    fn changed(&mut self) {
        let leads = self.leader.is_some_and(|leader| self.has_quorum(leader));
        if leads {
            // The leader now commits the writes that it accepted without a quorum.
            let leader = self.leader.unwrap_or_default();
            for proposal in std::mem::take(&mut self.stuck) {
                self.agenda.plan(self.now + ms(1), Event::Commit(proposal, leader));
            }
            for server in 0..SERVERS {
                self.agenda.plan(self.now + ms(10), Event::Apply(server, self.log.len()));
            }
            return;
        }
        self.elections += 1;
        let takes = self.chance.between(ms(4_000), ms(9_000));
        self.agenda.plan(self.now + takes, Event::Elect(self.elections));
    }

    fn elect(&mut self) {
        // Of the replicas with a quorum, the one that has applied most entries becomes the leader. It then has all
        // committed entries.
        let fits = (0..SERVERS).filter(|it| self.has_quorum(*it));
        let Some(leader) = fits.max_by_key(|it| self.servers[*it].applied) else { return };
        if self.leader != Some(leader) {
            self.stuck.clear();
        }
        self.leader = Some(leader);
        self.servers[leader].applied = self.log.len();
        self.notify_watches(leader);
        self.changed();
    }

    fn fault(&mut self, fault: StoreFault) {
        let leader = self.leader.unwrap_or_default();
        let now = self.now;
        match fault {
            StoreFault::KillLeader(away) => self.kill(leader, away),
            StoreFault::KillServer(server, away) => self.kill(server % SERVERS, away),
            StoreFault::LoseQuorum(away) => {
                self.kill(leader, away);
                self.kill((leader + 1) % SERVERS, away + ms(300));
            }
            StoreFault::PauseServer(server, lasting) => {
                let server = server % SERVERS;
                self.servers[server].paused = true;
                self.agenda.plan(now + lasting, Event::Resume(server));
            }
            StoreFault::Isolate(server, lasting) => self.isolate(server % SERVERS, lasting),
            StoreFault::IsolateLeader(lasting) => self.isolate(leader, lasting),
            StoreFault::Unreachable(party, lasting) => {
                self.cut.insert(party, now + lasting);
                self.watches.remove(&party);
                self.agenda.plan(now + lasting, Event::Reach(party));
            }
            StoreFault::SilentWatch(party) => {
                if let Some((.., watching)) = self.watches.get_mut(&party) {
                    watching.silent = true;
                }
            }
            StoreFault::LoseAnswers(lasting) => {
                self.losing = 50;
                self.agenda.plan(now + lasting, Event::Calm);
            }
            StoreFault::Lag(lasting) => {
                self.lag = ms(2_000);
                self.agenda.plan(now + lasting, Event::Calm);
            }
        }
        self.changed();
    }

    fn isolate(&mut self, server: usize, lasting: Duration) {
        self.servers[server].alone = true;
        self.agenda.plan(self.now + lasting, Event::Heal(server));
    }

    /// Stops a replica and the watches on it. After the restart it has the entries that it had applied.
    fn kill(&mut self, server: usize, away: Duration) {
        self.servers[server].up = false;
        self.watches.retain(|_, (.., watching)| watching.server != server);
        self.agenda.plan(self.now + away, Event::Back(server));
    }
}
