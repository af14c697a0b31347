//! Scenario keys of E2 base stations, and functions to read them.

use std::time::Duration;

use crate::{FleetComponent, RADIO_KEYS};
use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_lab::{Config, Section, Seed};
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::flat::Coding;

/// Returns the kind for a list of statistics service models.
pub fn statistics() -> Kind {
    Kind::List(Box::new(Kind::choice(&crate::statistics())))
}

/// Returns the keys of E2 base stations. The E2AP version is not among them, because it is a key of the controller.
pub fn of_fleet() -> Section {
    let ramp = |key: Key| Key {
        comment: "time over which the base stations start; 0s: one per millisecond".to_owned(),
        ..key
    };
    FleetComponent::keys("load")
        .without(&["e2ap", "encoding"])
        .without(&RADIO_KEYS)
        .or("nodes", 10_i64)
        .change("ramp", |key| ramp(key).or(Duration::ZERO))
        .change("sm", |key| Key { kind: statistics(), ..key })
}

/// Returns the E2 base stations of a run, connected to a controller.
pub fn fleet(
    run: &Run<'_>,
    connect: &Address,
    e2ap: Version,
    encoding: Coding,
) -> Result<FleetComponent, RigError> {
    let part = FleetComponent::read(run, "load")?;
    let ramp = part.ramp.filter(|ramp| !ramp.is_zero());
    Ok(FleetComponent { connect: vec![connect.clone()], e2ap, encoding, ramp, seed: Seed(run.seed), ..part })
}
