//! Controls with measurement of their effect. The measurement of [`ranlab_e2::effect`] uses separate subscriptions.
use crate::events::EventQueue;
use crate::xapp::{ControlFailure, RoutedSubscription, SubscriptionError, XappHandle};
use bytes::Bytes;
use ranlab_e2::effect::{Change, Effect, EffectError, Next};
use ranlab_e2::xapp::{FunctionRef, SubscribeError, SubscriptionHandle, XappEvent};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, GlobalE2NodeId, RanFunctionItem};
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::kpm::{self, Selection, SelectionError};
use ranlab_e2_codec::e2sm::{Encoding, Model, Octets, SmError};
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

/// Time for the base station to admit the subscription and to execute the control, in addition to the periods.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of additional periods that may pass without counting towards the measurement.
const PERIODS_BESIDE: u32 = 4;

/// Measurement of a control's effect.
#[derive(Debug, Clone)]
pub struct EffectQuery {
    /// Service model of the reports.
    pub model: &'static dyn Model,
    /// KPIs, 1 to 16: numeric columns of the model, or KPM measurements (`DRB.UEThpDl`).
    pub kpis: Vec<String>,
    /// Number of reports before the control, and the same number after it.
    pub periods: u32,
    /// Report period.
    pub period: Duration,
    /// Slices for which KPM values are also reported. The node is asked for the UEs of each slice.
    pub slices: Vec<Snssai>,
}

/// Maximum number of slices in the result of a measurement. Further slices are reported as `other`.
const SLICES_MAX: usize = 16;

impl EffectQuery {
    fn is_kpm(&self) -> bool {
        self.model.oid() == kpm::OID
    }

    /// Returns the names of the KPM measurements among the KPIs, without labels.
    fn measurements(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for kpi in &self.kpis {
            let bare = kpi.split(' ').next().unwrap_or_default();
            if !names.iter().any(|it| it == bare) {
                names.push(bare.to_owned());
            }
        }
        names
    }

    /// Returns the action definition that requests the KPIs from a node.
    fn action(&self, node: &GlobalE2NodeId, definition: &Bytes) -> Result<Option<Bytes>, EffectFailure> {
        let encoding = self.model.encoding();
        if !self.is_kpm() {
            return Ok(self.model.action(encoding, definition, self.period)?);
        }
        let selection = Selection { measurements: self.measurements(), ..Selection::default() };
        let period_ms = u32::try_from(self.period.as_millis()).unwrap_or(u32::MAX);
        let action = selection.action(node, definition, period_ms)?;
        Ok(Some(action.to_octets(Encoding::Per)?))
    }
}

/// Result of an executed control, and its effect.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlEffect {
    /// Control outcome, if the node sent one.
    pub outcome: Option<Bytes>,
    /// Changes of the KPIs from before to after the control.
    pub changes: Vec<Change>,
}

/// Reason why the effect of a control is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EffectFailure {
    /// The subscription cannot be encoded in the model.
    #[error(transparent)]
    Model(#[from] SmError),
    /// The KPIs are not valid.
    #[error(transparent)]
    Kpis(#[from] EffectError),
    /// The node does not offer these KPM measurements.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The base station refused the subscription; the control was not sent.
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    /// The control was not executed.
    #[error(transparent)]
    Control(#[from] ControlFailure),
    /// The base station stopped reporting or responding.
    #[error(
        "the base station did not report, or did not respond, within {0:?}; whether it applied the control is unknown"
    )]
    Silent(Duration),
}

/// Subscriptions of a measurement. Dropping the value ends the subscriptions.
struct EffectSubscription<'a> {
    xapp: &'a XappHandle,
    handles: Vec<SubscriptionHandle>,
    /// Queue with the reports about the UEs of each slice, by name of the slice.
    members: Vec<(String, Rc<EventQueue<XappEvent>>)>,
}

impl Drop for EffectSubscription<'_> {
    fn drop(&mut self) {
        for handle in &self.handles {
            self.xapp.unsubscribe(*handle);
            self.xapp.unroute((*handle).into());
        }
    }
}

/// A control to send.
struct Control {
    node: GlobalE2NodeId,
    function: FunctionRef,
    header: Bytes,
    message: Bytes,
}

