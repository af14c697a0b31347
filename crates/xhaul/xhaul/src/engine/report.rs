//! Results of a simulation.

use super::super::network::StageId;
use super::super::stats::Delays;
use super::super::time::Ps;

/// Result of a simulation of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Reports of the flows, in the network's order.
    pub flows: Vec<FlowReport>,
    /// Maximum backlog of each stage: bytes on the wire in a queue of a port, frames at a host, bytes waiting
    /// for the air.
    pub backlog_max: Vec<u64>,
    /// Frames dropped by each stage: its queue was full, or the air interface gave them up.
    pub dropped: Vec<u64>,
    /// Events handled.
    pub events: u64,
    /// A fingerprint of every delivery: equal for equal networks and options, on any machine.
    pub digest: u64,
}

/// Statistics of a flow's frames.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowReport {
    /// The flow's name.
    pub name: String,
    /// Frames sent; a frame with several copies counts once.
    pub sent: u64,
    /// Frames dropped by full queues or given up by an air interface.
    pub dropped: u64,
    /// Frames neither delivered nor dropped when the run ended.
    pub unfinished: u64,
    /// Copies of frames that had arrived before, which the receiver discarded (IEEE 802.1CB).
    pub duplicates: u64,
    /// Frames that arrived before their receive window.
    pub early: u64,
    /// Frames that arrived after their receive window.
    pub late: u64,
    /// Delay and its variation over the delivered frames.
    pub delays: Delays,
    /// Delay up to the radio link after the last wire; `None` if the path does not end with a radio link.
    pub wired: Option<Box<Delays>>,
    /// Delay of each stage of the path, then of each further path.
    pub segments: Vec<Segment>,
}

/// The time that a flow's frames spent at one stage of their way. Over the segments, the sums of `waiting_ps`,
/// `service_ps` and `transit_ps` are the sum of the one-way delays, if no frame was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    /// The stage.
    pub stage: StageId,
    /// Frames that left it.
    pub frames: u64,
    /// In its queue, behind gates, interrupted or behind other work; sum over frames.
    pub waiting_ps: u128,
    /// Time on the line or in processing; sum over frames. With cut-through only until forwarding begins.
    pub service_ps: u128,
    /// In the cable and in the forwarding node; sum over frames.
    pub transit_ps: u128,
    /// The longest wait of a frame.
    pub waiting_ps_max: Ps,
}

/// A frame that reached its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Time of arrival, ps.
    pub at_ps: Ps,
    /// Index of its flow.
    pub flow: u32,
    /// Its number within the flow, from 0.
    pub sequence: u64,
    /// Bytes on the wire.
    pub wire: u32,
}
