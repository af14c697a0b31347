use super::*;
use crate::empower::EmpowerServer;
use crate::flexran::{FlexranServer, ThreadUse};
use ranlab_sdran::arrivals::Law;
use ranlab_sdran::empower::controller::{EmpowerControllerSettings, EmpowerVersion, Registry};
use ranlab_sdran::flexran::controller::{FlexranControllerSettings, RibShare};
use std::cell::Cell;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn at_once(config: SouthboundConfig) -> SouthboundConfig {
    let population = PopulationConfig { activation: Law::Constant(Duration::ZERO), ..config.population };
    SouthboundConfig { population, ..config }
}

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// Polls a condition. The timeout is long, because machines may be slow.
async fn until(mut there: impl FnMut() -> bool) {
    for _ in 0..600 {
        if there() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out after 30 s waiting for the condition");
}

fn alt() -> FlexranControllerSettings {
    FlexranControllerSettings { rib_share: RibShare::Fixed(0.8), ..FlexranControllerSettings::default() }
}

#[test]
fn flexran_agents_and_ues_are_added_to_rib() {
    ranlab_transport::run(async {
        for (protocol, threads) in
            [(Protocol::Flexran, ThreadUse::PerRun), (Protocol::Mosaic, ThreadUse::Inline)]
        {
            let server = FlexranServer::start(alt(), threads, loopback()).await.unwrap();
            let mut fleet =
                SouthboundFleet::new(at_once(SouthboundConfig::marc(protocol, server.address(), 5, 20, 1)));
            fleet.ramp_up().await.unwrap();
            until(|| server.read(|c| c.seen().reporting == 100)).await;
            let delays = fleet.probe(Duration::from_secs(20)).await.unwrap();
            assert!(delays.to_requests <= delays.to_reporting);
            let report = fleet.report();
            assert_eq!((report.nodes, report.alive, report.ues, report.faults), (5, 5, 100, 0));
            assert_eq!(
                (report.announced_ues, report.initialised),
                (100, 6),
                "the additional base station of the probe must also be initialised"
            );
            assert!(report.init_reporting_us_p50 > 0 && report.reports > 0);
            drop(fleet);
            until(|| server.read(|c| c.seen().agents == 0)).await;
        }
    });
}

#[test]
fn empower_base_stations_of_both_versions_come_online_with_ues() {
    ranlab_transport::run(async {
        for (protocol, version) in
            [(Protocol::EmpowerV1, EmpowerVersion::V1), (Protocol::EmpowerV2, EmpowerVersion::V2)]
        {
            let macs = (0..4).map(|index| Identity::new(index).mac).collect();
            let settings = EmpowerControllerSettings {
                version,
                registry: Registry::Registered(macs),
                ..EmpowerControllerSettings::default()
            };
            let server = EmpowerServer::start(settings, loopback()).await.unwrap();
            let config = at_once(SouthboundConfig::marc(protocol, server.address(), 4, 10, 1));
            let sources = "127.0.1.1-127.0.1.4".parse().unwrap();
            let mut fleet = SouthboundFleet::new(SouthboundConfig { sources, ..config });
            fleet.ramp_up().await.unwrap();
            let measured = || {
                server.read(|c| {
                    let ues = c.stations().values().flat_map(|station| station.ues.values());
                    ues.filter(|ue| ue.measured > 0).count()
                })
            };
            until(|| measured() == 40).await;
            assert_eq!((fleet.report().alive, fleet.report().faults), (4, 0));
        }
    });
}

#[test]
fn live_events_are_routed_to_named_base_station() {
    ranlab_transport::run(async {
        let server = FlexranServer::start(alt(), ThreadUse::Inline, loopback()).await.unwrap();
        let config = SouthboundConfig::marc(Protocol::Flexran, server.address(), 2, 0, 1);
        let mut fleet = SouthboundFleet::new(config);
        fleet.ramp_up().await.unwrap();
        until(|| fleet.report().alive == 2).await;
        let (mut there, here) = tokio::io::duplex(1024);
        let played = tokio::task::spawn_local(fleet.live().play(tokio::io::BufReader::new(here)));
        let lines = "now activated node=1 ue=5 cqi=9\nnow activated node=1\n0.05 activated node=0\nnow activated node=9\n";
        there.write_all(lines.as_bytes()).await.unwrap();
        drop(there);
        let report = played.await.unwrap().unwrap();
        assert_eq!((report.events, report.refused), (3, 1));
        until(|| server.read(|c| c.seen().reporting == 3)).await;
    });
}

#[test]
fn failures_of_controllers_are_distinguished() {
    ranlab_transport::run(async {
        // Controllers 0, 1 and 2 close the connection, send garbage, and never read, respectively.
        for kind in 0..3 {
            let listener = tokio::net::TcpListener::bind(loopback()).await.unwrap();
            let address = listener.local_addr().unwrap();
            let controller = tokio::task::spawn_local(async move {
                let mut held = Vec::new();
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    match kind {
                        0 => drop(stream),
                        1 => stream.write_all(&[0xff; 64]).await.unwrap(),
                        _ => held.push(stream),
                    }
                }
            });
            let config = SouthboundConfig::marc(Protocol::EmpowerV1, address, 3, 5, 1);
            let mut fleet = SouthboundFleet::new(at_once(config));
            fleet.ramp_up().await.unwrap();
            until(|| {
                let report = fleet.report();
                match kind {
                    0 => report.reconnects >= 6,
                    1 => report.faults >= 3 && report.reconnects >= 3,
                    _ => report.connected == 3 && report.alive == 0,
                }
            })
            .await;
            let reported = |what| move |incident: &Incident| incident.what == what && !incident.over;
            match kind {
                0 | 1 => {
                    assert!(fleet.incidents().0.iter().any(|incident| incident.what == IncidentKind::Lost))
                }
                _ => until(|| fleet.incidents().0.iter().any(reported(IncidentKind::StoppedAnswering))).await,
            }
            controller.abort();
        }
        // The port is closed, as after a crash of the controller.
        let config = SouthboundConfig::marc(Protocol::Flexran, "127.0.0.1:1".parse().unwrap(), 2, 5, 1);
        let mut fleet = SouthboundFleet::new(config);
        fleet.ramp_up().await.unwrap();
        until(|| fleet.report().refused >= 4).await;
        assert_eq!(fleet.report().connected, 0);
        assert!(fleet.first_word().await.unwrap_err().contains("refused"));
        assert_eq!(fleet.probe(Duration::from_millis(300)).await, None);
    });
}

