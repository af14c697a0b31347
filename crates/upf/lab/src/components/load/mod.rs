//! The load on a UPF as a component: SMF, base stations and data network.
//!
//! The load starts with a window and ends by itself; [`OVER`](ranlab_lab::OVER) signals the end. The complete report is in the window's
//! [`detail`](ranlab_lab::worker::Report::detail).

mod calibration;
mod capture;
mod divide;
mod run;
mod text;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::load::{
    Arrivals, LoadConfig, Loop, MAX_GNBS, MAX_SMFS, MAX_THREADS, Mode, N3Io, Network, PacketSizes,
    ProgressObserver, ReplayPlan, Traffic, default_gnb, default_gnbs, default_smf,
};
use ranlab_campaign::schema::Kind;
use ranlab_upf::n4::{Dialect, Retransmission, SessionProfile};
use ranlab_upf::pfcp::{BitRates, Interface};

use crate::fields::UpfNames;
use ranlab_lab::choices;
use ranlab_lab::field::Text;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{config, rig};

pub use calibration::{Calibration, PacketsReached};
pub(crate) use run::RunningLoad;
pub use run::{NetworkSummary, UpfLoad, UpfLoadReport, data_network, run_data_network};
pub use text::{BitRate, Cpus, PacketRate};

/// Default number of sessions.
const SESSIONS: u64 = 100;
/// Maximum number of pending requests per SMF.
const WINDOW: usize = 1 << 16;

choices! {
    /// Kinds of load.
    pub enum LoadMode {
        /// Sessions are created and deleted, without packets.
        Control = "control",
        /// Like `Control`, but at a fixed interval without waiting for responses.
        Blind = "blind",
        /// Sessions are created, then send packets.
        Sessions = "sessions",
        /// Static sessions send packets while dynamic sessions are created and deleted.
        Mixed = "mixed",
        /// Sessions send packets and are handed over.
        Handover = "handover",
        /// Sessions become idle and are paged.
        Paging = "paging",
        /// Sessions send at rates below and above the maximum bit rate.
        Qos = "qos",
        /// Calibration: the maximum rates of this machine and of the generator.
        Calibrate = "calibrate",
    }

    /// The part of the load that a process runs.
    pub enum LoadRole {
        /// All parts of the load.
        All = "all",
        /// Only the data network, on another host.
        DataNetwork = "data-network",
    }

    /// Interface between the UPF and the data network.
    pub enum CoreInterface {
        /// Interface type Core.
        Core = "core",
        /// Interface type SGi-LAN.
        SgiLan = "sgi-lan",
        /// Interface type N6-LAN, which has the same value as SGi-LAN.
        N6Lan = "n6-lan",
    }

    /// Sizes of users' packets.
    pub enum LoadSizes {
        /// All packets have the same size.
        Fixed = "fixed",
        /// Sizes of Simple IMIX (RFC 6985).
        Imix = "imix",
    }

    /// Arrival process of sessions.
    pub enum LoadArrivals {
        /// A fixed number of concurrent cycles. The end of a cycle starts the next cycle.
        Closed = "closed",
        /// One session at a time, at constant intervals.
        Constant = "constant",
        /// One session at a time, at exponentially distributed intervals.
        Poisson = "poisson",
        /// Several sessions at the same time.
        Burst = "burst",
        /// Sessions arrive at a rate that changes linearly from one value to another over the duration.
        Ramp = "ramp",
    }
}

