//! Hardware time stamps of a network card: reads the support of a port (`ETHTOOL_GET_TS_INFO`), configures the port
//! (`SIOCSHWTSTAMP`), and restores its previous configuration.
#![allow(unsafe_code, reason = "ioctls of a port, and a thread in a namespace, which std lacks")]

use std::fs::File;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::ports::BorrowedDevice;
use super::{NetnsError, Testbed};

/// Constants of linux/sockios.h.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
const SIOCSHWTSTAMP: libc::c_ulong = 0x89B0;
const SIOCGHWTSTAMP: libc::c_ulong = 0x89B1;
/// Constants of linux/ethtool.h.
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
/// `HWTSTAMP_TX_ON` of linux/net_tstamp.h. The value is also the number of its bit in a port's support.
const TX_ON: u32 = 1;
/// Filters that pass a Sync of PTP version 2 in an Ethernet frame, the most specific first. They pass events in frames,
/// events in any transport, Sync in frames, Sync in any transport, all packets.
const FILTERS: [u32; 5] = [9, 12, 10, 13, 1];
/// Required support: stamps of sent and of received packets by the card's clock.
const HARDWARE: u32 = libc::SOF_TIMESTAMPING_TX_HARDWARE
    | libc::SOF_TIMESTAMPING_RX_HARDWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE;

/// Time stamping support of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamping {
    /// `SOF_TIMESTAMPING_*` of linux/net_tstamp.h.
    flags: u32,
    /// The card's clock, `/dev/ptpN`; below 0: no clock.
    clock: i32,
    /// Bits of `HWTSTAMP_TX_*`.
    sent: u32,
    /// Bits of `HWTSTAMP_FILTER_*`.
    received: u32,
}

impl Stamping {
    /// Reads the support of a port of the calling thread's namespace.
    ///
    /// # Errors
    /// There is no such port, or its driver reports no support.
    pub fn read(interface: &str) -> io::Result<Self> {
        // `struct ethtool_ts_info`: command, flags, clock, bits of both directions with three reserved words each.
        let mut info = [0_u32; 11];
        info[0] = ETHTOOL_GET_TS_INFO;
        ioctl(interface, SIOCETHTOOL, info.as_mut_ptr().cast())?;
        Ok(Self { flags: info[1], clock: info[2].cast_signed(), sent: info[3], received: info[7] })
    }

    /// Returns the configuration with which the card stamps a Sync of PTP (version 2, Ethernet) in both directions.
    /// Also returns the number of the clock (`/dev/ptpN`) that the stamps refer to.
    ///
    /// # Errors
    /// The missing support.
    pub fn by_card(&self) -> Result<(StampConfig, u32), String> {
        let lacks = |what: &str| Err(format!("its card {what}"));
        if self.flags & HARDWARE != HARDWARE || self.sent & (1 << TX_ON) == 0 {
            return lacks(
                "has no time stamps for sent and received packets (or its driver does not report them)",
            );
        }
        let Some(filter) = FILTERS.into_iter().find(|filter| self.received & (1 << filter) != 0) else {
            return lacks("stamps no PTP frames that arrive");
        };
        let Ok(clock) = u32::try_from(self.clock) else {
            return lacks("has no clock that can be read (/dev/ptpN)");
        };
        Ok((StampConfig { flags: 0, sent: TX_ON, received: filter }, clock))
    }
}

/// `struct hwtstamp_config`: packets that a card stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StampConfig {
    pub(super) flags: u32,
    /// `HWTSTAMP_TX_*`.
    pub(super) sent: u32,
    /// `HWTSTAMP_FILTER_*`.
    pub(super) received: u32,
}

impl StampConfig {
    /// Reads the current configuration of a port of the calling thread's namespace; empty if its driver cannot report
    /// it.
    fn read(interface: &str) -> Self {
        let mut words = [0_u32; 3];
        match ioctl(interface, SIOCGHWTSTAMP, words.as_mut_ptr().cast()) {
            Ok(()) => Self { flags: words[0], sent: words[1], received: words[2] },
            Err(_) => Self::default(),
        }
    }

