//! A radio under RC policies and reports: a controller exchanges messages with a base station's agent, in virtual time.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use crate::driver;
use crate::station;

use driver::{AgentDriver, C0, deletion, request_id};
use ranlab_e2::Time;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::policy::{Condition, PolicyEffect, RESOURCES, Test};
use ranlab_e2_codec::e2sm::rc::{ActionDefinition, Comparison, DEFAULT_FUNCTION_ID, EventTrigger};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_radio::user_plane::Carrier;
use ranlab_ran::node::NodeKind;
use ranlab_ran::radio::{FlowPlan, RadioConfig, SharedRadio, TrafficKind, UePresence};
use std::collections::BTreeMap;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A base station with a radio, and its controller.
struct World {
    bench: AgentDriver,
    radio: SharedRadio,
}

impl World {
    fn new(radio: RadioConfig) -> Self {
        let (agent, radio) = station::template(NodeKind::Gnb, radio).agent(0, Time::ZERO).unwrap();
        Self { bench: AgentDriver::up(agent, Version::V2_03), radio: radio.unwrap() }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.bench.now + time;
        while self.bench.now < end {
            let moved = self.radio.lock().unwrap().pass(self.bench.now + MS);
            moved.into_iter().for_each(|it| it.notify(&mut self.bench.agent));
            self.bench.pass(MS);
        }
    }

    /// Returns the resource blocks of each UE so far, by number.
    fn prbs(&self) -> BTreeMap<u32, u64> {
        let radio = self.radio.lock().unwrap();
        let of = |(ue, rnti): (&u32, &u16)| (*ue, radio.cell().report(*rnti).unwrap().dl.prbs);
        radio.rntis().iter().map(of).collect()
    }

    /// Returns UE 1's share of the resource blocks in the second half of the next second, in percent. The measurement
    /// ends before UEs attach or detach at the end of that second.
    fn share(&mut self) -> f64 {
        self.pass(SECOND / 2);
        let before = self.prbs();
        self.pass(400 * MS);
        let after = self.prbs();
        self.pass(100 * MS);
        let used = |(ue, prbs): (u32, u64)| (ue, prbs - before.get(&ue).copied().unwrap_or_default());
        let used: BTreeMap<_, _> = after.into_iter().map(used).collect();
        100.0 * used[&1] as f64 / used.values().sum::<u64>() as f64
    }

    fn policy(&mut self, requestor: u16, policies: impl IntoIterator<Item = (PolicyEffect, Condition)>) {
        let definition = ActionDefinition::policies(RESOURCES, policies).to_octets(Encoding::Per).unwrap();
        let kind = RicActionType::Policy;
        let action = ActionToBeSetup { kind, definition: Some(definition), ..ActionToBeSetup::report(0) };
        let event_trigger = EventTrigger::states().to_octets(Encoding::Per).unwrap();
        let request = Message::RicSubscriptionRequest(RicSubscriptionRequest {
            request_id: request_id(requestor),
            function_id: DEFAULT_FUNCTION_ID,
            details: RicSubscriptionDetails { event_trigger, actions: vec![action] },
            start_time: None,
            end_time: None,
        });
        let answer = self.bench.ask(C0, &request);
        assert!(matches!(answer[..], [Message::RicSubscriptionResponse(_)]), "{answer:?}");
    }
}

/// Creates a cell with two UEs, in slices 1 and 2, whose traffic fills the capacity. The second UE is attached from 2
/// s to 4 s, and from 6 s on.
fn two() -> World {
    let stay = |from: u32, until: Option<u32>| UePresence {
        ues: 2..=2,
        from: from * SECOND,
        until: until.map(|until| until * SECOND),
    };
    let slice = |sst| Snssai { sst, sd: None };
    World::new(RadioConfig {
        flows: vec![FlowPlan::new(TrafficKind::Full)],
        snssais: vec![slice(1), slice(2)],
        stays: vec![stay(2, Some(4)), stay(6, None)],
        ..RadioConfig::new(Carrier::lte(25), 2)
    })
}

fn quotas(first: u8, second: u8) -> PolicyEffect {
    let quota = |(sst, max)| SliceQuota {
        plmn: station::HOME,
        slice: Snssai { sst, sd: None },
        min: 0,
        max,
        // oran-sc-ric's xApp sends a dedicated ratio of 100. The base station limits it to the minimum.
        dedicated: 100,
    };
    PolicyEffect::Obey(Order::SliceQuotas([(1, first), (2, second)].map(quota).to_vec()))
}

#[test]
fn policy_applies_while_slice_has_ues_and_subscription_exists() {
    let mut world = two();
    world.policy(1, [(quotas(20, 80), vec![(Test::Slice(Snssai { sst: 2, sd: None }), false)])]);
    world.pass(SECOND);
    let mut shares = Vec::new();
    for _ in 1..8 {
        shares.push(world.share());
    }
    // Shares in seconds 1 to 7; the second UE is attached in four of them.
    let expected = [100.0, 20.0, 20.0, 100.0, 100.0, 20.0, 20.0];
    let close = |(share, expected): (&f64, &f64)| (share - expected).abs() < 3.0;
    assert!(shares.iter().zip(&expected).all(close), "{shares:?}");
    world.bench.ask(C0, &deletion(1, DEFAULT_FUNCTION_ID));
    let share = world.share();
    assert!(
        (share - 50.0).abs() < 3.0,
        "UE 1 must have half of the carrier without the policy, but has {share} %"
    );
}

#[test]
fn policy_on_ue_count_falls_back_to_second_rule() {
    let mut world = two();
    let alone = vec![(Test::ConnectedUes(Comparison::LessThan, 2), false)];
    world.policy(1, [(quotas(50, 50), alone), (quotas(70, 30), vec![])]);
    world.pass(SECOND);
    let [alone, both] = [world.share(), world.share()];
    assert!(alone > 99.0, "{alone}");
    assert!((both - 70.0).abs() < 3.0, "{both}");
    // UE 1 has half of the carrier although no other UE needs the other half: a quota is an upper limit.
    let before = world.prbs()[&1];
    world.pass(2 * SECOND);
    let used = world.prbs()[&1] - before;
    assert!(used < 2 * 1_000 * 25 * 3 / 4, "the quota must limit UE 1, but it used {used} PRBs");
}
