//! Test workers. They implement the worker protocol over TCP, but run no component and report what a test specifies.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::worker::{MachineReport, ProcessReport, Report, WorkerTrust};
use crate::{Registry, RigContext, WorkerLocation};
use ranlab_campaign::plan::Point;
use ranlab_campaign::rig::{Rig, Run, Stop};
use ranlab_campaign::schema::Presence;
use ranlab_campaign::value::Value;
use serde_json::{Value as Json, json};

use crate::experiment::harness::{Account, ComponentReport, Window};

/// Requests to test workers, in the order of their responses: `load start`, `load begin`, ….
pub type Log = Arc<Mutex<Vec<String>>>;

/// Behaviour of a simulated component.
#[derive(Clone, Default)]
pub struct FakeBehaviour {
    /// Values of each snapshot.
    pub look: BTreeMap<&'static str, f64>,
    /// Addresses on which the component listens.
    pub addresses: BTreeMap<&'static str, &'static str>,
    /// Report of a window.
    pub report: Report,
    /// Whether the component is dead at the first snapshot in a window.
    pub dies: bool,
    /// Whether the component's connection ends at the first snapshot in a window.
    pub vanishes: bool,
    /// Stops the campaign when the first window begins.
    pub stops: Option<Stop>,
}

/// Starts a test worker; returns its location.
pub fn worker(role: &'static str, acts: FakeBehaviour, log: &Log) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", listener.local_addr().unwrap());
    let log = log.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let acts = acts.clone();
            let log = log.clone();
            std::thread::spawn(move || serve(&stream.unwrap(), role, &acts, &log));
        }
    });
    place
}

fn serve(stream: &TcpStream, role: &str, acts: &FakeBehaviour, log: &Log) {
    let mut out = stream;
    let mut open = false;
    stream.set_nodelay(true).unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let request: Json = serde_json::from_str(&line).unwrap();
        let op = request["op"].as_str().unwrap();
        let answer = match op {
            "hello" => json!({"version": env!("CARGO_PKG_VERSION"), "pid": 1, "cpus": 2}),
            "clock" => json!({"unix_ns": 0}),
            "start" => json!({"addresses": acts.addresses, "pid": null}),
            "look" => json!(acts.look),
            "end" => json!(acts.report),
            _ => Json::Null,
        };
        if !matches!(op, "hello" | "clock" | "look") {
            log.lock().unwrap().push(format!("{role} {op}"));
        }
        if op == "begin" {
            open = true;
            acts.stops.iter().for_each(Stop::request_stop);
        }
        if acts.vanishes && open && op == "look" {
            return stream.shutdown(std::net::Shutdown::Both).unwrap();
        }
        let dead = json!({"error": {"fault": "sut", "what": format!("the {role} has ended")}});
        let reply = if acts.dies && open && op == "look" { dead } else { json!({"ok": answer}) };
        if out.write_all(format!("{reply}\n").as_bytes()).is_err() || op == "stop" {
            return;
        }
    }
}

/// Starts a worker like `ranlab worker --listen` in this process: it runs real components and has no trusted
/// peers.
pub fn real(registry: Registry) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            let input = stream.try_clone().unwrap();
            std::thread::spawn(move || crate::worker::serve(input, stream, WorkerTrust::PartsOnly, registry));
        }
    });
    place
}

/// Returns a window with the report of one component.
pub fn window<'a>(lab: &'a RigContext, side: Account, role: &'static str, report: Report) -> Window<'a> {
    let taken = ComponentReport {
        side,
        role,
        clock_error_us: 0.0,
        clock_drift_us: 0.0,
        addresses: BTreeMap::new(),
        places: vec![(WorkerLocation::Local, report.clone())],
        report,
    };
    Window { lab, taken: vec![taken] }
}

/// Returns a report of one second in which a process used `cpu_s` on a machine with two CPUs that were busy
/// for `busy_s`.
pub fn report(cpu_s: f64, busy_s: f64, numbers: &[(&str, f64)]) -> Report {
    Report {
        wall_s: 1.0,
        process: Some(ProcessReport { cpu_s, ..ProcessReport::default() }),
        machine: Some(MachineReport { cpus: 2, busy_s, ..MachineReport::default() }),
        numbers: numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..Report::default()
    }
}

/// Returns a point with a rig's defaults and these settings.
pub fn point(rig: &dyn Rig, set: &[(&str, Value)]) -> Point {
    let defaults = rig.describe().keys.into_iter().filter_map(|key| match key.presence {
        Presence::Default(value) => Some((key.path, value)),
        Presence::Required | Presence::Optional => None,
    });
    let mut settings: BTreeMap<String, Value> = defaults.collect();
    settings.extend(set.iter().map(|(path, value)| ((*path).to_owned(), value.clone())));
    Point { index: 0, axes: Vec::new(), settings }
}

/// Returns a short run of a point.
pub fn run(point: &Point) -> Run<'_> {
    Run::new(point, 0, 1, Duration::from_millis(10))
}
