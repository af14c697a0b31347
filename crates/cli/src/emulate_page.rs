//! Live page of emulated base stations: number served, messages sent, and send delay.
use ranlab_e2_lab::FleetReport;
use ranlab_http::board::Board;
use ranlab_sdk::transport::Address;
use ranlab_sdran_lab::fleet::{Southbound, SouthboundReport};

use crate::exit::Failure;
use crate::web::{MACHINE, Machine, Now, OverTime, Web, introduce, publish_finished};

const LATE: OverTime = OverTime {
    title: "How late reports were made",
    caption: "Actual minus planned send time, since the fleet started. More than a few milliseconds: this machine is overloaded.",
    unit: "us",
    lines: &[("late_p99", "99th percentile")],
};

/// Figures of E2 base stations.
const E2: [OverTime; 5] = [
    OverTime {
        title: "Base stations",
        caption: "Alive: E2 Setup has succeeded at every configured controller.",
        unit: "",
        lines: &[("nodes", "all"), ("alive", "alive")],
    },
    OverTime {
        title: "Indications per second",
        caption: "Of all base stations. Dropped: a controller did not read. Skipped: the fleet was late.",
        unit: "/s",
        lines: &[("sent", "sent"), ("dropped", "dropped"), ("skipped", "skipped")],
    },
    OverTime {
        title: "Sent",
        caption: "Bytes of indications of all base stations.",
        unit: "B/s",
        lines: &[("bytes", "sent")],
    },
    LATE,
    MACHINE,
];

/// Figures of FlexRAN and 5G-EmPOWER base stations.
const SOUTH: [OverTime; 7] = [
    OverTime {
        title: "Base stations",
        caption: "Alive: the controller has requested reports on the current connection.",
        unit: "",
        lines: &[("nodes", "all"), ("connected", "connected"), ("alive", "alive")],
    },
    OverTime {
        title: "UEs",
        caption: "Active UEs, and those reported to the controller.",
        unit: "",
        lines: &[("ues", "active"), ("announced", "announced")],
    },
    OverTime {
        title: "Messages per second",
        caption: "Periodic reports and other messages of base stations, and messages of the controller.",
        unit: "/s",
        lines: &[("reports", "reports"), ("others", "others"), ("received", "from the controller")],
    },
    OverTime {
        title: "Lost messages per second",
        caption: "Dropped: the controller did not read in time, or its connection ended. Skipped: the fleet was late.",
        unit: "/s",
        lines: &[("dropped", "dropped"), ("skipped", "skipped")],
    },
    OverTime {
        title: "Bytes per second",
        caption: "Sent: accepted by the kernel for the controller. Received: from the controller.",
        unit: "B/s",
        lines: &[("bytes", "sent"), ("received_bytes", "received")],
    },
    LATE,
    MACHINE,
];

/// Name, value, detail, and whether the value is bad.
type Tile = (String, String, String, bool);

fn tile(name: &str, value: u64, note: &str, bad: bool) -> Tile {
    (name.to_owned(), value.to_string(), note.to_owned(), bad)
}

/// Returns the rate of a counter, per second.
fn rate(now: u64, before: u64, seconds: f64) -> f64 {
    now.saturating_sub(before) as f64 / seconds
}

/// Page of a fleet.
pub(crate) struct Page {
    board: Board,
    machine: Machine,
}

impl Page {
    /// Opens the page for E2 base stations; `None` if no page is requested.
    ///
    /// # Errors
    /// See [`Web::open`].
    pub(crate) fn open(web: &Web, connect: &[Address]) -> Result<Option<Self>, Failure> {
        Self::open_page(web, "Emulated base stations", connect.iter().map(Address::to_string), &E2)
    }

    /// Opens the page for base stations of another protocol; `None` if no page is requested.
    ///
    /// # Errors
    /// See [`Web::open`].
    pub(crate) fn southern(
        web: &Web,
        protocol: Southbound,
        connect: &[Address],
    ) -> Result<Option<Self>, Failure> {
        let title = format!("Emulated base stations of {}", protocol.dialect().title);
        let usual = connect.is_empty().then(|| format!("port {}", protocol.port()));
        Self::open_page(web, &title, connect.iter().map(Address::to_string).chain(usual), &SOUTH)
    }

    fn open_page(
        web: &Web,
        title: &str,
        towards: impl Iterator<Item = String>,
        time: &[OverTime],
    ) -> Result<Option<Self>, Failure> {
        let Some(board) = web.open()? else { return Ok(None) };
        let facts: Vec<String> = towards.map(|to| format!("towards {to}")).collect();
        introduce(&board, title, "Base stations", &facts, time, "");
        let page = Self { board, machine: Machine::default() };
        page.running("Base stations begin.".to_owned(), (0, 0), Vec::new());
        Ok(Some(page))
    }