config! {
    /// SMF, base stations and data network that load a UPF.
    pub struct UpfLoadComponent {
        /// kind of load: control (creates and deletes sessions), blind (as control, but without waiting for responses),
        /// sessions (creates sessions, then sends packets), mixed (some sessions send packets while others are created
        /// and deleted), handover, paging, qos (rates below and above the maximum), calibrate
        mode: LoadMode = LoadMode::Control;
        /// role of this process: all, or only the data network (on another host)
        role: LoadRole = LoadRole::All, wiring();
        /// address and port of the UPF's N4
        n4: SocketAddr = SocketAddr::from(([127, 0, 0, 8], 8805)), wiring();
        /// address and port of the UPF's N3
        n3: SocketAddr = SocketAddr::from(([127, 0, 0, 8], 2152)), wiring();
        /// emulated data network: none, udp://LOCAL,UPF or routed://ADDRESS
        n6: Network as Text = Network::None, wiring();
        /// PFCP dialect that the UPF requires: strict-rel15, strict-rel17, open5gs, eupf
        dialect: Dialect as UpfNames = Dialect::STRICT_REL17, wiring();
        /// address and port of the first SMF; each further SMF has the next address. Keep port 8805: some UPFs always
        /// send responses to it. Default: 127.0.2.1:8805 for a UPF on loopback, otherwise the address from which this
        /// machine reaches the UPF
        smf: Option<SocketAddr> = None;
        /// number of SMFs, with one thread and one association each
        smfs: usize = 1, range(1, MAX_SMFS as i64);
        /// address and port of the first base station; each further base station has the next address. Default:
        /// 127.0.1.1:2152 for a UPF on this machine, otherwise the address from which this machine reaches the UPF's N3
        gnb: Option<SocketAddr> = None;
        /// number of base stations. Default: 2 if this machine also has the address that follows the address of the
        /// first base station, otherwise 1
        gnbs: Option<usize> = None, range(1, MAX_GNBS as i64);
        /// threads that send and receive packets
        threads: usize = 1, range(1, MAX_THREADS as i64);
        /// packet I/O of base stations: sockets, af-xdp[:DEVICE][,native][,zero-copy], which bypasses the kernel's
        /// network stack, or memif:PATH, shared-memory rings of the UPF
        io: N3Io as Text = N3Io::Sockets, local();
        /// CPUs of the load generator, e.g. 0,1: first SMFs, then data threads, then the data network
        pin: Cpus = Cpus::default();
        /// address of the first UE; each further UE has the next address (IPv6: the next /64)
        ue: IpAddr = IpAddr::from([10, 60, 0, 1]);
        /// address and port of the server that UEs send to; a routed data network must have this address
        server: SocketAddr = SocketAddr::from(([10, 45, 0, 1], 9));
        /// data network name
        dnn: String = "internet".to_owned();
        /// network instance towards base stations; without it, the data network name
        access_instance: Option<String> = None;
        /// network instance towards the data network; without it, the data network name
        core_instance: Option<String> = None;
        /// interface towards the data network in rules: core, sgi-lan or n6-lan (UPG-VPP requires sgi-lan)
        core_interface: CoreInterface = CoreInterface::Core;
        /// QoS flow of sessions
        qfi: u8 = 9, range(0, 63);
        /// Echo Requests of each base station at this interval, which supervise N3; 0s sends none
        echo: Duration = Duration::ZERO;
        /// maximum bit rate of a session in each direction, e.g. 10M or 500k; without it, no QER is created
        mbr_mbps: Option<BitRate> = None, flag("mbr");
        /// volume in bytes after which usage is reported
        volume_threshold: Option<u64> = None;
        /// arrival process of sessions in mode control: closed (a window of cycles; each completed cycle starts the next one),
        /// constant (at a fixed interval), poisson, burst (several at once), ramp (at a rising or falling rate)
        arrivals: LoadArrivals = LoadArrivals::Closed;
        /// rate of sessions (mode control), handovers or pages
        rate: f64 = 1_000.0, kind(Kind::positive()), unit("1/s");
        /// rate of sessions at the end of a ramp; without it, twice --rate
        rate_to: Option<f64> = None, kind(Kind::positive()), unit("1/s");
        /// number of sessions per burst
        burst: u32 = 100;
        /// number of pending cycles with closed arrivals
        window: usize = 64, range(1, WINDOW as i64);
        /// maximum number of cycles in mode control; number of sessions in all other modes
        sessions: Option<u64> = None;
        /// mode control: number of sessions that are established first and stay
        live: usize = 0;
        /// mode control: time from a session's downlink tunnel to its deletion
        hold: Duration = Duration::ZERO;
        /// duration of the load (mixed: t1; qos: duration of each rate)
        duration: Duration = Duration::from_secs(5), wiring();
        /// mode mixed: number of sessions that are created and deleted (n2)
        dynamic: usize = 10;
        /// mode mixed: duration of a round (t2)
        round: Duration = Duration::from_secs(1);
        /// mode mixed: time before the first round
        lead: Duration = Duration::from_secs(5);
        /// mode blind: time between two messages
        delay: Duration = Duration::from_micros(100);
        /// uplink packets per second of all sessions together, or max
        uplink: Option<PacketRate> = None;
        /// downlink packets per second of all sessions together, or max
        downlink: Option<PacketRate> = None;
        /// send packets as fast as possible instead of at a rate
        unpaced: bool = false, formerly("flat_out");
        /// size of a user's IP packet, in bytes
        bytes: usize = 100, formerly("octets");
        /// sizes of users' IP packets: fixed (--bytes), or imix (RFC 6985: of 12 packets, 7 have 46 bytes, 4 have 576 bytes
        /// and 1 has 1,500 bytes; a test packet has at least 56 bytes)
        sizes: LoadSizes = LoadSizes::Fixed;
        /// number of uplink packets of which one requests reflection; 0: none
        reflect_every: u64 = 100;
        /// mode qos: offered bit rates in each direction, e.g. 7M,12M,30M
        offered_mbps: Vec<BitRate> = [7e6, 12e6, 30e6].map(BitRate).to_vec(), flag("offered");
        /// T1: time without a response after which a request is retransmitted or given up
        t1: Duration = Duration::from_secs(1);
        /// N1: maximum number of retransmissions of a request; 0 turns them off, except for the final deletion of
        /// sessions
        n1: u8 = 0;
        /// interval of heartbeats, which also detect a restart of the UPF; the first heartbeat precedes the first
        /// session; 0s: no heartbeats
        heartbeat: Duration = Duration::from_secs(1);
        /// skip the test packet that is sent in each direction before the measurement
        no_smoke_test: bool = false, formerly("no_smoke");
        /// process id of the UPF: its CPU time is reported, and its exit ends the run
        upf_pid: Option<u32> = None, local();
        /// report a new start time of the SMFs; most UPFs then delete the sessions of earlier runs
        new_start_time: bool = false, formerly("anew");
        /// capture (pcap or pcapng) whose PFCP sessions are repeated instead of a mode; SEIDs, tunnels and addresses are those
        /// of this load, and sessions arrive as set by --arrivals
        replay: Option<PathBuf> = None, local();
        /// replay: how often each session of the capture is repeated
        times: u64 = 1, range(1, 1_000_000_000);
        /// replay: keep the capture's time between the requests of a session; otherwise each request follows the response to the previous
        /// one
        gaps: bool = false;
        /// number that identifies the run and seeds its arrivals; without it, derived from the time
        run: Option<u32> = None, wiring();
        /// part of a load that several workers share: it pauses after its sessions are established, and its report can be merged with those
        /// of the other workers
        shared: bool = false, inner();
    }
}

