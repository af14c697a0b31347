//! Rig `radio`: a base station with a radio (the user-plane model) under the slicing or traffic controller and its
//! sample xApp. Alternatively it runs under a RIC without controller, with an xApp that subscribes over E42.
//!
//! UE metrics are counted in the radio's own time. On a machine that is too slow, a repeat takes longer and controllers
//! react late, but the UEs' shares are not distorted. The same components also run in virtual time
//! ([`crate::rigs::virtual_time`]).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::virtual_time::ClientReport;
use crate::{
    FleetComponent, MonitorComponent, RADIO_KEYS, RestUrl, RicComponent, SliceXappComponent,
    SlicingComponent, TrafficComponent, TrafficXappComponent,
};
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{
    Better, LimitViolation, Metric, MetricKind, Outcome, RepeatTime, RigDescription, RigError, Run,
};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;
use ranlab_campaign::{keys, metrics};
use ranlab_lab::experiment::account;
use ranlab_lab::field::{Each, Text};
use ranlab_lab::{AnyComponent, Config, Listen, Seed};
use ranlab_ran::radio::{RadioMeter, Sample};
use ranlab_sdk::transport::Address;

use ranlab_lab::experiment::harness::{Deployment, Experiment, Judged, Window};
use ranlab_lab::experiment::keys;

const CONTROLLER: &str = "controller";
const FLEET: &str = "base station";
const XAPP: &str = "xApp";

/// Time limit for the setup of the base station.
pub const SET_UP: Duration = Duration::from_secs(20);
/// Number of UEs and slices with individual metrics.
const COUNTED: u32 = 4;
/// Maximum number of phases in a window.
const PHASES_MAX: i64 = 4;
/// Time excluded at the start of a phase, until the change has taken effect.
const SETTLE: Duration = Duration::from_secs(2);
/// Time excluded at the end of a phase, because the next change may come early.
const UNSETTLE: Duration = Duration::from_secs(3);

/// Key of the message latency, used only in virtual time.
pub const LATENCY: &str = "sim.latency";
pub const FAULTS: &str = "sim.faults";

/// The rig `radio`.
pub struct Radio;

/// Components of a run before they are connected.
pub struct Parts {
    pub controller: AnyComponent,
    pub fleet: FleetComponent,
    pub xapp: Option<AnyComponent>,
}

impl Parts {
    pub fn from_run(run: &Run<'_>) -> Result<Self, RigError> {
        let controller = match keys::text(run, "sut.type")? {
            "traffic" => AnyComponent::from(TrafficComponent::default()),
            "ric" => AnyComponent::from(RicComponent::default()),
            _ => AnyComponent::from(SlicingComponent::default()),
        };
        together(keys::text(run, "sut.type")?, keys::text(run, "xapp.type")?).map_err(RigError::Rig)?;
        let fleet = FleetComponent { seed: Seed(run.seed), ..FleetComponent::read(run, "load")? };
        let xapp = match keys::text(run, "xapp.type")? {
            "slices" => {
                let step = keys::setting_as::<Each<Text>, _>(run, "xapp.steps")?;
                let sharing = keys::setting(run, "xapp.sharing")?;
                Some(AnyComponent::from(SliceXappComponent {
                    step,
                    sharing,
                    ..SliceXappComponent::default()
                }))
            }
            "traffic" => {
                let limit = keys::setting(run, "xapp.limit")?;
                let destination_port = Some(2112);
                Some(AnyComponent::from(TrafficXappComponent {
                    limit,
                    destination_port,
                    ..TrafficXappComponent::default()
                }))
            }
            "monitor" => Some(AnyComponent::from(MonitorComponent::read(run, "xapp")?)),
            _ => None,
        };
        Ok(Self { controller, fleet, xapp })
    }
}

/// Checks that an xApp works with a controller.
fn together(controller: &str, xapp: &str) -> Result<(), String> {
    match (controller, xapp) {
        (_, "none") | ("ric", "monitor") => Ok(()),
        (_, "monitor") => {
            Err(format!("`xapp.type` = monitor uses E42 and requires `sut.type` = ric, not {controller}"))
        }
        ("ric", _) => {
            Err(format!("`xapp.type` = {xapp} uses a controller's REST API, which `sut.type` = ric lacks"))
        }
        _ => Ok(()),
    }
}

