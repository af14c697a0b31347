//! Checks that every rule set that compiles forwards like an independent model of TS 29.244 (`oracle/forwarding_model.py`).
//!
//! `RANLAB_MODEL=SESSIONS,PACKETS` sets the number of sessions and packets. Default: 100 and 10,000.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

use bytes::Bytes;
use ranlab_packet::checksum;
use ranlab_packet::gtpu::{GpduTemplate, PduSession};
use ranlab_upf::forwarding::{Meter, Rules, UserPlane, Verdict};
use ranlab_upf::pfcp::*;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Number of sessions that are installed at the same time. Packets of each session are tested while all of them are installed.
const LIVE: u64 = 5;
/// Number of packets between two changes of the applications.
const CHANGES: u64 = 100;
/// Flow descriptions of rules. Packets are generated so that they may match.
const FLOWS: [&str; 9] = [
    "permit out ip from any to assigned",
    "permit out 17 from 192.0.2.0/24 53 to assigned",
    "permit out udp from 192.0.2.9 to any 4000-4003",
    "permit out tcp from any 80,443,8000-8999 to assigned",
    "permit out icmp from any to any",
    "permit out ip from 2001:db8:9::/48 to assigned",
    "permit out 17 from any to any 4001,4003",
    "permit out 50 from any to assigned",
    "",
];
/// Applications that rules name. They are provisioned from time to time.
const APPLICATIONS: [&[u8]; 3] = [b"one", b"two", b"three"];
const SERVERS: [[u8; 4]; 3] = [[192, 0, 2, 9], [192, 0, 2, 10], [198, 51, 100, 1]];
const PORTS: [u16; 8] = [53, 80, 443, 4_000, 4_001, 4_003, 8_080, 9];
const CLASSES: [u8; 4] = [0, 0xb8, 0x28, 0xba];

fn one<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

fn chance(random: &mut Random, of_ten: u64) -> bool {
    random.below(10) < of_ten
}

fn ue(session: u64, which: u64) -> (Ipv4Addr, Ipv6Addr) {
    let v6 = [0x2001, 0xdb8, 0x60, (session * 2 + which) as u16, 0, 0, 0, 1];
    (Ipv4Addr::new(10, 60, session as u8, which as u8 + 1), v6.into())
}

fn teid(session: u64, which: u64) -> u32 {
    (0x1000 + session * 4 + which) as u32
}

fn filter(random: &mut Random) -> SdfFilter {
    let flow = one(random, &FLOWS);
    let mut filter = SdfFilter::default();
    if chance(random, 8) {
        filter = SdfFilter::flow(flow);
    }
    if chance(random, 2) {
        filter.tos_traffic_class = Some([0xb8, one(random, &[0xfc, 0xff])]);
    }
    if chance(random, 1) {
        filter.security_parameter_index = Some(77);
    }
    if chance(random, 1) {
        filter.flow_label = Some([0, 0, 7]);
    }
    filter
}

fn pdi(random: &mut Random, session: u64) -> Pdi {
    let interfaces = [Interface::ACCESS, Interface::ACCESS, Interface::CORE, Interface::N6_LAN];
    let source_interface = if chance(random, 1) { Interface::CP_FUNCTION } else { one(random, &interfaces) };
    let has_tunnel = chance(random, if source_interface == Interface::ACCESS { 9 } else { 3 });
    let which = random.below(3);
    let addresses = IpAddr::from([10, 3, 0, 2]).into();
    let mut ue_ip_addresses = Vec::new();
    for which in 0..2 {
        let (v4, v6) = ue(session, which);
        if chance(random, if which == 0 { 8 } else { 2 }) {
            let both = Addresses { v4: Some(v4), v6: Some(v6) };
            let addresses = match random.below(4) {
                0 => both,
                1 => IpAddr::from(v6).into(),
                _ => IpAddr::from(v4).into(),
            };
            let destination = source_interface != Interface::ACCESS;
            ue_ip_addresses.push(UeIpAddress { addresses, destination, ..UeIpAddress::default() });
        }
    }
    let application = chance(random, 2).then(|| Opaque(Bytes::from_static(one(random, &APPLICATIONS))));
    let filters = if application.is_some() { 0 } else { random.below(3) };
    Pdi {
        source_interface,
        application_id: application,
        f_teid: has_tunnel.then(|| FTeid::Assigned { teid: teid(session, which), addresses }),
        ue_ip_addresses,
        sdf_filters: (0..filters).map(|_| filter(random)).collect(),
        qfis: if chance(random, 3) { vec![Qfi(one(random, &[5, 9]))] } else { Vec::new() },
        ..Pdi::default()
    }
}

