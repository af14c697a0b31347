//! Capabilities of a switch, read with `ovs-ofctl`. They show before any configuration whether a pipeline fits.

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_pipeline::backends::{TextConsumer, Translation};

use super::exact::{FLOWS_MAX, exact};

/// Maximum time to wait until meter buckets are full.
const FILL_MAX: Duration = Duration::from_secs(5);

/// Capabilities of a switch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SwitchCapabilities {
    /// Number of tables.
    pub(super) tables: u32,
    /// Number and name of each port.
    pub(super) ports: Vec<(String, String)>,
    /// Maximum number of flows per table, if the switch reports it.
    pub(super) most: BTreeMap<u32, u64>,
    /// Maximum number of meters. 0 if meters are not supported.
    pub(super) meters: u64,
    /// Whether the switch reports support for masked TCP ports, which OpenFlow does not require.
    pub(super) masked_ports: bool,
}

/// Requirements of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RequiredCapabilities {
    /// Number of flows per table.
    pub(super) flows: BTreeMap<u32, u64>,
    /// Highest meter id. 0 if the pipeline has no meters.
    pub(super) meters: u32,
}

impl RequiredCapabilities {
    /// Returns the requirements of a translated pipeline.
    pub(super) fn from_translation(translation: &Translation) -> Self {
        let mut own = Self::default();
        for text in &translation.texts {
            let lines = text.text.lines();
            match text.reader {
                TextConsumer::OvsMeters => own.meters = lines.filter_map(meter).fold(own.meters, u32::max),
                TextConsumer::OvsBundle => {
                    lines.filter(|line| line.starts_with("flow add ")).for_each(|line| {
                        *own.flows.entry(number(line, "table=").unwrap_or(0)).or_default() += 1;
                    })
                }
                _ => {}
            }
        }
        own
    }
}

/// Returns the meter id of a line that sets a meter.
pub(super) fn meter(line: &str) -> Option<u32> {
    number(line, "meter=")
}

/// Returns the time until the slowest bucket of these meters is full. OpenFlow does not define the initial fill level,
/// and BOFUSS starts with empty buckets.
pub(super) fn filled_after(translation: &Translation) -> Duration {
    let meters = translation.texts.iter().filter(|text| text.reader == TextConsumer::OvsMeters);
    let longest = meters.flat_map(|text| text.text.lines()).filter_map(|line| {
        let burst: u64 = number(line, "burst_size=")?;
        let rate: u64 = number(line, ",rate=")?;
        Some(Duration::from_millis(burst.saturating_mul(1000) / rate.max(1)))
    });
    longest.max().unwrap_or_default().min(FILL_MAX)
}

