//! Limits some threads of this process to a share of a CPU, by a separate control group (`cpu.max` of cgroup v2, or
//! `cpu.cfs_quota_us` of v1). Real-time threads are not limited. [`Group`] limits processes that this process starts.

mod group;

pub use group::{Group, LimitEvents, ResourceLimits};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Period of a quota, in us. With the kernel's default, which is ten times as long, a burst of a millisecond would not
/// be limited.
const PERIOD_US: u64 = 10_000;
/// Minimum quota that the kernel accepts, in us.
const QUOTA_US_MIN: u64 = 1_000;
/// Prefix of the names of this program's groups.
const PREFIX: &str = "ranlab-";
/// Number of attempts to remove a group, and the time between them. The next run removes groups that remain.
const REMOVALS: u32 = 20;
const REMOVAL: Duration = Duration::from_millis(5);

/// Reason why a control group is not available. It is an error of the environment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CgroupError {
    /// A share outside the permitted range.
    #[error("share {0} of a CPU: above 0 and at most 1 are allowed")]
    Share(f64),
    /// No writable controller for CPU time.
    #[error(
        "no cgroup with the cpu controller can be made here ({0}): run as root, with cgroup v2's cpu controller or v1's"
    )]
    Lacking(String),
    /// The kernel rejected access to a file.
    #[error("{file}: {why}")]
    File {
        /// Name of the file.
        file: String,
        /// The error of the operating system.
        why: String,
    },
}

/// A group that gives its threads a share of one CPU. Dropping it removes the group, if no thread is left in it.
#[derive(Debug)]
pub struct CpuQuota {
    folder: PathBuf,
    /// File to which the ids of threads are written.
    threads: PathBuf,
}

static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

impl CpuQuota {
    /// Creates a group below this process's own group, for `share` of one CPU (above 0, at most 1; less than 0.1 counts
    /// as 0.1).
    ///
    /// # Errors
    /// The share is outside this range, or this machine has no writable group with a cpu controller.
    pub fn new(share: f64) -> Result<Self, CgroupError> {
        Self::below(Path::new("/"), share)
    }

    fn below(root: &Path, share: f64) -> Result<Self, CgroupError> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(CgroupError::Share(share));
        }
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let mounts = text("proc/self/mountinfo");
        let groups = text("proc/self/cgroup");
        let second = second(&mounts, &groups);
        let first = first(&mounts, &groups, "cpu");
        let quota_us = ((share * PERIOD_US as f64) as u64).max(QUOTA_US_MIN);
        let name = own_name();
        let mut lacks = "no cgroup file system is mounted".to_owned();
        for (parent, is_second) in [(second, true), (first, false)] {
            let Some(parent) = parent.map(|parent| root.join(parent)) else { continue };
            sweep(&parent);
            let folder = parent.join(&name);
            let made = if is_second {
                Self::make_second(&parent, folder.clone(), quota_us)
            } else {
                Self::make_first(folder.clone(), quota_us)
            };
            match made {
                Ok(made) => return Ok(made),
                Err(why) => {
                    let _ = fs::remove_dir(&folder);
                    lacks = why.to_string();
                }
            }
        }
        Err(CgroupError::Lacking(lacks))
    }

    fn make_second(parent: &Path, folder: PathBuf, quota_us: u64) -> Result<Self, CgroupError> {
        let controllers = parent.join("cgroup.controllers");
        let has = fs::read_to_string(&controllers).map_err(|error| refused(&controllers, &error))?;
        if !has.split_whitespace().any(|controller| controller == "cpu") {
            return Err(CgroupError::Lacking(format!(
                "{} does not list the controller cpu",
                controllers.display()
            )));
        }
        make(&folder)?;
        // Threads of one process may be in different groups only below a threaded group.
        write(&folder.join("cgroup.type"), "threaded")?;
        write(&parent.join("cgroup.subtree_control"), "+cpu")?;
        write(&folder.join("cpu.max"), &format!("{quota_us} {PERIOD_US}"))?;
        Ok(Self { threads: folder.join("cgroup.threads"), folder })
    }

    fn make_first(folder: PathBuf, quota_us: u64) -> Result<Self, CgroupError> {
        make(&folder)?;
        write(&folder.join("cpu.cfs_period_us"), &PERIOD_US.to_string())?;
        write(&folder.join("cpu.cfs_quota_us"), &quota_us.to_string())?;
        Ok(Self { threads: folder.join("tasks"), folder })
    }

    /// Moves the calling thread into the group, until the thread ends.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn hold_this_thread(&self) -> Result<(), CgroupError> {
        let thread = fs::read_link("/proc/thread-self").unwrap_or_default();
        let number = thread.file_name().unwrap_or_default().to_string_lossy().into_owned();
        write(&self.threads, &number)
    }

    /// Returns the time for which the group's threads were throttled since its creation, in ns; `None` if the kernel
    /// does not report it.
    pub fn throttled_ns(&self) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        let value = |name: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        value("throttled_usec ").map(|us| us * 1000).or_else(|| value("throttled_time "))
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Returns the name of the next group of this process.
fn own_name() -> String {
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{PREFIX}{}-{number}", std::process::id())
}

