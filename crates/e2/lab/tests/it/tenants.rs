//! Tests of operators that share infrastructure, in virtual time. Controllers, agents and radios are the same as on
//! sockets.
#![allow(clippy::unwrap_used, reason = "a test's set-up that fails is a failed test")]

use std::time::Duration;

use ranlab_e2_lab::virtual_time::{EventObserver, Network, NetworkSpec};
use ranlab_e2_lab::{FleetComponent, SliceXappComponent, SlicingComponent, VirtComponent};
use ranlab_lab::{AnyComponent, Config};
use ranlab_ran::node::NodeKind;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Returns base stations whose UEs 1 and 3 belong to operator A, and whose UEs 2 and 4 belong to B. Each UE always
/// has more data than can be sent.
fn fleet(ues: i64) -> FleetComponent {
    let mut fleet = FleetComponent { ramp: Some(Duration::ZERO), ..FleetComponent::default() };
    fleet.set("radio", &"lte:50".into()).unwrap();
    fleet.set("ues", &ues.into()).unwrap();
    let list = |texts: &[&str]| {
        ranlab_campaign::value::Value::List(texts.iter().map(|text| (*text).into()).collect())
    };
    fleet.set("flows", &list(&["udp:80"])).unwrap();
    fleet.set("plmn", &list(&["001.01", "001.02"])).unwrap();
    fleet
}

fn virt(tenants: &[&str], ids: u16) -> AnyComponent {
    let tenant = tenants.iter().map(|text| text.parse().unwrap()).collect();
    AnyComponent::from(VirtComponent { tenant, ids, ..VirtComponent::default() })
}

fn xapp(slices: &[&str], ues: &[&str], steps: &[&str]) -> AnyComponent {
    let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let step = steps.iter().map(|text| text.parse().unwrap()).collect();
    AnyComponent::from(SliceXappComponent {
        slice: own(slices),
        ue: own(ues),
        step,
        ..SliceXappComponent::default()
    })
}

/// Returns a network in which A and B share everything equally. A's xApp is `xapp`.
fn shared(fleet: FleetComponent, xapp: AnyComponent) -> NetworkSpec {
    let slicing = || AnyComponent::from(SlicingComponent::default());
    NetworkSpec {
        controllers: vec![
            ("ric".to_owned(), virt(&["A:0.5:001.01@a", "B:0.5:001.02@b"], 10)),
            ("a".to_owned(), slicing()),
            ("b".to_owned(), slicing()),
        ],
        fleets: vec![(fleet, "ric".to_owned())],
        xapps: vec![("xapp".to_owned(), xapp, "a".to_owned())],
        latency: MS / 10,
    }
}

fn begun(cast: &NetworkSpec, seed: u64) -> Network {
    // The events of a seed can be printed: `SEED=5 SEEDS=1 EVENTS=1 cargo test …`.
    let observer: Option<EventObserver> = std::env::var_os("EVENTS").map(|_| {
        let tell: EventObserver =
            Box::new(|at, words| eprintln!("{:>12} us  {words}", at.as_nanos() / 1_000));
        tell
    });
    let mut network = Network::new(cast, seed, observer).unwrap();
    network.pass_until_up(100 * MS, 20 * SECOND).unwrap();
    network.pass(SECOND).unwrap();
    network.start_xapps();
    network
}

/// Advances the time. Returns the throughput of each UE, in Mbit/s.
fn mbps(network: &mut Network, time: Duration) -> Vec<f64> {
    let bytes = |network: &Network| network.ues().iter().map(|ue| ue.bytes).collect::<Vec<_>>();
    let before = bytes(network);
    network.pass(time).unwrap();
    let got = bytes(network).into_iter().zip(before).map(|(now, then)| (now - then) as f64);
    got.map(|bytes| bytes * 8e-6 / time.as_secs_f64()).collect()
}

#[test]
fn operators_are_isolated() {
    let cast = shared(fleet(4), xapp(&[], &[], &["10s:1=0.66+2=0.33:1=1+3=2"]));
    let mut network = begun(&cast, 1);
    network.pass(2 * SECOND).unwrap();
    let before = mbps(&mut network, 6 * SECOND);
    let whole: f64 = before.iter().sum();
    assert!(before.iter().all(|it| (it / whole - 0.25).abs() < 0.01), "{before:?}");
    network.pass(3 * SECOND).unwrap();
    let after = mbps(&mut network, 10 * SECOND);
    network.check().unwrap();
    let b = |got: &[f64]| got[1] + got[3];
    assert!((b(&after) / b(&before) - 1.0).abs() < 0.01, "{before:?} {after:?}");
    assert!(
        (after[0] / after[2] - 2.0).abs() < 0.05,
        "the first UE must get twice the rate of the third: {after:?}"
    );
    assert!((after.iter().sum::<f64>() / whole - 1.0).abs() < 0.005, "{after:?}");
}

