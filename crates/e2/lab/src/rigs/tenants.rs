//! Rig `tenants`: operators that share a base station through the virtualization controller, or that have separate base
//! stations, each with the operator's share of the carrier.
//!
//! Each operator has a slicing controller, and one operator has an xApp. The rig runs live and in virtual time
//! ([`crate::rigs::virtual_time`]). Base stations and UEs are configured as in rig `radio`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use crate::virtual_time::NetworkSpec;
use crate::{
    FleetComponent, RADIO_KEYS, RestUrl, RicComponent, SliceXappComponent, SlicingComponent, TenantPlan,
    VirtComponent,
};
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{
    Better, LimitViolation, Metric, MetricKind, Outcome, RepeatTime, RigDescription, RigError, Run,
};
use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::{Value, parse_span};
use ranlab_campaign::{keys, metrics};
use ranlab_lab::experiment::account;
use ranlab_lab::field::{Each, Text};
use ranlab_lab::{AnyComponent, Config, Listen, Seed};
use ranlab_ran::Spelled;
use ranlab_ran::radio::{RadioMeter, first_ue};
use ranlab_sdk::transport::Address;

use crate::rigs::radio::{FAULTS, SET_UP, faultless};
use crate::rigs::virtual_time::Omitted;
use ranlab_lab::experiment::harness::{Deployment, Experiment, Judged, Window};
use ranlab_lab::experiment::keys;

/// Key that selects shared or separate base stations.
pub const INFRASTRUCTURE: &str = "sut.infrastructure";
/// Name of the RIC that serves the base stations in virtual time.
const RIC: &str = "ric";
const VIRT: &str = "virtualization controller";
/// Role names of the operators' controllers.
const CONTROLLERS: [&str; 4] = [
    "first operator's controller",
    "second operator's controller",
    "third operator's controller",
    "fourth operator's controller",
];
const FLEETS: [&str; 4] = [
    "base station",
    "second operator's base station",
    "third operator's base station",
    "fourth operator's base station",
];
const XAPP: &str = "xApp";
/// Number of UEs with individual metrics.
const UES: u32 = 8;
const PHASES: usize = 6;

/// The rig `tenants`.
pub struct Tenants;

/// Components of a run before they are connected.
struct Parts {
    tenants: Vec<TenantPlan>,
    virt: VirtComponent,
    /// A single fleet with all UEs, or one fleet per operator.
    fleets: Vec<FleetComponent>,
    xapp: SliceXappComponent,
    /// Index of the operator with the xApp.
    asks: usize,
    shared: bool,
}

fn wrong(why: impl Into<String>) -> RigError {
    RigError::Rig(why.into())
}

fn texts<'a>(run: &'a Run<'_>, path: &str) -> Vec<&'a str> {
    match run.value(path) {
        Some(Value::List(all)) => all.iter().filter_map(Value::text).collect(),
        _ => Vec::new(),
    }
}

fn list(texts: impl IntoIterator<Item = String>) -> Value {
    Value::List(texts.into_iter().map(Value::Text).collect())
}

/// Returns the part of a text `UES=SETTING` or `UES@TIME` that applies to the UEs `of`, with UEs renumbered from 1.
/// Returns `None` if it applies to none of them.
fn about(text: &str, mark: char, of: &Range<u32>) -> Option<String> {
    let Some((ues, rest)) =
        text.split_once(mark).filter(|(ues, _)| ues.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return Some(text.to_owned());
    };
    let (first, last) = ues.split_once('-').unwrap_or((ues, ues));
    // An invalid text is kept, so that its parser reports the error.
    let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
        return Some(text.to_owned());
    };
    let first = first.max(of.start);
    let last = last.min(of.end - 1);
    (first <= last).then(|| format!("{}-{}{mark}{rest}", first - of.start + 1, last - of.start + 1))
}

/// Returns the carrier with its number of PRBs multiplied by `share`.
fn part_of(carrier: &str, share: f64) -> String {
    let cut = |(kind, prbs): (&str, &str)| Some((kind.to_owned(), prbs.parse::<f64>().ok()? * share));
    let cut = carrier.split_once(':').and_then(cut);
    cut.map_or_else(|| carrier.to_owned(), |(kind, prbs)| format!("{kind}:{}", prbs.round()))
}

