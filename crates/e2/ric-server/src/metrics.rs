//! Counters of a RIC in Prometheus text format 0.0.4.
use ranlab_e2::ric::{
    ClusterSnapshot, ListenerProtocol, NodeSnapshot, RicCounters, RicSnapshot, SnapshotCounters,
};
use ranlab_machine::feed::FeedCounts;
use ranlab_machine::metrics::{Text, labels};
use ranlab_ric::console::RmrCounts;

/// Returns all metrics; `feeds` are the counters of the indication feed and of the overview feed.
pub fn text(snapshot: &RicSnapshot, feeds: &[FeedCounts; 2], rmr: &RmrCounts) -> String {
    let mut out = Text(String::new());
    states(&mut out, snapshot);
    for (name, help, value) in counted(&snapshot.counters) {
        out.metric(&format!("ranlab_ric_{name}_total"), help, "counter", [(String::new(), value)]);
    }
    per_node(&mut out, &snapshot.nodes);
    connections(&mut out, snapshot);
    cluster(&mut out, snapshot.cluster.as_ref());
    let one = |value| [(String::new(), value)];
    type ReadCounter = fn(&FeedCounts) -> u64;
    let of_feeds: [(&str, &str, &str, ReadCounter); 4] = [
        ("listeners", "Current number of listeners.", "gauge", |it| it.listeners as u64),
        ("lines_total", "Lines queued for listeners.", "counter", |it| it.lines),
        (
            "lines_dropped_total",
            "Lines that listeners missed because they did not read in time.",
            "counter",
            |it| it.dropped,
        ),
        ("listeners_let_go_total", "Listeners disconnected because they did not read.", "counter", |it| {
            it.let_go
        }),
    ];
    for (feed, counts) in ["feed", "overview"].into_iter().zip(feeds) {
        for (name, help, kind, of) in of_feeds {
            out.metric(&format!("ranlab_{feed}_{name}"), help, kind, one(of(counts)));
        }
    }
    out.metric(
        "ranlab_http_connections_refused_total",
        "HTTP connections closed because their address had too many connections.",
        "counter",
        one(ranlab_http::listen::refused_connections()),
    );
    let RmrCounts { sent, dropped, received, ignored, refused } = *rmr;
    for (name, help, value) in [
        ("sent", "RMR messages written to the sockets of xApps.", sent),
        (
            "dropped",
            "RMR messages dropped because the xApp did not read in time or was unreachable.",
            dropped,
        ),
        ("received", "RMR messages received.", received),
        ("ignored", "RMR messages received with an unsupported type.", ignored),
        ("refused", "RMR connections refused, or closed because of malformed data.", refused),
    ] {
        out.metric(&format!("ranlab_rmr_{name}_total"), help, "counter", one(value));
    }
    out.0
}

/// Returns the metrics of each RIC thread, main thread first; empty for a RIC with one thread.
pub fn threads(reports: &[ranlab_sdk::ThreadReport]) -> String {
    let mut out = Text(String::new());
    type ReadCounter = fn(&ranlab_sdk::ThreadReport) -> u64;
    let all: [(&str, &str, &str, ReadCounter); 11] = [
        ("links", "Connections served by the thread.", "gauge", |it| it.links as u64),
        ("alive", "Whether the thread accepts new connections.", "gauge", |it| u64::from(it.alive)),
        ("inward_bytes_total", "Bytes received from the thread's sockets.", "counter", |it| it.inward_bytes),
        ("outward_bytes_total", "Bytes written to the thread's sockets.", "counter", |it| it.outward_bytes),
        (
            "inward_full_total",
            "Times that a connection's queue to the main thread was full, so that it was not read.",
            "counter",
            |it| it.inward_full,
        ),
        (
            "outward_full_total",
            "Times that a connection's queue from the main thread was full, so that messages stayed in its outbox.",
            "counter",
            |it| it.outward_full,
        ),
        (
            "passed_total",
            "Indications forwarded from the thread's base stations to xApps without the main thread.",
            "counter",
            |it| it.passed,
        ),
        ("crossings_total", "Batches that the thread passed to the main thread.", "counter", |it| {
            it.crossings
        }),
        (
            "rests_total",
            "Times that reading from a base station was delayed by a millisecond because the xApps did not read.",
            "counter",
            |it| it.rests,
        ),
        ("moves_total", "Connections moved to the thread from another thread.", "counter", |it| it.moves),
        ("panics_total", "Connections that ended because their task panicked.", "counter", |it| it.panics),
    ];
    for (name, help, kind, of) in all.into_iter().filter(|_| !reports.is_empty()) {
        let samples = reports.iter().enumerate();
        let samples = samples.map(|(thread, it)| (labels(&[("thread", &thread.to_string())]), of(it)));
        out.metric(&format!("ranlab_thread_{name}"), help, kind, samples);
    }
    out.0
}

