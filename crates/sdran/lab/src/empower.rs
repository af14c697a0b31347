//! Socket server of the 5G-EmPOWER-style controller.
use super::{Policy, Server, WallClock};
use ranlab_http::Answer;
use ranlab_http::guard::Access;
use ranlab_machine::Time;
use ranlab_sdran::controller::{Action, ConnectionId, ControllerCounters};
use ranlab_sdran::empower::controller::{EmpowerController, EmpowerControllerSettings, Vbs};
use ranlab_sdran::empower::protocol::Mac;
use ranlab_transport::BindError;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// REST port of the published controller.
pub const HTTP_PORT: u16 = 8888;
/// Maximum time of work between two polls of the sockets.
const SLICE: Duration = Duration::from_millis(5);

struct Served(EmpowerController);

/// Running controller.
pub struct EmpowerServer {
    server: Server<Served>,
}

impl EmpowerServer {
    /// Starts listening for base stations; needs a `LocalSet`.
    pub async fn start(settings: EmpowerControllerSettings, address: SocketAddr) -> Result<Self, BindError> {
        let served = Served(EmpowerController::new(settings));
        Ok(Self { server: Server::start(served, address).await? })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Serves `/api/v1/vbses` (GET, and POST `{"addr": "…"}` to register), `/v1/counters` and `/healthz`, to
    /// requests that `access` accepts.
    pub async fn serve_http(&self, address: SocketAddr, access: Access) -> io::Result<SocketAddr> {
        self.server.serve_http(address, access).await
    }

    /// Calls `look` with the controller.
    pub fn read<T>(&self, look: impl FnOnce(&EmpowerController) -> T) -> T {
        self.server.read(|served| look(&served.0))
    }
}

impl Policy for Served {
    fn connected(&mut self, id: ConnectionId, source: &str) {
        self.0.connected(id, source);
    }
    fn received(&mut self, id: ConnectionId, octets: &[u8]) {
        self.0.received(id, octets);
    }
    fn closed(&mut self, id: ConnectionId) {
        self.0.closed(id);
    }
    fn may_read(&mut self, id: ConnectionId) -> bool {
        self.0.may_read(id)
    }
    fn poll(&mut self) -> Option<(ConnectionId, Action)> {
        self.0.poll()
    }
    fn not_reading(&mut self) {
        self.0.not_reading();
    }
    fn run(&mut self) {
        self.0.work(&mut WallClock, SLICE);
    }
    fn run_at(&self) -> Time {
        self.0.wake_at()
    }
    fn counters(&self) -> ControllerCounters {
        *self.0.counters()
    }
    fn answer(&mut self, method: &str, path: &str, body: &str) -> Answer {
        self.response(method, path, body).into()
    }
}

impl Served {
    fn response(&mut self, method: &str, path: &str, body: &str) -> Option<Value> {
        let rest = path.strip_prefix("/api/v1/vbses")?;
        match (method, rest.trim_matches('/')) {
            ("POST", "") => {
                let body: Value = serde_json::from_str(body).ok()?;
                let mac: Mac = body.get("addr")?.as_str()?.parse().ok()?;
                self.0.register(mac);
                Some(json!({ "registered": mac.to_string() }))
            }
            ("GET", "") => Some(self.0.stations().iter().map(|(mac, station)| vbs(*mac, station)).collect()),
            ("GET", mac) => {
                let mac: Mac = mac.parse().ok()?;
                self.0.stations().get(&mac).map(|station| vbs(mac, station))
            }
            _ => None,
        }
    }
}

fn vbs(mac: Mac, station: &Vbs) -> Value {
    json!({
        "addr": mac.to_string(),
        "state": if station.online { "online" } else { "disconnected" },
        "pci": station.pci,
        "prbs": station.prbs,
        "ues": station.ues.values().collect::<Vec<_>>(),
        "slices": station.slices.iter().map(|(dscp, rbgs)| json!({ "dscp": dscp, "rbgs": rbgs })).collect::<Value>(),
    })
}
