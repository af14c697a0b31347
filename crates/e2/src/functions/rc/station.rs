//! What the function asks of the base station behind it.
use crate::Time;
use ranlab_wire::e2sm::common::{Cgi, NrCgi, Snssai, UeId as Name};
use ranlab_wire::e2sm::control::Refusal;
use ranlab_wire::e2sm::rc::RrcState;
use ranlab_wire::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_wire::e2sm::rc::messages::Said;
use ranlab_wire::e2sm::rc::neighbours::NeighbourRelations;
use ranlab_wire::e2sm::rc::reports::HandedOver;

/// The base station behind the function.
pub trait RcControl: Send {
    /// Does what an order says, or nothing; `number` is the UE's that the header names.
    ///
    /// # Errors
    /// The base station cannot do this.
    fn obey(&mut self, now: Time, number: u32, order: &Order) -> Result<(), Refusal>;

    /// Whether it knows its UEs' states in RRC: reports and inserts are offered.
    fn knows_rrc(&self) -> bool {
        false
    }

    /// Quotas by which it shares its carrier among slices, none if it does not share it; `None` if it is shared by other
    /// means, which policies leave alone.
    fn quotas(&mut self) -> Option<Vec<SliceQuota>> {
        None
    }

    /// Whether it could do what an order says, were it to come.
    ///
    /// # Errors
    /// It contradicts itself, or asks for what there is never.
    fn could(&self, order: &Order) -> Result<(), Refusal> {
        let _ = order;
        Ok(())
    }

    /// What it knows of its UEs; `None` if it does not [know RRC](Self::knows_rrc).
    fn mobility(&mut self) -> Option<&mut dyn RcMobility> {
        None
    }
}

/// What a base station knows of its UEs' states, and which of them it is about to hand over.
pub trait RcMobility {
    /// What this type of node calls a UE, by its number (its C-RNTI).
    fn name(&self, number: u32) -> Name;

    /// UEs that are connected, by number, and the cell of each.
    fn ues(&mut self) -> Vec<(u32, Cgi)>;

    /// The slices that a UE chose.
    fn slices(&mut self, number: u32) -> Vec<Snssai>;

    /// Its cells.
    fn cells(&mut self) -> Vec<Cgi>;

    /// A cell's neighbours; `None` if it has none, or they are not known.
    fn neighbours(&mut self, cell: &Cgi) -> Option<NeighbourRelations> {
        let _ = cell;
        None
    }

    /// What happened since it was last asked, oldest first.
    fn events(&mut self, now: Time) -> Vec<RcEvent>;

    /// Handovers that it decided on by itself since it was last asked: UEs' numbers and the cells. They are carried out
    /// by [`RcControl::obey`] if nobody objects.
    fn decisions(&mut self, now: Time) -> Vec<(u32, NrCgi)>;

    /// Whether it will still decide on handovers by itself.
    fn decides(&self) -> bool;
}

/// What happened to a UE, or to its cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RcEvent {
    /// It came to a state in RRC.
    State {
        /// Its number.
        number: u32,
        /// The state.
        state: RrcState,
    },
    /// It said something in RRC, or was told.
    Message {
        /// Its number.
        number: u32,
        /// The message.
        said: Said,
    },
    /// The neighbours of a cell changed, or what is known of them.
    Neighbours(Cgi),
    /// It went to another cell.
    HandedOver {
        /// Its number here until then.
        number: u32,
        /// How that ended.
        told: Box<HandedOver>,
    },
}
