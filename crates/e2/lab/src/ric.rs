//! The near-RT RIC of this project as a component, with or without iApps.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ranlab_campaign::schema::Kind;
use ranlab_host::trusted;
use ranlab_ric::console::ConsoleHandle;
use ranlab_ric::monitor::{KpiExport, MonitorHandle, PublicationHandle, SERIES_MAX, Totals};
use ranlab_ric::slicing::Slicing;
use ranlab_ric::xapps::{Registry, XappRules};
use ranlab_ric_server::a1::{self, A1, PolicyType, TYPE_BYTES_MAX, TYPES_MAX};
use ranlab_ric_server::commons::SharedData;

use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::directory::Directory;
use ranlab_sdk::e2::ric::{Admission, Limits, ListenerProtocol, RicConfig, RicEvent};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::flat::Coding;
use serde::Serialize;

use crate::e2_fields::E2Names;
use crate::e2_fields::{customary_models, service_models};
use crate::hosting::{Installation, ProcessSupervisor};
use crate::ping_iapp;
use crate::pinger::{Pace, PingReport, Shared};
use crate::publish::Broker;
use ranlab_lab::choices;
use ranlab_lab::field::{Each, Text};
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{
    AllowedPeer, Listen, RunningComponent, Task, config, environment, numbers, parse, rig, since,
};
use ranlab_machine::lock;

#[path = "ric_doors.rs"]
mod doors;
pub(crate) use doors::HttpListener;

/// Maximum number of base stations in a configuration. Memory and file descriptors are exhausted earlier.
const NODES_MAX: i64 = 1_000_000;
/// Time limit for handing base stations over to other RICs on shutdown.
const LEAVE: Duration = Duration::from_secs(30);
/// Time limit for the last message to the bus.
const LAST_WORD: Duration = Duration::from_millis(200);
/// Maximum number of threads.
const THREADS_MAX: i64 = 64;

choices! {
    /// Controller logic (iApps) that can run inside a RIC. The iApp `xapps`, which lists the xApps, is always available.
    pub enum HostedIApp {
        /// Keeps the latest statistics of every base station and UE.
        Monitor = "monitor",
        /// Pings the first base station that offers HW.
        Ping = "ping",
        /// Slicing over REST and A1 policies. RICs on a bus share the policies and manual settings.
        Slicing = "slicing",
    }
}

