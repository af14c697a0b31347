//! The channel of a UE: its SINR in each slot.

use std::sync::Arc;

use super::math::{bessel_j0, from_db};
use super::mcs::Decoder;
use super::random::{Purpose, Stream};

/// Behaviour of a UE's SINR over time.
#[derive(Debug, Clone, PartialEq)]
pub enum Channel {
    /// A constant MCS without link adaptation.
    Fixed {
        /// MCS of both directions.
        mcs: u8,
        /// Share of first transmissions that fail, 0 to 0.99. Retransmissions are combined with earlier ones (chase
        /// combining).
        bler: f32,
    },
    /// Rayleigh fading around a mean, as an autoregressive process of order one.
    Fading {
        /// Mean SINR of the downlink in dB, -30 to 60.
        mean_db: f32,
        /// Correlation of the amplitude from slot to slot, from 0 to less than 1; see [`jakes`].
        correlation: f32,
    },
    /// A repeated sequence of SINR values, each of which applies to a number of slots.
    Trace {
        /// SINR values in dB, each -30 to 60; at least one value.
        sinr_db: Arc<[f32]>,
        /// Number of slots per value, at least one.
        slots: u32,
    },
}

/// Returns the correlation of the amplitude after `seconds` at a speed, in Jakes' model: J0(2π·v·fc/c·t), but at
/// least zero.
pub fn jakes(speed_kmh: f64, carrier_ghz: f64, seconds: f64) -> f64 {
    let doppler_hz = speed_kmh / 3.6 * carrier_ghz * 1e9 / 2.997_924_58e8;
    let argument = core::f64::consts::TAU * doppler_hz * seconds;
    // After its first root the function oscillates around zero, so the samples are treated as independent.
    if argument < 2.4 { bessel_j0(argument).max(0.0) } else { 0.0 }
}

/// Reason why a channel is invalid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The carrier's MCS table does not contain the MCS.
    #[error("the MCS is {given}; 0 to {highest} is allowed")]
    Mcs {
        /// Given MCS.
        given: u8,
        /// Highest MCS of the carrier's table.
        highest: u8,
    },
    /// A parameter is not a number, or is out of bounds.
    #[error("{what} is {given}; {allowed} is allowed")]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// Given value.
        given: f32,
        /// Allowed range.
        allowed: &'static str,
    },
    /// The trace is empty.
    #[error("a trace of SINR must have at least one value, and each value must apply to at least one slot")]
    EmptyTrace,
}

impl Channel {
    /// Checks that the channel is valid on a carrier with this highest MCS.
    pub fn check(&self, highest: u8) -> Result<(), ChannelError> {
        let number = |what, given: f32, range: std::ops::Range<f32>, allowed| {
            if range.contains(&given) { Ok(()) } else { Err(ChannelError::Number { what, given, allowed }) }
        };
        let sinr = |given| number("the SINR in dB", given, -30.0..60.001, "-30 to 60");
        match self {
            Self::Fixed { mcs, bler } => {
                if *mcs > highest {
                    return Err(ChannelError::Mcs { given: *mcs, highest });
                }
                number("the block error rate", *bler, 0.0..0.991, "0 to 0.99")
            }
            Self::Fading { mean_db, correlation } => {
                sinr(*mean_db)?;
                number("the correlation", *correlation, 0.0..1.0, "0 to 1, one excluded,")
            }
            Self::Trace { sinr_db, slots } => {
                if sinr_db.is_empty() || *slots == 0 {
                    return Err(ChannelError::EmptyTrace);
                }
                sinr_db.iter().try_for_each(|db| sinr(*db))
            }
        }
    }
}

/// State of a channel. SINR values are factors, not dB.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// Current SINR of the downlink.
    pub(crate) sinr: f32,
    /// MCS if link adaptation is off.
    pub(crate) fixed_mcs: Option<u8>,
    mean: f32,
    amplitude: (f32, f32),
    correlation: f32,
    innovation: f32,
    stream: Stream,
    trace: Option<(Arc<[f32]>, u64)>,
}

impl Link {
    /// Creates the channel of the UE `ue`. The decoder gives the SINR that belongs to a fixed MCS.
    pub(crate) fn new(channel: &Channel, decoder: &Decoder, seed: u64, ue: u64) -> Self {
        let stream = Stream::new(seed, Purpose::Fading, ue);
        let mut link = Self {
            sinr: 1.0,
            fixed_mcs: None,
            mean: 1.0,
            amplitude: (0.0, 0.0),
            correlation: 0.0,
            innovation: 0.0,
            stream,
            trace: None,
        };
        match channel {
            Channel::Fixed { mcs, bler } => {
                link.fixed_mcs = Some(*mcs);
                link.sinr =
                    if *bler > 0.0 { decoder.sinr_for(*mcs, f64::from(*bler)) } else { from_db(60.0) as f32 };
            }
            Channel::Fading { mean_db, correlation } => {
                link.mean = from_db(f64::from(*mean_db)) as f32;
                link.correlation = *correlation;
                link.innovation = ((1.0 - correlation * correlation) / 2.0).sqrt();
                let (re, im) = stream.normals(u64::MAX);
                link.amplitude =
                    (re * core::f32::consts::FRAC_1_SQRT_2, im * core::f32::consts::FRAC_1_SQRT_2);
                link.sinr = link.mean * (link.amplitude.0.powi(2) + link.amplitude.1.powi(2));
            }
            Channel::Trace { sinr_db, slots } => {
                let factors: Arc<[f32]> = sinr_db.iter().map(|db| from_db(f64::from(*db)) as f32).collect();
                link.sinr = factors.first().copied().unwrap_or(1.0);
                link.trace = Some((factors, u64::from(*slots)));
            }
        }
        link
    }

