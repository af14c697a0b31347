//! Conflicting controls of two xApps: the winner, the notifications, and attacks.
#![cfg(feature = "ric")]
#![allow(clippy::unwrap_used)] // includes policies for tests
mod ric_world;

use bytes::Bytes;
use ranlab_e2::ric::*;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_e2_codec::e42;
use ric_world::*;
use std::time::Duration;

/// Policy for tests: the priority of an xApp is the number of its host address, and the message of a control names
/// its parameter.
struct ByHost;

impl XappPolicy for ByHost {
    fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
        let host = peer.peer.split(':').next().unwrap();
        let priority = host.strip_prefix('p').and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(XappGrant { priority, ..XappGrant::default() })
    }
    fn may_control(&self, grant: &XappGrant, _: &GlobalE2NodeId, _: &RanFunctionItem) -> Result<(), Cause> {
        if grant.priority == 0 { Err(Cause::Misc(CauseMisc::OmIntervention)) } else { Ok(()) }
    }
    fn targets(&self, _: &RanFunctionItem, _: &Bytes, message: &Bytes) -> Vec<String> {
        std::str::from_utf8(message).unwrap().split(',').map(str::to_owned).collect()
    }
}

struct Field {
    w: World,
    agent: ConnId,
}

impl Field {
    fn new() -> Self {
        let mut w = World::with(RicConfig::default().with(|it| it.policy = Box::new(ByHost)));
        let agent = w.agent(1);
        Self { w, agent }
    }

    /// Connects an xApp with a priority; either a ranlab xApp or a third-party one.
    fn xapp(&mut self, priority: u8, ours: bool) -> (ConnId, u16) {
        let conn = self.w.connect_from(ListenerProtocol::E42, &format!("p{priority}"));
        self.w.send42(conn, e42_setup(ours));
        let got = self.w.got42(conn);
        let Some(e42::Message::SetupResponse(response)) = got.first() else { panic!("{got:?}") };
        (conn, response.xapp_id)
    }

