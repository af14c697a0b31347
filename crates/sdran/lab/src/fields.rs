//! Parses and formats the setting types of FlexRAN and 5G-EmPOWER.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::fleet::Protocol;
use crate::flexran::ThreadUse;
use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::{Value, parse_span};
use ranlab_sdran::agent::ReportPeriod;
use ranlab_sdran::arrivals::Profile;
use ranlab_sdran::flexran::controller::{QueueKind, RibShare};

use ranlab_lab::{names, setting_by_text};

setting_by_text!(Share, Period);

/// Text form of the enums of FlexRAN and 5G-EmPOWER.
#[derive(Debug)]
pub enum SdranNames {}

names! { SdranNames:
    QueueKind { "leaky" => QueueKind::Leaky, "bounded" => QueueKind::Bounded }
    ThreadUse { "per-run" => ThreadUse::PerRun, "inline" => ThreadUse::Inline }
    Protocol {
        "flexran" => Protocol::Flexran,
        "mosaic" => Protocol::Mosaic,
        "empower1" => Protocol::EmpowerV1,
        "empower2" => Protocol::EmpowerV2,
    }
    Profile {
        "marc" => Profile::Marc,
        "embb" => Profile::Embb,
        "mmtc" => Profile::Mmtc,
        "mmtc-burst" => Profile::MmtcBurst,
        "urllc" => Profile::Urllc,
    }
}

/// Division of a FlexRAN controller's cycle between RIB updater and applications. The text is `adaptive`, or the share of the RIB updater.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub RibShare);

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("\"{text}\" is not a share; expected adaptive or 0.001 to 0.999 (0.2 is FlexRAN's share)")
        };
        if text == "adaptive" {
            return Ok(Self(RibShare::Adaptive));
        }
        let share = text.parse::<f64>().ok().filter(|share| (0.001..=0.999).contains(share));
        share.map(|share| Self(RibShare::Fixed(share))).ok_or_else(wrong)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            RibShare::Fixed(share) => share.fmt(f),
            RibShare::Adaptive => f.write_str("adaptive"),
        }
    }
}

/// Report period of agents. The text is `honour`, for the period that the controller requests, or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period(pub ReportPeriod);

impl Period {
    /// Period that the controller requests.
    pub const HONOUR: Self = Self(ReportPeriod::Honour);

    /// Returns a fixed period, which does not depend on the controller's request.
    pub const fn every(time: Duration) -> Self {
        Self(ReportPeriod::Override(time))
    }
}

impl FromStr for Period {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match (text, parse_span(text)) {
            ("honour", _) => Ok(Self::HONOUR),
            (_, Some(period)) if period >= Duration::from_millis(1) => Ok(Self::every(period)),
            (_, Some(_)) => Err("the period must be at least 1ms".to_owned()),
            (_, None) => Err(format!("{}, or honour", Kind::Span.allowed())),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ReportPeriod::Honour => f.write_str("honour"),
            ReportPeriod::Override(period) => Value::Span(period).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_lab::field::Same;
    use ranlab_lab::field::testing::reads;

    #[test]
    fn sdran_names_round_trip_and_errors_list_allowed_values() {
        reads::<Same, Share>(
            &["adaptive", "0.2", "0.999"],
            &[("0", "0.001 to 0.999"), ("1", "0.2 is FlexRAN's share"), ("NaN", "adaptive")],
        );
        reads::<Same, Period>(
            &["honour", "1ms", "2s"],
            &[
                ("999us", "period must be at least 1ms"),
                ("0s", "period must be at least 1ms"),
                ("often", "or honour"),
            ],
        );
        reads::<SdranNames, QueueKind>(&["leaky", "bounded"], &[("endless", "bounded")]);
        reads::<SdranNames, ThreadUse>(&["per-run", "inline"], &[("two", "inline")]);
        reads::<SdranNames, Protocol>(
            &["flexran", "mosaic", "empower1", "empower2"],
            &[("empower3", "empower2")],
        );
        reads::<SdranNames, Profile>(
            &["marc", "embb", "mmtc", "mmtc-burst", "urllc"],
            &[("voice", "mmtc-burst")],
        );
    }
}
