//! Live page of a campaign. It shows completed and pending points, intermediate curves, the trials of a search and the
//! report so far, and can stop and resume the campaign. The campaign waits for a page only after a stop from that page.
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ranlab_campaign::plan::Plan;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::rig::{Outcome, Stop};
use ranlab_campaign::run::Event;
use ranlab_http::board::{LIST_MAX, StatusBoard};
use ranlab_report::report::{self, LiveCampaign};
use ranlab_report::store::{Load, Store};

use super::{STORE, about};
use crate::web::{self, CurrentValues, Sampler};

/// Maximum time for which a campaign that was stopped from its page waits to be resumed. The command then ends, and can
/// be repeated later.
const PAUSE_MAX: Duration = Duration::from_secs(1_800);
/// Interval of checks for Ctrl-C while the campaign is stopped.
const LOOK: Duration = Duration::from_millis(200);
/// Number of values from the last window that the page shows.
const NUMBERS_MAX: usize = 8;

/// Point in the list of the page.
struct Listed {
    label: String,
    runs: usize,
    outcome: Option<Outcome>,
    reason: String,
}

/// Locks a mutex; after a panic the content is still usable, with at most one incomplete text.
fn lock(now: &Mutex<CurrentValues>) -> MutexGuard<'_, CurrentValues> {
    now.lock().unwrap_or_else(PoisonError::into_inner)
}

fn going(now: &mut CurrentValues) {
    now.phase = "measuring";
    now.notes.clear();
    now.actions = vec![("stop", "Stop after this repeat")];
}

/// Page of a campaign.
pub(super) struct Page {
    board: StatusBoard,
    wishes: Receiver<&'static str>,
    points: Vec<Listed>,
    repeats: u32,
    /// Current status, shared with the thread that receives actions and reports a stop immediately.
    now: Arc<Mutex<CurrentValues>>,
    remaining: Duration,
    latest: Vec<String>,
    windows: usize,
    /// Sampler of the page, which stops when the page is dropped.
    _sampler: Sampler,
}

impl Page {
    /// Opens the page of a campaign before it begins or continues.
    pub(super) fn open(
        board: StatusBoard,
        before: &Results,
        plan: &Plan,
        folder: &Path,
        command: &str,
        stop: &Stop,
    ) -> Self {
        let title = format!("Under way: {}", before.scenario.title);
        let mut facts = vec![command.to_owned()];
        if plan.points.len() > LIST_MAX {
            facts.push(format!("The list contains the first {LIST_MAX} of {} points.", plan.points.len()));
        }
        web::introduce(&board, &title, "Campaign", &facts, &[web::MACHINE], "Points");
        let file = folder.join(STORE);
        let command = command.to_owned();
        let make = move || match Store::read(&file).and_then(|store| store.results(Load::All)) {
            Ok(results) => report::document(&results, &super::run::context(&results, command.clone())).json(),
            // The page displays a document with `error` as an error.
            Err(error) => serde_json::json!({ "error": error.to_string() }).to_string(),
        };
        let now: Arc<Mutex<CurrentValues>> = Arc::default();
        let (wish, wishes) = channel();
        let stops = stop.clone();
        let shared = Arc::clone(&now);
        let own = board.clone();
        let hear = move |what| {
            if what != "stop" {
                // The action is received by the campaign while it waits.
                let _ = wish.send(what);
                return;
            }
            stops.request_stop_after_repeat();
            let mut now = lock(&shared);
            (now.phase, now.actions) = ("stopping", Vec::new());
            now.notes = vec![("Stops after this repeat; its result is kept.".to_owned(), false)];
            now.publish(&own);
        };
        let counted = Arc::clone(&now);
        let fill = move |sample: &mut serde_json::Map<String, serde_json::Value>| {
            let (done, total) = lock(&counted).done;
            sample.insert("repeats_done".to_owned(), done.into());
            sample.insert("repeats_planned".to_owned(), total.into());
        };
        let sampler = Sampler::start(board.clone(), fill, hear);
        let listed = |point: &PointResult| Listed {
            label: point.point.label(),
            runs: point.runs.len(),
            outcome: point.outcome(),
            reason: point.reason().to_owned(),
        };
        let points = before.points.iter().map(listed).collect();
        let page = Self {
            board,
            wishes,
            points,
            repeats: plan.repeats,
            now,
            remaining: Duration::ZERO,
            latest: Vec::new(),
            windows: 0,
            _sampler: sampler,
        };
        (0..page.points.len()).for_each(|at| page.list(at, false));
        page.board.document(make);
        page
    }

