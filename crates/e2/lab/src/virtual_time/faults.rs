//! Fault plans in the text form that users write.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ranlab_campaign::value::parse_span;
use ranlab_sim::{Fault, PartyId, SeededRng};

use ranlab_lab::rig;
use ranlab_lab::worker::ComponentError;
use ranlab_ran::Spell;

/// Maximum number of random faults.
const RANDOM_MAX: usize = 1_000;
/// Maximum duration of a random absence, freeze, delay or slowdown.
const RANDOM_LASTING: Duration = Duration::from_secs(5);

/// Party that a fault affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The RIC with this number (from 1), together with its controller.
    Ric(u32),
    /// The agent of the base station with this number (from 1). Its cell keeps running.
    Agent(u32),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ric(1) => f.write_str("ric"),
            Self::Ric(n) => write!(f, "ric{n}"),
            Self::Agent(1) => f.write_str("agent"),
            Self::Agent(n) => write!(f, "agent{n}"),
        }
    }
}

impl FromStr for Target {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let nth = |name: &str| match text.strip_prefix(name)? {
            "" => Some(1),
            n => n.parse().ok().filter(|n| *n > 0),
        };
        nth("ric").map(Self::Ric).or_else(|| nth("agent").map(Self::Agent)).ok_or(())
    }
}

/// Kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultKind {
    Crash { polite: bool },
    Cut,
    Freeze,
    Delay(Duration),
    Slow(u64),
    Jump(Duration),
}

/// A planned fault. Times are relative to the start of the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlan {
    kind: PlanKind,
    from: Duration,
    until: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanKind {
    One(Target, FaultKind),
    /// A number of faults of random kinds, between two times.
    Random(usize),
}

impl FaultPlan {
    /// Returns the latest time at which the fault is over.
    pub fn end(&self) -> Duration {
        let over = self.until.unwrap_or(self.from);
        if matches!(self.kind, PlanKind::Random(_)) { over + RANDOM_LASTING } else { over }
    }
}

impl Spell for FaultPlan {
    const ALLOWED: &'static str = "crash:WHO@FROM-UNTIL, vanish:WHO@FROM-UNTIL (no connection ends in order), cut:WHO@AT, \
                                   freeze:WHO@FROM-UNTIL, delay:WHO:TIME@FROM-UNTIL, slow:WHO:BYTES_PER_S@FROM-UNTIL, \
                                   jump:WHO:TIME@AT and random:COUNT@FROM-UNTIL, WHO as ric, ric2, agent or agent2, times as 5s";

    fn spell(text: &str) -> Option<Self> {
        let (what, when) = text.split_once('@')?;
        let (from, until) = match when.split_once('-') {
            Some((from, until)) => (parse_span(from)?, Some(parse_span(until)?)),
            None => (parse_span(when)?, None),
        };
        if until.is_some_and(|until| until <= from) {
            return None;
        }
        let mut words = what.split(':');
        let name = words.next()?;
        let of = words.next()?;
        let by = words.next();
        let rest = words.next();
        let lasts = until.is_some();
        let kind = match (name, by, lasts) {
            ("random", None, true) => {
                PlanKind::Random(of.parse().ok().filter(|n| (1..=RANDOM_MAX).contains(n))?)
            }
            _ => {
                let what = match (name, by, lasts) {
                    ("crash", None, true) => FaultKind::Crash { polite: true },
                    ("vanish", None, true) => FaultKind::Crash { polite: false },
                    ("cut", None, false) => FaultKind::Cut,
                    ("freeze", None, true) => FaultKind::Freeze,
                    ("delay", Some(by), true) => FaultKind::Delay(parse_span(by)?),
                    ("slow", Some(by), true) => FaultKind::Slow(by.parse().ok().filter(|rate| *rate > 0)?),
                    ("jump", Some(by), false) => FaultKind::Jump(parse_span(by)?),
                    _ => return None,
                };
                PlanKind::One(of.parse().ok()?, what)
            }
        };
        rest.is_none().then_some(Self { kind, from, until })
    }
}

/// Converts a fault kind to a fault of the simulated world.
fn fault(what: FaultKind, party: PartyId, lasting: Duration) -> Fault {
    match what {
        FaultKind::Crash { polite } => Fault::Crash { party, polite, away: lasting },
        FaultKind::Cut => Fault::Cut(party, 0),
        FaultKind::Freeze => Fault::Freeze(party, lasting),
        FaultKind::Delay(by) => Fault::Delay { party, by, lasting },
        FaultKind::Slow(bytes_per_second) => Fault::Throttle { party, bytes_per_second, lasting },
        FaultKind::Jump(by) => Fault::Jump(party, by),
    }
}

