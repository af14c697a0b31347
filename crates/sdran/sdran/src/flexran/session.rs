//! Controller endpoint of one connection.
//!
//! Reading has two steps, because the published controller has two threads. [`FlexranSession::deframe`] runs in the thread of the socket,
//! and [`FlexranSession::process`] runs in the thread of the RIB, possibly much later. `handle` runs both at once.
use crate::Time;
use crate::agent::{ControllerInput, ControllerOutput, SouthboundController, StreamBuffer, StreamFault};
use crate::flexran::protocol::*;
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// Settings of a controller for its agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// Requested report period. The statistics application of FlexRAN requests 4 ms.
    pub period: Duration,
    /// Requested elements of the UEs' statistics.
    pub ue_flags: u32,
    /// Requested elements of the cells' statistics.
    pub cell_flags: u32,
    /// Whether the request for statistics follows [`FlexranEvent::Known`] at once. If it is `false`, an application has to request
    /// statistics, as in the published controller.
    pub request_statistics: bool,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            period: Duration::from_millis(4),
            ue_flags: UeFlags::PUBLISHED,
            cell_flags: CellFlags::NOISE,
            request_statistics: true,
        }
    }
}

/// Event from an agent at a controller.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)]
pub enum FlexranEvent {
    /// The base station has sent its configuration and is now known.
    Known(EnbConfigReply),
    /// The agent sent the configuration of all UEs, which replaces the previous one.
    Ues(UeConfigReply),
    /// The agent sent the logical channels of all UEs, which replace the previous ones.
    LogicalChannels(LcConfigReply),
    /// A UE was activated, deactivated or updated.
    UeState(UeStateChange),
    /// The agent sent statistics.
    Statistics(StatsReply),
    /// The agent returned an echo.
    Echo(EchoReply),
    /// The agent announced that it disconnects.
    Disconnect,
    /// A command was executed, or refused with a reason.
    Outcome {
        /// Transaction number of the command, which is not 0.
        xid: u32,
        /// Reason of the refusal. `None`: the command was executed.
        refusal: Option<String>,
    },
    /// The agent sent a message for schedulers: a subframe trigger, scheduling requests, or a request for code.
    Other(Box<Message>),
    /// A message was dropped because the agent is not known yet, as in the published controller.
    Early,
    /// The agent violated the protocol.
    Fault(String),
}

/// State machine of a session; see the [module](super).
#[derive(Debug)]
pub struct FlexranSession {
    settings: SessionSettings,
    buffer: StreamBuffer,
    outputs: VecDeque<ControllerOutput<FlexranEvent>>,
    received: bool,
    greeted: bool,
    known: bool,
}

impl FlexranSession {
    /// Creates a session before its start.
    pub fn new(settings: SessionSettings) -> Self {
        let outputs = VecDeque::new();
        Self {
            settings,
            buffer: StreamBuffer::default(),
            outputs,
            received: false,
            greeted: false,
            known: false,
        }
    }

    /// Sends the hello. The published controller sends it in the first cycle of the RIB updater after the connection.
    pub fn greet(&mut self) {
        let header = Some(Header::new(Kind::Hello, 0));
        self.send(Direction::Initiating, Hello { header, ..Hello::default() });
    }

    /// Returns the bodies of the frames that are complete with `octets`. An error ends the stream. The published controller then closes the
    /// socket, and keeps all other state.
    pub fn deframe(
        &mut self,
        octets: &[u8],
        bodies: &mut Vec<Bytes>,
    ) -> Result<(), StreamFault<FlexranError>> {
        self.buffer.extend(octets);
        loop {
            match self.buffer.next(frame_bytes) {
                Ok(Some(frame)) => {
                    self.received = true;
                    bodies.push(Bytes::copy_from_slice(&frame[LENGTH_BYTES..]));
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.buffer.clear();
                    return Err(error);
                }
            }
        }
    }

    /// Returns whether a complete frame has arrived.
    pub fn has_received(&self) -> bool {
        self.received
    }

