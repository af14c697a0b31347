//! A third-party switch at an address, configured with `ovs-ofctl`.
//!
//! The switch keeps running afterwards, so all configured objects are marked: flows by cookies, and groups by their
//! numbers. Meters have no field for a mark, so one flow records the number of ranlab's meters. The next campaign can
//! then remove the configuration of a killed campaign, and does not change other objects.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use ranlab_pipeline::backends::{COOKIE, COOKIE_MASK, FIRST_GROUP, FIRST_TABLE, GROUPS_MAX, port_name};
use ranlab_pipeline::declare::Port;

use super::capable::{RequiredCapabilities, SwitchCapabilities, number, refused};
use super::session::{OpenFlow, tcp};
use crate::switches::{RemoteSwitch, tools};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, sut};

/// Timeout of the tool, in seconds.
const TOOL_S: &str = "--timeout=60";
/// OpenFlow versions in order of preference. The flag states whether the version supports changing many flows in one
/// bundle.
const VERSIONS: [(&str, bool); 3] = [("-OOpenFlow15", true), ("-OOpenFlow14", true), ("-OOpenFlow13", false)];
/// Cookie of the flow that records the number of ranlab's meters in its last 32 bits.
const MARK: u64 = COOKIE | 1 << 32;
const MARK_MASK: u64 = 0xffff_ffff_0000_0000;

/// A connected switch.
pub(super) struct Remote {
    pub(super) at: SocketAddr,
    ports: [u32; 2],
    version: &'static str,
    bundles: bool,
    /// Last 32 bits of the cookies of this run's flows. They distinguish the run from earlier campaigns.
    run: u32,
}

/// Parses the address of a switch in the notation of Open vSwitch's tools.
pub(super) fn address(text: &str) -> Result<SocketAddr, ComponentError> {
    let wrong = |why: &str| environment(format!("`sut.address` \"{text}\" {why}: tcp:HOST:PORT is expected"));
    if text.starts_with("ssl:") {
        return Err(wrong(
            "needs TLS, which is not supported here (use the address of a local tunnel to it, such as `stunnel`)",
        ));
    }
    let rest = text.strip_prefix("tcp:").ok_or_else(|| wrong("is not an address of a switch"))?;
    let mut all = rest.to_socket_addrs().map_err(|error| wrong(&format!("is not understood ({error})")))?;
    all.next().ok_or_else(|| wrong("leads nowhere"))
}

impl Remote {
    /// Connects to a switch and reads its capabilities.
    pub(super) fn connect(far: &RemoteSwitch) -> Result<(Self, SwitchCapabilities), ComponentError> {
        let at = address(&far.address)?;
        // This check fails fast if the address is unreachable.
        drop(tcp(at)?);
        let mut why = String::new();
        let run = run();
        for (version, bundles) in VERSIONS {
            let own = Self { at, ports: far.ports, version, bundles, run };
            match own.ofctl("show", &[]) {
                Ok(show) => {
                    let ask = |what: &str| own.ofctl(what, &[]).ok();
                    let tables = ask("dump-table-features");
                    let meters = ask("meter-features");
                    let capable = SwitchCapabilities::read(&show, tables.as_deref(), meters.as_deref());
                    return Ok((own, capable));
                }
                Err(trouble) => why = trouble.what,
            }
        }
        Err(environment(format!("the switch at tcp:{at} does not support OpenFlow 1.3 to 1.5: {why}")))
    }

    fn ofctl(&self, command: &str, arguments: &[&str]) -> Result<String, ComponentError> {
        let mut tool = tools::program("ovs-ofctl");
        tool.args([self.version, TOOL_S, command]).arg(format!("tcp:{}", self.at)).args(arguments);
        tools::run(&mut tool)
    }

