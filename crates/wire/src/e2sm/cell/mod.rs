//! CELL: the load of a base station's cells, a statistics model of this project. No peer knows it, so it is offered and
//! watched only where it is named.
//!
//! It has the form of FlexRIC's models: event trigger, indication header and list of elements as in
//! [`plain`](super::plain), a [`CellLoad`] each. "Aggregated" counters run since the cell began.

mod plain;

pub use plain::CellView;

use std::convert::Infallible;

use super::RowKey;
use super::octets::octets;
use super::plain::{Plain, statistics_model};
use super::table::row;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.141.0";
/// The RAN function id that this project's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 141;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"CELL_STATS_V0";
/// The RAN function revision that this project's agents announce.
pub const REVISION: u16 = 1;
/// Other projects' controllers do not know it.
pub const CUSTOMARY: bool = false;
/// Octets of one cell in the plain encoding.
pub const CELL_SIZE: usize = 64;

statistics_model! {
    /// The load of cells: the model.
    CellStats: "cell", CellIndication { cells: CellLoad }, Infallible
}
octets! { CellIndication: Plain => Plain; }

/// The load of all cells of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CellIndication {
    /// One entry for each cell.
    pub cells: Vec<CellLoad>,
    /// When the statistics were taken, microseconds since the Unix epoch.
    pub tstamp_us: i64,
}

row! {
    /// The load of one cell. UEs are those that the asking controller may see.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    CellLoad, _cell => RowKey::Node, {
        /// Aggregated resource blocks that the cell had to give, in each direction.
        aggr_prb: u64 [counter],
        /// Aggregated downlink resource blocks given to UEs, retransmissions included.
        dl_aggr_prb: u64 [counter headline],
        /// Aggregated uplink resource blocks given to UEs, retransmissions included.
        ul_aggr_prb: u64 [counter headline],
        /// Aggregated downlink transport block sizes, bytes.
        dl_aggr_tbs: u64 [counter "B" headline],
        /// Aggregated uplink transport block sizes, bytes.
        ul_aggr_tbs: u64 [counter "B" headline],
        /// Bytes that wait for the downlink.
        dl_queue_bytes: u64 [gauge "B" headline],
        /// Bytes that wait for the uplink.
        ul_queue_bytes: u64 [gauge "B"],
        /// Resource blocks of a slot, in each direction.
        prb: u16 [gauge],
        /// The cell's number at its node.
        cell_id: u16 [label],
        /// Connected UEs.
        ues: u16 [gauge headline],
    }
}
