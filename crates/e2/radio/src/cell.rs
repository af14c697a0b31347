//! A cell: UEs that share its resource blocks, advanced in virtual time.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::fixed::Reciprocal;
use crate::link::{Budget, Span};
use crate::radio::ChannelStep;
use crate::ue::{RNTI_MAX, UeIdentity, UeState};

/// Maximum number of UEs of a cell, one for each C-RNTI.
pub const CELL_UES_MAX: u16 = RNTI_MAX;
/// Maximum number of PRBs of a carrier (TS 38.331 §6.4, maxNrofPhysicalResourceBlocks).
pub const PRBS_MAX: u16 = 275;
/// Maximum mean rate of a UE, in kbit/s. It is 10 Gbit/s divided by two, the largest activity factor of a UE.
pub const RATE_KBPS_MAX: u32 = 5_000_000;
/// Slot durations of the numerologies 0 to 3, in µs.
pub const SLOTS_US: [u32; 4] = [1000, 500, 250, 125];

/// Maximum slots of one step. A longer time is divided into several steps. The limit keeps intermediate products
/// small; callers need not observe it.
const STEP_SLOTS_MAX: u64 = 1 << 16;
/// Minimum share of a UE, in PRBs. The headers would use up a smaller share.
const SHARE_PRBS_MIN: u64 = 8;
const FRAME_US: u64 = 10_000;
const FRAMES: u64 = 1024;

/// Configuration of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellConfig {
    /// Identity of the cell, and upper half of its UEs' tunnel endpoint identifiers.
    pub cell_id: u16,
    /// Number of connected UEs, 0 to [`CELL_UES_MAX`].
    pub ues: u16,
    /// Number of PRBs in each direction, 1 to [`PRBS_MAX`].
    pub prbs: u16,
    /// Duration of a slot, one of [`SLOTS_US`].
    pub slot_us: u32,
    /// Mean downlink traffic per UE in kbit/s, at most [`RATE_KBPS_MAX`]. The traffic of a single UE is a quarter to
    /// two times this value.
    pub dl_kbps: u32,
    /// Mean uplink traffic per UE in kbit/s, at most [`RATE_KBPS_MAX`]. The traffic of a single UE is a quarter to
    /// two times this value.
    pub ul_kbps: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Start time of the cell on the caller's clock, in µs.
    pub start_us: u64,
}

impl Default for CellConfig {
    /// Returns 32 UEs on 40 MHz at 30 kHz subcarrier spacing, with 1 Mbit/s down and 250 kbit/s up each, starting at
    /// time zero.
    fn default() -> Self {
        Self {
            cell_id: 0,
            ues: 32,
            prbs: 106,
            slot_us: 500,
            dl_kbps: 1000,
            ul_kbps: 250,
            seed: 0,
            start_us: 0,
        }
    }
}

/// Reason why a cell configuration is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// The number of UEs exceeds the number of C-RNTIs.
    #[error("a cell must have 0 to {CELL_UES_MAX} UEs, not {0}")]
    Ues(u16),
    /// The number of PRBs is zero, or exceeds [`PRBS_MAX`].
    #[error("a cell must have 1 to {PRBS_MAX} PRBs, not {0}")]
    Prbs(u16),
    /// No numerology has this slot duration.
    #[error("a slot must last 1000, 500, 250 or 125 us, not {0}")]
    Slot(u32),
    /// The traffic exceeds the maximum of the model.
    #[error("a UE's mean rate must be 0 to {RATE_KBPS_MAX} kbit/s, not {0}")]
    Rate(u32),
}

/// A cell and its UEs at one time.
///
/// A round robin shares the PRBs: each UE gets the PRBs that it requests, at most an equal share of the remaining PRBs.
/// The UE that is served first rotates. [`advance`](Self::advance) costs a constant time per UE, independent of the
/// number of slots.
///
/// The sum of `prbs` over the UEs is at most [`prbs_offered`](Self::prbs_offered) in each direction, and the sum of
/// `sched_prbs` is at most the cell's PRBs.
#[derive(Debug, Clone)]
pub struct Cell {
    config: CellConfig,
    ues: Vec<UeState>,
    /// Reciprocals of the number of UEs that share PRBs, indexed by that number. The first two entries are not used.
    shares: Vec<Reciprocal>,
    random: ChaCha8Rng,
    now_us: u64,
    slots: u64,
    first: usize,
}

impl Cell {
    /// Creates a cell with all its UEs connected and all counters zero.
    pub fn new(config: CellConfig) -> Result<Self, CellError> {
        config.check()?;
        let mut random = ChaCha8Rng::seed_from_u64(config.seed);
        let rntis = Rntis::new(random.next_u64());
        let ues = (0..u32::from(config.ues))
            .map(|index| {
                let identity = UeIdentity::new(config.cell_id, rntis.at(index));
                let rates = (u64::from(config.dl_kbps), u64::from(config.ul_kbps));
                UeState::new(identity, rates.0, rates.1, u64::from(config.slot_us), random.next_u64())
            })
            .collect();
        let shares = (0..=u64::from(config.ues)).map(Reciprocal::new).collect();
        Ok(Self { ues, shares, random, now_us: config.start_us, slots: 0, first: 0, config })
    }

