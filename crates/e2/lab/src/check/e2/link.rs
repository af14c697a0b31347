//! A connection that sends valid or invalid messages, and records the traffic.
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, IoSlice};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use ranlab_e2_capture::{E2_PORT, Endpoint, Flow, Recorder, Side, Transport};
use ranlab_e2_codec::e2ap::{Decoded, Message, Rejection, Version, decode_upgrading, encode};
use ranlab_sdk::transport::{Address, Frame, FrameReader, FrameWriter, MAX_PDU_BYTES, ReadOutcome, Stream};
use tokio::runtime::Runtime;

use ranlab_lab::check::{CaseFailure, fails};

/// Maximum number of PDUs recorded per check, so that a peer that sends endless reports does not exhaust the memory.
const TRACED_MAX: usize = 100_000;

/// Recorded traffic on all connections of a check.
#[derive(Clone, Default)]
pub(super) struct CheckTrace(Rc<RefCell<Vec<(u64, Flow, Bytes)>>>);

impl CheckTrace {
    fn note(&self, flow: Flow, pdu: &[u8]) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut all = self.0.borrow_mut();
        if all.len() < TRACED_MAX {
            all.push((at.as_nanos() as u64, flow, Bytes::copy_from_slice(pdu)));
        }
    }

    /// Writes the traffic as PDUs without lower layers, which Wireshark and `ranlab pcap` read.
    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let mut out = Recorder::new(BufWriter::new(File::create(file)?))?;
        for (at_ns, flow, pdu) in &*self.0.borrow() {
            out.write(Side::E2, *at_ns, flow, pdu)?;
        }
        out.flush()
    }
}

/// Input from a peer.
#[derive(Debug)]
pub(super) enum PeerMessage {
    /// A valid message.
    Said(Box<Decoded>),
    /// Bytes that are not a valid message, with the reason.
    Odd(Box<Rejection>),
    /// End of the connection, with its reason.
    End(String),
}

/// A connection to the checked peer.
pub(super) struct Link {
    runtime: Rc<Runtime>,
    stream: Stream,
    reader: FrameReader,
    trace: CheckTrace,
    /// Flow from the check to the peer.
    flow: Flow,
    pub(super) patience: Duration,
    pub(super) version: Version,
    /// Whether the connection has ended.
    pub(super) over: bool,
}

