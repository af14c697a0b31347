//! Compiles C programs against the header and the static library.
#![allow(dead_code, clippy::unwrap_used)] // not every test uses all; in a test a panic is the report
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub(crate) fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The static library. Cargo makes it together with this test, and puts it beside it; a test that was started without
/// Cargo's preparation has it made now, as whoever installs it would.
fn static_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let library = deps.join("libranlab_c.a");
        if !library.exists() {
            let profile_dir = deps.parent().unwrap();
            let name = profile_dir.file_name().unwrap().to_str().unwrap();
            let profile = if name == "debug" { "dev" } else { name };
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--quiet", "--lib", "-p", "ranlab-c", "--profile", profile]);
            cargo.arg("--target-dir").arg(profile_dir.parent().unwrap()).current_dir(manifest_dir());
            assert!(cargo.status().unwrap().success(), "{cargo:?}");
        }
        library
    })
}

/// The C compiler, as strict as it gets.
pub(crate) fn cc() -> Command {
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    cc.arg(manifest_dir().join("include"));
    cc
}

/// Compiles `source` with the static library.
pub(crate) fn compile(name: &str, source: &Path) -> PathBuf {
    compile_with(name, source, &[])
}

/// As [`compile`], with more arguments for the compiler.
pub(crate) fn compile_with(name: &str, source: &Path, more: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = cc();
    cc.args(more).arg(source).arg(static_library()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    program
}
