//! Base stations as a component.

use std::fs::File;
use std::io::{LineWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::emulated::{Fleet, FleetConfig, FleetError, FleetReport};
use ranlab_campaign::schema::Kind;
use ranlab_machine::lock;
use ranlab_radio::user_plane::Carrier;
use ranlab_ran::functions::{Requires, StationFunction, functions, hands_over};
use ranlab_ran::node::{NodeKind, NodeLayout, NodeTemplate};
use ranlab_ran::radio::{DUS_MAX, Fidelity, FlowPlan, PlannedHandover, RadioConfig, RadioMeter, UePresence};
use ranlab_sdk::e2::agent::SetupFailure;
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, Plmn, Version};
use ranlab_sdk::wire::e2sm::common::Snssai;
use ranlab_sdk::wire::e2sm::{Encoding, ServiceModel, hw::Hw};
use ranlab_sdk::wire::flat::Coding;

use crate::e2_fields::E2Names;
use crate::e2_fields::{customary_models, service_models};
use ranlab_lab::field::{Each, Maybe, Text};
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, Seed, config, counts, environment, parse, rig};
use ranlab_ran::text::{RadioSettings, StageKey};
use ranlab_ran::{Fading, Spelled};

/// Name of the HW service model, which every controller may use by default.
pub const HW: &str = <Hw as ServiceModel>::NAME;

config! {
    /// E2 base stations and their UEs.
    pub struct FleetComponent {
        /// address of a controller of all base stations; repeatable, the first is the default controller of the UEs
        connect: Vec<Address> = Vec::new(), wiring();
        /// the addresses belong to one cluster of RICs (ric --bus): each base station connects to one of them, and to
        /// the next when that one disconnects or rejects it
        one_of: bool = false, wiring();
        /// number of base stations; with --kind split, number of E2 nodes (CU-CP, CU-UP and DUs)
        nodes: u32 = 1, range(1, 100_000);
        /// number of UEs per base station
        ues: u16 = 32, range(0, 65_000);
        /// service models offered; hw stands for hw and the association control, which is always offered to ranlab's
        /// RIC
        sm: Vec<String> = customary_models(),
            kind(Kind::List(Box::new(Kind::choice(&service_models()))));
        /// radio of every base station, which controllers can control: TECHNOLOGY:PRBS, such as lte:25, nr:106 (n78) or
        /// nr-fdd:106; without it, statistics are generated without a radio
        radio: Option<Spelled<Carrier>> as Maybe<Text> = None;
        /// with a radio: slot simulates each slot and packet in real time; fluid computes steps of 10 ms without
        /// packets and commands, for hundreds of cells
        fidelity: Fidelity as E2Names = Fidelity::Slot;
        /// with a radio: channel quality of each UE, mcs:20 (fixed) or sinr:15 (dB, fading)
        channel: Spelled<Fading> as Text = Fading::usual();
        /// with a radio: size of the RLC buffer of a UE
        rlc_buffer: u32 = 10_000_000, range(1_500, 50_000_000), unit("B");
        /// with a radio: traffic of UEs, [UES=]TYPE[@FROM[-UNTIL]] where TYPE is voip, tcp, udp:MBIT_PER_S[:ON:OFF] or
        /// full, or up-tcp, up-udp:MBIT_PER_S[:ON:OFF] or up-full for data that UEs send; repeatable
        flows: Vec<Spelled<FlowPlan>> as Each<Text> = Vec::new();
        /// with a radio: UEs that are present for a limited time, UES@FROM[-UNTIL]; all others are present from the
        /// start
        stay: Vec<Spelled<UePresence>> as Each<Text> = Vec::new();
        /// with a radio: handovers started by the base station, as UES=CELL@TIME with the 36-bit cell identity in
        /// hexadecimal; the base station may ask controllers first (RC); requires kpm, rc or ni in --sm
        moves: Vec<Spelled<PlannedHandover>> as Each<Text> = Vec::new();
        /// with a radio: slices requested by UEs, SST or SST-SD, assigned in rotation
        snssai: Vec<Snssai> as Each<Text> = Vec::new();
        /// with a radio: networks selected by UEs, MCC.MNC, assigned in rotation; without it, the network of the base
        /// station
        plmn: Vec<Plmn> as Each<Text> = Vec::new();
        /// with a radio: Ed25519 public key (64 hexadecimal digits) that must have signed the stages of traffic
        /// control; repeatable; requires a build with --features wasm
        stage_key: Vec<Spelled<StageKey>> as Each<Text> = Vec::new();
        /// with a radio and --kind split: number of DUs per base station, one cell each; UEs are attached to them in
        /// rotation
        dus: u32 = 1, range(1, i64::from(DUS_MAX));
        /// kind of base station: gnb, split (CU-CP, CU-UP, DUs), ng-enb, enb or mixed
        kind: NodeKind as E2Names = NodeKind::Gnb;
        /// E2AP version of the base stations: 1.01, 2.03 or 3.01
        e2ap: Version as E2Names = Version::V2_03;
        /// encoding of E2AP: per (aligned PER, as standardized) or flat (FlatBuffers, supported only by ranlab's RIC)
        encoding: Coding as E2Names = Coding::Per;
        /// encoding of service model messages: plain (packed structs), per or flat, for models that support it; without
        /// it, the usual encoding of each model
        sm_encoding: Option<Encoding> as Maybe<E2Names> = None;
        /// time over which the base stations start; without it, 1 ms per base station, and with a third-party
        /// controller each starts after the setup of the previous one
        ramp: Option<Duration> = None;
        /// number of the first base station; keeps numbers distinct if several processes run in one network
        first: u32 = 0, wiring();
        /// seed of the random behaviour of cells and UEs; equal seeds give equal behaviour over time, but the times of
        /// reports depend on the clock
        seed: Seed = Seed(1), wiring();
        /// clock offset between this machine and the campaign, in microseconds; subtracted from each time stamp
        ahead_us: i64 = 0, inner();
    }
}

