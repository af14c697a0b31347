//! Compares our eCPRI messages with tshark, which must decode the encoded values. The test is skipped if tshark is absent.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use ranlab_packet::pcap::{LinkType, PcapWriter};
use ranlab_packet::{EtherType, Mac, write_ethernet};
use ranlab_xhaul::ecpri::{DelayMeasurement, ETHERTYPE, Message, Stream};
use std::process::Command;

const FIELDS: [&str; 10] = [
    "ecpri.type",
    "ecpri.size",
    "ecpri.pcid",
    "ecpri.rtcid",
    "ecpri.seqid",
    "ecpri.measurementid",
    "ecpri.actiontype",
    "ecpri.sec",
    "ecpri.nanosec",
    "ecpri.resetcode",
];

fn messages() -> Vec<(Message<'static>, &'static str)> {
    let stream = Stream { id: 0x1234, sequence: 0x0580, data: &[0xAB; 80] };
    let measurement = DelayMeasurement {
        id: 9,
        action: 2,
        seconds: 1_700_000_000,
        nanoseconds: 123_456_789,
        compensation: 5 << 16,
        filling: &[0; 40],
    };
    vec![
        (Message::IqData(stream), "0x00,84,0x1234,,0x0580,,,,,"),
        (Message::BitSequence(stream), "0x01,84,0x1234,,0x0580,,,,,"),
        (Message::RealTimeControl(stream), "0x02,84,,0x1234,0x0580,,,,,"),
        (Message::DelayMeasurement(measurement), "0x05,60,,,,0x09,0x02,1700000000,123456789,"),
        (Message::RemoteReset { id: 3, operation: 1, data: &[0; 50] }, "0x06,53,,,,,,,,0x01"),
        (Message::Other { message_type: 64, payload: &[1; 60] }, "0x40,60,,,,,,,,"),
    ]
}

/// Returns a pcap of Ethernet frames, one per message.
fn recording() -> Vec<u8> {
    let mut out = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    for (message, _) in messages() {
        let mac = |last| Mac([2, 0, 0, 0, 0, last]);
        let mut frame = write_ethernet(mac(1), mac(2), EtherType(ETHERTYPE)).to_vec();
        message.encode(false, &mut frame).unwrap();
        out.packet(0, &frame).unwrap();
    }
    out.into_inner()
}

#[test]
fn tshark_decodes_the_written_values() {
    let version = Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        ranlab_host::doctor::skipped("no tshark on this machine");
        return;
    }
    let path = std::env::temp_dir().join(format!("ranlab-ecpri-{}.pcap", std::process::id()));
    std::fs::write(&path, recording()).unwrap();
    let mut tshark = Command::new("tshark");
    // The payloads are not O-RAN messages, so this dissector is disabled.
    tshark.arg("-r").arg(&path).args([
        "--disable-protocol",
        "oran_fh_cus",
        "-T",
        "fields",
        "-E",
        "separator=,",
    ]);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.args(["-e", "_ws.expert"]).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<_> = messages().iter().map(|(_, line)| format!("{line},")).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(&output.stderr));
}
