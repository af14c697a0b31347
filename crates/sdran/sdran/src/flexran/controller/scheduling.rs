//! Flexible scheduler: schedules the downlink of base stations, subframe by subframe.
//!
//! A base station with remote scheduling announces each subframe. Each run decides on the subframe that is
//! [`ahead`](super::FlexranControllerSettings::schedule_ahead) of the announced one. Resource block groups are divided equally among the
//! UEs whose last report shows queued data. The remainder rotates among the UEs. The base station chooses the MCS. A decision that arrives
//! after the start of its subframe has no effect. The base station counts such decisions.
use super::rib::{AgentNode, Rib};
use crate::controller::{Clock, ConnectionId};
use crate::flexran::protocol::{DlData, DlDci, ms_of_sfn_sf, rbgs, sfn_sf};
use std::collections::BTreeMap;

/// Maximum number of groups in the bitmap of an allocation. Further groups of a wider carrier stay unused.
const GROUPS_MAX: usize = u32::BITS as usize;
/// Maximum number of subframes that one run decides on per base station, including subframes that earlier runs missed.
const CATCH_UP_MAX: u64 = 16;
/// Number of subframes after which frame numbers wrap around.
const NUMBERS_MS: u64 = 10_240;

/// Decision for a base station: connection, frame and subframe number, and allocations.
pub(super) type DlAllocation = (ConnectionId, u32, Vec<DlData>);

#[derive(Debug, Clone, Copy, Default)]
struct RotationState {
    /// Last announced subframe, in ms.
    last_ms: Option<u64>,
    /// Index of the first UE that receives a group of the remainder.
    first: usize,
}

/// Scheduling application.
#[derive(Debug, Default)]
pub(super) struct FlexibleScheduler {
    ahead: u64,
    remote: BTreeMap<ConnectionId, RotationState>,
    decisions: u64,
}

impl FlexibleScheduler {
    pub(super) fn new(ahead: u32) -> Self {
        Self { ahead: ahead.into(), ..Self::default() }
    }

    /// Starts or stops scheduling a base station.
    pub(super) fn set(&mut self, id: ConnectionId, remote: bool) {
        if remote {
            self.remote.entry(id).or_default();
        } else {
            self.remote.remove(&id);
        }
    }

    pub(super) fn is_remote(&self, id: ConnectionId) -> bool {
        self.remote.contains_key(&id)
    }

    /// Returns the number of decisions, and the number of base stations that this controller schedules.
    pub(super) fn counts(&self) -> (u64, usize) {
        (self.decisions, self.remote.len())
    }

    /// Runs the application.
    pub(super) fn run(&mut self, rib: &Rib, clock: &mut dyn Clock) -> Vec<DlAllocation> {
        let mut decisions = Vec::new();
        for (id, turn) in &mut self.remote {
            let Some(agent) = rib.agents().get(id).filter(|agent| agent.alive) else { continue };
            let Some(now_ms) = agent.subframe.and_then(ms_of_sfn_sf).map(u64::from) else { continue };
            let new = turn.last_ms.map_or(1, |last| (now_ms + NUMBERS_MS - last) % NUMBERS_MS);
            turn.last_ms = Some(now_ms);
            for back in (0..new.min(CATCH_UP_MAX)).rev() {
                let target_ms = (now_ms + self.ahead + NUMBERS_MS - back) % NUMBERS_MS;
                let data = share(agent, &mut turn.first);
                clock.visit(agent.ues.len());
                if !data.is_empty() {
                    decisions.push((*id, sfn_sf(target_ms), data));
                }
            }
        }
        self.decisions += decisions.len() as u64;
        decisions
    }
}

