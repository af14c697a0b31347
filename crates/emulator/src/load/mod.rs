//! The load on a user plane function: SMF, base stations and data network in one process.
//!
//! ```text
//!  Cycles (SMF, N4) --sessions--> Flows <--packets-- GnbThread (N3) ==> UPF ==> NetworkThread (N6)
//! ```
//!
//! * [`LoadConfig`] says who is where and what to do ([`Mode`]); [`run()`] does it; [`LoadReport`] tells.
//! * Requests end as one of the outcomes of [`upf::n4`](ranlab_upf::n4); what is neither answered nor lost, and
//!   what comes unasked, is [`LoadReport::unexplained`].
//! * Every packet carries a [`Probe`]: loss, order and repetition are told for each stream.
//! * Times are taken from when something was to happen; how late the generator was is reported beside them.
mod addresses;
mod arrivals;
mod bench;
mod blind;
mod calibrate;
mod carrier;
mod cycles;
mod data;
mod flows;
mod frames;
mod fresh;
mod gate;
mod glance;
mod meter;
mod n3_io;
mod n4;
mod network;
mod outcome;
mod probe;
mod process;
mod report;
mod run;
mod silence;
mod sizes;
mod table;
mod take_down;
mod tally;
mod tunnels;

pub use addresses::{default_gnb, default_gnbs, default_smf};
pub use arrivals::{Arrivals, Schedule};
pub use calibrate::{BareLoop, bare_loop};
pub use cycles::{CyclePlan, Cycles, Loop};
pub use data::{DataReport, MAX_THREADS, Traffic};
pub use flows::{Flows, MAX_FLOWS, UePool};
pub use frames::{AfXdpError, AfXdpSummary};
pub use fresh::recovery_time_stamp;
pub use gate::Gate;
pub use glance::{Counts, Glance, Look, Onlooker};
pub use meter::{Summary, Times};
pub use n3_io::N3Io;
pub use n4::{N4, Traced};
pub use network::{Network, NetworkReport};
pub use outcome::{ByKind, CycleReport, Second};
pub use probe::{PROBE_BYTES, Probe, least_packet, reflect, write_packet};
pub use process::Process;
pub use report::{ControlSummary, DataSummary, Direction, LoadReport, RequestSummary, Smoke, StepSummary};
pub use run::{data_network, run, run_when_told};
pub use silence::Silence;
pub use sizes::capacity;
pub use tally::Tally;

use ranlab_upf::n4::{Dialect, PFCP_PORT, Retransmission, SessionProfile};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Base stations of one run at most: each is a socket.
pub const MAX_GNBS: usize = 1_024;
/// SMFs of one run at most: each is a thread.
pub const MAX_SMFS: usize = 64;

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// Sessions come and go, no packets.
    Control {
        /// How they begin.
        begin: Loop,
        /// Cycles at most.
        cycles: Option<u64>,
        /// For so long.
        duration: Duration,
        /// Between a session's tunnel and its end.
        hold: Duration,
        /// Sessions that are established before and stay.
        live: usize,
    },
    /// Establishment, modification and deletion one after the other at a fixed distance, without waiting for any answer:
    /// what the published emulator does. Sessions are guessed from the first answer.
    Blind {
        /// Between two messages.
        delay: Duration,
        /// Sessions.
        sessions: u64,
    },
    /// Sessions are set up, then send; they are shared out among the threads.
    Sessions {
        /// How many.
        sessions: usize,
        /// How long they send.
        duration: Duration,
    },
    /// `fixed` sessions send all the time while `dynamic` ones come and go; every thread sends for all.
    Mixed {
        /// n1.
        fixed: usize,
        /// n2.
        dynamic: usize,
        /// t1: how long the dynamic ones come and go.
        duration: Duration,
        /// t2: of one round; a session comes after a random t3 and stays for t4 = t2 - t3.
        round: Duration,
        /// Before the first round.
        lead: Duration,
    },
    /// Sessions send and are handed over.
    Handover {
        /// How many.
        sessions: usize,
        /// Handovers per second.
        rate: f64,
        /// How long.
        duration: Duration,
    },
    /// Sessions fall idle, packets wait, are reported, and go on.
    Paging {
        /// How many.
        sessions: usize,
        /// Sessions per second that fall idle.
        rate: f64,
        /// How long.
        duration: Duration,
    },
    /// Each rate is offered in turn, in each direction; what arrives is held against the profile's maximum.
    Qos {
        /// Bits per second of the user's IP packets, all sessions together.
        offered_bps: Vec<f64>,
        /// Sessions.
        sessions: usize,
        /// How long each.
        duration: Duration,
    },
}

