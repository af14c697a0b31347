//! Statistics lists in PER and FlatBuffers, compared with the packed structs.
use std::process::Command;

use proptest::prelude::*;
use ranlab_e2_codec::Bytes;
use ranlab_e2_codec::e2sm::gtp::{Gtp, GtpIndication, GtpTunnel};
use ranlab_e2_codec::e2sm::list::ENCODINGS;
use ranlab_e2_codec::e2sm::plain::INDICATION_HEADER;
use ranlab_e2_codec::e2sm::{Encoding, INSPECTED, Inspect, Model, Octets, Value};

const HEADER: Bytes = Bytes::from_static(&INDICATION_HEADER);

/// Returns the statistics models.
fn statistics() -> impl Iterator<Item = &'static dyn Inspect> {
    INSPECTED.iter().copied().filter(|model| model.encodings() == ENCODINGS)
}

#[test]
fn tunnel_matches_the_byte_vector() {
    let tunnel = GtpTunnel { rnti: 0x4601, teid_gnb: 1, qfi: 9, teid_upf: 4 };
    let report = GtpIndication { tunnels: vec![tunnel], tstamp_us: 0x0123_4567 };
    let per = report.to_octets(Encoding::Per).unwrap();
    // An INTEGER of four bytes, then one element. Its 32-bit numbers have two bits of length and as few bytes as
    // possible.
    let expected = b"\x04\x01\x23\x45\x67\0\x01\x40\x46\x01\0\x01\x09\x04";
    assert_eq!(per[..], expected[..], "{per:02x?}");
    let flat = report.to_octets(Encoding::Flat).unwrap();
    assert_eq!(flat[28..32], 1_u32.to_le_bytes());
    assert_eq!(
        flat[32..],
        report.to_octets(Encoding::Plain).unwrap()[4..16],
        "the FlatBuffers element must have the layout of the packed struct"
    );
}

#[test]
fn timestamps_are_read_without_decoding() {
    for tstamp_us in [0, 1, -1, 127, 128, -128, -129, i64::MAX, i64::MIN, 1_700_000_000_000_000] {
        let report = GtpIndication { tunnels: Vec::new(), tstamp_us };
        for encoding in ENCODINGS {
            let octets = report.to_octets(encoding).unwrap();
            assert_eq!(Gtp.tstamp_us(encoding, &HEADER, &octets), Some(tstamp_us), "{encoding}");
        }
    }
}

#[test]
fn oversized_list_is_refused_in_per() {
    let report = GtpIndication { tunnels: vec![GtpTunnel::default(); 65_536], tstamp_us: 1 };
    let mut out = vec![7];
    assert!(report.encode_as(Encoding::Per, &mut out).is_err());
    assert_eq!(out, [7]);
    assert!(report.encode_as(Encoding::Flat, &mut out).is_ok());
}

proptest! {
    #[test]
    fn corrupted_bytes_are_refused_without_panic(
        seed: u64,
        broken in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        for model in statistics() {
            for encoding in ENCODINGS {
                let mut octets = model.sample(encoding, seed).unwrap().1.to_vec();
                for (at, octet) in &broken {
                    let at = at.index(octets.len());
                    octets[at] = *octet;
                }
                let octets = Bytes::from(octets);
                let _ = model.tstamp_us(encoding, &HEADER, &octets);
                let read = model.table(encoding, &HEADER, &octets);
                prop_assert_eq!(model.check(encoding, &HEADER, &octets).is_ok(), read.is_ok());
            }
        }
    }

    #[test]
    fn decode_never_panics(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let octets = Bytes::from(octets);
        for model in statistics() {
            for encoding in ENCODINGS {
                let _ = model.tstamp_us(encoding, &HEADER, &octets);
                let _ = model.table(encoding, &HEADER, &octets);
            }
        }
    }
}

/// Checks that flatc converts lists to JSON and back without a change of their tables.
#[test]
fn flatc_converts_lists_in_both_directions() {
    if Command::new("flatc").arg("--version").output().is_err() {
        ranlab_host::doctor::skipped("no flatc on this machine (Debian's flatbuffers-compiler)");
        return;
    }
    let folder = std::env::temp_dir().join(format!("ranlab-statistics-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/statistics.fbs");
    let flatc = |root: &str, arguments: &[&str], file: &str| {
        let mut command = Command::new("flatc");
        command.current_dir(&folder).args(["--root-type", root]).args(arguments).arg(file);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    };
    let mut rows = 0;
    for model in statistics() {
        let (first, rest) = model.name().split_at(1);
        let root = format!("e2.statistics.{}{rest}", first.to_uppercase());
        for seed in 0..10 {
            let (header, flat, table) = model.sample(Encoding::Flat, seed).unwrap();
            std::fs::write(folder.join("report.bin"), &flat).unwrap();
            flatc(&root, &["--json", "--strict-json", "--raw-binary", schema, "--"], "report.bin");
            flatc(&root, &["--binary", schema], "report.json");
            let theirs = Bytes::from(std::fs::read(folder.join("report.bin")).unwrap());
            let read = model.table(Encoding::Flat, &header, &theirs).unwrap();
            assert_eq!((read.tstamp_us, read.len()), (table.tstamp_us, table.len()), "{model} {seed}");
            for ((key, values), (their_key, their_values)) in table.rows().zip(read.rows()) {
                assert_eq!(key, their_key, "{model} {seed}");
                assert!(
                    values.iter().zip(their_values).all(|(a, b)| alike(a, b)),
                    "{values:?} {their_values:?}"
                );
                rows += 1;
            }
        }
    }
    assert!(rows > 100, "{rows}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Returns whether two values are equal, except for the digits of a float that JSON cannot represent.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Single(_), _) | (Value::Double(_), _) => {
            let a = a.number().unwrap_or(0.0);
            let b = b.number().unwrap_or(0.0);
            a == b || (!a.is_finite() && !b.is_finite()) || (a - b).abs() <= a.abs() * 1e-5 + 1e-5
        }
        _ => a == b,
    }
}
