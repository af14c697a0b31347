//! Live networks on an emulated processor or in slow motion. Their times differ from the times of a real network, so only counts are used.

use ranlab_campaign::results::{PointResult, Results};
use ranlab_lab::worker::Report;

/// Metric that is 1 on an emulated machine. The network component sets it.
const EMULATED: &str = "live.emulated";
/// Metrics of the path cost in instructions, and of its ratio to a separate port.
const INSTRUCTIONS: [&str; 4] =
    ["cost_instructions_dl", "cost_instructions_ul", "cost_dl_of_port", "cost_ul_of_port"];
/// Names of the counters, which need no clock.
const COUNTED: [&str; 8] =
    ["sent", "lost_ratio", "malformed", "reordered", "left_ratio", "stamped_ratio", "unordered", "early"];

/// Returns the counters of an emulated network's report. `None` for a real machine, whose report is used completely.
pub(super) fn counts(report: &Report) -> Option<Report> {
    (report.numbers.get(EMULATED).copied().unwrap_or(0.0) > 0.0).then(|| {
        let instructions = report.numbers.contains_key(INSTRUCTIONS[0]);
        let counted = |name: &str| {
            instructions && INSTRUCTIONS.contains(&name)
                || name.starts_with("live.") && name != "live.timestamp_source"
                || name.rsplit_once('.').is_some_and(|(_, what)| COUNTED.contains(&what))
        };
        let numbers = report.numbers.iter().filter(|(name, _)| counted(name));
        Report { numbers: numbers.map(|(name, value)| (name.clone(), *value)).collect(), ..Report::default() }
    })
}

/// Returns the sentence that precedes results of emulated networks. `None` if there are no such results.
pub(super) fn sentence(results: &Results) -> Option<String> {
    let emulated: Vec<_> = results
        .points
        .iter()
        .filter(|point| point.values(EMULATED).iter().any(|value| *value > 0.0))
        .collect();
    if emulated.is_empty() {
        return None;
    }
    let whole = emulated.iter().filter(|point| carried(point)).count();
    let functions = emulated
        .iter()
        .filter(|point| point.values("live.functions").iter().any(|value| *value > 0.0))
        .count();
    Some(format!(
        "EMULATED: the machine's processors are a program, or the network ran in slow motion, so its times mean nothing and no flow is \
         judged by its delay. Of {} points {whole} carried every packet of every measured flow; {functions} did so through virtual \
         functions of a card.",
        emulated.len()
    ))
}

/// Returns whether all sent packets arrived in every repeat.
fn carried(point: &PointResult) -> bool {
    let all = |role: &str, name: &str| point.values(&format!("{role}.{name}"));
    let sent = super::predictions::ROLES.iter().filter(|role| !all(role, "lost_ratio").is_empty());
    let mut any = false;
    let whole = sent.into_iter().all(|role| {
        any = true;
        all(role, "lost_ratio").iter().chain(&all(role, "malformed")).all(|value| *value == 0.0)
    });
    any && whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulated_network_keeps_counters_only() {
        let mut report = Report::default();
        for (name, value) in [
            ("cell_dl.sent", 7.0),
            ("cell_dl.delay_us_p99", 9.0),
            ("rtt_ms", 3.0),
            ("live.timestamp_source", 1.0),
        ] {
            report.numbers.insert(name.to_owned(), value);
        }
        report.distributions.insert("cell_dl_ns".to_owned(), vec![(1, 1)]);
        assert!(counts(&report).is_none());
        report.numbers.insert(EMULATED.to_owned(), 1.0);
        let left = counts(&report).unwrap();
        let names: Vec<_> = left.numbers.keys().map(String::as_str).collect();
        assert_eq!(names, ["cell_dl.sent", EMULATED]);
        assert!(left.distributions.is_empty());
        for name in ["cost_dl_of_port", "cost_instructions_dl"] {
            assert!(!counts(&report).unwrap().numbers.contains_key("cost_dl_of_port"));
            report.numbers.insert(name.to_owned(), 1.04);
        }
        assert_eq!(counts(&report).unwrap().numbers["cost_dl_of_port"], 1.04);
    }
}
