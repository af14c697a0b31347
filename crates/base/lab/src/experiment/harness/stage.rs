//! The components that run in an experiment, and [`Deployment`], which starts them.

use std::time::{Duration, Instant};

use crate::worker::{Counters, Worker, WorkerGroup, join, number};
use crate::{AnyComponent, OVER, RigContext, SET_UP, WorkerLocation};
use ranlab_campaign::rig::{RigError, Run, Stop};

use super::window::ComponentReport;
use crate::experiment::{keys, third_party};

/// Interval of liveness checks while a window is open.
const CHECK: Duration = Duration::from_secs(1);
/// Polling interval while waiting until a component is set up or has ended.
const SOON: Duration = Duration::from_millis(20);

/// Owner of a component's CPU time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// System under test.
    Sut,
    /// Measurement tool.
    Tool,
}

/// Running component, possibly divided over several locations, with its configuration.
pub struct DeployedComponent {
    side: Account,
    role: &'static str,
    hosts: Vec<WorkerLocation>,
    crew: WorkerGroup,
    configs: Vec<String>,
    /// Whether the component keeps running between repeats, as its profile specifies.
    stays: bool,
}

impl DeployedComponent {
    /// Returns whether the component has this configuration at these locations.
    fn is(
        &self,
        side: Account,
        role: &str,
        hosts: &[WorkerLocation],
        part: &dyn Fn(&Worker) -> AnyComponent,
    ) -> Result<bool, RigError> {
        let same = self.side == side && self.role == role && self.hosts == hosts;
        Ok(same && shares(&self.crew, part)?.iter().map(config).eq(self.configs.iter().cloned()))
    }

    /// Takes snapshots while a window is open. A system under test that has ended is reported as failed,
    /// whatever error its worker returns.
    fn looks(&mut self, stop: &Stop) -> Result<Vec<Counters>, RigError> {
        self.crew.looks(stop).map_err(|error| match (self.side, error) {
            (Account::Sut, RigError::Rig(what)) => RigError::Sut(what),
            (_, error) => error,
        })
    }

    /// Returns whether the counter `name` is not 0 at every location of the component.
    fn all(&mut self, stop: &Stop, name: &str) -> Result<bool, RigError> {
        let looks = self.looks(stop)?;
        looks.iter().try_fold(true, |all, numbers| Ok(all && number(numbers, name)? != 0.0))
    }

    /// Ends the window; returns the reports of each location and of all together.
    fn end(&mut self, stop: &Stop) -> Result<ComponentReport, RigError> {
        let reports = self.crew.end(stop)?;
        let workers = self.crew.workers();
        let farthest = |of: fn(&Worker) -> f64| {
            workers.iter().map(of).reduce(|a, b| if b.abs() > a.abs() { b } else { a }).unwrap_or(0.0)
        };
        Ok(ComponentReport {
            side: self.side,
            role: self.role,
            clock_error_us: farthest(|worker| worker.clock_error_us),
            clock_drift_us: farthest(|worker| worker.clock_drift_us),
            addresses: workers.first().map(|worker| worker.ready.addresses.clone()).unwrap_or_default(),
            report: join::reports(&reports),
            places: self.crew.workers().iter().map(|worker| worker.host.clone()).zip(reports).collect(),
        })
    }
}

/// Running components in start order; they are stopped in reverse order, so that no component loses a component on
/// which it depends.
#[derive(Default)]
pub struct Deployed {
    pub placed: Vec<DeployedComponent>,
    /// Components that run until the campaign ends and are not part of the current run.
    kept: Vec<DeployedComponent>,
}

impl Drop for Deployed {
    fn drop(&mut self) {
        self.cut(0);
    }
}

/// Start of the components of a run. A component that already runs with the required configuration is kept. A component
/// that differs, e.g. after a search changed a setting, is restarted, and so are all components that follow it.
pub struct Deployment<'a> {
    pub lab: &'a RigContext,
    pub run: &'a Run<'a>,
    pub up: &'a mut Deployed,
    /// Number of components that already run as this run requires.
    pub standing: usize,
    pub changed: bool,
}

