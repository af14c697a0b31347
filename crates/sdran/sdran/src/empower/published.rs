//! Emulates quirks of the published controller (5G-EmPOWER, version 1). The controller reacts to messages of a base station as follows:
//! - A list of C-RNTIs triggers one command for each UE that is not in it.
//! - An unknown slice triggers a command to remove it.
//! - A new UE triggers a measurement request, repeated every five seconds.
//! - Three hello intervals without a hello end a connection. Hellos wait behind all other messages, because the controller has one thread.
use super::*;
use crate::agent::{
    ControllerInput, ControllerOutput, Radio, ReportPeriod, SouthboundAgent, SouthboundController,
    StreamBuffer, StreamFaults, StreamPair, Ue, UeChange, UeEvent,
};
use crate::empower::protocol::v1::*;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// Processing time of a message in the published interpreter.
const MESSAGE_COST: Duration = Duration::from_micros(350);
/// Maximum number of messages in the test. A message storm, which would never end, exceeds it.
const MESSAGES_MAX: u64 = 200_000;
/// Slices of the operator, which every base station gets.
const DSCPS: [u8; 1] = [0];
const RBGS: u16 = 6;

#[derive(Debug)]
struct KnownUe {
    station: u16,
    imsi: u64,
    rnti: u16,
    slice: u8,
}

/// State that all connections of the controller share.
#[derive(Debug, Default)]
struct Tenant {
    /// UEs in order of arrival.
    ues: Vec<KnownUe>,
    received: u64,
    commands: u64,
    measured: BTreeSet<u64>,
    busy_until: Time,
}

#[derive(Debug)]
struct PublishedController {
    tenant: Rc<RefCell<Tenant>>,
    station: u16,
    buffer: StreamBuffer,
    outputs: VecDeque<ControllerOutput<()>>,
    heard: Option<Time>,
    online: bool,
    seq: u32,
    poll_at: Time,
}

impl PublishedController {
    fn new(tenant: Rc<RefCell<Tenant>>, station: u16) -> Self {
        Self {
            tenant,
            station,
            buffer: StreamBuffer::default(),
            outputs: VecDeque::new(),
            heard: None,
            online: false,
            seq: 0,
            poll_at: Time::ZERO,
        }
    }

    fn send(&mut self, timing: Timing, opcode: Opcode, xid: u32, body: Body) {
        self.seq += 1;
        let enb = Mac::local(self.station.into()).into();
        let header =
            Header { enb, cell: self.station, xid, reserved: 0, sender: Sender::Controller, seq: self.seq };
        let mut octets = Vec::new();
        Pdu { header, timing, opcode, body }.encode(&mut octets).unwrap();
        self.tenant.borrow_mut().commands += 1;
        self.outputs.push_back(ControllerOutput::Send(octets));
    }

    fn slice(&mut self, opcode: Opcode, dscp: u8, rntis: Vec<u16>) {
        let tlvs = vec![
            Tlv::SliceRbgs(SliceRbgs { rbgs: RBGS }),
            Tlv::SliceScheduler(SliceScheduler { sched_id: 0x8000_0001 }),
            Tlv::RntiList(rntis),
        ];
        let id = SliceId { plmn: [0x00, 0x22, 0x2f, 0x93], dscp, padding: [0; 3] };
        self.send(Timing::Single, opcode, 7, Body::SliceRequest(id, tlvs));
    }

    fn take(&mut self, pdu: Pdu, now: Time) {
        let done = {
            let mut tenant = self.tenant.borrow_mut();
            tenant.received += 1;
            assert!(
                tenant.received < MESSAGES_MAX,
                "the controller must not cause a message storm, but received {} messages until {now:?}",
                tenant.received
            );
            tenant.busy_until = tenant.busy_until.max(now) + MESSAGE_COST;
            tenant.busy_until
        };
        match pdu.body {
            Body::Hello(_) if self.heard.replace(done).is_none() => {
                self.send(Timing::Single, Opcode::Unspecified, 7, Body::CapsRequest(0));
            }
            Body::CapsResponse(_) => {
                self.online = true;
                self.send(Timing::Triggered, Opcode::Add, 7, Body::UeReportRequest(0));
                // The slice has no network, as in the controller's first request.
                let id = SliceId { plmn: [0; 4], dscp: 0, padding: [0; 3] };
                self.send(Timing::Single, Opcode::Unspecified, 7, Body::SliceRequest(id, Vec::new()));
                DSCPS.into_iter().for_each(|dscp| self.slice(Opcode::Add, dscp, Vec::new()));
                let timing = Timing::Scheduled { interval_ms: 2_000 };
                let body = Body::CellMeasureRequest(vec![Tlv::MacPrbsRequest(MacPrbsRequest {})]);
                self.send(timing, Opcode::Add, 1_000_000, body);
            }
            Body::UeReport(tlvs) => tlvs.iter().for_each(|tlv| self.ue(tlv)),
            Body::UeMeasureReport(_) => {
                self.tenant.borrow_mut().measured.insert(pdu.header.xid.into());
            }
            Body::SliceResponse(id, tlvs) => self.told_of_slice(id, &tlvs),
            _ => {}
        }
    }

