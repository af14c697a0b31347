//! Controller endpoint of version 2.
use super::session::{Session, Version};
use super::{EmpowerEvent, ReportedUe};
use crate::Time;
use crate::agent::PeriodicTimer;
use crate::empower::protocol::EmpowerError;
use crate::empower::protocol::v2::*;
use std::time::Duration;

/// Interval at which the published controller's worker requests the resource usage of a cell.
const CELL_POLL: Duration = Duration::from_secs(2);

/// State specific to version 2.
#[derive(Debug, Default)]
pub struct Version2 {
    cell: Option<PeriodicTimer>,
    asked: bool,
}

/// A session of version 2.
pub type EmpowerSession2 = Session<Version2>;

impl EmpowerSession2 {
    fn ask(&mut self, operation: Operation, action: u16, tlvs: Vec<Tlv>) {
        let xid = self.next_xid();
        self.send(Kind::Request(operation), action, xid, tlvs);
    }

    fn send(&mut self, kind: Kind, action: u16, xid: u32, tlvs: Vec<Tlv>) {
        self.send_octets(|mac, seq, out| Pdu::new(kind, action, mac, seq, xid, tlvs).encode(out));
    }

    fn hello(&mut self, now: Time, pdu: &Pdu) {
        let period = pdu.tlvs.iter().find_map(|tlv| match tlv {
            Tlv::HelloPeriod(hello) => Some(Duration::from_millis(hello.period.into())),
            _ => None,
        });
        let interval = period.unwrap_or(Duration::from_secs(2)).max(Duration::from_millis(1));
        if self.greeted(now, pdu.device, interval) {
            // The request is sent before the response arrives, as measured with the published controller.
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
                if !std::mem::replace(&mut self.own.asked, true) {
                    self.ask(Operation::Create, action::UE_REPORTS, Vec::new());
                    self.own.cell = Some(PeriodicTimer { due: now + CELL_POLL, period: CELL_POLL });
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
                let rsrp = report.rsrp.into();
                let rsrq = report.rsrq.into();
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

impl Version for EmpowerSession2 {
    type Pdu = Pdu;
    const MESSAGE_BYTES: fn(&[u8]) -> Result<Option<usize>, EmpowerError> = message_bytes;
    const DECODE: fn(&[u8]) -> Result<Pdu, EmpowerError> = decode;

    fn take(&mut self, now: Time, pdu: Pdu) {
        if self.agent.is_none() && pdu.action != action::HELLO {
            return self.event(EmpowerEvent::Discarded);
        }
        match (pdu.action, pdu.kind) {
            (action::HELLO, Kind::Request(_)) => self.hello(now, &pdu),
            (_, Kind::Response(Outcome::Fail)) => self.event(EmpowerEvent::Discarded),
            (_, Kind::Response(_)) => pdu.tlvs.iter().for_each(|tlv| self.element(now, tlv)),
            _ => self.event(EmpowerEvent::Fault(
                "the base station sent a request that only controllers may send".to_owned(),
            )),
        }
    }

    fn ask_due(&mut self, now: Time) {
        if let Some(beat) = &mut self.own.cell
            && beat.due <= now
        {
            beat.advance(now);
            self.ask(Operation::Undefined, action::MAC_PRB_UTILIZATION, Vec::new());
        }
    }

    fn due_at(&self) -> Option<Time> {
        self.own.cell.map(|beat| beat.due)
    }
}
