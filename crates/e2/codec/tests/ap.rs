//! Messages of the interfaces between nodes: round trips, and comparison with two independent decoders.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use ranlab_e2_codec::ap::messages::samples;
use ranlab_e2_codec::ap::{Interface, Message, Value};
use ranlab_packet::pcap::{LinkType, PcapWriter};

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns several messages of each type.
fn messages() -> Vec<(Message, Bytes)> {
    let seeds = [0, 1, 7, 255, 256, 65_535, 65_536, 0xffff_ffff, 0xf0_1234_5678, u64::MAX];
    let all = seeds.into_iter().flat_map(|seed| samples(seed).unwrap());
    all.map(|message| (message.clone(), message.to_octets().unwrap())).collect()
}

#[test]
fn messages_round_trip_and_prefixes_fail() {
    for (message, octets) in messages() {
        assert_eq!(Message::read(message.interface, &octets).as_ref(), Ok(&message));
        assert!(!message.procedure_name().starts_with('#') && !message.ue_ids().is_empty(), "{message:?}");
        for end in 0..octets.len() {
            assert!(Message::read(message.interface, &octets.slice(..end)).is_err(), "{message:?} {end}");
        }
        for at in 0..octets.len() {
            for bit in 0..8 {
                let mut wrong = octets.to_vec();
                wrong[at] ^= 1 << bit;
                for interface in Interface::ALL {
                    if let Ok(read) = Message::read(interface, &wrong.clone().into()) {
                        let _ = (read.ue_ids(), read.procedure_name());
                    }
                }
            }
        }
    }
}

#[test]
fn known_elements_are_decoded() {
    let all = samples(0x1_0000_0007).unwrap();
    assert_eq!(all[1].ue_ids(), [("ran", 7), ("amf", 0x1_0000_0007)]);
    assert_eq!(all[4].ue_ids(), [("source", 7), ("target", 3)]);
    let Some(Value::Octets(nas)) = all[0].value(38) else { panic!() };
    // TS 24.501: a registration request with the null-scheme SUCI 001/01, MSIN 0000000007, without protection.
    assert_eq!(hex(&nas), "7e004179000d0100f110f0ff00000000000070");
    assert_eq!((all[0].value(121), all[0].value(4_000)), (None, None));
}

/// Compares with pycrate, which has the ASN.1 of these interfaces. Runs if `RANLAB_PYTHON` names a Python with
/// pycrate.
#[test]
fn pycrate_decodes_and_reencodes_every_message() {
    let Some(python) = std::env::var_os("RANLAB_PYTHON") else {
        ranlab_host::doctor::skipped(
            "pycrate: RANLAB_PYTHON names no Python that has it (make test installs it)",
        );
        return;
    };
    let mut lines = String::new();
    for (message, octets) in messages() {
        let ids: Vec<_> = message.ue_ids().iter().map(|(_, number)| number.to_string()).collect();
        let interface = message.interface.name();
        let name = message.procedure_name();
        writeln!(lines, "{interface}\t{name}\t{}\t{}", ids.join(","), hex(&octets)).unwrap();
    }
    let corpus = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ap.tsv");
    std::fs::write(&corpus, &lines).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/pycrate_ap.py");
    let output = Command::new(python).arg(script).arg(corpus).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    print!("{stdout}");
}

/// Compares procedure code and information elements of each message with tshark's dissectors.
#[test]
fn tshark_shows_the_same_procedures_and_elements() {
    let version = Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        ranlab_host::doctor::skipped("no tshark on this machine");
        return;
    }
    for (interface, protocol) in [(Interface::Ng, "ngap"), (Interface::Xn, "xnap"), (Interface::F1, "f1ap")] {
        let of: Vec<_> = messages().into_iter().filter(|(it, _)| it.interface == interface).collect();
        let mut out = PcapWriter::new(Vec::new(), LinkType(147)).unwrap();
        of.iter().for_each(|(_, octets)| out.packet(0, octets).unwrap());
        let file = format!("ranlab-{protocol}-{}.pcap", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::write(&path, out.into_inner()).unwrap();
        let user = format!("uat:user_dlts:\"User 0 (DLT=147)\",\"{protocol}\",\"0\",\"\",\"0\",\"\"");
        let fields =
            [format!("{protocol}.procedureCode"), format!("{protocol}.id"), "_ws.malformed".to_owned()];
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&path).args(["-o", &user, "-T", "fields", "-E", "separator=;"]);
        for field in &fields {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().unwrap();
        std::fs::remove_file(&path).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let expected = |(message, _): &(Message, Bytes)| {
            let ids: Vec<_> = message.ies.iter().map(|ie| ie.id.to_string()).collect();
            format!("{};{};", message.procedure, ids.join(","))
        };
        let expected: Vec<_> = of.iter().map(expected).collect();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{protocol}: {stderr}");
    }
}