    fn ue(&mut self, tlv: &Tlv) {
        let Tlv::UeIdentity(ue) = tlv else { return };
        let mut tenant = self.tenant.borrow_mut();
        let known = tenant.ues.iter().position(|known| known.imsi == ue.imsi);
        match (known, ue.state) {
            (Some(at), 1) => drop(tenant.ues.remove(at)),
            (None, 0) => {
                let imsi = ue.imsi;
                let rnti = ue.rnti;
                tenant.ues.push(KnownUe { station: self.station, imsi, rnti, slice: 0 });
            }
            _ => {}
        }
    }

    fn told_of_slice(&mut self, id: SliceId, tlvs: &[Tlv]) {
        if id.plmn == [0; 4] {
            return;
        }
        if !DSCPS.contains(&id.dscp) {
            return self.send(Timing::Single, Opcode::Remove, 7, Body::SliceRequest(id, Vec::new()));
        }
        let Some(Tlv::RntiList(rntis)) = tlvs.iter().find(|tlv| matches!(tlv, Tlv::RntiList(_))) else {
            return;
        };
        let tenant = self.tenant.clone();
        let mine = |ue: &KnownUe| ue.station == self.station;
        let moved: Vec<u64> = {
            let tenant = tenant.borrow();
            let ues = tenant.ues.iter().filter(|ue| mine(ue));
            ues.filter(|ue| (ue.slice == id.dscp) != rntis.contains(&ue.rnti)).map(|ue| ue.imsi).collect()
        };
        for imsi in moved {
            if let Some(ue) = tenant.borrow_mut().ues.iter_mut().find(|ue| ue.imsi == imsi) {
                ue.slice = if rntis.contains(&ue.rnti) { id.dscp } else { 0 };
            }
            for dscp in DSCPS {
                // The controller stops at the first UE of another base station. With two base stations, the list of one of them is
                // therefore always empty.
                let rntis = {
                    let tenant = tenant.borrow();
                    let ues = tenant.ues.iter().take_while(|ue| ue.station == self.station);
                    ues.filter(|ue| ue.slice == dscp).map(|ue| ue.rnti).collect()
                };
                self.slice(Opcode::Set, dscp, rntis);
            }
        }
    }

    /// Cancels the measurements of the base station and requests them again, each in a separate message.
    fn poll_ues(&mut self) {
        let ues: Vec<(u64, u16)> = {
            let tenant = self.tenant.borrow();
            let ues = tenant.ues.iter().filter(|ue| ue.station == self.station);
            ues.map(|ue| (ue.imsi, ue.rnti)).collect()
        };
        for (imsi, rnti) in ues {
            let request = RrcMeasureRequest {
                measure_id: 0,
                rnti,
                earfcn: 3500,
                interval: 2_000,
                max_cells: 2,
                max_measure: 2,
            };
            let xid = u32::try_from(imsi).unwrap();
            for opcode in [Opcode::Remove, Opcode::Add] {
                let body = Body::UeMeasureRequest(vec![Tlv::RrcMeasureRequest(request)]);
                self.send(Timing::Triggered, opcode, xid, body);
            }
        }
    }
}

impl SouthboundController for PublishedController {
    type Event = ();

