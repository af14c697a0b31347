//! Fields that components of several domains have, and enums with a text form for each variant.

use std::fmt;
use std::str::FromStr;

use ranlab_transport::{Address, AddressError};

use crate::peers::AllowedPeer;
use crate::setting_by_text;

setting_by_text!(Address, Listen, AllowedPeer);

/// Returns a TCP address on this machine.
pub fn loopback(port: u16) -> Address {
    Address::Tcp { host: "127.0.0.1".to_owned(), port }
}

/// Declares enums with a text form for each variant.
#[macro_export]
macro_rules! choices {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])+ $member:ident = $text:literal,)+ })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])+ $member,)+
        }

        impl $crate::FieldType for $name {
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

/// The listening address of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// `unix`: a Unix socket in the component's private folder.
    Own,
    /// An address. With port 0, the system chooses a port.
    At(Address),
}

impl FromStr for Listen {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unix" => Ok(Self::Own),
            _ => text.parse().map(Self::At).map_err(|error: AddressError| error.to_string()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Same;
    use crate::field::testing::reads;

    #[test]
    fn settings_round_trip_and_errors_name_allowed_values() {
        reads::<Same, Listen>(&["unix", "tcp://127.0.0.1:0", "unix:///run/e2"], &[("tcp:/x", "tcp:/x")]);
    }
}
