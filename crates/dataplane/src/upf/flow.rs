//! Flow descriptions of SDF filters: IPFilterRules (RFC 6733 §4.3.1) as TS 29.212 §5.4.2 allows them.
use super::inner::Inner;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Why a text is no flow description that can be matched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{rule}\" is no flow description: {why}; allowed is \"permit out PROTOCOL from ADDRESS [PORTS] to ADDRESS [PORTS]\""
)]
pub struct FlowError {
    rule: String,
    why: &'static str,
}

/// Ports or ranges that one side of a flow may name.
const MAX_PORTS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Side {
    /// Address and bits of it that count; `None`: any, or the UE's own (`assigned`).
    prefix: Option<(IpAddr, u8)>,
    ports: Vec<RangeInclusive<u16>>,
}

/// A flow, seen from the data network: `permit out` describes the downlink, whose mirror is the uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    protocol: Option<u8>,
    from: Side,
    to: Side,
}

impl Flow {
    /// Reads a flow description.
    pub fn parse(rule: &str) -> Result<Self, FlowError> {
        let fault = |why| FlowError { rule: rule.to_owned(), why };
        let mut words = rule.split_ascii_whitespace().peekable();
        if words.next() != Some("permit") {
            return Err(fault("it does not begin with permit"));
        }
        if words.next() != Some("out") {
            return Err(fault("the direction is not out"));
        }
        let protocol = match words.next() {
            Some("ip") => None,
            Some(number) => {
                Some(number.parse().map_err(|_| fault("the protocol is neither ip nor 0 to 255"))?)
            }
            None => return Err(fault("the protocol is missing")),
        };
        if words.next() != Some("from") {
            return Err(fault("from is missing"));
        }
        let from = Side::parse(&mut words).map_err(fault)?;
        if words.next() != Some("to") {
            return Err(fault("to is missing"));
        }
        let to = Side::parse(&mut words).map_err(fault)?;
        match words.next() {
            None => Ok(Self { protocol, from, to }),
            Some(_) => Err(fault("options are not allowed")),
        }
    }

    /// Whether a packet belongs to the flow, in its direction.
    pub(super) fn takes(&self, packet: &Inner, uplink: bool) -> bool {
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
                ports.push(number(low)?..=number(high)?);
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
            let ((a, version), (b, other)) = (bits(prefix), bits(address));
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
    fn a_flow_matches_its_direction_and_the_mirror() {
        let flow = Flow::parse("permit out 17 from 192.0.2.0/24 53,8000-8999 to assigned").unwrap();
        let (server, ue) = ([192, 0, 2, 9], [10, 60, 0, 1]);
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
    fn what_is_no_flow_is_refused_with_its_fault() {
        for (rule, why) in [
            ("deny out ip from any to any", "begin with permit"),
            ("permit in ip from any to any", "not out"),
            ("permit out tcp from any to any", "neither ip nor 0"),
            ("permit out ip from any", "to is missing"),
            ("permit out ip from 1.2.3.4/33 to any", "neither any"),
            ("permit out 6 from any 70000 to any", "a port"),
            ("permit out ip from any to any established", "options"),
        ] {
            assert!(Flow::parse(rule).unwrap_err().to_string().contains(why), "{rule}");
        }
    }
}
