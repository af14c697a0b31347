use super::{
    ExactId, Nat, NatId, NatKey, NextHop, NextHopId, Prefix4, Prefix6, RouteId, TunnelId, User, UserId,
};

/// A modification of a table. A backend applies the changes of one event together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Sets or removes an exact match.
    Exact {
        /// Table of exact matches that is changed.
        table: ExactId,
        /// Key that is set or removed.
        key: u64,
        /// New value, or `None` to remove the key.
        value: Option<u32>,
    },
    /// Sets or removes an IPv4 prefix.
    Route4 {
        /// Routing table that is changed.
        table: RouteId,
        /// IPv4 prefix that is set or removed.
        prefix: Prefix4,
        /// New next hop, or `None` to remove the prefix.
        next_hop: Option<NextHopId>,
    },
    /// Sets or removes an IPv6 prefix.
    Route6 {
        /// Routing table that is changed.
        table: RouteId,
        /// IPv6 prefix that is set or removed.
        prefix: Prefix6,
        /// New next hop, or `None` to remove the prefix.
        next_hop: Option<NextHopId>,
    },
    /// Sets or removes a translation.
    Translation {
        /// Translation table that is changed.
        table: NatId,
        /// Original address, protocol and port.
        key: NatKey,
        /// Translated address and port, or `None` to remove the key.
        value: Option<Nat>,
    },
    /// Sets an entry of the group table. The first unused id adds an entry.
    NextHop {
        /// Id of the entry.
        id: NextHopId,
        /// New value of the entry.
        value: NextHop,
    },
    /// Sets a user with a full token bucket. The first unused id adds a user.
    User {
        /// Id of the user.
        id: UserId,
        /// New value of the user.
        value: User,
    },
    /// Moves a user to another tunnel. Its meter continues.
    Attach {
        /// User that is moved.
        user: UserId,
        /// New tunnel of the user.
        tunnel: TunnelId,
    },
}

/// An event of a running pipeline, named as in the configurations of the benchmark TIPSY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// User `fluct-user` number n is added.
    UserArrives(u32),
    /// The user with this number is removed.
    UserDeparts(u32),
    /// User n moves to base station m (`handover`).
    Handover {
        /// Number of the user.
        user: u32,
        /// Base station that serves the user after the handover.
        to: u32,
    },
    /// Server `fluct-server` number n is added.
    ServerArrives(u32),
    /// The server with this number is removed.
    ServerDeparts(u32),
    /// Additional MAC address n is added (`fluct-table`).
    MacArrives(u32),
    /// The MAC address with this number is removed.
    MacDeparts(u32),
    /// Additional route n is added (`fluct-l3-table`).
    RouteArrives(u32),
    /// The route with this number is removed.
    RouteDeparts(u32),
    /// Recorded update n is applied.
    RouteUpdate(u32),
    /// Entry n of the group table changes its addresses (`fluct-group-table`), revision m.
    GroupChanges {
        /// Number of the entry.
        entry: u32,
        /// Number of the change, which selects the addresses. 0: the configured addresses.
        revision: u32,
    },
}

/// An event with its time and its table changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Time since the start of its second, in nanoseconds.
    pub at_ns: u64,
    /// The event to apply to an oracle.
    pub what: EventKind,
    /// The changes to apply to a switch.
    pub changes: Vec<Change>,
}
