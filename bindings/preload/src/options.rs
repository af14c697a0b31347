//! Socket options: stored values, and values returned to the program.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use crate::address::{self, ADDRESS_BYTES};
use crate::endpoint::Endpoint;
use crate::notification::{self, EVENTS, STREAMS};
use crate::real::error;
use crate::table;
use crate::values::{INITMSG, Style};

// Numbers of socket options, from linux/sctp.h.
const RTOINFO: c_int = 0;
const ASSOCINFO: c_int = 1;
const PEER_ADDR_PARAMS: c_int = 9;
const SUBSCRIBED: c_int = 11;
const STATUS: c_int = 14;
const PEER_ADDR_INFO: c_int = 15;
const ASSOC_NUMBER: c_int = 28;
const ASSOC_IDS: c_int = 29;
const RECVRCVINFO: c_int = 32;
const BINDX_ADD: c_int = 100;
const BINDX_REM: c_int = 101;
const PEELOFF: c_int = 102;
const CONNECTX_OLD: c_int = 107;
const PEER_ADDRESSES: c_int = 108;
const LOCAL_ADDRESSES: c_int = 109;
const CONNECTX: c_int = 110;
const CONNECTX3: c_int = 111;
const PEELOFF_FLAGS: c_int = 122;
const EVENT: c_int = 127;
/// Largest number of a Linux option that is only stored.
const KEPT_MAX: c_int = 140;
/// Maximum length of a stored option, in bytes.
const KEPT_BYTES_MAX: usize = 512;
/// State `ESTABLISHED` of `sctp_sstat_state`, and state `ACTIVE` of `sctp_spinfo_state`.
const ESTABLISHED: i32 = 4;
const ACTIVE: i32 = 2;
/// Values that a real association would report: retransmission timeouts in milliseconds, window and fragment size in
/// bytes.
const RTO_MS: [u32; 3] = [3_000, 60_000, 1_000];
const WINDOW_BYTES: u32 = 106_496;
const FRAGMENT_BYTES: u32 = 1_452;

/// Concatenates 32-bit words.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn number(octets: &[u8], at: usize) -> Option<i32> {
    octets.get(at..)?.first_chunk().map(|octets| i32::from_ne_bytes(*octets))
}

impl Endpoint {
    /// Implements `setsockopt` at SCTP level. Returns the function's return value, which is the association for
    /// `connectx`.
    pub(crate) fn set(self: &Arc<Self>, name: c_int, value: &[u8]) -> io::Result<c_int> {
        let first = || address::read(value);
        match name {
            BINDX_ADD => {
                let first = first()?;
                let known = self.lock().local.is_some();
                // An endpoint is identified by its first address. Additional addresses are ignored.
                if known { Ok(0) } else { self.bind(first).map(|()| 0) }
            }
            BINDX_REM => Ok(0),
            CONNECTX | CONNECTX_OLD => self.connect(first()?),
            SUBSCRIBED => {
                let mut events = [0; EVENTS];
                let given = value.len().min(EVENTS);
                events[..given].copy_from_slice(&value[..given]);
                self.lock().options.events = events;
                Ok(0)
            }
            EVENT => {
                let kind = value.get(4..6).and_then(|octets| octets.first_chunk());
                let place =
                    kind.and_then(|octets| u16::from_ne_bytes(*octets).checked_sub(notification::FIRST));
                let mut state = self.lock();
                match place.and_then(|place| state.options.events.get_mut(usize::from(place))) {
                    Some(event) => *event = *value.get(6).unwrap_or(&0),
                    None => return error(libc::EINVAL),
                }
                Ok(0)
            }
            RECVRCVINFO => {
                self.lock().options.receive_info = number(value, 0).unwrap_or(0) != 0;
                Ok(0)
            }
            0..=KEPT_MAX if value.len() <= KEPT_BYTES_MAX => {
                self.lock().options.kept.insert(name, value.to_vec());
                Ok(0)
            }
            _ => error(libc::ENOPROTOOPT),
        }
    }

