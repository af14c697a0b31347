//! Access control lists as flows. A port range becomes prefixes, and a rule becomes one flow per pair of source and
//! destination prefix.

use ranlab_packet::Protocol;

use crate::declare::{AclRule, Prefix4, Prefix6};

/// A rule of either IP version, as text.
pub(super) struct Rule {
    /// `ip,nw_src=…` or `ipv6,ipv6_src=…`.
    addresses: String,
    src_ports: (u16, u16),
    dst_ports: (u16, u16),
    protocol: Option<u8>,
}

impl Rule {
    pub(super) fn of4(rule: &AclRule) -> Self {
        let of = |field: &str, prefix: Prefix4| {
            if prefix.length == 0 { String::new() } else { format!(",{field}={}", prefix4(prefix)) }
        };
        Self {
            addresses: format!("ip{}{}", of("nw_src", rule.src), of("nw_dst", rule.dst)),
            src_ports: rule.src_ports,
            dst_ports: rule.dst_ports,
            protocol: rule.protocol,
        }
    }

    pub(super) fn of6(rule: &AclRule<Prefix6>) -> Self {
        let of = |field: &str, prefix: Prefix6| {
            if prefix.length == 0 { String::new() } else { format!(",{field}={}", prefix6(prefix)) }
        };
        Self {
            addresses: format!("ipv6{}{}", of("ipv6_src", rule.src), of("ipv6_dst", rule.dst)),
            src_ports: rule.src_ports,
            dst_ports: rule.dst_ports,
            protocol: rule.protocol,
        }
    }

    /// Returns the matches of this rule. A packet without ports counts as having ports 0, so a rule for a protocol
    /// without ports applies only if both ranges contain 0.
    pub(super) fn matches(&self) -> Vec<String> {
        const ANY: (u16, u16) = (0, u16::MAX);
        let addresses = &self.addresses;
        let plain = |protocol: u8| format!("{addresses},nw_proto={protocol}");
        let zero = self.src_ports.0 == 0 && self.dst_ports.0 == 0;
        let has_ports = |protocol| matches!(Protocol(protocol), Protocol::TCP | Protocol::UDP);
        match self.protocol {
            None if self.src_ports == ANY && self.dst_ports == ANY => vec![addresses.clone()],
            None => {
                let mut all = self.with_ports(&plain(Protocol::TCP.0));
                all.extend(self.with_ports(&plain(Protocol::UDP.0)));
                // Flows have no match for "any protocol except"; the other protocols are listed.
                all.extend((0..=u8::MAX).filter(|protocol| zero && !has_ports(*protocol)).map(plain));
                all
            }
            Some(protocol) if has_ports(protocol) => self.with_ports(&plain(protocol)),
            Some(protocol) if zero => vec![plain(protocol)],
            Some(_) => Vec::new(),
        }
    }

    fn with_ports(&self, base: &str) -> Vec<String> {
        let src = masks(self.src_ports);
        let dst = masks(self.dst_ports);
        let field = |name: &str, (value, mask): (u16, u16)| match mask {
            0 => String::new(),
            u16::MAX => format!(",{name}={value}"),
            mask => format!(",{name}={value:#06x}/{mask:#06x}"),
        };
        let pairs = src.iter().flat_map(|src| dst.iter().map(move |dst| (*src, *dst)));
        pairs.map(|(src, dst)| format!("{base}{}{}", field("tp_src", src), field("tp_dst", dst))).collect()
    }
}

/// Returns the prefixes that cover a range: value and mask.
fn masks((first, last): (u16, u16)) -> Vec<(u16, u16)> {
    let mut at = u32::from(first);
    let end = u32::from(last) + 1;
    let mut all = Vec::new();
    while at < end {
        // The largest block that begins here and does not exceed the end.
        let mut size = if at == 0 { 1 << 16 } else { at & at.wrapping_neg() };
        while at + size > end {
            size >>= 1;
        }
        all.push((at as u16, !((size - 1) as u16)));
        at += size;
    }
    all
}

/// Formats a prefix without the irrelevant bits.
pub(super) fn prefix4(prefix: Prefix4) -> String {
    let address = std::net::Ipv4Addr::from_bits(prefix.address.to_bits() & prefix.mask());
    format!("{address}/{}", prefix.length)
}

/// Formats an IPv6 prefix without the irrelevant bits.
pub(super) fn prefix6(prefix: Prefix6) -> String {
    let address = std::net::Ipv6Addr::from_bits(prefix.address.to_bits() & prefix.mask());
    format!("{address}/{}", prefix.length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_cover_exactly_the_range() {
        for (first, last) in [(0, 65_535), (0, 0), (65_535, 65_535), (1, 65_534), (1024, 65_535), (37, 4_711)]
        {
            let masks = masks((first, last));
            for port in 0..=u16::MAX {
                let held = masks.iter().filter(|(value, mask)| port & mask == *value).count();
                assert_eq!(held, usize::from((first..=last).contains(&port)), "{port} in {first} to {last}");
            }
        }
        assert!(masks((9, 3)).is_empty());
    }

    #[test]
    fn rules_without_ports_apply_where_ports_are_zero() {
        let any = Prefix4 { address: [0; 4].into(), length: 0 };
        let rule = |src_ports, dst_ports, protocol| {
            Rule::of4(&AclRule { src: any, dst: any, src_ports, dst_ports, protocol }).matches()
        };
        let all = (0, u16::MAX);
        assert_eq!(rule(all, all, None), ["ip"]);
        assert_eq!(rule(all, (80, 80), Some(6)), ["ip,nw_proto=6,tp_dst=80"]);
        assert_eq!(rule(all, (0, 1023), Some(17)), ["ip,nw_proto=17,tp_dst=0x0000/0xfc00"]);
        assert_eq!(rule(all, (0, 1023), Some(1)), ["ip,nw_proto=1"]);
        assert!(rule(all, (80, 80), Some(1)).is_empty());
        assert_eq!(rule(all, (80, 80), None).len(), 2);
        assert_eq!(rule(all, (0, 1023), None).len(), 256);
    }
}
