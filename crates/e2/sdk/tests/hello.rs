//! Tests that the examples are short and work together.
#![allow(clippy::unwrap_used)] // test helpers may unwrap, like tests

use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const EXAMPLES: [&str; 4] = ["hello_agent", "hello_ric", "hello_xapp", "local_xapp"];
/// Maximum number of lines of an example.
const LINES_MAX: usize = 40;
const PATIENCE: Duration = Duration::from_secs(60);

/// A running example; killed when dropped.
struct Example {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Example {
    fn start(name: &str, args: &[&str]) -> Self {
        let mut command = Command::new(examples().join(name));
        let mut child = command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads until a line contains `text`. If no line does, the watchdog kills the example.
    fn line_with(&mut self, text: &str) -> String {
        let found = self.lines.by_ref().map(Result::unwrap).find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("the program must print a line with \"{text}\""))
    }
}

impl Example {
    /// Reads until each text has occurred in a line, in any order.
    fn lines_with(&mut self, texts: &[&str]) {
        let mut missing = texts.to_vec();
        while !missing.is_empty() {
            let line = self
                .lines
                .next()
                .unwrap_or_else(|| panic!("the programs must print a line with {missing:?}"))
                .unwrap();
            missing.retain(|text| !line.contains(text));
        }
    }
}

/// Returns the folder of the examples. Cargo builds the examples when it runs all tests of the crate, but not when it
/// runs only this test.
fn examples() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let profile_dir = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
        let folder = profile_dir.join("examples");
        if !EXAMPLES.iter().all(|name| folder.join(name).exists()) {
            let name = profile_dir.file_name().unwrap().to_str().unwrap();
            let profile = if name == "debug" { "dev" } else { name };
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--quiet", "--examples", "-p", "ranlab-sdk", "--profile", profile]);
            cargo.arg("--target-dir").arg(profile_dir.parent().unwrap());
            assert!(cargo.status().unwrap().success(), "{cargo:?}");
        }
        folder
    })
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends the process if the test takes too long. The watchdog is needed because a blocking read has no timeout.
fn watchdog() {
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        eprintln!("the examples did not complete within {PATIENCE:?}");
        std::process::exit(1);
    });
}

#[test]
fn examples_are_short() {
    for name in EXAMPLES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.rs"));
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines; at most {LINES_MAX} are allowed");
    }
}

#[test]
fn examples_work_together() {
    examples();
    watchdog();
    let mut ric = Example::start("hello_ric", &["tcp://127.0.0.1:0", "tcp://127.0.0.1:0"]);
    let listening = ric.line_with("waiting for base stations");
    let addresses: Vec<&str> =
        listening.split([' ', ',']).filter(|word| word.starts_with("tcp://")).collect();
    let [e2, e42] = addresses[..] else { panic!("{listening}") };
    let mut xapp = Example::start("hello_xapp", &[e42]);
    let mut agent = Example::start("hello_agent", &[e2]);
    ric.line_with("hello, ");
    agent.line_with("Subscribed");
    xapp.lines_with(&["ping 0 with 5 bytes", "has executed the control", "ping 1 with 5 bytes"]);
    // The RIC merges equal subscriptions, so the first ping of this xApp is not number 0.
    Example::start("local_xapp", &[e42]).line_with("with 5 bytes");
}
