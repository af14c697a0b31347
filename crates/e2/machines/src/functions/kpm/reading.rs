//! Counters of a base station, and the calculation of measurements from two readings.
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::kpm::Measured;

/// Maximum number of slices of a UE, which is the maximum size of the allowed NSSAI (TS 24.501).
pub const SLICES_MAX: usize = 8;

/// Counters of a node at one time. All values except the carrier width only increase. A reading is reused to avoid allocations.
#[derive(Debug, Default)]
pub struct Reading {
    /// Time of the reading, in microseconds.
    pub at_us: u64,
    /// Number of resource blocks of the downlink carrier.
    pub prbs: u16,
    /// Number of resource blocks offered since the start, downlink and uplink.
    pub prbs_offered: [u64; 2],
    /// Counters of each UE, in any order. If two have the same number, one is kept.
    pub ues: Vec<UeReading>,
}

/// Counters of a UE.
#[derive(Debug, Clone, Copy, Default)]
pub struct UeReading {
    /// Number of the UE.
    pub number: u32,
    /// Allowed slices.
    pub slices: Slices,
    /// Bytes delivered by RLC, downlink and uplink.
    pub delivered_bytes: [u64; 2],
    /// Bytes passed to PDCP for sending, and bytes received by PDCP.
    pub pdcp_sdu_bytes: [u64; 2],
    /// Resource blocks used, downlink and uplink.
    pub prbs: [u64; 2],
    /// Moving average of the queueing delay of sent RLC SDUs, in microseconds, downlink.
    pub rlc_delay_us: f64,
    /// Moving average of the queueing delay of sent RLC SDUs, in microseconds, uplink.
    pub rlc_delay_ul_us: f64,
    /// Number of SDUs passed to RLC for sending, and number of these that RLC dropped.
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

/// Thermal noise of a 15 kHz resource element at a receiver noise figure of 7 dB, in dBm.
const NOISE_DBM: f64 = -125.2;

impl Channel {
    /// Returns the reference signal received power that corresponds to the signal-to-noise ratio over thermal noise,
    /// in dBm.
    pub fn rsrp_dbm(&self) -> f64 {
        NOISE_DBM + self.snr_db
    }

    /// Returns the reference signal received quality in a loaded cell without interference, in dB (12 subcarriers per
    /// resource block).
    pub fn rsrq_db(&self) -> f64 {
        let noise_over_signal = 10_f64.powf(-self.snr_db / 10.0);
        -10.0 * (12.0 * (1.0 + noise_over_signal)).log10()
    }
}

/// A list of up to [`SLICES_MAX`] slices, stored inline.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slices {
    slices: [Option<Snssai>; SLICES_MAX],
}

impl Slices {
    /// Returns the slices.
    pub fn iter(&self) -> impl Iterator<Item = &Snssai> {
        self.slices.iter().flatten()
    }
}

impl FromIterator<Snssai> for Slices {
    /// Collects the first [`SLICES_MAX`] slices.
    fn from_iter<T: IntoIterator<Item = Snssai>>(slices: T) -> Self {
        let mut these = Self::default();
        these.slices.iter_mut().zip(slices).for_each(|(place, slice)| *place = Some(slice));
        these
    }
}

impl Reading {
    /// Clears the reading and keeps its memory.
    pub(super) fn clear(&mut self) {
        let mut ues = std::mem::take(&mut self.ues);
        ues.clear();
        *self = Self { ues, ..Self::default() };
    }

    /// Sorts the UEs by number.
    pub(super) fn order(&mut self) {
        self.ues.sort_unstable_by_key(|ue| ue.number);
        self.ues.dedup_by_key(|ue| ue.number);
    }

    /// Copies another reading into this one.
    pub(super) fn copy_from(&mut self, other: &Self) {
        let mut ues = std::mem::take(&mut self.ues);
        ues.clear();
        ues.extend_from_slice(&other.ues);
        *self = Self { ues, ..*other };
    }

    /// Returns a UE by its number. The reading must be sorted.
    pub(super) fn ue(&self, number: u32) -> Option<&UeReading> {
        let place = self.ues.binary_search_by_key(&number, |ue| ue.number).ok()?;
        self.ues.get(place)
    }
}

/// A quantity that can be measured. A parameter selects the direction: 0 is downlink, 1 is uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Throughput, kbit/s.
    Throughput(usize),
    /// Share of the carrier, %.
    PrbShare(usize),
    /// Mean number of resource blocks in use.
    PrbsUsed(usize),
    /// Number of available resource blocks.
    PrbsAvailable,
    /// Volume of PDCP SDUs, Mbit.
    Volume(usize),
    /// Queueing delay of RLC SDUs, tenths of a millisecond.
    RlcDelay(usize),
    /// Volume of sent RLC SDUs, kbit.
    RlcVolume(usize),
    /// RLC SDUs dropped, %.
    RlcDropRate,
    /// Mean CQI.
    Cqi,
    /// Mean RSRP, dBm.
    Rsrp,
    /// Mean RSRQ, dB.
    Rsrq,
    /// Number of connected UEs, mean of both readings.
    Connected,
}

impl Quantity {
    /// Returns the quantity of a measurement name of TS 28.552, or `None` if it is not available, or not per UE.
    pub(super) fn from_name(name: &str, of_ue: bool) -> Option<Self> {
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

    /// Returns the value between two readings, over the UEs in `ues` that `seen` accepts. `ues` is a part or all of `now`.
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
        let whole = |value: u64| Measured::Integer(u32::try_from(value).unwrap_or(u32::MAX));
        let offered = |way: usize| now.prbs_offered[way].saturating_sub(then.prbs_offered[way]);
        // Used resource blocks times `n`, divided by the offered resource blocks, rounded.
        let share =
            |way: usize, n: u64| whole((grown(&|ue| ue.prbs[way]) * n + offered(way) / 2) / offered(way));
        match self {
            Self::Throughput(way) => {
                let ms = now.at_us.saturating_sub(then.at_us) as f64 / 1e3;
                let bits = grown(&|ue| ue.delivered_bytes[way]) as f64 * 8.0;
                if ms > 0.0 { Measured::Real(bits / ms) } else { Measured::NoValue(()) }
            }
            Self::PrbShare(way) | Self::PrbsUsed(way) if offered(way) == 0 => Measured::NoValue(()),
            Self::PrbShare(way) => share(way, 100),
            Self::PrbsUsed(way) => share(way, now.prbs.into()),
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

/// Returns the mean of numbers, or no value for an empty list.
fn mean(numbers: &mut dyn Iterator<Item = f64>) -> Measured {
    let (sum, count) = numbers.fold((0.0, 0_u32), |(sum, count), it| (sum + it, count + 1));
    if count == 0 { Measured::NoValue(()) } else { Measured::Real(sum / f64::from(count)) }
}