#[test]
fn nested_operators_divide_the_share_of_their_operator() {
    let slicing = || AnyComponent::from(SlicingComponent::default());
    let mut cast = shared(fleet(4), xapp(&["1=0.5"], &["1=1"], &[]));
    // A's controller divides A's half between a1 (UE 1) and a2, which has no UE.
    cast.controllers[0].1 = virt(&["A:0.5:001.01@a", "B:0.5:001.02@b"], 40);
    cast.controllers[1].1 = virt(&["a1:0.4:001.01@a1", "a2:0.6:001.03@a2"], 10);
    cast.controllers.push(("a1".to_owned(), slicing()));
    cast.controllers.push(("a2".to_owned(), slicing()));
    cast.xapps[0].2 = "a1".to_owned();
    let mut network = begun(&cast, 1);
    network.pass(3 * SECOND).unwrap();
    network.check().unwrap();
    let ues: Vec<_> = network.ues().iter().map(|ue| (ue.ue, ue.slice)).collect();
    // At the base stations, ids 1 to 41 belong to A, and ids from 42 on belong to B. Of A's ids 0 to 39, a1 has 1 for
    // its whole share, and 2 to 11 for its ids 0 to 9. The slice 1 of a1 is therefore slice 3 of A, which is slice 5
    // of the base station.
    assert_eq!(ues, [(1, Some(5)), (2, Some(42)), (3, Some(5)), (4, Some(42))]);
    let got = mbps(&mut network, 6 * SECOND);
    let whole: f64 = got.iter().sum();
    // Resources that a2 does not use are shared in proportion to a1's 0.2 and B's 0.5.
    assert!(((got[1] + got[3]) / whole - 0.5 / 0.7).abs() < 0.01, "{got:?}");
}

#[test]
fn cu_and_dus_appear_as_base_stations_to_operators() {
    let split = FleetComponent { kind: NodeKind::Split, dus: 2, nodes: 4, ..fleet(4) };
    let xapp = xapp(&["1=0.5", "2=0.5"], &["1=1"], &[]);
    let xapp = xapp.get::<SliceXappComponent>().cloned().unwrap();
    let xapp = SliceXappComponent { node: Some("gnb 505.01 16".to_owned()), ..xapp };
    let network = &mut begun(&shared(split, AnyComponent::from(xapp)), 1);
    network.pass(3 * SECOND).unwrap();
    network.check().unwrap();
    // UEs 1 and 3 are in the cell of the first DU, UEs 2 and 4 in the cell of the second DU. All of A's UEs are
    // therefore in one cell, and all of B's UEs in the other.
    let ues: Vec<_> = network.ues().iter().map(|ue| (ue.ue, ue.slice)).collect();
    assert_eq!(ues, [(1, Some(3)), (3, Some(3)), (2, Some(12)), (4, Some(12))]);
}

/// The network recovers from faults between base station, virtualization controller and operators, and no operator
/// gets more than its share.
#[test]
fn operators_keep_shares_after_seeded_faults() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("SEED").unwrap_or(0);
    let count: u64 = number("SEEDS").unwrap_or(200);
    let half = first + count / 2;
    std::thread::scope(|scope| {
        for seeds in [first..half, half..first + count] {
            scope.spawn(|| seeds.for_each(with_faults));
        }
    });
}

fn with_faults(seed: u64) {
    let cast = shared(fleet(4), xapp(&["1=0.6", "2=0.4"], &["1=1", "3=2"], &[]));
    let mut network = begun(&cast, seed);
    network.pass(SECOND).unwrap();
    network.plan(&["random:6@1s-12s".parse::<ranlab_ran::Spelled<_>>().unwrap().value], seed).unwrap();
    network.pass(30 * SECOND).unwrap();
    assert!(network.is_up(), "seed {seed}");
    let got = mbps(&mut network, 4 * SECOND);
    let share = (got[1] + got[3]) / got.iter().sum::<f64>();
    assert!((share - 0.5).abs() < 0.01, "seed {seed}: {got:?}");
}