/// A RIC, and the agents that run in the RIC's process.
pub(super) type Process = (PartyId, Vec<PartyId>);

/// Returns the faults with their times and parties. Random choices depend on the seed only.
pub(super) fn faults(
    plans: &[FaultPlan],
    seed: u64,
    rics: &[Process],
    agents: &[PartyId],
) -> Result<Vec<(Duration, Fault)>, ComponentError> {
    let mut chance = SeededRng::new(seed);
    let mut all = Vec::new();
    let mut befall = |at, what, party: PartyId, lasting| {
        all.push((at, fault(what, party, lasting)));
        // A link fault affects one party; a process fault affects all parties of the process.
        if matches!(what, FaultKind::Crash { .. } | FaultKind::Freeze | FaultKind::Jump(_)) {
            let with = rics.iter().filter(|(ric, _)| *ric == party).flat_map(|(_, with)| with);
            all.extend(with.map(|other| (at, fault(what, *other, lasting))));
        }
    };
    for plan in plans {
        let until = plan.until.unwrap_or(plan.from);
        match plan.kind {
            PlanKind::One(target, what) => {
                let party = match target {
                    Target::Ric(n) => rics.get(n as usize - 1).map(|(ric, _)| *ric),
                    Target::Agent(n) => agents.get(n as usize - 1).copied(),
                };
                let party =
                    party.ok_or_else(|| rig(format!("a fault names {target}, which does not exist")))?;
                befall(plan.from, what, party, until - plan.from);
            }
            PlanKind::Random(count) => {
                for _ in 0..count {
                    let at = chance.between(plan.from, until);
                    let (what, party, lasting) = random(&mut chance, rics, agents);
                    befall(at, what, party, lasting);
                }
            }
        }
    }
    Ok(all)
}

fn random(chance: &mut SeededRng, rics: &[Process], agents: &[PartyId]) -> (FaultKind, PartyId, Duration) {
    let all: Vec<_> = agents.iter().chain(rics.iter().map(|(ric, _)| ric)).copied().collect();
    let party = all[chance.below(all.len())];
    let lasting = chance.between(Duration::from_millis(1), RANDOM_LASTING);
    let what = match chance.below(100) {
        0..30 => FaultKind::Cut,
        30..50 => FaultKind::Crash { polite: true },
        50..60 => FaultKind::Crash { polite: false },
        60..70 => FaultKind::Freeze,
        70..80 => FaultKind::Delay(chance.between(Duration::from_millis(1), Duration::from_millis(500))),
        80..90 => FaultKind::Slow(200 + chance.below(20_000) as u64),
        _ => FaultKind::Jump(chance.between(Duration::from_millis(1), RANDOM_LASTING)),
    };
    (what, party, lasting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_plans_parse_and_reject_invalid_text() {
        let second = Duration::from_secs;
        let one = |target, what, from, until: Option<u64>| FaultPlan {
            kind: PlanKind::One(target, what),
            from: second(from),
            until: until.map(second),
        };
        for (text, plan) in [
            ("crash:ric@10s-13s", one(Target::Ric(1), FaultKind::Crash { polite: true }, 10, Some(13))),
            ("vanish:agent@1s-2s", one(Target::Agent(1), FaultKind::Crash { polite: false }, 1, Some(2))),
            ("cut:agent2@5s", one(Target::Agent(2), FaultKind::Cut, 5, None)),
            ("freeze:ric@1s-2s", one(Target::Ric(1), FaultKind::Freeze, 1, Some(2))),
            ("delay:agent:1s@1s-2s", one(Target::Agent(1), FaultKind::Delay(second(1)), 1, Some(2))),
            ("slow:agent:1000@1s-2s", one(Target::Agent(1), FaultKind::Slow(1_000), 1, Some(2))),
            ("jump:ric:5s@3s", one(Target::Ric(1), FaultKind::Jump(second(5)), 3, None)),
        ] {
            assert_eq!(FaultPlan::spell(text), Some(plan), "{text}");
        }
        let random = FaultPlan::spell("random:5@1s-9s").unwrap();
        assert_eq!((random.kind, random.end()), (PlanKind::Random(5), second(14)));
        for text in [
            "",
            "crash:ric@10s",
            "crash:ric@3s-2s",
            "crash:ue@1s-2s",
            "cut:agent0@1s",
            "cut:agent@1s-2s",
            "delay:agent@1s-2s",
            "slow:agent:0@1s-2s",
            "jump:agent:1s:2s@1s",
            "random:0@1s-2s",
            "random:5@1s",
        ] {
            assert_eq!(FaultPlan::spell(text), None, "{text}");
        }
    }
}
