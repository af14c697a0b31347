//! Worst-case delays by network calculus, which no simulated delay exceeds.
//!
//! The analysis follows the stages in topological order (total flow analysis). Every flow has an arrival curve. The delay of a stage widens
//! the curve for the next stage. Stages whose flows wait for one another in a cycle are analysed in rounds until no delay changes (see
//! [`circle`]). Flows that arrive over the same link cannot arrive faster than that link, so their sum is limited to its rate ("line
//! shaping"). A burst that the first link stretched is therefore not counted again at the second link. Arithmetic uses integers and always
//! rounds to the larger bound. Work includes the inter-frame gap. A frame's delay does not include the gap: it ends with the frame's last
//! bit.
//!
//! | scheduler | delays of a frame besides its own queue | reference |
//! |---|---|---|
//! | FIFO | nothing | Le Boudec and Thiran, Network Calculus, 1.4 |
//! | strict priority | one frame of a lower class; higher classes until it starts | Le Boudec and Thiran, Network Calculus, 1.3 and 6.2 |
//! | preemption | as for strict priority; express frames: at most 143 octets of a preemptable frame; preemptable frames: 24 octets more for each express frame | IEEE 802.3 clause 99 |
//! | gates | closed gates at the worst phase, and the end of a window in which a frame no longer fits; neither of them if all frames of the class are proved to meet an exclusive window | IEEE 802.1Q 8.6.8.4 |
//! | deficit round robin | the rounds of all other classes, or all of their arrivals | Tabatabaee and Le Boudec, Deficit Round-Robin: A Second Network Calculus Analysis (2021), theorem 1 |
//! | credit-based shapers | the credit that a class may gather behind a frame that has begun and behind classes of higher priority, then its slope; unshaped classes: the share of the shaped classes by credit or by arrivals | IEEE 802.1Q 8.6.8.2; De Azua and Boyer, Complete modelling of AVB in Network Calculus Framework (2014) |
//! | asynchronous shaping | as for strict priority; the regulators add nothing to the maximum delay of the previous stage | IEEE 802.1Q 8.6.11; Le Boudec, A Theory of Traffic Regulators for Deterministic Networks (2018) |
//! | host | maximum service time; work of higher priority at the worst phase; an interrupt | |

mod circle;
mod curve;
mod parts;
mod server;
mod shaped;

use super::error::NetworkError;
use super::network::{Network, Stage, StageId};
use super::pattern::{INTER_FRAME_GAP_BYTES, Pattern};
use super::scheduler::{CLASSES, Scheduler};
use super::time::Ps;
use circle::{CIRCLE_MS_MAX, Order};
use curve::Arrival;
use parts::Parts;
use server::Server;

/// Shape of the arrival curves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curves {
    /// Steps: a number of bytes at once, repeated each period. These are the tightest curves that the patterns allow.
    Steps,
    /// Token buckets (burst and rate) for flows that send frames one by one. Flows with bursts of several frames have steps.
    TokenBuckets,
}

/// Upper bound of the delay of a flow's frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Maximum delay from release to arrival at the destination, in ps.
    pub delay_ps: Ps,
    /// Minimum delay, in ps.
    pub least_ps: Ps,
    /// Part of the maximum delay at each stage of the path, in ps. It includes the cable and the forwarding after the stage.
    pub hops_ps: Vec<Ps>,
    /// Method that proves the share of each stage.
    pub theorems: Vec<Theorem>,
}

/// Method that proves the maximum delay at a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Theorem {
    /// Maximum horizontal distance between arrivals and service of one queue.
    Fifo,
    /// Service that strict priority leaves to a class, after one frame of a lower class.
    StrictPriority,
    /// Strict priority with preemption: frames of lower classes are interrupted.
    Preemption,
    /// Strict priority within the windows of a gate. Each window is reduced by a guard time.
    GateWindows,
    /// Frames of equal size: each window of their class alone sends as many as fit.
    EqualFrames,
    /// All frames arrive and leave within exclusive windows of their class.
    MeetsWindow,
    /// Rounds that deficit round robin guarantees to a class.
    Rounds,
    /// Service that any work-conserving scheduler gives its lowest class.
    WorkConserving,
    /// Maximum credit of a shaped class.
    Credit,
    /// Arrivals of the shaped classes of higher priority.
    CreditArrivals,
    /// Strict priority after regulators, which add nothing to the delay of the previous stage.
    Regulators,
    /// Maximum service time of a host, after work of higher priority.
    Host,
}

