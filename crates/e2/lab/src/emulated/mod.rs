//! Many E2 nodes in one process.
use hdrhistogram::Histogram;
use ranlab_machine::lock;
use ranlab_ran::RADIO_TICK;
use ranlab_ran::node::{NodeError, NodeTemplate, PingCallback};
use ranlab_ran::radio::{Neighbours, RadioMeter, SharedFluid, SharedRadio, SharedSite, UeMovement};
use ranlab_ran::stats::CellSource;
use ranlab_sdk::AgentHandle;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{ControllerError, ControllerId, SetupFailure};
use ranlab_sdk::transport::{self, Address, ConnectError, SocketOptions};
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Timeout until the first node reaches its controllers.
const CONTACT_WAIT: Duration = Duration::from_secs(6);
/// Polling interval for the first node.
const CONTACT_POLL: Duration = Duration::from_millis(2);
/// Maximum time that a node waits for the setup of the previous node.
const SETUP_WAIT: Duration = Duration::from_millis(250);
/// Number of consecutive timeouts after which nodes no longer wait for the setup of the previous node.
const UNANSWERED_MAX: u32 = 8;
/// Maximum send delay that is recorded, in microseconds: one minute.
const LATENESS_US_MAX: u64 = 60_000_000;

/// Configuration of a fleet.
#[derive(Clone)]
pub struct FleetConfig {
    /// Controllers of every node. The first one is the default.
    pub controllers: Vec<Address>,
    /// Whether the addresses belong to a single controller. Each node then uses one address at a time, and switches
    /// to the next when the connection is lost or the setup is rejected.
    pub one_of: bool,
    /// Number of nodes.
    pub nodes: u32,
    /// Settings common to all nodes.
    pub stations: NodeTemplate,
    /// Time over which the nodes start, evenly spaced. Zero starts all nodes at once.
    pub ramp: Duration,
    /// Whether each node waits a short time for the setup of the previous node, because third-party controllers may
    /// accept only one association at a time. This has no effect once the first node's controllers have identified
    /// themselves as controllers of this project.
    pub gentle: bool,
    /// Index of the first node. Allows several processes to share a network.
    pub first: u32,
    /// Offset between this machine's clock and the reference clock of the statistics, in microseconds. Positive if
    /// this machine is ahead.
    pub ahead_us: i64,
    /// Options of the sockets.
    pub sockets: SocketOptions,
}

impl FleetConfig {
    /// Returns the settings that all nodes share, for nodes that start at `now`. `epoch_us` is the time of day at
    /// time zero.
    pub fn template(&self, now: Time, epoch_us: i64) -> NodeTemplate {
        NodeTemplate {
            epoch_us,
            start_us: now.as_nanos() / 1_000,
            // Nodes of different starts share neither counters nor neighbours.
            reports: Arc::default(),
            neighbours: Neighbours::default(),
            ..self.stations.clone()
        }
    }
}

/// Reason why a fleet did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A node cannot be created.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A controller cannot be added.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// A controller is unreachable.
    #[error(transparent)]
    Unreachable(#[from] ConnectError),
}

/// Ability of radios to keep up with real time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Pace {
    /// Virtual time divided by computing time, of the slowest radio. Below 1, the radio cannot keep up.
    pub real_time_factor: f64,
    /// Current delay of the slowest radio, in microseconds.
    pub behind_us: u64,
}

/// Counters of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct FleetReport {
    /// Number of started nodes.
    pub nodes: u32,
    /// Number of nodes that are connected and set up with every controller.
    pub alive: u32,
    /// Number of reconnections after a loss.
    pub reconnects: u64,
    /// Number of connection attempts.
    pub connects: u64,
    /// Number of setups that controllers accepted.
    pub setups: u64,
    /// Number of nodes that at least one controller has never accepted.
    pub never_set_up: u32,
    /// Number of setups that controllers rejected or did not answer.
    pub setups_failed: u64,
    /// Number of current subscriptions.
    pub subscriptions: u64,
    /// Number of indications passed to the transport.
    pub sent: u64,
    /// Bytes passed to the transport.
    pub sent_bytes: u64,
    /// Number of messages passed to the transport, including indications.
    pub sent_messages: u64,
    /// Number of messages received.
    pub received_messages: u64,
    /// Number of indications dropped because a controller did not read them in time.
    pub dropped: u64,
    /// Number of reports skipped because the emulator was late.
    pub skipped: u64,
    /// Send delay of reports, 99th percentile, in microseconds.
    pub lateness_us_p99: u64,
    /// Pace of the radios, if the nodes have radios.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