config! {
    /// Settings of our near-RT RIC.
    pub struct RicComponent {
        /// address on which the RIC accepts base stations; repeatable [default: loopback TCP port 36421 and a Unix socket]
        e2: Vec<Listen> = Vec::new(), wiring();
        /// address on which the RIC accepts xApps; repeatable [default: loopback TCP port 36422 and a Unix socket]
        e42: Vec<Listen> = Vec::new(), wiring();
        /// address of the HTTP server: live page, REST API for nodes, subscriptions, controls and indications, and metrics; described at
        /// /openapi.json
        http: Option<SocketAddr> = None, wiring();
        /// file with the bearer token that HTTP requests must carry; a non-loopback address requires this or --trust
        http_token_file: Option<PathBuf> = None, local();
        /// address for RMR messages of O-RAN SC xApps: sends indications to xApps that subscribed over HTTP and accepts their controls
        rmr: Option<SocketAddr> = None, wiring();
        /// Redis server (redis://HOST:PORT) in which the list of base stations is kept, as in O-RAN SC's shared data layer (SDL)
        sdl: Option<String> = None, wiring();
        /// addresses whose HTTP requests need no token and which may use RMR, besides this machine; repeatable
        trust: Vec<AllowedPeer> = Vec::new(), wiring();
        /// additional host name accepted in the Host header of HTTP requests, besides IP addresses and localhost; repeatable
        host: Vec<String> = Vec::new(), wiring();
        /// accept TCP, TLS and SCTP connections only from these addresses; repeatable [default: all]
        allow: Vec<AllowedPeer> = Vec::new(), wiring();
        /// accept E2 setups only of these base stations: a network (001.01), a name (gnb 001.01 5) or *; @NAME behind it requires a TLS
        /// certificate for that name; repeatable [default: all]
        admit: Vec<Admission> as Each<Text> = Vec::new(), wiring();
        /// E2AP version: 1.01, 2.03 or 3.01; with 3.01, nodes that set up with version 2 or later are treated as version 3
        e2ap: Version as E2Names = Version::V2_03;
        /// maximum number of base stations, connected or remembered; the setup of any other one is rejected with a time to wait
        max_nodes: u64 = Limits::default().nodes as u64, range(1, NODES_MAX);
        /// minimum time from a request of a FlexRIC xApp to its response, because FlexRIC's library crashes on faster responses; 0: none
        e42_hold: Duration = Duration::from_micros(500);
        /// threads that serve sockets and forward indications to xApps; the first thread makes all other decisions
        threads: u64 = 1, range(1, THREADS_MAX);
        /// with --threads of 2 or more: CPU load in percent of a core above which another thread is used; 0: spread connections evenly from
        /// the start
        thread_load: u64 = 50, range(0, 100);
        /// controller logic to run inside the RIC (iApp); HTTP serves its state at /v1/iapps/NAME; repeatable
        iapp: Vec<HostedIApp> = Vec::new(), wiring();
        /// service models to which --iapp monitor and --publish subscribe
        sm: Vec<String> = customary_models(),
            kind(Kind::List(Box::new(Kind::choice(&service_models())))), wiring();
        /// service models whose latest values are exported at /metrics, per node, slice, bearer and UE
        kpi: Vec<String> = Vec::new(), kind(Kind::List(Box::new(Kind::choice(&service_models())))), wiring();
        /// maximum number of KPI time series at /metrics; further series are omitted and counted there
        kpi_series: u64 = SERIES_MAX as u64, range(1, 10_000_000), wiring();
        /// report period of --iapp monitor, --kpi, --iapp slicing and --publish, in whole milliseconds
        period: Duration = Duration::from_millis(100), wiring();
        /// server that receives the decoded reports of --sm: NATS (nats://HOST:PORT, several separated by commas) or Redis
        /// (redis://HOST:PORT) as JSON under ranlab.kpi.MODEL.NODE, or InfluxDB (influx://HOST:PORT/DATABASE) in line protocol. Reports
        /// that a slow server cannot take are dropped and counted
        publish: Option<Broker> = None, wiring();
        /// with --publish influx://: file with the InfluxDB token
        publish_token_file: Option<PathBuf> = None, local();
        /// TOML file of rules for xApps: [[rule]]s with peer, tenant, plmns or nodes, subscriptions, requests, control [default: every xApp
        /// may join and use everything]
        xapps: Option<PathBuf> = None, local();
        /// NATS servers with JetStream (nats://HOST:PORT or tls://HOST:PORT, separated by commas) that hold the directory of a cluster of
        /// RICs; the RICs of a cluster divide the base stations among themselves
        bus: Option<String> = None, wiring();
        /// with --bus: name of this RIC, unique in the cluster (a-z, A-Z, 0-9, - and _)
        bus_name: Option<String> = None, wiring();
        /// with --bus: key-value bucket of the directory; created if missing
        bus_bucket: String = "ranlab".to_owned(), wiring();
        /// with --bus: number of replicas of a created bucket; 1 with a single server
        bus_replicas: u64 = 3, range(1, 5), wiring();
        /// with --bus: file with NATS credentials (JWT and seed, as written by nsc)
        bus_credentials_file: Option<PathBuf> = None, local();
        /// with --bus: file with USER:PASSWORD or a token
        bus_password_file: Option<PathBuf> = None, local();
        /// with --bus: file with the seed of an nkey, as written by nk
        bus_nkey_file: Option<PathBuf> = None, local();
        /// with --bus: file with the CA certificates of the servers; makes TLS mandatory
        bus_ca_file: Option<PathBuf> = None, local();
        /// with --bus: file with the TLS certificate of this client
        bus_certificate_file: Option<PathBuf> = None, local();
        /// with --bus: file with the private key of this client's certificate
        bus_key_file: Option<PathBuf> = None, local();
        /// with --bus: address to which other RICs redirect base stations of this RIC [default: the first --e2 that is not a Unix socket]
        advertise_e2: Option<Address> = None, wiring();
        /// with --bus: address at which other RICs connect to this RIC [default: the first --e42 that is not a Unix socket]
        advertise_e42: Option<Address> = None, wiring();
        /// folder of manifests (NAME.toml) of xApps that the RIC starts itself; each runs as a separate user with resource limits, under a
        /// rule of --xapps; requires root, and a token with --http
        manifests: Option<PathBuf> = None, local();
        /// folder of A1 policy types (NAME.json: a PolicyTypeObject); --http then serves A1-P version 2 for them
        a1_types: Option<PathBuf> = None, local();
        /// payload of the iApp's pings, in bytes
        size: u32 = 1_500, inner();
        /// time between two pings; 0s: each ping follows an echo
        interval: Duration = Duration::from_millis(100), inner();
        /// number of pending pings if each ping follows an echo
        window: u32 = 1, inner();
        /// encoding of the pings, as configured at the base station
        sm_encoding: Coding as E2Names = Coding::Per, inner();
    }
}

