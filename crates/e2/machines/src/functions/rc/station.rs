//! Interface between the RC function and the base station.
use crate::Time;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_e2_codec::e2sm::rc::RrcState;
use ranlab_e2_codec::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::messages::CopiedMessage;
use ranlab_e2_codec::e2sm::rc::neighbours::NeighbourRelations;
use ranlab_e2_codec::e2sm::rc::reports::HandedOver;

/// Quotas by which slices share both directions of a carrier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CarrierQuotas {
    /// Quotas of the downlink.
    pub down: Vec<SliceQuota>,
    /// Quotas of the uplink.
    pub up: Vec<SliceQuota>,
}

impl CarrierQuotas {
    /// Returns the quotas that result from an order, which applies to both directions.
    pub fn merge(&self, order: &[SliceQuota]) -> Self {
        Self { down: SliceQuota::merge(&self.down, order), up: SliceQuota::merge(&self.up, order) }
    }
}

/// Base station behind the function.
pub trait RcControl: Send {
    /// Executes an order completely or not at all; `number` is the number of the UE in the control header.
    ///
    /// # Errors
    /// Returns an error if the base station cannot execute the order.
    fn execute(&mut self, now: Time, number: u32, order: &Order) -> Result<(), Refusal>;

    /// Replaces all quotas. The default executes the downlink quotas as an order, for base stations that do not distinguish directions.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the quotas are contradictory or name unknown slices.
    fn share(&mut self, now: Time, number: u32, quotas: &CarrierQuotas) -> Result<(), Refusal> {
        self.execute(now, number, &Order::SliceQuotas(quotas.down.clone()))
    }

    /// Returns whether the RRC states of UEs are known. If so, reports and inserts are offered.
    fn knows_rrc(&self) -> bool {
        false
    }

    /// Returns the quotas by which slices share the carrier. They are empty if the carrier is not shared. Returns
    /// `None` if it is shared by other means; policies then have no effect.
    fn quotas(&mut self) -> Option<CarrierQuotas> {
        None
    }

    /// Checks whether an order could be executed, without executing it.
    ///
    /// # Errors
    /// Returns an error if the order is contradictory or can never be executed.
    fn could(&self, order: &Order) -> Result<(), Refusal> {
        let _ = order;
        Ok(())
    }

    /// Returns the RRC states of the UEs, or `None` if they are not [known](Self::knows_rrc).
    fn mobility(&mut self) -> Option<&mut dyn RcMobility> {
        None
    }
}

/// RRC states of the UEs of a base station, and its pending handovers.
pub trait RcMobility {
    /// Returns the identifier that this type of node uses for a UE, given its number (its C-RNTI).
    fn name(&self, number: u32) -> Name;

    /// Returns number and cell of each connected UE.
    fn ues(&mut self) -> Vec<(u32, Cgi)>;

    /// Returns the selected slices of a UE.
    fn slices(&mut self, number: u32) -> Vec<Snssai>;

    /// Returns the cells.
    fn cells(&mut self) -> Vec<Cgi>;

    /// Returns the neighbours of a cell, or `None` if the cell has no neighbours or they are unknown.
    fn neighbours(&mut self, cell: &Cgi) -> Option<NeighbourRelations> {
        let _ = cell;
        None
    }

    /// Returns the events since the last call, oldest first.
    fn events(&mut self, now: Time) -> Vec<RcEvent>;

    /// Returns the handovers that the base station has decided on since the last call: numbers of UEs and target
    /// cells. Unless a policy or controller rejects them, [`RcControl::execute`] executes them.
    fn decisions(&mut self, now: Time) -> Vec<(u32, NrCgi)>;

    /// Returns whether the base station will decide on further handovers by itself.
    fn decides(&self) -> bool;
}

/// An event about a UE or a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RcEvent {
    /// A UE entered an RRC state.
    State {
        /// Number of the UE.
        number: u32,
        /// New state.
        state: RrcState,
    },
    /// A UE sent or received an RRC message.
    Message {
        /// Number of the UE.
        number: u32,
        /// Message.
        said: CopiedMessage,
    },
    /// The neighbours of a cell changed, or the information about them did.
    Neighbours(Cgi),
    /// A UE was handed over to another cell.
    HandedOver {
        /// Number of the UE in the source cell.
        number: u32,
        /// Result of the handover.
        told: Box<HandedOver>,
    },
}
