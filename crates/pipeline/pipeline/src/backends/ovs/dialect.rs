//! In what the flows of a bridge of our own and those of somebody else's switch differ: the same tables, said otherwise.

use crate::backends::{Asked, port_name, port_number};
use crate::declare::{Direction, Port};

/// Cookies of everything that is told to a switch of somebody else begin so ("rla"): by them it is found and taken away again.
pub const COOKIE: u64 = 0x726c_6100_0000_0000;
/// What of a cookie is [`COOKIE`].
pub const COOKIE_MASK: u64 = 0xffff_ff00_0000_0000;
/// Groups have no cookies: ours are those from this number ("RL") on, as many as [`GROUPS_MAX`].
pub const FIRST_GROUP: u32 = 0x524c_0000;
/// See [`FIRST_GROUP`].
pub const GROUPS_MAX: u32 = 1 << 16;
/// The first table of ours at a switch of somebody else, behind the table that all packets begin in.
pub const FIRST_TABLE: u32 = 1;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A bridge of our own: registers, ports and groups by numbers of ours, tables with room behind each.
    Own,
    /// A switch of somebody else, of which nothing is expected but OpenFlow 1.3: metadata, no more tables than are used, ports by
    /// names that whoever tells it replaces by its numbers, cookies, and groups out of others' way.
    Any,
}

impl Dialect {
    /// First table of a direction; table 0 tells directions apart.
    pub(super) fn base(self, asked: &Asked<'_>, direction: Direction) -> u32 {
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

    /// How a flow begins: its cookie.
    pub(super) fn cookie(self) -> String {
        match self {
            Self::Own => String::new(),
            Self::Any => format!("cookie={COOKIE:#x},"),
        }
    }

    /// What a flow that is taken away has as cookie, whatever else it matches.
    pub(super) fn cookie_mask(self) -> String {
        match self {
            Self::Own => String::new(),
            Self::Any => format!("cookie={COOKIE:#x}/{COOKIE_MASK:#x},"),
        }
    }

    /// A port.
    pub(super) fn port(self, port: Port) -> String {
        match self {
            Self::Own => port_number(port).to_string(),
            Self::Any => port_name(port).to_owned(),
        }
    }

    /// The group of a next hop.
    pub(super) const fn group(self, hop: u32) -> u32 {
        match self {
            Self::Own => hop + 1,
            Self::Any => FIRST_GROUP + hop,
        }
    }

    /// Matches packets of a user.
    pub(super) fn user(self, user: u32) -> String {
        match self {
            Self::Own => format!("reg0={user}"),
            Self::Any => format!("metadata={}", high(user)),
        }
    }

    /// Matches packets to a next hop.
    pub(super) fn hop(self, hop: u32) -> String {
        match self {
            Self::Own => format!("reg1={hop}"),
            Self::Any => format!("metadata={}", low(hop)),
        }
    }

    /// Notes a packet's user.
    pub(super) fn note_user(self, user: u32) -> String {
        match self {
            Self::Own => format!("set_field:{user}->reg0"),
            Self::Any => format!("write_metadata:{}", high(user)),
        }
    }

    /// Notes where a packet goes next.
    pub(super) fn note_hop(self, hop: u32) -> String {
        match self {
            Self::Own => format!("set_field:{hop}->reg1"),
            Self::Any => format!("write_metadata:{}", low(hop)),
        }
    }

    /// Matches frames without a tag.
    pub(super) const fn untagged(self) -> &'static str {
        match self {
            Self::Own => "vlan_tci=0x0000/0x1000",
            // What OpenFlow calls OFPVID_NONE.
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
