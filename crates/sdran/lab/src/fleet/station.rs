//! Lets agents of FlexRAN and OpenEmpower control a radio. They use the commands with which E2 controls the same cell.
use ranlab_e2::functions::slice::SliceControl;
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceSet};
use ranlab_radio::user_plane::{self as up, Command, Direction};
use ranlab_ran::radio::{RadioTarget, SharedRadio, convert};
use ranlab_sdran::agent::{Allocation, CellControl, Radio as RadioState};

/// Length of a subframe in microseconds, independent of the slot length.
const SUBFRAME_US: u64 = 1_000;

/// Returns a radio as the cell control that agents of FlexRAN and OpenEmpower use.
pub fn station(radio: &SharedRadio) -> Box<dyn CellControl + Send> {
    Box::new(OverAgents(RadioTarget(radio.clone())))
}

/// A radio that agents of FlexRAN and OpenEmpower control.
#[derive(Debug)]
struct OverAgents(RadioTarget);

/// Converts a number, saturating at 32 bits.
fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl CellControl for OverAgents {
    fn prbs(&self) -> u16 {
        SliceControl::prbs(&self.0)
    }

    fn subframe(&self) -> u64 {
        let radio = self.0.radio();
        (radio.cell.slot() * radio.cell.config().carrier.slot_us()).div_ceil(SUBFRAME_US)
    }

    fn ue(&self, rnti: u16) -> Option<RadioState> {
        let report = self.0.radio().cell.report(rnti)?;
        let db = |db: f32| db.round().clamp(-128.0, 127.0) as i8;
        Some(RadioState {
            cqi: report.radio.wb_cqi,
            sinr_db: db(report.radio.pusch_snr.db()),
            headroom_db: report.radio.phr_db,
            queue_bytes: short(report.dl.queue_bytes),
            queue_ms: short(report.dl.head_delay_us / 1_000),
            // The number of PRBs is at most 275.
            prbs: report.dl.sched_prbs as u16,
            ..RadioState::default()
        })
    }

    fn set(&self) -> SliceSet {
        SliceControl::set(&self.0)
    }

    fn slice_of(&self, rnti: u16) -> Option<u16> {
        self.0.radio().cell.report(rnti).and_then(|ue| convert::slice_id(ue.slice_down))
    }

    fn command(&mut self, command: &SliceCommand) -> Result<(), Refusal> {
        self.0.command(command)
    }

    fn allocate(&mut self, subframe: u64, allocations: &[Allocation]) -> Result<(), Refusal> {
        let mut radio = self.0.radio();
        let slot_us = radio.cell.config().carrier.slot_us();
        let slots = (SUBFRAME_US / slot_us).max(1);
        let of = |one: &Allocation| up::Allocation { rnti: one.rnti, prbs: one.prbs, mcs: one.mcs };
        let allocations: Vec<_> = allocations.iter().map(of).collect();
        for slot in subframe * slots..(subframe + 1) * slots {
            // If the first slot of a subframe accepts the decision, the other slots accept it, too.
            let decision = Command::Allocate(Direction::Down, slot, allocations.clone());
            radio.cell.command(&decision).map_err(|why| convert::refusal(&why))?;
        }
        Ok(())
    }
}
