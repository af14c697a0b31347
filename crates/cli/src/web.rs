//! `--web`: a page that shows what a verb does while it does it.
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use ranlab_controllers::board::{self, Board};
use ranlab_controllers::guard::Access;
use ranlab_controllers::token::Token;
use ranlab_host::{MachineMeter, MachineSample, ProcessMeter};
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// Between two samples of what goes on.
const SAMPLE: Duration = Duration::from_secs(1);
/// How long it is listened for wishes before it is looked whether to sample, or to end.
const LISTEN: Duration = Duration::from_millis(100);
/// How long pages that look may take for the last document, once a verb is done.
const FAREWELL: Duration = Duration::from_secs(3);

/// Where and for whom.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Web {
    /// Show what happens on a page: on loopback at a port that the system chooses, or at this address
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = crate::args::socket_address)]
    web: Option<SocketAddr>,
    /// With --web: a file with a secret that whoever looks has to know; needed beyond loopback
    #[arg(long, value_name = "FILE", requires = "web")]
    web_token_file: Option<PathBuf>,
    /// With --web: a further name of this machine by which the page may be asked for; repeatable
    #[arg(long, value_name = "NAME", requires = "web")]
    web_host: Vec<String>,
}

impl Web {
    /// Whether a page is wanted.
    pub fn wanted(&self) -> bool {
        self.web.is_some()
    }

    /// Serves the page, and tells its address on the standard error; `None` if none is wanted.
    ///
    /// # Errors
    /// The token's file holds none; it cannot listen there, or others could ask there and there is no token.
    pub fn open(&self) -> Result<Option<Board>, Failure> {
        let Some(address) = self.web else { return Ok(None) };
        let token = self.web_token_file.as_deref().map(Token::read).transpose().map_err(Failure::Usage)?;
        let board = Board::default();
        let config =
            board::Config { address, access: Access { hosts: self.web_host.clone(), token, trust: None } };
        let bound = serve(board.clone(), config).map_err(|error| {
            let what = format!("no page at {address}: {error}");
            match error.kind() {
                io::ErrorKind::PermissionDenied => Failure::Usage(what),
                _ => Failure::Environment(what),
            }
        })?;
        eprintln!("the page: http://{bound}/");
        Ok(Some(board))
    }
}

/// Serves a board on a thread of its own until the process ends: verbs have no runtime, or none to spare. The address is the one bound.
fn serve(board: Board, config: board::Config) -> io::Result<SocketAddr> {
    let (told, bound) = sync_channel(1);
    std::thread::Builder::new().name("page".to_owned()).spawn(move || {
        ranlab_sdk::run(async {
            let served = board::serve(board, config).await;
            let serves = served.is_ok();
            // Whoever started it waits for this.
            let _ = told.send(served);
            if serves {
                std::future::pending::<()>().await;
            }
        });
    })?;
    bound.recv().unwrap_or_else(|_| Err(io::Error::other("the page's thread has ended")))
}

/// Values over time that a page draws: names of the samples' fields, and what to call them.
#[derive(Debug, Clone, Copy)]
pub struct OverTime {
    /// Above the figure.
    pub title: &'static str,
    /// Below it.
    pub caption: &'static str,
    /// Of all lines; empty, `%`, `us`, `bit/s`, `/s`.
    pub unit: &'static str,
    /// Fields and their names.
    pub lines: &'static [(&'static str, &'static str)],
}

/// What the machine does, whatever the verb.
pub const MACHINE: OverTime = OverTime {
    title: "Machine and tool, % of all processors",
    caption: "Stolen: wanted here and given to another by the hypervisor. This program: all that this process does, its page among it.",
    unit: "%",
    lines: &[("busy", "busy"), ("steal", "stolen"), ("own", "this program")],
};

