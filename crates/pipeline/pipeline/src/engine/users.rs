//! Users. All data that a packet needs of its user is in a single cache line.
use crate::declare::{TunnelId, User};
use ranlab_packet::TokenBucket;

const NS_PER_S: u64 = 1_000_000_000;

/// State of a user.
#[repr(align(64))]
#[derive(Debug, Clone, Copy)]
pub(super) struct UserLine {
    pub(super) tunnel_key: u32,
    pub(super) tunnel: u32,
    bucket: TokenBucket<NS_PER_S>,
    /// Bytes that passed the meter, by ingress port.
    bytes: [u64; 2],
    /// Packets that passed the meter, by ingress port. The counters wrap.
    packets: [u32; 2],
}

const _: () = assert!(size_of::<UserLine>() == 64);

impl UserLine {
    pub(super) fn new(user: &User) -> Self {
        let depth = u64::from(user.burst_bytes) * NS_PER_S;
        let TunnelId(tunnel) = user.tunnel;
        Self {
            tunnel_key: user.tunnel_key,
            tunnel,
            bucket: TokenBucket::new(user.rate_bytes_per_s, depth),
            bytes: [0; 2],
            packets: [0; 2],
        }
    }

    /// Takes tokens for `bytes` from the bucket, if it has enough. Returns whether the packet passes.
    #[inline(always)]
    pub(super) fn charge(&mut self, now_ns: u64, bytes: u16, ingress: usize) -> bool {
        let passes = self.bucket.charge(now_ns, bytes.into());
        let ingress = ingress & 1;
        self.bytes[ingress] += if passes { bytes.into() } else { 0 };
        self.packets[ingress] = self.packets[ingress].wrapping_add(passes.into());
        passes
    }

    pub(super) fn usage(&self) -> UserUsage {
        UserUsage { bytes: self.bytes, packets: self.packets }
    }
}

/// Traffic that passed a user's meter, by ingress port (access, core).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserUsage {
    /// Bytes of IP packets.
    pub bytes: [u64; 2],
    /// Packets, modulo 2^32.
    pub packets: [u32; 2],
}
