//! Runs agents and controllers of FlexRAN and OpenEmpower with any peer. They must not panic, and their memory is
//! bounded.
//!
//! The first byte of the input selects the machine. The first byte of each piece is its length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_machine::Time;
use ranlab_sdran::agent::*;
use ranlab_sdran::empower::protocol::Mac;
use ranlab_sdran::empower::*;
use ranlab_sdran::flexran::*;
use std::time::Duration;

fn pieces(mut rest: &[u8], mut each: impl FnMut(Time, &[u8])) {
    let mut now = Time::ZERO;
    while let Some((&len, tail)) = rest.split_first() {
        let (piece, tail) = tail.split_at(usize::from(len).min(tail.len()));
        rest = tail;
        now += Duration::from_millis(7);
        each(now, piece);
    }
}

fn agent(mut agent: impl SouthboundAgent, rest: &[u8]) {
    let ue = Ue { imsi: 1, tmsi: 1, rnti: None, radio: Radio::default() };
    agent.handle(Time::ZERO, AgentInput::Connecting);
    agent.handle(Time::ZERO, AgentInput::Connected);
    agent.handle(
        Time::ZERO,
        AgentInput::Ue(UeEvent { at: Time::ZERO, imsi: 1, change: UeChange::Activated(ue) }),
    );
    pieces(rest, |now, piece| {
        agent.handle(now, AgentInput::Received(piece));
        agent.handle(now, AgentInput::Wake);
        while agent.poll().is_some() {}
        assert!(agent.ues() <= 1);
    });
}

fn controller(mut controller: impl SouthboundController, rest: &[u8]) {
    controller.handle(Time::ZERO, ControllerInput::Connected);
    pieces(rest, |now, piece| {
        controller.handle(now, ControllerInput::Received(piece));
        controller.handle(now, ControllerInput::Wake);
        while controller.poll().is_some() {}
    });
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let empower = EmpowerAgentSettings { max_ues: 4, ..EmpowerAgentSettings::new(Mac::local(1), 1) };
    match choice % 6 {
        0 => {
            let settings = FlexranAgentSettings {
                station: 1,
                pci: 1,
                period: ReportPeriod::Honour,
                dialect: if choice & 0x80 == 0 { FlexranDialect::V0 } else { FlexranDialect::Mosaic },
                max_ues: 4,
                phase: Duration::ZERO,
            };
            agent(FlexranAgent::new(settings), rest);
        }
        1 => agent(EmpowerAgent1::new(empower), rest),
        2 => agent(EmpowerAgent2::new(empower), rest),
        3 => controller(FlexranSession::new(SessionSettings::default()), rest),
        4 => controller(EmpowerSession1::new(EmpowerSessionSettings::default()), rest),
        _ => controller(EmpowerSession2::new(EmpowerSessionSettings::default()), rest),
    }
});
