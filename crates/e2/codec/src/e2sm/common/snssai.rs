//! Slices in 3GPP's format.
use std::fmt;
use std::str::FromStr;

use crate::per::{Int, Opt};
use crate::sequence;

sequence! {
    /// A slice in 3GPP's format (TS 23.003 §28.4.2).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    Snssai "SNSSAI" {
        sst: u8 [Int<0, 255>] "sST", "Slice/service type.",
        sd: Option<u32> [Opt<Int<0, 0xff_ffff>>] "sD", "Slice differentiator.",
    }
}

/// Value that means "no slice differentiator" (TS 23.003 §28.4.2).
const NO_DIFFERENTIATOR: u32 = 0xff_ffff;

impl Snssai {
    /// Creates a slice. A differentiator of FFFFFF means that there is no differentiator.
    pub fn new(sst: u8, sd: Option<u32>) -> Self {
        Self { sst, sd: sd.filter(|sd| *sd != NO_DIFFERENTIATOR) }
    }
}

impl fmt::Display for Snssai {
    /// Writes `SST` or `SST-SD`, the latter with six hexadecimal digits: `1`, `1-0000ff`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sst)?;
        self.sd.map_or(Ok(()), |sd| write!(f, "-{sd:06x}"))
    }
}

/// The text is not a valid S-NSSAI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an S-NSSAI; write SST or SST-SD: 0 to 255, six hexadecimal digits, e.g. 1-0000ff")]
pub struct NotAnSnssai(pub String);

impl FromStr for Snssai {
    type Err = NotAnSnssai;

    fn from_str(text: &str) -> Result<Self, NotAnSnssai> {
        let number = |text: &str, radix| {
            let digits = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
            digits.then(|| u32::from_str_radix(text, radix).ok()).flatten()
        };
        let read = || {
            let (sst, sd) = text.split_once(['-', ':']).map_or((text, None), |(sst, sd)| (sst, Some(sd)));
            let sst = number(sst, 10).and_then(|sst| u8::try_from(sst).ok())?;
            match sd {
                None => Some(Self::new(sst, None)),
                Some(sd) if sd.len() == 6 => Some(Self::new(sst, Some(number(sd, 16)?))),
                Some(_) => None,
            }
        };
        read().ok_or_else(|| NotAnSnssai(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snssai_text_round_trips_and_invalid_text_is_refused() {
        for text in ["1", "255", "1-0000ff", "0-fffffe"] {
            assert_eq!(text.parse::<Snssai>().unwrap().to_string(), text);
        }
        for text in ["", "256", "-1", "1-", "1-ff", "1-0000fg", "+1", "1-+000ff", "1-0000ff-2"] {
            assert_eq!(text.parse::<Snssai>(), Err(NotAnSnssai(text.to_owned())), "{text}");
        }
    }
}
