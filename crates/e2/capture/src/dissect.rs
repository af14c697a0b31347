//! Decoding of PDUs into messages. Each connection has a side (E2 or E42) and an E2AP version.
use std::collections::HashMap;

use ranlab_e2_codec::e2ap::{self, Decoded, RanFunctionId, Rejection, Version};
use ranlab_e2_codec::e2sm::Model;
use ranlab_e2_codec::e42;
use serde::Serialize;

use super::note::{Note, Notes};
use super::{Flow, Pdu, Side, Transport, payload};

/// Maximum number of connections with separate state. The PDUs of further connections share one state.
const MAX_CONNECTIONS: usize = 65_536;

/// Facts about the capture that the user supplies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// Protocol of all connections; `None`: detected.
    pub side: Option<Side>,
    /// E2AP version of all connections; `None`: detected.
    pub version: Option<Version>,
    /// Service model of all payloads; `None`: detected.
    pub model: Option<&'static dyn Model>,
}

/// A PDU with its message.
#[derive(Debug)]
pub struct Dissected {
    /// Number of the PDU over all files, from 1.
    pub number: u64,
    /// The PDU with its origin.
    pub pdu: Pdu,
    /// Protocol of the connection (E2 or E42).
    pub side: Side,
    /// E2AP version of the connection.
    pub version: Version,
    /// Decoded message, or the decoding error. A standard E2AP message is [`e42::Message::E2`] on both sides.
    pub message: Result<Decoded<e42::Message>, Rejection>,
    /// Service model of the payloads in the message.
    pub model: Option<&'static dyn Model>,
}

/// A connection in a report, after its last PDU.
#[derive(Debug, Serialize)]
pub struct Connection {
    /// Transport of the connection.
    pub transport: Transport,
    /// Endpoint of the connection that sorts first.
    pub a: String,
    /// Endpoint of the connection that sorts last.
    pub b: String,
    /// Protocol of the connection (E2 or E42).
    pub side: Side,
    /// E2AP version of the connection.
    pub e2ap: String,
    /// Number of PDUs on the connection.
    pub pdus: u64,
}

#[derive(Debug)]
struct State {
    flow: Flow,
    side: Side,
    version: Version,
    pdus: u64,
    /// Position of the connection in the order of first PDUs.
    rank: usize,
    version_known: bool,
    /// Service models of RAN functions; `None` where nodes of an E42 connection differ.
    models: HashMap<RanFunctionId, Option<&'static dyn Model>>,
}

/// Decodes PDUs and keeps the state of the connections.
#[derive(Debug, Default)]
pub struct Dissector {
    known: Known,
    pdus: u64,
    connections: HashMap<(Flow, Side), State>,
    /// Protocols of connections whose setup was captured.
    sides: HashMap<Flow, Side>,
}

/// Returns the protocol of a connection from its setup PDU. An E2 setup has procedure code 1, which E42 does not use.
/// An E42 setup begins with the RAN functions that the xApp requests.
fn side_of_setup(pdu: &[u8]) -> Option<Side> {
    if Version::of_setup(pdu).is_some() || matches!(pdu, [0x20 | 0x40, 1, ..]) {
        return Some(Side::E2);
    }
    e42::numbering_of(pdu).map(|_| Side::E42)
}

impl Dissector {
    /// Creates a dissector. `known` overrides facts inferred from ports and setups.
    pub fn new(known: Known) -> Self {
        Self { known, ..Self::default() }
    }

    /// Decodes the next PDU.
    pub fn take(&mut self, pdu: Pdu, notes: &mut Notes) -> Dissected {
        self.pdus += 1;
        let side = self.known.side.or(pdu.side).unwrap_or_else(|| self.side(&pdu));
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
            version_known: self.known.version.is_some() || pdu.flow.transport == Transport::File,
            models: HashMap::new(),
        });
        connection.pdus += 1;
        if pdu.flow.transport == Transport::File {
            // Files with one PDU each are independent, so the version of an earlier file is not used.
            connection.version = self.known.version.unwrap_or_default();
        }
        let message = connection.decode(&pdu, self.known.version.is_some());
        if !connection.version_known {
            connection.version_known = true;
            let assumed = Note::VersionAssumed(connection.flow.to_string(), connection.version.name());
            notes.add(assumed, "PDU", self.pdus);
        }
        let model = message.as_ref().ok().and_then(|decoded| connection.model(&decoded.message));
        let model = self.known.model.or(model);
        Dissected { number: self.pdus, pdu, side, version: connection.version, message, model }
    }

    /// Returns the protocol of a PDU's connection, taken from its setup PDU, or else from its ports.
    fn side(&mut self, pdu: &Pdu) -> Side {
        let connection = pdu.flow.connection();
        if let Some(side) = side_of_setup(&pdu.bytes).filter(|_| pdu.flow.transport != Transport::File) {
            if self.sides.len() < MAX_CONNECTIONS || self.sides.contains_key(&connection) {
                self.sides.insert(connection, side);
            }
            return side;
        }
        self.sides.get(&connection).copied().unwrap_or_else(|| pdu.flow.side())
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
    /// Stores the RAN functions that a message announces, and returns the service model of the message's own function.
    fn model(&mut self, message: &e42::Message) -> Option<&'static dyn Model> {
        for function in payload::announced(message) {
            let model = payload::model(function);
            let known = self.models.entry(function.id).or_insert(model);
            // On E2, the node has changed its functions. On E42, two nodes use one id for different functions, so the
            // model is unknown.
            if self.side == Side::E2 {
                *known = model;
            } else if *known != model {
                *known = None;
            }
        }
        self.models.get(&payload::function(message)?).copied().flatten()
    }

    fn decode(&mut self, pdu: &Pdu, fixed: bool) -> Result<Decoded<e42::Message>, Rejection> {
        let stated = match self.side {
            Side::E2 => Version::of_setup(&pdu.bytes),
            Side::E42 => e42::numbering_of(&pdu.bytes),
        };
        // A file with one PDU is decoded as v2.03 unless the user specifies another version.
        if let Some(version) = stated
            && !fixed
            && pdu.flow.transport != Transport::File
        {
            // A connection that was upgraded to v3.01 stays at v3.01 when the same node sends another setup.
            let stays = self.version_known
                && self.version == Version::V3_01
                && version == Version::V2_03
                && self.side == Side::E2;
            self.version = if stays { self.version } else { version };
            self.version_known = true;
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

/// Returns a version in which a PDU is decodable, after decoding failed in version `tried`.
pub(super) fn other_version(pdu: &Pdu, side: Side, tried: Version) -> Option<Version> {
    Version::ALL.into_iter().filter(|&version| version != tried).find(|&version| match side {
        Side::E2 => e2ap::decode(&pdu.bytes, version).is_ok(),
        Side::E42 => e42::decode(&pdu.bytes, version).is_ok(),
    })
}