    /// Checks that no other program uses the required tables, the first rules of the ports, or the required meters.
    pub(super) fn free(&self, needs: &RequiredCapabilities) -> Result<(), ComponentError> {
        let others = |what: String| environment(format!("the switch at tcp:{} has {what}", self.at));
        for table in needs.flows.keys().filter(|table| **table >= FIRST_TABLE) {
            let text = self.ofctl("dump-aggregate", &[&format!("table={table}")])?;
            let flows: u64 = number(&text, "flow_count=").unwrap_or(0);
            if flows > 0 {
                return Err(others(format!(
                    "{flows} flows of its owner in table {table}, which ranlab needs"
                )));
            }
        }
        for port in self.ports {
            let text = self.ofctl("dump-flows", &[&format!("table=0,in_port={port}")])?;
            if text.contains("cookie=") {
                return Err(others(format!("flows of its owner for port {port} in table 0")));
            }
        }
        if needs.meters > 0 {
            let text = self.ofctl("dump-meters", &[])?;
            let taken =
                text.lines().filter_map(|line| number::<u32>(line, "meter=")).find(|id| *id <= needs.meters);
            if let Some(id) = taken {
                return Err(others(format!(
                    "a meter {id} of its owner, and ranlab needs meters 1 to {}",
                    needs.meters
                )));
            }
        }
        Ok(())
    }

    /// Records the number of ranlab's meters at the switch before they are created.
    pub(super) fn mark(&self, meters: u32) -> Result<(), ComponentError> {
        let cookie = MARK | u64::from(meters);
        // This flow has no effect, because another rule of the table has precedence and matches every packet.
        let flow = format!("cookie={cookie:#x},table={FIRST_TABLE},priority=0,actions=drop");
        self.ofctl("add-flow", &[&flow]).map(drop)
    }

    /// Adds groups and flows. With bundles, either all or none are added.
    pub(super) fn add_flows(&self, text: &str, folder: &Path) -> Result<(), ComponentError> {
        let text = self.wired(text);
        if self.bundles {
            return self.file("bundle", &text, folder);
        }
        // Groups must exist before flows refer to them.
        for (kind, command) in [("group ", "add-groups"), ("flow ", "add-flows")] {
            let lines = text.lines().filter_map(|line| line.strip_prefix(kind));
            let lines: String = lines.flat_map(|line| [line, "\n"]).collect();
            if !lines.is_empty() {
                self.file(command, &lines, folder)?;
            }
        }
        Ok(())
    }

    fn file(&self, command: &str, text: &str, folder: &Path) -> Result<(), ComponentError> {
        let file = folder.join("openflow");
        std::fs::write(&file, text).map_err(environment)?;
        self.ofctl(command, &[&file.display().to_string()]).map(drop)
    }

    /// Replaces port names by the switch's port numbers, and adds this run's number to cookies. Cookies with a mask
    /// are unchanged, so that they match the flows of all runs.
    fn wired(&self, text: &str) -> String {
        let cookie = |cookie: u64| format!("cookie={cookie:#x},");
        let mut text = text.replace(&cookie(COOKIE), &cookie(COOKIE | u64::from(self.run)));
        for (port, number) in [Port::Access, Port::Core].into_iter().zip(self.ports) {
            let name = port_name(port);
            for word in ["in_port=", "output:"] {
                text = text.replace(&format!("{word}{name}"), &format!("{word}{number}"));
            }
        }
        text
    }

    /// Converts a rejection into an error with the rejected rule and the reason. For a full table, the error also
    /// contains the number of needed flows.
    pub(super) fn refusal(
        trouble: ComponentError,
        needs: &RequiredCapabilities,
        most: &BTreeMap<u32, u64>,
    ) -> ComponentError {
        let Some((fault, table, rule)) = refused(&trouble.what) else { return trouble };
        if fault != "OFPFMFC_TABLE_FULL" {
            return sut(format!("the switch refuses the rule `{rule}` of table {table}: {fault}"));
        }
        let count = needs.flows.get(&table).copied().unwrap_or(0);
        let room = most.get(&table).map_or_else(String::new, |most| format!("; it reports room for {most}"));
        sut(format!(
            "table {table} is full: the switch refuses the rule `{rule}`, one of {count} for that table{room}"
        ))
    }

