//! How a data thread's datagrams leave and come in: by sockets, or as frames past the kernel's stack.
use super::frames::{AfXdpSummary, Frames};
use super::sizes::{MAX_DATAGRAM, TURN, WAITED};
use ranlab_net::{ReceiveBatch, SendBatch, monotonic_ns, wait_readable};
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

/// A socket for each base station. Every thread may send from each, and receives from its own: `index`,
/// `index + threads` …
#[derive(Debug)]
pub(super) struct Sockets {
    all: Vec<Arc<UdpSocket>>,
    index: usize,
    threads: usize,
    received: ReceiveBatch,
    /// By base station: a packet leaves from the address of its own.
    batches: Vec<SendBatch>,
}

impl Sockets {
    pub(super) fn new(all: &[Arc<UdpSocket>], index: usize, threads: usize) -> Self {
        Self {
            all: all.to_vec(),
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
        let sent = batch.send(socket)?;
        batch.clear();
        Ok((waiting - sent.datagrams) as u64)
    }

    fn receive(&mut self, mut each: impl FnMut(u64, Sender, &[u8])) -> io::Result<bool> {
        let mut any = false;
        for (gnb, socket) in self.all.iter().enumerate().skip(self.index).step_by(self.threads) {
            if self.received.receive(socket)? > 0 {
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