    /// Processes a body.
    pub fn process(&mut self, body: Bytes) {
        let envelope = match decode(body) {
            Ok(envelope) => envelope,
            Err(error) => return self.event(FlexranEvent::Fault(error.to_string())),
        };
        let direction = envelope.direction();
        let Some(message) = envelope.msg else { return };
        match message {
            Message::Hello(_) if direction == Some(Direction::Successful) && !self.greeted => {
                self.greeted = true;
                self.request_configuration();
            }
            // Any other hello is ignored.
            Message::Hello(_) => {}
            Message::EnbConfigReply(reply) => {
                let first = !std::mem::replace(&mut self.known, true);
                self.event(FlexranEvent::Known(reply));
                if first && self.settings.request_statistics {
                    self.request_statistics(self.settings.period);
                }
            }
            Message::EchoRequest(request) => {
                let xid = request.header.and_then(|header| header.xid).unwrap_or(0);
                let header = Some(Header::new(Kind::EchoReply, xid));
                self.send(
                    Direction::Successful,
                    EchoReply { header, latency: request.latency, payload: request.payload },
                );
            }
            _ if !self.known => self.event(FlexranEvent::Early),
            Message::UeConfigReply(reply) => self.event(FlexranEvent::Ues(reply)),
            Message::LcConfigReply(reply) => self.event(FlexranEvent::LogicalChannels(reply)),
            Message::UeStateChange(change) => {
                self.event(FlexranEvent::UeState(change));
                // The controller requests logical channels after every change, including the deactivation of a UE.
                let header = Some(Header { version: None, ..Header::new(Kind::LcConfigRequest, 2) });
                self.send(Direction::Initiating, LcConfigRequest { header });
            }
            Message::StatsReply(reply) => self.event(FlexranEvent::Statistics(reply)),
            Message::EchoReply(reply) => self.event(FlexranEvent::Echo(reply)),
            Message::Disconnect(_) => self.event(FlexranEvent::Disconnect),
            other @ (Message::SfTrigger(_) | Message::UlSrInfo(_) | Message::ControlDelegationRequest(_)) => {
                self.event(FlexranEvent::Other(Box::new(other)));
            }
            Message::AgentReconfiguration(answer) if direction == Some(Direction::Successful) => {
                self.outcome(answer.header, None);
            }
            Message::AgentReconfiguration(answer) if direction == Some(Direction::Unsuccessful) => {
                let why =
                    answer.policy.unwrap_or_else(|| "the base station refuses without a reason".to_owned());
                self.outcome(answer.header, Some(why));
            }
            _ => self.event(FlexranEvent::Fault(
                "the agent sent a message that only controllers may send".to_owned(),
            )),
        }
    }

    fn outcome(&mut self, header: Option<Header>, refusal: Option<String>) {
        let xid = header.and_then(|header| header.xid).unwrap_or(0);
        self.event(FlexranEvent::Outcome { xid, refusal });
    }

    fn request_configuration(&mut self) {
        let header = Some(Header::new(Kind::EnbConfigRequest, 0));
        self.send(Direction::Initiating, EnbConfigRequest { header });
        // The published controller omits the version in both requests.
        let header = |kind, xid| Some(Header { version: None, ..Header::new(kind, xid) });
        self.send(Direction::Initiating, UeConfigRequest { header: header(Kind::UeConfigRequest, 1) });
        self.send(Direction::Initiating, LcConfigRequest { header: header(Kind::LcConfigRequest, 2) });
    }

    /// Requests periodic statistics. A further call changes the period.
    pub fn request_statistics(&mut self, period: Duration) {
        let body = CompleteStatsRequest {
            report_frequency: Some(ReportFrequency::Periodical.into()),
            sf: Some(u32::try_from(period.as_millis()).unwrap_or(u32::MAX).max(1)),
            cell_report_flags: Some(self.settings.cell_flags),
            ue_report_flags: Some(self.settings.ue_flags),
            ..CompleteStatsRequest::default()
        };
        let request = StatsRequest {
            header: Some(Header::new(Kind::StatsRequest, 0)),
            kind: Some(0),
            body: Some(StatsRequestBody::Complete(body)),
        };
        self.send(Direction::Initiating, request);
    }

    /// Requests an echo. Agents that support these extensions, such as those of this project, return the time stamp and the bytes.
    pub fn echo(&mut self, xid: u32, latency: Option<u32>, payload: Option<Bytes>) {
        let header = Some(Header::new(Kind::EchoRequest, xid));
        self.send(Direction::Initiating, EchoRequest { header, latency, payload });
    }

