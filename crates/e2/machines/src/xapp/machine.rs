//! Interface of an xApp to its driver.
use super::{Xapp, XappEvent, XappInput, XappOutput};
use bytes::Bytes;
use ranlab_machine::{Action, Frame, LinkLoss, Machine, Time};

impl Machine for Xapp {
    type Key = ();
    type Event = XappEvent;

    fn received(&mut self, now: Time, (): (), pdu: Bytes) {
        self.handle(now, XappInput::Received { pdu });
    }
    fn disconnected(&mut self, now: Time, (): (), why: LinkLoss) {
        self.handle(now, XappInput::Disconnected { why });
    }
    fn connected(&mut self, now: Time, (): ()) {
        self.handle(now, XappInput::Connected);
    }
    fn wake(&mut self, now: Time) {
        self.handle(now, XappInput::Wake);
    }
    fn wake_at(&self) -> Option<Time> {
        Self::wake_at(self)
    }
    fn poll(&mut self) -> Option<Action<(), XappEvent>> {
        Some(match Self::poll(self)? {
            XappOutput::Connect { address } => Action::Connect { key: (), address },
            XappOutput::Transmit => Action::Transmit(()),
            XappOutput::Close { reason } => Action::Close { key: (), reason: reason.to_string() },
            XappOutput::Event(event) => Action::Event(event),
        })
    }
    fn transmit(&mut self, now: Time, (): ()) -> Option<Frame> {
        Self::transmit(self, now)
    }
    fn transport_full(&mut self, (): ()) {
        Self::transport_full(self);
    }
}
