//! Live page of emulated base stations of other SD-RAN protocols. It shows the number of base stations, messages sent, and send delay.
use ranlab_command::exit::Failure;
use ranlab_command::fleet_page::{FleetPage, LATE, Tile, rate, tile};
use ranlab_command::web::{MACHINE, OverTime, WebArguments};
use ranlab_transport::Address;

use crate::fleet::{Protocol, SouthboundReport};

/// Charts of FlexRAN and 5G-EmPOWER base stations.
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

/// Page of a fleet.
pub(super) struct Page(FleetPage);

impl Page {
    /// Opens the page. Returns `None` if no page is requested.
    ///
    /// # Errors
    /// See [`Web::open`].
    pub(super) fn open(
        web: &WebArguments,
        protocol: Protocol,
        connect: &[Address],
    ) -> Result<Option<Self>, Failure> {
        let title = format!("Emulated base stations of {}", protocol.dialect().title);
        let usual = connect.is_empty().then(|| format!("port {}", protocol.port()));
        let towards = connect.iter().map(Address::to_string).chain(usual);
        Ok(FleetPage::open(web, &title, towards, &SOUTH)?.map(Self))
    }

    /// Adds the values of the last second. `shown` is the protocol version of the controller, if it is known.
    pub(super) fn second(
        &mut self,
        now: &SouthboundReport,
        before: &SouthboundReport,
        seconds: f64,
        shown: Option<&str>,
    ) {
        let of = |field: fn(&SouthboundReport) -> u64| rate(field(now), field(before), seconds);
        self.0.sample(&[
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
            shown.map_or_else(String::new, |title| format!(" The controller uses the protocol of {title}."));
        let words =
            format!("{} of {} base stations received a request for reports.{as_it}", now.alive, now.nodes);
        self.0.running(words, now.alive, now.nodes, tiles(now));
    }

    /// Reports the end to connected pages.
    pub(super) fn end(&self, report: &SouthboundReport) {
        let SouthboundReport { sent, acknowledged, read, dropped, .. } = report;
        let words = format!(
            "Done: {sent} messages sent, {acknowledged} acknowledged, {read} read, {dropped} dropped."
        );
        self.0.end(&words, tiles(report));
    }
}

fn tiles(report: &SouthboundReport) -> Vec<Tile> {
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
