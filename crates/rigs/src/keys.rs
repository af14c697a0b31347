//! Settings that several rigs have, and how they are read.

use std::str::FromStr;
use std::time::Duration;

use ranlab_campaign::keys;
use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

use ranlab_parts::{Config, FleetPart, Host, HostError, PLACES_MAX, RADIO_KEYS, Section, Seed, Setting};
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::flat::Coding;

/// The key that says what a disturbed repeat is. `--quick` sets it to `warn`: a smoke run is never counted.
pub const WHEN_NOISY: &str = "host.when_noisy";

/// Where a part runs.
pub(crate) fn place(path: &str, what: &str) -> Key {
    let comment = format!("machine of {what}: local, ssh://[user@]host[/path/to/ranlab], tcp://host:port");
    Key::new(path, Kind::Text, &comment).or("local")
}

/// Where the parts of a load run; whether several places divide it, the rig says when they are named.
pub(crate) fn load_places(what: &str) -> Key {
    let key = place("load.at", what);
    let comment = format!("{}; a list of places divides it", key.comment);
    Key { kind: Kind::OneOrMore(Box::new(key.kind)), comment, ..key }
}

/// A list of statistics service models.
pub(crate) fn statistics() -> Kind {
    Kind::List(Box::new(Kind::choice(&ranlab_parts::statistics())))
}

/// Base stations of E2, but for the version, which is that of the controller.
pub(crate) fn of_fleet() -> Section {
    let ramp = |key: Key| Key { comment: "time over which they start; 0s: 1 ms each".to_owned(), ..key };
    FleetPart::keys("load")
        .without(&["e2ap", "encoding"])
        .without(&RADIO_KEYS)
        .or("nodes", 10_i64)
        .change("ramp", |key| ramp(key).or(Duration::ZERO))
        .change("sm", |key| Key { kind: statistics(), ..key })
}

/// Those base stations, towards a controller.
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

/// What the measurement does on a machine that others use too.
pub(crate) fn host() -> Vec<Key> {
    keys! {
        (WHEN_NOISY, Kind::choice(&["invalid", "warn"]), "a repeat on a machine that others disturb").or("invalid");
        ("host.steal_at_most", Kind::share(), "CPU time that the hypervisor gave to others").or(0.02);
        ("host.foreign_at_most", Kind::share(), "CPU time that work outside the experiment used, of the whole machine").or(0.1);
    }
}

/// A text that the schema has as required or with a default.
pub(crate) fn text<'a>(run: &'a Run<'_>, path: &str) -> Result<&'a str, RigError> {
    run.text(path).ok_or_else(|| missing(path))
}

/// A whole number within the bounds of its key.
pub(crate) fn int<T: TryFrom<i64>>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    match run.value(path) {
        Some(Value::Int(int)) => T::try_from(*int).map_err(|_| missing(path)),
        // A search replaces it by a number that it rounded.
        Some(Value::Float(float)) => T::try_from(float.round() as i64).map_err(|_| missing(path)),
        _ => Err(missing(path)),
    }
}

/// A setting of a type that parts know.
pub(crate) fn setting<T: Setting>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    let value = run.value(path).ok_or_else(|| missing(path))?;
    T::from_value(value).map_err(|allowed| RigError::Rig(format!("`{path}` must be {allowed}")))
}

/// A text that stands for something: an address, a way.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(run: &Run<'_>, path: &str) -> Result<T, RigError> {
    text(run, path)?.parse().map_err(|error| RigError::Rig(format!("`{path}`: {error}")))
}

/// The machines of a part: a list, or text with commas between; without such a key, this one.
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
