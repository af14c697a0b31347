//! The native engine: a declaration specialised by its content, bursts of packets passed from stage to stage, and
//! updates that are applied between two bursts by the worker that owns the tables.
//!
//! Every worker has tables and users of its own: no lock, no shared line. Memory grows with the workers, and all flows
//! of a user must reach the same worker for its rate to be one. In return an update is a message, all of its changes
//! become visible together, and a worker never waits.
mod acl;
mod address;
mod bridge;
mod burst;
mod compile;
mod drops;
mod exact;
mod headers;
mod hot;
mod loops;
mod lpm4;
mod lpm6;
mod parse;
mod plan;
mod prune;
mod stage;
mod template;
mod translate;
mod update;
mod users;

pub use burst::{BURST, Burst, FRAME_MAX, PushError};
pub use compile::CompileError;
pub use drops::Dropped;
pub(crate) use hot::prefetch;
pub use hot::{Isa, Memory};
pub use update::{Control, SendError, UPDATES_MAX};
pub use users::UserUsage;

use crate::declare::{Declaration, DropReason, UserId};
use burst::Bits;
use compile::Compiled;
use drops::Drops;
use hot::Width;
use plan::Placed;
use update::Inbox;

/// What an engine has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets received, by ingress port (access, core).
    pub received: [u64; 2],
    /// Packets sent, by egress port; those of fakedrop included.
    pub sent: [u64; 2],
    /// Packets dropped, by the reason's number.
    pub dropped: [u64; DropReason::COUNT],
    /// Packets that fakedrop sent instead of dropping them.
    pub faked: u64,
    /// Updates applied.
    pub updates: u64,
    /// Changes that named something that is not there or did not fit.
    pub changes_refused: u64,
}

/// One worker of a pipeline.
pub struct Engine {
    compiled: Compiled,
    /// By ingress port.
    paths: [Vec<Placed>; 2],
    fakedrop: bool,
    width: Width,
    inbox: Inbox,
    counters: Counters,
    drops: Drops,
    memory: Memory,
}

impl Engine {
    /// Compiles a declaration for `workers` workers; the control tells them all of changes.
    pub fn start(
        declaration: &Declaration,
        workers: usize,
        isa: Isa,
    ) -> Result<(Vec<Self>, Control), CompileError> {
        let (control, inboxes) = update::channels(workers);
        let width = Width::of(isa);
        let engines = inboxes.into_iter().map(|inbox| {
            let compiled = Compiled::new(declaration)?;
            let paths = [compiled.path(&declaration.uplink)?, compiled.path(&declaration.downlink)?];
            let (fakedrop, memory) = (declaration.fakedrop, compiled.settle());
            let (counters, drops) = (Counters::default(), Drops::new(declaration));
            Ok(Self { compiled, paths, fakedrop, width, inbox, counters, drops, memory })
        });
        Ok((engines.collect::<Result<_, _>>()?, control))
    }

    /// Applies pending updates, then decides every packet of the burst. Time must not run backwards; if it does, meters
    /// earn nothing until it has caught up.
    pub fn process(&mut self, now_ns: u64, burst: &mut Burst) {
        self.poll();
        self.run(now_ns, burst);
    }

    /// Applies pending updates, as many as one burst has patience for; says how many.
    pub fn poll(&mut self) -> usize {
        let Self { compiled, inbox, counters, .. } = self;
        inbox.poll(|changes| {
            counters.updates += 1;
            for change in changes {
                counters.changes_refused += u64::from(!compiled.apply(change));
            }
        })
    }

    /// What was done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Where packets were dropped, and why: as many as [`Counters::dropped`] has in all.
    #[must_use]
    pub fn drops(&self) -> Vec<Dropped> {
        self.drops.all()
    }

    /// What a user has used.
    #[must_use]
    pub fn usage(&self, user: UserId) -> Option<UserUsage> {
        self.compiled.users.get(user.index()).map(users::UserLine::usage)
    }

    /// How much of the tables' memory is on huge pages.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Hash tables that classification of IPv4 searches at most, for each ACL.
    #[must_use]
    pub fn acl_tables(&self) -> Vec<usize> {
        self.compiled.acls.iter().map(|(ipv4, _)| ipv4.tables()).collect()
    }

    fn run(&mut self, now_ns: u64, burst: &mut Burst) {
        burst.sent = [0; 2];
        for ingress in 0..2 {
            let received = burst.ingress[ingress];
            self.counters.received[ingress] += u64::from(received.count_ones());
            let (mut live, mut at) = (received, 0);
            while let Some(placed) = self.paths[ingress].get(at).filter(|_| live != 0) {
                let before = live;
                live = stage::run(*placed, &mut self.compiled, burst, live, (ingress, now_ns), self.width);
                let gone = before & !(live | burst.sent[0] | burst.sent[1]);
                if gone != 0 {
                    self.dropped(burst, ingress, at, gone);
                }
                at += 1;
            }
            if live != 0 {
                Bits(live).for_each(|i| burst.fail(i, DropReason::PathEnd));
                self.dropped(burst, ingress, at, live);
            }
        }
        for port in 0..2 {
            self.counters.sent[port] += u64::from(burst.sent[port].count_ones());
        }
    }

    /// Counts what a stage refused, or what came out of the last one; fakedrop sends the one or the other all the same.
    #[cold]
    #[inline(never)]
    fn dropped(&mut self, burst: &mut Burst, ingress: usize, at: usize, gone: u64) {
        let path = &self.paths[ingress];
        let first: usize = path[..at].iter().map(|placed| placed.stage.elements()).sum();
        for i in Bits(gone) {
            let reason = burst.dropped[i];
            if self.fakedrop && reason.is_unmatched() {
                burst.sent[1 - ingress] |= 1 << i;
                self.counters.faked += 1;
                continue;
            }
            self.counters.dropped[reason as usize] += 1;
            let within = path
                .get(at)
                .map_or(0, |placed| drops::element(placed.stage, reason, &burst.slots[i], &burst.meta[i]));
            self.drops.count(ingress, first + within, reason);
        }
    }
}
