//! Activity of all nodes and xApps of a RIC, for live pages. Changes are sent about once per second through a [`Feed`].
//! Without listeners nothing is computed, and all listeners share one computation.
//!
//! A line is a JSON object. `begin` starts a complete list, and `totals` and `xapps` are totals. Nodes are rows in
//! `new` (`[key, id, kind, models, peer]`), `set` (`[key, state, rate, subscriptions, requests, queued, delay]`) and
//! `gone` (`[key]`).
use super::{Feed, FeedReceiver, Filter, Line};
use crate::clock::WallClock;
use ranlab_e2::Time;
use ranlab_e2::ric::{Hint, NodeInfo, NodeLoad, Ric, RicCounters, XappLoad};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::by_oid;
use ranlab_machine::feed::LineScope;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Interval between updates.
pub const LOOK: Duration = Duration::from_secs(1);
/// Maximum number of nodes listed individually, lowest ids first; further ones count in the totals only. The complete
/// list of this number of nodes fits a listener's queue, even if each node offers many models.
pub const NODES_MAX: usize = 10_000;
/// Maximum number of xApps listed individually.
pub const XAPPS_MAX: usize = 256;
/// Maximum number of hints, latest first.
const HINTS_MAX: usize = 20;
/// Maximum number of nodes per line.
const ROWS_MAX: usize = 1_000;
/// Weight of a new sample in the smoothed rate. The rate is smoothed, because a sample of one second is short for a
/// node that reports once per second.
const NEW_RATE: f64 = 0.4;
/// Minimum relative change of a rate that is reported.
const TELLING: f64 = 0.05;

/// State of a node: `away` (disconnected), `idle` (no subscriptions), `reporting`, or `silent`
/// (subscriptions, but no reports).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Away,
    Idle,
    Reporting,
    Silent,
}

#[derive(Debug, Clone, PartialEq)]
struct NodeSummary {
    state: State,
    rate: f64,
    subscriptions: usize,
    requests: usize,
    queued: usize,
    delay_us: Option<i64>,
}

#[derive(Debug)]
struct NodeEntry {
    key: u32,
    info: Arc<NodeInfo>,
    indications: u64,
    rate: Option<f64>,
    told: Option<NodeSummary>,
    looked: u64,
}

/// Maximum clock error: a report may carry a timestamp this far in the future. The delay of a report is unknown if its
/// timestamp is later, or more than an hour old.
const CLOCK_ERROR_US: i64 = 5_000;
const DELAY_MAX_US: i64 = 3_600_000_000;

/// Counters of an xApp at the last update.
#[derive(Debug, Clone, Copy, Default)]
struct XappTotals {
    taken: u64,
    dropped: u64,
}

#[derive(Debug, Default)]
struct OverviewState {
    looks: u64,
    at: Option<Time>,
    next_key: u32,
    nodes: BTreeMap<GlobalE2NodeId, NodeEntry>,
    xapps: BTreeMap<String, XappTotals>,
    counters: Option<RicCounters>,
    totals: Json,
    xapps_told: Json,
    hints: Json,
    /// Longest report delay per node since the last update, for nodes with subscriptions of the console.
    delays: BTreeMap<GlobalE2NodeId, i64>,
    clock: WallClock,
}

/// Activity of all nodes and xApps; clones share state.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    seen: Arc<Mutex<OverviewState>>,
    feed: Feed,
}

/// Lines of one update, each with at most [`ROWS_MAX`] rows.
#[derive(Default)]
struct Page {
    new: Vec<String>,
    set: Vec<String>,
    gone: Vec<u32>,
}

impl Overview {
    /// Adds a listener that first receives the complete list, then changes; `None` if there are too many.
    pub fn listen(&self, now: Time, ric: &Ric) -> Option<FeedReceiver> {
        if self.watched() {
            self.refresh(now, ric);
        } else {
            // Rates from before the first listener would include a time without updates.
            let mut seen = crate::lock(&self.seen);
            seen.forget();
            seen.refresh(now, ric);
        }
        let lines = crate::lock(&self.seen).all().into_iter().map(|line| Line::Indication(line.into()));
        self.feed.listen_after(now, Filter::default(), lines)
    }

    /// Returns whether there is a listener.
    pub fn watched(&self) -> bool {
        self.feed.counts().listeners > 0
    }

