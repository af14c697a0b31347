//! Compiles C programs with the headers and the static library, and runs them.
#![allow(dead_code, clippy::unwrap_used)] // not every test uses all of it; in a test a panic is the report
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Maximum time of any step on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of attempts, each with a thousand PDUs. At least one attempt must be free of allocations.
const WINDOWS_MAX: usize = 10;
/// Compiler options that make a program abort on undefined behaviour.
pub(crate) const SANITIZERS: [&str; 4] =
    ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

pub(crate) fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the static library. Cargo builds it next to the test. Without Cargo, the library is built here.
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

/// Returns the C compiler with all warnings as errors.
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

/// Compiles like [`compile`], with additional compiler options. Each program is compiled once per test binary.
pub(crate) fn compile_with(name: &str, source: &Path, more: &[&str]) -> PathBuf {
    static PROGRAMS: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let name = format!("{}-{name}", env!("CARGO_CRATE_NAME"));
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut cc = cc();
        cc.args(more)
            .arg(source)
            .arg(static_library())
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program);
        assert!(cc.status().unwrap().success(), "{cc:?}");
        program
    };
    programs.entry(name.to_owned()).or_insert_with(make).clone()
}

/// A running program, which ends with its test.
pub(crate) struct Running {
    child: Child,
    stderr: PathBuf,
}

impl Running {
    /// Starts a program. Its stderr is written to a file next to the program.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let stderr = program.with_extension(format!("stderr-{}", STARTED.fetch_add(1, Relaxed)));
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null()).stderr(File::create(&stderr).unwrap());
        Self { child: command.spawn().unwrap(), stderr }
    }

    /// Returns the stderr output so far.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }

    /// Waits until a program with `tests/allocations.c` has handled 1000 PDUs without a heap allocation.
    ///
    /// On a busy machine, a queue may reach a new maximum length, which allocates once. A program that allocates for
    /// every PDU, or for every hundredth PDU, never passes.
    pub(crate) async fn without_the_heap(&mut self) {
        let mut output = String::new();
        until(&format!("1000 PDUs without an allocation in {:?}", self.stderr), async || {
            output = self.said();
            assert_eq!(self.ended(), None, "{output}");
            assert!(output.lines().count() < WINDOWS_MAX, "{output}");
            output.lines().any(|line| line == "allocated 0 freed 0")
        })
        .await;
    }

    /// Returns the exit code if the program has ended.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().map(|status| status.code().unwrap_or(-1))
    }

    /// Waits for the program to end. Returns its output.
    pub(crate) async fn await_its_end(&mut self) -> String {
        let mut code = None;
        until(&format!("the end of {:?}", self.stderr), async || {
            code = self.ended();
            code.is_some()
        })
        .await;
        let output = self.said();
        assert_eq!(code, Some(0), "{output}");
        output
    }

    /// Requests a program to end and waits for its exit. Returns its output.
    pub(crate) async fn asked_to_end(&mut self) -> String {
        // `kill` is run by the shell because not every system has a program of this name.
        let kill = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        self.await_its_end().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a condition, at most for [`PATIENCE`].
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("timed out after {PATIENCE:?} waiting for {what}"));
}

/// Returns an unused port of this machine.
pub(crate) fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}
