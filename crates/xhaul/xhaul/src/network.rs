//! Network for simulation and bounds: stages, and flows through them.

use super::air::AirInterface;
use super::error::{FLOWS_MAX, HOPS_MAX, NetworkError, REPLICAS_MAX, STAGES_MAX};
use super::pattern::{INTER_FRAME_GAP_BYTES, Pattern};
use super::scheduler::{CLASSES, Scheduler, TokenBucket};
use super::time::{Clock, DRIFT_PPB_MAX, Duration, Ps, S};

/// Maximum rate of a link: 800 Gbit/s.
pub const RATE_BPS_MAX: u64 = 800_000_000_000;
/// Minimum rate of a link: 1 Mbit/s.
const RATE_BPS_MIN: u64 = 1_000_000;
/// Maximum constant delay (a cable, a table look-up, a service time).
const CONSTANT_PS_MAX: Ps = S;

/// Stages and the flows through them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// Ports, hosts and air interfaces. A flow refers to them by index.
    pub stages: Vec<Stage>,
    /// Traffic flows with their paths.
    pub flows: Vec<Flow>,
}

/// Index of a stage in [`Network::stages`].
pub type StageId = u16;

/// Station on a frame's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// A queue before a link.
    Port(Port),
    /// Software that handles each frame.
    Host(Host),
    /// One direction of a UE's radio link.
    Air(AirInterface),
}

/// Sending side of a link: queues, scheduler, cable and the node at its far end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name of the port in reports.
    pub name: String,
    /// Rate in bit/s, from 1 Mbit/s to [`RATE_BPS_MAX`].
    pub rate_bps: u64,
    /// Signal time in the cable, in ps (5 ns per metre).
    pub propagation_ps: Ps,
    /// Time that the node at the far end needs to put a frame into its next queue. Frames of a link keep
    /// their order.
    pub forwarding: Duration,
    /// Bytes on the wire after which the far end may forward a frame that is still arriving. `None`: store and forward. The next port must
    /// not be faster. Preemptable frames are always stored.
    pub cut_through_bytes: Option<u32>,
    /// Scheduler, which selects the next frame.
    pub scheduler: Scheduler,
    /// Maximum bytes on the wire in a class's queue. Further frames are dropped and counted.
    pub queue_bytes_max: u64,
    /// Start and end of a time in which the link is cut. Frames that are sent in this time are lost. Bounds apply to all other frames.
    pub cut_ps: Option<(Ps, Ps)>,
}

/// One core that handles frames in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Name of the host in reports.
    pub name: String,
    /// Service time of each frame, in ps.
    pub service: Duration,
    /// Additional time per frame, drawn separately: the cost of sharing the network card.
    pub sharing: Duration,
    /// Interrupt coalescing time. The first frame waits for it, and later frames share its interrupt. 0: immediate interrupt.
    pub coalescing_ps: Ps,
    /// Wake-up latency of the thread that handles frames. It is drawn when a frame arrives and the thread sleeps. Later frames share its
    /// wake-up.
    pub wakeup: Duration,
    /// Work of higher priority on the same core, for which frames wait: (period, busy time, offset), in ps.
    pub contention: Option<(Ps, Ps, Ps)>,
    /// Maximum number of waiting frames. Further frames are dropped and counted.
    pub queue_frames_max: u32,
}

/// Frames of one kind from one source along one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Name of the flow in reports.
    pub name: String,
    /// Traffic class, 0 to 7. Class 7 has the highest priority.
    pub class: u8,
    /// Stages of the first path in order: 1 to [`HOPS_MAX`], all different.
    pub path: Vec<StageId>,
    /// Further paths, up to [`REPLICAS_MAX`]. Each frame is sent over all paths, and its first copy counts (IEEE 802.1CB).
    pub replicas: Vec<Vec<StageId>>,
    /// Stages that all paths have in common.
    pub shared: Shared,
    /// Release times and sizes of the frames.
    pub pattern: Pattern,
    /// Start of the pattern on the source's clock, in ps.
    pub offset_ps: Ps,
    /// Clock of the source.
    pub clock: Clock,
    /// Token bucket that asynchronous shapers on the path enforce.
    pub regulator: Option<TokenBucket>,
    /// One-way delay budget, in ps.
    pub budget_ps: Option<Ps>,
    /// Delays with which frames meet their receive window.
    pub window: Option<DelayWindow>,
}

/// Stages that all paths of a redundant flow have in common. Frames are copied after the common stages at the start. Duplicates are
/// discarded before the common stages at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shared {
    /// Number of common stages at the start of each path.
    pub head: usize,
    /// Number of common stages at the end of each path.
    pub tail: usize,
}

