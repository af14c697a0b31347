//! The load on a user plane function: SMF, base stations and data network in one process.
//!
//! ```text
//!  Cycles (SMF, N4) --sessions--> Flows <--packets-- GnbThread (N3) ==> UPF ==> NetworkThread (N6)
//! ```
//!
//! * [`LoadConfig`] contains addresses and the task ([`Mode`]); [`run()`] executes it and returns a [`LoadReport`].
//! * Each request ends with one of the outcomes of [`upf::n4`](ranlab_upf::n4). Requests without an outcome
//!   and unexpected responses are counted in [`LoadReport::unexplained`].
//! * Every packet carries a [`Probe`]; loss, order and duplicates are counted per stream.
//! * Latencies are measured from the scheduled time. The send delay of the generator is reported separately.
mod addresses;
mod arrivals;
mod attended;
mod calibrate;
mod carrier;
mod cycles;
mod data;
mod flows;
mod frames;
mod fresh;
mod gate;
mod load_run;
mod meter;
mod n3_io;
mod n4;
mod network;
mod open_loop;
mod outcome;
mod paths;
mod probe;
mod process;
mod progress;
mod replay;
mod report;
mod run;
mod sizes;
mod table;
mod take_down;
mod tally;
mod tunnels;
mod unresponsive;

pub use addresses::{default_gnb, default_gnbs, default_smf};
pub use arrivals::{Arrivals, Schedule};
pub use calibrate::{BareLoop, bare_loop};
pub use cycles::{CyclePlan, Cycles, Loop};
pub use data::{DataReport, MAX_THREADS, Traffic};
pub use flows::{Flows, MAX_FLOWS, UePool};
pub use frames::{AfXdpError, AfXdpSummary};
pub use fresh::recovery_time_stamp;
pub use gate::StartGate;
pub use meter::{Summary, Times};
pub use n3_io::N3Io;
pub use n4::{N4, TracedMessage};
pub use network::{Network, NetworkReport};
pub use outcome::{ByKind, CycleReport, Second};
pub use paths::PathSummary;
pub use probe::{PROBE_BYTES, Probe, least_packet, reflect, write_packet};
pub use process::Process;
pub use progress::{Counts, ProgressCounters, ProgressObserver, ProgressReading};
pub use replay::ReplayPlan;
pub use report::{ControlSummary, DataSummary, Direction, LoadReport, RequestSummary, Smoke, StepSummary};
pub use run::{DataNetwork, run, run_when_told};
pub use sizes::{PacketSizes, capacity};
pub use tally::Tally;
pub use unresponsive::Unresponsive;

use ranlab_memif::PortError;
use ranlab_upf::n4::{Dialect, PFCP_PORT, Retransmission, SessionProfile};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Maximum number of base stations in a run; each has a socket.
pub const MAX_GNBS: usize = 1_024;
/// Maximum number of SMFs in a run; each has a thread.
pub const MAX_SMFS: usize = 64;

