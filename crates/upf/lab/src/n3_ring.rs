//! N3 over shared-memory rings (memif): GTP-U datagrams in Ethernet frames between two programs, without the kernel.
//!
//! Both ends poll, and send to any address without neighbour resolution. A base station is the slave of its UPF's port.
use ranlab_memif::{Port, PortError, Put, Role, Settings, TakeOutcome};
use ranlab_packet::{ETHERNET_BYTES, Mac, UdpFrame, udp_headers_bytes};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// MAC addresses of master and slave, locally administered.
const MACS: [Mac; 2] = [Mac([2, 0, 0x5e, 0x6e, 3, 1]), Mac([2, 0, 0x5e, 0x6e, 3, 2])];
/// Maximum length of a frame, in bytes. This is the length of the buffers.
pub(crate) const FRAME_MAX: usize = 2_048;
/// Interval between reads of the control channel, in nanoseconds.
const SERVICE_NS: u64 = 1_000_000;

/// A datagram for the ring: destination, length and type of service.
pub(crate) type Outgoing = (SocketAddr, usize, u8);

/// Writes datagrams as frames.
#[derive(Debug)]
pub(crate) struct Framer {
    own: Mac,
    peer: Mac,
    out: Box<[u8]>,
}

impl Framer {
    fn new(role: Role) -> Self {
        let [master, slave] = MACS;
        let (own, peer) = if role == Role::Master { (master, slave) } else { (slave, master) };
        Self { own, peer, out: vec![0; FRAME_MAX].into() }
    }

    /// Returns the frame of a datagram that `fill` writes. Returns `None` if `fill` wrote nothing, and `Some(None)` if the datagram is too
    /// long.
    fn write(
        &mut self,
        from: SocketAddr,
        fill: impl FnOnce(&mut [u8]) -> Option<Outgoing>,
    ) -> Option<Option<&[u8]>> {
        let head = ETHERNET_BYTES + udp_headers_bytes(from.ip());
        let (to, len, class) = fill(self.out.get_mut(head..)?)?;
        let Some(frame) = self.out.get_mut(..head + len) else { return Some(None) };
        let written = UdpFrame::new(self.own, self.peer, from, to).write_head(class, frame);
        Some(written.map(|()| &*frame))
    }
}

/// One end of N3 over rings.
#[derive(Debug)]
pub(crate) struct RingPort {
    port: Port,
    framer: Framer,
    into: Box<[u8]>,
    serviced_ns: u64,
    /// Frames without a valid UDP datagram.
    pub(crate) unreadable: u64,
}

impl RingPort {
    /// Creates the UPF's end (master) or the base stations' end (slave) at a path.
    pub(crate) fn new(path: &Path, role: Role) -> Result<Self, PortError> {
        Ok(Self {
            port: Port::new(path, Settings { log2_ring: 12, ..Settings::new(role, 0) })?,
            framer: Framer::new(role),
            into: vec![0; FRAME_MAX].into(),
            serviced_ns: 0,
            unreadable: 0,
        })
    }

    /// Waits until the other end has connected.
    pub(crate) fn bring_up(&mut self, most: Duration) -> Result<(), PortError> {
        self.port.bring_up(most)
    }

    /// Handles the control channel, at most once per millisecond.
    ///
    /// # Errors
    /// The connection has ended. A master waits for the next peer.
    pub(crate) fn service(&mut self, now_ns: u64) -> Result<(), PortError> {
        if now_ns.saturating_sub(self.serviced_ns) < SERVICE_NS {
            return Ok(());
        }
        self.serviced_ns = now_ns;
        self.port.service().map(drop)
    }

    /// Returns whether the ring has space for a frame. Without a peer, the ring has no space.
    pub(crate) fn has_room(&mut self) -> bool {
        self.port.is_up() && self.port.room().unwrap_or(false)
    }

    /// Adds a datagram from `from`, which `fill` writes. The peer sees the datagram after [`publish`](Self::publish). Returns `None` if
    /// `fill` wrote nothing. Returns `Some(false)` if the datagram was lost, because the ring was full or the frame was too long.
    pub(crate) fn push(
        &mut self,
        from: SocketAddr,
        fill: impl FnOnce(&mut [u8]) -> Option<Outgoing>,
    ) -> Option<bool> {
        let put = self.framer.write(from, fill)?.map(|frame| self.port.put(frame));
        Some(matches!(put, Some(Ok(Put::Queued))))
    }

    /// Makes added datagrams visible to the peer.
    pub(crate) fn publish(&self) {
        self.port.publish();
    }

