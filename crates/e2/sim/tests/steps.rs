//! Tests of a world that a caller steps: calls at planned times, northbound requests, and faults of clocks and delays.
#![allow(clippy::unwrap_used, reason = "test helpers may unwrap, like tests")]

use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent, AgentConfig};
use ranlab_e2::ric::*;
use ranlab_e2::xapp::{Xapp, XappConfig, XappEvent};
use ranlab_e2_codec::e2ap::*;
use ranlab_sim::*;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const OID: &str = "1.3.6.1.4.1.53148.7.1";
/// Reporting period, longer than any single check.
const PERIOD: Duration = Duration::from_secs(60);

/// iApp that replies to each request with the path of the request.
struct Echo;

impl IApp for Echo {
    fn name(&self) -> &str {
        "echo"
    }
    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        if let IAppInput::Northbound(request) = input {
            out.reply(request.reply(200, request.path.clone()));
        }
    }
}

struct Lab {
    world: World,
    ric: PartyId,
    agent: PartyId,
    echo: Rc<Cell<Option<IAppId>>>,
}

/// Creates a world with one RIC and one base station. A watcher requests a report each minute, and the delay per
/// direction is 1 ms.
fn lab() -> Lab {
    let profile = LinkProfile {
        latency: (MS, MS),
        jitter: Duration::ZERO,
        detection: (MS, MS),
        ..LinkProfile::default()
    };
    let mut world = World::new(1, profile);
    let echo = Rc::new(Cell::new(None));
    let kept = echo.clone();
    let ric = world.ric("ric", move |_| {
        let mut ric = Ric::new(RicConfig::default());
        kept.set(Some(ric.add_iapp(Box::new(Echo))));
        ric.add_iapp(Box::new(Watcher::new(OID, PERIOD.as_millis() as u32, 1)));
        ric
    });
    let id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 1, 32);
    let agent = world.node("agent", id, move |now, life| {
        let component = ComponentConfigItem {
            interface: ComponentInterfaceType::Ng,
            id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
            configuration: ComponentConfiguration::default(),
        };
        let mut agent = Agent::new(AgentConfig::new(id, vec![component]));
        agent.register(Box::new(TracerFunction::new(OID, 1, life, TracerLog::default())), Some(1)).unwrap();
        agent.add_controller(now, "ric".to_owned()).unwrap();
        agent
    });
    world.run_until(Time::ZERO + SECOND).unwrap();
    Lab { world, ric, agent, echo }
}

impl Lab {
    fn is_up(&self) -> bool {
        let up = |agent: &Agent| agent.controllers().all(|(controller, _)| agent.is_up(controller));
        self.world.look_at_agent(self.agent).is_some_and(up)
    }

    fn pass(&mut self, time: Duration) {
        self.world.run_until(self.world.now() + time).unwrap();
    }

    /// Advances the world by a duration, and returns the number of PDUs delivered in it.
    fn delivered_in(&mut self, time: Duration) -> u64 {
        let before = self.world.delivered();
        self.pass(time);
        self.world.delivered() - before
    }
}

#[test]
fn calls_occur_at_their_times_in_request_order() {
    let mut lab = lab();
    assert!(lab.is_up());
    let at = |ms: u32| Time::ZERO + SECOND + MS * ms;
    for (ms, token) in [(7, 1), (5, 2), (7, 3), (0, 4)] {
        lab.world.call_at(at(ms), token);
    }
    // A call with a time in the past occurs at once.
    lab.world.call_at(Time::ZERO, 5);
    let mut called = Vec::new();
    while let Some(step) = lab.world.step(at(8)).unwrap() {
        if let Step::Called(token) = step {
            called.push((lab.world.now(), token));
        }
    }
    assert_eq!(called, [(at(0), 4), (at(0), 5), (at(5), 2), (at(7), 1), (at(7), 3)]);
    assert_eq!(lab.world.now(), at(8));
}

