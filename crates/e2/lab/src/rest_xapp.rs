//! xApps that use only a controller's REST API, as state machines without sockets or clocks. [`drive`] runs them over
//! HTTP, and [`virtual_time`](crate::virtual_time) in a simulated network.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value as Json;

use crate::rest_client::RestError;
use crate::{BusEvents, RestUrl};
use ranlab_lab::worker::ComponentError;

/// A request for a REST resource.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    /// HTTP method.
    pub(crate) method: &'static str,
    /// Absolute path.
    pub(crate) path: String,
    /// Request body.
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

/// The next action of an xApp.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Want {
    /// Send this request and wait for its response. At most one request is pending.
    Ask(Ask),
    /// Wait for a bus message or for this age, whichever comes first.
    Wait(Option<Duration>),
    /// The xApp has finished.
    Done,
}

/// State machine of an xApp over REST. Times are relative to the start of the xApp.
pub(crate) trait RestXapp {
    /// Returns the next action. When a wait has expired, it returns another action.
    fn want(&mut self, age: Duration) -> Want;

    /// Handles the response to the pending request. Returns a message for the user, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the xApp cannot continue.
    fn answered(
        &mut self,
        age: Duration,
        answer: Result<Json, RestError>,
    ) -> Result<Option<String>, ComponentError>;

    /// Returns whether the xApp needs the controller's bus.
    fn listens(&self) -> bool {
        false
    }

    /// Handles a bus message that arrived while the xApp waits.
    fn on_bus_message(&mut self, _message: &Json) {}
}

/// Connection to the bus from which an xApp receives messages.
pub(crate) enum Messages {
    /// No bus is used.
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

/// Runs an xApp over HTTP until it has finished or the bus closes.
///
/// # Errors
///
/// Returns an error if the xApp cannot continue.
pub(crate) async fn drive(
    xapp: &RefCell<impl RestXapp>,
    rest: &RestUrl,
    mut messages: Messages,
) -> Result<(), ComponentError> {
    let begin = tokio::time::Instant::now();
    loop {
        let want = xapp.borrow_mut().want(begin.elapsed());
        match want {
            Want::Ask(Ask { method, path, body }) => {
                let answer = rest.ask(method, &path, body.as_ref()).await;
                let message = xapp.borrow_mut().answered(begin.elapsed(), answer)?;
                message.into_iter().for_each(|words| eprintln!("ranlab: {words}"));
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
                        Some(message) => xapp.borrow_mut().on_bus_message(&message),
                        None => return Err(ranlab_lab::sut("the controller's bus has closed")),
                    },
                    () = late => {}
                }
            }
            Want::Done => return Ok(()),
        }
    }
}
