//! A memif interface. It connects the state machine of the control channel to a socket, and exchanges packets over the
//! rings.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ranlab_machine::Time;
use ranlab_net::memif::{
    Buffers, Control, DescriptorFault, Listener, Receiver, Region, RingFault, RingLocation as RingPlace,
    Sender, TakeOutcome, interrupt,
};
use ranlab_net::monotonic_ns;
use ranlab_packet::memif::messages::{MESSAGE_BYTES, Ring};
use ranlab_packet::memif::{
    Attachment, Down, Input, Layout, Machine, Output, Refusal, Role, Settings, SettingsError,
};

use super::rings::Rings;

/// Maximum number of control messages read before packets are handled.
const MESSAGES_MAX: usize = 16;
/// Polling interval while connecting.
const LOOK: Duration = Duration::from_millis(1);
/// Delay after which a rejected slave reconnects, to avoid load on a busy master.
const AGAIN: Duration = Duration::from_millis(100);

/// The role of a port on its socket.
#[derive(Debug)]
enum Place {
    /// Listens. After a peer was rejected, the next may connect.
    Listening(Listener),
    /// Connects to this path.
    Connecting(PathBuf),
}

/// The reason why a port does not work.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A socket error.
    #[error("memif socket {path}: {source}")]
    Socket {
        /// Path of the socket.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The connection has ended.
    #[error(transparent)]
    Down(#[from] Down),
    /// The peer's ring indices are invalid.
    #[error("the memif peer's ring is broken: {0}")]
    Ring(#[from] RingFault),
    /// There are fewer rings than cores.
    #[error("{cores} cores need one memif ring each in both directions, but one direction has only {there}")]
    FewRings {
        /// Number of rings in the direction with fewer.
        there: usize,
        /// Number of cores.
        cores: usize,
    },
    /// No peer has connected.
    #[error("no memif peer connected within {waited:?}{}", .last.as_ref().map(|last| format!("; last failure: {last}")).unwrap_or_default())]
    Nobody {
        /// Time waited for a peer.
        waited: Duration,
        /// The reason why the last peer was disconnected.
        last: Option<Down>,
    },
}

/// The outcome of queueing a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The packet is queued. The peer sees it after [`Port::publish`].
    Queued,
    /// The ring is full.
    Full,
    /// The packet does not fit into the peer's buffers, or their descriptors are invalid.
    Unfit(DescriptorFault),
}

/// A connection: state machine, socket, and announced resources.
#[derive(Debug)]
struct Talk {
    machine: Machine,
    control: Control,
    regions: Vec<Region>,
    /// Rings announced by the peer, at most 16 in each direction.
    placed: Vec<Ring>,
    /// If this port owns the memory: descriptor of the memory, to be passed to the peer. `own` contains its rings until
    /// the connection is up.
    memory: Option<OwnedFd>,
    own: Option<Rings>,
    /// Interrupt descriptors, kept open as long as the peer may use them.
    interrupts: Vec<OwnedFd>,
}

/// A memif interface.
#[derive(Debug)]
pub struct Port {
    settings: Settings,
    place: Place,
    talk: Option<Talk>,
    rings: Option<Rings>,
    /// Whether the rings are lent to the cores of a device.
    lent: bool,
    peer: String,
    last: Option<Down>,
}

fn now() -> Time {
    Time::from_nanos(monotonic_ns())
}

impl Port {
    /// Creates a port at a path. A master listens there; a slave connects in [`bring_up`](Self::bring_up).
    ///
    /// # Errors
    /// The settings are invalid, or the path cannot be bound.
    pub fn new(path: &Path, settings: Settings) -> Result<Self, PortError> {
        settings.check()?;
        let place = match settings.role {
            Role::Slave => Place::Connecting(path.to_owned()),
            Role::Master => Place::Listening(
                Listener::bind(path)
                    .map_err(|source| PortError::Socket { path: path.display().to_string(), source })?,
            ),
        };
        Ok(Self { settings, place, talk: None, rings: None, lent: false, peer: String::new(), last: None })
    }

    /// Waits until the connection is up.
    ///
    /// # Errors
    /// No peer connected in time, all peers were rejected, or a slave cannot connect to the path.
    pub fn bring_up(&mut self, most: Duration) -> Result<(), PortError> {
        let end = now() + most;
        loop {
            let mut pause = LOOK;
            match self.service() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(PortError::Down(down)) => {
                    self.last = Some(down);
                    if self.settings.role == Role::Slave {
                        pause = AGAIN;
                    }
                }
                Err(error) => return Err(error),
            }
            if now() >= end {
                return Err(PortError::Nobody { waited: most, last: self.last.take() });
            }
            std::thread::sleep(pause);
        }
    }

    /// Handles the control channel. Returns whether packets can be exchanged. Never blocks.
    ///
    /// # Errors
    /// The connection has ended. A master's next peer may connect.
    pub fn service(&mut self) -> Result<bool, PortError> {
        self.connect()?;
        let Some(talk) = &mut self.talk else { return Ok(false) };
        match talk.turn(&mut self.peer) {
            Ok(rings) => {
                self.rings = self.rings.take().or(rings);
                Ok(self.is_up())
            }
            Err(down) => {
                self.close();
                Err(down.into())
            }
        }
    }

    /// Drops the connection. Rings that are lent are not taken back.
    fn close(&mut self) {
        (self.talk, self.rings, self.lent) = (None, None, false);
    }

    /// Accepts or opens a connection unless one exists. Rejects further peers.
    fn connect(&mut self) -> Result<(), PortError> {
        let control = match &self.place {
            Place::Listening(listener) => match listener.accept() {
                Ok(control) if self.talk.is_none() => control,
                // There already is a peer, or none is waiting. Dropping the new socket closes it, which rejects its
                // peer.
                _ => return Ok(()),
            },
            Place::Connecting(path) if self.talk.is_none() => match Control::connect(path) {
                Ok(control) => control,
                Err(source) => {
                    let absent = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
                    if absent.contains(&source.kind()) || source.kind() == io::ErrorKind::WouldBlock {
                        return Ok(());
                    }
                    return Err(PortError::Socket { path: path.display().to_string(), source });
                }
            },
            Place::Connecting(_) => return Ok(()),
        };
        let machine = Machine::new(now(), self.settings.clone())?;
        self.talk = Some(Talk {
            machine,
            control,
            regions: Vec::new(),
            placed: Vec::new(),
            memory: None,
            own: None,
            interrupts: Vec::new(),
        });
        Ok(())
    }

    /// Returns the name of the peer's program, once it has announced it.
    #[must_use]
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// Queues a packet in the ring of its flow.
    ///
    /// # Errors
    /// There is no connection (`Down`), or its ring is broken, which ends the connection.
    pub fn put(&mut self, packet: &[u8]) -> Result<Put, PortError> {
        let put = self.rings.as_mut().ok_or(Down::Gone)?.put(packet);
        put.map_err(|fault| self.broken(fault))
    }

    /// Queues a packet in a ring by number, modulo the number of rings. If the peer has a ring per core, the caller
    /// thus selects the core.
    ///
    /// # Errors
    /// Fails like [`Self::put`].
    pub fn put_by(&mut self, ring: usize, packet: &[u8]) -> Result<Put, PortError> {
        let put = self.rings.as_mut().ok_or(Down::Gone)?.put_by(ring, packet);
        put.map_err(|fault| self.broken(fault))
    }

    /// Lends the rings to a number of cores. Until they are [taken back](Self::take_back), the port has no rings. The
    /// control channel still has to be [serviced](Self::service).
    ///
    /// # Errors
    /// There is no connection, or it has fewer rings than there are cores.
    pub fn lend(&mut self, cores: usize) -> Result<Vec<Rings>, PortError> {
        match self.rings.take().ok_or(Down::Gone)?.divide(cores) {
            Ok(parts) => {
                self.lent = true;
                Ok(parts)
            }
            Err(rings) => {
                let there = rings.senders.len().min(rings.receivers.len());
                self.rings = Some(rings);
                Err(PortError::FewRings { there, cores })
            }
        }
    }

    /// Takes back lent rings, in their order. Rings of a connection that has ended are dropped.
    pub fn take_back(&mut self, parts: Vec<Rings>) {
        if std::mem::take(&mut self.lent) {
            self.rings = Some(Rings::join(parts));
        }
    }

    /// Returns whether each ring has space for a packet. A master can use this to detect that the slave has started the
    /// rings. The connection is up at the master earlier than at the slave. Until it is up at the slave, the slave
    /// drops packets that its other ports forward to this port.
    ///
    /// # Errors
    /// Fails like [`Self::put`].
    pub fn room(&mut self) -> Result<bool, PortError> {
        let rings = self.rings.as_mut().ok_or(Down::Gone)?;
        let all = rings.senders.iter_mut().try_fold(true, |all, sender| Ok(all && sender.free()? > 0));
        all.map_err(|fault| self.broken(fault))
    }

    /// Takes a packet out of a receive ring.
    ///
    /// # Errors
    /// Fails like [`Self::put`].
    pub fn take(&mut self, into: &mut [u8]) -> Result<TakeOutcome, PortError> {
        let taken = self.rings.as_mut().ok_or(Down::Gone)?.take(into);
        taken.map_err(|fault| self.broken(fault))
    }

    /// Makes queued packets visible to the peer, and gives the buffers of received packets back to the peer.
    pub fn publish(&self) {
        self.rings.iter().for_each(Rings::publish);
    }

    /// Returns the number of packets waiting to be received.
    #[must_use]
    pub fn waiting(&self) -> u16 {
        let all = self.rings.iter().flat_map(|rings| &rings.receivers);
        all.map(Receiver::waiting).fold(0, u16::saturating_add)
    }

    /// Returns the number of packets that the peer has not received yet; see [`Sender::waiting`].
    #[must_use]
    pub fn untaken(&self) -> u16 {
        let all = self.rings.iter().flat_map(|rings| &rings.senders);
        all.map(Sender::waiting).fold(0, u16::saturating_add)
    }

    /// Returns whether the connection is up. A disconnect is detected by [`Self::service`].
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.lent || self.rings.is_some()
    }

    /// Closes the connection with a message to the peer.
    pub fn stop(&mut self) {
        if let Some(talk) = &mut self.talk {
            talk.machine.handle(now(), Input::Stop);
            // The connection ends even if the message cannot be sent.
            let _ = talk.say(&mut self.peer, VecDeque::new());
        }
        self.close();
    }

    /// Closes the connection with an error message, because a ring is broken. The caller has to report faults of lent
    /// rings.
    pub fn broken(&mut self, fault: RingFault) -> PortError {
        if let Some(talk) = &mut self.talk {
            talk.machine.refuse(Refusal::Memory(fault.to_string()));
            // The message may not arrive; the error is returned anyway.
            let _ = talk.say(&mut self.peer, VecDeque::new());
        }
        self.close();
        fault.into()
    }
}

