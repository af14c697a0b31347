//! Counters of a base station, and what measurements make of two readings.
use ranlab_wire::e2sm::common::Snssai;
use ranlab_wire::e2sm::kpm::Measured;

/// Slices of a UE, at most: as many as a network allows it (TS 24.501, allowed NSSAI).
pub const SLICES_MAX: usize = 8;

/// Counters of a node at a moment; each but the carrier's width grows for ever. One is read again and again, in the same memory.
#[derive(Debug, Default)]
pub struct Reading {
    /// When, microseconds.
    pub at_us: u64,
    /// Resource blocks of the downlink carrier.
    pub prbs: u16,
    /// Resource blocks of a direction that there were since the start.
    pub prbs_offered: u64,
    /// Of each UE, in any order; of two with the same number one is kept.
    pub ues: Vec<UeReading>,
}

/// Counters of a UE.
#[derive(Debug, Clone, Copy, Default)]
pub struct UeReading {
    /// Its number.
    pub number: u32,
    /// Slices that it may use.
    pub slices: Slices,
    /// Octets that RLC handed on, downlink and uplink.
    pub delivered_bytes: [u64; 2],
    /// Octets that PDCP got to send, and those that it received.
    pub pdcp_sdu_bytes: [u64; 2],
    /// Resource blocks, downlink and uplink.
    pub prbs: [u64; 2],
    /// How long what RLC sent had waited, a moving mean, microseconds.
    pub rlc_delay_us: f64,
    /// The same of the uplink.
    pub rlc_delay_ul_us: f64,
    /// SDUs that RLC got to send, and those of them that it dropped.
    pub rlc_sdus: [u64; 2],
    /// Channel; `None` if the base station does not know it.
    pub channel: Option<Channel>,
}

/// Channel of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Channel {
    /// Wideband channel quality indicator, 1 to 15.
    pub cqi: u8,
    /// Signal-to-noise ratio, dB.
    pub snr_db: f64,
}

/// Thermal noise of a resource element of 15 kHz, with a receiver's noise figure of 7 dB, dBm.
const NOISE_DBM: f64 = -125.2;

impl Channel {
    /// Reference signal received power that gives the ratio over thermal noise, dBm.
    pub fn rsrp_dbm(&self) -> f64 {
        NOISE_DBM + self.snr_db
    }

    /// Reference signal received quality in a loaded cell without interference, dB: 12 subcarriers to a resource block.
    pub fn rsrq_db(&self) -> f64 {
        let noise_over_signal = 10_f64.powf(-self.snr_db / 10.0);
        -10.0 * (12.0 * (1.0 + noise_over_signal)).log10()
    }
}

/// Up to [`SLICES_MAX`] slices, in place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slices {
    slices: [Option<Snssai>; SLICES_MAX],
}

impl Slices {
    /// Those that there are.
    pub fn iter(&self) -> impl Iterator<Item = &Snssai> {
        self.slices.iter().flatten()
    }
}

impl FromIterator<Snssai> for Slices {
    /// The first [`SLICES_MAX`] of them.
    fn from_iter<T: IntoIterator<Item = Snssai>>(slices: T) -> Self {
        let mut these = Self::default();
        these.slices.iter_mut().zip(slices).for_each(|(place, slice)| *place = Some(slice));
        these
    }
}

impl Reading {
    /// Nothing is told yet; the memory stays.
    pub(super) fn clear(&mut self) {
        let mut ues = std::mem::take(&mut self.ues);
        ues.clear();
        *self = Self { ues, ..Self::default() };
    }

    /// Puts the UEs into the order of their numbers.
    pub(super) fn order(&mut self) {
        self.ues.sort_unstable_by_key(|ue| ue.number);
        self.ues.dedup_by_key(|ue| ue.number);
    }

    /// Becomes the same as another.
    pub(super) fn copy_from(&mut self, other: &Self) {
        let mut ues = std::mem::take(&mut self.ues);
        ues.clear();
        ues.extend_from_slice(&other.ues);
        *self = Self { ues, ..*other };
    }

