//! State machine that starts, stops, kills and restarts hosted xApps. Inputs are orders, process events and
//! the time; outputs are [`Action`]s.
use ranlab_e2::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// Exits after which an xApp is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RestartPolicy {
    /// After every exit that was not ordered.
    Always,
    /// After every failure: a non-zero exit code or a signal.
    Failure,
    /// Never.
    Never,
}

/// Restart policy of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Exits that lead to a restart.
    pub when: RestartPolicy,
    /// Delay before the first restart; doubles with each restart.
    pub first: Duration,
    /// Maximum delay before a restart.
    pub longest: Duration,
    /// Number of exits within `within` after which the xApp is given up.
    pub times: u32,
    /// Period over which exits are counted; a run of this length resets the count and the delay.
    pub within: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
}

/// Configuration of a supervised xApp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XappSpec {
    /// Name.
    pub name: String,
    /// Restart policy.
    pub restart: Restart,
    /// Whether to start the xApp immediately.
    pub start: bool,
}

/// Order of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRequest {
    /// Start; also retries an xApp that was given up.
    Start,
    /// Stop.
    Stop,
    /// Stop and start again.
    Restart,
}

/// Action on the process of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessAction {
    /// Start the process; report the result with [`Supervisor::started`].
    Start,
    /// Send SIGTERM.
    Ask,
    /// Kill the process and all its descendants.
    Kill,
}

/// Action for the caller to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// Index of the xApp.
    pub xapp: usize,
    /// Action.
    pub what: ProcessAction,
}

/// Exit of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitReason {
    /// Whether the exit code was 0.
    pub success: bool,
    /// Exit code or signal, as a phrase for messages.
    pub how: String,
}

/// State of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Stopped.
    Off,
    /// Being started.
    Starting,
    /// Running.
    Running,
    /// SIGTERM was sent.
    Ending,
    /// Exited; will be restarted after a delay.
    Waiting,
    /// Exited too often; only an order starts it again.
    GivenUp,
}

/// Status of an xApp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Name.
    pub name: String,
    /// State.
    pub phase: Phase,
    /// Process id, while a process exists.
    pub pid: Option<u32>,
    /// Number of starts.
    pub starts: u64,
    /// Number of exits that were not ordered.
    pub ends: u64,
    /// Number of kills after SIGTERM had no effect within the grace period.
    pub kills: u64,
    /// Number of times the xApp was given up.
    pub given_up: u64,
    /// Reason of the last exit or failed start.
    pub last_end: Option<String>,
    /// Mechanism that enforces the resource limits.
    pub held_by: Option<String>,
}

/// Unknown xApp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no xApp {name:?} is installed; installed: {there}")]
pub struct UnknownXapp {
    /// Requested name.
    pub name: String,
    /// Available names.
    pub there: String,
}

#[derive(Debug)]
struct Entry {
    spec: XappSpec,
    status: Status,
    wanted: bool,
    /// Time of the last start.
    since: Time,
    /// Times of the last exits, oldest first; at most `times`.
    ends: VecDeque<Time>,
    next_delay: Duration,
    /// Time of the next kill or start.
    due: Option<Time>,
}

/// Supervisor of the xApps of one RIC.
#[derive(Debug, Default)]
pub struct Supervisor {
    entries: Vec<Entry>,
    actions: VecDeque<Action>,
}

impl Supervisor {
    /// Returns a supervisor; xApps with `start` are started immediately.
    pub fn new(now: Time, specs: Vec<XappSpec>) -> Self {
        let entry = |spec: XappSpec| Entry {
            status: Status {
                name: spec.name.clone(),
                phase: Phase::Off,
                pid: None,
                starts: 0,
                ends: 0,
                kills: 0,
                given_up: 0,
                last_end: None,
                held_by: None,
            },
            wanted: spec.start,
            since: now,
            ends: VecDeque::new(),
            next_delay: spec.restart.first,
            due: None,
            spec,
        };
        let mut made = Self { entries: specs.into_iter().map(entry).collect(), actions: VecDeque::new() };
        for xapp in 0..made.entries.len() {
            if made.entries[xapp].wanted {
                made.start(now, xapp);
            }
        }
        made
    }

