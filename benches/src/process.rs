//! Processes under test, and their addresses.
use ranlab_host::ProcessMeter;
use ranlab_sdk::transport::Address;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Local process, which is killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Self {
        Self::spawn(Command::new(program), program, arguments)
    }

    /// Starts a process on one CPU. See [`start`](Self::start).
    pub(crate) fn start_on(cpu: Option<usize>, program: &Path, arguments: &[&str]) -> Self {
        Self::spawn(command_on(cpu, program), program, arguments)
    }

    fn spawn(mut command: Command, program: &Path, arguments: &[&str]) -> Self {
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(
            command
                .spawn()
                .unwrap_or_else(|e| panic!("cannot start {}: {e}; run `make bench`", program.display())),
        )
    }

    pub(crate) fn cpu_s(&self) -> f64 {
        ProcessMeter::new(self.0.id()).sample().map_or(0.0, |s| s.cpu_s())
    }

    /// Returns the proportional set size in MB. Pages mapped by several processes are counted in part.
    pub(crate) fn pss_mb(&self) -> f64 {
        ProcessMeter::new(self.0.id()).pss_bytes().map_or(f64::INFINITY, |bytes| bytes as f64 / 1e6)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a command that runs `program` on one CPU (`None`: on any CPU), by util-linux's taskset. Every Debian system
/// includes this program.
pub(crate) fn command_on(cpu: Option<usize>, program: &Path) -> Command {
    let Some(cpu) = cpu else { return Command::new(program) };
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(cpu.to_string()).arg(program);
    command
}

/// Returns the path of the binary `ranlab` next to this one.
pub(crate) fn ranlab() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("ranlab")
}

/// Returns the path of the lean RIC next to this binary.
pub(crate) fn ranlab_ric() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("ranlab-ric")
}

/// Returns the path of this binary, which also provides the baselines.
pub(crate) fn own() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}

pub(crate) fn free_address() -> Address {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_or(0, |a| a.port());
    Address::Tcp { host: "127.0.0.1".to_owned(), port }
}
