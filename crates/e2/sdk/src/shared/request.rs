//! Subscription requests to one node or to all nodes, with a service model chosen at run time.
use super::queue::Queue;
use crate::xapp::{Route, SubscriptionError, XappHandle};
use bytes::Bytes;
use ranlab_e2::xapp::{FunctionRef, KpmPlan, SubscribeError};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, GlobalE2NodeId};
use ranlab_e2_codec::e2sm::kpm::{Selection, SelectionError};
use ranlab_e2_codec::e2sm::{Encoding, Model, Octets, SmError};
use std::sync::Arc;
use std::time::Duration;

/// A request for the reports of a RAN function, at every node that offers the function, or only [`at`](Self::at) one node.
#[derive(Debug, Clone)]
pub struct ReportRequest {
    function: FunctionRef,
    model: Option<&'static dyn Model>,
    trigger: Result<Bytes, SmError>,
    period: Duration,
    actions: Vec<ActionToBeSetup>,
    selection: Option<Selection>,
    node: Option<GlobalE2NodeId>,
}

/// Reason why reports could not be subscribed to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The subscription cannot be encoded in the model.
    #[error(transparent)]
    Model(#[from] SmError),
    /// The node does not offer the selected KPM measurements.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The subscription could not be requested, was refused, or was ended.
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

impl From<SubscribeError> for RequestError {
    fn from(error: SubscribeError) -> Self {
        Self::Subscription(error.into())
    }
}

impl ReportRequest {
    /// Requests all data of a service model every `period`.
    pub fn every(model: &'static dyn Model, period: Duration) -> Self {
        let trigger = model.periodic(model.encoding(), period);
        Self { model: Some(model), period, trigger, ..Self::encoded(model.oid(), Bytes::new()) }
    }

    /// Requests the reports of a function with an encoded event trigger. The reports are not decoded.
    pub fn encoded(function: impl Into<FunctionRef>, trigger: Bytes) -> Self {
        Self {
            function: function.into(),
            model: None,
            trigger: Ok(trigger),
            period: Duration::ZERO,
            actions: vec![ActionToBeSetup::report(0)],
            selection: None,
            node: None,
        }
    }

    /// Selects the function by an id or OID instead of the model's OID.
    pub fn function(mut self, function: impl Into<FunctionRef>) -> Self {
        self.function = function.into();
        self
    }

    /// Replaces the event trigger by encoded bytes.
    pub fn trigger(mut self, trigger: Bytes) -> Self {
        self.trigger = Ok(trigger);
        self
    }

    /// Replaces the single report action. An action without a definition gets the definition that requests all data.
    pub fn actions(mut self, actions: Vec<ActionToBeSetup>) -> Self {
        self.actions = actions;
        self
    }

    /// Selects KPM measurements. Applies to the KPM model only.
    pub fn measurements(mut self, selection: Selection) -> Self {
        self.selection = Some(selection);
        self
    }

    /// Requests the reports of this node only, and waits until it admits the subscription.
    pub fn at(mut self, node: GlobalE2NodeId) -> Self {
        self.node = Some(node);
        self
    }

    pub(super) fn model(&self) -> Option<&'static dyn Model> {
        self.model
    }

    /// Returns the actions for a node, given the definition of its RAN function.
    fn actions_at(
        &self,
        node: &GlobalE2NodeId,
        definition: &Bytes,
    ) -> Result<Vec<ActionToBeSetup>, RequestError> {
        if let Some(selection) = &self.selection {
            let period_ms = u32::try_from(self.period.as_millis()).unwrap_or(u32::MAX);
            let action = selection.action(node, definition, period_ms)?;
            let definition = Some(action.to_octets(Encoding::Per)?);
            return Ok(vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(0) }]);
        }
        let mut actions = self.actions.clone();
        if let Some(model) = self.model {
            for action in actions.iter_mut().filter(|action| action.definition.is_none()) {
                action.definition = model.action(model.encoding(), definition, self.period)?;
            }
        }
        Ok(actions)
    }
}

/// Guard that ends a subscription when dropped, except after [`keep`](Self::keep).
struct Guard<'a> {
    xapp: &'a XappHandle,
    route: Option<Route>,
}

impl Guard<'_> {
    fn keep(mut self) -> Option<Route> {
        self.route.take()
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(route) = self.route {
            self.xapp.end_route(route);
        }
    }
}

impl XappHandle {
    /// Subscribes with a queue for another thread. At one node, waits until the subscription is admitted. If the call
    /// is dropped, the subscription is ended.
    pub(super) async fn subscribe_into(
        &self,
        request: ReportRequest,
        queue: Arc<Queue>,
    ) -> Result<Route, RequestError> {
        let trigger = request.trigger.clone()?;
        let Some(node) = request.node else {
            let function = request.function;
            let standing = match request.selection {
                Some(selection) => {
                    let plan = Arc::new(KpmPlan { selection, period: request.period });
                    self.subscribe_all_planned(function, plan)?
                }
                None => self.subscribe_all_raw(function, trigger, request.actions)?,
            };
            let route = Route::from(standing);
            self.route_shared(route, queue);
            return Ok(route);
        };
        let definition = self.read(|xapp| {
            let offered = xapp.node(&node)?.function(&request.function)?;
            Some(offered.definition.clone())
        });
        let actions = match &definition {
            Some(definition) => request.actions_at(&node, definition)?,
            None => request.actions,
        };
        let (handle, outcome) = self.subscribe_with_outcome(node, request.function, trigger, actions)?;
        let guard = Guard { xapp: self, route: Some(handle.into()) };
        self.route_shared(handle.into(), queue);
        self.admitted(outcome).await?;
        guard.keep().ok_or_else(|| SubscriptionError::Ended.into())
    }
}
