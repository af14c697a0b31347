//! Interface of an agent to its driver.
use super::{Agent, AgentEvent, AgentInput, AgentOutput, ControllerId};
use bytes::Bytes;
use ranlab_machine::{Action, Frame, LinkLoss, Machine, Time};

impl Machine for Agent {
    type Key = ControllerId;
    type Event = AgentEvent;

    fn received(&mut self, now: Time, controller: ControllerId, pdu: Bytes) {
        self.handle(now, AgentInput::Received { controller, pdu });
    }
    fn disconnected(&mut self, now: Time, controller: ControllerId, why: LinkLoss) {
        self.handle(now, AgentInput::Disconnected { controller, why });
    }
    fn connected(&mut self, now: Time, controller: ControllerId) {
        self.handle(now, AgentInput::Connected { controller });
    }
    fn wake(&mut self, now: Time) {
        self.handle(now, AgentInput::Wake);
    }
    fn wake_at(&self) -> Option<Time> {
        Self::wake_at(self)
    }
    fn poll(&mut self) -> Option<Action<ControllerId, AgentEvent>> {
        Some(match Self::poll(self)? {
            AgentOutput::Connect { controller, address } => Action::Connect { key: controller, address },
            AgentOutput::Transmit { controller } => Action::Transmit(controller),
            AgentOutput::Close { controller, reason } => {
                Action::Close { key: controller, reason: reason.to_string() }
            }
            AgentOutput::Event(event) => Action::Event(event),
        })
    }
    fn transmit(&mut self, now: Time, controller: ControllerId) -> Option<Frame> {
        Self::transmit(self, now, controller)
    }
    fn transport_full(&mut self, controller: ControllerId) {
        Self::transport_full(self, controller);
    }
}