    /// Takes the next frame out of the ring, and returns its length. If the ring is empty, returns the buffers of earlier frames to the
    /// peer. Without a peer, the ring is empty, and [`service`](Self::service) reports the reason.
    pub(crate) fn take(&mut self, into: &mut [u8]) -> Option<usize> {
        loop {
            match self.port.take(into) {
                Ok(TakeOutcome::Packet(octets)) => return Some(octets),
                Ok(TakeOutcome::Lost(_)) => self.unreadable += 1,
                Ok(TakeOutcome::Nothing) | Err(_) => break,
            }
        }
        self.port.publish();
        None
    }

    /// Calls `each` for every received datagram, at most `most`. Returns the number of frames.
    pub(crate) fn receive(&mut self, most: usize, mut each: impl FnMut(SocketAddr, &[u8])) -> usize {
        let mut frame = std::mem::take(&mut self.into);
        let mut came = 0;
        while came < most
            && let Some(octets) = self.take(&mut frame)
        {
            came += 1;
            match frame.get(..octets).and_then(UdpFrame::read) {
                Some((from, datagram)) => each(from, datagram),
                None => self.unreadable += 1,
            }
        }
        self.into = frame;
        self.port.publish();
        came
    }
}

/// The rings of a UPF thread.
#[derive(Debug)]
pub(crate) enum UpfRings {
    /// Port that only this thread uses.
    Own(Box<RingPort>),
    /// Port of several threads. One thread receives, the others send.
    Shared {
        /// Port that is locked for each frame.
        port: Arc<Mutex<RingPort>>,
        /// Writer of frames. A frame is written before the port is locked.
        framer: Framer,
    },
}

impl UpfRings {
    /// Shares the rings with other threads.
    pub(crate) fn shared(self) -> Self {
        match self {
            Self::Own(port) => {
                Self::Shared { port: Arc::new(Mutex::new(*port)), framer: Framer::new(Role::Master) }
            }
            shared @ Self::Shared { .. } => shared,
        }
    }

    /// Returns the same rings for another thread, if they are shared.
    pub(crate) fn sibling(&self) -> Option<Self> {
        match self {
            Self::Own(_) => None,
            Self::Shared { port, .. } => {
                Some(Self::Shared { port: Arc::clone(port), framer: Framer::new(Role::Master) })
            }
        }
    }

    /// Calls `use_it` with the port.
    pub(crate) fn with<R>(&mut self, use_it: impl FnOnce(&mut RingPort) -> R) -> R {
        match self {
            Self::Own(port) => use_it(port),
            Self::Shared { port, .. } => use_it(&mut lock(port)),
        }
    }

    /// Adds a datagram; see [`RingPort::push`].
    pub(crate) fn push(
        &mut self,
        from: SocketAddr,
        fill: impl FnOnce(&mut [u8]) -> Option<Outgoing>,
    ) -> Option<bool> {
        match self {
            Self::Own(port) => port.push(from, fill),
            Self::Shared { port, framer } => {
                let put = framer.write(from, fill)?.map(|frame| lock(port).port.put(frame));
                Some(matches!(put, Some(Ok(Put::Queued))))
            }
        }
    }
}

fn lock(port: &Mutex<RingPort>) -> MutexGuard<'_, RingPort> {
    // After a panic of another thread, the next call of the port reports the error.
    port.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_pass_in_both_directions() {
        let path = std::env::temp_dir().join(format!("ranlab-n3-ring-{}", std::process::id()));
        let mut upf = RingPort::new(&path, Role::Master).unwrap();
        let mut gnb = RingPort::new(&path, Role::Slave).unwrap();
        assert!(!gnb.has_room());
        for step in 1..10 {
            upf.service(step * SERVICE_NS).unwrap();
            gnb.service(step * SERVICE_NS).unwrap();
        }
        let ends = ["10.3.0.11:2152", "10.3.0.2:2152"].map(|text| text.parse::<SocketAddr>().unwrap());
        let hello = |to: SocketAddr, room: &mut [u8]| {
            room[..5].copy_from_slice(b"hello");
            Some((to, 5, 0xb8))
        };
        let mut received = Vec::new();
        assert_eq!(gnb.push(ends[0], |room| hello(ends[1], room)), Some(true));
        assert_eq!(gnb.push(ends[0], |_| None), None);
        gnb.publish();
        assert_eq!(upf.receive(8, |from, datagram| received.push((from, datagram.to_vec()))), 1);
        assert_eq!(upf.push(ends[1], |room| hello(ends[0], room)), Some(true));
        upf.publish();
        assert_eq!(gnb.receive(8, |from, datagram| received.push((from, datagram.to_vec()))), 1);
        assert_eq!(received, [(ends[0], b"hello".to_vec()), (ends[1], b"hello".to_vec())]);
        assert_eq!(gnb.push(ends[0], |_| Some((ends[1], 3_000, 0))), Some(false));
    }
}
