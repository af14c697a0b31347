//! Driver: sockets and tasks for one machine, on one thread.
//!
//! ```text
//!  socket --readable--> FrameReader --PDU--> machine.received    (the link's task, whole batches)
//!                                               | poll
//!  socket <--writev-- FrameWriter <--Frame-- machine.transmit    (the same task, no hop in between)
//! ```
//! The task that reads from a link also writes to all links that the batch concerns. Forwarding a message therefore
//! takes one read, one decision and one write, without a wake-up in between. Only a link whose socket is full waits
//! for its own readiness.
//!
//! A driver runs any [`Machine`]: agent, RIC and xApp of E2, a controller of another protocol, or one from your
//! application.
//!
//! ```
//! use ranlab_transport::driver::{Action, Driver, Machine, ReadInterest};
//! use ranlab_machine::{Frame, LinkLoss, Time};
//! use ranlab_transport::{SocketOptions, connect};
//! use bytes::Bytes;
//! use std::collections::VecDeque;
//!
//! /// Sends every received PDU back.
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
//! ranlab_transport::run(async {
//!     let echo = Driver::start(Echo::default(), SocketOptions::default(), 1 << 20, |()| ReadInterest::GoesOn);
//!     let mut links = 0..;
//!     let at = echo.listen(&"mem://echo".parse().unwrap(), move |_, _, _peer| links.next()).await.unwrap();
//!     let near = connect(&at, &SocketOptions::default()).await.unwrap();
//!     # use ranlab_transport::{Frame as Out, FrameReader, FrameWriter, ReadOutcome};
//!     # FrameWriter::default().write(&near, &[Out { head: b"he", body: &Bytes::from_static(b"llo") }]).unwrap();
//!     # let mut reader = FrameReader::default();
//!     # while reader.fill(&near).unwrap() == ReadOutcome::WouldBlock {
//!     #     near.readable().await.unwrap();
//!     # }
//!     # assert_eq!(reader.next().unwrap().unwrap(), "hello");
//! });
//! ```
mod core;
mod link;
pub mod write_buffer;

use self::core::MachineCell;
use crate::{Address, BindError, Listener, SocketOptions, Stream};
use ranlab_machine::Time;
pub use ranlab_machine::{Action, Machine};
use std::rc::Rc;

/// Whether to continue reading from the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadInterest {
    /// Continue reading.
    GoesOn,
    /// Pause until [`Driver::resume`], because the application has not consumed earlier events.
    Pauses,
}

/// A machine on sockets. Dropping it closes its links and listeners.
///
/// Runs on one thread inside a `tokio::task::LocalSet`; [`run`](crate::run) provides both.
pub struct Driver<M: Machine>(Rc<MachineCell<M>>);

impl<M: Machine> Drop for Driver<M> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<M: Machine> Driver<M> {
    /// Starts a driver for `machine`, with PDUs of up to `max_pdu` bytes. `events` is called for each event on this
    /// thread, outside of the machine, so it may use the machine. It returns whether to continue reading.
    pub fn start(
        machine: M,
        options: SocketOptions,
        max_pdu: usize,
        events: impl FnMut(M::Event) -> ReadInterest + 'static,
    ) -> Self {
        Self(MachineCell::start(machine, options, max_pdu, Box::new(events)))
    }

    /// Calls `report` with the machine and the stream of each new link, accepted or opened, before anything is read from it.
    pub fn on_attach(&self, report: impl FnMut(&mut M, M::Key, &Stream) + 'static) {
        self.0.on_attach(Box::new(report));
    }

    /// Opens a listener. Returns its address; port 0 is replaced by the port that the system chose.
    ///
    /// `admit` reports a new connection to the machine and returns the key of its link, or `None` to refuse it.
    pub async fn listen(
        &self,
        address: &Address,
        admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key> + 'static,
    ) -> Result<Address, BindError> {
        let listener = Listener::bind(address, self.0.options()).await?;
        Ok(self.listen_at(listener, admit))
    }

    /// Accepts connections at an existing listener; otherwise like [`listen`](Self::listen). Returns its address.
    pub fn listen_at(
        &self,
        listener: Listener,
        admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key> + 'static,
    ) -> Address {
        self.0.listen(listener, None, admit)
    }

    /// Accepts connections like [`listen_at`](Self::listen_at), with a limit of simultaneous links and about 50
    /// connections per second. For peers that may try to exhaust the listener.
    pub fn listen_within(
        &self,
        listener: Listener,
        most: usize,
        admit: impl FnMut(&mut M, Time, &str) -> Option<M::Key> + 'static,
    ) -> Address {
        self.0.listen(listener, Some(most), admit)
    }

    /// Returns the socket options.
    pub fn options(&self) -> &SocketOptions {
        self.0.options()
    }

    /// Adds an open stream as a link. The machine must already know `key`.
    pub fn attach(&self, key: M::Key, stream: Stream) {
        self.0.attach(key, stream);
        self.with(|_, _| ());
    }

    /// Calls `change` with the machine, then processes its outputs.
    ///
    /// # Panics
    /// Panics if called from within `change` or [`read`](Self::read), because a machine cannot be entered
    /// recursively.
    pub fn with<T>(&self, change: impl FnOnce(&mut M, Time) -> T) -> T {
        self.0.with(change)
    }

    /// Calls `look` with the machine, without processing outputs.
    pub fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        self.0.read(look)
    }

    /// Continues reading after [`ReadInterest::Pauses`].
    pub fn resume(&self) {
        self.0.resume();
    }

    /// Returns the number of open links.
    pub fn links(&self) -> usize {
        self.0.links()
    }
}
