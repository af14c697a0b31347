//! Controllers and base stations of FlexRAN and 5G-EmPOWER, as parts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ranlab_emulator::southbound::{Southbound, SouthboundConfig, SouthboundFleet, SouthboundReport};
use ranlab_host::Subject;
use ranlab_machines::southbound::ReportPeriod;
use ranlab_model::arrivals::{Law, PopulationConfig};
use serde::{Deserialize, Serialize};

use super::{Running, environment, parse, rig, sut};
use crate::worker::{Numbers, Report, Trouble};

/// How long a controller may take until it listens.
const LISTEN_WAIT: Duration = Duration::from_secs(20);
/// A controller whose worker was killed so hard that it could not take it down ends by itself.
const LIFE_MAX: &str = "24h";

/// The controller's counter of messages that the published loop loses.
pub const LOST: &str = "lost_at_batch_end";

/// A reference controller of ours as a process of its own: `ranlab controller …`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SouthControllerPart {
    /// `flexran` or `empower`.
    pub which: String,
    /// What else it is told, flag by flag.
    pub arguments: Vec<String>,
}

/// A running controller.
pub(crate) struct SouthController {
    child: Child,
    addresses: BTreeMap<String, String>,
    /// What it said last of itself.
    told: Arc<Mutex<Numbers>>,
    at_begin: Numbers,
}

impl SouthController {
    pub(crate) fn start(part: &SouthControllerPart) -> Result<Self, Trouble> {
        if !matches!(part.which.as_str(), "flexran" | "empower") {
            return Err(rig(format!("\"{}\" is no controller; flexran and empower are allowed", part.which)));
        }
        let program = std::env::current_exe().map_err(environment)?;
        let mut command = Command::new(program);
        command
            .args(["controller", &part.which, "--format", "ndjson", "--duration", LIFE_MAX])
            .args(&part.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let child =
            command.spawn().map_err(|error| environment(format!("cannot start the controller: {error}")))?;
        let mut controller =
            Self { child, addresses: BTreeMap::new(), told: Arc::default(), at_begin: Numbers::new() };
        controller.listen()?;
        Ok(controller)
    }

    /// Reads where it listens, and goes on reading what it counts.
    fn listen(&mut self) -> Result<(), Trouble> {
        let stdout = self.child.stdout.take().ok_or_else(|| environment("the controller has no output"))?;
        let (sink, places) = channel();
        let told = self.told.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let said: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
                if let (Some(name), Some(address)) = (said["listening"].as_str(), said["address"].as_str()) {
                    // Nobody waits for places any more once it serves.
                    let _ = sink.send((name.to_owned(), address.to_owned()));
                }
                let numbers = said.as_object().into_iter().flatten();
                let numbers: Numbers =
                    numbers.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect();
                if numbers.contains_key("agents") {
                    *told.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
                }
            }
        });
        match places.recv_timeout(LISTEN_WAIT) {
            Ok((name, address)) => {
                self.addresses.insert(name, address);
                Ok(())
            }
            Err(_) => Err(environment("the controller does not listen; it said why on its standard error")),
        }
    }

    fn numbers(&self) -> Numbers {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Running for SouthController {
    fn subject(&self) -> Option<Subject> {
        Some(Subject::Process { pid: self.child.id() })
    }

    fn addresses(&self) -> BTreeMap<String, String> {
        self.addresses.clone()
    }

    fn check(&mut self) -> Result<(), Trouble> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(sut(format!("the controller is gone: {status}"))),
            Err(error) => Err(environment(error)),
        }
    }

    fn look(&mut self) -> Numbers {
        self.numbers()
    }

    fn begin(&mut self) {
        self.at_begin = self.numbers();
    }

    /// Counters as differences, states as they are; what was lost while base stations came counts, too.
    fn end(&mut self, report: &mut Report) {
        for (name, now) in self.numbers() {
            let state = matches!(name.as_str(), "agents" | "ues" | "queued" | "leaked_bytes" | LOST);
            let then = if state { 0.0 } else { self.at_begin.get(&name).copied().unwrap_or(0.0) };
            report.numbers.insert(name, now - then);
        }
    }
}

