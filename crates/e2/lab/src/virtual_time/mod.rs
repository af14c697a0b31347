//! A whole network in virtual time and in one thread: RIC, controller, base stations with radios, xApps over REST and
//! E42, and a local bus. It uses the same configurations that start the components on sockets. There is no clock, and
//! randomness depends on the seed only: the same network and seed give the same [`Network::digest`] in any process.
//!
//! ```text
//! sim::World --E2 over simulated links--> RIC with the controller's iApp
//!    | calls at scheduled times              | bus messages, responses with the latency of a link
//!    v                                       v
//! base stations with radios               xApps over REST (`programs`): requests with the latency of a link
//! ```

mod clients;
mod controllers;
mod faults;
mod programs;

use std::cell::RefCell;
use std::sync::MutexGuard;
use std::time::Duration;

use ranlab_machine::lock;
use ranlab_ran::RADIO_TICK;
use ranlab_ran::radio::{Radio, RadioMeter, SharedRadio, SharedSite};
use ranlab_ran::stats::CellSource;
use ranlab_sdk::e2::Time;
use ranlab_sim::{Digest, LinkProfile, PartyId, Step, World};

use crate::FleetComponent;
use clients::Clients;
use controllers::Controller;
use programs::{ProgramEvent, Programs};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{AnyComponent, rig, sut};

pub use clients::ClientReport;
pub use faults::{FaultPlan, Target};
pub use programs::Control;

/// Time until a peer detects a connection that broke without being closed.
const DETECTION: Duration = Duration::from_secs(1);
/// Token of the call that advances the radios. Tokens of programs are larger numbers.
const TICK: u64 = 0;

/// Members of a network.
#[derive(Debug, Clone)]
pub struct NetworkSpec {
    /// RICs, with or without a controller, each with the name by which the other members find it.
    pub controllers: Vec<(String, AnyComponent)>,
    /// Base stations, each with a radio, and the name of the RIC to which they connect.
    pub fleets: Vec<(FleetComponent, String)>,
    /// xApps over a controller's REST or a RIC's E42, as name, configuration and name of the RIC.
    /// [`Network::start_xapps`] starts them.
    pub xapps: Vec<(String, AnyComponent, String)>,
    /// One-way latency of every message.
    pub latency: Duration,
}

impl NetworkSpec {
    /// Returns a network with a single RIC named `ric`, to which all other members connect.
    pub fn of_one(
        controller: AnyComponent,
        fleet: FleetComponent,
        xapps: Vec<(String, AnyComponent)>,
        latency: Duration,
    ) -> Self {
        let ric = || "ric".to_owned();
        let xapps = xapps.into_iter().map(|(name, part)| (name, part, ric())).collect();
        Self { controllers: vec![(ric(), controller)], fleets: vec![(fleet, ric())], xapps, latency }
    }
}

/// State of a UE at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UeState {
    /// Number of the base station, from 1.
    pub station: usize,
    /// Number of the UE, from 1.
    pub ue: u32,
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// Slice to which a controller assigned the UE, if any.
    pub slice: Option<u16>,
    /// Bytes of IP delivered since the UE attached.
    pub bytes: u64,
    /// Downlink PRBs used since the UE attached.
    pub prbs: u64,
    /// Bytes queued for the UE in RLC.
    pub backlog_bytes: u64,
}

/// Callback for each event, with a description.
pub type EventObserver = Box<dyn FnMut(Time, &str)>;

/// Returns the error for a component that does not run in virtual time.
fn refused(part: &AnyComponent, role: &str, allowed: &str) -> ComponentError {
    rig(format!("component `{}` does not run in virtual time as {role}; allowed: {allowed}", part.name()))
}

/// A base station: its radios, and its agents in order, each with the cells of its UEs.
struct Station {
    number: u32,
    source: CellSource,
    site: SharedSite,
    agents: Vec<(PartyId, Vec<usize>)>,
}

/// A network that runs in steps.
pub struct Network {
    world: World,
    controllers: Vec<Controller>,
    stations: Vec<Station>,
    programs: Programs,
    clients: Clients,
}

