//! TCP: streams from segments, and from them the messages with a length in front.
use std::collections::{BTreeMap, HashMap};

use bytes::{Buf, Bytes, BytesMut};

use super::note::{Note, Notes};
use super::pdu::{Pdu, Place, begins_like_e2ap};
use super::{Flow, MAX_PDU_BYTES};

/// Directions of connections that are kept track of.
const MAX_DIRECTIONS: usize = 65_536;
/// Octets in each direction that wait for an earlier segment; beyond, that segment is given up.
const MAX_EARLY_BYTES: usize = 4 << 20;
/// Segments in each direction that wait for an earlier one.
const MAX_EARLY_SEGMENTS: usize = 4096;
const LENGTH_BYTES: usize = 4;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;

/// All connections of a capture.
#[derive(Debug, Default)]
pub(super) struct Tcp {
    directions: HashMap<Flow, Direction>,
}

#[derive(Debug)]
struct Direction {
    /// Number of the next octet, once it is known.
    next: Option<u32>,
    state: Framing,
    /// Octets in order that are not yet a whole message.
    stream: BytesMut,
    /// Octets ahead of `next`, by their number.
    early: BTreeMap<u32, Bytes>,
    early_bytes: usize,
    last: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// The stream begins with a length.
    Whole,
    /// At the next segment that begins like a message.
    Searching,
    /// As [`Framing::Whole`], but from the middle on.
    Found,
    /// Another protocol's.
    Foreign,
}

impl Tcp {
    /// Takes one segment.
    pub(super) fn segment(
        &mut self,
        place: &Place,
        segment: &[u8],
        out: &mut Vec<Pdu>,
        notes: &mut Notes,
    ) -> Result<(), Note> {
        let malformed = Note::Malformed("TCP");
        let Some(head) = segment.first_chunk::<20>() else { return Err(malformed) };
        let header_bytes = usize::from(head[12] >> 4) * 4;
        if header_bytes < 20 {
            return Err(malformed);
        }
        let payload = segment.get(header_bytes..).ok_or(malformed)?;
        let sn = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let flags = head[13];
        if self.directions.len() >= MAX_DIRECTIONS && !self.directions.contains_key(&place.flow) {
            return Err(Note::TooManyConnections(MAX_DIRECTIONS));
        }
        let direction = self.directions.entry(place.flow).or_insert_with(|| Direction::new(*place));
        direction.last = *place;
        if flags & SYN != 0 && direction.next != Some(sn.wrapping_add(1)) {
            direction.give_up(out, notes);
            *direction = Direction::new(*place);
            direction.next = Some(sn.wrapping_add(1));
            direction.state = Framing::Whole;
        }
        let sn = if flags & SYN == 0 { sn } else { sn.wrapping_add(1) };
        direction.octets(sn, payload, out, notes);
        if flags & (FIN | RST) != 0 && direction.early.is_empty() {
            direction.end(notes);
        }
        Ok(())
    }

    /// Takes what waits for segments that never came.
    pub(super) fn finish(&mut self, out: &mut Vec<Pdu>, notes: &mut Notes) {
        let mut directions: Vec<_> = self.directions.values_mut().collect();
        directions.sort_by_key(|direction| direction.last.number);
        for direction in directions {
            direction.give_up(out, notes);
        }
    }
}

impl Direction {
    fn new(place: Place) -> Self {
        let (stream, early) = (BytesMut::new(), BTreeMap::new());
        Self { next: None, state: Framing::Searching, stream, early, early_bytes: 0, last: place }
    }

    fn note(&self, note: Note, notes: &mut Notes) {
        notes.add(note, "packet", self.last.number);
    }

    fn octets(&mut self, sn: u32, payload: &[u8], out: &mut Vec<Pdu>, notes: &mut Notes) {
        if payload.is_empty() || self.state == Framing::Foreign {
            return;
        }
        let next = match self.next {
            Some(next) => next,
            None => {
                self.note(Note::TcpMidway(self.last.flow.to_string()), notes);
                sn
            }
        };
        self.next = Some(next);
        let ahead = sn.wrapping_sub(next);
        if ahead == 0 {
            self.in_order(payload, out, notes);
        } else if ahead < 1 << 31 {
            self.keep_early(sn, payload, out, notes);
        } else if let Some(fresh) = payload.get(next.wrapping_sub(sn) as usize..).filter(|f| !f.is_empty()) {
            // Sent again with more behind it, or a keep-alive probe.
            self.in_order(fresh, out, notes);
        }
        self.join_early(out, notes);
    }

