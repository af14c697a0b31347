//! Publication of the monitor's reports to other programs: one JSON object per report, under its own
//! subject.
//!
//! The RIC's thread copies a report once; the publisher decodes it on its own thread. The RIC never waits for
//! a slow publisher: reports without room are dropped and counted, and receivers see a gap in `sequence`.
use super::Latest;
use super::northbound::row;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::Model;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Maximum number of queued reports.
pub(super) const REPORTS_MAX: usize = 4_096;
/// Maximum number of queued bytes; beyond either limit, further reports are dropped.
pub(super) const BYTES_MAX: usize = 16 << 20;

/// Report to be published.
#[derive(Debug)]
pub(super) struct QueuedReport {
    pub(super) node: GlobalE2NodeId,
    pub(super) model: &'static dyn Model,
    /// Number of reports of this model sent by the node so far, including this one.
    pub(super) sequence: u64,
    pub(super) tstamp_us: Option<i64>,
    pub(super) latest: Arc<Latest>,
}

impl QueuedReport {
    fn bytes(&self) -> usize {
        self.latest.bytes()
    }

    fn message(&self) -> Message {
        let model = self.model;
        let table = self.latest.table(model);
        let columns = model.columns();
        let rows: Json = table.rows().map(|(key, values)| row(&columns, key, values)).collect();
        let node = self.node.to_string();
        let subject = format!("ranlab.kpi.{}.{}", token(model.name()), token(&node));
        let json = json!({
            "node": node, "model": model.name(), "sequence": self.sequence, "tstamp_us": self.tstamp_us, "rows": rows,
        });
        Message { subject, json: json.to_string().into() }
    }

    /// Appends the report in InfluxDB line protocol.
    fn lines(&self, out: &mut String) {
        let columns = self.model.columns();
        let table = self.latest.table(self.model);
        super::kpi::lines(
            out,
            &self.node.to_string(),
            self.model.name(),
            &columns,
            table.rows(),
            self.tstamp_us,
        );
    }
}

/// Converts a name to a subject token: NATS and Redis wildcards and the token separator become hyphens.
fn token(name: &str) -> String {
    let of = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    name.replace(' ', "_").chars().map(of).collect()
}

/// Message to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `ranlab.kpi.MODEL.NODE`, e.g. `ranlab.kpi.mac.gnb_505-01_5`.
    pub subject: String,
    /// `{"node": "gnb 505.01 5", "model": "mac", "sequence": 7, "tstamp_us": ..., "rows": [{"rnti": 1, ...}, ...]}`;
    /// units are those of the model's columns (`ranlab xapp monitor` lists them).
    pub json: Bytes,
}

/// Counters of published reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublicationCounts {
    /// Reports sent to the server.
    pub published: u64,
    /// Reports dropped because the queue was full.
    pub dropped: u64,
    /// Reports not accepted by the server: it was unreachable, or they exceeded its size limit.
    pub refused: u64,
}

#[derive(Debug, Default)]
struct Counts {
    published: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    waiting: AtomicUsize,
}

/// Read access to the counters.
#[derive(Debug, Clone, Default)]
pub struct PublicationHandle(Arc<Counts>);

impl PublicationHandle {
    /// Returns the counters.
    pub fn counts(&self) -> PublicationCounts {
        let Counts { published, dropped, refused, .. } = &*self.0;
        PublicationCounts {
            published: published.load(Relaxed),
            dropped: dropped.load(Relaxed),
            refused: refused.load(Relaxed),
        }
    }

    /// Counts one message as accepted or refused by the server.
    pub fn count_result(&self, taken: bool) {
        self.count(taken, 1);
    }

    /// Counts reports as accepted or refused by the server.
    pub fn count(&self, taken: bool, reports: u64) {
        let count = if taken { &self.0.published } else { &self.0.refused };
        count.fetch_add(reports, Relaxed);
    }
}

/// Sending side, held by the monitor.
#[derive(Debug)]
pub(super) struct Publication {
    reports: SyncSender<QueuedReport>,
    counts: Arc<Counts>,
}

