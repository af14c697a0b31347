//! Rigs `radio` and `tenants` in virtual time. All components of a repeat run in one thread, as fast as the machine
//! allows, with the same metrics as live.

pub mod ablation;
pub mod record;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::RicComponent;
use crate::virtual_time::{Control, FaultPlan, Network, NetworkSpec, UeState};
use ranlab_campaign::record::{Recorder, Recording};
use ranlab_campaign::rig::{Outcome, RigError, Run};
use ranlab_campaign::value::Value;
use ranlab_lab::AnyComponent;
use ranlab_lab::field::{Each, Text};
use ranlab_lab::worker::{ComponentError, FaultOwner};
use ranlab_ran::Spelled;
use ranlab_ran::radio::RadioMeter;

pub use crate::virtual_time::EventObserver;

use crate::rigs::radio::{FAULTS, LATENCY, Monitored, Parts, SET_UP, record_radios};
use crate::rigs::tenants;
use ranlab_lab::experiment::keys;

/// Rigs that support virtual time.
const RIGS: [&str; 2] = ["radio", "tenants"];
/// Step of virtual time. Windows begin at a multiple of the step.
const STEP: Duration = Duration::from_millis(100);
/// Virtual time between two recorded states. Stop requests are checked at the same interval.
pub const PERIOD: Duration = Duration::from_millis(500);
/// Time after the last fault within which all base stations must be set up again.
pub const RECOVERY: Duration = Duration::from_secs(15);

/// Component that is omitted from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Omitted {
    /// No component.
    #[default]
    Nobody,
    /// The xApp.
    Xapp,
    /// The controller, and the xApp that works through it, so that only the RIC remains. If operators share a base
    /// station, all their controllers and the virtualization controller are omitted.
    Controller,
    /// The controller of the operator with this index (from 0), and the xApp that works through it, so that only the
    /// operator's RIC remains.
    Operator(usize),
}

/// Options of a repeat.
#[derive(Default)]
pub struct RepeatOptions {
    /// Component that is omitted.
    pub without: Omitted,
    /// Observer of events, if any.
    pub witness: Option<EventObserver>,
    /// Whether to record states and controls.
    pub record: bool,
}

/// Recorded states and controls. Times are relative to the start of the window.
#[derive(Debug, Clone, Default)]
pub struct KeptRecords {
    /// States of the UEs at the start of the window, and at the end of each [`PERIOD`].
    pub states: Vec<(Duration, Vec<UeState>)>,
    /// Changes that the xApp has requested from the controller.
    pub controls: Vec<(Duration, Control)>,
}

/// Result of a completed repeat.
#[derive(Debug, Clone)]
pub struct RepeatResult {
    /// Outcome of the repeat.
    pub outcome: Outcome,
    /// Recorded metrics of the rig.
    pub recording: Recording,
    /// Measurements of the radios.
    pub radios: Vec<RadioMeter>,
    /// Digest of the run. The same repeat has the same digest in any process.
    pub digest: u64,
    /// Duration of the repeat in virtual time.
    pub passed: Duration,
    /// Wall-clock time that the repeat took.
    pub took: Duration,
    /// Recorded states and controls, if requested.
    pub kept: KeptRecords,
}

impl RepeatResult {
    /// Returns virtual time divided by wall-clock time.
    pub fn real_time_factor(&self) -> f64 {
        self.passed.as_secs_f64() / self.took.as_secs_f64().max(1e-9)
    }
}

/// Checks that a rig supports virtual time.
///
/// # Errors
///
/// Returns an error that names the rigs with support.
pub fn runs(rig: &str) -> Result<(), String> {
    if RIGS.contains(&rig) {
        return Ok(());
    }
    let those = RIGS.join(" and ");
    Err(format!(
        "rig \"{rig}\" does not run in virtual time, because it needs programs, sockets or the clock; supported rigs: {those}"
    ))
}

/// Checks that a point can run in virtual time.
///
/// # Errors
///
/// Returns an error if a component is located at a worker.
pub fn placed(settings: &BTreeMap<String, Value>) -> Result<(), String> {
    let away = |(path, value): (&String, &Value)| {
        let place = value.to_string();
        (path.ends_with(".at") && place != "local").then(|| {
            format!("`{path}` = {place} does not run in virtual time: all components run in this process, so `{path}` must be local")
        })
    };
    settings.iter().find_map(away).map_or(Ok(()), Err)
}

