//! A FlexRAN controller that pings its agent with echoes. Each direction has one message, which is encoded once.
//!
//! A round trip ends when the controller reads the reply. An application of the published controller receives the reply
//! up to one cycle (1 ms) later.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_e2::{Frame, LinkLoss};
use ranlab_e2_codec::e2sm::hw;
use ranlab_e2_codec::flat::Coding;
use ranlab_machine::{Time, lock};
use ranlab_sdran::agent::{ControllerInput, ControllerOutput, SouthboundController};
use ranlab_sdran::flexran::protocol::LENGTH_BYTES;
use ranlab_sdran::flexran::{FlexranEvent, FlexranSession, SessionSettings};
use ranlab_transport::driver::{Action, Driver, Machine, ReadInterest};
use ranlab_transport::{Address, SocketOptions};

use ranlab_e2_lab::pinger::{Pace, Pinger, Shared, Tick, Times};
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, Task, config, environment};

config! {
    /// A FlexRAN controller that pings.
    pub struct PingFlexranPart {
        /// address on which the controller accepts agents; port 0: chosen by the system
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 0)), wiring();
        /// payload of a ping, in bytes
        size: u32 = 1_500, range(0, hw::PAYLOAD_SIZE_MAX as i64), unit("B");
        /// time between two pings; 0s: each ping follows an echo
        interval: Duration = Duration::ZERO;
        /// number of pending pings if each ping follows an echo
        window: u32 = 1, range(1, 1_024);
    }
}

/// Connection to one agent, and the echoes exchanged with it.
struct Echoes {
    pinger: Shared,
    /// Whether each ping follows an echo, instead of an interval.
    flat_out: bool,
    agent: Option<Agent>,
    agents: u64,
    actions: VecDeque<Action<u64, ()>>,
    /// Bytes of echoes sent, and bytes received, without their length prefix.
    octets: (u64, u64),
}

struct Agent {
    key: u64,
    session: FlexranSession,
    unwritten: VecDeque<Vec<u8>>,
}

impl Echoes {
    /// Accepts one agent at a time. Further agents are rejected while one is connected.
    fn admit(&mut self, now: Time) -> Option<u64> {
        if self.agent.is_some() {
            return None;
        }
        let key = self.agents;
        self.agents += 1;
        let settings = SessionSettings { request_statistics: false, ..SessionSettings::default() };
        let agent = Agent { key, session: FlexranSession::new(settings), unwritten: VecDeque::new() };
        self.handle(now, agent, ControllerInput::Connected);
        Some(key)
    }

    fn handle(&mut self, now: Time, mut agent: Agent, input: ControllerInput<'_>) {
        agent.session.handle(now, input);
        let pings = self.follow(&mut agent);
        self.agent = Some(agent);
        self.again(pings);
    }

    /// Sends `pings` pings, unless pings are sent at an interval.
    fn again(&mut self, pings: usize) {
        for _ in 0..if self.flat_out { pings } else { 0 } {
            self.ping(Instant::now());
        }
    }

    fn ping(&mut self, intended: Instant) {
        let Some(mut agent) = self.agent.take_if(|agent| agent.session.is_known()) else { return };
        let ping = {
            let mut pinger = lock(&self.pinger);
            pinger.number(intended).map(|number| (number, pinger.payload()))
        };
        if let Some((number, payload)) = ping {
            agent.session.echo(number, None, Some(payload));
            self.follow(&mut agent);
        }
        self.agent = Some(agent);
    }

    /// Processes the outputs of the session. Returns the number of pings that may be sent next.
    fn follow(&mut self, agent: &mut Agent) -> usize {
        let key = agent.key;
        let mut again = 0;
        while let Some(output) = agent.session.poll() {
            match output {
                ControllerOutput::Send(octets) => {
                    if agent.session.is_known() {
                        self.octets.0 += octets.len().saturating_sub(LENGTH_BYTES) as u64;
                    }
                    agent.unwritten.push_back(octets);
                    self.actions.push_back(Action::Transmit(key));
                }
                ControllerOutput::Event(FlexranEvent::Known(_)) => {
                    again += lock(&self.pinger).pace().window as usize;
                }
                ControllerOutput::Event(FlexranEvent::Echo(reply)) => {
                    let number = reply.header.as_ref().and_then(|header| header.xid);
                    let returned = number.is_some_and(|number| lock(&self.pinger).returned(number));
                    again += usize::from(returned);
                    self.octets.1 = self.octets.1.saturating_sub(LENGTH_BYTES as u64);
                }
                ControllerOutput::Event(FlexranEvent::Fault(what)) => {
                    eprintln!("ranlab worker: the agent: {what}");
                }
                ControllerOutput::Event(_) => {}
                ControllerOutput::Close => {
                    let reason = "it does not send FlexRAN messages".to_owned();
                    self.actions.push_back(Action::Close { key, reason });
                }
            }
        }
        again
    }
}

impl Machine for Echoes {
    type Key = u64;
    type Event = ();
    const FRAMES_ITSELF: bool = true;

    fn received(&mut self, now: Time, key: u64, octets: Bytes) {
        let Some(agent) = self.agent.take_if(|agent| agent.key == key) else { return };
        // An agent that has no UEs and no request for reports sends only echoes.
        if agent.session.is_known() {
            self.octets.1 += octets.len() as u64;
        }
        self.handle(now, agent, ControllerInput::Received(&octets));
    }
    fn disconnected(&mut self, now: Time, key: u64, why: LinkLoss) {
        if why != LinkLoss::ClosedByPeer {
            eprintln!("ranlab worker: an agent has disconnected: {why}");
        }
        self.closed(now, key);
    }
    fn closed(&mut self, _: Time, key: u64) {
        self.agent.take_if(|agent| agent.key == key);
    }
    fn poll(&mut self) -> Option<Action<u64, ()>> {
        self.actions.pop_front()
    }
    fn transmit(&mut self, _: Time, key: u64) -> Option<Frame> {
        let agent = self.agent.as_mut().filter(|agent| agent.key == key)?;
        agent.unwritten.pop_front().map(|octets| Frame::whole(octets.into()))
    }
}

