//! xApps over REST in virtual time. Their requests, responses and messages take the latency of a link.

use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{Method, NorthboundReply, NorthboundRequest};
use ranlab_sim::{PartyId, World};
use serde_json::{Value as Json, json};

use super::refused;
use crate::rest_client::{PATIENCE, RestError, judged};
use crate::rest_xapp::{Ask, RestXapp, Want};
use crate::xapp_slice::SliceXappMachine;
use crate::xapp_traffic::TrafficXappMachine;
use crate::{MonitorComponent, RestUrl, SLICING_PORT, SliceXappComponent, TrafficXappComponent};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{AnyComponent, rig};

/// Maximum number of bus messages queued for an xApp. Further messages are lost, as over HTTP.
const INBOX_MAX: usize = 1_024;

/// Maximum number of recorded control requests.
const CONTROLS_MAX: usize = 100_000;

/// A change that an xApp requested, and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// Time at which the xApp sent the request.
    pub at: Time,
    /// Name of the xApp.
    pub by: String,
    /// HTTP method.
    pub method: &'static str,
    /// Path of the resource.
    pub path: String,
    /// Requested state, as JSON.
    pub body: String,
    /// Error of a rejected request; `None` if the request was accepted or is pending.
    pub refused: Option<String>,
}

/// A scheduled event of a program.
pub(super) enum ProgramEvent {
    /// A request arrives at a RIC, given by its number.
    Request { token: u64, at: usize, request: NorthboundRequest },
    /// The response to a request arrives at the xApp.
    Answer { token: u64, answer: Result<Json, RestError> },
    /// The timeout of a request expires.
    Late { token: u64 },
    /// A bus message arrives at an xApp.
    Message { xapp: usize, message: Json },
    /// The waiting time of an xApp has expired.
    Wake { xapp: usize },
}

struct Program {
    name: String,
    /// Index of the xApp's RIC.
    at: usize,
    machine: Box<dyn RestXapp>,
    begun: Option<Time>,
    /// Token of the pending request, if any.
    asking: Option<u64>,
    inbox: VecDeque<Json>,
    missed: u64,
    ended: Option<Result<(), ComponentError>>,
}

/// All xApps over REST, and their pending events.
pub(super) struct Programs {
    all: Vec<Program>,
    latency: Duration,
    rics: Vec<PartyId>,
    /// Times of the last arrival at a RIC and at an xApp. Later messages arrive no earlier, so messages do not overtake
    /// each other.
    last: [Time; 2],
    turns: BTreeMap<u64, ProgramEvent>,
    /// Last assigned token. Scheduled calls and requests use the same sequence of tokens.
    last_token: u64,
    /// Requests that a RIC has accepted but not answered, with the number of the RIC.
    requests: BTreeMap<u64, usize>,
    /// The first control requests, up to [`CONTROLS_MAX`].
    pub(super) controls: Vec<Control>,
    /// Indices of pending control requests, by token.
    open: BTreeMap<u64, usize>,
}

/// Returns the state machine of an xApp, or `None` if the xApp uses E42 and is a party of the simulated world.
fn machine(part: &AnyComponent) -> Result<Option<Box<dyn RestXapp>>, ComponentError> {
    if let Some(part) = part.get::<SliceXappComponent>() {
        return Ok(Some(Box::new(SliceXappMachine::new(part)?)));
    }
    if let Some(part) = part.get::<TrafficXappComponent>() {
        return Ok(Some(Box::new(TrafficXappMachine::new(part)?)));
    }
    match part.get::<MonitorComponent>() {
        Some(_) => Ok(None),
        None => Err(refused(part, "xApp", "`slice_xapp`, `traffic_xapp` or `monitor`")),
    }
}

/// Returns the error for an unreachable controller.
fn away(why: ErrorKind) -> RestError {
    RestError::Away(RestUrl::loopback(SLICING_PORT), why.into())
}