    /// Returns the index of an xApp.
    ///
    /// # Errors
    /// Returns [`UnknownXapp`] if no xApp has this name.
    pub fn place(&self, name: &str) -> Result<usize, UnknownXapp> {
        self.entries.iter().position(|entry| entry.spec.name == name).ok_or_else(|| {
            let there: Vec<_> = self.entries.iter().map(|entry| entry.spec.name.as_str()).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            UnknownXapp { name: name.to_owned(), there }
        })
    }

    /// Applies an order; has no effect if the xApp already is in the requested state.
    ///
    /// # Errors
    /// Returns [`UnknownXapp`] if no xApp has this name.
    pub fn order(&mut self, now: Time, name: &str, verb: ProcessRequest) -> Result<(), UnknownXapp> {
        let xapp = self.place(name)?;
        let entry = &mut self.entries[xapp];
        entry.wanted = verb != ProcessRequest::Stop;
        // An explicit order resets the restart history.
        entry.ends.clear();
        entry.next_delay = entry.spec.restart.first;
        match (entry.status.phase, verb) {
            (
                Phase::Off | Phase::Waiting | Phase::GivenUp,
                ProcessRequest::Start | ProcessRequest::Restart,
            ) => self.start(now, xapp),
            (Phase::Waiting | Phase::GivenUp, ProcessRequest::Stop) => {
                (entry.status.phase, entry.due) = (Phase::Off, None);
            }
            (Phase::Running, ProcessRequest::Stop | ProcessRequest::Restart) => self.ask(now, xapp),
            // A starting xApp is stopped once it runs; a stopping xApp is started once it has exited.
            _ => {}
        }
        Ok(())
    }

    /// Reports the result of a start: process id and how limits are enforced, or the error.
    pub fn started(&mut self, now: Time, xapp: usize, went: Result<(u32, String), String>) {
        let Some(entry) = self.entries.get_mut(xapp).filter(|it| it.status.phase == Phase::Starting) else {
            return;
        };
        entry.since = now;
        match went {
            Ok((pid, held_by)) => {
                entry.status.phase = Phase::Running;
                (entry.status.pid, entry.status.held_by) = (Some(pid), Some(held_by));
                if !entry.wanted {
                    self.ask(now, xapp);
                }
            }
            Err(why) => self.ended(now, xapp, ExitReason { success: false, how: why }),
        }
    }

    /// Reports the exit of a process and of all its descendants.
    pub fn ended(&mut self, now: Time, xapp: usize, end: ExitReason) {
        let Some(entry) = self.entries.get_mut(xapp) else { return };
        let phase = entry.status.phase;
        if !matches!(phase, Phase::Starting | Phase::Running | Phase::Ending) {
            return;
        }
        (entry.status.pid, entry.due, entry.status.last_end) = (None, None, Some(end.how));
        if phase == Phase::Ending {
            entry.status.phase = Phase::Off;
            if entry.wanted {
                self.start(now, xapp);
            }
            return;
        }
        entry.status.ends += 1;
        let restart = entry.spec.restart;
        let again = match restart.when {
            RestartPolicy::Always => true,
            RestartPolicy::Failure => !end.success,
            RestartPolicy::Never => false,
        };
        if !entry.wanted || !again {
            entry.status.phase = Phase::Off;
            entry.wanted = false;
            return;
        }
        if since(entry.since, now) >= restart.within {
            entry.ends.clear();
            entry.next_delay = restart.first;
        }
        while entry.ends.front().is_some_and(|first| since(*first, now) >= restart.within) {
            entry.ends.pop_front();
        }
        entry.ends.push_back(now);
        if entry.ends.len() >= restart.times as usize {
            (entry.status.phase, entry.wanted) = (Phase::GivenUp, false);
            entry.status.given_up += 1;
            entry.ends.clear();
            return;
        }
        (entry.status.phase, entry.due) = (Phase::Waiting, Some(now + entry.next_delay));
        entry.next_delay = entry.next_delay.saturating_mul(2).min(restart.longest);
    }

    /// Advances the time; handles expired deadlines.
    pub fn wake(&mut self, now: Time) {
        for xapp in 0..self.entries.len() {
            let entry = &mut self.entries[xapp];
            if entry.due.is_none_or(|due| now < due) {
                continue;
            }
            entry.due = None;
            match entry.status.phase {
                Phase::Waiting => self.start(now, xapp),
                Phase::Ending => {
                    entry.status.kills += 1;
                    self.actions.push_back(Action { xapp, what: ProcessAction::Kill });
                }
                _ => {}
            }
        }
    }

