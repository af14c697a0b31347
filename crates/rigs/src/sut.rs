//! Controllers under test: ranlab's RIC, the reference that decodes twice, or a running third-party one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ranlab_campaign::plan::Point;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Metric, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_campaign::{keys, metrics};
use ranlab_parts::worker::Report;
use ranlab_parts::{AttachPart, Config, Language, Listen, Part, RelayPart, RicPart, Setting};
use ranlab_sdk::e2::xapp::Dialect;
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::flat::Coding;

use crate::harness::Stage;
use crate::peer::Peer;
use crate::{keys, stranger};

/// Returns the keys for the system between base stations and xApps.
pub(crate) fn keys() -> Vec<Key> {
    let own = &["ranlab", "double-decode"];
    let external = &["external"];
    let comment = "version of E2AP";
    let e2ap =
        RicPart::keys("sut").only(&["e2ap"]).change("e2ap", |key| Key { comment: comment.to_owned(), ..key });
    let mut keys = keys! {
        ("sut.type", Kind::choice(&["ranlab", "double-decode", "external"]), "ranlab: the built-in RIC in a process; double-decode: the same between two relays that decode and encode every message, like an E2 termination and an xApp framework; external: a RIC that already runs").or("ranlab");
        ("sut.encoding", Coding::kind(), "encoding of E2AP on all links; flat: FlatBuffers, which no third-party controller supports").or("per");
        ("sut.transport", Kind::choice(&["tcp", "unix"]), "transport of E2 and E42").or("tcp").when("sut.type", own);
        ("sut.listen", Kind::Text, "IP address that it listens on; must not be loopback if peers are on other machines").or("127.0.0.1").when("sut.type", own);
        ("sut.e2", Kind::Text, "its address for base stations, if its profile does not contain it").optional().when("sut.type", external);
        ("sut.e42", Kind::Text, "its address for xApps, if its profile does not contain it").optional().when("sut.type", external);
    };
    keys.insert(4, keys::place("sut.at", "the controller"));
    keys.splice(1..1, e2ap.keys());
    keys.extend(stranger::keys("sut.type", external).into_iter().map(|key| match key.path.as_str() {
        "sut.peer" => key.or("ranlab"),
        _ => key,
    }));
    keys.extend(AttachPart::keys("sut").when("sut.type", external).keys());
    keys
}

/// CPU usage, recorded by every rig that lists it: see [`record`].
pub(crate) const CPU_CORES: &str = "sut.cpu_cores";

pub(crate) fn metrics() -> Vec<Metric> {
    metrics! {
        Series Lower "sut.cpu_cores" "cores" "CPU cores that the controller uses, by process";
        Scalar Lower "sut.cpu_share" "" "CPU time as a share of the whole machine";
        Series Lower "sut.rss_mb" "MB" "resident memory of the controller";
        Scalar Lower "sut.rss_peak_mb" "MB" "maximum resident memory";
        Scalar Lower "sut.pss_mb" "MB" "proportional set size: shared memory is divided among the processes";
        Scalar Lower "sut.context_switches_per_s" "1/s" "context switches of all its threads";
        Scalar Lower "sut.faults_per_s" "1/s" "page faults of its processes";
        Scalar Neither "sut.processes" "" "number of its processes";
        Scalar Lower "sut.stopped_s" "s" "time for which a process of a third-party system was stopped by a signal";
    }
}

/// Addresses of a controller.
pub(crate) struct Sut {
    /// For base stations.
    pub(crate) e2: Address,
    /// For xApps.
    pub(crate) e42: Address,
    /// E42 dialect.
    pub(crate) dialect: Dialect,
}

/// Role of ranlab's RIC.
pub(crate) const RIC: &str = "RIC";

/// Starts the controller that the point names.
pub(crate) fn place(run: &Run<'_>, stage: &mut Stage<'_>) -> Result<Sut, RigError> {
    let kind = keys::text(run, "sut.type")?;
    if language(run)?.1 == Coding::Flat && kind != "ranlab" {
        let why =
            "E2AP in FlatBuffers has no standard: our RIC alone takes ours, without relays that decode PER";
        return Err(RigError::Environment(why.to_owned()));
    }
    if kind == "double-decode" && run.text("load.sm_encoding").is_some() {
        let why =
            "decoding relays support service models in their usual encoding only: omit `load.sm_encoding`";
        return Err(RigError::Environment(why.to_owned()));
    }
    match kind {
        "external" => external(run, stage),
        "double-decode" => between_relays(run, stage),
        _ => ric(run, stage),
    }
}

