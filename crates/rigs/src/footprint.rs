//! Rig `footprint`: what has to be stored and held in memory before anything is done with it.

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Metric, MetricKind, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};

use crate::keys;
use ranlab_parts::Lab;
use ranlab_parts::worker::Worker;
use ranlab_parts::{Part, RicPart};

/// The rig.
pub(crate) struct Footprint {
    lab: Lab,
    ric: Option<Worker>,
}

impl Footprint {
    pub(crate) fn new(lab: &Lab) -> Self {
        Self { lab: lab.clone(), ric: None }
    }
}

impl Rig for Footprint {
    fn describe(&self) -> RigDescription {
        use Better::Lower;
        let scalar = |name: &str, comment: &str| Metric::new(name, "MB", MetricKind::Scalar, Lower, comment);
        RigDescription {
            name: "footprint".to_owned(),
            aliases: Vec::new(),
            comment: "size of a deployment and idle memory of its RIC".to_owned(),
            keys: vec![
                Key::new(
                    "sut.component",
                    Kind::choice(&["ranlab", "file", "folder"]),
                    "ranlab: this program, RIC and xApps in one file; file: another one; folder: all files of an image's root",
                )
                .or("ranlab"),
                Key::new("sut.path", Kind::Text, "the file or the folder").when("sut.component", &["file", "folder"]),
            ],
            metrics: vec![
                // The file is the same wherever it lies.
                scalar("size_mb", "bytes on disk").exact(),
                scalar("idle_rss_mb", "resident memory of a RIC that serves nobody"),
                scalar("idle_pss_mb", "the same, pages shared with others counted in proportion"),
            ],
            needs: self.lab.needs(),
            set_up: Duration::from_millis(100),
            starter: include_str!("starters/footprint.toml"),
        }
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.tear_down();
        if keys::text(run, "sut.component")? == "ranlab" {
            let listen = || "unix".to_owned();
            let part = Part::Ric(RicPart { e2: listen(), e42: listen(), e2ap: "2.03".to_owned() });
            self.ric = Some(Worker::start(&self.lab, &crate::Host::Local, "RIC", part, &run.stop)?);
        }
        Ok(())
    }

    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        run.stop.sleep(run.warm_up)
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        let lacking = |path: &std::path::Path, why: std::io::Error| {
            RigError::Environment(format!("{} cannot be measured: {why}", path.display()))
        };
        let path = match keys::text(run, "sut.component")? {
            "ranlab" => self.lab.program.clone(),
            _ => keys::text(run, "sut.path")?.into(),
        };
        // What it is called by may be a link to it.
        let bytes = path.canonicalize().and_then(|file| size(&file, 0)).map_err(|why| lacking(&path, why))?;
        recorder.scalar("size_mb", bytes as f64 / 1e6);
        if let Some(ric) = &mut self.ric {
            ric.begin(&run.stop)?;
            run.stop.sleep(run.duration)?;
            let report = ric.end(&run.stop)?;
            if let Some(process) = report.process {
                recorder.scalar("idle_rss_mb", process.rss_bytes as f64 / 1e6);
            }
            let pss = ric.ready.pid.map(|pid| ranlab_host::ProcessMeter::new(pid).pss_bytes());
            if let Some(Ok(pss)) = pss {
                recorder.scalar("idle_pss_mb", pss as f64 / 1e6);
            }
        }
        Ok(Outcome::Ok)
    }

    fn tear_down(&mut self) {
        self.ric = None;
    }
}

/// The deepest folder that is looked into.
const DEPTH_MAX: usize = 64;

/// Bytes of a file, or of all files below a folder; links are not followed.
fn size(path: &std::path::Path, depth: usize) -> std::io::Result<u64> {
    let about = std::fs::symlink_metadata(path)?;
    if !about.is_dir() || depth > DEPTH_MAX {
        return Ok(about.len());
    }
    std::fs::read_dir(path)?.map(|entry| size(&entry?.path(), depth + 1)).sum()
}
