//! Rig `base-station`: cost of an agent for the base station that contains it.
//!
//! The base station is the user-plane model in real time, in its own process. It runs without agent, with ranlab's
//! agent under its RIC, or with FlexRAN's agent under a FlexRAN-style controller. There is no physical layer, so the
//! agent's cost is absolute and not a share of a complete base station.
//!
//! A third-party base station can be measured instead: it is started from its profile, connects to ranlab's RIC and
//! reports to ranlab's xApp.

use std::collections::BTreeMap;
use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{LimitViolation, Metric, Outcome, RepeatTime, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind, Presence};
use ranlab_campaign::value::Value;
use ranlab_campaign::{keys, metrics};
use ranlab_e2_lab::{FleetComponent, MonitorComponent, RADIO_KEYS, RicComponent};
use ranlab_lab::experiment::account;
use ranlab_lab::{AnyComponent, AttachComponent, Config, Listen, Section, Seed, loopback};
use ranlab_ran::radio::RadioMeter;
use ranlab_sdran_lab::{FlexranComponent, Period, Protocol, SouthDetail, SouthFleetComponent};

use ranlab_lab::experiment::harness::{Deployment, Experiment, Judged, Window};
use ranlab_lab::experiment::{keys, noise, third_party};

const STATION: &str = "base station";
const CONTROLLER: &str = "controller";
const XAPP: &str = "xApp";
/// Value of `sut.agent` for a third-party base station.
const EXTERNAL: &str = "external";
/// Time limit for the setup of the base station and the subscription of its reports.
const SET_UP: Duration = Duration::from_secs(20);

/// Rig `base-station`.
pub(crate) struct BaseStation;

