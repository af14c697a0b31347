//! Whether a switch did what the oracle says: which frames left by which port, octet by octet, up to what a backend declares
//! beforehand. Order between flows is nobody's promise (switches sort bursts by flow), so frames are counted, not lined up.

use std::collections::BTreeMap;
use std::fmt;

use ranlab_packet::{ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES, VXLAN_PORT, checksum};

use crate::declare::{DropReason, Fate, Port};
use crate::pipelines::{ParameterError, Pipeline};
use crate::reference::{GTPU_PORT, TUNNEL_TTL};
use crate::trace::Trace;

/// In what a backend's packets may differ from the oracle's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Equivalence {
    /// GTP-U without extension headers: the PDU session container (TS 38.415) is neither written nor understood, so that it
    /// is cut out of what the switch is sent and of what the oracle expects. Frames are 8 octets shorter.
    GtpContainer,
    /// The outer headers of a tunnel that the switch adds: UDP source port (a hash of what is carried), UDP checksum, IPv4
    /// identification, don't-fragment, TTL.
    OuterHeaders,
    /// Meters count in steps of 1 kbit/s and whole frames, and run on the switch's clock: rates beyond what a field can
    /// hold are its greatest. Packets that the oracle's meter would drop are not compared.
    Meters,
    /// Unsound frames (lengths, checksums, tags) are not sorted out as the oracle does; traces have none.
    Soundness,
    /// Meters run on the switch's clock, exactly.
    Clock,
    /// IPv4 headers with options, and GTP-U with more than two extension headers, are dropped; traces have none.
    Options,
    /// What matches nothing is dropped where the pipeline would send it on (`fakedrop`); traces have none. No switch that is
    /// run has this, so that nothing is made equal for it.
    Unmatched,
    /// Frames leave with the address of their port as source, whatever the next hop says; likewise.
    PortMac,
}

impl Equivalence {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::GtpContainer,
        Self::OuterHeaders,
        Self::Meters,
        Self::Soundness,
        Self::Clock,
        Self::Options,
        Self::Unmatched,
        Self::PortMac,
    ];

    /// A short name.
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
        }
    }

    /// What it means, half a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::GtpContainer => {
                "GTP-U has no extension headers: the PDU session container is cut out of the trace and of what is expected"
            }
            Self::OuterHeaders => {
                "of outer headers that the switch adds, UDP source port and checksum, IPv4 identification, don't-fragment and TTL are its own"
            }
            Self::Meters => {
                "meters count in kbit/s and whole frames on the switch's own clock; a rate beyond its field is the greatest it has"
            }
            Self::Soundness => {
                "frames with wrong lengths, checksums or tags are not sorted out as the oracle does; traces have none"
            }
            Self::Clock => "meters run on the switch's own clock",
            Self::Options => {
                "IPv4 with options and GTP-U with more than two extension headers are dropped; traces have none"
            }
            Self::Unmatched => {
                "what matches nothing is dropped where the pipeline would send it on (`fakedrop`); traces have none"
            }
            Self::PortMac => {
                "frames leave with the address of their port as source, whatever the next hop says"
            }
        }
    }
}

/// Length of a GTP-U header without options.
const GTP_BYTES: usize = 8;
/// Where the payload of IPv4 without options begins.
const L4: usize = ETHERNET_BYTES + IPV4_BYTES;

