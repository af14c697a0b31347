//! Base station endpoint of version 2.
use super::elements::v2::Checked;
use super::measure::{Agent, Core, Measurement, Station};
use crate::Time;
use crate::agent::{PeriodicTimer, Ue, UeChange, UeEvent};
use crate::empower::protocol::EmpowerError;
use crate::empower::protocol::v2::*;
use std::time::Duration;

/// Number of resource blocks of the cell.
const PRBS: u8 = 50;
/// Lowest value of an RSRP range, in dBm (TS 36.133 §9.1.4).
const RSRP_RANGE_0_DBM: i16 = -141;

/// State specific to version 2, which is empty.
#[derive(Debug, Default)]
pub struct Version2;

/// An agent of version 2.
pub type EmpowerAgent2 = Agent<Version2>;

impl EmpowerAgent2 {
    fn send(&mut self, kind: Kind, action: u16, xid: u32, tlvs: Vec<Tlv>, due_at: Option<Time>) {
        let seq = self.core.next_seq();
        let pdu = Pdu::new(kind, action, self.settings.mac, seq, xid, tlvs);
        self.core.send(due_at, |out| pdu.encode(out));
    }

    fn answer(&mut self, action: u16, xid: u32, tlvs: Vec<Tlv>, due: Option<Time>) {
        self.send(Kind::Response(Outcome::Success), action, xid, tlvs, due);
    }

    fn identity(&self, rnti: u16, ue: &Ue, status: u8) -> Tlv {
        Tlv::UeIdentity(UeIdentity { imsi: ue.imsi, tmsi: ue.tmsi, rnti, status, pci: self.settings.pci })
    }

    fn measure(&mut self, now: Time, xid: u32, operation: Operation, tlvs: &[Tlv]) {
        for tlv in tlvs {
            match (operation, tlv) {
                (Operation::Delete, Tlv::MeasurementId(MeasurementId { meas_id })) => {
                    self.core.stop_all(|_, measurement| measurement.id == u16::from(*meas_id));
                }
                (Operation::Delete, Tlv::UeMeasurementConfig(config)) => {
                    self.core.stop(config.rnti, config.meas_id.into());
                }
                (_, Tlv::UeMeasurementConfig(config)) => {
                    let requested = ReportInterval::duration(config.interval);
                    let (Some(requested), Some(_)) = (requested, self.core.ues.get(config.rnti)) else {
                        self.core.fault(format!(
                            "the controller requested a measurement of an unknown UE or with an invalid interval: UE {}, interval {}",
                            config.rnti, config.interval
                        ));
                        self.send(
                            Kind::Response(Outcome::Fail),
                            action::UE_MEASUREMENTS,
                            xid,
                            Vec::new(),
                            None,
                        );
                        continue;
                    };
                    let period: Duration = self.settings.period.effective_period(requested);
                    let beat = PeriodicTimer { due: now + period, period };
                    let left = ReportAmount::reports(config.amount);
                    self.core
                        .measure(config.rnti, Measurement { beat, left, xid, id: config.meas_id.into() });
                    self.core.counters.rounds += 1;
                }
                _ => {}
            }
        }
    }

    fn cell_report(&mut self, xid: u32, now: Time) {
        let (dl, ul) = self.core.use_prbs();
        let report = MacPrbReport { prb: PRBS.into(), dl, ul, pci: self.settings.pci };
        self.answer(action::MAC_PRB_UTILIZATION, xid, vec![Tlv::MacPrbReport(report)], Some(now));
    }
}

impl Station for EmpowerAgent2 {
    type Pdu = Pdu;
    const MESSAGE_BYTES: fn(&[u8]) -> Result<Option<usize>, EmpowerError> = message_bytes;
    const DECODE: fn(&[u8]) -> Result<Pdu, EmpowerError> = decode;

