//! Text forms of radio settings: carrier, channel, and UE behaviour.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::radio::{FlowPlan, PlannedHandover, RadioConfig, TrafficKind, UePresence};
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_radio::user_plane::{Carrier, Channel, jakes};

/// A value with the text from which it was parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct Spelled<T> {
    text: String,
    /// The parsed value.
    pub value: T,
}

impl<T> fmt::Display for Spelled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A type with a text form.
pub trait Spell: Sized {
    /// Description of the allowed texts.
    const ALLOWED: &'static str;

    /// Parses a text. Returns `None` if it is invalid.
    fn spell(text: &str) -> Option<Self>;
}

impl<T: Spell> FromStr for Spelled<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = T::spell(text).ok_or_else(|| format!("\"{text}\" is not one of {}", T::ALLOWED))?;
        Ok(Self { text: text.to_owned(), value })
    }
}

impl Spell for Carrier {
    const ALLOWED: &'static str = "lte:PRBS (FDD, 6 to 100), nr:PRBS (n78: TDD, 30 kHz) and nr-fdd:PRBS (15 kHz), \
                                   with the PRBs that a bandwidth has";

    fn spell(text: &str) -> Option<Self> {
        let (kind, prbs) = text.split_once(':')?;
        let prbs = prbs.parse().ok()?;
        let carrier = match kind {
            "lte" => Self::lte(prbs),
            "nr" => Self::n78(prbs),
            "nr-fdd" => Self::nr(0, prbs),
            _ => return None,
        };
        carrier.check().is_ok().then_some(carrier)
    }
}

/// Channel quality of the UEs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fading {
    /// A constant MCS.
    Mcs(u8),
    /// Rayleigh fading at walking speed, around this mean SINR in dB.
    Mean(f32),
}

/// Walking speed of the UEs, in km/h; the carrier frequency is the middle of band n78.
const SPEED_KMH: f64 = 3.0;
const CARRIER_GHZ: f64 = 3.5;

impl Fading {
    /// Returns the default channel, which published measurements use.
    pub fn usual() -> Spelled<Self> {
        Spelled { text: "mcs:20".to_owned(), value: Self::Mcs(20) }
    }

    /// Returns the channel model for a carrier.
    pub fn channel(self, carrier: &Carrier) -> Channel {
        let correlation = || jakes(SPEED_KMH, CARRIER_GHZ, carrier.slot_us() as f64 / 1e6) as f32;
        match self {
            Self::Mcs(mcs) => Channel::Fixed { mcs, bler: 0.0 },
            Self::Mean(mean_db) => Channel::Fading { mean_db, correlation: correlation() },
        }
    }
}

impl Spell for Fading {
    const ALLOWED: &'static str =
        "mcs:0 to mcs:28 (constant MCS) and sinr:-30 to sinr:60 (mean SINR in dB, with fading)";

    fn spell(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("mcs", mcs) => mcs.parse().ok().filter(|mcs| *mcs <= 28).map(Self::Mcs),
            ("sinr", db) => db.parse().ok().filter(|db| (-30.0..=60.0).contains(db)).map(Self::Mean),
            _ => None,
        }
    }
}

