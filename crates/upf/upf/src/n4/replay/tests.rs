//! Replays a capture of one SMF and UPF towards another UPF, in virtual time.
use super::*;
use crate::n4::{
    Dialect, SessionProfile, SmfInput, SmfOutput, SmfSettings, Upf, UpfInput, UpfOutput, UpfSettings,
};
use crate::pfcp::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

const SMF: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 8_805);
const UPF: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const GNB: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 3, 0, 1));

/// An SMF and a UPF that exchange messages without a network, and a record of their N4 messages.
struct Bed {
    now: Time,
    smf: Smf,
    upf: Upf,
    wire: Vec<(Time, bool, Vec<u8>)>,
    events: Vec<SmfEvent>,
}

impl Bed {
    fn new() -> Self {
        let dialect = Dialect::STRICT_REL17;
        let smf = Smf::new(SmfSettings::new(SMF.ip(), dialect), SessionProfile::default()).unwrap();
        let upf = Upf::new(UpfSettings::new(UPF, dialect));
        let mut bed = Self { now: Time::ZERO, smf, upf, wire: Vec::new(), events: Vec::new() };
        bed.smf.associate(bed.now).unwrap();
        bed.talk();
        bed.events.clear();
        bed
    }

    /// Runs SMF and UPF until neither has anything to send.
    fn talk(&mut self) {
        loop {
            let mut any = false;
            while let Some(output) = self.smf.poll() {
                any = true;
                match output {
                    SmfOutput::Send(datagram) => {
                        self.upf.handle(self.now, UpfInput::Received(SMF, &datagram));
                        self.wire.push((self.now, true, datagram));
                    }
                    SmfOutput::Event(event) => self.events.push(event),
                }
            }
            while let Some(output) = self.upf.poll() {
                any = true;
                if let UpfOutput::Send(_, datagram) = output {
                    self.smf.handle(self.now, SmfInput::Received(&datagram));
                    self.wire.push((self.now, false, datagram));
                }
            }
            if !any {
                return;
            }
        }
    }

    fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Returns a capture of the messages of SMF and UPF, with retransmissions.
    fn recording(&self) -> Recording {
        let mut recorder = Recorder::default();
        for (at, from_smf, octets) in &self.wire {
            let (from, to) = if *from_smf { (SMF.ip(), UPF) } else { (UPF, SMF.ip()) };
            let at = Duration::from_nanos(at.as_nanos());
            recorder.datagram(at, from, to, octets);
            recorder.datagram(at, from, to, octets);
        }
        recorder.datagram(self.now.since(Time::ZERO), UPF, SMF.ip(), &[0x21, 99]);
        recorder.finish()
    }
}

fn far(id: u32, interface: Interface, tunnel: Option<(u32, IpAddr)>) -> CreateFar {
    let way = ForwardingParameters {
        destination_interface: interface,
        outer_header_creation: tunnel.map(|(teid, peer)| OuterHeaderCreation::gtpu(teid, peer)),
        ..Default::default()
    };
    CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::new(ApplyAction::FORW),
        forwarding_parameters: Some(way),
        ..Default::default()
    }
}

/// Returns a session with a TEID that the SMF chose, a TEID that the UPF has to choose, and a flow to its UE.
fn establishment() -> SessionEstablishmentRequest {
    let ue =
        |destination| UeIpAddress { addresses: IpAddr::V4(UE).into(), destination, ..Default::default() };
    let pdr = |id: u16, pdi: Pdi| CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(100),
        pdi,
        far_id: Some(FarId(id.into())),
        ..Default::default()
    };
    let assigned = FTeid::Assigned { teid: 0x77, addresses: UPF.into() };
    let filter = SdfFilter::flow("permit out 17 from 192.0.2.1 80 to 10.45.0.2/32");
    let flow = Pdi {
        f_teid: Some(assigned),
        ue_ip_addresses: vec![ue(false)],
        sdf_filters: vec![filter],
        ..Default::default()
    };
    let rest = Pdi { f_teid: Some(FTeid::default()), ue_ip_addresses: vec![ue(false)], ..Default::default() };
    let down =
        Pdi { source_interface: Interface::CORE, ue_ip_addresses: vec![ue(true)], ..Default::default() };
    SessionEstablishmentRequest {
        cp_f_seid: FSeid { seid: 1, addresses: SMF.ip().into() },
        create_pdrs: vec![pdr(1, flow), pdr(2, rest), pdr(3, down)],
        create_fars: vec![
            far(1, Interface::CORE, None),
            far(2, Interface::CORE, None),
            CreateFar {
                far_id: FarId(3),
                apply_action: ApplyAction::new(ApplyAction::DROP),
                ..Default::default()
            },
        ],
        ..Default::default()
    }
}

