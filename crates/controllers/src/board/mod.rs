//! What a verb that runs for a while says of itself, for pages that may come and go: the same server and page whatever the verb.
//!
//! | event | what it tells |
//! |---|---|
//! | any name of [`Board::set`] | what holds now; whoever comes hears the last |
//! | any name of [`Board::place`] | `[[index, value], …]`: what has changed of a list; whoever comes hears all of it |
//! | any name of [`Board::add`] | `[value, …]`: what was added to a row; whoever comes hears what is remembered |
//! | `dropped`, `let_go` | the page reads too slowly: it asks for everything anew |
//!
//! The verb never waits for a page: lines go into the bounded queues of [`Feed`]. What is large and may be had at any time, a
//! report, is a document, made when somebody asks for it.
mod http;

use crate::console::{About, Feed, Filter, Line, Listener};
use bytes::Bytes;
use ranlab_e2::Time;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

pub use http::{Config, serve};

/// Entries of a row that are remembered; the oldest leave.
pub const ROW_MAX: usize = 900;
/// Entries of a list; further ones are left out, which the verb has to say.
pub const LIST_MAX: usize = 2_000;
/// What somebody wants done and nobody has taken up; beyond, the answer is 503.
const WISHES_MAX: usize = 8;
/// Between two looks whether pages have gone.
const LOOK: Duration = Duration::from_millis(20);

/// Makes a document; it may take its time.
type Make = Arc<dyn Fn() -> String + Send + Sync>;

/// A document.
#[derive(Default)]
struct Document {
    version: u64,
    make: Option<Make>,
}

#[derive(Default)]
struct State {
    held: BTreeMap<&'static str, Bytes>,
    lists: BTreeMap<&'static str, BTreeMap<usize, String>>,
    rows: BTreeMap<&'static str, VecDeque<String>>,
    /// What may be asked for now.
    offered: Vec<&'static str>,
    wishes: VecDeque<&'static str>,
    document: Document,
}

#[derive(Default)]
struct Inner {
    feed: Feed,
    state: Mutex<State>,
    wished: Condvar,
    /// The text of a version of the document: made once, whoever asks.
    made: Mutex<(u64, Bytes)>,
}

/// What is told; clones are the same board.
#[derive(Clone, Default)]
pub struct Board(Arc<Inner>);

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("feed", &self.0.feed.counts()).finish_non_exhaustive()
    }
}

