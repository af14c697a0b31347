//! Workers of the tests: they speak the protocol over TCP, hold no part, and report what a test says.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ranlab_campaign::plan::Point;
use ranlab_campaign::rig::{Rig, Run, Stop};
use ranlab_campaign::schema::Presence;
use ranlab_campaign::value::Value;
use ranlab_parts::worker::{MachineReport, ProcessReport, Report, Trust};
use ranlab_parts::{Host, Lab};
use serde_json::{Value as Json, json};

use crate::harness::{Side, Taken, Window};

/// What fake workers were asked, in the order of their answers: `load start`, `load begin`, ….
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// What a fake part does.
#[derive(Clone, Default)]
pub(crate) struct Acts {
    /// Its numbers whenever it is looked at.
    pub(crate) look: BTreeMap<&'static str, f64>,
    /// Where it listens.
    pub(crate) addresses: BTreeMap<&'static str, &'static str>,
    /// What it reports of a window.
    pub(crate) report: Report,
    /// It is dead at the first look in a window.
    pub(crate) dies: bool,
    /// Its connection ends at the first look in a window.
    pub(crate) vanishes: bool,
    /// Somebody stops the campaign when its first window begins.
    pub(crate) stops: Option<Stop>,
}

/// A worker that acts; its place.
pub(crate) fn worker(role: &'static str, acts: Acts, log: &Log) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", listener.local_addr().unwrap());
    let log = log.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (acts, log) = (acts.clone(), log.clone());
            std::thread::spawn(move || serve(&stream.unwrap(), role, &acts, &log));
        }
    });
    place
}

fn serve(stream: &TcpStream, role: &str, acts: &Acts, log: &Log) {
    let (mut out, mut open) = (stream, false);
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
            acts.stops.iter().for_each(Stop::wish);
        }
        if acts.vanishes && open && op == "look" {
            return stream.shutdown(std::net::Shutdown::Both).unwrap();
        }
        let dead = json!({"error": {"fault": "sut", "what": format!("the {role} is gone")}});
        let reply = if acts.dies && open && op == "look" { dead } else { json!({"ok": answer}) };
        if out.write_all(format!("{reply}\n").as_bytes()).is_err() || op == "stop" {
            return;
        }
    }
}

/// A worker as `ranlab worker --listen` is one, in this process: it holds real parts, and trusts nobody.
pub(crate) fn real() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            let input = stream.try_clone().unwrap();
            std::thread::spawn(move || ranlab_parts::worker::serve(input, stream, Trust::PartsOnly));
        }
    });
    place
}

/// A window in which one part did what a test says.
pub(crate) fn window<'a>(lab: &'a Lab, side: Side, role: &'static str, report: Report) -> Window<'a> {
    let taken = Taken {
        side,
        role,
        clock_error_us: 0.0,
        clock_drift_us: 0.0,
        addresses: BTreeMap::new(),
        places: vec![(Host::Local, report.clone())],
        report,
    };
    Window { lab, taken: vec![taken] }
}

/// A report of a second in which a process used `cpu_s` of a machine with two CPUs that were busy for `busy_s`.
pub(crate) fn report(cpu_s: f64, busy_s: f64, numbers: &[(&str, f64)]) -> Report {
    Report {
        wall_s: 1.0,
        process: Some(ProcessReport { cpu_s, ..ProcessReport::default() }),
        machine: Some(MachineReport { cpus: 2, busy_s, ..MachineReport::default() }),
        numbers: numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..Report::default()
    }
}

/// A point with a rig's defaults and what a test sets.
pub(crate) fn point(rig: &dyn Rig, set: &[(&str, Value)]) -> Point {
    let defaults = rig.describe().keys.into_iter().filter_map(|key| match key.presence {
        Presence::Default(value) => Some((key.path, value)),
        Presence::Required | Presence::Optional => None,
    });
    let mut settings: BTreeMap<String, Value> = defaults.collect();
    settings.extend(set.iter().map(|(path, value)| ((*path).to_owned(), value.clone())));
    Point { index: 0, axes: Vec::new(), settings }
}

/// A short run of it.
pub(crate) fn run(point: &Point) -> Run<'_> {
    Run::new(point, 0, 1, Duration::from_millis(10))
}