impl Experiment for BaseStation {
    fn describe(&self) -> RigDescription {
        let load = own_load();
        let mut keys = keys! {
            ("sut.agent", Kind::choice(&["none", "e2", "flexran", EXTERNAL]), "agent; none; e2: ranlab's, with ranlab's RIC and an xApp; flexran: FlexRAN's protocol, with a FlexRAN-style controller").or("e2");
        };
        keys.push(keys::place("sut.at", "the base station"));
        // `external` is described at `sut.peer` and not at `sut.agent`, because the digest of a stored campaign contains the
        // description of `sut.agent`, which must not change.
        keys.extend(third_party::keys("sut.agent", &[EXTERNAL]).into_iter().map(
            |key| match key.path.as_str() {
                "sut.peer" => Key {
                    comment: format!("{}; a third-party base station has its own agent and UEs", key.comment),
                    ..key
                },
                _ => key,
            },
        ));
        keys.extend(AttachComponent::keys("sut").when("sut.agent", &[EXTERNAL]).keys());
        keys.extend(load.change("sm", |key| key.when("sut.agent", &["e2", EXTERNAL])).keys());
        keys.extend(keys! {
            ("load.period", Kind::Span, "reporting period of the agent").or(Duration::from_millis(1)).when("sut.agent", &["e2", "flexran", EXTERNAL]);
            ("load.e2_nodes", Kind::Int { min: 1, max: 64 }, "number of E2 nodes that the base station consists of: 3 for separate CU-CP, CU-UP and DU").or(1_i64).when("sut.agent", &[EXTERNAL]);
            ("controller.e2", Kind::Text, "address on which ranlab's RIC accepts the base station, as in the base station's configuration").or("tcp://127.0.0.1:36421").when("sut.agent", &[EXTERNAL]);
        });
        keys.push(keys::place("controller.at", "the controller"));
        keys.push(keys::place("xapp.at", "the xApp"));
        keys.extend(keys::host());
        RigDescription {
            name: "base-station".to_owned(),
            aliases: Vec::new(),
            comment: "CPU time that an agent adds to its base station, ranlab's or a third party's"
                .to_owned(),
            keys,
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(2),
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: include_str!("starters/base-station.toml"),
        }
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        let external = settings.get("sut.agent").and_then(Value::text) == Some(EXTERNAL);
        external.then(|| own_setting(settings)).flatten().map(|path| {
            Err(format!(
                "`{path}` configures ranlab's base station; a third-party one has its own configuration"
            ))
        })
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        if keys::text(run, "sut.agent")? == EXTERNAL {
            return external(run, stage);
        }
        let fleet = FleetComponent { seed: Seed(run.seed), ..FleetComponent::read(run, "load")? };
        match keys::text(run, "sut.agent")? {
            "e2" => e2(run, stage, fleet),
            "flexran" => {
                let period = keys::setting(run, "load.period")?;
                let listen = ([127, 0, 0, 1], 0).into();
                let part = FlexranComponent { listen, period, ..FlexranComponent::default() };
                let addresses =
                    &stage.tool(CONTROLLER, "controller.at", AnyComponent::from(part))?.ready.addresses;
                let connect = vec![account::address(addresses, "southbound")?];
                let FleetComponent { radio, channel, rlc_buffer, flows, stay, snssai, seed, ues, .. } = fleet;
                let part = SouthFleetComponent {
                    protocol: Protocol::Flexran,
                    period: Some(Period::every(period)),
                    ues: ues.into(),
                    ..SouthFleetComponent::default()
                };
                let part = SouthFleetComponent {
                    connect,
                    radio,
                    channel,
                    rlc_buffer,
                    flows,
                    stay,
                    snssai,
                    seed,
                    ..part
                };
                stage.sut(STATION, "sut.at", AnyComponent::from(part))?;
                stage.wait(STATION, "the base station up", SET_UP, |n| n.get("alive") == Some(&1.0))
            }
            // The base station has no agent.
            _ => {
                stage.sut(
                    STATION,
                    "sut.at",
                    AnyComponent::from(FleetComponent { connect: Vec::new(), ..fleet }),
                )?;
                stage.wait(STATION, "the base station up", SET_UP, |n| n.get("alive") == Some(&1.0))
            }
        }
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let agent = keys::text(run, "sut.agent")?;
        if agent == EXTERNAL {
            return record_external(run, window, recorder);
        }
        let station = window.report(STATION)?;
        let radios: Vec<RadioMeter> = match agent {
            "flexran" => station.detail::<SouthDetail>()?.radios,
            _ => station.detail()?,
        };
        let radio =
            radios.first().ok_or_else(|| RigError::Rig("the base station has no radio".to_owned()))?;
        let reports_per_s = station.number("reports")? / station.wall_s.max(1e-3);
        recorder.scalar("reports_per_s", reports_per_s);
        let bytes: u64 = radio.ues.iter().map(|ue| ue.bytes).sum();
        recorder.scalar("total_mbps", bytes as f64 * 8e-6 / radio.seconds.max(1e-6));
        recorder.scalar("prb_use", radio.prb_use);
        recorder.scalar("real_time_factor", radio.real_time_factor);
        recorder.scalar("slot_delay_us_p99", radio.summary().late_us_p99 as f64);
        let silent = agent != "none" && reports_per_s == 0.0;
        Ok(recorder.judge([
            (Outcome::Invalid, LimitViolation::said(silent, "the agent reported nothing")),
            (Outcome::Degraded, LimitViolation::below("real_time_factor", radio.real_time_factor, 1.0)),
        ]))
    }
}

/// Starts ranlab's agent, its RIC, and an xApp that subscribes to everything that the agent offers.
fn e2(run: &Run<'_>, stage: &mut Deployment<'_>, fleet: FleetComponent) -> Result<(), RigError> {
    let listen = || vec![Listen::At(loopback(0))];
    let ric = RicComponent { e2: listen(), e42: listen(), ..RicComponent::default() };
    let addresses = stage.tool(CONTROLLER, "controller.at", AnyComponent::from(ric))?.ready.addresses.clone();
    let expected = fleet.sm.len() as f64;
    let monitor = MonitorComponent {
        connect: account::address(&addresses, "e42")?,
        ..MonitorComponent::read(run, "load")?
    };
    let fleet = FleetComponent { connect: vec![account::address(&addresses, "e2")?], ..fleet };
    stage.sut(STATION, "sut.at", AnyComponent::from(fleet))?;
    stage.wait(STATION, "the base station up", SET_UP, |n| n.get("alive") == Some(&1.0))?;
    stage.tool(XAPP, "xapp.at", AnyComponent::from(monitor))?;
    stage.wait(XAPP, "all subscriptions admitted", SET_UP, |numbers| {
        numbers.get("subscriptions").is_some_and(|active| *active >= expected)
    })
}

