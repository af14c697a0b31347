//! Commands that a controller may send to a cell, and the reasons to reject one. A rejected command changes
//! nothing.

use super::carrier::Direction;
use super::slice::{SliceError, SliceSet, SliceSpec};
use super::tc::{TcCommand, TcError};

/// A command to a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Replaces algorithm, sharing and slices of a direction. UEs of removed slices join the first slice.
    Slices(Direction, SliceSet),
    /// Adds slices, or replaces slices with the same identity.
    AddSlices(Direction, Vec<SliceSpec>),
    /// Removes slices. Their UEs join the first slice.
    DeleteSlices(Direction, Vec<u32>),
    /// Moves UEs to other slices.
    Associate(Vec<Association>),
    /// Changes the traffic control of one UE (by C-RNTI), or of all UEs.
    Tc(Option<u16>, TcCommand),
    /// Sets the allocations of a slot, for slices whose UE scheduler is `Remote`.
    Allocate(Direction, u64, Vec<Allocation>),
    /// Sets allocations for one slice in some slots. Allocations of other slices do not change.
    AllocateSlice(SliceAllocation),
}

/// Allocations in a slice whose UE scheduler is `Remote`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceAllocation {
    /// Direction of the allocation.
    pub direction: Direction,
    /// Identity of the slice.
    pub slice: u32,
    /// First slot; `None`: the next slot in which the slice has no allocation.
    pub slot: Option<u64>,
    /// Number of consecutive slots.
    pub slots: u16,
    /// Allocations to UEs of the slice. Other UEs get no PRBs.
    pub allocations: Vec<Allocation>,
}

/// Slices of a UE; `None` leaves a direction unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Association {
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// New slice in the downlink.
    pub down: Option<u32>,
    /// New slice in the uplink.
    pub up: Option<u32>,
}

/// PRBs for a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// Number of PRBs, from 1 to the number of the carrier.
    pub prbs: u16,
    /// MCS; `None`: chosen by the cell's link adaptation.
    pub mcs: Option<u8>,
}

/// Maximum number of slots between the next slot and an allocation.
pub const ALLOCATE_AHEAD_MAX: u64 = 64;

/// Reason why a command was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The slices are invalid.
    #[error(transparent)]
    Slices(#[from] SliceError),
    /// The traffic control is invalid.
    #[error(transparent)]
    Tc(#[from] TcError),
    /// The UE is not in the cell.
    #[error("there is no UE with C-RNTI {0}")]
    NoUe(u16),
    /// The allocation is too late or too early.
    #[error(
        "slot {slot} cannot be allocated at slot {now}: 0 to {ALLOCATE_AHEAD_MAX} slots ahead are allowed"
    )]
    Deadline {
        /// Slot of the allocation.
        slot: u64,
        /// The next slot of the cell.
        now: u64,
    },
    /// The slice's UEs are scheduled by the cell.
    #[error("slots of slice {0} cannot be allocated, because its UE scheduler is not remote")]
    NotRemote(u32),
    /// The UE is in another slice.
    #[error("UE {rnti} is not in slice {slice}")]
    NotIn {
        /// C-RNTI of the UE.
        rnti: u16,
        /// Slice in which the UE is not.
        slice: u32,
    },
    /// The slot already has an allocation.
    #[error("slot {0} already has an allocation")]
    Allocated(u64),
    /// The allocation has too many PRBs, no PRBs, or an invalid MCS.
    #[error("an allocation must have 1 to {prbs} PRBs in all and MCS 0 to {mcs}")]
    Allocation {
        /// Number of PRBs of the carrier.
        prbs: u16,
        /// Highest MCS of the carrier's table.
        mcs: u8,
    },
}
