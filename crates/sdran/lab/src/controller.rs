//! Reference controllers of FlexRAN and 5G-EmPOWER as components.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::empower::EmpowerServer;
use crate::flexran::{FlexranServer, ThreadUse};
use ranlab_sdran::controller::{ControllerCounters, guidelines, overload};
use ranlab_sdran::empower::controller::{EmpowerControllerSettings, EmpowerVersion, Registry};
use ranlab_sdran::empower::protocol::{Mac, NotAMac};
use ranlab_sdran::flexran::controller::{
    Command, FlexranControllerSettings, QUEUE_MESSAGES, QueueKind, RatePolicy, RibShare, SCHEDULE_AHEAD,
};
use ranlab_sdran::flexran::protocol::{PORT, Policy};
use serde::Serialize;

use crate::fields::SdranNames;
use crate::fields::Share;
use ranlab_http::guard::Access;
use ranlab_http::token::TrustedNetworks;
use ranlab_lab::peers::AllowedPeer;
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, config, environment, numbers, rig, setting_by_text, since};

/// Maximum number of base stations in a registration file.
const MAX_REGISTERED: usize = 1_000_000;

config! {
    /// Controller that behaves like the controller of FlexRAN: RIB updater and task manager share cycles of 1 ms.
    pub struct FlexranComponent {
        /// address on which the controller accepts agents
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], PORT)), wiring();
        /// address of the HTTP server, which serves /stats_manager/all, /dl_sched, /rrm_config, /slice, /v1/counters
        /// and /healthz
        http: Option<SocketAddr> = None, wiring();
        /// file with the bearer token that HTTP requests must carry; a non-loopback address requires this or --trust
        http_token_file: Option<PathBuf> = None, local();
        /// addresses whose HTTP requests need no token, e.g. 10.0.0.0/24; repeatable
        trust: Vec<AllowedPeer> = Vec::new(), wiring();
        /// additional host name accepted in the Host header of HTTP requests, besides IP addresses and localhost;
        /// repeatable
        host: Vec<String> = Vec::new(), wiring();
        /// fraction of each cycle reserved for the RIB updater: 0.2 as in FlexRAN, 0.8 as in AltFlexRAN, or adaptive
        rib_share: Share = Share(RibShare::Fixed(0.2));
        /// behaviour of a full queue: leaky drops messages without freeing their memory, as published; bounded stops
        /// reading from agents
        queue: QueueKind as SdranNames = QueueKind::Leaky;
        /// capacity of the queue, in messages
        queue_messages: u32 = QUEUE_MESSAGES as u32, range(1, 10_000_000);
        /// with --queue leaky: maximum memory held by dropped messages, in MiB
        leak_limit_mib: u64 = 4_096, range(0, 1_048_576);
        /// threads: per-run starts one for each run of the updater and of an application, as published; inline uses the
        /// thread of the sockets
        threads: ThreadUse as SdranNames = ThreadUse::PerRun;
        /// report period requested from agents
        period: Duration = Duration::from_millis(4);
        /// report period requested while the queue is long [default: no change]
        slow_period: Option<Duration> = None;
        /// remove disconnected agents from the RIB, instead of keeping them as published
        forget_dead: bool = false;
        /// schedule the downlink of every base station, like POST /dl_sched/1
        schedule: bool = false;
        /// with --schedule: number of subframes between the one that a base station announces and the one that is
        /// scheduled
        ahead: u32 = SCHEDULE_AHEAD, range(0, 30);
        /// slices of every base station, set by a policy: the share of each slice, 0 to 1; UEs are assigned to slices
        /// in rotation
        slices: Vec<SliceShare> = Vec::new();
        /// interval of handovers: at each, one UE moves from one base station to the next, in rotation
        handover: Option<Duration> = None;
    }
}

/// A slice's share of the resource blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceShare {
    ppm: u32,
}

setting_by_text!(SliceShare);

impl FromStr for SliceShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
        // The share is at most one million ppm.
        let ppm = share.map(|share| (share * 1e6).round() as u32);
        ppm.map(|ppm| Self { ppm })
            .ok_or_else(|| format!("\"{text}\" is not a share; a number above 0 and at most 1 is allowed"))
    }
}

impl fmt::Display for SliceShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.ppm) / 1e6)
    }
}

