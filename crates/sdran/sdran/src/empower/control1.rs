//! Controller endpoint of version 1.
use super::session::{Session, Version};
use super::{EmpowerEvent, ReportedUe};
use crate::Time;
use crate::agent::PublishedBehaviour;
use crate::empower::protocol::v1::*;
use crate::empower::protocol::{EmpowerError, Mac};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Maximum number of measurements per session. It allows for one measurement of each UE of a base station.
const MAX_MEASUREMENTS: usize = 65_536;

/// Maximum time to wait for a response before the next request, if an agent reads one message at a time.
const ANSWER_WAIT: Duration = Duration::from_millis(500);

/// State specific to version 1.
#[derive(Debug, Default)]
pub struct Version1 {
    pci: u16,
    features: u32,
    report_xid: u32,
    cell_xid: u32,
    slicing: bool,
    /// Transaction ids of UE measurements by C-RNTI.
    measurements: BTreeMap<u16, u32>,
    /// Pending requests to an agent that reads one message at a time.
    later: VecDeque<Step>,
    /// Time at which the pending request was sent.
    asked_at: Time,
}

/// A session of version 1.
pub type EmpowerSession1 = Session<Version1>;

/// Step of the configuration of a base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    UeReports,
    Slice,
    /// Sets the slice. Requests the measurement of the cell at once, because base stations do not respond when a slice is set.
    SetSliceAndCell,
}

impl EmpowerSession1 {
    fn send(&mut self, timing: Timing, opcode: Opcode, xid: u32, body: Body) {
        let cell = self.own.pci;
        self.send_octets(|mac, seq, out| {
            let header = Header { enb: mac.into(), cell, xid, reserved: 0, sender: Sender::Controller, seq };
            Pdu { header, timing, opcode, body }.encode(out)
        });
    }

    fn hello(&mut self, now: Time, header: &Header, timing: Timing) {
        let interval = match timing {
            Timing::Scheduled { interval_ms } => Duration::from_millis(interval_ms.into()),
            Timing::Single | Timing::Triggered => Duration::from_secs(2),
        };
        if self.greeted(now, header.enb.mac, interval) {
            let xid = self.next_xid();
            self.send(Timing::Single, Opcode::Unspecified, xid, Body::CapsRequest(0));
        }
    }

    /// Processes the capabilities of a base station. `cell` is the cell in the header. MARC's agents process the first message of each
    /// read, and discard the others. They stop if they wait for a discarded message.
    fn capabilities(&mut self, now: Time, cell: u16, tlvs: &[Tlv]) {
        let mut slicing = false;
        let mut patient = false;
        for tlv in tlvs {
            match tlv {
                Tlv::CellCaps(caps) => {
                    (self.own.pci, self.own.features) = (caps.pci, caps.features);
                    patient =
                        PublishedBehaviour::of_agent(cell, caps.pci).is_some_and(|agent| agent.one_at_a_time);
                    let event = EmpowerEvent::Capabilities { pci: caps.pci, prbs: caps.dl_bandwidth.into() };
                    self.event(event);
                }
                Tlv::RanCaps(ran) => slicing = ran.layer2 != 0,
                _ => {}
            }
        }
        self.own.later = [
            (self.own.features & Features::UE_REPORT != 0).then_some(Step::UeReports),
            slicing.then_some(Step::Slice),
            Some(Step::SetSliceAndCell),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.own.slicing = slicing;
        self.step(now);
        while !patient && !self.own.later.is_empty() {
            self.step(now);
        }
    }

    /// Sends the next request, if there is one. It is called after the response to the previous request, or after its timeout.
    fn step(&mut self, now: Time) {
        self.own.asked_at = now;
        match self.own.later.pop_front() {
            Some(Step::UeReports) => {
                self.own.report_xid = self.next_xid();
                self.send(Timing::Triggered, Opcode::Add, self.own.report_xid, Body::UeReportRequest(0));
            }
            Some(Step::Slice) => self.request_slice(0),
            Some(Step::SetSliceAndCell) => {
                if let Some(rbgs) = self.settings.slice_rbgs.filter(|_| self.own.slicing) {
                    self.set_slice(0, rbgs, &[]);
                }
                if self.own.features & Features::CELL_MEASURE != 0 {
                    self.own.cell_xid = self.next_xid();
                    let period = self.settings.cell_period.as_millis();
                    let interval_ms = u32::try_from(period).unwrap_or(u32::MAX);
                    let body = Body::CellMeasureRequest(vec![Tlv::MacPrbsRequest(MacPrbsRequest {})]);
                    self.send(Timing::Scheduled { interval_ms }, Opcode::Add, self.own.cell_xid, body);
                }
            }
            None => {}
        }
    }

    fn ue(&mut self, tlv: &Tlv) {
        let Tlv::UeIdentity(identity) = tlv else { return self.event(EmpowerEvent::Discarded) };
        let ue = ReportedUe { rnti: identity.rnti, imsi: identity.imsi, tmsi: identity.tmsi };
        if identity.state != 0 {
            self.own.measurements.remove(&ue.rnti);
            return self.event(EmpowerEvent::UeDown(ue));
        }
        self.event(EmpowerEvent::UeUp(ue));
        if self.own.features & Features::UE_MEASURE == 0 {
            return;
        }
        if self.own.measurements.len() >= MAX_MEASUREMENTS {
            return self.event(EmpowerEvent::Fault(format!(
                "more than {MAX_MEASUREMENTS} measurements are requested"
            )));
        }
        let xid = self.next_xid();
        self.own.measurements.insert(ue.rnti, xid);
        let request = RrcMeasureRequest {
            measure_id: 1,
            rnti: ue.rnti,
            earfcn: 3500,
            interval: u16::try_from(self.settings.ue_period.as_millis()).unwrap_or(u16::MAX),
            max_cells: 1,
            max_measure: 1,
        };
        let body = Body::UeMeasureRequest(vec![Tlv::RrcMeasureRequest(request)]);
        self.send(Timing::Triggered, Opcode::Add, xid, body);
    }

    /// Requests the settings of a slice. The response is [`EmpowerEvent::Slice`].
    pub fn request_slice(&mut self, dscp: u8) {
        let slice = SliceId { plmn: self.settings.plmn, dscp, padding: [0; 3] };
        let xid = self.next_xid();
        self.send(Timing::Single, Opcode::Unspecified, xid, Body::SliceRequest(slice, Vec::new()));
    }

    /// Sets a slice with code point, resource block groups and UEs. Base stations send no response.
    pub fn set_slice(&mut self, dscp: u8, rbgs: u16, rntis: &[u16]) {
        let slice = SliceId { plmn: self.settings.plmn, dscp, padding: [0; 3] };
        let tlvs = vec![
            Tlv::SliceRbgs(SliceRbgs { rbgs }),
            Tlv::SliceScheduler(SliceScheduler { sched_id: 0x8000_0001 }),
            Tlv::RntiList(rntis.to_vec()),
        ];
        let xid = self.next_xid();
        self.send(Timing::Single, Opcode::Add, xid, Body::SliceRequest(slice, tlvs));
    }

    /// Removes a slice.
    pub fn remove_slice(&mut self, dscp: u8) {
        let slice = SliceId { plmn: self.settings.plmn, dscp, padding: [0; 3] };
        let xid = self.next_xid();
        self.send(Timing::Single, Opcode::Remove, xid, Body::SliceRequest(slice, Vec::new()));
    }

    /// Requests a handover.
    pub fn hand_over(&mut self, rnti: u16, target: Mac, target_pci: u16) {
        let xid = self.next_xid();
        let request = HandoverRequest { rnti, target: target.into(), target_pci, cause: 0 };
        self.send(Timing::Single, Opcode::Unspecified, xid, Body::HandoverRequest(request));
    }
}

impl Version for EmpowerSession1 {
    type Pdu = Pdu;
    const MESSAGE_BYTES: fn(&[u8]) -> Result<Option<usize>, EmpowerError> = message_bytes;
    const DECODE: fn(&[u8]) -> Result<Pdu, EmpowerError> = decode;

