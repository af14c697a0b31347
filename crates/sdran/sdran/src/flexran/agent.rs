//! Agent endpoint of FlexRAN.
use super::control::Control;
use super::elements::Checked;
use super::report;
use super::steering::Steering;
use super::template::Replies;
use crate::Time;
use crate::agent::{
    AgentCounters, AgentEvent, AgentInput, AgentOutput, CellControl, PeriodicTimer, Radio, ReportPeriod,
    SouthboundAgent, StreamBuffer, Ue, UeChange as Change, UeEvent, UeTable,
};
use crate::flexran::protocol::*;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// FlexRAN version of an agent. The agent starts with this version and adapts to the controller. It recognises Mosaic5G by statistics that
/// 0.x does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FlexranDialect {
    /// Version 0.x, as used by MARC.
    #[default]
    V0,
    /// Mosaic5G 2.x. It adds identity and capabilities in the hello, IMSIs, MAC statistics, and a disconnect message.
    Mosaic,
}

/// Settings of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlexranAgentSettings {
    /// Identity of the base station.
    pub station: u64,
    /// Physical cell identity.
    pub pci: u16,
    /// Report period: the period that the controller requests, or a fixed period.
    pub period: ReportPeriod,
    /// FlexRAN version at the start.
    pub dialect: FlexranDialect,
    /// Maximum number of UEs.
    pub max_ues: usize,
    /// Delay of the first report within the first period. It spreads the reports of a fleet over time.
    pub phase: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Reporting {
    beat: Option<PeriodicTimer>,
    ue_flags: u32,
    cell_flags: u32,
    xid: u32,
}

/// State machine of an agent; see the [module](super).
#[derive(Debug)]
pub struct FlexranAgent {
    settings: FlexranAgentSettings,
    buffer: StreamBuffer,
    pub(super) outputs: VecDeque<AgentOutput>,
    pub(super) ues: UeTable,
    pub(super) counters: AgentCounters,
    pub(super) connected: bool,
    delegated: bool,
    connecting_at: Time,
    requested_at: Option<Time>,
    /// Whether the controller has received the UEs on this connection, and receives their changes.
    announced: bool,
    /// UEs that the controller does not know yet.
    unannounced: VecDeque<u16>,
    /// Whether the controller requested the configuration since the last report.
    asked: bool,
    /// Time since which the agent has waited for the controller's request for reports.
    unanswered_since: Option<Time>,
    /// Whether an event reported that the controller's dialect differs from the configured one.
    told_dialect: bool,
    reporting: Option<Reporting>,
    pub(super) replies: Replies,
    pub(super) control: Control,
    /// Cell under the agent, if there is one.
    pub(super) steering: Option<Steering>,
    /// Pending handovers whose outcome the controller expects, by C-RNTI.
    pub(super) leaving: BTreeMap<u16, Header>,
}

impl FlexranAgent {
    /// Creates a disconnected agent.
    pub fn new(settings: FlexranAgentSettings) -> Self {
        Self {
            buffer: StreamBuffer::default(),
            outputs: VecDeque::new(),
            ues: UeTable::new(settings.max_ues),
            counters: AgentCounters::default(),
            connected: false,
            delegated: false,
            connecting_at: Time::ZERO,
            requested_at: None,
            announced: false,
            unannounced: VecDeque::new(),
            asked: false,
            unanswered_since: None,
            told_dialect: false,
            reporting: None,
            replies: Replies::default(),
            control: Control::default(),
            steering: None,
            leaving: BTreeMap::new(),
            settings,
        }
    }

    /// Creates a disconnected agent over a cell. The agent reports the state of the cell, and passes commands of the controller to it.
    pub fn over(settings: FlexranAgentSettings, cell: Box<dyn CellControl>) -> Self {
        let steering = Steering::new(cell);
        let control = Control::of_cell(steering.prbs());
        Self { steering: Some(steering), control, ..Self::new(settings) }
    }

    fn mosaic(&self) -> bool {
        self.settings.dialect == FlexranDialect::Mosaic
    }