    /// Returns the numbers of packets received and sent, per port.
    pub(super) fn counters(&self) -> Result<[(u64, u64); 2], ComponentError> {
        let text = self.ofctl("dump-ports", &[])?;
        let of = |port: u32| {
            port_counters(&text, port).ok_or_else(|| {
                sut(format!("the switch at tcp:{} shows no counters of its port {port}", self.at))
            })
        };
        Ok([of(self.ports[0])?, of(self.ports[1])?])
    }

    /// Removes the configuration of this run, unless a later campaign has already removed it. After a campaign is
    /// killed, its worker continues for a short time and then removes the configuration.
    pub(super) fn leave(&self) -> Result<(), ComponentError> {
        // All of ranlab's pipelines begin in table 0.
        let text = self.ofctl("dump-flows", &["table=0"])?;
        let own = COOKIE | u64::from(self.run);
        if cookies(&text).any(|cookie| cookie == own) { self.clean() } else { Ok(()) }
    }

    /// Removes the configuration of all runs of ranlab, and no other objects.
    pub(super) fn clean(&self) -> Result<(), ComponentError> {
        let ours = format!("cookie={COOKIE:#x}/{COOKIE_MASK:#x}");
        let marks = self.ofctl("dump-flows", &[&format!("cookie={MARK:#x}/{MARK_MASK:#x}")])?;
        let meters = cookies(&marks).filter_map(marked).max().unwrap_or(0);
        // A switch without groups returns an error.
        let groups = self.ofctl("dump-groups", &[]).unwrap_or_default();
        let groups: Vec<u32> = groups.lines().filter_map(our_group).collect();
        self.ofctl("del-flows", &[&ours])?;
        if meters > 0 || !groups.is_empty() {
            OpenFlow::reach(self.at)?.delete(&(1..=meters).collect::<Vec<_>>(), &groups)?;
        }
        // Some switches (BOFUSS) respect cookies in delete requests but not in dump requests.
        let text = self.ofctl("dump-aggregate", &[&ours])?;
        if number(&text, "flow_count=").unwrap_or(0_u64) == 0 {
            return Ok(());
        }
        match cookies(&self.ofctl("dump-flows", &[&ours])?).filter(|it| it & COOKIE_MASK == COOKIE).count() {
            0 => Ok(()),
            left => Err(sut(format!("{left} flows of ranlab remain in the switch at tcp:{}", self.at))),
        }
    }
}

/// Returns a number that is unlikely to repeat between runs at the same switch.
fn run() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() as u32).rotate_left(13) ^ std::process::id()
}

/// Returns the cookies of dumped flows.
fn cookies(text: &str) -> impl Iterator<Item = u64> {
    text.lines().filter_map(|line| {
        let cookie = line.split_once("cookie=0x")?.1.split(',').next()?;
        u64::from_str_radix(cookie, 16).ok()
    })
}

/// Returns the number of ranlab's meters from the cookie of the flow that records it.
fn marked(cookie: u64) -> Option<u32> {
    (cookie & MARK_MASK == MARK).then_some(cookie as u32)
}

/// Returns the number of a group if it is one of ranlab's groups.
fn our_group(line: &str) -> Option<u32> {
    let id: u32 = number(line, "group_id=")?;
    (FIRST_GROUP..FIRST_GROUP + GROUPS_MAX).contains(&id).then_some(id)
}

