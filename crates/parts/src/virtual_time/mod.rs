//! A whole network in virtual time: RIC, controller, base stations with radios, xApps over REST and a local bus in one
//! thread, from the configs that bring the same parts up on sockets. No clock and no chance but the seed's: the same cast
//! gives the same [`Network::digest`] in any process.
//!
//! ```text
//! sim::World --E2, its own links--> RIC with the controller's iApp
//!    | calls at its times                | bus, replies
//!    v                                   v
//! radios (pass, tell agents)          programs (RestXapp): requests, answers and messages take a link's latency
//! ```

mod faults;
mod programs;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use ranlab_controllers::bus::Bus;
use ranlab_controllers::xapps::Registry;
use ranlab_emulator::RADIO_TICK;
use ranlab_emulator::node::{NodeKind, identity};
use ranlab_emulator::radio::{RadioMeter, SharedRadio};
use ranlab_emulator::stats::Told;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{IApp, IAppId, Ric, RicConfig};
use ranlab_sim::{Digest, LinkProfile, PartyId, Step, World};

use crate::worker::Trouble;
use crate::{BusUrl, FleetPart, Part, rig, sut};
use programs::{Programs, Turn};

pub use faults::{FaultPlan, Target};
pub use programs::Control;

/// What base stations call the RIC.
const RIC: &str = "ric";
/// How long after its death the end of a connection is noticed that nobody ended in order.
const DETECTION: Duration = Duration::from_secs(1);
/// The token of the call by which radios are driven; programs' are above.
const TICK: u64 = 0;

/// Who is in a network.
#[derive(Debug, Clone)]
pub struct Cast {
    /// A RIC, bare or with the slicing or the traffic controller.
    pub controller: Part,
    /// Base stations, each with a radio.
    pub fleet: FleetPart,
    /// xApps over the controller's REST, by name. They start with [`Network::start_xapps`].
    pub xapps: Vec<(String, Part)>,
    /// How long a message takes from one to another.
    pub latency: Duration,
}

/// A UE at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UeState {
    /// Base station, from 1.
    pub station: usize,
    /// Its number, from 1.
    pub ue: u32,
    /// Its C-RNTI.
    pub rnti: u16,
    /// The slice that a controller put it into.
    pub slice: Option<u16>,
    /// Bytes of IP that arrived there since it came.
    pub bytes: u64,
    /// Downlink PRBs since it came.
    pub prbs: u64,
    /// Bytes that wait for it in RLC.
    pub backlog_bytes: u64,
}

/// Hears what happens, in words.
pub type Witness = Box<dyn FnMut(Time, &str)>;

/// What a part is called where it is told of.
fn name_of(part: &Part) -> String {
    let told = serde_json::to_value(part).unwrap_or_default();
    told["type"].as_str().unwrap_or_default().to_owned()
}

/// A part that has no form in virtual time.
fn refused(part: &Part, role: &str, allowed: &str) -> Trouble {
    rig(format!("part `{}` does not run in virtual time as {role}; {allowed} does", name_of(part)))
}

/// The controller's messages, until the network carries them on.
#[derive(Clone, Default)]
struct Post(Arc<Mutex<Vec<Bytes>>>);