/// Returns the metrics of the shared store.
pub fn commons(counts: &crate::commons::CommonsCounts) -> String {
    let mut out = Text(String::new());
    for (name, help, value) in [
        ("published", "Messages published under topics.", counts.published),
        ("unheard", "Messages published to topics without listeners.", counts.unheard),
        ("missed", "Messages that listeners missed because they did not read in time.", counts.missed),
        ("untold", "Messages not forwarded to other RICs.", counts.untold),
    ] {
        out.metric(&format!("ranlab_topics_{name}_total"), help, "counter", [(String::new(), value)]);
    }
    out.0
}

/// Returns the metrics of published statistics.
pub fn published(counts: ranlab_ric::monitor::PublicationCounts) -> String {
    let mut out = Text(String::new());
    for (name, help, value) in [
        ("reports", "Reports sent to the server.", counts.published),
        ("dropped", "Reports dropped because the queue was full.", counts.dropped),
        (
            "refused",
            "Reports not accepted by the server: unreachable, or above its size limit.",
            counts.refused,
        ),
    ] {
        out.metric(&format!("ranlab_published_{name}_total"), help, "counter", [(String::new(), value)]);
    }
    out.0
}

/// Returns the metrics of hosted xApps.
pub fn hosted(xapps: &[ranlab_ric::hosting::Status]) -> String {
    use ranlab_ric::hosting::{Phase, Status};
    let mut out = Text(String::new());
    type ReadCounter = fn(&Status) -> u64;
    let all: [(&str, &str, &str, ReadCounter); 6] = [
        ("up", "Whether the xApp runs.", "gauge", |it| u64::from(it.phase == Phase::Running)),
        (
            "is_given_up",
            "Whether the xApp exited too often, so that only the operator can start it.",
            "gauge",
            |it| u64::from(it.phase == Phase::GivenUp),
        ),
        ("starts_total", "Process starts of the xApp.", "counter", |it| it.starts),
        ("ends_total", "Unexpected process exits of the xApp.", "counter", |it| it.ends),
        (
            "kills_total",
            "Times that the xApp was killed because it did not end after SIGTERM.",
            "counter",
            |it| it.kills,
        ),
        ("given_up_total", "Times that restarts of the xApp were given up.", "counter", |it| it.given_up),
    ];
    for (name, help, kind, of) in all.into_iter().filter(|_| !xapps.is_empty()) {
        let samples = xapps.iter().map(|it| (labels(&[("xapp", &it.name)]), of(it)));
        out.metric(&format!("ranlab_hosted_{name}"), help, kind, samples);
    }
    out.0
}

fn states(out: &mut Text, snapshot: &RicSnapshot) {
    let connected = snapshot.nodes.iter().filter(|node| node.info.connected).count();
    let complete = snapshot.rans.iter().filter(|ran| ran.complete).count();
    for (name, help, value) in [
        (
            "ranlab_nodes",
            "E2 nodes known: connected, or still stored after a disconnect.",
            snapshot.nodes.len(),
        ),
        ("ranlab_nodes_connected", "E2 nodes connected.", connected),
        ("ranlab_base_stations_complete", "Base stations whose E2 nodes are all connected.", complete),
        ("ranlab_xapps", "xApps set up.", snapshot.xapps.len()),
        ("ranlab_hints", "Stored hints on likely causes of faults.", snapshot.hints.len()),
    ] {
        out.metric(name, help, "gauge", [(String::new(), value as u64)]);
    }
}

/// Appends the metrics of a cluster member, or nothing for a RIC without a cluster.
fn cluster(out: &mut Text, cluster: Option<&ClusterSnapshot>) {
    let Some(ClusterSnapshot { reached, lawful, held, counters, snapshots }) = cluster else { return };
    let one = |value| [(String::new(), value)];
    for (name, help, value) in [
        ("ranlab_bus_connected", "Whether a server of the bus is connected.", u64::from(*reached)),
        (
            "ranlab_bus_lawful",
            "Whether the RIC is part of a quorum and accepts controls.",
            u64::from(*lawful),
        ),
        ("ranlab_bus_nodes_owned", "E2 nodes that this RIC owns.", *held as u64),
    ] {
        out.metric(name, help, "gauge", one(value));
    }
    for (name, help, value) in [
        ("unreached", "Failed attempts to connect to a server, and lost connections.", counters.unreached),
        (
            "fenced",
            "Times that the RIC was cut off from a quorum for longer than its lease.",
            counters.fenced,
        ),
        ("writes", "Writes requested from the bus.", counters.writes),
        ("writes_failed", "Writes that failed or got no response.", counters.writes_failed),
        ("watches", "Watches started.", counters.watches),
        ("admitted", "E2 nodes admitted by the directory.", counters.admitted),
        ("refused", "Setups refused by the directory.", counters.refused),
        ("revised", "E2 nodes taken over by another RIC.", counters.revised),
        ("closed", "E2 nodes disconnected because the quorum was missing for too long.", counters.closed),
    ] {
        out.metric(&format!("ranlab_bus_{name}_total"), help, "counter", one(value));
    }
    iapp_snapshots(out, snapshots);
}

