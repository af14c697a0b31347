//! Metrics of a live status page.
use ranlab_machine::metrics::Text;

/// Appends the metrics of a live status page: its latest sample and its listener counters.
pub(super) fn of_board(
    latest: &std::collections::BTreeMap<String, f64>,
    pages: usize,
    dropped: u64,
) -> String {
    let mut out = Text(String::new());
    let one = |value| [(String::new(), value)];
    out.metric("ranlab_page_listeners", "Pages connected now.", "gauge", one(pages as u64));
    let help = "Lines that pages missed because they did not read in time.";
    out.metric("ranlab_page_lines_dropped_total", help, "counter", one(dropped));
    let help = "HTTP connections closed because their address had too many.";
    let refused = crate::listen::refused_connections();
    out.metric("ranlab_http_connections_refused_total", help, "counter", one(refused));
    // Prometheus adds its own timestamp.
    for (name, value) in latest.iter().filter(|(name, _)| *name != "t") {
        let help = format!("Latest value of `{name}` in the figures of the page.");
        out.metric(&format!("ranlab_live_{name}"), &help, "gauge", [(String::new(), *value)]);
    }
    out.0
}
