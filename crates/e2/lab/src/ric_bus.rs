//! Connects a RIC to the bus that it shares with other RICs. Creates the NATS clients from the component's settings.
use std::collections::BTreeMap;

use ranlab_ric::commons::Access;
use ranlab_ric_server::commons::SharedData;
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::directory::DirectoryConfig;
use ranlab_sdk::transport::Address;

use crate::ric::RicComponent;
use ranlab_lab::rig;
use ranlab_lab::worker::ComponentError;

#[cfg(feature = "bus")]
pub(crate) use ranlab_ric_server::nats::ClusterMembership;
#[cfg(feature = "bus")]
pub(crate) use ranlab_ric_server::nats_commons::Shared;

/// Bus membership in a build without NATS. It is never created.
#[cfg(not(feature = "bus"))]
pub(crate) enum ClusterMembership {}
/// Shared store in a build without NATS. It is never created.
#[cfg(not(feature = "bus"))]
pub(crate) enum Shared {}

/// Returns the configuration of the directory of RICs, or `None` without a bus.
///
/// # Errors
///
/// Returns an error if the name is invalid, or another bus setting is used without `bus`.
pub(crate) fn directory(part: &RicComponent) -> Result<Option<DirectoryConfig>, ComponentError> {
    if part.bus.is_none() {
        let given = part.bus_name.is_some() || part.advertise_e2.is_some() || part.advertise_e42.is_some();
        return if given { Err(rig("--bus-name and --advertise-… require --bus")) } else { Ok(None) };
    }
    if !cfg!(feature = "bus") {
        return Err(rig("this build lacks NATS; build it with `cargo build -p ranlab --features bus`"));
    }
    if part.bus_certificate_file.is_some() != part.bus_key_file.is_some() {
        return Err(rig("--bus-certificate-file and --bus-key-file require each other"));
    }
    let Some(name) = &part.bus_name else {
        return Err(rig("--bus requires --bus-name, a unique name for each RIC"));
    };
    let config = DirectoryConfig::new(name, life()).map_err(rig)?;
    Ok(Some(config))
}

/// Returns a number that differs for each start of the RIC: the time of day in microseconds, combined with the process
/// id.
fn life() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX) ^ u64::from(std::process::id()).rotate_right(16)
}

/// Returns the address under which other RICs reach a listener: the configured address, or the first one that is not
/// local to this machine.
fn advertised(configured: Option<&Address>, bound: &[(&'static str, String)], name: &str) -> String {
    let first = || bound.iter().find(|(it, at)| *it == name && !at.starts_with("unix://"));
    configured.map(ToString::to_string).or_else(|| first().map(|(_, at)| at.clone())).unwrap_or_default()
}

/// Joins the bus once the RIC's addresses are known. Unreachable servers are retried.
///
/// # Errors
///
/// Returns an error if an address or a credential file is invalid, or the servers reject this RIC.
#[cfg(feature = "bus")]
pub(crate) async fn join(
    part: &RicComponent,
    ric: &RicHandle,
    bound: &[(&'static str, String)],
) -> Result<Option<ClusterMembership>, ComponentError> {
    let Some(config) = config(part, "") else { return Ok(None) };
    let e2 = advertised(part.advertise_e2.as_ref(), bound, "e2");
    let e42 = advertised(part.advertise_e42.as_ref(), bound, "e42");
    ric.with(|ric, _| ric.advertise(e2, e42));
    ranlab_ric_server::nats::join(ric.clone(), config).await.map(Some).map_err(from_nats)
}

#[cfg(feature = "bus")]
fn from_nats(error: ranlab_ric_server::nats::NatsError) -> ComponentError {
    use ranlab_ric_server::nats::NatsError;
    match error {
        NatsError::Address(_) | NatsError::Secret | NatsError::File { .. } => rig(error),
        other => ranlab_lab::environment(other),
    }
}

/// Returns the configuration of a NATS client, if servers are configured. `what` distinguishes this client from other
/// clients of the same RIC.
#[cfg(feature = "bus")]
fn config(part: &RicComponent, what: &str) -> Option<ranlab_ric_server::nats::NatsConfig> {
    let (servers, name) = part.bus.as_ref().zip(part.bus_name.as_ref())?;
    Some(client(part, servers, format!("ranlab ric {name}{what}")))
}

/// Returns the configuration of a client for these servers, with the component's credential files.
#[cfg(feature = "bus")]
fn client(part: &RicComponent, servers: &str, name: String) -> ranlab_ric_server::nats::NatsConfig {
    ranlab_ric_server::nats::NatsConfig {
        servers: servers.to_owned(),
        bucket: part.bus_bucket.clone(),
        replicas: usize::try_from(part.bus_replicas).unwrap_or(1),
        name,
        credentials: part.bus_credentials_file.clone(),
        password: part.bus_password_file.clone(),
        nkey: part.bus_nkey_file.clone(),
        ca: part.bus_ca_file.clone(),
        certificate: part.bus_certificate_file.clone().zip(part.bus_key_file.clone()),
    }
}

/// Publishes the monitor's measurements to these servers.
///
/// # Errors
///
/// Returns an error if an address or a credential file is invalid, or the servers reject this RIC.
#[cfg(feature = "bus")]
pub(crate) async fn publish(
    servers: &str,
    part: &RicComponent,
    messages: ranlab_ric::monitor::Messages,
) -> Result<(), ComponentError> {
    let name = format!("ranlab ric {} (statistics)", part.bus_name.as_deref().unwrap_or_default());
    ranlab_ric_server::nats::publish(client(part, servers, name), messages).await.map_err(from_nats)
}

/// Returns an error, because a build without NATS cannot publish.
#[cfg(not(feature = "bus"))]
#[allow(clippy::unused_async, reason = "as with NATS")]
pub(crate) async fn publish(
    _: &str,
    _: &RicComponent,
    _: ranlab_ric::monitor::Messages,
) -> Result<(), ComponentError> {
    Err(rig("this build lacks NATS; build it with `cargo build -p ranlab --features bus`"))
}

/// Returns the shared store for this RIC's xApps, with its limits. Several RICs share the store over the bus. A RIC
/// without HTTP has no store.
///
/// # Errors
///
/// Returns an error if the servers are unreachable or reject this RIC.
#[cfg(feature = "bus")]
pub(crate) async fn commons(
    part: &RicComponent,
    access: BTreeMap<String, Access>,
) -> Result<(SharedData, Option<Shared>), ComponentError> {
    let Some(config) = config(part, " (shared)").filter(|_| part.http.is_some()) else {
        return Ok((SharedData::local(access), None));
    };
    let mut shared = Shared::open(config).await.map_err(from_nats)?;
    let commons = SharedData::new(shared.store(), access);
    shared.carry(&commons);
    Ok((commons, Some(shared)))
}

/// Returns a store that is local to this process, because this build lacks NATS.
#[cfg(not(feature = "bus"))]
#[allow(clippy::unused_async, reason = "as with NATS")]
pub(crate) async fn commons(
    _: &RicComponent,
    access: BTreeMap<String, Access>,
) -> Result<(SharedData, Option<Shared>), ComponentError> {
    Ok((SharedData::local(access), None))
}

/// Does nothing, because a build without NATS has no bus to join.
#[cfg(not(feature = "bus"))]
#[allow(clippy::unused_async, reason = "as with NATS")]
pub(crate) async fn join(
    part: &RicComponent,
    ric: &RicHandle,
    bound: &[(&'static str, String)],
) -> Result<Option<ClusterMembership>, ComponentError> {
    let _ = (ric, advertised(part.advertise_e2.as_ref(), bound, "e2"));
    Ok(None)
}
