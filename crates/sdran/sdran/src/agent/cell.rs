//! The cell under an agent, if there is one: its reports and its commands.
use super::Radio;
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceSet};
use std::fmt;

/// Resource blocks of a subframe for a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// C-RNTI.
    pub rnti: u16,
    /// Resource blocks, in each slot of the subframe.
    pub prbs: u16,
    /// MCS; `None` leaves it to the cell.
    pub mcs: Option<u8>,
}

/// A cell that an agent reports and that its controller steers. A rejected command changes nothing. Slices
/// are in the terms of E2's SLICE model, whatever protocol the agent uses: there is one scheduler to
/// configure.
pub trait CellControl: fmt::Debug {
    /// Resource blocks of the downlink.
    fn prbs(&self) -> u16;

    /// The next subframe, in ms since the cell started.
    fn subframe(&self) -> u64;

    /// Current radio state of a UE.
    fn ue(&self, rnti: u16) -> Option<Radio>;

    /// The slice set of the downlink.
    fn set(&self) -> SliceSet;

    /// The slice of a UE.
    fn slice_of(&self, rnti: u16) -> Option<u16>;

    /// Executes a command about slices.
    ///
    /// # Errors
    /// The cell cannot execute it.
    fn command(&mut self, command: &SliceCommand) -> Result<(), Refusal>;

    /// Sets the allocations of a downlink subframe, if a controller schedules the UEs.
    ///
    /// # Errors
    /// The decision is late, there is no such UE, or there are fewer resource blocks.
    fn allocate(&mut self, subframe: u64, allocations: &[Allocation]) -> Result<(), Refusal>;
}
