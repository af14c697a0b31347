//! Tests a load generator and a UPF whose N3 is a shared-memory ring.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ranlab_upf::n4::{Dialect, PFCP_PORT, Retransmission, SessionProfile};
use ranlab_upf_lab::load::{
    LoadConfig, LoadError, Mode, N3Io, Network, PacketSizes, ProgressObserver, Traffic, run,
};
use ranlab_upf_lab::upf::N6;
use ranlab_upf_lab::{Upf, UpfComponent, UpfDesign};

fn at(test: u8, host: u8, port: u16) -> SocketAddr {
    let own = ranlab_net::own_loopback(61, 100).unwrap();
    SocketAddr::from(([127, 100 + own, 200 + test, host], port))
}

fn ring(test: u8) -> N3Io {
    N3Io::Memif { path: std::env::temp_dir().join(format!("ranlab-n3-{}-{test}", std::process::id())) }
}

fn load(test: u8, threads: usize) -> LoadConfig {
    LoadConfig {
        n4: at(test, 8, PFCP_PORT),
        n3: at(test, 8, 2152),
        smf: at(test, 1, PFCP_PORT),
        smfs: 1,
        // No machine has these addresses, because frames do not pass the kernel.
        gnb: "10.99.0.1:2152".parse().unwrap(),
        gnbs: 2,
        threads,
        pin: Vec::new(),
        network: Network::None,
        server: "10.45.0.1:9".parse().unwrap(),
        ue: [10, 60, 0, 1].into(),
        dialect: Dialect::STRICT_REL17,
        profile: SessionProfile { upf_n3: at(test, 8, 2152).ip(), ..SessionProfile::default() },
        retransmission: Retransmission { t1: Duration::from_secs(10), n1: 1 },
        window: 100,
        heartbeat: None,
        echo: None,
        n3_io: ring(test),
        uplink: Some(Traffic { packets_per_s: 20_000.0, octets: PacketSizes::Fixed(64), reflect_every: 1 }),
        downlink: None,
        smoke: true,
        run: 1,
        upf_pid: None,
        anew: false,
        distributions: false,
        onlooker: ProgressObserver::default(),
        mode: Mode::Sessions { sessions: 20, duration: Duration::from_millis(300) },
    }
}

fn passes(test: u8, part: UpfComponent, octets: PacketSizes) {
    let part = UpfComponent {
        n4: at(test, 8, PFCP_PORT),
        n3: at(test, 8, 2152),
        n6: N6::Reflect,
        n3_io: ring(test),
        ..part
    };
    let upf = Upf::start(&part).unwrap();
    let uplink = Some(Traffic { packets_per_s: 20_000.0, octets, reflect_every: 1 });
    let report = run(&LoadConfig { uplink, ..load(test, 1) }, &AtomicBool::new(false)).unwrap();
    let uplink = report.steps[0].uplink.as_ref().unwrap();
    assert!(uplink.sent > 0, "{report:?}");
    assert_eq!((uplink.received, uplink.lost, uplink.duplicates), (uplink.sent, 0, 0), "{uplink:?}");
    let summary = upf.stop().unwrap();
    assert!(summary.packets.uplink >= uplink.sent && summary.packets.downlink >= uplink.sent);
    let mean = uplink.received_bps / uplink.received_pps / 8.0;
    match octets {
        PacketSizes::Fixed(octets) => assert!((mean - octets as f64).abs() < 1.0, "{mean}"),
        // The mean length is (7 × 56 + 4 × 576 + 1,500) / 12, except for an incomplete group of twelve packets.
        _ => assert!((mean - 349.7).abs() < 5.0, "{mean}"),
    }
}

#[test]
fn packets_pass_through_the_ring_in_every_design() {
    let part = UpfComponent::default();
    passes(1, UpfComponent { design: UpfDesign::CpOffload, ..part.clone() }, PacketSizes::Fixed(64));
    passes(
        3,
        UpfComponent { design: UpfDesign::Software, workers: 2, ..part.clone() },
        PacketSizes::Fixed(64),
    );
    passes(4, UpfComponent { design: UpfDesign::DpOffload, ..part }, PacketSizes::Imix);
}

#[test]
fn n3_ring_rejects_second_thread_long_packets_and_bare_design() {
    let error = run(&load(2, 2), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, LoadError::Bounds { given: 2, most: 1, .. }), "{error}");
    let uplink = Some(Traffic { packets_per_s: 1.0, octets: PacketSizes::Fixed(1_990), reflect_every: 1 });
    let error = run(&LoadConfig { uplink, ..load(2, 1) }, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, LoadError::Bounds { given: 1_990, .. }), "{error}");
    let design = UpfDesign::Bare;
    assert!(Upf::start(&UpfComponent { design, n3_io: ring(2), ..UpfComponent::default() }).is_err());
}
