//! Shows that a further SD-RAN protocol needs only a codec and one `SouthboundAgent`. A protocol of text lines runs on a [`StreamPair`].
use ranlab_machine::Time;
use ranlab_sdran::agent::*;
use std::collections::VecDeque;
use std::time::Duration;

/// Codec of the protocol. A line ends with a line feed.
fn line_bytes(octets: &[u8]) -> Result<Option<usize>, std::convert::Infallible> {
    Ok(octets.iter().position(|octet| *octet == b'\n').map(|at| at + 1))
}

struct ToyAgent {
    buffer: StreamBuffer,
    outputs: VecDeque<AgentOutput>,
    ues: UeTable,
    counters: AgentCounters,
    report: Option<(Time, Duration)>,
    since: Time,
}

impl ToyAgent {
    fn new() -> Self {
        Self {
            buffer: StreamBuffer::default(),
            outputs: VecDeque::new(),
            ues: UeTable::new(10),
            counters: AgentCounters::default(),
            report: None,
            since: Time::ZERO,
        }
    }

    fn say(&mut self, line: String, due_at: Option<Time>) {
        self.counters.sent += 1;
        self.counters.reports += u64::from(due_at.is_some());
        self.outputs.push_back(AgentOutput::Send { octets: line.into_bytes(), due: due_at });
    }
}

impl SouthboundAgent for ToyAgent {
    fn handle(&mut self, now: Time, input: AgentInput<'_>) {
        match input {
            AgentInput::Connecting => self.since = now,
            AgentInput::Connected => {
                self.counters.connections += 1;
                self.say("hello 1\n".into(), None);
            }
            AgentInput::Received(octets) => {
                self.buffer.extend(octets);
                while let Ok(Some(line)) = self.buffer.next(line_bytes) {
                    let line = String::from_utf8_lossy(line).into_owned();
                    let Some(ms) = line.trim().strip_prefix("report ") else { continue };
                    let Ok(ms) = ms.parse() else { continue };
                    let period = Duration::from_millis(ms);
                    self.report = Some((now + period, period));
                    let after = now.since(self.since);
                    let event = AgentEvent::Initialised { to_requests: after, to_reporting: after };
                    self.outputs.push_back(AgentOutput::Event(event));
                }
            }
            AgentInput::Closed => self.report = None,
            AgentInput::Ue(event) => match event.change {
                UeChange::Activated(ue) | UeChange::Arrived { ue, .. } => {
                    self.ues.add(ue);
                }
                UeChange::Deactivated => {
                    self.ues.remove(event.imsi);
                }
                UeChange::Updated(radio) => {
                    self.ues.update(event.imsi, radio);
                }
            },
            AgentInput::Delegated(_) | AgentInput::HandoverEnded { .. } | AgentInput::Wake => {}
        }
        if let Some((due_at, period)) = self.report
            && due_at <= now
        {
            self.report = Some((due_at + period, period));
            self.say(format!("ues {}\n", self.ues.len()), Some(due_at));
        }
    }
    fn poll(&mut self) -> Option<AgentOutput> {
        self.outputs.pop_front()
    }
    fn wake_at(&self) -> Option<Time> {
        self.report.map(|(due_at, _)| due_at)
    }
    fn is_reporting(&self) -> bool {
        self.report.is_some()
    }
    fn counters(&self) -> &AgentCounters {
        &self.counters
    }
    fn ues(&self) -> usize {
        self.ues.len()
    }
    fn announced_ues(&self) -> usize {
        self.ues.len()
    }
}

#[derive(Default)]
struct ToyController {
    buffer: StreamBuffer,
    outputs: VecDeque<ControllerOutput<String>>,
}

impl SouthboundController for ToyController {
    type Event = String;
    fn handle(&mut self, _: Time, input: ControllerInput<'_>) {
        let ControllerInput::Received(octets) = input else { return };
        self.buffer.extend(octets);
        while let Ok(Some(line)) = self.buffer.next(line_bytes) {
            let line = String::from_utf8_lossy(line).trim().to_owned();
            if line.starts_with("hello") {
                self.outputs.push_back(ControllerOutput::Send(b"report 10\n".to_vec()));
            }
            self.outputs.push_back(ControllerOutput::Event(line));
        }
    }
    fn poll(&mut self) -> Option<ControllerOutput<String>> {
        self.outputs.pop_front()
    }
    fn wake_at(&self) -> Option<Time> {
        None
    }
}

#[test]
fn custom_protocol_runs_on_stream_pair() {
    let faults = StreamFaults { piece_bytes: 2, ..StreamFaults::delay(Duration::from_millis(1)) };
    let agent: Box<dyn SouthboundAgent> = Box::new(ToyAgent::new());
    let mut pair = StreamPair::new(agent, ToyController::default(), faults, 1);
    let ue = Ue { imsi: 1, tmsi: 1, rnti: None, radio: Radio::default() };
    pair.tell_agent(AgentInput::Ue(UeEvent { at: Time::ZERO, imsi: 1, change: UeChange::Activated(ue) }));
    pair.run_until(Time::from_nanos(105_000_000));
    assert_eq!(pair.controller_events.iter().filter(|line| *line == "ues 1").count(), 10);
    pair.reset();
    pair.run_until(Time::from_nanos(305_000_000));
    assert_eq!(pair.controller_events.iter().filter(|line| *line == "hello 1").count(), 2);
    assert_eq!(pair.agent.counters().connections, 2);
}