    /// Requests a handover (Mosaic5G 2.x). As in the other commands, `xid` is 0 if the outcome is not requested. Agents of other projects
    /// do not report the outcome.
    pub fn hand_over(&mut self, xid: u32, rnti: u16, target_pci: u16) {
        let header = Some(Header::new(Kind::HoCommand, xid));
        let rnti = Some(rnti.into());
        let target_phy_cell_id = Some(target_pci.into());
        self.send(Direction::Initiating, HoCommand { header, rnti, target_phy_cell_id });
    }

    /// Pushes the code of a downlink scheduler to the agent. Policies use it by `name`.
    pub fn delegate(&mut self, xid: u32, name: &str, payload: Bytes) {
        let push = ControlDelegation {
            header: Some(Header::new(Kind::DelegateControl, xid)),
            delegation_type: Some(DelegationType::DlScheduler.into()),
            payload: Some(payload),
            name: Some(name.to_owned()),
        };
        self.send(Direction::Initiating, push);
    }

    /// Changes the agent with a policy; see [`Policy`].
    pub fn reconfigure(&mut self, xid: u32, policy: &str) {
        let header = Some(Header::new(Kind::ReconfigureAgent, xid));
        let policy = Some(policy.to_owned());
        let change = AgentReconfiguration { header, policy, ..AgentReconfiguration::default() };
        self.send(Direction::Initiating, change);
    }

    /// Sends the allocations of a downlink subframe.
    pub fn allocate(&mut self, sfn_sf: u32, dl_ue_data: Vec<DlData>) {
        let header = Some(Header::new(Kind::DlMacConfig, 0));
        let config = DlMacConfig { header, sfn_sf: Some(sfn_sf), dl_ue_data, ..DlMacConfig::default() };
        self.send(Direction::Initiating, config);
    }

    /// Sets the slices of the downlink (Mosaic5G 2.x).
    pub fn slice(&mut self, xid: u32, downlink: SliceDlUlConfig) {
        let cell = CellConfig {
            slice_config: Some(SliceConfig { dl: Some(downlink), ul: None }),
            ..CellConfig::default()
        };
        let header = Some(Header::new(Kind::EnbConfigReply, xid));
        let reply = EnbConfigReply { header, cell_config: vec![cell], ..EnbConfigReply::default() };
        self.send(Direction::Initiating, reply);
    }

    /// Moves UEs into slices of the downlink (Mosaic5G 2.x).
    pub fn associate(&mut self, xid: u32, ues: &[(u16, u32)]) {
        let of = |(rnti, slice): &(u16, u32)| UeConfig {
            rnti: Some((*rnti).into()),
            dl_slice_id: Some(*slice),
            ..UeConfig::default()
        };
        let header = Some(Header::new(Kind::UeConfigReply, xid));
        self.send(Direction::Initiating, UeConfigReply { header, ue_config: ues.iter().map(of).collect() });
    }

    /// Returns whether the base station is known.
    pub fn is_known(&self) -> bool {
        self.known
    }

    fn send(&mut self, direction: Direction, message: impl Into<Message>) {
        let mut octets = Vec::new();
        match encode_frame(&Envelope::new(direction, message), &mut octets) {
            Ok(()) => self.outputs.push_back(ControllerOutput::Send(octets)),
            Err(error) => self.event(FlexranEvent::Fault(format!("cannot encode a message: {error}"))),
        }
    }

    fn event(&mut self, event: FlexranEvent) {
        self.outputs.push_back(ControllerOutput::Event(event));
    }
}

impl SouthboundController for FlexranSession {
    type Event = FlexranEvent;

    fn handle(&mut self, _now: Time, input: ControllerInput<'_>) {
        match input {
            ControllerInput::Connected => self.greet(),
            ControllerInput::Received(octets) => {
                let mut bodies = Vec::new();
                let result = self.deframe(octets, &mut bodies);
                bodies.into_iter().for_each(|body| self.process(body));
                if let Err(error) = result {
                    self.event(FlexranEvent::Fault(error.to_string()));
                    self.outputs.push_back(ControllerOutput::Close);
                }
            }
            ControllerInput::Closed => {
                let outputs = std::mem::take(&mut self.outputs);
                *self = Self { outputs, ..Self::new(self.settings) };
            }
            ControllerInput::Wake => {}
        }
    }

    fn poll(&mut self) -> Option<ControllerOutput<FlexranEvent>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Time> {
        None
    }
}