/// The task of a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// Sessions are created and deleted, without packets.
    Control {
        /// Rule by which they begin.
        begin: Loop,
        /// Maximum number of cycles.
        cycles: Option<u64>,
        /// Duration.
        duration: Duration,
        /// Time from a session's tunnel to its deletion.
        hold: Duration,
        /// Sessions that are established beforehand and remain.
        live: usize,
    },
    /// Establishment, modification and deletion at a fixed interval without waiting for responses, like the published
    /// emulator. Session ids are guessed from the first responses.
    Blind {
        /// Interval between two messages.
        delay: Duration,
        /// Number of sessions.
        sessions: u64,
    },
    /// Sessions are established, then send packets. They are divided among the threads.
    Sessions {
        /// Number of sessions.
        sessions: usize,
        /// Duration of sending.
        duration: Duration,
    },
    /// `fixed` sessions send all the time while `dynamic` sessions are created and deleted. Every thread sends for all
    /// sessions.
    Mixed {
        /// n1.
        fixed: usize,
        /// n2.
        dynamic: usize,
        /// t1: duration of the dynamic sessions' cycles.
        duration: Duration,
        /// t2: duration of a round. A session begins after a random time t3 and lasts t4 = t2 - t3.
        round: Duration,
        /// Time before the first round.
        lead: Duration,
    },
    /// Sessions send packets and are handed over.
    Handover {
        /// Number of sessions.
        sessions: usize,
        /// Handovers per second.
        rate: f64,
        /// Duration.
        duration: Duration,
    },
    /// Sessions become idle; their packets are buffered and reported, and delivered after paging.
    Paging {
        /// Number of sessions.
        sessions: usize,
        /// Sessions per second that become idle.
        rate: f64,
        /// Duration.
        duration: Duration,
    },
    /// Offers each rate in each direction, one after the other. The received rate is compared with the profile's
    /// maximum.
    Qos {
        /// Offered rates of the user's IP packets, all sessions together, in bit/s.
        offered_bps: Vec<f64>,
        /// Number of sessions.
        sessions: usize,
        /// Duration of each step.
        duration: Duration,
    },
    /// Sessions of a capture are repeated, without packets.
    Replay(ReplayPlan),
}

/// Addresses and task of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadConfig {
    /// N4 address of the UPF.
    pub n4: SocketAddr,
    /// N3 address of the UPF.
    pub n3: SocketAddr,
    /// Address of the first SMF. Further SMFs have the following addresses.
    pub smf: SocketAddr,
    /// Number of SMFs; each has a thread.
    pub smfs: usize,
    /// Address of the first base station. Further base stations have the following addresses.
    pub gnb: SocketAddr,
    /// Number of base stations.
    pub gnbs: usize,
    /// Number of data threads.
    pub threads: usize,
    /// CPUs of the SMFs, then of the data threads, then of the data network.
    pub pin: Vec<usize>,
    /// The data network.
    pub network: Network,
    /// Address of the server, as UEs see it.
    pub server: SocketAddr,
    /// Address of the first UE. Further UEs have the following addresses (IPv6: /64 prefixes).
    pub ue: IpAddr,
    /// PFCP dialect of the UPF.
    pub dialect: Dialect,
    /// Settings common to all sessions.
    pub profile: SessionProfile,
    /// Timer T1 and counter N1.
    pub retransmission: Retransmission,
    /// Maximum number of pending requests per SMF.
    pub window: usize,
    /// Interval of heartbeats, which also detect a restart of the UPF.
    pub heartbeat: Option<Duration>,
    /// Between two Echo Requests of a base station; `None`: none are sent.
    pub echo: Option<Duration>,
    /// I/O method of base stations' datagrams.
    pub n3_io: N3Io,
    /// Packets sent by base stations.
    pub uplink: Option<Traffic>,
    /// Packets sent by the data network.
    pub downlink: Option<Traffic>,
    /// Whether one packet is sent in each direction before the measurement.
    pub smoke: bool,
    /// Number of the run, which is also the seed.
    pub run: u32,
    /// Process id of the UPF, if it is on this machine. Its CPU time in mode control and its exit are reported.
    pub upf_pid: Option<u32>,
    /// Whether the SMFs appear as just started. UPFs then delete the sessions of earlier runs. Otherwise their start
    /// time is the boot time of the host.
    pub anew: bool,
    /// Whether the report keeps distributions, so that it can be joined with others ([`LoadReport::join`]).
    pub distributions: bool,
    /// Observer of the run. Costs a lock and a histogram record for each response and each received packet.
    pub onlooker: ProgressObserver,
    /// The task.
    pub mode: Mode,
}

