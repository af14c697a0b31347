//! SDF filters (TS 29.244 §8.2.5). Flow descriptions are IPFilterRules (RFC 6733 §4.3.1) as restricted by TS 29.212 §5.4.2. Protocols may
//! also be given by name.
use super::inner::{Inner, has_ports};
use crate::pfcp::SdfFilter;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Reason why a text is not a supported flow description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{rule}\" is not a flow description: {why}; allowed is \"permit out PROTOCOL from ADDRESS [PORTS] to ADDRESS [PORTS]\""
)]
pub struct FlowError {
    rule: String,
    why: &'static str,
}

/// Maximum number of ports and port ranges per side of a flow.
const MAX_PORTS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Side {
    /// Address and number of relevant bits. `None` stands for any address, or for the UE's address (`assigned`).
    prefix: Option<(IpAddr, u8)>,
    ports: Vec<RangeInclusive<u16>>,
}

/// A flow, as described for the downlink (`permit out`). In the uplink, source and destination are exchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    protocol: Option<u8>,
    from: Side,
    to: Side,
}

impl Flow {
    /// Parses a flow description.
    pub fn parse(rule: &str) -> Result<Self, FlowError> {
        let fault = |why| FlowError { rule: rule.to_owned(), why };
        let mut words = rule.split_ascii_whitespace().peekable();
        if words.next() != Some("permit") {
            return Err(fault("it does not begin with `permit`"));
        }
        if words.next() != Some("out") {
            return Err(fault("the direction is not `out`"));
        }
        let protocol = match words.next() {
            Some("ip") => None,
            Some(text) => {
                Some(protocol(text).ok_or_else(|| fault("the protocol is neither ip nor 0 to 255"))?)
            }
            None => return Err(fault("the protocol is missing")),
        };
        if words.next() != Some("from") {
            return Err(fault("the word `from` is missing"));
        }
        let from = Side::parse(&mut words).map_err(fault)?;
        if words.next() != Some("to") {
            return Err(fault("the word `to` is missing"));
        }
        let to = Side::parse(&mut words).map_err(fault)?;
        if words.next().is_some() {
            return Err(fault("options are not allowed"));
        }
        if protocol.is_some_and(|number| !has_ports(number))
            && !(from.ports.is_empty() && to.ports.is_empty())
        {
            return Err(fault("the protocol has no ports"));
        }
        let versions = [&from, &to].map(|side| side.prefix.map(|(address, _)| address.is_ipv4()));
        if let [Some(a), Some(b)] = versions
            && a != b
        {
            return Err(fault("the addresses are of different IP versions"));
        }
        Ok(Self { protocol, from, to })
    }

    fn from_bytes(rule: &[u8]) -> Result<Self, FlowError> {
        let not_text = |_| FlowError { rule: format!("{rule:02x?}"), why: "it is not text" };
        std::str::from_utf8(rule).map_err(not_text).and_then(Self::parse)
    }

    /// Returns whether a packet belongs to the flow, in its direction.
    fn takes(&self, packet: &Inner, uplink: bool) -> bool {
        let (a, b) = packet.addresses;
        let (c, d) = match packet.ports {
            Some((c, d)) => (Some(c), Some(d)),
            None => (None, None),
        };
        let (from, to) = if uplink { ((b, d), (a, c)) } else { ((a, c), (b, d)) };
        self.protocol.is_none_or(|protocol| protocol == packet.protocol)
            && self.from.takes(from.0, from.1)
            && self.to.takes(to.0, to.1)
    }
}

/// Returns the number of a protocol given by number or by name.
fn protocol(text: &str) -> Option<u8> {
    const NAMES: [(&str, u8); 12] = [
        ("icmp", 1),
        ("igmp", 2),
        ("tcp", 6),
        ("udp", 17),
        ("dccp", 33),
        ("gre", 47),
        ("esp", 50),
        ("ah", 51),
        ("icmpv6", 58),
        ("ipv6-icmp", 58),
        ("sctp", 132),
        ("udplite", 136),
    ];
    let named = NAMES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
    named.map(|(_, number)| *number).or_else(|| text.parse().ok())
}

/// A compiled SDF filter. Every given component has to match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Filter {
    flow: Option<Flow>,
    /// Type of service or traffic class, and its mask.
    tos: Option<[u8; 2]>,
    spi: Option<u32>,
    flow_label: Option<u32>,
}

