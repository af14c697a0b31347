//! What goes into an [`Smf`](super::Smf) and comes out of it.
use crate::n4::dialect::Dialect;
use crate::n4::ledger::Done;
use crate::n4::requests::{Full, Retransmission};
use crate::pfcp::*;
use std::net::IpAddr;
use std::time::Duration;

/// Settings of an [`Smf`](super::Smf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmfSettings {
    /// Its address, also its node id.
    pub node: IpAddr,
    /// When it started, seconds since 1900. One value for association and heartbeats, and for every run at an address:
    /// a user plane that sees another one deletes the sessions, some of them in the middle of the next run.
    pub recovery_time_stamp: u32,
    /// The UPF's habits.
    pub dialect: Dialect,
    /// When to send again; with `n1: 0` a request unanswered after `t1` is lost.
    pub retransmission: Retransmission,
    /// Requests under way at most; rounded up to a power of two. As many ended ones are remembered, to tell late and
    /// duplicate answers from unexpected ones.
    pub window: usize,
    /// Sessions at most.
    pub max_sessions: usize,
    /// Interval of heartbeats while associated; `None` sends none.
    pub heartbeat: Option<Duration>,
    /// The first sequence number. Where the dialect asks for fresh ones, take one that the run before did not use,
    /// such as the start time's lower bits.
    pub first_sequence: u32,
    /// Upper half of the first sessions' SEIDs. A user plane that still holds sessions of a run before takes a repeated
    /// SEID for the same session: take a number that no such run used.
    pub first_generation: u32,
}

impl SmfSettings {
    /// What a load generator wants at this address: 65,536 requests under way, a million sessions.
    pub fn new(node: IpAddr, dialect: Dialect) -> Self {
        Self {
            node,
            recovery_time_stamp: 1,
            dialect,
            retransmission: Retransmission::default(),
            window: 1 << 16,
            max_sessions: 1 << 20,
            heartbeat: None,
            first_sequence: 1,
            first_generation: 1,
        }
    }
}

/// A session of this SMF: its SEID at this end. The lower half is its place, the upper half counts the place's users, so
/// that what is said about a session that is gone is not taken for its successor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

impl SessionId {
    pub(super) fn new(generation: u32, index: u32) -> Self {
        Self((u64::from(generation) << 32) | (u64::from(index) + 1))
    }
}

/// What happens to an [`Smf`](super::Smf).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmfInput<'a> {
    /// A datagram came from the UPF.
    Received(&'a [u8]),
    /// Time has passed.
    Wake,
}

/// What an [`Smf`](super::Smf) wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmfOutput {
    /// Send this datagram to the UPF; give the buffer back with [`Smf::recycle`](super::Smf::recycle).
    Send(Vec<u8>),
    /// Take note.
    Event(SmfEvent),
}

/// What an [`Smf`](super::Smf) has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmfEvent {
    /// A request has ended; `about` is `None` for requests between nodes. A lost one may end once more, late.
    Done(Done<Option<SessionId>>),
    /// The UPF chose this uplink tunnel for a session.
    Tunnel(SessionId, CreatedTunnel),
    /// The association stands.
    Associated {
        /// What the UPF can.
        features: UpFunctionFeatures,
    },
    /// The UPF has started anew and knows no session; so many are gone.
    PeerRestarted {
        /// Sessions that were established.
        sessions: usize,
    },
    /// The UPF reports about a session.
    Report(SessionId, Box<SessionReportRequest>),
    /// The UPF reports about paths.
    NodeReport(Box<NodeReportRequest>),
    /// The UPF asks to be released.
    ReleaseRequested,
    /// A response, or a request, that could not be read.
    Malformed(DecodeError),
}

/// Why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// No association stands.
    #[error("no association with the UPF")]
    NotAssociated,
    /// Too many requests are under way.
    #[error(transparent)]
    Full(#[from] Full),
    /// Too many sessions.
    #[error("{limit} sessions exist, the limit")]
    Sessions {
        /// The limit.
        limit: usize,
    },
    /// The session does not exist, or a request about it is under way.
    #[error("session {0:?} is not established, or a request about it is under way")]
    Session(SessionId),
    /// A composed request does not fit a datagram.
    #[error("the request is longer than a PFCP message may be")]
    TooLong,
    /// There is nothing to repeat.
    #[error("the recording has no session")]
    NothingRecorded,
    /// The UE's address is not of the profile's IP version.
    #[error("the UE's address is not of the profile's IP version")]
    UeAddress,
}

/// Whether a response's SEID is the session's that the request was about. A refusal may carry 0 (§7.2.2.4.2).
pub(super) fn is_about(seid: Option<u64>, about: Option<SessionId>, cause: Option<Cause>) -> bool {
    let refused = cause.is_some_and(|cause| !cause.is_accepted());
    match (seid, about) {
        (Some(0), _) if refused => true,
        (Some(seid), Some(SessionId(id))) => seid == id,
        // Nobody asked: whoever counts it will say so.
        (_, None) => true,
        (None, Some(_)) => false,
    }
}

/// Whether a message of this type asks for an answer.
pub(in crate::n4) fn is_request(message_type: u8) -> bool {
    match message_type {
        1..=10 => !message_type.is_multiple_of(2),
        12..=99 => message_type.is_multiple_of(2),
        _ => false,
    }
}
