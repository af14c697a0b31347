//! Models of FlexRIC's programs, with the behaviour that makes them abort or lose messages.
//!
//! | behaviour | program |
//! |---|---|
//! | reads one message per receive event, even of a burst | agent, iApp |
//! | aborts on an empty component configuration | RIC, xApp |
//! | aborts on an ErrorIndication | all |
//! | aborts on an unknown RAN function id and on a RIC service update | RIC |
//! | aborts on a ControlFailure | RIC, xApp |
//! | aborts on a RICsubscriptionDeleteRequired | xApp |
//! | aborts on the deletion of an unknown subscription, or of one at a disconnected node | iApp |
//! | finds a deletion by the request id only, regardless of its owner | iApp |
//! | treats a repeated request as a second subscription | agent |
//! | assigns a new xApp id at each setup, and aborts when none is left | iApp |
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test file uses only a part
use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use std::collections::{BTreeMap, VecDeque};

/// RAN functions that FlexRIC supports.
pub const FUNCTIONS: [RanFunctionId; 8] = [2, 3, 142, 143, 144, 145, 146, 148];

/// A socket that is read once per burst.
#[derive(Debug, Default)]
pub struct EdgeTriggered(VecDeque<Bytes>);

impl EdgeTriggered {
    /// Receives bytes and returns the one message that is read.
    pub fn burst(&mut self, pdus: Vec<Bytes>) -> Option<Bytes> {
        if pdus.is_empty() {
            return None;
        }
        self.0.extend(pdus);
        self.0.pop_front()
    }

    /// Adds a message of another peer in front of the next burst.
    pub fn slip_in(&mut self, pdu: Bytes) {
        self.0.push_back(pdu);
    }

    /// Returns the number of unread messages.
    pub fn unread(&self) -> usize {
        self.0.len()
    }
}

/// Panics where FlexRIC would abort.
fn abort(whose: &str, why: &str, message: &Message) -> ! {
    panic!("FlexRIC's {whose} aborts: {why}: {message:?}")
}

fn check_components(whose: &str, components: &[ComponentConfigItem]) {
    for c in components.iter().map(|c| &c.configuration) {
        let full = !c.request_part.is_empty() && !c.response_part.is_empty();
        assert!(full, "FlexRIC's {whose} aborts: src.size > 0");
    }
}

/// FlexRIC's E2 agent.
#[derive(Debug, Default)]
pub struct Agent {
    pub socket: EdgeTriggered,
    /// One entry per subscription request that was read, including repeated ones.
    pub timers: Vec<(RicRequestId, RanFunctionId)>,
    pub controls: usize,
    pub set_up: bool,
}

impl Agent {
    /// Returns the response to a burst.
    pub fn burst(&mut self, pdus: Vec<Bytes>) -> Option<Message> {
        let pdu = self.socket.burst(pdus)?;
        self.take(decode(&pdu, Version::V2_03).unwrap().message)
    }

    fn take(&mut self, message: Message) -> Option<Message> {
        match message {
            Message::E2SetupResponse(_) => {
                self.set_up = true;
                None
            }
            Message::RicSubscriptionRequest(m) => {
                let request_id = m.request_id;
                let function_id = m.function_id;
                self.timers.push((request_id, function_id));
                let admitted = vec![0];
                let not_admitted = Some(Vec::new());
                let response = RicSubscriptionResponse { request_id, function_id, admitted, not_admitted };
                Some(Message::RicSubscriptionResponse(response))
            }
            Message::RicSubscriptionDeleteRequest(m) => {
                let request_id = m.request_id;
                let function_id = m.function_id;
                if let Some(at) = self.timers.iter().position(|t| *t == (request_id, function_id)) {
                    self.timers.remove(at);
                }
                let response = RicSubscriptionDeleteResponse { request_id, function_id };
                Some(Message::RicSubscriptionDeleteResponse(response))
            }
            Message::RicControlRequest(m) if m.ack_request == Some(RicControlAckRequest::Ack) => {
                self.controls += 1;
                Some(Message::RicControlAcknowledge(RicControlAcknowledge {
                    request_id: m.request_id,
                    function_id: m.function_id,
                    call_process_id: None,
                    status: None,
                    outcome: None,
                }))
            }
            other => abort("agent", "not implemented", &other),
        }
    }

    /// Returns an indication for each of its timers.
    pub fn indications(&self) -> Vec<Message> {
        let indication = |(request_id, function_id): &(RicRequestId, RanFunctionId)| {
            Message::RicIndication(RicIndication {
                request_id: *request_id,
                function_id: *function_id,
                action_id: 0,
                sn: None,
                kind: RicIndicationType::Report,
                header: Bytes::from_static(&[0; 4]),
                message: Bytes::from_static(&[7; 100]),
                call_process_id: None,
            })
        };
        self.timers.iter().map(indication).collect()
    }
}

/// E2 side of FlexRIC's RIC.
#[derive(Debug, Default)]
pub struct Ric {
    pub nodes: Vec<E2SetupRequest>,
    pub acknowledged: usize,
    pub subscribed: usize,
}

