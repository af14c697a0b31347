//! Both endpoints of memif's control channel, as a state machine without I/O ([`Machine`]). It defines the order of
//! messages, and limits for the numbers that a peer announces.
//!
//! Its driver transports messages and file descriptors (of memory and of interrupts). The machine only counts
//! descriptors. It reports with which message a descriptor is sent, and the purpose of a received descriptor. A peer is
//! not trusted. If a number exceeds its limit, the connection ends, and the peer receives the reason.
//!
//! Order of messages: the master sends Hello. The slave sends Init, its regions, its rings and Connect. It sends each
//! of them after the master has acknowledged the previous one. The master ends with Connected.
pub mod messages;
mod settings;

pub use settings::{
    BUFFER_OCTETS, LOG2_RING_MAX, Layout, REGION_OCTETS_MAX, REGIONS_MAX, RING_ALIGNMENT, RINGS_MAX, Role,
    Settings, SettingsError,
};

use std::collections::VecDeque;
use std::time::Duration;

use crate::memif::messages::{
    self as wire, Hello, Init, MESSAGE_BYTES, MODE_ETHERNET, MemifError, Message, Name, Ring, VERSION,
};

use ranlab_machine::Time;

/// Maximum time from the start of a connection until packets can flow.
pub const HANDSHAKE: Duration = Duration::from_secs(5);
/// Maximum number of outputs that wait for the driver. The longest response to one input is a region, a message and an
/// event.
const OUTPUTS_MAX: usize = 8;

/// Event reported by the driver.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// A record arrived, with attached descriptors.
    Received {
        /// Bytes of the record.
        message: &'a [u8],
        /// Number of descriptors.
        descriptors: usize,
    },
    /// The peer closed its socket, or exited.
    Closed,
    /// This endpoint stops the connection.
    Stop,
    /// The deadline of [`Machine::wake_at`] has passed.
    Wake,
}

/// A descriptor attached to an outgoing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// Memory of the owner's region.
    Region,
    /// Interrupts of the ring towards the master (`true`) or towards the slave.
    Interrupt {
        /// Direction of the ring.
        to_master: bool,
    },
}

/// Action for the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Create the owner's region and rings with this layout, before sending anything else.
    Create(Layout),
    /// Send a record.
    Send {
        /// Bytes of the record.
        message: Box<[u8; MESSAGE_BYTES]>,
        /// Descriptor attached to the record.
        attachment: Option<Attachment>,
    },
    /// The received descriptor belongs to the next region in order.
    Region {
        /// Minimum bytes of the region.
        octets: u64,
    },
    /// The received descriptor is for interrupts of this ring, which lies within its region's announced
    /// bytes.
    Ring(Ring),
    /// Packets may flow. The text names the peer's program and interface. The owner of the memory (the slave) offers
    /// its buffers only now, because peers set the indices to zero when they connect.
    Up(String),
    /// The connection has ended; close the socket. No output follows.
    Down(Down),
}

/// Reason for the end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Down {
    /// The peer ended the connection.
    #[error("the memif peer has disconnected: {reason:?} (code {code})")]
    Peer {
        /// Code sent by the peer.
        code: u32,
        /// Reason sent by the peer.
        reason: String,
    },
    /// The peer closed its socket.
    #[error("the memif peer has disconnected")]
    Gone,
    /// This endpoint stopped the connection.
    #[error("stopped")]
    Stopped,
    /// The peer violated the protocol.
    #[error("the memif peer is refused: {0}")]
    Refused(#[from] Refusal),
}

