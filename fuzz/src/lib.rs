//! Fuzz input as a script for a state machine: time steps, connections that open and close, and PDUs.
//!
//! A PDU is a random valid PDU, so the fuzzer need not learn PER. Its keys are replaced by keys that the machine has
//! used, so that responses and indications match. The PDU may then be damaged.

use std::time::Duration;

use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2_codec::e2ap::{self, Message, Version};
use ranlab_e2_codec::e42;

/// Maximum number of steps per script, so that each input is fast.
const STEPS: usize = 200;

/// The remaining fuzz input.
#[derive(Debug)]
pub struct Script<'a> {
    input: &'a [u8],
    steps: usize,
    now: Time,
}

impl<'a> Script<'a> {
    /// Creates a script.
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, steps: 0, now: Time::ZERO }
    }

    /// Returns the operation of the next step, 0 to 255, or `None` at the end.
    pub fn step(&mut self) -> Option<u8> {
        self.steps += 1;
        if self.input.is_empty() || self.steps > STEPS { None } else { Some(self.octet()) }
    }

    /// Returns the next byte, or zero at the end.
    pub fn octet(&mut self) -> u8 {
        let Some((&first, rest)) = self.input.split_first() else { return 0 };
        self.input = rest;
        first
    }

    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Advances the time by 0 to 18 hours.
    pub fn pass_time(&mut self) {
        const MS: [u64; 8] = [0, 1, 10, 100, 1_000, 5_000, 60_000, 65_535_000];
        let step = Duration::from_millis(MS[usize::from(self.octet() % 8)]);
        self.now += step;
    }

    /// Returns an E2AP PDU with the keys in `seen`.
    pub fn e2ap(&mut self, seen: &Keys) -> Bytes {
        let name = Message::NAMES[usize::from(self.octet()) % Message::NAMES.len()];
        self.e2ap_named(name, seen)
    }

    /// Returns a PDU of the given E2AP message with the keys in `seen`.
    pub fn e2ap_named(&mut self, name: &str, seen: &Keys) -> Bytes {
        let version = self.version();
        let seed = self.seed();
        let pdu = Message::random(name, seed, version).and_then(|m| e2ap::encode(&m, version).ok());
        self.finish(pdu.unwrap_or_default(), seen)
    }

    /// Returns an E42 PDU: an E42-specific message or an E2AP message.
    pub fn e42(&mut self, seen: &Keys) -> Bytes {
        let kind = self.octet() % 8;
        let version = self.version();
        let seed = self.seed();
        let Some(message) = e42_message(kind, version, seed) else { return self.e2ap(seen) };
        let pdu = e42::encode(&message, version).unwrap_or_default();
        self.finish(pdu, seen)
    }

    fn version(&mut self) -> Version {
        match self.octet() % 8 {
            0 => Version::V1_01,
            1 | 2 => Version::V3_01,
            _ => Version::V2_03,
        }
    }

    fn seed(&mut self) -> u64 {
        u64::from(u16::from_be_bytes([self.octet(), self.octet()]))
    }

    fn finish(&mut self, mut pdu: Vec<u8>, seen: &Keys) -> Bytes {
        let how = self.octet();
        if how & 1 == 0 {
            seen.put(&mut pdu);
        }
        let damages = if how & 0xf0 == 0xf0 { how >> 1 & 3 } else { 0 };
        for _ in 0..damages {
            let at = usize::from(self.octet());
            let value = self.octet();
            match pdu.get_mut(at) {
                Some(octet) => *octet = value,
                None => pdu.truncate(at / 2),
            }
        }
        pdu.into()
    }
}

