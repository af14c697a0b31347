//! Several workers, each with a share of one load. Requests are sent to all before responses are read, so that they
//! begin and end together.

use std::time::Duration;

use ranlab_campaign::rig::{RigError, Stop};
use serde::de::DeserializeOwned;

use super::super::{AnyComponent, Counters, Ready, Report, Request, join};
use super::{ANSWER_WAIT, START_WAIT, Worker, looked_until};
use crate::lab::{RigContext, WorkerLocation};

/// Workers that run one component or the shares of one component. Dropping it ends all of them.
pub struct WorkerGroup {
    workers: Vec<Worker>,
}

impl WorkerGroup {
    /// Starts a worker on each machine, without components, and measures their clock offsets.
    pub fn start_idle(
        lab: &RigContext,
        hosts: &[WorkerLocation],
        role: &'static str,
        stop: &Stop,
    ) -> Result<Self, RigError> {
        let met = hosts.iter().map(|host| Worker::start_idle(lab, host, role, stop));
        Ok(Self { workers: met.collect::<Result<_, _>>()? })
    }

    /// Returns the workers, in the order of their machines.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// Returns the first worker.
    ///
    /// # Errors
    /// There is no worker.
    pub fn first(&mut self) -> Result<&mut Worker, RigError> {
        self.workers.first_mut().ok_or_else(|| RigError::Rig("a component has no worker".to_owned()))
    }

    /// Starts the components of all workers in parallel.
    pub fn bring_up(&mut self, parts: Vec<AnyComponent>, stop: &Stop) -> Result<(), RigError> {
        let longest = parts.iter().map(|part| part.waits().start).max().unwrap_or(START_WAIT);
        for (worker, part) in self.workers.iter_mut().zip(&parts) {
            worker.waits = part.waits();
        }
        let requests = parts.iter().map(Request::start).collect::<Result<Vec<_>, _>>()?;
        let mut requests = requests.into_iter();
        let start = || requests.next();
        let ready: Vec<Ready> = self.each(start, longest, stop)?;
        self.workers.iter_mut().zip(ready).for_each(|(worker, ready)| worker.ready = ready);
        Ok(())
    }

    /// Returns the current numbers of each worker.
    pub fn looks(&mut self, stop: &Stop) -> Result<Vec<Counters>, RigError> {
        self.each(|| Some(Request::Look), ANSWER_WAIT, stop)
    }

    /// Begins a measurement window on all workers.
    pub fn begin(&mut self, stop: &Stop) -> Result<(), RigError> {
        self.each::<()>(|| Some(Request::Begin), ANSWER_WAIT, stop).map(drop)
    }

    /// Ends the window on all workers. Afterwards, offsets of remote clocks are measured again.
    pub fn end(&mut self, stop: &Stop) -> Result<Vec<Report>, RigError> {
        let reports = self.each(|| Some(Request::End), ANSWER_WAIT, stop)?;
        self.workers.iter_mut().try_for_each(|worker| worker.compare_again(stop))?;
        Ok(reports)
    }

    /// Polls until `enough` returns true for the joined numbers.
    pub fn wait_until(
        &mut self,
        what: &str,
        patience: Duration,
        stop: &Stop,
        enough: impl FnMut(&Counters) -> bool,
    ) -> Result<Counters, RigError> {
        looked_until(|| Ok(join::numbers(&self.looks(stop)?)), what, patience, stop, enough)
    }

    /// Sends a request to all workers before it waits for the first response.
    fn each<T: DeserializeOwned>(
        &mut self,
        mut request: impl FnMut() -> Option<Request>,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Vec<T>, RigError> {
        let several = self.workers.len() > 1;
        let named = |worker: &Worker, error| if several { of_place(worker, error) } else { error };
        for worker in &mut self.workers {
            let request =
                request().ok_or_else(|| RigError::Rig("a worker has no share of the load".to_owned()))?;
            worker.send_request(&request).map_err(|error| named(worker, error))?;
        }
        let mut answers = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            answers.push(worker.receive_response(patience, stop).map_err(|error| named(worker, error))?);
        }
        Ok(answers)
    }
}

/// Adds the location to an error, if there are several.
fn of_place(worker: &Worker, error: RigError) -> RigError {
    let place = worker.host.to_string();
    let located = |what: String| {
        if what.contains(&place) { what } else { format!("the {} at {place}: {what}", worker.role) }
    };
    match error {
        RigError::Sut(what) => RigError::Sut(located(what)),
        RigError::Environment(what) => RigError::Environment(located(what)),
        RigError::Rig(what) => RigError::Rig(located(what)),
        other => other,
    }
}
