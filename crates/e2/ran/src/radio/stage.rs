//! User-defined traffic control stages of bearers. Stages are loaded as signed modules, run in a sandbox, and are
//! removed when they fail.
use super::{Radio, RadioError};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
#[cfg(not(feature = "wasm"))]
use ranlab_e2_codec::e2sm::traffic::StageModule;
use ranlab_e2_codec::e2sm::traffic::{FAILURE_MAX, Stage, StageRole, StageState};
use ranlab_radio::user_plane::{self as up, TcStage};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Maximum number of stages per base station.
const STAGES_MAX: usize = 64;

/// Counters of a stage, written by the stage and read by reports.
#[derive(Debug, Default)]
pub(super) struct StageMeter {
    pub(super) calls: AtomicU64,
    pub(super) refusals: AtomicU64,
    pub(super) fuel: AtomicU64,
    /// Reason of the failure, if the stage has failed.
    pub(super) failed: OnceLock<String>,
}

/// A stage that is loaded at a bearer.
#[derive(Debug)]
struct Loaded {
    bytes: u32,
    meter: Arc<StageMeter>,
    at_work: bool,
}

/// Stages by C-RNTI and role.
#[derive(Debug, Default)]
pub(super) struct Stages {
    keys: Vec<[u8; 32]>,
    loaded: BTreeMap<(u16, StageRole), Loaded>,
}

/// A stage created from a module, with its counters.
pub(super) type StageFactory = (Box<dyn TcStage>, Arc<StageMeter>);

#[cfg(feature = "wasm")]
use super::sandbox::{check_keys, made};

#[cfg(not(feature = "wasm"))]
fn check_keys(keys: &[[u8; 32]]) -> Result<(), String> {
    let missing = "stages need a sandbox, which this build lacks: build it with --features wasm";
    if keys.is_empty() { Ok(()) } else { Err(missing.to_owned()) }
}

#[cfg(not(feature = "wasm"))]
fn made(_: &[[u8; 32]], _: StageRole, _: &StageModule) -> Result<StageFactory, Refusal> {
    Err(Refusal::new(Reason::NotSupported, "the base station has no sandbox for stages"))
}

impl Stages {
    pub(super) fn new(keys: &[[u8; 32]]) -> Result<Self, RadioError> {
        check_keys(keys).map_err(RadioError::StageKey)?;
        Ok(Self { keys: keys.to_vec(), loaded: BTreeMap::new() })
    }

    /// Returns the stages of a UE.
    pub(super) fn states(&self, rnti: u16) -> Option<Vec<StageState>> {
        let its = self.loaded.iter().filter(|((of, _), _)| *of == rnti);
        let state = |((_, role), loaded): (&(u16, StageRole), &Loaded)| StageState {
            role: *role,
            bytes: loaded.bytes,
            calls: loaded.meter.calls.load(Relaxed),
            refusals: loaded.meter.refusals.load(Relaxed),
            fuel: loaded.meter.fuel.load(Relaxed),
            failed: loaded.meter.failed.get().map(|why| why.chars().take(FAILURE_MAX).collect()),
        };
        let states: Vec<_> = its.map(state).collect();
        (!states.is_empty()).then_some(states)
    }

    /// Removes the stages of a UE.
    pub(super) fn forget(&mut self, rnti: u16) {
        self.loaded.retain(|(of, _), _| *of != rnti);
    }
}

fn model(role: StageRole) -> up::StageRole {
    match role {
        StageRole::Pacer => up::StageRole::Pacer,
        StageRole::Scheduler => up::StageRole::Scheduler,
    }
}

impl Radio {
    /// Loads a stage at a bearer, or removes it. Changes nothing if the stage is rejected.
    pub(super) fn set_stage(&mut self, rnti: u16, stage: &Stage) -> Result<(), Refusal> {
        let place = (rnti, stage.role);
        let Some(module) = &stage.module else {
            self.cell.load_stage(rnti, model(stage.role), None);
            self.stages.loaded.remove(&place);
            return Ok(());
        };
        if self.stages.loaded.len() >= STAGES_MAX && !self.stages.loaded.contains_key(&place) {
            return Err(Refusal::new(
                Reason::TooMany,
                format!("a base station has at most {STAGES_MAX} stages"),
            ));
        }
        let (made, meter) = made(&self.stages.keys, stage.role, module)?;
        if !self.cell.load_stage(rnti, model(stage.role), Some(made)) {
            return Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {rnti}")));
        }
        // The module has at most 16,000 bytes, as checked before.
        let bytes = module.wasm.len() as u32;
        self.stages.loaded.insert(place, Loaded { bytes, meter, at_work: true });
        Ok(())
    }

    /// Unloads the stages of a UE from the cell. `Stages::forget` removes their entries.
    pub(super) fn take_out_stages(&mut self, rnti: u16) {
        for (_, role) in self.stages.loaded.keys().filter(|(of, _)| *of == rnti) {
            self.cell.load_stage(rnti, model(*role), None);
        }
    }

    /// Unloads failed stages, so that the default behaviour applies again. Failed stages still appear in reports.
    pub(super) fn end_failed_stages(&mut self) {
        for ((rnti, role), loaded) in &mut self.stages.loaded {
            if loaded.at_work && loaded.meter.failed.get().is_some() {
                loaded.at_work = false;
                self.cell.load_stage(*rnti, model(*role), None);
            }
        }
    }
}
