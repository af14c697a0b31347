//! Live page of a load: requests, responses, packets sent and received per second, and latencies.
use std::sync::{Arc, Mutex, PoisonError};

use crate::load::{Counts, LoadError, LoadReport, Network, ProgressCounters, Summary};
use crate::{UpfLoad, UpfLoadComponent};
use ranlab_http::board::StatusBoard;
use serde_json::{Map, Value, json};

use ranlab_command::web::{CurrentValues, MACHINE, OverTime, Sampler, introduce, publish_finished};

const TIME: [OverTime; 5] = [
    OverTime {
        title: "Sessions per second",
        caption: "Completed: the session was established, given the base station's tunnel, and deleted (not deleted if sessions are to remain). Failed: a request was rejected or lost.",
        unit: "/s",
        lines: &[("started", "begun"), ("completed", "completed"), ("failed", "failed")],
    },
    OverTime {
        title: "Latency of requests",
        caption: "From the planned send time to the response. Each value covers the responses of one second.",
        unit: "us",
        lines: &[
            ("request_p50", "median"),
            ("request_p99", "99th percentile"),
            ("request_p999", "99.9th percentile"),
        ],
    },
    OverTime {
        title: "Packets per second",
        caption: "Uplink packets sent by base stations and received by the data network, and packets received by base stations.",
        unit: "/s",
        lines: &[
            ("uplink", "uplink sent"),
            ("uplink_seen", "uplink seen"),
            ("downlink_seen", "received by base stations"),
        ],
    },
    OverTime {
        title: "Delay of received packets",
        caption: "From the planned send time: round-trip delay of reflected packets, one-way delay of packets of the data network.",
        unit: "us",
        lines: &[
            ("packet_p50", "median"),
            ("packet_p99", "99th percentile"),
            ("packet_p999", "99.9th percentile"),
        ],
    },
    MACHINE,
];

/// Live page of a load.
pub(super) struct Page {
    board: StatusBoard,
    latest: Arc<Mutex<Counts>>,
    /// Whether the built-in data network counts packets.
    sees: bool,
    sampler: Sampler,
}

impl Page {
    /// Attaches a page to a load.
    pub(super) fn open(board: StatusBoard, load: UpfLoad, part: &UpfLoadComponent) -> (UpfLoad, Self) {
        let mode = format!("{:?}", part.mode).to_lowercase();
        introduce(&board, &format!("Load on a UPF: {mode}"), "Load", &[], &TIME, "");
        CurrentValues { phase: "running", words: "Running.".to_owned(), ..CurrentValues::default() }
            .publish(&board);
        let glance = Arc::new(ProgressCounters::default());
        let latest = Arc::new(Mutex::new(Counts::default()));
        let load = load.watched(Arc::clone(&glance));
        let shared = Arc::clone(&latest);
        let shared_board = board.clone();
        // Without the built-in data network, packets from the UPF are not counted.
        let sees = part.n6 != Network::None;
        let mut before: Option<(f64, Counts)> = None;
        let fill = move |sample: &mut Map<String, Value>| {
            let look = glance.read();
            let at = sample.get("t").and_then(Value::as_f64).unwrap_or_default();
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = look.counts;
            if let Some((earlier, counts)) = before.replace((at, look.counts)) {
                rates(sample, &look.counts, &counts, (at - earlier).max(1e-3));
            }
            if !sees {
                sample.remove("uplink_seen");
            }
            for (of, times) in [("request", &look.requests_us), ("packet", &look.packets_us)] {
                percentiles(sample, of, times.as_ref());
            }
            let now = CurrentValues {
                phase: "running",
                words: "Running.".to_owned(),
                tiles: tiles(&look.counts, sees),
                ..CurrentValues::default()
            };
            now.publish(&shared_board);
        };
        let sampler = Sampler::start(board.clone(), fill, |_| {});
        (load, Self { board, latest, sees, sampler })
    }

    /// Reports the end to connected pages.
    pub(super) fn end(self, report: Result<&LoadReport, &LoadError>) {
        drop(self.sampler);
        let words = match report {
            Ok(report) => format!(
                "Done: {} sessions completed, {} failed; {} unexplained requests or responses; the full report is printed in the terminal of this command.",
                report.control.completed, report.control.failed, report.unexplained
            ),
            Err(error) => format!("Ended early: {error}"),
        };
        let latest = *self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        publish_finished(&self.board, &words, tiles(&latest, self.sees));
    }
}

fn rates(sample: &mut Map<String, Value>, now: &Counts, then: &Counts, seconds: f64) {
    for (name, now, then) in [
        ("started", now.started, then.started),
        ("completed", now.completed, then.completed),
        ("failed", now.failed, then.failed),
        ("uplink", now.uplink, then.uplink),
        ("uplink_seen", now.uplink_seen, then.uplink_seen),
        ("downlink_seen", now.downlink_seen, then.downlink_seen),
    ] {
        sample.insert(name.to_owned(), json!(now.saturating_sub(then) as f64 / seconds));
    }
}

fn percentiles(sample: &mut Map<String, Value>, of: &str, times: Option<&Summary>) {
    if let Some(times) = times {
        for (name, us) in [("p50", times.p50), ("p99", times.p99), ("p999", times.p999)] {
            sample.insert(format!("{of}_{name}"), json!(us));
        }
    }
}

fn tiles(counts: &Counts, sees: bool) -> Vec<(String, String, String, bool)> {
    let tile = |name: &str, value: u64, note: &str, bad: bool| {
        (name.to_owned(), value.to_string(), note.to_owned(), bad)
    };
    let mut all = vec![
        tile("Sessions begun", counts.started, "", false),
        tile("Completed", counts.completed, "", false),
        tile("Failed", counts.failed, "", counts.failed > 0),
        tile("Responses", counts.answers, "", false),
        tile("Uplink sent", counts.uplink, "packets", false),
        tile("Uplink seen", counts.uplink_seen, "packets", false),
        tile("Received by base stations", counts.downlink_seen, "packets", false),
    ];
    all.retain(|(name, ..)| sees || name != "Uplink seen");
    all
}
