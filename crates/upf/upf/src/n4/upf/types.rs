//! What goes into a [`Upf`](super::Upf) and comes out of it.
use super::addresses::UePool;
use crate::n4::dialect::{Dialect, PFCP_PORT};
use crate::n4::ledger::Done;
use crate::n4::requests::Retransmission;
use crate::pfcp::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Settings of a [`Upf`](super::Upf).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpfSettings {
    /// Its N4 address, also its Node ID.
    pub node: IpAddr,
    /// Its N3 address, in the F-TEIDs that it chooses.
    pub n3: IpAddr,
    /// Port that its own requests go to.
    pub smf_port: u16,
    /// When it started, seconds since 1900.
    pub recovery_time_stamp: u32,
    /// Its habits.
    pub dialect: Dialect,
    /// Sessions at most; beyond, cause 75.
    pub max_sessions: usize,
    /// Associations at most; beyond, cause 75.
    pub max_associations: usize,
    /// Answers held at most, to answer duplicates with.
    pub held_answers: usize,
    /// For its own requests: heartbeats and reports.
    pub retransmission: Retransmission,
    /// Addresses for UEs that ask for one (feature UEIP).
    pub ue_pool: Option<UePool>,
    /// Sessions that look like one before are recognised by their octets, and come as
    /// [`UpfEvent::EstablishedAlike`] and [`UpfEvent::Redirected`].
    pub recognise: bool,
}

impl UpfSettings {
    /// A UPF at this address: a million sessions, 64 SMFs, 65,536 answers held.
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

/// What happens to a [`Upf`](super::Upf).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpfInput<'a> {
    /// A datagram came from an SMF.
    Received(SocketAddr, &'a [u8]),
    /// Time has passed.
    Wake,
}

/// What a [`Upf`](super::Upf) wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpfOutput {
    /// Send this datagram.
    Send(SocketAddr, Vec<u8>),
    /// Take note.
    Event(UpfEvent),
}

/// What a [`Upf`](super::Upf) has to say to its data plane. A session's rules are at [`Upf::session`](super::Upf::session).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpfEvent {
    /// There is a new session.
    Established(u64),
    /// A session's rules have changed; end markers are asked for into the tunnels that were left.
    Modified {
        /// The session.
        seid: u64,
        /// Outer headers of the tunnels left.
        end_markers: Vec<OuterHeaderCreation>,
        /// Drop what is buffered.
        drop_buffered: bool,
        /// Usage rules whose quota was granted again.
        granted: Vec<UrrId>,
    },
    /// There is a new session like [`Upf::prototype`](super::Upf::prototype), but for its numbers.
    EstablishedAlike {
        /// The session.
        seid: u64,
        /// Which prototype.
        shape: usize,
        /// Its uplink tunnel.
        teid: u32,
        /// Its UE.
        ue: Ipv4Addr,
    },
    /// The downlink of such a session goes into this tunnel now.
    Redirected {
        /// The session.
        seid: u64,
        /// The tunnel's name at the base station.
        teid: u32,
        /// The base station.
        peer: Ipv4Addr,
        /// The tunnel before, if an end marker is to go there.
        left: Option<OuterHeaderCreation>,
    },
    /// Drop what is buffered for a session.
    DropBuffered(u64),
    /// A session is gone.
    Deleted(u64),
    /// An SMF is associated.
    Associated(SocketAddr),
    /// An SMF is gone, and so many sessions with it.
    Released(SocketAddr, usize),
    /// A report has been answered, or given up; `about` is its session.
    Reported(Done<(SocketAddr, u64)>),
}

/// What came in and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpfCounters {
    /// Requests carried out or refused, duplicates not counted.
    pub requests: u64,
    /// Requests refused.
    pub refused: u64,
    /// Requests answered from the cache.
    pub duplicates: u64,
    /// Requests left without an answer, as the dialect has it.
    pub silent: u64,
    /// Datagrams that could not be read and got no answer.
    pub dropped: u64,
    /// Session reports dropped because too many waited for room in the request window.
    pub reports_dropped: u64,
}
