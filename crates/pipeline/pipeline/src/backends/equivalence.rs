//! Compares the frames that a switch sends with the oracle's frames, per port and byte by byte. Differences that the
//! backend declares as [`Equivalence`] are ignored.
//!
//! Switches do not guarantee the order between flows (they sort bursts by flow), so frames are counted regardless of
//! order.

use std::collections::BTreeMap;
use std::fmt;

use ranlab_packet::{ETHERNET_BYTES, IPV4_BYTES, IPV6_BYTES, UDP_BYTES, VXLAN_PORT, checksum};

use crate::declare::{DropReason, Port, Verdict};
use crate::pipelines::{ParameterError, Pipeline};
use crate::reference::{GTPU_PORT, TUNNEL_TTL};
use crate::trace::Trace;

/// A declared difference between a backend's packets and the oracle's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Equivalence {
    /// GTP-U without extension headers. The PDU session container (TS 38.415) is neither written nor understood, so it
    /// is removed from the switch's input and from the expected output. Frames are 8 bytes shorter.
    GtpContainer,
    /// The outer headers of a tunnel that the switch adds: UDP source port (a hash of the payload), UDP checksum, IPv4
    /// identification, don't-fragment flag, TTL.
    OuterHeaders,
    /// Meters count in steps of 1 kbit/s and in whole frames, and use the switch's clock. A rate above the maximum of
    /// its field is reduced to that maximum. Packets that the oracle's meter would drop are not compared.
    Meters,
    /// Malformed frames (lengths, checksums, tags) are not handled as by the oracle. Traces contain none.
    Soundness,
    /// Meters use the switch's clock, and are otherwise exact.
    Clock,
    /// IPv4 headers with options, and GTP-U with more than two extension headers, are dropped. Traces contain none.
    Options,
    /// Unmatched packets are dropped even if the pipeline would forward them (`fakedrop`). Traces contain none. No
    /// switch that can be run has this difference, so it needs no normalisation.
    Unmatched,
    /// Frames leave with the MAC address of their port as source, even if the next hop specifies another address.
    /// Source addresses are not compared.
    PortMac,
    /// A router decrements the TTL of a packet that it routes into a tunnel. TTL and checksum of inner IPv4 headers, and
    /// hop limits of inner IPv6 headers, are not compared.
    InnerHop,
    /// Packets without ports, such as later fragments, count as having ports 0 in rules. Generated traces contain none;
    /// fragments of a capture are not compared.
    Fragments,
}

impl Equivalence {
    /// All equivalences.
    pub const ALL: [Self; 10] = [
        Self::GtpContainer,
        Self::OuterHeaders,
        Self::Meters,
        Self::Soundness,
        Self::Clock,
        Self::Options,
        Self::Unmatched,
        Self::PortMac,
        Self::InnerHop,
        Self::Fragments,
    ];

    /// Returns the short name of the equivalence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GtpContainer => "gtp-container",
            Self::OuterHeaders => "outer-headers",
            Self::Meters => "meters",
            Self::Soundness => "soundness",
            Self::Clock => "clock",
            Self::Options => "options",
            Self::Unmatched => "unmatched",
            Self::PortMac => "port-mac",
            Self::InnerHop => "inner-hop",
            Self::Fragments => "fragments",
        }
    }

    /// Returns the meaning of the equivalence, as half a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::GtpContainer => {
                "GTP-U has no extension headers: the PDU session container is removed from the trace and from the expected packets"
            }
            Self::OuterHeaders => {
                "in outer headers, the switch chooses UDP source port and checksum, IPv4 identification, don't-fragment flag and TTL"
            }
            Self::Meters => {
                "meters count kbit/s and whole frames on the switch's clock; a rate above the maximum of its field is reduced to the maximum"
            }
            Self::Soundness => {
                "frames with wrong lengths, checksums or tags are not handled as by the oracle; traces contain none"
            }
            Self::Clock => "meters use the switch's clock",
            Self::Options => {
                "IPv4 with options and GTP-U with more than two extension headers are dropped; traces contain none"
            }
            Self::Unmatched => {
                "packets without a match are dropped even if the pipeline would send them (`fakedrop`); traces contain none"
            }
            Self::PortMac => {
                "frames leave with the MAC address of their port as source, not with that of the next hop"
            }
            Self::InnerHop => {
                "the TTL of a packet is decremented when it is sent into a tunnel: the TTL and the header checksum are not compared"
            }
            Self::Fragments => {
                "packets without ports, such as fragments other than the first, match rules as if their ports were 0; traces contain none"
            }
        }
    }
}

/// Length of a GTP-U header without optional fields, in bytes.
const GTP_BYTES: usize = 8;
/// Offset of the payload of IPv4 without options.
const L4: usize = ETHERNET_BYTES + IPV4_BYTES;

