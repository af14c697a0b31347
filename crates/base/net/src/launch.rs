//! Packets that leave at a time set by their sender (`SO_TXTIME`), and the reported rate of a port.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use socket2::{Domain, SockRef, Socket, Type};

/// `ETHTOOL_GSET`, linux/ethtool.h.
const ETHTOOL_GSET: u32 = 1;
/// `SIOCETHTOOL`, linux/sockios.h.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// Value in Mbit/s that a port reports if its rate is unknown.
const SPEED_UNKNOWN: u32 = u32::MAX;

/// Returns the current time of the clock that launch times refer to (TAI, international atomic time), in nanoseconds.
pub fn tai_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the time, which outlives the call; it has had this clock since 3.10.
    unsafe { libc::clock_gettime(libc::CLOCK_TAI, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Enables launch times on a socket, and sets the priority by which the kernel queues its packets.
pub fn launch_timed(socket: &impl AsFd, priority: u32) -> io::Result<()> {
    let socket = SockRef::from(socket);
    // `struct sock_txtime` consists of a clock and flags.
    let settings: [i32; 2] = [libc::CLOCK_TAI, 0];
    for (option, value, bytes) in [
        (libc::SO_PRIORITY, (&raw const priority).cast(), size_of_val(&priority)),
        (libc::SO_TXTIME, (&raw const settings).cast(), size_of_val(&settings)),
    ] {
        // SAFETY: the value is one of the two above, alive, and of the size given.
        let result = unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, bytes as libc::socklen_t)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Sends a packet that leaves at `tai_ns`. The socket was passed to [`launch_timed`], and is connected or sends frames.
pub fn send_at(socket: &impl AsFd, packet: &[u8], tai_ns: u64) -> io::Result<()> {
    // Room for one control message of eight bytes, aligned as the kernel requires.
    let mut control = [0_u64; 4];
    let mut part = libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
    // SAFETY: the message points to the packet, which the kernel only reads, and to the control area, both alive and of the
    // sizes given; the one control message fits, and is written unaligned.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<u64>() as u32) as _;
        let entry = libc::CMSG_FIRSTHDR(&raw const message);
        (*entry).cmsg_level = libc::SOL_SOCKET;
        (*entry).cmsg_type = libc::SCM_TXTIME;
        (*entry).cmsg_len = libc::CMSG_LEN(size_of::<u64>() as u32) as _;
        libc::CMSG_DATA(entry).cast::<u64>().write_unaligned(tai_ns);
        libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, 0)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the rate that a port of the calling thread's namespace reports, or `None` if it reports no rate.
pub fn port_bps(interface: &str) -> Option<u64> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).ok()?;
    if interface.len() >= libc::IFNAMSIZ {
        return None;
    }
    // `struct ethtool_cmd`, with room; the kernel writes 44 bytes.
    let mut command = [0_u32; 16];
    command[0] = ETHTOOL_GSET;
    // SAFETY: an all-zero request is valid; the name is shorter than its field, so a zero follows it; the kernel writes the
    // command, which is longer than it expects, and both outlive the call.
    let result = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = command.as_mut_ptr().cast();
        libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request)
    };
    // The lower half of the speed is at byte 12, the upper one at 28.
    let mbps = (command[3] & 0xFFFF) | (command[7] & 0xFFFF) << 16;
    (result == 0 && mbps != SPEED_UNKNOWN && mbps != 0xFFFF && mbps > 0).then(|| u64::from(mbps) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Duration;

    use super::*;

    #[test]
    fn packet_with_ignored_launch_time_arrives() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        match launch_timed(&sender, 6) {
            // The user lacks the permission for launch times.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return,
            result => result.unwrap(),
        }
        send_at(&sender, b"soon", tai_ns() + 1_000_000).unwrap();
        let mut room = [0; 16];
        assert_eq!(receiver.recv(&mut room).unwrap(), 4);
        assert_eq!(&room[..4], b"soon");
    }

    #[test]
    fn port_without_rate_reports_no_rate() {
        assert_eq!(port_bps("no-such-device"), None);
        assert_eq!(port_bps("a-name-that-is-longer-than-any-port-has"), None);
        assert_eq!(port_bps("lo"), None);
    }
}
