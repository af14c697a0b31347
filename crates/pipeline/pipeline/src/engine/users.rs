//! Users: everything that a packet needs of a user is in a single cache line.
use crate::declare::{TunnelId, User};

const NS_PER_S: u64 = 1_000_000_000;

/// State of a user.
#[repr(align(64))]
#[derive(Debug, Clone, Copy)]
pub(super) struct UserLine {
    pub(super) tunnel_key: u32,
    pub(super) tunnel: u32,
    /// Tokens are bytes times nanoseconds per second, which avoids division and rounding.
    tokens: u64,
    depth: u64,
    rate_bytes_per_s: u64,
    last_ns: u64,
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
            tokens: depth,
            depth,
            rate_bytes_per_s: user.rate_bytes_per_s,
            last_ns: 0,
            bytes: [0; 2],
            packets: [0; 2],
        }
    }

    /// Takes tokens for `bytes`, if there are enough. Returns whether there were.
    #[inline(always)]
    pub(super) fn charge(&mut self, now_ns: u64, bytes: u16, ingress: usize) -> bool {
        let earned = now_ns.saturating_sub(self.last_ns).saturating_mul(self.rate_bytes_per_s);
        // Saturation is above any depth, so the result is exact.
        let tokens = self.tokens.saturating_add(earned).min(self.depth);
        self.last_ns = self.last_ns.max(now_ns);
        let price = u64::from(bytes) * NS_PER_S;
        let passes = price <= tokens;
        self.tokens = if passes { tokens - price } else { tokens };
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