impl Talk {
    /// Handles pending messages of the peer, up to a limit. Returns the rings when the connection is up.
    fn turn(&mut self, peer: &mut String) -> Result<Option<Rings>, Down> {
        let mut rings = self.say(peer, VecDeque::new())?;
        for _ in 0..MESSAGES_MAX {
            let Some(descriptors) = self.receive_message() else { break };
            rings = rings.or(self.say(peer, descriptors)?);
        }
        self.machine.handle(now(), Input::Wake);
        Ok(rings.or(self.say(peer, VecDeque::new())?))
    }

    /// Reads one message. Returns its file descriptors, or `None` if there is no message.
    fn receive_message(&mut self) -> Option<VecDeque<OwnedFd>> {
        let mut message = [0; MESSAGE_BYTES + 1];
        let received = match self.control.receive(&mut message) {
            Ok(received) if received.octets > 0 => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Some(VecDeque::new()),
            Ok(_) | Err(_) => {
                self.machine.handle(now(), Input::Closed);
                return Some(VecDeque::new());
            }
        };
        // If descriptors were truncated, one more is counted, so that the message is rejected.
        let descriptors = received.descriptors.len() + usize::from(received.cut);
        self.machine.handle(now(), Input::Received { message: &message[..received.octets], descriptors });
        Some(received.descriptors.into())
    }

