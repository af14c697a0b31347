//! Contract between a state machine and its driver. A driver runs the machine on sockets, in virtual time, or in a
//! test.
use bytes::Bytes;
use std::fmt::Debug;

use crate::{Frame, LinkLoss, Time};

/// Output of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<K, E> {
    /// Send the frames that [`Machine::transmit`] returns for a link.
    Transmit(K),
    /// Close a link, or stop opening it, after sending its queued frames. [`Machine::closed`] follows.
    Close {
        /// Key of the link.
        key: K,
        /// Reason, for the log.
        reason: String,
    },
    /// Open a link. [`Machine::connected`] or [`Machine::disconnected`] follows.
    Connect {
        /// Key of the new link.
        key: K,
        /// Destination in text form (`tcp://10.0.0.1:36421`).
        address: String,
    },
    /// Pass an event to the application.
    Event(E),
}

/// Interface of a machine to its driver. Inputs are the time and received bytes; outputs are bytes, events and the
/// next deadline. A machine has no clock, socket or thread. It is never called concurrently or recursively.
///
/// After each call the driver calls [`poll`](Self::poll) until it returns `None`. It takes frames with
/// [`transmit`](Self::transmit) while the link accepts them, and calls [`wake`](Self::wake) no later than
/// [`wake_at`](Self::wake_at).
pub trait Machine: 'static {
    /// Identifier of a link.
    type Key: Copy + Ord + Debug + 'static;
    /// Event for the application.
    type Event: 'static;
    /// Whether the protocol frames its messages itself. If so, [`received`](Self::received) gets bytes as they
    /// arrive, split anywhere, and frames are sent unchanged. Otherwise the transport frames the PDUs.
    const FRAMES_ITSELF: bool = false;

    /// Reports that a link requested with [`Action::Connect`] was opened.
    fn connected(&mut self, _now: Time, _key: Self::Key) {}
    /// Reports that a PDU was received.
    fn received(&mut self, now: Time, key: Self::Key, pdu: Bytes);
    /// Reports that a link was lost or could not be opened.
    fn disconnected(&mut self, now: Time, key: Self::Key, why: LinkLoss);
    /// Reports that a link that the machine closed has been removed.
    fn closed(&mut self, _now: Time, _key: Self::Key) {}
    /// Reports that the time has advanced.
    fn wake(&mut self, _now: Time) {}
    /// Returns the latest time for the next call of [`wake`](Self::wake). A time in the past means immediately.
    fn wake_at(&self) -> Option<Time> {
        None
    }
    /// Returns the next output. The driver calls this until it returns `None`.
    fn poll(&mut self) -> Option<Action<Self::Key, Self::Event>>;
    /// Returns the next frame for a link.
    fn transmit(&mut self, now: Time, key: Self::Key) -> Option<Frame>;
    /// Reports that a link accepts no more data for now. The machine should copy queued frames to their own memory
    /// ([`Frame::detach`]).
    fn transport_full(&mut self, _key: Self::Key) {}
    /// Returns whether a link may be read now. If not, this is checked again every millisecond, and the transport
    /// applies back-pressure to the peer.
    fn may_read(&mut self, _key: Self::Key) -> bool {
        true
    }
    /// Returns a PDU to send before the link is closed because of a framing error.
    fn farewell(&mut self, _why: &str) -> Option<Bytes> {
        None
    }
}
