//! Messages, bytes and packets between a controller and its peers, per direction as seen by the controller.
//!
//! Messages are protocol messages. Bytes are those of the connections, including message framing. Packets are
//! TCP segments from the kernel's counters for these connections. Published rates do not always distinguish
//! the three.

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Metric, MetricKind};

use crate::worker::Report;

/// Quantities counted per direction: suffix of the name, unit, and description.
const COUNTED: [(&str, &str, &str); 4] = [
    ("messages_per_s", "1/s", "protocol messages"),
    ("kbps", "kbit/s", "bytes of the connections: messages with their 4-byte lengths, no headers below"),
    ("packets_per_s", "1/s", "TCP segments, pure acknowledgements included"),
    ("data_packets_per_s", "1/s", "TCP segments that carried data"),
];

/// Returns the metrics of an interface (`e2`, `e42`).
pub fn metrics(interface: &str, peers: &str) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (direction, way) in [("rx", "to the controller from"), ("tx", "from the controller to")] {
        metrics.extend(COUNTED[..2].iter().map(|(name, unit, what)| {
            let comment = format!("{what}, {way} {peers}");
            let name = format!("{interface}_{direction}_{name}");
            Metric::new(&name, unit, MetricKind::Scalar, Better::Neither, &comment)
        }));
    }
    metrics.extend(packets(&format!("{interface}_"), peers));
    metrics
}

/// Records the counters of the peers of an interface. Sockets without packet counters are omitted.
pub fn record(recorder: &mut Recorder, interface: &str, peers: &Report) {
    let seconds = peers.wall_s.max(1e-3);
    let mut scalar = |direction: &str, counted: usize, value: f64| {
        let (name, _, _) = COUNTED[counted];
        recorder.scalar(&format!("{interface}_{direction}_{name}"), value / seconds);
    };
    // The controller receives the messages that a peer sends.
    for (direction, name) in [("rx", "messages_sent"), ("tx", "messages_received")] {
        if let Some(messages) = peers.numbers.get(name) {
            scalar(direction, 0, *messages);
        }
    }
    let Some(wire) = peers.wire else { return };
    scalar("rx", 1, wire.sent_bytes as f64 * 8e-3);
    scalar("tx", 1, wire.received_bytes as f64 * 8e-3);
    record_packets(recorder, &format!("{interface}_"), peers);
}

/// Returns the metrics of [`record_packets`].
pub fn packets(prefix: &str, peers: &str) -> Vec<Metric> {
    let way = [("rx", "to the controller from"), ("tx", "from the controller to")];
    let of_way = |(direction, way)| {
        COUNTED[2..].iter().map(move |(name, unit, what)| {
            let comment = format!("{what}, {way} {peers}");
            Metric::new(
                &format!("{prefix}{direction}_{name}"),
                unit,
                MetricKind::Scalar,
                Better::Neither,
                &comment,
            )
        })
    };
    way.into_iter().flat_map(of_way).collect()
}

/// Records only packets, for a rig that counts messages and bytes itself.
pub fn record_packets(recorder: &mut Recorder, prefix: &str, peers: &Report) {
    let Some(wire) = peers.wire else { return };
    for (direction, packets, data) in [
        ("rx", wire.sent_packets, wire.sent_data_packets),
        ("tx", wire.received_packets, wire.received_data_packets),
    ] {
        for ((name, ..), count) in COUNTED[2..].iter().zip([packets, data]) {
            recorder.scalar(&format!("{prefix}{direction}_{name}"), count as f64 / peers.wall_s.max(1e-3));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_host::traffic::ProcessTraffic;

    #[test]
    fn messages_sent_by_peers_count_as_received_by_controller() {
        let wire = ProcessTraffic {
            connections: 2,
            sent_bytes: 1_000_000,
            received_bytes: 1_000,
            sent_packets: 900,
            received_packets: 500,
            sent_data_packets: 800,
            received_data_packets: 10,
            retransmits: 0,
        };
        let numbers = [("messages_sent", 100.0), ("messages_received", 10.0)];
        let numbers = numbers.map(|(name, value)| (name.to_owned(), value)).into();
        let report = Report { wall_s: 10.0, wire: Some(wire), numbers, ..Report::default() };
        let mut recorder = Recorder::default();
        record(&mut recorder, "e2", &report);
        let metrics = recorder.finish().metrics;
        assert_eq!((metrics["e2_rx_messages_per_s"], metrics["e2_tx_messages_per_s"]), (10.0, 1.0));
        assert_eq!((metrics["e2_rx_kbps"], metrics["e2_tx_kbps"]), (800.0, 0.8));
        assert_eq!((metrics["e2_rx_packets_per_s"], metrics["e2_tx_packets_per_s"]), (90.0, 50.0));
        assert_eq!((metrics["e2_rx_data_packets_per_s"], metrics["e2_tx_data_packets_per_s"]), (80.0, 1.0));
        let declared: Vec<String> =
            super::metrics("e2", "base stations").into_iter().map(|metric| metric.name).collect();
        assert!(metrics.keys().all(|name| declared.contains(name)) && declared.len() == metrics.len());
    }

    #[test]
    fn missing_packet_counters_are_omitted() {
        let mut recorder = Recorder::default();
        let numbers = [("messages_sent".to_owned(), 7.0)].into();
        record(&mut recorder, "e42", &Report { wall_s: 1.0, numbers, ..Report::default() });
        assert_eq!(
            recorder.finish().metrics.into_iter().collect::<Vec<_>>(),
            [("e42_rx_messages_per_s".to_owned(), 7.0)]
        );
    }
}
