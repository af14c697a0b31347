//! The tables of components, by domain.

pub mod e2;
pub mod sdran;
pub mod upf;

use ranlab_lab::Registry;
use ranlab_lab::base::BASE;

/// All domains.
pub const REGISTRY: Registry =
    Registry(&[&BASE, &e2::E2, &sdran::SDRAN, &upf::UPF]);
