//! Modification of an iApp's own subscription (v3.01): success, refusal, timeout, disconnect.
#![cfg(feature = "ric")]
#![allow(clippy::unwrap_used)] // in a test a panic is the report
mod ric_world;

use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ric_world::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// iApp that subscribes to each node, and modifies its subscription on a northbound request.
struct Changer {
    change: SubscriptionChange,
    subscription: Option<SubscriptionHandle>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl IApp for Changer {
    fn name(&self) -> &str {
        "changer"
    }
    fn handle(&mut self, _now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(n) => self.subscription = Some(out.subscribe(n.id, 142, details(10))),
            IAppInput::Northbound(_) => out.modify(self.subscription.unwrap(), self.change.clone()),
            IAppInput::SubscriptionModified { subscription, outcome } => {
                assert_eq!(Some(subscription), self.subscription);
                let line =
                    outcome.map_or_else(|c| c.to_string(), |o| format!("{:?} {:?}", o.added, o.failed.len()));
                self.heard.lock().unwrap().push(line);
            }
            _ => {}
        }
    }
}

fn added(id: RicActionId) -> ActionToBeAdded {
    let kind = RicActionType::Report;
    ActionToBeAdded { id, kind, definition: Bytes::from_static(b"d"), execution_order: 2, subsequent: None }
}

struct Scene {
    w: World,
    agent: ConnId,
    iapp: IAppId,
    id: RicRequestId,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Scene {
    fn new(version: Version) -> Self {
        let trigger = Some(Bytes::from_static(b"new"));
        let change = SubscriptionChange {
            event_trigger: trigger,
            add: vec![added(1), added(2)],
            ..Default::default()
        };
        Self::with(version, change)
    }

    fn with(version: Version, change: SubscriptionChange) -> Self {
        let mut w = World::with(RicConfig::default().with(|it| it.version = version));
        let heard = Arc::<Mutex<_>>::default();
        let iapp = w.ric.add_iapp(Box::new(Changer { change, subscription: None, heard: heard.clone() }));
        let agent = w.connect(ListenerProtocol::E2);
        w.versions.insert(agent, version);
        w.send(agent, setup_request(1));
        let got = w.got(agent);
        let Message::RicSubscriptionRequest(r) = &got[1] else { panic!("{got:?}") };
        let id = r.request_id;
        w.send(agent, admitted(id));
        Self { w, agent, iapp, id, heard }
    }

    fn modify(&mut self) -> Vec<Message> {
        let request = NorthboundRequest {
            token: 1,
            method: Method::Get,
            path: "/".into(),
            body: Bytes::new(),
            party: None,
        };
        self.w.ric.northbound(self.w.now, self.iapp, request);
        self.w.pump();
        self.w.got(self.agent)
    }

    fn respond(&mut self, added: &[RicActionId]) {
        let failed = ActionFailed { id: 2, cause: Cause::RicRequest(CauseRicRequest::ActionNotSupported) };
        let response = RicSubscriptionModificationResponse {
            request_id: self.id,
            function_id: 142,
            removed: None,
            remove_failed: None,
            modified: None,
            modify_failed: None,
            added: Some(added.to_vec()),
            add_failed: Some(vec![failed]),
        };
        self.w.send(self.agent, Message::RicSubscriptionModificationResponse(response));
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

#[test]
fn modified_details_are_requested_after_reconnect() {
    let mut s = Scene::new(Version::V3_01);
    let got = s.modify();
    let [Message::RicSubscriptionModificationRequest(m)] = &got[..] else { panic!("{got:?}") };
    assert_eq!((m.request_id, m.remove.is_none(), m.add.as_ref().map(Vec::len)), (s.id, true, Some(2)));
    assert_eq!(s.w.node(1).subscriptions[0].state, "modifying");
    // Indications continue meanwhile, and a second modification is refused immediately.
    s.w.send(s.agent, indication(s.id, 1, 10));
    assert!(s.modify().is_empty());
    assert_eq!(s.heard(), [Cause::RicRequest(CauseRicRequest::SystemNotReady).to_string()]);
    s.respond(&[1]);
    assert_eq!(s.heard(), ["[1] 1"]);
    assert!(s.w.ric.wake_at().is_none());
    s.w.disconnect(s.agent);
    let agent = s.w.agent_then_nothing(1);
    s.w.versions.insert(agent, Version::V3_01);
    let got = s.w.got(agent);
    let Message::RicSubscriptionRequest(r) = &got[1] else { panic!("{got:?}") };
    let actions: Vec<_> = r.details.actions.iter().map(|a| (a.id, a.execution_order)).collect();
    assert_eq!((r.details.event_trigger.as_ref(), actions), (&b"new"[..], vec![(0, None), (1, Some(2))]));
}

#[test]
fn failed_or_unanswered_modification_changes_nothing() {
    let mut s = Scene::new(Version::V3_01);
    s.modify();
    let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    let failure =
        RicSubscriptionModificationFailure { request_id: s.id, function_id: 142, cause, diagnostics: None };
    s.w.send(s.agent, Message::RicSubscriptionModificationFailure(failure));
    assert_eq!(s.heard(), [cause.to_string()]);
    s.modify();
    s.w.pass(Duration::from_secs(120));
    let repeats = s.w.got(s.agent);
    assert!(
        !repeats.is_empty()
            && repeats.iter().all(|m| matches!(m, Message::RicSubscriptionModificationRequest(_)))
    );
    assert_eq!(s.heard(), [Cause::RicRequest(CauseRicRequest::ControlTimerExpired).to_string()]);
    // The late response matches no request.
    let stray = s.w.ric.counters().answers_stray;
    s.respond(&[1]);
    assert_eq!((s.w.ric.counters().answers_stray, s.heard().len()), (stray + 1, 0));
    assert_eq!(s.w.node(1).subscriptions[0].state, "active");
}

#[test]
fn node_disconnect_fails_modification_but_keeps_subscription() {
    let mut s = Scene::new(Version::V3_01);
    s.modify();
    s.w.disconnect(s.agent);
    assert_eq!(s.heard(), [Cause::Transport(CauseTransport::Unspecified).to_string()]);
    assert_eq!(s.w.node(1).subscriptions[0].state, "waiting");
    s.w.assert_no_leak();
}

#[test]
fn v2_modification_and_removal_of_last_action_are_refused() {
    let mut s = Scene::new(Version::V2_03);
    assert!(s.modify().is_empty());
    assert_eq!(s.heard(), [Cause::Protocol(CauseProtocol::SemanticError).to_string()]);
    assert_eq!(s.w.node(1).subscriptions[0].state, "active");
    let nothing_left = SubscriptionChange { remove: vec![0], ..Default::default() };
    let mut s = Scene::with(Version::V3_01, nothing_left);
    assert!(s.modify().is_empty());
    assert_eq!(s.heard(), [Cause::RicRequest(CauseRicRequest::ActionNotSupported).to_string()]);
}