impl Publication {
    pub(super) fn new() -> (Self, Messages) {
        let (sender, reports) = sync_channel(REPORTS_MAX);
        let counts = Arc::<Counts>::default();
        (Self { reports: sender, counts: counts.clone() }, Messages { reports, counts })
    }

    /// Queues a report without blocking.
    pub(super) fn offer(&self, report: QueuedReport) {
        let bytes = report.bytes();
        let room = self.counts.waiting.load(Relaxed).saturating_add(bytes) <= BYTES_MAX;
        // The bytes are counted before the receiver can take the report.
        self.counts.waiting.fetch_add(bytes, Relaxed);
        if !room || self.reports.try_send(report).is_err() {
            self.counts.waiting.fetch_sub(bytes, Relaxed);
            self.counts.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// Receiving side: messages in the order of their reports, decoded when taken. Iteration waits for the next
/// message and ends with the monitor.
#[derive(Debug)]
pub struct Messages {
    reports: Receiver<QueuedReport>,
    counts: Arc<Counts>,
}

impl Messages {
    /// Returns the handle through which the publisher counts accepted and refused messages.
    pub fn handle(&self) -> PublicationHandle {
        PublicationHandle(self.counts.clone())
    }

    /// Returns the next reports in InfluxDB line protocol, and their number. Waits for one report, then takes
    /// up to `most` that are queued or arrive within `patience`; `None` at the end.
    // Publication waits, so it needs a real clock; it is not used in virtual time.
    #[allow(clippy::disallowed_methods)]
    pub fn next_lines(&self, most: u64, patience: Duration) -> Option<(String, u64)> {
        let mut lines = String::new();
        let mut reports = 0;
        let end = Instant::now() + patience;
        let mut next = self.reports.recv().ok();
        while let Some(report) = next {
            self.counts.waiting.fetch_sub(report.bytes(), Relaxed);
            report.lines(&mut lines);
            reports += 1;
            let left = end.saturating_duration_since(Instant::now());
            next = if reports < most { self.reports.recv_timeout(left).ok() } else { None };
        }
        (reports > 0).then_some((lines, reports))
    }
}

impl Iterator for Messages {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        let report = self.reports.recv().ok()?;
        self.counts.waiting.fetch_sub(report.bytes(), Relaxed);
        Some(report.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_e2_codec::e2sm::mac::Mac;

    fn report(sequence: u64, bytes: usize) -> QueuedReport {
        let node = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32);
        let payload = vec![0; bytes];
        let latest = Latest { payload, ..Latest::default() };
        QueuedReport { node, model: &Mac, sequence, tstamp_us: None, latest: Arc::new(latest) }
    }

    #[test]
    fn reports_beyond_queue_limit_are_dropped_and_counted() {
        let (publication, mut messages) = Publication::new();
        for sequence in 0..REPORTS_MAX as u64 + 3 {
            publication.offer(report(sequence, 10));
        }
        let handle = messages.handle();
        assert_eq!(handle.counts().dropped, 3);
        assert!(messages.next().is_some(), "the queue must keep the oldest reports");
        publication.offer(report(9_000, 10));
        assert_eq!(handle.counts().dropped, 3, "the queue must accept a report after one was taken");
        drop(publication);
        assert_eq!(
            messages.by_ref().count(),
            REPORTS_MAX,
            "the stream must end after the queued reports when the monitor is dropped"
        );
        assert_eq!(handle.0.waiting.load(Relaxed), 0);
    }

    #[test]
    fn queued_bytes_are_bounded() {
        let (publication, messages) = Publication::new();
        for sequence in 0..20 {
            publication.offer(report(sequence, BYTES_MAX / 16));
        }
        assert_eq!(messages.handle().counts().dropped, 4);
    }

    #[test]
    fn nats_subject_has_four_tokens_for_any_node_name() {
        let subject = report(1, 0).message().subject;
        assert_eq!(subject, "ranlab.kpi.mac.gnb_505-01_5");
        assert_eq!(token("a.b*c>d e"), "a-b-c-d_e");
    }
}
