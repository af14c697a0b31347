//! Confinement of an untrusted process. It runs as another user without a way back, with resource limits and without
//! network. It has private folders in place of the world-writable ones, and is killed together with this process.
#![allow(unsafe_code, reason = "system calls between fork and exec")]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, setrlimit};
use rustix::thread::{
    UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};

use crate::cgroup::{Group, ResourceLimits};
use crate::process_tree;

/// Priority of a confined process for the out-of-memory killer (`oom_score_adj`, at most 1,000).
const OOM_SCORE: &[u8] = b"800";
/// CPU priority of a confined process (nice(2), at most 19) if no control group limits its CPU time.
const NICE: i32 = 10;
/// World-writable folders. Each confined process gets an empty private one in memory in their place, removed with the
/// process.
pub const OWN_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const OWN_FOLDERS_C: [&CStr; 3] = [c"/tmp", c"/var/tmp", c"/dev/shm"];
/// Divisor of the memory limit that gives the size of each private folder. Its contents count towards that
/// limit.
const OWN_FOLDER_PART: u64 = 4;
/// Maximum descriptors to check if the kernel cannot close a range.
const DESCRIPTORS_MAX: libc::c_int = 65_536;
/// Maximum bytes read of `/etc/passwd`.
const PASSWD_MAX: u64 = 1 << 20;

/// A user and its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// User id, never 0.
    pub uid: u32,
    /// Group id, never 0.
    pub gid: u32,
}

/// Reason to reject a user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoUser {
    /// No user has this name.
    #[error("/etc/passwd has no user {0:?}; write a name that it has, or a number above 0")]
    Unknown(String),
    /// Root is never accepted.
    #[error("user {0:?} is root, or of root's group; name a user without privileges")]
    Root(String),
}

impl User {
    /// Finds a user by name or by number. With a number, the group has the same number.
    ///
    /// # Errors
    /// There is no such user, or it is root.
    pub fn named(text: &str) -> Result<Self, NoUser> {
        let root = || NoUser::Root(text.to_owned());
        if let Ok(uid) = text.parse::<u32>() {
            // The highest number means "unchanged" in the system calls.
            return Some(Self { uid, gid: uid }).filter(|_| uid != 0 && uid != u32::MAX).ok_or_else(root);
        }
        let unknown = || NoUser::Unknown(text.to_owned());
        let all = crate::trusted::read(Path::new("/etc/passwd"), PASSWD_MAX).map_err(|_| unknown())?;
        let found = all.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let uid = fields.nth(1)?;
            let gid = fields.next()?;
            (name == text).then(|| Some(Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? }))?
        });
        found
            .ok_or_else(unknown)
            .and_then(|it| Some(it).filter(|it| it.uid != 0 && it.gid != 0).ok_or_else(root))
    }

    /// Returns the processes that run as this user, without ended processes that were not waited for.
    pub fn processes(&self) -> Vec<u32> {
        let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<u32>().ok());
        let runs_as = |pid: &u32| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line =
                |name| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
            // The line has the real, effective, saved and file system user id.
            let is_its = line("Uid:").split_whitespace().any(|uid| uid.parse() == Ok(self.uid));
            is_its && !line("State:").starts_with(['Z', 'X'])
        };
        pids.filter(runs_as).collect()
    }

    /// Kills every process of this user at once (SIGKILL), even processes that fork in the meantime. A new process
    /// becomes this user, and signals all processes that it may signal.
    ///
    /// # Errors
    /// This process may not become the user, or the user is this process's own user, so that it would kill itself.
    pub fn end_all(&self) -> io::Result<()> {
        if self.uid == 0 || self.uid == crate::trusted::own_uid() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let user = *self;
        let mut command = Command::new("/proc/self/exe");
        // SAFETY: between fork and exec there are only system calls with numbers, which are async-signal-safe. The
        // program is never run, because the closure always returns an error.
        unsafe {
            command.pre_exec(move || {
                become_user(user)?;
                // -1 stands for all processes that this user may signal, except the caller.
                if libc::kill(-1, libc::SIGKILL) != 0 && *libc::__errno_location() != libc::ESRCH {
                    return Err(io::Error::last_os_error());
                }
                Err(io::Error::from_raw_os_error(libc::ECANCELED))
            });
        }
        match command.spawn() {
            Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => Ok(()),
            Err(error) => Err(error),
            Ok(mut child) => child.wait().map(drop),
        }
    }
}

/// Limits of a confined process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confinement {
    /// User that the process runs as.
    pub user: User,
    /// Limits for the process and all its descendants.
    pub bounds: ResourceLimits,
    /// Maximum open files of each of its processes.
    pub open_files: u64,
    /// Whether the process sees this machine's network. Otherwise its network is empty; Unix sockets still work if the
    /// process may open their files.
    pub network: bool,
}

/// Returns a description of how the limits are enforced; `why` is the reason if there is no group.
pub fn described(group: Option<&Group>, why: &str) -> String {
    match group {
        Some(group) => format!("memory, CPU and processes by {}; open files by rlimit", group.kind()),
        None => format!(
            "memory of each process, processes and open files by rlimit; CPU by nice {NICE}, which is not a limit ({why})"
        ),
    }
}

