//! RIC on its own thread.
use super::actor::{Actor, Closed, StartError};
use super::events::{EventSink, EventSource, Events};
use crate::ric::RicHandle;
use crate::transport::{Address, BindError, SocketOptions};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{
    IApp, IAppId, ListenerProtocol, Method, NorthboundReply, Ric as Machine, RicConfig, RicEvent,
};
use std::convert::Infallible;
use std::rc::Rc;
use tokio::task::AbortHandle;

/// A running RIC, usable from every thread and runtime.
///
/// The RIC runs on its own thread until the last handle is dropped, or until [`close`](Self::close). [`RicHandle`] is
/// the handle for programs that run on one thread, and for a RIC with several threads.
#[derive(Clone)]
pub struct Ric {
    actor: Actor<State>,
    events: EventSource<RicEvent>,
}

struct State {
    handle: RicHandle,
    pump: AbortHandle,
    /// The sink is stored here so that listeners end together with the machine.
    _events: EventSink<RicEvent>,
}

/// Reason why a RIC could not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address cannot be used.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The RIC has ended.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl Ric {
    /// Starts a RIC. It serves no peers before [`listen`](Self::listen).
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be created.
    pub async fn start(config: RicConfig, options: SocketOptions) -> Result<Self, StartError<Infallible>> {
        let (sink, events) = EventSink::new();
        let make = move || async move {
            let handle = RicHandle::start(config, options);
            let source = handle.clone();
            let pump = sink.clone().forward(async move || source.next().await, |_| ());
            Ok(State { handle, pump, _events: sink })
        };
        let end = async |state: Rc<State>| state.pump.abort();
        Ok(Self { actor: Actor::start("ranlab-ric", make, end).await?, events })
    }

    /// Opens a listener and returns its address, with port 0 replaced by the port that the system chose.
    ///
    /// # Errors
    ///
    /// Returns an error if the address cannot be used, or [`ListenError::Closed`] if the RIC has ended.
    pub async fn listen(&self, side: ListenerProtocol, address: &Address) -> Result<Address, ListenError> {
        self.listen_for(side, address, |_| true).await
    }

    /// Opens a listener like [`listen`](Self::listen). `allow` decides which peers may connect. Other connections are
    /// closed immediately.
    ///
    /// # Errors
    /// Returns an error like [`listen`](Self::listen).
    pub async fn listen_for(
        &self,
        side: ListenerProtocol,
        address: &Address,
        allow: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<Address, ListenError> {
        let at = address.clone();
        let listening = self.actor.call(async move |state| state.handle.listen(side, &at, allow).await);
        Ok(listening.await??)
    }

    /// Adds an iApp.
    ///
    /// # Errors
    /// [`Closed`] if the RIC has ended.
    pub async fn add_iapp(&self, iapp: impl IApp + 'static) -> Result<IAppId, Closed> {
        self.actor.with(|state| state.handle.add_iapp(Box::new(iapp))).await
    }

    /// Sends a request to an iApp and waits for its reply. An iApp may never reply to a request that it does not know.
    ///
    /// # Errors
    /// [`Closed`] if the RIC ends first.
    pub async fn northbound(
        &self,
        iapp: IAppId,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<NorthboundReply, Closed> {
        let path = path.to_owned();
        let reply =
            self.actor.call(async move |state| state.handle.northbound(iapp, method, &path, body).await);
        reply.await?.ok_or(Closed)
    }

    /// Calls `change` with the machine on its thread, for example to send a control.
    ///
    /// # Errors
    /// [`Closed`] if the RIC has ended.
    pub async fn with<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Machine, Time) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        self.actor.with(|state| state.handle.with(change)).await
    }

    /// Calls `look` with the machine on its thread, for example to read nodes or counters.
    ///
    /// # Errors
    /// [`Closed`] if the RIC has ended.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Machine) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        self.actor.with(|state| state.handle.read(look)).await
    }

    /// Returns all events from now on.
    pub fn events(&self) -> Events<RicEvent> {
        self.events.listen()
    }

    /// Closes all connections and listeners, and ends the thread.
    pub async fn close(&self) {
        self.actor.close().await;
    }
}
