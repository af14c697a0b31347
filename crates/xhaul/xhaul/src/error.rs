//! Errors about invalid networks, and the limits of networks.

use super::pattern::PatternError;
use super::scheduler::SchedulerError;

/// Maximum number of stages in a network.
pub const STAGES_MAX: usize = 4096;
/// Maximum number of flows in a network.
pub const FLOWS_MAX: usize = 4096;
/// Maximum number of stages on a flow's path.
pub const HOPS_MAX: usize = 32;
/// Maximum number of further paths of a redundant flow.
pub const REPLICAS_MAX: usize = 3;

/// Reason why a network is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The network has too many stages or flows.
    #[error("a network has at most {STAGES_MAX} stages and {FLOWS_MAX} flows, not {stages} and {flows}")]
    Size {
        /// Number of stages.
        stages: usize,
        /// Number of flows.
        flows: usize,
    },
    /// The rate is outside the range of links.
    #[error("port {port}: the rate must be 1 Mbit/s to 800 Gbit/s, not {rate_bps} bit/s")]
    Rate {
        /// Name of the port.
        port: String,
        /// Invalid rate.
        rate_bps: u64,
    },
    /// A constant delay is above a second, delays have no values or are in descending order, or contention leaves no time.
    #[error(
        "stage {stage}: delays must be at most 1 s, in ascending order; contention must be shorter than its period"
    )]
    Delay {
        /// Name of the stage.
        stage: String,
    },
    /// The queue has no capacity.
    #[error("stage {stage}: a queue must have room for at least one frame")]
    Queue {
        /// Name of the stage.
        stage: String,
    },
    /// The air interface has no capacity.
    #[error(
        "air interface {stage}: a transport block and the queue must have at least 1 octet, a block must be sent 1 to 64 times, \
         the error rate must be at most 1000000 per million, and headers must have at most 10000 octets"
    )]
    Air {
        /// Name of the stage.
        stage: String,
    },
    /// The scheduler has invalid settings.
    #[error("port {port}: {source}")]
    Scheduler {
        /// Name of the port.
        port: String,
        /// Reason of the scheduler.
        source: SchedulerError,
    },
    /// The clock exceeds the limits of IEEE 802.3.
    #[error("{of}: a clock's drift must be at most 100 ppm, and its offset at most 1 s")]
    Clock {
        /// Name of the element with this clock.
        of: String,
    },
    /// The pattern is invalid.
    #[error("flow {flow}: {source}")]
    Pattern {
        /// Name of the flow.
        flow: String,
        /// Reason of the pattern.
        source: PatternError,
    },
    /// The traffic class does not exist.
    #[error("flow {flow}: the class must be 0 to 7, not {class}")]
    Class {
        /// Name of the flow.
        flow: String,
        /// Invalid traffic class.
        class: u8,
    },
    /// The path is empty, too long or has a cycle, or contains a stage that does not exist.
    #[error("flow {flow}: a path must have 1 to {HOPS_MAX} different stages of the network")]
    Path {
        /// Name of the flow.
        flow: String,
    },
    /// The frame has more copies than are supported.
    #[error("flow {flow}: a frame can be sent over 1 to {} paths, not {paths}", REPLICAS_MAX + 1)]
    Replicas {
        /// Name of the flow.
        flow: String,
        /// Number of paths.
        paths: usize,
    },
    /// The flow's largest frame fits no window of its gate, or never passes its regulator.
    #[error(
        "flow {flow}: its largest frame never passes {port}, because the frame is longer than every gate window or burst"
    )]
    NeverSent {
        /// Name of the flow.
        flow: String,
        /// Name of the port.
        port: String,
    },
}
