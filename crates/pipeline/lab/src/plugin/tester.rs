//! A packet generator driven by a plug-in. It sends a load, signals the end of the run, and reports the outcome of
//! every packet.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ranlab_pipeline::backends::{BackendRequest, Equivalence, Outcomes, named};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::tester::PACKETS_MAX;
use ranlab_pipeline::trace::Trace;
use serde_json::{Map, Value, json};

use super::{ANSWER_WAIT, CONFIGURE_WAIT, Plugin, PluginTask, Role, verified};
use crate::ring::device::BARE;
use crate::ring::{RingOutcome, RingTesterComponent};
use crate::switches::{capture_file, files};
use ranlab_lab::OVER;
use ranlab_lab::field::JsonField;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, environment, rig};

/// Additional time of a run beyond its load and drain times.
const GRACE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });
/// Polling interval for the end of a run.
const ASK_EACH: Duration = Duration::from_millis(100);
/// Maximum number of values of a distribution.
const VALUES_MAX: usize = 4_096;

/// A configured generator that waits for windows.
pub(crate) struct PluginTester {
    plugin: Plugin,
    part: RingTesterComponent,
    /// Maximum rate that the generator guarantees, in packets per second.
    rate_max: f64,
    verified: u64,
    run: u32,
    begun: Option<Instant>,
    asked: Option<Instant>,
    over: bool,
    trouble: Option<ComponentError>,
    _folder: Folder,
}

