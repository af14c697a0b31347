//! Single-threaded model of the fast path of a driver with several threads.
use bytes::Bytes;
use ranlab_e2::ric::{Bypass, ConnId, ExternalOutbox, ListenerProtocol, Ric, Route, RouteTable};
use ranlab_e2::{FlowId, Frame, Outbox, OutboxCounters, OutboxFull, Time};
use ranlab_e2_codec::e2ap::RicRequestId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

type Shared = Arc<Mutex<Outbox>>;
type Table = Arc<Mutex<RouteTable<Shared>>>;

/// Outboxes of xApps and routes of base stations, by connection.
#[derive(Debug, Default)]
pub struct Beside {
    outboxes: Arc<Mutex<BTreeMap<ConnId, Shared>>>,
    tables: BTreeMap<ConnId, Table>,
    /// Number of indications on the fast path.
    pub passed: u64,
}

impl Beside {
    pub fn connected(&mut self, ric: &mut Ric, conn: ConnId, side: ListenerProtocol) {
        match side {
            ListenerProtocol::E42 => {
                ric.let_out(conn, |limits| {
                    let outbox = Shared::new(Mutex::new(Outbox::new(limits)));
                    self.outboxes.lock().unwrap().insert(conn, outbox.clone());
                    Box::new(Out(outbox))
                });
            }
            ListenerProtocol::E2 => {
                let table = self.tables.entry(conn).or_default().clone();
                let outboxes = self.outboxes.clone();
                let last = None;
                ric.let_pass(conn, Box::new(Pass { table, outboxes, last }));
            }
        }
    }

    /// Drops the outbox and the routes of a closed connection, with the messages that its peer has not read.
    pub fn disconnected(&mut self, conn: ConnId) {
        self.outboxes.lock().unwrap().remove(&conn);
        self.tables.remove(&conn);
    }

    /// Returns whether a PDU of a base station took the fast path.
    pub fn passes(&mut self, now: Time, conn: ConnId, pdu: &Bytes) -> bool {
        let Some(table) = self.tables.get(&conn) else { return false };
        let passed = table.lock().unwrap().pass(now, pdu, |outbox, flow, frame| {
            outbox.lock().unwrap().push_indication(now, flow, frame);
        });
        self.passed += u64::from(passed);
        passed
    }

    pub fn all(&self) -> Vec<ConnId> {
        self.outboxes.lock().unwrap().keys().copied().collect()
    }

    /// Returns the next frame for an xApp whose outbox is here.
    pub fn next(&self, now: Time, conn: ConnId) -> Option<Frame> {
        self.outboxes.lock().unwrap().get(&conn)?.lock().unwrap().pop(now)
    }
}

#[derive(Debug)]
struct Out(Shared);

impl ExternalOutbox for Out {
    fn push_held(&mut self, frame: Frame, due: Time) -> Result<(), OutboxFull> {
        self.0.lock().unwrap().push_held(frame, due)
    }
    fn push_indication(&mut self, now: Time, flow: FlowId, frame: Frame) {
        self.0.lock().unwrap().push_indication(now, flow, frame);
    }
    fn forget(&mut self, flow: FlowId) {
        self.0.lock().unwrap().forget(flow);
    }
    fn counters(&self) -> OutboxCounters {
        self.0.lock().unwrap().counters()
    }
    fn queued_bytes(&self) -> usize {
        self.0.lock().unwrap().queued_bytes()
    }
    fn blocked_since(&self) -> Option<Time> {
        None
    }
}

#[derive(Debug)]
struct Pass {
    table: Table,
    outboxes: Arc<Mutex<BTreeMap<ConnId, Shared>>>,
    last: Option<Time>,
}

impl Bypass for Pass {
    fn set(&mut self, route: &Route) {
        let outboxes = self.outboxes.lock().unwrap();
        let lanes = route.sinks.iter().map(|sink| outboxes.get(&sink.conn).cloned()).collect();
        self.table.lock().unwrap().set(route, lanes);
    }
    fn clear(&mut self, id: RicRequestId) {
        self.table.lock().unwrap().clear(id);
    }
    fn clear_all(&mut self) {
        self.table.lock().unwrap().clear_all();
    }
    fn last(&self) -> Option<Time> {
        self.last
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.clear_all();
    }
}