    /// Sends a message. Returns whether it could be encoded.
    pub(super) fn send(
        &mut self,
        direction: Option<Direction>,
        message: impl Into<Message>,
        due: Option<Time>,
    ) -> bool {
        if !self.connected {
            return false;
        }
        let envelope = Envelope { msg_dir: direction.map(i32::from), msg: Some(message.into()) };
        let mut octets = Vec::new();
        match encode_frame(&envelope, &mut octets) {
            Ok(()) => {
                self.push(octets, due);
                true
            }
            // Encoding fails if there are too many UEs for one body. A real agent would stop, but this agent reports a fault.
            Err(error) => {
                self.fault(format!("cannot encode a message: {error}"));
                false
            }
        }
    }

    fn push(&mut self, octets: Vec<u8>, due_at: Option<Time>) {
        self.counters.sent += 1;
        self.counters.sent_bytes += octets.len() as u64;
        self.counters.reports += u64::from(due_at.is_some());
        self.outputs.push_back(AgentOutput::Send { octets, due: due_at });
    }

    pub(super) fn fault(&mut self, what: String) {
        self.counters.faults += 1;
        self.outputs.push_back(AgentOutput::Event(AgentEvent::Fault(what)));
    }

    fn receive(&mut self, now: Time, octets: &[u8]) {
        self.buffer.extend(octets);
        loop {
            let frame = match self.buffer.next(frame_bytes) {
                Ok(None) => return,
                Ok(Some(frame)) => Bytes::copy_from_slice(&frame[LENGTH_BYTES..]),
                Err(error) => return self.broken(&error.to_string()),
            };
            self.counters.received += 1;
            self.counters.received_bytes += (LENGTH_BYTES + frame.len()) as u64;
            match decode(frame) {
                Ok(Envelope { msg: Some(message), .. }) => self.take(now, message),
                Ok(_) => {}
                // Framing stays intact, so an unknown message does not end the connection.
                Err(error) => self.fault(error.to_string()),
            }
        }
    }

    fn broken(&mut self, what: &str) {
        self.fault(what.to_owned());
        self.buffer.clear();
        self.outputs.push_back(AgentOutput::Close);
    }

    fn take(&mut self, now: Time, message: Message) {
        if let Some(element) = message.refused() {
            return self.refuse(&message, element);
        }
        match message {
            Message::Hello(hello) => self.hello(hello.header),
            Message::EnbConfigRequest(request) => {
                self.requested_at = Some(now);
                let header = reply_header(Kind::EnbConfigReply, request.header);
                let cell_config = vec![self.control.cell(self.settings.pci)];
                let enb_id = Some(self.settings.station);
                let loaded_mac_objects = match &self.steering {
                    Some(steering) if self.mosaic() => steering.pushed(),
                    _ => Vec::new(),
                };
                let reply = EnbConfigReply {
                    header,
                    enb_id,
                    cell_config,
                    loaded_mac_objects,
                    ..EnbConfigReply::default()
                };
                self.send(None, reply, None);
            }
            Message::UeConfigRequest(request) => {
                self.requested_at = Some(now);
                self.configure_ues(request.header);
            }
            Message::LcConfigRequest(request) => {
                if self.reporting.is_some() {
                    self.counters.rounds += 1;
                } else {
                    self.requested_at = Some(now);
                }
                let header = reply_header(Kind::LcConfigReply, request.header);
                // The reply replaces the state of the controller, so it always contains all UEs.
                let lc_ue_config = self.ues.iter().map(|(rnti, _)| report::logical_channels(rnti)).collect();
                self.send(None, LcConfigReply { header, lc_ue_config }, None);
                self.asked = true;
                self.announce();
            }
            Message::StatsRequest(request) => self.stats(now, request),
            Message::EchoRequest(request) => {
                let EchoRequest { header, latency, payload } = request;
                let header = reply_header(Kind::EchoReply, header);
                self.send(Some(Direction::Successful), EchoReply { header, latency, payload }, None);
            }
            Message::ControlDelegation(push) => self.delegation(push),
            Message::HoCommand(command) => self.handover(command),
            Message::EnbConfigReply(reply) => self.reconfigure(&reply),
            Message::UeConfigReply(reply) => self.associate(&reply),
            Message::AgentReconfiguration(change) => self.policy(change),
            Message::DlMacConfig(config) => self.decision(&config),
            // All other messages were refused above.
            _ => {}
        }
    }

