//! Hash function for numbers that the endpoints of N4 assign themselves. One multiplication suffices, because a peer without an association
//! cannot choose the numbers.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::net::SocketAddr;

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hasher; see the [module](self).
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(ODD);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Number of bits of a TEID that are its table index, if the UPF chooses TEIDs. They cover twice the default maximum number of sessions.
pub(super) const PLACE_BITS: u32 = 21;

/// Uplink TEID. Its lower bits are a table index that is reused, and the upper bits count the uses. Only the index is hashed, so a new
/// tunnel is stored where an earlier one was. That memory is still in the CPU cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Teid(pub u32);

impl Hash for Teid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.0 & ((1 << PLACE_BITS) - 1));
    }
}

pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Returns a number for a socket address.
pub(super) fn address(of: SocketAddr) -> u64 {
    let ip = match of {
        SocketAddr::V4(v4) => u64::from(u32::from(*v4.ip())),
        SocketAddr::V6(v6) => {
            let ip = u128::from(*v6.ip());
            (ip >> 64) as u64 ^ (ip as u64).rotate_left(17)
        }
    };
    let mixed = (ip ^ (u64::from(of.port()) << 40)).wrapping_mul(ODD);
    mixed ^ (mixed >> 32)
}