    fn take(&mut self, now: Time, pdu: Pdu) {
        if let (Kind::Request(_), Some(element)) = (pdu.kind, pdu.tlvs.refused()) {
            self.core.refuse(element);
            return self.send(Kind::Response(Outcome::Fail), pdu.action, pdu.xid, Vec::new(), None);
        }
        let operation = match pdu.kind {
            Kind::Request(operation) => operation,
            // This is the response to the hello of this agent.
            Kind::Response(_) if pdu.action == action::HELLO => return self.core.unanswered_since = None,
            Kind::Response(_) => {
                return self.core.fault("the controller sent a response without a request".to_owned());
            }
        };
        match pdu.action {
            action::CAPABILITIES => {
                self.core.requested(now);
                let cell = CapabilitiesCell {
                    pci: self.settings.pci,
                    dl_earfcn: 3350,
                    ul_earfcn: 21_350,
                    n_prbs: PRBS,
                };
                self.answer(pdu.action, pdu.xid, vec![Tlv::CapabilitiesCell(cell)], None);
            }
            action::UE_REPORTS => match operation {
                Operation::Delete => self.core.report_xid = None,
                _ => {
                    self.core.requested(now);
                    self.core.report_xid = Some(pdu.xid);
                    let ues = self.core.ues.iter();
                    let ues: Vec<Tlv> =
                        ues.map(|(rnti, ue)| self.identity(rnti, ue, UeStatus::CONNECTED)).collect();
                    for ue in ues {
                        self.answer(pdu.action, pdu.xid, vec![ue], None);
                    }
                    self.core.initialised(now);
                }
            },
            action::UE_MEASUREMENTS => self.measure(now, pdu.xid, operation, &pdu.tlvs),
            action::MAC_PRB_UTILIZATION => self.cell_report(pdu.xid, now),
            other => {
                self.core.fault(format!("the controller sent the unknown action {other}"));
                self.send(Kind::Response(Outcome::Fail), other, pdu.xid, Vec::new(), None);
            }
        }
    }

    fn changed(&mut self, event: UeEvent) {
        let tlv = match event.change {
            UeChange::Updated(radio) => {
                self.core.counters.refused_ues +=
                    u64::from(self.core.ues.update(event.imsi, radio).is_none());
                return;
            }
            UeChange::Activated(ue) | UeChange::Arrived { ue, .. } => {
                self.core.ues.add(ue).map(|rnti| self.identity(rnti, &ue, UeStatus::CONNECTED))
            }
            UeChange::Deactivated => self.core.ues.remove(event.imsi).map(|(rnti, ue)| {
                self.core.stop_all(|of, _| of == rnti);
                self.identity(rnti, &ue, UeStatus::DISCONNECTED)
            }),
        };
        match (tlv, self.core.report_xid) {
            (Some(tlv), Some(xid)) => self.answer(action::UE_REPORTS, xid, vec![tlv], None),
            (Some(_), None) => {}
            (None, _) => self.core.counters.refused_ues += 1,
        }
    }

    fn wake(&mut self, now: Time) {
        if let Some(beat) = &mut self.core.hello
            && Core::strike(beat, now, &mut self.core.counters.skipped).is_some()
        {
            let period = u32::try_from(self.settings.hello.as_millis()).unwrap_or(u32::MAX);
            let tlvs = vec![Tlv::HelloPeriod(HelloPeriod { period })];
            self.send(Kind::Request(Operation::Undefined), action::HELLO, 0, tlvs, None);
            self.core.unanswered_since.get_or_insert(now);
        }
        while let Some((rnti, measurement, due_at)) = self.core.due(now) {
            let Some(radio) = self.core.ues.get(rnti).map(|ue| ue.radio) else { continue };
            if self.core.delegated {
                continue;
            }
            let report = UeMeasurementReport {
                rnti,
                meas_id: u8::try_from(measurement.id).unwrap_or(u8::MAX),
                // The range is 0 to 97 (TS 36.133 §9.1.4).
                rsrp: i8::try_from((radio.rsrp_dbm - RSRP_RANGE_0_DBM).clamp(0, 97)).unwrap_or(0),
                // The range is 0 to 34, in steps of half a dB from -19.5 dB (TS 36.133 §9.1.7).
                rsrq: i8::try_from((i16::from(radio.rsrq_db) * 2 + 40).clamp(0, 34)).unwrap_or(0),
            };
            let tlvs = vec![Tlv::UeMeasurementReport(report)];
            self.answer(action::UE_MEASUREMENTS, measurement.xid, tlvs, Some(due_at));
        }
    }
}
