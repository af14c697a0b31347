//! What became of every request, and of every response.
use crate::Time;
use crate::pfcp::{Cause, message_type};
use std::collections::BTreeMap;

/// Kinds of requests that are accounted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Heartbeat.
    Heartbeat,
    /// Association setup and update, PFD Management.
    Association,
    /// Association release, which not every user plane answers.
    Release,
    /// Session establishment.
    Establishment,
    /// Session modification.
    Modification,
    /// Session deletion.
    Deletion,
    /// Session and node reports.
    Report,
}

impl Kind {
    /// Every kind, in the order of [`Ledger::by_kind`].
    pub const ALL: [Self; 7] = [
        Self::Heartbeat,
        Self::Association,
        Self::Release,
        Self::Establishment,
        Self::Modification,
        Self::Deletion,
        Self::Report,
    ];

    /// Whether a message of this type answers a request of this kind.
    pub fn answered_by(self, response: u8) -> bool {
        self == match response {
            message_type::HEARTBEAT_RESPONSE => Self::Heartbeat,
            message_type::ASSOCIATION_SETUP_RESPONSE
            | message_type::ASSOCIATION_UPDATE_RESPONSE
            | message_type::PFD_MANAGEMENT_RESPONSE => Self::Association,
            message_type::ASSOCIATION_RELEASE_RESPONSE => Self::Release,
            message_type::SESSION_ESTABLISHMENT_RESPONSE => Self::Establishment,
            message_type::SESSION_MODIFICATION_RESPONSE => Self::Modification,
            message_type::SESSION_DELETION_RESPONSE => Self::Deletion,
            message_type::SESSION_REPORT_RESPONSE | message_type::NODE_REPORT_RESPONSE => Self::Report,
            _ => return false,
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Accepted, at the first sending.
    Ok,
    /// Accepted, after it was sent again.
    Retransmitted,
    /// Refused.
    Rejected(Cause),
    /// Answered after it was given up.
    Late(Cause),
    /// Given up.
    Lost,
}

/// The end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done<T> {
    /// What was asked.
    pub kind: Kind,
    /// Its sequence number.
    pub sequence: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// When it was to be sent: latencies from here see what a stalled sender hides.
    pub intended: Time,
    /// When it was sent, first.
    pub sent: Time,
    /// When it was answered or given up.
    pub ended: Time,
    /// How often it was sent.
    pub attempts: u8,
    /// What it was about.
    pub about: T,
}

/// Counts of one kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests, retransmissions not counted.
    pub sent: u64,
    /// Not yet answered nor given up.
    pub pending: u64,
    /// See [`Outcome::Ok`].
    pub ok: u64,
    /// See [`Outcome::Retransmitted`].
    pub retransmitted: u64,
    /// See [`Outcome::Rejected`].
    pub rejected: u64,
    /// See [`Outcome::Late`].
    pub late: u64,
    /// See [`Outcome::Lost`].
    pub lost: u64,
    /// Responses to requests that had their answer already.
    pub duplicate: u64,
    /// Datagrams sent again.
    pub retransmissions: u64,
}

impl Counts {
    /// Requests whose end is known.
    pub fn ended(&self) -> u64 {
        self.ok + self.retransmitted + self.rejected + self.late + self.lost
    }

    /// First answers to requests.
    pub fn answered(&self) -> u64 {
        self.ended() - self.lost
    }
}

/// The account of one end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Indexed by [`Kind`], see [`Ledger::of`].
    pub by_kind: [Counts; 7],
    /// Refusals and late answers by cause.
    pub causes: BTreeMap<u8, u64>,
    /// Responses received, whatever became of them.
    pub responses: u64,
    /// Responses that nobody asked for: an unknown number, the wrong type, a session that is not ours.
    pub unexpected: u64,
    /// Responses that could not be read; the request they answer, if any, stays open.
    pub malformed: u64,
}

impl Ledger {
    /// The counts of a kind.
    pub fn of(&self, kind: Kind) -> &Counts {
        &self.by_kind[kind as usize]
    }

    pub(super) fn of_mut(&mut self, kind: Kind) -> &mut Counts {
        &mut self.by_kind[kind as usize]
    }

    /// A sum over the kinds.
    pub fn total(&self, what: impl Fn(&Counts) -> u64) -> u64 {
        self.by_kind.iter().map(what).sum()
    }

    /// Whether every request and every response is accounted for, exactly once.
    pub fn balanced(&self) -> bool {
        let requests = self.by_kind.iter().all(|counts| counts.sent == counts.ended() + counts.pending);
        let explained = self.total(|counts| counts.answered() + counts.duplicate);
        requests && self.responses == explained + self.unexpected + self.malformed
    }
}
