//! Passes the commit of the checkout to `ranlab --version`, and reduces the size of the binary on systems that allow it.
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
    if packs_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if links_with_lld() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Returns whether rustc links with its own lld, which it does by default on this target. lld can merge functions with the same code,
/// which makes the binary 1 % smaller. Other linkers may refuse the flag.
fn links_with_lld() -> bool {
    let is_set = |name| std::env::var(name).is_ok_and(|value| !value.is_empty());
    std::env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu")
        && !is_set("RUSTC_LINKER")
        && !is_set("CARGO_ENCODED_RUSTFLAGS")
}

/// Returns whether programs built here may have packed relocations (`DT_RELR`), which make the binary 5 % smaller. The dynamic linker of
/// glibc supports packed relocations since version 2.36 and refuses to load such a binary before.
fn packs_relocations() -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("HOST") != variable("TARGET") || variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        return false;
    }
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.trim().trim_start_matches("glibc ").split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (2, 36),
        _ => false,
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
