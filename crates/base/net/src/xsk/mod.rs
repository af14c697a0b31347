//! AF_XDP: frames between a queue of a network device and this process, bypassing the kernel's network stack.
//!
//! The process gives the kernel memory (UMEM) in frames of one size. Four rings assign the frames: FILL
//! (free, for the kernel to receive into), RX (received), TX (to be sent), COMPLETION (sent, free again).
//! Half of the frames are for receiving, half for sending. A program at the device redirects selected frames here
//! ([`XskSteering`]); the kernel handles the rest.
//!
//! By default, the kernel copies frames (copy mode), which works with any Ethernet device. Zero copy needs a driver that
//! supports it, and must be requested.
#![allow(unsafe_code)]

mod redirect;
mod ring;

pub use redirect::{XskSteering, XskTarget};

use ring::{Consumer, Layout, Mapping, Producer};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Allowed bytes of memory per frame: the kernel takes powers of two from 2,048 to a page.
pub const XSK_FRAME_BYTES: [u32; 2] = [2_048, 4_096];
/// Bytes that the kernel reserves before a received frame (`XDP_PACKET_HEADROOM`).
pub const XSK_HEADROOM: u32 = 256;
/// Minimum and maximum entries of a ring.
pub const XSK_RING: [u32; 2] = [64, 1 << 15];
/// Maximum number of consecutive system calls without progress. The remaining frames then wait for the next send.
const FRUITLESS_CALLS: u32 = 16;
/// Frames that one call of the copy mode may send, if the kernel allows a choice (Linux 6.17).
const CALL_BUDGET: libc::c_int = 64;
/// `XDP_MAX_TX_SKB_BUDGET` of linux/if_xdp.h.
const MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Options of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XskOptions {
    /// Bytes of memory for a frame: one of [`XSK_FRAME_BYTES`].
    pub frame_bytes: u32,
    /// Entries of each ring, a power of two within [`XSK_RING`]. The memory has twice as many frames.
    pub ring: u32,
    /// Whether the driver accesses the memory itself (`XDP_ZEROCOPY`); an error if it cannot.
    pub zero_copy: bool,
}

impl Default for XskOptions {
    /// 8 MiB of memory, in copy mode.
    fn default() -> Self {
        Self { frame_bytes: 2_048, ring: 2_048, zero_copy: false }
    }
}

/// Reason for the lack of an AF_XDP socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XskError {
    /// An invalid size of the rings.
    #[error("{given} {what}; {allowed} are allowed")]
    Size {
        /// Name of the size.
        what: &'static str,
        /// Requested value.
        given: u32,
        /// Allowed values, in words.
        allowed: &'static str,
    },
    /// The kernel does not support AF_XDP sockets.
    #[error("this kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS, Linux 5.4)")]
    Absent,
    /// The process lacks the privilege.
    #[error("AF_XDP sockets need the capability CAP_NET_RAW")]
    Privilege,
    /// The memory may not be locked.
    #[error(
        "the kernel may not lock {octets} bytes for this process; raise `ulimit -l`, or run with CAP_IPC_LOCK"
    )]
    Memory {
        /// Requested memory, in bytes.
        octets: usize,
    },
    /// The queue does not exist.
    #[error("there is no queue {queue}")]
    NoQueue {
        /// Index of the device.
        device: u32,
        /// Index of the queue.
        queue: u32,
    },
    /// Another socket has the queue.
    #[error("queue {queue} has an AF_XDP socket already")]
    Busy {
        /// Index of the device.
        device: u32,
        /// Index of the queue.
        queue: u32,
    },
    /// The driver does not support the request.
    #[error("the driver cannot do this{}: {source}", if *.zero_copy { " (zero copy)" } else { "" })]
    Driver {
        /// Index of the device.
        device: u32,
        /// Whether zero copy was requested.
        zero_copy: bool,
        /// The kernel's error.
        source: io::Error,
    },
    /// Another step failed.
    #[error("{step} failed: {source}")]
    Step {
        /// Name of the step.
        step: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

/// Losses of a socket since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XskStatistics {
    /// Number of frames for this socket that the kernel dropped: too long, or no frame free in FILL.
    pub rx_dropped: u64,
    /// Number of frames dropped because RX was full: this process reads too slowly.
    pub rx_ring_full: u64,
    /// Number of times that the kernel found no free frame in FILL: this process reads too slowly.
    pub fill_ring_empty: u64,
    /// Number of entries of FILL that the kernel refused.
    pub rx_invalid: u64,
    /// Number of entries of TX that the kernel refused: those frames never left.
    pub tx_invalid: u64,
    /// Number of frames that the device refused after the kernel had taken them.
    pub tx_dropped: u64,
}