impl Programs {
    /// Creates the xApps, each with the RIC that its entry names.
    pub(super) fn new(
        xapps: &[(String, AnyComponent, String)],
        latency: Duration,
        rics: &[(&str, PartyId)],
    ) -> Result<Self, ComponentError> {
        let program = |(name, part, ric): &(String, AnyComponent, String)| {
            let at = rics.iter().position(|(known, _)| known == ric);
            let at = at.ok_or_else(|| rig(format!("xApp {name} names the unknown RIC {ric}")))?;
            Ok(machine(part)?.map(|machine| Program {
                name: name.clone(),
                at,
                machine,
                begun: None,
                asking: None,
                inbox: VecDeque::new(),
                missed: 0,
                ended: None,
            }))
        };
        let all = xapps
            .iter()
            .filter_map(|xapp| program(xapp).transpose())
            .collect::<Result<_, ComponentError>>()?;
        Ok(Self {
            all,
            latency,
            rics: rics.iter().map(|(_, party)| *party).collect(),
            last: [Time::ZERO; 2],
            turns: BTreeMap::new(),
            last_token: 0,
            requests: BTreeMap::new(),
            controls: Vec::new(),
            open: BTreeMap::new(),
        })
    }

    pub(super) fn start(&mut self, world: &mut World) {
        for xapp in 0..self.all.len() {
            self.all[xapp].begun = Some(world.now());
            world.remark(|| format!("{} starts", self.all[xapp].name));
            self.go_on(world, xapp);
        }
    }

    /// Returns the error of an xApp that failed.
    pub(super) fn check(&self) -> Result<(), ComponentError> {
        let ended = self.all.iter().filter_map(|program| program.ended.clone());
        ended.collect()
    }

    /// Returns the event that belongs to a call of the simulation.
    pub(super) fn turn(&mut self, token: u64) -> Option<ProgramEvent> {
        self.turns.remove(&token)
    }

    /// Schedules an event at a later time.
    pub(super) fn again(&mut self, world: &mut World, at: Time, turn: ProgramEvent) {
        self.last_token += 1;
        self.turns.insert(self.last_token, turn);
        world.call_at(at, self.last_token);
    }

    /// Schedules an event that travels between a RIC and an xApp.
    fn soon(&mut self, world: &mut World, ric: usize, turn: ProgramEvent) {
        let last = &mut self.last[usize::from(!matches!(turn, ProgramEvent::Request { .. }))];
        let at = (world.now() + self.latency + world.delay_of(self.rics[ric])).max(*last);
        *last = at;
        self.again(world, at, turn);
    }

    pub(super) fn take(&mut self, world: &mut World, turn: ProgramEvent) {
        match turn {
            // The network handles requests.
            ProgramEvent::Request { .. } => {}
            ProgramEvent::Answer { token, answer } => self.answered(world, token, answer),
            ProgramEvent::Late { token } => self.answered(world, token, Err(away(ErrorKind::TimedOut))),
            ProgramEvent::Message { xapp, message } => {
                let program = &mut self.all[xapp];
                if program.inbox.len() < INBOX_MAX {
                    program.inbox.push_back(message);
                } else {
                    program.missed += 1;
                }
                self.go_on(world, xapp);
            }
            ProgramEvent::Wake { xapp } => self.go_on(world, xapp),
        }
    }

    fn answered(&mut self, world: &mut World, token: u64, answer: Result<Json, RestError>) {
        let Some(xapp) = self.all.iter().position(|program| program.asking == Some(token)) else { return };
        self.requests.remove(&token);
        if let Some(control) = self.open.remove(&token) {
            self.controls[control].refused = answer.as_ref().err().map(ToString::to_string);
        }
        let program = &mut self.all[xapp];
        program.asking = None;
        let age = world.now().since(program.begun.unwrap_or(Time::ZERO));
        let verdict = answer.as_ref().err().map(|error| format!("{}: {error}", program.name));
        match program.machine.answered(age, answer) {
            Ok(_) => verdict.into_iter().for_each(|words| world.remark(|| words)),
            Err(trouble) => {
                world.remark(|| format!("{} ends: {trouble}", program.name));
                program.ended = Some(Err(trouble));
            }
        }
        self.go_on(world, xapp);
    }

