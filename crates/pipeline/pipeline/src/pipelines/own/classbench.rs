//! ClassBench's filter sets (Taylor and Turner 2007): one rule per line, `@src/len dst/len sport : sport dport : dport
//! proto/mask flags/mask`. The first matching rule decides. In sets of classbench-ng (Matoušek et al. 2017) with
//! OpenFlow fields, a line is `field=value, field=value`.
use super::addresses::AnyPrefix;
use super::fault::{OwnError, OwnFault};
use super::read::Lines;
use crate::declare::{ANY_PORTS, AclRule, Prefix4, Prefix6, TcpFlags};
use std::collections::BTreeSet;

/// Maximum number of rules in a list.
pub const RULES_MAX: usize = 100_000;
/// Maximum length of a rule's line, in bytes.
const LINE_MAX: usize = 512;

/// A rule of either IP version.
pub(super) enum Rule {
    V4(AclRule<Prefix4>),
    V6(AclRule<Prefix6>),
}

/// Parses all rules of a file. Empty lines and lines that begin with `#` are skipped. Also returns a note if the file
/// has fields that are not matched.
pub(super) fn rules(file: &str, text: &str) -> Result<(Vec<Rule>, Option<String>), OwnError> {
    let lines = Lines::new(file, "");
    let mut rules = Vec::new();
    let mut ignored = Ignored::default();
    for (number, line) in (1_u32..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if rules.len() == RULES_MAX {
            let what = "rules of a filter set".to_owned();
            let value = RULES_MAX as u64 + 1;
            let fault = OwnFault::Range { what, value, least: 1, most: RULES_MAX as u64 };
            return Err(lines.error(number, fault));
        }
        let wrong = |what: String| lines.error(number, OwnFault::Rule(what));
        if line.len() > LINE_MAX {
            return Err(wrong(format!("the line has {} bytes, at most {LINE_MAX} are read", line.len())));
        }
        let one = if line.starts_with('@') || !line.contains('=') {
            rule(line)
        } else {
            openflow(line, &mut ignored)
        };
        rules.push(one.map_err(wrong)?);
    }
    if rules.is_empty() {
        return Err(lines.error(0, OwnFault::Rule("the file has no rule".to_owned())));
    }
    let note = ignored.note(file, rules.len());
    Ok((rules, note))
}

/// Fields of OpenFlow rules that no element matches.
#[derive(Default)]
struct Ignored {
    rules: usize,
    fields: BTreeSet<&'static str>,
}

impl Ignored {
    fn note(&self, file: &str, rules: usize) -> Option<String> {
        let fields: Vec<&str> = self.fields.iter().copied().collect();
        (self.rules > 0).then(|| {
            format!(
                "{} of {rules} rules of {file} also require {}, which no element matches: these rules match more packets than the file requires",
                self.rules,
                fields.join(", ")
            )
        })
    }
}

/// Fields that are read but not matched.
const IGNORED: [&str; 7] = ["in_port", "dl_src", "dl_dst", "dl_vlan", "dl_vlan_pcp", "dl_pcp", "nw_tos"];

/// Parses `nw_src=10.0.0.0/8, nw_proto=6, tp_dst=80..90`.
fn openflow(line: &str, ignored: &mut Ignored) -> Result<Rule, String> {
    let mut src = "0.0.0.0/0";
    let mut dst = "0.0.0.0/0";
    let mut src_ports = ANY_PORTS;
    let mut dst_ports = ANY_PORTS;
    let mut protocol = None;
    let mut ignores = false;
    for part in line.split(',') {
        let (field, value) =
            part.trim().split_once('=').ok_or_else(|| format!("\"{part}\" is not field=value"))?;
        match field.trim() {
            "nw_src" => src = value,
            "nw_dst" => dst = value,
            "tp_src" => src_ports = port_range(value)?,
            "tp_dst" => dst_ports = port_range(value)?,
            "nw_proto" => {
                let number = value.parse().map_err(|_| format!("protocol \"{value}\" is not 0 to 255"))?;
                protocol = Some(number);
            }
            // Only IPv4 is allowed, because a list applies to packets of one IP version and packets with other
            // EtherTypes are never admitted.
            "eth_type" | "dl_type" => match number(value) {
                Some(0x0800) => {}
                _ => return Err(format!("EtherType {value}; allowed is 0x0800 (IPv4)")),
            },
            name => {
                let known = IGNORED.iter().find(|known| **known == name);
                let known = known.ok_or_else(|| format!("there is no field \"{name}\""))?;
                ignored.fields.insert(known);
                ignores = true;
            }
        }
    }
    ignored.rules += usize::from(ignores);
    same_version(src, dst, (src_ports, dst_ports), (protocol, TcpFlags::default()))
}

