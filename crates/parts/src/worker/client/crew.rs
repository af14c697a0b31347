//! Several workers with a share of one load each: asked at once, so that they begin and end together.

use std::time::Duration;

use ranlab_campaign::rig::{RigError, Stop};
use serde::de::DeserializeOwned;

use super::super::{Numbers, Part, Ready, Report, Request, join};
use super::{ANSWER_WAIT, START_WAIT, Worker, looked_until};
use crate::lab::{Host, Lab};

/// Workers that hold one part, or the shares of one; dropping it takes all down.
pub struct Crew {
    workers: Vec<Worker>,
}

impl Crew {
    /// Starts a worker on each machine; they hold nothing yet, and their clocks are known.
    pub fn meet(lab: &Lab, hosts: &[Host], role: &'static str, stop: &Stop) -> Result<Self, RigError> {
        let met = hosts.iter().map(|host| Worker::meet(lab, host, role, stop));
        Ok(Self { workers: met.collect::<Result<_, _>>()? })
    }

    /// The workers, in the order of their machines.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// The first one.
    ///
    /// # Errors
    /// There is none.
    pub fn first(&mut self) -> Result<&mut Worker, RigError> {
        self.workers.first_mut().ok_or_else(|| RigError::Rig("a part has no machine".to_owned()))
    }

    /// Brings their parts up, all at once.
    pub fn bring_up(&mut self, parts: Vec<Part>, stop: &Stop) -> Result<(), RigError> {
        let longest = parts.iter().map(Part::start_wait).max().unwrap_or(START_WAIT);
        for (worker, part) in self.workers.iter_mut().zip(&parts) {
            (worker.start_wait, worker.end_wait) = (part.start_wait(), part.end_wait());
        }
        let mut parts = parts.into_iter().map(Box::new);
        let start = || parts.next().map(|part| Request::Start { part });
        let ready: Vec<Ready> = self.each(start, longest, stop)?;
        self.workers.iter_mut().zip(ready).for_each(|(worker, ready)| worker.ready = ready);
        Ok(())
    }

    /// The numbers of each now.
    pub fn looks(&mut self, stop: &Stop) -> Result<Vec<Numbers>, RigError> {
        self.each(|| Some(Request::Look), ANSWER_WAIT, stop)
    }

    /// A measured window begins for all.
    pub fn begin(&mut self, stop: &Stop) -> Result<(), RigError> {
        self.each::<()>(|| Some(Request::Begin), ANSWER_WAIT, stop).map(drop)
    }

    /// The window ends for all. Clocks elsewhere are asked again, when every window is closed.
    pub fn end(&mut self, stop: &Stop) -> Result<Vec<Report>, RigError> {
        let reports = self.each(|| Some(Request::End), ANSWER_WAIT, stop)?;
        self.workers.iter_mut().try_for_each(|worker| worker.compare_again(stop))?;
        Ok(reports)
    }

    /// Looks until `enough` says so of the numbers of all together.
    pub fn wait_until(
        &mut self,
        what: &str,
        patience: Duration,
        stop: &Stop,
        enough: impl FnMut(&Numbers) -> bool,
    ) -> Result<Numbers, RigError> {
        looked_until(|| Ok(join::numbers(&self.looks(stop)?)), what, patience, stop, enough)
    }

    /// Every question is on its way before the first answer is waited for.
    fn each<T: DeserializeOwned>(
        &mut self,
        mut request: impl FnMut() -> Option<Request>,
        patience: Duration,
        stop: &Stop,
    ) -> Result<Vec<T>, RigError> {
        let several = self.workers.len() > 1;
        let named = |worker: &Worker, error| if several { of_place(worker, error) } else { error };
        for worker in &mut self.workers {
            let request = request().ok_or_else(|| RigError::Rig("a machine has no share".to_owned()))?;
            worker.tell(&request).map_err(|error| named(worker, error))?;
        }
        let mut answers = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            answers.push(worker.hear(patience, stop).map_err(|error| named(worker, error))?);
        }
        Ok(answers)
    }
}

/// What went wrong, and at which of several places.
fn of_place(worker: &Worker, error: RigError) -> RigError {
    let place = worker.host.to_string();
    let told = |what: String| {
        if what.contains(&place) { what } else { format!("the {} at {place}: {what}", worker.role) }
    };
    match error {
        RigError::Sut(what) => RigError::Sut(told(what)),
        RigError::Environment(what) => RigError::Environment(told(what)),
        RigError::Rig(what) => RigError::Rig(told(what)),
        other => other,
    }
}
