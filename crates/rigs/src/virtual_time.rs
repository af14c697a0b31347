//! The rig `radio` in virtual time: the parts of one repeat in one thread, as fast as the machine goes, and the same numbers
//! of it under the same names as live.

pub mod record;
pub mod twin;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ranlab_campaign::record::{Recorder, Recording};
use ranlab_campaign::rig::{Outcome, RigError, Run};
use ranlab_campaign::value::Value;
use ranlab_emulator::radio::RadioMeter;
use ranlab_parts::virtual_time::{Cast, Control, FaultPlan, Network, UeState};
use ranlab_parts::worker::{Fault, Trouble};
use ranlab_parts::{Part, RicPart, Spelled};

pub use ranlab_parts::virtual_time::Witness;

use crate::radio::{FAULTS, LATENCY, Monitored, Parts, SET_UP, told};
use crate::{keys, tenants};

/// The rigs that have a form in virtual time.
const RIGS: [&str; 2] = ["radio", "tenants"];
/// A window begins at a whole one of these after the start.
const STEP: Duration = Duration::from_millis(100);
/// Virtual time between two states that are kept, and between two looks whether somebody wants a stop.
pub const PERIOD: Duration = Duration::from_millis(500);
/// How long after the last fault all base stations must be set up again.
pub const RECOVERY: Duration = Duration::from_secs(15);

/// Who is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Without {
    /// Nobody.
    #[default]
    Nobody,
    /// The xApp.
    Xapp,
    /// The controller, and with it the xApp that works through it: the RIC is bare. Where operators share a base station, all
    /// their controllers and the one between.
    Controller,
    /// The controller of the operator of this number, from 0, and with it the xApp that works through it: its RIC is bare.
    Operator(usize),
}

/// How a repeat is run.
#[derive(Default)]
pub struct Wish {
    /// Who is left out.
    pub without: Without,
    /// Who hears what happens.
    pub witness: Option<Witness>,
    /// Whether states and controls are kept.
    pub record: bool,
}

/// What was kept; times are counted from the window's begin.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// The UEs at the window's begin, and at the end of each [`PERIOD`].
    pub states: Vec<(Duration, Vec<UeState>)>,
    /// What the xApp asked the controller to change.
    pub controls: Vec<(Duration, Control)>,
}

/// A repeat that has passed.
#[derive(Debug, Clone)]
pub struct Passed {
    /// What became of it.
    pub outcome: Outcome,
    /// The rig's metrics.
    pub recording: Recording,
    /// What happened at each radio.
    pub radios: Vec<RadioMeter>,
    /// The same for the same repeat in any process.
    pub digest: u64,
    /// Virtual time that passed.
    pub passed: Duration,
    /// How long that took.
    pub took: Duration,
    /// What was to be kept.
    pub kept: Kept,
}

impl Passed {
    /// Virtual time by the time that it took.
    pub fn real_time_factor(&self) -> f64 {
        self.passed.as_secs_f64() / self.took.as_secs_f64().max(1e-9)
    }
}

/// Whether a rig runs in virtual time.
///
/// # Errors
/// It does not; which one does.
pub fn runs(rig: &str) -> Result<(), String> {
    if RIGS.contains(&rig) {
        return Ok(());
    }
    let those = RIGS.join(" and ");
    Err(format!(
        "rig \"{rig}\" does not run in virtual time: its parts are programs, sockets or time itself; {those} do"
    ))
}

/// Whether a point does.
///
/// # Errors
/// Something of it is at a worker's address.
pub fn placed(settings: &BTreeMap<String, Value>) -> Result<(), String> {
    let away = |(path, value): (&String, &Value)| {
        let place = value.to_string();
        (path.ends_with(".at") && place != "local").then(|| {
            format!("`{path}` = {place} does not run in virtual time: everything is in this process, and `{path}` local")
        })
    };
    settings.iter().find_map(away).map_or(Ok(()), Err)
}

