//! A base station of CU-CP, CU-UP and two DUs over E2: a controller exchanges messages with each agent, in virtual time.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use crate::driver;
use crate::station;

use driver::{ACK, AgentDriver, C0, control, request_id};
use ranlab_e2::Time;
use ranlab_e2::agent::UeId;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rrc::{RrcCell, RrcChange, RrcCommand, RrcHandover, RrcIndication, RrcTrigger};
use ranlab_e2_codec::e2sm::{Encoding, Octets, by_oid, mac, pdcp, rrc};
use ranlab_radio::user_plane::Carrier;
use ranlab_ran::node::{NodeKind, NodeTemplate};
use ranlab_ran::radio::{FlowPlan, RadioConfig, SharedSite, TrafficKind};
use std::collections::BTreeSet;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
/// Indexes of the units.
const CU_CP: usize = 0;
const CU_UP: usize = 1;
const DU_1: usize = 2;
const DU_2: usize = 3;

struct World {
    template: NodeTemplate,
    site: SharedSite,
    parts: Vec<AgentDriver>,
}

impl World {
    fn new() -> Self {
        let flows = vec![FlowPlan::new(TrafficKind::Udp(1_000, None))];
        let radio = RadioConfig { dus: 2, flows, ..RadioConfig::new(Carrier::lte(25), 4) };
        let template = NodeTemplate { own_functions: true, ..station::template(NodeKind::Split, radio) };
        let source = template.cell(0, Time::ZERO).unwrap();
        let parts = (0..4).map(|part| AgentDriver::up(template.agent_over(part, &source), Version::V2_03));
        let parts = parts.collect();
        Self { site: source.site().unwrap(), parts, template }
    }

    fn pass(&mut self, ms: u32) {
        for _ in 0..ms {
            let moved = self.site.pass(self.parts[0].now + MS);
            for (part, bench) in (0..).zip(&mut self.parts) {
                let its = moved.iter().filter(|(cell, _)| self.template.has_cell(part, *cell));
                its.for_each(|(_, it)| it.notify(&mut bench.agent));
                bench.pass(MS);
            }
        }
    }

    fn subscribe(&mut self, part: usize, function_id: RanFunctionId, event_trigger: bytes::Bytes) {
        let details = RicSubscriptionDetails { event_trigger, actions: vec![ActionToBeSetup::report(0)] };
        let request = Message::RicSubscriptionRequest(RicSubscriptionRequest {
            request_id: request_id(function_id),
            function_id,
            details,
            start_time: None,
            end_time: None,
        });
        let answer = self.parts[part].ask(C0, &request);
        assert!(matches!(answer[0], Message::RicSubscriptionResponse(_)), "{part}: {answer:?}");
        // The remaining messages are stored for the caller that needs them.
        self.parts[part].sent.entry(C0).or_default().extend(answer.into_iter().skip(1));
    }

    /// Returns the UEs in the last report that a unit sent for a statistics model.
    fn reported(&mut self, part: usize, oid: &str) -> BTreeSet<u32> {
        let sent = self.parts[part].take(C0);
        let Some(Message::RicIndication(last)) = sent.last() else { panic!("{part}: {sent:?}") };
        let model = by_oid(oid).unwrap();
        let table = model.table(model.encoding(), &last.header, &last.message).unwrap();
        table.rows().filter_map(|(key, _)| key.ue()).collect()
    }

    /// Returns whether a unit's agent serves a UE.
    fn has(&mut self, part: usize, rnti: u64) -> bool {
        self.parts[part].agent.associate_ue(UeId(rnti), C0).is_ok()
    }

    fn hand_over(&mut self, rnti: u16, cell_id: u16, target_cell_id: u16) -> Result<(), Refusal> {
        let command = RrcCommand::Handover(RrcHandover { rnti, cell_id, target_cell_id });
        let octets = command.to_octets(Encoding::Per).unwrap();
        let answer = self.parts[CU_CP].ask(C0, &control(rrc::DEFAULT_FUNCTION_ID, &octets, ACK));
        match &answer[..] {
            [Message::RicControlAcknowledge(_)] => Ok(()),
            [Message::RicControlFailure(failure)] => {
                Err(Refusal::decode_as(Encoding::Per, failure.outcome.as_ref().unwrap()).unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    fn rrc_events(&mut self) -> Vec<(RrcChange, u16, u16, Option<RrcCell>)> {
        let sent = self.parts[CU_CP].take(C0).into_iter();
        let events = sent.flat_map(|message| match message {
            Message::RicIndication(it) => {
                RrcIndication::decode_as(Encoding::Per, &it.message).unwrap().events
            }
            other => panic!("{other:?}"),
        });
        events.map(|it| (it.change, it.cell_id, it.rnti, it.other)).collect()
    }
}

#[test]
fn cu_controller_hands_ue_over_between_dus() {
    let mut world = World::new();
    let each = |ms: u32| bytes::Bytes::copy_from_slice(&ms.to_le_bytes());
    world.subscribe(CU_UP, pdcp::DEFAULT_FUNCTION_ID, each(10));
    for du in [DU_1, DU_2] {
        world.subscribe(du, mac::DEFAULT_FUNCTION_ID, each(10));
    }
    let events = RrcTrigger::EVENTS.to_octets(Encoding::Per).unwrap();
    world.subscribe(CU_CP, rrc::DEFAULT_FUNCTION_ID, events);
    world.pass(1_000);
    // UEs attach to the two cells alternately. The CU has all UEs, and a DU has the UEs of its cell.
    assert_eq!(world.rrc_events().len(), 4);
    assert_eq!(world.reported(CU_UP, pdcp::OID), [1, 2, 8_001, 8_002].into());
    assert_eq!(world.reported(DU_1, mac::OID), [1, 2].into());
    assert_eq!(world.reported(DU_2, mac::OID), [8_001, 8_002].into());

    for (rnti, from, to, why) in [(1, 0, 2, Reason::Invalid), (1, 1, 0, Reason::UnknownUe)] {
        assert_eq!(world.hand_over(rnti, from, to).unwrap_err().reason, why);
    }
    world.pass(20);
    assert_eq!(world.rrc_events(), []);
    world.hand_over(1, 0, 1).unwrap();
    world.pass(1_000);
    let cell = |cell_id, rnti| Some(RrcCell { cell_id, rnti });
    let release = (RrcChange::Release, 0, 1, cell(1, 8_003));
    assert_eq!(world.rrc_events(), [release, (RrcChange::Handover, 1, 8_003, cell(0, 1))]);
    assert_eq!(world.reported(CU_UP, pdcp::OID), [2, 8_001, 8_002, 8_003].into());
    assert_eq!(world.reported(DU_1, mac::OID), [2].into());
    assert_eq!(world.reported(DU_2, mac::OID), [8_001, 8_002, 8_003].into());
    let has = [CU_CP, CU_UP, DU_1, DU_2].map(|part| (world.has(part, 1), world.has(part, 8_003)));
    assert_eq!(has, [(false, true), (false, true), (false, false), (false, true)]);
    // The flow of the UE continues in the new cell.
    let meter = world.site.cells()[1].lock().unwrap().meter();
    let flow = meter.flows.iter().find(|flow| flow.ue == 1).unwrap();
    assert!(flow.bytes > 100_000 && flow.dropped == 0, "{flow:?}");
}
