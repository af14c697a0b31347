//! TCP: streams reassembled from segments, and messages read from streams by their length prefix.
use std::collections::{BTreeMap, HashMap};

use bytes::{Buf, Bytes, BytesMut};
use ranlab_packet::Tcp;

use super::findings::Findings;
use super::note::Note;
use super::pdu::{Place, begins_like_e2ap};
use super::{Flow, MAX_PDU_BYTES};

/// Maximum number of tracked directions of connections.
const MAX_DIRECTIONS: usize = 65_536;
/// Maximum bytes per direction that wait for a missing segment. At this limit, the missing segment is skipped.
const MAX_EARLY_BYTES: usize = 4 << 20;
/// Memory overhead per waiting segment, in bytes.
const SEGMENT_BYTES: usize = 64;
const LENGTH_BYTES: usize = 4;

/// State of all connections in a capture.
#[derive(Debug)]
pub(super) struct Streams {
    directions: HashMap<Flow, Direction>,
    held_bytes: usize,
    max_held_bytes: usize,
}

#[derive(Debug)]
struct Direction {
    /// Sequence number of the start of the connection, if the capture has it.
    first: Option<u32>,
    /// Sequence number of the next byte, extended to 64 bits across wraps, once it is known.
    next: Option<u64>,
    framing: Framing,
    /// Bytes in order that do not form a whole message yet.
    stream: BytesMut,
    /// Bytes ahead of `next`, by their sequence number.
    early: BTreeMap<u64, Bytes>,
    early_bytes: usize,
    last: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Stream that begins with a length prefix.
    Whole,
    /// Stream that began in the middle. Data is skipped up to a segment that starts like a message.
    Searching,
    /// Stream that began in the middle, and in which the start of a message was found.
    Found,
    /// Stream of another protocol.
    Foreign,
}

impl Streams {
    /// Creates an empty state. `max_held_bytes` limits the memory for unfinished messages and early segments of all
    /// connections.
    pub(super) fn new(max_held_bytes: usize) -> Self {
        Self { directions: HashMap::new(), held_bytes: 0, max_held_bytes }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Processes one segment.
    pub(super) fn segment(
        &mut self,
        place: &Place,
        segment: &Tcp<'_>,
        found: &mut Findings,
    ) -> Result<(), Note> {
        if self.directions.len() >= MAX_DIRECTIONS && !self.directions.contains_key(&place.flow) {
            return Err(Note::TooManyConnections(MAX_DIRECTIONS));
        }
        let direction = self.directions.entry(place.flow).or_insert_with(|| Direction::new(*place));
        self.held_bytes -= direction.held_bytes();
        direction.last = *place;
        direction.segment(segment, found);
        if self.held_bytes + direction.held_bytes() > self.max_held_bytes {
            direction.give_up(found);
        }
        self.held_bytes += direction.held_bytes();
        Ok(())
    }

    /// Processes data that waits for missing segments.
    pub(super) fn finish(&mut self, found: &mut Findings) {
        let mut directions: Vec<_> = self.directions.values_mut().collect();
        directions.sort_by_key(|direction| direction.last.number);
        for direction in directions {
            direction.give_up(found);
        }
        self.held_bytes = 0;
    }
}

impl Direction {
    fn new(place: Place) -> Self {
        let stream = BytesMut::new();
        let early = BTreeMap::new();
        let framing = Framing::Searching;
        Self { first: None, next: None, framing, stream, early, early_bytes: 0, last: place }
    }

    fn held_bytes(&self) -> usize {
        self.stream.len() + self.early_bytes
    }

    fn note(&self, note: Note, found: &mut Findings) {
        found.note(note, self.last.number);
    }

    fn segment(&mut self, segment: &Tcp<'_>, found: &mut Findings) {
        let begins = segment.flags & Tcp::SYN != 0;
        if begins && self.first != Some(segment.sequence) {
            // A SYN with another sequence number means that a new connection reuses the ports.
            self.give_up(found);
            *self = Self::new(self.last);
            self.first = Some(segment.sequence);
            // The offset of 2^32 leaves room for one wrap before this segment.
            self.next = Some((1 << 32) + u64::from(segment.sequence) + 1);
            self.framing = Framing::Whole;
        }
        if !segment.payload.is_empty() && self.framing != Framing::Foreign {
            self.octets(segment.sequence.wrapping_add(begins.into()), segment.payload, found);
        }
        // Earlier segments may still arrive after the FIN.
        let end = segment.sequence.wrapping_add(begins.into()).wrapping_add(segment.payload.len() as u32);
        if segment.flags & (Tcp::FIN | Tcp::RST) != 0 && self.next.is_some_and(|next| next as u32 == end) {
            self.end(found);
        }
    }

