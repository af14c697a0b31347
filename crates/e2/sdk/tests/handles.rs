//! Guarantees of the handles: addresses fail immediately with a reason, responses are awaited, and event streams are
//! complete.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests

mod lab;

use lab::{agent, encoded, within_patience};
use ranlab_sdk::e2::LinkLoss;
use ranlab_sdk::e2::agent::DisconnectReason as AgentReason;
use ranlab_sdk::e2::effect::Change;
use ranlab_sdk::e2::ric::{ListenerProtocol, RicConfig, RicEvent};
use ranlab_sdk::e2::xapp::{DisconnectReason, Failure, SubscribeError, XappConfig, XappEvent};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, Cause, GlobalE2NodeId};
use ranlab_sdk::wire::e2sm::SmError;
use ranlab_sdk::wire::e2sm::hw::{self, Hw, HwPeriodic, HwTrigger, Ping};
use ranlab_sdk::{
    AgentConnectError, AgentHandle, Bytes, ControlFailure, DurationExt, EffectFailure, EffectQuery,
    RicHandle, SubscriptionError, TypedSubscribe, WantedError, XappConnectError, XappHandle,
};
use std::time::Duration;

/// Returns a RIC, an agent that it has accepted, and an xApp that knows the agent.
async fn network(name: &str) -> (RicHandle, AgentHandle, XappHandle, GlobalE2NodeId) {
    network_with(name, |_| ()).await
}

/// Returns a [`network`] with an xApp configured by `set`.
async fn network_with(
    name: &str,
    set: impl FnOnce(&mut XappConfig),
) -> (RicHandle, AgentHandle, XappHandle, GlobalE2NodeId) {
    let options = SocketOptions::default;
    let address = |side: &str| -> Address { format!("mem://{name}-{side}").parse().unwrap() };
    let ric = RicHandle::start(RicConfig::default(), options());
    ric.listen(ListenerProtocol::E2, &address("e2"), |_| true).await.unwrap();
    ric.listen(ListenerProtocol::E42, &address("e42"), |_| true).await.unwrap();
    let agent = AgentHandle::start(agent(), options());
    agent.connect(&address("e2")).await.unwrap();
    let config = XappConfig::new(address("e42").to_string()).with(set);
    let xapp = XappHandle::connect(config, options()).await.unwrap();
    loop {
        if let XappEvent::NodeAdded { node } = xapp.next().await {
            return (ric, agent, xapp, node);
        }
    }
}

#[test]
fn wrong_address_is_reported_immediately() {
    within_patience(async {
        let options = SocketOptions::default;
        let connect = |address: &str| XappHandle::connect(XappConfig::new(address), options());
        let error = connect("tpc://127.0.0.1:36422").await.err().unwrap();
        assert!(matches!(error, XappConnectError::Address(_)), "{error}");
        assert!(error.to_string().contains("tcp://host:port"), "{error}");
        let error = connect("mem://nobody-is-here").await.err().unwrap();
        let XappConnectError::Unreachable(DisconnectReason::Lost(LinkLoss::NotConnected(why))) = &error
        else {
            panic!("{error}");
        };
        assert_eq!(why, "no program listens at mem://nobody-is-here");

        // An xApp that keeps trying reports the reason of each failed attempt, including a malformed address.
        let stubborn = XappHandle::start(XappConfig::new("127.0.0.1:36422"), options());
        for _ in 0..2 {
            let event = stubborn.next().await;
            let XappEvent::Disconnected { why: DisconnectReason::Lost(why), .. } = event else { panic!() };
            assert!(matches!(why, LinkLoss::BadAddress(_)), "{why}");
        }

        let agent = AgentHandle::start(agent(), options());
        let error = agent.connect(&"mem://nobody-is-here".parse().unwrap()).await.unwrap_err();
        let AgentConnectError::Unreachable(AgentReason::Lost(why)) = error else { panic!("{error}") };
        assert!(matches!(why, LinkLoss::NotConnected(_)), "{why}");
        assert_eq!(
            agent.read(|agent| agent.controllers().count()),
            0,
            "a controller that cannot be reached must be removed, so that there is no second attempt"
        );
    });
}

