//! Requirements of published controllers and agents, and the messages by which their dialect is recognised.
use std::time::Duration;

/// Framing of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// FlexRAN's protobuf messages, each preceded by its length.
    Flexran,
    /// Messages of OpenEmpower version 1.
    OpenEmpower1,
    /// Messages of OpenEmpower version 2.
    OpenEmpower2,
}

/// Quirks of a published program, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedBehaviour {
    /// Name in settings.
    pub name: &'static str,
    /// Title in messages for users.
    pub title: &'static str,
    /// Protocol of the program.
    pub language: Framing,
    /// Default port of the controllers.
    pub port: u16,
    /// Report period that MARC used with this program.
    pub period: Duration,
    /// Whether agents send the first hello and repeat it. Three intervals without a message then end the connection. Otherwise the
    /// controller sends the first hello, and hellos are not repeated.
    pub agent_greets: bool,
    /// Whether a controller creates UEs only from activations. On each connection, UEs that already exist are then activated one after the
    /// other.
    pub activations: bool,
    /// Whether a controller stores only one connection per source address.
    pub source_per_agent: bool,
    /// Whether an agent can only receive one request at a time, each in a separate segment. Such an agent discards all other messages of a
    /// read.
    pub one_at_a_time: bool,
}

const FLEXRAN_RTC: PublishedBehaviour = PublishedBehaviour {
    name: "flexran-rtc",
    title: "FlexRAN's controller (0.x, as MARC measured it)",
    language: Framing::Flexran,
    port: crate::flexran::protocol::PORT,
    period: Duration::from_millis(50),
    agent_greets: false,
    activations: false,
    source_per_agent: false,
    one_at_a_time: false,
};

const EMPOWER_V1: PublishedBehaviour = PublishedBehaviour {
    name: "empower-v1",
    title: "5G-EmPOWER with OpenEmpower 1, as MARC measured it",
    language: Framing::OpenEmpower1,
    port: crate::empower::protocol::v1::PORT,
    period: Duration::from_millis(500),
    agent_greets: true,
    ..FLEXRAN_RTC
};

/// All dialects.
pub const DIALECTS: [PublishedBehaviour; 5] = [
    FLEXRAN_RTC,
    PublishedBehaviour {
        name: "mosaic5g",
        title: "Mosaic5G's FlexRAN controller (2.x)",
        activations: true,
        ..FLEXRAN_RTC
    },
    EMPOWER_V1,
    PublishedBehaviour {
        name: "empower-v2",
        title: "5G-EmPOWER with OpenEmpower 2",
        language: Framing::OpenEmpower2,
        port: crate::empower::protocol::v2::PORT,
        source_per_agent: true,
        ..EMPOWER_V1
    },
    PublishedBehaviour {
        name: "marc",
        title: "MARC's agents of 5G-EmPOWER",
        one_at_a_time: true,
        ..EMPOWER_V1
    },
];

impl PublishedBehaviour {
    /// Returns the dialect with the given name.
    pub fn named(name: &str) -> Option<&'static Self> {
        DIALECTS.iter().find(|dialect| dialect.name == name)
    }

    /// Returns the dialect of a controller whose first message begins with these bytes.
    pub fn of_first(octets: &[u8]) -> Option<&'static Self> {
        Self::named(match octets {
            // The bytes are the kind of message and the version.
            [1..=3, 1, ..] => "empower-v1",
            // The bytes are the version, and request or response.
            [2, 0 | 0x80, ..] => "empower-v2",
            // The bytes are the upper half of a length, because a controller's first message has at most 65,535 bytes.
            [0, 0, ..] => "flexran-rtc",
            _ => return None,
        })
    }

    /// Returns the dialect of an OpenEmpower 1 agent. MARC's agents have cell 0 in headers, and another cell in their capabilities.
    pub fn of_agent(header_cell: u16, pci: u16) -> Option<&'static Self> {
        Self::named(if header_cell == pci { "empower-v1" } else { "marc" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{
        AgentInput, AgentOutput, ControllerInput, ControllerOutput, SouthboundAgent, SouthboundController,
    };
    use crate::empower::{EmpowerSession1, EmpowerSession2, EmpowerSessionSettings};
    use crate::flexran::{FlexranSession, SessionSettings};
    use crate::{Time, empower};

    /// Returns the first message of a controller. It is sent after `greeting` if the agent starts.
    fn first<C: SouthboundController>(mut controller: C, greeting: &[u8]) -> Vec<u8> {
        controller.handle(Time::ZERO, ControllerInput::Connected);
        controller.handle(Time::ZERO, ControllerInput::Received(greeting));
        loop {
            if let ControllerOutput::Send(octets) = controller.poll().unwrap() {
                return octets;
            }
        }
    }

    fn greeting(mut agent: impl SouthboundAgent) -> Vec<u8> {
        agent.handle(Time::ZERO, AgentInput::Connected);
        match agent.poll().unwrap() {
            AgentOutput::Send { octets, .. } => octets,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn controller_is_recognised_by_first_bytes() {
        let settings = EmpowerSessionSettings::default;
        let agent = || empower::EmpowerAgentSettings::new(empower::protocol::Mac::local(1), 3);
        let name = |octets: &[u8]| PublishedBehaviour::of_first(octets).unwrap().name;
        assert_eq!(name(&first(FlexranSession::new(SessionSettings::default()), &[])), "flexran-rtc");
        let hello = greeting(empower::EmpowerAgent1::new(agent()));
        assert_eq!(name(&first(EmpowerSession1::new(settings()), &hello)), "empower-v1");
        let hello = greeting(empower::EmpowerAgent2::new(agent()));
        assert_eq!(name(&first(EmpowerSession2::new(settings()), &hello)), "empower-v2");
        assert_eq!(PublishedBehaviour::of_first(b"HTTP/1.1"), None);
    }

    #[test]
    fn dialect_names_are_unique() {
        let names: std::collections::BTreeSet<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
        assert_eq!(names.len(), DIALECTS.len());
    }
}