    /// Returns the counters of the listeners.
    pub fn counts(&self) -> super::FeedCounts {
        self.feed.counts()
    }

    /// Computes and sends changes, if there is a listener.
    pub fn refresh(&self, now: Time, ric: &Ric) {
        if !self.watched() {
            let mut seen = crate::lock(&self.seen);
            if seen.looks > 0 {
                seen.forget();
            }
            return;
        }
        let mut seen = crate::lock(&self.seen);
        let page = seen.refresh(now, ric);
        let lines = seen.lines(false, page);
        drop(seen);
        for line in lines {
            let about = LineScope { node: "", sm: None, subscription: 0 };
            self.feed.publish(now, &about, || Line::Indication(line.into()));
        }
    }

    /// Sets the Unix time that corresponds to `now` of the machine's clock.
    pub fn set_clock(&self, now: Time, unix: Duration) {
        crate::lock(&self.seen).clock.set(now, unix);
    }

    /// Converts `now` to microseconds since the Unix epoch; `None` before the clock is set.
    pub(super) fn wall_us(&self, now: Time) -> Option<i64> {
        crate::lock(&self.seen).clock.us(now)
    }

    /// Returns the age of a report on arrival, in microseconds, by the node's clock and the local clock;
    /// `None` before the clock is set.
    pub(super) fn delayed(&self, now: Time, node: &GlobalE2NodeId, tstamp_us: i64) -> Option<i64> {
        let mut seen = crate::lock(&self.seen);
        let delay = seen.clock.us(now)?.checked_sub(tstamp_us)?;
        if !(-CLOCK_ERROR_US..=DELAY_MAX_US).contains(&delay) {
            return None;
        }
        // Delays are stored only if there are updates, which remove them.
        if seen.looks > 0 {
            let most = seen.delays.entry(*node).or_insert(delay);
            *most = delay.max(*most);
        }
        Some(delay)
    }
}

impl OverviewState {
    /// Resets everything except the clock.
    fn forget(&mut self) {
        *self = Self { clock: self.clock, ..Self::default() };
    }

    fn refresh(&mut self, now: Time, ric: &Ric) -> Page {
        let passed = self.at.map(|at| now.since(at).as_secs_f64()).filter(|passed| *passed > 0.0);
        self.at = Some(now);
        self.looks += 1;
        let mut page = Page::default();
        let mut count = 0usize;
        let mut connected = 0usize;
        let mut silent = 0;
        let mut reporting = 0;
        let mut queued = 0;
        for load in ric.node_loads(now) {
            count += 1;
            connected += usize::from(load.info.connected);
            queued += load.queued_bytes;
            match state(&load) {
                State::Silent => silent += 1,
                State::Reporting => reporting += 1,
                State::Away | State::Idle => {}
            }
            if count <= NODES_MAX {
                self.look_at(&load, passed, &mut page);
            }
        }
        let looks = self.looks;
        self.nodes.retain(|_, shown| {
            let stays = shown.looked == looks;
            page.gone.extend((!stays).then_some(shown.key));
            stays
        });
        self.delays.clear();
        let counters = ric.counters();
        let before = self.counters.replace(counters).unwrap_or(counters);
        let rate = |of: fn(&RicCounters) -> u64| per_s(of(&counters).saturating_sub(of(&before)), passed);
        let (xapps, xapp_bytes) = self.look_at_xapps(ric, passed);
        self.xapps_told = xapps;
        self.totals = json!({
            "t_ms": now.as_nanos() / 1_000_000,
            "nodes": count, "connected": connected, "silent": silent, "reporting": reporting,
            "xapps": ric.xapp_loads().count(),
            "indications_per_s": rate(|it| it.indications),
            "forwarded_per_s": rate(|it| it.indications_forwarded),
            "dropped_per_s": rate(|it| it.indications_dropped),
            "dropped": counters.indications_dropped,
            "controls": counters.controls,
            "queued_bytes": queued + xapp_bytes,
        });
        self.hints = ric.hints().iter().rev().take(HINTS_MAX).map(hint).collect();
        page
    }