/// Appends the counters of iApp state that was handed over.
fn iapp_snapshots(out: &mut Text, counted: &SnapshotCounters) {
    for (name, help, value) in [
        ("saved", "Snapshots of iApps written.", counted.saved),
        ("restored", "Snapshots restored to iApps.", counted.restored),
        ("failed", "Writes of snapshots that failed or got no response, and are repeated.", counted.failed),
        (
            "too_large",
            "Snapshots discarded because they exceed the size declared by their iApp.",
            counted.too_large,
        ),
        (
            "other_version",
            "Snapshots discarded because another version of the iApp wrote them.",
            counted.other_version,
        ),
        ("malformed", "Snapshots discarded because they were invalid.", counted.malformed),
        ("no_room", "Snapshots discarded because the store or this RIC had no room.", counted.no_room),
    ] {
        out.metric(&format!("ranlab_snapshots_{name}_total"), help, "counter", [(String::new(), value)]);
    }
}

fn per_node(out: &mut Text, nodes: &[NodeSnapshot]) {
    let each = |value: fn(&NodeSnapshot) -> u64| {
        nodes.iter().map(move |node| (labels(&[("node", &node.info.id.to_string())]), value(node)))
    };
    let connected = each(|node| u64::from(node.info.connected));
    out.metric("ranlab_node_connected", "Whether the E2 node is connected.", "gauge", connected);
    let subscriptions = each(|node| node.subscriptions.len() as u64);
    out.metric("ranlab_node_subscriptions", "Subscriptions at the E2 node.", "gauge", subscriptions);
    let requests = each(|node| node.requests as u64);
    out.metric("ranlab_node_requests", "Controls and queries pending at the E2 node.", "gauge", requests);
    let samples = nodes.iter().flat_map(|node| {
        let name = node.info.id.to_string();
        node.subscriptions.iter().map(move |s| {
            let request = format!("{}.{}", s.request_id.requestor, s.request_id.instance);
            let function = s.function.to_string();
            let of = labels(&[("node", &name), ("function", &function), ("request", &request)]);
            (of, s.indications)
        })
    });
    let help = "Indications of existing subscriptions.";
    out.metric("ranlab_subscription_indications_total", help, "counter", samples);
}

fn connections(out: &mut Text, snapshot: &RicSnapshot) {
    let each = |value: fn(&ranlab_e2::ric::ConnSnapshot) -> u64| {
        snapshot.connections.iter().map(move |conn| {
            let side = if conn.side == ListenerProtocol::E2 { "e2" } else { "e42" };
            (labels(&[("side", side), ("connection", &conn.id.0.to_string())]), value(conn))
        })
    };
    let help = "Bytes queued for the peer.";
    out.metric("ranlab_connection_queued_bytes", help, "gauge", each(|conn| conn.queued_bytes as u64));
    let help = "Indications dropped because the peer did not read in time.";
    let dropped = each(|conn| conn.outbox.dropped_full + conn.outbox.dropped_old);
    out.metric("ranlab_connection_indications_dropped_total", help, "counter", dropped);
}

