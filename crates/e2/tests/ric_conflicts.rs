//! Two xApps at a RIC that set the same: who may, who is told, and what an attacker gains.
#![cfg(feature = "ric")]
#![allow(clippy::unwrap_used)] // policies of tests, too
mod ric_world;

use bytes::Bytes;
use ranlab_e2::ric::*;
use ranlab_wire::e2ap::*;
use ranlab_wire::e2sm::control::{Reason, Refusal};
use ranlab_wire::e2sm::{Encoding, Octets};
use ranlab_wire::e42;
use ric_world::*;
use std::time::Duration;

/// An xApp's priority is the number of its host's address; what a control sets stands in its message.
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

    /// An xApp of a priority; of this project, or a stranger's.
    fn xapp(&mut self, priority: u8, ours: bool) -> (ConnId, u16) {
        let conn = self.w.connect_from(Side::E42, &format!("p{priority}"));
        self.w.send42(conn, e42_setup(ours));
        let got = self.w.got42(conn);
        let Some(e42::Message::SetupResponse(response)) = got.first() else { panic!("{got:?}") };
        (conn, response.xapp_id)
    }

    /// Asks for a control, and returns whether the base station was asked; if so it answers.
    fn set(&mut self, (conn, id): (ConnId, u16), what: &str, works: bool) -> Result<(), RicControlFailure> {
        let e42::Message::ControlRequest(mut request) = control(id, 1, 9) else { unreachable!() };
        request.message = Bytes::copy_from_slice(what.as_bytes());
        self.w.send42(conn, e42::Message::ControlRequest(request));
        let asked = self.w.got(self.agent);
        for message in &asked {
            let Message::RicControlRequest(asked) = message else { panic!("{message:?}") };
            let (request_id, function_id) = (asked.request_id, asked.function_id);
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
            [e42::Message::E2(Message::RicControlAcknowledge(_))] if !asked.is_empty() => Ok(()),
            [e42::Message::E2(Message::RicControlFailure(failure))] => Err(failure.clone()),
            other => panic!("{other:?}"),
        }
    }

    /// Errors that an xApp has been told of.
    fn told(&mut self, (conn, _): (ConnId, u16)) -> usize {
        let got = self.w.got42(conn);
        assert!(got.iter().all(|m| matches!(m, e42::Message::E2(Message::ErrorIndication(_)))), "{got:?}");
        got.len()
    }
}

#[test]
fn the_first_keeps_it_and_both_are_told_in_words() {
    let mut f = Field::new();
    let (first, second) = (f.xapp(3, true), f.xapp(3, true));
    assert_eq!(f.set(first, "slice 1", true), Ok(()));
    let refused = f.set(second, "slice 2,slice 1", true).unwrap_err();
    assert_eq!(refused.cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    let words = Refusal::decode_as(Encoding::Per, &refused.outcome.unwrap()).unwrap();
    assert_eq!(words.reason, Reason::NotOwner);
    assert_eq!(
        words.detail,
        format!("slice 1 is set by xApp {} of priority 3, yours is 3; it is free in 10.0 s", first.1)
    );
    assert_eq!((f.told(first), f.told(second)), (1, 0));
    assert_eq!(f.w.ric.counters().controls_in_conflict, 1);
    assert_eq!(f.set(second, "slice 2", true), Ok(()), "of what was refused nothing was held");
    f.w.pass(Duration::from_secs(10));
    assert_eq!(f.set(second, "slice 1", true), Ok(()), "its time has passed");
}

#[test]
fn the_more_important_takes_it_and_strangers_are_told_nothing() {
    let mut f = Field::new();
    let (low, high, stranger) = (f.xapp(1, true), f.xapp(2, true), f.xapp(1, false));
    assert_eq!(f.set(low, "ue 1", true), Ok(()));
    assert_eq!(f.set(stranger, "ue 2", true), Ok(()));
    assert_eq!(f.set(high, "ue 1,ue 2", true), Ok(()));
    assert_eq!((f.told(low), f.told(high), f.told(stranger)), (1, 0, 0));
    assert_eq!(f.w.ric.counters().controls_overridden, 2);
    assert!(f.set(low, "ue 1", true).is_err());
    f.w.disconnect(high.0);
    assert_eq!(f.set(low, "ue 1", true), Ok(()), "who is gone holds nothing");
}

#[test]
fn what_the_base_station_did_not_do_protects_nobody() {
    let mut f = Field::new();
    let (first, second) = (f.xapp(1, true), f.xapp(1, true));
    assert!(f.set(first, "ue 1", false).is_err());
    assert_eq!(f.set(second, "ue 1", true), Ok(()));
}

/// It may control nothing, or has no priority over its neighbour, and tries everything that it can name.
#[test]
fn an_attacker_takes_nothing_from_its_neighbour() {
    let mut f = Field::new();
    let (victim, equal, without) = (f.xapp(2, true), f.xapp(2, true), f.xapp(0, true));
    assert_eq!(f.set(victim, "slice 1,ue 7", true), Ok(()));
    for name in 0..3_000 {
        assert!(f.set(without, &format!("ue {name}"), true).is_err());
        assert_eq!(f.set(equal, &format!("ue {name}"), true).is_ok(), name != 7);
        if name % 50 == 0 {
            f.told(victim);
            f.w.pass(Duration::from_millis(20));
            assert_eq!(f.set(victim, "slice 1,ue 7", true), Ok(()), "after {name}");
        }
    }
    for what in ["slice *", "ue *", "slice 1", "ue 7,ue 8"] {
        assert!(f.set(equal, what, true).is_err(), "{what}");
    }
    f.told(victim);
    assert_eq!(
        f.set(victim, "slice 1,ue 7,ue 1", true),
        Ok(()),
        "what the attacker set first it holds no more"
    );
    f.w.disconnect(victim.0);
    f.w.disconnect(equal.0);
    f.w.disconnect(without.0);
}
