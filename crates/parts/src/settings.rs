//! [`Setting`](crate::Setting) implementations for types of other crates.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::{Value, parse_span};
use ranlab_emulator::load::{N3Io, Network};
use ranlab_emulator::node::NodeKind;
use ranlab_emulator::radio::Fidelity;
use ranlab_emulator::southbound::{SourcePool, Southbound};
use ranlab_emulator::stats::SOURCES;
use ranlab_emulator::upf::{N6, XdpDevices};
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::e2sm::list::ENCODINGS;
use ranlab_sdk::wire::e2sm::{self, Encoding, MODELS};
use ranlab_sdk::wire::flat::Coding;
use ranlab_sdran::agent::ReportPeriod;
use ranlab_sdran::arrivals::{Law, Profile};
use ranlab_sdran::flexran::controller::{QueueKind, RibShare};
use ranlab_sdran_lab::flexran::ThreadUse;
use ranlab_upf::n4::{Dialect, UePool, UpfFault};

use crate::peers::Allowed;
use crate::{Setting, setting_by_text};

/// Text forms of the E2AP versions.
pub const E2AP: [&str; 3] = ["1.01", "2.03", "3.01"];

/// Returns the names of all service models.
pub fn service_models() -> Vec<&'static str> {
    MODELS.iter().map(|model| model.name()).collect()
}

/// Returns the names of the statistics that base stations report.
pub fn statistics() -> Vec<&'static str> {
    SOURCES.iter().map(|source| source.model.name()).collect()
}

/// Returns the names of the service models that are offered and watched by default.
pub fn customary_models() -> Vec<String> {
    e2sm::customary().map(|model| model.name().to_owned()).collect()
}

setting_by_text!(
    Address,
    Network,
    N3Io,
    N6,
    XdpDevices,
    UePool,
    Listen,
    Allowed,
    ranlab_sdk::e2::ric::Admission,
    crate::publish::Broker,
    Law,
    SourcePool,
    Share,
    Period,
    ranlab_sdk::e2::xapp::Dialect
);

/// Default port of E2 (O-RAN.WG3.E2GAP).
pub const E2_PORT: u16 = 36421;
/// Default port for xApps.
pub const E42_PORT: u16 = 36422;

/// Returns a TCP address on this machine.
pub fn loopback(port: u16) -> Address {
    Address::Tcp { host: "127.0.0.1".to_owned(), port }
}

/// Declares enums with a text form for each variant.
macro_rules! choices {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])+ $member:ident = $text:literal,)+ })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])+ $member,)+
        }

        impl $crate::Setting for $name {
            fn kind() -> $crate::field::KindOf {
                $crate::field::KindOf::choice(&[$($text),+])
            }
            fn from_value(value: &$crate::field::ValueOf) -> Result<Self, String> {
                match value.text() {
                    $(Some($text) => Ok(Self::$member),)+
                    _ => Err(Self::kind().allowed()),
                }
            }
            fn to_value(&self) -> Option<$crate::field::ValueOf> {
                Some(match self { $(Self::$member => $text,)+ }.into())
            }
        }
    )+};
}
pub(crate) use choices;

/// Implements text forms for enums of other crates.
macro_rules! setting_by_name {
    ($($type:ty { $($name:literal => $member:path),* $(,)? })*) => {$(
        impl $crate::Setting for $type {
            fn kind() -> $crate::field::KindOf {
                $crate::field::KindOf::choice(&[$($name),*])
            }
            fn from_value(value: &$crate::field::ValueOf) -> Result<Self, String> {
                match value.to_string().as_str() {
                    $($name => Ok($member),)*
                    _ => Err(<Self as $crate::Setting>::kind().allowed()),
                }
            }
            fn to_value(&self) -> Option<$crate::field::ValueOf> {
                Some(match self { $($member => $name),* }.into())
            }
        }
    )*};
}
setting_by_name! {
    NodeKind {
        "gnb" => Self::Gnb,
        "split" => Self::Split,
        "ng-enb" => Self::NgEnb,
        "enb" => Self::Enb,
        "mixed" => Self::Mixed,
    }
    Fidelity { "slot" => Self::Slot, "fluid" => Self::Fluid }
    QueueKind { "leaky" => Self::Leaky, "bounded" => Self::Bounded }
    ThreadUse { "per-run" => Self::PerRun, "inline" => Self::Inline }
    Southbound {
        "flexran" => Self::Flexran,
        "mosaic" => Self::Mosaic,
        "empower1" => Self::EmpowerV1,
        "empower2" => Self::EmpowerV2,
    }
    Profile {
        "marc" => Self::Marc,
        "embb" => Self::Embb,
        "mmtc" => Self::Mmtc,
        "mmtc-burst" => Self::MmtcBurst,
        "urllc" => Self::Urllc,
    }
}