#[test]
fn disconnect_event_has_reason() {
    within_patience(async {
        let (ric, agent, xapp, _) = network("why").await;
        drop(ric);
        let why = loop {
            if let XappEvent::Disconnected { why, .. } = xapp.next().await {
                break why;
            }
        };
        assert_eq!(why, DisconnectReason::Lost(LinkLoss::ClosedByPeer));
        drop(agent);
    });
}

#[test]
fn responses_arrive_despite_unread_indications() {
    within_patience(async {
        let (_ric, _agent, xapp, node) = network("outcomes").await;
        let flood = HwTrigger::Periodic(HwPeriodic { period_ms: 1, payload_size: 5 });
        let report = || vec![ActionToBeSetup::report(0)];
        let first = xapp.subscribe(node, hw::OID, encoded(&flood), report()).await.unwrap();
        assert!(first.not_admitted.is_empty());
        // The number of unread indications reaches the limit at which reading stops. A response arrives behind them.
        while xapp.read(|xapp| xapp.counters().indications) < 64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let message = encoded(&Ping { seq: 1, t_send_ns: 0, payload: Bytes::from_static(b"x") });
        xapp.control(node, hw::OID, Bytes::new(), message).await.unwrap();
        let second = xapp.subscribe(node, hw::OID, encoded(&HwTrigger::OnControl), report()).await.unwrap();
        assert_ne!(first.handle, second.handle);

        let refused = xapp.control(node, hw::OID, Bytes::new(), Bytes::from_static(b"no ping")).await;
        let Err(ControlFailure::Failed { failure: Failure::Cause(Cause::RicRequest(_)), .. }) = refused
        else {
            panic!("{refused:?}");
        };
        let refused = xapp.subscribe(node, hw::OID, Bytes::from_static(b"no trigger"), report()).await;
        let Err(SubscriptionError::Failed { failure: Failure::Cause(_), .. }) = refused else {
            panic!("{refused:?}");
        };
        let unknown = xapp.control(node, "1.2.3", Bytes::new(), Bytes::new()).await.unwrap_err();
        assert_eq!(unknown.to_string(), "the node offers no such RAN function");
        // A response returned to a caller is not delivered as an event as well. Unread events are still available.
        while let Some(event) = xapp.try_next() {
            assert!(matches!(event, XappEvent::Indication { .. }), "{event:?}");
        }
        assert_eq!(xapp.leave(lab::PATIENCE).await, 0);
    });
}

#[test]
fn idle_xapp_gets_response_to_each_request() {
    const TIME_OUT: Duration = Duration::from_millis(400);
    const IDLE: Duration = Duration::from_millis(1_000);
    within_patience(async {
        let (_ric, _agent, xapp, node) =
            network_with("idle", |config| config.timers.request_timeout = TIME_OUT).await;
        tokio::time::sleep(IDLE).await;
        let message = encoded(&Ping { seq: 1, t_send_ns: 0, payload: Bytes::from_static(b"x") });
        xapp.control(node, hw::OID, Bytes::new(), message).await.unwrap();
        tokio::time::sleep(IDLE).await;
        let trigger = encoded(&HwTrigger::OnControl);
        let report = vec![ActionToBeSetup::report(0)];
        xapp.subscribe(node, hw::OID, trigger, report).await.unwrap();
        tokio::time::sleep(IDLE).await;
        assert_eq!(xapp.leave(lab::PATIENCE).await, 0);
    });
}

/// The connection closes while the request is written, so the failure is among the first events that follow.
#[test]
fn request_that_fails_during_send_returns_to_caller() {
    within_patience(async {
        let (_ric, _agent, xapp, node) =
            network_with("outbox", |config| config.limits.outbox.control_bytes = 1_024).await;
        let message = Bytes::from(vec![0; 4_096]);
        let failed = xapp.control(node, hw::OID, Bytes::new(), message).await;
        let Err(ControlFailure::Failed { failure: Failure::Disconnected, .. }) = failed else {
            panic!("{failed:?}");
        };
    });
}

