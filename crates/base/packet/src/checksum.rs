//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// Returns the one's complement sum of 16-bit big-endian words, not yet complemented. An odd last byte is padded with
/// zero.
#[must_use]
pub fn sum(bytes: &[u8], initial: u32) -> u32 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&octet| u64::from(octet) << 8);
    let total =
        words.map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum::<u64>() + last + u64::from(initial);
    fold64(total)
}

/// Returns the checksum of `bytes`, in which the checksum field itself must be zero.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    !fold(sum(bytes, 0))
}

/// Checks whether the checksum of `bytes`, including the checksum field, is valid (RFC 1071 §1).
#[must_use]
pub fn verifies(bytes: &[u8]) -> bool {
    fold(sum(bytes, 0)) == 0xffff
}

/// Folds the carries of a sum into 16 bits.
#[must_use]
pub const fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Returns the checksum after one 16-bit word changed from `old` to `new` (RFC 1624 equation 3). The shorter form of
/// RFC 1141 is not used, because it can yield 0xffff instead of 0.
#[must_use]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(!checksum as u32 + !old as u32 + new as u32)
}

/// Like [`update`], for a 32-bit field at an even offset.
#[must_use]
pub const fn update32(checksum: u16, old: u32, new: u32) -> u16 {
    let high = update(checksum, (old >> 16) as u16, (new >> 16) as u16);
    update(high, old as u16, new as u16)
}

/// Returns the sum of the pseudo header of UDP and TCP over IPv4 (RFC 768, RFC 9293 §3.1).
#[must_use]
pub fn pseudo_ipv4(src: [u8; 4], dst: [u8; 4], protocol: u8, length: u16) -> u32 {
    sum(&dst, sum(&src, u32::from(protocol) + u32::from(length)))
}

/// Returns the sum of the pseudo header over IPv6 (RFC 8200 §8.1).
#[must_use]
pub fn pseudo_ipv6(src: [u8; 16], dst: [u8; 16], protocol: u8, length: u32) -> u32 {
    sum(&dst, sum(&src, u32::from(protocol) + (length >> 16) + (length & 0xffff)))
}

const fn fold64(mut total: u64) -> u32 {
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u32
}
