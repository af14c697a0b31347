//! The subset of OpenFlow 1.3 for requests that `ovs-ofctl` bundles cannot contain. It creates thousands of meters over
//! one connection, and deletes meters and groups, which have no cookies.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig, sut};

/// Version number of OpenFlow 1.3 (§A.1). The used message types follow.
const VERSION: u8 = 4;
pub(super) const HELLO: u8 = 0;
const ERROR: u8 = 1;
pub(super) const ECHO_REQUEST: u8 = 2;
pub(super) const ECHO_REPLY: u8 = 3;
pub(super) const GET_CONFIG_REQUEST: u8 = 7;
pub(super) const GET_CONFIG_REPLY: u8 = 8;
pub(super) const SET_CONFIG: u8 = 9;
/// Message type PACKET_IN, for a packet that the switch sends to its controllers instead of forwarding it.
pub(super) const PACKET_IN: u8 = 10;
const GROUP_MOD: u8 = 15;
const BARRIER_REQUEST: u8 = 20;
const BARRIER_REPLY: u8 = 21;
const METER_MOD: u8 = 29;
/// Delete command of group and meter modifications.
const DELETE: u16 = 2;
/// Length of a message header, in bytes.
pub(super) const HEAD: usize = 8;
/// Number of meters between two barriers. The buffers of switch and socket have space for this number.
const AT_ONCE: usize = 256;
/// Timeout of a response.
const PATIENCE: Duration = Duration::from_secs(30);
/// Timeout of connecting to a switch at an address.
const REACH: Duration = Duration::from_secs(5);

/// A byte stream to a switch.
trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A connection to a switch.
pub(in crate::switches) struct OpenFlow {
    stream: Box<dyn Stream>,
    known: HashSet<u32>,
    next: u32,
}

/// A meter with one band, which drops packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meter {
    id: u32,
    kilobits_per_s: u32,
    burst_kilobits: u32,
}

impl Meter {
    /// Parses a line of [`ranlab_pipeline::backends::Reader::OvsMeters`].
    fn parse(line: &str) -> Option<Self> {
        let field = |name: &str| {
            let of = line.split(',').find_map(|part| part.strip_prefix(name))?;
            of.parse::<u32>().ok()
        };
        Some(Self {
            id: field("meter=")?,
            kilobits_per_s: field("rate=")?,
            burst_kilobits: field("burst_size=")?,
        })
    }

    /// Encodes the meter modification (§A.3.4.4) with the flags kbit/s and burst, and one band of type drop.
    fn message(self, xid: u32, known: bool) -> Vec<u8> {
        let mut body = Vec::with_capacity(24);
        body.extend(u16::from(known).to_be_bytes());
        body.extend(0b0101_u16.to_be_bytes());
        body.extend(self.id.to_be_bytes());
        body.extend([0, 1, 0, 16]);
        body.extend(self.kilobits_per_s.to_be_bytes());
        body.extend(self.burst_kilobits.to_be_bytes());
        body.extend([0; 4]);
        message(METER_MOD, xid, &body)
    }
}

/// Encodes a complete message.
pub(super) fn message(kind: u8, xid: u32, body: &[u8]) -> Vec<u8> {
    let mut out = vec![VERSION, kind];
    out.extend(((HEAD + body.len()) as u16).to_be_bytes());
    out.extend(xid.to_be_bytes());
    out.extend(body);
    out
}

impl OpenFlow {
    /// Connects to a bridge that this process started.
    pub(in crate::switches) fn connect(path: &Path) -> Result<Self, ComponentError> {
        let failed = |error: std::io::Error| environment(format!("{}: {error}", path.display()));
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        Self::greet(Box::new(stream))
    }

    /// Connects to a switch at an address.
    pub(super) fn reach(at: SocketAddr) -> Result<Self, ComponentError> {
        let stream = tcp(at)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(environment)?;
        Self::greet(Box::new(stream))
    }

    fn greet(stream: Box<dyn Stream>) -> Result<Self, ComponentError> {
        let mut own = Self { stream, known: HashSet::new(), next: 1 };
        own.send(&message(HELLO, 0, &[]))?;
        Ok(own)
    }

    /// Deletes meters and groups. A missing meter or group is not an error.
    pub(super) fn delete(&mut self, meters: &[u32], groups: &[u32]) -> Result<(), ComponentError> {
        let of_meter = |id: &u32| {
            let body = [&DELETE.to_be_bytes()[..], &[0, 0], &id.to_be_bytes()].concat();
            (METER_MOD, body)
        };
        let of_group =
            |id: &u32| (GROUP_MOD, [&DELETE.to_be_bytes()[..], &[0, 0], &id.to_be_bytes()].concat());
        let all: Vec<_> = meters.iter().map(of_meter).chain(groups.iter().map(of_group)).collect();
        for some in all.chunks(AT_ONCE) {
            let mut octets = Vec::new();
            for (kind, body) in some {
                octets.extend(message(*kind, self.xid(), body));
            }
            self.fenced(octets)?;
        }
        // A deleted meter must be added instead of modified the next time.
        for id in meters {
            self.known.remove(id);
        }
        Ok(())
    }

