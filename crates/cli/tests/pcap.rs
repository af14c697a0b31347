//! Tests of `ranlab pcap`: test vectors, damaged captures, recordings.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
use ranlab_host::doctor::skipped;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2/codec/tests/vectors");

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ranlab-{}-{name}", std::process::id()))
}

fn flexric() -> String {
    format!("{VECTORS}/flexric_e2_e42_sctp.pcap")
}

fn files_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(format!("{VECTORS}/{folder}")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "bin"));
    files.sort();
    files
}

/// Returns exit code and summary of `pcap decode --verify`.
fn decode<P: AsRef<Path>>(options: &[&str], files: &[P]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ranlab"));
    command.args(["pcap", "decode", "--verify", "--format", "json"]).args(options);
    let output = command.args(files.iter().map(AsRef::as_ref)).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let summary = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {message}"));
    (output.status.code(), summary)
}

#[test]
fn flexric_capture_round_trips() {
    let (code, summary) = decode(&[], &[flexric()]);
    assert_eq!(code, Some(0));
    assert_eq!(
        json!([summary["pdus"], summary["undecodable"], summary["differing"], summary["sides"]]),
        json!([660, 0, 0, { "e2": 330, "e42": 330 }])
    );
    let messages = json!({
        "E2setupRequest": 2, "E2setupResponse": 2,
        "E42setupRequest": 2, "E42setupResponse": 2,
        "E42RICsubscriptionRequest": 4, "E42RICsubscriptionDeleteRequest": 4,
        "RICsubscriptionRequest": 4, "RICsubscriptionResponse": 8,
        "RICsubscriptionDeleteRequest": 4, "RICsubscriptionDeleteResponse": 8,
        "RICindication": 620,
    });
    assert_eq!(summary["messages"], messages);
    assert_eq!(summary["connections"].as_array().map(Vec::len), Some(4));
    assert_eq!(summary["problems"], json!([]));
}

#[test]
fn every_vector_round_trips() {
    for (folder, options, pdus) in [
        ("", &[][..], 8),
        ("e2ap/v1_01", &["--e2ap", "1.01"], 52),
        ("e2ap/v2_03", &[], 60),
        ("e2ap/v3_01", &[], 78),
        ("e2ap/v3_01", &["--e2ap", "3.01"], 78),
    ] {
        let (code, summary) = decode(options, &files_in(folder));
        assert_eq!((code, &summary["pdus"]), (Some(0), &json!(pdus)), "{folder}: {}", summary["problems"]);
    }
}

#[test]
fn line_shows_key_fields_and_notation_shows_whole_value() {
    let setup = format!("{VECTORS}/flexric_e2setup_request_v2_03.bin");
    let text = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ranlab"));
        let output = command.args(["pcap", "decode", &setup]).args(options).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let line = text(&[]);
    assert!(line.contains("E2setupRequest transaction=2 node=\"gnb 505.01 1"), "{line}");
    assert!(line.contains("functions=8 components=1 bytes="), "{line}");
    assert!(text(&["--notation"]).contains("ranFunctionOID"));
    let object: Value = serde_json::from_str(text(&["--format", "ndjson"]).lines().next().unwrap()).unwrap();
    assert_eq!(json!([object["message"], object["fields"]["functions"]]), json!(["E2setupRequest", "8"]));
}

#[test]
fn pdu_errors_are_reported() {
    let file = scratch("wrong.bin");
    let problem = |pdu: &[u8]| {
        std::fs::write(&file, pdu).unwrap();
        let (code, summary) = decode(&[], &[&file]);
        assert_eq!(code, Some(1));
        let problem = &summary["problems"][0];
        format!("{}: {}", problem["problem"].as_str().unwrap(), problem["reason"].as_str().unwrap())
    };
    let mut delete = vec![0, 9, 0, 18, 0, 0, 2, 0, 29, 0, 5, 0, 0, 1, 0, 0, 0, 5, 0, 2, 0, 0x8e];
    assert!(problem(&delete[..15]).starts_with("undecodable: truncated"));
    delete[9] |= 0x3f;
    assert!(problem(&delete).starts_with("differing: at byte 9: padding bits"));
    let v1 = std::fs::read(format!("{VECTORS}/e2ap/v1_01/ResetRequest-min.bin")).unwrap();
    assert!(problem(&v1).ends_with("try --e2ap 1.01"));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn damaged_captures_are_read_as_far_as_possible() {
    let whole = std::fs::read(flexric()).unwrap();
    let file = scratch("damaged.pcap");
    for keep in [4, 24, 30, 1000, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file, &whole[..keep]).unwrap();
        let (code, summary) = decode(&[], &[&file]);
        assert_eq!((code, &summary["undecodable"]), (Some(0), &json!(0)), "{keep}");
        assert!(summary["pdus"].as_u64().unwrap() <= 660);
        assert!(
            keep == 24 || summary["notes"].to_string().contains("ends in the middle"),
            "{keep}: {summary}"
        );
    }
    // A fixed seed gives the same damage in every run.
    let mut random = 12345_u64;
    for _ in 0..40 {
        let mut bytes = whole.clone();
        for _ in 0..200 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = 24 + (random >> 33) as usize % (bytes.len() - 24);
            bytes[at] = (random >> 20) as u8;
        }
        std::fs::write(&file, &bytes).unwrap();
        let (code, _) = decode(&[], &[&file]);
        assert!(matches!(code, Some(0 | 1)), "{code:?}");
    }
    std::fs::remove_file(file).unwrap();
}

