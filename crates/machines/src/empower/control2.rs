//! The controller's end of version 2.
use super::{EmpowerEvent, EmpowerSessionSettings, ReportedUe, SILENT_INTERVALS};
use crate::Time;
use crate::southbound::{Beat, ControllerInput, ControllerOutput, SouthboundController, StreamBuffer};
use ranlab_wire::empower::Mac;
use ranlab_wire::empower::v2::*;
use std::collections::VecDeque;
use std::time::Duration;

/// How often the published controller's worker asks for the use of a cell.
const CELL_POLL: Duration = Duration::from_secs(2);

/// The machine: see the [module](super).
#[derive(Debug)]
pub struct EmpowerSession2 {
    settings: EmpowerSessionSettings,
    buffer: StreamBuffer,
    outputs: VecDeque<ControllerOutput<EmpowerEvent>>,
    agent: Option<(Mac, Duration)>,
    heard: Time,
    cell: Option<Beat>,
    asked: bool,
    seq: u32,
    xid: u32,
}

impl EmpowerSession2 {
    /// A session that has not begun.
    pub fn new(settings: EmpowerSessionSettings) -> Self {
        Self {
            settings,
            buffer: StreamBuffer::default(),
            outputs: VecDeque::new(),
            agent: None,
            heard: Time::ZERO,
            cell: None,
            asked: false,
            seq: 0,
            xid: 0,
        }
    }

    /// Who it is, once it said hello.
    pub fn mac(&self) -> Option<Mac> {
        self.agent.map(|(mac, _)| mac)
    }

    /// When silence ends the connection; `None` before the first hello.
    pub fn silent_at(&self) -> Option<Time> {
        self.agent.map(|(_, interval)| self.heard + interval * SILENT_INTERVALS)
    }

    /// Takes octets off the socket, without looking at them yet.
    pub fn hold(&mut self, octets: &[u8]) {
        self.buffer.extend(octets);
    }

    /// Octets held and not looked at.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Processes one message at most; `true` if there was one.
    pub fn process_one(&mut self, now: Time) -> bool {
        let pdu = match self.buffer.next(message_bytes) {
            Ok(None) => return false,
            Ok(Some(message)) => decode(message),
            Err(error) => {
                self.broken(error.to_string());
                return false;
            }
        };
        match pdu {
            Ok(pdu) => self.take(now, &pdu),
            Err(error) => self.event(EmpowerEvent::Fault(error.to_string())),
        }
        true
    }

    fn broken(&mut self, what: String) {
        self.event(EmpowerEvent::Fault(what));
        self.buffer.clear();
        self.outputs.push_back(ControllerOutput::Close);
    }

    fn event(&mut self, event: EmpowerEvent) {
        self.outputs.push_back(ControllerOutput::Event(event));
    }

    fn ask(&mut self, operation: Operation, action: u16, tlvs: Vec<Tlv>) {
        self.xid = self.xid.wrapping_add(1);
        self.send(Kind::Request(operation), action, self.xid, tlvs);
    }

    fn send(&mut self, kind: Kind, action: u16, xid: u32, tlvs: Vec<Tlv>) {
        let Some((mac, _)) = self.agent else { return };
        self.seq = self.seq.wrapping_add(1);
        let mut octets = Vec::new();
        match Pdu::new(kind, action, mac, self.seq, xid, tlvs).encode(&mut octets) {
            Ok(()) => self.outputs.push_back(ControllerOutput::Send(octets)),
            Err(error) => self.event(EmpowerEvent::Fault(format!("a message of ours: {error}"))),
        }
    }

    fn take(&mut self, now: Time, pdu: &Pdu) {
        if self.agent.is_none() && pdu.action != action::HELLO {
            return self.event(EmpowerEvent::Discarded);
        }
        match (pdu.action, pdu.kind) {
            (action::HELLO, Kind::Request(_)) => self.hello(now, pdu),
            (_, Kind::Response(Outcome::Fail)) => self.event(EmpowerEvent::Discarded),
            (_, Kind::Response(_)) => pdu.tlvs.iter().for_each(|tlv| self.element(now, tlv)),
            _ => self.event(EmpowerEvent::Fault("a request that only controllers send".to_owned())),
        }
    }

