//! A user plane function on sockets: N4, N3 and N6 around `upf::n4` and `upf::forwarding`, in three designs.
//!
//! | design | who does what |
//! |---|---|
//! | [`Design::CpOffload`] | one polling worker runs PFCP and packets to completion |
//! | [`Design::Software`] | a master receives everything and hands it to workers, session by session |
//! | [`Design::DpOffload`] | packets have the kernel (XDP) or a thread of their own; the control thread installs each rule there, waits until it is in, and only then answers |
//! | [`Design::Bare`] | no user plane but the floor of one: packets are passed on unread |
//!
//! In front of all stands a [`Mock`](ranlab_upf::n4::Mock), which by default does nothing: service times, losses
//! and crashes are settings.
mod accounts;
mod control;
mod memory;
mod owners;
mod packets;
mod workers;
mod xdp;

use crate::text::{TextError, socket_address};
use control::Control;
pub(crate) use control::ntp_of_unix;
pub use control::ntp_seconds;
pub use memory::{InMemory, in_memory};
use packets::{N6Port, Packets};
use ranlab_net::{DatagramOptions, bind_datagrams};
use ranlab_upf::forwarding::{Drop as DropReason, PlaneCounters};
use ranlab_upf::n4::{MockSettings, UpfCounters, UpfSettings};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;
use workers::Planes;
pub use xdp::{XdpCounters, XdpDevices};

/// Workers of the software design at most.
pub const MAX_WORKERS: usize = 64;
/// The longest datagram on any side.
pub(crate) const MAX_DATAGRAM: usize = 9_216;
/// Datagrams that one system call sends or receives.
pub(crate) const BATCH: usize = 64;

/// How the work is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// One worker, everything to completion.
    CpOffload,
    /// A master and so many workers.
    Software {
        /// 1 to [`MAX_WORKERS`].
        workers: usize,
    },
    /// No user plane: sessions are accepted, packets are passed on unread. What sockets allow at best.
    Bare,
    /// Control thread and data thread.
    DpOffload {
        /// Further time that each change of rules takes, as the driver of a smart NIC's tables would need.
        install: Duration,
    },
}

/// The side of the data network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum N6 {
    /// Packets end here, counted.
    Sink,
    /// Packets come back with addresses and ports exchanged: a data network within the process.
    Reflect,
    /// IP packets as payload of UDP: needs no privilege.
    Udp {
        /// Where they come in.
        local: SocketAddr,
        /// Where they go to; packets from elsewhere are dropped.
        peer: SocketAddr,
        /// Servers behind other data networks, and where those are.
        routes: Vec<(IpAddr, SocketAddr)>,
    },
    /// A TUN device: the kernel routes.
    Tun(String),
}

impl FromStr for N6 {
    type Err = TextError;

    /// `sink`, `reflect`, `udp://LOCAL,PEER[,SERVER=PEER …]`, `tun://NAME`.
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

/// What a user plane function is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpfConfig {
    /// Where SMFs speak to.
    pub n4: SocketAddr,
    /// Where base stations send to.
    pub n3: SocketAddr,
    /// The data network.
    pub n6: N6,
    /// How the work is shared out.
    pub design: Design,
    /// Its control half.
    pub settings: UpfSettings,
    /// What is put in front.
    pub mock: MockSettings,
    /// After a crash (`mock.crash_after`), it starts anew after so long.
    pub restart_after: Option<Duration>,
    /// CPUs for control or master, then for the workers; empty: the kernel decides.
    pub pin: Vec<usize>,
    /// UDP port of base stations.
    pub gtpu_port: u16,
    /// Spin instead of waiting when there is nothing to do.
    pub busy_poll: bool,
    /// The data plane of [`Design::DpOffload`] in the kernel, for sessions that are plain enough.
    pub xdp: Option<XdpDevices>,
}

