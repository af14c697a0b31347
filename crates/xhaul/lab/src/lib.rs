//! The transport network in experiments: a network of namespaces and cards on this machine ([`live`]), and the rig `xhaul`. This crate
//! depends on the base crates and the model crate `xhaul`.

mod components;
pub mod live;
mod rig;
pub mod verbs;

pub use components::XHAUL;
pub use live::XhaulComponent;
pub use rig::PATHS;
