//! Settings, inputs and outputs of a [`Upf`](super::Upf).
use super::addresses::UePool;
use crate::n4::dialect::{Dialect, PFCP_PORT};
use crate::n4::ledger::RequestEnd;
use crate::n4::requests::Retransmission;
use crate::pfcp::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Settings of a [`Upf`](super::Upf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpfSettings {
    /// N4 address of the UPF, which is also its Node ID.
    pub node: IpAddr,
    /// N3 address of the UPF, for F-TEIDs that it assigns.
    pub n3: IpAddr,
    /// Destination port of the UPF's own requests.
    pub smf_port: u16,
    /// Start time of the UPF, in seconds since 1900.
    pub recovery_time_stamp: u32,
    /// Dialect that the UPF follows.
    pub dialect: Dialect,
    /// Maximum number of sessions. Further sessions are rejected with cause 75.
    pub max_sessions: usize,
    /// Maximum number of associations. Further associations are rejected with cause 75.
    pub max_associations: usize,
    /// Maximum number of responses that are stored to answer duplicates.
    pub held_answers: usize,
    /// Retransmission of the UPF's own requests: heartbeats and reports.
    pub retransmission: Retransmission,
    /// Address pool for UEs whose sessions request an address (feature UEIP).
    pub ue_pool: Option<UePool>,
    /// Whether sessions that are like an earlier one are recognised by their bytes. They are reported as [`UpfEvent::EstablishedAlike`] and
    /// [`UpfEvent::Redirected`].
    pub recognise: bool,
}

impl UpfSettings {
    /// Returns settings for a UPF at this address: a million sessions, 64 SMFs, 65,536 stored responses.
    pub fn new(node: IpAddr, dialect: Dialect) -> Self {
        Self {
            node,
            n3: node,
            smf_port: PFCP_PORT,
            recovery_time_stamp: 1,
            dialect,
            max_sessions: 1 << 20,
            max_associations: 64,
            held_answers: 1 << 16,
            retransmission: Retransmission::default(),
            ue_pool: None,
            recognise: false,
        }
    }
}

/// Input of a [`Upf`](super::Upf).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpfInput<'a> {
    /// A datagram from an SMF has arrived.
    Received(SocketAddr, &'a [u8]),
    /// Time has passed.
    Wake,
}

/// Output of a [`Upf`](super::Upf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpfOutput {
    /// Requests to send a datagram to an address.
    Send(SocketAddr, Vec<u8>),
    /// An event for the data plane.
    Event(UpfEvent),
}

/// Event of a [`Upf`](super::Upf) for its data plane. [`Upf::session`](super::Upf::session) returns the rules of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpfEvent {
    /// A session was established.
    Established(u64),
    /// A session's rules have changed.
    Modified {
        /// SEID of the session.
        seid: u64,
        /// Outer headers of the abandoned tunnels into which end markers must be sent.
        end_markers: Vec<OuterHeaderCreation>,
        /// Whether buffered packets must be dropped.
        drop_buffered: bool,
        /// Usage rules with a new quota.
        granted: Vec<UrrId>,
    },
    /// A session was established that is like [`Upf::prototype`](super::Upf::prototype), except for its numbers.
    EstablishedAlike {
        /// SEID of the session.
        seid: u64,
        /// Index of the prototype.
        shape: usize,
        /// Uplink TEID of the session.
        teid: u32,
        /// Address of the UE.
        ue: Ipv4Addr,
    },
    /// The downlink of a session that is like a prototype has a new tunnel.
    Redirected {
        /// SEID of the session.
        seid: u64,
        /// TEID at the base station.
        teid: u32,
        /// Address of the base station.
        peer: Ipv4Addr,
        /// Previous tunnel, if an end marker must be sent into it.
        left: Option<OuterHeaderCreation>,
    },
    /// The buffered packets of a session must be dropped.
    DropBuffered(u64),
    /// A session was deleted.
    Deleted(u64),
    /// An SMF has associated.
    Associated(SocketAddr),
    /// An SMF was released, together with this number of sessions.
    Released(SocketAddr, usize),
    /// A report was answered, or has timed out. `about` contains the address of the SMF and the SEID of the session.
    Reported(RequestEnd<(SocketAddr, u64)>),
}

/// Counters of received messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpfCounters {
    /// Requests carried out or rejected, without duplicates.
    pub requests: u64,
    /// Requests rejected.
    pub refused: u64,
    /// Duplicate requests, answered from the cache.
    pub duplicates: u64,
    /// Requests without a response, as the dialect requires.
    pub silent: u64,
    /// Datagrams that could not be decoded and got no response.
    pub dropped: u64,
    /// Session reports that were dropped, because too many reports waited for space in the window of requests.
    pub reports_dropped: u64,
}