/// Starts a RIC that echoes every message.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
        }
    });
    port
}

struct Recording {
    child: Child,
    address: String,
}

impl Recording {
    fn start(listen: &str, ric: u16, side: &str, out: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ranlab"))
            .args(["pcap", "record", "--format", "json", "--side", side, "--listen", listen])
            .args(["--connect", &format!("tcp://127.0.0.1:{ric}"), "--out", out.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(',').next());
        Self { address: address.unwrap_or_else(|| panic!("{line}")).to_owned(), child }
    }

    /// Stops the recording like Ctrl-C.
    fn stop(self) -> Value {
        // `kill` is run by the shell because not every system has a program of this name.
        let kill = format!("kill -INT {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(status.success());
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn exchange(stream: &mut (impl Read + Write), pdus: &[Vec<u8>]) {
    for pdu in pdus {
        let frame = [&(pdu.len() as u32).to_be_bytes()[..], pdu].concat();
        stream.write_all(&frame).unwrap();
        let mut answer = vec![0; frame.len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, frame, "the proxy must forward the frame unchanged");
    }
}

#[test]
fn recording_contains_both_directions() {
    let out = scratch("recorded.pcapng");
    let pdus: Vec<_> = files_in("e2ap/v2_03").iter().map(|path| std::fs::read(path).unwrap()).collect();
    let recording = Recording::start("tcp://127.0.0.1:0", echo(), "e2", &out);
    let mut stream = TcpStream::connect(recording.address.strip_prefix("tcp://").unwrap()).unwrap();
    exchange(&mut stream, &pdus);
    let summary = recording.stop();
    let recorded = 2 * pdus.len();
    assert_eq!(json!([summary["pdus"], summary["connections"]]), json!([recorded, 1]));
    let (code, summary) = decode(&[], &[&out]);
    assert_eq!((code, &summary["pdus"]), (Some(0), &json!(recorded)), "{summary}");
    let connection = &summary["connections"][0];
    assert_eq!(json!([connection["transport"], connection["pdus"]]), json!(["tcp", recorded]));
    protocols_of_tshark(&out, recorded);
    std::fs::remove_file(out).unwrap();
}

fn protocols_of_tshark(file: &Path, packets: usize) {
    let mut tshark = Command::new("tshark");
    let Ok(output) = tshark.args(["-T", "fields", "-e", "frame.protocols", "-r"]).arg(file).output() else {
        return skipped("tshark is not installed");
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let named = text.lines().filter(|line| line.split(':').any(|protocol| protocol == "e2ap")).count();
    assert_eq!(named, packets, "{text}");
}

#[test]
fn unix_socket_recording_contains_the_direction() {
    let socket = scratch("e42.sock");
    let out = scratch("unix.pcapng");
    let recording = Recording::start(&format!("unix://{}", socket.display()), echo(), "e42", &out);
    // Subscription delete request of FlexRIC.
    let pdu = vec![
        0x00, 0x10, 0x00, 0x18, 0, 0, 3, 0, 0x3e, 0, 2, 0, 8, 0, 0x1d, 0, 5, 0, 0, 1, 0, 0, 0, 5, 0, 2, 0,
        0x8e,
    ];
    exchange(&mut UnixStream::connect(&socket).unwrap(), &[pdu]);
    recording.stop();
    let (code, summary) = decode(&[], &[&out]);
    assert_eq!((code, &summary["sides"]), (Some(0), &json!({ "e42": 2 })));
    assert_eq!(summary["messages"], json!({ "E42RICsubscriptionDeleteRequest": 2 }));
    assert!(!socket.exists());
    std::fs::remove_file(out).unwrap();
}