    fn hello(&mut self, header: Option<Header>) {
        let mut hello = Hello { header: reply_header(Kind::Hello, header), ..Hello::default() };
        if self.mosaic() {
            hello.bs_id = Some(self.settings.station);
            hello.capabilities = (0..=i32::from(BsCapability::S1ap)).collect();
        }
        self.send(Some(Direction::Successful), hello, None);
    }

    /// Reports all UEs in one reply. FlexRAN 0.x creates UEs from this reply. Mosaic5G 2.x only updates known UEs, and creates UEs only
    /// from activations. Each UE is therefore activated once on each connection.
    fn configure_ues(&mut self, request: Option<Header>) {
        let header = reply_header(Kind::UeConfigReply, request);
        let mosaic = self.mosaic();
        let ue_config = self.ues.iter().map(|(rnti, ue)| self.control.ue(rnti, ue, mosaic)).collect();
        let sent = self.send(None, UeConfigReply { header, ue_config }, None);
        if !std::mem::replace(&mut self.announced, true) && (mosaic || !sent) {
            self.unannounced = self.ues.iter().map(|(rnti, _)| rnti).collect();
        }
    }

    /// Activates the next UE that existed before the connection. It is called after the controller's request about all UEs, which follows
    /// each activation. If all UEs were activated at once, the responses would grow with the square of their number. They would fill the
    /// batches at the end of which the published controllers lose a message.
    fn announce(&mut self) {
        while let Some(rnti) = self.unannounced.pop_front() {
            let Some(ue) = self.ues.get(rnti) else { continue };
            return self.change(UeChange::Activated, self.control.ue(rnti, ue, self.mosaic()));
        }
    }

    fn change(&mut self, kind: UeChange, config: UeConfig) {
        let header = Some(Header::new(Kind::UeStateChange, 0));
        self.send(None, UeStateChange { header, kind: Some(kind.into()), config: Some(config) }, None);
    }

    fn stats(&mut self, now: Time, request: StatsRequest) {
        self.unanswered_since = None;
        self.replies = Replies::Changed;
        let xid = request.header.and_then(|header| header.xid).unwrap_or(0);
        let first = self.reporting.is_none();
        let (frequency, sf, ue_flags, cell_flags) = match request.body {
            Some(StatsRequestBody::Complete(body)) => (
                body.report_frequency.and_then(ReportFrequency::from_number),
                body.sf.unwrap_or(1),
                body.ue_report_flags.unwrap_or(0),
                body.cell_report_flags.unwrap_or(0),
            ),
            Some(StatsRequestBody::Ue(body)) => {
                let reporting =
                    Reporting { beat: None, ue_flags: body.flags.unwrap_or(0), cell_flags: 0, xid };
                return self.report_ues(now, reporting, &body.rnti);
            }
            Some(StatsRequestBody::Cell(body)) => {
                // A base station has one cell, with index 0.
                let here = body.cell.is_empty() || body.cell.contains(&0);
                (Some(ReportFrequency::Once), 1, 0, if here { body.flags.unwrap_or(0) } else { 0 })
            }
            None => return self.fault("the controller sent a statistics request without content".to_owned()),
        };
        let period = self.settings.period.effective_period(Duration::from_millis(sf.into()));
        let due_at = now + self.settings.phase.min(period);
        let beat = match frequency {
            Some(ReportFrequency::Off) => {
                self.reporting = None;
                return;
            }
            Some(ReportFrequency::Periodical | ReportFrequency::Continuous) => {
                Some(PeriodicTimer { due: due_at, period })
            }
            Some(ReportFrequency::Once) | None => None,
        };
        let reporting = Reporting { beat, ue_flags, cell_flags, xid };
        if beat.is_none() {
            return self.report(now, reporting, now);
        }
        if first {
            self.shown(ue_flags);
            self.counters.initialised += 1;
            let to_reporting = now.since(self.connecting_at);
            let to_requests = self.requested_at.map_or(to_reporting, |at| at.since(self.connecting_at));
            let event = AgentEvent::Initialised { to_requests, to_reporting };
            self.outputs.push_back(AgentOutput::Event(event));
        }
        self.reporting = Some(reporting);
    }