/// Normalises a frame with respect to some equivalences.
pub fn normalise(frame: &mut Vec<u8>, equivalences: &[Equivalence]) {
    if equivalences.contains(&Equivalence::PortMac)
        && let Some(source) = frame.get_mut(6..12)
    {
        source.fill(0);
    }
    let Some(tunnel) = Outer::from_frame(frame) else { return };
    if equivalences.contains(&Equivalence::GtpContainer) && tunnel == Outer::Gtp {
        cut_container(frame);
    }
    if equivalences.contains(&Equivalence::OuterHeaders) {
        // These bytes are the identification, the flags (a tunnel's sender chooses don't-fragment) and the TTL.
        frame[ETHERNET_BYTES + 4..ETHERNET_BYTES + 8].fill(0);
        frame[ETHERNET_BYTES + 8] = TUNNEL_TTL;
        if tunnel != Outer::Gre {
            frame[L4..L4 + 2].fill(0);
            frame[L4 + 6..L4 + 8].fill(0);
        }
    }
    if equivalences.contains(&Equivalence::InnerHop) {
        forget_inner_hop(frame, &tunnel);
    }
    let header = &mut frame[ETHERNET_BYTES..L4];
    header[10..12].fill(0);
    let sum = checksum::checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[derive(PartialEq, Eq)]
enum Outer {
    Gtp,
    Vxlan,
    Gre,
}

impl Outer {
    /// Returns the tunnel type of a frame with complete IPv4 headers without options.
    fn from_frame(frame: &[u8]) -> Option<Self> {
        let half = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        let fragment = half(ETHERNET_BYTES + 6)? & 0x3fff != 0;
        if half(12)? != 0x0800 || frame.get(ETHERNET_BYTES) != Some(&0x45) || fragment {
            return None;
        }
        match *frame.get(ETHERNET_BYTES + 9)? {
            47 if frame.len() >= L4 + 4 => Some(Self::Gre),
            17 if frame.len() >= L4 + UDP_BYTES + GTP_BYTES => match half(L4 + 2)? {
                GTPU_PORT => Some(Self::Gtp),
                VXLAN_PORT => Some(Self::Vxlan),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Clears the hop limit of the packet in a tunnel, and the checksum of its header.
fn forget_inner_hop(frame: &mut [u8], tunnel: &Outer) {
    let at = match tunnel {
        Outer::Gre => {
            let flags = frame[L4];
            L4 + 4 + [0x80, 0x20, 0x10].iter().filter(|flag| flags & **flag != 0).count() * 4
        }
        Outer::Vxlan => L4 + UDP_BYTES + 8 + ETHERNET_BYTES,
        Outer::Gtp => match gtp_payload(frame) {
            Some(at) => at,
            None => return,
        },
    };
    let Some(inner) = frame.get_mut(at..) else { return };
    match inner.first().map(|octet| octet >> 4) {
        Some(4) if inner.len() >= IPV4_BYTES => {
            inner[8] = 0;
            inner[10..12].fill(0);
        }
        Some(6) if inner.len() >= IPV6_BYTES => inner[7] = 0,
        _ => {}
    }
}

/// Returns the offset of the packet in a GTP-U frame, behind optional fields and extension headers.
fn gtp_payload(frame: &[u8]) -> Option<usize> {
    let gtp = L4 + UDP_BYTES;
    let flags = *frame.get(gtp)?;
    let mut at = gtp + GTP_BYTES;
    if flags & 7 == 0 {
        return Some(at);
    }
    at += 4;
    let mut next = if flags & 4 != 0 { *frame.get(at - 1)? } else { 0 };
    while next != 0 {
        let octets = usize::from(*frame.get(at)?) * 4;
        if octets == 0 || at + octets > frame.len() {
            return None;
        }
        at += octets;
        next = frame[at - 1];
    }
    Some(at)
}

/// Returns whether a frame is an IPv4 fragment other than the first.
#[must_use]
pub fn is_later_fragment(frame: &[u8]) -> bool {
    let at = |at: usize| frame.get(at).copied().unwrap_or(0);
    at(12) == 8 && at(13) == 0 && (at(ETHERNET_BYTES + 6) & 0x1f, at(ETHERNET_BYTES + 7)) != (0, 0)
}

/// Removes optional fields and extension headers from a GTP-U frame. Frames with inconsistent headers are unchanged.
fn cut_container(frame: &mut Vec<u8>) {
    let gtp = L4 + UDP_BYTES;
    let Some(at) = gtp_payload(frame).filter(|at| *at > gtp + GTP_BYTES && *at <= frame.len()) else {
        return;
    };
    let cut = (at - gtp - GTP_BYTES) as u16;
    frame.drain(gtp + GTP_BYTES..at);
    frame[gtp] &= !7;
    for at in [ETHERNET_BYTES + 2, L4 + 4, gtp + 2] {
        let length = u16::from_be_bytes([frame[at], frame[at + 1]]).wrapping_sub(cut);
        frame[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// Normalised frames that a switch sent, by port, and the packets that it dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    left: [BTreeMap<Vec<u8>, u64>; 2],
    /// Number of dropped packets, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
}

impl Outcomes {
    /// Returns the oracle's output for the first packets of a trace, which all have the same timestamp.
    ///
    /// # Errors
    ///
    /// The pipeline is invalid, or a meter would drop packets. The meters of two clocks drop different packets, so such
    /// a trace cannot be compared.
    pub fn expected(
        pipeline: &Pipeline,
        trace: &Trace,
        most: usize,
        equivalences: &[Equivalence],
    ) -> Result<Self, NotComparable> {
        let mut oracle = pipeline.oracle()?;
        let mut outcomes = Self::default();
        for (index, (port, frame)) in trace.range(0, most).enumerate() {
            let mut frame = frame.to_vec();
            normalise(&mut frame, input(equivalences));
            match oracle.process(0, port, &mut frame) {
                Verdict::Sent(port) => outcomes.sent(port, frame, equivalences),
                Verdict::Dropped(DropReason::Metered) => return Err(NotComparable::Metered { index }),
                Verdict::Dropped(reason) => *outcomes.dropped.entry(reason).or_default() += 1,
            }
        }
        Ok(outcomes)
    }

    /// Adds a sent frame after its normalisation.
    pub fn sent(&mut self, port: Port, mut frame: Vec<u8>, equivalences: &[Equivalence]) {
        normalise(&mut frame, equivalences);
        *self.left[port as usize].entry(frame).or_default() += 1;
    }

    /// Returns the number of frames sent by a port.
    #[must_use]
    pub fn count(&self, port: Port) -> u64 {
        self.left[port as usize].values().sum()
    }
}

/// Returns the equivalences that affect the switch's input.
#[must_use]
pub fn input(equivalences: &[Equivalence]) -> &[Equivalence] {
    const CONTAINER: &[Equivalence] = &[Equivalence::GtpContainer];
    if equivalences.contains(&Equivalence::GtpContainer) { CONTAINER } else { &[] }
}

/// The reason why a trace cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// The pipeline is invalid.
    #[error(transparent)]
    Pipeline(#[from] ParameterError),
    /// A meter would drop a packet, and the clocks of switch and oracle differ.
    #[error(
        "packet {index} of the trace exceeds the rate of its user, and the clocks of switch and oracle differ: \
         raise `pipeline.rate-burst` until the verified part of the trace passes, or lower `load.verify`"
    )]
    Metered {
        /// Index of the packet.
        index: usize,
    },
}

/// Number of bytes of a frame that a message shows: its headers.
const SHOWN_BYTES: usize = 96;

/// A difference between a switch's output and the oracle's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// Egress port with the difference.
    pub port: Port,
    /// Number of expected frames that the switch did not send.
    pub missing: u64,
    /// Number of frames that the switch sent unexpectedly.
    pub extra: u64,
    /// One of the missing frames.
    pub missing_example: Option<Vec<u8>>,
    /// One of the unexpected frames.
    pub extra_example: Option<Vec<u8>>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |frame: &Option<Vec<u8>>| {
            let shown: String =
                frame.iter().flatten().take(SHOWN_BYTES).map(|octet| format!("{octet:02x}")).collect();
            let more = frame.as_ref().map_or(0, Vec::len).saturating_sub(SHOWN_BYTES);
            if more > 0 { format!("{shown}… and {more} bytes") } else { shown }
        };
        let port = super::port_name(self.port);
        write!(
            f,
            "of the frames that leave through {port}, {} frames are missing and {} are unexpected: ",
            self.missing, self.extra
        )?;
        write!(f, "missing e.g. [{}]", hex(&self.missing_example))?;
        write!(f, ", unexpected e.g. [{}]", hex(&self.extra_example))
    }
}

/// Compares the actual output with the expected output. Returns the number of equal frames.
///
/// # Errors
///
/// The outputs differ.
pub fn compare(expected: &Outcomes, found: &Outcomes) -> Result<u64, Mismatch> {
    let mut equal = 0;
    for port in [Port::Access, Port::Core] {
        let expected = &expected.left[port as usize];
        let found = &found.left[port as usize];
        let of = |map: &BTreeMap<Vec<u8>, u64>, frame: &Vec<u8>| map.get(frame).copied().unwrap_or(0);
        let mut mismatch =
            Mismatch { port, missing: 0, extra: 0, missing_example: None, extra_example: None };
        for (frame, count) in expected {
            let there = of(found, frame);
            equal += there.min(*count);
            if there < *count {
                mismatch.missing += count - there;
                mismatch.missing_example.get_or_insert_with(|| frame.clone());
            }
        }
        for (frame, count) in found {
            let expected_count = of(expected, frame);
            if *count > expected_count {
                mismatch.extra += count - expected_count;
                mismatch.extra_example.get_or_insert_with(|| frame.clone());
            }
        }
        if mismatch.missing + mismatch.extra > 0 {
            return Err(mismatch);
        }
    }
    Ok(equal)
}
