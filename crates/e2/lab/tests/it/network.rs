//! Tests of a network in virtual time: allowed members, effects of xApps, and consequences of crashes.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ranlab_e2_lab::virtual_time::{EventObserver, FaultPlan, Network, NetworkSpec};
use ranlab_e2_lab::{
    BusUrl, FleetComponent, HostedIApp, MonitorComponent, RicComponent, SliceXappComponent, SlicingComponent,
    TrafficComponent, TrafficXappComponent,
};
use ranlab_lab::worker::FaultOwner;
use ranlab_lab::{AnyComponent, Config};
use ranlab_ran::Spelled;
use ranlab_ran::node::NodeKind;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// Duration of a measurement. It exceeds one second, so that measurements cover whole reports.
const SOON: Duration = Duration::from_millis(1_500);

/// Returns base stations with a radio and `ues` UEs. Each UE always has more data than can be sent.
fn fleet(ues: i64) -> FleetComponent {
    let mut part = FleetComponent::default();
    part.set("radio", &"nr:106".into()).unwrap();
    part.set("ues", &ues.into()).unwrap();
    part.set("flows", &"udp:80".into()).unwrap();
    part.ramp = Some(Duration::ZERO);
    part
}

fn slicing() -> AnyComponent {
    AnyComponent::from(SlicingComponent::default())
}

fn xapp(slices: &[&str], ues: &[&str], steps: &[&str]) -> (String, AnyComponent) {
    let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let step = steps.iter().map(|text| text.parse().unwrap()).collect();
    let part = SliceXappComponent { slice: own(slices), ue: own(ues), step, ..SliceXappComponent::default() };
    ("xapp".to_owned(), AnyComponent::from(part))
}

fn cast(xapps: Vec<(String, AnyComponent)>) -> NetworkSpec {
    NetworkSpec::of_one(slicing(), fleet(2), xapps, MS / 10)
}

/// Returns a copy of the network with these base stations and this controller, where given.
fn with(cast: &NetworkSpec, fleet: Option<FleetComponent>, controller: Option<AnyComponent>) -> NetworkSpec {
    let mut cast = cast.clone();
    cast.fleets[0].0 = fleet.unwrap_or_else(|| cast.fleets[0].0.clone());
    cast.controllers[0].1 = controller.unwrap_or_else(|| cast.controllers[0].1.clone());
    cast
}

/// Returns a network whose base stations are set up and whose xApps have started.
fn begun(cast: &NetworkSpec, seed: u64) -> Network {
    let mut network = Network::new(cast, seed, None).unwrap();
    network.pass_until_up(100 * MS, 20 * SECOND).unwrap();
    // After this second, the controller has received reports from the base stations.
    network.pass(SECOND).unwrap();
    network.begin();
    network.start_xapps();
    network
}

/// Advances the time. Returns the throughput of each UE, in Mbit/s.
fn mbps(network: &mut Network, time: Duration) -> Vec<f64> {
    let before = network.ues();
    network.pass(time).unwrap();
    let after = network.ues();
    let of = |(a, b): (u64, u64)| (b - a) as f64 * 8e-6 / time.as_secs_f64();
    before.iter().map(|ue| ue.bytes).zip(after.iter().map(|ue| ue.bytes)).map(of).collect()
}

fn fault(text: &str) -> FaultPlan {
    text.parse::<Spelled<FaultPlan>>().unwrap().value
}

/// Returns the error that an invalid network causes.
fn why(cast: &NetworkSpec) -> String {
    let trouble = Network::new(cast, 1, None).err().unwrap();
    assert_eq!(trouble.fault, FaultOwner::Rig, "{trouble:?}");
    trouble.what
}

#[test]
fn xapp_changes_throughput_and_requests_are_recorded() {
    let mut network = begun(&cast(vec![xapp(&["1=0.75", "2=0.25"], &["1=1", "2=2"], &[])]), 1);
    network.pass(SOON).unwrap();
    let got = mbps(&mut network, 4 * SECOND);
    let share = got[0] / got.iter().sum::<f64>();
    assert!((share - 0.75).abs() < 0.01, "{got:?}");
    let slices: Vec<_> = network.ues().iter().map(|ue| (ue.station, ue.ue, ue.slice)).collect();
    assert_eq!(slices, [(1, 1, Some(1)), (1, 2, Some(2))]);
    let controls = network.controls();
    let outcomes: Vec<_> = controls.iter().map(|control| (control.method, control.refused.clone())).collect();
    assert_eq!(outcomes, [("PUT", None), ("PUT", None), ("PUT", None)]);
    assert!(controls[0].path.ends_with("/slices") && controls[2].path.ends_with("/ues/2"), "{controls:?}");
    assert!(controls.windows(2).all(|two| two[0].at < two[1].at && two[0].by == "xapp"), "{controls:?}");
    network.check().unwrap();
}

