//! The tables of components, by domain.

pub mod e2;
pub mod sdran;

use ranlab_lab::Registry;
use ranlab_lab::base::BASE;

/// The domains of this crate, and the base.
pub const REGISTRY: Registry = Registry(&[&BASE, &e2::E2, &sdran::SDRAN]);
