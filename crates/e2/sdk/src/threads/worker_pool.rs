//! Moves of links from one thread to another. A socket is registered with the runtime in which it is created. To
//! move, it is created again in the other runtime, with all data that was read but not processed yet.
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;

use super::link_task::LinkTask;
use super::placement::{Place, Placement};
use super::remote_link::{Counts, KINDS, count, lock};
use crate::transport::Stream;

/// A thread that serves links.
#[derive(Debug, Clone)]
pub(super) struct WorkerThread {
    pub(super) runtime: Handle,
    pub(super) counts: Arc<Counts>,
}

/// All threads, and the number of active ones.
#[derive(Debug)]
pub(super) struct WorkerPool {
    /// The machine's thread.
    pub(super) here: WorkerThread,
    pub(super) workers: Vec<WorkerThread>,
    pub(super) placement: Arc<Mutex<Placement<KINDS>>>,
    /// Number of times that the set of active threads has changed.
    pub(super) turns: AtomicU64,
}

impl WorkerPool {
    pub(super) fn bench(&self, place: Place) -> &WorkerThread {
        match place {
            Place::Here => &self.here,
            Place::Worker(worker) => &self.workers[worker],
        }
    }

    pub(super) fn is_alive(&self, worker: usize) -> bool {
        !self.workers[worker].counts.dead.load(Ordering::Relaxed)
    }

    /// Sets the number of active threads. A link moves the next time that its task runs.
    pub(super) fn set_active(&self, active: usize) {
        lock(&self.placement).set_active(active);
        self.turns.fetch_add(1, Ordering::Relaxed);
    }
}

/// Slot of a link: its place among the threads.
#[derive(Debug)]
pub(super) struct LinkSlot {
    pub(super) hall: Arc<WorkerPool>,
    pub(super) kind: usize,
    pub(super) place: Arc<Mutex<Option<Place>>>,
    /// Value of [`WorkerPool::turns`] at the last check for a better place.
    pub(super) turn: u64,
}

impl LinkSlot {
    /// Returns a better place for the link. The check runs once after each change of the active threads.
    pub(super) fn better(&mut self) -> Option<Place> {
        let turn = self.hall.turns.load(Ordering::Relaxed);
        if turn == self.turn {
            return None;
        }
        self.turn = turn;
        let placement = lock(&self.hall.placement);
        let place = (*lock(&self.place))?;
        placement.better(self.kind, place, |worker| self.hall.is_alive(worker))
    }

    /// Registers the socket with the runtime of another place. Returns the new socket and the counters of that place. A
    /// stream that cannot be moved is returned as `Err(Ok(stream))`.
    pub(super) fn carry(
        &self,
        stream: Stream,
        place: Place,
    ) -> Result<(Stream, Arc<Counts>), Result<Stream, io::Error>> {
        let bench = self.hall.bench(place);
        let entered = bench.runtime.enter();
        let moved = match stream {
            Stream::Tcp(stream) => stream.into_std().and_then(TcpStream::from_std).map(Stream::Tcp),
            Stream::Unix(stream) => stream.into_std().and_then(UnixStream::from_std).map(Stream::Unix),
            other => return Err(Ok(other)),
        };
        drop(entered);
        let stream = moved.map_err(Err)?;
        let mut placement = lock(&self.hall.placement);
        let mut counted = lock(&self.place);
        if let Some(before) = counted.take() {
            placement.remove(self.kind, before);
            placement.add(self.kind, place);
            *counted = Some(place);
        }
        count(&bench.counts.moves, 1);
        Ok((stream, bench.counts.clone()))
    }

    /// Continues the task of the link at a place.
    pub(super) fn spawn(self, place: Place, task: impl FnOnce(Self) -> LinkTask) {
        let runtime = self.hall.bench(place).runtime.clone();
        runtime.spawn(task(self));
    }
}
