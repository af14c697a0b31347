//! A base station with its agent, UEs and connection.
use super::deadlines::{Deadlines, now};
use super::line::{ControllerLink, SendOutcome};
use super::meters::{Delays, Meters};
use super::radio::Cell;
use super::{EventLog, Identity, NodeDirectory};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_machine::Time;
use ranlab_ran::radio::UeMovement;
use ranlab_sdran::agent::{
    AgentCounters, AgentEvent, AgentInput, AgentOutput, PublishedBehaviour, Radio, SouthboundAgent, Ue,
    UeChange, UeEvent,
};
use ranlab_sdran::arrivals::{Characteristics, Event, Happening, Population, PopulationConfig};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of unsent bytes in the kernel. Further data is queued in this process, where it can be counted.
const UNSENT_BYTES: u32 = 16 << 10;
/// Maximum number of bytes per read.
const READ_BYTES: usize = 16 << 10;
/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// First pause after the loss of a connection. It doubles with each attempt up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Commands from other tasks to a base station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Command {
    /// A UE event from another program, by UE number.
    Event(Event),
    /// A UE is handed over from another base station.
    Arrive(Ue, u64, u16, u16),
}

pub(super) enum Events {
    Law(Box<std::iter::Peekable<Population>>),
    Trace(VecDeque<Event>),
}

impl Events {
    pub(super) fn new(population: PopulationConfig, trace: Option<Vec<Event>>) -> Self {
        match trace {
            Some(events) => Self::Trace(events.into()),
            None => Self::Law(Box::new(Population::new(population).peekable())),
        }
    }

    fn next_at(&mut self) -> Option<Duration> {
        match self {
            Self::Law(population) => population.peek().map(|event| event.at),
            Self::Trace(events) => events.front().map(|event| event.at),
        }
    }

    fn pop(&mut self) -> Option<Event> {
        match self {
            Self::Law(population) => population.next(),
            Self::Trace(events) => events.pop_front(),
        }
    }
}

/// State shared by the base stations of a fleet.
pub(super) struct Shared {
    pub(super) meters: Rc<Meters>,
    pub(super) directory: NodeDirectory,
    pub(super) deadlines: Rc<Deadlines>,
    pub(super) log: Option<(u32, EventLog)>,
    pub(super) line: Rc<RefCell<ControllerLink>>,
    pub(super) dialect: &'static PublishedBehaviour,
    pub(super) cell: Option<Cell>,
}

pub(super) struct Node {
    identity: Identity,
    agent: Box<dyn SouthboundAgent>,
    events: Events,
    began: Time,
    meters: Rc<Meters>,
    directory: NodeDirectory,
    deadlines: Rc<Deadlines>,
    log: Option<(u32, EventLog)>,
    probe: Option<oneshot::Sender<Delays>>,
    counted: AgentCounters,
    counted_ues: u64,
    alive: bool,
    served: bool,
    connected: bool,
    counted_announced: u64,
    line: Rc<RefCell<ControllerLink>>,
    dialect: &'static PublishedBehaviour,
    cell: Option<Cell>,
}

/// Converts the model's UE characteristics to the report format of agents.
fn radio(c: &Characteristics) -> Radio {
    Radio {
        cqi: c.cqi,
        rank: 0,
        sinr_db: c.sinr_db,
        headroom_db: c.headroom_db,
        rsrp_dbm: c.rsrp_dbm,
        rsrq_db: c.rsrq_db,
        queue_bytes: c.queue_bytes,
        queue_ms: c.queue_ms,
        bsr: c.bsr,
        prbs: c.prbs,
    }
}

impl Node {
    pub(super) fn new(
        identity: Identity,
        agent: Box<dyn SouthboundAgent>,
        events: Events,
        shared: Shared,
        probe: Option<oneshot::Sender<Delays>>,
    ) -> Self {
        let Shared { meters, directory, deadlines, log, line, dialect, cell } = shared;
        Self {
            identity,
            agent,
            events,
            log,
            began: now(),
            meters,
            directory,
            deadlines,
            probe,
            counted: AgentCounters::default(),
            counted_ues: 0,
            alive: false,
            served: false,
            connected: false,
            counted_announced: 0,
            line,
            dialect,
            cell,
        }
    }

