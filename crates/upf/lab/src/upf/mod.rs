//! A user plane function on sockets: N4, N3 and N6 with `upf::n4` and `upf::forwarding`, in several designs.
//!
//! | design | threads |
//! |---|---|
//! | [`Design::CpOffload`] | one polling worker runs PFCP and packets to completion |
//! | [`Design::Software`] | a master receives all packets and distributes them to workers, by session |
//! | [`Design::DpOffload`] | packets are handled by the kernel (XDP) or a separate thread; the control thread responds after each rule is installed there |
//! | [`Design::Bare`] | not a user plane: packets are forwarded unread, to measure the maximum rate of the sockets |
//!
//! All designs receive PFCP through a [`Mock`](ranlab_upf::n4::Mock), which can add service times, losses and
//! crashes. By default it has no effect.
mod account;
mod accounts;
mod control;
mod memory;
mod owners;
mod packets;
mod workers;
mod xdp;

use crate::n3_ring::RingPort;
use control::Control;
pub(crate) use control::ntp_of_unix;
pub use control::ntp_seconds;
pub use memory::{InMemory, in_memory};
use packets::{N6Port, PacketWorker};
use ranlab_lab::text::{TextError, socket_address};
use ranlab_memif::Role;
use ranlab_net::{DatagramOptions, bind_datagrams};
use ranlab_upf::forwarding::{Drop as DropReason, PlaneCounters};
use ranlab_upf::n4::{MockSettings, UpfCounters, UpfSettings};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;
use workers::PacketWorkers;
pub use xdp::{XdpCounters, XdpDevices};

/// Maximum number of workers in the software design.
pub const MAX_WORKERS: usize = 64;
/// Maximum length of a datagram, in bytes.
pub(crate) const MAX_DATAGRAM: usize = 9_216;
/// Datagrams per system call.
pub(crate) const BATCH: usize = 64;

/// Distribution of work among threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// One worker runs everything to completion.
    CpOffload,
    /// A master and a number of workers.
    Software {
        /// Number of workers, 1 to [`MAX_WORKERS`].
        workers: usize,
    },
    /// Not a user plane: accepts sessions and forwards packets unread. Shows the maximum rate of the sockets.
    Bare,
    /// A control thread and a data thread.
    DpOffload {
        /// Additional time per rule change, such as a SmartNIC driver would need.
        install: Duration,
    },
}

/// Type of the data network side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum N6 {
    /// A data network that counts and drops packets.
    Sink,
    /// A data network inside the process, which sends packets back with addresses and ports swapped.
    Reflect,
    /// A data network that is connected by UDP. IP packets are the payload. No privileges are needed.
    Udp {
        /// Address at which the UPF receives.
        local: SocketAddr,
        /// Address to which the UPF sends. Packets from other addresses are dropped.
        peer: SocketAddr,
        /// Addresses of servers in other data networks, with the destinations for their packets.
        routes: Vec<(IpAddr, SocketAddr)>,
    },
    /// A TUN device with this name. The kernel routes its packets.
    Tun(String),
}

impl FromStr for N6 {
    type Err = TextError;

    /// Parses `sink`, `reflect`, `udp://LOCAL,PEER[,SERVER=PEER …]` or `tun://NAME`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let allowed = "sink, reflect, udp://LOCAL,PEER[,SERVER=PEER ...] and tun://NAME";
        let wrong = || TextError::new(text, "data network", allowed);
        if let Some(rest) = text.strip_prefix("udp://") {
            let (local, rest) = rest.split_once(',').ok_or_else(wrong)?;
            let mut peers = rest.split(',');
            let address = |text: &str| socket_address(text).map_err(|_| wrong());
            let peer = address(peers.next().unwrap_or_default())?;
            let route = |text: &str| {
                let (server, peer) = text.split_once('=').ok_or_else(wrong)?;
                Ok((server.parse().map_err(|_| wrong())?, address(peer)?))
            };
            return Ok(Self::Udp {
                local: address(local)?,
                peer,
                routes: peers.map(route).collect::<Result<_, _>>()?,
            });
        }
        match (text, text.strip_prefix("tun://")) {
            ("sink", _) => Ok(Self::Sink),
            ("reflect", _) => Ok(Self::Reflect),
            (_, Some(name)) if !name.is_empty() => Ok(Self::Tun(name.to_owned())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for N6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sink => f.write_str("sink"),
            Self::Reflect => f.write_str("reflect"),
            Self::Udp { local, peer, routes } => {
                write!(f, "udp://{local},{peer}")?;
                routes.iter().try_for_each(|(server, peer)| write!(f, ",{server}={peer}"))
            }
            Self::Tun(name) => write!(f, "tun://{name}"),
        }
    }
}

