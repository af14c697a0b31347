//! Processing of captures: passes every message to the caller, and returns a summary at the end.
use std::collections::BTreeMap;
use std::io::{self, Read};

use bytes::Bytes;
use serde::Serialize;

use super::assemble::Assembler;
use super::dissect::{Connection, Dissected, Dissector, Known, other_version};
use super::findings::Findings;
use super::note::{Note, NoteCount, Notes};
use super::pdu::{Endpoint, Flow, Pdu, Transport};
use super::{MAX_PDU_BYTES, Side, verify};
use ranlab_packet::pcap;

/// Maximum number of PDUs with a problem in the summary list. The totals count all of them.
const MAX_PROBLEMS: usize = 1000;

/// Reason why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An empty file, which is neither a capture nor a PDU.
    #[error("empty")]
    Empty,
    /// A file that is not a capture and is too long for a single PDU.
    #[error("the file is not a capture, and is longer than the maximum of a PDU, {MAX_PDU_BYTES} bytes")]
    TooLong,
}

/// A fault in a PDU.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    /// Number of the PDU over all files, from 1.
    pub pdu: u64,
    /// Kind of problem: `undecodable` or `differing`.
    pub problem: &'static str,
    /// Description of the problem.
    pub reason: String,
}

/// Totals of all captures.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Number of PDUs of all sides.
    pub pdus: u64,
    /// Number of PDUs that no decoder accepted.
    pub undecodable: u64,
    /// Number of PDUs that this program encodes differently; `None` if the encodings were not compared.
    pub differing: Option<u64>,
    /// Number of PDUs by side.
    pub sides: BTreeMap<Side, u64>,
    /// Number of PDUs by message.
    pub messages: BTreeMap<&'static str, u64>,
    /// Connections, in the order of their first PDU.
    pub connections: Vec<Connection>,
    /// Irregularities of the captures.
    pub notes: Vec<NoteCount>,
    /// Problems, at most the first thousand.
    pub problems: Vec<Problem>,
}

/// Processes captures one after the other. Connections continue from one capture to the next.
#[derive(Debug)]
pub struct Trace {
    /// Whether every datagram and payload protocol counts as E2AP.
    trusting: bool,
    dissector: Dissector,
    notes: Notes,
    summary: Summary,
}

impl Trace {
    /// Creates a trace. `known` overrides facts inferred from ports and setups. With `verify`, each message is
    /// encoded again and compared.
    pub fn new(known: Known, verify: bool) -> Self {
        let summary = Summary { differing: verify.then_some(0), ..Summary::default() };
        let trusting = known.side.is_some();
        let dissector = Dissector::new(known);
        Self { trusting, dissector, notes: Notes::default(), summary }
    }

    /// Reads a capture (pcap, pcapng), or a file with one PDU, to its end, and calls `each` for every PDU. A growing
    /// capture is read incrementally. At its current end, the source returns [`io::ErrorKind::WouldBlock`]; the next
    /// read from the source must wait for data.
    pub fn read(
        &mut self,
        mut source: impl Read + Send,
        mut each: impl FnMut(&Dissected, Option<&Problem>),
    ) -> Result<(), TraceError> {
        let mut start = Vec::new();
        source.by_ref().take(4).read_to_end(&mut start)?;
        if start.is_empty() {
            return Err(TraceError::Empty);
        }
        let mut found = Findings { pdus: Vec::new(), notes: std::mem::take(&mut self.notes) };
        let read = if pcap::is_capture(&start) || pcap::is_gzip(&start) {
            let mut assembler = Assembler::new(self.trusting);
            let read = pcap::read(start.chain(source), |event| {
                assembler.event(event, &mut found);
                self.account(&mut found, &mut each);
            });
            assembler.finish(&mut found);
            read.map_err(TraceError::Io)
        } else {
            sole_pdu(start, source).map(|pdu| found.pdus.push(pdu))
        };
        self.account(&mut found, &mut each);
        self.notes = found.notes;
        read
    }

    /// Returns the totals so far.
    pub fn finish(mut self) -> Summary {
        self.summary.connections = self.dissector.connections();
        self.summary.notes = self.notes.list();
        self.summary
    }

    /// Passes the findings so far to the caller and adds them to the totals.
    fn account(&mut self, found: &mut Findings, each: &mut impl FnMut(&Dissected, Option<&Problem>)) {
        for pdu in found.pdus.drain(..) {
            self.pdu(pdu, &mut found.notes, each);
        }
    }

    fn pdu(&mut self, pdu: Pdu, notes: &mut Notes, each: &mut impl FnMut(&Dissected, Option<&Problem>)) {
        let dissected = self.dissector.take(pdu, notes);
        self.summary.pdus += 1;
        *self.summary.sides.entry(dissected.side).or_default() += 1;
        let problem = match &dissected.message {
            Ok(decoded) => {
                let message = decoded.message.name();
                *self.summary.messages.entry(message).or_default() += 1;
                for what in decoded.notes() {
                    let note = Note::Deviation { message, what: what.to_owned() };
                    notes.add(note, "PDU", dissected.number);
                }
                self.difference(&dissected)
            }
            Err(rejection) => {
                self.summary.undecodable += 1;
                let hint = other_version(&dissected.pdu, dissected.side, dissected.version)
                    .map_or_else(String::new, |version| {
                        format!("; it is a message of E2AP {version}: try --e2ap {version}")
                    });
                Some(("undecodable", format!("{rejection}{hint}")))
            }
        };
        let problem = problem.map(|(problem, reason)| Problem { pdu: dissected.number, problem, reason });
        each(&dissected, problem.as_ref());
        if self.summary.problems.len() < MAX_PROBLEMS {
            self.summary.problems.extend(problem);
        }
    }

    fn difference(&mut self, dissected: &Dissected) -> Option<(&'static str, String)> {
        let count = self.summary.differing.as_mut()?;
        let decoded = dissected.message.as_ref().ok()?;
        let difference = verify::verify(decoded, dissected.version, &dissected.pdu.bytes)?;
        *count += 1;
        Some(("differing", difference.to_string()))
    }
}

fn sole_pdu(mut octets: Vec<u8>, rest: impl Read) -> Result<Pdu, TraceError> {
    rest.take(MAX_PDU_BYTES as u64 + 1).read_to_end(&mut octets)?;
    if octets.len() > MAX_PDU_BYTES {
        return Err(TraceError::TooLong);
    }
    let source = Endpoint::default();
    let destination = Endpoint::default();
    let flow = Flow { transport: Transport::File, source, destination };
    Ok(Pdu { flow, time_us: None, side: None, bytes: Bytes::from(octets) })
}
