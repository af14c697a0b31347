//! Differences between the flows for ranlab's bridge and the flows for a third-party switch. Both have the same tables
//! in different encodings.

use crate::backends::{BackendRequest, port_name, port_number};
use crate::declare::{Direction, Port};

/// Prefix ("rla") of the cookies of all flows at a third-party switch, by which they are found and removed.
pub const COOKIE: u64 = 0x726c_6100_0000_0000;
/// Mask of [`COOKIE`].
pub const COOKIE_MASK: u64 = 0xffff_ff00_0000_0000;
/// First number of ranlab's groups ("RL"), which have no cookies. There are at most [`GROUPS_MAX`].
pub const FIRST_GROUP: u32 = 0x524c_0000;
/// Maximum number of groups, counted from [`FIRST_GROUP`].
pub const GROUPS_MAX: u32 = 1 << 16;
/// First of ranlab's tables at a third-party switch. Table 0 precedes it and receives all packets.
pub const FIRST_TABLE: u32 = 1;

/// The kind of switch, which determines the encoding of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// ranlab's bridge: registers, ranlab's numbers for ports and groups, and tables with gaps between them.
    Own,
    /// A third-party switch that supports at least OpenFlow 1.3.
    ///
    /// Its flows use metadata instead of registers, and no more tables than needed. All flows have a cookie, and group
    /// numbers do not collide with the groups of other programs. The sender of the configuration replaces port names by
    /// the switch's port numbers.
    Any,
}

impl Dialect {
    /// Returns the first table of a direction. Table 0 selects the direction.
    pub(super) fn base(self, request: &BackendRequest<'_>, direction: Direction) -> u32 {
        match (self, direction) {
            (Self::Own, Direction::Uplink) => 10,
            (Self::Own, Direction::Downlink) => 60,
            (Self::Any, _) => {
                let before = request.directions.iter().take_while(|one| **one != direction);
                let tables = before.map(|one| request.declaration.path(*one).blocks.iter().flatten().count());
                FIRST_TABLE + tables.sum::<usize>() as u32
            }
        }
    }

    /// Returns the beginning of a flow's text, which sets the cookie.
    pub(super) fn cookie(self) -> String {
        match self {
            Self::Own => String::new(),
            Self::Any => format!("cookie={COOKIE:#x},"),
        }
    }

    /// Returns the cookie match for removing a flow.
    pub(super) fn cookie_mask(self) -> String {
        match self {
            Self::Own => String::new(),
            Self::Any => format!("cookie={COOKIE:#x}/{COOKIE_MASK:#x},"),
        }
    }

    /// Returns the text that denotes a port.
    pub(super) fn port(self, port: Port) -> String {
        match self {
            Self::Own => port_number(port).to_string(),
            Self::Any => port_name(port).to_owned(),
        }
    }

    /// Returns the group number of a next hop.
    pub(super) const fn group(self, hop: u32) -> u32 {
        match self {
            Self::Own => hop + 1,
            Self::Any => FIRST_GROUP + hop,
        }
    }

    /// Returns the match for packets of a user ([`Self::note_user`]).
    pub(super) fn user(self, user: u32) -> String {
        match self {
            Self::Own => format!("reg0={user}"),
            Self::Any => format!("metadata={}", high(user)),
        }
    }

    /// Returns the match for packets to a next hop ([`Self::note_hop`]).
    pub(super) fn hop(self, hop: u32) -> String {
        match self {
            Self::Own => format!("reg1={hop}"),
            Self::Any => format!("metadata={}", low(hop)),
        }
    }

    /// Returns the action that records a packet's user.
    pub(super) fn note_user(self, user: u32) -> String {
        match self {
            Self::Own => format!("set_field:{user}->reg0"),
            Self::Any => format!("write_metadata:{}", high(user)),
        }
    }

    /// Returns the action that records a packet's next hop.
    pub(super) fn note_hop(self, hop: u32) -> String {
        match self {
            Self::Own => format!("set_field:{hop}->reg1"),
            Self::Any => format!("write_metadata:{}", low(hop)),
        }
    }

    /// Returns the match for frames without a VLAN tag.
    pub(super) const fn untagged(self) -> &'static str {
        match self {
            Self::Own => "vlan_tci=0x0000/0x1000",
            // The value and mask of OFPVID_NONE in OpenFlow.
            Self::Any => "vlan_tci=0x0000/0x1fff",
        }
    }
}

fn high(user: u32) -> String {
    format!("{:#x}/0xffffffff00000000", u64::from(user) << 32)
}

fn low(hop: u32) -> String {
    format!("{hop:#x}/0xffffffff")
}
