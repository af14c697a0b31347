//! Base stations of FlexRAN and 5G-EmPOWER as a component.

use std::collections::HashMap;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::fleet::{
    Delays, Incident, Protocol, SourcePool, SouthboundConfig, SouthboundFleet, SouthboundReport,
};
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_radio::user_plane::Carrier;
use ranlab_ran::radio::{FlowPlan, RadioConfig, RadioMeter, UePresence};
use ranlab_sdran::arrivals::{Channel, Event, Law, MAX_UES, PopulationConfig, Profile, parse_trace};
use ranlab_transport::Address;
use serde::{Deserialize, Serialize};

use crate::fields::Period;
use crate::fields::SdranNames;
use ranlab_lab::field::{Each, Maybe, Text};
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{
    RunningComponent, Seed, config, counts, environment, loopback, numbers, rig, setting_by_text, since,
};
use ranlab_ran::text::RadioSettings;
use ranlab_ran::{Fading, Spelled};

/// A duration longer than any run.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);
/// Maximum size of a trace file, in bytes.
const MAX_TRACE_BYTES: u64 = 1 << 30;

config! {
    /// Base stations of FlexRAN or 5G-EmPOWER and their UEs.
    pub struct SouthFleetComponent {
        /// address of the controller of all base stations [default: loopback, at the port of the published controller]
        connect: Vec<Address> = Vec::new(), wiring();
        /// number of base stations
        nodes: u32 = 1, range(1, 100_000);
        /// number of UEs per base station
        ues: u32 = 32, range(0, i64::from(MAX_UES));
        /// time over which the base stations start; without it, 1 ms per base station
        ramp: Option<Duration> = None;
        /// radio of every base station, which a FlexRAN controller can control: TECHNOLOGY:PRBS, such as lte:25, nr:106
        /// (n78) or nr-fdd:106; without it, statistics are generated without a radio
        radio: Option<Spelled<Carrier>> as Maybe<Text> = None;
        /// with a radio: channel quality of each UE, mcs:20 (fixed) or sinr:15 (dB, fading)
        channel: Spelled<Fading> as Text = Fading::usual();
        /// with a radio: size of the RLC buffer of a UE
        rlc_buffer: u32 = 10_000_000, range(1_500, 50_000_000), unit("B");
        /// with a radio: traffic of UEs, [UES=]TYPE[@FROM[-UNTIL]] where TYPE is voip, tcp, udp:MBIT_PER_S[:ON:OFF] or
        /// full; repeatable
        flows: Vec<Spelled<FlowPlan>> as Each<Text> = Vec::new();
        /// with a radio: UEs that are present for a limited time, UES@FROM[-UNTIL]; all others are present from the
        /// start
        stay: Vec<Spelled<UePresence>> as Each<Text> = Vec::new();
        /// with a radio: slices requested by UEs, SST or SST-SD, assigned in rotation
        snssai: Vec<Snssai> as Each<Text> = Vec::new();
        /// number of the first base station; keeps numbers distinct if several processes run in one network
        first: u32 = 0, wiring();
        /// seed of the random number generators
        seed: Seed = Seed(1), wiring();
        /// protocol of the base stations
        protocol: Protocol as SdranNames = Protocol::Flexran, inner();
        /// when reports are sent: honour (at the period that the controller requests) or a fixed period [default: 50ms
        /// FlexRAN, 500ms 5G-EmPOWER, as in the MARC paper]
        period: Option<Period> = None;
        /// service whose UEs arrive and leave
        service: Profile as SdranNames = Profile::Marc;
        /// distribution of the time until a UE arrives, e.g. exponential:10s, constant:0s [default: that of the
        /// service]
        activation: Option<Law> as Maybe<Text> = None;
        /// distribution of the time until a UE leaves, e.g. constant:500s [default: that of the service]
        holding: Option<Law> as Maybe<Text> = None;
        /// distribution of the time until control of its UEs is delegated to the base station, which then sends no
        /// reports, e.g. exponential:60s [default: never]
        delegation: Option<Law> as Maybe<Text> = None;
        /// distribution of the time until delegated control is taken back, e.g. constant:5s [default: never]
        taken_back: Option<Law> as Maybe<Text> = None;
        /// file of events to play instead, one per line: TIME EVENT [node=N] [ue=N] [cqi=N] …
        trace: Option<PathBuf> = None, local();
        /// source of events while running, in the format of --trace: - reads standard input, IP:PORT accepts one
        /// connection
        events: Option<Events> = None, local();
        /// source addresses of connections, used in rotation, e.g. 127.0.1.1-127.0.1.50. The published controller of
        /// OpenEmpower 2 accepts one connection per address, so it needs as many addresses as base stations [default:
        /// chosen by the system; with --openempower 2 and a controller on this machine, one loopback address per base
        /// station]
        sources: SourcePool as Text = SourcePool::default();
    }
}