    /// Returns the next time at which [`wake`](Self::wake) has work to do.
    pub fn wake_at(&self) -> Option<Time> {
        self.entries.iter().filter_map(|entry| entry.due).min()
    }

    /// Returns the next action.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Stops all xApps.
    pub fn end_all(&mut self, now: Time) {
        let names: Vec<_> = self.entries.iter().map(|entry| entry.spec.name.clone()).collect();
        for name in names {
            // The xApp exists, so the order cannot fail.
            let _ = self.order(now, &name, ProcessRequest::Stop);
        }
    }

    /// Returns whether no process exists.
    pub fn is_idle(&self) -> bool {
        self.entries
            .iter()
            .all(|entry| !matches!(entry.status.phase, Phase::Starting | Phase::Running | Phase::Ending))
    }

    /// Returns the status of each xApp, in order.
    pub fn statuses(&self) -> Vec<Status> {
        self.entries.iter().map(|entry| entry.status.clone()).collect()
    }

    fn start(&mut self, now: Time, xapp: usize) {
        let entry = &mut self.entries[xapp];
        (entry.status.phase, entry.due, entry.since) = (Phase::Starting, None, now);
        entry.status.starts += 1;
        self.actions.push_back(Action { xapp, what: ProcessAction::Start });
    }

    fn ask(&mut self, now: Time, xapp: usize) {
        let entry = &mut self.entries[xapp];
        (entry.status.phase, entry.due) = (Phase::Ending, Some(now + entry.spec.restart.grace));
        self.actions.push_back(Action { xapp, what: ProcessAction::Ask });
    }
}

