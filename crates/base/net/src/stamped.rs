//! Frames and datagrams with time stamps by the kernel or by the clock of a network card, and threads in other network
//! namespaces.
#![allow(unsafe_code)]

mod sent;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use socket2::{SockFilter, SockRef};

use crate::thread::exact_timers;
pub use sent::{SentStamp, sent_stamp, stamp_sent};

/// Clock of a time stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Clock of this machine: ns since 1970.
    Kernel,
    /// Clock of the card: ns since an arbitrary time.
    Card,
}

/// Source of a time stamp. Later variants are closer to the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimestampSource {
    /// Taken by this program, after it had been scheduled.
    User,
    /// Taken by the kernel, when it received the frame from the driver.
    Kernel,
}

/// A received frame or datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampedPacket {
    /// Number of received bytes in the buffer.
    pub bytes: usize,
    /// Time stamp, ns since 1970.
    pub at_ns: u64,
    /// Source of the stamp.
    pub rung: TimestampSource,
    /// Time stamp by the card's clock, if it was requested and the card stamped the packet.
    pub card_ns: Option<u64>,
}

/// Returns the nanoseconds since 1970 by this machine's clock, comparable with kernel stamps.
pub fn real_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Moves the calling thread into the network namespace of this file (`/run/netns/NAME`). Sockets that it opens then
/// stay there, whichever thread uses them.
pub fn enter_namespace(file: &Path) -> io::Result<()> {
    let namespace = File::open(file)?;
    // SAFETY: the descriptor is open for the length of the call, which changes only this thread's namespace.
    let result = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread a real-time priority (SCHED_FIFO), 1 to 99, with exact timers.
pub fn urgent_thread(priority: i32) -> io::Result<()> {
    exact_timers();
    // SAFETY: `sched_param` is a C structure of integers, more of them in musl; all zeros is valid.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the kernel reads the parameters, which outlive the call; 0 is this thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens a raw socket for Ethernet frames of one type on one interface of the calling thread's namespace.
pub fn open_frames(interface: &str, ethertype: u16) -> io::Result<OwnedFd> {
    let name = std::ffi::CString::new(interface).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the name ends with a zero and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the arguments are numbers. A result that is not an error is a new descriptor without another owner. The
    // address is an all-zero `sockaddr_ll`, which is valid, and outlives the call.
    unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let raw = libc::socket(libc::AF_PACKET, kind, i32::from(ethertype.to_be()));
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(raw);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ethertype.to_be();
        address.sll_ifindex = index as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        if libc::bind(raw, (&raw const address).cast(), size) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(socket)
    }
}

/// Makes an interface accept frames to any address for as long as this socket of [`open_frames`] is open.
///
/// # Errors
/// There is no such interface, or the kernel refuses.
pub fn take_all(socket: &impl AsFd, interface: &str) -> io::Result<()> {
    let name = std::ffi::CString::new(interface).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the name ends with a zero and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an all-zero `packet_mreq` is valid.
    let mut request: libc::packet_mreq = unsafe { std::mem::zeroed() };
    request.mr_ifindex = index as i32;
    request.mr_type = libc::PACKET_MR_PROMISC as u16;
    // SAFETY: the option is a `packet_mreq` that outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            (&raw const request).cast(),
            size_of_val(&request) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens a raw socket that receives every frame of one type that enters or leaves an interface of the calling thread's
/// namespace, even if the interface belongs to a bridge. Outgoing frames are received after the queueing discipline.
pub fn open_tap(interface: &str, ethertype: u16) -> io::Result<OwnedFd> {
    // Loads the type, compares it, and accepts the whole frame or nothing.
    let program = [
        SockFilter::new(0x28, 0, 0, 12),
        SockFilter::new(0x15, 0, 1, u32::from(ethertype)),
        SockFilter::new(0x06, 0, 0, u32::from(u16::MAX)),
        SockFilter::new(0x06, 0, 0, 0),
    ];
    let socket = open_frames(interface, libc::ETH_P_ALL as u16)?;
    SockRef::from(&socket).attach_filter(&program)?;
    Ok(socket)
}

/// Enables the kernel's stamps of received packets, and sets the size of the receive buffer and the timeout of reads. For
/// stamps by the clock of the network card, see [`stamp_by_card`].
pub fn stamp_received(socket: &impl AsFd, buffer_bytes: usize, timeout: Duration) -> io::Result<()> {
    let options = SockRef::from(socket);
    options.set_recv_buffer_size(buffer_bytes)?;
    options.set_read_timeout(Some(timeout))?;
    ask_for(socket, libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE)
}

/// Adds the card's stamps to those of the kernel on a socket of [`stamp_received`], if its port is configured
/// to stamp.
pub fn stamp_by_card(socket: &impl AsFd) -> io::Result<()> {
    let kernels = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    ask_for(socket, kernels | libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE)
}

/// Selects the kinds of stamps that a socket reports.
fn ask_for(socket: &impl AsFd, stamps: libc::c_uint) -> io::Result<()> {
    // SAFETY: the option is an int that outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const stamps).cast(),
            size_of_val(&stamps) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the time of one clock in a control message of type `SO_TIMESTAMPING`, or `None` if that clock did not stamp
/// the packet.
///
/// # Safety
/// `entry` must be a complete message of this type, as the kernel wrote it.
unsafe fn time_of(entry: *const libc::cmsghdr, clock: Clock) -> Option<u64> {
    // SAFETY: the message holds three times as the caller guarantees; they may be unaligned.
    let times = unsafe { libc::CMSG_DATA(entry).cast::<[libc::timespec; 3]>().read_unaligned() };
    let time = match clock {
        Clock::Kernel => times[0],
        Clock::Card => times[2],
    };
    let at_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    (at_ns > 0).then_some(at_ns)
}

/// Waits for a packet; its stamp is the kernel's if there is one, otherwise the time of the read. `WouldBlock` after
/// the socket's timeout.
pub fn receive_stamped(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<TimestampedPacket> {
    let mut control = [0_u64; 32];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: the message points to the buffer and the control area, both alive and of the sizes given; the kernel writes
    // within them. Control messages are walked by the kernel's macros, which stay within `msg_controllen`, and stamps are
    // read unaligned.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let received = libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0);
        if received < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut stamped = TimestampedPacket {
            bytes: received as usize,
            at_ns: real_ns(),
            rung: TimestampSource::User,
            card_ns: None,
        };
        let mut entry = libc::CMSG_FIRSTHDR(&raw const message);
        while !entry.is_null() {
            if (*entry).cmsg_level == libc::SOL_SOCKET && (*entry).cmsg_type == libc::SO_TIMESTAMPING {
                if let Some(at_ns) = time_of(entry, Clock::Kernel) {
                    (stamped.at_ns, stamped.rung) = (at_ns, TimestampSource::Kernel);
                }
                stamped.card_ns = time_of(entry, Clock::Card);
            }
            entry = libc::CMSG_NXTHDR(&raw const message, entry);
        }
        Ok(stamped)
    }
}

/// Sends one frame on a socket of [`open_frames`].
pub fn send_frame(socket: &OwnedFd, frame: &[u8]) -> io::Result<()> {
    // SAFETY: the frame outlives the call and its length is given.
    let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn kernel_stamps_received_datagram() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        stamp_received(&receiver, 65_536, Duration::from_secs(2)).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut buffer = [0; 64];
        let mut tries = 0;
        // The kernel begins to stamp some moments after the request.
        let (before, stamped) = loop {
            let before = real_ns();
            sender.send_to(b"0123456789", receiver.local_addr().unwrap()).unwrap();
            let stamped = receive_stamped(&receiver, &mut buffer).unwrap();
            tries += 1;
            if stamped.rung >= TimestampSource::Kernel || tries == 1_000 {
                break (before, stamped);
            }
        };
        assert_eq!((stamped.bytes, &buffer[..10]), (10, &b"0123456789"[..]));
        assert!(stamped.rung >= TimestampSource::Kernel, "{stamped:?}");
        assert!(stamped.at_ns >= before && stamped.at_ns <= real_ns(), "{stamped:?} {before}");
    }

    #[test]
    fn receive_times_out_without_packets() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        stamp_received(&receiver, 65_536, Duration::from_millis(5)).unwrap();
        let error = receive_stamped(&receiver, &mut [0; 64]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn missing_namespace_cannot_be_entered() {
        assert!(enter_namespace(Path::new("/run/netns/there-is-no-such-namespace")).is_err());
        assert!(open_frames("no-such-device", 0x080A).is_err());
        assert!(open_frames("a\0b", 0x080A).is_err());
    }
}