    fn octets(&mut self, sequence: u32, payload: &[u8], found: &mut Findings) {
        let next = match self.next {
            Some(next) => next,
            None => {
                self.note(Note::TcpMidway(self.last.flow.to_string()), found);
                (1 << 32) + u64::from(sequence)
            }
        };
        self.next = Some(next);
        let at = next.saturating_add_signed((sequence.wrapping_sub(next as u32) as i32).into());
        if at > next {
            self.keep_early(at, payload, found);
        } else if let Some(fresh) = payload.get((next - at) as usize..).filter(|fresh| !fresh.is_empty()) {
            // The data is in order, or a retransmission that contains further data.
            self.in_order(fresh, found);
            self.join_early(found);
        }
    }

    fn keep_early(&mut self, at: u64, payload: &[u8], found: &mut Findings) {
        let known = self.early.get(&at).map_or(0, Bytes::len);
        if known >= payload.len() {
            return;
        }
        self.early_bytes += payload.len() - known + if known == 0 { SEGMENT_BYTES } else { 0 };
        self.early.insert(at, Bytes::copy_from_slice(payload));
        if self.early_bytes > MAX_EARLY_BYTES {
            self.skip_gap(found);
        }
    }

    /// Processes early segments that are now in order.
    fn join_early(&mut self, found: &mut Findings) {
        while let (Some(entry), Some(next)) = (self.early.first_entry(), self.next)
            && *entry.key() <= next
        {
            let (at, payload) = entry.remove_entry();
            self.early_bytes -= payload.len() + SEGMENT_BYTES;
            if let Some(fresh) = payload.get((next - at) as usize..).filter(|fresh| !fresh.is_empty()) {
                self.in_order(fresh, found);
            }
        }
    }

    /// Skips missing data and continues with the early segments after it.
    fn skip_gap(&mut self, found: &mut Findings) {
        let Some((&at, _)) = self.early.first_key_value() else { return };
        self.note(Note::TcpGap, found);
        self.stream.clear();
        self.framing = Framing::Searching;
        self.next = Some(at);
        self.join_early(found);
    }

    /// Processes the waiting data without the missing segments, and ends the stream.
    fn give_up(&mut self, found: &mut Findings) {
        while !self.early.is_empty() {
            self.skip_gap(found);
        }
        self.end(found);
    }

    fn end(&mut self, found: &mut Findings) {
        if !self.stream.is_empty() {
            self.note(Note::TcpIncomplete, found);
            self.stream = BytesMut::new();
            self.framing = Framing::Searching;
        }
    }

    /// Processes the next bytes.
    fn in_order(&mut self, payload: &[u8], found: &mut Findings) {
        // The number of the next byte advances even if the bytes are discarded.
        self.next = self.next.map(|next| next + payload.len() as u64);
        let possible = |length| (1..=MAX_PDU_BYTES).contains(&length);
        if self.framing == Framing::Searching {
            let plausible = payload.get(LENGTH_BYTES..).is_some_and(begins_like_e2ap);
            if !plausible || !frame_length(payload).is_some_and(possible) {
                return;
            }
            self.framing = Framing::Found;
        }
        self.stream.extend_from_slice(payload);
        while let Some(length) = frame_length(&self.stream) {
            if !possible(length) {
                return self.unframed(found);
            }
            if self.stream.len() < LENGTH_BYTES + length {
                return;
            }
            self.stream.advance(LENGTH_BYTES);
            found.pdus.push(self.last.pdu(self.stream.split_to(length).freeze()));
        }
        if self.stream.is_empty() {
            // The buffer is released, so that an idle connection uses no memory.
            self.stream = BytesMut::new();
        }
    }

    /// Handles an invalid length: another protocol, or a false start of a message.
    fn unframed(&mut self, found: &mut Findings) {
        self.stream.clear();
        if self.framing == Framing::Found {
            self.note(Note::TcpGap, found);
            self.framing = Framing::Searching;
            return;
        }
        self.note(Note::TcpUnframed(self.last.flow.to_string()), found);
        self.framing = Framing::Foreign;
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
    use proptest::prelude::*;

    proptest! {
        /// Memory is counted and bounded for any input on any number of connections.
        #[test]
        fn all_connections_together_are_bounded(
            segments in prop::collection::vec((0..6_u16, any::<u16>(), 0..8_u8, 0..400_usize), 1..200),
        ) {
            const LIMIT: usize = 2000;
            let mut streams = Streams::new(LIMIT);
            let mut found = Findings::default();
            for (port, sequence, flags, size) in segments {
                let end = |port| Endpoint { address: None, port };
                let flow = Flow { transport: Transport::Tcp, source: end(port), destination: end(36_421) };
                let mut octets = vec![0; 20];
                octets[6..8].copy_from_slice(&sequence.to_be_bytes());
                (octets[12], octets[13]) = (5 << 4, flags);
                // A message of 1 MiB that never ends.
                octets.extend([0, 0x10, 0, 0, 0, 5, 0x40, 1].into_iter().cycle().take(size));
                let place = Place { flow, time_us: None, number: 1 };
                streams.segment(&place, &Tcp::parse(&octets).unwrap(), &mut found).unwrap();
                let held: usize = streams.directions.values().map(Direction::held_bytes).sum();
                prop_assert_eq!(held, streams.held_bytes());
                prop_assert!(held <= LIMIT, "{}", held);
            }
        }
    }
}
