//! Guarantees of the handles for any thread: cancellation, end of the thread, limits.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests

mod lab;

use lab::{PATIENCE, encoded};
use ranlab_sdk::e2::functions::hw::Hw as HwFunction;
use ranlab_sdk::prelude::*;
use ranlab_sdk::wire::e2ap::ActionToBeSetup;
use ranlab_sdk::wire::e2sm::hw::{self, Hw, HwPeriodic, HwTrigger, Ping};
use ranlab_sdk::{
    Actor, Closed, FindNodeError, REQUESTS_MAX, RequestError, StartError, SubscriptionError, XappConnectError,
};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

struct Network {
    ric: Ric,
    agent: Agent,
    xapp: Xapp,
    node: GlobalE2NodeId,
}

async fn network() -> Network {
    let any: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let ric = Ric::start(RicConfig::default(), SocketOptions::default()).await.unwrap();
    let e2 = ric.listen(ListenerProtocol::E2, &any).await.unwrap();
    let e42 = ric.listen(ListenerProtocol::E42, &any).await.unwrap();
    let identity = NodeIdentity::gnb(Plmn::new(505, 1, 2), 7).build().unwrap();
    let agent = Agent::builder(identity)
        .component(ComponentConfigItem::ng("amf"))
        .function(hw::DEFAULT_FUNCTION_ID, HwFunction::new());
    let agent = agent.start().await.unwrap();
    agent.connect(&e2).await.unwrap();
    let xapp = Xapp::connect(e42.to_string()).await.unwrap();
    let node = xapp.node_with(hw::OID).await.unwrap();
    Network { ric, agent, xapp, node }
}

fn within_patience(story: impl Future<Output = ()> + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // The future is spawned, so it must be `Send`.
    let story = async move { tokio::spawn(async move { timeout(PATIENCE, story).await }).await };
    runtime.block_on(story).unwrap().expect("the test timed out");
}

/// Waits until a condition is true. This is a macro, because futures of asynchronous closures are not always `Send`.
macro_rules! until {
    ($holds:expr) => {
        while !$holds {
            sleep(Duration::from_millis(2)).await;
        }
    };
}

fn every_5_ms() -> HwTrigger {
    HwTrigger::Periodic(HwPeriodic { period_ms: 5, payload_size: 5 })
}

#[test]
fn cloned_handles_work_in_tasks_of_several_threads() {
    within_patience(async {
        let Network { xapp, node, ric, agent } = network().await;
        let tasks: Vec<_> = (0..8)
            .map(|seq| {
                let xapp = xapp.clone();
                tokio::spawn(async move {
                    let echoes = xapp.subscribe_all(Hw::when(HwTrigger::OnControl)).await.unwrap();
                    until!(xapp.read(|xapp| xapp.subscriptions().1).await.unwrap() == 8);
                    let ping = Ping { seq, t_send_ns: 0, payload: Bytes::from_static(b"x") };
                    assert_eq!(xapp.control_model::<Hw>(node, &(), &ping).await, Ok(None));
                    let echo = echoes.next().await.unwrap().unwrap();
                    // The subscription is kept until all tasks have subscribed. Otherwise the other tasks would never
                    // see eight subscriptions.
                    (echo.node, echoes)
                })
            })
            .collect();
        let mut open = Vec::new();
        for task in tasks {
            let (from, echoes) = task.await.unwrap();
            assert_eq!(from, node);
            open.push(echoes);
        }
        drop(open);
        until!(xapp.read(|xapp| xapp.subscriptions().1).await.unwrap() == 0);
        assert_eq!(ric.read(|ric| ric.counters().setups).await, Ok(1));
        assert_eq!(agent.read(|agent| agent.counters().controls).await, Ok(8));
    });
}

#[test]
fn dropped_call_ends_subscription_and_frees_its_slot() {
    within_patience(async {
        let Network { ric: _ric, agent: _agent, xapp, node } = network().await;
        let absent = NodeIdentity::gnb(Plmn::new(505, 1, 2), 8).build().unwrap();
        let trigger = encoded(&every_5_ms());
        let request = |at| ReportRequest::encoded(hw::DEFAULT_FUNCTION_ID, trigger.clone()).at(at);
        // There are more calls than may be pending at a time, so each dropped call must free its slot.
        for _ in 0..REQUESTS_MAX + 1 {
            let pending = xapp.request(request(absent));
            assert!(
                timeout(Duration::ZERO, pending).await.is_err(),
                "a request to an absent node must stay pending"
            );
        }
        let reports = xapp.request(request(node)).await.unwrap();
        assert_eq!(reports.next().await.unwrap().node, node);
        until!(xapp.read(|xapp| xapp.subscriptions().1).await.unwrap() == 1);
        drop(reports);
        until!(xapp.read(|xapp| xapp.subscriptions().1).await.unwrap() == 0);
    });
}