impl SouthFleetComponent {
    /// Returns the settings of one base station without UEs. It sends reports at the period that the controller requests.
    pub fn one(protocol: Protocol, connect: Address) -> Self {
        let connect = vec![connect];
        let period = Some(Period::HONOUR);
        Self { protocol, connect, period, ues: 0, ramp: Some(Duration::ZERO), ..Self::default() }
    }

    fn radio(&self) -> Result<Option<RadioConfig>, ComponentError> {
        let Self { radio, channel, rlc_buffer, flows, stay, snssai, ues, .. } = self;
        let with_events = self.trace.is_some() || self.events.is_some() || self.delegation.is_some();
        match (radio, self.protocol) {
            (Some(_), Protocol::EmpowerV1 | Protocol::EmpowerV2) => {
                Err(rig("only base stations of E2 and FlexRAN can have a `radio`"))
            }
            (Some(_), _) if with_events => Err(rig(
                "`trace`, `events` and `delegation` are not allowed with a `radio`, whose UEs are defined by `flows` and `stay`",
            )),
            _ => {
                let rlc_buffer = *rlc_buffer;
                let ues = *ues;
                RadioSettings { radio, channel, rlc_buffer, flows, stay, moves: &[], snssai, plmn: &[], ues }
                    .config()
                    .map_err(rig)
            }
        }
    }

    fn fleet(&self) -> Result<SouthboundConfig, ComponentError> {
        let seed = self.seed.0;
        let mut population: PopulationConfig = self.service.population(self.ues, seed);
        population.activation = self.activation.unwrap_or(population.activation);
        population.holding = self.holding.unwrap_or(population.holding);
        if let Some(until) = self.delegation {
            population.delegation = Some((until, self.taken_back.unwrap_or(Law::Constant(NEVER))));
        }
        let trace = self.trace.as_deref().map(trace).transpose()?;
        // UEs of a trace or of another program attach through their events.
        if trace.is_some() || self.events.is_some() {
            population = PopulationConfig { ues: 0, channel: Channel::Fixed, delegation: None, ..population };
        }
        let controller = self.controller()?;
        let marc = SouthboundConfig::marc(self.protocol, controller, self.nodes, self.ues, seed);
        Ok(SouthboundConfig {
            first: self.first,
            period: self.period.map_or(marc.period, |period| period.0),
            population,
            radio: self.radio()?,
            trace,
            sources: self.pool(controller),
            ramp: self.ramp.unwrap_or_else(|| Duration::from_millis(u64::from(self.nodes))),
            ..marc
        })
    }

    /// Returns the source addresses in the settings. Without them, returns a loopback address per base station for a controller on this
    /// machine that stores only one connection per source address.
    fn pool(&self, controller: SocketAddr) -> SourcePool {
        let own = self.protocol.dialect().source_per_agent && self.sources.is_empty();
        if own && controller.is_ipv4() && controller.ip().is_loopback() {
            // The pool has an additional address for the probing base station.
            return SourcePool::of_loopback(self.first.saturating_add(self.nodes).saturating_add(1));
        }
        self.sources.clone()
    }

    /// Returns a warning if these settings will fail with the published controller.
    pub fn warning(&self) -> Option<String> {
        // The caller reports a missing controller address.
        let addresses = self.pool(self.controller().ok()?).len().max(1);
        let short = self.protocol.dialect().source_per_agent && addresses < self.nodes as usize;
        short.then(|| {
            format!(
                "version 2 of 5G-EmPOWER allows one connection per source address: {} base stations from {addresses} will \
                 end the connections of each other; specify one address per base station with `sources`",
                self.nodes
            )
        })
    }

