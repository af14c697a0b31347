//! The carrier: the thread that receives data of all associations of the process, and accepts new associations.

use std::collections::HashMap;
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ranlab_net::shim::{Association, HEAD_BYTES, Listener, MESSAGE_BYTES_MAX};

use crate::endpoint::Endpoint;

/// Maximum number of events per wake-up.
const EVENTS: usize = 64;

/// Object whose readiness the carrier watches.
#[derive(Clone)]
pub(crate) enum Target {
    /// A listener, watched for new connections.
    Arrivals(Arc<Endpoint>, Arc<Listener>),
    /// An association, watched for messages and for its end.
    Messages(Arc<Endpoint>, Arc<Association>),
    /// The carrier's end of an endpoint's socket pair, watched for free space, which appears when the program reads.
    Room(Arc<Endpoint>),
}

/// A watched target and its events.
#[derive(Clone)]
struct Watched {
    target: Target,
    /// Whether reading is paused until the program has read its queued data.
    paused: bool,
    /// Whether the program waits for free space.
    room: bool,
}

impl Watched {
    fn events(&self) -> u32 {
        let (_, own) = self.target.descriptor();
        let read = if self.paused { 0 } else { own };
        read | if self.room { libc::EPOLLOUT as u32 } else { 0 }
    }
}

/// The carrier of the process, and the targets that it watches.
pub(crate) struct Carrier {
    epoll: OwnedFd,
    targets: Mutex<HashMap<u64, Watched>>,
    next: AtomicU64,
}

static CARRIER: OnceLock<Result<Carrier, i32>> = OnceLock::new();

/// Returns the carrier. The first call starts it.
pub(crate) fn carrier() -> io::Result<&'static Carrier> {
    let started =
        CARRIER.get_or_init(|| start().map_err(|error| error.raw_os_error().unwrap_or(libc::EAGAIN)));
    started.as_ref().map_err(|code| io::Error::from_raw_os_error(*code))
}

fn start() -> io::Result<Carrier> {
    // SAFETY: epoll_create1(2) takes flags only; the descriptor is not shared.
    let epoll = unsafe {
        match libc::epoll_create1(libc::EPOLL_CLOEXEC) {
            -1 => return Err(io::Error::last_os_error()),
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    // Blocks all signals in this thread, because they are meant for the program's threads. SAFETY: a signal set is
    // plain data, and all zeros is valid.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both sets are valid for the duration of the calls, which keep no reference to them.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let spawned = std::thread::Builder::new().name("ranlab-sctp".to_owned()).spawn(|| {
        if let Ok(carrier) = CARRIER.wait() {
            carrier.run();
        }
    });
    // SAFETY: the set was returned by the call above.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
    spawned?;
    Ok(Carrier { epoll, targets: Mutex::default(), next: AtomicU64::new(1) })
}

impl Carrier {
    /// Watches a target. Returns a token that identifies it.
    pub(crate) fn watch(&self, target: Target) -> io::Result<u64> {
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        let (fd, events) = target.descriptor();
        self.targets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(token, Watched { target, paused: false, room: false });
        let done = self.control(libc::EPOLL_CTL_ADD, fd, events, token);
        done.inspect_err(|_| self.forget(token))?;
        Ok(token)
    }

    /// Stops watching a target.
    pub(crate) fn forget(&self, token: u64) {
        let watched = self.targets.lock().unwrap_or_else(PoisonError::into_inner).remove(&token);
        if let Some(watched) = watched {
            // The target may not have been added to epoll.
            let _ = self.control(libc::EPOLL_CTL_DEL, watched.target.descriptor().0, 0, token);
        }
    }

    /// Assigns an association to another endpoint.
    pub(crate) fn give(&self, token: u64, to: &Arc<Endpoint>) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Watched { target: Target::Messages(endpoint, _), .. }) = targets.get_mut(&token) {
            *endpoint = Arc::clone(to);
        }
    }

    /// Pauses or resumes reading from an association.
    pub(crate) fn pause(&self, token: u64, paused: bool) {
        self.change(token, |watched| watched.paused = paused);
    }

    /// Starts or stops waiting for free space in an association.
    pub(crate) fn await_room(&self, token: u64, room: bool) {
        self.change(token, |watched| watched.room = room);
    }

    fn change(&self, token: u64, change: impl FnOnce(&mut Watched)) {
        // The lock is held during the call, so that two changes reach the kernel in order.
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = targets.get_mut(&token) {
            change(watched);
            let (fd, _) = watched.target.descriptor();
            // This cannot fail, because the descriptor is open and was added.
            let _ = self.control(libc::EPOLL_CTL_MOD, fd, watched.events(), token);
        }
    }

    fn control(&self, what: c_int, fd: c_int, events: u32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: both descriptors are open. The epoll instance is open as long as `self`, and the other descriptor as
        // long as its target. `event` outlives the call.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn run(&self) {
        let mut buffer = vec![0; HEAD_BYTES + MESSAGE_BYTES_MAX];
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        loop {
            // SAFETY: the kernel writes at most `EVENTS` events to the array, which is not shared.
            let ready =
                unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS as c_int, -1) };
            // After an error, such as an interrupt by a signal, there are no events.
            for event in &events[..usize::try_from(ready).unwrap_or(0)] {
                let token = event.u64;
                let watched =
                    self.targets.lock().unwrap_or_else(PoisonError::into_inner).get(&token).cloned();
                let Some(watched) = watched else { continue };
                match watched.target {
                    Target::Arrivals(endpoint, listener) => endpoint.arrivals(&listener),
                    Target::Messages(endpoint, association) => {
                        let only_room = event.events & !(libc::EPOLLOUT as u32) == 0;
                        if watched.room && event.events & libc::EPOLLOUT as u32 != 0 {
                            endpoint.on_writable(token);
                        }
                        if !only_room {
                            endpoint.message(token, &association, &mut buffer);
                        }
                    }
                    Target::Room(endpoint) => endpoint.room(),
                }
            }
        }
    }
}

impl Target {
    fn descriptor(&self) -> (c_int, u32) {
        match self {
            Self::Arrivals(_, listener) => (listener.as_fd().as_raw_fd(), libc::EPOLLIN as u32),
            Self::Messages(_, association) => (association.as_fd().as_raw_fd(), libc::EPOLLIN as u32),
            Self::Room(endpoint) => (endpoint.far.as_fd().as_raw_fd(), libc::EPOLLOUT as u32),
        }
    }
}
