//! Header traces of ClassBench. A line is a packet with source, destination, ports and protocol in decimal numbers.
//! Flags and the number of the rule from which the header was made follow, but some versions omit them.
use super::frames::Packet;
use super::{PACKETS_MAX, Trace};
use crate::declare::{Declaration, Direction, Element, TcpFlags};
use crate::pipelines::Pipeline;
use crate::reference;
use ranlab_packet::{Mac, Protocol};
use std::net::{IpAddr, Ipv4Addr};

/// Maximum length of a line, in bytes.
const LINE_MAX: usize = 256;

/// Packets of a header trace, with the rules that the trace names.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    /// Packets made from the headers.
    pub trace: Trace,
    /// For each packet, the number of the rule from which its header was made (from 0), if the file contains it.
    pub rules: Vec<Option<u32>>,
    /// Number of headers with protocols other than TCP and UDP. Such a packet has no ports, so it is left out.
    pub without_ports: u64,
}

/// The reason why a header trace cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadersError {
    /// A line that is not a header.
    #[error(
        "line {line} is not a header: source, destination, source port, destination port and protocol as decimal numbers, then flags and a rule's number"
    )]
    Line {
        /// Number of the line, from 1.
        line: u32,
    },
    /// More packets than a trace can hold.
    #[error("line {line}: the file has more than {PACKETS_MAX} headers")]
    Many {
        /// Number of the line, from 1.
        line: u32,
    },
    /// No headers of TCP or UDP.
    #[error("the file has no headers of TCP or UDP")]
    Empty,
}

/// Returns whether a file that begins with these bytes is a header trace: a line of five to seven decimal numbers.
#[must_use]
pub fn are_headers(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| Header::parse(line).is_some())
}

struct Header {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    ports: (u16, u16),
    protocol: u8,
    /// Flags of the rule from which the header was made.
    flags: TcpFlags,
    rule: Option<u32>,
}

impl Header {
    fn parse(line: &str) -> Option<Self> {
        if line.len() > LINE_MAX {
            return None;
        }
        let words =
            line.split_whitespace().map(|word| word.parse::<u32>().ok()).collect::<Option<Vec<_>>>()?;
        let [src, dst, src_port, dst_port, protocol, more @ ..] = &words[..] else { return None };
        let (flags, rule) = match more {
            [] => (0, None),
            [rule] => (0, Some(*rule)),
            [flags, rule] => (*flags, Some(*rule)),
            _ => return None,
        };
        Some(Self {
            src: Ipv4Addr::from_bits(*src),
            dst: Ipv4Addr::from_bits(*dst),
            ports: (u16::try_from(*src_port).ok()?, u16::try_from(*dst_port).ok()?),
            protocol: u8::try_from(*protocol).ok()?,
            flags: required(flags),
            rule,
        })
    }
}

/// Returns the flags of a rule from the generator's word, which contains value and mask. A rule without required flags
/// has the word 0 or all ones.
fn required(word: u32) -> TcpFlags {
    match word {
        0 | u32::MAX => TcpFlags::default(),
        word => TcpFlags { value: (word >> 16) as u16, mask: word as u16 },
    }
}

/// Returns bits that match `own` and, as far as possible, do not match the flags of other rules. A header then matches
/// its rule, and not an earlier rule that differs only in its flags.
fn unlike(own: TcpFlags, all: &[TcpFlags]) -> TcpFlags {
    let mut bits = own;
    for other in all.iter().filter(|other| **other != own) {
        // One different bit is sufficient. The lowest bit is used, because it is a flag and not part of the data
        // offset.
        if (bits.value ^ other.value) & bits.mask & other.mask == 0 {
            let free = other.mask & !bits.mask;
            let bit = free & free.wrapping_neg();
            bits.mask |= bit;
            bits.value |= !other.value & bit;
        }
    }
    bits
}

impl Headers {
    /// Reads a header trace. Packets enter in one direction of a pipeline and have `bytes` bytes.
    ///
    /// # Errors
    ///
    /// A line is not a header, or the number of headers is zero or too large.
    pub fn read(
        text: &str,
        pipeline: &Declaration,
        direction: Direction,
        bytes: u16,
    ) -> Result<Self, HeadersError> {
        let mut headers = Vec::new();
        let mut own = Self::default();
        for (line, text) in (1_u32..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let header = Header::parse(text).ok_or(HeadersError::Line { line })?;
            if headers.len() as u64 == PACKETS_MAX {
                return Err(HeadersError::Many { line });
            }
            if matches!(Protocol(header.protocol), Protocol::TCP | Protocol::UDP) {
                headers.push(header);
            } else {
                own.without_ports += 1;
            }
        }
        if headers.is_empty() {
            return Err(HeadersError::Empty);
        }
        let mut flags: Vec<TcpFlags> =
            headers.iter().map(|header| header.flags).filter(|flags| flags.mask != 0).collect();
        flags.sort_unstable_by_key(|flags| (flags.mask, flags.value));
        flags.dedup();
        let mac = address(pipeline, direction);
        for header in &headers {
            let from = (IpAddr::V4(header.src), header.ports.0);
            let to = (IpAddr::V4(header.dst), header.ports.1);
            let packet = Packet {
                flags: unlike(header.flags, &flags),
                ..Packet::new(Protocol(header.protocol), from, to)
            };
            own.trace.push(direction.ingress(), &packet.frame(mac, bytes.into()));
            own.rules.push(header.rule);
        }
        Ok(own)
    }

    /// Compares the packets with the rules that the file names, in the direction's first list. Returns `None` if the
    /// direction has no list.
    #[must_use]
    pub fn matches(&self, pipeline: &Pipeline, direction: Direction) -> Option<RuleMatches> {
        let declaration = pipeline.build().ok()?;
        let list = elements(&declaration, direction).find_map(|element| match element {
            Element::Acl(id) => declaration.tables.acls.get(id.index()),
            _ => None,
        })?;
        let mut found = RuleMatches::default();
        for ((_, frame), rule) in self.trace.iter().zip(&self.rules) {
            let Some(rule) = rule else { continue };
            found.named += 1;
            let Ok(tuple) = reference::five_tuple(frame) else { continue };
            let rule = *rule as usize;
            found.matching += u64::from(list.rules.get(rule).is_some_and(|(rule, _)| rule.matches(&tuple)));
            let first = list.rules.iter().position(|(one, _)| one.matches(&tuple));
            found.first += u64::from(first == Some(rule));
        }
        Some(found)
    }
}

/// Numbers of packets of a header trace, compared with the rules that the trace names. A packet may match an earlier
/// rule than the one from which its header was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleMatches {
    /// Packets for which the file names a rule.
    pub named: u64,
    /// Packets with a named rule that match this rule.
    pub matching: u64,
    /// Packets with a named rule that match this rule and no earlier rule.
    pub first: u64,
}

fn elements(declaration: &Declaration, direction: Direction) -> impl Iterator<Item = &Element> {
    declaration.path(direction).blocks.iter().flatten()
}

/// Returns the destination MAC that a direction admits.
fn address(declaration: &Declaration, direction: Direction) -> Mac {
    let mac = elements(declaration, direction).find_map(|element| match element {
        Element::Admit { mac, .. } => *mac,
        _ => None,
    });
    mac.unwrap_or(crate::pipelines::GW_MAC)
}