    fn controller(&self) -> Result<SocketAddr, ComponentError> {
        let address = match &self.connect[..] {
            [] => loopback(self.protocol.port()),
            [address] => address.clone(),
            _ => return Err(rig("these base stations connect to a single controller; give --connect once")),
        };
        let Address::Tcp { host, port } = &address else {
            return Err(rig(format!("{address} is not a TCP address, which this protocol requires")));
        };
        let resolved = (host.as_str(), *port).to_socket_addrs().ok().and_then(|mut found| found.next());
        resolved.ok_or_else(|| environment(format!("the host of {address} has no address")))
    }
}

fn trace(path: &Path) -> Result<HashMap<u32, Vec<Event>>, ComponentError> {
    let wrong = |error: String| rig(format!("{}: {error}", path.display()));
    let len = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if len > MAX_TRACE_BYTES {
        return Err(wrong(format!("the file has {len} bytes; at most {MAX_TRACE_BYTES} are allowed")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut events: HashMap<u32, Vec<Event>> = HashMap::new();
    for (node, event) in parse_trace(&text).map_err(|error| wrong(error.to_string()))? {
        events.entry(node).or_default().push(event);
    }
    Ok(events)
}

/// Source of UE events while base stations run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// Standard input (`-`).
    Stdin,
    /// A single connection that is accepted on this address.
    At(SocketAddr),
}

setting_by_text!(Events);

impl FromStr for Events {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "-" => Ok(Self::Stdin),
            _ => text.parse().map(Self::At).map_err(|_| format!("\"{text}\" is neither - nor IP:PORT")),
        }
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("-"),
            Self::At(address) => address.fmt(f),
        }
    }
}

/// A running fleet.
pub struct SouthFleet {
    fleet: SouthboundFleet,
    controller: SocketAddr,
    events: Option<Events>,
    at_begin: SouthboundReport,
    nodes: u32,
    started: Instant,
    /// Time from the first start until all base stations had received a report request, in microseconds. 0 before that.
    set_up_us: u64,
}

impl SouthFleet {
    /// Prepares base stations, which [`ramp_up`](Self::ramp_up) starts.
    ///
    /// # Errors
    /// A file cannot be read, or the controller's address is invalid.
    pub fn new(part: &SouthFleetComponent) -> Result<Self, ComponentError> {
        let config = part.fleet()?;
        let controller = config.controller;
        let fleet = SouthboundFleet::new(config);
        let events = part.events;
        let nodes = part.nodes;
        let at_begin = SouthboundReport::default();
        Ok(Self { fleet, controller, events, at_begin, nodes, started: Instant::now(), set_up_us: 0 })
    }

    /// Starts the base stations over the configured ramp. Base stations retry without a limit. Only the first one must reach the controller
    /// at once, because an unreachable address is probably a typing error.
    ///
    /// # Errors
    /// No controller listens at the address, or events cannot be read.
    pub async fn ramp_up(&mut self) -> Result<(), ComponentError> {
        self.started = Instant::now();
        let first_word = self.fleet.first_word();
        let controller = self.controller;
        let unreached = |error| environment(format!("cannot connect to {controller}: {error}"));
        let ramp_up = async { self.fleet.ramp_up().await.map_err(rig) };
        tokio::try_join!(async { first_word.await.map_err(unreached) }, ramp_up)?;
        match self.events {
            Some(events) => self.play(events).await,
            None => Ok(()),
        }
    }

    /// Reads events in a separate task.
    async fn play(&self, events: Events) -> Result<(), ComponentError> {
        let live = self.fleet.live();
        let address = match events {
            Events::Stdin => {
                let input = tokio::io::BufReader::new(tokio::io::stdin());
                tokio::task::spawn_local(async move { log_error(live.play(input).await) });
                return Ok(());
            }
            Events::At(address) => address,
        };
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener =
            listener.map_err(|error| environment(format!("cannot listen at {address}: {error}")))?;
        tokio::task::spawn_local(async move {
            if let Ok((stream, _)) = listener.accept().await {
                log_error(live.play(tokio::io::BufReader::new(stream)).await);
            }
        });
        Ok(())
    }

    /// Returns the current counters.
    pub fn report(&self) -> SouthboundReport {
        self.fleet.report()
    }

