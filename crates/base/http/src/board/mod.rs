//! Live status page of a command-line verb. Server and page are the same for all verbs, and pages may connect
//! and disconnect at any time.
//!
//! | event | content |
//! |---|---|
//! | any name of [`StatusBoard::set`] | the current value; a new page receives the last one |
//! | any name of [`StatusBoard::place`] | `[[index, value], …]`: changed entries of a list; a new page receives all entries |
//! | any name of [`StatusBoard::add`] | `[value, …]`: entries added to a series; a new page receives the stored ones |
//! | `dropped`, `let_go` | the page reads too slowly and has to reload everything |
//!
//! The verb never waits for a page: lines go into the bounded queues of [`Feed`]. A large result such as a
//! report is a document, which is produced when a page requests it.
mod http;
mod metrics;

use bytes::Bytes;
use ranlab_machine::Time;
use ranlab_machine::feed::{Feed, FeedReceiver, Filter, Line, LineScope};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

pub use http::{Config, serve};

/// Maximum number of stored entries of a series; the oldest are dropped.
pub const ROW_MAX: usize = 900;
/// Maximum number of entries of a list. Further entries are not shown; the verb has to report that it omits them.
pub const LIST_MAX: usize = 2_000;
/// Maximum number of pending actions; further requests get status 503.
const WISHES_MAX: usize = 8;
/// Interval at which [`StatusBoard::farewell`] checks whether pages have disconnected.
const LOOK: Duration = Duration::from_millis(20);

/// Function that produces a document. It may take long.
type DocumentFn = Arc<dyn Fn() -> String + Send + Sync>;

/// Document and its version.
#[derive(Default)]
struct Document {
    version: u64,
    make: Option<DocumentFn>,
}

#[derive(Default)]
struct State {
    held: BTreeMap<&'static str, Bytes>,
    lists: BTreeMap<&'static str, BTreeMap<usize, String>>,
    rows: BTreeMap<&'static str, VecDeque<String>>,
    /// Actions available now.
    offered: Vec<&'static str>,
    wishes: VecDeque<&'static str>,
    document: Document,
}

#[derive(Default)]
struct Inner {
    feed: Feed,
    state: Mutex<State>,
    wished: Condvar,
    /// Cached text of the current document version.
    made: Mutex<(u64, Bytes)>,
}

/// State of a live status page; clones share state.
#[derive(Clone, Default)]
pub struct StatusBoard(Arc<Inner>);

impl std::fmt::Debug for StatusBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("feed", &self.0.feed.counts()).finish_non_exhaustive()
    }
}

/// The reason why an action was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActionRejected {
    /// The action is not available now.
    NotOffered,
    /// Too many actions are pending.
    Full,
}

