//! A switch driven by a plug-in, as the system under test.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ranlab_host::Subject;
use ranlab_pipeline::backends::{Tier, port_name};
use ranlab_pipeline::declare::Port;
use ranlab_pipeline::trace::Trace;
use serde_json::{Map, Value, json};

use super::{ANSWER_WAIT, Plugin, PluginTask, Role, verified};
use crate::pipeline::{PipelineComponent, histogram};
use crate::ring::{self, RingCounters};
use ranlab_lab::field::JsonField;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{ComponentError, Report};
use ranlab_lab::{RunningComponent, counts, environment, rig};

/// Maximum number of tables in the loss counters of a switch.
const TABLES_MAX: usize = 256;

/// A configured switch that waits for windows.
pub(crate) struct PluginSwitch {
    plugin: Plugin,
    sockets: Option<[PathBuf; 2]>,
    before: Option<RingCounters>,
    verified: u64,
    frame_bytes_mean: f64,
    trouble: Option<ComponentError>,
    _folder: Folder,
}

impl PluginSwitch {
    pub(crate) fn start(part: &PipelineComponent) -> Result<Self, ComponentError> {
        let path = part.plugin.as_ref().ok_or_else(|| environment("`sut.plugin` names no program"))?;
        let Some(JsonField(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        if pipeline.events(0).is_ok_and(|events| !events.is_empty()) {
            return Err(environment("a plug-in does not receive changes: omit handovers and fluctuations"));
        }
        let trace = Trace::generate(pipeline, &part.traffic.0).map_err(rig)?;
        let octets: usize = trace.iter().map(|(_, frame)| frame.len()).sum();
        let mut folder = Folder::default();
        let files = folder.made()?;
        let sockets = (part.tier == Tier::Ring.name()).then(|| ring::sockets(&files));
        let mut plugin = Plugin::start(path, Role::Switch)?;
        let whole = &trace;
        let at = sockets.as_ref();
        plugin.configure(&PluginTask {
            pipeline,
            trace: whole,
            folder: &files,
            sockets: at,
            equivalences: &[],
        })?;
        let mut first = Trace::default();
        trace.range(0, part.verify).for_each(|(port, frame)| first.push(port, frame));
        let mut own = Self {
            plugin,
            sockets,
            before: None,
            verified: 0,
            frame_bytes_mean: octets as f64 / trace.len().max(1) as f64,
            trouble: None,
            _folder: folder,
        };
        // Without rings, only the generator can send packets to the switch. In this case the generator verifies the
        // switch.
        if let Some(sockets) = own.sockets.as_ref().filter(|_| !first.is_empty()) {
            let mut ports = ring::connected(sockets, ring::Shape::one(part.ring, 1))?;
            let found = ring::pass(&mut ports, &first, &[])?;
            for port in &mut ports {
                port.stop();
            }
            let job =
                PluginTask { pipeline, trace: &first, folder: &files, sockets: None, equivalences: &[] };
            own.verified = verified(&job, &found)?;
        }
        Ok(own)
    }

    fn counters(&mut self) -> Result<RingCounters, ComponentError> {
        let what = "counters";
        let reply = self.plugin.ask(what, json!({}), ANSWER_WAIT)?;
        let plugin = &self.plugin;
        let empty = Map::new();
        let tables = reply.get("dropped").and_then(Value::as_object).unwrap_or(&empty);
        if tables.len() > TABLES_MAX {
            let many = tables.len();
            return Err(
                plugin.wrong(&format!("it counts drops of {many} tables; at most {TABLES_MAX} are allowed"))
            );
        }
        let each = tables.keys().map(|name| Ok((name.clone(), plugin.count(what, tables, name)?)));
        let or_none =
            |name: &str| if reply.contains_key(name) { plugin.count(what, &reply, name) } else { Ok(0) };
        Ok(RingCounters {
            received: plugin.count(what, &reply, "received")?,
            dropped: each.collect::<Result<_, ComponentError>>()?,
            ring_full: or_none("ring_full")?,
            unfit: or_none("unfit")?,
            ..RingCounters::default()
        })
    }

    fn end_window(&mut self, report: &mut Report) -> Result<(), ComponentError> {
        let Some(before) = self.before.take() else { return Ok(()) };
        let window = self.counters()?.since(&before);
        report.detail = serde_json::to_value(&window).map_err(rig)?;
        let none = ["updates_due", "updates_sent", "updates_late", "updates_refused", "changes_refused"];
        report.numbers.extend(none.map(|name| (name.to_owned(), 0.0)));
        report.numbers.insert("verified_packets".to_owned(), self.verified as f64);
        report.numbers.insert("frame_bytes_mean".to_owned(), self.frame_bytes_mean);
        report.distributions.insert("update_applied_ns".to_owned(), counts(&histogram()));
        Ok(())
    }
}

impl RunningComponent for PluginSwitch {
    /// The processes of the plug-in are descendants of this process.
    fn subject(&self) -> Option<Subject> {
        Some(Subject::Below { pid: std::process::id() })
    }

    fn addresses(&self) -> BTreeMap<String, String> {
        let both = self.sockets.iter().flat_map(|both| [Port::Access, Port::Core].into_iter().zip(both));
        both.map(|(port, path)| (port_name(port).to_owned(), path.display().to_string())).collect()
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => self.plugin.check(),
        }
    }

    fn begin(&mut self) {
        match self.counters() {
            Ok(counters) => self.before = Some(counters),
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    fn end(&mut self, report: &mut Report) {
        if let Err(trouble) = self.end_window(report) {
            self.trouble = Some(trouble);
        }
    }
}
