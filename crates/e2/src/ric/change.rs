//! What may be changed in a subscription, and what became of it.
use bytes::Bytes;
use ranlab_wire::e2ap::*;

/// What an iApp wants changed in a subscription of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionChange {
    /// New event trigger definition.
    pub event_trigger: Option<Bytes>,
    /// Actions to remove; one must stay.
    pub remove: Vec<RicActionId>,
    /// Actions to change.
    pub modify: Vec<ActionToBeModified>,
    /// Actions to add.
    pub add: Vec<ActionToBeAdded>,
}

/// What a node made of a [`SubscriptionChange`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionChanged {
    /// Removed.
    pub removed: Vec<RicActionId>,
    /// Changed.
    pub modified: Vec<RicActionId>,
    /// Added.
    pub added: Vec<RicActionId>,
    /// Asked for but not done, and why.
    pub failed: Vec<ActionFailed>,
}

/// Writes into the details what the node has done of a change.
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
