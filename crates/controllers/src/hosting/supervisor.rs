//! When a hosted xApp is started, asked to end, killed, restarted and given up. A machine: it is told what was wanted, what
//! happened and what time it is, and says what to do.
use ranlab_e2::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// After which ends an xApp is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// After each that nobody asked for.
    Always,
    /// After each that it did not choose itself: another code than 0, or a signal.
    Failure,
    /// After none.
    Never,
}

/// What follows an xApp's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// After which ends.
    pub when: When,
    /// Before the first restart; doubled from one to the next ...
    pub first: Duration,
    /// ... up to this.
    pub longest: Duration,
    /// After so many ends ...
    pub times: u32,
    /// ... in such a time it is given up. Who runs for so long begins anew.
    pub within: Duration,
    /// How long it may take to end when it is asked.
    pub grace: Duration,
}

/// An xApp to look after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// What follows its end.
    pub restart: Restart,
    /// Whether it is started at once.
    pub start: bool,
}

/// What somebody wants of an xApp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// That it runs; one that was given up is tried again.
    Start,
    /// That it does not.
    Stop,
    /// That it ends and runs anew.
    Restart,
}

/// What to do with an xApp's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Start it; [`Supervisor::started`] says how that went.
    Start,
    /// Ask it to end.
    Ask,
    /// End it, with all that it has started.
    Kill,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// With which xApp, by its place.
    pub xapp: usize,
    /// What.
    pub what: What,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// With success.
    pub success: bool,
    /// As half a sentence.
    pub how: String,
}

/// How an xApp stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It does not run, and shall not.
    Off,
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It was asked to end.
    Ending,
    /// It has ended, and is started again in a while.
    Waiting,
    /// It has ended too often; somebody has to start it.
    GivenUp,
}

/// What is known of an xApp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub phase: Phase,
    /// Its process.
    pub pid: Option<u32>,
    /// Starts so far.
    pub starts: u64,
    /// Ends that nobody asked for.
    pub ends: u64,
    /// Times that it had to be killed, as it did not end when it was asked.
    pub kills: u64,
    /// Times that it was given up.
    pub given_up: u64,
    /// How it ended last, or why it could not be started.
    pub last_end: Option<String>,
    /// How its bounds are held.
    pub held_by: Option<String>,
}

/// There is no such xApp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no xApp {name:?} is installed; there are: {there}")]
pub struct Unknown {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub there: String,
}

#[derive(Debug)]
struct Entry {
    spec: Spec,
    status: Status,
    wanted: bool,
    /// When it was started last.
    since: Time,
    /// Its last ends, oldest first; at most `times`.
    ends: VecDeque<Time>,
    next_delay: Duration,
    /// When it is killed, or started.
    due: Option<Time>,
}

/// Looks after the xApps of one RIC.
#[derive(Debug, Default)]
pub struct Supervisor {
    entries: Vec<Entry>,
    actions: VecDeque<Action>,
}

impl Supervisor {
    /// Looks after these; those that start with the RIC are to be started now.
    pub fn new(now: Time, specs: Vec<Spec>) -> Self {
        let entry = |spec: Spec| Entry {
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

    /// The place of an xApp.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn place(&self, name: &str) -> Result<usize, Unknown> {
        self.entries.iter().position(|entry| entry.spec.name == name).ok_or_else(|| {
            let there: Vec<_> = self.entries.iter().map(|entry| entry.spec.name.as_str()).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            Unknown { name: name.to_owned(), there }
        })
    }

    /// Somebody wants something. What is so already is not done again.
    ///
    /// # Errors
    /// There is no such xApp.
    pub fn order(&mut self, now: Time, name: &str, verb: Verb) -> Result<(), Unknown> {
        let xapp = self.place(name)?;
        let entry = &mut self.entries[xapp];
        entry.wanted = verb != Verb::Stop;
        // Who asks knows better than its history.
        entry.ends.clear();
        entry.next_delay = entry.spec.restart.first;
        match (entry.status.phase, verb) {
            (Phase::Off | Phase::Waiting | Phase::GivenUp, Verb::Start | Verb::Restart) => {
                self.start(now, xapp)
            }
            (Phase::Waiting | Phase::GivenUp, Verb::Stop) => {
                (entry.status.phase, entry.due) = (Phase::Off, None);
            }
            (Phase::Running, Verb::Stop | Verb::Restart) => self.ask(now, xapp),
            // One that is being started is asked when it is there; one that ends is started when it has.
            _ => {}
        }
        Ok(())
    }

    /// How a start went: the process and how its bounds are held, or why there is none.
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
            Err(why) => self.ended(now, xapp, End { success: false, how: why }),
        }
    }

    /// A process has ended, and all that it started with it.
    pub fn ended(&mut self, now: Time, xapp: usize, end: End) {
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
            When::Always => true,
            When::Failure => !end.success,
            When::Never => false,
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

    /// Time has passed.
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
                    self.actions.push_back(Action { xapp, what: What::Kill });
                }
                _ => {}
            }
        }
    }

    /// When [`wake`](Self::wake) has something to do.
    pub fn wake_at(&self) -> Option<Time> {
        self.entries.iter().filter_map(|entry| entry.due).min()
    }

    /// What to do next.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Nothing shall run any more.
    pub fn end_all(&mut self, now: Time) {
        let names: Vec<_> = self.entries.iter().map(|entry| entry.spec.name.clone()).collect();
        for name in names {
            // It is there.
            let _ = self.order(now, &name, Verb::Stop);
        }
    }

    /// Whether nothing runs.
    pub fn is_idle(&self) -> bool {
        self.entries
            .iter()
            .all(|entry| !matches!(entry.status.phase, Phase::Starting | Phase::Running | Phase::Ending))
    }

    /// What is known of each, in their order.
    pub fn statuses(&self) -> Vec<Status> {
        self.entries.iter().map(|entry| entry.status.clone()).collect()
    }

    fn start(&mut self, now: Time, xapp: usize) {
        let entry = &mut self.entries[xapp];
        (entry.status.phase, entry.due, entry.since) = (Phase::Starting, None, now);
        entry.status.starts += 1;
        self.actions.push_back(Action { xapp, what: What::Start });
    }

    fn ask(&mut self, now: Time, xapp: usize) {
        let entry = &mut self.entries[xapp];
        (entry.status.phase, entry.due) = (Phase::Ending, Some(now + entry.spec.restart.grace));
        self.actions.push_back(Action { xapp, what: What::Ask });
    }
}