fn far(random: &mut Random, id: u32) -> CreateFar {
    let action = if chance(random, 1) { ApplyAction::DROP } else { ApplyAction::FORW };
    let interfaces = [Interface::ACCESS, Interface::CORE, Interface::CORE, Interface::N6_LAN];
    let destination_interface = one(random, &interfaces);
    let peer: IpAddr = if chance(random, 8) { [10, 3, 0, 9].into() } else { Ipv6Addr::LOCALHOST.into() };
    let tunnel = destination_interface == Interface::ACCESS || chance(random, 3);
    let marking = one(random, &[0xb8fc, 0x28ff, 0]);
    let way = ForwardingParameters {
        destination_interface,
        outer_header_creation: tunnel.then(|| OuterHeaderCreation::gtpu(0x2000 + id, peer)),
        transport_level_marking: chance(random, 2).then_some(TransportLevelMarking(marking)),
        ..ForwardingParameters::default()
    };
    CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::new(action),
        forwarding_parameters: (action == ApplyAction::FORW).then_some(way),
        ..CreateFar::default()
    }
}

fn session(random: &mut Random, number: u64) -> SessionEstablishmentRequest {
    let count = 2 + random.below(5);
    let mut precedences: Vec<u32> = (0..count as u32).map(|n| 10 * n).collect();
    for at in (1..precedences.len()).rev() {
        precedences.swap(at, random.below(at as u64 + 1) as usize);
    }
    let subset = |random: &mut Random| (1..=2_u32).filter(|_| random.below(10) < 3).collect::<Vec<_>>();
    let create_pdrs = precedences.into_iter().zip(1..).map(|(precedence, id)| {
        let removals = [None, Some(0), Some(1)];
        let description = one(random, &[0, 1, 6]);
        let removal = OuterHeaderRemoval { description, extension_headers: one(random, &removals) };
        CreatePdr {
            pdr_id: PdrId(id),
            precedence: Precedence(precedence),
            pdi: pdi(random, number),
            outer_header_removal: Some(removal),
            far_id: Some(FarId(1 + random.below(3) as u32)),
            qer_ids: subset(random).into_iter().map(QerId).collect(),
            urr_ids: subset(random).into_iter().map(UrrId).collect(),
            ..CreatePdr::default()
        }
    });
    let create_pdrs = create_pdrs.collect();
    let qer = |id, random: &mut Random| CreateQer {
        qer_id: QerId(id),
        gate_status: GateStatus { uplink_closed: chance(random, 1), downlink_closed: chance(random, 1) },
        qfi: chance(random, 5).then(|| Qfi(one(random, &[0, 7, 9]))),
        ..CreateQer::default()
    };
    let urr = |id, random: &mut Random| {
        let mut some = |most| chance(random, 2).then(|| random.below(most));
        let quota = Volume { total: some(4_000), uplink: some(2_000), downlink: some(2_000) };
        CreateUrr {
            urr_id: UrrId(id),
            measurement_method: MeasurementMethod::new(MeasurementMethod::VOLUM),
            volume_quota: (quota != Volume::default()).then_some(quota),
            ..CreateUrr::default()
        }
    };
    SessionEstablishmentRequest {
        node_id: IpAddr::from([10, 4, 0, 1]).into(),
        cp_f_seid: FSeid { seid: number + 1, addresses: IpAddr::from([10, 4, 0, 1]).into() },
        create_pdrs,
        create_fars: (1..=3).map(|id| far(random, id)).collect(),
        create_qers: (1..=2).map(|id| qer(id, random)).collect(),
        create_urrs: (1..=2).map(|id| urr(id, random)).collect(),
        ..SessionEstablishmentRequest::default()
    }
}

/// Returns flow descriptions of some applications. An application without descriptions is deleted. If the request names no application, all
/// applications are deleted.
fn pfds(random: &mut Random) -> PfdManagementRequest {
    let flow = |random: &mut Random| Bytes::from_static(one(random, &FLOWS[..8]).as_bytes());
    let application = |random: &mut Random, name: &'static [u8]| {
        let mut contents = Vec::new();
        for _ in 0..random.below(3) {
            let additional_flows = (0..random.below(3)).map(|_| flow(random)).collect::<Vec<_>>();
            let described = additional_flows.is_empty() || random.flag();
            let flow_description = described.then(|| flow(random));
            contents.push(PfdContents { flow_description, additional_flows, ..PfdContents::default() });
        }
        let context = PfdContext { contents, ..PfdContext::default() };
        ApplicationPfds {
            application_id: Opaque(Bytes::from_static(name)),
            pfd_contexts: if context.contents.is_empty() { Vec::new() } else { vec![context] },
            ..ApplicationPfds::default()
        }
    };
    let mut request = PfdManagementRequest::default();
    if !chance(random, 1) {
        for name in APPLICATIONS {
            if chance(random, 7) {
                request.applications.push(application(random, name));
            }
        }
    }
    request
}

