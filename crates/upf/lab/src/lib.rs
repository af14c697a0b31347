//! Experiments with user plane functions (UPFs). Contains a UPF on sockets and XDP ([`upf`]), a load generator that emulates SMFs, base
//! stations and a data network ([`load`]), conformance checks clause by clause ([`check`]), and the rig `upf`. This crate depends on the
//! base crates and on the protocol crate `upf`.

pub mod check;
mod components;
mod fields;
pub mod load;
mod n3_ring;
mod rig;
pub mod upf;
pub mod verbs;

pub use components::UPF;
pub use components::load::{
    BitRate, Calibration, Cpus, LoadArrivals, LoadMode, LoadRole, NetworkSummary, PacketRate, PacketsReached,
    UpfLoad, UpfLoadComponent, UpfLoadReport, data_network, run_data_network,
};
pub use components::upf::{Upf, UpfComponent, UpfDesign, UpfListening, UpfSummary, XdpSummary};
pub use fields::UpfNames;
pub use rig::GATE;
