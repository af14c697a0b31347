//! ClassBench's filter sets (Taylor and Turner 2007): one rule per line, `@src/len dst/len sport : sport dport : dport
//! proto/mask flags/mask`. The first matching rule decides. Flags are parsed but not matched, because no element reads
//! them.
use super::addresses::AnyPrefix;
use super::fault::{OwnError, OwnFault};
use super::read::Lines;
use crate::declare::{AclRule, Prefix4, Prefix6};

/// Maximum number of rules in a list.
pub const RULES_MAX: usize = 100_000;
/// Maximum length of a rule's line, in bytes.
const LINE_MAX: usize = 512;

/// A rule of either IP version.
pub(super) enum Rule {
    V4(AclRule<Prefix4>),
    V6(AclRule<Prefix6>),
}

/// Parses all rules of a file. Empty lines and lines that begin with `#` are skipped.
pub(super) fn rules(file: &str, text: &str) -> Result<Vec<Rule>, OwnError> {
    let lines = Lines::new(file, "");
    let mut rules = Vec::new();
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
        rules.push(rule(line).map_err(wrong)?);
    }
    if rules.is_empty() {
        return Err(lines.error(0, OwnFault::Rule("the file has none".to_owned())));
    }
    Ok(rules)
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
    if let [.., flags] = words.as_slice()
        && words.len() == 10
    {
        masked(flags, 0xffff)?;
    }
    let range = |low: &str, high: &str| {
        let port =
            |text: &str| text.parse::<u16>().map_err(|_| format!("port \"{text}\" is none of 0 to 65535"));
        let low = port(low)?;
        let high = port(high)?;
        if low > high { Err(format!("ports {low} : {high} run backwards")) } else { Ok((low, high)) }
    };
    let src_ports = range(ports[0], ports[1])?;
    let dst_ports = range(ports[2], ports[3])?;
    let protocol = match masked(protocol, 0xff)? {
        (_, 0) => None,
        (value, 0xff) => Some(value as u8),
        (_, mask) => return Err(format!("protocol mask {mask:#04x}; allowed are 0x00 and 0xFF")),
    };
    let prefix = |text: &str| {
        text.parse::<AnyPrefix>()
            .map_err(|_| format!("\"{text}\" is not a prefix such as 10.0.0.0/8 or 2001:db8::/32"))
    };
    match (prefix(src)?, prefix(dst)?) {
        (AnyPrefix::V4(src), AnyPrefix::V4(dst)) => {
            Ok(Rule::V4(AclRule { src, dst, src_ports, dst_ports, protocol }))
        }
        (AnyPrefix::V6(src), AnyPrefix::V6(dst)) => {
            Ok(Rule::V6(AclRule { src, dst, src_ports, dst_ports, protocol }))
        }
        _ => Err("source and destination are of different IP versions".to_owned()),
    }
}

/// Parses `0x06/0xFF`.
fn masked(text: &str, most: u32) -> Result<(u32, u32), String> {
    let number = |text: &str| {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
        u32::from_str_radix(digits, 16).ok().filter(|value| *value <= most)
    };
    let both = text.split_once('/').and_then(|(value, mask)| Some((number(value)?, number(mask)?)));
    both.ok_or_else(|| format!("\"{text}\" is not a value and mask such as 0x06/0xFF"))
}