/// Provisions applications. An application that a rule may name remains known when its flow descriptions are deleted.
fn provision(known: &mut Vec<Arc<ApplicationPfds>>, request: &PfdManagementRequest) {
    if request.applications.is_empty() {
        for own in known.iter_mut() {
            let application_id = own.application_id.clone();
            *own = Arc::new(ApplicationPfds { application_id, ..ApplicationPfds::default() });
        }
    }
    for application in &request.applications {
        known.retain(|own| own.application_id != application.application_id);
        known.push(Arc::new(application.clone()));
    }
}

/// An installed session with its meters.
struct Installed {
    request: SessionEstablishmentRequest,
    meters: Vec<Meter>,
}

fn install(
    plane: &mut UserPlane,
    seid: u64,
    request: &SessionEstablishmentRequest,
    before: &[Meter],
    applications: &[Arc<ApplicationPfds>],
) -> Option<Vec<Meter>> {
    let rules = Rules {
        pdrs: &request.create_pdrs,
        fars: &request.create_fars,
        qers: &request.create_qers,
        urrs: &request.create_urrs,
        bar: None,
        applications,
    };
    let meters = rules.meters(before, &[]);
    plane.install(seid, &rules, &meters).is_ok().then_some(meters)
}

/// Returns a packet between a UE and a server, in either direction. Some packets have addresses of no session.
fn packet(random: &mut Random, session: u64, from_ue: bool) -> Vec<u8> {
    let (v4, v6) = ue(session, random.below(3));
    let protocol = one(random, &[17, 17, 17, 6, 1, 50]);
    let mut transport = [one(random, &PORTS).to_be_bytes(), one(random, &PORTS).to_be_bytes()].concat();
    if protocol == 50 {
        transport = one(random, &[77_u32, 78]).to_be_bytes().to_vec();
    }
    transport.resize(8 + random.below(40) as usize, 0);
    let class = one(random, &CLASSES);
    if chance(random, 3) {
        let server = Ipv6Addr::new(0x2001, 0xdb8, one(random, &[9, 8]), 0, 0, 0, 0, 1);
        let label = one(random, &[0_u32, 7]);
        let mut head = (6 << 28 | u32::from(class) << 20 | label).to_be_bytes().to_vec();
        head.extend((transport.len() as u16).to_be_bytes());
        head.extend([protocol, 64]);
        let ends = if from_ue { [v6, server] } else { [server, v6] };
        head.extend(ends.iter().flat_map(Ipv6Addr::octets));
        return [head, transport].concat();
    }
    let server = Ipv4Addr::from(one(random, &SERVERS));
    let mut head = vec![0x45, class];
    head.extend((20 + transport.len() as u16).to_be_bytes());
    head.extend([0, 1, 0, 0, 64, protocol, 0, 0]);
    let ends = if from_ue { [v4, server] } else { [server, v4] };
    head.extend(ends.iter().flat_map(Ipv4Addr::octets));
    let sum = checksum::checksum(&head);
    head[10..12].copy_from_slice(&sum.to_be_bytes());
    [head, transport].concat()
}