/// Removes a group. Tries several times, because the kernel may still count a thread that its owner has already joined.
fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(REMOVAL),
            _ => return,
        }
    }
}

/// Returns the group of this process in cgroup v2, below the root.
fn second(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(joined(&mount(mounts, |kind, _| kind == "cgroup2")?, own))
}

/// Returns the group of this process under one of v1's controllers.
fn first(mounts: &str, groups: &str, required: &str) -> Option<PathBuf> {
    let has_it = |list: &str| list.split(',').any(|controller| controller == required);
    let own = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        parts.next().filter(|controllers| has_it(controllers)).and_then(|_| parts.next())
    })?;
    Some(joined(&mount(mounts, |kind, options| kind == "cgroup" && has_it(options))?, own))
}

fn joined(mount: &str, own: &str) -> PathBuf {
    Path::new(mount.trim_start_matches('/')).join(own.trim_start_matches('/'))
}

/// Returns the mount point of a file system with a matching type and options (proc(5), mountinfo).
fn mount(mounts: &str, is_match: impl Fn(&str, &str) -> bool) -> Option<String> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let name = kind.next()?;
        let options = kind.nth(1).unwrap_or("");
        is_match(name, options).then(|| place.split(' ').nth(4).map(str::to_owned))?
    })
}

/// Removes the groups of terminated processes.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // Processes that the terminated owner started may still run.
            group::kill_all(&entry.path());
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn make(folder: &Path) -> Result<(), CgroupError> {
    fs::create_dir(folder).map_err(|error| refused(folder, &error))
}

fn write(file: &Path, text: &str) -> Result<(), CgroupError> {
    fs::write(file, text).map_err(|error| refused(file, &error))
}

fn refused(file: &Path, error: &io::Error) -> CgroupError {
    CgroupError::File { file: file.display().to_string(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "24 1 0:22 / /proc rw - proc proc rw\n\
        30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        31 25 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    const GROUPS: &str = "4:memory:/a\n1:cpu,cpuacct:/b/c\n0::/user.slice/me\n";

    #[test]
    fn process_finds_the_groups_that_it_is_in() {
        let path = |path: &str| Some(PathBuf::from(path));
        assert_eq!(second(MOUNTS, GROUPS), path("sys/fs/cgroup/unified/user.slice/me"));
        assert_eq!(first(MOUNTS, GROUPS, "cpu"), path("sys/fs/cgroup/cpu,cpuacct/b/c"));
        assert_eq!((second("", GROUPS), first(MOUNTS, "0::/", "cpu")), (None, None));
    }

    #[test]
    fn shares_outside_range_are_refused() {
        for share in [0.0, -0.5, 1.01, f64::NAN] {
            assert!(matches!(CpuQuota::new(share), Err(CgroupError::Share(_))), "{share}");
        }
    }

    /// A tree of ordinary files stands in for the kernel's files, and records the writes.
    #[test]
    fn cgroup_v2_is_threaded_with_quota() {
        let root = std::env::temp_dir().join(format!("ranlab-cgroup-{}", std::process::id()));
        let own = root.join("sys/fs/cgroup/unified/user.slice/me");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        fs::write(root.join("proc/self/mountinfo"), MOUNTS).unwrap();
        fs::write(root.join("proc/self/cgroup"), GROUPS).unwrap();
        fs::write(own.join("cgroup.controllers"), "cpuset memory\n").unwrap();
        let error = CpuQuota::below(&root, 0.5).unwrap_err().to_string();
        // cgroup v2 has no cpu controller here, and the folder of v1 does not exist.
        assert!(error.contains("no cgroup with the cpu controller"), "{error}");
        fs::write(own.join("cgroup.controllers"), "cpuset cpu memory\n").unwrap();
        let quota = CpuQuota::below(&root, 0.25).unwrap();
        let content = |file: &str| fs::read_to_string(quota.folder.join(file)).unwrap();
        assert_eq!((content("cgroup.type"), content("cpu.max")), ("threaded".into(), "2500 10000".into()));
        assert_eq!(fs::read_to_string(own.join("cgroup.subtree_control")).unwrap(), "+cpu");
        quota.hold_this_thread().unwrap();
        assert!(content("cgroup.threads").parse::<u32>().unwrap() > 0);
        fs::write(quota.folder.join("cpu.stat"), "usage_usec 9\nnr_throttled 2\nthrottled_usec 1500\n")
            .unwrap();
        assert_eq!(quota.throttled_ns(), Some(1_500_000));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn thread_is_limited_to_its_share() {
        let quota = match CpuQuota::new(0.2) {
            Ok(quota) => quota,
            Err(why) => return crate::doctor::skipped(why),
        };
        let folder = quota.folder.clone();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                quota.hold_this_thread().unwrap();
                let begun = std::time::Instant::now();
                while begun.elapsed() < Duration::from_millis(200) {
                    std::hint::spin_loop();
                }
            });
        });
        assert!(quota.throttled_ns().is_some_and(|ns| ns > 0), "{:?}", quota.throttled_ns());
        drop(quota);
        assert!(!folder.exists());
    }
}
