//! Random operations of peers: no panic, no leak, and no effect on other peers.
#![cfg(feature = "ric")]
mod ric_world;

use proptest::prelude::*;
use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e42;
use ric_world::*;
use std::time::Duration;

/// One operation of a peer. Numbers are taken modulo the number of existing items.
#[derive(Debug, Clone)]
enum Step {
    ConnectAgent(u32),
    ConnectXapp(bool),
    Disconnect(usize),
    Subscribe {
        xapp: usize,
        gnb: u32,
        request: u16,
        period: u32,
        insert: bool,
    },
    Delete {
        xapp: usize,
        request: u16,
    },
    Control {
        xapp: usize,
        gnb: u32,
        request: u16,
    },
    /// The agent responds to its messages: success, failure, or not at all.
    Answer {
        agent: usize,
        how: u8,
    },
    Indicate {
        agent: usize,
        slot: u16,
    },
    /// An indication of a given agent, with the first request id of the slot.
    IndicateFrom {
        agent: ConnId,
        slot: u16,
    },
    SetUpAgain(usize),
    Reset(usize),
    RicReset(u32),
    Withdraw {
        agent: usize,
        slot: u16,
    },
    Any {
        conn: usize,
        message: usize,
        seed: u64,
    },
    Bytes {
        conn: usize,
        bytes: Vec<u8>,
    },
    /// A valid message with a changed byte, or truncated.
    Mutated {
        conn: usize,
        message: usize,
        seed: u64,
        at: usize,
        to: u8,
        cut: bool,
    },
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let c = 0..8_usize;
    let g = 1..4_u32;
    let r = 1..5_u16;
    prop_oneof![
        3 => g.clone().prop_map(Step::ConnectAgent),
        2 => any::<bool>().prop_map(Step::ConnectXapp),
        2 => c.clone().prop_map(Step::Disconnect),
        8 => (c.clone(), g.clone(), r.clone(), 1..3_u32, prop::bool::weighted(0.1))
            .prop_map(|(xapp, gnb, request, period, insert)| Step::Subscribe { xapp, gnb, request, period, insert }),
        4 => (c.clone(), r.clone()).prop_map(|(xapp, request)| Step::Delete { xapp, request }),
        2 => (c.clone(), g.clone(), r.clone())
            .prop_map(|(xapp, gnb, request)| Step::Control { xapp, gnb, request }),
        8 => (c.clone(), any::<u8>()).prop_map(|(agent, how)| Step::Answer { agent, how }),
        4 => (c.clone(), 0..4_u16).prop_map(|(agent, slot)| Step::Indicate { agent, slot }),
        1 => c.clone().prop_map(Step::SetUpAgain),
        1 => c.clone().prop_map(Step::Reset),
        1 => g.prop_map(Step::RicReset),
        1 => (c.clone(), 0..4_u16).prop_map(|(agent, slot)| Step::Withdraw { agent, slot }),
        2 => (c.clone(), any::<usize>(), any::<u64>())
            .prop_map(|(conn, message, seed)| Step::Any { conn, message, seed }),
        1 => (c.clone(), prop::collection::vec(any::<u8>(), 0..80))
            .prop_map(|(conn, bytes)| Step::Bytes { conn, bytes }),
        2 => (c, any::<usize>(), any::<u64>(), any::<usize>(), any::<u8>(), any::<bool>()).prop_map(
            |(conn, message, seed, at, to, cut)| Step::Mutated { conn, message, seed, at, to, cut }
        ),
        2 => (1..3_000_u64).prop_map(Step::Pass),
    ]
}

struct Play {
    w: World,
    agents: Vec<ConnId>,
    xapps: Vec<(ConnId, u16)>,
}

impl Play {
    fn any_conn(&self, n: usize) -> Option<ConnId> {
        let all: Vec<_> = self.agents.iter().copied().chain(self.xapps.iter().map(|x| x.0)).collect();
        all.get(n % all.len().max(1)).copied()
    }

    fn random(&self, message: usize, seed: u64) -> Option<Vec<u8>> {
        let version = Version::ALL[(seed % 3) as usize];
        let message = Message::random(Message::NAMES[message % Message::NAMES.len()], seed, version)?;
        encode(&message, version).ok()
    }

