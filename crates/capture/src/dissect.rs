//! Decoding of PDUs into messages: each connection has a side and a version.
use std::collections::HashMap;

use ranlab_wire::e2ap::{self, Decoded, Rejection, Version};
use ranlab_wire::e42;
use serde::Serialize;

use super::note::{Note, Notes};
use super::{Flow, Pdu, Side, Transport};

/// Maximum number of connections with separate state; the PDUs of further ones share one state.
const MAX_CONNECTIONS: usize = 65_536;

/// Facts about the capture that the user supplies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// All connections are of this side.
    pub side: Option<Side>,
    /// All connections speak this version.
    pub version: Option<Version>,
}

/// A PDU with its message.
#[derive(Debug)]
pub struct Dissected {
    /// Number over all files, from 1.
    pub number: u64,
    /// The PDU with its origin.
    pub pdu: Pdu,
    /// Its connection's protocol.
    pub side: Side,
    /// Its connection's version.
    pub version: Version,
    /// Its message; a standard one of either side is [`e42::Message::E2`].
    pub message: Result<Decoded<e42::Message>, Rejection>,
}

/// A connection in a report, after its last PDU.
#[derive(Debug, Serialize)]
pub struct Connection {
    /// Transport of the connection.
    pub transport: Transport,
    /// The smaller of its endpoints.
    pub a: String,
    /// The other endpoint.
    pub b: String,
    /// Its protocol.
    pub side: Side,
    /// Its version.
    pub e2ap: String,
    /// Number of its PDUs.
    pub pdus: u64,
}

#[derive(Debug)]
struct State {
    flow: Flow,
    side: Side,
    version: Version,
    pdus: u64,
    /// Rank by first PDU.
    rank: usize,
    told: bool,
}

/// Decodes PDUs and keeps the state of the connections.
#[derive(Debug, Default)]
pub struct Dissector {
    known: Known,
    pdus: u64,
    connections: HashMap<(Flow, Side), State>,
}

impl Dissector {
    /// `known` overrides facts inferred from ports and setups.
    pub fn new(known: Known) -> Self {
        Self { known, ..Self::default() }
    }

    /// Decodes the next PDU.
    pub fn take(&mut self, pdu: Pdu, notes: &mut Notes) -> Dissected {
        self.pdus += 1;
        let side = self.known.side.or(pdu.side).unwrap_or_else(|| pdu.flow.side());
        let mut key = (pdu.flow.connection(), side);
        let rank = self.connections.len();
        if rank >= MAX_CONNECTIONS && !self.connections.contains_key(&key) {
            notes.add(Note::TooManyConnections(MAX_CONNECTIONS), "PDU", self.pdus);
            key.0 = Flow {
                transport: Transport::Exported,
                source: Default::default(),
                destination: Default::default(),
            };
        }
        let connection = self.connections.entry(key).or_insert_with(|| State {
            flow: key.0,
            side,
            version: self.known.version.unwrap_or_default(),
            pdus: 0,
            rank,
            told: self.known.version.is_some() || pdu.flow.transport == Transport::File,
        });
        connection.pdus += 1;
        if pdu.flow.transport == Transport::File {
            // The version of one file does not apply to the next.
            connection.version = self.known.version.unwrap_or_default();
        }
        let message = connection.decode(&pdu, self.known.version.is_some());
        if !connection.told {
            connection.told = true;
            let assumed = Note::VersionAssumed(connection.flow.to_string(), connection.version.name());
            notes.add(assumed, "PDU", self.pdus);
        }
        Dissected { number: self.pdus, pdu, side, version: connection.version, message }
    }

    /// All connections, in the order of their first PDU.
    pub fn connections(&self) -> Vec<Connection> {
        let mut all: Vec<_> = self.connections.values().collect();
        all.sort_by_key(|state| state.rank);
        let reported = |&State { flow, side, version, pdus, .. }: &State| {
            let a = flow.source.to_string();
            let b = flow.destination.to_string();
            Connection { transport: flow.transport, a, b, side, e2ap: version.to_string(), pdus }
        };
        all.into_iter().map(reported).collect()
    }
}

impl State {
    fn decode(&mut self, pdu: &Pdu, fixed: bool) -> Result<Decoded<e42::Message>, Rejection> {
        let told = match self.side {
            Side::E2 => Version::of_setup(&pdu.bytes),
            Side::E42 => e42::numbering_of(&pdu.bytes),
        };
        // A file with one PDU is v2.03 unless the user specifies another version.
        if let Some(version) = told
            && !fixed
            && pdu.flow.transport != Transport::File
        {
            // A connection that was upgraded to v3.01 keeps it when the same node sends another setup.
            let stays = self.told
                && self.version == Version::V3_01
                && version == Version::V2_03
                && self.side == Side::E2;
            self.version = if stays { self.version } else { version };
            self.told = true;
        }
        if self.side == Side::E42 {
            return e42::decode(&pdu.bytes, self.version);
        }
        let (decoded, version) = if fixed {
            (e2ap::decode(&pdu.bytes, self.version)?, self.version)
        } else {
            e2ap::decode_upgrading(&pdu.bytes, self.version)?
        };
        self.version = version;
        let Decoded { message, criticality, deviations, diagnostics } = decoded;
        Ok(Decoded { message: e42::Message::E2(message), criticality, deviations, diagnostics })
    }
}

/// A version in which a PDU is decodable, if there is one, after it failed in `tried`.
pub(super) fn other_version(pdu: &Pdu, side: Side, tried: Version) -> Option<Version> {
    Version::ALL.into_iter().filter(|&version| version != tried).find(|&version| match side {
        Side::E2 => e2ap::decode(&pdu.bytes, version).is_ok(),
        Side::E42 => e42::decode(&pdu.bytes, version).is_ok(),
    })
}
