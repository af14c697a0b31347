//! Which thread serves a link: a rule without threads.
//!
//! Links are on the machine's own thread until that is loaded, then on so many threads as are needed: a message costs least where
//! others have woken the thread already. At a paced load each of two threads would wake as often as one does, for half as much.
use std::time::Duration;

/// Where a link is served: on the machine's own thread, or on a worker's, by its number from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// With the machine.
    Here,
    /// On a worker.
    Worker(usize),
}

/// How often the load of threads is looked at.
pub(super) const LOOK_AT_LOAD: Duration = Duration::from_millis(200);
/// Looks in a row that find fewer threads enough before there are fewer.
const CALM_LOOKS: u32 = 15;
/// With a thread less each of those that are left is to be loaded less than this, of what makes a further one serve.
const CALM: f64 = 0.6;

/// How many threads serve links, by how much the threads are loaded.
#[derive(Debug)]
pub(super) struct Load {
    /// Share of a core of each beyond which a further one serves; 0: all of them do, always.
    above: f64,
    most: usize,
    active: usize,
    calm: u32,
}

impl Load {
    pub(super) fn new(above: f64, most: usize) -> Self {
        Self { above, most, active: if above > 0.0 { 1 } else { most }, calm: 0 }
    }

    /// So many threads serve links.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    /// What all threads together have used of a core since the last look; whether another number of them serves now.
    pub(super) fn look(&mut self, cores: f64) -> bool {
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

/// Links per place and kind of listener: an xApp's link carries what all base stations say, so the two are counted apart.
#[derive(Debug)]
pub(super) struct Placement<const KINDS: usize> {
    here: [usize; KINDS],
    workers: Vec<[usize; KINDS]>,
    /// The machine's thread and so many workers less one serve.
    active: usize,
}

impl<const KINDS: usize> Placement<KINDS> {
    /// With so many workers, of which all serve, and no links.
    pub(super) fn new(workers: usize) -> Self {
        Self { here: [0; KINDS], workers: vec![[0; KINDS]; workers], active: workers + 1 }
    }

    /// So many threads serve from now on, the machine's first.
    pub(super) fn set_active(&mut self, active: usize) {
        self.active = active.clamp(1, self.workers.len() + 1);
    }

    /// Where the next link of a kind belongs: the live worker that serves with the fewest, or the machine's thread when it has no more
    /// than that, or when no worker lives.
    pub(super) fn next(&self, kind: usize, alive: impl Fn(usize) -> bool) -> Place {
        let live = (0..self.active - 1).filter(|&worker| alive(worker));
        let Some(worker) = live.min_by_key(|&worker| self.workers[worker][kind]) else { return Place::Here };
        if self.here[kind] < self.workers[worker][kind] { Place::Here } else { Place::Worker(worker) }
    }

    /// Where a link is better served than where it is, if anywhere: one of a thread that serves no more, and one of a thread that has
    /// two more than another.
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

    /// A link has come.
    pub(super) fn add(&mut self, kind: usize, place: Place) {
        *self.of(kind, place) += 1;
    }

    /// A link has gone.
    pub(super) fn remove(&mut self, kind: usize, place: Place) {
        let links = self.of(kind, place);
        *links = links.saturating_sub(1);
    }

    /// Links of all kinds at a place.
    pub(super) fn links(&self, place: Place) -> usize {
        match place {
            Place::Here => self.here.iter().sum(),
            Place::Worker(worker) => self.workers[worker].iter().sum(),
        }
    }

    fn of(&mut self, kind: usize, place: Place) -> &mut usize {
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
        /// Whoever comes and goes, and however many threads serve: newcomers go to live workers that serve alone, and the busiest place
        /// has no more than one link beyond the idlest when nobody leaves, also once links have moved.
        #[test]
        fn links_are_spread(
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
                prop_assert!(at.iter().all(|place| serve.contains(place)), "{at:?}, {serve:?} serve");
                let each: Vec<_> = serve.iter().map(|place| placement.links(*place)).collect();
                prop_assert_eq!(each.iter().sum::<usize>(), at.len());
                prop_assert!(each.iter().max().unwrap() - each.iter().min().unwrap() <= 1, "{each:?}");
            }
        }
    }

    #[test]
    fn kinds_are_counted_apart_and_what_has_gone_makes_room() {
        let mut placement = Placement::<2>::new(2);
        for expected in [Place::Worker(0), Place::Worker(1)] {
            assert_eq!(placement.next(0, |_| true), expected);
            placement.add(0, expected);
        }
        assert_eq!(placement.next(1, |_| true), Place::Worker(0), "the first of another kind");
        placement.remove(0, Place::Worker(1));
        assert_eq!(placement.next(0, |_| true), Place::Worker(1));
        assert_eq!(
            placement.next(0, |worker| worker == 0),
            Place::Here,
            "the other one has ended: it is this one's turn"
        );
        placement.add(0, Place::Here);
        assert_eq!(placement.next(0, |worker| worker == 0), Place::Worker(0));
        assert_eq!(placement.next(0, |_| false), Place::Here);
    }

    #[test]
    fn threads_serve_as_they_are_loaded_and_not_back_and_forth() {
        let mut load = Load::new(0.5, 3);
        let after = |load: &mut Load, looks: u32, cores: f64| {
            for _ in 0..looks {
                load.look(cores);
            }
            load.active()
        };
        assert_eq!(after(&mut load, 100, 0.45), 1);
        assert_eq!(after(&mut load, 1, 0.55), 2);
        // What costs a little more on two is not sent back.
        assert_eq!(after(&mut load, 100, 0.35), 2);
        assert_eq!(after(&mut load, CALM_LOOKS - 1, 0.1), 2);
        assert_eq!(after(&mut load, 1, 0.4), 2, "a pause is no calm");
        assert_eq!(after(&mut load, CALM_LOOKS, 0.1), 1);
        assert_eq!(after(&mut load, 9, 2.8), 3, "no more than there are");
        let mut all = Load::new(0.0, 3);
        assert_eq!(after(&mut all, 100, 0.0), 3);
    }
}
