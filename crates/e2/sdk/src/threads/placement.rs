//! Assignment of links to threads. The rule is independent of real threads.
//!
//! The machine's thread serves the links until it is loaded. Then as many threads as needed serve them. A message costs
//! least if its thread is already awake. At a moderate load, each of two threads would wake as often as a single
//! thread, but for half of the messages.
use std::time::Duration;

/// Place of a link: the machine's thread, or a worker with its index from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// The machine's own thread.
    Here,
    /// The worker with this index.
    Worker(usize),
}

/// Interval at which the load is measured.
pub(super) const LOOK_AT_LOAD: Duration = Duration::from_millis(200);
/// Number of consecutive measurements with low load after which a thread is released.
const CALM_LOOKS: u32 = 15;
/// Load per remaining thread, relative to the threshold for another thread, below which a thread can be released.
const CALM: f64 = 0.6;

/// Calculates the number of active threads from their load.
#[derive(Debug)]
pub(super) struct Load {
    /// Load per thread, in cores, above which another thread is used. If it is 0, all threads are always active.
    above: f64,
    most: usize,
    active: usize,
    calm: u32,
}

impl Load {
    pub(super) fn new(above: f64, most: usize) -> Self {
        Self { above, most, active: if above > 0.0 { 1 } else { most }, calm: 0 }
    }

    /// Returns the number of active threads.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    /// Adds a measurement: the total load of all threads since the last measurement, in cores. Returns whether the
    /// number of active threads has changed.
    pub(super) fn add_measurement(&mut self, cores: f64) -> bool {
        if self.above <= 0.0 {
            return false;
        }
        let before = self.active;
        if cores > self.above * self.active as f64 {
            self.active = (self.active + 1).min(self.most);
            self.calm = 0;
        } else if self.active > 1 && cores < CALM * self.above * (self.active - 1) as f64 {
            self.calm += 1;
            if self.calm >= CALM_LOOKS {
                (self.active, self.calm) = (self.active - 1, 0);
            }
        } else {
            self.calm = 0;
        }
        self.active != before
    }
}

/// Number of links per place and kind. A link of an xApp carries the data of all base stations, so the kinds are
/// counted separately.
#[derive(Debug)]
pub(super) struct Placement<const KINDS: usize> {
    here: [usize; KINDS],
    workers: Vec<[usize; KINDS]>,
    /// Number of active threads: the machine's thread and `active - 1` workers.
    active: usize,
}

impl<const KINDS: usize> Placement<KINDS> {
    /// Creates a placement with this number of active workers and no links.
    pub(super) fn new(workers: usize) -> Self {
        Self { here: [0; KINDS], workers: vec![[0; KINDS]; workers], active: workers + 1 }
    }

    /// Sets the number of active threads, including the machine's thread.
    pub(super) fn set_active(&mut self, active: usize) {
        self.active = active.clamp(1, self.workers.len() + 1);
    }

    /// Returns the place for a new link. Candidates are the machine's thread and the running active worker with the
    /// fewest links of this kind. The machine's thread is chosen if it has fewer links than the worker, or if no active
    /// worker is running.
    pub(super) fn next(&self, kind: usize, alive: impl Fn(usize) -> bool) -> Place {
        let live = (0..self.active - 1).filter(|&worker| alive(worker));
        let Some(worker) = live.min_by_key(|&worker| self.workers[worker][kind]) else { return Place::Here };
        if self.here[kind] < self.workers[worker][kind] { Place::Here } else { Place::Worker(worker) }
    }

    /// Returns a better place for a link, if its thread is no longer active, or has at least two links more than
    /// another thread.
    pub(super) fn better(&self, kind: usize, place: Place, alive: impl Fn(usize) -> bool) -> Option<Place> {
        let next = self.next(kind, alive);
        let serves = match place {
            Place::Here => true,
            Place::Worker(worker) => worker + 1 < self.active,
        };
        let links = |place| match place {
            Place::Here => self.here[kind],
            Place::Worker(worker) => self.workers[worker][kind],
        };
        (next != place && (!serves || links(place) > links(next) + 1)).then_some(next)
    }

    /// Counts a new link.
    pub(super) fn add(&mut self, kind: usize, place: Place) {
        *self.count_mut(kind, place) += 1;
    }