/// Configuration keys that require a radio.
pub const RADIO_KEYS: [&str; 11] = [
    "radio",
    "fidelity",
    "channel",
    "rlc_buffer",
    "flows",
    "stay",
    "moves",
    "snssai",
    "plmn",
    "stage_key",
    "dus",
];

impl FleetComponent {
    fn radio(&self) -> Result<Option<RadioConfig>, ComponentError> {
        let fluid = self.fidelity == Fidelity::Fluid;
        if self.radio.is_some() && self.kind == NodeKind::Mixed {
            return Err(rig(
                "`radio` requires that all base stations have one kind: gnb, split, ng-enb or enb",
            ));
        }
        if self.radio.is_some() && self.kind == NodeKind::Split && fluid {
            return Err(rig(
                "the kind split requires fidelity slot: fidelity fluid supports only complete base stations",
            ));
        }
        if self.dus != 1 && (self.radio.is_none() || self.kind != NodeKind::Split) {
            return Err(rig("`dus` requires a `radio` and base stations of the kind split"));
        }
        let parts = NodeLayout { kind: self.kind, dus: self.dus }.parts();
        if self.dus != 1 && (!self.nodes.is_multiple_of(parts) || !self.first.is_multiple_of(parts)) {
            return Err(rig(format!(
                "`nodes` and `first` must be multiples of {parts}, because a base station with {} DUs has {parts} nodes",
                self.dus
            )));
        }
        self.check_functions(fluid)?;
        let Self { radio, channel, rlc_buffer, flows, stay, moves, snssai, plmn, ues, .. } = self;
        let rlc_buffer = *rlc_buffer;
        let ues = (*ues).into();
        let settings = RadioSettings { radio, channel, rlc_buffer, flows, stay, moves, snssai, plmn, ues };
        let config = settings.config().map_err(rig)?;
        match config {
            None if fluid || !self.stage_key.is_empty() => {
                Err(rig("`fidelity` and `stage_key` require a `radio`"))
            }
            config => Ok(config.map(|config| RadioConfig {
                fidelity: self.fidelity,
                dus: self.dus,
                stage_keys: self.stage_key.iter().map(|key| key.value.0).collect(),
                ..config
            })),
        }
    }

    /// Returns the named functions, except those that every base station offers.
    fn functions(&self) -> Result<Vec<&'static dyn StationFunction>, ComponentError> {
        let is_everywhere = |name: &str| functions().any(|it| !it.is_selectable() && it.name() == name);
        self.sm.iter().filter(|name| !is_everywhere(name)).map(|name| parse(name)).collect()
    }

    /// Checks the requirements of the named functions. If handovers are planned, also checks that they can be executed.
    fn check_functions(&self, fluid: bool) -> Result<(), ComponentError> {
        let named = self.functions()?;
        let steered = self.radio.is_some() && !fluid;
        let is_nr = matches!(self.kind, NodeKind::Gnb | NodeKind::Split);
        for function in &named {
            let Requires { radio, nr } = function.requires();
            let name = function.name();
            if radio && !steered {
                return Err(rig(format!("service model {name} requires a `radio` with fidelity slot")));
            }
            if nr && !is_nr {
                return Err(rig(format!(
                    "service model {name} requires NR base stations: kind gnb or split"
                )));
            }
        }
        let decides = steered && self.kind != NodeKind::Split && hands_over(&named);
        if !self.moves.is_empty() && self.radio.is_some() && !decides {
            return Err(rig(
                "`moves` requires fidelity slot, a kind other than split, and a service model with handovers: kpm, rc or ni",
            ));
        }
        Ok(())
    }

    pub(crate) fn fleet(&self) -> Result<FleetConfig, ComponentError> {
        let stations = NodeTemplate {
            kind: self.kind,
            plmn: Plmn::new(505, 1, 2),
            ues: self.ues,
            radio: self.radio()?,
            service_models: self.functions()?,
            own_functions: self.sm.iter().any(|name| name == HW),
            version: self.e2ap,
            coding: self.encoding,
            sm_encoding: self.sm_encoding,
            seed: self.seed.0,
            ..NodeTemplate::default()
        };
        Ok(FleetConfig {
            controllers: self.connect.clone(),
            one_of: self.one_of,
            nodes: self.nodes,
            stations,
            ramp: self.ramp.unwrap_or_else(|| Duration::from_millis(u64::from(self.nodes))),
            gentle: self.ramp.is_none(),
            first: self.first,
            ahead_us: self.ahead_us,
            sockets: SocketOptions::default(),
        })
    }
}

