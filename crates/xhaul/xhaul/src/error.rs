//! Reasons why a network is invalid, with the limits.

use super::pattern::PatternError;
use super::scheduler::SchedulerError;

/// Stages of a network.
pub const STAGES_MAX: usize = 4096;
/// Flows of a network.
pub const FLOWS_MAX: usize = 4096;
/// Stages that a flow passes.
pub const HOPS_MAX: usize = 32;
/// Further paths of a redundant flow.
pub const REPLICAS_MAX: usize = 3;

/// Reason why a network cannot exist, an error of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Too many stages or flows.
    #[error("a network has up to {STAGES_MAX} stages and {FLOWS_MAX} flows, not {stages} and {flows}")]
    Size {
        /// Stages.
        stages: usize,
        /// Flows.
        flows: usize,
    },
    /// A rate that no link has.
    #[error("port {port}: a rate is 1 Mbit/s to 800 Gbit/s, not {rate_bps} bit/s")]
    Rate {
        /// Name of the port.
        port: String,
        /// The rate.
        rate_bps: u64,
    },
    /// A constant delay without values, in descending order or above a second; contention that leaves no
    /// time.
    #[error(
        "stage {stage}: delays are at most 1 s, the shortest first; contention is shorter than its period"
    )]
    Delay {
        /// Name of the stage.
        stage: String,
    },
    /// A queue without capacity.
    #[error("stage {stage}: a queue holds at least one frame")]
    Queue {
        /// Name of the stage.
        stage: String,
    },
    /// An air interface without capacity.
    #[error(
        "air interface {stage}: a transport block and the queue have at least 1 octet, a block is sent 1 to 64 times, \
         errors are at most 1000000 per million, headers at most 10000 octets"
    )]
    Air {
        /// Name of the stage.
        stage: String,
    },
    /// A scheduler that cannot work.
    #[error("port {port}: {source}")]
    Scheduler {
        /// Name of the port.
        port: String,
        /// Cause.
        source: SchedulerError,
    },
    /// A clock outside the limits of 802.3.
    #[error("{of}: a clock drifts by at most 100 ppm and is off by at most 1 s")]
    Clock {
        /// Owner of the clock.
        of: String,
    },
    /// An invalid pattern.
    #[error("flow {flow}: {source}")]
    Pattern {
        /// Name of the flow.
        flow: String,
        /// Cause.
        source: PatternError,
    },
    /// A class that does not exist.
    #[error("flow {flow}: a class is 0 to 7, not {class}")]
    Class {
        /// Name of the flow.
        flow: String,
        /// The class.
        class: u8,
    },
    /// An empty, circular or too long way, or one through a stage that does not exist.
    #[error("flow {flow}: a way has 1 to {HOPS_MAX} stages of the network, none twice")]
    Path {
        /// Name of the flow.
        flow: String,
    },
    /// More copies of a frame than are supported.
    #[error("flow {flow}: a frame is sent over 1 to {} paths, not {paths}", REPLICAS_MAX + 1)]
    Replicas {
        /// Name of the flow.
        flow: String,
        /// Its paths.
        paths: usize,
    },
    /// A frame that fits into no window of its gate, or a regulator that passes no frame.
    #[error("flow {flow}: its largest frame never passes {port}: every gate window or burst is shorter")]
    NeverSent {
        /// Name of the flow.
        flow: String,
        /// Name of the port.
        port: String,
    },
}
