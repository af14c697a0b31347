//! SCTP (RFC 9260): DATA chunks, in whatever packets they travel, and messages from their fragments.
use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;

use super::note::{Note, Notes};
use super::pdu::{Pdu, Place};
use super::{Flow, MAX_PDU_BYTES};

/// Directions of associations that are kept track of.
const MAX_DIRECTIONS: usize = 65_536;
/// Transmission sequence numbers remembered in each direction, to know one that comes again.
const REMEMBERED_TSNS: usize = 16_384;
/// Fragments that wait for others in each direction.
const MAX_FRAGMENTS: usize = 16_384;

const BEGIN: u8 = 2;
const END: u8 = 1;
/// Payload protocols of E2AP (70 to 72), and 0 for who does not say.
const OUR_PAYLOAD_PROTOCOLS: [u32; 4] = [0, 70, 71, 72];

/// All associations of a capture.
#[derive(Debug, Default)]
pub(super) struct Sctp {
    /// The verification tag tells an association from a later one between the same ports.
    directions: HashMap<(Flow, u32), Direction>,
}

#[derive(Debug, Default)]
struct Direction {
    seen: HashSet<u32>,
    order: VecDeque<u32>,
    fragments: HashMap<u32, Fragment>,
    fragment_bytes: usize,
}

#[derive(Debug)]
struct Fragment {
    flags: u8,
    stream: u16,
    stream_sn: u16,
    octets: Bytes,
}

