//! An object on a thread with a single-threaded runtime. Other threads use the object by sending commands.
use ranlab_machine::lock;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::spawn_local;

/// Maximum number of commands in the channel of an [`Actor`]. Further callers wait.
pub const COMMANDS_MAX: usize = 64;
/// Maximum number of requests of an [`Actor`] that await their result. Further callers wait.
pub const REQUESTS_MAX: usize = 1_024;

type Command<S> = Box<dyn FnOnce(&Rc<S>) + Send>;

/// The object was closed, or its thread has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the handle's object was closed")]
pub struct Closed;

/// Reason why an [`Actor`] could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError<E> {
    /// The operating system provides no further thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The object could not be created.
    #[error(transparent)]
    Failed(E),
    /// The thread ended while the object was created.
    #[error("the thread ended while it started")]
    Ended,
}

/// An object that is not `Send`, on its own thread with a single-threaded runtime. The handle is `Send` and `Clone`.
///
/// Commands cross a channel of [`COMMANDS_MAX`]; at most [`REQUESTS_MAX`] requests await their result. The thread ends
/// when the last handle is dropped, or by [`close`](Self::close).
pub struct Actor<S: 'static>(Arc<Shared<S>>);

struct Shared<S: 'static> {
    commands: mpsc::Sender<Command<S>>,
    /// Channel of functions that release a resource. It may be unbounded, because each release follows a request that
    /// created the resource, and requests are limited.
    releases: mpsc::UnboundedSender<Command<S>>,
    requests: Arc<Semaphore>,
    stop: watch::Sender<bool>,
    ended: watch::Receiver<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<S> Clone for Actor<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Receivers of an actor's channels, on the thread of the actor.
struct Inbox<S: 'static> {
    commands: mpsc::Receiver<Command<S>>,
    releases: mpsc::UnboundedReceiver<Command<S>>,
    stop: watch::Receiver<bool>,
}

impl<S> Inbox<S> {
    /// Runs commands until the handle is closed, or until all handles are dropped.
    async fn serve(&mut self, object: &Rc<S>) {
        loop {
            tokio::select! {
                biased;
                _ = self.stop.wait_for(|stop| *stop) => return,
                Some(release) = self.releases.recv() => release(object),
                command = self.commands.recv() => match command {
                    Some(command) => command(object),
                    None => return,
                },
            }
        }
    }
}

impl<S: 'static> Actor<S> {
    /// Starts a thread with this name and creates the object on it with `make`. `end` runs on the thread before it
    /// ends, for example to deregister from a peer. If the call is dropped, the thread ends.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be created, or if `make` fails.
    pub async fn start<F, E>(
        name: &str,
        make: impl FnOnce() -> F + Send + 'static,
        end: impl AsyncFnOnce(Rc<S>) + Send + 'static,
    ) -> Result<Self, StartError<E>>
    where
        F: Future<Output = Result<S, E>> + 'static,
        E: Send + 'static,
    {
        let (commands, commands_inbox) = mpsc::channel(COMMANDS_MAX);
        let (releases, releases_inbox) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let (alive, ended) = watch::channel(());
        let (report, made) = oneshot::channel();
        let inbox = Inbox { commands: commands_inbox, releases: releases_inbox, stop: stopped };
        let main = move || {
            crate::run(live(inbox, make, end, report));
            drop(alive);
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(main);
        let thread = Mutex::new(Some(thread.map_err(StartError::Thread)?));
        let requests = Arc::new(Semaphore::new(REQUESTS_MAX));
        let actor = Self(Arc::new(Shared { commands, releases, requests, stop, ended, thread }));
        made.await.map_err(|_| StartError::Ended)?.map_err(StartError::Failed)?;
        Ok(actor)
    }

    /// Runs an asynchronous function on the thread and returns its result. If the call is dropped, the function is
    /// dropped at its next `await`.
    ///
    /// # Errors
    /// [`Closed`] if the thread has ended, or ends before the result.
    pub async fn call<T: Send + 'static>(
        &self,
        act: impl AsyncFnOnce(Rc<S>) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        let permit = Arc::clone(&self.0.requests).acquire_owned().await.map_err(|_| Closed)?;
        let (mut report, result) = oneshot::channel();
        self.send(Box::new(|object| {
            if report.is_closed() {
                return;
            }
            let object = Rc::clone(object);
            spawn_local(async move {
                let _permit = permit;
                tokio::select! {
                    biased;
                    // If the caller has dropped the call, the function is cancelled.
                    () = report.closed() => {}
                    value = act(object) => drop(report.send(value)),
                }
            });
        }))
        .await?;
        result.await.map_err(|_| Closed)
    }

    /// Runs a function on the thread and returns its result. If the call is dropped before the function has started,
    /// it does not run.
    ///
    /// # Errors
    /// [`Closed`] if the thread has ended.
    pub async fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Rc<S>) -> T + Send + 'static,
    ) -> Result<T, Closed> {
        let (report, result) = oneshot::channel();
        self.send(Box::new(|object| {
            if !report.is_closed() {
                let _ = report.send(act(object));
            }
        }))
        .await?;
        result.await.map_err(|_| Closed)
    }

    async fn send(&self, command: Command<S>) -> Result<(), Closed> {
        self.0.commands.send(command).await.map_err(|_| Closed)
    }

    /// Runs a function on the thread without waiting, to release a resource that a request has created. The function is
    /// not lost if the command channel is full.
    pub(crate) fn release(&self, act: impl FnOnce(&Rc<S>) + Send + 'static) {
        // If the thread has ended, everything has been released, so the error is ignored.
        let _ = self.0.releases.send(Box::new(act));
    }

    /// Ends the thread and waits until it has ended. Pending requests of other handles return [`Closed`].
    pub async fn close(&self) {
        self.0.stop.send_replace(true);
        let mut ended = self.0.ended.clone();
        // The value never changes. An error means that the thread has ended and dropped its sender.
        let _ = ended.changed().await;
        let thread = lock(&self.0.thread).take();
        // The thread has finished its work, so the join does not block. The panic hook has already reported a panic.
        let _ = thread.map(JoinHandle::join);
    }

    /// Returns whether the thread has ended or is about to.
    pub fn is_closed(&self) -> bool {
        self.0.commands.is_closed()
    }
}

/// Main function of the thread: creates the object, serves commands, and ends.
async fn live<S: 'static, F, E>(
    mut inbox: Inbox<S>,
    make: impl FnOnce() -> F,
    end: impl AsyncFnOnce(Rc<S>),
    report: oneshot::Sender<Result<(), E>>,
) where
    F: Future<Output = Result<S, E>>,
{
    let made = tokio::select! {
        made = make() => made,
        // If the caller has dropped the call, the thread ends.
        _ = inbox.commands.recv() => return,
    };
    let object = match made {
        Ok(object) => Rc::new(object),
        Err(error) => return drop(report.send(Err(error))),
    };
    if report.send(Ok(())).is_ok() {
        inbox.serve(&object).await;
    }
    inbox.commands.close();
    end(object).await;
}
