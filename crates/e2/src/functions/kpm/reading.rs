//! Counters of a base station, and what measurements make of two readings.
use ranlab_wire::e2sm::common::Snssai;
use ranlab_wire::e2sm::kpm::Measured;
use std::collections::BTreeMap;

/// Counters of a node at a moment; each but the carrier's width grows for ever.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// When, microseconds.
    pub at_us: u64,
    /// Resource blocks of the downlink carrier.
    pub prbs: u16,
    /// Resource blocks of a direction that there were since the start.
    pub prbs_offered: u64,
    /// Of each UE, by its number.
    pub ues: BTreeMap<u32, UeReading>,
}

/// Counters of a UE.
#[derive(Debug, Clone, Default)]
pub struct UeReading {
    /// Slices that it may use.
    pub slices: Vec<Snssai>,
    /// Octets that RLC handed on, downlink and uplink.
    pub delivered_bytes: [u64; 2],
    /// Octets that PDCP got to send, and those that it received.
    pub pdcp_sdu_bytes: [u64; 2],
    /// Resource blocks, downlink and uplink.
    pub prbs: [u64; 2],
    /// How long what RLC sent had waited, a moving mean, microseconds.
    pub rlc_delay_us: f64,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// kbit/s, downlink or uplink.
    Throughput(usize),
    /// Share of the carrier, %.
    PrbShare(usize),
    /// Resource blocks in use, mean.
    PrbsUsed,
    /// Resource blocks that there are.
    PrbsAvailable,
    /// Mbit of PDCP SDUs.
    Volume(usize),
    /// Tenths of a millisecond.
    RlcDelay,
    /// UEs that are connected, mean of both readings.
    Connected,
}

impl Quantity {
    /// By its name in TS 28.552; `None` if it is not had, or not of a UE.
    pub(super) fn of(name: &str, of_ue: bool) -> Option<Self> {
        Some(match name {
            "DRB.UEThpDl" => Self::Throughput(0),
            "DRB.UEThpUl" => Self::Throughput(1),
            "RRU.PrbTotDl" => Self::PrbShare(0),
            "RRU.PrbTotUl" => Self::PrbShare(1),
            "RRU.PrbUsedDl" => Self::PrbsUsed,
            "DRB.PdcpSduVolumeDL" => Self::Volume(0),
            "DRB.PdcpSduVolumeUL" => Self::Volume(1),
            "DRB.RlcSduDelayDl" => Self::RlcDelay,
            "RRU.PrbAvailDl" if !of_ue => Self::PrbsAvailable,
            "RRC.ConnMean" if !of_ue => Self::Connected,
            _ => return None,
        })
    }

    /// Its value between two readings, of one UE or of all that `seen` lets pass.
    pub(super) fn between(self, then: &Reading, now: &Reading, seen: impl Fn(u32) -> bool) -> Measured {
        let pairs = || {
            let ues = now.ues.iter().filter(|(number, _)| seen(**number));
            ues.map(|(number, now)| (then.ues.get(number), now))
        };
        let grown = |of: &dyn Fn(&UeReading) -> u64| -> u64 {
            pairs().map(|(then, now)| of(now).saturating_sub(then.map_or(0, of))).sum()
        };
        let offered = now.prbs_offered.saturating_sub(then.prbs_offered);
        let whole = |value: u64| Measured::Integer(u32::try_from(value).unwrap_or(u32::MAX));
        match self {
            Self::Throughput(way) => {
                let ms = now.at_us.saturating_sub(then.at_us) as f64 / 1e3;
                let bits = grown(&|ue| ue.delivered_bytes[way]) as f64 * 8.0;
                if ms > 0.0 { Measured::Real(bits / ms) } else { Measured::NoValue(()) }
            }
            Self::PrbShare(_) | Self::PrbsUsed if offered == 0 => Measured::NoValue(()),
            Self::PrbShare(way) => whole((grown(&|ue| ue.prbs[way]) * 100 + offered / 2) / offered),
            Self::PrbsUsed => whole((grown(&|ue| ue.prbs[0]) * u64::from(now.prbs) + offered / 2) / offered),
            Self::PrbsAvailable => Measured::Integer(now.prbs.into()),
            Self::Volume(way) => whole((grown(&|ue| ue.pdcp_sdu_bytes[way]) * 8 + 500_000) / 1_000_000),
            Self::RlcDelay => {
                let delays: Vec<_> = pairs().map(|(_, ue)| ue.rlc_delay_us).collect();
                match delays.len() {
                    0 => Measured::NoValue(()),
                    ues => Measured::Real(delays.iter().sum::<f64>() / ues as f64 / 100.0),
                }
            }
            Self::Connected => {
                let count = |reading: &Reading| reading.ues.keys().filter(|number| seen(**number)).count();
                whole((count(then) + count(now)).div_ceil(2) as u64)
            }
        }
    }
}
