//! Detects service models that a monitor watches and that no base station supports.
use ranlab_sdk::wire::e2sm::{Model, by_oid};

use super::Watcher;

impl Watcher {
    /// Returns a sentence that names the models that no base station supports, and the supported ones. `None` if no
    /// base station is known yet, or all models are supported.
    pub fn unoffered(&self) -> Option<String> {
        let models = self.part_models.iter();
        self.xapp.read(|xapp| {
            let functions = || xapp.nodes().flat_map(|(_, info)| &info.functions);
            let is_offered = |model: &dyn Model| {
                functions().any(|it| it.oid.as_deref().is_some_and(|oid| model.is_called(oid)))
            };
            let missing: Vec<_> =
                models.filter(|model| !is_offered(**model)).map(|model| model.name()).collect();
            if missing.is_empty() || xapp.nodes().next().is_none() {
                return None;
            }
            let mut offered: Vec<&str> = Vec::new();
            for oid in functions().filter_map(|it| it.oid.as_deref()) {
                let name = by_oid(oid).map_or(oid, |model| model.name());
                if !offered.contains(&name) {
                    offered.push(name);
                }
            }
            let missing = missing.join(", ");
            Some(format!(
                "no base station offers {missing}; offered are {}: choose with --sm",
                offered.join(", ")
            ))
        })
    }
}
