//! Resource block groups (RBGs), which are the unit of scheduling decisions and slices.

use std::ops::RangeInclusive;

/// Returns the number of resource blocks per group for a cell bandwidth of `prbs` according to TS 36.213 table 7.1.6.1-1. Above 110, the
/// maximum of LTE, TS 38.214 table 5.1.2.2.1-1 applies with configuration 1. The groups of every cell fit into a bitmap of 32 bits.
pub const fn rbg_prbs(prbs: u16) -> u16 {
    match prbs {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        64..=110 => 4,
        111..=144 => 8,
        _ => 16,
    }
}

/// Returns the number of groups for a cell bandwidth of `prbs`. The last group may be smaller than the others.
pub const fn rbgs(prbs: u16) -> u16 {
    prbs.div_ceil(rbg_prbs(prbs))
}

/// Returns the resource blocks of groups `low` to `high`, or `None` if the cell does not have all of these groups.
pub fn prbs_of_groups(prbs: u16, low: u32, high: u32) -> Option<RangeInclusive<u16>> {
    let low = u16::try_from(low).ok()?;
    let high = u16::try_from(high).ok()?;
    if low > high || high >= rbgs(prbs) {
        return None;
    }
    let size = rbg_prbs(prbs);
    Some(low * size..=((high + 1) * size).min(prbs) - 1)
}

/// Returns the number of resource blocks in the groups of a bitmap. Bit 0 is the lowest group. Returns `None` if the cell does not have all
/// of these groups.
pub fn prbs_of_bitmap(prbs: u16, bitmap: u32) -> Option<u16> {
    let groups = u32::from(rbgs(prbs));
    if groups < 32 && bitmap >> groups != 0 {
        return None;
    }
    let bits = (0..groups).filter(|group| bitmap & (1 << group) != 0);
    Some(bits.filter_map(|group| prbs_of_groups(prbs, group, group)).map(|range| range.len() as u16).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_block_group_sizes_match_3gpp_tables() {
        // With 25 and 50 PRBs, the last group is smaller.
        assert_eq!((rbg_prbs(25), rbgs(25), rbg_prbs(50), rbgs(50)), (2, 13, 3, 17));
        assert_eq!((rbgs(100), rbgs(106), rbgs(273)), (25, 27, 18));
        assert!((1..=275).all(|prbs| rbgs(prbs) <= 32));
        assert_eq!(prbs_of_groups(25, 0, 3), Some(0..=7));
        assert_eq!(prbs_of_groups(25, 12, 12), Some(24..=24));
        assert_eq!(prbs_of_groups(106, 26, 26), Some(104..=105));
        for (low, high) in [(3, 2), (0, 13), (13, 13), (0, u32::MAX)] {
            assert_eq!(prbs_of_groups(25, low, high), None, "{low} to {high}");
        }
        assert_eq!((prbs_of_bitmap(25, 0x1fff), prbs_of_bitmap(25, 0x1001)), (Some(25), Some(3)));
        assert_eq!((prbs_of_bitmap(25, 0), prbs_of_bitmap(25, 0x2000)), (Some(0), None));
    }
}
