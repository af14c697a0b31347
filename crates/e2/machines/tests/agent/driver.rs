//! Test fixture: an agent in virtual time, with controllers that are scripted messages.
use bytes::Bytes;
use ranlab_e2::agent::*;
use ranlab_e2::{Frame, Time};
use ranlab_e2_codec::e2ap::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const C0: ControllerId = ControllerId(0);
pub(crate) const C1: ControllerId = ControllerId(1);
pub(crate) const ACK: Option<RicControlAckRequest> = Some(RicControlAckRequest::Ack);

pub(crate) fn components() -> Vec<ComponentConfigItem> {
    vec![component("amf")]
}

pub(crate) fn component(amf: &str) -> ComponentConfigItem {
    ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: amf.into() }),
        configuration: ComponentConfiguration::default(),
    }
}

pub(crate) fn config() -> AgentConfig {
    AgentConfig::new(GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32), components())
}

pub(crate) fn ric_id() -> GlobalRicId {
    GlobalRicId { plmn: Plmn::new(505, 1, 2), ric_id: ranlab_e2_codec::per::ShortBits::new(25, 20) }
}

/// Drives an agent like a driver and records all its outputs.
pub(crate) struct AgentDriver {
    pub(crate) agent: Agent,
    pub(crate) now: Time,
    pub(crate) version: Version,
    pub(crate) connects: Vec<(ControllerId, String)>,
    pub(crate) closes: Vec<(ControllerId, CloseReason)>,
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) sent: BTreeMap<ControllerId, Vec<Message>>,
    /// Controllers that do not read.
    pub(crate) blocked: BTreeSet<ControllerId>,
}

impl AgentDriver {
    pub(crate) fn new(agent: Agent) -> Self {
        Self::speaking(agent, Version::V2_03)
    }

    pub(crate) fn speaking(agent: Agent, version: Version) -> Self {
        let connects = Vec::new();
        let closes = Vec::new();
        let events = Vec::new();
        let sent = BTreeMap::new();
        let blocked = BTreeSet::new();
        Self { agent, now: Time::ZERO, version, connects, closes, events, sent, blocked }
    }

    /// Creates a fixture with one controller whose setup is complete.
    pub(crate) fn up(agent: Agent, version: Version) -> Self {
        let mut bench = Self::speaking(agent, version);
        bench.add("tcp://192.0.2.1:36421");
        bench.set_up(C0);
        bench
    }

    pub(crate) fn add(&mut self, address: &str) -> ControllerId {
        let id = self.agent.add_controller(self.now, address.into()).unwrap();
        self.drain();
        id
    }

    pub(crate) fn set_up(&mut self, id: ControllerId) {
        self.input(AgentInput::Connected { controller: id });
        let request = self.take(id);
        let [Message::E2SetupRequest(request)] = &request[..] else {
            panic!("expected a setup request, received {request:?}")
        };
        let response = self.setup_response(request.transaction_id);
        self.receive(id, &response);
        assert!(self.agent.is_up(id), "{:?}", self.events);
    }

    /// Returns a response that accepts the setup.
    pub(crate) fn setup_response(&self, transaction_id: Option<u16>) -> Message {
        let response = E2SetupResponse {
            transaction_id,
            ric_id: ric_id(),
            accepted: None,
            rejected: None,
            components_v1: None,
            components: (self.version != Version::V1_01).then(Vec::new),
        };
        let response = match response.components {
            Some(_) => E2SetupResponse { components: Some(vec![ack_of(&components()[0])]), ..response },
            None => response,
        };
        Message::E2SetupResponse(response)
    }

    pub(crate) fn input(&mut self, input: AgentInput) {
        self.agent.handle(self.now, input);
        self.drain();
    }

    pub(crate) fn receive(&mut self, id: ControllerId, message: &Message) {
        self.receive_bytes(id, encode(message, self.version).unwrap().into());
    }

    pub(crate) fn receive_bytes(&mut self, id: ControllerId, pdu: Bytes) {
        self.input(AgentInput::Received { controller: id, pdu });
    }

    /// Sends a message and returns the responses.
    pub(crate) fn ask(&mut self, id: ControllerId, message: &Message) -> Vec<Message> {
        self.take(id);
        self.receive(id, message);
        self.take(id)
    }

    pub(crate) fn take(&mut self, id: ControllerId) -> Vec<Message> {
        self.sent.remove(&id).unwrap_or_default()
    }

    /// Advances the time, waking the agent at its deadlines.
    pub(crate) fn pass(&mut self, d: Duration) {
        let end = self.now + d;
        let mut idle = 0;
        while let Some(at) = self.agent.wake_at().filter(|at| *at <= end) {
            idle = if at > self.now { 0 } else { idle + 1 };
            assert!(idle < 100, "the agent requests immediate wake-ups repeatedly at {:?}", self.now);
            self.now = at.max(self.now);
            self.input(AgentInput::Wake);
        }
        self.now = end;
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.agent.poll() {
            match output {
                AgentOutput::Connect { controller, address } => self.connects.push((controller, address)),
                AgentOutput::Close { controller, reason } => self.closes.push((controller, reason)),
                AgentOutput::Event(event) => self.events.push(event),
                AgentOutput::Transmit { controller } => self.transmit(controller),
            }
        }
    }

    pub(crate) fn transmit(&mut self, controller: ControllerId) {
        if self.blocked.contains(&controller) {
            return self.agent.transport_full(controller);
        }
        while let Some(frame) = self.agent.transmit(self.now, controller) {
            let (decoded, _) = decode_upgrading(&Frame::to_bytes(&frame), self.version)
                .expect("the agent must send valid E2AP");
            assert!(decoded.deviations.is_empty());
            self.sent.entry(controller).or_default().push(decoded.message);
        }
    }
}

