//! Compares the data plane in the kernel with the packet engine. The kernel runs the programs on valid and damaged frames
//! (`BPF_PROG_TEST_RUN`), in a separate network namespace. The test needs root, and is skipped otherwise.
#![allow(clippy::unwrap_used)]

use ranlab_host::doctor::skipped;
use ranlab_machine::Random;
use ranlab_net::stamped::enter_namespace;
use ranlab_net::{BpfMap, XdpProgram};
use ranlab_packet::gtpu::{GpduTemplate, PduSession};
use ranlab_upf::forwarding::xdp::{KEY, VALUE, counted, downlink, offload, uplink};
use ranlab_upf::forwarding::{HEADROOM, Rules, UserPlane, Verdict};
use ranlab_upf::pfcp::*;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;

const PASS: u32 = 2;
const REDIRECT: u32 = 4;
const N3: [u8; 4] = [10, 0, 0, 2];
const GNB: [u8; 4] = [10, 0, 0, 9];
const SERVER: [u8; 4] = [192, 0, 2, 1];
/// MAC addresses of our devices on N3 and N6.
const OURS: [[u8; 6]; 2] = [[2, 0, 0, 0, 3, 2], [2, 0, 0, 0, 6, 2]];
const THEIRS: [[u8; 6]; 2] = [[2, 0, 0, 0, 3, 9], [2, 0, 0, 0, 6, 1]];
const SESSIONS: u32 = 8;
const OUTER: usize = 14 + 20 + 8;

/// Network namespace with the routes and neighbours of a UPF. It is removed on drop.
struct Space(String);

impl Space {
    /// Creates the namespace. Returns `None` without permission.
    fn new() -> Option<Self> {
        let name = format!("ranlab-xdp-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output().ok()?;
        if !made.status.success() {
            return None;
        }
        let space = Self(name);
        let text = |mac: [u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":");
        for (n, device, own, hop, network) in [
            (0, "n3", "10.0.0.2/24", "10.0.0.9", None),
            (1, "n6", "10.6.0.2/24", "10.6.0.1", Some("192.0.2.0/24")),
        ] {
            space.ip(&format!(
                "link add {device} address {} type veth peer name {device}-peer",
                text(OURS[n])
            ));
            space.ip(&format!("address add {own} dev {device}"));
            space.ip(&format!("link set {device} up"));
            space.ip(&format!("link set {device}-peer up"));
            space.ip(&format!("neighbour add {hop} lladdr {} dev {device} nud permanent", text(THEIRS[n])));
            if let Some(network) = network {
                space.ip(&format!("route add {network} via {hop}"));
            }
        }
        space.ip("link set lo up");
        Some(space)
    }

    fn ip(&self, arguments: &str) {
        let done = Command::new("ip").args(["-n", &self.0]).args(arguments.split(' ')).output().unwrap();
        assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

struct SessionRules {
    pdrs: Vec<CreatePdr>,
    fars: Vec<CreateFar>,
    qers: Vec<CreateQer>,
}

impl SessionRules {
    fn rules(&self) -> Rules<'_> {
        Rules {
            pdrs: &self.pdrs,
            fars: &self.fars,
            qers: &self.qers,
            urrs: &[],
            bar: None,
            applications: &[],
        }
    }
}

fn ue(n: u32) -> [u8; 4] {
    (0x0a3c_0000 + n).to_be_bytes()
}

/// Returns session `n`. Every fourth session is policed, so the programs must leave it to the packet engine. They support all other
/// sessions.
fn session(n: u32) -> SessionRules {
    let address = || IpAddr::from(ue(n)).into();
    let far = |id, way| CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::new(ApplyAction::FORW),
        forwarding_parameters: Some(way),
        ..Default::default()
    };
    let pdr = |id: u16, pdi| CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        pdi,
        far_id: Some(FarId(id.into())),
        qer_ids: if n % 4 == 3 { vec![QerId(1)] } else { Vec::new() },
        ..Default::default()
    };
    let up = Pdi {
        source_interface: Interface::ACCESS,
        f_teid: Some(FTeid::Assigned { teid: 0x100 + n, addresses: IpAddr::from(N3).into() }),
        ue_ip_addresses: vec![UeIpAddress { addresses: address(), ..Default::default() }],
        qfis: vec![Qfi(9)],
        ..Default::default()
    };
    let down = Pdi {
        source_interface: Interface::CORE,
        ue_ip_addresses: vec![UeIpAddress { addresses: address(), destination: true, ..Default::default() }],
        ..Default::default()
    };
    let to_core = ForwardingParameters { destination_interface: Interface::CORE, ..Default::default() };
    let to_gnb = ForwardingParameters {
        destination_interface: Interface::ACCESS,
        outer_header_creation: Some(OuterHeaderCreation::gtpu(0x900 + n, GNB.into())),
        ..Default::default()
    };
    let rates = BitRates { uplink_kbps: 1_000_000, downlink_kbps: 1_000_000 };
    let police = CreateQer { qer_id: QerId(1), maximum_bit_rate: Some(rates), ..Default::default() };
    SessionRules {
        pdrs: vec![pdr(1, up), pdr(2, down)],
        fars: vec![far(1, to_core), far(2, to_gnb)],
        qers: if n % 4 == 3 { vec![police] } else { Vec::new() },
    }
}

