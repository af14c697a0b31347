//! The ownership invariant: the ownership intervals of a node are disjoint in every history.
use ranlab_e2::Time;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use std::collections::BTreeMap;

/// Interval in which a RIC owned a node. It begins when the setup is accepted, and ends when the connection is closed
/// or the RIC fences itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    /// Base station that was owned.
    pub node: GlobalE2NodeId,
    /// Owning RIC and the number of its incarnation.
    pub ric: (usize, u32),
    /// Start of the ownership.
    pub from: Time,
    /// End of the ownership.
    pub until: Time,
}

/// Owners of a node, by RIC and incarnation, with start and end of the ownership.
type Owners = BTreeMap<(usize, u32), (Time, Time)>;

/// Record of ownership in true time, independent of the clocks of the RICs.
#[derive(Debug, Default)]
pub struct History {
    open: BTreeMap<GlobalE2NodeId, Owners>,
    closed: Vec<Interval>,
}

impl History {
    /// Records that a RIC owns these nodes from `now` until the given times, unless an event ends the ownership
    /// earlier. The error names two RICs that own one node.
    pub fn see(
        &mut self,
        now: Time,
        ric: (usize, u32),
        owned: &[(GlobalE2NodeId, Time)],
    ) -> Result<(), String> {
        let others = self.open.iter().filter(|(node, by)| {
            by.contains_key(&ric) && !owned.iter().any(|(it, until)| it == *node && *until > now)
        });
        let ended: Vec<_> = others.map(|(node, _)| *node).collect();
        ended.into_iter().for_each(|node| self.end(now, node, ric));
        for (node, until) in owned.iter().filter(|(_, until)| *until > now) {
            self.expire(now, *node);
            let by = self.open.entry(*node).or_default();
            by.entry(ric).or_insert((now, *until)).1 = *until;
            if let Some((other, (since, until))) = by.iter().find(|(other, _)| **other != ric) {
                let ms = |at: &Time| at.as_nanos() / 1_000_000;
                return Err(format!(
                    "{node} is owned by RIC {ric:?} while RIC {other:?} owns it from {} to {} ms",
                    ms(since),
                    ms(until)
                ));
            }
        }
        Ok(())
    }

    /// Records that a RIC has stopped.
    pub fn gone(&mut self, now: Time, ric: usize) {
        let nodes: Vec<_> = self.open.keys().copied().collect();
        for node in nodes {
            let lives = self.open.get(&node).into_iter().flat_map(|by| by.keys()).filter(|it| it.0 == ric);
            let lives: Vec<_> = lives.copied().collect();
            lives.into_iter().for_each(|life| self.end(now, node, life));
        }
    }

    /// Returns the RIC that owns a node, if any.
    pub fn owner(&self, now: Time, node: &GlobalE2NodeId) -> Option<usize> {
        let by = self.open.get(node)?;
        by.iter().find(|(_, (_, until))| *until > now).map(|(ric, _)| ric.0)
    }

    /// Returns the intervals that have ended.
    pub fn intervals(&self) -> &[Interval] {
        &self.closed
    }

    fn end(&mut self, now: Time, node: GlobalE2NodeId, ric: (usize, u32)) {
        let Some((from, until)) = self.open.get_mut(&node).and_then(|by| by.remove(&ric)) else { return };
        self.closed.push(Interval { node, ric, from, until: until.min(now) });
    }

    /// Ends the leases on a node that have expired by `now`.
    fn expire(&mut self, now: Time, node: GlobalE2NodeId) {
        let over = self.open.get(&node).into_iter().flatten().filter(|(_, (_, until))| *until <= now);
        let over: Vec<_> = over.map(|(ric, _)| *ric).collect();
        over.into_iter().for_each(|ric| self.end(now, node, ric));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (usize, u32) = (0, 1);
    const B: (usize, u32) = (1, 1);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn owns(until: u64) -> Vec<(GlobalE2NodeId, Time)> {
        vec![(GlobalE2NodeId::gnb(ranlab_e2_codec::e2ap::Plmn::new(1, 1, 2), 1, 22), at(until))]
    }

    #[test]
    fn sequential_owners_are_accepted() {
        let mut history = History::default();
        history.see(at(0), A, &owns(10)).unwrap();
        history.see(at(5), A, &owns(15)).unwrap();
        history.see(at(15), B, &owns(30)).unwrap();
        history.see(at(20), B, &[]).unwrap();
        history.see(at(20), A, &owns(40)).unwrap();
        history.gone(at(25), 0);
        history.see(at(25), B, &owns(40)).unwrap();
        let seen: Vec<_> = history.intervals().iter().map(|it| (it.ric, it.from, it.until)).collect();
        assert_eq!(seen, [(A, at(0), at(15)), (B, at(15), at(20)), (A, at(20), at(25))]);
    }

    #[test]
    fn simultaneous_owners_are_rejected() {
        let mut history = History::default();
        history.see(at(0), A, &owns(10)).unwrap();
        assert!(history.see(at(9), B, &owns(20)).is_err());
        let mut history = History::default();
        history.see(at(0), A, &owns(10)).unwrap();
        history.see(at(10), B, &owns(20)).unwrap();
        assert!(
            history.see(at(15), A, &owns(25)).is_err(),
            "a RIC with an expired lease must not renew a node that another RIC owns"
        );
        let mut history = History::default();
        history.see(at(0), A, &owns(10)).unwrap();
        assert!(
            history.see(at(5), (0, 2), &owns(20)).is_err(),
            "another incarnation of a RIC must count as another owner"
        );
    }
}
