//! The user plane of a cell, simulated slot by slot: radio, scheduler, RLC, traffic control and flows.
//!
//! A [`Cell`] has a [`Carrier`] and UEs. Each UE has a [`Channel`], an RLC bearer in each direction, and flows.
//! Slices divide the carrier ([`SliceSet`]), a [`UeScheduler`] divides a slice, and [`TcCommand`]s shape the traffic
//! of a bearer. Controllers receive [`UeReport`], [`SliceStats`] and [`TcStats`], and send [`Command`]s.
//!
//! Slots and packets are simulated one by one. Random numbers depend on a counter instead of the order of draws
//! (`random`), and functions that differ between machines are not used (`math`). A run is therefore reproducible to
//! the last bit on any machine.
mod apply;
mod carrier;
mod cell;
mod channel;
mod command;
mod flow;
mod fluid;
mod fluid_read;
mod fluid_source;
mod histogram;
mod leg;
mod math;
mod mcs;
mod network;
mod path_loss;
mod random;
mod read;
mod rlc;
mod slice;
mod tbs_lte;
mod tbs_nr;
mod tc;
mod ue;
mod ue_scheduler;

pub use carrier::{Carrier, CarrierError, Direction, Duplex, Rat};
pub use cell::{Cell, CellConfig, CellError, EVENTS_MAX, UES_MAX, WIRE_US_MAX};
pub use channel::{Channel, ChannelError, jakes};
pub use command::{ALLOCATE_AHEAD_MAX, Allocation, Association, Command, Refusal, SliceAllocation};
pub use flow::{FiveTuple, FlowConfig, FlowError, FlowStats, PACKET_BYTES_MAX, RECEIVE_WINDOW_MAX, Traffic};
pub use fluid::{FluidCell, FluidStats, STEP_SLOTS_MAX};
pub use histogram::{Histogram, Sojourn};
pub use mcs::{CQI_MAX, MCS_MAX, McsTable, block_error_rate, lte_i_tbs_up};
pub use network::{CELLS_MAX, MEASURE_US, Measured, Network, NetworkConfig, NetworkError};
pub use path_loss::Environment;
pub use rlc::{BUFFER_BYTES_MAX, BUFFER_SDUS_MAX, RlcConfig, RlcMode};
pub use slice::{
    DEADLINE_MAX, LABEL_MAX, SLICES_MAX, SliceAlgorithm, SliceError, SliceParams, SliceSet, SliceSpec,
    SliceStats,
};
pub use tbs_lte::{LTE_PRBS_MAX, lte_tbs};
pub use tbs_nr::{NrBlock, nr_tbs};
pub use tc::{
    Filter, Pacer, Policer, QUEUE_BYTES_MAX, QUEUE_PACKETS_MAX, QUEUES_MAX, QueueKind, QueueReport,
    QueueSpec, QueueStats, QueueView, RATE_KBPS_MAX, RULES_MAX, Rule, Shaper, StageRole, TcCommand, TcError,
    TcScheduler, TcStage, TcStats,
};
pub use ue::{
    AttachError, FLOWS_MAX, Plmn, RrcEvent, RrcKind, Snssai, Sojourns, UeConfig, UeContext, UeReport,
};
pub use ue_scheduler::UeScheduler;
