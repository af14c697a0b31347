//! Thread that starts and ends hosted xApps. When the thread ends, it ends the xApps.

use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_host::cgroup::Group;
use ranlab_host::{confine, trusted};
use ranlab_ric::hosting::{Action, ExitReason, HostingHandle, ProcessAction, Supervisor};

use super::{Installation, Installed};
use ranlab_lab::child::Child;

/// Polling interval for commands, process exits and deadlines.
const POLL: Duration = Duration::from_millis(20);
/// Time limit for killed processes to disappear.
const GONE_WAIT: Duration = Duration::from_secs(2);
/// Environment variable that marks processes started by a host.
const MARK: &str = "RANLAB_XAPP=";

/// Starts and ends hosted xApps. Dropping it ends the xApps.
pub(crate) struct ProcessSupervisor {
    end: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProcessSupervisor {
    /// Starts the thread. `http` is the address of the RIC's HTTP server.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be created.
    pub(crate) fn start(
        installation: Installation,
        supervisor: Supervisor,
        desk: HostingHandle,
        http: Option<String>,
    ) -> std::io::Result<Self> {
        let (end, ended) = sync_channel(1);
        // The parent-death signal of the xApps refers to this thread, which therefore runs as long as the RIC.
        let thread = std::thread::Builder::new().name("xapp-host".to_owned()).spawn(move || {
            let running = installation.xapps.iter().map(|_| None).collect();
            let mut work = SupervisorJob { installation, supervisor, desk, http, running };
            loop {
                let ends = match ended.recv_timeout(POLL) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
                };
                if ends {
                    return work.end();
                }
                work.step();
            }
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for ProcessSupervisor {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already ended its processes.
            let _ = thread.join();
        }
    }
}

struct Running {
    child: Child,
    group: Option<Group>,
}

struct SupervisorJob {
    installation: Installation,
    supervisor: Supervisor,
    desk: HostingHandle,
    http: Option<String>,
    running: Vec<Option<Running>>,
}

impl SupervisorJob {
    fn step(&mut self) {
        while let Some((name, verb)) = self.desk.next_order() {
            // The order cannot fail, because the mailbox accepts only names of these xApps.
            let _ = self.supervisor.order(ranlab_sdk::now(), &name, verb);
        }
        self.handle_exits();
        self.supervisor.wake(ranlab_sdk::now());
        while let Some(action) = self.supervisor.poll() {
            self.act(action);
        }
        self.desk.show(self.supervisor.statuses());
    }

    /// Requests all xApps to end, and waits until they have ended.
    fn end(mut self) {
        self.supervisor.end_all(ranlab_sdk::now());
        loop {
            self.step();
            if self.supervisor.is_idle() {
                return;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Handles xApps that have exited.
    fn handle_exits(&mut self) {
        for (place, slot) in self.running.iter_mut().enumerate() {
            let Some((success, how)) = slot.as_mut().and_then(|running| running.child.ended_as()) else {
                continue;
            };
            let (Some(running), Some(xapp)) = (slot.take(), self.installation.xapps.get(place)) else {
                continue;
            };
            let struck = running.group.as_ref().map(Group::struck).unwrap_or_default();
            clear(xapp, running.group);
            let how = match (struck.memory, struck.processes) {
                (0, 0) => how,
                (memory, processes) => format!(
                    "{how}; limits were reached: {memory} processes were killed for exceeding the memory limit, {processes} processes could not be created"
                ),
            };
            self.supervisor.ended(ranlab_sdk::now(), place, ExitReason { success, how });
        }
    }

    fn act(&mut self, Action { xapp: place, what }: Action) {
        let (Some(xapp), Some(slot)) = (self.installation.xapps.get(place), self.running.get_mut(place))
        else {
            return;
        };
        if what == ProcessAction::Start {
            let started = start(xapp, self.http.as_deref()).map(|(running, held_by)| {
                let pid = running.child.id();
                *slot = Some(running);
                (pid, held_by)
            });
            self.supervisor.started(ranlab_sdk::now(), place, started);
        } else if let Some(running) = slot {
            let pid = running.child.id();
            // If the process has exited in the meantime, the next poll detects it. Child processes are killed after
            // the exit.
            let _ = if what == ProcessAction::Ask {
                ranlab_host::ask_to_end(pid)
            } else {
                ranlab_host::kill_group(pid)
            };
        }
    }
}

/// Kills all processes that an xApp has left.
fn clear(xapp: &Installed, group: Option<Group>) {
    if let Some(group) = &group {
        group.kill();
    }
    // Without a control group, all processes of the xApp's dedicated user belong to the xApp.
    let _ = xapp.user.end_all();
    let until = Instant::now() + GONE_WAIT;
    while !xapp.user.processes().is_empty() && Instant::now() < until {
        std::thread::sleep(POLL);
    }
}

/// Starts an xApp. Returns how its limits are enforced, or the reason why it did not start.
fn start(xapp: &Installed, http: Option<&str>) -> Result<(Running, String), String> {
    let settings = &xapp.manifest.said;
    // The program is checked again, because the file may have changed since the manifest was read.
    let program = trusted::program(&settings.command).map_err(|why| why.to_string())?;
    alone(xapp)?;
    let to = xapp.confinement();
    let (group, why) = match Group::new(&to.bounds) {
        Ok(group) => (Some(group), String::new()),
        Err(why) => (None, why.to_string()),
    };
    let mut command = Command::new(program);
    command.args(&settings.arguments).env_clear().envs(xapp.environment(http));
    command.current_dir(&settings.folder).stdin(Stdio::null());
    let cannot = |error: std::io::Error| format!("the program cannot be started: {error}");
    confine::confine(&mut command, to, group.as_ref()).map_err(cannot)?;
    let child = xapp.output.spawn_as_one(command).map_err(cannot)?;
    let held_by = confine::described(group.as_ref(), &why);
    Ok((Running { child: Child::apart(child), group }, held_by))
}

/// Checks that no other process runs as the xApp's user. Ends processes that remain from an earlier RIC that was killed.
fn alone(xapp: &Installed) -> Result<(), String> {
    let others = xapp.user.processes();
    let is_ours = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mark = format!("{MARK}{}", xapp.manifest.name);
        environ.split(|octet| *octet == 0).any(|variable| variable == mark.as_bytes())
    };
    match others.iter().find(|pid| !is_ours(pid)) {
        Some(pid) => Err(format!(
            "user {} already runs processes (pid {pid}); an xApp requires a user without other processes",
            xapp.user.uid
        )),
        None if others.is_empty() => Ok(()),
        None => {
            clear(xapp, None);
            Ok(())
        }
    }
}