    /// Detects the FlexRAN version of the controller from its first request for statistics.
    fn shown(&mut self, ue_flags: u32) {
        let mosaic = ue_flags & !UeFlags::OF_0_X != 0;
        if mosaic == self.mosaic() || self.told_dialect {
            return;
        }
        self.told_dialect = true;
        let name = if mosaic { "mosaic5g" } else { "flexran-rtc" };
        self.outputs.push_back(AgentOutput::Event(AgentEvent::Speaks(name)));
        if mosaic {
            self.settings.dialect = FlexranDialect::Mosaic;
            // A controller of this version did not create UEs from the configuration.
            self.unannounced = self.ues.iter().map(|(rnti, _)| rnti).collect();
        }
    }

    fn report(&mut self, now: Time, reporting: Reporting, due_at: Time) {
        if !self.connected {
            return;
        }
        if let Some(steering) = &self.steering {
            let sfn = steering.sfn_sf();
            self.send(None, self.stats_reply(&reporting, sfn), Some(due_at));
            return;
        }
        let sfn = sfn_sf(now.as_nanos() / 1_000_000);
        if let Some(octets) = self.replies.cached(sfn) {
            return self.push(octets, Some(due_at));
        }
        self.send(None, self.stats_reply(&reporting, sfn), Some(due_at));
        let mut replies = std::mem::take(&mut self.replies);
        replies.put_together(|sfn| {
            let mut octets = Vec::new();
            let envelope = Envelope { msg_dir: None, msg: Some(self.stats_reply(&reporting, sfn).into()) };
            encode_frame(&envelope, &mut octets).ok().map(|()| octets)
        });
        self.replies = replies;
    }

    /// Reports UEs once. `rntis` selects the UEs; if it is empty, all UEs are reported.
    fn report_ues(&mut self, now: Time, reporting: Reporting, rntis: &[u32]) {
        let sfn = match &self.steering {
            Some(steering) => steering.sfn_sf(),
            None => sfn_sf(now.as_nanos() / 1_000_000),
        };
        let mut reply = self.stats_reply(&reporting, sfn);
        reply.ue_report.retain(|ue| rntis.is_empty() || ue.rnti.is_some_and(|rnti| rntis.contains(&rnti)));
        self.send(None, reply, Some(now));
    }

    fn stats_reply(&self, reporting: &Reporting, sfn: u32) -> StatsReply {
        let flags = reporting.ue_flags;
        let mosaic = self.mosaic();
        let ue_report = match flags {
            0 => Vec::new(),
            _ => {
                let ues = self.ues.iter();
                ues.map(|(rnti, ue)| report::ue_report(rnti, &self.radio(rnti, ue), flags, sfn, mosaic))
                    .collect()
            }
        };
        let header = Some(Header::new(Kind::StatsReply, reporting.xid));
        let cell_report = report::cell_report(reporting.cell_flags, sfn).into_iter().collect();
        StatsReply { header, ue_report, cell_report }
    }

    /// Returns the radio state of a UE. If there is a cell under the agent, it is the state in this cell. Otherwise, the number of resource
    /// blocks is limited to the slice of the UE.
    fn radio(&self, rnti: u16, ue: &Ue) -> Radio {
        if let Some(steering) = &self.steering {
            return steering.ue(rnti).unwrap_or(ue.radio);
        }
        let prbs = self.control.prbs(rnti).map_or(ue.radio.prbs, |most| ue.radio.prbs.min(most));
        Radio { prbs, ..ue.radio }
    }