/// A wish that is not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unheard {
    /// It is not offered now.
    NotOffered,
    /// Too many wait.
    Full,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        crate::lock(&self.0.state)
    }

    /// Tells under `event` what holds from now on.
    pub fn set(&self, event: &'static str, value: &impl Serialize) {
        let text = Bytes::from(json(value));
        let mut state = self.state();
        state.held.insert(event, text.clone());
        self.tell(event, || text);
    }

    /// Tells what now stands at a place of a list; beyond [`LIST_MAX`] nothing.
    pub fn place(&self, event: &'static str, at: usize, value: &impl Serialize) {
        if at >= LIST_MAX {
            return;
        }
        let entry = json(&(at, value));
        let mut state = self.state();
        let line = Bytes::from(format!("[{entry}]"));
        state.lists.entry(event).or_default().insert(at, entry);
        self.tell(event, || line);
    }

    /// Adds to a row.
    pub fn add(&self, event: &'static str, value: &impl Serialize) {
        let entry = json(value);
        let mut state = self.state();
        let line = Bytes::from(format!("[{entry}]"));
        let row = state.rows.entry(event).or_default();
        row.push_back(entry);
        if row.len() > ROW_MAX {
            row.pop_front();
        }
        self.tell(event, || line);
    }

    /// Whoever tells holds the state, so that who comes at the same time hears a thing once.
    fn tell(&self, event: &'static str, line: impl FnOnce() -> Bytes) {
        let about = About { node: "", sm: None, subscription: 0 };
        self.0.feed.tell(ranlab_sdk::now(), &about, || Line::Named(event, line()));
    }

    /// Gives whoever asks a document that is made then; a new version of it is told as `document`.
    pub fn document(&self, make: impl Fn() -> String + Send + Sync + 'static) {
        self.state().document.make = Some(Arc::new(make));
        self.document_again();
    }

    /// What the document is made from has changed: the same maker gives a new version.
    pub fn document_again(&self) {
        let version = {
            let mut state = self.state();
            state.document.version += 1;
            state.document.version
        };
        self.set("document", &serde_json::json!({ "version": version }));
    }

    /// What may be asked for from now on, once; nothing else.
    pub fn offer(&self, actions: &[&'static str]) {
        let mut state = self.state();
        state.offered = actions.to_vec();
    }

    /// What somebody wants done; waits so long for it.
    pub fn wish(&self, patience: Duration) -> Option<&'static str> {
        let end = ranlab_sdk::now() + patience;
        let mut state = self.state();
        loop {
            if let Some(wish) = state.wishes.pop_front() {
                return Some(wish);
            }
            let left = end.since(ranlab_sdk::now());
            if left.is_zero() {
                return None;
            }
            // A poisoned state is half a statistic at worst: see `lock`.
            state = match self.0.wished.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Pages that look now.
    pub fn pages(&self) -> usize {
        self.0.feed.counts().listeners
    }

    /// Lines that pages did not take in time.
    pub fn dropped(&self) -> u64 {
        self.0.feed.counts().dropped
    }

    /// Numbers of the newest entry of a row, by their names.
    fn latest(&self, event: &str) -> BTreeMap<String, f64> {
        let entry = self.state().rows.get(event).and_then(|row| row.back().cloned()).unwrap_or_default();
        let values: BTreeMap<String, serde_json::Value> = serde_json::from_str(&entry).unwrap_or_default();
        values.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect()
    }

    /// Before the end: lets pages that look take their leave, which they do when they have the newest document; `patience` at most.
    pub fn farewell(&self, patience: Duration) {
        let end = ranlab_sdk::now() + patience;
        let mut state = self.state();
        while self.pages() > 0 && ranlab_sdk::now() < end {
            // What is wished meanwhile is too late: only the time counts.
            state = match self.0.wished.wait_timeout(state, LOOK) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// One more page, which hears all that holds first; `None` if there are too many.
    fn listen(&self) -> Option<Listener> {
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

    /// Somebody wants something done.
    fn ask(&self, action: &str) -> Result<(), Unheard> {
        let mut state = self.state();
        let at = state.offered.iter().position(|own| *own == action).ok_or(Unheard::NotOffered)?;
        if state.wishes.len() >= WISHES_MAX {
            return Err(Unheard::Full);
        }
        let wish = state.offered.remove(at);
        state.wishes.push_back(wish);
        self.0.wished.notify_all();
        Ok(())
    }

    /// The newest document; `None` if there is none. Whoever asks while it is made waits for it, and has the same.
    fn read(&self) -> Option<Bytes> {
        let mut made = crate::lock(&self.0.made);
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

/// JSON on one line; what cannot be told is `null`.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    fn heard(listener: &mut Listener) -> Vec<(String, String)> {
        let mut all = Vec::new();
        while let Poll::Ready(Some(line)) = listener.poll_next(&mut Context::from_waker(Waker::noop())) {
            let Line::Named(event, data) = line else { panic!("{line:?}") };
            all.push((event.to_owned(), String::from_utf8(data.to_vec()).unwrap()));
        }
        all
    }

    #[test]
    fn who_comes_late_hears_what_holds_and_then_what_changes() {
        let board = Board::default();
        board.set("now", &1);
        board.set("now", &2);
        board.place("points", 1, &"b");
        board.place("points", 0, &"a");
        board.place("points", LIST_MAX, &"beyond");
        board.add("samples", &5);
        let mut page = board.listen().unwrap();
        let told = |event: &str, data: &str| (event.to_owned(), data.to_owned());
        let first = vec![told("now", "2"), told("points", "[[0,\"a\"],[1,\"b\"]]"), told("samples", "[5]")];
        assert_eq!(heard(&mut page), first);
        board.place("points", 1, &"c");
        board.add("samples", &6);
        assert_eq!(heard(&mut page), [told("points", "[[1,\"c\"]]"), told("samples", "[6]")]);
    }

    #[test]
    fn rows_are_bounded() {
        let board = Board::default();
        (0..ROW_MAX + 3).for_each(|n| board.add("samples", &n));
        let mut page = board.listen().unwrap();
        let (_, row) = heard(&mut page).pop().unwrap();
        let row: Vec<usize> = serde_json::from_str(&row).unwrap();
        assert_eq!((row.len(), row[0]), (ROW_MAX, 3));
    }

    #[test]
    fn only_what_is_offered_is_done_and_once() {
        let board = Board::default();
        assert_eq!(board.ask("stop"), Err(Unheard::NotOffered));
        board.offer(&["stop"]);
        assert_eq!((board.ask("resume"), board.ask("stop")), (Err(Unheard::NotOffered), Ok(())));
        assert_eq!(board.ask("stop"), Err(Unheard::NotOffered));
        assert_eq!(board.wish(Duration::ZERO), Some("stop"));
        assert_eq!(board.wish(Duration::from_millis(1)), None);
    }

    #[test]
    fn a_document_is_made_once_a_version_when_somebody_asks() {
        let (board, made) = (Board::default(), Arc::new(Mutex::new(0)));
        assert_eq!(board.read(), None);
        for version in 1..3 {
            let count = made.clone();
            board.document(move || {
                *crate::lock(&count) += 1;
                format!("version {version}")
            });
        }
        assert_eq!(*crate::lock(&made), 0);
        assert_eq!((board.read(), board.read()), (Some("version 2".into()), Some("version 2".into())));
        assert_eq!(*crate::lock(&made), 1);
        // Nobody looks, so nobody is waited for.
        let begun = ranlab_sdk::now();
        board.farewell(Duration::from_secs(20));
        assert!(ranlab_sdk::now().since(begun) < Duration::from_secs(10));
    }
}