    /// Advances virtual time to `now_us`, in whole slots. A remaining fraction of a slot counts at the next call. An
    /// earlier time is ignored.
    pub fn advance(&mut self, now_us: u64) {
        let slot_us = u64::from(self.config.slot_us);
        let mut left = now_us.saturating_sub(self.now_us) / slot_us;
        while left > 0 {
            let slots = left.min(STEP_SLOTS_MAX);
            self.step(slots);
            left -= slots;
        }
    }

    /// Returns the UEs, always in the same order.
    pub fn ues(&self) -> &[UeState] {
        &self.ues
    }

    /// Returns the configuration with which the cell was created.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// Returns the end of the last processed slot on the caller's clock, in µs.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Returns the system frame number, 0 to 1023.
    pub fn frame(&self) -> u16 {
        (self.slots / self.frame_slots() % FRAMES) as u16
    }

    /// Returns the number of the slot within the frame.
    pub fn slot(&self) -> u16 {
        (self.slots % self.frame_slots()) as u16
    }

    /// Returns the number of PRBs offered in each direction since the start.
    pub fn prbs_offered(&self) -> u64 {
        self.slots * u64::from(self.config.prbs)
    }

    fn frame_slots(&self) -> u64 {
        FRAME_US / u64::from(self.config.slot_us)
    }

    fn step(&mut self, slots: u64) {
        let slot_us = u64::from(self.config.slot_us);
        let prbs = u64::from(self.config.prbs);
        let span = Span { slots, duration_us: slots * slot_us, slot_us, per_slot_q32: (1 << 32) / slots };
        let drift = ChannelStep::over(slots);
        let mut dl = Budget { prbs: prbs * slots, last_slot_prbs: prbs };
        let mut ul = Budget { prbs: prbs * slots, last_slot_prbs: prbs };

        let mut sharers = self.ues.len();
        let mut served = 0;
        let (later, sooner) = self.ues.split_at_mut(self.first);
        for part in [sooner, later] {
            for ue in part {
                let shares = (share(&self.shares, sharers, dl.prbs), share(&self.shares, sharers, ul.prbs));
                let bits = (self.random.next_u64(), u64::from(self.random.next_u32()));
                served += usize::from(dl.prbs > 0);
                ue.advance(span, drift, shares, (&mut dl, &mut ul), bits);
                sharers -= 1;
            }
        }
        self.rotate(served);
        self.slots += slots;
        self.now_us += span.duration_us;
    }

    /// Rotates the order of service. If a UE got no PRBs, it is first in the next step; otherwise the order moves by one.
    fn rotate(&mut self, served: usize) {
        if self.ues.is_empty() {
            return;
        }
        let all_served = served == self.ues.len();
        self.first = (self.first + if all_served { 1 } else { served.max(1) }) % self.ues.len();
    }
}

/// Returns an equal share of `prbs` for each of `sharers` UEs, or the minimum share if that is larger.
fn share(reciprocals: &[Reciprocal], sharers: usize, prbs: u64) -> u64 {
    match sharers {
        0 | 1 => prbs,
        _ => reciprocals[sharers].quotient(prbs).max(SHARE_PRBS_MIN),
    }
}

impl CellConfig {
    fn check(&self) -> Result<(), CellError> {
        if self.ues > CELL_UES_MAX {
            return Err(CellError::Ues(self.ues));
        }
        if self.prbs == 0 || self.prbs > PRBS_MAX {
            return Err(CellError::Prbs(self.prbs));
        }
        if !SLOTS_US.contains(&self.slot_us) {
            return Err(CellError::Slot(self.slot_us));
        }
        match [self.dl_kbps, self.ul_kbps].into_iter().find(|kbps| *kbps > RATE_KBPS_MAX) {
            Some(kbps) => Err(CellError::Rate(kbps)),
            None => Ok(()),
        }
    }
}

/// A random order of all C-RNTIs. The number of C-RNTIs is prime, so every stride visits each of them once.
struct Rntis {
    start: u64,
    stride: u64,
}

impl Rntis {
    fn new(bits: u64) -> Self {
        let count = u64::from(RNTI_MAX);
        Self { start: (bits >> 32) % count, stride: 1 + (bits & 0xffff_ffff) % (count - 1) }
    }

    fn at(&self, index: u32) -> u16 {
        // The remainder is below RNTI_MAX, so the sum fits.
        1 + ((self.start + u64::from(index) * self.stride) % u64::from(RNTI_MAX)) as u16
    }
}