impl Ric {
    /// Returns the response to a message of a node.
    pub fn take(&mut self, message: Message) -> Option<Message> {
        match message {
            Message::E2SetupRequest(m) => {
                check_components("RIC", m.components.as_deref().unwrap_or_default());
                let functions = m.functions.clone().unwrap_or_default();
                for id in functions.iter().map(|f| f.id) {
                    assert!(FUNCTIONS.contains(&id), "FlexRIC's RIC aborts: unknown RAN function {id}");
                }
                let accepted = functions.iter().map(|f| RanFunctionIdItem { id: f.id, revision: 0 });
                let ack = ComponentAck { outcome: UpdateOutcome::Success, cause: None };
                let acks = m.components.iter().flatten().map(|c| ComponentAckItem {
                    interface: c.interface,
                    id: c.id.clone(),
                    ack,
                });
                let response = E2SetupResponse {
                    transaction_id: m.transaction_id,
                    ric_id: GlobalRicId {
                        plmn: m.node_id.plmn(),
                        ric_id: ranlab_e2_codec::per::ShortBits::new(25, 20),
                    },
                    accepted: Some(accepted.collect()),
                    rejected: None,
                    components_v1: None,
                    components: Some(acks.collect()),
                };
                self.nodes.push(m);
                Some(Message::E2SetupResponse(response))
            }
            Message::RicControlAcknowledge(_) => {
                self.acknowledged += 1;
                None
            }
            Message::RicSubscriptionResponse(_) => {
                self.subscribed += 1;
                None
            }
            Message::RicSubscriptionDeleteResponse(_) | Message::RicIndication(_) => None,
            other => abort("RIC", "not implemented", &other),
        }
    }
}

/// FlexRIC's iApp, which is the RIC's interface to xApps, with an agent behind it that executes all requests.
#[derive(Debug)]
pub struct IApp {
    pub socket: EdgeTriggered,
    pub next_xapp_id: u16,
    pub nodes: Vec<e42::ConnectedNode>,
    pub subscriptions: BTreeMap<(RicRequestId, u16), (GlobalE2NodeId, RanFunctionId)>,
    pub setups: usize,
    /// Number of requests to which the agent behind it will not respond.
    pub unanswered: usize,
}

impl IApp {
    pub fn new(nodes: Vec<e42::ConnectedNode>) -> Self {
        let socket = EdgeTriggered::default();
        let subscriptions = BTreeMap::new();
        Self { socket, next_xapp_id: 7, nodes, subscriptions, setups: 0, unanswered: 0 }
    }

    /// Returns the response to a burst.
    pub fn burst(&mut self, pdus: Vec<Bytes>) -> Option<e42::Message> {
        let pdu = self.socket.burst(pdus)?;
        let answer = self.take(e42::decode(&pdu, Version::V2_03).unwrap().message)?;
        if self.unanswered > 0 && matches!(answer, e42::Message::E2(_)) {
            self.unanswered -= 1;
            return None;
        }
        Some(answer)
    }

    fn take(&mut self, message: e42::Message) -> Option<e42::Message> {
        match message {
            e42::Message::SetupRequest(m) => {
                assert!(
                    !m.wants_node_events,
                    "FlexRIC's iApp aborts: the setup request has an unexpected element"
                );
                self.setups += 1;
                let xapp_id = self.next_xapp_id;
                self.next_xapp_id = xapp_id.checked_add(1).expect("FlexRIC's iApp aborts: id registered");
                let nodes = self.nodes.clone();
                Some(e42::Message::SetupResponse(e42::SetupResponse { xapp_id, nodes }))
            }
            e42::Message::SubscriptionRequest(m) => {
                let request_id = m.request_id;
                let function_id = m.function_id;
                self.subscriptions.insert((request_id, m.xapp_id), (m.node_id, function_id));
                let admitted = vec![0];
                let not_admitted = Some(Vec::new());
                let response = RicSubscriptionResponse { request_id, function_id, admitted, not_admitted };
                Some(e42::Message::E2(Message::RicSubscriptionResponse(response)))
            }
            e42::Message::SubscriptionDeleteRequest(m) => {
                let known = self.subscriptions.keys().find(|(id, _)| *id == m.request_id).copied();
                let known = known.and_then(|known| self.subscriptions.remove(&known));
                let (node, function_id) = known.expect("FlexRIC's iApp aborts: not found xApp RIC ID");
                let there = self.nodes.iter().any(|n| n.node_id == node);
                assert!(there, "FlexRIC's RIC aborts: E2 Node not found in the tree");
                let response = RicSubscriptionDeleteResponse { request_id: m.request_id, function_id };
                Some(e42::Message::E2(Message::RicSubscriptionDeleteResponse(response)))
            }
            e42::Message::ControlRequest(m) => {
                assert_eq!(
                    m.ack_request,
                    Some(RicControlAckRequest::Ack),
                    "FlexRIC's agent aborts without an acknowledgement request"
                );
                Some(e42::Message::E2(Message::RicControlAcknowledge(RicControlAcknowledge {
                    request_id: m.request_id,
                    function_id: m.function_id,
                    call_process_id: None,
                    status: None,
                    outcome: None,
                })))
            }
            other => panic!("FlexRIC's iApp aborts: {other:?}"),
        }
    }
}

/// FlexRIC's xApp.
#[derive(Debug, Default)]
pub struct Xapp {
    pub nodes: usize,
    pub acknowledged: usize,
    pub indications: usize,
    pub subscribed: usize,
}

impl Xapp {
    pub fn take(&mut self, message: e42::Message) {
        match message {
            e42::Message::SetupResponse(m) => {
                self.nodes = m.nodes.len();
                m.nodes.iter().for_each(|n| check_components("xApp", &n.components));
            }
            e42::Message::E2(Message::RicIndication(_)) => self.indications += 1,
            e42::Message::E2(Message::RicControlAcknowledge(_)) => self.acknowledged += 1,
            e42::Message::E2(Message::RicSubscriptionResponse(_)) => self.subscribed += 1,
            e42::Message::E2(Message::RicSubscriptionDeleteResponse(_)) => {}
            other => panic!("FlexRIC's xApp aborts: unhandled message {other:?}"),
        }
    }
}
