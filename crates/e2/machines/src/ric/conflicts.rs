//! Conflicts between controls that set the same parameter. The first controller keeps the parameter for a time, unless a controller with a
//! higher priority takes it.
//!
//! The [policy](super::XappPolicy::targets) names the parameters that a control sets: `KIND NAME`, or `KIND *` for
//! all of a kind. Names are compared within a base station, across its nodes and service models. All controls are
//! checked here: those of xApps, of iApps, and of external clients.
use super::{Owner, Party};
use crate::Time;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of parameters that one claimant holds. Beyond it, the oldest ones are released.
pub(super) const HELD_PER_XAPP: usize = 1_024;
/// Maximum number of parties that hold parameters. Beyond it, the least recently active party loses its parameters.
const PARTIES_MAX: usize = 256;

/// A controller that sets parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claimant {
    /// An E42 xApp, while it is connected.
    Xapp(Owner),
    /// Any other controller, by name.
    Party(Party),
}

type Key = (GlobalE2NodeId, Arc<str>);

#[derive(Debug, Clone)]
struct Holder {
    owner: Claimant,
    priority: u8,
    until: Time,
    /// Number of the claim that set the parameter last.
    claim: u64,
    /// Position among all parameters in the order of their claims.
    order: u64,
}

/// A parameter that another claimant holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConflictError {
    /// Current holder.
    pub(super) by: Claimant,
    /// Parameter.
    pub(super) target: Arc<str>,
    /// Priority of the holder.
    pub(super) priority: u8,
    /// Remaining hold time.
    pub(super) left: Duration,
}

/// A parameter that was taken from a claimant with a lower priority.
pub(super) type Preempted = (Claimant, Arc<str>);

/// Parameters and their holders. Expired entries are ignored, but not removed by a timer.
#[derive(Debug, Default)]
pub(super) struct Conflicts {
    held: BTreeMap<Key, Holder>,
    /// The same parameters by holder, in the order of their claims.
    by_owner: BTreeMap<Claimant, BTreeMap<u64, Key>>,
    orders: u64,
    claims: u64,
}

impl Conflicts {
    /// Claims parameters for a claimant, all or none. Returns the number of the claim and the parameters taken from
    /// others.
    pub(super) fn claim(
        &mut self,
        now: Time,
        hold: Duration,
        owner: &Claimant,
        priority: u8,
        node: &GlobalE2NodeId,
        targets: &[String],
    ) -> Result<(u64, Vec<Preempted>), ConflictError> {
        let node = node.base_station();
        let mut taken = Vec::new();
        for target in targets {
            for (key, holder) in self.others(now, owner, node, target) {
                if holder.priority >= priority {
                    let left = Duration::from_nanos(holder.until.as_nanos().saturating_sub(now.as_nanos()));
                    return Err(ConflictError {
                        by: holder.owner,
                        target: key.1,
                        priority: holder.priority,
                        left,
                    });
                }
                taken.push((holder.owner.clone(), key));
            }
        }
        for (_, key) in &taken {
            self.release(key);
        }
        self.claims += 1;
        self.make_room(owner);
        for target in targets {
            let key: Key = (node, Arc::from(&**target));
            self.release(&key);
            self.orders += 1;
            let claim = self.claims;
            let order = self.orders;
            let holder = Holder { owner: owner.clone(), priority, until: now + hold, claim, order };
            self.held.insert(key.clone(), holder);
            self.by_owner.entry(owner.clone()).or_default().insert(order, key);
        }
        while self.by_owner.get(owner).is_some_and(|own| own.len() > HELD_PER_XAPP) {
            let first = self.by_owner.get(owner).and_then(|own| own.values().next().cloned());
            first.iter().for_each(|key| self.release(key));
        }
        Ok((self.claims, taken.into_iter().map(|(owner, (_, target))| (owner, target)).collect()))
    }

    /// Reverts a claim whose control was not executed: its parameters have no holder.
    pub(super) fn undo(&mut self, owner: &Claimant, claim: u64) {
        let own = self.by_owner.get(owner).into_iter().flat_map(BTreeMap::values);
        let undone = own.filter(|key| self.held.get(key).is_some_and(|holder| holder.claim == claim));
        for key in undone.cloned().collect::<Vec<_>>() {
            self.release(&key);
        }
    }

    /// Releases all parameters of a claimant that has disconnected.
    pub(super) fn gone(&mut self, owner: &Claimant) {
        for key in self.by_owner.remove(owner).into_iter().flat_map(BTreeMap::into_values) {
            self.held.remove(&key);
        }
    }

