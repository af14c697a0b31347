//! Threads of this process as a system under test: what runs in the tool's own process is metered apart from it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{clock, field, read};

/// A set of threads of this process. A thread enters by [`Self::enter`] and belongs to it until the handle goes.
#[derive(Debug, Clone, Default)]
pub struct ThreadGroup {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    alive: Vec<u32>,
    /// CPU nanoseconds of those that have left.
    left_ns: u64,
    /// CPU nanoseconds that members had used before they entered.
    before_ns: BTreeMap<u32, u64>,
}

/// A thread's membership; it must go in the thread that it stands for.
#[derive(Debug)]
pub struct ThreadHandle {
    group: ThreadGroup,
    thread: u32,
    // Not Send: the CPU clock that is read at the end is that of the thread at hand.
    _here: std::marker::PhantomData<*const ()>,
}

/// Totals of a group since its threads entered.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ThreadTotals {
    pub(crate) cpu_ns: u64,
    pub(crate) threads: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

impl ThreadGroup {
    /// The calling thread is from now on part of the system under test.
    #[must_use = "the thread leaves when the handle goes"]
    pub fn enter(&self) -> ThreadHandle {
        let thread = clock::this_thread();
        let mut state = self.state();
        state.alive.push(thread);
        state.before_ns.insert(thread, clock::of_this_thread().unwrap_or(0));
        ThreadHandle { group: self.clone(), thread, _here: std::marker::PhantomData }
    }

    /// CPU of all members; switches of those alive.
    pub(crate) fn totals(&self) -> ThreadTotals {
        let state = self.state();
        let mut totals = ThreadTotals { cpu_ns: state.left_ns, ..ThreadTotals::default() };
        for &thread in &state.alive {
            let folder = Path::new("/proc/self/task").join(thread.to_string());
            let Some(cpu_ns) = cpu_ns_of(&folder) else { continue };
            let before = state.before_ns.get(&thread).copied().unwrap_or(0);
            totals.cpu_ns += cpu_ns.saturating_sub(before);
            totals.threads += 1;
            let status = read(folder.join("status")).unwrap_or_default();
            totals.voluntary_switches += field(&status, "voluntary_ctxt_switches").unwrap_or(0);
            totals.involuntary_switches += field(&status, "nonvoluntary_ctxt_switches").unwrap_or(0);
        }
        totals
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements; a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ThreadHandle {
    fn drop(&mut self) {
        let now = clock::of_this_thread().unwrap_or(0);
        let mut state = self.group.state();
        let before = state.before_ns.remove(&self.thread).unwrap_or(0);
        state.left_ns += now.saturating_sub(before);
        state.alive.retain(|thread| *thread != self.thread);
    }
}

/// The first number of `schedstat` is the thread's time on a CPU in nanoseconds (sched-stats.rst); kernels without
/// it have ticks in `stat`.
fn cpu_ns_of(folder: &Path) -> Option<u64> {
    if let Ok(text) = read(folder.join("schedstat")) {
        return text.split_whitespace().next()?.parse().ok();
    }
    let text = read(folder.join("stat")).ok()?;
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    let ticks = |manual: usize| fields.get(manual - 3)?.parse::<u64>().ok();
    Some((ticks(14)? + ticks(15)?) * 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn(ns: u64) {
        let start = clock::of_this_thread().unwrap();
        while clock::of_this_thread().unwrap() < start + ns {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn only_members_count_and_what_they_used_stays_when_they_leave() {
        let group = ThreadGroup::default();
        let stranger = std::thread::spawn(|| burn(60_000_000));
        let member = {
            let group = group.clone();
            std::thread::spawn(move || {
                burn(20_000_000);
                let handle = group.enter();
                burn(40_000_000);
                let during = group.totals();
                drop(handle);
                during
            })
        };
        let during = member.join().unwrap();
        stranger.join().unwrap();
        assert_eq!(during.threads, 1);
        let after = group.totals();
        assert_eq!(after.threads, 0);
        // schedstat is brought up to date at ticks, the CPU clock at once.
        assert!((40_000_000..60_000_000).contains(&after.cpu_ns), "{during:?} {after:?}");
    }
}
