//! A control and what it did: [`ranlab_e2::effect`] over a subscription of its own.
use crate::events::Inbox;
use crate::xapp::{ControlFailure, RoutedSubscription, SubscriptionError, XappHandle};
use bytes::Bytes;
use ranlab_e2::effect::{Change, Effect, EffectError, Next};
use ranlab_e2::xapp::{FunctionRef, SubscribeError, SubscriptionHandle, XappEvent};
use ranlab_wire::e2ap::{ActionToBeSetup, GlobalE2NodeId};
use ranlab_wire::e2sm::{Model, SmError};
use std::future::poll_fn;
use std::time::Duration;

/// How long a base station may take to admit the subscription and to answer the control, beside the periods.
const PATIENCE: Duration = Duration::from_secs(10);
/// Periods that may pass beside those that are counted.
const PERIODS_BESIDE: u32 = 4;

/// What is looked at around a control.
#[derive(Debug, Clone)]
pub struct Watch {
    /// Whose reports.
    pub model: &'static dyn Model,
    /// What in them, 1 to 16: columns of the model that have numbers, or KPM's measurements (`DRB.UEThpDl`).
    pub kpis: Vec<String>,
    /// Reports before the control, and as many after it.
    pub periods: u32,
    /// Time between two reports.
    pub period: Duration,
}

/// A control that was executed, and its effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The node's words, if it has any.
    pub outcome: Option<Bytes>,
    /// The KPIs before and after.
    pub changes: Vec<Change>,
}

/// Why a control has no known effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EffectFailure {
    /// The reports cannot be asked for in the model's words.
    #[error(transparent)]
    Model(#[from] SmError),
    /// They would not tell that.
    #[error(transparent)]
    Kpis(#[from] EffectError),
    /// The base station does not report; nothing was commanded.
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    /// The control was not executed.
    #[error(transparent)]
    Control(#[from] ControlFailure),
    /// The base station fell silent.
    #[error(
        "the base station did not report, or did not answer, within {0:?}; whether it did what it was told is unknown"
    )]
    Silent(Duration),
}

/// Ends the subscription with the measurement.
struct Listening<'a>(&'a XappHandle, SubscriptionHandle);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.unsubscribe(self.1);
        self.0.unroute(self.1.into());
    }
}

impl XappHandle {
    /// As [`control`](Self::control), and measures what it does: reports are awaited, then the control is sent, then as many
    /// reports are awaited again. Takes two times the periods and some more.
    ///
    /// # Errors
    /// The control came to nothing, or its effect cannot be measured: [`EffectFailure`].
    pub async fn control_with_effect(
        &self,
        node: GlobalE2NodeId,
        function: impl Into<FunctionRef>,
        header: Bytes,
        message: Bytes,
        watch: &Watch,
    ) -> Result<Measured, EffectFailure> {
        let mut effect = Effect::new(&watch.model.columns(), &watch.kpis, watch.periods)?;
        let RoutedSubscription { handle, inbox, outcome } = self.listen(node, watch)?;
        let _listening = Listening(self, handle);
        let periods = watch.periods.saturating_mul(2).saturating_add(PERIODS_BESIDE);
        let patience = watch.period.saturating_mul(periods).saturating_add(PATIENCE);
        let control = (function.into(), header, message);
        let measured = async {
            self.admitted(outcome).await?;
            self.measure(&mut effect, &inbox, watch.model, (node, control)).await
        };
        let measured = tokio::time::timeout(patience, measured).await;
        let outcome = measured.unwrap_or(Err(EffectFailure::Silent(patience)))?;
        Ok(Measured { outcome, changes: effect.changes() })
    }

    /// Asks the node for reports, with a queue of their own.
    fn listen(&self, node: GlobalE2NodeId, watch: &Watch) -> Result<RoutedSubscription, EffectFailure> {
        let (model, impossible) = (watch.model, |error| EffectFailure::from(SubscriptionError::from(error)));
        let trigger = model.periodic(model.encoding(), watch.period)?;
        let oid = |offered: &Option<String>| offered.as_deref().is_some_and(|oid| model.is_called(oid));
        let offered = self.read(|xapp| {
            let function = xapp.node(&node)?.functions.iter().find(|function| oid(&function.oid))?;
            Some((function.id, function.definition.clone()))
        });
        let (id, definition) = offered.ok_or_else(|| impossible(SubscribeError::UnknownFunction))?;
        let definition = model.action(model.encoding(), &definition, watch.period)?;
        let actions = vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(0) }];
        self.subscribe_one_routed(node, id, trigger, actions).map_err(impossible)
    }

    async fn measure(
        &self,
        effect: &mut Effect,
        inbox: &Inbox<XappEvent>,
        model: &'static dyn Model,
        (node, (function, header, message)): (GlobalE2NodeId, (FunctionRef, Bytes, Bytes)),
    ) -> Result<Option<Bytes>, EffectFailure> {
        let take = |effect: &mut Effect, event: &XappEvent| {
            let XappEvent::Indication { indication, .. } = event else { return Next::Report };
            let table = model.table(model.encoding(), &indication.header, &indication.message);
            table.map_or(Next::Report, |table| effect.report(&table))
        };
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
                    // What came while the base station had the control is of neither half.
                    while let Some(event) = inbox.take() {
                        take(effect, &event);
                    }
                    effect.commanded();
                }
            }
        }
    }
}
