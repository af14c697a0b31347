//! Socket server of the FlexRAN-style controller.
use super::{ControllerLogic, Handler, Progress, Server, WallClock};
use ranlab_http::guard::Access;
use ranlab_machine::Time;
use ranlab_machine::routes::{HttpProblem, Parameters};
use ranlab_sdran::controller::{Action, ConnectionId, ControllerCounters};
use ranlab_sdran::flexran::controller::{
    AgentNode, Command, FlexranController, FlexranControllerSettings, OrderError, resources,
};
use ranlab_transport::BindError;
use ranlab_transport::now;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;

/// Thread that runs the RIB updater and the applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ThreadUse {
    /// A new thread per run and cycle, as published. This accounts for most CPU usage of an idle FlexRAN controller. It explains why the
    /// CPU usage decreases if there are fewer cycles.
    #[default]
    PerRun,
    /// The thread that serves the sockets.
    Inline,
}

/// REST port of the published FlexRAN controller.
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
    /// Starts listening for agents. The caller must run in a `LocalSet`.
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

    /// Serves the paths of the published controllers, `/v1/counters`, `/openapi.json` and `/healthz`, to requests that `access`
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
    pub fn read<T>(&self, look: impl FnOnce(&FlexranController) -> T) -> T {
        self.server.read(|served| look(&served.controller))
    }
}

impl ControllerLogic for Served {
    const DETAILS: &'static str = include_str!("../openapi/flexran.json");

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
        // Missed ticks are skipped, as in the published controller.
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
    fn outcome(&mut self, order: u64) -> Option<Result<Value, HttpProblem>> {
        let outcome = self.controller.outcome(order)?;
        Some(outcome.map(|()| json!({ "done": true })).map_err(|why| HttpProblem::new(409, why)))
    }
    fn forget(&mut self, order: u64) {
        self.controller.forget(order);
    }
}

ranlab_machine::routes! {
    impl Served: Handler<Served>, at "", faults [401, 403, 405, 421, 503] {
        Get "/stats_manager/all" stats -> 200, Operator,
            "configuration and statistics of all base stations, the counters of the monitor, and the share of the RIB updater";
        Get "/stats_manager/enb_config" enb_config -> 200, Operator, "configuration of all base stations";
        Get "/stats_manager/mac_stats" mac_stats -> 200, Operator, "statistics of all base stations";
        Get "/dl_sched" dl_sched -> 200, Operator, "number of base stations scheduled here, and of decisions";
        Post "/dl_sched/{mode}" schedule(Nothing as Raw) -> 200, Operator or [409, 504],
            "this controller (1) or the base stations (0) schedule the downlink";
        Post "/dl_sched/{mode}/enb/{enb}" schedule_enb = schedule(Nothing as Raw) -> 200, Operator or [409, 504],
            "this controller (1) or one base station (0) schedules the downlink of that base station";
        Post "/rrm_config" rrm_config(Policy as Raw) -> 200, Operator or [409, 422, 504],
            "change the base stations' own scheduler by a policy in YAML: behaviour, slices";
        Post "/rrm_config/enb/{enb}" rrm_config_enb = rrm_config(Policy as Raw) -> 200, Operator or [409, 422, 504],
            "change the scheduler of one base station by a policy in YAML: behaviour, slices";
        Post "/delegate/{name}" delegate(Code as Raw) -> 200, Operator or [409, 504],
            "push a scheduler that policies may name";
        Post "/delegate/{name}/enb/{enb}" delegate_enb = delegate(Code as Raw) -> 200, Operator or [409, 504],
            "push a scheduler, which policies may name, to one base station";
        Post "/slice" slice(Slices as Raw) -> 200, Operator or [400, 409, 422, 504], "set slices, in resource block groups";
        Post "/slice/enb/{enb}" slice_enb = slice(Slices as Raw) -> 200, Operator or [400, 409, 422, 504],
            "set slices of one base station, in resource block groups";
        Post "/ue_slice_assignment" assign(Assignment as Raw) -> 200, Operator or [400, 409, 422, 504],
            "associate UEs with slices";
        Post "/ue_slice_assignment/enb/{enb}" assign_enb = assign(Assignment as Raw) -> 200,
            Operator or [400, 409, 422, 504], "associate UEs of one base station with slices";
        Post "/rrc/ho/senb/{source}/ue/{rnti}/tenb/{target}" hand_over(Nothing as Raw) -> 200, Operator or [409, 504],
            "hand a UE over from one base station to another";
    }
}

impl Served {
    fn schedule(&mut self, parameters: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        self.order(parameters, resources::schedule(parameters.text("mode")))
    }

    fn rrm_config(&mut self, parameters: &Parameters, body: &str) -> Result<Progress, HttpProblem> {
        self.order(parameters, resources::policy(body))
    }

    fn delegate(&mut self, parameters: &Parameters, body: &str) -> Result<Progress, HttpProblem> {
        let order = Command::Delegate(parameters.text("name").to_owned(), body.to_owned().into());
        self.order(parameters, Ok(order))
    }

    fn slice(&mut self, parameters: &Parameters, body: &str) -> Result<Progress, HttpProblem> {
        self.order(parameters, resources::slices(body))
    }

    fn assign(&mut self, parameters: &Parameters, body: &str) -> Result<Progress, HttpProblem> {
        self.order(parameters, resources::assignment(body))
    }

    fn hand_over(&mut self, parameters: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        let order = resources::hand_over(parameters.text("rnti"), parameters.text("target"))?;
        self.send(Some(resources::station(parameters.text("source"))?), &order)
    }

    /// Sends an order to the base station of a request, or to all base stations if the request names none.
    fn order(
        &mut self,
        parameters: &Parameters,
        order: Result<Command, HttpProblem>,
    ) -> Result<Progress, HttpProblem> {
        let station = Some(parameters.text("enb")).filter(|text| !text.is_empty());
        self.send(station.map(resources::station).transpose()?, &order?)
    }

    fn send(&mut self, station: Option<u64>, order: &Command) -> Result<Progress, HttpProblem> {
        self.controller.order(station, order).map(Progress::Later).map_err(|error| {
            let status = match error {
                OrderError::NoStation(..) | OrderError::Nobody => 404,
                OrderError::Central(_) => 409,
                _ => 503,
            };
            HttpProblem::new(status, error.to_string())
        })
    }

    fn agents(&self, of: fn(u64, &AgentNode) -> Value) -> Value {
        self.controller.rib().agents().iter().map(|(id, agent)| of(*id, agent)).collect()
    }

    fn stats(&mut self, _: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        Ok(Progress::Done(json!({
            "eNB_config": self.agents(configuration),
            "mac_stats": self.agents(statistics),
            "monitor": self.controller.seen(),
            "rib_share": self.controller.share(),
            "held_bytes": self.controller.held_bytes(),
        })))
    }

    fn enb_config(&mut self, _: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        Ok(Progress::Done(json!({ "eNB_config": self.agents(configuration) })))
    }

    fn mac_stats(&mut self, _: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        Ok(Progress::Done(json!({ "mac_stats": self.agents(statistics) })))
    }

    fn dl_sched(&mut self, _: &Parameters, _: &str) -> Result<Progress, HttpProblem> {
        let (decisions, base_stations) = self.controller.scheduled();
        Ok(Progress::Done(json!({ "base_stations": base_stations, "decisions": decisions })))
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