/// The listening address of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// `unix`: a Unix socket in the component's private folder.
    Own,
    /// An address. The system chooses port 0.
    At(Address),
}

impl FromStr for Listen {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unix" => Ok(Self::Own),
            _ => text
                .parse()
                .map(Self::At)
                .map_err(|error: ranlab_sdk::transport::AddressError| error.to_string()),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("unix"),
            Self::At(address) => address.fmt(f),
        }
    }
}

/// Division of a FlexRAN controller's cycle: `adaptive`, or the RIB updater's share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub RibShare);

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is not a share; adaptive or 0.001 to 0.999 is allowed (0.2 is FlexRAN)");
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

/// Report period of agents: `honour` (as the controller requests) or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period(pub ReportPeriod);

impl Period {
    /// As the controller requests.
    pub const HONOUR: Self = Self(ReportPeriod::Honour);

    /// A fixed period, whatever the controller requests.
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
            (_, Some(_)) => Err("a report every 1ms is the most".to_owned()),
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

impl Setting for Dialect {
    fn kind() -> Kind {
        Kind::choice(&Self::ALL.map(|dialect| dialect.name))
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.text().and_then(Self::named).ok_or_else(|| Self::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(self.name.into())
    }
}

impl Setting for UpfFault {
    fn kind() -> Kind {
        Kind::choice(&Self::ALL.iter().map(|(_, name, _)| *name).collect::<Vec<_>>())
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.text().and_then(Self::named).ok_or_else(|| Self::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(self.name().into())
    }
}

impl Setting for Coding {
    fn kind() -> Kind {
        Kind::choice(&Self::ALL.map(Self::key))
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.text().and_then(|text| text.parse().ok()).ok_or_else(|| Self::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(self.key().into())
    }
}

impl Setting for Encoding {
    fn kind() -> Kind {
        Kind::choice(&ENCODINGS.map(Self::key))
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        let found = ENCODINGS.into_iter().find(|it| Some(it.key()) == value.text());
        found.ok_or_else(|| <Self as Setting>::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(self.key().into())
    }
}

impl Setting for Version {
    fn kind() -> Kind {
        Kind::choice(&E2AP)
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.to_string().parse().map_err(|_| Self::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(self.name().trim_start_matches("E2AP ").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that texts round-trip, and that invalid texts are rejected with the allowed values.
    fn reads<T: Setting>(written: &[&str], wrong: &[(&str, &str)]) {
        for text in written {
            let value = T::from_value(&Value::from(*text)).unwrap().to_value().unwrap();
            assert_eq!(value.to_string(), *text);
        }
        for (text, allowed) in wrong {
            let told = T::from_value(&Value::from(*text)).err().unwrap_or_default();
            assert!(told.contains(allowed), "{text}: {told}");
        }
    }

    #[test]
    fn settings_round_trip_and_errors_name_allowed_values() {
        reads::<Listen>(&["unix", "tcp://127.0.0.1:0", "unix:///run/e2"], &[("tcp:/x", "tcp:/x")]);
        reads::<Share>(
            &["adaptive", "0.2", "0.999"],
            &[("0", "0.001 to 0.999"), ("1", "0.2 is FlexRAN"), ("NaN", "adaptive")],
        );
        reads::<Period>(
            &["honour", "1ms", "2s"],
            &[("999us", "every 1ms"), ("0s", "every 1ms"), ("often", "or honour")],
        );
        reads::<NodeKind>(&["gnb", "split", "ng-enb", "enb", "mixed"], &[("bts", "ng-enb")]);
        reads::<QueueKind>(&["leaky", "bounded"], &[("endless", "bounded")]);
        reads::<ThreadUse>(&["per-run", "inline"], &[("two", "inline")]);
        reads::<Southbound>(&["flexran", "mosaic", "empower1", "empower2"], &[("empower3", "empower2")]);
        reads::<Profile>(&["marc", "embb", "mmtc", "mmtc-burst", "urllc"], &[("voice", "mmtc-burst")]);
        reads::<Dialect>(&Dialect::ALL.map(|dialect| dialect.name), &[("tr-069", Dialect::ALL[0].name)]);
        reads::<Coding>(&["per", "flat"], &[("xml", "flat")]);
        reads::<Encoding>(&["plain", "per", "flat"], &[("xml", "flat")]);
        reads::<Version>(&["1.01", "2.03", "3.01"], &[("4.00", "3.01")]);
    }
}