impl Network {
    /// Creates all members except the xApps at time zero. Base stations connect over their configured ramp. A
    /// `witness` is called for every event except single messages.
    ///
    /// # Errors
    ///
    /// Returns an error if a component does not run in virtual time, or its configuration is invalid.
    pub fn new(
        cast: &NetworkSpec,
        seed: u64,
        witness: Option<EventObserver>,
    ) -> Result<Self, ComponentError> {
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
        let mut controllers = Vec::new();
        for (name, part) in &cast.controllers {
            if controllers.iter().any(|known: &Controller| known.name == *name) {
                return Err(rig(format!("two controllers have the name {name}")));
            }
            controllers.push(Controller::new(&mut world, name, part)?);
        }
        let seats: Vec<_> = controllers.iter().map(|it| (it.name.as_str(), it.ric)).collect();
        let programs = Programs::new(&cast.xapps, cast.latency, &seats)?;
        let clients = Clients::new(cast.xapps.iter())?;
        let mut network = Self { world, controllers, stations: Vec::new(), programs, clients };
        network.world.call_at(Time::ZERO + RADIO_TICK, TICK);
        for (fleet, ric) in &cast.fleets {
            network.add_stations(fleet, ric)?;
        }
        Ok(network)
    }

    /// Adds base stations.
    fn add_stations(&mut self, part: &FleetComponent, ric: &str) -> Result<(), ComponentError> {
        if part.radio.is_none() {
            return Err(rig("base stations without a `radio` do not run in virtual time"));
        }
        let fleet = part.fleet()?;
        for n in 0..fleet.nodes {
            let comes = Time::ZERO + fleet.ramp.mul_f64(f64::from(n) / f64::from(fleet.nodes));
            self.pass_until(comes.max(self.world.now()))?;
            let now = self.world.now();
            let index = fleet.first + n;
            let template = fleet.template(now, 0);
            let number = template.layout().station(index);
            if self.stations.last().is_none_or(|last| last.number != number) {
                let source = template.cell(index, now).map_err(rig)?;
                let site = source.site().ok_or_else(|| rig("the base station has no radio"))?;
                self.stations.push(Station { number, source, site, agents: Vec::new() });
            }
            let name = match self.agents().count() {
                0 => "agent".to_owned(),
                before => format!("agent{}", before + 1),
            };
            let Some(station) = self.stations.last_mut() else { continue };
            let count = station.site.cells().len();
            let cells = (0..count).filter(|cell| template.has_cell(index, *cell)).collect();
            let source = station.source.clone();
            let first = RefCell::new(Some(template.agent_over(index, &source)));
            let node_id = template.layout().identity(fleet.stations.plmn, index).0;
            let address = ric.to_owned();
            let make = move |now, _| {
                let born = first.borrow_mut().take();
                // A restarted agent is connected to its cell, which continued to run.
                let mut agent = born.unwrap_or_else(|| template.agent_over(index, &source));
                let added = agent.add_controller(now, address.clone());
                debug_assert!(added.is_ok(), "{added:?}");
                agent
            };
            let party = self.world.node(&name, node_id, make);
            station.agents.push((party, cells));
        }
        Ok(())
    }

    /// Returns the current virtual time.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Advances the time.
    ///
    /// # Errors
    ///
    /// Returns an error if a party violated the rules of the simulation, or an xApp failed.
    pub fn pass(&mut self, time: Duration) -> Result<(), ComponentError> {
        self.pass_until(self.world.now() + time)
    }

    fn pass_until(&mut self, end: Time) -> Result<(), ComponentError> {
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

    /// Advances the radios, and notifies their agents about UEs that attached or detached.
    fn tick(&mut self) {
        let now = self.world.now();
        for station in &self.stations {
            let moved = station.site.pass(now);
            if moved.is_empty() {
                continue;
            }
            for (party, cells) in &station.agents {
                let its = moved.iter().filter(|(cell, _)| cells.contains(cell));
                self.world.with_agent(*party, |agent, _| its.for_each(|(_, it)| it.notify(agent)));
            }
        }
        self.world.call_at(now + RADIO_TICK, TICK);
    }

    /// Handles an event of a program.
    fn take(&mut self, turn: ProgramEvent) {
        match turn {
            ProgramEvent::Request { token, at, request } => {
                let controller = &self.controllers[at];
                if let Some(thaw) = self.world.frozen_until(controller.ric) {
                    return self.programs.again(
                        &mut self.world,
                        thaw,
                        ProgramEvent::Request { token, at, request },
                    );
                }
                let accepted = controller.iapp.get().and_then(|iapp| {
                    self.world.with_ric(controller.ric, |ric, now| ric.northbound(now, iapp, request))
                });
                match accepted {
                    Some(()) => self.programs.taken(at, token),
                    None => self.programs.gone(&mut self.world, at, token),
                }
            }
            turn => self.programs.take(&mut self.world, turn),
        }
    }

    /// Delivers the messages of controllers and executes their requests.
    fn carry(&mut self) {
        self.clients.count_events(&mut self.world);
        for (_, reply) in self.world.take_replies() {
            self.programs.replied(&mut self.world, reply);
        }
        for (at, controller) in self.controllers.iter_mut().enumerate() {
            for message in controller.post.take() {
                self.programs.publish(&mut self.world, at, &message);
            }
            if self.programs.waits_for(at) && self.world.look_at_ric(controller.ric).is_none() {
                self.programs.all_gone(&mut self.world, at);
            }
            controller.run_errands(&mut self.world);
        }
    }

    fn agents(&self) -> impl Iterator<Item = PartyId> {
        self.stations.iter().flat_map(|station| station.agents.iter().map(|(party, _)| *party))
    }

    /// Returns the radios of all base stations.
    fn cells(&self) -> impl Iterator<Item = MutexGuard<'_, Radio>> {
        let cells = self.stations.iter().flat_map(|station| station.site.cells());
        cells.map(|radio| lock(radio))
    }

