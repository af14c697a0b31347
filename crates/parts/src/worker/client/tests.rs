//! Against workers that do not do what they should: scripts, and sockets.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::AttachPart;

/// A laboratory whose program is this script; it finds `$VERSION` and `$HELLO`.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, text: &str) -> (Self, Lab) {
        let path = std::env::temp_dir().join(format!("ranlab-client-{name}-{}", std::process::id()));
        let version = env!("CARGO_PKG_VERSION");
        let hello = format!(r#"{{"ok":{{"version":"{version}","pid":1,"cpus":2}}}}"#);
        let script = format!("#!/bin/sh\nHELLO='{hello}'\n{text}\n");
        // By a process of its own: a child that another test forks just now would hold our file open, and what is open for
        // writing cannot be run ("Text file busy").
        let written = Command::new("sh")
            .args(["-c", r#"printf %s "$1" >"$0" && chmod 700 "$0""#])
            .arg(&path)
            .arg(script)
            .status();
        assert!(written.unwrap().success());
        (Self(path.clone()), Lab::new(path))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What meeting such a worker, and bringing a part up in it, comes to.
fn met(name: &str, text: &str) -> Result<(), RigError> {
    let (_script, lab) = Script::new(name, text);
    let stop = Stop::never();
    let mut worker = Worker::meet(&lab, &Host::Local, "base stations", &stop)?;
    worker.bring_up(Part::Attach(AttachPart::default()), &stop)
}

fn why(name: &str, text: &str) -> String {
    met(name, text).unwrap_err().to_string()
}

#[test]
fn a_worker_of_another_version_is_refused() {
    let why = why("old", r#"read line; echo '{"ok":{"version":"0.0.1","pid":1,"cpus":2}}'; read line"#);
    assert!(why.contains("is version 0.0.1, this is") && why.contains("must be the same"), "{why}");
}

#[test]
fn what_is_no_answer_is_said_to_be_none() {
    let chatter = why("chatter", "read line; echo Welcome to this machine; read line");
    assert!(chatter.contains("the worker of the base stations at local answers no JSON"), "{chatter}");
    let odd = why("odd", r#"read line; echo '{"ok":{"pid":1}}'; read line"#);
    assert!(odd.contains("answers oddly") && odd.contains("version"), "{odd}");
    let refuses =
        r#"read l; echo "$HELLO"; read l; echo '{"error":{"fault":"environment","what":"no disk"}}'"#;
    assert_eq!(met("refuses", refuses), Err(RigError::Environment("no disk".to_owned())));
}

#[test]
fn a_worker_that_ends_says_how() {
    let died = why("died", r#"read line; echo "$HELLO"; read line; kill -9 $$"#);
    assert!(died.ends_with("at local has ended: it was killed by signal 9"), "{died}");
    let left = why("left", "exit 7");
    assert!(left.ends_with("has ended: it exited with code 7"), "{left}");
    let missing = Worker::meet(&Lab::new("/no/such/ranlab"), &Host::Local, "xApp", &Stop::never());
    let missing = missing.err().unwrap();
    assert!(matches!(&missing, RigError::Environment(why) if why.contains("cannot start")), "{missing}");
}

#[test]
fn an_endless_line_is_not_kept() {
    let why = why("endless", "read line; head -c 9000000 /dev/zero | tr '\\0' x; sleep 60");
    assert!(why.contains("answers no JSON: a line of more than 8388608 octets"), "{why}");
}

#[test]
fn one_that_hangs_is_given_up_when_told_and_is_not_asked_again() {
    let (_script, lab) = Script::new("hangs", r#"read line; echo "$HELLO"; exec sleep 60"#);
    let mut worker = Worker::meet(&lab, &Host::Local, "RIC", &Stop::never()).unwrap();
    let soon = Stop::never().with_deadline(Instant::now());
    assert_eq!(worker.look(&soon).unwrap_err(), RigError::Stopped);
    // Its late answer would pass for that of the next question.
    let again = worker.look(&Stop::never()).unwrap_err().to_string();
    assert!(again.contains("a question to it was given up"), "{again}");
}

/// A worker over TCP whose clock is ahead of ours, and further after a window; what it is told at last.
#[test]
fn a_clock_elsewhere_is_known_with_its_error_and_the_part_is_gone_when_the_worker_is_dropped() {
    const AHEAD_US: f64 = 5e6;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host: Host = format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    let leaves = gone.clone();
    let worker = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut out, mut ahead_us, mut last) = (stream.try_clone().unwrap(), AHEAD_US, String::new());
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
                    // A system that takes its time to let go.
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
    let mut met = Worker::meet(&Lab::new("unused"), &host, "xApp", &stop).unwrap();
    let first = met.clock_error_us;
    assert!((met.clock_offset_us - AHEAD_US).abs() <= first, "{} +- {first}", met.clock_offset_us);
    met.begin(&stop).unwrap();
    met.end(&stop).unwrap();
    // A second further, within what both comparisons are wrong by; and the error has grown by it.
    assert!((met.clock_drift_us - 1e6).abs() <= first + met.clock_error_us);
    assert!(met.clock_error_us >= 1e6 - first, "{}", met.clock_error_us);
    drop(met);
    assert!(gone.load(Ordering::Relaxed), "the next repeat would meet this one's part");
    assert_eq!(worker.join().unwrap(), r#"{"op":"stop"}"#);
    let nobody = Worker::meet(&Lab::new("unused"), &"tcp://127.0.0.1:1".parse().unwrap(), "xApp", &stop);
    assert!(nobody.err().unwrap().to_string().contains("start `ranlab worker --listen 127.0.0.1:1` there"));
}