impl PluginTester {
    pub(crate) fn start(part: &RingTesterComponent) -> Result<Self, ComponentError> {
        let path = part.plugin.as_ref().ok_or_else(|| environment("`load.plugin` names no program"))?;
        let Some(JsonField(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        let trace = Trace::generate(pipeline, &part.traffic.0).map_err(rig)?;
        let equivalences = equivalences(part, pipeline)?;
        let mut folder = Folder::default();
        let files = folder.made()?;
        let sockets = [&part.access, &part.core].map(PathBuf::from);
        let job = PluginTask {
            pipeline,
            trace: &trace,
            folder: &files,
            sockets: Some(&sockets).filter(|_| !part.access.is_empty()),
            equivalences: &equivalences,
        };
        let mut plugin = Plugin::start(path, Role::Generator)?;
        let reply = plugin.configure(&job)?;
        let rate_max =
            reply.get("rate_max").and_then(Value::as_f64).filter(|rate| *rate > 0.0).ok_or_else(|| {
                plugin.wrong(
                    "its answer to `configure` lacks `rate_max`, the maximum rate in packets per second that it guarantees",
                )
            })?;
        // A bare device has no pipeline to be verified.
        let verified =
            if plugin.can("replay") && part.engine != BARE { replay(&mut plugin, &job)? } else { 0 };
        Ok(Self {
            plugin,
            part: part.clone(),
            rate_max,
            verified,
            run: part.run,
            begun: None,
            asked: None,
            over: true,
            trouble: None,
            _folder: folder,
        })
    }

    fn begin_run(&mut self) -> Result<(), ComponentError> {
        self.run = self.run.wrapping_add(1);
        let part = &self.part;
        let request = json!({
            "rate": part.rate, "duration_s": part.duration.as_secs_f64(), "warm_up_s": part.warm_up.as_secs_f64(),
            "late_after_s": part.late_after.as_secs_f64(), "drain_s": part.drain.as_secs_f64(), "run": self.run,
        });
        self.plugin.ask("start", request, ANSWER_WAIT)?;
        (self.begun, self.asked, self.over) = (Some(Instant::now()), None, false);
        Ok(())
    }

    /// Returns whether the run is over, or an error if its grace time has expired.
    fn is_over(&mut self) -> Result<bool, ComponentError> {
        let Some(begun) = self.begun else { return Ok(true) };
        if self.over || self.asked.is_some_and(|asked| asked.elapsed() < ASK_EACH) {
            return Ok(self.over);
        }
        let reply = self.plugin.ask("counters", json!({}), ANSWER_WAIT)?;
        self.asked = Some(Instant::now());
        self.over = reply
            .get("over")
            .and_then(Value::as_bool)
            .ok_or_else(|| self.plugin.wrong("its answer to `counters` lacks `over`, true or false"))?;
        let most = self.part.warm_up + self.part.duration + self.part.drain + GRACE;
        if !self.over && begun.elapsed() > most {
            let s = most.as_secs_f64();
            return Err(self.plugin.wrong(&format!("its run has not ended after {s} s")));
        }
        Ok(self.over)
    }

    fn report(&mut self, report: &mut Report) -> Result<(), ComponentError> {
        if self.begun.take().is_none() {
            return Err(rig("no run was begun"));
        }
        let reply = self.plugin.ask("stop", json!({}), ANSWER_WAIT)?;
        let outcome = outcome(&self.plugin, &reply)?;
        report.detail = serde_json::to_value(&outcome).map_err(rig)?;
        // Name in the plug-in's response, and name of the metric.
        for (field, name) in [("latency_ns", "latency_ns"), ("lateness_ns", "send_delay_ns")] {
            let values = distribution(&self.plugin, &reply, field)?;
            report.distributions.insert(name.to_owned(), values);
        }
        report.numbers.insert("tester_mpps".to_owned(), self.rate_max / 1e6);
        if self.verified > 0 {
            report.numbers.insert("verified_packets".to_owned(), self.verified as f64);
        }
        Ok(())
    }
}

impl RunningComponent for PluginTester {
    fn check(&mut self) -> Result<(), ComponentError> {
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => self.plugin.check(),
        }
    }

    fn counters(&mut self) -> Counters {
        let over = self.is_over().unwrap_or_else(|trouble| {
            self.trouble = Some(trouble);
            // The run counts as over. The next check returns the error.
            true
        });
        [(OVER.to_owned(), f64::from(u8::from(over)))].into()
    }

    fn begin(&mut self) {
        self.trouble = self.begin_run().err();
    }

    fn end(&mut self, report: &mut Report) {
        if self.trouble.is_none() {
            self.trouble = self.report(report).err();
        }
    }
}

/// Returns the allowed differences between the switch's packets and the oracle's.
fn equivalences(part: &RingTesterComponent, pipeline: &Pipeline) -> Result<Vec<Equivalence>, ComponentError> {
    let Some(backend) = named(&part.engine) else { return Ok(Vec::new()) };
    let declaration = pipeline.build().map_err(rig)?;
    let directions = crate::switches::directions(part.traffic.0.dir);
    Ok(backend.equivalences(&BackendRequest { declaration: &declaration, directions: &directions }))
}

/// Sends the trace through the switch once and compares the output with the oracle. Returns the number of compared
/// packets.
fn replay(plugin: &mut Plugin, job: &PluginTask<'_>) -> Result<u64, ComponentError> {
    let [access, core] = [Port::Access, Port::Core].map(|port| capture_file(job.folder, port));
    plugin.ask("replay", json!({"access": access, "core": core}), CONFIGURE_WAIT)?;
    let mut found = Outcomes::default();
    for (port, path) in [(Port::Access, &access), (Port::Core, &core)] {
        files::read(path, port, job.equivalences, &mut found)?;
    }
    verified(job, &found)
}

/// Returns the generator's counters. A missing counter is 0 unless it is required.
fn outcome(plugin: &Plugin, reply: &Map<String, Value>) -> Result<RingOutcome, ComponentError> {
    let what = "stop";
    let must = |name: &str| plugin.count(what, reply, name);
    let may = |name: &str| if reply.contains_key(name) { must(name) } else { Ok(0) };
    let outcome = RingOutcome {
        due: must("due")?,
        sent: must("sent")?,
        late: may("late")?,
        ring_full: may("ring_full")?,
        unfit: may("unfit")?,
        received: must("received")?,
        misordered: may("misordered")?,
        duplicated: may("duplicated")?,
        unknown: may("strangers")?, // The name in version 1 of the plug-in protocol.
        malformed: 0,
        waiting: may("waiting")?,
        took_ns: must("took_ns")?,
        window_ns: may("window_ns")?,
        received_in_window: may("received_in_window")?,
    };
    let most = [outcome.due, outcome.sent, outcome.late, outcome.ring_full, outcome.unfit, outcome.received];
    if let Some(count) = most.into_iter().find(|count| *count > PACKETS_MAX) {
        return Err(plugin.wrong(&format!("it reports {count} packets; a run has at most {PACKETS_MAX}")));
    }
    if outcome.received > outcome.sent {
        let received = outcome.received;
        let sent = outcome.sent;
        return Err(plugin.wrong(&format!("of {sent} packets sent, it reports {received} received")));
    }
    Ok(outcome)
}

/// Parses a distribution `[[value, count], …]`. A missing distribution is empty.
fn distribution(
    plugin: &Plugin,
    reply: &Map<String, Value>,
    name: &str,
) -> Result<Vec<(u64, u64)>, ComponentError> {
    let Some(value) = reply.get(name) else { return Ok(Vec::new()) };
    match serde_json::from_value::<Vec<(u64, u64)>>(value.clone()) {
        Ok(values) if values.len() <= VALUES_MAX => Ok(values),
        _ => {
            Err(plugin.wrong(&format!("`{name}` is not a list of at most {VALUES_MAX} pairs [value, count]")))
        }
    }
}
