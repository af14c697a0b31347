//! Tests with misbehaving workers, which are scripts or sockets.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::AttachComponent;

/// A laboratory whose program is this script, which may use `$VERSION` and `$HELLO`.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, text: &str) -> (Self, RigContext) {
        let path = std::env::temp_dir().join(format!("ranlab-client-{name}-{}", std::process::id()));
        let version = env!("CARGO_PKG_VERSION");
        let hello = format!(r#"{{"ok":{{"version":"{version}","pid":1,"cpus":2}}}}"#);
        let script = format!("#!/bin/sh\nHELLO='{hello}'\n{text}\n");
        // The file is written by a separate process. A child that another test forks at this moment would inherit our
        // open file. A file that is open for writing cannot be executed ("Text file busy").
        let written = Command::new("sh")
            .args(["-c", r#"printf %s "$1" >"$0" && chmod 700 "$0""#])
            .arg(&path)
            .arg(script)
            .status();
        assert!(written.unwrap().success());
        (Self(path.clone()), RigContext::new(path))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Connects to a worker with this script and starts a component. Returns the result.
fn met(name: &str, text: &str) -> Result<(), RigError> {
    let (_script, lab) = Script::new(name, text);
    let stop = Stop::never();
    let mut worker = Worker::start_idle(&lab, &WorkerLocation::Local, "base stations", &stop)?;
    worker.bring_up(AnyComponent::from(AttachComponent::default()), &stop)
}

fn why(name: &str, text: &str) -> String {
    met(name, text).unwrap_err().to_string()
}

#[test]
fn worker_of_another_version_is_rejected() {
    let why = why("old", r#"read line; echo '{"ok":{"version":"0.0.1","pid":1,"cpus":2}}'; read line"#);
    assert!(why.contains("is version 0.0.1, this is") && why.contains("must be the same"), "{why}");
}

#[test]
fn invalid_response_is_an_error() {
    let chatter = why("chatter", "read line; echo Welcome to this machine; read line");
    assert!(chatter.contains("the worker of the base stations at local sent invalid JSON"), "{chatter}");
    let odd = why("odd", r#"read line; echo '{"ok":{"pid":1}}'; read line"#);
    assert!(odd.contains("sent an invalid response") && odd.contains("version"), "{odd}");
    let refuses =
        r#"read l; echo "$HELLO"; read l; echo '{"error":{"fault":"environment","what":"no disk"}}'"#;
    assert_eq!(met("refuses", refuses), Err(RigError::Environment("no disk".to_owned())));
}

#[test]
fn exited_worker_is_reported_with_status() {
    let died = why("died", r#"read line; echo "$HELLO"; read line; kill -9 $$"#);
    assert!(died.ends_with("at local has ended: it was killed by signal 9"), "{died}");
    let left = why("left", "exit 7");
    assert!(left.ends_with("has ended: it exited with code 7"), "{left}");
    let missing = Worker::start_idle(
        &RigContext::new("/no/such/ranlab"),
        &WorkerLocation::Local,
        "xApp",
        &Stop::never(),
    );
    let missing = missing.err().unwrap();
    assert!(matches!(&missing, RigError::Environment(why) if why.contains("cannot start")), "{missing}");
}

#[test]
fn endless_line_is_rejected() {
    let why = why("endless", "read line; head -c 9000000 /dev/zero | tr '\\0' x; sleep 60");
    assert!(why.contains("sent invalid JSON: a line of more than 8388608 bytes"), "{why}");
}

#[test]
fn hanging_worker_is_abandoned_on_stop() {
    let (_script, lab) = Script::new("hangs", r#"read line; echo "$HELLO"; exec sleep 60"#);
    let mut worker = Worker::start_idle(&lab, &WorkerLocation::Local, "RIC", &Stop::never()).unwrap();
    let soon = Stop::never().with_deadline(Instant::now());
    assert_eq!(worker.counters(&soon).unwrap_err(), RigError::Stopped);
    // The late response would be mistaken for the response to the next request.
    let again = worker.counters(&Stop::never()).unwrap_err().to_string();
    assert!(again.contains("an earlier request, which was abandoned"), "{again}");
}

/// A worker over TCP whose clock is ahead of this clock, and further ahead after a window. The last request is recorded.
#[test]
fn remote_clock_offset_has_error_and_drop_ends_component() {
    const AHEAD_US: f64 = 5e6;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host: WorkerLocation = format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    let leaves = gone.clone();
    let worker = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut out = stream.try_clone().unwrap();
        let mut ahead_us = AHEAD_US;
        let mut last = String::new();
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let request: Request = serde_json::from_str(&line).unwrap();
            let reply = match request {
                Request::Hello => {
                    format!(r#"{{"version":"{}","pid":1,"cpus":1}}"#, env!("CARGO_PKG_VERSION"))
                }
                Request::Clock => format!(r#"{{"unix_ns":{}}}"#, ((unix_us() + ahead_us) * 1e3) as u64),
                Request::End => {
                    ahead_us += 1e6;
                    serde_json::to_string(&Report::default()).unwrap()
                }
                Request::Stop => {
                    // Simulates a system that takes time to release its resources.
                    std::thread::sleep(Duration::from_millis(100));
                    leaves.store(true, Ordering::Relaxed);
                    "null".to_owned()
                }
                _ => "null".to_owned(),
            };
            out.write_all(format!("{{\"ok\":{reply}}}\n").as_bytes()).unwrap();
            last = line;
            if matches!(request, Request::Stop) {
                break;
            }
        }
        last
    });
    let stop = Stop::never();
    let mut met = Worker::start_idle(&RigContext::new("unused"), &host, "xApp", &stop).unwrap();
    let first = met.clock_error_us;
    assert!((met.clock_offset_us - AHEAD_US).abs() <= first, "{} +- {first}", met.clock_offset_us);
    met.begin(&stop).unwrap();
    met.end(&stop).unwrap();
    // The clock must have drifted by one second, within the error of both measurements, and the error must have grown
    // by as much.
    assert!((met.clock_drift_us - 1e6).abs() <= first + met.clock_error_us);
    assert!(met.clock_error_us >= 1e6 - first, "{}", met.clock_error_us);
    drop(met);
    assert!(gone.load(Ordering::Relaxed), "the component must end, or it would still run in the next repeat");
    assert_eq!(worker.join().unwrap(), r#"{"op":"stop"}"#);
    let nobody =
        Worker::start_idle(&RigContext::new("unused"), &"tcp://127.0.0.1:1".parse().unwrap(), "xApp", &stop);
    assert!(nobody.err().unwrap().to_string().contains("start `ranlab worker --listen 127.0.0.1:1` there"));
}