/// Confines the process that this command starts. The caller chooses its environment, folder and files.
///
/// # Errors
/// The process cannot join the group, or mounts cannot be kept from the rest of the machine ([`own_mounts`]).
pub fn confine(command: &mut Command, to: Confinement, group: Option<&Group>) -> io::Result<()> {
    own_mounts()?;
    let entries: Vec<File> = group.map(Group::entries).transpose()?.unwrap_or_default();
    let grouped = group.is_some();
    let size = format!("mode=1777,size={}", to.bounds.memory_bytes / OWN_FOLDER_PART);
    let size = CString::new(size).map_err(io::Error::other)?;
    // SAFETY: between fork and exec there are only system calls. Their arguments are numbers, and strings and files
    // that were made before. Nothing is allocated, and no lock is taken.
    unsafe {
        command.pre_exec(move || {
            for entry in &entries {
                if rustix::io::write(entry, b"0")? != 1 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
            }
            own_descriptors();
            put(c"/proc/self/oom_score_adj", OOM_SCORE);
            // A new session has no terminal, and the process leads its own process group.
            rustix::process::setsid()?;
            limit(Resource::Core, 0)?;
            limit(Resource::Nofile, to.open_files)?;
            if !grouped {
                limit(Resource::Nproc, to.bounds.processes)?;
                limit(Resource::As, to.bounds.memory_bytes)?;
                rustix::process::setpriority_process(None, NICE)?;
            }
            let network = if to.network { UnshareFlags::empty() } else { UnshareFlags::NEWNET };
            unshare_unsafe(network | UnshareFlags::NEWNS | UnshareFlags::NEWIPC)?;
            own_folders(&size)?;
            rustix::process::umask(Mode::RWXG | Mode::RWXO);
            become_user(to.user)?;
            Ok(rustix::thread::set_no_new_privs(true)?)
        });
    }
    // This call must follow the change of user, which would undo it.
    process_tree::die_with_us(command);
    Ok(())
}

