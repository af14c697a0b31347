//! Compares sessions that are recognised by their bytes with the same sessions when each message is decoded.
use super::*;
use ranlab_upf::pfcp::*;
use std::net::SocketAddr;

struct Ends {
    quick: Upf,
    general: Upf,
    recognised: u64,
}

impl Ends {
    /// Sends the datagram to both UPFs and compares their responses.
    fn compare(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Option<Vec<u8>> {
        let answers = [&mut self.quick, &mut self.general].map(|upf| {
            upf.handle(now, UpfInput::Received(from, datagram));
            let mut sent = Vec::new();
            let mut deleted = Vec::new();
            let mut markers = Vec::new();
            let mut recognised = 0;
            while let Some(output) = upf.poll() {
                match output {
                    UpfOutput::Send(to, octets) => sent.push((to, octets)),
                    UpfOutput::Event(UpfEvent::Deleted(seid)) => deleted.push(seid),
                    UpfOutput::Event(UpfEvent::Modified { end_markers, .. }) => markers.extend(end_markers),
                    UpfOutput::Event(UpfEvent::EstablishedAlike { .. }) => recognised += 1,
                    UpfOutput::Event(UpfEvent::Redirected { left, .. }) => {
                        markers.extend(left);
                        recognised += 1;
                    }
                    UpfOutput::Event(_) => {}
                }
            }
            (sent, (deleted, markers), recognised)
        });
        let [(sent, effects, recognised), general] = answers;
        assert_eq!((&sent, effects), (&general.0, general.1), "{datagram:02x?}");
        assert_eq!(general.2, 0);
        assert_eq!(
            (self.quick.sessions(), self.quick.counters()),
            (self.general.sessions(), self.general.counters())
        );
        self.recognised += recognised;
        sent.into_iter().next().map(|(_, octets)| octets)
    }
}

fn peer(n: u64) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + n as u8], 8805))
}

fn associate(ends: &mut Ends, dialect: Dialect) -> Vec<SessionTemplates> {
    for n in 0..2 {
        let request = AssociationSetupRequest {
            node_id: peer(n).ip().into(),
            recovery_time_stamp: RecoveryTimeStamp(1),
            ..Default::default()
        };
        ends.compare(at(1), peer(n), &encode(request, None, 1).unwrap());
    }
    let mbr = Some(BitRates { uplink_kbps: 10_000, downlink_kbps: 5_000 });
    let rich = SessionProfile { mbr, flows: vec!["permit out ip from any to assigned".into()], ..profile() };
    let buffers = SessionProfile { buffer: true, ..profile() };
    let counts = SessionProfile { volume_threshold: Some(1 << 20), ..profile() };
    let six = SessionProfile { ipv6: true, ..profile() };
    let chosen = SmfMessageStyle { teid: TeidChoice::Upf, ..dialect.sends };
    let of = |profile: SessionProfile, sends| SessionTemplates::new(profile, sends, peer(0).ip()).unwrap();
    vec![
        of(profile(), dialect.sends),
        of(profile(), chosen),
        of(rich, dialect.sends),
        of(buffers, dialect.sends),
        of(counts, dialect.sends),
        of(six, dialect.sends),
    ]
}

/// Returns an establishment that already has its downlink tunnel.
fn with_downlink_tunnel(datagram: &[u8], sequence: u32) -> Vec<u8> {
    let (pdu, _) = decode(datagram).unwrap();
    let Message::SessionEstablishmentRequest(mut request) = pdu.message else { panic!("{pdu:?}") };
    let down = request.create_pdrs[1].far_id;
    for far in request.create_fars.iter_mut().filter(|far| Some(far.far_id) == down) {
        if let Some(way) = &mut far.forwarding_parameters {
            way.outer_header_creation = Some(OuterHeaderCreation::gtpu(3, [10, 0, 1, 9].into()));
        }
    }
    encode(request, Some(0), sequence).unwrap()
}