/// Tells who the page is of: its title, what stands below it, and what is drawn over time.
pub fn introduce(board: &Board, title: &str, kind: &str, facts: &[String], time: &[OverTime], list: &str) {
    let figure = |of: &OverTime| {
        let OverTime { title, caption, unit, lines } = of;
        json!({ "title": title, "y_label": title, "unit": unit, "caption": caption, "lines": lines })
    };
    let time: Vec<Value> = time.iter().map(figure).collect();
    board.set("about", &json!({ "title": title, "kind": kind, "facts": facts, "time": time, "list": list }));
}

/// Samples each second until it is dropped; afterwards it tells nothing more.
#[derive(Debug)]
pub struct Sampler {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // A thread that panicked has told its last already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Sampler {
    /// `fill` adds what the verb knows; `wish` hears what somebody asks for on the page.
    pub fn start(
        board: Board,
        mut fill: impl FnMut(&mut Map<String, Value>) + Send + 'static,
        mut wish: impl FnMut(&'static str) + Send + 'static,
    ) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let (mut machine, mut due) = (Machine::default(), Instant::now());
            while !ends.load(Ordering::Relaxed) {
                if Instant::now() >= due {
                    due += SAMPLE;
                    let mut sample = machine.sample();
                    fill(&mut sample);
                    board.add("samples", &sample);
                }
                if let Some(wished) = board.wish(LISTEN) {
                    wish(wished);
                }
            }
        });
        Self { over, thread: Some(thread) }
    }
}

/// Meters and what they said last.
#[derive(Default)]
pub struct Machine {
    meter: MachineMeter,
    before: Option<(MachineSample, f64)>,
}

impl Machine {
    /// The time and, from the second call on, shares of all processors in per cent.
    pub fn sample(&mut self) -> Map<String, Value> {
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut sample = Map::from_iter([("t".to_owned(), json!(unix.as_secs_f64()))]);
        let now = self.meter.sample().ok().zip(ProcessMeter::own().sample().ok());
        let Some((machine, own)) = now.map(|(machine, own)| (machine, own.cpu_s())) else { return sample };
        if let Some((earlier, own_before)) = self.before.replace((machine, own))
            && let Some(between) = machine.since(&earlier)
        {
            let cpus = machine.cpus.max(1) as f64;
            let own = (own - own_before) / between.wall_s / cpus;
            for (name, share) in [("busy", between.busy_share), ("steal", between.steal_share), ("own", own)]
            {
                sample.insert(name.to_owned(), json!(share * 100.0));
            }
        }
        sample
    }
}

/// What holds now: see `web/live.js`.
#[derive(Debug, Clone, Default)]
pub struct Now {
    /// `measuring`, `stopping`, `paused`, `done`.
    pub phase: &'static str,
    /// In a sentence.
    pub words: String,
    /// So many of so many; of 0 nothing is shown.
    pub done: (usize, usize),
    /// Name, value, what belongs to it, whether it is bad.
    pub tiles: Vec<(String, String, String, bool)>,
    /// Sentences that matter, and whether they are bad.
    pub notes: Vec<(String, bool)>,
    /// What may be asked for, and the button's words.
    pub actions: Vec<(&'static str, &'static str)>,
}

impl Now {
    /// Tells the page, and lets it ask for the actions.
    pub fn tell(&self, board: &Board) {
        let actions: Vec<&'static str> = self.actions.iter().map(|(name, _)| *name).collect();
        board.offer(&actions);
        let notes: Vec<_> =
            self.notes.iter().map(|(text, bad)| (text, if *bad { "bad" } else { "" })).collect();
        board.set(
            "now",
            &json!({
                "phase": self.phase, "words": self.words, "done": self.done.0, "total": self.done.1,
                "tiles": self.tiles, "notes": notes, "actions": self.actions,
            }),
        );
    }
}

/// The verb is done, as `words` say; pages that look have the last document before the process ends.
pub fn part(board: &Board, words: &str, tiles: Vec<(String, String, String, bool)>) {
    let now = Now { phase: "done", words: words.to_owned(), tiles, ..Now::default() };
    now.tell(board);
    board.farewell(FAREWELL);
}