/// Divides the resource block groups of one subframe among the UEs with queued data.
fn share(agent: &AgentNode, first: &mut usize) -> Vec<DlData> {
    let cell = agent.config.cell_config.first();
    let prbs = cell.and_then(|cell| cell.dl_bandwidth).and_then(|prbs| u16::try_from(prbs).ok()).unwrap_or(0);
    let groups = usize::from(rbgs(prbs)).min(GROUPS_MAX);
    let waits = |ue: &super::UeNode| {
        let queues = ue.report.iter().flat_map(|report| &report.rlc_report);
        queues.filter_map(|queue| queue.tx_queue_size).any(|octets| octets > 0)
    };
    let mut ues: Vec<u32> = agent.ues.iter().filter(|(_, ue)| waits(ue)).map(|(rnti, _)| *rnti).collect();
    if ues.is_empty() || groups == 0 {
        return Vec::new();
    }
    let turn = *first % ues.len();
    ues.rotate_left(turn);
    ues.truncate(groups);
    let each = groups / ues.len();
    let more = groups % ues.len();
    // In the next subframe, UEs that received a group of the remainder come last. If there was no remainder, UEs that received any group
    // come last.
    *first = turn + if more > 0 { more } else { ues.len() };
    let mut low = 0;
    let of = |(nth, rnti): (usize, u32)| {
        let count = each + usize::from(nth < more);
        // The shift cannot overflow, because there are at most 32 groups.
        let bitmap = (((1_u64 << count) - 1) << low) as u32;
        low += count;
        let dci = DlDci { rnti: Some(rnti), res_alloc: Some(0), rb_bitmap: Some(bitmap), ..DlDci::default() };
        DlData { rnti: Some(rnti), dl_dci: Some(dci), serv_cell_index: Some(0), ..DlData::default() }
    };
    ues.into_iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flexran::protocol::{CellConfig, EnbConfigReply, RlcBsr, UeStatsReport};

    fn agent(prbs: u32, queues: &[u32]) -> AgentNode {
        let cell_config = vec![CellConfig { dl_bandwidth: Some(prbs), ..CellConfig::default() }];
        let ue = |octets: &u32| super::super::UeNode {
            report: Some(UeStatsReport {
                rlc_report: vec![RlcBsr { tx_queue_size: Some(*octets), ..RlcBsr::default() }],
                ..UeStatsReport::default()
            }),
            ..super::super::UeNode::default()
        };
        AgentNode {
            config: EnbConfigReply { cell_config, ..EnbConfigReply::default() },
            ues: (1..).zip(queues.iter().map(ue)).collect(),
            alive: true,
            ..AgentNode::default()
        }
    }

    fn given(data: &[DlData]) -> Vec<(u32, u32)> {
        data.iter()
            .map(|data| (data.rnti.unwrap(), data.dl_dci.as_ref().unwrap().rb_bitmap.unwrap()))
            .collect()
    }

    #[test]
    fn groups_are_divided_equally_among_ues_with_data() {
        let mut first = 0;
        // There are 13 groups and three UEs, one of which has no data.
        let cell = agent(25, &[500, 0, 700]);
        assert_eq!(given(&share(&cell, &mut first)), [(1, 0x007f), (3, 0x1f80)]);
        assert_eq!(
            given(&share(&cell, &mut first)),
            [(3, 0x007f), (1, 0x1f80)],
            "the UE that gets the remaining group must change"
        );
        assert_eq!(given(&share(&agent(106, &[1]), &mut first)), [(1, 0x07ff_ffff)]);
        assert_eq!(
            given(&share(&agent(65_535, &[1]), &mut first)),
            [(1, u32::MAX)],
            "an invalid bandwidth must be limited to 32 groups"
        );
        assert!(share(&agent(25, &[0, 0]), &mut first).is_empty());
        assert!(share(&agent(0, &[1]), &mut first).is_empty());
        // If there are more UEs than groups, all UEs are served in rotation.
        let many = agent(6, &[1; 20]);
        let mut served = [0; 20];
        for _ in 0..10 {
            share(&many, &mut first).iter().for_each(|data| served[data.rnti.unwrap() as usize - 1] += 1);
        }
        assert_eq!(served, [3; 20]);
    }
}
