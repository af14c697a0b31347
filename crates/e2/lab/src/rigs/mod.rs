//! The rigs of E2, and what they share.

pub mod controller;
pub mod e2_keys;
pub mod footprint;
pub mod radio;
pub mod sut;
pub mod tenants;
pub mod virtual_time;
