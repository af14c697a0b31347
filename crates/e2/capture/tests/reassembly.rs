//! Messages reassembled from packets that arrive out of order, twice, in pieces, or not at all.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests

mod common;

use bytes::Bytes;
use common::*;
use proptest::prelude::*;
use ranlab_e2_capture::{Assembler, E2_PORT, Findings, MAX_HELD_BYTES};
use ranlab_packet::pcap::LinkType;
use ranlab_packet::{EtherType, Mac, Protocol, write_ethernet};

const FIRST: &[u8] = &[0, 0, 0, 5, 0, 5, 0x40, 1, 9];
const SECOND: &[u8] = &[0, 0, 0, 6, 0, 8, 0, 2, 7, 7];

fn both() -> Vec<Bytes> {
    vec![Bytes::from_static(&FIRST[4..]), Bytes::from_static(&SECOND[4..])]
}

#[test]
fn segments_join_in_any_order_across_wrap() {
    let stream = [FIRST, SECOND].concat();
    for base in [100, u32::MAX - 7, u32::MAX] {
        let part = |from: usize, to: usize| tcp(base.wrapping_add(1 + from as u32), 0, &stream[from..to]);
        let orders = [
            vec![part(0, 3), part(3, 11), part(11, 19)],
            vec![part(11, 19), part(3, 11), part(0, 3)],
            vec![part(0, 3), part(0, 3), part(0, 12), part(3, 11), part(11, 19)],
            vec![part(0, 3), part(11, 19), part(2, 13)],
        ];
        for order in orders {
            let packets = [&[tcp(base, SYN, &[])], &order[..]].concat();
            assert_eq!(assembled(&packets, false), (both(), vec![]), "{base}");
        }
    }
}

#[test]
fn stream_gap_is_noted_and_reading_resumes() {
    let packets = [tcp(0, SYN, &[]), tcp(1, 0, FIRST), tcp(1000, 0, &[1, 2, 3]), tcp(1003, 0, SECOND)];
    let (found, notes) = assembled(&packets, false);
    assert_eq!((found, notes.len()), (both(), 1), "{notes:?}");
    assert!(notes[0].contains("missing"));
}

#[test]
fn capture_may_begin_within_a_connection() {
    let (found, notes) = assembled(&[tcp(77, 0, &FIRST[2..]), tcp(84, 0, SECOND)], false);
    assert_eq!(found, both()[1..]);
    assert!(notes[0].contains("in the middle"));
}

#[test]
fn connection_of_another_protocol_is_skipped() {
    let packets = [tcp(0, SYN, &[]), tcp(1, 0, b"GET / HTTP/1.1\r\n\r\n"), tcp(19, 0, SECOND)];
    let (found, notes) = assembled(&packets, false);
    assert_eq!(found, Vec::<Bytes>::new());
    assert!(notes[0].contains("is not E2"), "{notes:?}");
}

#[test]
fn reused_ports_and_repeated_syn_are_handled() {
    let mut packets = vec![tcp(0, SYN, &[]), tcp(1, 0, FIRST), tcp(0, SYN, &[]), tcp(1, 0, FIRST)];
    packets.extend([tcp(5000, SYN, &[]), tcp(5001, 0, SECOND)]);
    assert_eq!(assembled(&packets, false), (both(), vec![]));
}

#[test]
fn fin_before_last_segment_does_not_lose_bytes() {
    let end = 1 + FIRST.len() as u32;
    let packets = [tcp(0, SYN, &[]), tcp(1, 0, &FIRST[..5]), tcp(end, FIN, &[]), tcp(6, 0, &FIRST[5..])];
    assert_eq!(assembled(&packets, false), (both()[..1].to_vec(), vec![]));
    let (found, notes) = assembled(&packets[..3], false);
    assert_eq!((found.len(), notes.len()), (0, 1));
    assert!(notes[0].contains("ends in the middle of a message"), "{notes:?}");
}

/// Segments wait on both sides of the wrap. The segment before the wrap is processed first.
#[test]
fn early_segments_keep_their_order_across_the_wrap() {
    let stream = [FIRST, SECOND].concat();
    let base = u32::MAX - 11;
    let part = |from: usize, to: usize| tcp(base.wrapping_add(1 + from as u32), 0, &stream[from..to]);
    // Bytes 9 to 13 span the wrap; bytes 16 to 19 follow the wrap.
    let packets = [tcp(base, SYN, &[]), part(16, 19), part(9, 16), part(0, 2), part(2, 12)];
    assert_eq!(assembled(&packets, false), (both(), vec![]));
}

