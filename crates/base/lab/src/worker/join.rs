//! Joins the reports of several shares of one load. Counts are added, and distributions are merged value by value.
//! Nothing is averaged.

use std::collections::BTreeMap;

use ranlab_host::traffic::ProcessTraffic;

use super::{Counters, ProcessReport, Report};

/// Name endings of numbers for which the maximum of all shares counts instead of the sum.
const LARGEST: [&str; 2] = ["_max", "set_up_us"];
/// Name endings of quantiles. They cannot be joined and are left out; the merged distributions provide them.
const QUANTILES: [&str; 2] = ["_p50", "_p99"];

/// Joins the numbers of all shares.
pub fn numbers(shares: &[Counters]) -> Counters {
    if let [one] = shares {
        return one.clone();
    }
    let mut all = Counters::new();
    for (name, value) in shares.iter().flatten() {
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&QUANTILES) {
            continue;
        }
        let sum = all.entry(name.clone()).or_insert(0.0);
        *sum = if ends(&LARGEST) { sum.max(*value) } else { *sum + value };
    }
    all
}

/// Joins the reports of all shares. Details are concatenated if they are lists; machine reports are not joined.
pub fn reports(shares: &[Report]) -> Report {
    if let [one] = shares {
        return one.clone();
    }
    let mut distributions: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    for (name, counts) in shares.iter().flat_map(|share| &share.distributions) {
        let all = distributions.entry(name.clone()).or_default();
        counts.iter().for_each(|(value, count)| *all.entry(*value).or_default() += count);
    }
    let of_each: Vec<Counters> = shares.iter().map(|share| share.numbers.clone()).collect();
    let lists: Option<Vec<_>> = shares.iter().map(|share| share.detail.as_array()).collect();
    let list = lists.map(|lists| lists.into_iter().flatten().cloned().collect());
    Report {
        detail: list.map(serde_json::Value::Array).unwrap_or_default(),
        wall_s: shares.iter().map(|share| share.wall_s).fold(0.0, f64::max),
        stood_still_s: shares.iter().map(|share| share.stood_still_s).fold(0.0, f64::max),
        process: shares.iter().map(|share| share.process.as_ref()).collect::<Option<_>>().map(processes),
        wire: shares.iter().map(|share| share.wire).collect::<Option<_>>().map(wires),
        numbers: numbers(&of_each),
        distributions: distributions
            .into_iter()
            .map(|(name, all)| (name, all.into_iter().collect()))
            .collect(),
        ..Report::default()
    }
}

/// Joins process reports. There is no time series, because samples of different machines are not simultaneous.
fn processes(shares: Vec<&ProcessReport>) -> ProcessReport {
    let sum = |of: fn(&ProcessReport) -> u64| shares.iter().map(|share| of(share)).sum();
    ProcessReport {
        cpu_s: shares.iter().map(|share| share.cpu_s).sum(),
        rss_bytes: sum(|share| share.rss_bytes),
        pss_bytes: shares.iter().map(|share| share.pss_bytes).sum(),
        rss_peak_bytes: sum(|share| share.rss_peak_bytes),
        context_switches: sum(|share| share.context_switches),
        faults: sum(|share| share.faults),
        processes: sum(|share| share.processes),
        threads: sum(|share| share.threads),
        series: Vec::new(),
    }
}

fn wires(shares: Vec<ProcessTraffic>) -> ProcessTraffic {
    let sum = |of: fn(&ProcessTraffic) -> u64| shares.iter().map(of).sum();
    ProcessTraffic {
        connections: sum(|share| share.connections),
        sent_bytes: sum(|share| share.sent_bytes),
        received_bytes: sum(|share| share.received_bytes),
        sent_packets: sum(|share| share.sent_packets),
        received_packets: sum(|share| share.received_packets),
        sent_data_packets: sum(|share| share.sent_data_packets),
        received_data_packets: sum(|share| share.received_data_packets),
        retransmits: sum(|share| share.retransmits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(sent: f64, longest: f64, late: &[(u64, u64)], wire: Option<ProcessTraffic>) -> Report {
        let numbers =
            [("sent", sent), ("delay_us_max", longest), ("set_up_us", longest), ("late_us_p99", 9.0)];
        Report {
            wall_s: longest,
            process: Some(ProcessReport { cpu_s: 0.25, rss_bytes: 3, ..ProcessReport::default() }),
            wire,
            numbers: numbers.map(|(name, value)| (name.to_owned(), value)).into(),
            distributions: [("late_us".to_owned(), late.to_vec())].into(),
            detail: serde_json::json!([sent]),
            ..Report::default()
        }
    }

    #[test]
    fn joined_reports_add_counts_keep_maxima_and_drop_quantiles() {
        let wire = Some(ProcessTraffic { sent_bytes: 7, ..ProcessTraffic::default() });
        let one = share(10.0, 2.0, &[(1, 5), (3, 1)], wire);
        let all = reports(&[one.clone(), share(4.0, 1.5, &[(1, 2), (9, 1)], wire)]);
        assert_eq!(
            (all.numbers["sent"], all.numbers["delay_us_max"], all.numbers["set_up_us"]),
            (14.0, 2.0, 2.0)
        );
        assert!(
            !all.numbers.contains_key("late_us_p99"),
            "percentiles of several locations must be left out: their mean is not a percentile"
        );
        assert_eq!(all.detail, serde_json::json!([10.0, 4.0]));
        assert_eq!(all.distributions["late_us"], [(1, 7), (3, 1), (9, 1)]);
        assert_eq!((all.wall_s, all.wire.unwrap().sent_bytes), (2.0, 14));
        assert_eq!(all.process.map(|process| (process.cpu_s, process.rss_bytes)), Some((0.5, 6)));
        // A single report is unchanged. Values that cannot be joined are left out.
        assert_eq!(reports(std::slice::from_ref(&one)).numbers, one.numbers);
        assert_eq!(reports(&[one, share(4.0, 1.5, &[], None)]).wire, None);
    }
}
