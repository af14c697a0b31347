use super::{
    ExactId, Nat, NatId, NatKey, NextHop, NextHopId, Prefix4, Prefix6, RouteId, TunnelId, User, UserId,
};

/// One modification of a table. A backend applies the changes of one event together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Sets or removes an exact match.
    Exact {
        /// The table.
        table: ExactId,
        /// The key.
        key: u64,
        /// The new value; none removes the key.
        value: Option<u32>,
    },
    /// Sets or removes an IPv4 prefix.
    Route4 {
        /// The table.
        table: RouteId,
        /// The prefix.
        prefix: Prefix4,
        /// The new next hop; none removes the prefix.
        next_hop: Option<NextHopId>,
    },
    /// Sets or removes an IPv6 prefix.
    Route6 {
        /// The table.
        table: RouteId,
        /// The prefix.
        prefix: Prefix6,
        /// The new next hop; none removes the prefix.
        next_hop: Option<NextHopId>,
    },
    /// Sets or removes a translation.
    Translation {
        /// The table.
        table: NatId,
        /// From.
        key: NatKey,
        /// To; none removes the key.
        value: Option<Nat>,
    },
    /// Sets an entry of the group table; the next free id adds one.
    NextHop {
        /// The entry.
        id: NextHopId,
        /// What it becomes.
        value: NextHop,
    },
    /// Sets a user with a full token bucket; the next free id adds one.
    User {
        /// The user.
        id: UserId,
        /// What it becomes.
        value: User,
    },
    /// Moves a user to another tunnel; its meter goes on.
    Attach {
        /// The user.
        user: UserId,
        /// Its new tunnel.
        tunnel: TunnelId,
    },
}

/// What happens to a running pipeline, as the published configurations name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Happening {
    /// User `fluct-user` number n arrives.
    UserArrives(u32),
    /// It departs.
    UserDeparts(u32),
    /// User n moves to base station m (`handover`).
    Handover {
        /// The user.
        user: u32,
        /// The base station that serves it from now on.
        to: u32,
    },
    /// Server `fluct-server` number n appears.
    ServerArrives(u32),
    /// It disappears.
    ServerDeparts(u32),
    /// An additional MAC address n appears (`fluct-table`).
    MacArrives(u32),
    /// It disappears.
    MacDeparts(u32),
    /// An additional route n appears (`fluct-l3-table`).
    RouteArrives(u32),
    /// It disappears.
    RouteDeparts(u32),
    /// Entry n of the group table changes its addresses (`fluct-group-table`), revision m.
    GroupChanges {
        /// The entry.
        entry: u32,
        /// Distinguishes successive addresses; 0 is the configured one.
        revision: u32,
    },
}

/// A happening, when, and what it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Since the start of the second it belongs to, nanoseconds.
    pub at_ns: u64,
    /// What happens; the reference reads this.
    pub what: Happening,
    /// What a switch is told.
    pub changes: Vec<Change>,
}
