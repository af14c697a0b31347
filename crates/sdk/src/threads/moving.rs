//! How a link goes from one thread to another: its socket is watched by the runtime that it is made in, so it is made anew there, with
//! all that was read and not yet handed on.
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;

use super::crossing::{Counts, KINDS, count, lock};
use super::placement::{Place, Placement};
use super::pump::Pump;
use crate::transport::Stream;

/// A thread that serves links.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) runtime: Handle,
    pub(super) counts: Arc<Counts>,
}

/// All threads, and which of them serve.
#[derive(Debug)]
pub(super) struct Hall {
    /// The machine's own thread.
    pub(super) here: Bench,
    pub(super) workers: Vec<Bench>,
    pub(super) placement: Arc<Mutex<Placement<KINDS>>>,
    /// How often the number of those that serve has changed.
    pub(super) turns: AtomicU64,
}

impl Hall {
    pub(super) fn bench(&self, place: Place) -> &Bench {
        match place {
            Place::Here => &self.here,
            Place::Worker(worker) => &self.workers[worker],
        }
    }

    pub(super) fn is_alive(&self, worker: usize) -> bool {
        !self.workers[worker].counts.dead.load(Ordering::Relaxed)
    }

    /// So many threads serve from now on. A link moves when it next has something to do.
    pub(super) fn set_active(&self, active: usize) {
        lock(&self.placement).set_active(active);
        self.turns.fetch_add(1, Ordering::Relaxed);
    }
}

/// A link's place among the threads.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) hall: Arc<Hall>,
    pub(super) kind: usize,
    pub(super) place: Arc<Mutex<Option<Place>>>,
    /// Of the hall's turns, the last one that was looked at.
    pub(super) turn: u64,
}

impl Seat {
    /// Where the link is better served, if anywhere; looked at once after each change.
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

    /// The socket, watched by that place's runtime, and that place's counts. `Err(Ok(…))`: it is none that can be moved.
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

    /// Has the link's task go on at that place.
    pub(super) fn spawn(self, place: Place, task: impl FnOnce(Self) -> Pump) {
        let runtime = self.hall.bench(place).runtime.clone();
        runtime.spawn(task(self));
    }
}
