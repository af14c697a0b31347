//! NR transport block sizes (TS 38.214 §5.1.3.2), computed with integers.

/// Inputs of the transport block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NrBlock {
    /// Number of allocated PRBs.
    pub prbs: u16,
    /// Number of symbols in the allocation, 1 to 14.
    pub symbols: u8,
    /// Number of DMRS resource elements per PRB, including the CDM groups without data.
    pub dmrs: u8,
    /// Overhead per PRB (xOverhead): 0, 6, 12 or 18.
    pub overhead: u8,
    /// Bits per symbol: 2, 4, 6 or 8.
    pub modulation: u8,
    /// Target code rate in units of 1/2048, because table 2 has half units of 1/1024.
    pub rate_q11: u16,
    /// Number of layers, 1 to 4.
    pub layers: u8,
    /// Scaling factor of the information bits, as a power of two: 0 for 1, 1 for ½, 2 for ¼.
    pub scaling_log2: u8,
}

/// Maximum number of resource elements that are counted per PRB.
const RE_PER_PRB_MAX: u64 = 156;

/// Returns the bits of the transport block, or zero without an allocation.
pub fn nr_tbs(block: &NrBlock) -> u32 {
    let overhead = u64::from(block.dmrs) + u64::from(block.overhead);
    let per_prb = (12 * u64::from(block.symbols)).saturating_sub(overhead).min(RE_PER_PRB_MAX);
    let elements = per_prb * u64::from(block.prbs);
    let scaled = elements * u64::from(block.rate_q11) * u64::from(block.modulation) * u64::from(block.layers);
    // Information bits, in units of 2^-fraction.
    let fraction = 11 + u32::from(block.scaling_log2.min(2));
    if scaled == 0 {
        0
    } else if scaled <= 3824 << fraction {
        small(scaled >> fraction)
    } else {
        large(scaled, fraction, block.rate_q11)
    }
}

/// Performs step 3 with the floor of the information bits, because only whole multiples of 2^n count.
fn small(bits: u64) -> u32 {
    let n = log2(bits).saturating_sub(6).max(3);
    let quantised = ((bits >> n) << n).max(24) as u16;
    let index = SIZES.partition_point(|size| *size < quantised);
    // The index cannot exceed the last entry, because quantised values are multiples of 2^n: 3824 >> 5 << 5 is 3808.
    u32::from(SIZES[index.min(SIZES.len() - 1)])
}

/// Performs step 4, with bits in units of 2^-fraction.
fn large(scaled: u64, fraction: u32, rate_q11: u16) -> u32 {
    let above = scaled - (24 << fraction);
    let n = log2(above >> fraction) - 5;
    // Half a unit is added before the cut, so that ties are rounded up as in the standard.
    let quantised = (((above + (1 << (n + fraction - 1))) >> (n + fraction)) << n).max(3840);
    let blocks = if rate_q11 <= 2048 / 4 {
        (quantised + 24).div_ceil(3816)
    } else if quantised > 8424 {
        (quantised + 24).div_ceil(8424)
    } else {
        1
    };
    // The value fits: it is at most 8 bits x 4 layers x 156 elements x 275 PRBs.
    (8 * blocks * (quantised + 24).div_ceil(8 * blocks) - 24) as u32
}

fn log2(bits: u64) -> u32 {
    bits.max(1).ilog2()
}

/// Transport block sizes of TS 38.214 Table 5.1.3.2-1.
#[rustfmt::skip]
static SIZES: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192,
    208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384,
    408, 432, 456, 480, 504, 528, 552, 576, 608, 640, 672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128,
    1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928,
    2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240,
    3368, 3496, 3624, 3752, 3824,
];
