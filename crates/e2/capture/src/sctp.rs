//! SCTP (RFC 9260): messages reassembled from DATA chunks.
use std::collections::HashMap;

use bytes::Bytes;
use ranlab_packet::{PacketError, Sctp, SctpChunk, SctpData};

use super::findings::Findings;
use super::note::Note;
use super::pdu::Place;
use super::{Flow, MAX_PDU_BYTES};

/// Maximum number of tracked directions of associations.
const MAX_DIRECTIONS: usize = 65_536;
/// Number of transmission sequence numbers that are stored per direction to detect duplicates.
const REMEMBERED_TSNS: u32 = 8192;
/// Maximum number of waiting fragments per direction.
const MAX_FRAGMENTS: usize = 16_384;
/// Memory overhead per fragment, in bytes.
const FRAGMENT_BYTES: usize = 64;
/// Accepted payload protocols: E2AP (70 to 72) and unspecified (0).
const OUR_PAYLOAD_PROTOCOLS: [u32; 4] = [0, 70, 71, 72];

/// State of all associations in a capture.
#[derive(Debug)]
pub(super) struct Associations {
    /// Directions by flow and verification tag. The tag separates an association from a later one between the same ports.
    directions: HashMap<(Flow, u32), Direction>,
    held_bytes: usize,
    max_held_bytes: usize,
}

#[derive(Debug, Default)]
struct Direction {
    seen: ReceivedTsns,
    fragments: HashMap<u32, Fragment>,
    held_bytes: usize,
    /// Number of the packet with the most recent fragment.
    last: u64,
}

#[derive(Debug)]
struct Fragment {
    begins: bool,
    ends: bool,
    /// Stream identifier, and number of the message in that stream.
    message: (u16, u16),
    octets: Bytes,
}

impl Associations {
    /// Creates an empty state. `max_held_bytes` limits the memory for fragments of all associations.
    pub(super) fn new(max_held_bytes: usize) -> Self {
        Self { directions: HashMap::new(), held_bytes: 0, max_held_bytes }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Processes the chunks of one packet.
    pub(super) fn packet(
        &mut self,
        place: &Place,
        packet: &Sctp<'_>,
        trusting: bool,
        found: &mut Findings,
    ) -> Result<(), Note> {
        for chunk in packet.chunks() {
            let chunk = chunk.map_err(|error| match error {
                // Either the capture truncated the packet, which is noted separately, or the chunk length is wrong.
                PacketError::Truncated { .. } => Note::SctpIncomplete,
                other => other.into(),
            })?;
            let taken = match chunk.kind {
                SctpChunk::DATA => {
                    let data = SctpData::parse(&chunk)?;
                    let protocol = data.payload_protocol;
                    if trusting || place.flow.has_our_port() || OUR_PAYLOAD_PROTOCOLS.contains(&protocol) {
                        self.data(place, packet.verification_tag, &data, found)
                    } else {
                        Err(Note::OtherPayloadProtocol(protocol))
                    }
                }
                SctpChunk::I_DATA => Err(Note::InterleavedData),
                _ => Ok(()),
            };
            if let Err(note) = taken {
                found.note(note, place.number);
            }
        }
        Ok(())
    }

    fn data(
        &mut self,
        place: &Place,
        tag: u32,
        data: &SctpData<'_>,
        found: &mut Findings,
    ) -> Result<(), Note> {
        let key = (place.flow, tag);
        if self.directions.len() >= MAX_DIRECTIONS && !self.directions.contains_key(&key) {
            return Err(Note::TooManyConnections(MAX_DIRECTIONS));
        }
        let direction = self.directions.entry(key).or_default();
        if !direction.seen.is_new(data.tsn) {
            return Err(Note::SctpDuplicate);
        }
        let octets = Bytes::copy_from_slice(data.payload);
        if data.begins && data.ends {
            found.pdus.push(place.pdu(octets));
            return Ok(());
        }
        self.held_bytes -= direction.held_bytes;
        direction.last = place.number;
        let whole = direction.fragment(data, octets);
        let full = direction.fragments.len() > MAX_FRAGMENTS
            || direction.held_bytes > MAX_PDU_BYTES
            || self.held_bytes + direction.held_bytes > self.max_held_bytes;
        if full {
            // At the limit, the message is assumed to be incomplete in this capture, or not to be E2AP.
            direction.fragments.clear();
            direction.held_bytes = 0;
        }
        self.held_bytes += direction.held_bytes;
        found.pdus.extend(whole.map(|whole| place.pdu(whole)));
        if full { Err(Note::SctpIncomplete) } else { Ok(()) }
    }

    /// Counts the messages with missing fragments.
    pub(super) fn finish(&mut self, found: &mut Findings) {
        let mut waiting: Vec<_> = self.directions.values().filter(|d| !d.fragments.is_empty()).collect();
        waiting.sort_by_key(|direction| direction.last);
        for direction in waiting {
            found.note(Note::SctpIncomplete, direction.last);
        }
    }
}

impl Direction {
    /// Stores a fragment, and returns the whole message if it is complete. Fragments of a message have consecutive
    /// numbers, so the search visits only neighboring numbers.
    fn fragment(&mut self, data: &SctpData<'_>, octets: Bytes) -> Option<Bytes> {
        let message = (data.stream_id, data.stream_sequence);
        self.held_bytes += octets.len() + FRAGMENT_BYTES;
        let fragment = Fragment { begins: data.begins, ends: data.ends, message, octets };
        self.fragments.insert(data.tsn, fragment);
        let part = |tsn: u32| self.fragments.get(&tsn).filter(|part| part.message == message);
        // The search for the last fragment runs first: in a message that arrives in order, only the last fragment is
        // missing.
        let mut last = data.tsn;
        while !part(last)?.ends {
            last = last.wrapping_add(1);
        }
        let mut first = data.tsn;
        while !part(first)?.begins {
            first = first.wrapping_sub(1);
        }
        let mut whole = Vec::new();
        for distance in 0..=last.wrapping_sub(first) {
            let part = self.fragments.remove(&first.wrapping_add(distance))?;
            self.held_bytes -= part.octets.len() + FRAGMENT_BYTES;
            whole.extend_from_slice(&part.octets);
        }
        Some(whole.into())
    }
}

/// Set of received numbers among the newest transmission sequence numbers, with one bit per number.
#[derive(Debug)]
struct ReceivedTsns {
    newest: u32,
    bits: Box<[u64; REMEMBERED_TSNS as usize / 64]>,
}

impl Default for ReceivedTsns {
    fn default() -> Self {
        Self { newest: 0, bits: Box::new([0; REMEMBERED_TSNS as usize / 64]) }
    }
}

impl ReceivedTsns {
    /// Records a number. Returns whether it is new, within the stored window.
    fn is_new(&mut self, tsn: u32) -> bool {
        let ahead = tsn.wrapping_sub(self.newest);
        if ahead < REMEMBERED_TSNS {
            (0..ahead).for_each(|n| self.clear(self.newest.wrapping_add(1 + n)));
            self.newest = tsn;
        } else if ahead.wrapping_neg() >= REMEMBERED_TSNS {
            self.bits.fill(0);
            self.newest = tsn;
        }
        let (word, bit) = Self::place(tsn);
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
    }