    /// Configures a port. The driver may enable more than requested, never less.
    pub(super) fn write(self, interface: &str) -> io::Result<()> {
        let mut words = [self.flags, self.sent, self.received];
        ioctl(interface, SIOCSHWTSTAMP, words.as_mut_ptr().cast())
    }
}

/// Whether the card of a port of the calling thread's namespace is configured to stamp packets.
pub fn stamps_now(interface: &str) -> bool {
    let StampConfig { sent, received, .. } = StampConfig::read(interface);
    (sent, received) != (0, 0)
}

impl Testbed {
    /// Configures a port of a namespace to stamp, and records its previous configuration for restoration at
    /// the end.
    ///
    /// # Errors
    /// Its driver rejects the configuration.
    pub fn stamp(&mut self, namespace: &str, inside: &str, config: StampConfig) -> Result<(), NetnsError> {
        let before = within(namespace, || Ok(StampConfig::read(inside)));
        let result = before.and_then(|before| {
            let namespace = namespace.to_owned();
            let inside = inside.to_owned();
            self.note(BorrowedDevice::Stamps { namespace, inside, before }).map_err(io::Error::other)
        });
        let result = result.and_then(|()| within(namespace, || config.write(inside)));
        result.map_err(|error| NetnsError::Port {
            port: inside.to_owned(),
            why: format!("its card cannot be configured for time stamps: {error}"),
        })
    }
}

/// Runs a closure in a namespace, on a separate thread. (`ranlab-net` has a similar function for sockets, because
/// neither crate imports the other.)
pub(super) fn within<T: Send>(namespace: &str, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let file = File::open(Testbed::file(namespace))?;
    let inside = || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        work()
    };
    let ended = std::thread::scope(|scope| scope.spawn(inside).join());
    ended.unwrap_or_else(|_| Err(io::Error::other("a thread in a namespace panicked")))
}

/// Sends one request about a port of the calling thread's namespace, with a structure that the kernel reads and writes.
fn ioctl(interface: &str, request: libc::c_ulong, data: *mut libc::c_char) -> io::Result<()> {
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: an all-zero request is valid. The name is shorter than its field, so a zero follows it. The callers'
    // structures have the length that the kernel expects for these requests, and outlive the call.
    let result = unsafe {
        let mut words: libc::ifreq = std::mem::zeroed();
        for (to, from) in words.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        words.ifr_ifru.ifru_data = data;
        libc::ioctl(socket.as_raw_fd(), request as _, &raw mut words)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report of the driver of the 82576. The card has no filter that passes all packets, but one for events of
    /// version 2 in any transport.
    const CARD: Stamping = Stamping { flags: 0x4F, clock: 3, sent: 0b11, received: 1 | 1 << 12 };

    #[test]
    fn stamp_request_stays_within_card_support() {
        assert_eq!(CARD.by_card(), Ok((StampConfig { flags: 0, sent: 1, received: 12 }, 3)));
        let all = Stamping { received: 0b11, ..CARD };
        assert_eq!(all.by_card().map(|(config, _)| config.received), Ok(1));
        for (less, word) in [
            (Stamping { flags: 0x4F & !0x40, ..CARD }, "no time stamps"),
            (Stamping { sent: 1, ..CARD }, "no time stamps"),
            (Stamping { received: 1, ..CARD }, "no PTP frames"),
            (Stamping { clock: -1, ..CARD }, "/dev/ptpN"),
        ] {
            let why = less.by_card().unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn port_without_hardware_stamps_is_an_error() {
        let loopback = Stamping::read("lo").unwrap();
        assert!(loopback.by_card().is_err(), "{loopback:?}");
        assert_eq!((StampConfig::read("lo"), stamps_now("lo")), (StampConfig::default(), false));
        assert!(CARD.by_card().unwrap().0.write("lo").is_err());
        for name in ["no-such-device", "", "a-name-that-is-longer-than-any-port-has"] {
            assert!(Stamping::read(name).is_err(), "{name}");
        }
    }
}