fn request(random: &mut Random, templates: &[SessionTemplates], sequence: u32, live: &[u64]) -> Vec<u8> {
    let templates = &templates[random.below(templates.len() as u64 + 2) as usize % templates.len()];
    let seid = if live.is_empty() { random.below(9) } else { live[random.below(live.len() as u64) as usize] };
    let mut out = Vec::new();
    match random.below(10) {
        0..=3 => {
            let n = random.below(40) as u32;
            let v4 = spec(n);
            let six = IpAddr::from((0x2001_0db8_u128 << 96 | u128::from(n) << 64).to_be_bytes());
            if !templates.write_establishment(sequence, random.below(1 << 40), v4, &mut out) {
                let spec = SessionSpec { ue: six, ..v4 };
                assert!(templates.write_establishment(sequence, 7, spec, &mut out));
            } else if random.below(2) == 0 {
                out = with_downlink_tunnel(&out, sequence);
            }
        }
        4..=7 => {
            let gnb = [10, 0, 1, random.below(3) as u8];
            let tunnel = Tunnel { teid: random.below(1 << 32) as u32, peer: gnb.into() };
            let change = Change::Downlink { tunnel, end_marker: random.below(2) == 0 };
            templates.write_modification(sequence, seid, change, &mut out);
        }
        8 if random.below(3) == 0 => templates.write_modification(sequence, seid, Change::Buffer, &mut out),
        _ => templates.write_deletion(sequence, seid, &mut out),
    }
    out
}

#[test]
fn fast_path_equals_general_path() {
    for (seed, dialect) in [Dialect::STRICT_REL15, Dialect::STRICT_REL17, Dialect::OPEN5GS, Dialect::EUPF]
        .into_iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        let demands = UpfRequirements { chooses_teid: true, heartbeat: None, ..dialect.demands };
        let settings = UpfSettings { max_sessions: 30, ..upf_settings(Dialect { demands, ..dialect }) };
        let quick = Upf::new(UpfSettings { recognise: true, ..settings.clone() });
        let mut ends = Ends { quick, general: Upf::new(settings), recognised: 0 };
        let templates = associate(&mut ends, dialect);
        let mut random = Random::new(seed as u64 + 1);
        let mut live = Vec::new();
        let mut last = Vec::new();
        for sequence in 10..3_000_u32 {
            let mut datagram = request(&mut random, &templates, sequence, &live);
            match random.below(40) {
                0 => datagram.clone_from(&last),
                1 => {
                    let at = random.below(datagram.len() as u64) as usize;
                    datagram[at] ^= 1 << random.below(8);
                }
                2 => datagram.truncate(random.below(datagram.len() as u64) as usize),
                _ => {}
            }
            let from = peer(u64::from(random.below(10) == 0));
            let answer = ends.compare(at(2), from, &datagram);
            last = datagram;
            let up_seid =
                answer.and_then(|octets| Response::read(&octets).and_then(|response| response.up_seid));
            live.extend(up_seid);
            if live.len() > 30 {
                live.remove(0);
            }
        }
        assert!(ends.recognised > 100, "{} of {}", ends.recognised, dialect.name);
        // A request of an unknown shape converts each session to an ordinary one. Afterwards, both UPFs must have equal sessions.
        for (n, seid) in live.into_iter().enumerate() {
            for from in [peer(0), peer(1)] {
                let mut out = Vec::new();
                templates[0].write_modification(5_000 + n as u32, seid, Change::Buffer, &mut out);
                ends.compare(at(3), from, &out);
            }
            assert_eq!(ends.quick.session(seid), ends.general.session(seid));
        }
        ends.compare(
            at(4),
            peer(0),
            &encode(
                AssociationReleaseRequestMessage { node_id: peer(0).ip().into(), ..Default::default() },
                None,
                9_999,
            )
            .unwrap(),
        );
    }
}