/// Configuration of a UPF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpfConfig {
    /// N4 address, for SMFs.
    pub n4: SocketAddr,
    /// N3 address, for base stations.
    pub n3: SocketAddr,
    /// Connection to the data network.
    pub n6: N6,
    /// Distribution of work among threads.
    pub design: Design,
    /// Settings of the control plane.
    pub settings: UpfSettings,
    /// Settings of the mock in front of the control plane.
    pub mock: MockSettings,
    /// Time from a crash (`mock.crash_after`) to the restart.
    pub restart_after: Option<Duration>,
    /// CPUs of the control or master thread, then of the workers. If the list is empty, the kernel chooses the CPUs.
    pub pin: Vec<usize>,
    /// UDP port of base stations.
    pub gtpu_port: u16,
    /// Whether threads spin instead of waiting when idle.
    pub busy_poll: bool,
    /// Path of the memif socket to which base stations connect, instead of the UDP socket of N3. Not available with [`Design::Bare`].
    pub n3_memif: Option<PathBuf>,
    /// Devices for the data plane of [`Design::DpOffload`] in the kernel, which handles simple sessions.
    pub xdp: Option<XdpDevices>,
}

/// Returns the reason why an address cannot be bound.
fn unbound(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address (`ip address` lists its addresses)".to_owned()
        }
        io::ErrorKind::AddrInUse => "another program uses this address and port".to_owned(),
        _ => error.to_string(),
    }
}

/// Reason why a UPF does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpfError {
    /// An address cannot be bound.
    #[error("{what} cannot listen on {address}: {}", unbound(.source))]
    Bind {
        /// Name of the interface.
        what: &'static str,
        /// Address that cannot be bound.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The TUN device cannot be opened.
    #[error(
        "the TUN device \"{name}\" cannot be opened: {source}; a TUN device needs CAP_NET_ADMIN, --n6 udp://… does not"
    )]
    Tun {
        /// Name of the TUN device.
        name: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The number of workers is out of range.
    #[error("{0} workers; 1 to {MAX_WORKERS} are allowed")]
    Workers(usize),
    /// The data plane in the kernel is not available.
    #[error("{0}; XDP needs CAP_BPF and CAP_NET_ADMIN, without --xdp the data plane is a thread")]
    Xdp(ranlab_net::XdpError),
    /// The kernel rejects a map of the data plane.
    #[error(
        "the kernel refuses a map for the data plane: {0}; XDP needs CAP_BPF, without --xdp the data plane is a thread"
    )]
    XdpMap(io::Error),
    /// The data plane in the kernel supports IPv4 only.
    #[error("the data plane in the kernel supports only IPv4, but the N3 address is {0}")]
    XdpAddress(SocketAddr),
    /// The shared-memory rings of N3 cannot be created.
    #[error("the rings of N3 cannot be created: {0}")]
    Memif(#[from] ranlab_memif::PortError),
    /// A socket or a thread failed while the UPF ran.
    #[error("the user plane function stopped: {0}")]
    Io(#[from] io::Error),
}

/// Counters of a UPF.
#[derive(Debug, Clone, Default)]
pub struct UpfReport {
    /// Request counters.
    pub requests: UpfCounters,
    /// Packet counters of all workers.
    pub packets: PlaneCounters,
    /// Sessions at the end.
    pub sessions: usize,
    /// Datagrams dropped by the mock, on purpose or because its queue was full.
    pub mock_lost: u64,
    /// Batches dropped because a worker's queue was full.
    pub handoff_dropped: u64,
    /// Datagrams that the kernel did not accept.
    pub unsent: u64,
    /// Packets on N6 from unknown addresses.
    pub n6_strangers: u64,
    /// CPU time of control thread and workers.
    pub cpu: Duration,
    /// Counters of the data plane in the kernel, if XDP is used.
    pub xdp: Option<XdpCounters>,
}

impl UpfReport {
    /// Returns the dropped packets by reason.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> {
        DropReason::ALL.into_iter().map(|reason| (reason.name(), self.packets.dropped(reason)))
    }
}

/// A running UPF. [`stop`](Self::stop) or drop it to end it.
#[derive(Debug)]
pub struct UpfServer {
    n4: SocketAddr,
    n3: SocketAddr,
    n6: Option<SocketAddr>,
    stop: Arc<AtomicBool>,
    sessions: Arc<AtomicUsize>,
    thread: Option<JoinHandle<Result<UpfReport, UpfError>>>,
}

