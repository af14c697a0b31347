//! The tables of components, by domain.

pub mod e2;
pub mod pipeline;
pub mod sdran;
pub mod upf;

use ranlab_lab::component::Registry;

/// All domains.
pub const REGISTRY: Registry =
    Registry(&[&BASE, &e2::E2, &sdran::SDRAN, &upf::UPF, &pipeline::PIPELINE]);
