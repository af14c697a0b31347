//! Runs usage meters. Counted bytes equal forwarded bytes, no packet passes a used-up quota, and each quota is reported
//! once.
//!
//! Two bytes of the input are a step: a packet in either direction, a report, a new limit, or a grant.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_packet::gtpu::GpduTemplate;
use ranlab_upf::forwarding::{Verdict, Meter, PlaneEvent, Rules, UserPlane};
use ranlab_upf::pfcp::*;
use std::net::{IpAddr, Ipv4Addr};

const SEID: u64 = 1;
const TEID: u32 = 9;
const UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

fn packet(octets: usize, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let len = (octets as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.resize(octets, 0);
    packet
}

fn request(quota: Volume, threshold: Volume) -> SessionEstablishmentRequest {
    let address: IpAddr = [10, 3, 0, 1].into();
    let ue =
        |destination| UeIpAddress { addresses: IpAddr::V4(UE).into(), destination, ..Default::default() };
    let pdr = |id: u16, pdi| CreatePdr {
        pdr_id: PdrId(id),
        pdi,
        far_id: Some(FarId(id.into())),
        urr_ids: vec![UrrId(1)],
        ..Default::default()
    };
    let f_teid = Some(FTeid::Assigned { teid: TEID, addresses: address.into() });
    let up = Pdi { f_teid, ue_ip_addresses: vec![ue(false)], ..Default::default() };
    let down =
        Pdi { source_interface: Interface::CORE, ue_ip_addresses: vec![ue(true)], ..Default::default() };
    let far = |id, destination_interface, tunnel: Option<OuterHeaderCreation>| CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::new(ApplyAction::FORW),
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface,
            outer_header_creation: tunnel,
            ..Default::default()
        }),
        ..Default::default()
    };
    let urr = CreateUrr {
        urr_id: UrrId(1),
        reporting_triggers: ReportingTriggers::new(ReportingTriggers::VOLTH | ReportingTriggers::VOLQU),
        volume_quota: (quota != Volume::default()).then_some(quota),
        volume_threshold: (threshold != Volume::default()).then_some(threshold),
        ..Default::default()
    };
    let gnb = OuterHeaderCreation::gtpu(1, address);
    SessionEstablishmentRequest {
        create_pdrs: vec![pdr(1, up), pdr(2, down)],
        create_fars: vec![far(1, Interface::CORE, None), far(2, Interface::ACCESS, Some(gnb))],
        create_urrs: vec![urr],
        ..Default::default()
    }
}

fn volume(size: u8) -> Volume {
    let limit = |bit: u8| (size & bit != 0).then_some(u64::from(size >> 3) * 100);
    Volume { total: limit(1), uplink: limit(2), downlink: limit(4) }
}

fuzz_target!(|input: &[u8]| {
    let mut plane = UserPlane::new();
    let mut meters: Vec<Meter> = Vec::new();
    let mut quota = Volume::default();
    let mut threshold = Volume::default();
    let install =
        |plane: &mut UserPlane, meters: &mut Vec<Meter>, quota, threshold, granted: &[UrrId]| {
            let request = request(quota, threshold);
            let rules = Rules {
                pdrs: &request.create_pdrs,
                fars: &request.create_fars,
                qers: &[],
                urrs: &request.create_urrs,
                bar: None,
                applications: &[],
            };
            *meters = rules.meters(meters, granted);
            assert!(plane.install(SEID, &rules, meters).is_ok());
        };
    install(&mut plane, &mut meters, quota, threshold, &[]);
    let head = GpduTemplate::new(None).ok();
    let mut passed = [0_u64; 2];
    let mut used = [0_u64; 2];
    let mut reports = 0;
    for step in input.chunks_exact(2) {
        let octets = 28 + usize::from(step[1]);
        match step[0] % 6 {
            way @ (0 | 1) => {
                let was_exhausted = meters[0].usage.is_exhausted();
                let mut out = [0; 512];
                let went = if way == 0 {
                    let Some(head) = &head else { return };
                    let inner = packet(octets, UE, SERVER);
                    let mut datagram = vec![0; head.len()];
                    head.write(TEID, inner.len(), &mut datagram);
                    datagram.extend(inner);
                    matches!(plane.uplink(0, IpAddr::V4(SERVER), &datagram), Verdict::N6(_))
                } else {
                    matches!(plane.downlink(0, &packet(octets, SERVER, UE), &mut out), Verdict::N3 { .. })
                };
                assert_eq!(went, !was_exhausted);
                if went {
                    passed[usize::from(way)] += octets as u64;
                    used[usize::from(way)] += octets as u64;
                }
            }
            2 => {
                meters[0].usage.report();
            }
            3 => {
                threshold = volume(step[1]);
                install(&mut plane, &mut meters, quota, threshold, &[]);
            }
            4 => {
                quota = volume(step[1]);
                install(&mut plane, &mut meters, quota, threshold, &[UrrId(1)]);
                used = [0; 2];
                reports = 0;
            }
            _ => install(&mut plane, &mut meters, quota, threshold, &[]),
        }
        while let Some(event) = plane.event() {
            let PlaneEvent::Usage { crossed, read, .. } = event else { panic!("{event:?}") };
            reports += u32::from(crossed.quota);
            assert_eq!([read[0], read[2]], passed);
        }
        assert!(reports <= 1, "a quota is reported once");
        let read = meters[0].usage.read();
        assert_eq!([read[0], read[2]], passed);
        let reached = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let is_over = reached(quota.total, used[0] + used[1])
            || reached(quota.uplink, used[0])
            || reached(quota.downlink, used[1]);
        assert_eq!(meters[0].usage.is_exhausted(), is_over, "{quota:?} {used:?}");
    }
});
