//! Addresses of both IP versions as numbers, as far as classification tells them apart.
use std::hash::Hash;
use std::ops::{BitAnd, BitXor, Not};

/// An address of either version as a number.
pub(super) trait Address:
    Copy + Default + Eq + Ord + Hash + BitAnd<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// The bits by which tables are left out, of an address or a mask. Those before them count as matching.
    fn window(self) -> u32;
    /// Mixes two into one.
    fn mix(src: Self, dst: Self) -> u64;
    /// A mask rounded down to one of a few lengths.
    fn round(mask: Self) -> Self;
    /// How many bits are set.
    fn ones(self) -> u32;
}

impl Address for u32 {
    #[inline(always)]
    fn window(self) -> u32 {
        self
    }

    #[inline(always)]
    fn mix(src: Self, dst: Self) -> u64 {
        let both = u64::from(src) << 32 | u64::from(dst);
        both ^ (both >> 29)
    }

    fn round(mask: Self) -> Self {
        match mask.count_ones() {
            0..8 => 0,
            8..16 => 0xff00_0000,
            16..24 => 0xffff_0000,
            24..32 => 0xffff_ff00,
            _ => Self::MAX,
        }
    }

    fn ones(self) -> u32 {
        self.count_ones()
    }
}

impl Address for u128 {
    /// What follows the first /32, where operators' and customers' prefixes differ.
    #[inline(always)]
    fn window(self) -> u32 {
        (self >> 64) as u32
    }

    #[inline(always)]
    fn mix(src: Self, dst: Self) -> u64 {
        let fold = |a: Self| (a >> 64) as u64 ^ (a as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let (src, dst) = (fold(src), fold(dst));
        (src ^ (src >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ dst
    }

    fn round(mask: Self) -> Self {
        let length = match mask.count_ones() {
            128 => 128,
            64..128 => 64,
            length => length / 8 * 8,
        };
        if length == 0 { 0 } else { Self::MAX << (128 - length) }
    }

    fn ones(self) -> u32 {
        self.count_ones()
    }
}