    /// Executes the outputs of the state machine. `came` contains the descriptors of the last message; unused ones are
    /// closed.
    fn say(&mut self, peer: &mut String, mut came: VecDeque<OwnedFd>) -> Result<Option<Rings>, Down> {
        let mut rings = None;
        while let Some(output) = self.machine.poll() {
            let result = match output {
                Output::Create(layout) => self.create(layout).map_err(|error| error.to_string()),
                Output::Send { message, attachment } => {
                    self.send(&message[..], attachment);
                    Ok(())
                }
                Output::Region { octets } => self.region(came.pop_front(), octets),
                Output::Ring(ring) => {
                    self.placed.push(ring);
                    self.interrupts.extend(came.pop_front());
                    Ok(())
                }
                Output::Up(name) => {
                    *peer = name;
                    self.start().map(|started| rings = Some(started)).map_err(|fault| fault.to_string())
                }
                Output::Down(down) => return Err(down),
            };
            if let Err(what) = result {
                self.machine.refuse(Refusal::Memory(what));
            }
        }
        Ok(rings)
    }

    fn send(&mut self, message: &[u8], attachment: Option<Attachment>) {
        let descriptor = match attachment {
            None => None,
            Some(Attachment::Region) => self.memory.as_ref(),
            Some(Attachment::Interrupt { to_master }) => self.interrupts.get(usize::from(!to_master)),
        };
        if self.control.send(message, descriptor.map(AsFd::as_fd)).is_err() {
            // The peer has closed its socket, or has not read about a dozen messages, which fill the socket buffer.
            self.machine.handle(now(), Input::Closed);
        }
    }

