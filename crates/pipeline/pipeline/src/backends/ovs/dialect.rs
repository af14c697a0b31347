//! Differences between the flows for our own bridge and those for a third-party switch: the same tables in different
//! encodings.

use crate::backends::{BackendRequest, port_name, port_number};
use crate::declare::{Direction, Port};

/// Prefix ("rla") of the cookies of all flows at a third-party switch, by which they are found and removed.
pub const COOKIE: u64 = 0x726c_6100_0000_0000;
/// Mask of [`COOKIE`].
pub const COOKIE_MASK: u64 = 0xffff_ff00_0000_0000;
/// First number of our groups ("RL"), which have no cookies. There are at most [`GROUPS_MAX`].
pub const FIRST_GROUP: u32 = 0x524c_0000;
/// See [`FIRST_GROUP`].
pub const GROUPS_MAX: u32 = 1 << 16;
/// First of our tables at a third-party switch, after the table in which all packets begin.
pub const FIRST_TABLE: u32 = 1;

/// The kind of switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Our own bridge: registers, our numbers for ports and groups, and tables with gaps between them.
    Own,
    /// A third-party switch that supports at least OpenFlow 1.3: metadata, no more tables than needed, port names that
    /// the sender replaces by the switch's numbers, cookies, and group numbers that do not collide with others.
    Any,
}

impl Dialect {
    /// Returns the first table of a direction. Table 0 selects the direction.
    pub(super) fn base(self, asked: &BackendRequest<'_>, direction: Direction) -> u32 {
        match (self, direction) {
            (Self::Own, Direction::Uplink) => 10,
            (Self::Own, Direction::Downlink) => 60,
            (Self::Any, _) => {
                let before = asked.directions.iter().take_while(|one| **one != direction);
                let tables = before.map(|one| asked.declaration.path(*one).blocks.iter().flatten().count());
                FIRST_TABLE + tables.sum::<usize>() as u32
            }
        }
    }

    /// Returns the beginning of a flow: its cookie.
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

    /// Returns a port.
    pub(super) fn port(self, port: Port) -> String {
        match self {
            Self::Own => port_number(port).to_string(),
            Self::Any => port_name(port).to_owned(),
        }
    }

    /// Returns the group of a next hop.
    pub(super) const fn group(self, hop: u32) -> u32 {
        match self {
            Self::Own => hop + 1,
            Self::Any => FIRST_GROUP + hop,
        }
    }

    /// Returns the match for packets of a user.
    pub(super) fn user(self, user: u32) -> String {
        match self {
            Self::Own => format!("reg0={user}"),
            Self::Any => format!("metadata={}", high(user)),
        }
    }

    /// Returns the match for packets to a next hop.
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
            // OFPVID_NONE in OpenFlow.
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
