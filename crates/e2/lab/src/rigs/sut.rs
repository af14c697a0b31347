//! Controllers under test: ranlab's RIC, ranlab's RIC between two relays, or a running third-party controller.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{E2Names, Language, RelayComponent, RicComponent};
use ranlab_campaign::keys;
use ranlab_campaign::plan::Point;
use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_lab::experiment::account;
use ranlab_lab::{AnyComponent, As, AttachComponent, Config, Listen};
use ranlab_sdk::e2::xapp::Dialect;
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::flat::Coding;

use ranlab_lab::experiment::harness::Deployment;
use ranlab_lab::experiment::profile::SystemProfile;
use ranlab_lab::experiment::{keys, third_party};

/// Returns the keys of the system between base stations and xApps.
pub fn keys() -> Vec<Key> {
    let own = &["ranlab", "double-decode", "forward"];
    let external = &["external"];
    let comment = "version of E2AP";
    let e2ap = RicComponent::keys("sut")
        .only(&["e2ap"])
        .change("e2ap", |key| Key { comment: comment.to_owned(), ..key });
    let mut keys = keys! {
        ("sut.type", Kind::choice(&["ranlab", "double-decode", "forward", "external"]), "ranlab: the built-in RIC in a process; double-decode: the same between two relays that decode and encode every message, like an E2 termination and an xApp framework; forward: the same with relays that forward the bytes, so the difference to double-decode is the cost of decoding; external: a RIC that already runs").or("ranlab");
        ("sut.encoding", <E2Names as As<Coding>>::kind(), "encoding of E2AP on all links; flat: FlatBuffers, which no third-party controller supports").or("per");
        ("sut.transport", Kind::choice(&["tcp", "unix"]), "transport of E2 and E42").or("tcp").when("sut.type", own);
        ("sut.listen", Kind::Text, "IP address on which the controller listens; must not be loopback if peers are on other machines").or("127.0.0.1").when("sut.type", own);
        ("sut.e2", Kind::Text, "address of the controller for base stations, if the peer profile does not contain it").optional().when("sut.type", external);
        ("sut.e42", Kind::Text, "address of the controller for xApps, if the peer profile does not contain it").optional().when("sut.type", external);
    };
    keys.insert(4, keys::place("sut.at", "the controller"));
    keys.splice(1..1, e2ap.keys());
    keys.extend(third_party::keys("sut.type", external).into_iter().map(|key| match key.path.as_str() {
        "sut.peer" => key.or("ranlab"),
        _ => key,
    }));
    keys.extend(AttachComponent::keys("sut").when("sut.type", external).keys());
    keys
}

/// Addresses of a controller.
pub struct Sut {
    /// Address to which base stations connect.
    pub e2: Address,
    /// Address to which xApps connect.
    pub e42: Address,
    /// E42 dialect of the controller.
    pub dialect: Dialect,
}

/// Role of ranlab's RIC.
pub const RIC: &str = "RIC";

/// Starts the controller that the scenario point names.
pub fn place(run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<Sut, RigError> {
    let kind = keys::text(run, "sut.type")?;
    if language(run)?.1 == Coding::Flat && !matches!(kind, "ranlab" | "forward") {
        let why = "`sut.encoding` = flat requires `sut.type` = ranlab or forward: FlatBuffers are not standardized for E2AP";
        return Err(RigError::Environment(why.to_owned()));
    }
    if kind == "double-decode" && run.text("load.sm_encoding").is_some() {
        let why =
            "decoding relays support service models in their usual encoding only: omit `load.sm_encoding`";
        return Err(RigError::Environment(why.to_owned()));
    }
    match kind {
        "external" => external(run, stage),
        "double-decode" => between_relays(run, stage, [Language::E2, Language::E42]),
        "forward" => between_relays(run, stage, [Language::Any; 2]),
        _ => ric(run, stage),
    }
}

/// Returns version and encoding of E2AP.
pub fn language(run: &Run<'_>) -> Result<(Version, Coding), RigError> {
    Ok((
        keys::setting_as::<E2Names, _>(run, "sut.e2ap")?,
        keys::setting_as::<E2Names, _>(run, "sut.encoding")?,
    ))
}

/// Returns ranlab's RIC as configured in the point. Callers may complete the settings.
pub fn ric_part(run: &Run<'_>) -> Result<RicComponent, RigError> {
    Ok(RicComponent { e2: vec![listen(run)?], ..RicComponent::read(run, "sut")? })
}

fn ric(run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<Sut, RigError> {
    let part = ric_part(run)?;
    let part = RicComponent { e42: part.e2.clone(), ..part };
    let addresses = &stage.sut(RIC, "sut.at", AnyComponent::from(part))?.ready.addresses;
    Ok(Sut {
        e2: account::address(addresses, "e2")?,
        e42: account::address(addresses, "e42")?,
        dialect: Dialect::Ranlab,
    })
}

/// Starts the RIC, a relay between base stations and the RIC, and a relay between xApps and the RIC.
fn between_relays(
    run: &Run<'_>,
    stage: &mut Deployment<'_>,
    languages: [Language; 2],
) -> Result<Sut, RigError> {
    let mut sut = ric(run, stage)?;
    let [e2, e42] = languages;
    for (role, language, behind) in [("E2 termination", e2, &mut sut.e2), ("xApp relay", e42, &mut sut.e42)] {
        let listen = listen(run)?;
        let connect = behind.clone();
        let part = RelayComponent { listen, connect, language, ..RelayComponent::read(run, "sut")? };
        *behind =
            account::address(&stage.sut(role, "sut.at", AnyComponent::from(part))?.ready.addresses, "relay")?;
    }
    Ok(sut)
}

fn external(run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<Sut, RigError> {
    let sut = doors(run)?;
    stage.sut("controller", "sut.at", third_party::component(run)?)?;
    Ok(sut)
}

/// Returns the addresses of an external controller.
fn doors(run: &Run<'_>) -> Result<Sut, RigError> {
    let Some(peer) = third_party::peer(run)? else { return Err(keys::missing("sut.peer")) };
    let address = |path: &str, of: fn(&SystemProfile) -> &str| {
        let text = third_party::said(run, path, "", of)?;
        let scheme = text.split_once("://").map_or("tcp", |(scheme, _)| scheme);
        if let Some(why) = peer.refuses(scheme) {
            return Err(RigError::Environment(why));
        }
        text.parse::<Address>().map_err(|error| RigError::Rig(format!("`{path}`: {error}")))
    };
    let e2 = address("sut.e2", |peer| &peer.addresses.e2)?;
    let e42 = address("sut.e42", |peer| &peer.addresses.e42)?;
    let dialect = if peer.dialect.e42 == "flexric" { Dialect::FlexRic } else { Dialect::Ranlab };
    Ok(Sut { e2, e42, dialect })
}

/// Returns `Some(Err(reason))` if the point's external controller does not support the configured addresses.
pub fn preview(settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
    let point = Point { index: 0, axes: Vec::new(), settings: settings.clone() };
    let run = Run::new(&point, 0, 0, Duration::ZERO);
    let external = run.text("sut.type") == Some("external");
    external.then(|| doors(&run).err()).flatten().map(|error| Err(error.to_string()))
}

/// Returns the addresses on which the controller must listen.
fn listen(run: &Run<'_>) -> Result<Listen, RigError> {
    if keys::text(run, "sut.transport")? == "unix" {
        return Ok(Listen::Own);
    }
    Ok(Listen::At(Address::Tcp { host: account::ip(run)?.to_string(), port: 0 }))
}