impl std::fmt::Display for Theorem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fifo => "one queue: horizontal distance, arrivals limited by the links before (Le Boudec and Thiran 1.4)",
            Self::StrictPriority => "strict priority: residual service (Le Boudec and Thiran 6.2)",
            Self::Preemption => "preemption: residual service, IEEE 802.3 clause 99",
            Self::GateWindows => "gates: worst phase of the windows, each without a guard (IEEE 802.1Q 8.6.8.4)",
            Self::EqualFrames => "gates: whole frames of one size in windows that are open only for their class",
            Self::MeetsWindow => "gates: every frame arrives in a window that is open only for its class",
            Self::Rounds => "round robin: guaranteed rounds (Tabatabaee and Le Boudec 2021, theorem 1)",
            Self::WorkConserving => "round robin: bound of the lowest class of any work-conserving scheduler",
            Self::Credit => "credit-based shaping: greatest credit and slope (De Azua and Boyer 2014)",
            Self::CreditArrivals => "credit-based shaping: residual service, arrivals of the shaped classes",
            Self::Regulators => "asynchronous shaping: regulators for free (Le Boudec 2018)",
            Self::Host => "host: one queue of frames",
        })
    }
}

/// Reason why a network has no bound: a property of the network, or a limit of the known methods.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// The network is invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A flow has no upper limit of its traffic.
    #[error("flow {flow} has no arrival curve: only periodic, TDD and timer patterns have one")]
    Unlimited {
        /// Name of the flow.
        flow: String,
    },
    /// Flows wait for one another in a cycle, and the bounds of its stages have no common fixed point.
    #[error("flows wait for one another in the circle {}, and no delays below {CIRCLE_MS_MAX} ms satisfy all of its stages{}", circle::names(stages), circle::cause(cause.as_deref()))]
    Circle {
        /// Names of the cycle's stages in order. The last stage sends to the first.
        stages: Vec<String>,
        /// Error of the first stage that failed, if a stage failed.
        cause: Option<Box<Self>>,
    },
    /// The load exceeds the stage's capacity, or is so close to it that no delay below 10 s is guaranteed.
    #[error("the load of stage {stage} reaches or exceeds its capacity: class {class} has no delay bound")]
    Overload {
        /// Name of the stage.
        stage: String,
        /// Traffic class without a bound.
        class: u8,
    },
    /// A regulator shapes a flow that did not conform to it before the previous stage. In general, such a flow has no bound.
    #[error(
        "stage {stage}: flow {flow} exceeds its regulator when it enters the previous stage, or at all times: shape it at the previous stage"
    )]
    Unshaped {
        /// Name of the flow.
        flow: String,
        /// Name of the stage that shapes the flow.
        stage: String,
    },
    /// The stage exists in simulation only.
    #[error("stage {stage}: bounds exist for hosts and ports, not for the air interface")]
    Simulated {
        /// Name of the stage.
        stage: String,
    },
}

/// Returns the bounds of each flow's delay, in the network's order. Queues are assumed to be long enough. If the simulation drops frames,
/// the bounds apply to the frames that arrive.
pub fn bounds(network: &Network, curves: Curves) -> Result<Vec<Bound>, BoundError> {
    network.check()?;
    let parts = Parts::new(network);
    let order = Order::new(&parts);
    let analyze = |whole| {
        let mut analysis = Analysis::new(&parts, curves, whole)?;
        order.before.iter().try_for_each(|&stage| analysis.pass(stage))?;
        circle::pass(&mut analysis, &order)?;
        order.after.iter().try_for_each(|&stage| analysis.pass(stage))?;
        Ok(analysis.bounds())
    };
    let duplexed = network.flows.iter().any(|flow| matches!(flow.pattern, Pattern::Tdd { .. }));
    let found: Vec<Bound> = match analyze(false) {
        // While a TDD carrier sends, its rate may exceed the rate of a link, although its mean rate does not. The second analysis uses the
        // mean rate.
        Err(BoundError::Overload { .. } | BoundError::Circle { .. }) if duplexed => analyze(true),
        other => other,
    }?;
    Ok(parts.join(&found))
}

/// State of a flow where it enters a stage of its path, or where it leaves the last stage.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    arrival: Arrival,
    /// Whether the flow conformed to its regulator when it entered the queue of the previous stage.
    conformed: bool,
    /// Maximum delay of the previous stage.
    latest_ps: Ps,
    /// Bound of the delay up to this point.
    bound: Bound,
}