impl Deployment<'_> {
    /// Starts a component of the system under test, at the location given by the key `at`; local without such
    /// a key.
    pub fn sut(&mut self, role: &'static str, at: &str, part: AnyComponent) -> Result<&mut Worker, RigError> {
        self.place(Account::Sut, role, at, &|_| part.clone())
    }

    /// Like [`sut`](Self::sut), for a component of the measurement tool. If the key lists several machines, each
    /// machine runs a share of the component.
    pub fn tool(
        &mut self,
        role: &'static str,
        at: &str,
        part: AnyComponent,
    ) -> Result<&mut Worker, RigError> {
        self.place(Account::Tool, role, at, &|_| part.clone())
    }

    /// Like [`tool`](Self::tool), for a component whose configuration depends on its worker (on its clock or its
    /// index). Returns the first worker.
    pub fn place(
        &mut self,
        side: Account,
        role: &'static str,
        at: &str,
        part: &dyn Fn(&Worker) -> AnyComponent,
    ) -> Result<&mut Worker, RigError> {
        let hosts = keys::places(self.run, at)?;
        let index = self.standing;
        let stands = match self.up.placed.get(index) {
            Some(placed) => placed.is(side, role, &hosts, part)?,
            None => false,
        };
        if !stands {
            self.up.cut(index);
            self.changed = true;
            let placed =
                match self.up.again(role, |placed| placed.is(side, role, &hosts, part), &self.run.stop)? {
                    Some(placed) => placed,
                    None => self.anew(side, role, at, hosts, part)?,
                };
            self.up.placed.push(placed);
        }
        self.standing += 1;
        self.up.placed[index].crew.first()
    }

    fn anew(
        &self,
        side: Account,
        role: &'static str,
        at: &str,
        hosts: Vec<WorkerLocation>,
        part: &dyn Fn(&Worker) -> AnyComponent,
    ) -> Result<DeployedComponent, RigError> {
        // A location key such as `load.at` may have a companion for the network namespace, such as `load.netns`.
        let lab = self.lab.within(self.run.text(&at.replace(".at", ".netns")));
        let met: Vec<WorkerLocation> = hosts
            .iter()
            .cloned()
            .map(WorkerLocation::resolve)
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
            .collect();
        let mut crew = WorkerGroup::start_idle(&lab, &met, role, &self.run.stop)?;
        let mut shares = shares(&crew, part)?;
        let configs = shares.iter().map(config).collect();
        let mut stays = false;
        for (share, host) in shares.iter_mut().zip(&met) {
            stays |= third_party::admit(share, &lab, host)?;
        }
        crew.bring_up(shares, &self.run.stop)?;
        Ok(DeployedComponent { side, role, hosts, crew, configs, stays })
    }

    /// Waits until a component's numbers satisfy a condition; returns immediately if nothing was restarted.
    ///
    /// # Errors
    /// A timeout is an error of the system under test.
    pub fn wait(
        &mut self,
        role: &str,
        what: &str,
        patience: Duration,
        enough: impl FnMut(&Counters) -> bool,
    ) -> Result<(), RigError> {
        if !self.changed {
            return Ok(());
        }
        let stop = &self.run.stop;
        self.up.crew(role)?.wait_until(what, patience, stop, enough).map(drop)
    }

    /// Returns whether anything has been restarted so far.
    pub fn changed(&self) -> bool {
        self.changed
    }
}

impl Deployed {
    pub fn cut(&mut self, length: usize) {
        while self.placed.len() > length {
            self.kept.extend(self.placed.pop().filter(|placed| placed.stays));
        }
    }

    /// Reuses a kept component after resetting its state; `None` if it does not exist, has another
    /// configuration, or its reset failed.
    fn again(
        &mut self,
        role: &str,
        like: impl Fn(&DeployedComponent) -> Result<bool, RigError>,
        stop: &Stop,
    ) -> Result<Option<DeployedComponent>, RigError> {
        let Some(index) = self.kept.iter().position(|placed| placed.role == role) else { return Ok(None) };
        let mut placed = self.kept.swap_remove(index);
        if !like(&placed)? {
            return Ok(None);
        }
        match placed.crew.first()?.reset(stop) {
            Ok(()) => Ok(Some(placed)),
            Err(RigError::Stopped) => Err(RigError::Stopped),
            Err(_) => Ok(None),
        }
    }

