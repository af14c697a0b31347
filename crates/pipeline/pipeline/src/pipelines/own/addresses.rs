//! Text forms of addresses and ranges.
use crate::declare::{Prefix4, Prefix6, TcpFlags};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A prefix of either IP version. A text without a length is a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipelines) enum AnyPrefix {
    V4(Prefix4),
    V6(Prefix6),
}

impl FromStr for AnyPrefix {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().map_err(drop)?)),
            None => (text, None),
        };
        match address.parse::<IpAddr>().map_err(drop)? {
            IpAddr::V4(address) => {
                let length = Some(length.unwrap_or(32)).filter(|length| *length <= 32).ok_or(())?;
                Ok(Self::V4(Prefix4 { address, length }))
            }
            IpAddr::V6(address) => {
                let length = Some(length.unwrap_or(128)).filter(|length| *length <= 128).ok_or(())?;
                Ok(Self::V6(Prefix6 { address, length }))
            }
        }
    }
}

impl AnyPrefix {
    pub(super) const fn length(self) -> u8 {
        match self {
            Self::V4(prefix) => prefix.length,
            Self::V6(prefix) => prefix.length,
        }
    }

    /// Returns the sub-prefix of `length` bits whose additional bits are `number`.
    pub(super) fn sub_prefix(self, length: u8, number: u64) -> Self {
        match self {
            Self::V4(Prefix4 { address, .. }) => {
                let mask = Prefix4 { address, length: self.length() }.mask();
                let number = number.checked_shl(u32::from(32 - length.min(32))).unwrap_or(0) as u32;
                Self::V4(Prefix4 {
                    address: Ipv4Addr::from_bits((address.to_bits() & mask) | (number & !mask)),
                    length,
                })
            }
            Self::V6(Prefix6 { address, .. }) => {
                let mask = Prefix6 { address, length: self.length() }.mask();
                let number = u128::from(number).checked_shl(u32::from(128 - length.min(128))).unwrap_or(0);
                Self::V6(Prefix6 {
                    address: Ipv6Addr::from_bits((address.to_bits() & mask) | (number & !mask)),
                    length,
                })
            }
        }
    }

    /// Returns the address of the prefix.
    pub(super) const fn address(self) -> IpAddr {
        match self {
            Self::V4(prefix) => IpAddr::V4(prefix.address),
            Self::V6(prefix) => IpAddr::V6(prefix.address),
        }
    }
}

/// A port or range: `80` or `1024-65535`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports(pub(super) u16, pub(super) u16);

impl FromStr for Ports {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().map_err(drop);
        let low = port(low)?;
        let high = port(high)?;
        if low <= high { Ok(Self(low, high)) } else { Err(()) }
    }
}

/// TCP flags: value and mask such as `0x002/0x012`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags(pub(super) TcpFlags);

impl FromStr for Flags {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (value, mask) = text.split_once('/').ok_or(())?;
        let number = |text: &str| {
            let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or(())?;
            u16::from_str_radix(digits, 16).map_err(drop)
        };
        Ok(Self(TcpFlags { value: number(value)?, mask: number(mask)? }))
    }
}

/// A protocol: `tcp`, `udp`, `icmp` or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProtocolName(pub(super) u8);

impl FromStr for ProtocolName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(Self(match text {
            "icmp" => 1,
            "tcp" => 6,
            "udp" => 17,
            number => number.parse().map_err(drop)?,
        }))
    }
}

/// Returns element `index` of a permutation of the numbers below 2^`bits`, determined by a seed.
pub(super) const fn shuffled(index: u64, bits: u32, seed: u64) -> u64 {
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut random = ranlab_machine::Random::stream(seed, 0x0000_6f77_6e21);
    // An odd factor is invertible modulo a power of two, so the result is a permutation.
    let factor = random.next() | 1;
    let offset = random.next();
    index.wrapping_mul(factor).wrapping_add(offset) & mask
}
