//! Policies at a base station: which of them hold, and what it does by itself then.
use super::wanted::{Does, When};
use super::{Function, RcControl, sees};
use crate::agent::FunctionContext;
use ranlab_wire::e2sm::common::Snssai;
use ranlab_wire::e2sm::rc::Comparison;
use ranlab_wire::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_wire::e2sm::rc::policy::{self, Condition, Test};

/// Policies of an action, at most.
pub const POLICIES_MAX: usize = 16;

/// A UE that is connected: its number, and the slices that it chose.
type Ue = (u32, Vec<Snssai>);

/// Quotas by policies, over those that were there.
#[derive(Debug)]
pub(super) struct Imposed {
    beneath: Vec<SliceQuota>,
    over: Vec<SliceQuota>,
}

/// Whether a test holds of a UE, one of so many.
fn test_holds(test: &Test, ue: Option<&Ue>, connected: usize) -> bool {
    match test {
        Test::Ue(name) => ue.is_some_and(|(number, _)| *number == name.number()),
        Test::Slice(wanted) => {
            let is = |it: &Snssai| it.sst == wanted.sst && wanted.sd.is_none_or(|sd| it.sd == Some(sd));
            ue.is_some_and(|(_, slices)| slices.iter().any(is))
        }
        Test::ConnectedUes(comparison, number) => {
            let connected = i64::try_from(connected).unwrap_or(i64::MAX);
            match comparison {
                Comparison::GreaterThan => connected > *number,
                Comparison::LessThan => connected < *number,
                _ => connected == *number,
            }
        }
    }
}

/// Tests from left to right, as KPM's.
fn holds(condition: &Condition, ue: Option<&Ue>, connected: usize) -> bool {
    let mut or = false;
    condition.iter().fold(true, |so_far, (test, or_next)| {
        let now = test_holds(test, ue, connected);
        let so_far = if or { so_far || now } else { so_far && now };
        or = *or_next;
        so_far
    })
}

/// Whether there is a UE of which it holds, or it holds whoever is there.
fn holds_of_any(condition: &Condition, ues: &[&Ue]) -> bool {
    let connected = ues.len();
    holds(condition, None, connected) || ues.iter().any(|ue| holds(condition, Some(ue), connected))
}

fn is_of(quota: &SliceQuota, others: &[SliceQuota]) -> bool {
    others.iter().any(|it| (it.plmn, it.slice) == (quota.plmn, quota.slice))
}

impl<C: RcControl> Function<C> {
    fn connected(&mut self) -> Vec<Ue> {
        let Some(mobility) = self.station.mobility() else { return Vec::new() };
        let there = mobility.ues();
        there.into_iter().map(|(number, _)| (number, mobility.slices(number))).collect()
    }

    /// Looks again at who is connected, and at the policies if that is not who was.
    pub(super) fn look_at_ues(&mut self, ctx: &FunctionContext<'_>) {
        if !self.has_policies() {
            return;
        }
        let there = self.connected();
        if there != self.there {
            self.there = there;
            self.impose(ctx);
        }
    }

    fn has_policies(&self) -> bool {
        let mut actions = self.listeners.values().flat_map(|listener| &listener.actions);
        self.imposed.is_some() || actions.any(|action| matches!(action.does, Does::Policies(_)))
    }

    /// The quotas that hold by policies now: of each action those of the first whose condition holds, of a slice those
    /// of the oldest subscription.
    fn quotas_by_policy(&self, ctx: &FunctionContext<'_>) -> Vec<SliceQuota> {
        let mut wanted = Vec::new();
        for (id, listener) in &self.listeners {
            let When::States(changes) = &listener.when else { continue };
            let seen = |(number, _): &&Ue| {
                sees(ctx.ues_of(*id), *number) && changes.iter().any(|it| it.whose.has(*number))
            };
            let seen: Vec<_> = self.there.iter().filter(seen).collect();
            for action in &listener.actions {
                let Does::Policies(policies) = &action.does else { continue };
                let first = policies.iter().find(|(_, condition)| holds_of_any(condition, &seen));
                let Some((policy::Does::Obey(Order::SliceQuotas(quotas)), _)) = first else { continue };
                let new: Vec<_> = quotas.iter().filter(|quota| !is_of(quota, &wanted)).copied().collect();
                wanted.extend(new);
            }
        }
        wanted
    }

    /// Quotas that controls have set, without those of policies; none if the carrier is shared by other means.
    pub(super) fn quotas_beneath(&mut self) -> Vec<SliceQuota> {
        let shared = self.station.quotas().unwrap_or_default();
        let imposed = self.imposed.as_ref().filter(|it| it.over == shared);
        imposed.map(|it| it.beneath.clone()).unwrap_or(shared)
    }

    /// Shares the carrier as policies and what is beneath them say. What was shared meanwhile by somebody else is beneath
    /// them from then on; a carrier that is shared by other means than quotas they leave alone.
    pub(super) fn impose(&mut self, ctx: &FunctionContext<'_>) {
        if !self.has_policies() {
            return;
        }
        self.there = self.connected();
        let wanted = self.quotas_by_policy(ctx);
        let Some(shared) = self.station.quotas() else {
            self.imposed = None;
            return;
        };
        let beneath = self.quotas_beneath();
        self.imposed = None;
        let mut over: Vec<_> = beneath.iter().filter(|quota| !is_of(quota, &wanted)).copied().collect();
        over.extend(&wanted);
        // Who came since belongs to a slice only once it is said again.
        let mut obey = |quotas: &[SliceQuota]| {
            self.station.obey(ctx.now(), 0, &Order::SliceQuotas(quotas.to_vec())).is_ok()
        };
        if !wanted.is_empty() && obey(&over) {
            self.imposed = Some(Imposed { beneath, over });
        } else if shared != beneath {
            // No policy holds any more, or together they ask for more than there is.
            obey(&beneath);
        }
    }

    /// What policies say of a handover of this UE that is prepared; `None`: nothing.
    pub(super) fn by_policy(&mut self, ctx: &FunctionContext<'_>, number: u32) -> Option<policy::Does> {
        if !self.has_policies() {
            return None;
        }
        let there = self.connected();
        let ue = there.iter().find(|it| it.0 == number);
        self.listeners.iter().find_map(|(id, listener)| {
            let When::Handover(whose) = &listener.when else { return None };
            if !whose.has(number) || !sees(ctx.ues_of(*id), number) {
                return None;
            }
            let connected = there.iter().filter(|it| sees(ctx.ues_of(*id), it.0)).count();
            listener.actions.iter().find_map(|action| {
                let Does::Policies(policies) = &action.does else { return None };
                let first = policies.iter().find(|(_, condition)| holds(condition, ue, connected));
                first.map(|(does, _)| does.clone())
            })
        })
    }
}
