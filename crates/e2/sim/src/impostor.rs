//! An xApp that is admitted as one tenant and acts as another. All its attacks must fail.
use crate::action::Action;
use bytes::Bytes;
use ranlab_e2::{Frame, Time};
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42::{self, XappId};
use std::collections::VecDeque;
use std::time::Duration;

/// Time between two connection attempts, and between two attacks.
const PACE: Duration = Duration::from_millis(700);
/// Content of the controls that the impostor sends.
pub(crate) const FORGED: &[u8] = b"forged";
/// First id that a RIC assigns to an xApp.
const FIRST_XAPP_ID: XappId = 7;
/// Number of xApp ids that the impostor uses in its attacks.
const VICTIMS: u16 = 12;

/// Sends delete, subscription and control requests with the ids of other xApps.
#[derive(Debug)]
pub(crate) struct Impostor {
    address: String,
    nodes: Vec<GlobalE2NodeId>,
    own_id: Option<XappId>,
    connected: bool,
    wake_at: Time,
    turn: u16,
    outputs: VecDeque<Action>,
    outbox: VecDeque<Frame>,
    /// Descriptions of replies that grant a forbidden request.
    pub(crate) successes: Vec<String>,
    /// Number of attacks that were refused.
    pub(crate) refused: u64,
}

impl Impostor {
    pub(crate) fn new(address: String, nodes: Vec<GlobalE2NodeId>) -> Self {
        Self {
            address,
            nodes,
            own_id: None,
            connected: false,
            wake_at: Time::ZERO,
            turn: 0,
            outputs: VecDeque::new(),
            outbox: VecDeque::new(),
            successes: Vec::new(),
            refused: 0,
        }
    }

    pub(crate) fn connected(&mut self, now: Time) {
        self.connected = true;
        self.wake_at = now + PACE;
        let oid = Some("1.3.6.1.4.1.1".to_owned());
        let model = RanFunctionItem { id: 1, definition: Bytes::new(), revision: 1, oid };
        self.say(&e42::Message::SetupRequest(e42::SetupRequest {
            functions: vec![model],
            wants_node_events: false,
        }));
    }

    pub(crate) fn disconnected(&mut self, now: Time) {
        (self.connected, self.own_id, self.wake_at) = (false, None, now + PACE);
        self.outbox.clear();
    }

    pub(crate) fn received(&mut self, _: Time, pdu: &Bytes) {
        match e42::decode(pdu, Version::V2_03).map(|d| d.message) {
            Ok(e42::Message::SetupResponse(m)) => {
                self.own_id = Some(m.xapp_id);
                if !m.nodes.is_empty() {
                    self.successes.push(format!("the impostor was shown {} nodes", m.nodes.len()));
                }
            }
            Ok(e42::Message::E2(
                Message::RicSubscriptionFailure(_)
                | Message::RicSubscriptionDeleteFailure(_)
                | Message::RicControlFailure(_)
                | Message::ErrorIndication(_),
            )) => self.refused += 1,
            Ok(e42::Message::SetupFailure(_)) => {}
            Ok(other) => self.successes.push(format!("the impostor got the message {}", other.name())),
            Err(rejection) => {
                self.successes.push(format!("the impostor got an undecodable message: {rejection}"))
            }
        }
    }

    pub(crate) fn wake(&mut self, now: Time) {
        if now < self.wake_at {
            return;
        }
        self.wake_at = now + PACE;
        match self.own_id {
            Some(own) => self.attack(own),
            None if !self.connected => {
                self.outputs.push_back(Action::Connect(0, self.address.clone()));
                // The next attempt waits for the outcome of this one.
                self.wake_at = now + Duration::from_secs(3_600);
            }
            None => {}
        }
    }

    pub(crate) fn wake_at(&self) -> Time {
        self.wake_at
    }

    pub(crate) fn transmit(&mut self) -> Option<Frame> {
        self.outbox.pop_front()
    }

    pub(crate) fn poll(&mut self) -> Option<Action> {
        self.outputs.pop_front()
    }

    fn attack(&mut self, own: XappId) {
        self.turn = self.turn.wrapping_add(1);
        let turn = self.turn;
        // Every second attack uses the impostor's own id. The RIC must still refuse it: the policy hides the node, or
        // the request belongs to another xApp.
        let xapp_id = if turn.is_multiple_of(2) { own } else { FIRST_XAPP_ID + turn / 2 % VICTIMS };
        let request_id = RicRequestId { requestor: 1 + turn / 6 % 64, instance: 0 };
        let function_id = 1 + turn % 2;
        let Some(&node_id) = self.nodes.get(usize::from(turn) % self.nodes.len().max(1)) else { return };
        let message = match turn / 2 % 3 {
            0 => e42::Message::SubscriptionDeleteRequest(e42::SubscriptionDeleteRequest {
                xapp_id,
                request_id,
                function_id,
            }),
            1 => {
                let details = RicSubscriptionDetails {
                    event_trigger: crate::tracer_function::trigger(1_000, 1),
                    actions: vec![ActionToBeSetup::report(0)],
                };
                e42::Message::SubscriptionRequest(e42::SubscriptionRequest {
                    xapp_id,
                    node_id,
                    request_id,
                    function_id,
                    details,
                })
            }
            _ => e42::Message::ControlRequest(e42::ControlRequest {
                xapp_id,
                node_id,
                request_id,
                function_id,
                call_process_id: None,
                header: Bytes::new(),
                message: Bytes::from_static(FORGED),
                ack_request: Some(RicControlAckRequest::Ack),
            }),
        };
        self.say(&message);
    }

    fn say(&mut self, message: &e42::Message) {
        if let Ok(pdu) = e42::encode(message, Version::V2_03) {
            self.outbox.push_back(Frame::whole(pdu.into()));
            self.outputs.push_back(Action::Transmit(0));
        }
    }
}
