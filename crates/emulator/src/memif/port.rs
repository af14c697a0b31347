//! One memif interface: the control channel's machine on its socket, and the rings.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ranlab_machine::Time;
use ranlab_net::memif::{
    Buffers, Control, DescriptorFault, Listener, Place as RingPlace, Receiver, Region, RingFault, Sender,
    Taken, interrupt,
};
use ranlab_net::monotonic_ns;
use ranlab_pipeline::memif::messages::{MESSAGE_BYTES, Ring};
use ranlab_pipeline::memif::{
    Attachment, Down, Input, Layout, Machine, Output, Refusal, Role, Settings, SettingsError,
};

use super::rings::Rings;

/// Control messages that are read before packets have their turn again.
const MESSAGES_MAX: usize = 16;
/// How often it is looked whether a connection stands while it is made.
const LOOK: Duration = Duration::from_millis(1);
/// How long a slave that was turned away waits before it comes again: a master that is busy with itself is not hammered.
const AGAIN: Duration = Duration::from_millis(100);

/// Where a port is.
#[derive(Debug)]
enum Place {
    /// It listens; whoever is refused makes room for the next.
    Listening(Listener),
    /// It connects there.
    Connecting(PathBuf),
}

/// Why a port does not work.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// It is told what cannot be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The socket.
    #[error("memif socket {path}: {source}")]
    Socket {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The connection has ended.
    #[error(transparent)]
    Down(#[from] Down),
    /// The peer's indices are impossible.
    #[error("the memif peer's ring is broken: {0}")]
    Ring(#[from] RingFault),
    /// Fewer rings than cores want one of their own.
    #[error("a memif port has {there} rings each way at least, {cores} cores are to have one each")]
    FewRings {
        /// In the direction that has the fewer.
        there: usize,
        /// That were to share them out.
        cores: usize,
    },
    /// Nobody has connected.
    #[error("no memif peer within {waited:?}{}", .last.as_ref().map(|last| format!("; the last one: {last}")).unwrap_or_default())]
    Nobody {
        /// How long.
        waited: Duration,
        /// Why the last one that tried did not stay.
        last: Option<Down>,
    },
}

/// What became of a packet that was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is in the ring; the peer sees it after [`Port::publish`].
    Queued,
    /// The ring is full.
    Full,
    /// It does not fit into the peer's buffers, or these lead nowhere.
    Unfit(DescriptorFault),
}

/// A connection: the machine, its socket, and what was announced on it.
#[derive(Debug)]
struct Talk {
    machine: Machine,
    control: Control,
    regions: Vec<Region>,
    /// What the peer announced, at most 2 × 16.
    placed: Vec<Ring>,
    /// The owner's memory, for the peer, and its rings until packets can flow.
    memory: Option<OwnedFd>,
    own: Option<Rings>,
    /// Kept open as long as the peer may use them.
    interrupts: Vec<OwnedFd>,
}

/// An interface.
#[derive(Debug)]
pub struct Port {
    settings: Settings,
    place: Place,
    talk: Option<Talk>,
    rings: Option<Rings>,
    /// The rings are at cores of a device.
    lent: bool,
    peer: String,
    last: Option<Down>,
}

fn now() -> Time {
    Time::from_nanos(monotonic_ns())
}

impl Port {
    /// A port of a role at a path: a master listens there, a slave connects when it is [brought up](Self::bring_up).
    ///
    /// # Errors
    /// The settings cannot be, or nobody may listen there.
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

    /// Waits until packets can flow.
    ///
    /// # Errors
    /// Nobody came, or whoever came was refused until the time was up; a slave's path cannot be connected to.
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

    /// Does what the control channel asks for; whether packets can flow. Never waits.
    ///
    /// # Errors
    /// The connection is over: from now on there is none, and a master's next peer may come.
    pub fn service(&mut self) -> Result<bool, PortError> {
        self.meet()?;
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

    /// There is no connection any more; rings that are lent are not taken back.
    fn close(&mut self) {
        (self.talk, self.rings, self.lent) = (None, None, false);
    }

    /// Sees to it that there is a connection, if somebody is there; turns away who comes beside it.
    fn meet(&mut self) -> Result<(), PortError> {
        let control = match &self.place {
            Place::Listening(listener) => match listener.accept() {
                Ok(control) if self.talk.is_none() => control,
                // One at a time: the descriptor is closed, which says it.
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

    /// The peer's program, once it has said so.
    #[must_use]
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// Puts a packet into the ring of its flow.
    ///
    /// # Errors
    /// There is no connection (`Down`), or its ring is broken: then the connection ends.
    pub fn put(&mut self, packet: &[u8]) -> Result<Put, PortError> {
        let put = self.rings.as_mut().ok_or(Down::Gone)?.put(packet);
        put.map_err(|fault| self.broken(fault))
    }

    /// Puts a packet into a ring by its number, modulo how many there are: whoever divides packets over a peer's cores decides.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_by(&mut self, ring: usize, packet: &[u8]) -> Result<Put, PortError> {
        let put = self.rings.as_mut().ok_or(Down::Gone)?.put_by(ring, packet);
        put.map_err(|fault| self.broken(fault))
    }

    /// Lends the rings to so many cores, each a part; until they are [taken back](Self::take_back) the port has none. Whether the
    /// connection stands has still to be [looked after](Self::service).
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

    /// Takes rings back that were lent, in their order; those of a connection that has ended are dropped.
    pub fn take_back(&mut self, parts: Vec<Rings>) {
        if std::mem::take(&mut self.lent) {
            self.rings = Some(Rings::join(parts));
        }
    }

    /// Whether each ring has room for a packet. Of a master's rings that is the slave's first sign that it is at them: it is up
    /// before the slave knows, which until then drops what others send by this port.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn room(&mut self) -> Result<bool, PortError> {
        let rings = self.rings.as_mut().ok_or(Down::Gone)?;
        let all = rings.senders.iter_mut().try_fold(true, |all, sender| Ok(all && sender.free()? > 0));
        all.map_err(|fault| self.broken(fault))
    }

    /// Takes a packet out of the other ring.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn take(&mut self, into: &mut [u8]) -> Result<Taken, PortError> {
        let taken = self.rings.as_mut().ok_or(Down::Gone)?.take(into);
        taken.map_err(|fault| self.broken(fault))
    }

    /// Shows the peer what was put, and gives back what was taken.
    pub fn publish(&self) {
        self.rings.iter().for_each(Rings::publish);
    }

    /// Packets that wait to be taken.
    #[must_use]
    pub fn waiting(&self) -> u16 {
        let all = self.rings.iter().flat_map(|rings| &rings.receivers);
        all.map(Receiver::waiting).fold(0, u16::saturating_add)
    }

    /// Packets that the peer has not taken yet; see [`Sender::waiting`].
    #[must_use]
    pub fn untaken(&self) -> u16 {
        let all = self.rings.iter().flat_map(|rings| &rings.senders);
        all.map(Sender::waiting).fold(0, u16::saturating_add)
    }

    /// Whether packets can flow, as far as is known.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.lent || self.rings.is_some()
    }

    /// Ends the connection in words.
    pub fn stop(&mut self) {
        if let Some(talk) = &mut self.talk {
            talk.machine.handle(now(), Input::Stop);
            // It ends so or so.
            let _ = talk.say(&mut self.peer, VecDeque::new());
        }
        self.close();
    }

    /// Ends the connection in words, since whoever has its rings has found them broken.
    pub(super) fn broken(&mut self, fault: RingFault) -> PortError {
        if let Some(talk) = &mut self.talk {
            talk.machine.refuse(Refusal::Memory(fault.to_string()));
            // The words may not arrive any more; the fault is told anyway.
            let _ = talk.say(&mut self.peer, VecDeque::new());
        }
        self.close();
        fault.into()
    }
}

impl Talk {
    /// Messages of the peer's, as many as there are up to a bound, with what follows; the rings, when packets can flow.
    fn turn(&mut self, peer: &mut String) -> Result<Option<Rings>, Down> {
        let mut rings = self.say(peer, VecDeque::new())?;
        for _ in 0..MESSAGES_MAX {
            let Some(descriptors) = self.hear() else { break };
            rings = rings.or(self.say(peer, descriptors)?);
        }
        self.machine.handle(now(), Input::Wake);
        Ok(rings.or(self.say(peer, VecDeque::new())?))
    }

    /// Reads one message; what came beside it, or `None`: there is no message now.
    fn hear(&mut self) -> Option<VecDeque<OwnedFd>> {
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
        // What was cut off counts as one more, which no message has room for.
        let descriptors = received.descriptors.len() + usize::from(received.cut);
        self.machine.handle(now(), Input::Received { message: &message[..received.octets], descriptors });
        Some(received.descriptors.into())
    }

    /// Does what the machine says. `came` is what came beside the last message; what it has no use for is closed.
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
            // It has gone, or reads so little that a socket's buffer is full of a dozen messages.
            self.machine.handle(now(), Input::Closed);
        }
    }

    fn region(&mut self, descriptor: Option<OwnedFd>, octets: u64) -> Result<(), String> {
        let descriptor = descriptor.ok_or("a region came without its descriptor")?;
        self.regions.push(Region::accept(descriptor, octets).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// The owner's memory and rings: they begin as rings do before the peer looks, and start when it has looked.
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

    /// Packets can flow: the owner's rings, or those in the peer's memory.
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
