//! Base stations, as a part.

use std::time::{Duration, Instant};

use ranlab_emulator::{Fleet, FleetConfig, FleetError, FleetReport};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::Plmn;
use serde::{Deserialize, Serialize};

use super::{Running, counts, environment, parse, rig};
use crate::worker::{Numbers, Report, Trouble};

/// Offers HW to every controller.
pub const HW: &str = "hw";

/// Base stations and their UEs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FleetPart {
    /// The controller.
    pub connect: String,
    /// How many.
    pub nodes: u32,
    /// UEs of each.
    pub ues: u16,
    /// Service models by name: those of the emulator, and [`HW`].
    pub sm: Vec<String>,
    /// Kind of base station.
    pub kind: String,
    /// Version of E2AP.
    pub e2ap: String,
    /// Time over which they start, us.
    pub ramp_us: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// Number of the first one.
    pub first: u32,
}

/// A fleet that runs.
pub(crate) struct Stations {
    fleet: Fleet,
    at_begin: FleetReport,
    /// Time from the first start until a look found all of them up, us; 0: not yet.
    set_up_us: u64,
    started: Instant,
    nodes: u32,
    ues: u16,
}

impl Stations {
    pub(crate) async fn start(part: &FleetPart) -> Result<Self, Trouble> {
        let sockets = SocketOptions::default();
        let address: Address = parse(&part.connect)?;
        if let Err(error) = ranlab_net::raise_open_files() {
            // Few base stations need no more than there is; many will say so when they connect.
            eprintln!("ranlab worker: the limit of open files stays as it is: {error}");
        }
        let statistics = part.sm.iter().filter(|name| *name != HW);
        let mut fleet = Fleet::new(FleetConfig {
            controllers: vec![address],
            nodes: part.nodes,
            ues: part.ues,
            kind: parse(&part.kind)?,
            plmn: Plmn::new(505, 1, 2),
            service_models: statistics.map(|name| parse(name)).collect::<Result<_, _>>()?,
            own_functions: part.sm.iter().any(|name| name == HW),
            version: parse(&part.e2ap)?,
            ramp: Duration::from_micros(part.ramp_us),
            seed: part.seed,
            first: part.first,
            sockets,
        });
        let started = Instant::now();
        fleet.ramp_up().await.map_err(|error| match error {
            FleetError::Unreachable(error) => environment(error),
            other => rig(other),
        })?;
        Ok(Self {
            fleet,
            at_begin: FleetReport::default(),
            set_up_us: 0,
            started,
            nodes: part.nodes,
            ues: part.ues,
        })
    }
}

impl Running for Stations {
    fn look(&mut self) -> Numbers {
        let report = self.fleet.report();
        if report.alive == self.nodes && self.set_up_us == 0 {
            self.set_up_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        }
        [
            ("alive", f64::from(report.alive)),
            ("subscriptions", report.subscriptions as f64),
            ("sent", report.sent as f64),
            ("dropped", report.dropped as f64),
            ("reconnects", report.reconnects as f64),
            ("set_up_us", self.set_up_us as f64),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn begin(&mut self) {
        self.at_begin = self.fleet.report();
        // What was late before the window does not count in it.
        drop(self.fleet.take_lateness());
    }

    fn end(&mut self, report: &mut Report) {
        let (then, now) = (self.at_begin, self.fleet.report());
        for (name, value) in [
            ("alive", f64::from(now.alive)),
            ("ues", f64::from(now.alive) * f64::from(self.ues)),
            ("sent", (now.sent - then.sent) as f64),
            ("reports", (now.sent - then.sent) as f64),
            ("sent_bytes", (now.sent_bytes - then.sent_bytes) as f64),
            ("messages_sent", (now.sent_messages - then.sent_messages) as f64),
            ("messages_received", (now.received_messages - then.received_messages) as f64),
            ("dropped", (now.dropped - then.dropped) as f64),
            ("skipped", (now.skipped - then.skipped) as f64),
            ("reconnects", (now.reconnects - then.reconnects) as f64),
            ("set_up_us", self.set_up_us as f64),
        ] {
            report.numbers.insert(name.to_owned(), value);
        }
        report.distributions.insert("lateness_us".to_owned(), counts(&self.fleet.take_lateness()));
    }
}
