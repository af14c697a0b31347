//! Provides the commit of a checkout to `ranlab --version`.
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RANLAB_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    // The log of HEAD changes with each commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = std::env::var("RANLAB_COMMIT").ok().or_else(|| git(&["rev-parse", "--short=10", "HEAD"]));
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=RANLAB_VERSION={version}");
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