impl Sctp {
    /// Walks the chunks of one packet.
    pub(super) fn packet(
        &mut self,
        place: &Place,
        packet: &[u8],
        trusting: bool,
        out: &mut Vec<Pdu>,
        notes: &mut Notes,
    ) -> Result<(), Note> {
        let (head, mut rest) = packet.split_first_chunk::<12>().ok_or(Note::Malformed("SCTP"))?;
        let tag = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        while let [kind, flags, l1, l2, ..] = *rest {
            let length = usize::from(u16::from_be_bytes([l1, l2]));
            if length < 4 {
                return Err(Note::Malformed("SCTP chunk"));
            }
            let Some(chunk) = rest.get(4..length) else {
                // Cut by the capture, which has its own note; or lying about its length.
                return Err(Note::SctpIncomplete);
            };
            match kind {
                0 => self.data(place, tag, flags, chunk, trusting, out, notes)?,
                64 => notes.add(Note::InterleavedData, "packet", place.number),
                _ => {}
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // One chunk's parts, and where its message goes.
    fn data(
        &mut self,
        place: &Place,
        tag: u32,
        flags: u8,
        chunk: &[u8],
        trusting: bool,
        out: &mut Vec<Pdu>,
        notes: &mut Notes,
    ) -> Result<(), Note> {
        let (head, octets) = chunk.split_first_chunk::<12>().ok_or(Note::Malformed("SCTP DATA"))?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (tsn, streams, protocol) = (word(0), word(4), word(8));
        if !trusting && !place.flow.has_our_port() && !OUR_PAYLOAD_PROTOCOLS.contains(&protocol) {
            return Err(Note::OtherPayloadProtocol(protocol));
        }
        let key = (place.flow, tag);
        if self.directions.len() >= MAX_DIRECTIONS && !self.directions.contains_key(&key) {
            return Err(Note::TooManyConnections(MAX_DIRECTIONS));
        }
        let direction = self.directions.entry(key).or_default();
        if !direction.is_new(tsn) {
            notes.add(Note::SctpDuplicate, "packet", place.number);
            return Ok(());
        }
        let octets = Bytes::copy_from_slice(octets);
        if flags & (BEGIN | END) == BEGIN | END {
            out.push(place.pdu(octets));
            return Ok(());
        }
        let (stream, stream_sn) = ((streams >> 16) as u16, streams as u16);
        let fragment = Fragment { flags, stream, stream_sn, octets };
        if let Some(whole) = direction.fragment(tsn, fragment, place, notes) {
            out.push(place.pdu(whole));
        }
        Ok(())
    }

    /// Counts the messages of which fragments are missing.
    pub(super) fn finish(&mut self, notes: &mut Notes) {
        for direction in self.directions.values().filter(|direction| !direction.fragments.is_empty()) {
            notes.add(Note::SctpIncomplete, "packet", direction.fragments.len() as u64);
        }
    }
}

impl Direction {
    fn is_new(&mut self, tsn: u32) -> bool {
        if !self.seen.insert(tsn) {
            return false;
        }
        self.order.push_back(tsn);
        if self.order.len() > REMEMBERED_TSNS
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }

    /// Keeps a fragment; the whole message if it was the last one missing. Fragments of a message have
    /// consecutive numbers, so those around this one are looked at.
    fn fragment(&mut self, tsn: u32, fragment: Fragment, place: &Place, notes: &mut Notes) -> Option<Bytes> {
        let key = (fragment.stream, fragment.stream_sn);
        self.fragment_bytes += fragment.octets.len();
        self.fragments.insert(tsn, fragment);
        if self.fragments.len() > MAX_FRAGMENTS || self.fragment_bytes > MAX_PDU_BYTES {
            // Their others are not in this capture, or are no message of ours.
            notes.add(Note::SctpIncomplete, "packet", place.number);
            self.fragments.clear();
            self.fragment_bytes = 0;
            return None;
        }
        let part = |tsn: u32| self.fragments.get(&tsn).filter(|part| (part.stream, part.stream_sn) == key);
        let mut first = tsn;
        while part(first)?.flags & BEGIN == 0 {
            first = first.wrapping_sub(1);
        }
        let mut last = tsn;
        while part(last)?.flags & END == 0 {
            last = last.wrapping_add(1);
        }
        let mut whole = Vec::new();
        let mut next = first;
        loop {
            let part = self.fragments.remove(&next)?;
            self.fragment_bytes -= part.octets.len();
            whole.extend_from_slice(&part.octets);
            if next == last {
                return Some(whole.into());
            }
            next = next.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Transport};

    fn place() -> Place {
        let end = |port| Endpoint { address: Some([127, 0, 0, 1].into()), port };
        let flow = Flow { transport: Transport::Sctp, source: end(40_000), destination: end(36_421) };
        Place { flow, time_us: None, number: 1 }
    }

    fn data(flags: u8, tsn: u32, octets: &[u8]) -> Vec<u8> {
        let mut chunk = vec![0, flags];
        chunk.extend((16 + octets.len() as u16).to_be_bytes());
        chunk.extend(tsn.to_be_bytes());
        chunk.extend([0, 0, 0, 7, 0, 0, 0, 70]);
        chunk.extend(octets);
        chunk.resize(chunk.len().next_multiple_of(4), 0);
        chunk
    }

    fn messages(chunks: &[Vec<u8>]) -> (Vec<Bytes>, usize) {
        let (mut sctp, mut out, mut notes) = (Sctp::default(), Vec::new(), Notes::default());
        for chunk in chunks {
            let sack = [3, 0, 0, 4];
            let packet = [&[0; 12][..], &sack, chunk].concat();
            sctp.packet(&place(), &packet, false, &mut out, &mut notes).unwrap();
        }
        sctp.finish(&mut notes);
        (out.into_iter().map(|pdu| pdu.bytes).collect(), notes.list().len())
    }

    #[test]
    fn fragments_join_in_any_order_and_across_the_wrap() {
        let first = data(BEGIN, u32::MAX, b"abc");
        let (middle, last) = (data(0, 0, b"de"), data(END, 1, b"f"));
        for order in [[&first, &middle, &last], [&last, &first, &middle], [&middle, &last, &first]] {
            let chunks: Vec<_> = order.into_iter().cloned().collect();
            assert_eq!(messages(&chunks), (vec![Bytes::from("abcdef")], 0));
        }
        assert_eq!(messages(&[first, last]), (vec![], 1));
    }

    #[test]
    fn a_chunk_sent_again_is_skipped_with_a_note() {
        let whole = data(BEGIN | END, 5, b"x");
        assert_eq!(messages(&[whole.clone(), whole]), (vec![Bytes::from("x")], 1));
    }

    #[test]
    fn garbage_never_panics() {
        let good = [&[0; 12][..], &data(BEGIN | END, 5, b"some message")].concat();
        for at in 0..good.len() {
            for value in [0, 1, 3, 4, 0x7f, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] = value;
                let (mut sctp, mut out, mut notes) = (Sctp::default(), Vec::new(), Notes::default());
                let _ = sctp.packet(&place(), &bad, false, &mut out, &mut notes);
                let _ = sctp.packet(&place(), &bad[..at], false, &mut out, &mut notes);
            }
        }
    }
}
