//! How user planes differ from each other and from the standard, as settings.
//!
//! Each field is a trap that somebody fell into: the request is well-formed, the user plane answers nothing, answers
//! something misleading, or accepts and does not forward. A cause is never a proof that the rule works.
use crate::pfcp::NetworkName;
use std::time::Duration;

/// A name for a set of habits, what an SMF should send to such a user plane, and what such a user plane demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// As on the command line.
    pub name: &'static str,
    /// For the SMF's end.
    pub sends: Sends,
    /// For the UPF's end.
    pub demands: Demands,
}

/// What the SMF's messages look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sends {
    /// Octets of Apply Action: 1 until Release 15, 2 since Release 16.
    pub apply_action_octets: u8,
    /// Octets of Reporting Triggers: 2 until Release 15, 3 since Release 16.
    pub reporting_triggers_octets: u8,
    /// How Network Instance and APN/DNN are written.
    pub name_form: NameForm,
    /// 3GPP Interface Type (IE 160) in detection information and forwarding parameters.
    pub interface_type: bool,
    /// Node ID in the Session Deletion Request, which later releases allow.
    pub node_id_in_deletion: bool,
    /// PDN Type (IE 113) in the establishment.
    pub pdn_type: bool,
    /// Who chooses the uplink tunnel.
    pub teid: TeidChoice,
    /// Whether a run begins with another sequence number than the one before: a user plane that still holds its
    /// answers takes a repeated number for a retransmission.
    pub fresh_sequence: bool,
    /// Whether the UPF's heartbeats are answered, with the recovery time stamp of the association.
    pub answers_heartbeats: bool,
}

/// How a name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameForm {
    /// DNS labels.
    Labels,
    /// As it is.
    Text,
}

impl NameForm {
    /// The name in this form.
    pub fn write(self, name: &str) -> NetworkName {
        match self {
            Self::Labels => NetworkName::labels(name),
            Self::Text => NetworkName::text(name),
        }
    }
}

/// Who chooses a TEID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeidChoice {
    /// The SMF: every user plane takes it.
    Smf,
    /// The UPF (F-TEID with CH): only one with the feature FTUP.
    Upf,
}

/// When a user plane deletes the sessions of an SMF that comes anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purges {
    /// At an association setup where one stands (§6.2.6.2.2), and at a changed recovery time stamp (§19A of TS 23.007).
    Standard,
    /// At a heartbeat with a newer recovery time stamp than the heartbeat before; a setup changes nothing.
    NewerHeartbeat,
    /// Never.
    Never,
}

/// The port that requests go to (TS 29.244 §4.2.2). They may come from any port, and answers go back there; not every
/// user plane does so.
pub const PFCP_PORT: u16 = 8_805;

/// What the UPF insists on, and how it shows its displeasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demands {
    /// Apply Action with fewer octets makes a request go unanswered.
    pub apply_action_least: u8,
    /// Reporting Triggers with fewer octets make a request go unanswered.
    pub reporting_triggers_least: u8,
    /// A network instance that is no DNS labels is refused with cause 75.
    pub labels: bool,
    /// Without interface types uplink packets are dropped, silently.
    pub interface_type: bool,
    /// A deletion with a Node ID goes unanswered.
    pub no_node_id_in_deletion: bool,
    /// What deletes an SMF's sessions.
    pub purges: Purges,
    /// Association releases go unanswered, and the association stands.
    pub ignores_release: bool,
    /// An SMF is known by its address, and every answer goes to this port of it, whichever port asked.
    pub answers_to: Option<u16>,
    /// Without PDN Type the UE's address is not bound: downlink packets find no session.
    pub pdn_type: bool,
    /// Whether it chooses TEIDs (feature FTUP).
    pub chooses_teid: bool,
    /// A session may have the UE address of another one, whose downlink it takes over.
    pub shares_addresses: bool,
    /// Requests about a session are taken from any address, not from its SMF's alone.
    pub any_owner: bool,
    /// How long answers are held to answer duplicates with.
    pub holding: Duration,
    /// It sends heartbeats at this interval and forgets an SMF that leaves so many unanswered.
    pub heartbeat: Option<(Duration, u8)>,
}

impl Dialect {
    /// Release 15 to the letter.
    pub const STRICT_REL15: Self = Self {
        name: "strict-rel15",
        sends: Sends {
            apply_action_octets: 1,
            reporting_triggers_octets: 2,
            name_form: NameForm::Labels,
            interface_type: false,
            node_id_in_deletion: false,
            pdn_type: false,
            teid: TeidChoice::Smf,
            fresh_sequence: false,
            answers_heartbeats: true,
        },
        demands: Demands {
            apply_action_least: 1,
            reporting_triggers_least: 2,
            labels: false,
            interface_type: false,
            no_node_id_in_deletion: false,
            purges: Purges::Standard,
            ignores_release: false,
            answers_to: None,
            pdn_type: false,
            chooses_teid: true,
            shares_addresses: false,
            any_owner: false,
            holding: Duration::from_secs(9),
            heartbeat: None,
        },
    };

    /// Release 17 to the letter: two octets of Apply Action, three of Reporting Triggers, interface types, PDN type.
    pub const STRICT_REL17: Self = Self {
        name: "strict-rel17",
        sends: Sends {
            apply_action_octets: 2,
            reporting_triggers_octets: 3,
            interface_type: true,
            pdn_type: true,
            teid: TeidChoice::Upf,
            ..Self::STRICT_REL15.sends
        },
        ..Self::STRICT_REL15
    };

    /// Open5GS upfd 2.8.0, as observed.
    pub const OPEN5GS: Self = Self {
        name: "open5gs",
        sends: Sends {
            apply_action_octets: 2,
            reporting_triggers_octets: 3,
            interface_type: true,
            pdn_type: true,
            teid: TeidChoice::Smf,
            fresh_sequence: true,
            ..Self::STRICT_REL15.sends
        },
        demands: Demands {
            apply_action_least: 2,
            reporting_triggers_least: 3,
            labels: true,
            interface_type: true,
            no_node_id_in_deletion: true,
            purges: Purges::NewerHeartbeat,
            ignores_release: true,
            answers_to: Some(PFCP_PORT),
            pdn_type: true,
            chooses_teid: true,
            shares_addresses: true,
            any_owner: false,
            holding: Duration::from_millis(7_500),
            heartbeat: None,
        },
    };

    /// eUPF of June 2025, as observed: no choice of TEIDs unless it is told to, heartbeats every 5 s, and sessions that
    /// only their deletion or silence ends.
    pub const EUPF: Self = Self {
        name: "eupf",
        sends: Sends {
            apply_action_octets: 2,
            reporting_triggers_octets: 3,
            interface_type: true,
            pdn_type: true,
            ..Self::STRICT_REL15.sends
        },
        demands: Demands {
            chooses_teid: false,
            purges: Purges::Never,
            shares_addresses: true,
            ignores_release: true,
            heartbeat: Some((Duration::from_secs(5), 3)),
            ..Self::STRICT_REL15.demands
        },
    };

    /// Every dialect.
    pub const ALL: [Self; 4] = [Self::STRICT_REL15, Self::STRICT_REL17, Self::OPEN5GS, Self::EUPF];

    /// The dialect of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name == name)
    }
}