fn checksum(octets: &[u8]) -> u16 {
    let sum: u32 = octets.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

fn ipv4(from: [u8; 4], to: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    packet.extend(from.iter().chain(&to));
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

fn udp(from: [u8; 4], to: [u8; 4], port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = [port.to_be_bytes(), port.to_be_bytes()].concat();
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    ipv4(from, to, 17, &datagram)
}

fn frame(device: usize, packet: &[u8]) -> Vec<u8> {
    let mut frame = [&OURS[device][..], &THEIRS[device], &[8, 0]].concat();
    frame.extend(packet);
    frame
}

struct Planes {
    engine: UserPlane,
    maps: [BpfMap<KEY, VALUE>; 2],
    programs: [Vec<u64>; 2],
    redirected: [u64; 2],
}

impl Planes {
    /// Runs the program of a device on a frame. Returns whether the program sent the frame. A sent frame must equal the frame of the packet
    /// engine.
    fn judge(&mut self, side: usize, frame: &[u8]) -> bool {
        let (verdict, out) = XdpProgram::try_on(&self.programs[side], frame).unwrap();
        if verdict == PASS {
            assert_eq!(out, frame, "a passed frame is unchanged");
            return false;
        }
        assert_eq!(verdict, REDIRECT);
        self.redirected[side] += 1;
        let other = 1 - side;
        assert_eq!(
            out[..14],
            [&THEIRS[other][..], &OURS[other], &[8, 0]].concat(),
            "the frame is addressed to the next hop"
        );
        if side == 0 {
            let expected_verdict = self.engine.uplink(0, GNB.into(), &frame[OUTER..]);
            assert_eq!(expected_verdict, Verdict::N6(&out[14..]));
            return true;
        }
        let mut expected = vec![0; frame.len() + HEADROOM];
        let expected_verdict = self.engine.downlink(0, &frame[14..], &mut expected);
        let Verdict::N3 { peer, len, .. } = expected_verdict else { panic!("{expected_verdict:?}") };
        assert_eq!((peer, &out[OUTER..]), (IpAddr::from(GNB), &expected[..len]));
        // The test encodes the expected outer headers.
        assert_eq!(out[14..], udp(N3, GNB, 2152, &expected[..len]));
        true
    }
}

fn planes() -> Planes {
    let n3 = Ipv4Addr::from(N3);
    let maps = [(); 2].map(|()| BpfMap::hash(64).unwrap());
    let mut engine = UserPlane::new();
    for n in 0..SESSIONS {
        let session = session(n);
        engine.install(n.into(), &session.rules(), &[]).unwrap();
        let offloaded = offload(&session.rules(), n3);
        assert_eq!(offloaded.is_none(), n % 4 == 3, "a policed session is not offloaded");
        if let Some(offloaded) = offloaded {
            maps[0].set(&offloaded.uplink.0, &offloaded.uplink.1).unwrap();
            maps[1].set(&offloaded.downlink.0, &offloaded.downlink.1).unwrap();
        }
    }
    let programs = [uplink(maps[0].descriptor(), n3), downlink(maps[1].descriptor(), n3)];
    Planes { engine, maps, programs, redirected: [0; 2] }
}

/// Returns a frame as sent by a base station or the data network, and whether a program must handle it.
fn draw(random: &mut Random, side: usize) -> (Vec<u8>, bool) {
    let n = random.below(u64::from(SESSIONS) + 2) as u32;
    let known = n < SESSIONS && n % 4 != 3;
    let payload: Vec<u8> = (0..8 + random.below(1_300)).map(|octet| octet as u8).collect();
    if side == 1 {
        return (frame(1, &ipv4(SERVER, ue(n), 17, &payload)), known);
    }
    let flow = if random.below(6) == 0 { 8 } else { 9 };
    let spoofs = random.below(6) == 0;
    let inner = ipv4(ue(if spoofs { n + 1 } else { n }), SERVER, 17, &payload);
    let template = GpduTemplate::new(Some(PduSession::ul(flow))).unwrap();
    let mut gpdu = vec![0; HEADROOM];
    let head = template.write(0x100 + n, inner.len(), &mut gpdu).unwrap();
    gpdu.truncate(head);
    gpdu.extend(&inner);
    (frame(0, &udp(GNB, N3, 2152, &gpdu)), known && flow == 9 && !spoofs)
}

fn compare() {
    let mut planes = planes();
    let mut random = Random::stream(11, 0);
    let mut carried = 0;
    for _ in 0..3_000 {
        let side = random.below(2) as usize;
        let (mut frame, plain) = draw(&mut random, side);
        assert_eq!(planes.judge(side, &frame), plain, "{side} {frame:x?}");
        // The frame is truncated, or some of its first hundred bytes are random. The program must pass it unchanged, or handle it like the
        // engine.
        match random.below(4) {
            0 => frame.truncate(14 + random.below(frame.len() as u64 - 14) as usize),
            _ => {
                for _ in 0..=random.below(2) {
                    let at = 12 + random.below(88.min(frame.len() as u64 - 12)) as usize;
                    frame[at] = random.below(256) as u8;
                }
            }
        }
        if frame.len() >= 14 {
            carried += u64::from(planes.judge(side, &frame));
        }
    }
    assert!(carried > 100, "some damaged packets stay valid: {carried}");
    for side in 0..2 {
        let keys = (0..SESSIONS).map(|n| if side == 0 { (0x100 + n).to_be_bytes() } else { ue(n) });
        let packets =
            keys.filter_map(|key| planes.maps[side].take(&key).unwrap()).map(|value| counted(&value).0);
        assert_eq!(packets.sum::<u64>(), planes.redirected[side]);
        assert!(planes.redirected[side] > 500);
    }
}

#[test]
fn kernel_programs_match_packet_engine() {
    let Ok(_) = BpfMap::<KEY, VALUE>::hash(1) else {
        skipped("the kernel denies this user BPF maps (CAP_BPF)");
        return;
    };
    let Some(space) = Space::new() else {
        skipped("this user cannot create a network namespace (ip netns add)");
        return;
    };
    let file = Path::new("/run/netns").join(&space.0);
    let compared = std::thread::spawn(move || {
        enter_namespace(&file).unwrap();
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
        compare();
    });
    let result = compared.join();
    drop(space);
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}