    /// Adds the values of the last second.
    pub(crate) fn second(&mut self, now: &FleetReport, before: &FleetReport, seconds: f64) {
        self.sample(&[
            ("nodes", f64::from(now.nodes)),
            ("alive", f64::from(now.alive)),
            ("sent", rate(now.sent, before.sent, seconds)),
            ("dropped", rate(now.dropped, before.dropped, seconds)),
            ("skipped", rate(now.skipped, before.skipped, seconds)),
            ("bytes", rate(now.sent_bytes, before.sent_bytes, seconds)),
            ("late_p99", now.lateness_us_p99 as f64),
        ]);
        let words = format!("{} of {} base stations are set up.", now.alive, now.nodes);
        self.running(words, (now.alive, now.nodes), tiles(now));
    }

    /// Like [`second`](Self::second), for another protocol; `shown`: protocol version of the controller, once
    /// known.
    pub(crate) fn southern_second(
        &mut self,
        now: &SouthboundReport,
        before: &SouthboundReport,
        seconds: f64,
        shown: Option<&str>,
    ) {
        let of = |field: fn(&SouthboundReport) -> u64| rate(field(now), field(before), seconds);
        self.sample(&[
            ("nodes", f64::from(now.nodes)),
            ("connected", f64::from(now.connected)),
            ("alive", f64::from(now.alive)),
            ("ues", now.ues as f64),
            ("announced", now.announced_ues as f64),
            ("reports", of(|it| it.reports)),
            ("others", of(|it| it.offered.saturating_sub(it.reports))),
            ("received", of(|it| it.received)),
            ("dropped", of(|it| it.dropped)),
            ("skipped", of(|it| it.skipped)),
            ("bytes", of(|it| it.sent_bytes)),
            ("received_bytes", of(|it| it.received_bytes)),
            ("late_p99", now.lateness_us_p99 as f64),
        ]);
        let as_it =
            shown.map_or_else(String::new, |title| format!(" The controller speaks as {title} does."));
        let words =
            format!("{} of {} base stations received a request for reports.{as_it}", now.alive, now.nodes);
        self.running(words, (now.alive, now.nodes), southern_tiles(now));
    }

    fn sample(&mut self, values: &[(&str, f64)]) {
        let mut sample = self.machine.sample();
        sample.extend(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
        self.board.add("samples", &sample);
    }

    fn running(&self, words: String, (done, all): (u32, u32), tiles: Vec<Tile>) {
        let done = (done as usize, all as usize);
        Now { phase: "running", words, done, tiles, ..Now::default() }.publish(&self.board);
    }

    /// Reports the end to connected pages.
    pub(crate) fn end(&self, report: &FleetReport) {
        let words = format!("Done: {} indications sent, {} dropped.", report.sent, report.dropped);
        publish_finished(&self.board, &words, tiles(report));
    }

    /// Like [`end`](Self::end), for another protocol.
    pub(crate) fn southern_end(&self, report: &SouthboundReport) {
        let SouthboundReport { sent, acknowledged, read, dropped, .. } = report;
        let words = format!(
            "Done: {sent} messages sent, {acknowledged} acknowledged, {read} read, {dropped} dropped."
        );
        publish_finished(&self.board, &words, southern_tiles(report));
    }
}

fn tiles(report: &FleetReport) -> Vec<Tile> {
    vec![
        tile("Alive", u64::from(report.alive), &format!("of {}", report.nodes), report.alive < report.nodes),
        tile("Indications sent", report.sent, "", false),
        tile("Dropped", report.dropped, "", report.dropped > 0),
        tile("Reconnects", report.reconnects, "", report.reconnects > 0),
    ]
}

fn southern_tiles(report: &SouthboundReport) -> Vec<Tile> {
    let alive = u64::from(report.alive);
    let of_all = format!("of {}", report.nodes);
    let as_seen = if report.readers_seen < report.connected { "as far as it is visible" } else { "" };
    vec![
        tile("Alive", alive, &of_all, report.alive < report.nodes),
        tile("UEs", report.ues, &format!("{} announced", report.announced_ues), false),
        tile("Messages sent", report.sent, &format!("{} reports", report.reports), false),
        tile("Acknowledged", report.acknowledged, "", false),
        tile("Read", report.read, as_seen, false),
        tile("Wait", report.waiting, &format!("{} kB", report.waiting_bytes / 1_000), report.waiting > 0),
        tile("Dropped", report.dropped, "", report.dropped > 0),
        tile("Faults", report.faults, "", report.faults > 0),
        tile("Reconnects", report.reconnects, "", report.reconnects > 0),
    ]
}
