//! A gateway that forwards messages between two addresses, over any pair of transports.
//!
//! It connects programs that speak SCTP with programs that speak TCP. Examples are unmodified base stations with our
//! RIC, our base stations and xApps with an unmodified RIC, or two containers. SCTP is the kernel's (`sctp://`) or that
//! of our preloaded library (`shim://`).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use ranlab_transport::{Address, Listener, Proxy, ProxyDirection, ProxyError, ProxyObserver, SocketOptions};
use serde::Serialize;

use crate::folder::Folder;
use crate::worker::{ComponentError, Counters};
use crate::{Listen, RunningComponent, config, environment, numbers, rig};

/// Maximum number of pending log lines. The oldest are dropped.
const LINES_MAX: usize = 1_000;

config! {
    /// A gateway between transports.
    pub struct GatewayComponent {
        /// address on which connections are accepted; repeatable: the first --listen is forwarded to the first
        /// --connect, and so on
        listen: Vec<Listen> = Vec::new(), wiring();
        /// address to which connections are forwarded; repeatable
        connect: Vec<Address> = Vec::new(), wiring();
    }
}

/// Counters of a gateway since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct GatewayReport {
    /// Connections accepted. Includes connections that never send a message, for which no connection to the other side
    /// is opened.
    pub connections: u64,
    /// Connections that sent a message and were forwarded.
    pub passed_on: u64,
    /// Messages from the connecting side.
    pub forth: u64,
    /// Bytes of the messages from the connecting side.
    pub forth_bytes: u64,
    /// Messages to the connecting side.
    pub back: u64,
    /// Bytes of the messages to the connecting side.
    pub back_bytes: u64,
    /// Connections that ended with an error: the other side refused, or a message was truncated or too long.
    pub troubles: u64,
}

/// A running gateway.
pub struct Gateway {
    routes: Vec<Rc<Proxy>>,
    counted: Rc<ForwardingCounters>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    _folder: Folder,
}

#[derive(Default)]
struct ForwardingCounters(RefCell<Counts>);

#[derive(Default)]
struct Counts {
    report: GatewayReport,
    lines: VecDeque<String>,
}

/// Counters of one route.
struct Route {
    counted: Rc<ForwardingCounters>,
    name: String,
    spoken: RefCell<BTreeSet<u64>>,
}

impl ProxyObserver for Route {
    fn pass(&self, passage: &ProxyDirection, batch: &mut Vec<Bytes>) {
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
    /// Listens and forwards. Needs a `LocalSet`.
    ///
    /// # Errors
    /// There is no route, a `--listen` lacks its `--connect`, or an address cannot be bound.
    pub async fn start(part: &GatewayComponent) -> Result<Self, ComponentError> {
        if part.listen.is_empty() || part.listen.len() != part.connect.len() {
            return Err(rig(format!(
                "a gateway needs a --connect for each --listen, and at least one pair; there are {} --listen and {} --connect",
                part.listen.len(),
                part.connect.len()
            )));
        }
        let mut folder = Folder::default();
        let options = SocketOptions::default();
        let counted = Rc::new(ForwardingCounters::default());
        let mut routes = Vec::new();
        let mut tasks = Vec::new();
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

    /// Returns the addresses on which it listens, in the order of the routes.
    pub fn listening(&self) -> Vec<String> {
        self.routes.iter().map(|route| route.address().to_string()).collect()
    }

    /// Returns the counters so far.
    pub fn report(&self) -> GatewayReport {
        let connections = self.routes.iter().map(|route| route.connections()).sum();
        GatewayReport { connections, ..self.counted.0.borrow().report }
    }

    /// Returns and removes the pending error lines.
    pub fn troubles(&self) -> Vec<String> {
        self.counted.0.borrow_mut().lines.drain(..).collect()
    }
}

impl RunningComponent for Gateway {
    fn addresses(&self) -> BTreeMap<String, String> {
        let named = |(number, place): (usize, String)| (format!("gateway{number}"), place);
        self.listening().into_iter().enumerate().map(named).collect()
    }

    fn counters(&mut self) -> Counters {
        numbers(&self.report())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|task| task.abort());
    }
}