/// Returns version and encoding of E2AP.
pub(crate) fn language(run: &Run<'_>) -> Result<(Version, Coding), RigError> {
    Ok((keys::setting(run, "sut.e2ap")?, keys::setting(run, "sut.encoding")?))
}

/// Returns the reason if the controller of a point cannot be reached, as far as its settings show.
pub(crate) fn refused(settings: &BTreeMap<String, Value>) -> Option<String> {
    let text = |path: &str| settings.get(path).and_then(Value::text);
    if text("sut.type") != Some("external") {
        return None;
    }
    let addresses = ["sut.e2", "sut.e42"].into_iter().filter_map(text).collect::<Vec<_>>();
    if addresses.is_empty() {
        // Controller with another protocol.
        return None;
    }
    let peer = match Peer::load(text("sut.peer").unwrap_or("ranlab")) {
        Ok(peer) => peer,
        Err(error) => return Some(error.to_string()),
    };
    addresses.into_iter().find_map(|address| {
        let scheme = address.split_once("://").map_or("tcp", |(scheme, _)| scheme);
        let missing = || match scheme {
            "sctp" => ranlab_net::sctp_support()
                .err()
                .map(|why| format!("{address}: {why}; docs/how-to/gateway.md has alternatives")),
            _ => None,
        };
        peer.refuses(scheme).or_else(missing)
    })
}

/// Returns ranlab's RIC as the point configures it, not yet complete.
pub(crate) fn ric_part(run: &Run<'_>) -> Result<RicPart, RigError> {
    Ok(RicPart { e2: vec![listen(run)?], ..RicPart::read(run, "sut")? })
}

fn ric(run: &Run<'_>, stage: &mut Stage<'_>) -> Result<Sut, RigError> {
    let part = ric_part(run)?;
    let part = RicPart { e42: part.e2.clone(), ..part };
    let told = &stage.sut(RIC, "sut.at", Part::Ric(part))?.ready.addresses;
    Ok(Sut { e2: address(told, "e2")?, e42: address(told, "e42")?, dialect: Dialect::Ranlab })
}

fn between_relays(run: &Run<'_>, stage: &mut Stage<'_>) -> Result<Sut, RigError> {
    let mut sut = ric(run, stage)?;
    for (role, language) in [("E2 termination", Language::E2), ("xApp relay", Language::E42)] {
        let behind = if language == Language::E2 { &mut sut.e2 } else { &mut sut.e42 };
        let listen = listen(run)?;
        let connect = behind.clone();
        let part = RelayPart { listen, connect, language, ..RelayPart::read(run, "sut")? };
        *behind = address(&stage.sut(role, "sut.at", Part::Relay(part))?.ready.addresses, "relay")?;
    }
    Ok(sut)
}

fn external(run: &Run<'_>, stage: &mut Stage<'_>) -> Result<Sut, RigError> {
    let sut = doors(run)?;
    stage.sut("controller", "sut.at", stranger::part(run)?)?;
    Ok(sut)
}

