//! Driver of a world: selects the next event, delivers it, and executes the resulting actions.
use crate::action::Action;
use crate::agenda::EventQueue;
use crate::chance::{Digest, SeededRng};
use crate::fault::Fault;
use crate::host::{Kind, Party};
use crate::ledger::Ledger;
use crate::link::{Connection, End, Item, LinkProfile, Pipe};
use crate::machine::Machine;
use crate::party::PartyId;
use crate::steps::Step;
use ranlab_e2::Time;
use ranlab_e2::ric::directory::StoreRequest;
use ranlab_e2::ric::{ConnId, NorthboundReply, RicInput};
use ranlab_e2::xapp::XappEvent;
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of wake-ups of a party at one time. A party that exceeds it is in an endless loop.
const WAKES_PER_MOMENT_MAX: u32 = 10_000;
/// Percentage of connection requests to a stopped RIC that get no response. The others are refused.
const SILENCE_PERCENT: u64 = 25;

/// A violated invariant, with the command that replays it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("seed {seed}, {} ms: {what}\nreplay: cargo run -p ranlab-sim --example replay -- {trial}{seed} trace", .at.as_nanos() / 1_000_000)]
pub struct Violation {
    /// Seed of the world.
    pub seed: u64,
    /// Argument of the replay command before the seed: empty, or `cluster ` for several RICs ([`cluster`](crate::cluster)).
    pub trial: &'static str,
    /// Time at which the violation was detected.
    pub at: Time,
    /// Description of the violation.
    pub what: String,
}

#[derive(Debug)]
pub(crate) enum Happening {
    Wake(usize),
    /// A connection request reaches the RIC.
    Arrive(u64),
    /// The client detects that it is connected.
    Established(u64),
    /// An item reaches this endpoint of a connection.
    Deliver(u64, usize),
    /// This endpoint detects that the connection is lost.
    Learn(u64, usize),
    Fault(Fault),
    Restart(usize),
    Unthrottle(usize),
    Undelay(usize),
    /// A timer of the caller expires.
    Call(u64),
}

type Tracer = Box<dyn FnMut(Time, &str)>;

/// Parties, connections and planned events. The world processes one event at a time.
pub struct World {
    pub(crate) seed: u64,
    /// Name of the trial ([`Violation::trial`]).
    pub(crate) trial: &'static str,
    pub(crate) now: Time,
    pub(crate) chance: SeededRng,
    pub(crate) profile: LinkProfile,
    pub(crate) agenda: EventQueue<Happening>,
    pub(crate) hosts: Vec<Party>,
    pub(crate) connections: BTreeMap<u64, Connection>,
    pub(crate) ledger: Ledger,
    last_connection: u64,
    digest: Digest,
    delivered: u64,
    trace: Option<Tracer>,
    pub(crate) trace_pdus: bool,
    pub(crate) replies: Vec<(PartyId, NorthboundReply)>,
    pub(crate) client_events: Vec<(PartyId, XappEvent)>,
    pub(crate) asks: Vec<(PartyId, StoreRequest)>,
}

impl World {
    /// Creates an empty world. The seed determines all its random numbers.
    pub fn new(seed: u64, profile: LinkProfile) -> Self {
        Self {
            seed,
            trial: "",
            now: Time::ZERO,
            chance: SeededRng::new(seed),
            profile,
            agenda: EventQueue::default(),
            hosts: Vec::new(),
            connections: BTreeMap::new(),
            ledger: Ledger::default(),
            last_connection: 0,
            digest: Digest::default(),
            delivered: 0,
            trace: None,
            trace_pdus: true,
            replies: Vec::new(),
            client_events: Vec::new(),
            asks: Vec::new(),
        }
    }