impl FlexranComponent {
    /// Returns the commands that each base station receives when it connects.
    fn standing(&self) -> Vec<Command> {
        let shares: Vec<u32> = self.slices.iter().map(|slice| slice.ppm).collect();
        let policy = Policy { shares_ppm: Some(shares), ..Policy::default() };
        let sliced = (!self.slices.is_empty()).then(|| Command::Policy(policy.to_string()));
        sliced.into_iter().chain(self.schedule.then_some(Command::Schedule(true))).collect()
    }
}

config! {
    /// Controller that behaves like 5G-EmPOWER: it accepts registered base stations, which send one message per UE.
    pub struct EmpowerComponent {
        /// address on which the controller accepts base stations [default: 127.0.0.1:2210; with --openempower 2
        /// 127.0.0.1:5533]
        listen: Option<SocketAddr> = None, wiring();
        /// address of the HTTP server, which serves /api/v1/vbses, /v1/counters and /healthz
        http: Option<SocketAddr> = None, wiring();
        /// file with the bearer token that HTTP requests must carry; a non-loopback address requires this or --trust
        http_token_file: Option<PathBuf> = None, local();
        /// addresses whose HTTP requests need no token, e.g. 10.0.0.0/24; repeatable
        trust: Vec<AllowedPeer> = Vec::new(), wiring();
        /// additional host name accepted in the Host header of HTTP requests, besides IP addresses and localhost;
        /// repeatable
        host: Vec<String> = Vec::new(), wiring();
        /// OpenEmpower version: 1 as measured in the MARC paper, 2 the current one
        openempower: u8 = 1, range(1, 2);
        /// file of the base stations that may join, one Ethernet address per line [default: all may join]
        registered: Option<PathBuf> = None, local();
        /// additional CPU time per message; 350us corresponds to the published interpreter
        message_cost: Duration = Duration::ZERO;
        /// period of UE and cell measurements
        period: Duration = Duration::from_millis(500);
    }
}

/// Counters of a controller.
#[derive(Debug, Clone, Serialize)]
pub struct SouthControllerReport {
    /// Base stations connected.
    pub agents: usize,
    /// UEs of the connected base stations.
    pub ues: usize,
    /// Subframes for which the controller made scheduling decisions.
    pub decisions: u64,
    /// Protocol counters.
    #[serde(flatten)]
    pub counters: ControllerCounters,
    /// Names of the overload symptoms that the controller has shown.
    pub overload: Vec<&'static str>,
    /// Recommendations, one sentence each.
    pub guidelines: Vec<String>,
}

/// A running controller.
pub struct SouthController {
    server: Server,
    /// Address of the HTTP server, if it is enabled.
    pub http: Option<SocketAddr>,
    at_begin: Option<SouthControllerReport>,
}

enum Server {
    Flexran(FlexranServer),
    Empower(EmpowerServer),
}

fn cannot_listen<E: fmt::Display>(address: SocketAddr) -> impl FnOnce(E) -> ComponentError {
    move |error| environment(format!("cannot listen at {address}: {error}"))
}

/// Returns a function that converts an I/O error of the HTTP server. A non-loopback address without a token is a configuration error.
fn refused(address: SocketAddr) -> impl FnOnce(io::Error) -> ComponentError {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied if !address.ip().is_loopback() => rig(error),
        _ => cannot_listen(address)(error),
    }
}

/// Returns the access policy of an HTTP endpoint from a component's settings.
fn access(hosts: &[String], token: Option<&Path>, trusted: &[AllowedPeer]) -> Result<Access, ComponentError> {
    Access::read(hosts, token, AllowedPeer::any_of(trusted).map(TrustedNetworks::new)).map_err(rig)
}

