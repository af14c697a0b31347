//! FlexRAN and 5G-EmPOWER in experiments: base stations ([`fleet`]) and controllers on sockets. Controllers use sockets like the published
//! controllers: with the buffer sizes of the kernel, one write per message, and disconnection of agents that do not read.
mod components;
mod controller;
pub mod empower;
mod fields;
pub mod fleet;
pub mod flexran;
mod http;
mod stations;
pub mod verbs;

pub use components::SDRAN;
pub use controller::{
    EmpowerComponent, FlexranComponent, SliceShare, SouthController, SouthControllerReport,
};
pub use fields::{Period, SdranNames, Share};
pub use fleet::{Incident, IncidentKind as SouthboundTrouble, Protocol};
pub use ranlab_sdran::flexran::controller::RibShare;
pub use stations::{Events, SouthDetail, SouthFleet, SouthFleetComponent};

use bytes::Bytes;
use ranlab_http::guard::Access;
use ranlab_machine::routes::{HttpProblem, Parameters, Routed};
use ranlab_machine::{Frame, LinkLoss, Time};
use ranlab_sdran::controller::{Action, Clock, ConnectionId, ControllerCounters};
use ranlab_transport::driver::{self, Driver, Machine, ReadInterest};
use ranlab_transport::{Address, BindError, SocketOptions};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of messages queued for one agent. If it is exceeded, the agent is disconnected.
const UNWRITTEN_MESSAGES: usize = 1_024;
/// Maximum number of connections. Further connections are closed immediately.
const MAX_CONNECTIONS: usize = 65_536;

/// Clock of the machine. It ignores the costs of messages and visits, because real work takes time by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WallClock;

impl Clock for WallClock {
    fn now(&mut self) -> Time {
        ranlab_transport::now()
    }
    fn message(&mut self, _octets: usize) {}
    fn visit(&mut self, _ues: usize) {}
    fn spend(&mut self, time: Duration) {
        let end = ranlab_transport::now() + time;
        while !time.is_zero() && ranlab_transport::now() < end {
            std::hint::spin_loop();
        }
    }
}

/// Progress of a request.
pub(crate) enum Progress {
    /// The request is completed with this response.
    Done(Value),
    /// The response is available when the order with this id has ended.
    Later(u64),
}

/// Handler of a route: parameters of the path, and the body.
pub(crate) type Handler<P> = fn(&mut P, &Parameters, &str) -> Result<Progress, HttpProblem>;

/// Controller, as used by the server.
pub(crate) trait ControllerLogic: Routed<Handler = Handler<Self>> {
    /// Text that describes the REST API of the controller.
    const DETAILS: &'static str;
    fn connected(&mut self, id: ConnectionId, source: &str);
    fn received(&mut self, id: ConnectionId, octets: &[u8]);
    fn closed(&mut self, id: ConnectionId);
    fn may_read(&mut self, id: ConnectionId) -> bool;
    fn poll(&mut self) -> Option<(ConnectionId, Action)>;
    fn not_reading(&mut self);
    /// Works for one time slice or one cycle.
    fn run(&mut self);
    /// Returns the time of the next run. A past time requests an immediate run.
    fn run_at(&self) -> Time;
    fn counters(&self) -> ControllerCounters;
    /// Returns the outcome of an order, or `None` while the order is pending.
    fn outcome(&mut self, _order: u64) -> Option<Result<Value, HttpProblem>> {
        Some(Err(HttpProblem::new(404, "this controller has no orders")))
    }
    /// Discards the outcome of an order.
    fn forget(&mut self, _order: u64) {}
}

/// Controller with its pending output.
pub(crate) struct Served<P> {
    pub(crate) policy: P,
    unwritten: BTreeMap<ConnectionId, VecDeque<Vec<u8>>>,
    connections: u64,
}

impl<P: ControllerLogic> Served<P> {
    fn admit(&mut self, peer: &str) -> Option<ConnectionId> {
        if self.unwritten.len() >= MAX_CONNECTIONS {
            return None;
        }
        let id = self.connections;
        self.connections += 1;
        self.unwritten.insert(id, VecDeque::new());
        match peer.parse() {
            Ok(Address::Tcp { host, .. }) => self.policy.connected(id, &host),
            _ => self.policy.connected(id, peer),
        }
        Some(id)
    }
}

impl<P: ControllerLogic> Machine for Served<P> {
    type Key = ConnectionId;
    type Event = ();
    const FRAMES_ITSELF: bool = true;

    fn received(&mut self, _: Time, id: ConnectionId, octets: Bytes) {
        self.policy.received(id, &octets);
    }
    fn disconnected(&mut self, now: Time, id: ConnectionId, _: LinkLoss) {
        self.closed(now, id);
    }
    fn closed(&mut self, _: Time, id: ConnectionId) {
        self.unwritten.remove(&id);
        self.policy.closed(id);
    }
    fn wake(&mut self, now: Time) {
        if self.policy.run_at() <= now {
            self.policy.run();
        }
    }
    fn wake_at(&self) -> Option<Time> {
        Some(self.policy.run_at())
    }
    fn poll(&mut self) -> Option<driver::Action<ConnectionId, ()>> {
        loop {
            let (key, action) = self.policy.poll()?;
            let Some(unwritten) = self.unwritten.get_mut(&key) else { continue };
            let reason = match action {
                Action::Send(octets) if unwritten.len() < UNWRITTEN_MESSAGES => {
                    unwritten.push_back(octets);
                    return Some(driver::Action::Transmit(key));
                }
                Action::Send(_) => {
                    self.policy.not_reading();
                    "the agent does not read"
                }
                Action::Close => "the controller closed the connection",
            };
            return Some(driver::Action::Close { key, reason: reason.to_owned() });
        }
    }
    fn transmit(&mut self, _: Time, id: ConnectionId) -> Option<Frame> {
        self.unwritten.get_mut(&id)?.pop_front().map(|octets| Frame::whole(octets.into()))
    }
    fn may_read(&mut self, id: ConnectionId) -> bool {
        self.policy.may_read(id)
    }
}

/// Handle of a running controller. The controller ends when its last handle is dropped.
pub(crate) struct Server<P: ControllerLogic> {
    driver: Rc<Driver<Served<P>>>,
    pub(crate) address: SocketAddr,
}

impl<P: ControllerLogic> Server<P> {
    /// Starts the server in tasks of the current thread.
    pub(crate) async fn start(policy: P, address: SocketAddr) -> Result<Self, BindError> {
        let served = Served { policy, unwritten: BTreeMap::new(), connections: 0 };
        let driver =
            Driver::start(served, SocketOptions::of_the_kernel(), usize::MAX, |()| ReadInterest::GoesOn);
        let place = Address::Tcp { host: address.ip().to_string(), port: address.port() };
        let bound = driver.listen(&place, |served: &mut Served<P>, _, peer| served.admit(peer)).await?;
        let port = if let Address::Tcp { port, .. } = bound { port } else { address.port() };
        Ok(Self { driver: Rc::new(driver), address: SocketAddr::new(address.ip(), port) })
    }

    /// Calls `look` with the controller.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&P) -> T) -> T {
        self.driver.read(|served| look(&served.policy))
    }

    /// Serves the REST API. Returns the bound address.
    pub(crate) async fn serve_http(&self, address: SocketAddr, access: Access) -> io::Result<SocketAddr> {
        Arc::new(http::server::<P>(self.driver.clone(), access)).serve(address).await
    }
}
