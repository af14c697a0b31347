//! Tests that a panic in a component's detached thread fails the repetition. The test has a separate process, because
//! the panic hook is global.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

use std::io::{Chain, Read};

use ranlab_lab::worker::{WorkerTrust, serve};

const BEFORE: &str = "{\"op\":\"start\",\"part\":{\"type\":\"attach\"}}\n{\"op\":\"look\"}\n";
const AFTER: &str = "{\"op\":\"look\"}\n{\"op\":\"begin\"}\n{\"op\":\"stop\"}\n";

const ONLY_BASE: ranlab_lab::Registry = ranlab_lab::Registry(&[&ranlab_lab::base::BASE]);

/// Input that makes a thread panic before it returns data.
struct Mishap;

impl Read for Mishap {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        // Earlier requests must be answered first.
        std::thread::sleep(std::time::Duration::from_millis(200));
        std::thread::spawn(|| panic!("the sender lost its way")).join().unwrap_err();
        Ok(0)
    }
}

#[test]
fn panicked_component_fails_later_requests() {
    let input: Chain<Chain<&[u8], Mishap>, &[u8]> = BEFORE.as_bytes().chain(Mishap).chain(AFTER.as_bytes());
    let mut output = Vec::new();
    serve(input, &mut output, WorkerTrust::Full, ONLY_BASE).unwrap();
    let text = String::from_utf8(output).unwrap();
    let replies: Vec<&str> = text.lines().collect();
    assert!(replies[0].starts_with("{\"ok\"") && replies[1].starts_with("{\"ok\""), "{text}");
    for reply in &replies[2..4] {
        assert!(reply.contains("error") && reply.contains("the sender lost its way"), "{text}");
    }
    assert!(replies[4].starts_with("{\"ok\""), "a stop request must succeed after a panic: {text}");
}