/// A fleet of running nodes. Dropping it ends the nodes.
pub struct Fleet {
    config: FleetConfig,
    template: NodeTemplate,
    nodes: Vec<(AgentHandle, Vec<ControllerId>)>,
    /// Base stations with slot-level radios.
    stations: Vec<Station>,
    /// Radios of the fluid model.
    fluid: Vec<SharedFluid>,
    lateness: Arc<Mutex<Histogram<u64>>>,
}

impl Fleet {
    /// Creates a fleet without nodes; see [`ramp_up`](Self::ramp_up).
    pub fn new(config: FleetConfig) -> Self {
        // The bounds and the precision are constants that the histogram accepts.
        #[allow(clippy::expect_used)]
        let histogram = Histogram::new_with_bounds(1, LATENESS_US_MAX, 2).expect("constant bounds");
        let lateness = Arc::new(Mutex::new(histogram));
        let recorded = lateness.clone();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = ranlab_sdk::now();
        let epoch_us = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
            - (now.as_nanos() / 1_000) as i64
            - config.ahead_us;
        let mut template = config.template(now, epoch_us);
        template.lateness = Arc::new(move |late: Duration| {
            let us = u64::try_from(late.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENESS_US_MAX);
            lock(&recorded).saturating_record(us);
        });
        Self { config, template, nodes: Vec::new(), stations: Vec::new(), fluid: Vec::new(), lateness }
    }

    /// Sets a callback for each HW ping that a node has received in a control request and executed. Applies to nodes
    /// started afterwards.
    pub fn hear_pings(&mut self, pinged: PingCallback) {
        self.template.pinged = Some(pinged);
    }

    /// Starts the nodes, spread over the ramp. Nodes retry without a limit. Only the first node must reach a
    /// controller, because an unreachable address is probably a typing error.
    pub async fn ramp_up(&mut self) -> Result<(), FleetError> {
        let begin = tokio::time::Instant::now();
        let mut unanswered = 0;
        for index in 0..self.config.nodes {
            let due = self.config.ramp.mul_f64(f64::from(index) / f64::from(self.config.nodes));
            if !due.is_zero() {
                tokio::time::sleep_until(begin + due).await;
            } else if index % 16 == 15 {
                tokio::task::yield_now().await;
            }
            let number = self.config.first + index;
            let (cell, agents) = self.cell_of(number)?;
            let handle =
                AgentHandle::start(self.template.agent_over(number, &cell), self.config.sockets.clone());
            if let Some(agents) = agents {
                agents.borrow_mut().push((number, handle.clone()));
            }
            let addresses = &self.config.controllers;
            let controllers = if self.config.one_of {
                let around = around(self.nodes.len(), addresses.len()).map(|at| &addresses[at]);
                vec![handle.add_controller_at_one_of(around)?]
            } else {
                let controllers = addresses.iter().map(|address| handle.add_controller(address));
                controllers.collect::<Result<Vec<_>, _>>()?
            };
            self.nodes.push((handle, controllers));
            if index == 0 {
                self.first_contact().await?;
            }
            if self.config.gentle && unanswered < UNANSWERED_MAX {
                unanswered = if self.is_latest_settled().await { 0 } else { unanswered + 1 };
            }
        }
        Ok(())
    }

