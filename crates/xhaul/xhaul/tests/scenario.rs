//! Tests of the published testbed as a scenario: its plan, invalid variants and results.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_xhaul::{
    Carrier, Cell, Clock, Duration, Link, MS, NS, Node, Options, Pattern, Quantiles, Role, S, Scenario,
    ScenarioError, Scheduler, Segment, Simulation, Split, Stage, Stream, US, wire_bytes,
};

fn node(name: &str, role: Role) -> Node {
    Node { name: name.to_owned(), role, clock: Clock::default() }
}

fn link(a: &str, b: &str) -> Link {
    Link {
        a: a.to_owned(),
        b: b.to_owned(),
        rate_bps: 1_000_000_000,
        metres: 100,
        scheduler: Scheduler::StrictPriority,
        queue_bytes_max: 500_000,
    }
}

fn cell(name: &str, split: Split, uplink: Split, du: &str, class: u8) -> Cell {
    Cell {
        name: name.to_owned(),
        carrier: Carrier::LTE_5,
        downlink: split,
        uplink,
        du: du.to_owned(),
        cu: "CU".to_owned(),
        class,
        offset_ps: 0,
        tdd: None,
        tagged: false,
        control_ahead_ps: None,
    }
}

fn free() -> [Duration; 2] {
    [Duration::Constant(0), Duration::Constant(0)]
}

/// Returns a scenario with two vBBUs on a shared CU behind one switch, 850 Mbit/s from a tester, and users' packets from a server.
fn testbed(sharing: [Duration; 2]) -> Scenario {
    let switch = || Role::Switch { forwarding: Duration::Constant(2 * US), cut_through_bytes: None };
    let cu = Role::Host {
        sharing,
        service: Duration::Constant(1000 * NS),
        wakeup: Duration::Constant(0),
        contention: None,
    };
    let f1u = |user_bps| Split::Two { user_bps, user_bytes: 1470 };
    let stream = |name: &str, from: &str, class, pattern| Stream {
        name: name.to_owned(),
        from: from.to_owned(),
        to: "CU".to_owned(),
        class,
        pattern,
        offset_ps: 0,
        regulator: None,
        budget_ps: None,
        air: None,
        via: Vec::new(),
        air_first: None,
    };
    let gap_ps = 1470 * 8 * S / 13_000_000;
    Scenario {
        nodes: vec![
            node("DU1", Role::End),
            node("DU2", Role::End),
            node("tester", Role::End),
            node("midhaul", switch()),
            node("CU", cu),
            node("backhaul", switch()),
            node("server", Role::End),
        ],
        links: vec![
            link("DU1", "midhaul"),
            link("DU2", "midhaul"),
            link("tester", "midhaul"),
            link("midhaul", "CU"),
            link("CU", "backhaul"),
            link("backhaul", "server"),
        ],
        cells: vec![
            cell("vBBU1", Split::If4p5 { udp: false }, Split::If4p5 { udp: false }, "DU1", 7),
            cell("vBBU2", f1u(13_000_000), f1u(500_000), "DU2", 4),
        ],
        streams: vec![
            stream("background", "tester", 0, Pattern::constant(9_411_764, wire_bytes(982))),
            stream(
                "user",
                "server",
                0,
                Pattern::Timer { timer_ps: 100 * MS, gap_ps, frame: wire_bytes(1498) },
            ),
        ],
        mtu: 1500,
    }
}

#[test]
fn plan_lists_rates_budgets_loads_and_warnings() {
    let plan = testbed(free()).plan().unwrap();
    let expected = "\
flow                 class  payload     wire  at once  budget
vBBU1 DL                 7     67.2     72.8       14  250 us
vBBU1 UL                 7     67.2     72.8       14  250 us
vBBU2 DL                 4     13.7     14.5        2  1500 us
vBBU2 UL                 4      0.5      0.6        2  1500 us
background               0        -    867.0        1  -
user                     0        -     13.6        1  -
port                  offered  carries  Mbit/s
DU1>midhaul              72.8   1000.0
midhaul>DU1              72.8   1000.0
DU2>midhaul               0.6   1000.0
midhaul>DU2              14.5   1000.0
tester>midhaul          867.0   1000.0
midhaul>tester            0.0   1000.0
midhaul>CU              940.4   1000.0
CU>midhaul               87.3   1000.0
CU>backhaul               0.0   1000.0
backhaul>CU              13.6   1000.0
backhaul>server           0.0   1000.0
server>backhaul          13.6   1000.0
warning: cell vBBU1 UL: PRACH needs an MTU of 3368 bytes
warning: cell vBBU2 DL: packets are 46 bytes longer than the MTU of 1500 and are fragmented
warning: cell vBBU2 UL: packets are 46 bytes longer than the MTU of 1500 and are fragmented
warning: port tester>midhaul is loaded to 86 %
warning: port midhaul>CU is loaded to 94 %
";
    assert_eq!(plan.to_string(), expected);
}

#[test]
fn sharing_cost_appears_only_in_its_direction() {
    let points = [(0.0, 20 * NS), (0.5, 40 * NS), (1.0, 140 * NS)];
    let drawn = Quantiles::new(&points).unwrap();
    let mean_ns = drawn.mean_ps() / 1e3;
    let means_ns = |sharing| {
        let plan = testbed(sharing).plan().unwrap();
        let report =
            Simulation::new(&plan.network, Options { duration_ps: 100 * MS, seed: 1 }).unwrap().run();
        // Flows of vBBU1: downlink and uplink.
        [0, 1].map(|flow| {
            let flow = &report.flows[flow];
            assert_eq!(flow.dropped, 0);
            let is_host =
                |part: &&Segment| matches!(plan.network.stages[usize::from(part.stage)], Stage::Host(_));
            let host = flow.segments.iter().find(is_host).unwrap();
            host.service_ps as f64 / host.frames as f64 / 1e3
        })
    };
    assert_eq!(means_ns(free()), [1000.0, 1000.0]);
    let costs = means_ns([Duration::Constant(450 * NS), Duration::Drawn(drawn)]);
    assert_eq!(costs[1], 1450.0, "incoming: {costs:?}");
    assert!((costs[0] - 1000.0 - mean_ns).abs() < 3.0, "outgoing: {costs:?}, {mean_ns}");
}

#[test]
fn invalid_scenario_is_rejected_before_it_runs() {
    let fine = testbed(free());
    let broken = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = fine.clone();
        change(&mut scenario);
        scenario.plan().unwrap_err()
    };
    let overload = broken(&|scenario| scenario.streams[0].pattern = Pattern::constant(8_000_000, 1020));
    let ScenarioError::Capacity { port, offered_bps: 1_020_000_000, .. } = overload else {
        panic!("{overload}")
    };
    assert_eq!(port, "tester>midhaul");
    let cut = broken(&|scenario| scenario.links.truncate(4));
    assert!(matches!(cut, ScenarioError::NoWay { flow, .. } if flow == "user"));
    let unknown = broken(&|scenario| scenario.cells[0].du = "DU3".to_owned());
    assert!(matches!(unknown, ScenarioError::Node { name, .. } if name == "DU3"));
    let twice = broken(&|scenario| scenario.nodes.push(node("DU1", Role::End)));
    assert!(matches!(twice, ScenarioError::Node { name, .. } if name == "DU1"));
    assert!(matches!(broken(&|scenario| scenario.mtu = 100), ScenarioError::Split { .. }));
}