/// The reason why a load does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// An address cannot be bound.
    #[error("the {what} cannot use {address}: {source}{}", remedy(what, source))]
    Bind {
        /// Role of the socket.
        what: &'static str,
        /// The address.
        address: SocketAddr,
        /// The error.
        source: io::Error,
    },
    /// AF_XDP is configured but not available.
    #[error("AF_XDP is not available towards {n3}: {why}; --io sockets works without it")]
    AfXdp {
        /// N3 address of the UPF.
        n3: SocketAddr,
        /// The reason.
        why: Box<AfXdpError>,
    },
    /// The UPF's rings cannot be used.
    #[error("the rings at {} cannot be used: {source}; `ranlab upf --n3-io memif:PATH` listens there", path.display())]
    Memif {
        /// Path of the control channel's socket.
        path: PathBuf,
        /// The reason.
        source: Box<PortError>,
    },
    /// A number is out of range.
    #[error("{given} {what}; {least} to {most} are allowed")]
    Bounds {
        /// The quantity.
        what: &'static str,
        /// The given number.
        given: usize,
        /// Minimum.
        least: usize,
        /// Maximum.
        most: usize,
    },
    /// The mode requires a setting that is missing.
    #[error("{mode} needs {lacking}")]
    Lacking {
        /// The mode.
        mode: &'static str,
        /// The required setting.
        lacking: &'static str,
    },
    /// The process does not exist.
    #[error("no process {pid} on this machine; --upf-pid is the process id of the UPF")]
    NoProcess {
        /// Process id.
        pid: u32,
    },
    /// The UPF's process exited.
    #[error("the UPF's process {pid} ended {:.2} s into the run; then: {then}", .after.as_secs_f64())]
    Died {
        /// Process id.
        pid: u32,
        /// Time since the begin of the run.
        after: Duration,
        /// The consequent error.
        then: Box<Self>,
    },
    /// The kernel has no route to the UPF.
    #[error(
        "this machine has no route to {peer} ({peer_flag}): {source}; correct {peer_flag}, add a route, or give our own address with {own_flag}"
    )]
    NoRoute {
        /// Address of the UPF.
        peer: SocketAddr,
        /// The flag that sets it.
        peer_flag: &'static str,
        /// The flag that sets our address.
        own_flag: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The messages of the profile do not fit into a datagram.
    #[error("the session's rules do not fit a PFCP message of 64 KiB")]
    Profile,
    /// The UPF did not respond.
    #[error(
        "{upf} did not answer an association setup of {smf} within {} s; is a UPF there, and does it take this SMF's address?{}",
        .waited.as_secs(), other_port(smf)
    )]
    NoAssociation {
        /// Address of the UPF.
        upf: SocketAddr,
        /// Address of the SMF.
        smf: SocketAddr,
        /// Timeout.
        waited: Duration,
    },
    /// A request could not be sent.
    #[error("a request could not be sent: {0}")]
    Refused(String),
    /// The sessions on which the load depends could not be established.
    #[error("{established} of {wanted} sessions were established; {why}")]
    Sessions {
        /// Number of established sessions.
        established: usize,
        /// Number of required sessions.
        wanted: usize,
        /// Outcomes of the requests.
        why: String,
    },
    /// Packets in one direction are lost although every request was accepted.
    #[error(
        "the smoke packet of the UE {ue} was lost {way}: the UPF accepted the rules but does not forward. Check that {ue} (--ue) is in the UPF's pool, that the data network has a route to it, that the UPF has a route to --server, and that --dialect fits the UPF"
    )]
    Smoke {
        /// Direction.
        way: &'static str,
        /// Address of the UE.
        ue: IpAddr,
    },
    /// A socket failed. The text contains its addresses.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A thread panicked.
    #[error("a thread of the load panicked")]
    Panicked,
}

