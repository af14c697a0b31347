use super::*;
use crate::lock;
use crate::monitor::{Latest, Monitor, MonitorConfig, Report};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Plmn};
use ranlab_e2_codec::e2sm::mac::{Mac, MacUe};
use ranlab_e2_codec::e2sm::plain;
use std::sync::Arc;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u32) -> Time {
    Time::ZERO + SECOND * seconds
}

/// Returns a monitor with a MAC report of each node, received at 100 s.
fn monitor(nodes: u32, ues: u32) -> MonitorHandle {
    let config = MonitorConfig { models: vec![&Mac], period_ms: 1_000 };
    let (_, handle) = Monitor::new(config).unwrap();
    for number in 0..nodes {
        let mut payload = Vec::new();
        let rows = (1..=ues).map(|rnti| MacUe {
            rnti,
            dl_aggr_tbs: u64::from(number * 1_000 + rnti),
            dl_bler: 0.25,
            ..MacUe::default()
        });
        plain::encode_list(&mut payload, rows.collect::<Vec<_>>(), 7).unwrap();
        let mut report = Report::new(&Mac);
        report.stats.received = Some(at(100));
        let header = plain::INDICATION_HEADER.to_vec();
        report.latest = Arc::new(Latest { header, payload, ..Latest::default() });
        let node = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), number, 32);
        lock(&handle.0).latest.insert((node, 0), report);
    }
    handle
}

fn value<'a>(text: &'a str, series: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
}

#[test]
fn each_ue_has_the_values_of_the_last_report() {
    let text = KpiExport { monitor: monitor(2, 3), series_max: SERIES_MAX }.text(at(101));
    let of = |name: &str| value(&text, name);
    assert_eq!(of(r#"ranlab_kpi_mac_dl_aggr_tbs_total{node="gnb 505.01 1",ue="3"}"#), Some("1003"));
    assert_eq!(of(r#"ranlab_kpi_mac_dl_bler{node="gnb 505.01 0",ue="1"}"#), Some("0.25"));
    assert!(text.contains("# TYPE ranlab_kpi_mac_dl_aggr_tbs_total counter\n"), "{text}");
    let series = text.lines().filter(|line| line.starts_with("ranlab_kpi_mac_")).count();
    assert_eq!(of("ranlab_kpi_series"), Some(series.to_string().as_str()));
    assert_eq!(of("ranlab_kpi_series_left_out"), Some("0"));
}

#[test]
fn series_beyond_the_bound_are_left_out_and_counted() {
    let monitor = monitor(3, 5);
    let all = KpiExport { monitor: monitor.clone(), series_max: SERIES_MAX }.text(at(101));
    let all: u64 = value(&all, "ranlab_kpi_series").unwrap().parse().unwrap();
    let bounded = KpiExport { monitor, series_max: 20 }.text(at(101));
    assert_eq!(bounded.lines().filter(|line| line.starts_with("ranlab_kpi_mac_")).count(), 20);
    assert_eq!(value(&bounded, "ranlab_kpi_series_left_out"), Some((all - 20).to_string().as_str()));
}

#[test]
fn series_limit_omits_metrics_instead_of_whole_nodes() {
    // There are 15 UEs with 8 metrics each. 60 series have room for the first four metrics of all UEs.
    let text = KpiExport { monitor: monitor(3, 5), series_max: 60 }.text(at(101));
    let series = |metric: &str| text.lines().filter(|line| line.starts_with(&format!("{metric}{{"))).count();
    assert_eq!(series("ranlab_kpi_mac_dl_aggr_tbs_total"), 15);
    assert_eq!(series("ranlab_kpi_mac_dl_bler"), 15);
    assert_eq!(series("ranlab_kpi_mac_ul_mcs1"), 0);
    assert_eq!(value(&text, "ranlab_kpi_series"), Some("60"));
}

#[test]
fn each_series_appears_once() {
    let handle = monitor(1, 2);
    let config = MonitorConfig { models: vec![&Mac, &Mac], period_ms: 1_000 };
    let (_, twice) = Monitor::new(config).unwrap();
    for index in [0, 1] {
        for ((node, _), report) in std::mem::take(&mut lock(&monitor(1, 2).0).latest) {
            lock(&twice.0).latest.insert((node, index), report);
        }
    }
    let of = |monitor: MonitorHandle| KpiExport { monitor, series_max: SERIES_MAX }.text(at(101));
    assert_eq!(of(twice), of(handle));
}

#[test]
fn values_of_a_node_that_stopped_reporting_are_not_exported() {
    let export = KpiExport { monitor: monitor(1, 1), series_max: SERIES_MAX };
    assert!(export.text(at(130)).contains("ranlab_kpi_mac_"));
    assert!(!export.text(at(131)).contains("ranlab_kpi_mac_"));
}

#[test]
fn report_is_decoded_once_for_all_readers() {
    let monitor = monitor(1, 1);
    let table = |monitor: &MonitorHandle| monitor.snapshot()[0].reports[0].1.clone();
    assert!(Arc::ptr_eq(&table(&monitor), &table(&monitor)));
}

#[test]
fn influx_lines_have_tags_fields_and_nanoseconds() {
    let monitor = monitor(1, 1);
    let snapshot = monitor.snapshot();
    let (stats, table) = &snapshot[0].reports[0];
    let mut out = String::new();
    lines(&mut out, "gnb 505.01 0", stats.model.name(), &stats.model.columns(), table.rows(), Some(7));
    assert!(out.starts_with("ranlab_mac,node=gnb\\ 505.01\\ 0,ue=1 dl_aggr_tbs=1,"), "{out}");
    assert!(out.contains(",dl_bler=0.25,") && out.ends_with(" 7000\n"), "{out}");
    assert_eq!(out.lines().count(), 1);
}
