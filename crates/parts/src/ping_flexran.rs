//! A FlexRAN controller that pings its agent with echoes: one message each way and nothing encoded twice. Round trips end
//! where the controller takes the reply off its connection; an application of the published controller sees it a cycle of
//! 1 ms later at most.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ranlab_machines::Time;
use ranlab_machines::flexran::{FlexranEvent, FlexranSession, SessionSettings};
use ranlab_machines::southbound::{ControllerInput, ControllerOutput, SouthboundController};
use ranlab_sdk::wire::e2sm::hw;
use ranlab_wire::flexran::LENGTH_BYTES;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::pinger::{Pace, Pinger, Shared, lock, ticks, wait_awake};
use crate::worker::{Numbers, Report, Trouble};
use crate::{Running, config, environment};

/// How often echoes are looked for that will not come.
const GIVE_UP: Duration = Duration::from_millis(100);
/// Octets read at once.
const READ_BYTES: usize = 128 << 10;

config! {
    /// A FlexRAN controller that pings.
    pub struct PingFlexranPart {
        /// listen for agents; port 0: the system's choice
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 0)), wiring();
        /// payload of a ping
        size: u32 = 1_500, range(0, hw::PAYLOAD_SIZE_MAX as i64), unit("B");
        /// between two pings; 0s: each follows an echo
        interval: Duration = Duration::ZERO;
        /// pings under way if each follows an echo
        window: u32 = 1, range(1, 1_024);
    }
}

/// Octets of echoes without their length prefix: sent, received.
#[derive(Debug, Default)]
struct Octets {
    down: Cell<u64>,
    up: Cell<u64>,
}

/// A controller that runs.
pub(crate) struct PingingFlexran {
    address: SocketAddr,
    pinger: Shared,
    octets: Rc<Octets>,
    at_begin: (u64, u64),
    task: tokio::task::JoinHandle<()>,
}

impl PingingFlexran {
    pub(crate) async fn start(part: PingFlexranPart) -> Result<Self, Trouble> {
        let pace = Pace { size: part.size, interval: part.interval, window: part.window };
        let listener = TcpListener::bind(part.listen).await.map_err(environment)?;
        let address = listener.local_addr().map_err(environment)?;
        let pinger = Pinger::new(pace)?;
        let octets = Rc::new(Octets::default());
        let task = tokio::task::spawn_local(serve(listener, pinger.clone(), octets.clone()));
        Ok(Self { address, pinger, octets, at_begin: (0, 0), task })
    }

    fn octets(&self) -> (u64, u64) {
        (self.octets.down.get(), self.octets.up.get())
    }
}

/// One agent after the other.
async fn serve(listener: TcpListener, pinger: Shared, octets: Rc<Octets>) {
    let interval = lock(&pinger).pace().interval;
    let mut ticks = (!interval.is_zero()).then(|| ticks(interval, &pinger));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let settings = SessionSettings { request_statistics: false, ..SessionSettings::default() };
                let session = FlexranSession::new(settings);
                let mut agent = Agent { stream, session, pinger: pinger.clone(), octets: octets.clone() };
                match agent.talk(&mut ticks).await {
                    Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                        eprintln!("ranlab worker: an agent is gone: {error}");
                    }
                    _ => {}
                }
            }
            Err(error) => {
                eprintln!("ranlab worker: cannot accept: {error}");
                tokio::time::sleep(GIVE_UP).await;
            }
        }
    }
}

struct Agent {
    stream: TcpStream,
    session: FlexranSession,
    pinger: Shared,
    octets: Rc<Octets>,
}

impl Agent {
    /// Until the connection ends; the error says why.
    async fn talk(&mut self, ticks: &mut Option<mpsc::Receiver<Instant>>) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.session.handle(Time::ZERO, ControllerInput::Connected);
        self.follow().await?;
        let mut buffer = vec![0; READ_BYTES];
        let mut give_up = tokio::time::interval(GIVE_UP);
        let flat_out = ticks.is_none();
        let if_flat_out = |pings: usize| if flat_out { pings } else { 0 };
        loop {
            tokio::select! {
                biased;
                due = async { match ticks.as_mut() { Some(ticks) => ticks.recv().await, None => std::future::pending().await } } => {
                    let Some(due) = due else { return Ok(()) };
                    if self.session.is_known() {
                        wait_awake(due);
                        self.ping(due).await?;
                    }
                }
                ready = self.stream.readable() => {
                    ready?;
                    match self.stream.try_read(&mut buffer) {
                        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                        Ok(len) => {
                            // Of an agent without UEs that nobody asked for reports nothing but echoes come.
                            if self.session.is_known() {
                                self.octets.up.set(self.octets.up.get() + len as u64);
                            }
                            self.session.handle(Time::ZERO, ControllerInput::Received(&buffer[..len]));
                            let again = self.follow().await?;
                            for _ in 0..if_flat_out(again) {
                                self.ping(Instant::now()).await?;
                            }
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                    }
                }
                _ = give_up.tick() => {
                    let lost = lock(&self.pinger).give_up();
                    for _ in 0..if_flat_out(lost) {
                        self.ping(Instant::now()).await?;
                    }
                }
            }
        }
    }