impl XskStatistics {
    /// Returns the number of frames for this socket that were lost before it received them.
    pub fn lost(&self) -> u64 {
        // `rx_dropped` includes the losses of `fill_ring_empty`.
        self.rx_dropped + self.rx_ring_full
    }

    /// Adds the counters of another socket.
    pub fn add(&mut self, other: &Self) {
        self.rx_dropped += other.rx_dropped;
        self.rx_ring_full += other.rx_ring_full;
        self.fill_ring_empty += other.fill_ring_empty;
        self.rx_invalid += other.rx_invalid;
        self.tx_invalid += other.tx_invalid;
        self.tx_dropped += other.tx_dropped;
    }
}

/// A socket at one queue of one device. Dropping it releases its rings and memory.
#[derive(Debug)]
pub struct XskSocket {
    /// The socket is dropped before the memory, because closing it makes the kernel release the memory.
    socket: OwnedFd,
    fill: Producer<u64>,
    received: Consumer<libc::xdp_desc>,
    to_send: Producer<libc::xdp_desc>,
    completed: Consumer<u64>,
    memory: Mapping,
    /// Positions of frames that are free for sending.
    free: Vec<u64>,
    frame_bytes: u32,
    zero_copy: bool,
    tx_dropped: u64,
}

impl XskSocket {
    /// Binds a socket to queue `queue` of the device with index `device`, in the calling thread's namespace.
    pub fn bind(device: u32, queue: u32, options: XskOptions) -> Result<Self, XskError> {
        check(&options)?;
        // SAFETY: the arguments are numbers. A result that is not an error is a new descriptor without another owner.
        let raw = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if raw < 0 {
            return Err(match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => XskError::Absent,
                error if error.raw_os_error() == Some(libc::EPERM) => XskError::Privilege,
                source => XskError::Step { step: "making an AF_XDP socket", source },
            });
        }
        // SAFETY: `raw` is a new descriptor without another owner.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        let octets = 2 * options.ring as usize * options.frame_bytes as usize;
        let step = |step| move |source| XskError::Step { step, source };
        let memory = Mapping::anonymous(octets).map_err(step("mapping the frames' memory"))?;
        register(&socket, &memory, octets, options.frame_bytes)?;
        let mut rings = rings(&socket, options.ring)?;
        let frame = |n: u32| u64::from(n) * u64::from(options.frame_bytes);
        (0..options.ring).for_each(|n| {
            rings.fill.push(frame(n));
        });
        rings.fill.publish();
        // A kernel without the option sends 32 frames per call.
        let _ = set(&socket, MAX_TX_SKB_BUDGET, &CALL_BUDGET);
        attach(&socket, device, queue, options.zero_copy)?;
        let Rings { fill, received, to_send, completed } = rings;
        let free = (options.ring..2 * options.ring).map(frame).collect();
        let frame_bytes = options.frame_bytes;
        let zero_copy = options.zero_copy;
        Ok(Self {
            socket,
            fill,
            received,
            to_send,
            completed,
            memory,
            free,
            frame_bytes,
            zero_copy,
            tx_dropped: 0,
        })
    }

    /// Returns whether no frame can be added until a [`send`](Self::send) has released some.
    pub fn is_full(&mut self) -> bool {
        if self.free.is_empty() {
            self.reclaim();
        }
        self.free.is_empty() || self.to_send.room() == 0
    }

    /// Adds a frame to be sent: `fill` writes it including the Ethernet header, and returns its length, or
    /// `None` to add none. Returns `false` if no frame is free or none was written.
    pub fn push(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        if self.is_full() {
            return false;
        }
        let Some(&at) = self.free.last() else { return false };
        let written = self.memory.octets(at as usize, self.frame_bytes as usize).and_then(fill);
        let Some(len) = written.filter(|len| (1..=self.frame_bytes as usize).contains(len)) else {
            return false;
        };
        self.free.pop();
        self.to_send.push(libc::xdp_desc { addr: at, len: len as u32, options: 0 })
    }

    /// Requests the kernel to send the added frames. Returns the number of frames that it leaves for the next call.
    pub fn send(&mut self) -> io::Result<usize> {
        self.to_send.publish();
        let mut waiting = self.to_send.waiting();
        let mut fruitless = 0;
        while waiting > 0 && fruitless < FRUITLESS_CALLS && self.to_send.needs_wakeup() {
            self.wake()?;
            let left = self.to_send.waiting();
            fruitless = if left < waiting { 0 } else { fruitless + 1 };
            waiting = left;
            if self.zero_copy {
                // The driver sends later.
                break;
            }
        }
        self.reclaim();
        Ok(waiting as usize)
    }

    /// Wakes the kernel. In copy mode, it sends within this call.
    fn wake(&mut self) -> io::Result<()> {
        // SAFETY: the call gets no data and no address, and the descriptor is open.
        let result = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        if result >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // The device dropped one frame, and the call ended there.
            Some(libc::EBUSY) => self.tx_dropped += 1,
            // The budget of the call is used up, or earlier frames are still in flight.
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => {}
            _ => return Err(error),
        }
        Ok(())
    }

    fn reclaim(&mut self) {
        let before = self.free.len();
        while let Some(at) = self.completed.pop() {
            self.free.push(at);
        }
        if self.free.len() > before {
            self.completed.release();
        }
    }

    /// Passes at most `most` frames that arrived before the call to `each`, and releases them; returns their
    /// number.
    pub fn receive(&mut self, most: usize, mut each: impl FnMut(&[u8])) -> usize {
        // A frame that arrives from now on waits for the next call, because the caller took the time stamp for this call
        // earlier.
        let count = most.min(self.received.available() as usize);
        for _ in 0..count {
            let Some(entry) = self.received.pop() else { break };
            if let Some(frame) = self.memory.octets(entry.addr as usize, entry.len as usize) {
                each(frame);
            }
            // FILL has room for every receive frame.
            self.fill.push(entry.addr & !u64::from(self.frame_bytes - 1));
        }
        if count > 0 {
            self.received.release();
            self.fill.publish();
        }
        if self.fill.needs_wakeup() {
            // SAFETY: the call gets no buffer and no address, and the descriptor is open. It only wakes the driver.
            unsafe {
                let none = std::ptr::null_mut();
                let no_address = std::ptr::null_mut();
                libc::recvfrom(
                    self.socket.as_raw_fd(),
                    none,
                    0,
                    libc::MSG_DONTWAIT,
                    no_address,
                    std::ptr::null_mut(),
                );
            }
        }
        count
    }

    /// Returns the number of frames that the device refused after the kernel had taken them.
    pub fn dropped(&self) -> u64 {
        self.tx_dropped
    }

    /// Returns the losses of this socket.
    pub fn statistics(&self) -> io::Result<XskStatistics> {
        // SAFETY: the structure consists of integers, for which all zeroes is a valid value. A kernel that knows fewer
        // fields leaves the others zero.
        let mut counters: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        get(&self.socket, libc::XDP_STATISTICS, &mut counters)?;
        Ok(XskStatistics {
            rx_dropped: counters.rx_dropped,
            rx_ring_full: counters.rx_ring_full,
            fill_ring_empty: counters.rx_fill_ring_empty_descs,
            rx_invalid: counters.rx_invalid_descs,
            tx_invalid: counters.tx_invalid_descs,
            tx_dropped: self.tx_dropped,
        })
    }
}

