//! How a data thread's datagrams leave and come in: by sockets, or as frames past the kernel's stack.
use super::addresses::Endpoint;
use super::frames::{self, AfXdpSummary, Frames};
use super::n3_io::N3Io;
use super::sizes::{MAX_DATAGRAM, TURN, WAITED};
use super::{LoadConfig, LoadError, nth};
use ranlab_net::{DatagramOptions, ReceiveBatch, SendBatch, bind_datagrams, monotonic_ns, wait_readable};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Where a datagram came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) address: IpAddr,
    /// The base station that it came to, and the sender's socket. Frames are answered by the kernel's sockets.
    socket: Option<(usize, SocketAddr)>,
}

/// What carries the datagrams of one data thread.
#[derive(Debug)]
pub(super) enum Carrier {
    /// `sendmmsg` and `recvmmsg`.
    Sockets(Box<Sockets>),
    /// AF_XDP.
    Frames(Box<Frames>),
}

impl Carrier {
    /// What all of them brought by AF_XDP, where it was asked for.
    pub(super) fn af_xdp(all: &[Self]) -> Option<AfXdpSummary> {
        let mut sum = None;
        for carrier in all {
            if let Self::Frames(frames) = carrier {
                frames.add_to(sum.get_or_insert_default());
            }
        }
        sum
    }

    /// Base stations that it sends for.
    pub(super) fn gnbs(&self) -> usize {
        match self {
            Self::Sockets(sockets) => sockets.all.len(),
            Self::Frames(frames) => frames.gnbs(),
        }
    }

    /// Whether a base station's datagrams must be sent before another one is added.
    pub(super) fn is_full(&mut self, gnb: usize) -> bool {
        match self {
            Self::Sockets(sockets) => sockets.batches.get(gnb).is_some_and(SendBatch::is_full),
            Self::Frames(frames) => frames.is_full(),
        }
    }

    /// Adds a datagram from a base station to the UPF; whether it was.
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
        }
    }

    /// Sends what a base station has; datagrams that will never leave.
    pub(super) fn send(&mut self, gnb: usize) -> io::Result<u64> {
        match self {
            Self::Sockets(sockets) => sockets.send(gnb),
            Self::Frames(frames) => frames.send(),
        }
    }

    /// Sends what every base station has; datagrams that will never leave.
    pub(super) fn send_all(&mut self) -> io::Result<u64> {
        match self {
            Self::Sockets(sockets) => (0..sockets.all.len()).map(|gnb| sockets.send(gnb)).sum(),
            Self::Frames(frames) => frames.send(),
        }
    }

    /// Shows `each` what has come, with the time of the reading and the sender; whether something had.
    pub(super) fn receive(&mut self, mut each: impl FnMut(u64, Sender, &[u8])) -> io::Result<bool> {
        match self {
            Self::Sockets(sockets) => sockets.receive(each),
            Self::Frames(frames) => frames.receive(|now_ns, address, datagram| {
                each(now_ns, Sender { address, socket: None }, datagram)
            }),
        }
    }

    /// Answers a sender; whether the answer left.
    pub(super) fn answer(&self, to: Sender, datagram: &[u8]) -> bool {
        let (Self::Sockets(sockets), Some((gnb, address))) = (self, to.socket) else { return false };
        sockets.all.get(gnb).is_some_and(|socket| socket.send_to(datagram, address).is_ok())
    }

    /// Waits for something to come.
    pub(super) fn wait(&self, most: Duration) -> io::Result<()> {
        match self {
            Self::Sockets(sockets) => {
                let descriptors: Vec<_> = sockets.own().take(WAITED).map(AsFd::as_fd).collect();
                wait_readable(&descriptors, most).map(drop)
            }
            Self::Frames(frames) => frames.wait(most),
        }
    }

    /// At the end of a step: what was left over, and will never leave.
    pub(super) fn settle(&mut self) -> io::Result<u64> {
        match self {
            Self::Sockets(_) => Ok(0),
            Self::Frames(frames) => frames.settle(),
        }
    }
}

/// The carriers of the data threads; without sockets if no packets are sent.
pub(super) fn open(config: &LoadConfig, packets: bool) -> Result<Vec<Carrier>, LoadError> {
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
            .map(|frames| Carrier::Frames(Box::new(frames)))
            .collect(),
        _ => {
            let sockets = |index| Box::new(Sockets::new(&sockets, config.n3, index, config.threads));
            (0..config.threads).map(|index| Carrier::Sockets(sockets(index))).collect()
        }
    })
}

/// A socket for each base station. Every thread may send from each, and receives from its own: `index`,
/// `index + threads` …
#[derive(Debug)]
pub(super) struct Sockets {
    all: Vec<Arc<UdpSocket>>,
    /// The UPF, for the text of errors.
    n3: SocketAddr,
    index: usize,
    threads: usize,
    received: ReceiveBatch,
    /// By base station: a packet leaves from the address of its own.
    batches: Vec<SendBatch>,
}

fn named(socket: &UdpSocket, peer: SocketAddr, error: io::Error) -> io::Error {
    let Ok(own) = socket.local_addr() else { return error };
    endpoint(own, peer).error(error)
}

/// The socket of a base station.
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
