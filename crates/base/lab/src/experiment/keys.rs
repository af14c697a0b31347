//! Settings shared by several rigs, and functions to read them.

use std::str::FromStr;
use std::time::Duration;

use ranlab_campaign::keys;
use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

use ranlab_parts::field::Same;
use ranlab_parts::{As, Config, FleetPart, Host, HostError, PLACES_MAX, RADIO_KEYS, Section, Seed, Setting};
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::flat::Coding;

/// Key for the treatment of disturbed repeats. `--quick` sets it to `warn`, because a quick run is never a
/// result.
pub const WHEN_NOISY: &str = "host.when_noisy";

/// Returns the key for the location of a component.
pub(crate) fn place(path: &str, what: &str) -> Key {
    let comment = format!("machine of {what}: local, ssh://[user@]host[/path/to/ranlab], tcp://host:port");
    Key::new(path, Kind::Text, &comment).or("local")
}

/// Returns the key for the locations of a load; the rig decides whether several locations can share it.
pub(crate) fn load_places(what: &str) -> Key {
    let key = place("load.at", what);
    let comment = format!("{}; a list of places divides it", key.comment);
    Key { kind: Kind::OneOrMore(Box::new(key.kind)), comment, ..key }
}

/// Returns the kind for a list of statistics service models.
pub(crate) fn statistics() -> Kind {
    Kind::List(Box::new(Kind::choice(&ranlab_parts::statistics())))
}

/// Returns the keys of E2 base stations, except the version, which is the controller's.
pub(crate) fn of_fleet() -> Section {
    let ramp =
        |key: Key| Key { comment: "time over which they start; 0s: one per millisecond".to_owned(), ..key };
    FleetPart::keys("load")
        .without(&["e2ap", "encoding"])
        .without(&RADIO_KEYS)
        .or("nodes", 10_i64)
        .change("ramp", |key| ramp(key).or(Duration::ZERO))
        .change("sm", |key| Key { kind: statistics(), ..key })
}

/// Returns the E2 base stations of a run, connected to a controller.
pub(crate) fn fleet(
    run: &Run<'_>,
    connect: &Address,
    e2ap: Version,
    encoding: Coding,
) -> Result<FleetPart, RigError> {
    let part = FleetPart::read(run, "load")?;
    let ramp = part.ramp.filter(|ramp| !ramp.is_zero());
    Ok(FleetPart { connect: vec![connect.clone()], e2ap, encoding, ramp, seed: Seed(run.seed), ..part })
}

/// Returns the keys for measurements on a shared machine.
pub(crate) fn host() -> Vec<Key> {
    keys! {
        (WHEN_NOISY, Kind::choice(&["invalid", "warn"]), "treatment of a repeat on a disturbed machine").or("invalid");
        ("host.steal_at_most", Kind::share(), "limit of CPU time that the hypervisor gave to other guests").or(0.02);
        ("host.foreign_at_most", Kind::share(), "limit of CPU time used by other processes, as a share of the whole machine").or(0.1);
    }
}

/// Reads a text that is required by the schema or has a default.
pub(crate) fn text<'a>(run: &'a Run<'_>, path: &str) -> Result<&'a str, RigError> {
    run.text(path).ok_or_else(|| missing(path))
}

/// Reads an integer within the bounds of its key.
pub(crate) fn int<T: TryFrom<i64>>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    match run.value(path) {
        Some(Value::Int(int)) => T::try_from(*int).map_err(|_| missing(path)),
        // A search supplies a rounded floating-point number.
        Some(Value::Float(float)) => T::try_from(float.round() as i64).map_err(|_| missing(path)),
        _ => Err(missing(path)),
    }
}

/// Reads a setting of a component's type.
pub(crate) fn setting<T: Setting>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    setting_as::<Same, T>(run, path)
}

/// Reads a setting that is written as `A` says.
pub(crate) fn setting_as<A: As<T>, T>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    let value = run.value(path).ok_or_else(|| missing(path))?;
    A::from_value(value).map_err(|allowed| RigError::Rig(format!("`{path}` must be {allowed}")))
}

/// Parses a text such as an address.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    text(run, path)?.parse().map_err(|error| RigError::Rig(format!("`{path}`: {error}")))
}

/// Reads the locations of a component: a list, or comma-separated text; local without such a key.
pub(crate) fn places(run: &Run<'_>, path: &str) -> Result<Vec<Host>, RigError> {
    let texts: Vec<&str> = match run.value(path) {
        None => return Ok(vec![Host::Local]),
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

pub(crate) fn missing(path: &str) -> RigError {
    RigError::Rig(format!("`{path}` is not set, or not within its bounds"))
}