    fn look_at(&mut self, load: &NodeLoad, passed: Option<f64>, page: &mut Page) {
        let next_key = &mut self.next_key;
        let shown = self.nodes.entry(load.info.id).or_insert_with(|| {
            *next_key += 1;
            let rate = None;
            let told = None;
            let looked = 0;
            NodeEntry {
                key: *next_key,
                info: load.info.clone(),
                indications: load.indications,
                rate,
                told,
                looked,
            }
        });
        if shown.looked == 0 || !Arc::ptr_eq(&shown.info, &load.info) {
            shown.info = load.info.clone();
            page.new.push(introduced(shown.key, &load.info));
        }
        shown.looked = self.looks;
        let grown = load.indications.saturating_sub(shown.indications);
        shown.indications = load.indications;
        if let Some(now) = per_s(grown, passed) {
            shown.rate = Some(
                shown.rate.filter(|rate| *rate > 0.0).map_or(now, |rate| rate + (now - rate) * NEW_RATE),
            );
        }
        let summary = NodeSummary {
            state: state(load),
            rate: rounded(shown.rate.unwrap_or(0.0)),
            subscriptions: load.subscriptions,
            requests: load.requests,
            queued: load.queued_bytes,
            delay_us: self.delays.get(&load.info.id).copied(),
        };
        if shown.told.as_ref().is_none_or(|before| is_news(before, &summary)) {
            page.set.push(row(shown.key, &summary));
            shown.told = Some(summary);
        }
    }

    /// Returns the individually listed xApps, and the number of bytes queued for all xApps.
    fn look_at_xapps(&mut self, ric: &Ric, passed: Option<f64>) -> (Json, usize) {
        let before = std::mem::take(&mut self.xapps);
        let mut queued = 0;
        let mut rows = Vec::new();
        for load in ric.xapp_loads() {
            queued += load.queued_bytes;
            if rows.len() >= XAPPS_MAX {
                continue;
            }
            // An id may be reused by another xApp; the connection identifies it.
            let life = format!("{} {} {}", load.info.id, load.info.peer, load.info.since.as_nanos());
            let now = taken(&load);
            let old = before.get(&life).copied().unwrap_or(now);
            rows.push(json!({
                "id": load.info.id.to_string(), "peer": &*load.info.peer, "tenant": load.info.tenant.name(),
                "subscriptions": load.subscriptions, "requests": load.requests,
                "taken_per_s": per_s(now.taken.saturating_sub(old.taken), passed),
                "dropped_per_s": per_s(now.dropped.saturating_sub(old.dropped), passed),
                "dropped": now.dropped, "queued_bytes": load.queued_bytes,
            }));
            self.xapps.insert(life, now);
        }
        (rows.into(), queued)
    }

    /// Returns the complete list for a new listener.
    fn all(&self) -> Vec<String> {
        let new = self.nodes.values().map(|shown| introduced(shown.key, &shown.info)).collect();
        let set =
            self.nodes.values().filter_map(|shown| Some(row(shown.key, shown.told.as_ref()?))).collect();
        self.lines(true, Page { new, set, gone: Vec::new() })
    }

    fn lines(&self, begin: bool, page: Page) -> Vec<String> {
        let Page { new, set, gone } = page;
        let count = new.len().max(set.len()).max(gone.len()).div_ceil(ROWS_MAX).max(1);
        let part = |n: usize| {
            let first = n == 0;
            let mut line = format!("{{\"begin\":{}", begin && first);
            // Writing to a `String` cannot fail.
            if first {
                let Self { totals, xapps_told, hints, .. } = self;
                let _ = write!(line, ",\"totals\":{totals},\"xapps\":{xapps_told},\"hints\":{hints}");
            }
            for (name, rows) in [("new", chunk(&new, n).join(",")), ("set", chunk(&set, n).join(","))] {
                let _ = write!(line, ",\"{name}\":[{rows}]");
            }
            let gone: Vec<String> = chunk(&gone, n).iter().map(u32::to_string).collect();
            let _ = write!(line, ",\"gone\":[{}]}}", gone.join(","));
            line
        };
        (0..count).map(part).collect()
    }
}

fn chunk<T>(rows: &[T], n: usize) -> &[T] {
    rows.chunks(ROWS_MAX).nth(n).unwrap_or_default()
}

fn state(load: &NodeLoad) -> State {
    match load {
        NodeLoad { info, .. } if !info.connected => State::Away,
        NodeLoad { subscriptions: 0, .. } => State::Idle,
        NodeLoad { silent: 0, .. } => State::Reporting,
        _ => State::Silent,
    }
}

