//! RAN functions of emulated nodes: a [`StationFunction`] per service model, and the table of all of them ([`FUNCTIONS`]).
mod association;
mod ccc;
mod hw;
mod kpm;
mod ni;
mod rc;
mod rrc;
mod slice;
mod statistics;
mod traffic;

pub use rc::hands_over;
pub(crate) use statistics::Statistics;

use crate::node::{NodeTemplate, Unit};
use crate::stats::{self, CellSource, UnknownName};
use ranlab_e2::agent::RanFunction;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, RanFunctionId};
use ranlab_e2_codec::e2sm::Model;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// The agent's half of a service model. It decides which nodes offer the RAN function, and creates the function.
pub trait StationFunction: Sync {
    /// Returns the service model, or `None` for a function that monitors do not support.
    fn model(&self) -> Option<&'static dyn Model>;

    /// Returns the usual RAN function id.
    fn id(&self) -> RanFunctionId {
        self.model().map_or(0, Model::default_function_id)
    }

    /// Returns the unit of a split base station that offers the function, or `None` if each unit offers it.
    fn unit(&self) -> Option<Unit> {
        None
    }

    /// Returns whether nodes offer the function only if it is named in the configuration.
    fn is_selectable(&self) -> bool {
        true
    }

    /// Returns whether every controller may use the function. Otherwise unknown controllers do not see it.
    fn is_open(&self) -> bool {
        true
    }

    /// Returns what the function requires of a base station.
    fn requires(&self) -> Requires {
        Requires::default()
    }

    /// Returns whether the node offers the function even if it is not named, because it belongs to a named function.
    fn comes_with(&self, station: &StationContext<'_>) -> bool {
        let _ = station;
        false
    }

    /// Creates the function. Returns `None` if this node lacks the radio or cell that the function needs.
    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>>;

    /// Returns whether the function is woken when it is registered, so that it watches the base station from the start.
    fn is_woken(&self) -> bool {
        false
    }
}

/// Requirements of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requires {
    /// A radio that is simulated slot by slot.
    pub radio: bool,
    /// An NR base station: a gNB, complete or split.
    pub nr: bool,
}

/// The node that offers functions.
pub struct StationContext<'a> {
    /// Settings of all nodes.
    pub(crate) template: &'a NodeTemplate,
    /// Identity of the node.
    pub node: GlobalE2NodeId,
    /// Number of the node in the fleet.
    pub index: u32,
    /// Unit of a split base station with a radio. `None` for any other node.
    pub unit: Option<Unit>,
    /// Source of the node's statistics.
    pub cell: &'a CellSource,
}

impl StationContext<'_> {
    /// Returns whether the configuration names the function and this unit offers it.
    pub fn is_named(&self, function: &dyn StationFunction) -> bool {
        self.has_unit(function) && self.template.service_models.iter().any(|it| it.is(function))
    }

    /// Returns whether this node is a complete base station, or the unit that offers the function.
    fn has_unit(&self, function: &dyn StationFunction) -> bool {
        function.unit().is_none() || self.unit.is_none() || function.unit() == self.unit
    }

    /// Returns the time of day at [`Time::ZERO`](ranlab_e2::Time::ZERO), in microseconds since the Unix epoch.
    pub fn epoch_us(&self) -> i64 {
        self.template.epoch_us
    }

    /// Returns whether the node offers the function.
    pub(crate) fn offers(&self, function: &dyn StationFunction) -> bool {
        let always = !function.is_selectable() && self.has_unit(function);
        always || self.is_named(function) || function.comes_with(self)
    }
}

/// Functions of this crate.
pub static FUNCTIONS: &[&dyn StationFunction] = &[
    &stats::mac::STATION,
    &stats::rlc::STATION,
    &stats::pdcp::STATION,
    &stats::gtp::STATION,
    &stats::cell::STATION,
    &stats::digest::STATION,
    &kpm::Station,
    &rc::Station,
    &ccc::Station,
    &ni::Station,
    &hw::Station,
    &association::Station,
    &rrc::Station,
    &slice::Station,
    &traffic::Station,
];

static ADDED: OnceLock<&[&dyn StationFunction]> = OnceLock::new();

/// Error of a second call of [`extend`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("RAN functions have already been added; add all of them in one call")]
pub struct AlreadyExtended;

/// Adds functions of other crates. A program must call this at most once, before any other use, and
/// [`e2sm::extend`](ranlab_e2_codec::e2sm::extend) with the models of the functions.
///
/// # Errors
///
/// Returns an error at the second call.
pub fn extend(functions: &'static [&'static dyn StationFunction]) -> Result<(), AlreadyExtended> {
    ADDED.set(functions).map_err(|_| AlreadyExtended)
}

/// Returns all functions: those in [`FUNCTIONS`], and the added ones.
pub fn functions() -> impl Iterator<Item = &'static dyn StationFunction> {
    FUNCTIONS.iter().chain(ADDED.get().copied().unwrap_or_default()).copied()
}

/// Returns the functions that a configuration can name.
pub fn selectable() -> impl Iterator<Item = &'static dyn StationFunction> {
    functions().filter(|function| function.is_selectable())
}

impl dyn StationFunction + '_ {
    /// Returns the name of the function's service model.
    pub fn name(&self) -> &'static str {
        self.model().map_or("", Model::name)
    }

    /// Returns whether both are functions of one service model.
    pub fn is(&self, other: &dyn StationFunction) -> bool {
        self.id() == other.id() && self.model() == other.model()
    }
}

impl FromStr for &'static dyn StationFunction {
    type Err = UnknownName;

    /// Parses the name of a selectable function.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let allowed = || selectable().map(|it| it.name()).collect::<Vec<_>>().join(", ");
        let found = selectable().find(|it| it.name() == text);
        found.ok_or_else(|| UnknownName { what: "service model", given: text.to_owned(), allowed: allowed() })
    }
}

impl fmt::Debug for dyn StationFunction + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StationFunction").field(&self.name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2sm::MODELS;
    use std::collections::BTreeSet;

    #[test]
    fn every_model_has_one_function_with_its_own_id() {
        let models: BTreeSet<_> = MODELS.iter().map(|model| model.name()).collect();
        let functions: BTreeSet<_> = FUNCTIONS.iter().filter_map(|it| it.model()).map(Model::name).collect();
        assert_eq!(functions, models);
        let ids: BTreeSet<_> = FUNCTIONS.iter().map(|it| it.id()).collect();
        assert_eq!(ids.len(), FUNCTIONS.len());
    }

    #[test]
    fn each_function_over_a_radio_belongs_to_one_unit() {
        let units = [Unit::CuCp, Unit::CuUp, Unit::Du];
        for unit in units {
            assert!(FUNCTIONS.iter().any(|it| it.unit() == Some(unit)), "{unit:?}");
        }
        let everywhere: Vec<_> = FUNCTIONS.iter().filter(|it| it.unit().is_none()).collect();
        assert!(everywhere.iter().all(|it| !it.requires().radio && !it.is_open()), "{everywhere:?}");
    }

    #[test]
    fn unknown_names_are_rejected_with_allowed_ones() {
        let error = "kpn".parse::<&'static dyn StationFunction>().unwrap_err();
        assert!(
            error.to_string().starts_with("service model \"kpn\" is not one of mac, rlc, pdcp, gtp"),
            "{error}"
        );
    }
}