/// Reason to reject a peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An invalid message.
    #[error(transparent)]
    Message(#[from] MemifError),
    /// An unexpected message.
    #[error("{0} is not allowed at this point")]
    Unexpected(&'static str),
    /// Missing or additional descriptors.
    #[error("{message} must have {wanted} descriptors, {came} arrived")]
    Descriptors {
        /// Name of the message.
        message: &'static str,
        /// Expected number of descriptors.
        wanted: usize,
        /// Received number of descriptors.
        came: usize,
    },
    /// No common version.
    #[error("memif versions {least:#x} to {most:#x} are offered, {VERSION:#x} is supported")]
    Version {
        /// Lowest version of the peer.
        least: u16,
        /// Highest version of the peer.
        most: u16,
    },
    /// The requested interface does not exist at this socket.
    #[error("there is no interface {asked} here; allowed is {ours}")]
    Interface {
        /// Requested identifier of an interface.
        asked: u32,
        /// Identifier of this endpoint's interface.
        ours: u32,
    },
    /// Packets that are not Ethernet frames.
    #[error("mode {0} is requested; only mode 0 (Ethernet) is allowed")]
    Mode(u8),
    /// A wrong secret.
    #[error("the secret is missing or wrong")]
    Secret,
    /// A region out of order, or too many regions.
    #[error(
        "region {index} is announced, but the next index is {next}; at most {REGIONS_MAX} regions are allowed"
    )]
    RegionIndex {
        /// Announced index of the region.
        index: u16,
        /// Next index in order.
        next: usize,
    },
    /// A region of an invalid size.
    #[error("a region of {0} bytes is announced; allowed are 1 to {REGION_OCTETS_MAX}")]
    RegionOctets(u64),
    /// An impossible or duplicate ring.
    #[error("ring {index} of a direction is announced twice, or is not below {RINGS_MAX}")]
    RingIndex {
        /// Announced index of the ring.
        index: u16,
    },
    /// A ring with too many descriptors.
    #[error("a ring of 2^{0} descriptors is announced; allowed are 2^0 to 2^{LOG2_RING_MAX}")]
    RingSize(u8),
    /// A ring outside a region, partly outside it, or misaligned.
    #[error(
        "a ring at {offset} of region {region} is announced, which must be a multiple of {RING_ALIGNMENT} and end within the region's {octets:?} bytes"
    )]
    RingPlace {
        /// Announced region of the ring.
        region: u16,
        /// Announced offset of the ring in the region.
        offset: u32,
        /// Size of the region, if it exists.
        octets: Option<u64>,
    },
    /// Private bytes in front of packets, which are not supported.
    #[error("{0} private bytes in front of packets are announced; allowed are 0")]
    Private(u16),
    /// When the announcements ended, a direction had no ring, or the indices of its rings had a gap.
    #[error(
        "the peer connects without a ring in each direction, or its rings are not numbered from 0 without gaps"
    )]
    Rings,
    /// The peer has fewer rings than this endpoint has cores.
    #[error("the peer has {there} memif rings {way}; {needed} are needed, one for each core")]
    FewRings {
        /// Direction of the rings.
        way: &'static str,
        /// Number of rings that the peer offers or accepts.
        there: u16,
        /// Number of rings that this endpoint needs.
        needed: u16,
    },
    /// The handshake took too long.
    #[error("no connection after {} s", HANDSHAKE.as_secs())]
    Slow,
    /// Error of a region or a ring, as reported by the driver.
    #[error("{0}")]
    Memory(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waiting for the first message: Init at the master, Hello at the slave.
    Greeting,
    /// The slave announces its region and rings. At the slave, the value is the number of acknowledged messages: two,
    /// and one for each ring.
    Announcing(u8),
    Up,
    Over,
}

/// One endpoint of one connection.
#[derive(Debug)]
pub struct Machine {
    settings: Settings,
    state: State,
    began: Time,
    peer: Name,
    layout: Layout,
    /// Master: bytes of the peer's regions.
    regions: Vec<u64>,
    /// Master: bit masks of the announced rings, first for the direction to the master, then for the direction to the
    /// slave.
    rings: [u16; 2],
    outputs: VecDeque<Output>,
}

impl Machine {
    /// Creates an endpoint for a socket that has just been connected; a master sends its Hello first.
    ///
    /// # Errors
    /// Invalid settings.
    pub fn new(now: Time, settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let layout = settings.layout(LOG2_RING_MAX, [RINGS_MAX; 2]);
        let mut machine = Self {
            state: State::Greeting,
            began: now,
            peer: Name::default(),
            layout,
            regions: Vec::new(),
            rings: [0; 2],
            outputs: VecDeque::with_capacity(OUTPUTS_MAX),
            settings,
        };
        if machine.settings.role == Role::Master {
            let hello = Hello {
                name: Name::new(&machine.settings.name),
                min_version: VERSION,
                max_version: VERSION,
                max_region: REGIONS_MAX as u16 - 1,
                max_m2s_ring: RINGS_MAX - 1,
                max_s2m_ring: RINGS_MAX - 1,
                max_log2_ring: LOG2_RING_MAX,
            };
            machine.send(&Message::Hello(hello), None);
        }
        Ok(machine)
    }