fn introduced(key: u32, info: &NodeInfo) -> String {
    let models = info.functions.iter().filter_map(|function| by_oid(function.oid.as_deref()?));
    let mut names: Vec<&str> = Vec::new();
    for model in models {
        // A node may offer a model several times; its name is listed once.
        if !names.contains(&model.name()) {
            names.push(model.name());
        }
    }
    json!([key, info.id.to_string(), info.kind.name(), names.join(","), &*info.peer]).to_string()
}

fn row(key: u32, summary: &NodeSummary) -> String {
    let NodeSummary { state, rate, subscriptions, requests, queued, delay_us } = summary;
    let delay = delay_us.map_or_else(|| "null".to_owned(), |delay| delay.to_string());
    format!("[{key},{},{rate},{subscriptions},{requests},{queued},{delay}]", *state as u8)
}

/// Returns whether a node has changed. Changes of the rate up to [`TELLING`] do not count.
fn is_news(before: &NodeSummary, now: &NodeSummary) -> bool {
    let rate =
        (now.rate - before.rate).abs() > before.rate * TELLING || (now.rate == 0.0) != (before.rate == 0.0);
    rate || NodeSummary { rate: 0.0, ..before.clone() } != NodeSummary { rate: 0.0, ..now.clone() }
}

/// Rounds a rate to three significant digits. Rates below 0.01 become 0.
fn rounded(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.max(0.1).log10().floor() - 2.0);
    let rounded = (rate / unit).round() * unit;
    // The small rest of a decaying average counts as zero.
    if rounded < 0.01 { 0.0 } else { (rounded * 1e3).round() / 1e3 }
}

/// Returns the growth of a counter per second; `None` if no time has passed.
fn per_s(grown: u64, passed: Option<f64>) -> Option<f64> {
    passed.map(|passed| (grown as f64 / passed * 10.0).round() / 10.0)
}

fn taken(load: &XappLoad) -> XappTotals {
    let outbox = load.outbox;
    XappTotals { taken: outbox.indications, dropped: outbox.dropped_full + outbox.dropped_old }
}

fn hint(hint: &Hint) -> Json {
    json!({
        "node": hint.node.map(|node| node.to_string()),
        "peer": &*hint.peer, "hint": hint.sentence, "times": hint.times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_nodes_are_split_into_bounded_lines() {
        let rows = |n: usize| (0..n).map(|n| format!("[{n}]")).collect::<Vec<_>>();
        let page = Page { new: rows(2_500), set: rows(1_200), gone: vec![7] };
        let lines: Vec<Json> = OverviewState::default()
            .lines(true, page)
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let lens =
            |name: &str| lines.iter().map(|line| line[name].as_array().unwrap().len()).collect::<Vec<_>>();
        assert_eq!(
            (lens("new"), lens("set"), lens("gone")),
            (vec![1_000, 1_000, 500], vec![1_000, 200, 0], vec![1, 0, 0])
        );
        assert_eq!(lines.iter().map(|line| line["begin"] == true).collect::<Vec<_>>(), [true, false, false]);
        assert!(lines[1]["totals"].is_null() && lines[2]["new"][499] == json!([2_499]));
        assert_eq!(
            OverviewState::default().lines(false, Page::default()).len(),
            1,
            "a line must be sent even if it has only totals"
        );
    }

    #[test]
    fn rate_is_reported_if_it_starts_ends_or_changes_by_five_percent() {
        let summary = |rate| NodeSummary {
            state: State::Reporting,
            rate,
            subscriptions: 1,
            requests: 0,
            queued: 0,
            delay_us: None,
        };
        for (before, now, news) in [
            (100.0, 104.0, false),
            (100.0, 94.0, true),
            (0.0, 0.3, true),
            (0.3, 0.0, true),
            (0.0, 0.0, false),
        ] {
            assert_eq!(is_news(&summary(before), &summary(now)), news, "{before} {now}");
        }
        assert!(is_news(&summary(5.0), &NodeSummary { queued: 1, ..summary(5.0) }));
        assert_eq!([0.0, 0.004, 43.333, 1234.5, 0.1234].map(rounded), [0.0, 0.0, 43.3, 1230.0, 0.123]);
    }
}
