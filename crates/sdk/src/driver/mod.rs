//! Sockets and tasks around one machine, on one thread.
//!
//! ```text
//!  socket --readable--> FrameReader --PDU--> machine.received    (the link's task, whole batches)
//!                                               | poll
//!  socket <--writev-- FrameWriter <--Frame-- machine.transmit    (the same task, no hop in between)
//! ```
//! The task that reads from one link writes to all links that the batch concerns: a forwarded message costs one read,
//! one decision and one write, and no wake-up in between. Only a link that takes no more waits for its own readiness.
//!
//! Any machine is driven so: the three of [`e2`](crate::e2), a controller of another protocol, one of your own.
//!
//! ```
//! use ranlab_sdk::driver::{Action, Driver, Machine, Reading};
//! use ranlab_sdk::e2::{Frame, LinkLoss, Time};
//! use ranlab_sdk::transport::{SocketOptions, connect};
//! use ranlab_sdk::Bytes;
//! use std::collections::VecDeque;
//!
//! /// Sends back what it gets.
//! #[derive(Default)]
//! struct Echo(VecDeque<(u64, Bytes)>, VecDeque<(u64, Bytes)>);
//!
//! impl Machine for Echo {
//!     type Key = u64;
//!     type Event = ();
//!     fn received(&mut self, _: Time, link: u64, pdu: Bytes) {
//!         self.0.push_back((link, pdu));
//!     }
//!     fn disconnected(&mut self, _: Time, link: u64, _: LinkLoss) {
//!         self.0.retain(|(of, _)| *of != link);
//!     }
//!     fn poll(&mut self) -> Option<Action<u64, ()>> {
//!         let (link, pdu) = self.0.pop_front()?;
//!         self.1.push_back((link, pdu));
//!         Some(Action::Transmit(link))
//!     }
//!     fn transmit(&mut self, _: Time, link: u64) -> Option<Frame> {
//!         let at = self.1.iter().position(|(of, _)| *of == link)?;
//!         self.1.remove(at).map(|(_, pdu)| Frame::whole(pdu))
//!     }
//! }
//!
//! ranlab_sdk::run(async {
//!     let echo = Driver::start(Echo::default(), SocketOptions::default(), 1 << 20, |()| Reading::GoesOn);
//!     let mut links = 0..;
//!     let at = echo.listen(&"mem://echo".parse().unwrap(), move |_, _, _peer| links.next()).await.unwrap();
//!     let near = connect(&at, &SocketOptions::default()).await.unwrap();
//!     # use ranlab_sdk::transport::{Frame as Out, FrameReader, FrameWriter, ReadOutcome};
//!     # FrameWriter::default().write(&near, &[Out { head: b"he", body: &Bytes::from_static(b"llo") }]).unwrap();
//!     # let mut reader = FrameReader::default();
//!     # while reader.fill(&near).unwrap() == ReadOutcome::WouldBlock {
//!     #     near.readable().await.unwrap();
//!     # }
//!     # assert_eq!(reader.next().unwrap().unwrap(), "hello");
//! });
//! ```
pub(crate) mod ahead;
mod core;
mod link;

use self::core::Core;
use crate::transport::{Address, BindError, Listener, SocketOptions, Stream};
use bytes::Bytes;
use ranlab_e2::{Frame, LinkLoss, Time};
use std::fmt::Debug;
use std::rc::Rc;

/// What a machine wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<K, E> {
    /// Frames wait for a link: [`Machine::transmit`] has them.
    Transmit(K),
    /// End a link, or the attempt to open it, after what waits for it is sent. The machine hears of it once more, by
    /// [`Machine::closed`].
    Close {
        /// Which.
        key: K,
        /// Why, for the log.
        reason: String,
    },
    /// Open a link. [`Machine::connected`] or [`Machine::disconnected`] follows.
    Connect {
        /// The link's name.
        key: K,
        /// Where to, as people write it ([`Address`]).
        address: String,
    },
    /// Tell the user.
    Event(E),
}

/// Whether the links are read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// They are.
    GoesOn,
    /// Nothing is read until [`Driver::resume`]: the user has not taken what came before.
    Pauses,
}

