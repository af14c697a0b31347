//! Compares PFCP and GTP-U with tshark. tshark must report no random message as malformed, and decode the same values.
//!
//! The test runs if tshark is installed. Otherwise it prints that it was skipped.
#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use ranlab_packet::gtpu;
use ranlab_packet::pcap::{LinkType, PcapWriter};
use ranlab_packet::{udp_headers_bytes, write_udp};
use ranlab_upf::pfcp::{self, Header, Message, Pdu, Random};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Number of random messages of each type.
const SEEDS: u64 = 40;

/// Writes a pcap of raw IPv4 packets, one for each pair of UDP port and payload.
fn pcap(name: &str, packets: &[(u16, Vec<u8>)]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut out = PcapWriter::new(Vec::new(), LinkType::RAW).unwrap();
    for (port, payload) in packets {
        let end = |host| SocketAddr::from(([10, 0, 0, host], *port));
        let mut packet = vec![0; udp_headers_bytes(end(2).ip())];
        write_udp(end(1), end(2), 64, payload, &mut packet).unwrap();
        packet.extend(payload);
        out.packet(0, &packet).unwrap();
    }
    std::fs::write(&path, out.into_inner()).unwrap();
    path
}

/// Returns one line per packet. Fields are separated by tabs, and repeated fields by commas. Returns `None` if tshark cannot run.
fn tshark(pcap: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    // Each message is independent. Requests in one file are not retransmissions of each other.
    command.args(["-n", "-T", "fields", "-E", "separator=/t", "-o", "gtp.check_etsi:FALSE", "-r"]).arg(pcap);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            ranlab_host::doctor::skipped(format_args!("tshark does not run ({error})"));
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

fn corpus() -> Vec<(Pdu, Vec<u8>)> {
    let mut corpus = Vec::new();
    for &(message_type, _) in Message::TYPES {
        for seed in 0..SEEDS {
            let mut random = Random::new(seed);
            let message = Message::random(message_type, &mut random).unwrap();
            let seid = Header::needs_seid(message_type).then(|| random.draw());
            let pdu = Pdu::new(message, seid, random.draw() as u32 & pfcp::MAX_SEQUENCE);
            let mut octets = Vec::new();
            pdu.encode(&mut octets).unwrap();
            corpus.push((pdu, octets));
        }
    }
    corpus
}

/// Returns the type numbers of elements at every depth, in tshark's order.
fn elements(octets: &[u8], found: &mut Vec<String>) {
    const GROUPS: [u16; 33] = [
        1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 77, 78, 79, 80, 83, 85, 86, 87, 99, 102,
        187, 5, 58, 59, 51, 54,
    ];
    for (number, value) in pfcp::Ies::new(octets).map(Result::unwrap) {
        found.push(number.to_string());
        if GROUPS.contains(&number) {
            elements(value, found);
        }
    }
}

#[test]
fn tshark_reads_every_pfcp_message() {
    let corpus = corpus();
    let packets: Vec<_> = corpus.iter().map(|(_, octets)| (pfcp::PORT, octets.clone())).collect();
    let fields = [
        "pfcp.msg_type",
        "pfcp.seqno",
        "pfcp.seid",
        "_ws.malformed",
        "_ws.expert.message",
        "pfcp.ie_type",
        "pfcp.cause",
        "pfcp.f_teid.teid",
        "pfcp.outer_hdr_creation.teid",
    ];
    let Some(lines) = tshark(&pcap("pfcp.pcap", &packets), &fields) else { return };
    assert_eq!(lines.len(), corpus.len());
    let mut faults = BTreeSet::new();
    for ((pdu, octets), line) in corpus.iter().zip(&lines) {
        let what = format!("{:?}\n{line:?}", pdu.message);
        assert_eq!(line[0], pdu.header.message_type.to_string(), "{what}");
        assert_eq!(line[1], pdu.header.sequence.to_string(), "{what}");
        if let Some(seid) = pdu.header.seid {
            assert!(line[2].starts_with(&format!("0x{seid:016x}")), "{what}");
        }
        if !line[3].is_empty() || !line[4].is_empty() {
            faults.insert(format!("{}: {} {}", pdu.header.message_type, line[3], line[4]));
        }
        let (_, body, _) = Header::read(octets).unwrap();
        let mut expected = Vec::new();
        elements(body, &mut expected);
        assert_eq!(line[5].split(',').filter(|s| !s.is_empty()).collect::<Vec<_>>(), expected, "{what}");
        if let Message::SessionEstablishmentResponse(response) = &pdu.message {
            assert_eq!(line[6], response.cause.0.to_string(), "{what}");
        }
        tunnels(pdu, line, &what);
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Compares the TEIDs of F-TEIDs and of outer headers in an establishment.
fn tunnels(pdu: &Pdu, line: &[String], what: &str) {
    let Message::SessionEstablishmentRequest(request) = &pdu.message else { return };
    let hex = |teid: u32| format!("0x{teid:08x}");
    let f_teids: Vec<_> = request
        .create_pdrs
        .iter()
        .filter_map(|pdr| match pdr.pdi.f_teid {
            Some(pfcp::FTeid::Assigned { teid, .. }) => Some(hex(teid)),
            _ => None,
        })
        .collect();
    assert_eq!(line[7], f_teids.join(","), "{what}");
    let parameters = request.create_fars.iter().filter_map(|far| far.forwarding_parameters.as_ref());
    let headers: Vec<_> = parameters.filter_map(|p| p.outer_header_creation?.teid).map(hex).collect();
    assert_eq!(line[8], headers.join(","), "{what}");
}

#[test]
fn tshark_reads_gtpu() {
    use gtpu::{GpduTemplate, Message, PduSession, UlPduSession, UlTimes};
    let mut packets = Vec::new();
    let mut expected = Vec::new();
    let ul =
        UlPduSession { qfi: 5, times: Some(UlTimes::default()), dl_delay_ms: Some(7), ..Default::default() };
    for session in [None, Some(PduSession::ul(9)), Some(PduSession::dl(63)), Some(PduSession::Ul(ul))] {
        let template = GpduTemplate::new(session).unwrap();
        let mut out = vec![0; 200];
        let inner = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let len = template.write(0x1234, inner.len(), &mut out).unwrap();
        out.truncate(len);
        out.extend(inner);
        packets.push((gtpu::PORT, out));
        expected.push((255, "0x00001234", session.map(|s| s.qfi().to_string()).unwrap_or_default()));
    }
    let peer = [10, 0, 0, 9].into();
    for (message, message_type) in [
        (Message::EchoRequest, 1),
        (Message::EchoResponse { recovery: 0 }, 2),
        (Message::ErrorIndication { teid: 7, peer, udp_port: Some(2152) }, 26),
        (Message::SupportedExtensionHeaders { kinds: &[0x85] }, 31),
        (Message::EndMarker, 254),
    ] {
        let mut out = Vec::new();
        gtpu::encode_message(&message, 0x1234, Some(1), &mut out).unwrap();
        packets.push((gtpu::PORT, out));
        expected.push((message_type, "0x00001234", String::new()));
    }
    let fields = [
        "gtp.message",
        "gtp.teid",
        "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
        "_ws.malformed",
        "_ws.expert.message",
    ];
    let Some(lines) = tshark(&pcap("gtpu.pcap", &packets), &fields) else { return };
    assert_eq!(lines.len(), packets.len());
    for ((message_type, teid, qfi), line) in expected.iter().zip(&lines) {
        assert_eq!(line[0], format!("0x{message_type:02x}"), "{line:?}");
        assert_eq!((line[1].as_str(), &line[2]), (*teid, qfi), "{line:?}");
        assert_eq!(line[3], "", "{line:?}");
    }
}