impl RicComponent {
    /// Returns the configuration of the RIC's state machine.
    ///
    /// # Errors
    ///
    /// Returns an error if the file of xApp rules is invalid.
    pub(crate) fn machine(&self) -> Result<RicConfig, ComponentError> {
        self.machine_for(None)
    }

    fn machine_for(&self, installation: Option<&mut Installation>) -> Result<RicConfig, ComponentError> {
        let limits = Limits::for_nodes(usize::try_from(self.max_nodes).unwrap_or(usize::MAX));
        let mut config = RicConfig::default().with(|it| {
            it.version = self.e2ap;
            it.limits = limits;
            it.timers.e42_hold = self.e42_hold;
            it.admissions.clone_from(&self.admit);
        });
        if let Some(file) = &self.xapps {
            let mut rules = rules(file)?;
            if let Some(installation) = installation {
                trusted::check_file(file).map_err(rig)?;
                installation.bind(&mut rules)?;
            }
            config.timers.hold = rules.hold().unwrap_or(config.timers.hold);
            config.policy = Box::new(rules);
        }
        Ok(config)
    }
}

impl RicComponent {
    /// Returns the service models that the monitor watches. The models of `--kpi` are first, so that the limit on
    /// series affects the other models.
    fn monitored(&self) -> impl Iterator<Item = &String> {
        let is_asked = self.iapp.contains(&HostedIApp::Monitor) || self.publish.is_some();
        let others = self.sm.iter().filter(move |name| is_asked && !self.kpi.contains(name));
        self.kpi.iter().chain(others)
    }

    /// Starts the RIC on the configured number of threads.
    fn on_threads(&self, config: RicConfig) -> Result<RicHandle, ComponentError> {
        let threads =
            usize::try_from(self.threads).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN);
        let above = self.thread_load as f64 / 100.0;
        let handle = RicHandle::start_on_as_loaded(threads, above, config, SocketOptions::default());
        handle.map_err(|error| environment(format!("cannot start {} threads: {error}", self.threads)))
    }

    /// Reads the installed xApps, if hosting is configured.
    fn installation(&self) -> Result<Option<Installation>, ComponentError> {
        let Some(from) = &self.manifests else { return Ok(None) };
        if !cfg!(feature = "hosting") {
            return Err(rig("this build cannot host xApps; build it with --features hosting"));
        }
        if self.xapps.is_none() {
            return Err(rig(
                "--manifests requires --xapps, because each manifest refers to a [[rule]] with the permissions of its xApp",
            ));
        }
        if self.http.is_some() && self.http_token_file.is_none() {
            return Err(rig(
                "with --manifests, --http requires --http-token-file even on loopback, because hosted xApps could \
                 otherwise send requests as the operator",
            ));
        }
        if let Some(token) = &self.http_token_file {
            // A client that knows the token has operator rights, so the token must be secret.
            trusted::is_secret(token).map_err(rig)?;
        }
        Installation::read(from).map(Some)
    }
}

