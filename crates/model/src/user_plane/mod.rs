//! The user plane of a cell, slot by slot: radio, scheduler, RLC, traffic control and the flows above.
mod carrier;
mod math;
mod mcs;
mod random;
mod tbs_lte;
mod tbs_nr;

pub use carrier::{Carrier, CarrierError, Direction, Duplex, Rat};
pub use mcs::{CQI_MAX, MCS_MAX, McsTable, block_error_rate, lte_i_tbs_up};
pub use tbs_lte::{LTE_PRBS_MAX, lte_tbs};
pub use tbs_nr::{NrBlock, nr_tbs};
