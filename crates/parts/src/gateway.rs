//! A gateway: what arrives at one address goes on to another, message by message, whatever carries either side.
//!
//! With it a program that speaks SCTP meets one that speaks TCP: stock base stations our RIC, our base stations and xApps a
//! stock RIC, and two containers each other. SCTP is the kernel's (`sctp://`) or our preloaded library's (`shim://`).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use ranlab_sdk::transport::{Address, Listener, Passage, Proxy, ProxyError, SocketOptions, Tap};
use serde::Serialize;

use crate::folder::Folder;
use crate::worker::{Numbers, Trouble};
use crate::{Listen, Running, config, environment, numbers, rig};

/// Lines that wait to be told, at most; the oldest go.
const LINES_MAX: usize = 1_000;

config! {
    /// A gateway between transports.
    pub struct GatewayPart {
        /// where to listen; repeatable: the first --listen goes on to the first --connect, and so forth
        listen: Vec<Listen> = Vec::new(), wiring();
        /// where to; repeatable
        connect: Vec<Address> = Vec::new(), wiring();
    }
}

/// What a gateway did since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct GatewayReport {
    /// Connections that came, those that never spoke included: those open no connection on the other side.
    pub connections: u64,
    /// Those that spoke and were passed on.
    pub passed_on: u64,
    /// Messages from who connected.
    pub forth: u64,
    /// Octets of them.
    pub forth_bytes: u64,
    /// Messages to it.
    pub back: u64,
    /// Octets of them.
    pub back_bytes: u64,
    /// Connections that did not come to a regular end: the other side refused, a message was cut or too long.
    pub troubles: u64,
}

/// A gateway that runs.
pub struct Gateway {
    routes: Vec<Rc<Proxy>>,
    counted: Rc<Counted>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    _folder: Folder,
}

#[derive(Default)]
struct Counted(RefCell<Counts>);

#[derive(Default)]
struct Counts {
    report: GatewayReport,
    lines: VecDeque<String>,
}

/// What one route adds up.
struct Route {
    counted: Rc<Counted>,
    name: String,
    spoken: RefCell<BTreeSet<u64>>,
}

impl Tap for Route {
    fn pass(&self, passage: &Passage, batch: &mut Vec<Bytes>) {
        let mut counts = self.counted.0.borrow_mut();
        if passage.forth && self.spoken.borrow_mut().insert(passage.connection) {
            counts.report.passed_on += 1;
        }
        let report = &mut counts.report;
        let (messages, bytes) = match passage.forth {
            true => (&mut report.forth, &mut report.forth_bytes),
            false => (&mut report.back, &mut report.back_bytes),
        };
        *messages += batch.len() as u64;
        *bytes += batch.iter().map(|pdu| pdu.len() as u64).sum::<u64>();
    }

    fn trouble(&self, peer: Option<&str>, why: &ProxyError) {
        let mut counts = self.counted.0.borrow_mut();
        counts.report.troubles += 1;
        if counts.lines.len() >= LINES_MAX {
            counts.lines.pop_front();
        }
        counts.lines.push_back(format!("! {}: {why}", peer.unwrap_or(&self.name)));
    }
}

impl Gateway {
    /// Listens and passes on; needs a `LocalSet`.
    ///
    /// # Errors
    /// There is nothing to do, a --listen without its --connect, or it cannot listen there.
    pub async fn start(part: &GatewayPart) -> Result<Self, Trouble> {
        if part.listen.is_empty() || part.listen.len() != part.connect.len() {
            return Err(rig(format!(
                "each --listen needs its --connect, at least one of them; there are {} and {}",
                part.listen.len(),
                part.connect.len()
            )));
        }
        let mut folder = Folder::default();
        let (options, counted) = (SocketOptions::default(), Rc::new(Counted::default()));
        let (mut routes, mut tasks) = (Vec::new(), Vec::new());
        for (number, (listen, connect)) in part.listen.iter().zip(&part.connect).enumerate() {
            let place = folder.place(listen, &format!("gateway{number}"))?;
            let listener = Listener::bind(&place, &options).await.map_err(environment)?;
            let name = listener.address().to_string();
            let proxy = Proxy::new(listener, connect.clone(), options.clone());
            let tap = Rc::new(Route { counted: Rc::clone(&counted), name, spoken: RefCell::default() });
            routes.push(Rc::clone(&proxy));
            tasks.push(tokio::task::spawn_local(async move { proxy.serve(tap).await }));
        }
        Ok(Self { routes, counted, tasks, _folder: folder })
    }

    /// Where it listens, in the order of the routes.
    pub fn listening(&self) -> Vec<String> {
        self.routes.iter().map(|route| route.address().to_string()).collect()
    }

    /// What happened so far.
    pub fn report(&self) -> GatewayReport {
        let connections = self.routes.iter().map(|route| route.connections()).sum();
        GatewayReport { connections, ..self.counted.0.borrow().report }
    }

    /// What went wrong and was not told yet, a sentence each.
    pub fn troubles(&self) -> Vec<String> {
        self.counted.0.borrow_mut().lines.drain(..).collect()
    }
}

impl Running for Gateway {
    fn addresses(&self) -> BTreeMap<String, String> {
        let named = |(number, place): (usize, String)| (format!("gateway{number}"), place);
        self.listening().into_iter().enumerate().map(named).collect()
    }

    fn look(&mut self) -> Numbers {
        numbers(&self.report())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|task| task.abort());
    }
}
