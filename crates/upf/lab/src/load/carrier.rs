//! I/O of a data thread: over sockets, as AF_XDP frames, or over shared-memory rings.
use super::addresses::Endpoint;
use super::frames::{self, AfXdpSummary, Frames};
use super::n3_io::N3Io;
use super::sizes::{MAX_DATAGRAM, QOS_OCTETS, TURN, WAITED, least_of};
use super::{LoadConfig, LoadError, nth};
use crate::n3_ring::{FRAME_MAX, RingPort};
use ranlab_memif::Role;
use ranlab_net::{DatagramOptions, ReceiveBatch, SendBatch, bind_datagrams, monotonic_ns, wait_readable};
use ranlab_packet::gtpu::GpduTemplate;
use ranlab_packet::{ETHERNET_BYTES, udp_headers_bytes};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of the connection to a UPF's rings.
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum sleep of a thread whose rings are empty. No descriptor can wake this thread.
const RING_REST: Duration = Duration::from_micros(20);

/// The sender of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) address: IpAddr,
    /// Base station whose socket received the datagram, and the sender's address. `None` for frames and rings, over which responses cannot
    /// be sent.
    socket: Option<(usize, SocketAddr)>,
}

impl Sender {
    /// Returns the base station that received the datagram, if it is known.
    pub(super) fn gnb(&self) -> Option<usize> {
        self.socket.map(|(gnb, _)| gnb)
    }
}

/// I/O of one data thread.
#[derive(Debug)]
pub(super) enum PacketIo {
    /// I/O with `sendmmsg` and `recvmmsg`.
    Sockets(Box<Sockets>),
    /// I/O with AF_XDP.
    Frames(Box<Frames>),
    /// I/O with shared-memory rings.
    Rings(Box<Rings>),
}

impl PacketIo {
    /// Returns the sum of the AF_XDP statistics, if AF_XDP is used.
    pub(super) fn af_xdp(all: &[Self]) -> Option<AfXdpSummary> {
        let mut sum = None;
        for carrier in all {
            if let Self::Frames(frames) = carrier {
                frames.add_to(sum.get_or_insert_default());
            }
        }
        sum
    }

    /// Returns the number of base stations of this thread.
    pub(super) fn gnbs(&self) -> usize {
        match self {
            Self::Sockets(sockets) => sockets.all.len(),
            Self::Frames(frames) => frames.gnbs(),
            Self::Rings(rings) => rings.gnbs.len(),
        }
    }

    /// Returns whether a base station's batch has to be sent before another datagram is added.
    pub(super) fn is_full(&mut self, gnb: usize) -> bool {
        match self {
            Self::Sockets(sockets) => sockets.batches.get(gnb).is_some_and(SendBatch::is_full),
            Self::Frames(frames) => frames.is_full(),
            Self::Rings(rings) => !rings.port.has_room(),
        }
    }

