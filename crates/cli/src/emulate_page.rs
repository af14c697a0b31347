//! Emulated base stations on a page: how many are set up, what they send, and how late.
use ranlab_controllers::board::Board;
use ranlab_emulator::FleetReport;
use ranlab_sdk::transport::Address;

use crate::exit::Failure;
use crate::web::{MACHINE, Machine, Now, OverTime, Web, introduce, part};

/// What a page draws of a fleet.
const TIME: [OverTime; 5] = [
    OverTime {
        title: "Base stations",
        caption: "Alive: set up at every controller that they were told of.",
        unit: "",
        lines: &[("nodes", "all"), ("alive", "alive")],
    },
    OverTime {
        title: "Indications per second",
        caption: "Sent by all base stations; dropped, since a controller did not read; skipped, since the fleet was late.",
        unit: "/s",
        lines: &[("sent", "sent"), ("dropped", "dropped"), ("skipped", "skipped")],
    },
    OverTime {
        title: "Sent",
        caption: "Octets of the indications, by all base stations.",
        unit: "B/s",
        lines: &[("bytes", "sent")],
    },
    OverTime {
        title: "How late reports were made",
        caption: "Since the fleet began: above some milliseconds the machine, not the network, is too slow.",
        unit: "us",
        lines: &[("late_p99", "99th percentile")],
    },
    MACHINE,
];

/// The page of a fleet.
pub(crate) struct Page {
    board: Board,
    machine: Machine,
}

impl Page {
    /// `None` if none is wanted.
    ///
    /// # Errors
    /// See [`Web::open`].
    pub(crate) fn open(web: &Web, connect: &[Address]) -> Result<Option<Self>, Failure> {
        let Some(board) = web.open()? else { return Ok(None) };
        let to: Vec<String> = connect.iter().map(|to| format!("towards {to}")).collect();
        introduce(&board, "Emulated base stations", "Base stations", &to, &TIME, "");
        Ok(Some(Self { board, machine: Machine::default() }))
    }

    /// What the last second was.
    pub(crate) fn second(&mut self, now: &FleetReport, before: &FleetReport, seconds: f64) {
        let mut sample = self.machine.sample();
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        for (name, value) in [
            ("nodes", f64::from(now.nodes)),
            ("alive", f64::from(now.alive)),
            ("sent", rate(now.sent, before.sent)),
            ("dropped", rate(now.dropped, before.dropped)),
            ("skipped", rate(now.skipped, before.skipped)),
            ("bytes", rate(now.sent_bytes, before.sent_bytes)),
            ("late_p99", now.lateness_us_p99 as f64),
        ] {
            sample.insert(name.to_owned(), value.into());
        }
        self.board.add("samples", &sample);
        let words = format!("{} of {} base stations are set up.", now.alive, now.nodes);
        Now {
            phase: "running",
            words,
            done: (now.alive as usize, now.nodes as usize),
            tiles: tiles(now),
            ..Now::default()
        }
        .tell(&self.board);
    }

    /// How it ended, for pages that look.
    pub(crate) fn end(&self, report: &FleetReport) {
        let words = format!("Done: {} indications sent, {} dropped.", report.sent, report.dropped);
        part(&self.board, &words, tiles(report));
    }
}

fn tiles(report: &FleetReport) -> Vec<(String, String, String, bool)> {
    let tile = |name: &str, value: u64, note: &str, bad: bool| {
        (name.to_owned(), value.to_string(), note.to_owned(), bad)
    };
    vec![
        tile("Alive", u64::from(report.alive), &format!("of {}", report.nodes), report.alive < report.nodes),
        tile("Indications sent", report.sent, "", false),
        tile("Dropped", report.dropped, "", report.dropped > 0),
        tile("Reconnects", report.reconnects, "", report.reconnects > 0),
    ]
}