fn since(then: Time, now: Time) -> Duration {
    Duration::from_nanos(now.as_nanos().saturating_sub(then.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESTART: Restart = Restart {
        when: When::Failure,
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
        Supervisor::new(at(0), vec![Spec { name: "mon".to_owned(), restart, start: true }])
    }

    fn up(s: &mut Supervisor, ms: u64) {
        assert_eq!(s.poll(), Some(Action { xapp: 0, what: What::Start }), "at {ms} ms");
        s.started(at(ms), 0, Ok((7, "cgroup".to_owned())));
    }

    fn fails(s: &mut Supervisor, ms: u64) {
        s.ended(at(ms), 0, End { success: false, how: "it exited with code 1".to_owned() });
    }

    #[test]
    fn who_falls_is_started_later_and_later_and_then_given_up() {
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
        s.order(at(now), "mon", Verb::Start).unwrap();
        up(&mut s, now);
        assert_eq!(s.statuses()[0].phase, Phase::Running, "whoever starts it knows better");
    }

    #[test]
    fn who_has_run_for_long_begins_anew() {
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
    fn who_does_not_end_when_asked_is_killed_and_restarts_when_it_has_ended() {
        let mut s = one(RESTART);
        s.order(at(1), "mon", Verb::Stop).unwrap();
        up(&mut s, 5);
        assert_eq!(s.poll().unwrap().what, What::Ask, "it was asked for while it started");
        s.wake(at(2_004));
        assert_eq!(s.poll(), None);
        s.wake(at(2_005));
        assert_eq!(s.poll().unwrap().what, What::Kill);
        s.order(at(2_006), "mon", Verb::Restart).unwrap();
        assert_eq!(s.poll(), None, "not before it is gone");
        fails(&mut s, 2_010);
        up(&mut s, 2_010);
        assert_eq!((s.statuses()[0].ends, s.statuses()[0].kills), (0, 1), "nobody counts what was asked for");
        s.end_all(at(3_000));
        assert_eq!(s.poll().unwrap().what, What::Ask);
        fails(&mut s, 3_001);
        assert_eq!((s.poll(), s.statuses()[0].phase), (None, Phase::Off));
    }

    #[test]
    fn ends_are_followed_as_the_manifest_says() {
        for (when, success, phase) in [
            (When::Always, true, Phase::Waiting),
            (When::Failure, true, Phase::Off),
            (When::Failure, false, Phase::Waiting),
            (When::Never, false, Phase::Off),
        ] {
            let mut s = one(Restart { when, ..RESTART });
            up(&mut s, 0);
            s.ended(at(1), 0, End { success, how: String::new() });
            assert_eq!(s.statuses()[0].phase, phase, "{when:?} {success}");
        }
        let mut s = one(RESTART);
        assert!(s.poll().is_some());
        s.started(at(0), 0, Err("no such file".to_owned()));
        assert_eq!(s.statuses()[0].phase, Phase::Waiting, "a start that fails is an end");
        let unknown = s.order(at(0), "../mon", Verb::Start).unwrap_err();
        assert_eq!(unknown.to_string(), "no xApp \"../mon\" is installed; there are: mon");
    }

    /// Whatever is wanted and happens in any order, in virtual time: never two processes of one xApp, never a start that nobody
    /// wants, and of one that only falls no more starts in any time than the manifest allows.
    #[test]
    fn histories_of_many_seeds_keep_what_is_promised() {
        for seed in 1..=500_u64 {
            let mut below = crate::dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let mut s = one(Restart { times: 3, within: Duration::from_secs(10), ..RESTART });
            let (mut now, mut alive, mut starting, mut wanted) = (0, false, false, true);
            let mut starts: Vec<u64> = Vec::new();
            for step in 0..600 {
                now += below(700);
                s.wake(at(now));
                while let Some(Action { what, .. }) = s.poll() {
                    match what {
                        What::Start => {
                            assert!(!alive && !starting && wanted, "seed {seed} step {step}");
                            starting = true;
                            starts.push(now);
                        }
                        What::Ask | What::Kill => assert!(alive, "seed {seed} step {step}"),
                    }
                }
                // A third order in a hundred; the rest is its own doing.
                match below(100) {
                    0 => {
                        s.order(at(now), "mon", Verb::Stop).unwrap();
                        wanted = false;
                    }
                    1 | 2 => {
                        s.order(at(now), "mon", if below(2) == 0 { Verb::Start } else { Verb::Restart })
                            .unwrap();
                        wanted = true;
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
                assert!(recent <= 4, "seed {seed} step {step}: {recent} starts in 10 s");
                let status = &s.statuses()[0];
                assert_eq!(status.pid.is_some(), alive, "seed {seed} step {step}");
                assert!(s.entries[0].ends.len() < 3, "seed {seed} step {step}");
            }
        }
    }
}