impl StatusBoard {
    fn state(&self) -> MutexGuard<'_, State> {
        ranlab_machine::lock(&self.0.state)
    }

    /// Sets the current value of `event` and sends it to all pages.
    pub fn set(&self, event: &'static str, value: &impl Serialize) {
        let text = Bytes::from(json(value));
        let mut state = self.state();
        state.held.insert(event, text.clone());
        self.publish(event, || text);
    }

    /// Sets entry `at` of the list `event` and sends it; entries beyond [`LIST_MAX`] are ignored.
    pub fn place(&self, event: &'static str, at: usize, value: &impl Serialize) {
        if at >= LIST_MAX {
            return;
        }
        let entry = json(&(at, value));
        let mut state = self.state();
        let line = Bytes::from(format!("[{entry}]"));
        state.lists.entry(event).or_default().insert(at, entry);
        self.publish(event, || line);
    }

    /// Appends an entry to the series `event` and sends it.
    pub fn add(&self, event: &'static str, value: &impl Serialize) {
        let entry = json(value);
        let mut state = self.state();
        let line = Bytes::from(format!("[{entry}]"));
        let row = state.rows.entry(event).or_default();
        row.push_back(entry);
        if row.len() > ROW_MAX {
            row.pop_front();
        }
        self.publish(event, || line);
    }

    /// Sends a line. The caller holds the state lock, so that a page that connects at the same time receives
    /// it exactly once.
    fn publish(&self, event: &'static str, line: impl FnOnce() -> Bytes) {
        let about = LineScope { node: "", sm: None, subscription: 0 };
        self.0.feed.publish(ranlab_transport::now(), &about, || Line::Named(event, line()));
    }

    /// Sets the function that produces the document, and announces a new version with the event `document`.
    pub fn document(&self, make: impl Fn() -> String + Send + Sync + 'static) {
        self.state().document.make = Some(Arc::new(make));
        self.document_again();
    }

    /// Announces a new version of the document, produced by the same function.
    pub fn document_again(&self) {
        let version = {
            let mut state = self.state();
            state.document.version += 1;
            state.document.version
        };
        self.set("document", &serde_json::json!({ "version": version }));
    }

    /// Replaces the set of available actions; each can be requested once.
    pub fn offer(&self, actions: &[&'static str]) {
        let mut state = self.state();
        state.offered = actions.to_vec();
    }

    /// Waits up to `patience` for a requested action and returns it.
    pub fn wait_for_action(&self, patience: Duration) -> Option<&'static str> {
        let end = ranlab_transport::now() + patience;
        let mut state = self.state();
        loop {
            if let Some(wish) = state.wishes.pop_front() {
                return Some(wish);
            }
            let left = end.since(ranlab_transport::now());
            if left.is_zero() {
                return None;
            }
            // A poisoned mutex is used nevertheless: at most one statistic is incomplete, see `ranlab_machine::lock`.
            state = match self.0.wished.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Returns the number of connected pages.
    pub fn pages(&self) -> usize {
        self.0.feed.counts().listeners
    }

    /// Returns the number of lines that pages did not read in time.
    pub fn dropped(&self) -> u64 {
        self.0.feed.counts().dropped
    }

    /// Returns the numeric values of the newest entry of a series, by name.
    fn latest(&self, event: &str) -> BTreeMap<String, f64> {
        let entry = self.state().rows.get(event).and_then(|row| row.back().cloned()).unwrap_or_default();
        let values: BTreeMap<String, serde_json::Value> = serde_json::from_str(&entry).unwrap_or_default();
        values.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect()
    }

    /// Waits up to `patience` until all pages have fetched the newest document and disconnected; for use
    /// before exit.
    pub fn farewell(&self, patience: Duration) {
        let end = ranlab_transport::now() + patience;
        let mut state = self.state();
        while self.pages() > 0 && ranlab_transport::now() < end {
            // A wakeup by a requested action is ignored: the run has ended.
            state = match self.0.wished.wait_timeout(state, LOOK) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Connects a page, which first receives the current state; `None` if there are too many pages.
    fn listen(&self) -> Option<FeedReceiver> {
        let state = self.state();
        let joined = |all: Vec<&str>| Bytes::from(format!("[{}]", all.join(",")));
        let held = state.held.iter().map(|(event, text)| Line::Named(event, text.clone()));
        let lists = state
            .lists
            .iter()
            .map(|(event, list)| Line::Named(event, joined(list.values().map(String::as_str).collect())));
        let rows = state
            .rows
            .iter()
            .map(|(event, row)| Line::Named(event, joined(row.iter().map(String::as_str).collect())));
        let first: Vec<Line> = held.chain(lists).chain(rows).collect();
        self.0.feed.listen_after(Time::ZERO, Filter::default(), first)
    }

    /// Requests an action.
    fn ask(&self, action: &str) -> Result<(), ActionRejected> {
        let mut state = self.state();
        let at = state.offered.iter().position(|own| *own == action).ok_or(ActionRejected::NotOffered)?;
        if state.wishes.len() >= WISHES_MAX {
            return Err(ActionRejected::Full);
        }
        let wish = state.offered.remove(at);
        state.wishes.push_back(wish);
        self.0.wished.notify_all();
        Ok(())
    }

    /// Returns the newest document, if any. Concurrent requests wait for the same result.
    fn read(&self) -> Option<Bytes> {
        let mut made = ranlab_machine::lock(&self.0.made);
        let (version, make) = {
            let state = self.state();
            (state.document.version, state.document.make.clone()?)
        };
        if made.0 != version {
            *made = (version, Bytes::from(make()));
        }
        Some(made.1.clone())
    }
}

/// Serialises a value on one line; `null` if it cannot be serialised.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    fn received(listener: &mut FeedReceiver) -> Vec<(String, String)> {
        let mut all = Vec::new();
        while let Poll::Ready(Some(line)) = listener.poll_next(&mut Context::from_waker(Waker::noop())) {
            let Line::Named(event, data) = line else { panic!("{line:?}") };
            all.push((event.to_owned(), String::from_utf8(data.to_vec()).unwrap()));
        }
        all
    }

    #[test]
    fn late_page_receives_state_then_changes() {
        let board = StatusBoard::default();
        board.set("now", &1);
        board.set("now", &2);
        board.place("points", 1, &"b");
        board.place("points", 0, &"a");
        board.place("points", LIST_MAX, &"beyond");
        board.add("samples", &5);
        let mut page = board.listen().unwrap();
        let line = |event: &str, data: &str| (event.to_owned(), data.to_owned());
        let first = vec![line("now", "2"), line("points", "[[0,\"a\"],[1,\"b\"]]"), line("samples", "[5]")];
        assert_eq!(received(&mut page), first);
        board.place("points", 1, &"c");
        board.add("samples", &6);
        assert_eq!(received(&mut page), [line("points", "[[1,\"c\"]]"), line("samples", "[6]")]);
    }

    #[test]
    fn series_are_bounded() {
        let board = StatusBoard::default();
        (0..ROW_MAX + 3).for_each(|n| board.add("samples", &n));
        let mut page = board.listen().unwrap();
        let (_, row) = received(&mut page).pop().unwrap();
        let row: Vec<usize> = serde_json::from_str(&row).unwrap();
        assert_eq!((row.len(), row[0]), (ROW_MAX, 3));
    }

    #[test]
    fn offered_action_runs_once() {
        let board = StatusBoard::default();
        assert_eq!(board.ask("stop"), Err(ActionRejected::NotOffered));
        board.offer(&["stop"]);
        assert_eq!((board.ask("resume"), board.ask("stop")), (Err(ActionRejected::NotOffered), Ok(())));
        assert_eq!(board.ask("stop"), Err(ActionRejected::NotOffered));
        assert_eq!(board.wait_for_action(Duration::ZERO), Some("stop"));
        assert_eq!(board.wait_for_action(Duration::from_millis(1)), None);
    }

    #[test]
    fn document_is_produced_once_per_version_on_request() {
        let board = StatusBoard::default();
        let made = Arc::new(Mutex::new(0));
        assert_eq!(board.read(), None);
        for version in 1..3 {
            let count = made.clone();
            board.document(move || {
                *ranlab_machine::lock(&count) += 1;
                format!("version {version}")
            });
        }
        assert_eq!(*ranlab_machine::lock(&made), 0);
        assert_eq!((board.read(), board.read()), (Some("version 2".into()), Some("version 2".into())));
        assert_eq!(*ranlab_machine::lock(&made), 1);
        // Without pages, `farewell` returns at once.
        let begun = ranlab_transport::now();
        board.farewell(Duration::from_secs(20));
        assert!(ranlab_transport::now().since(begun) < Duration::from_secs(10));
    }
}
