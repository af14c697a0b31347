//! Features of this crate. For a verb of an omitted domain, a build reports the feature that provides it.
use crate::domains::DOMAINS;
use crate::exit::Failure;

/// Features in the order of the documentation, and whether this build has them.
const FEATURES: [(&str, bool); 11] = [
    ("ric", cfg!(feature = "ric")),
    ("ran", cfg!(feature = "ran")),
    ("sdran", cfg!(feature = "sdran")),
    ("upf", cfg!(feature = "upf")),
    ("pipeline", cfg!(feature = "pipeline")),
    ("xhaul", cfg!(feature = "xhaul")),
    ("compare", cfg!(feature = "compare")),
    ("bus", cfg!(feature = "bus")),
    ("hosting", cfg!(feature = "hosting")),
    ("bench", cfg!(feature = "bench")),
    ("tls", cfg!(feature = "tls")),
];

/// Returns the features of this build.
pub fn built() -> Vec<&'static str> {
    FEATURES.iter().filter(|(_, is_built)| *is_built).map(|(name, _)| *name).collect()
}

/// Verbs that a build may lack, and the features that they need. The subcommands of a group precede the group.
const VERBS: &[(&str, &[&str])] = &[
    ("demo", &["ric", "ran"]),
    ("ric", &["ric"]),
    ("xapp", &["ric"]),
    ("pcap", &["ric"]),
    ("controller association", &["ric"]),
    ("controller slicing", &["ric"]),
    ("controller traffic", &["ric"]),
    ("controller virt", &["ric"]),
    ("controller flexran", &["sdran"]),
    ("controller empower", &["sdran"]),
    ("controller", &["ric"]),
    ("emulate --protocol e2", &["ran"]),
    ("emulate --protocol flexran", &["sdran"]),
    ("emulate --protocol empower", &["sdran"]),
    ("emulate --protocol flexran-rtc", &["sdran"]),
    ("emulate --protocol mosaic5g", &["sdran"]),
    ("emulate --protocol empower-v1", &["sdran"]),
    ("emulate --protocol empower-v2", &["sdran"]),
    ("emulate", &["ran"]),
    ("upf", &["upf"]),
    ("load", &["upf"]),
    ("check upf", &["upf"]),
    ("check ric", &["ric"]),
    ("check agent", &["ran"]),
    ("check", &["ric"]),
    ("bench trace", &["pipeline"]),
    ("bench config", &["pipeline"]),
    ("bench import", &["pipeline"]),
    ("bench sharing", &["xhaul"]),
    ("bench new", &["bench"]),
    ("bench check", &["bench"]),
    ("bench run", &["bench"]),
    ("bench report", &["bench"]),
    ("bench query", &["bench"]),
    ("bench compare", &["bench"]),
    ("bench size", &["bench"]),
    ("bench list", &["bench"]),
    ("bench", &["bench"]),
    ("sim", &["ric", "ran", "bench"]),
    ("tls init", &["tls"]),
    ("tls issue", &["tls"]),
    ("tls", &["tls"]),
];

/// Rigs that a build may lack, with former names, and the features that they need.
const RIGS: &[(&str, &[&str])] = &[
    ("base-station", &["compare"]),
    ("e2-statistics", &["ric", "ran"]),
    ("controller", &["ric", "ran"]),
    ("e2-rtt", &["compare"]),
    ("footprint", &["ric", "ran"]),
    ("pipeline", &["pipeline"]),
    ("radio", &["ric", "ran"]),
    ("sd-ran", &["compare"]),
    ("southbound", &["compare"]),
    ("tenants", &["ric", "ran"]),
    ("upf", &["upf"]),
    ("xhaul", &["xhaul"]),
];

/// Returns the error for a verb that another build has, or `None` if no build has it. `words` are the words after the program's name.
pub fn missing_verb(words: &[&str]) -> Option<Failure> {
    let is_named = |verb: &str| {
        let mut words_of_verb = verb.split(' ');
        words_of_verb.next() == words.first().copied() && words_of_verb.all(|word| words.contains(&word))
    };
    let (verb, features) = VERBS.iter().find(|(verb, _)| is_named(verb))?;
    let mut built_verbs = ranlab_command::verb::verbs(DOMAINS);
    // This build has the group, so the subcommand is wrong and not missing.
    if !verb.contains(' ') && built_verbs.any(|it| it.path.first() == Some(verb)) {
        return None;
    }
    not_built((*verb).to_owned(), features)
}

/// Returns the error for a rig that another build has, or `None` if no build has it.
pub fn missing_rig(name: &str) -> Option<Failure> {
    let (_, features) = RIGS.iter().find(|(rig, _)| *rig == name)?;
    not_built(format!("rig {name}"), features)
}

/// Returns the error for something that needs features, unless this build has them.
fn not_built(what: String, features: &[&str]) -> Option<Failure> {
    if features.iter().all(|feature| FEATURES.contains(&(*feature, true))) {
        return None;
    }
    let built = built();
    let built = if built.is_empty() { "no feature".to_owned() } else { built.join(", ") };
    Some(Failure::NotBuilt { what, features: features.join(","), built })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verbs of every build.
    const ALWAYS: [&str; 5] = ["gateway", "worker", "doctor", "completions", "man"];

    #[test]
    fn each_verb_belongs_to_a_feature_or_all_builds() {
        let mut found = Vec::new();
        for verb in ranlab_command::verb::verbs(DOMAINS) {
            let path = verb.path.join(" ");
            if !ALWAYS.contains(&path.as_str()) {
                assert!(VERBS.iter().any(|(name, _)| *name == path), "{path} has no feature");
            }
            found.push(path);
        }
        let root = crate::verbs::command();
        for (name, features) in VERBS {
            for feature in *features {
                assert!(FEATURES.iter().any(|(own, _)| own == feature), "{name}: {feature}");
            }
            let words: Vec<&str> = name.split(' ').collect();
            assert!(root.find_subcommand(words[0]).is_some(), "{name}");
            let is_verb =
                words.len() == 1 || words[1].starts_with('-') || found.contains(&(*name).to_owned());
            assert!(is_verb, "{name} is not a verb");
        }
    }

    #[test]
    fn every_rig_belongs_to_a_feature() {
        for rig in crate::domains::descriptions(&ranlab_lab::RigContext::new("")) {
            for name in rig.aliases.iter().chain([&rig.name]).filter(|name| *name != "mock") {
                assert!(RIGS.iter().any(|(own, _)| own == name), "{name} has no feature");
                assert!(missing_rig(name).is_none(), "{name}");
            }
        }
        assert!(RIGS.iter().all(|(_, all)| all.iter().all(|one| FEATURES.iter().any(|(own, _)| own == one))));
    }

    #[test]
    fn verb_of_another_build_names_its_features() {
        let all = FEATURES.iter().all(|(_, built)| *built);
        for (verb, features) in VERBS {
            let words: Vec<&str> = verb.split(' ').collect();
            match missing_verb(&words) {
                None if verb.contains(' ') => {
                    assert!(features.iter().all(|it| FEATURES.contains(&(*it, true))))
                }
                None => {}
                Some(Failure::NotBuilt { what, .. }) => assert!(!all && what == *verb, "{verb}"),
                Some(other) => panic!("{verb}: {other}"),
            }
        }
        assert!(missing_verb(&["dector"]).is_none());
    }
}