#[test]
fn decoded_reports_reach_only_their_handle() {
    within_patience(async {
        let (_ric, _agent, xapp, node) = network("typed").await;
        let mut pings = xapp.subscribe_all(Hw::every(5.ms())).unwrap();
        let mut echoes = xapp.subscribe_all(Hw::when(HwTrigger::OnControl)).unwrap();
        for seq in 0..200 {
            let ping = pings.next().await.unwrap();
            assert_eq!((ping.node, ping.message.seq, ping.sn), (node, seq, Some(seq as u16)));
        }
        // Reports dropped by the application neither stop the reading nor become events.
        drop(pings);
        let sent = Ping { seq: 4_711, t_send_ns: 1, payload: Bytes::from_static(b"payload") };
        assert_eq!(xapp.control_model::<Hw>(node, &(), &sent).await, Ok(None));
        assert_eq!(echoes.next().await.unwrap().message, sent);
        while xapp.read(|xapp| xapp.subscriptions().1) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while let Some(event) = xapp.try_next() {
            assert!(!matches!(event, XappEvent::Indication { .. }), "{event:?}");
        }
        let never = xapp.subscribe_all(Hw::every(Duration::from_secs(4_000))).err().unwrap();
        assert!(matches!(never, WantedError::Model(SmError::Period { .. })), "{never}");
    });
}

#[test]
fn every_listener_of_ric_gets_every_event() {
    within_patience(async {
        let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
        let place: Address = "mem://listeners-e2".parse().unwrap();
        ric.listen(ListenerProtocol::E2, &place, |_| true).await.unwrap();
        let mut one = ric.events();
        let mut other = ric.events();
        let agent = AgentHandle::start(agent(), SocketOptions::default());
        agent.connect(&place).await.unwrap();
        for listener in [&mut one, &mut other] {
            assert!(matches!(listener.next().await, Some(RicEvent::NodeConnected { .. })));
            assert_eq!(listener.lagged(), 0);
        }
        assert!(matches!(ric.next().await, RicEvent::NodeConnected { .. }));
        drop((ric, agent));
        while one.next().await.is_some() {}
    });
}

#[test]
fn effect_of_control_is_measured_without_remaining_subscriptions() {
    within_patience(async {
        let (_ric, _agent, xapp, node) = network("effect").await;
        let watch = |model: &str, kpis: &[&str]| EffectQuery {
            model: model.parse().unwrap(),
            kpis: kpis.iter().map(|kpi| (*kpi).to_owned()).collect(),
            periods: 3,
            period: 20.ms(),
            slices: Vec::new(),
        };
        let ping = encoded(&Ping { seq: 1, t_send_ns: 0, payload: Bytes::from_static(b"x") });
        let act = |message: Bytes, watch: EffectQuery| {
            let xapp = xapp.clone();
            async move { xapp.control_with_effect(node, hw::OID, Bytes::new(), message, &watch).await }
        };
        let result = act(ping.clone(), watch("hw", &["seq", "payload_bytes"])).await.unwrap();
        let totals = |it: &Change| (it.name.clone(), it.total.before, it.total.after);
        let totals: Vec<_> = result.changes.iter().map(totals).collect();
        // Reports count from zero, one per period.
        let expected =
            [("seq".to_owned(), Some(1.0), Some(1.0)), ("payload_bytes".to_owned(), Some(0.0), Some(0.0))];
        assert_eq!(totals, expected);

        let result = act(Bytes::from_static(b"no ping"), watch("hw", &["seq"])).await.unwrap_err();
        assert!(matches!(result, EffectFailure::Control(ControlFailure::Failed { .. })), "{result}");
        let result = act(ping.clone(), watch("mac", &["wb_cqi"])).await.unwrap_err();
        assert_eq!(result, SubscriptionError::from(SubscribeError::UnknownFunction).into());
        let result = act(ping, watch("hw", &["speed"])).await.unwrap_err();
        assert!(matches!(result, EffectFailure::Kpis(_)), "{result}");
        while xapp.read(|xapp| xapp.subscriptions().1) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while let Some(event) = xapp.try_next() {
            assert!(!matches!(event, XappEvent::Indication { .. }), "{event:?}");
        }
    });
}