/// The contract of all machines, as a driver sees it: time and octets in, octets, events and the next deadline out. A
/// machine has no clock, socket or thread; it is never called from two threads or from within itself.
///
/// After each call the driver asks [`poll`](Self::poll) until `None`, takes frames with [`transmit`](Self::transmit) as
/// long as the link takes them, and calls [`wake`](Self::wake) no later than [`wake_at`](Self::wake_at).
pub trait Machine: 'static {
    /// Names a link.
    type Key: Copy + Ord + Debug + 'static;
    /// What users are told.
    type Event: 'static;
    /// The protocol marks its messages itself: [`received`](Self::received) gets octets as they come, cut anywhere, and
    /// frames are sent as they are. Otherwise the transport's framing is between PDUs.
    const FRAMES_ITSELF: bool = false;

    /// A link that was asked for with [`Action::Connect`] is there.
    fn connected(&mut self, _now: Time, _key: Self::Key) {}
    /// A link's stream is there, whoever opened it.
    fn attached(&mut self, _key: Self::Key, _stream: &Stream) {}
    /// A PDU came.
    fn received(&mut self, now: Time, key: Self::Key, pdu: Bytes);
    /// A link is lost, or could not be opened.
    fn disconnected(&mut self, now: Time, key: Self::Key, why: LinkLoss);
    /// A link that was to be closed is forgotten.
    fn closed(&mut self, _now: Time, _key: Self::Key) {}
    /// Time has passed.
    fn wake(&mut self, _now: Time) {}
    /// When it must be woken at the latest; a time that has passed means now.
    fn wake_at(&self) -> Option<Time> {
        None
    }
    /// What follows; asked until `None`.
    fn poll(&mut self) -> Option<Action<Self::Key, Self::Event>>;
    /// The next frame for a link.
    fn transmit(&mut self, now: Time, key: Self::Key) -> Option<Frame>;
    /// A link takes no more for now: what stays should own its octets ([`Frame::detach`]).
    fn transport_full(&mut self, _key: Self::Key) {}
    /// Whether a link may be read now. One that may not is asked about again each millisecond, and its peer held back by
    /// the transport.
    fn may_read(&mut self, _key: Self::Key) -> bool {
        true
    }
    /// The peer broke the framing: a PDU to send before the link is closed.
    fn farewell(&mut self, _why: &str) -> Option<Bytes> {
        None
    }
}

/// A machine on sockets. Ends with its owner: links are let go of, listeners freed.
///
/// Lives on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
pub struct Driver<M: Machine>(Rc<Core<M>>);

impl<M: Machine> Drop for Driver<M> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<M: Machine> Driver<M> {
    /// Drives `machine`, with PDUs of up to `max_pdu` octets. `events` hears what the machine tells, on this thread and
    /// outside of the machine, so that it may act on it in turn; it says whether to read on.
    pub fn start(
        machine: M,
        options: SocketOptions,
        max_pdu: usize,
        events: impl FnMut(M::Event) -> Reading + 'static,
    ) -> Self {
        Self(Core::start(machine, options, max_pdu, Box::new(events)))
    }

    /// Opens a listener; returns its address, with the port that the system chose if it was 0.
    ///
    /// `admit` tells the machine of a newcomer and names the link, or refuses it with `None`.
    pub async fn listen(
        &self,
        address: &Address,
        admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key> + 'static,
    ) -> Result<Address, BindError> {
        let listener = Listener::bind(address, self.0.options()).await?;
        Ok(self.listen_at(listener, admit))
    }

    /// As [`listen`](Self::listen), at a listener that there is already; returns its address.
    pub fn listen_at(
        &self,
        listener: Listener,
        admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key> + 'static,
    ) -> Address {
        self.0.listen(listener, None, admit)
    }

    /// As [`listen_at`](Self::listen_at), with so many links from there open at once at most, and no more than some 50 arrivals a
    /// second: for peers that may want others to find no room.
    pub(crate) fn listen_within(
        &self,
        listener: Listener,
        most: usize,
        admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key> + 'static,
    ) -> Address {
        self.0.listen(listener, Some(most), admit)
    }

    /// How its sockets are set.
    pub(crate) fn options(&self) -> &SocketOptions {
        self.0.options()
    }

    /// Adds an open stream as a link. The machine must know `key` already.
    pub fn attach(&self, key: M::Key, stream: Stream) {
        self.0.attach(key, stream);
        self.with(|_, _| ());
    }

    /// Lets `change` act on the machine, then does what follows from it.
    ///
    /// # Panics
    /// If called from within `change` or [`read`](Self::read): a machine is not entered twice.
    pub fn with<T>(&self, change: impl FnOnce(&mut M, Time) -> T) -> T {
        self.0.with(change)
    }

    /// Reads the machine, without consequences.
    pub fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        self.0.read(look)
    }

    /// Reads on after [`Reading::Pauses`].
    pub fn resume(&self) {
        self.0.resume();
    }

    /// Links that are open.
    pub fn links(&self) -> usize {
        self.0.links()
    }
}