    fn hello(&mut self, now: Time, pdu: &Pdu) {
        let period = pdu.tlvs.iter().find_map(|tlv| match tlv {
            Tlv::HelloPeriod(hello) => Some(Duration::from_millis(hello.period.into())),
            _ => None,
        });
        let interval = period.unwrap_or(Duration::from_secs(2)).max(Duration::from_millis(1));
        let first = self.agent.is_none();
        self.agent = Some((pdu.device, interval));
        self.heard = now;
        self.event(EmpowerEvent::Hello { mac: pdu.device, interval });
        if first {
            // Measured: the question comes before the answer.
            self.ask(Operation::Undefined, action::CAPABILITIES, Vec::new());
        }
        let period = u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
        let tlvs = vec![Tlv::HelloPeriod(HelloPeriod { period })];
        self.send(Kind::Response(Outcome::Success), action::HELLO, pdu.xid, tlvs);
    }

    fn element(&mut self, now: Time, tlv: &Tlv) {
        match tlv {
            Tlv::CapabilitiesCell(cell) => {
                let event = EmpowerEvent::Capabilities { pci: cell.pci, prbs: cell.n_prbs.into() };
                self.event(event);
                if !std::mem::replace(&mut self.asked, true) {
                    self.ask(Operation::Create, action::UE_REPORTS, Vec::new());
                    self.cell = Some(Beat { due: now + CELL_POLL, period: CELL_POLL });
                }
            }
            Tlv::UeIdentity(identity) => {
                let ue = ReportedUe { rnti: identity.rnti, imsi: identity.imsi, tmsi: identity.tmsi };
                if identity.status != UeStatus::CONNECTED {
                    return self.event(EmpowerEvent::UeDown(ue));
                }
                self.event(EmpowerEvent::UeUp(ue));
                let config = UeMeasurementConfig {
                    rnti: ue.rnti,
                    meas_id: 1,
                    interval: ReportInterval::at_least(self.settings.ue_period),
                    amount: ReportAmount::INFINITE,
                };
                let tlvs = vec![Tlv::UeMeasurementConfig(config)];
                self.ask(Operation::Create, action::UE_MEASUREMENTS, tlvs);
            }
            Tlv::UeMeasurementReport(report) => {
                let (rsrp, rsrq) = (report.rsrp.into(), report.rsrq.into());
                self.event(EmpowerEvent::UeMeasured { rnti: report.rnti, rsrp, rsrq });
            }
            Tlv::MacPrbReport(report) => {
                self.event(EmpowerEvent::CellMeasured { dl_prbs: report.dl, ul_prbs: report.ul });
            }
            _ => self.event(EmpowerEvent::Discarded),
        }
    }

    /// Ends the measurements of all UEs.
    pub fn stop_measurements(&mut self) {
        let tlvs = vec![Tlv::MeasurementId(MeasurementId { meas_id: 1 })];
        self.ask(Operation::Delete, action::UE_MEASUREMENTS, tlvs);
    }
}

impl SouthboundController for EmpowerSession2 {
    type Event = EmpowerEvent;

    fn handle(&mut self, now: Time, input: ControllerInput<'_>) {
        match input {
            ControllerInput::Connected => {}
            ControllerInput::Received(octets) => {
                self.hold(octets);
                while self.process_one(now) {}
            }
            ControllerInput::Closed => {
                let outputs = std::mem::take(&mut self.outputs);
                *self = Self { outputs, ..Self::new(self.settings) };
            }
            ControllerInput::Wake => {
                if self.silent_at().is_some_and(|at| at <= now) {
                    self.agent = None;
                    return self.broken("silent for three intervals".to_owned());
                }
                if let Some(beat) = &mut self.cell
                    && beat.due <= now
                {
                    beat.advance(now);
                    self.ask(Operation::Undefined, action::MAC_PRB_UTILIZATION, Vec::new());
                }
            }
        }
    }

    fn poll(&mut self) -> Option<ControllerOutput<EmpowerEvent>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Time> {
        [self.silent_at(), self.cell.map(|beat| beat.due)].into_iter().flatten().min()
    }
}
