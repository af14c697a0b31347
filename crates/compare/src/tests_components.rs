//! RAN components in this process, over loopback: each starts, serves and reports.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use ranlab_e2_lab::values::Screen;
use ranlab_e2_lab::*;
use ranlab_lab::worker::{ComponentError, FaultOwner, Report, WorkerTrust};
use ranlab_lab::*;
use ranlab_sdran_lab::fleet;
use ranlab_sdran_lab::*;

fn own() -> Vec<Listen> {
    vec![Listen::Own]
}

/// A RIC on private Unix sockets.
fn ric() -> RicComponent {
    RicComponent { e2: own(), e42: own(), ..RicComponent::default() }
}

async fn up(part: AnyComponent) -> Box<dyn RunningComponent> {
    part.start(WorkerTrust::Full).await.unwrap()
}

fn at(part: &dyn RunningComponent, name: &str) -> ranlab_transport::Address {
    part.addresses()[name].parse().unwrap()
}

/// Base stations with one UE each.
fn stations(ric: &dyn RunningComponent, nodes: u32) -> AnyComponent {
    AnyComponent::from(FleetComponent {
        connect: vec![at(ric, "e2")],
        nodes,
        ues: 1,
        ..FleetComponent::default()
    })
}

/// Polls a number until `enough` is true, and returns it. The timeout allows for slow machines.
async fn until(part: &mut dyn RunningComponent, name: &str, enough: impl Fn(f64) -> bool) -> f64 {
    let begin = Instant::now();
    loop {
        let numbers = part.counters();
        let now = numbers.get(name).copied().unwrap_or_else(|| panic!("no `{name}` in {numbers:?}"));
        if enough(now) {
            return now;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "after 60 s, `{name}` is only {now}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn ended(part: &mut dyn RunningComponent) -> Report {
    let mut report = Report::default();
    part.end(&mut report);
    report
}

fn counted(report: &Report, distribution: &str) -> f64 {
    report.distributions[distribution].iter().map(|(_, count)| *count).sum::<u64>() as f64
}

async fn why(part: AnyComponent, trust: WorkerTrust) -> ComponentError {
    part.start(trust).await.err().unwrap()
}

#[test]
fn statistics_reach_xapp_and_windows_are_counted() {
    ranlab_transport::run(async {
        let mut ric = up(AnyComponent::from(ric())).await;
        let mut fleet = up(stations(&*ric, 3)).await;
        until(&mut *fleet, "alive", |alive| alive == 3.0).await;
        let period = Duration::from_millis(10);
        let part = MonitorComponent { connect: at(&*ric, "e42"), period, ..MonitorComponent::default() };
        let mut xapp = up(AnyComponent::from(part)).await;
        until(&mut *xapp, "subscriptions", |subscriptions| subscriptions == 12.0).await;
        until(&mut *xapp, "indications", |indications| indications > 50.0).await;
        for part in [&mut ric, &mut fleet, &mut xapp] {
            part.begin();
        }
        until(&mut *xapp, "indications", |indications| indications >= 100.0).await;
        let xapp = ended(&mut *xapp);
        let fleet = ended(&mut *fleet);
        let ric = ended(&mut *ric);
        let arrived = xapp.number("indications").unwrap();
        let sent = fleet.number("sent").unwrap();
        assert!(arrived >= 100.0 && sent >= 100.0, "only {arrived} reports arrived and {sent} were sent");
        assert_eq!(counted(&xapp, "latency_us"), arrived);
        assert_eq!(counted(&fleet, "lateness_us"), sent);
        for (report, name, value) in [
            (&xapp, "lost", 0.0),
            (&xapp, "disconnects", 0.0),
            (&fleet, "alive", 3.0),
            (&fleet, "ues", 3.0),
            (&fleet, "dropped", 0.0),
            (&ric, "nodes", 3.0),
            (&ric, "dropped", 0.0),
            // The base stations connected before the window.
            (&ric, "setups", 0.0),
        ] {
            assert_eq!(report.number(name), Ok(value), "{name}");
        }
        // Some indications were in flight when the window began.
        assert!(ric.number("forwarded").unwrap() >= arrived - 50.0, "{:?}", ric.numbers);
        assert!(xapp.number("bytes").unwrap() > 10.0 * arrived && fleet.number("set_up_us").unwrap() > 0.0);
        assert!(xapp.number("no_such_number").unwrap_err().to_string().contains("no_such_number"));
    });
}

#[test]
fn listener_gets_all_reports_and_slow_reader_fewer() {
    ranlab_transport::run(async {
        let ric = up(AnyComponent::from(ric())).await;
        let _fleet = up(stations(&*ric, 1)).await;
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        let hears = count.clone();
        let listener: Listener = Box::new(move |indication, received_us| {
            // Base stations and xApp use the same clock.
            assert!(indication.tstamp_us().unwrap() <= received_us);
            hears.set(hears.get() + 1);
        });
        let connect = at(&*ric, "e42");
        let part =
            MonitorComponent { connect, period: Duration::from_millis(2), ..MonitorComponent::default() };
        let mut all = RunningMonitor::showing(&part, None, listener).unwrap();
        let slow = MonitorComponent { at_most: Some(1), ..part.clone() };
        let mut slow = RunningMonitor::start(&slow).unwrap();
        until(&mut all, "indications", |indications| indications >= 200.0).await;
        let report = all.report();
        let looked = slow.counters();
        assert!(count.get() == report.indications && report.repeated == 0, "{} {report:?}", count.get());
        let shown = |watcher: &RunningMonitor| watcher.values(|values| Screen::default().lines(values).len());
        assert_eq!(
            (shown(&all), shown(&slow)),
            (1, 0),
            "a listener must have a line for the UE, and an xApp without one must have none"
        );
        assert!(looked["indications"] < 100.0, "{looked:?}");
        let never = MonitorComponent { period: Duration::ZERO, ..part };
        assert!(RunningMonitor::start(&never).is_err());
    });
}

#[test]
fn full_ric_rejects_and_counts_setups() {
    ranlab_transport::run(async {
        let mut ric = up(AnyComponent::from(RicComponent { max_nodes: 2, ..ric() })).await;
        let mut fleet = up(stations(&*ric, 4)).await;
        until(&mut *fleet, "alive", |alive| alive == 2.0).await;
        until(&mut *ric, "refused", |refused| refused >= 2.0).await;
        let numbers = ric.counters();
        assert_eq!((numbers["nodes"], numbers["setups"]), (2.0, 2.0), "{numbers:?}");
    });
}

#[test]
fn ric_listens_on_configured_addresses_and_removes_sockets() {
    ranlab_transport::run(async {
        let tcp = vec![Listen::At(loopback(0))];
        let http = Some("127.0.0.1:0".parse().unwrap());
        let part = RicComponent { e2: [own(), tcp].concat(), http, ..ric() };
        let ric = Ric::start(&part).await.unwrap();
        let names: Vec<_> = ric.bound.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["e2", "e2", "e42", "http"]);
        let socket = ric.bound[0].1.strip_prefix("unix://").unwrap().to_owned();
        assert!(std::path::Path::new(&socket).exists());
        let place = ric.bound[3].1.strip_prefix("http://").unwrap().to_owned();
        let request = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(place).unwrap();
            stream.write_all(b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        let answer = request.await.unwrap();
        assert!(answer.starts_with("HTTP/1.0 200") && answer.contains("\"ok\""), "{answer}");
        // A second RIC cannot listen on the same address.
        let again = Listen::At(ric.bound[0].1.parse().unwrap());
        let trouble = Ric::start(&RicComponent { e2: vec![again], ..part }).await.err().unwrap();
        assert_eq!(trouble.fault, FaultOwner::Environment, "{trouble}");
        drop(ric);
        assert!(!std::path::Path::new(&socket).exists());
    });
}

#[test]
fn monitoring_iapp_receives_statistics_and_ues() {
    ranlab_transport::run(async {
        let sm = ["mac", "rlc"].map(str::to_owned).to_vec();
        let period = Duration::from_micros(9_100);
        let mut ric =
            up(AnyComponent::from(RicComponent { iapp: vec![HostedIApp::Monitor], sm, period, ..ric() }))
                .await;
        let _fleet = up(stations(&*ric, 2)).await;
        ric.begin();
        until(&mut *ric, "processed", |processed| processed >= 40.0).await;
        let report = ended(&mut *ric);
        assert!(report.number("processed").unwrap() >= 40.0, "{:?}", report.numbers);
        assert_eq!((report.numbers["ues"], report.numbers["lost"], report.numbers["nodes"]), (2.0, 0.0, 2.0));
        let strange = RicComponent {
            iapp: vec![HostedIApp::Monitor],
            sm: vec!["kpn".to_owned()],
            ..RicComponent::default()
        };
        let trouble = why(AnyComponent::from(strange), WorkerTrust::Full).await;
        assert!(trouble.what.contains("\"kpn\"") && trouble.what.contains("mac, rlc"), "{trouble}");
    });
}

#[test]
fn pinging_iapp_works_at_interval_and_full_speed() {
    ranlab_transport::run(async {
        for (interval, window) in [(Duration::from_millis(5), 1), (Duration::ZERO, 4)] {
            let part = RicComponent { iapp: vec![HostedIApp::Ping], size: 100, interval, window, ..ric() };
            let mut ric = up(AnyComponent::from(part)).await;
            let _fleet = up(stations(&*ric, 1)).await;
            until(&mut *ric, "received", |received| received >= 5.0).await;
            ric.begin();
            until(&mut *ric, "received", |received| received >= 20.0).await;
            let report = ended(&mut *ric);
            assert!(counted(&report, "rtt_us") >= 15.0 && report.numbers["lost"] == 0.0, "{report:?}");
        }
    });
}

#[test]
fn pinging_xapp_stops_at_count() {
    ranlab_transport::run(async {
        let ric = up(AnyComponent::from(ric())).await;
        let _fleet = up(stations(&*ric, 1)).await;
        let connect = at(&*ric, "e42");
        for insert in [false, true] {
            let part = PingComponent {
                connect: connect.clone(),
                size: 64,
                count: Some(20),
                window: 3,
                insert,
                ..PingComponent::default()
            };
            let mut ping = RunningPing::start(&part).await.unwrap();
            ping.done().await.unwrap();
            let PingReport { sent, received, rtt_us } = ping.report();
            assert_eq!((sent, received), (20, 20), "insert: {insert}");
            assert!(0.0 < rtt_us.min && rtt_us.min <= rtt_us.p50 && rtt_us.p99 <= rtt_us.max, "{rtt_us:?}");
            assert_eq!(ping.check(), Ok(()));
        }
        let paced =
            PingComponent { connect, interval: Duration::from_micros(50), ..PingComponent::default() };
        assert!(RunningPing::start(&paced).await.err().unwrap().what.contains("100 us"));
    });
}

#[test]
fn open_loop_ping_is_sent_when_due() {
    ranlab_transport::run(async {
        let ric = up(AnyComponent::from(ric())).await;
        let _fleet = up(stations(&*ric, 1)).await;
        let interval = Duration::from_millis(2);
        let part =
            PingComponent { connect: at(&*ric, "e42"), interval, punctual: true, ..PingComponent::default() };
        let mut ping = up(AnyComponent::from(part)).await;
        ping.begin();
        until(&mut *ping, "received", |received| received >= 30.0).await;
        let report = ended(&mut *ping);
        let of = |name: &str| report.number(name).unwrap();
        assert!(of("sent") >= of("received") + of("lost") && of("messages_sent") >= 30.0, "{report:?}");
        // A round trip measured from the scheduled time is never shorter than from the actual send time.
        let sum = |name: &str| report.distributions[name].iter().map(|(us, n)| us * n).sum::<u64>();
        assert!(sum("rtt_us") >= sum("rtt_us_service") && counted(&report, "lateness_us") >= 30.0);
    });
}

#[test]
fn ping_resumes_when_the_ric_returns() {
    ranlab_transport::run(async {
        let folder = std::env::temp_dir().join(format!("ranlab-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = |name: &str| vec![Listen::At(ranlab_transport::Address::Unix(folder.join(name)))];
        let part = RicComponent { e2: place("e2"), e42: place("e42"), ..RicComponent::default() };
        let ric = up(AnyComponent::from(part.clone())).await;
        let mut fleet = up(stations(&*ric, 1)).await;
        let interval = Duration::from_millis(5);
        let ping = PingComponent { connect: at(&*ric, "e42"), interval, ..PingComponent::default() };
        let mut ping = RunningPing::start(&ping).await.unwrap();
        until(&mut ping, "received", |received| received >= 5.0).await;
        drop(ric);
        until(&mut *fleet, "alive", |alive| alive == 0.0).await;
        let away = ping.counters();
        tokio::time::sleep(Duration::from_millis(300)).await;
        // One ping may be in flight. Pings that cannot be sent are delayed and not lost.
        assert!(ping.counters()["sent"] <= away["sent"] + 1.0, "{away:?}");
        let _ric = up(AnyComponent::from(part)).await;
        until(&mut ping, "received", |received| received >= away["received"] + 20.0).await;
        let report = ping.report();
        assert!(report.sent - report.received <= 2, "{report:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

#[test]
fn relays_decode_and_forward_all_messages() {
    ranlab_transport::run(async {
        let ric = up(AnyComponent::from(ric())).await;
        let relay = |connect, language| {
            AnyComponent::from(RelayComponent { connect, language, ..RelayComponent::default() })
        };
        let mut e2 = up(relay(at(&*ric, "e2"), Language::E2)).await;
        let mut e42 = up(relay(at(&*ric, "e42"), Language::E42)).await;
        let connect = vec![at(&*e2, "relay")];
        let mut fleet =
            up(AnyComponent::from(FleetComponent { connect, nodes: 2, ues: 2, ..FleetComponent::default() }))
                .await;
        until(&mut *fleet, "alive", |alive| alive == 2.0).await;
        let period = Duration::from_millis(10);
        let part = MonitorComponent { connect: at(&*e42, "relay"), period, ..MonitorComponent::default() };
        let mut xapp = up(AnyComponent::from(part)).await;
        until(&mut *xapp, "indications", |indications| indications >= 80.0).await;
        for relay in [&mut e2, &mut e42] {
            let numbers = relay.counters();
            assert!(numbers["passed"] >= 80.0 && numbers["undecoded"] == 0.0, "{numbers:?}");
        }
    });
}

#[test]
fn attached_process_is_metered_if_permitted() {
    ranlab_transport::run(async {
        let attach = |pid, command: Option<&str>| {
            AnyComponent::from(AttachComponent { pid, command: command.map(str::to_owned), cgroup: None })
        };
        let elsewhere = up(attach(None, None)).await;
        assert!(elsewhere.subject().is_none());
        let mut own = up(attach(Some(std::process::id()), None)).await;
        assert!(own.subject().is_some() && own.check() == Ok(()));
        let trouble = why(attach(None, Some("no-such-program")), WorkerTrust::Full).await;
        assert!(trouble.what.contains("no-such-program"), "{trouble}");
        let trouble = why(attach(None, Some("init")), WorkerTrust::PartsOnly).await;
        assert!(trouble.what.contains("`command`") && trouble.what.contains("not one over TCP"), "{trouble}");
    });
}

fn agents(
    controller: &dyn RunningComponent,
    protocol: Protocol,
    nodes: u32,
    ues: u32,
) -> SouthFleetComponent {
    let activation = Some("constant:0s".parse().unwrap());
    let connect = vec![at(controller, "southbound")];
    let period = Some(Period::every(Duration::from_millis(20)));
    SouthFleetComponent {
        protocol,
        connect,
        nodes,
        ues,
        activation,
        period,
        ..SouthFleetComponent::default()
    }
}

fn flexran() -> FlexranComponent {
    let listen = "127.0.0.1:0".parse().unwrap();
    FlexranComponent { listen, rib_share: Share(RibShare::Fixed(0.8)), ..FlexranComponent::default() }
}

#[test]
fn flexran_controller_counts_reports_in_window() {
    ranlab_transport::run(async {
        let mut controller = up(AnyComponent::from(flexran())).await;
        let mut fleet = up(AnyComponent::from(agents(&*controller, Protocol::Flexran, 3, 4))).await;
        until(&mut *fleet, "alive", |alive| alive == 3.0).await;
        until(&mut *controller, "ues", |ues| ues == 12.0).await;
        controller.begin();
        fleet.begin();
        let before = fleet.counters()["reports"];
        until(&mut *fleet, "reports", |reports| reports >= before + 60.0).await;
        let fleet = ended(&mut *fleet);
        let controller = ended(&mut *controller);
        for (report, name, value) in [
            (&fleet, "ues", 12.0),
            (&fleet, "announced_ues", 12.0),
            (&fleet, "connected", 3.0),
            (&fleet, "reconnects", 0.0),
            (&controller, "agents", 3.0),
            (&controller, "ues", 12.0),
            (&controller, "connections", 0.0),
            (&controller, "dropped", 0.0),
        ] {
            assert_eq!(report.number(name), Ok(value), "{name}");
        }
        assert!(fleet.number("reports").unwrap() >= 60.0 && fleet.number("sent").unwrap() >= 60.0);
        assert!(controller.number("processed").unwrap() >= 50.0, "{:?}", controller.numbers);
        assert!(controller.number("app_runs").unwrap() > 0.0);
    });
}

#[test]
fn empower_controller_accepts_registered_stations() {
    ranlab_transport::run(async {
        let file = std::env::temp_dir().join(format!("ranlab-test-{}-vbses", std::process::id()));
        let macs = (0..2).map(|index| fleet::Identity::new(index).mac.to_string());
        let lines: Vec<String> = macs.map(|mac| format!("{mac} # known")).collect();
        std::fs::write(&file, format!("# base stations\n\n{}\n", lines.join("\n"))).unwrap();
        let listen = Some("127.0.0.1:0".parse().unwrap());
        let part = EmpowerComponent { listen, registered: Some(file.clone()), ..EmpowerComponent::default() };
        let mut controller = up(AnyComponent::from(part.clone())).await;
        let mut fleet = up(AnyComponent::from(agents(&*controller, Protocol::EmpowerV1, 3, 2))).await;
        until(&mut *controller, "ues", |ues| ues == 4.0).await;
        until(&mut *fleet, "reconnects", |reconnects| reconnects >= 1.0).await;
        assert_eq!((controller.counters()["agents"], fleet.counters()["alive"]), (2.0, 2.0));
        std::fs::write(&file, "no address\n").unwrap();
        assert!(why(AnyComponent::from(part.clone()), WorkerTrust::Full).await.what.contains("no address"));
        std::fs::remove_file(&file).unwrap();
        let gone = why(AnyComponent::from(part.clone()), WorkerTrust::Full).await;
        assert!(gone.what.contains("cannot read") && gone.fault == FaultOwner::Rig, "{gone}");
        let stranger = why(AnyComponent::from(part), WorkerTrust::PartsOnly).await;
        assert!(stranger.what.contains("`registered`"), "{stranger}");
    });
}

#[test]
fn ue_events_from_trace_and_program_are_applied() {
    ranlab_transport::run(async {
        let controller = up(AnyComponent::from(flexran())).await;
        let file = std::env::temp_dir().join(format!("ranlab-test-{}-trace", std::process::id()));
        std::fs::write(&file, "0 activated node=0 ue=1\n0 activated node=1 ue=1\n0 activated node=1 ue=2\n")
            .unwrap();
        let part = agents(&*controller, Protocol::Flexran, 2, 50);
        let traced = SouthFleetComponent { trace: Some(file.clone()), ..part.clone() };
        let mut fleet = up(AnyComponent::from(traced.clone())).await;
        until(&mut *fleet, "ues", |ues| ues == 3.0).await;
        assert!(
            why(AnyComponent::from(traced.clone()), WorkerTrust::PartsOnly).await.what.contains("`trace`")
        );
        std::fs::write(&file, "0 exploded node=0 ue=1\n").unwrap();
        let wrong = why(AnyComponent::from(traced), WorkerTrust::Full).await;
        assert!(wrong.what.contains("trace") && wrong.fault == FaultOwner::Rig, "{wrong}");
        std::fs::remove_file(&file).unwrap();
        drop(fleet);
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let live = SouthFleetComponent { events: Some(Events::At(free)), first: 10, ..part.clone() };
        let mut fleet = up(AnyComponent::from(live)).await;
        let mut program = std::net::TcpStream::connect(free).unwrap();
        program.write_all(b"now activated node=11\n").unwrap();
        until(&mut *fleet, "ues", |ues| ues == 1.0).await;
        let stdin = SouthFleetComponent { events: Some(Events::Stdin), ..part };
        assert!(why(AnyComponent::from(stdin), WorkerTrust::Full).await.what.contains("standard input"));
    });
}

#[test]
fn invalid_controller_is_reported_by_name() {
    ranlab_transport::run(async {
        let fleet = |places: &[&str]| {
            let connect = places.iter().map(|place| place.parse().unwrap()).collect();
            AnyComponent::from(SouthFleetComponent { connect, ..SouthFleetComponent::default() })
        };
        for (places, reason) in [
            (&["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"][..], "give --connect once"),
            (&["unix:///x"], "is not a TCP address"),
            (&["tcp://no-such-host.invalid:1"], "has no address"),
            (&["tcp://127.0.0.1:1"], "cannot connect to 127.0.0.1:1"),
        ] {
            let trouble = why(fleet(places), WorkerTrust::Full).await;
            assert!(trouble.what.contains(reason), "{trouble}");
        }
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = taken.local_addr().unwrap();
        let trouble =
            why(AnyComponent::from(FlexranComponent { listen, ..flexran() }), WorkerTrust::Full).await;
        assert!(trouble.what.contains(&listen.to_string()), "{trouble}");
    });
}