    /// Removes a link from the count.
    pub(super) fn remove(&mut self, kind: usize, place: Place) {
        let links = self.count_mut(kind, place);
        *links = links.saturating_sub(1);
    }

    /// Returns the number of links at a place, over all kinds.
    pub(super) fn links(&self, place: Place) -> usize {
        match place {
            Place::Here => self.here.iter().sum(),
            Place::Worker(worker) => self.workers[worker].iter().sum(),
        }
    }

    fn count_mut(&mut self, kind: usize, place: Place) -> &mut usize {
        match place {
            Place::Here => &mut self.here[kind],
            Place::Worker(worker) => &mut self.workers[worker][kind],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// With random arrivals, departures and numbers of active threads, new links are placed on running active
        /// workers only. Without departures, the numbers of links per thread differ by at most one, also after links
        /// have moved.
        #[test]
        fn links_are_spread_evenly(
            workers in 1_usize..8,
            links in 0_usize..300,
            dead in prop::option::of(0_usize..8),
            active in prop::collection::vec(1_usize..10, 1..6),
        ) {
            let mut placement = Placement::<1>::new(workers);
            let alive = |worker| Some(worker) != dead;
            let mut at = Vec::new();
            for active in active {
                placement.set_active(active);
                for _ in at.len()..links / 2 + at.len() / 2 {
                    let place = placement.next(0, alive);
                    placement.add(0, place);
                    at.push(place);
                }
                for place in &mut at {
                    if let Some(better) = placement.better(0, *place, alive) {
                        placement.remove(0, *place);
                        placement.add(0, better);
                        *place = better;
                    }
                }
                let active = active.min(workers + 1);
                let serve = (0..active - 1).filter(|worker| alive(*worker)).map(Place::Worker);
                let serve: Vec<_> = std::iter::once(Place::Here).chain(serve).collect();
                prop_assert!(at.iter().all(|place| serve.contains(place)), "links must be only at {serve:?}, but are at {at:?}");
                let each: Vec<_> = serve.iter().map(|place| placement.links(*place)).collect();
                prop_assert_eq!(each.iter().sum::<usize>(), at.len());
                prop_assert!(each.iter().max().unwrap() - each.iter().min().unwrap() <= 1, "{each:?}");
            }
        }
    }

    #[test]
    fn link_kinds_are_balanced_separately_after_departures() {
        let mut placement = Placement::<2>::new(2);
        for expected in [Place::Worker(0), Place::Worker(1)] {
            assert_eq!(placement.next(0, |_| true), expected);
            placement.add(0, expected);
        }
        assert_eq!(
            placement.next(1, |_| true),
            Place::Worker(0),
            "the first link of another kind must go to the first worker"
        );
        placement.remove(0, Place::Worker(1));
        assert_eq!(placement.next(0, |_| true), Place::Worker(1));
        assert_eq!(
            placement.next(0, |worker| worker == 0),
            Place::Here,
            "the machine's thread must take the link if a worker has ended"
        );
        placement.add(0, Place::Here);
        assert_eq!(placement.next(0, |worker| worker == 0), Place::Worker(0));
        assert_eq!(placement.next(0, |_| false), Place::Here);
    }

    #[test]
    fn number_of_threads_follows_load_without_oscillating() {
        let mut load = Load::new(0.5, 3);
        let after = |load: &mut Load, looks: u32, cores: f64| {
            for _ in 0..looks {
                load.add_measurement(cores);
            }
            load.active()
        };
        assert_eq!(after(&mut load, 100, 0.45), 1);
        assert_eq!(after(&mut load, 1, 0.55), 2);
        // A load between the release threshold (`CALM` * 0.5) and 0.5 does not release a thread.
        assert_eq!(after(&mut load, 100, 0.35), 2);
        assert_eq!(after(&mut load, CALM_LOOKS - 1, 0.1), 2);
        assert_eq!(
            after(&mut load, 1, 0.4),
            2,
            "only uninterrupted measurements of low load may release a thread"
        );
        assert_eq!(after(&mut load, CALM_LOOKS, 0.1), 1);
        assert_eq!(after(&mut load, 9, 2.8), 3, "the number of threads must not exceed the maximum");
        let mut all = Load::new(0.0, 3);
        assert_eq!(after(&mut all, 100, 0.0), 3);
    }
}
