//! Interface to the cell under an agent: its reports and its commands.
use super::Radio;
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceSet};
use std::fmt;

/// Allocation of resource blocks of a subframe to a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// C-RNTI of the UE.
    pub rnti: u16,
    /// Number of resource blocks in each slot of the subframe.
    pub prbs: u16,
    /// MCS of the transmission. `None`: the cell chooses it.
    pub mcs: Option<u8>,
}

/// A cell that an agent reports, and that its controller controls. A rejected command changes nothing. Slices are described by types of the
/// E2 service model SLICE, because all protocols configure the same scheduler.
pub trait CellControl: fmt::Debug {
    /// Returns the number of resource blocks of the downlink.
    fn prbs(&self) -> u16;

    /// Returns the next subframe, in ms since the cell started.
    fn subframe(&self) -> u64;

    /// Returns the current radio state of a UE.
    fn ue(&self, rnti: u16) -> Option<Radio>;

    /// Returns the slice set of the downlink.
    fn set(&self) -> SliceSet;

    /// Returns the slice of a UE.
    fn slice_of(&self, rnti: u16) -> Option<u16>;

    /// Executes a command about slices.
    ///
    /// # Errors
    /// The cell cannot execute it.
    fn command(&mut self, command: &SliceCommand) -> Result<(), Refusal>;

    /// Sets the allocations of a downlink subframe, if a controller schedules the UEs.
    ///
    /// # Errors
    /// The decision is late, a UE does not exist, or the cell has too few resource blocks.
    fn allocate(&mut self, subframe: u64, allocations: &[Allocation]) -> Result<(), Refusal>;
}