impl SouthController {
    /// Starts a FlexRAN controller. The caller must run in a `LocalSet`.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn flexran(part: &FlexranComponent) -> Result<Self, ComponentError> {
        let rate = match part.slow_period.filter(|slow| !slow.is_zero()) {
            Some(slow) => RatePolicy::Adaptive { fast: part.period, slow },
            None => RatePolicy::Fixed(part.period),
        };
        let settings = FlexranControllerSettings {
            rib_share: part.rib_share.0,
            queue: part.queue,
            queue_messages: part.queue_messages as usize,
            leak_limit_bytes: part.leak_limit_mib << 20,
            keeps_dead: !part.forget_dead,
            rate,
            schedule_ahead: part.ahead,
            standing: part.standing(),
            rotate: part.handover.filter(|every| !every.is_zero()),
            ..FlexranControllerSettings::default()
        };
        let server = FlexranServer::start(settings, part.threads, part.listen).await;
        let server = server.map_err(cannot_listen(part.listen))?;
        let http = match part.http {
            Some(address) => {
                let access = access(&part.host, part.http_token_file.as_deref(), &part.trust)?;
                Some(server.serve_http(address, access).await.map_err(refused(address))?)
            }
            None => None,
        };
        Ok(Self { server: Server::Flexran(server), http, at_begin: None })
    }

    /// Starts a 5G-EmPOWER controller. The caller must run in a `LocalSet`.
    ///
    /// # Errors
    /// The address cannot be bound, or the file of base stations is invalid.
    pub async fn empower(part: &EmpowerComponent) -> Result<Self, ComponentError> {
        let (version, port) = match part.openempower {
            2 => (EmpowerVersion::V2, ranlab_sdran::empower::protocol::v2::PORT),
            _ => (EmpowerVersion::V1, ranlab_sdran::empower::protocol::v1::PORT),
        };
        let registry = match &part.registered {
            Some(path) => Registry::Registered(registered(path)?),
            None => Registry::Everybody,
        };
        let mut settings = EmpowerControllerSettings {
            version,
            registry,
            message_cost: part.message_cost,
            ..EmpowerControllerSettings::default()
        };
        settings.session.ue_period = part.period;
        settings.session.cell_period = part.period;
        let listen = part.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], port)));
        let server = EmpowerServer::start(settings, listen).await.map_err(cannot_listen(listen))?;
        let http = match part.http {
            Some(address) => {
                let access = access(&part.host, part.http_token_file.as_deref(), &part.trust)?;
                Some(server.serve_http(address, access).await.map_err(refused(address))?)
            }
            None => None,
        };
        Ok(Self { server: Server::Empower(server), http, at_begin: None })
    }

    /// Returns the address on which the controller listens for base stations.
    pub fn address(&self) -> SocketAddr {
        match &self.server {
            Server::Flexran(server) => server.address(),
            Server::Empower(server) => server.address(),
        }
    }

    /// Returns the current counters.
    pub fn report(&self) -> SouthControllerReport {
        let (agents, ues, decisions, counters) = match &self.server {
            Server::Flexran(server) => server.read(|controller| {
                let seen = controller.seen();
                (seen.agents, seen.ues, controller.scheduled().0, *controller.counters())
            }),
            Server::Empower(server) => server.read(|controller| {
                let online = controller.stations().values().filter(|station| station.online);
                let (agents, ues) =
                    online.fold((0, 0), |sum, station| (sum.0 + 1, sum.1 + station.ues.len()));
                (agents, ues, 0, *controller.counters())
            }),
        };
        let overload = overload(&counters);
        let guidelines = guidelines(&counters);
        SouthControllerReport { agents, ues, decisions, counters, overload, guidelines }
    }
}

/// Reads the registered base stations from a file, one per line. `#` begins a comment.
fn registered(path: &Path) -> Result<BTreeSet<Mac>, ComponentError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| rig(format!("cannot read {}: {error}", path.display())))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let macs = lines.filter(|line| !line.is_empty()).take(MAX_REGISTERED).map(str::parse);
    macs.collect::<Result<_, _>>().map_err(|error: NotAMac| rig(error))
}

/// Names of values whose last state is reported. Of all other values, the increase since the start of the measurement is reported.
/// `lost_at_batch_end` is in this list, so that it includes messages that were lost while base stations attached.
const STATES: [&str; 5] = ["agents", "ues", "queued", "leaked_bytes", "lost_at_batch_end"];

impl RunningComponent for SouthController {
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("southbound".to_owned(), format!("tcp://{}", self.address()))])
    }

    fn counters(&mut self) -> Counters {
        numbers(&self.report())
    }

    fn begin(&mut self) {
        self.at_begin = Some(self.report());
    }

    fn end(&mut self, report: &mut Report) {
        if let Some(then) = self.at_begin.take() {
            report.numbers.extend(since(&then, &self.report(), &STATES));
        }
    }
}
