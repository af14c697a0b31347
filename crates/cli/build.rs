//! Passes the commit of the checkout to `ranlab --version`, and reduces the size of the binary on systems that allow it.
use std::path::Path;
use std::process::Command;

/// The target on which rustc links with lld by default.
const LLD_TARGET: &str = "x86_64-unknown-linux-gnu";

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

/// Returns whether rustc links with its own lld, which it does by default on this target if it has one. lld can merge functions with the
/// same code, which makes the binary smaller. Other linkers may refuse the flag.
fn links_with_lld() -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("TARGET") != LLD_TARGET
        || !variable("RUSTC_LINKER").is_empty()
        || !variable("CARGO_ENCODED_RUSTFLAGS").is_empty()
    {
        return false;
    }
    // The compiler of a Linux distribution may come without lld.
    let Ok(output) = Command::new(variable("RUSTC")).args(["--print", "sysroot"]).output() else {
        return false;
    };
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Path::new(&root).join("lib/rustlib").join(LLD_TARGET).join("bin/gcc-ld/ld.lld").exists()
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
