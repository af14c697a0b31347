//! Statistics of a fluid cell: the statistics of the slot model that do not depend on packets.

use super::carrier::Direction;
use super::cell::CellConfig;
use super::fluid::{FluidCell, FluidLeg};
use super::read::{prbs_offered, radio_stats};
use super::ue::UeReport;
use crate::UeIdentity;
use crate::link::{HARQ_ROUNDS, LinkStats, RLC_HEADER_BYTES};
use crate::ue::PDCP_HEADER_BYTES;

/// Assumed size of an IP packet, in bytes.
const PACKET_BYTES: u64 = 1500;

impl FluidCell {
    /// Returns the configuration of the cell, with the slices at its creation.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// Returns the number of the first slot of the next step, counted from the start.
    pub fn slot(&self) -> u64 {
        self.step * self.step_slots
    }

    /// Returns the time to which the cell was advanced, in µs.
    pub fn now_us(&self) -> u64 {
        self.config.start_us + self.slot() * self.config.carrier.slot_us()
    }

    /// Returns the number of PRBs offered in a direction since the start.
    pub fn prbs_offered(&self, direction: Direction) -> u64 {
        prbs_offered(&self.config.carrier, self.slot(), direction)
    }

    /// Returns reports of all UEs in the order of arrival, with C-RNTIs from 1.
    ///
    /// Packets are counted as 1500 bytes of IP. Counters that need packets or blocks stay zero: segments, RLC
    /// retransmissions, status PDUs, PDUs out of order, and times in the queue.
    pub fn reports(&self) -> impl Iterator<Item = UeReport> {
        (0..self.paths.len()).map(|index| self.report_at(index))
    }

    fn report_at(&self, index: usize) -> UeReport {
        let [down, up] = &self.legs;
        let ue = &down.ues[index];
        let path = &self.paths[index];
        let slice = |leg: &FluidLeg| leg.slices.set.slices[usize::from(leg.hot[index].slice)].id;
        // The number fits, because a cell has fewer UEs than there are C-RNTIs.
        let identity = UeIdentity::new(self.config.cell_id, index as u16 + 1);
        UeReport {
            identity,
            id: ue.id,
            plmn: ue.plmn,
            snssai: ue.snssai,
            slice_down: slice(down),
            slice_up: slice(up),
            radio: radio_stats(path.link.sinr, self.uplink_factor(), &down.hot[index], &up.hot[index]),
            dl: link(down, index),
            ul: link(up, index),
            rlc_failures: 0,
        }
    }
}

/// Returns the statistics of a UE in one direction.
fn link(leg: &FluidLeg, index: usize) -> LinkStats {
    let ue = &leg.ues[index];
    let stats = &ue.stats;
    let packets = |bytes: f64| (bytes / PACKET_BYTES as f64) as u64;
    // A flow that always has data keeps the buffer full.
    let waiting = ue.waiting.min(f64::from(ue.rlc.buffer_bytes));
    let out = packets(stats.delivered);
    let dropped = packets(stats.dropped);
    let came = packets(stats.delivered + stats.dropped + waiting);
    let queued = came.saturating_sub(out + dropped);
    let sdu_bytes = PACKET_BYTES + PDCP_HEADER_BYTES;
    let harq: [u64; HARQ_ROUNDS] = std::array::from_fn(|round| stats.harq[round] as u64);
    let sent = harq.iter().sum::<u64>();
    let again = harq[1..].iter().sum::<u64>();
    let (decision, block, prbs) = ue.latest;
    let (curr_tbs_bytes, sched_prbs) = if decision == leg.decision { (block, prbs) } else { (0.0, 0.0) };
    LinkStats {
        tbs_bytes: stats.blocks as u64,
        // In TDD, the totals count only the share of slots that have this direction. The values of the last slot must
        // not exceed them.
        curr_tbs_bytes: curr_tbs_bytes.min(stats.blocks) as u64,
        sched_prbs: sched_prbs.min(stats.prbs) as u64,
        prbs: stats.prbs as u64,
        retx_prbs: stats.retx_prbs as u64,
        harq,
        bler_q16: ((again << 16) / sent.max(1)) as u32,
        rlc_sdus_in: out + dropped + queued,
        rlc_sdu_bytes_in: (out + dropped + queued) * sdu_bytes,
        rlc_sdus_out: out,
        rlc_sdu_bytes_out: out * sdu_bytes,
        rlc_dropped_sdus: dropped,
        rlc_dropped_bytes: dropped * sdu_bytes,
        rlc_pdus: out,
        rlc_pdu_bytes: out * (sdu_bytes + RLC_HEADER_BYTES),
        queue_sdus: queued,
        queue_bytes: queued * sdu_bytes,
        ..LinkStats::default()
    }
}
