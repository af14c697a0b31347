//! Differences between user planes, and from the standard, as settings.
//!
//! Each field is a pitfall that has been observed. A request is well-formed, but the user plane does not answer, answers with a misleading
//! cause, or accepts the rule and does not forward. An accepting cause does not prove that the rule works.
use crate::pfcp::NetworkName;
use std::time::Duration;

/// Named set of differences. It contains the form of the SMF's messages, and the requirements of the user plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Name on the command line.
    pub name: &'static str,
    /// Settings of the SMF.
    pub sends: SmfMessageStyle,
    /// Settings of the UPF.
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
    /// Whether 3GPP Interface Type (IE 160) is sent in detection information and forwarding parameters.
    pub interface_type: bool,
    /// Whether Node ID is sent in the Session Deletion Request, as later releases allow.
    pub node_id_in_deletion: bool,
    /// Whether PDN Type (IE 113) is sent in the establishment.
    pub pdn_type: bool,
    /// Endpoint that chooses the uplink tunnel.
    pub teid: TeidChoice,
    /// Whether each run starts with a sequence number that the previous run did not use. A user plane that still stores the responses of
    /// that run would take a repeated number for a retransmission.
    pub fresh_sequence: bool,
    /// Whether the SMF answers the UPF's heartbeats, with the recovery time stamp of the association.
    pub answers_heartbeats: bool,
}

/// Encoding of a network name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameForm {
    /// The name is encoded as DNS labels.
    Labels,
    /// The name is encoded as plain text.
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

/// Endpoint that chooses a TEID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeidChoice {
    /// The SMF chooses. Every user plane accepts this.
    Smf,
    /// The UPF chooses (F-TEID with CH). This needs the feature FTUP.
    Upf,
}

/// Event at which a user plane deletes the sessions of a restarted SMF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssociationReset {
    /// A second association setup (§6.2.6.2.2), or a changed recovery time stamp (TS 23.007 §19A).
    Standard,
    /// A heartbeat with a newer recovery time stamp than the previous heartbeat. A setup deletes no sessions.
    NewerHeartbeat,
    /// The user plane never deletes the sessions.
    Never,
}

/// Destination port of requests (TS 29.244 §4.2.2). Requests may be sent from any port, and responses must return to that port. Not every
/// user plane conforms to this.
pub const PFCP_PORT: u16 = 8_805;

/// Requirements of the UPF, and its reactions to messages that do not meet them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpfRequirements {
    /// Minimum length of Apply Action, in bytes. A request with a shorter Apply Action is not answered.
    pub apply_action_least: u8,
    /// Minimum length of Reporting Triggers, in bytes. A request with shorter triggers is not answered.
    pub reporting_triggers_least: u8,
    /// Whether a network instance that is not written as DNS labels is rejected with cause 75.
    pub labels: bool,
    /// Whether uplink packets of rules without interface types are silently dropped.
    pub interface_type: bool,
    /// Whether a deletion with a Node ID gets no response.
    pub no_node_id_in_deletion: bool,
    /// Event at which an SMF's sessions are deleted.
    pub purges: AssociationReset,
    /// Whether association releases get no response, and the association remains.
    pub ignores_release: bool,
    /// Port to which every response is sent, whatever the source port of the request. The UPF then identifies an SMF only by its IP
    /// address.
    pub answers_to: Option<u16>,
    /// Whether the UPF ignores the UE's address if PDN Type is missing, so that downlink packets match no session.
    pub pdn_type: bool,
    /// Whether the UPF chooses TEIDs (feature FTUP).
    pub chooses_teid: bool,
    /// Whether a session may have the UE address of another session. The downlink of that address then moves to the new session.
    pub shares_addresses: bool,
    /// Whether requests about a session are accepted from any address, and not only from its SMF.
    pub any_owner: bool,
    /// Time for which responses are stored to answer duplicates.
    pub holding: Duration,
    /// Interval of the UPF's heartbeats, and the number of unanswered heartbeats after which the UPF removes the SMF.
    pub heartbeat: Option<(Duration, u8)>,
}

impl Dialect {
    /// Dialect of Release 15, exactly as specified.
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

    /// Dialect of Release 17, exactly as specified. It has two octets of Apply Action, three octets of Reporting Triggers, interface types,
    /// and PDN type.
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

    /// Dialect of Open5GS upfd 2.8.0, as observed.
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

    /// Dialect of eUPF of June 2025, as observed. It chooses TEIDs only if configured to do so, and sends heartbeats every 5 s. A session
    /// ends by its deletion, or if the SMF stops responding.
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
