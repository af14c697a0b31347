//! A RIC and base stations in this process, each on its own thread.
use crate::convert::{config, of_json};
use crate::errors::Fault;
use crate::wait::{result, wait};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ranlab_e2_lab::{FleetComponent, RicComponent, RunningFleet};
use ranlab_sdk::Actor;
use std::cell::RefCell;
use std::time::Duration;

/// Maximum time to read the state of a component.
const PATIENCE: Duration = Duration::from_secs(10);

/// A near-RT RIC.
#[pyclass(frozen)]
pub(crate) struct Ric {
    actor: Actor<ranlab_e2_lab::Ric>,
    bound: Vec<(&'static str, String)>,
}

#[pymethods]
impl Ric {
    /// Creates a RIC with the settings of `ranlab ric`, by name.
    #[new]
    fn new(py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let part: RicComponent = config(settings)?;
        let make = move || async move { ranlab_e2_lab::Ric::start(&part).await };
        let actor = result(py, Duration::MAX, Actor::start("ric", make, async |_| ()))?;
        let bound = result(py, PATIENCE, actor.with(|ric| ric.bound.clone()))?;
        Ok(Self { actor, bound })
    }

    /// Returns the addresses of the RIC by name.
    fn addresses(&self) -> Vec<(&'static str, String)> {
        self.bound.clone()
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = result(py, PATIENCE, self.actor.with(|ric| ric.report()))?;
        of_json(py, &serde_json::to_value(report).unwrap_or_default())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, None, self.actor.close()).map(drop)
    }
}

/// Emulated base stations.
#[pyclass(frozen)]
pub(crate) struct Fleet(Actor<RefCell<RunningFleet>>);

#[pymethods]
impl Fleet {
    /// Creates base stations with the settings of `ranlab emulate`, by name.
    #[new]
    fn new(py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let part: FleetComponent = config(settings)?;
        if part.connect.is_empty() {
            return Err(
                Fault::config("`connect` must name a controller, such as tcp://127.0.0.1:36421").into()
            );
        }
        let make = move || async move {
            let mut stations = RunningFleet::new(&part)?;
            stations.ramp_up().await?;
            Ok::<_, Fault>(RefCell::new(stations))
        };
        Ok(Self(result(py, Duration::MAX, Actor::start("fleet", make, async |_| ()))?))
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = result(py, PATIENCE, self.0.with(|fleet| fleet.borrow().report()))?;
        of_json(py, &serde_json::to_value(report).unwrap_or_default())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, None, self.0.close()).map(drop)
    }
}