impl Parts {
    fn from_run(run: &Run<'_>) -> Result<Self, RigError> {
        let plans: Vec<Spelled<TenantPlan>> = keys::setting_as::<Each<Text>, _>(run, "sut.tenants")?;
        let tenants: Vec<_> = plans.into_iter().map(|plan| plan.value).collect();
        if !(1..=CONTROLLERS.len()).contains(&tenants.len()) {
            return Err(wrong(format!("`sut.tenants`: 1 to {} operators are allowed", CONTROLLERS.len())));
        }
        let name = keys::text(run, "xapp.tenant")?;
        let asks = tenants.iter().position(|tenant| tenant.name == name);
        let asks = asks.ok_or_else(|| wrong(format!("`xapp.tenant`: no operator has the name {name}")))?;
        let shared = keys::text(run, INFRASTRUCTURE)? == "shared";
        let sharing = keys::setting(run, "sut.sharing")?;
        let each: u32 = keys::int(run, "load.ues")?;
        let fleet = |first: u32, radio: String, of: Range<u32>, owners: &[TenantPlan]| {
            let mut fleet =
                FleetComponent { seed: Seed(run.seed), first, ..FleetComponent::read(run, "load")? };
            let kept =
                |path: &str, mark| list(texts(run, path).iter().filter_map(|text| about(text, mark, &of)));
            // The UEs of an operator have consecutive numbers, and select the first PLMN of the operator's subscribers.
            let network =
                |tenant: &TenantPlan| tenant.subscribers.iter().find(|it| it.contains('.')).cloned();
            let networks: Option<Vec<_>> = owners.iter().map(network).collect();
            let networks = networks
                .ok_or_else(|| wrong("`sut.tenants`: each operator requires a network, e.g. 001.01"))?;
            let plmns = networks.iter().flat_map(|it| std::iter::repeat_n(it.clone(), each as usize));
            for (field, value) in [
                ("radio", Value::Text(radio)),
                ("ues", Value::Int((of.end - of.start).into())),
                ("flows", kept("load.flows", '=')),
                ("stay", kept("load.stay", '@')),
                ("plmn", list(plmns)),
            ] {
                fleet.set(field, &value).map_err(|error| wrong(error.to_string()))?;
            }
            Ok::<_, RigError>(fleet)
        };
        let radio = keys::text(run, "load.radio")?;
        let count = tenants.len() as u32;
        let fleets = if shared {
            vec![fleet(0, radio.to_owned(), 1..count * each + 1, &tenants)?]
        } else {
            let own = |(n, tenant): (u32, &TenantPlan)| {
                let of = n * each + 1..(n + 1) * each + 1;
                fleet(n, part_of(radio, tenant.share), of, std::slice::from_ref(tenant))
            };
            (0..).zip(&tenants).map(own).collect::<Result<_, _>>()?
        };
        let step = keys::setting_as::<Each<Text>, _>(run, "xapp.steps")?;
        let xapp = SliceXappComponent { step, sharing, ..SliceXappComponent::default() };
        let virt = VirtComponent { sharing, ..VirtComponent::default() };
        Ok(Self { tenants, virt, fleets, xapp, asks, shared })
    }

    /// Returns the virtualization controller, connected to these controllers.
    fn virt(&self, controllers: impl Iterator<Item = String>) -> Result<VirtComponent, RigError> {
        let plan = |(tenant, at): (&TenantPlan, String)| {
            let TenantPlan { name, share, subscribers, .. } = tenant;
            format!("{name}:{share}:{}@{at}", subscribers.join("+")).parse().map_err(wrong)
        };
        let tenant = self.tenants.iter().zip(controllers).map(plan).collect::<Result<_, RigError>>()?;
        Ok(VirtComponent { tenant, ..self.virt.clone() })
    }
}

/// Returns the names of the configured operators.
pub fn operators(settings: &BTreeMap<String, Value>) -> Vec<String> {
    let Some(Value::List(all)) = settings.get("sut.tenants") else { return Vec::new() };
    let name = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
    all.iter().filter_map(Value::text).map(name).collect()
}

