//! Watches the processes of a third-party system. Records when and for how long a process was stopped by a signal, and
//! when the last process ended.

use std::collections::BTreeMap;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_host::process_tree::{ProcessState, name_of, standing};
use ranlab_host::{Subject, SubjectMeter};

use crate::sut;
use crate::worker::{ComponentError, Stopped};

/// Polling interval, which is also the accuracy of the reported times.
const LOOK: Duration = Duration::from_millis(50);
/// Number of polls until the list of processes is renewed.
const RENEW: u32 = 20;
/// Maximum number of recorded stops. Further ones are left out.
const STOPS_MAX: usize = 64;

/// Watches processes until it is dropped.
pub struct ProcessWatch {
    name: String,
    seen: Arc<Mutex<ProcessSamples>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    begun: Instant,
    window: Option<Instant>,
}

/// Events that the watch has recorded.
struct ProcessSamples {
    /// The process that we started, until its exit status is read.
    main: Option<Child>,
    launches: bool,
    /// Exit status of the process that we started, or a text that it has ended.
    how: String,
    ended: Option<(Instant, String)>,
    /// Processes that are stopped now, with their names and the times of their stops.
    stopped: BTreeMap<u32, (String, Instant)>,
    stops: Vec<(String, Instant, Instant)>,
}

impl ProcessWatch {
    /// Watches `subject`, named `name` in messages. Without a subject nothing is recorded. `main` is a process that we
    /// started. If `launches` is set, this process starts the system and exits, and the system does not exist yet.
    pub fn start(name: &str, subject: Option<Subject>, main: Option<Child>, launches: bool) -> Self {
        let how = "has ended".to_owned();
        let seen =
            ProcessSamples { main, launches, how, ended: None, stopped: BTreeMap::new(), stops: Vec::new() };
        let seen = Arc::new(Mutex::new(seen));
        let over = Arc::new(AtomicBool::new(false));
        let thread = subject.map(|subject| {
            let seen = seen.clone();
            let over = over.clone();
            std::thread::spawn(move || watch(&seen, &over, &subject))
        });
        Self { name: name.to_owned(), seen, over, thread, begun: Instant::now(), window: None }
    }

    fn seen(&self) -> MutexGuard<'_, ProcessSamples> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the process that we started, if its exit status has not been read.
    pub fn main_pid(&self) -> Option<u32> {
        self.seen().main.as_ref().map(Child::id)
    }

    /// Begins a window. Reported times are relative to this moment.
    pub fn begin(&mut self) {
        self.window = Some(Instant::now());
    }

    /// Returns an error if the system has ended. The error contains its name, the cause and the time.
    pub fn check(&self) -> Result<(), ComponentError> {
        let Some((at, how)) = self.seen().ended.clone() else { return Ok(()) };
        let when = match self.window {
            Some(window) if at >= window => format!("{:.2} s into the window", (at - window).as_secs_f64()),
            _ => format!("{:.2} s after its start", (at - self.begun).as_secs_f64()),
        };
        Err(sut(format!("{} {how}, {when}", self.name)))
    }

    /// Returns the processes that were stopped by a signal since the window began.
    pub fn stops(&self) -> Vec<Stopped> {
        let seen = self.seen();
        let now = Instant::now();
        let Some(window) = self.window else { return Vec::new() };
        let over = seen.stops.iter().map(|(who, from, to)| (who, *from, *to));
        let still = seen.stopped.values().map(|(who, from)| (who, *from, now));
        let within = over.chain(still).filter(|(_, _, to)| *to > window);
        let stops = within.map(|(who, from, to)| Stopped {
            who: format!("{} ({who})", self.name),
            from_s: from.saturating_duration_since(window).as_secs_f64(),
            seconds: (to - from.max(window)).as_secs_f64(),
        });
        stops.collect()
    }

    /// Ends the watch. Returns the process that we started if it still runs; the caller is then responsible for it.
    pub fn stop(&mut self) -> Option<Child> {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The worker reports panics.
            let _ = thread.join();
        }
        self.seen().main.take()
    }
}

impl Drop for ProcessWatch {
    fn drop(&mut self) {
        drop(self.stop());
    }
}

fn watch(seen: &Mutex<ProcessSamples>, over: &AtomicBool, subject: &Subject) {
    let mut pids = Some(Vec::new());
    for look in 0_u32.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let gone = |pid: &u32| standing(*pid) == ProcessState::Gone;
        if look % RENEW == 0 || pids.as_ref().is_none_or(|pids| pids.iter().all(gone)) {
            pids = alive(subject);
        }
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.sample(pids.as_deref());
        if seen.ended.is_some() {
            return;
        }
        drop(seen);
        std::thread::sleep(LOOK);
    }
}