#[test]
fn fragments_join_in_any_order_across_wrap() {
    let first = data(BEGIN, u32::MAX, 1, 70, b"abc");
    let middle = data(0, 0, 1, 70, b"de");
    let last = data(END, 1, 1, 70, b"f");
    for order in [[&first, &middle, &last], [&last, &first, &middle], [&middle, &last, &first]] {
        let packets: Vec<_> = order.map(|chunk| sctp(1, std::slice::from_ref(chunk))).into();
        assert_eq!(assembled(&packets, false), (vec![Bytes::from("abcdef")], vec![]));
    }
    let (found, notes) = assembled(&[sctp(1, &[first, last])], false);
    assert_eq!((found.len(), notes.len()), (0, 1));
    assert!(notes[0].contains("fragments are missing"));
}

#[test]
fn retransmitted_chunk_is_skipped_but_new_chunk_in_its_packet_is_read() {
    let whole = |tsn, octet| data(BEGIN | END, tsn, 0, 70, &[octet]);
    let packets = [sctp(1, &[whole(5, b'x')]), sctp(1, &[whole(5, b'x'), whole(6, b'y')])];
    let (found, notes) = assembled(&packets, false);
    assert_eq!(found, [&b"x"[..], b"y"]);
    assert!(notes.len() == 1 && notes[0].contains("sent again"), "{notes:?}");
    // Another association uses the same ports.
    assert_eq!(assembled(&[sctp(1, &[whole(5, b'x')]), sctp(2, &[whole(5, b'x')])], false).0.len(), 2);
}

#[test]
fn messages_of_other_payload_protocols_are_read_only_on_request() {
    let packets = [sctp(1, &[data(BEGIN | END, 5, 0, 46, b"x"), data(BEGIN | END, 6, 0, 71, b"y")])];
    let (found, notes) = assembled(&packets, false);
    assert_eq!((found, notes.len()), (vec![Bytes::from("y")], 1));
    assert_eq!(assembled(&packets, true).0.len(), 2);
}

#[test]
fn datagram_is_recognized_as_e2_by_port_or_first_bytes() {
    let found = |port, payload: &[u8], trusting| {
        let (found, notes) = assembled(&[udp(port, payload)], trusting);
        assert!(found.iter().all(|pdu| pdu == payload));
        (found.len(), notes.len())
    };
    assert_eq!(found(E2_PORT, b"anything", false), (1, 0));
    assert_eq!(found(5000, &DELETE, false), (1, 0));
    assert_eq!(found(53, b"a DNS query", false), (0, 1));
    assert_eq!(found(53, b"payload of a chosen port", true), (1, 0));
}

#[test]
fn truncated_datagram_gives_no_pdu() {
    let whole = udp(E2_PORT, &DELETE);
    let mut assembler = Assembler::new(false);
    let mut found = Findings::default();
    let cut =
        ranlab_packet::pcap::Packet { cut: true, ..packet(1, LinkType::RAW, &whole[..whole.len() - 1]) };
    assembler.packet(&cut, &mut found);
    assert_eq!(found.pdus, []);
}

#[test]
fn ip_fragments_are_reported() {
    let mut packet = udp(E2_PORT, &DELETE);
    packet[6] = 0x20;
    let (found, notes) = assembled(&[packet], false);
    assert!(found.is_empty() && notes[0].contains("fragment of an IP packet"), "{notes:?}");
}

/// Returns a message: bytes like the start of a PDU, then bytes that do not look like a start.
fn message(size: usize) -> Vec<u8> {
    let mut message = vec![0, 5, 0x40, 1];
    message.extend((0..size).map(|n| 0x80 | n as u8));
    message
}

fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
    messages.iter().flat_map(|m| [&(m.len() as u32).to_be_bytes()[..], m].concat()).collect()
}

/// Generates overlapping pieces of up to 1400 bytes, shuffled, some twice, which cover every byte at least once.
fn pieces(octets: usize) -> impl Strategy<Value = Vec<(usize, usize)>> {
    let cuts = prop::collection::vec(
        (0..=octets, 0..40_usize, 1..=2_usize),
        octets.div_ceil(700)..20 + octets / 300,
    );
    let pieces = cuts.prop_map(move |mut cuts| {
        cuts.sort_unstable();
        let mut begin = 0;
        let mut pieces = Vec::new();
        for (cut, overlap, times) in cuts.into_iter().chain([(octets, 0, 1)]) {
            while begin < cut {
                let end = cut.min(begin + 1400);
                pieces.extend(vec![(begin, (end + overlap).min(octets)); times]);
                begin = end;
            }
        }
        pieces
    });
    pieces.prop_shuffle()
}