    /// Sends messages and waits for the barrier reply after them.
    fn fenced(&mut self, mut octets: Vec<u8>) -> Result<(), ComponentError> {
        let barrier = self.xid();
        octets.extend(message(BARRIER_REQUEST, barrier, &[]));
        self.send(&octets)?;
        self.until(barrier)
    }

    /// Sets meters, one per line, and waits until the switch has processed them.
    pub(in crate::switches) fn meters(&mut self, lines: &str) -> Result<(), ComponentError> {
        let lines: Vec<&str> = lines.lines().collect();
        for some in lines.chunks(AT_ONCE) {
            let mut all = Vec::new();
            for line in some {
                let meter =
                    Meter::parse(line).ok_or_else(|| rig(format!("the line describes no meter: {line}")))?;
                let known = !self.known.insert(meter.id);
                all.extend(meter.message(self.xid(), known));
            }
            self.fenced(all)?;
        }
        Ok(())
    }

    fn xid(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    fn send(&mut self, octets: &[u8]) -> Result<(), ComponentError> {
        self.stream
            .write_all(octets)
            .map_err(|error| sut(format!("the switch does not accept OpenFlow messages: {error}")))
    }

    /// Reads until the reply to a barrier. Returns an error if the switch rejected a message before the reply.
    fn until(&mut self, barrier: u32) -> Result<(), ComponentError> {
        loop {
            let lost = |error: std::io::Error| sut(format!("the switch does not answer OpenFlow: {error}"));
            let mut head = [0; HEAD];
            self.stream.read_exact(&mut head).map_err(lost)?;
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            let mut body = vec![0; length.saturating_sub(HEAD)];
            self.stream.read_exact(&mut body).map_err(lost)?;
            let xid = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
            match head[1] {
                BARRIER_REPLY if xid == barrier => return Ok(()),
                ECHO_REQUEST => self.send(&message(ECHO_REPLY, xid, &body))?,
                ERROR => {
                    let half = |at: usize| {
                        body.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]))
                    };
                    // For meters (error type 12, §A.4.4), code 12 means that the meter table is full.
                    let kind = half(0);
                    let code = half(2);
                    let why = if (kind, code) == (12, 12) { ": its table of meters is full" } else { "" };
                    return Err(sut(format!(
                        "the switch refuses a meter or group: OpenFlow error {kind}/{code}{why}"
                    )));
                }
                _ => {}
            }
        }
    }
}

/// Connects to an address over TCP, with the write timeout set.
pub(super) fn tcp(at: SocketAddr) -> Result<TcpStream, ComponentError> {
    let failed = |error: std::io::Error| environment(format!("tcp:{at}: {error}"));
    let stream = TcpStream::connect_timeout(&at, REACH).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meter_line_encodes_as_message() {
        let line = "meter=7,kbps,burst,bands=type=drop,rate=80,burst_size=4294967295";
        // The first field of a band follows a second equals sign. This field is not read.
        let meter = Meter::parse(line).unwrap();
        assert_eq!(meter, Meter { id: 7, kilobits_per_s: 80, burst_kilobits: u32::MAX });
        let expected = [
            4, 29, 0, 32, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 7, 0, 1, 0, 16, 0, 0, 0, 80, 255, 255, 255, 255,
            0, 0, 0, 0,
        ];
        assert_eq!(meter.message(9, false), expected);
        assert_eq!(meter.message(9, true)[9], 1);
        assert_eq!(Meter::parse("meter=x,rate=1,burst_size=1"), None);
    }

    #[test]
    fn rejection_is_quoted_and_echo_request_is_answered() {
        let folder = std::env::temp_dir().join(format!("ranlab-openflow-{}", std::process::id()));
        let _ = std::fs::remove_file(&folder);
        let listener = std::os::unix::net::UnixListener::bind(&folder).unwrap();
        let switch = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut read = |octets: usize| {
                let mut all = vec![0; octets];
                stream.read_exact(&mut all).unwrap();
                (all, stream.try_clone().unwrap())
            };
            // The messages are a hello, a meter, and the barrier after the meter.
            let (all, mut out) = read(8 + 32 + 8);
            out.write_all(&message(ECHO_REQUEST, 77, b"x")).unwrap();
            let (echo, _) = read(9);
            assert_eq!(echo, message(ECHO_REPLY, 77, b"x"));
            out.write_all(&message(BARRIER_REPLY, u32::from_be_bytes(all[44..].try_into().unwrap()), &[]))
                .unwrap();
            read(32 + 8);
            out.write_all(&message(ERROR, 3, &[0, 12, 0, 12])).unwrap();
        });
        let mut openflow = OpenFlow::connect(&folder).unwrap();
        let line = "meter=1,kbps,burst,bands=type=drop,rate=1,burst_size=1\n";
        openflow.meters(line).unwrap();
        let refused = openflow.meters(line).unwrap_err().to_string();
        assert!(refused.contains("12/12: its table of meters is full"), "{refused}");
        switch.join().unwrap();
        std::fs::remove_file(folder).unwrap();
    }
}