    /// Handles an event.
    pub fn handle(&mut self, now: Time, input: Input<'_>) {
        let result = match input {
            _ if self.state == State::Over => return,
            Input::Received { message, descriptors } => self.receive(message, descriptors),
            Input::Closed => return self.end(Down::Gone),
            Input::Stop => {
                self.disconnect("stopped");
                return self.end(Down::Stopped);
            }
            Input::Wake => Ok(()),
        };
        let late = self.wake_at().is_some_and(|at| at <= now);
        if let Err(refusal) = result.and(if late { Err(Refusal::Slow) } else { Ok(()) }) {
            self.refuse(refusal);
        }
    }

    /// Ends the connection with a reason that the driver found, such as memory that differs from its announcement.
    pub fn refuse(&mut self, refusal: Refusal) {
        if self.state != State::Over {
            self.disconnect(&refusal.to_string());
            self.end(Down::Refused(refusal));
        }
    }

    /// Returns the next action.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns the time of the next [`Input::Wake`]; `None` once packets can flow.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        matches!(self.state, State::Greeting | State::Announcing(_)).then(|| self.began + HANDSHAKE)
    }

    /// Returns whether packets may flow.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }

    fn send(&mut self, message: &Message, attachment: Option<Attachment>) {
        self.outputs.push_back(Output::Send { message: Box::new(wire::encode(message)), attachment });
    }

    fn disconnect(&mut self, reason: &str) {
        self.send(&Message::Disconnect { code: 0, reason: reason.to_owned() }, None);
    }

    fn end(&mut self, why: Down) {
        self.state = State::Over;
        self.outputs.push_back(Output::Down(why));
    }

    fn receive(&mut self, octets: &[u8], came: usize) -> Result<(), Refusal> {
        let message = wire::decode(octets)?;
        let (name, wanted) = match &message {
            Message::Ack => ("Ack", 0),
            Message::Hello(_) => ("Hello", 0),
            Message::Init(_) => ("Init", 0),
            Message::AddRegion { .. } => ("AddRegion", 1),
            Message::AddRing(_) => ("AddRing", 1),
            Message::Connect(_) => ("Connect", 0),
            Message::Connected(_) => ("Connected", 0),
            Message::Disconnect { .. } => ("Disconnect", 0),
        };
        if came != wanted {
            return Err(Refusal::Descriptors { message: name, wanted, came });
        }
        match (self.settings.role, self.state, message) {
            (_, _, Message::Disconnect { code, reason }) => self.end(Down::Peer { code, reason }),
            (Role::Slave, State::Greeting, Message::Hello(hello)) => self.greeted(&hello)?,
            (Role::Slave, State::Announcing(done), Message::Ack) if done < self.last() => {
                self.announce(done + 1)
            }
            (Role::Slave, State::Announcing(done), Message::Connected(_)) if done == self.last() => self.up(),
            (Role::Master, State::Greeting, Message::Init(init)) => self.initiated(&init)?,
            (Role::Master, State::Announcing(_), Message::AddRegion { index, octets }) => {
                self.region(index, octets)?;
            }
            (Role::Master, State::Announcing(_), Message::AddRing(ring)) => self.ring(ring)?,
            (Role::Master, State::Announcing(_), Message::Connect(_)) => {
                // In each direction, the announced rings must be numbered from 0 without a gap.
                if self.rings.iter().any(|rings| *rings == 0 || rings.count_ones() != rings.trailing_ones()) {
                    return Err(Refusal::Rings);
                }
                self.enough(self.rings.map(|rings| rings.count_ones() as u16))?;
                self.send(&Message::Connected(Name::new(&self.settings.name)), None);
                self.up();
            }
            _ => return Err(Refusal::Unexpected(name)),
        }
        Ok(())
    }

    fn up(&mut self) {
        self.state = State::Up;
        self.outputs.push_back(Output::Up(self.peer.text()));
    }

    fn greeted(&mut self, hello: &Hello) -> Result<(), Refusal> {
        let least = hello.min_version;
        let most = hello.max_version;
        if !(least..=most).contains(&VERSION) {
            return Err(Refusal::Version { least, most });
        }
        self.peer = hello.name;
        let most = [hello.max_s2m_ring, hello.max_m2s_ring].map(|last| last.saturating_add(1));
        self.layout = self.settings.layout(hello.max_log2_ring, most);
        self.enough(self.layout.rings)?;
        self.outputs.push_back(Output::Create(self.layout));
        self.announce(0);
        Ok(())
    }

    /// Checks that there are as many rings, to the master and to the slave, as this endpoint needs.
    fn enough(&self, rings: [u16; 2]) -> Result<(), Refusal> {
        let needed = self.settings.rings_least;
        let few = ["to the master", "to the slave"].into_iter().zip(rings).find(|(_, there)| *there < needed);
        few.map_or(Ok(()), |(way, there)| Err(Refusal::FewRings { way, there, needed }))
    }

    /// Returns the number of the slave's messages that are acknowledged before Connect: Init, its region, its rings.
    fn last(&self) -> u8 {
        // At most 16 rings in each direction.
        2 + self.layout.rings.iter().sum::<u16>() as u8
    }

    /// Sends the slave's message that follows `done` acknowledged messages.
    fn announce(&mut self, done: u8) {
        self.state = State::Announcing(done);
        let layout = self.layout;
        let ring = |to_master: bool, index: u16| {
            let offset = layout.place(to_master, index).0;
            let ring =
                Ring { to_master, index, region: 0, offset, log2_size: layout.log2_ring, private_bytes: 0 };
            (Message::AddRing(ring), Some(Attachment::Interrupt { to_master }))
        };
        let (message, attachment) = match done {
            0 => (Message::Init(self.init()), None),
            1 => (Message::AddRegion { index: 0, octets: layout.octets }, Some(Attachment::Region)),
            done if done < self.last() => {
                let index = u16::from(done - 2);
                let masters = layout.rings[0];
                if index < masters { ring(true, index) } else { ring(false, index - masters) }
            }
            _ => (Message::Connect(Name::new(&self.settings.name)), None),
        };
        self.send(&message, attachment);
    }

    fn init(&self) -> Init {
        Init {
            version: VERSION,
            id: self.settings.id,
            mode: MODE_ETHERNET,
            secret: self.settings.secret,
            name: Name::new(&self.settings.name),
        }
    }

    fn initiated(&mut self, init: &Init) -> Result<(), Refusal> {
        if init.version != VERSION {
            return Err(Refusal::Version { least: init.version, most: init.version });
        }
        if init.id != self.settings.id {
            return Err(Refusal::Interface { asked: init.id, ours: self.settings.id });
        }
        if init.mode != MODE_ETHERNET {
            return Err(Refusal::Mode(init.mode));
        }
        if self.settings.secret.iter().any(|octet| *octet != 0) && init.secret != self.settings.secret {
            return Err(Refusal::Secret);
        }
        self.peer = init.name;
        self.state = State::Announcing(0);
        self.send(&Message::Ack, None);
        Ok(())
    }

    fn region(&mut self, index: u16, octets: u64) -> Result<(), Refusal> {
        let next = self.regions.len();
        if usize::from(index) != next || next >= REGIONS_MAX {
            return Err(Refusal::RegionIndex { index, next });
        }
        if !(1..=REGION_OCTETS_MAX).contains(&octets) {
            return Err(Refusal::RegionOctets(octets));
        }
        self.regions.push(octets);
        self.outputs.push_back(Output::Region { octets });
        self.send(&Message::Ack, None);
        Ok(())
    }

    fn ring(&mut self, ring: Ring) -> Result<(), Refusal> {
        let announced = &mut self.rings[usize::from(!ring.to_master)];
        if ring.index >= RINGS_MAX || *announced & 1 << ring.index != 0 {
            return Err(Refusal::RingIndex { index: ring.index });
        }
        if ring.log2_size > LOG2_RING_MAX {
            return Err(Refusal::RingSize(ring.log2_size));
        }
        if ring.private_bytes != 0 {
            return Err(Refusal::Private(ring.private_bytes));
        }
        let octets = self.regions.get(usize::from(ring.region)).copied();
        let end = u64::from(ring.offset) + Ring::octets(ring.log2_size);
        let fits = octets.is_some_and(|octets| end <= octets) && ring.offset.is_multiple_of(RING_ALIGNMENT);
        if !fits {
            return Err(Refusal::RingPlace { region: ring.region, offset: ring.offset, octets });
        }
        *announced |= 1 << ring.index;
        self.outputs.push_back(Output::Ring(ring));
        self.send(&Message::Ack, None);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