    async fn ping(&mut self, intended: Instant) -> io::Result<()> {
        let ping = {
            let mut pinger = lock(&self.pinger);
            pinger.number(intended).map(|number| (number, pinger.payload()))
        };
        if let Some((number, payload)) = ping {
            self.session.echo(number, None, Some(payload));
            self.follow().await?;
        }
        Ok(())
    }

    /// Does what the session wants; how many pings may follow if each follows an echo.
    async fn follow(&mut self) -> io::Result<usize> {
        let mut again = 0;
        while let Some(output) = self.session.poll() {
            match output {
                ControllerOutput::Send(octets) => {
                    if self.session.is_known() {
                        let body = octets.len().saturating_sub(LENGTH_BYTES) as u64;
                        self.octets.down.set(self.octets.down.get() + body);
                    }
                    self.write(&octets).await?;
                }
                ControllerOutput::Event(FlexranEvent::Known(_)) => {
                    again += lock(&self.pinger).pace().window as usize;
                }
                ControllerOutput::Event(FlexranEvent::Echo(reply)) => {
                    let number = reply.header.as_ref().and_then(|header| header.xid);
                    let returned = number.is_some_and(|number| lock(&self.pinger).returned(number));
                    again += usize::from(returned);
                    self.octets.up.set(self.octets.up.get().saturating_sub(LENGTH_BYTES as u64));
                }
                ControllerOutput::Event(FlexranEvent::Fault(what)) => {
                    eprintln!("ranlab worker: the agent: {what}");
                }
                ControllerOutput::Event(_) => {}
                ControllerOutput::Close => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
        Ok(again)
    }

    async fn write(&self, octets: &[u8]) -> io::Result<()> {
        let mut rest = octets;
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Running for PingingFlexran {
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("southbound".to_owned(), format!("tcp://{}", self.address))])
    }

    fn look(&mut self) -> Numbers {
        lock(&self.pinger).look()
    }

    fn begin(&mut self) {
        self.at_begin = self.octets();
        lock(&self.pinger).begin();
    }

    fn end(&mut self, report: &mut Report) {
        let (down, up) = self.octets();
        for (name, value) in [("octets_down", down - self.at_begin.0), ("octets_up", up - self.at_begin.1)] {
            report.numbers.insert(name.to_owned(), value as f64);
        }
        lock(&self.pinger).end(report);
    }
}

impl Drop for PingingFlexran {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SouthFleet, SouthFleetPart};
    use ranlab_emulator::southbound::Southbound;

    #[test]
    fn echoes_come_back_and_their_octets_are_counted() {
        ranlab_sdk::run(async {
            let part = PingFlexranPart { window: 4, ..PingFlexranPart::default() };
            let mut controller = PingingFlexran::start(part).await.unwrap();
            let address = controller.addresses()["southbound"].parse().unwrap();
            let mut agent = SouthFleet::new(&SouthFleetPart::one(Southbound::Flexran, address)).unwrap();
            agent.ramp_up().await.unwrap();
            controller.begin();
            for _ in 0..1_000 {
                tokio::time::sleep(Duration::from_millis(10)).await;
                if controller.look()["received"] >= 200.0 {
                    break;
                }
            }
            let mut report = Report::default();
            controller.end(&mut report);
            let (received, up) = (report.numbers["received"], report.numbers["octets_up"]);
            assert!(received >= 200.0 && report.numbers["lost"] == 0.0, "{:?}", report.numbers);
            // Echoes under way at the ends of the window count on one side only: four of two hundred.
            let each = up / received;
            assert!((1_450.0..1_600.0).contains(&each), "{each} octets an echo");
            assert!((each / (report.numbers["octets_down"] / report.numbers["sent"]) - 1.0).abs() < 0.05);
            assert!(!report.distributions["rtt_us_service"].is_empty());
        });
    }
}
