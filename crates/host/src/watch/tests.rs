use std::process::{Child, Command, Stdio};

use super::*;
use crate::{Subject, ThreadGroup};

struct Shell(Child);

impl Shell {
    fn start(script: &str) -> Self {
        Self(Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn of_process(pid: u32) -> SubjectMeter {
    SubjectMeter::new(Subject::Process { pid }).unwrap()
}

#[test]
fn cores_and_shares_of_the_machine_are_told_apart() {
    let at = Instant::now();
    let sample = |seconds: u64, cpu_s: f64| SubjectSample {
        at: at + Duration::from_secs(seconds),
        cpu_s,
        cpu_user_s: Some(cpu_s / 2.0),
        cpu_system_s: Some(cpu_s / 2.0),
        rss_bytes: Some(10_000_000),
        processes: 1,
        threads: 3,
        voluntary_switches: 100 * seconds,
        involuntary_switches: 10 * seconds,
        minor_faults: Some(4 * seconds),
        major_faults: Some(0),
    };
    let window = Window::between(&sample(0, 1.0), &sample(2, 4.0), at, 4).unwrap();
    assert_eq!((window.cpu_cores, window.cpu_machine_share), (1.5, 0.375));
    assert_eq!((window.cpu_user_cores, window.cpu_system_cores), (Some(0.75), Some(0.75)));
    assert_eq!((window.rss_mb, window.threads, window.at), (Some(10.0), 3, Duration::from_secs(2)));
    assert_eq!((window.voluntary_switches_per_s, window.minor_faults_per_s), (100.0, Some(4.0)));
    assert_eq!(window.values().len(), METERS.len());
    assert_eq!(Window::between(&sample(2, 4.0), &sample(2, 4.0), at, 4), None);
}

#[test]
fn a_busy_process_has_a_series_and_its_work_is_no_strangers() {
    let busy = Shell::start("while :; do :; done");
    let watch = Watch::start(of_process(busy.0.id()), Vec::new(), false, Duration::from_millis(50)).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let watched = watch.finish().unwrap();
    let whole = watched.whole.unwrap();
    // A loaded machine gives it less than a core; never more.
    assert!(whole.cpu_cores > 0.02 && whole.cpu_cores < 1.1, "{whole:?}");
    assert!((whole.cpu_machine_share * watched.cpus as f64 - whole.cpu_cores).abs() < 1e-9);
    assert!(watched.windows.len() >= 3 && watched.ended.is_none(), "{}", watched.windows.len());
    assert_eq!(watched.series(0).len(), watched.windows.len());
    assert!(watched.windows[0].pss_mb.is_some_and(|pss| pss > 0.0));
    // What strangers do here is not ours to say, but the subject is none of them.
    let busy_cores = watched.machine.unwrap().busy_share * watched.cpus as f64;
    assert!(watched.foreign_cores.unwrap() <= (busy_cores - whole.cpu_cores).max(0.0) + 0.35, "{watched:?}");
}

#[test]
fn a_subject_that_ends_is_reported_and_what_was_seen_is_kept() {
    let short = Shell::start("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec sleep 0.3");
    let mut child = short;
    let watch = Watch::start(of_process(child.0.id()), Vec::new(), false, Duration::from_millis(20)).unwrap();
    child.0.wait().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let watched = watch.finish().unwrap();
    assert!(
        watched.ended.as_deref().is_some_and(|why| why.starts_with("there is no process")),
        "{watched:?}"
    );
    assert!(!watched.windows.is_empty() && watched.whole.is_some());
}

#[test]
fn threads_of_this_process_are_the_subject_and_not_the_tool() {
    let group = ThreadGroup::default();
    let meter = SubjectMeter::new(Subject::Threads(group.clone())).unwrap();
    let watch = Watch::start(meter, Vec::new(), true, Duration::from_millis(50)).unwrap();
    let worker = std::thread::spawn(move || {
        let _member = group.enter();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(800) {
            std::hint::spin_loop();
        }
    });
    worker.join().unwrap();
    let watched = watch.finish().unwrap();
    let whole = watched.whole.unwrap();
    assert!(
        whole.cpu_cores > 0.02 && whole.rss_mb.is_none() && whole.minor_faults_per_s.is_none(),
        "{whole:?}"
    );
}
