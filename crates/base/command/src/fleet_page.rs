//! Live page of emulated base stations, for all protocols. Each protocol defines its own figures.
use ranlab_http::board::StatusBoard;

use crate::exit::Failure;
use crate::web::{CurrentValues, HostMeters, OverTime, WebArguments, introduce, publish_finished};

/// Figure that shows the send delay of reports.
pub const LATE: OverTime = OverTime {
    title: "Delay of reports",
    caption: "Actual minus planned send time, since the fleet started. More than a few milliseconds: this machine is overloaded.",
    unit: "us",
    lines: &[("late_p99", "99th percentile")],
};

/// Name, value, detail, and whether the value is bad.
pub type Tile = (String, String, String, bool);

/// Returns a tile.
pub fn tile(name: &str, value: u64, note: &str, bad: bool) -> Tile {
    (name.to_owned(), value.to_string(), note.to_owned(), bad)
}

/// Returns the rate of a counter, per second.
pub fn rate(now: u64, before: u64, seconds: f64) -> f64 {
    now.saturating_sub(before) as f64 / seconds
}

/// Page of emulated base stations.
pub struct FleetPage {
    board: StatusBoard,
    machine: HostMeters,
}

impl FleetPage {
    /// Opens the page; `None` if no page is requested.
    ///
    /// # Errors
    /// See [`WebArguments::open`].
    pub fn open(
        web: &WebArguments,
        title: &str,
        towards: impl Iterator<Item = String>,
        time: &[OverTime],
    ) -> Result<Option<Self>, Failure> {
        let Some(board) = web.open()? else { return Ok(None) };
        let facts: Vec<String> = towards.map(|to| format!("towards {to}")).collect();
        introduce(&board, title, "Base stations", &facts, time, "");
        let page = Self { board, machine: HostMeters::default() };
        page.running("The base stations start.".to_owned(), 0, 0, Vec::new());
        Ok(Some(page))
    }

    /// Adds values to the figures.
    pub fn sample(&mut self, values: &[(&str, f64)]) {
        let mut sample = self.machine.sample();
        sample.extend(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
        self.board.add("samples", &sample);
    }

    /// Shows a sentence, the number of served base stations (`done`), the number of all base stations, and tiles.
    pub fn running(&self, words: String, done: u32, all: u32, tiles: Vec<Tile>) {
        let done = (done as usize, all as usize);
        CurrentValues { phase: "running", words, done, tiles, ..CurrentValues::default() }
            .publish(&self.board);
    }

    /// Reports to connected pages that the verb has ended.
    pub fn end(&self, words: &str, tiles: Vec<Tile>) {
        publish_finished(&self.board, words, tiles);
    }
}