impl XappHandle {
    /// Sends a control like [`control`](Self::control) and measures its effect. The function first collects `periods`
    /// reports, then sends the control, and collects the same number of reports again. This takes somewhat longer
    /// than twice these periods.
    ///
    /// # Errors
    ///
    /// Returns an error if the control failed or its effect cannot be measured; see [`EffectFailure`].
    pub async fn control_with_effect(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
        watch: &EffectQuery,
    ) -> Result<ControlEffect, EffectFailure> {
        let offered = self.offered(&node, watch);
        let names = offered.as_ref().filter(|_| watch.is_kpm());
        let names = names.map(|it| Selection::names_offered(&node, &it.definition)).unwrap_or_default();
        let mut effect = Effect::new(&watch.model.columns(), &names, &watch.kpis, watch.periods)?;
        let function_of = offered.ok_or_else(|| SubscriptionError::from(SubscribeError::UnknownFunction))?;
        let mut listening = EffectSubscription { xapp: self, handles: Vec::new(), members: Vec::new() };
        self.listen_to_slices(node, &function_of, watch, &mut listening);
        let RoutedSubscription { handle, inbox, outcome } = self.listen(node, &function_of, watch)?;
        listening.handles.push(handle);
        let periods = watch.periods.saturating_mul(2).saturating_add(PERIODS_BESIDE);
        let patience = watch.period.saturating_mul(periods).saturating_add(PATIENCE);
        let control = Control { node, function: function.into(), header, message };
        let measured = async {
            self.admitted(outcome).await?;
            self.measure(&mut effect, &inbox, watch.model, &listening, control).await
        };
        let measured = tokio::time::timeout(patience, measured).await;
        let outcome = measured.unwrap_or(Err(EffectFailure::Silent(patience)))?;
        Ok(ControlEffect { outcome, changes: effect.changes() })
    }

    /// Returns the RAN function with which a node offers the model.
    fn offered(&self, node: &GlobalE2NodeId, watch: &EffectQuery) -> Option<RanFunctionItem> {
        let is_it = |oid: &Option<String>| oid.as_deref().is_some_and(|oid| watch.model.is_called(oid));
        self.read(|xapp| xapp.node(node)?.functions.iter().find(|function| is_it(&function.oid)).cloned())
    }

    /// Subscribes to reports, with a separate queue.
    fn listen(
        &self,
        node: GlobalE2NodeId,
        function: &RanFunctionItem,
        watch: &EffectQuery,
    ) -> Result<RoutedSubscription, EffectFailure> {
        let trigger = watch.model.periodic(watch.model.encoding(), watch.period)?;
        let definition = watch.action(&node, &function.definition)?;
        let actions = vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(0) }];
        let routed = self.subscribe_one_routed(node, function.id, trigger, actions);
        Ok(routed.map_err(SubscriptionError::from)?)
    }

    /// Subscribes to reports about the UEs of each slice. If the node refuses a subscription, the values of that
    /// slice are unknown.
    fn listen_to_slices(
        &self,
        node: GlobalE2NodeId,
        function: &RanFunctionItem,
        watch: &EffectQuery,
        listening: &mut EffectSubscription<'_>,
    ) {
        const BY_CONDITION: i64 = 4;
        let encoding = watch.model.encoding();
        let period_ms = u32::try_from(watch.period.as_millis()).unwrap_or(u32::MAX);
        for slice in watch.slices.iter().take(SLICES_MAX).filter(|_| watch.is_kpm()) {
            let measurements = watch.measurements().into_iter().take(1).collect();
            let style = Some(BY_CONDITION);
            let selection = Selection { style, measurements, slice: Some(*slice), ..Selection::default() };
            let action = selection.action(&node, &function.definition, period_ms).ok();
            let definition = action.and_then(|it| it.to_octets(Encoding::Per).ok());
            let trigger = watch.model.periodic(encoding, watch.period).ok();
            let Some((definition, trigger)) = definition.zip(trigger) else { continue };
            let actions =
                vec![ActionToBeSetup { definition: Some(definition), ..ActionToBeSetup::report(0) }];
            let routed = self.subscribe_one_routed(node, function.id, trigger, actions);
            if let Ok(RoutedSubscription { handle, inbox, .. }) = routed {
                listening.handles.push(handle);
                listening.members.push((slice.to_string(), inbox));
            }
        }
    }

    async fn measure(
        &self,
        effect: &mut Effect,
        inbox: &EventQueue<XappEvent>,
        model: &'static dyn Model,
        listening: &EffectSubscription<'_>,
        control: Control,
    ) -> Result<Option<Bytes>, EffectFailure> {
        let table = |event: &XappEvent| {
            let XappEvent::Indication { indication, .. } = event else { return None };
            model.table(model.encoding(), &indication.header, &indication.message).ok()
        };
        let take = |effect: &mut Effect, event: &XappEvent| {
            for (slice, members) in &listening.members {
                while let Some(event) = members.take() {
                    table(&event).iter().for_each(|table| effect.members(slice, table));
                }
            }
            table(event).map_or(Next::Report, |table| effect.report(&table))
        };
        let Control { node, function, header, message } = control;
        let mut outcome = None;
        loop {
            let Some(event) = poll_fn(|cx| inbox.poll(cx)).await else {
                return Err(SubscriptionError::Ended.into());
            };
            self.taken();
            match take(effect, &event) {
                Next::Report => {}
                Next::Done => return Ok(outcome),
                Next::Command => {
                    outcome = self.control(node, function.clone(), header.clone(), message.clone()).await?;
                    // Reports that arrived during the execution of the control count neither as before nor as after it.
                    while let Some(event) = inbox.take() {
                        take(effect, &event);
                    }
                    effect.commanded();
                }
            }
        }
    }
}
