//! A UE of a cell: identifiers, state and reports.

use super::channel::{Channel, ChannelError};
use super::flow::{Flow, FlowConfig, FlowError};
use super::histogram::Sojourn;
use super::rlc::{BUFFER_BYTES_MAX, BUFFER_SDUS_MAX, Packet, RlcConfig};
use super::tc::Tc;
use crate::{LinkStats, PdcpStats, RadioStats, RlcReceptionStats, UeIdentity};

/// A public land mobile network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Plmn {
    /// Mobile country code, 0 to 999.
    pub mcc: u16,
    /// Mobile network code, 0 to 999.
    pub mnc: u16,
    /// Number of digits of the network code, 2 or 3.
    pub mnc_digits: u8,
}

impl Default for Plmn {
    /// Returns the test network 001/01.
    fn default() -> Self {
        Self { mcc: 1, mnc: 1, mnc_digits: 2 }
    }
}

/// Identifier of a slice: single network slice selection assistance information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Snssai {
    /// Slice/service type; 1 is eMBB.
    pub sst: u8,
    /// Slice differentiator of 24 bits, if the slice has one.
    pub sd: Option<u32>,
}

impl Default for Snssai {
    fn default() -> Self {
        Self { sst: 1, sd: None }
    }
}

/// Configuration of a UE that attaches.
#[derive(Debug, Clone, PartialEq)]
pub struct UeConfig {
    /// Unique identity for random numbers and records. It must be the same in all runs that are compared.
    pub id: u32,
    /// Network that the UE selects.
    pub plmn: Plmn,
    /// Slice that the UE requests.
    pub snssai: Snssai,
    /// Channel model of the UE.
    pub channel: Channel,
    /// RLC configuration of the downlink.
    pub rlc_down: RlcConfig,
    /// RLC configuration of the uplink.
    pub rlc_up: RlcConfig,
    /// Traffic flows, at most [`FLOWS_MAX`].
    pub flows: Vec<FlowConfig>,
}

/// Maximum number of flows of a UE.
pub const FLOWS_MAX: usize = 64;

impl UeConfig {
    /// Returns a UE with a constant MCS, OpenAirInterface's buffers and these flows.
    pub fn fixed(id: u32, mcs: u8, flows: Vec<FlowConfig>) -> Self {
        Self {
            id,
            plmn: Plmn::default(),
            snssai: Snssai::default(),
            channel: Channel::Fixed { mcs, bler: 0.0 },
            rlc_down: RlcConfig::default(),
            rlc_up: RlcConfig::default(),
            flows,
        }
    }

    pub(crate) fn check(&self, highest_mcs: u8) -> Result<(), AttachError> {
        self.channel.check(highest_mcs)?;
        if self.flows.len() > FLOWS_MAX {
            return Err(AttachError::Flows(self.flows.len()));
        }
        for rlc in [self.rlc_down, self.rlc_up] {
            let bytes = (1500..=BUFFER_BYTES_MAX).contains(&rlc.buffer_bytes);
            let sdus = (1..=BUFFER_SDUS_MAX).contains(&rlc.buffer_sdus);
            if !bytes || !sdus || !(1..=32).contains(&rlc.retransmissions) {
                return Err(AttachError::Rlc);
            }
        }
        let plmn = self.plmn.mcc <= 999 && self.plmn.mnc <= 999 && matches!(self.plmn.mnc_digits, 2 | 3);
        if !plmn || self.snssai.sd.is_some_and(|sd| sd > 0xff_ffff) {
            return Err(AttachError::Network);
        }
        Ok(self.flows.iter().try_for_each(FlowConfig::check)?)
    }
}

