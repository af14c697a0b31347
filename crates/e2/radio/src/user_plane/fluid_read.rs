//! Statistics of a cell in coarse steps: those of the slot model that exist without packets.

use super::carrier::Direction;
use super::cell::CellConfig;
use super::fluid::{FluidCell, FluidLeg};
use super::read::{prbs_offered, radio_stats};
use super::ue::UeReport;
use crate::UeIdentity;
use crate::link::{HARQ_ROUNDS, LinkStats, RLC_HEADER_BYTES};
use crate::ue::PDCP_HEADER_BYTES;

/// Assumed size of an IP packet, bytes.
const PACKET_BYTES: u64 = 1500;

impl FluidCell {
    /// Configuration of the cell, with the slices that it was created with.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// The next slot that is not decided, counted from the start.
    pub fn slot(&self) -> u64 {
        self.step * self.step_slots
    }

    /// Until when it was advanced, µs.
    pub fn now_us(&self) -> u64 {
        self.config.start_us + self.slot() * self.config.carrier.slot_us()
    }

    /// PRBs that a direction has had since the start.
    pub fn prbs_offered(&self, direction: Direction) -> u64 {
        prbs_offered(&self.config.carrier, self.slot(), direction)
    }

    /// All UEs in the order of arrival; C-RNTIs count from 1.
    ///
    /// Packets are counted as 1500 bytes of IP. Counters of single packets and blocks stay zero: segments,
    /// retransmissions by RLC, status PDUs, PDUs out of order, times in the queue.
    pub fn reports(&self) -> impl Iterator<Item = UeReport> {
        (0..self.paths.len()).map(|index| self.report_at(index))
    }

    fn report_at(&self, index: usize) -> UeReport {
        let [down, up] = &self.legs;
        let ue = &down.ues[index];
        let path = &self.paths[index];
        let slice = |leg: &FluidLeg| leg.slices.set.slices[usize::from(leg.hot[index].slice)].id;
        // A cell has fewer UEs than there are C-RNTIs.
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

/// A direction of a UE.
fn link(leg: &FluidLeg, index: usize) -> LinkStats {
    let ue = &leg.ues[index];
    let stats = &ue.stats;
    let packets = |bytes: f64| (bytes / PACKET_BYTES as f64) as u64;
    // A greedy flow keeps the buffer full.
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
        // In a slot that carries both directions, this direction has only a part of the block and the PRBs.
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
