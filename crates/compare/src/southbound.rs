//! Rig `sd-ran`: base stations of FlexRAN or 5G-EmPOWER at a controller. This is the benchmark of the MARC paper
//! without its defects.
//!
//! The rig also measures the same load over E2 at ranlab's RIC, with its monitoring iApp as the counterpart of the
//! monitoring application.

mod outcome;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use ranlab_campaign::keys;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{RepeatTime, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_e2_codec::e2ap::Version;
use ranlab_e2_codec::flat::Coding;
use ranlab_e2_lab::rigs::e2_keys;
use ranlab_e2_lab::{FleetComponent, HostedIApp, RicComponent};
use ranlab_lab::experiment::account;
use ranlab_lab::field::Text;
use ranlab_lab::worker::{Worker, number};
use ranlab_lab::{AnyComponent, As, AttachComponent, Config, Listen, Seed, WorkerLocation, loopback};
use ranlab_sdran::arrivals::{Law, Profile};
use ranlab_sdran_lab::{
    EmpowerComponent, Events, FlexranComponent, Period, Protocol, RibShare, SdranNames, Share, SouthDetail,
    SouthFleetComponent,
};
use ranlab_transport::Address;

use crate::guides;
use outcome::{ControllerCounters, ExtraStation, WindowObservation};
use ranlab_lab::experiment::harness::{Deployment, Experiment, Judged, Window};
use ranlab_lab::experiment::{keys, readback, third_party};

/// E2AP version between the RIC and its base stations.
const E2AP: Version = Version::V2_03;
/// Interval at which the state of the additional base station is read.
const PROBE: Duration = Duration::from_millis(50);

/// Laws of the MARC paper for the activation and the holding time of UEs.
const ACTIVATION: &str = "exponential:10s";
const HOLDING: &str = "constant:500s";

/// Roles of the components.
const CONTROLLER: &str = "controller";
const FLEET: &str = "base stations";

/// Rig `sd-ran`.
pub(crate) struct SdRan;

/// Returns whether the controller is ranlab's RIC, over E2.
fn is_ric(run: &Run<'_>) -> Result<bool, RigError> {
    Ok(keys::text(run, "sut.type")? == "ric")
}

fn protocol(run: &Run<'_>) -> Result<Protocol, RigError> {
    Ok(match keys::text(run, "sut.type")? {
        "empower" => Protocol::EmpowerV1,
        "external" => {
            let text = third_party::said(run, "sut.protocol", "flexran", |peer| &peer.dialect.southbound)?;
            let wrong = |allowed| RigError::Rig(format!("`sut.protocol` must be {allowed}"));
            <SdranNames as As<Protocol>>::from_value(&text.as_str().into()).map_err(wrong)?
        }
        _ => Protocol::Flexran,
    })
}

/// Returns the reporting period, or `None` if the controller selects it.
fn period(run: &Run<'_>) -> Result<Option<Duration>, RigError> {
    if keys::setting(run, "load.use_requested_period")? {
        return Ok(None);
    }
    let period: Duration = keys::setting(run, "load.period")?;
    Ok(Some(if period.is_zero() { protocol(run)?.marc_period() } else { period }))
}

fn controller(run: &Run<'_>) -> Result<AnyComponent, RigError> {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    Ok(match keys::text(run, "sut.type")? {
        "external" => third_party::component(run)?,
        "empower" => {
            let part = EmpowerComponent::read_but(run, "sut", &["period"])?;
            AnyComponent::from(EmpowerComponent { listen: Some(listen), ..part })
        }
        "ric" => {
            let fleet = FleetComponent::read(run, "load")?;
            let part = RicComponent::default();
            AnyComponent::from(RicComponent {
                e2: vec![Listen::At(loopback(0))],
                e2ap: E2AP,
                iapp: vec![HostedIApp::Monitor],
                sm: fleet.sm,
                // E2 statistics support no period below 1 ms, and the RIC always requests a period.
                period: period(run)?.unwrap_or_default().max(Duration::from_millis(1)),
                // The limit leaves room for the additional base station.
                max_nodes: part.max_nodes.max(u64::from(fleet.nodes) + 1),
                ..part
            })
        }
        which => {
            let part = FlexranComponent { listen, ..FlexranComponent::read(run, "sut")? };
            AnyComponent::from(match which {
                "alt-flexran" => FlexranComponent { rib_share: Share(RibShare::Fixed(0.8)), ..part },
                _ => part,
            })
        }
    })
}

