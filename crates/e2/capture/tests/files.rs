//! Capture files that are written, read back, truncated, damaged, or read in pieces.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests

mod common;

use common::DELETE;
use proptest::prelude::*;
use ranlab_e2_capture::dissect::Known;
use ranlab_e2_capture::{Assembler, Endpoint, Findings, Flow, Recorder, Side, Trace, TraceError, Transport};
use ranlab_packet::pcap::{Event, is_capture, read};
use ranlab_packet::pcap::{LinkType, PcapWriter, PcapngWriter};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const FLEXRIC: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../codec/tests/vectors/flexric_e2_e42_sctp.pcap"));

/// Link type, interface, time in microseconds, whether the packet was cut, and bytes.
type RecordedPacket = (u16, Option<String>, Option<u64>, bool, Vec<u8>);

fn packets(capture: impl Read + Send) -> (Vec<RecordedPacket>, Vec<String>) {
    let mut seen = Vec::new();
    let mut faults = Vec::new();
    read(capture, |event| match event {
        Event::Packet(p) => {
            assert_eq!(p.number, seen.len() as u64 + 1);
            let interface = p.interface.map(str::to_owned);
            seen.push((p.link_type.0, interface, p.time_us, p.cut, p.data.to_vec()));
        }
        // A note is collected once, even if its fault occurs several times.
        Event::Fault(fault, _) if !faults.contains(&fault.to_string()) => faults.push(fault.to_string()),
        Event::Fault(..) => {}
    })
    .unwrap();
    (seen, faults)
}

fn pcap(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = PcapWriter::new(&mut out, LinkType::RAW).unwrap();
    packets.iter().for_each(|(at_ns, data)| writer.packet(*at_ns, data).unwrap());
    writer.flush().unwrap();
    out
}

#[test]
fn empty_file_is_reported() {
    assert_eq!(packets(&[][..]), (Vec::new(), vec!["the file is empty".to_owned()]));
}

#[test]
fn compressed_capture_reads_like_uncompressed() {
    let plain = pcap(&[(1_000, vec![0xaa, 0xbb]), (2_000, vec![0xcc])]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut encoder, &plain).unwrap();
    assert_eq!(packets(&encoder.finish().unwrap()[..]), packets(&plain[..]));
}

#[test]
fn frame_check_sequence_is_removed() {
    let mut capture = pcap(&[(0, vec![1, 2, 3, 4, 5, 6, 7, 8])]);
    // Bit 26 states that a check sequence is present. Bits 28 to 31 give its length of two 16-bit words.
    capture[20..24].copy_from_slice(&0x2400_0001_u32.to_le_bytes());
    let (seen, notes) = packets(&capture[..]);
    assert_eq!((seen[0].0, seen[0].4.as_slice(), notes.len()), (1, &[1, 2, 3, 4][..], 0));
    // If the bit is not set, the length of the check sequence is ignored.
    capture[20..24].copy_from_slice(&0x2000_0001_u32.to_le_bytes());
    assert_eq!(packets(&capture[..]).0[0].4.len(), 8);
}