/// State of a flow at a stage: its arrivals, and the previous stage.
#[derive(Clone, Copy)]
struct StageFlow {
    flow: usize,
    /// Position of the stage in the flow's path.
    hop: usize,
    class: u8,
    arrival: Arrival,
    from: Option<StageId>,
    /// Minimum and maximum delay from the release to this stage.
    delay: (Ps, Ps),
    /// Copy of [`Entry::conformed`].
    conformed: bool,
    /// Copy of [`Entry::latest_ps`].
    latest_ps: Ps,
}

struct Analysis<'n> {
    parts: &'n Parts,
    network: &'n Network,
    /// Arrival curve of each flow at its source.
    sources: Vec<Arrival>,
    /// Known properties of each flow at each stage of its path, and after the last stage.
    entries: Vec<Vec<Option<Entry>>>,
    /// Granularity of delays, in ps. Delays are rounded up to multiples of it.
    step_ps: Ps,
}

impl<'n> Analysis<'n> {
    fn new(parts: &'n Parts, curves: Curves, whole: bool) -> Result<Self, BoundError> {
        let network = &parts.network;
        let sources = network.flows.iter().map(|flow| {
            let arrival = Arrival::from_flow(flow, curves, whole);
            arrival.ok_or_else(|| BoundError::Unlimited { flow: flow.name.clone() })
        });
        let sources = sources.collect::<Result<_, BoundError>>()?;
        let entries = network.flows.iter().map(|flow| vec![None; flow.path.len() + 1]).collect();
        Ok(Self { parts, network, sources, entries, step_ps: 1 })
    }

    /// Returns the bound of each part after its last stage.
    fn bounds(&self) -> Vec<Bound> {
        (0..self.entries.len()).map(|flow| self.entry(flow, self.entries[flow].len() - 1).bound).collect()
    }

    /// Returns the known properties of a flow at a stage. In a cycle, these are at first the properties at an earlier stage, as if the
    /// stages in between did not vary the delay.
    fn entry(&self, flow: usize, hop: usize) -> Entry {
        let known = self.entries[flow][..=hop].iter().rev().flatten().next();
        known.cloned().unwrap_or_else(|| Entry {
            arrival: self.sources[flow],
            conformed: true,
            latest_ps: 0,
            bound: Bound { delay_ps: 0, least_ps: 0, hops_ps: Vec::new(), theorems: Vec::new() },
        })
    }

    /// Adds one stage to the bounds of the flows that pass it. All previous stages must have been added.
    fn pass(&mut self, stage: StageId) -> Result<(), BoundError> {
        self.begin(stage);
        let mut guests = self.guests(stage);
        let mut held = vec![0; guests.len()];
        let config = &self.network.stages[usize::from(stage)];
        let regulates = matches!(config, Stage::Port(port) if port.scheduler == Scheduler::Asynchronous);
        if regulates {
            held = shaped::regulate(self.network, stage, &mut guests)?;
        }
        let turns = matches!(config, Stage::Port(port) if matches!(port.scheduler, Scheduler::DeficitRoundRobin { .. }));
        let mut hops = Vec::with_capacity(guests.len());
        let mut waits = [0; CLASSES];
        // Without priorities among classes, each class is bounded a second time, after all other classes.
        for _ in 0..=u8::from(turns) {
            hops.clear();
            for guest in &guests {
                hops.push(self.hop(stage, guest, &guests, &mut waits)?);
            }
        }
        for ((guest, hop), held) in guests.iter().zip(hops).zip(held) {
            let Hop { least, most, theorem } = hop;
            let most = most.next_multiple_of(self.step_ps);
            let bucket = self.network.flows[guest.flow].regulator;
            let first = guest.hop == 0 && self.parts.before[guest.flow].is_empty();
            let source = first && bucket.is_some_and(|bucket| guest.arrival.conforms(bucket));
            let mut bound = self.entry(guest.flow, guest.hop).bound;
            bound.hops_ps.push(held + most);
            bound.theorems.push(theorem);
            bound.delay_ps += held + most;
            bound.least_ps += least;
            let arrival = guest.arrival.later(most - least);
            let next = Entry { arrival, conformed: regulates || source, latest_ps: most, bound };
            self.entries[guest.flow][guest.hop + 1] = Some(next);
        }
        Ok(())
    }

