use ranlab_machine::Random;
use serde::{Deserialize, Serialize};

/// Length of the frame check sequence in bytes, which frames of a trace do not contain.
pub const FCS_BYTES: u16 = 4;

/// Distribution of packets over flows.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Popularity {
    /// All flows have the same probability.
    #[default]
    Uniform,
    /// The probability of flow n is proportional to n^-exponent, with n from 1.
    Zipf {
        /// Exponent of the distribution, from 0 (uniform) to 4.
        exponent: f64,
    },
}

/// Distribution of packet lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sizes {
    /// All packets have the length `pkt-size`.
    #[default]
    Fixed,
    /// Simple IMIX (RFC 6985): 7 frames of 64 bytes, 4 frames of 594 and 1 frame of 1518. These lengths are on the wire
    /// and include [`FCS_BYTES`] of frame check sequence. The longest frame has an IP packet of 1,500 bytes.
    Imix,
}

impl Sizes {
    pub(super) fn pick(self, fixed: u16, random: &mut Random) -> u16 {
        match self {
            Self::Fixed => fixed,
            Self::Imix => match random.below(12) {
                0..7 => 64 - FCS_BYTES,
                7..11 => 594 - FCS_BYTES,
                _ => 1518 - FCS_BYTES,
            },
        }
    }
}

/// Selects flows.
pub(super) enum Picker {
    Uniform(u64),
    /// Cumulative weights of the flows.
    Zipf(Vec<f64>),
}

impl Picker {
    /// Creates a picker. Returns `None` if the exponent is not a number from 0 to 4.
    pub(super) fn new(popularity: Popularity, flows: u64) -> Option<Self> {
        let Popularity::Zipf { exponent } = popularity else {
            return Some(Self::Uniform(flows));
        };
        if !(0.0..=4.0).contains(&exponent) {
            return None;
        }
        let mut total = 0.0;
        let weights = (1..=flows).map(|n| {
            total += (n as f64).powf(-exponent);
            total
        });
        Some(Self::Zipf(weights.collect()))
    }

    pub(super) fn pick(&self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform(flows) => random.below(*flows),
            Self::Zipf(weights) => {
                let at = random.unit() * weights.last().copied().unwrap_or(0.0);
                weights.partition_point(|&w| w <= at).min(weights.len().saturating_sub(1)) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_selects_flows_in_proportion_to_their_rank() {
        let picker = Picker::new(Popularity::Zipf { exponent: 1.0 }, 1000).unwrap();
        let mut random = Random::stream(3, 0);
        let mut hits = vec![0_u32; 1000];
        (0..100_000).for_each(|_| hits[picker.pick(&mut random) as usize] += 1);
        // The share of the first flow is 1 / H(1000) = 13.36 %.
        assert!((12_900..13_800).contains(&hits[0]), "{}", hits[0]);
        assert!((6_300..7_100).contains(&hits[1]), "{}", hits[1]);
        assert!(Picker::new(Popularity::Zipf { exponent: f64::NAN }, 10).is_none());
    }

    #[test]
    fn imix_has_three_frame_lengths_in_proportion() {
        let mut random = Random::stream(3, 0);
        let sizes: Vec<u16> = (0..12_000).map(|_| Sizes::Imix.pick(64, &mut random)).collect();
        let count = |size| sizes.iter().filter(|&&s| s == size).count();
        assert_eq!(count(60) + count(590) + count(1514), 12_000);
        assert!((6_700..7_300).contains(&count(60)) && (850..1_150).contains(&count(1514)));
    }
}