/// The file layouts match the specifications byte by byte (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).
#[test]
fn file_layouts_match_the_specifications() {
    let out = pcap(&[(1_000_000_002, vec![0xaa, 0xbb])]);
    let head = [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0];
    let record = [1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0xaa, 0xbb];
    assert_eq!(out, [&head[..], &record].concat());

    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let section = writer.interface(LinkType::ETHERNET, "up").map(|number| assert_eq!(number, 0));
    section.unwrap();
    writer.packet(0, 0x1_0000_0002, &[0xaa, 0xbb, 0xcc], 9).unwrap();
    assert!(
        writer.packet(1, 0, &[], 0).is_err(),
        "a packet of an interface without a description must be rejected"
    );
    writer.flush().unwrap();
    let out = writer.into_inner();
    let length = |at: usize| u32::from_le_bytes(out[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(out[..12], [0x0a, 0x0d, 0x0d, 0x0a, out[4], 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a]);
    assert_eq!(out[12..24], [1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    let interface = length(4);
    assert_eq!(length(interface - 4), interface);
    let description = [
        1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, b'u', b'p', 0, 0, 9, 0, 1, 0, 9, 0, 0,
        0, 0, 0, 0, 0, 40, 0, 0, 0,
    ];
    assert_eq!(out[interface..interface + 40], description);
    let packet = [
        6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0xaa, 0xbb,
        0xcc, 0, 36, 0, 0, 0,
    ];
    assert_eq!(out[interface + 40..], packet);
}

proptest! {
    /// Both formats are read back unchanged, to the microsecond.
    #[test]
    fn written_capture_reads_back(
        packets_in in prop::collection::vec((0..4_000_000_000_000_000_000_u64, prop::collection::vec(any::<u8>(), 0..300)), 0..20),
        names in prop::collection::vec("[a-z0-9 ]{0,12}", 1..5),
    ) {
        let expected: Vec<RecordedPacket> = packets_in.iter().map(|(at_ns, data)| (101, None, Some(at_ns / 1000), false, data.clone())).collect();
        prop_assert_eq!(packets(&pcap(&packets_in)[..]), (expected, vec![]));

        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        for name in &names {
            writer.interface(LinkType::ETHERNET, name).unwrap();
        }
        let mut expected: Vec<RecordedPacket> = Vec::new();
        for (n, (at_ns, data)) in packets_in.iter().enumerate() {
            let interface = n % names.len();
            let missing = n % 3;
            writer.packet(interface as u32, *at_ns, data, data.len() + missing).unwrap();
            let name = Some(names[interface].clone());
            expected.push((1, name, Some(at_ns / 1000), missing > 0, data.clone()));
        }
        let (seen, notes) = packets(&writer.into_inner()[..]);
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(notes.len(), usize::from(packets_in.len() > 1), "there must be one note on truncated packets: {:?}", notes);
    }

    /// A truncated capture gives the packets before its end and a note. Reading a damaged capture does not fail.
    #[test]
    fn truncated_capture_is_read_to_its_end(
        sizes in prop::collection::vec(0..200_usize, 1..12),
        keep in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let all: Vec<_> = sizes.iter().map(|&size| (7, vec![0x45; size])).collect();
        let mut whole = pcap(&all);
        let keep = keep.index(whole.len() + 1);
        let (seen, notes) = packets(&whole[..keep]);
        let mut ends: Vec<_> = sizes.iter().scan(24, |end, size| { *end += 16 + size; Some(*end) }).collect();
        prop_assert_eq!(seen.len(), ends.iter().filter(|end| **end <= keep).count());
        ends.push(24);
        prop_assert_eq!(notes.is_empty(), ends.contains(&keep), "{}: {:?}", keep, notes);
        for (at, value) in damage {
            let at = 24 + at.index(whole.len() - 24);
            whole[at] = value;
        }
        packets(&whole[..]);
    }
}

#[test]
fn times_are_read_in_any_byte_order_and_resolution() {
    // The file has the format that tcpdump writes on a big-endian machine: microseconds, Ethernet with a frame check
    // sequence.
    let mut big =
        vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0x40, 0, 0, 1];
    big.extend([0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1, 0xaa]);
    assert_eq!(packets(&big[..]).0, [(1, None, Some(5_000_006), false, vec![0xaa])]);
    // The pcapng has times in milliseconds (10^-3) that count from 1000 s, and a packet of an unknown interface.
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    writer.interface(LinkType::RAW, "x").unwrap();
    writer.packet(0, 7, &[1], 1).unwrap();
    let mut ng = writer.into_inner();
    let at = ng.windows(8).position(|w| w == [9, 0, 1, 0, 9, 0, 0, 0]).unwrap();
    ng[at + 4] = 3;
    assert_eq!(packets(&ng[..]).0[0].2, Some(7000));
    let packet = ng.len() - 36;
    ng[packet + 8] = 1;
    let (seen, notes) = packets(&ng[..]);
    assert!(seen.is_empty() && notes[0].contains("does not describe"), "{notes:?}");
}

#[test]
fn recorded_pdus_round_trip_unless_truncated() {
    let huge = vec![0; 300_000];
    let end = |address: [u8; 4], port| Endpoint { address: Some(address.into()), port };
    let source = end([10, 0, 0, 1], 5000);
    let destination = end([11, 0, 0, 1], 6000);
    let flow = Flow { transport: Transport::Sctp, source, destination };
    let six = Flow { source: Endpoint { address: Some("fd00::1".parse().unwrap()), port: 7 }, ..flow };
    let nowhere = Flow { transport: Transport::Exported, destination: Endpoint::default(), ..six };
    let mut recorder = Recorder::new(Vec::new()).unwrap();
    let records = [
        (Side::E42, flow, &DELETE[..]),
        (Side::E2, flow, &huge),
        (Side::E2, six, &DELETE),
        (Side::E42, nowhere, &[]),
    ];
    for (side, flow, pdu) in records {
        recorder.write(side, 1_700_000_000_123_456_789, &flow, pdu).unwrap();
    }
    recorder.flush().unwrap();
    let mut assembler = Assembler::new(false);
    let mut found = Findings::default();
    let capture = recorder.into_inner();
    assert!(is_capture(&capture) && !is_capture(&DELETE));
    read(&capture[..], |event| assembler.event(event, &mut found)).unwrap();
    let pdus: Vec<_> = found.pdus.iter().map(|pdu| (pdu.side.unwrap(), pdu.flow, &pdu.bytes[..])).collect();
    assert_eq!(pdus, [records[0], records[2], records[3]]);
    assert_eq!(found.pdus[0].time_us, Some(1_700_000_000_123_456));
    assert_eq!(found.pdus[0].flow.to_string(), "10.0.0.1:5000 -> 11.0.0.1:6000");
    assert_eq!(found.notes.list().len(), 1);
}

/// Reader that returns one byte per call, like a slow pipe.
struct Dripping<'a>(&'a [u8]);

impl Read for Dripping<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let room = buf.len().min(1);
        self.0.read(&mut buf[..room])
    }
}