/// A running fleet.
pub struct RunningFleet {
    fleet: Fleet,
    at_begin: FleetReport,
    /// Time from the start of the first base station until all were set up, in microseconds; 0 until then.
    set_up_us: u64,
    started: Instant,
    nodes: u32,
    ues: u16,
}

impl RunningFleet {
    /// Prepares base stations, which [`ramp_up`](Self::ramp_up) starts.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration names something that the emulator does not support.
    pub fn new(part: &FleetComponent) -> Result<Self, ComponentError> {
        let fleet = Fleet::new(part.fleet()?);
        let at_begin = FleetReport::default();
        Ok(Self { fleet, at_begin, set_up_us: 0, started: Instant::now(), nodes: part.nodes, ues: part.ues })
    }

    /// Writes a line `NODE NUMBER` to a file for each HW ping that a base station executed. The lines can be compared
    /// with the acknowledgements.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be created.
    pub fn log_pings(&mut self, file: &Path) -> Result<(), ComponentError> {
        let wrong = |error: std::io::Error| environment(format!("{}: {error}", file.display()));
        let lines = Mutex::new(LineWriter::new(File::create(file).map_err(wrong)?));
        self.fleet.hear_pings(Arc::new(move |node: GlobalE2NodeId, number: u32| {
            let mut lines = lock(&lines);
            // If the disk is full, lines are missing, but the base stations continue.
            let _ = writeln!(lines, "{node} {number}");
        }));
        Ok(())
    }

    /// Starts the base stations over the configured ramp. If the call is cancelled, base stations that have started
    /// keep running.
    ///
    /// # Errors
    ///
    /// Returns an error if the first base station cannot reach a controller.
    pub async fn ramp_up(&mut self) -> Result<(), ComponentError> {
        self.started = Instant::now();
        self.fleet.ramp_up().await.map_err(|error| match error {
            FleetError::Unreachable(error) => environment(error),
            other => rig(other),
        })
    }

    /// Returns the counters so far.
    pub fn report(&self) -> FleetReport {
        self.fleet.report()
    }

    /// Returns the base stations whose setup failed and that are not set up, with the reason.
    pub fn setup_failures(&self) -> Vec<(GlobalE2NodeId, SetupFailure)> {
        self.fleet.setup_failures()
    }

    /// Returns the radio measurements since the last call.
    pub fn take_radios(&mut self) -> Vec<RadioMeter> {
        let radios = self.fleet.radios();
        self.fleet.begin_radios();
        radios
    }
}

impl RunningComponent for RunningFleet {
    fn counters(&mut self) -> Counters {
        let report = self.fleet.report();
        if report.alive == self.nodes && self.set_up_us == 0 {
            self.set_up_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        }
        [
            ("alive", f64::from(report.alive)),
            ("subscriptions", report.subscriptions as f64),
            ("sent", report.sent as f64),
            ("dropped", report.dropped as f64),
            ("reconnects", report.reconnects as f64),
            ("set_up_us", self.set_up_us as f64),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn begin(&mut self) {
        self.at_begin = self.fleet.report();
        self.fleet.begin_radios();
        // The call discards send delays from before the window.
        drop(self.fleet.take_lateness());
    }

    fn end(&mut self, report: &mut Report) {
        let then = self.at_begin;
        let now = self.fleet.report();
        report.put([
            ("alive", now.alive.into()),
            ("ues", u64::from(now.alive) * u64::from(self.ues)),
            ("sent", now.sent - then.sent),
            ("reports", now.sent - then.sent),
            ("sent_bytes", now.sent_bytes - then.sent_bytes),
            ("messages_sent", now.sent_messages - then.sent_messages),
            ("messages_received", now.received_messages - then.received_messages),
            ("dropped", now.dropped - then.dropped),
            ("skipped", now.skipped - then.skipped),
            ("reconnects", now.reconnects - then.reconnects),
            ("set_up_us", self.set_up_us),
        ]);
        let radios = self.fleet.radios();
        if !radios.is_empty() {
            report.detail = serde_json::to_value(radios).unwrap_or_default();
        }
        report.distributions.insert("lateness_us".to_owned(), counts(&self.fleet.take_lateness()));
    }
}
