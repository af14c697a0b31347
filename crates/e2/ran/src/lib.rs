//! Emulated E2 nodes: identities and units of a base station ([`node`]), its RAN functions ([`functions`]), its radio
//! ([`radio`]) and its statistics ([`stats`]).
//!
//! The crate performs no I/O and reads no clock: time is an argument. It is based on the E2 machines and on `ranlab_radio`.
#![deny(missing_docs)]

pub mod functions;
pub mod node;
pub mod radio;
pub mod stats;
pub mod text;

pub use radio::TICK as RADIO_TICK;
pub use text::{Fading, RadioSettings, Spell, Spelled, StageKey};