    /// Returns the recorded problems with the controller, and the number of further problems.
    pub fn incidents(&self) -> (Vec<Incident>, u64) {
        self.fleet.incidents()
    }

    /// Returns name and title of the controller's actual dialect, if it differs from the configured one.
    pub fn shown(&self) -> Option<(&'static str, &'static str)> {
        self.fleet.shown().map(|dialect| (dialect.name, dialect.title))
    }

    /// Returns the last protocol violation by the controller, if there was one.
    pub fn last_fault(&self) -> Option<String> {
        self.fleet.last_fault()
    }

    /// Returns the radio statistics since the last call.
    pub fn take_radios(&self) -> Vec<RadioMeter> {
        let radios = self.fleet.radios();
        self.fleet.begin_radios();
        radios
    }

    /// Measures the setup of one more base station. Returns `None` on timeout.
    pub async fn probe(&mut self, patience: Duration) -> Option<Delays> {
        self.fleet.probe(patience).await
    }
}

fn log_error<T, E: fmt::Display>(result: Result<T, E>) {
    if let Err(error) = result {
        eprintln!("ranlab: events: {error}");
    }
}

/// Names of values whose last state is reported. Of all other values, the increase since the start of the measurement is reported.
const STATES: [&str; 19] = [
    "nodes",
    "connected",
    "alive",
    "ues",
    "announced_ues",
    "waiting",
    "waiting_bytes",
    "unacknowledged_bytes",
    "unread_bytes",
    "readers_seen",
    "unread_us_max",
    "served",
    "taken_us_p99",
    "lateness_us_p99",
    "lateness_us_max",
    "init_requests_us_p50",
    "init_requests_us_max",
    "init_reporting_us_p50",
    "init_reporting_us_max",
];

/// Details of base stations that are not plain numbers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SouthDetail {
    /// Problems with the controller.
    pub incidents: Vec<Incident>,
    /// Statistics of each radio.
    pub radios: Vec<RadioMeter>,
}

impl RunningComponent for SouthFleet {
    fn counters(&mut self) -> Counters {
        let report = self.fleet.report();
        if report.alive >= self.nodes && self.set_up_us == 0 {
            self.set_up_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        }
        let mut all = numbers(&report);
        all.insert("set_up_us".to_owned(), self.set_up_us as f64);
        all
    }

    fn begin(&mut self) {
        self.at_begin = self.fleet.report();
        self.fleet.reset_meters();
        self.fleet.begin_radios();
    }

    fn end(&mut self, report: &mut Report) {
        report.numbers.extend(since(&self.at_begin, &self.fleet.report(), &STATES));
        for (name, lateness) in ["taken_us", "lateness_us"].into_iter().zip(self.fleet.lateness()) {
            report.distributions.insert(name.to_owned(), counts(&lateness));
        }
        let detail = SouthDetail { incidents: self.fleet.incidents().0, radios: self.fleet.radios() };
        report.detail = serde_json::to_value(detail).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openempower_v2_without_separate_addresses_warns() {
        let of = |protocol, connect: &str| SouthFleetComponent {
            protocol,
            connect: vec![connect.parse().unwrap()],
            nodes: 3,
            first: 7,
            ..SouthFleetComponent::default()
        };
        let here = of(Protocol::EmpowerV2, "tcp://127.0.0.1:5533");
        let pool = here.fleet().unwrap().sources;
        let addresses: std::collections::BTreeSet<_> = (7..11).map(|number| pool.at(number)).collect();
        assert_eq!(
            (addresses.len(), addresses.contains(&None)),
            (4, false),
            "the pool must have an additional address for a probe: {addresses:?}"
        );
        assert_eq!(here.warning(), None);
        let there = of(Protocol::EmpowerV2, "tcp://192.0.2.1:5533");
        assert!(there.fleet().unwrap().sources.is_empty());
        assert!(there.warning().unwrap().contains("3 base stations from 1 will"));
        let sources = "192.0.2.10-192.0.2.12".parse().unwrap();
        assert_eq!(SouthFleetComponent { sources, ..there }.warning(), None);
        assert_eq!(of(Protocol::EmpowerV1, "tcp://192.0.2.1:2210").warning(), None);
    }
}
