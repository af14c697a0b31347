//! Access from HTTP handlers, which run on any thread, to a value that stays on one thread. It consists of a bounded channel
//! of requests and a task on that thread.
use crate::guard::problem;
use axum::http::StatusCode;
use axum::response::Response;
use tokio::sync::{mpsc, oneshot};

/// Maximum number of queued requests; further ones get status 503.
const QUESTIONS_MAX: usize = 64;

type Job<T> = Box<dyn FnOnce(&T) + Send>;

/// Request channel to a `T` that cannot leave its thread.
pub struct ThreadBridge<T>(mpsc::Sender<Job<T>>);

impl<T> Clone for ThreadBridge<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: 'static> ThreadBridge<T> {
    /// Starts a task on this thread, which handles requests until all clones of the returned channel are dropped.
    pub fn open(value: T) -> Self {
        let (ask, mut questions) = mpsc::channel::<Job<T>>(QUESTIONS_MAX);
        tokio::task::spawn_local(async move {
            while let Some(question) = questions.recv().await {
                question(&value);
            }
        });
        Self(ask)
    }

    /// Runs `question` on the thread of `T` and returns its result; returns a response with status 503 if the
    /// queue is full.
    pub async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&T) -> R + Send + 'static,
    ) -> Result<R, Response> {
        self.ask_for(move |value, answer| {
            // The requester may have disconnected.
            let _ = answer.send(question(value));
        })
        .await
    }

    /// Like [`ask`](Self::ask), but `question` gets a channel, to which it may send its result later.
    pub async fn ask_for<R: Send + 'static>(
        &self,
        question: impl FnOnce(&T, oneshot::Sender<R>) + Send + 'static,
    ) -> Result<R, Response> {
        let busy = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once; try again");
        let (asker, answer) = oneshot::channel();
        self.0.try_send(Box::new(|value| question(value, asker))).map_err(|_| busy())?;
        answer.await.map_err(|_| busy())
    }
}