    /// Adds a datagram from a base station to the UPF. Returns whether there was space.
    pub(super) fn push(
        &mut self,
        gnb: usize,
        n3: SocketAddr,
        fill: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> bool {
        match self {
            Self::Sockets(sockets) => {
                sockets.batches.get_mut(gnb).is_some_and(|batch| batch.push(Some(n3), fill))
            }
            Self::Frames(frames) => frames.push(gnb, fill),
            Self::Rings(rings) => rings
                .gnbs
                .get(gnb)
                .is_some_and(|from| rings.port.push(*from, |room| Some((n3, fill(room)?, 0))) == Some(true)),
        }
    }

    /// Sends a base station's batch. Returns the number of dropped datagrams.
    pub(super) fn send(&mut self, gnb: usize) -> io::Result<u64> {
        match self {
            Self::Sockets(sockets) => sockets.send(gnb),
            Self::Frames(frames) => frames.send(),
            Self::Rings(rings) => rings.send(),
        }
    }

    /// Sends the batches of all base stations. Returns the number of dropped datagrams.
    pub(super) fn send_all(&mut self) -> io::Result<u64> {
        match self {
            Self::Sockets(sockets) => (0..sockets.all.len()).map(|gnb| sockets.send(gnb)).sum(),
            Self::Frames(frames) => frames.send(),
            Self::Rings(rings) => rings.send(),
        }
    }

    /// Calls `each` for every received datagram, with the time of reading and the sender. Returns whether a datagram was received.
    pub(super) fn receive(&mut self, mut each: impl FnMut(u64, Sender, &[u8])) -> io::Result<bool> {
        match self {
            Self::Sockets(sockets) => sockets.receive(each),
            Self::Frames(frames) => frames.receive(|now_ns, address, datagram| {
                each(now_ns, Sender { address, socket: None }, datagram)
            }),
            Self::Rings(rings) => {
                let now_ns = monotonic_ns();
                let came = rings.port.receive(TURN, |from, datagram| {
                    each(now_ns, Sender { address: from.ip(), socket: None }, datagram);
                });
                Ok(came > 0)
            }
        }
    }

    /// Sends a response to a sender. Returns whether it was sent.
    pub(super) fn answer(&self, to: Sender, datagram: &[u8]) -> bool {
        let (Self::Sockets(sockets), Some((gnb, address))) = (self, to.socket) else { return false };
        sockets.all.get(gnb).is_some_and(|socket| socket.send_to(datagram, address).is_ok())
    }

    /// Sends one datagram from a base station immediately. Returns whether it was sent. Only sockets support this.
    pub(super) fn send_now(&self, gnb: usize, to: SocketAddr, datagram: &[u8]) -> bool {
        let Self::Sockets(sockets) = self else { return false };
        sockets.all.get(gnb).is_some_and(|socket| socket.send_to(datagram, to).is_ok())
    }

    /// Returns whether the thread has sockets, which are needed to answer messages of the N3 path.
    pub(super) fn has_sockets(&self) -> bool {
        matches!(self, Self::Sockets(sockets) if !sockets.all.is_empty())
    }

    /// Waits for datagrams.
    pub(super) fn wait(&self, most: Duration) -> io::Result<()> {
        match self {
            Self::Sockets(sockets) => {
                let descriptors: Vec<_> = sockets.own().take(WAITED).map(AsFd::as_fd).collect();
                wait_readable(&descriptors, most).map(drop)
            }
            Self::Frames(frames) => frames.wait(most),
            Self::Rings(_) => {
                std::thread::sleep(most.min(RING_REST));
                Ok(())
            }
        }
    }

    /// Completes a step. Returns the number of datagrams that were never sent.
    pub(super) fn complete_step(&mut self) -> io::Result<u64> {
        match self {
            Self::Sockets(_) => Ok(0),
            Self::Frames(frames) => frames.complete_step(),
            Self::Rings(rings) => rings.send(),
        }
    }
}

/// The base stations' end of shared-memory rings.
#[derive(Debug)]
pub(super) struct Rings {
    port: RingPort,
    gnbs: Vec<SocketAddr>,
}

impl Rings {
    fn open(config: &LoadConfig, path: &Path) -> Result<Self, LoadError> {
        let unusable = |source| LoadError::Memif { path: path.to_owned(), source: Box::new(source) };
        if config.threads > 1 {
            return Err(LoadError::Bounds {
                what: "data threads with memif",
                given: config.threads,
                least: 1,
                most: 1,
            });
        }
        check_length(config)?;
        let mut port = RingPort::new(path, Role::Slave).map_err(unusable)?;
        port.bring_up(CONNECT).map_err(unusable)?;
        Ok(Self { port, gnbs: (0..config.gnbs).map(|n| nth(config.gnb, n)).collect() })
    }

