//! Modification of a subscription and its result.
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;

/// Requested modification of an iApp's own subscription.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionChange {
    /// New event trigger definition.
    pub event_trigger: Option<Bytes>,
    /// Actions to remove; at least one action must remain.
    pub remove: Vec<RicActionId>,
    /// Actions to modify.
    pub modify: Vec<ActionToBeModified>,
    /// Actions to add.
    pub add: Vec<ActionToBeAdded>,
}

/// Result of a [`SubscriptionChange`] at the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionChanged {
    /// Removed actions.
    pub removed: Vec<RicActionId>,
    /// Modified actions.
    pub modified: Vec<RicActionId>,
    /// Added actions.
    pub added: Vec<RicActionId>,
    /// Failed actions with their causes.
    pub failed: Vec<ActionFailed>,
}

/// Applies the successful changes to the details of the subscription.
pub(super) fn apply(
    details: &mut RicSubscriptionDetails,
    change: SubscriptionChange,
    changed: &SubscriptionChanged,
) {
    if let Some(trigger) = change.event_trigger {
        details.event_trigger = trigger;
    }
    details.actions.retain(|a| !(change.remove.contains(&a.id) && changed.removed.contains(&a.id)));
    for new in change.modify.into_iter().filter(|a| changed.modified.contains(&a.id)) {
        let Some(action) = details.actions.iter_mut().find(|a| a.id == new.id) else { continue };
        action.definition = new.definition.or_else(|| action.definition.take());
        action.execution_order = new.execution_order.or(action.execution_order);
        action.subsequent = new.subsequent.or(action.subsequent);
    }
    let added = change.add.into_iter().filter(|a| changed.added.contains(&a.id));
    details.actions.extend(added.map(|a| ActionToBeSetup {
        id: a.id,
        kind: a.kind,
        definition: Some(a.definition),
        subsequent: a.subsequent,
        execution_order: Some(a.execution_order),
    }));
}
