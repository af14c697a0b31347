//! Finds stages that form a cycle because their flows wait for one another, orders all other stages, and analyses the cycles.
//!
//! In a cycle there is no stage whose arrivals are all known first. The analysis therefore runs in rounds. It passes every stage with the
//! delays of the previous round, beginning with zero delays, until a round changes no delay. Such a fixed point bounds every delay.
//! Consider the first frame that takes longer than the fixed point at some stage. All earlier frames had at most the delays of the fixed
//! point, so the arrivals at that stage conform to their curves. Therefore the stage's bound applies to this frame as well. (Thomas, Le
//! Boudec and Mifdaoui, On Cyclic Dependencies and Regulators in Time-Sensitive Networks, RTSS 2019.) Without a fixed point, the cycle may
//! be unstable although no port is overloaded, and it has no bound.

use super::super::network::StageId;
use super::super::time::{MS, NS, Ps};
use super::parts::Parts;
use super::{Analysis, BoundError};

/// Maximum delay of a cycle's flows for which a fixed point is searched, in ms. It is the largest budget of eCPRI (class Low).
pub(super) const CIRCLE_MS_MAX: Ps = 100;
/// Maximum number of rounds through a cycle.
const ROUNDS_MAX: usize = 500;
/// Granularity of delays in a cycle, in ps. Delays are rounded up, so that a search that approaches its fixed point reaches it.
const STEP_PS: Ps = NS;
/// Maximum number of stage names in a message.
const NAMES_MAX: usize = 12;

/// Stages of all flows, in the order of the analysis.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Stages before the cycles, in topological order.
    pub(super) before: Vec<StageId>,
    /// Stages of cycles, and stages between cycles.
    pub(super) circles: Vec<StageId>,
    /// Stages after the cycles, in topological order.
    pub(super) after: Vec<StageId>,
    /// Stages of one cycle. Each stage sends to the next one, and the last stage sends to the first.
    pub(super) circle: Vec<StageId>,
}

impl Order {
    pub(super) fn new(parts: &Parts) -> Self {
        let network = &parts.network;
        let pairs = || {
            let along = network.flows.iter().flat_map(|flow| flow.path.windows(2));
            along.map(|pair| (pair[0], pair[1])).chain(parts.joints())
        };
        let count = network.stages.len();
        let before = sorted(&vec![true; count], pairs());
        let mut left = vec![true; count];
        before.iter().for_each(|&stage| left[usize::from(stage)] = false);
        // Sorts the remaining stages in reverse order, from the ends of the paths.
        let mut after = sorted(&left, pairs().map(|(from, to)| (to, from)));
        after.reverse();
        after.iter().for_each(|&stage| left[usize::from(stage)] = false);
        let circles: Vec<StageId> =
            (0..count).filter(|&stage| left[stage]).map(|stage| stage as StageId).collect();
        let circle = circle(&circles, &left, pairs);
        Self { before, circles, after, circle }
    }
}

/// Returns the stages of `among` that are neither on a cycle nor after one, in topological order.
fn sorted(among: &[bool], pairs: impl Iterator<Item = (StageId, StageId)>) -> Vec<StageId> {
    let mut waiting = vec![0_usize; among.len()];
    let mut next: Vec<Vec<StageId>> = vec![Vec::new(); among.len()];
    for (from, to) in pairs.filter(|(from, to)| among[usize::from(*from)] && among[usize::from(*to)]) {
        next[usize::from(from)].push(to);
        waiting[usize::from(to)] += 1;
    }
    // `Network::check` ensures that stage numbers fit 16 bits.
    let mut ready: Vec<StageId> = (0..among.len())
        .filter(|&stage| among[stage] && waiting[stage] == 0)
        .map(|stage| stage as StageId)
        .collect();
    let mut ordered = Vec::new();
    while let Some(stage) = ready.pop() {
        ordered.push(stage);
        for &next in &next[usize::from(stage)] {
            waiting[usize::from(next)] -= 1;
            if waiting[usize::from(next)] == 0 {
                ready.push(next);
            }
        }
    }
    ordered
}

/// Returns a cycle among stages that all have a predecessor. Follows predecessors until a stage repeats.
fn circle<P: Iterator<Item = (StageId, StageId)>>(
    circles: &[StageId],
    left: &[bool],
    pairs: impl Fn() -> P,
) -> Vec<StageId> {
    let mut backwards: Vec<StageId> = circles.first().copied().into_iter().collect();
    while let Some(&stage) = backwards.last() {
        let before = pairs().find(|&(from, to)| to == stage && left[usize::from(from)]);
        let Some((before, _)) = before else { return Vec::new() };
        if let Some(at) = backwards.iter().position(|&own| own == before) {
            backwards.drain(..at);
            backwards.reverse();
            return backwards;
        }
        backwards.push(before);
    }
    Vec::new()
}

/// Analyses the stages of cycles in rounds until no delay changes.
pub(super) fn pass(analysis: &mut Analysis<'_>, order: &Order) -> Result<(), BoundError> {
    if order.circles.is_empty() {
        return Ok(());
    }
    let network = analysis.network;
    let refused = |cause: Option<BoundError>| {
        let name = |stage: &StageId| network.stages[usize::from(*stage)].name().to_owned();
        BoundError::Circle { stages: order.circle.iter().map(name).collect(), cause: cause.map(Box::new) }
    };
    analysis.step_ps = STEP_PS;
    for _ in 0..ROUNDS_MAX {
        let known = analysis.entries.clone();
        for &stage in &order.circles {
            match analysis.pass(stage) {
                Err(error @ (BoundError::Overload { .. } | BoundError::Unshaped { .. })) => {
                    return Err(refused(Some(error)));
                }
                other => other?,
            }
        }
        if analysis.entries == known {
            analysis.step_ps = 1;
            return Ok(());
        }
        let longest = analysis.entries.iter().flatten().flatten().map(|entry| entry.bound.delay_ps).max();
        if longest.is_some_and(|longest| longest > CIRCLE_MS_MAX * MS) {
            break;
        }
    }
    Err(refused(None))
}

/// Formats the names of a cycle's stages.
pub(super) fn names(stages: &[String]) -> String {
    let more = stages.len().saturating_sub(NAMES_MAX);
    let first = stages.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// Formats the cause for the end of a message.
pub(super) fn cause(cause: Option<&BoundError>) -> String {
    cause.map_or_else(String::new, |cause| format!(": {cause}"))
}