    fn step(&mut self, step: Step) {
        let w = &mut self.w;
        let agent = |n: usize| self.agents.get(n % self.agents.len().max(1)).copied();
        let xapp = |n: usize| self.xapps.get(n % self.xapps.len().max(1)).copied();
        match step {
            Step::ConnectAgent(gnb) => {
                let conn = w.connect(ListenerProtocol::E2);
                w.send(conn, some_setup(gnb));
                self.agents.push(conn);
            }
            Step::ConnectXapp(events) => {
                let conn = w.connect(ListenerProtocol::E42);
                w.send42(conn, e42_setup(events));
                if let [e42::Message::SetupResponse(r), ..] = &w.got42(conn)[..] {
                    self.xapps.push((conn, r.xapp_id));
                }
            }
            Step::Disconnect(n) => {
                if let Some(conn) = self.any_conn(n) {
                    self.w.disconnect(conn);
                    self.agents.retain(|c| *c != conn);
                    self.xapps.retain(|x| x.0 != conn);
                }
            }
            Step::Subscribe { xapp: n, gnb, request, period, insert } => {
                let Some(x) = xapp(n) else { return };
                let e42::Message::SubscriptionRequest(mut m) = subscribe(x.1, gnb, request, period) else {
                    return;
                };
                if insert {
                    m.details.actions[0].kind = RicActionType::Insert;
                }
                w.send42(x.0, e42::Message::SubscriptionRequest(m));
            }
            Step::Delete { xapp: n, request } => {
                let Some(x) = xapp(n) else { return };
                w.send42(x.0, delete(x.1, request));
            }
            Step::Control { xapp: n, gnb, request } => {
                let Some(x) = xapp(n) else { return };
                w.send42(x.0, control(x.1, gnb, request));
            }
            Step::Answer { agent: n, how } => {
                let Some(conn) = agent(n) else { return };
                for pdu in w.raw(conn) {
                    let Ok((decoded, _)) = decode_upgrading(&pdu, Version::V2_03) else { continue };
                    answer(w, conn, decoded.message, how);
                }
            }
            Step::Indicate { agent: n, slot } => {
                let Some(conn) = agent(n) else { return };
                let id = RicRequestId { requestor: 1021 + slot, instance: 0 };
                w.send(conn, indication(id, 1, 50));
            }
            Step::IndicateFrom { agent, slot } => {
                let id = RicRequestId { requestor: 1021 + slot, instance: 0 };
                w.send(agent, indication(id, 1, 50));
            }
            Step::SetUpAgain(n) => {
                let Some(conn) = agent(n) else { return };
                w.send(conn, some_setup(n as u32 % 3 + 1));
            }
            Step::Reset(n) => {
                let Some(conn) = agent(n) else { return };
                let cause = Cause::Misc(CauseMisc::Unspecified);
                w.send(conn, Message::ResetRequest(ResetRequest { transaction_id: Some(1), cause }));
            }
            Step::RicReset(gnb) => {
                let _ = w.ric.reset_node(w.now, &node(gnb), Cause::Misc(CauseMisc::Unspecified));
                w.pump();
            }
            Step::Withdraw { agent: n, slot } => {
                let Some(conn) = agent(n) else { return };
                let subscriptions = vec![SubscriptionWithCause {
                    request_id: RicRequestId { requestor: 1021 + slot, instance: 0 },
                    function_id: 142,
                    cause: Cause::Misc(CauseMisc::Unspecified),
                }];
                let m = RicSubscriptionDeleteRequired { subscriptions };
                w.send(conn, Message::RicSubscriptionDeleteRequired(m));
            }
            Step::Any { conn, message, seed } => {
                let (Some(conn), Some(bytes)) = (self.any_conn(conn), self.random(message, seed)) else {
                    return;
                };
                self.w.send_bytes(conn, bytes);
            }
            Step::Bytes { conn, bytes } => {
                let Some(conn) = self.any_conn(conn) else { return };
                self.w.send_bytes(conn, bytes);
            }
            Step::Mutated { conn, message, seed, at, to, cut } => {
                let (Some(conn), Some(mut bytes)) = (self.any_conn(conn), self.random(message, seed)) else {
                    return;
                };
                let at = at % bytes.len();
                bytes[at] = to;
                if cut {
                    bytes.truncate(at);
                }
                self.w.send_bytes(conn, bytes);
            }
            Step::Pass(ms) => w.pass(Duration::from_millis(ms)),
        }
    }
}

/// Returns the setup of one of two ranlab nodes, or of a third-party one.
fn some_setup(gnb: u32) -> Message {
    match gnb {
        3 => Message::E2SetupRequest(third_party_setup(node(3))),
        _ => setup_request(gnb),
    }
}

