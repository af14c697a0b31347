//! Answers held for a while: a request that comes twice is answered twice and carried out once (§6.4).
use crate::Time;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

type Key = (SocketAddr, u32);

/// The last answers, by sender and sequence number.
#[derive(Debug)]
pub(super) struct Cache {
    holding: Duration,
    limit: usize,
    answers: HashMap<Key, (Time, Vec<u8>)>,
    /// In the order of their time.
    order: VecDeque<(Time, Key)>,
}

impl Cache {
    /// Answers are held for `holding`; beyond `limit` the oldest goes early.
    pub(super) fn new(holding: Duration, limit: usize) -> Self {
        Self { holding, limit, answers: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn find(&mut self, now: Time, from: SocketAddr, sequence: u32) -> Option<&[u8]> {
        self.expire(now);
        self.answers.get(&(from, sequence)).map(|(_, answer)| &answer[..])
    }

    pub(super) fn hold(&mut self, now: Time, from: SocketAddr, sequence: u32, answer: &[u8]) {
        if self.limit == 0 || self.holding.is_zero() {
            return;
        }
        while self.order.len() >= self.limit {
            self.drop_oldest();
        }
        let key = (from, sequence);
        self.answers.insert(key, (now, answer.to_vec()));
        self.order.push_back((now, key));
    }

    pub(super) fn len(&self) -> usize {
        self.answers.len()
    }

    fn expire(&mut self, now: Time) {
        while self.order.front().is_some_and(|&(held, _)| now.since(held) >= self.holding) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((held, key)) = self.order.pop_front() else { return };
        // The number may have come again since, with an answer of its own.
        if self.answers.get(&key).is_some_and(|(time, _)| *time == held) {
            self.answers.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_held_for_their_time_and_no_more_than_the_limit() {
        let mut cache = Cache::new(Duration::from_nanos(10), 2);
        let from = ([10, 0, 0, 1], 8805).into();
        for sequence in 0..3 {
            cache.hold(Time::from_nanos(u64::from(sequence)), from, sequence, &[sequence as u8]);
        }
        assert_eq!(cache.len(), 2);
        assert_eq!(cache.find(Time::from_nanos(3), from, 0), None);
        assert_eq!(cache.find(Time::from_nanos(3), from, 2), Some(&[2][..]));
        assert_eq!(cache.find(Time::from_nanos(3), ([10, 0, 0, 2], 8805).into(), 2), None);
        assert_eq!(cache.find(Time::from_nanos(12), from, 2), None);
        assert_eq!(cache.len(), 0);
    }
}
