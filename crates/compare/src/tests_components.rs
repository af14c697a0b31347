//! RAN components in this process, over loopback: each starts, serves and reports.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::*;
use ranlab_e2_lab::values::Screen;
use ranlab_e2_lab::*;
use ranlab_lab::worker::{Fault, Report, Trouble, Trust};
use ranlab_lab::*;
use ranlab_sdran_lab::fleet;
use ranlab_sdran_lab::*;
use serde::{Deserialize, Serialize};

fn own() -> Vec<Listen> {
    vec![Listen::Own]
}

/// A RIC on private Unix sockets.
fn ric() -> RicPart {
    RicPart { e2: own(), e42: own(), ..RicPart::default() }
}

async fn up(part: Part) -> Box<dyn Running> {
    part.start(Trust::Full).await.unwrap()
}

fn at(part: &dyn Running, name: &str) -> ranlab_transport::Address {
    part.addresses()[name].parse().unwrap()
}

/// Base stations with one UE each.
fn stations(ric: &dyn Running, nodes: u32) -> Part {
    Part::from(FleetPart { connect: vec![at(ric, "e2")], nodes, ues: 1, ..FleetPart::default() })
}

/// Polls a number until `enough` is true, with a timeout for slow machines. Returns the number.
async fn until(part: &mut dyn Running, name: &str, enough: impl Fn(f64) -> bool) -> f64 {
    let begin = Instant::now();
    loop {
        let numbers = part.counters();
        let now = numbers.get(name).copied().unwrap_or_else(|| panic!("no `{name}` in {numbers:?}"));
        if enough(now) {
            return now;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{name} is {now}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn ended(part: &mut dyn Running) -> Report {
    let mut report = Report::default();
    part.end(&mut report);
    report
}

fn counted(report: &Report, distribution: &str) -> f64 {
    report.distributions[distribution].iter().map(|(_, count)| *count).sum::<u64>() as f64
}

async fn why(part: Part, trust: Trust) -> Trouble {
    part.start(trust).await.err().unwrap()
}

#[test]
fn statistics_reach_xapp_and_windows_are_counted() {
    ranlab_transport::run(async {
        let mut ric = up(Part::from(ric())).await;
        let mut fleet = up(stations(&*ric, 3)).await;
        until(&mut *fleet, "alive", |alive| alive == 3.0).await;
        let period = Duration::from_millis(10);
        let part = MonitorPart { connect: at(&*ric, "e42"), period, ..MonitorPart::default() };
        let mut xapp = up(Part::from(part)).await;
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
        assert!(arrived >= 100.0 && sent >= 100.0, "{arrived} {sent}");
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
        let ric = up(Part::from(ric())).await;
        let _fleet = up(stations(&*ric, 1)).await;
        let heard = std::rc::Rc::new(std::cell::Cell::new(0));
        let hears = heard.clone();
        let listener: Listener = Box::new(move |heard, received_us| {
            // Base stations use this machine's clock.
            assert!(heard.tstamp_us().unwrap() <= received_us);
            hears.set(hears.get() + 1);
        });
        let connect = at(&*ric, "e42");
        let part = MonitorPart { connect, period: Duration::from_millis(2), ..MonitorPart::default() };
        let mut all = Watcher::showing(&part, None, listener).unwrap();
        let slow = MonitorPart { at_most: Some(1), ..part.clone() };
        let mut slow = Watcher::start(&slow).unwrap();
        until(&mut all, "indications", |indications| indications >= 200.0).await;
        let report = all.report();
        let looked = slow.counters();
        assert!(heard.get() == report.indications && report.repeated == 0, "{} {report:?}", heard.get());
        let shown = |watcher: &Watcher| watcher.values(|values| Screen::default().lines(values).len());
        assert_eq!((shown(&all), shown(&slow)), (1, 0), "a line for the UE; nothing is kept for nobody");
        assert!(looked["indications"] < 100.0, "{looked:?}");
        let never = MonitorPart { period: Duration::ZERO, ..part };
        assert!(Watcher::start(&never).is_err());
    });
}

#[test]
fn full_ric_rejects_and_counts_setups() {
    ranlab_transport::run(async {
        let mut ric = up(Part::from(RicPart { max_nodes: 2, ..ric() })).await;
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
        let part = RicPart { e2: [own(), tcp].concat(), http, ..ric() };
        let ric = Ric::start(&part).await.unwrap();
        let names: Vec<_> = ric.bound.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["e2", "e2", "e42", "http"]);
        let socket = ric.bound[0].1.strip_prefix("unix://").unwrap().to_owned();
        assert!(std::path::Path::new(&socket).exists());
        let place = ric.bound[3].1.strip_prefix("http://").unwrap().to_owned();
        let asked = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(place).unwrap();
            stream.write_all(b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        let answer = asked.await.unwrap();
        assert!(answer.starts_with("HTTP/1.0 200") && answer.contains("\"ok\""), "{answer}");
        // A second RIC cannot listen on the same address.
        let again = Listen::At(ric.bound[0].1.parse().unwrap());
        let trouble = Ric::start(&RicPart { e2: vec![again], ..part }).await.err().unwrap();
        assert_eq!(trouble.fault, Fault::Environment, "{trouble}");
        drop(ric);
        assert!(!std::path::Path::new(&socket).exists());
    });
}

#[test]
fn monitoring_iapp_receives_statistics_and_ues() {
    ranlab_transport::run(async {
        let sm = ["mac", "rlc"].map(str::to_owned).to_vec();
        let period = Duration::from_micros(9_100);
        let mut ric = up(Part::from(RicPart { iapp: vec![HostedIApp::Monitor], sm, period, ..ric() })).await;
        let _fleet = up(stations(&*ric, 2)).await;
        ric.begin();
        until(&mut *ric, "processed", |processed| processed >= 40.0).await;
        let report = ended(&mut *ric);
        assert!(report.number("processed").unwrap() >= 40.0, "{:?}", report.numbers);
        assert_eq!((report.numbers["ues"], report.numbers["lost"], report.numbers["nodes"]), (2.0, 0.0, 2.0));
        let strange =
            RicPart { iapp: vec![HostedIApp::Monitor], sm: vec!["kpn".to_owned()], ..RicPart::default() };
        let trouble = why(Part::from(strange), Trust::Full).await;
        assert!(trouble.what.contains("\"kpn\"") && trouble.what.contains("mac, rlc"), "{trouble}");
    });
}

#[test]
fn pinging_iapp_works_at_interval_and_full_speed() {
    ranlab_transport::run(async {
        for (interval, window) in [(Duration::from_millis(5), 1), (Duration::ZERO, 4)] {
            let part = RicPart { iapp: vec![HostedIApp::Ping], size: 100, interval, window, ..ric() };
            let mut ric = up(Part::from(part)).await;
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
        let ric = up(Part::from(ric())).await;
        let _fleet = up(stations(&*ric, 1)).await;
        let connect = at(&*ric, "e42");
        for insert in [false, true] {
            let part = PingPart {
                connect: connect.clone(),
                size: 64,
                count: Some(20),
                window: 3,
                insert,
                ..PingPart::default()
            };
            let mut ping = Pinging::start(&part).await.unwrap();
            ping.done().await.unwrap();
            let PingReport { sent, received, rtt_us } = ping.report();
            assert_eq!((sent, received), (20, 20), "insert: {insert}");
            assert!(0.0 < rtt_us.min && rtt_us.min <= rtt_us.p50 && rtt_us.p99 <= rtt_us.max, "{rtt_us:?}");
            assert_eq!(ping.check(), Ok(()));
        }
        let paced = PingPart { connect, interval: Duration::from_micros(50), ..PingPart::default() };
        assert!(Pinging::start(&paced).await.err().unwrap().what.contains("100 us up"));
    });
}

#[test]
fn open_loop_ping_is_sent_when_due() {
    ranlab_transport::run(async {
        let ric = up(Part::from(ric())).await;
        let _fleet = up(stations(&*ric, 1)).await;
        let interval = Duration::from_millis(2);
        let part = PingPart { connect: at(&*ric, "e42"), interval, punctual: true, ..PingPart::default() };
        let mut ping = up(Part::from(part)).await;
        ping.begin();
        until(&mut *ping, "received", |received| received >= 30.0).await;
        let report = ended(&mut *ping);
        let of = |name: &str| report.number(name).unwrap();
        assert!(of("sent") >= of("received") + of("lost") && of("messages_sent") >= 30.0, "{report:?}");
        // Round trips from the scheduled time are never shorter than those from the sending time.
        let sum = |name: &str| report.distributions[name].iter().map(|(us, n)| us * n).sum::<u64>();
        assert!(sum("rtt_us") >= sum("rtt_us_service") && counted(&report, "lateness_us") >= 30.0);
    });
}

#[test]
fn ping_waits_for_ric_to_return() {
    ranlab_transport::run(async {
        let folder = std::env::temp_dir().join(format!("ranlab-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = |name: &str| vec![Listen::At(ranlab_transport::Address::Unix(folder.join(name)))];
        let part = RicPart { e2: place("e2"), e42: place("e42"), ..RicPart::default() };
        let ric = up(Part::from(part.clone())).await;
        let mut fleet = up(stations(&*ric, 1)).await;
        let interval = Duration::from_millis(5);
        let ping = PingPart { connect: at(&*ric, "e42"), interval, ..PingPart::default() };
        let mut ping = Pinging::start(&ping).await.unwrap();
        until(&mut ping, "received", |received| received >= 5.0).await;
        drop(ric);
        until(&mut *fleet, "alive", |alive| alive == 0.0).await;
        let away = ping.counters();
        tokio::time::sleep(Duration::from_millis(300)).await;
        // One ping may be in flight. Pings that cannot be sent are delayed, not lost.
        assert!(ping.counters()["sent"] <= away["sent"] + 1.0, "{away:?}");
        let _ric = up(Part::from(part)).await;
        until(&mut ping, "received", |received| received >= away["received"] + 20.0).await;
        let report = ping.report();
        assert!(report.sent - report.received <= 2, "{report:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

#[test]
fn relays_decode_and_forward_all_messages() {
    ranlab_transport::run(async {
        let ric = up(Part::from(ric())).await;
        let relay = |connect, language| Part::from(RelayPart { connect, language, ..RelayPart::default() });
        let mut e2 = up(relay(at(&*ric, "e2"), Language::E2)).await;
        let mut e42 = up(relay(at(&*ric, "e42"), Language::E42)).await;
        let connect = vec![at(&*e2, "relay")];
        let mut fleet = up(Part::from(FleetPart { connect, nodes: 2, ues: 2, ..FleetPart::default() })).await;
        until(&mut *fleet, "alive", |alive| alive == 2.0).await;
        let period = Duration::from_millis(10);
        let part = MonitorPart { connect: at(&*e42, "relay"), period, ..MonitorPart::default() };
        let mut xapp = up(Part::from(part)).await;
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
            Part::from(AttachPart { pid, command: command.map(str::to_owned), cgroup: None })
        };
        let elsewhere = up(attach(None, None)).await;
        assert!(elsewhere.subject().is_none());
        let mut own = up(attach(Some(std::process::id()), None)).await;
        assert!(own.subject().is_some() && own.check() == Ok(()));
        let trouble = why(attach(None, Some("no-such-program")), Trust::Full).await;
        assert!(trouble.what.contains("no-such-program"), "{trouble}");
        let trouble = why(attach(None, Some("init")), Trust::PartsOnly).await;
        assert!(trouble.what.contains("`command`") && trouble.what.contains("not one over TCP"), "{trouble}");
    });
}

fn agents(controller: &dyn Running, protocol: Southbound, nodes: u32, ues: u32) -> SouthFleetPart {
    let activation = Some("constant:0s".parse().unwrap());
    let connect = vec![at(controller, "southbound")];
    let period = Some(Period::every(Duration::from_millis(20)));
    SouthFleetPart { protocol, connect, nodes, ues, activation, period, ..SouthFleetPart::default() }
}

fn flexran() -> FlexranPart {
    let listen = "127.0.0.1:0".parse().unwrap();
    FlexranPart { listen, rib_share: Share(RibShare::Fixed(0.8)), ..FlexranPart::default() }
}

#[test]
fn flexran_controller_counts_reports_in_window() {
    ranlab_transport::run(async {
        let mut controller = up(Part::from(flexran())).await;
        let mut fleet = up(Part::from(agents(&*controller, Southbound::Flexran, 3, 4))).await;
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
        let part = EmpowerPart { listen, registered: Some(file.clone()), ..EmpowerPart::default() };
        let mut controller = up(Part::from(part.clone())).await;
        let mut fleet = up(Part::from(agents(&*controller, Southbound::EmpowerV1, 3, 2))).await;
        until(&mut *controller, "ues", |ues| ues == 4.0).await;
        until(&mut *fleet, "reconnects", |reconnects| reconnects >= 1.0).await;
        assert_eq!((controller.counters()["agents"], fleet.counters()["alive"]), (2.0, 2.0));
        std::fs::write(&file, "no address\n").unwrap();
        assert!(why(Part::from(part.clone()), Trust::Full).await.what.contains("no address"));
        std::fs::remove_file(&file).unwrap();
        let gone = why(Part::from(part.clone()), Trust::Full).await;
        assert!(gone.what.contains("cannot read") && gone.fault == Fault::Rig, "{gone}");
        let stranger = why(Part::from(part), Trust::PartsOnly).await;
        assert!(stranger.what.contains("`registered`"), "{stranger}");
    });
}

#[test]
fn ue_events_from_trace_and_program_are_applied() {
    ranlab_transport::run(async {
        let controller = up(Part::from(flexran())).await;
        let file = std::env::temp_dir().join(format!("ranlab-test-{}-trace", std::process::id()));
        std::fs::write(&file, "0 activated node=0 ue=1\n0 activated node=1 ue=1\n0 activated node=1 ue=2\n")
            .unwrap();
        let part = agents(&*controller, Southbound::Flexran, 2, 50);
        let traced = SouthFleetPart { trace: Some(file.clone()), ..part.clone() };
        let mut fleet = up(Part::from(traced.clone())).await;
        until(&mut *fleet, "ues", |ues| ues == 3.0).await;
        assert!(why(Part::from(traced.clone()), Trust::PartsOnly).await.what.contains("`trace`"));
        std::fs::write(&file, "0 exploded node=0 ue=1\n").unwrap();
        let wrong = why(Part::from(traced), Trust::Full).await;
        assert!(wrong.what.contains("trace") && wrong.fault == Fault::Rig, "{wrong}");
        std::fs::remove_file(&file).unwrap();
        drop(fleet);
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let live = SouthFleetPart { events: Some(Events::At(free)), first: 10, ..part.clone() };
        let mut fleet = up(Part::from(live)).await;
        let mut program = std::net::TcpStream::connect(free).unwrap();
        program.write_all(b"now activated node=11\n").unwrap();
        until(&mut *fleet, "ues", |ues| ues == 1.0).await;
        let stdin = SouthFleetPart { events: Some(Events::Stdin), ..part };
        assert!(why(Part::from(stdin), Trust::Full).await.what.contains("standard input"));
    });
}

#[test]
fn invalid_controller_is_reported_by_name() {
    ranlab_transport::run(async {
        let fleet = |places: &[&str]| {
            let connect = places.iter().map(|place| place.parse().unwrap()).collect();
            Part::from(SouthFleetPart { connect, ..SouthFleetPart::default() })
        };
        for (places, told) in [
            (&["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"][..], "give --connect once"),
            (&["unix:///x"], "is not TCP"),
            (&["tcp://no-such-host.invalid:1"], "has no address"),
            (&["tcp://127.0.0.1:1"], "cannot connect to 127.0.0.1:1"),
        ] {
            let trouble = why(fleet(places), Trust::Full).await;
            assert!(trouble.what.contains(told), "{trouble}");
        }
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = taken.local_addr().unwrap();
        let trouble = why(Part::from(FlexranPart { listen, ..flexran() }), Trust::Full).await;
        assert!(trouble.what.contains(&listen.to_string()), "{trouble}");
    });
}

/// Checks that flags, scenario keys and worker messages set the same values, and that an invalid value is reported with
/// the field's name.
fn is_the_same_by_all_ways<C>(fields: &[(&str, &str)])
where
    C: Config + PartialEq + std::fmt::Debug + Serialize + for<'de> Deserialize<'de>,
{
    use ranlab_campaign::plan::Point;
    use ranlab_campaign::rig::Run;
    use ranlab_campaign::schema::Kind;
    use ranlab_campaign::value::Value;
    let described = C::fields();
    let value = |name: &str, text: &str| -> Value {
        let field = described.iter().find(|field| field.name == name).unwrap();
        match &field.key.kind {
            Kind::Int { .. } => Value::Int(text.parse().unwrap()),
            Kind::Bool => Value::Bool(text == "true"),
            Kind::List(_) => Value::List(text.split(',').map(Value::from).collect()),
            _ => text.into(),
        }
    };
    let mut set = C::default();
    let mut json = serde_json::Map::new();
    for (name, text) in fields {
        set.set(name, &value(name, text)).unwrap_or_else(|error| panic!("{name}: {error}"));
        json.insert((*name).to_owned(), serde_json::to_value(value(name, text)).unwrap());
        assert_ne!(set.get(name), C::default().get(name), "{name} is not another value than the default");
    }
    // As a message, in both directions.
    assert_eq!(serde_json::from_value::<C>(json.into()).unwrap(), set);
    let text = serde_json::to_string(&set).unwrap();
    assert_eq!(serde_json::from_str::<C>(&text).unwrap(), set, "{text}");
    // As a scenario point: all fields except those that a rig sets.
    let keys: Vec<String> = C::keys("load").keys().into_iter().map(|key| key.path).collect();
    let settings = fields.iter().map(|(name, text)| (format!("load.{name}"), value(name, text)));
    let point = Point { index: 0, axes: Vec::new(), settings: settings.collect() };
    let read = C::read(&Run::new(&point, 0, 1, Duration::ZERO), "load").unwrap();
    for field in &described {
        let from = if keys.contains(&format!("load.{}", field.name)) { &set } else { &C::default() };
        assert_eq!(read.get(field.name), from.get(field.name), "{}", field.name);
        assert!(!field.key.comment.is_empty(), "{} has no comment", field.name);
        if let Kind::Int { min, .. } = field.key.kind
            && min > i64::MIN
        {
            let error = C::default().set(field.name, &Value::Int(min - 1)).unwrap_err().to_string();
            assert!(error.contains(&format!("`{}` must be", field.name)), "{error}");
        }
    }
    assert!(C::default().set("no-such-field", &Value::Int(1)).is_err());
}

#[test]
fn configs_are_the_same_from_flags_keys_and_messages() {
    is_the_same_by_all_ways::<RicPart>(&[
        ("e2", "unix,tcp://[::1]:7"),
        ("http", "127.0.0.1:80"),
        ("allow", "10.0.0.0/8,fd00::/8,192.0.2.7"),
        ("e2ap", "3.01"),
        ("max_nodes", "7"),
        ("iapp", "monitor"),
        ("sm", "mac"),
        ("period", "20ms"),
        ("window", "4"),
    ]);
    is_the_same_by_all_ways::<AttachPart>(&[("pid", "1"), ("command", "x"), ("cgroup", "y")]);
    is_the_same_by_all_ways::<MonitorPart>(&[
        ("connect", "unix:///x"),
        ("sm", "hw,gtp"),
        ("period", "1s"),
        ("dialect", "flexric"),
        ("flexric", "true"),
        ("at_most", "5"),
        ("slow_until", "1min"),
        ("ahead_us", "-7"),
    ]);
    is_the_same_by_all_ways::<PingPart>(&[
        ("connect", "tcp://a:1"),
        ("size", "0"),
        ("count", "9"),
        ("interval", "1500us"),
        ("window", "1024"),
        ("insert", "true"),
        ("punctual", "true"),
    ]);
    is_the_same_by_all_ways::<PingFlexranPart>(&[("listen", "10.0.0.1:1"), ("size", "1"), ("window", "2")]);
    is_the_same_by_all_ways::<RelayPart>(&[("listen", "tcp://a:0"), ("language", "e42"), ("e2ap", "1.01")]);
    is_the_same_by_all_ways::<GatewayPart>(&[("listen", "tcp://a:0"), ("connect", "shim:///e/1.2.3.4:5")]);
    is_the_same_by_all_ways::<FlexranPart>(&[
        ("listen", "127.0.0.1:1"),
        ("rib_share", "adaptive"),
        ("queue", "bounded"),
        ("queue_messages", "1"),
        ("leak_limit_mib", "0"),
        ("threads", "inline"),
        ("slow_period", "1s"),
        ("forget_dead", "true"),
    ]);
    is_the_same_by_all_ways::<EmpowerPart>(&[
        ("listen", "127.0.0.1:1"),
        ("openempower", "2"),
        ("registered", "/x"),
        ("message_cost", "350us"),
    ]);
    is_the_same_by_all_ways::<SouthFleetPart>(&[
        ("connect", "tcp://a:1"),
        ("nodes", "3"),
        ("ues", "0"),
        ("ramp", "1s"),
        ("seed", "-1"),
        ("protocol", "empower2"),
        ("period", "honour"),
        ("service", "mmtc-burst"),
        ("activation", "exponential:1s"),
        ("holding", "constant:2s"),
        ("trace", "/x"),
        ("events", "-"),
        ("delegation", "exponential:60s"),
        ("taken_back", "constant:5s"),
        ("sources", "127.0.1.1-127.0.1.9"),
    ]);
}

#[test]
fn text_values_round_trip_and_errors_name_allowed_values() {
    fn both<T: std::str::FromStr<Err: std::fmt::Display> + std::fmt::Display>(
        good: &[&str],
        bad: &[(&str, &str)],
    ) {
        for text in good {
            let read = text.parse::<T>().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.to_string(), *text);
        }
        for (text, told) in bad {
            let error = text.parse::<T>().err().unwrap_or_else(|| panic!("{text} was read")).to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
    both::<Listen>(&["unix", "unix:///x", "tcp://127.0.0.1:0"], &[("nowhere", "tcp://host:port")]);
    both::<Share>(
        &["adaptive", "0.2", "0.999"],
        &[("2", "0.001 to 0.999"), ("0", "adaptive"), ("much", "is not a share"), ("NaN", "is not a share")],
    );
    both::<Period>(
        &["honour", "50ms", "1s", "1ms"],
        &[("0s", "1ms is the most"), ("50", "or honour"), ("999us", "1ms is the most")],
    );
    both::<Events>(&["-", "127.0.0.1:7"], &[("here", "neither - nor IP:PORT"), ("127.0.0.1", "IP:PORT")]);
    both::<Allowed>(&["10.0.0.0/8", "fd00::/8", "192.0.2.7/32"], &[("10.0.0.0/33", "neither an IP address")]);
    let mut part = FlexranPart::default();
    let error = part.set("queue", &"tight".into()).unwrap_err().to_string();
    assert_eq!(error, "`queue` must be one of \"leaky\", \"bounded\"; it is tight");
}