fn answer(w: &mut World, conn: ConnId, message: Message, how: u8) {
    let cause = Cause::Misc(CauseMisc::Unspecified);
    let reply = match (message, how % 4) {
        (Message::RicSubscriptionRequest(r), 0 | 1) => admitted(r.request_id),
        (Message::RicSubscriptionRequest(r), 2) => Message::RicSubscriptionFailure(RicSubscriptionFailure {
            request_id: r.request_id,
            function_id: 142,
            not_admitted: None,
            cause: Some(cause),
            diagnostics: None,
        }),
        (Message::RicSubscriptionDeleteRequest(r), 0 | 1) => deleted(r.request_id),
        (Message::RicSubscriptionDeleteRequest(r), 2) => {
            Message::RicSubscriptionDeleteFailure(RicSubscriptionDeleteFailure {
                request_id: r.request_id,
                function_id: 142,
                cause,
                diagnostics: None,
            })
        }
        (Message::RicControlRequest(r), 0..=2) => Message::RicControlFailure(RicControlFailure {
            request_id: r.request_id,
            function_id: 142,
            call_process_id: None,
            cause,
            outcome: None,
            diagnostics: None,
        }),
        (Message::ResetRequest(r), 0..=2) => {
            Message::ResetResponse(ResetResponse { transaction_id: r.transaction_id, diagnostics: None })
        }
        _ => return,
    };
    w.send(conn, reply);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_leak_nothing_and_affect_no_bystander(steps in prop::collection::vec(step(), 1..120)) {
        let mut w = World::new();
        let agent = w.agent(99);
        let xapp = w.xapp();
        let id = w.subscribed(xapp, agent, 99, 1);
        let mut play = Play { w, agents: Vec::new(), xapps: Vec::new() };
        for (sn, step) in steps.into_iter().enumerate() {
            play.step(step);
            play.w.assert_no_leak();
            play.w.send(agent, indication(id, sn as u16, 20));
            let got = play.w.got42(xapp.0);
            let expected = e42::Message::E2(indication(rid(1), sn as u16, 20));
            prop_assert_eq!(got, vec![expected]);
            prop_assert!(play.w.got(agent).is_empty());
        }
        // When all peers have left and time has passed, only the bystanders remain.
        for conn in play.agents.into_iter().chain(play.xapps.into_iter().map(|x| x.0)) {
            play.w.disconnect(conn);
        }
        play.w.pass(Duration::from_secs(700));
        let snapshot = play.w.ric.snapshot();
        prop_assert_eq!((snapshot.nodes.len(), snapshot.xapps.len(), snapshot.connections.len()), (1, 1, 2));
        prop_assert_eq!(snapshot.nodes[0].subscriptions.len(), 1);
        prop_assert!(play.w.ric.wake_at().is_none());
    }

    /// With and without the fast path, every receiver gets the same messages in the same order, the same indications
    /// are dropped for a stalled receiver, and the same events are emitted.
    #[test]
    fn fast_path_and_state_machine_behave_equally(steps in prop::collection::vec((step(), prop::bool::weighted(0.1)), 1..80)) {
        let mut bystander = None;
        let mut plays = [World::new(), World::with_bypass()].map(|mut w| {
            let agent = w.agent(99);
            let xapp = w.xapp();
            bystander = Some((agent, w.subscribed(xapp, agent, 99, 1)));
            let agents = vec![w.agent(1)];
            let xapps = vec![w.xapp()];
            w.subscribed(xapps[0], agents[0], 1, 1);
            Play { w, agents, xapps }
        });
        let Some((agent, id)) = bystander else { return Ok(()) };
        for (step, turns) in steps {
            for play in &mut plays {
                play.step(step.clone());
                play.w.send(agent, indication(id, 7, 20));
                // Each agent sends a report for each of its subscriptions, regardless of their state.
                for agent in play.agents.clone() {
                    (0..3).for_each(|slot| play.step(Step::IndicateFrom { agent, slot }));
                }
                // An xApp stops reading or resumes.
                if let Some((xapp, _)) = play.xapps.first().copied().filter(|_| turns) {
                    match play.w.deaf.iter().position(|deaf| *deaf == xapp) {
                        None => play.w.deaf.push(xapp),
                        Some(at) => {
                            play.w.deaf.remove(at);
                            play.w.take(xapp);
                        }
                    }
                }
            }
            let [through, past] = &plays;
            prop_assert_eq!(&through.w.inbox, &past.w.inbox, "after {:?}", step);
            prop_assert_eq!(&through.w.closed, &past.w.closed);
            prop_assert_eq!(&through.w.events, &past.w.events);
            let state = |play: &Play| format!("{:?}", play.w.ric.snapshot());
            prop_assert_eq!(state(through), state(past), "after {:?}", step);
        }
        prop_assert!(plays[1].w.beside.as_ref().is_some_and(|beside| beside.passed > 0));
    }
}
