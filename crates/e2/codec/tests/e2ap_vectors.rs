//! Test vectors for every message of every version: bytes and values from an independent codec.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{self, Message, Version};
use std::path::{Path, PathBuf};

fn vectors(version: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/e2ap").join(version);
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "bin"));
    files.sort();
    files
}

/// Returns value notation without comments, with single spaces.
fn normalise(text: &str) -> String {
    let mut parts = text.split("--");
    let mut out = String::new();
    while let Some(part) = parts.next() {
        out.push_str(part);
        parts.next(); // a comment extends to the next pair of hyphens
    }
    // v2.03's text has a wrong name for a field of an E1 interface; the bits are the same.
    out.replace("gNB-CU-CP-ID", "gNB-CU-UP-ID")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(" ,", ",")
}

fn check(version: Version, folder: &str, messages: usize) {
    let files = vectors(folder);
    assert_eq!(files.len(), 2 * messages, "each message must have a minimal and a full vector");
    for file in files {
        let bytes = Bytes::from(std::fs::read(&file).unwrap());
        let decoded = e2ap::decode(&bytes, version).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let expected = std::fs::read_to_string(file.with_extension("txt")).unwrap();
        assert_eq!(normalise(&decoded.message.notation()), normalise(&expected), "{}", file.display());
        assert_eq!(decoded.notes().count(), 0, "{}", file.display());
        assert_eq!(e2ap::encode(&decoded.message, version).unwrap(), bytes, "{}", file.display());
    }
}

#[test]
fn v1_01_vectors_round_trip() {
    check(Version::V1_01, "v1_01", 26);
}

#[test]
fn v2_03_vectors_round_trip() {
    check(Version::V2_03, "v2_03", 30);
}

#[test]
fn v3_01_vectors_round_trip() {
    check(Version::V3_01, "v3_01", 39);
}

#[test]
fn every_message_of_every_version_round_trips() {
    let mut seen = 0;
    for version in Version::ALL {
        for name in Message::NAMES {
            for seed in 0..200 {
                let Some(message) = Message::random(name, seed, version) else { continue };
                let bytes = e2ap::encode(&message, version)
                    .unwrap_or_else(|e| panic!("{name} {version} {seed}: {e}"));
                let decoded = e2ap::decode(&bytes.clone().into(), version)
                    .unwrap_or_else(|e| panic!("{name} {version} {seed}: {e}\n{}", message.notation()));
                assert_eq!(decoded.message, message, "{name} {version} {seed}");
                assert_eq!(decoded.notes().count(), 0);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 200 * (26 + 30 + 39));
}
