use super::*;
use crate::load::LoadError;
use ranlab_campaign::schema::Presence;
use ranlab_campaign::value::Value;
use ranlab_lab::{ConfigFields, Field, Role, RunningComponent};

fn component(settings: &[(&str, Value)]) -> UpfLoadComponent {
    let mut part = UpfLoadComponent { run: Some(1), ..UpfLoadComponent::default() };
    for (name, value) in settings {
        ranlab_lab::Config::set(&mut part, name, value).unwrap_or_else(|error| panic!("{error}"));
    }
    part
}

fn load(settings: &[(&str, Value)]) -> LoadConfig {
    component(settings).load().unwrap()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn modes_map_to_configuration() {
    let mode = |name: &str, more: &[(&str, Value)]| {
        let all: Vec<_> = [("mode", Value::from(name))].into_iter().chain(more.iter().cloned()).collect();
        load(&all).mode
    };
    let rate = ("rate", Value::Float(7.0));
    let sessions = ("sessions", Value::Int(5));
    assert_eq!(mode("sessions", &[]), Mode::Sessions { sessions: 100, duration: SECOND * 5 });
    let handover = Mode::Handover { sessions: 5, rate: 7.0, duration: SECOND * 5 };
    assert_eq!(mode("handover", &[rate.clone(), sessions.clone()]), handover);
    let paging = Mode::Paging { sessions: 5, rate: 7.0, duration: SECOND * 5 };
    assert_eq!(mode("paging", &[rate, sessions.clone()]), paging);
    let mixed = Mode::Mixed { fixed: 5, dynamic: 10, duration: SECOND * 5, round: SECOND, lead: SECOND * 5 };
    assert_eq!(mode("mixed", std::slice::from_ref(&sessions)), mixed);
    let blind = Mode::Blind { delay: Duration::from_micros(100), sessions: 5 };
    assert_eq!(mode("blind", std::slice::from_ref(&sessions)), blind);
    let qos = |sessions| Mode::Qos { offered_bps: vec![7e6, 12e6, 30e6], sessions, duration: SECOND * 5 };
    assert_eq!(
        (mode("qos", &[]), mode("qos", &[sessions])),
        (qos(1), qos(5)),
        "the maximum bit rate applies to each session"
    );
}

#[test]
fn arrivals_map_to_configuration() {
    let begin = |name: &str| {
        let rate = ("rate", Value::Float(10.0));
        match load(&[("arrivals", name.into()), rate, ("burst", 3.into()), ("window", 9.into())]).mode {
            Mode::Control { begin, .. } => begin,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(begin("closed"), Loop::Closed { window: 9 });
    assert_eq!(begin("constant"), Loop::Open(Arrivals::Constant { rate: 10.0 }));
    assert_eq!(begin("poisson"), Loop::Open(Arrivals::Poisson { rate: 10.0 }));
    assert_eq!(begin("burst"), Loop::Open(Arrivals::Burst { rate: 10.0, size: 3 }));
    let ramp = Arrivals::Ramp { from: 10.0, to: 20.0, over: SECOND * 5 };
    assert_eq!(begin("ramp"), Loop::Open(ramp), "without `rate_to` the rate doubles");
}

#[test]
fn packet_modes_default_to_uplink() {
    let rates = |settings: &[(&str, Value)]| {
        let config = load(settings);
        (config.uplink, config.downlink).map_both(|traffic| traffic.map(|traffic| traffic.packets_per_s))
    };
    assert_eq!(rates(&[]), (None, None));
    assert_eq!(rates(&[("mode", "sessions".into())]), (Some(1_000.0), None));
    assert_eq!(
        rates(&[("mode", "sessions".into()), ("downlink", "max".into())]),
        (None, Some(f64::INFINITY))
    );
    assert_eq!(rates(&[("mode", "control".into()), ("uplink", 5.into())]), (Some(5.0), None));
    let flat_out = ("unpaced", true.into());
    assert_eq!(rates(&[("mode", "sessions".into()), flat_out.clone()]), (Some(f64::INFINITY), None));
    assert_eq!(rates(&[("downlink", 5.into()), flat_out]), (None, Some(f64::INFINITY)));
}

trait Both<A, B> {
    fn map_both(self, change: impl Fn(A) -> B) -> (B, B);
}
impl<A, B> Both<A, B> for (A, A) {
    fn map_both(self, change: impl Fn(A) -> B) -> (B, B) {
        (change(self.0), change(self.1))
    }
}

#[test]
fn settings_determine_the_session_profile() {
    let profile = |settings: &[(&str, Value)]| load(settings).profile;
    assert_eq!((profile(&[]).mbr, profile(&[]).buffer, profile(&[]).ipv6), (None, false, false));
    let rates = BitRates { uplink_kbps: 500, downlink_kbps: 500 };
    assert_eq!(profile(&[("mbr_mbps", Value::Float(0.5))]).mbr, Some(rates));
    assert!(profile(&[("mode", "paging".into())]).buffer, "an idle session's packets wait");
    let six = [("ue", "2001:db8::1".into()), ("server", "[2001:db8:1::1]:9".into())];
    assert!(profile(&six).ipv6);
    let mixed = component(&six[..1]).load().unwrap_err();
    assert!(mixed.what.contains("have different IP versions"), "{mixed}");
}

#[test]
fn omitted_settings_have_defaults() {
    let config = load(&[("heartbeat", Value::Span(Duration::ZERO)), ("no_smoke_test", true.into())]);
    assert_eq!((config.heartbeat, config.smoke), (None, false));
    assert_eq!(config.smf.to_string(), "127.0.2.1:8805");
    let routed =
        UpfLoadComponent { n6: "routed://192.0.2.1:9".parse().unwrap(), ..component(&[]) }.load().unwrap();
    assert_eq!(routed.server.to_string(), "192.0.2.1:9", "UEs send to the server");
    assert_ne!(load(&[]).run, UpfLoadComponent { run: None, ..component(&[]) }.load().unwrap().run);
    let wrong = UpfLoadComponent { role: LoadRole::DataNetwork, ..component(&[("io", "af-xdp".into())]) };
    assert!(wrong.load().unwrap_err().what.contains("af-xdp is for base stations"));
}

#[test]
fn field_limits_match_load_limits() {
    let mut part = UpfLoadComponent::default();
    for (name, wrong) in [("smfs", 65), ("gnbs", 1_025), ("threads", 0), ("window", 65_537), ("n1", 256)] {
        let error = ranlab_lab::Config::set(&mut part, name, &Value::Int(wrong)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("a whole number from"), "{error}");
    }
    let error = ranlab_lab::Config::set(&mut part, "mode", &"contol".into()).unwrap_err().to_string();
    assert!(error.contains("\"control\"") && error.contains("\"qos\""), "{error}");
    assert_eq!(part, UpfLoadComponent::default());
}

#[test]
fn only_io_upf_pid_and_replay_are_local_fields() {
    let local = |field: &Field| field.role == Role::Local;
    let locals: Vec<_> =
        component(&[]).described().into_iter().filter(local).map(|field| field.name).collect();
    assert_eq!(locals, ["io", "upf_pid", "replay"]);
    assert!(component(&[("io", "sockets".into())]).locals().is_empty());
    let required =
        component(&[]).described().into_iter().filter(|field| field.key.presence == Presence::Required);
    assert_eq!(required.count(), 0);
}

#[test]
fn load_errors_are_attributed_to_upf_rig_or_environment() {
    use ranlab_lab::worker::FaultOwner;
    let fault = |error: LoadError| ComponentError::from(error).fault;
    let upf = "10.0.0.2:8805".parse().unwrap();
    let smf = "10.0.0.1:8805".parse().unwrap();
    assert_eq!(fault(LoadError::NoAssociation { upf, smf, waited: SECOND }), FaultOwner::Sut);
    assert_eq!(fault(LoadError::Smoke { way: "uplink", ue: [10, 60, 0, 1].into() }), FaultOwner::Sut);
    assert_eq!(fault(LoadError::Panicked), FaultOwner::Rig);
    assert_eq!(fault(LoadError::NoProcess { pid: 1 }), FaultOwner::Rig);
    assert_eq!(fault(LoadError::Io(std::io::ErrorKind::Other.into())), FaultOwner::Environment);
}

#[test]
fn load_that_has_not_started_reports_nothing() {
    let mut loading = RunningLoad::new(&component(&[])).unwrap();
    assert_eq!(loading.counters()[ranlab_lab::OVER], 0.0);
    let mut report = ranlab_lab::worker::Report::default();
    loading.end(&mut report);
    assert!(report.detail.is_null() && loading.check().is_ok());
    let error = RunningLoad::new(&component(&[("mode", "calibrate".into())])).err().unwrap();
    assert!(error.what.contains("only `ranlab load upf` supports"), "{error}");
}

#[test]
fn shares_are_disjoint_and_add_up() {
    let shares = |more: &[(&str, Value)], places: usize| {
        let all = [&[("smfs", 5.into()), ("gnbs", 4.into())], more].concat();
        let divided = ranlab_lab::AnyComponent::from(component(&all)).divide(places);
        divided.map(|shares| {
            let of = |share: &ranlab_lab::AnyComponent| share.get::<UpfLoadComponent>().cloned().unwrap();
            shares.iter().map(of).collect::<Vec<_>>()
        })
    };
    let sum = |shares: &[UpfLoadComponent], of: &dyn Fn(&UpfLoadComponent) -> f64| {
        shares.iter().map(of).sum::<f64>()
    };
    let mode = |name: &str| ("mode", Value::from(name));
    let burst = [("arrivals", "burst".into()), ("burst", 10.into()), ("rate", Value::Float(50.0))];
    let three = shares(&[&burst[..], &[("live", 7.into()), ("sessions", 100.into())]].concat(), 3).unwrap();
    assert_eq!(three.iter().map(|one| one.burst).collect::<Vec<_>>(), [3, 3, 4]);
    assert_eq!(
        (sum(&three, &|one| one.live as f64), sum(&three, &|one| one.sessions.unwrap() as f64)),
        (7.0, 100.0)
    );
    // All shares have the same burst interval as the whole load.
    assert!(three.iter().all(|one| (f64::from(one.burst) / one.rate - 0.2).abs() < 1e-12), "{three:?}");
    let flows = [mode("mixed"), ("sessions", 10.into()), ("dynamic", 3.into()), ("uplink", 5_000.into())];
    let two = shares(&[&flows[..], &[("rate", Value::Float(8.0))]].concat(), 2).unwrap();
    assert_eq!(
        (sum(&two, &|one| one.dynamic as f64), sum(&two, &|one| one.uplink.unwrap().0)),
        (3.0, 5_000.0)
    );
    assert_eq!(two[1].downlink, None);
    // The second share continues the numbers of the first, which has 2 of 5 SMFs, 2 of 4 base stations, and 5 + 2 * 1 + 256 (spare) UEs.
    assert_eq!(two.iter().map(|one| one.smfs).collect::<Vec<_>>(), [2, 3]);
    let smf = two[1].smf.unwrap();
    let gnb = two[1].gnb.unwrap();
    let ue = two[1].ue;
    assert_eq!(
        [smf.to_string(), gnb.to_string(), ue.to_string()],
        ["127.0.2.3:8805", "127.0.1.3:2152", "10.60.1.8"]
    );
    assert_ne!(two[0].run, two[1].run);
    // Without an emulated data network, all locations use the same server. Otherwise each location has its own server.
    assert_eq!((two[0].server, two[1].server), (two[0].server, two[0].server));
    let own = ("n6", Value::from("udp://127.0.0.10:1,127.0.0.8:1"));
    let two = shares(&[mode("sessions"), own], 2).unwrap();
    assert_eq!(
        (two[1].server.to_string(), two[1].n6.to_string()),
        ("10.45.0.2:9".to_owned(), "udp://127.0.0.11:1,127.0.0.8:1".to_owned())
    );
    for (more, why) in [
        (&[mode("blind")][..], "cannot be divided"),
        (
            &[("smfs", 1.into())],
            "1 SMFs (`load.smfs`) cannot be divided among 2 places; at least 2 are needed",
        ),
        (&[("window", 1.into())], "1 cycles (`load.window`)"),
        (&[mode("qos")], "1 sessions (`load.sessions`)"),
        (&[mode("sessions"), ("sessions", 1.into())], "1 sessions (`load.sessions`)"),
    ] {
        let error = shares(more, 2).unwrap_err().what;
        assert!(error.contains(why), "{error}");
    }
}
