//! Answers held for a while: a request that comes twice is answered twice and carried out once (§6.4).
use super::mix::address;
use crate::Time;
use std::net::SocketAddr;
use std::time::Duration;

/// Places that a cache begins with.
const FIRST_PLACES: usize = 64;

#[derive(Debug, Clone)]
struct Place {
    held: Time,
    from: SocketAddr,
    sequence: u32,
    /// Empty: the place is free.
    answer: Vec<u8>,
}

/// The last answers. A sender counts its requests, so the number says the place, and neighbours in time are neighbours
/// in memory: an answer costs the same however many are held.
#[derive(Debug)]
pub(super) struct Cache {
    holding: Duration,
    /// A power of two, or 0.
    limit: usize,
    places: Vec<Option<Place>>,
    taken: usize,
}

impl Cache {
    /// Answers are held for `holding`; beyond `limit` (rounded down to a power of two) the one goes early whose place
    /// is needed, the oldest of a sender that counts.
    pub(super) fn new(holding: Duration, limit: usize) -> Self {
        let limit = limit.checked_ilog2().map_or(0, |bits| 1 << bits);
        Self { holding, limit, places: Vec::new(), taken: 0 }
    }

    fn place(&self, from: SocketAddr, sequence: u32) -> usize {
        (address(from) as usize).wrapping_add(sequence as usize) & (self.places.len() - 1)
    }

    fn expired(&self, now: Time, place: &Place) -> bool {
        now.since(place.held) >= self.holding
    }

    pub(super) fn find(&self, now: Time, from: SocketAddr, sequence: u32) -> Option<&[u8]> {
        if self.places.is_empty() {
            return None;
        }
        let place = self.places[self.place(from, sequence)].as_ref()?;
        let same = place.sequence == sequence && place.from == from && !place.answer.is_empty();
        (same && !self.expired(now, place)).then_some(&place.answer[..])
    }

    pub(super) fn hold(&mut self, now: Time, from: SocketAddr, sequence: u32, answer: &[u8]) {
        if self.limit == 0 || self.holding.is_zero() {
            return;
        }
        if self.places.is_empty() {
            self.places.resize(FIRST_PLACES.min(self.limit), None);
        }
        let mut at = self.place(from, sequence);
        while self.places.len() < self.limit
            && self.places[at].as_ref().is_some_and(|place| !self.expired(now, place))
        {
            self.grow(now);
            at = self.place(from, sequence);
        }
        match &mut self.places[at] {
            Some(place) => {
                (place.held, place.from, place.sequence) = (now, from, sequence);
                place.answer.clear();
                place.answer.extend_from_slice(answer);
            }
            free => {
                self.taken += 1;
                *free = Some(Place { held: now, from, sequence, answer: answer.to_vec() });
            }
        }
    }

    fn grow(&mut self, now: Time) {
        let places = vec![None; self.places.len() * 2];
        let before = std::mem::replace(&mut self.places, places);
        self.taken = 0;
        for place in before.into_iter().flatten() {
            if !self.expired(now, &place) {
                let at = self.place(place.from, place.sequence);
                self.taken += usize::from(self.places[at].replace(place).is_none());
            }
        }
    }

    /// Answers that have a place, expired ones whose place nobody has needed since included.
    pub(super) fn len(&self) -> usize {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_held_for_their_time_and_no_more_than_the_limit() {
        let mut cache = Cache::new(Duration::from_nanos(10), 3);
        let from = ([10, 0, 0, 1], 8805).into();
        for sequence in 0..3 {
            cache.hold(Time::from_nanos(u64::from(sequence)), from, sequence, &[sequence as u8]);
        }
        assert_eq!(cache.len(), 2);
        assert_eq!(cache.find(Time::from_nanos(3), from, 0), None);
        assert_eq!(cache.find(Time::from_nanos(3), from, 2), Some(&[2][..]));
        assert_eq!(cache.find(Time::from_nanos(3), ([10, 0, 0, 2], 8805).into(), 2), None);
        assert_eq!(cache.find(Time::from_nanos(12), from, 2), None);
    }

    #[test]
    fn as_many_of_a_sender_that_counts_are_held_as_the_limit_says() {
        let mut cache = Cache::new(Duration::from_secs(1), 1 << 10);
        let from = ([10, 0, 0, 1], 8805).into();
        let now = Time::from_nanos(1);
        for sequence in 0..5_000_u32 {
            cache.hold(now, from, sequence, &sequence.to_be_bytes());
            let oldest = sequence.saturating_sub((1 << 10) - 1);
            assert_eq!(cache.find(now, from, oldest), Some(&oldest.to_be_bytes()[..]));
            assert!(cache.len() <= 1 << 10);
        }
        let mut none = Cache::new(Duration::from_secs(1), 0);
        none.hold(now, from, 1, &[1]);
        assert_eq!(none.find(now, from, 1), None);
    }
}
