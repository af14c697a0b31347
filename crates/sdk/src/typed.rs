//! Service models with their values: what is asked for, and what comes.
use crate::events::Inbox;
use crate::xapp::{ControlFailure, XappHandle};
use futures_core::Stream;
use ranlab_e2::xapp::{IndicationView, StandingHandle, SubscribeError, SubscriptionHandle, XappEvent};
use ranlab_wire::e2ap::{ActionToBeSetup, GlobalE2NodeId, RicActionId, RicActionType};
use ranlab_wire::e2sm::{Encoding, Octets, ServiceModel, SmError};
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// What one asks of a service model: `Mac::every(10.ms())`.
pub trait Ask: ServiceModel + Sized {
    /// A report at intervals.
    fn every(period: Duration) -> Wanted<Self> {
        Wanted::new(Self::periodic(period))
    }

    /// A report whenever `trigger` says.
    fn when(trigger: Self::Trigger) -> Wanted<Self> {
        Wanted::new(Ok(trigger))
    }
}

impl<M: ServiceModel> Ask for M {}

/// Times as they are written: `10.ms()`.
pub trait Span {
    /// So many milliseconds.
    fn ms(self) -> Duration;
}

impl Span for u64 {
    fn ms(self) -> Duration {
        Duration::from_millis(self)
    }
}

/// A subscription to be: trigger, actions and encoding of a service model. One report without definition, in the model's
/// customary encoding, unless it is told otherwise.
pub struct Wanted<M: ServiceModel> {
    trigger: Result<M::Trigger, SmError>,
    actions: Vec<(RicActionType, Option<M::Action>)>,
    encoding: Encoding,
}

impl<M: ServiceModel> Wanted<M> {
    fn new(trigger: Result<M::Trigger, SmError>) -> Self {
        Self { trigger, actions: Vec::new(), encoding: customary::<M>() }
    }

    /// In this encoding.
    pub fn encoded(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// With one more action; the first takes the place of the report.
    pub fn action(mut self, kind: RicActionType, definition: Option<M::Action>) -> Self {
        self.actions.push((kind, definition));
        self
    }

    fn octets(self) -> Result<(bytes::Bytes, Vec<ActionToBeSetup>), SmError> {
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

fn customary<M: ServiceModel>() -> Encoding {
    M::Message::ENCODINGS.first().copied().unwrap_or(Encoding::Plain)
}

/// One indication, decoded.
#[derive(Debug)]
pub struct Report<M: ServiceModel> {
    /// From which node.
    pub node: GlobalE2NodeId,
    /// The subscription there.
    pub subscription: SubscriptionHandle,
    /// Of which action.
    pub action: RicActionId,
    /// Sequence number, if the agent gives one.
    pub sn: Option<u16>,
    /// Indication header.
    pub header: M::Header,
    /// Indication message.
    pub message: M::Message,
}

/// An indication that is none of its model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{node} sends what is no indication of {model}: {error}")]
pub struct Malformed {
    /// From which node.
    pub node: GlobalE2NodeId,
    /// Of which model, by name.
    pub model: &'static str,
    /// What is wrong with it.
    pub error: SmError,
    /// Its octets.
    pub indication: IndicationView,
}

/// Why a model cannot be subscribed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WantedError {
    /// It cannot be said in the model's words.
    #[error(transparent)]
    Model(#[from] SmError),
    /// The xApp cannot have it.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
}

/// Why a control of a model was not executed, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypedControlError {
    /// It cannot be said in the model's words, or the node's words are none of the model's.
    #[error(transparent)]
    Model(#[from] SmError),
    /// It came to nothing.
    #[error(transparent)]
    Control(#[from] ControlFailure),
}

/// What every node that offers a model reports, decoded. Dropping it ends the subscriptions.
///
/// Who does not take reports stops the reading ([`XappHandle`]).
pub struct Reports<M> {
    xapp: XappHandle,
    standing: StandingHandle,
    inbox: Rc<Inbox<XappEvent>>,
    encoding: Encoding,
    model: PhantomData<fn() -> M>,
}

impl<M: ServiceModel> Reports<M> {
    /// The next report, or what stands in its place. Cancel-safe.
    pub async fn next(&mut self) -> Result<Report<M>, Malformed> {
        poll_fn(|cx| self.poll_report(cx)).await
    }

    /// The next report, if one is there already.
    pub fn try_next(&mut self) -> Option<Result<Report<M>, Malformed>> {
        let event = self.inbox.take()?;
        self.xapp.taken();
        self.read(event)
    }

    /// The subscriptions behind it, as events name them.
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

    /// `None` for an event that is no indication; none is sent here.
    fn read(&self, event: XappEvent) -> Option<Result<Report<M>, Malformed>> {
        let XappEvent::Indication { handle, node, indication, .. } = event else { return None };
        let header = M::Header::decode_as(self.encoding, &indication.header);
        let decoded =
            header.and_then(|h| Ok((h, M::Message::decode_as(self.encoding, &indication.message)?)));
        Some(match decoded {
            Ok((header, message)) => {
                let (action, sn) = (indication.action, indication.sn);
                Ok(Report { node, subscription: handle, action, sn, header, message })
            }
            Err(error) => Err(Malformed { node, model: M::NAME, error, indication }),
        })
    }
}

/// As [`Reports::next`]; it does not end.
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
    /// Subscribes at every node that offers a model, those that come later included; the reports come decoded.
    ///
    /// ```no_run
    /// use ranlab_sdk::wire::e2sm::mac::Mac;
    /// use ranlab_sdk::{Ask, Span, XappHandle};
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
    pub fn subscribe_all<M: ServiceModel>(&self, wanted: Wanted<M>) -> Result<Reports<M>, WantedError> {
        let encoding = wanted.encoding;
        let (trigger, actions) = wanted.octets()?;
        let (standing, inbox) = self.subscribe_routed(M::OID, trigger, actions)?;
        Ok(Reports { xapp: self.clone(), standing, inbox, encoding, model: PhantomData })
    }

    /// Sends a control of a model and waits for its outcome, if the node has words for it; in the model's customary
    /// encoding.
    pub async fn control_model<M: ServiceModel>(
        &self,
        node: GlobalE2NodeId,
        header: &M::ControlHeader,
        message: &M::Control,
    ) -> Result<Option<M::Outcome>, TypedControlError> {
        let encoding = customary::<M>();
        let (header, message) = (header.to_octets(encoding)?, message.to_octets(encoding)?);
        let outcome = self.control(node, M::OID, header, message).await?;
        Ok(outcome.map(|outcome| M::Outcome::decode_as(encoding, &outcome)).transpose()?)
    }
}
