//! Comparison with pycrate, an independent codec, in both directions for random messages.
//!
//! Runs if `RANLAB_PYTHON` names a Python with pycrate, which `make test` arranges. v1.01 is not compared, because
//! pycrate does not decode it correctly.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use bytes::Bytes;
use ranlab_e2_codec::e2ap::{self, Message, Version};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Number of random messages of each kind and version.
const SEEDS: u64 = 60;
const VERSIONS: [Version; 2] = [Version::V2_03, Version::V3_01];

/// Returns value notation without comments, with single spaces.
fn normalise(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split("--").enumerate() {
        if i % 2 == 0 {
            out.push_str(part);
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",")
}

/// Returns the lines of input for the Python script, and their number.
fn corpus() -> (String, usize) {
    let mut lines = String::new();
    let mut count = 0;
    for version in VERSIONS {
        for name in Message::NAMES {
            for message in (0..SEEDS).filter_map(|seed| Message::random(name, seed, version)) {
                let hex = e2ap::encode(&message, version).unwrap().iter().fold(String::new(), |mut s, o| {
                    write!(s, "{o:02x}").unwrap();
                    s
                });
                writeln!(lines, "{version}\t{name}\t{hex}\t{}", normalise(&message.notation())).unwrap();
                count += 1;
            }
        }
    }
    (lines, count)
}

/// Decodes a line of pycrate and checks values, absence of notes, and bytes. Fails with the difference.
fn read_back(line: &str) -> Result<(), String> {
    let [version, name, hex, notation] = line.split('\t').collect::<Vec<_>>()[..] else {
        return Err(format!("not four fields: {line}"));
    };
    let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Bytes = (0..hex.len()).step_by(2).map(octet).collect();
    let version: Version = version.parse().unwrap();
    let what = |fault: String| format!("{version} {name}: {fault}\n{hex}\n{notation}");
    let decoded = e2ap::decode(&bytes, version).map_err(|e| what(e.to_string()))?;
    let values = normalise(&decoded.message.notation());
    if values != notation {
        return Err(what(format!("read as {values}")));
    }
    if let Some(note) = decoded.notes().next() {
        return Err(what(note.to_owned()));
    }
    let again = e2ap::encode(&decoded.message, version).map_err(|e| what(e.to_string()))?;
    if again == bytes { Ok(()) } else { Err(what(format!("encoded as {again:02x?}"))) }
}

#[test]
fn pycrate_agrees_on_random_messages() {
    let Some(python) = std::env::var_os("RANLAB_PYTHON") else {
        ranlab_host::doctor::skipped(
            "pycrate: RANLAB_PYTHON names no Python that has it (make test installs it)",
        );
        return;
    };
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let ours = dir.join("pycrate_ours.tsv");
    let theirs = dir.join("pycrate_theirs.tsv");
    let (lines, count) = corpus();
    assert_eq!(count, SEEDS as usize * (30 + 39));
    std::fs::write(&ours, lines).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/pycrate_check.py");
    let output = Command::new(python).arg(script).args([&ours, &theirs]).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let objections = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{objections}");
    print!("{stdout}");
    let made = std::fs::read_to_string(&theirs).unwrap();
    let faults: Vec<_> = made.lines().filter_map(|line| read_back(line).err()).collect();
    assert!(
        faults.is_empty(),
        "{} of {}: {:#?}",
        faults.len(),
        made.lines().count(),
        &faults[..faults.len().min(5)]
    );
    assert!(
        made.lines().count() > count / 2,
        "pycrate wrote only {} of {count} messages",
        made.lines().count()
    );
}