/// Returns the keys of ranlab's base station.
fn own_load() -> Section {
    // `fidelity` is excluded because a coarse radio model consumes no time. The other excluded keys do not exist
    // for FlexRAN base stations.
    let of_both = |key: &&str| !["fidelity", "plmn", "stage_key", "dus"].contains(key);
    let ours: Vec<_> = RADIO_KEYS.into_iter().filter(of_both).chain(["ues", "sm"]).collect();
    FleetComponent::keys("load").only(&ours).or("radio", "nr:106").or("ues", 3_i64)
}

/// Returns the path of a setting that only ranlab's base station has and that differs from its default. These keys are
/// checked here and are not declared as conditional, which would change the meaning of stored campaigns that compare agents.
fn own_setting(settings: &BTreeMap<String, Value>) -> Option<String> {
    let set = |key: &Key| match (&key.presence, settings.get(&key.path)) {
        (Presence::Default(default), Some(value)) => value != default,
        (_, value) => value.is_some(),
    };
    own_load().keys().into_iter().find(|key| key.name() != "sm" && set(key)).map(|key| key.path)
}

/// Starts a third-party base station under ranlab's RIC, and an xApp that subscribes to its reports. If `load.sm` is empty,
/// there is no xApp, and the base station sends no reports.
fn external(run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
    let text = keys::text(run, "controller.e2")?;
    let e2 = text.parse().map_err(|error| RigError::Rig(format!("`controller.e2`: {error}")))?;
    let ric = RicComponent {
        e2: vec![Listen::At(e2)],
        e42: vec![Listen::At(loopback(0))],
        ..RicComponent::default()
    };
    let addresses = stage.tool(CONTROLLER, "controller.at", AnyComponent::from(ric))?.ready.addresses.clone();
    stage.sut(STATION, "sut.at", third_party::component(run)?)?;
    let nodes = run.number("load.e2_nodes").unwrap_or(1.0);
    stage.wait(CONTROLLER, "all E2 nodes of the base station connected", SET_UP, |numbers| {
        numbers.get("nodes").is_some_and(|connected| *connected >= nodes)
    })?;
    let monitor = MonitorComponent {
        connect: account::address(&addresses, "e42")?,
        ..MonitorComponent::read(run, "load")?
    };
    if monitor.sm.is_empty() {
        return Ok(());
    }
    stage.tool(XAPP, "xapp.at", AnyComponent::from(monitor))?;
    stage.wait(XAPP, "a subscription admitted", SET_UP, |numbers| {
        numbers.get("subscriptions").is_some_and(|active| *active >= 1.0)
    })
}

/// Records the only value known of a third-party base station: the number of reports that reached the xApp.
fn record_external(run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
    let reports_per_s = match window.find(XAPP) {
        Some(_) => {
            let report = window.report(XAPP)?;
            report.number("indications")? / report.wall_s.max(1e-3)
        }
        None => 0.0,
    };
    recorder.scalar("reports_per_s", reports_per_s);
    let silent = reports_per_s == 0.0 && !MonitorComponent::read(run, "load")?.sm.is_empty();
    Ok(recorder.judge([(Outcome::Invalid, LimitViolation::said(silent, "the agent reported nothing"))]))
}

fn metrics() -> Vec<Metric> {
    // Other rigs measure CPU metrics for the controller. In this rig, these metrics describe the base station with its
    // agent.
    let of_station = |metric: Metric| {
        let comment = metric.comment.replace("the controller", "the base station with its agent");
        Metric { comment, ..metric }
    };
    let mut metrics: Vec<_> = account::metrics().into_iter().map(of_station).collect();
    metrics.extend(metrics! {
        Scalar Neither "reports_per_s" "1/s" "statistics messages sent by the agent";
        Scalar Higher "total_mbps" "Mbit/s" "IP data received by all UEs";
        Scalar Higher "prb_use" "" "share of downlink resource blocks used";
        Scalar Higher "real_time_factor" "" "ratio of the radio's time to wall-clock time; below 1 it does not keep up";
        Scalar Lower "slot_delay_us_p99" "us" "delay of the radio's slots" .formerly("late_us_p99");
        Scalar Neither "tool.cpu_cores" "cores" "CPU cores used by controller and xApp";
    });
    metrics.extend(noise::metrics());
    metrics
}