/// Parses `  port  8: rx pkts=3, …` or `  port "eth1": …`, and the following line ` tx pkts=2, …`.
fn port_counters(text: &str, port: u32) -> Option<(u64, u64)> {
    let mut lines = text.lines().skip_while(|line| {
        let of = line.trim_start().strip_prefix("port ").and_then(|rest| rest.trim_start().split(':').next());
        of.and_then(|id| id.parse().ok()) != Some(port)
    });
    let first = lines.next()?;
    let second = lines.next()?;
    Some((number(first, "rx pkts=")?, number(second, "tx pkts=")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote() -> Remote {
        Remote {
            at: address("tcp:127.0.0.1:6653").unwrap(),
            ports: [7, 11],
            version: VERSIONS[0].0,
            bundles: true,
            run: 0xabc,
        }
    }

    #[test]
    fn only_tcp_addresses_are_accepted() {
        assert_eq!(address("tcp:[::1]:6653").unwrap().to_string(), "[::1]:6653");
        for (text, why) in [
            ("ssl:10.0.0.1:6653", "needs TLS"),
            ("10.0.0.1:6653", "is not an address of a switch"),
            ("tcp:10.0.0.1", "is not understood"),
            ("tcp:10.0.0.1:99999", "is not understood"),
            ("unix:/run/x", "is not an address of a switch"),
        ] {
            let trouble = address(text).unwrap_err();
            assert!(trouble.what.contains(why) && trouble.what.contains("tcp:HOST:PORT"), "{trouble}");
        }
    }

    #[test]
    fn port_names_become_switch_port_numbers() {
        let text = "flow add table=0,in_port=access,actions=goto_table:1\nflow add x,actions=output:core\ngroup add output:access\n";
        let wired = "flow add table=0,in_port=7,actions=goto_table:1\nflow add x,actions=output:11\ngroup add output:7\n";
        assert_eq!(remote().wired(text), wired);
        let text = format!(
            "flow add cookie={COOKIE:#x},x\nflow delete_strict cookie={COOKIE:#x}/{COOKIE_MASK:#x},x\n"
        );
        let wired = format!(
            "flow add cookie=0x726c610000000abc,x\nflow delete_strict cookie={COOKIE:#x}/{COOKIE_MASK:#x},x\n"
        );
        assert_eq!(remote().wired(&text), wired);
    }

    #[test]
    fn ranlab_entries_are_recognized_by_mark() {
        let line = |cookie: u64| {
            format!(" cookie={cookie:#x}, duration=1s, table=1, n_packets=0, priority=0 actions=drop\n")
        };
        let text =
            ["OFPST_FLOW reply (OF1.3) (xid=0x2):\n".to_owned(), line(MARK | 300), line(COOKIE), line(300)]
                .concat();
        assert_eq!(cookies(&text).collect::<Vec<_>>(), [MARK | 300, COOKIE, 300]);
        assert_eq!(cookies(&text).map(marked).collect::<Vec<_>>(), [Some(300), None, None]);
        assert_eq!(COOKIE & COOKIE_MASK, COOKIE);
        assert_eq!(MARK & COOKIE_MASK, COOKIE, "the mark is removed with the other flows");
        let group = |id: u32| our_group(&format!(" group_id={id},type=indirect,bucket=actions=output:7"));
        assert_eq!((group(FIRST_GROUP), group(FIRST_GROUP + 9)), (Some(FIRST_GROUP), Some(FIRST_GROUP + 9)));
        assert_eq!((group(1), group(FIRST_GROUP + GROUPS_MAX), our_group("")), (None, None, None));
    }

    #[test]
    fn port_counters_parse() {
        let text = "OFPST_PORT reply (OF1.5) (xid=0x2): 3 ports\n  port 11: rx pkts=3, bytes=266, drop=0\n           tx pkts=2, \
                    bytes=176\n           duration=0.7s\n  port LOCAL: rx pkts=0, bytes=0\n           tx pkts=0\n  port  7: rx \
                    pkts=5, bytes=1\n           tx pkts=6, bytes=2\n";
        assert_eq!((port_counters(text, 7), port_counters(text, 11)), (Some((5, 6)), Some((3, 2))));
        assert_eq!((port_counters(text, 1), port_counters("", 7)), (None, None));
    }

    #[test]
    fn full_table_error_names_rule() {
        let needs = RequiredCapabilities { flows: [(2, 9)].into(), meters: 0 };
        let message = "Error OFPFMFC_TABLE_FULL for: OFPT_FLOW_MOD (OF1.5) (xid=0xb): ADD table:2 priority=124,ip cookie:0x7 actions=drop";
        let trouble = Remote::refusal(sut(message), &needs, &[(2, 5)].into());
        assert_eq!(
            trouble.what,
            "table 2 is full: the switch refuses the rule `priority=124,ip`, one of 9 for that table; it reports room for 5"
        );
        assert_eq!(Remote::refusal(sut("other"), &needs, &BTreeMap::new()).what, "other");
    }
}