    fn crew(&mut self, role: &str) -> Result<&mut WorkerGroup, RigError> {
        let found = self.placed.iter_mut().find(|placed| placed.role == role).map(|placed| &mut placed.crew);
        found.ok_or_else(|| RigError::Rig(format!("there is no component \"{role}\"")))
    }

    /// Opens a window on all components, checks them, and closes it. The windows of components that were started last
    /// lie within the windows of all others.
    pub fn window(&mut self, stop: &Stop, length: Duration) -> Result<Vec<ComponentReport>, RigError> {
        self.placed.iter_mut().try_for_each(|placed| placed.crew.begin(stop))?;
        match self.ending(stop)? {
            Some(index) => {
                self.together(stop, index)?;
                self.until(stop, index, OVER)?;
            }
            None => self.so_long(stop, length)?,
        }
        let taken = self.placed.iter_mut().rev().map(|placed| placed.end(stop));
        let mut taken = taken.collect::<Result<Vec<_>, _>>()?;
        taken.reverse();
        // A component that ends with the window may have ended with an error.
        self.placed.iter_mut().try_for_each(|placed| placed.crew.looks(stop).map(drop))?;
        Ok(taken)
    }

    /// Returns the component whose end determines the end of the window.
    fn ending(&mut self, stop: &Stop) -> Result<Option<usize>, RigError> {
        for (index, placed) in self.placed.iter_mut().enumerate() {
            if placed.looks(stop)?.iter().any(|numbers| numbers.contains_key(OVER)) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Synchronises the shares of a divided load after their setup, and starts them together.
    fn together(&mut self, stop: &Stop, index: usize) -> Result<(), RigError> {
        if self.placed[index].looks(stop)?.iter().all(|numbers| !numbers.contains_key(SET_UP)) {
            return Ok(());
        }
        self.until(stop, index, SET_UP)?;
        self.placed[index].crew.begin(stop)
    }

    fn so_long(&mut self, stop: &Stop, length: Duration) -> Result<(), RigError> {
        let end = Instant::now() + length;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            stop.sleep(left.min(CHECK))?;
            if left <= CHECK {
                return Ok(());
            }
            self.placed.iter_mut().try_for_each(|placed| placed.looks(stop).map(drop))?;
        }
    }

    /// Waits until the counter `name` is not 0 at every location of a component.
    fn until(&mut self, stop: &Stop, index: usize, name: &str) -> Result<(), RigError> {
        let begin = Instant::now();
        let mut checked = begin;
        while !self.placed[index].all(stop, name)? {
            stop.sleep(SOON)?;
            if checked.elapsed() >= CHECK {
                checked = Instant::now();
                for placed in &mut self.placed {
                    let role = placed.role;
                    let after = begin.elapsed().as_secs_f64();
                    placed.looks(stop).map_err(|error| match error {
                        RigError::Sut(what) => {
                            RigError::Sut(format!("the {role} failed {after:.1} s into the run: {what}"))
                        }
                        other => other,
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the configuration for each worker of a component.
fn shares(crew: &WorkerGroup, part: &dyn Fn(&Worker) -> AnyComponent) -> Result<Vec<AnyComponent>, RigError> {
    let workers = crew.workers();
    let of = |(place, worker): (usize, &Worker)| {
        divided(&part(worker), workers.len()).map(|all| all[place].clone())
    };
    workers.iter().enumerate().map(of).collect()
}

pub(crate) fn divided(part: &AnyComponent, places: usize) -> Result<Vec<AnyComponent>, RigError> {
    part.divide(places).map_err(|trouble| RigError::Rig(trouble.what))
}

/// Serialises a configuration, to compare components.
fn config(part: &AnyComponent) -> String {
    // Serialising plain data does not fail. If it did, such configurations would all compare as equal.
    serde_json::to_string(part).unwrap_or_default()
}