fn downlink(teid: u32) -> SessionModificationRequest {
    let way = UpdateForwardingParameters {
        destination_interface: Some(Interface::ACCESS),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, [10, 9, 9, 9].into())),
        ..Default::default()
    };
    let far = UpdateFar {
        far_id: FarId(3),
        apply_action: Some(ApplyAction::new(ApplyAction::FORW)),
        update_forwarding_parameters: Some(way),
        ..Default::default()
    };
    SessionModificationRequest { update_fars: vec![far], ..Default::default() }
}

/// Returns a capture of one session that is moved twice and deleted, within four seconds.
fn captured() -> Recording {
    let mut bed = Bed::new();
    let id = bed.smf.establish_recorded(bed.now, bed.now, establishment()).unwrap();
    bed.talk();
    // The TEID that the UPF chose appears in a later request.
    let chosen = bed.events.iter().find_map(|event| match event {
        SmfEvent::Tunnel(_, tunnel) => tunnel.f_teid,
        _ => None,
    });
    bed.wait(1);
    bed.smf.modify_recorded(bed.now, bed.now, id, downlink(0x501)).unwrap();
    bed.talk();
    bed.wait(1);
    let mut move_on = downlink(0x502);
    let pdi = Pdi { f_teid: chosen, ..establishment().create_pdrs.remove(1).pdi };
    move_on.update_pdrs = vec![UpdatePdr { pdr_id: PdrId(2), pdi: Some(pdi), ..Default::default() }];
    bed.smf.modify_recorded(bed.now, bed.now, id, move_on).unwrap();
    bed.talk();
    bed.wait(2);
    bed.smf.delete(bed.now, bed.now, id).unwrap();
    bed.talk();
    bed.recording()
}

fn addressing() -> Addressing {
    Addressing {
        n3: UPF,
        gnb: GNB,
        smf: SMF.ip(),
        ue_v4: [10, 60, 0, 1].into(),
        ue_v6: Ipv6Addr::LOCALHOST,
        first_teid: 0x1000,
    }
}

/// Replays `times` sessions in parallel until all have ended. Returns the numbers of completed and failed sessions.
fn drive(bed: &mut Bed, replay: &mut Replay, times: usize) -> [usize; 2] {
    let mut ended = [0; 2];
    for _ in 0..times {
        replay.begin(bed.now, bed.now, &mut bed.smf).unwrap();
    }
    while replay.under_way() > 0 {
        bed.talk();
        for event in std::mem::take(&mut bed.events) {
            let end = replay.on_event(bed.now, &event, &mut bed.smf);
            end.iter().for_each(|end| ended[usize::from(end.ending == Ending::Failed)] += 1);
        }
        assert!(replay.send_due(bed.now, &mut bed.smf));
        bed.talk();
        if bed.events.is_empty() {
            let Some(due_at) = replay.next_due() else { break };
            bed.now = bed.now.max(due_at);
        }
    }
    ended
}

#[test]
fn recording_contains_only_requests_of_sessions() {
    let recording = captured();
    assert_eq!(recording.scripts.len(), 1);
    let script = &recording.scripts[0];
    let after: Vec<u64> = script.steps.iter().map(|step| step.after.as_secs()).collect();
    assert_eq!((after, script.ends()), (vec![1, 2, 4], true));
    assert_eq!((script.locals.clone(), script.remotes.clone()), (vec![0x77], vec![0x501, 0x502]));
    let ignored = recording.ignored;
    assert_eq!((ignored.retransmissions, ignored.unreadable), (4, 1));
    assert_eq!(ignored.node_messages, 4, "association setup and its repetition");
}

#[test]
fn requests_without_captured_establishment_are_counted() {
    let mut recorder = Recorder::default();
    let octets = |message: Message, sequence| encode(message, Some(9), sequence).unwrap();
    let at = Duration::ZERO;
    recorder.datagram(at, SMF.ip(), UPF, &octets(downlink(1).into(), 1));
    recorder.datagram(at, SMF.ip(), UPF, &octets(establishment().into(), 2));
    let refused = SessionEstablishmentResponse { cause: Cause::REJECTED, ..Default::default() };
    recorder.datagram(at, UPF, SMF.ip(), &octets(refused.into(), 2));
    recorder.datagram(at, SMF.ip(), UPF, &octets(establishment().into(), 3));
    let Recording { scripts, ignored, .. } = recorder.finish();
    assert_eq!((scripts.len(), ignored.other_sessions, ignored.not_established), (0, 1, 2));
}

