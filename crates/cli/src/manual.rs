//! `ranlab completions` and `ranlab man`: shell completions and manual pages, generated from the verbs.

use std::io::Write;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::exit::Failure;

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

/// Writes the completions for a shell to stdout.
pub fn completions(arguments: &CompletionsArguments, mut command: clap::Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "ranlab", &mut text);
    std::io::stdout().write_all(&text).map_err(|error| Failure::of_output(&error))
}

/// Writes the manual pages.
pub fn man(arguments: &ManArguments, command: clap::Command) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command.disable_help_subcommand(true), folder));
    written
        .map_err(|error| Failure::Environment(format!("cannot write pages to {}: {error}", folder.display())))
}