    /// A UE by its number, of a reading in order.
    pub(super) fn ue(&self, number: u32) -> Option<&UeReading> {
        let place = self.ues.binary_search_by_key(&number, |ue| ue.number).ok()?;
        self.ues.get(place)
    }
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// kbit/s, downlink or uplink.
    Throughput(usize),
    /// Share of the carrier, %.
    PrbShare(usize),
    /// Resource blocks in use, mean, downlink or uplink.
    PrbsUsed(usize),
    /// Resource blocks that there are.
    PrbsAvailable,
    /// Mbit of PDCP SDUs.
    Volume(usize),
    /// Tenths of a millisecond, downlink or uplink.
    RlcDelay(usize),
    /// kbit of RLC SDUs that were sent, downlink or uplink.
    RlcVolume(usize),
    /// RLC SDUs dropped, %.
    RlcDropRate,
    /// Mean CQI.
    Cqi,
    /// Mean RSRP, dBm.
    Rsrp,
    /// Mean RSRQ, dB.
    Rsrq,
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
            "RRU.PrbUsedDl" => Self::PrbsUsed(0),
            "RRU.PrbUsedUl" => Self::PrbsUsed(1),
            "DRB.PdcpSduVolumeDL" => Self::Volume(0),
            "DRB.PdcpSduVolumeUL" => Self::Volume(1),
            "DRB.RlcSduDelayDl" => Self::RlcDelay(0),
            "DRB.RlcDelayUl" => Self::RlcDelay(1),
            "DRB.RlcSduTransmittedVolumeDL" => Self::RlcVolume(0),
            "DRB.RlcSduTransmittedVolumeUL" => Self::RlcVolume(1),
            "DRB.RlcPacketDropRateDl" => Self::RlcDropRate,
            "CQI" => Self::Cqi,
            "RSRP" => Self::Rsrp,
            "RSRQ" => Self::Rsrq,
            "RRU.PrbAvailDl" | "RRU.PrbAvailUl" if !of_ue => Self::PrbsAvailable,
            "RRC.ConnMean" if !of_ue => Self::Connected,
            _ => return None,
        })
    }

    /// Its value between two readings, of those of `ues` (some or all of `now`) that `seen` lets pass.
    pub(super) fn between(
        self,
        then: &Reading,
        now: &Reading,
        ues: &[UeReading],
        seen: impl Fn(u32) -> bool,
    ) -> Measured {
        let there = || ues.iter().filter(|ue| seen(ue.number));
        let grown = |of: &dyn Fn(&UeReading) -> u64| -> u64 {
            there().map(|ue| of(ue).saturating_sub(then.ue(ue.number).map_or(0, of))).sum()
        };
        let offered = now.prbs_offered.saturating_sub(then.prbs_offered);
        let whole = |value: u64| Measured::Integer(u32::try_from(value).unwrap_or(u32::MAX));
        match self {
            Self::Throughput(way) => {
                let ms = now.at_us.saturating_sub(then.at_us) as f64 / 1e3;
                let bits = grown(&|ue| ue.delivered_bytes[way]) as f64 * 8.0;
                if ms > 0.0 { Measured::Real(bits / ms) } else { Measured::NoValue(()) }
            }
            Self::PrbShare(_) | Self::PrbsUsed(_) if offered == 0 => Measured::NoValue(()),
            Self::PrbShare(way) => whole((grown(&|ue| ue.prbs[way]) * 100 + offered / 2) / offered),
            Self::PrbsUsed(way) => {
                whole((grown(&|ue| ue.prbs[way]) * u64::from(now.prbs) + offered / 2) / offered)
            }
            Self::PrbsAvailable => Measured::Integer(now.prbs.into()),
            Self::Volume(way) => whole((grown(&|ue| ue.pdcp_sdu_bytes[way]) * 8 + 500_000) / 1_000_000),
            Self::RlcDelay(0) => mean(&mut there().map(|ue| ue.rlc_delay_us / 100.0)),
            Self::RlcDelay(_) => mean(&mut there().map(|ue| ue.rlc_delay_ul_us / 100.0)),
            Self::RlcVolume(way) => Measured::Real(grown(&|ue| ue.delivered_bytes[way]) as f64 * 8.0 / 1e3),
            Self::RlcDropRate => match grown(&|ue| ue.rlc_sdus[0]) {
                0 => Measured::NoValue(()),
                sent => Measured::Real(grown(&|ue| ue.rlc_sdus[1]) as f64 * 100.0 / sent as f64),
            },
            Self::Cqi => mean(&mut there().filter_map(|ue| ue.channel).map(|it| it.cqi.into())),
            Self::Rsrp => mean(&mut there().filter_map(|ue| ue.channel).map(|it| it.rsrp_dbm())),
            Self::Rsrq => mean(&mut there().filter_map(|ue| ue.channel).map(|it| it.rsrq_db())),
            Self::Connected => {
                let before = then.ues.iter().filter(|ue| seen(ue.number)).count();
                whole((before + there().count()).div_ceil(2) as u64)
            }
        }
    }
}

/// The mean of numbers; no value for an empty list.
fn mean(numbers: &mut dyn Iterator<Item = f64>) -> Measured {
    let (sum, count) = numbers.fold((0.0, 0_u32), |(sum, count), it| (sum + it, count + 1));
    if count == 0 { Measured::NoValue(()) } else { Measured::Real(sum / f64::from(count)) }
}