#[test]
fn controller_of_another_dialect_is_detected() {
    ranlab_transport::run(async {
        let server = FlexranServer::start(alt(), ThreadUse::Inline, loopback()).await.unwrap();
        // This controller sends its hello first, like the controller of FlexRAN. Base stations of protocol EmpowerV1 also send their hello
        // first.
        let listener = tokio::net::TcpListener::bind(loopback()).await.unwrap();
        let greets = listener.local_addr().unwrap();
        let _controller = tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(&[0, 0, 0, 13]).await.unwrap();
            std::future::pending::<()>().await;
        });
        for (configured, address, shown) in [
            (Protocol::EmpowerV1, greets, Some("flexran-rtc")),
            (Protocol::Mosaic, server.address(), Some("flexran-rtc")),
            (Protocol::Flexran, server.address(), None),
        ] {
            let mut fleet = SouthboundFleet::new(SouthboundConfig::marc(configured, address, 1, 0, 1));
            fleet.ramp_up().await.unwrap();
            until(|| fleet.report().alive == 1 || fleet.report().faults > 0).await;
            assert_eq!(fleet.shown().map(|dialect| dialect.name), shown, "{configured:?}");
        }
    });
}

/// A controller that requests reports from one base station. It reads only while `reading` is set.
async fn reads_while(reading: Rc<Cell<bool>>, listener: tokio::net::TcpListener) {
    use ranlab_sdran::agent::{ControllerInput, ControllerOutput, SouthboundController};
    use ranlab_sdran::flexran::{FlexranSession, SessionSettings};
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut session = FlexranSession::new(SessionSettings::default());
    session.handle(now(), ControllerInput::Connected);
    let mut buffer = vec![0; 64 << 10];
    loop {
        while let Some(output) = session.poll() {
            if let ControllerOutput::Send(octets) = output {
                stream.write_all(&octets).await.unwrap();
            }
        }
        while !reading.get() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let len = stream.read(&mut buffer).await.unwrap();
        session.handle(now(), ControllerInput::Received(&buffer[..len]));
    }
}

#[test]
fn unread_data_is_queued_and_delays_reports() {
    ranlab_transport::run(async {
        let listener = tokio::net::TcpListener::bind(loopback()).await.unwrap();
        ranlab_net::bound_buffers(&listener, 8 << 10, 8 << 10).unwrap();
        let config = SouthboundConfig::marc(Protocol::Flexran, listener.local_addr().unwrap(), 1, 100, 1);
        let period = ReportPeriod::Override(Duration::from_millis(5));
        let mut fleet = SouthboundFleet::new(at_once(SouthboundConfig { period, ..config }));
        let reading = Rc::new(Cell::new(true));
        let controller = tokio::task::spawn_local(reads_while(reading.clone(), listener));
        fleet.ramp_up().await.unwrap();
        until(|| fleet.report().reports >= 10).await;
        assert_eq!(fleet.first_word().await, Ok(()));
        reading.set(false);
        until(|| fleet.report().dropped >= 100).await;
        let stopped = fleet.report();
        until(|| fleet.report().dropped >= 200).await;
        let report = fleet.report();
        assert_eq!(
            (report.sent, report.sent_bytes),
            (stopped.sent, stopped.sent_bytes),
            "no data must be sent while the controller does not read"
        );
        assert!(
            report.offered >= stopped.offered + 50,
            "reports must still be generated while the controller does not read"
        );
        // Reports of 9 kB each are pending, 1 MiB in total. These are the reports of half a second.
        assert!(report.waiting >= 100 && report.waiting_bytes > 900_000, "{report:?}");
        assert!(report.unacknowledged_bytes > 0 && report.lateness_us_p99 > 500_000, "{report:?}");
        assert_eq!(report.offered, report.sent + report.dropped + report.waiting);
        reading.set(true);
        until(|| fleet.report().waiting == 0).await;
        let report = fleet.report();
        assert!(report.sent >= stopped.sent + 100 && report.lateness_us_p99 > 500_000, "{report:?}");
        // Pending messages are dropped when the connection ends, and are not sent on the next connection.
        reading.set(false);
        until(|| fleet.report().waiting > 0).await;
        controller.abort();
        until(|| fleet.report().refused > 0).await;
        let report = fleet.report();
        assert_eq!((report.waiting, report.offered), (0, report.sent + report.dropped), "{report:?}");
        assert_eq!((report.connected, report.announced_ues, report.ues), (0, 0, 100));
    });
}