#[test]
fn thread_ends_with_last_handle_and_deletes_subscriptions() {
    within_patience(async {
        let Network { ric, agent, xapp, .. } = network().await;
        let mut events = xapp.events();
        let reports = xapp.subscribe(&Hw, 5.ms()).await.unwrap();
        let other = xapp.clone();
        drop(xapp);
        assert!(reports.next().await.is_some());
        drop(other);
        assert!(reports.next().await.is_some(), "the subscription must keep the xApp alive");
        assert_eq!(agent.read(|agent| agent.subscriptions()).await, Ok(1));
        drop(reports);
        while events.next().await.is_some() {}
        assert_eq!(agent.read(|agent| agent.subscriptions()).await, Ok(0));
        drop(ric);
    });
}

#[test]
fn close_ends_pending_calls_and_streams() {
    within_patience(async {
        let Network { ric: _ric, agent, xapp, .. } = network().await;
        let reports = xapp.subscribe(&Hw, 5.ms()).await.unwrap();
        let absent = NodeIdentity::gnb(Plmn::new(505, 1, 2), 8).build().unwrap();
        let request = ReportRequest::every(&Hw, 5.ms()).at(absent);
        let pending = tokio::spawn({
            let xapp = xapp.clone();
            async move { xapp.request(request).await.err() }
        });
        until!(xapp.read(|xapp| xapp.subscriptions().1).await.unwrap() == 2);
        xapp.close().await;
        xapp.close().await;
        let ended = pending.await.unwrap();
        assert_eq!(ended, Some(RequestError::Subscription(SubscriptionError::Ended)));
        while reports.next().await.is_some() {}
        assert!(reports.is_over());
        assert_eq!(xapp.nodes().await, Err(Closed));
        assert!(xapp.events().next().await.is_none());
        until!(agent.read(|agent| agent.subscriptions()).await.unwrap() == 0);
    });
}

#[test]
fn slow_reader_delays_no_other_request() {
    within_patience(async {
        let Network { ric: _ric, agent: _agent, xapp, node } = network().await;
        let unread = xapp.subscribe(&Hw, 1.ms()).await.unwrap();
        // The number of unread indications is far above the limit at which a local handle stops reading.
        until!(unread.counts().waiting > 300);
        let ping = Ping { seq: 1, t_send_ns: 0, payload: Bytes::from_static(b"x") };
        assert_eq!(xapp.control_model::<Hw>(node, &(), &ping).await, Ok(None));
        let item = unread.next().await.unwrap();
        assert_eq!(item.indication.sn, Some(0));
        assert_eq!(unread.table(&item).unwrap().unwrap().rows().count(), 1);
        assert_eq!(unread.counts().dropped, 0);
    });
}

#[test]
fn refusals_keep_their_reason() {
    within_patience(async {
        let Network { ric: _ric, agent: _agent, xapp, node } = network().await;
        let request = ReportRequest::encoded(hw::OID, Bytes::from_static(b"no trigger")).at(node);
        let refused = xapp.request(request).await.err().unwrap();
        let RequestError::Subscription(SubscriptionError::Failed { .. }) = refused else {
            panic!("{refused:?}");
        };
        until!(xapp.read(|xapp| xapp.subscriptions().1).await.unwrap() == 0);
        let two = vec![ActionToBeSetup::report(0), ActionToBeSetup::report(1)];
        let request = ReportRequest::every(&Hw, 5.ms()).actions(two).at(node);
        assert!(xapp.request(request).await.is_ok());
        let unknown = xapp.node("gnb 1.1 1").await.unwrap_err();
        assert!(matches!(unknown, FindNodeError::Unknown { nodes, .. } if nodes == [node]));
        let refused = Xapp::connect("tpc://127.0.0.1:1").await.err().unwrap();
        assert!(matches!(refused, StartError::Failed(XappConnectError::Address(_))), "{refused}");
    });
}

#[test]
fn requests_of_an_actor_are_limited() {
    within_patience(async {
        let running = Arc::new(AtomicUsize::new(0));
        let actor = Actor::start("limited", || async { Ok::<_, Closed>(()) }, async |_: Rc<()>| ());
        let actor = actor.await.unwrap();
        let calls: Vec<_> = (0..REQUESTS_MAX + 10)
            .map(|_| {
                let running = Arc::clone(&running);
                let actor = actor.clone();
                tokio::spawn(async move {
                    let act = async move |_: Rc<()>| {
                        running.fetch_add(1, Ordering::SeqCst);
                        std::future::pending::<()>().await;
                    };
                    actor.call(act).await
                })
            })
            .collect();
        until!(running.load(Ordering::SeqCst) == REQUESTS_MAX);
        assert_eq!(actor.with(|_| 5).await, Ok(5), "functions without waiting must not count as requests");
        actor.close().await;
        for call in calls {
            assert_eq!(call.await.unwrap(), Err(Closed));
        }
        assert_eq!(running.load(Ordering::SeqCst), REQUESTS_MAX);
    });
}

#[test]
fn thread_ends_if_start_call_is_dropped() {
    within_patience(async {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let make = move || async move {
            let _held = held;
            std::future::pending::<Result<(), Closed>>().await
        };
        let started = timeout(Duration::from_millis(1), Actor::start("never", make, async |_: Rc<()>| ()));
        assert!(started.await.is_err());
        until!(Arc::strong_count(&alive) == 1);
    });
}