/// Makes a frame what it is up to some equivalences.
pub fn normalise(frame: &mut Vec<u8>, equivalences: &[Equivalence]) {
    let Some(tunnel) = Outer::of(frame) else { return };
    if equivalences.contains(&Equivalence::GtpContainer) && tunnel == Outer::Gtp {
        cut_container(frame);
    }
    if equivalences.contains(&Equivalence::OuterHeaders) {
        // Identification, flags (of which a tunnel's sender chooses don't-fragment), TTL.
        frame[ETHERNET_BYTES + 4..ETHERNET_BYTES + 8].fill(0);
        frame[ETHERNET_BYTES + 8] = TUNNEL_TTL;
        if tunnel != Outer::Gre {
            frame[L4..L4 + 2].fill(0);
            frame[L4 + 6..L4 + 8].fill(0);
        }
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
    /// The tunnel that a frame is of: whole IPv4 without options.
    fn of(frame: &[u8]) -> Option<Self> {
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

/// Cuts optional fields and extension headers out of a GTP-U frame; one whose headers do not fit stays.
fn cut_container(frame: &mut Vec<u8>) {
    let gtp = L4 + UDP_BYTES;
    let flags = frame[gtp];
    if flags & 7 == 0 {
        return;
    }
    let mut at = gtp + GTP_BYTES + 4;
    let mut next = if flags & 4 != 0 { frame.get(at - 1).copied().unwrap_or(0) } else { 0 };
    while next != 0 {
        let octets = usize::from(frame.get(at).copied().unwrap_or(0)) * 4;
        if octets == 0 || at + octets > frame.len() {
            return;
        }
        at += octets;
        next = frame[at - 1];
    }
    if at > frame.len() {
        return;
    }
    let cut = (at - gtp - GTP_BYTES) as u16;
    frame.drain(gtp + GTP_BYTES..at);
    frame[gtp] = flags & !7;
    for at in [ETHERNET_BYTES + 2, L4 + 4, gtp + 2] {
        let length = u16::from_be_bytes([frame[at], frame[at + 1]]).wrapping_sub(cut);
        frame[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// Frames that left, by port, up to equivalences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    left: [BTreeMap<Vec<u8>, u64>; 2],
    /// Packets that went nowhere.
    pub dropped: BTreeMap<DropReason, u64>,
}

impl Outcomes {
    /// What the oracle makes of the first packets of a trace, at one moment.
    ///
    /// # Errors
    /// The pipeline cannot be, or a meter would drop: two clocks do not drop alike.
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
                Fate::Sent(port) => outcomes.sent(port, frame, equivalences),
                Fate::Dropped(DropReason::Metered) => return Err(NotComparable::Metered { index }),
                Fate::Dropped(reason) => *outcomes.dropped.entry(reason).or_default() += 1,
            }
        }
        Ok(outcomes)
    }

    /// Notes a frame that left.
    pub fn sent(&mut self, port: Port, mut frame: Vec<u8>, equivalences: &[Equivalence]) {
        normalise(&mut frame, equivalences);
        *self.left[port as usize].entry(frame).or_default() += 1;
    }

    /// Frames that left by a port.
    #[must_use]
    pub fn count(&self, port: Port) -> u64 {
        self.left[port as usize].values().sum()
    }
}

/// Of equivalences, those that concern what a switch is sent.
#[must_use]
pub fn input(equivalences: &[Equivalence]) -> &[Equivalence] {
    const CONTAINER: &[Equivalence] = &[Equivalence::GtpContainer];
    if equivalences.contains(&Equivalence::GtpContainer) { CONTAINER } else { &[] }
}

/// Why a trace cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// The pipeline itself cannot be.
    #[error(transparent)]
    Pipeline(#[from] ParameterError),
    /// A meter decides, and two clocks do not agree.
    #[error(
        "packet {index} of the trace is beyond its user's rate, and a switch's clock is not the oracle's: \
         raise `pipeline.rate-burst` until the verified part of the trace passes, or lower `load.verify`"
    )]
    Metered {
        /// Which.
        index: usize,
    },
}

/// A switch that does not what the oracle says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// Where.
    pub port: Port,
    /// Frames that should have left there and did not.
    pub missing: u64,
    /// Frames that left there and should not have.
    pub extra: u64,
    /// One of those that are missing.
    pub missing_example: Option<Vec<u8>>,
    /// One of those that are too many.
    pub extra_example: Option<Vec<u8>>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |frame: &Option<Vec<u8>>| {
            frame.iter().flatten().map(|octet| format!("{octet:02x}")).collect::<String>()
        };
        let port = super::port_name(self.port);
        write!(
            f,
            "of what leaves by {port}, {} frames are missing and {} are not ",
            self.missing, self.extra
        )?;
        write!(f, "the oracle's: missing e.g. [{}]", hex(&self.missing_example))?;
        write!(f, ", not the oracle's e.g. [{}]", hex(&self.extra_example))
    }
}

/// Compares what left with what should have; says how many frames agree.
///
/// # Errors
/// They differ.
pub fn compare(expected: &Outcomes, found: &Outcomes) -> Result<u64, Mismatch> {
    let mut equal = 0;
    for port in [Port::Access, Port::Core] {
        let (expected, found) = (&expected.left[port as usize], &found.left[port as usize]);
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
            let wanted = of(expected, frame);
            if *count > wanted {
                mismatch.extra += count - wanted;
                mismatch.extra_example.get_or_insert_with(|| frame.clone());
            }
        }
        if mismatch.missing + mismatch.extra > 0 {
            return Err(mismatch);
        }
    }
    Ok(equal)
}