/// The report rate is so low that the kernel accepts all data for the controller, which behaves like a stopped process.
#[test]
fn suspended_controller_delays_reports_and_is_reported() {
    ranlab_transport::run(async {
        let listener = tokio::net::TcpListener::bind(loopback()).await.unwrap();
        let config = SouthboundConfig::marc(Protocol::Flexran, listener.local_addr().unwrap(), 1, 2, 1);
        let mut fleet = SouthboundFleet::new(at_once(config));
        let reading = Rc::new(Cell::new(true));
        let _controller = tokio::task::spawn_local(reads_while(reading.clone(), listener));
        fleet.ramp_up().await.unwrap();
        until(|| fleet.report().read >= 10).await;
        reading.set(false);
        let still = |over: bool| {
            let of =
                |incident: &Incident| incident.what == IncidentKind::StoppedReading && incident.over == over;
            fleet.incidents().0.iter().any(|incident| of(incident) && incident.for_s >= 2.0)
        };
        until(|| still(false)).await;
        let report = fleet.report();
        assert_eq!(
            (report.waiting, report.readers_seen),
            (0, 1),
            "the kernel must have accepted all data: {report:?}"
        );
        assert!(report.acknowledged > report.read && report.unread_bytes > 0, "{report:?}");
        assert!(report.lateness_us_max >= 2_000_000 && report.unread_us_max >= 2_000_000, "{report:?}");
        reading.set(true);
        until(|| still(true)).await;
        let report = fleet.report();
        assert!(report.lateness_us_max >= 2_000_000 && report.lateness_us_p99 >= 1_000_000, "{report:?}");
        // A new measurement does not include the earlier incident.
        fleet.reset_meters();
        until(|| fleet.report().lateness_us_p99 > 0).await;
        assert_eq!(fleet.incidents().0, []);
    });
}

#[test]
fn same_seed_gives_same_ue_events_live_and_in_virtual_time() {
    use ranlab_machine::Time;
    use ranlab_sdran::agent::{AgentInput, Radio, Ue, UeChange, UeEvent};
    use ranlab_sdran::arrivals::{Happening, Population};
    let identity = Identity::new(0);
    let population = PopulationConfig {
        activation: Law::Exponential(Duration::from_millis(200)),
        holding: Law::Exponential(Duration::from_millis(300)),
        ..PopulationConfig::marc(20, identity.seed(7))
    };
    let mut agent = FlexranAgent::new(FlexranAgentSettings {
        station: 1,
        pci: 1,
        period: ReportPeriod::Honour,
        dialect: FlexranDialect::V0,
        max_ues: 100,
        phase: Duration::ZERO,
    });
    let end = Duration::from_secs(2);
    let mut expected: Vec<u64> = Vec::new();
    for event in Population::new(population).take_while(|event| event.at <= end) {
        let imsi = identity.imsi(event.ue);
        let change = match event.what {
            Happening::Activated(_) => {
                UeChange::Activated(Ue { imsi, tmsi: 1, rnti: None, radio: Radio::default() })
            }
            _ => UeChange::Deactivated,
        };
        expected.push(imsi);
        agent.handle(Time::ZERO, AgentInput::Ue(UeEvent { at: Time::ZERO, imsi, change }));
    }
    let log = EventLog::default();
    let records = log.clone();
    ranlab_transport::run(async move {
        let server = FlexranServer::start(alt(), ThreadUse::Inline, loopback()).await.unwrap();
        let mut config = SouthboundConfig::marc(Protocol::Flexran, server.address(), 1, 20, 7);
        config.population = PopulationConfig { seed: 7, ..population };
        config.log = Some(records.clone());
        let mut fleet = SouthboundFleet::new(config);
        fleet.ramp_up().await.unwrap();
        until(|| records.borrow().last().is_some_and(|(_, at, _)| *at > end)).await;
        assert_eq!(fleet.report().refused_ues, 0);
    });
    let played =
        log.borrow().iter().filter(|(_, at, _)| *at <= end).map(|(.., imsi)| *imsi).collect::<Vec<_>>();
    assert_eq!(played, expected);
    assert_eq!(agent.counters().refused_ues, 0);
}
