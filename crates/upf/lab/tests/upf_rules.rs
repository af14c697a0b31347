//! Tests a UPF on loopback sockets, with an SMF, a base station and a data network. Rules must have the same effect in every design.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_packet::gtpu::{self, GpduTemplate, PduSession, encode_message};
use ranlab_upf::n4::{Dialect, MockSettings, UpfSettings};
use ranlab_upf::pfcp::*;
use ranlab_upf_lab::upf::{Design, N6, UpfConfig, UpfServer};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

const UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// Returns an address of a test. Each test and design has different addresses.
fn at(test: u8, host: u8, port: u16) -> SocketAddr {
    let own = ranlab_net::own_loopback(61, 100).unwrap();
    SocketAddr::from(([127, 100 + own, test, host], port))
}

struct Bed {
    smf: UdpSocket,
    gnb: UdpSocket,
    network: UdpSocket,
    n4: SocketAddr,
    n3: SocketAddr,
    n6: SocketAddr,
    sequence: u32,
    up_seid: u64,
    _upf: UpfServer,
}

impl Bed {
    fn start(test: u8, design: Design) -> Self {
        // N4 and N3 use different addresses, as in real deployments.
        let n4 = at(test, 8, 8805);
        let n3 = at(test, 7, 2152);
        let n6 = at(test, 8, 2153);
        let settings = UpfSettings { n3: n3.ip(), ..UpfSettings::new(n4.ip(), Dialect::STRICT_REL17) };
        let config = UpfConfig {
            n4,
            n3,
            n6: N6::Udp { local: n6, peer: at(test, 10, 2153), routes: Vec::new() },
            design,
            settings,
            mock: MockSettings::default(),
            restart_after: None,
            pin: Vec::new(),
            gtpu_port: 2152,
            busy_poll: false,
            xdp: None,
            n3_memif: None,
        };
        let upf = UpfServer::start(config).unwrap();
        let bind = |host, port| {
            let socket = UdpSocket::bind(at(test, host, port)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket
        };
        let mut bed = Self {
            smf: bind(1, 8805),
            gnb: bind(20, 2152),
            network: bind(10, 2153),
            n4,
            n3,
            n6,
            sequence: 1,
            up_seid: 0,
            _upf: upf,
        };
        let node_id: NodeId = bed.address().into();
        let recovery_time_stamp = RecoveryTimeStamp(1);
        let setup = AssociationSetupRequest { node_id, recovery_time_stamp, ..Default::default() };
        let Message::AssociationSetupResponse(response) = bed.ask(setup, None) else { panic!() };
        assert_eq!((response.cause, response.node_id), (Cause::ACCEPTED, n4.ip().into()));
        bed
    }

    fn address(&self) -> IpAddr {
        self.smf.local_addr().unwrap().ip()
    }

    /// Sends a request from a separate port. Returns the response.
    fn ask(&mut self, message: impl Into<Message>, seid: Option<u64>) -> Message {
        self.sequence += 1;
        let socket = UdpSocket::bind(SocketAddr::new(self.address(), 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.send_to(&encode(message, seid, self.sequence).unwrap(), self.n4).unwrap();
        let mut room = [0; 4_096];
        let len = socket.recv(&mut room).unwrap();
        decode(&room[..len]).unwrap().0.message
    }

    /// Returns the next report, which the UPF sends to the port of the SMF.
    fn report(&self) -> SessionReportRequest {
        let mut room = [0; 4_096];
        let (len, from) = self.smf.recv_from(&mut room).unwrap();
        let (pdu, _) = decode(&room[..len]).unwrap();
        let Message::SessionReportRequest(report) = pdu.message else { panic!() };
        let response = SessionReportResponse { cause: Cause::ACCEPTED, ..Default::default() };
        let answer = encode(response, Some(self.up_seid), pdu.header.sequence).unwrap();
        self.smf.send_to(&answer, from).unwrap();
        report
    }

    fn establish(&mut self, pdrs: Vec<CreatePdr>, fars: Vec<CreateFar>, urrs: Vec<CreateUrr>) -> Cause {
        let request = SessionEstablishmentRequest {
            node_id: self.address().into(),
            cp_f_seid: FSeid { seid: 7, addresses: self.address().into() },
            create_pdrs: pdrs,
            create_fars: fars,
            create_urrs: urrs,
            ..Default::default()
        };
        let Message::SessionEstablishmentResponse(response) = self.ask(request, Some(0)) else { panic!() };
        self.up_seid = response.up_f_seid.map_or(0, |f_seid| f_seid.seid);
        response.cause
    }

    fn modify(&mut self, request: SessionModificationRequest) -> SessionModificationResponse {
        let Message::SessionModificationResponse(response) = self.ask(request, Some(self.up_seid)) else {
            panic!()
        };
        assert_eq!(response.cause, Cause::ACCEPTED);
        response
    }

    fn uplink(&self, teid: u32) {
        let packet = udp(UE, SERVER);
        let head = GpduTemplate::new(Some(PduSession::ul(9))).unwrap();
        let mut datagram = vec![0; head.len()];
        head.write(teid, packet.len(), &mut datagram).unwrap();
        datagram.extend(packet);
        self.gnb.send_to(&datagram, self.n3).unwrap();
    }

    /// Returns tunnel and length of the next packet at the base station.
    fn at_gnb(&self) -> (u32, usize) {
        let mut room = [0; 2_048];
        let len = self.gnb.recv(&mut room).unwrap();
        let packet = gtpu::Packet::parse(&room[..len]).unwrap();
        (packet.teid, packet.payload.len())
    }

    fn at_network(&self) -> usize {
        self.network.recv(&mut [0; 2_048]).unwrap()
    }
}

fn udp(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut packet = vec![0; 100];
    packet[..4].copy_from_slice(&[0x45, 0, 0, 100]);
    packet[8..10].copy_from_slice(&[64, 17]);
    packet[12..16].copy_from_slice(&from.octets());
    packet[16..20].copy_from_slice(&to.octets());
    packet
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

fn pdr(id: u16, interface: Interface, teid: Option<u32>, n3: IpAddr) -> CreatePdr {
    let ue = UeIpAddress {
        addresses: IpAddr::from(UE).into(),
        destination: interface != Interface::ACCESS,
        ..Default::default()
    };
    CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(100),
        pdi: Pdi {
            source_interface: interface,
            f_teid: teid.map(|teid| FTeid::Assigned { teid, addresses: n3.into() }),
            ue_ip_addresses: vec![ue],
            ..Default::default()
        },
        far_id: Some(FarId(id.into())),
        urr_ids: vec![UrrId(1)],
        ..Default::default()
    }
}

fn designs() -> [Design; 3] {
    [Design::CpOffload, Design::Software { workers: 4 }, Design::DpOffload { install: Duration::ZERO }]
}

/// Establishes the default session with one usage rule.
fn usual(bed: &mut Bed, urr: CreateUrr) {
    let n3 = bed.n3.ip();
    let gnb = bed.gnb.local_addr().unwrap().ip();
    let pdrs = vec![pdr(1, Interface::ACCESS, Some(0x1001), n3), pdr(2, Interface::CORE, None, n3)];
    let fars = vec![far(1, Interface::CORE, None), far(2, Interface::ACCESS, Some((0x2001, gnb)))];
    assert_eq!(bed.establish(pdrs, fars, vec![urr]), Cause::ACCEPTED);
}

fn volume(total: u64) -> Option<Volume> {
    Some(Volume { total: Some(total), ..Default::default() })
}

fn octets(reports: &[UsageReport]) -> Vec<(u128, u64)> {
    let of = |report: &UsageReport| {
        let total = report.volume_measurement.and_then(|volume| volume.octets.total);
        (report.usage_report_trigger.bits(), total.unwrap_or(0))
    };
    reports.iter().map(of).collect()
}

#[test]
fn quota_is_reported_renewed_and_queried() {
    for (test, design) in (110..).zip(designs()) {
        let mut bed = Bed::start(test, design);
        let urr = CreateUrr {
            urr_id: UrrId(1),
            measurement_method: MeasurementMethod::new(MeasurementMethod::VOLUM),
            reporting_triggers: ReportingTriggers::new(ReportingTriggers::VOLQU),
            volume_quota: volume(500),
            ..Default::default()
        };
        usual(&mut bed, urr);
        (0..8).for_each(|_| bed.uplink(0x1001));
        (0..5).for_each(|_| assert_eq!(bed.at_network(), 100));
        assert_eq!(octets(&bed.report().usage_reports), [(UsageReportTrigger::VOLQU, 500)]);
        let update = UpdateUrr { urr_id: UrrId(1), volume_quota: volume(1_000), ..Default::default() };
        bed.modify(SessionModificationRequest { update_urrs: vec![update], ..Default::default() });
        bed.uplink(0x1001);
        assert_eq!(bed.at_network(), 100, "{design:?}: the quota was granted again");
        bed.network.send_to(&udp(SERVER, UE), bed.n6).unwrap();
        assert_eq!(bed.at_gnb(), (0x2001, 100));
        let query = vec![QueryUrr { urr_id: UrrId(1), ..Default::default() }];
        let response = bed.modify(SessionModificationRequest { query_urrs: query, ..Default::default() });
        assert_eq!(octets(&response.usage_reports), [(UsageReportTrigger::IMMER, 200)], "{design:?}");
        let gone = vec![RemoveUrr { urr_id: UrrId(1), ..Default::default() }];
        let response = bed.modify(SessionModificationRequest { remove_urrs: gone, ..Default::default() });
        assert_eq!(octets(&response.usage_reports), [(UsageReportTrigger::TERMR, 0)]);
    }
}

#[test]
fn tunnels_are_exchanged_and_error_indications_reported() {
    for (test, design) in (120..).zip(designs()) {
        let mut bed = Bed::start(test, design);
        let n3 = bed.n3.ip();
        let gnb = bed.gnb.local_addr().unwrap().ip();
        let mut pdrs =
            vec![pdr(1, Interface::ACCESS, Some(0x1001), n3), pdr(2, Interface::CORE, Some(0x1002), n3)];
        pdrs[1].pdi.ue_ip_addresses.clear();
        pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.clear());
        // The base station also acts as the next user plane.
        let fars = vec![
            far(1, Interface::CORE, Some((0x3001, gnb))),
            far(2, Interface::ACCESS, Some((0x2001, gnb))),
        ];
        assert_eq!(bed.establish(pdrs, fars, Vec::new()), Cause::ACCEPTED);
        bed.uplink(0x1001);
        assert_eq!(bed.at_gnb(), (0x3001, 100), "{design:?}");
        bed.uplink(0x1002);
        assert_eq!(bed.at_gnb(), (0x2001, 100), "{design:?}");
        let mut error = Vec::new();
        let indication = gtpu::Message::ErrorIndication { teid: 0x2001, peer: gnb, udp_port: None };
        encode_message(&indication, 0, Some(0), &mut error).unwrap();
        bed.gnb.send_to(&error, bed.n3).unwrap();
        let f_teid = FTeid::Assigned { teid: 0x2001, addresses: gnb.into() };
        let report = bed.report().error_indication_report.unwrap();
        assert_eq!(report.remote_f_teids, [f_teid], "{design:?}");
    }
}

#[test]
fn only_named_session_sets_are_deleted() {
    let mut bed = Bed::start(130, Design::CpOffload);
    let csid = |n: u16| FqCsid { node: (0, vec![127, 0, 0, 1].into()), csids: vec![n] };
    let node_id: NodeId = bed.address().into();
    let n3 = bed.n3.ip();
    let gnb = bed.gnb.local_addr().unwrap().ip();
    let mut seids = Vec::new();
    for n in 1..=2_u16 {
        let mut pdrs = vec![pdr(1, Interface::ACCESS, Some(0x1000 + u32::from(n)), n3)];
        pdrs[0].urr_ids.clear();
        pdrs[0].far_id = Some(FarId(2));
        let request = SessionEstablishmentRequest {
            node_id: node_id.clone(),
            cp_f_seid: FSeid { seid: n.into(), addresses: bed.address().into() },
            create_pdrs: pdrs,
            create_fars: vec![far(2, Interface::CORE, Some((0x2001, gnb)))],
            fq_csids: vec![csid(n)],
            ..Default::default()
        };
        let Message::SessionEstablishmentResponse(response) = bed.ask(request, Some(0)) else { panic!() };
        seids.push(response.up_f_seid.unwrap().seid);
    }
    let request =
        SessionSetDeletionRequest { node_id: node_id.clone(), fq_csids: vec![csid(1)], ..Default::default() };
    let Message::SessionSetDeletionResponse(response) = bed.ask(request, None) else { panic!() };
    assert_eq!(response.cause, Cause::ACCEPTED);
    let causes = seids.iter().map(|seid| match bed.ask(SessionModificationRequest::default(), Some(*seid)) {
        Message::SessionModificationResponse(response) => response.cause,
        other => panic!("{other:?}"),
    });
    assert_eq!(causes.collect::<Vec<_>>(), [Cause::CONTEXT_NOT_FOUND, Cause::ACCEPTED]);
    let request = SessionSetDeletionRequest { node_id, ..Default::default() };
    let Message::SessionSetDeletionResponse(response) = bed.ask(request, None) else { panic!() };
    assert_eq!(
        (response.cause, response.offending_ie),
        (Cause::CONDITIONAL_IE_MISSING, Some(OffendingIe(65)))
    );
}

/// Checks that a packet of the default session reaches the data network.
fn passes(bed: &Bed) {
    bed.uplink(0x1001);
    assert_eq!(bed.at_network(), 100);
}

#[test]
fn traffic_events_and_linked_rules_are_reported() {
    use ReportingTriggers as Triggers;
    use UsageReportTrigger as Trigger;
    let try_design = |test: u8, design: Design| {
        let mut bed = Bed::start(test, design);
        let n3 = bed.n3.ip();
        let gnb = bed.gnb.local_addr().unwrap().ip();
        let mut pdrs = vec![pdr(1, Interface::ACCESS, Some(0x1001), n3), pdr(2, Interface::CORE, None, n3)];
        pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.push(UrrId(2)));
        let fars = vec![far(1, Interface::CORE, None), far(2, Interface::ACCESS, Some((0x2001, gnb)))];
        let events = CreateUrr {
            urr_id: UrrId(1),
            measurement_method: MeasurementMethod::new(MeasurementMethod::EVENT),
            reporting_triggers: Triggers::new(Triggers::START | Triggers::STOPT | Triggers::EVEQU),
            inactivity_detection_time: Some(Seconds(1)),
            event_quota: Some(Events(2)),
            ..Default::default()
        };
        let linked = CreateUrr {
            urr_id: UrrId(2),
            measurement_method: MeasurementMethod::new(MeasurementMethod::VOLUM),
            reporting_triggers: Triggers::new(Triggers::LIUSA),
            linked_urr_ids: vec![UrrId(1)],
            ..Default::default()
        };
        assert_eq!(bed.establish(pdrs, fars, vec![events, linked]), Cause::ACCEPTED);
        passes(&bed);
        assert_eq!(octets(&bed.report().usage_reports), [(Trigger::START, 0), (Trigger::LIUSA, 100)]);
        passes(&bed);
        assert_eq!(octets(&bed.report().usage_reports), [(Trigger::STOPT, 0), (Trigger::LIUSA, 100)]);
        passes(&bed);
        let reports = bed.report().usage_reports;
        assert_eq!(octets(&reports), [(Trigger::START | Trigger::EVEQU, 0), (Trigger::LIUSA, 100)]);
        assert_eq!(reports[0].event_time_stamps.len(), 2, "{design:?}");
        assert_eq!(bed.report().usage_reports[0].usage_report_trigger.bits(), Trigger::STOPT);
        // The quota does not cover a third event. The first packet that passes is the one after the new quota.
        bed.uplink(0x1001);
        std::thread::sleep(Duration::from_millis(200));
        let update = UpdateUrr { urr_id: UrrId(1), event_quota: Some(Events(9)), ..Default::default() };
        bed.modify(SessionModificationRequest { update_urrs: vec![update], ..Default::default() });
        passes(&bed);
        assert_eq!(octets(&bed.report().usage_reports), [(Trigger::START, 0), (Trigger::LIUSA, 100)]);
    };
    std::thread::scope(|scope| {
        for (test, design) in (140..).zip(designs()) {
            scope.spawn(move || try_design(test, design));
        }
    });
}

/// Provisions the flows of an application.
fn provision(bed: &mut Bed, flows: &[&str]) {
    let contents: Vec<PfdContents> = flows.iter().map(|flow| PfdContents::flow(flow)).collect();
    let pfd_contexts = match contents.is_empty() {
        true => Vec::new(),
        false => vec![PfdContext { contents, ..Default::default() }],
    };
    let application_id = Opaque(bytes::Bytes::from_static(b"video"));
    let application = ApplicationPfds { application_id, pfd_contexts, ..Default::default() };
    let request = PfdManagementRequest { applications: vec![application], ..Default::default() };
    let Message::PfdManagementResponse(response) = bed.ask(request, None) else { panic!() };
    assert_eq!(response.cause, Cause::ACCEPTED);
}

#[test]
fn packets_match_flow_descriptions_of_application() {
    for (test, design) in (150..).zip(designs()) {
        let mut bed = Bed::start(test, design);
        provision(&mut bed, &["permit out 17 from 10.45.0.1 to assigned"]);
        let n3 = bed.n3.ip();
        let gnb = bed.gnb.local_addr().unwrap().ip();
        let mut pdrs = vec![
            pdr(1, Interface::ACCESS, Some(0x1001), n3),
            pdr(2, Interface::CORE, None, n3),
            pdr(3, Interface::ACCESS, Some(0x1001), n3),
        ];
        pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.clear());
        pdrs[2].precedence = Precedence(1);
        pdrs[2].pdi.application_id = Some(Opaque(bytes::Bytes::from_static(b"video")));
        // Packets of the application are sent to another user plane, which the base station represents.
        let fars = vec![
            far(1, Interface::CORE, None),
            far(2, Interface::ACCESS, Some((0x2001, gnb))),
            far(3, Interface::CORE, Some((0x3001, gnb))),
        ];
        assert_eq!(bed.establish(pdrs, fars, Vec::new()), Cause::ACCEPTED);
        bed.uplink(0x1001);
        assert_eq!(bed.at_gnb(), (0x3001, 100), "{design:?}");
        provision(&mut bed, &["permit out 6 from 10.45.0.1 to assigned"]);
        passes(&bed);
        provision(&mut bed, &["permit out 6 from any to any", "permit out udp from any to any"]);
        bed.uplink(0x1001);
        assert_eq!(bed.at_gnb(), (0x3001, 100), "{design:?}");
        provision(&mut bed, &[]);
        passes(&bed);
        let bad = PfdContents::flow("no flow");
        let context = PfdContext { contents: vec![bad], ..Default::default() };
        let application = ApplicationPfds { pfd_contexts: vec![context], ..Default::default() };
        let request = PfdManagementRequest { applications: vec![application], ..Default::default() };
        let Message::PfdManagementResponse(response) = bed.ask(request, None) else { panic!() };
        assert_eq!(response.cause, Cause::MANDATORY_IE_INCORRECT);
        assert_eq!(response.offending_ie, Some(OffendingIe(61)));
    }
}