/// Returns the network for virtual time. An omitted xApp is left out; a RIC without a controller replaces an omitted
/// controller.
pub fn cast(run: &Run<'_>, without: Omitted, latency: Duration) -> Result<NetworkSpec, RigError> {
    let parts = Parts::from_run(run)?;
    let own = |tenant: &TenantPlan| format!("ric of {}", tenant.name);
    let bare = || AnyComponent::from(RicComponent::default());
    let all = without == Omitted::Controller;
    let mut controllers = Vec::new();
    if parts.shared {
        let virt = parts.virt(parts.tenants.iter().map(own))?;
        controllers.push((RIC.to_owned(), if all { bare() } else { AnyComponent::from(virt) }));
    }
    let slicing = |n| match all || without == Omitted::Operator(n) {
        true => bare(),
        false => AnyComponent::from(SlicingComponent::default()),
    };
    controllers.extend(parts.tenants.iter().enumerate().map(|(n, tenant)| (own(tenant), slicing(n))));
    let above = |n: usize| if parts.shared { RIC.to_owned() } else { own(&parts.tenants[n]) };
    let fleets = parts.fleets.iter().enumerate().map(|(n, fleet)| (fleet.clone(), above(n))).collect();
    let xapp =
        ("xapp.slices".to_owned(), AnyComponent::from(parts.xapp.clone()), own(&parts.tenants[parts.asks]));
    // The xApp runs only if its controller does, because it sends its requests to this controller.
    let works = without == Omitted::Nobody || matches!(without, Omitted::Operator(n) if n != parts.asks);
    let xapps = Some(xapp).filter(|_| works).into_iter().collect();
    Ok(NetworkSpec { controllers, fleets, xapps, latency })
}

/// Parses a phase such as `8s-11s`.
fn phase(text: &str) -> Option<Range<Duration>> {
    let (from, until) = text.split_once('-')?;
    let from = parse_span(from)?;
    let until = parse_span(until)?;
    (from < until).then_some(from..until)
}

/// Records the measurements of the radios, with UEs numbered over all radios.
pub fn record_radios(run: &Run<'_>, radios: &[RadioMeter], recorder: &mut Recorder) -> Judged {
    let each: u32 = keys::int(run, "load.ues")?;
    let tenants = texts(run, "sut.tenants").len();
    // Each base station numbers its UEs from a different offset.
    let number = |n: usize, ue: u32| ue - first_ue(n as u16) + 1 + n as u32 * each;
    let mut samples: BTreeMap<u64, BTreeMap<u32, f64>> = BTreeMap::new();
    for (n, radio) in radios.iter().enumerate() {
        for sample in &radio.samples {
            let at = samples.entry((sample.at_s * 1e3).round() as u64).or_default();
            at.extend(sample.ues.iter().map(|(ue, mbps)| (number(n, *ue), *mbps)));
        }
    }
    let of_tenant = |ues: &BTreeMap<u32, f64>, n: usize| -> f64 {
        let first = n as u32 * each + 1;
        ues.range(first..first + each).map(|(_, mbps)| mbps).sum()
    };
    for (at_ms, ues) in &samples {
        let at = Duration::from_millis(*at_ms);
        for ue in 1..=UES {
            recorder.sample(&format!("ue{ue}_mbps"), at, ues.get(&ue).copied().unwrap_or_default());
        }
        for n in 0..tenants {
            recorder.sample(&format!("tenant{}_mbps", n + 1), at, of_tenant(ues, n));
        }
    }
    let phases: Option<Vec<_>> = texts(run, "record.phases").into_iter().map(phase).collect();
    let phases = phases.filter(|all| all.len() <= PHASES);
    let phases = phases.ok_or_else(|| {
        wrong(format!("`record.phases`: at most {PHASES} phases are allowed, each like 8s-11s"))
    })?;
    for n in 0..tenants {
        let mut first = None;
        for (phase, span) in (1..).zip(&phases) {
            let inside = samples.iter().filter(|(at, _)| span.contains(&Duration::from_millis(**at)));
            let got: Vec<f64> = inside.map(|(_, ues)| of_tenant(ues, n)).collect();
            if got.is_empty() {
                // A quick run ends before this phase.
                continue;
            }
            let mean = got.iter().sum::<f64>() / got.len() as f64;
            recorder.scalar(&format!("phase{phase}_tenant{}_mbps", n + 1), mean);
            match first.filter(|_| phase > 1) {
                None if phase == 1 => first = Some(mean),
                Some(before) if before > 0.0 => {
                    recorder.scalar(&format!("phase{phase}_tenant{}_change", n + 1), mean / before - 1.0);
                }
                _ => {}
            }
        }
    }
    let slowest = radios.iter().map(|radio| radio.real_time_factor).fold(f64::INFINITY, f64::min);
    let bytes: u64 = radios.iter().flat_map(|radio| &radio.ues).map(|ue| ue.bytes).sum();
    let seconds = radios.first().map_or(0.0, |radio| radio.seconds).max(1e-6);
    recorder.scalar("total_mbps", bytes as f64 * 8e-6 / seconds);
    recorder.scalar("real_time_factor", slowest);
    let late_us = radios.iter().map(|radio| radio.summary().late_us_p99).max();
    recorder.scalar("slot_delay_us_p99", late_us.unwrap_or_default() as f64);
    Ok(recorder.judge([(Outcome::Degraded, LimitViolation::below("real_time_factor", slowest, 1.0))]))
}

