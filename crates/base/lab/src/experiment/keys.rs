//! Settings shared by several rigs, and functions to read them.

use std::str::FromStr;

use ranlab_campaign::keys;
use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

use crate::field::Same;
use crate::{As, FieldType, HostError, PLACES_MAX, WorkerLocation};

/// Key for the treatment of disturbed repeats. `--quick` sets it to `warn`, because a quick run is never a
/// result.
pub const WHEN_NOISY: &str = "host.when_noisy";

/// Returns the key for the location of a component.
pub fn place(path: &str, what: &str) -> Key {
    let comment = format!("machine of {what}: local, ssh://[user@]host[/path/to/ranlab], tcp://host:port");
    Key::new(path, Kind::Text, &comment).or("local")
}

/// Returns the key for the locations of a load; the rig decides whether several locations can share it.
pub fn load_places(what: &str) -> Key {
    let key = place("load.at", what);
    let comment = format!("{}; a list of places divides it", key.comment);
    Key { kind: Kind::OneOrMore(Box::new(key.kind)), comment, ..key }
}

/// Returns the keys for measurements on a shared machine.
pub fn host() -> Vec<Key> {
    keys! {
        (WHEN_NOISY, Kind::choice(&["invalid", "warn"]), "treatment of a repeat on a disturbed machine").or("invalid");
        ("host.steal_at_most", Kind::share(), "limit of CPU time that the hypervisor gave to other guests").or(0.02);
        ("host.other_at_most", Kind::share(), "limit of CPU time used by other processes, as a share of the whole machine").or(0.1).formerly("host.foreign_at_most");
    }
}

/// Reads a text that is required by the schema or has a default.
pub fn text<'a>(run: &'a Run<'_>, path: &str) -> Result<&'a str, RigError> {
    run.text(path).ok_or_else(|| missing(path))
}

/// Reads an integer within the bounds of its key.
pub fn int<T: TryFrom<i64>>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    match run.value(path) {
        Some(Value::Int(int)) => T::try_from(*int).map_err(|_| missing(path)),
        // A search supplies a rounded floating-point number.
        Some(Value::Float(float)) => T::try_from(float.round() as i64).map_err(|_| missing(path)),
        _ => Err(missing(path)),
    }
}

/// Reads a setting as a value of type `T`.
pub fn setting<T: FieldType>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    setting_as::<Same, T>(run, path)
}

/// Reads a setting in the notation `A`.
pub fn setting_as<A: As<T>, T>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    let value = run.value(path).ok_or_else(|| missing(path))?;
    A::from_value(value).map_err(|allowed| RigError::Rig(format!("`{path}` must be {allowed}")))
}

/// Parses a text such as an address.
pub fn parsed<T: FromStr<Err: std::fmt::Display>>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    text(run, path)?.parse().map_err(|error| RigError::Rig(format!("`{path}`: {error}")))
}

/// Reads the locations of a component: a list, or comma-separated text; local without such a key.
pub fn places(run: &Run<'_>, path: &str) -> Result<Vec<WorkerLocation>, RigError> {
    let texts: Vec<&str> = match run.value(path) {
        None => return Ok(vec![WorkerLocation::Local]),
        Some(Value::List(list)) => list.iter().filter_map(Value::text).collect(),
        Some(one) => one.text().into_iter().flat_map(|text| text.split(',')).map(str::trim).collect(),
    };
    let host =
        |text: &str| text.parse().map_err(|error: HostError| RigError::Rig(format!("`{path}`: {error}")));
    match texts.len() {
        1..=PLACES_MAX => texts.into_iter().map(host).collect(),
        count => Err(RigError::Rig(format!("`{path}` has {count} places; 1 to {PLACES_MAX} are allowed"))),
    }
}

pub fn missing(path: &str) -> RigError {
    RigError::Rig(format!("`{path}` is not set, or not within its bounds"))
}
