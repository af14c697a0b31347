//! `--web`: live page of a running verb.
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use ranlab_host::{MachineMeter, MachineSample, ProcessMeter};
use ranlab_http::board::{self, StatusBoard};
use ranlab_http::guard::Access;
use ranlab_http::token::Token;
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// Interval between two samples.
const SAMPLE: Duration = Duration::from_secs(1);
/// Maximum time that the sampler waits for an action before it checks whether a sample is due or the verb has ended.
const LISTEN: Duration = Duration::from_millis(100);
/// Time that connected pages have to fetch the last document after a verb has ended.
const FAREWELL: Duration = Duration::from_secs(3);

/// Address and access options of a page.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct WebArguments {
    /// Serve a live page, at this address or on loopback at a free port
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = crate::args::socket_address)]
    web: Option<SocketAddr>,
    /// With --web: file with the token that the page requires; needed on a non-loopback address
    #[arg(long, value_name = "FILE", requires = "web")]
    web_token_file: Option<PathBuf>,
    /// With --web: additional host name accepted in the Host header; repeatable
    #[arg(long, value_name = "NAME", requires = "web")]
    web_host: Vec<String>,
}

impl WebArguments {
    /// Returns whether a page is requested.
    pub fn wanted(&self) -> bool {
        self.web.is_some()
    }

    /// Serves the page, and prints its address to stderr; `None` if no page is requested.
    ///
    /// # Errors
    /// Fails if the token file is invalid, the address cannot be bound, or is beyond loopback and there is no
    /// token.
    pub fn open(&self) -> Result<Option<StatusBoard>, Failure> {
        let Some(address) = self.web else { return Ok(None) };
        let token = self.web_token_file.as_deref().map(Token::read).transpose().map_err(Failure::Usage)?;
        let board = StatusBoard::default();
        let config = board::Config {
            address,
            access: Access { hosts: self.web_host.clone(), token, ..Access::default() },
        };
        let bound = serve(board.clone(), config).map_err(|error| {
            let what = format!("the page cannot be served at {address}: {error}");
            match error.kind() {
                io::ErrorKind::PermissionDenied => Failure::Usage(what),
                _ => Failure::Environment(what),
            }
        })?;
        eprintln!("the page: {}://{bound}/", ranlab_http::https::scheme());
        Ok(Some(board))
    }
}

/// Serves a page on a separate thread until the process ends, because verbs may have no runtime. Returns the
/// bound address.
fn serve(board: StatusBoard, config: board::Config) -> io::Result<SocketAddr> {
    let (sender, bound) = sync_channel(1);
    std::thread::Builder::new().name("page".to_owned()).spawn(move || {
        ranlab_transport::run(async {
            let served = board::serve(board, config).await;
            let serves = served.is_ok();
            // The starting thread waits for the bound address.
            let _ = sender.send(served);
            if serves {
                std::future::pending::<()>().await;
            }
        });
    })?;
    bound.recv().unwrap_or_else(|_| Err(io::Error::other("the page's thread has ended")))
}

/// Figure over time: names of the samples' fields, and their labels.
#[derive(Debug, Clone, Copy)]
pub struct OverTime {
    /// Title above the figure.
    pub title: &'static str,
    /// Caption below the figure.
    pub caption: &'static str,
    /// Unit of all lines: empty, `%`, `us`, `bit/s` or `/s`.
    pub unit: &'static str,
    /// Fields and their labels.
    pub lines: &'static [(&'static str, &'static str)],
}

/// Figure of the machine's load, for all verbs.
pub const MACHINE: OverTime = OverTime {
    title: "Machine and tool, % of all processors",
    caption: "Stolen: time that the hypervisor gave to another virtual machine. This program: this process, with its page.",
    unit: "%",
    lines: &[("busy", "busy"), ("steal", "stolen"), ("own", "this program")],
};

/// Sets the page's title, facts, figures and list.
pub fn introduce(
    board: &StatusBoard,
    title: &str,
    kind: &str,
    facts: &[String],
    time: &[OverTime],
    list: &str,
) {
    let figure = |of: &OverTime| {
        let OverTime { title, caption, unit, lines } = of;
        json!({ "title": title, "y_label": title, "unit": unit, "caption": caption, "lines": lines })
    };
    let time: Vec<Value> = time.iter().map(figure).collect();
    board.set("about", &json!({ "title": title, "kind": kind, "facts": facts, "time": time, "list": list }));
}

/// Thread that sends a sample to the page every second. Dropping the value stops the thread.
#[derive(Debug)]
pub struct Sampler {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // If the thread has panicked, the panic has already been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Sampler {
    /// Starts the thread. `fill` adds the verb's values to a sample. `wish` receives the actions requested on the page.
    pub fn start(
        board: StatusBoard,
        mut fill: impl FnMut(&mut Map<String, Value>) + Send + 'static,
        mut wish: impl FnMut(&'static str) + Send + 'static,
    ) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut machine = HostMeters::default();
            let mut due = Instant::now();
            while !ends.load(Ordering::Relaxed) {
                if Instant::now() >= due {
                    due += SAMPLE;
                    let mut sample = machine.sample();
                    fill(&mut sample);
                    board.add("samples", &sample);
                }
                if let Some(wished) = board.wait_for_action(LISTEN) {
                    wish(wished);
                }
            }
        });
        Self { over, thread: Some(thread) }
    }
}

/// Meters of this machine, with the values of the previous sample.
#[derive(Default)]
pub struct HostMeters {
    meter: MachineMeter,
    before: Option<(MachineSample, f64)>,
}

impl HostMeters {
    /// Returns the time and, from the second call on, the shares of all processors in percent.
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

/// Current status of a verb, which `web/live.js` displays.
#[derive(Debug, Clone, Default)]
pub struct CurrentValues {
    /// `measuring`, `stopping`, `paused` or `done`.
    pub phase: &'static str,
    /// Status as a sentence.
    pub words: String,
    /// Number of completed items, and number of all items (0: not shown).
    pub done: (usize, usize),
    /// Name, value, detail, and whether the value is bad.
    pub tiles: Vec<(String, String, String, bool)>,
    /// Important messages, and whether they are bad.
    pub notes: Vec<(String, bool)>,
    /// Available actions and their button labels.
    pub actions: Vec<(&'static str, &'static str)>,
}

impl CurrentValues {
    /// Sends the status to the page, and offers the actions.
    pub fn publish(&self, board: &StatusBoard) {
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

/// Reports that the verb is done; waits until connected pages have fetched the last document.
pub fn publish_finished(board: &StatusBoard, words: &str, tiles: Vec<(String, String, String, bool)>) {
    let now = CurrentValues { phase: "done", words: words.to_owned(), tiles, ..CurrentValues::default() };
    now.publish(board);
    board.farewell(FAREWELL);
}
