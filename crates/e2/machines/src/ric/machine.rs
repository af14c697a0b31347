//! Interface of a RIC to its driver.
use super::{ConnId, Ric, RicEvent, RicInput, RicOutput};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{self, Cause, CauseProtocol, ErrorIndication, Message, Version};
use ranlab_machine::{Action, Frame, LinkLoss, Machine, Time};

impl Machine for Ric {
    type Key = ConnId;
    type Event = RicEvent;

    fn connected(&mut self, now: Time, conn: ConnId) {
        self.handle(now, RicInput::Dialled { conn });
    }
    fn received(&mut self, now: Time, conn: ConnId, pdu: Bytes) {
        self.handle(now, RicInput::Received { conn, pdu });
    }
    fn disconnected(&mut self, now: Time, conn: ConnId, why: LinkLoss) {
        self.handle(now, RicInput::Disconnected { conn, why });
    }
    fn closed(&mut self, now: Time, conn: ConnId) {
        self.handle(now, RicInput::Disconnected { conn, why: LinkLoss::ClosedByPeer });
    }
    fn wake(&mut self, now: Time) {
        self.handle(now, RicInput::Wake);
    }
    fn wake_at(&self) -> Option<Time> {
        Self::wake_at(self)
    }
    fn poll(&mut self) -> Option<Action<ConnId, RicEvent>> {
        Some(match Self::poll(self)? {
            RicOutput::Transmit(conn) => Action::Transmit(conn),
            RicOutput::Connect { conn, address } => Action::Connect { key: conn, address },
            RicOutput::Close { conn, reason } => Action::Close { key: conn, reason },
            RicOutput::Event(event) => Action::Event(event),
        })
    }
    fn transmit(&mut self, now: Time, conn: ConnId) -> Option<Frame> {
        Self::transmit(self, now, conn)
    }
    fn transport_full(&mut self, conn: ConnId) {
        Self::transport_full(self, conn);
    }
    fn farewell(&mut self, _why: &str) -> Option<Bytes> {
        let indication = ErrorIndication {
            transaction_id: None,
            request_id: None,
            function_id: None,
            cause: Some(Cause::Protocol(CauseProtocol::TransferSyntaxError)),
            diagnostics: None,
        };
        e2ap::encode(&Message::ErrorIndication(indication), Version::V2_03).ok().map(Bytes::from)
    }
}