/// Marks all descriptors of this process beyond the first three as close-on-exec, including inherited ones.
fn own_descriptors() {
    let first = 3_u32;
    let last = u32::MAX;
    let at_exec = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: only system calls with numbers; nothing is closed here.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, at_exec) != 0 {
            // Linux before 5.11 cannot mark a range of descriptors.
            for descriptor in 3..DESCRIPTORS_MAX {
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// Whether a file or folder is hidden from a confined process.
pub fn is_hidden(path: &Path) -> bool {
    OWN_FOLDERS.iter().any(|own| path.starts_with(own))
}

/// Whether a process can have mounts that no other process sees. It cannot in a plain chroot, because the mount with
/// its root directory has no path there.
///
/// # Errors
/// The reason why a process cannot have such mounts.
pub fn own_mounts() -> io::Result<()> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    if has_root(&mounts) {
        return Ok(());
    }
    Err(io::Error::other(
        "the root directory is not a mount point (a plain chroot), so private folders cannot be mounted; \
         before chroot, run mount --bind ROOT ROOT",
    ))
}

/// Whether the root directory is one of these mount points (proc_pid_mountinfo(5)).
fn has_root(mounts: &str) -> bool {
    mounts.lines().any(|line| line.split(' ').nth(4) == Some("/"))
}

/// Mounts private folders in place of the world-writable ones and of shared memory.
fn own_folders(options: &CStr) -> io::Result<()> {
    // Mounts from here on do not propagate to the host.
    mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
    for folder in OWN_FOLDERS_C {
        match mount(c"tmpfs", folder, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options) {
            // A machine may lack one of the folders.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Gives up this process's privileges permanently. The process has only one thread.
fn become_user(user: User) -> io::Result<()> {
    let uid = Uid::from_raw(user.uid);
    let gid = Gid::from_raw(user.gid);
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    Ok(set_thread_res_uid(uid, uid, uid)?)
}

fn limit(what: Resource, most: u64) -> io::Result<()> {
    // A limit that is already lower is kept.
    let most = getrlimit(what).maximum.map_or(most, |found| most.min(found));
    Ok(setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// Writes a small kernel file; a failure is ignored.
fn put(file: &CStr, text: &[u8]) {
    if let Ok(at) = rustix::fs::open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::io::write(&at, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    fn confinement(uid: u32, network: bool) -> Confinement {
        let bounds = ResourceLimits { memory_bytes: 64 << 20, cpus: 0.5, processes: 12 };
        Confinement { user: User { uid, gid: uid }, bounds, open_files: 32, network }
    }

    fn may_not() -> bool {
        if crate::trusted::own_uid() != 0 {
            crate::doctor::skipped("only root can start processes of another user");
            return true;
        }
        own_mounts().map_err(crate::doctor::skipped).is_err()
    }

    #[test]
    fn plain_chroot_has_no_mount_of_its_root() {
        let machine = "21 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n22 21 0:5 / /proc rw - proc proc rw\n";
        let chroot = "22 21 0:5 / /proc rw - proc proc rw\n";
        assert_eq!([machine, chroot, ""].map(has_root), [true, false, false]);
    }

    fn output_of(to: Confinement, group: Option<&Group>, script: &str) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env_clear().current_dir("/").stdin(Stdio::null());
        confine(&mut command, to, group).unwrap();
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    #[test]
    fn users_are_found_except_root() {
        assert_eq!(User::named("65001"), Ok(User { uid: 65_001, gid: 65_001 }));
        assert_eq!(User::named("0"), Err(NoUser::Root("0".to_owned())));
        assert_eq!(User::named("root"), Err(NoUser::Root("root".to_owned())));
        assert_eq!(User::named("4294967295"), Err(NoUser::Root("4294967295".to_owned())));
        assert!(matches!(User::named("no-such-user-here"), Err(NoUser::Unknown(_))));
        assert!(User::named("daemon").is_ok_and(|it| it.uid > 0));
    }

    #[test]
    fn confined_process_is_bounded_without_network() {
        if may_not() {
            return;
        }
        let to = confinement(65_101, false);
        let output = output_of(
            to,
            None,
            "id -u; id -g; id -G; ulimit -n; grep NoNewPrivs /proc/self/status; tail -n +3 /proc/net/dev; umask; \
             kill -0 $PPID || echo apart; ls -A /tmp /var/tmp /dev/shm | wc -w; echo x >/tmp/ranlab-own && ls /tmp; \
             head -c 20m /dev/zero >/tmp/ranlab-more || echo full; ls /proc/self/fd | wc -w",
        );
        let lines: Vec<&str> = output.lines().map(str::trim).collect();
        assert_eq!(lines[..4], ["65101", "65101", "65101", "32"], "{output}");
        assert_eq!(lines[4], "NoNewPrivs:\t1");
        assert!(lines[5].starts_with("lo:") && lines[6] == "0077", "{output}");
        assert!(
            output.contains("apart"),
            "a confined process must not be able to signal its parent: {output}"
        );
        // The three folders are empty; there are three descriptors, and one more for the listing.
        let own = &lines[lines.iter().position(|line| *line == "apart").unwrap() + 1..];
        assert_eq!(own[..4], ["3", "ranlab-own", "full", "4"], "{output}");
        assert!(
            !Path::new("/tmp/ranlab-own").exists(),
            "a file in the private /tmp must not be visible outside"
        );
    }

    /// A process that forks as fast as it can stays within its limit, and is killed completely.
    #[test]
    fn fork_bomb_is_limited_and_killed() {
        if may_not() {
            return;
        }
        // Processes killed in an earlier run count against their user until PID 1 has reaped them.
        let uid = 70_000 + std::process::id() % 10_000 * 2;
        for (uid, wants_group) in [(uid, false), (uid + 1, true)] {
            let to = confinement(uid, false);
            let group = match wants_group.then(|| Group::new(&to.bounds)).transpose() {
                Ok(group) => group,
                Err(why) => return crate::doctor::skipped(why),
            };
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "while :; do sleep 30 & done"]).env_clear().current_dir("/");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            confine(&mut command, to, group.as_ref()).unwrap();
            let mut child = command.spawn().unwrap();
            // Waits until the limit applies, even on a slow machine. Then it waits a while longer, in which the number
            // of processes would multiply. The shell ends when it may not fork; the processes that it started stay.
            let mut until = Instant::now() + Duration::from_secs(20);
            let mut most = 0;
            let mut met = false;
            while Instant::now() < until {
                most = most.max(to.user.processes().len());
                let meets = group.as_ref().map_or(most >= 10, |group| group.struck().processes > 0);
                if meets && !std::mem::replace(&mut met, true) {
                    until = Instant::now() + Duration::from_millis(200);
                }
            }
            assert!(met && most > 2 && most <= 13, "the limit is 12 processes, but {most} ran");
            if let Some(group) = &group {
                assert!(!group.pids().is_empty(), "{:?}", group.struck());
                group.kill();
            } else {
                to.user.end_all().unwrap();
            }
            child.wait().unwrap();
            let until = Instant::now() + Duration::from_secs(20);
            while !to.user.processes().is_empty() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(to.user.processes(), Vec::<u32>::new());
        }
    }

    #[test]
    fn memory_limit_is_enforced() {
        if may_not() {
            return;
        }
        let to = confinement(65_104, false);
        let group = Group::new(&to.bounds).ok();
        // Each `x` is doubled in the shell's memory.
        let script = "x=0123456789abcdef; i=0; while [ $i -lt 24 ]; do x=$x$x; i=$((i+1)); done; echo had it";
        for group in [None, group.as_ref()] {
            let output = output_of(to, group, script);
            assert!(!output.contains("had it"), "{output:.200}");
        }
        if let Some(group) = group {
            assert!(group.struck().memory > 0, "{:?}", group.struck());
        }
    }

    #[test]
    fn processes_of_own_user_are_not_killed() {
        let own = crate::trusted::own_uid();
        assert!(User { uid: own, gid: own }.end_all().is_err() && User { uid: 0, gid: 0 }.end_all().is_err());
    }
}
