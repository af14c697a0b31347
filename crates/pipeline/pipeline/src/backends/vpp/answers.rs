//! Reads what VPP prints on its command line. The text comes from another program, so it may be anything: an unknown line
//! is skipped, and sums saturate.

use std::collections::BTreeMap;

use super::port_name;
use crate::declare::Port;

/// Reasons for which VPP counts dropped packets: start of the node's name, reason, and ranlab's name.
const DROPS: [(&str, &str, &str); 9] = [
    ("acl-plugin-in", "ACL deny packets", "acl"),
    ("acl-plugin-out", "ACL deny packets", "acl"),
    ("ip4-input", "ip4 ttl <= 1", "hop limit"),
    ("ip4-input", "ip4 spoofed local-address packet drops", "spoofed address"),
    ("gtpu4-input", "no such tunnel packets", "no such tunnel"),
    ("vxlan4-input", "no such tunnel packets", "no such tunnel"),
    ("gre4-input", "GRE input packets dropped due to missing tunnel", "no such tunnel"),
    ("ethernet-input", "l3 mac mismatch", "other station"),
    ("nat44-ei", "no translation", "no translation"),
];

/// Packet counters of one port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets received at the port.
    pub received: u64,
    /// Packets sent at the port.
    pub sent: u64,
    /// Packets that VPP dropped and attributes to the port.
    pub dropped: u64,
}

/// Packet counters of both ports, and the drops of all interfaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    ports: [PortCounters; 2],
    /// Packets dropped at all interfaces, including tunnels.
    pub dropped: u64,
}

impl Counters {
    /// Reads the answer to `show interface`. A counter that VPP does not print is 0.
    pub fn parse(text: &str) -> Self {
        let mut own = Self::default();
        let mut port = None;
        for line in text.lines().skip(1) {
            if let Some(first) = line.split(' ').next().filter(|first| !first.is_empty()) {
                port = [Port::Access, Port::Core].into_iter().find(|port| port_name(*port) == first);
            }
            let line = line.trim_end();
            let count = |name: &str| {
                let (before, count) = line.rsplit_once(' ')?;
                before.trim_end().ends_with(name).then(|| count.parse::<u64>().ok()).flatten()
            };
            if let Some(port) = port {
                let counters = &mut own.ports[port as usize];
                counters.received = count("rx packets").unwrap_or(counters.received);
                counters.sent = count("tx packets").unwrap_or(counters.sent);
                counters.dropped = count(" drops").unwrap_or(counters.dropped);
            }
            own.dropped = own.dropped.saturating_add(count(" drops").unwrap_or(0));
        }
        own
    }

    /// Returns the counters of a port.
    pub fn port(&self, port: Port) -> PortCounters {
        self.ports[port as usize]
    }

    /// Returns the sum of all counters. It stays the same while VPP is idle.
    pub fn total(&self) -> u64 {
        let counts = self.ports.iter().flat_map(|port| [port.received, port.sent]);
        counts.fold(self.dropped, u64::saturating_add)
    }
}

/// Dropped packets by cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops {
    /// Packets by the cause that ranlab reports. Drops without a known cause are `other drops`.
    pub causes: BTreeMap<String, u64>,
    /// Packets for which a transmit ring had no free slot.
    pub ring_full: u64,
}

impl Drops {
    /// Reads the answer to `show errors`. `dropped` is [`Counters::dropped`].
    ///
    /// VPP also counts packets that pass with severity "error", so only known causes are treated as drops.
    pub fn parse(text: &str, dropped: u64) -> Self {
        let mut own = Self::default();
        for line in text.lines().skip(1) {
            let mut words = line.split_whitespace();
            let count = words.next().and_then(|count| count.parse::<u64>().ok());
            let (Some(count), Some(node)) = (count, words.next()) else { continue };
            let reason = words.collect::<Vec<_>>().join(" ");
            if node.ends_with("-tx") && reason.starts_with("no free tx slots") {
                own.ring_full = own.ring_full.saturating_add(count);
            }
            let known =
                DROPS.iter().find(|(start, why, _)| node.starts_with(start) && reason.starts_with(why));
            if let Some((_, _, name)) = known {
                let sum = own.causes.entry((*name).to_owned()).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        let named = own.causes.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let other = dropped.saturating_sub(named);
        if other > 0 {
            own.causes.insert("other drops".to_owned(), other);
        }
        own
    }
}

/// Reads the release, such as 26.06, from the answer to `show version`: `vpp v26.06-release built by …`.
pub fn release(text: &str) -> Option<f64> {
    let version = text.split_once("vpp v")?.1;
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(version.len());
    version[..end].parse().ok()
}

/// Returns the line of a script at which `exec` stopped, if it stopped. VPP prints only the rest of the line that it does
/// not understand.
pub fn refused_line<'a>(script: &'a str, printed: &'a str) -> Option<&'a str> {
    let (_, rest) = printed.split_once("CLI line error:")?;
    let rest = rest.lines().next().unwrap_or_default().trim();
    Some(script.lines().find(|line| line.contains(rest)).unwrap_or(rest))
}

/// A `show` command whose answer has the number of objects of a loaded script. VPP ends a list of rules at an unknown word
/// without an error, so a script counts as loaded only if these numbers are right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadCheck {
    /// The command.
    pub show: String,
    /// Number of objects that the script creates.
    pub expected: usize,
    /// Start of the line of an object. `None`: the answer has the number after the word `count`.
    entry: Option<&'static str>,
}

impl LoadCheck {
    /// Returns the checks for a script.
    pub fn for_script(script: &str) -> Vec<Self> {
        let lists = script.lines().filter(|line| line.starts_with("set acl-plugin acl "));
        let mut checks: Vec<_> = lists
            .enumerate()
            .map(|(number, list)| Self {
                show: format!("show acl-plugin acl index {number}"),
                expected: list.split(", ").count(),
                entry: None,
            })
            .collect();
        for (created, show, entry) in [
            ("create gtpu tunnel", "show gtpu tunnel", "["),
            ("create gre tunnel", "show gre tunnel", "["),
            ("create vxlan tunnel", "show vxlan tunnel", "["),
            ("nat44 ei add static mapping", "show nat44 ei static mappings", " "),
        ] {
            let expected = script.lines().filter(|line| line.starts_with(created)).count();
            if expected > 0 {
                checks.push(Self { show: show.to_owned(), expected, entry: Some(entry) });
            }
        }
        checks
    }

