//! Detects service models that a monitor watches but no base station supports.
use ranlab_sdk::e2::xapp::{NodeInfo, Xapp};
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use ranlab_sdk::wire::e2sm::{Model, by_oid, hw, kpm, third_party};

use super::RunningMonitor;

/// Maximum number of base stations that a sentence lists.
const NAMES_MAX: usize = 8;

/// Returns the models to watch instead of the default ones: KPM if it is offered, otherwise all models except HW. HW
/// reports only pings that an xApp has sent.
fn instead(offered: &[&'static dyn Model]) -> Vec<String> {
    let named = |model: &&dyn Model| model.name().to_owned();
    match offered.iter().find(|model| model.oid() == kpm::OID) {
        Some(kpm) => vec![named(kpm)],
        None => offered.iter().filter(|model| model.oid() != hw::OID).map(named).collect(),
    }
}

impl RunningMonitor {
    /// Returns the nodes at which the monitor subscribes.
    fn nodes<'a>(&'a self, xapp: &'a Xapp) -> impl Iterator<Item = &'a NodeInfo> {
        let is_meant =
            |id: &GlobalE2NodeId| self.names.is_empty() || self.names.iter().any(|it| id.is_named(it));
        xapp.nodes().filter_map(move |(id, info)| is_meant(id).then_some(info))
    }

    /// Returns a sentence about the first configured name that no base station has. Returns `None` as long as no base
    /// station is known.
    fn unknown_name(&self, xapp: &Xapp) -> Option<String> {
        let ids: Vec<_> = xapp.nodes().map(|(id, _)| id).collect();
        let name = self.names.iter().find(|name| !ids.iter().any(|id| id.is_named(name)))?;
        let shown: Vec<_> = ids.iter().take(NAMES_MAX).map(ToString::to_string).collect();
        (!ids.is_empty())
            .then(|| format!("no base station is named \"{name}\"; connected: {}", shown.join(", ")))
    }

    /// Returns the models to watch instead if base stations offer none of the watched models. Returns `None` as long
    /// as a watched model is offered, or no base station is known.
    pub fn alternatives(&self) -> Option<Vec<String>> {
        let mut offered: Vec<&'static dyn Model> = Vec::new();
        self.xapp.read(|xapp| {
            for function in self.nodes(xapp).flat_map(|info| &info.functions) {
                let model = function.oid.as_deref().and_then(by_oid);
                offered.extend(model.filter(|it| !offered.iter().any(|other| other.oid() == it.oid())));
            }
        });
        let watched = |model: &&dyn Model| self.part_models.iter().any(|it| it.oid() == model.oid());
        let models = instead(&offered);
        (!offered.iter().any(watched) && !models.is_empty()).then_some(models)
    }

    /// Returns a sentence about configured names or models that no base station has. It also lists the available ones.
    /// Returns `None` if no base station is known yet, or nothing is missing.
    pub fn unoffered(&self) -> Option<String> {
        let models = self.part_models.iter();
        self.xapp.read(|xapp| {
            if let Some(sentence) = self.unknown_name(xapp) {
                return Some(sentence);
            }
            let functions = || self.nodes(xapp).flat_map(|info| &info.functions);
            let is_offered = |model: &dyn Model| {
                functions().any(|it| it.oid.as_deref().is_some_and(|oid| model.is_called(oid)))
            };
            let missing: Vec<_> =
                models.filter(|model| !is_offered(**model)).map(|model| model.name()).collect();
            if missing.is_empty() || self.nodes(xapp).next().is_none() {
                return None;
            }
            let mut offered: Vec<&str> = Vec::new();
            for oid in functions().filter_map(|it| it.oid.as_deref()) {
                let name = by_oid(oid).map(|model| model.name()).or_else(|| third_party(oid)).unwrap_or(oid);
                if !offered.contains(&name) {
                    offered.push(name);
                }
            }
            let missing = missing.join(", ");
            Some(format!(
                "no base station offers {missing}; offered models are {}: choose one with --sm",
                offered.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slice_model_of_flexric_is_not_recognized_as_ours() {
        let slice = ranlab_sdk::wire::e2sm::slice::OID;
        assert!(third_party("0.0.0.0.0.0.0.0.1.145.0").is_some() && third_party(slice).is_none());
    }

    #[test]
    fn kpm_is_preferred_to_other_models() {
        let models = |names: &[&str]| names.iter().filter_map(|name| name.parse().ok()).collect::<Vec<_>>();
        assert_eq!(instead(&models(&["rc", "kpm", "ccc"])), ["kpm"]);
        assert_eq!(instead(&models(&["hw", "rc", "ccc"])), ["rc", "ccc"]);
        assert!(instead(&models(&["hw"])).is_empty());
    }
}