    /// Computes the SINR of a slot. Slots must be processed one by one, because skipping a slot would use other
    /// random numbers.
    pub(crate) fn advance(&mut self, slot: u64) {
        self.advance_by(slot, (self.correlation, self.innovation));
    }

    /// Computes the SINR of a slot, given the correlation and innovation since the previous requested slot.
    pub(crate) fn advance_by(&mut self, slot: u64, since: (f32, f32)) {
        if self.innovation > 0.0 {
            (self.amplitude, self.sinr) = self.aged(self.amplitude, since, self.stream.normals(slot));
        } else if let Some((factors, slots)) = &self.trace {
            self.sinr = factors[(slot / slots) as usize % factors.len()];
        }
    }

    /// Returns the current amplitude, for [`aged`](Self::aged).
    pub(crate) fn amplitude(&self) -> (f32, f32) {
        self.amplitude
    }

    /// Returns amplitude and SINR some slots after `amplitude`, given the correlation and innovation over these slots
    /// and new random numbers.
    pub(crate) fn aged(
        &self,
        amplitude: (f32, f32),
        aging: (f32, f32),
        fresh: (f32, f32),
    ) -> ((f32, f32), f32) {
        if self.innovation <= 0.0 {
            return (amplitude, self.sinr);
        }
        let re = aging.0 * amplitude.0 + aging.1 * fresh.0;
        let im = aging.0 * amplitude.1 + aging.1 * fresh.1;
        ((re, im), self.mean * (re * re + im * im))
    }

    /// Sets the mean SINR, which depends on path loss and interference.
    pub(crate) fn set_mean(&mut self, mean: f32) {
        self.mean = mean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_plane::McsTable;

    #[test]
    fn jakes_correlation_matches_bessel_function() {
        for (kmh, ghz, seconds, value) in [
            (3.0, 3.5, 5e-4, 0.999_766_47),
            (30.0, 3.5, 1e-3, 0.908_740_94),
            (120.0, 2.6, 5e-4, 0.804_183_26),
            (120.0, 2.6, 1e-3, 0.330_448_13),
        ] {
            let found = jakes(kmh, ghz, seconds);
            assert!((found - value).abs() < 1e-7, "{kmh} km/h: {found}");
        }
        assert_eq!(jakes(500.0, 6.0, 1e-2), 0.0);
    }

    #[test]
    fn fading_power_has_exponential_distribution_and_squared_correlation() {
        let decoder = Decoder::new(McsTable::Qam64);
        let fading = Channel::Fading { mean_db: 10.0, correlation: 0.9 };
        let mut link = Link::new(&fading, &decoder, 1, 1);
        let powers: Vec<f64> = (0..400_000)
            .map(|slot| {
                link.advance(slot);
                f64::from(link.sinr)
            })
            .collect();
        let mean = powers.iter().sum::<f64>() / powers.len() as f64;
        assert!((mean - 10.0).abs() < 0.25, "mean {mean}");
        let variance = powers.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / powers.len() as f64;
        assert!((variance / (mean * mean) - 1.0).abs() < 0.06, "variance {variance}");
        let lag = powers.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / powers.len() as f64;
        assert!((lag / variance - 0.81).abs() < 0.02, "correlation {}", lag / variance);
        let above = powers.iter().filter(|p| **p > 3.0 * mean).count() as f64 / powers.len() as f64;
        assert!((above - (-3.0_f64).exp()).abs() < 0.004, "P(power > 3 means) = {above}");
    }

    #[test]
    fn fixed_mcs_blocks_fail_at_configured_rate() {
        let decoder = Decoder::new(McsTable::Qam64);
        let link = Link::new(&Channel::Fixed { mcs: 20, bler: 0.1 }, &decoder, 1, 1);
        let stream = Stream::new(1, Purpose::DecodeDown, 1);
        let failed = (0..100_000).filter(|slot| !decoder.decodes(20, link.sinr, stream.bits(*slot))).count();
        assert!((9_500..10_500).contains(&failed), "{failed} of 100000");
        let second =
            (0..100_000).filter(|slot| !decoder.decodes(20, 2.0 * link.sinr, stream.bits(*slot))).count();
        assert_eq!(second, 0, "no block may fail with 3 dB more");
    }
}