impl Link {
    pub(super) fn new(
        runtime: &Rc<Runtime>,
        stream: Stream,
        trace: &CheckTrace,
        number: u16,
        settings: (Duration, Version),
    ) -> Self {
        let near = Endpoint { address: Some([127, 0, 0, 1].into()), port: number };
        let there = stream.peer_address().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], E2_PORT)));
        let far = Endpoint { address: Some(there.ip()), port: there.port() };
        let transport = if stream.framer().is_one_per_write() { Transport::Sctp } else { Transport::Tcp };
        let flow = Flow { transport, source: near, destination: far };
        let reader = FrameReader::with_framer(MAX_PDU_BYTES, stream.framer());
        let (patience, version) = settings;
        let runtime = Rc::clone(runtime);
        let trace = trace.clone();
        Self { runtime, stream, reader, trace, flow, patience, version, over: false }
    }

    /// Records the further traffic of the link in the trace of another check.
    pub(super) fn traced_by(&mut self, trace: &CheckTrace) {
        self.trace = trace.clone();
    }

    /// Returns whether messages are framed by length prefixes.
    pub(super) fn is_stream(&self) -> bool {
        self.flow.transport == Transport::Tcp
    }

    /// Sends a message. A closed connection is noticed on the next read.
    pub(super) fn say(&mut self, message: &Message) -> Result<(), CaseFailure> {
        let pdu = encode(message, self.version).map_err(|error| CaseFailure::Fails(error.to_string()))?;
        self.say_pdu(&pdu);
        Ok(())
    }

    /// Sends bytes as one PDU.
    pub(super) fn say_pdu(&mut self, pdu: &[u8]) {
        self.trace.note(self.flow, pdu);
        let body = Bytes::copy_from_slice(pdu);
        let stream = &self.stream;
        let patience = self.patience;
        let write = async {
            let mut writer = FrameWriter::with_framer(MAX_PDU_BYTES, stream.framer());
            let mut frames = &[Frame { head: &[], body: &body }][..];
            while !frames.is_empty() || writer.rest_bytes() > 0 {
                let outcome = writer.write(stream, frames).map_err(io::Error::other)?;
                frames = &frames[outcome.taken..];
                if outcome.blocked {
                    stream.writable().await?;
                }
            }
            Ok::<_, io::Error>(())
        };
        let written = self.runtime.block_on(async { tokio::time::timeout(patience, write).await });
        self.over |= !matches!(written, Ok(Ok(())));
    }

    /// Sends bytes without framing.
    pub(super) fn say_octets(&mut self, octets: &[u8]) {
        self.trace.note(self.flow, octets);
        self.over |= self.stream.try_write_vectored(&[IoSlice::new(octets)]).is_err();
    }

    /// Returns the next input from the peer, if there is one before `until`.
    pub(super) fn receive(&mut self, until: Instant) -> Option<PeerMessage> {
        let pdu = match self.hear_pdu(until)? {
            Ok(pdu) => pdu,
            Err(why) => return Some(PeerMessage::End(why)),
        };
        Some(match decode_upgrading(&pdu, self.version) {
            Ok((decoded, _)) => PeerMessage::Said(Box::new(decoded)),
            Err(rejection) => PeerMessage::Odd(Box::new(rejection)),
        })
    }

    /// Returns the bytes of the next PDU, or the reason why the connection ended.
    pub(super) fn hear_pdu(&mut self, until: Instant) -> Option<Result<Bytes, String>> {
        let pdu = self.next_pdu(until)?;
        let back = Flow { source: self.flow.destination, destination: self.flow.source, ..self.flow };
        match &pdu {
            Ok(pdu) => self.trace.note(back, pdu),
            Err(_) => self.over = true,
        }
        Some(pdu)
    }

    fn next_pdu(&mut self, until: Instant) -> Option<Result<Bytes, String>> {
        let stream = &self.stream;
        let reader = &mut self.reader;
        let next = async {
            loop {
                match reader.next() {
                    Ok(Some(pdu)) => return Ok(pdu),
                    Ok(None) => {}
                    Err(error) => return Err(error.to_string()),
                }
                match reader.fill(stream) {
                    Ok(ReadOutcome::Bytes(_)) => {}
                    Ok(ReadOutcome::Closed) => return Err("the peer closed the connection".to_owned()),
                    Ok(ReadOutcome::WouldBlock) => {
                        stream.readable().await.map_err(|error| error.to_string())?;
                    }
                    Err(error) => return Err(format!("the connection ended: {error}")),
                }
            }
        };
        self.runtime.block_on(async { tokio::time::timeout_at(until.into(), next).await.ok() })
    }

    /// Returns the first message that `accept` accepts before the timeout. `what` names the awaited message in errors.
    /// Other messages are skipped, and the last of them is named in the error.
    pub(super) fn expect<T>(
        &mut self,
        what: &str,
        mut accept: impl FnMut(&mut Self, Message) -> Option<T>,
    ) -> Result<T, CaseFailure> {
        let until = Instant::now() + self.patience;
        let mut other = None;
        loop {
            match self.receive(until) {
                Some(PeerMessage::Said(decoded)) => {
                    let name = decoded.message.name();
                    if let Some(found) = accept(self, decoded.message) {
                        return Ok(found);
                    }
                    if name != "RICindication" {
                        other = Some(name);
                    }
                }
                Some(PeerMessage::Odd(rejection)) => {
                    return fails(format!(
                        "expected {what}; received bytes that are not a message: {rejection}"
                    ));
                }
                Some(PeerMessage::End(why)) => return fails(format!("expected {what}; {why}")),
                None => {
                    return fails(match other {
                        Some(name) => format!("timed out waiting for {what}; received {name}"),
                        None => format!("timed out waiting for {what}"),
                    });
                }
            }
        }
    }
}

/// Formats the error for an unreachable peer.
pub(super) fn unreachable(address: &Address, error: &dyn std::fmt::Display) -> String {
    format!("{address}: {error}")
}