/// Parses `80`, `0x50` or `80..90`.
fn port_range(text: &str) -> Result<(u16, u16), String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let port = |text: &str| {
        let port = number(text).and_then(|port| u16::try_from(port).ok());
        port.ok_or_else(|| format!("port \"{text}\" is not within 0 to 65535"))
    };
    let low = port(low)?;
    let high = port(high)?;
    if low > high {
        Err(format!("the range of ports {low}..{high} is in descending order"))
    } else {
        Ok((low, high))
    }
}

/// Parses a decimal or hexadecimal number.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn rule(line: &str) -> Result<Rule, String> {
    let rest = line.strip_prefix('@').ok_or("it does not begin with @")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (src, dst, ports, protocol) = match words.as_slice() {
        [src, dst, s0, ":", s1, d0, ":", d1, protocol]
        | [src, dst, s0, ":", s1, d0, ":", d1, protocol, _] => (src, dst, [s0, s1, d0, d1], protocol),
        _ => {
            return Err(
                "it is not @src/len dst/len port : port port : port proto/mask [flags/mask]".to_owned()
            );
        }
    };
    let flags = match words.as_slice() {
        [.., flags] if words.len() == 10 => {
            let (value, mask) = masked(flags, 0xffff)?;
            TcpFlags { value: value as u16, mask: mask as u16 }
        }
        _ => TcpFlags::default(),
    };
    let range = |low: &str, high: &str| {
        let port =
            |text: &str| text.parse::<u16>().map_err(|_| format!("port \"{text}\" is not within 0 to 65535"));
        let low = port(low)?;
        let high = port(high)?;
        if low > high {
            Err(format!("the range of ports {low} : {high} is in descending order"))
        } else {
            Ok((low, high))
        }
    };
    let src_ports = range(ports[0], ports[1])?;
    let dst_ports = range(ports[2], ports[3])?;
    let protocol = match masked(protocol, 0xff)? {
        (_, 0) => None,
        (value, 0xff) => Some(value as u8),
        (_, mask) => return Err(format!("protocol mask {mask:#04x}; allowed are 0x00 and 0xFF")),
    };
    same_version(src, dst, (src_ports, dst_ports), (protocol, flags))
}

type Ports = (u16, u16);

/// Returns a rule if both prefixes have the same IP version.
fn same_version(
    src: &str,
    dst: &str,
    (src_ports, dst_ports): (Ports, Ports),
    (protocol, flags): (Option<u8>, TcpFlags),
) -> Result<Rule, String> {
    let prefix = |text: &str| {
        text.parse::<AnyPrefix>()
            .map_err(|()| format!("\"{text}\" is not a prefix such as 10.0.0.0/8 or 2001:db8::/32"))
    };
    match (prefix(src)?, prefix(dst)?) {
        (AnyPrefix::V4(src), AnyPrefix::V4(dst)) => {
            Ok(Rule::V4(AclRule { src, dst, src_ports, dst_ports, protocol, flags }))
        }
        (AnyPrefix::V6(src), AnyPrefix::V6(dst)) => {
            Ok(Rule::V6(AclRule { src, dst, src_ports, dst_ports, protocol, flags }))
        }
        _ => Err("source and destination are of different IP versions".to_owned()),
    }
}

/// Parses a value with a mask, such as `0x06/0xFF`.
fn masked(text: &str, most: u32) -> Result<(u32, u32), String> {
    let number = |text: &str| {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
        u32::from_str_radix(digits, 16).ok().filter(|value| *value <= most)
    };
    let both = text.split_once('/').and_then(|(value, mask)| Some((number(value)?, number(mask)?)));
    both.ok_or_else(|| format!("\"{text}\" is not a value and mask such as 0x06/0xFF"))
}