    fn send(&mut self) -> io::Result<u64> {
        self.port.publish();
        self.port.service(monotonic_ns()).map_err(io::Error::other)?;
        Ok(0)
    }
}

/// Checks that a frame can contain the longest packet.
fn check_length(config: &LoadConfig) -> Result<(), LoadError> {
    let largest =
        [config.uplink, config.downlink].into_iter().flatten().map(|traffic| traffic.octets.most()).max();
    let given = least_of(largest.unwrap_or(QOS_OCTETS), config.ue.is_ipv6());
    let headers = ETHERNET_BYTES + udp_headers_bytes(config.n3.ip()) + GpduTemplate::MAX_LEN;
    let most = FRAME_MAX - headers;
    match given {
        _ if given <= most => Ok(()),
        _ => Err(LoadError::Bounds {
            what: "bytes of a user packet with memif (--bytes)",
            given,
            least: 1,
            most,
        }),
    }
}

/// Opens the I/O of the data threads. If the load sends no packets, the data threads get no sockets.
pub(super) fn open(config: &LoadConfig, packets: bool) -> Result<Vec<PacketIo>, LoadError> {
    if let (N3Io::Memif { path }, true) = (&config.n3_io, packets) {
        return Ok(vec![PacketIo::Rings(Box::new(Rings::open(config, path)?))]);
    }
    let gnb = |n| {
        let address = nth(config.gnb, n);
        let socket = bind_datagrams(address, DatagramOptions::default())
            .map_err(|source| LoadError::Bind { what: "base station", address, source })?;
        endpoint(address, config.n3).check()?;
        Ok(Arc::new(socket))
    };
    let sockets: Vec<_> =
        (0..if packets { config.gnbs } else { 0 }).map(gnb).collect::<Result<_, LoadError>>()?;
    Ok(match config.n3_io {
        N3Io::AfXdp { .. } if packets => frames::open(config, &sockets)
            .map_err(|why| LoadError::AfXdp { n3: config.n3, why: Box::new(why) })?
            .into_iter()
            .map(|frames| PacketIo::Frames(Box::new(frames)))
            .collect(),
        _ => {
            let sockets = |index| Box::new(Sockets::new(&sockets, config.n3, index, config.threads));
            (0..config.threads).map(|index| PacketIo::Sockets(sockets(index))).collect()
        }
    })
}

/// One socket per base station. Every thread may send from each socket, and receives from sockets `index`, `index +
/// threads` …
#[derive(Debug)]
pub(super) struct Sockets {
    all: Vec<Arc<UdpSocket>>,
    /// Address of the UPF, for error texts.
    n3: SocketAddr,
    index: usize,
    threads: usize,
    received: ReceiveBatch,
    /// One batch per base station, because each base station sends from its own address.
    batches: Vec<SendBatch>,
}

fn named(socket: &UdpSocket, peer: SocketAddr, error: io::Error) -> io::Error {
    let Ok(own) = socket.local_addr() else { return error };
    endpoint(own, peer).error(error)
}

/// Describes the socket of a base station.
pub(super) fn endpoint(own: SocketAddr, peer: SocketAddr) -> Endpoint {
    Endpoint { what: "base station", flag: "--gnb", own, peer, peer_flag: "--n3" }
}

impl Sockets {
    pub(super) fn new(all: &[Arc<UdpSocket>], n3: SocketAddr, index: usize, threads: usize) -> Self {
        Self {
            all: all.to_vec(),
            n3,
            index,
            threads,
            received: ReceiveBatch::new(TURN, MAX_DATAGRAM),
            batches: all.iter().map(|_| SendBatch::new(TURN, MAX_DATAGRAM)).collect(),
        }
    }

    fn own(&self) -> impl Iterator<Item = &Arc<UdpSocket>> {
        self.all.iter().skip(self.index).step_by(self.threads)
    }

    fn send(&mut self, gnb: usize) -> io::Result<u64> {
        let (Some(batch), Some(socket)) = (self.batches.get_mut(gnb), self.all.get(gnb)) else {
            return Ok(0);
        };
        let waiting = batch.len();
        if waiting == 0 {
            return Ok(0);
        }
        let sent = batch.send(socket).map_err(|error| named(socket, self.n3, error))?;
        batch.clear();
        Ok((waiting - sent.datagrams) as u64)
    }

    fn receive(&mut self, mut each: impl FnMut(u64, Sender, &[u8])) -> io::Result<bool> {
        let mut any = false;
        for (gnb, socket) in self.all.iter().enumerate().skip(self.index).step_by(self.threads) {
            let came = self.received.receive(socket);
            if came.map_err(|error| named(socket, self.n3, error))? > 0 {
                any = true;
                let now_ns = monotonic_ns();
                for (from, datagram) in self.received.datagrams() {
                    each(now_ns, Sender { address: from.ip(), socket: Some((gnb, from)) }, datagram);
                }
            }
        }
        Ok(any)
    }
}
