//! Typed service models: subscriptions and reports as decoded values.
use crate::events::EventQueue;
use crate::xapp::{ControlFailure, XappHandle};
use futures_core::Stream;
use ranlab_e2::xapp::{IndicationView, StandingHandle, SubscribeError, SubscriptionHandle, XappEvent};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, GlobalE2NodeId, RicActionId, RicActionType};
use ranlab_e2_codec::e2sm::{Encoding, Octets, ServiceModel, SmError};
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Creates subscriptions of a service model: `Mac::every(10.ms())`.
pub trait TypedSubscribe: ServiceModel + Sized {
    /// Creates a request for periodic reports.
    fn every(period: Duration) -> SubscriptionSpec<Self> {
        SubscriptionSpec::new(Self::periodic(period))
    }

    /// Creates a request for the reports of an event trigger.
    fn when(trigger: Self::Trigger) -> SubscriptionSpec<Self> {
        SubscriptionSpec::new(Ok(trigger))
    }
}

impl<M: ServiceModel> TypedSubscribe for M {}

/// Durations in short form: `10.ms()`.
pub trait DurationExt {
    /// Returns a duration in milliseconds.
    fn ms(self) -> Duration;
}

impl DurationExt for u64 {
    fn ms(self) -> Duration {
        Duration::from_millis(self)
    }
}

/// A subscription request: trigger, actions and encoding of a service model. The default is one report action without
/// definition, in the model's default encoding.
pub struct SubscriptionSpec<M: ServiceModel> {
    trigger: Result<M::Trigger, SmError>,
    actions: Vec<(RicActionType, Option<M::Action>)>,
    encoding: Encoding,
}

impl<M: ServiceModel> SubscriptionSpec<M> {
    fn new(trigger: Result<M::Trigger, SmError>) -> Self {
        Self { trigger, actions: Vec::new(), encoding: customary::<M>() }
    }