impl Without {
    /// By a name of the file's keys: `xapp`, `xapp.slices`, `sut`, `sut.traffic`; of operators by theirs, `sut.A`.
    ///
    /// # Errors
    /// There is no such thing; what there is.
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
        // The verb is `xapp slice`, the key's value `slices`.
        let meant = if name == "xapp.slice" { "xapp.slices" } else { name };
        there.iter().find(|(known, _)| known == meant).map(|(_, without)| *without).ok_or_else(|| {
            let names: Vec<_> = there.iter().map(|(known, _)| known.as_str()).collect();
            format!("there is no \"{name}\" here to leave out; there is {}", names.join(", "))
        })
    }
}

fn trouble(trouble: Trouble) -> RigError {
    match trouble.fault {
        Fault::Sut => RigError::Sut(trouble.what),
        Fault::Environment => RigError::Environment(trouble.what),
        Fault::Rig => RigError::Rig(trouble.what),
    }
}

/// Whether it is of the rig `tenants`.
fn is_shared(settings: &BTreeMap<String, Value>) -> bool {
    settings.contains_key(tenants::INFRASTRUCTURE)
}

fn cast(run: &Run<'_>, without: Without) -> Result<Cast, RigError> {
    if is_shared(&run.point.settings) {
        let latency = run.span(LATENCY).ok_or_else(|| keys::missing(LATENCY))?;
        return tenants::cast(run, without, latency);
    }
    let Parts { controller, fleet, xapp } = Parts::of(run)?;
    let latency = run.span(LATENCY).ok_or_else(|| keys::missing(LATENCY))?;
    let (controller, xapp) = match without {
        Without::Nobody => (controller, xapp),
        Without::Xapp => (controller, None),
        Without::Controller | Without::Operator(_) => (Part::Ric(RicPart::default()), None),
    };
    let name = run.text("xapp.type").unwrap_or_default();
    let xapps = xapp.into_iter().map(|xapp| (format!("xapp.{name}"), xapp)).collect();
    Ok(Cast::of_one(controller, fleet, xapps, latency))
}

fn faults(run: &Run<'_>) -> Result<Vec<FaultPlan>, RigError> {
    let all: Vec<Spelled<FaultPlan>> = keys::setting(run, FAULTS)?;
    Ok(all.into_iter().map(|spelled| spelled.value).collect())
}

/// One repeat of a point, as live: everybody comes up, the window begins, the xApp starts; only that nobody waits.
///
/// # Errors
/// Something does not run in virtual time, does not come up, or does not recover from faults.
pub fn run(run: &Run<'_>, wish: Wish) -> Result<Passed, RigError> {
    let Wish { without, witness, record } = wish;
    placed(&run.point.settings).map_err(RigError::Rig)?;
    let begun = Instant::now();
    let faults = faults(run)?;
    let mut network = Network::new(&cast(run, without)?, run.seed, witness).map_err(trouble)?;
    network.pass_until_up(STEP, SET_UP).map_err(trouble)?;
    network.begin();
    network.start_xapps();
    network.plan(&faults, run.seed).map_err(trouble)?;
    let begin = network.now();
    let (mut left, mut kept) = (run.duration, Kept::default());
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
        true => tenants::told(run, &radios, &mut recorder)?,
        false => {
            network.heard().iter().for_each(|heard| Monitored::of(heard).record(&mut recorder));
            told(run, &radios, &mut recorder)?
        }
    };
    let passed = network.now().since(begin);
    network.check().map_err(trouble)?;
    recovered(&network, &faults, run.duration)?;
    Ok(Passed { outcome, recording: recorder.finish(), radios, digest, passed, took, kept })
}

/// Nothing that went wrong in time stays wrong.
fn recovered(network: &Network, faults: &[FaultPlan], window: Duration) -> Result<(), RigError> {
    let in_time = faults.iter().all(|fault| fault.end() + RECOVERY <= window);
    if in_time && !network.is_up() {
        let since = RECOVERY.as_secs();
        let why = format!(
            "a base station is not set up at the window's end, {since} s or more after the last fault"
        );
        return Err(RigError::Sut(why));
    }
    Ok(())
}