fn remedy(what: &str, source: &io::Error) -> &'static str {
    match (what, source.kind()) {
        ("SMF", io::ErrorKind::AddrInUse) => {
            "; a UPF or another SMF on this machine has it: give another address with --smf, and keep port 8805, where some UPFs answer whichever port asked"
        }
        ("SMF", io::ErrorKind::AddrNotAvailable) => {
            "; give an address of this machine with --smf (each further SMF has the next one)"
        }
        ("base station", io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {
            "; give a free address of this machine with --gnb, or fewer base stations with --gnbs (each further base station has the next address)"
        }
        ("data network", io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {
            "; give a free address of this machine with --n6"
        }
        (_, io::ErrorKind::PermissionDenied) => "; ports below 1024 need root or CAP_NET_BIND_SERVICE",
        _ => "",
    }
}

fn other_port(smf: &SocketAddr) -> String {
    match smf.port() {
        PFCP_PORT => String::new(),
        _ => format!(
            " Some answer to port {PFCP_PORT} whichever port asked: try --smf {}",
            SocketAddr::new(smf.ip(), PFCP_PORT)
        ),
    }
}

/// Returns the `n`th address after `first`, with the same port.
pub fn nth(first: SocketAddr, n: usize) -> SocketAddr {
    let ip: IpAddr = match first.ip() {
        IpAddr::V4(v4) => Ipv4Addr::from(u32::from(v4).wrapping_add(n as u32)).into(),
        IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6).wrapping_add(n as u128)).into(),
    };
    SocketAddr::new(ip, first.port())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A valid configuration for tests to modify.
    pub(crate) fn config(mode: Mode) -> LoadConfig {
        LoadConfig {
            n4: "127.0.0.8:8805".parse().unwrap(),
            n3: "127.0.0.8:2152".parse().unwrap(),
            smf: "127.0.2.1:8805".parse().unwrap(),
            smfs: 1,
            gnb: "127.0.1.1:2152".parse().unwrap(),
            gnbs: 4,
            threads: 2,
            pin: Vec::new(),
            network: Network::None,
            server: "10.45.0.1:9".parse().unwrap(),
            ue: [10, 60, 0, 1].into(),
            dialect: Dialect::STRICT_REL17,
            profile: SessionProfile::default(),
            retransmission: Retransmission { t1: Duration::from_secs(1), n1: 0 },
            window: 1_000,
            heartbeat: None,
            echo: None,
            n3_io: N3Io::Sockets,
            uplink: None,
            downlink: None,
            smoke: false,
            run: 1,
            upf_pid: None,
            anew: false,
            distributions: false,
            onlooker: ProgressObserver::default(),
            mode,
        }
    }

    #[test]
    fn nth_address_is_consecutive() {
        let nth = |first: &str, n| nth(first.parse().unwrap(), n).to_string();
        assert_eq!(nth("10.0.0.255:2152", 1), "10.0.1.0:2152");
        assert_eq!(nth("[fd00::ffff]:1", 1), "[fd00::1:0]:1");
        assert_eq!(nth("255.255.255.255:7", 2), "0.0.0.1:7", "beyond the last one comes the first");
    }

    #[test]
    fn unavailable_address_error_contains_remedy() {
        let bind = |what, kind: io::ErrorKind| {
            let address = "10.3.0.1:8805".parse().unwrap();
            LoadError::Bind { what, address, source: kind.into() }.to_string()
        };
        assert!(bind("SMF", io::ErrorKind::AddrInUse).contains("another SMF on this machine has it"));
        assert!(bind("SMF", io::ErrorKind::AddrNotAvailable).contains("of this machine with --smf"));
        assert!(bind("base station", io::ErrorKind::AddrInUse).contains("with --gnb"));
        assert!(bind("data network", io::ErrorKind::AddrInUse).contains("with --n6"));
        assert!(
            !bind("SMF", io::ErrorKind::PermissionDenied).contains("--"),
            "which no address would change"
        );
    }

    #[test]
    fn silence_is_blamed_on_nonstandard_port_only() {
        let silent = |smf: &str| {
            let upf = "10.3.0.2:8805".parse().unwrap();
            let smf = smf.parse().unwrap();
            LoadError::NoAssociation { upf, smf, waited: Duration::from_secs(5) }.to_string()
        };
        assert!(silent("10.3.0.1:40000").contains("try --smf 10.3.0.1:8805"));
        assert!(!silent("10.3.0.1:8805").contains("try --smf"));
    }
}
