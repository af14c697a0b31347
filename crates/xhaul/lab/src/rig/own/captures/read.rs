//! Reads a capture and returns the frames of each message series.

use std::collections::BTreeMap;
use std::path::Path;

use ranlab_packet::pcap::{Event, LinkType, Packet};
use ranlab_xhaul::cus::{Application, ControlPlane, SampleFormat};
use ranlab_xhaul::ecpri::{ETHERTYPE, EcpriError, Message, Stream};
use ranlab_xhaul::{NS, Ps, WIRE_GAP_BYTES};

use super::timing::Mark;
use crate::rig::own::OwnError;
use crate::rig::own::build::value;
use crate::rig::own::file::CaptureRow;

/// Maximum number of flows in a capture.
const FLOWS_MAX: usize = 1024;
/// Maximum number of messages in a capture.
const MESSAGES_MAX: usize = 4_000_000;
/// Minimum frame size without frame check sequence, in bytes.
const FRAME_BYTES_MIN: u32 = 60;
/// Maximum number of messages in a frame.
const CONCATENATED_MAX: usize = 64;
/// Allowed subcarrier spacings of a fronthaul, in kHz.
const SPACINGS_KHZ: [u32; 5] = [15, 30, 60, 120, 240];

/// Key of a message series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Series {
    pub(super) id: u16,
    /// Whether the data is downlink. Control messages are always sent to the radio unit.
    pub(super) down: bool,
    pub(super) control: bool,
}

/// Frames of a series in a capture.
#[derive(Debug, Default)]
pub(super) struct SeriesRecord {
    /// Frames as (time since the first frame of the capture, bytes on the wire).
    pub(super) frames: Vec<(Ps, u32)>,
    pub(super) marks: Vec<Mark>,
    /// Number of messages whose sequence number does not follow the previous message of the series.
    pub(super) gaps: u64,
    last: Option<u16>,
    pub(super) format: Option<SampleFormat>,
    /// Highest priority in the VLAN tags.
    pub(super) priority: Option<u8>,
    /// Number of messages with a filter other than the standard channel.
    pub(super) filtered: u64,
}

/// Reason why a frame is not part of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(super) enum Skipped {
    #[error("frames that are not Ethernet")]
    LinkType,
    #[error("frames without a time")]
    Time,
    #[error("frames of other protocols")]
    EtherType,
    #[error("eCPRI messages of other types")]
    MessageType,
    #[error("frames that are not valid eCPRI")]
    Invalid,
}

/// Parsed capture.
#[derive(Debug, Default)]
pub(super) struct Capture {
    pub(super) series: BTreeMap<Series, SeriesRecord>,
    pub(super) skipped: BTreeMap<Skipped, u64>,
    /// Number of frames that the capture contains only in part.
    pub(super) cut: u64,
    messages: usize,
    first_ns: Option<u64>,
    /// First error that makes the capture invalid.
    wrong: Option<String>,
}

pub(super) fn read(path: &Path, row: &CaptureRow, of: &str) -> Result<Capture, OwnError> {
    let failed =
        |error: std::io::Error| OwnError::Read { file: path.display().to_string(), why: error.to_string() };
    let spacing_khz = row.spacing_khz.unwrap_or(30);
    if !SPACINGS_KHZ.contains(&spacing_khz) {
        return Err(value(of, format!("`spacing_khz` must be 15, 30, 60, 120 or 240, not {spacing_khz}")));
    }
    let source = std::fs::File::open(path).map_err(failed)?;
    let mut capture = Capture::default();
    let mut fault = None;
    ranlab_packet::pcap::read(source, |event| match event {
        Event::Packet(packet) => {
            let skipped = capture.packet(&packet, u64::from(spacing_khz / 15));
            if let Err(skipped) = skipped {
                *capture.skipped.entry(skipped).or_default() += 1;
            }
        }
        // A truncated packet is counted when it is processed as a packet.
        Event::Fault(ranlab_packet::pcap::Fault::PacketCut, _) => {}
        Event::Fault(found, number) => fault = fault.or(Some((found, number))),
    })
    .map_err(failed)?;
    if let Some((fault, number)) = fault {
        return Err(value(of, format!("{}, packet {number}: {fault}", path.display())));
    }
    if let Some(why) = capture.wrong.take() {
        return Err(value(of, format!("{}: {why}", path.display())));
    }
    if capture.series.is_empty() {
        return Err(value(
            of,
            format!("{} has no eCPRI message of type 0 or 2 in Ethernet frames with a time", path.display()),
        ));
    }
    for record in capture.series.values_mut() {
        record.frames.sort_by_key(|(time, _)| *time);
    }
    Ok(capture)
}

impl Capture {
    fn packet(&mut self, packet: &Packet<'_>, slots_per_ms: u64) -> Result<(), Skipped> {
        if packet.link_type != LinkType::ETHERNET {
            return Err(Skipped::LinkType);
        }
        let at_ns = packet.time_ns.ok_or(Skipped::Time)?;
        let (priority, mut rest) = payload(packet.data).ok_or(Skipped::EtherType)?;
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        let mut owner = None;
        for _ in 0..CONCATENATED_MAX {
            let (stream, control, next) = message(rest, packet.cut)?;
            let series = self.message(stream, control, at_ns, slots_per_ms);
            // A frame with several messages counts as one frame on the wire. It belongs to the series of its first message.
            owner = owner.or(series);
            match next {
                Some(next) => rest = next,
                None => break,
            }
        }
        let Some(record) = owner.and_then(|series| self.series.get_mut(&series)) else { return Ok(()) };
        self.cut += u64::from(packet.cut);
        record.priority = record.priority.max(priority);
        // A capture does not include the frame check sequence.
        let wire = packet.whole_bytes.max(FRAME_BYTES_MIN).saturating_add(4 + WIRE_GAP_BYTES);
        record.frames.push((at_ns.saturating_sub(first_ns).saturating_mul(NS), wire));
        Ok(())
    }