fn since(then: Time, now: Time) -> Duration {
    Duration::from_nanos(now.as_nanos().saturating_sub(then.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::Random;

    const RESTART: Restart = Restart {
        when: RestartPolicy::Failure,
        first: Duration::from_millis(200),
        longest: Duration::from_secs(1),
        times: 5,
        within: Duration::from_secs(60),
        grace: Duration::from_secs(2),
    };

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn one(restart: Restart) -> Supervisor {
        Supervisor::new(at(0), vec![XappSpec { name: "mon".to_owned(), restart, start: true }])
    }

    fn up(s: &mut Supervisor, ms: u64) {
        assert_eq!(
            s.poll(),
            Some(Action { xapp: 0, what: ProcessAction::Start }),
            "the xApp must be started at {ms} ms"
        );
        s.started(at(ms), 0, Ok((7, "cgroup".to_owned())));
    }

    fn fails(s: &mut Supervisor, ms: u64) {
        s.ended(at(ms), 0, ExitReason { success: false, how: "it exited with code 1".to_owned() });
    }

    #[test]
    fn restarts_back_off_until_limit() {
        let mut s = one(RESTART);
        let mut now = 0;
        for delay in [200, 400, 800, 1_000] {
            up(&mut s, now);
            fails(&mut s, now);
            assert_eq!(s.wake_at(), Some(at(now + delay)));
            s.wake(at(now + delay - 1));
            assert_eq!(s.poll(), None);
            now += delay;
            s.wake(at(now));
        }
        up(&mut s, now);
        fails(&mut s, now);
        let status = &s.statuses()[0];
        assert_eq!((status.phase, status.starts, status.ends, status.given_up), (Phase::GivenUp, 5, 5, 1));
        assert_eq!((s.wake_at(), s.is_idle()), (None, true));
        s.order(at(now), "mon", ProcessRequest::Start).unwrap();
        up(&mut s, now);
        assert_eq!(
            s.statuses()[0].phase,
            Phase::Running,
            "an explicit order must start an xApp even after its restarts were given up"
        );
    }

    #[test]
    fn long_run_resets_the_restart_history() {
        let mut s = one(RESTART);
        let mut now = 0;
        for _ in 0..100 {
            up(&mut s, now);
            now += 60_000;
            fails(&mut s, now);
            now += 200;
            s.wake(at(now));
        }
        assert_eq!(s.statuses()[0].given_up, 0);
    }

    #[test]
    fn unresponsive_xapp_is_killed_then_restarted() {
        let mut s = one(RESTART);
        s.order(at(1), "mon", ProcessRequest::Stop).unwrap();
        up(&mut s, 5);
        assert_eq!(
            s.poll().unwrap().what,
            ProcessAction::Ask,
            "an xApp that is stopped during its start must get SIGTERM when it runs"
        );
        s.wake(at(2_004));
        assert_eq!(s.poll(), None);
        s.wake(at(2_005));
        assert_eq!(s.poll().unwrap().what, ProcessAction::Kill);
        s.order(at(2_006), "mon", ProcessRequest::Restart).unwrap();
        assert_eq!(s.poll(), None, "a restart must wait until the process has exited");
        fails(&mut s, 2_010);
        up(&mut s, 2_010);
        assert_eq!(
            (s.statuses()[0].ends, s.statuses()[0].kills),
            (0, 1),
            "an exit that was ordered must not count as unexpected"
        );
        s.end_all(at(3_000));
        assert_eq!(s.poll().unwrap().what, ProcessAction::Ask);
        fails(&mut s, 3_001);
        assert_eq!((s.poll(), s.statuses()[0].phase), (None, Phase::Off));
    }

    #[test]
    fn restart_policy_decides_whether_exited_xapp_is_restarted() {
        for (when, success, phase) in [
            (RestartPolicy::Always, true, Phase::Waiting),
            (RestartPolicy::Failure, true, Phase::Off),
            (RestartPolicy::Failure, false, Phase::Waiting),
            (RestartPolicy::Never, false, Phase::Off),
        ] {
            let mut s = one(Restart { when, ..RESTART });
            up(&mut s, 0);
            s.ended(at(1), 0, ExitReason { success, how: String::new() });
            assert_eq!(s.statuses()[0].phase, phase, "{when:?} {success}");
        }
        let mut s = one(RESTART);
        assert!(s.poll().is_some());
        s.started(at(0), 0, Err("no such file".to_owned()));
        assert_eq!(s.statuses()[0].phase, Phase::Waiting, "a failed start must be retried like an exit");
        let unknown = s.order(at(0), "../mon", ProcessRequest::Start).unwrap_err();
        assert_eq!(unknown.to_string(), "no xApp \"../mon\" is installed; installed: mon");
    }

    /// Random orders and events in virtual time. Invariants: an xApp never has two processes; no start
    /// without an order or policy; a crashing xApp starts at most as often in any period as the manifest
    /// allows.
    #[test]
    fn random_histories_keep_the_invariants() {
        for seed in 1..=500_u64 {
            let mut random = Random::stream(seed, 0);
            let mut below = |most| random.below(most);
            let mut s = one(Restart { times: 3, within: Duration::from_secs(10), ..RESTART });
            let mut now = 0;
            let mut alive = false;
            let mut starting = false;
            let mut should_run = true;
            let mut starts: Vec<u64> = Vec::new();
            for step in 0..600 {
                now += below(700);
                s.wake(at(now));
                while let Some(Action { what, .. }) = s.poll() {
                    match what {
                        ProcessAction::Start => {
                            assert!(!alive && !starting && should_run, "seed {seed} step {step}");
                            starting = true;
                            starts.push(now);
                        }
                        ProcessAction::Ask | ProcessAction::Kill => assert!(alive, "seed {seed} step {step}"),
                    }
                }
                // 3 % of the steps are orders; all other steps are process events.
                match below(100) {
                    0 => {
                        s.order(at(now), "mon", ProcessRequest::Stop).unwrap();
                        should_run = false;
                    }
                    1 | 2 => {
                        s.order(
                            at(now),
                            "mon",
                            if below(2) == 0 { ProcessRequest::Start } else { ProcessRequest::Restart },
                        )
                        .unwrap();
                        should_run = true;
                        starts.clear();
                    }
                    3..=60 if starting => {
                        starting = false;
                        alive = below(4) != 0;
                        let went = if alive { Ok((7, String::new())) } else { Err("no".to_owned()) };
                        s.started(at(now), 0, went);
                    }
                    61..=80 if alive => {
                        alive = false;
                        fails(&mut s, now);
                    }
                    _ => {}
                }
                let recent = starts.iter().filter(|start| now - **start < 10_000).count();
                assert!(recent <= 4, "seed {seed} step {step}: too many starts ({recent}) in 10 s");
                let status = &s.statuses()[0];
                assert_eq!(status.pid.is_some(), alive, "seed {seed} step {step}");
                assert!(s.entries[0].ends.len() < 3, "seed {seed} step {step}");
            }
        }
    }
}
