//! Radio model in virtual time: the same seed gives the same result on any machine.
//!
//! A [`Cell`] contains its UEs ([`UeState`]) and advances to a time that the caller gives; no type here has a clock.
//! All arithmetic of this model uses integers, and all randomness comes from one seeded ChaCha generator per cell. A
//! cell is therefore a function of its configuration and of the times to which it was advanced.
#![deny(missing_docs)]

mod cell;
mod fixed;
mod link;
mod radio;
mod ue;
pub mod user_plane;

pub use cell::{CELL_UES_MAX, Cell, CellConfig, CellError, PRBS_MAX, RATE_KBPS_MAX, SLOTS_US};
pub use link::{
    HARQ_ROUNDS, LinkStats, MAC_HEADER_BYTES, QUEUE_BYTES_MAX, RLC_HEADER_BYTES, RLC_STATUS_BYTES,
};
pub use radio::{RadioStats, Snr};
pub use ue::{PDCP_HEADER_BYTES, PdcpStats, RNTI_MAX, RlcReceptionStats, UeIdentity, UeState};