impl UpfServer {
    /// Binds the sockets and starts the threads.
    pub fn start(mut config: UpfConfig) -> Result<Self, UpfError> {
        // Message shapes can only be recognised if a single worker has all sessions. In the other designs, workers receive complete
        // sessions.
        config.settings.recognise &= config.design == Design::CpOffload && config.mock.fault.is_none();
        if let Design::Software { workers } = config.design
            && !(1..=MAX_WORKERS).contains(&workers)
        {
            return Err(UpfError::Workers(workers));
        }
        let options = DatagramOptions { merge: true, stamp: true, ..Default::default() };
        let n4_socket = bind("N4", config.n4, options)?;
        let n3_socket = Arc::new(bind("N3", config.n3, DatagramOptions::default())?);
        let n6_port = N6Port::open(&config.n6)?;
        let address = |what, socket: &UdpSocket| {
            socket.local_addr().map_err(|source| UpfError::Bind { what, address: config.n4, source })
        };
        let n4 = address("N4", &n4_socket)?;
        let n3 = address("N3", &n3_socket)?;
        let n6 = n6_port.local_addr();
        let stop = Arc::new(AtomicBool::new(false));
        let sessions = Arc::new(AtomicUsize::new(0));
        let packets = PacketWorker::new(Arc::clone(&n3_socket), n6_port, config.gtpu_port)
            .with_fault(config.mock.fault);
        let ring = config.n3_memif.as_deref().map(|path| RingPort::new(path, Role::Master)).transpose()?;
        // Packets in rings do not wake a thread, so the threads poll.
        config.busy_poll |= ring.is_some();
        let packets = packets.with_ring(ring, n3);
        let planes = PacketWorkers::start(&config, packets, &stop)?;
        let control = Control::new(config, n4_socket, planes, Arc::clone(&sessions));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("upf-control".to_owned());
        let thread = thread.spawn(move || control.run(&stopped))?;
        Ok(Self { n4, n3, n6, stop, sessions, thread: Some(thread) })
    }

    /// Returns the N4 address of the UPF.
    pub fn n4(&self) -> SocketAddr {
        self.n4
    }

    /// Returns the N3 address of the UPF.
    pub fn n3(&self) -> SocketAddr {
        self.n3
    }

    /// Returns the N6 address of the UPF, if N6 is a socket.
    pub fn n6(&self) -> Option<SocketAddr> {
        self.n6
    }

    /// Returns the current number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.load(Relaxed)
    }

    /// Checks that the UPF is running.
    ///
    /// # Errors
    /// The reason why the UPF's thread ended unexpectedly.
    pub fn check(&mut self) -> Result<(), UpfError> {
        match &self.thread {
            Some(thread) if !thread.is_finished() => Ok(()),
            _ => self
                .join()
                .and_then(|_| Err(UpfError::Io(io::Error::other("the UPF's thread ended unexpectedly")))),
        }
    }

    /// Stops the UPF and returns its counters.
    pub fn stop(mut self) -> Result<UpfReport, UpfError> {
        self.stop.store(true, Relaxed);
        self.join()
    }

    fn join(&mut self) -> Result<UpfReport, UpfError> {
        let thread = self.thread.take().ok_or_else(|| io::Error::other("the UPF has already ended"))?;
        thread.join().map_err(|_| io::Error::other("the UPF's thread panicked"))?
    }
}

impl Drop for UpfServer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // Only `stop` returns the report.
            let _ = thread.join();
        }
    }
}

fn bind(what: &'static str, address: SocketAddr, options: DatagramOptions) -> Result<UdpSocket, UpfError> {
    bind_datagrams(address, options).map_err(|source| UpfError::Bind { what, address, source })
}

pub(crate) fn pin(pins: &[usize], index: usize) {
    if let Some(cpu) = pins.get(index)
        && let Err(error) = ranlab_net::pin_thread(*cpu)
    {
        tracing::warn!(cpu, %error, "cannot pin a thread to a CPU");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n6_text_forms_round_trip() {
        for text in ["sink", "reflect", "tun://upf0", "udp://127.0.0.8:1,127.0.0.9:2"] {
            assert_eq!(text.parse::<N6>().unwrap().to_string(), text);
        }
        for text in ["", "udp://127.0.0.8:1", "tun://", "veth"] {
            assert!(text.parse::<N6>().unwrap_err().to_string().contains("reflect"), "{text}");
        }
        for text in ["n3,n6", "n3,n6,native"] {
            assert_eq!(text.parse::<XdpDevices>().unwrap().to_string(), text);
        }
        for text in ["", "n3", "n3,", ",n6", "n3,n6,fast", "n3,n6,native,native"] {
            let error = text.parse::<XdpDevices>().unwrap_err().to_string();
            assert!(error.contains("N3,N6,native"), "{text}: {error}");
        }
    }
}