/// Counters of a RIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RicReport {
    /// Number of base stations that are connected now.
    pub nodes: usize,
    /// Number of accepted setups.
    pub setups: u64,
    /// Number of setups and connections that were rejected, for any reason.
    pub refused: u64,
    /// Number of received indications.
    pub indications: u64,
    /// Number of indications forwarded to xApps.
    pub forwarded: u64,
    /// Number of indications dropped because an xApp did not read them in time.
    pub dropped: u64,
    /// Number of messages that could not be decoded or were not allowed.
    pub faults: u64,
    /// Minimum time from a request of an xApp without ranlab's extension to its response, in microseconds.
    pub e42_hold_us: u64,
}

/// A running RIC.
pub struct Ric {
    /// The SDK's handle.
    pub handle: RicHandle,
    /// Listening addresses, by name (`e2`, `e42`, `http`, `rmr`), in this order.
    pub bound: Vec<(&'static str, String)>,
    inside: Vec<HostedHandle>,
    at_begin: RicReport,
    e42_hold: Duration,
    /// HTTP server, if enabled.
    console: Option<ConsoleHandle>,
    /// Address for RMR messages, if enabled.
    rmr: Option<String>,
    bus: Option<crate::ric_bus::ClusterMembership>,
    _shared: Option<crate::ric_bus::Shared>,
    /// Store that the xApps share.
    commons: SharedData,
    a1: Option<A1>,
    /// Supervisor of hosted xApps. Dropping it ends the xApps.
    _hands: Option<ProcessSupervisor>,
    _folder: Folder,
}

enum HostedHandle {
    Monitor {
        handle: MonitorHandle,
        at_begin: Totals,
        published: Option<PublicationHandle>,
        series_max: usize,
    },
    Ping {
        pinger: Shared,
        _task: Task,
    },
    Slicing,
}

impl Ric {
    /// Listens and serves. Must be called inside a `LocalSet`.
    ///
    /// # Errors
    ///
    /// Returns an error if an address cannot be bound, or an iApp is misconfigured.
    pub async fn start(part: &RicComponent) -> Result<Self, ComponentError> {
        let mut installation = part.installation()?;
        let mut config = part.machine_for(installation.as_mut())?;
        config.directory = crate::ric_bus::directory(part)?;
        let handle = part.on_threads(config)?;
        handle.add_iapp(Box::new(Registry::new().0));
        if let Some(url) = &part.sdl {
            // A port that the system chooses is not known at this point, so such an address is not passed on.
            let termination = part.rmr.filter(|address| address.port() != 0);
            handle.add_iapp(crate::rest_controller::sdl(url, termination.map(|it| it.to_string()))?);
        }
        let inside = HostedHandle::all(part, &handle).await?;
        let mut folder = Folder::default();
        let mut bound = Vec::new();
        for (side, name, places) in
            [(ListenerProtocol::E2, "e2", &part.e2), (ListenerProtocol::E42, "e42", &part.e42)]
        {
            for place in places {
                let allowed = part.allow.clone();
                let may_connect = move |peer: &str| AllowedPeer::any(&allowed, peer);
                let place = folder.place(place, name)?;
                let address = handle.listen(side, &place, may_connect).await.map_err(environment)?;
                bound.push((name, address.to_string()));
            }
        }
        let bus = crate::ric_bus::join(part, &handle, &bound).await?;
        let types = part.a1_types.as_deref().map(policy_types).transpose()?;
        let access = installation.as_ref().map(Installation::access).unwrap_or_default();
        let (commons, _shared) = crate::ric_bus::commons(part, access).await?;
        let mut ric = Self {
            handle,
            bound,
            inside,
            at_begin: RicReport::default(),
            e42_hold: part.e42_hold,
            console: None,
            rmr: None,
            bus,
            _shared,
            a1: types.map(|types| A1::new(types, commons.clone())),
            commons,
            _hands: None,
            _folder: folder,
        };
        let supervisor = installation.as_ref().map(Installation::supervisor);
        let mut desk = None;
        if let (Some(installation), Some(supervisor)) = (&installation, &supervisor) {
            installation.listen(&ric.handle).await?;
            desk = Some(installation.doors(&ric.handle, supervisor)?);
        }
        ric.listen(part, desk.as_ref().map(|(_, hosted)| hosted.clone())).await?;
        if let (Some(installation), Some(supervisor), Some((desk, _))) = (installation, supervisor, desk) {
            let http = ric.bound.iter().find(|(name, _)| *name == "http").map(|(_, address)| address.clone());
            let hands = ProcessSupervisor::start(installation, supervisor, desk, http);
            ric._hands = Some(
                hands.map_err(|error| environment(format!("cannot start a thread for xApps: {error}")))?,
            );
        }
        Ok(ric)
    }