fn metrics() -> Vec<Metric> {
    let mut metrics = metrics! {
        Scalar Higher "total_mbps" "Mbit/s" "IP data received by all UEs";
        Scalar Higher "real_time_factor" "" "ratio of the slowest radio's time to wall-clock time; below 1 it does not keep up";
        Scalar Lower "slot_delay_us_p99" "us" "delay of the radios' slots" .formerly("late_us_p99");
    };
    let mut push = |name: String, unit, kind, comment: String| {
        metrics.push(Metric::new(&name, unit, kind, Better::Neither, &comment));
    };
    for ue in 1..=UES {
        push(format!("ue{ue}_mbps"), "Mbit/s", MetricKind::Series, format!("data received by UE {ue}"));
    }
    for n in 1..=CONTROLLERS.len() {
        push(
            format!("tenant{n}_mbps"),
            "Mbit/s",
            MetricKind::Series,
            format!("data received by the UEs of operator {n}"),
        );
        for phase in 1..=PHASES {
            let name = format!("phase{phase}_tenant{n}_mbps");
            push(
                name,
                "Mbit/s",
                MetricKind::Scalar,
                format!("data received by the UEs of operator {n} in phase {phase}"),
            );
        }
    }
    for (n, phase) in (1..=CONTROLLERS.len()).flat_map(|n| (2..=PHASES).map(move |phase| (n, phase))) {
        let comment = format!("relative change of operator {n}'s data rate from phase 1 to phase {phase}");
        let name = format!("phase{phase}_tenant{n}_change");
        metrics.push(Metric::new(&name, "", MetricKind::Scalar, Better::Neither, &comment).signed());
    }
    metrics
}

