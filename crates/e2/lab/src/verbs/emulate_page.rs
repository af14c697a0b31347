//! Live page of emulated base stations of E2: number of base stations that are set up, messages sent, and send delay.
use ranlab_command::exit::Failure;
use ranlab_command::fleet_page::{FleetPage, LATE, Tile, rate, tile};
use ranlab_command::web::{MACHINE, OverTime, WebArguments};
use ranlab_transport::Address;

use crate::FleetReport;

/// Charts of E2 base stations.
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

/// Page of a fleet.
pub(super) struct Page(FleetPage);

impl Page {
    /// Opens the page, or returns `None` if no page is requested.
    ///
    /// # Errors
    ///
    /// Returns an error like [`Web::open`].
    pub(super) fn open(web: &WebArguments, connect: &[Address]) -> Result<Option<Self>, Failure> {
        let towards = connect.iter().map(Address::to_string);
        Ok(FleetPage::open(web, "Emulated base stations", towards, &E2)?.map(Self))
    }

    /// Adds the values of the last second.
    pub(super) fn second(&mut self, now: &FleetReport, before: &FleetReport, seconds: f64) {
        self.0.sample(&[
            ("nodes", f64::from(now.nodes)),
            ("alive", f64::from(now.alive)),
            ("sent", rate(now.sent, before.sent, seconds)),
            ("dropped", rate(now.dropped, before.dropped, seconds)),
            ("skipped", rate(now.skipped, before.skipped, seconds)),
            ("bytes", rate(now.sent_bytes, before.sent_bytes, seconds)),
            ("late_p99", now.lateness_us_p99 as f64),
        ]);
        let words = format!("{} of {} base stations are set up.", now.alive, now.nodes);
        self.0.running(words, now.alive, now.nodes, tiles(now));
    }

    /// Publishes the final state to connected pages.
    pub(super) fn end(&self, report: &FleetReport) {
        let words = format!("Done: {} indications sent, {} dropped.", report.sent, report.dropped);
        self.0.end(&words, tiles(report));
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