fn datagram(random: &mut Random, session: u64) -> Vec<u8> {
    let from_ue = chance(random, 7);
    let inner = packet(random, session, from_ue);
    let qfi = one(random, &[5, 9, 9, 9]);
    let container = match random.below(8) {
        0 => None,
        1 | 2 => Some(PduSession::dl(qfi)),
        _ => Some(PduSession::ul(qfi)),
    };
    let into = if chance(random, 1) { one(random, &[0, 0x9999]) } else { teid(session, random.below(3)) };
    let template = GpduTemplate::new(container).unwrap();
    let mut out = vec![0; template.len()];
    template.write(into, inner.len(), &mut out);
    [out, inner].concat()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns a verdict in the notation of the model.
fn line(verdict: &Verdict<'_>, written: &[u8]) -> String {
    match verdict {
        Verdict::N6(packet) => format!("n6 {}", hex(packet)),
        Verdict::N3 { peer, len, tos } => format!("n3 {peer} {tos} {}", hex(&written[..*len])),
        Verdict::Dropped(_) => "drop".to_owned(),
        Verdict::UnknownTunnel(teid) => format!("unknown {teid}"),
        Verdict::Taken => "taken".to_owned(),
        other => panic!("{other:?}"),
    }
}

fn process(plane: &mut UserPlane, is_up: bool, octets: &[u8]) -> String {
    let mut out = [0; 4_096];
    if !is_up {
        let decided = match plane.downlink(0, octets, &mut out) {
            Verdict::N3 { peer, len, tos } => Verdict::N3 { peer, len, tos },
            Verdict::Dropped(reason) => Verdict::Dropped(reason),
            other => panic!("{other:?}"),
        };
        return line(&decided, &out);
    }
    match plane.uplink(0, IpAddr::from([10, 3, 0, 9]), octets) {
        Verdict::Relay(relay) => {
            let written = plane.write(&relay, &mut out);
            line(&written, &out)
        }
        verdict => line(&verdict, &[]),
    }
}

fn model(script: &str) -> Option<Vec<String>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/forwarding_model.py");
    let python = std::env::var("RANLAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let command = Command::new(&python).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = command else {
        ranlab_host::doctor::skipped(format_args!("cannot run the model, because {python} is not available"));
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    let script = script.to_owned();
    // The model writes while it reads, so a separate thread writes its input.
    #[allow(clippy::disallowed_methods)]
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "the model failed");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn accepted_rules_forward_like_model() {
    let sizes = std::env::var("RANLAB_MODEL").unwrap_or_else(|_| "100,10000".to_owned());
    let (sessions, packets) = sizes.split_once(',').unwrap();
    let sessions: u64 = sessions.parse().unwrap();
    let packets: u64 = packets.parse().unwrap();
    let mut random = Random::new(29_244);
    let rounds = sessions / LIVE;
    let mut kinds = std::collections::BTreeMap::new();
    for round in 0..rounds {
        let mut plane = UserPlane::new();
        let mut script = String::new();
        let mut ours = Vec::new();
        let mut sent = Vec::new();
        let mut known = Vec::new();
        let mut live: Vec<Installed> = Vec::new();
        let first = pfds(&mut random);
        provision(&mut known, &first);
        writeln!(script, "pfds {}", hex(&encode(first, None, 1).unwrap())).unwrap();
        for number in 0..LIVE {
            // Unsupported rules are rejected. The loop generates rules until a set is accepted.
            let (request, meters) = loop {
                let request = session(&mut random, number);
                if let Some(meters) = install(&mut plane, number + 1, &request, &[], &known) {
                    break (request, meters);
                }
            };
            let octets = encode(request.clone(), Some(0), 1).unwrap();
            writeln!(script, "session {}", hex(&octets)).unwrap();
            live.push(Installed { request, meters });
        }
        for number in 0..packets / rounds {
            if number % CHANGES == CHANGES - 1 {
                let change = pfds(&mut random);
                provision(&mut known, &change);
                for (seid, one) in (1..).zip(&mut live) {
                    one.meters = install(&mut plane, seid, &one.request, &one.meters, &known).unwrap();
                }
                writeln!(script, "pfds {}", hex(&encode(change, None, 1).unwrap())).unwrap();
            }
            let is_up = random.flag();
            let session = random.below(LIVE);
            let octets =
                if is_up { datagram(&mut random, session) } else { packet(&mut random, session, false) };
            writeln!(script, "{} {}", if is_up { "up" } else { "down" }, hex(&octets)).unwrap();
            ours.push(process(&mut plane, is_up, &octets));
            sent.push((is_up, octets));
        }
        let Some(expected) = model(&script) else { return };
        assert_eq!(expected.len(), ours.len());
        for ((own, expected), (is_up, octets)) in ours.iter().zip(&expected).zip(&sent) {
            let kind = expected.split(' ').next().unwrap().to_owned();
            *kinds.entry((*is_up, kind)).or_insert(0_u64) += 1;
            if own != expected {
                let rules: Vec<&str> = script.lines().take(1 + LIVE as usize).collect();
                panic!(
                    "round {round}, up {is_up}, {}\nmodel {expected}\nours  {own}\n{rules:#?}",
                    hex(octets)
                );
            }
        }
    }
    // All verdicts must occur, because a model with constant results would prove nothing.
    for kind in
        [(true, "n6"), (true, "n3"), (true, "drop"), (true, "unknown"), (false, "n3"), (false, "drop")]
    {
        let count = kinds.get(&(kind.0, kind.1.to_owned())).copied().unwrap_or(0);
        assert!(count > packets / 200, "{kind:?} {count} of {packets}: {kinds:?}");
    }
}
