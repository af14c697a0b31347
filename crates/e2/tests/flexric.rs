//! Our RIC, agent and xApp beside models of FlexRIC's: none of them ends, and all do their work.
#![cfg(all(feature = "agent", feature = "ric", feature = "xapp"))]
#![allow(clippy::unwrap_used)]
mod flexric_models;
mod ric_world;

use flexric_models as flexric;
use ranlab_e2::ric::*;
use ranlab_wire::e2ap::*;
use ranlab_wire::e42;
use ric_world::*;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A model of FlexRIC's agent at our RIC.
struct Stranger {
    conn: ConnId,
    agent: flexric::Agent,
}

impl Stranger {
    fn connect(w: &mut World, gnb: u32) -> Self {
        let conn = w.connect(Side::E2);
        w.send(conn, Message::E2SetupRequest(stranger(node(gnb))));
        Self { conn, agent: flexric::Agent::default() }
    }

    /// Set up, and its pause over.
    fn up(w: &mut World, gnb: u32) -> Self {
        let mut stranger = Self::connect(w, gnb);
        stranger.run(w, 100 * MS);
        assert!(stranger.agent.set_up);
        stranger
    }

    /// Reads and answers for a while; what the RIC sends at one instant is one burst.
    fn run(&mut self, w: &mut World, time: Duration) {
        let end = w.now + time;
        loop {
            while let Some(answer) = self.agent.burst(w.raw(self.conn)) {
                w.send(self.conn, answer);
            }
            if !w.raw_is_empty(self.conn) {
                continue;
            }
            if w.now >= end {
                return;
            }
            w.pass(MS);
        }
    }

    fn indicate(&mut self, w: &mut World) {
        self.agent.indications().into_iter().for_each(|i| w.send(self.conn, i));
    }
}

#[test]
fn an_agent_that_reads_once_per_edge_gets_all_of_a_burst_once() {
    let mut w = World::new();
    let mut agent = Stranger::up(&mut w, 1);
    let xapp = w.xapp();
    for request in 1..=6 {
        w.send42(xapp.0, subscribe(xapp.1, 1, request, 10 + u32::from(request)));
    }
    for request in 7..=9 {
        w.send42(xapp.0, control(xapp.1, 1, request));
    }
    agent.run(&mut w, 10_000 * MS);
    let mut requests: Vec<_> = agent.agent.timers.iter().map(|t| t.0).collect();
    requests.sort();
    requests.dedup();
    assert_eq!((agent.agent.timers.len(), requests.len(), agent.agent.controls), (6, 6, 3));
    assert_eq!(agent.agent.socket.unread(), 0);
    let answers = w.got42(xapp.0);
    assert_eq!(answers.len(), 9, "{answers:?}");
    assert_eq!(w.ric.counters().subscription_retries, 0);
    // The xApp goes: its deletions wait for each other, too.
    w.disconnect(xapp.0);
    agent.run(&mut w, 10_000 * MS);
    assert!(agent.agent.timers.is_empty() && w.node(1).subscriptions.is_empty());
}

#[test]
fn what_is_restored_waits_until_the_setups_answer_is_read() {
    let mut w = World::new();
    let mut agent = Stranger::up(&mut w, 1);
    let xapp = w.xapp();
    for request in 1..=3 {
        w.send42(xapp.0, subscribe(xapp.1, 1, request, 10 + u32::from(request)));
    }
    agent.run(&mut w, 100 * MS);
    w.disconnect(agent.conn);
    let mut again = Stranger::up(&mut w, 1);
    again.run(&mut w, 100 * MS);
    assert_eq!((again.agent.timers.len(), again.agent.socket.unread()), (3, 0));
    assert!(w.node(1).subscriptions.iter().all(|s| s.state == "active"));
}

#[test]
fn a_request_that_was_not_answered_is_not_repeated_but_made_anew() {
    let mut w = World::new();
    let agent = Stranger::up(&mut w, 1);
    let xapp = w.xapp();
    w.send42(xapp.0, subscribe(xapp.1, 1, 1, 10));
    // It reads all, and answers nothing for 3 s.
    w.pass(3_000 * MS);
    let got = w.got(agent.conn);
    let [Message::RicSubscriptionRequest(r), Message::RicSubscriptionDeleteRequest(d)] = &got[..] else {
        panic!("{got:?}")
    };
    assert_eq!(r.request_id, d.request_id);
    // An answer that comes late changes nothing; that of the deletion does.
    w.send(agent.conn, admitted(r.request_id));
    assert!(w.got(agent.conn).is_empty());
    w.send(agent.conn, deleted(r.request_id));
    let got = w.got(agent.conn);
    let [Message::RicSubscriptionRequest(second)] = &got[..] else { panic!("{got:?}") };
    assert_ne!(second.request_id, r.request_id);
    w.send(agent.conn, admitted(second.request_id));
    assert!(matches!(w.got42(xapp.0)[..], [e42::Message::E2(Message::RicSubscriptionResponse(_))]));
    w.send(agent.conn, indication(second.request_id, 1, 10));
    assert_eq!(w.got42(xapp.0).len(), 1);
    w.assert_no_leak();
}

