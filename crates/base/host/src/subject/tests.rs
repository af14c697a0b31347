use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;

/// A shell that works until it is killed.
struct Busy(Child);

impl Busy {
    fn start(program: &str) -> Self {
        let mut command = Command::new(program);
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..600 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the awaited condition was not met within 30 s");
}

#[test]
fn process_is_metered_until_its_exit() {
    let busy = Busy::start("/bin/sh");
    let mut meter = SubjectMeter::new(Subject::Process { pid: busy.0.id() }).unwrap();
    until(|| meter.sample().unwrap().cpu_s > 0.05);
    let sample = meter.sample().unwrap();
    assert_eq!((sample.processes, sample.threads), (1, 1));
    assert!(sample.rss_bytes > 100_000 && sample.faults > 0, "{sample:?}");
    assert!(meter.pss_bytes().unwrap() > 0);
    let pid = busy.0.id();
    drop(busy);
    assert_eq!(meter.sample().unwrap_err().to_string(), format!("there is no process {pid}"));
}

#[test]
fn command_counts_running_and_ended_processes() {
    // The name is unique, so that it does not match the shell of another test. It is longer than the 15 characters that
    // the kernel keeps.
    let folder = std::env::temp_dir().join(format!("ranlab-subject-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("sut-{}-with-a-long-name", std::process::id());
    let program = folder.join(&name);
    let _ = std::fs::remove_file(&program);
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let program = program.to_str().unwrap();
    let first = Busy::start(program);
    let second = Busy::start(program);
    let subject = || SubjectMeter::new(Subject::Command { name: name.clone() });
    // A process gets its name shortly after it was started.
    until(|| subject().is_ok());
    let mut meter = subject().unwrap();
    until(|| meter.sample().unwrap().processes == 2);
    until(|| meter.sample().unwrap().cpu_s > 0.1);
    let before = meter.sample().unwrap();
    drop(first);
    let after = meter.sample().unwrap();
    assert_eq!(after.processes, 1);
    assert!(after.cpu_s >= before.cpu_s && after.faults >= before.faults, "{before:?} {after:?}");
    drop(second);
    let error = meter.sample().unwrap_err().to_string();
    assert!(error.contains(&name), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn group_is_read_with_its_descendants() {
    let folder = std::env::temp_dir().join(format!("ranlab-cgroup-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("below")).unwrap();
    let busy = Busy::start("/bin/sh");
    std::fs::write(folder.join("cgroup.procs"), "").unwrap();
    std::fs::write(folder.join("below/cgroup.procs"), format!("{}\n", busy.0.id())).unwrap();
    let mut meter = SubjectMeter::new(Subject::Cgroup { path: folder.clone() }).unwrap();
    until(|| meter.sample().unwrap().cpu_s > 0.02);
    std::fs::write(folder.join("cpu.stat"), "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n")
        .unwrap();
    let sample = meter.sample().unwrap();
    assert_eq!(
        (sample.processes, sample.cpu_s),
        (1, 9.0),
        "the CPU time must come from cpu.stat of the group, not from its processes"
    );
    std::fs::remove_dir_all(&folder).unwrap();
    let error = meter.sample().unwrap_err().to_string();
    assert!(error.contains("is not a control group"), "{error}");
}

#[test]
fn unknown_command_is_an_error() {
    let error = SubjectMeter::new(Subject::Command { name: "no-such-program-here".to_owned() }).unwrap_err();
    assert!(error.to_string().contains("no process runs the command `no-such-program-here`"), "{error}");
    assert!(matches!(
        SubjectMeter::new(Subject::Process { pid: 1 << 23 }),
        Err(MeterError::NoProcess { .. })
    ));
    let own = std::env::current_exe().unwrap();
    let own = own.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(
        !running(&own).contains(&std::process::id()),
        "a search by name must not find the searching process"
    );
}