impl Post {
    fn take(&self) -> Vec<Bytes> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Bus for Post {
    fn publish(&mut self, _: &str, message: Bytes) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

/// The RIC's config and what is in it, made anew for each of its lives.
fn brain(controller: &Part, post: &Post) -> Result<(RicConfig, Option<Box<dyn IApp>>), Trouble> {
    Ok(match controller {
        Part::Slicing(part) => (part.ric().machine()?, Some(Box::new(part.iapp()?))),
        Part::Traffic(part) if part.bus != BusUrl::Local => {
            return Err(rig(format!("bus {} does not run in virtual time; local does", part.bus)));
        }
        Part::Traffic(part) => (part.ric().machine()?, Some(Box::new(part.iapp(Box::new(post.clone()))?))),
        Part::Ric(part) if part.iapp.is_empty() => (part.machine()?, None),
        other => {
            return Err(refused(other, "controller", "`slicing`, `traffic` or `ric` without iApps"));
        }
    })
}

/// A base station.
struct Station {
    party: PartyId,
    radio: SharedRadio,
}

/// A network that runs when it is told to.
pub struct Network {
    world: World,
    ric: PartyId,
    iapp: Rc<Cell<Option<IAppId>>>,
    post: Post,
    stations: Vec<Station>,
    programs: Programs,
}

impl Network {
    /// Everybody but the xApps, at time zero; base stations come over their config's ramp. A `witness` hears everything but
    /// each message.
    ///
    /// # Errors
    /// A part has no form in virtual time, or its config says what cannot be.
    pub fn new(cast: &Cast, seed: u64, witness: Option<Witness>) -> Result<Self, Trouble> {
        let profile = LinkProfile {
            latency: (cast.latency, cast.latency),
            jitter: Duration::ZERO,
            bytes_per_second: 125_000_000,
            window_bytes: 1 << 20,
            detection: (DETECTION, DETECTION),
        };
        let mut world = World::new(seed, profile);
        world.trace_pdus(false);
        if let Some(witness) = witness {
            world.trace_to(witness);
        }
        let (post, iapp) = (Post::default(), Rc::new(Cell::new(None)));
        // What cannot be is told here; in later lives it is as it was.
        brain(&cast.controller, &post)?;
        let (controller, letters, hosted) = (cast.controller.clone(), post.clone(), iapp.clone());
        let ric = world.ric(RIC, move |life| {
            let (mut config, iapp) = brain(&controller, &letters).unwrap_or_default();
            config.first_instance = u16::try_from(life).unwrap_or(u16::MAX);
            let mut ric = Ric::new(config);
            ric.add_iapp(Box::new(Registry::new().0));
            hosted.set(iapp.map(|iapp| ric.add_iapp(iapp)));
            ric
        });
        let programs = Programs::new(&cast.xapps, cast.latency, ric)?;
        let mut network = Self { world, ric, iapp, post, stations: Vec::new(), programs };
        network.world.call_at(Time::ZERO + RADIO_TICK, TICK);
        network.settle(&cast.fleet)?;
        Ok(network)
    }

    /// Brings the base stations in.
    fn settle(&mut self, part: &FleetPart) -> Result<(), Trouble> {
        if part.radio.is_none() {
            return Err(rig("base stations without a `radio` do not run in virtual time"));
        }
        if part.kind == NodeKind::Split {
            return Err(rig("base stations of several parts (kind split) do not run in virtual time"));
        }
        let fleet = part.fleet()?;
        for n in 0..fleet.nodes {
            self.pass_until(Time::ZERO + fleet.ramp.mul_f64(f64::from(n) / f64::from(fleet.nodes)))?;
            let (now, index) = (self.world.now(), fleet.first + n);
            let template = fleet.template(now, 0);
            let (agent, radio) = template.agent(index, now).map_err(rig)?;
            let radio = radio.ok_or_else(|| rig("the base station has no radio"))?;
            let (first, cell) = (RefCell::new(Some(agent)), radio.clone());
            let name = if n == 0 { "agent".to_owned() } else { format!("agent{}", n + 1) };
            let node_id = identity(fleet.kind, fleet.plmn, index).0;
            let make = move |now, _| {
                let born = first.borrow_mut().take();
                // A later one is over the cell, which went on.
                let mut agent =
                    born.unwrap_or_else(|| template.agent_over(index, &Told::Radio(cell.clone())));
                let added = agent.add_controller(now, RIC.to_owned());
                debug_assert!(added.is_ok(), "{added:?}");
                agent
            };
            let party = self.world.node(&name, node_id, make);
            self.stations.push(Station { party, radio });
        }
        Ok(())
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// Somebody broke the rules of the world, or an xApp cannot go on.
    pub fn pass(&mut self, time: Duration) -> Result<(), Trouble> {
        self.pass_until(self.world.now() + time)
    }

    fn pass_until(&mut self, end: Time) -> Result<(), Trouble> {
        while let Some(step) = self.world.step(end).map_err(sut)? {
            match step {
                Step::Called(TICK) => self.tick(),
                Step::Called(token) => {
                    if let Some(turn) = self.programs.turn(token) {
                        self.take(turn);
                    }
                }
                Step::Happened => {}
            }
            self.carry();
        }
        Ok(())
    }

    /// Lets the radios' time pass, and tells their agents who came and went.
    fn tick(&mut self) {
        let now = self.world.now();
        for station in &self.stations {
            let moved = station.radio.lock().unwrap_or_else(PoisonError::into_inner).pass(now);
            if !moved.is_empty() {
                self.world.with_agent(station.party, |agent, _| {
                    moved.into_iter().for_each(|it| it.tell(agent));
                });
            }
        }
        self.world.call_at(now + RADIO_TICK, TICK);
    }

    /// Something of the programs'.
    fn take(&mut self, turn: Turn) {
        match turn {
            Turn::Request { token, request } => {
                if let Some(thaw) = self.world.frozen_until(self.ric) {
                    return self.programs.again(&mut self.world, thaw, Turn::Request { token, request });
                }
                let iapp = self.iapp.get();
                let asked = iapp.and_then(|iapp| {
                    self.world.with_ric(self.ric, |ric, now| ric.northbound(now, iapp, request))
                });
                match asked {
                    Some(()) => self.programs.taken(token),
                    None => self.programs.gone(&mut self.world, token),
                }
            }
            turn => self.programs.take(&mut self.world, turn),
        }
    }

    /// Carries what the controller said.
    fn carry(&mut self) {
        for (_, reply) in self.world.take_replies() {
            self.programs.replied(&mut self.world, reply);
        }
        for message in self.post.take() {
            self.programs.publish(&mut self.world, &message);
        }
        if self.programs.waits_for_ric() && self.world.look_at_ric(self.ric).is_none() {
            self.programs.all_gone(&mut self.world);
        }
    }

    /// Whether each base station is set up with the RIC.
    pub fn is_up(&self) -> bool {
        let up = |station: &Station| {
            let agent = self.world.look_at_agent(station.party)?;
            Some(agent.controllers().all(|(controller, _)| agent.is_up(controller)))
        };
        self.stations.iter().all(|station| up(station) == Some(true))
    }

    /// Lets time pass until all base stations are set up, in steps.
    ///
    /// # Errors
    /// They are not so in time.
    pub fn pass_until_up(&mut self, step: Duration, patience: Duration) -> Result<(), Trouble> {
        let end = self.world.now() + patience;
        while !self.is_up() {
            if self.world.now() >= end {
                return Err(sut(format!("base stations are not up within {} s", patience.as_secs())));
            }
            self.pass(step)?;
        }
        Ok(())
    }

    /// Starts the xApps.
    pub fn start_xapps(&mut self) {
        self.programs.start(&mut self.world);
    }

    /// Plans what shall go wrong, counted from now.
    ///
    /// # Errors
    /// It is about somebody who is not there.
    pub fn plan(&mut self, faults: &[FaultPlan], seed: u64) -> Result<(), Trouble> {
        let stations: Vec<_> = self.stations.iter().map(|station| station.party).collect();
        for (at, fault) in faults::faults(faults, seed, self.ric, &stations)? {
            self.world.plan(self.world.now() + at, fault);
        }
        Ok(())
    }

    /// A window begins.
    pub fn begin(&mut self) {
        for station in &self.stations {
            station.radio.lock().unwrap_or_else(PoisonError::into_inner).begin();
        }
    }

    /// What happened at each radio since then; `busy`: how long that took.
    pub fn radios(&mut self, busy: Duration) -> Vec<RadioMeter> {
        let read = |station: &Station| {
            let mut radio = station.radio.lock().unwrap_or_else(PoisonError::into_inner);
            radio.was_busy(busy);
            radio.meter()
        };
        self.stations.iter().map(read).collect()
    }

    /// The UEs that are there now.
    pub fn ues(&self) -> Vec<UeState> {
        let of = |(station, it): (usize, &Station)| {
            let radio = it.radio.lock().unwrap_or_else(PoisonError::into_inner);
            let ue = |(&ue, &rnti): (&u32, &u16)| {
                let report = radio.cell().report(rnti)?;
                let flows = radio.cell().flows(rnti).unwrap_or_default();
                Some(UeState {
                    station,
                    ue,
                    rnti,
                    slice: u16::try_from(report.slice_down).ok(),
                    bytes: flows.iter().map(|flow| flow.delivered.1).sum(),
                    prbs: report.dl.prbs,
                    backlog_bytes: report.dl.queue_bytes,
                })
            };
            radio.rntis().iter().filter_map(ue).collect::<Vec<_>>()
        };
        (1..).zip(&self.stations).flat_map(of).collect()
    }

    /// What xApps asked the controller to change so far.
    pub fn controls(&self) -> &[Control] {
        &self.programs.controls
    }

    /// Whether the xApps live, or have done their work.
    ///
    /// # Errors
    /// One could not go on.
    pub fn check(&self) -> Result<(), Trouble> {
        self.programs.check()
    }

    /// FNV-1a over every message that was delivered and over what each radio carried.
    pub fn digest(&mut self) -> u64 {
        let mut digest = Digest::default();
        digest.number(self.world.digest());
        for mut meter in self.radios(Duration::ZERO) {
            // How long it took is the machine's affair.
            meter.real_time_factor = 0.0;
            digest.bytes(&serde_json::to_vec(&meter).unwrap_or_default());
        }
        digest.value()
    }
}