    /// Writes a trace of all events to `sink`.
    pub fn trace_to(&mut self, sink: impl FnMut(Time, &str) + 'static) {
        self.trace = Some(Box::new(sink));
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the FNV-1a digest of every delivered PDU with its time, parties and connection.
    pub fn digest(&self) -> u64 {
        self.digest.value()
    }

    /// Returns the number of delivered PDUs.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Processes all events up to `end`. Returns the first violated invariant as an error.
    pub fn run_until(&mut self, end: Time) -> Result<(), Violation> {
        while self.step(end)?.is_some() {}
        Ok(())
    }

    /// Processes the next event, if it is no later than `end`. Otherwise sets the time to `end` and returns `None`.
    /// The error is a violated invariant.
    pub fn step(&mut self, end: Time) -> Result<Option<Step>, Violation> {
        let Some((at, happening)) = self.agenda.pop_until(end) else {
            self.now = self.now.max(end);
            return Ok(None);
        };
        self.now = self.now.max(at);
        let step = if let Happening::Call(token) = happening { Step::Called(token) } else { Step::Happened };
        self.happen(happening);
        match self.ledger.take_violation() {
            Some(what) => Err(self.violation(what)),
            None => Ok(Some(step)),
        }
    }

    pub(crate) fn violation(&self, what: String) -> Violation {
        Violation { seed: self.seed, trial: self.trial, at: self.now, what }
    }

    pub(crate) fn note(&mut self, words: impl FnOnce(&Self) -> String) {
        if let Some(mut sink) = self.trace.take() {
            sink(self.now, &words(self));
            self.trace = Some(sink);
        }
    }

    fn happen(&mut self, happening: Happening) {
        if let Some(thaw) = self.party_of(&happening).and_then(|p| self.hosts[p].frozen(self.now)) {
            return self.agenda.plan(thaw, happening);
        }
        match happening {
            Happening::Wake(party) => self.wake(party),
            Happening::Arrive(number) => self.arrive(number),
            Happening::Established(number) => self.established(number),
            Happening::Deliver(number, end) => self.deliver(number, end),
            Happening::Learn(number, end) => self.lose(number, end),
            Happening::Fault(fault) => self.fault(fault),
            Happening::Restart(party) => self.start(party),
            Happening::Unthrottle(party) => self.hosts[party].bytes_per_second = None,
            Happening::Undelay(party) => self.hosts[party].delay = Duration::ZERO,
            Happening::Call(_) => {}
        }
    }

    /// Returns the party that handles an event. A frozen party handles the event later.
    fn party_of(&self, happening: &Happening) -> Option<usize> {
        let end = |number, end: usize| self.connections.get(number).map(|c: &Connection| c.ends[end].party);
        match happening {
            Happening::Wake(party) => Some(*party),
            Happening::Arrive(number) => end(number, 1),
            Happening::Established(number) => end(number, 0),
            Happening::Deliver(number, e) | Happening::Learn(number, e) => end(number, *e),
            Happening::Fault(_)
            | Happening::Restart(_)
            | Happening::Unthrottle(_)
            | Happening::Undelay(_)
            | Happening::Call(_) => None,
        }
    }

    /// Starts a party's machine, for the first time or again.
    pub(crate) fn start(&mut self, party: usize) {
        self.note(|w| format!("{} starts", w.hosts[party].name));
        let clock = self.hosts[party].clock(self.now);
        self.hosts[party].start(clock);
        self.run_machine(party, |machine, now| machine.wake(now));
    }

    /// Runs `act` on a running machine, and executes the resulting actions.
    pub(crate) fn run_machine(&mut self, party: usize, act: impl FnOnce(&mut Machine, Time)) {
        let now = self.hosts[party].clock(self.now);
        if let Some(machine) = &mut self.hosts[party].machine {
            act(machine, now);
            self.run_actions(party);
        }
    }

    fn wake(&mut self, party: usize) {
        let now = self.now;
        let host = &mut self.hosts[party];
        if host.armed.is_none_or(|at| at > now) {
            return;
        }
        host.armed = None;
        host.wakes = if host.last_wake == now { host.wakes + 1 } else { 0 };
        host.last_wake = now;
        if host.wakes > WAKES_PER_MOMENT_MAX {
            let what =
                format!("{} requests more than {WAKES_PER_MOMENT_MAX} wake-ups at the same time", host.name);
            return self.ledger.break_rule(what);
        }
        self.run_machine(party, |machine, now| machine.wake(now));
    }

    /// Executes a machine's actions until there are no more.
    fn run_actions(&mut self, party: usize) {
        let noting = self.trace.is_some();
        loop {
            let mut closed = Vec::new();
            while let Some(action) = self.hosts[party].machine.as_mut().and_then(|m| m.poll(noting)) {
                match action {
                    Action::Transmit(key) => self.flush(party, key),
                    Action::Close(key, reason) => {
                        self.note(|w| format!("{} closes connection {key}: {reason}", w.hosts[party].name));
                        self.close(party, key);
                        closed.push(key);
                    }
                    Action::Connect(key, address) => self.connect(party, key, &address),
                    Action::Xapp(event) => self.xapp_event(party, event),
                    Action::Bus(ask) => self.asks.push((PartyId(party), ask)),
                    Action::Reply(reply) => self.replies.push((PartyId(party), reply)),
                    Action::Note(words) if noting => {
                        self.note(|w| format!("{}: {words}", w.hosts[party].name));
                    }
                    Action::Note(_) => {}
                }
            }
            let now = self.hosts[party].clock(self.now);
            let machine = self.hosts[party].machine.as_mut();
            let (Some(machine), false) = (machine, closed.is_empty()) else { break };
            closed.into_iter().for_each(|key| machine.closed(now, key));
        }
        let host = &mut self.hosts[party];
        let Some(at) = host.machine.as_ref().and_then(Machine::wake_at) else { return };
        let at = host.true_time(at).max(self.now);
        if host.armed.is_none_or(|armed| at < armed) {
            host.armed = Some(at);
            self.agenda.plan(at, Happening::Wake(party));
        }
    }

    /// Sends frames while the transport accepts them.
    fn flush(&mut self, party: usize, key: u64) {
        let Some(&number) = self.hosts[party].ends.get(&key) else { return };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let end = connection.end_of(party);
        let rates = connection.ends.map(|e| self.hosts[e.party].bytes_per_second);
        let late: Duration = connection.ends.iter().map(|e| self.hosts[e.party].delay).sum();
        let now = self.hosts[party].clock(self.now);
        let rate = rates.into_iter().flatten().fold(self.profile.bytes_per_second, u64::min);
        let Some(machine) = self.hosts[party].machine.as_mut() else { return };
        let pipe = &mut connection.pipes[end];
        loop {
            if pipe.is_full(self.profile.window_bytes) {
                pipe.blocked = true;
                return machine.transport_full(key);
            }
            let Some(frame) = machine.transmit(now, key) else { return };
            let delay = connection.latency + late + self.chance.between(Duration::ZERO, self.profile.jitter);
            if let Some(at) = pipe.send(self.now, Item::Pdu(frame.to_bytes()), delay, rate) {
                self.agenda.plan(at, Happening::Deliver(number, 1 - end));
            }
        }
    }

    fn connect(&mut self, party: usize, key: u64, address: &str) {
        self.last_connection += 1;
        let number = self.last_connection;
        let ric = self.hosts.iter().position(|h| matches!(h.kind, Kind::Ric(_)) && h.name == address);
        let (least, most) = self.profile.latency;
        let latency = self.chance.between(least, most);
        let client = End { party, key, open: true };
        let server = End { party: ric.unwrap_or(party), key: number, open: false };
        let pipes = [Pipe::default(), Pipe::default()];
        let arrived = ric.is_none();
        self.connections.insert(number, Connection { ends: [client, server], pipes, latency, arrived });
        self.hosts[party].ends.insert(key, number);
        let what = if ric.is_some() { Happening::Arrive(number) } else { Happening::Learn(number, 0) };
        self.agenda.plan(self.now + latency, what);
    }

    fn arrive(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let client = connection.ends[0];
        let ric = connection.ends[1].party;
        let back = self.now + connection.latency;
        connection.arrived = true;
        if self.hosts[ric].machine.is_none() {
            if !client.open {
                self.connections.remove(&number);
                return;
            }
            // The connection is refused, or the host does not respond. Without a response, the timeout of the client
            // or of the network applies.
            let silent = self.chance.happens(SILENCE_PERCENT);
            let at = if silent { back + self.profile.detection.1 } else { back };
            return self.agenda.plan(at, Happening::Learn(number, 0));
        }
        connection.ends[1].open = true;
        connection.pipes[1].not_before(back);
        if !client.open {
            // The party cancelled the connection or stopped while the request was in flight.
            self.agenda.plan(back, Happening::Learn(number, 1));
        }
        self.hosts[ric].ends.insert(number, number);
        self.agenda.plan(back, Happening::Established(number));
        let peer = self.hosts[client.party].name.clone();
        let side = self.hosts[client.party].side();
        self.note(|w| format!("{} accepts connection {number} of {peer}", w.hosts[ric].name));
        self.run_machine(ric, |machine, now| {
            if let Machine::Ric(machine) = machine {
                machine.handle(now, RicInput::Connected { conn: ConnId(number), side, peer });
            }
        });
    }

    fn established(&mut self, number: u64) {
        let Some(client) = self.connections.get(&number).map(|c| c.ends[0]).filter(|e| e.open) else {
            return;
        };
        self.run_machine(client.party, |machine, now| machine.connected(now, client.key));
    }

    fn deliver(&mut self, number: u64, to: usize) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let pipe = &mut connection.pipes[1 - to];
        let Some(item) = pipe.arrive() else { return };
        let unblocked = std::mem::take(&mut pipe.blocked);
        let receiver = connection.ends[to];
        let sender = connection.ends[1 - to];
        match item {
            Item::Pdu(pdu) if receiver.open => {
                self.delivered += 1;
                for n in [self.now.as_nanos(), sender.party as u64, receiver.party as u64, number] {
                    self.digest.number(n);
                }
                self.digest.bytes(&pdu);
                if self.trace_pdus {
                    self.note(|w| {
                        let from = &w.hosts[sender.party].name;
                        let to = &w.hosts[receiver.party].name;
                        let code = &pdu[..2.min(pdu.len())];
                        format!(
                            "{from} -> {to} on connection {number}: {} bytes, code {code:02x?}",
                            pdu.len()
                        )
                    });
                }
                if matches!(&self.hosts[sender.party].kind, Kind::Agent(agent) if agent.judged) {
                    self.ledger.reached_ric(sender.party, sender.key, &pdu);
                }
                self.run_machine(receiver.party, |machine, now| machine.received(now, receiver.key, pdu));
            }
            Item::Pdu(_) => {}
            Item::End => self.lose(number, to),
        }
        if unblocked && sender.open {
            self.flush(sender.party, sender.key);
        }
    }