/// Who is where, and what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadConfig {
    /// The UPF's N4.
    pub n4: SocketAddr,
    /// The UPF's N3.
    pub n3: SocketAddr,
    /// The first SMF; each further one has the next address.
    pub smf: SocketAddr,
    /// SMFs, a thread each.
    pub smfs: usize,
    /// The first base station; each further one has the next address.
    pub gnb: SocketAddr,
    /// Base stations.
    pub gnbs: usize,
    /// Data threads.
    pub threads: usize,
    /// CPUs: SMF 0 (and on), data threads, data network.
    pub pin: Vec<usize>,
    /// The data network.
    pub network: Network,
    /// The server that UEs speak to, as they see it.
    pub server: SocketAddr,
    /// The first UE; each further one has the next address (IPv6: /64).
    pub ue: IpAddr,
    /// The UPF's habits.
    pub dialect: Dialect,
    /// What sessions have in common.
    pub profile: SessionProfile,
    /// T1 and N1.
    pub retransmission: Retransmission,
    /// Requests under way at most, for each SMF.
    pub window: usize,
    /// Heartbeats, which also notice a restart.
    pub heartbeat: Option<Duration>,
    /// How base stations' datagrams leave and come in.
    pub n3_io: N3Io,
    /// Packets of base stations.
    pub uplink: Option<Traffic>,
    /// Packets of the data network.
    pub downlink: Option<Traffic>,
    /// One packet in each direction before anything is measured.
    pub smoke: bool,
    /// Names the run; also the seed.
    pub run: u32,
    /// The UPF's process, if it is here: its CPU time while sessions come and go is reported, and when it ended.
    pub upf_pid: Option<u32>,
    /// Whether the SMFs come as ones that have just started, instead of with the host: UPFs delete what earlier runs left.
    pub anew: bool,
    /// Whether the report keeps its distributions, so that it can be joined with others ([`LoadReport::join`]).
    pub distributions: bool,
    /// Who looks on; it costs each answer and each packet that comes back a lock and a record in a histogram.
    pub onlooker: Onlooker,
    /// What to do.
    pub mode: Mode,
}

/// Why a load does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// An address cannot be had.
    #[error("the {what} cannot have {address}: {source}{}", remedy(what, source))]
    Bind {
        /// Who.
        what: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// AF_XDP was asked for and is not to be had.
    #[error("no AF_XDP towards {n3}: {why}; --io sockets needs none of it")]
    AfXdp {
        /// The UPF.
        n3: SocketAddr,
        /// Why.
        why: Box<AfXdpError>,
    },
    /// A number is out of its bounds.
    #[error("{given} {what}; {least} to {most} are allowed")]
    Bounds {
        /// Of what.
        what: &'static str,
        /// The number.
        given: usize,
        /// Least.
        least: usize,
        /// Most.
        most: usize,
    },
    /// The mode needs something that the configuration lacks.
    #[error("{mode} needs {lacking}")]
    Lacking {
        /// The mode.
        mode: &'static str,
        /// What it needs.
        lacking: &'static str,
    },
    /// There is no such process.
    #[error("no process {pid} is here: --upf-pid names the UPF's")]
    NoProcess {
        /// Its number.
        pid: u32,
    },
    /// The UPF's process ended.
    #[error("the UPF's process {pid} ended {:.2} s into the run; then: {then}", .after.as_secs_f64())]
    Died {
        /// Its number.
        pid: u32,
        /// When, from the beginning of the run.
        after: Duration,
        /// What came of it.
        then: Box<Self>,
    },
    /// The kernel has no route to the UPF.
    #[error(
        "this machine has no route to {peer} ({peer_flag}): {source}; correct {peer_flag}, add a route, or give our own address with {own_flag}"
    )]
    NoRoute {
        /// The UPF's address.
        peer: SocketAddr,
        /// The flag that chooses it.
        peer_flag: &'static str,
        /// The flag that chooses our address.
        own_flag: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The profile's messages do not fit a datagram.
    #[error("the session's rules do not fit a PFCP message of 64 KiB")]
    Profile,
    /// The UPF did not answer.
    #[error(
        "{upf} did not answer an association setup of {smf} within {} s; is a UPF there, and does it take this SMF's address?{}",
        .waited.as_secs(), other_port(smf)
    )]
    NoAssociation {
        /// The UPF.
        upf: SocketAddr,
        /// Who asked.
        smf: SocketAddr,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The machine refused a request.
    #[error("a request could not be sent: {0}")]
    Refused(String),
    /// The sessions could not be established that everything else needs.
    #[error("{established} of {wanted} sessions were established; {why}")]
    Sessions {
        /// How many were.
        established: usize,
        /// How many were wanted.
        wanted: usize,
        /// What the requests ended with.
        why: String,
    },
    /// A direction does not work although every request was accepted.
    #[error(
        "the smoke packet of the UE {ue} did not come through {way}: the UPF accepted the rules and does not forward; is {ue} (--ue) within the UPF's pool, does the data network have a route for it, is --server where the UPF's routes lead, and --dialect its own?"
    )]
    Smoke {
        /// Which.
        way: &'static str,
        /// Of which UE.
        ue: IpAddr,
    },
    /// A socket failed; the text names its addresses.
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

/// The address `n` behind `first`, same port.
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

    /// A load that nobody runs: what a test changes is what it is about.
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
            n3_io: N3Io::Sockets,
            uplink: None,
            downlink: None,
            smoke: false,
            run: 1,
            upf_pid: None,
            anew: false,
            distributions: false,
            onlooker: Onlooker::default(),
            mode,
        }
    }

    #[test]
    fn addresses_follow_each_other() {
        let nth = |first: &str, n| nth(first.parse().unwrap(), n).to_string();
        assert_eq!(nth("10.0.0.255:2152", 1), "10.0.1.0:2152");
        assert_eq!(nth("[fd00::ffff]:1", 1), "[fd00::1:0]:1");
        assert_eq!(nth("255.255.255.255:7", 2), "0.0.0.1:7", "beyond the last one comes the first");
    }

    #[test]
    fn an_address_that_is_not_to_be_had_comes_with_what_helps() {
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
    fn only_a_port_that_is_not_pfcps_is_blamed_for_silence() {
        let silent = |smf: &str| {
            let (upf, smf) = ("10.3.0.2:8805".parse().unwrap(), smf.parse().unwrap());
            LoadError::NoAssociation { upf, smf, waited: Duration::from_secs(5) }.to_string()
        };
        assert!(silent("10.3.0.1:40000").contains("try --smf 10.3.0.1:8805"));
        assert!(!silent("10.3.0.1:8805").contains("try --smf"));
    }
}