/// A running controller that sends pings.
pub(crate) struct PingingFlexran {
    address: Address,
    driver: Rc<Driver<Echoes>>,
    pinger: Shared,
    at_begin: (u64, u64),
    _task: Task,
}

impl PingingFlexran {
    pub(crate) async fn start(part: PingFlexranPart) -> Result<Self, ComponentError> {
        let size = part.size;
        let coding = Coding::Per;
        let pinger = Pinger::new(Pace { size, interval: part.interval, window: part.window, coding })?;
        let flat_out = part.interval.is_zero();
        let (agent, agents, actions, octets) = Default::default();
        let echoes = Echoes { pinger: pinger.clone(), flat_out, agent, agents, actions, octets };
        let driver =
            Driver::start(echoes, SocketOptions::of_the_kernel(), usize::MAX, |()| ReadInterest::GoesOn);
        let place = Address::Tcp { host: part.listen.ip().to_string(), port: part.listen.port() };
        let admit = |echoes: &mut Echoes, now, _: &str| echoes.admit(now);
        let address = driver.listen(&place, admit).await.map_err(environment)?;
        let driver = Rc::new(driver);
        let _task = Task::spawn(pace(driver.clone(), pinger.clone()));
        Ok(Self { address, driver, pinger, at_begin: (0, 0), _task })
    }

    fn octets(&self) -> (u64, u64) {
        self.driver.read(|echoes| echoes.octets)
    }
}

/// Sends each ping at its scheduled time, and counts pings without a reply as lost after their timeout.
async fn pace(driver: Rc<Driver<Echoes>>, pinger: Shared) {
    let mut times = Times::new(&pinger);
    loop {
        match times.next().await {
            Tick::Due(due) => driver.with(|echoes, _| echoes.ping(due)),
            Tick::GiveUp => {
                let lost = lock(&pinger).give_up();
                driver.with(|echoes, _| echoes.again(lost));
            }
        }
    }
}

impl RunningComponent for PingingFlexran {
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("southbound".to_owned(), self.address.to_string())])
    }

    fn counters(&mut self) -> Counters {
        lock(&self.pinger).counters()
    }

    fn begin(&mut self) {
        self.at_begin = self.octets();
        lock(&self.pinger).begin();
    }

    fn end(&mut self, report: &mut Report) {
        let (down, up) = self.octets();
        report.put([("octets_down", down - self.at_begin.0), ("octets_up", up - self.at_begin.1)]);
        lock(&self.pinger).end(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_sdran_lab::fleet::Protocol;
    use ranlab_sdran_lab::{SouthFleet, SouthFleetComponent};

    #[test]
    fn echoes_return_and_their_bytes_are_counted() {
        ranlab_transport::run(async {
            let part = PingFlexranPart { window: 4, ..PingFlexranPart::default() };
            let mut controller = PingingFlexran::start(part).await.unwrap();
            let address = controller.addresses()["southbound"].parse().unwrap();
            let mut agent = SouthFleet::new(&SouthFleetComponent::one(Protocol::Flexran, address)).unwrap();
            agent.ramp_up().await.unwrap();
            controller.begin();
            for _ in 0..1_000 {
                tokio::time::sleep(Duration::from_millis(10)).await;
                if controller.counters()["received"] >= 200.0 {
                    break;
                }
            }
            let mut report = Report::default();
            controller.end(&mut report);
            let received = report.numbers["received"];
            let up = report.numbers["octets_up"];
            assert!(received >= 200.0 && report.numbers["lost"] == 0.0, "{:?}", report.numbers);
            // Echoes in flight at the beginning or end of the window count in one direction only. These are at most
            // four of two hundred.
            let each = up / received;
            assert!((1_450.0..1_600.0).contains(&each), "an echo has {each} bytes");
            assert!((each / (report.numbers["octets_down"] / report.numbers["sent"]) - 1.0).abs() < 0.05);
            assert!(!report.distributions["rtt_us_service"].is_empty());
        });
    }

    #[test]
    fn agents_are_pinged_one_at_a_time() {
        ranlab_transport::run(async {
            let part = PingFlexranPart { interval: Duration::from_millis(5), ..PingFlexranPart::default() };
            let mut controller = PingingFlexran::start(part).await.unwrap();
            let address: Address = controller.addresses()["southbound"].parse().unwrap();
            let agent =
                || SouthFleet::new(&SouthFleetComponent::one(Protocol::Flexran, address.clone())).unwrap();
            let mut received = 0.0;
            for _ in 0..2 {
                let mut agent = agent();
                agent.ramp_up().await.unwrap();
                for _ in 0..3_000 {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    if controller.counters()["received"] >= received + 20.0 {
                        break;
                    }
                }
                let now = controller.counters()["received"];
                assert!(now >= received + 20.0, "the agent must echo 20 pings: {received} before, {now} now");
                let driver = &controller.driver;
                assert_eq!(
                    driver.with(|echoes, now| echoes.admit(now)),
                    None,
                    "no second ping may be sent while one is outstanding"
                );
                received = now;
            }
            assert_eq!(controller.driver.read(|echoes| echoes.agents), 2);
        });
    }
}