    fn handle(&mut self, now: Time, input: ControllerInput<'_>) {
        match input {
            ControllerInput::Connected | ControllerInput::Wake => {}
            ControllerInput::Received(octets) => {
                self.buffer.extend(octets);
                while let Some(message) = self.buffer.next(message_bytes).unwrap() {
                    let pdu = decode(message).unwrap();
                    self.take(pdu, now);
                }
            }
            ControllerInput::Closed => {
                let mut tenant = self.tenant.borrow_mut();
                tenant.ues.retain(|ue| ue.station != self.station);
                (self.heard, self.online) = (None, false);
                self.buffer.clear();
            }
        }
        if self.heard.is_some_and(|hello_at| hello_at + 6 * Duration::from_secs(1) <= now) {
            self.heard = None;
            self.outputs.push_back(ControllerOutput::Close);
        } else if self.online && self.poll_at <= now {
            self.poll_at = now + Duration::from_secs(5);
            self.poll_ues();
        }
    }

    fn poll(&mut self) -> Option<ControllerOutput<()>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Time> {
        let silent = self.heard.map(|hello_at| hello_at + Duration::from_secs(6));
        [silent, self.online.then_some(self.poll_at)].into_iter().flatten().min()
    }
}

type Network = Vec<StreamPair<EmpowerAgent1, PublishedController>>;

/// Returns base stations that have UEs from the start, and are connected to one controller.
fn network(stations: u16, ues: u64) -> (Rc<RefCell<Tenant>>, Network) {
    let tenant = Rc::new(RefCell::new(Tenant::default()));
    let mut network = Network::new();
    for station in 1..=stations {
        let settings = EmpowerAgentSettings::new(Mac::local(station.into()), station);
        let mut agent = EmpowerAgent1::new(EmpowerAgentSettings { period: ReportPeriod::Honour, ..settings });
        for ue in 0..ues {
            let imsi = u64::from(station) * 1_000 + ue;
            let change = UeChange::Activated(Ue { imsi, tmsi: 1, rnti: None, radio: Radio::default() });
            agent.handle(Time::ZERO, AgentInput::Ue(UeEvent { at: Time::ZERO, imsi, change }));
        }
        let delay = StreamFaults::delay(Duration::from_millis(1));
        let controller = PublishedController::new(tenant.clone(), station);
        network.push(StreamPair::new(agent, controller, delay, station.into()));
    }
    (tenant, network)
}

fn run(network: &mut Network, from_ms: u64, to_ms: u64) {
    for now in (from_ms..to_ms).map(|ms| Time::from_nanos((ms + 1) * 1_000_000)) {
        network.iter_mut().for_each(|pair| pair.run_until(now));
    }
}

#[test]
fn published_controller_causes_no_message_storm() {
    for stations in [2, 10, 30] {
        let ues = 10;
        let (tenant, mut network) = network(stations, ues);
        run(&mut network, 0, 6_000);
        let before = (tenant.borrow().received, tenant.borrow().commands);
        run(&mut network, 6_000, 16_000);
        let tenant = tenant.borrow();
        let everybody = u64::from(stations) * ues;
        assert_eq!((tenant.ues.len() as u64, tenant.measured.len() as u64), (everybody, everybody));
        // Every two seconds, the controller receives a hello and a cell report of each base station, and a report of each UE. Every five
        // seconds, it sends two commands for each UE.
        let received = tenant.received - before.0;
        let commands = tenant.commands - before.1;
        let expected = 5 * (u64::from(stations) * 2 + everybody);
        assert!(
            received <= expected,
            "the controller received {received} messages, but requested only {expected}"
        );
        assert_eq!(commands, 2 * 2 * everybody, "the controller must send only its periodic commands");
        for pair in &network {
            assert_eq!((pair.resets, pair.agent.ues() as u64), (0, ues));
            assert!(pair.agent.is_reporting());
        }
    }
}

#[test]
fn unknown_slice_is_removed_once() {
    let (tenant, mut network) = network(2, 2);
    run(&mut network, 0, 1_000);
    let commands = tenant.borrow().commands;
    // An operator adds and removes a slice, and requests it after the removal.
    let id = SliceId { plmn: [0x00, 0x22, 0x2f, 0x93], dscp: 9, padding: [0; 3] };
    for opcode in [Opcode::Add, Opcode::Remove, Opcode::Unspecified] {
        let body = Body::SliceRequest(id, Vec::new());
        network[0].controller.send(Timing::Single, opcode, 7, body);
    }
    run(&mut network, 1_000, 4_000);
    assert_eq!(tenant.borrow().commands, commands + 3 + 1);
}
