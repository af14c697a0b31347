//! OpenEmpower v1 and v2: the agent of a base station, and the controller's side of a connection.
//!
//! Unlike agents of FlexRAN, these agents send one message for each UE and measurement. The number of messages limits the controller.
mod agent1;
mod agent2;
mod control1;
mod control2;
pub mod controller;
pub mod elements;
mod measure;
pub mod protocol;
mod session;

pub use agent1::EmpowerAgent1;
pub use agent2::EmpowerAgent2;
pub use control1::EmpowerSession1;
pub use control2::EmpowerSession2;

use crate::Time;
use crate::agent::{AgentCounters, AgentInput, AgentOutput, ReportPeriod, SouthboundAgent, Ue};
use crate::empower::protocol::Mac;
use std::time::Duration;

/// The published OpenEmpower controllers close a connection after this number of hello intervals without a message.
pub const SILENT_INTERVALS: u32 = 3;

/// Settings of an agent, of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmpowerAgentSettings {
    /// Identity of the base station. It must be in the configuration of the controller.
    pub mac: Mac,
    /// Physical cell identity.
    pub pci: u16,
    /// Interval of hellos. The published interval is 2 s.
    pub hello: Duration,
    /// Whether reports follow the period that the controller requests. The agents of the MARC benchmark ignore it and report every 500 ms.
    pub period: ReportPeriod,
    /// Network of the UEs, encoded as a zero byte and three bytes of BCD.
    pub plmn: [u8; 4],
    /// Maximum number of UEs.
    pub max_ues: usize,
}

impl EmpowerAgentSettings {
    /// Returns the settings of the published agent with another identity.
    pub fn new(mac: Mac, pci: u16) -> Self {
        Self {
            mac,
            pci,
            hello: Duration::from_secs(2),
            period: ReportPeriod::Override(Duration::from_millis(500)),
            plmn: [0x00, 0x22, 0x2f, 0x93],
            max_ues: 10_000,
        }
    }
}

/// Settings of a controller for its base stations, in either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmpowerSessionSettings {
    /// Period of UE measurements.
    pub ue_period: Duration,
    /// Period of cell measurements.
    pub cell_period: Duration,
    /// Number of resource block groups of the slice that is set after configuration. `None`: no slice is set.
    pub slice_rbgs: Option<u16>,
    /// Network of the slice that is set after configuration.
    pub plmn: [u8; 4],
}

impl Default for EmpowerSessionSettings {
    fn default() -> Self {
        Self {
            ue_period: Duration::from_millis(500),
            cell_period: Duration::from_millis(500),
            slice_rbgs: Some(6),
            plmn: [0x00, 0x22, 0x2f, 0x93],
        }
    }
}

/// A UE, as reported by its base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedUe {
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// IMSI of the UE, as a number.
    pub imsi: u64,
    /// TMSI of the UE.
    pub tmsi: u32,
}

/// Event from a base station at a controller, in either version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmpowerEvent {
    /// The base station sent a hello with identity and interval. The policy decides on the registration.
    Hello {
        /// Identity of the base station.
        mac: Mac,
        /// Interval of its hellos.
        interval: Duration,
    },
    /// The base station reported the capabilities of its cell.
    Capabilities {
        /// Physical cell identity.
        pci: u16,
        /// Number of resource blocks in downlink.
        prbs: u16,
    },
    /// A UE was activated.
    UeUp(ReportedUe),
    /// A UE was deactivated.
    UeDown(ReportedUe),
    /// A UE was measured.
    UeMeasured {
        /// C-RNTI of the UE.
        rnti: u16,
        /// RSRP, in the base station's units.
        rsrp: i16,
        /// RSRQ, in the base station's units.
        rsrq: i16,
    },
    /// The resource usage of the cell was measured.
    CellMeasured {
        /// Total number of downlink resource blocks used since the start.
        dl_prbs: u32,
        /// Total number of uplink resource blocks used since the start.
        ul_prbs: u32,
    },
    /// The base station reported a slice.
    Slice {
        /// Code point of the slice.
        dscp: u8,
        /// Number of resource block groups.
        rbgs: u16,
    },
    /// A handover ended.
    HandedOver {
        /// C-RNTI in the source cell.
        origin_rnti: u16,
        /// C-RNTI in the target cell.
        target_rnti: u16,
    },
    /// A measurement was discarded, because it was not requested or has the wrong transaction id, as in the published controller. The UE
    /// measurements of MARC's agents are discarded for this reason.
    Discarded,
    /// The base station violated the protocol.
    Fault(String),
}

/// Returns a base station's number, derived from its Ethernet address.
pub(crate) fn station(mac: Mac) -> u64 {
    mac.0.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}

/// An agent of either version.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum EmpowerAgent {
    /// Agent of version 1.
    V1(EmpowerAgent1),
    /// Agent of version 2.
    V2(EmpowerAgent2),
}

impl EmpowerAgent {
    fn of_its_version(&self) -> &dyn SouthboundAgent {
        match self {
            Self::V1(agent) => agent,
            Self::V2(agent) => agent,
        }
    }

    fn of_its_version_mut(&mut self) -> &mut dyn SouthboundAgent {
        match self {
            Self::V1(agent) => agent,
            Self::V2(agent) => agent,
        }
    }
}

impl SouthboundAgent for EmpowerAgent {
    fn handle(&mut self, now: Time, input: AgentInput<'_>) {
        self.of_its_version_mut().handle(now, input)
    }
    fn poll(&mut self) -> Option<AgentOutput> {
        self.of_its_version_mut().poll()
    }
    fn wake_at(&self) -> Option<Time> {
        self.of_its_version().wake_at()
    }
    fn is_reporting(&self) -> bool {
        self.of_its_version().is_reporting()
    }
    fn counters(&self) -> &AgentCounters {
        self.of_its_version().counters()
    }
    fn ues(&self) -> usize {
        self.of_its_version().ues()
    }
    fn announced_ues(&self) -> usize {
        self.of_its_version().announced_ues()
    }
    fn unanswered_since(&self) -> Option<Time> {
        self.of_its_version().unanswered_since()
    }
    fn ue(&self, rnti: u16) -> Option<Ue> {
        self.of_its_version().ue(rnti)
    }
}

#[cfg(test)]
mod published;
#[cfg(test)]
mod tests;
