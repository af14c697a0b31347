//! Text forms of rates and CPU lists.

use std::fmt;
use std::str::FromStr;

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::Value;

use ranlab_lab::{FieldType, setting_by_text};

/// A bit rate, in bit/s. A setting contains text such as `10M`, or a number in Mbit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BitRate(pub f64);

impl BitRate {
    /// Returns the rate in kbit/s, the unit of PFCP (TS 29.244 clause 8.2.8).
    pub(super) fn kbps(self) -> u64 {
        (self.0 / 1e3).round() as u64
    }
}

impl FromStr for BitRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.chars().last() {
            Some('k') => (&text[..text.len() - 1], 1e3),
            Some('M') => (&text[..text.len() - 1], 1e6),
            Some('G') => (&text[..text.len() - 1], 1e9),
            _ => (text, 1.0),
        };
        let rate = number.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
        rate.map(|rate| Self(rate * unit)).ok_or_else(|| BIT_RATE.to_owned())
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = self.0 / 1e6;
        if mega.fract() == 0.0 { write!(f, "{mega}M") } else { self.0.fmt(f) }
    }
}

const BIT_RATE: &str = "a bit rate: a number above 0 followed by k, M or G, e.g. 10M";

/// A packet rate, in packets per second. Infinity (`max`) stands for the maximum rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketRate(pub f64);

impl FromStr for PacketRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "max" => Ok(Self(f64::INFINITY)),
            _ => {
                let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
                rate.map(Self).ok_or_else(|| PACKET_RATE.to_owned())
            }
        }
    }
}

impl fmt::Display for PacketRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_finite() { self.0.fmt(f) } else { f.write_str("max") }
    }
}

const PACKET_RATE: &str = "a packet rate: a number above 0, or max";

/// Implements [`Setting`] for rates. A setting contains text with a unit, or a number in the unit of the key.
macro_rules! rates {
    ($($type:ident, $unit:expr, $allowed:expr;)*) => {$(
        impl FieldType for $type {
            fn kind() -> Kind {
                Kind::Text
            }
            fn accept(_: &Kind, value: &Value) -> Result<Value, String> {
                Self::from_value(value).map(|rate| Value::Text(rate.to_string()))
            }
            fn from_value(value: &Value) -> Result<Self, String> {
                match (value, value.number()) {
                    (Value::Text(text), _) => text.parse(),
                    (Value::Int(_) | Value::Float(_), Some(number)) if number > 0.0 && number.is_finite() => {
                        Ok(Self(number * $unit))
                    }
                    _ => Err($allowed.to_owned()),
                }
            }
            fn to_value(&self) -> Option<Value> {
                Some(Value::Text(self.to_string()))
            }
        }
    )*};
}
rates! {
    BitRate, 1e6, BIT_RATE;
    PacketRate, 1.0, PACKET_RATE;
}

/// List of CPU numbers, such as `0,1`. If it is empty, the kernel chooses the CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cpus(pub Vec<usize>);

impl FromStr for Cpus {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        text.split(',').map(|cpu| cpu.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
    }
}

setting_by_text!(Cpus);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_parse_or_errors_name_allowed_forms() {
        for (text, bps) in [("10M", 1e7), ("0.5k", 500.0), ("1G", 1e9), ("12", 12.0), ("0.1M", 1e5)] {
            let rate: BitRate = text.parse().unwrap();
            assert_eq!((rate, rate.to_string().parse()), (BitRate(bps), Ok(rate)), "{text}");
        }
        assert_eq!("max".parse(), Ok(PacketRate(f64::INFINITY)));
        for text in ["", "M", "-1M", "0", "infM", "10m", "nan"] {
            assert!(text.parse::<BitRate>().unwrap_err().contains("10M"), "{text}");
        }
        for text in ["inf", "0", "-1", "", "nan"] {
            assert!(text.parse::<PacketRate>().unwrap_err().contains("max"), "{text}");
        }
    }

    #[test]
    fn number_is_in_unit_of_key_and_text_contains_unit() {
        let both = [Value::Float(12.5), Value::Text("12.5M".to_owned())];
        for value in both {
            let accepted = BitRate::accept(&Kind::Text, &value).unwrap();
            assert_eq!(BitRate::from_value(&accepted), Ok(BitRate(12.5e6)), "{value}");
        }
        assert_eq!(PacketRate::from_value(&Value::Int(50)), Ok(PacketRate(50.0)));
        for wrong in
            [Value::Float(0.0), Value::Float(f64::INFINITY), Value::Bool(true), Value::from_text("10s")]
        {
            assert!(BitRate::accept(&Kind::Text, &wrong).is_err(), "{wrong}");
            assert!(PacketRate::accept(&Kind::Text, &wrong).is_err(), "{wrong}");
        }
        let list = Kind::List(Box::new(Kind::Text));
        let accepted = Vec::<BitRate>::accept(&list, &Value::Int(7)).unwrap();
        assert_eq!(
            Vec::<BitRate>::from_value(&accepted),
            Ok(vec![BitRate(7e6)]),
            "a single value becomes a list with one entry"
        );
        let error = Vec::<BitRate>::accept(&list, &Value::List(vec!["x".into()])).unwrap_err();
        assert!(error.starts_with("a list, each entry a bit rate"), "{error}");
    }

    #[test]
    fn cpu_lists_round_trip() {
        for text in ["", "0", "0,1", "3,3,0"] {
            assert_eq!(text.parse::<Cpus>().unwrap().to_string(), text);
        }
        assert!("0,".parse::<Cpus>().is_err() && "a".parse::<Cpus>().is_err());
    }
}