/// Returns the running processes. `None` if the system has ended; an empty control group also counts as ended.
fn alive(subject: &Subject) -> Option<Vec<u32>> {
    let mut pids = SubjectMeter::new(subject.clone()).ok()?.alive();
    pids.retain(|pid| standing(*pid) != ProcessState::Gone);
    Some(pids).filter(|pids| !pids.is_empty() || matches!(subject, Subject::Cgroup { .. }))
}

impl ProcessSamples {
    fn sample(&mut self, pids: Option<&[u32]>) {
        let now = Instant::now();
        if let Some(Ok(Some(status))) = self.main.as_mut().map(Child::try_wait) {
            self.main = None;
            self.how = how_ended(status);
            if !status.success() {
                self.ended = Some((now, self.how.clone()));
            }
        }
        if pids.is_none() && !self.launches && self.ended.is_none() {
            self.ended = Some((now, self.how.clone()));
        }
        let pids = pids.unwrap_or_default();
        for pid in pids {
            if standing(*pid) == ProcessState::Stopped {
                let who = || format!("{}, process {pid}", name_of(*pid));
                self.stopped.entry(*pid).or_insert_with(|| (who(), now));
            }
        }
        let over: Vec<u32> =
            self.stopped.keys().copied().filter(|pid| standing(*pid) != ProcessState::Stopped).collect();
        for (who, from) in over.iter().filter_map(|pid| self.stopped.remove(pid)) {
            if self.stops.len() < STOPS_MAX {
                self.stops.push((who, from, now));
            }
        }
    }
}

/// Describes an exit status: `ended with signal 6`, `exited with code 1`.
fn how_ended(status: ExitStatus) -> String {
    crate::child::how_ended(status).replacen("it was killed by", "ended with", 1).replacen("it ", "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Timeout of tests.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn watched(script: &str, launches: bool) -> (ProcessWatch, u32) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = child.id();
        // The shell replaces itself with the program shortly after it was started.
        if let Some(program) = script.strip_prefix("exec ").and_then(|script| script.split(' ').next()) {
            let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
            until("the program", || name().filter(|name| name.trim_end() == program));
        }
        let mut watch = ProcessWatch::start("strange", Some(Subject::Process { pid }), Some(child), launches);
        watch.begin();
        (watch, pid)
    }

    fn signal(pid: u32, name: &str) {
        // Uses the shell's built-in `kill`, because not every machine has the program `kill`.
        let kill = format!("kill -{name} {pid}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            match look() {
                Some(found) => return found,
                None if begun.elapsed() > PATIENCE => panic!("never: {what}"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    #[test]
    fn stopped_process_is_reported_by_name() {
        let (watch, pid) = watched("exec sleep 600", false);
        assert!(watch.stops().is_empty());
        signal(pid, "STOP");
        let still = until("a stop", || watch.stops().pop());
        assert_eq!(still.who, format!("strange (sleep, process {pid})"));
        std::thread::sleep(Duration::from_millis(200));
        signal(pid, "CONT");
        let over = until("its end", || watch.stops().pop().filter(|_| watch.seen().stopped.is_empty()));
        assert!(over.seconds > still.seconds && over.seconds >= 0.2, "{over:?}");
        assert_eq!((over.from_s, watch.stops().len()), (still.from_s, 1));
        assert!(watch.check().is_ok());
        let mut left = { watch }.stop().unwrap();
        left.kill().unwrap();
        left.wait().unwrap();
    }

    #[test]
    fn exit_is_reported_with_status_and_time() {
        for (script, signalled, how) in [
            ("exec sleep 600", Some("ABRT"), "strange ended with signal 6"),
            ("exit 3", None, "strange exited with code 3"),
        ] {
            let (watch, pid) = watched(script, false);
            signalled.iter().for_each(|name| signal(pid, name));
            let error = until("its end", || watch.check().err()).to_string();
            assert!(error.contains(how) && error.ends_with(" s into the window"), "{error}");
        }
        // A launcher that succeeded has started the system; a launcher that failed has not.
        let (watch, _) = watched("exit 0", true);
        until("the launcher's end", || watch.main_pid().is_none().then_some(()));
        assert!(watch.check().is_ok());
    }
}