impl Drop for SouthController {
    fn drop(&mut self) {
        // It keeps nothing: killing is enough.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Base stations and their UEs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SouthFleetPart {
    /// `flexran`, `mosaic`, `empower1` or `empower2`.
    pub protocol: String,
    /// The controller.
    pub connect: String,
    /// How many.
    pub nodes: u32,
    /// Number of the first one.
    pub first: u32,
    /// UEs of each.
    pub ues: u32,
    /// Reporting period, us; 0: as the controller asks.
    pub period_us: u64,
    /// Time until a UE comes, as a law.
    pub activation: String,
    /// Time until it goes, as a law.
    pub holding: String,
    /// Time over which they start, us.
    pub ramp_us: u64,
    /// Addresses to connect from, or empty.
    pub sources: String,
    /// Seed of everything random.
    pub seed: u64,
}

impl SouthFleetPart {
    /// One base station without UEs, which reports when it is asked.
    pub fn one(protocol: &str, connect: String, seed: u64) -> Self {
        Self {
            protocol: protocol.to_owned(),
            connect,
            nodes: 1,
            first: 0,
            ues: 0,
            period_us: 0,
            activation: "constant:0s".to_owned(),
            holding: "constant:500s".to_owned(),
            ramp_us: 0,
            sources: String::new(),
            seed,
        }
    }
}

/// A fleet that runs.
pub(crate) struct SouthFleet {
    fleet: SouthboundFleet,
    at_begin: SouthboundReport,
    nodes: u32,
    started: Instant,
    set_up_us: u64,
}

impl SouthFleet {
    pub(crate) async fn start(part: &SouthFleetPart) -> Result<Self, Trouble> {
        let protocol = match part.protocol.as_str() {
            "flexran" => Southbound::Flexran,
            "mosaic" => Southbound::Mosaic,
            "empower1" => Southbound::EmpowerV1,
            "empower2" => Southbound::EmpowerV2,
            other => return Err(rig(format!("\"{other}\" is no protocol of these base stations"))),
        };
        let controller: SocketAddr = parse(part.connect.trim_start_matches("tcp://"))?;
        let law = |text: &str| -> Result<Law, Trouble> { parse(text) };
        let marc = SouthboundConfig::marc(protocol, controller, part.nodes, part.ues, part.seed);
        let period = match part.period_us {
            0 => ReportPeriod::Honour,
            us => ReportPeriod::Override(Duration::from_micros(us)),
        };
        let config = SouthboundConfig {
            first: part.first,
            period,
            population: PopulationConfig {
                activation: law(&part.activation)?,
                holding: law(&part.holding)?,
                ..marc.population
            },
            sources: match part.sources.as_str() {
                "" => marc.sources.clone(),
                range => parse(range)?,
            },
            ramp: Duration::from_micros(part.ramp_us),
            ..marc
        };
        let mut fleet = SouthboundFleet::new(config);
        let started = Instant::now();
        // A controller that nobody reaches is the environment's fault, and found now.
        let first_word = fleet.first_word();
        let unreached = |error| environment(format!("cannot connect to {controller}: {error}"));
        let ramp_up = async {
            fleet.ramp_up().await;
            Ok(())
        };
        tokio::try_join!(async { first_word.await.map_err(unreached) }, ramp_up)?;
        Ok(Self { fleet, at_begin: SouthboundReport::default(), nodes: part.nodes, started, set_up_us: 0 })
    }
}

impl Running for SouthFleet {
    fn look(&mut self) -> Numbers {
        let report = self.fleet.report();
        if report.alive >= self.nodes && self.set_up_us == 0 {
            self.set_up_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        }
        [
            ("alive", f64::from(report.alive)),
            ("connected", f64::from(report.connected)),
            ("ues", report.ues as f64),
            ("set_up_us", self.set_up_us as f64),
            ("init_us", report.init_reporting_us.1 as f64),
            ("init_requests_us", report.init_requests_us.1 as f64),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn begin(&mut self) {
        self.at_begin = self.fleet.report();
        self.fleet.reset_meters();
    }

    fn end(&mut self, report: &mut Report) {
        let (then, now) = (self.at_begin, self.fleet.report());
        for (name, value) in [
            ("alive", f64::from(now.alive)),
            ("connected", f64::from(now.connected)),
            ("ues", now.ues as f64),
            ("announced_ues", now.announced_ues as f64),
            ("offered", (now.offered - then.offered) as f64),
            ("waiting", now.waiting as f64),
            ("waiting_bytes", now.waiting_bytes as f64),
            ("unacknowledged_bytes", now.unacknowledged_bytes as f64),
            ("refused", (now.refused - then.refused) as f64),
            ("sent", (now.sent - then.sent) as f64),
            ("sent_bytes", (now.sent_bytes - then.sent_bytes) as f64),
            ("reports", (now.reports - then.reports) as f64),
            ("received", (now.received - then.received) as f64),
            ("received_bytes", (now.received_bytes - then.received_bytes) as f64),
            ("dropped", (now.dropped - then.dropped) as f64),
            ("skipped", (now.skipped - then.skipped) as f64),
            ("reconnects", (now.reconnects - then.reconnects) as f64),
            ("faults", (now.faults - then.faults) as f64),
            ("lateness_us_p99", now.lateness_us_p99 as f64),
        ] {
            report.numbers.insert(name.to_owned(), value);
        }
    }
}