    /// Makes room for a new party by removing the least recently active one.
    fn make_room(&mut self, owner: &Claimant) {
        if matches!(owner, Claimant::Xapp(_)) || self.by_owner.contains_key(owner) {
            return;
        }
        let parties = || self.by_owner.iter().filter(|(owner, _)| matches!(owner, Claimant::Party(_)));
        if parties().count() < PARTIES_MAX {
            return;
        }
        let last = |(_, own): &(&Claimant, &BTreeMap<u64, Key>)| own.keys().next_back().copied();
        if let Some(longest) = parties().min_by_key(last).map(|(owner, _)| owner.clone()) {
            self.gone(&longest);
        }
    }

    /// Returns the number of held parameters, including expired ones.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns the other holders of the parameters that a target covers.
    fn others(&self, now: Time, owner: &Claimant, node: GlobalE2NodeId, target: &str) -> Vec<(Key, Holder)> {
        let kind = target.split_once(' ').map_or(target, |(kind, _)| kind);
        let all = format!("{kind} *");
        let of_other = |(key, holder): (&Key, &Holder)| {
            (holder.owner != *owner && holder.until > now).then(|| (key.clone(), holder.clone()))
        };
        if target == all {
            let first: Key = (node, Arc::from(format!("{kind} ")));
            let of_kind = self.held.range((Bound::Included(first.clone()), Bound::Unbounded));
            let of_kind = of_kind.take_while(|(key, _)| key.0 == node && key.1.starts_with(&*first.1));
            return of_kind.filter_map(of_other).collect();
        }
        let named = [target, &all].map(|target| (node, Arc::from(target)));
        named.iter().filter_map(|key: &Key| of_other((key, self.held.get(key)?))).collect()
    }