    /// Runs an xApp until it has to wait.
    fn go_on(&mut self, world: &mut World, xapp: usize) {
        let now = world.now();
        loop {
            let program = &mut self.all[xapp];
            let (Some(begun), None, None) = (program.begun, program.asking, &program.ended) else { return };
            match program.machine.want(now.since(begun)) {
                Want::Ask(ask) => return self.ask(world, xapp, ask),
                Want::Wait(until) => {
                    if let Some(message) = program.inbox.pop_front() {
                        program.machine.on_bus_message(&message);
                        continue;
                    }
                    if let Some(until) = until {
                        self.again(world, begun + until, ProgramEvent::Wake { xapp });
                    }
                    return;
                }
                Want::Done => {
                    world.remark(|| format!("{} has finished", program.name));
                    program.ended = Some(Ok(()));
                }
            }
        }
    }

    fn ask(&mut self, world: &mut World, xapp: usize, ask: Ask) {
        self.last_token += 1;
        let token = self.last_token;
        let body = ask.body.as_ref().map(Json::to_string).unwrap_or_default();
        world.remark(|| format!("{}: {} {} {body}", self.all[xapp].name, ask.method, ask.path));
        let method = match ask.method {
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            _ => Method::Get,
        };
        let path = ask.path.strip_prefix("/v1/").unwrap_or(&ask.path).to_owned();
        if method != Method::Get && self.controls.len() < CONTROLS_MAX {
            self.open.insert(token, self.controls.len());
            let at = world.now();
            let by = self.all[xapp].name.clone();
            let path = ask.path.clone();
            let body = body.clone();
            self.controls.push(Control { at, by, method: ask.method, path, body, refused: None });
        }
        let request = NorthboundRequest { token, method, path, body: body.into(), party: None };
        let at = self.all[xapp].at;
        self.all[xapp].asking = Some(token);
        self.soon(world, at, ProgramEvent::Request { token, at, request });
        self.again(world, world.now() + PATIENCE, ProgramEvent::Late { token });
    }

    /// Handles the response of a RIC.
    pub(super) fn replied(&mut self, world: &mut World, reply: NorthboundReply) {
        if let Some(at) = self.requests.remove(&reply.token) {
            let body = serde_json::from_slice(&reply.body).unwrap_or_else(|_| json!({}));
            let answer = judged(reply.status, body);
            self.soon(world, at, ProgramEvent::Answer { token: reply.token, answer });
        }
    }

    /// Handles a request that found no running RIC.
    pub(super) fn gone(&mut self, world: &mut World, at: usize, token: u64) {
        self.soon(world, at, ProgramEvent::Answer { token, answer: Err(away(ErrorKind::ConnectionRefused)) });
    }

    /// Records that a RIC has accepted a request. The response may follow immediately.
    pub(super) fn taken(&mut self, at: usize, token: u64) {
        self.requests.insert(token, at);
    }

    /// Returns whether a request is pending at a RIC.
    pub(super) fn waits_for(&self, at: usize) -> bool {
        self.requests.values().any(|of| *of == at)
    }

    /// Handles the crash of a RIC. Its pending requests get no response.
    pub(super) fn all_gone(&mut self, world: &mut World, at: usize) {
        let gone: Vec<_> = self.requests.iter().filter(|(_, of)| **of == at).map(|(it, _)| *it).collect();
        for token in gone {
            self.requests.remove(&token);
            self.soon(
                world,
                at,
                ProgramEvent::Answer { token, answer: Err(away(ErrorKind::ConnectionReset)) },
            );
        }
    }

    /// Handles a message that a controller has published.
    pub(super) fn publish(&mut self, world: &mut World, at: usize, message: &Bytes) {
        for xapp in 0..self.all.len() {
            let program = &self.all[xapp];
            let listens = program.at == at && program.machine.listens();
            if listens && program.begun.is_some() && program.ended.is_none() {
                let message = serde_json::from_slice(message).unwrap_or_default();
                self.soon(world, at, ProgramEvent::Message { xapp, message });
            }
        }
    }
}
