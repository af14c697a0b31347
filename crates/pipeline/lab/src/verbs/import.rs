//! `bench import`: scenarios from a configuration of TIPSY.
use std::io::Read;
use std::path::PathBuf;

use ranlab_command::exit::Failure;
use ranlab_command::output::Output;
use ranlab_command::verb::{Context, Run};
use serde_json::json;

use crate::tipsy;

/// Arguments of `bench import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab bench import main.json --out scenarios\n\n\
                  Each benchmark becomes a scenario, ID.toml, in which every point is a row of a joint sweep. Settings without a\n\
                  counterpart are named.")]
pub(super) struct Import {
    /// Configuration of TIPSY (main.json)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder for the scenarios; it is created
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Run for Import {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let usage = |what: &dyn std::fmt::Display| Failure::Usage(format!("{}: {what}", self.file.display()));
        let mut text = String::new();
        let file = std::fs::File::open(&self.file).map_err(|error| usage(&error))?;
        let read = file.take(tipsy::CONFIG_BYTES_MAX as u64 + 1).read_to_string(&mut text);
        read.map_err(|error| usage(&error))?;
        if text.len() > tipsy::CONFIG_BYTES_MAX {
            return Err(usage(&format!("it is larger than the limit of {} bytes", tipsy::CONFIG_BYTES_MAX)));
        }
        let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
        let all = tipsy::import(&text, &stem).map_err(|error| usage(&error))?;
        let failed = |error: std::io::Error| Failure::Environment(format!("{}: {error}", self.out.display()));
        std::fs::create_dir_all(&self.out).map_err(failed)?;
        let mut output = Output::new(context.format);
        let mut scenarios = Vec::new();
        for one in &all {
            let path = self.out.join(format!("{}.toml", one.name));
            std::fs::write(&path, &one.text).map_err(failed)?;
            output.text(format_args!("{}", path.display()))?;
            for what in &one.left_out {
                output.text(format_args!("  left out: {what}"))?;
            }
            scenarios.push(json!({ "path": path, "left_out": one.left_out }));
        }
        output.finish(&json!({ "scenarios": scenarios }))
    }
}
