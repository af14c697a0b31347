//! Access control lists as flows. A port range becomes a list of prefixes. A rule becomes one flow per pair of source
//! and destination prefix.

use ranlab_packet::Protocol;

use crate::declare::{ANY_PORTS, AclRule, Prefix4, Prefix6, TcpFlags};

/// A rule of either IP version, as text.
pub(super) struct Rule {
    /// Match for the addresses: `ip,nw_src=…` or `ipv6,ipv6_src=…`.
    addresses: String,
    src_ports: (u16, u16),
    dst_ports: (u16, u16),
    protocol: Option<u8>,
    flags: TcpFlags,
    /// Match for packets that have ports. Empty if the switch cannot exclude later fragments.
    with_ports: &'static str,
}

/// The match for packets that are not later fragments (an extension of Open vSwitch).
pub(super) const NOT_LATER: &str = ",ip_frag=not_later";

impl Rule {
    pub(super) fn of4(rule: &AclRule, with_ports: &'static str) -> Self {
        let of = |field: &str, prefix: Prefix4| {
            if prefix.length == 0 { String::new() } else { format!(",{field}={}", prefix4(prefix)) }
        };
        Self {
            addresses: format!("ip{}{}", of("nw_src", rule.src), of("nw_dst", rule.dst)),
            src_ports: rule.src_ports,
            dst_ports: rule.dst_ports,
            protocol: rule.protocol,
            flags: rule.flags,
            with_ports,
        }
    }

    pub(super) fn of6(rule: &AclRule<Prefix6>, with_ports: &'static str) -> Self {
        let of = |field: &str, prefix: Prefix6| {
            if prefix.length == 0 { String::new() } else { format!(",{field}={}", prefix6(prefix)) }
        };
        Self {
            addresses: format!("ipv6{}{}", of("ipv6_src", rule.src), of("ipv6_dst", rule.dst)),
            src_ports: rule.src_ports,
            dst_ports: rule.dst_ports,
            protocol: rule.protocol,
            flags: rule.flags,
            with_ports,
        }
    }

    /// Returns the matches of this rule. A rule that restricts ports or flags does not match packets without them.
    pub(super) fn matches(&self) -> Vec<String> {
        let addresses = &self.addresses;
        let any_ports = self.src_ports == ANY_PORTS && self.dst_ports == ANY_PORTS;
        let protocols: &[u8] = match (self.flags.mask, any_ports) {
            (0, true) => &[],
            (0, false) => &[Protocol::TCP.0, Protocol::UDP.0],
            _ => &[Protocol::TCP.0],
        };
        let plain = |protocol: u8| format!("{addresses},nw_proto={protocol}");
        match self.protocol {
            None if protocols.is_empty() => vec![addresses.clone()],
            None => protocols.iter().flat_map(|protocol| self.with_ports(&plain(*protocol))).collect(),
            Some(protocol) if protocols.is_empty() => vec![plain(protocol)],
            Some(protocol) if protocols.contains(&protocol) => self.with_ports(&plain(protocol)),
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
        let TcpFlags { value, mask } = self.flags;
        let flags =
            if mask == 0 { String::new() } else { format!(",tcp_flags={:#05x}/{mask:#05x}", value & mask) };
        let more = self.with_ports;
        pairs
            .map(|(src, dst)| format!("{base}{more}{}{}{flags}", field("tp_src", src), field("tp_dst", dst)))
            .collect()
    }
}

/// Returns the prefixes that cover a range of ports, each as value and mask.
fn masks((first, last): (u16, u16)) -> Vec<(u16, u16)> {
    let mut at = u32::from(first);
    let end = u32::from(last) + 1;
    let mut all = Vec::new();
    while at < end {
        // The block is the largest one that begins at `at` and does not exceed the end.
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
    fn prefixes_cover_exactly_the_port_range() {
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
    fn rules_with_ports_or_flags_ignore_packets_without_them() {
        let any = Prefix4 { address: [0; 4].into(), length: 0 };
        let syn = TcpFlags { value: 0xffff, mask: 2 };
        let flagged = |src_ports, dst_ports, protocol, flags| {
            let rule = AclRule { src: any, dst: any, src_ports, dst_ports, protocol, flags };
            Rule::of4(&rule, NOT_LATER).matches()
        };
        let rule = |src, dst, protocol| flagged(src, dst, protocol, TcpFlags::default());
        let all = ANY_PORTS;
        assert_eq!(rule(all, all, None), ["ip"]);
        assert_eq!(rule(all, all, Some(1)), ["ip,nw_proto=1"]);
        assert_eq!(rule(all, (80, 80), Some(6)), ["ip,nw_proto=6,ip_frag=not_later,tp_dst=80"]);
        assert_eq!(rule(all, (0, 1023), Some(17)), ["ip,nw_proto=17,ip_frag=not_later,tp_dst=0x0000/0xfc00"]);
        assert!(rule(all, (0, 1023), Some(1)).is_empty());
        assert_eq!(rule(all, (80, 80), None).len(), 2);
        assert_eq!(flagged(all, all, None, syn), ["ip,nw_proto=6,ip_frag=not_later,tcp_flags=0x002/0x002"]);
        assert!(flagged(all, all, Some(17), syn).is_empty());
    }
}