    /// Starts the flows whose first stage is `stage`. Parts of redundant flows start with the bounds of the parts before them.
    fn begin(&mut self, stage: StageId) {
        for index in 0..self.entries.len() {
            if self.network.flows[index].path.first() != Some(&stage) {
                continue;
            }
            let before = &self.parts.before[index];
            let lasts: Vec<Entry> =
                before.iter().map(|&part| self.entry(part, self.entries[part].len() - 1)).collect();
            let Some(slowest) = lasts.iter().max_by_key(|last| last.bound.delay_ps) else {
                continue;
            };
            let least_ps = lasts.iter().map(|last| last.bound.least_ps).min().unwrap_or(0);
            let bound = Bound { least_ps, ..slowest.bound.clone() };
            // Only the first copy of a frame counts, and each branch can be the fastest one.
            let arrival = match lasts.len() {
                1 => slowest.arrival,
                _ => self.sources[index].later(bound.delay_ps - least_ps),
            };
            let conformed = lasts.len() == 1 && slowest.conformed;
            let latest_ps = slowest.latest_ps;
            self.entries[index][0] = Some(Entry { arrival, conformed, latest_ps, bound });
        }
    }

    /// Returns the flows that pass `stage`, in order of descending priority.
    fn guests(&self, stage: StageId) -> Vec<StageFlow> {
        let passing = self.network.flows.iter().enumerate().filter_map(|(flow, passing)| {
            let hop = passing.path.iter().position(|&own| own == stage)?;
            let entry = self.entry(flow, hop);
            Some(StageFlow {
                flow,
                hop,
                class: passing.class,
                arrival: entry.arrival,
                from: match hop.checked_sub(1) {
                    Some(before) => Some(passing.path[before]),
                    None => self.parts.stage_before(flow),
                },
                delay: (entry.bound.least_ps, entry.bound.delay_ps),
                conformed: entry.conformed,
                latest_ps: entry.latest_ps,
            })
        });
        let mut guests: Vec<StageFlow> = passing.collect();
        guests.sort_by_key(|guest| std::cmp::Reverse(guest.class));
        guests
    }

    /// Returns the minimum and the maximum delay of a guest at `stage`, with cable and forwarding. `waits` contains the maximum delay of
    /// each class that has been bounded so far, without cable and forwarding. This function updates the value of the guest's class.
    fn hop(
        &self,
        stage: StageId,
        guest: &StageFlow,
        guests: &[StageFlow],
        waits: &mut [Ps; CLASSES],
    ) -> Result<Hop, BoundError> {
        let config = &self.network.stages[usize::from(stage)];
        let overload = || BoundError::Overload { stage: config.name().to_owned(), class: guest.class };
        let unknown = || BoundError::Simulated { stage: config.name().to_owned() };
        let servers = match config {
            Stage::Port(port) => Server::of_port(self.network, port, guest, guests, waits),
            Stage::Host(host) => vec![Server::of_host(self.network, host, guest, guests)],
            Stage::Air(_) => return Err(unknown()),
        };
        let proven = servers.iter().filter_map(|server| Some((server.delay_ps()?, server.theorem)));
        let (mut most, mut theorem) = proven.min_by_key(|(delay, _)| *delay).ok_or_else(overload)?;
        if let Stage::Port(port) = config
            && let Scheduler::Gates(gates) = &port.scheduler
        {
            let met = server::meets_window(self.network, port, gates, guest, guests);
            if let Some(met) = met.filter(|met| *met <= most) {
                (most, theorem) = (met, Theorem::MeetsWindow);
            }
        }
        let wait = &mut waits[usize::from(guest.class)];
        *wait = most.max(*wait);
        let smallest = u64::from(guest.arrival.envelope.smallest);
        let (least, most) = match config {
            Stage::Port(port) => {
                let path = &self.network.flows[guest.flow].path;
                let next = path.get(guest.hop + 1).copied();
                let next = next.or_else(|| self.parts.stage_after(guest.flow));
                let cut = match next.map(|next| &self.network.stages[usize::from(next)]) {
                    Some(Stage::Port(next)) => {
                        port.cuts_through(next, guest.class, guest.arrival.envelope.largest)
                    }
                    _ => None,
                };
                let whole = smallest - u64::from(INTER_FRAME_GAP_BYTES);
                let sent = cut.map_or(whole, |header| whole.min(u64::from(header)));
                let least = sent * port.ps_per_byte() + port.propagation_ps + port.forwarding.min_ps();
                // The gap is part of the service of each frame, so the difference is not negative.
                let last_bit = most - port.gap_ps();
                (least, last_bit + port.propagation_ps + port.forwarding.max_ps())
            }
            Stage::Host(host) => (host.service.min_ps(), most + host.start_ps_max()),
            Stage::Air(_) => return Err(unknown()),
        };
        Ok(Hop { least, most, theorem })
    }
}

/// Minimum and maximum delay at a stage, with cable and forwarding.
struct Hop {
    least: Ps,
    most: Ps,
    theorem: Theorem,
}