/// Generates messages, the first sequence number of their stream, and the pieces of the stream.
fn streams() -> impl Strategy<Value = (Vec<Vec<u8>>, u32, Vec<(usize, usize)>)> {
    let base = prop_oneof![any::<u32>(), (0..20_000_u32).prop_map(u32::wrapping_neg)];
    (prop::collection::vec(0..3000_usize, 1..12), base).prop_flat_map(|(sizes, base)| {
        let messages: Vec<_> = sizes.into_iter().map(message).collect();
        let octets = framed(&messages).len();
        (Just(messages), Just(base), pieces(octets))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Segments in any order, repeated or overlapping, over IPv4 or IPv6, give the same messages in order, without a
    /// note. No data remains in memory.
    #[test]
    fn messages_do_not_depend_on_tcp_segments((messages, base, pieces) in streams(), six in any::<bool>()) {
        let stream = framed(&messages);
        let wrap = |segment: Vec<u8>| {
            if six { v6(Protocol::TCP, &segment) } else { v4(Protocol::TCP, &segment) }
        };
        let mut assembler = Assembler::new(false);
        let mut found = Findings::default();
        let part = |&(from, to): &(usize, usize)| {
            let fin = if to == stream.len() { FIN } else { 0 };
            segment(base.wrapping_add(1 + from as u32), fin, &stream[from..to])
        };
        let segments = std::iter::once(segment(base, SYN, &[])).chain(pieces.iter().map(part));
        for (number, octets) in (1..).zip(segments.map(wrap)) {
            assembler.packet(&packet(number, LinkType::RAW, &octets), &mut found);
        }
        prop_assert_eq!(assembler.held_bytes(), 0);
        assembler.finish(&mut found);
        prop_assert!(found.notes.list().is_empty(), "{:?}", found.notes.list());
        prop_assert_eq!(found.pdus.into_iter().map(|pdu| pdu.bytes.to_vec()).collect::<Vec<_>>(), messages);
    }

    /// A loss affects the messages with lost bytes, and later ones until a message begins at a segment start. The
    /// loss is reported, and no message is invented.
    #[test]
    fn lost_segments_are_reported_and_create_no_messages((messages, base, pieces) in streams(), lost in any::<prop::sample::Index>()) {
        let stream = framed(&messages);
        let (from, to) = pieces[lost.index(pieces.len())];
        let kept: Vec<_> = pieces.iter().filter(|piece| piece.1 <= from || piece.0 >= to).collect();
        let has_end = kept.iter().any(|piece| piece.1 == stream.len());
        let mut packets = vec![tcp(base, SYN, &[])];
        packets.extend(kept.into_iter().map(|&(from, to)| tcp(base.wrapping_add(1 + from as u32), 0, &stream[from..to])));
        let (found, notes) = assembled(&packets, false);
        // The received messages are a subsequence of the sent ones.
        let mut rest = messages.iter();
        for pdu in &found {
            prop_assert!(rest.any(|message| message == pdu), "{pdu:?} was not sent, or arrived out of order");
        }
        prop_assert!(found.len() < messages.len());
        // Missing bytes at the end of the stream are not reported as a gap.
        prop_assert!(!has_end || !notes.is_empty());
    }

    /// Chunks in any packets and order, some repeated, give every message once. No data remains in memory.
    #[test]
    fn messages_do_not_depend_on_sctp_chunks(
        sizes in prop::collection::vec((1..200_usize, 1..6_usize), 1..20),
        base in prop_oneof![any::<u32>(), (0..60_u32).prop_map(u32::wrapping_neg)],
        seeds in prop::collection::vec(any::<u32>(), 200),
        bundled in 1..5_usize,
    ) {
        let mut chunks = Vec::new();
        let mut messages = Vec::new();
        let mut tsn = base;
        for (n, &(size, fragments)) in (0_u16..).zip(&sizes) {
            let message: Vec<u8> = (0..size).map(|octet| (octet as u16 ^ n) as u8).collect();
            let length = size.div_ceil(fragments);
            let parts: Vec<_> = message.chunks(length).collect();
            for (i, part) in parts.iter().enumerate() {
                let flags = if i == 0 { BEGIN } else { 0 } | if i + 1 == parts.len() { END } else { 0 };
                chunks.push(data(flags, tsn, n, 70, part));
                tsn = tsn.wrapping_add(1);
            }
            messages.push(message);
        }
        // Every third chunk appears twice; then the seeds shuffle the chunks.
        let twice: Vec<_> = chunks.iter().step_by(3).cloned().collect();
        let repeats = twice.len();
        chunks.extend(twice);
        let mut keyed: Vec<_> = seeds.iter().cycle().enumerate().map(|(i, s)| s.rotate_left(i as u32)).zip(chunks).collect();
        keyed.sort_by_key(|(key, _)| *key);
        let chunks: Vec<_> = keyed.into_iter().map(|(_, chunk)| chunk).collect();
        let mut assembler = Assembler::new(false);
        let mut found = Findings::default();
        for (number, bundle) in (1..).zip(chunks.chunks(bundled)) {
            assembler.packet(&packet(number, LinkType::RAW, &sctp(7, bundle)), &mut found);
        }
        prop_assert_eq!(assembler.held_bytes(), 0);
        assembler.finish(&mut found);
        let mut pdus: Vec<_> = found.pdus.iter().map(|pdu| pdu.bytes.to_vec()).collect();
        pdus.sort();
        messages.sort();
        prop_assert_eq!(pdus, messages);
        let notes = found.notes.list();
        prop_assert_eq!(notes.iter().map(|note| note.count).collect::<Vec<_>>(), [repeats as u64], "{:?}", notes);
    }

    /// Random, cut and changed bytes on any link type cause no panic, and memory stays bounded.
    #[test]
    fn random_packets_do_not_panic(
        which in 0..5_usize,
        link in prop::sample::select(vec![0, 1, 12, 101, 108, 113, 228, 229, 252, 276, 9999]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        keep in any::<prop::sample::Index>(),
        trusting in any::<bool>(),
    ) {
        let chunk = data(BEGIN, 5, 0, 70, b"some message");
        let exported = [0, 12, 0, 4, b'e', b'2', b'a', b'p', 0, 20, 0, 4, 1, 2, 3, 4, 0, 24, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0];
        let mut octets = [
            tcp(5, 0, SECOND),
            sctp(1, &[chunk]),
            udp(E2_PORT, &DELETE),
            v6(Protocol(0), &[&[44, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 9][..], &segment(5, 0, SECOND)].concat()),
            exported.to_vec(),
        ][which].clone();
        if link == 1 {
            octets = [&write_ethernet(Mac([1; 6]), Mac([2; 6]), EtherType::IPV4)[..], &octets].concat();
        }
        for (at, value) in changes {
            let at = at.index(octets.len());
            octets[at] = value;
        }
        let mut assembler = Assembler::new(trusting);
        let mut found = Findings::default();
        for data in [&octets[..], &octets[..keep.index(octets.len() + 1)]] {
            assembler.packet(&packet(1, LinkType(link), data), &mut found);
        }
        prop_assert!(assembler.held_bytes() <= MAX_HELD_BYTES);
        assembler.finish(&mut found);
    }
}

/// A connection without its first bytes and a message without an end: the data of both is discarded at the memory limit.
#[test]
fn incomplete_messages_are_discarded() {
    const ONE: usize = 16 << 20;
    let mut assembler = Assembler::new(false);
    let mut found = Findings::default();
    assembler.packet(&packet(1, LinkType::RAW, &tcp(0, SYN, &[])), &mut found);
    let payload = vec![0xff; 60_000];
    for n in 0..1000_u32 {
        let early = tcp(100 + n * 60_001, 0, &payload);
        let fragment = sctp(1, &[data(if n == 0 { BEGIN } else { 0 }, n, 0, 70, &payload)]);
        for octets in [early, fragment] {
            assembler.packet(&packet(u64::from(n) + 2, LinkType::RAW, &octets), &mut found);
        }
        assert!(assembler.held_bytes() <= 2 * ONE, "{n}: {}", assembler.held_bytes());
    }
    assembler.finish(&mut found);
    assert_eq!(found.pdus, []);
    let notes: Vec<_> = found.notes.list().into_iter().map(|note| note.note).collect();
    assert!(notes.iter().any(|note| note.starts_with("TCP segments are missing")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("fragments are missing")), "{notes:?}");
}
