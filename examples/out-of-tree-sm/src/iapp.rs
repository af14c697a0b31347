//! iApp inside the RIC.
use crate::{Policy, Temperature, Trigger};
use ranlab_sdk::Bytes;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{IApp, IAppInput, IAppOutbox};
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, RicActionType, RicSubscriptionDetails};
use ranlab_sdk::wire::e2sm::{ServiceModel, per};
use ranlab_sdk::wire::per::EncodeError;

/// iApp that sets one policy at every node that supports the model.
pub struct Guardian {
    trigger: Bytes,
    policy: Bytes,
}

impl Guardian {
    /// Returns an iApp whose policy is evaluated every `period_ms`.
    pub fn new(period_ms: u32, policy: Policy) -> Result<Self, EncodeError> {
        let mut trigger = Vec::new();
        let mut definition = Vec::new();
        per::encode(&Trigger { period_ms }, &mut trigger)?;
        per::encode(&policy, &mut definition)?;
        Ok(Self { trigger: trigger.into(), policy: definition.into() })
    }
}

impl IApp for Guardian {
    fn name(&self) -> &str {
        "guardian"
    }

    fn handle(&mut self, _now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        // The RIC restores the subscriptions of a node that reconnects.
        let IAppInput::NodeAdded(node) = input else { return };
        let Some(function) = node.function_by_oid(Temperature::OID) else { return };
        let definition = Some(self.policy.clone());
        let policy =
            ActionToBeSetup { kind: RicActionType::Policy, definition, ..ActionToBeSetup::report(0) };
        let details = RicSubscriptionDetails { event_trigger: self.trigger.clone(), actions: vec![policy] };
        out.subscribe(node.id, function.id, details);
    }
}