impl UpfLoadComponent {
    /// Returns the number of sessions for modes that have a fixed number.
    fn sessions(&self) -> usize {
        usize::try_from(self.sessions.unwrap_or(SESSIONS)).unwrap_or(usize::MAX)
    }

    /// Returns the address of the first base station.
    fn first_gnb(&self) -> Result<SocketAddr, ComponentError> {
        Ok(self.gnb.map_or_else(|| default_gnb(self.n3), Ok)?)
    }

    /// Returns the number of base stations if the first one has this address.
    fn gnbs_from(&self, first: SocketAddr) -> usize {
        self.gnbs.unwrap_or_else(|| default_gnbs(first, &[self.n3.ip(), self.n4.ip()]))
    }

    fn load(&self) -> Result<LoadConfig, ComponentError> {
        let rates = [Some(("rate", self.rate)), self.rate_to.map(|rate| ("rate_to", rate))];
        if let Some((name, rate)) =
            rates.into_iter().flatten().find(|(_, rate)| !(rate.is_finite() && *rate > 0.0))
        {
            return Err(rig(format!("`{name}` is {rate}; it must be above 0")));
        }
        if self.io != N3Io::Sockets && self.role == LoadRole::DataNetwork {
            return Err(rig(
                "`io` af-xdp is for base stations, but the role data-network has no base stations",
            ));
        }
        let server = match self.n6 {
            Network::Routed(address) => address,
            _ => self.server,
        };
        if server.is_ipv4() != self.ue.is_ipv4() {
            let why = format!("the UEs ({}) and their server ({server}) have different IP versions", self.ue);
            return Err(rig(why));
        }
        let traffic = |rate: Option<PacketRate>| {
            rate.map(|PacketRate(packets_per_s)| Traffic {
                packets_per_s: if self.unpaced { f64::INFINITY } else { packets_per_s },
                octets: match self.sizes {
                    LoadSizes::Fixed => PacketSizes::Fixed(self.bytes),
                    LoadSizes::Imix => PacketSizes::Imix,
                },
                reflect_every: self.reflect_every,
            })
        };
        let (uplink, downlink) = self.flows();
        let gnb = self.first_gnb()?;
        Ok(LoadConfig {
            n4: self.n4,
            n3: self.n3,
            smf: self.smf.map_or_else(|| default_smf(self.n4), Ok)?,
            smfs: self.smfs,
            gnb,
            gnbs: self.gnbs_from(gnb),
            threads: self.threads,
            pin: self.pin.0.clone(),
            network: self.n6,
            server,
            ue: self.ue,
            dialect: self.dialect,
            profile: self.profile(),
            retransmission: Retransmission { t1: self.t1, n1: self.n1 },
            window: WINDOW,
            heartbeat: (!self.heartbeat.is_zero()).then_some(self.heartbeat),
            echo: (!self.echo.is_zero()).then_some(self.echo),
            n3_io: self.io.clone(),
            uplink: traffic(uplink),
            downlink: traffic(downlink),
            smoke: !self.no_smoke_test && self.mode != LoadMode::Calibrate && self.replay.is_none(),
            run: self.run.unwrap_or_else(|| ranlab_net::monotonic_ns() as u32),
            upf_pid: self.upf_pid,
            anew: self.new_start_time,
            distributions: self.shared,
            onlooker: ProgressObserver::default(),
            mode: match &self.replay {
                Some(capture) => self.replayed(capture)?,
                None => self.what(),
            },
        })
    }

