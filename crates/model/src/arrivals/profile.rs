//! Services with the numbers of the specifications.
use super::{Channel, Law, PopulationConfig};
use std::str::FromStr;
use std::time::Duration;

/// Packets of a service's UE while it is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Least octets.
    pub least_bytes: u32,
    /// Most octets; between them Pareto with a shape of 2.5 where TR 45.820 says so.
    pub most_bytes: u32,
}

/// A service. Each says where its numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// MARC's eMBB (its configuration file): activation after 10 s on average, 500 s long.
    #[default]
    Marc,
    /// Enhanced mobile broadband: file transfers as a Poisson process (FTP model 3, TR 38.802 annex A.2), 10 UEs per
    /// transmission point (TR 38.913 §6.1).
    Embb,
    /// Massive machine-type communication, steady: one message of 32 octets every 2 h (TR 38.913 §7.17).
    Mmtc,
    /// Massive machine-type communication after an outage: all devices within 10 s, Beta(3, 4) (TR 37.868 §6.1).
    MmtcBurst,
    /// Ultra-reliable low latency: periodical and long-lived, 32 to 200 octets (TR 38.802 annex A.2).
    Urllc,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Marc, Self::Embb, Self::Mmtc, Self::MmtcBurst, Self::Urllc];

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Marc => "marc",
            Self::Embb => "embb",
            Self::Mmtc => "mmtc",
            Self::MmtcBurst => "mmtc-burst",
            Self::Urllc => "urllc",
        }
    }

    /// UEs of a base station, unless somebody says otherwise.
    pub const fn ues(self) -> u32 {
        match self {
            Self::Marc | Self::Embb => 10,
            Self::Mmtc => 1_000,
            Self::MmtcBurst => 30_000,
            Self::Urllc => 20,
        }
    }

    /// Packets of an active UE.
    pub const fn packets(self) -> Packets {
        let (least_bytes, most_bytes) = match self {
            Self::Marc | Self::Embb => (500_000, 500_000),
            Self::Mmtc | Self::MmtcBurst => (20, 200),
            Self::Urllc => (32, 200),
        };
        Packets { least_bytes, most_bytes }
    }

    /// The laws.
    pub fn population(self, ues: u32, seed: u64) -> PopulationConfig {
        let s = Duration::from_secs;
        let marc = PopulationConfig::marc(ues, seed);
        match self {
            Self::Marc => marc,
            Self::Embb => PopulationConfig {
                activation: Law::Exponential(s(5)),
                holding: Law::LogNormal(s(4), 1.0),
                channel: Channel::Walk,
                ..marc
            },
            Self::Mmtc => PopulationConfig {
                activation: Law::Exponential(s(7_200)),
                holding: Law::Constant(s(10)),
                channel: Channel::Drawn,
                ..marc
            },
            Self::MmtcBurst => PopulationConfig {
                activation: Law::Beta(3.0, 4.0, s(10)),
                holding: Law::Constant(s(10)),
                channel: Channel::Drawn,
                again: false,
                ..marc
            },
            Self::Urllc => PopulationConfig {
                activation: Law::Uniform(Duration::ZERO, s(1)),
                holding: Law::Weibull(1.0, s(3_600)),
                channel: Channel::Drawn,
                ..marc
            },
        }
    }
}

/// No service of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no service; marc, embb, mmtc, mmtc-burst and urllc are allowed")]
pub struct UnknownProfile(String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.name() == text)
            .ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Population;

    #[test]
    fn every_service_has_a_name_laws_that_hold_and_events() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
            let config = profile.population(20, 1);
            assert_eq!((config.activation.check(), config.holding.check()), (Ok(()), Ok(())));
            assert!(Population::new(config).take(20).count() == 20);
            assert!(profile.packets().least_bytes <= profile.packets().most_bytes && profile.ues() > 0);
        }
        assert!("voice".parse::<Profile>().unwrap_err().to_string().contains("urllc"));
    }
}