#[test]
fn strays_are_deleted_one_after_the_other_and_nobody_complains() {
    let mut w = World::new();
    let mut agent = Stranger::up(&mut w, 1);
    // What an earlier RIC left there.
    agent.agent.timers = (0..20).map(|n| (rid(2_000 + n), 142)).collect();
    for _ in 0..10 {
        agent.indicate(&mut w);
        agent.run(&mut w, 100 * MS);
    }
    assert!(agent.agent.timers.is_empty(), "{:?}", agent.agent.timers);
    assert_eq!((agent.agent.socket.unread(), w.ric.counters().strays_deleted), (0, 20));
    assert!(!w.closed.contains_key(&agent.conn));
}

#[test]
fn a_stray_that_nobody_ends_is_not_asked_about_without_end() {
    let mut w = World::new();
    let agent = Stranger::up(&mut w, 1);
    for _ in 0..1_000 {
        w.send(agent.conn, indication(rid(2_000), 1, 10));
        w.pass(MS);
    }
    assert_eq!(w.got(agent.conn).len(), 1);
    assert_eq!(w.ric.counters().indications_stray, 1_000);
}

#[test]
fn indications_before_the_setup_wait_for_the_handshakes_timer() {
    let mut w = World::new();
    let conn = w.connect(Side::E2);
    for n in 0..100 {
        w.send(conn, indication(rid(1_021), n, 100));
        w.pass(10 * MS);
    }
    assert!(w.got(conn).is_empty() && !w.closed.contains_key(&conn));
    assert_eq!(w.ric.counters().indications_early, 100);
    w.pass(RicTimers::default().handshake);
    assert!(w.closed.contains_key(&conn));
    // One that notices in time is set up.
    let agent = w.connect(Side::E2);
    w.send(agent, indication(rid(1_021), 1, 100));
    w.send(agent, Message::E2SetupRequest(stranger(node(1))));
    assert!(matches!(w.got(agent)[..], [Message::E2SetupResponse(_)]));
}

#[test]
fn who_errs_and_comes_back_at_once_makes_no_storm() {
    let mut w = World::new();
    let told = u64::from(Limits::default().faults_per_second);
    for _ in 0..500 {
        let conn = w.connect_from(Side::E2, "192.0.2.1");
        w.send_bytes(conn, vec![0xff; 64]);
        assert!(w.closed.contains_key(&conn));
    }
    let faults = |w: &World| w.events.iter().filter(|e| matches!(e, RicEvent::Fault { .. })).count() as u64;
    assert_eq!((faults(&w), w.ric.counters().faults_hushed), (told, 500 - told));
    // Somebody else is told, and so is the same one a second later.
    for (host, wait) in [("192.0.2.2", 0), ("192.0.2.1", 1_000)] {
        w.pass(wait * MS);
        let conn = w.connect_from(Side::E2, host);
        w.send_bytes(conn, vec![0xff; 64]);
        assert!(matches!(w.got(conn)[..], [Message::ErrorIndication(_)]));
    }
}

#[test]
fn a_stock_xapp_meets_no_empty_component_whoever_the_node_is() {
    let mut w = World::new();
    w.connect_v1(2);
    Stranger::up(&mut w, 1);
    let conn = w.connect(Side::E42);
    w.send42(conn, e42_setup(false));
    let mut xapp = flexric::Xapp::default();
    w.got42(conn).into_iter().for_each(|m| xapp.take(m));
    assert_eq!(xapp.nodes, 2);
}

#[test]
fn an_end_is_told_only_to_an_xapp_that_asked_for_events() {
    for asked in [false, true] {
        let mut w = World::new();
        let agent = w.agent(1);
        let (stock, ours) = (w.xapp(), w.xapp_that(asked));
        let request_id = w.subscribed(stock, agent, 1, 1);
        w.send42(ours.0, subscribe(ours.1, 1, 1, 10));
        w.got42(ours.0);
        let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
        let subscriptions = vec![SubscriptionWithCause { request_id, function_id: 142, cause }];
        w.send(
            agent,
            Message::RicSubscriptionDeleteRequired(RicSubscriptionDeleteRequired { subscriptions }),
        );
        let mut xapp = flexric::Xapp::default();
        w.got42(stock.0).into_iter().for_each(|m| xapp.take(m));
        assert_eq!(w.got42(ours.0).len(), usize::from(asked));
        assert!(w.ric.snapshot().xapps.iter().all(|x| x.subscriptions.is_empty()));
    }
}