    /// Reads the number of objects from the answer. `None`: the answer has no number.
    pub fn count(&self, answer: &str) -> Option<usize> {
        let Some(entry) = self.entry else {
            return answer.split_whitespace().skip_while(|word| *word != "count").nth(1)?.parse().ok();
        };
        Some(answer.lines().filter(|line| line.starts_with(entry) && line.len() > 1).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERFACES: &str = "              Name               Idx    State  MTU (L3/IP4/IP6/MPLS)     Counter          Count     \n\
        access                            1      up          9000/0/0/0     rx packets                   300\n\
        \x20                                                                   rx bytes                   18000\n\
        \x20                                                                   drops                        200\n\
        core                              2      up          9000/0/0/0     tx packets                   100\n\
        \x20                                                                   tx bytes                    6000\n\
        gtpu_tunnel0                      3      up          9000/0/0/0     rx packets                    50\n\
        \x20                                                                   drops                          7\n\
        local0                            0     down          0/0/0/0       \n";

    #[test]
    fn interface_counters_parse() {
        let counters = Counters::parse(INTERFACES);
        assert_eq!(counters.port(Port::Access), PortCounters { received: 300, sent: 0, dropped: 200 });
        assert_eq!(counters.port(Port::Core), PortCounters { received: 0, sent: 100, dropped: 0 });
        assert_eq!((counters.dropped, counters.total()), (207, 607));
        assert_eq!(Counters::parse(""), Counters::default());
    }

    #[test]
    fn sums_of_absurd_counters_saturate() {
        let line = format!("access 1 up rx packets {max}\ncore 1 up tx packets {max}\n", max = u64::MAX);
        assert_eq!(Counters::parse(&format!("\n{line}")).total(), u64::MAX);
        let drops = format!("\n x drops {max}\n x drops {max}\n", max = u64::MAX);
        assert_eq!(Counters::parse(&drops).dropped, u64::MAX);
        let errors = format!("\n{max} ip4-input ip4 ttl <= 1\n9 ip4-input ip4 ttl <= 1\n", max = u64::MAX);
        assert_eq!(Drops::parse(&errors, 3).causes, [("hop limit".to_owned(), u64::MAX)].into());
    }

    #[test]
    fn known_drops_are_named_and_others_are_summed() {
        let errors = "   Count                  Node                              Reason               Severity \n\
            \x20      40       acl-plugin-in-ip4-l2               ACL deny packets            error  \n\
            \x20     300             l2-input                       L2 input packets            error  \n\
            \x20       5          memif1/0-tx                       no free tx slots            error  \n";
        let drops = Drops::parse(errors, 50);
        assert_eq!(drops.causes, [("acl".to_owned(), 40), ("other drops".to_owned(), 10)].into());
        assert_eq!(drops.ring_full, 5);
        assert_eq!(Drops::parse("", 0), Drops::default());
    }

    #[test]
    fn release_is_read_from_the_version() {
        assert_eq!(release("vpp v26.06-release built by root on vm at 2026-11-28T13:26:53"), Some(26.06));
        assert_eq!(release("vpp v25.10.1-rc0~3-g1"), None);
        assert_eq!(release("connect: Connection refused"), None);
    }

    #[test]
    fn refused_line_is_found_by_its_rest() {
        let script = "set interface state access up\nip route add 10.0.0.0/8 viaa core\n";
        let printed = "exec: CLI line error: viaa core\n";
        assert_eq!(refused_line(script, printed), Some("ip route add 10.0.0.0/8 viaa core"));
        assert_eq!(refused_line(script, ""), None);
    }

    #[test]
    fn objects_of_a_loaded_script_are_counted() {
        let script = "set acl-plugin acl permit src 10.0.0.0/8, deny\n\
                      create gtpu tunnel src 10.0.0.1 dst 10.0.0.2 teid 1 encap-vrf-id 0\n";
        let [rules, tunnels] = &LoadCheck::for_script(script)[..] else { panic!("two checks") };
        assert_eq!((rules.show.as_str(), rules.expected), ("show acl-plugin acl index 0", 2));
        assert_eq!(rules.count("acl-index 0 count 1 tag {}\n 0: ipv4 permit"), Some(1));
        assert_eq!(rules.count("acl-index 0"), None);
        assert_eq!((tunnels.show.as_str(), tunnels.expected), ("show gtpu tunnel", 1));
        assert_eq!(tunnels.count("[0] src 10.0.0.1 dst 10.0.0.2\n"), Some(1));
        assert_eq!(tunnels.count("No gtpu tunnels configured...\n"), Some(0));
    }
}