/// Lists every counter of a RIC. The pattern is exhaustive, so a missing counter is a compile error.
#[rustfmt::skip]
fn counted(counters: &RicCounters) -> Vec<(&'static str, &'static str, u64)> {
    macro_rules! all {
        ($($name:ident $help:literal),+ $(,)?) => {{
            let RicCounters { $($name),+ } = *counters;
            vec![$((stringify!($name), $help, $name)),+]
        }};
    }
    all! {
        indications "Indications received for subscriptions.",
        indications_forwarded "Indications queued for xApps.",
        indications_to_iapps "Indications delivered to iApps.",
        indications_stray "Indications without a subscription at the RIC.",
        strays_deleted "Unknown subscriptions whose deletion was requested.",
        indications_early "Indications before a setup.",
        indications_dropped "Indications dropped because peers did not read in time.",
        controls "Controls sent.",
        controls_in_conflict "Controls refused because another xApp holds their parameters.",
        controls_overridden "Parameters taken over by an xApp with a higher priority.",
        queries "Queries sent.",
        answers_stray "Responses without a request.",
        setups "E2 setups accepted.",
        setups_refused "E2 setups refused.",
        nodes_lost "Connections of E2 nodes lost.",
        nodes_removed "E2 nodes removed.",
        xapp_setups "xApp setups accepted.",
        xapp_setups_refused "xApp setups refused.",
        xapps_gone "xApps gone.",
        nodes_not_listed "E2 nodes for which a node list had no room.",
        subscriptions "Subscriptions requested from E2 nodes.",
        subscriptions_merged "Subscriptions merged with an existing one.",
        subscriptions_refused "Subscriptions that the RIC refused.",
        subscriptions_failed "Subscriptions that E2 nodes refused or did not respond to.",
        subscriptions_restored "Subscriptions restored at E2 nodes that reconnected.",
        subscriptions_ended "Subscriptions that ended without a request of their owner.",
        subscription_retries "Requests for subscriptions repeated.",
        deletes_unanswered "Deletions without a response of the E2 node.",
        undecodable "Messages that could not be decoded.",
        misplaced "Messages that are not allowed in the state of their connection.",
        error_indications_received "Error indications received.",
        connections_refused "Connections refused because of the limit.",
        closed_for_faults "Connections closed because of protocol faults.",
        faults_hushed "Faults not logged because of the limit per host.",
        closed_for_size "Connections closed because of a PDU above the size limit.",
        closed_unread "Connections closed because the peer did not read.",
        handshakes_expired "Connections closed because no setup arrived in time.",
        requests_refused "Controls and queries refused because of limits.",
        requests_expired "Controls and queries without a response in time.",
        procedures_expired "Global procedures without a response in time.",
        iapp_steps_cut "Steps in which iApps exceeded the allowed work.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2::Time;
    use ranlab_e2::ric::directory::{DirectoryConfig, StoreEvent};
    use ranlab_e2::ric::{Ric, RicConfig};
    use std::collections::BTreeSet;

    /// Checks the format and the rules of `promtool check metrics`.
    fn lint(text: &str) {
        let mut described = BTreeSet::new();
        let mut typed = BTreeSet::new();
        let mut kinds = String::new();
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(described.insert(name) && help.ends_with('.'), "{line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(typed.insert(name) && described.contains(name), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(["counter", "gauge"].contains(&kind), "{line}");
                name.clone_into(&mut kinds);
            } else {
                let name = line.split(['{', ' ']).next().unwrap();
                assert_eq!(name, kinds, "the samples of a metric must follow its TYPE line");
                assert!(
                    name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                    "{line}"
                );
                assert!(line.rsplit_once(' ').unwrap().1.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert_eq!(described, typed);
        assert!(described.len() > 40);
    }

    #[test]
    fn every_metric_has_help_and_type_and_counters_end_in_total() {
        let ric = Ric::new(RicConfig::default());
        let text = text(
            &ric.snapshot(),
            &[FeedCounts { listeners: 1, lines: 2, dropped: 3, let_go: 4 }, FeedCounts::default()],
            &RmrCounts { sent: 5, ..RmrCounts::default() },
        );
        lint(&text);
        assert!(text.contains("\nranlab_feed_lines_dropped_total 3\n"), "{text}");
        assert!(text.contains("\nranlab_rmr_sent_total 5\n"), "{text}");
    }

    #[test]
    fn cluster_member_exports_bus_metrics() {
        let mut config = RicConfig::default();
        config.directory = Some(DirectoryConfig::new("a", 1).unwrap());
        let mut ric = Ric::new(config);
        let metrics_of =
            |ric: &Ric| text(&ric.snapshot(), &[FeedCounts::default(); 2], &RmrCounts::default());
        ric.bus(Time::ZERO, StoreEvent::Away { why: "no program listens".to_owned() });
        let away = metrics_of(&ric);
        lint(&away);
        assert!(away.contains("\nranlab_bus_connected 0\n"), "{away}");
        assert!(away.contains("\nranlab_bus_unreached_total 1\n"), "{away}");
        ric.bus(Time::ZERO, StoreEvent::There);
        assert!(metrics_of(&ric).contains("\nranlab_bus_connected 1\n"));
    }

    #[test]
    fn metric_labels_are_escaped() {
        assert_eq!(labels(&[("node", "a\"b\\c\nd"), ("e", "f")]), r#"{node="a\"b\\c\nd",e="f"}"#);
    }
}