    fn wake(&mut self, now: Time) {
        self.trigger();
        let Some(reporting) = &mut self.reporting else { return };
        let Some(beat) = &mut reporting.beat else { return };
        if beat.due > now {
            return;
        }
        let due_at = beat.due;
        self.counters.skipped += beat.advance(now);
        let reporting = *reporting;
        if !std::mem::take(&mut self.asked) {
            self.announce();
        }
        if !self.delegated {
            self.report(now, reporting, due_at);
        }
    }

    fn ue(&mut self, event: UeEvent) {
        self.replies = Replies::Changed;
        let mosaic = self.mosaic();
        let (kind, config) = match event.change {
            Change::Updated(radio) => {
                if self.ues.update(event.imsi, radio).is_none() {
                    self.counters.refused_ues += 1;
                }
                return;
            }
            Change::Activated(ue) | Change::Arrived { ue, .. } => match self.ues.add(ue) {
                Some(rnti) => {
                    let nth = self.ues.iter().position(|(there, _)| there == rnti).unwrap_or(0);
                    self.steering.iter_mut().for_each(|steering| steering.place(nth, rnti));
                    (UeChange::Activated, report::ue_config(rnti, &ue, mosaic))
                }
                None => {
                    self.counters.refused_ues += 1;
                    return;
                }
            },
            Change::Deactivated => match self.ues.remove(event.imsi) {
                Some((rnti, _)) => {
                    self.control.forget(rnti);
                    if let Some(at) = self.unannounced.iter().position(|waiting| *waiting == rnti) {
                        self.unannounced.remove(at);
                        return;
                    }
                    (UeChange::Deactivated, UeConfig { rnti: Some(rnti.into()), ..UeConfig::default() })
                }
                None => {
                    self.counters.refused_ues += 1;
                    return;
                }
            },
        };
        // Earlier changes are not announced, because the controller will request the configuration with all UEs.
        if self.announced {
            self.change(kind, config);
        }
    }
}

fn reply_header(kind: Kind, request: Option<Header>) -> Option<Header> {
    Some(Header::new(kind, request.and_then(|header| header.xid).unwrap_or(0)))
}

impl SouthboundAgent for FlexranAgent {
    fn handle(&mut self, now: Time, input: AgentInput<'_>) {
        match input {
            AgentInput::Connecting => self.connecting_at = now,
            AgentInput::Connected => {
                self.connected = true;
                self.unanswered_since = Some(now);
                self.counters.connections += 1;
            }
            AgentInput::Received(octets) => self.receive(now, octets),
            AgentInput::Closed => {
                self.connected = false;
                self.steering.iter_mut().for_each(Steering::alone);
                self.unanswered_since = None;
                self.announced = false;
                self.unannounced.clear();
                self.leaving.clear();
                self.reporting = None;
                self.requested_at = None;
                self.buffer.clear();
            }
            AgentInput::Ue(event) => self.ue(event),
            AgentInput::Delegated(to_agent) => self.delegated = to_agent,
            AgentInput::HandoverEnded { rnti, refusal } => self.handed_over(rnti, refusal),
            AgentInput::Wake => {}
        }
        self.wake(now);
    }

    fn poll(&mut self) -> Option<AgentOutput> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Time> {
        self.reporting.and_then(|reporting| reporting.beat).map(|beat| beat.due)
    }

    fn is_reporting(&self) -> bool {
        self.reporting.is_some()
    }

    fn counters(&self) -> &AgentCounters {
        &self.counters
    }

    fn ues(&self) -> usize {
        self.ues.len()
    }

    fn announced_ues(&self) -> usize {
        if self.announced { self.ues.len() - self.unannounced.len() } else { 0 }
    }

    fn unanswered_since(&self) -> Option<Time> {
        self.unanswered_since
    }

    fn ue(&self, rnti: u16) -> Option<Ue> {
        self.ues.get(rnti).copied()
    }
}