#[test]
fn northbound_requests_get_replies_while_ric_runs() {
    let mut lab = lab();
    let ask = |lab: &mut Lab| {
        let token = 9;
        let body = Bytes::new();
        let request = NorthboundRequest { token, method: Method::Get, path: "x".into(), body, party: None };
        let echo = lab.echo.get().unwrap();
        lab.world.with_ric(lab.ric, |ric, now| ric.northbound(now, echo, request)).map(|()| {
            lab.world.take_replies().into_iter().map(|(_, reply)| (reply.token, reply.body)).collect()
        })
    };
    assert_eq!(ask(&mut lab), Some(vec![(9, Bytes::from_static(b"x"))]));
    let ric = lab.ric;
    let agent = lab.agent;
    assert!(lab.world.with_ric(agent, |_, _| ()).is_none() && lab.world.with_agent(ric, |_, _| ()).is_none());
    lab.world.plan(lab.world.now(), Fault::Crash { party: ric, polite: true, away: SECOND });
    lab.pass(MS * 500);
    assert_eq!(ask(&mut lab), None);
    assert!(lab.world.look_at_ric(ric).is_none() && !lab.is_up());
    // The restarted RIC behaves like the first one, and the watching xApp reconnects.
    lab.pass(SECOND * 60);
    assert!(ask(&mut lab).is_some() && lab.is_up());
}

#[test]
fn clock_jump_expires_timers_and_delay_slows_messages() {
    let mut lab = lab();
    let now = lab.world.now();
    let agent = lab.agent;
    assert_eq!(lab.delivered_in(SECOND * 5), 0, "no report may arrive before the end of the period");
    lab.world.plan(lab.world.now(), Fault::Jump(agent, PERIOD));
    assert_eq!(lab.delivered_in(MS * 2), 1);
    // Only the clock of the agent moved.
    assert_eq!(lab.world.now(), now + SECOND * 5 + MS * 2);
    let agent_time = lab.world.with_agent(agent, |_, clock| clock).unwrap();
    assert_eq!(agent_time, lab.world.now() + PERIOD);
    lab.world.plan(lab.world.now(), Fault::Delay { party: agent, by: SECOND * 3, lasting: SECOND });
    lab.world.plan(lab.world.now(), Fault::Jump(agent, PERIOD));
    assert_eq!((lab.delivered_in(SECOND * 3), lab.delivered_in(MS * 2)), (0, 1));
    lab.world.plan(lab.world.now(), Fault::Jump(agent, PERIOD));
    assert_eq!(lab.delivered_in(MS * 2), 1, "messages must not be delayed after the fault has ended");
    // After the delay has ended, the clock runs like the others.
    assert_eq!(lab.delivered_in(PERIOD), 1);
    lab.world.plan(lab.world.now(), Fault::Freeze(agent, SECOND));
    lab.pass(MS);
    assert_eq!(lab.world.frozen_until(agent), Some(lab.world.now() + (SECOND - MS)));
}

/// An xApp whose reports are not checked delivers each event to the caller once, and survives faults.
#[test]
fn client_events_are_returned_only_once() {
    let mut lab = lab();
    let client = lab.world.client("client", |_, life| {
        let mut xapp = Xapp::new(XappConfig::new("ric").with(|it| it.seed = life.into()));
        xapp.subscribe_all(OID, trigger(100, 7), vec![ActionToBeSetup::report(0)]).unwrap();
        xapp
    });
    lab.pass(SECOND);
    let events = lab.world.take_heard();
    assert!(events.iter().all(|(party, _)| *party == client));
    assert!(events.iter().any(|(_, event)| matches!(event, XappEvent::Ready { .. })), "{events:?}");
    let reports = |events: &[(PartyId, XappEvent)]| {
        events.iter().filter(|(_, event)| matches!(event, XappEvent::Indication { .. })).count()
    };
    assert!((8..=10).contains(&reports(&events)), "{events:?}");
    assert!(lab.world.take_heard().is_empty());
    assert_eq!(lab.world.look_at_client(client).unwrap().subscriptions().0, 1);
    assert!(lab.world.look_at_client(lab.agent).is_none());
    lab.world.plan(lab.world.now(), Fault::Crash { party: lab.ric, polite: true, away: SECOND });
    lab.pass(SECOND);
    let lost = lab.world.take_heard();
    assert!(lost.iter().any(|(_, event)| matches!(event, XappEvent::Disconnected { .. })), "{lost:?}");
    assert!(reports(&lost) <= 1);
    lab.pass(10 * SECOND);
    assert!(reports(&lab.world.take_heard()) > 20);
}