    /// Applies an event of the campaign. `changed`: the event brought new data for the figures.
    pub(super) fn take(&mut self, event: &Event, watched: &LiveCampaign, changed: bool) {
        match event {
            Event::Started { to_do, done_before, expected } => {
                self.remaining = *expected;
                let mut now = lock(&self.now);
                now.done = (*done_before, to_do + done_before);
                going(&mut now);
            }
            Event::Measuring { point, label, repeat } => {
                self.windows = 0;
                lock(&self.now).words = format!("{label}, repeat {}", repeat + 1);
                self.list(*point, true);
            }
            Event::Measured { .. } => self.windows += 1,
            Event::Finished { point, outcome, reason, remaining, .. } => {
                lock(&self.now).done.0 += 1;
                self.remaining = *remaining;
                if let Some(listed) = self.points.get_mut(*point) {
                    listed.runs += 1;
                    (listed.outcome, listed.reason) = (Some(*outcome), reason.clone());
                }
                self.list(*point, false);
                self.board.document_again();
            }
            _ => {}
        }
        if matches!(event, Event::Measuring { .. } | Event::Measured { .. } | Event::Finished { .. }) {
            self.latest = watched.numbers(event, NUMBERS_MAX);
        }
        if changed {
            // Figures are drawn only while a page is connected. A page that connects later receives them with the next window.
            if self.board.pages() > 0 {
                self.board.set("figures", &watched.figures());
            }
        }
        self.publish();
    }

    fn list(&self, at: usize, now: bool) {
        let Some(point) = self.points.get(at) else { return };
        let bad = point.outcome.is_some_and(|outcome| outcome != Outcome::Ok);
        let all = point.runs >= self.repeats as usize;
        let state = match (now, bad, all) {
            (true, ..) => "now",
            (_, true, _) => "trouble",
            (_, _, true) => "done",
            _ => "to come",
        };
        let outcome = point.outcome.map_or(String::new(), |outcome| format!(", {}", outcome.name()));
        let why = if bad && !point.reason.is_empty() { format!(": {}", point.reason) } else { String::new() };
        let words = format!("{} of {} repeats{outcome}{why}", point.runs, self.repeats);
        self.board.place("points", at, &(state, &point.label, words));
    }

    fn publish(&self) {
        let mut now = lock(&self.now);
        let (done, total) = now.done;
        let tile = |name: &str, value: String, note: &str| (name.to_owned(), value, note.to_owned(), false);
        now.tiles = vec![
            tile("Repeats", done.to_string(), &format!("of {total}")),
            tile("Left", about(self.remaining), "about"),
            tile("Windows", self.windows.to_string(), "of this repeat"),
        ];
        // Format: `rtt_us_p99 12.5 us` (name, value, unit).
        for number in &self.latest {
            let mut parts = number.splitn(3, ' ');
            let mut next = || parts.next().unwrap_or_default().to_owned();
            now.tiles.push((next(), next(), next(), false));
        }
        now.publish(&self.board);
    }

    /// Waits until the campaign is resumed or ended from the page. Returns whether the campaign continues.
    pub(super) fn paused(&mut self, stop: &Stop) -> bool {
        let minutes = PAUSE_MAX.as_secs() / 60;
        {
            let mut now = lock(&self.now);
            now.phase = "paused";
            "Stopped: finished repeats are kept, and nothing runs.".clone_into(&mut now.words);
            now.notes = vec![(
                format!(
                    "It ends automatically in {minutes} min; the same command continues from here at any time."
                ),
                false,
            )];
            now.actions = vec![("resume", "Resume"), ("end", "End the program")];
        }
        eprintln!(
            "ranlab: stopped from the page; it waits there for {minutes} min to be resumed (Ctrl-C ends it)"
        );
        self.publish();
        let end = Instant::now() + PAUSE_MAX;
        loop {
            match self.wishes.recv_timeout(LOOK) {
                Ok("resume") => {
                    going(&mut lock(&self.now));
                    return true;
                }
                Ok("end") | Err(RecvTimeoutError::Disconnected) => return false,
                _ if stop.stop_requested() || Instant::now() >= end => return false,
                _ => {}
            }
        }
    }

    /// Reports the end of the campaign, and gives connected pages time to fetch the report.
    pub(super) fn end(self, stopped: Result<bool, String>, report: &Path) {
        self.board.document_again();
        let words = match stopped {
            Ok(false) => format!("Done. The report: {}", report.display()),
            Ok(true) => format!(
                "Stopped; the same command continues from here. The report so far: {}",
                report.display()
            ),
            Err(why) => format!("Ended early: {why}. The report so far: {}", report.display()),
        };
        let (done, total) = lock(&self.now).done;
        let tiles = vec![("Repeats".to_owned(), done.to_string(), format!("of {total}"), done < total)];
        web::publish_finished(&self.board, &words, tiles);
    }
}