    fn release(&mut self, key: &Key) {
        let Some(holder) = self.held.remove(key) else { return };
        if let Some(own) = self.by_owner.get_mut(&holder.owner) {
            own.remove(&holder.order);
            if own.is_empty() {
                self.by_owner.remove(&holder.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConnId;
    use super::*;
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_machine::Random;

    const HOLD: Duration = Duration::from_secs(10);

    fn xapp(place: usize) -> Claimant {
        Claimant::Xapp(Owner::Xapp { place, conn: ConnId(place as u64) })
    }

    fn node(id: u32) -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(Plmn::new(1, 1, 2), id, 22)
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    struct World(Conflicts);

    impl World {
        fn set(
            &mut self,
            s: u64,
            x: usize,
            priority: u8,
            target: &str,
        ) -> Result<Vec<Preempted>, ConflictError> {
            let one = [target.to_owned()];
            self.0.claim(at(s), HOLD, &xapp(x), priority, &node(1), &one).map(|(_, taken)| taken)
        }
    }

    #[test]
    fn first_holder_wins_until_expiry_or_higher_priority() {
        let mut w = World(Conflicts::default());
        assert_eq!(w.set(0, 1, 5, "slice 1"), Ok(vec![]));
        assert_eq!(w.set(1, 1, 5, "slice 1"), Ok(vec![]), "a holder may set its parameter again");
        let held = w.set(2, 2, 5, "slice 1").unwrap_err();
        assert_eq!((held.by, held.priority, held.left), (xapp(1), 5, Duration::from_secs(9)));
        assert_eq!(w.set(2, 2, 5, "slice 2"), Ok(vec![]), "a different slice is a different parameter");
        assert_eq!(w.set(3, 3, 6, "slice 1"), Ok(vec![(xapp(1), "slice 1".into())]));
        assert!(w.set(4, 1, 5, "slice 1").is_err());
        assert_eq!(w.set(13, 1, 5, "slice 1"), Ok(vec![]), "the parameter must be free after the hold time");
        let elsewhere = ["slice 1".to_owned()];
        assert!(w.0.claim(at(13), HOLD, &xapp(2), 0, &node(2), &elsewhere).is_ok());
    }

    #[test]
    fn wildcard_conflicts_with_each_name_of_its_kind() {
        let mut w = World(Conflicts::default());
        assert!(w.set(0, 1, 1, "slice 7").is_ok());
        assert!(w.set(0, 2, 1, "slice *").is_err());
        assert!(w.set(0, 2, 1, "slices-of-another-kind *").is_ok());
        assert_eq!(w.set(0, 2, 2, "slice *").unwrap().len(), 1);
        assert!(w.set(0, 1, 1, "slice 8").is_err());
        w.0.gone(&xapp(2));
        assert!(w.set(0, 1, 1, "slice 8").is_ok());
    }

    #[test]
    fn refused_claim_takes_no_parameter_and_claims_can_be_reverted() {
        let mut c = Conflicts::default();
        let two = ["ue 1".to_owned(), "ue 2".to_owned()];
        let (claim, _) = c.claim(at(0), HOLD, &xapp(1), 1, &node(1), &two[1..]).unwrap();
        assert!(c.claim(at(0), HOLD, &xapp(2), 1, &node(1), &two).is_err());
        assert_eq!(c.len(), 1, "a refused claim must not hold any of its parameters");
        c.undo(&xapp(1), claim);
        assert!(c.claim(at(0), HOLD, &xapp(2), 1, &node(1), &two).is_ok());
        assert_eq!(c.by_owner.len(), 1);
    }

    /// Compares random operations of xApps of all priorities with a simple model without order and limits. A claim is
    /// refused only if an existing holder has at least the same priority, and a holder loses a parameter only to a
    /// higher priority.
    #[test]
    fn random_claims_match_reference_model() {
        for seed in 1..=200_u64 {
            let mut random = Random::stream(seed, 0);
            let mut below = |most| random.below(most);
            let mut c = Conflicts::default();
            let mut model = BTreeMap::<(u64, u64), (usize, u8, Time)>::new();
            let mut now = Time::ZERO;
            for _ in 0..400 {
                now += Duration::from_millis(below(2_000));
                let x = below(5) as usize;
                if below(20) == 0 {
                    c.gone(&xapp(x));
                    model.retain(|_, (by, _, _)| *by != x);
                    continue;
                }
                let gnb = below(2);
                let name = below(4);
                let priority = x as u8 / 2;
                let target = [format!("ue {name}")];
                let got = c.claim(now, HOLD, &xapp(x), priority, &node(gnb as u32), &target);
                let held = model.get(&(gnb, name)).filter(|(by, _, until)| *by != x && *until > now);
                match (held, got) {
                    (Some((by, theirs, _)), Err(held)) => {
                        assert!(*theirs >= priority && held.by == xapp(*by), "seed {seed}");
                    }
                    (Some((by, theirs, _)), Ok((_, taken))) => {
                        assert!(*theirs < priority, "seed {seed}");
                        assert_eq!(taken.len(), 1);
                        assert_eq!(taken[0].0, xapp(*by), "seed {seed}");
                        model.insert((gnb, name), (x, priority, now + HOLD));
                    }
                    (None, Ok((_, taken))) => {
                        assert!(taken.is_empty(), "seed {seed}");
                        model.insert((gnb, name), (x, priority, now + HOLD));
                    }
                    (None, Err(held)) => {
                        panic!("seed {seed}: a claim of a free parameter is refused: {held:?}")
                    }
                }
            }
            let by_owner: usize = c.by_owner.values().map(BTreeMap::len).sum();
            assert_eq!(by_owner, c.len(), "seed {seed}");
        }
    }

    #[test]
    fn greedy_xapp_does_not_displace_other_holders() {
        let mut w = World(Conflicts::default());
        assert!(w.set(0, 1, 1, "ue victim").is_ok());
        for ue in 0..100_000 {
            assert!(w.set(0, 2, 1, &format!("ue {ue}")).is_ok());
        }
        assert_eq!(w.0.len(), HELD_PER_XAPP + 1);
        assert!(w.set(1, 2, 1, "ue victim").is_err());
        assert!(
            w.set(1, 1, 1, "ue 5").is_ok(),
            "the oldest parameter of the greedy xApp must have been released"
        );
    }

    #[test]
    fn number_of_external_clients_is_limited_without_affecting_xapps() {
        let mut w = World(Conflicts::default());
        assert!(w.set(0, 1, 1, "ue victim").is_ok());
        for party in 0..10 * PARTIES_MAX {
            let name = Party::from(format!("http://{party}"));
            let ue = [format!("ue {party}")];
            let party = Claimant::Party(name);
            assert!(w.0.claim(at(0), HOLD, &party, 9, &node(1), &ue).is_ok());
        }
        assert_eq!((w.0.by_owner.len(), w.0.len()), (PARTIES_MAX + 1, PARTIES_MAX + 1));
        assert!(w.set(1, 2, 1, "ue victim").is_err());
    }
}
