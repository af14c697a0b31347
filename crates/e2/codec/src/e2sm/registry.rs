//! Registry of the service models of a program: the models of this crate, and the models that the program adds.
use std::sync::OnceLock;

use super::{INSPECTED, Inspect, MODELS, Model};

static ADDED: OnceLock<&[&dyn Inspect]> = OnceLock::new();

/// The models of other crates can be added only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("service models have already been added; add all of them in one call")]
pub struct AlreadyExtended;

/// Adds models of other crates, so that agents, monitors, recorders, REST and flags know them like those of this
/// crate. A program calls this once, before anything else. A model of this crate takes precedence over an added one
/// with the same OID or name.
///
/// # Errors
/// Returns an error at the second call.
pub fn extend(models: &'static [&'static dyn Inspect]) -> Result<(), AlreadyExtended> {
    ADDED.set(models).map_err(|_| AlreadyExtended)
}

fn added() -> impl Iterator<Item = &'static dyn Inspect> + Clone {
    ADDED.get().copied().unwrap_or_default().iter().copied()
}

/// Returns all models: [`MODELS`], and the added ones.
pub fn models() -> impl Iterator<Item = &'static dyn Model> + Clone {
    MODELS.iter().copied().chain(added().map(|model| model as &dyn Model))
}

/// Returns all models like [`models`], with the operations that only test equipment needs: [`INSPECTED`], and the
/// added ones.
pub fn inspected() -> impl Iterator<Item = &'static dyn Inspect> + Clone {
    INSPECTED.iter().copied().chain(added())
}

/// Returns the model that nodes offer under this OID.
pub fn by_oid(oid: &str) -> Option<&'static dyn Model> {
    models().find(|model| model.is_called(oid))
}

/// Returns the models that are offered and monitored by default.
pub fn customary() -> impl Iterator<Item = &'static dyn Model> {
    models().filter(|model| model.customary())
}

/// Returns a list of names, for example `mac, rlc`.
pub fn names<'a>(models: impl IntoIterator<Item = &'a dyn Model>) -> String {
    models.into_iter().map(Model::name).collect::<Vec<_>>().join(", ")
}