    /// Sends a control. Returns whether it reached the base station, which then responds.
    fn set(&mut self, (conn, id): (ConnId, u16), what: &str, works: bool) -> Result<(), RicControlFailure> {
        let e42::Message::ControlRequest(mut request) = control(id, 1, 9) else { unreachable!() };
        request.message = Bytes::copy_from_slice(what.as_bytes());
        self.w.send42(conn, e42::Message::ControlRequest(request));
        let received = self.w.got(self.agent);
        for message in &received {
            let Message::RicControlRequest(received) = message else { panic!("{message:?}") };
            let request_id = received.request_id;
            let function_id = received.function_id;
            let answer = match works {
                true => Message::RicControlAcknowledge(RicControlAcknowledge {
                    request_id,
                    function_id,
                    call_process_id: None,
                    status: None,
                    outcome: None,
                }),
                false => Message::RicControlFailure(RicControlFailure {
                    request_id,
                    function_id,
                    call_process_id: None,
                    cause: Cause::RicRequest(CauseRicRequest::ControlMessageInvalid),
                    diagnostics: None,
                    outcome: None,
                }),
            };
            self.w.send(self.agent, answer);
        }
        match &self.w.got42(conn)[..] {
            [e42::Message::E2(Message::RicControlAcknowledge(_))] if !received.is_empty() => Ok(()),
            [e42::Message::E2(Message::RicControlFailure(failure))] => Err(failure.clone()),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the number of error indications that an xApp received.
    fn error_indications(&mut self, (conn, _): (ConnId, u16)) -> usize {
        let got = self.w.got42(conn);
        assert!(got.iter().all(|m| matches!(m, e42::Message::E2(Message::ErrorIndication(_)))), "{got:?}");
        got.len()
    }
}

#[test]
fn first_xapp_keeps_parameter_and_both_are_notified() {
    let mut f = Field::new();
    let first = f.xapp(3, true);
    let second = f.xapp(3, true);
    assert_eq!(f.set(first, "slice 1", true), Ok(()));
    let refused = f.set(second, "slice 2,slice 1", true).unwrap_err();
    assert_eq!(refused.cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    let words = Refusal::decode_as(Encoding::Per, &refused.outcome.unwrap()).unwrap();
    assert_eq!(words.reason, Reason::NotOwner);
    assert_eq!(
        words.detail,
        format!("slice 1 is set by xApp {} of priority 3, yours is 3; it is free in 10.0 s", first.1)
    );
    assert_eq!((f.error_indications(first), f.error_indications(second)), (1, 0));
    assert_eq!(f.w.ric.counters().controls_in_conflict, 1);
    assert_eq!(
        f.set(second, "slice 2", true),
        Ok(()),
        "a refused control must not hold any of its parameters"
    );
    f.w.pass(Duration::from_secs(10));
    assert_eq!(f.set(second, "slice 1", true), Ok(()), "the parameter must be free after the hold time");
}

#[test]
fn higher_priority_takes_parameter_without_notifying_third_party() {
    let mut f = Field::new();
    let low = f.xapp(1, true);
    let high = f.xapp(2, true);
    let third_party = f.xapp(1, false);
    assert_eq!(f.set(low, "ue 1", true), Ok(()));
    assert_eq!(f.set(third_party, "ue 2", true), Ok(()));
    assert_eq!(f.set(high, "ue 1,ue 2", true), Ok(()));
    assert_eq!(
        (f.error_indications(low), f.error_indications(high), f.error_indications(third_party)),
        (1, 0, 0)
    );
    assert_eq!(f.w.ric.counters().controls_overridden, 2);
    assert!(f.set(low, "ue 1", true).is_err());
    f.w.disconnect(high.0);
    assert_eq!(f.set(low, "ue 1", true), Ok(()), "a disconnected xApp must not hold parameters");
}

#[test]
fn failed_control_does_not_hold_parameters() {
    let mut f = Field::new();
    let first = f.xapp(1, true);
    let second = f.xapp(1, true);
    assert!(f.set(first, "ue 1", false).is_err());
    assert_eq!(f.set(second, "ue 1", true), Ok(()));
}

/// The attacker has no permission to control, or no higher priority, and tries every parameter that it can name.
#[test]
fn attacker_takes_no_parameter_from_other_xapp() {
    let mut f = Field::new();
    let victim = f.xapp(2, true);
    let equal = f.xapp(2, true);
    let without = f.xapp(0, true);
    assert_eq!(f.set(victim, "slice 1,ue 7", true), Ok(()));
    for name in 0..3_000 {
        assert!(f.set(without, &format!("ue {name}"), true).is_err());
        assert_eq!(f.set(equal, &format!("ue {name}"), true).is_ok(), name != 7);
        if name % 50 == 0 {
            f.error_indications(victim);
            f.w.pass(Duration::from_millis(20));
            assert_eq!(
                f.set(victim, "slice 1,ue 7", true),
                Ok(()),
                "the victim must keep its parameters after the attacker's control of UE {name}"
            );
        }
    }
    for what in ["slice *", "ue *", "slice 1", "ue 7,ue 8"] {
        assert!(f.set(equal, what, true).is_err(), "{what}");
    }
    f.error_indications(victim);
    assert_eq!(
        f.set(victim, "slice 1,ue 7,ue 1", true),
        Ok(()),
        "parameters that the attacker set first must be free after its hold time or limit"
    );
    f.w.disconnect(victim.0);
    f.w.disconnect(equal.0);
    f.w.disconnect(without.0);
}

/// iApp that sends controls for its clients and records their results.
struct ControlIApp(std::sync::Arc<std::sync::Mutex<Vec<Outcome>>>, GlobalE2NodeId);

impl IApp for ControlIApp {
    fn name(&self) -> &str {
        "door"
    }
    fn handle(&mut self, _: ranlab_e2::Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::Northbound(request) => {
                let details = ControlDetails {
                    call_process_id: None,
                    header: Bytes::new(),
                    message: request.body.clone(),
                    ack_request: Some(RicControlAckRequest::Ack),
                };
                out.control_for(request.party.clone(), self.1, 142, details);
            }
            IAppInput::ControlDone { outcome, .. } => self.0.lock().unwrap().push(outcome.clone()),
            _ => {}
        }
    }
}

/// Policy for tests: like [`ByHost`]; the name of an external client is its priority, and `none` has no permissions.
struct ByName;

impl XappPolicy for ByName {
    fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
        ByHost.admit(peer)
    }
    fn party(&self, who: &str) -> Result<XappGrant, Cause> {
        match who.rsplit_once('/').map(|(_, name)| name.parse()) {
            Some(Ok(priority)) => Ok(XappGrant { priority, ..XappGrant::default() }),
            _ if who.ends_with("none") => Err(Cause::Misc(CauseMisc::OmIntervention)),
            _ => Ok(XappGrant::operator()),
        }
    }
    fn targets(&self, function: &RanFunctionItem, header: &Bytes, message: &Bytes) -> Vec<String> {
        ByHost.targets(function, header, message)
    }
}

#[test]
fn external_clients_iapps_and_xapps_conflict_with_each_other() {
    let mut w = World::with(RicConfig::default().with(|it| it.policy = Box::new(ByName)));
    let agent = w.agent(1);
    let node = w.ric.snapshot().nodes[0].info.id;
    let outcomes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let iapp = w.ric.add_iapp(Box::new(ControlIApp(outcomes.clone(), node)));
    let mut f = Field { w, agent };
    let xapp = f.xapp(3, true);
    // Sends a control for a client. Returns the text of a refusal.
    let ask = |f: &mut Field, party: Option<&str>, what: &str| -> Option<String> {
        let party = party.map(Into::into);
        let body = Bytes::copy_from_slice(what.as_bytes());
        let request = NorthboundRequest { token: 1, method: Method::Post, path: String::new(), body, party };
        f.w.ric.northbound(f.w.now, iapp, request);
        f.w.pump();
        for message in f.w.got(f.agent) {
            let Message::RicControlRequest(received) = message else { panic!("{message:?}") };
            let request_id = received.request_id;
            let function_id = received.function_id;
            let done = RicControlAcknowledge {
                request_id,
                function_id,
                call_process_id: None,
                status: None,
                outcome: None,
            };
            f.w.send(f.agent, Message::RicControlAcknowledge(done));
        }
        match outcomes.lock().unwrap().pop().unwrap() {
            Outcome::Done(_) => None,
            Outcome::Failed { outcome: Some(words), .. } => {
                Some(Refusal::decode_as(Encoding::Per, &words).unwrap().detail)
            }
            Outcome::Failed { cause, outcome: None } => Some(cause.to_string()),
        }
    };
    assert_eq!(f.set(xapp, "slice 1", true), Ok(()));
    let refused = ask(&mut f, Some("http://2"), "slice 1").unwrap();
    assert!(refused.contains("of priority 3, yours is 2"), "{refused}");
    assert_eq!(ask(&mut f, Some("http://2"), "slice 2"), None);
    let refused = ask(&mut f, Some("rmr://1"), "slice 2").unwrap();
    assert!(refused.starts_with("slice 2 is set by http://2 of priority 2, yours is 1"), "{refused}");
    assert!(ask(&mut f, Some("rmr://none"), "slice 9").is_some());
    assert_eq!(
        ask(&mut f, Some("xapp://4"), "slice 2"),
        None,
        "a client with a higher priority must get the parameter"
    );
    assert_eq!(ask(&mut f, None, "slice *"), None, "an iApp must have the operator's permissions");
    assert!(f.w.events.iter().any(|event| {
        let RicEvent::Conflict { winner, loser, .. } = event else { return false };
        &**winner == "iapp://door" && &**loser == "xapp://4"
    }));
    assert_eq!(
        f.error_indications(xapp),
        2,
        "the xApp must be notified of the refused control of another owner, and of its loss to the iApp"
    );
    let refused = f.set(xapp, "slice 1", true).unwrap_err();
    let words = Refusal::decode_as(Encoding::Per, &refused.outcome.unwrap()).unwrap().detail;
    assert!(words.starts_with("slice * is set by iapp://door of priority 255, yours is 3"), "{words}");
}

/// A client that floods the RIC with unanswered controls reaches its own limit; the operator's controls still pass.
#[test]
fn flooding_client_exhausts_only_its_own_limit() {
    let mut w = World::with(RicConfig::default().with(|it| it.policy = Box::new(ByName)));
    let agent = w.agent(1);
    let node = w.ric.snapshot().nodes[0].info.id;
    let outcomes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let iapp = w.ric.add_iapp(Box::new(ControlIApp(outcomes.clone(), node)));
    let mut ask = |party: &str, number: usize| {
        let body = Bytes::from(format!("ue {number}"));
        let party = Some(party.into());
        let request = NorthboundRequest { token: 1, method: Method::Post, path: String::new(), body, party };
        w.ric.northbound(w.now, iapp, request);
        w.pump();
    };
    (0..1_000).for_each(|number| ask("xapp://1", number));
    assert_eq!(outcomes.lock().unwrap().len(), 1_000 - 32);
    ask("http://operator", 2_000);
    assert_eq!(outcomes.lock().unwrap().len(), 1_000 - 32, "the operator's control must not be refused");
    assert!(!w.got(agent).is_empty());
}
