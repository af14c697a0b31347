//! Emulated E2 nodes: identities and units of a base station ([`node`]), its RAN functions ([`functions`]), its radio ([`radio`])
//! and its statistics ([`stats`]). Pure: time is an argument, and nothing waits. Imports the E2 machines and `radio`.
#![deny(missing_docs)]

pub mod functions;
pub mod node;
pub mod radio;
pub mod stats;
pub mod text;

pub use radio::TICK as RADIO_TICK;
pub use text::{Fading, RadioSettings, Spell, Spelled, StageKey};