impl Omitted {
    /// Parses the name of a component, as in the scenario's keys: `xapp`, `xapp.slices`, `sut`, `sut.traffic`, or
    /// `sut.A` for the operator A.
    ///
    /// # Errors
    ///
    /// Returns an error that names the available components.
    pub fn named(name: &str, settings: &BTreeMap<String, Value>) -> Result<Self, String> {
        let kind = |key: &str| settings.get(key).and_then(Value::text).unwrap_or_default().to_owned();
        let mut there = vec![("sut".to_owned(), Self::Controller)];
        let xapp = if is_shared(settings) {
            let operators = tenants::operators(settings).into_iter().enumerate();
            there.extend(operators.map(|(n, operator)| (format!("sut.{operator}"), Self::Operator(n))));
            "slices".to_owned()
        } else {
            there.push((format!("sut.{}", kind("sut.type")), Self::Controller));
            kind("xapp.type")
        };
        if xapp != "none" {
            there.extend([("xapp".to_owned(), Self::Xapp), (format!("xapp.{xapp}"), Self::Xapp)]);
        }
        // The verb is `xapp slice`, but the value of the key is `slices`.
        let meant = if name == "xapp.slice" { "xapp.slices" } else { name };
        there.iter().find(|(known, _)| known == meant).map(|(_, without)| *without).ok_or_else(|| {
            let names: Vec<_> = there.iter().map(|(known, _)| known.as_str()).collect();
            format!("unknown component \"{name}\"; available: {}", names.join(", "))
        })
    }
}

fn trouble(trouble: ComponentError) -> RigError {
    match trouble.fault {
        FaultOwner::Sut => RigError::Sut(trouble.what),
        FaultOwner::Environment => RigError::Environment(trouble.what),
        FaultOwner::Rig => RigError::Rig(trouble.what),
    }
}

/// Returns whether the settings belong to rig `tenants`.
fn is_shared(settings: &BTreeMap<String, Value>) -> bool {
    settings.contains_key(tenants::INFRASTRUCTURE)
}

fn cast(run: &Run<'_>, without: Omitted) -> Result<NetworkSpec, RigError> {
    if is_shared(&run.point.settings) {
        let latency = run.span(LATENCY).ok_or_else(|| keys::missing(LATENCY))?;
        return tenants::cast(run, without, latency);
    }
    let Parts { controller, fleet, xapp } = Parts::from_run(run)?;
    let latency = run.span(LATENCY).ok_or_else(|| keys::missing(LATENCY))?;
    let (controller, xapp) = match without {
        Omitted::Nobody => (controller, xapp),
        Omitted::Xapp => (controller, None),
        Omitted::Controller | Omitted::Operator(_) => (AnyComponent::from(RicComponent::default()), None),
    };
    let name = run.text("xapp.type").unwrap_or_default();
    let xapps = xapp.into_iter().map(|xapp| (format!("xapp.{name}"), xapp)).collect();
    Ok(NetworkSpec::of_one(controller, fleet, xapps, latency))
}

fn faults(run: &Run<'_>) -> Result<Vec<FaultPlan>, RigError> {
    let all: Vec<Spelled<FaultPlan>> = keys::setting_as::<Each<Text>, _>(run, FAULTS)?;
    Ok(all.into_iter().map(|spelled| spelled.value).collect())
}

/// Runs one repeat of a point like a live run, but without waiting: components start, the window begins, the xApp starts.
///
/// # Errors
///
/// Returns an error if something does not support virtual time, does not start, or does not recover from faults.
pub fn run(run: &Run<'_>, wish: RepeatOptions) -> Result<RepeatResult, RigError> {
    let RepeatOptions { without, witness, record } = wish;
    placed(&run.point.settings).map_err(RigError::Rig)?;
    let begun = Instant::now();
    let faults = faults(run)?;
    let mut network = Network::new(&cast(run, without)?, run.seed, witness).map_err(trouble)?;
    network.pass_until_up(STEP, SET_UP).map_err(trouble)?;
    network.begin();
    network.start_xapps();
    network.plan(&faults, run.seed).map_err(trouble)?;
    let begin = network.now();
    let mut left = run.duration;
    let mut kept = KeptRecords::default();
    while !left.is_zero() {
        if run.stop.now() {
            return Err(RigError::Stopped);
        }
        if record {
            kept.states.push((network.now().since(begin), network.ues()));
        }
        let step = left.min(PERIOD);
        network.pass(step).map_err(trouble)?;
        left -= step;
    }
    if record {
        kept.states.push((network.now().since(begin), network.ues()));
        let control = |control: &Control| (control.at.since(begin), control.clone());
        kept.controls = network.controls().iter().map(control).collect();
    }
    let took = begun.elapsed();
    let digest = network.digest();
    let radios = network.radios(took);
    let mut recorder = Recorder::default();
    let outcome = match is_shared(&run.point.settings) {
        true => tenants::record_radios(run, &radios, &mut recorder)?,
        false => {
            network.heard().iter().for_each(|client| Monitored::from_report(client).record(&mut recorder));
            record_radios(run, &radios, &mut recorder)?
        }
    };
    let passed = network.now().since(begin);
    network.check().map_err(trouble)?;
    recovered(&network, &faults, run.duration)?;
    Ok(RepeatResult { outcome, recording: recorder.finish(), radios, digest, passed, took, kept })
}

/// Checks that the network has recovered from all temporary faults.
fn recovered(network: &Network, faults: &[FaultPlan], window: Duration) -> Result<(), RigError> {
    let in_time = faults.iter().all(|fault| fault.end() + RECOVERY <= window);
    if in_time && !network.is_up() {
        let since = RECOVERY.as_secs();
        let why = format!(
            "at the end of the window, a base station is still not set up, {since} s or more after the last fault"
        );
        return Err(RigError::Sut(why));
    }
    Ok(())
}