    fn region(&mut self, descriptor: Option<OwnedFd>, octets: u64) -> Result<(), String> {
        let descriptor = descriptor.ok_or("a region arrived without its descriptor")?;
        self.regions.push(Region::accept(descriptor, octets).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Creates the memory of a slave, and its rings. The rings are initialized before the peer sees them.
    fn create(&mut self, layout: Layout) -> io::Result<()> {
        let octets = usize::try_from(layout.octets).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let region = Region::create(octets)?;
        self.memory = Some(region.descriptor().try_clone_to_owned()?);
        self.interrupts = vec![interrupt()?, interrupt()?];
        let regions: Arc<[Region]> = Arc::new([region]);
        let at = |offset| RingPlace { region: 0, offset, log2_size: layout.log2_ring };
        let buffers = |offset| Some(Buffers { region: 0, offset, octets: layout.buffer_octets });
        let [to_master, to_slave] = layout.rings;
        let senders = (0..to_master).map(|index| {
            let (ring, first) = layout.place(true, index);
            Sender::new(Arc::clone(&regions), at(ring), buffers(first))
        });
        let senders = senders.collect::<Result<_, _>>().map_err(io::Error::other)?;
        let receivers = (0..to_slave).map(|index| {
            let (ring, first) = layout.place(false, index);
            Receiver::new(Arc::clone(&regions), at(ring), buffers(first))
        });
        let receivers = receivers.collect::<Result<_, _>>().map_err(io::Error::other)?;
        self.own = Some(Rings::new(senders, receivers));
        Ok(())
    }

    /// Starts the rings. A slave has created them in its own memory; a master finds them in the peer's memory.
    fn start(&mut self) -> Result<Rings, RingFault> {
        let mut rings = match self.own.take() {
            Some(own) => own,
            None => self.peers()?,
        };
        rings.receivers.iter_mut().for_each(Receiver::start);
        rings.senders.iter_mut().try_for_each(Sender::start)?;
        Ok(rings)
    }

    fn peers(&mut self) -> Result<Rings, RingFault> {
        let regions: Arc<[Region]> = std::mem::take(&mut self.regions).into();
        self.placed.sort_by_key(|ring| ring.index);
        let place =
            |ring: &Ring| RingPlace { region: ring.region, offset: ring.offset, log2_size: ring.log2_size };
        let of = |to_master: bool| self.placed.iter().filter(move |ring| ring.to_master == to_master);
        let senders = of(false).map(|ring| Sender::new(Arc::clone(&regions), place(ring), None));
        let receivers = of(true).map(|ring| Receiver::new(Arc::clone(&regions), place(ring), None));
        Ok(Rings::new(senders.collect::<Result<_, _>>()?, receivers.collect::<Result<_, _>>()?))
    }
}
