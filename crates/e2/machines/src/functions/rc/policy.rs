//! Policies at a base station: evaluation of their conditions, and their effects.
use super::subscription::{ActionKind, Trigger};
use super::{CarrierQuotas, Function, RcControl, sees};
use crate::agent::FunctionContext;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::rc::Comparison;
use ranlab_e2_codec::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::policy::{self, Condition, Test};

/// Maximum number of policies per action.
pub const POLICIES_MAX: usize = 16;

/// A connected UE: its number and its selected slices.
type Ue = (u32, Vec<Snssai>);

/// Quotas set by controls (`beneath`), and the quotas in force after policies override them (`over`).
#[derive(Debug)]
pub(super) struct PolicyQuotas {
    beneath: CarrierQuotas,
    over: CarrierQuotas,
}

/// Returns whether a test holds for a UE. `connected` is the number of connected UEs.
fn test_holds(test: &Test, ue: Option<&Ue>, connected: usize) -> bool {
    match test {
        Test::Ue(name) => ue.is_some_and(|(number, _)| *number == name.number()),
        Test::Slice(slice) => {
            let is = |it: &Snssai| it.sst == slice.sst && slice.sd.is_none_or(|sd| it.sd == Some(sd));
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

/// Evaluates the tests of a condition from left to right, as in KPM.
fn holds(condition: &Condition, ue: Option<&Ue>, connected: usize) -> bool {
    let mut or = false;
    condition.iter().fold(true, |so_far, (test, or_next)| {
        let now = test_holds(test, ue, connected);
        let so_far = if or { so_far || now } else { so_far && now };
        or = *or_next;
        so_far
    })
}

/// Returns whether a condition holds for any of these UEs, or independently of UEs.
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

    /// Re-evaluates the policies if the set of connected UEs has changed.
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
        self.imposed.is_some() || actions.any(|action| matches!(action.does, ActionKind::Policies(_)))
    }

    /// Returns the quotas of all policies in force. Within an action, only the first policy whose condition holds
    /// applies. For each slice, the oldest subscription takes precedence.
    fn quotas_by_policy(&self, ctx: &FunctionContext<'_>) -> Vec<SliceQuota> {
        let mut collected = Vec::new();
        for (id, listener) in &self.listeners {
            let Trigger::States(changes) = &listener.when else { continue };
            let seen = |(number, _): &&Ue| {
                sees(ctx.ues_of(*id), *number) && changes.iter().any(|it| it.whose.has(*number))
            };
            let seen: Vec<_> = self.there.iter().filter(seen).collect();
            for action in &listener.actions {
                let ActionKind::Policies(policies) = &action.does else { continue };
                let first = policies.iter().find(|(_, condition)| holds_of_any(condition, &seen));
                let Some((policy::PolicyEffect::Obey(Order::SliceQuotas(quotas)), _)) = first else {
                    continue;
                };
                let new: Vec<_> = quotas.iter().filter(|quota| !is_of(quota, &collected)).copied().collect();
                collected.extend(new);
            }
        }
        collected
    }

    /// Returns the quotas set by controls, without the quotas of policies. They are empty if the carrier is not shared by quotas.
    pub(super) fn quotas_beneath(&mut self) -> CarrierQuotas {
        let shared = self.station.quotas().unwrap_or_default();
        let imposed = self.imposed.as_ref().filter(|it| it.over == shared);
        imposed.map(|it| it.beneath.clone()).unwrap_or(shared)
    }

    /// Applies the quotas of the policies on top of the quotas set by controls. If quotas were changed by other means
    /// meanwhile, the changed ones are the new base. A carrier that is not shared by quotas is left unchanged.
    pub(super) fn impose(&mut self, ctx: &FunctionContext<'_>) {
        if !self.has_policies() {
            return;
        }
        self.there = self.connected();
        let policy_quotas = self.quotas_by_policy(ctx);
        let Some(shared) = self.station.quotas() else {
            self.imposed = None;
            return;
        };
        let beneath = self.quotas_beneath();
        self.imposed = None;
        // Quotas are applied again even if they are unchanged. Only this assigns UEs that have connected since then to
        // a slice.
        let mut obey = |quotas: &CarrierQuotas| self.station.share(ctx.now(), 0, quotas).is_ok();
        if !policy_quotas.is_empty() && obey(&beneath.merge(&policy_quotas)) {
            // The base station may have limited a quota, for example a dedicated part that exceeds the minimum.
            let over = self.station.quotas().unwrap_or_default();
            self.imposed = Some(PolicyQuotas { beneath, over });
        } else if shared != beneath {
            // No policy is in force any more, or the quotas add up to more than the carrier.
            obey(&beneath);
        }
    }

    /// Returns the decision of the policies on a prepared handover of this UE, or `None` if no policy applies.
    pub(super) fn by_policy(
        &mut self,
        ctx: &FunctionContext<'_>,
        number: u32,
    ) -> Option<policy::PolicyEffect> {
        if !self.has_policies() {
            return None;
        }
        let there = self.connected();
        let ue = there.iter().find(|it| it.0 == number);
        self.listeners.iter().find_map(|(id, listener)| {
            let Trigger::Handover(whose) = &listener.when else { return None };
            if !whose.has(number) || !sees(ctx.ues_of(*id), number) {
                return None;
            }
            let connected = there.iter().filter(|it| sees(ctx.ues_of(*id), it.0)).count();
            listener.actions.iter().find_map(|action| {
                let ActionKind::Policies(policies) = &action.does else { return None };
                let first = policies.iter().find(|(_, condition)| holds(condition, ue, connected));
                first.map(|(does, _)| does.clone())
            })
        })
    }
}
