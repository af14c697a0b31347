//! Control groups that limit processes started by this process, with their descendants: their memory, CPU time and
//! number.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{
    CgroupError, PERIOD_US, QUOTA_US_MIN, first, make, own_name, refused, remove, second, sweep, write,
};
use crate::signal::send;

/// Controllers that a group uses.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// Maximum number of rounds of killing, if processes have to be killed one at a time. It limits the effort against a
/// group that forks in the meantime.
const KILLS: u32 = 200;
/// Pause between two rounds.
const KILL_PAUSE: Duration = Duration::from_millis(5);

/// Limits on the resources that all processes of a group use together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceLimits {
    /// Memory in bytes; beyond it, the kernel kills one of the processes.
    pub memory_bytes: u64,
    /// Number of CPUs: 0.5 is half of a CPU.
    pub cpus: f64,
    /// Processes and threads; beyond it, no more can be created.
    pub processes: u64,
}

/// Number of times that the limits applied since the group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitEvents {
    /// Number of processes that the kernel killed for lack of memory.
    pub memory: u64,
    /// Number of processes that could not be created.
    pub processes: u64,
    /// Number of times that processes waited for their share of CPU.
    pub cpu: u64,
}

/// A control group below this process's own group. Dropping it kills its processes and removes it.
#[derive(Debug)]
pub struct Group {
    folders: Vec<PathBuf>,
    is_second: bool,
}

impl Group {
    /// Creates a group of cgroup v2 if its three controllers are available, otherwise of v1.
    ///
    /// # Errors
    /// Neither version is available; the error has the reason.
    pub fn new(bounds: &ResourceLimits) -> Result<Self, CgroupError> {
        Self::below(Path::new("/"), bounds)
    }

    fn below(root: &Path, bounds: &ResourceLimits) -> Result<Self, CgroupError> {
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let mounts = text("proc/self/mountinfo");
        let groups = text("proc/self/cgroup");
        let name = own_name();
        let second = second(&mounts, &groups).map(|parent| root.join(parent));
        let mut lacks = match second.map(|parent| Self::make_second(&parent, &name, bounds)) {
            Some(Ok(made)) => return Ok(made),
            Some(Err(why)) => format!("v2: {why}"),
            None => "cgroup v2 is not mounted".to_owned(),
        };
        let mut made = Self { folders: Vec::new(), is_second: false };
        for controller in CONTROLLERS {
            let parent = first(&mounts, &groups, controller).map(|parent| root.join(parent));
            let Some(parent) = parent else {
                lacks.push_str(&format!("; cgroup v1 has no controller {controller}"));
                return Err(CgroupError::Lacking(lacks));
            };
            sweep(&parent);
            let folder = parent.join(&name);
            // Controllers that share a hierarchy have the same folder.
            if !made.folders.contains(&folder) {
                make(&folder).map_err(|why| CgroupError::Lacking(format!("{lacks}; v1: {why}")))?;
                made.folders.push(folder.clone());
            }
            bound_first(&folder, controller, bounds)
                .map_err(|why| CgroupError::Lacking(format!("{lacks}; v1: {why}")))?;
        }
        Ok(made)
    }

    fn make_second(parent: &Path, name: &str, bounds: &ResourceLimits) -> Result<Self, CgroupError> {
        let controllers = parent.join("cgroup.controllers");
        let has = fs::read_to_string(&controllers).map_err(|error| refused(&controllers, &error))?;
        if let Some(lacking) = CONTROLLERS.iter().find(|it| !has.split_whitespace().any(|has| has == **it)) {
            return Err(CgroupError::Lacking(format!(
                "{} does not list the controller {lacking}",
                controllers.display()
            )));
        }
        sweep(parent);
        write(&parent.join("cgroup.subtree_control"), "+cpu +memory +pids")?;
        let folder = parent.join(name);
        make(&folder)?;
        let made = Self { folders: vec![folder.clone()], is_second: true };
        write(&folder.join("memory.max"), &bounds.memory_bytes.to_string())?;
        // Swapped memory counts as well; a kernel without swap has no such file.
        let _ = fs::write(folder.join("memory.swap.max"), "0");
        write(&folder.join("pids.max"), &bounds.processes.to_string())?;
        write(&folder.join("cpu.max"), &format!("{} {PERIOD_US}", quota_us(bounds)))?;
        Ok(made)
    }

