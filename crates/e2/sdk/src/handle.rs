//! Common part of the handles of an agent and of a RIC.
use crate::events::{EventHub, EventStream};
use crate::transport::driver::{Driver, Machine};
use futures_core::Stream;
use ranlab_e2::Time;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A running machine. It ends when all its handles are dropped.
///
/// Runs on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
pub struct Handle<M: Machine, Own = ()>(Rc<Shared<M, Own>>);

struct Shared<M: Machine, Own> {
    driver: Driver<M>,
    events: Rc<EventHub<M::Event>>,
    own: Own,
}

impl<M: Machine, Own> Clone for Handle<M, Own> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<M: Machine<Event: Clone>, Own> Handle<M, Own> {
    pub(crate) fn new(driver: Driver<M>, events: Rc<EventHub<M::Event>>, own: Own) -> Self {
        Self(Rc::new(Shared { driver, events, own }))
    }

    pub(crate) fn driver(&self) -> &Driver<M> {
        &self.0.driver
    }

    pub(crate) fn own(&self) -> &Own {
        &self.0.own
    }

    /// Calls `change` with the machine, then processes its outputs.
    pub fn with<T>(&self, change: impl FnOnce(&mut M, Time) -> T) -> T {
        self.0.driver.with(change)
    }

    /// Calls `look` with the machine, for example to read counters.
    pub fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        self.0.driver.read(look)
    }

    /// Waits for the next event. Cancel-safe. Keeps the latest 1,024 unread events (16,384 for a RIC); older ones are
    /// dropped. All callers of this method share one queue; use [`events`](Self::events) for another listener.
    pub async fn next(&self) -> M::Event {
        self.0.events.next().await
    }

    /// Returns all events from now on, for another listener.
    pub fn events(&self) -> EventStream<M::Event> {
        self.0.events.listen()
    }

    /// Returns the number of events that [`next`](Self::next) has lost because they were not read in time.
    pub fn lagged(&self) -> u64 {
        self.0.events.own.lagged()
    }
}

/// Stream of the events that [`Handle::next`] returns; it does not end.
impl<M: Machine<Event: Clone>, Own> Stream for Handle<M, Own> {
    type Item = M::Event;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<M::Event>> {
        self.0.events.own.poll(cx)
    }
}
