//! FlatBuffers: conversion from and to PER without loss, and refusal of invalid input.
use std::process::Command;

use proptest::prelude::*;
use ranlab_e2_codec::Bytes;
use ranlab_e2_codec::e2ap::{Message, Version, decode, encode, fast};
use ranlab_e2_codec::e2sm::hw::Ping;
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_e2_codec::flat::{self, Coding, FlatError};

fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(Version::ALL.to_vec())
}

proptest! {
    #[test]
    fn every_message_round_trips(seed: u64, name in prop::sample::select(Message::NAMES.to_vec()), version in version()) {
        let Some(message) = Message::random(name, seed, version) else { return Ok(()) };
        let Ok(per) = encode(&message, version) else { return Ok(()) };
        let per = Bytes::from(per);
        let flat = flat::from_per(&per, version);
        prop_assert_eq!((Coding::detect(&per), Coding::detect(&flat)), (Coding::Per, Coding::Flat));
        let back = flat::to_per(&flat, version).unwrap();
        prop_assert_eq!(decode(&back, version).unwrap().message, message);
        prop_assert_eq!(back, per);
    }

    #[test]
    fn views_in_place_agree_with_per(seed: u64) {
        for name in ["RICindication", "RICcontrolRequest"] {
            let version = Version::V2_03;
            let per = Bytes::from(encode(&Message::random(name, seed, version).unwrap(), version).unwrap());
            let flat = flat::from_per(&per, version);
            let read = fast::Indication::decode(&per);
            prop_assert!(read.is_none() || flat::indication(&flat).unwrap() == read);
            let read = fast::Control::decode(&per, version);
            prop_assert!(read.is_none() || flat::control(&flat).unwrap() == read);
        }
    }

    #[test]
    fn corrupted_bytes_are_refused_without_panic(
        seed: u64,
        name in prop::sample::select(Message::NAMES.to_vec()),
        broken in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index,
    ) {
        let Some(message) = Message::random(name, seed, Version::V3_01) else { return Ok(()) };
        let Ok(per) = encode(&message, Version::V3_01) else { return Ok(()) };
        let mut flat = flat::from_per(&per.into(), Version::V3_01).to_vec();
        let short = Bytes::copy_from_slice(&flat[..cut.index(flat.len())]);
        let _ = Coding::Flat.receive(short, Version::V3_01);
        for (at, octet) in broken {
            let at = at.index(flat.len());
            flat[at] = octet;
        }
        if let Ok(per) = Coding::Flat.receive(flat.into(), Version::V3_01) {
            let _ = decode(&per, Version::V3_01);
        }
    }

    #[test]
    fn pings_round_trip(seq: u32, t_send_ns: u64, payload in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let ping = Ping { seq, t_send_ns, payload: payload.into() };
        let octets = ping.to_octets(Encoding::Flat).unwrap();
        prop_assert_eq!(Ping::decode_as(Encoding::Flat, &octets).unwrap(), ping);
    }

    #[test]
    fn conversion_never_panics(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Ping::decode_as(Encoding::Flat, &octets.clone().into());
        let mut pdu = octets;
        if pdu.len() >= 8 {
            pdu[..8].copy_from_slice(b"\x0c\0\0\0RLE2");
        }
        let _ = flat::to_per(&pdu.into(), Version::V2_03);
    }
}

#[test]
fn error_for_wrong_encoding_names_both_encodings() {
    let per = Message::random("RICindication", 1, Version::V2_03).unwrap();
    let per = Bytes::from(encode(&per, Version::V2_03).unwrap());
    let flat = flat::from_per(&per, Version::V2_03);
    let error = Coding::Flat.receive(per, Version::V2_03).unwrap_err();
    assert_eq!(error, FlatError::Encoding { configured: Coding::Flat, found: Coding::Per });
    let error = Coding::Per.receive(flat, Version::V2_03).unwrap_err().to_string();
    assert_eq!(error, "this connection is configured for aligned PER, the peer sends FlatBuffers");
}

#[test]
fn oversized_payload_is_refused() {
    let ping = Ping { seq: 1, t_send_ns: 2, payload: vec![0; 65_536].into() };
    let error = ping.to_octets(Encoding::Flat).unwrap_err();
    assert_eq!(error, FlatError::TooLong { have: 65_536, limit: 65_535 }.into());
}

/// Checks that flatc converts PDUs to JSON and back without a change.
#[test]
fn flatc_converts_pdus_in_both_directions() {
    if Command::new("flatc").arg("--version").output().is_err() {
        ranlab_host::doctor::skipped("no flatc on this machine (Debian's flatbuffers-compiler)");
        return;
    }
    let folder = std::env::temp_dir().join(format!("ranlab-flatc-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/ranlab.fbs");
    let flatc = |arguments: &[&str], file: &str| {
        let done = Command::new("flatc").current_dir(&folder).args(arguments).arg(file).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    };
    let named = Message::NAMES.iter().flat_map(|name| (0..20).map(move |seed| (name, seed)));
    let pdus = named.filter_map(|(name, seed)| {
        encode(&Message::random(name, seed, Version::V2_03)?, Version::V2_03).ok().map(Bytes::from)
    });
    let mut tables = 0;
    for per in pdus {
        let flat = flat::from_per(&per, Version::V2_03);
        std::fs::write(folder.join("pdu.bin"), &flat).unwrap();
        flatc(&["--json", "--strict-json", "--raw-binary", schema, "--"], "pdu.bin");
        let text = std::fs::read_to_string(folder.join("pdu.json")).unwrap();
        tables += usize::from(!text.contains("\"message_type\": \"Standard\""));
        flatc(&["--binary", schema], "pdu.json");
        let theirs = Bytes::from(std::fs::read(folder.join("pdu.bin")).unwrap());
        assert_eq!(flat::to_per(&theirs, Version::V2_03).unwrap(), per, "{text}");
    }
    assert!(tables > 50, "{tables}");
    std::fs::remove_dir_all(&folder).unwrap();
}