/// Units of durations, in nanoseconds. Scenario files accept the same units.
const UNITS: [(&str, u128); 8] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Parses a time such as `5s` or `1.5min`, or 0.
pub fn span(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let (_, unit_ns) = UNITS.into_iter().find(|(name, _)| *name == unit.trim_start())?;
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let ns = match number.parse::<u64>() {
        Ok(whole) => u128::from(whole) * unit_ns,
        Err(_) => (number.parse::<f64>().ok()? * unit_ns as f64).round() as u128,
    };
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// Parses a UE number or range, such as `3` or `1-3`.
fn ues(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = first.parse().ok()?;
    let last = last.parse().ok()?;
    (1..=last).contains(&first).then_some(first..=last)
}

/// Parses a time or range of times, such as `5s` or `5s-30s`.
fn times(text: &str) -> Option<(Duration, Option<Duration>)> {
    let Some((from, until)) = text.split_once('-') else { return Some((span(text)?, None)) };
    let from = span(from)?;
    let until = span(until)?;
    (from < until).then_some((from, Some(until)))
}

/// Default receive window of TCP, in bytes. It causes long queues without loss.
const WINDOW_BYTES: u32 = 3_000_000;

impl Spell for FlowPlan {
    const ALLOWED: &'static str = "[UES=]WHAT[@FROM[-UNTIL]], UES as 2 or 1-3, WHAT one of voip, tcp, tcp:WINDOW_BYTES, \
                                   udp:MBIT_PER_S, udp:MBIT_PER_S:ON:OFF and full, or of up-tcp, up-udp and up-full for \
                                   data that UEs send, times as 5s";

    fn spell(text: &str) -> Option<Self> {
        let (ues, rest) = match text.split_once('=') {
            Some((of, rest)) => (Some(ues(of)?), rest),
            None => (None, text),
        };
        let (what, when) = rest.split_once('@').map_or((rest, None), |(what, when)| (what, Some(when)));
        let (from, until) = when.map_or(Some((Duration::ZERO, None)), times)?;
        let (uplink, what) = what.strip_prefix("up-").map_or((false, what), |what| (true, what));
        let mut words = what.split(':');
        let what = match (words.next()?, words.next(), words.next(), words.next(), words.next()) {
            ("voip", None, ..) if !uplink => TrafficKind::Voip,
            ("full", None, ..) => TrafficKind::Full,
            ("tcp", None, ..) => TrafficKind::Tcp(WINDOW_BYTES),
            ("tcp", Some(window), None, ..) => TrafficKind::Tcp(window.parse().ok()?),
            ("udp", Some(mbps), None, ..) => TrafficKind::Udp(kbps(mbps)?, None),
            ("udp", Some(mbps), Some(on), Some(off), None) => {
                TrafficKind::Udp(kbps(mbps)?, Some((span(on)?, span(off)?)))
            }
            _ => return None,
        };
        Some(Self { ues, what, uplink, from, until })
    }
}

fn kbps(mbps: &str) -> Option<u32> {
    let kbps = mbps.parse::<f64>().ok()? * 1e3;
    (1.0..=1e7).contains(&kbps).then_some(kbps as u32)
}

/// An Ed25519 public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageKey(pub [u8; 32]);

impl Spell for StageKey {
    const ALLOWED: &'static str = "keys of 64 hexadecimal digits";

    fn spell(text: &str) -> Option<Self> {
        let digit = |octet: u8| char::from(octet).to_digit(16);
        let pair = |two: &[u8]| Some((digit(*two.first()?)? << 4 | digit(*two.get(1)?)?) as u8);
        let octets = text.as_bytes().chunks(2).map(pair).collect::<Option<Vec<_>>>()?;
        octets.try_into().ok().map(Self)
    }
}

impl Spell for UePresence {
    const ALLOWED: &'static str = "UES@FROM[-UNTIL], UES as 2 or 1-3, times as 5s";

    fn spell(text: &str) -> Option<Self> {
        let (of, when) = text.split_once('@')?;
        let (from, until) = times(when)?;
        Some(Self { ues: ues(of)?, from, until })
    }
}

impl Spell for PlannedHandover {
    const ALLOWED: &'static str =
        "UES=CELL@TIME, UES as 2 or 1-3, CELL up to nine hexadecimal digits, TIME as 5s";

    fn spell(text: &str) -> Option<Self> {
        let (of, rest) = text.split_once('=')?;
        let (cell, at) = rest.split_once('@')?;
        let cell = u64::from_str_radix(cell, 16).ok().filter(|cell| *cell < 1 << 36)?;
        Some(Self { ues: ues(of)?, cell, at: span(at)? })
    }
}

/// A base station's radio settings, for any protocol.
pub struct RadioSettings<'a> {
    /// Carrier, if the base station has a radio.
    pub radio: &'a Option<Spelled<Carrier>>,
    /// Channel of the UEs.
    pub channel: &'a Spelled<Fading>,
    /// Size of the RLC buffer of a bearer, in bytes.
    pub rlc_buffer: u32,
    /// Traffic flows of the UEs.
    pub flows: &'a [Spelled<FlowPlan>],
    /// UEs that attach after the start or detach before the end.
    pub stay: &'a [Spelled<UePresence>],
    /// Planned handovers.
    pub moves: &'a [Spelled<PlannedHandover>],
    /// Slices that UEs request.
    pub snssai: &'a [Snssai],
    /// Networks that UEs select.
    pub plmn: &'a [Plmn],
    /// Number of UEs.
    pub ues: u32,
}