pub(crate) fn ack_of(c: &ComponentConfigItem) -> ComponentAckItem {
    let ack = ComponentAck { outcome: UpdateOutcome::Success, cause: None };
    ComponentAckItem { interface: c.interface, id: c.id.clone(), ack }
}

pub(crate) fn request_id(requestor: u16) -> RicRequestId {
    RicRequestId { requestor, instance: 0 }
}

pub(crate) fn subscription(requestor: u16, function_id: RanFunctionId, actions: &[u8]) -> Message {
    Message::RicSubscriptionRequest(RicSubscriptionRequest {
        request_id: request_id(requestor),
        function_id,
        details: RicSubscriptionDetails {
            event_trigger: Bytes::from_static(&[10, 0, 0, 0]),
            actions: actions.iter().map(|a| ActionToBeSetup::report(*a)).collect(),
        },
        start_time: None,
        end_time: None,
    })
}

pub(crate) fn deletion(requestor: u16, function_id: RanFunctionId) -> Message {
    let request_id = request_id(requestor);
    Message::RicSubscriptionDeleteRequest(RicSubscriptionDeleteRequest { request_id, function_id })
}

pub(crate) fn control(
    function_id: RanFunctionId,
    message: &[u8],
    ack_request: Option<RicControlAckRequest>,
) -> Message {
    Message::RicControlRequest(RicControlRequest {
        request_id: request_id(900),
        function_id,
        call_process_id: None,
        header: Bytes::new(),
        message: Bytes::copy_from_slice(message),
        ack_request,
    })
}

/// Calls that a [`Probe`] received.
#[derive(Debug, Default)]
pub(crate) struct ProbeCalls {
    pub(crate) subscribed: Vec<(SubscriptionId, ControllerId)>,
    pub(crate) deleted: Vec<SubscriptionId>,
    pub(crate) ues: Vec<Vec<u64>>,
    pub(crate) answers: Vec<String>,
}

/// A RAN function for tests. It admits actions below 100. A control of one byte selects the reaction: 0 fails, 1
/// sends indications to all subscriptions, 2 records the UEs, 3 requests the deletion of all subscriptions, 4 a
/// modification of all.
#[derive(Default, Clone)]
pub(crate) struct Probe {
    pub(crate) seen: Arc<Mutex<ProbeCalls>>,
    pub(crate) revision: Arc<Mutex<u16>>,
}

impl Probe {
    pub(crate) fn agent(config: AgentConfig) -> (Agent, Arc<Mutex<ProbeCalls>>) {
        let mut agent = Agent::new(config);
        let probe = Self::default();
        let seen = probe.seen.clone();
        assert_eq!(agent.register(Box::new(probe), Some(7)), Ok(7));
        (agent, seen)
    }
}

impl RanFunction for Probe {
    fn description(&self) -> FunctionDescription {
        let revision = *self.revision.lock().unwrap();
        FunctionDescription { oid: "1.2.3".into(), definition: Bytes::from_static(b"probe"), revision }
    }

    fn on_subscription(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        s: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        self.seen.lock().unwrap().subscribed.push((s.id, ctx.controller().unwrap()));
        let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        Ok(Admission::each(s.actions, |a| if a.id < 100 { Ok(()) } else { Err(cause) }))
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, id: SubscriptionId) {
        self.seen.lock().unwrap().deleted.push(id);
    }

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let mut seen = self.seen.lock().unwrap();
        let subscribed = seen.subscribed.clone();
        match control.message[..] {
            [1] => subscribed.iter().for_each(|(id, _)| {
                let kind = RicIndicationType::Report;
                let header = &[0; 4];
                let message = &[7; 100];
                let call_process_id = None;
                let subscription = *id;
                let _ = ctx.indicate(Indication {
                    subscription,
                    action: 0,
                    kind,
                    header,
                    message,
                    call_process_id,
                });
            }),
            [2] => seen.ues.push(ctx.ues().iter().map(|ue| ue.0).collect()),
            [3] => subscribed.iter().for_each(|(id, _)| {
                let _ = ctx.ask_delete(*id, Cause::Misc(CauseMisc::HardwareFailure));
            }),
            [4] => subscribed.iter().for_each(|(id, _)| {
                let time_to_wait = RicTimeToWait::W5ms;
                let _ = ctx.ask_modification(
                    *id,
                    vec![ActionRequiredToBeModified { id: 0, time_to_wait }],
                    vec![],
                );
            }),
            _ => return Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute)),
        }
        Ok(ControlOutcome { outcome: Some(Bytes::from_static(b"done")) })
    }

    fn on_modification(
        &mut self,
        _: &mut FunctionContext<'_>,
        m: ModificationRequest<'_>,
    ) -> Result<ModificationOutcome, Cause> {
        let added = m.add.iter().map(|a| a.id).filter(|id| *id < 100).collect();
        Ok(ModificationOutcome { removed: m.remove.to_vec(), added, ..ModificationOutcome::default() })
    }

    fn on_modification_answer(
        &mut self,
        _: &mut FunctionContext<'_>,
        _: SubscriptionId,
        a: ModificationAnswer<'_>,
    ) {
        self.seen.lock().unwrap().answers.push(format!("{a:?}"));
    }

    fn on_query(&mut self, _: &mut FunctionContext<'_>, query: QueryRequest<'_>) -> Result<Bytes, Cause> {
        Ok(query.definition.clone())
    }
}