    fn keep_early(&mut self, sn: u32, payload: &[u8], out: &mut Vec<Pdu>, notes: &mut Notes) {
        if self.early.get(&sn).is_some_and(|known| known.len() >= payload.len()) {
            return;
        }
        self.early_bytes += payload.len();
        if let Some(shorter) = self.early.insert(sn, Bytes::copy_from_slice(payload)) {
            self.early_bytes -= shorter.len();
        }
        if self.early_bytes > MAX_EARLY_BYTES || self.early.len() > MAX_EARLY_SEGMENTS {
            self.skip_gap(out, notes);
        }
    }

    /// Takes early segments whose turn has come.
    fn join_early(&mut self, out: &mut Vec<Pdu>, notes: &mut Notes) {
        while let Some((sn, next)) = self.nearest_early()
            && sn.wrapping_sub(next).wrapping_sub(1) >= 1 << 31
        {
            let Some(payload) = self.early.remove(&sn) else { return };
            self.early_bytes -= payload.len();
            if let Some(fresh) = payload.get(next.wrapping_sub(sn) as usize..).filter(|f| !f.is_empty()) {
                self.in_order(fresh, out, notes);
            }
        }
    }

    /// The early segment that is nearest to what comes next, and what comes next.
    fn nearest_early(&self) -> Option<(u32, u32)> {
        let next = self.next?;
        // Behind `next`, numbers below it wrap around; what overlaps it lies shortly before it.
        let overlapping = self.early.range(..=next).next_back().map(|(sn, _)| *sn);
        let overlapping = overlapping.filter(|sn| next.wrapping_sub(*sn) < 1 << 31);
        let ahead = self.early.range(next..).next().or_else(|| self.early.iter().next()).map(|(sn, _)| *sn);
        overlapping.or(ahead).map(|sn| (sn, next))
    }

    /// Goes on behind what is missing.
    fn skip_gap(&mut self, out: &mut Vec<Pdu>, notes: &mut Notes) {
        let Some((sn, _)) = self.nearest_early() else { return };
        self.note(Note::TcpGap, notes);
        self.stream.clear();
        self.state = Framing::Searching;
        self.next = Some(sn);
        self.join_early(out, notes);
    }

    fn give_up(&mut self, out: &mut Vec<Pdu>, notes: &mut Notes) {
        while !self.early.is_empty() && self.state != Framing::Foreign {
            self.skip_gap(out, notes);
        }
        self.end(notes);
    }

    fn end(&mut self, notes: &mut Notes) {
        if !self.stream.is_empty() {
            self.note(Note::TcpIncomplete, notes);
            self.stream.clear();
        }
    }

    /// Takes the octets that come next.
    fn in_order(&mut self, payload: &[u8], out: &mut Vec<Pdu>, notes: &mut Notes) {
        // The number of the next octet moves even if they are of no use.
        self.next = self.next.map(|next| next.wrapping_add(payload.len() as u32));
        if self.state == Framing::Searching {
            let plausible = payload.get(LENGTH_BYTES..).is_some_and(begins_like_e2ap);
            if !plausible || frame_length(payload).is_none_or(|length| !(1..=MAX_PDU_BYTES).contains(&length))
            {
                return;
            }
            self.state = Framing::Found;
        }
        self.stream.extend_from_slice(payload);
        while let Some(length) = frame_length(&self.stream) {
            if !(1..=MAX_PDU_BYTES).contains(&length) {
                self.unframed(notes);
                return;
            }
            if self.stream.len() < LENGTH_BYTES + length {
                return;
            }
            self.stream.advance(LENGTH_BYTES);
            out.push(self.last.pdu(self.stream.split_to(length).freeze()));
        }
    }

