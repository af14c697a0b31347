//! RAN information base (RIB): one tree per agent, with its UEs as leaves.
use crate::controller::ConnectionId;
use crate::flexran::FlexranEvent;
use crate::flexran::protocol::{
    CellStatsReport, EnbConfigReply, LcConfig, Message, UeChange, UeConfig, UeStatsReport,
};
use ranlab_machine::Time;
use std::collections::BTreeMap;

/// A UE in the RIB.
#[derive(Debug, Clone, Default)]
pub struct UeNode {
    /// Configuration of the UE.
    pub config: UeConfig,
    /// Logical channels of the UE.
    pub logical_channels: Vec<LcConfig>,
    /// Last report of the UE.
    pub report: Option<UeStatsReport>,
    /// Arrival time of the last report.
    pub reported_at: Time,
}

/// An agent in the RIB.
#[derive(Debug, Clone, Default)]
pub struct AgentNode {
    /// Configuration of the base station.
    pub config: EnbConfigReply,
    /// Last report of each cell.
    pub cells: Vec<CellStatsReport>,
    /// UEs by C-RNTI.
    pub ues: BTreeMap<u32, UeNode>,
    /// Number of reports.
    pub reports: u64,
    /// Last announced subframe, with its frame number. `None` while the base station uses its own scheduler.
    pub subframe: Option<u32>,
    /// Whether the agent is connected.
    pub alive: bool,
}

/// RAN information base.
#[derive(Debug, Default)]
pub struct Rib {
    agents: BTreeMap<ConnectionId, AgentNode>,
    keeps_dead: bool,
}

impl Rib {
    pub(super) fn new(keeps_dead: bool) -> Self {
        Self { agents: BTreeMap::new(), keeps_dead }
    }

    /// Returns the agents.
    pub fn agents(&self) -> &BTreeMap<ConnectionId, AgentNode> {
        &self.agents
    }

    /// Returns the number of UEs of all agents.
    pub fn ues(&self) -> usize {
        self.agents.values().map(|agent| agent.ues.len()).sum()
    }

    pub(super) fn lost(&mut self, id: ConnectionId) {
        if self.keeps_dead {
            if let Some(agent) = self.agents.get_mut(&id) {
                agent.alive = false;
            }
        } else {
            self.agents.remove(&id);
        }
    }

    /// Applies an event of an agent. Returns the number of reports for unknown UEs in the event.
    pub(super) fn take(&mut self, id: ConnectionId, now: Time, event: FlexranEvent) -> u64 {
        if let FlexranEvent::Known(config) = event {
            let agent = self.agents.entry(id).or_default();
            (agent.config, agent.alive) = (config, true);
            return 0;
        }
        let Some(agent) = self.agents.get_mut(&id) else { return 1 };
        match event {
            FlexranEvent::Ues(reply) => {
                agent.ues.clear();
                for config in reply.ue_config {
                    let rnti = config.rnti.unwrap_or(0);
                    agent.ues.insert(rnti, UeNode { config, ..UeNode::default() });
                }
                0
            }
            FlexranEvent::LogicalChannels(reply) => {
                let mut nobody = 0;
                for of_ue in reply.lc_ue_config {
                    match agent.ues.get_mut(&of_ue.rnti.unwrap_or(0)) {
                        Some(ue) => ue.logical_channels = of_ue.lc_config,
                        None => nobody += 1,
                    }
                }
                nobody
            }
            FlexranEvent::UeState(change) => {
                let config = change.config.unwrap_or_default();
                let rnti = config.rnti.unwrap_or(0);
                match change.kind.and_then(UeChange::from_number) {
                    Some(UeChange::Deactivated) => u64::from(agent.ues.remove(&rnti).is_none()),
                    Some(_) => {
                        agent.ues.entry(rnti).or_default().config = config;
                        0
                    }
                    None => 1,
                }
            }
            FlexranEvent::Statistics(reply) => {
                agent.reports += 1;
                agent.cells = reply.cell_report;
                let mut nobody = 0;
                for report in reply.ue_report {
                    // As in the published controller, a report of an unknown UE is parsed and dropped.
                    match agent.ues.get_mut(&report.rnti.unwrap_or(0)) {
                        Some(ue) => (ue.report, ue.reported_at) = (Some(report), now),
                        None => nobody += 1,
                    }
                }
                nobody
            }
            FlexranEvent::Other(message) => {
                if let Message::SfTrigger(trigger) = *message {
                    agent.subframe = trigger.sfn_sf;
                }
                0
            }
            FlexranEvent::Disconnect => {
                self.lost(id);
                0
            }
            _ => 0,
        }
    }
}
