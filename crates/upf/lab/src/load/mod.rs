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

/// Maximum number of base stations in a run. Each base station has a socket.
pub const MAX_GNBS: usize = 1_024;
/// Maximum number of SMFs in a run. Each SMF has a thread.
pub const MAX_SMFS: usize = 64;

/// The task of a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// Sessions are created and deleted, without packets.
    Control {
        /// Rule that determines when sessions begin.
        begin: Loop,
        /// Maximum number of cycles.
        cycles: Option<u64>,
        /// Time during which new cycles begin.
        duration: Duration,
        /// Time from the creation of a session's tunnel to the deletion of the session.
        hold: Duration,
        /// Number of sessions that are established beforehand and remain.
        live: usize,
    },
    /// Sessions are established, modified and deleted at a fixed interval without waiting for responses, like in the published emulator.
    /// Session ids are guessed from the first responses.
    Blind {
        /// Interval between two messages.
        delay: Duration,
        /// Number of sessions.
        sessions: u64,
    },
    /// Sessions are established, then send packets. The sessions are divided among the threads.
    Sessions {
        /// Number of sessions.
        sessions: usize,
        /// Duration of sending.
        duration: Duration,
    },
    /// `fixed` sessions send all the time while `dynamic` sessions are created and deleted. Every thread sends for all
    /// sessions.
    Mixed {
        /// Number of fixed sessions (n1).
        fixed: usize,
        /// Number of dynamic sessions (n2).
        dynamic: usize,
        /// Duration of the dynamic sessions' cycles (t1).
        duration: Duration,
        /// Duration of a round (t2). A session begins after a random time t3 and lasts t4 = t2 - t3.
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
        /// Duration of the handovers.
        duration: Duration,
    },
    /// Sessions become idle. Their packets are buffered and reported, and delivered after paging.
    Paging {
        /// Number of sessions.
        sessions: usize,
        /// Sessions per second that become idle.
        rate: f64,
        /// Time during which sessions become idle.
        duration: Duration,
    },
    /// Each rate is offered in each direction, one after the other. The received rate is compared with the profile's maximum.
    Qos {
        /// Offered bit rates of the user's IP packets, summed over all sessions, in bit/s.
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
    /// Number of SMFs. Each SMF has a thread.
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
    /// Address and port of the server, as seen by UEs.
    pub server: SocketAddr,
    /// Address of the first UE. Further UEs have the following addresses (IPv6: /64 prefixes).
    pub ue: IpAddr,
    /// PFCP dialect of the UPF.
    pub dialect: Dialect,
    /// Settings common to all sessions.
    pub profile: SessionProfile,
    /// Timer T1 and counter N1 of retransmissions.
    pub retransmission: Retransmission,
    /// Maximum number of pending requests per SMF.
    pub window: usize,
    /// Interval of heartbeats, which also detect a restart of the UPF.
    pub heartbeat: Option<Duration>,
    /// Interval of Echo Requests of a base station. `None`: no Echo Requests are sent.
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
    /// Whether the SMFs report the current time as their start time. UPFs then delete the sessions of earlier runs. Otherwise the SMFs
    /// report the boot time of the host.
    pub anew: bool,
    /// Whether the report stores distributions, so that it can be joined with other reports ([`LoadReport::join`]).
    pub distributions: bool,
    /// Observer of the run. An observer costs a lock and a histogram record for each response and each received packet.
    pub onlooker: ProgressObserver,
    /// Kind of load: sessions, packets, or both.
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
        /// Address of the socket.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// AF_XDP is configured but not available.
    #[error("AF_XDP is not available towards {n3}: {why}; --io sockets works without it")]
    AfXdp {
        /// N3 address of the UPF.
        n3: SocketAddr,
        /// Reason why AF_XDP is not available.
        why: Box<AfXdpError>,
    },
    /// The UPF's rings cannot be used.
    #[error("the rings at {} cannot be used: {source}; `ranlab upf --n3-io memif:PATH` creates such rings", path.display())]
    Memif {
        /// Path of the control channel's socket.
        path: PathBuf,
        /// Error of the connection to the rings.
        source: Box<PortError>,
    },
    /// A number is out of range.
    #[error("{given} {what}; {least} to {most} are allowed")]
    Bounds {
        /// Name of the quantity.
        what: &'static str,
        /// Number in the configuration.
        given: usize,
        /// Minimum allowed number.
        least: usize,
        /// Maximum allowed number.
        most: usize,
    },
    /// The mode requires a setting that is missing.
    #[error("{mode} needs {lacking}")]
    Lacking {
        /// Name of the mode.
        mode: &'static str,
        /// The required setting.
        lacking: &'static str,
    },
    /// The process does not exist.
    #[error("there is no process {pid} on this machine; --upf-pid must be the process id of the UPF")]
    NoProcess {
        /// Given process id.
        pid: u32,
    },
    /// The UPF's process exited.
    #[error("the UPF's process {pid} ended {:.2} s into the run, and then an error occurred: {then}", .after.as_secs_f64())]
    Died {
        /// Process id of the UPF.
        pid: u32,
        /// Time from the start of the run to the exit of the process.
        after: Duration,
        /// Error that followed from the exit.
        then: Box<Self>,
    },
    /// The kernel has no route to the UPF.
    #[error(
        "this machine has no route to {peer} ({peer_flag}): {source}; correct {peer_flag}, add a route, or give our own address with {own_flag}"
    )]
    NoRoute {
        /// Address of the UPF.
        peer: SocketAddr,
        /// Flag that sets the address of the UPF.
        peer_flag: &'static str,
        /// Flag that sets our address.
        own_flag: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The messages of the profile do not fit into a datagram.
    #[error("the session's rules do not fit into a PFCP message of 64 KiB")]
    Profile,
    /// The UPF did not respond.
    #[error(
        "{upf} did not answer an association setup of {smf} within {} s; is a UPF there, and does it accept this SMF's address?{}",
        .waited.as_secs(), other_port(smf)
    )]
    NoAssociation {
        /// Address of the UPF.
        upf: SocketAddr,
        /// Address of the SMF.
        smf: SocketAddr,
        /// Time after which the association setup was given up.
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
        /// Summary of the failed requests.
        why: String,
    },
    /// Packets in one direction are lost, although the UPF accepted every request.
    #[error(
        "the smoke packet of the UE {ue} was lost in the {way}: the UPF accepted the rules but does not forward. Check that {ue} (--ue) is in the UPF's pool, that the data network has a route to it, that the UPF has a route to --server, and that --dialect fits the UPF"
    )]
    Smoke {
        /// Direction in which the packet was lost.
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
            "; a UPF or another SMF on this machine uses this address: give another address with --smf, and keep port 8805, because some UPFs send all responses to it"
        }
        ("SMF", io::ErrorKind::AddrNotAvailable) => {
            "; give an address of this machine with --smf (each additional SMF needs the next address)"
        }
        ("base station", io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {
            "; give a free address of this machine with --gnb, or fewer base stations with --gnbs (each additional base station needs the next address)"
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
            " Some UPFs send all responses to port {PFCP_PORT}: try --smf {}",
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

    /// Returns a valid configuration for tests to modify.
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
    fn nth_address_carries_and_wraps_around() {
        let nth = |first: &str, n| nth(first.parse().unwrap(), n).to_string();
        assert_eq!(nth("10.0.0.255:2152", 1), "10.0.1.0:2152");
        assert_eq!(nth("[fd00::ffff]:1", 1), "[fd00::1:0]:1");
        assert_eq!(nth("255.255.255.255:7", 2), "0.0.0.1:7", "the first address follows the last one");
    }

    #[test]
    fn unavailable_address_error_contains_remedy() {
        let bind = |what, kind: io::ErrorKind| {
            let address = "10.3.0.1:8805".parse().unwrap();
            LoadError::Bind { what, address, source: kind.into() }.to_string()
        };
        assert!(
            bind("SMF", io::ErrorKind::AddrInUse).contains("another SMF on this machine uses this address")
        );
        assert!(bind("SMF", io::ErrorKind::AddrNotAvailable).contains("of this machine with --smf"));
        assert!(bind("base station", io::ErrorKind::AddrInUse).contains("with --gnb"));
        assert!(bind("data network", io::ErrorKind::AddrInUse).contains("with --n6"));
        assert!(
            !bind("SMF", io::ErrorKind::PermissionDenied).contains("--"),
            "another address would not help"
        );
    }

    #[test]
    fn silence_error_suggests_standard_port_only_if_unused() {
        let silent = |smf: &str| {
            let upf = "10.3.0.2:8805".parse().unwrap();
            let smf = smf.parse().unwrap();
            LoadError::NoAssociation { upf, smf, waited: Duration::from_secs(5) }.to_string()
        };
        assert!(silent("10.3.0.1:40000").contains("try --smf 10.3.0.1:8805"));
        assert!(!silent("10.3.0.1:8805").contains("try --smf"));
    }
}
