//! Cache of responses: a repeated request gets the same response and is carried out once (§6.4).
use super::mix::address;
use crate::Time;
use std::net::SocketAddr;
use std::time::Duration;

/// Initial number of entries in the table.
const FIRST_PLACES: usize = 64;

/// Maximum length of a response that is stored in the table entry itself, in bytes. Responses to session requests fit. With this length, an
/// entry occupies two cache lines.
const INLINE: usize = 80;

/// Stored response. Short responses are inline, because separate allocations would be scattered over memory that sessions have freed.
#[derive(Debug, Clone)]
enum CachedResponse {
    Inline(u8, [u8; INLINE]),
    Long(Box<[u8]>),
}

impl CachedResponse {
    fn new(answer: &[u8]) -> Self {
        let mut octets = [0; INLINE];
        match octets.get_mut(..answer.len()) {
            Some(room) => {
                room.copy_from_slice(answer);
                Self::Inline(answer.len() as u8, octets)
            }
            None => Self::Long(answer.into()),
        }
    }

    fn octets(&self) -> &[u8] {
        match self {
            Self::Inline(len, octets) => &octets[..usize::from(*len)],
            Self::Long(octets) => octets,
        }
    }
}

#[derive(Debug, Clone)]
struct Place {
    held: Time,
    from: SocketAddr,
    sequence: u32,
    answer: CachedResponse,
}

/// Stores the latest responses. The sequence number selects the table entry. A sender numbers its requests consecutively, so consecutive
/// requests are adjacent in memory. The time to store a response does not depend on the number of stored responses.
#[derive(Debug)]
pub(super) struct Cache {
    holding: Duration,
    /// Maximum number of table entries, which is a power of two or 0.
    limit: usize,
    places: Vec<Option<Place>>,
    taken: usize,
}

impl Cache {
    /// Creates a cache that stores responses for `holding`. The table has at most `limit` entries, rounded down to a power of two. A
    /// response is dropped early if its entry is needed; with consecutive numbers, this is the oldest response.
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
        let answer = place.answer.octets();
        let same = place.sequence == sequence && place.from == from && !answer.is_empty();
        (same && !self.expired(now, place)).then_some(answer)
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
        let place = &mut self.places[at];
        self.taken += usize::from(place.is_none());
        *place = Some(Place { held: now, from, sequence, answer: CachedResponse::new(answer) });
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

    /// Returns the number of stored responses, including expired ones that have not been overwritten.
    pub(super) fn len(&self) -> usize {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_cached_within_time_and_limit() {
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
    fn responses_of_every_length_are_cached_unchanged() {
        let mut cache = Cache::new(Duration::from_secs(1), 1 << 10);
        let from = ([10, 0, 0, 1], 8805).into();
        let now = Time::from_nanos(1);
        let answer = |len: u32| (0..len).map(|octet| octet as u8).collect::<Vec<_>>();
        (1..300).for_each(|len| cache.hold(now, from, len, &answer(len)));
        (1..300).for_each(|len| assert_eq!(cache.find(now, from, len), Some(&answer(len)[..])));
        assert!(size_of::<Option<Place>>() <= 144);
    }

    #[test]
    fn responses_of_sequential_sender_are_limited() {
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