    pub(super) async fn run(
        &mut self,
        controller: SocketAddr,
        source: Option<IpAddr>,
        deaf: bool,
        mut commands: mpsc::Receiver<Command>,
    ) {
        let mut pause = FIRST_PAUSE;
        loop {
            self.notify_agent();
            self.agent.handle(now(), AgentInput::Connecting);
            match connect(controller, source).await {
                Ok(stream) => {
                    pause = FIRST_PAUSE;
                    self.meters.connecting_ended(Ok(()));
                    self.connected = true;
                    let stream = Rc::new(stream);
                    self.agent.handle(now(), AgentInput::Connected);
                    // If the socket has no addresses, the connection has already ended.
                    if self.line.borrow_mut().begin(&stream, now()).is_ok() {
                        self.talk(&stream, deaf, &mut commands).await;
                    }
                    self.meters.connected.set(self.meters.connected.get() - 1);
                    self.connected = false;
                    self.meters.losses.set(self.meters.losses.get() + 1);
                    self.agent.handle(now(), AgentInput::Closed);
                    self.give_up();
                    self.count();
                }
                Err(error) => {
                    tracing::debug!(station = self.identity.station, %error, "cannot connect");
                    self.meters.connecting_ended(Err(error.to_string()));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Handles the connection until it ends.
    async fn talk(&mut self, stream: &TcpStream, deaf: bool, commands: &mut mpsc::Receiver<Command>) {
        let mut buffer = vec![0; READ_BYTES];
        let mut first = true;
        let deadlines = self.deadlines.clone();
        let cell = self.cell.clone();
        loop {
            self.notify_agent();
            self.play(now());
            self.agent.handle(now(), AgentInput::Wake);
            if self.pump().is_err() || self.write(stream).is_err() {
                return;
            }
            self.count();
            let event = self.events.next_at().map(|at| self.began + at);
            let deadline = [self.agent.wake_at(), event].into_iter().flatten().min();
            let waiting = self.line.borrow().is_waiting();
            // Without a deadline, the task only waits for socket events.
            let next_deadline = async {
                match deadline {
                    Some(at) => deadlines.until(at).await,
                    None => std::future::pending().await,
                }
            };
            // With a radio, the agent has work in each subframe.
            let passed = async {
                match &cell {
                    Some(cell) => cell.passed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                ready = stream.readable(), if !deaf => {
                    if ready.is_err() {
                        return;
                    }
                    match stream.try_read(&mut buffer) {
                        Ok(0) => return,
                        Ok(len) => {
                            if std::mem::take(&mut first) {
                                self.look_at_first(&buffer[..len]);
                            }
                            self.agent.handle(now(), AgentInput::Received(&buffer[..len]));
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(_) => return,
                    }
                }
                ready = stream.writable(), if waiting => {
                    if ready.is_err() {
                        return;
                    }
                }
                command = commands.recv() => match command {
                    Some(command) => self.command(command),
                    None => return,
                },
                () = next_deadline => {}
                () = passed => {}
            }
        }
    }

    /// Detects the controller's dialect from its first message.
    fn look_at_first(&self, octets: &[u8]) {
        let shown =
            PublishedBehaviour::of_first(octets).filter(|shown| shown.language != self.dialect.language);
        if let Some(shown) = shown {
            self.meters.shown.set(Some(shown.name));
        }
    }

    /// Notifies the agent about UE movements at the radio.
    fn notify_agent(&mut self) {
        let Some(cell) = &self.cell else { return };
        for moved in cell.moved() {
            let (UeMovement::Came { ue: number, .. } | UeMovement::Went { ue: number, .. }) = moved;
            let imsi = Identity::imsi_of(number);
            let change = match moved {
                UeMovement::Came { rnti, .. } => {
                    let rnti = Some(rnti);
                    let radio = Radio::default();
                    UeChange::Activated(Ue { imsi, tmsi: number, rnti, radio })
                }
                UeMovement::Went { .. } => UeChange::Deactivated,
            };
            self.agent.handle(now(), AgentInput::Ue(UeEvent { at: now(), imsi, change }));
        }
    }

    /// Passes all events that are due to the agent.
    fn play(&mut self, now: Time) {
        while self.events.next_at().is_some_and(|at| self.began + at <= now) {
            let Some(event) = self.events.pop() else { return };
            self.on_arrival_event(now, event);
        }
    }

    fn on_arrival_event(&mut self, now: Time, event: Event) {
        let imsi = self.identity.imsi(event.ue);
        if let Some((node, log)) = &self.log {
            log.borrow_mut().push((*node, event.at, imsi));
        }
        let change = match event.what {
            Happening::Activated(c) => {
                UeChange::Activated(Ue { imsi, tmsi: event.ue + 1, rnti: None, radio: radio(&c) })
            }
            Happening::Deactivated => UeChange::Deactivated,
            Happening::Updated(c) => UeChange::Updated(radio(&c)),
            Happening::Delegated(to_agent) => return self.agent.handle(now, AgentInput::Delegated(to_agent)),
        };
        let at = self.began + event.at;
        self.agent.handle(now, AgentInput::Ue(UeEvent { at, imsi, change }));
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Event(event) => self.on_arrival_event(now(), event),
            Command::Arrive(ue, station, pci, rnti) => {
                let change = UeChange::Arrived { ue, station, pci, rnti };
                self.agent.handle(now(), AgentInput::Ue(UeEvent { at: now(), imsi: ue.imsi, change }));
            }
        }
    }

    /// Executes the agent's outputs. An error ends the connection.
    fn pump(&mut self) -> io::Result<()> {
        while let Some(output) = self.agent.poll() {
            match output {
                AgentOutput::Send { octets, due } => match self.line.borrow_mut().push(&octets, due) {
                    SendOutcome::Waits => {}
                    SendOutcome::Dropped => self.meters.drop_messages(1),
                    SendOutcome::Stuck => {
                        self.meters.drop_messages(1);
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                },
                AgentOutput::Close => return Err(io::ErrorKind::InvalidData.into()),
                AgentOutput::Event(event) => self.event(event),
            }
        }
        Ok(())
    }

    fn event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Initialised { to_requests, to_reporting } => {
                let delays = Delays { to_requests, to_reporting };
                match self.probe.take() {
                    // The receiver of the result may have timed out.
                    Some(probe) => drop(probe.send(delays)),
                    None => self.meters.initialised(delays),
                }
            }
            AgentEvent::Handover { rnti, target_pci, .. } => {
                let ended = self.hand_over(rnti, target_pci);
                self.meters.handovers.set(self.meters.handovers.get() + u64::from(ended.is_ok()));
                self.notify_agent();
                let ended = AgentInput::HandoverEnded { rnti, refusal: ended.err() };
                self.agent.handle(now(), ended);
            }
            AgentEvent::Refused(what) => {
                tracing::debug!(station = self.identity.station, what, "refused");
            }
            AgentEvent::Speaks(name) => self.meters.shown.set(Some(name)),
            AgentEvent::Fault(what) => {
                tracing::debug!(station = self.identity.station, what, "fault");
                self.meters.last_fault.replace(Some(what));
            }
            _ => {}
        }
    }

    fn hand_over(&mut self, rnti: u16, target_pci: u16) -> Result<(), Refusal> {
        let no_cell = || Refusal::new(Reason::Invalid, format!("there is no target cell {target_pci}"));
        if let Some(cell) = &self.cell {
            return cell.hand_over(&self.directory.cell(target_pci).ok_or_else(no_cell)?, rnti);
        }
        let no_ue = || Refusal::new(Reason::UnknownUe, format!("there is no UE {rnti}"));
        let ue = self.agent.ue(rnti).ok_or_else(no_ue)?;
        let arrive = Command::Arrive(ue, self.station(), self.identity.pci, rnti);
        if !self.directory.send(target_pci, arrive) {
            return Err(no_cell());
        }
        let event = UeEvent { at: now(), imsi: ue.imsi, change: UeChange::Deactivated };
        self.agent.handle(now(), AgentInput::Ue(event));
        Ok(())
    }

    /// Returns the OpenEmpower number of this base station.
    fn station(&self) -> u64 {
        self.identity.mac.0.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
    }

    fn write(&mut self, stream: &TcpStream) -> io::Result<()> {
        self.line.borrow_mut().write(&self.meters, now, |octets| stream.try_write(octets))
    }

    /// Discards pending outputs after the connection has ended, so that they are not sent on the next connection.
    fn give_up(&mut self) {
        let mut given_up = self.line.borrow_mut().end(&self.meters, now());
        while let Some(output) = self.agent.poll() {
            match output {
                AgentOutput::Send { .. } => given_up += 1,
                AgentOutput::Close => {}
                AgentOutput::Event(event) => self.event(event),
            }
        }
        self.meters.drop_messages(given_up);
    }

    fn count(&mut self) {
        let counters = self.agent.counters();
        self.meters.add(&self.counted, counters);
        self.counted = *counters;
        let ues = self.agent.ues() as u64;
        self.meters.ues.set(self.meters.ues.get() + ues - self.counted_ues);
        self.counted_ues = ues;
        let announced = self.agent.announced_ues() as u64;
        self.meters.announced_ues.set(self.meters.announced_ues.get() + announced - self.counted_announced);
        self.counted_announced = announced;
        self.line.borrow_mut().unanswered_since = self.agent.unanswered_since();
        let alive = self.agent.is_reporting();
        if alive && !std::mem::replace(&mut self.served, true) {
            self.meters.served.set(self.meters.served.get() + 1);
        }
        if alive != self.alive {
            let now = self.meters.alive.get();
            self.meters.alive.set(if alive { now + 1 } else { now - 1 });
            self.alive = alive;
        }
    }
}

/// Removes a base station from the fleet when it ends, for example a probe.
impl Drop for Node {
    fn drop(&mut self) {
        if self.alive {
            self.meters.alive.set(self.meters.alive.get().saturating_sub(1));
        }
        if self.connected {
            self.meters.connected.set(self.meters.connected.get().saturating_sub(1));
        }
        self.meters.ues.set(self.meters.ues.get().saturating_sub(self.counted_ues));
        let announced = self.meters.announced_ues.get().saturating_sub(self.counted_announced);
        self.meters.announced_ues.set(announced);
        self.meters.drop_messages(self.line.borrow_mut().end(&self.meters, now()));
    }
}

async fn connect(controller: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = if controller.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    socket.set_nodelay(true)?;
    ranlab_net::limit_unsent(&socket, UNSENT_BYTES)?;
    let stream = tokio::time::timeout(CONNECT_TIMEOUT, socket.connect(controller)).await??;
    // A connection to a port of the ephemeral range may connect the socket to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}
