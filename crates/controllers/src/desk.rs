//! What lives on one thread is asked over HTTP from any: handlers ask over a bounded channel, a task beside it answers.
use crate::guard::{Access, problem};
use crate::server::Answer;
use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Questions that may wait; beyond, the answer is 503.
const QUESTIONS_MAX: usize = 64;

type Question<T> = Box<dyn FnOnce(&T) + Send>;

/// Where a `T` that cannot leave its thread is asked.
pub(crate) struct Desk<T>(mpsc::Sender<Question<T>>);

impl<T> Clone for Desk<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: 'static> Desk<T> {
    /// Answers as long as somebody may ask, in a task of this thread.
    pub(crate) fn open(asked: T) -> Self {
        let (ask, mut questions) = mpsc::channel::<Question<T>>(QUESTIONS_MAX);
        tokio::task::spawn_local(async move {
            while let Some(question) = questions.recv().await {
                question(&asked);
            }
        });
        Self(ask)
    }

    /// The answer to `question`, which is asked on the thread of `T`; a response that says 503 if too much is asked.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&T) -> R + Send + 'static,
    ) -> Result<R, Response> {
        self.ask_for(move |asked, answer| {
            // Who asked may have gone; then nobody wants the answer.
            let _ = answer.send(question(asked));
        })
        .await
    }

    /// As [`ask`](Self::ask); the answer may come later.
    pub(crate) async fn ask_for<R: Send + 'static>(
        &self,
        question: impl FnOnce(&T, oneshot::Sender<R>) + Send + 'static,
    ) -> Result<R, Response> {
        let busy = || problem(StatusCode::SERVICE_UNAVAILABLE, "too many questions at once; try again");
        let (asker, answer) = oneshot::channel();
        self.0.try_send(Box::new(|asked| question(asked, asker))).map_err(|_| busy())?;
        answer.await.map_err(|_| busy())
    }
}

/// Serves a router until the runtime ends; the address is the one bound.
pub(crate) async fn serve(router: Router, address: SocketAddr) -> io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    tokio::spawn(async move {
        if let Err(error) =
            axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await
        {
            tracing::error!(%error, "HTTP ended");
        }
    });
    Ok(bound)
}

/// A request over HTTP.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: String,
}

/// Octets of the longest body.
const BODY_MAX: usize = 64 << 10;

/// Serves JSON under the paths that `answer` knows, to requests that `access` accepts.
///
/// # Errors
/// It cannot listen there; or the address is beyond loopback, and there is no token.
pub(crate) async fn answers<T: 'static>(
    desk: Desk<T>,
    address: SocketAddr,
    access: Access,
    answer: impl FnOnce(&T, Request, oneshot::Sender<Answer>) + Copy + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    access.check_address(address)?;
    let access = Arc::new(access);
    let handler = move |State((desk, access)): State<(Desk<T>, Arc<Access>)>,
                        ConnectInfo(peer): ConnectInfo<SocketAddr>,
                        method: Method,
                        uri: Uri,
                        headers: HeaderMap,
                        body: String| async move {
        if let Err(refused) = access.check(peer.ip(), &headers, &uri) {
            return refused;
        }
        if body.len() > BODY_MAX {
            return problem(StatusCode::PAYLOAD_TOO_LARGE, &format!("a body has at most {BODY_MAX} octets"));
        }
        let request = Request { method: method.to_string(), path: uri.path().to_owned(), body };
        match desk.ask_for(move |asked, told| answer(asked, request, told)).await {
            Ok(Answer::Known(value)) => axum::Json(value).into_response(),
            Ok(Answer::Refused(status, why)) => {
                problem(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY), &why)
            }
            Ok(Answer::Unknown | Answer::Later(_)) => problem(
                StatusCode::NOT_FOUND,
                "no such resource; there are /healthz and /v1/counters besides the controller's own",
            ),
            Err(busy) => busy,
        }
    };
    serve(Router::new().fallback(handler).with_state((desk, access)), address).await
}