    /// Returns the source of a node's statistics, and the agents of its base station if that has a slot-level radio.
    /// The call for the first node of a base station creates and starts the radios. The agents are notified about UE
    /// movements.
    fn cell_of(&mut self, number: u32) -> Result<(CellSource, Option<Agents>), FleetError> {
        let station = self.template.layout().station(number);
        if let Some(shared) = self.stations.last().filter(|last| last.number == station) {
            return Ok((shared.source.clone(), Some(Rc::clone(&shared.agents))));
        }
        let source = self.template.cell(number, ranlab_sdk::now())?;
        if let CellSource::Fluid(radio) = &source {
            self.fluid.push(Arc::clone(radio));
        }
        let Some(site) = source.site() else { return Ok((source, None)) };
        let agents = Agents::default();
        let hearing = Rc::clone(&agents);
        let template = self.template.clone();
        let driver = drive_site(Arc::clone(&site), move |moved| {
            if !moved.is_empty() {
                for (number, agent) in hearing.borrow().iter() {
                    let its = moved.iter().filter(|(cell, _)| template.has_cell(*number, *cell));
                    agent.with(|agent, _| its.for_each(|(_, it)| it.notify(agent)));
                }
            }
        });
        let driver = AbortOnDrop(tokio::task::spawn_local(driver));
        let shared = source.clone();
        let of_driver = Rc::clone(&agents);
        let station = Station { number: station, source: shared, site, agents: of_driver, _driver: driver };
        self.stations.push(station);
        Ok((source, Some(agents)))
    }

    fn cells(&self) -> impl Iterator<Item = &SharedRadio> {
        self.stations.iter().flat_map(|station| station.site.cells())
    }

    /// Waits until the first node has connected to its controllers or has failed. A test connection without messages
    /// would also show reachability, but FlexRIC's RIC exits when such a connection is closed. Therefore a test
    /// connection is opened only after a failed attempt.
    async fn first_contact(&self) -> Result<(), FleetError> {
        let Some((node, controllers)) = self.nodes.first() else { return Ok(()) };
        let until = tokio::time::Instant::now() + CONTACT_WAIT;
        while tokio::time::Instant::now() < until {
            let (silent, tried_again) = node.read(|agent| {
                let is_silent = |c| agent.outbox_counters(c).is_none_or(|outbox| outbox.control == 0);
                let silent = controllers.iter().zip(&self.config.controllers).filter(|(c, _)| is_silent(**c));
                let tried_again = agent.counters().connects > controllers.len() as u64;
                (silent.map(|(_, address)| address).collect::<Vec<_>>(), tried_again)
            });
            if silent.is_empty() {
                return Ok(());
            }
            if tried_again && self.config.one_of {
                // A further address of the same controller may be reachable.
                return Ok(());
            }
            if tried_again {
                for address in silent {
                    transport::connect(address, &self.config.sockets).await?;
                }
                return Ok(());
            }
            tokio::time::sleep(CONTACT_POLL).await;
        }
        Ok(())
    }

    /// Waits until the setup of the latest node is answered or the node's connection is lost. Returns false on timeout.
    async fn is_latest_settled(&self) -> bool {
        let Some((node, controllers)) = self.nodes.last() else { return true };
        let is_ours = self.nodes.first().is_some_and(|(first, of_first)| {
            first.read(|agent| !of_first.is_empty() && of_first.iter().all(|&c| agent.is_ours(c)))
        });
        let until = tokio::time::Instant::now() + SETUP_WAIT;
        while !is_ours && tokio::time::Instant::now() < until {
            let settled = node.read(|agent| {
                let all = controllers.len() as u64;
                let counters = agent.counters();
                counters.setups + counters.setups_failed >= all || counters.connects > all
            });
            if settled {
                return true;
            }
            tokio::time::sleep(CONTACT_POLL).await;
        }
        is_ours
    }

    /// Returns the nodes whose setup failed and that are not set up, with the reason, in the order of nodes.
    pub fn setup_failures(&self) -> Vec<(GlobalE2NodeId, SetupFailure)> {
        let failures = self.nodes.iter().flat_map(|(node, controllers)| {
            node.read(|agent| {
                let failures = controllers.iter().filter_map(|&c| agent.setup_failure(c));
                failures.map(|failure| (agent.node_id(), failure)).collect::<Vec<_>>()
            })
        });
        failures.collect()
    }

