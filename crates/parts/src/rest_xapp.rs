//! xApps that work over a controller's REST alone, as machines: what one wants next is said without a socket or a clock.
//! [`drive`] has it done over HTTP, [`virtual_time`](crate::virtual_time) in a simulated network.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value as Json;

use crate::rest_client::RestError;
use crate::worker::Trouble;
use crate::{BusEvents, RestUrl};

/// A request for a resource.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    /// As in HTTP.
    pub(crate) method: &'static str,
    /// From the root.
    pub(crate) path: String,
    /// What is put there.
    pub(crate) body: Option<Json>,
}

impl Ask {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), body: None }
    }

    pub(crate) fn put(path: impl Into<String>, body: Json) -> Self {
        Self { method: "PUT", path: path.into(), body: Some(body) }
    }
}

/// What an xApp wants next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Want {
    /// This, and then the answer: one at a time.
    Ask(Ask),
    /// A message of the bus, or to be this old, whichever comes first.
    Wait(Option<Duration>),
    /// Nothing any more.
    Done,
}

/// An xApp. Times are counted from its start.
pub(crate) trait RestXapp {
    /// What it wants now; where that is to wait for a time that has come, it has something else to want.
    fn want(&mut self, age: Duration) -> Want;

    /// The answer to what it asked for; words for people, if there is something to say.
    ///
    /// # Errors
    /// It cannot go on.
    fn answered(&mut self, age: Duration, answer: Result<Json, RestError>)
    -> Result<Option<String>, Trouble>;

    /// Whether it listens to the controller's bus.
    fn listens(&self) -> bool {
        false
    }

    /// A message of the bus, while it waits.
    fn hear(&mut self, _message: &Json) {}
}

/// Messages of a bus, whichever it is.
pub(crate) enum Messages {
    /// Nobody listens.
    None,
    Local(BusEvents),
    #[cfg(feature = "redis")]
    Redis(tokio::sync::mpsc::Receiver<Json>),
}

impl Messages {
    async fn next(&mut self) -> Option<Json> {
        match self {
            Self::None => std::future::pending().await,
            Self::Local(events) => events.next().await,
            #[cfg(feature = "redis")]
            Self::Redis(messages) => messages.recv().await,
        }
    }
}

/// Has an xApp's wishes done over HTTP until it wants no more, or the bus ends.
///
/// # Errors
/// It cannot go on.
pub(crate) async fn drive(
    xapp: &RefCell<impl RestXapp>,
    rest: &RestUrl,
    mut messages: Messages,
) -> Result<(), Trouble> {
    let begin = tokio::time::Instant::now();
    loop {
        let want = xapp.borrow_mut().want(begin.elapsed());
        match want {
            Want::Ask(Ask { method, path, body }) => {
                let answer = rest.ask(method, &path, body.as_ref()).await;
                let said = xapp.borrow_mut().answered(begin.elapsed(), answer)?;
                said.into_iter().for_each(|words| eprintln!("ranlab: {words}"));
            }
            Want::Wait(until) => {
                let late = async {
                    match until {
                        Some(until) => tokio::time::sleep_until(begin + until).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    message = messages.next() => match message {
                        Some(message) => xapp.borrow_mut().hear(&message),
                        None => return Err(crate::sut("the bus has ended")),
                    },
                    () = late => {}
                }
            }
            Want::Done => return Ok(()),
        }
    }
}
