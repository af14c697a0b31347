//! The binary as people and scripts meet it: help, exit codes, sentences.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
use std::process::{Command, Output, Stdio};

fn ranlab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ranlab")).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn help_of_every_verb_has_an_example() {
    for verb in [&[][..], &["pcap"], &["pcap", "decode"], &["pcap", "record"], &["doctor"]] {
        let output = ranlab(&[verb, &["--help"]].concat());
        assert_eq!(output.status.code(), Some(0), "{verb:?}");
        let help = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(help.contains("Example") && help.contains("  ranlab "), "{verb:?}: {help}");
        assert!(stderr(&output).is_empty());
    }
}

#[test]
fn wrong_usage_is_one_sentence_and_exit_code_2() {
    let record = ["pcap", "record", "--connect", "tcp://h:1", "--out", "x", "--listen"];
    let cases: [(&[&str], &str); 12] = [
        (&[], "a verb is missing"),
        (&["pcap"], "verb is missing"),
        (&["dector"], "doctor"),
        (&["doctor", "--watsh", "1s"], "--watch"),
        (&["doctor", "--watch", "1"], "us, ms, s, min, h, d"),
        (&["doctor", "--format", "xml"], "text, json, ndjson"),
        (&["pcap", "decode"], "<FILE>"),
        (&["pcap", "decode", "/nonexistent.pcap"], "cannot read /nonexistent.pcap"),
        (&["pcap", "decode", "/"], "cannot read /"),
        (&["pcap", "decode", "--e2ap", "4.0", "x"], "1.01, 2.03, 3.01"),
        (&[&record[..], &["127.0.0.1:1"]].concat(), "tcp://host:port"),
        (&[&record[..], &["mem://a"]].concat(), "use tcp:// or unix://"),
    ];
    for (arguments, expected) in cases {
        let output = ranlab(arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{arguments:?}: {told}");
        assert!(told.starts_with("ranlab: ") && told.contains(expected), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn what_the_environment_lacks_is_exit_code_3() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("tcp://{}", taken.local_addr().unwrap());
    let out = std::env::temp_dir().join(format!("ranlab-{}-never.pcapng", std::process::id()));
    let arguments = ["pcap", "record", "--listen", &listen, "--connect", "tcp://127.0.0.1:1", "--out"];
    let output = ranlab(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains(&listen), "{}", stderr(&output));
    assert!(!out.exists(), "a file is made although nothing can be recorded");
}

#[test]
fn base_stations_make_no_empty_connection_and_say_that_none_was_set_up() {
    let controller = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!("tcp://{}", controller.local_addr().unwrap());
    // It takes what comes and answers nothing. FlexRIC's RIC ends when a connection without a setup is closed.
    let first = std::thread::spawn(move || {
        let (mut stream, _) = controller.accept().unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        let octets = std::io::Read::read(&mut stream, &mut [0; 64]).unwrap();
        (octets, stream, controller)
    });
    let output = ranlab(&["emulate", "--connect", &connect, "--ues", "1", "--duration", "1s"]);
    let (octets, ..) = first.join().unwrap();
    assert!(octets > 0, "the first connection is closed without a word");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no base station is set up"), "{}", stderr(&output));
}

#[test]
fn doctor_ends_with_one_object() {
    let output = ranlab(&["doctor", "--watch", "0s", "--format", "json"]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ready = object["ready"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(if ready { 0 } else { 3 }));
    let checks = object["checks"].as_array().unwrap();
    for name in ["SCTP", "open files", "network namespaces"] {
        assert!(checks.iter().any(|check| check["name"] == name), "{name}: {object}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let vector = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/tests/vectors/flexric_e2_e42_sctp.pcap");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ranlab"))
        .args(["pcap", "decode", "--notation", vector])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}
