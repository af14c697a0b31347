//! Types of fields that come from the crates below: how people write them.

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::Value;
use ranlab_emulator::load::{N3Io, Network};
use ranlab_emulator::node::NodeKind;
use ranlab_emulator::stats::SOURCES;
use ranlab_emulator::upf::{N6, XdpDevices};
use ranlab_machines::n4::Dialect;
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::e2sm::{self, MODELS};

use crate::{Setting, setting_by_choice, setting_by_text};

/// Versions of E2AP, as people write them.
pub const E2AP: [&str; 3] = ["1.01", "2.03", "3.01"];

/// Names of the service models.
pub fn service_models() -> Vec<&'static str> {
    MODELS.iter().map(|model| model.name()).collect()
}

/// Names of the statistics that base stations tell.
pub fn statistics() -> Vec<&'static str> {
    SOURCES.iter().map(|source| source.model.name()).collect()
}

/// Names of the service models that are offered and watched unless others are named.
pub fn customary_models() -> Vec<String> {
    e2sm::customary().map(|model| model.name().to_owned()).collect()
}

setting_by_choice! {
    NodeKind = ["gnb", "split", "ng-enb", "enb", "mixed"],
}
setting_by_text!(Address, Network, N3Io, N6, XdpDevices);

/// Closed sets of our own, each member with the name that people write.
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