/// Delays, counted from the release, with which a frame arrives within its receive window. Both ends are included. If an end is negative,
/// the window ends before the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayWindow {
    /// Minimum delay, in ps. Frames with a shorter delay are early.
    pub from_ps: i64,
    /// Maximum delay, in ps. Frames with a longer delay are late.
    pub to_ps: i64,
}

impl Network {
    /// Checks that the network is valid. [`Simulation`](super::Simulation) and [`bounds`](super::bounds) call this function first.
    pub fn check(&self) -> Result<(), NetworkError> {
        if self.stages.len() > STAGES_MAX || self.flows.len() > FLOWS_MAX {
            return Err(NetworkError::Size { stages: self.stages.len(), flows: self.flows.len() });
        }
        self.stages.iter().try_for_each(Stage::check)?;
        self.flows.iter().try_for_each(|flow| self.check_flow(flow))
    }

    /// Returns the load of each port in bit/s, from the flows' mean rates, and its rate. A trace counts as zero load.
    pub fn port_loads(&self) -> Vec<(StageId, u64, u64)> {
        let mut loads = Vec::new();
        for (index, stage) in self.stages.iter().enumerate() {
            let (Stage::Port(port), Ok(id)) = (stage, StageId::try_from(index)) else { continue };
            let copies = self.flows.iter().flat_map(|flow| {
                let parts = flow.parts().filter(|part| part.contains(&id));
                parts.filter_map(|_| flow.pattern.mean_bps())
            });
            loads.push((id, copies.sum(), port.rate_bps));
        }
        loads
    }

    fn check_flow(&self, flow: &Flow) -> Result<(), NetworkError> {
        let name = || flow.name.clone();
        if usize::from(flow.class) >= CLASSES {
            return Err(NetworkError::Class { flow: name(), class: flow.class });
        }
        flow.pattern.check().map_err(|source| NetworkError::Pattern { flow: name(), source })?;
        if !is_sane(flow.clock) || flow.offset_ps > 10 * S {
            return Err(NetworkError::Clock { of: name() });
        }
        let valid = |path: &[StageId]| {
            let known = path.iter().all(|&stage| usize::from(stage) < self.stages.len());
            let once = path.iter().enumerate().all(|(index, stage)| !path[..index].contains(stage));
            (1..=HOPS_MAX).contains(&path.len()) && known && once
        };
        if !flow.paths().all(valid) {
            return Err(NetworkError::Path { flow: name() });
        }
        let Shared { head, tail } = flow.shared;
        let start = flow.path.get(..head);
        let end = flow.path.len().checked_sub(tail).and_then(|at| flow.path.get(at..));
        let branches = |path: &[StageId]| {
            path.len() > head + tail
                && start.is_some_and(|start| path.starts_with(start))
                && end.is_some_and(|end| path.ends_with(end))
        };
        if !flow.replicas.is_empty() && !flow.paths().all(branches) {
            return Err(NetworkError::Path { flow: name() });
        }
        if flow.replicas.len() > REPLICAS_MAX {
            return Err(NetworkError::Replicas { flow: name(), paths: flow.replicas.len() + 1 });
        }
        for &stage in flow.paths().flatten() {
            if let Stage::Port(port) = &self.stages[usize::from(stage)]
                && !port.passes(flow)
            {
                return Err(NetworkError::NeverSent { flow: name(), port: port.name.clone() });
            }
        }
        Ok(())
    }
}

impl Flow {
    /// Returns all paths of the flow's frames. The first one is [`path`](Flow::path).
    pub fn paths(&self) -> impl Iterator<Item = &[StageId]> {
        std::iter::once(&self.path).chain(&self.replicas).map(Vec::as_slice)
    }

    /// Returns the parts of the paths over which a frame is sent once: the common start, each branch, the common end.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[StageId]> {
        let Shared { head, tail } = if self.replicas.is_empty() { Shared::default() } else { self.shared };
        let start = self.path.get(..head);
        let end = self.path.len().checked_sub(tail).and_then(|at| self.path.get(at..));
        let branches = self.paths().filter_map(move |path| path.get(head..path.len().checked_sub(tail)?));
        start.into_iter().chain(branches).chain(end).filter(|part| !part.is_empty())
    }

    /// Returns the stages on the path of one copy of a frame. Copy 0 uses the first path.
    pub(super) fn path_of(&self, copy: u8) -> &[StageId] {
        match copy.checked_sub(1) {
            Some(replica) => self.replicas.get(usize::from(replica)).map_or(&[], Vec::as_slice),
            None => &self.path,
        }
    }
}