    /// Returns whether each base station is set up with its RIC, and with all its operators.
    pub fn is_up(&self) -> bool {
        let up = |party| {
            let agent = self.world.look_at_agent(party)?;
            Some(agent.controllers().all(|(controller, _)| agent.is_up(controller)))
        };
        let mut faces = self.controllers.iter().map(Controller::faces);
        self.agents().all(|party| up(party) == Some(true))
            && faces
                .all(|faces| faces.is_none_or(|mut all| all.len() > 0 && all.all(|it| up(it) == Some(true))))
    }

    /// Advances the time in steps until all base stations are set up.
    ///
    /// # Errors
    ///
    /// Returns an error if the timeout expired.
    pub fn pass_until_up(&mut self, step: Duration, patience: Duration) -> Result<(), ComponentError> {
        let end = self.world.now() + patience;
        while !self.is_up() {
            if self.world.now() >= end {
                return Err(sut(format!(
                    "not all base stations were set up within {} s",
                    patience.as_secs()
                )));
            }
            self.pass(step)?;
        }
        Ok(())
    }

    /// Starts the xApps.
    pub fn start_xapps(&mut self) {
        self.programs.start(&mut self.world);
        self.clients.start(&mut self.world);
    }

    /// Schedules faults, with times relative to now.
    ///
    /// # Errors
    ///
    /// Returns an error if a fault affects an unknown party.
    pub fn plan(&mut self, faults: &[FaultPlan], seed: u64) -> Result<(), ComponentError> {
        let agents: Vec<_> = self.agents().collect();
        // A controller and its agents towards operators run in one process.
        let process = |it: &Controller| (it.ric, it.faces().into_iter().flatten().collect());
        let rics: Vec<_> = self.controllers.iter().map(process).collect();
        for (at, fault) in faults::faults(faults, seed, &rics, &agents)? {
            self.world.plan(self.world.now() + at, fault);
        }
        Ok(())
    }

    /// Starts a measurement window.
    pub fn begin(&mut self) {
        self.cells().for_each(|mut radio| radio.begin());
        self.clients.begin(&self.world);
    }

    /// Returns the results of xApps over E42 since the start of the window.
    pub fn heard(&self) -> Vec<ClientReport> {
        self.clients.heard(&self.world)
    }

    /// Returns the radio measurements since the start of the window. `busy` is the computing time.
    pub fn radios(&mut self, busy: Duration) -> Vec<RadioMeter> {
        let read = |mut radio: MutexGuard<'_, Radio>| {
            radio.was_busy(busy);
            radio.meter()
        };
        self.cells().map(read).collect()
    }

    /// Returns the UEs that are attached now.
    pub fn ues(&self) -> Vec<UeState> {
        let of = |station: usize, radio: &SharedRadio| {
            let radio = lock(radio);
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
        let cells = |(n, it): (usize, &Station)| {
            it.site.cells().iter().flat_map(move |radio| of(n, radio)).collect::<Vec<_>>()
        };
        (1..).zip(&self.stations).flat_map(cells).collect()
    }

    /// Returns the changes that xApps have requested so far.
    pub fn controls(&self) -> &[Control] {
        &self.programs.controls
    }

    /// Checks that all xApps run or have finished.
    ///
    /// # Errors
    ///
    /// Returns an error if an xApp failed.
    pub fn check(&self) -> Result<(), ComponentError> {
        self.programs.check()?;
        self.clients.check()
    }

    /// Returns the FNV-1a hash of every delivered message and of the traffic of each radio.
    pub fn digest(&mut self) -> u64 {
        let mut digest = Digest::default();
        digest.number(self.world.digest());
        for mut meter in self.radios(Duration::ZERO) {
            // The computing time depends on the machine, so it is excluded from the digest.
            meter.real_time_factor = 0.0;
            digest.bytes(&serde_json::to_vec(&meter).unwrap_or_default());
        }
        digest.value()
    }
}
