//! Any OpenFlow switch at an address, whose ports are connected to two local interfaces. The switch is neither started
//! nor stopped. Its capabilities are read, and the generated configuration is added and later removed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ranlab_pipeline::backends::{Outcomes, TextConsumer, Translation};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::pipelines::Pipeline;

use self::capable::{RequiredCapabilities, SwitchCapabilities, filled_after, meter};
use self::listener::Listener;
use self::remote::Remote;
pub(super) use self::session::OpenFlow;
use super::veth::{Flow, Wires};
use super::{Driver, Switch, SwitchCounters, SwitchJob, probe};
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

mod capable;
mod exact;
mod listener;
mod remote;
mod session;

/// Name of the driver in `sut.engine`.
pub(super) const NAME: &str = "openflow";

/// Driver for an OpenFlow switch that already runs.
pub(super) struct AnyOpenFlow;

impl AnyOpenFlow {
    /// Connects to the switch, configures the pipeline, and opens the local ends of its links.
    fn connect_and_install(job: &SwitchJob<'_>) -> Result<(InstalledPipeline, Wires), ComponentError> {
        let far = job.far.ok_or_else(|| rig("no switch was named"))?;
        let wires = Wires::here(&far.interfaces)?;
        let installed = InstalledPipeline::start(job)?;
        wires.quiet()?;
        Ok((installed, wires))
    }
}

impl Driver for AnyOpenFlow {
    fn name(&self) -> &'static str {
        NAME
    }

    fn packets_max(&self) -> usize {
        usize::MAX
    }

    fn replay(&self, job: &SwitchJob<'_>) -> Result<Outcomes, ComponentError> {
        let (mut installed, wires) = Self::connect_and_install(job)?;
        let pass = || wires.pass(job.trace, &job.backend.equivalences(&job.request()));
        let begun = Instant::now();
        let mut found = pass()?;
        // Caches of the switch (Open vSwitch's datapath) may use old entries for a short time after a change.
        loop {
            let again = pass()?;
            let rests = again == found;
            found = again;
            if rests || begun.elapsed() >= probe::SEEN {
                break;
            }
        }
        installed.leave()?;
        Ok(found)
    }

    fn start(&self, job: &SwitchJob<'_>) -> Result<Box<dyn Switch>, ComponentError> {
        let (mut installed, wires) = Self::connect_and_install(job)?;
        let flow = wires.flow(job.trace, &job.backend.equivalences(&job.request()));
        installed.wires = Some((flow, wires));
        Ok(Box::new(installed))
    }

    fn visible(&self, job: &SwitchJob<'_>, pipeline: &Pipeline) -> Result<Histogram<u64>, ComponentError> {
        let (mut installed, wires) = Self::connect_and_install(job)?;
        let mut apply_change = |change: &Translation| installed.update(change);
        probe::visible(job, pipeline, probe::SEEN, &mut apply_change, &mut |port, frame| {
            wires.one(port, frame)
        })
    }

    /// Returns `None`, because the cost of the switch's ports cannot be measured from outside.
    fn io_ns(&self, _: &SwitchJob<'_>, _: Duration) -> Result<Option<f64>, ComponentError> {
        Ok(None)
    }
}

fn holds_not(remote: &Remote, why: &str) -> ComponentError {
    environment(format!("the switch at tcp:{} cannot hold this pipeline: {why}", remote.at))
}

/// A configured switch. Dropping it removes the configuration.
struct InstalledPipeline {
    remote: Remote,
    capable: SwitchCapabilities,
    needs: RequiredCapabilities,
    /// Number of ranlab's meters, as recorded at the switch.
    marked: u32,
    session: Option<OpenFlow>,
    listener: Listener,
    ingress: Vec<Port>,
    /// Start of the session. The switch's threads are not visible, so elapsed time replaces CPU time.
    begun: Instant,
    /// Packets in flight, and the links that transport them.
    wires: Option<(Flow, Wires)>,
    left: bool,
    folder: PathBuf,
    _folder: Folder,
}

impl InstalledPipeline {
    fn start(job: &SwitchJob<'_>) -> Result<Self, ComponentError> {
        let far = job.far.ok_or_else(|| rig("no switch was named"))?;
        let translation = job.backend.translate(&job.request()).map_err(rig)?;
        let (remote, capable) = Remote::connect(far)?;
        let translation = capable.says(translation).map_err(|why| holds_not(&remote, &why))?;
        let needs = RequiredCapabilities::from_translation(&translation);
        // Removes the configuration of a campaign that was killed.
        remote.clean()?;
        if let Some(why) = capable.refuses(&needs, far.ports) {
            return Err(holds_not(&remote, &why));
        }
        remote.free(&needs)?;
        let mut own = Folder::default();
        let folder = own.made()?;
        let listener = Listener::connect(remote.at)?;
        let ingress = job.directions.iter().map(|direction| direction.ingress()).collect();
        let mut installed = Self {
            remote,
            capable,
            needs,
            marked: 0,
            session: None,
            listener,
            ingress,
            begun: Instant::now(),
            wires: None,
            left: false,
            folder,
            _folder: own,
        };
        installed.install(&translation)?;
        std::thread::sleep(filled_after(&translation));
        Ok(installed)
    }

    /// Applies a configuration or a change of the configuration.
    fn install(&mut self, translation: &Translation) -> Result<(), ComponentError> {
        for text in &translation.texts {
            match text.reader {
                TextConsumer::OvsMeters => self.meters(&text.text)?,
                TextConsumer::OvsBundle => self
                    .remote
                    .add_flows(&text.text, &self.folder)
                    .map_err(|trouble| Remote::refusal(trouble, &self.needs, &self.capable.most))?,
                reader => return Err(rig(format!("no OpenFlow switch reads {reader:?}"))),
            }
        }
        Ok(())
    }

    fn meters(&mut self, text: &str) -> Result<(), ComponentError> {
        let most = text.lines().filter_map(meter).max().unwrap_or(0);
        if most > self.marked {
            self.remote.mark(most)?;
            self.marked = most;
        }
        let mut session = match self.session.take() {
            Some(session) => session,
            None => OpenFlow::reach(self.remote.at)?,
        };
        session.meters(text)?;
        self.session = Some(session);
        Ok(())
    }

    /// Removes ranlab's configuration from the switch.
    fn leave(&mut self) -> Result<(), ComponentError> {
        self.wires = None;
        self.left = true;
        self.remote.leave()
    }
}

impl Switch for InstalledPipeline {
    /// Reads the counters of the switch's ports. Elapsed time replaces CPU time.
    fn read(&mut self) -> Result<SwitchCounters, ComponentError> {
        let mut reading =
            SwitchCounters { cpu_ns: self.begun.elapsed().as_nanos() as u64, ..SwitchCounters::default() };
        for (port, (received, sent)) in [Port::Access, Port::Core].into_iter().zip(self.remote.counters()?) {
            reading.sent += sent;
            reading.received += if self.ingress.contains(&port) { received } else { 0 };
        }
        reading.slow = Some(super::SlowPathCounters { packets: self.listener.packets(), lost: None });
        Ok(reading)
    }

    fn update(&mut self, change: &Translation) -> Result<(), ComponentError> {
        let change = self.capable.says(change.clone()).map_err(|why| holds_not(&self.remote, &why))?;
        self.install(&change)
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        self.listener.check()
    }

    fn huge_page_ratio(&self) -> f64 {
        0.0
    }
}

impl Drop for InstalledPipeline {
    fn drop(&mut self) {
        if !self.left {
            // If the removal fails, the next campaign removes the configuration.
            let _ = self.leave();
        }
    }
}
