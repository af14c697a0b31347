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
    /// Address of the SMF, also its Node ID.
    pub node: IpAddr,
    /// Start time of the SMF, in seconds since 1900. Use one value for association and heartbeats, and for all runs
    /// at an address. A user plane that sees another value deletes the sessions, possibly in the middle of the next
    /// run.
    pub recovery_time_stamp: u32,
    /// Dialect of the UPF.
    pub dialect: Dialect,
    /// Retransmission. With `n1: 0` a request without a response after `t1` is lost.
    pub retransmission: Retransmission,
    /// Maximum number of pending requests, rounded up to a power of two. The same number of completed requests is
    /// remembered, to distinguish late and duplicate responses from unexpected ones.
    pub window: usize,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Interval of heartbeats while associated; `None` sends no heartbeats.
    pub heartbeat: Option<Duration>,
    /// First sequence number. If the dialect requires fresh numbers, take one that the previous run did not use, such
    /// as the lower bits of the start time.
    pub first_sequence: u32,
    /// Upper half of the first sessions' SEIDs. Take a number that no earlier run used: a user plane that still holds
    /// earlier sessions takes a repeated SEID for the same session.
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

/// Session of this SMF: its SEID at this end. The lower half is its place. The upper half counts the uses of the
/// place, so that a message about a deleted session is not taken for one about its successor.
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
    /// Send this datagram to the UPF, then return the buffer with [`Smf::recycle`](super::Smf::recycle).
    Send(Vec<u8>),
    /// An event for the application.
    Event(SmfEvent),
}

/// Event of an [`Smf`](super::Smf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmfEvent {
    /// A request has completed. `about` is `None` for requests between nodes. A lost request may complete once more,
    /// late.
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
        /// Number of sessions that were established.
        sessions: usize,
    },
    /// The UPF sent a report about a session.
    Report(SessionId, Box<SessionReportRequest>),
    /// The UPF sent a report about paths.
    NodeReport(Box<NodeReportRequest>),
    /// The UPF requested its release.
    ReleaseRequested,
    /// A response or request could not be decoded.
    Malformed(DecodeError),
}

/// Reason why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no association.
    #[error("no association with the UPF")]
    NotAssociated,
    /// Too many requests are pending.
    #[error(transparent)]
    Full(#[from] Full),
    /// Too many sessions.
    #[error("{limit} sessions exist, the limit")]
    Sessions {
        /// Maximum number of sessions.
        limit: usize,
    },
    /// The session does not exist, or a request about it is pending.
    #[error("session {0:?} is not established, or a request about it is pending")]
    Session(SessionId),
    /// A composed request does not fit into a datagram.
    #[error("the request is longer than a PFCP message may be")]
    TooLong,
    /// The recording has no session.
    #[error("the recording has no session")]
    NothingRecorded,
    /// The UE's address is not of the profile's IP version.
    #[error("the UE's address is not of the profile's IP version")]
    UeAddress,
}

/// Returns whether a response's SEID is that of the session the request was about. A rejection may carry 0
/// (§7.2.2.4.2).
pub(super) fn is_about(seid: Option<u64>, about: Option<SessionId>, cause: Option<Cause>) -> bool {
    let refused = cause.is_some_and(|cause| !cause.is_accepted());
    match (seid, about) {
        (Some(0), _) if refused => true,
        (Some(seid), Some(SessionId(id))) => seid == id,
        // No request matches. The response is counted as unexpected later.
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
