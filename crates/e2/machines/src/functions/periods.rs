//! Schedule of periodic reports without drift and without one timer per subscription.
use crate::Time;
use crate::agent::SubscriptionId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A period that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) subscription: SubscriptionId,
    /// Scheduled time.
    pub(super) at: Time,
    /// Number of periods that were skipped.
    pub(super) skipped: u64,
}

#[derive(Debug, Default)]
pub(super) struct Periods {
    queue: BTreeSet<(Time, SubscriptionId)>,
    periods: BTreeMap<SubscriptionId, (Time, Duration)>,
}

impl Periods {
    /// Starts a period; it is first due one period from now. `period` must not be zero.
    pub(super) fn add(&mut self, id: SubscriptionId, now: Time, period: Duration) {
        self.remove(id);
        let next = now + period.max(Duration::from_nanos(1));
        self.queue.insert((next, id));
        self.periods.insert(id, (next, period));
    }

    pub(super) fn remove(&mut self, id: SubscriptionId) {
        if let Some((next, _)) = self.periods.remove(&id) {
            self.queue.remove(&(next, id));
        }
    }

    /// Returns the time at which the next period is due.
    pub(super) fn next(&self) -> Option<Time> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Removes and returns a due period. It is due again one period after its scheduled time; periods that have
    /// already passed are skipped.
    pub(super) fn pop(&mut self, now: Time) -> Option<Due> {
        let &(at, subscription) = self.queue.first().filter(|(at, _)| *at <= now)?;
        self.queue.pop_first();
        let (next, period) = self.periods.get_mut(&subscription)?;
        let behind = now.since(at).as_nanos() / period.as_nanos().max(1);
        let skipped = u64::try_from(behind).unwrap_or(u64::MAX);
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        *next = at + Duration::from_nanos(period_ns.saturating_mul(skipped.saturating_add(1)));
        self.queue.insert((*next, subscription));
        Some(Due { subscription, at, skipped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn late_poll_keeps_schedule_and_skips_missed_periods() {
        let mut periods = Periods::default();
        let id = SubscriptionId(1);
        periods.add(id, at(0), 10 * MS);
        assert_eq!(periods.pop(at(9)), None);
        // The poll is 3 ms late, so the next report is due in 7 ms.
        let due = |at, skipped| Some(Due { subscription: id, at, skipped });
        assert_eq!(periods.pop(at(13)), due(at(10), 0));
        assert_eq!(periods.pop(at(13)), None);
        assert_eq!(periods.next(), Some(at(20)));
        // The poll is 35 ms late: three periods are skipped, and the next one is due on schedule.
        assert_eq!(periods.pop(at(55)), due(at(20), 3));
        assert_eq!(periods.next(), Some(at(60)));
        periods.remove(id);
        assert_eq!((periods.next(), periods.pop(at(1_000))), (None, None));
        assert!(periods.queue.is_empty() && periods.periods.is_empty());
    }

    #[test]
    fn several_periods_interleave_in_a_fixed_order() {
        let mut periods = Periods::default();
        periods.add(SubscriptionId(2), at(0), 10 * MS);
        periods.add(SubscriptionId(1), at(0), 5 * MS);
        let mut order = Vec::new();
        for ms in 0..=10 {
            while let Some(due) = periods.pop(at(ms)) {
                order.push((ms, due.subscription.0));
            }
        }
        assert_eq!(order, [(5, 1), (10, 1), (10, 2)]);
    }
}
