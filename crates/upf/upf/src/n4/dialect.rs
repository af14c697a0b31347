//! Differences between user planes, and from the standard, as settings.
//!
//! Each field is a pitfall that has been observed: a request is well-formed, but the user plane does not answer,
//! answers with a misleading cause, or accepts the rule and does not forward. A cause is never a proof that the rule
//! works.
use crate::pfcp::NetworkName;
use std::time::Duration;

/// Named set of differences: what an SMF sends to such a user plane, and what such a user plane requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Name on the command line.
    pub name: &'static str,
    /// Used by the SMF's end.
    pub sends: SmfMessageStyle,
    /// Used by the UPF's end.
    pub demands: UpfRequirements,
}

/// Form of the SMF's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmfMessageStyle {
    /// Length of Apply Action in octets: 1 until Release 15, 2 since Release 16.
    pub apply_action_octets: u8,
    /// Length of Reporting Triggers in octets: 2 until Release 15, 3 since Release 16.
    pub reporting_triggers_octets: u8,
    /// Encoding of Network Instance and APN/DNN.
    pub name_form: NameForm,
    /// Sends 3GPP Interface Type (IE 160) in detection information and forwarding parameters.
    pub interface_type: bool,
    /// Sends Node ID in the Session Deletion Request, which later releases allow.
    pub node_id_in_deletion: bool,
    /// Sends PDN Type (IE 113) in the establishment.
    pub pdn_type: bool,
    /// End that chooses the uplink tunnel.
    pub teid: TeidChoice,
    /// Starts each run with a sequence number that the previous run did not use. A user plane that still holds its
    /// responses takes a repeated number for a retransmission.
    pub fresh_sequence: bool,
    /// Answers the UPF's heartbeats, with the recovery time stamp of the association.
    pub answers_heartbeats: bool,
}

/// Encoding of a network name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameForm {
    /// DNS labels.
    Labels,
    /// Plain text.
    Text,
}

impl NameForm {
    /// Encodes `name` in this form.
    pub fn write(self, name: &str) -> NetworkName {
        match self {
            Self::Labels => NetworkName::labels(name),
            Self::Text => NetworkName::text(name),
        }
    }
}

/// End that chooses a TEID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeidChoice {
    /// The SMF. Every user plane accepts this.
    Smf,
    /// The UPF (F-TEID with CH). It needs the feature FTUP.
    Upf,
}

/// Event at which a user plane deletes the sessions of an SMF that restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssociationReset {
    /// An association setup while one exists (§6.2.6.2.2), or a changed recovery time stamp (TS 23.007 §19A).
    Standard,
    /// A heartbeat with a newer recovery time stamp than the heartbeat before. A setup changes nothing.
    NewerHeartbeat,
    /// Never.
    Never,
}

/// Destination port of requests (TS 29.244 §4.2.2). Requests may come from any port, and responses go back there; not
/// every user plane does so.
pub const PFCP_PORT: u16 = 8_805;

/// Requirements of the UPF, and its reaction where they are not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpfRequirements {
    /// Minimum length of Apply Action. A request with a shorter one is not answered.
    pub apply_action_least: u8,
    /// Minimum length of Reporting Triggers. A request with shorter ones is not answered.
    pub reporting_triggers_least: u8,
    /// Rejects a network instance that is not written as DNS labels, with cause 75.
    pub labels: bool,
    /// Silently drops uplink packets of rules without interface types.
    pub interface_type: bool,
    /// Does not answer a deletion with a Node ID.
    pub no_node_id_in_deletion: bool,
    /// Event that deletes an SMF's sessions.
    pub purges: AssociationReset,
    /// Does not answer association releases, and keeps the association.
    pub ignores_release: bool,
    /// Identifies an SMF by its address alone, and sends every response to this port, whatever the source port of the
    /// request.
    pub answers_to: Option<u16>,
    /// Does not bind the UE's address without PDN Type: downlink packets match no session.
    pub pdn_type: bool,
    /// Chooses TEIDs (feature FTUP).
    pub chooses_teid: bool,
    /// Accepts a session with the UE address of another session, and moves the downlink of that address to it.
    pub shares_addresses: bool,
    /// Accepts requests about a session from any address, not from its SMF's alone.
    pub any_owner: bool,
    /// Time for which responses are held to answer duplicates.
    pub holding: Duration,
    /// Interval of the UPF's heartbeats, and the number of unanswered ones after which it drops the SMF.
    pub heartbeat: Option<(Duration, u8)>,
}

impl Dialect {
    /// Release 15, exactly as specified.
    pub const STRICT_REL15: Self = Self {
        name: "strict-rel15",
        sends: SmfMessageStyle {
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
        demands: UpfRequirements {
            apply_action_least: 1,
            reporting_triggers_least: 2,
            labels: false,
            interface_type: false,
            no_node_id_in_deletion: false,
            purges: AssociationReset::Standard,
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

    /// Release 17, exactly as specified: two octets of Apply Action, three of Reporting Triggers, interface types,
    /// PDN type.
    pub const STRICT_REL17: Self = Self {
        name: "strict-rel17",
        sends: SmfMessageStyle {
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
        sends: SmfMessageStyle {
            apply_action_octets: 2,
            reporting_triggers_octets: 3,
            interface_type: true,
            pdn_type: true,
            teid: TeidChoice::Smf,
            fresh_sequence: true,
            ..Self::STRICT_REL15.sends
        },
        demands: UpfRequirements {
            apply_action_least: 2,
            reporting_triggers_least: 3,
            labels: true,
            interface_type: true,
            no_node_id_in_deletion: true,
            purges: AssociationReset::NewerHeartbeat,
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

    /// eUPF of June 2025, as observed. It chooses TEIDs only if configured to, and sends heartbeats every 5 s. A
    /// session ends by its deletion, or when the SMF is silent.
    pub const EUPF: Self = Self {
        name: "eupf",
        sends: SmfMessageStyle {
            apply_action_octets: 2,
            reporting_triggers_octets: 3,
            interface_type: true,
            pdn_type: true,
            ..Self::STRICT_REL15.sends
        },
        demands: UpfRequirements {
            chooses_teid: false,
            purges: AssociationReset::Never,
            shares_addresses: true,
            ignores_release: true,
            heartbeat: Some((Duration::from_secs(5), 3)),
            ..Self::STRICT_REL15.demands
        },
    };

    /// All dialects.
    pub const ALL: [Self; 4] = [Self::STRICT_REL15, Self::STRICT_REL17, Self::OPEN5GS, Self::EUPF];

    /// Returns the dialect with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name == name)
    }
}