/// Results of an xApp over E42 in a window.
#[derive(Debug, Clone)]
pub struct Monitored {
    pub indications: f64,
    /// Number of lost indications, or `None` if a base station sends no sequence numbers.
    pub lost: Option<f64>,
    /// Distribution of the age of statistics, as pairs of age in microseconds and count.
    pub ages_us: Vec<(u64, u64)>,
}

impl Monitored {
    pub fn from_report(client: &ClientReport) -> Self {
        let indications = client.report.indications as f64;
        let lost = client.report.lost.map(|it| it as f64);
        Self { indications, lost, ages_us: client.ages_us.clone() }
    }

    pub fn record(&self, recorder: &mut Recorder) {
        recorder.scalar("xapp_indications", self.indications);
        self.lost.into_iter().for_each(|lost| recorder.scalar("xapp_lost", lost));
        self.ages_us.iter().for_each(|(us, count)| recorder.values("xapp_age_us", *us, *count));
    }
}

/// Returns the keys used only in virtual time.
pub fn sim_keys() -> Vec<Key> {
    keys! {
        (LATENCY, Kind::Span, "in virtual time: delay of each message").or(Duration::from_micros(100));
        (FAULTS, Kind::List(Box::new(Kind::Text)), "in virtual time: injected faults, e.g. crash:ric@10s-13s, cut:agent@5s or random:4@5s-30s (docs/explanation/virtual-time.md)").or(Value::List(Vec::new()));
    }
}

/// Rejects fault injection, which exists only in virtual time.
pub fn faultless(faults: Option<&Value>) -> Result<(), String> {
    match faults {
        Some(Value::List(all)) if !all.is_empty() => {
            Err(format!("`{FAULTS}` requires virtual time: run this file with `ranlab sim`"))
        }
        _ => Ok(()),
    }
}

impl Experiment for Radio {
    fn describe(&self) -> RigDescription {
        // Controllers need a slot-level radio, and the xApps here load no stages, so these keys are omitted.
        let keys = RADIO_KEYS.into_iter().filter(|key| !["fidelity", "stage_key", "dus"].contains(key));
        let ours: Vec<_> = keys.chain(["ues"]).collect();
        let load = FleetComponent::keys("load").only(&ours).or("radio", "nr:106").or("ues", 2_i64);
        let mut keys = keys! {
            ("sut.type", Kind::choice(&["slicing", "traffic", "ric"]), "controller; ric: a RIC without controller iApp").or("slicing");
            ("xapp.type", Kind::choice(&["none", "slices", "traffic", "monitor"]), "xApp: slices applies xapp.steps, traffic gives UDP to port 2112 its own queue, monitor subscribes to statistics over E42 (with sut.type ric)").or("none");
            ("xapp.steps", Kind::List(Box::new(Kind::Text)), "requests of the xApp, AT:SLICE=SHARE+…[:RNTI=SLICE+…], with AT relative to the window's begin").or(Value::List(Vec::new())).when("xapp.type", &["slices"]);
            ("xapp.sharing", Kind::Bool, "whether resources that a slice leaves idle go to the other slices").or(true).when("xapp.type", &["slices"]);
            ("xapp.limit", Kind::Span, "maximum delay of packets in RLC").or(Duration::from_millis(10)).when("xapp.type", &["traffic"]);
            ("record.phases", Kind::Int { min: 1, max: PHASES_MAX }, "number of equal phases of a window; the first UE's share is recorded for each phase, without its first 2 s and last 3 s").or(1_i64);
        };
        keys.insert(1, keys::place("sut.at", "the controller"));
        keys.extend(
            MonitorComponent::keys("xapp").only(&["sm", "period"]).when("xapp.type", &["monitor"]).keys(),
        );
        keys.extend(load.keys());
        keys.push(keys::place("load.at", "the base station"));
        keys.push(keys::place("xapp.at", "the xApp"));
        keys.extend(sim_keys());
        RigDescription {
            name: "radio".to_owned(),
            aliases: Vec::new(),
            comment: "a cell with users' traffic under the slicing or the traffic controller".to_owned(),
            keys,
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(2),
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: include_str!("starters/radio.toml"),
        }
    }

    /// UEs arrive and flows begin at configured times, so there is no warm-up.
    fn warms_up(&self, _run: &Run<'_>) -> bool {
        false
    }

