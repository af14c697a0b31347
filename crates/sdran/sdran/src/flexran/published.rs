//! Emulates quirks of Mosaic5G's controller (2.4.1) with UEs. An activation creates a UE, and a configuration only updates existing UEs.
//! After each activation, the controller requests the whole configuration again. The end of a connection removes its UEs.
use super::*;
use crate::Time;
use crate::agent::{
    AgentEvent, AgentInput, ControllerInput, ControllerOutput, Radio, ReportPeriod, SouthboundAgent,
    SouthboundController, StreamBuffer, StreamFaults, StreamPair, Ue, UeChange as Change, UeEvent,
};
use crate::flexran::protocol::*;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
struct PublishedController {
    buffer: StreamBuffer,
    outputs: VecDeque<ControllerOutput<()>>,
    /// UEs with their numbers of reports.
    ues: BTreeMap<u32, u64>,
    /// Number of configuration requests without a response. The next field is the maximum of this number.
    open: u64,
    open_max: u64,
    activations: u64,
    /// Whether the controller omits the repeated request after an activation.
    incurious: bool,
    /// Last configuration of the cell. The next fields are the configurations of UEs, and the last report of each UE.
    cell: CellConfig,
    configured: Vec<UeConfig>,
    reported: BTreeMap<u32, UeStatsReport>,
}

impl PublishedController {
    fn send(&mut self, message: impl Into<Message>) {
        let mut octets = Vec::new();
        encode_frame(&Envelope::new(Direction::Initiating, message), &mut octets).unwrap();
        self.outputs.push_back(ControllerOutput::Send(octets));
    }

    fn ask_for_configuration(&mut self) {
        self.open += 1;
        self.open_max = self.open_max.max(self.open);
        let header = |kind, xid| Some(Header::new(kind, xid));
        self.send(EnbConfigRequest { header: header(Kind::EnbConfigRequest, 0) });
        self.send(UeConfigRequest { header: header(Kind::UeConfigRequest, 1) });
        self.send(LcConfigRequest { header: header(Kind::LcConfigRequest, 2) });
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Hello(_) => {
                self.ask_for_configuration();
                let body = CompleteStatsRequest {
                    report_frequency: Some(ReportFrequency::Periodical.into()),
                    sf: Some(100),
                    ue_report_flags: Some(UeFlags::PUBLISHED | UeFlags::MAC_STATS),
                    ..CompleteStatsRequest::default()
                };
                let header = Some(Header::new(Kind::StatsRequest, 0));
                let body = Some(StatsRequestBody::Complete(body));
                self.send(StatsRequest { header, kind: Some(0), body });
            }
            Message::EnbConfigReply(mut reply) => self.cell = reply.cell_config.remove(0),
            Message::UeConfigReply(reply) => self.configured = reply.ue_config,
            Message::LcConfigReply(_) => self.open -= 1,
            Message::UeStateChange(change) => {
                let rnti = change.config.and_then(|config| config.rnti).unwrap();
                if change.kind == Some(UeChange::Activated.into()) {
                    self.activations += 1;
                    self.ues.entry(rnti).or_default();
                    if !self.incurious {
                        self.ask_for_configuration();
                    }
                } else if change.kind == Some(UeChange::Deactivated.into()) {
                    assert!(self.ues.remove(&rnti).is_some(), "UE {rnti} is unknown");
                }
            }
            Message::StatsReply(reply) => {
                for report in reply.ue_report {
                    if let Some(reports) = report.rnti.and_then(|rnti| self.ues.get_mut(&rnti)) {
                        *reports += 1;
                    }
                    self.reported.insert(report.rnti.unwrap(), report);
                }
            }
            _ => {}
        }
    }
}

impl SouthboundController for PublishedController {
    type Event = ();

    fn handle(&mut self, _: Time, input: ControllerInput<'_>) {
        match input {
            ControllerInput::Connected => {
                let header = Some(Header::new(Kind::Hello, 0));
                self.send(Hello { header, ..Hello::default() });
            }
            ControllerInput::Received(octets) => {
                self.buffer.extend(octets);
                while let Some(frame) = self.buffer.next(frame_bytes).unwrap() {
                    let body = Bytes::copy_from_slice(&frame[LENGTH_BYTES..]);
                    self.take(decode(body).unwrap().msg.unwrap());
                }
            }
            ControllerInput::Closed => *self = Self { incurious: self.incurious, ..Self::default() },
            ControllerInput::Wake => {}
        }
    }