#[test]
fn rejected_xapp_ends_with_reason_and_no_effect() {
    let mut network = begun(&cast(vec![xapp(&["1=0.75", "2=0.75"], &[], &[])]), 1);
    network.pass(SOON).unwrap();
    let trouble = network.check().unwrap_err();
    assert!(trouble.fault == FaultOwner::Sut && trouble.what.contains("150.0000 %"), "{trouble:?}");
    let refused = network.controls()[0].refused.clone().unwrap();
    assert!(refused.contains("of 100 %"), "{refused}");
    assert!(network.ues().iter().all(|ue| ue.slice.is_none_or(|slice| slice == 0)), "{:?}", network.ues());
    let got = mbps(&mut network, 4 * SECOND);
    assert!((got[0] / got[1] - 1.0).abs() < 0.01, "{got:?}");
}

#[test]
fn slice_steps_run_at_their_times() {
    let network = &mut begun(&cast(vec![xapp(&["1=0.5", "2=0.5"], &["1=1", "2=2"], &["3s:1=0.8+2=0.2"])]), 1);
    network.pass(SECOND).unwrap();
    let halves = mbps(network, SECOND);
    assert!((halves[0] / halves[1] - 1.0).abs() < 0.05, "{halves:?}");
    network.pass(SOON).unwrap();
    let later = mbps(network, 4 * SECOND);
    assert!((later[0] / later[1] - 4.0).abs() < 0.2, "{later:?}");
}

#[test]
fn bus_messages_trigger_traffic_control() {
    let mut fleet = FleetComponent { ramp: Some(Duration::ZERO), ..FleetComponent::default() };
    fleet.set("radio", &"nr:106".into()).unwrap();
    fleet.set("ues", &1_i64.into()).unwrap();
    let flows = ["voip", "tcp"].map(ranlab_campaign::value::Value::from).to_vec();
    fleet.set("flows", &ranlab_campaign::value::Value::List(flows)).unwrap();
    let xapp = TrafficXappComponent { destination_port: Some(2112), ..TrafficXappComponent::default() };
    let with = |xapps| {
        NetworkSpec::of_one(AnyComponent::from(TrafficComponent::default()), fleet.clone(), xapps, MS / 10)
    };
    let p50 = |cast: &NetworkSpec| {
        let mut network = begun(cast, 1);
        network.pass(5 * SECOND).unwrap();
        network.begin();
        network.pass(10 * SECOND).unwrap();
        network.check().unwrap();
        let meters = network.radios(Duration::ZERO);
        let call = meters[0].flows.iter().find(|flow| flow.what == "voip").unwrap();
        let half = call.rtt_us.iter().map(|(_, count)| count).sum::<u64>() / 2;
        let mut seen = 0;
        let middle = call.rtt_us.iter().find(|(_, count)| {
            seen += count;
            seen >= half
        });
        (middle.unwrap().0, network.controls().len())
    };
    let (transparent, nothing) = p50(&with(Vec::new()));
    let (freed, requests) = p50(&with(vec![("xapp".to_owned(), AnyComponent::from(xapp))]));
    // The xApp sends three requests: a queue, a filter and a pacer.
    assert_eq!((nothing, requests), (0, 3));
    assert!(
        freed * 4 < transparent,
        "the xApp must reduce the call's median round trip to a quarter: {transparent} us before, {freed} us with it"
    );
}

#[test]
fn unsupported_components_are_rejected_with_their_name() {
    let fine = cast(Vec::new());
    Network::new(&fine, 1, None).unwrap();
    let bare = FleetComponent { radio: None, flows: Vec::new(), ..fleet(2) };
    let redis = TrafficComponent {
        bus: BusUrl::Redis("redis://127.0.0.1:6379".to_owned()),
        ..TrafficComponent::default()
    };
    let hosting = RicComponent { iapp: vec![HostedIApp::Monitor], ..RicComponent::default() };
    for (cast, words) in [
        (with(&fine, Some(bare), None), "without a `radio`"),
        (with(&fine, None, Some(AnyComponent::from(redis))), "redis://127.0.0.1:6379"),
        (with(&fine, None, Some(AnyComponent::from(hosting))), "`ric` without iApps"),
        (with(&fine, None, Some(AnyComponent::from(MonitorComponent::default()))), "component `monitor`"),
        (cast(vec![("xapp".to_owned(), slicing())]), "component `slicing`"),
        (cast(vec![xapp(&["one"], &[], &[])]), "ID=SHARE"),
    ] {
        let why = why(&cast);
        assert!(why.contains(words), "{why}");
    }
    let mut network = begun(&fine, 1);
    let nobody = network.plan(&[fault("cut:agent2@1s")], 1).unwrap_err();
    assert!(nobody.what.contains("agent2"), "{nobody:?}");
}