    /// Adds a message. Returns `None` if the message is rejected.
    fn message(
        &mut self,
        stream: Stream<'_>,
        control: bool,
        at_ns: u64,
        slots_per_ms: u64,
    ) -> Option<Series> {
        let header = match control {
            true => ControlPlane::header(stream.data).ok().map(|(header, ..)| header),
            false => Application::decode(stream.data).ok().map(|(header, _)| header),
        };
        if let Some(slot) = header.map(|header| header.slot).filter(|&slot| u64::from(slot) >= slots_per_ms) {
            self.wrong.get_or_insert_with(|| {
                format!(
                    "a message is for slot {slot} of a subframe, but with `spacing_khz = {}` the number of slots is {slots_per_ms}",
                    slots_per_ms * 15
                )
            });
        }
        self.messages += 1;
        if self.messages > MESSAGES_MAX {
            self.wrong.get_or_insert_with(|| format!("the capture has more than {MESSAGES_MAX} messages"));
            return None;
        }
        // eCPRI messages without an O-RAN header count as downlink data.
        let down = header.is_none_or(|header| header.down);
        let series = Series { id: stream.id, down, control };
        if self.series.len() >= FLOWS_MAX && !self.series.contains_key(&series) {
            self.wrong
                .get_or_insert_with(|| format!("the capture has more than {FLOWS_MAX} series of messages"));
            return None;
        }
        let record = self.series.entry(series).or_default();
        record.sequence(stream.sequence);
        if let Some(header) = header {
            match header.filter {
                0 => record.marks.push(Mark { at_ns, air_ns: header.air_ns(slots_per_ms) }),
                // PRACH symbols have a different length.
                _ => record.filtered += 1,
            }
        }
        if !control && record.format.is_none() {
            record.format = SampleFormat::find(stream.data);
        }
        Some(series)
    }
}

/// Returns the priority of the outermost VLAN tag, and the payload of an eCPRI frame.
fn payload(frame: &[u8]) -> Option<(Option<u8>, &[u8])> {
    let mut rest = frame.get(12..)?;
    let mut priority = None;
    // VLAN tags: 802.1Q and 802.1ad.
    while matches!(rest.get(..2)?, [0x81, 0x00] | [0x88, 0xA8]) {
        priority = priority.or(Some(rest.get(2)? >> 5));
        rest = rest.get(4..)?;
    }
    (rest.get(..2)? == ETHERTYPE.to_be_bytes()).then_some(())?;
    Some((priority, rest.get(2..)?))
}

/// Returns the first message, whether it is a control plane message, and the bytes of the next message.
fn message(bytes: &[u8], cut: bool) -> Result<(Stream<'_>, bool, Option<&[u8]>), Skipped> {
    let (decoded, next) = match Message::decode(bytes) {
        Ok(decoded) => decoded,
        // The headers suffice if the capture has truncated the frame.
        Err(EcpriError::Truncated { .. }) if cut => return cut_message(bytes),
        Err(_) => return Err(Skipped::Invalid),
    };
    match decoded {
        Message::IqData(stream) => Ok((stream, false, next)),
        Message::RealTimeControl(stream) => Ok((stream, true, next)),
        _ => Err(Skipped::MessageType),
    }
}

fn cut_message(bytes: &[u8]) -> Result<(Stream<'_>, bool, Option<&[u8]>), Skipped> {
    let [_, message_type @ (0 | 2), _, _, id0, id1, sequence0, sequence1, data @ ..] = bytes else {
        return Err(Skipped::Invalid);
    };
    let id = u16::from_be_bytes([*id0, *id1]);
    let sequence = u16::from_be_bytes([*sequence0, *sequence1]);
    Ok((Stream { id, sequence, data }, *message_type == 2, None))
}

impl Series {
    pub(super) fn name(self, of: &str) -> String {
        let plane = if self.control { "C" } else { "U" };
        let way = if self.down { "DL" } else { "UL" };
        format!("{of} {:#06x} {plane} {way}", self.id)
    }

    /// Returns whether the frames of the series are sent from the DU to the radio unit.
    pub(super) const fn goes_down(self) -> bool {
        self.control || self.down
    }
}

impl SeriesRecord {
    /// Counts a message that does not continue the series. Expected is the next sequence number, or the next part of a message whose end
    /// bit was not set.
    fn sequence(&mut self, sequence: u16) {
        let number = (sequence >> 8) as u8;
        let part = sequence & 0x7F;
        if let Some(last) = self.last {
            let last_number = (last >> 8) as u8;
            let ended = last & 0x80 != 0;
            let follows = match ended {
                true => number == last_number.wrapping_add(1),
                false => number == last_number && part == (last & 0x7F) + 1,
            };
            self.gaps += u64::from(!follows);
        }
        self.last = Some(sequence);
    }

    /// Returns the rate on the wire over the time of the capture. `None` if all frames have the same time.
    pub(super) fn mbps(&self) -> Option<f64> {
        let (first, _) = self.frames.first()?;
        let (last, _) = self.frames.last()?;
        // The last frame is sent after the interval, so its bytes do not count.
        let before = self.frames.iter().rev().skip(1);
        let bytes: u64 = before.map(|(_, wire)| u64::from(*wire)).sum();
        (last > first).then(|| bytes as f64 * 8e6 / (last - first) as f64)
    }
}