    fn take(&mut self, now: Time, pdu: Pdu) {
        if self.agent.is_none() && !matches!(pdu.body, Body::Hello(_)) {
            return self.event(EmpowerEvent::Discarded);
        }
        let xid = pdu.header.xid;
        match pdu.body {
            Body::Hello(_) => self.hello(now, &pdu.header, pdu.timing),
            Body::CapsResponse(tlvs) => self.capabilities(now, pdu.header.cell, &tlvs),
            Body::UeReport(tlvs) => {
                self.step(now);
                tlvs.iter().for_each(|tlv| self.ue(tlv));
            }
            Body::UeMeasureReport(tlvs) => {
                let rnti = self
                    .own
                    .measurements
                    .iter()
                    .find(|(_, requested)| **requested == xid)
                    .map(|(rnti, _)| *rnti);
                for tlv in &tlvs {
                    match (rnti, tlv) {
                        (Some(rnti), Tlv::RrcMeasureReport(report)) => {
                            let rsrp = report.rsrp;
                            let rsrq = report.rsrq;
                            self.event(EmpowerEvent::UeMeasured { rnti, rsrp, rsrq });
                        }
                        _ => self.event(EmpowerEvent::Discarded),
                    }
                }
            }
            Body::CellMeasureReport(tlvs) => {
                for tlv in &tlvs {
                    match tlv {
                        Tlv::MacPrbsReport(report) if xid == self.own.cell_xid => {
                            let dl_prbs = report.dl_prbs_used;
                            let ul_prbs = report.ul_prbs_used;
                            self.event(EmpowerEvent::CellMeasured { dl_prbs, ul_prbs });
                        }
                        _ => self.event(EmpowerEvent::Discarded),
                    }
                }
            }
            Body::HandoverResponse(response) => {
                let origin_rnti = response.origin_rnti;
                let target_rnti = response.target_rnti;
                self.event(EmpowerEvent::HandedOver { origin_rnti, target_rnti });
            }
            Body::SliceResponse(slice, tlvs) => {
                self.step(now);
                let rbgs = tlvs.iter().find_map(|tlv| match tlv {
                    Tlv::SliceRbgs(slice) => Some(slice.rbgs),
                    _ => None,
                });
                self.event(EmpowerEvent::Slice { dscp: slice.dscp, rbgs: rbgs.unwrap_or(0) });
            }
            Body::Opaque { .. } => {}
            _ => self.event(EmpowerEvent::Fault(
                "the base station sent a message that only controllers may send".to_owned(),
            )),
        }
    }

    fn ask_due(&mut self, now: Time) {
        if self.due_at().is_some_and(|at| at <= now) {
            self.step(now);
        }
    }

    fn due_at(&self) -> Option<Time> {
        (!self.own.later.is_empty()).then(|| self.own.asked_at + ANSWER_WAIT)
    }
}