    fn clear(&mut self, tsn: u32) {
        let (word, bit) = Self::place(tsn);
        self.bits[word] &= !bit;
    }

    fn place(tsn: u32) -> (usize, u64) {
        let at = tsn % REMEMBERED_TSNS;
        (at as usize / 64, 1 << (at % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Transport};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn old_sequence_number_is_forgotten() {
        let mut seen = ReceivedTsns::default();
        assert!(seen.is_new(u32::MAX) && !seen.is_new(u32::MAX) && seen.is_new(0) && !seen.is_new(u32::MAX));
        assert!(seen.is_new(REMEMBERED_TSNS - 2) && !seen.is_new(u32::MAX));
        assert!(seen.is_new(REMEMBERED_TSNS - 1) && seen.is_new(u32::MAX));
    }

    proptest! {
        /// Within the window, the type behaves as a set.
        #[test]
        fn received_sequence_numbers_are_remembered(base in any::<u32>(), steps in proptest::collection::vec(0..REMEMBERED_TSNS / 2, 1..200)) {
            let mut seen = ReceivedTsns::default();
            let mut known = BTreeSet::new();
            for step in steps {
                prop_assert_eq!(seen.is_new(base.wrapping_add(step)), known.insert(step));
            }
        }

        /// Memory is counted and bounded for any input on any number of associations.
        #[test]
        fn all_associations_together_are_bounded(
            chunks in prop::collection::vec((0..6_u32, any::<u8>(), 0..4_u8, 0..400_usize), 1..200),
        ) {
            const LIMIT: usize = 2000;
            let mut associations = Associations::new(LIMIT);
            let mut found = Findings::default();
            let source = Endpoint::default();
            let destination = Endpoint::default();
            let flow = Flow { transport: Transport::Sctp, source, destination };
            let place = Place { flow, time_us: None, number: 1 };
            for (tag, tsn, flags, size) in chunks {
                let mut octets = vec![0; 12];
                octets[4..8].copy_from_slice(&tag.to_be_bytes());
                octets.extend([0, flags]);
                octets.extend((16 + size as u16).to_be_bytes());
                octets.extend(u32::from(tsn).to_be_bytes());
                octets.resize(28 + size, 0);
                associations.packet(&place, &Sctp::parse(&octets).unwrap(), true, &mut found).unwrap();
                let held: usize = associations.directions.values().map(|direction| direction.held_bytes).sum();
                prop_assert_eq!(held, associations.held_bytes());
                prop_assert!(held <= LIMIT, "{}", held);
            }
        }
    }
}