    /// Returns the counters so far.
    pub fn report(&self) -> FleetReport {
        let mut report = FleetReport {
            nodes: u32::try_from(self.nodes.len()).unwrap_or(u32::MAX),
            skipped: self.template.reports.late(),
            pace: self.pace(),
            ..FleetReport::default()
        };
        for (node, controllers) in &self.nodes {
            node.read(|agent| {
                report.alive += u32::from(controllers.iter().all(|&c| agent.is_up(c)));
                report.reconnects += agent.counters().setups.saturating_sub(controllers.len() as u64);
                report.setups += agent.counters().setups;
                report.never_set_up += u32::from(agent.counters().setups < controllers.len() as u64);
                report.connects += agent.counters().connects;
                report.setups_failed += agent.counters().setups_failed;
                report.received_messages += agent.counters().received;
                report.subscriptions += agent.subscriptions() as u64;
                for outbox in controllers.iter().filter_map(|&c| agent.outbox_counters(c)) {
                    report.sent += outbox.indications;
                    report.sent_messages += outbox.indications + outbox.control;
                    report.sent_bytes += outbox.bytes;
                    report.dropped += outbox.dropped_full + outbox.dropped_old;
                }
            });
        }
        let lateness = lock(&self.lateness);
        report.lateness_us_p99 = if lateness.is_empty() { 0 } else { lateness.value_at_quantile(0.99) };
        report
    }

    fn pace(&self) -> Option<Pace> {
        let now_us = ranlab_sdk::now().as_nanos() / 1_000;
        let paces = self.cells().map(|radio| {
            let radio = lock(radio);
            let behind_us = now_us.saturating_sub(radio.cell().now_us());
            Pace { real_time_factor: radio.real_time_factor(), behind_us }
        });
        let fluid = self.fluid.iter().map(|radio| {
            let radio = lock(radio);
            Pace { real_time_factor: radio.real_time_factor(), behind_us: 0 }
        });
        paces.chain(fluid).reduce(|a, b| Pace {
            real_time_factor: a.real_time_factor.min(b.real_time_factor),
            behind_us: a.behind_us.max(b.behind_us),
        })
    }

    /// Restarts the radio measurements.
    pub fn begin_radios(&self) {
        for radio in self.cells() {
            lock(radio).begin();
        }
    }

    /// Returns the radio measurements since the last restart.
    pub fn radios(&self) -> Vec<RadioMeter> {
        let read = |radio: &SharedRadio| lock(radio).meter();
        self.cells().map(read).collect()
    }

    /// Returns and resets the distribution of send delays of reports, in microseconds.
    pub fn take_lateness(&self) -> Histogram<u64> {
        let mut lateness = lock(&self.lateness);
        let taken = lateness.clone();
        lateness.reset();
        taken
    }
}

/// Agents of a base station, by the number of the node in the fleet.
type Agents = Rc<RefCell<Vec<(u32, AgentHandle)>>>;

/// A base station whose radios follow real time, with its agents.
struct Station {
    number: u32,
    source: CellSource,
    site: SharedSite,
    agents: Agents,
    _driver: AbortOnDrop,
}

/// A task that is aborted on drop.
pub(crate) struct AbortOnDrop(pub(crate) tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the order in which a node tries the addresses of one controller. Each node begins at a different address.
/// Nodes with the same first address continue at different addresses, so the nodes of a failed address spread over all
/// others.
fn around(node: usize, addresses: usize) -> impl Iterator<Item = usize> {
    let others = addresses.saturating_sub(1);
    let first = node.checked_rem(addresses).unwrap_or(0);
    let turn = node.checked_div(addresses).unwrap_or(0);
    let next = move |it: usize| (first + 1 + (turn + it) % others) % addresses;
    std::iter::once(first).take(addresses).chain((0..others).map(next))
}

/// Advances a base station in real time, without end. `on_step` is called after each step with UE movements and their
/// cells.
async fn drive_site(site: SharedSite, mut on_step: impl FnMut(Vec<(usize, UeMovement)>)) {
    let mut tick = tokio::time::interval(RADIO_TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        on_step(site.pass_each(|radio| {
            let begin = Instant::now();
            let moved = radio.pass(ranlab_sdk::now());
            radio.was_busy(begin.elapsed());
            moved
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::around;

    #[test]
    fn nodes_of_failed_address_spread_over_others() {
        let all = |node| around(node, 3).collect::<Vec<_>>();
        assert_eq!([all(0), all(1), all(2)], [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
        assert_eq!([all(3), all(4), all(5)], [[0, 2, 1], [1, 0, 2], [2, 1, 0]]);
        assert_eq!(around(5, 1).collect::<Vec<_>>(), [0]);
        assert_eq!(around(5, 0).count(), 0);
    }
}
