//! Commands that a controller may send to a cell, and the reasons to reject one. A rejected command changes
//! nothing.

use super::carrier::Direction;
use super::slice::{SliceError, SliceSet, SliceSpec};
use super::tc::{TcCommand, TcError};

/// A command to a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Replaces algorithm, sharing and slices of a direction. UEs of removed slices join the first.
    Slices(Direction, SliceSet),
    /// Adds slices or replaces those of the same identity.
    AddSlices(Direction, Vec<SliceSpec>),
    /// Removes slices; their UEs join the first.
    DeleteSlices(Direction, Vec<u32>),
    /// Moves UEs to slices.
    Associate(Vec<Association>),
    /// Changes the traffic control of a UE (by C-RNTI), or of all of them.
    Tc(Option<u16>, TcCommand),
    /// Sets the allocations of a slot, if the UE scheduler is `Remote`.
    Allocate(Direction, u64, Vec<Allocation>),
    /// Allocations for one slice and some slots. Allocations of other slices stay as they are.
    AllocateSlice(SliceAllocation),
}

/// Allocations in a slice whose UE scheduler is `Remote`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceAllocation {
    /// Direction.
    pub direction: Direction,
    /// Slice.
    pub slice: u32,
    /// The first slot; `None`: the next one without an allocation for the slice.
    pub slot: Option<u64>,
    /// Number of consecutive slots.
    pub slots: u16,
    /// UEs of the slice; others get no PRBs.
    pub allocations: Vec<Allocation>,
}

/// A UE and its slices; `None` leaves a direction unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Association {
    /// C-RNTI.
    pub rnti: u16,
    /// Slice of the downlink.
    pub down: Option<u32>,
    /// Slice of the uplink.
    pub up: Option<u32>,
}

/// PRBs for a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// C-RNTI.
    pub rnti: u16,
    /// PRBs, 1 to the carrier's.
    pub prbs: u16,
    /// MCS; `None` leaves it to the cell's link adaptation.
    pub mcs: Option<u8>,
}

/// Maximum number of slots between the present and an allocation.
pub const ALLOCATE_AHEAD_MAX: u64 = 64;

/// Reason why a command was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Invalid slices.
    #[error(transparent)]
    Slices(#[from] SliceError),
    /// Invalid traffic control.
    #[error(transparent)]
    Tc(#[from] TcError),
    /// No such UE in the cell.
    #[error("there is no UE with C-RNTI {0}")]
    NoUe(u16),
    /// A decision that is too late, or too early.
    #[error(
        "slot {slot} cannot be allocated at slot {now}: 0 to {ALLOCATE_AHEAD_MAX} slots ahead are allowed"
    )]
    Deadline {
        /// Slot of the allocation.
        slot: u64,
        /// The next slot of the cell.
        now: u64,
    },
    /// Its UEs are scheduled by the cell.
    #[error("slice {0} is not scheduled from outside: its UE scheduler is not remote")]
    NotRemote(u32),
    /// The UE is in another slice.
    #[error("UE {rnti} is not in slice {slice}")]
    NotIn {
        /// C-RNTI.
        rnti: u16,
        /// Slice.
        slice: u32,
    },
    /// Allocated already.
    #[error("slot {0} has its allocation already")]
    Allocated(u64),
    /// Too many PRBs, no PRBs, or an invalid MCS.
    #[error("an allocation has 1 to {prbs} PRBs in all and MCS 0 to {mcs}")]
    Allocation {
        /// PRBs of the carrier.
        prbs: u16,
        /// Highest MCS of the table.
        mcs: u8,
    },
}