    /// Sets the encoding.
    pub fn encoded(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Adds an action. The first call replaces the default report action.
    pub fn action(mut self, kind: RicActionType, definition: Option<M::Action>) -> Self {
        self.actions.push((kind, definition));
        self
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(crate) fn octets(self) -> Result<(bytes::Bytes, Vec<ActionToBeSetup>), SmError> {
        let trigger = self.trigger?.to_octets(self.encoding)?;
        let mut actions = Vec::new();
        for (id, (kind, definition)) in (0..).zip(self.actions) {
            let definition = definition.map(|d| d.to_octets(self.encoding)).transpose()?;
            actions.push(ActionToBeSetup { kind, definition, ..ActionToBeSetup::report(id) });
        }
        if actions.is_empty() {
            actions.push(ActionToBeSetup::report(0));
        }
        Ok((trigger, actions))
    }
}

pub(crate) fn customary<M: ServiceModel>() -> Encoding {
    M::Message::ENCODINGS.first().copied().unwrap_or(Encoding::Plain)
}

/// A decoded indication.
#[derive(Debug)]
pub struct Report<M: ServiceModel> {
    /// Node that sent the report.
    pub node: GlobalE2NodeId,
    /// Subscription to which the report belongs.
    pub subscription: SubscriptionHandle,
    /// Action that caused the report.
    pub action: RicActionId,
    /// Sequence number of the indication, if the agent sends one.
    pub sn: Option<u16>,
    /// Indication header.
    pub header: M::Header,
    /// Indication message.
    pub message: M::Message,
}

impl<M: ServiceModel> Report<M> {
    pub(crate) fn decode(
        encoding: Encoding,
        node: GlobalE2NodeId,
        subscription: SubscriptionHandle,
        indication: IndicationView,
    ) -> Result<Self, Box<Malformed>> {
        let header = M::Header::decode_as(encoding, &indication.header);
        let decoded = header.and_then(|h| Ok((h, M::Message::decode_as(encoding, &indication.message)?)));
        match decoded {
            Ok((header, message)) => {
                let action = indication.action;
                let sn = indication.sn;
                Ok(Self { node, subscription, action, sn, header, message })
            }
            Err(error) => Err(Box::new(Malformed { node, model: M::NAME, error, indication })),
        }
    }
}

/// An indication that cannot be decoded in its service model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{node} sent an invalid indication of {model}: {error}")]
pub struct Malformed {
    /// Node that sent the indication.
    pub node: GlobalE2NodeId,
    /// Name of the service model.
    pub model: &'static str,
    /// Decoding error.
    pub error: SmError,
    /// The indication with encoded contents.
    pub indication: IndicationView,
}

/// Reason why a service model cannot be subscribed to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WantedError {
    /// The subscription cannot be encoded in the model.
    #[error(transparent)]
    Model(#[from] SmError),
    /// The xApp cannot create the subscription.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
}

/// Reason why a typed control failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypedControlError {
    /// The control cannot be encoded in the model, or the outcome cannot be decoded.
    #[error(transparent)]
    Model(#[from] SmError),
    /// The control failed.
    #[error(transparent)]
    Control(#[from] ControlFailure),
}

/// Decoded reports of every node that offers a service model. Dropping the value ends the subscriptions.
///
/// If the application does not consume reports, the handle stops reading from the socket ([`XappHandle`]).
pub struct Reports<M> {
    xapp: XappHandle,
    standing: StandingHandle,
    inbox: Rc<EventQueue<XappEvent>>,
    encoding: Encoding,
    model: PhantomData<fn() -> M>,
}

impl<M: ServiceModel> Reports<M> {
    /// Returns the next report, or an indication that cannot be decoded. Cancel-safe.
    pub async fn next(&mut self) -> Result<Report<M>, Malformed> {
        poll_fn(|cx| self.poll_report(cx)).await
    }

    /// Returns the next report if one is available.
    pub fn try_next(&mut self) -> Option<Result<Report<M>, Malformed>> {
        let event = self.inbox.take()?;
        self.xapp.taken();
        self.read(event)
    }

    /// Returns the handle of the subscriptions, as used in events.
    pub fn standing(&self) -> StandingHandle {
        self.standing
    }

    fn poll_report(&self, cx: &mut Context<'_>) -> Poll<Result<Report<M>, Malformed>> {
        while let Poll::Ready(Some(event)) = self.inbox.poll(cx) {
            self.xapp.taken();
            if let Some(report) = self.read(event) {
                return Poll::Ready(report);
            }
        }
        Poll::Pending
    }

    /// Decodes an indication. Returns `None` for other events, which never occur in this queue.
    fn read(&self, event: XappEvent) -> Option<Result<Report<M>, Malformed>> {
        let XappEvent::Indication { handle, node, indication, .. } = event else { return None };
        Some(Report::decode(self.encoding, node, handle, indication).map_err(|malformed| *malformed))
    }
}

/// Stream of the results of [`Reports::next`]; it does not end.
impl<M: ServiceModel> Stream for Reports<M> {
    type Item = Result<Report<M>, Malformed>;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_report(cx).map(Some)
    }
}

impl<M> Drop for Reports<M> {
    fn drop(&mut self) {
        self.xapp.unsubscribe_all(self.standing);
        self.xapp.unroute(self.standing.into());
    }
}

impl XappHandle {
    /// Subscribes at every node that offers a service model, including nodes that are announced later. Reports are
    /// decoded.
    ///
    /// ```no_run
    /// use ranlab_sdk::wire::e2sm::mac::Mac;
    /// use ranlab_sdk::{DurationExt, TypedSubscribe, XappHandle};
    ///
    /// # async fn watch(xapp: XappHandle) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut macs = xapp.subscribe_all(Mac::every(10.ms()))?;
    /// loop {
    ///     let report = macs.next().await?;
    ///     for ue in &report.message.ues {
    ///         println!("{}: UE {:#06x} CQI {}", report.node, ue.rnti, ue.wb_cqi);
    ///     }
    /// }
    /// # }
    /// ```
    pub fn subscribe_all<M: ServiceModel>(
        &self,
        spec: SubscriptionSpec<M>,
    ) -> Result<Reports<M>, WantedError> {
        let encoding = spec.encoding;
        let (trigger, actions) = spec.octets()?;
        let (standing, inbox) = self.subscribe_routed(M::OID, trigger, actions)?;
        Ok(Reports { xapp: self.clone(), standing, inbox, encoding, model: PhantomData })
    }

    /// Sends a control in the model's default encoding and waits for its outcome, if the node sends one.
    pub async fn control_model<M: ServiceModel>(
        &self,
        node: GlobalE2NodeId,
        header: &M::ControlHeader,
        message: &M::Control,
    ) -> Result<Option<M::Outcome>, TypedControlError> {
        let encoding = customary::<M>();
        let header = header.to_octets(encoding)?;
        let message = message.to_octets(encoding)?;
        let outcome = self.control(node, M::OID, header, message).await?;
        Ok(outcome.map(|outcome| M::Outcome::decode_as(encoding, &outcome)).transpose()?)
    }
}
