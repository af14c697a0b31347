//! The rigs of E2, and functions that several rigs use.

pub mod controller;
pub mod e2_keys;
pub mod footprint;
pub mod radio;
pub mod sut;
pub mod tenants;
pub mod virtual_time;
