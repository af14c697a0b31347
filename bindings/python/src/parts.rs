//! A RIC and base stations in this process, each on its own thread.
use crate::actor::Actor;
use crate::convert::{config, of_json};
use crate::errors::{Class, Fault};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ranlab_e2_lab::{FleetComponent, RicComponent, RunningFleet};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Maximum time to read the state of a component.
const PATIENCE: Duration = Duration::from_secs(10);

/// An actor until it is closed.
pub(crate) struct Held<S>(Mutex<Option<Arc<Actor<S>>>>);

impl<S: 'static> Held<S> {
    pub(crate) fn new(actor: Actor<S>) -> Self {
        Self(Mutex::new(Some(Arc::new(actor))))
    }

    pub(crate) fn get(&self) -> PyResult<Arc<Actor<S>>> {
        Ok(self.peek().ok_or_else(|| Fault::new(Class::Closed, "it is closed"))?)
    }

    /// Returns the actor like [`get`](Self::get), but without raising an exception: an object may be destroyed while
    /// another exception is being handled.
    pub(crate) fn peek(&self) -> Option<Arc<Actor<S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Closes it once no request is running.
    pub(crate) fn close(&self, py: Python<'_>) {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(held));
    }
}

/// A near-RT RIC.
#[pyclass(frozen)]
pub(crate) struct Ric {
    held: Held<ranlab_e2_lab::Ric>,
    bound: Vec<(&'static str, String)>,
}

#[pymethods]
impl Ric {
    /// Creates it with the settings of `ranlab ric`, by name.
    #[new]
    fn new(py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let part: RicComponent = config(settings)?;
        let actor =
            Actor::start(py, "ric", move || async move { Ok(ranlab_e2_lab::Ric::start(&part).await?) })?;
        let bound = actor.ask(py, PATIENCE, |ric| async move { Ok(ric.bound.clone()) })?;
        Ok(Self { held: Held::new(actor), bound })
    }

    /// Returns its addresses by name.
    fn addresses(&self) -> Vec<(&'static str, String)> {
        self.bound.clone()
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = self.held.get()?.ask(py, PATIENCE, |ric| async move { Ok(ric.report()) })?;
        of_json(py, &serde_json::to_value(report).unwrap_or_default())
    }

    fn close(&self, py: Python<'_>) {
        self.held.close(py);
    }
}

/// Emulated base stations.
#[pyclass(frozen)]
pub(crate) struct Fleet(Held<RefCell<RunningFleet>>);

#[pymethods]
impl Fleet {
    /// Creates them with the settings of `ranlab emulate`, by name.
    #[new]
    fn new(py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let part: FleetComponent = config(settings)?;
        if part.connect.is_empty() {
            return Err(
                Fault::config("`connect` must name a controller, such as tcp://127.0.0.1:36421").into()
            );
        }
        let actor = Actor::start(py, "fleet", move || async move {
            let mut stations = RunningFleet::new(&part)?;
            stations.ramp_up().await?;
            Ok(RefCell::new(stations))
        })?;
        Ok(Self(Held::new(actor)))
    }

    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let look = |fleet: std::rc::Rc<RefCell<RunningFleet>>| async move { Ok(fleet.borrow().report()) };
        let report = self.0.get()?.ask(py, PATIENCE, look)?;
        of_json(py, &serde_json::to_value(report).unwrap_or_default())
    }

    fn close(&self, py: Python<'_>) {
        self.0.close(py);
    }
}
