//! Tests of the binary: help, exit codes, messages.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
use std::process::{Command, Output, Stdio};

fn ranlab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ranlab")).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Collects every verb as a list of words.
fn verbs(command: &clap::Command, words: &[String], found: &mut Vec<Vec<String>>) {
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let words = [words, &[verb.get_name().to_owned()]].concat();
        verbs(verb, &words, found);
        found.push(words);
    }
}

#[test]
fn help_of_every_verb_has_an_example() {
    let command = ranlab_cli::verbs::command();
    let mut found = vec![Vec::new()];
    verbs(&command, &[], &mut found);
    assert!(found.len() > 25, "{found:?}");
    for words in found {
        let mut verb = &command;
        for word in &words {
            verb = verb.find_subcommand(word).unwrap();
        }
        // A command with subcommands lists these instead of an example.
        if verb.has_subcommands() && !words.is_empty() {
            continue;
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = ranlab(&[&words[..], &["--help"]].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        let help = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(help.contains("Example") && help.contains("ranlab "), "{words:?}: {help}");
        assert!(stderr(&output).is_empty());
    }
}

#[test]
fn completions_and_man_pages_cover_every_verb() {
    let output = ranlab(&["completions", "bash"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("ranlab__bench__run") || text.contains("ranlab__subcmd__bench"),
        "{}",
        &text[..400]
    );
    let folder = std::env::temp_dir().join(format!("ranlab-man-{}", std::process::id()));
    let output = ranlab(&["man", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.join("ranlab-bench-run.1")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(page.contains(".TH ranlab-bench-run 1") && page.contains("dry"), "{page}");
    // The path of the folder is an existing file.
    let output = ranlab(&["man", "/dev/null"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("/dev/null"));
}

#[test]
fn verbose_logs_refused_connections() {
    let e2 = "tcp://127.0.0.1:0";
    let e42 = "tcp://127.0.0.1:0";
    let ric = |more: &[&str], log: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ranlab"));
        command.args(more).args(["ric", "--e2", e2, "--e42", e42, "--allow", "10.0.0.0/8"]);
        command.args(["--duration", "20s", "--format", "ndjson"]);
        command.env_remove("RANLAB_LOG").envs(log.map(|log| ("RANLAB_LOG", log)));
        let mut ric = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(ric.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let started: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = started["address"].as_str().unwrap().strip_prefix("tcp://").unwrap().to_owned();
        // The peer is on loopback and not on the list, so the RIC closes the connection.
        let mut stranger = std::net::TcpStream::connect(address).unwrap();
        let _ = std::io::Read::read(&mut stranger, &mut [0; 1]);
        ric.kill().unwrap();
        stderr(&ric.wait_with_output().unwrap())
    };
    let message = "connection refused: the peer is not allowed";
    assert!(!ric(&[], None).contains(message));
    assert!(ric(&["-v"], None).contains(message));
    assert!(ric(&[], Some("ranlab_transport=warn")).contains(message));
    assert!(!ric(&[], Some("ranlab_e2_lab=debug")).contains(message));
    let mut command = Command::new(env!("CARGO_BIN_EXE_ranlab"));
    let output = command.arg("doctor").env("RANLAB_LOG", "a=b=c").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("RANLAB_LOG") && stderr(&output).contains("debug"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn usage_error_is_one_sentence_with_exit_code_2() {
    let record = ["pcap", "record", "--connect", "tcp://h:1", "--out", "x", "--listen"];
    let cases: [(&[&str], &str); 12] = [
        (&[], "needs a command: demo"),
        (&["pcap"], "needs a command: decode, record"),
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
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments:?}: {message}");
        assert!(message.starts_with("ranlab: ") && message.contains(expected), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn missing_environment_is_exit_code_3() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("tcp://{}", taken.local_addr().unwrap());
    let out = std::env::temp_dir().join(format!("ranlab-{}-never.pcapng", std::process::id()));
    let arguments = ["pcap", "record", "--listen", &listen, "--connect", "tcp://127.0.0.1:1", "--out"];
    let output = ranlab(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains(&listen), "{}", stderr(&output));
    assert!(!out.exists(), "no file may be created if nothing can be recorded");
}

#[test]
fn unanswered_setup_is_reported_without_empty_connections() {
    let controller = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!("tcp://{}", controller.local_addr().unwrap());
    // This controller reads but never responds. An empty connection would be harmful: FlexRIC's RIC exits when a connection without a setup
    // closes.
    let first = std::thread::spawn(move || {
        let (mut stream, _) = controller.accept().unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        let octets = std::io::Read::read(&mut stream, &mut [0; 64]).unwrap();
        (octets, stream, controller)
    });
    let output = ranlab(&["emulate", "--connect", &connect, "--ues", "1", "--duration", "1s"]);
    let (octets, ..) = first.join().unwrap();
    assert!(octets > 0, "the first connection must send data before it is closed");
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
fn closed_pipe_is_not_an_error() {
    let vector = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2/codec/tests/vectors/flexric_e2_e42_sctp.pcap");
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