    fn each_window_anew(&self) -> bool {
        true
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        faultless(run.value(FAULTS)).map_err(RigError::Rig)?;
        let e2 = vec![Listen::At(Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 })];
        let http = ([127, 0, 0, 1], 0).into();
        let Parts { controller, fleet, xapp } = Parts::from_run(run)?;
        let controller = if let Some(part) = controller.get::<TrafficComponent>() {
            AnyComponent::from(TrafficComponent { e2, http, ..part.clone() })
        } else if let Some(part) = controller.get::<SlicingComponent>() {
            AnyComponent::from(SlicingComponent { e2, http, ..part.clone() })
        } else if let Some(part) = controller.get::<RicComponent>() {
            AnyComponent::from(RicComponent { e42: e2.clone(), e2, ..part.clone() })
        } else {
            controller
        };
        let addresses = stage.sut(CONTROLLER, "sut.at", controller)?.ready.addresses.clone();
        let connect = vec![account::address(&addresses, "e2")?];
        stage.tool(FLEET, "load.at", AnyComponent::from(FleetComponent { connect, ..fleet }))?;
        stage.wait(FLEET, "the base station up", SET_UP, |numbers| numbers.get("alive") == Some(&1.0))?;
        let Some(xapp) = xapp else { return Ok(()) };
        if let Some(part) = xapp.get::<MonitorComponent>() {
            let connect = account::address(&addresses, "e42")?;
            let part = MonitorComponent { connect, ..part.clone() };
            return stage.tool(XAPP, "xapp.at", AnyComponent::from(part)).map(drop);
        }
        let http = addresses.get("http").map(String::as_str).unwrap_or_default();
        let rest: RestUrl = http.parse().map_err(RigError::Rig)?;
        let xapp = if let Some(part) = xapp.get::<SliceXappComponent>() {
            AnyComponent::from(SliceXappComponent { rest, ..part.clone() })
        } else if let Some(part) = xapp.get::<TrafficXappComponent>() {
            AnyComponent::from(TrafficXappComponent { rest, ..part.clone() })
        } else {
            return Ok(());
        };
        stage.tool(XAPP, "xapp.at", xapp).map(drop)
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        faultless(settings.get(FAULTS)).err().map(Err)
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let radios: Vec<RadioMeter> = window.report(FLEET)?.detail()?;
        if run.text("xapp.type") == Some("monitor") {
            let report = window.report(XAPP)?;
            let ages_us = report.distributions.get("latency_us").cloned().unwrap_or_default();
            let indications = report.number("indications")?;
            let lost = report.numbers.get("lost").copied();
            Monitored { indications, lost, ages_us }.record(recorder);
        }
        record_radios(run, &radios, recorder)
    }
}

/// Records the meters of the radios.
pub fn record_radios(run: &Run<'_>, radios: &[RadioMeter], recorder: &mut Recorder) -> Judged {
    let radio = radios.first().ok_or_else(|| RigError::Rig("the base station has no radio".to_owned()))?;
    record(recorder, radio);
    phases(recorder, &radio.samples, run.duration, keys::int(run, "record.phases")?);
    Ok(recorder
        .judge([(Outcome::Degraded, LimitViolation::below("real_time_factor", radio.real_time_factor, 1.0))]))
}

fn metrics() -> Vec<Metric> {
    let mut metrics = metrics! {
        Scalar Higher "total_mbps" "Mbit/s" "IP data received by all UEs";
        Scalar Higher "prb_use" "" "share of downlink resource blocks used";
        Scalar Higher "real_time_factor" "" "ratio of the radio's time to wall-clock time; below 1 it does not keep up";
        Scalar Lower "slot_delay_us_p99" "us" "delay of the radio's slots" .formerly("late_us_p99");
        Scalar Higher "ue1_gain" "" "relative change of the first UE's share from the first to the last phase" .signed();
        Scalar Lower "voip_lost" "" "dropped packets of calls";
        Histogram Lower "voip_rtt_us" "us" "round-trip time of calls";
        Histogram Lower "voip_rlc_us" "us" "delay of call packets in RLC";
        Histogram Lower "voip_tc_us" "us" "delay of call packets in queues of traffic control";
        Histogram Lower "greedy_rlc_us" "us" "delay of TCP packets in RLC";
        Histogram Lower "greedy_tc_us" "us" "delay of TCP packets in queues of traffic control";
        Scalar Neither "xapp_indications" "" "reports received by the xApp over E42";
        Scalar Lower "xapp_lost" "" "gaps in the sequence numbers of the reports";
        Histogram Lower "xapp_age_us" "us" "age of statistics on arrival at the xApp";
        Series Neither "unsliced_mbps" "Mbit/s" "data received by UEs outside all slices";
    };
    let mut push = |name: String, unit, kind, comment: String| {
        metrics.push(Metric::new(&name, unit, kind, Better::Neither, &comment));
    };
    for n in 1..=COUNTED {
        push(
            format!("slice{n}_mbps"),
            "Mbit/s",
            MetricKind::Series,
            format!("data received by UEs in slice {n}"),
        );
        push(format!("ue{n}_mbps"), "Mbit/s", MetricKind::Series, format!("data received by UE {n}"));
        push(
            format!("phase{n}_ue1_share"),
            "",
            MetricKind::Scalar,
            format!("share of the first UE in phase {n}"),
        );
    }
    metrics
}