/// Returns the decimal number that follows `word`.
pub(super) fn number<T: std::str::FromStr>(text: &str, word: &str) -> Option<T> {
    let rest = text.split_once(word)?.1;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

impl SwitchCapabilities {
    /// Parses the output of `show`, `dump-table-features` and `meter-features`. If the switch does not support a
    /// request, the capability remains unknown.
    pub(super) fn read(show: &str, tables: Option<&str>, meters: Option<&str>) -> Self {
        Self {
            tables: number(show, "n_tables:").unwrap_or(0),
            ports: show.lines().filter_map(port).collect(),
            most: tables.map(most).unwrap_or_default(),
            meters: meters.and_then(|text| number(text, "max_meter:")).unwrap_or(0),
            masked_ports: tables.is_some_and(masked_ports),
        }
    }

    /// Adapts a translation to the switch. If the switch does not support masked ports, the masks are expanded.
    ///
    /// # Errors
    ///
    /// The translation cannot be expressed. The error text contains the reason.
    pub(super) fn says(&self, mut translation: Translation) -> Result<Translation, String> {
        if self.masked_ports {
            return Ok(translation);
        }
        for text in translation.texts.iter_mut().filter(|text| text.reader == TextConsumer::OvsBundle) {
            text.text = exact(&text.text).map_err(|many| {
                format!("it does not support port masks, so each port of a range needs a rule: {many} rules, at most {FLOWS_MAX} are allowed")
            })?;
        }
        Ok(translation)
    }

    /// Returns the reason why the switch cannot implement a pipeline, if there is one. A reported table size that is
    /// too small is no such reason, because reported sizes are often guesses.
    pub(super) fn refuses(&self, needs: &RequiredCapabilities, ports: [u32; 2]) -> Option<String> {
        for number in ports {
            if self.ports.iter().all(|(own, _)| *own != number.to_string()) {
                let all: Vec<String> =
                    self.ports.iter().map(|(own, name)| format!("{own} ({name})")).collect();
                return Some(format!("it has no port {number}: it has {}", all.join(", ")));
            }
        }
        let tables = needs.flows.keys().next_back().map_or(0, |last| last + 1);
        if tables > self.tables {
            return Some(format!("{tables} tables are required, it has {}", self.tables));
        }
        if u64::from(needs.meters) > self.meters {
            return Some(format!("{} meters are required, it has {}", needs.meters, self.meters));
        }
        None
    }
}

/// Parses a line such as ` 7(eth1): addr:…`.
fn port(line: &str) -> Option<(String, String)> {
    let (head, rest) = line.split_once("): addr:")?;
    let (number, name) = head.trim_start().split_once('(')?;
    (!rest.is_empty()).then(|| (number.to_owned(), name.to_owned()))
}

/// Parses the maximum number of flows per table. A line `table 11:` is followed by `max_entries=5`. In a line such as
/// `tables 12...252: ditto`, the previous number applies.
fn most(text: &str) -> BTreeMap<u32, u64> {
    let mut all = BTreeMap::new();
    let mut now = None;
    let mut last = None;
    for line in text.lines().map(str::trim_start) {
        if let Some(rest) = line.strip_prefix("table ") {
            now = rest.split([':', ' ']).next().and_then(|id| id.parse::<u32>().ok());
            if line.ends_with("ditto")
                && let (Some(id), Some(most)) = (now, last)
            {
                all.insert(id, most);
            }
        } else if let Some((first, rest)) =
            line.strip_prefix("tables ").and_then(|rest| rest.split_once("..."))
        {
            let end = rest.split(':').next().and_then(|id| id.parse::<u32>().ok());
            if let (Ok(first), Some(end), Some(most)) = (first.parse::<u32>(), end, last) {
                // Table ids have eight bits.
                all.extend((first..=end.min(255)).map(|id| (id, most)));
            }
        } else if let (Some(most), Some(id)) = (number(line, "max_entries="), now) {
            last = Some(most);
            all.insert(id, most);
        }
    }
    all
}

/// Parses `      arbitrary mask: metadata eth_{src,dst} tcp_{src,dst,flags}`.
fn masked_ports(text: &str) -> bool {
    let masked = text.lines().find_map(|line| line.trim_start().strip_prefix("arbitrary mask:"));
    masked.is_some_and(|fields| fields.split_whitespace().any(|field| field.starts_with("tcp_{src,dst")))
}

/// Parses an error message of `ovs-ofctl`: the error code (`OFPFMFC_TABLE_FULL`), and table and match of the rejected
/// flow.
pub(super) fn refused(complaint: &str) -> Option<(&str, u32, String)> {
    let (before, rest) = complaint.split_once("ADD ")?;
    // Error codes begin with OFPBMC_, OFPFMFC_ and so on; message types begin with OFPT_.
    let code =
        |word: &&str| word.starts_with("OFP") && word.split('_').next().is_some_and(|it| it.ends_with('C'));
    let fault = before.split([' ', '\n', ':']).rfind(code)?;
    let rule = rest.lines().next()?;
    // Older versions do not print table 0.
    let table = rule.strip_prefix("table:").and_then(|_| number(rule, "table:")).unwrap_or(0);
    let rule = rule.split(" cookie:").next().unwrap_or(rule);
    let rule = rule.strip_prefix(&format!("table:{table} ")).unwrap_or(rule);
    Some((fault, table, rule.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOW: &str = "OFPT_FEATURES_REPLY (OF1.5) (xid=0x2): dpid:000086c76636cc46\nn_tables:254, n_buffers:0\n\
                        capabilities: FLOW_STATS\nOFPST_PORT_DESC reply (OF1.5) (xid=0x3):\n 7(a1): addr:be:09:92:aa:5e:17\n     \
                        config:     0\n 8(c1): addr:fa:f7:d3:ae:9f:30\n LOCAL(br0): addr:86:c7:66:36:cc:46\n";
    const TABLES: &str = "  table 0:\n    metadata: match=0\n    max_entries=1000000\n    instructions:\n\n  tables 1...10: ditto\n\n  \
                          table 11:\n    max_entries=5\n    (same matching)\n\n  table 12: ditto\n";

    #[test]
    fn switch_features_are_parsed() {
        let own =
            SwitchCapabilities::read(SHOW, Some(TABLES), Some("max_meter:262144 max_bands:8 max_color:0\n"));
        assert_eq!((own.tables, own.meters), (254, 262_144));
        let ports: Vec<_> = own.ports.iter().map(|(number, name)| (number.as_str(), name.as_str())).collect();
        assert_eq!(ports, [("7", "a1"), ("8", "c1"), ("LOCAL", "br0")]);
        assert_eq!((own.most[&0], own.most[&10], own.most[&11], own.most[&12]), (1_000_000, 1_000_000, 5, 5));
        assert_eq!(own.most.len(), 13);
        assert_eq!(SwitchCapabilities::read("", None, None), SwitchCapabilities::default());
        // Invalid input is ignored and does not allocate memory.
        assert!(
            most("tables 0...4294967295: ditto\n  tables x...y: ditto\ntable z:\nmax_entries=\n").is_empty()
        );
    }

    #[test]
    fn missing_capability_is_reported() {
        let own = SwitchCapabilities::read(SHOW, Some(TABLES), None);
        let needs = |last: u32, meters| RequiredCapabilities { flows: [(0, 1), (last, 9)].into(), meters };
        assert_eq!(own.refuses(&needs(11, 0), [7, 8]), None, "reported table sizes are not trusted");
        let refusal = |needs, ports| own.refuses(&needs, ports).unwrap();
        assert_eq!(refusal(needs(9, 0), [7, 1]), "it has no port 1: it has 7 (a1), 8 (c1), LOCAL (br0)");
        assert_eq!(refusal(needs(254, 0), [7, 8]), "255 tables are required, it has 254");
        assert_eq!(refusal(needs(9, 1), [7, 8]), "1 meters are required, it has 0");
    }

    #[test]
    fn requirements_count_flows_and_meters() {
        let mut translation = Translation::default();
        translation.push("m", TextConsumer::OvsMeters, "meter=3,kbps\nmeter=2,kbps\n".to_owned());
        let text = "group add group_id=1,table=9\nflow add cookie=0x1,table=1,priority=1,actions=drop\nflow add table=1,x\n\
                    flow delete_strict table=2,x\nflow add table=12,x\n";
        translation.push("f", TextConsumer::OvsBundle, text.to_owned());
        assert_eq!(
            RequiredCapabilities::from_translation(&translation),
            RequiredCapabilities { flows: [(1, 2), (12, 1)].into(), meters: 3 }
        );
    }

    #[test]
    fn rejected_rule_is_found_in_both_error_formats() {
        let bundle = "`ovs-ofctl` refused: Error OFPFMFC_TABLE_FULL for: OFPT_FLOW_MOD (OF1.5) (xid=0xb): ADD table:11 \
                      priority=106,ip,nw_dst=10.0.6.0/24 cookie:0x726c6100 actions=goto_table:12\nError OFPBFC_MSG_FAILED for:";
        let rule = "priority=106,ip,nw_dst=10.0.6.0/24".to_owned();
        assert_eq!(refused(bundle), Some(("OFPFMFC_TABLE_FULL", 11, rule.clone())));
        let single = "OFPT_ERROR (OF1.3) (xid=0x10): OFPFMFC_TABLE_FULL\nOFPT_FLOW_MOD (OF1.3) (xid=0x10): ADD table:11 \
                      priority=106,ip,nw_dst=10.0.6.0/24 cookie:0x726c6162 actions=drop";
        assert_eq!(refused(single), Some(("OFPFMFC_TABLE_FULL", 11, rule.clone())));
        assert_eq!(refused(&single.replace("table:11 ", "")), Some(("OFPFMFC_TABLE_FULL", 0, rule)));
        let field = "OFPT_ERROR (OF1.3) (xid=0x6): OFPBMC_BAD_FIELD\nOFPT_FLOW_MOD (OF1.3) (xid=0x6): ADD table:2 \
                     priority=3,tcp,tp_dst=0xb358/0xfff8 actions=goto_table:3";
        let rule = "priority=3,tcp,tp_dst=0xb358/0xfff8 actions=goto_table:3".to_owned();
        assert_eq!(refused(field), Some(("OFPBMC_BAD_FIELD", 2, rule)));
        assert_eq!(refused("OFPT_ERROR: OFPBMC_BAD_FIELD"), None);
        assert_eq!(refused("OFPT_FLOW_MOD (OF1.3): ADD table:2 x"), None);
    }

    #[test]
    fn fill_time_is_determined_by_slowest_bucket() {
        let of = |text: &str| {
            let mut translation = Translation::default();
            translation.push("m", TextConsumer::OvsMeters, text.to_owned());
            filled_after(&translation).as_millis()
        };
        let meter = |rate: u64, burst: u64| {
            format!("meter=1,kbps,burst,bands=type=drop,rate={rate},burst_size={burst}\n")
        };
        assert_eq!((of(&meter(10_000, 8_000)), of(&(meter(80, 8) + &meter(80, 40)))), (800, 500));
        assert_eq!((of(&meter(1, u64::MAX)), of(&meter(0, 9)), of("")), (5_000, 5_000, 0));
    }

    #[test]
    fn masked_ports_follow_table_features() {
        let supported = |fields: &str| {
            let tables = format!("  table 0:\n    matching:\n      {fields}\n");
            SwitchCapabilities::read(SHOW, Some(&tables), None).masked_ports
        };
        assert!(supported("arbitrary mask: metadata eth_{src,dst} tcp_{src,dst,flags} udp_{src,dst}"));
        assert!(!supported(
            "arbitrary mask: metadata\n      must exact match: in_port_oxm tcp_{src,dst} udp_{src,dst}"
        ));
        assert!(!supported("exact match or wildcard: tcp_{src,dst}"));
        assert!(
            !SwitchCapabilities::read(SHOW, None, None).masked_ports,
            "without a report, port masks are not supported"
        );
    }
}