/// Reason why a UE cannot attach.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The channel is invalid.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A flow is invalid.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// There are too many flows.
    #[error("a UE can have at most {FLOWS_MAX} flows, not {0}")]
    Flows(usize),
    /// The RLC configuration is out of bounds.
    #[error(
        "an RLC buffer must hold 1500 to {BUFFER_BYTES_MAX} bytes and 1 to {BUFFER_SDUS_MAX} SDUs, with 1 to 32 retransmissions"
    )]
    Rlc,
    /// The PLMN or the S-NSSAI is invalid.
    #[error("a PLMN must have codes of 0 to 999 (2 or 3 digits), and a slice differentiator at most 24 bits")]
    Network,
    /// The cell is full.
    #[error("the cell can have at most {0} UEs")]
    Full(usize),
    /// The UE is already attached.
    #[error("UE {0} is already in the cell")]
    Here(u32),
}

/// An RRC event, reported to controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RrcEvent {
    /// Time of the event, in µs.
    pub at_us: u64,
    /// Kind of the event.
    pub kind: RrcKind,
    /// Identity of the UE for records.
    pub ue: u32,
    /// C-RNTI of the UE in this cell.
    pub rnti: u16,
    /// Network that the UE selected.
    pub plmn: Plmn,
    /// Slice that the UE requested.
    pub snssai: Snssai,
}

/// Kind of an [`RrcEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RrcKind {
    /// A UE has attached.
    Attach,
    /// A UE was released.
    Release,
    /// A UE was handed over from another cell.
    HandoverIn,
    /// A UE has left for another cell.
    HandoverOut,
}

/// Report of a cell about a UE. The relations listed at [`crate::UeState`] apply here as well.
#[derive(Debug, Clone, PartialEq)]
pub struct UeReport {
    /// Identifiers of the UE at the radio interface and at the tunnel.
    pub identity: UeIdentity,
    /// Identity of the UE for records.
    pub id: u32,
    /// Network that the UE selected.
    pub plmn: Plmn,
    /// Slice that the UE requested.
    pub snssai: Snssai,
    /// Identity of the slice in the downlink.
    pub slice_down: u32,
    /// Identity of the slice in the uplink.
    pub slice_up: u32,
    /// Channel quality and MCS.
    pub radio: RadioStats,
    /// Statistics of the downlink.
    pub dl: LinkStats,
    /// Statistics of the uplink.
    pub ul: LinkStats,
    /// Number of pieces for which RLC in acknowledged mode gave up, in both directions. Each is a radio link failure.
    pub rlc_failures: u64,
}

impl UeReport {
    /// Returns the PDCP counters of the UE.
    pub fn pdcp(&self) -> PdcpStats {
        PdcpStats::from_links(&self.dl, &self.ul)
    }

    /// Returns further counters of the base station's RLC receiver.
    pub fn rlc_reception(&self) -> RlcReceptionStats {
        RlcReceptionStats::from_link(&self.ul)
    }
}

/// Waiting times of a UE's packets since the last read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sojourns {
    /// Downlink times in RLC until the last byte is sent.
    pub rlc: Sojourn,
    /// Downlink times in traffic control and RLC together.
    pub whole: Sojourn,
    /// Times in each queue of traffic control, by queue id.
    pub queues: Vec<(u32, Sojourn)>,
}

/// State of a UE in a cell.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) config: UeConfig,
    pub(crate) identity: UeIdentity,
    pub(crate) flows: Vec<Flow>,
    pub(crate) tc: Option<Box<Tc>>,
}

/// State of a UE that moves to another cell.
#[derive(Debug)]
pub struct UeContext {
    pub(crate) config: UeConfig,
    pub(crate) flows: Vec<Flow>,
    pub(crate) tc: Option<Box<Tc>>,
    /// Packets of the RLC buffer, which PDCP forwards to the new cell.
    pub(crate) down: Vec<Packet>,
    pub(crate) up: Vec<Packet>,
}

impl UeContext {
    /// Returns the identity of the UE for records.
    pub fn id(&self) -> u32 {
        self.config.id
    }

    /// Replaces the channel before the UE arrives in the new cell.
    pub fn set_channel(&mut self, channel: Channel) {
        self.config.channel = channel;
    }
}