fn record(recorder: &mut Recorder, radio: &RadioMeter) {
    let seconds = radio.seconds.max(1e-6);
    let bytes: u64 = radio.ues.iter().map(|ue| ue.bytes).sum();
    recorder.scalar("total_mbps", bytes as f64 * 8e-6 / seconds);
    recorder.scalar("prb_use", radio.prb_use);
    recorder.scalar("real_time_factor", radio.real_time_factor);
    recorder.scalar("slot_delay_us_p99", radio.summary().late_us_p99 as f64);
    for sample in &radio.samples {
        let at = Duration::from_secs_f64(sample.at_s);
        let slice = |name: &str| sample.slices.get(name).copied().unwrap_or_default();
        recorder.sample("unsliced_mbps", at, slice("none"));
        for n in 1..=COUNTED {
            recorder.sample(&format!("slice{n}_mbps"), at, slice(&n.to_string()));
            recorder.sample(&format!("ue{n}_mbps"), at, sample.ues.get(&n).copied().unwrap_or_default());
        }
    }
    for flow in &radio.flows {
        let name = match flow.what.as_str() {
            "voip" => "voip",
            "tcp" => "greedy",
            _ => continue,
        };
        let of = [("rtt_us", &flow.rtt_us), ("rlc_us", &flow.rlc_us), ("tc_us", &flow.tc_us)];
        for (what, counts) in of.iter().filter(|(what, _)| name == "voip" || *what != "rtt_us") {
            counts.iter().for_each(|(us, count)| recorder.values(&format!("{name}_{what}"), *us, *count));
        }
    }
    let voip = radio.flows.iter().filter(|flow| flow.what == "voip");
    if let Some(lost) = voip.map(|flow| flow.dropped).reduce(|a, b| a + b) {
        recorder.scalar("voip_lost", lost as f64);
    }
}

/// Records the first UE's share in each phase, and its gain from the first to the last phase.
fn phases(recorder: &mut Recorder, samples: &[Sample], window: Duration, phases: u32) {
    let mut got = Vec::new();
    for n in 0..phases {
        let phase = window / phases;
        let from = phase * n + SETTLE;
        let until = (phase * (n + 1)).saturating_sub(UNSETTLE);
        let inside =
            |sample: &&Sample| sample.at_s > from.as_secs_f64() && sample.at_s <= until.as_secs_f64();
        let inside: Vec<_> = samples.iter().filter(inside).collect();
        let first: f64 = inside.iter().filter_map(|sample| sample.ues.get(&1)).sum();
        let all: f64 = inside.iter().flat_map(|sample| sample.ues.values()).sum();
        if all > 0.0 {
            recorder.scalar(&format!("phase{}_ue1_share", n + 1), first / all);
        }
        got.push(first / inside.len().max(1) as f64);
    }
    if let [first, .., last] = got[..]
        && first > 0.0
    {
        recorder.scalar("ue1_gain", last / first - 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_exclude_their_first_and_last_seconds() {
        let sample = |half: u32| {
            let at_s = f64::from(half) / 2.0;
            let second = half / 2;
            // The first UE has 50 %, then 75 % of 40 Mbit/s. The values around the change are arbitrary.
            let one = if (18..=22).contains(&half) {
                0.0
            } else if second < 10 {
                20.0
            } else {
                30.0
            };
            Sample { at_s, ues: [(1, one), (2, 40.0 - one)].into(), slices: BTreeMap::new() }
        };
        let samples: Vec<_> = (1..=40).map(sample).collect();
        let mut recorder = Recorder::default();
        phases(&mut recorder, &samples, Duration::from_secs(20), 2);
        let metrics = recorder.finish().metrics;
        let of = |name: &str| metrics[name];
        assert_eq!((of("phase1_ue1_share"), of("phase2_ue1_share"), of("ue1_gain")), (0.5, 0.75, 0.5));
    }
}
