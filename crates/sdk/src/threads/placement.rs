//! Which thread gets a newcomer: a rule without threads.

/// Where a link is served: on the machine's own thread, or on a worker's, by its number from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// With the machine.
    Here,
    /// On a worker.
    Worker(usize),
}

/// A worker takes so many links for each of the machine's own thread: what the machine decides is little beside what goes past it.
const WORKERS_SHARE: usize = 1;

/// Links per place and kind of listener: an xApp's link carries what all base stations say, so the two are counted apart.
#[derive(Debug)]
pub(super) struct Placement<const KINDS: usize> {
    here: [usize; KINDS],
    workers: Vec<[usize; KINDS]>,
}

impl<const KINDS: usize> Placement<KINDS> {
    /// With so many workers, and no links.
    pub(super) fn new(workers: usize) -> Self {
        Self { here: [0; KINDS], workers: vec![[0; KINDS]; workers] }
    }

    /// Where the next link of a kind belongs: the live worker with the fewest, or the machine's thread when it has less than
    /// its share, or when no worker lives.
    pub(super) fn next(&self, kind: usize, alive: impl Fn(usize) -> bool) -> Place {
        let live = (0..self.workers.len()).filter(|&worker| alive(worker));
        let Some(worker) = live.min_by_key(|&worker| self.workers[worker][kind]) else { return Place::Here };
        // After this one the places shall stand as 1 : WORKERS_SHARE, the worker first.
        if (self.here[kind] + 1) * WORKERS_SHARE <= self.workers[worker][kind] {
            Place::Here
        } else {
            Place::Worker(worker)
        }
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
        /// Whoever comes and goes: newcomers go to live workers alone, the busiest of them has no more than one link beyond
        /// the idlest when nobody leaves, and the machine's thread has its share.
        #[test]
        fn links_are_spread(workers in 1_usize..8, links in 0_usize..300, dead in prop::option::of(0_usize..8)) {
            let mut placement = Placement::<1>::new(workers);
            let alive = |worker| Some(worker) != dead;
            for _ in 0..links {
                let place = placement.next(0, alive);
                prop_assert!(!matches!(place, Place::Worker(worker) if !alive(worker)));
                placement.add(0, place);
            }
            let each: Vec<_> =
                (0..workers).filter(|w| alive(*w)).map(|w| placement.links(Place::Worker(w))).collect();
            let here = placement.links(Place::Here);
            prop_assert_eq!(each.iter().sum::<usize>() + here, links);
            if let (Some(least), Some(most)) = (each.iter().min(), each.iter().max()) {
                prop_assert!(most - least <= 1, "{each:?}");
                prop_assert!(here * WORKERS_SHARE <= *least && *least < (here + 2) * WORKERS_SHARE, "{here} beside {each:?}");
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
}
