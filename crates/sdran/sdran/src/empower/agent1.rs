//! Base station endpoint of version 1.
use super::elements::v1::Checked;
use super::measure::{Agent, Core, Measurement, Station};
use super::station;
use crate::Time;
use crate::agent::{AgentEvent, AgentOutput, PeriodicTimer, Ue, UeChange, UeEvent};
use crate::empower::protocol::v1::*;
use crate::empower::protocol::{EmpowerError, Mac};
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of resource blocks of the cell, as in the published agent (1.4 MHz).
const PRBS: u8 = 6;
/// Maximum number of slices, as announced to the controller.
const MAX_SLICES: u16 = 8;

/// Settings of a slice.
#[derive(Debug, Clone, Copy)]
struct Slice {
    rbgs: u16,
    sched_id: u32,
}

impl Slice {
    /// Slice that every base station has, with all resource blocks and the round-robin scheduler.
    const DEFAULT: Self = Self { rbgs: PRBS as u16, sched_id: 0x8000_0001 };

    /// Applies the elements of a command. Other settings are unchanged.
    fn with(mut self, tlvs: &[Tlv]) -> Self {
        for tlv in tlvs {
            match tlv {
                Tlv::SliceRbgs(SliceRbgs { rbgs }) => self.rbgs = *rbgs,
                Tlv::SliceScheduler(SliceScheduler { sched_id }) => self.sched_id = *sched_id,
                _ => {}
            }
        }
        self
    }

    /// Returns the reported elements of a slice. They never include its UEs. If a list of C-RNTIs is reported, the published controller
    /// sends a command for each UE that is not in the list. An agent that reported its list would therefore receive commands without end.
    fn tlvs(self) -> Vec<Tlv> {
        let Self { rbgs, sched_id } = self;
        vec![Tlv::SliceRbgs(SliceRbgs { rbgs }), Tlv::SliceScheduler(SliceScheduler { sched_id })]
    }
}

/// State specific to version 1.
#[derive(Debug)]
pub struct Version1 {
    slices: BTreeMap<u8, Slice>,
}

impl Default for Version1 {
    /// Returns a state with the default slice only.
    fn default() -> Self {
        Self { slices: BTreeMap::from([(0, Slice::DEFAULT)]) }
    }
}

/// An agent of version 1.
pub type EmpowerAgent1 = Agent<Version1>;

impl EmpowerAgent1 {
    fn send(&mut self, timing: Timing, opcode: Opcode, xid: u32, body: Body, due_at: Option<Time>) {
        let header = Header {
            enb: self.settings.mac.into(),
            cell: self.settings.pci,
            xid,
            reserved: 0,
            sender: Sender::Agent,
            seq: self.core.next_seq(),
        };
        let pdu = Pdu { header, timing, opcode, body };
        self.core.send(due_at, |out| pdu.encode(out));
    }

    fn capabilities(&self) -> Vec<Tlv> {
        let cell = CellCaps {
            pci: self.settings.pci,
            features: Features::ALL,
            dl_earfcn: 3500,
            dl_bandwidth: PRBS,
            ul_earfcn: 21_500,
            ul_bandwidth: PRBS,
            max_ues: u16::try_from(self.settings.max_ues).unwrap_or(u16::MAX),
        };
        let ran = RanCaps {
            pci: self.settings.pci,
            layer2: 1,
            mac_sched: 1,
            max_slices: MAX_SLICES,
            ..RanCaps::default()
        };
        vec![Tlv::CellCaps(cell), Tlv::RanCaps(ran)]
    }

    fn identity(&self, rnti: u16, ue: &Ue, state: u8) -> Tlv {
        Tlv::UeIdentity(UeIdentity { rnti, plmn_id: self.settings.plmn, imsi: ue.imsi, tmsi: ue.tmsi, state })
    }

