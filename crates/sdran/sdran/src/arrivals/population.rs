//! Events of the UEs of one base station.
use super::{Channel, Characteristics, Event, Happening, Law};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Maximum number of UEs of one base station, which is about the number of C-RNTIs.
pub const MAX_UES: u32 = 65_000;

/// UEs of one base station, and the laws of their events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PopulationConfig {
    /// Number of UEs.
    pub ues: u32,
    /// Time until a UE's activation, from the start or from its last deactivation.
    pub activation: Law,
    /// Time from activation to deactivation.
    pub holding: Law,
    /// Whether a UE is activated again after its deactivation, as in MARC.
    pub again: bool,
    /// Source of the UEs' radio characteristics.
    pub channel: Channel,
    /// Time between changes of the characteristics, if they change.
    pub update: Duration,
    /// Time until control is delegated to the base station, and time until it is taken back. `None`: control is never delegated.
    pub delegation: Option<(Law, Law)>,
    /// Seed of the random numbers. Base stations with different seeds have independent UEs.
    pub seed: u64,
}

impl PopulationConfig {
    /// Returns the eMBB population of MARC: UEs are activated after an exponential time of 10 s on average, and stay for 500 s.
    pub fn marc(ues: u32, seed: u64) -> Self {
        Self {
            ues: ues.min(MAX_UES),
            activation: Law::Exponential(Duration::from_secs(10)),
            holding: Law::Constant(Duration::from_secs(500)),
            again: true,
            channel: Channel::Fixed,
            update: Duration::from_secs(1),
            delegation: None,
            seed,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Activate,
    Deactivate,
    Update,
    Delegate,
    TakeBack,
}

/// Iterator over the events of a population, in order. It is endless, unless every UE is activated only once.
#[derive(Debug)]
pub struct Population {
    config: PopulationConfig,
    random: ChaCha8Rng,
    agenda: BinaryHeap<Reverse<(Duration, u32, Next)>>,
    now: Vec<Option<Characteristics>>,
    ends: Vec<Duration>,
}

impl Population {
    /// Creates a population at its start.
    pub fn new(config: PopulationConfig) -> Self {
        let config = PopulationConfig {
            ues: config.ues.min(MAX_UES),
            update: config.update.max(Duration::from_millis(1)),
            ..config
        };
        let mut random = ChaCha8Rng::seed_from_u64(config.seed);
        let mut agenda = BinaryHeap::new();
        for ue in 0..config.ues {
            agenda.push(Reverse((config.activation.sample(&mut random), ue, Next::Activate)));
        }
        if let Some((until, _)) = config.delegation {
            agenda.push(Reverse((until.sample(&mut random), 0, Next::Delegate)));
        }
        let ues = config.ues as usize;
        Self { config, random, agenda, now: vec![None; ues], ends: vec![Duration::ZERO; ues] }
    }

    fn step(&mut self, at: Duration, ue: u32, next: Next) -> Option<Event> {
        let index = ue as usize;
        let what = match next {
            Next::Activate => {
                let characteristics = self.config.channel.first(&mut self.random);
                let end = at.saturating_add(self.config.holding.sample(&mut self.random));
                self.now[index] = Some(characteristics);
                self.ends[index] = end;
                self.agenda.push(Reverse((end, ue, Next::Deactivate)));
                if self.config.channel == Channel::Walk {
                    self.agenda.push(Reverse((at + self.config.update, ue, Next::Update)));
                }
                Happening::Activated(characteristics)
            }
            Next::Deactivate => {
                self.now[index] = None;
                if self.config.again {
                    let at = at.saturating_add(self.config.activation.sample(&mut self.random));
                    self.agenda.push(Reverse((at, ue, Next::Activate)));
                }
                Happening::Deactivated
            }
            Next::Update => {
                // An update that was scheduled before the last deactivation is dropped.
                let before = self.now[index].filter(|_| at < self.ends[index])?;
                let after = self.config.channel.next(&before, &mut self.random)?;
                self.now[index] = Some(after);
                let next = at + self.config.update;
                if next < self.ends[index] {
                    self.agenda.push(Reverse((next, ue, Next::Update)));
                }
                Happening::Updated(after)
            }
            Next::Delegate | Next::TakeBack => {
                let (until, back) = self.config.delegation?;
                let delegated = next == Next::Delegate;
                let law = if delegated { back } else { until };
                let following = if delegated { Next::TakeBack } else { Next::Delegate };
                let time = law.sample(&mut self.random).max(Duration::from_millis(1));
                self.agenda.push(Reverse((at.saturating_add(time), 0, following)));
                Happening::Delegated(delegated)
            }
        };
        Some(Event { at, ue, what })
    }
}

impl Iterator for Population {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        while let Some(Reverse((at, ue, next))) = self.agenda.pop() {
            if let Some(event) = self.step(at, ue, next) {
                return Some(event);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marc_population_ramps_up_as_published() {
        let minute = Duration::from_secs(600);
        let events: Vec<Event> =
            Population::new(PopulationConfig::marc(1_000, 3)).take_while(|e| e.at < minute).collect();
        assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let active_at = |s: u64| {
            let happened = events.iter().take_while(|event| event.at <= Duration::from_secs(s));
            happened.fold(0_i32, |active, event| match event.what {
                Happening::Activated(_) => active + 1,
                Happening::Deactivated => active - 1,
                _ => active,
            })
        };
        // After the mean time, a share of 1 - exp(-1) is active. After a minute, all UEs are active. At 505 s, some have left.
        assert!((active_at(10) - 632).abs() < 50, "{}", active_at(10));
        assert!(active_at(100) >= 999);
        assert!((600..760).contains(&active_at(505)), "{}", active_at(505));
        assert!(active_at(590) > 900, "UEs must be activated again, but only {} are active", active_at(590));
    }

    #[test]
    fn same_seed_gives_same_events() {
        let config = PopulationConfig {
            channel: Channel::Walk,
            delegation: Some((
                Law::Exponential(Duration::from_secs(5)),
                Law::Constant(Duration::from_secs(1)),
            )),
            ..PopulationConfig::marc(50, 9)
        };
        let run = |seed| -> Vec<Event> {
            Population::new(PopulationConfig { seed, ..config }).take(5_000).collect()
        };
        assert_eq!(run(9), run(9));
        assert_ne!(run(9), run(10));
        let mut delegated = false;
        for event in run(9) {
            if let Happening::Delegated(to) = event.what {
                assert_ne!(to, delegated, "control must be delegated and taken back alternately");
                delegated = to;
            }
        }
    }

    #[test]
    fn events_occur_only_for_active_ues() {
        let config = PopulationConfig {
            channel: Channel::Walk,
            update: Duration::from_millis(300),
            holding: Law::Exponential(Duration::from_secs(2)),
            activation: Law::Exponential(Duration::from_secs(1)),
            ..PopulationConfig::marc(20, 4)
        };
        let mut there = [false; 20];
        for event in Population::new(config).take(20_000) {
            let there = &mut there[event.ue as usize];
            match event.what {
                Happening::Activated(_) => assert!(!std::mem::replace(there, true)),
                Happening::Deactivated => assert!(std::mem::replace(there, false)),
                _ => assert!(*there),
            }
        }
    }

    #[test]
    fn burst_activates_each_ue_once() {
        let config = PopulationConfig {
            activation: Law::Beta(3.0, 4.0, Duration::from_secs(10)),
            again: false,
            ..PopulationConfig::marc(30_000, 1)
        };
        let events: Vec<Event> = Population::new(config).collect();
        assert_eq!(events.len(), 60_000);
        let peak = events.iter().filter(|e| e.at >= Duration::from_secs(3) && e.at < Duration::from_secs(5));
        // Beta(3,4) has 40.0 % of its mass between 0.3 and 0.5.
        assert!((peak.count() as f64 / 30_000.0 - 0.400).abs() < 0.02);
    }
}
