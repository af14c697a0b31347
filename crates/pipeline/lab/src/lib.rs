//! Packet pipelines in experiments: ranlab's engine and other switches (`switches`), shared memory between programs
//! ([`memif`], `ring`), plug-ins, and the rig `pipeline`. Depends on the base crates and on `ranlab-pipeline`.

pub mod captured;
mod components;
pub mod memif;
mod pipeline;
mod plugin;
mod rig;
mod ring;
mod switches;
mod tipsy;
pub mod verbs;

pub use components::PIPELINE;
pub use pipeline::{Instructions, PipelineComponent};
pub use rig::{PATHS, Sent, sent};
pub use ring::{RingCounters, RingOutcome, RingTesterComponent};

/// Returns the first program that a switch requires and that is not installed.
#[must_use]
pub fn missing_program(backend: &dyn ranlab_pipeline::backends::Backend) -> Option<&'static str> {
    backend.programs().iter().copied().find(|program| switches::found(program).is_none())
}