    /// Implements `getsockopt` at SCTP level. `value` contains the program's input. Returns the output bytes and the
    /// return value.
    pub(crate) fn get(self: &Arc<Self>, name: c_int, value: &[u8]) -> io::Result<(Vec<u8>, c_int)> {
        let association = number(value, 0).unwrap_or(0);
        let octets = match name {
            PEELOFF | PEELOFF_FLAGS => {
                let (near, endpoint) = self.peel_off(association)?;
                let fd = handed_out(near, &endpoint)?;
                return Ok((words(&[association as u32, fd as u32]), fd));
            }
            STATUS => self.status(association)?,
            PEER_ADDR_INFO => value.to_vec(),
            PEER_ADDRESSES | LOCAL_ADDRESSES => self.addresses(name == PEER_ADDRESSES, association)?,
            ASSOC_NUMBER => words(&[self.lock().peers.len() as u32]),
            ASSOC_IDS => {
                let ids: Vec<_> = self.lock().peers.iter().map(|peer| peer.id as u32).collect();
                [words(&[ids.len() as u32]), words(&ids)].concat()
            }
            SUBSCRIBED => self.lock().options.events.to_vec(),
            RECVRCVINFO => words(&[u32::from(self.lock().options.receive_info)]),
            _ => {
                let kept = self.lock().options.kept.get(&name).cloned();
                kept.unwrap_or_else(|| default_of(name, value))
            }
        };
        Ok((octets, 0))
    }

    /// Implements `sctp_getaddrs_old` of `sctp_connectx`. `addresses` is the content of the memory that the option
    /// refers to.
    pub(crate) fn connect_to_first(self: &Arc<Self>, name: c_int, addresses: &[u8]) -> io::Result<i32> {
        debug_assert_eq!(name, CONNECTX3);
        self.connect(address::read(addresses)?)
    }

    /// Returns whether the value of an option contains a pointer.
    pub(crate) fn refers(name: c_int) -> bool {
        name == CONNECTX3
    }

    fn status(&self, association: i32) -> io::Result<Vec<u8>> {
        let state = self.lock();
        let peer = state.peers.iter().find(|peer| self.style == Style::One || peer.id == association);
        let Some(peer) = peer else { return error(libc::EINVAL) };
        let streams = u32::from(state.options.streams());
        let mut octets = words(&[peer.id as u32, ESTABLISHED as u32, WINDOW_BYTES, 0]);
        octets.extend(words(&[streams | streams << 16, FRAGMENT_BYTES, peer.id as u32]));
        let mut address = address::written(peer.address, self.family);
        address.resize(128, 0);
        octets.extend(address);
        octets.extend(words(&[ACTIVE as u32, WINDOW_BYTES, 0, RTO_MS[2], FRAGMENT_BYTES]));
        Ok(octets)
    }

    fn addresses(&self, of_peer: bool, association: i32) -> io::Result<Vec<u8>> {
        let state = self.lock();
        let peer = state.peers.iter().find(|peer| self.style == Style::One || peer.id == association);
        let address = if of_peer { peer.map(|peer| peer.address) } else { state.local };
        let Some(address) = address else { return error(libc::ENOTCONN) };
        Ok([words(&[association as u32, 1]), address::written(address, self.family)].concat())
    }
}

/// Returns the number of bytes to read from an address list: at most one address. Further addresses are not used.
pub(crate) fn list_bytes(addr_num: i32) -> usize {
    usize::try_from(addr_num).unwrap_or(0).min(ADDRESS_BYTES)
}

/// Passes a new descriptor of an endpoint to the program. Returns its number.
pub(crate) fn handed_out(near: OwnedFd, endpoint: &Arc<Endpoint>) -> io::Result<c_int> {
    if !table::insert(near.as_raw_fd(), endpoint) {
        return error(libc::EMFILE);
    }
    Ok(near.into_raw_fd())
}

/// Returns Linux's default for options that programs read before writing them, and zeros for other options.
fn default_of(name: c_int, given: &[u8]) -> Vec<u8> {
    let id = number(given, 0).unwrap_or(0) as u32;
    let mut octets = match name {
        RTOINFO => words(&[id, RTO_MS[0], RTO_MS[1], RTO_MS[2]]),
        // The values are at most ten retransmissions, one address, windows, and a cookie lifetime of one minute.
        ASSOCINFO => words(&[id, 10 | 1 << 16, WINDOW_BYTES, WINDOW_BYTES, 60_000]),
        INITMSG => [STREAMS, u16::MAX, 8, 60_000].iter().flat_map(|word| word.to_ne_bytes()).collect(),
        PEER_ADDR_PARAMS => {
            let mut octets = given.to_vec();
            octets.resize(156, 0);
            // Heartbeats are sent every 30 s, with at most five retransmissions.
            octets[132..136].copy_from_slice(&30_000_u32.to_ne_bytes());
            octets[136..138].copy_from_slice(&5_u16.to_ne_bytes());
            octets
        }
        _ => vec![0; given.len().min(KEPT_BYTES_MAX)],
    };
    octets.truncate(given.len());
    octets
}