/// Returns the addresses of an external controller.
fn doors(run: &Run<'_>) -> Result<Sut, RigError> {
    let Some(peer) = stranger::peer(run)? else { return Err(keys::missing("sut.peer")) };
    let address = |path: &str, of: fn(&Peer) -> &str| {
        let text = stranger::said(run, path, "", of)?;
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

/// Returns the reason why a point cannot run: its controller does not support such addresses.
pub(crate) fn preview(settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
    let point = Point { index: 0, axes: Vec::new(), settings: settings.clone() };
    let run = Run::new(&point, 0, 0, Duration::ZERO);
    let external = run.text("sut.type") == Some("external");
    external.then(|| doors(&run).err()).flatten().map(|error| Err(error.to_string()))
}

/// Records the sum over the processes, sample by sample; their clocks agree within some milliseconds.
pub(crate) fn record(recorder: &mut Recorder, reports: &[&Report], duration: Duration) {
    let metered: Vec<_> =
        reports.iter().filter_map(|report| Some((*report, report.process.as_ref()?))).collect();
    let Some(samples) = metered.iter().map(|(_, process)| process.series.len()).min() else { return };
    let sum = |of: &dyn Fn(&ranlab_parts::worker::ProcessReport) -> f64| -> f64 {
        metered.iter().map(|(_, process)| of(process)).sum()
    };
    for index in 0..samples {
        // The last sample may be taken just after the end.
        let at = Duration::from_secs_f64(metered[0].1.series[index].0).min(duration);
        recorder.sample(CPU_CORES, at, sum(&|process| process.series[index].1));
        recorder.sample("sut.rss_mb", at, sum(&|process| process.series[index].2 as f64 / 1e6));
    }
    let wall_s = metered[0].0.wall_s.max(1e-3);
    recorder.scalar("sut.rss_peak_mb", sum(&|process| process.rss_peak_bytes as f64 / 1e6));
    let pss: Option<u64> = metered.iter().map(|(_, process)| process.pss_bytes).sum();
    if let Some(pss) = pss {
        recorder.scalar("sut.pss_mb", pss as f64 / 1e6);
    }
    recorder.scalar("sut.context_switches_per_s", sum(&|process| process.context_switches as f64 / wall_s));
    recorder.scalar("sut.faults_per_s", sum(&|process| process.faults as f64 / wall_s));
    recorder.scalar("sut.processes", sum(&|process| process.processes.max(1) as f64));
    if let Some(machine) = metered[0].0.machine {
        recorder.scalar("sut.cpu_share", sum(&|process| process.cpu_s / wall_s) / machine.cpus.max(1) as f64);
    }
}

/// Returns the addresses that the controller is to listen on.
fn listen(run: &Run<'_>) -> Result<Listen, RigError> {
    if keys::text(run, "sut.transport")? == "unix" {
        return Ok(Listen::Own);
    }
    Ok(Listen::At(Address::Tcp { host: ip(run)?.to_string(), port: 0 }))
}

/// Returns the IP address that the controller is to listen on.
pub(crate) fn ip(run: &Run<'_>) -> Result<IpAddr, RigError> {
    let text = keys::text(run, "sut.listen")?;
    let wrong = |_| RigError::Rig(format!("`sut.listen`: \"{text}\" is not an IP address"));
    text.parse().map_err(wrong)
}

/// Returns an address of a component from those it reported.
pub(crate) fn address(told: &BTreeMap<String, String>, name: &str) -> Result<Address, RigError> {
    let missing = || RigError::Rig(format!("the component does not report its address `{name}`"));
    let text = told.get(name).ok_or_else(missing)?;
    text.parse().map_err(|error| RigError::Rig(format!("`{name}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreachable_controllers_are_rejected_in_preview() {
        let of = |kind: &str, peer: &str, e2: &str| {
            let settings = [("sut.type", kind), ("sut.peer", peer), ("sut.e2", e2), ("sut.e42", e2)];
            refused(&settings.map(|(path, text)| (path.to_owned(), Value::Text(text.to_owned()))).into())
        };
        let told = of("external", "flexric", "unix:///run/e2").unwrap();
        assert!(told.contains("speaks sctp, shim, tcp and not unix"), "{told}");
        // Addresses of the gateway in front of it.
        assert_eq!(of("external", "flexric", "tcp://10.0.0.9:36421"), None);
        assert_eq!(of("external", "flexric", "shim:///run/e2/10.0.0.9:36421"), None);
        assert_eq!(of("external", "ranlab", "tcp://10.0.0.9:36421"), None);
        assert_eq!(of("ranlab", "flexric", "tcp://10.0.0.9:36421"), None);
        assert!(of("external", "flexran2", "tcp://10.0.0.9:36421").unwrap().contains("no profile"));
        let told = of("external", "flexric", "sctp://10.0.0.9:36421");
        assert_eq!(told.is_some(), ranlab_net::sctp_support().is_err(), "{told:?}");
    }
}