impl Experiment for Tenants {
    fn describe(&self) -> RigDescription {
        let left_out = ["fidelity", "stage_key", "snssai", "plmn"];
        let keys = RADIO_KEYS.into_iter().filter(|key| !left_out.contains(key));
        let ours: Vec<_> = keys.chain(["ues"]).collect();
        let load = FleetComponent::keys("load").only(&ours).or("radio", "lte:50").or("ues", 2_i64);
        let tenants = list(["A:0.5:001.01", "B:0.5:001.02"].map(str::to_owned));
        let mut keys = keys! {
            (INFRASTRUCTURE, Kind::choice(&["shared", "dedicated"]), "one base station for all operators, or one each with its share of the PRBs").or("shared");
            ("sut.tenants", Kind::List(Box::new(Kind::Text)), "operators, NAME:SHARE:SUBSCRIBERS, with a PLMN as the first subscriber entry").or(tenants);
            ("sut.sharing", Kind::Bool, "whether resources that one operator leaves idle go to the others, if they share").or(true);
            ("xapp.tenant", Kind::Text, "operator whose slicing controller receives the xApp's requests").or("A");
            ("xapp.steps", Kind::List(Box::new(Kind::Text)), "requests of the xApp, AT:SLICE=SHARE+…[:RNTI=SLICE+…], with AT relative to the window's begin").or(Value::List(Vec::new()));
            ("record.phases", Kind::List(Box::new(Kind::Text)), "periods of the window for which operators' rates are reported, e.g. 0s-8s; the first is the reference of the others").or(Value::List(Vec::new()));
        };
        keys.push(keys::place("sut.at", "the controllers"));
        keys.extend(load.keys());
        keys.push(keys::place("load.at", "the base stations"));
        keys.push(keys::place("xapp.at", "the xApp"));
        keys.extend(crate::rigs::radio::sim_keys());
        RigDescription {
            name: "tenants".to_owned(),
            aliases: Vec::new(),
            comment: "operators that share a base station without seeing each other, or have one each"
                .to_owned(),
            keys,
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(3),
            repeat_time: RepeatTime::Windows,
            response_timeout: None,
            starter: include_str!("starters/tenants.toml"),
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
        faultless(run.value(FAULTS)).map_err(wrong)?;
        let parts = Parts::from_run(run)?;
        let e2 = || vec![Listen::At(Address::Tcp { host: "127.0.0.1".to_owned(), port: 0 })];
        let http = ([127, 0, 0, 1], 0).into();
        let mut own = Vec::new();
        let mut rest = String::new();
        for (n, role) in CONTROLLERS.iter().enumerate().take(parts.tenants.len()) {
            let part = AnyComponent::from(SlicingComponent { e2: e2(), http, ..SlicingComponent::default() });
            let addresses = stage.sut(role, "sut.at", part)?.ready.addresses.clone();
            own.push(account::address(&addresses, "e2")?);
            if n == parts.asks {
                rest = addresses.get("http").cloned().unwrap_or_default();
            }
        }
        let mut above = own.clone();
        if parts.shared {
            let part = parts.virt(own.iter().map(Address::to_string))?;
            let part = VirtComponent { e2: e2(), http, ..part };
            let addresses = stage.sut(VIRT, "sut.at", AnyComponent::from(part))?.ready.addresses.clone();
            above = vec![account::address(&addresses, "e2")?];
        }
        for ((fleet, role), above) in parts.fleets.iter().zip(FLEETS).zip(above) {
            let fleet = FleetComponent { connect: vec![above], ..fleet.clone() };
            stage.tool(role, "load.at", AnyComponent::from(fleet))?;
            stage.wait(role, "the base station up", SET_UP, |numbers| numbers.get("alive") == Some(&1.0))?;
        }
        if parts.shared {
            let count = parts.tenants.len() as f64;
            let enough = |numbers: &BTreeMap<String, f64>| numbers.get("faces") == Some(&count);
            stage.wait(VIRT, "a base station towards each operator", SET_UP, enough)?;
        }
        let rest: RestUrl = rest.parse().map_err(RigError::Rig)?;
        stage.tool(XAPP, "xapp.at", AnyComponent::from(SliceXappComponent { rest, ..parts.xapp })).map(drop)
    }

    fn preview(&self, settings: &BTreeMap<String, Value>) -> Option<Result<String, String>> {
        faultless(settings.get(FAULTS)).err().map(Err)
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let mut radios: Vec<RadioMeter> = Vec::new();
        for role in FLEETS.into_iter().filter(|role| window.find(role).is_some()) {
            let of_one: Vec<RadioMeter> = window.report(role)?.detail()?;
            radios.extend(of_one);
        }
        record_radios(run, &radios, recorder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ues_are_numbered_per_operator() {
        for (text, mark, of, own) in [
            ("udp:80", '=', 3..5, Some("udp:80")),
            ("3=udp:80@5s", '=', 3..5, Some("1-1=udp:80@5s")),
            ("1-3=udp:80", '=', 3..5, Some("1-1=udp:80")),
            ("1-2=voip", '=', 3..5, None),
            ("4@10s-20s", '@', 3..5, Some("2-2@10s-20s")),
            ("tcp@5s", '=', 3..5, Some("tcp@5s")),
        ] {
            assert_eq!(about(text, mark, &of).as_deref(), own, "{text}");
        }
        assert_eq!((part_of("lte:50", 0.5), part_of("nr:106", 0.25)), ("lte:25".into(), "nr:27".into()));
        let second = Duration::from_secs(8);
        let seconds = Duration::from_secs(11);
        assert_eq!((phase("8s-11s"), phase("8s"), phase("9s-8s")), (Some(second..seconds), None, None));
    }
}