    /// Returns the packet rates of both directions. The default is uplink traffic in modes that send packets.
    fn flows(&self) -> (Option<PacketRate>, Option<PacketRate>) {
        let packets = !matches!(self.mode, LoadMode::Control | LoadMode::Blind | LoadMode::Calibrate);
        let unsaid = packets && self.downlink.is_none();
        (self.uplink.or_else(|| unsaid.then_some(PacketRate(1_000.0))), self.downlink)
    }

    fn profile(&self) -> SessionProfile {
        let rates = |rate: BitRate| BitRates { uplink_kbps: rate.kbps(), downlink_kbps: rate.kbps() };
        SessionProfile {
            dnn: self.dnn.clone(),
            access_instance: self.access_instance.clone(),
            core_instance: self.core_instance.clone(),
            core_interface: match self.core_interface {
                CoreInterface::Core => Interface::CORE,
                CoreInterface::SgiLan | CoreInterface::N6Lan => Interface::N6_LAN,
            },
            qfi: self.qfi,
            upf_n3: self.n3.ip(),
            ipv6: self.ue.is_ipv6(),
            mbr: self.mbr_mbps.map(rates),
            volume_threshold: self.volume_threshold,
            buffer: self.mode == LoadMode::Paging,
            ..SessionProfile::default()
        }
    }

    fn replayed(&self, capture: &Path) -> Result<Mode, ComponentError> {
        let recording = Arc::new(capture::recording(capture)?);
        Ok(Mode::Replay(ReplayPlan {
            recording,
            times: self.times,
            begin: self.begin(),
            keeps_gaps: self.gaps,
        }))
    }

    fn what(&self) -> Mode {
        let sessions = self.sessions();
        let duration = self.duration;
        let rate = self.rate;
        match self.mode {
            LoadMode::Calibrate | LoadMode::Control => Mode::Control {
                begin: self.begin(),
                cycles: self.sessions,
                duration,
                hold: self.hold,
                live: self.live,
            },
            LoadMode::Blind => Mode::Blind { delay: self.delay, sessions: self.sessions.unwrap_or(SESSIONS) },
            LoadMode::Sessions => Mode::Sessions { sessions, duration },
            LoadMode::Mixed => {
                let dynamic = self.dynamic;
                let round = self.round;
                let lead = self.lead;
                Mode::Mixed { fixed: sessions, dynamic, duration, round, lead }
            }
            LoadMode::Handover => Mode::Handover { sessions, rate, duration },
            LoadMode::Paging => Mode::Paging { sessions, rate, duration },
            LoadMode::Qos => {
                // In this mode, the default is one session, because each session has a separate maximum bit rate.
                let sessions = if self.sessions.is_some() { sessions } else { 1 };
                let offered_bps = self.offered_mbps.iter().map(|rate| rate.0).collect();
                Mode::Qos { offered_bps, sessions, duration }
            }
        }
    }

    fn begin(&self) -> Loop {
        let rate = self.rate;
        match self.arrivals {
            LoadArrivals::Closed => Loop::Closed { window: self.window },
            LoadArrivals::Constant => Loop::Open(Arrivals::Constant { rate }),
            LoadArrivals::Poisson => Loop::Open(Arrivals::Poisson { rate }),
            LoadArrivals::Burst => Loop::Open(Arrivals::Burst { rate, size: self.burst }),
            LoadArrivals::Ramp => {
                let to = self.rate_to.unwrap_or(rate * 2.0);
                Loop::Open(Arrivals::Ramp { from: rate, to, over: self.duration })
            }
        }
    }
}

#[cfg(test)]
mod tests;