    /// Returns a description of the group for reports.
    pub fn kind(&self) -> &'static str {
        if self.is_second { "cgroup v2" } else { "cgroup v1" }
    }

    /// Opens the files by which a process joins a group (`0` stands for the writing process).
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn entries(&self) -> std::io::Result<Vec<File>> {
        let open = |folder: &PathBuf| OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
        self.folders.iter().map(open).collect()
    }

    /// Returns the ids of the processes in the group.
    pub fn pids(&self) -> Vec<u32> {
        self.folders.first().map(|folder| pids(folder)).unwrap_or_default()
    }

    /// Kills all processes of the group (SIGKILL).
    pub fn kill(&self) {
        self.folders.iter().for_each(|folder| kill_all(folder));
    }

    /// Returns the number of times that the group's limits applied.
    pub fn struck(&self) -> LimitEvents {
        let number = |file: &str, name: &str| {
            self.folders.iter().find_map(|folder| {
                let text = fs::read_to_string(folder.join(file)).ok()?;
                text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
            })
        };
        let memory = if self.is_second { "memory.events" } else { "memory.oom_control" };
        LimitEvents {
            memory: number(memory, "oom_kill ").unwrap_or(0),
            processes: number("pids.events", "max ").unwrap_or(0),
            cpu: number("cpu.stat", "nr_throttled ").unwrap_or(0),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        self.folders.iter().for_each(|folder| remove(folder));
    }
}

fn quota_us(bounds: &ResourceLimits) -> u64 {
    ((bounds.cpus * PERIOD_US as f64) as u64).max(QUOTA_US_MIN)
}

fn bound_first(folder: &Path, controller: &str, bounds: &ResourceLimits) -> Result<(), CgroupError> {
    match controller {
        "memory" => {
            write(&folder.join("memory.limit_in_bytes"), &bounds.memory_bytes.to_string())?;
            // The limit includes swapped memory, if the kernel counts it.
            let _ = fs::write(folder.join("memory.memsw.limit_in_bytes"), bounds.memory_bytes.to_string());
            Ok(())
        }
        "pids" => write(&folder.join("pids.max"), &bounds.processes.to_string()),
        _ => {
            write(&folder.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
            write(&folder.join("cpu.cfs_quota_us"), &quota_us(bounds).to_string())
        }
    }
}

fn pids(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Kills the processes of a group: at once if the kernel supports it (v2, Linux 5.14), else one by one until
/// none is left.
pub(super) fn kill_all(folder: &Path) {
    let _ = fs::write(folder.join("cgroup.kill"), "1");
    for _ in 0..KILLS {
        let left = pids(folder);
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(|pid| drop(send(pid, rustix::process::Signal::KILL, false)));
        std::thread::sleep(KILL_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: ResourceLimits = ResourceLimits { memory_bytes: 64 << 20, cpus: 0.5, processes: 16 };

    /// A tree of ordinary files stands in for the kernel's files, and records the writes.
    #[test]
    fn cgroup_v2_is_used_if_controllers_exist() {
        let root = std::env::temp_dir().join(format!("ranlab-group-{}", std::process::id()));
        let own = root.join("sys/fs/cgroup/me");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        let mounts = "31 25 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
        fs::write(root.join("proc/self/mountinfo"), mounts).unwrap();
        fs::write(root.join("proc/self/cgroup"), "0::/me\n").unwrap();
        fs::write(own.join("cgroup.controllers"), "cpu pids\n").unwrap();
        let lacks = Group::below(&root, &BOUNDS).unwrap_err().to_string();
        assert!(lacks.contains("controller memory") && lacks.contains("v1 has no controller cpu"), "{lacks}");
        fs::write(own.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
        let group = Group::below(&root, &BOUNDS).unwrap();
        let content = |file: &str| fs::read_to_string(group.folders[0].join(file)).unwrap();
        assert_eq!(
            (content("memory.max"), content("pids.max"), content("cpu.max")),
            ("67108864".to_owned(), "16".to_owned(), "5000 10000".to_owned())
        );
        assert_eq!(fs::read_to_string(own.join("cgroup.subtree_control")).unwrap(), "+cpu +memory +pids");
        fs::write(group.folders[0].join("memory.events"), "low 0\noom 3\noom_kill 2\n").unwrap();
        fs::write(group.folders[0].join("pids.events"), "max 7\n").unwrap();
        assert_eq!(group.struck(), LimitEvents { memory: 2, processes: 7, cpu: 0 });
        assert_eq!(group.kind(), "cgroup v2");
        std::mem::forget(group);
        fs::remove_dir_all(&root).unwrap();
    }
}
