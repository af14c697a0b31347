//! The native engine: a declaration specialised by its content. Bursts of packets pass from stage to stage. The worker
//! that owns the tables applies updates between two bursts.
//!
//! Every worker has its own tables and users, without locks or shared cache lines. As a consequence, memory grows with
//! the number of workers. All flows of a user must also reach the same worker, so that the user has a single rate
//! limit. In return, an update is a message, all of its changes become visible together, and a worker never waits.
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
use hot::IsaToken;
use plan::PathStage;
use update::UpdateQueue;

/// Counters of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets received, by ingress port (access, core).
    pub received: [u64; 2],
    /// Packets sent, by egress port, including packets sent by fakedrop.
    pub sent: [u64; 2],
    /// Packets dropped, by the number of the reason.
    pub dropped: [u64; DropReason::COUNT],
    /// Packets that fakedrop sent instead of dropping them.
    pub faked: u64,
    /// Updates applied.
    pub updates: u64,
    /// Changes that referred to a missing entry or did not fit.
    pub changes_refused: u64,
}

/// A worker of a pipeline.
pub struct Engine {
    compiled: Compiled,
    /// Stages of the path of each ingress port.
    paths: [Vec<PathStage>; 2],
    fakedrop: bool,
    width: IsaToken,
    inbox: UpdateQueue,
    counters: Counters,
    drops: Drops,
    memory: Memory,
}

impl Engine {
    /// Compiles a declaration for `workers` workers. The control sends changes to all of them.
    pub fn start(
        declaration: &Declaration,
        workers: usize,
        isa: Isa,
    ) -> Result<(Vec<Self>, Control), CompileError> {
        let (control, inboxes) = update::channels(workers);
        let width = IsaToken::for_isa(isa);
        let engines = inboxes.into_iter().map(|inbox| {
            let compiled = Compiled::new(declaration)?;
            let paths = [compiled.path(&declaration.uplink)?, compiled.path(&declaration.downlink)?];
            let fakedrop = declaration.fakedrop;
            let memory = compiled.request_huge_pages();
            let counters = Counters::default();
            let drops = Drops::new(declaration);
            Ok(Self { compiled, paths, fakedrop, width, inbox, counters, drops, memory })
        });
        Ok((engines.collect::<Result<_, _>>()?, control))
    }

    /// Applies pending updates, then processes every packet of the burst. If `now_ns` is lower than before, meters get
    /// no tokens until the time exceeds its previous maximum.
    pub fn process(&mut self, now_ns: u64, burst: &mut Burst) {
        self.poll();
        self.run(now_ns, burst);
    }

    /// Applies pending updates, limited to the number per burst. Returns their number.
    pub fn poll(&mut self) -> usize {
        let Self { compiled, inbox, counters, .. } = self;
        inbox.poll(|changes| {
            counters.updates += 1;
            for change in changes {
                counters.changes_refused += u64::from(!compiled.apply(change));
            }
        })
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the drops by element and reason. Their sum equals [`Counters::dropped`].
    #[must_use]
    pub fn drops(&self) -> Vec<Dropped> {
        self.drops.all()
    }

    /// Returns the usage of a user.
    #[must_use]
    pub fn usage(&self, user: UserId) -> Option<UserUsage> {
        self.compiled.users.get(user.index()).map(users::UserLine::usage)
    }

    /// Returns the tables' memory size, and how much of it is on huge pages.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Returns the maximum number of hash tables that IPv4 classification searches, for each ACL.
    #[must_use]
    pub fn acl_tables(&self) -> Vec<usize> {
        self.compiled.acls.iter().map(|(ipv4, _)| ipv4.tables()).collect()
    }

    fn run(&mut self, now_ns: u64, burst: &mut Burst) {
        burst.sent = [0; 2];
        for ingress in 0..2 {
            let received = burst.ingress[ingress];
            self.counters.received[ingress] += u64::from(received.count_ones());
            let mut live = received;
            let mut at = 0;
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

    /// Counts packets that a stage dropped, or that remain after the last stage. With `fakedrop`, unmatched packets are
    /// sent instead.
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
