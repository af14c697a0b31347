//! `ranlab completions` and `ranlab man`: shell completions and manual pages, generated from the verbs.

use std::io::Write;
use std::path::PathBuf;

use clap_complete::Shell;
use ranlab_command::verb::{Context, Run};

use crate::exit::Failure;
use crate::verbs::command;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab completions bash > ~/.local/share/bash-completion/completions/ranlab"
)]
pub struct CompletionsArguments {
    /// Shell
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab man ~/.local/share/man/man1 && man ranlab-bench-run")]
pub struct ManArguments {
    /// Folder for the pages, one per command; it is created if missing
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl Run for CompletionsArguments {
    fn run(self, _: &Context) -> Result<(), Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "ranlab", &mut text);
        std::io::stdout().write_all(&text).map_err(|error| Failure::of_output(&error))
    }
}

impl Run for ManArguments {
    fn run(self, _: &Context) -> Result<(), Failure> {
        let folder = &self.folder;
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command().disable_help_subcommand(true), folder));
        written.map_err(|error| {
            Failure::Environment(format!("cannot write pages to {}: {error}", folder.display()))
        })
    }
}