    /// Handles a slice command. As in the published agents, requests and SET get a response, but ADD and REM do not. The published
    /// controller responds to an unknown slice with another REM.
    fn slice(&mut self, now: Time, xid: u32, opcode: Opcode, id: SliceId, tlvs: &[Tlv]) {
        self.core.requested(now);
        // An empty list of UEs is ignored and the other elements apply, because published controllers send each slice with its UEs.
        let unsupported = |tlv: &Tlv| tlv.refused().filter(|_| *tlv != Tlv::RntiList(Vec::new()));
        if let Some(element) = tlvs.iter().find_map(unsupported) {
            self.core.refuse(element);
        }
        let known = self.own.slices.get(&id.dscp).copied();
        let (opcode, tlvs) = match (opcode, known) {
            (Opcode::Remove, _) => {
                self.own.slices.remove(&id.dscp);
                return self.slice_event(id.dscp, 0);
            }
            (Opcode::Add | Opcode::Set, None) if self.own.slices.len() >= usize::from(MAX_SLICES) => {
                (Opcode::Fail, Vec::new())
            }
            (Opcode::Add | Opcode::Set, _) => {
                let slice = known.unwrap_or(Slice { rbgs: 0, ..Slice::DEFAULT }).with(tlvs);
                self.own.slices.insert(id.dscp, slice);
                self.slice_event(id.dscp, slice.rbgs);
                if opcode == Opcode::Add {
                    return;
                }
                (Opcode::Unspecified, slice.tlvs())
            }
            (_, Some(slice)) => (Opcode::Unspecified, slice.tlvs()),
            (_, None) => (Opcode::Fail, Vec::new()),
        };
        self.send(Timing::Single, opcode, xid, Body::SliceResponse(id, tlvs), None);
    }

    fn slice_event(&mut self, dscp: u8, rbgs: u16) {
        self.core.counters.commands += 1;
        let event = AgentEvent::Slice { slice: dscp.into(), rbgs };
        self.core.outputs.push_back(AgentOutput::Event(event));
    }

    fn measure(&mut self, now: Time, xid: u32, opcode: Opcode, tlvs: &[Tlv]) {
        // A removal names the measurement by its transaction id.
        if opcode == Opcode::Remove {
            return self.core.stop_all(|_, measurement| measurement.xid == xid);
        }
        for tlv in tlvs {
            let Tlv::RrcMeasureRequest(request) = tlv else { continue };
            if self.core.ues.get(request.rnti).is_none() {
                self.core.fault(format!(
                    "the controller requested a measurement of UE {}, which is not in this cell",
                    request.rnti
                ));
                continue;
            }
            let period =
                self.settings.period.effective_period(Duration::from_millis(request.interval.into()));
            let beat = PeriodicTimer { due: now + period, period };
            // The published agents treat the number of measurements as unlimited.
            let measurement = Measurement { beat, left: None, xid, id: request.measure_id };
            self.core.measure(request.rnti, measurement);
            self.core.counters.rounds += 1;
            self.core.initialised(now);
        }
    }
}

impl Station for EmpowerAgent1 {
    type Pdu = Pdu;
    const MESSAGE_BYTES: fn(&[u8]) -> Result<Option<usize>, EmpowerError> = message_bytes;
    const DECODE: fn(&[u8]) -> Result<Pdu, EmpowerError> = decode;

    fn take(&mut self, now: Time, pdu: Pdu) {
        let xid = pdu.header.xid;
        if let Some(element) = pdu.body.refused() {
            return self.core.refuse(element);
        }
        match pdu.body {
            Body::CapsRequest(_) => {
                // If several hellos are pending, only the first one gets a response.
                self.core.unanswered_since = None;
                self.core.requested(now);
                let tlvs = self.capabilities();
                self.send(Timing::Single, Opcode::Success, xid, Body::CapsResponse(tlvs), None);
            }
            Body::UeReportRequest(_) => {
                self.core.requested(now);
                self.core.report_xid = Some(xid);
                let ues: Vec<Tlv> =
                    self.core.ues.iter().map(|(rnti, ue)| self.identity(rnti, ue, 0)).collect();
                if ues.is_empty() {
                    self.send(Timing::Triggered, Opcode::Success, xid, Body::UeReport(Vec::new()), None);
                }
                for ue in ues {
                    self.send(Timing::Triggered, Opcode::Success, xid, Body::UeReport(vec![ue]), None);
                }
            }
            Body::SliceRequest(slice, tlvs) => self.slice(now, xid, pdu.opcode, slice, &tlvs),
            Body::CellMeasureRequest(_) => match pdu.opcode {
                Opcode::Remove => self.core.cell = None,
                _ => {
                    let requested = match pdu.timing {
                        Timing::Scheduled { interval_ms } => Duration::from_millis(interval_ms.into()),
                        Timing::Single | Timing::Triggered => Duration::from_secs(2),
                    };
                    let period = self.settings.period.effective_period(requested);
                    self.core.cell = Some((PeriodicTimer { due: now, period }, xid));
                    self.core.initialised(now);
                }
            },
            Body::UeMeasureRequest(tlvs) => self.measure(now, xid, pdu.opcode, &tlvs),
            Body::HandoverRequest(request) => {
                if self.core.ues.get(request.rnti).is_none() {
                    return self.core.fault(format!(
                        "the controller requested a handover of UE {}, which is not in this cell",
                        request.rnti
                    ));
                }
                let target_station = Some(station(request.target.mac));
                let rnti = request.rnti;
                let target_pci = request.target_pci;
                let event = AgentEvent::Handover { rnti, target_station, target_pci };
                self.core.outputs.push_back(AgentOutput::Event(event));
            }
            Body::Opaque { action, .. } if action != action::RAN_SETUP => {
                self.core.fault(format!("the controller sent the unknown action {action}"));
            }
            Body::Hello(_) | Body::Opaque { .. } => {}
            // All other messages were refused above.
            _ => {}
        }
    }