impl RadioSettings<'_> {
    /// Returns the radio's configuration, if there is a radio.
    pub fn config(&self) -> Result<Option<RadioConfig>, String> {
        let Some(Spelled { value: carrier, .. }) = self.radio else {
            let nothing_requested = self.snssai.is_empty() && self.plmn.is_empty();
            let still = self.stay.is_empty() && self.moves.is_empty();
            let given = !(self.flows.is_empty() && still && nothing_requested);
            return if given {
                Err("`flows`, `stay`, `moves`, `snssai` and `plmn` require a `radio`".to_owned())
            } else {
                Ok(None)
            };
        };
        Ok(Some(RadioConfig {
            channel: self.channel.value.channel(carrier),
            rlc_buffer_bytes: self.rlc_buffer,
            flows: self.flows.iter().map(|flow| flow.value.clone()).collect(),
            stays: self.stay.iter().map(|stay| stay.value.clone()).collect(),
            moves: self.moves.iter().map(|it| it.value.clone()).collect(),
            snssais: self.snssai.to_vec(),
            plmns: self.plmn.to_vec(),
            ..RadioConfig::new(*carrier, self.ues)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Spell>(text: &str) -> Option<T> {
        text.parse::<Spelled<T>>().ok().map(|it| it.value)
    }

    #[test]
    fn ue_behaviour_parses_or_is_rejected() {
        let second = Duration::from_secs;
        let plan = |what| FlowPlan::new(what);
        for (text, flow) in [
            ("voip", plan(TrafficKind::Voip)),
            ("tcp@5s", FlowPlan { from: second(5), ..plan(TrafficKind::Tcp(WINDOW_BYTES)) }),
            ("2=tcp:9000", FlowPlan { ues: Some(2..=2), ..plan(TrafficKind::Tcp(9_000)) }),
            ("udp:0.5", plan(TrafficKind::Udp(500, None))),
            ("up-udp:0.5", FlowPlan { uplink: true, ..plan(TrafficKind::Udp(500, None)) }),
            ("up-full", FlowPlan { uplink: true, ..plan(TrafficKind::Full) }),
            (
                "1-3=udp:80:10s:500ms@1s-9s",
                FlowPlan {
                    ues: Some(1..=3),
                    what: TrafficKind::Udp(80_000, Some((second(10), second(1) / 2))),
                    uplink: false,
                    from: second(1),
                    until: Some(second(9)),
                },
            ),
        ] {
            assert_eq!(read(text), Some(flow), "{text}");
        }
        for text in [
            "",
            "voice",
            "voip:1",
            "up-voip",
            "udp",
            "udp:0",
            "udp:1e9",
            "udp:8:1s",
            "0=voip",
            "3-1=voip",
            "voip@9s-1s",
            "tcp@5",
        ] {
            assert_eq!(read::<FlowPlan>(text), None, "{text}");
        }
        assert_eq!(read("3@10s"), Some(UePresence { ues: 3..=3, from: second(10), until: None }));
        assert_eq!(
            read("1-2@0s-1min"),
            Some(UePresence { ues: 1..=2, from: second(0), until: Some(second(60)) })
        );
        assert_eq!(read::<UePresence>("3"), None);
        assert_eq!(read("1-2=20@5s"), Some(PlannedHandover { ues: 1..=2, cell: 0x20, at: second(5) }));
        for wrong in ["1@5s", "1=20", "0=20@5s", "1=g@5s", "1=1000000000@5s"] {
            assert_eq!(read::<PlannedHandover>(wrong), None, "{wrong}");
        }
        let wrong = "lte:26".parse::<Spelled<Carrier>>().unwrap_err();
        assert!(wrong.contains("lte:PRBS"), "{wrong}");
        assert_eq!(read("nr:106"), Some(Carrier::n78(106)));
        assert_eq!((read("mcs:28"), read::<Fading>("mcs:29")), (Some(Fading::Mcs(28)), None));
        assert_eq!((read("sinr:-3.5"), read::<Fading>("sinr:NaN")), (Some(Fading::Mean(-3.5)), None));
    }
}