/// Returns the base stations, connected to a controller.
fn base_stations(run: &Run<'_>, connect: &Address) -> Result<AnyComponent, RigError> {
    if is_ric(run)? {
        return e2_keys::fleet(run, connect, E2AP, Coding::Per).map(AnyComponent::from);
    }
    let part = SouthFleetComponent::read_but(run, "load", &["period", "taken_back"])?;
    // The default laws of a scenario are those of the MARC paper. They apply only to the service `marc`; with another
    // service, they count as not set.
    let marc = part.service == Profile::Marc;
    let of_service = |law: Option<Law>, of_marc: &str| law.filter(|law| marc || of_marc.parse() != Ok(*law));
    let taken_back =
        run.value("load.return").map(|_| keys::setting_as::<Text, Law>(run, "load.return")).transpose()?;
    let part = SouthFleetComponent {
        activation: of_service(part.activation, ACTIVATION),
        holding: of_service(part.holding, HOLDING),
        taken_back,
        connect: vec![connect.clone()],
        protocol: protocol(run)?,
        period: Some(period(run)?.map_or(Period::HONOUR, Period::every)),
        ramp: part.ramp.filter(|ramp| !ramp.is_zero()),
        seed: Seed(run.seed),
        ..part
    };
    if part.events == Some(Events::Stdin) {
        return Err(RigError::Rig(
            "`load.events` must be IP:PORT, because a campaign has no standard input".to_owned(),
        ));
    }
    match part.warning() {
        Some(why) => Err(RigError::Rig(why)),
        None => Ok(AnyComponent::from(part)),
    }
}

/// Returns the controller's address for base stations.
fn address(run: &Run<'_>, addresses: &BTreeMap<String, String>) -> Result<Address, RigError> {
    match keys::text(run, "sut.type")? {
        "external" => {
            let text = third_party::said(run, "sut.address", "", |peer| &peer.addresses.southbound)?;
            let text = text.trim_start_matches("tcp://");
            let wrong = |error| RigError::Rig(format!("`sut.address`: {error}"));
            format!("tcp://{text}").parse().map_err(wrong)
        }
        "ric" => account::address(addresses, "e2"),
        _ => account::address(addresses, "southbound"),
    }
}

/// Starts one more base station without UEs, the (m+1)th of the MARC paper. Returns `None` if the protocol does not
/// support it.
fn probe(
    run: &Run<'_>,
    window: &Window<'_>,
    connect: &Address,
    patience: Duration,
) -> Result<Option<ExtraStation>, RigError> {
    let stations = base_stations(run, connect)?;
    let Some(part) = stations.get::<SouthFleetComponent>() else { return Ok(None) };
    let part = SouthFleetComponent { nodes: 1, first: part.nodes, ues: 0, ..part.clone() };
    let places = keys::places(run, "load.at")?;
    let host = places.first().unwrap_or(&WorkerLocation::Local);
    let part = AnyComponent::from(part);
    let mut probe = Worker::start(window.lab, host, "one more base station", part, &run.stop)?;
    let mut waited = Duration::ZERO;
    loop {
        let numbers = probe.counters(&run.stop)?;
        let of = |name: &str| number(&numbers, name);
        if of("alive")? >= 1.0 {
            return Ok(Some(ExtraStation::Served(of("init_reporting_us_max")?, of("init_requests_us_max")?)));
        }
        if waited >= patience {
            let hung_up = of("reconnects")? > 0.0;
            return Ok(Some(if hung_up { ExtraStation::HungUp } else { ExtraStation::Unserved }));
        }
        run.stop.sleep(PROBE)?;
        waited += PROBE;
    }
}

