//! Socket server of the 5G-EmPOWER-style controller.
use super::{ControllerLogic, Handler, Progress, Server, WallClock};
use ranlab_http::guard::Access;
use ranlab_machine::Time;
use ranlab_machine::routes::{HttpProblem, Parameters};
use ranlab_sdran::controller::{Action, ConnectionId, ControllerCounters};
use ranlab_sdran::empower::controller::{EmpowerController, EmpowerControllerSettings, Vbs};
use ranlab_sdran::empower::protocol::Mac;
use ranlab_transport::BindError;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// REST port of the published 5G-EmPOWER controller.
pub const HTTP_PORT: u16 = 8888;
/// Maximum time that the controller works between two polls of the sockets.
const SLICE: Duration = Duration::from_millis(5);

struct Served(EmpowerController);

/// Running controller.
pub struct EmpowerServer {
    server: Server<Served>,
}

impl EmpowerServer {
    /// Starts listening for base stations. The caller must run in a `LocalSet`.
    pub async fn start(settings: EmpowerControllerSettings, address: SocketAddr) -> Result<Self, BindError> {
        let served = Served(EmpowerController::new(settings));
        Ok(Self { server: Server::start(served, address).await? })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Serves the paths of the published controller, `/v1/counters`, `/openapi.json` and `/healthz`, to requests that `access`
    /// accepts.
    pub async fn serve_http(&self, address: SocketAddr, access: Access) -> io::Result<SocketAddr> {
        self.server.serve_http(address, access).await
    }

    /// Returns the server of the REST API.
    #[cfg(test)]
    pub(crate) fn rest(&self, access: Access) -> ranlab_http::server::Server {
        crate::http::server(self.server.driver.clone(), access)
    }

    /// Calls `look` with the controller.
    pub fn read<T>(&self, look: impl FnOnce(&EmpowerController) -> T) -> T {
        self.server.read(|served| look(&served.0))
    }
}

impl ControllerLogic for Served {
    const DETAILS: &'static str = include_str!("../openapi/empower.json");

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
}

ranlab_machine::routes! {
    impl Served: Handler<Served>, at "", faults [401, 403, 405, 421, 503] {
        Get "/api/v1/vbses" vbses -> 200: Vbses, Operator, "base stations";
        Post "/api/v1/vbses" register(NewVbs as Raw) -> 200, Operator or [404], "register a base station by its MAC address";
        Get "/api/v1/vbses/{addr}" vbs -> 200: Vbs, Operator, "one base station, by its MAC address";
    }
}

impl Served {
    fn vbses(&mut self, _: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        Ok(Progress::Done(self.0.stations().iter().map(|(mac, station)| vbs(*mac, station)).collect()))
    }

    fn register(&mut self, _: &Parameters, body: &str) -> Result<Progress, HttpProblem> {
        let body: Option<Value> = serde_json::from_str(body).ok();
        let mac = body.and_then(|body| body.get("addr")?.as_str()?.parse::<Mac>().ok());
        let mac =
            mac.ok_or_else(|| HttpProblem::new(404, "invalid body; expected {\"addr\": a MAC address}"))?;
        self.0.register(mac);
        Ok(Progress::Done(json!({ "registered": mac.to_string() })))
    }

    fn vbs(&mut self, parameters: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        let text = parameters.text("addr");
        let found = text.parse().ok().and_then(|mac| Some(vbs(mac, self.0.stations().get(&mac)?)));
        found
            .map(Progress::Done)
            .ok_or_else(|| HttpProblem::new(404, format!("there is no base station {text:?}")))
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
