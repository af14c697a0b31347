//! Services with the parameters of the specifications.
use super::{Channel, Law, PopulationConfig};
use std::time::Duration;

/// Service whose UEs arrive and leave. Each variant names the source of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// eMBB of MARC, according to its configuration file. UEs are activated after 10 s on average, and stay for 500 s.
    #[default]
    Marc,
    /// Enhanced mobile broadband: file transfers as a Poisson process (FTP model 3, TR 38.802 annex A.2), 10 UEs per
    /// transmission point (TR 38.913 §6.1).
    Embb,
    /// Massive machine-type communication in steady state, with one message of 32 octets every 2 h (TR 38.913 §7.17).
    Mmtc,
    /// Massive machine-type communication after an outage. All devices are activated within 10 s, with distribution Beta(3, 4) (TR 37.868
    /// §6.1).
    MmtcBurst,
    /// Ultra-reliable low latency communication. It is periodic and long-lived, with 32 to 200 octets (TR 38.802 annex A.2).
    Urllc,
}

impl Profile {
    /// Returns the population of the service.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Population;

    #[test]
    fn every_service_has_valid_laws_and_events() {
        let all = [Profile::Marc, Profile::Embb, Profile::Mmtc, Profile::MmtcBurst, Profile::Urllc];
        for profile in all {
            let config = profile.population(20, 1);
            assert_eq!((config.activation.check(), config.holding.check()), (Ok(()), Ok(())));
            assert!(Population::new(config).take(20).count() == 20);
        }
    }
}
