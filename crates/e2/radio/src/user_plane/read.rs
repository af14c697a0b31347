//! Statistics of a cell.

use super::carrier::{Carrier, Direction, Duplex, SlotKind};
use super::cell::Cell;
use super::flow::FlowStats;
use super::leg::BearerDirection;
use super::math::to_db;
use super::mcs::McsTable;
use super::slice::{SliceSet, SliceStats};
use super::tc::{Tc, TcStats};
use super::ue::{Sojourns, UeReport};
use super::ue_scheduler::SchedulerState;
use crate::{LinkStats, RadioStats, Snr};

impl Cell {
    /// Returns the C-RNTIs of the UEs. Their order does not change while they stay.
    pub fn rntis(&self) -> impl Iterator<Item = u16> {
        self.ues.iter().flatten().map(|ue| ue.identity.rnti)
    }

    /// Returns the reports of all UEs.
    pub fn reports(&self) -> impl Iterator<Item = UeReport> {
        (0..self.ues.len()).filter_map(|index| self.report_at(index))
    }

    /// Returns the report of a UE.
    pub fn report(&self, rnti: u16) -> Option<UeReport> {
        self.index(rnti).and_then(|index| self.report_at(index))
    }

    fn report_at(&self, index: usize) -> Option<UeReport> {
        let ue = self.ues[index].as_ref()?;
        let now = self.slot();
        let now_us = self.now_us();
        let stats = |leg: &BearerDirection, direction| {
            let bearer = &leg.bearers[index];
            let (slot, bytes, prbs) = bearer.last;
            // Most recent slot with this direction.
            let recent = (0..20)
                .map(|back| now.wrapping_sub(1 + back))
                .find(|slot| self.config.carrier.kind(*slot, direction) != SlotKind::None);
            let is_recent = recent == Some(slot);
            let (curr_tbs_bytes, sched_prbs) =
                if is_recent { (u64::from(bytes), u64::from(prbs)) } else { (0, 0) };
            LinkStats { curr_tbs_bytes, sched_prbs, ..bearer.rlc.stats(now_us) }
        };
        let slice = |leg: &BearerDirection| leg.slices.set.slices[usize::from(leg.hot[index].slice)].id;
        Some(UeReport {
            identity: ue.identity,
            id: ue.config.id,
            plmn: ue.config.plmn,
            snssai: ue.config.snssai,
            slice_down: slice(&self.down),
            slice_up: slice(&self.up),
            radio: self.radio(index),
            dl: stats(&self.down, Direction::Down),
            ul: stats(&self.up, Direction::Up),
            rlc_failures: self.down.bearers[index].rlc.failures + self.up.bearers[index].rlc.failures,
        })
    }

    fn radio(&self, index: usize) -> RadioStats {
        radio_stats(self.links[index].sinr, self.uplink_factor, &self.down.hot[index], &self.up.hot[index])
    }

    /// Returns the statistics of a UE's flows, in the order of its configuration.
    pub fn flows(&self, rnti: u16) -> Option<Vec<&FlowStats>> {
        let ue = self.ues[self.index(rnti)?].as_ref()?;
        Some(ue.flows.iter().map(|flow| &flow.stats).collect())
    }

    /// Returns configuration and statistics of a UE's traffic control.
    pub fn tc(&self, rnti: u16) -> Option<TcStats> {
        let ue = self.ues[self.index(rnti)?].as_ref()?;
        Some(ue.tc.as_ref().map_or_else(|| Tc::new(0).stats(), |tc| tc.stats()))
    }

    /// Returns the waiting times of a UE's packets since the last call.
    pub fn take_sojourns(&mut self, rnti: u16) -> Option<Sojourns> {
        let index = self.index(rnti)?;
        let [rlc, whole] = std::mem::take(&mut self.down.bearers[index].rlc.sojourns);
        let tc = self.ues[index].as_mut()?.tc.as_mut();
        Some(Sojourns { rlc, whole, queues: tc.map_or_else(Vec::new, |tc| tc.take_sojourns()) })
    }

    /// Returns the slices of a direction with their statistics.
    pub fn slice_stats(&self, direction: Direction) -> (&SliceSet, &[SliceStats]) {
        let leg = if direction == Direction::Down { &self.down } else { &self.up };
        (&leg.slices.set, &leg.slices.stats)
    }

    /// Returns the number of PRBs offered in a direction since the start.
    pub fn prbs_offered(&self, direction: Direction) -> u64 {
        prbs_offered(&self.config.carrier, self.slot(), direction)
    }
}

/// Returns the number of PRBs that a direction has in the first `slots` slots.
pub(super) fn prbs_offered(carrier: &Carrier, slots: u64, direction: Direction) -> u64 {
    let kinds = |slots: std::ops::Range<u64>| {
        slots.filter(|slot| carrier.kind(*slot, direction) != SlotKind::None).count() as u64
    };
    let period = match carrier.duplex {
        Duplex::Fdd => 1,
        Duplex::Tdd { down, up, .. } => u64::from(down) + 1 + u64::from(up),
    };
    let whole = slots / period;
    (whole * kinds(0..period) + kinds(0..slots % period)) * u64::from(carrier.prbs)
}

/// Returns the channel quality of a UE and its assigned MCS.
pub(super) fn radio_stats(
    sinr: f32,
    uplink_factor: f32,
    down: &SchedulerState,
    up: &SchedulerState,
) -> RadioStats {
    let ratio = |factor: f32| Snr::nearest(to_db(f64::from(sinr * factor)).clamp(-23.0, 40.0));
    let second = |cqi| McsTable::Qam256.mcs_of_cqi(cqi).unwrap_or(0);
    let pusch_snr = ratio(uplink_factor);
    RadioStats {
        pusch_snr,
        pucch_snr: pusch_snr,
        wb_cqi: down.cqi.max(1),
        dl_mcs1: down.mcs,
        ul_mcs1: up.mcs,
        dl_mcs2: second(down.cqi),
        ul_mcs2: second(up.cqi),
        phr_db: (2 * (pusch_snr.0 >> 8) - 10).clamp(-23, 40) as i8,
    }
}