/// Returns a function that replaces the comment of a key.
fn said(comment: &str) -> impl FnOnce(Key) -> Key {
    let comment = comment.to_owned();
    |key| Key { comment, ..key }
}

/// Returns the keys of the reference controllers.
fn reference_keys() -> Vec<Key> {
    let flexran = FlexranComponent::keys("sut")
        .without(&["leak_limit_mib", "forget_dead"])
        .change("rib_share", said("share of a cycle for the RIB updater: \"0.2\" is FlexRAN, \"0.8\" AltFlexRAN; or \"adaptive\""))
        .change("queue", said("leaky: drops messages and leaks memory, as published; bounded: back-pressure on agents"))
        .change("threads", said("per-run: a new thread per run, as published"))
        .change("period", said("reporting period requested from agents; effective with load.use_requested_period"))
        .or("handover", Duration::ZERO)
        .change("handover", said("interval at which one UE is handed over from a base station to the next, in rotation; 0s: never"))
        .or("slow_period", Duration::ZERO)
        .change("slow_period", said("reporting period requested while the queue is long; 0s: unchanged"));
    let empower = EmpowerComponent::keys("sut")
        .only(&["message_cost"])
        .or("message_cost", Duration::from_micros(350))
        .change("message_cost", said("additional CPU time per message; the published interpreter: 350us"));
    [flexran.keys(), empower.keys()].concat()
}

fn sut_keys() -> Vec<Key> {
    // A type ignores keys that it does not use, so that one sweep can cover several types.
    let external = &["external"][..];
    let mut keys = keys! {
        ("sut.type", Kind::choice(&["flexran", "alt-flexran", "empower", "ric", "external"]), "reference implementations of the published controllers (alt-flexran: flexran with a RIB share of 0.8); ric: ranlab's RIC with its monitoring iApp, over E2 and with all UEs from the start; external: a controller that already runs").or("flexran");
        ("sut.address", Kind::Text, "IP:PORT of the controller, if its profile does not contain it").optional().when("sut.type", external);
        ("sut.protocol", Kind::choice(&["flexran", "mosaic", "empower1", "empower2"]), "its protocol, if its profile does not contain it; default: flexran").optional().when("sut.type", external);
    };
    keys.insert(1, keys::place("sut.at", "the controller"));
    keys.extend(third_party::keys("sut.type", external));
    let pid = "its process id on sut.at; without it, sut.command and sut.cgroup, the processes named in its profile are metered, if any";
    let attach = AttachComponent::keys("sut").change("pid", said(pid)).when("sut.type", external);
    keys.splice(2..2, reference_keys());
    keys.extend(attach.keys());
    keys.extend(readback::keys(external));
    keys
}

/// Returns the keys of the base stations.
fn load_keys() -> Vec<Key> {
    let stations = |max: i64| move |key: Key| Key { kind: Kind::Int { min: 1, max }, ..key };
    let period = "reporting period; 0s: MARC's, 50 ms FlexRAN and 500 ms 5G-EmPOWER";
    let fleet = SouthFleetComponent::keys("load")
        .change("service", |key| {
            said("service that defines the arrival and holding times of UEs: embb, mmtc, mmtc-burst, urllc, marc")(key)
                .optional()
        })
        .change("trace", said("replay the events of this file instead, on load.at"))
        .change("events", said("receive events during the run: IP:PORT listens on load.at for one connection"))
        .change("taken_back", |key| Key { path: "load.return".to_owned(), ..key })
        .or("nodes", 10_i64)
        .change("nodes", stations(65_000))
        .or("ues", 10_i64)
        .or("ramp", Duration::ZERO)
        .change("ramp", said("time over which base stations start; 0s: one per millisecond"))
        .change("period", |key| said(period)(Key { kind: Kind::Span, ..key }))
        .or("period", Duration::ZERO)
        .or("activation", ACTIVATION)
        .change("activation", said("time until a UE connects, e.g. exponential:10s, constant:0s"))
        .or("holding", HOLDING)
        .change("holding", said("time until it disconnects"))
        .change("sources", said("addresses to connect from, e.g. 127.0.1.1-127.0.1.50; empty: any"));
    let statistics = e2_keys::of_fleet()
        .only(&["sm"])
        .change("sm", said("statistics that the RIC subscribes to"))
        .or("sm", Value::List(["mac", "rlc", "pdcp"].map(Value::from).to_vec()));
    let mut keys = [fleet.keys(), statistics.keys()].concat();
    keys.extend(keys! {
        ("load.use_requested_period", Kind::Bool, "use the reporting period requested by the controller instead").or(false).formerly("load.honour");
        ("load.init_timeout", Kind::Span, "time limit for the initialisation of all base stations").or(Duration::from_secs(20)).formerly("load.settle");
        ("load.extra_node_timeout", Kind::Span, "time limit for the initialisation of one more base station after the measurement; 0s: no such base station").or(Duration::from_secs(15)).formerly("load.patience");
        ("load.soak", Kind::Span, "time under load after that, before the measurement, in quick runs too").or(Duration::ZERO);
    });
    keys.push(keys::load_places("the base stations"));
    keys
}

