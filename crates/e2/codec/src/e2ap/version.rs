//! Versions of E2AP.
use std::fmt;
use std::str::FromStr;

/// A version of E2AP. It is a property of a connection, not of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[allow(non_camel_case_types)]
pub enum Version {
    /// O-RAN.WG3.E2AP-v01.01 (26 messages).
    V1_01,
    /// O-RAN.WG3.E2AP-v02.03 (30 messages).
    #[default]
    V2_03,
    /// O-RAN.WG3.E2AP-v03.01 (39 messages), whose encoding extends v2.03.
    V3_01,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Self; 3] = [Self::V1_01, Self::V2_03, Self::V3_01];

    /// Returns the name for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_01 => "E2AP 1.01",
            Self::V2_03 => "E2AP 2.03",
            Self::V3_01 => "E2AP 3.01",
        }
    }

    /// Detects the version of a peer from its E2 setup request: since v2.03 it starts with the TransactionID (IE 49).
    ///
    /// A setup request of v3.01 cannot be distinguished from one of v2.03. Such a peer is reported as v2.03, which v3.01 extends.
    pub fn of_setup(pdu: &[u8]) -> Option<Self> {
        let ([0x00, 0x01, _, 0..0x80, body @ ..]
        | [0x00, 0x01, _, 0x80..=0xbf, _, body @ ..]
        | [0x00, 0x01, _, 0xc1..=0xc4, body @ ..]) = pdu
        else {
            return None;
        };
        // Layout: one extension bit and padding, the number of IEs, then the identifier of the first IE.
        match body {
            [_, _, _, 0, 49, ..] => Some(Self::V2_03),
            [_, _, _, _, _, ..] => Some(Self::V1_01),
            _ => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name()[5..])
    }
}

/// The text is not one of `1.01`, `2.03`, `3.01`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("E2AP version {0:?} is not one of 1.01, 2.03, 3.01")]
pub struct UnknownVersion(String);

impl FromStr for Version {
    type Err = UnknownVersion;
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        Self::ALL.into_iter().find(|v| v.to_string() == text).ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}
