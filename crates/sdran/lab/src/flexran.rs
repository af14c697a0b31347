//! Socket server of the FlexRAN-style controller.
use super::{Policy, Server, WallClock};
use ranlab_http::Answer;
use ranlab_http::guard::Access;
use ranlab_machine::Time;
use ranlab_sdran::controller::{Action, ConnectionId, ControllerCounters};
use ranlab_sdran::flexran::controller::{
    AgentNode, FlexranController, FlexranControllerSettings, OrderError, resources,
};
use ranlab_transport::BindError;
use ranlab_transport::now;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;

/// Thread that runs the RIB updater and the applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ThreadUse {
    /// As published: a new thread per run and cycle. This accounts for most CPU usage of an idle FlexRAN, and
    /// explains why CPU usage falls when cycles become fewer.
    #[default]
    PerRun,
    /// The thread of the sockets.
    Inline,
}

/// REST port of the published controller.
pub const HTTP_PORT: u16 = 9999;

struct Served {
    controller: FlexranController,
    threads: ThreadUse,
    cycle: std::time::Duration,
    next: Time,
}

/// Running controller.
pub struct FlexranServer {
    server: Server<Served>,
}

impl FlexranServer {
    /// Starts listening for agents; needs a `LocalSet`.
    pub async fn start(
        settings: FlexranControllerSettings,
        threads: ThreadUse,
        address: SocketAddr,
    ) -> Result<Self, BindError> {
        let cycle = settings.cycle;
        let controller = FlexranController::new(settings);
        let served = Served { controller, threads, cycle, next: now() };
        Ok(Self { server: Server::start(served, address).await? })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Serves `/stats_manager/{all,enb_config,mac_stats}`, `/dl_sched`, `/rrm_config`, `/slice` and the other
    /// paths of `resources`, `/v1/counters` and `/healthz`, to requests that `access` accepts.
    pub async fn serve_http(&self, address: SocketAddr, access: Access) -> io::Result<SocketAddr> {
        self.server.serve_http(address, access).await
    }

    /// Calls `look` with the controller.
    pub fn read<T>(&self, look: impl FnOnce(&FlexranController) -> T) -> T {
        self.server.read(|served| look(&served.controller))
    }
}

impl Policy for Served {
    fn connected(&mut self, id: ConnectionId, _source: &str) {
        self.controller.connected(id);
    }
    fn received(&mut self, id: ConnectionId, octets: &[u8]) {
        self.controller.received(id, octets);
    }
    fn closed(&mut self, id: ConnectionId) {
        self.controller.closed(id);
    }
    fn may_read(&mut self, _id: ConnectionId) -> bool {
        self.controller.may_read()
    }
    fn poll(&mut self) -> Option<(ConnectionId, Action)> {
        self.controller.poll()
    }
    fn not_reading(&mut self) {
        self.controller.not_reading();
    }
    fn run(&mut self) {
        let controller = &mut self.controller;
        match self.threads {
            ThreadUse::Inline => controller.cycle(&mut WallClock),
            ThreadUse::PerRun => {
                controller.begin_cycle(&mut WallClock);
                if in_thread(|| controller.update_rib(&mut WallClock)) {
                    in_thread(|| controller.run_applications(&mut WallClock));
                }
            }
        }
        // As published: missed ticks are skipped.
        while self.next <= now() {
            self.next += self.cycle;
        }
    }
    fn run_at(&self) -> Time {
        self.next
    }
    fn counters(&self) -> ControllerCounters {
        *self.controller.counters()
    }
    fn answer(&mut self, method: &str, path: &str, body: &str) -> Answer {
        match method {
            "POST" => self.order(path, body),
            _ => self.response(path).into(),
        }
    }
    fn outcome(&mut self, order: u64) -> Option<Answer> {
        Some(match self.controller.outcome(order)? {
            Ok(()) => Answer::Known(json!({ "done": true })),
            Err(why) => Answer::Refused(409, why),
        })
    }
    fn forget(&mut self, order: u64) {
        self.controller.forget(order);
    }
}

impl Served {
    fn order(&mut self, path: &str, body: &str) -> Answer {
        let (station, order) = match resources::read(path, body) {
            None => return Answer::Unknown,
            Some(Err((status, why))) => return Answer::Refused(status, why),
            Some(Ok(asked)) => asked,
        };
        match self.controller.order(station, &order) {
            Ok(ticket) => Answer::Later(ticket),
            Err(error) => {
                let status = match error {
                    OrderError::NoStation(..) | OrderError::Nobody => 404,
                    OrderError::Central(_) => 409,
                    _ => 503,
                };
                Answer::Refused(status, error.to_string())
            }
        }
    }

    fn response(&self, path: &str) -> Option<Value> {
        let rib = self.controller.rib();
        let agents = |of: fn(u64, &AgentNode) -> Value| -> Value {
            rib.agents().iter().map(|(id, agent)| of(*id, agent)).collect()
        };
        match path {
            "/stats_manager/enb_config" => Some(json!({ "eNB_config": agents(configuration) })),
            "/stats_manager/mac_stats" => Some(json!({ "mac_stats": agents(statistics) })),
            "/stats_manager/all" => Some(json!({
                "eNB_config": agents(configuration),
                "mac_stats": agents(statistics),
                "monitor": self.controller.seen(),
                "rib_share": self.controller.share(),
                "held_bytes": self.controller.held_bytes(),
            })),
            "/dl_sched" => {
                let (decisions, base_stations) = self.controller.scheduled();
                Some(json!({ "base_stations": base_stations, "decisions": decisions }))
            }
            _ => None,
        }
    }
}

/// Runs a closure in a new thread.
fn in_thread<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn configuration(id: u64, agent: &AgentNode) -> Value {
    let cells = agent.config.cell_config.iter().map(|cell| {
        json!({ "phyCellId": cell.phy_cell_id, "dlBandwidth": cell.dl_bandwidth, "ulBandwidth": cell.ul_bandwidth })
    });
    json!({
        "agent_id": id,
        "eNBId": agent.config.enb_id,
        "alive": agent.alive,
        "cellConfig": cells.collect::<Value>(),
        "ues": agent.ues.len(),
    })
}

fn statistics(id: u64, agent: &AgentNode) -> Value {
    let ues = agent.ues.iter().map(|(rnti, ue)| {
        let cqi = ue.report.as_ref().and_then(|report| report.dl_cqi_report.as_ref());
        let sfn = cqi.and_then(|cqi| cqi.sfn_sn);
        json!({ "rnti": rnti, "reported": ue.report.is_some(), "sfnSn": sfn, "lcs": ue.logical_channels.len() })
    });
    json!({ "agent_id": id, "reports": agent.reports, "ue_mac_stats": ues.collect::<Value>() })
}