impl Experiment for SdRan {
    fn describe(&self) -> RigDescription {
        RigDescription {
            name: "sd-ran".to_owned(),
            aliases: vec!["southbound".to_owned()],
            comment: "base stations of FlexRAN or 5G-EmPOWER with UEs at a controller".to_owned(),
            keys: [sut_keys(), load_keys(), keys::host()].concat(),
            metrics: outcome::metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(2),
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: include_str!("starters/sd-ran.toml"),
        }
    }

    fn load(&self, run: &Run<'_>) -> Result<Option<AnyComponent>, RigError> {
        base_stations(run, &loopback(0)).map(Some)
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        let addresses = &stage.sut(CONTROLLER, "sut.at", controller(run)?)?.ready.addresses;
        let connect = address(run, addresses)?;
        stage.tool(FLEET, "load.at", base_stations(run, &connect)?)?;
        let nodes: u32 = keys::int(run, "load.nodes")?;
        let settle = keys::setting(run, "load.init_timeout")?;
        let up = stage.wait(FLEET, "all base stations up", settle, |numbers| {
            numbers.get("alive").is_some_and(|alive| *alive >= f64::from(nodes))
        });
        match up {
            // If not all base stations connect to the controller, this is a result and not an error.
            Ok(()) | Err(RigError::Sut(_)) => {}
            Err(error) => return Err(error),
        }
        if stage.changed() {
            run.stop.sleep(keys::setting(run, "load.soak")?)?;
        }
        Ok(())
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let patience: Duration = keys::setting(run, "load.extra_node_timeout")?;
        let told = match keys::text(run, "sut.type")? {
            "external" => ControllerCounters::Nothing,
            "ric" => ControllerCounters::Ric,
            _ => ControllerCounters::Reference,
        };
        let probe = match window.find(CONTROLLER) {
            // The setup time of an E2 base station is not measured here, because the snapshots of the fleet are too
            // infrequent.
            Some(controller) if told != ControllerCounters::Ric && !patience.is_zero() => {
                probe(run, window, &address(run, &controller.addresses)?, patience)?
            }
            _ => None,
        };
        let nodes: u32 = keys::int(run, "load.nodes")?;
        let detail = window.details::<SouthDetail>(FLEET).unwrap_or_default();
        let seen = WindowObservation {
            nodes: f64::from(nodes),
            load: window.report(FLEET)?,
            controller: window.report(CONTROLLER)?,
            told,
            // E2 base stations report no incidents.
            radios: detail.iter().flat_map(|detail| detail.radios.clone()).collect(),
            incidents: detail.iter().flat_map(|detail| detail.incidents.clone()).collect(),
        };
        seen.record(recorder, probe.map(|probe| (probe, patience)))
    }

    fn verdict(&self, results: &Results) -> Vec<String> {
        guides::sentences(results)
    }
}