impl AsFd for XskSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn check(options: &XskOptions) -> Result<(), XskError> {
    let frame = options.frame_bytes;
    let ring = options.ring;
    if !XSK_FRAME_BYTES.contains(&frame) {
        return Err(XskError::Size { what: "bytes for a frame", given: frame, allowed: "2048 and 4096" });
    }
    if !(ring.is_power_of_two() && (XSK_RING[0]..=XSK_RING[1]).contains(&ring)) {
        return Err(XskError::Size {
            what: "entries of a ring",
            given: ring,
            allowed: "powers of two from 64 to 32768",
        });
    }
    Ok(())
}

fn register(socket: &OwnedFd, memory: &Mapping, octets: usize, frame_bytes: u32) -> Result<(), XskError> {
    let area = libc::xdp_umem_reg {
        addr: memory.address(),
        len: octets as u64,
        chunk_size: frame_bytes,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    set(socket, libc::XDP_UMEM_REG, &area).map_err(|source| match source.raw_os_error() {
        Some(libc::ENOBUFS) => XskError::Memory { octets },
        _ => XskError::Step { step: "giving the kernel the frames' memory", source },
    })
}

struct Rings {
    fill: Producer<u64>,
    received: Consumer<libc::xdp_desc>,
    to_send: Producer<libc::xdp_desc>,
    completed: Consumer<u64>,
}

fn rings(socket: &OwnedFd, size: u32) -> Result<Rings, XskError> {
    let step = |step| move |source| XskError::Step { step, source };
    let size_of_ring = libc::c_int::try_from(size).unwrap_or(libc::c_int::MAX);
    for ring in
        [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING]
    {
        set(socket, ring, &size_of_ring).map_err(step("making a ring"))?;
    }
    // SAFETY: the structure consists of integers, for which all zeroes is a valid value.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    let written =
        get(socket, libc::XDP_MMAP_OFFSETS, &mut offsets).map_err(step("asking where rings are"))?;
    if written != size_of_val(&offsets) {
        // Before Linux 5.4 there are no flags and no wake-up request.
        return Err(XskError::Absent);
    }
    let producer = |offset: &libc::xdp_ring_offset| Layout::from(offset);
    let failed = step("mapping a ring");
    let map = |octets: Option<usize>, offset: u64| {
        let octets = octets.ok_or(io::ErrorKind::InvalidData)?;
        Mapping::map_ring(socket.as_fd(), octets, offset)
    };
    let build = || {
        let [fr, cr, rx, tx] = [&offsets.fr, &offsets.cr, &offsets.rx, &offsets.tx].map(producer);
        let fill = map(Producer::<u64>::octets(&fr, size), libc::XDP_UMEM_PGOFF_FILL_RING)?;
        let completed = map(Consumer::<u64>::octets(&cr, size), libc::XDP_UMEM_PGOFF_COMPLETION_RING)?;
        let received = map(Consumer::<libc::xdp_desc>::octets(&rx, size), libc::XDP_PGOFF_RX_RING as u64)?;
        let to_send = map(Producer::<libc::xdp_desc>::octets(&tx, size), libc::XDP_PGOFF_TX_RING as u64)?;
        Ok(Rings {
            fill: Producer::new(fill, fr, size)?,
            completed: Consumer::new(completed, cr, size)?,
            received: Consumer::new(received, rx, size)?,
            to_send: Producer::new(to_send, tx, size)?,
        })
    };
    build().map_err(failed)
}

fn attach(socket: &OwnedFd, device: u32, queue: u32, zero_copy: bool) -> Result<(), XskError> {
    let mode = if zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: mode | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: device,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is initialised, of the size given, and outlives the call.
    if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) } == 0 {
        return Ok(());
    }
    let source = io::Error::last_os_error();
    Err(match source.raw_os_error() {
        Some(libc::EINVAL) => XskError::NoQueue { device, queue },
        Some(libc::EBUSY) => XskError::Busy { device, queue },
        Some(libc::EOPNOTSUPP) => XskError::Driver { device, zero_copy, source },
        _ => XskError::Step { step: "binding to the device's queue", source },
    })
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is initialised, of the size given, and outlives the call, which reads it.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, std::ptr::from_ref(value).cast(), size)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads a socket option. Returns the number of bytes that the kernel has written. `T` is a structure of integers.
fn get<T>(socket: &OwnedFd, option: libc::c_int, value: &mut T) -> io::Result<usize> {
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes of a structure of integers that outlives the call.
    let result = unsafe {
        let to = std::ptr::from_mut(value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, to, &raw mut size)
    };
    if result == 0 { Ok(size as usize) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_ring_sizes_are_named() {
        let bind = |options| XskSocket::bind(1, 0, options).unwrap_err().to_string();
        assert!(bind(XskOptions { frame_bytes: 1_500, ..Default::default() }).contains("2048 and 4096"));
        for ring in [0, 32, 100, 1 << 16] {
            assert!(bind(XskOptions { ring, ..Default::default() }).contains("powers of two"), "{ring}");
        }
    }

    #[test]
    fn missing_device_has_no_socket() {
        match XskSocket::bind(0x7fff_ffff, 0, XskOptions::default()) {
            Err(XskError::Absent | XskError::Privilege | XskError::Memory { .. }) => {
                ranlab_host::doctor::skipped("no AF_XDP for this user here");
            }
            Err(XskError::Step { source, .. }) => assert_eq!(source.raw_os_error(), Some(libc::ENODEV)),
            other => panic!("{other:?}"),
        }
    }
}