    /// Leaves the bus: hands the base stations over to other RICs and announces the end of this RIC. Takes at most 30 s.
    pub async fn leave(&self) {
        if self.bus.is_none() {
            return;
        }
        let mut events = self.handle.events();
        let others = self.handle.with(|ric, now| {
            let others = ric.directory().is_some_and(Directory::has_others);
            if others {
                ric.drain(now);
            }
            others
        });
        let drained = async {
            while let Some(event) = events.next().await {
                if event == RicEvent::Drained {
                    return;
                }
            }
        };
        if others && tokio::time::timeout(LEAVE, drained).await.is_err() {
            eprintln!(
                "ranlab: not all base stations have moved to other RICs; the others reconnect when this RIC has ended"
            );
        }
        self.handle.with(|ric, now| ric.leave(now));
        tokio::time::sleep(LAST_WORD).await;
    }

    /// Returns the counters so far.
    pub fn report(&self) -> RicReport {
        let (nodes, counters) = self.handle.read(|ric| (ric.nodes_connected(), ric.counters()));
        RicReport {
            nodes,
            setups: counters.setups,
            refused: counters.setups_refused + counters.connections_refused,
            indications: counters.indications,
            forwarded: counters.indications_forwarded,
            dropped: counters.indications_dropped,
            faults: counters.undecodable + counters.misplaced,
            e42_hold_us: u64::try_from(self.e42_hold.as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the results of [`HostedIApp::Ping`], or `None` if that iApp is not configured.
    pub fn pings(&self) -> Option<PingReport> {
        self.inside.iter().find_map(|inside| match inside {
            HostedHandle::Ping { pinger, .. } => Some(lock(pinger).report()),
            HostedHandle::Monitor { .. } | HostedHandle::Slicing => None,
        })
    }
}

/// Reads the policy types of a folder, by file name.
fn policy_types(from: &Path) -> Result<BTreeMap<String, PolicyType>, ComponentError> {
    let wrong = |path: &Path, why: String| rig(format!("{}: {why}", path.display()));
    let entries = std::fs::read_dir(from).map_err(|error| wrong(from, error.to_string()))?;
    let mut types = BTreeMap::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")) else {
            continue;
        };
        if !a1::is_id(name) || types.len() >= TYPES_MAX {
            let why = format!(
                "the name of a policy type must have 1 to 60 characters of A-Z, a-z, 0-9, '-', '_' and '.'; at most {TYPES_MAX} types are allowed"
            );
            return Err(wrong(&path, why));
        }
        let text = trusted::read(&path, TYPE_BYTES_MAX).map_err(rig)?;
        types.insert(name.to_owned(), PolicyType::read(&text).map_err(|why| wrong(&path, why))?);
    }
    if types.is_empty() {
        return Err(wrong(from, "there is no file of a policy type (NAME.json)".to_owned()));
    }
    Ok(types)
}

fn rules(file: &Path) -> Result<XappRules, ComponentError> {
    let wrong = |error: String| rig(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    XappRules::from_toml(&text).map_err(|error| wrong(error.to_string()))
}

impl HostedHandle {
    async fn all(part: &RicComponent, ric: &RicHandle) -> Result<Vec<Self>, ComponentError> {
        let mut inside = Vec::new();
        // The monitor provides the values that are published and exported.
        let is_monitored = part.publish.is_some() || !part.kpi.is_empty();
        let publishes = is_monitored && !part.iapp.contains(&HostedIApp::Monitor);
        for iapp in part.iapp.iter().copied().chain(publishes.then_some(HostedIApp::Monitor)) {
            inside.push(Self::new(iapp, part, ric).await?);
        }
        Ok(inside)
    }

    async fn new(iapp: HostedIApp, part: &RicComponent, ric: &RicHandle) -> Result<Self, ComponentError> {
        match iapp {
            HostedIApp::Monitor => {
                let models = part.monitored().map(|name| parse(name)).collect::<Result<_, _>>()?;
                let (mut iapp, handle) = crate::monitor_iapp::start(models, part.period)?;
                let published = match &part.publish {
                    Some(broker) => Some(crate::publish::start(broker, part, iapp.publish()).await?),
                    None => None,
                };
                ric.add_iapp(Box::new(iapp));
                let series_max = usize::try_from(part.kpi_series).unwrap_or(usize::MAX);
                Ok(Self::Monitor { handle, at_begin: Totals::default(), published, series_max })
            }
            HostedIApp::Slicing => {
                ric.add_iapp(Box::new(Slicing::new(part.period).map_err(rig)?));
                Ok(Self::Slicing)
            }
            HostedIApp::Ping => {
                let size = part.size;
                let interval = part.interval;
                let window = part.window;
                let pace = Pace { size, interval, window, coding: part.sm_encoding };
                ping_iapp::start(ric, pace).map(|(pinger, _task)| Self::Ping { pinger, _task })
            }
        }
    }

    fn counters(&self) -> Counters {
        match self {
            Self::Monitor { handle, .. } => [("processed".to_owned(), handle.totals().reports as f64)].into(),
            Self::Ping { pinger, .. } => lock(pinger).counters(),
            Self::Slicing => Counters::new(),
        }
    }

    fn begin(&mut self) {
        match self {
            Self::Monitor { handle, at_begin, .. } => *at_begin = handle.totals(),
            Self::Ping { pinger, .. } => lock(pinger).begin(),
            Self::Slicing => {}
        }
    }

    fn end(&mut self, report: &mut Report) {
        match self {
            Self::Monitor { handle, at_begin, .. } => {
                let now = handle.totals();
                // Reading all reports is expensive, so it is done after the measurement window.
                let ues: usize = handle.snapshot().iter().map(|node| node.ues().len()).sum();
                report.put([
                    ("processed", now.reports - at_begin.reports),
                    ("lost", now.lost - at_begin.lost),
                    ("ues", ues as u64),
                ]);
            }
            Self::Ping { pinger, .. } => lock(pinger).end(report),
            Self::Slicing => {}
        }
    }
}

impl RunningComponent for Ric {
    fn addresses(&self) -> BTreeMap<String, String> {
        self.bound.iter().map(|(name, address)| ((*name).to_owned(), address.clone())).collect()
    }

    fn counters(&mut self) -> Counters {
        let mut all = numbers(&self.report());
        all.extend(self.inside.iter().flat_map(HostedHandle::counters));
        all
    }

    fn begin(&mut self) {
        self.at_begin = self.report();
        self.inside.iter_mut().for_each(HostedHandle::begin);
    }

    fn end(&mut self, report: &mut Report) {
        report.numbers.extend(since(&self.at_begin, &self.report(), &["nodes"]));
        self.inside.iter_mut().for_each(|inside| inside.end(report));
    }
}