/// Why a user plane function does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpfError {
    /// An address cannot be had.
    #[error("{what} cannot listen on {address}: {source}")]
    Bind {
        /// Which side.
        what: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The TUN device cannot be had.
    #[error(
        "the TUN device \"{name}\" cannot be opened: {source}; it needs CAP_NET_ADMIN, --n6 udp://… does not"
    )]
    Tun {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Too few or too many workers.
    #[error("{0} workers; 1 to {MAX_WORKERS} are allowed")]
    Workers(usize),
    /// The kernel's data plane cannot be had.
    #[error("{0}; it needs CAP_BPF and CAP_NET_ADMIN, without --xdp the data plane is a thread")]
    Xdp(ranlab_net::XdpError),
    /// The kernel's tables cannot be had.
    #[error(
        "the kernel refuses a map for the data plane: {0}; it needs CAP_BPF, without --xdp the data plane is a thread"
    )]
    XdpMap(io::Error),
    /// The kernel's data plane is for IPv4.
    #[error("the data plane in the kernel forwards over IPv4; N3 is {0}")]
    XdpAddress(SocketAddr),
    /// A socket or thread failed while it ran.
    #[error("the user plane function stopped: {0}")]
    Io(#[from] io::Error),
}

/// What a user plane function has done.
#[derive(Debug, Clone, Default)]
pub struct UpfReport {
    /// Requests.
    pub requests: UpfCounters,
    /// Packets of all workers.
    pub packets: PlaneCounters,
    /// Sessions at the end.
    pub sessions: usize,
    /// Datagrams that the mock lost on purpose, or because too many waited.
    pub mock_lost: u64,
    /// Batches that a worker had no room for.
    pub handoff_dropped: u64,
    /// Datagrams that the kernel did not take.
    pub unsent: u64,
    /// Packets on N6 that came from a stranger.
    pub n6_strangers: u64,
    /// CPU time of control and workers.
    pub cpu: Duration,
    /// What the kernel's data plane has done, if there was one.
    pub xdp: Option<XdpCounters>,
}

impl UpfReport {
    /// Packets dropped, by reason.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> {
        DropReason::ALL.into_iter().map(|reason| (reason.name(), self.packets.dropped(reason)))
    }
}

/// A running user plane function; [`stop`](Self::stop) it, or drop it.
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
        // Shapes are for the one worker that has everything; others are handed whole sessions.
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
        let (n4, n3) = (address("N4", &n4_socket)?, address("N3", &n3_socket)?);
        let n6 = n6_port.local_addr();
        let stop = Arc::new(AtomicBool::new(false));
        let sessions = Arc::new(AtomicUsize::new(0));
        let packets =
            Packets::new(Arc::clone(&n3_socket), n6_port, config.gtpu_port).with_fault(config.mock.fault);
        let planes = Planes::start(&config, packets, &stop)?;
        let control = Control::new(config, n4_socket, planes, Arc::clone(&sessions));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("upf-control".to_owned());
        let thread = thread.spawn(move || control.run(&stopped))?;
        Ok(Self { n4, n3, n6, stop, sessions, thread: Some(thread) })
    }

    /// Where it listens for SMFs.
    pub fn n4(&self) -> SocketAddr {
        self.n4
    }

    /// Where it listens for base stations.
    pub fn n3(&self) -> SocketAddr {
        self.n3
    }

    /// Where it listens for the data network, if that is a socket.
    pub fn n6(&self) -> Option<SocketAddr> {
        self.n6
    }

    /// Sessions that exist now.
    pub fn sessions(&self) -> usize {
        self.sessions.load(Relaxed)
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// Why its thread ended, which nobody asked for.
    pub fn check(&mut self) -> Result<(), UpfError> {
        match &self.thread {
            Some(thread) if !thread.is_finished() => Ok(()),
            _ => self.join().and_then(|_| Err(UpfError::Io(io::Error::other("it ended by itself")))),
        }
    }

    /// Stops it and returns its report.
    pub fn stop(mut self) -> Result<UpfReport, UpfError> {
        self.stop.store(true, Relaxed);
        self.join()
    }

    fn join(&mut self) -> Result<UpfReport, UpfError> {
        let thread = self.thread.take().ok_or_else(|| io::Error::other("it has ended before"))?;
        thread.join().map_err(|_| io::Error::other("its thread panicked"))?
    }
}

impl Drop for UpfServer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whoever wants its report calls `stop`.
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
        tracing::warn!(cpu, %error, "a thread stays unpinned");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_networks_side_reads_as_it_is_written() {
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
