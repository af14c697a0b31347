//! Addresses of both IP versions as numbers for classification.
use std::hash::Hash;
use std::ops::{BitAnd, BitXor, Not};

/// An address of either version as a number.
pub(super) trait Address:
    Copy + Default + Eq + Ord + Hash + BitAnd<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// Returns the bits of an address or mask that are used for pruning. All preceding bits are assumed to match.
    fn window(self) -> u32;
    /// Combines two addresses into a hash value.
    fn mix(src: Self, dst: Self) -> u64;
    /// Rounds a mask down to one of a few lengths.
    fn round(mask: Self) -> Self;
    /// Returns the number of set bits.
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
    /// The window contains the second 32 bits, because the prefixes of operators and customers differ there.
    #[inline(always)]
    fn window(self) -> u32 {
        (self >> 64) as u32
    }

    #[inline(always)]
    fn mix(src: Self, dst: Self) -> u64 {
        let fold = |a: Self| (a >> 64) as u64 ^ (a as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let src = fold(src);
        let dst = fold(dst);
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