#[test]
fn repetitions_have_different_tunnels_and_addresses() {
    let recording = Arc::new(captured());
    let mut bed = Bed::new();
    let mut replay = Replay::new(Arc::clone(&recording), addressing(), true);
    assert_eq!(drive(&mut bed, &mut replay, 5), [5, 0]);
    assert_eq!((bed.upf.sessions(), bed.upf.counters().refused), (0, 0));
    assert!(bed.smf.ledger().balanced());
    let requests = bed.wire.iter().filter(|(_, from_smf, _)| *from_smf);
    let requests: Vec<Message> = requests.map(|(.., octets)| decode(octets).unwrap().0.message).collect();
    let mut established = Vec::new();
    let mut tunnels = Vec::new();
    for request in &requests {
        match request {
            Message::SessionEstablishmentRequest(request) => {
                let pdi = &request.create_pdrs[0].pdi;
                let Some(FTeid::Assigned { teid, addresses }) = pdi.f_teid else { panic!("{pdi:?}") };
                assert_eq!(addresses, UPF.into());
                let ue = pdi.ue_ip_addresses[0].addresses.v4.unwrap();
                let flow = pdi.sdf_filters[0].flow_description.clone().unwrap();
                assert_eq!(flow, format!("permit out 17 from 192.0.2.1 80 to {ue}/32").as_bytes());
                established.push((teid, ue));
            }
            Message::SessionModificationRequest(request) => {
                let way = request.update_fars[0].update_forwarding_parameters.as_ref().unwrap();
                let header = way.outer_header_creation.unwrap();
                assert_eq!(header.addresses, GNB.into());
                tunnels.push(header.teid.unwrap());
            }
            _ => {}
        }
    }
    let ues = (0..5).map(|n| (0x1000 + n, Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 60, 0, 1)) + n)));
    assert_eq!(established, ues.collect::<Vec<_>>());
    tunnels.sort_unstable();
    assert_eq!(tunnels, (0x1000..0x100a).collect::<Vec<_>>());
    // The capture has four seconds between establishment and deletion.
    assert_eq!(bed.now, Time::from_nanos(4_000_000_000));
}

#[test]
fn without_gaps_requests_follow_responses_and_reuse_slots() {
    let recording = Arc::new(captured());
    let mut bed = Bed::new();
    let mut replay = Replay::new(recording, addressing(), false);
    for _ in 0..3 {
        assert_eq!(drive(&mut bed, &mut replay, 2), [2, 0]);
    }
    assert_eq!((bed.now, replay.next_slot), (Time::ZERO, 2));
}

#[test]
fn rejected_request_fails_the_repetition_and_deletes_its_session() {
    let mut recording = captured();
    let Recorded::Modification(request) = &mut recording.scripts[0].steps[0].request else { panic!() };
    request.update_fars[0].far_id = FarId(99);
    let mut bed = Bed::new();
    let mut replay = Replay::new(Arc::new(recording), addressing(), false);
    assert_eq!(drive(&mut bed, &mut replay, 2), [0, 2]);
    assert_eq!((bed.upf.sessions(), bed.smf.live_sessions()), (0, 0));
}

#[test]
fn session_without_captured_deletion_remains() {
    let mut recording = captured();
    recording.scripts[0].steps.pop();
    let mut bed = Bed::new();
    let mut replay = Replay::new(Arc::new(recording), addressing(), false);
    assert_eq!(drive(&mut bed, &mut replay, 2), [2, 0]);
    assert_eq!((bed.upf.sessions(), bed.smf.deletable().len()), (2, 2));
}

#[test]
fn recording_without_a_session_is_refused() {
    let mut bed = Bed::new();
    let mut replay = Replay::new(Arc::default(), addressing(), false);
    let refused = replay.begin(bed.now, bed.now, &mut bed.smf);
    assert_eq!(refused, Err(Refused::NothingRecorded));
}

#[test]
fn captured_applications_are_provisioned_before_sessions() {
    let application_id = || Opaque(b"video"[..].into());
    let contents = vec![PfdContents::flow("permit out ip from 192.0.2.1 to assigned")];
    let pfd_contexts = vec![PfdContext { contents, ..Default::default() }];
    let application =
        ApplicationPfds { application_id: application_id(), pfd_contexts, ..Default::default() };
    let mut bed = Bed::new();
    let request = PfdManagementRequest { applications: vec![application], ..Default::default() };
    bed.smf.provision(bed.now, request).unwrap();
    bed.talk();
    let mut named = establishment();
    named.create_pdrs[1].pdi.application_id = Some(application_id());
    bed.smf.establish_recorded(bed.now, bed.now, named).unwrap();
    bed.talk();
    let recording = Arc::new(bed.recording());
    assert_eq!((recording.scripts.len(), recording.pfds.len()), (1, 1));
    let mut bed = Bed::new();
    let mut replay = Replay::new(recording, addressing(), false);
    assert_eq!(drive(&mut bed, &mut replay, 1), [0, 1], "an unknown application is refused");
    replay.provision(bed.now, &mut bed.smf).unwrap();
    bed.talk();
    assert_eq!(drive(&mut bed, &mut replay, 2), [2, 0]);
}