    /// Informs an endpoint that its connection is lost.
    fn lose(&mut self, number: u64, end: usize) {
        let Some(this) = self.connections.get(&number).map(|c| c.ends[end]).filter(|e| e.open) else {
            return;
        };
        self.note(|w| format!("{} loses connection {number}", w.hosts[this.party].name));
        self.shut(number, end);
        self.run_machine(this.party, |machine, now| machine.disconnected(now, this.key));
    }

    /// Closes a connection for a machine. The peer detects the end after it has received all data sent before.
    fn close(&mut self, party: usize, key: u64) {
        let Some(&number) = self.hosts[party].ends.get(&key) else { return };
        let Some(end) = self.connections.get(&number).map(|c| c.end_of(party)) else { return };
        self.shut(number, end);
        self.say_end(number, end);
    }

    /// Informs the peer of this endpoint that no more data follows.
    pub(crate) fn say_end(&mut self, number: u64, end: usize) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let delay = connection.latency;
        let rate = self.profile.bytes_per_second;
        if let Some(at) = connection.pipes[end].send(self.now, Item::End, delay, rate) {
            self.agenda.plan(at, Happening::Deliver(number, 1 - end));
        }
    }

    /// Closes this endpoint. A connection without open endpoints is removed when no more events can refer to it.
    pub(crate) fn shut(&mut self, number: u64, end: usize) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let this = connection.ends[end];
        connection.ends[end].open = false;
        let host = &mut self.hosts[this.party];
        if host.ends.get(&this.key) == Some(&number) {
            host.ends.remove(&this.key);
        }
        // A connection that has not arrived has no second endpoint yet, and `arrive` still needs it.
        if connection.arrived && connection.ends.iter().all(|e| !e.open) {
            self.connections.remove(&number);
        }
    }
}
