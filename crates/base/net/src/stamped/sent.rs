//! Stamps of sent packets, which the kernel returns in the socket's error queue.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use super::{Clock, ask_for, time_of};

/// `SO_EE_ORIGIN_TIMESTAMPING`, linux/errqueue.h.
const ORIGIN_TIMESTAMPING: u8 = 4;
/// `SCM_TSTAMP_SND`: the time at which a packet left, not at which it was queued or acknowledged.
const LEFT: u32 = 0;

/// Time at which a packet left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentStamp {
    /// Number of the packet among the packets sent since stamps were enabled, from 0.
    pub number: u32,
    /// Time stamp, ns of the requested clock.
    pub at_ns: u64,
}

/// Enables stamps of packets that this socket sends: the card's, if its port is configured to stamp, or the kernel's,
/// taken when a packet is given to the driver. Each call restarts the packet numbers at 0.
///
/// # Errors
/// The kernel does not support such stamps.
pub fn stamp_sent(socket: &impl AsFd, clock: Clock) -> io::Result<()> {
    let stamps = match clock {
        Clock::Card => libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE,
        Clock::Kernel => libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE,
    };
    // The empty request restarts the numbers. The second request enables stamps with the number but without the packet.
    ask_for(socket, 0)?;
    ask_for(socket, stamps | libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY)
}

/// Waits for the next stamp of a socket of [`stamp_sent`]; returns `None` if none arrives within `patience`.
///
/// # Errors
/// The kernel's error.
pub fn sent_stamp(socket: &impl AsFd, clock: Clock, patience: Duration) -> io::Result<Option<SentStamp>> {
    let descriptor = socket.as_fd().as_raw_fd();
    // `ppoll` reports a filled error queue as an error, although no event is requested.
    let mut poll = libc::pollfd { fd: descriptor, events: 0, revents: 0 };
    let time = libc::timespec {
        tv_sec: patience.as_secs() as libc::time_t,
        tv_nsec: patience.subsec_nanos() as libc::c_long,
    };
    // SAFETY: the descriptor's entry and the time outlive the call.
    let ready = unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) };
    match ready {
        0 => Ok(None),
        ready if ready < 0 => Err(io::Error::last_os_error()),
        _ => next(descriptor, clock),
    }
}

/// Returns the first entry of the error queue, or `None` if it is not a stamp.
fn next(descriptor: i32, clock: Clock) -> io::Result<Option<SentStamp>> {
    let mut control = [0_u64; 32];
    // SAFETY: the message points to the control area, alive and of the size given; the kernel writes within it. Control messages are
    // walked by the kernel's macros, which stay within `msg_controllen`, and are read unaligned, each as the type that its kind has.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        if libc::recvmsg(descriptor, &raw mut message, flags) < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut at_ns = None;
        let mut number = None;
        let mut entry = libc::CMSG_FIRSTHDR(&raw const message);
        while !entry.is_null() {
            match ((*entry).cmsg_level, (*entry).cmsg_type) {
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => at_ns = time_of(entry, clock),
                (libc::SOL_PACKET, libc::PACKET_TX_TIMESTAMP)
                | (libc::SOL_IP, libc::IP_RECVERR)
                | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                    let error = libc::CMSG_DATA(entry).cast::<libc::sock_extended_err>().read_unaligned();
                    if error.ee_origin == ORIGIN_TIMESTAMPING && error.ee_info == LEFT {
                        number = Some(error.ee_data);
                    }
                }
                _ => {}
            }
            entry = libc::CMSG_NXTHDR(&raw const message, entry);
        }
        Ok(number.zip(at_ns).map(|(number, at_ns)| SentStamp { number, at_ns }))
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::super::{real_ns, receive_stamped, stamp_received};
    use super::*;

    #[test]
    fn sent_stamps_are_numbered_and_precede_arrival() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        stamp_received(&receiver, 65_536, Duration::from_secs(2)).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        stamp_sent(&sender, Clock::Kernel).unwrap();
        let begun = real_ns();
        let mut last = begun;
        for number in 0..20 {
            sender.send(b"0123456789").unwrap();
            let stamp = sent_stamp(&sender, Clock::Kernel, Duration::from_secs(5)).unwrap().unwrap();
            assert_eq!(stamp.number, number);
            assert!(stamp.at_ns >= last, "{stamp:?} {last}");
            last = stamp.at_ns;
            let arrived = receive_stamped(&receiver, &mut [0; 64]).unwrap();
            assert!(arrived.at_ns >= stamp.at_ns && arrived.card_ns.is_none(), "{arrived:?} {stamp:?}");
        }
        assert!(last <= real_ns());
        stamp_sent(&sender, Clock::Kernel).unwrap();
        sender.send(b"0123456789").unwrap();
        let again = sent_stamp(&sender, Clock::Kernel, Duration::from_secs(5)).unwrap().unwrap();
        assert_eq!(again.number, 0);
        assert_eq!(sent_stamp(&sender, Clock::Kernel, Duration::from_millis(1)).unwrap(), None);
    }

    #[test]
    fn loopback_gives_no_card_stamps() {
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(sender.local_addr().unwrap()).unwrap();
        stamp_sent(&sender, Clock::Card).unwrap();
        sender.send(b"0123456789").unwrap();
        assert_eq!(sent_stamp(&sender, Clock::Card, Duration::from_millis(20)).unwrap(), None);
    }
}
