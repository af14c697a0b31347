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
    /// Number of frames dropped by each stage, because its queue was full or all transmissions on the air failed.
    pub dropped: Vec<u64>,
    /// Number of processed events.
    pub events: u64,
    /// Digest of all deliveries. It is equal for equal networks and options, on any machine.
    pub digest: u64,
}

/// Statistics of a flow's frames.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowReport {
    /// Name of the flow.
    pub name: String,
    /// Number of frames sent. A frame with several copies counts once.
    pub sent: u64,
    /// Number of frames dropped by full queues, or after all transmissions of an air interface failed.
    pub dropped: u64,
    /// Number of frames that were neither delivered nor dropped when the run ended.
    pub unfinished: u64,
    /// Number of copies that the receiver discarded because the frame had arrived before (IEEE 802.1CB).
    pub duplicates: u64,
    /// Number of frames that arrived before their receive window.
    pub early: u64,
    /// Number of frames that arrived after their receive window.
    pub late: u64,
    /// Delay and delay variation of the delivered frames.
    pub delays: Delays,
    /// Delay up to the radio link after the last wire. `None` if the path does not end with a radio link.
    pub wired: Option<Box<Delays>>,
    /// Time at each stage of the first path, then at each stage of the further paths.
    pub segments: Vec<Segment>,
}

/// Time that a flow's frames spent at one stage of their path. If no frame was lost, the sum of `waiting_ps`, `service_ps` and `transit_ps`
/// over all segments is the sum of the one-way delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    /// Stage of the segment.
    pub stage: StageId,
    /// Number of frames that left the stage.
    pub frames: u64,
    /// Time in the stage's queue, before closed gates, interrupted or waiting for other work; sum over all frames.
    pub waiting_ps: u128,
    /// Time on the line or in processing; sum over all frames. With cut-through, only the time until forwarding begins.
    pub service_ps: u128,
    /// Time in the cable and in the forwarding node; sum over all frames.
    pub transit_ps: u128,
    /// Maximum waiting time of a frame.
    pub waiting_ps_max: Ps,
}

/// Frame that reached its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Arrival time, in ps.
    pub at_ps: Ps,
    /// Index of the frame's flow.
    pub flow: u32,
    /// Number of the frame within its flow, starting at 0.
    pub sequence: u64,
    /// Size of the frame on the wire, in bytes.
    pub wire: u32,
}