    fn poll(&mut self) -> Option<ControllerOutput<()>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Time> {
        None
    }
}

fn up(imsi: u64) -> AgentInput<'static> {
    let ue = Ue { imsi, tmsi: 1, rnti: None, radio: Radio::default() };
    AgentInput::Ue(UeEvent { at: Time::ZERO, imsi, change: Change::Activated(ue) })
}

fn down(imsi: u64) -> AgentInput<'static> {
    AgentInput::Ue(UeEvent { at: Time::ZERO, imsi, change: Change::Deactivated })
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// Returns a base station, whose UEs existed before the connection, with its controller.
fn pair(ues: u64, controller: PublishedController) -> StreamPair<FlexranAgent, PublishedController> {
    pair_as(FlexranDialect::Mosaic, ues, controller)
}

fn pair_as(
    dialect: FlexranDialect,
    ues: u64,
    controller: PublishedController,
) -> StreamPair<FlexranAgent, PublishedController> {
    let mut agent = FlexranAgent::new(FlexranAgentSettings {
        station: 7,
        pci: 3,
        period: ReportPeriod::Override(50 * MS),
        dialect,
        max_ues: 4_000,
        phase: Duration::ZERO,
    });
    (0..ues).for_each(|imsi| agent.handle(Time::ZERO, up(imsi)));
    assert_eq!(agent.announced_ues(), 0, "no UE may be announced before the connection");
    StreamPair::new(agent, controller, StreamFaults::delay(MS), 1)
}

#[test]
fn mosaic_controller_learns_all_ues_on_each_connection() {
    let mut pair = pair(30, PublishedController::default());
    pair.run_until(at(500));
    assert_eq!((pair.controller.ues.len(), pair.agent.announced_ues()), (30, 30));
    pair.tell_agent(up(30));
    pair.tell_agent(down(4));
    pair.run_until(at(1_000));
    assert_eq!((pair.controller.ues.len(), pair.controller.activations), (30, 31));
    assert!(pair.controller.ues.values().all(|reports| *reports >= 8), "{:?}", pair.controller.ues);
    // The controller restarts. Meanwhile, UEs are added and removed.
    pair.reset();
    assert_eq!((pair.agent.ues(), pair.agent.announced_ues()), (30, 0));
    pair.tell_agent(up(31));
    pair.tell_agent(down(5));
    pair.run_until(at(2_000));
    assert_eq!(
        (pair.controller.ues.len(), pair.controller.activations),
        (30, 30),
        "each UE must be activated exactly once"
    );
    assert_eq!((pair.agent.ues(), pair.agent.announced_ues(), pair.agent.counters().faults), (30, 30, 0));
}

#[test]
fn unconfigured_agent_adopts_controller_dialect() {
    let mut pair = pair_as(FlexranDialect::V0, 30, PublishedController::default());
    pair.run_until(at(1_000));
    assert_eq!((pair.controller.ues.len(), pair.agent.announced_ues()), (30, 30));
    let speaks = |event: &&AgentEvent| matches!(event, AgentEvent::Speaks("mosaic5g"));
    assert_eq!(pair.agent_events.iter().filter(speaks).count(), 1);
    pair.reset();
    pair.run_until(at(2_000));
    assert_eq!(
        (pair.controller.ues.len(), pair.controller.activations),
        (30, 30),
        "the agent must use the controller's dialect from its hello on"
    );
    assert_eq!(pair.agent_events.iter().filter(speaks).count(), 1, "the dialect must be reported only once");
}

#[test]
fn many_ues_are_announced_one_at_a_time() {
    let mut pair = pair(1_000, PublishedController::default());
    // Some UEs are deactivated before they are announced.
    pair.run_until(at(100));
    let announced = pair.agent.announced_ues();
    assert!((10..900).contains(&announced), "{announced}");
    (900..1_000).for_each(|imsi| pair.tell_agent(down(imsi)));
    pair.run_until(at(5_000));
    assert_eq!((pair.controller.ues.len(), pair.agent.announced_ues()), (900, 900));
    assert!(
        pair.controller.open_max <= 2,
        "at most 2 configuration rounds may be pending at once, but {} were",
        pair.controller.open_max
    );
}

