//! The thread that takes what comes on every association of the process, and newcomers.

use std::collections::HashMap;
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ranlab_net::shim::{Association, HEAD_BYTES, Listener, MESSAGE_BYTES_MAX};

use crate::endpoint::Endpoint;

/// Events of one wake-up.
const EVENTS: usize = 64;

/// What is waited for.
#[derive(Clone)]
pub(crate) enum Target {
    /// Newcomers.
    Arrivals(Arc<Endpoint>, Arc<Listener>),
    /// Messages, or the end.
    Messages(Arc<Endpoint>, Arc<Association>),
    /// That the program has read.
    Room(Arc<Endpoint>),
}

/// The process's one.
pub(crate) struct Carrier {
    epoll: OwnedFd,
    targets: Mutex<HashMap<u64, Target>>,
    next: AtomicU64,
}

static CARRIER: OnceLock<Result<Carrier, i32>> = OnceLock::new();

/// The carrier, started with the first socket.
pub(crate) fn carrier() -> io::Result<&'static Carrier> {
    let started =
        CARRIER.get_or_init(|| start().map_err(|error| error.raw_os_error().unwrap_or(libc::EAGAIN)));
    started.as_ref().map_err(|code| io::Error::from_raw_os_error(*code))
}

fn start() -> io::Result<Carrier> {
    // SAFETY: epoll_create1(2) takes flags only; the descriptor is ours alone.
    let epoll = unsafe {
        match libc::epoll_create1(libc::EPOLL_CLOEXEC) {
            -1 => return Err(io::Error::last_os_error()),
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    // The program's signals are for its own threads.
    // SAFETY: a set of signals is plain octets; all zeros is one.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both sets are valid for the calls, which write only to them.
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
    // SAFETY: the set is what the call above gave.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
    spawned?;
    Ok(Carrier { epoll, targets: Mutex::default(), next: AtomicU64::new(1) })
}

impl Carrier {
    /// Waits for a target from now on; the number names it.
    pub(crate) fn watch(&self, target: Target) -> io::Result<u64> {
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        let (fd, events) = target.descriptor();
        self.targets.lock().unwrap_or_else(PoisonError::into_inner).insert(token, target);
        let done = self.control(libc::EPOLL_CTL_ADD, fd, events, token);
        done.inspect_err(|_| self.forget(token))?;
        Ok(token)
    }

    /// No longer.
    pub(crate) fn forget(&self, token: u64) {
        let target = self.targets.lock().unwrap_or_else(PoisonError::into_inner).remove(&token);
        if let Some(target) = target {
            // It may not have been added.
            let _ = self.control(libc::EPOLL_CTL_DEL, target.descriptor().0, 0, token);
        }
    }

    /// What comes on an association is another endpoint's from now on.
    pub(crate) fn give(&self, token: u64, to: &Arc<Endpoint>) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Target::Messages(endpoint, _)) = targets.get_mut(&token) {
            *endpoint = Arc::clone(to);
        }
    }

    /// Leaves an association alone for a while, or takes it up again.
    pub(crate) fn pause(&self, token: u64, paused: bool) {
        let target = self.targets.lock().unwrap_or_else(PoisonError::into_inner).get(&token).cloned();
        if let Some(target) = target {
            let (fd, events) = target.descriptor();
            // A descriptor that is open and was added can be changed.
            let _ = self.control(libc::EPOLL_CTL_MOD, fd, if paused { 0 } else { events }, token);
        }
    }

    fn control(&self, what: c_int, fd: c_int, events: u32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: both descriptors are open: the epoll's as long as `self`, the other as its target holds it; `event`
        // outlives the call.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn run(&self) {
        let mut buffer = vec![0; HEAD_BYTES + MESSAGE_BYTES_MAX];
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        loop {
            // SAFETY: the kernel writes at most `EVENTS` events to the array, which is exclusively ours.
            let ready =
                unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS as c_int, -1) };
            // Interrupted: again.
            for event in &events[..usize::try_from(ready).unwrap_or(0)] {
                let token = event.u64;
                let target = self.targets.lock().unwrap_or_else(PoisonError::into_inner).get(&token).cloned();
                match target {
                    Some(Target::Arrivals(endpoint, listener)) => endpoint.arrivals(&listener),
                    Some(Target::Messages(endpoint, association)) => {
                        endpoint.message(token, &association, &mut buffer);
                    }
                    Some(Target::Room(endpoint)) => endpoint.room(),
                    None => {}
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
