//! Settings, inputs and outputs of an [`Smf`](super::Smf).
use crate::n4::dialect::Dialect;
use crate::n4::ledger::RequestEnd;
use crate::n4::requests::{Full, Retransmission};
use crate::pfcp::*;
use std::net::IpAddr;
use std::time::Duration;

/// Settings of an [`Smf`](super::Smf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmfSettings {
    /// Address of the SMF, which is also its Node ID.
    pub node: IpAddr,
    /// Start time of the SMF, in seconds since 1900. Use the same value for association and heartbeats, and for all runs at an address. A
    /// user plane that sees another value deletes the sessions, possibly in the middle of the next run.
    pub recovery_time_stamp: u32,
    /// Dialect of the UPF.
    pub dialect: Dialect,
    /// Retransmission settings. With `n1: 0`, a request without a response after `t1` is lost.
    pub retransmission: Retransmission,
    /// Maximum number of pending requests, rounded up to a power of two. The same number of completed requests is remembered, to
    /// distinguish late and duplicate responses from unexpected ones.
    pub window: usize,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Interval of heartbeats while associated. `None`: no heartbeats are sent.
    pub heartbeat: Option<Duration>,
    /// First sequence number. If the dialect requires fresh numbers, use a number that the previous run did not use, such as the lower bits
    /// of the start time.
    pub first_sequence: u32,
    /// Upper half of the first sessions' SEIDs. Use a number that no earlier run used. A user plane that still stores earlier sessions
    /// takes a repeated SEID for the same session.
    pub first_generation: u32,
}

impl SmfSettings {
    /// Returns settings for a load generator at this address: 65,536 pending requests and a million sessions.
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

/// Id of a session of this SMF, which is the SEID chosen by the SMF. The lower half is the place of the session in a table. The upper half
/// counts the uses of the place, so that a message about a deleted session does not match a later session at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

impl SessionId {
    pub(super) fn new(generation: u32, index: u32) -> Self {
        Self((u64::from(generation) << 32) | (u64::from(index) + 1))
    }
}

/// Input of an [`Smf`](super::Smf).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmfInput<'a> {
    /// A datagram from the UPF has arrived.
    Received(&'a [u8]),
    /// Time has passed.
    Wake,
}

/// Output of an [`Smf`](super::Smf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmfOutput {
    /// Requests to send a datagram to the UPF. Return the buffer with [`Smf::recycle`](super::Smf::recycle) afterwards.
    Send(Vec<u8>),
    /// An event for the application.
    Event(SmfEvent),
}

/// Event of an [`Smf`](super::Smf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmfEvent {
    /// A request has completed. `about` is `None` for requests between nodes. A lost request may complete a second time, if a late response
    /// arrives.
    Done(RequestEnd<Option<SessionId>>),
    /// The UPF chose this uplink tunnel for a session.
    Tunnel(SessionId, CreatedTunnel),
    /// The UPF accepted the association.
    Associated {
        /// Features of the UPF.
        features: UpFunctionFeatures,
    },
    /// The UPF has restarted and lost its sessions.
    PeerRestarted {
        /// Number of sessions that were established before the restart.
        sessions: usize,
    },
    /// The UPF sent a report about a session.
    Report(SessionId, Box<SessionReportRequest>),
    /// The UPF sent a report about paths.
    NodeReport(Box<NodeReportRequest>),
    /// The UPF requested the release of the association.
    ReleaseRequested,
    /// A response or request could not be decoded.
    Malformed(DecodeError),
}

/// Reason why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no association.
    #[error("there is no association with the UPF")]
    NotAssociated,
    /// Too many requests are pending.
    #[error(transparent)]
    Full(#[from] Full),
    /// The maximum number of sessions exists.
    #[error("{limit} sessions exist, which is the limit")]
    Sessions {
        /// Maximum number of sessions.
        limit: usize,
    },
    /// The session does not exist, or a request about it is pending.
    #[error("session {0:?} is not established, or a request about it is pending")]
    Session(SessionId),
    /// A composed request does not fit into a datagram.
    #[error("the request does not fit into a PFCP message")]
    TooLong,
    /// The recording has no session.
    #[error("the recording has no session")]
    NothingRecorded,
    /// The UE's address has another IP version than the profile.
    #[error("the UE's address has another IP version than the profile")]
    UeAddress,
}

/// Returns whether the SEID of a response matches the session of the request. A rejection may have the SEID 0 (§7.2.2.4.2).
pub(super) fn is_about(seid: Option<u64>, about: Option<SessionId>, cause: Option<Cause>) -> bool {
    let refused = cause.is_some_and(|cause| !cause.is_accepted());
    match (seid, about) {
        (Some(0), _) if refused => true,
        (Some(seid), Some(SessionId(id))) => seid == id,
        // No request matches. The caller counts the response as unexpected.
        (_, None) => true,
        (None, Some(_)) => false,
    }
}

/// Returns whether a message of this type is a request.
pub(in crate::n4) fn is_request(message_type: u8) -> bool {
    match message_type {
        1..=10 => !message_type.is_multiple_of(2),
        12..=99 => message_type.is_multiple_of(2),
        _ => false,
    }
}