    fn changed(&mut self, event: UeEvent) {
        let (tlv, arrived) = match event.change {
            UeChange::Updated(radio) => {
                self.core.counters.refused_ues +=
                    u64::from(self.core.ues.update(event.imsi, radio).is_none());
                return;
            }
            UeChange::Activated(ue) | UeChange::Arrived { ue, .. } => {
                let Some(rnti) = self.core.ues.add(ue) else {
                    self.core.counters.refused_ues += 1;
                    return;
                };
                (self.identity(rnti, &ue, 0), Some(rnti))
            }
            UeChange::Deactivated => {
                let Some((rnti, ue)) = self.core.ues.remove(event.imsi) else {
                    self.core.counters.refused_ues += 1;
                    return;
                };
                self.core.stop_all(|of, _| of == rnti);
                (self.identity(rnti, &ue, 1), None)
            }
        };
        let Some(xid) = self.core.report_xid else { return };
        self.send(Timing::Triggered, Opcode::Success, xid, Body::UeReport(vec![tlv]), None);
        if let (UeChange::Arrived { station, pci, rnti, .. }, Some(target_rnti)) = (event.change, arrived) {
            let octets = station.to_be_bytes();
            let mac = Mac([octets[2], octets[3], octets[4], octets[5], octets[6], octets[7]]);
            let response =
                HandoverResponse { origin: mac.into(), origin_pci: pci, origin_rnti: rnti, target_rnti };
            self.send(Timing::Single, Opcode::Success, 0, Body::HandoverResponse(response), None);
        }
    }

    fn wake(&mut self, now: Time) {
        if let Some(beat) = &mut self.core.hello
            && Core::strike(beat, now, &mut self.core.counters.skipped).is_some()
        {
            let interval_ms = u32::try_from(self.settings.hello.as_millis()).unwrap_or(u32::MAX);
            let timing = Timing::Scheduled { interval_ms };
            self.send(timing, Opcode::Unspecified, 0, Body::Hello(0), None);
        }
        if let Some((beat, xid)) = &mut self.core.cell
            && let Some(due_at) = Core::strike(beat, now, &mut self.core.counters.skipped)
        {
            let xid = *xid;
            let interval_ms = u32::try_from(beat.period.as_millis()).unwrap_or(u32::MAX);
            let (dl_prbs_used, ul_prbs_used) = self.core.use_prbs();
            let report =
                MacPrbsReport { dl_prbs_total: PRBS, dl_prbs_used, ul_prbs_total: PRBS, ul_prbs_used };
            if !self.core.delegated {
                let body = Body::CellMeasureReport(vec![Tlv::MacPrbsReport(report)]);
                self.send(Timing::Scheduled { interval_ms }, Opcode::Success, xid, body, Some(due_at));
            }
        }
        while let Some((rnti, measurement, due_at)) = self.core.due(now) {
            let Some(radio) = self.core.ues.get(rnti).map(|ue| ue.radio) else { continue };
            if self.core.delegated {
                continue;
            }
            let report = RrcMeasureReport {
                measure_id: measurement.id,
                pci: self.settings.pci,
                rsrp: radio.rsrp_dbm,
                rsrq: radio.rsrq_db.into(),
            };
            let body = Body::UeMeasureReport(vec![Tlv::RrcMeasureReport(report)]);
            self.send(Timing::Triggered, Opcode::Success, measurement.xid, body, Some(due_at));
        }
    }
}