impl Filter {
    /// Compiles a filter. Returns `None` if the filter is empty and matches every packet. A filter that only has an identifier stands for
    /// the filter of `known` that defines it.
    ///
    /// # Errors
    /// An invalid flow description, or an identifier that no filter defines.
    pub(super) fn compile<'a>(
        filter: &'a SdfFilter,
        known: impl Iterator<Item = &'a SdfFilter>,
    ) -> Result<Option<Self>, FlowError> {
        let text = match (&filter.flow_description, filter.filter_id) {
            (Some(text), _) => Some(text),
            (None, Some(id)) if !has_parts(filter) => {
                let mut same = known.filter(|other| other.filter_id == Some(id));
                let Some(definition) = same.find(|other| has_parts(other)) else {
                    let why = "no filter of the session defines this identifier";
                    return Err(FlowError { rule: format!("filter {id}"), why });
                };
                return Self::compile(definition, std::iter::empty());
            }
            (None, _) => None,
        };
        let compiled = Self {
            flow: text.filter(|text| !text.is_empty()).map(|text| Flow::from_bytes(text)).transpose()?,
            tos: filter.tos_traffic_class,
            spi: filter.security_parameter_index,
            flow_label: filter.flow_label.map(|[a, b, c]| u32::from_be_bytes([0, a & 0x0f, b, c])),
        };
        Ok((compiled != Self::default()).then_some(compiled))
    }

    /// Compiles a filter that only consists of a flow description.
    ///
    /// # Errors
    /// An invalid flow description.
    pub(super) fn from_flow(rule: &[u8]) -> Result<Self, FlowError> {
        Flow::from_bytes(rule).map(|flow| Self { flow: Some(flow), ..Self::default() })
    }

    /// Returns a filter that matches no packet.
    pub(super) fn of_nothing() -> Self {
        // The range contains no port.
        #[allow(clippy::reversed_empty_ranges)]
        let from = Side { prefix: None, ports: vec![1..=0] };
        Self { flow: Some(Flow { protocol: None, from, to: Side::default() }), ..Self::default() }
    }

    /// Returns whether a packet belongs to the filter's flow, in its direction.
    pub(super) fn takes(&self, packet: &Inner, uplink: bool) -> bool {
        self.flow.as_ref().is_none_or(|flow| flow.takes(packet, uplink))
            && self.tos.is_none_or(|[value, mask]| packet.tos & mask == value & mask)
            && self.spi.is_none_or(|spi| packet.spi == Some(spi))
            && self.flow_label.is_none_or(|label| packet.flow_label == Some(label))
    }
}

/// Returns whether a filter describes packets itself, instead of naming another filter.
fn has_parts(filter: &SdfFilter) -> bool {
    filter.flow_description.is_some()
        || filter.tos_traffic_class.is_some()
        || filter.security_parameter_index.is_some()
        || filter.flow_label.is_some()
}

impl Side {
    fn parse<'a>(
        words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    ) -> Result<Self, &'static str> {
        let address = words.next().ok_or("an address is missing")?;
        let prefix = match address {
            "any" | "assigned" => None,
            _ => Some(prefix(address).ok_or("an address is neither any, assigned nor ADDRESS[/BITS]")?),
        };
        let mut ports = Vec::new();
        if let Some(list) =
            words.next_if(|word| *word != "to" && word.starts_with(|c: char| c.is_ascii_digit()))
        {
            for range in list.split(',') {
                let (low, high) = range.split_once('-').unwrap_or((range, range));
                let number = |text: &str| text.parse::<u16>().map_err(|_| "a port is not 0 to 65535");
                let range = number(low)?..=number(high)?;
                if range.is_empty() {
                    return Err("a range of ports ends before it begins");
                }
                ports.push(range);
            }
        }
        if ports.len() > MAX_PORTS {
            return Err("more than 16 ports");
        }
        Ok(Self { prefix, ports })
    }

    fn takes(&self, address: IpAddr, port: Option<u16>) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(v4) => (u128::from(u32::from(v4)) << 96, 4),
            IpAddr::V6(v6) => (u128::from(v6), 6),
        };
        let inside = self.prefix.is_none_or(|(prefix, len)| {
            let (a, version) = bits(prefix);
            let (b, other) = bits(address);
            version == other && (len == 0 || (a ^ b) >> (128 - u32::from(len)) == 0)
        });
        inside
            && (self.ports.is_empty()
                || port.is_some_and(|port| self.ports.iter().any(|range| range.contains(&port))))
    }
}

fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(most), str::parse).ok()?;
    (bits <= most).then_some((address, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(from: [u8; 4], to: [u8; 4], protocol: u8, ports: (u16, u16)) -> Inner {
        let mut octets = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0];
        octets.extend([from, to].concat());
        octets.extend(ports.0.to_be_bytes());
        octets.extend(ports.1.to_be_bytes());
        octets.extend([0; 4]);
        Inner::read(&octets).unwrap()
    }

    #[test]
    fn flow_matches_both_directions() {
        let flow = Flow::parse("permit out 17 from 192.0.2.0/24 53,8000-8999 to assigned").unwrap();
        let server = [192, 0, 2, 9];
        let ue = [10, 60, 0, 1];
        assert!(flow.takes(&packet(server, ue, 17, (53, 4000)), false));
        assert!(flow.takes(&packet(ue, server, 17, (4000, 8500)), true));
        assert!(!flow.takes(&packet(ue, server, 17, (4000, 9000)), true));
        assert!(!flow.takes(&packet(server, ue, 6, (53, 4000)), false));
        assert!(!flow.takes(&packet([192, 0, 3, 9], ue, 17, (53, 4000)), false));
        assert!(
            Flow::parse("permit out ip from any to assigned")
                .unwrap()
                .takes(&packet(ue, server, 1, (0, 0)), true)
        );
    }

    #[test]
    fn invalid_flow_description_is_rejected_with_reason() {
        for (rule, why) in [
            ("deny out ip from any to any", "begin with `permit`"),
            ("permit in ip from any to any", "direction is not `out`"),
            ("permit out tpc from any to any", "neither ip nor 0"),
            ("permit out 256 from any to any", "neither ip nor 0"),
            ("permit out icmp from any 80 to any", "no ports"),
            ("permit out ip from any 90-80 to any", "ends before"),
            ("permit out ip from 1.2.3.4 to 2001:db8::/32", "different IP versions"),
            ("permit out ip from any", "the word `to` is missing"),
            ("permit out ip from 1.2.3.4/33 to any", "neither any"),
            ("permit out 6 from any 70000 to any", "a port"),
            ("permit out ip from any to any established", "options"),
        ] {
            assert!(Flow::parse(rule).unwrap_err().to_string().contains(why), "{rule}");
        }
    }
}