    /// A length that is none: another protocol, or a message found where there was none.
    fn unframed(&mut self, notes: &mut Notes) {
        self.stream.clear();
        if self.state == Framing::Found {
            self.note(Note::TcpGap, notes);
            self.state = Framing::Searching;
            return;
        }
        self.note(Note::TcpUnframed(self.last.flow.to_string()), notes);
        self.state = Framing::Foreign;
        self.early.clear();
        self.early_bytes = 0;
    }
}

fn frame_length(stream: &[u8]) -> Option<usize> {
    stream.first_chunk().map(|length| u32::from_be_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Transport};

    const FIRST: &[u8] = &[0, 0, 0, 5, 0, 5, 0x40, 1, 9];
    const SECOND: &[u8] = &[0, 0, 0, 6, 0, 8, 0, 2, 7, 7];

    fn place() -> Place {
        let end = |port| Endpoint { address: Some([127, 0, 0, 1].into()), port };
        let flow = Flow { transport: Transport::Tcp, source: end(40_000), destination: end(36_421) };
        Place { flow, time_us: None, number: 1 }
    }

    fn segment(sn: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut octets = vec![0; 20];
        octets[4..8].copy_from_slice(&sn.to_be_bytes());
        octets[12] = 5 << 4;
        octets[13] = flags;
        octets.extend(payload);
        octets
    }

    fn messages(segments: &[Vec<u8>]) -> (Vec<Bytes>, Vec<String>) {
        let (mut tcp, mut out, mut notes) = (Tcp::default(), Vec::new(), Notes::default());
        for segment in segments {
            tcp.segment(&place(), segment, &mut out, &mut notes).unwrap();
        }
        tcp.finish(&mut out, &mut notes);
        let notes = notes.list().into_iter().map(|note| note.note).collect();
        (out.into_iter().map(|pdu| pdu.bytes).collect(), notes)
    }

    fn both() -> Vec<Bytes> {
        vec![Bytes::from_static(&FIRST[4..]), Bytes::from_static(&SECOND[4..])]
    }

    #[test]
    fn segments_join_in_any_order_with_repeats_and_across_the_wrap() {
        let stream = [FIRST, SECOND].concat();
        for base in [100, u32::MAX - 7] {
            let part = |from: usize, to: usize| {
                segment(base.wrapping_add(1).wrapping_add(from as u32), 0, &stream[from..to])
            };
            let syn = segment(base, SYN, &[]);
            let orders = [
                vec![part(0, 3), part(3, 11), part(11, 19)],
                vec![part(11, 19), part(3, 11), part(0, 3)],
                vec![part(0, 3), part(0, 3), part(0, 12), part(3, 11), part(11, 19)],
                vec![part(0, 3), part(11, 19), part(2, 13)],
            ];
            for order in orders {
                let segments: Vec<_> = std::iter::once(syn.clone()).chain(order).collect();
                assert_eq!(messages(&segments), (both(), vec![]), "{base}");
            }
        }
    }

    #[test]
    fn a_gap_is_noted_and_reading_goes_on_at_the_next_message() {
        let segments = [
            segment(0, SYN, &[]),
            segment(1, 0, FIRST),
            segment(1000, 0, &[1, 2, 3]),
            segment(1003, 0, SECOND),
        ];
        let (found, notes) = messages(&segments);
        assert_eq!(found, both());
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("missing"));
    }

    #[test]
    fn a_capture_may_begin_in_the_middle() {
        let segments = [segment(77, 0, &FIRST[2..]), segment(84, 0, SECOND)];
        let (found, notes) = messages(&segments);
        assert_eq!(found, both()[1..]);
        assert!(notes[0].contains("in the middle"));
    }

    #[test]
    fn another_protocol_is_left_alone() {
        let segments =
            [segment(0, SYN, &[]), segment(1, 0, b"GET / HTTP/1.1\r\n\r\n"), segment(19, 0, SECOND)];
        let (found, notes) = messages(&segments);
        assert_eq!(found, Vec::<Bytes>::new());
        assert!(notes[0].contains("is not E2"), "{notes:?}");
    }

    #[test]
    fn the_same_ports_may_be_used_again() {
        let segments =
            [segment(0, SYN, &[]), segment(1, 0, FIRST), segment(5000, SYN, &[]), segment(5001, 0, SECOND)];
        assert_eq!(messages(&segments), (both(), vec![]));
    }
}