impl DelayWindow {
    /// Returns whether a delay is too short.
    pub fn is_early(self, delay_ps: Ps) -> bool {
        i128::from(delay_ps) < i128::from(self.from_ps)
    }

    /// Returns whether a delay is too long.
    pub fn is_late(self, delay_ps: Ps) -> bool {
        i128::from(delay_ps) > i128::from(self.to_ps)
    }
}

impl Stage {
    /// Returns the name of the stage in reports.
    pub fn name(&self) -> &str {
        match self {
            Self::Port(port) => &port.name,
            Self::Host(host) => &host.name,
            Self::Air(air) => &air.name,
        }
    }

    fn check(&self) -> Result<(), NetworkError> {
        let stage = || self.name().to_owned();
        match self {
            Self::Port(port) => {
                if !(RATE_BPS_MIN..=RATE_BPS_MAX).contains(&port.rate_bps) {
                    return Err(NetworkError::Rate { port: stage(), rate_bps: port.rate_bps });
                }
                if port.propagation_ps > CONSTANT_PS_MAX || !port.forwarding.is_valid(CONSTANT_PS_MAX) {
                    return Err(NetworkError::Delay { stage: stage() });
                }
                if port.queue_bytes_max < u64::from(super::WIRE_BYTES_MIN) {
                    return Err(NetworkError::Queue { stage: stage() });
                }
                let checked = port.scheduler.check(port.rate_bps);
                checked.map_err(|source| NetworkError::Scheduler { port: stage(), source })?;
                match &port.scheduler {
                    Scheduler::Gates(gates) if !is_sane(gates.clock) => {
                        Err(NetworkError::Clock { of: stage() })
                    }
                    _ => Ok(()),
                }
            }
            Self::Host(host) => {
                let contention = host
                    .contention
                    .is_none_or(|(period, busy, offset)| busy < period && period <= S && offset <= S);
                let constant = [&host.service, &host.sharing, &host.wakeup]
                    .iter()
                    .all(|time| time.is_valid(CONSTANT_PS_MAX));
                if !constant || host.coalescing_ps > CONSTANT_PS_MAX || !contention {
                    return Err(NetworkError::Delay { stage: stage() });
                }
                if host.queue_frames_max == 0 {
                    return Err(NetworkError::Queue { stage: stage() });
                }
                Ok(())
            }
            Self::Air(air) => air.check(),
        }
    }
}

impl Port {
    /// Returns a port with a FIFO and 1 MB per queue. The cable has no delay. The far end uses store and forward, without delay.
    pub fn new(name: impl Into<String>, rate_bps: u64) -> Self {
        Self {
            name: name.into(),
            rate_bps,
            propagation_ps: 0,
            forwarding: Duration::Constant(0),
            cut_through_bytes: None,
            scheduler: Scheduler::Fifo,
            queue_bytes_max: 1_000_000,
            cut_ps: None,
        }
    }

    /// Returns the time of a byte on the wire, in ps. It is rounded up if the rate does not divide 8 s in ps.
    pub fn ps_per_byte(&self) -> Ps {
        (8 * S).div_ceil(self.rate_bps)
    }

    /// Returns the time for which the line is idle after a frame, in ps.
    pub(super) fn gap_ps(&self) -> Ps {
        u64::from(INTER_FRAME_GAP_BYTES) * self.ps_per_byte()
    }

    fn passes(&self, flow: &Flow) -> bool {
        let largest = flow.pattern.largest();
        match &self.scheduler {
            Scheduler::Gates(gates) => {
                // Drift shortens a window by at most the maximum drift. Rounding shortens it by a few steps.
                let longest = gates.longest_ps(usize::from(flow.class));
                let shorter = match gates.clock.drift_ppb {
                    0 => 0,
                    _ => longest / (1_000_000_000 / u64::from(DRIFT_PPB_MAX)) + 8,
                };
                let sure = longest.saturating_sub(shorter);
                u64::from(largest.saturating_sub(INTER_FRAME_GAP_BYTES)) * self.ps_per_byte() <= sure
            }
            Scheduler::Asynchronous => {
                flow.regulator.is_none_or(|bucket| bucket.burst_bytes >= largest && bucket.rate_bps > 0)
            }
            _ => true,
        }
    }
}

fn is_sane(clock: Clock) -> bool {
    clock.drift_ppb.unsigned_abs() <= DRIFT_PPB_MAX && clock.offset_ps.unsigned_abs() <= S
}
