//! What the handles of an agent and of a RIC have in common.
use crate::driver::{Driver, Machine};
use crate::events::{EventStream, Hub};
use futures_core::Stream;
use ranlab_e2::Time;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A running machine. Dropping every handle of it ends it.
///
/// Lives on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
pub struct Handle<M: Machine, Own = ()>(Rc<Shared<M, Own>>);

struct Shared<M: Machine, Own> {
    driver: Driver<M>,
    events: Rc<Hub<M::Event>>,
    own: Own,
}

impl<M: Machine, Own> Clone for Handle<M, Own> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<M: Machine<Event: Clone>, Own> Handle<M, Own> {
    pub(crate) fn new(driver: Driver<M>, events: Rc<Hub<M::Event>>, own: Own) -> Self {
        Self(Rc::new(Shared { driver, events, own }))
    }

    pub(crate) fn driver(&self) -> &Driver<M> {
        &self.0.driver
    }

    pub(crate) fn own(&self) -> &Own {
        &self.0.own
    }

    /// Acts on the machine, and does what follows from it.
    pub fn with<T>(&self, change: impl FnOnce(&mut M, Time) -> T) -> T {
        self.0.driver.with(change)
    }

    /// Looks at the machine: counters, and whom it knows.
    pub fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        self.0.driver.read(look)
    }

    /// The next event. Cancel-safe. Nobody is obliged to listen: of what nobody takes the latest 1,024 stay, of
    /// a RIC 16,384. Whoever calls
    /// this takes from the same queue; further listeners have [`events`](Self::events).
    pub async fn next(&self) -> M::Event {
        self.0.events.next().await
    }

    /// All events from now on, for one more listener.
    pub fn events(&self) -> EventStream<M::Event> {
        self.0.events.listen()
    }

    /// Events that [`next`](Self::next) has missed because nobody took them.
    pub fn lagged(&self) -> u64 {
        self.0.events.own.lagged()
    }
}

/// As [`Handle::next`]; it does not end.
impl<M: Machine<Event: Clone>, Own> Stream for Handle<M, Own> {
    type Item = M::Event;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<M::Event>> {
        self.0.events.own.poll(cx)
    }
}