/// Two base stations have a CU-CP, a CU-UP and two DUs each. An xApp divides a DU's carrier among the UEs of the DU.
#[test]
fn split_base_stations_use_radios_of_their_dus() {
    let split = |nodes| FleetComponent { kind: NodeKind::Split, dus: 2, nodes, ..fleet(4) };
    let name = "gnb 505.01 1/du 1".to_owned();
    let (_, xapp) = xapp(&["1=0.75", "2=0.25"], &["1=1", "2=2"], &[]);
    let xapp = xapp.get::<SliceXappComponent>().cloned().unwrap();
    let xapp = AnyComponent::from(SliceXappComponent { node: Some(name), ..xapp });
    let cast = with(&cast(vec![("xapp".to_owned(), xapp)]), Some(split(8)), None);
    let network = &mut begun(&cast, 1);
    network.pass(SOON).unwrap();
    let got = mbps(network, 4 * SECOND);
    network.check().unwrap();
    let ues: Vec<_> = network.ues().iter().map(|ue| (ue.station, ue.ue, ue.rnti)).collect();
    let first = [(1, 1, 1), (1, 3, 2), (1, 2, 8_001), (1, 4, 8_002)];
    assert_eq!(ues[..4], first, "UEs attach to the cells in rotation");
    assert_eq!(ues[4..], first.map(|(_, ue, rnti)| (2, 1_024 + ue, rnti)));
    let share = |a: usize| got[a] / (got[a] + got[a + 1]);
    assert!((share(0) - 0.75).abs() < 0.01, "{got:?}");
    assert!((share(2) - 0.5).abs() < 0.01 && (share(4) - 0.5).abs() < 0.01, "{got:?}");
    assert_eq!(network.radios(Duration::ZERO).len(), 4);
    // The units are separate agents, so a crash of one agent does not affect the others.
    network.plan(&[fault("crash:agent4@1s-3s")], 1).unwrap();
    network.pass(2 * SECOND).unwrap();
    assert!(!network.is_up());
    network.pass(10 * SECOND).unwrap();
    assert!(network.is_up());
    let half = with(&cast, Some(split(6)), None);
    assert!(why(&half).contains("multiples of 4"), "{}", why(&half));
}

#[test]
fn cell_keeps_running_while_agent_restarts() {
    let mut network = begun(&cast(vec![xapp(&["1=0.75", "2=0.25"], &["1=1", "2=2"], &[])]), 1);
    network.pass(SOON).unwrap();
    network.plan(&[fault("crash:agent@1s-4s")], 1).unwrap();
    network.pass(2 * SECOND).unwrap();
    assert!(!network.is_up());
    let away = mbps(&mut network, SECOND);
    assert!((away[0] / away.iter().sum::<f64>() - 0.75).abs() < 0.02, "{away:?}");
    network.pass(10 * SECOND).unwrap();
    assert!(network.is_up());
    assert_eq!(network.ues().iter().map(|ue| ue.slice).collect::<Vec<_>>(), [Some(1), Some(2)]);
    network.check().unwrap();
}

#[test]
fn xapp_fails_when_its_controller_crashes() {
    let events: Rc<RefCell<Vec<String>>> = Rc::default();
    let recorder = Rc::clone(&events);
    let witness: EventObserver = Box::new(move |_, words| recorder.borrow_mut().push(words.to_owned()));
    let cast = cast(vec![xapp(&["1=0.5", "2=0.5"], &[], &["2s:1=0.6+2=0.4"])]);
    let mut network = Network::new(&cast, 1, Some(witness)).unwrap();
    network.pass_until_up(100 * MS, 20 * SECOND).unwrap();
    network.pass(SECOND).unwrap();
    network.start_xapps();
    network.plan(&[fault("crash:ric@1s-5s")], 1).unwrap();
    network.pass(SECOND * 4).unwrap();
    let trouble = network.check().unwrap_err();
    assert!(trouble.what.contains("does not answer"), "{trouble:?}");
    network.pass(20 * SECOND).unwrap();
    assert!(network.is_up(), "base stations must reconnect to the RIC");
    let events = events.borrow();
    for words in ["xapp starts", "xapp ends"] {
        assert_eq!(events.iter().filter(|event| event.contains(words)).count(), 1, "{words}: {events:?}");
    }
}

#[test]
fn run_is_determined_by_seed() {
    let mut faded = cast(vec![xapp(&["1=0.5", "2=0.5"], &["1=1", "2=2"], &[])]);
    faded.fleets[0].0.set("channel", &"sinr:12".into()).unwrap();
    let digest = |cast: &NetworkSpec, seed| {
        let mut network = begun(cast, seed);
        network.plan(&[fault("random:3@1s-4s")], seed).unwrap();
        network.pass(5 * SECOND).unwrap();
        network.digest()
    };
    assert_eq!(digest(&faded, 3), digest(&faded, 3));
    assert_ne!(digest(&faded, 3), digest(&faded, 4));
    let slower = NetworkSpec { latency: 2 * MS, ..faded.clone() };
    assert_ne!(digest(&faded, 3), digest(&slower, 3), "the latency of the links must affect the digest");
}
