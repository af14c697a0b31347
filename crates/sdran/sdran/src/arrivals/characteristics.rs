//! Radio characteristics of a UE.
use rand::Rng;

/// Radio characteristics of a UE, which are copied into reports unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Characteristics {
    /// Wideband CQI, 0 to 15.
    pub cqi: u8,
    /// Uplink signal to interference and noise in dB.
    pub sinr_db: i8,
    /// Power headroom in dB.
    pub headroom_db: i8,
    /// RSRP in dBm.
    pub rsrp_dbm: i16,
    /// RSRQ in dB.
    pub rsrq_db: i8,
    /// Bytes in the downlink queue.
    pub queue_bytes: u32,
    /// Age of the oldest byte in the downlink queue, in ms.
    pub queue_ms: u32,
    /// Buffer status index of the uplink, 0 to 63.
    pub bsr: u8,
    /// Resource blocks used since the last report.
    pub prbs: u16,
}

impl Default for Characteristics {
    /// Returns the characteristics of a UE near the base station with empty queues, as in MARC's reports of every UE.
    fn default() -> Self {
        Self {
            cqi: 15,
            sinr_db: 0,
            headroom_db: 0,
            rsrp_dbm: -80,
            rsrq_db: -3,
            queue_bytes: 0,
            queue_ms: 0,
            bsr: 0,
            prbs: 0,
        }
    }
}

/// Model from which radio characteristics are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channel {
    /// All UEs have the same characteristics, which never change.
    #[default]
    Fixed,
    /// Characteristics are drawn when a UE is activated. The UE may be anywhere in the cell; its RSRP is uniform from -120 to -70 dBm.
    Drawn,
    /// Characteristics are drawn when a UE is activated, and then change in random steps.
    Walk,
}

/// RSRP at the edge of the cell, in dBm.
const EDGE_DBM: i16 = -120;
/// RSRP near the base station, in dBm.
const MAST_DBM: i16 = -70;
/// Longest step of the random changes, in dB.
const STEP_DB: i16 = 3;
/// Largest queue that is drawn, in bytes.
const QUEUE_BYTES: u32 = 200_000;

impl Channel {
    /// Returns the initial characteristics of a UE.
    pub fn first(self, random: &mut impl Rng) -> Characteristics {
        match self {
            Self::Fixed => Characteristics::default(),
            Self::Drawn | Self::Walk => at_rsrp(random.random_range(EDGE_DBM..=MAST_DBM), random),
        }
    }

    /// Returns the next characteristics of a UE, or `None` if they never change.
    pub fn next(self, before: &Characteristics, random: &mut impl Rng) -> Option<Characteristics> {
        match self {
            Self::Fixed | Self::Drawn => None,
            Self::Walk => {
                let rsrp = before.rsrp_dbm + random.random_range(-STEP_DB..=STEP_DB);
                Some(at_rsrp(rsrp.clamp(EDGE_DBM, MAST_DBM), random))
            }
        }
    }
}

/// Returns characteristics for an RSRP. Most values are proportional to it; the queue is random.
fn at_rsrp(rsrp_dbm: i16, random: &mut impl Rng) -> Characteristics {
    // The value is 0 at the edge of the cell, and 50 near the base station.
    let above = rsrp_dbm - EDGE_DBM;
    let queue_bytes = random.random_range(0..=QUEUE_BYTES);
    Characteristics {
        cqi: u8::try_from(1 + above * 14 / 50).unwrap_or(15),
        sinr_db: i8::try_from(above * 30 / 50 - 5).unwrap_or(0),
        headroom_db: i8::try_from(above * 40 / 50).unwrap_or(0),
        rsrp_dbm,
        rsrq_db: i8::try_from(above * 16 / 50 - 19).unwrap_or(-3),
        queue_bytes,
        queue_ms: queue_bytes / 2_000,
        bsr: random.random_range(0..64),
        prbs: random.random_range(0..50),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn walk_changes_characteristics_within_cell() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut ue = Channel::Walk.first(&mut random);
        let mut cqis = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let next = Channel::Walk.next(&ue, &mut random).unwrap();
            assert!((next.rsrp_dbm - ue.rsrp_dbm).abs() <= STEP_DB && next.cqi <= 15 && next.bsr < 64);
            assert!((EDGE_DBM..=MAST_DBM).contains(&next.rsrp_dbm));
            cqis.insert(next.cqi);
            ue = next;
        }
        assert!(cqis.len() > 5);
        assert_eq!(Channel::Drawn.next(&ue, &mut random), None);
        assert_eq!(Channel::Fixed.first(&mut random), Characteristics::default());
    }
}
