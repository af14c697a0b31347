//! Accounting of requests and responses. Each request and each response has exactly one outcome.
use crate::Time;
use crate::pfcp::{Cause, message_type};
use std::collections::BTreeMap;

/// Kinds of requests, which have separate counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Heartbeat requests.
    Heartbeat,
    /// Association setup and update, PFD Management.
    Association,
    /// Association release, which some user planes do not answer.
    Release,
    /// Session establishment requests.
    Establishment,
    /// Session modification requests.
    Modification,
    /// Session deletion requests.
    Deletion,
    /// Session and node report requests.
    Report,
}

impl Kind {
    /// All kinds, in the order of [`RequestStats::by_kind`].
    pub const ALL: [Self; 7] = [
        Self::Heartbeat,
        Self::Association,
        Self::Release,
        Self::Establishment,
        Self::Modification,
        Self::Deletion,
        Self::Report,
    ];

    /// Returns whether a message of type `response` is a response to this kind of request.
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

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Accepted at the first transmission.
    Ok,
    /// Accepted after a retransmission.
    Retransmitted,
    /// Rejected by the peer.
    Rejected(Cause),
    /// Answered after the request had timed out.
    Late(Cause),
    /// Timed out without a response.
    Lost,
}

/// Completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestEnd<T> {
    /// Kind of the request.
    pub kind: Kind,
    /// Sequence number.
    pub sequence: u32,
    /// Outcome.
    pub outcome: Outcome,
    /// Scheduled send time. Latency is measured from this time, so it includes the delay of a stalled sender.
    pub intended: Time,
    /// Time of the first transmission.
    pub sent: Time,
    /// Time of the response or of the timeout.
    pub ended: Time,
    /// Number of transmissions.
    pub attempts: u8,
    /// Subject of the request.
    pub about: T,
}

/// Counters of one kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests, without retransmissions.
    pub sent: u64,
    /// Requests without a response that have not timed out.
    pub pending: u64,
    /// Requests with the outcome [`Outcome::Ok`].
    pub ok: u64,
    /// Requests with the outcome [`Outcome::Retransmitted`].
    pub retransmitted: u64,
    /// Requests with the outcome [`Outcome::Rejected`].
    pub rejected: u64,
    /// Requests with the outcome [`Outcome::Late`].
    pub late: u64,
    /// Requests with the outcome [`Outcome::Lost`].
    pub lost: u64,
    /// Additional responses to an answered request.
    pub duplicate: u64,
    /// Datagrams sent again.
    pub retransmissions: u64,
}

impl Counts {
    /// Returns the number of requests with a known outcome.
    pub fn ended(&self) -> u64 {
        self.ok + self.retransmitted + self.rejected + self.late + self.lost
    }

    /// Returns the number of requests that got a response.
    pub fn answered(&self) -> u64 {
        self.ended() - self.lost
    }
}

/// Request and response counters of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestStats {
    /// Counters indexed by [`Kind`]; see [`RequestStats::counts`].
    pub by_kind: [Counts; 7],
    /// Rejections and late responses, by cause.
    pub causes: BTreeMap<u8, u64>,
    /// Responses received, of every kind.
    pub responses: u64,
    /// Responses that match no request. They have an unknown sequence number, the wrong type, or another session.
    pub unexpected: u64,
    /// Responses that could not be decoded. The answered request stays pending.
    pub malformed: u64,
}

impl RequestStats {
    /// Returns the counters of a kind.
    pub fn counts(&self, kind: Kind) -> &Counts {
        &self.by_kind[kind as usize]
    }

    pub(super) fn of_mut(&mut self, kind: Kind) -> &mut Counts {
        &mut self.by_kind[kind as usize]
    }

    /// Returns the sum of a counter over all kinds.
    pub fn total(&self, what: impl Fn(&Counts) -> u64) -> u64 {
        self.by_kind.iter().map(what).sum()
    }

    /// Returns whether every request and every response is counted exactly once.
    pub fn balanced(&self) -> bool {
        let requests = self.by_kind.iter().all(|counts| counts.sent == counts.ended() + counts.pending);
        let explained = self.total(|counts| counts.answered() + counts.duplicate);
        requests && self.responses == explained + self.unexpected + self.malformed
    }
}