fn e42_message(kind: u8, version: Version, seed: u64) -> Option<e42::Message> {
    let node = |seed| match Message::random("E2setupRequest", seed, version) {
        Some(Message::E2SetupRequest(m)) => Some(m),
        _ => None,
    };
    let subscription = || match Message::random("RICsubscriptionRequest", seed, version) {
        Some(Message::RicSubscriptionRequest(m)) => Some(m),
        _ => None,
    };
    // Only a few distinct nodes exist, so that they occur repeatedly.
    let setup = node(seed % 4)?;
    Some(match kind {
        0 => e42::Message::SetupRequest(e42::SetupRequest {
            functions: setup.functions?,
            wants_node_events: seed & 4 == 0,
        }),
        1 => {
            let m = subscription()?;
            e42::Message::SubscriptionRequest(e42::SubscriptionRequest {
                xapp_id: 1,
                node_id: setup.node_id,
                request_id: m.request_id,
                function_id: m.function_id,
                details: m.details,
            })
        }
        2 => {
            let m = subscription()?;
            e42::Message::SubscriptionDeleteRequest(e42::SubscriptionDeleteRequest {
                xapp_id: 1,
                request_id: m.request_id,
                function_id: m.function_id,
            })
        }
        3 => {
            let Some(Message::RicControlRequest(m)) = Message::random("RICcontrolRequest", seed, version)
            else {
                return None;
            };
            e42::Message::ControlRequest(e42::ControlRequest {
                xapp_id: 1,
                node_id: setup.node_id,
                request_id: m.request_id,
                function_id: m.function_id,
                call_process_id: m.call_process_id,
                header: m.header,
                message: m.message,
                ack_request: m.ack_request,
            })
        }
        4 => e42::Message::SetupResponse(e42::SetupResponse { xapp_id: 1, nodes: vec![connected(setup)] }),
        5 => e42::Message::NodeEvent(e42::NodeEvent {
            xapp_id: 1,
            removed: if seed & 4 == 0 { vec![setup.node_id] } else { Vec::new() },
            connected: if seed & 4 == 0 { Vec::new() } else { vec![connected(setup)] },
        }),
        _ => return None,
    })
}

fn connected(setup: e2ap::E2SetupRequest) -> e42::ConnectedNode {
    e42::ConnectedNode {
        node_id: setup.node_id,
        components: Vec::new(),
        functions: setup.functions.unwrap_or_default(),
    }
}

/// The last transaction, request, function and xApp ids that a machine has sent, encoded as in its PDUs.
#[derive(Debug, Default)]
pub struct Keys {
    transaction: Option<[u8; 1]>,
    request: Option<[u8; 4]>,
    function: Option<[u8; 2]>,
    xapp: Option<[u8; 2]>,
}

/// First bytes of each element: identifier, (criticality), length, and padding of the request id.
const TRANSACTION: ([u8; 2], &[u8]) = ([0, 49], &[2, 0]);
const REQUEST: ([u8; 2], &[u8]) = ([0, 29], &[5, 0]);
const FUNCTION: ([u8; 2], &[u8]) = ([0, 5], &[2]);
const XAPP: ([u8; 2], &[u8]) = ([0, 62], &[2]);

impl Keys {
    /// Stores the keys in a PDU of the machine.
    pub fn learn(&mut self, pdu: &[u8]) {
        learn(&mut self.transaction, pdu, TRANSACTION);
        learn(&mut self.request, pdu, REQUEST);
        learn(&mut self.function, pdu, FUNCTION);
        learn(&mut self.xapp, pdu, XAPP);
    }

    fn put(&self, pdu: &mut [u8]) {
        put(self.transaction, pdu, TRANSACTION);
        put(self.request, pdu, REQUEST);
        put(self.function, pdu, FUNCTION);
        put(self.xapp, pdu, XAPP);
    }
}

/// Returns the position of an element's value, searched in the first bytes.
fn find(pdu: &[u8], (id, head): ([u8; 2], &[u8])) -> Option<usize> {
    let at = pdu.iter().take(48).enumerate().position(|(at, _)| {
        pdu[at..].starts_with(&id) && pdu.get(at + 3..).is_some_and(|rest| rest.starts_with(head))
    });
    at.map(|at| at + 3 + head.len())
}

fn learn<const N: usize>(key: &mut Option<[u8; N]>, pdu: &[u8], element: ([u8; 2], &[u8])) {
    if let Some(octets) = find(pdu, element).and_then(|at| pdu.get(at..at + N)) {
        *key = octets.try_into().ok();
    }
}

fn put<const N: usize>(key: Option<[u8; N]>, pdu: &mut [u8], element: ([u8; 2], &[u8])) {
    if let (Some(key), Some(at)) = (key, find(pdu, element))
        && let Some(place) = pdu.get_mut(at..at + N)
    {
        place.copy_from_slice(&key);
    }
}
