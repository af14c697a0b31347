//! Rig `footprint`: disk space of a deployment, and memory of an idle RIC.

use std::time::Duration;

use crate::RicComponent;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Outcome, RepeatTime, RigDescription, RigError, Run};
use ranlab_campaign::schema::Kind;
use ranlab_campaign::{keys, metrics};
use ranlab_lab::{AnyComponent, Listen};

use crate::rigs::sut;
use ranlab_lab::experiment::harness::{Deployment, Experiment, Judged, Window};
use ranlab_lab::experiment::keys;

/// The rig `footprint`.
pub struct Footprint;

impl Experiment for Footprint {
    fn describe(&self) -> RigDescription {
        RigDescription {
            name: "footprint".to_owned(),
            aliases: Vec::new(),
            comment: "size of a deployment and idle memory of its RIC".to_owned(),
            keys: keys! {
                ("sut.component", Kind::choice(&["ranlab", "file", "folder"]), "ranlab: this program, with RIC and xApps in one file; file: another file; folder: a folder with the root file system of an image; all its files count").or("ranlab");
                ("sut.path", Kind::Text, "path of the file or folder").when("sut.component", &["file", "folder"]);
            },
            metrics: metrics! {
                // The size of files does not vary between repeats, so it is exact.
                Scalar Lower "size_mb" "MB" "bytes on disk" .exact();
                Scalar Lower "idle_rss_mb" "MB" "resident memory of an idle RIC";
                Scalar Lower "idle_pss_mb" "MB" "memory of an idle RIC, with shared pages counted proportionally";
            },
            needs: Vec::new(),
            set_up: Duration::from_millis(100),
            repeat_time: RepeatTime::Window,
            response_timeout: None,
            starter: include_str!("starters/footprint.toml"),
        }
    }

    fn bring_up(&self, run: &Run<'_>, stage: &mut Deployment<'_>) -> Result<(), RigError> {
        if keys::text(run, "sut.component")? == "ranlab" {
            let e2 = vec![Listen::Own];
            let e42 = vec![Listen::Own];
            stage.sut(
                sut::RIC,
                "sut.at",
                AnyComponent::from(RicComponent { e2, e42, ..RicComponent::default() }),
            )?;
        }
        Ok(())
    }

    fn record(&self, run: &Run<'_>, window: &Window<'_>, recorder: &mut Recorder) -> Judged {
        let lacking = |path: &std::path::Path, why: std::io::Error| {
            RigError::Environment(format!("{} cannot be measured: {why}", path.display()))
        };
        let path = match keys::text(run, "sut.component")? {
            "ranlab" => window.lab.program.clone(),
            _ => keys::text(run, "sut.path")?.into(),
        };
        // The path may be a symbolic link to the file.
        let bytes = path.canonicalize().and_then(|file| size(&file, 0)).map_err(|why| lacking(&path, why))?;
        recorder.scalar("size_mb", bytes as f64 / 1e6);
        let ric = window.find(sut::RIC).and_then(|ric| ric.report.process.as_ref());
        if let Some(process) = ric {
            recorder.scalar("idle_rss_mb", process.rss_bytes as f64 / 1e6);
            if let Some(pss_bytes) = process.pss_bytes {
                recorder.scalar("idle_pss_mb", pss_bytes as f64 / 1e6);
            }
        }
        Ok(Outcome::Ok)
    }
}

/// Maximum depth of folders.
const DEPTH_MAX: usize = 64;

/// Returns the size of a file, or of all files below a folder, in bytes; symbolic links are not followed.
fn size(path: &std::path::Path, depth: usize) -> std::io::Result<u64> {
    let about = std::fs::symlink_metadata(path)?;
    if !about.is_dir() || depth > DEPTH_MAX {
        return Ok(about.len());
    }
    std::fs::read_dir(path)?.map(|entry| size(&entry?.path(), depth + 1)).sum()
}