#[test]
fn controller_without_repeated_requests_learns_all_ues() {
    let mut pair = pair(30, PublishedController { incurious: true, ..PublishedController::default() });
    pair.run_until(at(3_000));
    assert_eq!((pair.controller.ues.len(), pair.agent.announced_ues()), (30, 30));
}

/// The controller requests its settings every second, and checks them before it uses them. For example, it refuses handovers without
/// NetControl.
#[test]
fn mosaic_settings_appear_in_configuration_and_reports() {
    let mut pair = pair(0, PublishedController::default());
    let busy = Radio { prbs: 40, ..Radio::default() };
    for imsi in [1, 2] {
        let change = Change::Activated(Ue { imsi, tmsi: 1, rnti: None, radio: busy });
        pair.tell_agent(AgentInput::Ue(UeEvent { at: Time::ZERO, imsi, change }));
    }
    pair.run_until(at(500));
    assert_eq!((&pair.controller.cell.slice_config, pair.controller.cell.x2_ho_net_control), (&None, None));
    let fixed = |id, low, high| Slice {
        id: Some(id),
        params: Some(SliceParameters::Fixed(SliceStatic { pos_low: Some(low), pos_high: Some(high) })),
        ..Slice::default()
    };
    let sliced = |algorithm: Option<SliceAlgorithm>, slices| CellConfig {
        slice_config: Some(SliceConfig {
            dl: Some(SliceDlUlConfig { algorithm: algorithm.map(i32::from), slices, scheduler: None }),
            ul: None,
        }),
        ..CellConfig::default()
    };
    let set = |pair: &mut StreamPair<FlexranAgent, PublishedController>, cell| {
        let header = Some(Header::new(Kind::EnbConfigReply, 0));
        let reply = EnbConfigReply { header, cell_config: vec![cell], ..EnbConfigReply::default() };
        pair.controller.send(reply);
    };
    set(&mut pair, CellConfig { x2_ho_net_control: Some(true), ..CellConfig::default() });
    set(&mut pair, sliced(Some(SliceAlgorithm::Static), vec![fixed(1, 0, 4), fixed(2, 5, 7)]));
    let header = Some(Header::new(Kind::UeConfigReply, 0));
    let into = |rnti, slice| UeConfig { rnti: Some(rnti), dl_slice_id: Some(slice), ..UeConfig::default() };
    pair.controller.send(UeConfigReply { header: header.clone(), ue_config: vec![into(61, 2)] });
    pair.controller.ask_for_configuration();
    pair.run_until(at(1_000));
    let slices = |pair: &StreamPair<FlexranAgent, PublishedController>| -> Vec<u32> {
        let dl = pair.controller.cell.slice_config.clone().unwrap().dl.unwrap();
        assert_eq!(dl.algorithm, Some(SliceAlgorithm::Static.into()));
        dl.slices.iter().map(|slice| slice.id.unwrap()).collect()
    };
    assert_eq!((slices(&pair), pair.controller.cell.x2_ho_net_control), (vec![1, 2], Some(true)));
    let of = |pair: &StreamPair<FlexranAgent, PublishedController>| -> Vec<Option<u32>> {
        pair.controller.configured.iter().map(|ue| ue.dl_slice_id).collect()
    };
    assert_eq!(of(&pair), [Some(2), None]);
    let prbs = |pair: &StreamPair<FlexranAgent, PublishedController>, rnti| {
        pair.controller.reported[&rnti].mac_stats.as_ref().unwrap().prb_dl
    };
    assert_eq!(
        (prbs(&pair, 61), prbs(&pair, 62)),
        (Some(9), Some(40)),
        "UE 61 must have three groups of three resource blocks"
    );
    // The controller removes a slice, naming only its number. The UEs of this slice are then in no slice, and no UE can be moved there.
    set(&mut pair, sliced(None, vec![Slice { id: Some(2), ..Slice::default() }]));
    pair.controller.ask_for_configuration();
    pair.run_until(at(2_000));
    assert_eq!((slices(&pair), of(&pair), prbs(&pair, 61)), (vec![1], vec![None, None], Some(40)));
    assert_eq!(pair.agent.counters().faults, 0);
    pair.controller.send(UeConfigReply { header, ue_config: vec![into(61, 2), into(99, 1)] });
    pair.run_until(at(2_100));
    assert_eq!((pair.agent.counters().faults, pair.agent.counters().commands), (2, 5));
}