/// A capture that is still being written: the reader has no further data after each piece. Counts the pieces that
/// were read.
struct Growing<'a> {
    rest: &'a [u8],
    piece: usize,
    left: usize,
    pauses: Arc<AtomicUsize>,
}

impl Read for Growing<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.rest.is_empty() {
            self.left = self.piece;
            self.pauses.fetch_add(1, Ordering::Relaxed);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let room = buf.len().min(self.left);
        let read = self.rest.read(&mut buf[..room])?;
        self.left -= read;
        Ok(read)
    }
}

/// Reader that returns some data and then fails, like a failing disk.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::ErrorKind::PermissionDenied.into()) } else { self.0.read(buf) }
    }
}

#[test]
fn decoded_messages_do_not_depend_on_read_sizes() {
    let mut trace = Trace::new(Known::default(), true);
    let mut numbers = 0;
    trace
        .read(Dripping(FLEXRIC), |dissected, problem| {
            numbers += 1;
            assert!(dissected.number == numbers && problem.is_none());
        })
        .unwrap();
    // A second file continues with the state of the first file.
    trace.read(&DELETE[..], |dissected, _| assert_eq!(dissected.number, 661)).unwrap();
    let summary = trace.finish();
    assert_eq!((summary.pdus, summary.undecodable, summary.differing), (661, 0, Some(0)));
    assert_eq!((summary.sides[&Side::E2], summary.connections.len()), (331, 5));
}

#[test]
fn growing_capture_is_read_incrementally() {
    for piece in [29, 1_000, 70_000] {
        let pauses = Arc::new(AtomicUsize::new(0));
        let source = Growing { rest: FLEXRIC, piece, left: piece, pauses: Arc::clone(&pauses) };
        let mut trace = Trace::new(Known::default(), true);
        let mut early = 0;
        let mut all = 0;
        let last = FLEXRIC.len().div_ceil(piece) - 1;
        trace
            .read(source, |_, problem| {
                assert!(problem.is_none());
                all += 1;
                early += u32::from(pauses.load(Ordering::Relaxed) < last);
            })
            .unwrap();
        // Messages are delivered before the end of the capture.
        assert!(
            all == 660 && early > 0,
            "with pieces of {piece}, {early} of {all} messages were delivered before the last piece"
        );
    }
}

#[test]
fn unreadable_file_is_an_error() {
    let read = |source: &mut (dyn Read + Send)| Trace::new(Known::default(), false).read(source, |_, _| {});
    assert!(matches!(read(&mut io::empty()), Err(TraceError::Empty)));
    assert!(matches!(read(&mut io::repeat(1)), Err(TraceError::TooLong)));
    for kept in [0, 3, 100, 5000] {
        assert!(matches!(read(&mut Failing(&FLEXRIC[..kept])), Err(TraceError::Io(_))), "{kept}");
    }
}

#[test]
fn undecodable_pdu_is_counted_in_the_summary() {
    let mut trace = Trace::new(Known::default(), true);
    let mut padded = DELETE;
    padded[9] |= 0x3f;
    for pdu in [&DELETE[..15], &padded[..], &DELETE[..]] {
        trace.read(pdu, |_, _| {}).unwrap();
    }
    let summary = trace.finish();
    assert_eq!((summary.pdus, summary.undecodable, summary.differing), (3, 1, Some(1)));
    let problems: Vec<_> = summary.problems.iter().map(|p| (p.pdu, p.problem)).collect();
    assert_eq!(problems, [(1, "undecodable"), (2, "differing")]);
    assert_eq!(summary.messages.values().sum::<u64>(), 2);
}
